/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flows.c - the workload: flows of a pattern over connections, one per source, destination and kind
 * of traffic. A flow ends at its sender (last acknowledgement); it has arrived when its last byte
 * is placed, which is what flows that depend on it wait for.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- rounds */

/* The flows of a round stand together. */
static void round_begins(struct sim *sim, uint64_t at_ns)
{
	sim->round = sim->flows[sim->next_flow].f.round;
	sim->round_ns = at_ns;
	for (uint32_t i = sim->next_flow; i < sim->nb_flows && sim->flows[i].f.round == sim->round;
		i++)
		sim->round_left++;
}

static void rounds_create(struct sim *sim)
{
	if (!sim->sc->load.barrier || sim->nb_flows == 0)
		return;
	sim->rounds = sim_alloc((sim->flows[sim->nb_flows - 1].f.round + 1) * sizeof(*sim->rounds));
	round_begins(sim, sim->sc->load.pattern.start_ns);
}

/* A flow has arrived, or never will. */
static void round_counts(struct sim *sim, struct sim_flow *flow)
{
	if (!sim->sc->load.barrier || flow->counted)
		return;
	flow->counted = true;
	if (--sim->round_left != 0)
		return;
	sim->rounds[sim->nb_rounds++] = (struct sim_round){sim->round_ns, sim->now_ns};
	if (sim->next_flow < sim->nb_flows)
		round_begins(sim, sim->now_ns + sim->sc->load.pattern.round_ns);
}

/* ---- the pattern */

static uint32_t conn_find(struct sim *sim, uint32_t src, uint32_t dst, enum mrc_pattern_class cls)
{
	uint32_t i;

	for (i = sim->hosts[src].conns[0]; i != UINT32_MAX; i = sim->conns[i].next_of[0]) {
		if (sim->conns[i].dst == dst && sim->conns[i].cls == cls)
			return i;
	}
	if (sim->nb_conns == sim->cap_conns) {
		sim->cap_conns = sim->cap_conns != 0 ? 2 * sim->cap_conns : 64;
		sim->conns = sim_realloc(sim->conns, sim->cap_conns * sizeof(*sim->conns));
	}
	i = sim->nb_conns++;
	sim->conns[i] = (struct sim_conn){.src = src,
		.dst = dst,
		.cls = cls,
		.start_ns = SIM_NEVER,
		.last_flow = UINT32_MAX,
		.next_arrival = UINT32_MAX,
		.next_of = {sim->hosts[src].conns[0], sim->hosts[dst].conns[1]}};
	sim->hosts[src].conns[0] = i;
	sim->hosts[dst].conns[1] = i;
	sim->hosts[src].nb_conns++;
	sim->hosts[dst].nb_conns++;
	return i;
}

static void flow_place(struct sim *sim, uint32_t i, const struct mrc_pattern_flow *f)
{
	struct sim_flow *flow = &sim->flows[i];

	*flow = (struct sim_flow){.f = *f,
		.start_ns = SIM_NEVER,
		.end_ns = SIM_NEVER,
		.arrived_ns = SIM_NEVER,
		.first_dep = UINT32_MAX,
		.next_dep = UINT32_MAX,
		.conn = conn_find(sim, f->src, f->dst, f->cls)};
	sim->conns[flow->conn].start_ns = sim_min64(sim->conns[flow->conn].start_ns, f->start_ns);
	if (f->after != MRC_PATTERN_NONE) {
		struct sim_flow *on = &sim->flows[f->after];

		flow->next_dep = on->first_dep;
		on->first_dep = i;
	}
}

