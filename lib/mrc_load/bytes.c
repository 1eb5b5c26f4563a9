/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.c - the byte pattern: words in arithmetic progression modulo 2^64. Adding is all it takes,
 * so the compiler's vectors keep up with the memory; and two windows into it differ in every word
 * unless they are the same window.
 */
#include <stddef.h>
#include <string.h>

#include "mrc_assert.h"
#include "mrc_load.h"

enum {
	LANES = 4,  /* words of a vector */
	UNROLL = 4, /* vectors of a block */
	BLOCK = LANES * UNROLL * 8,
	WINDOWS = 1021, /* prime: no small number of slots makes a slot's next message look alike */
};

typedef uint64_t vec __attribute__((vector_size(LANES * 8)));

_Static_assert(MRC_LOAD_PATTERN_SLACK == WINDOWS * 64, "a window begins on a cache line");

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

static uint64_t base_of(uint64_t seed)
{
	return mix(seed + 0x9E3779B97F4A7C15u);
}

/* Odd, and no byte lane stands still for long: forced bits in every byte. */
static uint64_t factor_of(uint64_t seed)
{
	return mix(seed + 2 * 0x9E3779B97F4A7C15u) | 0x0101010101010101u;
}

uint32_t mrc_load_pattern_at(uint32_t qp, uint64_t message)
{
	return 64 * (uint32_t)((qp * (uint64_t)331 + message % WINDOWS * 577) % WINDOWS);
}

/* Four vectors that hold the words of one block, and what takes each to the next block. */
struct run {
	vec v[UNROLL];
	vec step;
};

static void run_init(struct run *run, uint64_t seed, uint64_t word)
{
	uint64_t factor = factor_of(seed);
	uint64_t first = base_of(seed) + word * factor;

	for (int u = 0; u < UNROLL; u++) {
		for (int l = 0; l < LANES; l++)
			run->v[u][l] = first + (uint64_t)(u * LANES + l) * factor;
	}
	for (int l = 0; l < LANES; l++)
		run->step[l] = (uint64_t)(LANES * UNROLL) * factor;
}

void mrc_load_pattern_fill(uint64_t seed, uint8_t *buf, uint64_t len)
{
	struct run run;
	uint64_t at = 0;

	MRC_ASSERT(len % 8 == 0);
	run_init(&run, seed, 0);
	for (; at + BLOCK <= len; at += BLOCK) {
		for (int u = 0; u < UNROLL; u++) {
			memcpy(buf + at + u * sizeof(vec), &run.v[u], sizeof(vec));
			run.v[u] += run.step;
		}
	}
	memcpy(buf + at, run.v, len - at);
}

/* Bytes of one block that differ; the slow half of the comparison. */
static uint64_t count_wrong(
	const uint8_t *want, const uint8_t *have, uint64_t len, uint64_t at, uint64_t *first_out)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < len; i++) {
		if (want[i] == have[i])
			continue;
		if (wrong == 0 && *first_out == UINT64_MAX)
			*first_out = at + i;
		wrong++;
	}
	return wrong;
}

uint64_t mrc_load_pattern_diff(
	uint64_t seed, uint64_t at, const uint8_t *buf, uint64_t len, uint64_t *first_out)
{
	uint64_t first = UINT64_MAX, wrong = 0, i = 0;
	struct run run;

	MRC_ASSERT(at % 8 == 0);
	run_init(&run, seed, at / 8);
	for (; i + BLOCK <= len; i += BLOCK) {
		vec have[UNROLL], diff = {0};

		memcpy(have, buf + i, BLOCK);
		for (int u = 0; u < UNROLL; u++)
			diff |= have[u] ^ run.v[u];
		if (__builtin_expect((diff[0] | diff[1] | diff[2] | diff[3]) != 0, 0))
			wrong += count_wrong((const uint8_t *)run.v, buf + i, BLOCK, i, &first);
		for (int u = 0; u < UNROLL; u++)
			run.v[u] += run.step;
	}
	if (memcmp(run.v, buf + i, len - i) != 0)
		wrong += count_wrong((const uint8_t *)run.v, buf + i, len - i, i, &first);
	if (first_out != NULL && wrong > 0)
		*first_out = first;
	return wrong;
}

uint8_t mrc_load_pattern_byte(uint64_t seed, uint64_t at)
{
	uint64_t word = base_of(seed) + at / 8 * factor_of(seed);

	return (uint8_t)(word >> at % 8 * 8);
}
