/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <string.h>

#include "mrc_assert.h"

#define FREE 0x80u

size_t arena_order_len(size_t len)
{
	return len >> ARENA_MIN_SHIFT;
}

static struct link *block_link(const struct arena *arena, uint32_t block)
{
	return (struct link *)(void *)(arena->base + ((size_t)block << ARENA_MIN_SHIFT));
}

static void block_free(struct arena *arena, uint32_t block, uint32_t order)
{
	struct link *link = block_link(arena, block);

	arena->order[block] = (uint8_t)(FREE | (order + 1));
	list_push(&arena->free[order], link);
}

void arena_init(struct arena *arena, void *base, size_t len, uint8_t *order)
{
	uint32_t block = 0;

	arena->base = base;
	arena->order = order;
	arena->nb_blocks = (uint32_t)(len >> ARENA_MIN_SHIFT);
	arena->used_len = 0;
	for (uint32_t o = 0; o < ARENA_ORDERS; o++)
		list_init(&arena->free[o]);
	while (block < arena->nb_blocks) {
		uint32_t o = ARENA_ORDERS - 1;

		while ((block & ((1u << o) - 1)) != 0 || (1u << o) > arena->nb_blocks - block)
			o--;
		block_free(arena, block, o);
		block += 1u << o;
	}
}

static uint32_t order_of(size_t len)
{
	uint32_t o = 0;

	while (o < ARENA_ORDERS && ((size_t)1 << (o + ARENA_MIN_SHIFT)) < len)
		o++;
	return o;
}

void *arena_alloc(struct arena *arena, size_t len)
{
	uint32_t want = order_of(len), o = want, block;
	struct link *link;

	MRC_ASSERT(len > 0);
	while (o < ARENA_ORDERS && list_empty(&arena->free[o]))
		o++;
	if (o >= ARENA_ORDERS)
		return NULL;
	link = arena->free[o].next;
	list_remove(link);
	block = (uint32_t)((size_t)((uint8_t *)link - arena->base) >> ARENA_MIN_SHIFT);
	while (o > want) {
		o--;
		block_free(arena, block + (1u << o), o);
	}
	arena->order[block] = (uint8_t)(want + 1);
	arena->used_len += (size_t)1 << (want + ARENA_MIN_SHIFT);
	return memset(link, 0, (size_t)1 << (want + ARENA_MIN_SHIFT));
}

void arena_free(struct arena *arena, void *mem)
{
	uint32_t block, o;

	if (mem == NULL)
		return;
	block = (uint32_t)((size_t)((uint8_t *)mem - arena->base) >> ARENA_MIN_SHIFT);
	MRC_ASSERT(block < arena->nb_blocks);
	MRC_ASSERT(arena->order[block] != 0 && (arena->order[block] & FREE) == 0);
	o = arena->order[block] - 1u;
	arena->used_len -= (size_t)1 << (o + ARENA_MIN_SHIFT);
	arena->order[block] = 0;
	while (o + 1 < ARENA_ORDERS) {
		uint32_t buddy = block ^ (1u << o);

		if (buddy >= arena->nb_blocks || arena->order[buddy] != (FREE | (o + 1)))
			break;
		list_remove(block_link(arena, buddy));
		arena->order[buddy] = 0;
		block &= ~(1u << o);
		o++;
	}
	block_free(arena, block, o);
}
