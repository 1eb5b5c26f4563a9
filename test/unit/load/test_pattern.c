/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sends to whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_err.h"
#include "mrc_pattern.h"
#include "test_env.h"

#define NONE MRC_PATTERN_NONE

static struct test_env te;
static struct mrc_pattern *pattern;
static struct mrc_pattern_flow flows[40000];

/* Generates everything and checks what holds for any pattern. */
static uint32_t generate(const struct mrc_pattern_cfg *cfg)
{
	uint64_t last = 0;
	uint32_t n = 0;

	test_env_init(&te, 21);
	assert_int_equal(mrc_pattern_create(cfg, &te.env, &pattern, NULL), MRC_OK);
	test_env_freeze(&te);
	while (mrc_pattern_next(pattern, &flows[n])) {
		struct mrc_pattern_flow *flow = &flows[n];

		assert_int_equal(flow->index, n);
		assert_true(flow->src < cfg->nb_hosts && flow->dst < cfg->nb_hosts);
		assert_int_not_equal(flow->src, flow->dst);
		assert_true(flow->bytes > 0);
		assert_true(flow->after == NONE || flow->after < n);
		if (flow->after == NONE) {
			assert_true(flow->start_ns >= last);
			last = flow->start_ns;
		}
		n++;
	}
	assert_int_equal(mrc_pattern_count(pattern), n);
	assert_false(mrc_pattern_next(pattern, &flows[n]));
	mrc_pattern_destroy(pattern);
	test_env_done(&te);
	return n;
}

static void permutations(void **state)
{
	struct mrc_pattern_cfg cfg = {
		.kind = MRC_PATTERN_SHIFT, .nb_hosts = 16, .bytes = 2 << 20, .start_ns = 77};
	uint32_t fixed[64] = {0};

	assert_int_equal(generate(&cfg), 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(flows[i].src, i);
		assert_int_equal(flows[i].dst, (i + 8) % 16);
		assert_int_equal(flows[i].start_ns, 77);
		assert_int_equal(flows[i].bytes, 2 << 20);
	}
	cfg.shift = 3;
	generate(&cfg);
	assert_int_equal(flows[15].dst, 2);
	cfg.kind = MRC_PATTERN_RANDOM;
	cfg.nb_hosts = 64;
	cfg.shift = 0;
	cfg.rounds = 3;
	cfg.round_ns = 1000;
	assert_int_equal(generate(&cfg), 3 * 64);
	for (uint32_t i = 0; i < 64; i++)
		fixed[flows[i].dst]++;
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(fixed[i], 1);
		assert_int_equal(flows[128 + i].dst, flows[i].dst);
		assert_int_equal(flows[128 + i].start_ns, 2077);
		assert_int_equal(flows[128 + i].round, 2);
	}
	for (uint32_t n = 2; n < 10; n++) {
		cfg.nb_hosts = n;
		generate(&cfg);
	}
}

static void incast_with_victim_and_background(void **state)
{
	struct mrc_pattern_cfg cfg = {
		.kind = MRC_PATTERN_INCAST,
		.nb_hosts = 16,
		.first = 5,
		.second = 3,
		.fan_in = 7,
		.bytes = 1000,
		.victim = true,
		.victim_src = 15,
		.victim_dst = 6,
		.victim_bytes = 5000,
		.background = true,
		.background_src = 1,
		.background_dst = 2,
		.background_bytes = 9000,
		.rounds = 2,
		.round_wait = true,
		.round_ns = 50,
	};
	static const uint32_t sources[] = {3, 4, 6, 7, 8, 9, 10};

	assert_int_equal(generate(&cfg), 2 + 14);
	assert_int_equal(flows[0].cls, MRC_PATTERN_VICTIM);
	assert_int_equal(flows[0].src, 15);
	assert_int_equal(flows[1].cls, MRC_PATTERN_BACKGROUND);
	assert_int_equal(flows[1].bytes, 9000);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(flows[2 + i].src, sources[i]);
		assert_int_equal(flows[2 + i].dst, 5);
		assert_int_equal(flows[2 + i].after, NONE);
		assert_int_equal(flows[9 + i].after, 2 + i);
		assert_int_equal(flows[9 + i].start_ns, 50);
	}
	cfg.second = 5;
	cfg.fan_in = 15;
	generate(&cfg);
	assert_int_equal(flows[2].src, 6);
	assert_int_equal(flows[16].src, 4);
}

