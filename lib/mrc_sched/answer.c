/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer.c - the requester hears answers: SACK, NACK, transport ACK. What they acknowledge leaves
 * the sent map, what they tell goes to window, paths and timers; loss.c judges what they lack.
 *
 * An answer is checked completely before anything changes: it can acknowledge only what was sent.
 */
#include "loss.h"

static mrc_psn_t last_sent(const struct mrc_sched_qp *qp)
{
	return mrc_psn_add(qp->snt.next, -1);
}

static bool unsent(const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
#ifdef MRC_MUTANT_ACK
	return false;
#endif
	return mrc_psn_diff(psn, last_sent(qp)) > 0;
}

static void raise(mrc_psn_t *top, mrc_psn_t psn)
{
	if (mrc_psn_lt(*top, psn))
		*top = psn;
}

/* Any valid answer. */
static void heard(struct mrc_sched_qp *qp, uint64_t now_ns)
{
	qp->answer_ns = now_ns;
	qp->nb_mute = 0;
}

/* ---- echoes ---- */

/* The bits of an entropy value that an answer can carry (O-4: IPv4 has only the port). */
static uint32_t ev_bits(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	if (!mrc_gid_is_v4(&qp->local))
		return UINT32_MAX;
	return s->proto.choice.ipv4_ev_high_half ? 0xFFFF0000u : 0xFFFFu;
}

static bool same_ev(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, uint32_t index, uint32_t value)
{
	uint32_t bits = ev_bits(s, qp);
	uint32_t mine = mrc_ev_get(qp->path->evs, index)->value;

	return ((mine ^ value) & bits) == 0;
}

/* Strict echo: a weak, free cookie. Only a first transmission is known exactly. */
static bool echo_ok(const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t psn,
	uint32_t entropy, uint16_t timestamp)
{
	const struct sent *sent;

	if (!s->cfg.strict_echo || !sentmap_covers(&qp->snt, psn))
		return true;
	sent = sentmap_at(&qp->snt, &s->sent, psn);
	if (sent->rtx != 0)
		return true;
#ifndef MRC_MUTANT_ECHO
	if (!same_ev(s, qp, sent->ev, entropy))
		return false;
#endif
	return !s->cfg.timestamps || (qp->flags & QPF_SVC_TIME) != 0 ||
	       timestamp == ts_of(sent->sent_ns);
}

/* Round trip of an answer to a packet, or MRC_NSCC_NO_RTT: only when it is certain which
 * transmission was answered (rtx echo) and the 16-bit stamp cannot have wrapped. */
/* spec */
static uint64_t rtt_of(const struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp,
	mrc_psn_t psn, bool rtx, uint16_t timestamp)
{
	const struct sent *sent;
	uint64_t age, shifted, moved;

	if (!sentmap_covers(&qp->snt, psn)) {
		/* A transport ACK took another path and was faster than the SACK of the same
		 * packet: the stamp alone tells, for what was acknowledged last and left so lately
		 * that the stamp cannot have wrapped. */
		shifted = (uint64_t)(uint16_t)(ts_of(now_ns) - timestamp) * MRC_TS_TICK_NS;
		if (s->cfg.timestamps && qp->edge_ns != 0 &&
			now_ns - qp->edge_ns < TS_AMBIGUOUS_NS &&
			shifted <= now_ns - qp->edge_ns + MRC_TS_TICK_NS &&
			mrc_psn_le(qp->edge_psn, psn))
			return shifted;
		return MRC_NSCC_NO_RTT;
	}
	sent = sentmap_at(&qp->snt, &s->sent, psn);
	if (sent->rtx > 1 || (sent->rtx == 1) != rtx)
		return MRC_NSCC_NO_RTT;
	age = now_ns - sent->sent_ns;
	if (!s->cfg.timestamps || timestamp == ts_of(sent->sent_ns))
		return age;
	/* The host stamped it anew on its way out, and the responder took its own delay out (O-10).
	 */
	if (age < TS_AMBIGUOUS_NS) {
		shifted = (uint64_t)(uint16_t)(ts_of(now_ns) - timestamp) * MRC_TS_TICK_NS;
		return shifted <= age ? shifted : MRC_NSCC_NO_RTT;
	}
	/* However old: by how much the stamp was moved is known up to whole turns, of which none
	 * are taken off. The sample may be too long then and is never too short. */
	moved = (uint64_t)(uint16_t)(timestamp - ts_of(sent->sent_ns)) * MRC_TS_TICK_NS;
	return moved < TS_AMBIGUOUS_NS ? age - moved : MRC_NSCC_NO_RTT;
}

