/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resp.c - the responder: window, duplicates, then a chain of small checks, placement, left edge.
 *
 * Delivery and meaning are apart: a packet that may be counted is counted (SACK) even when what it
 * asks for is refused (NAK and QP error).
 */
#include "engine.h"
#include "sack.h"
#include "write.h"

#include <string.h>

/* What kind of packet it is: enum mrc_opcode_flag. */
static inline uint32_t kind_of(const struct mrc_pkt *pkt)
{
	return mrc_opcode_table[pkt->opcode].flags;
}

static bool is_last(const struct mrc_pkt *pkt)
{
	return (kind_of(pkt) & MRC_OPF_LAST) != 0;
}

static bool has_imm(const struct mrc_pkt *pkt)
{
	return (kind_of(pkt) & MRC_OPF_IMMDT) != 0;
}

/* ---- checks ---- */

/* May this be done? dst_out is written when something is to be placed. */
/* spec */
static inline __attribute__((always_inline)) enum mrc_drop check(struct mrc_sched *s,
	const struct mrc_sched_qp *qp, const struct mrc_pkt *pkt, uint32_t kind, uint8_t **dst_out)
{
	enum mrc_drop drop = write_check(&s->mrs, qp->pd, 1u << qp->pmtu_shift, pkt, kind, dst_out);

	if (drop == MRC_KEEP && (kind & MRC_OPF_IMMDT) != 0)
		drop = imm_check(qp, pkt->write.rqmsn);
	return drop;
}

/* ---- refusals ---- */

struct refusal {
	uint8_t syndrome; /* enum mrc_syndrome */
	uint8_t status;   /* enum mrc_wc_status: of our own event */
};

/* spec */
static struct refusal refusal_of(enum mrc_drop drop)
{
	if (drop == MRC_DROP_LENGTH_MTU || drop == MRC_DROP_LENGTH_DMA ||
		drop == MRC_DROP_WIMM_LIMIT)
		return (struct refusal){MRC_AETH_NAK_INVALID_REQ, MRC_WC_REM_INV_REQ_ERR};
	if (drop == MRC_DROP_RQ_EMPTY || drop == MRC_DROP_CQ_OVERRUN)
		return (struct refusal){MRC_AETH_NAK_REMOTE_OP, MRC_WC_REM_OP_ERR};
	return (struct refusal){MRC_AETH_NAK_REMOTE_ACCESS, MRC_WC_REM_ACCESS_ERR};
}

static __attribute__((noinline, cold)) enum mrc_drop refuse(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, mrc_psn_t psn, enum mrc_drop drop)
{
	struct refusal refusal = refusal_of(drop);

	MRC_ASSERT(drop != MRC_KEEP);
	qp->nak_syndrome = refusal.syndrome;
	qp->nak_psn = psn;
	sack_ack_want(s, qp, DUE_NAK);
	qp_fail(s, now_ns, qp, (enum mrc_wc_status)refusal.status, UINT32_MAX);
	return drop;
}

/* An access violation that does not fail the QP yet. Its PSN stays open, so that the packet that
 * belongs there can still come. */
static bool forgiven(const struct mrc_sched *s, struct mrc_sched_qp *qp, enum mrc_drop drop)
{
	if (drop != MRC_DROP_RKEY && drop != MRC_DROP_RKEY_PD && drop != MRC_DROP_RKEY_BOUNDS &&
		drop != MRC_DROP_RKEY_ACCESS)
		return false;
	return ++qp->nb_violations < s->cfg.access_errors;
}

void resp_in_error(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	if (!rate_ok(&qp->nack_tat_ns, now_ns, s->nack_gap_ns, NACK_DEPTH))
		return;
	if (qp->nak_syndrome != 0)
		sack_ack_want(s, qp, DUE_NAK);
	else if (mrc_psn_diff(pkt->psn, qp->rcv.cack) > 0 &&
		 mrc_psn_diff(pkt->psn, qp_rx_edge(qp)) <= 0)
		(void)sack_note(s, now_ns, qp, pkt, NOTE_NACK, MRC_NACK_UNEXP_EVENT);
}

/* ---- the left edge ---- */

/* Notes what was granted, often enough for serial numbers to compare. */
static inline void edge_moved(struct mrc_sched_qp *qp)
{
	qp->rx_edge = qp_rx_edge(qp);
}

/* Bits of a chunk word for the PSNs from .. to, both in that word. */
static uint64_t span(mrc_psn_t from, mrc_psn_t to)
{
	return (UINT64_MAX << (from.v & 63)) & (UINT64_MAX >> (63 - (to.v & 63)));
}

