/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sendq.h - the send queue of a QP: work requests posted, cut into packets, completed. It knows
 * nothing of what becomes of a packet on its way.
 *
 * Its indices run free:
 *
 *   head ──── done ──── cur ──── tail
 *    │ slots    │ sent,   │ not sent
 *    │ kept     │ no 0xD1 │ completely
 *
 * head..done: acknowledged, but unsignaled; verbs keeps their slots until a later signaled work
 * request completes.
 *
 * Inline: every packet and every post go through here.
 */
#ifndef SENDQ_H
#define SENDQ_H

#include <stddef.h>
#include <string.h>

#include "mrc_assert.h"
#include "mrc_sched.h"

#include "mr.h"

#define MAX_MSG_LEN_SHIFT 31

struct sge {
	const uint8_t *base;
	uint32_t len;
	uint32_t lkey;
};

enum wqe_flag {
	WQE_SIGNALED = 1 << 0,
	WQE_SOLICITED = 1 << 1,
	WQE_IMM = 1 << 2,
};

/* A send work request; followed by its other SGEs. */
struct wqe {
	uint64_t wr_id;
	uint64_t raddr;
	uint32_t rkey;
	uint32_t len;
	uint32_t nb_pkts;
	mrc_psn_t first_psn; /* once its first packet was sent */
	mrc_msn_t msn, rqmsn;
	uint8_t imm[4];
	uint8_t flags; /* enum wqe_flag */
	uint8_t nb_sge;
	struct sge sge[1];
};
_Static_assert(sizeof(struct wqe) == 64, "one SGE: one cache line");

struct sendq {
	uint8_t *mem;
	uint32_t mask, head, done, cur, tail; /* free running */
	uint32_t cur_pkt;                     /* next packet of work request cur */
	uint32_t since_ask;                   /* packets since the last AckReq */
	uint32_t nb_imm;                      /* immediates begun and not acknowledged */
	mrc_psn_t ack_psn;                    /* highest PSN acknowledged by 0xD1 */
	uint16_t max_wimm;
	mrc_msn_t next_msn, next_rqmsn;
	uint8_t max_sge;
	uint8_t wqe_shift; /* a work request takes 1 << this bytes */
};

/* Bytes of a work request, as a shift. */
static inline uint8_t sendq_wqe_shift(uint32_t max_sge)
{
	return max_sge > 1 ? 7 : 6;
}

static inline struct wqe *sendq_at(const struct sendq *q, uint32_t at)
{
	return (struct wqe *)(void *)(q->mem + ((size_t)(at & q->mask) << q->wqe_shift));
}

/* ---- posting ---- */

