/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_rules.c - small rules of the delivery layer, each looked at by itself: what a wrong
 * checksum may touch, which packet a refusal names, what is granted, told, counted and believed.
 */
#include "pair_rig.h"

static struct mrc_sched *engine(struct pair_rig *r, int side)
{
	return r->p->hosts[side][0].sched;
}

/* ---- the checksum ---- */

static void write_imm(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, pair_rig_psn(r, 0).v, 16, 100, pkt);
	pkt->flags |= MRC_PKT_ACKREQ;
}

static void long_write(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_FIRST, pair_rig_psn(r, 0).v, 16, 1024, pkt);
	pkt->write.dma_len = 5000;
	pkt->flags |= MRC_PKT_ACKREQ;
}

static void probe(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_init(r->p, PAIR_B, 0, MRC_OP_PROBE, pkt);
	pkt->probe.probe_id = 5;
}

static void sack(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_SACK, pkt);
	pkt->psn = pkt->sack.cack = pair_rig_psn(r, 1);
	pkt->sack.rcvd_units = 4;
}

static void ack(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_ACK, pkt);
	pkt->psn = pair_rig_psn(r, 0);
	pkt->ack.syndrome = MRC_AETH_ACK;
}

static void nak(struct pair_rig *r, struct mrc_pkt *pkt)
{
	ack(r, pkt);
	pkt->ack.syndrome = MRC_AETH_NAK_REMOTE_OP;
}

static void nack(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_NACK, pkt);
	pkt->psn = pkt->nack.psn = pair_rig_psn(r, 0);
	pkt->nack.reason = MRC_NACK_TRIMMED;
}

static void ep_status(struct pair_rig *r, struct mrc_pkt *pkt)
{
	pair_pkt_init(r->p, PAIR_B, 0, MRC_OP_EP_REQ, pkt);
	pkt->dqpn = MRC_QPN_ENDPOINT;
	pkt->psn = mrc_psn(0x77);
	pkt->ep.op = MRC_EP_PORT_STATUS;
	pkt->ep.port_mask = mrc_proto_port_bit(&r->p->proto, 1);
}

/* The answer to the request that A has sent. */
static void ep_answer(struct pair_rig *r, struct mrc_pkt *pkt)
{
	const struct mrc_pkt *req = pair_rig_last(r, PAIR_A, MRC_OP_EP_REQ);

	pair_pkt_init(r->p, PAIR_A, 0, MRC_OP_EP_RSP, pkt);
	pkt->dqpn = MRC_QPN_ENDPOINT;
	pkt->psn = req->psn;
	pkt->ep = req->ep;
	pkt->flags |= MRC_PKT_TS;
}

static const struct heard {
	const char *what;
	int to;
	void (*make)(struct pair_rig *r, struct mrc_pkt *pkt);
	size_t counter; /* says that it was taken */
} heards[] = {
#define HEARD(what, to, counter)                                                                   \
	{                                                                                          \
#what, to, what, offsetof(struct mrc_sched_counters, counter)                      \
	}
	HEARD(write_imm, PAIR_B, rx_data_packets),
	HEARD(long_write, PAIR_B, rx_data_packets),
	HEARD(probe, PAIR_B, rx_probe),
	HEARD(sack, PAIR_A, rx_sack),
	HEARD(ack, PAIR_A, rx_ack),
	HEARD(nak, PAIR_A, rx_ack),
	HEARD(nack, PAIR_A, rx_nack),
	HEARD(ep_status, PAIR_B, ep_req_rx),
	HEARD(ep_answer, PAIR_A, ep_rsp_rx),
};

/* Everything at which a packet's effect would show. */
struct shown {
	uint64_t hash, sent, counter, events[5];
	uint32_t bad_evs, skip_evs;
	struct path path;
	struct peer peer;
};

static struct shown look(struct pair_rig *r, const struct heard *h)
{
	const struct path *path = r->p->q[h->to][0].qp->path;
	struct shown now;