/* Releases the messages that end in PSNs from .. to of one chunk word. */
/* spec */
static enum mrc_drop release_word(struct mrc_sched *s, struct mrc_sched_qp *qp,
	struct rcv_chunk *chunk, mrc_psn_t from, mrc_psn_t to, mrc_psn_t *at_out)
{
	uint32_t word = map_bit(from) >> 6;
	uint64_t ends = chunk->last[word] & span(from, to);

	if ((chunk->asked[word] & span(from, to)) != 0)
		sack_ack_want(s, qp, DUE_ACK);
	for (; ends != 0; ends &= ends - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(ends);
		const struct rcv_rec *rec = &chunk->rec[word * 64 + bit];
		enum mrc_drop drop;

		if (rec->flags & RCV_IMM) {
			MRC_ASSERT(qp->nb_parked > 0 && s->nb_parked > 0);
			qp->nb_parked--;
			s->nb_parked--;
		}
		drop = imm_release(s, qp, rec);
		if (drop != MRC_KEEP) {
			*at_out = mrc_psn_add(from, (int32_t)(bit - (from.v & 63)));
			return drop;
		}
	}
	return MRC_KEEP;
}

/* Lets the left edge go as far as it can, and releases what it passes, in order. */
/* spec */
static __attribute__((noinline)) enum mrc_drop close_edge(
	struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t *at_out)
{
	mrc_psn_t end = rcvmap_run_end(&qp->rcv, &s->rcv_chunks);
	mrc_psn_t from = mrc_psn_add(qp->rcv.cack, 1);
	enum mrc_drop drop = MRC_KEEP;

	while (drop == MRC_KEEP && mrc_psn_le(from, end)) {
		mrc_psn_t to = mrc_psn(from.v | 63);

		if (mrc_psn_lt(end, to))
			to = end;
		drop = release_word(
			s, qp, rcvmap_find(&qp->rcv, &s->rcv_chunks, from), from, to, at_out);
		from = mrc_psn_add(to, 1);
	}
	rcvmap_advance(&qp->rcv, &s->rcv_chunks, end);
	edge_moved(qp);
	return drop;
}

/* ---- taking a packet ---- */

static void fill_rec(const struct mrc_pkt *pkt, struct rcv_rec *rec_out)
{
	const struct mrc_pkt_write *w = &pkt->write;

	rec_out->va = w->va + pkt->payload_len - w->dma_len;
	rec_out->len = w->dma_len;
	rec_out->rqmsn = w->rqmsn;
	memcpy(rec_out->imm, w->imm, sizeof(rec_out->imm));
	rec_out->flags =
		(uint8_t)((has_imm(pkt) ? RCV_IMM : 0) | (pkt->flags & MRC_PKT_SE ? RCV_SE : 0));
}

/* The packet that the left edge waits for: its own message's end first, then what was parked. */
static inline __attribute__((always_inline)) enum mrc_drop count_at_edge(struct mrc_sched *s,
	struct mrc_sched_qp *qp, const struct mrc_pkt *pkt, uint32_t kind, mrc_psn_t *at_out)
{
	enum mrc_drop drop = MRC_KEEP;

	rcvmap_step(&qp->rcv, &s->rcv_chunks);
	if (pkt->flags & MRC_PKT_ACKREQ)
		sack_ack_want(s, qp, DUE_ACK);
	if (__builtin_expect((kind & MRC_OPF_IMMDT) != 0, 0)) {
		struct rcv_rec rec;

		fill_rec(pkt, &rec);
		drop = imm_release(s, qp, &rec);
	} else if (kind & MRC_OPF_LAST) {
		const struct mrc_pkt_write *w = &pkt->write;

		imm_placed(s, qp, w->va + pkt->payload_len - w->dma_len, w->dma_len);
	}
	if (__builtin_expect(qp->rcv.nb_ooo != 0, 0) && drop == MRC_KEEP)
		return close_edge(s, qp, at_out);
	if (__builtin_expect(map_bit(pkt->psn) == 0, 0))
		edge_moved(qp);
	return drop;
}

/* Marks a packet above the edge received; its message's end, if it is one, is released in its turn.
 */
static void count_above(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt,
	struct rcv_chunk *chunk)
{
	uint64_t bit = UINT64_C(1) << (pkt->psn.v & 63);
	uint32_t word = map_bit(pkt->psn) >> 6;

	rcvmap_set(&qp->rcv, chunk, pkt->psn);
	if (pkt->flags & MRC_PKT_ACKREQ)
		chunk->asked[word] |= bit;
	if (is_last(pkt)) {
		chunk->last[word] |= bit;
		fill_rec(pkt, &chunk->rec[map_bit(pkt->psn)]);
		qp->nb_parked += has_imm(pkt);
		s->nb_parked += has_imm(pkt);
	}
}

