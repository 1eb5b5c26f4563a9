/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every setting that changes bytes, by the bytes it changes; and decode stays the inverse of encode
 * under each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_icrc.h"
#include "pkt_kit.h"

/* Offsets in untagged frames without encapsulation. */
enum {
	IP = 14,
	UDP_V4 = IP + 20,
	BTH_V4 = UDP_V4 + 8,
	EXT_V4 = BTH_V4 + 12,
	UDP_V6 = IP + 40,
	BTH_V6 = UDP_V6 + 8,
	EXT_V6 = BTH_V6 + 12,
};

static struct mrc_proto proto;
static uint8_t frame[PKT_KIT_ROOM];
static struct mrc_pkt pkt;

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static int setup(void **state)
{
	mrc_proto_default(&proto);
	return 0;
}

/* The example under the present settings, and what decode says of it. */
static void make(const char *name)
{
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find(name), &pkt, frame);

	memset(&pkt, 0, sizeof(pkt));
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
}

/* O-1 */
static void test_udp_port(void **state)
{
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("write_only-v4"), &pkt, frame);

	assert_int_equal(get16(frame + UDP_V4 + 2), 4791);
	proto.choice.udp_port = 4971;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_UDP_PORT);
	proto.choice.udp_port_alt = 4791;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	make("write_only-v4");
	assert_int_equal(get16(frame + UDP_V4 + 2), 4971);
}

/* A second port of 0 accepts nothing, not port 0. */
static void test_udp_port_alt_unset(void **state)
{
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("write_only-v4"), &pkt, frame);

	memset(frame + UDP_V4 + 2, 0, 2);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_UDP_PORT);
}

/* O-2 spec */
static void test_bth_se_first(void **state)
{
	make("write_only-v4");
	assert_int_equal(frame[BTH_V4 + 1] & 0xC0, 0x80);
	proto.choice.bth_se_first = 0;
	make("write_only-v4");
	assert_int_equal(frame[BTH_V4 + 1] & 0xC0, 0x40);
	assert_int_equal(pkt.flags & (MRC_PKT_SE | MRC_PKT_MIGREQ), MRC_PKT_SE);
	proto.choice.bth_se_first = 1;
	frame[BTH_V4 + 1] |= 0xC0;
	assert_int_equal(mrc_pkt_decode(&proto, frame, sizeof(frame), &pkt), MRC_KEEP);
	assert_int_equal(pkt.flags & (MRC_PKT_SE | MRC_PKT_MIGREQ), MRC_PKT_SE | MRC_PKT_MIGREQ);
}

/* O-3: the kit's EV is 0xABCD4321. spec */
static void test_ev_label_is_high(void **state)
{
	make("sack-v6");
	assert_int_equal(get16(frame + UDP_V6), 0x4321);
	assert_int_equal(get16(frame + IP + 2), 0xABCD);
	assert_int_equal(frame[IP + 1] & 0xF, 0);
	assert_int_equal(pkt.ev, 0xABCD4321);
	proto.choice.ev_label_is_high = 0;
	make("sack-v6");
	assert_int_equal(get16(frame + UDP_V6), 0xABCD);
	assert_int_equal(get16(frame + IP + 2), 0x4321);
	assert_int_equal(pkt.ev, 0xABCD4321);
	frame[IP + 1] |= 0xF; /* the label's upper four bits are no part of it */
	assert_int_equal(mrc_pkt_decode(&proto, frame, sizeof(frame), &pkt), MRC_KEEP);
	assert_int_equal(pkt.ev, 0xABCD4321);
}

