/* SPDX-License-Identifier: BSD-2-Clause */
/* sack.h - what the responder does for the SACK of every packet, inline (sack.c has the rest). */
#ifndef SACK_H
#define SACK_H

#include "engine.h"

/* Put into a trimmed class by a full queue. */
static inline bool sack_remarked(const struct mrc_pkt *pkt)
{
	return pkt->cls == MRC_CLASS_TRIMMED || pkt->cls == MRC_CLASS_TRIMMED_LASTHOP;
}

/* Of a write or a probe. */
static inline struct trigger sack_trigger(
	const struct mrc_sched *s, uint64_t now_ns, const struct mrc_pkt *pkt, bool probe)
{
	uint16_t stamp = probe ? pkt->probe.timestamp : pkt->write.timestamp;

	if ((pkt->flags & MRC_PKT_TS) == 0)
		stamp = (uint16_t)s->proto.choice.echo_without_ts;
	return (struct trigger){.rx_ns = now_ns,
		.psn = pkt->psn,
		.ev = pkt->ev,
		.timestamp = stamp,
		.m = (pkt->flags & MRC_PKT_CE) != 0 || (probe && sack_remarked(pkt))
			     ? MRC_M_SKIP_ONCE
			     : MRC_M_NONE,
		.rtx = (pkt->flags & MRC_PKT_RTX) != 0,
		.probe = probe};
}

/* A marked packet: true when it got a SACK of its own. */
bool sack_marked(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
/* A SACK for this write is due. */
/* spec */
static inline void sack_want(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt)
{
	qp->sack_bytes = 0;
	if (__builtin_expect((pkt->flags & MRC_PKT_CE) != 0, 0) && sack_marked(s, now_ns, qp, pkt))
		return;
	if ((qp->due & DUE_SACK) != 0)
		qp->nb_more++;
	/* An earlier mark that found no note is not lost to a later unmarked packet. */
	if ((qp->due & DUE_SACK) == 0 || qp->trigger.m == MRC_M_NONE)
		qp->trigger = sack_trigger(s, now_ns, pkt, false);
	sack_ack_want(s, qp, DUE_SACK);
}

#endif
