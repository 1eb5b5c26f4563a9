/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * imm.c - immediates: parked with their packet in the receive map until the left edge passes them,
 * then released in RQMSN order, each taking one receive work request.
 */
#include "engine.h"

/* spec */
enum mrc_drop imm_check(const struct mrc_sched_qp *qp, mrc_msn_t rqmsn)
{
	int32_t ahead = mrc_msn_diff(rqmsn, qp->rq_rqmsn);

	/* Ahead by more than may be in flight, or behind: the peer does not keep to the limit. */
	if (ahead < 0 || ahead >= qp->max_wimm_dest || qp->nb_parked >= qp->max_wimm_dest)
		return MRC_DROP_WIMM_LIMIT;
	return MRC_KEEP;
}

/* spec */
static enum mrc_drop receive(
	struct mrc_sched *s, struct mrc_sched_qp *qp, const struct rcv_rec *rec)
{
	struct mrc_sched_wc *wc = cq_place(s, qp->recv_cq, qp);

	if (wc == NULL)
		return MRC_DROP_CQ_OVERRUN;
	*wc = (struct mrc_sched_wc){.wr_id = qp->rq[qp->rq_head & qp->rq_mask],
		.qp = qp,
		.byte_len = rec->len,
		.status = MRC_WC_SUCCESS,
		.opcode = MRC_WC_RECV_IMM,
		.solicited = (rec->flags & RCV_SE) != 0,
		.imm = {rec->imm[0], rec->imm[1], rec->imm[2], rec->imm[3]}};
	qp->rq_head++;
	qp->rq_rqmsn = mrc_msn_add(qp->rq_rqmsn, 1);
	return MRC_KEEP;
}

/* spec */
enum mrc_drop imm_release(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct rcv_rec *rec)
{
	bool imm = (rec->flags & RCV_IMM) != 0;

	/* In PSN order the numbers must come without gap: anything else is the peer's mistake. */
	if (imm && !mrc_msn_eq(rec->rqmsn, qp->rq_rqmsn))
		return MRC_DROP_WIMM_LIMIT;
	/* There is no "receiver not ready": the receive must have been posted before its turn. */
	if (imm && qp->rq_head == qp->rq_tail)
		return MRC_DROP_RQ_EMPTY;
	imm_placed(s, qp, rec->va, rec->len);
	return imm ? receive(s, qp, rec) : MRC_KEEP;
}
