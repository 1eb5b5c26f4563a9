/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decode and encode are inverse for every kind of packet, and every length field is right for every
 * payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_err.h"
#include "mrc_icrc.h"
#include "pkt_kit.h"

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

/* What only decode knows is copied; the rest of a view must be what was encoded. */
static void assert_view(const struct mrc_pkt *got, const struct mrc_pkt *want)
{
	struct mrc_pkt w = *want;

	w.dscp = w.cls == MRC_CLASS_OTHER ? w.dscp : proto.dscp[w.cls];
	w.ip_off = got->ip_off;
	w.bth_off = got->bth_off;
	w.payload_off = got->payload_off;
	w.udp_len = got->udp_len;
	if (w.flags & MRC_PKT_TRIMMED)
		w.payload_len = 0;
	assert_memory_equal(got, &w, sizeof(w));
}

static void encode_again(const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	uint8_t made[PKT_KIT_ROOM];
	int hdr_len = mrc_pkt_encode(&proto, pkt, made, sizeof(made));

	assert_true(hdr_len > 0);
	assert_int_equal(hdr_len, pkt->payload_off);
	if (!(pkt->flags & MRC_PKT_TRIMMED)) {
		memcpy(made + hdr_len, frame + pkt->payload_off, pkt->payload_len);
		assert_int_equal(
			mrc_pkt_finish(made, pkt->ip_off, (uint32_t)hdr_len, pkt->payload_len),
			len);
	}
	assert_memory_equal(made, frame, len);
}

/* spec */
static void test_every_kind(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view, got;
		uint32_t len = pkt_kit_example(&proto, i, &view, frame);

		memset(&got, 0, sizeof(got));
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
		assert_view(&got, &view);
		if (!(got.flags & MRC_PKT_TRIMMED))
			assert_true(mrc_pkt_icrc_ok(&got, frame));
		encode_again(&got, frame, len);
	}
}

/* Each field at its largest, each alone: none reaches into its neighbour, none loses a bit. spec:
 * */
static void check_sack_field(struct mrc_pkt_sack sack)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt view, got;
	uint32_t len;

	pkt_kit_example(&proto, pkt_kit_find("sack-v6"), &view, frame);
	view.sack = sack;
	len = pkt_kit_frame(&proto, &view, 0, frame);
	memset(&got, 0, sizeof(got));
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
	assert_view(&got, &view);
}

static void test_sack_fields_alone(void **state)
{
	check_sack_field((struct mrc_pkt_sack){.m = 2});
	check_sack_field((struct mrc_pkt_sack){.m = 1});
	check_sack_field((struct mrc_pkt_sack){.probe = 1});
	check_sack_field((struct mrc_pkt_sack){.probe = 1, .probe_id = 0xFFFF});
	check_sack_field((struct mrc_pkt_sack){.ack_offset = -1});
	check_sack_field((struct mrc_pkt_sack){.ack_offset = INT16_MIN});
	check_sack_field((struct mrc_pkt_sack){.spdcid = 0xFFFF});
	check_sack_field((struct mrc_pkt_sack){.dpdcid = 0xFFFF});
	check_sack_field((struct mrc_pkt_sack){.cc_type = 15});
	check_sack_field((struct mrc_pkt_sack){.cc_flags = 15});
	check_sack_field((struct mrc_pkt_sack){.mpr = 255});
	check_sack_field((struct mrc_pkt_sack){.restore_cwnd = 1});
	check_sack_field((struct mrc_pkt_sack){.rcv_cwnd_pen = 127});
	check_sack_field((struct mrc_pkt_sack){.sack_offset = -1});
	check_sack_field((struct mrc_pkt_sack){.sack_offset = INT16_MIN});
	check_sack_field((struct mrc_pkt_sack){.ooo_count = 0x7FFF});
	check_sack_field((struct mrc_pkt_sack){.timestamp = 0xFFFF});
	check_sack_field((struct mrc_pkt_sack){.entropy = UINT32_MAX});
	check_sack_field((struct mrc_pkt_sack){.rcvd_units = 0xFFFFFF});
	check_sack_field((struct mrc_pkt_sack){.bitmap = UINT64_MAX});
	check_sack_field((struct mrc_pkt_sack){.cack = {0xFFFFFF}});
}

