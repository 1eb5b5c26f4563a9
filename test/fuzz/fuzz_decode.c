/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_decode.c - frames into mrc_pkt_decode. Input: the frame.
 *
 * What is accepted must encode to the same bytes, but for the fields that a receiver ignores, and
 * decode to the same view again. Each input is also tried with its lengths and checksums mended,
 * since nearly nothing gets past them otherwise.
 */
#include <string.h>

#include "fuzz.h"
#include "mrc_icrc.h"
#include "pkt_kit.h"

enum {
	MAX_LEN = 16384,
};

struct settings {
	struct mrc_proto proto, strict; /* strict: the same with reserved_check */
};

static void settings_make(struct settings *set, uint32_t which)
{
	struct mrc_choice *choice = &set->proto.choice;

	mrc_proto_default(&set->proto);
	if (which == 1) {
		choice->bth_se_first = 0;
		choice->ev_label_is_high = 0;
		choice->ipv4_ev_high_half = 1;
		choice->eeth_op_shift = 4;
		choice->srv6_label_copy = 0;
		set->proto.check_pkey = false;
	}
	FUZZ_CHECK(mrc_proto_init(&set->proto) == 0);
	set->strict = set->proto;
	set->strict.choice.reserved_check = 1;
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* ---- the view is sane ---------------------------------------------------------------------- */

static void check_offsets(const struct mrc_pkt *pkt, size_t len)
{
	bool trimmed = pkt->flags & MRC_PKT_TRIMMED;

	FUZZ_CHECK(pkt->ip_off >= 14 && pkt->ip_off < pkt->bth_off);
	FUZZ_CHECK(pkt->bth_off + 12 <= pkt->payload_off && pkt->payload_off <= len);
	FUZZ_CHECK(mrc_opcode_table[pkt->opcode].name != NULL);
	FUZZ_CHECK(pkt->pad <= 3 && pkt->ecn <= 3 && pkt->dscp <= 63);
	FUZZ_CHECK(pkt->psn.v <= 0xFFFFFF && pkt->dqpn <= 0xFFFFFF);
	if (trimmed) {
		FUZZ_CHECK(mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE);
		FUZZ_CHECK(pkt->payload_len == 0);
		return;
	}
	FUZZ_CHECK((size_t)pkt->payload_off + pkt->payload_len + pkt->pad + 4 <= len);
	FUZZ_CHECK((pkt->payload_len + pkt->pad) % 4 == 0);
}

/* ---- what a receiver ignores ---------------------------------------------------------------- */

/* Takes from `to` what encode cannot know, into `from`. */
static void same_byte(uint8_t *from, const uint8_t *to, size_t at, uint8_t mask)
{
	from[at] = (uint8_t)((from[at] & ~mask) | (to[at] & mask));
}

static void ignore_inner_ip(const struct mrc_pkt *pkt, uint8_t *x, const uint8_t *y)
{
	bool trimmed = pkt->flags & MRC_PKT_TRIMMED;

	if (!(pkt->flags & MRC_PKT_V6)) {
		for (size_t at = 4; at < 8; at++) /* identification, "do not fragment" */
			same_byte(x, y, at, at == 6 ? 0xC0 : at == 7 ? 0 : 0xFF);
		same_byte(x, y, 2, trimmed ? 0xFF : 0);
		same_byte(x, y, 3, trimmed ? 0xFF : 0);
		same_byte(x, y, 10, 0xFF);
		same_byte(x, y, 11, 0xFF);
		return;
	}
	same_byte(x, y, 1, 0x0F); /* the label's upper bits */
	same_byte(x, y, 4, trimmed ? 0xFF : 0);
	same_byte(x, y, 5, trimmed ? 0xFF : 0);
	if (pkt->flags & MRC_PKT_SRV6) { /* the outer traffic class counts */
		same_byte(x, y, 0, 0x0F);
		same_byte(x, y, 1, 0xF0);
	}
}

/* Label, length of a trimmed one, hop limit; segments left, flags and tag. */
static void ignore_outer_ip(const struct mrc_pkt *pkt, uint8_t *x, const uint8_t *y)
{
	same_byte(x, y, 1, 0x0F);
	same_byte(x, y, 2, 0xFF);
	same_byte(x, y, 3, 0xFF);
	same_byte(x, y, 4, pkt->flags & MRC_PKT_TRIMMED ? 0xFF : 0);
	same_byte(x, y, 5, pkt->flags & MRC_PKT_TRIMMED ? 0xFF : 0);
	same_byte(x, y, 7, 0xFF);
	if (!(pkt->flags & MRC_PKT_SRH))
		return;
	same_byte(x, y, 43, 0xFF);
	for (size_t at = 45; at < 48; at++)
		same_byte(x, y, at, 0xFF);
}

static void ignore_ext(const struct mrc_pkt *pkt, uint8_t *x, const uint8_t *y)
{
	/* Reserved bits behind the BTH: byte, mask. */
	static const uint8_t sack[][2] = {{0, 0xFF}, {1, 0x9D}, {12, 0xFF}, {30, 0x80}};
	static const uint8_t nack[][2] = {{0, 0xFF}, {1, 0xFF}, {12, 0xFF}, {17, 0xFF}};
	static const uint8_t probe[][2] = {
		{0, 0xFF}, {1, 0xFF}, {2, 0xFF}, {6, 0xFF}, {7, 0xFF}, {14, 0x7F}, {15, 0xF0}};
	static const uint8_t ep_req[][2] = {{0, 0xFF}, {1, 0xFC}, {2, 0xFF}, {8, 0xFF}, {9, 0xFF},
		{10, 0xFF}, {11, 0xFF}, {14, 0x7F}, {15, 0xF0}};
	static const uint8_t write[][2] = {{6, 0x7F}, {7, 0xF0}};

#define IGNORE(list)                                                                               \
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)                                \
	same_byte(x, y, list[i][0], list[i][1])
	if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE && pkt->flags & MRC_PKT_TS)
		IGNORE(write);
	if (pkt->opcode == MRC_OP_SACK)
		IGNORE(sack);
	if (pkt->opcode == MRC_OP_NACK)
		IGNORE(nack);
	if (pkt->opcode == MRC_OP_PROBE)
		IGNORE(probe);
	if (pkt->opcode == MRC_OP_EP_REQ) {
		IGNORE(ep_req);
		for (size_t at = 4; at < 8 && pkt->ep.op != MRC_EP_PORT_STATUS; at++)
			same_byte(x, y, at, 0xFF);
	}
