/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bugs_verbs.c - what users of comparable software met in verbs, keys and completions, one
 * function per story. README.md of this folder lists all rows.
 */
#include "pair_test.h"

static struct pair *plain(const char *name)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 111);
	return pair_create(&cfg);
}

/*
 * B1: immediate data came out in the wrong byte order. 01 02 03 04 stays 01 02 03 04 on the wire
 * and at the receiver; so does one with its high bit set.
 */
/* spec */
static void b1_immediate_byte_order(void **state)
{
	const uint8_t imms[2][4] = {{1, 2, 3, 4}, {0xff, 0x80, 0x00, 0x01}};
	struct pair *p = plain("b1_immediate_byte_order");
	struct pair_tape tape;

	pair_tape_start(p, &tape);
	for (int k = 0; k < 2; k++) {
		struct pair_wr wr = {.len = 7, .imm = true, .has_imm_data = true};

		memcpy(wr.imm_data, imms[k], 4);
		pair_tape_clear(&tape);
		pair_post(p, PAIR_A, 0, &wr);
		pair_finish(p, PAIR_S);
		assert_int_equal(tape.pkts[PAIR_A][0].opcode, MRC_OP_WRITE_ONLY_IMM);
		assert_memory_equal(tape.pkts[PAIR_A][0].write.imm, imms[k], 4);
	}
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 2); /* the checker compared the bytes */
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

static int post_raw(struct pair *p, struct mrc_sched_sge *sges, uint32_t nb, uint64_t id)
{
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_send_wr wr = {.wr_id = id,
		.sges = sges,
		.nb_sge = nb,
		.flags = MRC_SEND_SIGNALED,
		.raddr = q->peer->dst.mr.iova,
		.rkey = q->peer->dst.mr.key};
	int err = mrc_sched_post_write(q->host->sched, q->qp, &wr);

	pair_kick(q->host);
	return err;
}

/*
 * B3: a zero-byte write crashed. No list, a list that must not be looked at, an empty piece with a
 * bad key: each is an empty message. Pieces of 0, 5 and 0 bytes deliver 5.
 */
/* spec */
static void b3_zero_bytes_four_ways(void **state)
{
	struct pair *p = plain("b3_zero_bytes_four_ways");
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge bad = {0xdead0000, 0, 0xdeadbeef};
	struct mrc_sched_sge three[3] = {{0, 0, 1}, {q->src.mr.iova, 5, q->src.mr.key}, {9, 0, 9}};
	struct mrc_sched_wc wc[8];
	uint32_t n = 0;

	p->hold_cq = true;
	q->relaxed = q->peer->relaxed = true; /* posted behind the checker's back */
	p->tap = NULL;
	PAIR_EQ(p, post_raw(p, NULL, 0, 1), MRC_OK);
	PAIR_EQ(p, post_raw(p, (struct mrc_sched_sge *)(uintptr_t)16, 0, 2), MRC_OK);
	PAIR_EQ(p, post_raw(p, &bad, 1, 3), MRC_OK);
	PAIR_EQ(p, post_raw(p, three, 3, 4), MRC_OK);
	pair_run(p, 10 * PAIR_MS);
	n = mrc_sched_cq_poll(q->host->sched, q->send_cq, wc, 8);
	PAIR_EQ(p, n, 4);
	for (uint32_t k = 0; k < 4; k++) {
		PAIR_EQ(p, wc[k].wr_id, k + 1);
		PAIR_EQ(p, wc[k].status, MRC_WC_SUCCESS);
	}
	PAIR_EQ(p, q->wire_first, 4);
	assert_memory_equal(q->peer->dst.data, q->src.data, 5);
	q->peer->dst.tainted = true;
	pair_destroy(p);
}

/*
 * B6: the length of a gather was taken from its first piece only. 1 + 4096 + 17 bytes arrive, in
 * order (the checker compares piece by piece).
 */
