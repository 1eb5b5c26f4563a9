/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of fault, and how faults are aimed and timed. */
#include "fault_rig.h"

static struct fault_rig rig;

static int setup(void **state)
{
	fault_rig_open(&rig, NULL);
	return 0;
}

/* Reads everything; bit i of the result: PSN i came. *order gets the PSNs as they came. */
static uint64_t receive(uint32_t *order, uint64_t *at_ns, uint32_t *nb)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane, n = 0;
	uint64_t seen = 0, t;

	while ((t = kit_wait(&rig.kit, &host, &plane, &pkt)) != MRC_FABRIC_NEVER) {
		if (mrc_pkt_decode(&rig.kit.proto, pkt.data, pkt.len, &view) == MRC_KEEP) {
			seen |= 1ull << view.psn.v;
			if (order != NULL)
				order[n] = view.psn.v;
		}
		if (at_ns != NULL)
			at_ns[n] = t;
		n++;
		kit_free(&rig.kit, &pkt);
	}
	if (nb != NULL)
		*nb = n;
	return seen;
}

static uint64_t hits(void)
{
	struct mrc_fabric_fault_info info;

	assert_int_equal(mrc_fabric_fault_query(rig.kit.fabric, rig.handle, &info), MRC_OK);
	return info.hits;
}

static void loss_by_rate(void **state)
{
	uint32_t got;

	rig.fault.rate = 0.25;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 2000);
	got = kit_drain(&rig.kit);
	assert_in_range(got, 1420, 1580);
	assert_int_equal(kit_dropped(&rig.kit, MRC_FABRIC_DROP_LOSS), 2000 - got);
	assert_int_equal(hits(), 2000 - got);
	fault_rig_finish(&rig);
}

static void loss_in_bursts(void **state)
{
	uint64_t seen;

	rig.fault.burst = 5;
	rig.fault.nth = 10;
	rig.fault.count = UINT64_MAX;
	rig.fault.max_hits = 5;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 30);
	seen = receive(NULL, NULL, NULL);
	assert_int_equal(seen, 0x3FFFFFFF & ~(0x1Fu << 9));
	fault_rig_finish(&rig);
}

static void bursts_are_as_long_as_told(void **state)
{
	uint32_t order[2000], nb, lost = 0;

	rig.fault.rate = 0.02;
	rig.fault.burst = 4;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	for (uint32_t round = 0; round < 30; round++) {
		uint64_t seen;

		fault_rig_send(&rig, round * 100000, 60);
		seen = receive(order, NULL, &nb);
		for (uint32_t i = 0; i < 60; i++)
			lost += !(seen >> i & 1);
	}
	/* Each of about 1800 / (50 + 4) bursts takes four. */
	assert_in_range(lost, 70, 210);
	assert_int_equal(lost, hits());
	fault_rig_finish(&rig);
}

static void exactly_the_nth(void **state)
{
	rig.fault.nth = 7;
	rig.fault.count = 2;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 20);
	assert_int_equal(receive(NULL, NULL, NULL), 0xFFFFF & ~(3u << 6));
	fault_rig_finish(&rig);
}

static void every_period(void **state)
{
	rig.fault.nth = 3;
	rig.fault.period = 5;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 20);
	/* Numbers 3, 8, 13, 18. */
	assert_int_equal(
		receive(NULL, NULL, NULL), 0xFFFFF & ~(1u << 2 | 1u << 7 | 1u << 12 | 1u << 17));
	fault_rig_finish(&rig);
}

static void match_of_fields(void **state)
{
	rig.fault.match.fields = MRC_FABRIC_MATCH_PSN | MRC_FABRIC_MATCH_OPCODE |
				 MRC_FABRIC_MATCH_DSCP | MRC_FABRIC_MATCH_LEN |
				 MRC_FABRIC_MATCH_SRC | MRC_FABRIC_MATCH_DST | MRC_FABRIC_MATCH_RTX;
	rig.fault.match.psn_lo = 3;
	rig.fault.match.psn_hi = 5;
	rig.fault.match.opcodes[MRC_OP_WRITE_ONLY / 64] = 1ull << MRC_OP_WRITE_ONLY % 64;
	rig.fault.match.dscps = 1;
	rig.fault.match.len_lo = 1250;
	rig.fault.match.len_hi = 1250;
	rig.fault.match.src = 0;
	rig.fault.match.dst = 1;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 10);
	assert_int_equal(receive(NULL, NULL, NULL), 0x3FF & ~(7u << 3));
	fault_rig_finish(&rig);
}

