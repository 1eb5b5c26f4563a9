/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "fake_sched.h"
#include "mrc_load.h"

void fake_open(struct mrc_sched *sched, struct mrc_sched *peer, struct test_env *te)
{
	memset(sched, 0, sizeof(*sched));
	sched->te = te;
	sched->peer = peer;
}

bool fake_empty(const struct mrc_sched *sched)
{
	for (int i = 0; i < FAKE_QPS; i++) {
		if (sched->qps[i].used)
			return false;
	}
	return sched->pds == 0 && sched->nb_mrs == 0 && !sched->cqs[0].used && !sched->cqs[1].used;
}

static bool fails(struct mrc_sched *sched)
{
	return sched->fail_verb > 0 && --sched->fail_verb == 0;
}

static void complete(struct mrc_sched_cq *cq, const struct mrc_sched_wc *wc)
{
	if (cq->nb == FAKE_WCS)
		__builtin_trap();
	cq->wcs[(cq->at + cq->nb++) % FAKE_WCS] = *wc;
}

static uint8_t *resolve(struct mrc_sched *sched, uint32_t key, uint64_t addr, uint32_t len)
{
	for (int i = 0; i < 2; i++) {
		struct mrc_sched_mr *mr = &sched->mrs[i];

		if (mr->addr != NULL && mr->key == key && addr >= mr->iova && len <= mr->len &&
			addr - mr->iova <= mr->len - len)
			return mr->addr + (addr - mr->iova);
	}
	return NULL;
}

static void deliver(struct mrc_sched_qp *to, const struct fake_wr *sent)
{
	struct mrc_sched *sched = to->sched;
	struct mrc_sched_wc wc = {.qp = to, .byte_len = sent->sge.len, .opcode = MRC_WC_RECV_IMM};
	uint64_t va = sent->wr.raddr;
	uint8_t *mem = resolve(sched, sent->wr.rkey, va, sent->sge.len);

	if (mem == NULL)
		__builtin_trap();
	if (sched->disturb != NULL)
		sched->disturb(sched, to, &va, mem, sent->sge.len);
	mrc_load_placed(NULL, to, va, sent->sge.len);
	sched->delivered++;
	if (!sent->imm)
		return;
	if (to->receives == 0)
		sched->rq_empty++;
	else
		to->receives--;
	for (int i = 0; i < 4; i++)
		wc.imm[i] = sent->wr.imm[i] ^ (uint8_t)(sched->imm_xor >> (24 - 8 * i));
	complete(to->cfg.recv_cq, &wc);
}

bool fake_step(struct mrc_sched *sched)
{
	uint32_t first = test_random_below(sched->te, FAKE_QPS);

	for (uint32_t i = 0; i < FAKE_QPS; i++) {
		struct mrc_sched_qp *qp = &sched->qps[(first + i) % FAKE_QPS];
		struct fake_wr *sent = &qp->sq[qp->sq_at];

		if (!qp->used || qp->sq_nb == 0)
			continue;
		deliver(&sched->peer->qps[qp->attr.dest_qpn - 100], sent);
		qp->sq_at = (qp->sq_at + 1) % FAKE_DEPTH;
		qp->sq_nb--;
		complete(
			qp->cfg.send_cq, &(struct mrc_sched_wc){.qp = qp, .wr_id = sent->wr.wr_id});
		return true;
	}
	return false;
}

void fake_break(struct mrc_sched *sched, uint32_t index)
{
	struct mrc_sched_qp *qp = &sched->qps[index];

	qp->state = MRC_QP_ERR;
	for (; qp->sq_nb > 0; qp->sq_nb--)
		complete(qp->cfg.send_cq,
			&(struct mrc_sched_wc){.qp = qp, .status = MRC_WC_WR_FLUSH_ERR});
}

/* ---- the verbs */

void mrc_sched_qp_attr_default(struct mrc_sched_qp_attr *attr_out)
{
	*attr_out = (struct mrc_sched_qp_attr){.pmtu = 4096, .mpr_dest = 8, .max_wimm_dest = 32};
}

int mrc_sched_pd_create(struct mrc_sched *sched, uint32_t *pd_out)
{
	if (fails(sched))
		return MRC_ERR_NOMEM;
	*pd_out = ++sched->pds;
	return MRC_OK;
}

int mrc_sched_pd_destroy(struct mrc_sched *sched, uint32_t pd)
{
	sched->pds--;
	return MRC_OK;
}

