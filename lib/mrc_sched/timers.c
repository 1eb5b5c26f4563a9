/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timers.c - the timers of a QP, one function per event.
 *
 *   rto    runs while something sent is not SACKed. Restarted by every answer that acknowledges
 *          something new. Expiry: one retry counted, the oldest packet in flight is lost.
 *   ask    runs while a packet that asked for a transport ACK has none. Expiry after the packet was
 *          SACKed: one retry counted, the packet is sent again. Before: delivery is still at it.
 *          The two answers leave together, so once the SACK is here the packet is also sent again
 *          after the time that planes differ by, at doubling intervals up to the timeout; that
 *          counts nothing.
 *   probe  first look at the oldest packet in flight (probe.c). Counts nothing.
 *   pause  retransmissions wait after a NACK for want of resources.
 *   park   no usable path: look again. While no port has carrier rto runs even with nothing sent.
 *
 * Retries: linear_cnt of them after T each, then exp_cnt after 2T, 4T, ... up to a ceiling; the
 * counter is shared by rto, ask and failed retransmissions, and goes back to 0 at the first
 * progress. All five share one node of the wheel, which is moved lazily: a later deadline is only
 * noted, and the node finds out when it fires.
 */
#include "engine.h"

/* spec */
static uint64_t wait_ns(
	uint64_t timeout_ns, uint32_t linear_cnt, uint32_t retries, uint32_t cap_exp)
{
	uint64_t cap = (uint64_t)MRC_TIMEOUT_BASE_NS << cap_exp;
	uint32_t first = linear_cnt > 1 ? linear_cnt : 1;
	uint32_t shift = retries + 1 > first ? retries + 1 - first : 0;
	uint64_t wait;

	if (cap < timeout_ns)
		cap = timeout_ns;
	if (shift > MRC_TIMEOUT_MAX_EXP)
		return cap;
	wait = timeout_ns << shift;
	return wait < cap ? wait : cap;
}

uint64_t mrc_sched_retry_wait_ns(
	const struct mrc_proto *proto, const struct mrc_sched_qp_attr *attr, uint32_t retries)
{
	return wait_ns((uint64_t)MRC_TIMEOUT_BASE_NS << attr->timeout, attr->linear_cnt, retries,
		proto->choice.timeout_cap_exp);
}

static uint64_t qp_wait_ns(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	if (__builtin_expect(qp->retries == 0, 1))
		return qp->timeout_ns;
	return wait_ns(
		qp->timeout_ns, qp->linear_cnt, qp->retries, s->proto.choice.timeout_cap_exp);
}

