/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_req.c - the plain partner as a requester: posting, packets out, answers, completions. */
#include "plain_private.h"

static void wake(struct plain *p, struct plain_qp *qp)
{
	if (qp->sq.cur != qp->sq.tail)
		list_want(&p->ready, &qp->ready_link);
}

/* ---- posting ----------------------------------------------------------------------------------*/

int plain_post_write(
	struct plain *p, uint32_t index, const struct mrc_sched_send_wr *wr, uint32_t kind)
{
	struct plain_qp *qp = &p->qps[index];
	const struct sendq_rules rules = {.mrs = &p->mrs,
		.pd = qp->pd,
		.pmtu_shift = qp->pmtu_shift,
		.strict_length = p->proto.choice.strict_length != 0};
	int err;

	if (qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	err = sendq_post(&qp->sq, &rules, wr,
		(kind == MRC_OPF_IMMDT ? WQE_IMM : 0u) | (qp->sig_all ? WQE_SIGNALED : 0u));
	if (err == MRC_OK)
		wake(p, qp);
	return err;
}

/* ---- packets ----------------------------------------------------------------------------------*/

/* Headers and payload. False when the region is gone. */
static bool put(struct plain *p, uint64_t now_ns, struct plain_qp *qp, const struct wqe *wqe,
	const struct piece *piece, uint32_t flags, const struct mrc_ev *ev, struct mrc_txbuf *buf)
{
	uint64_t off = (uint64_t)piece->nr << qp->pmtu_shift;
	struct mrc_pkt pkt;
	uint32_t bth_off;

	if (!wqe_gather(&p->mrs, wqe, off, piece->len, buf))
		return false;
	if (p->cfg.timestamps)
		flags |= MRC_PKT_TS;
	if (p->proto.choice.tsr)
		flags |= MRC_PKT_TSR;
	wqe_packet(wqe, piece, off, flags, &pkt);
	pkt.cls = MRC_CLASS_NO_TRIM;
	pkt.dqpn = qp->dest_qpn;
	pkt.write.timestamp = ts_of(now_ns);
	buf->pad = pkt.pad;
	bth_off = hdr_put(&p->proto, qp->path->tmpl, ev, &pkt, piece->body_len, &p->counters, buf);
	buf->ts_off = p->cfg.timestamps ? (uint16_t)(bth_off + MRC_BTH_LEN + MRC_METH_LEN) : 0;
	return true;
}

static bool asks(const struct plain *p, const struct plain_qp *qp, const struct wqe *wqe)
{
	if (sendq_asks(&qp->sq, wqe, p->proto.choice.ackreq_interval))
		return true;
	if ((uint32_t)mrc_psn_diff(qp->next, qp->una) + 1 >= qp->tx_window)
		return true;
	return qp->cc_cfg != NULL && mrc_nscc_wants_ack(&qp->cc);
}

static bool cwnd_open(const struct plain_qp *qp, uint32_t size)
{
	return qp->cc_cfg == NULL || mrc_nscc_may_send(&qp->cc, size) ||
	       mrc_psn_eq(qp->next, qp->una);
}

static inline bool send_one(struct plain *p, uint64_t now_ns, struct plain_qp *qp, uint32_t planes,
	struct mrc_txbuf *buf)
{
	struct wqe *wqe = sendq_at(&qp->sq, qp->sq.cur);
	uint32_t flags = 0, size, ev;
	struct piece piece;

	if (qp->sq.cur == qp->sq.tail || (uint32_t)mrc_psn_diff(qp->next, qp->una) >= qp->tx_window)
		return false;
	if (sendq_imm_closed(&qp->sq, wqe))
		return false;
	piece = wqe_cut(wqe, qp->sq.cur_pkt, qp->pmtu_shift, p->cfg.timestamps);
	size = (uint32_t)MRC_UDP_LEN + piece.body_len + NOMINAL_EXTRA;
	if (!cwnd_open(qp, size))
		return false;
	ev = mrc_ev_next(qp->path->evs, &qp->cursor, now_ns, planes, MRC_EV_NONE);
	if (ev == MRC_EV_NONE)
		return false;
	if (qp->sq.cur_pkt == 0)
		sendq_begin(&qp->sq, wqe, qp->next);
	if (qp->cc_cfg != NULL)
		mrc_nscc_on_sent(&qp->cc, size);
	if (asks(p, qp, wqe))
		flags = MRC_PKT_ACKREQ;
	if (!put(p, now_ns, qp, wqe, &piece, flags, mrc_ev_get(qp->path->evs, ev), buf))
		return false;
	qp->sq.since_ask = flags != 0 ? 0 : qp->sq.since_ask + 1;
	qp->next = mrc_psn_add(qp->next, 1);
	p->counters.planes[buf->plane].tx_data_packets++;
	sendq_step(&qp->sq, wqe);
	return true;
}

/* A turn of one QP. Returns the packets; fewer than n: there are no more now. */
static uint32_t send_run(
	struct plain *p, uint64_t now_ns, struct plain_qp *qp, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0, planes = p->planes;
	uint64_t bytes = 0;

	while (nb < n && send_one(p, now_ns, qp, planes, &bufs[nb]))
		bytes += bufs[nb++].payload_len;
	p->counters.tx_data_packets += nb;
	p->counters.tx_data_bytes += bytes;
	return nb;
}

/* Asks the cache for what the first packet of the next QP's turn touches. */
static inline void fetch_next(const struct plain *p, struct link *l)
{
	const struct plain_qp *qp = LIST_OWNER(l, struct plain_qp, ready_link);

	if (l == &p->ready)
		return;
	__builtin_prefetch(qp);
	__builtin_prefetch(&qp->sq);
	__builtin_prefetch(&qp->sq.next_msn);
	__builtin_prefetch(&qp->cc);
}

uint32_t plain_send(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && !list_empty(&p->ready)) {
		struct plain_qp *qp = LIST_OWNER(p->ready.next, struct plain_qp, ready_link);
		uint32_t most = n - nb < TX_QUANTUM ? n - nb : TX_QUANTUM, sent;

		fetch_next(p, qp->ready_link.next);
		sent = send_run(p, now_ns, qp, &bufs[nb], most);
		nb += sent;
		list_remove(&qp->ready_link);
		if (sent == most)
			list_push(&p->ready, &qp->ready_link);
	}
	return nb;
}

