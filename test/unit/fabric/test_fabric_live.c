/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of a fabric whose clock is the real one: nothing is made up for. */
#include "fault_rig.h"

static struct fault_rig rig;

static void live(struct mrc_fabric_cfg *cfg)
{
	cfg->live = true;
}

static void live_cut_through(struct mrc_fabric_cfg *cfg)
{
	cfg->live = cfg->cut_through = true;
}

static int setup(void **state)
{
	fault_rig_open(&rig, live);
	return 0;
}

static int setup_cut_through(void **state)
{
	fault_rig_open(&rig, live_cut_through);
	return 0;
}

/* Reads everything: when each arrived, and how many. */
static uint32_t receive(uint64_t *at_ns)
{
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane, n = 0;

	while ((at_ns[n] = kit_wait(&rig.kit, &host, &plane, &pkt)) != MRC_FABRIC_NEVER) {
		n++;
		kit_free(&rig.kit, &pkt);
	}
	return n;
}

static void a_rate_fault_is_over_when_it_ends(void **state)
{
	/* 1250 bytes at a bit a second are hours. What waits and what the transmitter has goes on
	 * at the link's own rate: 100 ns each. */
	uint64_t at_ns[4];

	rig.fault.param = 1;
	rig.fault.end_ns = 50000;
	fault_rig_add(&rig, MRC_FABRIC_RATE, 0);
	fault_rig_send(&rig, 0, 3);
	assert_int_equal(receive(at_ns), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(at_ns[i], 50000 + 100 * (i + 1) + 1000 + 1100);
	fault_rig_send(&rig, 60000, 1);
	assert_int_equal(receive(at_ns), 1);
	assert_int_equal(at_ns[0], 60000 + 2200);
	fault_rig_finish(&rig);
}

static void a_packet_that_left_before_gains_nothing(void **state)
{
	/* The first is on the wire, the second on the transmitter, and lost there. */
	uint64_t at_ns[4];

	fault_rig_send(&rig, 0, 1);
	rig.fault.param = 1000000;
	rig.fault.end_ns = 5000;
	kit_run(&rig.kit, 200);
	fault_rig_add(&rig, MRC_FABRIC_RATE, 200);
	memset(&rig.fault, 0, sizeof(rig.fault));
	rig.fault.where = mrc_fabric_everywhere();
	rig.fault.nth = 1;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 200);
	fault_rig_send(&rig, 200, 2);
	assert_int_equal(receive(at_ns), 2);
	assert_int_equal(at_ns[0], 2200);
	assert_int_equal(at_ns[1], 5000 + 100 + 100 + 1000 + 1100);
	fault_rig_finish(&rig);
}

static void cut_through_ends_as_begun(void **state)
{
	/* The next link may wait for the tail already: a higher rate is for the next packet. 0.1
	 * Gb/s until 5 us, the first packet takes 100 us all the same, and so does who waits behind
	 * it for another way. */
	const struct kit_pkt other = {.dst = 2, .psn = 1, .payload_len = PAYLOAD};
	uint64_t at_ns[4];

	rig.fault.param = 100000000;
	rig.fault.end_ns = 5000;
	fault_rig_add(&rig, MRC_FABRIC_RATE, 0);
	fault_rig_send(&rig, 0, 1);
	kit_send(&rig.kit, 0, 0, &other);
	assert_int_equal(receive(at_ns), 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_in_range(at_ns[i], 100000, 100000 + 4500);
	fault_rig_finish(&rig);
}

static void a_year_of_delay_is_over_with_its_fault(void **state)
{
	static const enum mrc_fabric_fault_kind kinds[] = {
		MRC_FABRIC_DELAY, MRC_FABRIC_JITTER, MRC_FABRIC_REORDER};
	uint64_t at_ns[4], now_ns = 0;

	for (uint32_t k = 0; k < 3; k++, now_ns += 5000000000) {
		rig.fault.param = 365ull * 86400 * 1000000000;
		rig.fault.start_ns = now_ns;
		rig.fault.end_ns = now_ns + 50000;
		fault_rig_add(&rig, kinds[k], now_ns);
		fault_rig_send(&rig, now_ns, 2);
		kit_run(&rig.kit, now_ns + 60000);
		fault_rig_send(&rig, now_ns + 60000, 1);
		assert_int_equal(receive(at_ns), 3);
		/* They reach the leaf at once and leave it one after the other. */
		assert_in_range(at_ns[2], now_ns + 50000, now_ns + 50000 + 1000002300);
		fault_rig_send(&rig, now_ns + 2000000000, 1);
		assert_int_equal(receive(at_ns), 1);
		assert_int_equal(at_ns[0], now_ns + 2000000000 + 2200);
	}
	fault_rig_finish(&rig);
}

static void a_flap_does_not_outrun_the_clock(void **state)
{
	/* Two changes a nanosecond, and a second until somebody looks: a few changes are enough. */
	struct mrc_fabric_totals before, after;
	struct mrc_fabric_fault_info info;
	uint64_t at_ns[2];

	rig.fault.param = rig.fault.spread = 1;
	rig.fault.where.host = 0;
	rig.fault.where.classes = 0;
	fault_rig_add(&rig, MRC_FABRIC_FLAP, 0);
	mrc_fabric_totals_get(rig.kit.fabric, &before);
	for (uint64_t s = 1; s <= 3; s++)
		mrc_fabric_run(rig.kit.fabric, s * 1000000000, 100);
	mrc_fabric_totals_get(rig.kit.fabric, &after);
	assert_in_range(after.events - before.events, 3, 12);
	assert_int_equal(mrc_fabric_fault_query(rig.kit.fabric, rig.handle, &info), MRC_OK);
	assert_true(info.active);
	/* Nothing is left over: what comes afterwards passes at once. */
	assert_int_equal(mrc_fabric_fault_remove(rig.kit.fabric, 3000000000, rig.handle), MRC_OK);
	fault_rig_send(&rig, 3000000000, 1);
	assert_int_equal(receive(at_ns), 1);
	assert_int_equal(at_ns[0], 3000000000 + 2200);
	fault_rig_finish(&rig);
}

static void a_missed_flap_keeps_its_rhythm(void **state)
{
	/* Down for 30, up for 70 of every 100 ns, begun at 0 (down). */
	rig.fault.param = 30;
	rig.fault.spread = 70;
	rig.fault.where.host = 0;
	rig.fault.where.classes = 0;
	fault_rig_add(&rig, MRC_FABRIC_FLAP, 0);
	for (uint64_t now_ns = 0; now_ns < 100000; now_ns += 1 + now_ns % 977) {
		kit_run(&rig.kit, now_ns);
		assert_int_equal(mrc_fabric_host_carrier(rig.kit.fabric, 0, 0), now_ns % 100 >= 30);
	}
	assert_int_equal(mrc_fabric_fault_remove(rig.kit.fabric, 100000, rig.handle), MRC_OK);
	fault_rig_finish(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_rate_fault_is_over_when_it_ends, setup),
		cmocka_unit_test_setup(a_packet_that_left_before_gains_nothing, setup),
		cmocka_unit_test_setup(cut_through_ends_as_begun, setup_cut_through),
		cmocka_unit_test_setup(a_year_of_delay_is_over_with_its_fault, setup),
		cmocka_unit_test_setup(a_flap_does_not_outrun_the_clock, setup),
		cmocka_unit_test_setup(a_missed_flap_keeps_its_rhythm, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
