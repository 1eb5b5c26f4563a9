/* SPDX-License-Identifier: BSD-2-Clause */
/* Which way packets go: hash, structured EV, uSID lists, flooding, unknown destinations. */
#include "fabric_kit.h"

static struct kit kit;
static struct mrc_fabric_cfg cfg;

static int setup(void **state)
{
	kit.v6 = true;
	kit_cfg(&kit, &cfg, 4, 4, 2);
	return 0;
}

static uint64_t uplink_packets(uint32_t leaf, uint32_t spine)
{
	struct mrc_fabric_link_counters c;

	mrc_fabric_link_counters_get(
		kit.fabric, 0, kit_link(&kit, MRC_FABRIC_LEAF_UP, 0, leaf, spine), &c);
	return c.tx_packets;
}

static void hash_spreads_and_is_stable(void **state)
{
	kit_create(&kit, &cfg);
	for (uint32_t ev = 0; ev < 1000; ev++) {
		struct kit_pkt what = {.dst = 7, .ev = ev << 16 | (0xC000 + ev)};

		kit_send(&kit, 0, 0, &what);
	}
	assert_int_equal(kit_drain(&kit), 1000);
	for (uint32_t s = 0; s < 4; s++)
		assert_in_range(uplink_packets(0, s), 200, 300);
	/* One flow keeps its path. */
	for (uint32_t i = 0; i < 64; i++) {
		struct kit_pkt what = {.src = 2, .dst = 7, .ev = 77, .psn = i};

		kit_send(&kit, 1000000, 0, &what);
	}
	assert_int_equal(kit_drain(&kit), 64);
	for (uint32_t s = 0; s < 4; s++)
		assert_true(uplink_packets(1, s) == 0 || uplink_packets(1, s) == 64);
	kit_done(&kit);
}

static void every_part_of_the_flow_counts(void **state)
{
	uint64_t seen = 0;

	kit_create(&kit, &cfg);
	/* Flow label alone, port alone, addresses alone: each must be able to move a packet. */
	for (uint32_t i = 0; i < 32; i++) {
		struct kit_pkt what = {.dst = 7, .ev = i << 16};

		kit_send(&kit, 0, 0, &what);
	}
	kit_drain(&kit);
	for (uint32_t s = 0; s < 4; s++)
		seen += uplink_packets(0, s) != 0;
	assert_int_equal(seen, 4);
	for (uint32_t i = 0; i < 32; i++) {
		struct kit_pkt what = {.src = 2, .dst = 7, .ev = i};

		kit_send(&kit, 100000, 0, &what);
	}
	kit_drain(&kit);
	for (uint32_t s = 0; s < 4; s++)
		seen += uplink_packets(1, s) != 0;
	assert_int_equal(seen, 8);
	kit_done(&kit);
}

static void switches_hash_differently(void **state)
{
	uint32_t differ = 0;

	kit_create(&kit, &cfg);
	for (uint32_t ev = 0; ev < 64; ev++) {
		uint64_t before[8];
		struct kit_pkt what = {.dst = 7, .ev = ev};

		for (uint32_t i = 0; i < 8; i++)
			before[i] = uplink_packets(i / 4, i % 4);
		kit_send(&kit, ev * 100000, 0, &what);
		kit_drain(&kit);
		/* The same packet, entering at another leaf. */
		struct mrc_fabric_pkt pkt = kit_frame(&kit, &what);

		mrc_fabric_send(kit.fabric, ev * 100000 + 50000, 2, 0, &pkt);
		kit_drain(&kit);
		for (uint32_t s = 0; s < 4; s++) {
			bool first = uplink_packets(0, s) != before[s];
			bool second = uplink_packets(1, s) != before[4 + s];

			differ += first && !second;
		}
	}
	assert_in_range(differ, 32, 62);
	kit_done(&kit);
}

static void reroute_leaves_out_dead_uplinks(void **state)
{
	cfg.reroute = true;
	kit_create(&kit, &cfg);
	mrc_fabric_link_carrier_set(
		kit.fabric, 0, kit_link(&kit, MRC_FABRIC_LEAF_UP, 0, 0, 2), false);
	for (uint32_t ev = 0; ev < 300; ev++) {
		struct kit_pkt what = {.dst = 7, .ev = ev};

		kit_send(&kit, 0, 0, &what);
	}
	assert_int_equal(kit_drain(&kit), 300);
	assert_int_equal(uplink_packets(0, 2), 0);
	for (uint32_t s = 0; s < 4; s += s == 1 ? 2 : 1)
		assert_in_range(uplink_packets(0, s), 70, 130);
	kit_done(&kit);
}

