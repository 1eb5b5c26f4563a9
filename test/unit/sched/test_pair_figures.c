/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_figures.c - figures by which the requester measures, waits and gives up, and what dead
 * planes and forgotten paths leave behind: each worked out by hand, in the engine's own structures.
 */
#include "pair_rig.h"

static bool lost(const struct pair_rig *r, int32_t k)
{
	return sentmap_is_lost(&r->qp->snt, &r->s->sent, pair_rig_psn(r, k));
}

/* A SACK that names packet k as its trigger and acknowledges nothing else. */
static struct mrc_pkt sack_of(struct pair_rig *r, int32_t k)
{
	struct mrc_pkt pkt;

	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = pair_rig_psn(r, -1);
	pkt.sack.ack_offset = (int16_t)(k + 1);
	pkt.sack.sack_offset = 1;
	pkt.sack.bitmap = UINT64_C(1) << k;
	pkt.sack.entropy = mrc_ev_get(r->qp->path->evs, pair_rig_sent(r, k)->ev)->value;
	pkt.sack.timestamp = (uint16_t)(pair_rig_sent(r, k)->sent_ns / MRC_TS_TICK_NS);
	pkt.sack.rcvd_units = r->qp->top_units + 1;
	return pkt;
}

static void give(struct pair_rig *r, const struct mrc_pkt *pkt)
{
	PAIR_EQ(r->p, pair_rx_pkt(r->p, PAIR_A, 0, pkt).kind, MRC_RX_CONSUMED);
}

/* A pair whose wire swallows everything, with nb packets of 1 KiB out. */
static void open_out(
	struct pair_rig *r, const char *name, uint32_t nb, void (*change)(struct pair_cfg *cfg))
{
	pair_rig_open(r, name, change);
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = nb * 1024});
	pair_run(r->p, 10 * PAIR_US);
	PAIR_EQ(r->p, r->qp->snt.nb_open, nb);
}

/* ---- round trips ---- */

/*
 * Jacobson: the first sample counts whole, half of it is the deviation; then an eighth of the
 * difference and a quarter of the change of the deviation, above the mean and below it.
 */
static void round_trips_are_smoothed(void **state)
{
	static const struct {
		uint64_t sample_ns, srtt_ns, rttvar_ns;
	} steps[] = {
		{40000, 40000, 20000},
		{56000, 42000, 20000 - 5000 + 4000},
		{34000, 42000 - 5250 + 4250, 19000 - 4750 + 2000},
		{41000, 41000 - 5125 + 5125, 16250 - 4062},
	};
	struct pair_rig r;

	open_out(&r, "round_trips_are_smoothed", 4, NULL);
	pair_run(r.p, 100 * PAIR_US);
	for (int32_t k = 0; k < 4; k++) {
		struct mrc_pkt pkt;

		pair_rig_sent(&r, k)->sent_ns = r.p->now - steps[k].sample_ns;
		pkt = sack_of(&r, k);
		give(&r, &pkt);
		PAIR_EQ(r.p, r.qp->srtt_ns, steps[k].srtt_ns);
		PAIR_EQ(r.p, r.qp->rttvar_ns, steps[k].rttvar_ns);
	}
	pair_rig_close(&r);
}

/* ---- distance ---- */

static struct mrc_nscc_cfg cc_cfg; /* set before each pair by with_window */

static void with_window(struct pair_cfg *cfg)
{
	mrc_nscc_cfg_default(&cc_cfg, UINT64_C(100000000000), 40000, 1024, true);
	cfg->cc = &cc_cfg;
}

static void far(struct mrc_sched_cfg *cfg, int side)
{
	cfg->loss_by_distance = true;
	cfg->probes = false;
}

static void by_distance(struct pair_cfg *cfg)
{
	cfg->tweak = far;
}

/*
 * Where an entropy value pins no path, a packet is lost that a window's worth of later ones has
 * overtaken, five at least. A copy is not judged by its number.
 */
