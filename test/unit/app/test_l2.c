/* SPDX-License-Identifier: BSD-2-Clause */
/* ARP, neighbour discovery and echo: bytes compared with packets made by scapy, and the neighbour
 * table's life under a typed-in clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "l2.h"
#include "l2_vectors.h"
#include "test_env.h"

#define MS  1000000ull
#define SEC 1000000000ull

static const uint8_t own_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const struct mrc_gid own4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1}};
static const struct mrc_gid peer4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 2}};
static const struct mrc_gid own6 = {{0xFD, [12] = 0xAA, [13] = 0xBB, [15] = 1}};
static const struct mrc_gid peer6 = {{0xFD, [12] = 0xCC, [13] = 0xDD, [15] = 2}};

static void setup(struct mrc_l2 *l2)
{
	struct mrc_l2_cfg cfg;

	mrc_l2_cfg_default(&cfg);
	memcpy(cfg.mac, own_mac, 6);
	cfg.addrs[0] = own4;
	cfg.addrs[1] = own6;
	cfg.nb_addrs = 2;
	assert_int_equal(mrc_l2_init(l2, &cfg, 0), MRC_OK);
}

/* Hands in a copy of exact size (a sanitizer sees every overrun); checks verdict and counter. */
static uint32_t give(struct mrc_l2 *l2, uint64_t now, const uint8_t *frame, uint32_t len,
	enum mrc_l2_event want, uint8_t *reply)
{
	uint8_t *copy = malloc(len + !len);
	uint64_t before = l2->counters[want];
	uint32_t reply_len = 99;

	memcpy(copy, frame, len);
	assert_string_equal(
		mrc_l2_event_name(mrc_l2_rx(l2, now, copy, len, reply, 2048, &reply_len)),
		mrc_l2_event_name(want));
	assert_int_equal(l2->counters[want], before + 1);
	free(copy);
	return reply_len;
}

#define GIVE(l2, now, vec, want, reply) give(l2, now, vec, sizeof(vec), want, reply)

static void answered(struct mrc_l2 *l2, const uint8_t *frame, uint32_t len, enum mrc_l2_event want,
	const uint8_t *answer, uint32_t answer_len)
{
	uint8_t reply[2048];

	assert_true(mrc_l2_is_mine(frame, len));
	assert_int_equal(give(l2, 0, frame, len, want, reply), answer_len);
	assert_memory_equal(reply, answer, answer_len);
}

#define ANSWERED(l2, vec, want, answer) answered(l2, vec, sizeof(vec), want, answer, sizeof(answer))

static void refused(struct mrc_l2 *l2, const uint8_t *frame, uint32_t len, enum mrc_l2_event why)
{
	uint8_t reply[2048];

	assert_int_equal(give(l2, 0, frame, len, why, reply), 0);
}

static void asked(struct mrc_l2 *l2, uint64_t now, const uint8_t *want, uint32_t len)
{
	uint8_t buf[MRC_L2_REQUEST_MAX];

	assert_int_equal(mrc_l2_tx(l2, now, buf), len);
	assert_memory_equal(buf, want, len);
}

#define ASKED(l2, now, vec) asked(l2, now, vec, sizeof(vec))

static void silent(struct mrc_l2 *l2, uint64_t now)
{
	uint8_t buf[MRC_L2_REQUEST_MAX];

	assert_int_equal(mrc_l2_tx(l2, now, buf), 0);
}

/* The change that is told: to mac, or lost (NULL). */
static void told(struct mrc_l2 *l2, const struct mrc_gid *addr, const uint8_t *mac)
{
	struct mrc_gid who;
	const uint8_t *where;

	assert_true(mrc_l2_change_poll(l2, &who, &where));
	assert_memory_equal(who.raw, addr->raw, 16);
	if (mac == NULL)
		assert_null(where);
	else
		assert_memory_equal(where, mac, 6);
}

static void told_nothing(struct mrc_l2 *l2)
{
	struct mrc_gid who;
	const uint8_t *where;

	assert_false(mrc_l2_change_poll(l2, &who, &where));
}