/* One field at a time that does not fit: nothing may be hit. */
static void match_fails_on_each_field(void **state)
{
	struct mrc_fabric_match wrong[] = {
		{.fields = MRC_FABRIC_MATCH_PSN, .psn_lo = 100, .psn_hi = 200},
		{.fields = MRC_FABRIC_MATCH_OPCODE, .opcodes = {1}},
		{.fields = MRC_FABRIC_MATCH_DSCP, .dscps = 1ull << 46},
		{.fields = MRC_FABRIC_MATCH_LEN, .len_lo = 1251, .len_hi = 9000},
		{.fields = MRC_FABRIC_MATCH_SRC, .src = 1},
		{.fields = MRC_FABRIC_MATCH_DST, .dst = 0},
		{.fields = MRC_FABRIC_MATCH_RTX, .rtx = true},
		{.fields = MRC_FABRIC_MATCH_EV, .ev = 1, .ev_mask = 1},
		{.fields = MRC_FABRIC_MATCH_QPN, .qpn = 0xFFFFFF},
	};

	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		rig.fault.match = wrong[i];
		fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	}
	fault_rig_send(&rig, 0, 10);
	assert_int_equal(receive(NULL, NULL, NULL), 0x3FF);
	fault_rig_finish(&rig);
}

static void black_hole_of_one_ev(void **state)
{
	uint32_t got = 0;
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	rig.fault.match.fields = MRC_FABRIC_MATCH_EV;
	rig.fault.match.ev = 5;
	rig.fault.match.ev_mask = 7;
	fault_rig_add(&rig, MRC_FABRIC_DISCARD, 0);
	for (uint32_t ev = 0; ev < 16; ev++) {
		struct kit_pkt what = {.dst = 1, .ev = ev, .psn = ev};

		kit_send(&rig.kit, 0, 0, &what);
	}
	while (kit_wait(&rig.kit, &host, &plane, &pkt) != MRC_FABRIC_NEVER) {
		struct mrc_pkt view;

		assert_int_equal(
			mrc_pkt_decode(&rig.kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
		assert_int_not_equal(view.ev & 7, 5);
		got++;
		kit_free(&rig.kit, &pkt);
	}
	assert_int_equal(got, 14);
	assert_int_equal(kit_dropped(&rig.kit, MRC_FABRIC_DROP_DISCARD), 2);
	fault_rig_finish(&rig);
}

static void retransmissions_only(void **state)
{
	rig.fault.match.fields = MRC_FABRIC_MATCH_RTX;
	rig.fault.match.rtx = true;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	for (uint32_t i = 0; i < 10; i++) {
		struct kit_pkt what = {.dst = 1, .psn = i, .flags = i & 1 ? KIT_RTX : 0};

		kit_send(&rig.kit, 0, 0, &what);
	}
	assert_int_equal(receive(NULL, NULL, NULL), 0x155);
	fault_rig_finish(&rig);
}

static void one_direction_dies(void **state)
{
	struct kit_pkt back = {.src = 1, .dst = 0};

	rig.fault.where.classes = 1u << MRC_FABRIC_HOST_DOWN;
	rig.fault.where.host = 1;
	fault_rig_add(&rig, MRC_FABRIC_DISCARD, 0);
	fault_rig_send(&rig, 0, 5);
	assert_int_equal(kit_drain(&rig.kit), 0);
	kit_send(&rig.kit, 10000, 0, &back);
	assert_int_equal(kit_drain(&rig.kit), 1);
	assert_true(mrc_fabric_host_carrier(rig.kit.fabric, 1, 0));
	fault_rig_finish(&rig);
}

static void spine_discards(void **state)
{
	uint32_t got;

	rig.fault.where.classes = 0;
	rig.fault.where.spine = 1;
	fault_rig_add(&rig, MRC_FABRIC_DISCARD, 0);
	for (uint32_t ev = 0; ev < 400; ev++) {
		struct kit_pkt what = {.dst = 3, .ev = ev};

		kit_send(&rig.kit, 0, 0, &what);
	}
	got = kit_drain(&rig.kit);
	assert_in_range(got, 150, 250);
	assert_int_equal(kit_dropped(&rig.kit, MRC_FABRIC_DROP_DISCARD), 400 - got);
	fault_rig_finish(&rig);
}

static void window_of_time(void **state)
{
	rig.fault.start_ns = 500;
	rig.fault.end_ns = 1000;
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 20);
	assert_int_equal(receive(NULL, NULL, NULL), 0xFFFFF & ~(0x1Fu << 5));
	fault_rig_finish(&rig);
}

static void removal_ends_it(void **state)
{
	fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	fault_rig_send(&rig, 0, 5);
	assert_int_equal(receive(NULL, NULL, NULL), 0);
	assert_int_equal(mrc_fabric_fault_remove(rig.kit.fabric, 1000, rig.handle), MRC_OK);
	assert_int_equal(mrc_fabric_fault_remove(rig.kit.fabric, 1000, rig.handle), MRC_ERR_NOENT);
	fault_rig_send(&rig, 10000, 5);
	assert_int_equal(receive(NULL, NULL, NULL), 0x1F);
	fault_rig_finish(&rig);
}

static void duplicates(void **state)
{
	uint32_t order[16], nb;
	uint64_t at_ns[16];
	const uint32_t want[] = {0, 1, 1, 1, 2};
	struct mrc_fabric_totals totals;

	rig.fault.nth = 2;
	rig.fault.param = 2;
	rig.fault.spread = 10;
	fault_rig_add(&rig, MRC_FABRIC_DUPLICATE, 0);
	fault_rig_send(&rig, 0, 3);
	receive(order, at_ns, &nb);
	assert_int_equal(nb, 5);
	assert_memory_equal(order, want, sizeof(want));
	mrc_fabric_totals_get(rig.kit.fabric, &totals);
	assert_int_equal(totals.copies, 2);
	fault_rig_finish(&rig);
}

static void reordering(void **state)
{
	uint32_t order[16], nb;
	const uint32_t want[] = {0, 2, 3, 4, 1};

	rig.fault.nth = 2;
	rig.fault.param = 350;
	fault_rig_add(&rig, MRC_FABRIC_REORDER, 0);
	fault_rig_send(&rig, 0, 5);
	receive(order, NULL, &nb);
	assert_int_equal(nb, 5);
	assert_memory_equal(order, want, sizeof(want));
	fault_rig_finish(&rig);
}

/* A packet held back for long is the first on the wire when a later one overtakes it. */
static void late_packet_does_not_block(void **state)
{
	uint64_t at_ns[4];
	uint32_t order[4], nb;

	rig.fault.nth = 1;
	rig.fault.param = 1000000;
	fault_rig_add(&rig, MRC_FABRIC_REORDER, 0);
	fault_rig_send(&rig, 0, 2);
	receive(order, at_ns, &nb);
	assert_int_equal(order[0], 1);
	assert_int_equal(at_ns[0], 100 + 2200);
	assert_int_equal(at_ns[1], 1000000 + 2200);
	fault_rig_finish(&rig);
}

static void delay_step_keeps_order(void **state)
{
	uint64_t at_ns[16];
	uint32_t order[16], nb;

	rig.fault.start_ns = 150;
	rig.fault.end_ns = 350;
	rig.fault.param = 5000;
	fault_rig_add(&rig, MRC_FABRIC_DELAY, 0);
	fault_rig_send(&rig, 0, 5);
	receive(order, at_ns, &nb);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(at_ns[1], 100 + 2200);
	assert_int_equal(at_ns[2], 200 + 5000 + 2200);
	assert_int_equal(at_ns[3], 300 + 5000 + 2200);
	fault_rig_finish(&rig);
}

static void jitter_keeps_order_and_bounds(void **state)
{
	uint64_t at_ns[64], late = 0;
	uint32_t order[64], nb;

	rig.fault.param = 3000;
	fault_rig_add(&rig, MRC_FABRIC_JITTER, 0);
	fault_rig_send(&rig, 0, 20);
	receive(order, at_ns, &nb);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(order[i], i);
		assert_in_range(at_ns[i], 100 * i + 2200, 100 * i + 2200 + 3000 + 2000);
		late += at_ns[i] > 100 * i + 2200;
	}
	assert_true(late > 10);
	fault_rig_finish(&rig);
}

