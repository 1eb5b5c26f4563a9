/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - which EV the next packet takes.
 *
 * A pass visits the slots of a plane's walk list in the order ((step ^ turn) * odd) modulo the next
 * power of two, which is a bijection for every odd factor; slots past the end of the list are
 * passed over. No permutation is stored.
 *
 * How soon a loss is found by path order hangs on the time between two uses of one entry, so the
 * next pass keeps the order and reshuffles only inside blocks of a sixteenth of it: the low bits of
 * `turn` are redrawn. The time is then one pass give or take a sixteenth, where a new order in
 * every pass would spread it from nothing to two passes. One pass in REDRAW, at random, changes all
 * of it, so that what two senders do stays unrelated in the long run.
 */
#include "ev_set.h"

#define STEP_BITS 12
#define STEP_MASK ((1u << STEP_BITS) - 1)
#define REDRAW    1024u /* passes that an order lasts, on average; a power of two */

_Static_assert(MRC_EV_MAX <= STEP_MASK + 1, "a step must reach every slot");

/*
 * A place in the walk: bits 0-11 step, 12-23 factor, 20-31 turn. Where both meet, in the factor of
 * lists of more than SHARED_MIN slots, the turn is not redrawn.
 */
#define TURN_SHIFT 20
#define SHARED     0xFu /* of the turn */
#define SHARED_MIN 256u

static inline uint32_t new_order(struct mrc_ev_set *set)
{
	return (uint32_t)(ev_random(set) >> 32) & ~STEP_MASK;
}

/* The place at which the next pass begins. */
static inline uint32_t next_pass(struct mrc_ev_set *set, uint32_t mask, uint32_t walk)
{
	uint64_t random = ev_random(set);
	uint32_t redrawn = mask >> 4;

	if (mask >= SHARED_MIN)
		redrawn &= ~SHARED;
	redrawn <<= TURN_SHIFT;
	if (__builtin_expect((random & (REDRAW - 1)) == 0, 0))
		redrawn = UINT32_MAX;
	return (walk ^ (((uint32_t)(random >> 32) ^ walk) & redrawn)) & ~STEP_MASK;
}

static __attribute__((noinline, cold)) void start(
	struct mrc_ev_set *set, struct mrc_ev_cursor *cursor)
{
	for (uint32_t p = 0; p < set->nb_planes; p++)
		cursor->walk[p] = new_order(set);
	cursor->plane = (uint8_t)(ev_random(set) % set->nb_planes);
	cursor->started = true;
}

/* Slot of the present step; moves to the next one. */
static inline uint32_t step(struct mrc_ev_set *set, const struct ev_plane *plane, uint32_t *walk)
{
	uint32_t now = *walk;
	uint32_t slot = (((now & STEP_MASK) ^ (now >> TURN_SHIFT)) * ((now >> STEP_BITS) | 1)) &
			plane->mask;

	*walk = (now & STEP_MASK) >= plane->mask ? next_pass(set, plane->mask, now) : now + 1;
	return slot;
}

/* The walk meets a SKIP entry: may the packet use it? The first one that a packet passes is
 * GOOD from now on if it has rested; met by the same packet once more, there was nothing better. */
static __attribute__((noinline)) bool meet_skip(struct mrc_ev_set *set,
	const struct ev_plane *plane, uint64_t now_ns, uint32_t index, uint32_t passed)
{
	if (2 * plane->nb_skip > plane->nb_walk || index == passed) {
		mrc_ev_change(set, now_ns, index, MRC_EV_GOOD);
		return true;
	}
	if (passed == MRC_EV_NONE && set->entries[index].until_ns <= now_ns)
		mrc_ev_change(set, now_ns, index, MRC_EV_GOOD);
	return false;
}

/*
 * Next entry of one plane, or MRC_EV_NONE when it holds nothing but `avoid`. Ends: with more than
 * half SKIP the first one met is taken, otherwise at least one other is GOOD, or becomes so when it
 * is passed. The one that this packet passed serves it only after a full pass.
 */
static inline uint32_t walk_plane(struct mrc_ev_set *set, struct ev_plane *plane, uint64_t now_ns,
	uint32_t *walk, uint32_t avoid)
{
	uint32_t passed = MRC_EV_NONE;
	uint32_t again = 1; /* a new pass may begin at once with the one passed: not yet */

	if (plane->nb_walk == 1 && (plane->walk[0] & ~EV_SKIP_FLAG) == avoid)
		return MRC_EV_NONE;
	for (;;) {
		uint32_t slot = step(set, plane, walk);
		uint32_t entry, index;

		if (slot >= plane->nb_walk)
			continue;
		entry = plane->walk[slot];
		index = entry & ~EV_SKIP_FLAG;
		if (index == avoid || (index == passed && again-- > 0))
			continue;
		if (!(entry & EV_SKIP_FLAG))
			return index;
		if (meet_skip(set, plane, now_ns, index, passed))
			return index;
		if (passed == MRC_EV_NONE)
			passed = index;
	}
}

