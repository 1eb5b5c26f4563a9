/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sentmap.h - what a requester has sent and not seen acknowledged: circular, in chunks of 128 PSNs
 * out of a pool shared by all QPs.
 *
 *            una                                   next
 *   ─────────╪══.══!!═══.═════════════════════════╪───────
 *   acknowledged    . acknowledged out of order    not sent yet
 *                   ! lost, waiting to be sent again
 *
 * Life of a PSN (open and lost are bit words of the chunk):
 *
 *   not sent ──sent──► IN FLIGHT (open) ──acknowledged──► done
 *                        │      ▲
 *                     lost    sent again
 *                        ▼      │
 *                      LOST (open, lost) ──acknowledged──► done
 *
 * First transmissions on one entropy value form a chain through `prev`; the path keeps order, so an
 * acknowledged one says that those before it on the chain are lost if they are not acknowledged.
 */
#ifndef SENTMAP_H
#define SENTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mrc_limits.h"
#include "mrc_psn.h"
#include "pool.h"
#include "rcvmap.h"

#define SENT_NO_PREV    UINT32_MAX
#define SENT_UNITS_MASK 0xFFFFFFu /* of rcvd_bytes */
#define SENT_EV_TAB     256 /* entropy values whose last PSN is remembered (index modulo this) */
#define SENT_MARK_SHIFT 28
#define SENT_MARK_MAX   15u

enum sent_flag {
	SENT_SUSPECT = 1 << 0,  /* overtaken on its own path: lost unless a SACK says otherwise */
	SENT_NACKED = 1 << 1,   /* lost because of a NACK: its entropy value is to be avoided */
	SENT_LACKED = 1 << 2,   /* a SACK told of its like and lacked it */
	SENT_BY_ORDER = 1 << 3, /* sent again because it was overtaken on its path */
	SENT_BY_NACK = 1 << 4,  /* sent again because of one */
};

/* One PSN. */
struct sent {
	uint64_t sent_ns; /* last transmission */
	uint32_t prev;    /* PSN sent before it on the same EV, SENT_NO_PREV */
	uint16_t size;    /* nominal bytes */
	uint16_t slot;    /* send queue entry */
	uint16_t ev;      /* index in the QP's set */
	uint8_t rtx;      /* retransmissions so far, saturating */
	uint8_t flags;    /* enum sent_flag */
	uint32_t total;   /* nominal bytes of all PSNs up to and including this one, modulo 2^32 */
};

/* It is written as three words by sentmap_run_add. */
_Static_assert(sizeof(struct sent) == 24 && offsetof(struct sent, prev) == 8 &&
		       offsetof(struct sent, size) == 12 && offsetof(struct sent, slot) == 14 &&
		       offsetof(struct sent, ev) == 16 && offsetof(struct sent, total) == 20 &&
		       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	"layout of struct sent");

struct sent_chunk {
	uint64_t open[2];  /* sent and not acknowledged */
	uint64_t lost[2];  /* of these, waiting to be sent again */
	uint64_t again[2]; /* sent more than once */
	struct sent sent[MAP_CHUNK_PSNS];
};

/*
 * Last first-transmission PSN per entropy value; one per QP with something outstanding. Above the
 * PSN: what its place in the table does not say of the value, and the mark of the holder, by which
 * what an earlier holder left is told, so that the table is cleared only when the marks are used
 * up. New memory is zero, which is nobody's mark.
 */
struct sent_evs {
	uint32_t mark; /* 1 .. SENT_MARK_MAX, above the other bits */
	uint32_t last[SENT_EV_TAB];
};

/* Pools shared by the QPs of an engine. Each active QP holds one evs and at least one chunk, so
 * with as many evs as chunks the former never run out first. */
struct sent_pools {
	struct pool chunks, evs;
};

