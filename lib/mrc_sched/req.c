/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * req.c - the requester: send queue, segmentation, packets out, completions.
 *
 * Indices of the send queue run free:
 *
 *   head ──── done ──── cur ──── tail
 *    │ slots    │ sent,   │ not sent
 *    │ kept     │ no 0xD1 │ completely
 *
 * head..done: acknowledged, but unsignaled; verbs keeps their slots until a later signaled work
 * request completes.
 */
#include "engine.h"

#include <string.h>

/* ---- posting ---- */

/* Copies the SGEs that are not empty to a work request that is not posted yet, and adds them up. */
static int take_sges(struct mrc_sched *s, const struct mrc_sched_qp *qp,
	const struct mrc_sched_send_wr *wr, struct wqe *wqe, uint64_t *len_out)
{
	uint64_t len = 0;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < wr->nb_sge; i++) {
		const struct mrc_sched_sge *sge = &wr->sges[i];
		const struct mr *mr;

		if (sge->len == 0)
			continue;
		mr = mr_find(s, sge->lkey);
		if (mr == NULL || mr->pd != qp->pd || !mr_covers(mr, sge->addr, sge->len))
			return MRC_ERR_LKEY;
		wqe->sge[nb++] = (struct sge){.base = mr->addr + (sge->addr - mr->iova),
			.len = sge->len,
			.lkey = sge->lkey};
		len += sge->len;
	}
	wqe->nb_sge = (uint8_t)nb;
	*len_out = len;
	return MRC_OK;
}