/* spec */
static void distance_convicts(void **state)
{
	for (uint32_t window = 4; window <= 7; window++) {
		int32_t far_off = window < 5 ? 5 : (int32_t)window;
		struct mrc_pkt pkt;
		struct pair_rig r;

		open_out(&r, "distance_convicts", 12, by_distance);
		r.qp->tx_window = window;
		pair_rig_sent(&r, 1)->rtx = 1;
		pkt = sack_of(&r, far_off + 1);
		give(&r, &pkt);
		PAIR_EQ(r.p, lost(&r, 0), true);
		PAIR_EQ(r.p, lost(&r, 1), false);
		for (int32_t k = 2; k <= far_off; k++)
			PAIR_EQ(r.p, lost(&r, k), false);
		PAIR_EQ(r.p, r.s->counters.rtx_by_distance, 1);
		pkt = sack_of(&r, far_off + 2);
		give(&r, &pkt);
		PAIR_EQ(r.p, lost(&r, 2), true);
		PAIR_EQ(r.p, lost(&r, 3), false);
		pair_rig_close(&r);
	}
}

static void by_distance_and_window(struct pair_cfg *cfg)
{
	with_window(cfg);
	by_distance(cfg);
}

/* With a congestion window: as many packets as one and a half of it hold, as one of the largest
 * holds at most, five at least. */
/* spec */
static void distance_follows_the_window(void **state)
{
	static const struct {
		uint32_t cwnd, max_cwnd; /* packets of 1024 + 40 bytes */
		int32_t distance;
	} rows[] = {
		{20, 100, 30},
		{20, 25, 25},
		{2, 100, 5},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mrc_pkt pkt;
		struct pair_rig r;

		open_out(&r, "distance_follows_the_window", 40, by_distance_and_window);
		r.qp->cc.cwnd = (int64_t)rows[i].cwnd * (1024 + NOMINAL_EXTRA);
		cc_cfg.max_cwnd = rows[i].max_cwnd * (1024 + NOMINAL_EXTRA);
		pkt = sack_of(&r, rows[i].distance);
		pkt.sack.rcvd_units = r.qp->top_units; /* nothing that the window would grow by */
		pkt.sack.timestamp ^= 0x8000;          /* nor a round trip */
		give(&r, &pkt);
		PAIR_EQ(r.p, lost(&r, 0), true);
		PAIR_EQ(r.p, lost(&r, 1), false);
		pair_rig_close(&r);
	}
}

static void plain(struct pair_cfg *cfg)
{
	cfg->nb_evs = 64;
}

/* Elsewhere numbers convict nobody. */
static void distance_is_off(void **state)
{
	struct mrc_pkt pkt;
	struct pair_rig r;

	open_out(&r, "distance_is_off", 40, plain);
	r.qp->tx_window = 5;
	pkt = sack_of(&r, 39);
	give(&r, &pkt);
	PAIR_EQ(r.p, r.s->counters.rtx_by_distance, 0);
	pair_rig_close(&r);
}

/* ---- strict echoes of copies ---- */

static void strict_echo(struct mrc_sched_cfg *cfg, int side)
{
	cfg->strict_echo = true;
}

static void strictly(struct pair_cfg *cfg)
{
	cfg->tweak = strict_echo;
}

/*
 * Of a packet that was sent again it is not known which copy is answered: its echo is not compared,
 * or every retransmission would have to be sent until its own answer comes first.
 */
static void strict_echo_spares_copies(void **state)
{
	struct mrc_pkt pkt;
	struct pair_rig r;

	open_out(&r, "strict_echo_spares_copies", 2, strictly);
	for (int32_t k = 0; k < 2; k++) {
		pkt = sack_of(&r, k);
		pkt.sack.entropy ^= 1;
		pair_rig_sent(&r, k)->rtx = (uint8_t)k;
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind,
			k == 0 ? MRC_RX_DROP : MRC_RX_CONSUMED);
	}
	PAIR_EQ(r.p, pair_drops(r.p, PAIR_A, MRC_DROP_ECHO_MISMATCH), 1);
	PAIR_EQ(r.p, r.qp->snt.nb_open, 1);
	pair_rig_close(&r);
}

/* ---- silent planes ---- */

