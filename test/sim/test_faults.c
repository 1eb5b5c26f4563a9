/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_faults.c - thirty kinds of faults, each with many seeds.
 *
 *   test_faults [--kind N] [--seed S] [--seeds K] [--first F] [--twice]
 *
 * Without arguments every kind runs with seeds 1..20. A run is a function of (kind, seed): the seed
 * draws the set-up (IP version, PMTU, window, QPs, workers, congestion control, load) and the
 * fault's parameters. While the fault lasts and after it the history checker of pair judges; when
 * it is over, everything must finish, or be in a documented error where the kind allows one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

struct run {
	struct pair *p;
	struct test_env te; /* draws parameters; the pair draws its own */
	uint32_t periods;   /* of a repeating disturbance, still to come */
	uint32_t plane, index;
	int step;
};

struct kind {
	const char *name;
	void (*cfg)(struct run *r, struct pair_cfg *cfg); /* changes the set-up; may be NULL */
	void (*start)(struct run *r);                     /* installs the fault */
	void (*after)(struct run *r); /* when the first load is through; may be NULL */
	bool allow_error;
};

static uint32_t rnd(struct run *r, uint32_t lo, uint32_t hi)
{
	return lo + test_random_below(&r->te, hi - lo + 1);
}

static struct pair_fault *rule(struct run *r, struct pair_fault f)
{
	return pair_fault_add(r->p, &f);
}

/* fn at random intervals up to max_us, `periods` times. */
static void again(struct run *r, uint32_t max_us, void (*fn)(struct pair *p, void *arg))
{
	if (r->periods == 0)
		return;
	r->periods--;
	pair_at(r->p, rnd(r, 1, max_us * 1000), fn, r);
}

/* ---- 1-10: loss, duplicates, order ---- */

static void uniform_loss(struct run *r)
{
	const uint32_t ppm[] = {1000, 10000, 50000, 100000, 300000};

	rule(r, (struct pair_fault){.act = PAIR_DROP, .ppm = ppm[rnd(r, 0, 4)]});
}

static void burst_loss(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.dir = (enum pair_dir)rnd(r, 0, 2),
			.ppm = rnd(r, 200, 5000),
			.burst = rnd(r, 2, 1024),
			.burst_ns = 100 * PAIR_US,
			.count = 5});
}

static void nth_packet(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.dir = (enum pair_dir)rnd(r, 1, 2),
			.skip = rnd(r, 0, 200),
			.every = rnd(r, 3, 200)});
}

static void last_packets(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.kinds = PAIR_DATA,
			.last_only = true,
			.rtx = PAIR_RTX_FIRST,
			.every = rnd(r, 1, 4)});
}

static void lost_again(struct run *r)
{
	rule(r, (struct pair_fault){
			.act = PAIR_DROP, .kinds = PAIR_DATA, .rtx = PAIR_RTX_FIRST, .ppm = 20000});
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.kinds = PAIR_DATA,
			.rtx = PAIR_RTX_AGAIN,
			.ppm = rnd(r, 300000, 600000)});
}

static void answers_lost(struct run *r)
{
	const uint32_t kinds[] = {PAIR_SACK, PAIR_ACK, PAIR_ANSWERS, PAIR_NACK | PAIR_SACK};
	uint64_t from = r->p->now + rnd(r, 0, 100000);

	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.kinds = kinds[rnd(r, 0, 3)],
			.from_ns = from,
			.to_ns = from + rnd(r, 10000, 5000000)});
}

static void duplicates(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DUP,
			.kinds = PAIR_DATA,
			.arg = rnd(r, 1, 9),
			.jitter_ns = rnd(r, 0, 200000)});
}

static void duplicate_answers(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DUP,
			.kinds = PAIR_ANSWERS,
			.arg = rnd(r, 1, 9),
			.jitter_ns = rnd(r, 0, 200000)});
}

static void small_reordering(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DELAY, .jitter_ns = rnd(r, 100, 12000)});
}

static void wide_reordering(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DELAY,
			.ppm = rnd(r, 10000, 1000000),
			.jitter_ns = rnd(r, 100000, 400000)});
}

/* ---- 11-16: old, broken, trimmed, hostile packets ---- */

