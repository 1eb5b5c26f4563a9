/* SPDX-License-Identifier: BSD-2-Clause */
#include "place.h"

#include <stdio.h>
#include <string.h>

struct slot {
	bool used;    /* runs a role: owns a CPU */
	uint32_t cpu; /* the one it owns */
	uint32_t load;
};

struct placement {
	const struct mrc_place_lcore *lcores;
	uint32_t nb_lcores;
	struct slot slots[MRC_PLACE_MAX_LCORES];
	int16_t owner[MRC_PLACE_CPU_WORDS * 64]; /* index of the lcore that owns a CPU, or -1 */
};

static uint32_t role_weight(const struct mrc_role *role)
{
	return role->kind == MRC_ROLE_MGMT ? 1 : 16;
}

/*
 * One step of augmenting paths: gives lcore `index` a CPU, moving others along when they have a
 * choice. `seen` marks the CPUs tried in this search.
 */
static bool claim_cpu(struct placement *place, uint32_t index, uint64_t *seen, uint32_t depth)
{
	for (uint32_t cpu = 0; cpu < MRC_PLACE_CPU_WORDS * 64; cpu++) {
		uint64_t bit = 1ull << (cpu % 64);

		if (!(place->lcores[index].cpus[cpu / 64] & bit) || (seen[cpu / 64] & bit))
			continue;
		seen[cpu / 64] |= bit;
		if (place->owner[cpu] < 0 ||
			(depth > 0 &&
				claim_cpu(place, (uint32_t)place->owner[cpu], seen, depth - 1))) {
			place->owner[cpu] = (int16_t)index;
			place->slots[index].cpu = cpu;
			return true;
		}
	}
	return false;
}

static bool lcore_use(struct placement *place, uint32_t index)
{
	uint64_t seen[MRC_PLACE_CPU_WORDS] = {0};

	if (place->slots[index].used)
		return true;
	if (!claim_cpu(place, index, seen, MRC_PLACE_MAX_LCORES))
		return false;
	place->slots[index].used = true;
	return true;
}

static int32_t lcore_holding(const struct placement *place, uint32_t index)
{
	for (uint32_t cpu = 0; cpu < MRC_PLACE_CPU_WORDS * 64; cpu++)
		if ((place->lcores[index].cpus[cpu / 64] >> (cpu % 64)) & 1 &&
			place->owner[cpu] >= 0)
			return (int32_t)place->lcores[place->owner[cpu]].id;
	return -1;
}

static int place_demanded(
	struct placement *place, const struct mrc_role *role, struct mrc_place_error *error)
{
	for (uint32_t i = 0; i < place->nb_lcores; i++) {
		if (place->lcores[i].id != (uint32_t)role->lcore)
			continue;
		if (!lcore_use(place, i)) {
			error->other_lcore = lcore_holding(place, i);
			return MRC_ERR_INVAL;
		}
		place->slots[i].load += role_weight(role);
		return MRC_OK;
	}
	error->other_lcore = -1;
	return MRC_ERR_INVAL;
}

/* The least loaded lcore that has, or can get, a CPU of its own; the earliest of equals. */
static int place_free(struct placement *place, struct mrc_role *role)
{
	bool refused[MRC_PLACE_MAX_LCORES] = {false};

	for (;;) {
		int32_t best = -1;

		for (uint32_t i = 0; i < place->nb_lcores; i++)
			if (!refused[i] &&
				(best < 0 || place->slots[i].load < place->slots[best].load))
				best = (int32_t)i;
		if (best < 0)
			return MRC_ERR_INVAL;
		if (lcore_use(place, (uint32_t)best)) {
			place->slots[best].load += role_weight(role);
			role->lcore = (int32_t)place->lcores[best].id;
			return MRC_OK;
		}
		refused[best] = true;
	}
}

int mrc_place_roles(struct mrc_role *roles, uint32_t nb_roles, const struct mrc_place_lcore *lcores,
	uint32_t nb_lcores, struct mrc_place_error *error_out)
{
	struct placement place = {.lcores = lcores, .nb_lcores = nb_lcores};
	bool demanded[MRC_PLACE_MAX_ROLES];

	if (nb_roles > MRC_PLACE_MAX_ROLES || nb_lcores > MRC_PLACE_MAX_LCORES)
		return MRC_ERR_INVAL;
	memset(place.owner, 0xFF, sizeof(place.owner));
	for (uint32_t r = 0; r < nb_roles; r++) {
		demanded[r] = roles[r].lcore >= 0;
		error_out->role = r;
		if (demanded[r] && place_demanded(&place, &roles[r], error_out) != MRC_OK)
			return MRC_ERR_INVAL;
	}
	/* Heavy roles first, so that the light one fills a gap. */
	for (int light = 0; light < 2; light++)
		for (uint32_t r = 0; r < nb_roles; r++) {
			if (demanded[r] || (roles[r].kind == MRC_ROLE_MGMT) != light)
				continue;
			error_out->role = r;
			error_out->other_lcore = -1;
			if (place_free(&place, &roles[r]) != MRC_OK)
				return MRC_ERR_INVAL;
		}
	return MRC_OK;
}

const char *mrc_role_text(const struct mrc_role *role, char *buf, uint32_t room)
{
	switch (role->kind) {
	case MRC_ROLE_WORKER:
		snprintf(buf, room, "worker %u of endpoint %u", role->worker, role->endpoint);
		break;
	case MRC_ROLE_FABRIC:
		snprintf(buf, room, "fabric");
		break;
	case MRC_ROLE_MGMT:
		snprintf(buf, room, "management");
		break;
	}
	return buf;
}
