/* SPDX-License-Identifier: BSD-2-Clause */
/* When packets arrive, by arithmetic, to the nanosecond. */
#include "fabric_kit.h"

static struct kit kit;
static struct mrc_fabric_cfg cfg;

static int setup(void **state)
{
	kit.v6 = false;
	kit_cfg(&kit, &cfg, 2, 2, 2);
	return 0;
}

static uint64_t arrival(const struct kit_pkt *what, uint64_t now_ns, uint32_t want_host)
{
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;
	uint64_t at_ns;

	kit_run(&kit, now_ns);
	kit_send(&kit, now_ns, 0, what);
	at_ns = kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(host, want_host);
	assert_int_equal(plane, 0);
	kit_free(&kit, &pkt);
	return at_ns;
}

/* A WRITE_ONLY over IPv4 is 14 + 20 + 8 + 12 + 4 + 4 + 16 + payload + 4 bytes. */
enum {
	HEAD = 82
};

static void store_and_forward(void **state)
{
	/* 1250 bytes are 100 ns at 100 Gb/s; two links inside a leaf, four across. */
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};
	struct kit_pkt far = {.dst = 2, .payload_len = 1250 - HEAD};

	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&near, 5, 1), 5 + 2 * 1100);
	assert_int_equal(arrival(&far, 10000, 2), 10000 + 4 * 1100);
	kit_done(&kit);
}

static void cut_through(void **state)
{
	/* 64 bytes take 5.12 ns, of which 5 count at every switch; the whole frame once. */
	struct kit_pkt far = {.dst = 2, .payload_len = 1250 - HEAD};

	cfg.cut_through = true;
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&far, 0, 2), 4 * 1000 + 3 * 5 + 100);
	kit_done(&kit);
}

static void cut_through_into_a_slower_link(void **state)
{
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};

	cfg.cut_through = true;
	cfg.links[MRC_FABRIC_HOST_DOWN].rate_bps = 10000000000u;
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&near, 0, 1), 1005 + 1000 + 1000);
	kit_done(&kit);
}

static void cut_through_into_a_faster_link(void **state)
{
	/* The tail leaves the first link at 1000 + 1000 and cannot leave the second earlier. */
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};

	cfg.cut_through = true;
	cfg.links[MRC_FABRIC_HOST_UP].rate_bps = 10000000000u;
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&near, 0, 1), 2000 + 1000);
	kit_done(&kit);
}

static void switch_latency_and_overhead(void **state)
{
	/* 24 bytes of overhead are 1.92 ns of 101.92: 101 on each of the idle links. */
	struct kit_pkt far = {.dst = 2, .payload_len = 1250 - HEAD};

	cfg.switch_ns = 300;
	cfg.overhead_len = 24;
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&far, 0, 2), 4 * 1101 + 3 * 300);
	kit_done(&kit);
}

static void infinite_rate_and_no_delay(void **state)
{
	struct kit_pkt far = {.dst = 3, .payload_len = 4096};

	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		cfg.links[c] = (struct mrc_fabric_link_cfg){0};
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&far, 77, 3), 77);
	kit_done(&kit);
}

static void virtual_payload_takes_time(void **state)
{
	struct kit_pkt far = {.dst = 2, .payload_len = 0, .virtual_len = 1250 - HEAD};

	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&far, 0, 2), 4 * 1100);
	kit_done(&kit);
}

