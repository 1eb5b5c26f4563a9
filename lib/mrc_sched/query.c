/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * query.c - what a QP looks like from outside; for tests, tools and the controller.
 */
#include "engine.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= UINT64_C(0x100000001B3);
	return hash ^ hash >> 29;
}

/* Over everything that a received packet can change, but for what is due to be answered. */
static uint64_t state_hash(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	hash = mix(hash, qp->qpn);
	hash = mix(hash, qp->state);
	hash = mix(hash, (uint64_t)qp->sq.head << 32 | qp->sq.done);
	hash = mix(hash, (uint64_t)qp->sq.tail << 32 | qp->rq_tail);
	hash = mix(hash, qp->rq_head);
	if (qp->rcv.slots != NULL) {
		hash = mix(hash, (uint64_t)qp->rcv.cack.v << 32 | qp->rcv.max_rcv.v);
		hash = mix(hash, (uint64_t)qp->rcv.nb_ooo << 32 | qp->rx_msn);
		hash = mix(hash, (uint64_t)qp_rx_edge(qp).v << 32 | qp->rx_window);
		hash = mix(hash, qp->rcvd_len);
		hash = mix(hash, (uint64_t)qp->rq_rqmsn.v << 32 | qp->nb_parked);
		for (mrc_psn_t p = mrc_psn_add(qp->rcv.cack, 1); mrc_psn_le(p, qp->rcv.max_rcv);
			p = mrc_psn_add(p, 64))
			hash = mix(hash, rcvmap_word(&qp->rcv, &s->rcv_chunks, p));
	}
	if (qp->snt.slots != NULL) {
		hash = mix(hash, (uint64_t)qp->snt.una.v << 32 | qp->snt.next.v);
		hash = mix(hash, (uint64_t)qp->snt.nb_open << 32 | qp->snt.nb_lost);
		hash = mix(hash, qp->snt.book);
		hash = mix(hash, (uint64_t)qp->sq.ack_psn.v << 32 | qp->tx_window);
		hash = mix(hash, (uint64_t)qp->retries << 32 | qp->sq.nb_imm);
		hash = mix(hash, qp->srtt_ns);
		if (qp->flags & QPF_CC)
			hash = mix(hash, (uint64_t)mrc_nscc_inflight(&qp->cc) ^
						 (uint64_t)mrc_nscc_cwnd(&qp->cc) << 40);
	}
	return hash;
}

static uint64_t oldest_ns(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	mrc_psn_t psn = sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una);

	return mrc_psn_eq(psn, qp->snt.next) ? 0 : sentmap_at(&qp->snt, &s->sent, psn)->sent_ns;
}

void mrc_sched_qp_query(const struct mrc_sched *s, const struct mrc_sched_qp *qp,
	struct mrc_sched_qp_info *info_out)
{
	*info_out = (struct mrc_sched_qp_info){
		.state = (enum mrc_qp_state)qp->state,
		.qpn = qp->qpn,
		.sq_used = qp->sq.tail - qp->sq.head,
		.rq_used = qp->rq_tail - qp->rq_head,
	};
	MRC_ASSERT(info_out->sq_used <= qp->sq.mask + 1 && info_out->rq_used <= qp->rq_mask + 1);
	if (qp->rcv.slots != NULL) {
		info_out->window_psns = qp->rx_window;
		info_out->cack_psn = qp->rcv.cack;
		info_out->max_rcv_psn = qp->rcv.max_rcv;
	}
	if (qp->snt.slots != NULL) {
		info_out->outstanding = (uint32_t)mrc_psn_diff(qp->snt.next, qp->snt.una);
		info_out->inflight = (int64_t)qp->snt.book;
		info_out->sent_map_bytes = sentmap_recount(&qp->snt, &s->sent);
		info_out->retry_count = qp->retries;
		info_out->lost_packets = qp->nb_lost;
		info_out->next_psn = qp->snt.next;
		info_out->una_psn = qp->snt.una;
		info_out->srtt_ns = qp->srtt_ns;
		info_out->tx_window_psns = qp->tx_window;
		info_out->waits_for = req_waits(qp);
		info_out->oldest_ns = oldest_ns(s, qp);
		if (qp->flags & QPF_CC) {
			info_out->cwnd = mrc_nscc_cwnd(&qp->cc);
			info_out->base_rtt_ns = mrc_nscc_base_rtt(&qp->cc);
			info_out->cc_inflight = mrc_nscc_inflight(&qp->cc);
		}
	}
	info_out->state_hash = state_hash(s, qp);
}
