/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_patience.c - how long the requester waits before it asks, convicts, gives up or
 * believes: each figure of answer.c, loss.c, probe.c, timers.c and ep.c worked out by hand. The
 * tests set round trips and departure times in the engine's own structures.
 */
#include "pair_rig.h"

/* Gives A a SACK for packet k, the only one received. */
static struct mrc_rx_verdict sack_for(struct pair_rig *r, int32_t k, uint32_t ev_flip)
{
	struct mrc_pkt pkt;

	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn_add(mrc_psn(r->p->cfg.psn[PAIR_A]), -1);
	pkt.sack.ack_offset = (int16_t)(k + 1);
	pkt.sack.sack_offset = 1;
	pkt.sack.bitmap = UINT64_C(1) << k;
	pkt.sack.entropy = mrc_ev_get(r->qp->path->evs, pair_rig_sent(r, k)->ev)->value ^ ev_flip;
	pkt.sack.timestamp = (uint16_t)(pair_rig_sent(r, k)->sent_ns / MRC_TS_TICK_NS);
	pkt.sack.rcvd_units = r->qp->top_units + 1;
	return pair_rx_pkt(r->p, PAIR_A, 0, &pkt);
}

/* ---- age ---- */

/* The second packet is answered after 40 us; the first left lead_ns earlier. Is it lost? */
static bool convicted(const char *name, uint64_t lead_ns, uint8_t rtx, uint64_t rtt_ns)
{
	struct pair_rig r;
	bool lost;

	pair_rig_two_out(&r, name);
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - rtt_ns;
	pair_rig_sent(&r, 0)->sent_ns = r.p->now - rtt_ns - lead_ns;
	pair_rig_sent(&r, 0)->rtx = rtx;
	assert_int_equal(sack_for(&r, 1, 0).kind, MRC_RX_CONSUMED);
	lost = sentmap_is_lost(&r.qp->snt, &r.s->sent, mrc_psn(r.p->cfg.psn[PAIR_A]));
	PAIR_EQ(r.p, r.s->counters.rtx_by_order, lost);
	pair_rig_close(&r);
	return lost;
}

/*
 * Slowest round trip 100 us and a quarter, four deviations of 750 ns (1000, less a quarter of it
 * with the sample that meets the mean): 128 us. A copy: 100 us, a sixteenth, 3 us, less the 40 us
 * of the trigger: 69.25 us.
 */
/* spec */
static void age_convicts_in_time(void **state)
{
	assert_false(convicted("age_convicts_in_time", 127999, 0, 40000));
	assert_true(convicted("age_convicts_in_time", 128000, 0, 40000));
	assert_false(convicted("age_convicts_in_time", 69249, 1, 40000));
	assert_true(convicted("age_convicts_in_time", 69250, 1, 40000));
	/* An answer later than 40 + 20 us (half of it exceeds four deviations) may come from a peer
	 * that stood still: it convicts nothing. */
	assert_true(convicted("age_convicts_in_time", 1000000, 0, 60000));
	assert_false(convicted("age_convicts_in_time", 1000000, 0, 60001));
}

/* A probe that left 40 us ago is answered, mark m; the first packet left on its path a microsecond
 * longer before it than a probe may overtake. Is that lost? */
static bool probe_convicts(uint8_t m)
{
	struct mrc_pkt pkt;
	struct pair_rig r;
	bool lost;

	pair_rig_two_out(&r, "remarked_probe_convicts_nothing");
	r.qp->probes[0] = (struct probe){.id = 5,
		.ev = pair_rig_sent(&r, 0)->ev,
		.state = PROBE_SENT,
		.sent_ns = r.p->now - 40000};
	pair_rig_sent(&r, 0)->sent_ns = r.p->now - 40000 - 40000 / 16 - 1000;
	pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn_add(mrc_psn(r.p->cfg.psn[PAIR_A]), -1);
	pkt.sack.m = m;
	pkt.sack.probe = true;
	pkt.sack.probe_id = 5;
	pkt.sack.sack_offset = 1;
	assert_int_equal(pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, r.qp->probes[0].state, PROBE_FREE);
	lost = sentmap_is_lost(&r.qp->snt, &r.s->sent, mrc_psn(r.p->cfg.psn[PAIR_A]));
	pair_rig_close(&r);
	return lost;
}

/* A full queue may have put a marked probe into another class, where it overtook what it asks
 * about. */