static void static_routes_lose(void **state)
{
	uint32_t got;

	kit_create(&kit, &cfg);
	mrc_fabric_link_carrier_set(
		kit.fabric, 0, kit_link(&kit, MRC_FABRIC_LEAF_DOWN, 0, 0, 2), false);
	for (uint32_t ev = 0; ev < 400; ev++) {
		struct kit_pkt what = {.dst = 7, .ev = ev};

		kit_send(&kit, 0, 0, &what);
	}
	got = kit_drain(&kit);
	assert_in_range(got, 260, 340);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_CARRIER), 400 - got);
	kit_done(&kit);
}

static void ev_field_picks_the_uplink(void **state)
{
	cfg.forward = MRC_FABRIC_STEV;
	cfg.stev_shift = 20;
	cfg.stev_width = 3;
	kit_create(&kit, &cfg);
	for (uint32_t field = 0; field < 8; field++) {
		struct kit_pkt what = {.dst = 7, .ev = field << 20 | 0x0F0FF};
		uint64_t before = uplink_packets(0, field % 4);

		kit_send(&kit, field * 100000, 0, &what);
		assert_int_equal(kit_drain(&kit), 1);
		assert_int_equal(uplink_packets(0, field % 4), before + 1);
	}
	kit_done(&kit);
}

/* ---- SRv6: block FCBB:BB00+plane, leaves 0x1000, spines 0x2000, downlinks 0x4000 */

static void usids(uint8_t out[16], uint32_t block, const uint16_t *ids, int n)
{
	memset(out, 0, 16);
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(block >> (24 - 8 * i));
	for (int i = 0; i < n; i++) {
		out[4 + 2 * i] = (uint8_t)(ids[i] >> 8);
		out[5 + 2 * i] = (uint8_t)ids[i];
	}
}

static void srv6_on(bool decap)
{
	cfg.forward = MRC_FABRIC_SRV6;
	cfg.srv6_decap = decap;
	kit_create(&kit, &cfg);
}

