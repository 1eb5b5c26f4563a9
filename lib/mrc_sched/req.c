/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * req.c - the requester: packets of the send queue out, first and again, and their completion.
 */
#include "engine.h"

/* ---- posting ---- */

/* spec */
static int post(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr,
	uint32_t kind)
{
	const struct sendq_rules rules = {.mrs = &s->mrs,
		.pd = qp->pd,
		.pmtu_shift = qp->pmtu_shift,
		.strict_length = s->proto.choice.strict_length != 0};
	int err;

	if (qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	if ((qp->flags & QPF_SIG_ALL) != 0)
		kind |= WQE_SIGNALED;
	err = sendq_post(&qp->sq, &rules, wr, kind);
	if (err != MRC_OK)
		return err;
	/* Ready already: it has its turn coming. */
	if (!list_linked(&qp->ready_link) || (qp->flags & QPF_PARKED) != 0)
		req_wake(s, qp);
	return MRC_OK;
}

int mrc_sched_post_write(
	struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr)
{
	return post(s, qp, wr, 0);
}

int mrc_sched_post_write_imm(
	struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr)
{
	return post(s, qp, wr, WQE_IMM);
}

int mrc_sched_post_recv(
	struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_sched_recv_wr *wr)
{
	if (qp->state == MRC_QP_RESET) /* so is one that was destroyed */
		return MRC_ERR_STATE;
	if (qp->rq_tail - qp->rq_head > qp->rq_mask)
		return MRC_ERR_FULL;
	if (qp->state == MRC_QP_ERR) {
		cq_push(s, qp->recv_cq,
			&(struct mrc_sched_wc){.wr_id = wr->wr_id,
				.qp = qp,
				.status = MRC_WC_WR_FLUSH_ERR,
				.opcode = MRC_WC_RECV_IMM});
		return MRC_OK;
	}
	qp->rq[qp->rq_tail++ & qp->rq_mask] = wr->wr_id;
	return MRC_OK;
}

/* ---- lists ---- */

void req_wake(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	if (qp->state != MRC_QP_RTS)
		return;
	if (qp->flags & QPF_PARKED) {
		list_remove(&qp->ready_link);
		qp->flags &= (uint16_t)~QPF_PARKED;
		qp->park_ns = WHEEL_NEVER;
		/* A port is back before anything was sent: that was no retry. */
		if (s->up != 0 && qp->snt.nb_open == 0 && qp->rto_ns != WHEEL_NEVER) {
			qp->rto_ns = WHEEL_NEVER;
			qp->retries = 0;
		}
	}
	if (qp->snt.nb_lost != 0 && qp->pause_ns == WHEEL_NEVER)
		list_want(&s->rtx, &qp->rtx_link);
	if (qp->flags & QPF_REASK)
		list_want(&s->rtx, &qp->rtx_link);
	if (qp->sq.cur != qp->sq.tail)
		list_want(&s->ready, &qp->ready_link);
}

/* ---- packets ---- */

/* Headers and payload of a packet. flags: MRC_PKT_RTX, MRC_PKT_ACKREQ. Inline where packets leave
 * for the first time. */
/* spec */
static inline __attribute__((always_inline)) bool put_write(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct path *path, const struct wqe *wqe,
	const struct piece *piece, uint32_t flags, const struct mrc_ev *ev, struct mrc_txbuf *buf)
{
	uint64_t off = (uint64_t)piece->nr << qp->pmtu_shift;
	struct mrc_pkt pkt;
	uint32_t bth_off;

	if (!wqe_gather(&s->mrs, wqe, off, piece->len, buf))
		return false;
	if (s->cfg.timestamps)
		flags |= MRC_PKT_TS;
	if (s->proto.choice.tsr)
		flags |= MRC_PKT_TSR;
	wqe_packet(wqe, piece, off, flags, &pkt);
	if ((qp->flags & QPF_TRIM_PEER) == 0)
		pkt.cls = MRC_CLASS_NO_TRIM;
	else
		pkt.cls = flags & MRC_PKT_RTX ? MRC_CLASS_TRIMMABLE_RETX : MRC_CLASS_TRIMMABLE;
	pkt.dqpn = qp->dest_qpn;
	pkt.write.timestamp = ts_of(now_ns);
	buf->pad = pkt.pad;
	bth_off = hdr_put(&s->proto, path->tmpl, ev, &pkt, piece->body_len, &s->counters, buf);
	buf->ts_off = s->cfg.timestamps ? (uint16_t)(bth_off + MRC_BTH_LEN + MRC_METH_LEN) : 0;
	return true;
}

/* The same for a packet that leaves again; flags: MRC_PKT_ACKREQ. */
static __attribute__((noinline)) bool put_again(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct wqe *wqe, uint32_t nr, uint32_t flags, uint32_t ev,
	struct mrc_txbuf *buf)
{
	const struct mrc_ev *way = mrc_ev_get(qp->path->evs, ev);
	struct piece piece = wqe_cut(wqe, nr, qp->pmtu_shift, s->cfg.timestamps);

	MRC_ASSERT((qp->path->peer->known >> way->plane & 1) != 0);
	return put_write(s, now_ns, qp, qp->path, wqe, &piece, flags | MRC_PKT_RTX, way, buf);
}

/* The congestion window; one packet may always be in flight. */
static bool cwnd_open(const struct mrc_sched_qp *qp, uint32_t size, bool nothing_out)
{
	return (qp->flags & QPF_CC) == 0 || mrc_nscc_may_send(&qp->cc, size) || nothing_out;
}

static uint32_t pick_ev(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint32_t avoid)
{
	uint32_t planes = path_usable(s, qp->path) & qp->fit_planes;

	return mrc_ev_next(qp->path->evs, &qp->cursor, now_ns, planes, avoid);
}

/* AckReq policy (O-28): as the send queue has it, and the last packet that a window admits. */
static bool asks(const struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct wqe *wqe,
	mrc_psn_t next)
{
	if (sendq_asks(&qp->sq, wqe, s->proto.choice.ackreq_interval))
		return true;
	if ((uint32_t)mrc_psn_diff(next, qp->snt.una) + 1 >= qp->tx_window)
		return true;
	return (qp->flags & QPF_CC) != 0 && mrc_nscc_wants_ack(&qp->cc);
}

static void note_ask(struct mrc_sched_qp *qp, mrc_psn_t psn, uint32_t at)
{
	qp->sq.since_ask = 0;
	qp->ask_psn = psn;
	qp->ask_slot = at;
}

static enum req_result lost_region(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint32_t at)
{
	qp_fail(s, now_ns, qp, MRC_WC_LOC_PROT_ERR, at);
	return REQ_FAILED;
}

/* What the packets of a run have in common. */
struct run {
	const struct path *path;
	struct mrc_ev_set *evs;
	uint32_t planes; /* usable */
};

/* The next packet of the QP, the first of its run or one more. */
/* spec */
static inline enum req_result send_new(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct run *of, struct sent_run *run, struct mrc_txbuf *buf)
{
	struct wqe *wqe = sendq_at(&qp->sq, qp->sq.cur);
	struct sent sent = {.sent_ns = now_ns, .slot = (uint16_t)(qp->sq.cur & qp->sq.mask)};
	uint32_t flags = 0, ev;
	const struct mrc_ev *way;
	struct piece piece;

	if (qp->sq.cur == qp->sq.tail)
		return REQ_NOTHING;
	if ((uint32_t)mrc_psn_diff(run->next, qp->snt.una) >= qp->tx_window)
		return REQ_CLOSED;
	if (sendq_imm_closed(&qp->sq, wqe))
		return REQ_CLOSED;
	piece = wqe_cut(wqe, qp->sq.cur_pkt, qp->pmtu_shift, s->cfg.timestamps);
	sent.size = (uint16_t)(MRC_UDP_LEN + piece.body_len + NOMINAL_EXTRA);
	if (!cwnd_open(qp, sent.size, qp->snt.book == 0 && run->sent == NULL))
		return REQ_CLOSED;
	if (run->sent == NULL) {
		if (!sentmap_reserve(&qp->snt, &s->sent))
			return REQ_STARVED;
		sentmap_run_begin(&qp->snt, &s->sent, run);
	}
	ev = mrc_ev_next(of->evs, &qp->cursor, now_ns, of->planes, MRC_EV_NONE);
	if (ev == MRC_EV_NONE)
		return REQ_NO_PATH;
	sent.ev = (uint16_t)ev;
	if (qp->sq.cur_pkt == 0)
		sendq_begin(&qp->sq, wqe, run->next);
	if (qp->flags & QPF_CC)
		mrc_nscc_on_sent(&qp->cc, sent.size);
	if (asks(s, qp, wqe, run->next))
		flags = MRC_PKT_ACKREQ;
	way = mrc_ev_get(of->evs, ev);
	MRC_ASSERT((of->planes >> way->plane & 1) != 0);
	if (!put_write(s, now_ns, qp, of->path, wqe, &piece, flags, way, buf))
		return REQ_FAILED;
	qp->sq.since_ask++;
	if (flags != 0)
		note_ask(qp, run->next, qp->sq.cur);
	sentmap_run_add(run, &sent);
	s->counters.planes[buf->plane].tx_data_packets++;
	sendq_step(&qp->sq, wqe);
	return REQ_SENT;
}

uint32_t req_send_new(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	struct mrc_txbuf *bufs, uint32_t n, enum req_result *result_out)
{
	struct sent_run run = {.una = qp->snt.una, .next = qp->snt.next};
	uint32_t room = sentmap_run_room(&qp->snt), nb = 0;
	const struct run of = {.path = qp->path,
		.evs = qp->path->evs,
		.planes = path_usable(s, qp->path) & qp->fit_planes};
	enum req_result result = REQ_SENT;
	mrc_psn_t asked = qp->ask_psn;
	uint64_t bytes = 0;

	for (n = n < room ? n : room; nb < n; nb++) {
		result = send_new(s, now_ns, qp, &of, &run, &bufs[nb]);
		if (result != REQ_SENT)
			break;
		bytes += bufs[nb].payload_len;
	}
	*result_out = result;
	if (nb != 0) {
		sentmap_run_end(&qp->snt, &s->sent, &run);
		s->counters.tx_data_packets += nb;
		s->counters.tx_data_bytes += bytes;
		timer_packets_sent(s, now_ns, qp, !mrc_psn_eq(asked, qp->ask_psn));
	}
	if (__builtin_expect(result == REQ_FAILED, 0))
		(void)lost_region(s, now_ns, qp, qp->sq.cur);
	return nb;
}

/* Send queue index of a sent-map entry's work request. */
static uint32_t slot_index(const struct mrc_sched_qp *qp, uint32_t slot)
{
	return qp->sq.head + ((slot - qp->sq.head) & qp->sq.mask);
}

/* spec */
enum req_result req_send_lost(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf)
{
	uint32_t flags = 0, at, nr, ev;
	struct sent *sent;
	struct wqe *wqe;
	mrc_psn_t psn;

	if (qp->snt.nb_lost == 0 || qp->pause_ns != WHEEL_NEVER)
		return REQ_NOTHING;
	psn = sentmap_first_lost(&qp->snt, &s->sent);
#ifndef MRC_MUTANT_WINDOW
	if ((uint32_t)mrc_psn_diff(psn, qp->snt.una) >= qp->tx_window)
		return REQ_CLOSED;
#endif
	sent = sentmap_at(&qp->snt, &s->sent, psn);
	if (!cwnd_open(qp, sent->size, qp->snt.book == 0) && (qp->flags & QPF_FORCE) == 0)
		return REQ_CLOSED;
	ev = pick_ev(s, now_ns, qp, sent->ev);
	if (ev == MRC_EV_NONE)
		return REQ_NO_PATH;
	at = slot_index(qp, sent->slot);
	wqe = sendq_at(&qp->sq, at);
	nr = (uint32_t)mrc_psn_diff(psn, wqe->first_psn) & MRC_PSN_MASK;
	MRC_ASSERT(nr < wqe->nb_pkts && (int32_t)(at - qp->sq.done) >= 0);
	if (nr + 1 == wqe->nb_pkts || mrc_psn_eq(mrc_psn_add(psn, 1), qp->snt.next) ||
		mrc_psn_eq(psn, qp->ask_psn))
		flags |= MRC_PKT_ACKREQ;
	if (!put_again(s, now_ns, qp, wqe, nr, flags, ev, buf))
		return lost_region(s, now_ns, qp, at);
	qp->flags &= (uint16_t)~QPF_FORCE;
	if (qp->flags & QPF_CC)
		mrc_nscc_on_sent(&qp->cc, sent->size);
	trace(s, now_ns, MRC_TRACE_RETRANSMIT, qp->qpn, psn.v, sent->rtx + 1u);
	sentmap_resend(&qp->snt, &s->sent, psn, (uint16_t)ev, now_ns);
	s->counters.retransmits++;
	s->counters.planes[buf->plane].tx_retransmits++;
	timer_packet_sent(s, now_ns, qp);
	return REQ_SENT;
}

/* spec */
enum req_result req_send_reask(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf)
{
	struct wqe *wqe = sendq_at(&qp->sq, qp->ask_slot);
	uint32_t nr, ev;

	if ((qp->flags & QPF_REASK) == 0)
		return REQ_NOTHING;
	/* The transport ACK may have come since. */
	if (mrc_psn_diff(qp->ask_psn, qp->sq.ack_psn) <= 0) {
		qp->flags &= (uint16_t)~QPF_REASK;
		return REQ_NOTHING;
	}
	ev = pick_ev(s, now_ns, qp, MRC_EV_NONE);
	if (ev == MRC_EV_NONE)
		return REQ_NO_PATH;
	nr = (uint32_t)mrc_psn_diff(qp->ask_psn, wqe->first_psn) & MRC_PSN_MASK;
	MRC_ASSERT(nr < wqe->nb_pkts);
	/* Not in the congestion book: the responder counts no duplicate in rcvd_bytes. */
	if (!put_again(s, now_ns, qp, wqe, nr, MRC_PKT_ACKREQ, ev, buf))
		return lost_region(s, now_ns, qp, qp->ask_slot);
	qp->flags &= (uint16_t)~QPF_REASK;
	s->counters.retransmits++;
	s->counters.rtx_by_ack_timeout++;
	s->counters.planes[buf->plane].tx_retransmits++;
	return REQ_SENT;
}

enum mrc_sched_wait req_waits(const struct mrc_sched_qp *qp)
{
	bool lost = qp->snt.nb_lost != 0, fresh = qp->sq.cur != qp->sq.tail;
	uint32_t full = MRC_UDP_LEN + MRC_BTH_LEN + (1u << qp->pmtu_shift) + NOMINAL_EXTRA;
	bool open = cwnd_open(qp, full, qp->snt.book == 0);

	if (qp->state != MRC_QP_RTS)
		return MRC_WAIT_NOTHING;
	if ((qp->flags & QPF_PARKED) != 0)
		return MRC_WAIT_PATH;
	if (lost && qp->pause_ns == WHEEL_NEVER)
		return open || (qp->flags & QPF_FORCE) != 0 ? MRC_WAIT_TURN : MRC_WAIT_CWND;
	if (!fresh && lost)
		return MRC_WAIT_PAUSE;
	if (!fresh)
		return qp->sq.tail != qp->sq.head ? MRC_WAIT_ANSWER : MRC_WAIT_NOTHING;
	if ((uint32_t)mrc_psn_diff(qp->snt.next, qp->snt.una) >= qp->tx_window ||
		sendq_imm_closed(&qp->sq, sendq_at(&qp->sq, qp->sq.cur)))
		return MRC_WAIT_WINDOW;
	return open ? MRC_WAIT_TURN : MRC_WAIT_CWND;
}

/* ---- completion ---- */

/* spec */
bool req_complete(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	const struct wqe *wqe;

	while ((wqe = sendq_complete(&qp->sq, psn)) != NULL) {
		struct mrc_sched_wc *wc;

		if ((wqe->flags & WQE_SIGNALED) == 0)
			continue;
		wc = cq_place(s, qp->send_cq, qp);
		if (wc == NULL)
			return false;
		wqe_done(wqe, qp, wc);
	}
	return true;
}

uint32_t req_find(const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	for (uint32_t at = qp->sq.done; at != qp->sq.tail; at++) {
		const struct wqe *wqe = sendq_at(&qp->sq, at);

		if (at == qp->sq.cur && qp->sq.cur_pkt == 0)
			break;
		if (((psn.v - wqe->first_psn.v) & MRC_PSN_MASK) < wqe->nb_pkts)
			return at;
		if (at == qp->sq.cur)
			break;
	}
	return UINT32_MAX;
}