void sim_flows_create(struct sim *sim)
{
	struct mrc_pattern_cfg cfg = sim->sc->load.pattern;
	struct mrc_pattern *pattern;
	struct mrc_pattern_flow f;
	const char *key = "?";
	uint64_t nb;

	for (uint32_t h = 0; h < sim->nb_hosts; h++)
		sim->hosts[h].conns[0] = sim->hosts[h].conns[1] = UINT32_MAX;
	cfg.sizes = sim->sc->load.sizes.nb_points != 0 ? &sim->sc->load.sizes : NULL;
	cfg.list = sim->sc->load.list;
	cfg.nb_list = sim->sc->load.nb_list;
	if (mrc_pattern_create(&cfg, &sim->env, &pattern, &key) != MRC_OK) {
		sim_fail(sim, "load: %s does not fit the pattern or the other keys", key);
		return;
	}
	nb = mrc_pattern_count(pattern);
	if (nb > 10000000) {
		sim_fail(sim, "load: %llu flows, more than ten million", (unsigned long long)nb);
		mrc_pattern_destroy(pattern);
		return;
	}
	sim->flows = sim_alloc(nb * sizeof(*sim->flows));
	while (sim->nb_flows < nb && mrc_pattern_next(pattern, &f))
		flow_place(sim, sim->nb_flows++, &f);
	mrc_pattern_destroy(pattern);
	/* Reading the scenario has refused this, but the duration may have been scaled since. */
	for (uint32_t i = 0; i < sim->nb_conns && sim->sc->load.mode == SIM_STEADY; i++) {
		if (sim->conns[i].start_ns >= sim->sc->load.duration_ns)
			sim_fail(sim, "load of host %u begins after the end of the run",
				sim->conns[i].src);
	}
	sim->waiting = sim_alloc(sim->nb_flows * sizeof(*sim->waiting));
	rounds_create(sim);
}

/* ---- connections */

const struct mrc_sched *sim_conn_sched(const struct sim *sim, const struct sim_conn *c)
{
	return sim->hosts[c->src].sched[(uint32_t)(c - sim->conns) % sim->sc->host.workers];
}

uint32_t sim_conn_qps(const struct sim *sim, const struct sim_conn *c)
{
	return c->cls == MRC_PATTERN_BACKGROUND ? 1 : sim->sc->load.qps;
}

static void load_cfg(
	struct sim *sim, const struct sim_conn *c, bool sender, struct mrc_load_cfg *cfg)
{
	const struct scenario *sc = sim->sc;
	struct mrc_sched_qp_attr *a = &cfg->attr;

	mrc_load_cfg_default(cfg);
	cfg->roles = sender ? MRC_LOAD_SENDER : MRC_LOAD_RECEIVER;
	cfg->nb_qps = sim_conn_qps(sim, c);
	cfg->depth = sc->load.depth;
	cfg->seed = 1;
	cfg->verify = sc->load.verify;
	cfg->nb_bins = 1;
	cfg->size = sc->load.piece_len;
	cfg->pacing = sc->load.mode == SIM_STEADY ? MRC_LOAD_CLOSED : MRC_LOAD_FLOWS;
	if (c->cls == MRC_PATTERN_BACKGROUND && sc->load.background_bps != 0) {
		cfg->pacing = MRC_LOAD_CONSTANT;
		cfg->rate_bps = (double)sc->load.background_bps;
	}
	cfg->imm_pct = (uint8_t)sc->load.imm_pct;
	cfg->max_flows = 64;
	cfg->duration_ns = sc->load.mode == SIM_STEADY ? sc->load.duration_ns - c->start_ns : 0;
	mrc_sched_qp_attr_default(a);
	a->local = sim_gid(sim, sender ? c->src : c->dst);
	a->cc = sc->cc.on && c->cls != MRC_PATTERN_BACKGROUND ? &sim->cc : NULL;
	a->pmtu = sc->host.pmtu;
	a->mpr = a->mpr_dest = (uint8_t)sc->host.mpr;
	a->max_wimm = a->max_wimm_dest = (uint16_t)sc->host.wimm;
	a->timeout = (uint8_t)sc->host.timeout;
	a->linear_cnt = (uint8_t)sc->host.linear_cnt;
	a->exp_cnt = (uint8_t)sc->host.exp_cnt;
	a->per_packet_timers = sc->host.per_packet_timers;
	a->trim_nack_peer = sc->host.trim_nack;
	a->dynamic_mpr = sc->host.dynamic_mpr;
	a->svc_time_peer = sc->host.svc_time;
}

