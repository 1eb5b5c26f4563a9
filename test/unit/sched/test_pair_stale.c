/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_stale.c - what is old, repeated or turned aside: packets of long ago, answers that
 * belong to an earlier life of their QP, keys of earlier regions, refusals that come too late, and
 * endpoint requests that would have the answer sent to somebody else; and words of a peer that go
 * beyond what was agreed.
 */
#include "pair_test.h"

static struct pair *open_pair(const char *name, void (*set)(struct pair_cfg *cfg))
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, 171);
	cfg.v6 = true;
	if (set != NULL)
		set(&cfg);
	p = pair_create(&cfg);
	for (int side = 0; side < 2; side++)
		p->q[side][0].relaxed = true;
	return p;
}

/*
 * A packet of 65536 PSNs ago is a duplicate, and its SACK names it by a 16-bit distance: it must
 * not read as the acknowledgement of a packet that is still missing.
 */
/* spec */
static void old_duplicate_acknowledges_nothing(void **state)
{
	for (uint32_t ago = 32769; ago <= 4 * 65536; ago += 32767) {
		struct pair *p = open_pair("old_duplicate_acknowledges_nothing", NULL);
		struct pair_tape tape;
		struct mrc_pkt pkt;
		mrc_psn_t cack;

		pair_load(p, PAIR_A, 0,
			&(struct pair_load){.count = 50, .depth = 4, .max_len = 9000});
		pair_finish(p, PAIR_S);
		cack = pair_query(p, PAIR_B, 0).cack_psn;
		pair_tape_start(p, &tape);
		pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, mrc_psn_add(cack, -(int32_t)ago).v,
			0, 64, &pkt);
		PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).arg, MRC_DROP_PSN_DUPLICATE);
		pair_run(p, 100 * PAIR_US);
		for (uint32_t i = 0; i < tape.nb[PAIR_B]; i++)
			if (tape.pkts[PAIR_B][i].opcode == MRC_OP_SACK)
				assert_true(tape.pkts[PAIR_B][i].sack.ack_offset < -32640);
		assert_int_equal(pair_tape_count(&tape, PAIR_B, MRC_OP_SACK), 1);
		pair_tape_free(p, &tape);
		pair_destroy(p);
	}
}

/* Marked packets are noted for a SACK each; RESET before it leaves, and a new life begins. */
/* spec */
static void notes_end_with_their_life(void **state)
{
	struct pair *p = open_pair("notes_end_with_their_life", NULL);
	struct pair_tape tape;
	struct mrc_pkt pkt;

	p->q[PAIR_B][0].dst.tainted = true;
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, p->q[PAIR_A][0].wire_next, 0, 64, &pkt);
	pkt.ecn = MRC_ECN_CE;
	pkt.flags |= MRC_PKT_CE;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_tape_start(p, &tape);
	pair_reconnect(p, 0, 0x123456, 0x654321);
	pair_run(p, 100 * PAIR_US);
	assert_int_equal(pair_tape_count(&tape, PAIR_B, MRC_OP_SACK), 0);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_finish(p, 10 * PAIR_MS);
	assert_true(pair_tape_count(&tape, PAIR_B, MRC_OP_SACK) > 0);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

static uint64_t same_number(void *ctx)
{
	return 0x5a5a5a5a5a5a5a5a;
}

/* The key of a region that went is not the key of the next one, whatever the generator says. */
/* spec */
static void key_is_never_the_last_one(void **state)
{
	struct test_env te;
	struct mrc_sched_cfg cfg;
	struct mrc_proto proto;
	struct mrc_sched *s;
	uint8_t mem[64];
	uint32_t last = 0;
	struct mrc_sched_mr mr = {
		.access = MRC_ACCESS_LOCAL_WRITE, .addr = mem, .iova = 0x1000, .len = sizeof(mem)};

	test_env_init(&te, 5);
	te.env.random64 = same_number;
	mrc_proto_default(&proto);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &proto;
	cfg.max_mrs = 1;
	assert_int_equal(mrc_sched_create(&cfg, &te.env, &s), MRC_OK);
	assert_int_equal(mrc_sched_pd_create(s, &mr.pd), MRC_OK);
	for (int k = 0; k < 100; k++) {
		assert_int_equal(mrc_sched_mr_reg(s, &mr), MRC_OK);
		assert_int_not_equal(mr.key, 0);
		assert_int_not_equal(mr.key, last);
		last = mr.key;
		assert_int_equal(mrc_sched_mr_dereg(s, mr.key), MRC_OK);
	}
	mrc_sched_destroy(s);
	test_env_done(&te);
}

static void lossy_tail(struct pair_cfg *cfg)
{
	cfg->timeout = 14;
	cfg->mpr = 1;
}

