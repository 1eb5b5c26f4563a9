/* SPDX-License-Identifier: BSD-2-Clause */
/* sim.c - the clock: what happens at each instant, in which order. */
#include "sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	RX_BATCH = 32,
	MAX_STEPS_AT_ONCE = 10000000, /* of the same instant: something loops */
};

void sim_fail(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	if (sim->failure[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(sim->failure, sizeof(sim->failure), fmt, ap);
	va_end(ap);
}

void sim_hash(struct sim *sim, uint64_t value)
{
	/* Hosts that are run apart keep one each, so that it does not matter where windows end. */
	uint64_t *hash = sim->running != NULL ? &sim->running->hash : &sim->hash;

	*hash = (*hash ^ value) * 0x9E3779B97F4A7C15u;
	*hash ^= *hash >> 29;
}

/* ---- heap of hosts by wake-up time, then index */

static bool before(const struct sim_wake *x, const struct sim_wake *y)
{
	return x->at_ns < y->at_ns || (x->at_ns == y->at_ns && x->host < y->host);
}

static void heap_put(struct sim *sim, uint32_t at, struct sim_wake wake)
{
	sim->heap[at] = wake;
	sim->hosts[wake.host].heap_at = at;
}

static void heap_up(struct sim *sim, uint32_t at, struct sim_wake wake)
{
	while (at > 0 && before(&wake, &sim->heap[(at - 1) / 4])) {
		heap_put(sim, at, sim->heap[(at - 1) / 4]);
		at = (at - 1) / 4;
	}
	heap_put(sim, at, wake);
}

static void heap_down(struct sim *sim, uint32_t at, struct sim_wake wake)
{
	for (;;) {
		uint32_t best = at * 4 + 1;

		if (best >= sim->heap_len)
			break;
		for (uint32_t c = best + 1; c < at * 4 + 5 && c < sim->heap_len; c++) {
			if (before(&sim->heap[c], &sim->heap[best]))
				best = c;
		}
		if (!before(&sim->heap[best], &wake))
			break;
		heap_put(sim, at, sim->heap[best]);
		at = best;
	}
	heap_put(sim, at, wake);
}

void sim_heap_set(struct sim *sim, struct sim_host *h, uint64_t at_ns)
{
	struct sim_wake wake = {at_ns, h->index};

	if (at_ns < sim->heap[h->heap_at].at_ns)
		heap_up(sim, h->heap_at, wake);
	else if (at_ns > sim->heap[h->heap_at].at_ns)
		heap_down(sim, h->heap_at, wake);
}

void sim_wake_at(struct sim *sim, struct sim_host *h, uint64_t at_ns)
{
	if (at_ns >= h->wake_ns)
		return;
	h->wake_ns = at_ns;
	if (h != sim->running && at_ns < sim->heap[h->heap_at].at_ns)
		heap_up(sim, h->heap_at, (struct sim_wake){at_ns, h->index});
}

void sim_list(struct sim *sim, struct sim_host *h)
{
	if (h->listed)
		return;
	h->listed = true;
	sim->dirty[sim->nb_dirty++] = h->index;
}

void sim_mark(struct sim *sim, struct sim_host *h)
{
	h->dirty = true;
	sim_list(sim, h);
}

/* ---- create */

static uint64_t env_random(void *ctx)
{
	struct sim *sim = ctx;

	return sim_random(sim->rng);
}

static void hosts_init(struct sim *sim)
{
	sim->hosts = sim_alloc(sim->nb_hosts * sizeof(*sim->hosts));
	sim->heap = sim_alloc(sim->nb_hosts * sizeof(*sim->heap));
	sim->dirty = sim_alloc(sim->nb_hosts * sizeof(*sim->dirty));
	sim->heap_len = sim->nb_hosts;
	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		sim->hosts[i].sim = sim;
		sim->hosts[i].index = i;
		sim->hosts[i].wake_ns = SIM_NEVER;
		heap_put(sim, i, (struct sim_wake){SIM_NEVER, i});
	}
}

struct sim *sim_create(struct scenario *sc, const struct sim_opts *opts)
{
	struct sim *sim = sim_alloc(sizeof(*sim));

	sim->sc = sc;
	sim->opts = *opts;
	sim->nb_hosts = scenario_nb_hosts(sc);
	sim_seed(sim->rng, sc->seed);
	sim_env_init(&sim->env, sim, env_random);
	sim->until_ns = SIM_NEVER;
	sim->scratch = sim_alloc(65536 + 64);
	if (sc->run.repair)
		sim_repair_create(sim);
	if (sc->run.waits)
		sim_waits_create(sim);
	sim->next_sample_ns = sc->run.sample_ns != 0 ? sc->run.sample_ns : SIM_NEVER;
	sim->next_bin_ns = SIM_BIN_NS;
	sim->next_mark_ns = sc->load.mode == SIM_STEADY ? sc->load.warmup_ns : SIM_NEVER;
	hosts_init(sim);
	scenario_cc(sc, &sim->cc);
	return sim;
}

static void begin(struct sim *sim)
{
	if (sim->failure[0] == '\0')
		sim_flows_create(sim);
	if (sim->failure[0] == '\0')
		sim_net_create(sim);
	if (sim->failure[0] == '\0')
		sim_hosts_create(sim);
	if (sim->failure[0] != '\0')
		return;
	if (sim->sc->transport == SIM_RC)
		rc_create(sim);
	else
		sim_conns_create(sim);
	if (sim->failure[0] == '\0')
		sim_churn_create(sim);
	if (sim->failure[0] == '\0')
		sim_storm_create(sim);
	for (uint32_t l = 0; sim->pcap != NULL && l < mrc_fabric_nb_links(sim->fabric); l++) {
		uint32_t before_it = l == 0 ? UINT32_MAX : l - 1;

		if (mrc_fabric_link_next(sim->fabric, &sim->opts.pcap_where, before_it) == l)
			mrc_fabric_tap_set(sim->fabric, l, true);
	}
	sim->begun = sim->failure[0] == '\0';
}

void sim_destroy(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		struct sim_conn *c = &sim->conns[i];

		if (c->tx != NULL)
			mrc_load_destroy(c->tx, sim->now_ns);
		if (c->rx != NULL)
			mrc_load_destroy(c->rx, sim->now_ns);
		for (int side = 0; side < 2; side++) {
			if (c->own_sets >> side & 1)
				mrc_ev_destroy(c->sets[side]);
		}
		free(c->lost_before);
		if (sim->sc->load.verify != MRC_LOAD_VERIFY_NONE)
			sim_guarded_free(c->region);
		else if (i == 0)
			sim_alias_unmap(c->region, c->region_len);
	}
	if (sim->rc != NULL)
		rc_destroy(sim);
	sim_repair_destroy(sim);
	free(sim->waits);
	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		for (uint32_t w = 0; w < SIM_MAX_WORKERS; w++)
			mrc_sched_destroy(sim->hosts[i].sched[w]);
		sim_handover_free(&sim->hosts[i]);
	}
	mrc_fabric_destroy(sim->fabric);
	sim_churn_free(sim);
	sim_storm_free(sim);
	free(sim->rounds);
	free(sim->bins);
	sim_pool_done(&sim->pool);
	if (sim->sc->load.verify == MRC_LOAD_VERIFY_NONE)
		sim_alias_unmap(sim->source, sim->source_len);
	else
		free(sim->source);
	sim_series_free(sim);
	free(sim->conns);
	free(sim->flows);
	free(sim->waiting);
	free(sim->hosts);
	free(sim->heap);
	free(sim->dirty);
	free(sim->scratch);
	free(sim);
	sim_arena_done();
}

