/* SPDX-License-Identifier: BSD-2-Clause */
#include "timeline.h"

static void merge(struct mrc_timeline_row *row, const struct mrc_timeline_row *next)
{
	row->len_ns += next->len_ns;
	row->bytes += next->bytes;
	row->packets += next->packets;
	row->retransmits += next->retransmits;
	for (uint32_t p = 0; p < MRC_MAX_PLANES; p++)
		row->plane_packets[p] += next->plane_packets[p];
}

/* Half the rows, each for twice the time. */
static void halve(struct mrc_timeline *timeline)
{
	for (uint32_t i = 0; i < MRC_TIMELINE_ROWS / 2; i++) {
		timeline->rows[i] = timeline->rows[2 * i];
		merge(&timeline->rows[i], &timeline->rows[2 * i + 1]);
	}
	timeline->nb = MRC_TIMELINE_ROWS / 2;
	timeline->per_row *= 2;
	timeline->in_last = timeline->per_row;
}

void mrc_timeline_add(struct mrc_timeline *timeline, const struct mrc_timeline_row *sample)
{
	if (timeline->per_row == 0)
		timeline->per_row = 1;
	if (timeline->nb > 0 && timeline->in_last < timeline->per_row) {
		merge(&timeline->rows[timeline->nb - 1], sample);
		timeline->in_last++;
		return;
	}
	if (timeline->nb == MRC_TIMELINE_ROWS)
		halve(timeline);
	timeline->rows[timeline->nb++] = *sample;
	timeline->in_last = 1;
}

static json_t *row_json(const struct mrc_timeline_row *row, uint32_t nb_planes)
{
	json_t *planes = json_array();
	double seconds = (double)row->len_ns * 1e-9;

	for (uint32_t p = 0; p < nb_planes; p++)
		json_array_append_new(planes, json_integer((json_int_t)row->plane_packets[p]));
	return json_pack("{s:f,s:f,s:f,s:I,s:I,s:o}", "begin", (double)row->begin_ns * 1e-9,
		"seconds", seconds, "goodput_gbps",
		row->len_ns ? (double)row->bytes * 8e-9 / seconds : 0.0, "packets",
		(json_int_t)row->packets, "retransmitted_packets", (json_int_t)row->retransmits,
		"plane_packets", planes);
}

json_t *mrc_timeline_json(const struct mrc_timeline *timeline, uint32_t nb_planes)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < timeline->nb; i++)
		json_array_append_new(list, row_json(&timeline->rows[i], nb_planes));
	return list;
}
