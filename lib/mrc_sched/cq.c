/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - completion queues and protection domains.
 */
#include "engine.h"

const char *mrc_wc_status_name(enum mrc_wc_status status)
{
	switch (status) {
	case MRC_WC_SUCCESS:
		return "success";
	case MRC_WC_LOC_LEN_ERR:
		return "local length error";
	case MRC_WC_LOC_PROT_ERR:
		return "local protection error";
	case MRC_WC_WR_FLUSH_ERR:
		return "work request flushed";
	case MRC_WC_REM_INV_REQ_ERR:
		return "remote invalid request error";
	case MRC_WC_REM_ACCESS_ERR:
		return "remote access error";
	case MRC_WC_REM_OP_ERR:
		return "remote operation error";
	case MRC_WC_RETRY_EXC_ERR:
		return "retry counter exceeded";
	case MRC_WC_FATAL_ERR:
		return "fatal error";
	}
	return "?";
}

int mrc_sched_cq_create(struct mrc_sched *s, uint32_t depth, struct mrc_sched_cq **cq_out)
{
	uint32_t index = s->cq_free, size;
	struct mrc_sched_cq *cq;

	if (depth == 0 || depth > 1u << 24)
		return MRC_ERR_INVAL;
	if (index == UINT32_MAX)
		return MRC_ERR_NOMEM;
	size = pow2_up(depth);
	cq = &s->cqs[index];
	cq->ring = arena_alloc(&s->arena, (size_t)size * sizeof(*cq->ring));
	if (cq->ring == NULL)
		return MRC_ERR_NOMEM;
	s->cq_free = cq->next_free;
	cq->mask = size - 1;
	cq->depth = depth;
	cq->head = 0;
	cq->tail = 0;
	cq->refs = 0;
	cq->used = true;
	cq->overrun = false;
	*cq_out = cq;
	return MRC_OK;
}

int mrc_sched_cq_destroy(struct mrc_sched *s, struct mrc_sched_cq *cq)
{
	MRC_ASSERT(cq >= s->cqs && cq < s->cqs + s->cfg.max_cqs);
	if (!cq->used)
		return MRC_ERR_NOENT;
	if (cq->refs != 0)
		return MRC_ERR_BUSY;
	event_purge(s, NULL, cq);
	arena_free(&s->arena, cq->ring);
	cq->ring = NULL;
	cq->used = false;
	cq->next_free = s->cq_free;
	s->cq_free = (uint32_t)(cq - s->cqs);
	return MRC_OK;
}

void cq_overrun(struct mrc_sched *s, struct mrc_sched_cq *cq, struct mrc_sched_qp *qp)
{
	MRC_ASSERT(cq->tail - cq->head == cq->depth);
	if (!cq->overrun)
		event_put(s, &(struct mrc_sched_event){
				     .type = MRC_EVENT_CQ_OVERRUN, .cq = cq, .qp = qp});
	cq->overrun = true;
}

void cq_push(struct mrc_sched *s, struct mrc_sched_cq *cq, const struct mrc_sched_wc *wc)
{
	struct mrc_sched_wc *place = cq_place(s, cq, wc->qp);

	if (place != NULL)
		*place = *wc;
}

uint32_t mrc_sched_cq_poll(
	struct mrc_sched *s, struct mrc_sched_cq *cq, struct mrc_sched_wc *wc_out, uint32_t n)
{
	MRC_ASSERT(cq->used);
	return cq_take(cq, wc_out, n);
}

void cq_purge(struct mrc_sched_cq *cq, const struct mrc_sched_qp *qp)
{
	uint32_t to = cq->head;

	for (uint32_t i = cq->head; i != cq->tail; i++) {
		if (cq->ring[i & cq->mask].qp != qp)
			cq->ring[to++ & cq->mask] = cq->ring[i & cq->mask];
	}
	cq->tail = to;
}

int mrc_sched_pd_create(struct mrc_sched *s, uint32_t *pd_out)
{
	for (uint32_t i = 0; i < s->cfg.max_pds; i++) {
		if (s->pds[i].used)
			continue;
		s->pds[i] = (struct pd){.used = true};
		*pd_out = i;
		return MRC_OK;
	}
	return MRC_ERR_NOMEM;
}

int mrc_sched_pd_destroy(struct mrc_sched *s, uint32_t pd)
{
	if (pd >= s->cfg.max_pds || !s->pds[pd].used)
		return MRC_ERR_NOENT;
	if (s->pds[pd].refs != 0)
		return MRC_ERR_BUSY;
	s->pds[pd].used = false;
	return MRC_OK;
}

bool pd_ref(struct mrc_sched *s, uint32_t pd)
{
	if (pd >= s->cfg.max_pds || !s->pds[pd].used)
		return false;
	s->pds[pd].refs++;
	return true;
}

void pd_unref(struct mrc_sched *s, uint32_t pd)
{
	MRC_ASSERT(pd < s->cfg.max_pds && s->pds[pd].refs > 0);
	s->pds[pd].refs--;
}
