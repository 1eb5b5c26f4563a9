/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_engine.c - what the engine costs per data packet: two engines on one core, joined by memory
 * that loses nothing, so that requester and responder are measured apart from each other and from
 * any port. Clean path: no loss, no marks, no reordering; congestion control on.
 *
 *   post      posting writes and polling their completions
 *   req_tx    requester: pull of data packets (headers)
 *   finish    gathering the payload behind the header, pad and ICRC
 *   rsp_rx    responder: decode, checks, ICRC, placing
 *   rsp_tx    responder: pull of acknowledgements, finished
 *   req_rx    requester: acknowledgements taken
 *   timers    both sides' expire
 *
 * All cases are set up first and take turns, so that a slow spell of the machine hits all of them;
 * reported are median and quartiles over the rounds, cycles of the time stamp counter per data
 * packet.
 *
 *   bench_engine [--json] [--rounds N] [--only TEXT]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "bench.h"
#include "mrc_sched.h"

enum {
	BURST = 32,
	NB_PLANES = 4,
	NB_EVS = 64,
	PACKETS = 4000, /* per round and case */
	MAX_ROUNDS = 1000,
	MAX_CASES = 32,
	MSG_BIG = 1 << 20,
	MEM_LEN = 1 << 20,
	FRAME_ROOM = MRC_HDR_ROOM + MRC_PMTU_MAX + 64,
	STEP_NS = 80, /* virtual time per packet */
};

enum stage {
	POST,
	REQ_TX,
	FINISH,
	RSP_RX,
	RSP_TX,
	REQ_RX,
	TIMERS,
	NB_STAGES,
};

static const char *const stage_names[NB_STAGES] = {
	"post", "req_tx", "finish", "rsp_rx", "rsp_tx", "req_rx", "timers"};

struct side {
	struct mrc_sched *sched;
	struct mrc_ev_set *set;
	struct mrc_sched_mr mr;
	struct mrc_sched_cq *cq;
	struct mrc_sched_qp **qps;
	struct mrc_gid gid;
	uint8_t *mem;
	uint32_t pd;
};

/* Two engines and the frames between them. */
struct world {
	char name[48];
	uint32_t pmtu, msg_len, nb_qps;
	bool icrc;
	uint64_t now_ns;
	struct mrc_nscc_cfg cc;
	struct side sides[2]; /* 0 requests, 1 responds */
	uint8_t *frames;
	double cycles[NB_STAGES][MAX_ROUNDS];
	double total[MAX_ROUNDS];
};

static struct mrc_proto proto;
static struct world *worlds[MAX_CASES];
static uint32_t nb_worlds;

/* ---- set-up */

static uint8_t mpr_of(const struct world *w)
{
	return w->nb_qps <= 64 ? 8 : 1;
}

static void engine_make(struct world *w, struct side *side)
{
	struct mrc_sched_cfg cfg;
	uint32_t psns = w->nb_qps * mpr_of(w) * MRC_MPR_UNIT;

	mrc_sched_cfg_default(&cfg);
	cfg.proto = &proto;
	cfg.nb_workers = 1;
	cfg.nb_planes = NB_PLANES;
	for (uint32_t p = 0; p < NB_PLANES; p++)
		cfg.planes[p] = (struct mrc_sched_plane){
			.mac = {2, 0, 0, 0, (uint8_t)(side - w->sides), (uint8_t)p}};
	cfg.max_qps = w->nb_qps;
	cfg.max_cqs = 4;
	cfg.max_mrs = 4;
	cfg.max_pds = 4;
	cfg.max_peers = 4;
	cfg.window_psns = psns;
	cfg.sent_psns = psns;
	cfg.queue_entries = w->nb_qps * 512 + 65536;
	cfg.icrc = w->icrc;
	cfg.timestamps = true;
	bench_must(mrc_sched_create(&cfg, &bench_env, &side->sched) == MRC_OK, "mrc_sched_create");
	for (uint32_t p = 0; p < NB_PLANES; p++)
		mrc_sched_plane_set(side->sched, 0, p, MRC_PLANE_UP);
}

static void paths_make(struct side *side)
{
	struct mrc_ev evs[NB_EVS];
	struct mrc_ev_cfg cfg;

	mrc_ev_cfg_default(&cfg);
	mrc_ev_generate(evs, NB_EVS, NB_PLANES, MRC_EV_MODE_UDP, &bench_env);
	cfg.mode = MRC_EV_MODE_UDP;
	cfg.evs = evs;
	cfg.nb_evs = NB_EVS;
	cfg.nb_planes = NB_PLANES;
	bench_must(mrc_ev_create(&cfg, &bench_env, &side->set) == MRC_OK, "mrc_ev_create");
}