	memset(&now, 0, sizeof(now)); /* compared as bytes */
	now.hash = pair_query(r->p, h->to, 0).state_hash;
	now.sent = r->p->wire_packets[h->to];
	now.counter = pair_counter(r->p, h->to, h->counter);
	memcpy(now.events, r->p->events[h->to], sizeof(now.events));
	now.bad_evs = mrc_ev_state_count(path->evs, MRC_EV_ASSUMED_BAD, -1);
	now.skip_evs = mrc_ev_state_count(path->evs, MRC_EV_SKIP, -1);
	memcpy(&now.path, path, sizeof(*path));
	memcpy(&now.peer, path->peer, sizeof(now.peer));
	return now;
}

static void one_heard(const struct heard *h)
{
	struct pair_rig r;
	struct mrc_sched_ep_req req;
	struct mrc_pkt pkt;
	struct shown was, is;
	uint8_t *frame;
	uint32_t len;

	pair_rig_open(&r, "wrong_icrc_of_every_kind", NULL);
	r.p->cfg.allow_error = true;
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 10 * 1024});
	req = pair_rig_ev_probe(&r);
	PAIR_EQ(r.p, mrc_sched_ep_send(r.s, r.p->now, &req), MRC_OK);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 5 * PAIR_US);
	r.p->q[PAIR_A][0].blind = true;
	r.p->q[PAIR_B][0].relaxed = true;
	h->make(&r, &pkt);
	frame = pair_encode(r.p, &pkt, 0x5a, &len);
	was = look(&r, h);
	for (uint32_t bit = 0; bit < 32; bit++) {
		frame[len - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		pair_test_expect_drop(r.p, pair_rx_now(r.p, h->to, 0, frame, len), MRC_DROP_ICRC);
		frame[len - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	pair_run(r.p, 2 * PAIR_US);
	PAIR_EQ(r.p, pair_drops(r.p, h->to, MRC_DROP_ICRC), 32);
	is = look(&r, h);
	if (memcmp(&was, &is, sizeof(was)) != 0)
		pair_fail(r.p, "%s with a wrong ICRC left a trace", h->what);
	pair_check_memory(r.p);
	/* The same with the right one does something. */
	PAIR_EQ(r.p, pair_rx_now(r.p, h->to, 0, frame, len).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, pair_counter(r.p, h->to, h->counter), was.counter + 1);
	free(frame);
	pair_rig_close(&r);
}

/*
 * A bit of the checksum is wrong, of each kind of packet there is: no state, no memory, no answer,
 * no word on the path it came by.
 */
/* spec */
static void wrong_icrc_of_every_kind(void **state)
{
	for (size_t i = 0; i < sizeof(heards) / sizeof(heards[0]); i++)
		one_heard(&heards[i]);
}

/* ---- what a refusal names ---- */

static void one_receive(struct pair_cfg *cfg)
{
	cfg->allow_error = true;
	cfg->auto_recv = false;
}

static struct mrc_rx_verdict give_imm(struct pair_rig *r, int32_t k, uint16_t rqmsn)
{
	struct mrc_pkt pkt;

	pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, pair_rig_psn(r, k).v,
		16 + 64 * (uint32_t)k, 16, &pkt);
	pkt.write.rqmsn = mrc_msn(rqmsn);
	pkt.write.imm[3] = (uint8_t)k;
	return pair_rx_pkt(r->p, PAIR_B, 0, &pkt);
}

/*
 * Immediates wait for the first packet, which lets all of them go at once; for the second of them
 * no receive is posted. The first one is delivered, the refusal names the second, and nothing
 * behind it is released, in the same word of the map or in another.
 */
/* spec */
static void refusal_names_the_first_without_receive(void **state)
{
	static const int32_t seconds[] = {2, 40, 130};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct pair_rig r;
		struct pair_qp *q;
		struct mrc_sched_wc wc[8];
		struct mrc_pkt pkt;
		int32_t end = seconds[i] + 70;

		pair_rig_open(&r, "refusal_names_the_first_without_receive", one_receive);
		q = &r.p->q[PAIR_B][0];
		q->relaxed = true;
		r.p->hold_cq = true;
		pair_post_recv(r.p, PAIR_B, 0);
		for (int32_t k = 1; k <= end; k++) {
			uint16_t rqmsn = (uint16_t)(k == 1 ? 0 : k == seconds[i] ? 1 : 2);

			if (k == 1 || k == seconds[i] || k == end) {
				PAIR_EQ(r.p, give_imm(&r, k, rqmsn).kind, MRC_RX_CONSUMED);
				continue;
			}
			pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k).v, 0,
				8, &pkt);
			PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
		}
		PAIR_EQ(r.p, mrc_sched_cq_poll(q->host->sched, q->recv_cq, wc, 8), 0);
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 0).v, 0, 8, &pkt);
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_RQ_EMPTY);
		PAIR_EQ(r.p, mrc_sched_cq_poll(q->host->sched, q->recv_cq, wc, 8), 1);
		PAIR_EQ(r.p, wc[0].imm[3], 1);
		PAIR_EQ(r.p, mrc_sched_qp_state(q->qp), MRC_QP_ERR);
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_ACK)->ack.syndrome,
			MRC_AETH_NAK_REMOTE_OP);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_ACK)->psn.v,
			pair_rig_psn(&r, seconds[i]).v);
		pair_rig_close(&r);
	}
}