/* spec */
static void remarked_probe_convicts_nothing(void **state)
{
	assert_true(probe_convicts(MRC_M_NONE));
	assert_false(probe_convicts(MRC_M_SKIP_ONCE));
}

/* spec */
static void patience_by_hand(void **state)
{
	uint16_t ev[2];
	struct pair_rig r;

	pair_rig_two_out(&r, "patience_by_hand");
	ev[0] = pair_rig_sent(&r, 0)->ev;
	ev[1] = pair_rig_sent(&r, 1)->ev;
	r.qp->path->slow_ns[pair_rig_plane(&r, 1)] = 400000;
	assert_int_equal(probe_patience_ns(r.qp, ev[0], 0), 100000 + 25000 + 4000);
	assert_int_equal(probe_patience_ns(r.qp, ev[1], 0), 400000 + 100000 + 4000);
	assert_int_equal(probe_patience_ns(r.qp, ev[0], 129001), 129001);
	assert_int_equal(probe_slowest_ns(r.qp, ev[0], 16), 100000 + 6250 + 4000);
	r.qp->path->heard_ns[pair_rig_plane(&r, 1)] = 0; /* never heard: half a timeout */
	assert_int_equal(probe_patience_ns(r.qp, ev[1], 0), (1024ull << 16) / 2);
	/* To ask: a quarter or four deviations; to convict for silence: half or four deviations. */
	assert_int_equal(probe_wait_ns(r.qp), 50000);
	assert_int_equal(probe_overdue_ns(r.qp), 60000);
	r.qp->rttvar_ns = 6000;
	assert_int_equal(probe_wait_ns(r.qp), 64000);
	assert_int_equal(probe_overdue_ns(r.qp), 64000);
	r.qp->srtt_ns = 1000;
	r.qp->rttvar_ns = 0;
	assert_int_equal(probe_wait_ns(r.qp), 4000); /* never sooner */
	r.qp->srtt_ns = 0;
	assert_int_equal(probe_wait_ns(r.qp), (1024ull << 16) / 2);
	pair_rig_close(&r);
}

/* The slowest round trip rises at once and is forgotten by 1/2048 per answer of its plane. */
static void slowest_is_forgotten_slowly(void **state)
{
	uint64_t *slow[2];
	struct pair_rig r;

	pair_rig_two_out(&r, "slowest_is_forgotten_slowly");
	slow[0] = &r.qp->path->slow_ns[pair_rig_plane(&r, 0)];
	slow[1] = &r.qp->path->slow_ns[pair_rig_plane(&r, 1)];
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - 40000;
	(void)sack_for(&r, 1, 0);
	assert_int_equal(*slow[0], 100000);
	assert_int_equal(*slow[1], 100000 - 60000 / 2048);
	pair_rig_sent(&r, 0)->sent_ns = r.p->now - 150000;
	(void)sack_for(&r, 0, 0);
	assert_int_equal(*slow[0], 150000);
	pair_rig_close(&r);
}

/* ---- path order ---- */

static void one_value_per_plane(struct pair_cfg *cfg)
{
	cfg->nb_evs = 4;
	cfg->mem_len = 1u << 16;
}

/* Packets 0, 4 and 8 leave on one entropy value. When 8 is received both before it are lost, and
 * nothing of the other values. */
/* spec */
static void order_reaches_back(void **state)
{
	struct pair_rig r;

	pair_rig_unheard(&r, "order_reaches_back", one_value_per_plane, 9 * 1024, 10 * PAIR_US);
	assert_int_equal(pair_rig_sent(&r, 0)->ev, pair_rig_sent(&r, 4)->ev);
	assert_int_equal(pair_rig_sent(&r, 0)->ev, pair_rig_sent(&r, 8)->ev);
	PAIR_EQ(r.p, sack_for(&r, 8, 0).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, r.s->counters.rtx_by_order, 2);
	for (int32_t k = 0; k < 8; k++)
		PAIR_EQ(r.p,
			sentmap_is_lost(&r.qp->snt, &r.s->sent,
				mrc_psn_add(mrc_psn(r.p->cfg.psn[PAIR_A]), k)),
			k % 4 == 0);
	pair_rig_close(&r);
}

/* ---- paths that shuffle ---- */

