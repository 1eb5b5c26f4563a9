/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinmrc.c - random calls: verbs, packets and time on two engines, in any order and with random
 * arguments, good and bad; memory may run out during create. Nothing may crash, leak, write outside
 * its region or break the book of bytes in flight.
 *
 *   spinmrc [--calls N] [--seed S]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrc_sched.h"
#include "test_env.h"

enum {
	NB_QPS = 6,
	NB_CQS = 4,
	NB_MRS = 6,
	NB_PDS = 2,
	MEM = 8192,
	GUARD = 256,
	WIRE = 64,    /* packets in flight per direction */
	LIFE = 10000, /* calls before the engines are torn down and built again */
};

struct frame {
	uint8_t *data;
	uint32_t len, plane;
};

struct end {
	struct test_env te;
	struct mrc_sched *s;
	struct mrc_ev_set *set;
	struct mrc_sched_qp *qps[NB_QPS];
	uint32_t rq_psn[NB_QPS], sq_psn[NB_QPS];
	struct mrc_sched_cq *cqs[NB_CQS];
	struct mrc_sched_mr mrs[NB_MRS];
	bool mr_used[NB_MRS];
	uint32_t pds[NB_PDS];
	bool pd_used[NB_PDS];
	uint8_t block[MEM + 2 * GUARD];
	struct frame wire[WIRE]; /* towards this end */
	uint32_t nb_wire;
};

struct spin {
	struct test_env te;
	struct mrc_proto proto;
	struct end ends[2];
	struct mrc_gid gid[2];
	uint64_t now, calls, seed;
	uint64_t refused, accepted, packets, completions, creates_failed;
};

static uint32_t rnd(struct spin *sp, uint32_t n)
{
	return test_random_below(&sp->te, n);
}

static void die(struct spin *sp, const char *what)
{
	fprintf(stderr, "spinmrc: %s after %llu calls\nrepeat: spinmrc --seed %llu --calls %llu\n",
		what, (unsigned long long)sp->calls, (unsigned long long)sp->seed,
		(unsigned long long)sp->calls + 1);
	abort();
}

static void note(struct spin *sp, int err)
{
	if (err == MRC_OK)
		sp->accepted++;
	else if (err < 0 && err >= MRC_ERR_SPACE)
		sp->refused++;
	else
		die(sp, "a code that does not exist");
}

/* ---- building ---- */

static void peers(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];

	for (uint32_t p = 0; p < 2; p++) {
		uint8_t mac[6] = {2, 0, 0, 0, (uint8_t)!side, (uint8_t)p};

		note(sp, mrc_sched_peer_set(e->s, &sp->gid[!side], p, mac));
	}
}

static bool end_build(struct spin *sp, int side, bool may_fail)
{
	struct end *e = &sp->ends[side];
	struct mrc_sched_cfg cfg;
	struct mrc_ev evs[8];
	struct mrc_ev_cfg ev_cfg;

	memset(e, 0, sizeof(*e));
	test_env_seed(&e->te, test_random64(&sp->te));
	if (may_fail && rnd(sp, 4) == 0)
		e->te.fail_after = rnd(sp, 30);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &sp->proto;
	cfg.nb_workers = 1;
	cfg.nb_planes = 2;
	cfg.max_qps = NB_QPS;
	cfg.max_cqs = NB_CQS;
	cfg.max_mrs = NB_MRS;
	cfg.max_pds = NB_PDS;
	cfg.max_peers = 2;
	cfg.window_psns = 128 * 16;
	cfg.sent_psns = 128 * 16;
	cfg.queue_entries = 2048;
	cfg.timestamps = rnd(sp, 2);
	cfg.dynamic_mpr = rnd(sp, 2);
	cfg.strict_echo = rnd(sp, 4) == 0;
	mrc_ev_cfg_default(&ev_cfg);
	ev_cfg.mode = MRC_EV_MODE_UDP;
	ev_cfg.evs = evs;
	ev_cfg.nb_evs = 8;
	ev_cfg.nb_planes = 2;
	mrc_ev_generate(evs, 8, 2, ev_cfg.mode, &e->te.env);
	if (mrc_sched_create(&cfg, &e->te.env, &e->s) != MRC_OK) {
		if (e->te.blocks_in_use != 0)
			die(sp, "memory kept by a failed create");
		sp->creates_failed++;
		return false;
	}
	e->te.fail_after = UINT32_MAX;
	if (mrc_ev_create(&ev_cfg, &e->te.env, &e->set) != MRC_OK)
		die(sp, "no entropy values");
	memset(e->block, 0xA5, sizeof(e->block));
	peers(sp, side);
	test_env_freeze(&e->te);
	return true;
}