/*
 * A QP that its own side has brought to ERR refuses nothing in particular: what comes is told that
 * something unexpected happened, inside the window, and nothing outside it.
 */
static void failed_by_itself_answers_unexpected(void **state)
{
	struct pair_rig r;
	struct pair_qp *q;
	struct mrc_pkt pkt;
	uint64_t sent;

	pair_rig_open(&r, "failed_by_itself_answers_unexpected", one_receive);
	q = &r.p->q[PAIR_B][0];
	PAIR_EQ(r.p, mrc_sched_qp_modify(q->host->sched, r.p->now, q->qp, MRC_QP_ERR, &q->attr),
		MRC_OK);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	pair_run(r.p, 2 * PAIR_US);
	sent = r.p->wire_packets[PAIR_B];
	for (int32_t k = -1; k <= 1024; k += 1025) {
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k).v, 0, 8, &pkt);
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_QP_STATE);
	}
	pair_run(r.p, 2 * PAIR_US);
	PAIR_EQ(r.p, r.p->wire_packets[PAIR_B], sent);
	for (int32_t k = 0; k <= 1023; k += 1023) {
		pair_pkt_write(
			r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k).v, 0, 8, &pkt);
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt), MRC_DROP_QP_STATE);
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, r.p->wire_packets[PAIR_B], ++sent);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_NACK)->nack.reason,
			MRC_NACK_UNEXP_EVENT);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_NACK)->nack.psn.v,
			pair_rig_psn(&r, k).v);
	}
	pair_rig_close(&r);
}

/* A refusal is a transport ACK like others where those are counted. */
static void refusals_are_counted(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;

	pair_rig_unheard(&r, "refusals_are_counted", one_receive, 100, 2 * PAIR_US);
	nak(&r, &pkt);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, rx_ack), 1);
	pair_rig_close(&r);
}

/* ---- what is granted and told ---- */

static void many_chunks(struct mrc_sched_cfg *cfg, int side)
{
	cfg->dynamic_mpr = true;
	cfg->window_psns = 256 * 128;
}

static void shared_window(struct pair_cfg *cfg)
{
	cfg->dynamic_mpr = true;
	cfg->tweak = many_chunks;
}

