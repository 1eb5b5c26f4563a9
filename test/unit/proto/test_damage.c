/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged packets: single bits, pairs of bits, bursts, cut ends. A bit that the ICRC covers never
 * gets through; a bit that it does not cover changes what it says and nothing else, or is caught by
 * a named check.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pkt_kit.h"
#include "test_env.h"

/* What a byte of a frame may do when it changes. */
enum region {
	COVERED,  /* dropped */
	IGNORED,  /* no effect */
	MAC,      /* dmac, smac */
	TCI,      /* vlan_tci */
	TCLASS,   /* dscp, ecn, class */
	LABEL,    /* IPv6 flow label: the EV, where it is the one that counts */
	TTL,      /* ttl */
	OUTER,    /* an outer header: its addresses, its segment */
	CHECKSUM, /* IPv4 header checksum and what only it protects */
};

struct sample {
	struct mrc_pkt pkt;
	uint8_t frame[PKT_KIT_ROOM];
	uint32_t len;
};

static struct mrc_proto proto;

static int setup(void **state)
{
	mrc_proto_default(&proto);
	return 0;
}

static void sample_make(uint32_t index, struct sample *s)
{
	struct mrc_pkt view;

	s->len = pkt_kit_example(&proto, index, &view, s->frame);
	memset(&s->pkt, 0, sizeof(s->pkt));
	assert_int_equal(mrc_pkt_decode(&proto, s->frame, s->len, &s->pkt), MRC_KEEP);
	assert_true(mrc_pkt_icrc_ok(&s->pkt, s->frame));
}

static enum region region_inner(const struct mrc_pkt *pkt, uint32_t bit)
{
	uint32_t at = bit / 8 - pkt->ip_off, udp = pkt->flags & MRC_PKT_V6 ? 40 : 20;
	bool wrapped = pkt->flags & MRC_PKT_SRV6;

	if (at == udp + 6 || at == udp + 7 || at == udp + 12)
		return IGNORED;
	if (!(pkt->flags & MRC_PKT_V6))
		return at == 1 || at == 8 || at == 10 || at == 11 ? CHECKSUM : COVERED;
	if ((at == 0 && bit % 8 >= 4) || (at == 1 && bit % 8 < 4))
		return wrapped ? IGNORED : TCLASS;
	if (at == 1)
		return IGNORED; /* the four bits of the label that no EV uses */
	if (at == 2 || at == 3)
		return LABEL;
	return at == 7 ? TTL : COVERED;
}

/* bit 0 is the first one on the wire. */
static enum region region_of(const struct sample *s, uint32_t bit)
{
	uint32_t at = bit / 8, ether = s->pkt.flags & MRC_PKT_VLAN ? 18 : 14;

	if (at < 12)
		return MAC;
	if (ether == 18 && (at == 14 || at == 15))
		return TCI;
	if (at < ether)
		return COVERED;
	if (at < s->pkt.ip_off)
		return OUTER;
	if (at >= s->pkt.payload_off + s->pkt.payload_len + s->pkt.pad + 4u)
		return IGNORED; /* padding of the frame */
	return region_inner(&s->pkt, bit);
}

/* Takes over from `got` what the region may change. */
static void allow(struct mrc_pkt *want, const struct mrc_pkt *got, enum region region)
{
	const uint16_t class_flags = MRC_PKT_CE | MRC_PKT_TRIMMED;

	switch (region) {
	case COVERED:
	case IGNORED:
	case CHECKSUM:
		break;
	case MAC:
		memcpy(want->dmac, got->dmac, 6);
		memcpy(want->smac, got->smac, 6);
		break;
	case TCI:
		want->vlan_tci = got->vlan_tci;
		break;
	case LABEL:
		want->ev = (want->ev & 0xFFFF) | (got->ev & 0xFFFF0000);
		break;
	case TTL:
		want->ttl = got->ttl;
		break;
	case OUTER:
		want->outer_src = got->outer_src;
		want->outer_dst = got->outer_dst;
		want->srh_seg = got->srh_seg;
		/* fallthrough */
	case TCLASS:
		want->dscp = got->dscp;
		want->ecn = got->ecn;
		want->cls = got->cls;
		want->flags = (uint16_t)((want->flags & ~class_flags) | (got->flags & class_flags));
		if (got->flags & MRC_PKT_TRIMMED)
			want->payload_len = 0;
		break;
	}
}

static bool accepted(const uint8_t *frame, uint32_t len, struct mrc_pkt *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	if (mrc_pkt_decode(&proto, frame, len, pkt) != MRC_KEEP)
		return false;
	return pkt->flags & MRC_PKT_TRIMMED || mrc_pkt_icrc_ok(pkt, frame);
}

