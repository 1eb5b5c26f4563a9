/* SPDX-License-Identifier: BSD-2-Clause */
/* The time table of a measurement, walked tick by tick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "window.h"

static const struct mrc_window_plan plan = {.start = 1000,
	.drain = 3,
	.canary = 2,
	.warm = 4,
	.run = 10,
	.nb_windows = 3,
	.nb_modes = 2,
	.modes = {7, 9}};

static void at(uint64_t tsc, enum mrc_window_phase phase, uint32_t index)
{
	uint32_t got = 99;

	assert_int_equal(mrc_window_at(&plan, tsc, &got), phase);
	assert_int_equal(got, index);
}

static void test_phases(void **state)
{
	at(0, MRC_WINDOW_WAIT, 0);
	at(999, MRC_WINDOW_WAIT, 0);
	at(1000, MRC_WINDOW_DRAIN, 0);
	at(1002, MRC_WINDOW_DRAIN, 0);
	at(1003, MRC_WINDOW_CANARY, 0);
	at(1004, MRC_WINDOW_CANARY, 0);
	at(1005, MRC_WINDOW_WARM, 0);
	at(1008, MRC_WINDOW_WARM, 0);
	at(1009, MRC_WINDOW_RUN, 0);
	at(1018, MRC_WINDOW_RUN, 0);
	at(1019, MRC_WINDOW_DRAIN, 1);
	at(1028, MRC_WINDOW_RUN, 1);
	at(1047, MRC_WINDOW_RUN, 2);
	at(1056, MRC_WINDOW_RUN, 2);
	at(1057, MRC_WINDOW_DRAIN, 3);
	at(1060, MRC_WINDOW_CANARY, 3);
	at(1061, MRC_WINDOW_CANARY, 3);
	at(1062, MRC_WINDOW_END, 3);
	at(1u << 30, MRC_WINDOW_END, 3);
}

static void test_lengths(void **state)
{
	uint64_t ticks[6] = {0};
	uint32_t index;

	for (uint64_t tsc = plan.start; tsc < plan.start + 62; tsc++)
		ticks[mrc_window_at(&plan, tsc, &index)]++;
	assert_int_equal(ticks[MRC_WINDOW_DRAIN], 4 * 3);
	assert_int_equal(ticks[MRC_WINDOW_CANARY], 4 * 2);
	assert_int_equal(ticks[MRC_WINDOW_WARM], 3 * 4);
	assert_int_equal(ticks[MRC_WINDOW_RUN], 3 * 10);
	assert_int_equal(mrc_window_run_begin(&plan, 0), 1009);
	assert_int_equal(mrc_window_run_begin(&plan, 2), 1047);
}

/* The end of a phase is the first moment of another one. */
static void test_changes(void **state)
{
	assert_int_equal(mrc_window_change(&plan, 0), 1000);
	for (uint64_t tsc = 990; tsc < 1062; tsc++) {
		uint64_t change = mrc_window_change(&plan, tsc);
		uint32_t now_index, index;
		enum mrc_window_phase now = mrc_window_at(&plan, tsc, &now_index);

		assert_true(change > tsc);
		assert_int_equal(mrc_window_at(&plan, change - 1, &index), now);
		assert_int_equal(index, now_index);
		assert_int_not_equal(mrc_window_at(&plan, change, &index), now);
	}
	assert_true(mrc_window_change(&plan, 1062) == UINT64_MAX);
}

static void test_modes(void **state)
{
	assert_int_equal(mrc_window_mode(&plan, 0), 7);
	assert_int_equal(mrc_window_mode(&plan, 1), 9);
	assert_int_equal(mrc_window_mode(&plan, 2), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
