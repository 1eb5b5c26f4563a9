/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ep.c - endpoint operations: probes of entropy values and port status. No QP takes part. Requests
 * of known peers only are answered, by swapping addresses, and not faster than a rate.
 */
#include "engine.h"

#include <string.h>

/* ---- answering ---- */

/* Is `local` an address under which this peer knows us? */
static bool ours(struct peer *peer, const struct mrc_gid *local)
{
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next) {
		if (mrc_gid_eq(&LIST_OWNER(l, struct path, of_peer)->local, local))
			return true;
	}
	return false;
}

/* The peer says which of its ports are usable. A word that would leave none is not believed. */
/* spec */
static void port_status(struct mrc_sched *s, uint64_t now_ns, struct peer *peer, uint32_t mask)
{
	uint32_t up = 0, all = (uint32_t)((UINT64_C(1) << s->cfg.nb_planes) - 1);

	for (uint32_t p = 0; p < s->cfg.nb_planes; p++) {
		if ((mask & mrc_proto_port_bit(&s->proto, p + 1)) != 0)
			up |= UINT32_C(1) << p;
	}
	if ((up & peer->known) == 0 || up == (peer->up & all))
		return;
	peer->up = up;
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next)
		path_planes(s, now_ns, LIST_OWNER(l, struct path, of_peer));
	event_put(s, &(struct mrc_sched_event){
			     .type = MRC_EVENT_PORT_STATUS, .peer = peer->gid, .arg = up});
	qp_unpark(s, now_ns);
}

static void queue_answer(struct mrc_sched *s, const struct mrc_rxbuf *rx, const struct mrc_pkt *pkt)
{
	struct ep_answer *answer = &s->answers[s->answer_tail++ % NB_EP_ANSWERS];
	struct mrc_pkt *rsp = &answer->pkt;

	*rsp = *pkt;
	rsp->opcode = MRC_OP_EP_RSP;
	rsp->flags &= MRC_PKT_V6 | MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH;
	rsp->cls = MRC_CLASS_CONTROL;
	rsp->ecn = MRC_ECN_NOT_ECT;
	rsp->ttl = 64;
	rsp->src = pkt->dst;
	rsp->dst = pkt->src;
	rsp->outer_src = pkt->outer_dst;
	rsp->outer_dst = pkt->outer_src;
	memcpy(rsp->smac, pkt->dmac, sizeof(rsp->smac));
	memcpy(rsp->dmac, pkt->smac, sizeof(rsp->dmac));
	answer->plane = rx->plane;
}

/* spec */
enum mrc_drop ep_request(
	struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *rx, const struct mrc_pkt *pkt)
{
	struct peer *peer = peer_find(s, &pkt->src);

	if (peer == NULL)
		return MRC_DROP_EP_PEER;
	if (!ours(peer, &pkt->dst))
		return MRC_DROP_ADDR_DEST;
	if (s->cfg.icrc && !mrc_pkt_icrc_ok(pkt, rx->data))
		return MRC_DROP_ICRC;
	if (pkt->ep.op != MRC_EP_EV_PROBE && pkt->ep.op != MRC_EP_PORT_STATUS)
		return MRC_DROP_EP_OP;
	if (!rate_ok(&peer->ep_tat_ns, now_ns, EP_GAP_NS, EP_DEPTH) ||
		s->answer_tail - s->answer_head >= NB_EP_ANSWERS)
		return MRC_DROP_PROBE_LIMITED;
	s->counters.ep_req_rx++;
	if (pkt->ep.op == MRC_EP_PORT_STATUS)
		port_status(s, now_ns, peer, pkt->ep.port_mask);
	queue_answer(s, rx, pkt);
	return MRC_KEEP;
}

/* ---- asking ---- */

uint32_t ep_worker(const struct mrc_pkt *pkt)
{
	return pkt->psn.v >> 12 & QPN_WORKER_MASK;
}

static void call_end(struct mrc_sched *s, struct ep_call *call)
{
	wheel_remove(&s->wheel, &call->timer);
	list_remove(&call->wanted);
	call->path = NULL;
}