/* A refusal of what has been acknowledged contradicts the peer's own word: it kills nothing. */
/* spec */
static void late_refusal_is_stale(void **state)
{
	struct pair *p = open_pair("late_refusal_is_stale", lossy_tail);
	struct mrc_pkt pkt;
	uint32_t first = p->q[PAIR_A][0].wire_next;

	/* A message of 256 packets under a window of 128: acknowledged in its middle. */
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 256 * 1024});
	while (pair_query(p, PAIR_A, 0).una_psn.v == first)
		assert_true(pair_step(p));
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_ACK, &pkt);
	pkt.psn = mrc_psn(first + 10);
	pkt.ack.syndrome = MRC_AETH_ACK;
	pair_run(p, 20 * PAIR_US);
	assert_true(mrc_psn_diff(pair_query(p, PAIR_A, 0).una_psn, pkt.psn) > 0);
	(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
	pkt.psn = mrc_psn(first + 5);
	pkt.ack.syndrome = MRC_AETH_NAK_REMOTE_ACCESS;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).arg, MRC_DROP_ACK_STALE);
	PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_A][0].qp), MRC_QP_RTS);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
	pair_destroy(p);
}

/*
 * The answer to an endpoint request goes back the way it came: to the peer, from our port. An
 * outer address that is not the peer's, or a link address that is not ours, is not made use of.
 */
/* spec */
static void endpoint_answer_is_not_turned_aside(void **state)
{
	struct pair *p = open_pair("endpoint_answer_is_not_turned_aside", NULL);
	struct pair_tape tape;
	struct mrc_pkt pkt;

	pair_tape_start(p, &tape);
	pair_pkt_init(p, PAIR_B, 0, MRC_OP_EP_REQ, &pkt);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.psn = mrc_psn(0x42);
	pkt.ep.op = MRC_EP_EV_PROBE;
	pkt.ep.ftype = 1;
	pkt.flags |= MRC_PKT_TS;
	memset(pkt.dmac, 0xFF, sizeof(pkt.dmac));
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(p, 500);
	assert_int_equal(pair_tape_count(&tape, PAIR_B, MRC_OP_EP_RSP), 1);
	assert_int_equal(tape.pkts[PAIR_B][tape.nb[PAIR_B] - 1].smac[0] & 1, 0);

	pkt.flags |= MRC_PKT_SRV6;
	pkt.outer_src = pkt.src;
	pkt.outer_dst = pkt.dst;
	pkt.outer_src.raw[15] ^= 0x40;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).arg, MRC_DROP_EP_PEER);
	pkt.outer_src = pkt.src;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(p, 500);
	assert_int_equal(pair_tape_count(&tape, PAIR_B, MRC_OP_EP_RSP), 2);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* An engine of its own with one PD, one CQ of two entries and one QP in RESET. */
struct bench {
	struct test_env te;
	struct mrc_proto proto;
	struct mrc_sched *s;
	struct mrc_sched_cq *cq;
	struct mrc_sched_qp *qp;
	uint32_t pd;
};

static void open_bench(struct bench *b, uint32_t nb_workers)
{
	struct mrc_sched_cfg cfg;
	struct mrc_sched_qp_cfg qp_cfg = {.sq_depth = 4, .rq_depth = 8, .max_sge = 1};

	test_env_init(&b->te, 6);
	mrc_proto_default(&b->proto);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &b->proto;
	cfg.nb_workers = nb_workers;
	assert_int_equal(mrc_sched_create(&cfg, &b->te.env, &b->s), MRC_OK);
	assert_int_equal(mrc_sched_pd_create(b->s, &b->pd), MRC_OK);
	assert_int_equal(mrc_sched_cq_create(b->s, 2, &b->cq), MRC_OK);
	qp_cfg.pd = b->pd;
	qp_cfg.send_cq = qp_cfg.recv_cq = b->cq;
	assert_int_equal(mrc_sched_qp_create(b->s, &qp_cfg, &b->qp), MRC_OK);
}

static void close_bench(struct bench *b)
{
	mrc_sched_destroy(b->s);
	test_env_done(&b->te);
}

/* A queue that runs over says so once, keeps what it holds, and RESET takes back a QP's entries. */
/* spec */
static void overrun_once_and_purged_by_reset(void **state)
{
	struct bench b;
	struct mrc_sched_event event;
	struct mrc_sched_wc wc[4];
	uint32_t overruns = 0;

	open_bench(&b, 1);
	assert_int_equal(mrc_sched_qp_modify(b.s, 1, b.qp, MRC_QP_ERR, NULL), MRC_OK);
	for (uint64_t k = 0; k < 6; k++)
		assert_int_equal(
			mrc_sched_post_recv(b.s, b.qp, &(struct mrc_sched_recv_wr){.wr_id = k}),
			MRC_OK);
	while (mrc_sched_event_poll(b.s, &event))
		overruns += event.type == MRC_EVENT_CQ_OVERRUN && event.cq == b.cq;
	assert_int_equal(overruns, 1);
	assert_int_equal(mrc_sched_cq_poll(b.s, b.cq, wc, 1), 1);
	assert_int_equal(wc[0].wr_id, 0);
	assert_int_equal(wc[0].status, MRC_WC_WR_FLUSH_ERR);
	assert_int_equal(mrc_sched_qp_modify(b.s, 2, b.qp, MRC_QP_RESET, NULL), MRC_OK);
	assert_int_equal(mrc_sched_cq_poll(b.s, b.cq, wc, 4), 0);
	close_bench(&b);
}

