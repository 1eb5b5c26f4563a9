/* SPDX-License-Identifier: BSD-2-Clause */
#include "joined.h"

#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "bench.h"
#include "plain.h"

enum {
	NB_EVS = 64,
	CQ_DEPTH = 32768,
	RQ_DEPTH = 256,
	MAX_WIMM = 128,
	IOVA = 0x10000,
	WALK_LEN = 0x10000,
	MIXED_SGES = 3,
};

struct side {
	bool plain;
	struct mrc_sched *sched; /* of a plain side it only names QPs and regions */
	struct plain *partner;
	struct mrc_ev_set *set;
	struct mrc_sched_mr mr;
	struct mrc_sched_cq *cq;
	struct mrc_sched_qp **qps;
	struct mrc_gid gid;
	uint8_t *mem;
	uint32_t pd;
};

struct joined {
	struct joined_cfg cfg;
	uint64_t now_ns;
	uint64_t seed; /* of numbers, keys and paths */
	uint64_t dice; /* of mixed messages */
	struct mrc_env env;
	struct mrc_nscc_cfg cc;
	struct side sides[2];
	uint8_t *frames; /* a burst of each side */
	uint32_t nb_frames[2];
	uint32_t lens[2][JOINED_BURST];
};

/* ---- set-up -----------------------------------------------------------------------------------*/

static uint64_t draw(uint64_t *state)
{
	*state += 0x9E3779B97F4A7C15u;
	return *state * 0xBF58476D1CE4E5B9u ^ *state >> 31;
}

static uint64_t env_random64(void *ctx)
{
	struct joined *j = ctx;

	return draw(&j->seed);
}

static uint8_t mpr_of(const struct joined *j)
{
	return j->cfg.nb_qps <= 64 ? 8 : 1;
}

static uint32_t depth_of(const struct joined *j)
{
	uint32_t depth = j->cfg.msg_len >= JOINED_MSG_BIG ? 4 : 256;

	return j->cfg.nb_qps > 64 ? 4 : depth;
}

static void mac_of(uint32_t s, uint32_t plane, uint8_t *mac_out)
{
	const uint8_t mac[6] = {2, 0, 0, 0, (uint8_t)s, (uint8_t)plane};

	memcpy(mac_out, mac, sizeof(mac));
}

static void plane_make(
	const struct joined *j, uint32_t s, uint32_t p, struct mrc_sched_plane *plane)
{
	*plane = (struct mrc_sched_plane){.vlan = j->cfg.vlan};
	if (j->cfg.vlan)
		plane->vlan_tci = (uint16_t)(3 << 13 | (100 + p));
	mac_of(s, p, plane->mac);
}

static void engine_make(struct joined *j, uint32_t s)
{
	struct side *side = &j->sides[s];
	uint32_t nb_qps = j->cfg.nb_qps, psns = nb_qps * mpr_of(j) * MRC_MPR_UNIT;
	struct mrc_sched_cfg cfg;

	mrc_sched_cfg_default(&cfg);
	cfg.proto = j->cfg.proto;
	cfg.nb_workers = 1;
	cfg.nb_planes = JOINED_PLANES;
	for (uint32_t p = 0; p < JOINED_PLANES; p++)
		plane_make(j, s, p, &cfg.planes[p]);
	cfg.max_qps = nb_qps;
	cfg.max_cqs = 4;
	cfg.max_mrs = 4;
	cfg.max_pds = 4;
	cfg.max_peers = 4;
	cfg.window_psns = psns;
	cfg.sent_psns = psns;
	cfg.queue_entries = nb_qps * 512 + 65536;
	cfg.icrc = j->cfg.icrc;
	cfg.timestamps = true;
	bench_must(mrc_sched_create(&cfg, &j->env, &side->sched) == MRC_OK, "mrc_sched_create");
	for (uint32_t p = 0; p < JOINED_PLANES; p++)
		mrc_sched_plane_set(side->sched, 0, p, MRC_PLANE_UP);
}