struct sentmap {
	mrc_psn_t una;     /* lowest PSN that is not acknowledged cumulatively */
	mrc_psn_t next;    /* next new PSN */
	mrc_psn_t lost_lo; /* no lost PSN is below this one (while nb_lost > 0) */
	uint32_t nb_lost;
	uint32_t nb_open; /* open PSNs, lost ones included */
	uint64_t book;    /* nominal bytes in flight: open and not lost */
	uint32_t total;   /* nominal bytes of all PSNs before next, modulo 2^32 */
	uint16_t slot_mask;
	uint16_t evs; /* id of the QP's struct sent_evs, POOL_NONE while no chunk is held */
	uint16_t *slots;
};

void sentmap_init(struct sentmap *map, uint16_t *slots, uint32_t nb_slots, mrc_psn_t first);
void sentmap_clear(struct sentmap *map, struct sent_pools *pools);

/* Is psn in una .. next-1? */
static inline bool sentmap_covers(const struct sentmap *map, mrc_psn_t psn)
{
	return mrc_psn_diff(psn, map->una) >= 0 && mrc_psn_diff(psn, map->next) < 0;
}

/*
 * rcvd_bytes of an answer, as far as it can be true: more than was ever sent would open the
 * congestion window for good, and make every honest answer look overtaken. Both wrap together.
 */
static inline uint32_t sentmap_units(const struct sentmap *map, uint32_t rcvd_units)
{
	uint32_t sent_units = (map->total + MRC_RCVD_UNIT - 1) / MRC_RCVD_UNIT & SENT_UNITS_MASK;
	uint32_t over = (rcvd_units - sent_units) & SENT_UNITS_MASK;

	return over <= SENT_UNITS_MASK / 2 ? sent_units : rcvd_units;
}

static inline struct sent_chunk *sentmap_chunk(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	uint16_t id = map->slots[(psn.v >> MAP_CHUNK_SHIFT) & map->slot_mask];

	return id == POOL_NONE ? NULL : pool_at(&pools->chunks, id);
}

/* Entry of a covered PSN. */
static inline struct sent *sentmap_at(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, psn);

	MRC_ASSERT(sentmap_covers(map, psn) && chunk != NULL);
	return &chunk->sent[map_bit(psn)];
}

bool sentmap_is_open(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn);
bool sentmap_is_lost(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn);
/* Open and not lost. */
bool sentmap_is_flying(const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn);

/* Takes a chunk for `next`; false when the budget is spent. */
bool sentmap_extend(struct sentmap *map, struct sent_pools *pools);

/* Makes sure that `next` has a place; false when the budget is spent. */
static inline bool sentmap_reserve(struct sentmap *map, struct sent_pools *pools)
{
	uint16_t id = map->slots[(map->next.v >> MAP_CHUNK_SHIFT) & map->slot_mask];

	return __builtin_expect(id != POOL_NONE, 1) || sentmap_extend(map, pools);
}

/*
 * First transmissions of one burst on their way into the map, PSNs of one word: recorded one by
 * one, and entered into words and sums together.
 */
struct sent_run {
	struct sent *sent; /* place of the next one */
	uint32_t *last;    /* struct sent_evs */
	uint32_t mark;     /* of it */
	mrc_psn_t una, next;
	uint32_t total;
};

/* How many PSNs a run that begins at `next` can take. */
static inline uint32_t sentmap_run_room(const struct sentmap *map)
{
	return 64 - (map->next.v & 63);
}

/* After sentmap_reserve. */
static inline void sentmap_run_begin(
	const struct sentmap *map, const struct sent_pools *pools, struct sent_run *run_out)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, map->next);
	struct sent_evs *evs = pool_at(&pools->evs, map->evs);

	MRC_ASSERT(chunk != NULL);
	*run_out = (struct sent_run){.sent = &chunk->sent[map_bit(map->next)],
		.last = evs->last,
		.mark = evs->mark,
		.una = map->una,
		.next = map->next,
		.total = map->total};
}

