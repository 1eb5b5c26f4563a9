/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_env.h - the struct mrc_env of the tests: malloc with exact sizes (so that a sanitizer sees
 * every overrun), an allocator that aborts once frozen, and random numbers from a printed seed.
 */
#ifndef TEST_ENV_H
#define TEST_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mrc_env.h"

struct test_env {
	struct mrc_env env;  /* hand out &env */
	uint64_t rng[4];     /* state of the generator */
	size_t bytes_in_use; /* taken and not given back */
	size_t blocks_in_use;
	uint32_t
		fail_after; /* allocations that succeed before one fails; UINT32_MAX = none fails */
	bool frozen;        /* an allocation from now on aborts the test */
};

/* Seed: MRC_TEST_SEED of the process environment if set, else `seed`. Prints it. */
void test_env_init(struct test_env *te, uint64_t seed);
/* The same with exactly this seed, without a word. */
void test_env_seed(struct test_env *te, uint64_t seed);
/* From here on the code under test may not allocate. */
void test_env_freeze(struct test_env *te);
/* Asserts (cmocka) that everything was given back. */
void test_env_done(struct test_env *te);

uint64_t test_random64(struct test_env *te);
/* 0 .. bound-1. */
uint32_t test_random_below(struct test_env *te, uint32_t bound);

#endif
