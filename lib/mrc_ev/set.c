/* SPDX-License-Identifier: BSD-2-Clause */
/* set.c - making an EV set, and looking at it. */
#include <stddef.h>
#include <string.h>

#include "ev_set.h"

void mrc_ev_cfg_default(struct mrc_ev_cfg *cfg_out)
{
	/* Nobody published these; the values are the usual starting points: the round trip is 12 us
	 * and the longest SKIP 32 of them, a bad path is probed every millisecond at first and ten
	 * times a second later, three answers in a row revive it. */
	*cfg_out = (struct mrc_ev_cfg){
		.skip_ns = 12000,
		.skip_max_ns = MRC_EV_SKIPS * 12000,
		.probe_ns = 1000000,
		.probe_max_ns = 100000000,
		.revive_count = 3,
	};
}

static bool value_taken(const struct mrc_ev *evs, uint32_t nb, uint32_t value)
{
	for (uint32_t i = 0; i < nb; i++) {
		if (evs[i].value == value)
			return true;
	}
	return false;
}

void mrc_ev_generate(struct mrc_ev *evs_out, uint32_t nb, uint8_t nb_planes, enum mrc_ev_mode mode,
	const struct mrc_env *env)
{
	MRC_ASSERT(nb <= MRC_EV_MAX && nb_planes > 0);
	for (uint32_t i = 0; i < nb; i++) {
		uint32_t value;

		do {
			value = (uint32_t)(env->random64(env->ctx) >> 32);
			if (mode == MRC_EV_MODE_UDP)
				value = 0xC000u | (value & 0x3FFFu);
		} while (value_taken(evs_out, i, value));
		evs_out[i] = (struct mrc_ev){.value = value, .plane = (uint8_t)(i % nb_planes)};
	}
}

/* spec */
static bool cfg_valid(const struct mrc_ev_cfg *cfg)
{
	if (cfg->evs == NULL || cfg->nb_evs == 0 || cfg->nb_evs > MRC_EV_MAX ||
		cfg->nb_planes == 0 || cfg->nb_planes > MRC_MAX_PLANES)
		return false;
	if (cfg->nb_active > cfg->nb_evs || cfg->revive_count == 0 || cfg->probe_ns == 0 ||
		cfg->probe_max_ns < cfg->probe_ns)
		return false;
	if (cfg->skip_ns > MRC_EV_SKIP_LIMIT_NS || cfg->skip_max_ns > MRC_EV_SKIP_LIMIT_NS)
		return false;
	if (cfg->min_active > (cfg->nb_active ? cfg->nb_active : cfg->nb_evs))
		return false;
	for (uint32_t i = 0; i < cfg->nb_evs; i++) {
		const struct mrc_ev *ev = &cfg->evs[i];

		if (ev->plane >= cfg->nb_planes)
			return false;
		if (cfg->mode == MRC_EV_MODE_UDP && ev->value > 0xFFFFu)
			return false;
		for (uint32_t j = 0; j < i; j++) {
			if (cfg->evs[j].plane == ev->plane && cfg->evs[j].value == ev->value)
				return false;
		}
	}
	return true;
}

static uint32_t default_min_active(uint32_t nb_active, uint32_t nb_planes)
{
	uint32_t floor = nb_active / 4;

	if (floor < 2 * nb_planes)
		floor = 2 * nb_planes;
	return floor > nb_active / 2 ? nb_active / 2 : floor;
}

/* Walk and spare arrays of each plane have room for all of its entries. */
static void assign_arrays(struct mrc_ev_set *set, uint16_t *room, uint32_t nb_active)
{
	uint32_t nb_of_plane[MRC_MAX_PLANES] = {0};

	for (uint32_t i = 0; i < set->nb_evs; i++) {
		nb_of_plane[set->evs[i].plane]++;
		if (i < nb_active)
			set->planes[set->evs[i].plane].quota++;
	}
	for (uint32_t p = 0; p < set->nb_planes; p++) {
		set->planes[p].walk = room;
		set->planes[p].spare = room + nb_of_plane[p];
		room += 2 * nb_of_plane[p];
	}
	set->bad = room;
}

/* Neighbours in the configuration are often neighbours in the network: mix them. */
static void shuffle_walk(struct mrc_ev_set *set, struct ev_plane *plane)
{
	for (uint32_t i = plane->nb_walk; i > 1; i--) {
		uint32_t j = (uint32_t)(((ev_random(set) >> 32) * i) >> 32);
		uint16_t swap = plane->walk[i - 1];

		plane->walk[i - 1] = plane->walk[j];
		plane->walk[j] = swap;
	}
	for (uint32_t i = 0; i < plane->nb_walk; i++)
		set->entries[plane->walk[i]].pos = (uint16_t)i;
}