/*
 * Round trip 40 us: the first false verdict gives an overtaken packet 5 us, further ones double
 * that once per round trip, up to the patience with its plane (129 us); a right one takes 1/32
 * back.
 */
/* spec */
static void false_verdicts_by_hand(void **state)
{
	struct path *path;
	uint64_t want = 5000;
	uint16_t ev;
	struct pair_rig r;

	pair_rig_two_out(&r, "false_verdicts_by_hand");
	path = r.qp->path;
	ev = pair_rig_sent(&r, 0)->ev;
	trust_less(r.s, r.qp, ev);
	PAIR_EQ(r.p, path->shuffle_ns, 5000);
	r.s->now_ns += 39999;
	trust_less(r.s, r.qp, ev);
	PAIR_EQ(r.p, path->shuffle_ns, 5000);
	r.s->now_ns += 1;
	for (int i = 0; i < 6; i++) {
		trust_less(r.s, r.qp, ev);
		want = 2 * want < 129000 ? 2 * want : 129000;
		PAIR_EQ(r.p, path->shuffle_ns, want);
		r.s->now_ns += 40000;
	}
	PAIR_EQ(r.p, want, 129000);
	trust_more(r.qp);
	PAIR_EQ(r.p, path->shuffle_ns, 129000 - 4031);
	for (int i = 0; i < 300; i++)
		trust_more(r.qp);
	PAIR_EQ(r.p, path->shuffle_ns, 0);
	pair_rig_close(&r);
}

/* An overtaken packet that the path gives 30 us: lost when the trigger left as much later. */
static bool overtaken(uint64_t lead_ns, uint64_t shuffle_ns)
{
	struct pair_rig r;
	bool lost;

	pair_rig_two_out(&r, "overtaken_packets_get_their_time");
	r.qp->path->shuffle_ns = shuffle_ns;
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - 40000;
	pair_rig_sent(&r, 0)->sent_ns = r.p->now - 40000 - lead_ns;
	pair_rig_sent(&r, 0)->flags |= SENT_SUSPECT;
	(void)sack_for(&r, 1, 0);
	lost = sentmap_is_lost(&r.qp->snt, &r.s->sent, mrc_psn(r.p->cfg.psn[PAIR_A]));
	pair_rig_close(&r);
	return lost;
}

/* spec */
static void overtaken_packets_get_their_time(void **state)
{
	assert_true(overtaken(1, 0));
	assert_false(overtaken(29999, 30000));
	assert_true(overtaken(30000, 30000));
}

/* The shuffling ends: verdicts that prove right give path order its speed back. */
static void keeps_order_again(struct pair *p)
{
	const struct path *path = p->q[PAIR_A][0].qp->path;
	uint64_t shuffled_ns = path->shuffle_ns;

	assert_true(shuffled_ns > 5 * PAIR_US);
	p->cfg.jitter_ns = 0;
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 400, .depth = 16, .min_len = 1u << 16, .max_len = 1u << 16});
	pair_finish_faulty(p, 10 * PAIR_S);
	if (path->shuffle_ns > shuffled_ns / 8)
		pair_fail(p, "%llu ns of %llu are left", (unsigned long long)path->shuffle_ns,
			(unsigned long long)shuffled_ns);
}

/* Every packet is late by 0 .. 3 round trips: after the first mistakes nothing is sent again that
 * was not lost; and losses are still found without a timeout. */
/* spec */
static void shuffling_paths_are_recognised(void **state)
{
	for (uint32_t ppm = 0; ppm <= 10000; ppm += 10000) {
		struct pair_cfg cfg;
		struct pair *p;
		uint64_t first, again;

		pair_test_cfg(&cfg, "shuffling_paths_are_recognised", 182);
		cfg.nb_evs = 64;
		cfg.jitter_ns = 30 * PAIR_US;
		cfg.mem_len = 1u << 21;
		cfg.timeout = 12;
		cfg.check_every = 16;
		p = pair_create(&cfg);
		if (ppm != 0)
			pair_fault_add(
				p, &(struct pair_fault){
					   .act = PAIR_DROP, .kinds = PAIR_DATA, .ppm = ppm});
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){.count = 400,
				.depth = 16,
				.min_len = 1u << 16,
				.max_len = 1u << 16});
		pair_finish_faulty(p, 10 * PAIR_S);
		first = p->q[PAIR_A][0].wire_first;
		again = p->q[PAIR_A][0].wire_again;
		if (again > first * ppm / 1000000 * 12 / 10 + first / 200)
			pair_fail(p, "%llu packets of %llu sent again at a loss of %u ppm",
				(unsigned long long)again, (unsigned long long)first, ppm);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		if (ppm != 0)
			keeps_order_again(p);
		pair_destroy(p);
	}
}