static void replay(struct pair *p, void *arg)
{
	struct run *r = arg;
	int to = (int)rnd(r, 0, 1);
	const struct pair_pkt *pkt = p->recorded[to][rnd(r, 0, PAIR_RECORDED - 1)];

	if (pkt != NULL)
		pair_inject(p, to, pkt->plane, pkt->data, pkt->len, p->cfg.delay_ns + 1000);
	again(r, 10, replay);
}

static void old_packets(struct run *r)
{
	r->p->record = true;
	r->periods = 400;
	again(r, 10, replay);
}

/* The packets of the first life are thrown into the second. */
static void old_life(struct run *r)
{
	struct pair *p = r->p;

	p->record = false;
	for (uint32_t i = 0; i < p->cfg.nb_qps; i++) {
		pair_recreate(p, PAIR_A, i);
		pair_recreate(p, PAIR_B, i);
		pair_connect(p, i, rnd(r, 0, 0xffffff), rnd(r, 0, 0xffffff));
	}
	r->periods = 400;
	again(r, 2, replay);
}

static void payload_flips(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_FLIP,
			.kinds = PAIR_DATA,
			.ppm = rnd(r, 1000, 100000),
			.arg = UINT32_MAX});
}

static void header_flips(struct run *r)
{
	for (int k = 0; k < 8; k++)
		rule(r, (struct pair_fault){.act = PAIR_FLIP,
				.ppm = rnd(r, 1000, 20000),
				.arg = rnd(r, 12, 100),
				.bit = rnd(r, 0, 7)});
}

static void wrong_lengths(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_CUT, .ppm = rnd(r, 1000, 50000)});
	rule(r, (struct pair_fault){
			.act = PAIR_PAD, .ppm = rnd(r, 1000, 50000), .arg = rnd(r, 1, 64)});
}

static void forge_trim(struct pair *p, void *arg)
{
	struct run *r = arg;
	struct pair_qp *a = &p->q[PAIR_A][rnd(r, 0, p->cfg.nb_qps - 1)];
	struct mrc_pkt pkt;
	uint32_t len, from_udp = rnd(r, 12, 64);
	uint8_t *frame;

	pair_pkt_write(p, PAIR_B, (uint32_t)(a - p->q[PAIR_A]), MRC_OP_WRITE_MIDDLE,
		a->wire_next + rnd(r, 0, 6000) - 3000, 0, p->cfg.pmtu, &pkt);
	pkt.cls = (uint8_t)rnd(r, MRC_CLASS_TRIMMED, MRC_CLASS_TRIMMED_LASTHOP);
	pkt.dscp = p->proto.dscp[pkt.cls];
	frame = pair_encode(p, &pkt, 0, &len);
	pair_inject(p, PAIR_B, 0, frame, (p->cfg.v6 ? 54 : 34) + from_udp, 0);
	free(frame);
	again(r, 5, forge_trim);
}

static void trimmed(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_TRIM,
			.kinds = PAIR_DATA,
			.ppm = rnd(r, 1000, 500000),
			.arg = rnd(r, 28, 64),
			.cls = (uint8_t)rnd(r, MRC_CLASS_TRIMMED, MRC_CLASS_TRIMMED_LASTHOP)});
	r->periods = 300;
	again(r, 5, forge_trim);
}

/* One packet with a right checksum and one lie in it. */
static void hostile(struct pair *p, void *arg)
{
	struct run *r = arg;
	int to = (int)rnd(r, 0, 1);
	uint32_t i = rnd(r, 0, p->cfg.nb_qps - 1);
	uint32_t next = p->q[!to][i].wire_next;
	const uint8_t ops[] = {MRC_OP_WRITE_ONLY, MRC_OP_WRITE_LAST_IMM, MRC_OP_SACK, MRC_OP_ACK,
		MRC_OP_NACK, MRC_OP_PROBE, MRC_OP_EP_REQ, MRC_OP_EP_RSP};
	uint8_t op = ops[rnd(r, 0, 7)];
	bool write = mrc_opcode_table[op].flags & MRC_OPF_WRITE;
	uint32_t far = rnd(r, 5000, 0x700000);
	struct mrc_pkt pkt;
	uint8_t *frame;
	uint32_t len;

	pair_pkt_init(p, to, i, op, &pkt);
	if (write)
		pair_pkt_write(p, to, i, op, next + far, 64, 64, &pkt);
	else if (op == MRC_OP_SACK)
		pkt.psn = pkt.sack.cack = mrc_psn(p->q[to][i].wire_next + far);
	else if (op == MRC_OP_ACK)
		pkt.ack.syndrome = MRC_AETH_ACK, pkt.psn = mrc_psn(p->q[to][i].wire_next + far);
	else if (op == MRC_OP_NACK) {
		pkt.nack.reason = MRC_NACK_UNEXP_EVENT;
		pkt.psn = pkt.nack.psn = mrc_psn(p->q[to][i].wire_next + far);
	} else if (op == MRC_OP_EP_REQ || op == MRC_OP_EP_RSP) {
		pkt.dqpn = MRC_QPN_ENDPOINT;
		pkt.ep.op = MRC_EP_EV_PROBE;
		pkt.src.raw[15] ^= 0x40;
	}
	if (write && rnd(r, 0, 1)) {
		/* in the window, but from a stranger */
		pkt.psn = mrc_psn(next);
		pkt.src.raw[15] ^= 0x40;
	}
	frame = pair_encode(p, &pkt, 0xEE, &len);
	pair_inject(p, to, rnd(r, 0, p->cfg.nb_planes - 1), frame, len, 0);
	free(frame);
	again(r, 5, hostile);
}

