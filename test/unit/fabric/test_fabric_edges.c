/* SPDX-License-Identifier: BSD-2-Clause */
/* Edges of the fabric's books: more faults than a word has bits, faults that end half way, what is
 * told of which port, and what is due next. */
#include "fabric_kit.h"

static struct kit kit;
static struct mrc_fabric_cfg cfg;

enum {
	NB_FAULTS = 130,
};

static int setup(void **state)
{
	kit.v6 = false;
	kit_cfg(&kit, &cfg, 2, 2, 2);
	cfg.nb_planes = 2;
	cfg.max_faults = NB_FAULTS + 1;
	return 0;
}

static struct mrc_fabric_fault on_uplink(enum mrc_fabric_fault_kind kind, int32_t host)
{
	struct mrc_fabric_fault fault = {.kind = kind, .where = mrc_fabric_everywhere()};

	fault.where.classes = 1u << MRC_FABRIC_HOST_UP;
	fault.where.host = host;
	fault.where.plane = 1;
	return fault;
}

static uint32_t add(const struct mrc_fabric_fault *fault, uint64_t now_ns)
{
	uint32_t handle;

	assert_int_equal(mrc_fabric_fault_add(kit.fabric, now_ns, fault, &handle), MRC_OK);
	return handle;
}

/* One packet of each host on each plane; how many of them arrive. */
static uint32_t arrivals(uint64_t now_ns)
{
	kit_run(&kit, now_ns);
	for (uint32_t host = 0; host < 4; host++)
		for (uint32_t plane = 0; plane < 2; plane++)
			kit_send(&kit, now_ns, plane,
				&(struct kit_pkt){.src = host, .dst = (host + 1) % 4});
	return kit_drain(&kit);
}

/* Each of 130 faults acts on its own link and on no other, and is gone when it is removed, whatever
 * its number is; another one of the same link stays. */
static void many_faults(void **state)
{
	uint32_t handles[NB_FAULTS];
	struct mrc_fabric_fault fault;
	struct mrc_fabric_fault_info info;
	uint64_t now_ns = 0;

	kit_create(&kit, &cfg);
	/* They take places and let everything pass. */
	fault = on_uplink(MRC_FABRIC_MTU, 0);
	fault.param = 65535;
	for (uint32_t i = 0; i < NB_FAULTS; i++)
		handles[i] = add(&fault, 0);
	fault = on_uplink(MRC_FABRIC_DISCARD, 3); /* the last place: it acts last */
	add(&fault, 0);
	for (uint32_t i = 0; i < NB_FAULTS; i++) {
		assert_int_equal(mrc_fabric_fault_remove(kit.fabric, now_ns, handles[i]), MRC_OK);
		fault = on_uplink(MRC_FABRIC_LOSS, (int32_t)(i % 4));
		handles[i] = add(&fault, now_ns);
		assert_int_equal(arrivals(now_ns += 100000), i % 4 == 3 ? 7 : 6);
		assert_int_equal(mrc_fabric_fault_query(kit.fabric, handles[i], &info), MRC_OK);
		assert_int_equal(info.hits, 1);
		assert_int_equal(mrc_fabric_fault_remove(kit.fabric, now_ns, handles[i]), MRC_OK);
		assert_int_equal(arrivals(now_ns += 100000), 7);
		fault = on_uplink(MRC_FABRIC_MTU, 0);
		fault.param = 65535;
		handles[i] = add(&fault, now_ns);
	}
	kit_done(&kit);
}

/* The slowest of many counts, wherever it stands. */
static void slowest_of_many_rates(void **state)
{
	struct mrc_fabric_fault fault;
	uint32_t slow = 0;

	kit_create(&kit, &cfg);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t handle;

		fault = on_uplink(MRC_FABRIC_RATE, i < 90 ? 1 : 0);
		fault.param = i == 95 ? 1000000000u : 50000000000u + i;
		handle = add(&fault, 0);
		slow = i == 95 ? handle : slow;
	}
	/* 98 bytes at 1 Gb/s: 784 ns; at 50 Gb/s 16. */
	kit_send(&kit, 0, 1, &(struct kit_pkt){.src = 0, .dst = 1});
	assert_true(mrc_fabric_port_free_ns(kit.fabric, 0, 0, 1) > 400);
	kit_drain(&kit);
	assert_int_equal(mrc_fabric_fault_remove(kit.fabric, 100000, slow), MRC_OK);
	kit_run(&kit, 100000);
	kit_send(&kit, 100000, 1, &(struct kit_pkt){.src = 0, .dst = 1});
	assert_true(mrc_fabric_port_free_ns(kit.fabric, 100000, 0, 1) < 100100);
	kit_drain(&kit);
	kit_done(&kit);
}

/* A flapping link whose fault ends while it is down comes up; one that was up stays up, and what
 * else holds it down still does. */
static void flap_ends_in_either_phase(void **state)
{
	for (uint64_t end_ns = 6000; end_ns <= 9000; end_ns += 1500)
		for (int held = 0; held < 2; held++) {
			struct mrc_fabric_fault fault;

			setup(NULL);
			kit_create(&kit, &cfg);
			fault = on_uplink(MRC_FABRIC_FLAP, 2);
			fault.start_ns = 1000;
			fault.param = 2000;
			fault.spread = 3000; /* down 1000 - 3000, 6000 - 8000 */
			fault.end_ns = end_ns;
			add(&fault, 0);
			if (held) {
				fault = on_uplink(MRC_FABRIC_CARRIER, 2);
				fault.start_ns = 500;
				fault.end_ns = 20000;
				add(&fault, 0);
			}
			kit_run(&kit, 7000);
			assert_int_equal(
				mrc_fabric_host_carrier(kit.fabric, 2, 1), !held && end_ns == 6000);
			kit_run(&kit, 19000);
			assert_int_equal(mrc_fabric_host_carrier(kit.fabric, 2, 1), !held);
			kit_run(&kit, 21000);
			assert_true(mrc_fabric_host_carrier(kit.fabric, 2, 1));
			kit_done(&kit);
		}
}