static void ring_pair_and_all_to_all(void **state)
{
	struct mrc_pattern_cfg cfg = {.kind = MRC_PATTERN_RING, .nb_hosts = 5, .bytes = 10};
	uint32_t seen[5][5] = {{0}}, n;

	assert_int_equal(generate(&cfg), 5);
	assert_int_equal(flows[4].dst, 0);
	cfg.kind = MRC_PATTERN_ALL_TO_ALL;
	assert_int_equal(generate(&cfg), 20);
	for (uint32_t i = 0; i < 20; i++)
		seen[flows[i].src][flows[i].dst]++;
	for (uint32_t i = 0; i < 25; i++)
		assert_int_equal(seen[i / 5][i % 5], i / 5 != i % 5);
	assert_int_equal(flows[0].dst, 1);
	assert_int_equal(flows[5].dst, 2);
	cfg.kind = MRC_PATTERN_ALTERNATE;
	cfg.rounds = 3;
	n = generate(&cfg);
	assert_int_equal(n, 20 + 5 + 20);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = i % 25, step = place < 20 ? 1 + place / 5 : 1;

		assert_int_equal(flows[i].src, place % 5);
		assert_int_equal(flows[i].dst, (place + step) % 5);
		assert_int_equal(flows[i].bytes, place < 20 ? 10 : 40);
		assert_int_equal(flows[i].round, 2 * (i / 25) + (place >= 20));
		assert_int_equal(flows[i].after, NONE);
	}
	cfg.rounds = 0;
	cfg.kind = MRC_PATTERN_PAIR;
	cfg.first = 4;
	cfg.second = 1;
	cfg.rounds = 10;
	assert_int_equal(generate(&cfg), 10);
	assert_int_equal(flows[9].src, 4);
	assert_int_equal(flows[9].dst, 1);
}

/* Runs the flows on paper: every host must end with every part summed over all hosts, using only
 * parts that it has when the flow may begin. */
static void all_reduce(void **state)
{
	enum {
		HOSTS = 7
	};
	struct mrc_pattern_cfg cfg = {
		.kind = MRC_PATTERN_ALL_REDUCE, .nb_hosts = HOSTS, .bytes = 1003, .rounds = 2};
	uint32_t per_round = HOSTS * 2 * (HOSTS - 1);
	uint64_t sent[HOSTS] = {0};

	assert_int_equal(generate(&cfg), 2 * per_round);
	for (uint32_t i = 0; i < 2 * per_round; i++) {
		sent[flows[i].src] += flows[i].bytes;
		assert_in_range(flows[i].bytes, 143, 144);
		assert_int_equal(flows[i].dst, (flows[i].src + 1) % HOSTS);
		if (i < HOSTS) {
			assert_int_equal(flows[i].after, NONE);
			continue;
		}
		/* It passes on what it received in the step before. */
		assert_int_equal(flows[flows[i].after].dst, flows[i].src);
		assert_int_equal(flows[i].after / HOSTS, i / HOSTS - 1);
		if (i % per_round >= HOSTS)
			assert_int_equal(flows[flows[i].after].bytes, flows[i].bytes);
	}
	for (uint32_t h = 0; h < HOSTS; h++)
		assert_in_range(sent[h], 2 * 2 * (HOSTS - 1) * 143, 2 * 2 * (HOSTS - 1) * 144);
}

static void poisson(void **state)
{
	static const struct mrc_dist sizes = {
		.nb_points = 3, .points = {{1000, 0.5}, {10000, 0.9}, {100000, 1}}};
	struct mrc_pattern_cfg cfg = {
		.kind = MRC_PATTERN_ALL_TO_ALL,
		.arrival = MRC_PATTERN_POISSON,
		.nb_hosts = 8,
		.sizes = &sizes,
		.rate_bps = 100e9,
		.rounds = 500,
	};
	uint32_t n = generate(&cfg), pairs[8][8] = {{0}};
	double bytes = 0, gaps2 = 0, mean = (double)flows[n - 1].start_ns / n;

	for (uint32_t i = 0; i < n; i++) {
		double gap = (double)(flows[i].start_ns - (i ? flows[i - 1].start_ns : 0));

		bytes += (double)flows[i].bytes;
		gaps2 += gap * gap;
		pairs[flows[i].src][flows[i].dst]++;
	}
	assert_int_equal(n, 500 * 56);
	assert_true(fabs(bytes * 8e9 / (double)flows[n - 1].start_ns / 100e9 - 1) < 0.05);
	/* Exponential: the second moment is twice the square of the first. */
	assert_true(fabs(gaps2 / n / (mean * mean) / 2 - 1) < 0.1);
	for (uint32_t i = 0; i < 64; i++) {
		if (i / 8 != i % 8)
			assert_in_range(pairs[i / 8][i % 8], 400, 600);
	}
}

