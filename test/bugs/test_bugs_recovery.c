/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bugs_recovery.c - what users of comparable software met in loss recovery, timers and
 * determinism, one function per story. README.md of this folder lists all rows.
 */
#include "pair_test.h"

/*
 * C1: the timeout path crashed because nothing had ever taken it. Total loss for the whole
 * schedule; then total loss that heals after each number of expiries.
 */
static void c1_total_loss_heals_or_ends(void **state)
{
	for (uint32_t dead_us = 100; dead_us <= 120000; dead_us = dead_us * 5 / 3) {
		struct pair_cfg cfg;
		struct pair *p;
		uint32_t answered;

		pair_test_cfg(&cfg, "c1_total_loss_heals_or_ends", 121);
		cfg.allow_error = true;
		p = pair_create(&cfg);
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 50, .depth = 16, .max_len = 20000, .imm_pct = 20});
		pair_run(p, 10 * PAIR_US);
		pair_fault_add(p, &(struct pair_fault){
					  .act = PAIR_DROP, .to_ns = p->now + dead_us * PAIR_US});
		if (!pair_run_idle(p, 10 * PAIR_S))
			pair_fail(p, "dead for %u us: neither through nor ended", dead_us);
		answered = p->q[PAIR_A][0].next_done;
		if (mrc_sched_qp_state(p->q[PAIR_A][0].qp) == MRC_QP_ERR)
			PAIR_EQ(p, answered, p->q[PAIR_A][0].nb_ops);
		else
			PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
		if (dead_us < 40000)
			PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_A][0].qp), MRC_QP_RTS);
		pair_destroy(p);
	}
}

/*
 * The congestion window has a book of its own, fed by what answers report in units of 256 bytes:
 * after a clean message nothing may be left in it.
 */
static void window_is_empty(struct pair *p)
{
	int64_t left;

	pair_faults_clear(p);
	pair_run(p, 5 * PAIR_MS);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 1});
	pair_finish(p, PAIR_S);
	pair_run(p, 5 * PAIR_MS);
	left = pair_query(p, PAIR_A, 0).cc_inflight;
	if (left < -256 || left > 256)
		pair_fail(p, "%lld bytes left in the window's book", (long long)left);
}

static void worst_wire(struct pair *p)
{
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 20000});
	pair_fault_add(p, &(struct pair_fault){
				  .act = PAIR_TRIM, .kinds = PAIR_DATA, .ppm = 20000, .arg = 64});
	pair_fault_add(
		p, &(struct pair_fault){.act = PAIR_DUP, .ppm = 50000, .jitter_ns = 400 * PAIR_US});
	pair_fault_add(p,
		&(struct pair_fault){.act = PAIR_DELAY, .ppm = 50000, .jitter_ns = 400 * PAIR_US});
}

/*
 * C2, C12: bytes in flight went wrong or below zero when messages of many packets met mixtures of
 * ACK, NACK and timeout. pair compares the book with the sum over the sent map after every event.
 */
static void c2_book_equals_sum(void **state)
{
	struct pair_cfg cfg;
	struct mrc_nscc_cfg cc;
	struct pair *p;

	pair_test_cfg(&cfg, "c2_book_equals_sum", 122);
	mrc_nscc_cfg_default(&cc, 80000000000ull, 12000, 1024 + 96, true);
	cfg.cc = &cc;
	cfg.mem_len = 9u << 20;
	cfg.exp_cnt = MRC_EXP_MAX;
	p = pair_create(&cfg);
	for (uint32_t len = 1; len <= 8u << 20; len *= 8) {
		worst_wire(p);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = len});
		pair_finish_faulty(p, 60 * PAIR_S);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
		window_is_empty(p);
	}
	pair_destroy(p);
}

static void answer(struct pair *p, uint8_t opcode, uint32_t psn, uint8_t reason)
{
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, opcode, &pkt);
	pkt.psn = mrc_psn(psn);
	if (opcode == MRC_OP_SACK) {
		/* only this PSN has arrived */
		pkt.psn = pkt.sack.cack = mrc_psn(p->q[PAIR_A][0].attr.sq_psn.v - 1);
		pkt.sack.ack_offset = (int16_t)mrc_psn_diff(mrc_psn(psn), pkt.psn);
		pkt.sack.sack_offset = pkt.sack.ack_offset;
		pkt.sack.bitmap = 1;
		pkt.sack.rcvd_units = 4;
		pkt.sack.ooo_count = 1;
	} else {
		pkt.nack.psn = pkt.psn;
		pkt.nack.reason = reason;
	}
	(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
	(void)pair_query(p, PAIR_A, 0); /* compares book and sum */
}

/*
 * C12: an ACK and then a late NACK for the same packet, a NACK and then the ACK, and both after a
 * timeout: subtracted twice, the bytes in flight underflowed.
 */
