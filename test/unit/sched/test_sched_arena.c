/* SPDX-License-Identifier: BSD-2-Clause */
/* The arena of queues and the pool of chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "pool.h"
#include "test_env.h"

#define LEN (64 * 1000) /* not a power of two */

static uint8_t mem[LEN] __attribute__((aligned(64)));
static uint8_t order[LEN / 64];
static struct arena arena;

static void start(void)
{
	memset(order, 0, sizeof(order));
	arena_init(&arena, mem, sizeof(mem), order);
}

/* Whatever was taken and given back, the pieces join again: the largest one fits. */
static void assert_whole(void)
{
	void *largest = arena_alloc(&arena, 512 * 64);

	assert_int_equal(arena.used_len, 512 * 64);
	assert_non_null(largest);
	arena_free(&arena, largest);
	assert_int_equal(arena.used_len, 0);
}

static void sizes(void **state)
{
	start();
	assert_null(arena_alloc(&arena, LEN));
	assert_null(arena_alloc(&arena, 513 * 64));
	for (size_t len = 1; len <= 512 * 64; len = len * 2 + 1) {
		uint8_t *p = arena_alloc(&arena, len);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p & 63, 0);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xAA, len);
		arena_free(&arena, p);
	}
	arena_free(&arena, NULL);
	assert_whole();
}

static void until_it_is_spent(void **state)
{
	void *p[LEN / 64 + 1]; /* and the refusal */
	uint32_t nb = 0;

	start();
	while ((p[nb] = arena_alloc(&arena, 64)) != NULL)
		nb++;
	assert_int_equal(nb, LEN / 64);
	assert_int_equal(arena.used_len, LEN);
	for (uint32_t i = 0; i < nb; i++)
		arena_free(&arena, p[i]);
	assert_whole();
}

static void random_use(void **state)
{
	struct {
		uint8_t *p;
		uint32_t len;
		uint8_t fill;
	} held[64] = {0};
	struct test_env te;

	test_env_init(&te, 0xA1);
	start();
	for (uint32_t step = 0; step < 100000; step++) {
		uint32_t i = test_random_below(&te, 64);

		if (held[i].p != NULL) {
			for (uint32_t k = 0; k < held[i].len; k++)
				assert_int_equal(held[i].p[k], held[i].fill);
			arena_free(&arena, held[i].p);
			held[i].p = NULL;
			continue;
		}
		held[i].len = 1 + test_random_below(&te, 64u << test_random_below(&te, 7));
		held[i].fill = (uint8_t)test_random64(&te);
		held[i].p = arena_alloc(&arena, held[i].len);
		if (held[i].p != NULL)
			memset(held[i].p, held[i].fill, held[i].len);
	}
	for (uint32_t i = 0; i < 64; i++)
		arena_free(&arena, held[i].p);
	assert_whole();
}

static void pool_is_last_in_first_out(void **state)
{
	static uint8_t pieces[8 * 32];
	uint16_t ids[8], got[8];
	struct pool pool;

	pool_init(&pool, pieces, 32, ids, 8);
	for (uint32_t i = 0; i < 8; i++) {
		got[i] = pool_get(&pool);
		assert_true(got[i] < 8);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(got[i], got[k]);
		assert_ptr_equal(pool_at(&pool, got[i]), pieces + 32 * got[i]);
	}
	assert_int_equal(pool_get(&pool), POOL_NONE);
	pool_put(&pool, got[5]);
	pool_put(&pool, got[2]);
	assert_int_equal(pool_get(&pool), got[2]);
	assert_int_equal(pool_get(&pool), got[5]);
	assert_int_equal(pool.nb_free, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(until_it_is_spent),
		cmocka_unit_test(random_use),
		cmocka_unit_test(pool_is_last_in_first_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
