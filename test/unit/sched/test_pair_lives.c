/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_lives.c - what is taken away under a requester's hands (memory, the QP itself), and
 * what a responder owes to packets that it refuses.
 */
#include "pair_rig.h"

#include "loss.h"

static void may_fail(struct pair_cfg *cfg)
{
	cfg->allow_error = true;
	cfg->nb_qps = 2;
}

/* ---- memory that is gone ---- */

enum when {
	FIRST_TIME, /* a packet that has not left yet */
	AGAIN,      /* one that is lost */
	QUESTION,   /* the last one, whose transport ACK is missing */
};

/* Two messages out of a region of their own, which is taken away when it is needed once more. */
static void memory_gone(enum when when)
{
	struct pair_rig r;
	struct pair_qp *q;
	struct mrc_sched_mr mr = {.access = 3};
	struct mrc_sched_sge sge;
	struct mrc_sched_send_wr wr = {.sges = &sge, .nb_sge = 1, .flags = MRC_SEND_SIGNALED};
	struct mrc_sched_event event;
	struct mrc_sched_wc wc[4];
	uint64_t sent, fatal;

	pair_rig_open(&r, "memory_is_gone", may_fail);
	q = &r.p->q[PAIR_A][0];
	r.p->hold_cq = true;
	r.p->q[PAIR_B][0].relaxed = true;
	mr.pd = q->host->pd;
	mr.addr = q->src.data;
	mr.iova = UINT64_C(0x70000000);
	mr.len = 8192;
	PAIR_EQ(r.p, mrc_sched_mr_reg(r.s, &mr), MRC_OK);
	sge = (struct mrc_sched_sge){mr.iova, 3000, mr.key};
	wr.raddr = q->peer->dst.mr.iova;
	wr.rkey = q->peer->dst.mr.key;
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP,
				    .dir = when == QUESTION ? PAIR_B2A : PAIR_BOTH,
				    .kinds = when == QUESTION ? PAIR_ACK : 0});
	for (wr.wr_id = 1; wr.wr_id <= 2; wr.wr_id++)
		PAIR_EQ(r.p, mrc_sched_post_write(r.s, r.qp, &wr), MRC_OK);
	if (when != FIRST_TIME) {
		pair_kick(q->host);
		pair_run(r.p, when == AGAIN ? 2 * PAIR_US : 13 * PAIR_US);
		PAIR_EQ(r.p, r.qp->snt.nb_open, when == AGAIN ? 6 : 0);
	}
	PAIR_EQ(r.p, mrc_sched_mr_dereg(r.s, mr.key), MRC_OK);
	if (when == AGAIN)
		loss_declare(r.s, r.p->now, r.qp, pair_rig_psn(&r, 1), LOSS_ORDER);
	sent = pair_tape_count(&r.tape, PAIR_A, 0);
	req_wake(r.s, r.qp);
	pair_kick(q->host);
	pair_run(r.p, PAIR_MS);
	PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, 0), sent);
	PAIR_EQ(r.p, mrc_sched_qp_state(r.qp), MRC_QP_ERR);
	fatal = r.p->events[PAIR_A][MRC_EVENT_QP_FATAL];
	while (mrc_sched_event_poll(r.s, &event)) /* that the host has not fetched */
		fatal += event.type == MRC_EVENT_QP_FATAL;
	PAIR_EQ(r.p, fatal, 1);
	PAIR_EQ(r.p, mrc_sched_cq_poll(r.s, q->send_cq, wc, 4), 2);
	for (uint32_t i = 0; i < 2; i++) {
		/* The question is about the last packet, the other two about one of the first. */
		bool blamed = i == (when == QUESTION);

		PAIR_EQ(r.p, wc[i].wr_id, i + 1);
		PAIR_EQ(r.p, wc[i].status, blamed ? MRC_WC_LOC_PROT_ERR : MRC_WC_WR_FLUSH_ERR);
	}
	pair_rig_close(&r);
}

/* A region that is deregistered while a work request still needs it: nothing else is sent in its
 * place, and that work request says why the QP failed. */
static void memory_is_gone(void **state)
{
	memory_gone(FIRST_TIME);
	memory_gone(AGAIN);
	memory_gone(QUESTION);
}