static void paths_make(struct joined *j, struct side *side)
{
	enum mrc_ev_mode mode = j->cfg.v6 ? MRC_EV_MODE_STEV : MRC_EV_MODE_UDP;
	enum mrc_ev_mode told = j->cfg.srv6 ? MRC_EV_MODE_SRV6 : mode;
	struct mrc_ev evs[NB_EVS];
	struct mrc_ev_cfg cfg;

	mrc_ev_cfg_default(&cfg);
	mrc_ev_generate(evs, NB_EVS, JOINED_PLANES, mode, &j->env);
	for (uint32_t i = 0; i < NB_EVS && j->cfg.srv6; i++) {
		evs[i].has_seg = true;
		evs[i].srv6_dst[0] = 0xFC;
		evs[i].srv6_dst[15] = (uint8_t)i;
		evs[i].srv6_seg[0] = 0xFC;
		evs[i].srv6_seg[15] = (uint8_t)(64 + i);
	}
	cfg.mode = told;
	cfg.evs = evs;
	cfg.nb_evs = NB_EVS;
	cfg.nb_planes = JOINED_PLANES;
	bench_must(mrc_ev_create(&cfg, &j->env, &side->set) == MRC_OK, "mrc_ev_create");
}

static void memory_make(struct joined *j, uint32_t s)
{
	struct side *side = &j->sides[s];

	side->qps = calloc(j->cfg.nb_qps, sizeof(struct mrc_sched_qp *));
	side->mem = j->cfg.lender != NULL ? j->cfg.lender->sides[s].mem
					  : aligned_alloc(4096, JOINED_MEM_LEN);
	bench_must(side->mem != NULL && side->qps != NULL, "memory");
	for (uint32_t i = 0; i < JOINED_MEM_LEN; i++)
		side->mem[i] = (uint8_t)(s * 101 + i * 7 + (i >> 8));
	bench_must(mrc_sched_pd_create(side->sched, &side->pd) == MRC_OK, "mrc_sched_pd_create");
	side->mr = (struct mrc_sched_mr){.pd = side->pd,
		.access = MRC_ACCESS_LOCAL_WRITE | MRC_ACCESS_REMOTE_WRITE,
		.addr = side->mem,
		.iova = IOVA,
		.len = JOINED_MEM_LEN};
	bench_must(mrc_sched_mr_reg(side->sched, &side->mr) == MRC_OK, "mrc_sched_mr_reg");
	bench_must(mrc_sched_cq_create(side->sched, CQ_DEPTH, &side->cq) == MRC_OK,
		"mrc_sched_cq_create");
}

static void qp_make(struct joined *j, struct side *side, uint32_t i)
{
	struct mrc_sched_qp_cfg cfg = {.pd = side->pd,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.sq_depth = depth_of(j),
		.rq_depth = RQ_DEPTH,
		.max_sge = j->cfg.mixed ? MIXED_SGES : 1,
		.sq_sig_all = !j->cfg.mixed,
		.ctx = (void *)(uintptr_t)i};

	if (!j->cfg.mixed)
		cfg.rq_depth = 1;
	bench_must(mrc_sched_qp_create(side->sched, &cfg, &side->qps[i]) == MRC_OK,
		"mrc_sched_qp_create");
}

static void engine_connect(struct joined *j, uint32_t s, uint32_t i)
{
	struct side *side = &j->sides[s], *peer = &j->sides[1 - s];
	struct mrc_sched_qp *qp = side->qps[i];
	struct mrc_sched_qp_attr attr;

	mrc_sched_qp_attr_default(&attr);
	attr.ev_set = side->set;
	attr.cc = &j->cc;
	attr.local = side->gid;
	attr.peer = peer->gid;
	attr.dest_qpn = mrc_sched_qp_num(peer->qps[i]);
	attr.pmtu = j->cfg.pmtu;
	attr.mpr = attr.mpr_dest = mpr_of(j);
	attr.trim_nack_peer = false; /* the plain partner knows no NACK */
	attr.max_wimm = attr.max_wimm_dest = MAX_WIMM;
	bench_must(mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_INIT, &attr) == MRC_OK &&
			   mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_RTR, &attr) == MRC_OK &&
			   mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_RTS, &attr) == MRC_OK,
		"mrc_sched_qp_modify");
}

static void plain_connect(struct joined *j, uint32_t s, uint32_t i)
{
	struct side *side = &j->sides[s], *peer = &j->sides[1 - s];
	struct plain_qp_cfg cfg = {.qpn = mrc_sched_qp_num(side->qps[i]),
		.dest_qpn = mrc_sched_qp_num(peer->qps[i]),
		.pd = side->pd,
		.sq_depth = depth_of(j),
		.rq_depth = j->cfg.mixed ? RQ_DEPTH : 1,
		.cc = &j->cc,
		.pmtu = j->cfg.pmtu,
		.mpr = mpr_of(j),
		.max_wimm = MAX_WIMM,
		.sq_sig_all = !j->cfg.mixed,
		.max_sge = j->cfg.mixed ? MIXED_SGES : 1};

	bench_must(plain_qp_add(side->partner, &cfg) == MRC_OK, "plain_qp_add");
}