/* Largest flow of the scenario: no message can be longer. */
static uint32_t piece_len(const struct sim *sim)
{
	uint64_t longest = 1;

	if (sim->sc->load.mode == SIM_STEADY)
		return sim->sc->load.piece_len;
	for (uint32_t i = 0; i < sim->nb_flows; i++)
		longest = sim->flows[i].f.bytes > longest ? sim->flows[i].f.bytes : longest;
	return longest < sim->sc->load.piece_len ? (uint32_t)longest : sim->sc->load.piece_len;
}

static int conn_loads(struct sim *sim, struct sim_conn *c)
{
	struct mrc_load_cfg tx, rx;
	struct sim_host *src = &sim->hosts[c->src], *dst = &sim->hosts[c->dst];
	uint32_t index = (uint32_t)(c - sim->conns), nb = sim->sc->host.workers;
	bool none = sim->sc->load.verify == MRC_LOAD_VERIFY_NONE;
	int err;

	load_cfg(sim, c, true, &tx);
	load_cfg(sim, c, false, &rx);
	if (sim->source == NULL) {
		sim->source_len = mrc_load_source_len(&tx);
		sim->source = none ? sim_alias_map(sim->source_len) : sim_alloc(sim->source_len);
		if (!none)
			mrc_load_pattern_fill(tx.seed, sim->source, sim->source_len);
	}
	tx.source = sim->source;
	tx.source_len = sim->source_len;
	c->region_len = mrc_load_region_len(&rx);
	/* Unverified data may overwrite each other: all connections share one region. */
	if (!none)
		c->region = sim_guarded_alloc(c->region_len);
	else if (c == sim->conns)
		c->region = sim_alias_map(c->region_len);
	else
		c->region = sim->conns[0].region;
	rx.region = c->region;
	rx.region_len = c->region_len;
	err = mrc_load_create(&tx, src->sched[index % nb], &src->env, &c->tx);
	if (err == MRC_OK)
		err = mrc_load_create(&rx, dst->sched[index % nb], &dst->env, &c->rx);
	return err;
}

static void peers_set(struct sim *sim, uint32_t host, uint32_t peer)
{
	struct mrc_gid gid = sim_gid(sim, peer);

	for (uint32_t w = 0; w < sim->sc->host.workers; w++) {
		for (uint32_t p = 0; p < sim->sc->fabric.planes; p++) {
			uint8_t mac[6] = {2, (uint8_t)p, 0, 0, (uint8_t)(peer >> 8), (uint8_t)peer};

			mrc_sched_peer_set(sim->hosts[host].sched[w], &gid, p, mac);
		}
	}
}

/* The paths from one host to another: those of an earlier connection of the same worker, in either
 * role, because what one learns about a path serves all. */
static struct mrc_ev_set *conn_set(struct sim *sim, struct sim_conn *c, uint32_t from, uint32_t to)
{
	uint32_t worker = (uint32_t)(c - sim->conns) % sim->sc->host.workers;

	for (int side = 0; side < 2 && c->cls != MRC_PATTERN_BACKGROUND; side++) {
		for (uint32_t i = sim->hosts[from].conns[side]; i != UINT32_MAX;
			i = sim->conns[i].next_of[side]) {
			const struct sim_conn *o = &sim->conns[i];
			uint32_t peer = side == 0 ? o->dst : o->src;

			if (peer == to && o->cls != MRC_PATTERN_BACKGROUND &&
				i % sim->sc->host.workers == worker && o->sets[side] != NULL)
				return o->sets[side];
		}
	}
	c->own_sets |= from == c->src ? 1 : 2;
	return sim_ev_create(sim, from, to, c->cls == MRC_PATTERN_BACKGROUND);
}

static int conn_connect(struct sim *sim, struct sim_conn *c)
{
	struct mrc_load_offer *offers = sim_alloc(2 * sizeof(*offers));
	const char *key = "?";
	int err;

	peers_set(sim, c->src, c->dst);
	peers_set(sim, c->dst, c->src);
	c->sets[0] = conn_set(sim, c, c->src, c->dst);
	c->sets[1] = conn_set(sim, c, c->dst, c->src);
	mrc_load_offer(c->tx, &offers[0]);
	mrc_load_offer(c->rx, &offers[1]);
	err = mrc_load_connect(c->tx, 0, &offers[1], c->sets[0], &key);
	if (err == MRC_OK)
		err = mrc_load_connect(c->rx, 0, &offers[0], c->sets[1], &key);
	free(offers);
	if (err == MRC_OK) {
		if (sim->sc->load.mode != SIM_STEADY)
			mrc_load_start(c->tx, 0);
		mrc_load_start(c->rx, 0);
	}
	return err;
}