static void end_tear(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];

	for (uint32_t i = 0; i < e->nb_wire; i++)
		free(e->wire[i].data);
	mrc_sched_destroy(e->s);
	mrc_ev_destroy(e->set);
	if (e->te.blocks_in_use != 0)
		die(sp, "memory kept after destroy");
}

static void build(struct spin *sp)
{
	for (int side = 0; side < 2; side++)
		while (!end_build(sp, side, true))
			;
}

/* ---- calls ---- */

static void pd_call(struct spin *sp, struct end *e)
{
	uint32_t i = rnd(sp, NB_PDS);
	int err;

	if (!e->pd_used[i]) {
		err = mrc_sched_pd_create(e->s, &e->pds[i]);
		e->pd_used[i] = err == MRC_OK;
	} else {
		err = mrc_sched_pd_destroy(e->s, rnd(sp, 8) ? e->pds[i] : 1000 + rnd(sp, 10));
		if (err == MRC_OK)
			e->pd_used[i] = false;
	}
	note(sp, err);
}

static void cq_call(struct spin *sp, struct end *e)
{
	uint32_t i = rnd(sp, NB_CQS);
	int err;

	if (e->cqs[i] == NULL) {
		err = mrc_sched_cq_create(e->s, rnd(sp, 40), &e->cqs[i]);
	} else if (rnd(sp, 4) == 0) {
		err = mrc_sched_cq_destroy(e->s, e->cqs[i]);
		if (err == MRC_OK)
			e->cqs[i] = NULL;
	} else {
		struct mrc_sched_wc wc[8];
		uint32_t n = mrc_sched_cq_poll(e->s, e->cqs[i], wc, 1 + rnd(sp, 8));

		for (uint32_t k = 0; k < n; k++)
			if (wc[k].status > MRC_WC_FATAL_ERR || wc[k].opcode > MRC_WC_RECV_IMM)
				die(sp, "a completion of no kind");
		sp->completions += n;
		err = MRC_OK;
	}
	note(sp, err);
}

static void mr_call(struct spin *sp, struct end *e)
{
	uint32_t i = rnd(sp, NB_MRS);
	int err;

	if (!e->mr_used[i]) {
		uint32_t off = rnd(sp, MEM), len = rnd(sp, MEM - off + 1);

		e->mrs[i] = (struct mrc_sched_mr){
			.pd = rnd(sp, 8) ? e->pds[rnd(sp, NB_PDS)] : rnd(sp, 9),
			.access = rnd(sp, 4),
			.addr = e->block + GUARD + off,
			.iova = rnd(sp, 4) ? 0x1000 + off : UINT64_MAX - rnd(sp, 2 * MEM),
			.len = len};
		err = mrc_sched_mr_reg(e->s, &e->mrs[i]);
		e->mr_used[i] = err == MRC_OK;
	} else if (rnd(sp, 20) == 0) {
		err = mrc_sched_mr_dereg(e->s, e->mrs[i].key);
		if (err != MRC_OK)
			die(sp, "a region that cannot be given back");
		e->mr_used[i] = false;
	} else {
		err = mrc_sched_mr_dereg(e->s, e->mrs[i].key ^ (0x10000u << rnd(sp, 16)));
		if (err == MRC_OK)
			die(sp, "a key that was never given");
	}
	note(sp, err);
}