static uint32_t bits_changed(const struct mrc_fabric_pkt *pkt, const uint8_t *was, uint32_t *first)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pkt->len; i++) {
		uint32_t diff = (uint32_t)__builtin_popcount(pkt->data[i] ^ was[i]);

		if (diff != 0 && n == 0)
			*first = i;
		n += diff;
	}
	return n;
}

static void corrupt_one_bit(uint32_t from, uint32_t span)
{
	struct kit_pkt what = {.dst = 1, .payload_len = PAYLOAD};
	struct mrc_fabric_pkt pkt = kit_frame(&rig.kit, &what);
	uint32_t host, plane, at = 0;
	uint8_t was[1250];

	memcpy(was, pkt.data, pkt.len);
	mrc_fabric_send(rig.kit.fabric, 0, 0, 0, &pkt);
	kit_wait(&rig.kit, &host, &plane, &pkt);
	assert_int_equal(bits_changed(&pkt, was, &at), 1);
	assert_in_range(at, from, from + span - 1);
	kit_free(&rig.kit, &pkt);
}

static void corrupt_payload(void **state)
{
	rig.fault.offset = HEAD - 4;
	fault_rig_add(&rig, MRC_FABRIC_CORRUPT, 0);
	corrupt_one_bit(HEAD - 4, PAYLOAD + 4);
	fault_rig_finish(&rig);
}