/* Of a field that is wider in the view than on the wire only the wire's bits are sent. */
static void test_encode_masks(void **state)
{
	uint8_t frame[PKT_KIT_ROOM], zero[PKT_KIT_ROOM];
	struct mrc_pkt view, got;
	uint32_t len;

	pkt_kit_example(&proto, pkt_kit_find("sack-v6"), &view, frame);
	view.sack = (struct mrc_pkt_sack){0};
	len = pkt_kit_frame(&proto, &view, 0, zero);
	view.sack.m = 4;
	view.sack.cc_type = 0x10;
	view.sack.cc_flags = 0x10;
	view.sack.rcv_cwnd_pen = 0x80;
	view.sack.ooo_count = 0x8000;
	view.sack.rcvd_units = 0x1000000;
	view.sack.cack.v = 0x1000000;
	assert_int_equal(pkt_kit_frame(&proto, &view, 0, frame), len);
	assert_memory_equal(frame, zero, len);
	view.dqpn |= 0x1000000;
	view.psn.v |= 0x1000000;
	pkt_kit_frame(&proto, &view, 0, frame);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
	assert_int_equal(got.dqpn, 0xC1C2C3);
	assert_memory_equal(frame, zero, len);
}

/* Where each header begins, from the sizes alone. */
static void test_offsets(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view, got;
		uint32_t len = pkt_kit_example(&proto, i, &view, frame);
		uint32_t off = 14;
		struct pkt_kit_case kind;

		pkt_kit_case(i, &kind);
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
		off += kind.flags & MRC_PKT_VLAN ? 4 : 0;
		off += kind.flags & MRC_PKT_SRV6 ? 40 : 0;
		off += kind.flags & MRC_PKT_SRH ? 24 : 0;
		assert_int_equal(got.ip_off, off);
		off += kind.flags & MRC_PKT_V6 ? 48 : 28;
		assert_int_equal(got.bth_off, off);
		assert_int_equal(frame[off], kind.opcode);
		off += 12u + mrc_opcode_table[kind.opcode].ext_len;
		off += got.flags & MRC_PKT_TS && kind.opcode <= MRC_OP_WRITE_ONLY_IMM ? 4 : 0;
		assert_int_equal(got.payload_off, off);
	}
}

/* Each length field is the number of bytes that follow; the sum verifies; for every payload. spec:
 * */
static void check_lengths(const char *name, uint16_t payload_len)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct pkt_kit_case kind;
	struct mrc_pkt view, got;
	uint32_t len, padded = (payload_len + 3u) & ~3u;
	const uint8_t *ip;

	pkt_kit_case(pkt_kit_find(name), &kind);
	pkt_kit_view(&proto, &kind, payload_len, &view);
	len = pkt_kit_frame(&proto, &view, 0, frame);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
	assert_true(mrc_pkt_icrc_ok(&got, frame));
	assert_int_equal(got.payload_len, payload_len);
	assert_int_equal(got.pad, padded - payload_len);
	assert_int_equal(len, got.payload_off + padded + 4);
	for (uint32_t at = got.payload_off + payload_len; at < got.payload_off + padded; at++)
		assert_int_equal(frame[at], 0);
	ip = frame + got.ip_off;
	if (kind.flags & MRC_PKT_V6)
		assert_int_equal(get16(ip + 4), len - got.ip_off - 40);
	else
		assert_int_equal(get16(ip + 2), len - got.ip_off);
	assert_int_equal(get16(frame + got.bth_off - 4), len - got.bth_off + 8);
	if (kind.flags & MRC_PKT_SRV6)
		assert_int_equal(get16(frame + 14 + 4), len - 14 - 40);
}

static void test_every_payload_v4(void **state)
{
	for (uint32_t len = 0; len <= 4096; len++)
		check_lengths("write_only-v4", (uint16_t)len);
}

static void test_every_payload_v6(void **state)
{
	for (uint32_t len = 0; len <= 4096; len++)
		check_lengths("write_only_imm-v6", (uint16_t)len);
}

static void test_every_payload_srv6(void **state)
{
	for (uint32_t len = 0; len <= 4096; len += 3) {
		check_lengths("write_last-srv6", (uint16_t)len);
		check_lengths("write_last_imm-srh", (uint16_t)len);
	}
}

/* The sizes around each path MTU, for all writes that may end anywhere. */
static void test_payloads_around_mtu(void **state)
{
	static const char *const names[] = {"write_last-v4", "write_last_imm-v4-vlan",
		"write_only-v6", "write_only_imm-v6-vlan"};

	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		for (size_t i = 0; i < 4; i++) {
			check_lengths(names[i], (uint16_t)(mtu - 1));
			check_lengths(names[i], (uint16_t)mtu);
			check_lengths(names[i], 17);
		}
		check_lengths("write_first-v6", (uint16_t)mtu);
		check_lengths("write_middle-v4", (uint16_t)mtu);
	}
}