static void take_rtt(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t rtt_ns)
{
	uint64_t dev;

	if (rtt_ns == MRC_NSCC_NO_RTT)
		return;
	if (s->env.trace != NULL)
		trace(s, now_ns, MRC_TRACE_RTT, qp->qpn, rtt_ns,
			qp->flags & QPF_CC ? mrc_nscc_base_rtt(&qp->cc) : 0);
	if (qp->srtt_ns == 0) {
		qp->srtt_ns = rtt_ns == 0 ? 1 : rtt_ns;
		qp->rttvar_ns = rtt_ns / 2;
		return;
	}
	/* Jacobson's filter. */
	dev = qp->srtt_ns > rtt_ns ? qp->srtt_ns - rtt_ns : rtt_ns - qp->srtt_ns;
	qp->rttvar_ns += dev / 4 - qp->rttvar_ns / 4;
	qp->srtt_ns += rtt_ns / 8 - qp->srtt_ns / 8;
}

/* ---- acknowledging ---- */

/* Nothing was lost: the window gets back what the loss took from it, and if path order said so it
 * is believed less. */
static void pardon(const struct mrc_sched *s, struct mrc_sched_qp *qp, const struct sent *sent)
{
	if (qp->flags & QPF_CC)
		mrc_nscc_on_spurious(&qp->cc, sent->size);
	if (sent->flags & (SENT_SUSPECT | SENT_BY_ORDER))
		trust_less(s, qp, sent->ev);
}

/* An answer came sooner after the copy left than anything ever came back: the first transmission
 * arrived. That the trigger left before a copy, which may overtake it, is only a doubt. */
static bool too_soon(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct sent *sent)
{
	return s->now_ns - sent->sent_ns < qp->path->fast_ns;
}

/* True when the PSN was open. sent_ns: when the trigger of the answer left, 0 = not certain. */
static bool ack_psn(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn, uint64_t sent_ns)
{
	const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);

	switch (sentmap_ack(&qp->snt, &s->sent, psn)) {
	case SENT_WAS_DONE:
		return false;
	case SENT_WAS_FLYING:
		if (__builtin_expect(sent->rtx != 0, 0) && sent_ns != 0) {
			if (too_soon(s, qp, sent)) {
				s->counters.spurious_retransmits++;
				pardon(s, qp, sent);
			} else if (sent_ns < sent->sent_ns) {
				if (sent->flags & SENT_BY_ORDER)
					trust_less(s, qp, sent->ev);
			} else if (sent->flags & SENT_BY_ORDER) {
				trust_more(qp);
			}
		}
		break;
	case SENT_WAS_LOST:
		/* Taken off the book as lost, and again by rcvd_bytes. */
		if (qp->flags & QPF_CC)
			mrc_nscc_on_unlost(&qp->cc, sent->size);
		if ((sent->flags & SENT_NACKED) == 0)
			pardon(s, qp, sent);
		break;
	}
	return true;
}

static bool ack_one(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn, uint64_t sent_ns)
{
	const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);

	if (!ack_psn(s, qp, psn, sent_ns))
		return false;
	if (sent->rtx == 0 && sent->prev != SENT_NO_PREV)
		loss_suspect_chain(s, qp, sent->prev);
	return true;
}

/* Up to nb PSNs from psn on, those in its word; returns how many that is. nb_out: the open ones. */
static uint32_t ack_word(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn, uint32_t nb,
	uint64_t sent_ns, uint32_t *nb_out)
{
	uint32_t from = psn.v & 63, len = nb < 64 - from ? nb : 64 - from;
	uint64_t mask = UINT64_MAX >> (64 - len) << from, rest;

	*nb_out += sentmap_ack_word(&qp->snt, &s->sent, psn, mask);
	rest = sentmap_open_word(&qp->snt, &s->sent, psn) & mask;
	for (; __builtin_expect(rest != 0, 0); rest &= rest - 1)
		*nb_out += ack_psn(s, qp,
			mrc_psn_add(psn, (int32_t)((uint32_t)__builtin_ctzll(rest) - from)),
			sent_ns);
	return len;
}

