/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.h - the ring of a completion queue. cq.c makes queues and reports what overruns them. */
#ifndef CQ_H
#define CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mrc_sched.h"

struct mrc_sched_cq {
	struct mrc_sched_wc *ring;
	uint32_t mask;
	uint32_t head, tail; /* free running */
	uint32_t depth;      /* as asked for */
	uint32_t refs;       /* QPs that use it */
	bool used, overrun;
	uint32_t next_free;
};

/* Place of the next completion, which is to be written at once; NULL when the queue is full. */
static inline struct mrc_sched_wc *cq_next(struct mrc_sched_cq *cq)
{
	if (__builtin_expect(cq->tail - cq->head >= cq->depth, 0))
		return NULL;
	return &cq->ring[cq->tail++ & cq->mask];
}

/* Moves up to n completions out, the oldest first; returns how many. */
static inline uint32_t cq_take(struct mrc_sched_cq *cq, struct mrc_sched_wc *wc_out, uint32_t n)
{
	uint32_t nb = cq->tail - cq->head;

	if (nb > n)
		nb = n;
	for (uint32_t i = 0; i < nb; i++)
		wc_out[i] = cq->ring[(cq->head + i) & cq->mask];
	cq->head += nb;
	return nb;
}

#endif