static struct ep_call *call_begin(
	struct mrc_sched *s, struct path *path, enum mrc_ep_op op, uint32_t ev)
{
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		struct ep_call *call = &s->calls[i];

		if (call->path != NULL)
			continue;
		call->path = path;
		call->op = (uint8_t)op;
		call->ev = (uint16_t)ev;
		call->id =
			(uint16_t)(s->cfg.worker << 12 | (s->call_serial++ & 63) * NB_EP_CALLS | i);
		call->timer.kind = TIMER_CALL;
		call->sent_ns = 0;
		list_push(&s->wanted_calls, &call->wanted);
		return call;
	}
	return NULL;
}

/* spec */
void ep_look(struct mrc_sched *s, uint64_t now_ns, struct path *path)
{
	uint64_t at = mrc_ev_deadline(path->evs);

	while (at <= now_ns) {
		uint32_t ev = mrc_ev_probe_next(path->evs, now_ns);

		if (ev == MRC_EV_NONE)
			break;
		if (call_begin(s, path, MRC_EP_EV_PROBE, ev) == NULL)
			mrc_ev_feedback(path->evs, now_ns, ev, MRC_EV_FB_PROBE_LOST);
		at = mrc_ev_deadline(path->evs);
	}
	at = mrc_ev_deadline(path->evs);
	if (at != WHEEL_NEVER && at <= now_ns)
		at = time_add(now_ns, EP_TIMEOUT_NS);
	if (!wheel_armed(&path->timer) ? at != WHEEL_NEVER : path->timer.at_ns != at)
		timer_set(s, &path->timer, at);
}

void ep_timeout(struct mrc_sched *s, uint64_t now_ns, struct ep_call *call)
{
	struct path *path = call->path;

	MRC_ASSERT(path != NULL);
	if (call->op == MRC_EP_EV_PROBE)
		mrc_ev_feedback(path->evs, now_ns, call->ev, MRC_EV_FB_PROBE_LOST);
	call_end(s, call);
	ep_look(s, now_ns, path);
}

void ep_forget(struct mrc_sched *s, const struct path *path)
{
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		if (s->calls[i].path == path)
			call_end(s, &s->calls[i]);
	}
}

void ep_announce(struct mrc_sched *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	for (uint32_t i = 0; i < s->nb_peers; i++) {
		struct peer *peer = &s->peers[i];

		if (!list_empty(&peer->paths))
			(void)call_begin(s, LIST_OWNER(peer->paths.next, struct path, of_peer),
				MRC_EP_PORT_STATUS, MRC_EV_NONE);
	}
}

/* Four round trips, forgotten slowly. */
static void wait_learn(struct mrc_sched *s, uint64_t rtt_ns)
{
	uint64_t want_ns = 4 * rtt_ns < EP_TIMEOUT_NS ? EP_TIMEOUT_NS : 4 * rtt_ns;

	if (want_ns > EP_TIMEOUT_MAX_NS)
		want_ns = EP_TIMEOUT_MAX_NS;
	if (want_ns < s->ep_wait_ns)
		want_ns = s->ep_wait_ns - (s->ep_wait_ns - want_ns) / 16;
	s->ep_wait_ns = want_ns;
}

/* An answer from a peer to a request that was given up: the wait was too short for its path. */
static void wait_was_short(struct mrc_sched *s, const struct mrc_pkt *pkt)
{
	if (peer_find(s, &pkt->src) == NULL)
		return;
	s->ep_wait_ns *= 2;
	if (s->ep_wait_ns > EP_TIMEOUT_MAX_NS)
		s->ep_wait_ns = EP_TIMEOUT_MAX_NS;
}

enum mrc_drop ep_response(struct mrc_sched *s, uint64_t now_ns, const struct mrc_pkt *pkt)
{
	struct ep_call *call = &s->calls[pkt->psn.v % NB_EP_CALLS];
	struct path *path = call->path;

