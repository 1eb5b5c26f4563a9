/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole packets as bytes, both ways: decoded they give the fields, encoded from the fields they
 * give the bytes, ICRC included. IPv6, EV 0xABCD4321, requester QP 0x456, responder QP 0x123. Their
 * DSCP table is their own (8 first transmission, 12 retransmission), not the default one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_icrc.h"
#include "mrc_pkt.h"

#define REQUEST_V6(tclass, len)                                                                    \
	"6" tclass "abcd00" len "1140"                                                             \
	"20010db8000000000000000000000001"                                                         \
	"20010db8000000000000000000000002"                                                         \
	"432112b700" len "0000"
#define ANSWER_V6(len)                                                                             \
	"6b80111100" len "1140"                                                                    \
	"20010db8000000000000000000000002"                                                         \
	"20010db8000000000000000000000001"                                                         \
	"222212b700" len "0000"

enum {
	EV_DATA = 0xABCD4321,
	EV_ANSWER = 0x11112222,
};

static struct mrc_proto proto;

static int setup(void **state)
{
	static const uint8_t dscp[MRC_NB_CLASSES] = {[MRC_CLASS_NO_TRIM] = 0,
		[MRC_CLASS_TRIMMABLE] = 8,
		[MRC_CLASS_TRIMMABLE_RETX] = 12,
		[MRC_CLASS_TRIMMED] = 20,
		[MRC_CLASS_TRIMMED_LASTHOP] = 21,
		[MRC_CLASS_CONTROL] = 46};

	mrc_proto_default(&proto);
	memcpy(proto.dscp, dscp, sizeof(dscp));
	return mrc_proto_init(&proto);
}

static uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t len = 0;

	for (; *hex != '\0'; hex += 2) {
		char byte[3] = {hex[0], hex[1], '\0'};

		out[len++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return len;
}

static void view_start(struct mrc_pkt *pkt, enum mrc_opcode opcode, bool answer)
{
	struct mrc_gid one = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	struct mrc_gid two = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};

	mrc_pkt_init(&proto, opcode, pkt);
	pkt->flags |= MRC_PKT_V6;
	pkt->src = answer ? two : one;
	pkt->dst = answer ? one : two;
	pkt->ev = answer ? EV_ANSWER : EV_DATA;
	pkt->dqpn = answer ? 0x456 : 0x123;
}

/* Both directions. pkt: what must come out of and must lead to the bytes. */
static void check(const char *hex, const struct mrc_pkt *pkt, const void *payload)
{
	static const uint8_t ether[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 0xDD};
	uint8_t want[512], made[512];
	struct mrc_pkt got, again;
	uint32_t len;
	int hdr_len;

	memcpy(want, ether, sizeof(ether));
	len = sizeof(ether) + from_hex(hex, want + sizeof(ether));

	hdr_len = mrc_pkt_encode(&proto, pkt, made, sizeof(made));
	assert_true(hdr_len > 0);
	memcpy(made + hdr_len, payload, pkt->payload_len);
	assert_int_equal(
		mrc_pkt_finish(made, MRC_ETH_LEN, (uint32_t)hdr_len, pkt->payload_len), len);
	assert_memory_equal(made, want, len);

	memset(&got, 0, sizeof(got));
	assert_int_equal(mrc_pkt_decode(&proto, want, len, &got), MRC_KEEP);
	assert_true(mrc_pkt_icrc_ok(&got, want));
	assert_int_equal(got.payload_len, pkt->payload_len);
	assert_memory_equal(want + got.payload_off, payload, pkt->payload_len);
	/* Every field of the given view came back. What only decode fills is compared by itself. */
	again = *pkt;
	again.pad = -pkt->payload_len & 3;
	again.dscp = proto.dscp[pkt->cls];
	again.ip_off = MRC_ETH_LEN;
	again.bth_off = MRC_ETH_LEN + MRC_IPV6_LEN + MRC_UDP_LEN;
	again.payload_off = (uint16_t)hdr_len;
	again.udp_len = (uint16_t)(len - MRC_ETH_LEN - MRC_IPV6_LEN);
	assert_memory_equal(&got, &again, sizeof(got));
}

static void view_write(struct mrc_pkt *pkt, enum mrc_opcode opcode)
{
	view_start(pkt, opcode, false);
	pkt->flags |= MRC_PKT_ACKREQ;
	pkt->psn = mrc_psn(0xAA);
	pkt->payload_len = 5;
	pkt->write = (struct mrc_pkt_write){
		.va = 0x1122334455667788,
		.rkey = 0xDEADBEEF,
		.dma_len = 5,
		.msn = mrc_msn(5),
		.timestamp = 0x1234,
	};
}

/* spec */
static void test_write_only(void **state)
{
	struct mrc_pkt pkt;

	view_write(&pkt, MRC_OP_WRITE_ONLY);
	check(REQUEST_V6("220", "38") "ca30ffff00000123900000aa"
				      "00000005"
				      "12340001"
				      "1122334455667788deadbeef00000005"
				      "0102030405000000"
				      "ae4a128d",
		&pkt, "\1\2\3\4\5");
}

