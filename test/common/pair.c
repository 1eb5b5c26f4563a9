/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - building two endpoints: engines, queues, regions, connections. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair_priv.h"

void (*pair_on_fail)(void) = abort;

void pair_cfg_default(struct pair_cfg *cfg_out)
{
	*cfg_out = (struct pair_cfg){
		.seed = 1,
		.nb_planes = 4,
		.nb_evs = 32,
		.nb_qps = 1,
		.nb_workers = {1, 1},
		.pmtu = 1024,
		.mpr = 8,
		.max_wimm = 32,
		.timestamps = true,
		.trim_nack = true,
		.timeout = 8,
		.linear_cnt = 7,
		.exp_cnt = 7,
		.psn = {0x1000, 0x2000},
		.sq_depth = 128,
		.rq_depth = 128,
		.cq_depth = 1024,
		.mem_len = 1u << 20,
		.delay_ns = 5 * PAIR_US,
		.pkt_ns = 100,
		.tx_burst = 8,
		.handover_ns = 500,
		.handover_len = 1024,
		.start_ns = PAIR_S,
		.check_every = 1,
		.auto_recv = true,
	};
}

void pair_fail(struct pair *p, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(p->failure)];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->failed++ == 0)
		memcpy(p->failure, text, sizeof(text));
	if (p->tolerate)
		return;
	fprintf(stderr, "FAILED at t=%llu ns, event %llu: %s\n",
		(unsigned long long)(p->now - p->cfg.start_ns), (unsigned long long)p->nb_events,
		text);
	if (p->cfg.repro != NULL)
		fprintf(stderr, "repeat: %s\n", p->cfg.repro);
	else
		fprintf(stderr, "repeat: MRC_TEST_SEED=%llu and the same program\n",
			(unsigned long long)p->cfg.seed);
	pair_on_fail();
}

static struct mrc_gid gid_of(const struct pair *p, int side)
{
	struct mrc_gid g = {{0}};

	if (p->cfg.v6) {
		g.raw[0] = 0x20;
		g.raw[1] = 0x01;
		g.raw[2] = 0x0d;
		g.raw[3] = 0xb8;
	} else {
		g.raw[10] = g.raw[11] = 0xff;
		g.raw[12] = 10;
	}
	g.raw[15] = (uint8_t)(1 + side);
	return g;
}

static void mac_of(int side, uint32_t plane, uint8_t *mac)
{
	const uint8_t m[6] = {2, 0, 0, 0, (uint8_t)side, (uint8_t)plane};

	memcpy(mac, m, sizeof(m));
}

static void sched_cfg(struct pair *p, struct pair_host *h, struct mrc_sched_cfg *cfg)
{
	const struct pair_cfg *pc = &p->cfg;
	uint32_t psns = 128u * (pc->mpr < 8 ? 8 : pc->mpr);

	mrc_sched_cfg_default(cfg);
	cfg->proto = &p->proto;
	cfg->worker = h->worker;
	cfg->nb_workers = pc->nb_workers[h->side];
	cfg->nb_planes = pc->nb_planes;
	for (uint32_t i = 0; i < pc->nb_planes; i++) {
		mac_of(h->side, i, cfg->planes[i].mac);
		cfg->planes[i].vlan = pc->vlan;
		cfg->planes[i].vlan_tci = pc->vlan ? 5 : 0;
	}
	cfg->max_qps = pc->nb_qps + 2;
	cfg->max_cqs = 2 * pc->nb_qps + 4;
	cfg->max_mrs = 2 * pc->nb_qps + 8;
	cfg->max_pds = 8;
	cfg->max_peers = 4;
	cfg->window_psns = psns * (pc->nb_qps + 1);
	cfg->sent_psns = psns * (pc->nb_qps + 1);
	cfg->queue_entries =
		(pc->nb_qps + 2) * (2 * pc->cq_depth + pc->sq_depth + pc->rq_depth + 64) * 2;
	cfg->timestamps = pc->timestamps;
	cfg->dynamic_mpr = pc->dynamic_mpr;
	cfg->hooks.ctx = p;
	cfg->hooks.placed = pair_placed;
	if (pc->tweak != NULL)
		pc->tweak(cfg, h->side);
}