static struct mrc_nscc_cfg window;

static void with_window(struct pair_cfg *cfg)
{
	mrc_nscc_cfg_default(&window, 100000000000, 5000, 4096 + 100, true);
	cfg->cc = &window;
	cfg->pmtu = 4096;
}

/* What was taken for lost and was not gives the window back what it took, before it was sent again
 * or after. */
/* spec */
static void the_window_is_pardoned(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct pair_rig r;
		mrc_psn_t psn;

		pair_rig_open(&r, "the_window_is_pardoned", with_window);
		psn = mrc_psn(r.p->cfg.psn[PAIR_A]);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 4096});
		pair_run(r.p, 10 * PAIR_US);
		PAIR_EQ(r.p, mrc_nscc_cwnd(&r.qp->cc), window.max_cwnd);
		loss_declare(r.s, r.p->now, r.qp, psn, LOSS_PROBE);
		PAIR_EQ(r.p, mrc_nscc_cwnd(&r.qp->cc),
			window.max_cwnd - pair_rig_sent(&r, 0)->size);
		if (again) {
			sentmap_resend(
				&r.qp->snt, &r.s->sent, psn, pair_rig_sent(&r, 0)->ev, r.p->now);
			mrc_nscc_on_sent(&r.qp->cc, pair_rig_sent(&r, 0)->size);
		}
		PAIR_EQ(r.p, sack_for(&r, 0, 0).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, mrc_nscc_cwnd(&r.qp->cc), window.max_cwnd);
		PAIR_EQ(r.p, r.s->counters.spurious_retransmits, again);
		pair_rig_close(&r);
	}
}

/* ---- stamps ---- */

/* Smoothed round trip after a transport ACK and then the SACK of a packet that left age_ns ago. */
static uint64_t srtt_after(uint64_t age_ns, uint8_t rtx)
{
	struct mrc_pkt ack, sack;
	uint64_t srtt;
	struct pair_rig r;

	pair_rig_two_out(&r, "old_stamps_give_no_sample");
	pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &sack);
	for (int32_t k = 0; k < 2; k++)
		pair_rig_sent(&r, k)->sent_ns = r.p->now - age_ns;
	pair_rig_sent(&r, 0)->rtx = rtx;
	sack.psn = sack.sack.cack = mrc_psn(r.p->cfg.psn[PAIR_A] + 1);
	sack.sack.sack_offset = 1;
	sack.sack.entropy = mrc_ev_get(r.qp->path->evs, pair_rig_sent(&r, 1)->ev)->value;
	sack.sack.timestamp = (uint16_t)((r.p->now - age_ns) / MRC_TS_TICK_NS);
	sack.sack.rcvd_units = r.qp->top_units + 1;
	pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_ACK, &ack);
	ack.psn = sack.psn;
	ack.ack.syndrome = MRC_AETH_ACK;
	ack.ack.msn = 2;
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &ack).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, r.qp->snt.nb_open, 0);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &sack).kind, MRC_RX_CONSUMED);
	srtt = r.qp->srtt_ns;
	pair_rig_close(&r);
	return srtt;
}

/*
 * The transport ACK was faster, so that only the 16-bit stamp of the SACK is left. A host that
 * stood still for one turn of the stamps (65536 x 128 ns) and 102.4 us finds both in its queue: no
 * round trip of 102.4 us. It would lower the base for good.
 */
/* spec */
static void old_stamps_give_no_sample(void **state)
{
	assert_int_equal(srtt_after(102400, 0), 40000 + 102400 / 8 - 40000 / 8);
	assert_int_equal(srtt_after(65536 * 128 + 102400, 0), 40000);
	assert_int_equal(srtt_after(102400, 1), 40000); /* when the first left is not certain */
}

/* ---- echoes ---- */

static void strictly(struct mrc_sched_cfg *cfg, int side)
{
	cfg->strict_echo = true;
}

static void strict(struct pair_cfg *cfg)
{
	cfg->tweak = strictly;
}

static void strict_v6(struct pair_cfg *cfg)
{
	cfg->tweak = strictly;
	cfg->v6 = true;
}

