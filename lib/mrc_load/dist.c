/* SPDX-License-Identifier: BSD-2-Clause */
#include "mrc_dist.h"
#include "mrc_err.h"

int mrc_dist_check(const struct mrc_dist *dist)
{
	double share = 0;
	uint64_t size = 0;

	if (dist->nb_points == 0 || dist->nb_points > MRC_DIST_MAX_POINTS)
		return MRC_ERR_INVAL;
	for (uint32_t i = 0; i < dist->nb_points; i++) {
		const struct mrc_dist_point *point = &dist->points[i];

		if (!(point->share >= share && point->share <= 1) || point->size < size)
			return MRC_ERR_INVAL;
		share = point->share;
		size = point->size;
	}
	return share == 1 ? MRC_OK : MRC_ERR_INVAL;
}

uint64_t mrc_dist_sample(const struct mrc_dist *dist, uint64_t random)
{
	double x = (double)(random >> 11) * 0x1p-53; /* 0 <= x < 1 */
	const struct mrc_dist_point *a, *b;
	uint32_t i = 0;

	while (i + 1 < dist->nb_points && x >= dist->points[i].share)
		i++;
	if (i == 0)
		return dist->points[0].size;
	a = &dist->points[i - 1];
	b = &dist->points[i];
	return a->size +
	       (uint64_t)((double)(b->size - a->size) * (x - a->share) / (b->share - a->share));
}

double mrc_dist_mean(const struct mrc_dist *dist)
{
	double mean = (double)dist->points[0].size * dist->points[0].share;

	for (uint32_t i = 1; i < dist->nb_points; i++) {
		const struct mrc_dist_point *a = &dist->points[i - 1], *b = &dist->points[i];

		mean += (b->share - a->share) * ((double)a->size + (double)b->size) / 2;
	}
	return mean;
}

uint64_t mrc_dist_max(const struct mrc_dist *dist)
{
	return dist->points[dist->nb_points - 1].size;
}