static void test_answers(void **state)
{
	struct mrc_l2 l2;

	setup(&l2);
	ANSWERED(&l2, vec_arp_request, MRC_L2_ARP_ANSWERED, vec_arp_request_answer);
	ANSWERED(&l2, vec_arp_probe, MRC_L2_ARP_ANSWERED, vec_arp_probe_answer);
	ANSWERED(&l2, vec_ns_multicast, MRC_L2_NS_ANSWERED, vec_ns_answer);
	ANSWERED(&l2, vec_ns_unicast, MRC_L2_NS_ANSWERED, vec_ns_answer);
	ANSWERED(&l2, vec_ns_probe, MRC_L2_NS_ANSWERED, vec_ns_probe_answer);
	ANSWERED(&l2, vec_echo4, MRC_L2_ECHO_ANSWERED, vec_echo4_answer);
	ANSWERED(&l2, vec_echo4_long, MRC_L2_ECHO_ANSWERED, vec_echo4_long_answer);
	ANSWERED(&l2, vec_echo6, MRC_L2_ECHO_ANSWERED, vec_echo6_answer);
	/* Answering teaches nothing. */
	assert_null(mrc_l2_neigh_mac(&l2, &peer4));
	told_nothing(&l2);
	assert_int_equal(mrc_l2_deadline(&l2), UINT64_MAX);
}

static void test_announce(void **state)
{
	struct mrc_l2 l2;

	setup(&l2);
	silent(&l2, 0);
	mrc_l2_announce(&l2);
	assert_int_equal(mrc_l2_deadline(&l2), 0);
	ASKED(&l2, 0, vec_arp_announced);
	ASKED(&l2, 0, vec_na_announced);
	silent(&l2, 0);
	assert_int_equal(l2.counters[MRC_L2_TX_ANNOUNCE], 2);
}

static void test_resolve(void **state)
{
	struct mrc_l2 l2;
	uint8_t reply[2048];

	setup(&l2);
	assert_int_equal(mrc_l2_neigh_want(&l2, 5 * MS, &peer4), MRC_OK);
	assert_int_equal(mrc_l2_neigh_want(&l2, 5 * MS, &peer4), MRC_OK);
	assert_int_equal(mrc_l2_deadline(&l2), 5 * MS);
	ASKED(&l2, 5 * MS, vec_arp_asked);
	silent(&l2, 5 * MS);
	assert_null(mrc_l2_neigh_mac(&l2, &peer4));
	assert_int_equal(GIVE(&l2, 6 * MS, vec_arp_reply, MRC_L2_ARP_TAKEN, reply), 0);
	assert_memory_equal(mrc_l2_neigh_mac(&l2, &peer4), peer_mac, 6);
	told(&l2, &peer4, peer_mac);
	told_nothing(&l2);

	assert_int_equal(mrc_l2_neigh_want(&l2, 7 * MS, &peer6), MRC_OK);
	ASKED(&l2, 7 * MS, vec_ns_asked);
	assert_int_equal(GIVE(&l2, 8 * MS, vec_na_solicited, MRC_L2_NA_TAKEN, reply), 0);
	assert_memory_equal(mrc_l2_neigh_mac(&l2, &peer6), peer_mac, 6);
	told(&l2, &peer6, peer_mac);
	assert_int_equal(mrc_l2_deadline(&l2), 6 * MS + 30 * SEC);
	mrc_l2_neigh_drop(&l2, &peer4);
	assert_null(mrc_l2_neigh_mac(&l2, &peer4));
	assert_int_equal(mrc_l2_deadline(&l2), 8 * MS + 30 * SEC);
}

static void test_retry_backs_off(void **state)
{
	static const uint64_t due_ms[] = {0, 200, 600, 1400, 3000, 6200, 11200, 16200, 21200};
	struct mrc_l2 l2;

	setup(&l2);
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &peer4), MRC_OK);
	for (size_t i = 0; i < sizeof(due_ms) / sizeof(due_ms[0]); i++) {
		assert_int_equal(mrc_l2_deadline(&l2), due_ms[i] * MS);
		if (due_ms[i] > 0)
			silent(&l2, due_ms[i] * MS - 1);
		ASKED(&l2, due_ms[i] * MS, vec_arp_asked);
	}
	told_nothing(&l2);
}