static void qp_new(struct spin *sp, struct end *e, uint32_t i)
{
	struct mrc_sched_qp_cfg cfg = {.pd = rnd(sp, 16) ? e->pds[rnd(sp, NB_PDS)] : rnd(sp, 9),
		.send_cq = e->cqs[rnd(sp, NB_CQS)],
		.recv_cq = e->cqs[rnd(sp, NB_CQS)],
		.sq_depth = rnd(sp, 33),
		.rq_depth = rnd(sp, 33),
		.max_sge = rnd(sp, 6),
		.sq_sig_all = rnd(sp, 2),
		.ctx = e};

	note(sp, mrc_sched_qp_create(e->s, &cfg, &e->qps[i]));
}

static void attr_random(struct spin *sp, int side, uint32_t i, struct mrc_sched_qp_attr *a)
{
	struct end *e = &sp->ends[side], *o = &sp->ends[!side];

	mrc_sched_qp_attr_default(a);
	a->ev_set = e->set;
	a->local = sp->gid[side];
	a->peer = sp->gid[!side];
	a->dest_qpn = o->qps[i] != NULL ? mrc_sched_qp_num(o->qps[i]) : rnd(sp, 1u << 24);
	/* both ends agree more often than not */
	a->rq_psn = mrc_psn(side ? 0xFFFFF0 : 0x7FFFF0);
	a->sq_psn = mrc_psn(side ? 0x7FFFF0 : 0xFFFFF0);
	a->pmtu = 256;
	a->mpr = a->mpr_dest = (uint8_t)(1 + rnd(sp, 3));
	a->dynamic_mpr = rnd(sp, 2);
	a->max_wimm = a->max_wimm_dest = (uint16_t)(1 + rnd(sp, 4));
	a->timeout = (uint8_t)rnd(sp, 12);
	a->linear_cnt = (uint8_t)rnd(sp, 8);
	a->exp_cnt = (uint8_t)rnd(sp, 8);
	a->per_packet_timers = rnd(sp, 2);
	switch (rnd(sp, 40)) {
	case 0:
		a->pmtu = rnd(sp, 10000);
		break;
	case 1:
		a->dest_qpn = rnd(sp, 1u << 25);
		break;
	case 2:
		a->mpr = a->mpr_dest = 0;
		break;
	case 3:
		a->timeout = (uint8_t)rnd(sp, 256);
		break;
	case 4:
		a->ev_set = NULL;
		break;
	}
}

static void qp_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];
	uint32_t i = rnd(sp, NB_QPS);
	struct mrc_sched_qp_attr a;
	enum mrc_qp_state to;

	if (e->qps[i] == NULL) {
		qp_new(sp, e, i);
		return;
	}
	if (rnd(sp, 60) == 0) {
		note(sp, mrc_sched_qp_destroy(e->s, sp->now, e->qps[i]));
		e->qps[i] = NULL;
		return;
	}
	attr_random(sp, side, i, &a);
	to = mrc_sched_qp_state(e->qps[i]);
	if (to < MRC_QP_RTS && rnd(sp, 8))
		to = (enum mrc_qp_state)(to + 1);
	else if (rnd(sp, 10) == 0)
		to = (enum mrc_qp_state)rnd(sp, 5);
	else if (to != MRC_QP_ERR)
		return;
	else
		to = MRC_QP_RESET;
	note(sp, mrc_sched_qp_modify(e->s, sp->now, e->qps[i], to, &a));
}

