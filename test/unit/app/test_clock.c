/* SPDX-License-Identifier: BSD-2-Clause */
/* Time stamp counter to nanoseconds: overflow, exactness, monotony, absurd frequencies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "test_env.h"

#define SECOND 1000000000ull

static const uint64_t rates[] = {1000000000ull, 2000000000ull, 2445430000ull, 3200000000ull,
	5000000000ull, 10000000ull, 100000000000ull};
static const uint64_t days[] = {0, 21, 30, 365, 3650};

/* Conversion tables of other programs broke after weeks: the product overflowed. */
static void exact_after_years_from_any_start(void **state)
{
	static const uint64_t starts[] = {0, 1ull << 60, UINT64_MAX - 5};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (size_t s = 0; s < 3; s++) {
			struct mrc_clock clock;

			assert_int_equal(mrc_clock_init(&clock, rates[r], starts[s]), MRC_OK);
			for (size_t d = 0; d < sizeof(days) / sizeof(days[0]); d++) {
				uint64_t seconds = days[d] * 86400;
				uint64_t ns = mrc_clock_ns(&clock,
					starts[s] + (uint64_t)((mrc_u128)rates[r] * seconds));

				if ((mrc_u128)rates[r] * seconds > UINT64_MAX)
					continue;
				assert_in_range(ns + 1, seconds * SECOND, seconds * SECOND + 2);
			}
		}
}

static void random_pairs_agree_with_long_division(void **state)
{
	struct test_env te;

	test_env_init(&te, 0xC10C);
	for (uint32_t i = 0; i < 1000000; i++) {
		uint64_t hz = MRC_CLOCK_MIN_HZ +
			      test_random64(&te) % (MRC_CLOCK_MAX_HZ - MRC_CLOCK_MIN_HZ);
		uint64_t ticks = test_random64(&te) >> (test_random_below(&te, 20) + 1);
		mrc_u128 wide = (mrc_u128)ticks * SECOND / hz;
		uint64_t start = test_random64(&te);
		struct mrc_clock clock;
		uint64_t ns;

		/* Ten years are enough for anybody. */
		if (wide > 3650ull * 86400 * SECOND)
			continue;
		assert_int_equal(mrc_clock_init(&clock, hz, start), MRC_OK);
		ns = mrc_clock_ns(&clock, start + ticks);
		assert_in_range(ns + 1, (uint64_t)wide, (uint64_t)wide + 2);
	}
}

static void never_runs_backwards(void **state)
{
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct mrc_clock clock;
		uint64_t last = 0;

		assert_int_equal(mrc_clock_init(&clock, rates[r], 1ull << 62), MRC_OK);
		/* Around each power of two of ticks (228 years at 10 MHz), tick by tick. */
		for (uint32_t bit = 4; bit < 57; bit++)
			for (int64_t step = -8; step <= 8; step++) {
				uint64_t ns = mrc_clock_ns(
					&clock, (1ull << 62) + (1ull << bit) + (uint64_t)step);

				assert_true(ns >= last);
				last = ns;
			}
	}
}

static void absurd_frequencies_are_refused(void **state)
{
	static const uint64_t bad[] = {
		0, 1, MRC_CLOCK_MIN_HZ - 1, MRC_CLOCK_MAX_HZ + 1, UINT64_MAX};
	struct mrc_clock clock = {.mult = 42};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(mrc_clock_init(&clock, bad[i], 0), MRC_ERR_INVAL);
	assert_int_equal(clock.mult, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_after_years_from_any_start),
		cmocka_unit_test(random_pairs_agree_with_long_division),
		cmocka_unit_test(never_runs_backwards),
		cmocka_unit_test(absurd_frequencies_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