/* Two packets wait on one plane for a millisecond, each on its own entropy value; the probe of the
 * second one's has waited for half of that, and others were heard. heard_ns: when the plane was
 * heard last, from when the probe left. Is the first packet lost? */
static bool lost_on_silent_plane(int64_t heard_ns)
{
	struct pair_rig r;
	uint64_t asked_ns;
	uint32_t plane;
	bool was_lost;

	open_out(&r, "silent_plane_loses_all", 2, NULL);
	pair_run(r.p, 2 * PAIR_MS);
	probe_forget(r.qp);
	plane = pair_rig_plane(&r, 0);
	for (uint32_t i = 0; i < MRC_MAX_PLANES; i++) {
		r.qp->path->heard_ns[i] = r.p->now;
		r.qp->path->slow_ns[i] = 100000;
	}
	r.qp->srtt_ns = 40000;
	r.qp->rttvar_ns = 1000;
	for (uint32_t ev = 0; ev < 64; ev++) /* another value of the first one's plane */
		if (ev != pair_rig_sent(&r, 0)->ev &&
			mrc_ev_get(r.qp->path->evs, ev)->plane == plane)
			pair_rig_sent(&r, 1)->ev = (uint16_t)ev;
	asked_ns = r.p->now - 500000;
	r.qp->path->heard_ns[plane] = (uint64_t)((int64_t)asked_ns + heard_ns);
	r.qp->probes[0] = (struct probe){
		.id = 1, .ev = pair_rig_sent(&r, 1)->ev, .state = PROBE_SENT, .sent_ns = asked_ns};
	pair_rig_sent(&r, 0)->sent_ns = pair_rig_sent(&r, 1)->sent_ns = r.p->now - 1000000;
	r.qp->answer_ns = r.p->now - 1000;
	probe_look(r.s, r.p->now, r.qp);
	was_lost = lost(&r, 0);
	assert_true(lost(&r, 1)); /* its own path was asked in vain */
	pair_rig_close(&r);
	return was_lost;
}

/* A probe that stays away tells of its plane only if nothing else came back over that since. */
/* spec */
static void silent_plane_loses_all(void **state)
{
	assert_true(lost_on_silent_plane(-1));
	assert_false(lost_on_silent_plane(0));
	assert_false(lost_on_silent_plane(1));
}

/* Planes of the probes that are wanted. */
static uint32_t wanted_planes(const struct pair_rig *r)
{
	uint32_t planes = 0;

	for (uint32_t i = 0; i < NB_PROBES; i++)
		if (r->qp->probes[i].state == PROBE_WANTED)
			planes |= 1u << mrc_ev_get(r->qp->path->evs, r->qp->probes[i].ev)->plane;
	return planes;
}

/*
 * Who answered last is asked along with a packet that waits, so that silence of one path can be
 * told from silence of all; but not over a plane that is gone: then it is another one's turn.
 */
static void witness_is_on_a_living_plane(void **state)
{
	for (int gone = 0; gone < 2; gone++) {
		struct pair_rig r;
		uint32_t last, planes;

		open_out(&r, "witness_is_on_a_living_plane", 1, NULL);
		pair_run(r.p, 2 * PAIR_MS);
		probe_forget(r.qp);
		for (uint32_t i = 0; i < MRC_MAX_PLANES; i++) {
			r.qp->path->heard_ns[i] = r.p->now;
			r.qp->path->slow_ns[i] = 100000;
		}
		r.qp->srtt_ns = 40000;
		r.qp->nb_mute = 0;
		last = (pair_rig_plane(&r, 0) + 1) % r.p->cfg.nb_planes;
		for (uint32_t ev = 0; ev < 64; ev++)
			if (mrc_ev_get(r.qp->path->evs, ev)->plane == last)
				r.qp->path->heard_ev = (uint16_t)ev;
		if (gone)
			r.s->up &= ~(1u << last);
		probe_look(r.s, r.p->now, r.qp);
		planes = wanted_planes(&r);
		PAIR_EQ(r.p, planes >> pair_rig_plane(&r, 0) & 1, 1);
		PAIR_EQ(r.p, __builtin_popcount(planes), 2);
		PAIR_EQ(r.p, planes >> last & 1, !gone);
		pair_rig_close(&r);
	}
}