/* The word that a carrier changed names host and plane. */
static void carrier_names_its_port(void **state)
{
	struct mrc_fabric_fault fault = on_uplink(MRC_FABRIC_CARRIER, 2);
	uint32_t host = 77, plane = 77;
	bool up = true;

	kit_create(&kit, &cfg);
	fault.end_ns = 5000;
	add(&fault, 0);
	for (int again = 0; again < 2; again++) {
		kit_run(&kit, again ? 6000 : 100);
		assert_true(mrc_fabric_carrier_poll(kit.fabric, &host, &plane, &up));
		assert_int_equal(host, 2);
		assert_int_equal(plane, 1);
		assert_int_equal(up, again);
		assert_false(mrc_fabric_carrier_poll(kit.fabric, &host, &plane, &up));
		host = plane = 77;
	}
	kit_done(&kit);
}

/* Whoever runs hosts apart asks when a fault acts next: the earliest of all. */
static void next_fault_is_the_earliest(void **state)
{
	static const uint64_t starts_ns[] = {9000, 4000, 7000};
	struct mrc_fabric_fault fault;

	kit_create(&kit, &cfg);
	assert_true(mrc_fabric_fault_next_ns(kit.fabric) == MRC_FABRIC_NEVER);
	for (size_t i = 0; i < sizeof(starts_ns) / sizeof(starts_ns[0]); i++) {
		fault = on_uplink(MRC_FABRIC_LOSS, 1);
		fault.start_ns = starts_ns[i];
		fault.end_ns = 10000 + i;
		add(&fault, 0);
		assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), i == 0 ? 9000 : 4000);
	}
	kit_run(&kit, 4000);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), 7000);
	kit_run(&kit, 7000);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), 9000);
	kit_run(&kit, 9000);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), 10000);
	kit_run(&kit, 10002);
	assert_true(mrc_fabric_fault_next_ns(kit.fabric) == MRC_FABRIC_NEVER);
	kit_done(&kit);
}

/* A link that lost its carrier, and with it all that waited there, has nothing to send any more.
 * (It may still look for what was on the wire, 1000 ns long.) */
static void dead_link_sends_nothing(void **state)
{
	kit_create(&kit, &cfg);
	for (int i = 0; i < 5; i++)
		kit_send(&kit, 0, 1, &(struct kit_pkt){.src = 3, .dst = 0, .payload_len = 4000});
	assert_true(mrc_fabric_next_deadline(kit.fabric) < 1000);
	mrc_fabric_link_carrier_set(
		kit.fabric, 0, kit_link(&kit, MRC_FABRIC_HOST_UP, 1, 1, 3), false);
	assert_true(mrc_fabric_next_deadline(kit.fabric) >= 1000);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_CARRIER), 5);
	kit_done(&kit);
}

static void drop(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	fail(); /* there is none */
}

/* Two hosts of the same address are refused, and so is one that does not exist. */
static void addresses_are_unique(void **state)
{
	static const struct mrc_fabric_ops ops = {.free = drop};
	struct mrc_fabric *fabric = NULL;
	struct mrc_fabric_addr addrs[2] = {{.host = 0}, {.host = 1}};

	addrs[0].gid = kit_gid(&kit, 0);
	addrs[1].gid = kit_gid(&kit, 1);
	cfg.addrs = addrs;
	cfg.nb_addrs = 2;
	cfg.max_addrs = 8;
	for (int round = 0; round < 3; round++) {
		int err;

		if (round == 1)
			addrs[1].gid = addrs[0].gid;
		if (round == 2) {
			addrs[1].gid = kit_gid(&kit, 1);
			addrs[1].host = 4;
		}
		err = mrc_fabric_create(&cfg, &kit.te.env, &ops, &fabric);
		assert_int_equal(err, round == 0 ? MRC_OK : MRC_ERR_INVAL);
		if (err == MRC_OK)
			mrc_fabric_destroy(fabric);
		fabric = NULL;
	}
	test_env_done(&kit.te);
}

/* Kinds have names as long as there are kinds. */
static void kinds_have_names(void **state)
{
	for (int kind = 0; kind < MRC_FABRIC_NB_FAULT_KINDS; kind++)
		assert_true(
			strlen(mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)kind)) > 2);
	assert_null(mrc_fabric_fault_kind_name(MRC_FABRIC_NB_FAULT_KINDS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(many_faults, setup),
		cmocka_unit_test_setup(slowest_of_many_rates, setup),
		cmocka_unit_test_setup(flap_ends_in_either_phase, setup),
		cmocka_unit_test_setup(carrier_names_its_port, setup),
		cmocka_unit_test_setup(next_fault_is_the_earliest, setup),
		cmocka_unit_test_setup(dead_link_sends_nothing, setup),
		cmocka_unit_test_setup(addresses_are_unique, setup),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests_name("fabric edges", tests, NULL, NULL);
}