void timer_set(struct mrc_sched *s, struct wheel_node *node, uint64_t at_ns)
{
	wheel_remove(&s->wheel, node);
	if (at_ns != WHEEL_NEVER)
		wheel_insert(&s->wheel, node, at_ns);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Brings the wheel's node to the earliest of the five. */
static void arm(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	uint64_t at = earlier(earlier(qp->rto_ns, qp->ask_ns), earlier(qp->probe_ns, qp->pause_ns));

	at = earlier(at, qp->park_ns);
	qp->wake_ns = at;
	if (at == WHEEL_NEVER)
		wheel_remove(&s->wheel, &qp->timer);
	else if (!wheel_armed(&qp->timer))
		wheel_insert(&s->wheel, &qp->timer, at);
	else if (qp->timer.at_ns > at)
		timer_set(s, &qp->timer, at);
}

void timer_look(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	if (qp->snt.nb_open == 0)
		return;
	qp->flags |= QPF_GONE;
	qp->probe_ns = now_ns;
	arm(s, qp);
}

void timer_stop(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	qp->rto_ns = qp->ask_ns = qp->probe_ns = qp->pause_ns = qp->park_ns = WHEEL_NEVER;
	wheel_remove(&s->wheel, &qp->timer);
}

static void ask_start(struct mrc_sched_qp *qp, uint64_t now_ns, uint64_t wait_ns)
{
	qp->ask_ns = qp->ask_due_ns = time_add(now_ns, wait_ns);
	qp->nb_asked = 0;
}

void timer_start(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, bool asked)
{
	bool changed = asked && qp->ask_ns == WHEEL_NEVER;

	if (changed)
		ask_start(qp, now_ns, qp_wait_ns(s, qp));
	if (qp->snt.nb_open == 0)
		return;
	if (qp->rto_ns == WHEEL_NEVER) {
		qp->rto_ns = time_add(now_ns, qp_wait_ns(s, qp));
		changed = true;
	}
	if (qp->probe_ns == WHEEL_NEVER && s->cfg.probes &&
		(qp->retries == 0 || qp->suspect_ns == 0)) {
		qp->probe_ns = time_add(now_ns, probe_wait_ns(qp));
		changed = true;
	}
	if (changed)
		arm(s, qp);
}

/* Whether the packet that asked has arrived and only its transport ACK is missing. */
static bool ack_missing(const struct mrc_sched_qp *qp)
{
	return mrc_psn_diff(qp->ask_psn, qp->sq.ack_psn) > 0 &&
	       mrc_psn_diff(qp->snt.una, qp->ask_psn) > 0;
}

/*
 * From the SACK on: the ACK left with it, so it may be later by what the slowest plane's round trip
 * is longer; half of a round trip at least. Then twice as long each time.
 */
static uint64_t ask_wait_ns(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	uint64_t wait = probe_overdue_ns(qp) - qp->srtt_ns;

	for (uint32_t p = 0; p < s->cfg.nb_planes; p++) {
		uint64_t slow_ns = qp->path->slow_ns[p] + qp->path->slow_ns[p] / 4;

		if (slow_ns > qp->srtt_ns + wait)
			wait = slow_ns - qp->srtt_ns;
	}
	return wait >= qp->timeout_ns >> qp->nb_asked ? qp->timeout_ns : wait << qp->nb_asked;
}

void timer_probed(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	timer_packet_sent(s, now_ns, qp);
	if (qp->probe_ns == WHEEL_NEVER || qp->snt.nb_open == 0)
		return;
	qp->probe_ns = now_ns;
	arm(s, qp);
}

/* spec */
void timer_progress(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
#ifndef MRC_MUTANT_BACKOFF
	qp->retries = 0;
#endif
	qp->flags &= (uint16_t)~QPF_LATE;
	if (qp->ask_ns == WHEEL_NEVER && mrc_psn_diff(qp->ask_psn, qp->sq.ack_psn) > 0)
		ask_start(qp, now_ns, qp->timeout_ns);
	if (ack_missing(qp))
		qp->ask_ns = earlier(qp->ask_ns, time_add(now_ns, ask_wait_ns(s, qp)));
	if (qp->snt.nb_open == 0) {
		qp->rto_ns = WHEEL_NEVER;
		qp->probe_ns = WHEEL_NEVER;
		arm(s, qp);
		return;
	}
	qp->rto_ns = time_add(now_ns, qp_wait_ns(s, qp));
	/* Also earlier than noted: the first packets left before any round trip was known. After an
	 * expiry, which stops the questions, at once: what is left has waited long enough. */
	if (s->cfg.probes && qp->suspect_ns != 0 && qp->probe_ns == WHEEL_NEVER)
		qp->probe_ns = now_ns;
	else if (s->cfg.probes)
		qp->probe_ns = earlier(qp->probe_ns, time_add(now_ns, probe_wait_ns(qp)));
	arm(s, qp);
}

void timer_acked(uint64_t now_ns, struct mrc_sched_qp *qp)
{
	qp->ask_ns = WHEEL_NEVER;
	qp->flags &= (uint16_t)~QPF_REASK;
	if (mrc_psn_diff(qp->ask_psn, qp->sq.ack_psn) > 0)
		ask_start(qp, now_ns, qp->timeout_ns);
}

void timer_pause(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t ns)
{
	qp->pause_ns = time_add(now_ns, ns);
	list_remove(&qp->rtx_link);
	arm(s, qp);
}

void timer_park(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	qp->park_ns = time_add(now_ns, PARK_NS);
	/* Without any port of its own nothing can be sent: the schedule runs as if it had been. */
	if (s->up == 0 && qp->snt.nb_open == 0 && qp->rto_ns == WHEEL_NEVER)
		qp->rto_ns = time_add(now_ns, qp_wait_ns(s, qp));
	arm(s, qp);
}

/* spec */
bool timer_count_retry(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	qp->retries++;
	qp->count_ns = now_ns;
	trace(s, now_ns, MRC_TRACE_TIMEOUT, qp->qpn, qp->retries, qp_wait_ns(s, qp));
	if (qp->exp_cnt == MRC_EXP_MAX || qp->retries <= (uint32_t)qp->linear_cnt + qp->exp_cnt)
		return true;
	qp_fail(s, now_ns, qp, MRC_WC_RETRY_EXC_ERR, qp->sq.done);
	return false;
}

/* Deadline of the first packet in flight by its own clock (timers per packet). */
static uint64_t own_deadline(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	if (!mrc_psn_lt(psn, qp->snt.next))
		return WHEEL_NEVER;
	return time_add(sentmap_at(&qp->snt, &s->sent, psn)->sent_ns, qp_wait_ns(s, qp));
}

/*
 * Timers per packet: everything in flight that is over its own time is lost. Whatever falls due
 * in one look counts one retry.
 */
/* spec */
static void lose_overdue(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	mrc_psn_t psn = sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una);

	for (uint32_t i = 0; i < EXPIRE_BATCH && mrc_psn_lt(psn, qp->snt.next); i++) {
		if (sentmap_at(&qp->snt, &s->sent, psn)->sent_ns + qp->timeout_ns <= now_ns)
			loss_declare(s, now_ns, qp, psn, LOSS_TIMEOUT);
		psn = sentmap_next_flying(&qp->snt, &s->sent, mrc_psn_add(psn, 1));
	}
}

