/* SPDX-License-Identifier: BSD-2-Clause */
/* fetch.c - asks the cache for an engine's memory ahead of its use. */
#include "engine.h"

#include <stddef.h>

enum {
	MANY_QPS = 4,    /* of an engine with more nobody knows which one is next */
	SENT_AHEAD = 16, /* entries of the sent map at its two ends */
};

/* Always inline: the compiler takes a function that only fetches for one without effect. */
#define FETCH static inline __attribute__((always_inline))

FETCH void fetch(const void *mem, size_t len)
{
	for (size_t at = 0; at < len; at += 64)
		__builtin_prefetch((const char *)mem + at);
}

FETCH void fetch_engine(const struct mrc_sched *s)
{
	fetch(&s->cfg, offsetof(struct mrc_sched, arena));
	fetch(&s->rcv_chunks, offsetof(struct mrc_sched, wheel.first_ns) -
				      offsetof(struct mrc_sched, rcv_chunks));
	fetch(&s->due, offsetof(struct mrc_sched, event_tail) - offsetof(struct mrc_sched, due));
	fetch(&s->counters.tx_packets,
		offsetof(struct mrc_sched_counters, planes[s->cfg.nb_planes]) -
			offsetof(struct mrc_sched_counters, tx_packets));
}

FETCH void fetch_sent(const struct mrc_sched *s, const struct mrc_sched_qp *qp, mrc_psn_t psn)
{
	const struct sent_chunk *chunk = sentmap_chunk(&qp->snt, &s->sent, psn);

	if (chunk == NULL)
		return;
	fetch(chunk, sizeof(chunk->open) + sizeof(chunk->lost));
	fetch(&chunk->sent[map_bit(psn)], SENT_AHEAD * sizeof(chunk->sent[0]));
}

FETCH void fetch_maps(const struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	const struct rcv_chunk *chunk = rcvmap_find(&qp->rcv, &s->rcv_chunks, qp->rcv.max_rcv);

	if (chunk != NULL)
		__builtin_prefetch(chunk);
	if (qp->snt.nb_open == 0)
		return;
	fetch_sent(s, qp, qp->snt.una);
	fetch_sent(s, qp, qp->snt.next);
	if (qp->snt.evs != POOL_NONE)
		fetch(pool_at(&s->sent.evs, qp->snt.evs), MAP_CHUNK_PSNS * sizeof(uint32_t));
}

FETCH void fetch_qp(const struct mrc_sched *s, const struct mrc_sched_qp *qp, uint32_t step)
{
	const struct path *path = qp->path;

	if (qp->qpn == 0 || path == NULL)
		return;
	if (step == 2) {
		fetch(path, sizeof(*path));
		__builtin_prefetch(qp->snt.slots);
		__builtin_prefetch(qp->rcv.slots);
		__builtin_prefetch(sendq_at(&qp->sq, qp->sq.cur));
		return;
	}
	if (step == 3) {
		fetch(path->peer, sizeof(*path->peer));
		fetch(path->tmpl, s->cfg.nb_planes * sizeof(*path->tmpl));
		fetch_maps(s, qp);
	}
	mrc_ev_fetch(path->evs, step - 3);
}

void mrc_sched_fetch(const struct mrc_sched *s, uint32_t step)
{
	uint32_t nb = s->cfg.max_qps;

	if (step == 0) {
		fetch_engine(s);
		return;
	}
	if (nb > MANY_QPS)
		return;
	if (step == 1) {
		fetch(s->qps, nb * sizeof(*s->qps));
		fetch(s->cqs, nb * sizeof(*s->cqs));
		fetch(s->mrs.at, nb * sizeof(*s->mrs.at));
		return;
	}
	for (uint32_t i = 0; i < nb; i++)
		fetch_qp(s, &s->qps[i], step);
}