static void b6_length_of_a_gather(void **state)
{
	struct pair *p = plain("b6_length_of_a_gather");
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge sges[3] = {{q->src.mr.iova + 9000, 1, q->src.mr.key},
		{q->src.mr.iova + 77, 4096, q->src.mr.key}, {q->src.mr.iova, 17, q->src.mr.key}};

	q->relaxed = q->peer->relaxed = true;
	p->hold_cq = true;
	PAIR_EQ(p, post_raw(p, sges, 3, 1), MRC_OK);
	pair_run(p, 10 * PAIR_MS);
	assert_memory_equal(q->peer->dst.data, q->src.data + 9000, 1);
	assert_memory_equal(q->peer->dst.data + 1, q->src.data + 77, 4096);
	assert_memory_equal(q->peer->dst.data + 4097, q->src.data, 17);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_bytes), 4114);
	q->peer->dst.tainted = true;
	pair_destroy(p);
}

/*
 * B12: an error path decremented a counter that was never incremented, and the queue stalled for
 * ever. Each reason to refuse a post, a hundred times; then a good one.
 */
static void b12_refused_posts_leave_no_trace(void **state)
{
	struct pair *p = plain("b12_refused_posts_leave_no_trace");
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge key = {q->src.mr.iova, 8, q->src.mr.key ^ 0x100000};
	struct mrc_sched_sge end = {q->src.mr.iova + q->src.len, 8, q->src.mr.key};
	struct mrc_sched_sge good = {q->src.mr.iova, 8, q->src.mr.key};
	struct mrc_sched_sge five[5] = {good, good, good, good, good};

	for (int k = 0; k < 100; k++) {
		PAIR_EQ(p, post_raw(p, &key, 1, 0), MRC_ERR_LKEY);
		PAIR_EQ(p, post_raw(p, &end, 1, 0), MRC_ERR_LKEY);
		PAIR_EQ(p, post_raw(p, five, 5, 0), MRC_ERR_INVAL);
	}
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).sq_used, 0);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->wire_packets[PAIR_A], 0);
	pair_load(p, PAIR_A, 0, &(struct pair_load){.count = 300, .depth = 32, .max_len = 2000});
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/*
 * B14 a: more immediates than the peer accepts in flight: the surplus waits, it is never sent
 * early.
 */
/* spec */
static void b14_immediates_wait_for_their_limit(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_tape tape;

	pair_test_cfg(&cfg, "b14_immediates_wait_for_their_limit", 112);
	cfg.max_wimm = 4;
	cfg.timeout = 16;
	p = pair_create(&cfg);
	pair_tape_start(p, &tape);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	for (int k = 0; k < 10; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100, .imm = true});
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, pair_tape_count(&tape, PAIR_A, MRC_OP_WRITE_ONLY_IMM), 4);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 10);
	PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_WIMM_LIMIT), 0);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* B14 b: N-1 receives posted, N immediates: the documented error, once, at both ends. */
/* spec */
static void b14_no_receive_is_an_error(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "b14_no_receive_is_an_error", 113);
	cfg.auto_recv = false;
	cfg.allow_error = true;
	p = pair_create(&cfg);
	for (int k = 0; k < 3; k++)
		pair_post_recv(p, PAIR_B, 0);
	for (int k = 0; k < 4; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100, .imm = true});
	pair_run_idle(p, PAIR_S);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 3);
	PAIR_EQ(p, p->q[PAIR_B][0].recv_done, 3);
	PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_RQ_EMPTY), 1);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_QP_FATAL], 1);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 1);
	PAIR_EQ(p, p->q[PAIR_A][0].ops[3].status, MRC_WC_REM_OP_ERR);
	PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_A][0].qp), MRC_QP_ERR);
	pair_destroy(p);
}

/* B15: the "signal everything" option was ignored: unsignaled requests on such a QP complete. */
static void b15_signal_everything(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "b15_signal_everything", 114);
	cfg.sig_all = true;
	p = pair_create(&cfg);
	for (int k = 0; k < 20; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100, .unsignaled = true});
	pair_finish(p, PAIR_S); /* the checker demands 20 completions: all count as signaled */
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 20);
	pair_destroy(p);
}

/*
 * B16: a tool's own data check excused a single corrupted byte. Ours must report a byte turned
 * behind the engine's back: the first, a middle and the last one.
 */