/* The largest packet is as long as the protocol's own sum says: 4202 bytes over IPv6. */
static void test_longest_frame(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct pkt_kit_case kind;
	struct mrc_pkt view;

	pkt_kit_case(pkt_kit_find("write_only_imm-v6"), &kind);
	pkt_kit_view(&proto, &kind, 4096, &view);
	assert_int_equal(pkt_kit_frame(&proto, &view, 0, frame), 4202);
	pkt_kit_case(pkt_kit_find("write_only_imm-srh-vlan"), &kind);
	pkt_kit_view(&proto, &kind, 4096, &view);
	assert_int_equal(pkt_kit_frame(&proto, &view, 0, frame), 4202 + 4 + 40 + 24);
}

/* A tagged packet is the untagged one but for four bytes; a priority tag has VID 0. */
static void test_vlan_is_only_a_tag(void **state)
{
	static const struct {
		const char *plain, *tagged;
	} pair[] = {{"write_only-v4", "write_only-v4-vlan"}, {"sack-v6", "sack-v6-vlan"},
		{"nack-srv6", "nack-srv6-vlan"}, {"probe-srh", "probe-srh-vlan"}};
	static const uint16_t tci[] = {0x0005, 0xE000, 0x6FFF};

	for (size_t i = 0; i < 4; i++) {
		for (size_t t = 0; t < 3; t++) {
			uint8_t plain[PKT_KIT_ROOM], tagged[PKT_KIT_ROOM];
			struct mrc_pkt pkt;
			uint32_t len =
				pkt_kit_example(&proto, pkt_kit_find(pair[i].plain), &pkt, plain);

			pkt_kit_example(&proto, pkt_kit_find(pair[i].tagged), &pkt, tagged);
			pkt.vlan_tci = tci[t];
			assert_int_equal(pkt_kit_frame(&proto, &pkt, 0, tagged), len + 4);
			assert_memory_equal(tagged, plain, 12);
			assert_int_equal(get16(tagged + 12), 0x8100);
			assert_int_equal(get16(tagged + 14), tci[t]);
			assert_memory_equal(tagged + 16, plain + 12, len - 12);
			assert_int_equal(mrc_pkt_decode(&proto, tagged, len + 4, &pkt), MRC_KEEP);
			assert_int_equal(pkt.flags & MRC_PKT_VLAN, MRC_PKT_VLAN);
			assert_int_equal(pkt.vlan_tci, tci[t]);
			assert_true(mrc_pkt_icrc_ok(&pkt, tagged));
		}
	}
}

/* The encapsulated packet is the plain one, ICRC included; the label is copied outward. spec:
 * */
static void test_srv6_carries_the_plain_packet(void **state)
{
	static const char *const names[][3] = {
		{"write_only-v6", "write_only-srv6", "write_only-srh"},
		{"sack-v6", "sack-srv6", "sack-srh"}};

	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 1; k <= 2; k++) {
			uint8_t plain[PKT_KIT_ROOM], wrapped[PKT_KIT_ROOM];
			struct mrc_pkt pkt;
			uint32_t len =
				pkt_kit_example(&proto, pkt_kit_find(names[i][0]), &pkt, plain);
			uint32_t more = k == 1 ? 40 : 64;

			assert_int_equal(
				pkt_kit_example(&proto, pkt_kit_find(names[i][k]), &pkt, wrapped),
				len + more);
			assert_memory_equal(wrapped, plain, 14);
			assert_memory_equal(wrapped + 14 + more, plain + 14, len - 14);
			assert_memory_equal(wrapped + 14, plain + 14, 4);
			assert_int_equal(wrapped[14 + 6], k == 1 ? 41 : 43);
			assert_memory_equal(wrapped + 14 + 24, pkt.outer_dst.raw, 16);
			if (k == 1)
				continue;
			assert_memory_equal(wrapped + 54, "\x29\x02\x04\x01\0\0\0\0", 8);
			assert_memory_equal(wrapped + 62, pkt.srh_seg.raw, 16);
		}
	}
}

