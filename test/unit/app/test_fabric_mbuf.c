/* SPDX-License-Identifier: BSD-2-Clause */
/* Mbufs through the fabric: bytes, lengths and owners after loss, copies, cutting and padding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mempool.h>

#include "fabric_mbuf.h"
#include "port.h"
#include "test_env.h"

#define NB_FRAMES 255
#define NB_COPIES 255
#define BUF_LEN   512
#define FRAME_LEN 200

static struct rte_mempool *frames, *copies;
static struct mrc_proto proto;
static struct mrc_fabric *fabric;
static struct test_env te;
static uint64_t now_ns;

static int setup(void **state)
{
	char prefix[48];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"64"},
		(char[]){"--no-pci"}, prefix, (char[]){"--log-level=*:error"}, NULL};

	snprintf(prefix, sizeof(prefix), "--file-prefix=mrc-test-%d", (int)getpid());
	if (rte_eal_init(7, argv) < 0)
		return -1;
	frames = mrc_port_pool_create("frames", NB_FRAMES, BUF_LEN);
	copies = mrc_port_pool_create("copies", NB_COPIES, BUF_LEN);
	mrc_proto_default(&proto);
	mrc_proto_init(&proto);
	return frames && copies ? 0 : -1;
}

static int teardown(void **state)
{
	rte_mempool_free(frames);
	rte_mempool_free(copies);
	return rte_eal_cleanup();
}

static struct mrc_gid gid_of(uint32_t host)
{
	struct mrc_gid gid = {{0xFD}};

	gid.raw[15] = (uint8_t)(host + 1);
	return gid;
}

static int open_fabric(void **state)
{
	const struct mrc_fabric_addr addrs[2] = {{gid_of(0), 0}, {gid_of(1), 1}};
	const struct mrc_fabric_ops ops = mrc_fabric_mbuf_ops(copies);
	struct mrc_fabric_cfg cfg;

	test_env_seed(&te, 7);
	mrc_fabric_cfg_default(&cfg, &proto, 1000000000, 1000);
	cfg.nb_planes = 1;
	cfg.nb_leaves = 1;
	cfg.hosts_per_leaf = 2;
	cfg.addrs = addrs;
	cfg.nb_addrs = cfg.max_addrs = 2;
	now_ns = 0;
	return mrc_fabric_create(&cfg, &te.env, &ops, &fabric);
}

/* Whatever happened, every buffer is back when the fabric is gone. */
static int close_fabric(void **state)
{
	if (fabric != NULL)
		mrc_fabric_destroy(fabric);
	fabric = NULL;
	test_env_done(&te);
	assert_int_equal(rte_mempool_avail_count(frames), NB_FRAMES);
	assert_int_equal(rte_mempool_avail_count(copies), NB_COPIES);
	return 0;
}

/* An IPv6 packet from host 0 to host 1, full of a pattern. */
static void send_frame(uint8_t fill)
{
	const struct mrc_gid src = gid_of(0), dst = gid_of(1);
	struct rte_mbuf *m = rte_pktmbuf_alloc(frames);
	struct mrc_fabric_pkt pkt;
	uint8_t *p;

	assert_non_null(m);
	m->data_len = FRAME_LEN;
	m->pkt_len = FRAME_LEN;
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memset(p, fill, FRAME_LEN);
	memset(p, 0, 54);
	p[12] = 0x86;
	p[13] = 0xDD;
	p[14] = 0x60;
	p[19] = FRAME_LEN - 54;
	p[20] = 59;
	p[21] = 64;
	memcpy(p + 22, src.raw, 16);
	memcpy(p + 38, dst.raw, 16);
	pkt = mrc_fabric_mbuf_in(m);
	assert_ptr_equal(pkt.data, p);
	assert_int_equal(pkt.len, FRAME_LEN);
	assert_int_equal(pkt.wire_len, FRAME_LEN);
	assert_int_equal(pkt.flags, 0);
	mrc_fabric_send(fabric, now_ns, 0, 0, &pkt);
}

static void run_all(void)
{
	while (mrc_fabric_next_deadline(fabric) != MRC_FABRIC_NEVER) {
		now_ns = mrc_fabric_next_deadline(fabric);
		mrc_fabric_run(fabric, now_ns, MRC_FABRIC_MBUF_EVENTS);
	}
}

static struct rte_mbuf *next_frame(void)
{
	struct mrc_fabric_pkt pkt;

	return mrc_fabric_recv(fabric, 1, 0, &pkt, 1) == 1 ? mrc_fabric_mbuf_out(&pkt) : NULL;
}

static void fault(enum mrc_fabric_fault_kind kind, uint64_t param)
{
	const struct mrc_fabric_fault f = {.kind = kind,
		.where = {.plane = MRC_FABRIC_ANY,
			.leaf = MRC_FABRIC_ANY,
			.spine = MRC_FABRIC_ANY,
			.host = 0,
			.classes = 1u << MRC_FABRIC_HOST_UP},
		.param = param};
	uint32_t handle;

	assert_int_equal(mrc_fabric_fault_add(fabric, now_ns, &f, &handle), MRC_OK);
}

/* The frame's length, and its payload up to where it was cut. */
static void expect_frame(struct rte_mbuf *m, uint8_t fill, uint32_t len)
{
	const uint8_t *p;

	assert_non_null(m);
	assert_int_equal(m->data_len, len);
	assert_int_equal(m->pkt_len, len);
	assert_int_equal(m->nb_segs, 1);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	for (uint32_t i = 54; i < len; i++)
		assert_int_equal(p[i], i < FRAME_LEN ? fill : 0);
}

