/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c - how a run gets on: simulated time, speed, how long it will take. */
#include <time.h>

#include "sim.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double share_done(const struct sim *sim)
{
	const struct sim_load *load = &sim->sc->load;
	double part;

	if (load->mode == SIM_STEADY)
		part = (double)sim->now_ns / (double)load->duration_ns;
	else
		part = (double)sim->flows_done / (double)(sim->nb_flows != 0 ? sim->nb_flows : 1);
	return part < 1 ? part : 1;
}

void sim_progress(struct sim *sim)
{
	double now_s = seconds(), part = share_done(sim), used_s;
	struct mrc_fabric_totals totals;

	if (sim->progress_first_s == 0)
		sim->progress_first_s = sim->progress_last_s = now_s;
	if (now_s - sim->progress_last_s < sim->opts.progress_s)
		return;
	sim->progress_last_s = now_s;
	used_s = now_s - sim->progress_first_s;
	mrc_fabric_totals_get(sim->fabric, &totals);
	fprintf(stderr, "%s%s: %.3f ms simulated, %.2f M packet-hops/s, %u of %u flows, %.0f %%",
		sim->opts.progress_line ? "\r\033[K" : "", sim->sc->name, (double)sim->now_ns / 1e6,
		(double)totals.hops / used_s / 1e6, sim->flows_done, sim->nb_flows, 100 * part);
	if (part > 0.01)
		fprintf(stderr, ", %.0f s left", used_s / part * (1 - part));
	if (!sim->opts.progress_line)
		fputc('\n', stderr);
	fflush(stderr);
}

void sim_progress_end(const struct sim *sim)
{
	if (sim->opts.progress_line)
		fprintf(stderr, "\r\033[K");
}
