/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits.c - what queue pairs wait for (run.waits): at every sample until the work is done, each one
 * that sends counts for the reason why its next packet is not on its way. The times of a run less
 * those of the same run without faults say where the difference went.
 */
#include <stdlib.h>

#include "sim.h"

enum why {
	WHY_IDLE,       /* nothing to send: work has not come, or is over */
	WHY_TURN,       /* its turn on the port */
	WHY_ANSWER,     /* everything is sent */
	WHY_TIMER,      /* nothing may be sent and the oldest answer is overdue; or the back-off */
	WHY_WINDOW,     /* the receive window, which a missing packet holds */
	WHY_CONGESTION, /* the congestion window */
	WHY_PATHS,      /* no path may be used, or it is full with most of the paths given up */
	NB_WHYS,
};

static const char *const why_names[NB_WHYS] = {
	"idle", "turn", "answer", "timer", "window", "congestion", "paths"};

struct waits {
	uint64_t counts[NB_WHYS];
	uint64_t nb_samples, nb_qps;
};

void sim_waits_create(struct sim *sim)
{
	sim->waits = sim_alloc(sizeof(*sim->waits));
}

static bool most_given_up(const struct mrc_ev_set *set)
{
	uint32_t bad = mrc_ev_state_count(set, MRC_EV_ASSUMED_BAD, -1);

	return bad >
	       mrc_ev_state_count(set, MRC_EV_GOOD, -1) + mrc_ev_state_count(set, MRC_EV_SKIP, -1);
}

/* For so long an answer is awaited: what is silent for longer goes on when a timer says so. */
static bool overdue(const struct sim *sim, const struct mrc_sched_qp_info *info)
{
	return info->oldest_ns != 0 && sim->now_ns > info->oldest_ns + 2 * info->srtt_ns;
}

static enum why why_of(
	const struct sim *sim, const struct sim_conn *c, const struct mrc_sched_qp_info *info)
{
	switch (info->waits_for) {
	case MRC_WAIT_NOTHING:
	case MRC_NB_WAITS:
		return WHY_IDLE;
	case MRC_WAIT_TURN:
		return WHY_TURN;
	case MRC_WAIT_ANSWER:
		return overdue(sim, info) ? WHY_TIMER : WHY_ANSWER;
	case MRC_WAIT_WINDOW:
		return overdue(sim, info) ? WHY_TIMER : WHY_WINDOW;
	case MRC_WAIT_CWND:
		if (overdue(sim, info))
			return WHY_TIMER;
		return most_given_up(c->sets[0]) ? WHY_PATHS : WHY_CONGESTION;
	case MRC_WAIT_PATH:
		return WHY_PATHS;
	case MRC_WAIT_PAUSE:
		return WHY_TIMER;
	}
	return WHY_IDLE;
}

void sim_waits_sample(struct sim *sim)
{
	struct waits *w = sim->waits;

	/* While the last packets drain nobody waits any more. */
	if (sim->end_ns != 0)
		return;
	w->nb_samples++;
	w->nb_qps = 0;
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		const struct sim_conn *c = &sim->conns[i];

		for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
			struct mrc_sched_qp_info info;

			mrc_sched_qp_query(sim_conn_sched(sim, c), mrc_load_qp(c->tx, q), &info);
			w->counts[why_of(sim, c, &info)]++;
			w->nb_qps++;
		}
	}
}

json_t *sim_waits_result(const struct sim *sim)
{
	const struct waits *w = sim->waits;
	double sample_us = (double)sim->sc->run.sample_ns / 1e3;
	json_t *out = json_pack(
		"{s:I,s:I}", "samples", (json_int_t)w->nb_samples, "qps", (json_int_t)w->nb_qps);

	for (int i = 0; i < NB_WHYS; i++)
		json_object_set_new(out, why_names[i],
			json_real(w->nb_qps != 0
					  ? (double)w->counts[i] * sample_us / (double)w->nb_qps
					  : 0));
	return out;
}
