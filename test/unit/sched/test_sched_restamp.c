/* SPDX-License-Identifier: BSD-2-Clause */
/* Renewing the time stamp of a finished packet gives the bytes that finishing it later would have
 * given: stamp and ICRC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_sched.h"
#include "test_env.h"

enum {
	ROOM = MRC_HDR_ROOM + MRC_PMTU_MAX + MRC_TRAILER_MAX,
};

struct packet {
	struct mrc_proto proto;
	struct mrc_txbuf buf;
	uint8_t payload[MRC_PMTU_MAX];
	uint8_t frame[ROOM];
	uint32_t len;
};

static uint16_t stamp_of(uint64_t now_ns)
{
	return (uint16_t)(now_ns / MRC_TS_TICK_NS);
}

/* A write of payload_len bytes, stamped at now_ns, finished. */
static void make(
	struct packet *p, bool v6, uint32_t flags, uint32_t payload_len, uint64_t now_ns, bool icrc)
{
	struct mrc_pkt pkt = {.flags = (uint16_t)(flags | (v6 ? MRC_PKT_V6 : 0)),
		.opcode = MRC_OP_WRITE_ONLY,
		.dqpn = 77,
		.ttl = 64,
		.payload_len = (uint16_t)payload_len,
		.pad = (uint8_t)(-payload_len & 3)};
	int len;

	mrc_proto_default(&p->proto);
	assert_int_equal(mrc_proto_init(&p->proto), MRC_OK);
	pkt.pkey = p->proto.pkey;
	memset(pkt.src.raw + 10, v6 ? 1 : 0xFF, 2);
	memset(pkt.dst.raw + 10, v6 ? 2 : 0xFF, 2);
	pkt.write.timestamp = stamp_of(now_ns);
	len = mrc_pkt_encode(&p->proto, &pkt, p->frame, MRC_HDR_ROOM);
	assert_true(len > 0);
	p->buf = (struct mrc_txbuf){.hdr = p->frame,
		.hdr_len = (uint16_t)len,
		.ip_off = MRC_ETH_LEN,
		.payload_len = (uint16_t)payload_len,
		.pad = pkt.pad,
		.nb_seg = 1,
		.seg = {{p->payload, payload_len}}};
	p->buf.ts_off = (uint16_t)(MRC_ETH_LEN + (v6 ? MRC_IPV6_LEN : MRC_IPV4_LEN) + MRC_UDP_LEN +
				   MRC_BTH_LEN + MRC_METH_LEN);
	p->len = mrc_txbuf_finish(&p->buf, icrc);
}

/* spec */
static void test_same_as_finished_later(void **state)
{
	struct packet *early = calloc(1, sizeof(*early)), *late = calloc(1, sizeof(*late));
	struct test_env te;

	test_env_init(&te, 5);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t len = test_random_below(&te, MRC_PMTU_MAX + 1);
		bool v6 = (i & 1) != 0, icrc = i % 5 != 0;
		uint64_t first = test_random64(&te) >> 8, second = test_random64(&te) >> 8;
		struct mrc_restamp restamp;

		for (uint32_t b = 0; b < len; b++)
			early->payload[b] = late->payload[b] = (uint8_t)test_random64(&te);
		make(early, v6, MRC_PKT_TS, len, first, icrc);
		make(late, v6, MRC_PKT_TS, len, second, icrc);
		mrc_restamp_init(&restamp, second);
		mrc_txbuf_restamp(&early->buf, early->len, icrc, &restamp);
		assert_int_equal(early->len, late->len);
		assert_memory_equal(early->frame, late->frame, late->len);
		if (icrc) {
			struct mrc_pkt pkt;

			assert_int_equal(
				mrc_pkt_decode(&early->proto, early->frame, early->len, &pkt),
				MRC_KEEP);
			assert_int_equal(pkt.write.timestamp, stamp_of(second));
			assert_true(mrc_pkt_icrc_ok(&pkt, early->frame));
		}
	}
	free(early);
	free(late);
}