static void host_peers(struct pair *p, struct pair_host *h)
{
	struct mrc_gid peer = gid_of(p, !h->side);
	uint8_t mac[6];

	for (uint32_t i = 0; i < p->cfg.nb_planes; i++) {
		mac_of(!h->side, i, mac);
		PAIR_EQ(p, mrc_sched_peer_set(h->sched, &peer, i, mac), MRC_OK);
	}
}

static void host_ev_set(struct pair *p, struct pair_host *h)
{
	struct mrc_ev *evs = calloc(p->cfg.nb_evs, sizeof(*evs));
	struct mrc_ev_cfg cfg;

	mrc_ev_cfg_default(&cfg);
	cfg.mode = p->cfg.v6 ? MRC_EV_MODE_STEV : MRC_EV_MODE_UDP;
	cfg.evs = evs;
	cfg.nb_evs = p->cfg.nb_evs;
	cfg.nb_planes = (uint8_t)p->cfg.nb_planes;
	mrc_ev_generate(evs, p->cfg.nb_evs, (uint8_t)p->cfg.nb_planes, cfg.mode, &h->te.env);
	if (p->cfg.ev_tweak != NULL)
		p->cfg.ev_tweak(&cfg);
	PAIR_EQ(p, mrc_ev_create(&cfg, &h->te.env, &h->set), MRC_OK);
	free(evs);
}

static void host_init(struct pair *p, int side, uint32_t worker)
{
	struct pair_host *h = &p->hosts[side][worker];
	struct mrc_sched_cfg cfg;

	*h = (struct pair_host){.pair = p, .side = side, .worker = worker};
	test_env_seed(&h->te, p->cfg.seed * 16 + 4u * (uint32_t)side + worker + 1);
	h->te.env.trace = p->cfg.trace;
	h->timer_at = MRC_SCHED_NEVER;
	sched_cfg(p, h, &cfg);
	PAIR_EQ(p, mrc_sched_create(&cfg, &h->te.env, &h->sched), MRC_OK);
	PAIR_EQ(p, mrc_sched_pd_create(h->sched, &h->pd), MRC_OK);
	PAIR_EQ(p, h->pd, p->hosts[side][0].pd); /* regions are installed under one number */
	host_ev_set(p, h);
	host_peers(p, h);
}

/* Registers on the QP's worker, installs on the others. */
static void region_register(
	struct pair_qp *q, struct pair_region *r, uint32_t access, uint64_t iova)
{
	struct pair *p = q->pair;

	r->mr = (struct mrc_sched_mr){
		.pd = q->host->pd, .access = access, .addr = r->data, .iova = iova, .len = r->len};
	PAIR_EQ(p, mrc_sched_mr_reg(q->host->sched, &r->mr), MRC_OK);
	for (uint32_t w = 0; w < p->cfg.nb_workers[q->host->side]; w++) {
		struct pair_host *h = &p->hosts[q->host->side][w];

		if (h != q->host)
			PAIR_EQ(p, mrc_sched_mr_install(h->sched, &r->mr), MRC_OK);
	}
}

static void qp_new(struct pair_qp *q)
{
	const struct pair_cfg *pc = &q->pair->cfg;
	struct mrc_sched_qp_cfg cfg = {.pd = q->host->pd,
		.send_cq = q->send_cq,
		.recv_cq = q->recv_cq,
		.sq_depth = pc->sq_depth,
		.rq_depth = pc->rq_depth,
		.max_sge = MRC_SCHED_MAX_SGE,
		.sq_sig_all = pc->sig_all,
		.ctx = q};

	PAIR_EQ(q->pair, mrc_sched_qp_create(q->host->sched, &cfg, &q->qp), MRC_OK);
	PAIR_ASSERT(q->pair, mrc_sched_qp_ctx(q->qp) == q);
	PAIR_EQ(q->pair, mrc_sched_qpn_worker(mrc_sched_qp_num(q->qp)), q->host->worker);
}

