/* SPDX-License-Identifier: BSD-2-Clause */
/* Marking, trimming and dropping: when, and which bytes come out. */
#include "fabric_kit.h"

#include "mrc_opcode.h"

static struct kit kit;
static struct mrc_fabric_cfg cfg;

/* IPv4 frames of 1250 bytes; 100 ns at 100 Gb/s. */
enum {
	HEAD = 82,
	PAYLOAD = 1250 - HEAD,
	IP = 14,
	UDP = IP + 20,
};

static int setup(void **state)
{
	kit.v6 = false;
	kit_cfg(&kit, &cfg, 1, 0, 3);
	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		cfg.links[c] =
			(struct mrc_fabric_link_cfg){.rate_bps = 100000000000u, .delay_ns = 1000};
	/* Two hosts send at full rate into one slow port. */
	cfg.links[MRC_FABRIC_HOST_DOWN].rate_bps = 10000000000u;
	return 0;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static bool checksum_right(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return sum + (sum >> 16) == 0xFFFF;
}

static void send_burst(uint32_t n, uint8_t cls, uint8_t flags)
{
	for (uint32_t i = 0; i < n; i++) {
		struct kit_pkt what = {.src = 0,
			.dst = 2,
			.psn = i,
			.payload_len = PAYLOAD,
			.cls = cls,
			.flags = flags};

		kit_send(&kit, 0, 0, &what);
	}
}

static void down_counters(struct mrc_fabric_link_counters *out)
{
	mrc_fabric_link_counters_get(kit.fabric, mrc_fabric_next_deadline(kit.fabric),
		kit_link(&kit, MRC_FABRIC_HOST_DOWN, 0, 0, 2), out);
}

/* Reads one packet and decodes it. */
static bool next(struct mrc_pkt *view_out, struct mrc_fabric_pkt *pkt_out)
{
	uint32_t host, plane;

	if (kit_wait(&kit, &host, &plane, pkt_out) == MRC_FABRIC_NEVER)
		return false;
	assert_int_equal(host, 2);
	assert_int_equal(
		mrc_pkt_decode(&kit.proto, pkt_out->data, pkt_out->len, view_out), MRC_KEEP);
	return true;
}

static void full_queue_drops(void **state)
{
	struct mrc_fabric_link_counters c;

	cfg.links[MRC_FABRIC_HOST_DOWN].drop_len = 5000;
	kit_create(&kit, &cfg);
	send_burst(10, MRC_CLASS_NO_TRIM, 0);
	/* 100 ns apart into 1000 ns of service: four fit at once, one more is served before the
	 * tenth is there (it comes 900 ns after the first), so six fall. */
	assert_int_equal(kit_drain(&kit), 4);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_QUEUE), 6);
	down_counters(&c);
	assert_int_equal(c.drops[MRC_FABRIC_DROP_QUEUE], 6);
	assert_int_equal(c.queue_max_len, 5000);
	assert_int_equal(c.offered_packets, 10);
	kit_done(&kit);
}

static void control_queue_drops_apart(void **state)
{
	struct kit_pkt ack = {.dst = 2, .opcode = MRC_OP_ACK, .cls = MRC_CLASS_CONTROL};

	cfg.links[MRC_FABRIC_HOST_DOWN].ctrl_len = 130;
	cfg.links[MRC_FABRIC_HOST_DOWN].rate_bps = 1000000000;
	kit_create(&kit, &cfg);
	for (int i = 0; i < 5; i++)
		kit_send(&kit, 0, 0, &ack);
	/* 62 bytes each: one in service, two in the queue. */
	assert_int_equal(kit_drain(&kit), 3);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_CTRL_QUEUE), 2);
	kit_done(&kit);
}

static void marks_follow_the_queue(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t n = 0, marked = 0;

	/* Marked for certain while 2500 bytes or more wait behind; a step, no slope. */
	cfg.links[MRC_FABRIC_HOST_DOWN].ecn_min_len = 2499;
	cfg.links[MRC_FABRIC_HOST_DOWN].ecn_max_len = 2500;
	kit_create(&kit, &cfg);
	send_burst(8, MRC_CLASS_NO_TRIM, 0);
	while (next(&view, &pkt)) {
		/* The first starts on an empty queue, the last two leave one packet or none. */
		bool want = n >= 1 && n <= 5;

		assert_int_equal((view.flags & MRC_PKT_CE) != 0, want);
		assert_int_equal(view.psn.v, n);
		assert_true(checksum_right(pkt.data + IP));
		assert_true(mrc_pkt_icrc_ok(&view, pkt.data));
		marked += want;
		n++;
		kit_free(&kit, &pkt);
	}
	assert_int_equal(n, 8);
	assert_int_equal(marked, 5);
	kit_done(&kit);
}