/* ---- the transport ACK ---- */

/*
 * The SACK is here, the ACK is not: it may be later by what planes differ. Round trip 40 us, half
 * of it more than four deviations: 20 us; with a plane of 100 us and a quarter of that: 85 us.
 */
/* spec */
static void missing_ack_has_its_time(void **state)
{
	for (int slow = 0; slow < 2; slow++) {
		struct mrc_pkt pkt;
		struct pair_rig r;

		open_out(&r, "missing_ack_has_its_time", 1, NULL);
		pair_run(r.p, 100 * PAIR_US);
		r.qp->srtt_ns = 40000;
		r.qp->rttvar_ns = 4000;
		memset(r.qp->path->slow_ns, 0, sizeof(r.qp->path->slow_ns));
		r.qp->path->slow_ns[2] = slow ? 100000 : 40000;
		pair_rig_sent(&r, 0)->sent_ns = r.p->now - 40000;
		pkt = sack_of(&r, 0);
		pkt.psn = pkt.sack.cack = pair_rig_psn(&r, 0);
		pkt.sack.ack_offset = 0;
		pkt.sack.bitmap = 0;
		give(&r, &pkt);
		PAIR_EQ(r.p, r.qp->ask_ns, r.p->now + (slow ? 125000 - 40000 : 20000));
		pair_rig_close(&r);
	}
}

/* ---- paths that go ---- */

/* All that was asked of a path ends without an answer when its last QP goes, not only the first. */
static void all_calls_end_with_their_path(void **state)
{
	struct pair_rig r;
	struct mrc_sched_ep_req req;

	pair_rig_open(&r, "all_calls_end_with_their_path", NULL);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	req = (struct mrc_sched_ep_req){.local = r.p->q[PAIR_A][0].attr.local,
		.peer = r.p->q[PAIR_A][0].attr.peer,
		.op = MRC_EP_EV_PROBE,
		.cls = MRC_CLASS_NO_TRIM,
		.timeout_ns = PAIR_S,
		.any_ev = true};
	for (uint16_t k = 0; k < 5; k++) {
		req.id = k;
		PAIR_EQ(r.p, mrc_sched_ep_send(r.s, r.p->now, &req), MRC_OK);
	}
	PAIR_EQ(r.p,
		mrc_sched_qp_modify(r.s, r.p->now, r.qp, MRC_QP_RESET, &r.p->q[PAIR_A][0].attr),
		MRC_OK);
	for (uint32_t i = 0; i < NB_EP_CALLS; i++)
		assert_null(r.s->calls[i].path);
	assert_true(list_empty(&r.s->wanted_calls));
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 10 * PAIR_US);
	PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_EP_RESULT], 5);
	PAIR_EQ(r.p, r.p->last_event[PAIR_A].rtt_ns, MRC_SCHED_NEVER);
	PAIR_EQ(r.p, r.s->nb_asked, 0);
	pair_rig_close(&r);
}

/* ---- what is no news ---- */

/* An answer that acknowledges nothing new is no progress: the timer runs on, and the retries that
 * were counted stay counted. */
/* spec */
static void old_news_is_no_progress(void **state)
{
	struct mrc_pkt pkt;
	struct pair_rig r;
	uint64_t rto_ns;

	open_out(&r, "old_news_is_no_progress", 3, NULL);
	pair_run(r.p, 40 * PAIR_US);
	r.qp->retries = 2;
	pkt = sack_of(&r, 1);
	give(&r, &pkt);
	PAIR_EQ(r.p, r.qp->retries, 0);
	rto_ns = r.qp->rto_ns;
	PAIR_EQ(r.p, rto_ns, r.p->now + r.qp->timeout_ns);
	r.qp->retries = 2;
	pair_run(r.p, 40 * PAIR_US);
	for (int again = 0; again < 2; again++) {
		give(&r, &pkt);
		PAIR_EQ(r.p, r.qp->rto_ns, rto_ns);
		PAIR_EQ(r.p, r.qp->retries, 2);
	}
	pair_rig_close(&r);
}

