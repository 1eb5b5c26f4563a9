/* SPDX-License-Identifier: BSD-2-Clause */
/* A load at each end of a wire that only copies: limits, pacing, verification, flows, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_sched.h"
#include "mrc_load.h"

struct rig {
	struct test_env te;
	struct mrc_sched a, b; /* a sends to b */
	struct mrc_load_cfg tx_cfg, rx_cfg;
	struct mrc_load *tx, *rx;
	uint8_t *source, *region;
	uint64_t now;
	struct mrc_load_result tr, rr;
	bool late_receiver; /* rig_open does not start it */
};

static struct rig rig;

static void rig_cfg(uint32_t nb_qps, uint32_t depth, uint32_t size)
{
	memset(&rig.te, 0, sizeof(rig.te));
	test_env_init(&rig.te, 0x10AD);
	fake_open(&rig.a, &rig.b, &rig.te);
	fake_open(&rig.b, &rig.a, &rig.te);
	mrc_load_cfg_default(&rig.tx_cfg);
	rig.tx_cfg.roles = MRC_LOAD_SENDER;
	rig.tx_cfg.nb_qps = nb_qps;
	rig.tx_cfg.depth = depth;
	rig.tx_cfg.size = size;
	rig.tx_cfg.seed = 42;
	rig.tx_cfg.nb_bins = 8;
	rig.rx_cfg = rig.tx_cfg;
	rig.rx_cfg.roles = MRC_LOAD_RECEIVER;
	rig.now = 1000000;
}

static void rig_memory(void)
{
	struct mrc_load_cfg *tx = &rig.tx_cfg, *rx = &rig.rx_cfg;

	if (!tx->source_once) {
		tx->source_len = mrc_load_source_len(tx);
		rig.source = malloc(tx->source_len);
		mrc_load_pattern_fill(tx->seed, rig.source, tx->source_len);
		tx->source = rig.source;
		rx->region_len = mrc_load_region_len(rx);
	} else {
		rx->region_len = tx->source_len;
		rx->region_once = true;
	}
	rig.region = calloc(1, rx->region_len);
	rx->region = rig.region;
}

static void rig_open(void)
{
	struct mrc_load_offer *offer = malloc(sizeof(*offer));
	const char *key = NULL;

	rig_memory();
	assert_int_equal(mrc_load_create(&rig.tx_cfg, &rig.a, &rig.te.env, &rig.tx), MRC_OK);
	assert_int_equal(mrc_load_create(&rig.rx_cfg, &rig.b, &rig.te.env, &rig.rx), MRC_OK);
	test_env_freeze(&rig.te);
	mrc_load_offer(rig.rx, offer);
	assert_int_equal(mrc_load_connect(rig.tx, rig.now, offer, NULL, &key), MRC_OK);
	mrc_load_offer(rig.tx, offer);
	assert_int_equal(mrc_load_connect(rig.rx, rig.now, offer, NULL, &key), MRC_OK);
	free(offer);
	mrc_load_start(rig.tx, rig.now);
	if (!rig.late_receiver)
		mrc_load_start(rig.rx, rig.now);
}

static void results(void)
{
	mrc_load_result(rig.tx, &rig.tr);
	mrc_load_result(rig.rx, &rig.rr);
}

/* Polls and delivers, `step_ns` apart, until the sender is done; then drains the receiver. */
static void rig_run(uint64_t step_ns, uint32_t max_steps)
{
	for (uint32_t i = 0; !mrc_load_done(rig.tx); i++) {
		assert_true(i < max_steps);
		mrc_load_poll(rig.tx, rig.now);
		for (uint32_t n = test_random_below(&rig.te, 20); n > 0; n--)
			fake_step(&rig.a);
		mrc_load_poll(rig.rx, rig.now);
		rig.now += step_ns;
	}
	results();
	mrc_load_expect(rig.rx, rig.tr.tx_messages);
	for (uint32_t i = 0; !mrc_load_done(rig.rx); i++) {
		assert_true(i < max_steps);
		mrc_load_poll(rig.rx, rig.now);
	}
	results();
}