/* The right number and the right time, but another path than the packet took: not believed. Bits
 * that the format cannot carry are not compared. */
static void strict_echo_compares_paths(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		const uint32_t flips[] = {1, 0x8000, 0x10000};
		struct pair_rig r;

		pair_rig_open(&r, "strict_echo_compares_paths", v6 ? strict_v6 : strict);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_run(r.p, 10 * PAIR_US);
		for (int i = 0; i < (v6 ? 3 : 2); i++) {
			struct mrc_rx_verdict v = sack_for(&r, 0, flips[i]);

			PAIR_EQ(r.p, v.kind, MRC_RX_DROP);
			PAIR_EQ(r.p, v.arg, MRC_DROP_ECHO_MISMATCH);
			PAIR_EQ(r.p, r.qp->snt.nb_open, 1);
		}
		PAIR_EQ(r.p, sack_for(&r, 0, v6 ? 0 : 0x10000).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, r.qp->snt.nb_open, 0);
		pair_rig_close(&r);
	}
}

/* ---- silence ---- */

/* Into a black hole: one round of probes, three more at doubling intervals, then none until the
 * timeout. */
/* spec */
static void probes_fall_silent(void **state)
{
	uint64_t rounds[16] = {0};
	uint32_t nb = 0;
	struct pair_rig r;

	pair_rig_open(&r, "probes_fall_silent", NULL);
	pair_load(r.p, PAIR_A, 0,
		&(struct pair_load){.count = 50, .depth = 1, .min_len = 100, .max_len = 100});
	pair_finish(r.p, PAIR_S); /* round trips are known */
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	pair_tape_clear(&r.tape);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_run(r.p, 60 * PAIR_MS);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++) {
		uint64_t at = r.tape.times[PAIR_A][i];

		if (r.tape.pkts[PAIR_A][i].opcode != MRC_OP_PROBE)
			continue;
		if (nb == 0 || at - rounds[nb - 1] > PAIR_US)
			rounds[nb++ % 16] = at;
	}
	PAIR_EQ(r.p, nb, 1 + MUTE_ROUNDS);
	for (uint32_t i = 2; i < nb; i++)
		assert_true(
			(rounds[i] - rounds[i - 1]) * 10 > (rounds[i - 1] - rounds[i - 2]) * 18);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, timeouts), 0);
	pair_rig_close(&r);
}

/*
 * Of which packet a path tells its silence: one that left on another path says nothing, although
 * it is in flight, nor does one that was sent again; the oldest of its own takes its place, and its
 * silence begins now.
 */
static void silence_is_told_by_its_own_packet(void **state)
{
	for (int own = 0; own < 3; own++) {
		struct pair_rig r;
		struct mrc_ev_set *evs;
		uint64_t first, named;
		uint32_t ev;

		pair_rig_unheard(
			&r, "silence_is_told_by_its_own_packet", NULL, 3 * 1024, 10 * PAIR_US);
		evs = r.qp->path->evs;
		ev = pair_rig_sent(&r, 0)->ev;
		r.qp->srtt_ns = 40000;
		r.qp->rttvar_ns = 1000;
		pair_rig_sent(&r, 1)->sent_ns++;
		first = (uint64_t)r.qp->qpn << MRC_PSN_BITS | pair_rig_psn(&r, 0).v;
		named = (uint64_t)r.qp->qpn << MRC_PSN_BITS | pair_rig_psn(&r, 2).v;
		PAIR_EQ(r.p, pair_rig_sent(&r, 2)->ev == ev, false);
		if (own != 0)
			pair_rig_sent(&r, 2)->ev = (uint16_t)ev;
		if (own == 2)
			pair_rig_sent(&r, 2)->rtx = 1;
		mrc_ev_miss(evs, r.p->now - 5000, ev, named);
		assert_int_equal(sack_for(&r, 1, 0).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, r.qp->snt.nb_lost, 0);
		PAIR_EQ(r.p, mrc_ev_misses(evs, ev), own == 1 ? named : first);
		PAIR_EQ(r.p, mrc_ev_silence_ns(evs, r.p->now, ev), own == 1 ? 5000 : 0);
		pair_rig_close(&r);
	}
}

/* ---- a host that stood still ---- */

static void soon(struct pair_cfg *cfg)
{
	cfg->timeout = 8; /* 262 us */
}