/* The left edge is about to move: what it passes left no earlier than the first of it, unless that
 * was sent again. */
static void note_edge(const struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	const struct sent *first = sentmap_at(&qp->snt, &s->sent, qp->snt.una);

	qp->edge_psn = qp->snt.una;
	qp->edge_ns = first->rtx == 0 ? first->sent_ns : 0;
}

/* Everything up to and including psn; counts what was open. */
static uint32_t ack_upto(
	struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t upto, uint64_t sent_ns)
{
	mrc_psn_t end = mrc_psn_add(upto, 1), psn = qp->snt.una;
	int32_t left = mrc_psn_diff(end, psn);
	uint32_t nb = 0;

	if (left <= 0)
		return 0;
	note_edge(s, qp);
	while (left > 0) {
		uint32_t len = ack_word(s, qp, psn, (uint32_t)left, sent_ns, &nb);

		psn = mrc_psn_add(psn, (int32_t)len);
		left -= (int32_t)len;
	}
	sentmap_advance(&qp->snt, &s->sent, end);
	if (qp->suspect_ns != 0 && mrc_psn_le(qp->suspect_end, qp->snt.una))
		qp->suspect_ns = 0;
	return nb;
}

/* The left edge first: of what it passed nothing more is to be judged. */
/* spec */
static uint32_t ack_view(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct sack_view *view)
{
	uint32_t nb = ack_upto(s, qp, view->cack, view->sent_ns);

	for (uint64_t bits = view->bits; bits != 0; bits &= bits - 1) {
		mrc_psn_t psn = mrc_psn_add(view->base, __builtin_ctzll(bits));

		if (sentmap_covers(&qp->snt, psn))
			nb += ack_one(s, qp, psn, view->sent_ns);
	}
	if (view->probe == NULL && sentmap_covers(&qp->snt, view->ack))
		nb += ack_one(s, qp, view->ack, view->sent_ns);
	return nb;
}

/* ---- SACK ---- */

static enum mrc_drop check_sack(struct mrc_sched *s, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, struct sack_view *view_out)
{
	const struct mrc_pkt_sack *sack = &pkt->sack;
	struct sack_view view = {.cack = sack->cack,
		.ack = mrc_psn_add(sack->cack, sack->ack_offset),
		.base = mrc_psn_add(sack->cack, sack->sack_offset),
		.top = sack->cack,
		.bits = sack->bitmap,
		.units = sentmap_units(&qp->snt, sack->rcvd_units)};

	if (unsent(qp, view.cack))
		return MRC_DROP_ACK_UNSENT;
	/* Overtaken answers name an older edge, but never one further back than a window. */
	if (mrc_psn_diff(qp->snt.una, view.cack) > (int32_t)(qp->tx_units_max * MRC_MPR_UNIT) + 1)
		return MRC_DROP_ACK_STALE;
	if (view.bits != 0)
		raise(&view.top, mrc_psn_add(view.base, 63 - __builtin_clzll(view.bits)));
	if (sack->probe) {
		view.probe = probe_find(qp, sack->probe_id);
		if (view.probe == NULL)
			view.probe = ep_probe_find(s, qp, sack->probe_id);
		if (view.probe == NULL)
			return MRC_DROP_PROBE_UNKNOWN;
		view.overtook = sack->m != MRC_M_NONE && (qp->flags & QPF_TRIM_PEER) != 0;
	} else {
		raise(&view.top, view.ack);
	}
	if (unsent(qp, view.top))
		return MRC_DROP_ACK_UNSENT;
	if (view.probe == NULL && !echo_ok(s, qp, view.ack, sack->entropy, sack->timestamp))
		return MRC_DROP_ECHO_MISMATCH;
	view.fresh = ((view.units - qp->top_units) & SENT_UNITS_MASK) <= SENT_UNITS_MASK / 2;
	*view_out = view;
	return MRC_KEEP;
}