static void partner_make(struct joined *j, uint32_t s)
{
	struct side *side = &j->sides[s];
	struct plain_cfg cfg = {.proto = j->cfg.proto,
		.nb_workers = 1,
		.nb_planes = JOINED_PLANES,
		.max_qps = j->cfg.nb_qps,
		.nb_mrs = 4,
		.nb_paths = 1,
		.nb_cqs = 1,
		.cq_depth = CQ_DEPTH,
		.icrc = j->cfg.icrc,
		.timestamps = true};
	struct plain_path_cfg path = {
		.local = side->gid, .peer = j->sides[1 - s].gid, .evs = side->set};

	for (uint32_t p = 0; p < JOINED_PLANES; p++) {
		plane_make(j, s, p, &cfg.planes[p]);
		mac_of(1 - s, p, path.macs[p]);
	}
	bench_must(plain_create(&cfg, &j->env, &side->partner) == MRC_OK, "plain_create");
	bench_must(plain_path_set(side->partner, 0, &path) == MRC_OK, "plain_path_set");
	plain_mr_set(side->partner, &side->mr);
}

static void connect_side(struct joined *j, uint32_t s)
{
	struct side *side = &j->sides[s], *peer = &j->sides[1 - s];

	if (side->plain)
		partner_make(j, s);
	for (uint32_t p = 0; p < JOINED_PLANES && !side->plain; p++) {
		uint8_t mac[6];

		mac_of(1 - s, p, mac);
		bench_must(mrc_sched_peer_set(side->sched, &peer->gid, p, mac) == MRC_OK,
			"mrc_sched_peer_set");
	}
	for (uint32_t i = 0; i < j->cfg.nb_qps; i++) {
		if (side->plain)
			plain_connect(j, s, i);
		else
			engine_connect(j, s, i);
	}
}

static void gid_make(struct joined *j, uint32_t s)
{
	static const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1};
	static const uint8_t v6[16] = {0xFD, 0, 0, 1};

	memcpy(j->sides[s].gid.raw, j->cfg.v6 ? v6 : v4, 16);
	j->sides[s].gid.raw[15] = (uint8_t)(1 + s);
}

/* ---- work -------------------------------------------------------------------------------------*/

static int hand_over(struct side *side, uint32_t i, const struct mrc_sched_send_wr *wr, bool imm)
{
	if (side->plain)
		return plain_post_write(side->partner, i, wr, imm ? MRC_OPF_IMMDT : 0);
	return imm ? mrc_sched_post_write_imm(side->sched, side->qps[i], wr)
		   : mrc_sched_post_write(side->sched, side->qps[i], wr);
}

static void post(struct joined *j, uint32_t i)
{
	struct side *req = &j->sides[JOINED_REQUESTER];
	struct mrc_sched_sge sge = {.addr = IOVA, .len = j->cfg.msg_len, .lkey = req->mr.key};
	struct mrc_sched_send_wr wr = {.wr_id = i,
		.sges = &sge,
		.nb_sge = 1,
		.raddr = IOVA,
		.rkey = j->sides[JOINED_RESPONDER].mr.key};

	/* Small messages walk over the region, as different targets would; over as much of it as
	 * the cache keeps from one window to the next, whoever has the next one. */
	if (j->cfg.msg_len < JOINED_MSG_BIG) {
		uint64_t at = j->now_ns * 64 % WALK_LEN & ~63ull;

		sge.addr += at;
		wr.raddr += at;
	}
	bench_must(hand_over(req, i, &wr, false) == MRC_OK, "posting a write");
}

static void post_recv(struct joined *j, uint32_t i)
{
	struct side *rsp = &j->sides[JOINED_RESPONDER];
	struct mrc_sched_recv_wr wr = {.wr_id = i};
	int err = rsp->plain ? plain_post_recv(rsp->partner, i, &wr)
			     : mrc_sched_post_recv(rsp->sched, rsp->qps[i], &wr);

	bench_must(err == MRC_OK, "posting a receive");
}

