/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcvmap.h - which PSNs a responder has received: circular, in chunks of 128 PSNs out of a pool
 * shared by all QPs (the bitmap budget). Never shifts; only PSNs above the left edge need a chunk,
 * so that a stream in order needs none.
 *
 *        cack            max_rcv
 *   ══════╪══.══...═══.═════╪············   ═ received  . missing
 *         └ left edge: everything up to it was received
 */
#ifndef RCVMAP_H
#define RCVMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_psn.h"
#include "pool.h"

#define MAP_CHUNK_SHIFT 7
#define MAP_CHUNK_PSNS  (1u << MAP_CHUNK_SHIFT)

enum rcv_rec_flag {
	RCV_IMM = 1 << 0, /* the message carries an immediate */
	RCV_SE = 1 << 1,  /* solicited */
};

/* What the last packet of a message said, kept until the left edge passes it. */
struct rcv_rec {
	uint64_t va;    /* of the message's first byte */
	uint32_t len;   /* of the message */
	uint8_t imm[4]; /* as on the wire */
	mrc_msn_t rqmsn;
	uint8_t flags; /* enum rcv_rec_flag */
};

struct rcv_chunk {
	uint64_t got[2];   /* received */
	uint64_t last[2];  /* ends a message: rec is filled */
	uint64_t asked[2]; /* carried AckReq */
	struct rcv_rec rec[MAP_CHUNK_PSNS];
};

struct rcvmap {
	mrc_psn_t cack;    /* every PSN up to and including it was received */
	mrc_psn_t max_rcv; /* highest received; cack when nothing is out of order */
	uint32_t nb_ooo;   /* received above cack */
	uint16_t slot_mask;
	uint16_t nb_chunks; /* held */
	uint16_t *slots;    /* chunk id by chunk number & slot_mask; POOL_NONE */
};

/* slots: nb_slots entries (power of two), enough for window / 128 + 2 chunks. */
void rcvmap_init(struct rcvmap *map, uint16_t *slots, uint32_t nb_slots, mrc_psn_t cack);
/* Gives all chunks back. */
void rcvmap_clear(struct rcvmap *map, struct pool *pool);

/* For psn above cack. */
bool rcvmap_has(const struct rcvmap *map, const struct pool *pool, mrc_psn_t psn);
/* Chunk of a PSN above cack, taken from the pool if need be; NULL when the budget is spent. */
struct rcv_chunk *rcvmap_chunk(struct rcvmap *map, struct pool *pool, mrc_psn_t psn);
/* The chunk if there is one. */
struct rcv_chunk *rcvmap_find(const struct rcvmap *map, const struct pool *pool, mrc_psn_t psn);

/* The PSN was not taken after all: gives its chunk back if it holds nothing else. */
void rcvmap_spare(struct rcvmap *map, struct pool *pool, mrc_psn_t psn);

/* Marks a PSN above cack whose chunk exists. The left edge does not move. */
void rcvmap_set(struct rcvmap *map, struct rcv_chunk *chunk, mrc_psn_t psn);
/* Is this the PSN that the left edge waits for? It needs no chunk, so that it can be taken even
 * when the budget is spent: what is parked behind it can then be released. */
static inline bool rcvmap_at_edge(const struct rcvmap *map, mrc_psn_t psn)
{
	return psn.v == ((map->cack.v + 1) & MRC_PSN_MASK);
}
/* rcvmap_step while something is held above the edge, or was. */
void rcvmap_step_held(struct rcvmap *map, struct pool *pool);
/* The PSN at the edge arrived: the left edge moves over it, and over it only. */
static inline void rcvmap_step(struct rcvmap *map, struct pool *pool)
{
	if (__builtin_expect(map->nb_chunks != 0, 0)) {
		rcvmap_step_held(map, pool);
		return;
	}
	map->cack = mrc_psn_add(map->cack, 1);
	map->max_rcv = map->cack;
}

/* The furthest the left edge can go: last of the run of received PSNs behind cack. */
mrc_psn_t rcvmap_run_end(const struct rcvmap *map, const struct pool *pool);
/* Moves the left edge to a PSN of that run and gives back the chunks below. */
void rcvmap_advance(struct rcvmap *map, struct pool *pool, mrc_psn_t to);

/* Bit i = PSN base + i was received; base above cack and inside the window. */
uint64_t rcvmap_word(const struct rcvmap *map, const struct pool *pool, mrc_psn_t base);

static inline uint32_t map_bit(mrc_psn_t psn)
{
	return psn.v & (MAP_CHUNK_PSNS - 1);
}

#endif
