/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random fabrics, traffic and faults: the counters balance at any moment, nothing is lost or made
 * up, and one seed gives one run.
 */
#include "fabric_kit.h"

enum {
	NB_RUNS = 40,
	NB_STEPS = 400
};

static struct kit kit;

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15u;
	return h ^ (h >> 32);
}

static void random_links(struct test_env *rnd, struct mrc_fabric_cfg *cfg)
{
	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++) {
		struct mrc_fabric_link_cfg *l = &cfg->links[c];

		l->rate_bps = test_random_below(rnd, 4) == 0
				      ? 0
				      : 1000000000ull * (1 + test_random_below(rnd, 400));
		l->delay_ns = test_random_below(rnd, 3) == 0 ? 0 : test_random_below(rnd, 5000);
		l->ecn_min_len = test_random_below(rnd, 5000);
		l->ecn_max_len = l->ecn_min_len + test_random_below(rnd, 10000);
		l->trim_len = test_random_below(rnd, 20000);
		l->drop_len = test_random_below(rnd, 40000);
		l->ctrl_len = test_random_below(rnd, 10000);
	}
}

static void random_cfg(struct test_env *rnd, struct mrc_fabric_cfg *cfg)
{
	uint32_t leaves = 1 + test_random_below(rnd, 4), spines;

	kit.v6 = test_random_below(rnd, 2) != 0;
	spines = 1 + test_random_below(rnd, 4);
	kit_cfg(&kit, cfg, leaves, spines, 1 + test_random_below(rnd, 4));
	cfg->nb_planes = 1 + test_random_below(rnd, 4);
	cfg->cut_through = test_random_below(rnd, 2) != 0;
	cfg->reroute = test_random_below(rnd, 2) != 0;
	cfg->overhead_len = (int32_t)test_random_below(rnd, 40) - 14;
	cfg->switch_ns = test_random_below(rnd, 500);
	cfg->forward = (enum mrc_fabric_forward)test_random_below(rnd, 3);
	cfg->trim_who = (enum mrc_fabric_trim_who)test_random_below(rnd, 3);
	cfg->trim_size = 128 + test_random_below(rnd, 385);
	cfg->max_packets = 64 + test_random_below(rnd, 1000);
	cfg->max_inbox = test_random_below(rnd, 20);
	cfg->seed = test_random64(rnd);
	random_links(rnd, cfg);
}

static void random_fault(struct test_env *rnd, const struct mrc_fabric_cfg *cfg, uint64_t now_ns)
{
	struct mrc_fabric_fault f = {.where = mrc_fabric_everywhere()};
	uint32_t handle;

	f.kind = (enum mrc_fabric_fault_kind)test_random_below(rnd, MRC_FABRIC_NB_FAULT_KINDS);
	f.where.classes = test_random_below(rnd, 16);
	if (test_random_below(rnd, 2) == 0)
		f.where.leaf = (int32_t)test_random_below(rnd, cfg->nb_leaves);
	if (test_random_below(rnd, 3) == 0)
		f.where.plane = (int32_t)test_random_below(rnd, cfg->nb_planes);
	f.start_ns = now_ns + test_random_below(rnd, 20000);
	f.end_ns = f.start_ns + 1 + test_random_below(rnd, 30000);
	f.rate = test_random_below(rnd, 3) == 0 ? 0 : test_random_below(rnd, 1000) / 1000.0;
	f.burst = test_random_below(rnd, 4);
	f.nth = test_random_below(rnd, 5);
	f.param = 1 + test_random_below(rnd, f.kind == MRC_FABRIC_DUPLICATE ? 4 : 3000);
	f.spread = 1 + test_random_below(rnd, 3000);
	f.offset = test_random_below(rnd, 200);
	(void)mrc_fabric_fault_add(kit.fabric, now_ns, &f, &handle);
}