/* Steady: the loads of connections whose time has come. */
static void steady_due(struct sim *sim)
{
	if (sim->next_start_ns > sim->now_ns)
		return;
	sim->next_start_ns = SIM_NEVER;
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		struct sim_conn *c = &sim->conns[i];

		if (c->started)
			continue;
		if (c->start_ns > sim->now_ns) {
			sim->next_start_ns = sim_min64(sim->next_start_ns, c->start_ns);
			continue;
		}
		c->started = true;
		mrc_load_start(c->tx, sim->now_ns);
		sim_mark(sim, &sim->hosts[c->src]);
	}
}

void sim_conns_create(struct sim *sim)
{
	sim->sc->load.piece_len = piece_len(sim);
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		int err = conn_loads(sim, &sim->conns[i]);

		if (err == MRC_OK)
			err = conn_connect(sim, &sim->conns[i]);
		if (err != MRC_OK) {
			sim_fail(sim, "connection %u to %u: %s: %s", sim->conns[i].src,
				sim->conns[i].dst, mrc_err_name(err), mrc_err_text(err));
			return;
		}
	}
	if (sim->sc->load.mode == SIM_STEADY)
		steady_due(sim);
	for (uint32_t h = 0; h < sim->nb_hosts; h++)
		sim_mark(sim, &sim->hosts[h]);
}

/* ---- begin, arrive, end */

static void begin(struct sim *sim, uint32_t i)
{
	struct sim_flow *flow = &sim->flows[i];
	struct sim_conn *c = &sim->conns[flow->conn];
	int err;

	flow->start_ns = sim->now_ns;
	flow->next_on_conn = UINT32_MAX;
	c->bytes += flow->f.bytes;
	flow->upto = c->bytes;
	sim->flows_begun++;
	if (c->next_arrival == UINT32_MAX)
		c->next_arrival = i;
	else
		sim->flows[c->last_flow].next_on_conn = i;
	c->last_flow = i;
	sim_mark(sim, &sim->hosts[flow->f.src]);
	if (sim->sc->transport == SIM_RC) {
		rc_flow_begin(sim, i);
		return;
	}
	err = mrc_load_flow_add(c->tx, sim->now_ns, flow->f.bytes, i);
	/* The connection has failed before: so does all that is asked of it. */
	if (err == MRC_ERR_STATE)
		sim_flow_ended(sim, i, sim->now_ns, true);
	else if (err != MRC_OK)
		sim_fail(sim, "flow %u cannot begin: %s", i, mrc_err_name(err));
}

static uint64_t due_ns(const struct sim *sim, uint32_t i)
{
	const struct sim_flow *flow = &sim->flows[i];

	if (sim->sc->load.barrier)
		return flow->f.round == sim->round ? sim->round_ns : SIM_NEVER;
	if (flow->f.after == MRC_PATTERN_NONE)
		return flow->f.start_ns;
	return sim->flows[flow->f.after].arrived_ns + flow->f.start_ns;
}

static void skip_dependent(struct sim *sim)
{
	while (sim->next_flow < sim->nb_flows &&
		sim->flows[sim->next_flow].f.after != MRC_PATTERN_NONE)
		sim->next_flow++;
}

uint64_t sim_flows_next(const struct sim *sim)
{
	uint64_t next = SIM_NEVER;

	if (sim->sc->load.mode == SIM_STEADY)
		return sim->next_start_ns;
	if (sim->next_flow < sim->nb_flows)
		next = due_ns(sim, sim->next_flow);
	for (uint32_t i = 0; i < sim->nb_waiting; i++) {
		uint64_t t = due_ns(sim, sim->waiting[i]);

		next = t < next ? t : next;
	}
	return next;
}

