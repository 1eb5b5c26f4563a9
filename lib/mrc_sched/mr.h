/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.h - memory regions by key: the table, and what may be asked of a region. mr.c registers them.
 */
#ifndef MR_H
#define MR_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_sched.h"

struct mr {
	uint32_t key;      /* 0: free */
	uint32_t last_key; /* of the region that was here last */
	uint32_t pd;
	uint32_t access;
	uint8_t *addr;
	uint64_t iova, len;
	uint32_t next_free;
};

struct mr_table {
	struct mr *at;
	uint32_t mask, bits; /* key = random << bits | index */
	uint32_t free;
};

/* The region of a key, or NULL. */
static inline struct mr *mr_find(const struct mr_table *mrs, uint32_t key)
{
	struct mr *mr = &mrs->at[key & mrs->mask];

	return mr->key == key && key != 0 ? mr : NULL;
}

static inline bool mr_covers(const struct mr *mr, uint64_t iova, uint64_t len)
{
	uint64_t off = iova - mr->iova;

#ifdef MRC_MUTANT_BOUNDS
	return iova + len <= mr->iova + mr->len;
#endif
	return iova >= mr->iova && off <= mr->len && len <= mr->len - off;
}

/* May a packet of a QP of this domain write where it says? dst_out: there. */
static inline __attribute__((always_inline)) enum mrc_drop mr_check_write(
	const struct mr_table *mrs, uint32_t pd, const struct mrc_pkt *pkt, uint8_t **dst_out)
{
	struct mr *mr = mr_find(mrs, pkt->write.rkey);

	if (mr == NULL)
		return MRC_DROP_RKEY;
	if (mr->pd != pd)
		return MRC_DROP_RKEY_PD;
	if (!mr_covers(mr, pkt->write.va, pkt->payload_len))
		return MRC_DROP_RKEY_BOUNDS;
	if ((mr->access & MRC_ACCESS_REMOTE_WRITE) == 0)
		return MRC_DROP_RKEY_ACCESS;
	*dst_out = mr->addr + (pkt->write.va - mr->iova);
	return MRC_KEEP;
}

#endif