/* A packet whose request is refused is received all the same (the layers are apart). */
/* spec */
static void count_refused(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt,
	struct rcv_chunk *chunk)
{
	qp->rcvd_len += (uint64_t)pkt->udp_len + NOMINAL_EXTRA;
	if (chunk == NULL)
		rcvmap_step(&qp->rcv, &s->rcv_chunks);
	else
		rcvmap_set(&qp->rcv, chunk, pkt->psn);
}

/* What was asked for may not be done. */
static __attribute__((noinline, cold)) enum mrc_drop violated(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct mrc_pkt *pkt, struct rcv_chunk *chunk,
	enum mrc_drop drop)
{
	if (forgiven(s, qp, drop)) {
		rcvmap_spare(&qp->rcv, &s->rcv_chunks, pkt->psn);
		return drop;
	}
	count_refused(s, qp, pkt, chunk);
	sack_want(s, now_ns, qp, pkt);
	return refuse(s, now_ns, qp, pkt->psn, drop);
}

/* The triggers of section 7.5.2; the mark and the probe have notes of their own. */
/* spec */
static void want_answers(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	if (sack_count(&s->proto.choice, &qp->sack_bytes, pkt->payload_len) ||
		(qp->due & DUE_ACK) != 0 ||
		(pkt->flags & (MRC_PKT_ACKREQ | MRC_PKT_CE | MRC_PKT_RTX)) != 0)
		sack_want(s, now_ns, qp, pkt);
}

/* spec */
static enum mrc_drop duplicate(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
#ifdef MRC_MUTANT_DUPLICATE
	if (is_last(pkt)) {
		struct rcv_rec rec;

		fill_rec(pkt, &rec);
		rec.rqmsn = qp->rq_rqmsn;
		(void)imm_release(s, qp, &rec);
	}
#endif
	if (mrc_psn_diff(pkt->psn, qp->rcv.cack) <= 0) {
		sack_ack_want(s, qp, DUE_ACK);
	} else if (pkt->flags & MRC_PKT_ACKREQ) {
		struct rcv_chunk *chunk = rcvmap_find(&qp->rcv, &s->rcv_chunks, pkt->psn);

		chunk->asked[map_bit(pkt->psn) >> 6] |= UINT64_C(1) << (pkt->psn.v & 63);
	}
	sack_want(s, now_ns, qp, pkt);
	return MRC_DROP_PSN_DUPLICATE;
}

/* A PSN that is not inside the window as it is now. */
static enum mrc_drop beyond(const struct mrc_sched_qp *qp, int32_t ahead)
{
	mrc_psn_t expected = mrc_psn_add(qp->rcv.cack, 1);

	if (ahead == -(1 << (MRC_PSN_BITS - 1)))
		return MRC_DROP_PSN_STALE;
	if (ahead < 0)
		return MRC_DROP_PSN_DUPLICATE;
	/* Granted before the window shrank? */
	return ahead > mrc_psn_diff(qp->rx_edge, expected) ? MRC_DROP_PSN_AHEAD : MRC_KEEP;
}

/* Where does the PSN lie? MRC_KEEP: new and inside the window. */
/* spec */
static inline enum mrc_drop window(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	mrc_psn_t expected = mrc_psn_add(qp->rcv.cack, 1);
	int32_t ahead = mrc_psn_diff(psn, expected);

#ifdef MRC_MUTANT_WRAP
	ahead = (int32_t)psn.v - (int32_t)expected.v;
#endif
	if (__builtin_expect((uint32_t)ahead >= qp->rx_window, 0)) {
		enum mrc_drop drop = beyond(qp, ahead);

		if (drop != MRC_KEEP)
			return drop;
	}
	if (__builtin_expect(qp->rcv.nb_ooo != 0, 0) && rcvmap_has(&qp->rcv, &s->rcv_chunks, psn))
		return MRC_DROP_PSN_DUPLICATE;
	return MRC_KEEP;
}

/* spec */
static enum mrc_drop outside(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, enum mrc_drop where)
{
	if (where == MRC_DROP_PSN_DUPLICATE)
		return duplicate(s, now_ns, qp, pkt);
	if (where == MRC_DROP_PSN_AHEAD && s->proto.choice.oor_nack)
		(void)sack_nack(s, now_ns, qp, pkt, MRC_NACK_PSN_OOR_WINDOW);
	return where;
}

/*
 * Is there room for a new packet? chunk_out: its place in the receive map; NULL when the left edge
 * waits for it, which needs none and frees what is parked behind it.
 */