static void rig_close(void)
{
	mrc_load_destroy(rig.tx, rig.now);
	mrc_load_destroy(rig.rx, rig.now);
	assert_true(fake_empty(&rig.a) && fake_empty(&rig.b));
	free(rig.source);
	free(rig.region);
	rig.source = rig.region = NULL;
	test_env_done(&rig.te);
}

static void expect_clean(void)
{
	uint64_t bins = 0, rx_bins = 0;

	assert_int_equal(rig.tr.tx_messages, rig.tr.tx_posted);
	assert_int_equal(rig.rr.rx_messages, rig.tr.tx_messages);
	assert_int_equal(rig.rr.rx_bytes, rig.tr.tx_bytes);
	assert_int_equal(rig.rr.bytes_corrupt, 0);
	assert_int_equal(rig.rr.messages_corrupt, 0);
	assert_int_equal(rig.rr.imm_corrupt, 0);
	assert_int_equal(rig.tr.post_errors + rig.rr.post_errors, 0);
	assert_int_equal(rig.tr.qps_failed, 0);
	assert_int_equal(rig.b.rq_empty, 0);
	assert_int_equal(rig.tr.latency->count, rig.tr.tx_messages);
	for (uint32_t i = 0; i < rig.tr.nb_bins; i++)
		bins += rig.tr.tx_bins[i];
	for (uint32_t i = 0; i < rig.rr.nb_bins; i++)
		rx_bins += rig.rr.rx_bins[i];
	assert_int_equal(bins, rig.tr.tx_bytes);
	assert_int_equal(rx_bins, rig.rr.rx_bytes);
}

static void closed_loop_by_count(void **state)
{
	static const uint32_t sizes[] = {1, 8, 63, 64, 1000, 4096, 70001};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		rig_cfg(1 + (uint32_t)s * 3, 1 + (uint32_t)s * 2, sizes[s]);
		rig.tx_cfg.count = 3000;
		rig.tx_cfg.imm_pct = s % 3 == 0 ? 0 : s % 3 == 1 ? 100 : 30;
		rig_open();
		rig_run(1000, 100000);
		expect_clean();
		assert_int_equal(rig.tr.tx_messages, 3000);
		assert_int_equal(rig.rr.bytes_verified, 3000ull * sizes[s]);
		if (s % 3 == 0)
			assert_int_equal(rig.rr.rx_imm, 0);
		else if (s % 3 == 1)
			assert_int_equal(rig.rr.rx_imm, 3000);
		else
			assert_in_range(rig.rr.rx_imm, 700, 1100);
		rig_close();
	}
}

static void bytes_and_sizes(void **state)
{
	static const struct mrc_dist dist = {
		.nb_points = 3, .points = {{64, 0.3}, {5000, 0.9}, {90000, 1}}};

	rig_cfg(4, 8, 0);
	rig.tx_cfg.sizes = rig.rx_cfg.sizes = &dist;
	rig.tx_cfg.total_bytes = 10000001;
	rig_open();
	rig_run(1000, 100000);
	expect_clean();
	assert_int_equal(rig.rr.bytes_verified, 10000001);
	assert_true(rig.tr.tx_messages > 1000);
	rig_close();
}

static void duration_ends_the_run(void **state)
{
	rig_cfg(2, 4, 500);
	rig.tx_cfg.duration_ns = 2000000;
	rig_open();
	assert_int_equal(mrc_load_poll(rig.tx, rig.now), rig.now + 2000000);
	rig_run(1000, 100000);
	expect_clean();
	assert_in_range(rig.now, 3000000, 3100000);
	assert_in_range(rig.tr.last_tx_ns, 2990000, 3100000);
	rig_close();
}

/* A receiver that is started behind the first arrivals counts them from its start. */
static void receiver_started_late(void **state)
{
	rig_cfg(1, 4, 500);
	rig.tx_cfg.count = 50;
	rig.late_receiver = true;
	rig_open();
	rig.now += 200000000;
	for (int i = 0; i < 20; i++) {
		mrc_load_poll(rig.tx, rig.now);
		fake_step(&rig.a);
		mrc_load_poll(rig.rx, rig.now);
	}
	rig.late_receiver = false;
	mrc_load_start(rig.rx, rig.now);
	rig_run(1000, 1000);
	expect_clean();
	assert_int_equal(rig.rr.nb_bins, 1);
	assert_int_equal(rig.rr.rx_bins[0], 25000);
	rig_close();
}

