/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each drop reason that decode gives, by the smallest change that earns it; their order; and frames
 * that are no business of ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pkt_kit.h"

/* Offsets in an untagged frame. */
enum {
	IP = 14,
	UDP_V4 = IP + 20,
	BTH_V4 = UDP_V4 + 8,
	EXT_V4 = BTH_V4 + 12,
	UDP_V6 = IP + 40,
	BTH_V6 = UDP_V6 + 8,
	EXT_V6 = BTH_V6 + 12,
	INNER = IP + 40, /* inner header behind the outer one */
};

static struct mrc_proto proto;
static uint8_t frame[PKT_KIT_ROOM];
static uint32_t frame_len;

static int setup(void **state)
{
	mrc_proto_default(&proto);
	return 0;
}

static void start(const char *name)
{
	struct mrc_pkt pkt;

	mrc_proto_default(&proto);
	frame_len = pkt_kit_example(&proto, pkt_kit_find(name), &pkt, frame);
}

static void poke16(uint32_t at, uint32_t value)
{
	frame[at] = (uint8_t)(value >> 8);
	frame[at + 1] = (uint8_t)value;
}

/* In a heap block of exactly that size, so that a sanitizer sees every byte read too much. */
static enum mrc_drop decode_exact(const uint8_t *bytes, uint32_t len)
{
	uint8_t *exact = malloc(len);
	struct mrc_pkt pkt;
	enum mrc_drop drop;

	if (len != 0)
		memcpy(exact, bytes, len);
	drop = mrc_pkt_decode(&proto, exact, len, &pkt);
	free(exact);
	return drop;
}

static void assert_drop(enum mrc_drop want)
{
	assert_string_equal(mrc_drop_name(decode_exact(frame, frame_len)), mrc_drop_name(want));
}

static void frame_short(void **state)
{
	start("write_only-v4");
	for (frame_len = 0; frame_len < 14; frame_len++)
		assert_drop(MRC_DROP_FRAME_SHORT);
	start("write_only-v4-vlan");
	for (frame_len = 14; frame_len < 18; frame_len++)
		assert_drop(MRC_DROP_FRAME_SHORT);
}

static void vlan_stacked(void **state)
{
	static const uint16_t types[] = {0x8100, 0x88A8, 0x9100};

	for (size_t i = 0; i < 3; i++) {
		start("write_only-v6-vlan");
		poke16(16, types[i]);
		assert_drop(MRC_DROP_VLAN_STACKED);
	}
	for (size_t i = 1; i < 3; i++) {
		start("write_only-v6-vlan");
		poke16(12, types[i]);
		assert_drop(MRC_DROP_VLAN_STACKED);
	}
}

static void ethertype(void **state)
{
	start("write_only-v4");
	for (uint32_t type = 0; type < 65536; type++) {
		if (type == 0x0800 || type == 0x86DD || type == 0x8100 || type == 0x88A8 ||
			type == 0x9100)
			continue;
		poke16(12, type);
		assert_int_equal(mrc_pkt_decode(&proto, frame, frame_len, &(struct mrc_pkt){0}),
			MRC_DROP_ETHERTYPE);
	}
}

static void ip_short(void **state)
{
	start("write_only-v4");
	for (frame_len = 14; frame_len < 34; frame_len++)
		assert_drop(MRC_DROP_IP_SHORT);
	start("write_only-v6");
	for (frame_len = 14; frame_len < 54; frame_len++)
		assert_drop(MRC_DROP_IP_SHORT);
}

static void ip_version(void **state)
{
	for (uint32_t version = 0; version < 16; version++) {
		start("write_only-v4");
		frame[IP] = (uint8_t)(version << 4 | 5);
		assert_drop(version == 4 ? MRC_KEEP : MRC_DROP_IP_VERSION);
		start("write_only-v6");
		frame[IP] = (uint8_t)(version << 4);
		assert_drop(version == 6 ? MRC_KEEP : MRC_DROP_IP_VERSION);
	}
}