/* ---- another life ---- */

/* A probe of a QP that was reset meanwhile has no result, though another QP keeps the path alive;
 * and its place is free again. */
static void probe_of_an_earlier_life(void **state)
{
	struct pair_rig r;

	pair_rig_open(&r, "probe_of_an_earlier_life", may_fail);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	assert_ptr_equal(r.p->q[PAIR_A][1].qp->path, r.qp->path);
	PAIR_EQ(r.p, mrc_sched_qp_probe(r.s, r.p->now, r.qp, 7, 100 * PAIR_US), MRC_OK);
	PAIR_EQ(r.p, mrc_sched_qp_probe(r.s, r.p->now, r.p->q[PAIR_A][1].qp, 8, 100 * PAIR_US),
		MRC_OK);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 10 * PAIR_US);
	PAIR_EQ(r.p, r.s->nb_asked, 2);
	PAIR_EQ(r.p,
		mrc_sched_qp_modify(r.s, r.p->now, r.qp, MRC_QP_RESET, &r.p->q[PAIR_A][0].attr),
		MRC_OK);
	pair_run(r.p, 200 * PAIR_US);
	PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_PROBE_RESULT], 1);
	PAIR_EQ(r.p, r.p->last_event[PAIR_A].arg, 8);
	PAIR_EQ(r.p, r.s->nb_asked, 0);
	pair_rig_close(&r);
}

/* ---- refused and received ---- */

/* The request of a packet is refused, the packet was received: the SACK says so, at the left edge
 * and above it, and the NAK stops before it. */
/* spec */
static void refused_is_received(void **state)
{
	for (int32_t ahead = 0; ahead <= 3; ahead += 3) {
		struct pair_rig r;
		struct mrc_pkt pkt;
		const struct mrc_pkt *sack;

		pair_rig_open(&r, "refused_is_received", may_fail);
		r.p->q[PAIR_B][0].relaxed = true;
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, ahead).v, 16, 64, &pkt);
		pkt.write.rkey ^= 0x10000;
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_RKEY);
		pair_run(r.p, 2 * PAIR_US);
		sack = pair_rig_last(&r, PAIR_B, MRC_OP_SACK);
		PAIR_EQ(r.p, sack->sack.cack.v, pair_rig_psn(&r, ahead == 0 ? 0 : -1).v);
		PAIR_EQ(r.p, sack->sack.ooo_count, ahead != 0);
		PAIR_EQ(r.p, mrc_psn_add(sack->sack.cack, sack->sack.ack_offset).v,
			pair_rig_psn(&r, ahead).v);
		PAIR_EQ(r.p, sack->sack.rcvd_units != 0, 1);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_ACK)->ack.syndrome,
			MRC_AETH_NAK_REMOTE_ACCESS);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_ACK)->psn.v,
			pair_rig_psn(&r, ahead).v);
		pair_rig_close(&r);
	}
}

/* A NACK bears the rtx bit of the packet it is about, so that the requester knows which copy that
 * was (O-27). */
/* spec */
static void nacks_tell_copies_apart(void **state)
{
	for (uint16_t rtx = 0; rtx <= MRC_PKT_RTX; rtx += MRC_PKT_RTX) {
		struct pair_rig r;
		struct mrc_pkt pkt;
		uint8_t *frame;
		uint32_t len;

		pair_rig_open(&r, "nacks_tell_copies_apart", may_fail);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 1).v, 0, 1024, &pkt);
		pkt.cls = MRC_CLASS_TRIMMED;
		pkt.dscp = r.p->proto.dscp[MRC_CLASS_TRIMMED];
		pkt.flags |= rtx;
		frame = pair_encode(r.p, &pkt, 0, &len);
		PAIR_EQ(r.p, pair_rx_now(r.p, PAIR_B, 0, frame, len - 512).kind, MRC_RX_CONSUMED);
		free(frame);
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_NACK)->flags & MRC_PKT_RTX, rtx);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_NACK)->nack.psn.v,
			pair_rig_psn(&r, 1).v);
		pair_rig_close(&r);
	}
}