static void c12_ack_and_nack_of_one_packet(void **state)
{
	for (int order = 0; order < 4; order++) {
		struct pair_cfg cfg;
		struct mrc_nscc_cfg cc;
		struct pair *p;
		uint32_t psn;

		pair_test_cfg(&cfg, "c12_ack_and_nack_of_one_packet", 123);
		mrc_nscc_cfg_default(&cc, 80000000000ull, 12000, 1024 + 96, true);
		cfg.cc = &cc;
		p = pair_create(&cfg);
		psn = cfg.psn[0] + 3;
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 8192});
		pair_run(p, order < 2 ? 20 * PAIR_US : 300 * PAIR_US);
		for (int k = 0; k < 4; k++)
			if ((k ^ order) & 1)
				answer(p, MRC_OP_SACK, psn, 0);
			else
				answer(p, MRC_OP_NACK, psn, MRC_NACK_TRIMMED);
		pair_run(p, 20 * PAIR_US);
		pair_finish(p, PAIR_S);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
		window_is_empty(p);
		pair_destroy(p);
	}
}

/*
 * C10: the window was cut once per report of loss instead of once per round trip. Ten packets of
 * one burst, ten NACKs: the window loses ten packets at most, not ten times its share.
 */
static void c10_one_burst_is_one_decrease(void **state)
{
	struct pair_cfg cfg;
	struct mrc_nscc_cfg cc;
	struct pair *p;
	uint32_t before, after;

	pair_test_cfg(&cfg, "c10_one_burst_is_one_decrease", 124);
	mrc_nscc_cfg_default(&cc, 80000000000ull, 100000, 1024 + 96, true);
	cfg.cc = &cc;
	cfg.delay_ns = 50 * PAIR_US;
	p = pair_create(&cfg);
	before = pair_query(p, PAIR_A, 0).cwnd;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_TRIM,
				  .kinds = PAIR_DATA,
				  .rtx = PAIR_RTX_FIRST,
				  .arg = 64,
				  .skip = 5,
				  .count = 10});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 40 * 1024});
	pair_finish_faulty(p, PAIR_S);
	after = pair_query(p, PAIR_A, 0).cwnd;
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, rx_nack), 10);
	assert_true(after < before);
	assert_true(before - after <= 10 * (1024 + 96));
	pair_destroy(p);
}

static uint64_t two_paths(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	return from == PAIR_A && plane == 1 ? 50 * PAIR_US : 0;
}

/*
 * C15: reordering was taken for loss, the more so the higher the rate. Two paths of 10 and 60 us,
 * three rates, no loss: fewer than one packet in a thousand is sent again.
 */
static void c15_two_paths_no_loss(void **state)
{
	for (uint64_t pkt_ns = 1000; pkt_ns >= 10; pkt_ns /= 10) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "c15_two_paths_no_loss", 125);
		cfg.nb_planes = 2;
		cfg.delay_ns = 10 * PAIR_US;
		cfg.pkt_ns = pkt_ns;
		cfg.mpr = 32;
		cfg.mem_len = 5u << 20;
		cfg.check_every = 64;
		p = pair_create(&cfg);
		p->path_ns = two_paths;
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 40, .depth = 16, .min_len = 256000, .max_len = 256000});
		pair_finish(p, 10 * PAIR_S);
		if (p->q[PAIR_A][0].wire_again * 1000 >= p->q[PAIR_A][0].wire_first)
			pair_fail(p, "%llu of %llu packets again at %llu ns per packet",
				(unsigned long long)p->q[PAIR_A][0].wire_again,
				(unsigned long long)p->q[PAIR_A][0].wire_first,
				(unsigned long long)pkt_ns);
		pair_destroy(p);
	}
}

/*
 * C21: one early send path had no retransmission and ignored the window. The receiver is mute for
 * 10 ms: never more than a window is outstanding (pair watches the wire), then it heals.
 */
static void c21_mute_receiver(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "c21_mute_receiver", 126);
	cfg.mem_len = 2u << 20;
	cfg.mpr = 2;
	p = pair_create(&cfg);
	pair_fault_add(
		p, &(struct pair_fault){
			   .act = PAIR_DROP, .dir = PAIR_B2A, .to_ns = p->now + 10 * PAIR_MS});
	for (int k = 0; k < 4; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 400000});
	pair_run(p, 9 * PAIR_MS);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_first, 256);
	pair_finish_faulty(p, PAIR_S);
	pair_destroy(p);
}

static void noisy(
	void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	static _Thread_local volatile uint64_t sink;

	sink = sink + (a ^ b ^ c ^ now_ns ^ (uint64_t)kind);
}

/*
 * E6: a debug print drew another random number and changed the experiment. With tracing on or off
 * the run is the same, event for event.
 */
static void e6_tracing_changes_nothing(void **state)
{
	uint64_t hash[2];

	for (int on = 0; on < 2; on++) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "e6_tracing_changes_nothing", 127);
		cfg.trace = on ? noisy : NULL;
		cfg.random_psn = true;
		p = pair_create(&cfg);
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 50000});
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 200, .depth = 16, .max_len = 9000, .imm_pct = 20});
		pair_finish_faulty(p, 10 * PAIR_S);
		hash[on] = p->hash;
		pair_destroy(p);
	}
	assert_true(hash[0] == hash[1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(c1_total_loss_heals_or_ends),
	cmocka_unit_test(c2_book_equals_sum),
	cmocka_unit_test(c10_one_burst_is_one_decrease),
	cmocka_unit_test(c12_ack_and_nack_of_one_packet),
	cmocka_unit_test(c15_two_paths_no_loss),
	cmocka_unit_test(c21_mute_receiver),
	cmocka_unit_test(e6_tracing_changes_nothing),
};

PAIR_TEST_MAIN(tests)
