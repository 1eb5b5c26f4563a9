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

/* Counts a write towards the SACK that section 7.5.2 wants after so many bytes: true when that is
 * due. */
static inline bool sack_count(const struct mrc_choice *choice, uint32_t *bytes, uint32_t len)
{
	*bytes += len > choice->sack_gen_min_add ? len : choice->sack_gen_min_add;
	return *bytes >= choice->sack_gen_threshold;
}

/* rcvd_bytes of an answer. */
static inline uint32_t sack_units(uint64_t rcvd_len)
{
	return (uint32_t)((rcvd_len + MRC_RCVD_UNIT - 1) / MRC_RCVD_UNIT) & SENT_UNITS_MASK;
}

static inline void sack_pdcids(const struct mrc_choice *choice, uint32_t requester,
	uint32_t responder, uint16_t *spdcid_out, uint16_t *dpdcid_out)
{
	*spdcid_out = (uint16_t)(choice->pdcid_by_role ? requester : responder);
	*dpdcid_out = (uint16_t)(choice->pdcid_by_role ? responder : requester);
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