/* A switch marks and trims by the outer header alone. spec */
static void test_srv6_outer_header_counts(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt pkt;
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("write_only-srh"), &pkt, frame);

	frame[15] |= 0x30; /* CE */
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.flags & MRC_PKT_CE, MRC_PKT_CE);
	assert_true(mrc_pkt_icrc_ok(&pkt, frame));
	frame[14] = 0x63; /* DSCP 12 */
	frame[15] = (uint8_t)(0x20 | (frame[15] & 0x0F));
	assert_int_equal(mrc_pkt_decode(&proto, frame, len - 21, &pkt), MRC_KEEP);
	assert_int_equal(pkt.cls, MRC_CLASS_TRIMMED);
	assert_int_equal(pkt.flags & MRC_PKT_TRIMMED, MRC_PKT_TRIMMED);
}

/* Ethernet padding behind the packet is no part of it. */
static void test_bytes_behind_the_packet(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view, got, padded;
		uint32_t len = pkt_kit_example(&proto, i, &view, frame);

		if (view.flags & MRC_PKT_TRIMMED)
			continue;
		memset(&got, 0, sizeof(got));
		memset(&padded, 0, sizeof(padded));
		memset(frame + len, 0xEE, 18);
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
		assert_int_equal(mrc_pkt_decode(&proto, frame, len + 18, &padded), MRC_KEEP);
		assert_memory_equal(&got, &padded, sizeof(got));
		assert_true(mrc_pkt_icrc_ok(&padded, frame));
	}
}

/* Trimmed at every length from the least: what is there is read, what is not reads 0. spec:
 * */
static void test_trimmed_at_every_length(void **state)
{
	static const char *const names[] = {"write_only-v4-trimmed", "write_last_imm-v6-trimmed",
		"write_only_imm-srv6-trimmed", "write_middle-srh-vlan-trimmed"};

	for (size_t i = 0; i < 4; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view, got;
		uint32_t index = pkt_kit_find(names[i]);
		uint32_t full = pkt_kit_example(&proto, index, &view, frame);
		uint32_t udp_off, len;

		assert_int_equal(mrc_pkt_decode(&proto, frame, full, &got), MRC_KEEP);
		udp_off = got.bth_off - 8u;
		for (len = udp_off + 28; len <= full; len++) {
			bool reth = len >= udp_off + 28 + 16;
			bool imm = len >= udp_off + 28 + 20;

			memset(&got, 0xA5, sizeof(got));
			assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
			assert_int_equal(got.psn.v, view.psn.v);
			assert_int_equal(got.dqpn, view.dqpn);
			assert_int_equal(got.ev, view.ev);
			assert_int_equal(got.write.timestamp, view.write.timestamp);
			assert_int_equal(got.write.msn.v, view.write.msn.v);
			assert_int_equal(got.payload_len, 0);
			assert_true(got.write.va == (reth ? view.write.va : 0));
			assert_int_equal(got.write.rkey, reth ? view.write.rkey : 0);
			assert_int_equal(got.write.dma_len, reth ? view.write.dma_len : 0);
			assert_memory_equal(got.write.imm,
				imm ? view.write.imm : (const uint8_t *)"\0\0\0\0", 4);
			assert_true(got.payload_off <= len);
		}
	}
}

/* A switch that trims may or may not mend the lengths. */
static void test_trimmed_lengths(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt pkt;
	uint32_t index = pkt_kit_find("write_only-v4-trimmed");
	uint32_t len = pkt_kit_example(&proto, index, &pkt, frame) - 16;

	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_true(pkt.udp_len > len); /* the first one's, kept for whoever wants it */
	frame[16] = 0;                  /* IP length mended, UDP length not */
	frame[17] = (uint8_t)(len - 14);
	pkt_kit_ipv4_fix(frame + 14);
	memset(frame + len, 0xEE, 40); /* padding of a short frame is no RETH */
	assert_int_equal(mrc_pkt_decode(&proto, frame, len + 40, &pkt), MRC_KEEP);
	assert_int_equal(pkt.write.rkey, 0);
	frame[38] = 0;
	frame[39] = (uint8_t)(len - 34);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.udp_len, 28);
}

/* Only the UDP length was mended; then only that of the inner header. */
static void test_trimmed_one_length_mended(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt pkt;
	uint32_t len = pkt_kit_example(&proto, pkt_kit_find("write_only-v6-trimmed"), &pkt, frame);

	frame[14 + 44] = 0;
	frame[14 + 45] = 28;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.udp_len, 28);
	assert_int_equal(pkt.write.rkey, 0);
	assert_int_equal(pkt.payload_off, 14 + 40 + 28);
	frame[14 + 45] = 27;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_DROP_TRIM_SHORT);
	len = pkt_kit_example(&proto, pkt_kit_find("write_only-srv6-trimmed"), &pkt, frame);
	frame[14 + 44] = 0;
	frame[14 + 45] = 28;
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.write.rkey, 0);
	assert_int_equal(pkt.payload_off, 14 + 80 + 28);
}