static void corrupt_header(void **state)
{
	rig.fault.offset = 42;
	rig.fault.param = 12;
	fault_rig_add(&rig, MRC_FABRIC_CORRUPT, 0);
	corrupt_one_bit(42, 12);
	fault_rig_finish(&rig);
}

static void corrupt_virtual_payload(void **state)
{
	struct kit_pkt what = {.dst = 1, .virtual_len = 4000};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	rig.fault.offset = 1000;
	fault_rig_add(&rig, MRC_FABRIC_CORRUPT, 0);
	kit_send(&rig.kit, 0, 0, &what);
	kit_wait(&rig.kit, &host, &plane, &pkt);
	assert_int_equal(pkt.flags, MRC_FABRIC_PKT_CORRUPT);
	kit_free(&rig.kit, &pkt);
	fault_rig_finish(&rig);
}

static void truncated_and_padded(void **state)
{
	struct kit_pkt what = {.dst = 1, .payload_len = PAYLOAD};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;
	uint64_t at_ns;

	rig.fault.nth = 1;
	rig.fault.param = 500;
	fault_rig_add(&rig, MRC_FABRIC_TRUNCATE, 0);
	rig.fault.nth = 2;
	rig.fault.param = 9;
	fault_rig_add(&rig, MRC_FABRIC_PAD, 0);
	rig.fault.nth = 3;
	rig.fault.param = 5000;
	fault_rig_add(&rig, MRC_FABRIC_TRUNCATE, 0);
	for (int i = 0; i < 3; i++)
		kit_send(&rig.kit, 0, 0, &what);
	at_ns = kit_wait(&rig.kit, &host, &plane, &pkt);
	assert_int_equal(pkt.len, 750);
	assert_int_equal(pkt.wire_len, 750);
	assert_int_equal(at_ns, 2120);
	kit_free(&rig.kit, &pkt);
	kit_wait(&rig.kit, &host, &plane, &pkt);
	assert_int_equal(pkt.len, 1259);
	for (int i = 1250; i < 1259; i++)
		assert_int_equal(pkt.data[i], 0);
	kit_free(&rig.kit, &pkt);
	kit_wait(&rig.kit, &host, &plane, &pkt);
	assert_int_equal(pkt.len, 1);
	kit_free(&rig.kit, &pkt);
	fault_rig_finish(&rig);
}

