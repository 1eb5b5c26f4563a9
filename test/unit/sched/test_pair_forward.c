/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_forward.c - the EV probe: it leaves on the one path that it is about, on no other and
 * not at all when that cannot be used; what comes back says how long that path takes and how it
 * fares, and nothing of any other.
 */
#include "pair_rig.h"

enum {
	BAD_EV = 20,
	REVIVE = 3, /* answers in a row that bring a value back, by default */
};

/* The wire swallows what B answers, and one entropy value is bad. */
static void open_bad(struct pair_rig *r, const char *name)
{
	struct mrc_ev_set *evs;

	pair_rig_open(r, name, NULL);
	evs = r->qp->path->evs;
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	for (uint32_t k = 0; k < 4; k++)
		mrc_ev_feedback(evs, r->p->now, BAD_EV, MRC_EV_FB_LOST);
	PAIR_EQ(r->p, mrc_ev_state(evs, BAD_EV), MRC_EV_ASSUMED_BAD);
}

/* The next probe of the bad value leaves. */
static void probe(struct pair_rig *r)
{
	struct mrc_ev_set *evs = r->qp->path->evs;
	const struct mrc_pkt *pkt;

	pair_tape_clear(&r->tape);
	ep_look(r->s, mrc_ev_deadline(evs), r->qp->path);
	pair_kick(&r->p->hosts[PAIR_A][0]);
	pair_run(r->p, 2 * PAIR_US);
	PAIR_EQ(r->p, pair_tape_count(&r->tape, PAIR_A, MRC_OP_EP_REQ), 1);
	pkt = &r->tape.pkts[PAIR_A][0];
	PAIR_EQ(r->p, pkt->ep.op, MRC_EP_EV_PROBE);
	PAIR_EQ(r->p, pkt->ev, mrc_ev_get(evs, BAD_EV)->value);
	PAIR_EQ(r->p, pkt->dmac[5], mrc_ev_get(evs, BAD_EV)->plane);
}

/* It is answered: flags of the answer, and by how many ticks the peer moved the stamp. */
static void answer(struct pair_rig *r, uint16_t flags, uint16_t ticks)
{
	const struct mrc_pkt *req = &r->tape.pkts[PAIR_A][0];
	struct mrc_pkt pkt;

	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_EP_RSP, &pkt);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.psn = req->psn;
	pkt.ep = req->ep;
	pkt.ep.timestamp = (uint16_t)(pkt.ep.timestamp + ticks);
	pkt.flags |= MRC_PKT_TS;
	if (flags & MRC_PKT_CE)
		pkt.ecn = MRC_ECN_CE;
	PAIR_EQ(r->p, pair_rx_pkt(r->p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
}

/* Three answers in a row, and the value is good; a mark on the last of them, and it rests first.
 * No other value changes. */
/* spec */
static void answers_revive_one_value(void **state)
{
	for (int marked = 0; marked <= REVIVE; marked++) {
		struct pair_rig r;
		struct mrc_ev_set *evs;

		open_bad(&r, "answers_revive_one_value");
		evs = r.qp->path->evs;
		for (int k = 1; k <= REVIVE; k++) {
			PAIR_EQ(r.p, mrc_ev_state(evs, BAD_EV), MRC_EV_ASSUMED_BAD);
			probe(&r);
			answer(&r, k == marked ? MRC_PKT_CE : 0, 0);
		}
		PAIR_EQ(r.p, mrc_ev_state(evs, BAD_EV),
			marked == REVIVE ? MRC_EV_SKIP : MRC_EV_GOOD);
		PAIR_EQ(r.p, mrc_ev_state_count(evs, MRC_EV_GOOD, -1),
			mrc_ev_count(evs) - (marked == REVIVE));
		pair_rig_close(&r);
	}
}

/* A probe that gets no answer ends the row: it takes as many as before. */
/* spec */
static void lost_probe_ends_the_row(void **state)
{
	struct pair_rig r;
	struct mrc_ev_set *evs;

	open_bad(&r, "lost_probe_ends_the_row");
	evs = r.qp->path->evs;
	for (int k = 1; k < REVIVE; k++) {
		probe(&r);
		answer(&r, 0, 0);
	}
	probe(&r);
	while (mrc_sched_expire(r.s, r.p->now + r.s->ep_wait_ns) != 0)
		;
	for (int k = 1; k <= REVIVE; k++) {
		PAIR_EQ(r.p, mrc_ev_state(evs, BAD_EV), MRC_EV_ASSUMED_BAD);
		probe(&r);
		answer(&r, 0, 0);
	}
	PAIR_EQ(r.p, mrc_ev_state(evs, BAD_EV), MRC_EV_GOOD);
	pair_rig_close(&r);
}

/* What the peer needed itself, by which it moved the stamp, is not the path's. */
/* spec */
static void service_time_is_not_the_path(void **state)
{
	for (uint16_t ticks = 0; ticks <= 5; ticks += 5) {
		struct pair_rig r;
		struct mrc_sched_ep_req req;
		uint64_t took_ns;

		pair_rig_open(&r, "service_time_is_not_the_path", NULL);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		req = pair_rig_ev_probe(&r);
		PAIR_EQ(r.p, mrc_sched_ep_send(r.s, r.p->now, &req), MRC_OK);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, 30 * PAIR_US);
		took_ns = r.p->now - r.tape.times[PAIR_A][0];
		answer(&r, 0, ticks);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, PAIR_US);
		PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_EP_RESULT], 1);
		PAIR_EQ(r.p, r.p->last_event[PAIR_A].svc_time, ticks != 0);
		PAIR_EQ(r.p, r.p->last_event[PAIR_A].rtt_ns, took_ns - ticks * MRC_TS_TICK_NS);
		pair_rig_close(&r);
	}
}

/* A probe for a path over a plane without carrier does not leave over another one. */
/* spec */
static void probe_of_a_dead_plane_stays(void **state)
{
	for (int up = 0; up < 2; up++) {
		struct pair_rig r;
		struct mrc_sched_ep_req req;

		pair_rig_open(&r, "probe_of_a_dead_plane_stays", NULL);
		req = (struct mrc_sched_ep_req){.local = r.p->q[PAIR_A][0].attr.local,
			.peer = r.p->q[PAIR_A][0].attr.peer,
			.op = MRC_EP_EV_PROBE,
			.cls = MRC_CLASS_NO_TRIM,
			.timeout_ns = 100 * PAIR_US,
			.ev = {.value = 0xC123, .plane = 2}};
		PAIR_EQ(r.p, mrc_sched_ep_send(r.s, r.p->now, &req), MRC_OK);
		if (!up)
			r.s->up &= ~(1u << 2);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, 90 * PAIR_US);
		PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, MRC_OP_EP_REQ), up);
		PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_EP_RESULT], up);
		pair_run(r.p, 90 * PAIR_US);
		PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_EP_RESULT], 1);
		PAIR_EQ(r.p, r.p->last_event[PAIR_A].rtt_ns == MRC_SCHED_NEVER, !up);
		pair_rig_close(&r);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(answers_revive_one_value),
	cmocka_unit_test(lost_probe_ends_the_row),
	cmocka_unit_test(service_time_is_not_the_path),
	cmocka_unit_test(probe_of_a_dead_plane_stays),
};

PAIR_TEST_MAIN(tests)