/* Whatever answers ends a silence: the rounds of probes are counted from the start again. */
static void any_answer_ends_a_silence(void **state)
{
	struct mrc_pkt pkt;
	struct pair_rig r;

	open_out(&r, "any_answer_ends_a_silence", 3, NULL);
	r.qp->nb_mute = MUTE_ROUNDS;
	pair_run(r.p, PAIR_US);
	pkt = sack_of(&r, 1);
	give(&r, &pkt);
	PAIR_EQ(r.p, r.qp->nb_mute, 0);
	PAIR_EQ(r.p, r.qp->answer_ns, r.p->now);
	pair_rig_close(&r);
}

static struct mrc_pkt nack_of(struct pair_rig *r, int32_t k, uint16_t rtx, uint32_t ev)
{
	struct mrc_pkt pkt;

	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = pair_rig_psn(r, k);
	pkt.nack.reason = MRC_NACK_TRIMMED;
	pkt.nack.entropy = mrc_ev_get(r->qp->path->evs, ev)->value;
	pkt.flags |= rtx;
	return pkt;
}

/*
 * A packet was trimmed and sent again on another path. The word about the first copy comes a second
 * time: it says nothing of the one that is under way. The word about that one does.
 */
/* spec */
static void nack_of_a_replaced_copy(void **state)
{
	struct mrc_pkt pkt;
	struct pair_rig r;
	uint32_t first;

	open_out(&r, "nack_of_a_replaced_copy", 3, with_window);
	first = pair_rig_sent(&r, 0)->ev;
	pkt = nack_of(&r, 0, 0, first);
	give(&r, &pkt);
	PAIR_EQ(r.p, lost(&r, 0), true);
	PAIR_EQ(r.p, mrc_nscc_inflight(&r.qp->cc), r.qp->snt.book);
	give(&r, &pkt); /* before it left again: once is enough, for the window as well */
	PAIR_EQ(r.p, r.s->counters.rtx_by_nack, 1);
	PAIR_EQ(r.p, mrc_nscc_inflight(&r.qp->cc), r.qp->snt.book);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 2 * PAIR_US);
	PAIR_EQ(r.p, lost(&r, 0), false);
	PAIR_EQ(r.p, pair_rig_sent(&r, 0)->rtx, 1);
	assert_int_not_equal(pair_rig_sent(&r, 0)->ev, first);
	give(&r, &pkt);
	PAIR_EQ(r.p, lost(&r, 0), false);
	PAIR_EQ(r.p, r.s->counters.rtx_by_nack, 1);
	pkt = nack_of(&r, 0, MRC_PKT_RTX, pair_rig_sent(&r, 0)->ev);
	give(&r, &pkt);
	PAIR_EQ(r.p, lost(&r, 0), true);
	PAIR_EQ(r.p, r.s->counters.rtx_by_nack, 2);
	pair_rig_close(&r);
}

/* With a congestion window that is open the end of a message asks for a transport ACK, and no
 * packet before it. */
static void open_windows_do_not_ask(void **state)
{
	struct pair_rig r;

	open_out(&r, "open_windows_do_not_ask", 20, with_window);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++)
		PAIR_EQ(r.p, (r.tape.pkts[PAIR_A][i].flags & MRC_PKT_ACKREQ) != 0,
			i == 15 || i == 19);
	pair_rig_close(&r);
}

/* ---- by how long ---- */

/* Half of the timeout bounds how long a question waits, but never below a round trip and a quarter
 * of it. */
static void questions_come_before_the_timer(void **state)
{
	static const uint64_t timeouts_ns[] = {400000, 200000, 100000, 80000, 20000};
	static const uint64_t waits_ns[] = {160000, 100000, 50000, 50000, 50000};
	struct pair_rig r;

	open_out(&r, "questions_come_before_the_timer", 1, NULL);
	r.qp->srtt_ns = 40000;
	r.qp->rttvar_ns = 30000; /* 40 + 4 x 30 us */
	for (size_t i = 0; i < sizeof(waits_ns) / sizeof(waits_ns[0]); i++) {
		r.qp->timeout_ns = timeouts_ns[i];
		PAIR_EQ(r.p, probe_wait_ns(r.qp), waits_ns[i]);
	}
	pair_rig_close(&r);
}