/* 4162-byte packets at 400 Gb/s take 83.24 ns each; a busy link may not lose the fractions. */
static void fractions_add_up(void **state)
{
	struct kit_pkt what = {.dst = 1, .payload_len = 4162 - HEAD};
	uint32_t host, plane;
	struct mrc_fabric_pkt pkt;

	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		cfg.links[c] =
			(struct mrc_fabric_link_cfg){.rate_bps = 400000000000u, .delay_ns = 1000};
	kit_create(&kit, &cfg);
	for (uint32_t i = 0; i < 1000; i++)
		kit_send(&kit, 0, 0, &what);
	for (uint64_t i = 1; i <= 1000; i++) {
		uint64_t at_ns = kit_wait(&kit, &host, &plane, &pkt);
		uint64_t exact_ns = 2000 + 8324 * (i + 1) / 100;

		assert_in_range(at_ns, exact_ns - 1, exact_ns);
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void a_slow_link_takes_its_time(void **state)
{
	/* 1250 bytes at 1 kb/s are 10 s: more nanoseconds than 32 bits hold. */
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};

	cfg.links[MRC_FABRIC_HOST_DOWN].rate_bps = 1000;
	kit_create(&kit, &cfg);
	assert_int_equal(arrival(&near, 0, 1), 1100 + 10000000000u + 1000);
	kit_done(&kit);
}

static void control_overtakes_data(void **state)
{
	struct kit_pkt data = {.dst = 1, .payload_len = 1250 - HEAD};
	struct kit_pkt ack = {.dst = 1, .opcode = MRC_OP_ACK, .cls = MRC_CLASS_CONTROL};
	const uint8_t order[] = {MRC_OP_WRITE_ONLY, MRC_OP_ACK, MRC_OP_WRITE_ONLY};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	kit_create(&kit, &cfg);
	kit_send(&kit, 0, 0, &data);
	kit_send(&kit, 0, 0, &data);
	kit_send(&kit, 50, 0, &ack);
	for (int i = 0; i < 3; i++) {
		kit_wait(&kit, &host, &plane, &pkt);
		assert_int_equal(pkt.data[14 + 20 + 8], order[i]);
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void backlog_is_what_waits(void **state)
{
	struct kit_pkt data = {.dst = 1, .payload_len = 1250 - HEAD};

	kit_create(&kit, &cfg);
	assert_int_equal(mrc_fabric_backlog(kit.fabric, 0, 0, 0), 0);
	for (int i = 0; i < 3; i++)
		kit_send(&kit, 0, 0, &data);
	assert_int_equal(mrc_fabric_backlog(kit.fabric, 0, 0, 0), 3750);
	kit_run(&kit, 150);
	assert_int_equal(mrc_fabric_backlog(kit.fabric, 150, 0, 0), 2500);
	kit_run(&kit, 300);
	assert_int_equal(mrc_fabric_backlog(kit.fabric, 300, 0, 0), 0);
	assert_int_equal(kit_drain(&kit), 3);
	kit_done(&kit);
}

/* Three packets queued at time 0: 3, 2, 1 of them present for 100 ns each. */
static void queue_area_is_the_integral(void **state)
{
	struct kit_pkt data = {.dst = 1, .payload_len = 1250 - HEAD};
	struct mrc_fabric_link_counters c;

	kit_create(&kit, &cfg);
	for (int i = 0; i < 3; i++)
		kit_send(&kit, 0, 0, &data);
	assert_int_equal(kit_drain(&kit), 3);
	mrc_fabric_link_counters_get(
		kit.fabric, 100000, kit_link(&kit, MRC_FABRIC_HOST_UP, 0, 0, 0), &c);
	assert_int_equal(c.queue_area, 1250 * (3 + 2 + 1) * 100);
	assert_int_equal(c.queue_max_len, 3750);
	assert_int_equal(c.tx_packets, 3);
	assert_int_equal(c.tx_bytes, 3750);
	assert_int_equal(c.arrived_packets, 3);
	kit_done(&kit);
}

static void rate_can_change_under_way(void **state)
{
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};
	struct mrc_fabric_link_cfg link;
	uint32_t up = 0;

	kit_create(&kit, &cfg);
	up = kit_link(&kit, MRC_FABRIC_HOST_UP, 0, 0, 0);
	assert_int_equal(arrival(&near, 0, 1), 2200);
	mrc_fabric_link_get(kit.fabric, up, &link);
	link.rate_bps = 10000000000u;
	link.delay_ns = 7;
	mrc_fabric_link_set(kit.fabric, up, &link);
	assert_int_equal(arrival(&near, 10000, 1), 10000 + 1000 + 7 + 1100);
	kit_done(&kit);
}

static void max_events_bounds_a_run(void **state)
{
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};

	kit_create(&kit, &cfg);
	for (int i = 0; i < 10; i++)
		kit_send(&kit, 0, 0, &near);
	assert_int_equal(mrc_fabric_run(kit.fabric, 1000000, 3), 3);
	assert_true(mrc_fabric_next_deadline(kit.fabric) < 1000000);
	assert_int_equal(kit_drain(&kit), 10);
	assert_int_equal(mrc_fabric_next_deadline(kit.fabric), MRC_FABRIC_NEVER);
	kit_done(&kit);
}

static void tap_sees_the_start(void **state)
{
	struct kit_pkt near = {.dst = 1, .payload_len = 1250 - HEAD};
	uint32_t down;

	kit_create(&kit, &cfg);
	down = kit_link(&kit, MRC_FABRIC_HOST_DOWN, 0, 0, 1);
	mrc_fabric_tap_set(kit.fabric, down, true);
	kit_send(&kit, 0, 0, &near);
	assert_int_equal(kit_drain(&kit), 1);
	assert_int_equal(kit.taps, 1);
	assert_int_equal(kit.tap_link, down);
	assert_int_equal(kit.tap_ns, 1100);
	mrc_fabric_tap_set(kit.fabric, down, false);
	kit_send(&kit, 5000, 0, &near);
	assert_int_equal(kit_drain(&kit), 1);
	assert_int_equal(kit.taps, 1);
	kit_done(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(store_and_forward, setup),
		cmocka_unit_test_setup(cut_through, setup),
		cmocka_unit_test_setup(cut_through_into_a_slower_link, setup),
		cmocka_unit_test_setup(cut_through_into_a_faster_link, setup),
		cmocka_unit_test_setup(switch_latency_and_overhead, setup),
		cmocka_unit_test_setup(infinite_rate_and_no_delay, setup),
		cmocka_unit_test_setup(virtual_payload_takes_time, setup),
		cmocka_unit_test_setup(fractions_add_up, setup),
		cmocka_unit_test_setup(a_slow_link_takes_its_time, setup),
		cmocka_unit_test_setup(control_overtakes_data, setup),
		cmocka_unit_test_setup(backlog_is_what_waits, setup),
		cmocka_unit_test_setup(queue_area_is_the_integral, setup),
		cmocka_unit_test_setup(rate_can_change_under_way, setup),
		cmocka_unit_test_setup(max_events_bounds_a_run, setup),
		cmocka_unit_test_setup(tap_sees_the_start, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