/* PSN before this one on the same EV that may still be judged, SENT_NO_PREV if none. */
static inline uint32_t sentmap_run_chain(const struct sent_run *run, uint16_t ev)
{
	uint32_t *last = &run->last[ev % SENT_EV_TAB];
	uint32_t high = (uint32_t)(ev / SENT_EV_TAB) << MRC_PSN_BITS | run->mark;
	uint32_t prev = *last ^ high;
	uint32_t window = (run->next.v - run->una.v) & MRC_PSN_MASK;

	*last = run->next.v | high;
	/* Another value of the same place, or none yet, leaves bits above the PSN. */
	if (prev > MRC_PSN_MASK || ((run->next.v - 1 - prev) & MRC_PSN_MASK) >= window)
		return SENT_NO_PREV;
	return prev;
}

/* Of `sent` counts what is known when a packet leaves for the first time: sent_ns, size, slot,
 * ev. */
static inline void sentmap_run_add(struct sent_run *run, const struct sent *sent)
{
	uint32_t prev = sentmap_run_chain(run, sent->ev);
	uint64_t words[3];

	run->total += sent->size;
	words[0] = sent->sent_ns;
	words[1] = prev | (uint64_t)sent->size << 32 | (uint64_t)sent->slot << 48;
	words[2] = sent->ev | (uint64_t)run->total << 32;
	memcpy(run->sent++, words, sizeof(words));
	run->next = mrc_psn_add(run->next, 1);
}

/* Not for an empty run. */
static inline void sentmap_run_end(
	struct sentmap *map, const struct sent_pools *pools, const struct sent_run *run)
{
	struct sent_chunk *chunk = sentmap_chunk(map, pools, map->next);
	uint32_t nb = (run->next.v - map->next.v) & MRC_PSN_MASK, from = map->next.v & 63;

	MRC_ASSERT(nb - 1 < 64 - from);
	chunk->open[map_bit(map->next) >> 6] |= UINT64_MAX >> (64 - nb) << from;
	map->nb_open += nb;
	map->book += (uint32_t)(run->total - map->total);
	map->total = run->total;
	map->next = run->next;
}

/* A lost PSN leaves again. */
void sentmap_resend(
	struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn, uint16_t ev, uint64_t now_ns);

enum sent_was {
	SENT_WAS_DONE, /* acknowledged before */
	SENT_WAS_FLYING,
	SENT_WAS_LOST,
};
/*
 * Acknowledges those of `mask` (bits of the word of psn) that are in flight for the first time, at
 * once: of them nothing is to be told. The others stay open. Returns how many it were.
 */
uint32_t sentmap_ack_word(
	struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn, uint64_t mask);
/* Bits of the word of psn that are open. */
static inline uint64_t sentmap_open_word(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t psn)
{
	return sentmap_chunk(map, pools, psn)->open[map_bit(psn) >> 6];
}
/* A covered PSN is acknowledged. */
enum sent_was sentmap_ack(struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn);
/* A PSN in flight is declared lost; false when it was lost or acknowledged already. */
bool sentmap_lose(struct sentmap *map, struct sent_pools *pools, mrc_psn_t psn);
/* Moves una to `to` (una <= to <= next; all below acknowledged) and gives chunks back. They go to
 * the next QP that sends, so that few of them stay in the cache. */
void sentmap_advance(struct sentmap *map, struct sent_pools *pools, mrc_psn_t to);

/* Earliest lost PSN; nb_lost > 0. */
mrc_psn_t sentmap_first_lost(struct sentmap *map, const struct sent_pools *pools);
/* First PSN >= from that is in flight; `next` when there is none. */
mrc_psn_t sentmap_next_flying(
	const struct sentmap *map, const struct sent_pools *pools, mrc_psn_t from);

/* Last first transmission on an entropy value that may still be judged, SENT_NO_PREV if none. */
uint32_t sentmap_last_on(const struct sentmap *map, const struct sent_pools *pools, uint16_t ev);

/* Book counted again from the entries. */
uint64_t sentmap_recount(const struct sentmap *map, const struct sent_pools *pools);

#endif