static void ip_options(void **state)
{
	static const uint8_t headers[] = {0, 50, 51, 60, 135, 139, 140};

	for (uint32_t words = 0; words < 16; words++) {
		start("write_only-v4");
		frame[IP] = (uint8_t)(0x40 | words);
		pkt_kit_ipv4_fix(frame + IP);
		assert_drop(words == 5 ? MRC_KEEP : MRC_DROP_IP_OPTIONS);
	}
	for (size_t i = 0; i < sizeof(headers); i++) {
		start("write_only-v6");
		frame[IP + 6] = headers[i];
		assert_drop(MRC_DROP_IP_OPTIONS);
	}
	start("write_only-v6"); /* a routing header, but not for segment routing */
	frame[IP + 6] = 43;
	frame[IP + 42] = 2;
	assert_drop(MRC_DROP_IP_OPTIONS);
}

static void ip_fragment(void **state)
{
	static const uint16_t fields[] = {0x2000, 0x0001, 0x1FFF, 0x3000};

	for (size_t i = 0; i < 4; i++) {
		start("write_only-v4");
		poke16(IP + 6, fields[i]);
		pkt_kit_ipv4_fix(frame + IP);
		assert_drop(MRC_DROP_IP_FRAGMENT);
	}
	start("write_only-v6");
	frame[IP + 6] = 44;
	assert_drop(MRC_DROP_IP_FRAGMENT);
}

/* "Do not fragment" may be set or not. */
static void ip_dont_fragment_is_free(void **state)
{
	start("write_only-v4");
	assert_int_equal(frame[IP + 6], 0x40);
	poke16(IP + 6, 0);
	pkt_kit_ipv4_fix(frame + IP);
	assert_drop(MRC_KEEP);
}

