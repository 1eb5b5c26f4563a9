/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.c - memory regions. A key is random bits above the index of its table slot: found by one
 * array access, guessed by nobody, and never the same twice in a row for one slot.
 */
#include "engine.h"

static int check(const struct mrc_sched *s, const struct mrc_sched_mr *mr)
{
	if (mr->pd >= s->cfg.max_pds || !s->pds[mr->pd].used)
		return MRC_ERR_INVAL;
	if (mr->len != 0 && (mr->addr == NULL || mr->iova > UINT64_MAX - (mr->len - 1) ||
				    (uintptr_t)mr->addr > UINTPTR_MAX - (mr->len - 1)))
		return MRC_ERR_INVAL;
	/* Remote writing without local writing makes no sense (IBTA 11.2.7). */
	if (mr->access == MRC_ACCESS_REMOTE_WRITE ||
		(mr->access & ~(uint32_t)(MRC_ACCESS_LOCAL_WRITE | MRC_ACCESS_REMOTE_WRITE)) != 0)
		return MRC_ERR_INVAL;
	return MRC_OK;
}

static void fill(struct mrc_sched *s, struct mr *slot, const struct mrc_sched_mr *mr, uint32_t key)
{
	uint32_t next_free = slot->next_free;

	MRC_ASSERT(slot->key == 0 && key != 0);
	*slot = (struct mr){.key = key,
		.pd = mr->pd,
		.access = mr->access,
		.addr = mr->addr,
		.iova = mr->iova,
		.len = mr->len,
		.last_key = key,
		.next_free = next_free};
	s->pds[mr->pd].refs++;
}

int mrc_sched_mr_reg(struct mrc_sched *s, struct mrc_sched_mr *mr)
{
	uint32_t index = s->mrs.free, key;
	int err = check(s, mr);

	if (err != MRC_OK)
		return err;
	if (index == UINT32_MAX)
		return MRC_ERR_NOMEM;
	key = (uint32_t)s->env.random64(s->env.ctx) << s->mrs.bits | index;
	/* Not the key of the slot's last region, nor 0, by whatever the generator says. */
	while (key == 0 || key == s->mrs.at[index].last_key)
		key += s->mrs.mask + 1;
	s->mrs.free = s->mrs.at[index].next_free;
	fill(s, &s->mrs.at[index], mr, key);
	mr->key = key;
	return MRC_OK;
}

int mrc_sched_mr_install(struct mrc_sched *s, const struct mrc_sched_mr *mr)
{
	struct mr *slot = &s->mrs.at[mr->key & s->mrs.mask];
	int err = check(s, mr);

	if (err != MRC_OK)
		return err;
	/* Slots of our own are filled by mrc_sched_mr_reg only. */
	if (mr->key == 0 || slot->key != 0 ||
		(mr->key & s->mrs.mask) % s->cfg.nb_workers == s->cfg.worker)
		return MRC_ERR_INVAL;
	fill(s, slot, mr, mr->key);
	return MRC_OK;
}

int mrc_sched_mr_dereg(struct mrc_sched *s, uint32_t key)
{
	struct mr *mr = mr_find(&s->mrs, key);
	uint32_t index = key & s->mrs.mask;

	if (mr == NULL)
		return MRC_ERR_NOENT;
	MRC_ASSERT(s->pds[mr->pd].refs > 0);
	s->pds[mr->pd].refs--;
	mr->key = 0;
	if (index % s->cfg.nb_workers == s->cfg.worker) {
		mr->next_free = s->mrs.free;
		s->mrs.free = index;
	}
	return MRC_OK;
}
