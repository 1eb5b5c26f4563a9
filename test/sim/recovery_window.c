/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_window.c - the end of the retries, windows that change and windows that are large.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"
#include "recovery.h"

enum {
	TICK_NS = 1024, /* of the engine's timing wheel */
};

/* ---- retries ---- */

struct schedule {
	uint8_t timeout, linear, exp;
};

static void retry_run(const struct schedule *sc, bool per_packet)
{
	uint64_t want = 0, got = 0;
	uint32_t nb_flushed = 0;
	struct pair_cfg cfg;
	struct pair *p;
	char what[96];

	rec_cfg(&cfg, 500);
	cfg.timeout = sc->timeout;
	cfg.linear_cnt = sc->linear;
	cfg.exp_cnt = sc->exp;
	cfg.per_packet_timers = per_packet;
	cfg.allow_error = true;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
	for (uint32_t i = 0; i < 20; i++)
		(void)pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3000, .imm = i % 3 == 0});
	for (uint32_t r = 0; r <= (uint32_t)sc->linear + sc->exp; r++)
		want += mrc_sched_retry_wait_ns(&p->proto, &p->q[PAIR_A][0].attr, r);
	pair_run(p, want + PAIR_S);
	for (uint32_t i = 0; i < p->q[PAIR_A][0].nb_ops; i++) {
		const struct pair_op *op = &p->q[PAIR_A][0].ops[i];

		if (i == 0 && op->done && op->status == MRC_WC_RETRY_EXC_ERR)
			got = op->done_ns - cfg.start_ns;
		nb_flushed += i != 0 && op->done && op->status == MRC_WC_WR_FLUSH_ERR;
	}
	snprintf(what, sizeof(what), "timeout %u, %u + %u%s: off the schedule of %.3f ms",
		sc->timeout, sc->linear, sc->exp, per_packet ? ", per packet" : "",
		(double)want / 1e6);
	rec_row(what, fabs((double)got - (double)want) / TICK_NS, "ticks", REC_LE, 1);
	snprintf(what, sizeof(what), "timeout %u, %u + %u: flushed in order", sc->timeout,
		sc->linear, sc->exp);
	rec_row(what, nb_flushed, "of 19", REC_EQ, 19);
	rec_clean(what, p);
	pair_destroy(p);
}

/* The harness judges the order of completions. spec */
void rec_retries(void)
{
	static const struct schedule list[] = {
		{4, 3, 7}, {8, 7, 7}, {8, 0, 0}, {10, 0, 6}, {6, 7, 0}, {12, 3, 7}, {5, 2, 12}};

	rec_table("retries", "black hole: the QP fails when its schedule says");
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		retry_run(&list[i], i % 2 == 1);
}

/* ---- dynamic MPR ---- */

static uint32_t nb_shrunk, nb_grown, least;

static void count_mpr(
	void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	if (kind != MRC_TRACE_MPR)
		return;
	nb_shrunk += c < b;
	nb_grown += c > b;
	if (c < least)
		least = (uint32_t)c;
}

static void small_budget(struct mrc_sched_cfg *cfg, int side)
{
	cfg->window_psns = 24 * MRC_MPR_UNIT;
}