/* O-4: the echoed value's other half is zero. spec */
static void test_ipv4_ev_half(void **state)
{
	uint32_t index = pkt_kit_find("write_only-v4");

	pkt_kit_example(&proto, index, &pkt, frame);
	pkt.ev = 0xABCD4321;
	pkt_kit_frame(&proto, &pkt, 0, frame);
	assert_int_equal(get16(frame + UDP_V4), 0x4321);
	assert_int_equal(mrc_pkt_decode(&proto, frame, sizeof(frame), &pkt), MRC_KEEP);
	assert_int_equal(pkt.ev, 0x4321);
	proto.choice.ipv4_ev_high_half = 1;
	pkt.ev = 0xABCD4321;
	pkt_kit_frame(&proto, &pkt, 0, frame);
	assert_int_equal(get16(frame + UDP_V4), 0xABCD);
	assert_int_equal(mrc_pkt_decode(&proto, frame, sizeof(frame), &pkt), MRC_KEEP);
	assert_int_equal(pkt.ev, 0xABCD0000);
}

/* O-6 spec */
static void test_eeth_op_shift(void **state)
{
	for (uint32_t shift = 0; shift <= 14; shift++) {
		proto.choice.eeth_op_shift = shift;
		assert_int_equal(mrc_proto_init(&proto), 0);
		make("ep_rsp-v6");
		assert_int_equal(get16(frame + EXT_V6), 1u << shift);
		assert_int_equal(pkt.ep.op, MRC_EP_EV_PROBE);
	}
}

/* O-7, O-25, O-13: what mrc_pkt_init starts a view with reaches the wire. */
static void test_sent_constants(void **state)
{
	make("nack-v4");
	assert_int_equal(frame[EXT_V4 + 16], 0x20);
	assert_int_equal(frame[EXT_V4 + 3], 0);
	proto.choice.nack_cc_type = 5;
	proto.choice.nack_cc_flags = 6;
	proto.choice.vendor_info = 0xFF;
	proto.choice.tsr = 1;
	make("nack-v4");
	assert_int_equal(frame[EXT_V4 + 16], 0x56);
	assert_int_equal(frame[EXT_V4 + 3], 0xFF);
	assert_int_equal(pkt.nack.cc_type, 5);
	assert_int_equal(pkt.nack.cc_flags, 6);
	assert_int_equal(pkt.nack.vendor_info, 0xFF);
	make("probe-v4");
	assert_int_equal(frame[EXT_V4 + 3], 0xFF);
	assert_int_equal(frame[EXT_V4 + 14], 0x80);
	make("ep_req-v4");
	assert_int_equal(frame[EXT_V4 + 3], 0xFF);
	assert_int_equal(frame[EXT_V4 + 14], 0x80);
	make("write_only-v4");
	assert_int_equal(frame[EXT_V4 + 6], 0x80);
	assert_int_equal(pkt.flags & MRC_PKT_TSR, MRC_PKT_TSR);
}

/* O-19 */
static void test_trim_min_len(void **state)
{
	uint32_t index = pkt_kit_find("write_only-v6-trimmed");
	uint32_t udp = UDP_V6;

	pkt_kit_example(&proto, index, &pkt, frame);
	proto.choice.trim_min_len = 40;
	for (uint32_t len = 28; len <= 44; len++)
		assert_int_equal(mrc_pkt_decode(&proto, frame, udp + len, &pkt),
			len < 40 ? MRC_DROP_TRIM_SHORT : MRC_KEEP);
}

/* O-19 */
static void test_trimmed_by_other_dscp(void **state)
{
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("write_only-v6-trimmed"), &pkt, frame);

	proto.dscp[MRC_CLASS_TRIMMED] = 9;
	assert_int_equal(mrc_proto_init(&proto), 0);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_IP_LENGTH);
	frame[IP] = 0x62; /* DSCP 9, ECT(0) */
	frame[IP + 1] = 0x60;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.cls, MRC_CLASS_TRIMMED);
}

