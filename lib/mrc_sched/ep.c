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
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next) {
		path_planes(s, now_ns, LIST_OWNER(l, struct path, of_peer));
		probe_gone(s, now_ns, LIST_OWNER(l, struct path, of_peer));
	}
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
	/* Not the address it was sent to, which may be everybody's or somebody else's. */
	memcpy(rsp->smac, s->cfg.planes[rx->plane].mac, sizeof(rsp->smac));
	memcpy(rsp->dmac, pkt->smac, sizeof(rsp->dmac));
	answer->plane = rx->plane;
}

/* spec */
enum mrc_drop ep_request(
	struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *rx, const struct mrc_pkt *pkt)
{
	struct peer *peer = peer_find(s, &pkt->src);

	/* The outer source is where the answer would go: it must be the peer as well. */
	if (peer == NULL ||
		((pkt->flags & MRC_PKT_SRV6) != 0 && !mrc_gid_eq(&pkt->outer_src, &pkt->src)))
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
	peer_heard(peer, rx->plane);
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

/* Tells the host how an operation on demand ended; rtt_ns MRC_SCHED_NEVER: without answer. */
static void tell(struct mrc_sched *s, const struct ep_call *call, uint64_t rtt_ns, uint32_t plane,
	bool svc_time)
{
	struct mrc_sched_event event = {.type = MRC_EVENT_EP_RESULT,
		.peer = call->path->peer->gid,
		.arg = call->asked.id,
		.rtt_ns = rtt_ns,
		.plane = (uint8_t)plane,
		.svc_time = svc_time};

	if (!call->is_asked)
		return;
	if (call->op == CALL_QP_PROBE) {
		event.type = MRC_EVENT_PROBE_RESULT;
		event.qp = &s->qps[call->asked.qpn & QPN_INDEX_MASK];
		if (event.qp->qpn != call->asked.qpn || event.qp->path != call->path) {
			s->nb_asked--; /* another life: nobody waits any more */
			return;
		}
	}
	event_put(s, &event);
}

static void call_end(struct mrc_sched *s, struct ep_call *call)
{
	MRC_ASSERT(call->op != CALL_QP_PROBE || s->nb_qp_probes > 0);
	s->nb_qp_probes -= call->op == CALL_QP_PROBE;
	call->asked.probe.state = PROBE_FREE;
	wheel_remove(&s->wheel, &call->timer);
	list_remove(&call->wanted);
	if (call->path->peer->status == call)
		call->path->peer->status = NULL;
	call->path = NULL;
}

static uint16_t call_id(struct mrc_sched *s, const struct ep_call *call)
{
	return (uint16_t)(s->cfg.worker << 12 | (s->call_serial++ & 63) * NB_EP_CALLS |
			  (uint32_t)(call - s->calls));
}

/* The first `kept` places are not for this one. */
static struct ep_call *call_begin(
	struct mrc_sched *s, struct path *path, uint32_t op, uint32_t ev, uint32_t kept)
{
	for (uint32_t i = kept; i < NB_EP_CALLS; i++) {
		struct ep_call *call = &s->calls[i];

		if (call->path != NULL)
			continue;
		call->path = path;
		call->is_asked = false;
		call->outrun = false;
		call->asked.timeout_ns = 0;
		call->op = (uint8_t)op;
		call->ev = (uint16_t)ev;
		call->id = call_id(s, call);
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
		/* Without room the value waits for its next turn: no probe was lost. Many bad ones
		 * on a dead plane leave room for the word that the plane is dead. */
		(void)call_begin(s, path, MRC_EP_EV_PROBE, ev, NB_KEPT_CALLS);
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
	if (call->op == MRC_EP_EV_PROBE && !call->is_asked && !call->outrun)
		mrc_ev_feedback(path->evs, now_ns, call->ev, MRC_EV_FB_PROBE_LOST);
	tell(s, call, MRC_SCHED_NEVER, 0, false);
	call_end(s, call);
	ep_look(s, now_ns, path);
}

void ep_forget(struct mrc_sched *s, const struct path *path)
{
	struct peer *peer = path->peer;

	/* Told over another path, if there is one. */
	if (peer->status != NULL && peer->status->path == path) {
		list_remove(&peer->link);
		list_push(&s->untold, &peer->link);
	}
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		if (s->calls[i].path != path)
			continue;
		if (s->calls[i].op == CALL_QP_PROBE)
			s->nb_asked--;
		else
			tell(s, &s->calls[i], MRC_SCHED_NEVER, 0, false);
		call_end(s, &s->calls[i]);
	}
}

void ep_announce(struct mrc_sched *s)
{
	list_splice(&s->untold, &s->told);
}

/*
 * Begins what ep_announce asked for. A peer has one port status under way: an older one that waits
 * for its answer goes out again with the present ports, so that a plane that flaps takes one place
 * for each peer however fast it does.
 */
/* spec */
static void announce(struct mrc_sched *s)
{
	while (!list_empty(&s->untold)) {
		struct peer *peer = LIST_OWNER(s->untold.next, struct peer, link);
		struct ep_call *call = peer->status;

		if (call == NULL)
			call = call_begin(s, LIST_OWNER(peer->paths.next, struct path, of_peer),
				MRC_EP_PORT_STATUS, MRC_EV_NONE, 0);
		if (call == NULL)
			return; /* the others' turn comes when a place is free */
		if (!list_linked(&call->wanted)) {
			wheel_remove(&s->wheel, &call->timer);
			call->id = call_id(s, call);
			list_push(&s->wanted_calls, &call->wanted);
		}
		peer->status = call;
		list_remove(&peer->link);
		list_push(&s->told, &peer->link);
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

/* Round trip of an answer; false when its timestamp cannot be that of the request. The peer may
 * have moved it forward by its own delay (O-10), but not beyond now, nor by half of what a stamp
 * can tell; moved by more it only makes the round trip look longer. */
static bool call_rtt(const struct ep_call *call, uint64_t now_ns, uint16_t timestamp,
	uint64_t *rtt_ns_out, bool *svc_time_out)
{
	uint16_t shift = (uint16_t)(timestamp - ts_of(call->sent_ns));
	uint64_t age_ns = now_ns - call->sent_ns, shift_ns = (uint64_t)shift * MRC_TS_TICK_NS;

	if (shift_ns >= TS_AMBIGUOUS_NS || shift_ns > age_ns)
		return false;
	*rtt_ns_out = age_ns - shift_ns;
	*svc_time_out = shift != 0;
	return true;
}

/*
 * Probes of a dead value are still under way when the first one gets through again. Each would end
 * the row of answers that it takes to revive the value, though it was sent before the row began.
 */
static void outrun_older(struct mrc_sched *s, const struct ep_call *answered)
{
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		struct ep_call *call = &s->calls[i];

		if (call->path == answered->path && call->op == MRC_EP_EV_PROBE &&
			call->ev == answered->ev && call->sent_ns < answered->sent_ns &&
			!list_linked(&call->wanted))
			call->outrun = true;
	}
}

/* spec */
enum mrc_drop ep_response(
	struct mrc_sched *s, uint64_t now_ns, uint32_t plane, const struct mrc_pkt *pkt)
{
	struct ep_call *call = &s->calls[pkt->psn.v % NB_EP_CALLS];
	struct path *path = call->path;
	uint64_t rtt_ns;
	bool svc_time;

	/* An answer to a port status that went out again since is not late. */
	if (path == NULL || (call->id != pkt->psn.v && path->peer->status != call))
		wait_was_short(s, pkt);
	if (path == NULL || call->op == CALL_QP_PROBE || call->id != pkt->psn.v ||
		list_linked(&call->wanted) || !mrc_gid_eq(&pkt->src, &path->peer->gid) ||
		!mrc_gid_eq(&pkt->dst, &path->local) ||
		!call_rtt(call, now_ns, pkt->ep.timestamp, &rtt_ns, &svc_time))
		return MRC_DROP_EP_RESPONSE;
	s->counters.ep_rsp_rx++;
	wait_learn(s, rtt_ns);
	if (call->op == MRC_EP_EV_PROBE && !call->is_asked) {
		outrun_older(s, call);
		mrc_ev_feedback(path->evs, now_ns, call->ev,
			pkt->flags & MRC_PKT_CE ? MRC_EV_FB_PROBE_MARKED : MRC_EV_FB_PROBE_GOOD);
	}
	tell(s, call, rtt_ns, plane, svc_time);
	call_end(s, call);
	ep_look(s, now_ns, path);
	qp_unpark(s, now_ns);
	return MRC_KEEP;
}

/* ---- asking on demand ---- */

static struct path *path_between(
	struct mrc_sched *s, const struct mrc_gid *local, const struct mrc_gid *gid)
{
	struct peer *peer = peer_find(s, gid);

	if (peer == NULL)
		return NULL;
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next) {
		struct path *path = LIST_OWNER(l, struct path, of_peer);

		if (mrc_gid_eq(&path->local, local))
			return path;
	}
	return NULL;
}

/* A call for the host; NULL when it has to wait. */
static struct ep_call *ask(struct mrc_sched *s, uint64_t now_ns, struct path *path, uint32_t op,
	uint16_t id, uint64_t timeout_ns)
{
	struct ep_call *call;

	if (s->nb_asked >= MRC_SCHED_MAX_ASKED ||
		!rate_ok(&s->asked_tat_ns, now_ns, EP_GAP_NS, MRC_SCHED_MAX_ASKED))
		return NULL;
	call = call_begin(s, path, op, MRC_EV_NONE, 0);
	if (call == NULL)
		return NULL;
	call->is_asked = true;
	call->asked = (struct ep_asked){.id = id, .timeout_ns = timeout_ns};
	s->nb_asked++;
	return call;
}

int mrc_sched_ep_send(struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_ep_req *req)
{
	struct path *path = path_between(s, &req->local, &req->peer);
	struct ep_call *call;

	if (path == NULL)
		return MRC_ERR_NOENT;
	if ((req->op != MRC_EP_EV_PROBE && req->op != MRC_EP_PORT_STATUS) ||
		(uint32_t)req->cls >= MRC_CLASS_OTHER ||
		(!req->any_ev && req->ev.plane >= s->cfg.nb_planes))
		return MRC_ERR_INVAL;
	s->now_ns = now_ns;
	call = ask(s, now_ns, path, req->op, req->id, req->timeout_ns);
	if (call == NULL)
		return MRC_ERR_FULL;
	call->asked.ev = req->ev;
	call->asked.any_ev = req->any_ev;
	call->asked.port_mask = req->port_mask;
	call->asked.cls = (uint8_t)req->cls;
	return MRC_OK;
}

int mrc_sched_qp_probe(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint16_t id,
	uint64_t timeout_ns)
{
	struct ep_call *call;

	if (qp->qpn == 0 || qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	s->now_ns = now_ns;
	call = ask(s, now_ns, qp->path, CALL_QP_PROBE, id, timeout_ns);
	if (call == NULL)
		return MRC_ERR_FULL;
	call->asked.qpn = qp->qpn;
	call->asked.probe = (struct probe){.id = qp->next_probe++, .state = PROBE_WANTED};
	s->nb_qp_probes++;
	return MRC_OK;
}

struct probe *ep_probe_find(struct mrc_sched *s, const struct mrc_sched_qp *qp, uint16_t id)
{
	for (uint32_t i = 0; s->nb_qp_probes != 0 && i < NB_EP_CALLS; i++) {
		struct ep_call *call = &s->calls[i];

		if (call->path != NULL && call->op == CALL_QP_PROBE && call->asked.qpn == qp->qpn &&
			call->asked.probe.state == PROBE_SENT && call->asked.probe.id == id)
			return &call->asked.probe;
	}
	return NULL;
}

void ep_probe_answered(struct mrc_sched *s, uint64_t now_ns, const struct probe *probe)
{
	for (uint32_t i = 0; s->nb_qp_probes != 0 && i < NB_EP_CALLS; i++) {
		struct ep_call *call = &s->calls[i];

		if (&call->asked.probe != probe)
			continue;
		tell(s, call, now_ns - call->sent_ns, mrc_ev_get(call->path->evs, probe->ev)->plane,
			false);
		call_end(s, call);
		return;
	}
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
	const struct mrc_ev *ev;

	if (call->is_asked && call->op != CALL_QP_PROBE && !call->asked.any_ev) {
		ev = &call->asked.ev;
	} else {
		if (index == MRC_EV_NONE)
			index = mrc_ev_next(
				call->path->evs, &call->path->cursor, now_ns, planes, MRC_EV_NONE);
		if (index == MRC_EV_NONE)
			return NULL;
		if (mrc_ev_state(call->path->evs, index) == MRC_EV_DENIED)
			return NULL;
		ev = mrc_ev_get(call->path->evs, index);
		call->asked.probe.ev = (uint16_t)index;
	}
	return (planes >> ev->plane & 1) != 0 ? ev : NULL;
}

static bool put_probe(
	struct mrc_sched *s, uint64_t now_ns, struct ep_call *call, struct mrc_txbuf *buf)
{
	struct mrc_sched_qp *qp = &s->qps[call->asked.qpn & QPN_INDEX_MASK];

	if (qp->qpn != call->asked.qpn || qp->state != MRC_QP_RTS || qp->path != call->path)
		return false;
	probe_put(s, now_ns, qp, &call->asked.probe, buf);
	return true;
}

static void put_call(struct mrc_sched *s, uint64_t now_ns, const struct ep_call *call,
	const struct mrc_ev *ev, struct mrc_txbuf *buf)
{
	uint32_t ports = call->is_asked ? call->asked.port_mask : own_ports(s);
	struct mrc_pkt pkt;

	mrc_pkt_init(&s->proto, MRC_OP_EP_REQ, &pkt);
	pkt.flags |= MRC_PKT_TS;
	pkt.cls = call->is_asked ? call->asked.cls : MRC_CLASS_NO_TRIM;
	pkt.ecn = MRC_ECN_NOT_ECT;
	pkt.psn = mrc_psn(call->id);
	pkt.ep.op = call->op;
	pkt.ep.timestamp = ts_of(now_ns);
	pkt.ep.port_mask = call->op == MRC_EP_PORT_STATUS ? ports : 0;
	tx_control(s, call->path, ev, &pkt, MRC_BTH_LEN + MRC_ERTH_LEN + MRC_ICRC_LEN, buf);
	s->counters.ep_req_tx++;
}

static bool send_call(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf)
{
	announce(s);
	while (!list_empty(&s->wanted_calls)) {
		struct ep_call *call = LIST_OWNER(s->wanted_calls.next, struct ep_call, wanted);
		const struct mrc_ev *ev = call_ev(s, now_ns, call);

		list_remove(&call->wanted);
		call->sent_ns = now_ns;
		timer_set(s, &call->timer,
			time_add(now_ns, call->asked.timeout_ns != 0 ? call->asked.timeout_ns
								     : s->ep_wait_ns));
		if (ev == NULL)
			continue; /* times out like a lost one */
		if (call->op != CALL_QP_PROBE) {
			put_call(s, now_ns, call, ev, buf);
			return true;
		}
		if (put_probe(s, now_ns, call, buf))
			return true;
	}
	return false;
}

bool ep_send(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf)
{
	return send_answer(s, buf) || send_call(s, now_ns, buf);
}
