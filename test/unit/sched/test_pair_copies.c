/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_copies.c - packets that were sent again: whether that was right, how long they have,
 * and what they hide. The tests set departure times in the engine's own structures.
 */
#include "pair_rig.h"

/* A copy left age_ns ago, what triggered the answer left before it; nothing ever came back sooner
 * than after 30 us. Was the verdict false? */
static bool judged_false(uint64_t age_ns)
{
	struct mrc_pkt pkt;
	uint64_t spurious;
	struct pair_rig r;

	pair_rig_two_out(&r, "overtaking_copy_is_no_false_verdict");
	r.qp->path->fast_ns = 30000;
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - 40000;
	loss_declare(r.s, r.p->now, r.qp, mrc_psn(r.p->cfg.psn[PAIR_A]), LOSS_PROBE);
	sentmap_resend(&r.qp->snt, &r.s->sent, mrc_psn(r.p->cfg.psn[PAIR_A]),
		pair_rig_sent(&r, 0)->ev, r.p->now - age_ns);
	pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn(r.p->cfg.psn[PAIR_A] + 1);
	pkt.sack.sack_offset = 1;
	pkt.sack.entropy = mrc_ev_get(r.qp->path->evs, pair_rig_sent(&r, 1)->ev)->value;
	pkt.sack.timestamp = (uint16_t)(pair_rig_sent(&r, 1)->sent_ns / MRC_TS_TICK_NS);
	pkt.sack.rcvd_units = r.qp->top_units + 1;
	assert_int_equal(pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, r.qp->snt.nb_open, 0);
	PAIR_EQ(r.p, r.qp->path->fast_ns, 30000);
	spurious = r.s->counters.spurious_retransmits;
	pair_rig_close(&r);
	return spurious != 0;
}

/* A copy has its own class and may overtake: only an answer that cannot be its own convicts the
 * verdict. */
/* spec */
static void overtaking_copy_is_no_false_verdict(void **state)
{
	assert_true(judged_false(29999));
	assert_false(judged_false(30000));
	assert_false(judged_false(39999));
}

static void short_timeout(struct pair_cfg *cfg)
{
	cfg->timeout = 5; /* 33 us: three round trips */
	cfg->linear_cnt = 7;
	cfg->exp_cnt = MRC_EXP_MAX;
}

/* A packet is trimmed 7 times, for two timeouts: each NACK is an answer, no timer fires. Then the
 * copy is lost for good, and the timer counts from its departure. */
/* spec */
static void trimmed_copy_has_its_own_time(void **state)
{
	for (int lose = 0; lose < 2; lose++) {
		uint64_t left_ns;
		struct pair_rig r;

		pair_rig_open(&r, "trimmed_copy_has_its_own_time", short_timeout);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_TRIM,
					    .dir = PAIR_A2B,
					    .kinds = PAIR_DATA,
					    .count = 7,
					    .arg = 64,
					    .cls = MRC_CLASS_TRIMMED_LASTHOP});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 1000});
		while (r.p->faults[0].fired < 7)
			assert_true(pair_step(r.p));
		assert_true(r.p->now - r.p->cfg.start_ns > 50 * PAIR_US);
		if (lose)
			pair_fault_add(
				r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_A2B});
		pair_run(r.p, 20 * PAIR_US);
		PAIR_EQ(r.p, r.s->counters.timeouts, 0);
		PAIR_EQ(r.p, r.s->counters.rtx_by_nack, 7);
		PAIR_EQ(r.p, pair_idle(r.p), !lose);
		left_ns = lose ? pair_rig_sent(&r, 0)->sent_ns : 0;
		while (lose && r.s->counters.timeouts == 0)
			assert_true(pair_step(r.p));
		if (lose)
			assert_in_range(r.p->now - left_ns, 1024u << 5, (1024u << 5) + 2000);
		pair_faults_clear(r.p);
		pair_finish(r.p, PAIR_S);
		pair_rig_close(&r);
	}
}

/* The question for a transport ACK was in a packet that was lost, in the middle of a message: its
 * copy asks again. */
/* spec */
static void copy_repeats_the_question(void **state)
{
	mrc_psn_t psn;
	struct pair_rig r;
	bool asked = false;

	pair_rig_unheard(&r, "copy_repeats_the_question", NULL, 4096, 5 * PAIR_US);
	psn = mrc_psn(r.p->cfg.psn[PAIR_A] + 1);
	r.qp->ask_psn = psn;
	loss_declare(r.s, r.p->now, r.qp, psn, LOSS_ORDER);
	req_wake(r.s, r.qp);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_tape_clear(&r.tape);
	pair_run(r.p, 5 * PAIR_US);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++) {
		const struct mrc_pkt *pkt = &r.tape.pkts[PAIR_A][i];

		asked = asked || (mrc_psn_eq(pkt->psn, psn) && (pkt->flags & MRC_PKT_RTX) != 0 &&
					 (pkt->flags & MRC_PKT_ACKREQ) != 0);
	}
	assert_true(asked);
	pair_rig_close(&r);
}

/* Is there a probe for the path of packet k? */
static bool asked_about(struct pair_rig *r, int32_t k)
{
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		if (r->qp->probes[i].state != PROBE_FREE &&
			r->qp->probes[i].ev == pair_rig_sent(r, k)->ev)
			return true;
	}
	return false;
}

/* The left edge is a copy that is trimmed again and again and always young: what waits behind it
 * is asked about in its own time. */
/* spec */
static void young_copy_hides_nothing(void **state)
{
	struct pair_rig r;

	pair_rig_two_out(&r, "young_copy_hides_nothing");
	pair_rig_sent(&r, 0)->rtx = 1;
	pair_rig_sent(&r, 0)->sent_ns = r.p->now;
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - 49999;
	probe_look(r.s, r.p->now, r.qp);
	assert_false(asked_about(&r, 1));
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - 50000;
	probe_look(r.s, r.p->now, r.qp);
	assert_true(asked_about(&r, 1));
	assert_false(asked_about(&r, 0));
	pair_rig_close(&r);
}

/* A probe is out and was not answered: for a round trip of 40 us that is no silence, and other
 * packets are asked about. */
/* spec */
static void young_probe_is_no_silence(void **state)
{
	for (int old = 0; old < 2; old++) {
		struct pair_rig r;

		pair_rig_two_out(&r, "young_probe_is_no_silence");
		for (int32_t k = 0; k < 2; k++)
			pair_rig_sent(&r, k)->sent_ns = r.p->now - 50000;
		pair_rig_sent(&r, 1)->flags |= SENT_LACKED;
		r.qp->answer_ns = 0;
		r.qp->probes[0] = (struct probe){.id = 1,
			.ev = pair_rig_sent(&r, 0)->ev,
			.state = PROBE_SENT,
			.sent_ns = r.p->now - (old ? 40000 : 39999)};
		probe_look(r.s, r.p->now, r.qp);
		PAIR_EQ(r.p, asked_about(&r, 1), !old);
		pair_rig_close(&r);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overtaking_copy_is_no_false_verdict),
		cmocka_unit_test(trimmed_copy_has_its_own_time),
		cmocka_unit_test(copy_repeats_the_question),
		cmocka_unit_test(young_copy_hides_nothing),
		cmocka_unit_test(young_probe_is_no_silence),
	};

	return pair_test_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