static void b16_the_checker_sees_one_byte(void **state)
{
	for (int where = 0; where < 3; where++) {
		struct pair *p = plain("b16_the_checker_sees_one_byte");
		struct pair_qp *q = &p->q[PAIR_A][0];
		uint32_t id, at;

		id = pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 9000, .imm = true});
		at = where == 0 ? 0 : where == 1 ? 4500 : 8999;
		while (PAIR_COUNTER(p, PAIR_B, rx_data_packets) < 9)
			pair_step(p);
		p->tolerate = true;
		if (q->next_done == id) {
			int64_t diff;

			q->peer->dst.data[q->ops[id].dst_off + at] ^= 1;
			diff = pair_op_diff(q, &q->ops[id]);
			PAIR_EQ(p, diff, at);
			q->ops[id].seen = false;
		}
		pair_run(p, PAIR_MS);
		assert_true(p->failed > 0);
		p->tolerate = false;
		q->peer->dst.tainted = true;
		pair_destroy(p);
	}
	/* and a byte outside every message, and one in the guard zone */
	for (int where = 0; where < 2; where++) {
		struct pair *p = plain("b16_the_checker_sees_one_byte");
		struct pair_qp *q = &p->q[PAIR_B][0];
		uint8_t *byte = where ? &q->dst.block[PAIR_GUARD - 1] : &q->dst.data[777];

		*byte ^= 0x80;
		p->tolerate = true;
		pair_check_memory(p);
		PAIR_EQ(p, p->failed, 1);
		p->tolerate = false;
		*byte ^= 0x80;
		pair_destroy(p);
	}
}

/*
 * B21: a program hung at the end because the last request was unsignaled and nothing asked for its
 * acknowledgement. Everything unsignaled: the queue empties all the same.
 */
static void b21_last_one_unsignaled(void **state)
{
	for (uint32_t n = 1; n <= 40; n++) {
		struct pair *p = plain("b21_last_one_unsignaled");

		for (uint32_t k = 0; k < n; k++)
			pair_post(p, PAIR_A, 0,
				&(struct pair_wr){
					.len = 100, .unsignaled = k % 8 != 0 || k + 1 == n});
		pair_finish(p, 10 * PAIR_MS);
		PAIR_EQ(p, p->q[PAIR_A][0].nb_success, n);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		pair_destroy(p);
	}
}

/*
 * B22, B27: a QP made again on the same number accepted stale packets of the life before. A
 * thousand lives, with packets of the last life still in flight each time: none is accepted.
 */
static void b22_a_thousand_lives(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t placed = 0;

	pair_test_cfg(&cfg, "b22_a_thousand_lives", 115);
	cfg.mem_len = 65536;
	cfg.sq_depth = cfg.rq_depth = 16;
	cfg.cq_depth = 64;
	p = pair_create(&cfg);
	for (int life = 0; life < 1000; life++) {
		uint32_t old = mrc_sched_qp_num(p->q[PAIR_B][0].qp);

		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 500, .imm = true});
		pair_finish(p, PAIR_S);
		placed++;
		for (int k = 0; k < 4; k++)
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 500, .imm = k & 1});
		pair_run(p, 3 * PAIR_US); /* on the wire, not there yet */
		pair_recreate(p, PAIR_A, 0);
		pair_recreate(p, PAIR_B, 0);
		assert_int_not_equal(old, mrc_sched_qp_num(p->q[PAIR_B][0].qp));
		pair_connect(p, 0, test_random_below(&p->te, 1u << 24),
			test_random_below(&p->te, 1u << 24));
		pair_run(p, 20 * PAIR_US);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_packets), placed);
	}
	PAIR_EQ(p,
		pair_drops(p, PAIR_B, MRC_DROP_QPN_GENERATION) +
			pair_drops(p, PAIR_B, MRC_DROP_QPN_UNKNOWN),
		4000);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(b1_immediate_byte_order),
	cmocka_unit_test(b3_zero_bytes_four_ways),
	cmocka_unit_test(b6_length_of_a_gather),
	cmocka_unit_test(b12_refused_posts_leave_no_trace),
	cmocka_unit_test(b14_immediates_wait_for_their_limit),
	cmocka_unit_test(b14_no_receive_is_an_error),
	cmocka_unit_test(b15_signal_everything),
	cmocka_unit_test(b16_the_checker_sees_one_byte),
	cmocka_unit_test(b21_last_one_unsignaled),
	cmocka_unit_test(b22_a_thousand_lives),
};

PAIR_TEST_MAIN(tests)
