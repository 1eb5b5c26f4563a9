/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sack.c - the responder's answers: when a SACK, NACK or transport ACK is due and what stands in
 * it.
 *
 * Answers of one QP in one burst are joined: one SACK for the last packet that asked for one, one
 * transport ACK. Where one bitmap cannot tell of all that is out of order, the SACKs that were
 * joined follow it, so that holes are told of as soon as without bursts. Marked packets, probes and
 * refused packets get an answer of their own (a note), because the mark, the probe's number and the
 * reason belong to exactly one packet.
 */
#include "engine.h"
#include "sack.h"

enum {
	GAP_WORDS = 16,     /* words of the receive map looked at for the next gap */
	MORE_PER_PROBE = 8, /* SACKs behind the answer to a probe */
	WIDE_WORDS = 4,     /* out of order, besides the first one */
};

bool sack_note(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, enum note_kind kind, uint8_t reason)
{
	struct note *note;
	uint32_t room = kind == NOTE_NACK ? NB_NOTES : NB_NOTES - NB_NACK_NOTES;

	if (s->note_tail - s->note_head >= room)
		return false;
	note = &s->notes[s->note_tail++ % NB_NOTES];
	*note = (struct note){.trigger = sack_trigger(s, now_ns, pkt, kind == NOTE_PROBE),
		.qpn = qp->qpn,
		.kind = (uint8_t)kind,
		.reason = reason};
	if (kind == NOTE_PROBE)
		note->probe_id = pkt->probe.probe_id;
	return true;
}

/* Bitmap words between the left edge and the newest arrival, less the first one. */
static uint32_t words_behind(const struct mrc_sched_qp *qp)
{
	return qp->rcv.nb_ooo == 0 ? 0
				   : (uint32_t)(mrc_psn_diff(qp->rcv.max_rcv, qp->rcv.cack) - 1) /
					     MRC_SACK_BITS;
}

void sack_more(struct mrc_sched_qp *qp)
{
	uint32_t words = words_behind(qp);

	/* More than all of it once is said by nobody's triggers. */
	if (qp->nb_more > words)
		qp->nb_more = (uint16_t)words;
	if (qp->nb_more != 0)
		qp->due |= DUE_MORE;
	else
		qp->due &= (uint8_t)~DUE_MORE;
}

/*
 * A probe asks for holes: its answer is followed by SACKs that tell of the next ones. They name a
 * PSN below everything that the requester waits for, since no packet triggered them.
 */
void sack_more_probe(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	uint32_t words = words_behind(qp);

	if (words > MORE_PER_PROBE)
		words = MORE_PER_PROBE;
	if (words <= qp->nb_more)
		return;
	qp->nb_more = (uint16_t)words;
	if ((qp->due & DUE_SACK) != 0)
		return;
	qp->trigger = sack_trigger(s, now_ns, pkt, true);
	qp->trigger.psn = mrc_psn_add(qp->rcv.cack, INT16_MIN);
	qp->trigger.m = MRC_M_NONE;
	sack_ack_want(s, qp, DUE_MORE);
}

bool sack_marked(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	uint8_t m = marks_opinion(s, now_ns, qp, pkt->ev);

	s->counters.ecn_marks++;
	if (!sack_note(s, now_ns, qp, pkt, NOTE_SACK, 0))
		return false;
	s->notes[(s->note_tail - 1) % NB_NOTES].trigger.m = m;
	return true;
}

bool sack_nack(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, enum mrc_nack_reason reason)
{
	if (!rate_ok(&qp->nack_tat_ns, now_ns, s->nack_gap_ns, NACK_DEPTH))
		return false;
	return sack_note(s, now_ns, qp, pkt, NOTE_NACK, (uint8_t)reason);
}