static void hostile_packets(struct run *r)
{
	r->periods = 500;
	again(r, 5, hostile);
}

/* ---- 17-22: paths ---- */

static void ev_black_hole(struct run *r)
{
	const struct mrc_ev *ev =
		mrc_ev_get(r->p->hosts[PAIR_A][0].set, rnd(r, 0, r->p->cfg.nb_evs - 1));

	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.dir = PAIR_A2B,
			.has_ev = true,
			.ev = ev->value,
			.planes = 1u << ev->plane});
}

static void flap(struct pair *p, void *arg)
{
	struct run *r = arg;

	pair_plane(p, r->index & 1, r->plane, r->step);
	r->step = !r->step;
	again(r, 300, flap);
}

static void plane_flaps(struct run *r)
{
	r->periods = 41; /* odd: begins and ends with ... down, and pair_finish says up */
	r->plane = rnd(r, 0, r->p->cfg.nb_planes - 1);
	r->index = rnd(r, 0, 1);
	again(r, 300, flap);
}

static void one_way_plane(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.dir = (enum pair_dir)rnd(r, 1, 2),
			.planes = 1u << rnd(r, 0, r->p->cfg.nb_planes - 1)});
}

static void mtu_hole(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP,
			.planes = 1u << rnd(r, 0, r->p->cfg.nb_planes - 1),
			.min_len = 200});
}

static void slow(struct pair *p, void *arg)
{
	struct run *r = arg;

	p->cfg.delay_ns *= 100;
	p->cfg.jitter_ns = rnd(r, 0, 100000);
}

static void delay_step(struct run *r)
{
	r->p->cfg.delay_ns = 2 * PAIR_US;
	pair_at(r->p, rnd(r, 10000, 200000), slow, r);
}

static void ecn(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_MARK, .kinds = PAIR_DATA, .every = rnd(r, 1, 10)});
}

/* ---- 23-30: the ends themselves ---- */

static void restart_now(struct pair *p, void *arg)
{
	for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
		pair_recreate(p, PAIR_B, i);
}

static void peer_restarts(struct run *r)
{
	pair_at(r->p, rnd(r, 10000, 100000), restart_now, r);
}

static void both_again(struct run *r)
{
	for (uint32_t i = 0; i < r->p->cfg.nb_qps; i++)
		pair_reconnect(r->p, i, rnd(r, 0, 0xffffff), rnd(r, 0, 0xffffff));
}

static void pause_now(struct pair *p, void *arg)
{
	struct run *r = arg;

	pair_freeze(p, PAIR_B, r->step ? 2 * PAIR_S : rnd(r, 100000, 1500000));
}

static void peer_pauses(struct run *r)
{
	r->step = (int)rnd(r, 0, 1); /* 1: longer than every schedule */
	pair_at(r->p, rnd(r, 1000, 100000), pause_now, r);
}

static void short_cfg(struct run *r, struct pair_cfg *cfg)
{
	r->step = (int)rnd(r, 0, 2);
	if (r->step == 0)
		cfg->max_wimm = (uint16_t)rnd(r, 1, 4);
	if (r->step == 1)
		cfg->auto_recv = false; /* no receive for any immediate: the documented error */
}

static void release_cq(struct pair *p, void *arg)
{
	p->hold_cq = false;
	for (int side = 0; side < 2; side++)
		for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++)
			pair_kick(&p->hosts[side][w]);
}