static void only_ect_is_marked(void **state)
{
	struct mrc_fabric_link_counters c;

	cfg.links[MRC_FABRIC_HOST_DOWN].ecn_max_len = 1;
	kit_create(&kit, &cfg);
	send_burst(8, MRC_CLASS_NO_TRIM, KIT_NOT_ECT);
	assert_int_equal(kit_drain(&kit), 8);
	down_counters(&c);
	assert_int_equal(c.marks, 0);
	kit_done(&kit);
}

static void red_is_linear(void **state)
{
	struct mrc_fabric_link_counters c;

	/* 2000 starts with 0 .. 1999 packets behind: the mean probability is a half. */
	cfg.links[MRC_FABRIC_HOST_DOWN].ecn_max_len = 1250 * 2000;
	cfg.links[MRC_FABRIC_HOST_DOWN].rate_bps = 1000000;
	kit_create(&kit, &cfg);
	send_burst(2000, MRC_CLASS_NO_TRIM, 0);
	assert_int_equal(kit_drain(&kit), 2000);
	down_counters(&c);
	assert_in_range(c.marks, 900, 1100);
	kit_done(&kit);
}

/* What a trimmed packet must look like. */
static void check_trimmed(const struct mrc_fabric_pkt *pkt, const struct mrc_pkt *view,
	enum mrc_class cls, uint32_t size)
{
	assert_int_equal(pkt->len, size);
	assert_int_equal(pkt->wire_len, size);
	assert_int_equal(pkt->flags, MRC_FABRIC_PKT_TRIMMED);
	assert_true(view->flags & MRC_PKT_TRIMMED);
	assert_int_equal(view->cls, cls);
	assert_int_equal(view->dscp, kit.proto.dscp[cls]);
	assert_int_equal(view->ecn, MRC_ECN_ECT0);
	assert_true(checksum_right(pkt->data + IP));
	assert_int_equal(get16(pkt->data + IP + 2), size - IP);
	assert_int_equal(get16(pkt->data + UDP + 4), size - UDP);
}

