/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_claims.c - a peer that claims more than can be, a path that the host took away, and
 * lives that end: at every event, with everything that a life can leave behind.
 */
#include "pair_test.h"

#include "engine.h"

static struct mrc_sched_qp *qp_of(struct pair *p, int side)
{
	return p->q[side][0].qp;
}

/* ---- claims ---- */

static struct mrc_nscc_cfg window;

/*
 * rcvd_bytes says how much was received. One forged SACK that names half the space more than was
 * sent would take 2 GiB off the book in flight, so that the congestion window never closes again,
 * and make all honest SACKs older than itself, so that no loss is judged by them.
 */
/* spec */
static void more_received_than_sent(void **state)
{
	for (int k = 0; k < 3; k++) {
		const uint32_t more[] = {1, 4096, 0x7FFFFF};
		struct pair_cfg cfg;
		struct pair *p;
		struct mrc_sched_qp *qp;
		struct mrc_pkt pkt;
		uint64_t before;

		pair_test_cfg(&cfg, "more_received_than_sent", 211);
		mrc_nscc_cfg_default(&window, 20000000000, 12000, 1024 + 100, true);
		cfg.cc = &window;
		cfg.mem_len = 1u << 20;
		cfg.nb_evs = 16;
		p = pair_create(&cfg);
		qp = qp_of(p, PAIR_A);
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 200, .depth = 8, .min_len = 65536, .max_len = 65536});
		pair_run(p, 100 * PAIR_US);
		pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = mrc_psn_add(qp->snt.una, -1);
		pkt.sack.ack_offset = INT16_MIN;
		pkt.sack.rcvd_units = (qp->snt.total + MRC_RCVD_UNIT - 1) / MRC_RCVD_UNIT + more[k];
		PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		/* All that was sent may have been received, and nothing else. */
		if (mrc_nscc_inflight(&qp->cc) < -(int64_t)MRC_RCVD_UNIT)
			pair_fail(p, "%lld bytes in flight", (long long)mrc_nscc_inflight(&qp->cc));
		/* A round trip later the word of the forger is forgotten. */
		pair_run(p, 50 * PAIR_US);
		before = p->q[PAIR_A][0].wire_first;
		for (int i = 0; i < 100; i++) {
			pair_run(p, PAIR_US);
			if (qp->snt.book > window.max_cwnd + cfg.pmtu + 100)
				pair_fail(p, "%llu bytes out with a window of %u",
					(unsigned long long)qp->snt.book, window.max_cwnd);
		}
		assert_true(p->q[PAIR_A][0].wire_first > before);
		/* And fresh SACKs convict what is lost: no timeout. */
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
					  .kinds = PAIR_DATA,
					  .rtx = PAIR_RTX_FIRST,
					  .every = 50});
		pair_finish_faulty(p, PAIR_S);
		assert_true(PAIR_COUNTER(p, PAIR_A, rtx_by_order) > 0);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		pair_destroy(p);
	}
}

/* The sum of what was sent has 32 bits and rcvd_bytes 24 of units of 256: both wrap together. */
static void sums_wrap_together(void **state)
{
	struct sentmap map = {.total = 0};

	for (uint32_t k = 0; k < 3000; k++) {
		uint32_t total = (k % 3 == 0 ? 0u : k % 3 == 1 ? 0x80000000u : 0xFFFFFF00u) + k / 3;
		uint32_t units = (uint32_t)(((uint64_t)total + 255) / 256) & SENT_UNITS_MASK;

		map.total = total;
		for (uint32_t back = 0; back < 200000; back += 1000)
			assert_int_equal(sentmap_units(&map, (units - back) & SENT_UNITS_MASK),
				(units - back) & SENT_UNITS_MASK);
		for (uint32_t more = 0; more <= SENT_UNITS_MASK / 2; more += 0x1FFFF)
			assert_int_equal(
				sentmap_units(&map, (units + more) & SENT_UNITS_MASK), units);
	}
}

static void three_are_forgiven(struct mrc_sched_cfg *cfg, int side)
{
	cfg->access_errors = 4;
}

/* A write with a wrong key is forgiven, and takes no piece of the receive map with it: else three
 * of them far ahead would keep three pieces of the budget for as long as the QP idles. */