/* A copy is lost when an answer lacks it that left lead_ns later, and that took rtt_ns. */
static bool copy_convicted(uint64_t lead_ns, uint64_t rtt_ns)
{
	struct mrc_pkt pkt;
	struct pair_rig r;
	bool was_lost;

	pair_rig_two_out(&r, "slow_answers_convict_copies_late");
	pair_run(r.p, PAIR_MS);
	r.qp->srtt_ns = 200000; /* so that no answer counts as late */
	r.qp->rttvar_ns = 0;
	pair_rig_sent(&r, 1)->sent_ns = r.p->now - rtt_ns;
	pair_rig_sent(&r, 0)->sent_ns = r.p->now - rtt_ns - lead_ns;
	pair_rig_sent(&r, 0)->rtx = 1;
	pkt = sack_of(&r, 1);
	give(&r, &pkt);
	was_lost = lost(&r, 0);
	pair_rig_close(&r);
	return was_lost;
}

/*
 * The slowest round trip of the copy's plane is 100 us; a sixteenth of it and four deviations come
 * on top, and what the answer itself took is taken off. However slow that was, it has left by a
 * sixteenth of the sum later than the copy.
 */
/* spec */
static void slow_answers_convict_copies_late(void **state)
{
	/* The sample of 120 us changes the deviation to (200 - 120) / 4 = 20 us: 100 + 6.25 + 80
	 * make 186.25 us, less the answer's 120. */
	assert_false(copy_convicted(66249, 120000));
	assert_true(copy_convicted(66250, 120000));
	/* 150 us: 12.5 us of deviation, 156.25 us. What is left of them is less than a sixteenth.
	 */
	assert_false(copy_convicted(9764, 150000));
	assert_true(copy_convicted(9765, 150000));
	/* An answer of 200 us leaves no deviation: 106.25 us are less than that, and a sixteenth of
	 * them is left. */
	assert_false(copy_convicted(6639, 200000));
	assert_true(copy_convicted(6640, 200000));
}

/* ---- what is left behind ---- */

static void two_qps(struct pair_cfg *cfg)
{
	cfg->nb_qps = 3;
	cfg->allow_error = true;
}

/* Events that name a QP go with it, those of others stay, in order. */
static void events_go_with_their_qp(void **state)
{
	struct pair_rig r;
	struct mrc_sched_event event;
	struct pair_qp *q;

	pair_rig_open(&r, "events_go_with_their_qp", two_qps);
	q = r.p->q[PAIR_A];
	for (uint32_t i = 0; i < 3; i++)
		qp_fail(r.s, r.p->now, q[i].qp, MRC_WC_FATAL_ERR, UINT32_MAX);
	PAIR_EQ(r.p, mrc_sched_qp_modify(r.s, r.p->now, q[1].qp, MRC_QP_RESET, &q[1].attr), MRC_OK);
	for (uint32_t i = 0; i < 3; i += 2) {
		assert_true(mrc_sched_event_poll(r.s, &event));
		PAIR_EQ(r.p, event.type, MRC_EVENT_QP_FATAL);
		assert_ptr_equal(event.qp, q[i].qp);
	}
	assert_false(mrc_sched_event_poll(r.s, &event));
	pair_rig_close(&r);
}

static void two_peers(struct mrc_sched_cfg *cfg, int side)
{
	cfg->max_peers = 2;
}

static void few_peers(struct pair_cfg *cfg)
{
	cfg->tweak = two_peers;
}

/* A neighbour that was only made for a path that could not be had is gone with it; one whose link
 * addresses are known stays. */