/* The plane lives; its slowest round trip bounds how long an answer may stay away. */
static void heard_from(struct mrc_sched_qp *qp, uint64_t now_ns, uint32_t index, uint64_t rtt_ns)
{
	uint32_t plane = mrc_ev_get(qp->path->evs, index)->plane;
	uint64_t *slow_ns = &qp->path->slow_ns[plane];

	qp->path->heard_ns[plane] = now_ns;
	qp->path->heard_ev = (uint16_t)index;
	if (rtt_ns == MRC_NSCC_NO_RTT)
		return;
	if (rtt_ns > *slow_ns)
		*slow_ns = rtt_ns;
	else
		*slow_ns -= (*slow_ns - rtt_ns) / 2048;
	if (__builtin_expect(rtt_ns < qp->path->fast_ns || qp->path->fast_ns == 0, 0))
		qp->path->fast_ns = rtt_ns;
}

/* Tells the path what its packet met. */
static void feed_path(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt_sack *sack, const struct sack_view *view, uint64_t rtt_ns)
{
	struct mrc_ev_set *evs = qp->path->evs;
	enum mrc_ev_feedback word = MRC_EV_FB_GOOD;
	uint32_t index;

	if (view->probe != NULL) {
		word = sack->m == MRC_M_NONE ? MRC_EV_FB_PROBE_GOOD : MRC_EV_FB_PROBE_MARKED;
		mrc_ev_feedback(evs, now_ns, view->probe->ev, word);
		heard_from(qp, now_ns, view->probe->ev, rtt_ns);
		return;
	}
	/* Only a packet that is known, and only on the path that it really took. */
	if (view->sent == NULL)
		return;
	index = view->sent->ev;
	if (!same_ev(s, qp, index, sack->entropy))
		return;
	heard_from(qp, now_ns, index, rtt_ns);
	if (sack->m == MRC_M_SKIP_ONCE)
		word = MRC_EV_FB_MARKED;
	else if (sack->m == MRC_M_ALWAYS_SKIP)
		word = MRC_EV_FB_ALWAYS_SKIP;
	mrc_ev_feedback(evs, now_ns, index, word);
	if (word == MRC_EV_FB_ALWAYS_SKIP)
		ep_look(s, now_ns, qp->path);
}

static void feed_window(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt_sack *sack, const struct sack_view *view)
{
	uint64_t rtt_ns = view->rtt_ns;
	struct mrc_nscc_sack word = {.rcvd_units = view->units,
		.marked = sack->m == MRC_M_SKIP_ONCE,
		.restore = sack->restore_cwnd != 0,
		.pen = sack->rcv_cwnd_pen,
		.rtt_ns = rtt_ns};

	take_rtt(s, now_ns, qp, rtt_ns);
	if ((qp->flags & QPF_CC) == 0)
		return;
	/* A probe has no payload to be serialised on each link: it undercuts the base round trip
	 * of data, which would then seem to queue, and lower the window's ceiling for good. */
	if (view->probe != NULL && rtt_ns < mrc_nscc_base_rtt(&qp->cc))
		word.rtt_ns = mrc_nscc_base_rtt(&qp->cc);
	(void)mrc_nscc_on_sack(&qp->cc, now_ns, &word);
	if (s->env.trace != NULL)
		trace(s, now_ns, MRC_TRACE_WINDOW, qp->qpn, mrc_nscc_cwnd(&qp->cc),
			(uint64_t)mrc_nscc_inflight(&qp->cc));
}

/* A SACK for the first copy of something that was sent again. */
static void note_spurious(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt,
	const struct sack_view *view)
{
	const struct sent *sent = view->sent;

	if (sent == NULL || __builtin_expect(sent->rtx == 0, 1))
		return;
	if ((pkt->flags & MRC_PKT_RTX) != 0 || !s->proto.choice.sack_copies_rtx)
		return;
	if (!sentmap_is_open(&qp->snt, &s->sent, view->ack))
		return;
	s->counters.spurious_retransmits++;
	pardon(s, qp, sent);
}

/* spec */
static void take_grant(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint32_t mpr)
{
	uint32_t units = mpr < qp->tx_units_max ? mpr : qp->tx_units_max;

	if ((qp->flags & QPF_DYNAMIC) == 0 || mpr == 0 || units * MRC_MPR_UNIT == qp->tx_window)
		return;
	trace(s, now_ns, MRC_TRACE_MPR, qp->qpn, qp->tx_window, units * MRC_MPR_UNIT);
	qp->tx_window = units * MRC_MPR_UNIT;
}