static void test_trimmed_lasthop(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt pkt;
	uint32_t len;

	pkt_kit_example(&proto, pkt_kit_find("write_only-v6-trimmed"), &pkt, frame);
	pkt.cls = MRC_CLASS_TRIMMED_LASTHOP;
	len = pkt_kit_frame(&proto, &pkt, 28, frame);
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
	assert_int_equal(pkt.cls, MRC_CLASS_TRIMMED_LASTHOP);
	assert_int_equal(pkt.flags & MRC_PKT_TRIMMED, MRC_PKT_TRIMMED);
}

/* Every DSCP and every ECN value, also those of no class. spec */
static void test_every_dscp(void **state)
{
	for (uint32_t tclass = 0; tclass < 256; tclass++) {
		for (uint32_t v6 = 0; v6 <= 1; v6++) {
			uint8_t frame[PKT_KIT_ROOM];
			struct mrc_pkt pkt, got;
			uint32_t len = pkt_kit_example(&proto,
				pkt_kit_find(v6 ? "write_only-v6" : "write_only-v4"), &pkt, frame);

			pkt.cls = proto.class_of_dscp[tclass >> 2];
			pkt.dscp = (uint8_t)(tclass >> 2);
			pkt.ecn = tclass & 3;
			if (pkt.cls == MRC_CLASS_TRIMMED || pkt.cls == MRC_CLASS_TRIMMED_LASTHOP)
				continue;
			len = pkt_kit_frame(&proto, &pkt, 0, frame);
			pkt.flags |= pkt.ecn == 3 ? MRC_PKT_CE : 0;
			memset(&got, 0, sizeof(got));
			assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
			assert_view(&got, &pkt);
			if (v6)
				assert_int_equal((frame[14] & 0xF) << 4 | frame[15] >> 4, tclass);
			else
				assert_int_equal(frame[15], tclass);
		}
	}
}

/* Encoded from a view, decoded, compared; returns the frame's length. */
static uint32_t check_view(const struct mrc_pkt *view)
{
	uint8_t frame[PKT_KIT_ROOM];
	uint32_t len = pkt_kit_frame(&proto, view, 0, frame);
	struct mrc_pkt got;

	memset(&got, 0, sizeof(got));
	assert_int_equal(mrc_pkt_decode(&proto, frame, len, &got), MRC_KEEP);
	assert_view(&got, view);
	assert_true(mrc_pkt_icrc_ok(&got, frame));
	return len;
}

/* Without TSETH a write is four bytes shorter; probes and endpoint requests keep the word. */
static void test_without_timestamp(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_OPCODES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view;
		uint32_t len = pkt_kit_example(&proto, i * PKT_KIT_NB_SHAPES, &view, frame);
		bool write = i < PKT_KIT_NB_WRITES;

		view.flags &= (uint16_t)~MRC_PKT_TS;
		if (write)
			view.write.timestamp = 0;
		if (view.opcode == MRC_OP_PROBE)
			view.probe.ftype = 0;
		if (view.opcode == MRC_OP_EP_REQ)
			view.ep.ftype = 0;
		assert_int_equal(check_view(&view), write ? len - 4 : len);
	}
}

static void test_flags_alone(void **state)
{
	static const uint16_t flags[] = {0, MRC_PKT_ACKREQ, MRC_PKT_RTX, MRC_PKT_SE, MRC_PKT_MIGREQ,
		MRC_PKT_TS, MRC_PKT_TS | MRC_PKT_TSR};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view;

		pkt_kit_example(&proto, pkt_kit_find("write_only-v6"), &view, frame);
		view.flags = MRC_PKT_V6 | flags[i];
		if (!(flags[i] & MRC_PKT_TS))
			view.write.timestamp = 0;
		check_view(&view);
	}
}

/* No key in the view: the settings'. */
static void test_pkey_from_settings(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt view;

	pkt_kit_example(&proto, pkt_kit_find("ack-v4"), &view, frame);
	view.pkey = 0;
	pkt_kit_frame(&proto, &view, 0, frame);
	assert_int_equal(get16(frame + 14 + 28 + 2), 0xFFFF);
	view.pkey = 0x7FFF;
	assert_int_equal(check_view(&view), 62);
}