static void hold_cq(struct pair *p, void *arg)
{
	struct run *r = arg;

	p->hold_cq = true;
	pair_at(p, rnd(r, 10000, 1000000), release_cq, r);
	again(r, 500, hold_cq);
}

static void short_receiver(struct run *r)
{
	r->periods = r->step == 2 ? 5 : 0;
	again(r, 500, hold_cq);
}

static void stall_now(struct pair *p, void *arg)
{
	struct run *r = arg;
	int side = (int)rnd(r, 0, 1);

	if (rnd(r, 0, 1))
		pair_freeze(p, side, rnd(r, 1000, 1000000));
	else
		pair_clock_jump(p, side, rnd(r, 1000, 1000000000));
	again(r, 2000, stall_now);
}

static void endless(struct run *r, struct pair_cfg *cfg)
{
	cfg->exp_cnt = MRC_EXP_MAX;
}

static void stalls(struct run *r)
{
	r->periods = 5;
	again(r, 100, stall_now);
}

static void no_descriptors(struct run *r)
{
	r->p->busy_ppm = rnd(r, 1000, 300000);
	r->p->busy_ns = rnd(r, 500, 20000);
	r->p->norings_ppm = rnd(r, 0, 500000);
}

static void control_now(struct pair *p, void *arg)
{
	struct run *r = arg;
	struct pair_qp *q = &p->q[PAIR_B][rnd(r, 0, p->cfg.nb_qps - 1)];
	struct mrc_ev_set *set = p->hosts[PAIR_A][0].set;
	uint32_t ev = rnd(r, 0, p->cfg.nb_evs - 2); /* one always stays */

	switch (r->step) {
	case 0:
		mrc_ev_set_state(set, p->now, ev,
			mrc_ev_state(set, ev) == MRC_EV_DENIED ? MRC_EV_GOOD : MRC_EV_DENIED);
		again(r, 20, control_now);
		return;
	case 1:
		for (uint32_t w = 0; w < p->cfg.nb_workers[PAIR_B]; w++)
			(void)mrc_sched_mr_dereg(p->hosts[PAIR_B][w].sched, q->dst.mr.key);
		return;
	default:
		(void)mrc_sched_qp_modify(
			q->host->sched, pair_host_now_of(q->host), q->qp, MRC_QP_ERR, &q->attr);
		pair_kick(q->host);
	}
}

static bool no_denied(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct mrc_ev_set *set = p->hosts[PAIR_A][0].set;
	uint32_t ev;

	/* An endpoint response names the path of the request that it answers. */
	if (from != PAIR_A || pkt->opcode == MRC_OP_EP_RSP || p->cfg.nb_workers[PAIR_A] != 1)
		return true;
	ev = mrc_ev_find(set, pkt->ev, frame[5]); /* last byte of the MAC: the plane */
	if (ev != MRC_EV_NONE && mrc_ev_state(set, ev) == MRC_EV_DENIED)
		pair_fail(p, "a packet of opcode %#x on a denied path", pkt->opcode);
	return true;
}

static void control_changes(struct run *r)
{
	r->step = (int)rnd(r, 0, 2);
	r->periods = 50;
	r->p->tap = no_denied;
	again(r, 50, control_now);
}

static void wrap_cfg(struct run *r, struct pair_cfg *cfg)
{
	static _Thread_local struct mrc_proto proto;

	mrc_proto_default(&proto);
	proto.choice.first_msn = 0xFFFF - rnd(r, 0, 40);
	proto.choice.first_rqmsn = 0xFFFF - rnd(r, 0, 20);
	cfg->proto = &proto;
	cfg->random_psn = false;
	cfg->psn[0] = (rnd(r, 0, 1) ? 0xFFFFFF : 0x7FFFFF) - rnd(r, 0, 600);
	cfg->psn[1] = (rnd(r, 0, 1) ? 0xFFFFFF : 0x7FFFFF) - rnd(r, 0, 600);
}

static void at_the_wrap(struct run *r)
{
	rule(r, (struct pair_fault){.act = PAIR_DROP, .ppm = rnd(r, 1000, 50000)});
	rule(r, (struct pair_fault){
			.act = PAIR_DUP, .ppm = 100000, .jitter_ns = rnd(r, 1000, 200000)});
	rule(r, (struct pair_fault){.act = PAIR_DELAY, .jitter_ns = rnd(r, 1000, 30000)});
}