static void ip_checksum(void **state)
{
	for (uint32_t bit = 0; bit < 20 * 8; bit++) {
		start("write_only-v4");
		frame[IP + bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (bit / 8 == 0 || bit / 8 == 6 || bit / 8 == 7)
			continue; /* version, options, fragment come first */
		assert_drop(MRC_DROP_IP_CHECKSUM);
	}
}

static void ip_length(void **state)
{
	start("write_only-v4");
	poke16(IP + 2, frame_len - IP + 1);
	pkt_kit_ipv4_fix(frame + IP);
	assert_drop(MRC_DROP_IP_LENGTH);
	poke16(IP + 2, 19);
	pkt_kit_ipv4_fix(frame + IP);
	assert_drop(MRC_DROP_IP_LENGTH);
	start("write_only-v6");
	poke16(IP + 4, frame_len - IP - 40 + 1);
	assert_drop(MRC_DROP_IP_LENGTH);
	start("write_only-srv6");
	poke16(IP + 4, frame_len - IP - 40 + 1);
	assert_drop(MRC_DROP_IP_LENGTH);
}

static void srv6_inner(void **state)
{
	start("write_only-srv6");
	frame[INNER] = 0x45;
	assert_drop(MRC_DROP_SRV6_BAD);
	start("write_only-srv6"); /* inner length one more, one less than what the outer holds */
	frame[INNER + 5]++;
	assert_drop(MRC_DROP_SRV6_BAD);
	frame[INNER + 5] -= 2;
	assert_drop(MRC_DROP_SRV6_BAD);
	start("write_only-srv6"); /* no room for the inner header */
	frame_len = INNER + 39;
	poke16(IP + 4, 39);
	assert_drop(MRC_DROP_SRV6_BAD);
	start("write_only-v6"); /* IPv4 inside */
	frame[IP + 6] = 4;
	assert_drop(MRC_DROP_SRV6_BAD);
}

static void srv6_srh(void **state)
{
	static const struct {
		uint8_t at, value;
	} bad[] = {
		{0, 17},          /* UDP behind it: no encapsulation */
		{0, 4}, {1, 0},   /* no segment */
		{1, 1}, {1, 4},   /* two */
		{3, 2},           /* two segments left */
		{3, 255}, {4, 1}, /* last entry is the second one */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start("write_only-srh");
		frame[INNER + bad[i].at] = bad[i].value;
		assert_drop(MRC_DROP_SRV6_BAD);
	}
	start("write_only-srh");
	for (frame_len = INNER; frame_len < INNER + 64; frame_len++) {
		poke16(IP + 4, frame_len - INNER);
		assert_drop(MRC_DROP_SRV6_BAD);
	}
}

/* Already at its last segment, with flags and tag: nothing of ours. */
static void srv6_srh_tolerated(void **state)
{
	start("write_only-srh");
	frame[INNER + 3] = 0;
	memset(frame + INNER + 5, 0xFF, 3);
	assert_drop(MRC_KEEP);
}

static void not_udp(void **state)
{
	start("write_only-v4");
	frame[IP + 9] = 6;
	pkt_kit_ipv4_fix(frame + IP);
	assert_drop(MRC_DROP_NOT_UDP);
	start("write_only-v6");
	frame[IP + 6] = 58;
	assert_drop(MRC_DROP_NOT_UDP);
	start("write_only-srv6");
	frame[INNER + 6] = 6;
	assert_drop(MRC_DROP_NOT_UDP);
}

static void udp_short(void **state)
{
	for (uint32_t len = 0; len < 8; len++) {
		start("write_only-v4");
		frame_len = UDP_V4 + len;
		poke16(IP + 2, frame_len - IP);
		pkt_kit_ipv4_fix(frame + IP);
		assert_drop(MRC_DROP_UDP_SHORT);
		start("write_only-v6-trimmed");
		frame_len = UDP_V6 + len;
		assert_drop(MRC_DROP_UDP_SHORT);
	}
}

/* spec */
static void udp_port(void **state)
{
	start("write_only-v4");
	for (uint32_t port = 0; port < 65536; port++) {
		struct mrc_pkt pkt;

		poke16(UDP_V4 + 2, port);
		assert_int_equal(mrc_pkt_decode(&proto, frame, frame_len, &pkt),
			port == 4791 ? MRC_KEEP : MRC_DROP_UDP_PORT);
	}
}

static void udp_length(void **state)
{
	start("write_only-v6");
	for (uint32_t len = 0; len < 65536; len++) {
		struct mrc_pkt pkt;

		poke16(UDP_V6 + 4, len);
		assert_int_equal(mrc_pkt_decode(&proto, frame, frame_len, &pkt),
			len == frame_len - UDP_V6 ? MRC_KEEP : MRC_DROP_UDP_LENGTH);
	}
}

/* spec */
static void trim_short(void **state)
{
	for (uint32_t len = 8; len < 28; len++) {
		start("write_only-v4-trimmed");
		frame_len = UDP_V4 + len;
		assert_drop(MRC_DROP_TRIM_SHORT);
		start("write_only-srh-trimmed");
		frame_len = INNER + 24 + 40 + len;
		assert_drop(MRC_DROP_TRIM_SHORT);
	}
	start("write_only-v4-trimmed");
	frame_len = UDP_V4 + 28;
	assert_drop(MRC_KEEP);
}

static void trim_opcode(void **state)
{
	start("write_only-v6-trimmed");
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		bool write = opcode >= 0xC6 && opcode <= 0xCB;

		frame[BTH_V6] = (uint8_t)opcode;
		assert_drop(write ? MRC_KEEP : MRC_DROP_TRIM_OPCODE);
	}
}