static void stop_ends_the_run(void **state)
{
	rig_cfg(2, 4, 500);
	rig_open();
	for (int i = 0; i < 100; i++) {
		mrc_load_poll(rig.tx, rig.now);
		fake_step(&rig.a);
		mrc_load_poll(rig.rx, rig.now);
	}
	assert_false(mrc_load_done(rig.tx));
	mrc_load_stop(rig.tx);
	rig_run(1000, 1000);
	expect_clean();
	assert_in_range(rig.tr.tx_messages, 100, 108);
	rig_close();
}

/* A receiver that falls behind by a backlog of verification still never compares a slot that was
 * overwritten: with the least number of slots, messages larger than a verification batch, and polls
 * of the receiver left out. */
static void verification_backlog(void **state)
{
	rig_cfg(3, 2, 300000);
	rig.tx_cfg.nb_slots = rig.rx_cfg.nb_slots = 3;
	rig.tx_cfg.count = 400;
	rig_open();
	for (uint32_t i = 0; !mrc_load_done(rig.tx); i++) {
		assert_true(i < 10000);
		mrc_load_poll(rig.tx, rig.now);
		for (uint32_t n = test_random_below(&rig.te, 6); n > 0; n--)
			fake_step(&rig.a);
		if (i % 7 == 0)
			mrc_load_poll(rig.rx, rig.now);
	}
	rig_run(0, 10000);
	expect_clean();
	assert_int_equal(rig.rr.bytes_verified, 400ull * 300000);
	rig_close();
}

/* ---- corruption: what the wire breaks is found, byte by byte */

static struct {
	uint64_t at_message;
	uint32_t offset;
	bool move;
} fault;

static void flip(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, uint64_t *va, uint8_t *mem, uint32_t len)
{
	if (sched->delivered != fault.at_message)
		return;
	if (fault.move)
		*va += 64;
	else
		mem[fault.offset] ^= 0x10;
}

/* The message before the faulty one stays in place of it: a write that never happened. */
static void swallow(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, uint64_t *va, uint8_t *mem, uint32_t len)
{
	static uint8_t old[5000];

	if (sched->delivered == fault.at_message - 1)
		memcpy(old, mem, len);
	if (sched->delivered == fault.at_message)
		memcpy(mem, old, len);
}

static void corrupt_bytes_are_counted(void **state)
{
	static const uint32_t offsets[] = {0, 1, 2500, 4998, 4999};

	for (uint32_t i = 0; i < 5; i++) {
		rig_cfg(1, 4, 5000);
		rig.tx_cfg.count = 200;
		rig.b.disturb = flip;
		fault.at_message = 150;
		fault.offset = offsets[i];
		fault.move = false;
		rig_open();
		rig_run(1000, 10000);
		assert_int_equal(rig.rr.bytes_corrupt, 1);
		assert_int_equal(rig.rr.messages_corrupt, 1);
		assert_int_equal(rig.rr.bad_message, 150);
		assert_int_equal(rig.rr.bad_offset, offsets[i]);
		assert_int_equal(rig.rr.bad_expected ^ rig.rr.bad_found, 0x10);
		rig_close();
	}
}

static void stale_and_misplaced_messages_are_found(void **state)
{
	rig_cfg(1, 4, 5000);
	rig.tx_cfg.count = 200;
	rig.b.disturb = swallow;
	fault.at_message = 77;
	rig_open();
	rig_run(1000, 10000);
	assert_true(rig.rr.bytes_corrupt > 4000);
	assert_int_equal(rig.rr.messages_corrupt, 1);
	rig_close();
	rig_cfg(1, 4, 5000);
	rig.tx_cfg.count = 200;
	rig.b.disturb = flip;
	fault.move = true;
	rig_open();
	rig_run(1000, 10000);
	assert_int_equal(rig.rr.bytes_corrupt, 5000);
	assert_int_equal(rig.rr.messages_corrupt, 1);
	rig_close();
}

