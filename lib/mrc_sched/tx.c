/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.c - packets out, pulled by the host: endpoint answers, notes, answers due, then
 * retransmissions, then new data; QPs in turn.
 */
#include "engine.h"

void tx_control(struct mrc_sched *s, const struct path *path, const struct mrc_ev *ev,
	const struct mrc_pkt *pkt, uint16_t body_len, struct mrc_txbuf *buf)
{
	MRC_ASSERT((path->peer->known >> ev->plane & 1) != 0);
	(void)hdr_put(&s->proto, path->tmpl, ev, pkt, body_len, &s->counters, buf);
	hdr_only(buf);
}

/* ---- control ---- */

/* The path of an answer (O-23); NULL when none can be used now. */
/* spec */
static const struct mrc_ev *answer_ev(
	struct mrc_sched *s, uint64_t now_ns, struct path *path, uint32_t received)
{
	uint32_t planes = path_usable(s, path), index = MRC_EV_NONE;

	if (s->proto.choice.reverse_ev_echo) {
		for (uint32_t p = 0; p < s->cfg.nb_planes && index == MRC_EV_NONE; p++) {
			if ((planes >> p & 1) != 0)
				index = mrc_ev_find(path->evs, received, (uint8_t)p);
		}
		if (index != MRC_EV_NONE && mrc_ev_state(path->evs, index) == MRC_EV_DENIED)
			index = MRC_EV_NONE;
	}
	/* Who sends no data hears nothing of what becomes of its answers: it takes the planes over
	 * which its peer still comes. */
	if (index == MRC_EV_NONE)
		index = mrc_ev_next(path->evs, &path->cursor, now_ns,
			planes & ~peer_quiet(s, path->peer), MRC_EV_NONE);
	if (index == MRC_EV_NONE)
		index = mrc_ev_next(path->evs, &path->cursor, now_ns, planes, MRC_EV_NONE);
	return index == MRC_EV_NONE ? NULL : mrc_ev_get(path->evs, index);
}

static void send_control(struct mrc_sched *s, const struct mrc_sched_qp *qp, struct mrc_pkt *pkt,
	const struct mrc_ev *ev, struct mrc_txbuf *buf)
{
	uint16_t body =
		(uint16_t)(MRC_BTH_LEN + mrc_opcode_table[pkt->opcode].ext_len + MRC_ICRC_LEN);

	MRC_ASSERT(pkt->dqpn == qp->dest_qpn);
	pkt->ecn = MRC_ECN_NOT_ECT;
	tx_control(s, qp->path, ev, pkt, body, buf);
}

/* spec */
static bool send_note(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf)
{
	while (s->note_head != s->note_tail) {
		const struct note *note = &s->notes[s->note_head % NB_NOTES];
		struct mrc_sched_qp *qp = &s->qps[note->qpn & QPN_INDEX_MASK];
		const struct mrc_ev *ev = NULL;
		struct mrc_pkt pkt;

		if (qp->qpn == note->qpn && qp->path != NULL)
			ev = answer_ev(s, now_ns, qp->path, note->trigger.ev);
		/* The QP is gone, or no path leads to its peer: answers are best effort. */
		if (ev == NULL) {
			if (qp->qpn == note->qpn && qp->path != NULL && s->busy != 0)
				return false;
			s->note_head++;
			continue;
		}
		if (note->kind == NOTE_NACK) {
			nack_build(s, now_ns, qp, note, &pkt);
			s->counters.tx_nack++;
		} else {
			sack_build(s, now_ns, qp, &note->trigger, false, &pkt);
			pkt.sack.probe = note->kind == NOTE_PROBE;
			pkt.sack.probe_id = note->probe_id;
			s->counters.tx_sack++;
		}
		s->note_head++;
		send_control(s, qp, &pkt, ev, buf);
		return true;
	}
	/* Empty: the next one takes the place that is in the cache. */
	s->note_head = s->note_tail = 0;
	return false;
}

