/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_env.h"

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	struct test_env *te = ctx;
	void *mem = NULL;

	if (te->frozen) {
		fprintf(stderr, "allocation of %zu bytes after create\n", size);
		abort();
	}
	if (te->fail_after == 0)
		return NULL;
	if (te->fail_after != UINT32_MAX)
		te->fail_after--;
	if (posix_memalign(
		    &mem, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) != 0)
		return NULL;
	memset(mem, 0, size);
	te->bytes_in_use += size;
	te->blocks_in_use++;
	return mem;
}

static void env_free(void *ctx, void *mem, size_t size)
{
	struct test_env *te = ctx;

	if (mem == NULL)
		return;
	te->bytes_in_use -= size;
	te->blocks_in_use--;
	free(mem);
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* xoshiro256** of Blackman and Vigna. */
uint64_t test_random64(struct test_env *te)
{
	uint64_t *s = te->rng;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint32_t test_random_below(struct test_env *te, uint32_t bound)
{
	return (uint32_t)(((test_random64(te) >> 32) * bound) >> 32);
}

static uint64_t env_random64(void *ctx)
{
	return test_random64(ctx);
}

/* splitmix64, to spread the seed over the generator's state. */
static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = (*x += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

void test_env_seed(struct test_env *te, uint64_t seed)
{
	memset(te, 0, sizeof(*te));
	for (int i = 0; i < 4; i++)
		te->rng[i] = splitmix(&seed);
	te->fail_after = UINT32_MAX;
	te->env = (struct mrc_env){
		.ctx = te, .alloc = env_alloc, .free = env_free, .random64 = env_random64};
}

void test_env_init(struct test_env *te, uint64_t seed)
{
	const char *text = getenv("MRC_TEST_SEED");

	if (text != NULL)
		seed = strtoull(text, NULL, 0);
	printf("seed %llu (MRC_TEST_SEED=%llu repeats this run)\n", (unsigned long long)seed,
		(unsigned long long)seed);
	test_env_seed(te, seed);
}

void test_env_freeze(struct test_env *te)
{
	te->frozen = true;
}

void test_env_done(struct test_env *te)
{
	assert_int_equal(te->blocks_in_use, 0);
	assert_int_equal(te->bytes_in_use, 0);
}