static void handover_cfg(struct run *r, struct pair_cfg *cfg)
{
	cfg->nb_workers[PAIR_A] = rnd(r, 1, 4);
	cfg->nb_workers[PAIR_B] = rnd(r, 2, 4);
	cfg->nb_qps = rnd(r, 2, 6);
	cfg->handover_len = rnd(r, 1, 32);
	cfg->handover_ns = rnd(r, 100, 50000);
	cfg->exp_cnt = MRC_EXP_MAX;
}

static void nothing(struct run *r)
{
}

static const struct kind kinds[] = {
	{"uniform loss", endless, uniform_loss, NULL, false},
	{"burst loss", endless, burst_loss, NULL, false},
	{"n-th packet lost", endless, nth_packet, NULL, false},
	{"last packet of messages lost", endless, last_packets, NULL, false},
	{"retransmission lost", endless, lost_again, NULL, false},
	{"answers lost", endless, answers_lost, NULL, false},
	{"duplicated data", NULL, duplicates, NULL, false},
	{"duplicated answers", NULL, duplicate_answers, NULL, false},
	{"small reordering", NULL, small_reordering, NULL, false},
	{"reordering past the window", endless, wide_reordering, NULL, false},
	{"very old packets", NULL, old_packets, old_life, false},
	{"bit flips in the payload", endless, payload_flips, NULL, false},
	{"bit flips in headers", endless, header_flips, NULL, false},
	{"frames cut and padded", endless, wrong_lengths, NULL, false},
	{"trimmed packets, true and forged", endless, trimmed, NULL, false},
	{"hostile packets with a right checksum", NULL, hostile_packets, NULL, false},
	{"one entropy value black-holed", endless, ev_black_hole, NULL, false},
	{"a plane goes down and up", endless, plane_flaps, NULL, false},
	{"one plane dead one way", endless, one_way_plane, NULL, false},
	{"big packets die on one plane", endless, mtu_hole, NULL, false},
	{"delay grows a hundredfold", endless, delay_step, NULL, false},
	{"ECN marks", NULL, ecn, NULL, false},
	{"peer restarts", NULL, peer_restarts, both_again, true},
	{"peer pauses", NULL, peer_pauses, both_again, true},
	{"receiver short of resources", short_cfg, short_receiver, both_again, true},
	{"worker stalls, clock jumps", endless, stalls, NULL, false},
	{"no transmit descriptors", NULL, no_descriptors, NULL, false},
	{"control changes under load", NULL, control_changes, NULL, true},
	{"numbers wrap", wrap_cfg, at_the_wrap, NULL, false},
	{"handover queue full or slow", handover_cfg, nothing, NULL, false},
};

enum {
	NB_KINDS = sizeof(kinds) / sizeof(kinds[0])
};

/* ---- one run ---- */

static void draw_cfg(struct run *r, struct pair_cfg *cfg, struct mrc_nscc_cfg *cc)
{
	cfg->v6 = rnd(r, 0, 1);
	cfg->vlan = rnd(r, 0, 3) == 0;
	cfg->pmtu = 256u << rnd(r, 0, 4);
	cfg->mpr = (uint8_t)rnd(r, 1, 12);
	cfg->nb_planes = rnd(r, 2, 4);
	cfg->nb_evs = cfg->nb_planes * rnd(r, 2, 12);
	cfg->nb_qps = rnd(r, 1, 4);
	cfg->nb_workers[PAIR_A] = rnd(r, 1, 2);
	cfg->nb_workers[PAIR_B] = rnd(r, 1, 2);
	cfg->timestamps = rnd(r, 0, 3) != 0;
	cfg->per_packet_timers = rnd(r, 0, 1);
	cfg->dynamic_mpr = rnd(r, 0, 3) == 0;
	cfg->random_psn = true;
	cfg->timeout = (uint8_t)rnd(r, 6, 10);
	cfg->mem_len = 1u << 19;
	cfg->skew_ns = rnd(r, 0, 3000);
	cfg->sq_depth = 32;
	cfg->rq_depth = 64;
	cfg->cq_depth = 128;
	cfg->check_every = 4;
	if (rnd(r, 0, 1)) {
		mrc_nscc_cfg_default(cc, 80000000000ull, 20000, cfg->pmtu + 96, true);
		cfg->cc = cc;
	}
}