/* A positive one stops before a refused request, even when that was received. */
static mrc_psn_t done_psn(const struct mrc_sched_qp *qp)
{
	if (qp->nak_syndrome != 0 && mrc_psn_le(qp->nak_psn, qp->rcv.cack))
		return mrc_psn_add(qp->nak_psn, -1);
	return qp->rcv.cack;
}

/* spec */
static void ack_build(const struct mrc_sched_qp *qp, bool nak, struct mrc_pkt *pkt_out)
{
	pkt_out->opcode = MRC_OP_ACK;
	pkt_out->flags = 0;
	pkt_out->cls = MRC_CLASS_CONTROL;
	pkt_out->pad = 0;
	pkt_out->dqpn = qp->dest_qpn;
	pkt_out->psn = nak ? qp->nak_psn : done_psn(qp);
	pkt_out->ack.syndrome = nak ? qp->nak_syndrome : MRC_AETH_ACK;
	pkt_out->ack.msn = qp->rx_msn;
}

/* One thing that is due; false when nothing could be sent for this QP. */
static bool send_due(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf)
{
	const struct mrc_ev *ev;
	struct mrc_pkt pkt;
	bool copy;

	if (qp->due & DUE_PROBE) {
		if (probe_send(s, now_ns, qp, buf)) {
			timer_packet_sent(s, now_ns, qp);
			return true;
		}
		qp->due &= (uint8_t)~DUE_PROBE;
	}
	if (qp->due == 0)
		return false;
	/* The last answer may have been lost on its plane. SACK and transport ACK take turns;
	 * without this each could meet the same plane again for every copy of the packet. */
	copy = (qp->due & DUE_SACK) != 0 && qp->trigger.rtx;
	if (copy)
		qp->path->cursor.plane = qp->rtx_turn;
	ev = answer_ev(s, now_ns, qp->path, qp->trigger.ev);
	if (ev == NULL)
		return false;
	/* Behind the plane that it came to be: planes that cannot be used take no turn. */
	if (copy)
		qp->rtx_turn = (uint8_t)((ev->plane + 1) % s->cfg.nb_planes);
	if (qp->due & DUE_SACK) {
		sack_build(s, now_ns, qp, &qp->trigger, false, &pkt);
		qp->due &= (uint8_t)~DUE_SACK;
		qp->trigger.m = MRC_M_NONE;
		s->counters.tx_sack++;
		if (__builtin_expect(qp->nb_more != 0, 0))
			sack_more(qp);
	} else if (qp->due == DUE_MORE) {
		sack_build(s, now_ns, qp, &qp->trigger, true, &pkt);
		s->counters.tx_sack++;
		sack_more(qp);
	} else {
		bool nak = (qp->due & DUE_ACK) == 0;

		ack_build(qp, nak, &pkt);
		qp->due &= (uint8_t) ~(nak ? DUE_NAK : DUE_ACK);
		s->counters.tx_ack++;
	}
	send_control(s, qp, &pkt, ev, buf);
	return true;
}

/* Everything is said: off the list; a dead QP gives its receive map back. */
static void due_done(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	list_remove(&qp->due_link);
	if (qp->state == MRC_QP_ERR)
		rcvmap_clear(&qp->rcv, &s->rcv_chunks);
}

/* Once over the QPs; of further SACKs each sends one. */
static uint32_t due_round(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	struct link *l = s->due.next;
	uint32_t nb = 0;

	while (nb < n && l != &s->due) {
		struct mrc_sched_qp *qp = LIST_OWNER(l, struct mrc_sched_qp, due_link);

		if (send_due(s, now_ns, qp, &bufs[nb])) {
			nb++;
			if ((qp->due & ~DUE_MORE) != 0)
				continue;
		}
		l = l->next;
		if (qp->due == 0)
			due_done(s, qp);
	}
	return nb;
}

static uint32_t send_dues(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0, last;

	do {
		last = nb;
		nb += due_round(s, now_ns, bufs + nb, n - nb);
	} while (nb != last && nb < n && !list_empty(&s->due));
	return nb;
}

static uint32_t send_control_all(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && ep_send(s, now_ns, &bufs[nb]))
		nb++;
	while (nb < n && send_note(s, now_ns, &bufs[nb]))
		nb++;
	return nb + send_dues(s, now_ns, bufs + nb, n - nb);
}

