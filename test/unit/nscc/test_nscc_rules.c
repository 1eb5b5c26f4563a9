/* SPDX-License-Identifier: BSD-2-Clause */
/* The decision table of the congestion window, row by row and at the very edge of each row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mrc_nscc.h"

enum {
	M = 4096,
	RTT = 12000,
	TARGET = 9000, /* of 100 Gb/s, 12 us, trimming */
	START = 100000,
};

static struct mrc_nscc_cfg cfg;
static struct mrc_nscc cc;

/* In the middle of its life, quick adapt out of the way, delays near `average` so far. */
static void begin(uint64_t average_ns)
{
	mrc_nscc_cfg_default(&cfg, UINT64_C(100000000000), RTT, M, true);
	assert_int_equal(mrc_nscc_cfg_check(&cfg, NULL), MRC_OK);
	assert_int_equal(cfg.target_delay_ns, TARGET);
	mrc_nscc_init(&cc, &cfg, 100000);
	cc.t_dec = 0;
	cc.qa_end = 1000000;
	cc.cwnd = START;
	cc.avg_delay = (double)average_ns;
}

/* Nine packets are acknowledged at once, more than it takes to adjust; what the window gains. */
static int64_t gain(bool marked, uint64_t delay_ns)
{
	struct mrc_nscc_sack sack = {.rcvd_units = (cc.rcvd_units + 9 * M / 256) & 0xFFFFFF,
		.marked = marked,
		.rtt_ns = cc.base_rtt + delay_ns};

	assert_int_equal(mrc_nscc_on_sack(&cc, 100000, &sack), 9 * M);
	return (int64_t)mrc_nscc_cwnd(&cc) - START;
}

static int64_t gain_from(uint64_t average_ns, bool marked, uint64_t delay_ns)
{
	begin(average_ns);
	return gain(marked, delay_ns);
}

/*
 * Not marked: below the target the window grows by what is left to the target, from the target on
 * by the fair share whatever the delay. Marked: below the target it is left alone, so that the
 * paths are balanced first; from the target on it shrinks, by how far the average is above it.
 */
/* spec */
static void mark_and_delay_decide(void **state)
{
	int64_t fair = gain_from(TARGET, false, TARGET);

	/* alpha x bytes x ns to the target / window */
	assert_in_range(gain_from(0, false, 3000), 3017, 3021);
	assert_in_range(gain_from(0, false, 6000), 1507, 1511);
	assert_int_equal(gain_from(0, false, TARGET - 1), 0);
	/* fi x bytes / window */
	assert_in_range(fair, 7547, 7551);
	assert_int_equal(gain_from(TARGET, false, TARGET + 1), fair);
	assert_int_equal(gain_from(TARGET, false, 20 * TARGET), fair);
	assert_int_equal(gain_from(2 * TARGET, true, 0), 0);
	assert_int_equal(gain_from(2 * TARGET, true, TARGET - 1), 0);
	/* gamma 0.8 x (18 - 9) / 18, the average being met */
	assert_in_range(
		-gain_from(2 * TARGET, true, 2 * TARGET), START * 4 / 10 - 2, START * 4 / 10 + 2);
	assert_true(gain_from(2 * TARGET, true, TARGET) < -30000);
	/* One bad sample is no queue: the average decides by how much. */
	assert_int_equal(gain_from(0, true, 2 * TARGET), 0);
}

/* Almost no delay and no mark for a whole window: it grows by a quarter of what arrives at once,
 * and stops at the first delay. */
/* spec */
static void empty_network_is_filled_fast(void **state)
{
	int64_t was = START;

	begin(0);
	cc.fi_count = START - 9 * M;
	assert_true(gain(false, 999) < 9 * M / 4 + 9 * M); /* not yet: exactly a window */
	assert_false(cc.fast);
	was = mrc_nscc_cwnd(&cc);
	cc.fi_count = was;
	assert_int_equal(gain(false, 999) + START - was, 9 * M / 4);
	assert_true(cc.fast);
	assert_true(gain(false, 1000) != 0);
	assert_false(cc.fast);
	assert_int_equal(cc.fi_count, 0);
}

/* "Never" means that no delay makes quick adapt act, even one of seconds. */
static void never_is_longer_than_any_delay(void **state)
{
	static const uint64_t delays_ns[] = {UINT64_C(1000000000), UINT64_C(5000000000)};

	for (int i = 0; i < 2; i++) {
		begin(0);
		assert_int_equal(cfg.qa_threshold_ns, UINT32_MAX);
		cc.inflight = START;
		cc.qa_end = 99000;
		cc.achieved = -9 * M; /* nothing, with what is acknowledged now */
		assert_true(gain(false, delays_ns[i]) >= 0);
	}
	begin(0);
	cfg.qa_threshold_ns = 48000;
	cc.inflight = START;
	cc.qa_end = 99000;
	cc.achieved = -9 * M;
	assert_true(gain(false, 48001) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mark_and_delay_decide),
		cmocka_unit_test(empty_network_is_filled_fast),
		cmocka_unit_test(never_is_longer_than_any_delay),
	};

	return cmocka_run_group_tests_name("nscc rules", tests, NULL, NULL);
}
