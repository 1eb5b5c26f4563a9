/* SPDX-License-Identifier: BSD-2-Clause */
/* state.c - the state machine of mrc_ev.h: what feedback and the controller make of an entry. */
#include "ev_set.h"

#define REST_FORGET 16
#define MARK_LATELY 4 /* times skip_ns: so long a mark tells that a path is slow, not dead */

static void plane_resize(struct mrc_ev_set *set, uint32_t p, int by)
{
	struct ev_plane *plane = &set->planes[p];

	plane->nb_walk = (uint16_t)(plane->nb_walk + by);
	set->nb_walk = (uint32_t)((int)set->nb_walk + by);
	plane->mask = plane->nb_walk < 2
			      ? 0
			      : (uint16_t)((1u << (32 - __builtin_clz(plane->nb_walk - 1u))) - 1);
	if (plane->nb_walk > 0 && (set->usable >> p & 1))
		set->ready |= 1u << p;
	else
		set->ready &= ~(1u << p);
}

static void put(struct mrc_ev_set *set, uint32_t index, enum ev_place place)
{
	struct ev_entry *entry = &set->entries[index];
	struct ev_plane *plane = &set->planes[entry->plane];

	entry->place = (uint8_t)place;
	switch (place) {
	case EV_PLACE_WALK:
		entry->pos = plane->nb_walk;
		plane->walk[entry->pos] = (uint16_t)index;
		plane_resize(set, entry->plane, 1);
		break;
	case EV_PLACE_SPARE:
		entry->pos = plane->nb_spare++;
		plane->spare[entry->pos] = (uint16_t)index;
		break;
	case EV_PLACE_BAD:
		entry->pos = (uint16_t)set->nb_bad++;
		set->bad[entry->pos] = (uint16_t)index;
		break;
	case EV_PLACE_NONE:
		break;
	}
}

/* Takes an entry out of its place; the last one of the array fills the gap. */
static void take(struct mrc_ev_set *set, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];
	struct ev_plane *plane = &set->planes[entry->plane];
	uint16_t moved = MRC_EV_NONE;

	switch ((enum ev_place)entry->place) {
	case EV_PLACE_WALK:
		moved = plane->walk[plane->nb_walk - 1];
		plane->walk[entry->pos] = moved;
		plane_resize(set, entry->plane, -1);
		break;
	case EV_PLACE_SPARE:
		moved = plane->spare[--plane->nb_spare];
		plane->spare[entry->pos] = moved;
		break;
	case EV_PLACE_BAD:
		moved = set->bad[--set->nb_bad];
		set->bad[entry->pos] = moved;
		break;
	case EV_PLACE_NONE:
		return;
	}
	set->entries[moved & (uint16_t)~EV_SKIP_FLAG].pos = entry->pos;
	entry->place = EV_PLACE_NONE;
}

void mrc_ev_place_good(struct mrc_ev_set *set, uint32_t index)
{
	struct ev_plane *plane = &set->planes[set->entries[index].plane];

	put(set, index, plane->nb_walk < plane->quota ? EV_PLACE_WALK : EV_PLACE_SPARE);
}

/* Spares of the same plane take the room of those that left. spec */
static void promote_spare(struct mrc_ev_set *set, uint32_t p)
{
	struct ev_plane *plane = &set->planes[p];

	if (plane->nb_walk < plane->quota && plane->nb_spare > 0) {
		uint32_t index = plane->spare[0];

		take(set, index);
		put(set, index, EV_PLACE_WALK);
	}
}

static void skip_begin(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];
	struct ev_plane *plane = &set->planes[entry->plane];

	MRC_ASSERT(entry->place == EV_PLACE_WALK);
	plane->walk[entry->pos] |= EV_SKIP_FLAG;
	plane->nb_skip++;
	entry->until_ns = now_ns + entry->interval_ns;
}

static void skip_end(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];
	struct ev_plane *plane = &set->planes[entry->plane];

	plane->walk[entry->pos] &= (uint16_t)~EV_SKIP_FLAG;
	plane->nb_skip--;
	entry->late = false;
	entry->until_ns = now_ns;
}

static void bad_begin(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];

	put(set, index, EV_PLACE_BAD);
	entry->answered = 0;
	entry->until_ns = now_ns + set->probe_ns;
	entry->interval_ns = set->probe_ns;
	if (entry->until_ns < set->deadline_ns)
		set->deadline_ns = entry->until_ns;
}

