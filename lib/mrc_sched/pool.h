/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - equal pieces out of one block, last in first out so that warm memory is used again.
 * Pieces are named by 16-bit ids; POOL_NONE is no piece.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>
#include <stdint.h>

#include "mrc_assert.h"

#define POOL_NONE 0xFFFFu
#define POOL_MAX  0xFFFFu

struct pool {
	uint8_t *mem;
	uint16_t *ids; /* the first nb_free are free */
	size_t stride;
	uint32_t nb, nb_free;
};

static inline void pool_init(
	struct pool *pool, void *mem, size_t stride, uint16_t *ids, uint32_t nb)
{
	MRC_ASSERT(nb <= POOL_MAX);
	*pool = (struct pool){.mem = mem, .ids = ids, .stride = stride, .nb = nb, .nb_free = nb};
	for (uint32_t i = 0; i < nb; i++)
		ids[i] = (uint16_t)(nb - 1 - i);
}

static inline void *pool_at(const struct pool *pool, uint16_t id)
{
	MRC_ASSERT(id < pool->nb);
	return pool->mem + pool->stride * id;
}

static inline uint16_t pool_get(struct pool *pool)
{
	return pool->nb_free == 0 ? POOL_NONE : pool->ids[--pool->nb_free];
}

static inline void pool_put(struct pool *pool, uint16_t id)
{
	MRC_ASSERT(id < pool->nb && pool->nb_free < pool->nb);
	pool->ids[pool->nb_free++] = id;
}

#endif