/*
 * While a quarter of the shared chunks is free a QP is granted all that was negotiated, then in
 * proportion to what is left, and never less than one unit. What was granted before stays granted.
 */
/* spec */
static void grant_follows_free_chunks(void **state)
{
	struct pair_rig r;
	struct mrc_sched *s;
	const struct mrc_sched_qp *qp;
	uint32_t quarter, nb, units;
	struct mrc_pkt pkt;
	uint16_t *taken;
	int32_t k = 0;

	pair_rig_open(&r, "grant_follows_free_chunks", shared_window);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	r.p->q[PAIR_B][0].relaxed = true;
	s = engine(&r, PAIR_B);
	qp = r.p->q[PAIR_B][0].qp;
	units = qp->rx_units;
	quarter = s->rcv_chunks.nb / 4;
	PAIR_EQ(r.p, units, 8);
	PAIR_EQ(r.p, quarter, 64);
	taken = calloc(s->rcv_chunks.nb, sizeof(*taken));
	for (nb = 0; s->rcv_chunks.nb_free != 0; nb++) {
		uint32_t left = s->rcv_chunks.nb_free;
		uint32_t want = left >= quarter ? units : units * left / quarter;

		if (want == 0)
			want = 1;
		if (left % 16 == 0 || left == quarter + 1 || left == quarter - 1 || left < 4) {
			pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, k++).v,
				0, 8, &pkt);
			pkt.flags |= MRC_PKT_ACKREQ;
			PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
			pair_run(r.p, 2 * PAIR_US);
			PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_SACK)->sack.mpr, want);
			PAIR_EQ(r.p, qp->rx_window, 128 * want);
		}
		taken[nb] = pool_get(&s->rcv_chunks);
	}
	while (nb-- > 0)
		pool_put(&s->rcv_chunks, taken[nb]);
	free(taken);
	/* Granted when the window was full; it is one unit now. */
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 1023).v, 0, 8, &pkt);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_rig_close(&r);
}

/* The field has seven bits, and no room at all is not more than that. */
/* spec */
static void penalty_fits_its_field(void **state)
{
	struct pair_rig r;
	struct mrc_sched *s;
	struct mrc_pkt pkt;

	pair_rig_open(&r, "penalty_fits_its_field", NULL);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	r.p->q[PAIR_B][0].relaxed = true;
	s = engine(&r, PAIR_B);
	for (uint32_t level = 126; level <= 129; level++) {
		mrc_sched_rx_pressure(s, r.p->now, level);
		pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY,
			pair_rig_psn(&r, (int32_t)level - 126).v, 0, 8, &pkt);
		pkt.flags |= MRC_PKT_ACKREQ | MRC_PKT_RTX;
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, pair_rig_last(&r, PAIR_B, MRC_OP_SACK)->sack.rcv_cwnd_pen,
			level < 127 ? level : 127);
	}
	pair_rig_close(&r);
}

/*
 * Marked packets and probes have their answers noted one by one, and may fill the notes but for a
 * quarter: a packet that is refused or trimmed then still gets its NACK.
 */
/* spec */
static void marks_leave_room_for_nacks(void **state)
{
	struct pair_rig r;
	struct mrc_sched *s;
	struct mrc_pkt pkt;
	uint8_t *frame;
	uint32_t len;

	pair_rig_open(&r, "marks_leave_room_for_nacks", NULL);
	r.p->q[PAIR_B][0].relaxed = true;
	s = engine(&r, PAIR_B);
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 0).v, 0, 8, &pkt);
	pkt.ecn = MRC_ECN_CE;
	for (uint32_t k = 0; k < NB_NOTES + 10; k++)
		(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	assert_int_equal(s->note_tail - s->note_head, NB_NOTES - NB_NACK_NOTES);
	/* The marks for which there is no note are told by the SACK that others share. */
	PAIR_EQ(r.p, r.p->q[PAIR_B][0].qp->due & DUE_SACK, DUE_SACK);
	PAIR_EQ(r.p, r.p->q[PAIR_B][0].qp->trigger.m, MRC_M_SKIP_ONCE);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_B, ecn_marks), NB_NOTES + 10);
	pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, pair_rig_psn(&r, 1).v, 0, 1024, &pkt);
	pkt.cls = MRC_CLASS_TRIMMED;
	pkt.dscp = r.p->proto.dscp[MRC_CLASS_TRIMMED];
	frame = pair_encode(r.p, &pkt, 0, &len);
	PAIR_EQ(r.p, pair_rx_now(r.p, PAIR_B, 0, frame, len - 512).kind, MRC_RX_CONSUMED);
	assert_int_equal(s->note_tail - s->note_head, NB_NOTES - NB_NACK_NOTES + 1);
	free(frame);
	pair_rig_close(&r);
}