/* What tests compare states by changes with every queue, and with what is in flight. */
static void hash_covers_queues_and_flight(void **state)
{
	struct pair_rig r;
	uint64_t was, is;
	struct mrc_sched_recv_wr recv = {.wr_id = 1};

	pair_rig_open(&r, "hash_covers_queues_and_flight", may_fail);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	was = pair_query(r.p, PAIR_A, 0).state_hash;
	PAIR_EQ(r.p, pair_query(r.p, PAIR_A, 0).state_hash, was);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 2000});
	is = pair_query(r.p, PAIR_A, 0).state_hash;
	assert_true(is != was);
	was = is;
	pair_run(r.p, 2 * PAIR_US);
	is = pair_query(r.p, PAIR_A, 0).state_hash;
	assert_true(is != was);
	was = is;
	loss_declare(r.s, r.p->now, r.qp, pair_rig_psn(&r, 0), LOSS_ORDER);
	assert_true(pair_query(r.p, PAIR_A, 0).state_hash != was);
	r.qp->rq_head = r.qp->rq_tail; /* room for one more */
	was = pair_query(r.p, PAIR_A, 0).state_hash;
	PAIR_EQ(r.p, mrc_sched_post_recv(r.s, r.qp, &recv), MRC_OK);
	assert_true(pair_query(r.p, PAIR_A, 0).state_hash != was);
	pair_rig_close(&r);
}

/* The QP has failed, and the peer goes on: it is told why, and not for each packet. */
static void failed_qp_answers_at_a_rate(void **state)
{
	for (int by_nak = 0; by_nak < 2; by_nak++) {
		struct pair_rig r;
		struct mrc_pkt pkt;
		uint64_t sent;

		pair_rig_open(&r, "failed_qp_answers_at_a_rate", may_fail);
		r.p->q[PAIR_B][0].relaxed = true;
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 0).v, 16, 64, &pkt);
		if (by_nak) {
			pkt.write.rkey ^= 0x10000;
			pair_test_expect_drop(
				r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_RKEY);
		} else {
			PAIR_EQ(r.p,
				mrc_sched_qp_modify(r.p->q[PAIR_B][0].host->sched, r.p->now,
					r.p->q[PAIR_B][0].qp, MRC_QP_ERR, &r.p->q[PAIR_B][0].attr),
				MRC_OK);
		}
		pair_run(r.p, 2 * PAIR_US);
		sent = r.p->wire_packets[PAIR_B];
		pkt.psn = pair_rig_psn(&r, 1);
		for (int k = 0; k < 4 * NACK_DEPTH; k++) {
			pair_test_expect_drop(
				r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_QP_STATE);
			pair_run(r.p, 100);
		}
		pair_run(r.p, 2 * PAIR_US);
		sent = r.p->wire_packets[PAIR_B] - sent;
		/* 64 at once and one per microsecond, of which 26 passed. */
		assert_in_range(sent, NACK_DEPTH / 2, NACK_DEPTH + 32);
		pair_rig_close(&r);
	}
}

/* A QP belongs to its protection domain, and to no other: it holds it, and lets it go. */
static void qp_holds_its_own_domain(void **state)
{
	struct pair_rig r;
	struct mrc_sched_qp_cfg cfg;
	struct mrc_sched_qp *qp;
	uint32_t pd;

	pair_rig_open(&r, "qp_holds_its_own_domain", NULL);
	PAIR_EQ(r.p, mrc_sched_pd_create(r.s, &pd), MRC_OK);
	assert_int_not_equal(pd, r.p->hosts[PAIR_A][0].pd);
	cfg = (struct mrc_sched_qp_cfg){.pd = pd,
		.send_cq = r.p->q[PAIR_A][0].send_cq,
		.recv_cq = r.p->q[PAIR_A][0].recv_cq,
		.sq_depth = 1,
		.rq_depth = 1,
		.max_sge = 1};
	for (int life = 0; life < 2; life++) {
		PAIR_EQ(r.p, mrc_sched_qp_create(r.s, &cfg, &qp), MRC_OK);
		PAIR_EQ(r.p, mrc_sched_pd_destroy(r.s, pd), MRC_ERR_BUSY);
		PAIR_EQ(r.p, mrc_sched_qp_destroy(r.s, r.p->now, qp), MRC_OK);
	}
	PAIR_EQ(r.p, mrc_sched_pd_destroy(r.s, pd), MRC_OK);
	pair_rig_close(&r);
}

