/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm.c - faults at random times and places for as long as the run takes: what a soak meets.
 * Drawn from the run's seed; a list of faults in the scenario would have to be as long as the run.
 */
#include <stdlib.h>

#include "sim.h"

enum {
	MAX_LIST = 1024, /* faults that the result names */
	NO_HOST = -1,
};

struct blow {
	uint32_t handle; /* 0: free */
	int32_t host;    /* whose port it takes */
	uint64_t end_ns;
};

struct sim_storm {
	uint64_t rng[4];
	uint64_t next_ns;
	struct blow blows[SIM_MAX_STORM];
	uint64_t counts[SIM_NB_STORM_KINDS];
	uint64_t nb, skipped;
	json_t *list;
};

void sim_storm_create(struct sim *sim)
{
	struct sim_storm *storm;

	if (sim->sc->storm.every_ns == 0)
		return;
	storm = sim_alloc(sizeof(*storm));
	sim_seed(storm->rng, sim_random(sim->rng));
	storm->next_ns = sim->sc->storm.at_ns + sim->sc->storm.every_ns;
	storm->list = json_array();
	sim->storm = storm;
}

void sim_storm_free(struct sim *sim)
{
	if (sim->storm == NULL)
		return;
	json_decref(sim->storm->list);
	free(sim->storm);
}

uint64_t sim_storm_next(const struct sim *sim)
{
	return sim->storm != NULL ? sim->storm->next_ns : SIM_NEVER;
}

static uint32_t below(struct sim_storm *storm, uint64_t bound)
{
	return (uint32_t)(sim_random(storm->rng) % bound);
}

/* Between a half and one and a half times the mean. */
static uint64_t around(struct sim_storm *storm, uint64_t mean_ns)
{
	return mean_ns / 2 + sim_random(storm->rng) % (mean_ns + 1);
}

static enum sim_storm_kind pick_kind(struct sim_storm *storm, uint32_t kinds)
{
	uint32_t k = below(storm, (uint32_t)__builtin_popcount(kinds));

	for (; k > 0; k--)
		kinds &= kinds - 1;
	return (enum sim_storm_kind)__builtin_ctz(kinds);
}

static void draw(struct sim *sim, enum sim_storm_kind kind, struct mrc_fabric_fault *f)
{
	const struct sim_fabric *fabric = &sim->sc->fabric;
	struct sim_storm *storm = sim->storm;

	*f = (struct mrc_fabric_fault){.where = mrc_fabric_everywhere(), .burst = 1};
	f->where.plane = (int32_t)below(storm, fabric->planes);
	if (kind == SIM_STORM_PORT) {
		f->kind = MRC_FABRIC_CARRIER;
		f->where.host = (int32_t)below(storm, sim->nb_hosts);
		return;
	}
	f->where.leaf = (int32_t)below(storm, fabric->leaves);
	f->where.spine = (int32_t)below(storm, fabric->spines);
	switch (kind) {
	case SIM_STORM_UPLINK:
		f->kind = MRC_FABRIC_CARRIER;
		break;
	case SIM_STORM_LOSSY:
		f->kind = MRC_FABRIC_LOSS;
		f->rate = (1 + below(storm, 20)) / 100.0;
		break;
	case SIM_STORM_GREY:
		f->kind = MRC_FABRIC_DISCARD;
		break;
	case SIM_STORM_CORRUPT:
		f->kind = MRC_FABRIC_CORRUPT;
		f->rate = 0.05;
		break;
	case SIM_STORM_DUPLICATE:
		f->kind = MRC_FABRIC_DUPLICATE;
		f->rate = 0.05;
		f->spread = below(storm, 20000);
		break;
	case SIM_STORM_REORDER:
		f->kind = MRC_FABRIC_REORDER;
		f->rate = 0.1;
		f->param = 1 + below(storm, 20000);
		break;
	case SIM_STORM_TRIM:
		f->kind = MRC_FABRIC_TRIM;
		f->rate = 0.05;
		break;
	case SIM_STORM_PORT:
	case SIM_NB_STORM_KINDS:
		break;
	}
}

/* A place for another fault; NULL when there is none, or the host has lost a port already: what is
 * meant to be survived leaves it the others. */
static struct blow *find_room(struct sim *sim, int32_t host)
{
	struct blow *room = NULL;

	for (uint32_t i = 0; i < SIM_MAX_STORM; i++) {
		struct blow *b = &sim->storm->blows[i];

		if (b->handle != 0 && b->end_ns <= sim->now_ns) {
			mrc_fabric_fault_remove(sim->fabric, sim->now_ns, b->handle);
			b->handle = 0;
		}
		if (b->handle != 0 && host != NO_HOST && b->host == host)
			return NULL;
		if (b->handle == 0 && room == NULL)
			room = b;
	}
	return room;
}

void sim_storm_due(struct sim *sim)
{
	const struct sim_storm_cfg *cfg = &sim->sc->storm;
	struct sim_storm *storm = sim->storm;
	struct mrc_fabric_fault fault;
	enum sim_storm_kind kind;
	struct blow *blow;
	int32_t host = NO_HOST;

	if (storm == NULL || sim->now_ns < storm->next_ns)
		return;
	storm->next_ns += around(storm, cfg->every_ns);
	if (sim_flows_done(sim) || (cfg->for_ns != 0 && storm->next_ns > cfg->at_ns + cfg->for_ns))
		storm->next_ns = SIM_NEVER;
	kind = pick_kind(storm, cfg->kinds);
	draw(sim, kind, &fault);
	fault.start_ns = sim->now_ns;
	fault.end_ns = sim->now_ns + around(storm, cfg->length_ns) + 1;
	if (kind == SIM_STORM_PORT)
		host = fault.where.host;
	blow = find_room(sim, host);
	if (blow == NULL ||
		mrc_fabric_fault_add(sim->fabric, sim->now_ns, &fault, &blow->handle) != MRC_OK) {
		storm->skipped++;
		return;
	}
	blow->host = host;
	blow->end_ns = fault.end_ns;
	storm->nb++;
	storm->counts[kind]++;
	if (storm->nb <= MAX_LIST)
		json_array_append_new(
			storm->list, json_pack("[f,f,s]", (double)fault.start_ns / 1e3,
					     (double)fault.end_ns / 1e3, sim_storm_names[kind]));
}

json_t *sim_storm_json(const struct sim *sim)
{
	const struct sim_storm *storm = sim->storm;
	json_t *kinds = json_object();

	for (uint32_t k = 0; k < SIM_NB_STORM_KINDS; k++) {
		if (storm->counts[k] != 0)
			json_object_set_new(kinds, sim_storm_names[k],
				json_integer((json_int_t)storm->counts[k]));
	}
	return json_pack("{s:I,s:I,s:o,s:O}", "faults", (json_int_t)storm->nb, "skipped",
		(json_int_t)storm->skipped, "kinds", kinds, "list", storm->list);
}