/* ---- what is believed ---- */

/*
 * One bit of a bitmap names a packet that was not sent: the whole answer is refused, whatever else
 * it says. The bit before it is that of the last packet sent.
 */
static void one_bit_too_far(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;
	uint64_t hash;

	pair_rig_unheard(&r, "one_bit_too_far", NULL, 10 * 1024, 2 * PAIR_US);
	hash = pair_query(r.p, PAIR_A, 0).state_hash;
	for (uint32_t bit = 10; bit + 1 > 9; bit--) {
		pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = pair_rig_psn(&r, -1);
		pkt.sack.ack_offset = 1;
		pkt.sack.sack_offset = 1;
		pkt.sack.bitmap = UINT64_C(1) << bit | 1;
		pkt.sack.rcvd_units = 1;
		if (bit == 10) {
			pair_test_expect_drop(
				r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt), MRC_DROP_ACK_UNSENT);
			PAIR_EQ(r.p, pair_query(r.p, PAIR_A, 0).state_hash, hash);
		} else {
			PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
			PAIR_EQ(r.p, r.qp->snt.nb_open, 8);
		}
	}
	pair_rig_close(&r);
}

static void strict_echo(struct mrc_sched_cfg *cfg, int side)
{
	cfg->strict_echo = true;
}

static void strictly(struct pair_cfg *cfg)
{
	cfg->tweak = strict_echo;
}

/*
 * The answer to a probe echoes what the probe carried, not what the packet at the left edge did: a
 * strict comparison of echoes is no business of it.
 */
static void strict_echo_spares_answers_to_probes(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;
	struct probe *out;

	pair_rig_unheard(
		&r, "strict_echo_spares_answers_to_probes", strictly, 3 * 1024, 2 * PAIR_US);
	out = &r.qp->probes[0];
	*out = (struct probe){.id = 9, .ev = 60, .state = PROBE_SENT, .sent_ns = r.p->now};
	pair_run(r.p, 2 * PAIR_US);
	sack(&r, &pkt); /* names PSN 1, which is still in flight, as its left edge */
	pkt.sack.m = MRC_M_NONE;
	pkt.sack.probe = true;
	pkt.sack.probe_id = 9;
	pkt.sack.timestamp = 0x1234;
	pkt.ev = pkt.sack.entropy = mrc_ev_get(r.qp->path->evs, 60)->value;
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(r.p, r.qp->snt.una.v, pair_rig_psn(&r, 2).v);
	PAIR_EQ(r.p, out->state, PROBE_FREE);
	pair_rig_close(&r);
}