static void big_packets_only(void **state)
{
	struct kit_pkt small = {.dst = 1, .payload_len = 4, .psn = 40};

	rig.fault.param = 1249;
	fault_rig_add(&rig, MRC_FABRIC_MTU, 0);
	fault_rig_send(&rig, 0, 5);
	kit_send(&rig.kit, 500, 0, &small);
	assert_int_equal(receive(NULL, NULL, NULL), 1ull << 40);
	assert_int_equal(kit_dropped(&rig.kit, MRC_FABRIC_DROP_MTU), 5);
	fault_rig_finish(&rig);
}

static uint32_t marked(uint64_t now_ns, uint32_t n)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane, marks = 0;

	fault_rig_send(&rig, now_ns, n);
	while (kit_wait(&rig.kit, &host, &plane, &pkt) != MRC_FABRIC_NEVER) {
		assert_int_equal(
			mrc_pkt_decode(&rig.kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
		marks += (view.flags & MRC_PKT_CE) != 0;
		kit_free(&rig.kit, &pkt);
	}
	return marks;
}

static void ecn_all_none_alternate(void **state)
{
	struct mrc_fabric_link_cfg link;
	uint32_t up = kit_link(&rig.kit, MRC_FABRIC_HOST_UP, 0, 0, 0);

	fault_rig_add(&rig, MRC_FABRIC_ECN_ALL, 0);
	assert_int_equal(marked(0, 10), 10);
	mrc_fabric_fault_remove(rig.kit.fabric, 0, rig.handle);
	fault_rig_add(&rig, MRC_FABRIC_ECN_ALT, 0);
	assert_int_equal(marked(100000, 10), 5);
	mrc_fabric_fault_remove(rig.kit.fabric, 0, rig.handle);
	/* A queue that marks all but the first, which comes to an idle port, and the last, behind
	 * which nothing waits. */
	mrc_fabric_link_get(rig.kit.fabric, up, &link);
	link.ecn_max_len = 1;
	link.rate_bps = 10000000000u;
	mrc_fabric_link_set(rig.kit.fabric, up, &link);
	assert_int_equal(marked(200000, 10), 8);
	fault_rig_add(&rig, MRC_FABRIC_ECN_NONE, 0);
	assert_int_equal(marked(300000, 10), 0);
	fault_rig_finish(&rig);
}

static void trim_is_forced(void **state)
{
	struct kit_pkt what = {.dst = 1, .payload_len = PAYLOAD, .cls = MRC_CLASS_TRIMMABLE};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	rig.fault.nth = 2;
	fault_rig_add(&rig, MRC_FABRIC_TRIM, 0);
	for (int i = 0; i < 3; i++) {
		kit_send(&rig.kit, i * 10000, 0, &what);
		kit_wait(&rig.kit, &host, &plane, &pkt);
		assert_int_equal(pkt.len, i == 1 ? 256 : 1250);
		kit_free(&rig.kit, &pkt);
	}
	fault_rig_finish(&rig);
}

static void rate_fault_and_its_end(void **state)
{
	uint64_t at_ns[4];

	rig.fault.param = 10000000000u;
	rig.fault.end_ns = 50000;
	fault_rig_add(&rig, MRC_FABRIC_RATE, 0);
	fault_rig_send(&rig, 0, 1);
	receive(NULL, at_ns, NULL);
	assert_int_equal(at_ns[0], 1000 + 1000 + 1100);
	fault_rig_send(&rig, 60000, 1);
	receive(NULL, at_ns, NULL);
	assert_int_equal(at_ns[0], 60000 + 2200);
	fault_rig_finish(&rig);
}

static void expect_carrier(uint32_t host, bool up)
{
	uint32_t h, plane;
	bool got;

	assert_true(mrc_fabric_carrier_poll(rig.kit.fabric, &h, &plane, &got));
	assert_int_equal(h, host);
	assert_int_equal(got, up);
}

static void carrier_takes_all_under_way(void **state)
{
	uint32_t h, plane;
	bool up;

	rig.fault.where.host = 0;
	rig.fault.start_ns = 250;
	rig.fault.end_ns = 5000;
	fault_rig_add(&rig, MRC_FABRIC_CARRIER, 0);
	fault_rig_send(&rig, 0, 10);
	kit_run(&rig.kit, 1000);
	assert_false(mrc_fabric_host_carrier(rig.kit.fabric, 0, 0));
	assert_true(mrc_fabric_host_carrier(rig.kit.fabric, 1, 0));
	expect_carrier(0, false);
	assert_false(mrc_fabric_carrier_poll(rig.kit.fabric, &h, &plane, &up));
	/* Nothing had crossed a wire of 1000 ns by then. */
	assert_int_equal(kit_drain(&rig.kit), 0);
	assert_int_equal(kit_dropped(&rig.kit, MRC_FABRIC_DROP_CARRIER), 10);
	expect_carrier(0, true);
	fault_rig_send(&rig, 6000, 3);
	assert_int_equal(kit_drain(&rig.kit), 3);
	fault_rig_finish(&rig);
}

static void flapping_by_schedule(void **state)
{
	uint64_t seen;

	rig.fault.where.host = 0;
	rig.fault.start_ns = 1000;
	rig.fault.param = 2000;
	rig.fault.spread = 3000;
	rig.fault.end_ns = 14000;
	fault_rig_add(&rig, MRC_FABRIC_FLAP, 0);
	/* One packet per 1000 ns, in the middle; a wire's 1000 ns must be up as well. Down in
	 * 1000-3000, 6000-8000, 11000-13000. */
	for (uint32_t i = 0; i < 20; i++) {
		struct kit_pkt what = {.dst = 1, .psn = i};

		kit_run(&rig.kit, 1000 * i + 500);
		kit_send(&rig.kit, 1000 * i + 500, 0, &what);
	}
	seen = receive(NULL, NULL, NULL);
	assert_int_equal(seen, 0xFFFFF & ~(7u << 0 | 7u << 5 | 7u << 10));
	assert_int_equal(hits(), 3);
	assert_true(mrc_fabric_host_carrier(rig.kit.fabric, 0, 0));
	fault_rig_finish(&rig);
}

static void restart_of_a_leaf(void **state)
{
	rig.fault.where = mrc_fabric_everywhere();
	rig.fault.where.leaf = 0;
	rig.fault.start_ns = 300;
	rig.fault.end_ns = 20000;
	fault_rig_add(&rig, MRC_FABRIC_RESTART, 0);
	fault_rig_send(&rig, 0, 3);
	kit_run(&rig.kit, 400);
	for (uint32_t h = 0; h < 4; h++)
		assert_int_equal(mrc_fabric_host_carrier(rig.kit.fabric, h, 0), h >= 2);
	expect_carrier(0, false);
	expect_carrier(1, false);
	assert_int_equal(kit_drain(&rig.kit), 0);
	fault_rig_send(&rig, 30000, 3);
	assert_int_equal(kit_drain(&rig.kit), 3);
	fault_rig_finish(&rig);
}

static void two_holds_need_two_releases(void **state)
{
	uint32_t first;

	rig.fault.where.host = 0;
	fault_rig_add(&rig, MRC_FABRIC_CARRIER, 0);
	first = rig.handle;
	rig.fault.where.classes = 0;
	fault_rig_add(&rig, MRC_FABRIC_CARRIER, 0);
	mrc_fabric_fault_remove(rig.kit.fabric, 0, first);
	assert_false(mrc_fabric_host_carrier(rig.kit.fabric, 0, 0));
	mrc_fabric_fault_remove(rig.kit.fabric, 0, rig.handle);
	assert_true(mrc_fabric_host_carrier(rig.kit.fabric, 0, 0));
	fault_rig_finish(&rig);
}

static void refused(void **state)
{
	struct mrc_fabric_fault bad[] = {
		{.kind = MRC_FABRIC_NB_FAULT_KINDS},
		{.rate = 1.5},
		{.rate = -0.1},
		{.start_ns = 10, .end_ns = 10},
		{.where = {.plane = 1}},
		{.kind = MRC_FABRIC_FLAP, .param = 1},
		{.kind = MRC_FABRIC_RATE},
		{.kind = MRC_FABRIC_DUPLICATE, .param = 1000},
		{.kind = MRC_FABRIC_RESTART},
	};
	uint32_t untouched = 77;

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (bad[i].where.plane == 0)
			bad[i].where = mrc_fabric_everywhere();
		assert_int_equal(mrc_fabric_fault_add(rig.kit.fabric, 0, &bad[i], &untouched),
			MRC_ERR_INVAL);
	}
	assert_int_equal(untouched, 77);
	for (uint32_t i = 0; i < rig.cfg.max_faults; i++)
		fault_rig_add(&rig, MRC_FABRIC_LOSS, 0);
	assert_int_equal(
		mrc_fabric_fault_add(rig.kit.fabric, 0, &rig.fault, &untouched), MRC_ERR_NOMEM);
	assert_int_equal(mrc_fabric_fault_query(rig.kit.fabric, 0, NULL), MRC_ERR_NOENT);
	fault_rig_finish(&rig);
}

