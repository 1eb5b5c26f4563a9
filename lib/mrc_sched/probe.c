/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - reliability probes: when the answer to a packet stays away longer than round trips
 * explain, its path is asked. A probe answered without the packet convicts it (path order), and
 * with it all that were overdue already when the probe left; a probe that is not answered while
 * other paths answer says that the path is dead.
 *
 * When nothing answers at all, probes stop after a few rounds and leave the field to the
 * retransmission timeout, so that a black hole sees one packet per timeout and no storm.
 */
#include "engine.h"

enum {
	LOOK_MAX = 256, /* packets looked at per call */
	FEW_OPEN = 8,   /* packets: a SACK is owed for four, the others are copies */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Smoothed round trip and four deviations, at least the round trip and its share 1 / div. */
static inline __attribute__((always_inline)) uint64_t wait_of(
	const struct mrc_sched_qp *qp, uint64_t div)
{
	uint64_t spread = 4 * qp->rttvar_ns, wait;

	if (qp->srtt_ns == 0)
		return qp->timeout_ns / 2;
	if (spread < qp->srtt_ns / div)
		spread = qp->srtt_ns / div;
	wait = qp->srtt_ns + spread;
	return wait < PROBE_MIN_NS ? PROBE_MIN_NS : wait;
}

/*
 * To ask costs little: soon, and however much round trips differ, so that the answer comes before
 * the retransmission timer fires. The packet may have arrived without a word: a SACK for each
 * fourth is all that the responder owes, and a window that shrank meanwhile lets none follow.
 */
uint64_t probe_wait_ns(const struct mrc_sched_qp *qp)
{
	uint64_t wait = wait_of(qp, 4), half = qp->timeout_ns / 2, least;

	if (wait <= half)
		return wait;
	least = qp->srtt_ns + qp->srtt_ns / 4;
	return min_u64(wait, least > half ? least : half);
}

/* A probe is short and may pass a packet that left just before it. */
uint64_t probe_gap_ns(const struct mrc_sched_qp *qp)
{
	return qp->srtt_ns / 16;
}

/* To convict for silence may be wrong: later. */
uint64_t probe_overdue_ns(const struct mrc_sched_qp *qp)
{
	return wait_of(qp, 2);
}

struct probe *probe_find(struct mrc_sched_qp *qp, uint16_t id)
{
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		if (qp->probes[i].state == PROBE_SENT && qp->probes[i].id == id)
			return &qp->probes[i];
	}
	return NULL;
}

void probe_forget(struct mrc_sched_qp *qp)
{
	for (uint32_t i = 0; i < NB_PROBES; i++)
		qp->probes[i].state = PROBE_FREE;
}

static struct probe *probe_on(struct mrc_sched_qp *qp, uint16_t ev)
{
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		if (qp->probes[i].state != PROBE_FREE && qp->probes[i].ev == ev)
			return &qp->probes[i];
	}
	return NULL;
}

/* A free place out of the first nb. */
static struct probe *probe_free(struct mrc_sched_qp *qp, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		if (qp->probes[i].state == PROBE_FREE)
			return &qp->probes[i];
	}
	return NULL;
}

/* Is some probe out for a round trip and nothing was heard since? */
static bool silent(const struct mrc_sched_qp *qp, uint64_t now_ns)
{
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		const struct probe *probe = &qp->probes[i];

		if (probe->state == PROBE_SENT && probe->sent_ns >= qp->answer_ns &&
			now_ns - probe->sent_ns >= qp->srtt_ns)
			return true;
	}
	return false;
}

/* Slowest round trip of the plane of an entropy value, its share 1 / div and four deviations; of a
 * plane that never answered nothing is known. */
uint64_t probe_slowest_ns(const struct mrc_sched_qp *qp, uint16_t ev, uint64_t div)
{
	const struct path *path = qp->path;
	uint32_t plane = mrc_ev_get(path->evs, ev)->plane;

	if (path->heard_ns[plane] == 0)
		return qp->timeout_ns / 2;
	return path->slow_ns[plane] + path->slow_ns[plane] / div + 4 * qp->rttvar_ns;
}