/* What a probe met on its way is told of its path: a mark lets it rest, none does not. */
/* spec */
static void marks_of_probes_reach_their_path(void **state)
{
	for (int marked = 0; marked < 2; marked++) {
		struct pair_rig r;
		struct mrc_pkt pkt;

		pair_rig_unheard(
			&r, "marks_of_probes_reach_their_path", NULL, 3 * 1024, 2 * PAIR_US);
		r.qp->probes[0] =
			(struct probe){.id = 9, .ev = 60, .state = PROBE_SENT, .sent_ns = r.p->now};
		pair_run(r.p, 2 * PAIR_US);
		sack(&r, &pkt);
		pkt.sack.m = marked ? MRC_M_SKIP_ONCE : MRC_M_NONE;
		pkt.sack.probe = true;
		pkt.sack.probe_id = 9;
		PAIR_EQ(r.p, mrc_ev_state(r.qp->path->evs, 60), MRC_EV_GOOD);
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, mrc_ev_state(r.qp->path->evs, 60), marked ? MRC_EV_SKIP : MRC_EV_GOOD);
		pair_rig_close(&r);
	}
}

/* A request that has not left cannot be answered: whoever guesses its number is not believed. */
/* spec */
static void no_answer_before_the_request(void **state)
{
	struct pair_rig r;
	struct mrc_sched_ep_req req;
	struct mrc_pkt pkt;

	pair_rig_open(&r, "no_answer_before_the_request", NULL);
	req = pair_rig_ev_probe(&r);
	PAIR_EQ(r.p, mrc_sched_ep_send(r.s, r.p->now, &req), MRC_OK);
	pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_EP_RSP, &pkt);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.ep.op = MRC_EP_EV_PROBE;
	pkt.flags |= MRC_PKT_TS;
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		if (r.s->calls[i].path == NULL)
			continue;
		pkt.psn = mrc_psn(r.s->calls[i].id);
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt), MRC_DROP_EP_RESPONSE);
	}
	PAIR_EQ(r.p, pair_drops(r.p, PAIR_A, MRC_DROP_EP_RESPONSE), 1);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, ep_rsp_rx), 0);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, PAIR_US);
	/* It has left: from another address, or to another one of ours, it is no answer either. */
	for (int which = 0; which < 2; which++) {
		ep_answer(&r, &pkt);
		(which ? &pkt.src : &pkt.dst)->raw[15] ^= 0x40;
		pair_test_expect_drop(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt), MRC_DROP_EP_RESPONSE);
	}
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, ep_rsp_rx), 0);
	pair_run(r.p, 50 * PAIR_US);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, ep_rsp_rx), 1);
	PAIR_EQ(r.p, r.p->events[PAIR_A][MRC_EVENT_EP_RESULT], 1);
	pair_rig_close(&r);
}

static void two_qps(struct pair_cfg *cfg)
{
	cfg->nb_qps = 2;
}

/* A probe on demand is answered under its own number and to its own QP; any other answer to a probe
 * that is not out is refused whole. */
