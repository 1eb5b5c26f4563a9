/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handover.c - the rings between a host's workers. A packet that another worker owns is normally
 * its owner's at once; a "handovers" entry of the scenario makes it wait, or finds the ring full.
 */
#include <stdlib.h>

#include "sim.h"

struct handed {
	struct mrc_fabric_pkt pkt;
	uint64_t due_ns;
	uint32_t plane;
};

struct sim_ring {
	struct handed *items;
	uint32_t cap, at, nb;
};

void sim_handover_create(struct sim_host *h)
{
	if (h->sim->sc->nb_handovers != 0)
		h->rings = sim_alloc(SIM_MAX_WORKERS * sizeof(*h->rings));
}

void sim_handover_free(struct sim_host *h)
{
	for (uint32_t w = 0; h->rings != NULL && w < SIM_MAX_WORKERS; w++)
		free(h->rings[w].items);
	free(h->rings);
}

/* The last entry that is in force for this host; NULL: none. */
static const struct sim_handover *in_force(const struct sim_host *h)
{
	const struct scenario *sc = h->sim->sc;
	uint64_t now_ns = h->sim->now_ns;

	for (uint32_t i = sc->nb_handovers; i > 0; i--) {
		const struct sim_handover *o = &sc->handovers[i - 1];

		if ((o->host == SIM_EVERY_HOST || o->host == h->index) && o->at_ns <= now_ns &&
			(o->for_ns == 0 || now_ns - o->at_ns < o->for_ns))
			return o;
	}
	return NULL;
}

static void ring_push(struct sim_ring *r, const struct handed *item)
{
	if (r->nb == r->cap) {
		uint32_t cap = r->cap != 0 ? 2 * r->cap : 64;
		struct handed *items = sim_alloc(cap * sizeof(*items));

		for (uint32_t i = 0; i < r->nb; i++)
			items[i] = r->items[(r->at + i) % r->cap];
		free(r->items);
		*r = (struct sim_ring){.items = items, .cap = cap, .nb = r->nb};
	}
	r->items[(r->at + r->nb++) % r->cap] = *item;
}

bool sim_handover_put(
	struct sim_host *h, uint32_t worker, uint32_t plane, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = h->sim;
	const struct sim_handover *o;
	struct sim_ring *r;
	uint64_t due_ns = sim->now_ns;

	if (h->rings == NULL)
		return false;
	r = &h->rings[worker];
	o = in_force(h);
	if (o == NULL && r->nb == 0)
		return false;
	if (o != NULL && r->nb >= o->depth) {
		sim->stats.handover_drops++;
		sim_churn_lost(sim, pkt->ref);
		sim_block_put(&sim->pool, pkt->ref);
		return true;
	}
	if (o != NULL)
		due_ns += o->delay_ns;
	if (r->nb != 0 && r->items[(r->at + r->nb - 1) % r->cap].due_ns > due_ns)
		due_ns = r->items[(r->at + r->nb - 1) % r->cap].due_ns;
	ring_push(r, &(struct handed){*pkt, due_ns, plane});
	sim->stats.handover_waited++;
	if (r->nb > sim->stats.handover_most)
		sim->stats.handover_most = r->nb;
	return true;
}

bool sim_handover_get(
	struct sim_host *h, uint32_t worker, uint32_t *plane_out, struct mrc_fabric_pkt *pkt_out)
{
	struct sim_ring *r = h->rings != NULL ? &h->rings[worker] : NULL;

	if (r == NULL || r->nb == 0 || r->items[r->at].due_ns > h->sim->now_ns)
		return false;
	*plane_out = r->items[r->at].plane;
	*pkt_out = r->items[r->at].pkt;
	r->at = (r->at + 1) % r->cap;
	r->nb--;
	return true;
}

uint64_t sim_handover_next(const struct sim_host *h)
{
	uint64_t next = SIM_NEVER;

	for (uint32_t w = 0; h->rings != NULL && w < SIM_MAX_WORKERS; w++) {
		const struct sim_ring *r = &h->rings[w];

		if (r->nb != 0 && r->items[r->at].due_ns < next)
			next = r->items[r->at].due_ns;
	}
	return next;
}

uint64_t sim_handover_held(const struct sim_host *h)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; h->rings != NULL && w < SIM_MAX_WORKERS; w++)
		sum += h->rings[w].nb;
	return sum;
}