static void post_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side], *o = &sp->ends[!side];
	uint32_t i = rnd(sp, NB_QPS), k = rnd(sp, NB_MRS);
	struct mrc_sched_sge sges[5];
	struct mrc_sched_send_wr wr = {.wr_id = sp->calls,
		.sges = sges,
		.nb_sge = rnd(sp, 6),
		.flags = rnd(sp, 8),
		.raddr = o->mrs[k].iova + rnd(sp, 64),
		.rkey = rnd(sp, 30) ? o->mrs[k].key : (uint32_t)test_random64(&sp->te)};

	if (e->qps[i] == NULL)
		return;
	if (rnd(sp, 4) == 0) {
		note(sp, mrc_sched_post_recv(
				 e->s, e->qps[i], &(struct mrc_sched_recv_wr){.wr_id = sp->calls}));
		return;
	}
	for (int s = 0; s < 5; s++) {
		const struct mrc_sched_mr *mr = &e->mrs[rnd(sp, NB_MRS)];

		sges[s] = (struct mrc_sched_sge){mr->iova + rnd(sp, 16),
			mr->len > 16 ? rnd(sp, (uint32_t)mr->len) : rnd(sp, 20), mr->key};
		if (rnd(sp, 40) == 0)
			sges[s].len = (uint32_t)test_random64(&sp->te);
	}
	note(sp, rnd(sp, 2) ? mrc_sched_post_write(e->s, e->qps[i], &wr)
			    : mrc_sched_post_write_imm(e->s, e->qps[i], &wr));
}

/* ---- packets and time ---- */

static void wire_put(struct spin *sp, struct end *to, const uint8_t *data, uint32_t len, uint32_t p)
{
	struct frame *f;

	if (to->nb_wire == WIRE || rnd(sp, 30) == 0)
		return;
	f = &to->wire[to->nb_wire++];
	f->data = malloc(len);
	memcpy(f->data, data, len);
	f->len = len;
	f->plane = p;
	if (rnd(sp, 40) == 0)
		f->data[rnd(sp, len)] ^= (uint8_t)(1 + rnd(sp, 255));
}

static void tx_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];
	uint8_t room[16][MRC_HDR_ROOM + MRC_PMTU_MAX + MRC_TRAILER_MAX];
	struct mrc_txbuf bufs[16];
	uint32_t n = rnd(sp, 17);

	for (uint32_t i = 0; i < n; i++)
		bufs[i] = (struct mrc_txbuf){.hdr = room[i]};
	n = mrc_sched_tx(e->s, sp->now, bufs, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = mrc_txbuf_finish(&bufs[i], true);

		wire_put(sp, &sp->ends[!side], room[i], len, bufs[i].plane);
		if (rnd(sp, 30) == 0)
			wire_put(sp, &sp->ends[!side], room[i], len, bufs[i].plane);
	}
	sp->packets += n;
}

static void rx_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];
	struct mrc_rxbuf bufs[16];
	struct frame taken[16];
	struct mrc_rx_verdict v[16];
	uint32_t n = 0, want = rnd(sp, 17);

	while (n < want && e->nb_wire != 0) {
		uint32_t i = rnd(sp, 4) ? 0 : rnd(sp, e->nb_wire);

		taken[n] = e->wire[i];
		e->nb_wire--;
		memmove(&e->wire[i], &e->wire[i + 1], (e->nb_wire - i) * sizeof(e->wire[0]));
		bufs[n] = (struct mrc_rxbuf){taken[n].data, taken[n].len, (uint8_t)taken[n].plane};
		n++;
	}
	mrc_sched_rx(e->s, sp->now, bufs, n, v);
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].kind > MRC_RX_DROP || v[i].kind == MRC_RX_FOREIGN_WORKER ||
			(v[i].kind == MRC_RX_DROP && (v[i].arg == 0 || v[i].arg >= MRC_NB_DROPS)))
			die(sp, "a verdict that does not exist");
		free(taken[i].data);
	}
}

static void time_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];
	uint64_t d;

	sp->now += rnd(sp, 20) ? rnd(sp, 5000) : rnd(sp, 5000000);
	d = mrc_sched_next_deadline(e->s);
	if (rnd(sp, 4) == 0 && d != MRC_SCHED_NEVER && d > sp->now && d - sp->now < 10000000000ull)
		sp->now = d;
	(void)mrc_sched_expire(e->s, sp->now);
}