/* O-20, O-21: label copied outward or not, the sum never covers it. spec */
static void test_srv6_label_copy(void **state)
{
	uint8_t copied[PKT_KIT_ROOM];

	make("write_only-srv6");
	assert_int_equal(get16(frame + IP + 2), 0xABCD);
	assert_int_equal(get16(frame + IP + 42), 0xABCD);
	assert_int_equal(get16(frame + IP + 80), 0x4321);
	memcpy(copied, frame, sizeof(copied));
	proto.choice.srv6_label_copy = 0;
	make("write_only-srv6");
	assert_int_equal(get16(frame + IP + 2), 0);
	assert_int_equal(pkt.ev, 0xABCD4321);
	assert_memory_equal(frame + IP + 4, copied + IP + 4, 40 + 40 + 8 + 12 + 24 + 24 + 4 - 4);
}

/* O-24 */
static void test_probe_id_in_psn(void **state)
{
	make("probe-v4");
	assert_int_equal(pkt.psn.v, 0);
	proto.choice.probe_id_in_psn = 1;
	make("probe-v4");
	assert_int_equal(pkt.psn.v, 0x1112);
	assert_int_equal(pkt.probe.probe_id, 0x1112);
	assert_int_equal(get16(frame + BTH_V4 + 10), 0x1112);
}

/* O-26: every reserved bit of every kind, by its place on the wire. */
static const struct {
	const char *name;
	uint8_t at; /* from the first byte behind the BTH */
	uint8_t mask;
} reserved[] = {
	{"write_only-v4", 6, 0x7F},
	{"write_only-v4", 7, 0xF0},
	{"sack-v4", 0, 0xFF},
	{"sack-v4", 1, 0x9D},
	{"sack-v4", 12, 0xFF},
	{"sack-v4", 30, 0x80},
	{"nack-v4", 0, 0xFF},
	{"nack-v4", 1, 0xFF},
	{"nack-v4", 12, 0xFF},
	{"nack-v4", 17, 0xFF},
	{"probe-v4", 0, 0xFF},
	{"probe-v4", 1, 0xFF},
	{"probe-v4", 2, 0xFF},
	{"probe-v4", 6, 0xFF},
	{"probe-v4", 7, 0xFF},
	{"probe-v4", 14, 0x7F},
	{"probe-v4", 15, 0xF0},
	{"ep_req-v4", 0, 0xFF},
	{"ep_req-v4", 1, 0xFC},
	{"ep_req-v4", 2, 0xFF},
	{"ep_req-v4", 8, 0xFF},
	{"ep_req-v4", 11, 0xFF},
	{"ep_req-v4", 14, 0x7F},
	{"ep_req-v4", 15, 0xF0},
	{"ep_rsp-v4", 0, 0xFF},
	{"ep_rsp-v4", 1, 0xF3},
	{"ep_rsp-v4", 2, 0xFF},
	{"ep_rsp-v4", 27, 0xFF},
	{"ep_rsp-v4", 30, 0xFF},
	{"ep_rsp-v4", 35, 0xFF},
};

static void check_reserved(uint32_t len, uint32_t at, uint32_t mask)
{
	struct mrc_pkt before, after;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	for (uint32_t bit = 1; bit < 0x100; bit <<= 1) {
		if (!(mask & bit))
			continue;
		proto.choice.reserved_check = 1;
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &before), MRC_KEEP);
		frame[at] ^= (uint8_t)bit;
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &after), MRC_DROP_EXT_RESERVED);
		proto.choice.reserved_check = 0;
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &after), MRC_KEEP);
		assert_memory_equal(&before, &after, sizeof(before));
		frame[at] ^= (uint8_t)bit;
	}
}

/* spec */
static void test_reserved_check(void **state)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		uint32_t len = pkt_kit_example(&proto, pkt_kit_find(reserved[i].name), &pkt, frame);

		check_reserved(len, EXT_V4 + reserved[i].at, reserved[i].mask);
	}
}