/* ---- answers ----------------------------------------------------------------------------------*/

/* Is it a PSN that was sent, or one from before? */
static bool unsent(const struct plain_qp *qp, mrc_psn_t psn)
{
	return mrc_psn_diff(psn, qp->next) >= 0;
}

static void received(struct plain_qp *qp, mrc_psn_t psn)
{
	if (mrc_psn_diff(psn, qp->una) >= 0)
		qp->una = mrc_psn_add(psn, 1);
}

static void feed_path(
	struct mrc_ev_set *evs, uint64_t now_ns, const struct mrc_pkt_sack *sack, uint32_t plane)
{
	uint32_t index = mrc_ev_find(evs, sack->entropy, (uint8_t)plane);

	if (index != MRC_EV_NONE)
		mrc_ev_feedback(evs, now_ns, index,
			sack->m == MRC_M_SKIP_ONCE ? MRC_EV_FB_MARKED : MRC_EV_FB_ALWAYS_SKIP);
}

enum mrc_drop plain_sack(
	struct plain *p, uint64_t now_ns, struct plain_qp *qp, const struct mrc_pkt *pkt)
{
	const struct mrc_pkt_sack *sack = &pkt->sack;
	uint64_t rtt_ns = (uint64_t)(uint16_t)(ts_of(now_ns) - sack->timestamp) * MRC_TS_TICK_NS;

	if (unsent(qp, sack->cack) || unsent(qp, mrc_psn_add(sack->cack, sack->ack_offset)))
		return MRC_DROP_ACK_UNSENT;
	if (mrc_psn_diff(qp->una, sack->cack) > (int32_t)qp->tx_window + 1)
		return MRC_DROP_ACK_STALE;
	p->counters.rx_sack++;
	/* Without a table of what was sent a mark is put down to the value on every plane. */
	for (uint32_t i = 0; sack->m != MRC_M_NONE && i < p->cfg.nb_planes; i++)
		feed_path(qp->path->evs, now_ns, sack, i);
	received(qp, sack->cack);
	if (qp->cc_cfg != NULL) {
		struct mrc_nscc_sack word = {.rcvd_units = sack->rcvd_units,
			.marked = sack->m == MRC_M_SKIP_ONCE,
			.restore = sack->restore_cwnd != 0,
			.pen = sack->rcv_cwnd_pen,
			.rtt_ns = p->cfg.timestamps && rtt_ns < TS_AMBIGUOUS_NS ? rtt_ns
										: MRC_NSCC_NO_RTT};

		(void)mrc_nscc_on_sack(&qp->cc, now_ns, &word);
	}
	wake(p, qp);
	return MRC_KEEP;
}

enum mrc_drop plain_ack(struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt)
{
	const struct wqe *wqe;

	if (unsent(qp, pkt->psn))
		return MRC_DROP_ACK_UNSENT;
	if (pkt->ack.syndrome != MRC_AETH_ACK)
		return MRC_DROP_ACK_SYNDROME;
	p->counters.rx_ack++;
	if (mrc_psn_diff(qp->sq.ack_psn, pkt->psn) >= 0)
		return MRC_KEEP;
	qp->sq.ack_psn = pkt->psn;
	received(qp, pkt->psn);
	while ((wqe = sendq_complete(&qp->sq, pkt->psn)) != NULL) {
		struct mrc_sched_wc *wc;

		if ((wqe->flags & WQE_SIGNALED) == 0)
			continue;
		wc = cq_next(qp->send_cq);
		if (wc == NULL)
			return MRC_DROP_CQ_OVERRUN;
		wqe_done(wqe, qp->ctx, wc);
	}
	wake(p, qp);
	return MRC_KEEP;
}
