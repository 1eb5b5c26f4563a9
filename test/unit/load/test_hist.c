/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram, the size distribution and the byte pattern: the small tools of a load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_load.h"
#include "test_env.h"

static struct test_env te;
static struct mrc_hist hist, other;

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Quantiles against a sorted list, over many magnitudes. */
static void hist_quantiles(void **state)
{
	enum {
		N = 20000
	};
	static uint64_t values[N];
	static const double parts[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1};

	test_env_init(&te, 11);
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(mrc_hist_quantile(&hist, 0.5), 0);
	for (int i = 0; i < N; i++) {
		values[i] = test_random64(&te) >> (test_random_below(&te, 60));
		mrc_hist_add(&hist, values[i]);
	}
	qsort(values, N, sizeof(values[0]), compare_u64);
	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		double at = ceil(parts[p] * N);
		uint64_t exact = values[at < 1 ? 0 : (int)at - 1];
		uint64_t got = mrc_hist_quantile(&hist, parts[p]);

		assert_true(got >= exact && (double)got <= (double)exact * (1 + 1.0 / 64));
	}
	assert_int_equal(hist.min, values[0]);
	assert_int_equal(hist.max, values[N - 1]);
	assert_int_equal(hist.count, N);
}

static void hist_edges(void **state)
{
	memset(&hist, 0, sizeof(hist));
	memset(&other, 0, sizeof(other));
	mrc_hist_merge(&hist, &other);
	assert_int_equal(hist.count, 0);
	mrc_hist_add(&other, 0);
	mrc_hist_add(&other, UINT64_MAX);
	mrc_hist_add(&other, 127);
	mrc_hist_add(&other, 128);
	mrc_hist_merge(&hist, &other);
	mrc_hist_merge(&hist, &other);
	assert_int_equal(hist.count, 8);
	assert_int_equal(mrc_hist_quantile(&hist, 0), 0);
	assert_int_equal(mrc_hist_quantile(&hist, 0.5), 127);
	assert_int_equal(mrc_hist_quantile(&hist, 0.75), 129); /* 128 and 129 share a step */
	assert_true(mrc_hist_quantile(&hist, 1) == UINT64_MAX);
	memset(&hist, 0, sizeof(hist));
	mrc_hist_add(&hist, 1000);
	mrc_hist_add(&hist, 3000);
	assert_true(mrc_hist_mean(&hist) == 2000);
	assert_int_equal(mrc_hist_quantile(&hist, 0.9), 3000);
}

static void dist_samples(void **state)
{
	struct mrc_dist dist = {
		.nb_points = 4, .points = {{100, 0.25}, {1000, 0.5}, {5000, 0.5}, {9000, 1.0}}};
	double sum = 0;
	uint32_t small = 0, gap = 0;

	test_env_init(&te, 12);
	assert_int_equal(mrc_dist_check(&dist), MRC_OK);
	assert_int_equal(mrc_dist_sample(&dist, 0), 100);
	assert_in_range(mrc_dist_sample(&dist, UINT64_MAX), 8999, 9000);
	for (int i = 0; i < 100000; i++) {
		uint64_t size = mrc_dist_sample(&dist, test_random64(&te));

		assert_in_range(size, 100, 9000);
		small += size == 100;
		gap += size > 1000 && size < 5000;
		sum += (double)size;
	}
	assert_in_range(small, 24000, 26200);
	assert_int_equal(gap, 0);
	assert_true(fabs(sum / 100000 / mrc_dist_mean(&dist) - 1) < 0.02);
	assert_int_equal(mrc_dist_max(&dist), 9000);
}

static void dist_refused(void **state)
{
	const struct mrc_dist good = {.nb_points = 2, .points = {{100, 0.25}, {1000, 1}}};
	struct mrc_dist dist = good;

	dist.nb_points = 0;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
	dist.nb_points = MRC_DIST_MAX_POINTS + 1;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
	dist = good;
	dist.points[1].share = 0.9;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
	dist.points[1].share = NAN;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
	dist = good;
	dist.points[1].size = 99;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
	dist = good;
	dist.points[0].share = -0.1;
	assert_int_equal(mrc_dist_check(&dist), MRC_ERR_INVAL);
}

static void pattern_single_bytes(void **state)
{
	enum {
		LEN = 4096 + 40
	};
	static uint8_t buf[LEN + 8];
	static const uint32_t where[] = {0, 1, 7, 127, 128, 2000, LEN - 33, LEN - 1};
	uint64_t first;

	mrc_load_pattern_fill(99, buf, LEN);
	for (uint32_t i = 0; i < LEN; i += 13)
		assert_int_equal(buf[i], mrc_load_pattern_byte(99, i));
	for (uint32_t len = 0; len <= LEN; len += len < 300 ? 1 : 511)
		assert_int_equal(mrc_load_pattern_diff(99, 0, buf, len, NULL), 0);
	assert_int_equal(mrc_load_pattern_diff(99, 64, buf + 64, LEN - 64, NULL), 0);
	assert_int_equal(mrc_load_pattern_diff(99, 1000, buf + 1000, 133, NULL), 0);
	for (size_t w = 0; w < sizeof(where) / sizeof(where[0]); w++) {
		for (int bit = 0; bit < 8; bit++) {
			buf[where[w]] ^= (uint8_t)(1 << bit);
			assert_int_equal(mrc_load_pattern_diff(99, 0, buf, LEN, &first), 1);
			assert_int_equal(first, where[w]);
			buf[where[w]] ^= (uint8_t)(1 << bit);
		}
	}
	buf[100] ^= 1;
	buf[3000] ^= 0xFF;
	assert_int_equal(mrc_load_pattern_diff(99, 0, buf, LEN, &first), 2);
	assert_int_equal(first, 100);
}

/* Another seed, another place, another message: nearly every byte differs. */
static void pattern_windows_differ(void **state)
{
	enum {
		LEN = 8192 + MRC_LOAD_PATTERN_SLACK
	};
	static uint8_t buf[LEN];

	mrc_load_pattern_fill(1, buf, LEN);
	assert_true(mrc_load_pattern_diff(2, 0, buf, 8192, NULL) > 8000);
	for (uint32_t g = 0; g < 300; g++) {
		uint32_t mine = mrc_load_pattern_at(3, 1000);
		uint32_t yours = mrc_load_pattern_at(3, 1001 + g);

		assert_int_not_equal(mine, yours);
		assert_true(mrc_load_pattern_diff(1, yours, buf + mine, 8192, NULL) > 4000);
		assert_true(yours % 64 == 0 && yours < MRC_LOAD_PATTERN_SLACK);
		assert_int_not_equal(mine, mrc_load_pattern_at(4 + g, 1000));
	}
	assert_true(mrc_load_pattern_diff(1, 8, buf, 8192, NULL) > 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hist_quantiles),
		cmocka_unit_test(hist_edges),
		cmocka_unit_test(dist_samples),
		cmocka_unit_test(dist_refused),
		cmocka_unit_test(pattern_single_bytes),
		cmocka_unit_test(pattern_windows_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