/*
 * A host that stood still finds its timers late and the answers still in its queues: they are heard
 * first. Once per expiry, and for no longer than the timer was late, so that a timer served in time
 * keeps its schedule.
 */
static bool heard_late(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	uint64_t late_ns = now_ns - qp->rto_ns, round_ns = qp->srtt_ns + 4 * qp->rttvar_ns;

#ifdef MRC_MUTANT_LATE
	return false;
#endif
	if ((qp->flags & QPF_LATE) != 0 || late_ns < qp->timeout_ns / 8 || qp->srtt_ns == 0)
		return false;
	qp->flags |= QPF_LATE;
	qp->rto_ns = time_add(now_ns, earlier(late_ns, earlier(round_ns, qp->timeout_ns)));
	return true;
}

/*
 * What left since the last progress, because a NACK or a SACK asked for it, has its own time to be
 * answered. (With a window of one packet that a
 * full queue trims again and again each NACK is an answer, and no progress.) The schedule of what
 * an expiry sent again is its own. Returns when the oldest of what is in flight is due, 0 for now.
 */
/* spec */
static uint64_t copies_due(const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (uint32_t i = 0; i < EXPIRE_BATCH && mrc_psn_lt(psn, qp->snt.next); i++) {
		const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);

		if (qp->suspect_ns != 0 && (sent->flags & SENT_BY_NACK) == 0)
			return 0;
		oldest_ns = earlier(oldest_ns, sent->sent_ns);
		psn = sentmap_next_flying(&qp->snt, &s->sent, mrc_psn_add(psn, 1));
	}
	return oldest_ns == UINT64_MAX ? 0 : time_add(oldest_ns, qp_wait_ns(s, qp));
}