/*
 * How long an answer of this entropy value may stay away: its plane may be much slower than the
 * others that have answered so far.
 */
uint64_t probe_patience_ns(const struct mrc_sched_qp *qp, uint16_t ev, uint64_t wait_ns)
{
	uint64_t least = probe_slowest_ns(qp, ev, 4);

	return wait_ns > least ? wait_ns : least;
}

/* Overdue while others do answer: nothing comes back from where it went. */
static bool overdue(
	const struct mrc_sched_qp *qp, const struct probe *probe, uint64_t now_ns, uint64_t wait_ns)
{
	return probe->state == PROBE_SENT &&
	       now_ns - probe->sent_ns >= probe_patience_ns(qp, probe->ev, wait_ns) &&
	       qp->answer_ns > probe->sent_ns;
}

/* Planes over which nothing leads to the peer: no carrier here, or the peer said so there. */
static uint32_t gone_planes(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	const struct peer *peer = qp->path->peer;

	return ~(s->up & peer->known & peer->up);
}

/* Those, and planes from which a probe stayed overdue and nothing else was heard. */
static uint32_t dead_planes(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, uint64_t now_ns, uint64_t wait_ns)
{
	const struct path *path = qp->path;
	uint32_t planes = gone_planes(s, qp);

	for (uint32_t i = 0; i < NB_PROBES; i++) {
		const struct probe *probe = &qp->probes[i];
		uint32_t plane;

		if (!overdue(qp, probe, now_ns, wait_ns))
			continue;
		plane = mrc_ev_get(path->evs, probe->ev)->plane;
		if (path->heard_ns[plane] < probe->sent_ns)
			planes |= UINT32_C(1) << plane;
	}
	return planes;
}

/* Wants a probe on this entropy value; false when none of the first nb places is free. */
static bool ask(struct mrc_sched *s, struct mrc_sched_qp *qp, uint16_t ev, uint32_t nb)
{
	struct probe *probe = probe_free(qp, nb);

	if (probe == NULL)
		return false;
	*probe = (struct probe){.id = qp->next_probe++, .ev = ev, .state = PROBE_WANTED};
	sack_ack_want(s, qp, DUE_PROBE);
	return true;
}

/* The controller has taken an entropy value out of use: nothing goes there, probes included. */
static bool denied(const struct mrc_sched_qp *qp, uint16_t ev)
{
	return mrc_ev_state(qp->path->evs, ev) == MRC_EV_DENIED;
}

/* Does a packet wait on a path from which nothing comes back: the plane is dead, or a probe that
 * left behind it is overdue? */
static bool went_nowhere(struct mrc_sched_qp *qp, uint64_t now_ns, const struct sent *sent,
	uint32_t dead, uint64_t wait_ns)
{
	const struct probe *probe = probe_on(qp, sent->ev);

	return (dead >> mrc_ev_get(qp->path->evs, sent->ev)->plane & 1) != 0 ||
	       (probe != NULL && overdue(qp, probe, now_ns, wait_ns) &&
		       probe->sent_ns > sent->sent_ns);
}

/* Has a probe out on the path of a packet. False: none could be had. */
static bool ask_about(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct sent *sent)
{
	return probe_on(qp, sent->ev) != NULL || ask(s, qp, sent->ev, NB_PROBES - 1);
}

/* Probes that were not answered make room. */
static void drop_overdue(uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t wait_ns)
{
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		struct probe *probe = &qp->probes[i];

		if (probe->state == PROBE_SENT &&
			now_ns - probe->sent_ns >= probe_patience_ns(qp, probe->ev, wait_ns))
			probe->state = PROBE_FREE;
	}
}