/* ---- run */

static void carriers(struct sim *sim)
{
	uint32_t host, plane;
	bool up;

	while (mrc_fabric_carrier_poll(sim->fabric, &host, &plane, &up)) {
		sim_hash(sim, (uint64_t)host << 8 | plane << 1 | up);
		sim_host_carrier(&sim->hosts[host], plane, up);
		sim_mark(sim, &sim->hosts[host]);
	}
}

uint32_t sim_port_read(struct sim *sim, struct sim_host *h, uint32_t plane)
{
	struct mrc_fabric_pkt pkts[RX_BATCH];
	uint32_t n, nb = 0;

	do {
		n = mrc_fabric_recv_by(sim->fabric, sim->now_ns, h->index, plane, pkts, RX_BATCH);
		for (uint32_t i = 0; i < n; i++) {
			if (sim->sc->transport == SIM_RC)
				rc_rx(h, plane, &pkts[i]);
			else
				sim_host_rx(h, plane, &pkts[i]);
		}
		nb += n;
	} while (n == RX_BATCH);
	sim->stats.events += nb;
	return nb;
}

static void arrivals(struct sim *sim)
{
	uint32_t host, plane;

	while (mrc_fabric_ready(sim->fabric, &host, &plane)) {
		struct sim_host *h = &sim->hosts[host];

		/* A paused host finds what came when it wakes up. */
		if (sim->now_ns < h->paused_until)
			continue;
		sim_port_read(sim, h, plane);
		sim_mark(sim, h);
	}
}

