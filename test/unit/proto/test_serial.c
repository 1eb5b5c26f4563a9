/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serial numbers: order and distance across the wrap. That `<` on them does not compile is checked
 * by the build (see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mrc_psn.h"
#include "test_env.h"

enum {
	PSN_HALF = 1 << 23,
	WINDOW = 1024,
};

static void test_psn_masks(void **state)
{
	assert_int_equal(mrc_psn(0x1000000).v, 0);
	assert_int_equal(mrc_psn(0xFFFFFFFF).v, 0xFFFFFF);
	assert_int_equal(mrc_psn_add(mrc_psn(0xFFFFFF), 1).v, 0);
	assert_int_equal(mrc_psn_add(mrc_psn(0), -1).v, 0xFFFFFF);
	assert_int_equal(mrc_psn_add(mrc_psn(5), -PSN_HALF).v, 5 + PSN_HALF);
	assert_int_equal(mrc_psn_add(mrc_psn(0xFFFFF0), 0x20).v, 0x10);
}

static void test_psn_distance_edges(void **state)
{
	mrc_psn_t zero = mrc_psn(0);

	assert_int_equal(mrc_psn_diff(zero, zero), 0);
	assert_int_equal(mrc_psn_diff(mrc_psn(PSN_HALF - 1), zero), PSN_HALF - 1);
	assert_int_equal(mrc_psn_diff(mrc_psn(PSN_HALF), zero), -PSN_HALF);
	assert_int_equal(mrc_psn_diff(zero, mrc_psn(PSN_HALF)), -PSN_HALF);
	assert_int_equal(mrc_psn_diff(zero, mrc_psn(0xFFFFFF)), 1);
	assert_true(mrc_psn_lt(mrc_psn(0xFFFFFF), zero));
	assert_false(mrc_psn_lt(zero, mrc_psn(0xFFFFFF)));
	assert_false(mrc_psn_lt(zero, zero));
	assert_true(mrc_psn_le(zero, zero));
	assert_true(mrc_psn_eq(mrc_psn(0x1000005), mrc_psn(5)));
	assert_false(mrc_psn_eq(mrc_psn(4), mrc_psn(5)));
}

/* Three windows from every start that is dangerous: order and distance never notice the wrap. spec:
 * */
static void test_psn_wrap_invisible(void **state)
{
	static const uint32_t starts[] = {0, 0xFFFFF0, 0x7FFFFF, 0x7FFFF0, 0x800000, 0xFFFFFE};

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		mrc_psn_t first = mrc_psn(starts[s]), psn = first;

		for (int32_t i = 0; i < 3 * WINDOW; i++) {
			mrc_psn_t next = mrc_psn_add(psn, 1);

			assert_int_equal(mrc_psn_diff(psn, first), i);
			assert_int_equal(mrc_psn_diff(first, psn), -i);
			assert_true(mrc_psn_lt(psn, next));
			assert_true(mrc_psn_le(psn, next));
			assert_false(mrc_psn_le(next, psn));
			assert_true(next.v <= MRC_PSN_MASK);
			psn = next;
		}
	}
}

static void test_psn_random(void **state)
{
	struct test_env te;

	test_env_init(&te, 1);
	for (uint32_t i = 0; i < 1000000; i++) {
		mrc_psn_t a = mrc_psn((uint32_t)test_random64(&te));
		int32_t step = (int32_t)test_random_below(&te, 2 * PSN_HALF) - PSN_HALF;
		mrc_psn_t b = mrc_psn_add(a, step);

		assert_int_equal(mrc_psn_diff(b, a), step);
		assert_int_equal(mrc_psn_lt(a, b), step > 0);
		assert_int_equal(mrc_psn_eq(a, b), step == 0);
		/* Half the space away each is before the other: no order, which callers must not
		 * ask for. */
		if (step != -PSN_HALF)
			assert_int_equal(mrc_psn_le(a, b), step >= 0);
	}
}

static void test_msn_every_distance(void **state)
{
	for (uint32_t a = 0; a < 65536; a += 251) {
		for (int32_t step = -32768; step < 32768; step++) {
			mrc_msn_t b = mrc_msn_add(mrc_msn(a), step);

			assert_int_equal(mrc_msn_diff(b, mrc_msn(a)), step);
			assert_int_equal(mrc_msn_eq(mrc_msn(a), b), step == 0);
		}
	}
}

static void test_msn_edges(void **state)
{
	assert_int_equal(mrc_msn(0x10005).v, 5);
	assert_int_equal(mrc_msn_add(mrc_msn(0xFFFF), 1).v, 0);
	assert_int_equal(mrc_msn_add(mrc_msn(0), -1).v, 0xFFFF);
	assert_int_equal(mrc_msn_diff(mrc_msn(0), mrc_msn(0xFFFF)), 1);
	assert_int_equal(mrc_msn_diff(mrc_msn(0x8000), mrc_msn(0)), -32768);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_psn_masks),
		cmocka_unit_test(test_psn_distance_edges),
		cmocka_unit_test(test_psn_wrap_invisible),
		cmocka_unit_test(test_psn_random),
		cmocka_unit_test(test_msn_every_distance),
		cmocka_unit_test(test_msn_edges),
	};

	return cmocka_run_group_tests_name("serial", tests, NULL, NULL);
}