static void test_expiry_and_loss(void **state)
{
	struct mrc_l2 l2;
	uint8_t reply[2048];
	uint64_t t = 30 * SEC;

	setup(&l2);
	mrc_l2_neigh_want(&l2, 0, &peer4);
	ASKED(&l2, 0, vec_arp_asked);
	GIVE(&l2, 0, vec_arp_reply, MRC_L2_ARP_TAKEN, reply);
	told(&l2, &peer4, peer_mac);
	silent(&l2, t - 1);
	ASKED(&l2, t, vec_arp_verify);
	assert_non_null(mrc_l2_neigh_mac(&l2, &peer4));
	/* Answered: known for another period, nothing to tell. */
	GIVE(&l2, t, vec_arp_reply, MRC_L2_ARP_TAKEN, reply);
	told_nothing(&l2);
	t += 30 * SEC;
	ASKED(&l2, t, vec_arp_verify);
	ASKED(&l2, t + 200 * MS, vec_arp_verify);
	ASKED(&l2, t + 400 * MS, vec_arp_asked); /* the last one to everybody */
	assert_non_null(mrc_l2_neigh_mac(&l2, &peer4));
	ASKED(&l2, t + 600 * MS, vec_arp_asked); /* lost, and asked for again */
	assert_null(mrc_l2_neigh_mac(&l2, &peer4));
	assert_int_equal(l2.counters[MRC_L2_LOST], 1);
	told(&l2, &peer4, NULL);
	GIVE(&l2, t + SEC, vec_arp_reply, MRC_L2_ARP_TAKEN, reply);
	told(&l2, &peer4, peer_mac);
}

/* A claim of another link address starts a verification; only an answer to it is believed. */
static void claim_is_verified(const uint8_t *claim, uint32_t claim_len, const uint8_t *answer,
	uint32_t answer_len, uint32_t mac_off, const struct mrc_gid *peer, enum mrc_l2_event taken,
	const uint8_t *question, uint32_t question_len)
{
	static const uint8_t other_mac[6] = {2, 0, 0, 0, 0, 2};
	const uint8_t old_mac[6] = {2, 0, 0, 0, 0, 9};
	uint8_t first[128], reply[2048], buf[MRC_L2_REQUEST_MAX];
	struct mrc_l2 l2;

	setup(&l2);
	memcpy(first, answer, answer_len);
	memcpy(first + 6, old_mac, 6);
	memcpy(first + mac_off, old_mac, 6);
	if (taken == MRC_L2_NA_TAKEN) { /* the checksum of a last byte that grew by 7 */
		uint16_t sum = (uint16_t)(first[56] << 8 | first[57]);

		sum = (uint16_t)(sum - 7);
		first[56] = (uint8_t)(sum >> 8);
		first[57] = (uint8_t)sum;
	}
	mrc_l2_neigh_want(&l2, 0, peer);
	assert_int_not_equal(mrc_l2_tx(&l2, 0, buf), 0);
	give(&l2, 0, first, answer_len, taken, reply);
	told(&l2, peer, old_mac);

	give(&l2, SEC, claim, claim_len, MRC_L2_UNVERIFIED, reply);
	assert_memory_equal(mrc_l2_neigh_mac(&l2, peer), old_mac, 6);
	told_nothing(&l2);
	/* The question goes to the old station first. It answers: the claim was false. */
	assert_int_equal(mrc_l2_tx(&l2, SEC, buf), question_len);
	assert_memory_equal(buf, old_mac, 6);
	assert_memory_equal(buf + 6, question + 6, 50);
	give(&l2, SEC, first, answer_len, taken, reply);
	told_nothing(&l2);
	/* Again, but the old station is silent and the new one answers. */
	give(&l2, 2 * SEC, claim, claim_len, MRC_L2_UNVERIFIED, reply);
	assert_int_equal(mrc_l2_tx(&l2, 2 * SEC, buf), question_len);
	give(&l2, 2 * SEC, claim, claim_len, MRC_L2_UNVERIFIED, reply);
	give(&l2, 2 * SEC, answer, answer_len, taken, reply);
	told(&l2, peer, other_mac);
}