/* Too short to be cut: only the class is a trimmed one, and everything is checked as ever. */
static void trim_whole(void **state)
{
	static const char *const names[] = {"probe-v6", "probe-srv6", "sack-v6", "ep_req-v6"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct mrc_pkt pkt;

		start(names[i]);
		frame[IP] = (uint8_t)(0x60 | proto.dscp[MRC_CLASS_TRIMMED] >> 2);
		frame[IP + 1] = (uint8_t)(proto.dscp[MRC_CLASS_TRIMMED] << 6);
		assert_int_equal(mrc_pkt_decode(&proto, frame, frame_len, &pkt), MRC_KEEP);
		assert_int_equal(pkt.cls, MRC_CLASS_TRIMMED);
		assert_int_equal(pkt.flags & MRC_PKT_TRIMMED, 0);
		assert_true(mrc_pkt_icrc_ok(&pkt, frame));
		frame_len--;
		assert_drop(MRC_DROP_TRIM_OPCODE);
	}
}

/* Nothing lacks only when every length says so: a probe that was cut, or whose IP header tells of
 * bytes that are not there, was taken for a whole one. */
static void trim_lengths_disagree(void **state)
{
	static const struct {
		const char *name;
		uint32_t at; /* of the length that is wrong */
	} cases[] = {{"probe-v4", IP + 2}, {"probe-v4", UDP_V4 + 4}, {"probe-v6", IP + 4},
		{"probe-v6", UDP_V6 + 4}, {"probe-srv6", IP + 4}, {"probe-srv6", IP + 40 + 4}};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int32_t by = -4; by <= 256; by += 4) {
			struct mrc_pkt pkt;
			uint32_t at = cases[i].at, len;

			start(cases[i].name);
			len = (uint32_t)frame[at] << 8 | frame[at + 1];
			poke16(at, (uint32_t)((int32_t)len + by));
			if (frame[IP] == 0x45) {
				frame[IP + 1] = (uint8_t)(proto.dscp[MRC_CLASS_TRIMMED] << 2);
				pkt_kit_ipv4_fix(frame + IP);
			} else {
				frame[IP] = (uint8_t)(0x60 | proto.dscp[MRC_CLASS_TRIMMED] >> 2);
				frame[IP + 1] = (uint8_t)(proto.dscp[MRC_CLASS_TRIMMED] << 6);
			}
			if (by != 0)
				assert_drop(MRC_DROP_TRIM_OPCODE);
			else
				assert_int_equal(
					mrc_pkt_decode(&proto, frame, frame_len, &pkt), MRC_KEEP);
		}
	}
}

/* A packet that ends `len` bytes behind the IP header, all lengths saying so. */
static void end_at(uint32_t udp, uint32_t len)
{
	frame_len = udp + len;
	poke16(udp + 4, len);
	if (udp == UDP_V4) {
		poke16(IP + 2, len + 20);
		pkt_kit_ipv4_fix(frame + IP);
	} else {
		poke16(IP + 4, len);
	}
}

static void bth_short(void **state)
{
	for (uint32_t len = 8; len < 20; len++) {
		start("write_only-v4");
		end_at(UDP_V4, len);
		assert_drop(MRC_DROP_BTH_SHORT);
	}
}

/* spec */
static void bth_version(void **state)
{
	for (uint32_t version = 1; version < 16; version++) {
		start("sack-v4");
		frame[BTH_V4 + 1] |= (uint8_t)version;
		assert_drop(MRC_DROP_BTH_VERSION);
	}
}

/* spec */
static void bth_opcode(void **state)
{
	start("write_only-v4");
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		if (mrc_opcode_table[opcode].name != NULL)
			continue;
		frame[BTH_V4] = (uint8_t)opcode;
		assert_drop(MRC_DROP_BTH_OPCODE);
	}
}

/* spec */
static void bth_pkey(void **state)
{
	start("write_only-v4");
	poke16(BTH_V4 + 2, 0xFFFE);
	assert_drop(MRC_DROP_BTH_PKEY);
	proto.check_pkey = false;
	assert_drop(MRC_KEEP);
	proto.check_pkey = true;
	poke16(BTH_V4 + 2, 0x7FFF); /* limited member of the same partition */
	assert_drop(MRC_KEEP);
	proto.pkey = 0x8001;
	assert_drop(MRC_DROP_BTH_PKEY);
	poke16(BTH_V4 + 2, 0x0001);
	assert_drop(MRC_KEEP);
}

