/* SPDX-License-Identifier: BSD-2-Clause */
/* What an endpoint derives from its configuration for its engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "endpoint_private.h"

/* Each packet of the line rate may be answered once, within what an engine takes. */
static void nacks_follow_rate_and_path_mtu(void **state)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t pmtu, want;
	} rows[] = {
		{1000000, 256, 1},
		{1000000, 4096, 1},
		{2047999999, 256, 1}, /* one packet of 256 bytes takes a microsecond and a bit */
		{2048000000, 256, 2},
		{40000000000, 4096, 2},
		{40000000000, 1024, 5},
		{100000000000, 4096, 4},
		{400000000000, 4096, 13},
		{800000000000, 4096, 25},
		{800000000000, 256, 391},
		{2045952000000, 256, 1000},
		{2048000000000, 256, 1000}, /* 1001 in full */
		{100000000000000, 256, 1000},
	};
	struct mrc_cfg *cfg = calloc(1, sizeof(*cfg));

	assert_non_null(cfg);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cfg->cc.rate_bps = rows[i].rate_bps;
		cfg->pmtu = rows[i].pmtu;
		assert_int_equal(mrc_endpoint_nacks_per_us(cfg), rows[i].want);
	}
	free(cfg);
}

/* Every result is one that an engine can be made with. */
static void engines_take_every_result(void **state)
{
	struct mrc_cfg *cfg = calloc(1, sizeof(*cfg));

	assert_non_null(cfg);
	for (cfg->pmtu = 256; cfg->pmtu <= 4096; cfg->pmtu *= 2)
		for (cfg->cc.rate_bps = 1000000; cfg->cc.rate_bps <= 100000000000000;
			cfg->cc.rate_bps = cfg->cc.rate_bps * 3 / 2)
			assert_in_range(mrc_endpoint_nacks_per_us(cfg), 1, 1000);
	free(cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nacks_follow_rate_and_path_mtu),
		cmocka_unit_test(engines_take_every_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
