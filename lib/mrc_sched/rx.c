/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.c - packets in. Passes per batch: decode all and ask the cache for their QPs, sum those that
 * are short, then handle one by one: owner, QP, state, addresses, ICRC, and only then the packet's
 * meaning.
 */
#include "engine.h"
#include "ident.h"

/* What the passes before learned of a packet. */
struct seen {
	struct mrc_sched_qp *qp;
	uint8_t drop;   /* enum mrc_drop */
	uint8_t worker; /* owner */
	uint8_t icrc;   /* enum icrc_seen */
};

static uint32_t owner_of(const struct mrc_sched *s, const struct mrc_pkt *pkt)
{
	if (pkt->opcode == MRC_OP_EP_REQ)
		return s->cfg.worker;
	if (pkt->opcode == MRC_OP_EP_RSP)
		return ep_worker(pkt);
	return mrc_sched_qpn_worker(pkt->dqpn);
}

/* Lines besides the first that a write in order touches, and that an answer touches. */
static inline void fetch_responder(const struct mrc_sched_qp *qp)
{
	__builtin_prefetch(&qp->rcv);
	__builtin_prefetch(&qp->due_link);
}

static inline void fetch_requester(const struct mrc_sched_qp *qp)
{
	__builtin_prefetch(&qp->snt);
	__builtin_prefetch(&qp->sq);
	__builtin_prefetch(&qp->timeout_ns);
	__builtin_prefetch(&qp->timer);
	__builtin_prefetch(&qp->cc);
	__builtin_prefetch(&qp->cc.achieved);
	__builtin_prefetch(&qp->srtt_ns);
}

/* First pass: everything that needs no QP; starts loading the QP. True: one for the second pass. */
static inline bool look(
	struct mrc_sched *s, const struct mrc_rxbuf *buf, struct mrc_pkt *pkt, struct seen *seen)
{
	uint32_t index;

	MRC_ASSERT(buf->plane < s->cfg.nb_planes);
	seen->qp = NULL;
	seen->icrc = ICRC_UNSEEN;
	seen->worker = (uint8_t)s->cfg.worker;
	seen->drop = (uint8_t)mrc_pkt_decode(&s->proto, buf->data, buf->len, pkt);
	if (seen->drop != MRC_KEEP)
		return false;
	seen->worker = (uint8_t)owner_of(s, pkt);
	if (seen->worker != s->cfg.worker)
		return false;
	seen->drop = (uint8_t)ident_vlan(&s->cfg.planes[buf->plane], pkt);
	index = pkt->dqpn & QPN_INDEX_MASK;
	if (pkt->dqpn == MRC_QPN_ENDPOINT || index >= s->cfg.max_qps)
		return false;
	seen->qp = &s->qps[index];
	__builtin_prefetch(seen->qp);
	if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE)
		fetch_responder(seen->qp);
	else
		fetch_requester(seen->qp);
	return ident_early(pkt);
}

/*
 * Second pass: ICRCs of short packets for a QP of ours. Each is a chain of dependent steps; side by
 * side they take half the time that they take between the handling of packets. Long payload is
 * summed just before it is copied, out of the nearest cache. Says nothing yet: what comes first in
 * the order of checks decides.
 */
static void sum_short(
	const struct mrc_sched *s, const struct mrc_rxbuf *bufs, uint32_t n, struct seen *seen)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct mrc_pkt *pkt = &s->scratch[i];

		if (seen[i].drop != MRC_KEEP || seen[i].qp == NULL ||
			seen[i].qp->qpn != pkt->dqpn || !ident_early(pkt))
			continue;
		seen[i].icrc = (uint8_t)ident_sum(pkt, bufs[i].data);
	}
}

/* May a QP that is not in RTS hear the packet? */
static bool may_hear(const struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	bool answer = (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_REQUESTER) != 0;

	return qp->state != MRC_QP_RESET && qp->state != MRC_QP_INIT && !answer && qp->path != NULL;
}

/* The QP that a packet may speak to. */
static inline enum mrc_drop identify(struct mrc_sched *s, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, const uint8_t *frame, const struct seen *seen)
{
	enum mrc_drop drop;

	if (qp == NULL || qp->qpn == 0)
		return MRC_DROP_QPN_UNKNOWN;
#ifndef MRC_MUTANT_GENERATION
	if (qp->qpn != pkt->dqpn)
		return MRC_DROP_QPN_GENERATION;
#endif
	if (__builtin_expect(qp->state != MRC_QP_RTS, 0) && !may_hear(qp, pkt))
		return MRC_DROP_QP_STATE;
	drop = ident_ends(pkt, &qp->local, &qp->peer);
	if (drop != MRC_KEEP)
		return drop;
#ifndef MRC_MUTANT_ICRC
	if (s->cfg.icrc && (pkt->flags & MRC_PKT_TRIMMED) == 0 &&
		!ident_icrc_ok(pkt, frame, (enum icrc_seen)seen->icrc))
		return MRC_DROP_ICRC;
#endif
	return MRC_KEEP;
}