static void pauses(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->sc->nb_pauses; i++) {
		const struct sim_pause *p = &sim->sc->pauses[i];
		struct sim_host *h = &sim->hosts[p->host];

		if (p->at_ns == sim->now_ns && h->paused_until < p->at_ns + p->for_ns) {
			h->paused_until = p->at_ns + p->for_ns;
			sim_wake_at(sim, h, h->paused_until);
		}
		if (p->at_ns + p->for_ns == sim->now_ns) {
			for (uint32_t plane = 0; plane < sim->sc->fabric.planes; plane++)
				sim_port_read(sim, h, plane);
			sim_mark(sim, h);
		}
	}
}

static uint64_t next_pause(const struct sim *sim)
{
	uint64_t next = SIM_NEVER;

	for (uint32_t i = 0; i < sim->sc->nb_pauses; i++) {
		const struct sim_pause *p = &sim->sc->pauses[i];

		if (p->at_ns > sim->now_ns && p->at_ns < next)
			next = p->at_ns;
		if (p->at_ns + p->for_ns > sim->now_ns && p->at_ns + p->for_ns < next)
			next = p->at_ns + p->for_ns;
	}
	return next;
}

/* When something happens that concerns more than one host. */
uint64_t sim_barrier_ns(struct sim *sim)
{
	uint64_t t = sim_min64(sim_flows_next(sim), sim_churn_next(sim));

	if (sim->sc->nb_pauses != 0)
		t = sim_min64(t, next_pause(sim));
	t = sim_min64(t, sim->next_sample_ns);
	t = sim_min64(t, sim->next_bin_ns);
	t = sim_min64(t, sim_storm_next(sim));
	return sim_min64(t, sim->next_mark_ns);
}

static uint64_t next_instant(struct sim *sim)
{
	uint64_t t = mrc_fabric_next_deadline(sim->fabric);

	/* Every host has its turn at the start. */
	if (sim->nb_dirty != 0)
		return sim->now_ns;
	t = sim_min64(t, sim->heap[0].at_ns);
	t = sim_min64(t, sim_barrier_ns(sim));
	return t < sim->now_ns ? sim->now_ns : t;
}

void sim_act(struct sim *sim, struct sim_host *h)
{
	h->dirty = false;
	sim_host_act(h);
	sim->stats.events++;
	if (sim->sc->run.check_every != 0 && sim->stats.events % sim->sc->run.check_every == 0)
		sim_check_host(h);
}

static void act(struct sim *sim)
{
	/* Hosts that are marked while others act have their turn at the same instant. */
	for (uint32_t i = 0; i < sim->nb_dirty && sim->failure[0] == '\0'; i++) {
		struct sim_host *h = &sim->hosts[sim->dirty[i]];

		h->listed = false;
		sim_act(sim, h);
		if (i + 1 == sim->nb_hosts)
			break;
	}
	sim->nb_dirty = 0;
}