#undef IGNORE
	if (pkt->opcode == MRC_OP_EP_RSP) {
		uint8_t kept[4] = {x[28], x[29]};

		memcpy(x, y, 36);
		memcpy(x + 28, kept, 2);
	}
}

/* x: the frame up to its payload; becomes what encode must have made of it. */
static void ignore(const struct mrc_pkt *pkt, uint8_t *x, const uint8_t *y)
{
	bool write = mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE;
	size_t outer = pkt->flags & MRC_PKT_VLAN ? 18 : 14, bth = pkt->bth_off;

	if (pkt->flags & MRC_PKT_SRV6)
		ignore_outer_ip(pkt, x + outer, y + outer);
	ignore_inner_ip(pkt, x + pkt->ip_off, y + pkt->ip_off);
	same_byte(x, y, bth - 2, 0xFF); /* UDP checksum */
	same_byte(x, y, bth - 1, 0xFF);
	same_byte(x, y, bth - 6, 0xFF); /* the second port is accepted, the first one sent */
	same_byte(x, y, bth - 5, 0xFF);
	if (pkt->pkey == 0) { /* no such key: encode puts the configured one */
		same_byte(x, y, bth + 2, 0xFF);
		same_byte(x, y, bth + 3, 0xFF);
	}
	same_byte(x, y, bth + 4, 0xFF);
	same_byte(x, y, bth + 8, write ? 0x4F : 0x5F);
	ignore_ext(pkt, x + bth + 12, y + bth + 12);
}

/* ---- the round trip ------------------------------------------------------------------------ */

static bool same_bytes(const uint8_t *want, const uint8_t *made, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (want[i] == made[i])
			continue;
		fprintf(stderr, "byte %zu of %zu: %02x became %02x\n", i, len, want[i], made[i]);
		return false;
	}
	return true;
}

static void check_bytes(
	const struct mrc_pkt *pkt, const uint8_t *data, const uint8_t *made, size_t made_len)
{
	uint8_t x[MRC_HDR_ROOM] = {0};

	FUZZ_CHECK(made_len >= pkt->payload_off && made_len <= sizeof(x));
	if (!(pkt->flags & MRC_PKT_TRIMMED))
		FUZZ_CHECK(made_len == pkt->payload_off);
	memcpy(x, data, pkt->payload_off);
	/* What a trimmed packet lacks reads 0. */
	ignore(pkt, x, made);
	FUZZ_CHECK(same_bytes(x, made, pkt->payload_off));
}

static void check_again(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, const uint8_t *made, size_t len)
{
	struct mrc_pkt again, want = *pkt;
	enum mrc_drop drop;

	memset(&again, 0, sizeof(again));
	drop = mrc_pkt_decode(proto, made, (uint32_t)len, &again);
	if (drop != MRC_KEEP)
		fprintf(stderr, "what encode made is dropped: %s\n", mrc_drop_name(drop));
	FUZZ_CHECK(drop == MRC_KEEP);
	if (pkt->flags & MRC_PKT_TRIMMED)
		want.payload_off = again.payload_off;
	if (pkt->pkey == 0)
		want.pkey = again.pkey;
	FUZZ_CHECK(memcmp(&again, &want, sizeof(want)) == 0);
}