/* spec */
static void forgiven_takes_no_room(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched *s;
	uint32_t nb_free;

	pair_test_cfg(&cfg, "forgiven_takes_no_room", 212);
	cfg.tweak = three_are_forgiven;
	p = pair_create(&cfg);
	s = p->hosts[PAIR_B][0].sched;
	nb_free = s->rcv_chunks.nb_free;
	p->q[PAIR_B][0].relaxed = true;
	p->q[PAIR_B][0].dst.tainted = true;
	for (uint32_t k = 0; k < 4; k++) {
		struct mrc_pkt pkt;
		bool honest = k == 1;

		pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, cfg.psn[PAIR_A] + 200 * k + 10, 0,
			64, &pkt);
		if (!honest)
			pkt.write.rkey ^= 0x10000;
		PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind,
			honest ? MRC_RX_CONSUMED : MRC_RX_DROP);
		PAIR_EQ(p, s->rcv_chunks.nb_free, nb_free - (k >= 1));
	}
	PAIR_EQ(p, qp_of(p, PAIR_B)->rcv.nb_ooo, 1);
	PAIR_EQ(p, mrc_sched_qp_state(qp_of(p, PAIR_B)), MRC_QP_RTS);
	pair_destroy(p);
}

/* ---- probes ---- */

struct rig {
	struct pair *p;
	struct mrc_sched *s;
	struct mrc_sched_qp *qp;
	struct pair_tape tape;
};

/* Packets are out on every plane and nothing answers. */
static void rig_open(struct rig *r, const char *name)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 213);
	cfg.timeout = 16;
	cfg.nb_evs = 16;
	r->p = pair_create(&cfg);
	r->s = r->p->hosts[PAIR_A][0].sched;
	r->qp = qp_of(r->p, PAIR_A);
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = 8 * 1024});
	pair_run(r->p, 5 * PAIR_US);
	pair_tape_start(r->p, &r->tape);
}

static void want_probe(struct rig *r, uint32_t i, uint16_t ev)
{
	r->qp->probes[i] =
		(struct probe){.id = r->qp->next_probe++, .ev = ev, .state = PROBE_WANTED};
	sack_ack_want(r->s, r->qp, DUE_PROBE);
}

static void rig_close(struct rig *r)
{
	pair_tape_free(r->p, &r->tape);
	pair_finish(r->p, 10 * PAIR_S);
	pair_destroy(r->p);
}

static uint16_t ev_on(struct rig *r, uint32_t plane, uint32_t nth)
{
	const struct mrc_ev_set *set = r->p->hosts[PAIR_A][0].set;

	for (uint32_t i = 0; i < mrc_ev_count(set); i++)
		if (mrc_ev_get(set, i)->plane == plane && nth-- == 0)
			return (uint16_t)i;
	pair_fail(r->p, "no entropy value on plane %u", plane);
	return 0;
}

/*
 * Two paths are to be asked about when the plane of the first goes down (or has no descriptors for
 * a moment). The question about the other one leaves all the same: it used to wait until some third
 * path was asked about, or the timeout, and while it waited nothing else was asked there.
 */
/* spec */
static void probe_on_a_lost_plane_holds_no_other(void **state)
{
	const enum mrc_plane_state states[] = {MRC_PLANE_DOWN, MRC_PLANE_BUSY};

	for (int k = 0; k < 2; k++) {
		struct rig r;

		rig_open(&r, "probe_on_a_lost_plane_holds_no_other");
		want_probe(&r, 0, ev_on(&r, 1, 0));
		want_probe(&r, 1, ev_on(&r, 2, 0));
		mrc_sched_plane_set(r.s, r.p->now, 1, states[k]);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, PAIR_US);
		PAIR_EQ(r.p, r.qp->probes[0].state, PROBE_FREE);
		PAIR_EQ(r.p, r.qp->probes[1].state, PROBE_SENT);
		PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, MRC_OP_PROBE), 1);
		mrc_sched_plane_set(r.s, r.p->now, 1, MRC_PLANE_UP);
		rig_close(&r);
	}
}

static uint32_t seen_on(const struct rig *r, uint8_t opcode, uint16_t ev)
{
	uint32_t value = mrc_ev_get(r->p->hosts[PAIR_A][0].set, ev)->value, nb = 0;

	for (uint32_t i = 0; i < r->tape.nb[PAIR_A]; i++)
		nb += r->tape.pkts[PAIR_A][i].opcode == opcode &&
		      r->tape.pkts[PAIR_A][i].ev == value;
	return nb;
}

/*
 * The controller denies a path while packets of it have no answer. No probe asks about them there,
 * neither one that is waiting to leave nor a later one; they are lost and sent again elsewhere.
 */