void sim_begin_instant(struct sim *sim)
{
	carriers(sim);
	if (sim->sc->nb_pauses != 0)
		pauses(sim);
}

void sim_end_instant(struct sim *sim)
{
	if (sim->now_ns >= sim->next_mark_ns)
		sim_mark_steady(sim);
	if (sim->now_ns >= sim->next_sample_ns) {
		sim_sample(sim);
		sim->next_sample_ns += sim->sc->run.sample_ns;
	}
	if (sim->now_ns >= sim->next_bin_ns)
		sim_bin(sim);
	sim->stats.steps++;
}

static void step(struct sim *sim)
{
	sim_storm_due(sim);
	mrc_fabric_run(sim->fabric, sim->now_ns, UINT32_MAX);
	sim_begin_instant(sim);
	arrivals(sim);
	sim_flows_due(sim);
	sim_churn_due(sim);
	while (sim->heap[0].at_ns <= sim->now_ns) {
		struct sim_host *h = &sim->hosts[sim->heap[0].host];

		sim_heap_set(sim, h, SIM_NEVER);
		h->wake_ns = SIM_NEVER;
		sim_mark(sim, h);
	}
	act(sim);
	sim_end_instant(sim);
}

/* Once a fifth is done everything has been touched that a longer run needs as well. */
static void watch_memory(struct sim *sim)
{
	if (sim->memory_early == 0 && 5ull * sim->flows_done >= sim->nb_flows)
		sim->memory_early = sim_memory_resident();
}

/* The instant t, or a window of them. */
static void advance(struct sim *sim, uint64_t t)
{
	uint64_t end_ns;

	if (!sim->apart) {
		sim->now_ns = t;
		step(sim);
		return;
	}
	end_ns = sim_window_end(sim, t);
	sim->now_ns = t;
	sim_window(sim, end_ns);
}

static bool over(const struct sim *sim)
{
	return sim->failure[0] != '\0' || sim_flows_done(sim);
}

/* What is under way may still arrive: acknowledgements, retransmissions that were not needed. */
static void drain(struct sim *sim)
{
	uint64_t until = sim->end_ns + 20 * scenario_rtt_ns(sim->sc);

	sim->until_ns = until;
	while (sim->failure[0] == '\0') {
		uint64_t t = next_instant(sim);

		if (t > until)
			break;
		advance(sim, t);
	}
	if (sim->apart)
		sim->now_ns = until;
}

static void hash_hosts(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->nb_hosts; i++)
		sim_hash(sim, sim->hosts[i].hash);
}

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool sim_run(struct sim *sim)
{
	uint64_t same = 0;
	double wall_s, cpu_s;

	begin(sim);
	wall_s = seconds(CLOCK_MONOTONIC);
	cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
	while (!over(sim)) {
		uint64_t t = next_instant(sim);

		if (t == SIM_NEVER || t > sim->sc->run.limit_ns) {
			sim_fail(sim, "not finished %s",
				t == SIM_NEVER ? "and nothing is going on any more"
					       : "at the time limit");
			break;
		}
		same = t == sim->now_ns ? same + 1 : 0;
		if (same > MAX_STEPS_AT_ONCE)
			sim_fail(sim, "time stands still");
		advance(sim, t);
		if (!sim->apart && (sim->stats.steps & 0xFFF) != 0)
			continue;
		watch_memory(sim);
		if (sim->opts.progress_s > 0)
			sim_progress(sim);
	}
	sim->end_ns = sim->apart && over(sim) ? sim_window_last_ns(sim) : sim->now_ns;
	watch_memory(sim);
	sim->memory_late = sim_memory_resident();
	if (sim->failure[0] == '\0')
		drain(sim);
	if (sim->apart)
		hash_hosts(sim);
	sim->wall_s = seconds(CLOCK_MONOTONIC) - wall_s;
	sim->cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	if (sim->failure[0] == '\0')
		sim_check_end(sim);
	return sim->failure[0] == '\0';
}
