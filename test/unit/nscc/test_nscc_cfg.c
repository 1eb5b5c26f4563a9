/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of the congestion window: defaults from the network's size, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>

#include <cmocka.h>

#include "mrc_nscc.h"

#define M 4096u

static struct mrc_nscc_cfg cfg;

static void network(double gbps, uint32_t rtt_ns, bool trimming)
{
	mrc_nscc_cfg_default(&cfg, (uint64_t)(gbps * 1e9), rtt_ns, M, trimming);
	assert_int_equal(mrc_nscc_cfg_check(&cfg, NULL), MRC_OK);
}

static void defaults(void **state)
{
	network(100, 12000, true);
	assert_int_equal(cfg.target_delay_ns, 9000);
	assert_int_equal(cfg.max_cwnd, 225000);
	assert_int_equal(cfg.qa_threshold_ns, UINT32_MAX);
	assert_true(fabs(cfg.alpha - 1.365333) < 1e-6);
	assert_true(fabs(cfg.fi - 20480) < 1e-6);
	assert_true(fabs(cfg.eta - 614.4) < 1e-6);
	assert_true(fabs(cfg.fi_scale - 0.25) < 1e-12);
	network(100, 12000, false);
	assert_int_equal(cfg.target_delay_ns, 12000);
	assert_int_equal(cfg.qa_threshold_ns, 48000);
	network(800, 8000, true);
	assert_int_equal(cfg.max_cwnd, 1200000);
	assert_true(fabs(cfg.alpha - 7.281778) < 1e-6);
	assert_true(fabs(cfg.fi - 109226.7) < 0.1);
	/* Slow, empty, long and huge networks still give parameters in range. */
	for (double gbps = 0; gbps < 4000; gbps = gbps * 3 + 0.001) {
		for (uint32_t rtt = 500; rtt <= 1000000;
			rtt = rtt < 700000 ? rtt * 7 / 5 : rtt + 250000) {
			network(gbps, rtt, true);
			network(gbps, rtt, false);
		}
	}
}

static void parameter_ranges(void **state)
{
	const char *key;

#define REFUSED(name, change)                                                                      \
	do {                                                                                       \
		network(100, 12000, true);                                                         \
		change;                                                                            \
		key = NULL;                                                                        \
		assert_int_equal(mrc_nscc_cfg_check(&cfg, &key), MRC_ERR_INVAL);                   \
		assert_string_equal(key, name);                                                    \
		assert_int_equal(mrc_nscc_cfg_check(&cfg, NULL), MRC_ERR_INVAL);                   \
	} while (0)
	static const double bad[] = {NAN, INFINITY, -INFINITY, -1, 1e30};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REFUSED("eta", cfg.eta = bad[i]);
		REFUSED("fi", cfg.fi = bad[i]);
		REFUSED("fi_scale", cfg.fi_scale = bad[i]);
		REFUSED("gamma", cfg.gamma = bad[i]);
		REFUSED("max_md_jump", cfg.max_md_jump = bad[i]);
		REFUSED("alpha", cfg.alpha = bad[i]);
	}
	REFUSED("gamma", cfg.gamma = 0);
	REFUSED("gamma", cfg.gamma = 1.01);
	REFUSED("max_md_jump", cfg.max_md_jump = 0.04);
	REFUSED("max_md_jump", cfg.max_md_jump = 0.96);
	REFUSED("fi", cfg.fi = M - 1);
	REFUSED("fi", cfg.fi = 40.1 * M);
	REFUSED("fi_scale", cfg.fi_scale = 2.01);
	REFUSED("eta", cfg.eta = M + 1);
	REFUSED("qa_gate", cfg.qa_gate = 8);
	REFUSED("qa_threshold", cfg.qa_threshold_ns = 8999);
	REFUSED("target_delay", cfg.target_delay_ns = 127);
	REFUSED("target_delay", cfg.target_delay_ns = 48001);
	REFUSED("adjust_bytes_threshold", cfg.adjust_bytes_threshold = M - 1);
	REFUSED("adjust_bytes_threshold", cfg.adjust_bytes_threshold = 75001);
	REFUSED("adjust_period_threshold", cfg.adjust_period_ns = 2999);
	REFUSED("adjust_period_threshold", cfg.adjust_period_ns = 96001);
	REFUSED("base_rtt", cfg.base_rtt_ns = 499);
	REFUSED("base_rtt", cfg.base_rtt_ns = 1000001);
	REFUSED("max_cwnd", cfg.max_cwnd = M - 1);
	REFUSED("max_cwnd", cfg.max_cwnd = 128 * 255 * M + 1);
	REFUSED("mtu", cfg.mtu = 255);
	REFUSED("algorithm", cfg.algorithm = (enum mrc_nscc_algorithm)7);
#undef REFUSED
}

/* The last value of each range is inside it. */
static void ends_of_ranges(void **state)
{
	const char *key = NULL;

#define TAKEN(change)                                                                              \
	do {                                                                                       \
		network(100, 12000, true);                                                         \
		change;                                                                            \
		if (mrc_nscc_cfg_check(&cfg, &key) != MRC_OK)                                      \
			fail_msg("%s: %s", #change, key);                                          \
	} while (0)
	TAKEN(cfg.qa_gate = 0);
	TAKEN(cfg.qa_gate = 7);
	TAKEN(cfg.qa_threshold_ns = 9000);
	TAKEN(cfg.target_delay_ns = 128);
	TAKEN(cfg.target_delay_ns = 48000);
	TAKEN(cfg.adjust_bytes_threshold = M);
	TAKEN(cfg.adjust_bytes_threshold = 75000);
	TAKEN(cfg.adjust_period_ns = 3000);
	TAKEN(cfg.adjust_period_ns = 96000);
	TAKEN(cfg.max_cwnd = M);
	TAKEN(cfg.max_cwnd = 128 * 255 * M);
	TAKEN(cfg.eta = 0);
	TAKEN(cfg.eta = M);
	TAKEN(cfg.gamma = 1);
	TAKEN(cfg.max_md_jump = 0.05);
	TAKEN(cfg.max_md_jump = 0.95);
	TAKEN(cfg.fi_scale = 0);
	TAKEN(cfg.fi_scale = 2);
	TAKEN(cfg.fi = 40.0 * M);
#undef TAKEN
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(parameter_ranges),
		cmocka_unit_test(ends_of_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