/* Three messages of any kind; the last one is signaled. */
static void post_mixed(struct joined *j, uint32_t i)
{
	struct side *req = &j->sides[JOINED_REQUESTER];

	for (uint32_t nr = 0; nr < 3; nr++) {
		uint64_t dice = draw(&j->dice);
		uint32_t len = (uint32_t)(dice % (3 * j->cfg.pmtu + 1));
		uint64_t from = (dice >> 20) % (JOINED_MEM_LEN - len);
		uint64_t to = (dice >> 40) % (JOINED_MEM_LEN - len);
		uint32_t parts[MIXED_SGES] = {len / 2, 0, len - len / 2};
		struct mrc_sched_sge sges[MIXED_SGES];
		struct mrc_sched_send_wr wr = {.wr_id = i,
			.sges = sges,
			.nb_sge = MIXED_SGES,
			.flags = (nr == 2 ? MRC_SEND_SIGNALED : 0) |
				 (dice >> 62 & 1 ? MRC_SEND_SOLICITED : 0),
			.raddr = IOVA + to,
			.rkey = j->sides[JOINED_RESPONDER].mr.key,
			.imm = {(uint8_t)dice, (uint8_t)(dice >> 8), 3, 4}};

		/* Whole, or in two pieces that lie in the wrong order, and an empty one. */
		if (dice >> 61 & 1)
			parts[0] = 0, parts[2] = len;
		for (uint32_t k = 0; k < MIXED_SGES; k++)
			sges[k] = (struct mrc_sched_sge){
				.addr = IOVA + from + (k == 0 ? parts[2] : 0),
				.len = parts[k],
				.lkey = req->mr.key};
		bench_must(hand_over(req, i, &wr, (dice >> 63) != 0) == MRC_OK, "posting a write");
	}
}

static uint32_t poll(struct side *side, struct mrc_sched_wc *wcs)
{
	return side->plain ? plain_cq_poll(side->partner, 0, wcs, JOINED_BURST)
			   : mrc_sched_cq_poll(side->sched, side->cq, wcs, JOINED_BURST);
}

static void complete(struct joined *j)
{
	struct mrc_sched_wc wcs[JOINED_BURST];
	uint32_t n;

	do {
		n = poll(&j->sides[JOINED_REQUESTER], wcs);
		for (uint32_t i = 0; i < n; i++) {
			bench_must(wcs[i].status == MRC_WC_SUCCESS, "a write");
			if (j->cfg.mixed)
				post_mixed(j, (uint32_t)wcs[i].wr_id);
			else
				post(j, (uint32_t)wcs[i].wr_id);
		}
	} while (n == JOINED_BURST);
	while (j->cfg.mixed && (n = poll(&j->sides[JOINED_RESPONDER], wcs)) != 0)
		for (uint32_t i = 0; i < n; i++)
			post_recv(j, (uint32_t)wcs[i].wr_id);
}

static void first_work(struct joined *j)
{
	uint32_t depth = j->cfg.mixed ? 8 : depth_of(j);

	for (uint32_t d = 0; d < RQ_DEPTH && j->cfg.mixed; d++)
		for (uint32_t i = 0; i < j->cfg.nb_qps; i++)
			post_recv(j, i);
	for (uint32_t d = 0; d < depth; d++)
		for (uint32_t i = 0; i < j->cfg.nb_qps; i++) {
			if (j->cfg.mixed)
				post_mixed(j, i);
			else
				post(j, i);
		}
}

struct joined *joined_make(const struct joined_cfg *cfg)
{
	struct joined *j = calloc(1, sizeof(*j));

	bench_must(j != NULL, "memory");
	j->cfg = *cfg;
	j->now_ns = 1024000;
	j->env = bench_env;
	j->env.ctx = j;
	j->env.random64 = env_random64;
	mrc_nscc_cfg_default(&j->cc, 400000000000, 20000, cfg->pmtu + 100, false);
	j->frames = cfg->lender != NULL
			    ? cfg->lender->frames
			    : aligned_alloc(4096, (size_t)2 * JOINED_BURST * JOINED_FRAME_ROOM);
	bench_must(j->frames != NULL, "memory");
	for (uint32_t s = 0; s < 2; s++) {
		struct side *side = &j->sides[s];

		side->plain = cfg->plain[s];
		gid_make(j, s);
		engine_make(j, s);
		paths_make(j, side);
		memory_make(j, s);
		for (uint32_t i = 0; i < cfg->nb_qps; i++)
			qp_make(j, side, i);
	}
	for (uint32_t s = 0; s < 2; s++)
		connect_side(j, s);
	first_work(j);
	return j;
}