enum mrc_drop answer_sack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	const struct mrc_pkt_sack *sack = &pkt->sack;
	bool rtx = (pkt->flags & MRC_PKT_RTX) != 0;
	struct sack_view view;
	enum mrc_drop drop = check_sack(s, qp, pkt, &view);
	uint64_t rtt_ns, overdue_ns;
	uint32_t nb;

	if (drop != MRC_KEEP)
		return drop;
	s->counters.rx_sack++;
	if (view.probe == NULL && sentmap_covers(&qp->snt, view.ack))
		view.sent = sentmap_at(&qp->snt, &s->sent, view.ack);
	if (view.probe != NULL)
		rtt_ns = now_ns - view.probe->sent_ns;
	else
		rtt_ns = rtt_of(s, now_ns, qp, view.ack, rtx, sack->timestamp);
	view.rtt_ns = rtt_ns;
	view.sent_ns = rtt_ns == MRC_NSCC_NO_RTT ? 0 : now_ns - rtt_ns;
	overdue_ns = probe_overdue_ns(qp);
	if (rtt_ns <= overdue_ns)
		view.wait_ns = overdue_ns;
	note_spurious(s, qp, pkt, &view);
	feed_path(s, now_ns, qp, sack, &view, rtt_ns);
	nb = ack_view(s, qp, &view);
	if (view.probe != NULL && !view.overtook)
		loss_suspect_before(s, qp, view.probe);
	feed_window(s, now_ns, qp, sack, &view);
	heard(qp, now_ns);
	if (view.fresh) {
		qp->top_units = view.units;
		take_grant(s, now_ns, qp, sack->mpr);
		if (qp->snt.nb_open != 0)
			loss_judge(s, now_ns, qp, &view);
	}
	if (view.probe != NULL) {
		view.probe->state = PROBE_FREE;
		ep_probe_answered(s, now_ns, view.probe);
	}
	if (nb != 0)
		timer_progress(s, now_ns, qp);
	else if (view.probe != NULL)
		timer_probed(s, now_ns, qp);
	else
		timer_packet_sent(s, now_ns, qp);
	req_wake(s, qp);
	return MRC_KEEP;
}

/* ---- NACK ---- */

/* spec */
static bool nack_reason_ok(uint8_t reason)
{
	return reason == MRC_NACK_TRIMMED || reason == MRC_NACK_TRIMMED_LASTHOP ||
	       reason == MRC_NACK_NO_BITMAP || reason == MRC_NACK_NO_PKT_BUFFER ||
	       reason == MRC_NACK_NO_RESOURCE || reason == MRC_NACK_PSN_OOR_WINDOW ||
	       reason == MRC_NACK_UNEXP_EVENT;
}

static enum mrc_drop check_nack(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct mrc_pkt_nack *nack)
{
	if (!nack_reason_ok(nack->reason))
		return MRC_DROP_NACK_REASON;
	if (unsent(qp, nack->psn))
		return MRC_DROP_ACK_UNSENT;
	if (!sentmap_is_open(&qp->snt, &s->sent, nack->psn))
		return MRC_DROP_ACK_STALE;
	if (!echo_ok(s, qp, nack->psn, nack->entropy, nack->timestamp))
		return MRC_DROP_ECHO_MISMATCH;
	return MRC_KEEP;
}

/* The NACKed packet leaves the book; the window hears why. */
static void nack_window(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, const struct sent *sent, bool trimmed)
{
	bool rtx = (pkt->flags & MRC_PKT_RTX) != 0;
	uint64_t rtt_ns = rtt_of(s, now_ns, qp, pkt->nack.psn, rtx, pkt->nack.timestamp);

#ifdef MRC_MUTANT_NACK
	return;
#endif
	if (qp->flags & QPF_CC)
		mrc_nscc_on_nack(&qp->cc, now_ns, sent->size, trimmed, rtt_ns);
}