static void qp_init(struct pair *p, int side, uint32_t i)
{
	struct pair_qp *q = &p->q[side][i];

	q->pair = p;
	q->host = &p->hosts[side][i % p->cfg.nb_workers[side]];
	q->peer = &p->q[!side][i];
	pair_region_init(p, &q->src, p->cfg.mem_len);
	pair_region_init(p, &q->dst, p->cfg.mem_len);
	region_register(q, &q->src, MRC_ACCESS_LOCAL_WRITE, (uint64_t)(uintptr_t)q->src.data);
	region_register(q, &q->dst, MRC_ACCESS_LOCAL_WRITE | MRC_ACCESS_REMOTE_WRITE,
		0x7f0000000000ull * (uint32_t)side + 0x100000000ull * (i + 1) + 0x123);
	PAIR_EQ(p, mrc_sched_cq_create(q->host->sched, p->cfg.cq_depth, &q->send_cq), MRC_OK);
	PAIR_EQ(p, mrc_sched_cq_create(q->host->sched, p->cfg.cq_depth, &q->recv_cq), MRC_OK);
	qp_new(q);
}

static void attr_init(struct pair_qp *q, uint32_t psn_mine, uint32_t psn_peer)
{
	const struct pair *p = q->pair;
	const struct pair_cfg *pc = &p->cfg;
	struct mrc_sched_qp_attr *a = &q->attr;

	mrc_sched_qp_attr_default(a);
	a->ev_set = q->host->set;
	a->cc = pc->cc;
	a->local = gid_of(p, q->host->side);
	a->peer = gid_of(p, !q->host->side);
	a->dest_qpn = mrc_sched_qp_num(q->peer->qp);
	a->rq_psn = mrc_psn(psn_peer);
	a->pmtu = pc->pmtu;
	a->mpr_dest = pc->mpr;
	a->max_wimm_dest = pc->max_wimm;
	a->dynamic_mpr = pc->dynamic_mpr;
	a->trim_nack_peer = pc->trim_nack;
	a->sq_psn = mrc_psn(psn_mine);
	a->mpr = pc->mpr;
	a->max_wimm = pc->max_wimm;
	a->timeout = pc->timeout;
	a->linear_cnt = pc->linear_cnt;
	a->exp_cnt = pc->exp_cnt;
	a->per_packet_timers = pc->per_packet_timers;
	if (pc->attr_tweak != NULL)
		pc->attr_tweak(a, q->host->side);
	q->wire_next = q->wire_end = a->sq_psn.v;
	q->wire_cack = mrc_psn_add(a->sq_psn, -1).v;
	q->wire_mpr = 128u * a->mpr;
	q->wire_units = 0;
	q->wire_resets++;
}

static void qp_up(struct pair_qp *q, enum mrc_qp_state to)
{
	struct pair *p = q->pair;

	PAIR_EQ(p, mrc_sched_qp_modify(q->host->sched, pair_host_now(q->host), q->qp, to, &q->attr),
		MRC_OK);
	PAIR_EQ(p, mrc_sched_qp_state(q->qp), to);
}

void pair_connect(struct pair *p, uint32_t i, uint32_t psn_a, uint32_t psn_b)
{
	struct pair_qp *a = &p->q[PAIR_A][i], *b = &p->q[PAIR_B][i];

	attr_init(a, psn_a, psn_b);
	attr_init(b, psn_b, psn_a);
	for (int s = MRC_QP_INIT; s <= MRC_QP_RTS; s++) {
		qp_up(a, (enum mrc_qp_state)s);
		qp_up(b, (enum mrc_qp_state)s);
	}
	for (int side = 0; side < 2 && p->cfg.auto_recv; side++)
		for (uint32_t k = 0; k < p->cfg.rq_depth; k++)
			pair_post_recv(p, side, i);
}

static void qp_forget(struct pair_qp *q)
{
	if (q->next_done != q->nb_ops)
		q->peer->dst.tainted = true;
	for (uint32_t k = q->next_done; k < q->nb_ops; k++)
		q->ops[k].done = true;
	q->next_done = q->nb_ops;
	/* what it has not received, it never will; what it sent may still arrive at the peer */
	q->peer->next_placed = q->peer->next_imm = q->peer->nb_ops;
	q->recv_done = q->recv_posted;
	q->src.tail = q->src.head;
	q->peer->dst.tail = q->peer->dst.head;
	q->load_left = 0;
}