/* Echo of the timestamp; the responder's own delay taken out when agreed (O-10). */
/* spec */
static uint16_t echo(const struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp,
	const struct trigger *t)
{
	if ((qp->flags & QPF_SVC_TIME) == 0 || !s->proto.choice.svc_time_shift)
		return t->timestamp;
	return (uint16_t)(t->timestamp + (now_ns - t->rx_ns) / MRC_TS_TICK_NS);
}

/* Down to the next multiple of what bases are to be multiples of. */
static inline mrc_psn_t aligned(const struct mrc_sched *s, mrc_psn_t base)
{
	uint32_t align = s->proto.choice.sack_base_align;

	return align == 1 ? base : mrc_psn(base.v - base.v % align);
}

/*
 * Bitmap base (O-16): walks from the oldest gap to the newest arrival, then starts again. A base
 * that is to be a multiple of something may lie below the left edge, where all is received.
 */
/* spec */
static mrc_psn_t walk(const struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	mrc_psn_t low = mrc_psn_add(qp->rcv.cack, 1), base = qp->sack_next, newest;
	uint32_t align = s->proto.choice.sack_base_align;

	if (mrc_psn_lt(base, low) || mrc_psn_lt(qp->rcv.max_rcv, base))
		base = low;
	base = aligned(s, base);
	if (mrc_psn_diff(mrc_psn_add(base, MRC_SACK_BITS - 1), qp->rcv.max_rcv) < 0) {
		qp->sack_next = mrc_psn_add(base, MRC_SACK_BITS);
		return base;
	}
	/* The last word of a walk ends at the newest arrival, or soon behind it. */
	newest = mrc_psn_add(qp->rcv.max_rcv, -(MRC_SACK_BITS - 1) + (int32_t)(align - 1));
	newest = aligned(s, newest);
	base = aligned(s, low);
	qp->sack_next = low;
	return mrc_psn_lt(newest, base) ? base : newest;
}

/* First missing PSN from here on, or where the search was given up. */
static mrc_psn_t next_gap(const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t from)
{
	for (uint32_t i = 0; i < GAP_WORDS && mrc_psn_lt(from, qp->rcv.max_rcv); i++) {
		uint64_t missing = ~rcvmap_word(&qp->rcv, &s->rcv_chunks, from);

		if (missing != 0)
			return mrc_psn_add(from, __builtin_ctzll(missing));
		from = mrc_psn_add(from, MRC_SACK_BITS);
	}
	return from;
}

/* Next step of the walk from gap to gap, which begins again at `first`. */
static mrc_psn_t gap_step(const struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t first)
{
	mrc_psn_t base = qp->gap_next;

	if (mrc_psn_lt(base, first) || mrc_psn_lt(qp->rcv.max_rcv, base))
		base = first;
	base = next_gap(s, qp, base);
	if (mrc_psn_lt(qp->rcv.max_rcv, base))
		base = mrc_psn_add(qp->rcv.cack, 1);
	qp->gap_next = mrc_psn_add(base, MRC_SACK_BITS);
	return base;
}

/*
 * Bitmap base of an answer to a probe or a retransmission: the requester mends holes. Goes from gap
 * to gap, beginning at the oldest, beside the walk over all arrivals; a large window with few holes
 * needs as many answers as it has holes.
 */
static mrc_psn_t walk_gaps(const struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	mrc_psn_t low = mrc_psn_add(qp->rcv.cack, 1);

	qp->gap_turn = !qp->gap_turn;
	if (qp->gap_turn)
		return low;
	return gap_step(s, qp, mrc_psn_add(low, MRC_SACK_BITS));
}

/* First PSN that no bitmap has told of since it arrived. */
static mrc_psn_t head(const struct mrc_sched_qp *qp)
{
	mrc_psn_t low = mrc_psn_add(qp->rcv.cack, 1);
	bool astray =
		mrc_psn_lt(qp->head_next, low) || mrc_psn_diff(qp->head_next, qp->rcv.max_rcv) > 1;

	return astray ? low : qp->head_next;
}