int mrc_sched_mr_reg(struct mrc_sched *sched, struct mrc_sched_mr *mr)
{
	if (fails(sched))
		return MRC_ERR_NOMEM;
	mr->key = 7 + sched->nb_mrs + ((uint32_t)test_random64(sched->te) << 8);
	sched->mrs[sched->nb_mrs++] = *mr;
	return MRC_OK;
}

int mrc_sched_mr_dereg(struct mrc_sched *sched, uint32_t key)
{
	sched->nb_mrs--;
	return MRC_OK;
}

int mrc_sched_cq_create(struct mrc_sched *sched, uint32_t depth, struct mrc_sched_cq **cq_out)
{
	if (fails(sched))
		return MRC_ERR_NOMEM;
	*cq_out = sched->cqs[0].used ? &sched->cqs[1] : &sched->cqs[0];
	(*cq_out)->used = true;
	return MRC_OK;
}

int mrc_sched_cq_destroy(struct mrc_sched *sched, struct mrc_sched_cq *cq)
{
	cq->used = false;
	return MRC_OK;
}

uint32_t mrc_sched_cq_poll(
	struct mrc_sched *sched, struct mrc_sched_cq *cq, struct mrc_sched_wc *wc_out, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && cq->nb > 0; i++, cq->nb--) {
		wc_out[i] = cq->wcs[cq->at];
		cq->at = (cq->at + 1) % FAKE_WCS;
	}
	return i;
}

int mrc_sched_qp_create(
	struct mrc_sched *sched, const struct mrc_sched_qp_cfg *cfg, struct mrc_sched_qp **qp_out)
{
	if (fails(sched))
		return MRC_ERR_NOMEM;
	for (uint32_t i = 0; i < FAKE_QPS; i++) {
		struct mrc_sched_qp *qp = &sched->qps[i];

		if (qp->used)
			continue;
		memset(qp, 0, sizeof(*qp));
		qp->sched = sched;
		qp->cfg = *cfg;
		qp->qpn = 100 + i;
		qp->used = true;
		*qp_out = qp;
		return MRC_OK;
	}
	return MRC_ERR_NOMEM;
}

int mrc_sched_qp_modify(struct mrc_sched *sched, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_qp_state state, const struct mrc_sched_qp_attr *attr)
{
	if ((int)state != (int)qp->state + 1)
		return MRC_ERR_STATE;
	qp->attr = *attr;
	qp->state = state;
	return MRC_OK;
}

int mrc_sched_qp_destroy(struct mrc_sched *sched, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	qp->used = false;
	return MRC_OK;
}

uint32_t mrc_sched_qp_num(const struct mrc_sched_qp *qp)
{
	return qp->qpn;
}

enum mrc_qp_state mrc_sched_qp_state(const struct mrc_sched_qp *qp)
{
	return (enum mrc_qp_state)qp->state;
}

void *mrc_sched_qp_ctx(const struct mrc_sched_qp *qp)
{
	return qp->cfg.ctx;
}

static int post(struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr, bool imm)
{
	struct fake_wr *to = &qp->sq[(qp->sq_at + qp->sq_nb) % FAKE_DEPTH];
	uint8_t *from, *place;

	if (qp->state != MRC_QP_RTS)
		return MRC_ERR_STATE;
	if (qp->sq_nb == qp->cfg.sq_depth)
		return MRC_ERR_FULL;
	from = resolve(qp->sched, wr->sges[0].lkey, wr->sges[0].addr, wr->sges[0].len);
	if (from == NULL)
		return MRC_ERR_LKEY;
	place = resolve(qp->sched->peer, wr->rkey, wr->raddr, wr->sges[0].len);
	if (place == NULL)
		__builtin_trap();
	memcpy(place, from, wr->sges[0].len);
	*to = (struct fake_wr){.wr = *wr, .sge = wr->sges[0], .imm = imm};
	qp->sq_nb++;
	return MRC_OK;
}

int mrc_sched_post_write(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr)
{
	return post(qp, wr, false);
}

int mrc_sched_post_write_imm(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr)
{
	return post(qp, wr, true);
}

int mrc_sched_post_recv(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_recv_wr *wr)
{
	if (qp->receives == qp->cfg.rq_depth)
		return MRC_ERR_FULL;
	qp->receives++;
	return MRC_OK;
}