/* spec */
enum mrc_drop answer_nack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	const struct mrc_pkt_nack *nack = &pkt->nack;
	enum mrc_drop drop = check_nack(s, qp, nack);
	bool rtx = (pkt->flags & MRC_PKT_RTX) != 0, trimmed;
	struct sent *sent;

	if (drop != MRC_KEEP)
		return drop;
	s->counters.rx_nack++;
	heard(qp, now_ns);
	if (nack->reason == MRC_NACK_UNEXP_EVENT) {
		qp_fail(s, now_ns, qp, MRC_WC_REM_OP_ERR, req_find(qp, nack->psn));
		return MRC_KEEP;
	}
	sent = sentmap_at(&qp->snt, &s->sent, nack->psn);
	/* Waiting to be sent again, or the word about a copy that has been replaced since. */
	if (sentmap_is_lost(&qp->snt, &s->sent, nack->psn) ||
		((sent->rtx != 0) != rtx && !same_ev(s, qp, sent->ev, nack->entropy)))
		return MRC_KEEP;
	trimmed = nack->reason == MRC_NACK_TRIMMED || nack->reason == MRC_NACK_TRIMMED_LASTHOP;
	nack_window(s, now_ns, qp, pkt, sent, trimmed);
	if (nack->reason == MRC_NACK_TRIMMED)
		mrc_ev_feedback(qp->path->evs, now_ns, sent->ev, MRC_EV_FB_TRIMMED);
	sent->flags |= SENT_NACKED;
	loss_declare(s, now_ns, qp, nack->psn, LOSS_NACK);
	/* A NACKed retransmission is a failed retry; one round of them counts once. */
	if (sent->rtx != 0 && sent->sent_ns >= qp->count_ns && !timer_count_retry(s, now_ns, qp))
		return MRC_KEEP;
	if (!trimmed)
		timer_pause(s, now_ns, qp, NACK_WAIT_NS);
	req_wake(s, qp);
	return MRC_KEEP;
}

/* ---- transport ACK ---- */

static enum mrc_wc_status status_of(uint8_t syndrome)
{
	if (syndrome == MRC_AETH_NAK_INVALID_REQ)
		return MRC_WC_REM_INV_REQ_ERR;
	return syndrome == MRC_AETH_NAK_REMOTE_ACCESS ? MRC_WC_REM_ACCESS_ERR : MRC_WC_REM_OP_ERR;
}

/* A negative one ends the QP: the work request that holds the PSN tells why. */
static enum mrc_drop refused(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	uint32_t at;

	/* What was acknowledged cannot be refused any more. (It would not be found below either, at
	 * the cost of a walk over the queue for each forged packet.) */
	if (mrc_psn_diff(pkt->psn, qp->sq.ack_psn) <= 0)
		return MRC_DROP_ACK_STALE;
	at = req_find(qp, pkt->psn);
	if (at == UINT32_MAX)
		return MRC_DROP_ACK_STALE;
	s->counters.rx_ack++;
	qp_fail(s, now_ns, qp, status_of(pkt->ack.syndrome), at);
	return MRC_KEEP;
}

/* spec */
enum mrc_drop answer_ack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	uint8_t syndrome = pkt->ack.syndrome;
	int32_t behind;

	if (unsent(qp, pkt->psn))
		return MRC_DROP_ACK_UNSENT;
	if (syndrome == MRC_AETH_NAK_INVALID_REQ || syndrome == MRC_AETH_NAK_REMOTE_ACCESS ||
		syndrome == MRC_AETH_NAK_REMOTE_OP)
		return refused(s, now_ns, qp, pkt);
	if (syndrome != MRC_AETH_ACK)
		return MRC_DROP_ACK_SYNDROME;
	behind = mrc_psn_diff(qp->sq.ack_psn, pkt->psn);
	if (behind > (int32_t)(qp->tx_units_max * MRC_MPR_UNIT))
		return MRC_DROP_ACK_STALE;
	s->counters.rx_ack++;
	heard(qp, now_ns);
	if (behind >= 0)
		return MRC_KEEP; /* repeated, or overtaken on its way */
	qp->sq.ack_psn = pkt->psn;
	/* What was done was received; the reverse is never inferred. */
	(void)ack_upto(s, qp, pkt->psn, 0);
	if (!req_complete(s, qp, pkt->psn)) {
		qp_fail(s, now_ns, qp, MRC_WC_FATAL_ERR, UINT32_MAX);
		return MRC_KEEP;
	}
	timer_acked(now_ns, qp);
	timer_progress(s, now_ns, qp);
	req_wake(s, qp);
	return MRC_KEEP;
}
