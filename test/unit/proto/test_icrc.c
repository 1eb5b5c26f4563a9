/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ICRC against a slow one written here: bit by bit, with its own list of variant fields.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_icrc.h"
#include "pkt_kit.h"
#include "test_env.h"

static uint32_t slow_crc(uint32_t sum, const uint8_t *data, size_t len)
{
	sum = ~sum;
	for (size_t i = 0; i < len; i++) {
		sum ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 1 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
	}
	return ~sum;
}

/* Byte of the header as the ICRC sees it. */
static uint8_t seen(const uint8_t *ip, size_t at)
{
	size_t udp = ip[0] >> 4 == 6 ? 40 : 20;
	bool variant = at == udp + 6 || at == udp + 7 || at == udp + 8 + 4;

	if (ip[0] >> 4 == 6) {
		if (at == 0)
			return ip[0] | 0x0F;
		variant |= at == 1 || at == 2 || at == 3 || at == 7;
	} else {
		variant |= at == 1 || at == 8 || at == 10 || at == 11;
	}
	return variant ? 0xFF : ip[at];
}

static uint32_t slow_header(const uint8_t *ip, size_t len)
{
	static const uint8_t lrh[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	uint32_t sum = slow_crc(0, lrh, sizeof(lrh));

	for (size_t at = 0; at < len; at++) {
		uint8_t byte = seen(ip, at);

		sum = slow_crc(sum, &byte, 1);
	}
	return sum;
}

static void fill(struct test_env *te, uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)test_random64(te);
}

static void test_check_value(void **state)
{
	assert_int_equal(mrc_icrc_update(0, "123456789", 9), 0xCBF43926);
	assert_int_equal(mrc_icrc_update(mrc_icrc_update(0, "1234", 4), "56789", 5), 0xCBF43926);
	assert_int_equal(mrc_icrc_update(0x1234, "", 0), 0x1234);
}

static void test_store_load(void **state)
{
	uint8_t p[4];

	mrc_icrc_store(p, 0x11223344);
	assert_memory_equal(p, "\x44\x33\x22\x11", 4);
	assert_int_equal(mrc_icrc_load(p), 0x11223344);
}

/* Every length around the block sizes of vector code, at every alignment, in exact blocks. */
static void test_update_every_length(void **state)
{
	struct test_env te;

	test_env_init(&te, 2);
	for (size_t len = 0; len < 600; len++) {
		uint8_t *data = malloc(len + 16);
		size_t skip = len % 16;
		uint32_t start = (uint32_t)test_random64(&te);

		fill(&te, data, len + 16);
		assert_int_equal(mrc_icrc_update(start, data + skip, len),
			slow_crc(start, data + skip, len));
		free(data);
	}
}

/* Every header length from the shortest to the longest, both versions, in exact blocks. spec:
 * */
static void test_header_every_length(void **state)
{
	struct test_env te;

	test_env_init(&te, 3);
	for (uint32_t version = 4; version <= 6; version += 2) {
		size_t shortest = (version == 6 ? 40u : 20u) + 8 + 12;

		for (size_t len = shortest; len <= MRC_HDR_MAX; len++) {
			uint8_t *ip = malloc(len);

			fill(&te, ip, len);
			ip[0] = (uint8_t)(version << 4 | (ip[0] & 0xF));
			assert_int_equal(mrc_icrc_header(ip, len), slow_header(ip, len));
			free(ip);
		}
	}
}

/* Changing one bit of the header changes the sum unless a router may change it. spec */
static void test_header_which_bits_count(void **state)
{
	struct test_env te;

	test_env_init(&te, 4);
	for (uint32_t version = 4; version <= 6; version += 2) {
		uint8_t ip[84];
		uint32_t sum;

		fill(&te, ip, sizeof(ip));
		ip[0] = version == 6 ? 0x60 : 0x45;
		sum = mrc_icrc_header(ip, sizeof(ip));
		for (size_t bit = 4; bit < sizeof(ip) * 8; bit++) {
			uint8_t mask = (uint8_t)(0x80 >> bit % 8);
			uint8_t before = seen(ip, bit / 8), after;

			ip[bit / 8] ^= mask;
			after = seen(ip, bit / 8);
			assert_int_equal(mrc_icrc_header(ip, sizeof(ip)) == sum, before == after);
			ip[bit / 8] ^= mask;
		}
	}
}

/* Hop count and priority change on the way; the sum of a whole packet does not. */
static void test_ttl_and_tos_do_not_count(void **state)
{
	static const char *const names[] = {"write_only-v4", "write_only-v6", "sack-v4-vlan"};
	struct mrc_proto proto;
	struct mrc_pkt pkt;
	uint8_t frame[PKT_KIT_ROOM];

	mrc_proto_default(&proto);
	for (size_t i = 0; i < 3; i++) {
		uint32_t len = pkt_kit_example(&proto, pkt_kit_find(names[i]), &pkt, frame);
		uint8_t *ip;

		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
		ip = frame + pkt.ip_off;
		if (pkt.flags & MRC_PKT_V6) {
			ip[7] -= 3;
			ip[1] |= 0x30; /* CE */
		} else {
			ip[8] -= 3;
			ip[1] |= 3;
			pkt_kit_ipv4_fix(ip);
		}
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
		assert_int_equal(pkt.flags & MRC_PKT_CE, MRC_PKT_CE);
		assert_int_equal(pkt.ttl, 58);
		assert_true(mrc_pkt_icrc_ok(&pkt, frame));
	}
}