/* One moment for a burst of different lengths: what is remembered of one packet must not be taken
 * for the next. */
static void test_one_moment_many_packets(void **state)
{
	static const uint32_t lens[] = {64, 64, 0, 4096, 64, 63, 4096, 4096, 1, 0};
	struct packet *p = calloc(1, sizeof(*p)), *want = calloc(1, sizeof(*want));
	struct mrc_restamp restamp;

	mrc_restamp_init(&restamp, 9000000);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		make(p, true, MRC_PKT_TS, lens[i], 1000 * (i % 3), true);
		make(want, true, MRC_PKT_TS, lens[i], 9000000, true);
		mrc_txbuf_restamp(&p->buf, p->len, true, &restamp);
		assert_memory_equal(p->frame, want->frame, want->len);
	}
	free(p);
	free(want);
}

/* In two steps into other memory: the same bytes as in one step in place. */
static void test_gather_and_seal(void **state)
{
	struct packet *p = calloc(1, sizeof(*p)), *want = calloc(1, sizeof(*want));
	struct test_env te;

	test_env_init(&te, 6);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t payload = test_random_below(&te, MRC_PMTU_MAX + 1), sum, len;
		bool v6 = (i & 1) != 0, icrc = i % 5 != 0, again = i % 3 != 0;
		struct mrc_restamp restamp;
		uint8_t *frame;

		for (uint32_t b = 0; b < payload; b++)
			p->payload[b] = want->payload[b] = (uint8_t)test_random64(&te);
		make(p, v6, MRC_PKT_TS, payload, 1000, icrc);
		make(want, v6, MRC_PKT_TS, payload, again ? 9000000 : 1000, icrc);
		frame = malloc(want->len); /* exact size: a sanitizer sees every overrun */
		memset(frame, 0xA5, want->len);
		mrc_restamp_init(&restamp, 9000000);
		len = mrc_txbuf_gather(&p->buf, icrc, frame, &sum);
		assert_int_equal(len, want->len);
		mrc_txbuf_seal(&p->buf, frame, len, sum, icrc, again ? &restamp : NULL);
		assert_memory_equal(frame, want->frame, want->len);
		free(frame);
	}
	free(p);
	free(want);
}

/* A header too short for the overlapping stores: an acknowledgement over IPv4. */
static void test_seal_short_header(void **state)
{
	uint8_t hdr[58], frame[62], want[62];
	const struct mrc_txbuf buf = {.hdr = hdr, .hdr_len = sizeof(hdr)};

	for (uint32_t i = 0; i < sizeof(hdr); i++)
		hdr[i] = (uint8_t)(i * 7);
	memcpy(want, hdr, sizeof(hdr));
	memcpy(want + 58, "\x04\x03\x02\x01", 4);
	mrc_txbuf_seal(&buf, frame, sizeof(frame), 0x01020304, true, NULL);
	assert_memory_equal(frame, want, sizeof(frame));
}

static void test_nothing_to_renew(void **state)
{
	struct packet *p = calloc(1, sizeof(*p)), *want = calloc(1, sizeof(*want));
	struct mrc_restamp restamp;

	mrc_restamp_init(&restamp, 9000000);
	make(p, true, 0, 100, 0, true);
	p->buf.ts_off = 0;
	memcpy(want, p, sizeof(*p));
	mrc_txbuf_restamp(&p->buf, p->len, true, &restamp);
	assert_memory_equal(p->frame, want->frame, ROOM);
	make(p, true, MRC_PKT_TS, 100, 9000000, true);
	memcpy(want, p, sizeof(*p));
	mrc_txbuf_restamp(&p->buf, p->len, true, &restamp);
	assert_memory_equal(p->frame, want->frame, ROOM);
	free(p);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_finished_later),
		cmocka_unit_test(test_one_moment_many_packets),
		cmocka_unit_test(test_gather_and_seal),
		cmocka_unit_test(test_seal_short_header),
		cmocka_unit_test(test_nothing_to_renew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