static void a_frame_stays_in_its_buffer(void **state)
{
	struct rte_mbuf *m;

	send_frame(0x5A);
	assert_int_equal(rte_mempool_avail_count(frames), NB_FRAMES - 1);
	run_all();
	m = next_frame();
	expect_frame(m, 0x5A, FRAME_LEN);
	assert_ptr_equal(m->pool, frames);
	assert_int_equal(m->data_off, RTE_PKTMBUF_HEADROOM);
	assert_int_equal(rte_mempool_avail_count(copies), NB_COPIES);
	rte_pktmbuf_free(m);
	assert_null(next_frame());
}

static void a_lost_frame_is_given_back(void **state)
{
	fault(MRC_FABRIC_LOSS, 0);
	for (uint32_t i = 0; i < 10 * NB_FRAMES; i++) {
		send_frame(1);
		run_all();
	}
	assert_null(next_frame());
	assert_int_equal(rte_mempool_avail_count(frames), NB_FRAMES);
}

static void copies_are_buffers_of_their_own(void **state)
{
	struct rte_mbuf *m[3];
	uint32_t nb_copies = 0;

	fault(MRC_FABRIC_DUPLICATE, 2);
	send_frame(0xC3);
	run_all();
	for (int i = 0; i < 3; i++) {
		m[i] = next_frame();
		expect_frame(m[i], 0xC3, FRAME_LEN);
		nb_copies += m[i]->pool == copies;
	}
	assert_int_equal(nb_copies, 2);
	/* Writing to one leaves the others alone. */
	memset(rte_pktmbuf_mtod(m[0], uint8_t *) + 54, 0, FRAME_LEN - 54);
	expect_frame(m[1], 0xC3, FRAME_LEN);
	expect_frame(m[2], 0xC3, FRAME_LEN);
	for (int i = 0; i < 3; i++)
		rte_pktmbuf_free(m[i]);
}

/* Without buffers for copies the original still arrives, and nothing leaks. */
static void copies_end_with_their_buffers(void **state)
{
	uint32_t nb = 0;
	struct rte_mbuf *m;

	fault(MRC_FABRIC_DUPLICATE, 15);
	for (uint32_t i = 0; i < 30; i++)
		send_frame(9);
	run_all();
	while ((m = next_frame()) != NULL) {
		expect_frame(m, 9, FRAME_LEN);
		rte_pktmbuf_free(m);
		nb++;
	}
	assert_in_range(nb, 30 + NB_COPIES, 30 * 16 - 1);
	assert_null(mrc_fabric_check(fabric));
}

static void a_cut_frame_says_its_new_length(void **state)
{
	struct rte_mbuf *m;

	fault(MRC_FABRIC_TRUNCATE, 60);
	send_frame(0x77);
	run_all();
	m = next_frame();
	expect_frame(m, 0x77, FRAME_LEN - 60);
	rte_pktmbuf_free(m);
}

/* Zeros behind the frame, as far as its buffer goes and no further. */
static void padding_stays_inside_the_buffer(void **state)
{
	static const uint32_t pads[] = {1, 100, BUF_LEN - FRAME_LEN, BUF_LEN - FRAME_LEN + 1, 5000};

	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		const uint32_t room = BUF_LEN - FRAME_LEN;
		struct rte_mbuf *m;

		fault(MRC_FABRIC_PAD, pads[i]);
		send_frame(0x11);
		run_all();
		m = next_frame();
		assert_non_null(m);
		assert_in_range(m->data_len, FRAME_LEN, FRAME_LEN + room);
		expect_frame(m, 0x11, m->data_len);
		if (pads[i] <= room)
			assert_true(m->data_len >= FRAME_LEN + pads[i]);
		assert_int_equal(m->data_off + m->data_len <= m->buf_len, 1);
		rte_pktmbuf_free(m);
		assert_int_equal(close_fabric(NULL), 0);
		assert_int_equal(open_fabric(NULL), MRC_OK);
	}
}

/* What is queued or unread when the fabric goes is given back (see close_fabric). */
static void frames_under_way_are_given_back(void **state)
{
	fault(MRC_FABRIC_DUPLICATE, 1);
	for (uint32_t i = 0; i < 20; i++)
		send_frame(3);
	mrc_fabric_run(fabric, 20000, MRC_FABRIC_MBUF_EVENTS);
	assert_true(rte_mempool_avail_count(frames) < NB_FRAMES);
}

static void ports_rest_behind_ten_microseconds(void **state)
{
	assert_int_equal(mrc_fabric_mbuf_backlog_len(0), 16384);
	assert_int_equal(mrc_fabric_mbuf_backlog_len(1000000000), 16384);
	assert_int_equal(mrc_fabric_mbuf_backlog_len(13107200000), 16384);
	assert_int_equal(mrc_fabric_mbuf_backlog_len(100000000000), 125000);
	assert_int_equal(mrc_fabric_mbuf_backlog_len(100000000000000), 125000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fabric, close_fabric)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_stays_in_its_buffer),
		TEST(a_lost_frame_is_given_back),
		TEST(copies_are_buffers_of_their_own),
		TEST(copies_end_with_their_buffers),
		TEST(a_cut_frame_says_its_new_length),
		TEST(padding_stays_inside_the_buffer),
		TEST(frames_under_way_are_given_back),
		cmocka_unit_test(ports_rest_behind_ten_microseconds),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