/* spec */
static void denied_path_is_not_asked(void **state)
{
	for (int waiting = 0; waiting < 2; waiting++) {
		const struct sent *first;
		struct rig r;
		uint16_t ev;

		rig_open(&r, "denied_path_is_not_asked");
		r.qp->srtt_ns = 12000;
		r.qp->rttvar_ns = 500;
		ev = sentmap_at(&r.qp->snt, &r.s->sent, r.qp->snt.una)->ev;
		if (waiting)
			want_probe(&r, 0, ev);
		mrc_ev_set_state(r.p->hosts[PAIR_A][0].set, r.p->now, ev, MRC_EV_DENIED);
		pair_kick(&r.p->hosts[PAIR_A][0]);
		pair_run(r.p, 40 * PAIR_MS); /* half a timeout: the first look */
		PAIR_EQ(r.p, seen_on(&r, MRC_OP_PROBE, ev), 0);
		PAIR_EQ(r.p, r.s->counters.timeouts, 0);
		first = sentmap_at(&r.qp->snt, &r.s->sent, r.qp->snt.una);
		PAIR_EQ(r.p, first->rtx != 0, true);
		PAIR_EQ(r.p, first->ev == ev, false);
		rig_close(&r);
	}
}

/* ---- lives ---- */

static struct pair *stormy(const char *name, uint64_t seed)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, seed);
	cfg.nb_qps = 2;
	cfg.nb_evs = 16;
	cfg.pmtu = 256;
	cfg.dynamic_mpr = true;
	cfg.allow_error = true;
	cfg.timeout = 7;
	cfg.linear_cnt = 7;
	cfg.exp_cnt = 3;
	cfg.psn[PAIR_A] = 0xFFFFE0;
	cfg.jitter_ns = 3000;
	cfg.check_every = 1;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .every = 9});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_MARK, .kinds = PAIR_DATA, .every = 5});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_TRIM,
				  .kinds = PAIR_DATA,
				  .every = 11,
				  .arg = 64,
				  .cls = MRC_CLASS_TRIMMED});
	pair_fault_add(
		p, &(struct pair_fault){.act = PAIR_DUP, .every = 7, .arg = 1, .jitter_ns = 20000});
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < 2; i++)
			pair_load(p, side, i,
				&(struct pair_load){.count = 12,
					.depth = 4,
					.max_len = 3000,
					.imm_pct = 30,
					.unsignaled_pct = 20});
	return p;
}

enum ending {
	END_DESTROY_A,
	END_DESTROY_B,
	END_RENEW,
	END_ERR_A,
	END_ERR_B,
	END_NO_SOURCE,
	END_NO_TARGET,
	NB_ENDINGS,
};

static void end_life(struct pair *p, enum ending how)
{
	struct pair_qp *a = &p->q[PAIR_A][0], *b = &p->q[PAIR_B][0];

	switch (how) {
	case END_DESTROY_A:
		pair_recreate(p, PAIR_A, 0);
		break;
	case END_DESTROY_B:
		pair_recreate(p, PAIR_B, 0);
		break;
	case END_RENEW:
		pair_reconnect(p, 0, 0x7FFFF0, 0xFFFFF0);
		break;
	case END_ERR_A:
		(void)mrc_sched_qp_modify(a->host->sched, p->now, a->qp, MRC_QP_ERR, &a->attr);
		break;
	case END_ERR_B:
		(void)mrc_sched_qp_modify(b->host->sched, p->now, b->qp, MRC_QP_ERR, &b->attr);
		break;
	case END_NO_SOURCE:
		a->load_left = 0;
		PAIR_EQ(p, mrc_sched_mr_dereg(a->host->sched, a->src.mr.key), MRC_OK);
		break;
	case END_NO_TARGET:
		PAIR_EQ(p, mrc_sched_mr_dereg(b->host->sched, b->dst.mr.key), MRC_OK);
		break;
	case NB_ENDINGS:
		break;
	}
	for (int side = 0; side < 2; side++)
		pair_kick(&p->hosts[side][0]);
}

/*
 * A QP is destroyed, renewed, put into error or loses its memory at each event of its life, with
 * losses, marks, trims and doubles about. The other QP, which shares peer, path and budgets with
 * it, does all its work and hears nothing of it.
 */
