/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_ops.c - operations on demand (endpoint operations and reliability probes with their
 * results), and what the engine makes of planes that go down.
 */
#include "pair_test.h"

static struct mrc_sched *engine(struct pair *p)
{
	return p->hosts[PAIR_A][0].sched;
}

static struct mrc_sched_ep_req request(struct pair *p, enum mrc_ep_op op, uint16_t id)
{
	const struct pair_qp *q = &p->q[PAIR_A][0];

	return (struct mrc_sched_ep_req){.local = q->attr.local,
		.peer = q->attr.peer,
		.op = op,
		.id = id,
		.cls = MRC_CLASS_NO_TRIM,
		.timeout_ns = 100 * PAIR_US};
}

static int ask(struct pair *p, const struct mrc_sched_ep_req *req)
{
	int err = mrc_sched_ep_send(engine(p), p->now, req);

	pair_kick(&p->hosts[PAIR_A][0]);
	return err;
}

/* An EV probe travels the path it is told, and tells the round trip and the port it came back on.
 * spec */
static void ev_probe(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_tape tape;
	struct mrc_sched_ep_req req;

	pair_test_cfg(&cfg, "ev_probe", 101);
	cfg.skew_ns = 3 * PAIR_US;
	p = pair_create(&cfg);
	pair_tape_start(p, &tape);
	for (uint8_t plane = 0; plane < cfg.nb_planes; plane++) {
		const struct mrc_sched_event *event = &p->last_event[PAIR_A];
		const struct mrc_pkt *pkt;

		pair_tape_clear(&tape);
		req = request(p, MRC_EP_EV_PROBE, (uint16_t)(0xFF00 + plane));
		req.ev = (struct mrc_ev){.value = 0xC000u + plane, .plane = plane};
		PAIR_EQ(p, ask(p, &req), MRC_OK);
		pair_run(p, 90 * PAIR_US);
		PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], plane + 1u);
		PAIR_EQ(p, event->arg, 0xFF00u + plane);
		PAIR_EQ(p, event->plane, plane);
		PAIR_EQ(p, event->svc_time, false);
		assert_true(mrc_gid_eq(&event->peer, &req.peer));
		PAIR_EQ(p, event->rtt_ns, 2 * (cfg.delay_ns + plane * cfg.skew_ns));
		PAIR_EQ(p, pair_tape_count(&tape, PAIR_A, MRC_OP_EP_REQ), 1);
		pkt = &tape.pkts[PAIR_A][0];
		PAIR_EQ(p, pkt->ev, 0xC000u + plane);
		PAIR_EQ(p, pkt->ep.op, MRC_EP_EV_PROBE);
		PAIR_EQ(p, pkt->ep.port_mask, 0);
		PAIR_EQ(p, pkt->dqpn, MRC_QPN_ENDPOINT);
		PAIR_EQ(p, tape.pkts[PAIR_B][0].psn.v, pkt->psn.v);
	}
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* Without an answer the result says so after the time given; one that comes later is nobody's. */
static void no_answer(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched_ep_req req;

	pair_test_cfg(&cfg, "no_answer", 102);
	p = pair_create(&cfg);
	req = request(p, MRC_EP_EV_PROBE, 7);
	req.any_ev = true;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DELAY,
				  .kinds = PAIR_EP,
				  .dir = PAIR_B2A,
				  .delay_ns = 200 * PAIR_US});
	PAIR_EQ(p, ask(p, &req), MRC_OK);
	pair_run(p, 95 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], 0);
	pair_run(p, 10 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], 1);
	PAIR_EQ(p, p->last_event[PAIR_A].arg, 7);
	assert_true(p->last_event[PAIR_A].rtt_ns == MRC_SCHED_NEVER);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], 1);
	PAIR_EQ(p, pair_drops(p, PAIR_A, MRC_DROP_EP_RESPONSE), 1);
	/* What the host asks is the host's: no entropy value is blamed. */
	PAIR_EQ(p, mrc_ev_state_count(p->hosts[PAIR_A][0].set, MRC_EV_ASSUMED_BAD, -1), 0);
	pair_destroy(p);
}