/* Views that no packet can be made of, and room that is too small by any amount. */
static void test_encode_refuses(void **state)
{
	uint8_t frame[PKT_KIT_ROOM];
	struct mrc_pkt good, bad;

	pkt_kit_example(&proto, pkt_kit_find("write_only-v6"), &good, frame);
	for (uint32_t room = 0; room < 98; room++)
		assert_int_equal(mrc_pkt_encode(&proto, &good, frame, room), MRC_ERR_SPACE);
	assert_int_equal(mrc_pkt_encode(&proto, &good, frame, 98), 98);
	bad = good;
	bad.opcode = 0xC5;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.cls = MRC_NB_CLASSES;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.ecn = 4;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.dscp = 64;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.flags &= (uint16_t)~MRC_PKT_V6;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.flags |= MRC_PKT_SRH;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
	bad = good;
	bad.payload_len = 65500;
	assert_int_equal(mrc_pkt_encode(&proto, &bad, frame, sizeof(frame)), MRC_ERR_INVAL);
}

static void test_encode_refuses_control_with_payload(void **state)
{
	for (uint32_t i = 48; i < 96; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt pkt;

		pkt_kit_example(&proto, i, &pkt, frame);
		pkt.payload_len = 4;
		assert_int_equal(mrc_pkt_encode(&proto, &pkt, frame, sizeof(frame)), MRC_ERR_INVAL);
		pkt.payload_len = 0;
		pkt.pad = 1;
		assert_int_equal(mrc_pkt_encode(&proto, &pkt, frame, sizeof(frame)), MRC_ERR_INVAL);
		pkt.pad = 0;
		pkt.flags |= MRC_PKT_TRIMMED;
		assert_int_equal(mrc_pkt_encode(&proto, &pkt, frame, sizeof(frame)), MRC_ERR_INVAL);
	}
}

/* mrc_pkt_init gives what the kind always has. spec */
static void test_init_defaults(void **state)
{
	struct mrc_pkt pkt;

	mrc_pkt_init(&proto, MRC_OP_WRITE_MIDDLE, &pkt);
	assert_int_equal(pkt.cls, MRC_CLASS_TRIMMABLE);
	assert_int_equal(pkt.ecn, MRC_ECN_ECT0);
	assert_int_equal(pkt.flags, MRC_PKT_TS);
	assert_int_equal(pkt.pkey, 0xFFFF);
	mrc_pkt_init(&proto, MRC_OP_ACK, &pkt);
	assert_int_equal(pkt.ack.syndrome, 0x1F);
	assert_int_equal(pkt.cls, MRC_CLASS_CONTROL);
	assert_int_equal(pkt.ecn, MRC_ECN_NOT_ECT);
	mrc_pkt_init(&proto, MRC_OP_NACK, &pkt);
	assert_int_equal(pkt.nack.cc_type, 2);
	mrc_pkt_init(&proto, MRC_OP_PROBE, &pkt);
	assert_int_equal(pkt.cls, MRC_CLASS_TRIMMABLE);
	assert_int_equal(pkt.probe.ftype, 1);
	mrc_pkt_init(&proto, MRC_OP_EP_RSP, &pkt);
	assert_int_equal(pkt.dqpn, 2);
	assert_int_equal(pkt.cls, MRC_CLASS_CONTROL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_sack_fields_alone),
		cmocka_unit_test(test_encode_masks),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_every_payload_v4),
		cmocka_unit_test(test_every_payload_v6),
		cmocka_unit_test(test_every_payload_srv6),
		cmocka_unit_test(test_payloads_around_mtu),
		cmocka_unit_test(test_longest_frame),
		cmocka_unit_test(test_vlan_is_only_a_tag),
		cmocka_unit_test(test_srv6_carries_the_plain_packet),
		cmocka_unit_test(test_srv6_outer_header_counts),
		cmocka_unit_test(test_bytes_behind_the_packet),
		cmocka_unit_test(test_trimmed_at_every_length),
		cmocka_unit_test(test_trimmed_lengths),
		cmocka_unit_test(test_trimmed_one_length_mended),
		cmocka_unit_test(test_trimmed_lasthop),
		cmocka_unit_test(test_without_timestamp),
		cmocka_unit_test(test_flags_alone),
		cmocka_unit_test(test_pkey_from_settings),
		cmocka_unit_test(test_every_dscp),
		cmocka_unit_test(test_encode_refuses),
		cmocka_unit_test(test_encode_refuses_control_with_payload),
		cmocka_unit_test(test_init_defaults),
	};

	return cmocka_run_group_tests_name("codec", tests, setup, NULL);
}