/* spec */
static void probes_are_known_by_number(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;
	uint16_t id;

	pair_rig_open(&r, "probes_are_known_by_number", two_qps);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
	for (uint32_t i = 0; i < 2; i++)
		pair_post(r.p, PAIR_A, i, &(struct pair_wr){.len = 3 * 1024});
	pair_run(r.p, 2 * PAIR_US);
	PAIR_EQ(r.p, mrc_sched_qp_probe(r.s, r.p->now, r.qp, 7, PAIR_MS), MRC_OK);
	pair_kick(&r.p->hosts[PAIR_A][0]);
	pair_run(r.p, 2 * PAIR_US);
	id = pair_rig_last(&r, PAIR_A, MRC_OP_PROBE)->probe.probe_id;
	for (uint32_t wrong = 0; wrong < 3; wrong++) {
		bool other = wrong == 1;

		pair_pkt_init(r.p, PAIR_A, other, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = pair_rig_psn(&r, 1);
		pkt.sack.rcvd_units = 4;
		pkt.sack.probe = true;
		pkt.sack.probe_id = (uint16_t)(wrong == 0 ? id + 1 : id);
		if (wrong == 2) {
			PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
			break;
		}
		pair_test_expect_drop(
			r.p, pair_rx_pkt(r.p, PAIR_A, other, &pkt), MRC_DROP_PROBE_UNKNOWN);
		PAIR_EQ(r.p, r.p->q[PAIR_A][other].qp->snt.nb_open, 3);
	}
	PAIR_EQ(r.p, r.qp->snt.nb_open, 1);
	pair_rig_close(&r);
}

/* The window that a SACK names counts only where both sides agreed to that. */
/* spec */
static void mpr_counts_only_if_agreed(void **state)
{
	for (int dynamic = 0; dynamic < 2; dynamic++) {
		struct pair_rig r;
		struct mrc_pkt pkt;

		pair_rig_open(&r, "mpr_counts_only_if_agreed", dynamic ? shared_window : NULL);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 3 * 1024});
		pair_run(r.p, 2 * PAIR_US);
		PAIR_EQ(r.p, r.qp->tx_window, 1024);
		sack(&r, &pkt);
		pkt.sack.mpr = 1;
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, r.qp->tx_window, dynamic ? 128 : 1024);
		/* 0 says nothing, and no more than was negotiated is taken. */
		pkt.sack.mpr = 0;
		(void)pair_rx_pkt(r.p, PAIR_A, 0, &pkt);
		PAIR_EQ(r.p, r.qp->tx_window, dynamic ? 128 : 1024);
		pkt.sack.mpr = 255;
		(void)pair_rx_pkt(r.p, PAIR_A, 0, &pkt);
		PAIR_EQ(r.p, r.qp->tx_window, 1024);
		pair_rig_close(&r);
	}
}

static void over_v6(struct pair_cfg *cfg)
{
	cfg->v6 = true;
}

/* An endpoint request that came through segment routing is answered to the outer address that it
 * came from. */
/* spec */
static void answers_go_back_through_segments(void **state)
{
	struct pair_rig r;
	struct mrc_pkt pkt;
	const struct mrc_pkt *rsp;

	pair_rig_open(&r, "answers_go_back_through_segments", over_v6);
	ep_status(&r, &pkt);
	pkt.ep.op = MRC_EP_EV_PROBE;
	pkt.flags |= MRC_PKT_SRV6;
	pkt.outer_src = pkt.src;
	pkt.outer_dst = pkt.dst;
	pkt.outer_dst.raw[3] ^= 0x11; /* a segment */
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(r.p, 2 * PAIR_US);
	rsp = pair_rig_last(&r, PAIR_B, MRC_OP_EP_RSP);
	assert_true(rsp->flags & MRC_PKT_SRV6);
	assert_true(mrc_gid_eq(&rsp->outer_dst, &pkt.outer_src));
	assert_true(mrc_gid_eq(&rsp->outer_src, &pkt.outer_dst));
	assert_true(mrc_gid_eq(&rsp->dst, &pkt.src));
	pair_rig_close(&r);
}

/* ---- the transport ACK is asked for when no path is left ---- */

/* The question waits for a path, and is put as soon as there is one. */
/* spec */
static void question_waits_for_a_path(void **state)
{
	struct pair_rig r;

	pair_rig_open(&r, "question_waits_for_a_path", NULL);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_finish(r.p, PAIR_S);
	pair_fault_add(
		r.p, &(struct pair_fault){
			     .act = PAIR_DROP, .dir = PAIR_B2A, .kinds = PAIR_ACK, .count = 1});
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	while (r.qp->snt.nb_open != 0 || r.qp->ask_ns == WHEEL_NEVER)
		pair_run(r.p, 500);
	for (uint32_t plane = 0; plane < r.p->cfg.nb_planes; plane++)
		pair_plane(r.p, PAIR_A, plane, false);
	pair_run(r.p, PAIR_MS);
	PAIR_EQ(r.p, r.p->q[PAIR_A][0].nb_success, 1);
	PAIR_EQ(r.p, r.s->counters.rtx_by_ack_timeout, 0);
	for (uint32_t plane = 0; plane < r.p->cfg.nb_planes; plane++)
		pair_plane(r.p, PAIR_A, plane, true);
	pair_run(r.p, 100 * PAIR_US);
	PAIR_EQ(r.p, r.p->q[PAIR_A][0].nb_success, 2);
	PAIR_EQ(r.p, r.s->counters.rtx_by_ack_timeout, 1);
	pair_rig_close(&r);
}