static void arriving_packet_is_trimmed(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	/* Two in the queue; the third to the tenth are cut and overtake the second. */
	const uint32_t order[] = {0, 2, 3, 4, 5, 6, 7, 8, 9, 1};

	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 2500;
	cfg.trim_who = MRC_FABRIC_TRIM_ARRIVING;
	cfg.trim_size = 138;
	kit_create(&kit, &cfg);
	send_burst(10, MRC_CLASS_TRIMMABLE, 0);
	for (uint32_t i = 0; i < 10; i++) {
		assert_true(next(&view, &pkt));
		assert_int_equal(view.psn.v, order[i]);
		if (order[i] >= 2)
			check_trimmed(&pkt, &view, MRC_CLASS_TRIMMED_LASTHOP, 138);
		else
			assert_true(mrc_pkt_icrc_ok(&view, pkt.data));
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void last_queued_packet_is_trimmed(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	const uint32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 2500;
	cfg.trim_who = MRC_FABRIC_TRIM_LAST;
	kit_create(&kit, &cfg);
	send_burst(10, MRC_CLASS_TRIMMABLE, 0);
	for (uint32_t i = 0; i < 10; i++) {
		assert_true(next(&view, &pkt));
		assert_int_equal(view.psn.v, order[i]);
		if (i >= 1 && i <= 8)
			check_trimmed(&pkt, &view, MRC_CLASS_TRIMMED_LASTHOP, 256);
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void coin_trims_both(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t trimmed = 0, whole = 0, last_whole = 0;

	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 2500;
	cfg.trim_who = MRC_FABRIC_TRIM_COIN;
	kit_create(&kit, &cfg);
	send_burst(200, MRC_CLASS_TRIMMABLE_RETX, 0);
	while (next(&view, &pkt)) {
		if (view.flags & MRC_PKT_TRIMMED) {
			trimmed++;
		} else {
			whole++;
			last_whole = view.psn.v;
		}
		kit_free(&kit, &pkt);
	}
	assert_int_equal(trimmed + whole, 200);
	/* The trimmed ones alone fill the port, so whole packets only leave before and after them;
	 * the last of these is not the second packet, as it were if only arrivals were cut. */
	assert_in_range(whole, 2, 4);
	assert_true(last_whole > 100);
	kit_done(&kit);
}

static void untrimmable_data_uses_the_room_up_to_drop_len(void **state)
{
	struct mrc_fabric_link_counters c;

	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 2500;
	cfg.links[MRC_FABRIC_HOST_DOWN].drop_len = 5000;
	kit_create(&kit, &cfg);
	send_burst(10, MRC_CLASS_NO_TRIM, 0);
	assert_int_equal(kit_drain(&kit), 4);
	down_counters(&c);
	assert_int_equal(c.trims, 0);
	assert_int_equal(c.drops[MRC_FABRIC_DROP_QUEUE], 6);
	kit_done(&kit);
}

/* An untrimmable packet that comes over the threshold costs the trimmable one before it. */
static void untrimmable_arrival_trims_the_last(void **state)
{
	struct kit_pkt plain = {.dst = 2, .psn = 7, .payload_len = PAYLOAD};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	const uint32_t order[] = {0, 1, 7};

	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 2500;
	cfg.trim_who = MRC_FABRIC_TRIM_ARRIVING;
	kit_create(&kit, &cfg);
	send_burst(2, MRC_CLASS_TRIMMABLE, 0);
	kit_send(&kit, 0, 0, &plain);
	for (int i = 0; i < 3; i++) {
		assert_true(next(&view, &pkt));
		assert_int_equal(view.psn.v, order[i]);
		assert_int_equal((view.flags & MRC_PKT_TRIMMED) != 0, i == 1);
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void trims_inside_have_the_other_dscp(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t trimmed = 0;

	/* Across a spine with slow uplinks. */
	kit_cfg(&kit, &cfg, 3, 1, 1);
	cfg.links[MRC_FABRIC_LEAF_UP].rate_bps = 10000000000u;
	cfg.links[MRC_FABRIC_LEAF_UP].trim_len = 2500;
	kit_create(&kit, &cfg);
	send_burst(10, MRC_CLASS_TRIMMABLE, 0);
	while (next(&view, &pkt)) {
		if (view.flags & MRC_PKT_TRIMMED) {
			check_trimmed(&pkt, &view, MRC_CLASS_TRIMMED, 256);
			trimmed++;
		}
		kit_free(&kit, &pkt);
	}
	assert_int_equal(trimmed, 8);
	kit_done(&kit);
}

/* One packet through a last hop that trims all. */
static void trim_one(struct kit_pkt what, struct mrc_fabric_pkt *pkt_out, struct mrc_pkt *view_out)
{
	what.dst = 2;
	what.cls = MRC_CLASS_TRIMMABLE;
	cfg.links[MRC_FABRIC_HOST_DOWN].trim_len = 100;
	kit_create(&kit, &cfg);
	kit_send(&kit, 0, 0, &what);
	assert_true(next(view_out, pkt_out));
}

static void trimmed_done(struct mrc_fabric_pkt *pkt)
{
	kit_free(&kit, pkt);
	kit_done(&kit);
}

static void ipv6_lengths(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;

	kit.v6 = true;
	kit_cfg(&kit, &cfg, 1, 0, 3);
	trim_one((struct kit_pkt){.payload_len = 4096}, &pkt, &view);
	assert_int_equal(pkt.len, 256);
	assert_int_equal(get16(pkt.data + IP + 4), 256 - 54);
	assert_int_equal(get16(pkt.data + 54 + 4), 256 - 54);
	assert_int_equal(view.cls, MRC_CLASS_TRIMMED_LASTHOP);
	trimmed_done(&pkt);
}

static void lengths_can_be_kept(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;

	cfg.trim_keep_lengths = true;
	trim_one((struct kit_pkt){.payload_len = PAYLOAD}, &pkt, &view);
	assert_int_equal(pkt.len, 256);
	assert_int_equal(get16(pkt.data + IP + 2), 1250 - IP);
	assert_int_equal(view.udp_len, 1250 - UDP);
	assert_true(checksum_right(pkt.data + IP));
	trimmed_done(&pkt);
}

static void small_packets_only_change_their_dscp(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;

	trim_one((struct kit_pkt){.payload_len = 40}, &pkt, &view);
	assert_int_equal(pkt.len, HEAD + 40);
	assert_int_equal(view.cls, MRC_CLASS_TRIMMED_LASTHOP);
	trimmed_done(&pkt);
}

static void virtual_payload_is_cut_too(void **state)
{
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;

	trim_one((struct kit_pkt){.virtual_len = 4096}, &pkt, &view);
	assert_int_equal(pkt.len, HEAD);
	assert_int_equal(pkt.wire_len, 256);
	trimmed_done(&pkt);
}

static void unread_inbox_overflows_with_a_count(void **state)
{
	struct mrc_fabric_pkt pkts[8];

	cfg.max_inbox = 3;
	kit_create(&kit, &cfg);
	send_burst(5, MRC_CLASS_NO_TRIM, 0);
	kit_run(&kit, 1000000);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_INBOX), 2);
	kit_balance(&kit);
	assert_int_equal(mrc_fabric_recv(kit.fabric, 2, 0, pkts, 8), 3);
	for (int i = 0; i < 3; i++)
		kit_free(&kit, &pkts[i]);
	kit_done(&kit);
}

static void records_run_out_with_a_count(void **state)
{
	cfg.max_packets = 4;
	kit_create(&kit, &cfg);
	send_burst(6, MRC_CLASS_NO_TRIM, 0);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_NO_PACKET), 2);
	assert_int_equal(kit_drain(&kit), 4);
	kit_done(&kit);
}

/* Marking and trimming keep their share of a queue; a link that does neither still does neither. */
static void queue_length_moves_the_thresholds(void **state)
{
	struct mrc_fabric_link_cfg link = {.ecn_min_len = 1, .ecn_max_len = 2, .trim_len = 3};
	struct mrc_fabric_link_cfg plain = {.rate_bps = 1};

	mrc_fabric_link_queue_set(&link, 4000000000u);
	assert_int_equal(link.drop_len, 4000000000u);
	assert_int_equal(link.ctrl_len, 4000000000u);
	assert_int_equal(link.ecn_min_len, 800000000u);
	assert_int_equal(link.ecn_max_len, 2400000000u);
	assert_int_equal(link.trim_len, 3200000000u);
	mrc_fabric_link_queue_set(&plain, 5000);
	assert_int_equal(plain.drop_len, 5000);
	assert_int_equal(plain.ecn_max_len, 0);
	assert_int_equal(plain.trim_len, 0);
}

/* What the configuration says of all queues at once: each part alone and all of them together. */
static void queues_of_a_fabric(void **state)
{
	struct mrc_fabric_link_cfg *last = &cfg.links[MRC_FABRIC_HOST_DOWN];
	struct mrc_fabric_link_cfg *inner = &cfg.links[MRC_FABRIC_LEAF_DOWN];
	struct mrc_fabric_link_cfg *nic = &cfg.links[MRC_FABRIC_HOST_UP];
	struct mrc_fabric_link_cfg before;

	mrc_fabric_cfg_default(&cfg, cfg.proto, 100000000000u, 1000);
	before = *inner;
	mrc_fabric_cfg_queues_set(&cfg, &(struct mrc_fabric_queues){.ecn = true});
	assert_int_equal(inner->ecn_max_len, before.ecn_max_len);
	assert_int_equal(inner->drop_len, before.drop_len);
	assert_int_equal(last->ecn_max_len, 0);
	assert_int_equal(inner->trim_len, 0);
	mrc_fabric_cfg_default(&cfg, cfg.proto, 100000000000u, 1000);
	mrc_fabric_cfg_queues_set(
		&cfg, &(struct mrc_fabric_queues){.trimming = true, .ecn_last_hop = true});
	assert_int_equal(inner->trim_len, before.trim_len);
	assert_int_equal(inner->ecn_max_len, 0);
	assert_int_equal(last->ecn_max_len, 0);
	mrc_fabric_cfg_default(&cfg, cfg.proto, 100000000000u, 1000);
	mrc_fabric_cfg_queues_set(&cfg,
		&(struct mrc_fabric_queues){
			.ecn = true, .trimming = true, .ecn_last_hop = true, .queue_len = 50000});
	assert_int_equal(last->ecn_min_len, 10000);
	assert_int_equal(last->ecn_max_len, 30000);
	assert_int_equal(inner->ecn_max_len, 30000);
	assert_int_equal(inner->trim_len, 40000);
	assert_int_equal(last->drop_len, 50000);
	/* A NIC neither marks nor trims its own packets. */
	assert_int_equal(nic->drop_len, 50000);
	assert_int_equal(nic->ecn_max_len, 0);
	assert_int_equal(nic->trim_len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(full_queue_drops, setup),
		cmocka_unit_test_setup(control_queue_drops_apart, setup),
		cmocka_unit_test_setup(marks_follow_the_queue, setup),
		cmocka_unit_test_setup(only_ect_is_marked, setup),
		cmocka_unit_test_setup(red_is_linear, setup),
		cmocka_unit_test_setup(arriving_packet_is_trimmed, setup),
		cmocka_unit_test_setup(last_queued_packet_is_trimmed, setup),
		cmocka_unit_test_setup(coin_trims_both, setup),
		cmocka_unit_test_setup(untrimmable_data_uses_the_room_up_to_drop_len, setup),
		cmocka_unit_test_setup(untrimmable_arrival_trims_the_last, setup),
		cmocka_unit_test_setup(trims_inside_have_the_other_dscp, setup),
		cmocka_unit_test_setup(ipv6_lengths, setup),
		cmocka_unit_test_setup(lengths_can_be_kept, setup),
		cmocka_unit_test_setup(small_packets_only_change_their_dscp, setup),
		cmocka_unit_test_setup(virtual_payload_is_cut_too, setup),
		cmocka_unit_test_setup(unread_inbox_overflows_with_a_count, setup),
		cmocka_unit_test_setup(records_run_out_with_a_count, setup),
		cmocka_unit_test(queue_length_moves_the_thresholds),
		cmocka_unit_test(queues_of_a_fabric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