void pair_reconnect(struct pair *p, uint32_t i, uint32_t psn_a, uint32_t psn_b)
{
	for (int side = 0; side < 2; side++) {
		struct pair_qp *q = &p->q[side][i];

		if (mrc_sched_qp_state(q->qp) != MRC_QP_RESET)
			qp_up(q, MRC_QP_RESET);
		qp_forget(q);
	}
	pair_connect(p, i, psn_a, psn_b);
}

void pair_recreate(struct pair *p, int side, uint32_t i)
{
	struct pair_qp *q = &p->q[side][i];

	PAIR_EQ(p, mrc_sched_qp_destroy(q->host->sched, pair_host_now(q->host), q->qp), MRC_OK);
	qp_forget(q);
	qp_new(q);
}

struct pair *pair_create(const struct pair_cfg *cfg)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->cfg = *cfg;
	p->now = cfg->start_ns;
	p->hash = 0x9E3779B97F4A7C15u;
	test_env_seed(&p->te, cfg->seed);
	if (cfg->proto != NULL)
		p->proto = *cfg->proto;
	else
		mrc_proto_default(&p->proto);
	PAIR_EQ(p, mrc_proto_init(&p->proto), MRC_OK);
	for (int side = 0; side < 2; side++) {
		for (uint32_t w = 0; w < cfg->nb_workers[side]; w++)
			host_init(p, side, w);
		p->q[side] = calloc(cfg->nb_qps, sizeof(struct pair_qp));
	}
	for (uint32_t i = 0; i < cfg->nb_qps; i++)
		for (int side = 0; side < 2; side++)
			qp_init(p, side, i);
	for (int side = 0; side < 2; side++)
		for (uint32_t w = 0; w < cfg->nb_workers[side]; w++)
			test_env_freeze(&p->hosts[side][w].te);
	for (uint32_t i = 0; i < cfg->nb_qps && !cfg->no_connect; i++) {
		uint32_t a = cfg->random_psn ? test_random_below(&p->te, 1u << 24) : cfg->psn[0];
		uint32_t b = cfg->random_psn ? test_random_below(&p->te, 1u << 24) : cfg->psn[1];

		pair_connect(p, i, a, b);
	}
	return p;
}

static void qp_destroy(struct pair_qp *q)
{
	struct pair *p = q->pair;
	struct mrc_sched *s = q->host->sched;

	PAIR_EQ(p, mrc_sched_qp_destroy(s, pair_host_now(q->host), q->qp), MRC_OK);
	PAIR_EQ(p, mrc_sched_cq_destroy(s, q->send_cq), MRC_OK);
	PAIR_EQ(p, mrc_sched_cq_destroy(s, q->recv_cq), MRC_OK);
	PAIR_EQ(p, mrc_sched_mr_dereg(s, q->src.mr.key), MRC_OK);
	pair_region_free(p, &q->src);
	pair_region_free(p, &q->dst);
	free(q->ops);
}

static void host_destroy(struct pair *p, struct pair_host *h)
{
	while (h->in_head != NULL) {
		struct pair_pkt *pkt = h->in_head;

		h->in_head = pkt->next;
		pair_pkt_free(pkt);
	}
	mrc_sched_destroy(h->sched);
	mrc_ev_destroy(h->set);
	PAIR_EQ(p, h->te.blocks_in_use, 0);
	PAIR_EQ(p, h->te.bytes_in_use, 0);
}

void pair_destroy(struct pair *p)
{
	struct pair_event event;

	pair_check_memory(p);
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
			qp_destroy(&p->q[side][i]);
		for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++)
			host_destroy(p, &p->hosts[side][w]);
		for (uint32_t k = 0; k < PAIR_RECORDED; k++)
			if (p->recorded[side][k] != NULL)
				pair_pkt_free(p->recorded[side][k]);
		free(p->q[side]);
	}
	while (pair_pop(p, &event))
		if (event.kind == PAIR_EVENT_ARRIVE || event.kind == PAIR_EVENT_HANDOVER)
			pair_pkt_free(event.obj);
	free(p->heap);
	free(p);
}