/* Every write opcode, with and without TSETH, from BTH to the last byte of what it needs. */
static void ext_short(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_OPCODES; i++) {
		struct pkt_kit_case kind;
		uint32_t ext, least;

		pkt_kit_case(i * PKT_KIT_NB_SHAPES, &kind);
		ext = mrc_opcode_table[kind.opcode].ext_len;
		for (uint32_t ts = 0; ts <= 1; ts++) {
			bool write = i < PKT_KIT_NB_WRITES;

			/* A write without room for its ICRC; a control packet's length is judged
			 * by itself. */
			least = 20 + ext + (write ? ts * 4 + 4 : 0);
			for (uint32_t len = 20; len < least; len++) {
				start(kind.name);
				if (!ts)
					frame[BTH_V4 + 8] &= (uint8_t)~0x10;
				end_at(UDP_V4, len);
				assert_drop(MRC_DROP_EXT_SHORT);
			}
		}
	}
}

/* spec */
static void ext_ftype(void **state)
{
	for (uint32_t ftype = 0; ftype < 16; ftype++) {
		start("write_only-v4");
		frame[EXT_V4 + 7] = (uint8_t)((frame[EXT_V4 + 7] & 0xF0) | ftype);
		assert_drop(ftype == 1 ? MRC_KEEP : MRC_DROP_EXT_FTYPE);
		start("write_only-v6-trimmed");
		frame[EXT_V6 + 7] = (uint8_t)ftype;
		assert_drop(ftype == 1 ? MRC_KEEP : MRC_DROP_EXT_FTYPE);
		start("probe-v4"); /* 0: no timestamp offered */
		frame[EXT_V4 + 15] = (uint8_t)ftype;
		assert_drop(ftype <= 1 ? MRC_KEEP : MRC_DROP_EXT_FTYPE);
		start("ep_req-v4");
		frame[EXT_V4 + 15] = (uint8_t)ftype;
		assert_drop(ftype <= 1 ? MRC_KEEP : MRC_DROP_EXT_FTYPE);
	}
}

static void ext_reserved_m(void **state)
{
	for (uint32_t m = 0; m < 4; m++) {
		start("sack-v6");
		frame[EXT_V6 + 1] = (uint8_t)(m << 5);
		assert_drop(m == 3 ? MRC_DROP_EXT_RESERVED_M : MRC_KEEP);
	}
}

/* spec */
static void pad_bad(void **state)
{
	start("write_only-v4"); /* 21 bytes, 3 of padding */
	for (uint32_t pad = 0; pad < 4; pad++) {
		frame[BTH_V4 + 1] = (uint8_t)((frame[BTH_V4 + 1] & 0xCF) | pad << 4);
		assert_drop(MRC_KEEP);
	}
	for (uint32_t more = 1; more < 4; more++) { /* not a multiple of four */
		start("write_only-v4");
		end_at(UDP_V4, frame_len - UDP_V4 - more);
		assert_drop(MRC_DROP_PAD_BAD);
	}
	start("write_only-v4"); /* padding, but no payload */
	end_at(UDP_V4, 20 + 24 + 4);
	assert_drop(MRC_DROP_PAD_BAD);
	start("write_first-v4"); /* a full packet cannot need any */
	frame[BTH_V4 + 1] |= 0x10;
	assert_drop(MRC_DROP_PAD_BAD);
	start("write_middle-v4");
	frame[BTH_V4 + 1] |= 0x20;
	assert_drop(MRC_DROP_PAD_BAD);
	for (uint32_t i = PKT_KIT_NB_WRITES; i < PKT_KIT_NB_OPCODES; i++) {
		struct pkt_kit_case kind;

		pkt_kit_case(i * PKT_KIT_NB_SHAPES, &kind);
		start(kind.name);
		frame[BTH_V4 + 1] |= 0x30;
		assert_drop(MRC_DROP_PAD_BAD);
	}
}