/* Eight QPs share a bitmap budget of 24 units; each may have 16. */
static void mpr_run(const char *name, uint32_t ppm)
{
	enum {
		NB_QPS = 8,
		NB_MSGS = 120,
	};
	uint64_t done = 0;
	struct pair_cfg cfg;
	struct pair *p;
	char what[96];

	rec_cfg(&cfg, 600 + ppm);
	cfg.nb_qps = NB_QPS;
	cfg.mpr = 16;
	cfg.dynamic_mpr = true;
	cfg.tweak = small_budget;
	cfg.trace = count_mpr;
	cfg.delay_ns = 100 * PAIR_US;
	cfg.skew_ns = 40 * PAIR_US;
	cfg.timeout = 10;
	cfg.mem_len = 4u << 20;
	cfg.check_every = 1009;
	nb_shrunk = nb_grown = 0;
	least = UINT32_MAX;
	p = rec_pair(&cfg);
	if (ppm != 0)
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = ppm});
	for (uint32_t i = 0; i < NB_QPS; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = NB_MSGS,
				.depth = 8,
				.min_len = 100000,
				.max_len = 200000,
				.imm_pct = 10});
	pair_finish_faulty(p, 20 * PAIR_S);
	for (uint32_t i = 0; i < NB_QPS; i++)
		done += p->q[PAIR_A][i].nb_success;
	snprintf(what, sizeof(what), "%s: messages complete", name);
	rec_row(what, (double)done, "of 960", REC_EQ, NB_QPS * NB_MSGS);
	snprintf(what, sizeof(what), "%s: times a window shrank", name);
	rec_row(what, nb_shrunk, "", REC_GE, 1);
	snprintf(what, sizeof(what), "%s: times a window grew", name);
	rec_row(what, nb_grown, "", REC_GE, 1);
	snprintf(what, sizeof(what), "%s: smallest window", name);
	rec_row(what, least, "PSNs", REC_INFO, 0);
	snprintf(what, sizeof(what), "%s: packets beyond the window", name);
	rec_row(what, p->failed, "", REC_EQ, 0);
	rec_clean(name, p);
	pair_faults_clear(p);
	pair_destroy(p);
}

/* Memory of an engine with these limits. */
static size_t engine_bytes(uint32_t qps, uint32_t psns, uint32_t entries)
{
	struct mrc_sched_cfg cfg;
	struct mrc_sched *sched;
	struct mrc_proto proto;
	struct test_env te;
	size_t bytes;

	mrc_proto_default(&proto);
	(void)mrc_proto_init(&proto);
	test_env_seed(&te, 1);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &proto;
	cfg.nb_workers = cfg.nb_planes = 1;
	cfg.max_qps = qps;
	cfg.window_psns = cfg.sent_psns = psns;
	cfg.queue_entries = entries;
	if (mrc_sched_create(&cfg, &te.env, &sched) != MRC_OK)
		return 0;
	bytes = te.bytes_in_use;
	mrc_sched_destroy(sched);
	return bytes;
}

/* spec */
void rec_mpr(void)
{
	const size_t few = engine_bytes(16, 4096, 4096);
	const double unit = (double)(engine_bytes(16, 4096 + 128 * 1024, 4096) - few) / 1024;
	char what[96];

	rec_table("mpr", "windows that follow demand; what they cost");
	mpr_run("planes of unlike delay", 0);
	mpr_run("the same with 1 % loss", 10000);
	rec_row("idle QP without its queues", sizeof(struct mrc_sched_qp), "bytes", REC_LE, 1024);
	rec_row("reserved for each QP, with the chunk that lets it always send",
		(double)(engine_bytes(1040, 4096, 4096) - few) / 1024, "bytes", REC_INFO, 0);
	for (uint32_t w = 128; w <= 4096; w *= 2) {
		snprintf(what, sizeof(what), "window of %u PSNs in use, both directions", w);
		rec_row(what, unit * w / 128, "bytes", REC_INFO, 0);
	}
}

/* ---- large windows ---- */

#define FAR_NS (200 * PAIR_US) /* one way */
#define PKT_NS UINT64_C(40)

static uint32_t nb_messages(uint8_t mpr)
{
	return (30000 + mpr * MRC_MPR_UNIT * 12) / 256;
}

/* Packets per second that rate and window allow when nothing is lost. */
static double bound_of(uint8_t mpr)
{
	return fmin(1e9 / (double)PKT_NS, mpr * 128.0 / (2e-9 * (double)FAR_NS));
}

/*
 * What loss leaves of it when each loss is known the instant its answer should have come, so that
 * it costs one round trip: packet n leaves when n - window is acknowledged, and n is acknowledged
 * when it and all before it have arrived.
 */
