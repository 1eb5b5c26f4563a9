/* SPDX-License-Identifier: BSD-2-Clause */
#include "sentmap.h"

#include <string.h>

void sentmap_init(struct sentmap *map, uint16_t *slots, uint32_t nb_slots, mrc_psn_t first)
{
	MRC_ASSERT((nb_slots & (nb_slots - 1)) == 0 && nb_slots > 0);
	*map = (struct sentmap){.una = first,
		.next = first,
		.lost_lo = first,
		.slot_mask = (uint16_t)(nb_slots - 1),
		.evs = POOL_NONE,
		.slots = slots};
	for (uint32_t i = 0; i < nb_slots; i++)
		slots[i] = POOL_NONE;
}

static uint16_t *slot_of(const struct sentmap *map, mrc_psn_t psn)
{
	return &map->slots[(psn.v >> MAP_CHUNK_SHIFT) & map->slot_mask];
}

static void slot_drop(struct sentmap *map, struct sent_pools *pools, uint16_t *slot)
{
	if (*slot == POOL_NONE)
		return;
	pool_put(&pools->chunks, *slot);
	*slot = POOL_NONE;
}

static void drop_evs(struct sentmap *map, struct sent_pools *pools)
{
	if (map->evs == POOL_NONE)
		return;
	pool_put(&pools->evs, map->evs);
	map->evs = POOL_NONE;
}

void sentmap_clear(struct sentmap *map, struct sent_pools *pools)
{
	if (map->slots == NULL)
		return;
	for (uint32_t i = 0; i <= map->slot_mask; i++)
		slot_drop(map, pools, &map->slots[i]);
	drop_evs(map, pools);
	map->una = map->next;
	map->lost_lo = map->next;
	map->nb_lost = 0;
	map->nb_open = 0;
	map->book = 0;
}

static bool bit_of(const uint64_t *words, mrc_psn_t psn)
{
	return (words[map_bit(psn) >> 6] >> (psn.v & 63) & 1) != 0;
}

bool sentmap_is_open(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	return sentmap_covers(map, psn) && bit_of(sentmap_chunk(map, pools, psn)->open, psn);
}

bool sentmap_is_lost(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	return sentmap_covers(map, psn) && bit_of(sentmap_chunk(map, pools, psn)->lost, psn);
}

bool sentmap_is_flying(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	return sentmap_is_open(map, pools, psn) && !sentmap_is_lost(map, pools, psn);
}

static void take_evs(struct sentmap *map, struct sent_pools *pools)
{
	struct sent_evs *evs;

	map->evs = pool_get(&pools->evs);
	MRC_ASSERT(map->evs != POOL_NONE);
	evs = pool_at(&pools->evs, map->evs);
	if (evs->mark >> SENT_MARK_SHIFT == SENT_MARK_MAX)
		memset(evs, 0, sizeof(*evs));
	evs->mark += 1u << SENT_MARK_SHIFT;
}

bool sentmap_extend(struct sentmap *map, struct sent_pools *pools)
{
	uint16_t *slot = slot_of(map, map->next);
	struct sent_chunk *chunk;

	*slot = pool_get(&pools->chunks);
	if (*slot == POOL_NONE)
		return false;
	chunk = pool_at(&pools->chunks, *slot);
	memset(chunk, 0, offsetof(struct sent_chunk, sent));
	if (map->evs == POOL_NONE)
		take_evs(map, pools);
	return true;
}

uint32_t sentmap_last_on(const struct sentmap *map, const struct sent_pools *pools, uint16_t ev)
{
	const struct sent_evs *evs;
	uint32_t last;

	if (map->evs == POOL_NONE)
		return SENT_NO_PREV;
	evs = pool_at(&pools->evs, map->evs);
	last = evs->last[ev % SENT_EV_TAB] ^
	       ((uint32_t)(ev / SENT_EV_TAB) << MRC_PSN_BITS | evs->mark);
	if (last > MRC_PSN_MASK || !sentmap_covers(map, (mrc_psn_t){last}))
		return SENT_NO_PREV;
	return last;
}

void sentmap_resend(
	struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn, uint16_t ev, uint64_t now_ns)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);
	struct sent *sent = sentmap_at(map, pools, psn);
	uint64_t bit = UINT64_C(1) << (psn.v & 63);

	MRC_ASSERT((chunk->lost[map_bit(psn) >> 6] & bit) != 0);
	MRC_ASSERT(map->nb_lost > 0);
	chunk->lost[map_bit(psn) >> 6] &= ~bit;
	chunk->again[map_bit(psn) >> 6] |= bit;
	map->nb_lost--;
	map->book += sent->size;
	sent->sent_ns = now_ns;
	sent->prev = SENT_NO_PREV;
	sent->ev = ev;
	sent->flags = (sent->flags & SENT_SUSPECT ? SENT_BY_ORDER : 0) |
		      (sent->flags & SENT_NACKED ? SENT_BY_NACK : 0);
	if (sent->rtx < UINT8_MAX)
		sent->rtx++;
}

/* Nominal bytes of the PSNs of some bits of a word: of a run by the totals at its two ends, so that
 * what lies between is not read. */