/* ---- where answers go ---- */

/* A plane is quiet when 64 packets per plane were heard over others since it was last. */
/* spec */
static void quiet_planes_are_known(void **state)
{
	struct pair_rig r;
	struct peer *peer;

	pair_rig_open(&r, "quiet_planes_are_known", NULL);
	peer = r.qp->path->peer;
	PAIR_EQ(r.p, r.s->cfg.nb_planes, 4);
	for (uint32_t start = 0; start < 2; start++) {
		peer->nb_heard = start ? UINT32_MAX - 100 : 1000; /* it wraps */
		for (uint32_t plane = 0; plane < 4; plane++)
			peer->last_heard[plane] = peer->nb_heard;
		for (uint32_t k = 0; k < 256; k++)
			peer_heard(peer, k % 2);
		PAIR_EQ(r.p, peer_quiet(r.s, peer), 0);
		peer_heard(peer, 3);
		PAIR_EQ(r.p, peer_quiet(r.s, peer), 1u << 2);
		peer_heard(peer, 2);
		PAIR_EQ(r.p, peer_quiet(r.s, peer), 0);
	}
	pair_rig_close(&r);
}

/* ---- further bitmaps of a burst ---- */

/*
 * 0 is missing, 1 .. 200 arrived, up to 149 were told of. Two further SACKs: of one that is not the
 * last the next gap is the matter, which there is none of behind the first; the last one ends at
 * the newest arrival, so that this is told of in any case. With a whole word to tell the first of
 * them begins there.
 */
/* spec */
static void last_bitmap_ends_at_the_newest(void **state)
{
	struct pair_rig r;
	struct mrc_sched *s;
	struct mrc_sched_qp *qp;
	struct mrc_pkt pkt;

	pair_rig_open(&r, "last_bitmap_ends_at_the_newest", NULL);
	r.p->q[PAIR_B][0].relaxed = true;
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	s = r.p->hosts[PAIR_B][0].sched;
	qp = r.p->q[PAIR_B][0].qp;
	for (int32_t k = 1; k <= 200; k++) {
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k).v, 16, 8, &pkt);
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	}
	qp->head_next = pair_rig_psn(&r, 150);
	qp->nb_more = 1;
	sack_build(s, r.p->now, qp, &qp->trigger, true, &pkt);
	PAIR_EQ(r.p, qp->nb_more, 0);
	PAIR_EQ(r.p, pkt.sack.sack_offset, 200 - 63 + 1); /* from cack, which is -1 */
	PAIR_EQ(r.p, pkt.sack.bitmap, UINT64_MAX);
	qp->head_next = pair_rig_psn(&r, 150);
	qp->nb_more = 2;
	sack_build(s, r.p->now, qp, &qp->trigger, true, &pkt);
	PAIR_EQ(r.p, pkt.sack.sack_offset, 1);
	PAIR_EQ(r.p, pkt.sack.bitmap, UINT64_MAX << 1);
	qp->head_next = pair_rig_psn(&r, 137);
	qp->nb_more = 2;
	sack_build(s, r.p->now, qp, &qp->trigger, true, &pkt);
	PAIR_EQ(r.p, pkt.sack.sack_offset, 138);
	pair_rig_close(&r);
}

/* ---- late timers ---- */

/* The timer is late by 100 us of a timeout of 67 ms: it counts. By 10 ms: answers may wait in the
 * queue, and are heard for a round trip and four deviations. */
/* spec */
static void late_timer_waits_a_round_trip(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct pair_rig r;
		uint64_t now_ns;

		pair_rig_unheard(&r, "late_timer_waits_a_round_trip", NULL, 100, 2 * PAIR_US);
		r.qp->srtt_ns = 40000;
		r.qp->rttvar_ns = 1000;
		now_ns = r.qp->rto_ns + (late ? 10 * PAIR_MS : 100 * PAIR_US);
		while (mrc_sched_expire(r.s, now_ns) != 0)
			;
		PAIR_EQ(r.p, r.s->counters.timeouts, !late);
		PAIR_EQ(r.p, r.qp->retries, !late);
		PAIR_EQ(r.p, r.qp->rto_ns, now_ns + (late ? 44000 : r.qp->timeout_ns));
		pair_rig_close(&r);
	}
}

