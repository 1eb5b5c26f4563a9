/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_dist.h - a distribution of sizes, given by points of its cumulative distribution. Between two
 * points sizes are spread evenly; a point with the share of its predecessor begins a jump.
 */
#ifndef MRC_DIST_H
#define MRC_DIST_H

#include <stdint.h>

#define MRC_DIST_MAX_POINTS 64

struct mrc_dist_point {
	uint64_t size; /* bytes */
	double share;  /* part of all sizes that are at most `size`, 0 .. 1 */
};

struct mrc_dist {
	uint32_t nb_points; /* 0: no distribution */
	struct mrc_dist_point points[MRC_DIST_MAX_POINTS];
};

/* MRC_OK, or MRC_ERR_INVAL: no point, sizes or shares that fall, last share not 1. */
int mrc_dist_check(const struct mrc_dist *dist);
/* The size that 64 random bits stand for. */
uint64_t mrc_dist_sample(const struct mrc_dist *dist, uint64_t random);
double mrc_dist_mean(const struct mrc_dist *dist);
uint64_t mrc_dist_max(const struct mrc_dist *dist);

#endif