/* ---- data ---- */

/* Takes a QP that cannot send off the two lists, onto the one where it waits. */
static void wait_for(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, enum req_result why)
{
	list_remove(&qp->rtx_link);
	list_remove(&qp->ready_link);
	if (why != REQ_NO_PATH && why != REQ_STARVED)
		return;
	qp->flags |= QPF_PARKED;
	list_push(why == REQ_NO_PATH ? &s->parked : &s->starved, &qp->ready_link);
	if (why == REQ_NO_PATH)
		timer_park(s, now_ns, qp);
}

static enum req_result send_again(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf)
{
	enum req_result result = req_send_reask(s, now_ns, qp, buf);

	return result == REQ_NOTHING ? req_send_lost(s, now_ns, qp, buf) : result;
}

/* Retransmissions of the QPs on the list, in turn. */
static uint32_t send_lost_all(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && !list_empty(&s->rtx)) {
		struct mrc_sched_qp *qp = LIST_OWNER(s->rtx.next, struct mrc_sched_qp, rtx_link);
		enum req_result result = REQ_SENT;

		for (uint32_t i = 0; i < TX_QUANTUM && nb < n && result == REQ_SENT; i++) {
			result = send_again(s, now_ns, qp, &bufs[nb]);
			nb += result == REQ_SENT;
		}
		if (result == REQ_NO_PATH)
			wait_for(s, now_ns, qp, result);
		else if (result != REQ_FAILED)
			list_remove(&qp->rtx_link);
		if (result == REQ_SENT)
			list_push(&s->rtx, &qp->rtx_link);
	}
	return nb;
}

/* Asks the cache for what the first packet of the next QP's turn touches. */
static inline void fetch_next(const struct mrc_sched *s, struct link *l)
{
	const struct mrc_sched_qp *qp = LIST_OWNER(l, struct mrc_sched_qp, ready_link);

	if (l == &s->ready)
		return;
	__builtin_prefetch(qp);
	__builtin_prefetch(&qp->snt);
	__builtin_prefetch(&qp->sq);
	__builtin_prefetch(&qp->ready_link);
	__builtin_prefetch(&qp->timer);
	__builtin_prefetch(&qp->cc);
}

static uint32_t send_new_all(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = 0;

	while (nb < n && !list_empty(&s->ready)) {
		struct mrc_sched_qp *qp =
			LIST_OWNER(s->ready.next, struct mrc_sched_qp, ready_link);
		uint32_t left = n - nb < TX_QUANTUM ? n - nb : TX_QUANTUM;
		enum req_result result = REQ_SENT;

		fetch_next(s, qp->ready_link.next);
		while (left > 0 && result == REQ_SENT) {
			uint32_t sent = req_send_new(s, now_ns, qp, &bufs[nb], left, &result);

			nb += sent;
			left -= sent;
		}
		if (result == REQ_SENT) {
			list_remove(&qp->ready_link);
			list_push(&s->ready, &qp->ready_link);
		} else if (result == REQ_NO_PATH || result == REQ_STARVED) {
			wait_for(s, now_ns, qp, result);
		} else if (result == REQ_NOTHING || result == REQ_CLOSED) {
			list_remove(&qp->ready_link);
		}
	}
	return nb;
}

/* Chunks of the sent map came back: those who waited for one try again. */
static void feed_starved(struct mrc_sched *s)
{
	uint32_t nb = s->sent.chunks.nb_free;

	for (; nb > 0 && !list_empty(&s->starved); nb--)
		req_wake(s, LIST_OWNER(s->starved.next, struct mrc_sched_qp, ready_link));
}

uint32_t mrc_sched_tx(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb;

	s->now_ns = now_ns;
	if (!list_empty(&s->starved))
		feed_starved(s);
	nb = send_control_all(s, now_ns, bufs, n);
	nb += send_lost_all(s, now_ns, bufs + nb, n - nb);
	nb += send_new_all(s, now_ns, bufs + nb, n - nb);
	MRC_ASSERT(nb <= n);
	return nb;
}