static void fill(struct mrc_ev_set *set, const struct mrc_ev_cfg *cfg)
{
	for (uint32_t i = 0; i < set->nb_evs; i++) {
		struct ev_entry *entry = &set->entries[i];

		entry->state = MRC_EV_GOOD;
		entry->plane = set->evs[i].plane;
		set->counts[entry->plane][0]++;
		mrc_ev_place_good(set, i);
	}
	for (uint32_t p = 0; p < set->nb_planes; p++)
		shuffle_walk(set, &set->planes[p]);
	MRC_ASSERT(set->nb_walk == (cfg->nb_active ? cfg->nb_active : cfg->nb_evs));
}

int mrc_ev_create(
	const struct mrc_ev_cfg *cfg, const struct mrc_env *env, struct mrc_ev_set **set_out)
{
	struct mrc_ev_set *set;
	size_t head = sizeof(*set);
	size_t waits_at, size;
	uint32_t nb_active;
	uint8_t *mem;

	if (!cfg_valid(cfg))
		return MRC_ERR_INVAL;
	nb_active = cfg->nb_active ? cfg->nb_active : cfg->nb_evs;
	waits_at = head + cfg->nb_evs * (sizeof(struct ev_entry) + sizeof(struct mrc_ev) +
						3 * sizeof(uint16_t));
	waits_at = (waits_at + 7) & ~(size_t)7;
	size = waits_at + cfg->nb_evs * sizeof(struct ev_wait);
	mem = env->alloc(env->ctx, size, 64);
	if (mem == NULL)
		return MRC_ERR_NOMEM;
	set = (struct mrc_ev_set *)mem;
	set->env = *env;
	set->size = size;
	set->nb_evs = cfg->nb_evs;
	set->nb_planes = cfg->nb_planes;
	set->usable = (1u << cfg->nb_planes) - 1;
	set->deadline_ns = UINT64_MAX;
	set->skip_ns = cfg->skip_ns;
	set->skip_max_ns = cfg->skip_max_ns;
	set->probe_ns = cfg->probe_ns;
	set->probe_max_ns = cfg->probe_max_ns;
	set->revive_count = cfg->revive_count;
	set->min_active =
		cfg->min_active ? cfg->min_active : default_min_active(nb_active, cfg->nb_planes);
	set->rng = env->random64(env->ctx);
	set->entries = (struct ev_entry *)(mem + head);
	set->evs = (struct mrc_ev *)(set->entries + cfg->nb_evs);
	memcpy(set->evs, cfg->evs, cfg->nb_evs * sizeof(*cfg->evs));
	assign_arrays(set, (uint16_t *)(set->evs + cfg->nb_evs), nb_active);
	set->waits = (struct ev_wait *)(mem + waits_at);
	for (uint32_t i = 0; i < cfg->nb_evs; i++)
		set->waits[i] = (struct ev_wait){.missed = MRC_EV_MISSES_NONE};
	fill(set, cfg);
	*set_out = set;
	return MRC_OK;
}

void mrc_ev_destroy(struct mrc_ev_set *set)
{
	if (set != NULL)
		set->env.free(set->env.ctx, set, set->size);
}

void mrc_ev_fetch(const struct mrc_ev_set *set, uint32_t step)
{
	const char *mem = (const char *)set;
	size_t from = 0, to = offsetof(struct mrc_ev_set, counts);

	if (step != 0) {
		from = sizeof(*set);
		to = set->size < from + EV_FETCH_LEN ? set->size : from + EV_FETCH_LEN;
	}
	for (size_t at = from; at < to; at += 64)
		__builtin_prefetch(mem + at);
}

const struct mrc_ev *mrc_ev_get(const struct mrc_ev_set *set, uint32_t index)
{
	MRC_ASSERT(index < set->nb_evs);
	return &set->evs[index];
}

uint32_t mrc_ev_find(const struct mrc_ev_set *set, uint32_t value, uint8_t plane)
{
	for (uint32_t i = 0; i < set->nb_evs; i++) {
		if (set->evs[i].value == value && set->evs[i].plane == plane)
			return i;
	}
	return MRC_EV_NONE;
}

uint32_t mrc_ev_count(const struct mrc_ev_set *set)
{
	return set->nb_evs;
}

enum mrc_ev_state mrc_ev_state(const struct mrc_ev_set *set, uint32_t index)
{
	MRC_ASSERT(index < set->nb_evs);
	return (enum mrc_ev_state)set->entries[index].state;
}

uint32_t mrc_ev_state_count(const struct mrc_ev_set *set, enum mrc_ev_state state, int plane)
{
	int bit = __builtin_ctz(state);
	uint32_t sum = 0;

	if (plane >= 0)
		return plane < set->nb_planes ? set->counts[plane][bit] : 0;
	for (uint32_t p = 0; p < set->nb_planes; p++)
		sum += set->counts[p][bit];
	return sum;
}