/* Strangers cannot be asked, and not more at once than results are kept for; all results come. */
static void limits(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched_ep_req req, bad;
	uint32_t nb = 0;

	pair_test_cfg(&cfg, "limits", 103);
	p = pair_create(&cfg);
	req = request(p, MRC_EP_EV_PROBE, 0);
	req.any_ev = true;
	bad = req;
	bad.peer.raw[15] ^= 0x55;
	PAIR_EQ(p, ask(p, &bad) == MRC_ERR_NOENT, true);
	bad = req;
	bad.op = (enum mrc_ep_op)3;
	PAIR_EQ(p, ask(p, &bad) == MRC_ERR_INVAL, true);
	bad = req;
	bad.any_ev = false;
	bad.ev.plane = (uint8_t)cfg.nb_planes;
	PAIR_EQ(p, ask(p, &bad) == MRC_ERR_INVAL, true);
	for (uint32_t i = 0; i < 100; i++) {
		req.id = (uint16_t)i;
		nb += ask(p, &req) == MRC_OK;
	}
	PAIR_EQ(p, nb, MRC_SCHED_MAX_ASKED);
	PAIR_EQ(p, ask(p, &req) == MRC_ERR_FULL, true);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], MRC_SCHED_MAX_ASKED);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, ep_req_rx), MRC_SCHED_MAX_ASKED);
	PAIR_EQ(p, ask(p, &req), MRC_OK);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], MRC_SCHED_MAX_ASKED + 1);
	pair_destroy(p);
}

/* Port status on demand: the mask goes out as given, the peer leaves the plane, and comes back.
 * spec */
static void port_status(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched_ep_req req;

	pair_test_cfg(&cfg, "port_status", 104);
	p = pair_create(&cfg);
	req = request(p, MRC_EP_PORT_STATUS, 9);
	req.any_ev = true;
	for (uint32_t down = 2; down != UINT32_MAX; down = down == 2 ? 99 : UINT32_MAX) {
		uint64_t before;

		req.port_mask = 0;
		for (uint32_t plane = 0; plane < cfg.nb_planes; plane++)
			if (plane != down)
				req.port_mask |= mrc_proto_port_bit(&p->proto, plane + 1);
		PAIR_EQ(p, ask(p, &req), MRC_OK);
		pair_run(p, 50 * PAIR_US);
		PAIR_EQ(p, p->last_event[PAIR_B].type, MRC_EVENT_PORT_STATUS);
		PAIR_EQ(p, p->last_event[PAIR_B].arg, down == 2 ? 0xB : 0xF);
		before = mrc_sched_counters_get(p->hosts[PAIR_B][0].sched)->planes[2].tx_packets;
		pair_post(p, PAIR_B, 0, &(struct pair_wr){.len = 100000});
		pair_run(p, 10 * PAIR_MS);
		PAIR_EQ(p,
			mrc_sched_counters_get(p->hosts[PAIR_B][0].sched)->planes[2].tx_packets >
				before,
			down != 2);
	}
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_EP_RESULT], 2);
	pair_destroy(p);
}

static int probe_now(struct pair *p, uint16_t id)
{
	int err = mrc_sched_qp_probe(engine(p), p->now, p->q[PAIR_A][0].qp, id, 100 * PAIR_US);

	pair_kick(&p->hosts[PAIR_A][0]);
	return err;
}

/* A reliability probe on demand: answered with nothing in flight, timed out without an answer, and
 * one that finds a hole repairs it. Reset ends it without a word.
 * spec */