static void wrong_immediates_are_counted(void **state)
{
	static const uint32_t changes[] = {0x00000400, 0x80000000, 1};

	for (uint32_t i = 0; i < 3; i++) {
		rig_cfg(1, 4, 500);
		rig.tx_cfg.count = 200;
		rig.tx_cfg.imm_pct = 100;
		rig.b.imm_xor = changes[i];
		rig_open();
		rig_run(1000, 10000);
		assert_int_equal(rig.rr.rx_imm, 200);
		assert_int_equal(rig.rr.bytes_corrupt, 0);
		assert_true(rig.rr.imm_corrupt >= 90);
		rig_close();
	}
}

/* Sampling sees both ends of every message and a part of what is between. */
static void samples(void **state)
{
	static const uint32_t offsets[] = {0, 63, 299937, 299999};

	for (uint32_t i = 0; i < 5; i++) {
		rig_cfg(1, 4, 300000);
		rig.tx_cfg.count = 20;
		rig.rx_cfg.verify = MRC_LOAD_VERIFY_SAMPLE;
		if (i < 4)
			rig.b.disturb = flip;
		fault.at_message = 12;
		fault.offset = offsets[i % 4];
		fault.move = false;
		rig_open();
		rig_run(1000, 10000);
		assert_int_equal(rig.rr.bytes_corrupt, i < 4);
		assert_in_range(rig.rr.bytes_verified, 20 * 70 * 64, 20 * 77 * 64);
		rig_close();
	}
	for (uint32_t size = 1; size < 400; size += 7) {
		rig_cfg(1, 4, size);
		rig.tx_cfg.count = 20;
		rig.rx_cfg.verify = MRC_LOAD_VERIFY_SAMPLE;
		rig_open();
		rig_run(1000, 10000);
		expect_clean();
		assert_true(rig.rr.bytes_verified <= 20 * size);
		rig_close();
	}
	rig_cfg(1, 4, 5000);
	rig.tx_cfg.count = 20;
	rig.rx_cfg.verify = MRC_LOAD_VERIFY_NONE;
	rig_open();
	rig_run(1000, 10000);
	expect_clean();
	assert_int_equal(rig.rr.bytes_verified, 0);
	rig_close();
}

/* ---- pacing */

static void open_loop_keeps_the_rate(void **state)
{
	for (int poisson = 0; poisson < 2; poisson++) {
		double seconds;

		rig_cfg(4, 16, 1000);
		rig.tx_cfg.pacing = poisson ? MRC_LOAD_POISSON : MRC_LOAD_CONSTANT;
		rig.tx_cfg.rate_bps = 8e9; /* a message each 1000 ns */
		rig.tx_cfg.count = 20000;
		rig_open();
		for (uint64_t next = rig.now; !mrc_load_done(rig.tx);) {
			assert_true(next != UINT64_MAX);
			rig.now = next > rig.now ? next : rig.now;
			next = mrc_load_poll(rig.tx, rig.now);
			while (fake_step(&rig.a))
				;
			mrc_load_poll(rig.rx, rig.now);
			if (next > rig.now + 1000000 || next == UINT64_MAX)
				next = rig.now + 1;
		}
		rig_run(0, 100000);
		expect_clean();
		seconds = (double)(rig.tr.last_tx_ns - rig.tr.start_ns) / 1e9;
		assert_true(fabs(20000 * 8000 / seconds / 8e9 - 1) < (poisson ? 0.03 : 0.001));
		rig_close();
	}
}

/* Open loop: a message that waits for room counts from when it was due. */
static void open_loop_latency_counts_the_wait(void **state)
{
	rig_cfg(1, 2, 1000);
	rig.tx_cfg.pacing = MRC_LOAD_CONSTANT;
	rig.tx_cfg.rate_bps = 8e9;
	rig.tx_cfg.count = 10;
	rig_open();
	mrc_load_poll(rig.tx, rig.now);
	rig.now += 100000; /* the wire stood still for 100 messages' time */
	while (!mrc_load_done(rig.tx)) {
		while (fake_step(&rig.a))
			;
		mrc_load_poll(rig.rx, rig.now);
		mrc_load_poll(rig.tx, rig.now);
	}
	rig_run(0, 100);
	expect_clean();
	assert_int_equal(rig.tr.latency->min, 91000);
	assert_int_equal(rig.tr.latency->max, 100000);
	rig_close();
}

/* ---- once: a file */

