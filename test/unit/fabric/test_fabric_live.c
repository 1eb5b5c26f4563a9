/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of a fabric whose clock is the real one: nothing is made up for. */
#include "fabric_kit.h"

static struct kit kit;
static struct mrc_fabric_cfg cfg;
static struct mrc_fabric_fault fault;
static uint32_t handle;

enum {
	HEAD = 82,
	PAYLOAD = 1250 - HEAD
};

static int setup(void **state)
{
	kit.v6 = false;
	kit_cfg(&kit, &cfg, 2, 2, 2);
	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		cfg.links[c] =
			(struct mrc_fabric_link_cfg){.rate_bps = 100000000000u, .delay_ns = 1000};
	cfg.live = true;
	kit_create(&kit, &cfg);
	memset(&fault, 0, sizeof(fault));
	fault.where = mrc_fabric_everywhere();
	fault.where.classes = 1u << MRC_FABRIC_HOST_UP;
	return 0;
}

static void add(enum mrc_fabric_fault_kind kind, uint64_t now_ns)
{
	fault.kind = kind;
	assert_int_equal(mrc_fabric_fault_add(kit.fabric, now_ns, &fault, &handle), MRC_OK);
	assert_int_not_equal(handle, 0);
}

static void finish(void)
{
	kit_drain(&kit);
	kit_done(&kit);
}

/* n packets from host 0 to host 1, 100 ns apart. */
static void send(uint64_t now_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct kit_pkt what = {.dst = 1, .psn = i, .payload_len = PAYLOAD};

		kit_run(&kit, now_ns + 100 * i);
		kit_send(&kit, now_ns + 100 * i, 0, &what);
	}
}

/* Reads everything: when each arrived, and how many. */
static uint32_t receive(uint64_t *at_ns)
{
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane, n = 0;

	while ((at_ns[n] = kit_wait(&kit, &host, &plane, &pkt)) != MRC_FABRIC_NEVER) {
		n++;
		kit_free(&kit, &pkt);
	}
	return n;
}

static void a_rate_fault_is_over_when_it_ends(void **state)
{
	/* 1250 bytes at a bit a second are hours. What waits and what the transmitter has goes on
	 * at the link's own rate: 100 ns each. */
	uint64_t at_ns[4];

	fault.param = 1;
	fault.end_ns = 50000;
	add(MRC_FABRIC_RATE, 0);
	send(0, 3);
	assert_int_equal(receive(at_ns), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(at_ns[i], 50000 + 100 * (i + 1) + 1000 + 1100);
	send(60000, 1);
	assert_int_equal(receive(at_ns), 1);
	assert_int_equal(at_ns[0], 60000 + 2200);
	finish();
}

static void a_packet_that_left_before_gains_nothing(void **state)
{
	/* The first is on the wire, the second on the transmitter, and lost there. */
	uint64_t at_ns[4];

	send(0, 1);
	fault.param = 1000000;
	fault.end_ns = 5000;
	kit_run(&kit, 200);
	add(MRC_FABRIC_RATE, 200);
	memset(&fault, 0, sizeof(fault));
	fault.where = mrc_fabric_everywhere();
	fault.nth = 1;
	add(MRC_FABRIC_LOSS, 200);
	send(200, 2);
	assert_int_equal(receive(at_ns), 2);
	assert_int_equal(at_ns[0], 2200);
	assert_int_equal(at_ns[1], 5000 + 100 + 100 + 1000 + 1100);
	finish();
}

static void a_flap_does_not_outrun_the_clock(void **state)
{
	/* Two changes a nanosecond, and a second until somebody looks: a few changes are enough. */
	struct mrc_fabric_totals before, after;
	struct mrc_fabric_fault_info info;
	uint64_t at_ns[2];

	fault.param = fault.spread = 1;
	fault.where.host = 0;
	fault.where.classes = 0;
	add(MRC_FABRIC_FLAP, 0);
	mrc_fabric_totals_get(kit.fabric, &before);
	for (uint64_t s = 1; s <= 3; s++)
		mrc_fabric_run(kit.fabric, s * 1000000000, 100);
	mrc_fabric_totals_get(kit.fabric, &after);
	assert_in_range(after.events - before.events, 3, 12);
	assert_int_equal(mrc_fabric_fault_query(kit.fabric, handle, &info), MRC_OK);
	assert_true(info.active);
	/* Nothing is left over: what comes afterwards passes at once. */
	assert_int_equal(mrc_fabric_fault_remove(kit.fabric, 3000000000, handle), MRC_OK);
	send(3000000000, 1);
	assert_int_equal(receive(at_ns), 1);
	assert_int_equal(at_ns[0], 3000000000 + 2200);
	finish();
}

static void a_missed_flap_keeps_its_rhythm(void **state)
{
	/* Down for 30, up for 70 of every 100 ns, begun at 0 (down). */
	fault.param = 30;
	fault.spread = 70;
	fault.where.host = 0;
	fault.where.classes = 0;
	add(MRC_FABRIC_FLAP, 0);
	for (uint64_t now_ns = 0; now_ns < 100000; now_ns += 1 + now_ns % 977) {
		kit_run(&kit, now_ns);
		assert_int_equal(mrc_fabric_host_carrier(kit.fabric, 0, 0), now_ns % 100 >= 30);
	}
	assert_int_equal(mrc_fabric_fault_remove(kit.fabric, 100000, handle), MRC_OK);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_rate_fault_is_over_when_it_ends, setup),
		cmocka_unit_test_setup(a_packet_that_left_before_gains_nothing, setup),
		cmocka_unit_test_setup(a_flap_does_not_outrun_the_clock, setup),
		cmocka_unit_test_setup(a_missed_flap_keeps_its_rhythm, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
