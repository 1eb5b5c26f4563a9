/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_window.c - the receive window and its edges, serial numbers and their wraps.
 */
#include "pair_test.h"

static const uint32_t edges[] = {0x000000, 0xFFFFF0, 0xFFFFFE, 0xFFFFFF, 0x7FFFFF, 0x7FFFF0};

/* Hands a SACK to A's QP 0 by hand: everything up to cack has arrived, nothing beyond. */
static struct mrc_rx_verdict sack_mpr(struct pair *p, uint32_t cack, uint8_t mpr)
{
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = mrc_psn(cack);
	pkt.sack.cack = mrc_psn(cack);
	pkt.sack.mpr = mpr;
	pkt.sack.entropy = pkt.ev;
	pkt.sack.sack_offset = 1;
	pkt.sack.rcvd_units = 4 * (uint32_t)mrc_psn_diff(mrc_psn(cack),
					  mrc_psn(p->q[PAIR_A][0].attr.sq_psn.v - 1));
	return pair_rx_pkt(p, PAIR_A, 0, &pkt);
}

static struct mrc_rx_verdict sack(struct pair *p, uint32_t cack)
{
	return sack_mpr(p, cack, 0);
}

/*
 * Without any answer exactly one window leaves; each acknowledged packet lets exactly one more
 * leave, across the wrap of the number space.
 */
/* spec */
static void window_is_exact(void **state)
{
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++)
		for (uint8_t mpr = 1; mpr <= 32; mpr = (uint8_t)(mpr * 2)) {
			struct pair_cfg cfg;
			struct pair *p;
			const struct pair_qp *q;
			uint32_t window = 128u * mpr;

			pair_test_cfg(&cfg, "window_is_exact", 41);
			cfg.psn[PAIR_A] = edges[e];
			cfg.mpr = mpr;
			cfg.pmtu = 256;
			cfg.mem_len = 1u << 21;
			cfg.timeout = 20; /* a second: no timer in this test */
			p = pair_create(&cfg);
			q = &p->q[PAIR_A][0];
			pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = (window + 50) * 256});
			pair_run(p, PAIR_MS);
			PAIR_EQ(p, q->wire_first, window);
			sack(p, mrc_psn_add(mrc_psn(edges[e]), 9).v);
			pair_run(p, PAIR_MS);
			PAIR_EQ(p, q->wire_first, window + 10);
			PAIR_EQ(p, pair_query(p, PAIR_A, 0).outstanding, window);
			sack(p, mrc_psn_add(mrc_psn(edges[e]), 9).v); /* the same again: nothing */
			pair_run(p, PAIR_MS);
			PAIR_EQ(p, q->wire_first, window + 10);
			pair_finish(p, 10 * PAIR_S);
			PAIR_EQ(p, q->wire_first, window + 50);
			pair_destroy(p);
		}
}

/* Three windows and more under loss, duplicates and reordering over each edge of the numbers. */
/* spec */
static void wraps(void **state)
{
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "wraps", 42 + e);
		cfg.psn[PAIR_A] = edges[e];
		cfg.psn[PAIR_B] = mrc_psn_add(mrc_psn(edges[e]), -700).v;
		cfg.exp_cnt = MRC_EXP_MAX;
		p = pair_create(&cfg);
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 10000});
		pair_fault_add(
			p, &(struct pair_fault){
				   .act = PAIR_DUP, .ppm = 50000, .jitter_ns = 50 * PAIR_US});
		pair_fault_add(
			p, &(struct pair_fault){
				   .act = PAIR_DELAY, .ppm = 300000, .jitter_ns = 20 * PAIR_US});
		for (int side = 0; side < 2; side++)
			pair_load(p, side, 0,
				&(struct pair_load){.count = 800,
					.depth = 32,
					.min_len = 0,
					.max_len = 12000,
					.imm_pct = 30});
		pair_finish_faulty(p, 10 * PAIR_S);
		assert_true(p->q[PAIR_A][0].wire_first > 3 * 1024);
		pair_destroy(p);
	}
}

/* MSN and RQMSN are 16 bits: 70000 immediates pass the wrap. */
/* spec */
static void message_numbers_wrap(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "message_numbers_wrap", 43);
	cfg.check_every = 1024;
	cfg.exp_cnt = MRC_EXP_MAX;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 1000});
	pair_fault_add(p,
		&(struct pair_fault){.act = PAIR_DELAY, .ppm = 100000, .jitter_ns = 10 * PAIR_US});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 70000, .depth = 32, .min_len = 0, .max_len = 64, .imm_pct = 100});
	pair_finish_faulty(p, 60 * PAIR_S);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 70000);
	pair_destroy(p);
}

