/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trust.c - how far path order is believed. An entropy value may pin no path, or a path may
 * shuffle: then a packet that was overtaken is not lost, and its first transmission arrives after
 * all. Each verdict by path order that proves false widens the time that an overtaken packet is
 * given before it counts as lost, at most once per round trip; each that proves right narrows it a
 * little. On paths that keep order the time stays 0, and nothing waits.
 */
#include "engine.h"

enum {
	FIRST_SHARE = 8,   /* of a round trip: the first widening */
	RIGHT_SHARE = 32,  /* narrowed by this share for each verdict that was right */
	FORGOTTEN_NS = 64, /* less is none */
};

void trust_less(const struct mrc_sched *s, struct mrc_sched_qp *qp, uint16_t ev)
{
	struct path *path = qp->path;
	uint64_t most_ns = probe_slowest_ns(qp, ev, 4), first_ns = qp->srtt_ns / FIRST_SHARE;

	if (s->now_ns < path->widen_ns)
		return;
	path->widen_ns = time_add(s->now_ns, qp->srtt_ns);
	path->shuffle_ns = 2 * path->shuffle_ns > first_ns ? 2 * path->shuffle_ns : first_ns;
	/* As old as that it is lost anyway, by its age. */
	if (path->shuffle_ns > most_ns)
		path->shuffle_ns = most_ns;
}

void trust_more(struct mrc_sched_qp *qp)
{
	struct path *path = qp->path;

	path->shuffle_ns -= path->shuffle_ns / RIGHT_SHARE;
	if (path->shuffle_ns < FORGOTTEN_NS)
		path->shuffle_ns = 0;
}
