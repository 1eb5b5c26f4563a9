/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

/* ---- options ----------------------------------------------------------------------------------*/

static void usage(const struct bench_options *o)
{
	fprintf(stderr, "usage: %s [--json] [--rounds %d .. %u]", o->program, BENCH_MIN_ROUNDS,
		o->max_rounds);
	if (o->only_text != NULL)
		fprintf(stderr, " [--only %s]", o->only_text);
	fputc('\n', stderr);
	exit(2);
}

void bench_options_read(struct bench_options *options, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--json") == 0) {
			options->json = true;
		} else if (strcmp(argv[i], "--rounds") == 0 && value != NULL) {
			options->rounds = (uint32_t)strtoul(argv[++i], NULL, 0);
		} else if (strcmp(argv[i], "--only") == 0 && value != NULL &&
			   options->only_text != NULL) {
			options->only = argv[++i];
		} else {
			usage(options);
		}
	}
	if (options->rounds < BENCH_MIN_ROUNDS || options->rounds > options->max_rounds)
		usage(options);
}

void bench_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

/* ---- environment ------------------------------------------------------------------------------*/

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	void *mem = aligned_alloc(align, (size + align - 1) / align * align);

	if (mem != NULL)
		memset(mem, 0, size);
	return mem;
}

static void env_free(void *ctx, void *mem, size_t size)
{
	free(mem);
}

static uint64_t env_random64(void *ctx)
{
	static uint64_t state = 1;

	state += 0x9E3779B97F4A7C15u;
	return state * 0xBF58476D1CE4E5B9u ^ state >> 31;
}

const struct mrc_env bench_env = {.alloc = env_alloc, .free = env_free, .random64 = env_random64};

/* ---- numbers ----------------------------------------------------------------------------------*/

double bench_tsc_ghz(void)
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

	return (x > y) - (x < y);
}

void bench_quartiles(double *values, uint32_t nb, double out[3])
{
	qsort(values, nb, sizeof(*values), compare);
	out[0] = values[nb / 4];
	out[1] = values[nb / 2];
	out[2] = values[nb * 3 / 4];
}

/* ---- tables of calls --------------------------------------------------------------------------*/

/* Keeps what a call computes, so that the compiler keeps the computing. */
static volatile uint64_t sink;

void bench_calls_measure(struct bench_call *calls, uint32_t nb, uint32_t rounds)
{
	for (uint32_t r = 0; r < rounds; r++)
		for (uint32_t i = 0; i < nb; i++) {
			uint64_t from, to;

			sink += calls[i].run(&calls[i]);
			from = __rdtsc();
			sink += calls[i].run(&calls[i]);
			to = __rdtsc();
			calls[i].cycles[r] = (double)(to - from) / calls[i].calls;
		}
}

void bench_calls_print(struct bench_call *calls, uint32_t nb, const struct bench_options *options)
{
	const double ghz = bench_tsc_ghz();

	if (options->json)
		printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"cases\": [", ghz, options->rounds);
	else
		printf("%-54s %10s %10s %10s %10s\n", "call", "ns", "cycles", "25 %", "75 %");
	for (uint32_t i = 0; i < nb; i++) {
		double q[3];

		bench_quartiles(calls[i].cycles, options->rounds, q);
		if (options->json)
			printf("%s\n  {\"name\": \"%s\", \"ns\": %.2f, \"cycles\": %.1f, "
			       "\"cycles_q1\": %.1f, \"cycles_q3\": %.1f}",
				i == 0 ? "" : ",", calls[i].name, q[1] / ghz, q[1], q[0], q[2]);
		else
			printf("%-54s %10.1f %10.1f %10.1f %10.1f\n", calls[i].name, q[1] / ghz,
				q[1], q[0], q[2]);
	}
	if (options->json)
		printf("\n]}\n");
}