static void list(void **state)
{
	static const struct mrc_pattern_flow given[] = {
		{.start_ns = 5, .bytes = 10, .src = 0, .dst = 1},
		{.start_ns = 5, .bytes = 20, .src = 2, .dst = 1, .cls = MRC_PATTERN_BACKGROUND},
		{.start_ns = 9, .bytes = 30, .src = 1, .dst = 0},
	};
	struct mrc_pattern_cfg cfg = {.kind = MRC_PATTERN_LIST,
		.nb_hosts = 3,
		.list = given,
		.nb_list = 3,
		.start_ns = 100};

	assert_int_equal(generate(&cfg), 3);
	assert_int_equal(flows[1].start_ns, 105);
	assert_int_equal(flows[1].bytes, 20);
	assert_int_equal(flows[1].cls, MRC_PATTERN_BACKGROUND);
	assert_int_equal(flows[2].after, NONE);
	assert_int_equal(flows[2].dst, 0);
}

static void refused(void **state)
{
	static const struct mrc_pattern_flow bad_order[] = {
		{.start_ns = 6, .bytes = 10, .src = 0, .dst = 1},
		{.start_ns = 5, .bytes = 20, .src = 2, .dst = 1}};
	const struct mrc_dist bad_dist = {0};
	const char *key;

	test_env_init(&te, 22);
#define REFUSED(name, ...)                                                                         \
	do {                                                                                       \
		struct mrc_pattern_cfg cfg = {.nb_hosts = 4, .bytes = 1000, __VA_ARGS__};          \
		key = NULL;                                                                        \
		assert_int_equal(                                                                  \
			mrc_pattern_create(&cfg, &te.env, &pattern, &key), MRC_ERR_INVAL);         \
		assert_string_equal(key, name);                                                    \
	} while (0)
	REFUSED("second", .kind = MRC_PATTERN_PAIR);
	REFUSED("first", .kind = MRC_PATTERN_PAIR, .first = 4);
	REFUSED("shift", .kind = MRC_PATTERN_SHIFT, .shift = 4);
	REFUSED("fan_in", .kind = MRC_PATTERN_INCAST);
	REFUSED("fan_in", .kind = MRC_PATTERN_INCAST, .fan_in = 4);
	REFUSED("second", .kind = MRC_PATTERN_INCAST, .fan_in = 3, .second = 4);
	REFUSED("victim", .kind = MRC_PATTERN_RING, .victim = true);
	REFUSED("background", .kind = MRC_PATTERN_RING, .background = true, .background_dst = 1);
	REFUSED("arrival", .kind = MRC_PATTERN_ALL_REDUCE, .arrival = MRC_PATTERN_POISSON);
	REFUSED("rate_bps", .kind = MRC_PATTERN_RING, .arrival = MRC_PATTERN_POISSON);
	REFUSED("rate_bps", .kind = MRC_PATTERN_RING, .arrival = MRC_PATTERN_POISSON,
		.rate_bps = NAN);
	REFUSED("sizes", .kind = MRC_PATTERN_RING, .sizes = &bad_dist);
	REFUSED("list", .kind = MRC_PATTERN_LIST);
	REFUSED("list", .kind = MRC_PATTERN_LIST, .list = bad_order, .nb_list = 2);
	REFUSED("rounds", .kind = MRC_PATTERN_LIST, .list = bad_order, .nb_list = 1, .rounds = 2);
#undef REFUSED
	{
		struct mrc_pattern_cfg cfg = {.kind = MRC_PATTERN_RING, .nb_hosts = 1, .bytes = 1};

		assert_int_equal(mrc_pattern_create(&cfg, &te.env, &pattern, &key), MRC_ERR_INVAL);
		assert_string_equal(key, "nb_hosts");
		cfg.nb_hosts = 4;
		cfg.kind = MRC_PATTERN_ALL_REDUCE;
		assert_int_equal(mrc_pattern_create(&cfg, &te.env, &pattern, &key), MRC_ERR_INVAL);
		assert_string_equal(key, "bytes");
		cfg.bytes = 4;
		te.fail_after = 0;
		assert_int_equal(mrc_pattern_create(&cfg, &te.env, &pattern, &key), MRC_ERR_NOMEM);
	}
	test_env_done(&te);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutations),
		cmocka_unit_test(incast_with_victim_and_background),
		cmocka_unit_test(ring_pair_and_all_to_all),
		cmocka_unit_test(all_reduce),
		cmocka_unit_test(poisson),
		cmocka_unit_test(list),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