static void flip(uint8_t *frame, uint32_t bit)
{
	frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

static void check_bit(struct sample *s, uint32_t bit, uint32_t *nb_accepted)
{
	enum region region = region_of(s, bit);
	struct mrc_pkt got, want = s->pkt;

	flip(s->frame, bit);
	if (accepted(s->frame, s->len, &got)) {
		(*nb_accepted)++;
		assert_int_not_equal(region, COVERED);
		assert_int_not_equal(region, CHECKSUM);
		allow(&want, &got, region);
		assert_memory_equal(&got, &want, sizeof(got));
	} else {
		/* Traffic class: a control packet may not come trimmed. Outer header: its own
		 * checks. */
		assert_true(region == COVERED || region == CHECKSUM || region == TCLASS ||
			    region == OUTER);
	}
	flip(s->frame, bit);
}

/* Every bit of every kind of packet that has an ICRC: 96 of them. spec */
static void test_every_single_bit(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_OPCODES * PKT_KIT_NB_SHAPES; i++) {
		uint32_t nb_accepted = 0;
		struct sample s;

		sample_make(i, &s);
		for (uint32_t bit = 0; bit < s.len * 8; bit++)
			check_bit(&s, bit, &nb_accepted);
		/* At least the MAC addresses, UDP checksum and BTH byte 4 are free. */
		assert_true(nb_accepted >= 12 * 8 + 16 + 8);
	}
}

/* A decoder that drops everything would pass the above: the free bits that must stay free. */
static void test_free_bits_are_accepted(void **state)
{
	struct sample s;
	struct mrc_pkt got;

	sample_make(pkt_kit_find("write_only-v6"), &s);
	for (uint32_t bit = 0; bit < s.len * 8; bit++) {
		enum region region = region_of(&s, bit);

		flip(s.frame, bit);
		if (region != COVERED && region != TCLASS)
			assert_true(accepted(s.frame, s.len, &got));
		flip(s.frame, bit);
	}
}

/* The shortest packet padded to the shortest frame, 64 bytes: every pair of bits. */
static void test_every_two_bits(void **state)
{
	struct sample s;
	uint32_t nb_accepted = 0;

	sample_make(pkt_kit_find("ack-v4"), &s);
	assert_int_equal(s.len, 62);
	s.frame[62] = s.frame[63] = 0;
	s.len = 64;
	for (uint32_t a = 0; a < 512; a++) {
		enum region region = region_of(&s, a);

		flip(s.frame, a);
		for (uint32_t b = a + 1; b < 512; b++) {
			enum region other = region_of(&s, b);
			struct mrc_pkt got;
			bool ok;

			flip(s.frame, b);
			ok = accepted(s.frame, s.len, &got);
			flip(s.frame, b);
			if (region == COVERED || other == COVERED)
				assert_false(ok);
			nb_accepted += ok;
		}
		flip(s.frame, a);
	}
	assert_true(nb_accepted > 0);
}

static bool covers(const struct sample *s, uint32_t from, uint32_t pattern)
{
	for (uint32_t i = 0; i < 32; i++)
		if (pattern >> i & 1 && region_of(s, from + i) == COVERED)
			return true;
	return false;
}

/* Bursts of up to 32 bits anywhere, on packets of every kind. */
static void test_bursts(void **state)
{
	static struct sample samples[PKT_KIT_NB_OPCODES * PKT_KIT_NB_SHAPES];
	const uint32_t nb = PKT_KIT_NB_OPCODES * PKT_KIT_NB_SHAPES;
	struct test_env te;

	test_env_init(&te, 8);
	for (uint32_t i = 0; i < nb; i++)
		sample_make(i, &samples[i]);
	for (uint32_t n = 0; n < 10000000; n++) {
		struct sample *s = &samples[test_random_below(&te, nb)];
		uint32_t from = test_random_below(&te, s->len * 8 - 31);
		uint32_t width = 1 + test_random_below(&te, 32);
		uint32_t pattern = ((uint32_t)test_random64(&te) | 1) >> (32 - width);
		struct mrc_pkt got;

		pattern |= 1;
		for (uint32_t i = 0; i < 32; i++)
			if (pattern >> i & 1)
				flip(s->frame, from + i);
		/* A burst that makes a packet look trimmed takes it out of the ICRC's reach. */
		if (accepted(s->frame, s->len, &got) && !(got.flags & MRC_PKT_TRIMMED))
			assert_false(covers(s, from, pattern));
		for (uint32_t i = 0; i < 32; i++)
			if (pattern >> i & 1)
				flip(s->frame, from + i);
	}
}

/* Cut at every byte, in a heap block of that size; only what a switch trims may be cut. */
static void test_cut_at_every_byte(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt view, whole;
		uint32_t full = pkt_kit_example(&proto, i, &view, frame);

		assert_int_equal(mrc_pkt_decode(&proto, frame, full, &whole), MRC_KEEP);
		for (uint32_t len = 0; len < full; len++) {
			uint8_t *exact = malloc(len);
			struct mrc_pkt got;
			enum mrc_drop drop;

			memcpy(exact, frame, len);
			drop = mrc_pkt_decode(&proto, exact, len, &got);
			if (view.flags & MRC_PKT_TRIMMED && len >= whole.bth_off - 8u + 28)
				assert_int_equal(drop, MRC_KEEP);
			else
				assert_int_not_equal(drop, MRC_KEEP);
			free(exact);
		}
	}
}

/* Nothing of the frame is written, and the sum reads no byte behind the ICRC. */
static void test_exact_blocks(void **state)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct mrc_pkt pkt;
		uint32_t len = pkt_kit_example(&proto, i, &pkt, frame);
		uint8_t *exact = malloc(len);

		memcpy(exact, frame, len);
		assert_true(accepted(exact, len, &pkt));
		assert_memory_equal(exact, frame, len);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_single_bit),
		cmocka_unit_test(test_free_bits_are_accepted),
		cmocka_unit_test(test_every_two_bits),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_exact_blocks),
	};

	return cmocka_run_group_tests_name("damage", tests, setup, NULL);
}