static void memory_make(struct world *w, struct side *side)
{
	side->mem = aligned_alloc(4096, MEM_LEN);
	side->qps = calloc(w->nb_qps, sizeof(struct mrc_sched_qp *));
	bench_must(side->mem != NULL && side->qps != NULL, "memory");
	memset(side->mem, 0x5A, MEM_LEN);
	bench_must(mrc_sched_pd_create(side->sched, &side->pd) == MRC_OK, "mrc_sched_pd_create");
	side->mr = (struct mrc_sched_mr){.pd = side->pd,
		.access = MRC_ACCESS_LOCAL_WRITE | MRC_ACCESS_REMOTE_WRITE,
		.addr = side->mem,
		.iova = 0x10000,
		.len = MEM_LEN};
	bench_must(mrc_sched_mr_reg(side->sched, &side->mr) == MRC_OK, "mrc_sched_mr_reg");
	bench_must(mrc_sched_cq_create(side->sched, 32768, &side->cq) == MRC_OK,
		"mrc_sched_cq_create");
}

static uint32_t depth_of(const struct world *w)
{
	uint32_t depth = w->msg_len >= MSG_BIG ? 4 : 256;

	return w->nb_qps > 64 ? 4 : depth;
}

static void qp_make(struct world *w, struct side *side, uint32_t i)
{
	struct mrc_sched_qp_cfg cfg = {.pd = side->pd,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.sq_depth = depth_of(w),
		.rq_depth = 1,
		.max_sge = 1,
		.sq_sig_all = true,
		.ctx = (void *)(uintptr_t)i};

	bench_must(mrc_sched_qp_create(side->sched, &cfg, &side->qps[i]) == MRC_OK,
		"mrc_sched_qp_create");
}

static void qp_connect(struct world *w, struct side *side, struct side *peer, uint32_t i)
{
	struct mrc_sched_qp_attr attr;
	struct mrc_sched_qp *qp = side->qps[i];

	mrc_sched_qp_attr_default(&attr);
	attr.ev_set = side->set;
	attr.cc = &w->cc;
	attr.local = side->gid;
	attr.peer = peer->gid;
	attr.dest_qpn = mrc_sched_qp_num(peer->qps[i]);
	attr.pmtu = w->pmtu;
	attr.mpr = attr.mpr_dest = mpr_of(w);
	bench_must(mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_INIT, &attr) == MRC_OK &&
			   mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_RTR, &attr) == MRC_OK &&
			   mrc_sched_qp_modify(side->sched, 0, qp, MRC_QP_RTS, &attr) == MRC_OK,
		"mrc_sched_qp_modify");
}

static void post(struct world *w, uint32_t i)
{
	struct mrc_sched_sge sge = {.addr = 0x10000, .len = w->msg_len};
	struct mrc_sched_send_wr wr = {.wr_id = i, .sges = &sge, .nb_sge = 1, .raddr = 0x10000};
	struct side *req = &w->sides[0];

	/* Small messages walk over the region, as different targets would. */
	if (w->msg_len < MSG_BIG) {
		uint64_t at = w->now_ns * 64 % (MEM_LEN - w->msg_len) & ~63ull;

		sge.addr += at;
		wr.raddr += at;
	}
	sge.lkey = req->mr.key;
	wr.rkey = w->sides[1].mr.key;
	bench_must(mrc_sched_post_write(req->sched, req->qps[i], &wr) == MRC_OK,
		"mrc_sched_post_write");
}