static void test_claims(void **state)
{
	claim_is_verified(vec_arp_gratuitous, sizeof(vec_arp_gratuitous), vec_arp_reply,
		sizeof(vec_arp_reply), 22, &peer4, MRC_L2_ARP_TAKEN, vec_arp_verify,
		sizeof(vec_arp_verify));
	claim_is_verified(vec_na_unsolicited, sizeof(vec_na_unsolicited), vec_na_solicited,
		sizeof(vec_na_solicited), 80, &peer6, MRC_L2_NA_TAKEN, vec_ns_verify,
		sizeof(vec_ns_verify));
}

static void test_unwanted(void **state)
{
	struct mrc_l2 l2;

	setup(&l2);
	refused(&l2, vec_arp_reply, sizeof(vec_arp_reply), MRC_L2_UNWANTED);
	refused(&l2, vec_arp_gratuitous, sizeof(vec_arp_gratuitous), MRC_L2_NOT_OURS);
	refused(&l2, vec_na_solicited, sizeof(vec_na_solicited), MRC_L2_UNWANTED);
	refused(&l2, vec_na_unsolicited, sizeof(vec_na_unsolicited), MRC_L2_UNWANTED);
	refused(&l2, vec_arp_conflict, sizeof(vec_arp_conflict), MRC_L2_CONFLICT);
	refused(&l2, vec_arp_announced, sizeof(vec_arp_announced), MRC_L2_NOT_OURS);
	told_nothing(&l2);
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++)
		assert_int_equal(l2.neighs[i].state, MRC_L2_FREE);
}

static void test_static(void **state)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
	const uint8_t group[6] = {3, 0, 0, 0, 0, 7};
	struct mrc_l2 l2;
	uint8_t reply[2048];

	setup(&l2);
	assert_int_equal(mrc_l2_neigh_static(&l2, &peer4, group), MRC_ERR_INVAL);
	assert_int_equal(mrc_l2_neigh_static(&l2, &peer4, mac), MRC_OK);
	told(&l2, &peer4, mac);
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &peer4), MRC_OK);
	silent(&l2, 1000 * SEC);
	GIVE(&l2, 0, vec_arp_reply, MRC_L2_UNWANTED, reply);
	assert_memory_equal(mrc_l2_neigh_mac(&l2, &peer4), mac, 6);
	assert_int_equal(mrc_l2_deadline(&l2), UINT64_MAX);
}

static void test_vlan(void **state)
{
	struct mrc_l2 l2;
	struct mrc_l2_cfg cfg;
	uint8_t frame[128], reply[2048];

	setup(&l2);
	refused(&l2, vec_arp_vlan, sizeof(vec_arp_vlan), MRC_L2_VLAN);
	cfg = l2.cfg;
	cfg.vlan = true;
	cfg.vlan_tci = 3 << 13 | 100;
	assert_int_equal(mrc_l2_init(&l2, &cfg, 0), MRC_OK);
	ANSWERED(&l2, vec_arp_vlan, MRC_L2_ARP_ANSWERED, vec_arp_vlan_answer);
	refused(&l2, vec_arp_request, sizeof(vec_arp_request), MRC_L2_VLAN);
	memcpy(frame, vec_arp_vlan, sizeof(vec_arp_vlan));
	frame[15] = 101;
	refused(&l2, frame, sizeof(vec_arp_vlan), MRC_L2_VLAN);
	frame[15] = 100;
	frame[14] = 0; /* another priority is no matter */
	assert_int_equal(give(&l2, 0, frame, sizeof(vec_arp_vlan), MRC_L2_ARP_ANSWERED, reply),
		sizeof(vec_arp_vlan_answer));
}

/* A packet with one byte changed. */
static void refused_with(struct mrc_l2 *l2, const uint8_t *vec, uint32_t len, uint32_t off,
	uint8_t value, enum mrc_l2_event why)
{
	uint8_t frame[2048];

	memcpy(frame, vec, len);
	frame[off] = value;
	refused(l2, frame, len, why);
}

#define WITH(l2, vec, off, value, why) refused_with(l2, vec, sizeof(vec), off, value, why)