static uint32_t size_of(const struct sent *sent, uint64_t bits)
{
	uint32_t low = (uint32_t)__builtin_ctzll(bits), high = 63 - (uint32_t)__builtin_clzll(bits);
	uint64_t run = bits >> low;
	uint32_t size = 0;

	if ((run & (run + 1)) == 0)
		return sent[high].total - sent[low].total + sent[low].size;
	for (; bits != 0; bits &= bits - 1)
		size += sent[__builtin_ctzll(bits)].size;
	return size;
}

uint32_t sentmap_ack_word(
	struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn, uint64_t mask)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);
	uint32_t word = map_bit(psn) >> 6, nb, size;
	uint64_t bits = chunk->open[word] & mask & ~(chunk->lost[word] | chunk->again[word]);

	if (bits == 0)
		return 0;
	nb = (uint32_t)__builtin_popcountll(bits);
	size = size_of(&chunk->sent[word * 64], bits);
	MRC_ASSERT(map->nb_open >= nb && map->book >= size);
	chunk->open[word] &= ~bits;
	map->nb_open -= nb;
	map->book -= size;
	return nb;
}

enum sent_was sentmap_ack(struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);
	uint32_t word = map_bit(psn) >> 6;
	uint64_t bit = UINT64_C(1) << (psn.v & 63);

	MRC_ASSERT(sentmap_covers(map, psn));
	if ((chunk->open[word] & bit) == 0)
		return SENT_WAS_DONE;
	MRC_ASSERT(map->nb_open > 0);
	chunk->open[word] &= ~bit;
	map->nb_open--;
	if ((chunk->lost[word] & bit) != 0) {
		chunk->lost[word] &= ~bit;
		map->nb_lost--;
		return SENT_WAS_LOST;
	}
	MRC_ASSERT(map->book >= chunk->sent[map_bit(psn)].size);
	map->book -= chunk->sent[map_bit(psn)].size;
	return SENT_WAS_FLYING;
}

bool sentmap_lose(struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);
	uint32_t word = map_bit(psn) >> 6;
	uint64_t bit = UINT64_C(1) << (psn.v & 63);

	MRC_ASSERT(sentmap_covers(map, psn));
	if ((chunk->open[word] & bit) == 0 || (chunk->lost[word] & bit) != 0)
		return false;
	chunk->lost[word] |= bit;
	if (map->nb_lost == 0 || mrc_psn_lt(psn, map->lost_lo))
		map->lost_lo = psn;
	map->nb_lost++;
	MRC_ASSERT(map->book >= chunk->sent[map_bit(psn)].size);
	map->book -= chunk->sent[map_bit(psn)].size;
	return true;
}

void sentmap_advance(struct sentmap *map, struct sent_pools *pools, mrc_psn_t to)
{
	uint32_t from_chunk = map->una.v >> MAP_CHUNK_SHIFT;
	uint32_t nb_chunks =
		((to.v >> MAP_CHUNK_SHIFT) - from_chunk) & (MRC_PSN_MASK >> MAP_CHUNK_SHIFT);

	MRC_ASSERT(mrc_psn_diff(to, map->una) >= 0 && mrc_psn_diff(to, map->next) <= 0);
	MRC_ASSERT(nb_chunks <= map->slot_mask + 1u);
	for (uint32_t i = 0; i < nb_chunks; i++)
		slot_drop(map, pools, &map->slots[(from_chunk + i) & map->slot_mask]);
	map->una = to;
	if (mrc_psn_eq(to, map->next)) {
		MRC_ASSERT(map->nb_open == 0 && map->book == 0);
		slot_drop(map, pools, slot_of(map, to));
		drop_evs(map, pools);
	}
}

enum pick {
	PICK_FLYING,
	PICK_LOST
};

static uint64_t pick_word(const struct sent_chunk *chunk, uint32_t word, enum pick pick)
{
	switch (pick) {
	case PICK_FLYING:
		return chunk->open[word] & ~chunk->lost[word];
	case PICK_LOST:
		return chunk->lost[word];
	}
	return 0;
}

/* First PSN >= from that is picked; `next` when there is none. */
static mrc_psn_t scan(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t from, enum pick pick)
{
	mrc_psn_t psn = mrc_psn_lt(from, map->una) ? map->una : from;

	while (mrc_psn_lt(psn, map->next)) {
		const struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);
		uint64_t word = pick_word(chunk, map_bit(psn) >> 6, pick) >> (psn.v & 63);

		if (word != 0)
			return mrc_psn_add(psn, __builtin_ctzll(word));
		psn = mrc_psn_add(psn, (int32_t)(64 - (psn.v & 63)));
	}
	return map->next;
}

mrc_psn_t sentmap_first_lost(struct sentmap *map, const struct sent_pools *pools)
{
	MRC_ASSERT(map->nb_lost > 0);
	map->lost_lo = scan(map, pools, map->lost_lo, PICK_LOST);
	MRC_ASSERT(mrc_psn_lt(map->lost_lo, map->next));
	return map->lost_lo;
}

mrc_psn_t sentmap_next_flying(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t from)
{
	return scan(map, pools, from, PICK_FLYING);
}

uint64_t sentmap_recount(const struct sentmap *map, const struct sent_pools *pools)
{
	uint64_t sum = 0;
	mrc_psn_t psn = sentmap_next_flying(map, pools, map->una);

	while (mrc_psn_lt(psn, map->next)) {
		sum += sentmap_at(map, pools, psn)->size;
		psn = sentmap_next_flying(map, pools, mrc_psn_add(psn, 1));
	}
	return sum;
}