/* A bitmap from here on was told. */
static void head_told(struct mrc_sched_qp *qp, mrc_psn_t base)
{
	mrc_psn_t next = head(qp), end = mrc_psn_add(base, MRC_SACK_BITS);

	if (mrc_psn_diff(end, qp->rcv.max_rcv) > 1)
		end = mrc_psn_add(qp->rcv.max_rcv, 1);
	qp->head_next = mrc_psn_le(base, next) && mrc_psn_lt(next, end) ? end : next;
}

/*
 * Bitmap base of a further SACK: a whole word of new arrivals if there is one, the newest when it
 * is the last SACK of the burst, else the next gap.
 */
static mrc_psn_t walk_more(const struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	mrc_psn_t low = mrc_psn_add(qp->rcv.cack, 1), base = head(qp);
	int32_t untold = mrc_psn_diff(qp->rcv.max_rcv, base) + 1;

	qp->nb_more--;
	if (untold >= MRC_SACK_BITS)
		return base;
	if (untold > 0 && qp->nb_more == 0) {
		base = mrc_psn_add(qp->rcv.max_rcv, -(MRC_SACK_BITS - 1));
		return mrc_psn_lt(base, low) ? low : base;
	}
	return gap_step(s, qp, low);
}

/* With few words out of order the walk over all of them is soon through; with many every other
 * answer goes to the next gap. */
static mrc_psn_t base_of(
	const struct mrc_sched *s, struct mrc_sched_qp *qp, const struct trigger *t, bool more)
{
	mrc_psn_t base;

	if (__builtin_expect(qp->rcv.nb_ooo == 0 && !more && !t->rtx && !t->probe, 1)) {
		/* Nothing to tell of: where a walk begins. */
		qp->sack_next = mrc_psn_add(qp->rcv.cack, 1);
		base = qp->sack_next;
	} else if (more)
		base = walk_more(s, qp);
	else if (t->rtx || t->probe)
		base = walk_gaps(s, qp);
	else if (words_behind(qp) >= WIDE_WORDS && (qp->wide_turn = !qp->wide_turn))
		base = gap_step(s, qp, mrc_psn_add(qp->rcv.cack, 1));
	else
		return walk(s, qp);
	return aligned(s, base);
}

/* The word at base; PSNs up to the left edge read as received. */
/* spec */
static uint64_t bitmap(const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t base)
{
	int32_t below = mrc_psn_diff(mrc_psn_add(qp->rcv.cack, 1), base);

	if (qp->rcv.nb_ooo == 0 && below <= 0)
		return 0;
	if (below <= 0)
		return rcvmap_word(&qp->rcv, &s->rcv_chunks, base);
	MRC_ASSERT(below < MRC_SACK_BITS); /* as far as a base is aligned down */
	return rcvmap_word(&qp->rcv, &s->rcv_chunks, mrc_psn_add(base, below)) << below |
	       ((UINT64_C(1) << below) - 1);
}

/*
 * Dynamic MPR: what is granted follows the demand on the shared budget of chunks. A shrunk grant
 * never takes back PSNs (rx_edge), so nothing in flight is lost by it.
 */
/* spec */
static uint8_t grant(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	uint32_t units = qp->rx_units, quarter = s->rcv_chunks.nb / 4;
	uint32_t window;

	if ((qp->flags & QPF_DYNAMIC) == 0)
		return 0;
	if (!s->cfg.dynamic_mpr)
		return (uint8_t)units;
	if (s->rcv_chunks.nb_free < quarter)
		units = units * s->rcv_chunks.nb_free / quarter;
	if (units == 0)
		units = 1;
	window = units * MRC_MPR_UNIT;
	if (window != qp->rx_window) {
		trace(s, now_ns, MRC_TRACE_MPR, qp->qpn, qp->rx_window, window);
		qp->rx_edge = qp_rx_edge(qp);
		qp->rx_window = window;
	}
	return (uint8_t)units;
}

