/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_resp.c - the plain partner as a responder: packets in the order of their PSNs, answers. */
#include "plain_private.h"

#include "sack.h"
#include "write.h"

static void want(struct plain *p, struct plain_qp *qp, enum due what)
{
	qp->due |= (uint8_t)what;
	list_want(&p->due, &qp->due_link);
}

/* ---- checks -----------------------------------------------------------------------------------*/

static enum mrc_drop check_imm(const struct plain_qp *qp, const struct mrc_pkt *pkt)
{
	if (!mrc_msn_eq(pkt->write.rqmsn, qp->rq_rqmsn))
		return MRC_DROP_WIMM_LIMIT;
	return qp->rq_head == qp->rq_tail ? MRC_DROP_RQ_EMPTY : MRC_KEEP;
}

static enum mrc_drop check(struct plain *p, const struct plain_qp *qp, const struct mrc_pkt *pkt,
	uint32_t kind, uint8_t **dst_out)
{
	enum mrc_drop drop = write_check(&p->mrs, qp->pd, 1u << qp->pmtu_shift, pkt, kind, dst_out);

	if (drop == MRC_KEEP && (kind & MRC_OPF_IMMDT) != 0)
		drop = check_imm(qp, pkt);
	return drop;
}

/* The only PSN that is taken is the next one. */
static enum mrc_drop turn(const struct plain_qp *qp, mrc_psn_t psn)
{
	int32_t ahead = mrc_psn_diff(psn, mrc_psn_add(qp->cack, 1));

	if (ahead == 0)
		return MRC_KEEP;
	return ahead < 0 ? MRC_DROP_PSN_DUPLICATE : MRC_DROP_PSN_AHEAD;
}

/* ---- taking -----------------------------------------------------------------------------------*/

static enum mrc_drop receive(struct plain_qp *qp, const struct mrc_pkt *pkt)
{
	const uint8_t *imm = pkt->write.imm;
	struct mrc_sched_wc *wc = cq_next(qp->recv_cq);

	if (wc == NULL)
		return MRC_DROP_CQ_OVERRUN;
	*wc = (struct mrc_sched_wc){.wr_id = qp->rq[qp->rq_head & qp->rq_mask],
		.qp = qp->ctx,
		.byte_len = pkt->write.dma_len,
		.status = MRC_WC_SUCCESS,
		.opcode = MRC_WC_RECV_IMM,
		.solicited = (pkt->flags & MRC_PKT_SE) != 0,
		.imm = {imm[0], imm[1], imm[2], imm[3]}};
	qp->rq_head++;
	qp->rq_rqmsn = mrc_msn_add(qp->rq_rqmsn, 1);
	return MRC_KEEP;
}

static inline enum mrc_drop message_done(
	struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt, uint32_t kind)
{
	const struct mrc_pkt_write *w = &pkt->write;

	if (p->cfg.hooks.placed != NULL)
		p->cfg.hooks.placed(p->cfg.hooks.ctx, qp->ctx,
			w->va + pkt->payload_len - w->dma_len, w->dma_len);
	qp->rx_msn = (qp->rx_msn + 1) & 0xFFFFFF;
	if (kind & MRC_OPF_IMMDT)
		return receive(qp, pkt);
	return MRC_KEEP;
}

static void want_sack(struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt)
{
	const struct mrc_choice *choice = &p->proto.choice;

	if (!sack_count(choice, &qp->sack_bytes, pkt->payload_len) && (qp->due & DUE_ACK) == 0 &&
		(pkt->flags & (MRC_PKT_ACKREQ | MRC_PKT_CE)) == 0)
		return;
	qp->sack_bytes = 0;
	p->counters.ecn_marks += (pkt->flags & MRC_PKT_CE) != 0;
	/* A mark that was not told yet is not lost to a later packet. */
	if ((qp->due & DUE_SACK) == 0 || qp->trigger_m == MRC_M_NONE) {
		qp->trigger_psn = pkt->psn;
		qp->trigger_ev = pkt->ev;
		qp->trigger_m = pkt->flags & MRC_PKT_CE ? MRC_M_SKIP_ONCE : MRC_M_NONE;
		qp->trigger_stamp = pkt->flags & MRC_PKT_TS ? pkt->write.timestamp
							    : (uint16_t)choice->echo_without_ts;
	}
	want(p, qp, DUE_SACK);
}

