/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory for queues: a buddy allocator over one block taken at create. Control path
 * only; sizes are rounded up to powers of two of at least 64 bytes, and freed neighbours join.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

#define ARENA_MIN_SHIFT 6
#define ARENA_ORDERS    26 /* up to 64 << 25 = 2 GiB in one piece */

struct arena {
	uint8_t *base;
	uint8_t *order; /* per 64-byte block: order + 1 of the free or used piece that begins there;
			   top bit set = free */
	uint32_t nb_blocks;
	struct link free[ARENA_ORDERS];
	size_t used_len; /* bytes handed out, rounded sizes */
};

/* Bytes of bookkeeping for an arena of len bytes. */
size_t arena_order_len(size_t len);
/* base: len bytes, aligned to 64; order: arena_order_len(len) zeroed bytes. */
void arena_init(struct arena *arena, void *base, size_t len, uint8_t *order);
/* Zeroed memory or NULL. len > 0. */
void *arena_alloc(struct arena *arena, size_t len);
/* NULL is accepted. */
void arena_free(struct arena *arena, void *mem);

#endif