static void world_add(uint32_t pmtu, uint32_t msg_len, uint32_t nb_qps, bool icrc)
{
	static const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1};
	struct world *w = calloc(1, sizeof(*w));

	bench_must(w != NULL && nb_worlds < MAX_CASES, "set-up");
	*w = (struct world){.pmtu = pmtu,
		.msg_len = msg_len,
		.nb_qps = nb_qps,
		.icrc = icrc,
		.now_ns = 1000000};
	snprintf(w->name, sizeof(w->name), "%u B, %u QP%s, ICRC %s",
		msg_len < pmtu ? msg_len : pmtu, nb_qps, nb_qps == 1 ? "" : "s",
		icrc ? "on" : "off");
	mrc_nscc_cfg_default(&w->cc, 400000000000, 20000, pmtu + 100, false);
	w->frames = aligned_alloc(64, (size_t)2 * BURST * FRAME_ROOM);
	bench_must(w->frames != NULL, "memory");
	for (uint32_t s = 0; s < 2; s++) {
		struct side *side = &w->sides[s];

		memcpy(side->gid.raw, v4, 16);
		side->gid.raw[15] = (uint8_t)(1 + s);
		engine_make(w, side);
		paths_make(side);
		memory_make(w, side);
		for (uint32_t i = 0; i < nb_qps; i++)
			qp_make(w, side, i);
	}
	for (uint32_t s = 0; s < 2; s++) {
		struct side *side = &w->sides[s], *peer = &w->sides[1 - s];

		for (uint32_t p = 0; p < NB_PLANES; p++) {
			const uint8_t mac[6] = {2, 0, 0, 0, (uint8_t)(1 - s), (uint8_t)p};

			bench_must(mrc_sched_peer_set(side->sched, &peer->gid, p, mac) == MRC_OK,
				"mrc_sched_peer_set");
		}
		for (uint32_t i = 0; i < nb_qps; i++)
			qp_connect(w, side, peer, i);
	}
	for (uint32_t d = 0; d < depth_of(w); d++)
		for (uint32_t i = 0; i < nb_qps; i++)
			post(w, i);
	worlds[nb_worlds++] = w;
}

static void world_free(struct world *w)
{
	for (uint32_t s = 0; s < 2; s++) {
		mrc_sched_destroy(w->sides[s].sched);
		mrc_ev_destroy(w->sides[s].set);
		free(w->sides[s].mem);
		free(w->sides[s].qps);
	}
	free(w->frames);
	free(w);
}

/* ---- measuring */

static uint64_t lap(uint64_t *from, double *sum)
{
	uint64_t to = __rdtsc();

	*sum += (double)(to - *from);
	*from = to;
	return to;
}

/* Pulls packets of one side into the frames from `first` on. */
static uint32_t pull(struct world *w, uint32_t s, uint32_t first, struct mrc_txbuf *bufs)
{
	for (uint32_t i = 0; i < BURST; i++)
		bufs[i].hdr = w->frames + (size_t)(first + i) * FRAME_ROOM;
	return mrc_sched_tx(w->sides[s].sched, w->now_ns, bufs, BURST);
}

static void finish(struct world *w, const struct mrc_txbuf *bufs, uint32_t n, struct mrc_rxbuf *rx)
{
	for (uint32_t i = 0; i < n; i++) {
		rx[i].data = bufs[i].hdr;
		rx[i].len = mrc_txbuf_finish(&bufs[i], w->icrc);
		rx[i].plane = bufs[i].plane;
	}
}

static void deliver(struct world *w, uint32_t s, const struct mrc_rxbuf *rx, uint32_t n)
{
	struct mrc_rx_verdict verdicts[BURST];

	mrc_sched_rx(w->sides[s].sched, w->now_ns, rx, n, verdicts);
	for (uint32_t i = 0; i < n; i++)
		bench_must(verdicts[i].kind == MRC_RX_CONSUMED, "delivery of a packet");
}

static void timers(struct world *w, uint32_t s)
{
	if (mrc_sched_next_deadline(w->sides[s].sched) <= w->now_ns)
		mrc_sched_expire(w->sides[s].sched, w->now_ns);
}

static void complete(struct world *w)
{
	struct mrc_sched_wc wcs[BURST];
	uint32_t n;

	do {
		n = mrc_sched_cq_poll(w->sides[0].sched, w->sides[0].cq, wcs, BURST);
		for (uint32_t i = 0; i < n; i++) {
			bench_must(wcs[i].status == MRC_WC_SUCCESS, "a write");
			post(w, (uint32_t)wcs[i].wr_id);
		}
	} while (n == BURST);
}

/* One burst of data and its answers. Returns the data packets moved. */
static uint32_t step(struct world *w, double *sums)
{
	struct mrc_txbuf data[BURST], acks[BURST];
	struct mrc_rxbuf rx[BURST];
	uint64_t from = __rdtsc();
	uint32_t nb_data, nb_acks;

	complete(w);
	lap(&from, &sums[POST]);
	nb_data = pull(w, 0, 0, data);
	lap(&from, &sums[REQ_TX]);
	finish(w, data, nb_data, rx);
	lap(&from, &sums[FINISH]);
	w->now_ns += (uint64_t)STEP_NS * (nb_data + 1);
	from = __rdtsc();
	deliver(w, 1, rx, nb_data);
	lap(&from, &sums[RSP_RX]);
	nb_acks = pull(w, 1, BURST, acks);
	finish(w, acks, nb_acks, rx);
	lap(&from, &sums[RSP_TX]);
	deliver(w, 0, rx, nb_acks);
	lap(&from, &sums[REQ_RX]);
	timers(w, 0);
	timers(w, 1);
	lap(&from, &sums[TIMERS]);
	return nb_data;
}

