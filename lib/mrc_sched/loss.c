/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - the requester hears answers: SACK, NACK, transport ACK; and decides what is lost.
 *
 * Two stages. First path order: a path keeps order, so a packet is lost when a later one on the
 * same entropy value was received and it was not. A later one acknowledged only makes it a suspect,
 * because one bitmap of 64 may not cover both; a fresh SACK that covers the suspect and lacks it
 * convicts it. "Fresh": its rcvd_bytes is not lower than any seen, so it was not overtaken.
 * Retransmissions travel in another class and take part in no chain; age and probes judge them.
 * Second, where the configuration says that an entropy value does not pin a path, UET's distance.
 *
 * An answer is checked completely before anything changes: it can acknowledge only what was sent.
 */
#include "engine.h"

#define SILENT_SHARE 8 /* of a round trip: no answer for so long, and a path is silent */

/* What a SACK says, in PSNs. */
struct view {
	mrc_psn_t cack;
	mrc_psn_t ack; /* triggering packet (not for probes) */
	mrc_psn_t base;
	mrc_psn_t top; /* highest PSN said to be received */
	uint64_t bits;
	uint32_t units;          /* rcvd_bytes, at most what was sent */
	uint64_t sent_ns;        /* when what triggered it left; 0 = not certain */
	const struct sent *sent; /* entry of the trigger; NULL: a probe, or done with */
	struct probe *probe;     /* NULL unless the answer to one */
	uint64_t rtt_ns;         /* of the trigger, MRC_NSCC_NO_RTT = not certain */
	uint64_t wait_ns;        /* when the trigger was answered in time: longer than a round trip;
				    else 0 (the peer may have stood still, its queues are not through) */
	bool fresh;
	bool overtook; /* a probe that a full queue may have put into another class */
};

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

/* ---- losing ---- */

void loss_declare(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, mrc_psn_t psn,
	enum loss_cause cause)
{
	struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);
	enum mrc_ev_feedback word = MRC_EV_FB_LOST;

	if (!sentmap_lose(&qp->snt, &s->sent, psn))
		return;
	trace(s, now_ns, MRC_TRACE_LOSS, qp->qpn, psn.v, cause);
	qp->nb_lost++;
	s->counters.planes[mrc_ev_get(qp->path->evs, sent->ev)->plane].lost_packets++;
	switch (cause) {
	case LOSS_NACK:
		s->counters.rtx_by_nack++;
		return; /* window and path heard of it by the NACK itself */
	case LOSS_ORDER:
	case LOSS_PROBE:
		s->counters.rtx_by_order++;
		break;
	case LOSS_DISTANCE:
		s->counters.rtx_by_distance++;
		break;
	case LOSS_TIMEOUT:
		s->counters.rtx_by_timeout++;
		word = MRC_EV_FB_TIMEOUT;
		break;
	}
	if (qp->flags & QPF_CC)
		mrc_nscc_on_loss(&qp->cc, now_ns, sent->size);
	mrc_ev_feedback(qp->path->evs, now_ns, sent->ev, word);
	ep_look(s, now_ns, qp->path);
}

/* Those before an acknowledged packet on its path, up to the first one already dealt with. */
static void suspect_chain(struct mrc_sched *s, struct mrc_sched_qp *qp, uint32_t prev)
{
	while (prev != SENT_NO_PREV && sentmap_is_open(&qp->snt, &s->sent, mrc_psn(prev))) {
		struct sent *sent = sentmap_at(&qp->snt, &s->sent, mrc_psn(prev));

		if (sent->rtx != 0 || (sent->flags & SENT_SUSPECT) != 0)
			break;
		sent->flags |= SENT_SUSPECT;
		prev = sent->prev;
	}
}

/*
 * A probe was answered: everything that left before it on its entropy value is a suspect. Its own
 * bitmap may not cover them all.
 */
static void suspect_before(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct probe *probe)
{
	uint32_t at = sentmap_last_on(&qp->snt, &s->sent, probe->ev);

	while (at != SENT_NO_PREV && sentmap_is_open(&qp->snt, &s->sent, mrc_psn(at))) {
		const struct sent *sent = sentmap_at(&qp->snt, &s->sent, mrc_psn(at));

		if (sent->rtx != 0)
			break;
		if (sent->sent_ns + probe_gap_ns(qp) < probe->sent_ns) {
			suspect_chain(s, qp, at);
			break;
		}
		at = sent->prev;
	}
}

