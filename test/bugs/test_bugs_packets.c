/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bugs_packets.c - what users of comparable software met in sequence numbers and
 * acknowledgements, one function per story. README.md of this folder lists all rows.
 */
#include "pair_test.h"

static struct pair *plain(const char *name)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 101);
	return pair_create(&cfg);
}

/*
 * A2: the stream stopped when the sequence number wrapped. From just below the wrap, three full
 * windows and a bit.
 */
static void a2_stream_stops_at_the_wrap(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "a2_stream_stops_at_the_wrap", 102);
	cfg.psn[PAIR_A] = 0xFFFFFE;
	p = pair_create(&cfg);
	for (int k = 0; k < 4; k++) {
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 900 * 1024});
		pair_finish(p, PAIR_S);
	}
	PAIR_EQ(p, p->q[PAIR_A][0].wire_next, (0xFFFFFE + 3600) & 0xFFFFFF);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 0);
	pair_destroy(p);
}

/*
 * A3: a zero-length message counted as zero packets, so the PSN bookkeeping of the two ends
 * drifted apart. 100, 0, 0 with immediate, 100 take four PSNs in a row and complete in order; the
 * immediate arrives with length 0.
 */
/* spec */
static void a3_empty_message_takes_a_psn(void **state)
{
	struct pair *p = plain("a3_empty_message_takes_a_psn");
	struct pair_qp *q = &p->q[PAIR_A][0];
	uint32_t psn = q->wire_next;

	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 0});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 0, .imm = true});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, q->wire_next, psn + 4);
	PAIR_EQ(p, q->nb_success, 4);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 1);
	pair_destroy(p);
}

/* A3, second half: with strict_length the empty ones are refused at post and take nothing. */
static void a3_strict_length_refuses(void **state)
{
	struct pair_cfg cfg;
	struct mrc_proto proto;
	struct pair *p;
	uint32_t psn;

	pair_test_cfg(&cfg, "a3_strict_length_refuses", 103);
	mrc_proto_default(&proto);
	proto.choice.strict_length = 1;
	cfg.proto = &proto;
	p = pair_create(&cfg);
	psn = p->q[PAIR_A][0].wire_next;
	PAIR_EQ(p, pair_post_try(p, PAIR_A, 0, &(struct pair_wr){.len = 0}), MRC_ERR_INVAL);
	PAIR_EQ(p, pair_post_try(p, PAIR_A, 0, &(struct pair_wr){.len = 0, .imm = true}),
		MRC_ERR_INVAL);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 1});
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_next, psn + 1);
	pair_destroy(p);
}

/*
 * A13: an ACK for a number never sent pinned "largest acknowledged" and blocked all later, genuine
 * ones. Forged first, genuine afterwards: the work completes and the forged one is counted.
 */
static void a13_ack_of_the_unsent(void **state)
{
	struct pair *p = plain("a13_ack_of_the_unsent");
	struct mrc_pkt pkt;

	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A, .count = 4});
	for (int k = 0; k < 4; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_run(p, 2 * PAIR_US);
	for (int kind = 0; kind < 2; kind++) {
		pair_pkt_init(p, PAIR_A, 0, kind ? MRC_OP_ACK : MRC_OP_SACK, &pkt);
		pkt.psn = mrc_psn_add(mrc_psn(p->q[PAIR_A][0].wire_next), 5);
		if (kind)
			pkt.ack.syndrome = MRC_AETH_ACK;
		else
			pkt.sack.cack = pkt.psn;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		PAIR_EQ(p, pair_drops(p, PAIR_A, MRC_DROP_ACK_UNSENT), 1 + (uint64_t)kind);
	}
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 0);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 4);
	pair_destroy(p);
}

/*
 * A17: acknowledgements of the life before a reset confused or crashed the endpoint. 100 recorded
 * answers are replayed to a QP that was reset and begins at another PSN, with work outstanding.
 */
static void a17_old_acks_after_reset(void **state)
{
	struct pair *p = plain("a17_old_acks_after_reset");
	uint64_t before = 0, after = 0;
	uint32_t thrown = 0;

	p->record = true;
	for (int k = 0; k < 120; k++) {
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_finish(p, PAIR_S);
	}
	p->record = false;
	pair_reconnect(p, 0, 0x700000, 0x500000);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_A2B});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 5000});
	pair_run(p, 10 * PAIR_US);
	for (uint32_t d = 1; d < MRC_NB_DROPS; d++)
		before += pair_drops(p, PAIR_A, (enum mrc_drop)d);
	for (uint32_t k = 0; k < PAIR_RECORDED && thrown < 100; k++)
		if (p->recorded[PAIR_A][k] != NULL) {
			pair_rx_now(p, PAIR_A, 0, p->recorded[PAIR_A][k]->data,
				p->recorded[PAIR_A][k]->len);
			thrown++;
		}
	for (uint32_t d = 1; d < MRC_NB_DROPS; d++)
		after += pair_drops(p, PAIR_A, (enum mrc_drop)d);
	PAIR_EQ(p, thrown, 100);
	PAIR_EQ(p, after - before, 100);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).outstanding, 5);
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/*
 * A24 a: a duplicate of data already received was not acknowledged again, so a lost answer never
 * healed. Every answer to one packet is lost three times: each copy is answered, one completion,
 * written once.
 */