/* ---- a transport ACK that is late ---- */

/*
 * The timer for a transport ACK is due just when the SACK of its packet comes: the ACK is a packet
 * behind that, and no retry is counted before it had its time, 40 + 20 us. If the left edge has
 * moved since, the SACK was about other packets, and the retry counts.
 */
/* spec */
static void ack_follows_its_sack(void **state)
{
	for (int moved = 0; moved < 2; moved++) {
		struct pair_rig r;
		struct mrc_pkt pkt;

		pair_rig_unheard(&r, "ack_follows_its_sack", NULL, 2000, 100 * PAIR_US);
		r.qp->srtt_ns = 40000;
		r.qp->rttvar_ns = 1000;
		pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = pair_rig_psn(&r, 1);
		pkt.sack.rcvd_units = 8;
		pkt.sack.timestamp = 0x1234; /* of no use for a sample */
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, r.qp->edge_psn.v, pair_rig_psn(&r, 0).v);
		PAIR_EQ(r.p, r.qp->snt.nb_open, 0);
		r.qp->srtt_ns = 40000;
		r.qp->rttvar_ns = 1000;
		if (moved)
			r.qp->edge_psn = pair_rig_psn(&r, 2);
		r.qp->ask_ns = r.qp->ask_due_ns = r.p->now;
		timer_qp(r.s, r.p->now, r.qp);
		PAIR_EQ(r.p, r.qp->retries, moved);
		PAIR_EQ(r.p, r.s->counters.timeouts, moved);
		PAIR_EQ(r.p, (r.qp->flags & QPF_REASK) != 0, moved);
		if (!moved)
			PAIR_EQ(r.p, r.qp->ask_ns, r.p->now + 60000);
		pair_rig_close(&r);
	}
}

/* A copy of the last packet of a message asks for the transport ACK, as the first one may have
 * done, though other messages follow; a copy from the middle does not. */
/* spec */
static void copies_of_last_packets_ask(void **state)
{
	struct pair_rig r;

	pair_rig_open(&r, "copies_of_last_packets_ask", NULL);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	for (int k = 0; k < 3; k++)
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 3000, .unsignaled = k < 2});
	pair_run(r.p, 10 * PAIR_US);
	PAIR_EQ(r.p, r.qp->snt.nb_open, 9);
	pair_tape_clear(&r.tape);
	for (int32_t k = 3; k <= 5; k++)
		loss_declare(r.s, r.p->now, r.qp, pair_rig_psn(&r, k), LOSS_ORDER);
	req_wake(r.s, r.qp);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 2 * PAIR_US);
	PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, 0), 3);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++) {
		const struct mrc_pkt *pkt = &r.tape.pkts[PAIR_A][i];

		if ((mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) != 0)
			PAIR_EQ(r.p, (pkt->flags & MRC_PKT_ACKREQ) != 0,
				mrc_psn_eq(pkt->psn, pair_rig_psn(&r, 5)));
	}
	pair_rig_close(&r);
}

/* A mark goes out once: bitmaps that follow its SACK do not repeat it. */
/* spec */
static void mark_is_told_once(void **state)
{
	struct pair_rig r;
	struct mrc_sched_qp *qp;
	struct mrc_pkt pkt;
	uint32_t marks = 0, sacks = 0;

	pair_rig_open(&r, "mark_is_told_once", NULL);
	r.p->q[PAIR_B][0].relaxed = true;
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	qp = r.p->q[PAIR_B][0].qp;
	for (int32_t k = 1; k <= 300; k++) {
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k).v, 16, 8, &pkt);
		(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	}
	pair_run(r.p, 10 * PAIR_US);
	pair_tape_clear(&r.tape);
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 301).v, 16, 8, &pkt);
	pkt.flags |= MRC_PKT_ACKREQ;
	(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	qp->trigger.m = MRC_M_SKIP_ONCE; /* a mark that found no note of its own */
	qp->nb_more = 3;
	pair_run(r.p, 10 * PAIR_US);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_B]; i++) {
		if (r.tape.pkts[PAIR_B][i].opcode != MRC_OP_SACK)
			continue;
		sacks++;
		marks += r.tape.pkts[PAIR_B][i].sack.m == MRC_M_SKIP_ONCE;
	}
	PAIR_EQ(r.p, sacks, 4);
	PAIR_EQ(r.p, marks, 1);
	pair_rig_close(&r);
}