static void rto_fired(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	mrc_psn_t psn = sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una);
	bool per_packet = (qp->flags & QPF_PER_PACKET) != 0;
	uint64_t due_ns;

	if (per_packet && own_deadline(s, qp, psn) > now_ns && mrc_psn_lt(psn, qp->snt.next)) {
		qp->rto_ns = own_deadline(s, qp, psn);
		return;
	}
	due_ns = per_packet ? 0 : copies_due(s, qp, psn);
	if (due_ns > now_ns) {
		qp->rto_ns = due_ns;
		return;
	}
	if (heard_late(s, now_ns, qp))
		return;
	qp->flags &= (uint16_t)~QPF_LATE;
	s->counters.timeouts++;
	if (!timer_count_retry(s, now_ns, qp))
		return;
	if (per_packet)
		lose_overdue(s, now_ns, qp);
	else if (mrc_psn_lt(psn, qp->snt.next))
		loss_declare(s, now_ns, qp, psn, LOSS_TIMEOUT);
	/* Whatever left a timeout ago is lost too if the next fresh SACK lacks it. */
	qp->suspect_ns = now_ns > qp->timeout_ns ? now_ns - qp->timeout_ns : 0;
	qp->suspect_end = qp->snt.next;
	qp->flags |= QPF_FORCE;
	probe_forget(qp);
	qp->probe_ns = WHEEL_NEVER;
	qp->rto_ns = time_add(now_ns, qp_wait_ns(s, qp));
	req_wake(s, qp);
}

/*
 * The packet was NACKed and sent again for longer than its timer ran, and the SACK of its last copy
 * has just come: the transport ACK is a packet behind it. Returns until when it may stay away.
 */
static uint64_t ack_follows_ns(const struct mrc_sched_qp *qp)
{
	if (mrc_psn_lt(qp->ask_psn, qp->edge_psn))
		return 0; /* the left edge has moved since */
	return time_add(qp->answer_ns, earlier(probe_overdue_ns(qp), qp->timeout_ns));
}

/*
 * The schedule says when a retry counts. While the peer is heard (the repeat is answered by a SACK,
 * and only the transport ACK is missing) the question is repeated after each plain timeout besides,
 * so that a schedule that has begun to double does not prolong the stall.
 */
/* spec */
static void ask_fired(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	uint64_t due_ns =
		qp->retries == 0 ? qp->ask_due_ns : time_add(qp->count_ns, qp_wait_ns(s, qp));
	uint64_t again_ns = qp->timeout_ns;

	qp->ask_ns = WHEEL_NEVER;
	/* Not delivered yet: the next progress starts the timer again. */
	if (!ack_missing(qp))
		return;
	if (now_ns >= due_ns && ack_follows_ns(qp) > now_ns) {
		qp->ask_ns = ack_follows_ns(qp);
		return;
	}
	if (now_ns >= due_ns) {
		s->counters.timeouts++;
		if (!timer_count_retry(s, now_ns, qp))
			return;
		due_ns = time_add(now_ns, qp_wait_ns(s, qp));
		qp->flags |= QPF_REASK;
	} else if (now_ns - qp->answer_ns < qp->timeout_ns) {
		qp->flags |= QPF_REASK;
	}
	if (qp->retries == 0) {
		qp->nb_asked++;
		again_ns = earlier(qp->timeout_ns, qp->srtt_ns + ask_wait_ns(s, qp));
	}
	qp->ask_ns = earlier(due_ns, time_add(now_ns, again_ns));
	req_wake(s, qp);
}

void timer_qp(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	if (qp->state != MRC_QP_RTS)
		return;
	if (now_ns >= qp->pause_ns) {
		qp->pause_ns = WHEEL_NEVER;
		req_wake(s, qp);
	}
	if (now_ns >= qp->park_ns) {
		qp->park_ns = WHEEL_NEVER;
		req_wake(s, qp);
	}
	if (now_ns >= qp->rto_ns)
		rto_fired(s, now_ns, qp);
	if (now_ns >= qp->ask_ns && qp->state == MRC_QP_RTS)
		ask_fired(s, now_ns, qp);
	if (now_ns >= qp->probe_ns && qp->state == MRC_QP_RTS)
		probe_look(s, now_ns, qp);
	if (qp->state == MRC_QP_RTS)
		arm(s, qp);
}