static void test_malformed(void **state)
{
	struct mrc_l2 l2;

	setup(&l2);
	WITH(&l2, vec_arp_request, 0, 0x02, MRC_L2_NOT_OURS);  /* another station */
	WITH(&l2, vec_arp_request, 6, 0x03, MRC_L2_MALFORMED); /* from a group */
	WITH(&l2, vec_arp_request, 12, 0x09, MRC_L2_OTHER);
	WITH(&l2, vec_arp_request, 15, 6, MRC_L2_MALFORMED); /* hardware type */
	WITH(&l2, vec_arp_request, 18, 8, MRC_L2_MALFORMED); /* address length */
	WITH(&l2, vec_arp_request, 21, 3, MRC_L2_MALFORMED); /* operation */
	WITH(&l2, vec_arp_request, 22, 1, MRC_L2_MALFORMED); /* sender a group */
	WITH(&l2, vec_arp_request, 41, 99, MRC_L2_NOT_OURS); /* for another address */
	WITH(&l2, vec_echo4, 14, 0x65, MRC_L2_MALFORMED);    /* version */
	WITH(&l2, vec_echo4, 14, 0x44, MRC_L2_MALFORMED);    /* header length */
	WITH(&l2, vec_echo4, 17, 255, MRC_L2_SHORT);         /* total length */
	WITH(&l2, vec_echo4, 17, 27, MRC_L2_SHORT);
	WITH(&l2, vec_echo4, 23, 17, MRC_L2_OTHER);      /* UDP */
	WITH(&l2, vec_echo4, 24, 0xFF, MRC_L2_CHECKSUM); /* header sum */
	WITH(&l2, vec_echo4, 34, 13, MRC_L2_OTHER);      /* timestamp request */
	WITH(&l2, vec_echo4, 35, 1, MRC_L2_OTHER);
	WITH(&l2, vec_echo4, 36, 0x11, MRC_L2_CHECKSUM);
	WITH(&l2, vec_echo6, 14, 0x40, MRC_L2_MALFORMED);
	WITH(&l2, vec_echo6, 19, 255, MRC_L2_SHORT);
	WITH(&l2, vec_echo6, 19, 7, MRC_L2_SHORT);
	WITH(&l2, vec_echo6, 20, 17, MRC_L2_OTHER);
	WITH(&l2, vec_echo6, 56, 0, MRC_L2_CHECKSUM);
	WITH(&l2, vec_ns_multicast, 21, 254, MRC_L2_HOP_LIMIT);
	WITH(&l2, vec_na_solicited, 21, 254, MRC_L2_HOP_LIMIT);
	WITH(&l2, vec_ns_multicast, 57, 0xFE, MRC_L2_CHECKSUM);
}

/* Changes a byte of an ICMPv6 packet and mends the checksum, so that the check behind it decides.
 */
static void refused_mended(struct mrc_l2 *l2, const uint8_t *vec, uint32_t len, uint32_t off,
	uint8_t value, enum mrc_l2_event why)
{
	uint8_t frame[2048];
	uint32_t sum = 0x10000 + 58 + (len - 54);

	memcpy(frame, vec, len);
	frame[off] = value;
	frame[56] = frame[57] = 0;
	for (uint32_t i = 22; i < len; i += 2)
		sum += (uint32_t)frame[i] << 8 | (i + 1 < len ? frame[i + 1] : 0);
	sum -= 0x10000;
	while (sum >> 16 != 0)
		sum = (sum & 0xFFFF) + (sum >> 16);
	frame[56] = (uint8_t)(~sum >> 8);
	frame[57] = (uint8_t)~sum;
	refused(l2, frame, len, why);
}

#define MENDED(l2, vec, off, value, why) refused_mended(l2, vec, sizeof(vec), off, value, why)

