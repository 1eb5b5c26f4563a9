/* SPDX-License-Identifier: BSD-2-Clause */
/* loss.h - what answer.c and loss.c share: a SACK as the requester reads it. */
#ifndef LOSS_H
#define LOSS_H

#include "engine.h"

/* What a SACK says, in PSNs. */
struct sack_view {
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

/* Those before an acknowledged packet on its path, up to the first one already dealt with. */
static inline void loss_suspect_chain(struct mrc_sched *s, struct mrc_sched_qp *qp, uint32_t prev)
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
void loss_suspect_before(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct probe *probe);
/* Judges what the bitmap of a fresh SACK covers. */
void loss_judge(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct sack_view *view);

#endif