/* Planes of the entropy values that are asked about. */
static uint32_t asked_planes(const struct mrc_sched_qp *qp)
{
	uint32_t planes = 0;

	for (uint32_t i = 0; i < NB_PROBES; i++) {
		if (qp->probes[i].state != PROBE_FREE)
			planes |= UINT32_C(1) << mrc_ev_get(qp->path->evs, qp->probes[i].ev)->plane;
	}
	return planes;
}

/* Whom to call beside those that are asked: who answered last, and when that one is asked already
 * or was called in vain, whose turn it is, on another plane if there is one. */
static uint32_t choose_witness(const struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	uint32_t asked, uint32_t dead)
{
	struct mrc_ev_set *evs = qp->path->evs;
	uint32_t planes = path_usable(s, qp->path) & qp->fit_planes & ~dead;
	uint32_t ev = qp->path->heard_ev;

	if (qp->nb_mute == 0 && (planes >> mrc_ev_get(evs, ev)->plane & 1) != 0 &&
		mrc_ev_state(evs, ev) == MRC_EV_GOOD && probe_on(qp, (uint16_t)ev) == NULL)
		return ev;
	if ((planes & ~asked) != 0)
		planes &= ~asked;
	return planes == 0 ? MRC_EV_NONE
			   : mrc_ev_next(evs, &qp->path->cursor, now_ns, planes, MRC_EV_NONE);
}

/*
 * A probe on another path beside those that are out, so that "nothing comes back from there" can be
 * told from "nothing comes back at all" when no other packet is on its way: a plane may be dead, or
 * one switch in each of them, and a window that is full of what was lost lets nothing else leave.
 */
static void witness(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint32_t dead)
{
	uint32_t asked = asked_planes(qp), ev;
	bool differ = (asked & (asked - 1)) != 0;

	if (asked == 0 || qp->probes[NB_PROBES - 1].state != PROBE_FREE)
		return;
	/* Others answer all the time, or none ever did. */
	if (differ && (qp->srtt_ns == 0 || now_ns - qp->answer_ns < qp->srtt_ns / 4))
		return;
	ev = choose_witness(s, now_ns, qp, asked, dead);
	if (ev != MRC_EV_NONE && probe_on(qp, (uint16_t)ev) == NULL)
		(void)ask(s, qp, (uint16_t)ev, NB_PROBES);
}

/*
 * Nothing was heard since the last probes. They or their answers may have been lost, so they are
 * given up after a while and new ones are sent, at doubling intervals and not for ever.
 */
static bool another_round(uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t wait_ns)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < NB_PROBES; i++) {
		const struct probe *probe = &qp->probes[i];

		if (probe->state == PROBE_SENT && probe->sent_ns > last_ns)
			last_ns = probe->sent_ns;
	}
	qp->probe_ns = time_add(last_ns, wait_ns << qp->nb_mute);
	if (qp->probe_ns > now_ns)
		return false;
	qp->probe_ns = WHEEL_NEVER;
#ifndef MRC_MUTANT_MUTE
	if (qp->nb_mute >= MUTE_ROUNDS)
		return false;
#endif
	qp->nb_mute++;
	probe_forget(qp);
	return true;
}

/* When the first probe that is out will be overdue; a wait from now if none is. */
static uint64_t next_look(
	const struct mrc_sched *s, const struct mrc_sched_qp *qp, uint64_t now_ns, uint64_t wait_ns)
{
	uint64_t at = time_add(now_ns, wait_ns);

	if (!mrc_psn_lt(sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una), qp->snt.next))
		return WHEEL_NEVER;
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		const struct probe *probe = &qp->probes[i];

		if (probe->state == PROBE_SENT)
			at = min_u64(at, time_add(probe->sent_ns,
						 probe_patience_ns(qp, probe->ev, wait_ns)));
	}
	return at > now_ns ? at : time_add(now_ns, wait_ns);
}

/*
 * Nothing follows the last packet, so only a probe behind it can tell of it, and of all before it.
 * Path order needs no wait: it goes along with the first one that is asked about.
 */