static void test_malformed_behind_checksum(void **state)
{
	struct mrc_l2 l2;

	setup(&l2);
	MENDED(&l2, vec_ns_multicast, 55, 1, MRC_L2_MALFORMED);    /* code */
	MENDED(&l2, vec_ns_multicast, 62, 0xFF, MRC_L2_MALFORMED); /* group as target */
	MENDED(&l2, vec_ns_multicast, 77, 9, MRC_L2_NOT_OURS);     /* other target */
	MENDED(&l2, vec_ns_multicast, 53, 9, MRC_L2_NOT_OURS);     /* not its solicited group */
	MENDED(&l2, vec_ns_multicast, 22, 0xFF, MRC_L2_MALFORMED); /* from a group */
	MENDED(&l2, vec_ns_multicast, 79, 0, MRC_L2_MALFORMED);    /* option of length 0 */
	MENDED(&l2, vec_ns_multicast, 79, 2, MRC_L2_MALFORMED);    /* longer than the packet */
	MENDED(&l2, vec_ns_multicast, 80, 1, MRC_L2_MALFORMED);    /* group link address */
	MENDED(&l2, vec_na_solicited, 62, 0xFF, MRC_L2_MALFORMED);
	MENDED(&l2, vec_na_solicited, 79, 0, MRC_L2_MALFORMED);
	MENDED(&l2, vec_na_unsolicited, 58, 0x40, MRC_L2_MALFORMED); /* solicited, to a group */
	MENDED(&l2, vec_echo6, 54, 129, MRC_L2_OTHER);
	MENDED(&l2, vec_echo6, 22, 0xFF, MRC_L2_MALFORMED);
	MENDED(&l2, vec_echo6, 53, 9, MRC_L2_NOT_OURS);
}

static void test_rate_limits(void **state)
{
	struct mrc_l2 l2;
	uint8_t reply[2048], buf[MRC_L2_REQUEST_MAX];
	uint32_t nb = 0;

	setup(&l2);
	l2.cfg.answers_per_s = 10;
	for (int i = 0; i < 10; i++)
		GIVE(&l2, 0, vec_arp_request, MRC_L2_ARP_ANSWERED, reply);
	assert_int_equal(GIVE(&l2, 0, vec_arp_request, MRC_L2_LIMITED, reply), 0);
	GIVE(&l2, 0, vec_echo4, MRC_L2_LIMITED, reply);
	GIVE(&l2, 0, vec_echo6, MRC_L2_LIMITED, reply);
	GIVE(&l2, 99 * MS, vec_ns_multicast, MRC_L2_LIMITED, reply);
	GIVE(&l2, 100 * MS, vec_ns_multicast, MRC_L2_NS_ANSWERED, reply);
	GIVE(&l2, 100 * MS, vec_arp_request, MRC_L2_LIMITED, reply);
	/* A long silence buys one second's worth, not more. */
	for (int i = 0; i < 10; i++)
		GIVE(&l2, 100 * SEC, vec_arp_request, MRC_L2_ARP_ANSWERED, reply);
	GIVE(&l2, 100 * SEC, vec_arp_request, MRC_L2_LIMITED, reply);

	l2.cfg.requests_per_s = 5;
	for (uint32_t i = 0; i < 20; i++) {
		struct mrc_gid addr = peer4;

		addr.raw[15] = (uint8_t)(10 + i);
		assert_int_equal(mrc_l2_neigh_want(&l2, 100 * SEC, &addr), MRC_OK);
	}
	while (mrc_l2_tx(&l2, 100 * SEC, buf) != 0)
		nb++;
	assert_int_equal(nb, 5);
	assert_true(mrc_l2_deadline(&l2) > 100 * SEC);
}

static void test_table_limits(void **state)
{
	struct mrc_l2 l2;
	struct mrc_gid addr = peer4;

	setup(&l2);
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++) {
		addr.raw[15] = (uint8_t)(2 + i);
		assert_int_equal(mrc_l2_neigh_want(&l2, 0, &addr), MRC_OK);
	}
	addr.raw[15] = 200;
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &addr), MRC_ERR_NOMEM);
	mrc_l2_neigh_drop(&l2, &peer4);
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &addr), MRC_OK);
	addr.raw[12] = 224;
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &addr), MRC_ERR_INVAL);
	setup(&l2);
	l2.cfg.nb_addrs = 1; /* IPv4 only: nothing to ask an IPv6 neighbour from */
	assert_int_equal(mrc_l2_neigh_want(&l2, 0, &peer6), MRC_ERR_INVAL);
}