/* spec */
static void control_length(void **state)
{
	for (uint32_t i = PKT_KIT_NB_WRITES; i < PKT_KIT_NB_OPCODES; i++) {
		struct pkt_kit_case kind;
		uint32_t len;

		pkt_kit_case(i * PKT_KIT_NB_SHAPES, &kind);
		start(kind.name);
		len = frame_len - UDP_V4;
		for (int32_t off = -4; off <= 4; off++) {
			end_at(UDP_V4, len + (uint32_t)off);
			assert_drop(off == 0 ? MRC_KEEP : MRC_DROP_CONTROL_LENGTH);
		}
	}
}

/* spec */
static void qpn_reserved(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_OPCODES; i++) {
		struct pkt_kit_case kind;
		bool endpoint;

		pkt_kit_case(i * PKT_KIT_NB_SHAPES, &kind);
		endpoint = kind.opcode == MRC_OP_EP_REQ || kind.opcode == MRC_OP_EP_RSP;
		for (uint32_t qpn = 0; qpn < 5; qpn++) {
			start(kind.name);
			memset(frame + BTH_V4 + 5, 0, 2);
			frame[BTH_V4 + 7] = (uint8_t)qpn;
			assert_drop(
				(endpoint ? qpn == 2 : qpn > 2) ? MRC_KEEP : MRC_DROP_QPN_RESERVED);
		}
	}
}

static void ext_reserved(void **state)
{
	start("sack-v4");
	frame[EXT_V4] = 0x80;
	assert_drop(MRC_KEEP);
	proto.choice.reserved_check = 1;
	assert_drop(MRC_DROP_EXT_RESERVED);
}

/* ---- order ------------------------------------------------------------------------------- */

/* One fault each, in places of their own, so that any two can be had together. The header checksum
 * is mended behind all but one. */
static const struct {
	enum mrc_drop reason;
	uint8_t at, clear, set;
} faults[] = {
	{MRC_DROP_ETHERTYPE, 13, 0xFF, 0x06},
	{MRC_DROP_IP_VERSION, IP, 0xF0, 0x70},
	{MRC_DROP_IP_OPTIONS, IP, 0x0F, 0x06},
	{MRC_DROP_IP_FRAGMENT, IP + 7, 0xFF, 0x01},
	{MRC_DROP_IP_CHECKSUM, IP + 5, 0xFF, 0x01},
	{MRC_DROP_IP_LENGTH, IP + 2, 0xFF, 0x40},
	{MRC_DROP_NOT_UDP, IP + 9, 0xFF, 6},
	{MRC_DROP_UDP_PORT, UDP_V4 + 2, 0xFF, 0x13},
	{MRC_DROP_UDP_LENGTH, UDP_V4 + 4, 0xFF, 0x10},
	{MRC_DROP_BTH_VERSION, BTH_V4 + 1, 0x0F, 0x01},
	{MRC_DROP_BTH_OPCODE, BTH_V4, 0xFF, 0x0A},
	{MRC_DROP_BTH_PKEY, BTH_V4 + 2, 0xFF, 0x12},
	{MRC_DROP_EXT_FTYPE, EXT_V4 + 7, 0x0F, 0x02},
	{MRC_DROP_PAD_BAD, BTH_V4 + 1, 0x30, 0x10},
	{MRC_DROP_QPN_RESERVED, BTH_V4 + 7, 0xFF, 0x01},
};

static void fault(size_t i)
{
	frame[faults[i].at] = (uint8_t)((frame[faults[i].at] & ~faults[i].clear) | faults[i].set);
	if (faults[i].reason != MRC_DROP_IP_CHECKSUM)
		pkt_kit_ipv4_fix(frame + IP);
}