static void no_path_leaves_no_peer(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 9, 9};
	struct pair_rig r;
	struct mrc_sched_qp_attr attr;
	struct mrc_gid other;
	struct path *paths[8] = {0};
	uint32_t nb = 0;

	pair_rig_open(&r, "no_path_leaves_no_peer", few_peers);
	attr = r.p->q[PAIR_A][0].attr;
	while (!list_empty(&r.s->free_paths)) {
		assert_true(nb < 8);
		paths[nb] = path_get(r.s, r.p->now, &attr.local, &attr.peer, r.qp->path->evs,
			(uint8_t)(100 + nb));
		assert_non_null(paths[nb]);
		nb++;
	}
	other = attr.peer;
	other.raw[15] ^= 0x33;
	for (int known = 0; known < 2; known++) {
		if (known)
			PAIR_EQ(r.p, mrc_sched_peer_set(r.s, &other, 0, mac), MRC_OK);
		assert_null(
			path_get(r.s, r.p->now, &attr.local, &other, r.qp->path->evs, attr.ttl));
		PAIR_EQ(r.p, peer_find(r.s, &other) != NULL, known);
	}
	/* Neither has one that is in use gone, even when nothing leads there at present. */
	for (uint32_t plane = 0; plane < r.p->cfg.nb_planes; plane++)
		PAIR_EQ(r.p, mrc_sched_peer_set(r.s, &attr.peer, plane, NULL), MRC_OK);
	assert_null(path_get(r.s, r.p->now, &attr.local, &attr.peer, r.qp->path->evs, 77));
	assert_non_null(peer_find(r.s, &attr.peer));
	while (nb-- > 0)
		path_put(r.s, paths[nb]);
	pair_rig_close(&r);
}

/* ---- endpoint probes and the controller ---- */

/* A value that the controller denies after its probe was asked for, and before it left, sees none.
 */
/* spec */
static void denied_before_the_probe_left(void **state)
{
	for (int denied = 0; denied < 2; denied++) {
		struct pair_rig r;
		struct mrc_ev_set *evs;

		pair_rig_open(&r, "denied_before_the_probe_left", NULL);
		evs = r.qp->path->evs;
		for (uint32_t k = 0; k < 4; k++)
			mrc_ev_feedback(evs, r.p->now, 20, MRC_EV_FB_LOST);
		PAIR_EQ(r.p, mrc_ev_state(evs, 20), MRC_EV_ASSUMED_BAD);
		ep_look(r.s, mrc_ev_deadline(evs), r.qp->path);
		assert_false(list_empty(&r.s->wanted_calls));
		if (denied)
			PAIR_EQ(r.p, mrc_ev_set_state(evs, r.p->now, 20, MRC_EV_DENIED), MRC_OK);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, MRC_OP_EP_REQ), !denied);
		if (!denied)
			PAIR_EQ(r.p, r.tape.pkts[PAIR_A][0].ev, mrc_ev_get(evs, 20)->value);
		pair_rig_close(&r);
	}
}

/* ---- the size of a plane ---- */

static uint32_t plane_mtu; /* set before each pair by the test below */

static void one_small_plane(struct mrc_sched_cfg *cfg, int side)
{
	cfg->planes[1].mtu = (uint16_t)plane_mtu;
}

static void small_plane_v4(struct pair_cfg *cfg)
{
	cfg->tweak = one_small_plane;
}

static void small_plane_v6(struct pair_cfg *cfg)
{
	small_plane_v4(cfg);
	cfg->v6 = true;
}

/*
 * A plane is used if a full packet fits through it: path MTU 1024, IP 20 or 40, UDP 8, BTH 12,
 * METH 4, TSETH 4, RETH 16, immediate 4, ICRC 4.
 */
/* spec */
static void full_packets_must_fit(void **state)
{
	for (int v6 = 0; v6 < 2; v6++)
		for (uint32_t less = 0; less < 2; less++) {
			struct pair_rig r;

			plane_mtu = 1024 + (v6 ? 40 : 20) + MRC_UDP_LEN + MRC_BTH_LEN +
				    MRC_METH_LEN + MRC_TSETH_LEN + MRC_RETH_LEN + MRC_IMMDT_LEN +
				    MRC_ICRC_LEN - less;
			pair_rig_open(
				&r, "full_packets_must_fit", v6 ? small_plane_v6 : small_plane_v4);
			PAIR_EQ(r.p, r.qp->fit_planes >> 1 & 1, !less);
			PAIR_EQ(r.p, r.qp->fit_planes | 2, 15);
			pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 64 * 1024, .imm = true});
			pair_finish(r.p, PAIR_S);
			PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, planes[1].tx_data_packets) != 0,
				!less);
			pair_rig_close(&r);
		}
}

