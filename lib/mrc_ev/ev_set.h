/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ev_set.h - inside of an EV set, private to lib/mrc_ev.
 *
 * Every entry is in exactly one place, which follows from its state:
 *   GOOD, SKIP    the walk list of its plane, or (GOOD only) its plane's spares
 *   ASSUMED_BAD   the list of bad ones, which is what gets probed
 *   DENIED        nowhere
 * All three are unordered arrays with removal by swapping, so that mrc_ev_next reads one array of
 * usable indices and never searches states.
 */
#ifndef EV_SET_H
#define EV_SET_H

#include "mrc_assert.h"
#include "mrc_ev.h"

#define EV_SKIP_FLAG 0x8000u /* in a walk list: the entry is SKIP */
#define EV_FETCH_LEN 5120u   /* of the entries: all of a set of 70 */
#define EV_EVENTS    256u    /* undelivered events kept, a power of two */

enum ev_place {
	EV_PLACE_NONE,
	EV_PLACE_WALK,
	EV_PLACE_SPARE,
	EV_PLACE_BAD,
};

/* What mrc_ev_next reads of a plane. */
struct ev_plane {
	uint16_t *walk;    /* usable indices, with EV_SKIP_FLAG */
	uint16_t nb_walk;  /* entries of walk */
	uint16_t mask;     /* nb_walk rounded up to a power of two, less 1 */
	uint16_t nb_skip;  /* entries of walk that are SKIP */
	uint16_t quota;    /* entries that walk should have: the active ones of the configuration */
	uint16_t nb_spare; /* entries of spare */
	uint32_t nb_marks; /* marks that entries of the plane learned from */
	uint16_t *spare;
};

/* One entry, apart from its value. */
struct ev_entry {
	uint8_t state;    /* enum mrc_ev_state */
	uint8_t place;    /* enum ev_place */
	uint8_t plane;    /* copy of the value's */
	uint8_t answered; /* ASSUMED_BAD: probes answered in a row */
	uint16_t pos;     /* index in the array of its place */
	bool late;        /* SKIP because of a doubt, not of a mark */
	uint32_t marks;   /* nb_marks of the plane when it learned last */
	/* SKIP: its earliest end. GOOD: end of the last SKIP. ASSUMED_BAD: next probe is due. */
	uint64_t until_ns;
	/* SKIP, GOOD: how long it rests. ASSUMED_BAD: what follows the next probe. */
	uint64_t interval_ns;
};

/* A packet of an entry that is missed. */
struct ev_wait {
	uint64_t missed; /* the caller's name of it */
	uint64_t since_ns;
	uint64_t told_ns; /* last mark or trim, 0 = none yet */
};

struct ev_event {
	uint16_t index;
	uint8_t state;
	uint32_t dropped;
};

struct mrc_ev_set {
	uint32_t ready;  /* planes that are usable and have something to walk */
	uint32_t usable; /* planes said to be usable */
	uint32_t nb_evs;
	uint32_t nb_walk; /* over all planes */
	uint32_t nb_bad;
	uint32_t probe_at; /* in the list of bad ones: where looking for due probes goes on */
	uint32_t min_active;
	uint8_t nb_planes;
	uint8_t revive_count;
	uint64_t skip_ns, skip_max_ns, probe_ns, probe_max_ns;
	uint64_t rng;         /* orders of passes; seeded at create */
	uint64_t deadline_ns; /* earliest until_ns among the bad ones, or earlier */
	struct ev_plane planes[MRC_MAX_PLANES];
	struct ev_entry *entries;
	struct mrc_ev *evs;
	struct ev_wait *waits;
	uint16_t *bad;
	uint16_t counts[MRC_MAX_PLANES][4]; /* by plane and bit number of the state */
	struct ev_event events[EV_EVENTS];
	uint32_t event_head, event_tail; /* free running */
	uint32_t events_dropped;         /* since the last one stored */
	struct mrc_env env;
	size_t size; /* of this block */
};

/* state.c: the one function that changes a state. */
void mrc_ev_change(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_state state);
/* state.c: gives a new GOOD entry its place. */
void mrc_ev_place_good(struct mrc_ev_set *set, uint32_t index);
/* event.c */
void mrc_ev_event_push(struct mrc_ev_set *set, uint32_t index, enum mrc_ev_state state);

/* splitmix64 */
static inline uint64_t ev_random(struct mrc_ev_set *set)
{
	uint64_t z = (set->rng += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

#endif
