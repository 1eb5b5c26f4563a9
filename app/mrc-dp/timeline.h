/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - what happened in each second of a run, for reports.
 *
 * A fixed number of rows: when they are full, neighbours are merged and each row stands for twice
 * the time, so that a run of any length fits.
 */
#ifndef MRC_APP_TIMELINE_H
#define MRC_APP_TIMELINE_H

#include <stdint.h>

#include <jansson.h>

#include "mrc_limits.h"

#define MRC_TIMELINE_ROWS 512 /* even */

struct mrc_timeline_row {
	uint64_t begin_ns;    /* since the workload began */
	uint64_t len_ns;      /* time the row stands for */
	uint64_t bytes;       /* payload that arrived for the first time */
	uint64_t packets;     /* sent, of every kind */
	uint64_t retransmits; /* of them data sent again */
	uint64_t plane_packets[MRC_MAX_PLANES];
};

struct mrc_timeline {
	uint32_t nb;      /* rows in use; the last one may be growing */
	uint32_t per_row; /* samples that make a row; 0 counts as 1 */
	uint32_t in_last; /* samples in the last row */
	struct mrc_timeline_row rows[MRC_TIMELINE_ROWS];
};

/* Appends a sample that begins where the one before ended. A zeroed timeline is empty. */
void mrc_timeline_add(struct mrc_timeline *timeline, const struct mrc_timeline_row *sample);

/* The rows as a new JSON array. */
json_t *mrc_timeline_json(const struct mrc_timeline *timeline, uint32_t nb_planes);

#endif