static void odd_call(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];
	struct mrc_sched_event event;
	uint32_t ev = rnd(sp, 8);

	switch (rnd(sp, 4)) {
	case 0:
		mrc_sched_plane_set(e->s, sp->now, rnd(sp, 2),
			rnd(sp, 4) ? MRC_PLANE_UP : (enum mrc_plane_state)rnd(sp, 3));
		break;
	case 1:
		while (mrc_sched_event_poll(e->s, &event))
			;
		break;
	case 2:
		(void)mrc_ev_set_state(
			e->set, sp->now, ev, rnd(sp, 3) ? MRC_EV_GOOD : MRC_EV_DENIED);
		break;
	case 3:
		peers(sp, side);
		break;
	}
}

static void check(struct spin *sp, int side)
{
	struct end *e = &sp->ends[side];

	for (uint32_t i = 0; i < NB_QPS; i++) {
		struct mrc_sched_qp_info info;

		if (e->qps[i] == NULL)
			continue;
		mrc_sched_qp_query(e->s, e->qps[i], &info);
		if (info.inflight < 0 || (uint64_t)info.inflight != info.sent_map_bytes)
			die(sp, "bytes in flight differ from the sent map");
		if (info.outstanding > 128 * 3)
			die(sp, "more outstanding than the window");
	}
	for (uint32_t i = 0; i < GUARD; i++)
		if (e->block[i] != 0xA5 || e->block[GUARD + MEM + i] != 0xA5)
			die(sp, "a guard zone is written");
}

static void call(struct spin *sp)
{
	int side = (int)rnd(sp, 2);

	switch (rnd(sp, 32)) {
	case 0:
		pd_call(sp, &sp->ends[side]);
		break;
	case 1:
		odd_call(sp, side);
		break;
	case 2:
		mr_call(sp, &sp->ends[side]);
		break;
	case 3:
	case 4:
		qp_call(sp, side);
		break;
	case 5:
	case 6:
	case 7:
		cq_call(sp, &sp->ends[side]);
		break;
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
	case 13:
		post_call(sp, side);
		break;
	case 14:
	case 15:
	case 16:
	case 17:
	case 18:
		time_call(sp, side);
		break;
	case 19:
		check(sp, side);
		break;
	default:
		if (rnd(sp, 2))
			tx_call(sp, side);
		else
			rx_call(sp, side);
	}
}

int main(int argc, char **argv)
{
	static struct spin sp;
	uint64_t calls = 10000000;

	sp.seed = 1;
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && strcmp(argv[i], "--calls") == 0)
			calls = strtoull(argv[i + 1], NULL, 0);
		else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
			sp.seed = strtoull(argv[i + 1], NULL, 0);
		else
			return fputs("usage: spinmrc [--calls N] [--seed N]\n", stderr), 2;
	}
	test_env_seed(&sp.te, sp.seed);
	mrc_proto_default(&sp.proto);
	if (mrc_proto_init(&sp.proto) != MRC_OK)
		return 1;
	for (int side = 0; side < 2; side++) {
		const uint8_t gid[16] = {
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + side)};

		memcpy(sp.gid[side].raw, gid, 16);
	}
	sp.now = 1000000;
	build(&sp);
	for (; sp.calls < calls; sp.calls++) {
		if (sp.calls % LIFE == LIFE - 1) {
			end_tear(&sp, 0);
			end_tear(&sp, 1);
			build(&sp);
		}
		call(&sp);
	}
	end_tear(&sp, 0);
	end_tear(&sp, 1);
	printf("%llu calls: %llu accepted, %llu refused, %llu packets, %llu completions, %llu "
	       "creates without memory\n",
		(unsigned long long)sp.calls, (unsigned long long)sp.accepted,
		(unsigned long long)sp.refused, (unsigned long long)sp.packets,
		(unsigned long long)sp.completions, (unsigned long long)sp.creates_failed);
	return 0;
}