/* A PSN at each edge of the receive window, by hand. */
/* spec */
static void receive_window_edges(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_pkt pkt;
	struct mrc_rx_verdict v;
	uint64_t nacks, acks, sacks, hash;

	pair_test_cfg(&cfg, "receive_window_edges", 44);
	p = pair_create(&cfg);
	for (int k = 0; k < 3; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_finish(p, 10 * PAIR_MS);
	pair_check_memory(p);
	p->q[PAIR_B][0].dst.tainted = true; /* written by hand from here on */

	/* one too far: refused with a NACK, changes nothing */
	hash = pair_query(p, PAIR_B, 0).state_hash;
	nacks = p->wire_kind[PAIR_B][2];
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, cfg.psn[0] + 3 + 1024, 0, 64, &pkt);
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	assert_int_equal(v.kind, MRC_RX_DROP);
	assert_int_equal(v.arg, MRC_DROP_PSN_AHEAD);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->wire_kind[PAIR_B][2], nacks + 1);
	assert_true(hash == pair_query(p, PAIR_B, 0).state_hash);

	/* half the number space away: silence */
	pkt.psn = mrc_psn(cfg.psn[0] + 3 + 0x800000);
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	assert_int_equal(v.kind, MRC_RX_DROP);
	assert_int_equal(v.arg, MRC_DROP_PSN_STALE);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->wire_kind[PAIR_B][2], nacks + 1);
	assert_true(hash == pair_query(p, PAIR_B, 0).state_hash);

	/* behind the left edge: a duplicate, not written, answered by SACK and transport ACK */
	acks = p->wire_kind[PAIR_B][3];
	sacks = p->wire_kind[PAIR_B][1];
	pkt.psn = mrc_psn(cfg.psn[0] + 2);
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	assert_int_equal(v.kind, MRC_RX_DROP);
	assert_int_equal(v.arg, MRC_DROP_PSN_DUPLICATE);
	pair_run(p, PAIR_MS);
	assert_true(p->wire_kind[PAIR_B][3] > acks);
	assert_true(p->wire_kind[PAIR_B][1] > sacks);
	p->q[PAIR_B][0].dst.tainted = false;
	pair_check_memory(p);
	p->q[PAIR_B][0].dst.tainted = true;
	pair_destroy(p);
}

/* The last PSN of the window is kept; A then sends the rest in peace (it finds one PSN taken). */
/* spec */
static void last_psn_of_window(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_pkt pkt;
	struct mrc_rx_verdict v;

	pair_test_cfg(&cfg, "last_psn_of_window", 45);
	p = pair_create(&cfg);
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_MIDDLE, cfg.psn[0] + 1023, 0, 1024, &pkt);
	pkt.write.dma_len = 1 << 19;
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	assert_int_equal(v.kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, pair_query(p, PAIR_B, 0).max_rcv_psn.v, cfg.psn[0] + 1023);
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	assert_int_equal(v.kind, MRC_RX_DROP);
	assert_int_equal(v.arg, MRC_DROP_PSN_DUPLICATE);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(p->q[PAIR_B][0].dst.data[i], 0x5a);
	p->q[PAIR_B][0].dst.tainted = true;
	pair_destroy(p);
}

static void small_budget(struct mrc_sched_cfg *cfg, int side)
{
	cfg->window_psns = 128 * 24;
}

/* Dynamic windows out of a budget that cannot give everybody everything: nothing is lost. */
/* spec */
static void dynamic_windows(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "dynamic_windows", 46);
	cfg.dynamic_mpr = true;
	cfg.nb_qps = 16;
	cfg.mpr = 8;
	cfg.exp_cnt = MRC_EXP_MAX;
	cfg.tweak = small_budget;
	cfg.check_every = 32;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 2000});
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = 60,
				.depth = 8,
				.min_len = 0,
				.max_len = 60000,
				.imm_pct = 20});
	pair_finish_faulty(p, 20 * PAIR_S);
	pair_destroy(p);
}