enum mrc_drop plain_write(
	struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt, const uint8_t *frame)
{
	enum mrc_drop drop = turn(qp, pkt->psn);
	uint32_t kind = mrc_opcode_table[pkt->opcode].flags;
	uint8_t *dst = NULL;

	if (__builtin_expect(drop != MRC_KEEP, 0))
		return drop;
	drop = check(p, qp, pkt, kind, &dst);
	if (__builtin_expect(drop != MRC_KEEP, 0)) {
		qp->state = MRC_QP_ERR;
		return drop;
	}
	if (pkt->payload_len != 0)
		memcpy(dst, frame + pkt->payload_off, pkt->payload_len);
	p->counters.rx_data_packets++;
	p->counters.rx_data_bytes += pkt->payload_len;
	qp->rcvd_len += (uint64_t)pkt->udp_len + NOMINAL_EXTRA;
	qp->cack = pkt->psn;
	if (pkt->flags & MRC_PKT_ACKREQ)
		want(p, qp, DUE_ACK);
	if (kind & MRC_OPF_LAST)
		drop = message_done(p, qp, pkt, kind);
	want_sack(p, qp, pkt);
	return drop;
}

/* ---- answers ----------------------------------------------------------------------------------*/

static void build_sack(struct plain *p, struct plain_qp *qp, struct mrc_pkt *pkt)
{
	pkt->opcode = MRC_OP_SACK;
	pkt->psn = qp->cack;
	pkt->sack = (struct mrc_pkt_sack){.m = qp->trigger_m,
		.ack_offset = (int16_t)mrc_psn_diff(qp->trigger_psn, qp->cack),
		.sack_offset = 1,
		.timestamp = qp->trigger_stamp,
		.entropy = qp->trigger_ev,
		.rcvd_units = sack_units(qp->rcvd_len),
		.cack = qp->cack};
	sack_pdcids(&p->proto.choice, qp->dest_qpn, qp->qpn, &pkt->sack.spdcid, &pkt->sack.dpdcid);
	qp->due &= (uint8_t)~DUE_SACK;
	qp->trigger_m = MRC_M_NONE;
	p->counters.tx_sack++;
}

static void build_ack(struct plain *p, struct plain_qp *qp, struct mrc_pkt *pkt)
{
	pkt->opcode = MRC_OP_ACK;
	pkt->psn = qp->cack;
	pkt->ack.syndrome = MRC_AETH_ACK;
	pkt->ack.msn = qp->rx_msn;
	qp->due &= (uint8_t)~DUE_ACK;
	p->counters.tx_ack++;
}

static bool answer_one(struct plain *p, uint64_t now_ns, struct plain_qp *qp, struct mrc_txbuf *buf)
{
	uint32_t ev = mrc_ev_next(qp->path->evs, &qp->path->cursor, now_ns, p->planes, MRC_EV_NONE);
	struct mrc_pkt pkt;

	if (ev == MRC_EV_NONE)
		return false;
	pkt.flags = 0;
	pkt.cls = MRC_CLASS_CONTROL;
	pkt.ecn = MRC_ECN_NOT_ECT;
	pkt.pad = 0;
	pkt.dqpn = qp->dest_qpn;
	if (qp->due & DUE_SACK)
		build_sack(p, qp, &pkt);
	else
		build_ack(p, qp, &pkt);
	(void)hdr_put(&p->proto, qp->path->tmpl, mrc_ev_get(qp->path->evs, ev), &pkt,
		(uint16_t)(MRC_BTH_LEN + mrc_opcode_table[pkt.opcode].ext_len + MRC_ICRC_LEN),
		&p->counters, buf);
	hdr_only(buf);
	return true;
}

uint32_t plain_answer(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && !list_empty(&p->due)) {
		struct plain_qp *qp = LIST_OWNER(p->due.next, struct plain_qp, due_link);

		if (!answer_one(p, now_ns, qp, &bufs[nb]))
			break;
		nb++;
		if (qp->due == 0)
			list_remove(&qp->due_link);
	}
	return nb;
}

int plain_post_recv(struct plain *p, uint32_t index, const struct mrc_sched_recv_wr *wr)
{
	struct plain_qp *qp = &p->qps[index];

	if (qp->rq_tail - qp->rq_head > qp->rq_mask)
		return MRC_ERR_FULL;
	qp->rq[qp->rq_tail++ & qp->rq_mask] = wr->wr_id;
	return MRC_OK;
}
