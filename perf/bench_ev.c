/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_ev.c - what one call of the path choice, of the congestion window and of the workload's
 * byte pattern costs. Cases are interleaved as in bench_proto.c; reported are median and quartiles.
 *
 *   bench_ev [--json] [--rounds N]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "mrc_ev.h"
#include "mrc_load.h"
#include "mrc_nscc.h"

enum {
	CALLS = 2000,
	BIG_CALLS = 4, /* of the cases that pass over a mebibyte */
	BIG = 1 << 20,
	NB_QPS = 16, /* cursors and windows used in turn */
};

static struct mrc_ev_set *sets[3];
static struct mrc_ev_cursor cursors[NB_QPS];
static struct mrc_nscc_cfg cc_cfg;
static struct mrc_nscc ccs[NB_QPS];
static uint32_t units[NB_QPS];
static struct mrc_hist hist;
static uint8_t *buf, *good, *zeros; /* good: the pattern of seed 1 */
static uint64_t now = 1000;

static uint64_t run_next(const struct bench_call *call)
{
	struct mrc_ev_set *set = sets[call->arg];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_ev_next(set, &cursors[i % NB_QPS], now, 0xF, MRC_EV_NONE);
	return sum;
}

/* One packet in eight comes back marked. */
static uint64_t run_next_marked(const struct bench_call *call)
{
	struct mrc_ev_set *set = sets[call->arg];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t index =
			mrc_ev_next(set, &cursors[i % NB_QPS], now += 40, 0xF, MRC_EV_NONE);

		if (i % 8 == 0)
			mrc_ev_feedback(set, now, index, MRC_EV_FB_MARKED);
		sum += index;
	}
	return sum;
}

static uint64_t run_feedback(const struct bench_call *call)
{
	for (uint32_t i = 0; i < CALLS; i++)
		mrc_ev_feedback(sets[0], now, i % 256, MRC_EV_FB_GOOD);
	return 0;
}

/* arg 0: low delay, 1: high delay, 2: marked at high delay */
static uint64_t run_sack(const struct bench_call *call)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t qp = i % NB_QPS;
		struct mrc_nscc_sack sack = {
			.rcvd_units = units[qp] = (units[qp] + 64) & 0xFFFFFF,
			.marked = call->arg == 2,
			.rtt_ns = call->arg == 0 ? 11000 : 19000,
		};

		mrc_nscc_on_sent(&ccs[qp], 16384);
		sum += mrc_nscc_on_sack(&ccs[qp], now += 100, &sack);
	}
	return sum;
}

static uint64_t run_send(const struct bench_call *call)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		struct mrc_nscc *cc = &ccs[i % NB_QPS];

		if (mrc_nscc_may_send(cc, 4136))
			mrc_nscc_on_sent(cc, 4136);
		sum += mrc_nscc_wants_ack(cc);
	}
	for (uint32_t i = 0; i < NB_QPS; i++)
		ccs[i].inflight = 0;
	return sum;
}

static uint64_t run_fill(const struct bench_call *call)
{
	for (uint32_t i = 0; i < call->calls; i++)
		mrc_load_pattern_fill(i, buf, call->arg);
	return buf[17];
}

static uint64_t run_verify(const struct bench_call *call)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < call->calls; i++)
		sum += mrc_load_pattern_diff(1, 0, good, call->arg, NULL);
	return sum;
}

/* The same passes without looking at what is there. */
static uint64_t run_memchr(const struct bench_call *call)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < call->calls; i++)
		sum += memchr(zeros, 2 + (int)(i & 1), call->arg) != NULL;
	return sum;
}

static uint64_t run_hist(const struct bench_call *call)
{
	for (uint32_t i = 0; i < CALLS; i++)
		mrc_hist_add(&hist, 10000 + (i * 7919u) % 50000);
	return hist.count;
}

static struct bench_call benches[] = {
	{"mrc_ev_next, 4 planes x 64", run_next, CALLS, 0},
	{"mrc_ev_next, 4 planes x 48", run_next, CALLS, 1},
	{"mrc_ev_next, 1 in 8 marked, 4 x 64", run_next_marked, CALLS, 2},
	{"mrc_ev_feedback GOOD", run_feedback, CALLS, 0},
	{"mrc_nscc_on_sack, low delay", run_sack, CALLS, 0},
	{"mrc_nscc_on_sack, high delay", run_sack, CALLS, 1},
	{"mrc_nscc_on_sack, marked, high delay", run_sack, CALLS, 2},
	{"mrc_nscc may_send, on_sent, wants_ack", run_send, CALLS, 0},
	{"pattern fill, 4096 B", run_fill, CALLS, 4096},
	{"pattern verify, 64 B", run_verify, CALLS, 64},
	{"pattern verify, 4096 B", run_verify, CALLS, 4096},
	{"memchr, 4096 B", run_memchr, CALLS, 4096},
	{"pattern fill, 1 MiB", run_fill, BIG_CALLS, BIG},
	{"pattern verify, 1 MiB", run_verify, BIG_CALLS, BIG},
	{"memchr, 1 MiB", run_memchr, BIG_CALLS, BIG},
	{"mrc_hist_add", run_hist, CALLS, 0},
};

#define NB_BENCHES (sizeof(benches) / sizeof(benches[0]))

/* ---- set-up */

static bool setup(void)
{
	static struct mrc_ev evs[256];
	struct mrc_ev_cfg cfg;

	mrc_ev_cfg_default(&cfg);
	cfg.mode = MRC_EV_MODE_STEV;
	cfg.evs = evs;
	cfg.nb_planes = 4;
	for (int i = 0; i < 3; i++) {
		cfg.nb_evs = i == 1 ? 192 : 256;
		mrc_ev_generate(evs, cfg.nb_evs, 4, cfg.mode, &bench_env);
		if (mrc_ev_create(&cfg, &bench_env, &sets[i]) != MRC_OK)
			return false;
	}
	mrc_nscc_cfg_default(&cc_cfg, 400000000000u, 8000, 4136, true);
	for (int i = 0; i < NB_QPS; i++)
		mrc_nscc_init(&ccs[i], &cc_cfg, now);
	buf = aligned_alloc(64, BIG);
	good = aligned_alloc(64, BIG);
	zeros = aligned_alloc(64, BIG);
	if (buf == NULL || good == NULL || zeros == NULL)
		return false;
	mrc_load_pattern_fill(1, good, BIG);
	memset(buf, 0, BIG);
	memset(zeros, 0, BIG);
	return true;
}

int main(int argc, char **argv)
{
	struct bench_options o = {
		.program = "bench_ev", .max_rounds = BENCH_MAX_ROUNDS, .rounds = 101};

	bench_options_read(&o, argc, argv);
	bench_must(setup(), "set-up");
	bench_calls_measure(benches, NB_BENCHES, o.rounds);
	bench_calls_print(benches, NB_BENCHES, &o);
	return 0;
}