static void test_bad_settings(void **state)
{
	struct mrc_l2 l2;
	struct mrc_l2_cfg good, cfg;

	setup(&l2);
	good = l2.cfg;
	cfg = good;
	cfg.mac[0] = 1;
	assert_int_equal(mrc_l2_init(&l2, &cfg, 0), MRC_ERR_INVAL);
	cfg = good;
	cfg.nb_addrs = 0;
	assert_int_equal(mrc_l2_init(&l2, &cfg, 0), MRC_ERR_INVAL);
	cfg.nb_addrs = MRC_L2_ADDRS + 1;
	assert_int_equal(mrc_l2_init(&l2, &cfg, 0), MRC_ERR_INVAL);
	cfg = good;
	cfg.requests_per_s = 0;
	assert_int_equal(mrc_l2_init(&l2, &cfg, 0), MRC_ERR_INVAL);
}

static void test_little_room(void **state)
{
	struct mrc_l2 l2;
	uint8_t reply[2048];
	uint32_t len = 1;

	setup(&l2);
	assert_int_equal(mrc_l2_rx(&l2, 0, vec_echo4_long, sizeof(vec_echo4_long), reply,
				 sizeof(vec_echo4_long) - 1, &len),
		MRC_L2_TOO_LONG);
	assert_int_equal(len, 0);
	assert_int_equal(
		mrc_l2_rx(&l2, 0, vec_ns_multicast, sizeof(vec_ns_multicast), reply, 64, &len),
		MRC_L2_TOO_LONG);
	assert_int_equal(
		mrc_l2_rx(&l2, 0, vec_arp_request, sizeof(vec_arp_request), reply, 32, &len),
		MRC_L2_TOO_LONG);
}

/* Each vector cut at every length and with random bytes: always a verdict, no read outside (under a
 * sanitizer), and no unwanted neighbour. */
static void test_cut_and_random(void **state)
{
	static const struct {
		const uint8_t *bytes;
		uint32_t len;
	} vecs[] = {{vec_arp_request, sizeof(vec_arp_request)}, {vec_arp_reply, 60},
		{vec_ns_multicast, sizeof(vec_ns_multicast)},
		{vec_na_solicited, sizeof(vec_na_solicited)}, {vec_echo4, sizeof(vec_echo4)},
		{vec_echo6, sizeof(vec_echo6)}};
	struct test_env te;
	struct mrc_l2 l2;
	uint8_t reply[2048];
	uint32_t reply_len;

	test_env_init(&te, 3);
	setup(&l2);
	for (size_t v = 0; v < sizeof(vecs) / sizeof(vecs[0]); v++) {
		for (uint32_t run = 0; run < 20000; run++) {
			uint32_t len = run <= vecs[v].len ? run : vecs[v].len;
			uint8_t *copy = malloc(len + !len);

			memcpy(copy, vecs[v].bytes, len);
			for (uint32_t i = 0; run > vecs[v].len && i < 1 + run % 3; i++)
				copy[test_random_below(&te, len)] = (uint8_t)test_random64(&te);
			mrc_l2_is_mine(copy, len);
			mrc_l2_rx(&l2, run * MS, copy, len, reply, sizeof(reply), &reply_len);
			assert_true(reply_len <= sizeof(reply));
			free(copy);
		}
	}
	told_nothing(&l2);
	refused(&l2, vec_arp_request, 17, MRC_L2_SHORT);
	refused(&l2, vec_arp_request, 41, MRC_L2_SHORT);
	refused(&l2, vec_ns_multicast, 77, MRC_L2_SHORT);
}

static void test_classify(void **state)
{
	uint8_t udp[60] = {[12] = 8, [14] = 0x45, [23] = 17};

	assert_false(mrc_l2_is_mine(udp, sizeof(udp)));
	udp[23] = 1;
	assert_true(mrc_l2_is_mine(udp, sizeof(udp)));
	assert_false(mrc_l2_is_mine(udp, 20));
	assert_true(mrc_l2_is_mine(vec_arp_vlan, sizeof(vec_arp_vlan)));
	assert_string_equal(mrc_l2_event_name(MRC_L2_ARP_ANSWERED), "ARP_ANSWERED");
	assert_string_equal(mrc_l2_event_name(MRC_NB_L2_EVENTS), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_retry_backs_off),
		cmocka_unit_test(test_expiry_and_loss),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_unwanted),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_malformed_behind_checksum),
		cmocka_unit_test(test_rate_limits),
		cmocka_unit_test(test_table_limits),
		cmocka_unit_test(test_bad_settings),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_cut_and_random),
		cmocka_unit_test(test_classify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