static void source_once_arrives_in_order(void **state)
{
	enum {
		LEN = 1234567
	};
	uint8_t *file = malloc(LEN);

	rig_cfg(5, 3, 10000);
	for (uint32_t i = 0; i < LEN; i++)
		file[i] = (uint8_t)test_random64(&rig.te);
	rig.tx_cfg.source = file;
	rig.tx_cfg.source_len = LEN;
	rig.tx_cfg.source_once = true;
	rig_open();
	rig_run(1000, 10000);
	expect_clean();
	assert_int_equal(rig.tr.tx_bytes, LEN);
	assert_int_equal(rig.tr.tx_messages, 124);
	assert_memory_equal(rig.region, file, LEN);
	rig_close();
	free(file);
}

/* ---- flows */

static void flows(void **state)
{
	struct mrc_load_flow_done done;
	uint64_t seen = 0, bytes = 0;

	rig_cfg(3, 4, 4000);
	rig.tx_cfg.pacing = MRC_LOAD_FLOWS;
	rig.tx_cfg.max_flows = 8;
	rig_open();
	assert_int_equal(mrc_load_flow_add(rig.tx, rig.now, 0, 0), MRC_ERR_INVAL);
	for (uint64_t tag = 0; tag < 50 || seen < 50;) {
		if (tag < 50 && mrc_load_flow_add(rig.tx, rig.now, 1 + tag * 997, tag) == MRC_OK)
			tag++;
		mrc_load_poll(rig.tx, rig.now);
		for (uint32_t n = test_random_below(&rig.te, 8); n > 0; n--)
			fake_step(&rig.a);
		mrc_load_poll(rig.rx, rig.now);
		rig.now += 10;
		while (test_random_below(&rig.te, 2) && mrc_load_flow_poll(rig.tx, &done)) {
			assert_int_equal(done.bytes, 1 + done.tag * 997);
			assert_true(done.end_ns > done.start_ns && !done.failed);
			seen++;
			bytes += done.bytes;
		}
	}
	for (uint64_t tag = 0; tag < 8; tag++)
		assert_int_equal(mrc_load_flow_add(rig.tx, rig.now, 10, tag), MRC_OK);
	assert_int_equal(mrc_load_flow_add(rig.tx, rig.now, 10, 9), MRC_ERR_FULL);
	mrc_load_stop(rig.tx);
	assert_false(mrc_load_done(rig.tx));
	rig_run(1000, 10000);
	expect_clean();
	assert_int_equal(rig.rr.bytes_verified, bytes + 80);
	assert_int_equal(mrc_load_flow_add(rig.tx, rig.now, 10, 9), MRC_ERR_STATE);
	rig_close();
}

static void flows_fail_with_their_qps(void **state)
{
	struct mrc_load_flow_done done;
	uint32_t nb_done = 0, nb_failed = 0;

	rig_cfg(2, 2, 4000);
	rig.tx_cfg.pacing = MRC_LOAD_FLOWS;
	rig_open();
	for (uint64_t tag = 0; tag < 5; tag++)
		assert_int_equal(mrc_load_flow_add(rig.tx, rig.now, 12000, tag), MRC_OK);
	mrc_load_poll(rig.tx, rig.now);
	fake_break(&rig.a, 0);
	fake_step(&rig.a);
	mrc_load_poll(rig.tx, rig.now);
	fake_break(&rig.a, 1);
	mrc_load_poll(rig.tx, rig.now);
	while (mrc_load_flow_poll(rig.tx, &done)) {
		nb_done++;
		nb_failed += done.failed;
	}
	assert_int_equal(nb_done, 5);
	assert_int_equal(nb_failed, 5);
	assert_true(mrc_load_done(rig.tx));
	rig_close();
}

/* ---- failures */

static void failed_qps_leave_the_run(void **state)
{
	rig_cfg(4, 4, 100);
	rig.tx_cfg.count = 1000;
	rig_open();
	mrc_load_poll(rig.tx, rig.now);
	fake_break(&rig.a, 2);
	rig_run(1000, 10000);
	assert_int_equal(rig.tr.qps_failed, 1);
	assert_int_equal(rig.tr.tx_errors[MRC_WC_WR_FLUSH_ERR], 4);
	assert_int_equal(rig.tr.tx_messages, 996);
	assert_int_equal(rig.rr.bytes_corrupt, 0);
	rig_close();
	/* All of them: the run ends. */
	rig_cfg(2, 4, 100);
	rig_open();
	mrc_load_poll(rig.tx, rig.now);
	fake_break(&rig.a, 0);
	fake_break(&rig.a, 1);
	rig_run(1000, 100);
	assert_int_equal(rig.tr.qps_failed, 2);
	assert_int_equal(rig.tr.tx_messages, 0);
	rig_close();
}

