/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_hist.h - a log-linear histogram of durations: 64 steps per power of two, so a quantile is at
 * most 1.6 % above the true value. Plain data, 30 KiB, zero-initialised; histograms of several
 * threads can be added up.
 */
#ifndef MRC_HIST_H
#define MRC_HIST_H

#include <stdint.h>

enum {
	MRC_HIST_STEP_BITS = 6,
	MRC_HIST_STEPS = 1 << MRC_HIST_STEP_BITS,
	MRC_HIST_BUCKETS = (64 - MRC_HIST_STEP_BITS + 1) * MRC_HIST_STEPS,
};

struct mrc_hist {
	uint64_t count, min, max;
	double sum;
	uint64_t buckets[MRC_HIST_BUCKETS];
};

/* Adds one value. About 2 ns. */
void mrc_hist_add(struct mrc_hist *hist, uint64_t value);
/* Adds everything of another histogram. */
void mrc_hist_merge(struct mrc_hist *hist, const struct mrc_hist *other);
/*
 * Smallest value that at least `part` (0 .. 1) of all values do not exceed, rounded up to the end
 * of its step but never above the maximum; 0 when empty. part 0: the minimum.
 */
uint64_t mrc_hist_quantile(const struct mrc_hist *hist, double part);
/* 0 when empty. */
double mrc_hist_mean(const struct mrc_hist *hist);

#endif