static enum mrc_drop handle_qp(struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *buf,
	const struct mrc_pkt *pkt, const struct seen *seen)
{
	struct mrc_sched_qp *qp = seen->qp;
	enum mrc_drop drop = identify(s, qp, pkt, buf->data, seen);

	if (__builtin_expect(drop != MRC_KEEP, 0))
		return drop;
	/* A trimmed packet has no ICRC: it tells nothing. */
	if (__builtin_expect((pkt->flags & MRC_PKT_TRIMMED) == 0, 1))
		peer_heard(qp->path->peer, buf->plane);
	switch ((enum mrc_opcode)pkt->opcode) {
	case MRC_OP_WRITE_FIRST:
	case MRC_OP_WRITE_MIDDLE:
	case MRC_OP_WRITE_LAST:
	case MRC_OP_WRITE_LAST_IMM:
	case MRC_OP_WRITE_ONLY:
	case MRC_OP_WRITE_ONLY_IMM:
		if (__builtin_expect(qp->state == MRC_QP_ERR, 0)) {
			resp_in_error(s, now_ns, qp, pkt);
			return MRC_DROP_QP_STATE;
		}
		if (__builtin_expect((pkt->flags & MRC_PKT_TRIMMED) != 0, 0))
			return resp_trimmed(s, now_ns, qp, pkt);
		return resp_write(s, now_ns, qp, pkt, buf->data);
	case MRC_OP_ACK:
		return answer_ack(s, now_ns, qp, pkt);
	case MRC_OP_SACK:
		return answer_sack(s, now_ns, qp, pkt);
	case MRC_OP_NACK:
		return answer_nack(s, now_ns, qp, pkt);
	case MRC_OP_PROBE:
		return qp->state == MRC_QP_ERR ? MRC_DROP_QP_STATE : resp_probe(s, now_ns, qp, pkt);
	case MRC_OP_EP_REQ:
	case MRC_OP_EP_RSP:
		break;
	}
	return MRC_DROP_BTH_OPCODE;
}

static enum mrc_drop handle(struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *buf,
	const struct mrc_pkt *pkt, const struct seen *seen)
{
	if (seen->drop != MRC_KEEP)
		return (enum mrc_drop)seen->drop;
	if (pkt->opcode == MRC_OP_EP_REQ)
		return ep_request(s, now_ns, buf, pkt);
	if (pkt->opcode == MRC_OP_EP_RSP) {
		if (s->cfg.icrc && !mrc_pkt_icrc_ok(pkt, buf->data))
			return MRC_DROP_ICRC;
		return ep_response(s, now_ns, buf->plane, pkt);
	}
	return handle_qp(s, now_ns, buf, pkt, seen);
}

/* A packet whose QP number names another worker. */
static bool foreign(struct mrc_sched *s, const struct seen *seen, struct mrc_rx_verdict *verdict)
{
	if (seen->drop != MRC_KEEP || seen->worker == s->cfg.worker ||
		seen->worker >= s->cfg.nb_workers)
		return false;
	s->counters.foreign_worker++;
	*verdict = (struct mrc_rx_verdict){.kind = MRC_RX_FOREIGN_WORKER, .arg = seen->worker};
	return true;
}

static void batch(struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *bufs, uint32_t n,
	struct mrc_rx_verdict *verdict_out)
{
	struct seen seen[RX_BATCH];
	uint32_t nb_short = 0;

	MRC_ASSERT(n <= RX_BATCH);
	for (uint32_t i = 0; i < n; i++)
		nb_short += look(s, &bufs[i], &s->scratch[i], &seen[i]);
	if (s->cfg.icrc && nb_short != 0)
		sum_short(s, bufs, n, seen);
	for (uint32_t i = 0; i < n; i++) {
		struct mrc_sched_plane_counters *plane = &s->counters.planes[bufs[i].plane];
		enum mrc_drop drop;

		if (__builtin_expect(foreign(s, &seen[i], &verdict_out[i]), 0))
			continue;
		s->counters.rx_packets++;
		plane->rx_packets++;
		plane->rx_bytes += bufs[i].len;
		drop = handle(s, now_ns, &bufs[i], &s->scratch[i], &seen[i]);
		verdict_out[i].kind = drop == MRC_KEEP ? MRC_RX_CONSUMED : MRC_RX_DROP;
		verdict_out[i].arg = (uint8_t)drop;
		if (__builtin_expect(drop != MRC_KEEP, 0))
			s->counters.drops[drop]++;
	}
}

void mrc_sched_rx(struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *bufs, uint32_t n,
	struct mrc_rx_verdict *verdict_out)
{
	s->now_ns = now_ns;
	while (n > 0) {
		uint32_t nb = n < RX_BATCH ? n : RX_BATCH;

		batch(s, now_ns, bufs, nb, verdict_out);
		bufs += nb;
		verdict_out += nb;
		n -= nb;
	}
}
