/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c - one line on a terminal: simulated time, speed, how long it will take. */
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
	static double first_s, last_s;
	double now_s = seconds(), part = share_done(sim), used_s;
	struct mrc_fabric_totals totals;

	if (first_s == 0)
		first_s = last_s = now_s;
	if (now_s - last_s < 0.5)
		return;
	last_s = now_s;
	used_s = now_s - first_s;
	mrc_fabric_totals_get(sim->fabric, &totals);
	fprintf(stderr,
		"\r\033[K%s: %.3f ms simulated, %.2f M packet-hops/s, %u of %u flows, %.0f %%",
		sim->sc->name, (double)sim->now_ns / 1e6, (double)totals.hops / used_s / 1e6,
		sim->flows_done, sim->nb_flows, 100 * part);
	if (part > 0.01)
		fprintf(stderr, ", %.0f s left", used_s / part * (1 - part));
	fflush(stderr);
}

void sim_progress_end(void)
{
	fprintf(stderr, "\r\033[K");
}