static void loads(struct run *r, uint32_t count)
{
	struct pair *p = r->p;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
			if (mrc_sched_qp_state(p->q[side][i].qp) == MRC_QP_RTS)
				pair_load(p, side, i,
					&(struct pair_load){.count = count / (side ? 4 : 1),
						.depth = rnd(r, 1, 32),
						.min_len = 0,
						.max_len = rnd(r, 1, 20000),
						.imm_pct = rnd(r, 0, 60),
						.unsignaled_pct = rnd(r, 0, 60)});
}

struct totals {
	uint64_t runs, packets, bytes, events, errors;
};

static uint64_t one(const char *prog, uint32_t k, uint64_t seed, struct totals *t)
{
	const struct kind *kind = &kinds[k];
	struct run r = {.step = 0};
	struct pair_cfg cfg;
	struct mrc_nscc_cfg cc;
	char repro[128];
	uint64_t hash;

	snprintf(repro, sizeof(repro), "%s --kind %u --seed %llu", prog, k + 1,
		(unsigned long long)seed);
	test_env_seed(&r.te, seed * 64 + k);
	pair_cfg_default(&cfg);
	cfg.seed = seed * 64 + k;
	cfg.repro = repro;
	cfg.allow_error = kind->allow_error;
	draw_cfg(&r, &cfg, &cc);
	if (kind->cfg != NULL)
		kind->cfg(&r, &cfg);
	r.p = pair_create(&cfg);
	kind->start(&r);
	loads(&r, 120);
	if (!pair_run_idle(r.p, 30 * PAIR_S) && kind->after != NULL)
		pair_fail(r.p, "kind %u seed %llu: the first load does not end", k + 1,
			(unsigned long long)seed);
	r.periods = 0;
	if (kind->after != NULL) {
		kind->after(&r);
		loads(&r, 40);
	}
	pair_finish(r.p, 60 * PAIR_S);
	hash = r.p->hash;
	t->runs++;
	t->packets += r.p->wire_packets[0] + r.p->wire_packets[1];
	t->bytes += r.p->bytes_checked;
	t->events += r.p->nb_events;
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < cfg.nb_qps; i++)
			t->errors += r.p->q[side][i].nb_error;
	pair_destroy(r.p);
	return hash;
}

int main(int argc, char **argv)
{
	uint32_t only = 0, seeds = 20, first = 1, twice = 0;
	struct totals all = {0};

	for (int i = 1; i < argc; i++) {
		uint32_t x = i + 1 < argc ? (uint32_t)strtoul(argv[i + 1], NULL, 0) : 0;

		if (strcmp(argv[i], "--kind") == 0)
			only = x, i++;
		else if (strcmp(argv[i], "--seed") == 0)
			first = x, seeds = 1, i++;
		else if (strcmp(argv[i], "--seeds") == 0)
			seeds = x, i++;
		else if (strcmp(argv[i], "--first") == 0)
			first = x, i++;
		else if (strcmp(argv[i], "--twice") == 0)
			twice = 1;
		else
			return fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
	}
	if (only > NB_KINDS)
		return fprintf(stderr, "kinds are 1 .. %d\n", NB_KINDS), 2;
	for (uint32_t k = only ? only - 1 : 0; k < (only ? only : NB_KINDS); k++) {
		struct totals t = {0};

		for (uint64_t s = first; s < (uint64_t)first + seeds; s++) {
			uint64_t hash = one(argv[0], k, s, &t);

			if ((twice || s == first) && hash != one(argv[0], k, s, &t)) {
				fprintf(stderr, "%s --kind %u --seed %llu runs differently twice\n",
					argv[0], k + 1, (unsigned long long)s);
				return 1;
			}
		}
		printf("%2u %-40s %4llu runs %9llu packets %6.1f MB verified %5llu error "
		       "completions\n",
			k + 1, kinds[k].name, (unsigned long long)t.runs,
			(unsigned long long)t.packets, (double)t.bytes * 1e-6,
			(unsigned long long)t.errors);
		fflush(stdout);
		all.runs += t.runs;
		all.packets += t.packets;
		all.bytes += t.bytes;
	}
	printf("%llu runs, %llu packets, %.1f MB verified, 0 wrong\n", (unsigned long long)all.runs,
		(unsigned long long)all.packets, (double)all.bytes * 1e-6);
	return 0;
}
