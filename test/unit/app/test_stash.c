/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that a port refuses: order, ownership and count, with a port that takes what it likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "port.h"
#include "stash.h"
#include "test_env.h"

#define NB_FRAMES 1023

static struct test_env te;
static struct rte_mempool *pool;

/* What the mocked driver does with a burst. */
enum mood {
	TAKE_ALL,
	TAKE_NONE,
	TAKE_ALL_BUT_ONE,
	TAKE_ONE,
	TAKE_SOME
};
static enum mood mood;
static uint64_t expected, bursts; /* next number that must leave */

/* A driver: checks the order of what it takes and gives it back to the pool. */
static uint16_t mock_tx(void *queue, struct rte_mbuf **frames, uint16_t nb)
{
	uint16_t take = 0;

	bursts++;
	switch (mood) {
	case TAKE_ALL:
		take = nb;
		break;
	case TAKE_NONE:
		break;
	case TAKE_ALL_BUT_ONE:
		take = (uint16_t)(nb - 1);
		break;
	case TAKE_ONE:
		take = 1;
		break;
	case TAKE_SOME:
		take = (uint16_t)test_random_below(&te, nb + 1u);
		break;
	}
	for (uint16_t i = 0; i < take; i++) {
		uint64_t number;

		memcpy(&number, rte_pktmbuf_mtod(frames[i], void *), sizeof(number));
		assert_true(number == expected);
		expected++;
		rte_pktmbuf_free(frames[i]);
	}
	return take;
}

static void *mock_queues[1];

static int setup(void **state)
{
	char prefix[48];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"64"},
		(char[]){"--no-pci"}, prefix, (char[]){"--log-level=*:error"}, NULL};

	snprintf(prefix, sizeof(prefix), "--file-prefix=mrc-test-%d", (int)getpid());
	if (rte_eal_init(7, argv) < 0)
		return -1;
	test_env_init(&te, 0x57A5);
	pool = mrc_port_pool_create("test", NB_FRAMES, 2048);
	rte_eth_fp_ops[0].tx_pkt_burst = mock_tx;
	rte_eth_fp_ops[0].txq.data = mock_queues;
	return pool ? 0 : -1;
}

static int teardown(void **state)
{
	return rte_eal_cleanup();
}

static void put_numbered(struct mrc_stash *stash, uint64_t number)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);

	assert_non_null(frame);
	memcpy(rte_pktmbuf_mtod(frame, void *), &number, sizeof(number));
	mrc_stash_put(stash, frame);
}

static void frames_keep_their_order_whatever_the_port_takes(void **state)
{
	struct mrc_stash stash = {.port = 0};
	uint64_t put = 0;

	expected = 0;
	for (uint32_t turn = 0; turn < 200000; turn++) {
		uint32_t n = test_random_below(&te, 33);
		bool gone;

		n = n < mrc_stash_room(&stash) ? n : mrc_stash_room(&stash);
		for (uint32_t i = 0; i < n; i++)
			put_numbered(&stash, put++);
		mood = (enum mood)test_random_below(&te, TAKE_SOME + 1);
		gone = mrc_stash_flush(&stash);
		assert_int_equal(gone, stash.nb == 0);
		assert_int_equal(stash.nb, put - expected);
		assert_int_equal(rte_mempool_in_use_count(pool), stash.nb);
	}
	mood = TAKE_ALL;
	assert_true(mrc_stash_flush(&stash));
	assert_true(expected == put);
	assert_true(put > 100000);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void an_empty_stash_does_not_touch_the_port(void **state)
{
	struct mrc_stash stash = {.port = 0};
	uint64_t before = bursts;

	assert_true(mrc_stash_flush(&stash));
	assert_true(bursts == before);
}

static void refused_frames_are_counted_and_dropped_to_the_pool(void **state)
{
	struct mrc_stash stash = {.port = 0};

	expected = 0;
	for (uint32_t i = 0; i < MRC_STASH_ROOM; i++)
		put_numbered(&stash, i);
	assert_int_equal(mrc_stash_room(&stash), 0);
	mood = TAKE_NONE;
	assert_false(mrc_stash_flush(&stash));
	mood = TAKE_ALL_BUT_ONE;
	assert_false(mrc_stash_flush(&stash));
	assert_int_equal(stash.refused, MRC_STASH_ROOM + 1);
	assert_int_equal(mrc_stash_drop(&stash), 1);
	assert_int_equal(mrc_stash_drop(&stash), 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_keep_their_order_whatever_the_port_takes),
		cmocka_unit_test(an_empty_stash_does_not_touch_the_port),
		cmocka_unit_test(refused_frames_are_counted_and_dropped_to_the_pool),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
