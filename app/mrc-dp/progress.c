/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c - the lines that a running mrc-dp prints. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "mgmt.h"

static void engines_sum(struct mrc_mgmt *m, struct mrc_sched_counters *sum_out)
{
	uint64_t *sum = (uint64_t *)sum_out;

	memset(sum_out, 0, sizeof(*sum_out));
	for (uint32_t e = 0; e < m->nb_eps; e++)
		for (uint32_t w = 0; w < m->eps[e].ep->nb_workers; w++) {
			const uint64_t *more = (const uint64_t *)&m->view.engine;

			mrc_worker_view_read(m->eps[e].workers[w], &m->view);
			for (size_t i = 0; i < sizeof(*sum_out) / sizeof(*sum); i++)
				sum[i] += more[i];
		}
}

void mrc_progress_head(struct mrc_mgmt *m)
{
	uint32_t nb_planes = m->eps[0].ep->nb_planes;

	engines_sum(m, &m->seen);
	if (m->progress == NULL)
		return;
	fprintf(m->progress,
		"  time   goodput      packets/s   retransmitted  data packets by plane\n");
	fprintf(m->progress, "                                               ");
	for (uint32_t p = 0; p < nb_planes; p++)
		fprintf(m->progress, "  %5u", p);
	fputc('\n', m->progress);
	fflush(m->progress);
}

/* Data packets on a plane, retransmissions included: answers say nothing on where data goes. */
static uint64_t plane_data(const struct mrc_sched_counters *counters, uint32_t plane)
{
	return counters->planes[plane].tx_data_packets + counters->planes[plane].tx_retransmits;
}

/* What the time since the last call came to; moves the mark. */
static void row_take(struct mrc_mgmt *m, uint64_t now_ns, struct mrc_timeline_row *row_out)
{
	struct mrc_sched_counters now, *then = &m->seen;
	struct mrc_timeline_row row = {
		.begin_ns = m->seen_ns - m->begin_ns, .len_ns = now_ns - m->seen_ns};

	engines_sum(m, &now);
	/* What arrived for the first time; a sender alone only knows what it sent. */
	row.bytes = now.rx_data_bytes - then->rx_data_bytes;
	if (row.bytes == 0 && m->eps[0].is_sender)
		row.bytes = now.tx_data_bytes - then->tx_data_bytes;
	row.packets = now.tx_packets - then->tx_packets;
	row.retransmits = now.retransmits - then->retransmits;
	for (uint32_t p = 0; p < m->eps[0].ep->nb_planes; p++)
		row.plane_packets[p] = plane_data(&now, p) - plane_data(then, p);
	m->seen = now;
	m->seen_ns = now_ns;
	*row_out = row;
}

void mrc_progress_line(struct mrc_mgmt *m, uint64_t now_ns)
{
	struct mrc_timeline_row row;
	uint64_t total = 0;
	double seconds;

	if (now_ns <= m->seen_ns)
		return;
	row_take(m, now_ns, &row);
	mrc_timeline_add(&m->timeline, &row);
	if (m->progress == NULL)
		return;
	seconds = (double)row.len_ns * 1e-9;
	fprintf(m->progress, "  %3.0fs  %7.3f Gb/s  %11.0f  %14" PRIu64 "  ",
		(double)(now_ns - m->begin_ns) * 1e-9, (double)row.bytes * 8e-9 / seconds,
		(double)row.packets / seconds, row.retransmits);
	for (uint32_t p = 0; p < m->eps[0].ep->nb_planes; p++)
		total += row.plane_packets[p];
	for (uint32_t p = 0; p < m->eps[0].ep->nb_planes && total; p++)
		fprintf(m->progress, "  %4.1f%%",
			100.0 * (double)row.plane_packets[p] / (double)total);
	if (total == 0)
		fputs("      -", m->progress);
	fputc('\n', m->progress);
	fflush(m->progress);
}

static void fault_tell(struct mrc_mgmt *m, uint32_t f, bool begins)
{
	const struct mrc_fabric_fault *fault = &m->cfg->fabric.faults[f].fault;
	const char *kind = mrc_fabric_fault_kind_name(fault->kind);

	fprintf(m->progress, "         %s: %s", begins ? "begins" : "ends", kind ? kind : "?");
	if (fault->where.plane != MRC_FABRIC_ANY)
		fprintf(m->progress, ", plane %d", fault->where.plane);
	if (fault->where.leaf != MRC_FABRIC_ANY)
		fprintf(m->progress, ", leaf %d", fault->where.leaf);
	if (fault->where.spine != MRC_FABRIC_ANY)
		fprintf(m->progress, ", spine %d", fault->where.spine);
	fputc('\n', m->progress);
}

void mrc_progress_faults(struct mrc_mgmt *m, uint64_t now_ns)
{
	if (m->progress == NULL || m->fabric == NULL)
		return;
	for (uint32_t f = 0; f < m->cfg->fabric.nb_faults; f++) {
		const struct mrc_ctl_fault *fault = &m->cfg->fabric.faults[f];
		uint64_t begin_ns = m->begin_ns + fault->at_ns;

		if (now_ns >= begin_ns && !(m->faults_told >> f & 1)) {
			m->faults_told |= 1ull << f;
			fault_tell(m, f, true);
		}
		if (fault->for_ns && now_ns >= begin_ns + fault->for_ns &&
			!(m->ends_told >> f & 1)) {
			m->ends_told |= 1ull << f;
			fault_tell(m, f, false);
		}
	}
}