static void check_combine(const uint8_t *data, size_t len_a, size_t len_b)
{
	uint32_t a = mrc_icrc_update(0x777, data, len_a);
	uint32_t b = mrc_icrc_update(0, data + len_a, len_b);

	assert_int_equal(
		mrc_icrc_combine(a, b, len_b), mrc_icrc_update(0x777, data, len_a + len_b));
}

static void test_combine_every_length(void **state)
{
	struct test_env te;
	uint8_t data[4096 + 84 + 16];

	test_env_init(&te, 5);
	fill(&te, data, sizeof(data));
	for (size_t len = 0; len <= 4112; len++)
		check_combine(data, 84, len);
	check_combine(data, 0, 4096);
}

static void test_combine_long(void **state)
{
	size_t room = 1 << 20;
	uint8_t *data = malloc(room);
	struct test_env te;

	test_env_init(&te, 6);
	fill(&te, data, room);
	for (uint32_t i = 0; i < 50; i++) {
		size_t len = test_random_below(&te, (uint32_t)room - 100);

		check_combine(data, 1 + test_random_below(&te, 99), len);
	}
	free(data);
}

/* Lengths that no memory holds, by the algebra: A, then x, then y bytes is A, then x + y bytes. */
static void test_combine_beyond_memory(void **state)
{
	struct test_env te;

	test_env_init(&te, 7);
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t a = (uint32_t)test_random64(&te);
		size_t x = test_random64(&te) >> (1 + test_random_below(&te, 60));
		size_t y = test_random64(&te) >> (1 + test_random_below(&te, 60));

		assert_int_equal(mrc_icrc_combine(mrc_icrc_combine(a, 0, x), 0, y),
			mrc_icrc_combine(a, 0, x + y));
	}
}

/* A retransmission has another header and the same payload: the payload's sum serves again. */
static void test_combine_retransmission(void **state)
{
	struct mrc_proto proto;
	struct mrc_pkt view, pkt;
	uint8_t frame[PKT_KIT_ROOM];
	struct pkt_kit_case kind;
	uint32_t payload_sum = 0;

	mrc_proto_default(&proto);
	pkt_kit_case(pkt_kit_find("write_only-v6"), &kind);
	pkt_kit_view(&proto, &kind, 1021, &view);
	for (uint32_t copy = 0; copy < 3; copy++) {
		uint32_t len, body;

		view.flags = (uint16_t)(copy == 0 ? view.flags & ~MRC_PKT_RTX
						  : view.flags | MRC_PKT_RTX);
		view.ev += copy;
		len = pkt_kit_frame(&proto, &view, 0, frame);
		assert_int_equal(mrc_pkt_decode(&proto, frame, len, &pkt), MRC_KEEP);
		body = pkt.payload_len + (uint32_t)pkt.pad;
		if (copy == 0)
			payload_sum = mrc_icrc_update(0, frame + pkt.payload_off, body);
		assert_int_equal(mrc_icrc_load(frame + len - 4),
			mrc_icrc_combine(mrc_icrc_header(frame + pkt.ip_off,
						 (size_t)(pkt.payload_off - pkt.ip_off)),
				payload_sum, body));
	}
}

static void *sum_once(void *arg)
{
	uint32_t *sum = arg;
	uint8_t header[84] = {0x60};

	*sum = mrc_icrc_combine(mrc_icrc_header(header, sizeof(header)),
		mrc_icrc_update(0, header, sizeof(header)), sizeof(header));
	return NULL;
}

/* Nothing is initialised at first use, so the very first sums may be taken by two threads at
 * once. Runs first. */
static void test_first_use_by_two_threads(void **state)
{
	uint8_t header[84] = {0x60};
	pthread_t thread[2];
	uint32_t sum[2];
	uint32_t want;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sum_once, &sum[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	want = slow_crc(slow_header(header, sizeof(header)), header, sizeof(header));
	assert_int_equal(sum[0], want);
	assert_int_equal(sum[1], want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_use_by_two_threads),
		cmocka_unit_test(test_check_value),
		cmocka_unit_test(test_store_load),
		cmocka_unit_test(test_update_every_length),
		cmocka_unit_test(test_header_every_length),
		cmocka_unit_test(test_header_which_bits_count),
		cmocka_unit_test(test_ttl_and_tos_do_not_count),
		cmocka_unit_test(test_combine_every_length),
		cmocka_unit_test(test_combine_long),
		cmocka_unit_test(test_combine_beyond_memory),
		cmocka_unit_test(test_combine_retransmission),
	};

	return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