void joined_free(struct joined *j)
{
	for (uint32_t s = 0; s < 2; s++) {
		if (j->sides[s].plain)
			plain_destroy(j->sides[s].partner);
		mrc_sched_destroy(j->sides[s].sched);
		mrc_ev_destroy(j->sides[s].set);
		free(j->sides[s].qps);
		if (j->cfg.lender == NULL)
			free(j->sides[s].mem);
	}
	if (j->cfg.lender == NULL)
		free(j->frames);
	free(j);
}

/* ---- moving -----------------------------------------------------------------------------------*/

static void lap(uint64_t *from, double *sum)
{
	uint64_t to = __rdtsc();

	*sum += (double)(to - *from);
	*from = to;
}

static uint8_t *frame_at(const struct joined *j, uint32_t s, uint32_t i)
{
	return j->frames + (size_t)(s * JOINED_BURST + i) * JOINED_FRAME_ROOM;
}

static uint32_t pull(struct joined *j, uint32_t s, struct mrc_txbuf *bufs)
{
	struct side *side = &j->sides[s];

	for (uint32_t i = 0; i < JOINED_BURST; i++)
		bufs[i].hdr = frame_at(j, s, i);
	return side->plain ? plain_tx(side->partner, j->now_ns, bufs, JOINED_BURST)
			   : mrc_sched_tx(side->sched, j->now_ns, bufs, JOINED_BURST);
}

static void finish(struct joined *j, uint32_t s, const struct mrc_txbuf *bufs, uint32_t n,
	struct mrc_rxbuf *rx_out)
{
	for (uint32_t i = 0; i < n; i++) {
		rx_out[i].data = bufs[i].hdr;
		rx_out[i].len = mrc_txbuf_finish(&bufs[i], j->cfg.icrc);
		rx_out[i].plane = bufs[i].plane;
		j->lens[s][i] = rx_out[i].len;
	}
	j->nb_frames[s] = n;
}

static void deliver(struct joined *j, uint32_t s, const struct mrc_rxbuf *rx, uint32_t n)
{
	struct side *side = &j->sides[s];
	struct mrc_rx_verdict verdicts[JOINED_BURST];

	if (side->plain)
		plain_rx(side->partner, j->now_ns, rx, n, verdicts);
	else
		mrc_sched_rx(side->sched, j->now_ns, rx, n, verdicts);
	for (uint32_t i = 0; i < n; i++)
		bench_must(verdicts[i].kind == MRC_RX_CONSUMED, "delivery of a packet");
}

static void timers(struct joined *j, uint32_t s)
{
	struct side *side = &j->sides[s];

	if (!side->plain && mrc_sched_next_deadline(side->sched) <= j->now_ns)
		mrc_sched_expire(side->sched, j->now_ns);
}

uint32_t joined_step(struct joined *j, double *cycles)
{
	struct mrc_txbuf data[JOINED_BURST], acks[JOINED_BURST];
	struct mrc_rxbuf rx[JOINED_BURST];
	uint64_t from = __rdtsc();
	uint32_t nb_data, nb_acks;

	complete(j);
	lap(&from, &cycles[JOINED_POST]);
	nb_data = pull(j, JOINED_REQUESTER, data);
	lap(&from, &cycles[JOINED_REQ_TX]);
	finish(j, JOINED_REQUESTER, data, nb_data, rx);
	lap(&from, &cycles[JOINED_FINISH]);
	j->now_ns += (uint64_t)j->cfg.step_ns * (nb_data + 1);
	from = __rdtsc();
	deliver(j, JOINED_RESPONDER, rx, nb_data);
	lap(&from, &cycles[JOINED_RSP_RX]);
	nb_acks = pull(j, JOINED_RESPONDER, acks);
	finish(j, JOINED_RESPONDER, acks, nb_acks, rx);
	lap(&from, &cycles[JOINED_RSP_TX]);
	deliver(j, JOINED_REQUESTER, rx, nb_acks);
	lap(&from, &cycles[JOINED_REQ_RX]);
	timers(j, JOINED_REQUESTER);
	lap(&from, &cycles[JOINED_REQ_TIME]);
	timers(j, JOINED_RESPONDER);
	lap(&from, &cycles[JOINED_RSP_TIME]);
	return nb_data;
}

uint32_t joined_nb_frames(const struct joined *j, uint32_t side)
{
	return j->nb_frames[side];
}

const uint8_t *joined_frame(const struct joined *j, uint32_t side, uint32_t at, uint32_t *len_out)
{
	*len_out = j->lens[side][at];
	return frame_at(j, side, at);
}

const uint8_t *joined_memory(const struct joined *j, uint32_t side)
{
	return j->sides[side].mem;
}