static bool serves(enum mrc_ev_state state)
{
	return state == MRC_EV_GOOD || state == MRC_EV_SKIP;
}

static void note_change(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index,
	enum mrc_ev_state old, enum mrc_ev_state state)
{
	struct ev_entry *entry = &set->entries[index];

	set->counts[entry->plane][__builtin_ctz(old)]--;
	set->counts[entry->plane][__builtin_ctz(state)]++;
	entry->state = (uint8_t)state;
	if (set->env.trace != NULL)
		set->env.trace(set->env.ctx, now_ns, MRC_TRACE_EV_STATE, index, old, state);
	if (state == MRC_EV_ASSUMED_BAD || (serves(state) && !serves(old)))
		mrc_ev_event_push(set, index, state == MRC_EV_SKIP ? MRC_EV_GOOD : state);
}

void mrc_ev_change(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_state state)
{
	struct ev_entry *entry = &set->entries[index];
	enum mrc_ev_state old = (enum mrc_ev_state)entry->state;

	MRC_ASSERT(index < set->nb_evs);
	if (old == state)
		return;
	if (old == MRC_EV_SKIP)
		skip_end(set, now_ns, index);
	if (!serves(state)) {
		take(set, index);
		if (state == MRC_EV_ASSUMED_BAD)
			bad_begin(set, now_ns, index);
		promote_spare(set, entry->plane);
	} else if (!serves(old)) {
		take(set, index);
		entry->until_ns = now_ns;
		entry->interval_ns = 0;
		mrc_ev_place_good(set, index);
	}
	if (state == MRC_EV_SKIP) {
		if (entry->place == EV_PLACE_WALK)
			skip_begin(set, now_ns, index);
		else
			state = MRC_EV_GOOD; /* a spare has nothing to skip */
	}
	if (old != state)
		note_change(set, now_ns, index, old, state);
}

/* A path that is worse than the others rests longer each time. */
static uint64_t rest_longer(const struct mrc_ev_set *set, uint64_t rest_ns, bool trimmed)
{
	if (rest_ns < set->skip_ns / 4)
		rest_ns = set->skip_ns / 4;
	rest_ns *= trimmed ? 8 : 2;
	return rest_ns > set->skip_max_ns ? set->skip_max_ns : rest_ns;
}

/*
 * How long a path rests that got a mark, or lost a payload to trimming, which says it louder.
 *
 * Marks on many paths of a plane say that there is too much traffic. That is the window's affair:
 * such paths are passed once and no more, because what one does not take the others get on top. A
 * path that is marked again while few others are is worse than they are: its rest grows until its
 * part of the packets is what it can carry.
 *
 * False: the mark is old news, what is on its way since the last rest will tell.
 */
static bool learn_rest(
	struct mrc_ev_set *set, uint64_t now_ns, struct ev_entry *entry, bool trimmed)
{
	struct ev_plane *plane = &set->planes[entry->plane];
	uint64_t since_ns = now_ns - entry->until_ns;
	uint32_t others = plane->nb_marks - entry->marks;

	if (since_ns < set->skip_ns) /* the packet left before the last rest */
		return entry->interval_ns < set->skip_ns / 4;
	if (since_ns > REST_FORGET * (entry->interval_ns + set->skip_ns))
		entry->interval_ns = 0;
	if (4 * others < plane->nb_walk)
		entry->interval_ns = rest_longer(set, entry->interval_ns, trimmed);
	else if (2 * others + 1 >= plane->nb_walk)
		entry->interval_ns /= 4;
	entry->marks = ++plane->nb_marks;
	return true;
}

/* A path that eats packets leaves, unless too few would remain in service: then it only skips.
 * spec */
static void blame(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	const struct ev_entry *entry = &set->entries[index];
	uint32_t remain = set->nb_walk;

	if (!serves((enum mrc_ev_state)entry->state))
		return;
	if (entry->place == EV_PLACE_WALK && set->planes[entry->plane].nb_spare == 0)
		remain--;
	if (entry->place == EV_PLACE_WALK && remain < set->min_active)
		mrc_ev_change(set, now_ns, index, MRC_EV_SKIP);
	else
		mrc_ev_change(set, now_ns, index, MRC_EV_ASSUMED_BAD);
}

/* In doubt: rests until it is judged, heard of, or the word was not repeated for a while. What was
 * marked lately is known to be slow, and its marks say how long it rests. */
