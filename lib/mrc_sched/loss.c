/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - the requester decides what is lost.
 *
 * Two stages. First path order: a path keeps order, so a packet is lost when a later one on the
 * same entropy value was received and it was not. A later one acknowledged only makes it a suspect,
 * because one bitmap of 64 may not cover both; a fresh SACK that covers the suspect and lacks it
 * convicts it. "Fresh": its rcvd_bytes is not lower than any seen, so it was not overtaken.
 * Retransmissions travel in another class and take part in no chain; age and probes judge them.
 * Second, where the configuration says that an entropy value does not pin a path, UET's distance.
 */
#include "loss.h"

#define SILENT_SHARE 8 /* of a round trip: no answer for so long, and a path is silent */

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

/*
 * A probe was answered: everything that left before it on its entropy value is a suspect. Its own
 * bitmap may not cover them all.
 */
void loss_suspect_before(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct probe *probe)
{
	uint32_t at = sentmap_last_on(&qp->snt, &s->sent, probe->ev);

	while (at != SENT_NO_PREV && sentmap_is_open(&qp->snt, &s->sent, mrc_psn(at))) {
		const struct sent *sent = sentmap_at(&qp->snt, &s->sent, mrc_psn(at));

		if (sent->rtx != 0)
			break;
		if (sent->sent_ns + probe_gap_ns(qp) < probe->sent_ns) {
			loss_suspect_chain(s, qp, at);
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
static bool aged(const struct mrc_sched_qp *qp, const struct sack_view *view)
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
	const struct mrc_sched_qp *qp, const struct sack_view *view, const struct sent *sent)
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
	const struct mrc_sched_qp *qp, const struct sack_view *view, const struct sent *sent)
{
	uint64_t shuffle_ns = qp->path->shuffle_ns;

	return shuffle_ns == 0 ||
	       (view->sent_ns != 0 && sent->sent_ns + shuffle_ns <= view->sent_ns);
}

/* A packet in flight that a fresh SACK covers and lacks: is it lost, and why? */
static bool convict(const struct mrc_sched_qp *qp, const struct sack_view *view, mrc_psn_t psn,
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

/* Slowest round trip of a plane; when no answer told of it yet, that of any plane. */
static uint64_t slowest_ns(const struct path *path, uint32_t plane)
{
	uint64_t slow_ns = path->slow_ns[plane];

	for (uint32_t p = 0; slow_ns == 0 && p < MRC_MAX_PLANES; p++)
		slow_ns = path->slow_ns[p];
	return slow_ns;
}

/* The packet that an entropy value misses: is it still in flight there? */
static bool missed(const struct mrc_sched *s, const struct mrc_ev_set *evs, uint32_t ev)
{
	uint64_t name = mrc_ev_misses(evs, ev);
	uint32_t qpn = (uint32_t)(name >> MRC_PSN_BITS) & MRC_PSN_MASK;
	const struct mrc_sched_qp *qp = &s->qps[qpn & QPN_INDEX_MASK];
	mrc_psn_t psn = mrc_psn((uint32_t)name & MRC_PSN_MASK);
	const struct sent *sent;

	if (name == MRC_EV_MISSES_NONE || qp->qpn != qpn || qp->path == NULL ||
		qp->path->evs != evs || !sentmap_is_flying(&qp->snt, &s->sent, psn))
		return false;
	sent = sentmap_at(&qp->snt, &s->sent, psn);
	return sent->ev == ev && sent->rtx == 0;
}

/*
 * How long the path has been silent, when psn is the oldest of the QP's there. One packet tells of
 * it for all QPs that share the path: an answer to any of them would be behind it.
 */
static uint64_t silence_ns(
	const struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	struct mrc_ev_set *evs = qp->path->evs;
	uint32_t ev = sentmap_at(&qp->snt, &s->sent, psn)->ev;

	if (!missed(s, evs, ev))
		mrc_ev_miss(evs, now_ns, ev, (uint64_t)qp->qpn << MRC_PSN_BITS | psn.v);
	return mrc_ev_silence_ns(evs, now_ns, ev);
}

/*
 * Late, but not judged: even on the slowest path of its plane the answer would be here, and the
 * trigger of this one left later and came in time. If nothing else was acknowledged on its path for
 * a while either, the path is silent and not just slow: it rests at once, since each turn of a dead
 * path costs a packet until the loss is certain. To rest a slow one would make the others late.
 */
static void doubt(const struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp,
	const struct sack_view *view, mrc_psn_t psn)
{
	const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);
	struct mrc_ev_set *evs = qp->path->evs;
	uint64_t age_ns = now_ns - sent->sent_ns;

	if (sent->rtx != 0 || view->wait_ns == 0 || sent->sent_ns >= view->sent_ns)
		return;
	if (sent->prev != SENT_NO_PREV && sentmap_is_open(&qp->snt, &s->sent, mrc_psn(sent->prev)))
		return; /* not the oldest there */
	if (silence_ns(s, now_ns, qp, psn) < qp->srtt_ns / SILENT_SHARE || age_ns <= qp->srtt_ns)
		return;
	if (age_ns > slowest_ns(qp->path, mrc_ev_get(evs, sent->ev)->plane) + 4 * qp->rttvar_ns)
		mrc_ev_feedback(evs, now_ns, sent->ev, MRC_EV_FB_LATE);
}

/* Judges what the bitmap covers. */
/* spec */
void loss_judge(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct sack_view *view)
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