/* spec */
static void reasons_in_order(void **state)
{
	size_t nb = sizeof(faults) / sizeof(faults[0]);

	for (size_t a = 0; a < nb; a++) {
		for (size_t b = a; b < nb; b++) {
			start("write_first-v4");
			memset(frame + BTH_V4 + 5, 0, 3);
			frame[BTH_V4 + 7] = 0x99;
			/* The checksum's fault last, or mending would undo it. */
			fault(b);
			if (b != a)
				fault(a);
			if (faults[b].reason == MRC_DROP_IP_CHECKSUM)
				fault(b);
			assert_drop(faults[a].reason);
			if (a > 0)
				assert_true(faults[a].reason > faults[a - 1].reason);
		}
	}
}

/* ---- strangers --------------------------------------------------------------------------- */

static const uint8_t ether[14] = {0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1};

/* An Ethernet frame of the type, filled with the bytes; padded with zero to 60. */
static void stranger(uint32_t type, const char *hex)
{
	memset(frame, 0, 60);
	memcpy(frame, ether, 12);
	poke16(12, type);
	for (frame_len = 14; *hex != '\0'; hex += 2) {
		char byte[3] = {hex[0], hex[1], '\0'};

		frame[frame_len++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	frame_len = frame_len < 60 ? 60 : frame_len;
}

/* IPv4 header of the protocol around the bytes that are already there, 20 bytes of them. */
static void stranger_v4(uint32_t protocol, const char *hex)
{
	stranger(0x0800, "4500000000000000400000000a0000010a000002");
	frame[IP + 9] = (uint8_t)protocol;
	for (frame_len = 34; *hex != '\0'; hex += 2) {
		char byte[3] = {hex[0], hex[1], '\0'};

		frame[frame_len++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	poke16(IP + 2, frame_len - IP);
	pkt_kit_ipv4_fix(frame + IP);
	frame_len = frame_len < 60 ? 60 : frame_len;
}

static void strangers(void **state)
{
	mrc_proto_default(&proto);
	/* ARP request; LLDP; EAPOL; IEEE 802.3 frame with a length; PTP; MPLS; pause; PPPoE */
	stranger(0x0806, "0001080006040001020000000001c0a80001000000000000c0a80002");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x88CC, "0207040200000000010403020102060200780000");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x888E, "01010000");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x0026, "424203000000000000");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x88F7, "0002002c");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x8847, "00010140450000");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x8808, "0001ffff");
	assert_drop(MRC_DROP_ETHERTYPE);
	stranger(0x8864, "1100000100020021");
	assert_drop(MRC_DROP_ETHERTYPE);
	/* ICMP echo, TCP SYN, OSPF, DHCP, DNS, NTP, VXLAN */
	stranger_v4(1, "0800f7ff00000000");
	assert_drop(MRC_DROP_NOT_UDP);
	stranger_v4(6, "c000005000000001000000005002ffff00000000");
	assert_drop(MRC_DROP_NOT_UDP);
	stranger_v4(89, "02010030");
	assert_drop(MRC_DROP_NOT_UDP);
	stranger_v4(17, "00440043001400000101060000000001"
			"00000000");
	assert_drop(MRC_DROP_UDP_PORT);
	stranger_v4(17, "c00000350010000000010000"
			"00000000");
	assert_drop(MRC_DROP_UDP_PORT);
	stranger_v4(17, "007b007b0010000023000000"
			"00000000");
	assert_drop(MRC_DROP_UDP_PORT);
	stranger_v4(17, "c00012b5000c0000"
			"08000000");
	assert_drop(MRC_DROP_UDP_PORT);
	/* RoCEv2 of other people on the same port: a CNP, a Send Only, an RC acknowledgement */
	stranger_v4(17, "000012b7002800008100ffff4000011800000000"
			"0000000000000000000000000000000082fd002a");
	assert_drop(MRC_DROP_BTH_OPCODE);
	stranger_v4(17, "c00012b7001c00000400ffff0000001180000001"
			"0102030400000000");
	assert_drop(MRC_DROP_BTH_OPCODE);
	stranger_v4(17, "c00012b7001c00001140ffff0000001100000001"
			"1f00000100000000");
	assert_drop(MRC_DROP_BTH_OPCODE);
	/* IGMP has a router alert option; ICMPv6 multicast listener reports a hop-by-hop header;
	 * neighbour solicitation nothing */
	stranger(0x0800, "46c00020000040000102000000000000e000001694040000");
	assert_drop(MRC_DROP_IP_OPTIONS);
	stranger(0x86DD, "6000000000240001fe800000000000000000000000000001"
			 "ff0200000000000000000000000000163a000502000001008f00000000000001"
			 "04000000ff020000000000000000000000000001");
	assert_drop(MRC_DROP_IP_OPTIONS);
	stranger(0x86DD, "6000000000203afffe800000000000000000000000000001"
			 "ff0200000000000000000001ff0000028700000000000000"
			 "fe8000000000000000000000000000020101020000000001");
	assert_drop(MRC_DROP_NOT_UDP);
}