/* Asks the peer to slow down while the host is short of buffers, and takes it back once. */
static void push_back(const struct mrc_sched *s, struct mrc_sched_qp *qp, struct mrc_pkt_sack *sack)
{
	if (!s->cfg.back_pressure)
		return;
	if (s->pressure != 0) {
		sack->rcv_cwnd_pen =
			(uint8_t)(s->pressure < MRC_RX_PRESSURE_MAX ? s->pressure
								    : MRC_RX_PRESSURE_MAX);
		qp->flags |= QPF_SLOWED;
	} else if (qp->flags & QPF_SLOWED) {
		sack->restore_cwnd = 1;
		qp->flags &= (uint16_t)~QPF_SLOWED;
	}
}

/*
 * The packet that triggered a SACK, as a distance of 16 bits from the left edge. One that lies
 * further below (a copy that was kept for very long) is named by the lowest distance: below
 * everything a requester still waits for, where a wrapped distance could name what is missing. A
 * probe has no PSN; its number takes this place.
 */
static int16_t ack_offset(const struct mrc_sched_qp *qp, const struct trigger *t)
{
	int32_t diff = mrc_psn_diff(t->psn, qp->rcv.cack);

	return (int16_t)(diff < INT16_MIN || diff > INT16_MAX ? INT16_MIN : diff);
}

/* spec */
void sack_build(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct trigger *t, bool more, struct mrc_pkt *pkt_out)
{
	struct mrc_pkt_sack *sack = &pkt_out->sack;
	mrc_psn_t base = base_of(s, qp, t, more);
	uint32_t ooo = qp->rcv.nb_ooo;

	if (ooo != 0)
		head_told(qp, base);

	pkt_out->opcode = MRC_OP_SACK;
	pkt_out->flags = t->rtx && s->proto.choice.sack_copies_rtx ? MRC_PKT_RTX : 0;
	pkt_out->cls = MRC_CLASS_CONTROL;
	pkt_out->pad = 0;
	pkt_out->dqpn = qp->dest_qpn;
	pkt_out->psn = qp->rcv.cack;
	*sack = (struct mrc_pkt_sack){
		.m = t->m,
		.ack_offset = ack_offset(qp, t),
		.mpr = grant(s, now_ns, qp),
		.sack_offset = (int16_t)mrc_psn_diff(base, qp->rcv.cack),
		.ooo_count = (uint16_t)(ooo > 0x7FFF ? 0x7FFF : ooo),
		.timestamp = echo(s, now_ns, qp, t),
		.entropy = t->ev,
		.rcvd_units = sack_units(qp->rcvd_len),
		.bitmap = bitmap(s, qp, base),
		.cack = qp->rcv.cack,
	};
	push_back(s, qp, sack);
	sack_pdcids(&s->proto.choice, qp->dest_qpn, qp->qpn, &sack->spdcid, &sack->dpdcid);
}

/* spec */
void nack_build(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct note *note, struct mrc_pkt *pkt_out)
{
	const struct mrc_choice *choice = &s->proto.choice;
	struct mrc_pkt_nack *nack = &pkt_out->nack;

	pkt_out->opcode = MRC_OP_NACK;
	pkt_out->flags = note->trigger.rtx && choice->sack_copies_rtx ? MRC_PKT_RTX : 0;
	pkt_out->cls = MRC_CLASS_CONTROL;
	pkt_out->pad = 0;
	pkt_out->dqpn = qp->dest_qpn;
	pkt_out->psn = note->trigger.psn;
	*nack = (struct mrc_pkt_nack){
		.reason = note->reason,
		.vendor_info = (uint8_t)choice->vendor_info,
		.cc_type = (uint8_t)choice->nack_cc_type,
		.cc_flags = (uint8_t)choice->nack_cc_flags,
		.timestamp = echo(s, now_ns, qp, &note->trigger),
		.entropy = note->trigger.ev,
		.psn = note->trigger.psn,
	};
	sack_pdcids(choice, qp->dest_qpn, qp->qpn, &nack->spdcid, &nack->dpdcid);
}