static inline enum mrc_drop make_room(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, struct rcv_chunk **chunk_out)
{
	/* Refused once, then taken: what is sent again has waited already. Never refused without a
	 * word, which would look like a loss on the path. */
	if (__builtin_expect(s->pressure >= MRC_RX_PRESSURE_FULL, 0) &&
		(pkt->flags & MRC_PKT_RTX) == 0 &&
		sack_nack(s, now_ns, qp, pkt, MRC_NACK_NO_PKT_BUFFER))
		return MRC_DROP_NO_PKT_BUFFER;
	if (rcvmap_at_edge(&qp->rcv, pkt->psn))
		return MRC_KEEP;
	if (s->cfg.parked_imms != 0 && s->nb_parked >= s->cfg.parked_imms && has_imm(pkt)) {
		(void)sack_nack(s, now_ns, qp, pkt, MRC_NACK_NO_RESOURCE);
		return MRC_DROP_NO_RESOURCE;
	}
	*chunk_out = rcvmap_chunk(&qp->rcv, &s->rcv_chunks, pkt->psn);
	if (*chunk_out != NULL)
		return MRC_KEEP;
	(void)sack_nack(s, now_ns, qp, pkt, MRC_NACK_NO_BITMAP);
	return MRC_DROP_NO_BITMAP;
}

/* Checks, places and counts a new packet inside the window; chunk as of make_room. */
/* spec */
static inline __attribute__((always_inline)) enum mrc_drop take(struct mrc_sched *s,
	uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt, const uint8_t *frame,
	struct rcv_chunk *chunk)
{
	uint32_t kind = kind_of(pkt);
	mrc_psn_t at = pkt->psn;
	uint8_t *dst = NULL;
	enum mrc_drop drop = check(s, qp, pkt, kind, &dst);

	if (__builtin_expect(drop != MRC_KEEP, 0))
		return violated(s, now_ns, qp, pkt, chunk, drop);
	if (pkt->payload_len != 0)
		memcpy(dst, frame + pkt->payload_off, pkt->payload_len);
	s->counters.rx_data_packets++;
	s->counters.rx_data_bytes += pkt->payload_len;
	qp->rcvd_len += (uint64_t)pkt->udp_len + NOMINAL_EXTRA;
	if (chunk == NULL)
		drop = count_at_edge(s, qp, pkt, kind, &at);
	else
		count_above(s, qp, pkt, chunk);
	want_answers(s, now_ns, qp, pkt);
	if (__builtin_expect(drop != MRC_KEEP, 0))
		return refuse(s, now_ns, qp, at, drop);
	return MRC_KEEP;
}

/* A packet that the left edge does not wait for, or that there may be no room for. */
static __attribute__((noinline)) enum mrc_drop write_aside(struct mrc_sched *s, uint64_t now_ns,
	struct mrc_sched_qp *qp, const struct mrc_pkt *pkt, const uint8_t *frame)
{
	enum mrc_drop drop = window(s, qp, pkt->psn);
	struct rcv_chunk *chunk = NULL;

#ifdef MRC_MUTANT_DUPLICATE
	uint8_t *dst = NULL;

	if (drop == MRC_DROP_PSN_DUPLICATE && check(s, qp, pkt, kind_of(pkt), &dst) == MRC_KEEP)
		memcpy(dst, frame + pkt->payload_off, pkt->payload_len);
#endif
	if (drop != MRC_KEEP)
		return outside(s, now_ns, qp, pkt, drop);
	drop = make_room(s, now_ns, qp, pkt, &chunk);
	if (drop != MRC_KEEP)
		return drop;
	return take(s, now_ns, qp, pkt, frame, chunk);
}

enum mrc_drop resp_write(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, const uint8_t *frame)
{
	/* In order and room for it: inside every window, and new. */
	if (__builtin_expect(
		    rcvmap_at_edge(&qp->rcv, pkt->psn) && s->pressure < MRC_RX_PRESSURE_FULL, 1))
		return take(s, now_ns, qp, pkt, frame, NULL);
	return write_aside(s, now_ns, qp, pkt, frame);
}

/* spec */
enum mrc_drop resp_trimmed(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	enum mrc_nack_reason reason =
		pkt->cls == MRC_CLASS_TRIMMED_LASTHOP ? MRC_NACK_TRIMMED_LASTHOP : MRC_NACK_TRIMMED;

	if (window(s, qp, pkt->psn) != MRC_KEEP)
		return MRC_DROP_TRIM_WINDOW;
	return sack_nack(s, now_ns, qp, pkt, reason) ? MRC_KEEP : MRC_DROP_TRIM_LIMITED;
}

/* spec */
enum mrc_drop resp_probe(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	s->counters.rx_probe++;
	if (!rate_ok(&qp->nack_tat_ns, now_ns, s->nack_gap_ns, NACK_DEPTH) ||
		!sack_note(s, now_ns, qp, pkt, NOTE_PROBE, 0))
		return MRC_DROP_PROBE_LIMITED;
	sack_more_probe(s, now_ns, qp, pkt);
	return MRC_KEEP;
}