/* ---- who is heard ---- */

/* Anybody can make a trimmed packet: it is no sign of life of a plane. A whole one is. */
static void trimmed_packets_are_not_heard(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;
	const struct peer *peer;
	uint32_t was, len;
	uint8_t *frame;

	pair_rig_open(&r, "trimmed_packets_are_not_heard", NULL);
	r.p->q[PAIR_B][0].relaxed = true;
	peer = r.p->q[PAIR_B][0].qp->path->peer;
	was = peer->nb_heard;
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 0).v, 0, 1024, &pkt);
	pkt.cls = MRC_CLASS_TRIMMED;
	pkt.dscp = r.p->proto.dscp[MRC_CLASS_TRIMMED];
	frame = pair_encode(r.p, &pkt, 0, &len);
	PAIR_EQ(r.p, pair_rx_now(r.p, PAIR_B, 0, frame, len - 512).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, peer->nb_heard, was);
	free(frame);
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 0).v, 0, 1024, &pkt);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, peer->nb_heard, was + 1);
	pair_rig_close(&r);
}

static void shared_window(struct pair_cfg *cfg)
{
	cfg->dynamic_mpr = true;
}

/* A window that shrank takes nothing back, to the last PSN; and grants none beyond it. */
/* spec */
static void granted_edge_is_exact(void **state)
{
	struct pair_rig r;
	struct mrc_sched_qp *qp;
	mrc_psn_t edge;
	struct mrc_pkt pkt;
	struct mrc_rx_verdict v;

	pair_rig_open(&r, "granted_edge_is_exact", shared_window);
	r.p->q[PAIR_B][0].relaxed = true;
	qp = r.p->q[PAIR_B][0].qp;
	edge = qp_rx_edge(qp);
	PAIR_EQ(r.p, mrc_psn_diff(edge, qp->rcv.cack), 1024);
	qp->rx_edge = edge;
	qp->rx_window = 128;
	for (int32_t over = 1; over >= 0; over--) {
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, mrc_psn_add(edge, over).v, 0, 8, &pkt);
		v = pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
		PAIR_EQ(r.p, v.kind, over ? MRC_RX_DROP : MRC_RX_CONSUMED);
		PAIR_EQ(r.p, v.arg, over ? MRC_DROP_PSN_AHEAD : MRC_KEEP);
	}
	/* And what was taken there is known when it comes again. */
	v = pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	PAIR_EQ(r.p, v.arg, MRC_DROP_PSN_DUPLICATE);
	pair_rig_close(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(round_trips_are_smoothed),
	cmocka_unit_test(distance_convicts),
	cmocka_unit_test(distance_follows_the_window),
	cmocka_unit_test(distance_is_off),
	cmocka_unit_test(strict_echo_spares_copies),
	cmocka_unit_test(silent_plane_loses_all),
	cmocka_unit_test(witness_is_on_a_living_plane),
	cmocka_unit_test(missing_ack_has_its_time),
	cmocka_unit_test(all_calls_end_with_their_path),
	cmocka_unit_test(old_news_is_no_progress),
	cmocka_unit_test(any_answer_ends_a_silence),
	cmocka_unit_test(nack_of_a_replaced_copy),
	cmocka_unit_test(open_windows_do_not_ask),
	cmocka_unit_test(questions_come_before_the_timer),
	cmocka_unit_test(slow_answers_convict_copies_late),
	cmocka_unit_test(events_go_with_their_qp),
	cmocka_unit_test(no_path_leaves_no_peer),
	cmocka_unit_test(denied_before_the_probe_left),
	cmocka_unit_test(full_packets_must_fit),
	cmocka_unit_test(trimmed_packets_are_not_heard),
	cmocka_unit_test(granted_edge_is_exact),
};

PAIR_TEST_MAIN(tests)