/* spec */
static void a24_duplicates_are_answered(void **state)
{
	struct pair *p = plain("a24_duplicates_are_answered");
	uint64_t copies;

	pair_fault_add(
		p, &(struct pair_fault){
			   .act = PAIR_DROP, .dir = PAIR_B2A, .kinds = PAIR_SACK, .count = 3});
	pair_fault_add(
		p, &(struct pair_fault){
			   .act = PAIR_DROP, .dir = PAIR_B2A, .kinds = PAIR_ACK, .count = 3});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 500, .imm = true});
	pair_finish_faulty(p, PAIR_S);
	copies = p->q[PAIR_A][0].wire_first + p->q[PAIR_A][0].wire_again;
	assert_true(copies >= 4);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_packets), 1);
	PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_PSN_DUPLICATE), copies - 1);
	assert_true(p->wire_kind[PAIR_B][1] >= copies);
	assert_true(p->wire_kind[PAIR_B][3] >= copies);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 1);
	pair_destroy(p);
}

/* A24 b: the SACK passes, only the transport ACK is lost: the asking packet is sent again. */
/* spec */
static void a24_sacked_but_not_acked(void **state)
{
	struct pair *p = plain("a24_sacked_but_not_acked");

	pair_fault_add(
		p, &(struct pair_fault){
			   .act = PAIR_DROP, .dir = PAIR_B2A, .kinds = PAIR_ACK, .count = 3});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 5000});
	pair_finish_faulty(p, 10 * PAIR_MS);
	assert_true(p->wire_kind[PAIR_A][4] + p->q[PAIR_A][0].wire_again >= 3);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_packets), 5);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 1);
	pair_destroy(p);
}

/*
 * A25: an assertion took it for granted that a declared loss is followed by a retransmission. A
 * NACK and the SACK of the same packet arrive in one burst: nothing asserts, nothing is sent.
 */
static void a25_lost_and_found_in_one_burst(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_pkt pkt;
	struct mrc_rxbuf bufs[2];
	struct mrc_rx_verdict v[2];
	uint8_t *frame[2];
	struct pair_qp *q;

	pair_test_cfg(&cfg, "a25_lost_and_found_in_one_burst", 104);
	cfg.timeout = 14;
	p = pair_create(&cfg);
	q = &p->q[PAIR_A][0];
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3000});
	pair_run(p, 20 * PAIR_US);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = mrc_psn(cfg.psn[0] + 1);
	pkt.nack.reason = MRC_NACK_TRIMMED;
	frame[0] = pair_encode(p, &pkt, 0, &bufs[0].len);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn(cfg.psn[0] + 2);
	pkt.sack.rcvd_units = 12;
	frame[1] = pair_encode(p, &pkt, 0, &bufs[1].len);
	for (int k = 0; k < 2; k++) {
		bufs[k].data = frame[k];
		bufs[k].plane = 0;
		pair_wire_saw(p, PAIR_A, frame[k], bufs[k].len);
	}
	mrc_sched_rx(q->host->sched, p->now, bufs, 2, v);
	PAIR_EQ(p, v[0].kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, v[1].kind, MRC_RX_CONSUMED);
	pair_kick(q->host);
	pair_run(p, 100 * PAIR_US);
	PAIR_EQ(p, q->wire_again, 0);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
	free(frame[0]);
	free(frame[1]);
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a2_stream_stops_at_the_wrap),
	cmocka_unit_test(a3_empty_message_takes_a_psn),
	cmocka_unit_test(a3_strict_length_refuses),
	cmocka_unit_test(a13_ack_of_the_unsent),
	cmocka_unit_test(a17_old_acks_after_reset),
	cmocka_unit_test(a24_duplicates_are_answered),
	cmocka_unit_test(a24_sacked_but_not_acked),
	cmocka_unit_test(a25_lost_and_found_in_one_burst),
};

PAIR_TEST_MAIN(tests)