static void both_directions_on_the_same_qps(void **state)
{
	rig_cfg(2, 4, 3000);
	rig.tx_cfg.roles = rig.rx_cfg.roles = MRC_LOAD_SENDER | MRC_LOAD_RECEIVER;
	rig.tx_cfg.count = rig.rx_cfg.count = 500;
	rig.tx_cfg.imm_pct = 50;
	rig.tx_cfg.region_len = mrc_load_region_len(&rig.tx_cfg);
	rig.tx_cfg.region = calloc(1, rig.tx_cfg.region_len);
	rig.rx_cfg.source_len = mrc_load_source_len(&rig.rx_cfg);
	rig.rx_cfg.source = malloc(rig.rx_cfg.source_len);
	mrc_load_pattern_fill(42, rig.rx_cfg.source, rig.rx_cfg.source_len);
	rig_open();
	mrc_load_expect(rig.tx, 500);
	mrc_load_expect(rig.rx, 500);
	while (!mrc_load_done(rig.tx) || !mrc_load_done(rig.rx)) {
		mrc_load_poll(rig.tx, rig.now);
		mrc_load_poll(rig.rx, rig.now);
		fake_step(test_random_below(&rig.te, 2) ? &rig.a : &rig.b);
	}
	results();
	assert_int_equal(rig.tr.rx_messages, 500);
	assert_int_equal(rig.rr.rx_messages, 500);
	assert_int_equal(rig.tr.bytes_verified, 1500000);
	assert_int_equal(rig.tr.bytes_corrupt + rig.rr.bytes_corrupt, 0);
	free(rig.rx_cfg.source);
	free(rig.tx_cfg.region);
	rig_close();
}

static void create_fails_cleanly(void **state)
{
	for (uint32_t at = 1; at <= 6; at++) {
		rig_cfg(2, 2, 64);
		rig_memory();
		rig.b.fail_verb = at;
		assert_int_equal(
			mrc_load_create(&rig.rx_cfg, &rig.b, &rig.te.env, &rig.rx), MRC_ERR_NOMEM);
		assert_true(fake_empty(&rig.b));
		rig.te.fail_after = 0;
		assert_int_equal(
			mrc_load_create(&rig.rx_cfg, &rig.b, &rig.te.env, &rig.rx), MRC_ERR_NOMEM);
		test_env_done(&rig.te);
		free(rig.source);
		free(rig.region);
		rig.source = rig.region = NULL;
	}
}

static void configuration_ranges(void **state)
{
	const char *key;

#define REFUSED(which, name, change)                                                               \
	do {                                                                                       \
		struct mrc_load_cfg *cfg = &rig.which##_cfg, good = *cfg;                          \
		change;                                                                            \
		key = NULL;                                                                        \
		assert_int_equal(mrc_load_cfg_check(cfg, &key), MRC_ERR_INVAL);                    \
		assert_string_equal(key, name);                                                    \
		*cfg = good;                                                                       \
		assert_int_equal(mrc_load_cfg_check(cfg, NULL), MRC_OK);                           \
	} while (0)
	rig_cfg(2, 4, 64);
	rig_memory();
	REFUSED(tx, "roles", cfg->roles = 0);
	REFUSED(tx, "roles", cfg->roles = 4);
	REFUSED(tx, "nb_qps", cfg->nb_qps = 0);
	REFUSED(tx, "nb_qps", cfg->nb_qps = MRC_LOAD_MAX_QPS + 1);
	REFUSED(tx, "depth", cfg->depth = 0);
	REFUSED(tx, "nb_slots", cfg->nb_slots = 4);
	REFUSED(tx, "size", cfg->size = 0);
	REFUSED(tx, "imm_pct", cfg->imm_pct = 101);
	REFUSED(tx, "rate_bps", cfg->pacing = MRC_LOAD_CONSTANT);
	REFUSED(tx, "rate_bps", cfg->pacing = MRC_LOAD_POISSON; cfg->rate_bps = NAN);
	REFUSED(tx, "max_flows", cfg->pacing = MRC_LOAD_FLOWS; cfg->max_flows = 0);
	REFUSED(tx, "source", cfg->source = NULL);
	REFUSED(tx, "source_len", cfg->source_len--);
	REFUSED(rx, "region", cfg->region = NULL);
	REFUSED(rx, "region_len", cfg->region_len--);
#undef REFUSED
	free(rig.source);
	free(rig.region);
	rig.source = rig.region = NULL;
}