	if (path == NULL || call->id != pkt->psn.v)
		wait_was_short(s, pkt);
	if (path == NULL || call->id != pkt->psn.v || list_linked(&call->wanted) ||
		!mrc_gid_eq(&pkt->src, &path->peer->gid) || !mrc_gid_eq(&pkt->dst, &path->local) ||
		pkt->ep.timestamp != ts_of(call->sent_ns))
		return MRC_DROP_EP_RESPONSE;
	s->counters.ep_rsp_rx++;
	wait_learn(s, now_ns - call->sent_ns);
	if (call->op == MRC_EP_EV_PROBE)
		mrc_ev_feedback(path->evs, now_ns, call->ev,
			pkt->flags & MRC_PKT_CE ? MRC_EV_FB_PROBE_MARKED : MRC_EV_FB_PROBE_GOOD);
	call_end(s, call);
	ep_look(s, now_ns, path);
	qp_unpark(s, now_ns);
	return MRC_KEEP;
}

/* ---- sending ---- */

static bool send_answer(struct mrc_sched *s, struct mrc_txbuf *buf)
{
	while (s->answer_head != s->answer_tail) {
		const struct ep_answer *answer = &s->answers[s->answer_head++ % NB_EP_ANSWERS];
		const struct mrc_pkt *pkt = &answer->pkt;
		struct mrc_sched_plane_counters *plane = &s->counters.planes[answer->plane];
		int len;

		if (((s->up & ~s->busy) >> answer->plane & 1) == 0)
			continue;
		len = mrc_pkt_encode(&s->proto, pkt, buf->hdr, MRC_HDR_ROOM);
		MRC_ASSERT(len > 0);
		*buf = (struct mrc_txbuf){.hdr = buf->hdr,
			.hdr_len = (uint16_t)len,
			.ip_off = pkt->ip_off,
			.plane = answer->plane,
			.cls = MRC_CLASS_CONTROL};
		s->counters.ep_rsp_tx++;
		s->counters.tx_packets++;
		plane->tx_packets++;
		plane->tx_bytes += (uint32_t)len + MRC_ICRC_LEN;
		return true;
	}
	return false;
}

/* Bits of our usable ports. */
static uint32_t own_ports(const struct mrc_sched *s)
{
	uint32_t mask = 0;

	for (uint32_t p = 0; p < s->cfg.nb_planes; p++) {
		if ((s->up >> p & 1) != 0)
			mask |= mrc_proto_port_bit(&s->proto, p + 1);
	}
	return mask;
}

/* The path of a call; NULL when it cannot leave. */
static const struct mrc_ev *call_ev(struct mrc_sched *s, uint64_t now_ns, struct ep_call *call)
{
	uint32_t planes = path_usable(s, call->path), index = call->ev;

	if (index == MRC_EV_NONE)
		index = mrc_ev_next(
			call->path->evs, &call->path->cursor, now_ns, planes, MRC_EV_NONE);
	if (index == MRC_EV_NONE || (planes >> mrc_ev_get(call->path->evs, index)->plane & 1) == 0)
		return NULL;
	return mrc_ev_get(call->path->evs, index);
}

static bool send_call(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf)
{
	while (!list_empty(&s->wanted_calls)) {
		struct ep_call *call = LIST_OWNER(s->wanted_calls.next, struct ep_call, wanted);
		const struct mrc_ev *ev = call_ev(s, now_ns, call);
		struct mrc_pkt pkt;

		list_remove(&call->wanted);
		call->sent_ns = now_ns;
		timer_set(s, &call->timer, time_add(now_ns, s->ep_wait_ns));
		if (ev == NULL)
			continue; /* times out like a lost one */
		mrc_pkt_init(&s->proto, MRC_OP_EP_REQ, &pkt);
		pkt.flags |= MRC_PKT_TS;
		pkt.cls = MRC_CLASS_NO_TRIM;
		pkt.ecn = MRC_ECN_NOT_ECT;
		pkt.psn = mrc_psn(call->id);
		pkt.ep.op = call->op;
		pkt.ep.timestamp = ts_of(now_ns);
		pkt.ep.port_mask = call->op == MRC_EP_PORT_STATUS ? own_ports(s) : 0;
		tx_header(s, call->path, ev, &pkt, MRC_BTH_LEN + MRC_ERTH_LEN + MRC_ICRC_LEN, buf);
		s->counters.ep_req_tx++;
		return true;
	}
	return false;
}

bool ep_send(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf)
{
	return send_answer(s, buf) || send_call(s, now_ns, buf);
}