/* spec */
static int post(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr,
	uint32_t kind)
{
	const uint32_t known = MRC_SEND_SIGNALED | MRC_SEND_SOLICITED | MRC_SEND_FENCE;
	uint32_t pmtu_mask;
	struct wqe *wqe;
	uint64_t len;
	int err;

	if (qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	if (qp->sq_tail - qp->sq_head >= qp->sq_depth)
		return MRC_ERR_FULL;
	if (wr->nb_sge > qp->max_sge || (wr->flags & ~known) != 0)
		return MRC_ERR_INVAL;
	wqe = sq_at(qp, qp->sq_tail);
	err = take_sges(s, qp, wr, wqe, &len);
	if (err != MRC_OK)
		return err;
	if (len > UINT64_C(1) << MAX_MSG_LEN_SHIFT)
		return MRC_ERR_TOOBIG;
	if (len == 0 && s->proto.choice.strict_length)
		return MRC_ERR_INVAL;
	pmtu_mask = (1u << qp->pmtu_shift) - 1;
	wqe->wr_id = wr->wr_id;
	wqe->raddr = wr->raddr;
	wqe->rkey = wr->rkey;
	wqe->len = (uint32_t)len;
	wqe->nb_pkts = len == 0 ? 1 : (uint32_t)((len + pmtu_mask) >> qp->pmtu_shift);
	memcpy(wqe->imm, wr->imm, sizeof(wqe->imm));
	if ((wr->flags & MRC_SEND_SIGNALED) != 0 || (qp->flags & QPF_SIG_ALL) != 0)
		kind |= WQE_SIGNALED;
	if ((wr->flags & MRC_SEND_SOLICITED) != 0)
		kind |= WQE_SOLICITED;
	wqe->flags = (uint8_t)kind;
	qp->sq_tail++;
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
	if (qp->state == MRC_QP_RESET || qp->qpn == 0)
		return MRC_ERR_STATE;
	if (qp->rq_tail - qp->rq_head >= qp->rq_depth)
		return MRC_ERR_FULL;
	if (qp->state == MRC_QP_ERR) {
		(void)cq_push(s, qp->recv_cq,
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
	if (qp->sq_cur != qp->sq_tail)
		list_want(&s->ready, &qp->ready_link);
}

/* ---- packets ---- */

/* gather for a work request with several SGEs, or none. */
static __attribute__((noinline)) bool gather_many(struct mrc_sched *s, const struct wqe *wqe,
	uint64_t off, uint32_t len, struct mrc_txbuf *buf)
{
	uint32_t i = 0;

	buf->nb_seg = 0;
	while (len > 0) {
		const struct sge *sge = &wqe->sge[i++];
		uint32_t part;

		MRC_ASSERT(i <= wqe->nb_sge);
		if (off >= sge->len) {
			off -= sge->len;
			continue;
		}
		/* Deregistered meanwhile: its memory is the owner's again. */
		if (__builtin_expect(mr_find(s, sge->lkey) == NULL, 0))
			return false;
		part = sge->len - (uint32_t)off < len ? sge->len - (uint32_t)off : len;
		buf->seg[buf->nb_seg++] = (struct mrc_iov){.base = sge->base + off, .len = part};
		len -= part;
		off = 0;
	}
	return true;
}

/* Points buf at bytes off .. off + len of the message; false when a region is gone. */
static inline bool gather(struct mrc_sched *s, const struct wqe *wqe, uint64_t off, uint32_t len,
	struct mrc_txbuf *buf)
{
	const struct sge *only = &wqe->sge[0];

	buf->payload_len = (uint16_t)len;
	if (__builtin_expect(wqe->nb_sge != 1, 0))
		return gather_many(s, wqe, off, len, buf);
	buf->seg[0] = (struct mrc_iov){.base = only->base + off, .len = len};
	buf->nb_seg = 1;
	return mr_find(s, only->lkey) != NULL;
}

static uint8_t opcode_of(const struct wqe *wqe, uint32_t nr)
{
	bool first = nr == 0, last = nr + 1 == wqe->nb_pkts, imm = (wqe->flags & WQE_IMM) != 0;

	if (first && last)
		return imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	if (last)
		return imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
	return first ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
}

/* Packet nr of a work request, as it is cut. */
struct piece {
	uint32_t nr, len;
	uint16_t body_len; /* bytes behind the UDP header */
	uint8_t opcode;
};

static inline struct piece piece_of(const struct mrc_sched *s, const struct mrc_sched_qp *qp,
	const struct wqe *wqe, uint32_t nr)
{
	uint32_t pmtu = 1u << qp->pmtu_shift;
	uint32_t rest = (uint32_t)(wqe->len - ((uint64_t)nr << qp->pmtu_shift));
	struct piece piece = {
		.nr = nr, .len = rest < pmtu ? rest : pmtu, .opcode = opcode_of(wqe, nr)};

	piece.body_len = (uint16_t)(MRC_BTH_LEN + mrc_opcode_table[piece.opcode].ext_len +
				    (s->cfg.timestamps ? MRC_TSETH_LEN : 0) +
				    ((piece.len + 3) & ~3u) + MRC_ICRC_LEN);
	return piece;
}

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

	if (!gather(s, wqe, off, piece->len, buf))
		return false;
	pkt.opcode = piece->opcode;
	if (s->cfg.timestamps)
		flags |= MRC_PKT_TS;
	if ((wqe->flags & (WQE_SOLICITED | WQE_IMM)) == (WQE_SOLICITED | WQE_IMM) &&
		piece->nr + 1 == wqe->nb_pkts)
		flags |= MRC_PKT_SE;
	if (s->proto.choice.tsr)
		flags |= MRC_PKT_TSR;
	pkt.flags = (uint16_t)flags;
	if ((qp->flags & QPF_TRIM_PEER) == 0)
		pkt.cls = MRC_CLASS_NO_TRIM;
	else
		pkt.cls = flags & MRC_PKT_RTX ? MRC_CLASS_TRIMMABLE_RETX : MRC_CLASS_TRIMMABLE;
	pkt.ecn = MRC_ECN_ECT0;
	pkt.pad = (uint8_t)(-piece->len & 3);
	pkt.dqpn = qp->dest_qpn;
	pkt.psn = mrc_psn_add(wqe->first_psn, (int32_t)piece->nr);
	pkt.write.va = wqe->raddr + off;
	pkt.write.rkey = wqe->rkey;
	pkt.write.dma_len = wqe->len;
	pkt.write.msn = wqe->msn;
	pkt.write.rqmsn = wqe->rqmsn;
	pkt.write.timestamp = ts_of(now_ns);
	memcpy(pkt.write.imm, wqe->imm, sizeof(pkt.write.imm));
	buf->pad = pkt.pad;
	bth_off = tx_put(s, path, ev, &pkt, piece->body_len, buf);
	buf->ts_off = s->cfg.timestamps ? (uint16_t)(bth_off + MRC_BTH_LEN + MRC_METH_LEN) : 0;
	return true;
}

/* The same for a packet that leaves again; flags: MRC_PKT_ACKREQ. */
static __attribute__((noinline)) bool put_again(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct wqe *wqe, uint32_t nr, uint32_t flags, uint32_t ev,
	struct mrc_txbuf *buf)
{
	const struct mrc_ev *way = mrc_ev_get(qp->path->evs, ev);
	struct piece piece = piece_of(s, qp, wqe, nr);

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

/*
 * AckReq policy (O-28): the last packet of a signaled message or of an emptying queue, the last one
 * that a window admits, the last immediate that may be in flight, else one packet in
 * ackreq_interval.
 */
static bool asks(const struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct wqe *wqe,
	mrc_psn_t next)
{
	bool last = qp->cur_pkt + 1 == wqe->nb_pkts;

	if (last && ((wqe->flags & WQE_SIGNALED) != 0 || qp->sq_cur + 1 == qp->sq_tail))
		return true;
	if (last && (wqe->flags & WQE_IMM) != 0 && qp->nb_imm >= qp->max_wimm)
		return true;
	if (qp->since_ask + 1 >= s->proto.choice.ackreq_interval)
		return true;
	if ((uint32_t)mrc_psn_diff(next, qp->snt.una) + 1 >= qp->tx_window)
		return true;
	return (qp->flags & QPF_CC) != 0 && mrc_nscc_wants_ack(&qp->cc);
}

static void note_ask(struct mrc_sched_qp *qp, mrc_psn_t psn, uint32_t at)
{
	qp->since_ask = 0;
	qp->ask_psn = psn;
	qp->ask_slot = at;
}

static enum req_result lost_region(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint32_t at)
{
	qp_fail(s, now_ns, qp, MRC_WC_LOC_PROT_ERR, at);
	return REQ_FAILED;
}

/* spec */
static void begin_message(struct mrc_sched_qp *qp, struct wqe *wqe, mrc_psn_t next)
{
	wqe->first_psn = next;
	wqe->msn = qp->next_msn;
	wqe->rqmsn = mrc_msn(0);
	qp->next_msn = mrc_msn_add(qp->next_msn, 1);
	if (wqe->flags & WQE_IMM) {
		wqe->rqmsn = qp->next_rqmsn;
		qp->next_rqmsn = mrc_msn_add(qp->next_rqmsn, 1);
		qp->nb_imm++;
	}
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
	struct wqe *wqe = sq_at(qp, qp->sq_cur);
	struct sent sent = {.sent_ns = now_ns, .slot = (uint16_t)(qp->sq_cur & qp->sq_mask)};
	uint32_t flags = 0, ev;
	const struct mrc_ev *way;
	struct piece piece;

	if (qp->sq_cur == qp->sq_tail)
		return REQ_NOTHING;
	if ((uint32_t)mrc_psn_diff(run->next, qp->snt.una) >= qp->tx_window)
		return REQ_CLOSED;
	if (qp->cur_pkt == 0 && (wqe->flags & WQE_IMM) != 0 && qp->nb_imm >= qp->max_wimm)
		return REQ_CLOSED;
	piece = piece_of(s, qp, wqe, qp->cur_pkt);
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
	if (qp->cur_pkt == 0)
		begin_message(qp, wqe, run->next);
	if (qp->flags & QPF_CC)
		mrc_nscc_on_sent(&qp->cc, sent.size);
	if (asks(s, qp, wqe, run->next))
		flags = MRC_PKT_ACKREQ;
	way = mrc_ev_get(of->evs, ev);
	MRC_ASSERT((of->planes >> way->plane & 1) != 0);
	if (!put_write(s, now_ns, qp, of->path, wqe, &piece, flags, way, buf))
		return REQ_FAILED;
	qp->since_ask++;
	if (flags != 0)
		note_ask(qp, run->next, qp->sq_cur);
	sentmap_run_add(run, &sent);
	s->counters.planes[buf->plane].tx_data_packets++;
	if (++qp->cur_pkt == wqe->nb_pkts) {
		qp->cur_pkt = 0;
		qp->sq_cur++;
	}
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
		(void)lost_region(s, now_ns, qp, qp->sq_cur);
	return nb;
}

/* Send queue index of a sent-map entry's work request. */
static uint32_t slot_index(const struct mrc_sched_qp *qp, uint32_t slot)
{
	return qp->sq_head + ((slot - qp->sq_head) & qp->sq_mask);
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
	wqe = sq_at(qp, at);
	nr = (uint32_t)mrc_psn_diff(psn, wqe->first_psn) & MRC_PSN_MASK;
	MRC_ASSERT(nr < wqe->nb_pkts && (int32_t)(at - qp->sq_done) >= 0);
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
	struct wqe *wqe = sq_at(qp, qp->ask_slot);
	uint32_t nr, ev;

	if ((qp->flags & QPF_REASK) == 0)
		return REQ_NOTHING;
	/* The transport ACK may have come since. */
	if (mrc_psn_diff(qp->ask_psn, qp->ack_psn) <= 0) {
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

/* ---- completion ---- */

/* spec */
bool req_complete(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	struct mrc_sched_wc *wc;

	while (qp->sq_done != qp->sq_cur) {
		const struct wqe *wqe = sq_at(qp, qp->sq_done);
		mrc_psn_t last = mrc_psn_add(wqe->first_psn, (int32_t)(wqe->nb_pkts - 1));

		if (mrc_psn_diff(last, psn) > 0)
			break;
		if (wqe->flags & WQE_IMM) {
			MRC_ASSERT(qp->nb_imm > 0);
			qp->nb_imm--;
		}
		qp->sq_done++;
		if ((wqe->flags & WQE_SIGNALED) == 0)
			continue;
		qp->sq_head = qp->sq_done;
		wc = cq_place(s, qp->send_cq, qp);
		if (wc == NULL)
			return false;
		*wc = (struct mrc_sched_wc){.wr_id = wqe->wr_id,
			.qp = qp,
			.byte_len = wqe->len,
			.status = MRC_WC_SUCCESS,
			.opcode = wqe->flags & WQE_IMM ? MRC_WC_WRITE_IMM : MRC_WC_WRITE};
	}
	return true;
}

uint32_t req_find(const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	for (uint32_t at = qp->sq_done; at != qp->sq_tail; at++) {
		const struct wqe *wqe = sq_at(qp, at);

		if (at == qp->sq_cur && qp->cur_pkt == 0)
			break;
		if (((psn.v - wqe->first_psn.v) & MRC_PSN_MASK) < wqe->nb_pkts)
			return at;
		if (at == qp->sq_cur)
			break;
	}
	return UINT32_MAX;
}