static void names(void **state)
{
	for (int k = 0; k < MRC_FABRIC_NB_FAULT_KINDS; k++) {
		assert_non_null(mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)k));
		for (int j = 0; j < k; j++)
			assert_string_not_equal(
				mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)k),
				mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)j));
	}
	assert_null(mrc_fabric_fault_kind_name(MRC_FABRIC_NB_FAULT_KINDS));
	assert_string_equal(mrc_fabric_drop_name(MRC_FABRIC_DROP_MTU), "MTU");
	fault_rig_finish(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(loss_by_rate, setup),
		cmocka_unit_test_setup(loss_in_bursts, setup),
		cmocka_unit_test_setup(bursts_are_as_long_as_told, setup),
		cmocka_unit_test_setup(exactly_the_nth, setup),
		cmocka_unit_test_setup(every_period, setup),
		cmocka_unit_test_setup(match_of_fields, setup),
		cmocka_unit_test_setup(match_fails_on_each_field, setup),
		cmocka_unit_test_setup(black_hole_of_one_ev, setup),
		cmocka_unit_test_setup(retransmissions_only, setup),
		cmocka_unit_test_setup(one_direction_dies, setup),
		cmocka_unit_test_setup(spine_discards, setup),
		cmocka_unit_test_setup(window_of_time, setup),
		cmocka_unit_test_setup(removal_ends_it, setup),
		cmocka_unit_test_setup(duplicates, setup),
		cmocka_unit_test_setup(reordering, setup),
		cmocka_unit_test_setup(late_packet_does_not_block, setup),
		cmocka_unit_test_setup(delay_step_keeps_order, setup),
		cmocka_unit_test_setup(jitter_keeps_order_and_bounds, setup),
		cmocka_unit_test_setup(corrupt_payload, setup),
		cmocka_unit_test_setup(corrupt_header, setup),
		cmocka_unit_test_setup(corrupt_virtual_payload, setup),
		cmocka_unit_test_setup(truncated_and_padded, setup),
		cmocka_unit_test_setup(big_packets_only, setup),
		cmocka_unit_test_setup(ecn_all_none_alternate, setup),
		cmocka_unit_test_setup(trim_is_forced, setup),
		cmocka_unit_test_setup(rate_fault_and_its_end, setup),
		cmocka_unit_test_setup(carrier_takes_all_under_way, setup),
		cmocka_unit_test_setup(flapping_by_schedule, setup),
		cmocka_unit_test_setup(restart_of_a_leaf, setup),
		cmocka_unit_test_setup(two_holds_need_two_releases, setup),
		cmocka_unit_test_setup(refused, setup),
		cmocka_unit_test_setup(names, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
