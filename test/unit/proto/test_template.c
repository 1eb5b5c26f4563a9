/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Templates write what encode writes, for every shape and whatever varies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_err.h"
#include "pkt_kit.h"
#include "test_env.h"

static struct mrc_proto proto;

static int setup(void **state)
{
	mrc_proto_default(&proto);
	return 0;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static struct mrc_flow flow_of(const struct mrc_pkt *pkt)
{
	struct mrc_flow flow = {
		.vlan_tci = pkt->vlan_tci,
		.ttl = pkt->ttl,
		.flags = pkt->flags & (MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH),
		.src = pkt->src,
		.dst = pkt->dst,
		.outer_src = pkt->outer_src,
	};

	memcpy(flow.dmac, pkt->dmac, sizeof(flow.dmac));
	memcpy(flow.smac, pkt->smac, sizeof(flow.smac));
	return flow;
}

/* A header built the fast way, from template and transport. */
static uint32_t build(const struct mrc_pkt *pkt, uint32_t body_len, uint8_t *hdr)
{
	struct mrc_flow flow = flow_of(pkt);
	struct mrc_template_vary vary = {
		.ev = pkt->ev,
		.cls = pkt->cls,
		.ecn = pkt->ecn,
		.body_len = (uint16_t)body_len,
		.srv6_dst = pkt->flags & MRC_PKT_SRV6 ? &pkt->outer_dst : NULL,
		.srv6_seg = pkt->flags & MRC_PKT_SRH ? &pkt->srh_seg : NULL,
	};
	struct mrc_template tmpl;
	uint32_t len;

	assert_int_equal(mrc_template_init(&tmpl, &proto, &flow), MRC_OK);
	assert_int_equal(tmpl.flags, flow.flags | (pkt->flags & MRC_PKT_V6));
	len = mrc_template_put(&tmpl, &proto, &vary, hdr);
	assert_int_equal(len, tmpl.len);
	return (uint32_t)(mrc_pkt_put_transport(&proto, pkt, hdr + len) - hdr);
}

static void test_same_as_encode(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM], hdr[MRC_HDR_ROOM];
		struct mrc_pkt view, pkt;
		uint32_t len = pkt_kit_example(&proto, i, &view, frame);

		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
		assert_int_equal(build(&view, pkt.udp_len - 8u, hdr), pkt.payload_off);
		assert_memory_equal(hdr, frame, pkt.payload_off);
	}
}

/* Everything that varies, at random; the IPv4 checksum comes out right each time. */
static void test_varying(void **state)
{
	struct test_env te;

	test_env_init(&te, 9);
	for (uint32_t n = 0; n < 200000; n++) {
		uint32_t shape = test_random_below(&te, PKT_KIT_NB_SHAPES);
		uint8_t frame[PKT_KIT_ROOM], hdr[MRC_HDR_ROOM];
		struct mrc_pkt view;
		struct pkt_kit_case kind;
		int hdr_len;
		uint32_t body;

		pkt_kit_case(4 * PKT_KIT_NB_SHAPES + shape, &kind);
		pkt_kit_view(&proto, &kind, (uint16_t)test_random_below(&te, 4097), &view);
		view.ev = (uint32_t)test_random64(&te);
		view.cls = (uint8_t)test_random_below(&te, MRC_CLASS_TRIMMED);
		view.ecn = (uint8_t)test_random_below(&te, 4);
		view.ttl = (uint8_t)test_random64(&te);
		memcpy(view.src.raw + 12, &n, 4);
		hdr_len = mrc_pkt_encode(&proto, &view, frame, sizeof(frame));
		assert_true(hdr_len > 0);
		body = 12 + 24 + ((view.payload_len + 3u) & ~3u) + 4;
		assert_int_equal(build(&view, body, hdr), hdr_len);
		assert_memory_equal(hdr, frame, (size_t)hdr_len);
	}
}

/* The incremental checksum against the sum over the header, for every length. */
static void test_ipv4_checksum(void **state)
{
	struct mrc_pkt view;
	struct pkt_kit_case kind;

	pkt_kit_case(pkt_kit_find("write_only-v4"), &kind);
	pkt_kit_view(&proto, &kind, 0, &view);
	for (uint32_t body = 0; body <= 65535 - 28; body++) {
		uint8_t hdr[MRC_HDR_ROOM];
		uint32_t sum = 0;

		build(&view, body, hdr);
		for (uint32_t i = 14; i < 34; i += 2)
			sum += get16(hdr + i);
		sum = (sum & 0xFFFF) + (sum >> 16);
		sum = (sum & 0xFFFF) + (sum >> 16);
		assert_int_equal(sum, 0xFFFF);
		assert_int_equal(get16(hdr + 16), body + 28);
	}
}

static void test_offsets(void **state)
{
	struct mrc_flow flow = {.ttl = 1, .src.raw[0] = 0x20, .dst.raw[0] = 0x20};
	struct mrc_template tmpl;

	assert_int_equal(mrc_template_init(&tmpl, &proto, &flow), MRC_OK);
	assert_int_equal(tmpl.len, 62);
	assert_int_equal(tmpl.ip_off, 14);
	assert_int_equal(tmpl.outer_off, 14);
	flow.flags = MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH;
	assert_int_equal(mrc_template_init(&tmpl, &proto, &flow), MRC_OK);
	assert_int_equal(tmpl.len, 18 + 40 + 24 + 48);
	assert_int_equal(tmpl.ip_off, 18 + 64);
	assert_int_equal(tmpl.outer_off, 18);
}

/* Nothing is written that cannot be sent. */
static void test_init_refuses(void **state)
{
	struct mrc_gid v4 = {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}}, v6 = {{0x20}};
	const struct {
		struct mrc_flow flow;
	} bad[] = {
		{{.src = v4, .dst = v6}},
		{{.src = v6, .dst = v4}},
		{{.src = v4, .dst = v4, .flags = MRC_PKT_SRV6}},
		{{.src = v6, .dst = v6, .flags = MRC_PKT_SRH}},
		{{.src = v6, .dst = v6, .flags = MRC_PKT_TRIMMED}},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mrc_template tmpl, untouched;

		memset(&tmpl, 0x5A, sizeof(tmpl));
		memset(&untouched, 0x5A, sizeof(untouched));
		assert_int_equal(mrc_template_init(&tmpl, &proto, &bad[i].flow), MRC_ERR_INVAL);
		assert_memory_equal(&tmpl, &untouched, sizeof(tmpl));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_encode),
		cmocka_unit_test(test_varying),
		cmocka_unit_test(test_ipv4_checksum),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_init_refuses),
	};

	return cmocka_run_group_tests_name("template", tests, setup, NULL);
}