/* Events that name a completion queue go with it, others stay. */
static void events_go_with_their_queue(void **state)
{
	struct pair_rig r;
	struct mrc_sched_cq *cqs[2];
	struct mrc_sched_event event = {.type = MRC_EVENT_CQ_OVERRUN};

	pair_rig_open(&r, "events_go_with_their_queue", NULL);
	for (int i = 0; i < 2; i++) {
		PAIR_EQ(r.p, mrc_sched_cq_create(r.s, 1, &cqs[i]), MRC_OK);
		event.cq = cqs[i];
		event_put(r.s, &event);
	}
	PAIR_EQ(r.p, mrc_sched_cq_destroy(r.s, cqs[1]), MRC_OK);
	assert_true(mrc_sched_event_poll(r.s, &event));
	assert_ptr_equal(event.cq, cqs[0]);
	assert_false(mrc_sched_event_poll(r.s, &event));
	PAIR_EQ(r.p, mrc_sched_cq_destroy(r.s, cqs[0]), MRC_OK);
	/* As deep as one may be there is no memory for it here; deeper ones there are not. */
	PAIR_EQ(r.p, mrc_sched_cq_create(r.s, 1u << 24, &cqs[0]), MRC_ERR_NOMEM);
	PAIR_EQ(r.p, mrc_sched_cq_create(r.s, (1u << 24) + 1, &cqs[0]), MRC_ERR_INVAL);
	PAIR_EQ(r.p, mrc_sched_cq_create(r.s, 0, &cqs[0]), MRC_ERR_INVAL);
	pair_rig_close(&r);
}

/*
 * The packets wait, their paths were asked 100 us ago, and others answer: the next look is when
 * the first probe is overdue, 100 us and a quarter and four deviations after it left, and not
 * before some answer happens to call for one.
 */
/* spec */
static void looks_again_when_the_probe_is_overdue(void **state)
{
	struct pair_rig r;
	uint64_t asked_ns;

	pair_rig_two_out(&r, "looks_again_when_the_probe_is_overdue");
	pair_run(r.p, 2 * PAIR_MS);
	probe_forget(r.qp);
	asked_ns = r.p->now - 100000;
	for (int32_t k = 0; k < 2; k++) {
		pair_rig_sent(&r, k)->sent_ns = r.p->now - 200000;
		r.qp->probes[k] = (struct probe){.id = (uint16_t)k,
			.ev = pair_rig_sent(&r, k)->ev,
			.state = PROBE_SENT,
			.sent_ns = asked_ns + (uint64_t)k * 1000};
	}
	r.qp->answer_ns = r.p->now - 1;
	probe_look(r.s, r.p->now, r.qp);
	PAIR_EQ(r.p, r.qp->probe_ns, asked_ns + 100000 + 25000 + 4000);
	PAIR_EQ(r.p, r.qp->snt.nb_lost, 0);
	pair_rig_close(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(memory_is_gone),
	cmocka_unit_test(probe_of_an_earlier_life),
	cmocka_unit_test(refused_is_received),
	cmocka_unit_test(nacks_tell_copies_apart),
	cmocka_unit_test(failed_qp_answers_at_a_rate),
	cmocka_unit_test(qp_holds_its_own_domain),
	cmocka_unit_test(quiet_planes_are_known),
	cmocka_unit_test(last_bitmap_ends_at_the_newest),
	cmocka_unit_test(late_timer_waits_a_round_trip),
	cmocka_unit_test(ack_follows_its_sack),
	cmocka_unit_test(copies_of_last_packets_ask),
	cmocka_unit_test(mark_is_told_once),
	cmocka_unit_test(events_go_with_their_queue),
	cmocka_unit_test(looks_again_when_the_probe_is_overdue),
	cmocka_unit_test(hash_covers_queues_and_flight),
};

PAIR_TEST_MAIN(tests)