static void ask_tail(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	mrc_psn_t last = mrc_psn_add(qp->snt.next, -1);
	const struct sent *sent;
	uint64_t at;

	if (qp->sq.cur != qp->sq.tail || !sentmap_is_open(&qp->snt, &s->sent, last) ||
		sentmap_is_lost(&qp->snt, &s->sent, last))
		return;
	sent = sentmap_at(&qp->snt, &s->sent, last);
	at = time_add(sent->sent_ns, probe_gap_ns(qp));
	if (probe_on(qp, sent->ev) != NULL || denied(qp, sent->ev))
		return;
	if (now_ns >= at)
		(void)ask(s, qp, sent->ev, NB_PROBES - 1);
	else
		qp->probe_ns = min_u64(qp->probe_ns, at);
}

/*
 * What went over a plane that is gone since is lost without a question, once its answer had the
 * time to come over another one. Returns when to look again.
 */
static uint64_t lose_gone(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t wait_ns)
{
	uint32_t gone = gone_planes(s, qp) & (uint32_t)((UINT64_C(1) << s->cfg.nb_planes) - 1);
	mrc_psn_t psn = sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una);
	uint64_t at = WHEEL_NEVER;

	if ((qp->flags & QPF_GONE) == 0)
		return at;
	while (mrc_psn_lt(psn, qp->snt.next)) {
		const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);
		bool over = (gone >> mrc_ev_get(qp->path->evs, sent->ev)->plane & 1) != 0;

		if (over && now_ns - sent->sent_ns >= wait_ns)
			loss_declare(s, now_ns, qp, psn, LOSS_TIMEOUT);
		else if (over && time_add(sent->sent_ns, wait_ns) < at)
			at = time_add(sent->sent_ns, wait_ns);
		psn = sentmap_next_flying(&qp->snt, &s->sent, mrc_psn_add(psn, 1));
	}
	/* Nothing else leaves over it. */
	if (at == WHEEL_NEVER)
		qp->flags &= (uint16_t)~QPF_GONE;
	return at;
}

void probe_gone_look(struct mrc_sched *s, uint64_t now_ns)
{
	if (now_ns < s->gone_ns)
		return;
	s->gone_ns = WHEEL_NEVER;
	s->gone_next_ns = time_add(now_ns, (uint64_t)s->cfg.max_qps * GONE_GAP_NS);
	for (uint32_t i = 0; i < s->cfg.max_qps; i++) {
		struct mrc_sched_qp *qp = &s->qps[i];

		if (qp->qpn != 0 && qp->state == MRC_QP_RTS && qp->path->gone)
			timer_look(s, now_ns, qp);
	}
	for (struct link *l = s->used_paths.next; l != &s->used_paths; l = l->next)
		LIST_OWNER(l, struct path, link)->gone = false;
}

/* Do new packets leave, and bring answers? Not before what is lost was sent again; and with so few
 * in flight that no SACK is owed, a copy that is trimmed again and again leaves the others without
 * a word. */
static bool more_follows(const struct mrc_sched_qp *qp)
{
	return qp->sq.cur != qp->sq.tail && qp->snt.nb_lost == 0 && qp->snt.nb_open >= FEW_OPEN &&
	       (uint32_t)mrc_psn_diff(qp->snt.next, qp->snt.una) < qp->tx_window;
}

