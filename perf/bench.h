/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what the benchmarks have in common: options, the time stamp counter's rate, quartiles,
 * and a table of calls that take turns, so that a slow spell of the machine hits all of them.
 */
#ifndef PERF_BENCH_H
#define PERF_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_env.h"

enum {
	BENCH_MIN_ROUNDS = 4,
	BENCH_MAX_ROUNDS = 2000,
	BENCH_NAME = 64,
};

/* --json, --rounds N and, where only_text is given, --only TEXT. */
struct bench_options {
	const char *program;
	const char *only_text; /* what --only takes, or NULL */
	uint32_t max_rounds;
	uint32_t rounds; /* the default to begin with */
	bool json;
	const char *only; /* NULL: everything */
};

/* On a wrong command line prints what is right and exits with 2. */
void bench_options_read(struct bench_options *options, int argc, char **argv);

/* Ends the program with a line naming what failed. */
void bench_must(bool ok, const char *what);

/* Memory of the C library and a fixed sequence of random numbers. */
extern const struct mrc_env bench_env;

/* Of the time stamp counter; takes 50 ms. */
double bench_tsc_ghz(void);

/* Sorts values; lower quartile, median and upper quartile. */
void bench_quartiles(double *values, uint32_t nb, double out[3]);

struct bench_call {
	char name[BENCH_NAME];
	/* Makes `calls` calls; what it returns keeps the compiler from leaving them out. */
	uint64_t (*run)(const struct bench_call *call);
	uint32_t calls;
	uint32_t arg; /* for run, as ctx */
	const void *ctx;
	double cycles[BENCH_MAX_ROUNDS]; /* per call, of each round */
};

/* Runs all calls in every round, each once to warm caches and predictors before it is measured. */
void bench_calls_measure(struct bench_call *calls, uint32_t nb, uint32_t rounds);
/* The table, or one JSON object. */
void bench_calls_print(struct bench_call *calls, uint32_t nb, const struct bench_options *options);

#endif