static double ideal_of(uint8_t mpr, uint32_t ppm)
{
	const uint32_t window = mpr * MRC_MPR_UNIT, nb = nb_messages(mpr) * 256;
	double *acked = calloc(window, sizeof(*acked));
	double left = 0, edge = 0;
	struct test_env te;

	test_env_seed(&te, rec_seed);
	for (uint32_t n = 0; n < nb; n++) {
		double trips = 1;

		while (test_random_below(&te, 1000000) < ppm)
			trips++;
		left = fmax(left + (double)PKT_NS, acked[n % window]);
		edge = fmax(edge, left + 2 * (double)FAR_NS * trips);
		acked[n % window] = edge;
	}
	free(acked);
	return nb / edge * 1e9 / (bound_of(mpr) * (1 - ppm / 1e6));
}

/* Packets per second of one direction, over what window and rate allow. */
static double window_run(const char *name, uint8_t mpr, uint32_t ppm, double *wall_ns_out)
{
	uint32_t count = nb_messages(mpr);
	double secs;
	clock_t start;
	struct pair_cfg cfg;
	struct pair *p;

	rec_cfg(&cfg, 700 + mpr);
	cfg.mpr = mpr;
	cfg.nb_evs = 128;
	cfg.pmtu = 256;
	cfg.delay_ns = FAR_NS;
	cfg.pkt_ns = PKT_NS;
	cfg.tx_burst = 32;
	cfg.timeout = 12;
	cfg.linear_cnt = 7;
	cfg.mem_len = 32u << 20;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	if (ppm != 0)
		pair_fault_add(
			p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .ppm = ppm});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = count, .depth = 128, .min_len = 65536, .max_len = 65536});
	start = clock();
	pair_finish_faulty(p, 60 * PAIR_S);
	*wall_ns_out = (double)(clock() - start) * 1e9 / CLOCKS_PER_SEC /
		       (double)(p->q[PAIR_A][0].wire_first + p->q[PAIR_A][0].wire_again);
	rec_clean(name, p);
	secs = (double)(p->now - cfg.start_ns) / 1e9;
	pair_faults_clear(p);
	secs = (double)p->q[PAIR_A][0].wire_first / secs / (bound_of(mpr) * (1 - ppm / 1e6));
	pair_destroy(p);
	return secs;
}

void rec_windows(void)
{
	static const uint8_t mprs[] = {1, 8, 32, 255};
	/* With one packet per entropy value path order is of no use, and probes take longer. */
	static const double marks[] = {0.5, 0.7, 0.7, 0.7};
	char what[96];

	rec_table("windows", "one QP, 400 us away, 25 M packets/s: over min(rate, window / RTT)");
	for (size_t i = 0; i < 4; i++) {
		double wall, clean, holes;

		snprintf(what, sizeof(what), "MPR %u: no loss", mprs[i]);
		clean = window_run(what, mprs[i], 0, &wall);
		rec_row(what, clean, "of bound", REC_GE, 0.8);
		snprintf(what, sizeof(what), "MPR %u: wall clock of both ends and wire", mprs[i]);
		rec_row(what, wall, "ns/pkt", REC_INFO, 0);
		snprintf(what, sizeof(what), "MPR %u: holes everywhere (5 %% loss)", mprs[i]);
		holes = window_run(what, mprs[i], 50000, &wall);
		rec_row(what, holes, "of bound", REC_INFO, 0);
		snprintf(what, sizeof(what), "MPR %u: the same, of what instant news would give",
			mprs[i]);
		rec_row(what, holes / ideal_of(mprs[i], 50000), "ratio", REC_GE, marks[i]);
		snprintf(what, sizeof(what), "MPR %u: wall clock with holes", mprs[i]);
		rec_row(what, wall, "ns/pkt", REC_INFO, 0);
	}
}