/* Packets out of order until UET takes one for lost: max(min(1.5 cwnd, maxwnd), 5 packets). */
static int32_t distance_of(const struct mrc_sched_qp *qp)
{
	uint32_t packet = (1u << qp->pmtu_shift) + NOMINAL_EXTRA, far;

	if ((qp->flags & QPF_CC) == 0)
		return (int32_t)(qp->tx_window < 5 ? 5 : qp->tx_window);
	far = mrc_nscc_cwnd(&qp->cc);
	far += far / 2;
	if (far > qp->cc_cfg->max_cwnd)
		far = qp->cc_cfg->max_cwnd;
	far /= packet;
	return (int32_t)(far < 5 ? 5 : far);
}

/*
 * After an expiry: was the answer triggered by something that left behind it? Only then does it
 * tell of packets that left a timeout earlier. The first answers of a peer that stood still tell of
 * the front of its queue, and nothing of what waits behind.
 */
static bool aged(const struct mrc_sched_qp *qp, const struct view *view)
{
	return qp->suspect_ns != 0 && view->sent_ns >= qp->suspect_ns + qp->timeout_ns;
}

/*
 * How long before the trigger of an answer a packet must have left to be lost when that answer
 * lacks it: the slowest round trip of its plane and a quarter. A copy has no chain to judge it by,
 * and to send it once more for nothing costs little: the slowest round trip and a sixteenth, less
 * the trigger's own, since when the trigger arrived the copy had been on its way for as much longer
 * as it left earlier.
 */
static uint64_t lead_ns(
	const struct mrc_sched_qp *qp, const struct view *view, const struct sent *sent)
{
	uint64_t slowest_ns, least_ns;

	if (sent->rtx == 0)
		return probe_patience_ns(qp, sent->ev, view->wait_ns);
	slowest_ns = probe_slowest_ns(qp, sent->ev, 16);
	least_ns = slowest_ns / 16;
	return slowest_ns > view->rtt_ns + least_ns ? slowest_ns - view->rtt_ns : least_ns;
}

/* Was a suspect overtaken for longer than its path shuffles? */
static bool order_tells(
	const struct mrc_sched_qp *qp, const struct view *view, const struct sent *sent)
{
	uint64_t shuffle_ns = qp->path->shuffle_ns;

	return shuffle_ns == 0 ||
	       (view->sent_ns != 0 && sent->sent_ns + shuffle_ns <= view->sent_ns);
}

/* A packet in flight that a fresh SACK covers and lacks: is it lost, and why? */
static bool convict(const struct mrc_sched_qp *qp, const struct view *view, mrc_psn_t psn,
	const struct sent *sent, int32_t distance, enum loss_cause *cause_out)
{
	const struct probe *probe = view->probe;

	if ((sent->flags & SENT_SUSPECT) != 0 && order_tells(qp, view, sent))
		*cause_out = LOSS_ORDER;
	else if (probe != NULL && !view->overtook && sent->ev == probe->ev &&
		 sent->sent_ns + probe_gap_ns(qp) + qp->path->shuffle_ns < probe->sent_ns)
		*cause_out = LOSS_PROBE;
	else if (view->wait_ns != 0 && sent->sent_ns + lead_ns(qp, view, sent) <= view->sent_ns)
		*cause_out = LOSS_PROBE; /* overdue even on its own path when the trigger left */
	else if (aged(qp, view) && sent->sent_ns <= qp->suspect_ns)
		*cause_out = LOSS_TIMEOUT;
	else if (distance != 0 && sent->rtx == 0 && mrc_psn_diff(view->top, psn) >= distance)
		*cause_out = LOSS_DISTANCE;
	else
		return false;
	return true;
}

/*
 * Late, but not judged: even on the slowest path of its plane the answer would be here, and the
 * trigger of this one left later and came in time. If nothing else was acknowledged on its path for
 * a while either, the path is silent and not just slow: it rests at once, since each turn of a dead
 * path costs a packet until the loss is certain. To rest a slow one would make the others late.
 */