static void test_reserved_check_bth(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_OPCODES; i++) {
		uint32_t len = pkt_kit_example(&proto, i * PKT_KIT_NB_SHAPES, &pkt, frame);

		check_reserved(len, BTH_V4 + 8, 0x4F);
		/* Byte 4 may change on the way: never refused. */
		proto.choice.reserved_check = 1;
		frame[BTH_V4 + 4] = 0xFF;
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	}
}

/* The parts of endpoint operations that only one of them uses. */
static void test_reserved_check_endpoint(void **state)
{
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("ep_req-v4"), &pkt, frame);

	proto.choice.reserved_check = 1;
	frame[EXT_V4 + 1] = MRC_EP_EV_PROBE; /* with a port mask */
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_EXT_RESERVED);
	assert_int_equal(frame[EXT_V4 + 4], 0x11);
	proto.choice.reserved_check = 0;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.ep.port_mask, 0);
	proto.choice.reserved_check = 1;
	len = pkt_kit_example(&proto, pkt_kit_find("ep_rsp-v4"), &pkt, frame);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	frame[BTH_V4 + 9] = 1; /* a request id of more than 16 bits */
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_EXT_RESERVED);
}

/* Trimmed down to TSETH or less the check reads nothing that is not there. */
static void test_reserved_check_trimmed(void **state)
{
	uint8_t *exact;

	proto.choice.reserved_check = 1;
	pkt_kit_example(&proto, pkt_kit_find("write_only-v4-trimmed"), &pkt, frame);
	exact = malloc(UDP_V4 + 28);
	memcpy(exact, frame, UDP_V4 + 28);
	assert_int_equal(mrc_pkt_decode(&proto, exact, UDP_V4 + 28, &pkt), MRC_KEEP);
	exact[EXT_V4 + 6] = 1;
	assert_int_equal(mrc_pkt_decode(&proto, exact, UDP_V4 + 28, &pkt), MRC_DROP_EXT_RESERVED);
	free(exact);
}

/* All settings other than their defaults at once: still inverse, ICRC right, for every kind. */
static void test_inverse_under_all_settings(void **state)
{
	struct mrc_choice *choice = &proto.choice;

	choice->udp_port = 4971;
	choice->bth_se_first = 0;
	choice->ev_label_is_high = 0;
	choice->ipv4_ev_high_half = 1;
	choice->eeth_op_shift = 4;
	choice->nack_cc_type = 0;
	choice->tsr = 1;
	choice->srv6_label_copy = 0;
	choice->probe_id_in_psn = 1;
	choice->vendor_info = 0xFF;
	choice->reserved_check = 1;
	proto.pkey = 0x8005;
	for (uint32_t cls = 0; cls < MRC_CLASS_OTHER; cls++)
		proto.dscp[cls] = (uint8_t)(50 + cls);
	assert_int_equal(mrc_proto_init(&proto), 0);
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t again[PKT_KIT_ROOM];
		uint32_t len = pkt_kit_example(&proto, i, &pkt, frame);
		int hdr_len;

		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
		hdr_len = mrc_pkt_encode(&proto, &pkt, again, sizeof(again));
		assert_int_equal(hdr_len, pkt.payload_off);
		assert_memory_equal(again, frame, pkt.payload_off);
		if (!(pkt.flags & MRC_PKT_TRIMMED))
			assert_true(mrc_pkt_icrc_ok(&pkt, frame));
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_udp_port),
		TEST(test_udp_port_alt_unset),
		TEST(test_bth_se_first),
		TEST(test_ev_label_is_high),
		TEST(test_ipv4_ev_half),
		TEST(test_eeth_op_shift),
		TEST(test_sent_constants),
		TEST(test_trim_min_len),
		TEST(test_trimmed_by_other_dscp),
		TEST(test_srv6_label_copy),
		TEST(test_probe_id_in_psn),
		TEST(test_reserved_check),
		TEST(test_reserved_check_bth),
		TEST(test_reserved_check_endpoint),
		TEST(test_reserved_check_trimmed),
		TEST(test_inverse_under_all_settings),
	};
#undef TEST

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
