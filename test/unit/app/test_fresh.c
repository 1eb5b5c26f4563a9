/* SPDX-License-Identifier: BSD-2-Clause */
/* Time stamps are fresh when their frames leave: as many frames go at once as a port takes in half
 * a microsecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fresh.h"

#define MOST 32

/* spec */
static void test_stale_halves_early_doubles(void **state)
{
	assert_int_equal(MRC_FRESH_NS, 500);
	assert_int_equal(mrc_fresh_size(8, MOST, 8, 501), 4);
	assert_int_equal(mrc_fresh_size(8, MOST, 8, 500), 8);
	assert_int_equal(mrc_fresh_size(8, MOST, 8, 250), 8);
	assert_int_equal(mrc_fresh_size(8, MOST, 8, 249), 16);
	/* One frame alone may take what it takes: two at least. Never more than fit. */
	assert_int_equal(mrc_fresh_size(4, MOST, 4, 501), 2);
	assert_int_equal(mrc_fresh_size(2, MOST, 2, 100000), 2);
	assert_int_equal(mrc_fresh_size(32, MOST, 32, 0), 32);
	assert_int_equal(mrc_fresh_size(16, MOST, 16, 0), 32);
	/* Fewer frames than planned took little time, or much, for other reasons. */
	assert_int_equal(mrc_fresh_size(8, MOST, 7, 0), 8);
	assert_int_equal(mrc_fresh_size(8, MOST, 7, 9000), 8);
}

/* Whatever a frame costs: after a few goes all stamps are fresh and stay so, and at least half of
 * the time allowed is used. */
/* spec */
static void test_settles_in_time(void **state)
{
	for (uint64_t cost_ns = 1; cost_ns <= 250; cost_ns++)
		for (uint32_t size = 2; size <= MOST; size *= 2) {
			uint32_t now = size;

			for (int go = 0; go < 5; go++)
				now = mrc_fresh_size(now, MOST, now, now * cost_ns);
			for (int go = 0; go < 5; go++) {
				assert_true(now * cost_ns <= MRC_FRESH_NS);
				assert_true(now == MOST || now * cost_ns * 2 >= MRC_FRESH_NS);
				now = mrc_fresh_size(now, MOST, now, now * cost_ns);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_halves_early_doubles),
		cmocka_unit_test(test_settles_in_time),
	};

	return cmocka_run_group_tests_name("fresh", tests, NULL, NULL);
}