static void random_packet(struct test_env *rnd, const struct mrc_fabric_cfg *cfg, uint64_t now_ns)
{
	static const uint8_t classes[] = {MRC_CLASS_NO_TRIM, MRC_CLASS_TRIMMABLE,
		MRC_CLASS_TRIMMABLE_RETX, MRC_CLASS_CONTROL};
	struct kit_pkt what = {0};
	struct mrc_fabric_pkt pkt;
	uint32_t plane;

	/* One statement each: compilers differ in the order within an initialiser. */
	what.src = test_random_below(rnd, kit.nb_hosts);
	what.dst = test_random_below(rnd, kit.nb_hosts + 1);
	what.ev = (uint32_t)test_random64(rnd);
	what.psn = test_random_below(rnd, 1000);
	what.payload_len = 4 * test_random_below(rnd, 400);
	what.cls = classes[test_random_below(rnd, 4)];
	plane = test_random_below(rnd, cfg->nb_planes);
	if (test_random_below(rnd, 4) == 0)
		what.virtual_len = test_random_below(rnd, 4096);
	pkt = kit_frame(&kit, &what);
	/* Now and then garbage, short or long. */
	if (test_random_below(rnd, 10) == 0) {
		pkt.len = pkt.wire_len = test_random_below(rnd, pkt.len);
		for (uint32_t i = 12; i < pkt.len; i++) {
			if (test_random_below(rnd, 8) == 0)
				pkt.data[i] = (uint8_t)test_random64(rnd);
		}
	}
	mrc_fabric_send(kit.fabric, now_ns, what.src, plane, &pkt);
}

static uint64_t read_some(uint64_t hash)
{
	struct mrc_fabric_pkt pkts[3];
	uint32_t host, plane, n;

	while (mrc_fabric_ready(kit.fabric, &host, &plane)) {
		n = mrc_fabric_recv(kit.fabric, host, plane, pkts, 3);
		for (uint32_t i = 0; i < n; i++) {
			hash = mix(mix(hash, host << 8 | plane), pkts[i].wire_len);
			for (uint32_t b = 0; b < pkts[i].len; b++)
				hash = mix(hash, pkts[i].data[b]);
			kit_free(&kit, &pkts[i]);
		}
	}
	return hash;
}

/* Returns a hash over every delivery: host, plane, time, bytes. */
static uint64_t run(uint64_t seed)
{
	struct mrc_fabric_cfg cfg;
	struct test_env rnd;
	uint64_t now_ns = 0, hash = 0;

	test_env_init(&rnd, seed);
	random_cfg(&rnd, &cfg);
	kit_create(&kit, &cfg);
	for (int step = 0; step < NB_STEPS; step++) {
		uint32_t n = test_random_below(&rnd, 6);

		if (test_random_below(&rnd, 30) == 0)
			random_fault(&rnd, &cfg, now_ns);
		for (uint32_t i = 0; i < n; i++)
			random_packet(&rnd, &cfg, now_ns);
		now_ns += test_random_below(&rnd, 2000);
		mrc_fabric_run(kit.fabric, now_ns, UINT32_MAX);
		kit_balance(&kit);
		if (test_random_below(&rnd, 3) != 0)
			hash = mix(read_some(hash), now_ns);
	}
	kit_done(&kit);
	return hash;
}

static void counters_balance_and_runs_repeat(void **state)
{
	struct test_env te;

	test_env_init(&te, 11);
	for (int i = 0; i < NB_RUNS; i++) {
		uint64_t seed = test_random64(&te) >> 1;

		assert_int_equal(run(seed), run(seed));
	}
}

/* The same hash from gcc and clang, at -O0 and at -O2. */
static void known_seed_gives_the_known_run(void **state)
{
	if (getenv("MRC_TEST_SEED") != NULL)
		skip();
	assert_int_equal(run(12345), 0x97368DD8A64712E1u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_balance_and_runs_repeat),
		cmocka_unit_test(known_seed_gives_the_known_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
