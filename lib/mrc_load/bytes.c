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
	LANES = 4,             /* words of a vector */
	BLOCK = 4 * LANES * 8, /* bytes of four vectors */
	STRIDE = 4 * BLOCK,
	WINDOWS = 1021, /* prime: no small number of slots makes a slot's next message look alike */
};

typedef uint64_t vec __attribute__((vector_size(LANES * 8)));
typedef uint64_t vec_unaligned __attribute__((vector_size(LANES * 8), aligned(1), may_alias));

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

/*
 * The words of a block, and what takes each vector to the next block. Single members, because
 * arrays of vectors do not stay in registers; passed by pointer, because how a vector travels
 * depends on the machine that is compiled for.
 */
struct quad {
	vec a, b, c, d;
	vec step;
};

static inline void quad_init(struct quad *q, uint64_t seed, uint64_t word)
{
	uint64_t factor = factor_of(seed);
	vec lanes = (vec){0, factor, 2 * factor, 3 * factor} + (base_of(seed) + word * factor);

	q->a = lanes;
	q->b = lanes + LANES * factor;
	q->c = lanes + 2 * LANES * factor;
	q->d = lanes + 3 * LANES * factor;
	q->step = (vec){0} + BLOCK / 8 * factor;
}

static inline void quad_add(struct quad *q)
{
	q->a += q->step;
	q->b += q->step;
	q->c += q->step;
	q->d += q->step;
}

void mrc_load_pattern_fill(uint64_t seed, uint8_t *buf, uint64_t len)
{
	struct quad q;
	uint64_t at = 0;

	MRC_ASSERT(len % 8 == 0);
	quad_init(&q, seed, 0);
	for (; at + BLOCK <= len; at += BLOCK) {
		memcpy(buf + at, &q.a, sizeof(vec));
		memcpy(buf + at + sizeof(vec), &q.b, sizeof(vec));
		memcpy(buf + at + 2 * sizeof(vec), &q.c, sizeof(vec));
		memcpy(buf + at + 3 * sizeof(vec), &q.d, sizeof(vec));
		quad_add(&q);
	}
	if (at < len) {
		quad_init(&q, seed, at / 8);
		memcpy(buf + at, &q, len - at);
	}
}

/* Bytes that differ in len (BLOCK at most) bytes from buf[i] on; the slow half of the comparison,
 * and its rest. */
static __attribute__((noinline)) uint64_t count_wrong(
	uint64_t seed, uint64_t at, const uint8_t *buf, uint64_t i, uint64_t len, uint64_t *first)
{
	uint64_t wrong = 0;
	struct quad want;

	quad_init(&want, seed, (at + i) / 8);
	if (memcmp(&want, buf + i, len) == 0)
		return 0;
	for (uint64_t j = 0; j < len; j++) {
		if (((const uint8_t *)&want)[j] == buf[i + j])
			continue;
		if (*first == UINT64_MAX)
			*first = i + j;
		wrong++;
	}
	return wrong;
}

/* Adds to `diff` the bits of a block that differ, and goes on to the next block. */
static inline void quad_diff(struct quad *q, const uint8_t *have, vec *diff)
{
	const vec_unaligned *v = (const vec_unaligned *)have;

	*diff |= (v[0] ^ q->a) | (v[1] ^ q->b) | (v[2] ^ q->c) | (v[3] ^ q->d);
	quad_add(q);
}

/* Whether STRIDE bytes differ from the blocks from q on; leaves q behind them. Asks once for all of
 * them, because asking a vector costs as much as comparing several. */
static inline bool stride_differs(const uint8_t *have, struct quad *q)
{
	vec diff = {0};

	quad_diff(q, have, &diff);
	quad_diff(q, have + BLOCK, &diff);
	quad_diff(q, have + 2 * BLOCK, &diff);
	quad_diff(q, have + 3 * BLOCK, &diff);
	return (diff[0] | diff[1] | diff[2] | diff[3]) != 0;
}

uint64_t mrc_load_pattern_diff(
	uint64_t seed, uint64_t at, const uint8_t *buf, uint64_t len, uint64_t *first_out)
{
	uint64_t first = UINT64_MAX, wrong = 0, i = 0;
	struct quad q;

	MRC_ASSERT(at % 8 == 0);
	if (len >= STRIDE)
		quad_init(&q, seed, at / 8);
	for (; i + STRIDE <= len; i += STRIDE) {
		if (__builtin_expect(!stride_differs(buf + i, &q), 1))
			continue;
		for (uint64_t j = i; j < i + STRIDE; j += BLOCK)
			wrong += count_wrong(seed, at, buf, j, BLOCK, &first);
	}
	for (; i < len; i += BLOCK)
		wrong += count_wrong(seed, at, buf, i, len - i < BLOCK ? len - i : BLOCK, &first);
	if (first_out != NULL && wrong > 0)
		*first_out = first;
	return wrong;
}

uint8_t mrc_load_pattern_byte(uint64_t seed, uint64_t at)
{
	uint64_t word = base_of(seed) + at / 8 * factor_of(seed);

	return (uint8_t)(word >> at % 8 * 8);
}