/* RESET takes back what the QP had to say: completions of its send queue, and its events. */
static void reset_leaves_nothing_to_read(void **state)
{
	struct pair *p = open_pair("reset_leaves_nothing_to_read", NULL);
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge sge = {q->src.mr.iova, 100, q->src.mr.key};
	struct mrc_sched_send_wr wr = {.sges = &sge,
		.nb_sge = 1,
		.raddr = q->peer->dst.mr.iova,
		.rkey = q->peer->dst.mr.key};
	struct mrc_sched *s = q->host->sched;
	struct mrc_sched_event event;
	struct mrc_txbuf buf;
	uint8_t hdr[MRC_HDR_ROOM];
	struct mrc_sched_wc wc[4];
	struct mrc_pkt pkt;

	p->hold_cq = true;
	for (int k = 0; k < 2; k++)
		PAIR_EQ(p, mrc_sched_post_write(s, q->qp, &wr), MRC_OK);
	buf.hdr = hdr;
	assert_int_equal(mrc_sched_tx(s, p->now, &buf, 1), 1);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = mrc_psn(q->wire_next);
	pkt.nack.reason = MRC_NACK_UNEXP_EVENT;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, mrc_sched_qp_state(q->qp), MRC_QP_ERR);
	PAIR_EQ(p, mrc_sched_qp_modify(s, p->now, q->qp, MRC_QP_RESET, NULL), MRC_OK);
	assert_int_equal(mrc_sched_cq_poll(s, q->send_cq, wc, 4), 0);
	assert_false(mrc_sched_event_poll(s, &event));
	pair_destroy(p);
}

/* Slots from which a worker draws keys itself take nobody else's region. */
static void own_slots_take_no_foreign_region(void **state)
{
	struct bench b;
	uint8_t mem[64];
	struct mrc_sched_mr mr = {
		.access = MRC_ACCESS_LOCAL_WRITE, .addr = mem, .iova = 0, .len = sizeof(mem)};

	open_bench(&b, 2);
	mr.pd = b.pd;
	mr.key = 0x100000; /* slot 0: worker 0's own */
	assert_int_equal(mrc_sched_mr_install(b.s, &mr), MRC_ERR_INVAL);
	mr.key = 0x100001;
	assert_int_equal(mrc_sched_mr_install(b.s, &mr), MRC_OK);
	assert_int_equal(mrc_sched_mr_install(b.s, &mr), MRC_ERR_INVAL);
	assert_int_equal(mrc_sched_mr_dereg(b.s, mr.key), MRC_OK);
	close_bench(&b);
}

static void dynamic(struct pair_cfg *cfg)
{
	cfg->dynamic_mpr = true;
}

/* A grant beyond what was agreed is cut to that: the map of what was sent has no room for more. */
/* spec */
static void grant_is_never_above_the_agreed(void **state)
{
	struct pair *p = open_pair("grant_is_never_above_the_agreed", dynamic);
	uint32_t agreed = pair_query(p, PAIR_A, 0).tx_window_psns;
	struct mrc_pkt pkt;

	assert_int_equal(agreed, p->cfg.mpr * 128);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.sack.cack = pkt.psn = mrc_psn_add(mrc_psn(p->q[PAIR_A][0].wire_next), -1);
	pkt.sack.mpr = 1;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).tx_window_psns, 128);
	pkt.sack.mpr = 255;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).tx_window_psns, agreed);
	pair_destroy(p);
}

/* A peer (or who imitates it) that calls all its ports unusable is not believed. */
/* spec */
static void no_port_at_all_is_not_believed(void **state)
{
	struct pair *p = open_pair("no_port_at_all_is_not_believed", NULL);
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_B, 0, MRC_OP_EP_REQ, &pkt);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.psn = mrc_psn(0x42);
	pkt.ep.op = MRC_EP_PORT_STATUS;
	pkt.ep.ftype = 1;
	pkt.ep.port_mask = 0;
	pkt.flags |= MRC_PKT_TS;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(p, PAIR_US);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_PORT_STATUS], 0);
	pair_post(p, PAIR_B, 0, &(struct pair_wr){.len = 5000});
	pair_finish(p, PAIR_MS);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_error, 0);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(old_duplicate_acknowledges_nothing),
	cmocka_unit_test(notes_end_with_their_life),
	cmocka_unit_test(key_is_never_the_last_one),
	cmocka_unit_test(late_refusal_is_stale),
	cmocka_unit_test(endpoint_answer_is_not_turned_aside),
	cmocka_unit_test(overrun_once_and_purged_by_reset),
	cmocka_unit_test(reset_leaves_nothing_to_read),
	cmocka_unit_test(own_slots_take_no_foreign_region),
	cmocka_unit_test(grant_is_never_above_the_agreed),
	cmocka_unit_test(no_port_at_all_is_not_believed),
};

PAIR_TEST_MAIN(tests)