static void qp_probe(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t hash;

	pair_test_cfg(&cfg, "qp_probe", 105);
	p = pair_create(&cfg);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 5000});
	pair_finish(p, PAIR_MS);
	hash = pair_query(p, PAIR_B, 0).state_hash;
	PAIR_EQ(p, probe_now(p, 0x1234), MRC_OK);
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_PROBE_RESULT], 1);
	PAIR_EQ(p, p->last_event[PAIR_A].arg, 0x1234);
	assert_true(p->last_event[PAIR_A].qp == p->q[PAIR_A][0].qp);
	assert_true(p->last_event[PAIR_A].rtt_ns >= 2 * cfg.delay_ns);
	assert_true(p->last_event[PAIR_A].rtt_ns < 2 * cfg.delay_ns + 2 * PAIR_US);
	PAIR_EQ(p, pair_query(p, PAIR_B, 0).state_hash, hash);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_probe), 1);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_PROBE});
	PAIR_EQ(p, probe_now(p, 2), MRC_OK);
	pair_run(p, 110 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_PROBE_RESULT], 2);
	assert_true(p->last_event[PAIR_A].rtt_ns == MRC_SCHED_NEVER);
	PAIR_EQ(p, probe_now(p, 3), MRC_OK);
	pair_reconnect(p, 0, 100, 200);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_PROBE_RESULT], 2);
	/* The one that ended without a word has given its place back. */
	for (uint32_t i = 0; i < MRC_SCHED_MAX_ASKED; i++)
		PAIR_EQ(p, probe_now(p, (uint16_t)i), MRC_OK);
	PAIR_EQ(p, probe_now(p, 0) == MRC_ERR_FULL, true);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_PROBE_RESULT], 2 + MRC_SCHED_MAX_ASKED);
	/* A QP that does not send has no path to ask. */
	PAIR_EQ(p,
		mrc_sched_qp_modify(
			engine(p), p->now, p->q[PAIR_A][0].qp, MRC_QP_RESET, &p->q[PAIR_A][0].attr),
		MRC_OK);
	PAIR_EQ(p, probe_now(p, 9), MRC_ERR_STATE);
	pair_destroy(p);
}

static void no_probes(struct mrc_sched_cfg *cfg, int side)
{
	cfg->probes = false;
}

static void cut(struct pair *p, void *arg)
{
	pair_plane(p, (int)(intptr_t)arg, 1, false);
}

/* A carrier lost at either end: what was on its way is sent again after about a round trip, without
 * a probe and without a timeout, for the requester knows.
 * spec */
static void carrier_lost(void **state)
{
	for (intptr_t side = PAIR_A; side <= PAIR_B; side++) {
		struct pair_cfg cfg;
		struct pair *p;
		uint64_t start, took;

		pair_test_cfg(&cfg, "carrier_lost", 106);
		cfg.tweak = no_probes;
		p = pair_create(&cfg);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 50000});
		pair_finish(p, PAIR_MS);
		start = p->now;
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .planes = 1u << 1});
		pair_at(p, 2 * PAIR_US, cut, (void *)side);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100000});
		pair_run_idle(p, 100 * PAIR_MS);
		assert_true(pair_idle(p));
		took = p->q[PAIR_A][0].ops[1].done_ns - start;
		/* 98 packets, a round trip of 10 us; the timeout is far beyond. */
		if (took > 80 * PAIR_US)
			pair_fail(p, "repair took %llu ns", (unsigned long long)took);
		assert_true(PAIR_COUNTER(p, PAIR_A, retransmits) > 0);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, tx_probe), 0);
		pair_destroy(p);
	}
}

static void often_asked(struct mrc_ev_cfg *cfg)
{
	cfg->probe_ns = cfg->probe_max_ns = 100 * PAIR_US;
	cfg->revive_count = 3;
}

/*
 * Ten probes are under way when a dead value comes back, and are given up one by one meanwhile.
 * They were sent before the answered ones: the row of answers goes on. spec
 */
static void old_probes_do_not_count(void **state)
{
	struct pair *p = pair_test_dead_path("old_probes_do_not_count", 107, 5, often_asked);
	const struct mrc_ev_set *set = p->hosts[PAIR_A][0].set;

	pair_run(p, 5 * PAIR_MS);
	PAIR_EQ(p, mrc_ev_state(set, 5), MRC_EV_ASSUMED_BAD);
	pair_faults_clear(p);
	pair_run(p, 250 * PAIR_US);
	PAIR_EQ(p, mrc_ev_state(set, 5), MRC_EV_ASSUMED_BAD);
	pair_run(p, 100 * PAIR_US);
	PAIR_EQ(p, mrc_ev_state(set, 5), MRC_EV_GOOD);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ev_probe),
	cmocka_unit_test(no_answer),
	cmocka_unit_test(limits),
	cmocka_unit_test(port_status),
	cmocka_unit_test(qp_probe),
	cmocka_unit_test(carrier_lost),
	cmocka_unit_test(old_probes_do_not_count),
};

PAIR_TEST_MAIN(tests)
