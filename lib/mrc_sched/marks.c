/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marks.c - the responder's opinion of paths: how often an entropy value was marked lately. Asked
 * for by always_skip_marks (O-22); off by default, since the requester judges paths as well.
 *
 * A table of fixed size, one place for each hash of peer and entropy value. Two that meet on one
 * place take it from each other, which can only make an opinion milder.
 */
#include "engine.h"

static struct mark_count *place(struct mrc_sched *s, const struct mrc_sched_qp *qp, uint32_t ev)
{
	uint64_t hash = ((uint64_t)(uintptr_t)qp->path->peer ^ (uint64_t)ev << 32) *
			UINT64_C(0x9E3779B97F4A7C15);

	return &s->marks[hash >> 32 & (NB_MARKS - 1)];
}

/* spec */
uint8_t marks_opinion(
	struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp, uint32_t ev)
{
	uint32_t limit = s->proto.choice.always_skip_marks;
	uint64_t span_ns = qp->srtt_ns > MARKS_NS ? qp->srtt_ns : MARKS_NS;
	struct mark_count *at;

	if (limit == 0)
		return MRC_M_SKIP_ONCE;
	at = place(s, qp, ev);
	if (at->peer != qp->path->peer || at->ev != ev || now_ns - at->since_ns > span_ns)
		*at = (struct mark_count){.peer = qp->path->peer, .since_ns = now_ns, .ev = ev};
	if (++at->nb < limit)
		return MRC_M_SKIP_ONCE;
	at->peer = NULL;
	return MRC_M_ALWAYS_SKIP;
}

void marks_forget(struct mrc_sched *s, const struct peer *peer)
{
	for (uint32_t i = 0; i < NB_MARKS; i++) {
		if (s->marks[i].peer == peer)
			s->marks[i].peer = NULL;
	}
}