static void test_write_only_imm_rtx(void **state)
{
	static const uint8_t imm[4] = {0xCA, 0xFE, 0xF0, 0x0D};
	struct mrc_pkt pkt;

	view_write(&pkt, MRC_OP_WRITE_ONLY_IMM);
	pkt.flags |= MRC_PKT_RTX;
	pkt.cls = MRC_CLASS_TRIMMABLE_RETX;
	pkt.write.rqmsn = mrc_msn(1);
	memcpy(pkt.write.imm, imm, sizeof(imm));
	check(REQUEST_V6("320", "3c") "cb30ffff00000123b00000aa"
				      "00010005"
				      "12340001"
				      "1122334455667788deadbeef00000005"
				      "cafef00d"
				      "0102030405000000"
				      "049f2651",
		&pkt, "\1\2\3\4\5");
}

/* spec */
static void test_sack(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_SACK, true);
	pkt.psn = mrc_psn(0xA7);
	pkt.sack = (struct mrc_pkt_sack){
		.ack_offset = 3,
		.spdcid = 0x456,
		.dpdcid = 0x123,
		.sack_offset = 1,
		.timestamp = 0x1234,
		.entropy = EV_DATA,
		.ooo_count = 1,
		.rcvd_units = 3,
		.bitmap = 1 << 2,
		.cack = mrc_psn(0xA7),
	};
	check(ANSWER_V6("3c") "dc00ffff00000456000000a7"
			      "00000003"
			      "abcd4321"
			      "04560123"
			      "000000a7"
			      "00000001"
			      "0000000000000004"
			      "1234000100000003"
			      "19883db7",
		&pkt, "");
}

/* spec */
static void test_nack(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_NACK, true);
	pkt.psn = mrc_psn(0xAA);
	pkt.nack.reason = MRC_NACK_TRIMMED;
	pkt.nack.spdcid = 0x456;
	pkt.nack.dpdcid = 0x123;
	pkt.nack.timestamp = 0x1234;
	pkt.nack.entropy = EV_DATA;
	pkt.nack.psn = mrc_psn(0xAA);
	check(ANSWER_V6("2c") "dd00ffff00000456000000aa"
			      "00000100"
			      "abcd4321"
			      "04560123"
			      "000000aa"
			      "20001234"
			      "6c8a0bb5",
		&pkt, "");
}

/* spec */
static void test_ack(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_ACK, true);
	pkt.psn = mrc_psn(0xAA);
	pkt.ack.msn = 6;
	check(ANSWER_V6("1c") "d100ffff00000456000000aa"
			      "1f000006"
			      "a784ef5d",
		&pkt, "");
}

/* spec */
static void test_probe(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_PROBE, false);
	pkt.flags |= MRC_PKT_TS;
	pkt.probe.probe_id = 0x77;
	pkt.probe.spdcid = 0x456;
	pkt.probe.dpdcid = 0x123;
	pkt.probe.timestamp = 0x1234;
	check(REQUEST_V6("220", "28") "de00ffff0000012300000000"
				      "00000000"
				      "00770000"
				      "04560123"
				      "12340001"
				      "451c3de5",
		&pkt, "");
}

/* spec */
static void test_ev_probe_request(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_EP_REQ, false);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.flags |= MRC_PKT_TS;
	pkt.cls = MRC_CLASS_TRIMMABLE;
	pkt.ecn = MRC_ECN_ECT0;
	pkt.psn = mrc_psn(0x42);
	pkt.ep.op = MRC_EP_EV_PROBE;
	pkt.ep.timestamp = 0x1234;
	check(REQUEST_V6("220", "28") "d800ffff0000000200000042"
				      "00010000"
				      "00000000"
				      "00000000"
				      "12340001"
				      "20ed5191",
		&pkt, "");
}

/* spec */
static void test_ev_probe_response(void **state)
{
	struct mrc_pkt pkt;

	view_start(&pkt, MRC_OP_EP_RSP, true);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.ecn = MRC_ECN_ECT0;
	pkt.ev = EV_DATA;
	pkt.psn = mrc_psn(0x42);
	pkt.ep.op = MRC_EP_EV_PROBE;
	pkt.ep.timestamp = 0x1234;
	check("6ba0abcd003c1140"
	      "20010db8000000000000000000000002"
	      "20010db8000000000000000000000001"
	      "432112b7003c0000"
	      "d900ffff0000000200000042"
	      "00040000"
	      "000000000000000000000000000000000000000000000000"
	      "12340000"
	      "00000000"
	      "9b6ae3c5",
		&pkt, "");
}

/* A capture of other people's RoCEv2 hardware (a CNP), as carried by scapy's own tests. spec:
 * */
static void test_foreign_capture(void **state)
{
	uint8_t pkt[128];
	uint32_t len = from_hex("45c2003c718c4000401191610a0011010a001201"
				"000012b700280000"
				"8100ffff4000011800000000"
				"00000000000000000000000000000000",
		pkt);

	assert_int_equal(mrc_icrc_load((const uint8_t[]){0x82, 0xFD, 0x00, 0x2A}),
		mrc_icrc_header(pkt, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_only),
		cmocka_unit_test(test_write_only_imm_rtx),
		cmocka_unit_test(test_sack),
		cmocka_unit_test(test_nack),
		cmocka_unit_test(test_ack),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_ev_probe_request),
		cmocka_unit_test(test_ev_probe_response),
		cmocka_unit_test(test_foreign_capture),
	};

	return cmocka_run_group_tests_name("vectors", tests, setup, NULL);
}
