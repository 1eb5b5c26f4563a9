/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c - hosts a lookahead behind the fabric.
 *
 * What a host sends reaches a switch a link's delay later at the earliest. So the fabric runs that
 * long at once, and then every host by itself through the same time, from event to event: its
 * arrivals, its timers, its ports. The order of events of each host, of each link and of each
 * switch is that of time; what comes to a switch from hosts in the same nanosecond comes behind all
 * else of it, in an order that prefers none. So a run does not depend on where windows end. What
 * concerns several hosts (a flow begins, a fault changes, a sample is taken) ends a window before
 * it and has an instant of its own.
 *
 * The reason is memory: a thousand engines do not fit into a cache. With single instants every
 * packet finds its host's engine gone; here an engine stays for all packets of a lookahead.
 */
#include "sim.h"

enum {
	MAX_STEPS_AT_ONCE = 10000000, /* of one host at one instant: something loops */
	FETCH_STEPS = 8,              /* of the host whose turn is next */
	FETCH_HOSTS = 32,             /* fewer stay in the cache anyway */
};

/* A flow or round that begins with the end of another one does so at once, on another host; a pair
 * that is renewed looks at both its ends; and a storm changes links. */
bool sim_window_may(const struct sim *sim)
{
	if (sim->sc->transport != SIM_MRC || sim->sc->load.mode != SIM_FLOWS ||
		sim->sc->churn.every_ns != 0 || sim->sc->storm.every_ns != 0 ||
		sim->sc->load.barrier)
		return false;
	for (uint32_t i = 0; i < sim->nb_flows; i++) {
		if (sim->flows[i].f.after != MRC_PATTERN_NONE)
			return false;
	}
	return true;
}

uint64_t sim_window_end(struct sim *sim, uint64_t from_ns)
{
	uint64_t barrier_ns = sim_min64(sim_barrier_ns(sim), mrc_fabric_fault_next_ns(sim->fabric));

	if (barrier_ns <= from_ns)
		return from_ns;
	return sim_min64(sim_min64(from_ns + sim->lookahead_ns - 1, barrier_ns - 1), sim->until_ns);
}

static uint64_t next_ns(const struct sim *sim, const struct sim_host *h)
{
	uint64_t inbox_ns = mrc_fabric_inbox_next_ns(sim->fabric, h->index);

	/* A paused host finds what came when it wakes up. */
	if (inbox_ns < h->paused_until)
		inbox_ns = h->paused_until;
	return sim_min64(
		sim_min64(inbox_ns, h->wake_ns), mrc_fabric_uplink_next_ns(sim->fabric, h->index));
}

static void instant(struct sim *sim, struct sim_host *h)
{
	bool acts = h->dirty || h->wake_ns <= sim->now_ns;

	if (h->wake_ns <= sim->now_ns)
		h->wake_ns = SIM_NEVER;
	mrc_fabric_uplink_run(sim->fabric, sim->now_ns, h->index);
	for (uint32_t p = 0; p < sim->sc->fabric.planes && sim->now_ns >= h->paused_until; p++)
		acts |= sim_port_read(sim, h, p) != 0;
	if (acts)
		sim_act(sim, h);
}

/* Asks the cache for the host whose turn is next, one step with each event of the present one. */
static void fetch_next(struct sim *sim, const struct sim_host *h, uint32_t step)
{
	if (step == 0) {
		for (uint32_t at = 0; at < sizeof(*h); at += 64)
			__builtin_prefetch((const char *)h + at);
		mrc_fabric_host_fetch(sim->fabric, h->index, 0);
		return;
	}
	if (step <= MRC_SCHED_FETCH_STEPS) {
		for (uint32_t w = 0; w < sim->sc->host.workers; w++)
			mrc_sched_fetch(h->sched[w], step - 1);
	}
	mrc_fabric_host_fetch(sim->fabric, h->index, step);
}

static void host_run(struct sim *sim, struct sim_host *h, const struct sim_host *next,
	uint64_t from_ns, uint64_t end_ns)
{
	uint64_t t = h->dirty ? from_ns : next_ns(sim, h), same = 0;
	uint32_t step = 0;

	sim->running = h;
	sim->now_ns = from_ns;
	while (t <= end_ns && sim->failure[0] == '\0') {
		same = t <= sim->now_ns ? same + 1 : 0;
		if (same > MAX_STEPS_AT_ONCE)
			sim_fail(sim, "time stands still for host %u", h->index);
		if (t > sim->now_ns)
			sim->now_ns = t;
		if (next != NULL && step < FETCH_STEPS)
			fetch_next(sim, next, step++);
		instant(sim, h);
		t = next_ns(sim, h);
	}
	sim->running = NULL;
	sim_heap_set(
		sim, h, sim_min64(h->wake_ns, mrc_fabric_uplink_next_ns(sim->fabric, h->index)));
}

void sim_window(struct sim *sim, uint64_t end_ns)
{
	uint64_t from_ns = sim->now_ns;
	uint32_t host, plane;

	mrc_fabric_run(sim->fabric, end_ns, UINT32_MAX);
	sim_begin_instant(sim);
	sim_flows_due(sim);
	while (mrc_fabric_ready(sim->fabric, &host, &plane))
		sim_list(sim, &sim->hosts[host]);
	while (sim->heap[0].at_ns <= end_ns) {
		host = sim->heap[0].host;
		sim_heap_set(sim, &sim->hosts[host], SIM_NEVER);
		sim_list(sim, &sim->hosts[host]);
	}
	for (uint32_t i = 0; i < sim->nb_dirty; i++) {
		struct sim_host *h = &sim->hosts[sim->dirty[i]], *next = NULL;

		if (sim->nb_hosts >= FETCH_HOSTS && i + 1 < sim->nb_dirty)
			next = &sim->hosts[sim->dirty[i + 1]];
		h->listed = false;
		host_run(sim, h, next, from_ns, end_ns);
	}
	sim->nb_dirty = 0;
	sim->now_ns = end_ns;
	sim_end_instant(sim);
	sim_capture_flush(sim);
}

uint64_t sim_window_last_ns(const struct sim *sim)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < sim->nb_flows; i++) {
		if (sim->flows[i].end_ns > last_ns)
			last_ns = sim->flows[i].end_ns;
	}
	return last_ns;
}