/* Asks about everything that waits too long. */
static void look_overdue(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	uint64_t wait_ns = probe_wait_ns(qp), overdue_ns = probe_overdue_ns(qp);
	mrc_psn_t psn = sentmap_next_flying(&qp->snt, &s->sent, qp->snt.una);
	bool follows = more_follows(qp), first = true, full = false;
	uint32_t dead;

	qp->probe_ns = WHEEL_NEVER;
	if (!s->cfg.probes)
		return;
	if (silent(qp, now_ns) && !another_round(now_ns, qp, overdue_ns))
		return;
	dead = dead_planes(s, qp, now_ns, overdue_ns);
	for (uint32_t i = 0; i < LOOK_MAX && mrc_psn_lt(psn, qp->snt.next); i++) {
		const struct sent *sent = sentmap_at(&qp->snt, &s->sent, psn);

		if (now_ns - sent->sent_ns < wait_ns) {
			if (full)
				break;
			qp->probe_ns = min_u64(qp->probe_ns, time_add(sent->sent_ns, wait_ns));
			/* What was not sent again left in turn; a copy says nothing of it. While
			 * new packets follow, path order tells of it for nothing. */
			if (sent->rtx == 0 || follows)
				break;
		} else if (went_nowhere(qp, now_ns, sent, dead, overdue_ns) ||
			   ((first || (sent->flags & SENT_LACKED) != 0) && denied(qp, sent->ev))) {
			loss_declare(s, now_ns, qp, psn, LOSS_TIMEOUT);
			if (first)
				ask_tail(s, now_ns, qp);
			first = false;
		} else if (first || (sent->flags & SENT_LACKED) != 0) {
			/* The walk of the bitmaps takes several SACKs: that one is late says
			 * little. */
			if (!ask_about(s, qp, sent))
				full = true;
			if (first)
				ask_tail(s, now_ns, qp);
			first = false;
		}
		psn = sentmap_next_flying(&qp->snt, &s->sent, mrc_psn_add(psn, 1));
	}
	drop_overdue(now_ns, qp, overdue_ns);
	witness(s, now_ns, qp, dead);
	if (qp->probe_ns == WHEEL_NEVER)
		qp->probe_ns = next_look(s, qp, now_ns, overdue_ns);
}

void probe_look(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	uint64_t at = lose_gone(s, now_ns, qp, probe_overdue_ns(qp));

	look_overdue(s, now_ns, qp);
	if (at < qp->probe_ns)
		qp->probe_ns = at;
	req_wake(s, qp);
}

/* spec */
bool probe_send(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf)
{
	uint32_t planes = path_usable(s, qp->path);

	if (qp->state != MRC_QP_RTS)
		return false;
	for (uint32_t i = 0; i < NB_PROBES; i++) {
		struct probe *probe = &qp->probes[i];

		if (probe->state != PROBE_WANTED)
			continue;
		if ((planes >> mrc_ev_get(qp->path->evs, probe->ev)->plane & 1) != 0 &&
			!denied(qp, probe->ev)) {
			probe_put(s, now_ns, qp, probe, buf);
			return true;
		}
		/* Cannot leave; that of another path can. */
		probe->state = PROBE_FREE;
	}
	return false;
}

/* spec */
void probe_put(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct probe *probe,
	struct mrc_txbuf *buf)
{
	const struct mrc_choice *choice = &s->proto.choice;
	struct mrc_pkt pkt;

	probe->state = PROBE_SENT;
	probe->sent_ns = now_ns;
	mrc_pkt_init(&s->proto, MRC_OP_PROBE, &pkt);
	pkt.flags |= MRC_PKT_TS;
	pkt.cls = qp->flags & QPF_TRIM_PEER ? MRC_CLASS_TRIMMABLE : MRC_CLASS_NO_TRIM;
	pkt.dqpn = qp->dest_qpn;
	pkt.probe.probe_id = probe->id;
	pkt.probe.timestamp = ts_of(now_ns);
	/* Requester first; in PETH both readings of O-5 agree. */
	pkt.probe.spdcid = (uint16_t)qp->qpn;
	pkt.probe.dpdcid = (uint16_t)qp->dest_qpn;
	pkt.probe.vendor_info = (uint8_t)choice->vendor_info;
	tx_control(s, qp->path, mrc_ev_get(qp->path->evs, probe->ev), &pkt,
		MRC_BTH_LEN + MRC_PETH_LEN + MRC_ICRC_LEN, buf);
	s->counters.tx_probe++;
}