/* ---- what is counted ---- */

/* Each packet taken for lost is counted on the plane that it took, and on no other. */
static void losses_are_counted_by_plane(void **state)
{
	struct pair_rig r;
	uint64_t sum = 0;

	pair_rig_open(&r, "losses_are_counted_by_plane", NULL);
	pair_fault_add(
		r.p, &(struct pair_fault){
			     .act = PAIR_DROP, .dir = PAIR_A2B, .planes = 1u << 2, .ppm = 200000});
	for (int k = 0; k < 50; k++)
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 8 * 1024});
	pair_finish_faulty(r.p, PAIR_S);
	for (uint32_t plane = 0; plane < r.p->cfg.nb_planes; plane++)
		sum += PAIR_COUNTER(r.p, PAIR_A, planes[plane].lost_packets);
	PAIR_EQ(r.p, sum, pair_query(r.p, PAIR_A, 0).lost_packets);
	PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_A, planes[2].lost_packets), sum);
	assert_true(sum > 5);
	pair_rig_close(&r);
}

/* Packets and bytes that arrive are counted on their plane. */
static void arrivals_are_counted_by_plane(void **state)
{
	struct pair_rig r;
	uint64_t bytes = 0, packets = 0;

	pair_rig_open(&r, "arrivals_are_counted_by_plane", NULL);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 64 * 1024});
	pair_finish(r.p, PAIR_S);
	for (uint32_t plane = 0; plane < r.p->cfg.nb_planes; plane++) {
		uint64_t nb = PAIR_COUNTER(r.p, PAIR_B, planes[plane].rx_packets);

		PAIR_EQ(r.p, nb, PAIR_COUNTER(r.p, PAIR_A, planes[plane].tx_packets));
		PAIR_EQ(r.p, PAIR_COUNTER(r.p, PAIR_B, planes[plane].rx_bytes),
			PAIR_COUNTER(r.p, PAIR_A, planes[plane].tx_bytes));
		packets += nb;
		bytes += PAIR_COUNTER(r.p, PAIR_B, planes[plane].rx_bytes);
	}
	PAIR_EQ(r.p, packets, PAIR_COUNTER(r.p, PAIR_B, rx_packets));
	PAIR_EQ(r.p, packets, r.p->wire_packets[PAIR_A]);
	PAIR_EQ(r.p, bytes, r.p->hosts[PAIR_A][0].tx_bytes);
	pair_rig_close(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(wrong_icrc_of_every_kind),
	cmocka_unit_test(refusal_names_the_first_without_receive),
	cmocka_unit_test(failed_by_itself_answers_unexpected),
	cmocka_unit_test(refusals_are_counted),
	cmocka_unit_test(grant_follows_free_chunks),
	cmocka_unit_test(penalty_fits_its_field),
	cmocka_unit_test(marks_leave_room_for_nacks),
	cmocka_unit_test(one_bit_too_far),
	cmocka_unit_test(strict_echo_spares_answers_to_probes),
	cmocka_unit_test(marks_of_probes_reach_their_path),
	cmocka_unit_test(no_answer_before_the_request),
	cmocka_unit_test(probes_are_known_by_number),
	cmocka_unit_test(mpr_counts_only_if_agreed),
	cmocka_unit_test(answers_go_back_through_segments),
	cmocka_unit_test(question_waits_for_a_path),
	cmocka_unit_test(losses_are_counted_by_plane),
	cmocka_unit_test(arrivals_are_counted_by_plane),
};

PAIR_TEST_MAIN(tests)
