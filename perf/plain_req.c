/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_req.c - the plain partner as a requester: posting, segmentation, answers, completions. */
#include "plain_private.h"

enum {
	MAX_MSG_LEN_SHIFT = 31,
	TS_AMBIGUOUS_NS = 4194304, /* half the range of the time stamps */
};

static void wake(struct plain *p, struct plain_qp *qp)
{
	if (qp->sq_cur != qp->sq_tail)
		list_want(&p->ready, &qp->ready_link);
}

/* ---- posting ----------------------------------------------------------------------------------*/

static int take_sges(struct plain *p, const struct plain_qp *qp, const struct mrc_sched_send_wr *wr,
	struct plain_wqe *wqe, uint64_t *len_out)
{
	uint64_t len = 0;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < wr->nb_sge; i++) {
		const struct mrc_sched_sge *sge = &wr->sges[i];
		const struct plain_mr *mr;

		if (sge->len == 0)
			continue;
		mr = plain_mr_find(p, sge->lkey);
		if (mr == NULL || mr->pd != qp->pd || !plain_mr_covers(mr, sge->addr, sge->len))
			return MRC_ERR_LKEY;
		wqe->sge[nb++] = (struct plain_sge){.base = mr->addr + (sge->addr - mr->iova),
			.len = sge->len,
			.lkey = sge->lkey};
		len += sge->len;
	}
	wqe->nb_sge = (uint8_t)nb;
	*len_out = len;
	return MRC_OK;
}

int plain_post_write(
	struct plain *p, uint32_t index, const struct mrc_sched_send_wr *wr, uint32_t kind)
{
	const uint32_t known = MRC_SEND_SIGNALED | MRC_SEND_SOLICITED | MRC_SEND_FENCE;
	struct plain_qp *qp = &p->qps[index];
	uint32_t pmtu_mask = (1u << qp->pmtu_shift) - 1;
	struct plain_wqe *wqe;
	uint64_t len;
	int err;

	if (qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	if (qp->sq_tail - qp->sq_head > qp->sq_mask)
		return MRC_ERR_FULL;
	if (wr->nb_sge > qp->max_sge || (wr->flags & ~known) != 0)
		return MRC_ERR_INVAL;
	wqe = plain_sq_at(qp, qp->sq_tail);
	err = take_sges(p, qp, wr, wqe, &len);
	if (err != MRC_OK)
		return err;
	if (len > 1u << MAX_MSG_LEN_SHIFT)
		return MRC_ERR_TOOBIG;
	wqe->wr_id = wr->wr_id;
	wqe->raddr = wr->raddr;
	wqe->rkey = wr->rkey;
	wqe->len = (uint32_t)len;
	wqe->nb_pkts = len == 0 ? 1 : (uint32_t)((len + pmtu_mask) >> qp->pmtu_shift);
	memcpy(wqe->imm, wr->imm, sizeof(wqe->imm));
	wqe->flags = kind == MRC_OPF_IMMDT ? PLAIN_IMM : 0;
	if ((wr->flags & MRC_SEND_SIGNALED) != 0 || qp->sig_all)
		wqe->flags |= PLAIN_SIGNALED;
	if ((wr->flags & MRC_SEND_SOLICITED) != 0)
		wqe->flags |= PLAIN_SOLICITED;
	qp->sq_tail++;
	wake(p, qp);
	return MRC_OK;
}

/* ---- packets ----------------------------------------------------------------------------------*/

static uint8_t opcode_of(const struct plain_wqe *wqe, uint32_t nr)
{
	bool first = nr == 0, last = nr + 1 == wqe->nb_pkts, imm = (wqe->flags & PLAIN_IMM) != 0;

	if (first && last)
		return imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	if (last)
		return imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
	return first ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
}

/* Packet cur_pkt of a work request, as it is cut. */
struct piece {
	uint32_t nr, len;
	uint16_t body_len; /* bytes behind the UDP header */
	uint8_t opcode;
};

static inline struct piece piece_of(
	const struct plain *p, const struct plain_qp *qp, const struct plain_wqe *wqe)
{
	uint32_t nr = qp->cur_pkt, pmtu = 1u << qp->pmtu_shift;
	uint32_t rest = (uint32_t)(wqe->len - ((uint64_t)nr << qp->pmtu_shift));
	struct piece piece = {
		.nr = nr, .len = rest < pmtu ? rest : pmtu, .opcode = opcode_of(wqe, nr)};

	piece.body_len = (uint16_t)(MRC_BTH_LEN + mrc_opcode_table[piece.opcode].ext_len +
				    (p->cfg.timestamps ? MRC_TSETH_LEN : 0) +
				    ((piece.len + 3) & ~3u) + MRC_ICRC_LEN);
	return piece;
}

static __attribute__((noinline)) bool gather_many(struct plain *p, const struct plain_wqe *wqe,
	uint64_t off, uint32_t len, struct mrc_txbuf *buf)
{
	uint32_t i = 0;

	buf->nb_seg = 0;
	while (len > 0) {
		const struct plain_sge *sge = &wqe->sge[i++];
		uint32_t part;

		MRC_ASSERT(i <= wqe->nb_sge);
		if (off >= sge->len) {
			off -= sge->len;
			continue;
		}
		if (__builtin_expect(plain_mr_find(p, sge->lkey) == NULL, 0))
			return false;
		part = sge->len - (uint32_t)off < len ? sge->len - (uint32_t)off : len;
		buf->seg[buf->nb_seg++] = (struct mrc_iov){.base = sge->base + off, .len = part};
		len -= part;
		off = 0;
	}
	return true;
}

static inline bool gather(struct plain *p, const struct plain_wqe *wqe, uint64_t off, uint32_t len,
	struct mrc_txbuf *buf)
{
	const struct plain_sge *only = &wqe->sge[0];