static void each_event_ends_a_life(void **state)
{
	for (int how = 0; how < NB_ENDINGS; how++)
		for (uint32_t at = 1 + (uint32_t)how; at < 700; at += NB_ENDINGS) {
			struct pair *p = stormy("each_event_ends_a_life", 220 + at % 7);

			for (uint32_t k = 0; k < at; k++)
				(void)pair_step(p);
			end_life(p, (enum ending)how);
			pair_run(p, 3 * PAIR_MS);
			pair_finish(p, PAIR_S);
			for (int side = 0; side < 2; side++) {
				PAIR_EQ(p, p->q[side][1].nb_error, 0);
				PAIR_EQ(p, p->q[side][1].nb_ops, 12);
				PAIR_EQ(p, mrc_sched_qp_state(p->q[side][1].qp), MRC_QP_RTS);
			}
			/* pair_destroy takes it back once more. */
			if (how == END_NO_SOURCE)
				PAIR_EQ(p,
					mrc_sched_mr_reg(
						p->hosts[PAIR_A][0].sched, &p->q[PAIR_A][0].src.mr),
					MRC_OK);
			if (how == END_NO_TARGET)
				PAIR_EQ(p,
					mrc_sched_mr_reg(
						p->hosts[PAIR_B][0].sched, &p->q[PAIR_B][0].dst.mr),
					MRC_OK);
			pair_destroy(p);
		}
}

/* What of a QP may differ between two lives that begin alike: where things lie, and the time. */
static struct mrc_sched_qp as_it_begins(const struct mrc_sched_qp *qp)
{
	struct mrc_sched_qp copy;

	memcpy(&copy, qp, sizeof(copy));
	copy.rcv.slots = copy.snt.slots = NULL;
	copy.timer = (struct wheel_node){.kind = 0};
	copy.answer_ns = copy.count_ns = 0;
	copy.cc.t_adj = copy.cc.t_dec = 0;
	copy.next_probe = 0; /* at random */
	copy.nb_lost = 0;    /* counts from create on */
	/* Read only together with something that says that they are valid. */
	copy.trigger = (struct trigger){.rx_ns = 0};
	copy.nak_psn = copy.edge_psn = mrc_psn(0);
	copy.ask_slot = copy.nb_asked = 0;
	copy.ask_due_ns = 0;
	return copy;
}

static void late_and_dead(struct pair *p, void *arg)
{
	pair_freeze(p, PAIR_A, 400 * PAIR_US);
	pair_plane(p, PAIR_A, 1, false);
}

/* RESET leaves nothing of a life: at any moment of a storm the next one begins as the first did,
 * to the byte. */
/* spec */
static void new_life_is_like_the_first(void **state)
{
	uint64_t lost = 0;

	for (uint32_t at = 20; at < 900; at += 20) {
		struct pair *p = stormy("new_life_is_like_the_first", 240 + at % 9);
		struct mrc_sched_qp first[2], again;

		/* The load has begun: what it posted is no part of the beginning. */
		pair_reconnect(p, 0, 0xFFFFE0, 0x7FFFE0);
		for (int side = 0; side < 2; side++) {
			first[side] = as_it_begins(qp_of(p, side));
			pair_load(p, side, 0,
				&(struct pair_load){.count = 30,
					.depth = 6,
					.max_len = 3000,
					.imm_pct = 30,
					.unsignaled_pct = 20});
		}
		pair_at(p, 30 * PAIR_US, late_and_dead, NULL);
		for (uint32_t k = 0; k < at; k++)
			(void)pair_step(p);
		pair_reconnect(p, 0, 0xFFFFE0, 0x7FFFE0);
		for (int side = 0; side < 2; side++) {
			const uint8_t *a = (const uint8_t *)&first[side];
			const uint8_t *b = (const uint8_t *)&again;

			again = as_it_begins(qp_of(p, side));
			for (size_t i = 0; i < sizeof(again); i++)
				if (a[i] != b[i])
					pair_fail(p,
						"after %u events byte %zu of a QP is %#x, was %#x",
						at, i, b[i], a[i]);
		}
		pair_plane(p, PAIR_A, 1, true);
		pair_finish(p, PAIR_S);
		lost += qp_of(p, PAIR_A)->nb_lost;
		pair_recreate(p, PAIR_A, 0);
		PAIR_EQ(p, qp_of(p, PAIR_A)->nb_lost, 0);
		pair_destroy(p);
	}
	assert_true(lost > 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(more_received_than_sent),
	cmocka_unit_test(sums_wrap_together),
	cmocka_unit_test(forgiven_takes_no_room),
	cmocka_unit_test(probe_on_a_lost_plane_holds_no_other),
	cmocka_unit_test(denied_path_is_not_asked),
	cmocka_unit_test(each_event_ends_a_life),
	cmocka_unit_test(new_life_is_like_the_first),
};

PAIR_TEST_MAIN(tests)
