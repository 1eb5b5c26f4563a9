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
#include <time.h>
#include <x86intrin.h>

#include "mrc_ev.h"
#include "mrc_load.h"
#include "mrc_nscc.h"

enum {
	CALLS = 2000,
	BIG_CALLS = 4, /* of the cases that pass over a mebibyte */
	BIG = 1 << 20,
	MAX_ROUNDS = 2000,
	NB_QPS = 16, /* cursors and windows used in turn */
};

struct bench {
	const char *name;
	uint64_t (*run)(struct bench *bench);
	uint32_t calls; /* of one run */
	uint32_t arg;
	double cycles[MAX_ROUNDS];
};

static struct mrc_ev_set *sets[3];
static struct mrc_ev_cursor cursors[NB_QPS];
static struct mrc_nscc_cfg cc_cfg;
static struct mrc_nscc ccs[NB_QPS];
static uint32_t units[NB_QPS];
static struct mrc_hist hist;
static uint8_t *buf, *good, *zeros; /* good: the pattern of seed 1 */
static uint64_t now = 1000;

static uint64_t run_next(struct bench *bench)
{
	struct mrc_ev_set *set = sets[bench->arg];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_ev_next(set, &cursors[i % NB_QPS], now, 0xF, MRC_EV_NONE);
	return sum;
}

/* One packet in eight comes back marked. */
static uint64_t run_next_marked(struct bench *bench)
{
	struct mrc_ev_set *set = sets[bench->arg];
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

static uint64_t run_feedback(struct bench *bench)
{
	for (uint32_t i = 0; i < CALLS; i++)
		mrc_ev_feedback(sets[0], now, i % 256, MRC_EV_FB_GOOD);
	return 0;
}

/* arg 0: low delay, 1: high delay, 2: marked at high delay */
static uint64_t run_sack(struct bench *bench)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t qp = i % NB_QPS;
		struct mrc_nscc_sack sack = {
			.rcvd_units = units[qp] = (units[qp] + 64) & 0xFFFFFF,
			.marked = bench->arg == 2,
			.rtt_ns = bench->arg == 0 ? 11000 : 19000,
		};

		mrc_nscc_on_sent(&ccs[qp], 16384);
		sum += mrc_nscc_on_sack(&ccs[qp], now += 100, &sack);
	}
	return sum;
}

static uint64_t run_send(struct bench *bench)
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

static uint64_t run_fill(struct bench *bench)
{
	for (uint32_t i = 0; i < bench->calls; i++)
		mrc_load_pattern_fill(i, buf, bench->arg);
	return buf[17];
}

static uint64_t run_verify(struct bench *bench)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bench->calls; i++)
		sum += mrc_load_pattern_diff(1, 0, good, bench->arg, NULL);
	return sum;
}

/* The same passes without looking at what is there. */
static uint64_t run_memchr(struct bench *bench)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bench->calls; i++)
		sum += memchr(zeros, 2 + (int)(i & 1), bench->arg) != NULL;
	return sum;
}

static uint64_t run_hist(struct bench *bench)
{
	for (uint32_t i = 0; i < CALLS; i++)
		mrc_hist_add(&hist, 10000 + (i * 7919u) % 50000);
	return hist.count;
}

static struct bench benches[] = {
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

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	void *mem = NULL;

	return posix_memalign(&mem, align, size) == 0 ? memset(mem, 0, size) : NULL;
}

static void env_free(void *ctx, void *mem, size_t size)
{
	free(mem);
}

static uint64_t env_random64(void *ctx)
{
	uint64_t *x = ctx;

	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static bool setup(void)
{
	static uint64_t seed = 88172645463325252u;
	static struct mrc_ev evs[256];
	struct mrc_env env = {
		.ctx = &seed, .alloc = env_alloc, .free = env_free, .random64 = env_random64};
	struct mrc_ev_cfg cfg;

	mrc_ev_cfg_default(&cfg);
	cfg.mode = MRC_EV_MODE_STEV;
	cfg.evs = evs;
	cfg.nb_planes = 4;
	for (int i = 0; i < 3; i++) {
		cfg.nb_evs = i == 1 ? 192 : 256;
		mrc_ev_generate(evs, cfg.nb_evs, 4, cfg.mode, &env);
		if (mrc_ev_create(&cfg, &env, &sets[i]) != MRC_OK)
			return false;
	}
	mrc_nscc_cfg_default(&cc_cfg, 400000000000u, 8000, 4136, true);
	for (int i = 0; i < NB_QPS; i++)
		mrc_nscc_init(&ccs[i], &cc_cfg, now);
	buf = env_alloc(NULL, BIG, 64);
	good = env_alloc(NULL, BIG, 64);
	zeros = env_alloc(NULL, BIG, 64);
	if (buf == NULL || good == NULL || zeros == NULL)
		return false;
	mrc_load_pattern_fill(1, good, BIG);
	return true;
}

/* ---- measuring */

static volatile uint64_t sink;

static double tsc_ghz(void)
{
	struct timespec a, b;
	uint64_t from, to;
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	from = __rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		to = __rdtsc();
		ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	} while (ns < 5e7);
	return (double)(to - from) / ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(uint32_t rounds)
{
	for (uint32_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < NB_BENCHES; i++) {
			uint64_t from, to;

			sink += benches[i].run(&benches[i]); /* warms caches and predictors */
			from = __rdtsc();
			sink += benches[i].run(&benches[i]);
			to = __rdtsc();
			benches[i].cycles[r] = (double)(to - from) / benches[i].calls;
		}
	}
}

static void print(uint32_t rounds, bool json)
{
	double ghz = tsc_ghz();

	if (json)
		printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"cases\": [", ghz, rounds);
	else
		printf("%-44s %10s %10s %10s %10s\n", "call", "ns", "cycles", "25 %", "75 %");
	for (size_t i = 0; i < NB_BENCHES; i++) {
		double *c = benches[i].cycles;

		qsort(c, rounds, sizeof(*c), compare);
		if (json)
			printf("%s\n  {\"name\": \"%s\", \"ns\": %.2f, \"cycles\": %.1f, "
			       "\"cycles_q1\": %.1f, \"cycles_q3\": %.1f}",
				i == 0 ? "" : ",", benches[i].name, c[rounds / 2] / ghz,
				c[rounds / 2], c[rounds / 4], c[rounds * 3 / 4]);
		else
			printf("%-44s %10.1f %10.1f %10.1f %10.1f\n", benches[i].name,
				c[rounds / 2] / ghz, c[rounds / 2], c[rounds / 4],
				c[rounds * 3 / 4]);
	}
	if (json)
		printf("\n]}\n");
}

int main(int argc, char **argv)
{
	uint32_t rounds = 101;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			rounds = (uint32_t)strtoul(argv[++i], NULL, 10);
		} else {
			fprintf(stderr, "usage: bench_ev [--json] [--rounds N]\n");
			return 2;
		}
	}
	if (rounds == 0 || rounds > MAX_ROUNDS || !setup())
		return 2;
	measure(rounds);
	print(rounds, json);
	return 0;
}