/* Copies the SGEs that are not empty to a work request that is not posted yet, and adds them up. */
static inline int sendq_take_sges(const struct mr_table *mrs, uint32_t pd,
	const struct mrc_sched_send_wr *wr, struct wqe *wqe, uint64_t *len_out)
{
	uint64_t len = 0;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < wr->nb_sge; i++) {
		const struct mrc_sched_sge *sge = &wr->sges[i];
		const struct mr *mr;

		if (sge->len == 0)
			continue;
		mr = mr_find(mrs, sge->lkey);
		if (mr == NULL || mr->pd != pd || !mr_covers(mr, sge->addr, sge->len))
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

/* What all work requests of a queue are judged by. */
struct sendq_rules {
	const struct mr_table *mrs;
	uint32_t pd;
	uint8_t pmtu_shift;
	bool strict_length; /* no message without bytes */
};

/* kind: enum wqe_flag besides those that wr asks for. Errors as mrc_sched_post_write. */
static inline __attribute__((always_inline)) int sendq_post(struct sendq *q,
	const struct sendq_rules *rules, const struct mrc_sched_send_wr *wr, uint32_t kind)
{
	const uint32_t known = MRC_SEND_SIGNALED | MRC_SEND_SOLICITED | MRC_SEND_FENCE;
	uint32_t pmtu_mask = (1u << rules->pmtu_shift) - 1;
	struct wqe *wqe;
	uint64_t len;
	int err;

	if (q->tail - q->head > q->mask)
		return MRC_ERR_FULL;
	if (wr->nb_sge > q->max_sge || (wr->flags & ~known) != 0)
		return MRC_ERR_INVAL;
	wqe = sendq_at(q, q->tail);
	err = sendq_take_sges(rules->mrs, rules->pd, wr, wqe, &len);
	if (err != MRC_OK)
		return err;
	if (len > UINT64_C(1) << MAX_MSG_LEN_SHIFT)
		return MRC_ERR_TOOBIG;
	if (len == 0 && rules->strict_length)
		return MRC_ERR_INVAL;
	wqe->wr_id = wr->wr_id;
	wqe->raddr = wr->raddr;
	wqe->rkey = wr->rkey;
	wqe->len = (uint32_t)len;
	wqe->nb_pkts = len == 0 ? 1 : (uint32_t)((len + pmtu_mask) >> rules->pmtu_shift);
	memcpy(wqe->imm, wr->imm, sizeof(wqe->imm));
	if ((wr->flags & MRC_SEND_SIGNALED) != 0)
		kind |= WQE_SIGNALED;
	if ((wr->flags & MRC_SEND_SOLICITED) != 0)
		kind |= WQE_SOLICITED;
	wqe->flags = (uint8_t)kind;
	q->tail++;
	return MRC_OK;
}

/* ---- packets ---- */

static inline uint8_t wqe_opcode(const struct wqe *wqe, uint32_t nr)
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

static inline struct piece wqe_cut(
	const struct wqe *wqe, uint32_t nr, uint32_t pmtu_shift, bool timestamps)
{
	uint32_t pmtu = 1u << pmtu_shift;
	uint32_t rest = (uint32_t)(wqe->len - ((uint64_t)nr << pmtu_shift));
	struct piece piece = {
		.nr = nr, .len = rest < pmtu ? rest : pmtu, .opcode = wqe_opcode(wqe, nr)};

	piece.body_len = (uint16_t)(MRC_BTH_LEN + mrc_opcode_table[piece.opcode].ext_len +
				    (timestamps ? MRC_TSETH_LEN : 0) + ((piece.len + 3) & ~3u) +
				    MRC_ICRC_LEN);
	return piece;
}

/* wqe_gather for a work request with several SGEs, or none (sendq.c). */
bool wqe_gather_many(const struct mr_table *mrs, const struct wqe *wqe, uint64_t off, uint32_t len,
	struct mrc_txbuf *buf);

/* Points buf at bytes off .. off + len of the message; false when a region is gone. */
static inline bool wqe_gather(const struct mr_table *mrs, const struct wqe *wqe, uint64_t off,
	uint32_t len, struct mrc_txbuf *buf)
{
	const struct sge *only = &wqe->sge[0];

	buf->payload_len = (uint16_t)len;
	if (__builtin_expect(wqe->nb_sge != 1, 0))
		return wqe_gather_many(mrs, wqe, off, len, buf);
	buf->seg[0] = (struct mrc_iov){.base = only->base + off, .len = len};
	buf->nb_seg = 1;
	return mr_find(mrs, only->lkey) != NULL;
}

/* A packet as its work request has it; off: of the piece's first byte in the message. flags: what
 * is known besides. Not cls, dqpn and timestamp. */
static inline __attribute__((always_inline)) void wqe_packet(const struct wqe *wqe,
	const struct piece *piece, uint64_t off, uint32_t flags, struct mrc_pkt *pkt_out)
{
	if ((wqe->flags & (WQE_SOLICITED | WQE_IMM)) == (WQE_SOLICITED | WQE_IMM) &&
		piece->nr + 1 == wqe->nb_pkts)
		flags |= MRC_PKT_SE;
	pkt_out->opcode = piece->opcode;
	pkt_out->flags = (uint16_t)flags;
	pkt_out->ecn = MRC_ECN_ECT0;
	pkt_out->pad = (uint8_t)(-piece->len & 3);
	pkt_out->psn = mrc_psn_add(wqe->first_psn, (int32_t)piece->nr);
	pkt_out->write.va = wqe->raddr + off;
	pkt_out->write.rkey = wqe->rkey;
	pkt_out->write.dma_len = wqe->len;
	pkt_out->write.msn = wqe->msn;
	pkt_out->write.rqmsn = wqe->rqmsn;
	memcpy(pkt_out->write.imm, wqe->imm, sizeof(pkt_out->write.imm));
}

/* A write with immediate is not begun while as many as the peer accepts are under way. */
static inline bool sendq_imm_closed(const struct sendq *q, const struct wqe *wqe)
{
	return q->cur_pkt == 0 && (wqe->flags & WQE_IMM) != 0 && q->nb_imm >= q->max_wimm;
}

/* The first packet of work request cur is about to leave. */
static inline void sendq_begin(struct sendq *q, struct wqe *wqe, mrc_psn_t first)
{
	wqe->first_psn = first;
	wqe->msn = q->next_msn;
	wqe->rqmsn = mrc_msn(0);
	q->next_msn = mrc_msn_add(q->next_msn, 1);
	if (wqe->flags & WQE_IMM) {
		wqe->rqmsn = q->next_rqmsn;
		q->next_rqmsn = mrc_msn_add(q->next_rqmsn, 1);
		q->nb_imm++;
	}
}

/*
 * AckReq policy (O-28): the last packet of a signaled message or of an emptying queue, the last
 * immediate that may be in flight, else one packet in ackreq_interval. Congestion control and the
 * window ask besides.
 */
static inline bool sendq_asks(const struct sendq *q, const struct wqe *wqe, uint32_t interval)
{
	bool last = q->cur_pkt + 1 == wqe->nb_pkts;

	if (last && ((wqe->flags & WQE_SIGNALED) != 0 || q->cur + 1 == q->tail))
		return true;
	if (last && (wqe->flags & WQE_IMM) != 0 && q->nb_imm >= q->max_wimm)
		return true;
	return q->since_ask + 1 >= interval;
}

/* A packet of work request cur left for the first time. */
static inline void sendq_step(struct sendq *q, const struct wqe *wqe)
{
	if (++q->cur_pkt == wqe->nb_pkts) {
		q->cur_pkt = 0;
		q->cur++;
	}
}

/* ---- completion ---- */

/* The next work request that a positive transport ACK up to psn completes, which is then done; NULL
 * when there is none. */
static inline const struct wqe *sendq_complete(struct sendq *q, mrc_psn_t psn)
{
	const struct wqe *wqe = sendq_at(q, q->done);

	if (q->done == q->cur)
		return NULL;
	if (mrc_psn_diff(mrc_psn_add(wqe->first_psn, (int32_t)(wqe->nb_pkts - 1)), psn) > 0)
		return NULL;
	if (wqe->flags & WQE_IMM) {
		MRC_ASSERT(q->nb_imm > 0);
		q->nb_imm--;
	}
	q->done++;
	if (wqe->flags & WQE_SIGNALED)
		q->head = q->done;
	return wqe;
}

/* Writes its completion in place; qp: as that is to name it. */
static inline void wqe_done(
	const struct wqe *wqe, struct mrc_sched_qp *qp, struct mrc_sched_wc *wc_out)
{
	*wc_out = (struct mrc_sched_wc){.wr_id = wqe->wr_id,
		.qp = qp,
		.byte_len = wqe->len,
		.status = MRC_WC_SUCCESS,
		.opcode = wqe->flags & WQE_IMM ? MRC_WC_WRITE_IMM : MRC_WC_WRITE};
}

#endif