/* The timer is found a millisecond late, and the answer still waits in the queue: it is heard. The
 * second time nothing came, and the timeout counts. */
/* spec */
static void late_timer_hears_first(void **state)
{
	struct pair_rig r;
	uint64_t late;

	pair_rig_open(&r, "late_timer_hears_first", soon);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_finish(r.p, PAIR_S);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_run(r.p, 10 * PAIR_US);
	late = r.qp->rto_ns + PAIR_MS;
	while (mrc_sched_expire(r.s, late) != 0)
		;
	PAIR_EQ(r.p, r.s->counters.timeouts, 0);
	PAIR_EQ(r.p, r.qp->retries, 0);
	assert_true(r.qp->rto_ns > late && r.qp->rto_ns <= late + r.qp->timeout_ns);
	late = r.qp->rto_ns + PAIR_MS; /* late again */
	while (mrc_sched_expire(r.s, late) != 0)
		;
	PAIR_EQ(r.p, r.s->counters.timeouts, 1);
	PAIR_EQ(r.p, r.qp->retries, 1);
	pair_rig_close(&r);
}

/* ---- a transport ACK that stays away ---- */

static void few_retries(struct pair_cfg *cfg)
{
	cfg->timeout = 6; /* T = 65536 ns */
	cfg->linear_cnt = 2;
	cfg->exp_cnt = 3;
	cfg->allow_error = true;
}

/* Repeats of the packet until the QP fails; all of kinds is lost from from_ns on. */
static uint32_t repeats(
	struct pair_rig *r, uint32_t kinds, uint64_t from_ns, uint64_t *error_ns_out)
{
	const struct pair_op *op;
	uint64_t start;

	pair_rig_open(r, "question_goes_on_while_heard", few_retries);
	start = r->p->now;
	pair_fault_add(
		r->p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A, .kinds = PAIR_ACK});
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP,
				     .dir = PAIR_B2A,
				     .kinds = kinds,
				     .from_ns = start + from_ns});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_run(r->p, 10 * PAIR_MS);
	op = &r->p->q[PAIR_A][0].ops[0];
	PAIR_EQ(r->p, op->status, MRC_WC_RETRY_EXC_ERR);
	*error_ns_out = op->done_ns - start;
	return pair_tape_count(&r->tape, PAIR_A, 0) - 1;
}

/*
 * SACKs come and transport ACKs do not. The schedule T, T, 2T, 4T, 8T, 16T fails the QP after 32 T
 * whether the peer is heard or not; heard, it is asked soon after the SACK, at doubling intervals
 * within the first T (once when the peer falls silent), and after every T (31 times), else five
 * times.
 */
/* spec */
static void question_goes_on_while_heard(void **state)
{
	const uint64_t t_ns = 1024 << 6;
	uint64_t error_ns;
	uint32_t nb;
	struct pair_rig r;

	nb = repeats(&r, PAIR_ACK, 0, &error_ns);
	assert_true(nb > 31 && nb <= 31 + 3);
	assert_true(error_ns >= 32 * t_ns && error_ns < 32 * t_ns + 20 * PAIR_US);
	pair_rig_close(&r);
	PAIR_EQ(r.p, repeats(&r, PAIR_ANSWERS, 30 * PAIR_US, &error_ns), 1 + 5);
	assert_true(error_ns >= 32 * t_ns && error_ns < 32 * t_ns + 20 * PAIR_US);
	pair_rig_close(&r);
}

/*
 * The SACK of the last packet comes, its transport ACK is lost: the two left together, so the
 * packet is sent again when the ACK has been away for as long as the slowest answer takes, and not
 * when the timer of 67 ms fires. No retry is counted. What is asked for in vain is asked for again
 * after twice as long.
 */