static void strangers_empty(void **state)
{
	mrc_proto_default(&proto);
	memset(frame, 0, sizeof(frame));
	frame_len = 14; /* a runt */
	assert_drop(MRC_DROP_ETHERTYPE);
	frame_len = 60; /* nothing but zero, short and long */
	assert_drop(MRC_DROP_ETHERTYPE);
	frame_len = sizeof(frame);
	assert_drop(MRC_DROP_ETHERTYPE);
	memset(frame, 0xFF, sizeof(frame));
	assert_drop(MRC_DROP_ETHERTYPE);
	poke16(12, 0x0800); /* zero behind a good type */
	memset(frame + 14, 0, sizeof(frame) - 14);
	assert_drop(MRC_DROP_IP_VERSION);
	frame[IP] = 0x45;
	assert_drop(MRC_DROP_IP_CHECKSUM);
	poke16(12, 0x86DD);
	frame[IP] = 0x60;
	assert_drop(MRC_DROP_IP_OPTIONS); /* 0 is the hop-by-hop header */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_short),
		cmocka_unit_test(vlan_stacked),
		cmocka_unit_test(ethertype),
		cmocka_unit_test(ip_short),
		cmocka_unit_test(ip_version),
		cmocka_unit_test(ip_options),
		cmocka_unit_test(ip_fragment),
		cmocka_unit_test(ip_dont_fragment_is_free),
		cmocka_unit_test(ip_checksum),
		cmocka_unit_test(ip_length),
		cmocka_unit_test(srv6_inner),
		cmocka_unit_test(srv6_srh),
		cmocka_unit_test(srv6_srh_tolerated),
		cmocka_unit_test(not_udp),
		cmocka_unit_test(udp_short),
		cmocka_unit_test(udp_port),
		cmocka_unit_test(udp_length),
		cmocka_unit_test(trim_short),
		cmocka_unit_test(trim_opcode),
		cmocka_unit_test(trim_whole),
		cmocka_unit_test(trim_lengths_disagree),
		cmocka_unit_test(bth_short),
		cmocka_unit_test(bth_version),
		cmocka_unit_test(bth_opcode),
		cmocka_unit_test(bth_pkey),
		cmocka_unit_test(ext_short),
		cmocka_unit_test(ext_ftype),
		cmocka_unit_test(ext_reserved_m),
		cmocka_unit_test(ext_reserved),
		cmocka_unit_test(pad_bad),
		cmocka_unit_test(control_length),
		cmocka_unit_test(qpn_reserved),
		cmocka_unit_test(reasons_in_order),
		cmocka_unit_test(strangers),
		cmocka_unit_test(strangers_empty),
	};

	return cmocka_run_group_tests_name("drops", tests, setup, NULL);
}