static void doubt(const struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp,
	const struct view *view, mrc_psn_t psn)
{
	const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);
	struct mrc_ev_set *evs = qp->path->evs;
	uint64_t age_ns = now_ns - sent->sent_ns, silence_ns;

	if (sent->rtx != 0 || view->wait_ns == 0 || sent->sent_ns >= view->sent_ns)
		return;
	if (sent->prev != SENT_NO_PREV && sentmap_is_open(&qp->snt, &s->sent, mrc_psn(sent->prev)))
		return; /* not the oldest there */
	silence_ns = mrc_ev_silence_ns(evs, now_ns, sent->ev, (uint64_t)qp->qpn << 24 | psn.v);
	if (silence_ns < qp->srtt_ns / SILENT_SHARE || age_ns <= qp->srtt_ns)
		return;
	if (age_ns >
		path_slowest_ns(qp->path, mrc_ev_get(evs, sent->ev)->plane) + 4 * qp->rttvar_ns)
		mrc_ev_feedback(evs, now_ns, sent->ev, MRC_EV_FB_LATE);
}

/* Judges what the bitmap covers. */
/* spec */
static void judge(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct view *view)
{
	int32_t distance = s->cfg.loss_by_distance ? distance_of(qp) : 0;
	mrc_psn_t end = mrc_psn_add(view->base, MRC_SACK_BITS - 1), psn;

	if (view->probe == NULL && !aged(qp, view) && mrc_psn_lt(view->top, end))
		end = view->top;
	psn = sentmap_next_flying(&qp->snt, &s->sent, view->base);
	while (mrc_psn_lt(psn, qp->snt.next) && mrc_psn_le(psn, end)) {
		struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);
		enum loss_cause cause;

		sent->flags |= SENT_LACKED;
		if (convict(qp, view, psn, sent, distance, &cause))
			loss_declare(s, now_ns, qp, psn, cause);
		else
			doubt(s, now_ns, qp, view, psn);
		psn = sentmap_next_flying(&qp->snt, &s->sent, mrc_psn_add(psn, 1));
	}
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

/* True when the PSN was open. sent_ns: when the trigger of the answer left, 0 = not certain. */
static bool ack_psn(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn, uint64_t sent_ns)
{
	const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);

	switch (sentmap_ack(&qp->snt, &s->sent, psn)) {
	case SENT_WAS_DONE:
		return false;
	case SENT_WAS_FLYING:
		if (__builtin_expect(sent->rtx != 0, 0) && sent_ns != 0) {
			if (trust_too_soon(s, qp, sent)) {
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
		suspect_chain(s, qp, sent->prev);
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
static uint32_t ack_view(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct view *view)
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
	const struct mrc_pkt *pkt, struct view *view_out)
{
	const struct mrc_pkt_sack *sack = &pkt->sack;
	struct view view = {.cack = sack->cack,
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
	const struct mrc_pkt_sack *sack, const struct view *view, uint64_t rtt_ns)
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
	const struct mrc_pkt_sack *sack, const struct view *view)
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
	const struct view *view)
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

enum mrc_drop loss_sack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	const struct mrc_pkt_sack *sack = &pkt->sack;
	bool rtx = (pkt->flags & MRC_PKT_RTX) != 0;
	struct view view;
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
		suspect_before(s, qp, view.probe);
	feed_window(s, now_ns, qp, sack, &view);
	heard(qp, now_ns);
	if (view.fresh) {
		qp->top_units = view.units;
		take_grant(s, now_ns, qp, sack->mpr);
		if (qp->snt.nb_open != 0)
			judge(s, now_ns, qp, &view);
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
enum mrc_drop loss_nack(
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
	if (mrc_psn_diff(pkt->psn, qp->ack_psn) <= 0)
		return MRC_DROP_ACK_STALE;
	at = req_find(qp, pkt->psn);
	if (at == UINT32_MAX)
		return MRC_DROP_ACK_STALE;
	s->counters.rx_ack++;
	qp_fail(s, now_ns, qp, status_of(pkt->ack.syndrome), at);
	return MRC_KEEP;
}

/* spec */
enum mrc_drop loss_ack(
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
	behind = mrc_psn_diff(qp->ack_psn, pkt->psn);
	if (behind > (int32_t)(qp->tx_units_max * MRC_MPR_UNIT))
		return MRC_DROP_ACK_STALE;
	s->counters.rx_ack++;
	heard(qp, now_ns);
	if (behind >= 0)
		return MRC_KEEP; /* repeated, or overtaken on its way */
	qp->ack_psn = pkt->psn;
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