static void rest_late(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];
	uint64_t told_ns = set->waits[index].told_ns;
	bool marked_lately = told_ns != 0 && now_ns < told_ns + MARK_LATELY * set->skip_ns;

	if (entry->state == MRC_EV_GOOD && entry->interval_ns == 0 && !marked_lately) {
		mrc_ev_change(set, now_ns, index, MRC_EV_SKIP);
		entry->late = entry->state == MRC_EV_SKIP;
	}
	if (entry->late && entry->until_ns < now_ns + set->skip_ns)
		entry->until_ns = now_ns + set->skip_ns;
}

/* A path in doubt is heard of: it lives, and what is said of it counts. */
static void doubt_end(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	struct ev_entry *entry = &set->entries[index];

	mrc_ev_change(set, now_ns, index, MRC_EV_GOOD);
	entry->until_ns = now_ns > set->skip_ns ? now_ns - set->skip_ns : 0;
}

uint64_t mrc_ev_misses(const struct mrc_ev_set *set, uint32_t index)
{
	MRC_ASSERT(index < set->nb_evs);
	return set->waits[index].missed;
}

void mrc_ev_miss(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, uint64_t name)
{
	MRC_ASSERT(index < set->nb_evs);
	set->waits[index].missed = name;
	set->waits[index].since_ns = now_ns;
}

uint64_t mrc_ev_silence_ns(const struct mrc_ev_set *set, uint64_t now_ns, uint32_t index)
{
	MRC_ASSERT(index < set->nb_evs);
	return now_ns - set->waits[index].since_ns;
}

static void probe_answered(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_state revived)
{
	struct ev_entry *entry = &set->entries[index];

	if (++entry->answered >= set->revive_count) {
		mrc_ev_change(set, now_ns, index, revived);
		return;
	}
	entry->interval_ns = set->probe_ns;
	entry->until_ns = now_ns + set->probe_ns;
	if (entry->until_ns < set->deadline_ns)
		set->deadline_ns = entry->until_ns;
}

/* spec */
void mrc_ev_feedback(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_feedback what)
{
	struct ev_entry *entry = &set->entries[index];

	MRC_ASSERT(index < set->nb_evs);
	switch (what) {
	case MRC_EV_FB_GOOD:
		break; /* data does not revive a bad path, only probes do; a SKIP runs its course */
	case MRC_EV_FB_MARKED:
	case MRC_EV_FB_TRIMMED:
		set->waits[index].since_ns = now_ns;
		set->waits[index].told_ns = now_ns;
		if (entry->late)
			doubt_end(set, now_ns, index);
		if (entry->state != MRC_EV_GOOD || set->skip_max_ns == 0)
			break;
		if (learn_rest(set, now_ns, entry, what == MRC_EV_FB_TRIMMED))
			mrc_ev_change(set, now_ns, index, MRC_EV_SKIP);
		break;
	case MRC_EV_FB_LATE:
		rest_late(set, now_ns, index);
		break;
	case MRC_EV_FB_ALWAYS_SKIP:
	case MRC_EV_FB_LOST:
	case MRC_EV_FB_TIMEOUT:
		blame(set, now_ns, index);
		break;
	case MRC_EV_FB_PROBE_GOOD:
		if (entry->state == MRC_EV_ASSUMED_BAD)
			probe_answered(set, now_ns, index, MRC_EV_GOOD);
		break;
	case MRC_EV_FB_PROBE_MARKED:
		if (entry->state == MRC_EV_ASSUMED_BAD)
			probe_answered(set, now_ns, index, MRC_EV_SKIP);
		else if (entry->state == MRC_EV_GOOD)
			mrc_ev_change(set, now_ns, index, MRC_EV_SKIP);
		break;
	case MRC_EV_FB_PROBE_LOST:
		entry->answered = 0;
		break;
	}
}

/* spec */
int mrc_ev_set_state(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_state state)
{
	if (index >= set->nb_evs || (state != MRC_EV_GOOD && state != MRC_EV_DENIED))
		return MRC_ERR_INVAL;
	mrc_ev_change(set, now_ns, index, state);
	return MRC_OK;
}

void mrc_ev_plane(struct mrc_ev_set *set, uint64_t now_ns, uint8_t plane, bool usable)
{
	MRC_ASSERT(plane < set->nb_planes);
	if (usable)
		set->usable |= 1u << plane;
	else
		set->usable &= ~(1u << plane);
	plane_resize(set, plane, 0);
}