/* spec */
static void lost_ack_is_asked_for_soon(void **state)
{
	for (uint32_t nb_lost = 0; nb_lost <= 3; nb_lost++) {
		struct pair_rig r;
		uint64_t start, wait_ns, took_ns;

		pair_rig_open(&r, "lost_ack_is_asked_for_soon", NULL);
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_run(r.p, PAIR_MS);
		PAIR_EQ(r.p, r.s->counters.retransmits, 0);
		wait_ns = 2 * r.qp->srtt_ns + 4 * r.qp->rttvar_ns;
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP,
					    .dir = PAIR_B2A,
					    .kinds = PAIR_ACK,
					    .count = nb_lost == 0 ? 1 : nb_lost,
					    .from_ns = nb_lost == 0 ? UINT64_MAX : 0});
		start = r.p->now;
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_run(r.p, 10 * PAIR_MS);
		took_ns = r.p->q[PAIR_A][0].ops[1].done_ns - start;
		PAIR_EQ(r.p, r.p->q[PAIR_A][0].ops[1].status, MRC_WC_SUCCESS);
		PAIR_EQ(r.p, r.s->counters.rtx_by_ack_timeout, nb_lost);
		PAIR_EQ(r.p, r.s->counters.timeouts, 0);
		/* A round trip each, and waits of 1, 2, 4. */
		assert_true(took_ns <= ((1u << nb_lost) + nb_lost) * wait_ns);
		pair_rig_close(&r);
	}
}

/* ---- probes of entropy values ---- */

static void ask_path(struct pair_rig *r)
{
	const struct pair_qp *q = &r->p->q[PAIR_A][0];
	const struct mrc_sched_ep_req req = {.local = q->attr.local,
		.peer = q->attr.peer,
		.op = MRC_EP_EV_PROBE,
		.cls = MRC_CLASS_NO_TRIM,
		.any_ev = true};

	PAIR_EQ(r->p, mrc_sched_ep_send(r->s, r->p->now, &req), MRC_OK);
	pair_kick(&r->p->hosts[PAIR_A][0]);
	pair_run(r->p, 20 * PAIR_MS);
}

/*
 * The wait begins at 1 ms. A path of 1.6 ms answers too late: twice that. Then it answers in time:
 * four round trips. A path of 20 us wants the least, 1 ms, which a sixteenth of the way is gone.
 */
/* spec */
static void path_probe_wait_follows_round_trip(void **state)
{
	uint64_t wait;
	struct pair_rig r;

	pair_rig_open(&r, "path_probe_wait_follows_round_trip", NULL);
	assert_int_equal(r.s->ep_wait_ns, 1000000);
	r.p->cfg.delay_ns = 800 * PAIR_US;
	ask_path(&r);
	PAIR_EQ(r.p, r.p->last_event[PAIR_A].rtt_ns, MRC_SCHED_NEVER);
	PAIR_EQ(r.p, r.s->ep_wait_ns, 2000000);
	ask_path(&r);
	PAIR_EQ(r.p, r.s->ep_wait_ns, 4 * r.p->last_event[PAIR_A].rtt_ns);
	assert_true(r.s->ep_wait_ns >= 6400000 && r.s->ep_wait_ns < 6440000);
	r.p->cfg.delay_ns = 10 * PAIR_US;
	wait = r.s->ep_wait_ns;
	for (int i = 0; i < 2; i++) {
		wait -= (wait - 1000000) / 16;
		ask_path(&r);
		PAIR_EQ(r.p, r.s->ep_wait_ns, wait);
	}
	/* Late again and again: not beyond 128 ms. */
	r.p->cfg.delay_ns = 200 * PAIR_MS;
	for (int i = 0; i < 12; i++) {
		ask_path(&r);
		pair_run(r.p, 500 * PAIR_MS);
	}
	PAIR_EQ(r.p, r.s->ep_wait_ns, 128000000);
	pair_rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(age_convicts_in_time),
		cmocka_unit_test(remarked_probe_convicts_nothing),
		cmocka_unit_test(patience_by_hand),
		cmocka_unit_test(slowest_is_forgotten_slowly),
		cmocka_unit_test(order_reaches_back),
		cmocka_unit_test(false_verdicts_by_hand),
		cmocka_unit_test(overtaken_packets_get_their_time),
		cmocka_unit_test(shuffling_paths_are_recognised),
		cmocka_unit_test(the_window_is_pardoned),
		cmocka_unit_test(old_stamps_give_no_sample),
		cmocka_unit_test(strict_echo_compares_paths),
		cmocka_unit_test(probes_fall_silent),
		cmocka_unit_test(silence_is_told_by_its_own_packet),
		cmocka_unit_test(late_timer_hears_first),
		cmocka_unit_test(question_goes_on_while_heard),
		cmocka_unit_test(lost_ack_is_asked_for_soon),
		cmocka_unit_test(path_probe_wait_follows_round_trip),
	};

	return pair_test_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