static void usid_list_is_followed(void **state)
{
	uint8_t list[16], rest[16];
	/* Own leaf, spine 3, leaf 2, downlink 1 = host 5; the destination inside says 5 too. */
	const uint16_t ids[] = {0x1000, 0x2003, 0x1002, 0x4001};
	struct kit_pkt what = {.dst = 5, .payload_len = 64, .usids = list};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane;

	srv6_on(false);
	usids(list, 0xFCBBBB00, ids, 4);
	usids(rest, 0xFCBBBB00, ids + 3, 1);
	kit_send(&kit, 0, 0, &what);
	assert_int_not_equal(kit_wait(&kit, &host, &plane, &pkt), MRC_FABRIC_NEVER);
	assert_int_equal(host, 5);
	assert_int_equal(uplink_packets(0, 3), 1);
	assert_int_equal(mrc_pkt_decode(&kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
	assert_memory_equal(view.outer_dst.raw, rest, 16);
	assert_true(mrc_pkt_icrc_ok(&view, pkt.data));
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void list_may_begin_at_the_spine(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x2001, 0x1003, 0x4000};
	struct kit_pkt what = {.dst = 6, .usids = list};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	srv6_on(false);
	usids(list, 0xFCBBBB00, ids, 3);
	kit_send(&kit, 0, 0, &what);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(host, 6);
	assert_int_equal(uplink_packets(0, 1), 1);
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

/* A probe that comes back to its sender over a spine: what a prober sends. */
static void loop_back_to_the_sender(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x1000, 0x2002, 0x1000, 0x4000};
	struct kit_pkt what = {.dst = 0, .usids = list};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	srv6_on(false);
	usids(list, 0xFCBBBB00, ids, 4);
	kit_send(&kit, 0, 0, &what);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(host, 0);
	assert_int_equal(uplink_packets(0, 2), 1);
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void segment_replaces_an_exhausted_list(void **state)
{
	uint8_t list[16], segment[16];
	const uint16_t first[] = {0x1000}, then[] = {0x2003, 0x1001, 0x4001};
	struct kit_pkt what = {.dst = 3, .usids = list, .segment = segment};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane;

	srv6_on(false);
	usids(list, 0xFCBBBB00, first, 1);
	usids(segment, 0xFCBBBB00, then, 3);
	kit_send(&kit, 0, 0, &what);
	assert_int_not_equal(kit_wait(&kit, &host, &plane, &pkt), MRC_FABRIC_NEVER);
	assert_int_equal(host, 3);
	assert_int_equal(uplink_packets(0, 3), 1);
	/* Segments left is 0 now. */
	assert_int_equal(pkt.data[14 + 40 + 3], 0);
	assert_int_equal(mrc_pkt_decode(&kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void last_leaf_decapsulates(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x1000, 0x2000, 0x1002, 0x4001};
	struct kit_pkt what = {.dst = 5, .payload_len = 64, .usids = list};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane, len;

	srv6_on(true);
	usids(list, 0xFCBBBB00, ids, 4);
	pkt = kit_frame(&kit, &what);
	len = pkt.len;
	mrc_fabric_send(kit.fabric, 0, 0, 0, &pkt);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(host, 5);
	assert_int_equal(pkt.len, len - 40);
	assert_int_equal(mrc_pkt_decode(&kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
	assert_int_equal(view.flags & MRC_PKT_SRV6, 0);
	assert_true(mrc_pkt_icrc_ok(&view, pkt.data));
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void outer_mark_survives_decapsulation(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x1000, 0x2000, 0x1002, 0x4001};
	struct kit_pkt what = {.dst = 5, .payload_len = 64, .usids = list};
	struct mrc_fabric_fault fault = {
		.kind = MRC_FABRIC_ECN_ALL, .where = mrc_fabric_everywhere()};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane, handle;

	srv6_on(true);
	fault.where.classes = 1u << MRC_FABRIC_LEAF_UP;
	assert_int_equal(mrc_fabric_fault_add(kit.fabric, 0, &fault, &handle), MRC_OK);
	usids(list, 0xFCBBBB00, ids, 4);
	kit_send(&kit, 0, 0, &what);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(mrc_pkt_decode(&kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
	assert_true(view.flags & MRC_PKT_CE);
	assert_true(mrc_pkt_icrc_ok(&view, pkt.data));
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void outer_trim_leaves_the_inside_alone(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x1000, 0x2000, 0x1002, 0x4001};
	struct kit_pkt what = {
		.dst = 5, .payload_len = 1024, .usids = list, .cls = MRC_CLASS_TRIMMABLE};
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;
	uint32_t host, plane, inner_len;

	cfg.links[MRC_FABRIC_LEAF_UP].trim_len = 100;
	srv6_on(false);
	usids(list, 0xFCBBBB00, ids, 4);
	pkt = kit_frame(&kit, &what);
	inner_len = (uint32_t)pkt.data[54 + 4] << 8 | pkt.data[54 + 5];
	mrc_fabric_send(kit.fabric, 0, 0, 0, &pkt);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(pkt.len, 256);
	assert_int_equal(pkt.data[14 + 4] << 8 | pkt.data[14 + 5], 256 - 54);
	assert_int_equal(pkt.data[54 + 4] << 8 | pkt.data[54 + 5], inner_len);
	assert_int_equal(mrc_pkt_decode(&kit.proto, pkt.data, pkt.len, &view), MRC_KEEP);
	assert_int_equal(view.cls, MRC_CLASS_TRIMMED);
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void wrong_usid_has_no_route(void **state)
{
	uint8_t list[16];
	const uint16_t ids[] = {0x1000, 0x3333};
	const uint16_t back[] = {0x1000, 0x2000, 0x2001};
	struct kit_pkt what = {.dst = 5, .usids = list};

	srv6_on(false);
	usids(list, 0xFCBBBB00, ids, 2);
	kit_send(&kit, 0, 0, &what);
	assert_int_equal(kit_drain(&kit), 0);
	usids(list, 0xFCBBBB00, back, 3);
	kit_send(&kit, 100000, 0, &what);
	assert_int_equal(kit_drain(&kit), 0);
	usids(list, 0xFCFFFFFF, ids, 2);
	kit_send(&kit, 200000, 0, &what);
	assert_int_equal(kit_drain(&kit), 0);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_NO_ROUTE), 3);
	kit_done(&kit);
}

static void plain_packets_still_pass_under_srv6(void **state)
{
	struct kit_pkt what = {.dst = 5};

	srv6_on(false);
	kit_send(&kit, 0, 0, &what);
	assert_int_equal(kit_drain(&kit), 1);
	kit_done(&kit);
}

/* ---- other frames */

/* Everybody but the sender, once each, on the sender's plane. */
static void check_flooded(const uint8_t *bytes, uint32_t len)
{
	struct mrc_fabric_pkt pkt = kit_raw(&kit, bytes, len);
	uint32_t host, plane, seen = 0;

	mrc_fabric_send(kit.fabric, 0, 3, 0, &pkt);
	while (kit_wait(&kit, &host, &plane, &pkt) != MRC_FABRIC_NEVER) {
		assert_int_equal(seen >> host & 1, 0);
		assert_int_equal(pkt.len, len);
		assert_memory_equal(pkt.data, bytes, len);
		seen |= 1u << host;
		kit_free(&kit, &pkt);
	}
	assert_int_equal(seen, 0xFF & ~(1u << 3));
}

static void arp_is_flooded(void **state)
{
	uint8_t arp[60] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 3, 0x08, 0x06, 0, 1};
	uint8_t reply[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0x08, 0x06, 0, 1};

	kit_create(&kit, &cfg);
	check_flooded(arp, sizeof(arp));
	check_flooded(reply, sizeof(reply));
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_FLOODED), 2);
	kit_done(&kit);
}

static void neighbour_discovery_is_flooded(void **state)
{
	uint8_t ns[86] = {0x33, 0x33, 0xFF, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0x86, 0xDD, 0x60, 0, 0, 0, 0,
		32, 58, 255};

	kit_create(&kit, &cfg);
	ns[14 + 24] = 0xFF;
	ns[14 + 25] = 2;
	check_flooded(ns, sizeof(ns));
	/* The answer goes to a link-local address nobody told the fabric of. */
	ns[0] = 2;
	ns[14 + 24] = 0xFE;
	ns[14 + 25] = 0x80;
	check_flooded(ns, sizeof(ns));
	kit_done(&kit);
}

static void foreign_packets_are_forwarded(void **state)
{
	/* ICMP over IPv4 to ::ffff:10.0.0.9, an address added at run time. */
	uint8_t icmp[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0,
		64, 1, 0, 0, 10, 0, 0, 3, 10, 0, 0, 9};
	struct mrc_fabric_addr addr = {{{[10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 9}}, 6};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	kit_create(&kit, &cfg);
	pkt = kit_raw(&kit, icmp, sizeof(icmp));
	mrc_fabric_send(kit.fabric, 0, 0, 0, &pkt);
	assert_int_equal(kit_drain(&kit), 0);
	assert_int_equal(kit_dropped(&kit, MRC_FABRIC_DROP_NO_ROUTE), 1);
	assert_int_equal(mrc_fabric_addr_add(kit.fabric, &addr), MRC_ERR_NOMEM);
	/* All slots are taken, but an address may move. */
	addr.gid = kit_gid(&kit, 1);
	assert_int_equal(mrc_fabric_addr_add(kit.fabric, &addr), MRC_OK);
	struct kit_pkt moved = {.dst = 1};

	kit_send(&kit, 100000, 0, &moved);
	kit_wait(&kit, &host, &plane, &pkt);
	assert_int_equal(host, 6);
	kit_free(&kit, &pkt);
	kit_done(&kit);
}

static void planes_are_apart(void **state)
{
	struct kit_pkt what = {.dst = 7};
	struct mrc_fabric_pkt pkt;
	uint32_t host, plane;

	cfg.nb_planes = 3;
	kit_create(&kit, &cfg);
	for (uint32_t p = 0; p < 3; p++) {
		kit_send(&kit, p * 100000, p, &what);
		kit_wait(&kit, &host, &plane, &pkt);
		assert_int_equal(host, 7);
		assert_int_equal(plane, p);
		kit_free(&kit, &pkt);
	}
	kit_done(&kit);
}

static void link_numbers_round_trip(void **state)
{
	cfg.nb_planes = 2;
	kit_create(&kit, &cfg);
	assert_int_equal(mrc_fabric_nb_links(kit.fabric), 2 * (2 * 8 + 2 * 16));
	for (uint32_t l = 0; l < mrc_fabric_nb_links(kit.fabric); l++) {
		struct mrc_fabric_link_id id = mrc_fabric_link_id(kit.fabric, l);

		assert_int_equal(mrc_fabric_link_index(kit.fabric, &id), l);
	}
	kit_done(&kit);
}

static uint32_t selected(const struct mrc_fabric_where *where)
{
	uint32_t n = 0;

	for (uint32_t l = mrc_fabric_link_next(kit.fabric, where, UINT32_MAX); l != UINT32_MAX;
		l = mrc_fabric_link_next(kit.fabric, where, l))
		n++;
	return n;
}

static void selectors(void **state)
{
	struct mrc_fabric_where w = mrc_fabric_everywhere();

	cfg.nb_planes = 2;
	kit_create(&kit, &cfg);
	assert_int_equal(selected(&w), 96);
	w.plane = 1;
	assert_int_equal(selected(&w), 48);
	w.leaf = 2; /* two hosts and four spines, both ways */
	assert_int_equal(selected(&w), 12);
	w.spine = 0;
	assert_int_equal(selected(&w), 2);
	w.classes = 1u << MRC_FABRIC_LEAF_DOWN;
	assert_int_equal(selected(&w), 1);
	w = mrc_fabric_everywhere();
	w.host = 5;
	assert_int_equal(selected(&w), 4);
	w.host = 8;
	assert_int_equal(selected(&w), 0);
	kit_done(&kit);
}

static void create_refuses(void **state)
{
	struct mrc_fabric_ops ops = {0};
	struct mrc_fabric *fabric;
	struct mrc_fabric_cfg bad;

	assert_int_equal(mrc_fabric_create(&cfg, &kit.te.env, &ops, &fabric), MRC_ERR_INVAL);
	kit_create(&kit, &cfg);
	kit_done(&kit);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		kit_cfg(&kit, &bad, 4, 4, 2);                                                      \
		bad.change;                                                                        \
		ops.free = (void (*)(void *, const struct mrc_fabric_pkt *))kit_free;              \
		assert_int_equal(                                                                  \
			mrc_fabric_create(&bad, &kit.te.env, &ops, &fabric), MRC_ERR_INVAL);       \
	} while (0)
	REFUSED(nb_planes = 0);
	REFUSED(nb_planes = MRC_MAX_PLANES + 1);
	REFUSED(nb_leaves = 0);
	REFUSED(nb_spines = 0);
	REFUSED(hosts_per_leaf = 0);
	REFUSED(max_packets = 0);
	REFUSED(max_faults = 0);
	REFUSED(trim_size = 60);
	REFUSED(stev_width = 0);
	REFUSED(nb_addrs = 1);
	bad.forward = MRC_FABRIC_SRV6;
	REFUSED(forward = MRC_FABRIC_SRV6; bad.srv6_spine_base = bad.srv6_leaf_base + 3);
#undef REFUSED
}

static void create_survives_short_memory(void **state)
{
	struct mrc_fabric_ops ops = {
		.free = (void (*)(void *, const struct mrc_fabric_pkt *))kit_free};
	struct mrc_fabric *fabric = NULL;
	uint32_t n;

	for (n = 0; n < 40; n++) {
		kit.te.fail_after = n;
		if (mrc_fabric_create(&cfg, &kit.te.env, &ops, &fabric) == MRC_OK)
			break;
		assert_int_equal(kit.te.blocks_in_use, 0);
	}
	assert_in_range(n, 5, 39);
	mrc_fabric_destroy(fabric);
	test_env_done(&kit.te);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hash_spreads_and_is_stable, setup),
		cmocka_unit_test_setup(every_part_of_the_flow_counts, setup),
		cmocka_unit_test_setup(switches_hash_differently, setup),
		cmocka_unit_test_setup(reroute_leaves_out_dead_uplinks, setup),
		cmocka_unit_test_setup(static_routes_lose, setup),
		cmocka_unit_test_setup(ev_field_picks_the_uplink, setup),
		cmocka_unit_test_setup(usid_list_is_followed, setup),
		cmocka_unit_test_setup(list_may_begin_at_the_spine, setup),
		cmocka_unit_test_setup(loop_back_to_the_sender, setup),
		cmocka_unit_test_setup(segment_replaces_an_exhausted_list, setup),
		cmocka_unit_test_setup(last_leaf_decapsulates, setup),
		cmocka_unit_test_setup(outer_mark_survives_decapsulation, setup),
		cmocka_unit_test_setup(outer_trim_leaves_the_inside_alone, setup),
		cmocka_unit_test_setup(wrong_usid_has_no_route, setup),
		cmocka_unit_test_setup(plain_packets_still_pass_under_srv6, setup),
		cmocka_unit_test_setup(arp_is_flooded, setup),
		cmocka_unit_test_setup(neighbour_discovery_is_flooded, setup),
		cmocka_unit_test_setup(foreign_packets_are_forwarded, setup),
		cmocka_unit_test_setup(planes_are_apart, setup),
		cmocka_unit_test_setup(link_numbers_round_trip, setup),
		cmocka_unit_test_setup(selectors, setup),
		cmocka_unit_test_setup(create_refuses, setup),
		cmocka_unit_test_setup(create_survives_short_memory, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
