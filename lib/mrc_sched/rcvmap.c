/* SPDX-License-Identifier: BSD-2-Clause */
#include "rcvmap.h"

#include <string.h>

void rcvmap_init(struct rcvmap *map, uint16_t *slots, uint32_t nb_slots, mrc_psn_t cack)
{
	MRC_ASSERT((nb_slots & (nb_slots - 1)) == 0 && nb_slots > 0);
	*map = (struct rcvmap){.cack = cack,
		.max_rcv = cack,
		.slot_mask = (uint16_t)(nb_slots - 1),
		.slots = slots};
	for (uint32_t i = 0; i < nb_slots; i++)
		slots[i] = POOL_NONE;
}

static uint16_t *slot_of(const struct rcvmap *map, mrc_psn_t psn)
{
	return &map->slots[(psn.v >> MAP_CHUNK_SHIFT) & map->slot_mask];
}

static void slot_drop(struct rcvmap *map, struct pool *pool, uint16_t *slot)
{
	if (*slot == POOL_NONE)
		return;
	pool_put(pool, *slot);
	*slot = POOL_NONE;
	map->nb_chunks--;
}

void rcvmap_clear(struct rcvmap *map, struct pool *pool)
{
	if (map->slots == NULL)
		return;
	for (uint32_t i = 0; i <= map->slot_mask; i++)
		slot_drop(map, pool, &map->slots[i]);
	MRC_ASSERT(map->nb_chunks == 0);
	map->nb_ooo = 0;
	map->max_rcv = map->cack;
}

struct rcv_chunk *rcvmap_find(const struct rcvmap *map, const struct pool *pool, mrc_psn_t psn)
{
	uint16_t id = *slot_of(map, psn);

	return id == POOL_NONE ? NULL : pool_at(pool, id);
}

struct rcv_chunk *rcvmap_chunk(struct rcvmap *map, struct pool *pool, mrc_psn_t psn)
{
	uint16_t *slot = slot_of(map, psn);
	struct rcv_chunk *chunk;

	if (*slot != POOL_NONE)
		return pool_at(pool, *slot);
	*slot = pool_get(pool);
	if (*slot == POOL_NONE)
		return NULL;
	map->nb_chunks++;
	chunk = pool_at(pool, *slot);
	memset(chunk, 0, offsetof(struct rcv_chunk, rec));
	return chunk;
}

void rcvmap_spare(struct rcvmap *map, struct pool *pool, mrc_psn_t psn)
{
	const struct rcv_chunk *chunk = rcvmap_find(map, pool, psn);

	if (chunk != NULL && (chunk->got[0] | chunk->got[1]) == 0)
		slot_drop(map, pool, slot_of(map, psn));
}

bool rcvmap_has(const struct rcvmap *map, const struct pool *pool, mrc_psn_t psn)
{
	const struct rcv_chunk *chunk = rcvmap_find(map, pool, psn);

	MRC_ASSERT(mrc_psn_diff(psn, map->cack) > 0);
	return chunk != NULL && (chunk->got[map_bit(psn) >> 6] >> (psn.v & 63) & 1) != 0;
}

void rcvmap_set(struct rcvmap *map, struct rcv_chunk *chunk, mrc_psn_t psn)
{
	uint64_t *word = &chunk->got[map_bit(psn) >> 6];
	uint64_t bit = UINT64_C(1) << (psn.v & 63);

	MRC_ASSERT(mrc_psn_diff(psn, map->cack) > 0);
	MRC_ASSERT((*word & bit) == 0);
	*word |= bit;
	map->nb_ooo++;
	if (mrc_psn_diff(psn, map->max_rcv) > 0)
		map->max_rcv = psn;
}

void rcvmap_step_held(struct rcvmap *map, struct pool *pool)
{
	mrc_psn_t psn = mrc_psn_add(map->cack, 1);

	MRC_ASSERT(map->nb_ooo == 0 || !rcvmap_has(map, pool, psn));
	map->cack = psn;
	if (map->nb_ooo == 0)
		map->max_rcv = psn;
	if (map_bit(psn) == MAP_CHUNK_PSNS - 1)
		slot_drop(map, pool, slot_of(map, psn));
}

mrc_psn_t rcvmap_run_end(const struct rcvmap *map, const struct pool *pool)
{
	mrc_psn_t psn = mrc_psn_add(map->cack, 1);
	uint32_t left = map->nb_ooo;

	while (left > 0) {
		const struct rcv_chunk *chunk = rcvmap_find(map, pool, psn);
		uint64_t missing;
		uint32_t room = 64 - (psn.v & 63), run;

		if (chunk == NULL)
			break;
		missing = ~chunk->got[map_bit(psn) >> 6] >> (psn.v & 63);
		run = missing == 0 ? room : (uint32_t)__builtin_ctzll(missing);
		psn = mrc_psn_add(psn, (int32_t)run);
		left -= run;
		if (run < room)
			break;
	}
	return mrc_psn_add(psn, -1);
}

void rcvmap_advance(struct rcvmap *map, struct pool *pool, mrc_psn_t to)
{
	uint32_t nb = (uint32_t)mrc_psn_diff(to, map->cack);
	uint32_t from_chunk = (map->cack.v + 1) >> MAP_CHUNK_SHIFT;
	uint32_t nb_chunks;

	MRC_ASSERT(nb <= map->nb_ooo);
	/* A chunk is done with when the PSN behind the new edge lies in a later one. */
	nb_chunks = ((to.v + 1) >> MAP_CHUNK_SHIFT) - from_chunk;
	nb_chunks &= MRC_PSN_MASK >> MAP_CHUNK_SHIFT;
	MRC_ASSERT(nb_chunks <= map->slot_mask + 1u);
	for (uint32_t i = 0; i < nb_chunks; i++)
		slot_drop(map, pool, &map->slots[(from_chunk + i) & map->slot_mask]);
	map->cack = to;
	map->nb_ooo -= nb;
	if (map->nb_ooo == 0) {
		map->max_rcv = to;
		slot_drop(map, pool, slot_of(map, mrc_psn_add(to, 1)));
	}
}

uint64_t rcvmap_word(const struct rcvmap *map, const struct pool *pool, mrc_psn_t base)
{
	uint32_t shift = base.v & 63;
	const struct rcv_chunk *chunk = rcvmap_find(map, pool, base);
	uint64_t word = chunk == NULL ? 0 : chunk->got[map_bit(base) >> 6] >> shift;
	mrc_psn_t next = mrc_psn_add(base, (int32_t)(64 - shift));

	MRC_ASSERT(mrc_psn_diff(base, map->cack) > 0);
	if (shift == 0 || mrc_psn_diff(next, map->max_rcv) > 0)
		return word;
	chunk = rcvmap_find(map, pool, next);
	return chunk == NULL ? word : word | chunk->got[map_bit(next) >> 6] << (64 - shift);
}