void sim_flows_due(struct sim *sim)
{
	uint32_t kept = 0, nb = sim->nb_waiting;

	if (sim->sc->load.mode == SIM_STEADY) {
		steady_due(sim);
		return;
	}
	for (uint32_t i = 0; i < nb; i++) {
		if (due_ns(sim, sim->waiting[i]) <= sim->now_ns)
			begin(sim, sim->waiting[i]);
		else
			sim->waiting[kept++] = sim->waiting[i];
	}
	sim->nb_waiting = kept;
	skip_dependent(sim);
	while (sim->next_flow < sim->nb_flows && due_ns(sim, sim->next_flow) <= sim->now_ns) {
		begin(sim, sim->next_flow++);
		skip_dependent(sim);
	}
}

void sim_flow_arrived(struct sim *sim, uint32_t i)
{
	struct sim_flow *flow = &sim->flows[i];

	flow->arrived_ns = sim->now_ns;
	round_counts(sim, flow);
	for (uint32_t d = flow->first_dep; d != UINT32_MAX; d = sim->flows[d].next_dep)
		sim->waiting[sim->nb_waiting++] = d;
}

void sim_flow_ended(struct sim *sim, uint32_t i, uint64_t end_ns, bool failed)
{
	struct sim_flow *flow = &sim->flows[i];

	if (flow->end_ns != SIM_NEVER)
		sim_fail(sim, "flow %u completed twice", i);
	flow->end_ns = end_ns;
	flow->failed = failed;
	sim->flows_done++;
	sim->flows_failed += failed;
	if (failed)
		round_counts(sim, flow);
}

/* Over several queue pairs they overtake each other. */
static void arrivals_any(struct sim *sim, struct sim_conn *c)
{
	uint32_t before = UINT32_MAX;

	for (uint32_t i = c->next_arrival; i != UINT32_MAX; i = sim->flows[i].next_on_conn) {
		if (!sim->flows[i].failed && !mrc_load_flow_placed(c->tx, c->rx, i)) {
			before = i;
			continue;
		}
		if (before == UINT32_MAX)
			c->next_arrival = sim->flows[i].next_on_conn;
		else
			sim->flows[before].next_on_conn = sim->flows[i].next_on_conn;
		if (c->last_flow == i)
			c->last_flow = before;
		if (!sim->flows[i].failed)
			sim_flow_arrived(sim, i);
	}
}

/* Flows of a connection with one queue pair arrive in the order in which they began. */
static void arrivals(struct sim *sim, struct sim_conn *c)
{
	uint64_t rx_bytes;

	if (c->next_arrival == UINT32_MAX)
		return;
	rx_bytes = mrc_load_rx_bytes(c->rx);
	if (sim_conn_qps(sim, c) > 1) {
		if (rx_bytes != c->seen_bytes)
			arrivals_any(sim, c);
		c->seen_bytes = rx_bytes;
		return;
	}
	while (c->next_arrival != UINT32_MAX && sim->flows[c->next_arrival].upto <= rx_bytes) {
		uint32_t i = c->next_arrival;

		c->next_arrival = sim->flows[i].next_on_conn;
		sim_flow_arrived(sim, i);
	}
}

void sim_flows_collect(struct sim_host *h)
{
	struct sim *sim = h->sim;
	struct mrc_load_flow_done done;

	if (sim->sc->load.mode == SIM_STEADY)
		return;
	for (uint32_t c = h->conns[1]; c != UINT32_MAX; c = sim->conns[c].next_of[1])
		arrivals(sim, &sim->conns[c]);
	for (uint32_t c = h->conns[0]; c != UINT32_MAX; c = sim->conns[c].next_of[0]) {
		while (mrc_load_flow_poll(sim->conns[c].tx, &done)) {
			struct sim_flow *flow = &sim->flows[done.tag];

			if (done.bytes != flow->f.bytes)
				sim_fail(sim, "flow %u completed with another length",
					(uint32_t)done.tag);
			sim_flow_ended(sim, (uint32_t)done.tag, done.end_ns, done.failed);
		}
	}
}

bool sim_flows_done(const struct sim *sim)
{
	if (sim->sc->load.mode == SIM_FLOWS)
		return sim->flows_done == sim->nb_flows;
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		if (!mrc_load_done(sim->conns[i].tx))
			return false;
	}
	return true;
}