static void nack(struct pair *p, uint32_t psn)
{
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = mrc_psn(psn);
	pkt.nack.reason = MRC_NACK_TRIMMED;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
}

/* After a shrink even a retransmission waits until it lies inside the smaller window. */
/* spec */
static void shrunk_window_holds_retransmissions(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	const struct pair_qp *q;
	uint32_t first;

	pair_test_cfg(&cfg, "shrunk_window_holds_retransmissions", 48);
	cfg.dynamic_mpr = true;
	cfg.psn[PAIR_A] = first = 0xFFFF00;
	cfg.pmtu = 256;
	cfg.timeout = 20;
	p = pair_create(&cfg);
	q = &p->q[PAIR_A][0];
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 1000 * 256});
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, q->wire_first, 1000);
	sack_mpr(p, mrc_psn_add(mrc_psn(first), 9).v, 1); /* from 8 units to 1 */
	nack(p, mrc_psn_add(mrc_psn(first), 500).v);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, q->wire_again, 0);
	nack(p, mrc_psn_add(mrc_psn(first), 50).v);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, q->wire_again, 1);
	sack_mpr(p, mrc_psn_add(mrc_psn(first), 400).v, 1);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, q->wire_again, 2);
	pair_finish(p, 10 * PAIR_S);
	pair_destroy(p);
}

/* Credits of a window of one unit survive 10^5 lossy messages. */
static void no_credit_leaks(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "no_credit_leaks", 47);
	cfg.mpr = 1;
	cfg.exp_cnt = MRC_EXP_MAX;
	cfg.check_every = 256;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 50000});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 100000, .depth = 128, .min_len = 1, .max_len = 32});
	pair_finish_faulty(p, 600 * PAIR_S);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).outstanding, 0);
	pair_destroy(p);
}

static enum mrc_sched_wait waits_for(struct pair *p)
{
	return pair_query(p, PAIR_A, 0).waits_for;
}

/* What a QP says that its next packet waits for: each reason, and that it ends. */
static void why_it_waits(void **state)
{
	static struct mrc_nscc_cfg window;
	struct pair_cfg cfg;
	struct pair *p;

	for (int congestion = 0; congestion < 2; congestion++) {
		pair_test_cfg(&cfg, "why_it_waits", 47);
		mrc_nscc_cfg_default(&window, 20000000000, 12000, 1024 + 100, true);
		cfg.cc = congestion ? &window : NULL;
		cfg.mpr = 1;
		cfg.timeout = 10; /* a millisecond */
		p = pair_create(&cfg);
		PAIR_EQ(p, waits_for(p), MRC_WAIT_NOTHING);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).oldest_ns, 0);
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3 * 1024});
		PAIR_EQ(p, waits_for(p), MRC_WAIT_TURN);
		pair_run(p, 20 * PAIR_US);
		PAIR_EQ(p, waits_for(p), MRC_WAIT_ANSWER);
		assert_true(pair_query(p, PAIR_A, 0).oldest_ns >= cfg.start_ns);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 200 * 1024});
		pair_run(p, 200 * PAIR_US);
		PAIR_EQ(p, waits_for(p), congestion ? MRC_WAIT_CWND : MRC_WAIT_WINDOW);
		pair_faults_clear(p);
		pair_finish(p, PAIR_S);
		PAIR_EQ(p, waits_for(p), MRC_WAIT_NOTHING);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).oldest_ns, 0);
		pair_destroy(p);
	}
	pair_test_cfg(&cfg, "why_it_waits", 48);
	p = pair_create(&cfg);
	for (uint32_t plane = 0; plane < cfg.nb_planes; plane++)
		pair_plane(p, PAIR_A, plane, false);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 1024});
	pair_run(p, PAIR_US);
	PAIR_EQ(p, waits_for(p), MRC_WAIT_PATH);
	pair_plane(p, PAIR_A, 1, true);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, waits_for(p), MRC_WAIT_NOTHING);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(why_it_waits),
	cmocka_unit_test(window_is_exact),
	cmocka_unit_test(wraps),
	cmocka_unit_test(message_numbers_wrap),
	cmocka_unit_test(receive_window_edges),
	cmocka_unit_test(last_psn_of_window),
	cmocka_unit_test(dynamic_windows),
	cmocka_unit_test(shrunk_window_holds_retransmissions),
	cmocka_unit_test(no_credit_leaks),
};

PAIR_TEST_MAIN(tests)