/* First plane of the mask at or behind `from`, in a circle; the mask is not empty. spec
 */
static inline uint32_t plane_turn(uint32_t mask, uint32_t from)
{
	uint32_t rest = mask >> from;

	return rest ? from + (uint32_t)__builtin_ctz(rest) : (uint32_t)__builtin_ctz(mask);
}

/* A bad entry of the plane, at random; MRC_EV_NONE when it has none but `avoid`. */
static uint32_t pick_bad(struct mrc_ev_set *set, uint32_t plane, uint32_t avoid)
{
	uint32_t at = (uint32_t)(ev_random(set) % set->nb_bad);

	for (uint32_t i = 0; i < set->nb_bad; i++) {
		uint32_t index = set->bad[at];

		if (set->entries[index].plane == plane && index != avoid)
			return index;
		at = at + 1 == set->nb_bad ? 0 : at + 1;
	}
	return MRC_EV_NONE;
}

static uint32_t next_bad(
	struct mrc_ev_set *set, struct mrc_ev_cursor *cursor, uint32_t planes, uint32_t avoid)
{
	while (planes != 0 && set->nb_bad != 0) {
		uint32_t p = plane_turn(planes, cursor->plane);
		uint32_t index = pick_bad(set, p, avoid);

		if (index != MRC_EV_NONE) {
			cursor->plane = (uint8_t)(p + 1);
			return index;
		}
		planes &= ~(1u << p);
	}
	return MRC_EV_NONE;
}

/* The one to avoid, when it may serve at all. */
static uint32_t use_avoided(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t planes, uint32_t avoid)
{
	const struct ev_entry *entry;

	if (avoid >= set->nb_evs)
		return MRC_EV_NONE;
	entry = &set->entries[avoid];
	if ((entry->place != EV_PLACE_WALK && entry->place != EV_PLACE_BAD) ||
		!(planes >> entry->plane & 1))
		return MRC_EV_NONE;
	if (entry->state == MRC_EV_SKIP)
		mrc_ev_change(set, now_ns, avoid, MRC_EV_GOOD);
	return avoid;
}

/* The uncommon rest: no plane is ready, or only `avoid` is left where the turn was. */
static __attribute__((noinline)) uint32_t next_slow(struct mrc_ev_set *set,
	struct mrc_ev_cursor *cursor, uint64_t now_ns, uint32_t planes, uint32_t avoid)
{
	uint32_t ready, index;

	if (set->usable == 0) {
		/* Every plane is said to be down: that word may be stale. */
		ready = 0;
		for (uint32_t p = 0; p < set->nb_planes; p++)
			ready |= (uint32_t)(set->planes[p].nb_walk > 0) << p;
	} else {
		ready = set->ready;
		planes &= set->usable;
	}
	for (uint32_t rest = ready & planes; rest != 0;) {
		uint32_t p = plane_turn(rest, cursor->plane);

		index = walk_plane(set, &set->planes[p], now_ns, &cursor->walk[p], avoid);
		if (index != MRC_EV_NONE) {
			cursor->plane = (uint8_t)(p + 1);
			return index;
		}
		rest &= ~(1u << p);
	}
	if ((ready & ~planes) != 0)
		return use_avoided(set, now_ns, ready & planes, avoid);
	index = next_bad(set, cursor, planes, avoid);
	return index != MRC_EV_NONE ? index : use_avoided(set, now_ns, planes, avoid);
}

uint32_t mrc_ev_next(struct mrc_ev_set *set, struct mrc_ev_cursor *cursor, uint64_t now_ns,
	uint32_t planes, uint32_t avoid)
{
	uint32_t ready = planes & set->ready;
	uint32_t plane, index;

	if (__builtin_expect(!cursor->started, 0))
		start(set, cursor);
	if (__builtin_expect(ready == 0, 0))
		return next_slow(set, cursor, now_ns, planes, avoid);
	plane = plane_turn(ready, cursor->plane);
	index = walk_plane(set, &set->planes[plane], now_ns, &cursor->walk[plane], avoid);
	if (__builtin_expect(index == MRC_EV_NONE, 0))
		return next_slow(set, cursor, now_ns, planes, avoid);
	cursor->plane = (uint8_t)(plane + 1);
	return index;
}