static void check_round_trip(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, const uint8_t *data)
{
	static uint8_t made[MAX_LEN + MRC_HDR_ROOM];
	int len = mrc_pkt_encode(proto, pkt, made, sizeof(made));
	uint32_t frame_len = (uint32_t)len;

	/* Only mapped addresses inside IPv6 have no encoding: they mean IPv4. */
	if (len < 0) {
		bool odd = mrc_gid_is_v4(&pkt->src) || mrc_gid_is_v4(&pkt->dst);

		FUZZ_CHECK((pkt->flags & MRC_PKT_V6 && odd) ||
			   (pkt->flags & MRC_PKT_TRIMMED && pkt->udp_len > 60000));
		return;
	}
	check_bytes(pkt, data, made, (size_t)len);
	if (!(pkt->flags & MRC_PKT_TRIMMED)) {
		memcpy(made + len, data + pkt->payload_off, pkt->payload_len);
		frame_len = mrc_pkt_finish(made, pkt->ip_off, (uint32_t)len, pkt->payload_len);
	}
	check_again(proto, pkt, made, frame_len);
}

/* The strict reader refuses exactly what differs from the sender's own bytes in a reserved bit. */
static void check_strict(
	const struct settings *set, const struct mrc_pkt *pkt, const uint8_t *data, uint32_t len)
{
	enum mrc_drop drop;
	struct mrc_pkt strict;

	memset(&strict, 0, sizeof(strict));
	drop = mrc_pkt_decode(&set->strict, data, len, &strict);
	FUZZ_CHECK(drop == MRC_KEEP || drop == MRC_DROP_EXT_RESERVED);
	if (drop == MRC_KEEP)
		FUZZ_CHECK(memcmp(&strict, pkt, sizeof(strict)) == 0);
}

static enum mrc_drop check(const struct settings *set, const uint8_t *data, size_t len)
{
	struct mrc_pkt pkt;
	enum mrc_drop drop;

	memset(&pkt, 0, sizeof(pkt));
	drop = mrc_pkt_decode(&set->proto, data, (uint32_t)len, &pkt);
	FUZZ_CHECK(drop <= MRC_DROP_QPN_RESERVED);
	if (drop != MRC_KEEP)
		return drop;
	check_offsets(&pkt, len);
	check_round_trip(&set->proto, &pkt, data);
	check_strict(set, &pkt, data, (uint32_t)len);
	return drop;
}

/* ---- mended inputs ------------------------------------------------------------------------- */

static size_t mend_ip(uint8_t *frame, size_t len, size_t at)
{
	if (at + 40 <= len && frame[at] >> 4 == 6) {
		bool srh = frame[at + 6] == 43;
		size_t inner = at + (srh ? 64 : 40);

		put16(frame + at + 4, (uint32_t)(len - at - 40));
		if (srh || frame[at + 6] == 41)
			return inner + 40 <= len && frame[inner] >> 4 == 6 && frame[inner + 6] == 17
				       ? mend_ip(frame, len, inner)
				       : 0;
		return at + 40;
	}
	if (at + 20 <= len && frame[at] == 0x45) {
		put16(frame + at + 2, (uint32_t)(len - at));
		put16(frame + at + 6, 0x4000);
		pkt_kit_ipv4_fix(frame + at);
		return at + 20;
	}
	return 0;
}

/* Lengths, header checksum, port and ICRC as a sender would make them. */
static bool mend(const struct mrc_proto *proto, uint8_t *frame, size_t len)
{
	size_t at = len > 18 && frame[12] == 0x81 && frame[13] == 0 ? 18 : 14;
	size_t udp = mend_ip(frame, len, at);

	if (udp == 0 || udp + 8 > len || len - at > 65535)
		return false;
	put16(frame + udp + 2, proto->choice.udp_port);
	put16(frame + udp + 4, (uint32_t)(len - udp));
	return pkt_kit_fix(proto, frame, (uint32_t)len) == MRC_KEEP;
}

static void check_mended(const struct settings *set, uint8_t *frame, size_t len)
{
	struct mrc_pkt pkt;

	if (!mend(&set->proto, frame, len))
		return;
	FUZZ_CHECK(check(set, frame, len) == MRC_KEEP);
	FUZZ_CHECK(mrc_pkt_decode(&set->proto, frame, (uint32_t)len, &pkt) == MRC_KEEP);
	FUZZ_CHECK(pkt.flags & MRC_PKT_TRIMMED || mrc_pkt_icrc_ok(&pkt, frame));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size > MAX_LEN)
		return 0;
	copy = malloc(size ? size : 1);
	FUZZ_CHECK(copy != NULL);
	for (uint32_t which = 0; which < 2; which++) {
		struct settings set;

		settings_make(&set, which);
		check(&set, data, size);
		memcpy(copy, data, size);
		check_mended(&set, copy, size);
	}
	free(copy);
	return 0;
}