	buf->payload_len = (uint16_t)len;
	if (__builtin_expect(wqe->nb_sge != 1, 0))
		return gather_many(p, wqe, off, len, buf);
	buf->seg[0] = (struct mrc_iov){.base = only->base + off, .len = len};
	buf->nb_seg = 1;
	return plain_mr_find(p, only->lkey) != NULL;
}

/* Headers and payload. False when the region is gone. */
static bool put(struct plain *p, uint64_t now_ns, struct plain_qp *qp, const struct plain_wqe *wqe,
	const struct piece *piece, uint32_t flags, const struct mrc_ev *ev, struct mrc_txbuf *buf)
{
	uint64_t off = (uint64_t)piece->nr << qp->pmtu_shift;
	struct mrc_pkt pkt;
	uint32_t bth_off;

	if (!gather(p, wqe, off, piece->len, buf))
		return false;
	if (p->cfg.timestamps)
		flags |= MRC_PKT_TS;
	if ((wqe->flags & (PLAIN_SOLICITED | PLAIN_IMM)) == (PLAIN_SOLICITED | PLAIN_IMM) &&
		piece->nr + 1 == wqe->nb_pkts)
		flags |= MRC_PKT_SE;
	if (p->proto.choice.tsr)
		flags |= MRC_PKT_TSR;
	pkt.opcode = piece->opcode;
	pkt.flags = (uint16_t)flags;
	pkt.cls = MRC_CLASS_NO_TRIM;
	pkt.ecn = MRC_ECN_ECT0;
	pkt.pad = (uint8_t)(-piece->len & 3);
	pkt.dqpn = qp->dest_qpn;
	pkt.psn = qp->next;
	pkt.write.va = wqe->raddr + off;
	pkt.write.rkey = wqe->rkey;
	pkt.write.dma_len = wqe->len;
	pkt.write.msn = wqe->msn;
	pkt.write.rqmsn = wqe->rqmsn;
	pkt.write.timestamp = plain_stamp(now_ns);
	memcpy(pkt.write.imm, wqe->imm, sizeof(pkt.write.imm));
	buf->pad = pkt.pad;
	bth_off = plain_put(p, qp->path, ev, &pkt, piece->body_len, buf);
	buf->ts_off = p->cfg.timestamps ? (uint16_t)(bth_off + MRC_BTH_LEN + MRC_METH_LEN) : 0;
	return true;
}

/* The engine's AckReq policy. */
static bool asks(const struct plain *p, const struct plain_qp *qp, const struct plain_wqe *wqe)
{
	bool last = qp->cur_pkt + 1 == wqe->nb_pkts;

	if (last && ((wqe->flags & PLAIN_SIGNALED) != 0 || qp->sq_cur + 1 == qp->sq_tail))
		return true;
	if (last && (wqe->flags & PLAIN_IMM) != 0 && qp->nb_imm >= qp->max_wimm)
		return true;
	if (qp->since_ask + 1 >= p->proto.choice.ackreq_interval)
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

static void begin(struct plain_qp *qp, struct plain_wqe *wqe)
{
	wqe->first_psn = qp->next;
	wqe->msn = qp->next_msn;
	wqe->rqmsn = mrc_msn(0);
	qp->next_msn = mrc_msn_add(qp->next_msn, 1);
	if (wqe->flags & PLAIN_IMM) {
		wqe->rqmsn = qp->next_rqmsn;
		qp->next_rqmsn = mrc_msn_add(qp->next_rqmsn, 1);
		qp->nb_imm++;
	}
}

static inline bool send_one(struct plain *p, uint64_t now_ns, struct plain_qp *qp, uint32_t planes,
	struct mrc_txbuf *buf)
{
	struct plain_wqe *wqe = plain_sq_at(qp, qp->sq_cur);
	uint32_t flags = 0, size, ev;
	struct piece piece;

	if (qp->sq_cur == qp->sq_tail || (uint32_t)mrc_psn_diff(qp->next, qp->una) >= qp->tx_window)
		return false;
	if (qp->cur_pkt == 0 && (wqe->flags & PLAIN_IMM) != 0 && qp->nb_imm >= qp->max_wimm)
		return false;
	piece = piece_of(p, qp, wqe);
	size = (uint32_t)MRC_UDP_LEN + piece.body_len + PLAIN_NOMINAL_EXTRA;
	if (!cwnd_open(qp, size))
		return false;
	ev = mrc_ev_next(qp->path->evs, &qp->cursor, now_ns, planes, MRC_EV_NONE);
	if (ev == MRC_EV_NONE)
		return false;
	if (qp->cur_pkt == 0)
		begin(qp, wqe);
	if (qp->cc_cfg != NULL)
		mrc_nscc_on_sent(&qp->cc, size);
	if (asks(p, qp, wqe))
		flags = MRC_PKT_ACKREQ;
	if (!put(p, now_ns, qp, wqe, &piece, flags, mrc_ev_get(qp->path->evs, ev), buf))
		return false;
	qp->since_ask = flags != 0 ? 0 : qp->since_ask + 1;
	qp->next = mrc_psn_add(qp->next, 1);
	p->counters.planes[buf->plane].tx_data_packets++;
	if (++qp->cur_pkt == wqe->nb_pkts) {
		qp->cur_pkt = 0;
		qp->sq_cur++;
	}
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
	__builtin_prefetch(&qp->next_msn);
	__builtin_prefetch(&qp->cc);
}

uint32_t plain_send(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && !list_empty(&p->ready)) {
		struct plain_qp *qp = LIST_OWNER(p->ready.next, struct plain_qp, ready_link);
		uint32_t most = n - nb < PLAIN_TX_QUANTUM ? n - nb : PLAIN_TX_QUANTUM, sent;

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
	uint64_t rtt_ns =
		(uint64_t)(uint16_t)(plain_stamp(now_ns) - sack->timestamp) * MRC_TS_TICK_NS;

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
	struct mrc_sched_wc *wc;

	if (unsent(qp, pkt->psn))
		return MRC_DROP_ACK_UNSENT;
	if (pkt->ack.syndrome != MRC_AETH_ACK)
		return MRC_DROP_ACK_SYNDROME;
	p->counters.rx_ack++;
	if (mrc_psn_diff(qp->ack_psn, pkt->psn) >= 0)
		return MRC_KEEP;
	qp->ack_psn = pkt->psn;
	received(qp, pkt->psn);
	while (qp->sq_done != qp->sq_cur) {
		const struct plain_wqe *wqe = plain_sq_at(qp, qp->sq_done);
		mrc_psn_t last = mrc_psn_add(wqe->first_psn, (int32_t)(wqe->nb_pkts - 1));

		if (mrc_psn_diff(last, pkt->psn) > 0)
			break;
		qp->nb_imm -= (wqe->flags & PLAIN_IMM) != 0;
		qp->sq_done++;
		if ((wqe->flags & PLAIN_SIGNALED) == 0)
			continue;
		qp->sq_head = qp->sq_done;
		wc = plain_cq_place(qp->send_cq);
		if (wc == NULL)
			return MRC_DROP_CQ_OVERRUN;
		*wc = (struct mrc_sched_wc){.wr_id = wqe->wr_id,
			.qp = qp->ctx,
			.byte_len = wqe->len,
			.status = MRC_WC_SUCCESS,
			.opcode = wqe->flags & PLAIN_IMM ? MRC_WC_WRITE_IMM : MRC_WC_WRITE};
	}
	wake(p, qp);
	return MRC_KEEP;
}