/* spec */
static void disagreements_are_named(void **state)
{
	static struct mrc_load_offer good, offer;
	const char *key;

	rig_cfg(2, 4, 64);
	rig_memory();
	assert_int_equal(mrc_load_create(&rig.tx_cfg, &rig.a, &rig.te.env, &rig.tx), MRC_OK);
	assert_int_equal(mrc_load_create(&rig.rx_cfg, &rig.b, &rig.te.env, &rig.rx), MRC_OK);
	mrc_load_offer(rig.rx, &good);
#define REFUSED(name, change)                                                                      \
	do {                                                                                       \
		offer = good;                                                                      \
		change;                                                                            \
		key = NULL;                                                                        \
		assert_int_equal(                                                                  \
			mrc_load_connect(rig.tx, rig.now, &offer, NULL, &key), MRC_ERR_INVAL);     \
		assert_string_equal(key, name);                                                    \
	} while (0)
	REFUSED("nb_qps", offer.nb_qps = 3);
	REFUSED("depth", offer.depth = 5);
	REFUSED("pmtu", offer.pmtu = 5000);
	REFUSED("pmtu", offer.pmtu = 1000);
	REFUSED("mpr", offer.mpr = 0);
	REFUSED("mpr", offer.mpr = 256);
	REFUSED("wimm", offer.wimm = 65536);
	REFUSED("seed", offer.seed++);
	REFUSED("nb_slots", offer.nb_slots++);
	REFUSED("slot_len", offer.slot_len = 32);
	REFUSED("region_len", offer.region_len--);
#undef REFUSED
	offer = good;
	offer.pmtu = 1024;
	offer.mpr = 16;
	offer.trim_nack = true;
	assert_int_equal(mrc_load_connect(rig.tx, rig.now, &offer, NULL, &key), MRC_OK);
	assert_int_equal(rig.a.qps[1].attr.pmtu, 1024);
	assert_int_equal(rig.a.qps[1].attr.mpr, 16);
	assert_int_equal(rig.a.qps[1].attr.mpr_dest, 8);
	assert_true(rig.a.qps[1].attr.trim_nack_peer);
	assert_int_equal(rig.a.qps[1].attr.dest_qpn, 101);
	assert_int_equal(rig.a.qps[1].attr.rq_psn.v, good.psn[1]);
	assert_int_equal(rig.a.qps[1].state, MRC_QP_RTS);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_loop_by_count),
		cmocka_unit_test(bytes_and_sizes),
		cmocka_unit_test(duration_ends_the_run),
		cmocka_unit_test(receiver_started_late),
		cmocka_unit_test(stop_ends_the_run),
		cmocka_unit_test(verification_backlog),
		cmocka_unit_test(corrupt_bytes_are_counted),
		cmocka_unit_test(stale_and_misplaced_messages_are_found),
		cmocka_unit_test(wrong_immediates_are_counted),
		cmocka_unit_test(samples),
		cmocka_unit_test(open_loop_keeps_the_rate),
		cmocka_unit_test(open_loop_latency_counts_the_wait),
		cmocka_unit_test(source_once_arrives_in_order),
		cmocka_unit_test(flows),
		cmocka_unit_test(flows_fail_with_their_qps),
		cmocka_unit_test(failed_qps_leave_the_run),
		cmocka_unit_test(both_directions_on_the_same_qps),
		cmocka_unit_test(create_fails_cleanly),
		cmocka_unit_test(configuration_ranges),
		cmocka_unit_test(disagreements_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