static void round_run(struct world *w, uint32_t round)
{
	double sums[NB_STAGES] = {0}, unused[NB_STAGES] = {0};
	uint32_t packets = 0, idle = 0;

	for (uint32_t i = 0; i < 64; i++) /* warms caches and predictors */
		step(w, unused);
	while (packets < PACKETS) {
		uint32_t n = step(w, sums);

		idle = n > 0 ? 0 : idle + 1;
		bench_must(idle < 100000, "progress");
		packets += n;
	}
	w->total[round] = 0;
	for (uint32_t s = 0; s < NB_STAGES; s++) {
		w->cycles[s][round] = sums[s] / packets;
		w->total[round] += sums[s] / packets;
	}
}

static void print_json(uint32_t rounds)
{
	printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"cases\": [", bench_tsc_ghz(), rounds);
	for (uint32_t i = 0; i < nb_worlds; i++) {
		struct world *w = worlds[i];
		double q[3];

		bench_quartiles(w->total, rounds, q);
		printf("%s\n  {\"name\": \"%s\", \"pmtu\": %u, \"msg_len\": %u, \"qps\": %u, "
		       "\"icrc\": %s, \"total\": [%.1f, %.1f, %.1f]",
			i == 0 ? "" : ",", w->name, w->pmtu, w->msg_len, w->nb_qps,
			w->icrc ? "true" : "false", q[0], q[1], q[2]);
		for (uint32_t s = 0; s < NB_STAGES; s++) {
			bench_quartiles(w->cycles[s], rounds, q);
			printf(", \"%s\": [%.1f, %.1f, %.1f]", stage_names[s], q[0], q[1], q[2]);
		}
		printf("}");
	}
	printf("\n]}\n");
}

static void print_text(uint32_t rounds)
{
	printf("cycles per data packet (time stamp counter at %.2f GHz), median of %u rounds\n",
		bench_tsc_ghz(), rounds);
	printf("%-28s", "");
	for (uint32_t s = 0; s < NB_STAGES; s++)
		printf(" %7s", stage_names[s]);
	printf(" %8s   25 %% ..  75 %%\n", "all");
	for (uint32_t i = 0; i < nb_worlds; i++) {
		double q[3];

		printf("%-28s", worlds[i]->name);
		for (uint32_t s = 0; s < NB_STAGES; s++) {
			bench_quartiles(worlds[i]->cycles[s], rounds, q);
			printf(" %7.1f", q[1]);
		}
		bench_quartiles(worlds[i]->total, rounds, q);
		printf(" %8.1f %7.1f %7.1f\n", q[1], q[0], q[2]);
	}
}

static void worlds_make(const char *only)
{
	static const struct {
		uint32_t pmtu, msg_len, nb_qps;
		bool icrc;
	} cases[] = {
		{1024, 64, 1, false},
		{1024, 64, 1, true},
		{1024, MSG_BIG, 1, false},
		{1024, MSG_BIG, 1, true},
		{4096, MSG_BIG, 1, false},
		{4096, MSG_BIG, 1, true},
		{1024, 64, 16, false},
		{1024, 64, 256, false},
		{1024, 64, 4096, false},
		{4096, MSG_BIG, 16, false},
		{4096, MSG_BIG, 256, false},
		{4096, MSG_BIG, 4096, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[48];

		snprintf(name, sizeof(name), "%u/%u/%u/%s", cases[i].pmtu, cases[i].msg_len,
			cases[i].nb_qps, cases[i].icrc ? "icrc" : "plain");
		if (only == NULL || strstr(name, only) != NULL)
			world_add(cases[i].pmtu, cases[i].msg_len, cases[i].nb_qps, cases[i].icrc);
	}
}

int main(int argc, char **argv)
{
	struct bench_options o = {.program = "bench_engine",
		.only_text = "PMTU/MESSAGE/QPS/icrc|plain",
		.max_rounds = MAX_ROUNDS,
		.rounds = 100};

	bench_options_read(&o, argc, argv);
	mrc_proto_default(&proto);
	bench_must(mrc_proto_init(&proto) == MRC_OK, "mrc_proto_init");
	worlds_make(o.only);
	for (uint32_t r = 0; r < o.rounds; r++)
		for (uint32_t i = 0; i < nb_worlds; i++)
			round_run(worlds[i], r);
	if (o.json)
		print_json(o.rounds);
	else
		print_text(o.rounds);
	for (uint32_t i = 0; i < nb_worlds; i++)
		world_free(worlds[i]);
	return 0;
}
