/* SPDX-License-Identifier: BSD-2-Clause */
#include "mrc_hist.h"

/* Values below 2 * STEPS have a bucket each; above, every power of two has STEPS of them. */
static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value < 2 * MRC_HIST_STEPS)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - MRC_HIST_STEP_BITS;
	return shift * MRC_HIST_STEPS + (uint32_t)(value >> shift);
}

/* Largest value that falls in a bucket. */
static uint64_t bucket_end(uint32_t bucket)
{
	uint32_t shift;
	uint64_t mantissa;

	if (bucket < 2 * MRC_HIST_STEPS)
		return bucket;
	shift = bucket / MRC_HIST_STEPS - 1;
	mantissa = bucket - shift * MRC_HIST_STEPS;
	return (mantissa << shift) + (((uint64_t)1 << shift) - 1);
}

void mrc_hist_add(struct mrc_hist *hist, uint64_t value)
{
	if (hist->count == 0 || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->count++;
	hist->sum += (double)value;
	hist->buckets[bucket_of(value)]++;
}

void mrc_hist_merge(struct mrc_hist *hist, const struct mrc_hist *other)
{
	if (other->count == 0)
		return;
	if (hist->count == 0 || other->min < hist->min)
		hist->min = other->min;
	if (other->max > hist->max)
		hist->max = other->max;
	hist->count += other->count;
	hist->sum += other->sum;
	for (uint32_t i = 0; i < MRC_HIST_BUCKETS; i++)
		hist->buckets[i] += other->buckets[i];
}

uint64_t mrc_hist_quantile(const struct mrc_hist *hist, double part)
{
	double wanted = part * (double)hist->count;
	uint64_t seen = 0;

	if (hist->count == 0)
		return 0;
	if (!(wanted > 0))
		return hist->min;
	for (uint32_t i = 0; i < MRC_HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if ((double)seen >= wanted)
			return bucket_end(i) < hist->max ? bucket_end(i) : hist->max;
	}
	return hist->max;
}

double mrc_hist_mean(const struct mrc_hist *hist)
{
	return hist->count ? hist->sum / (double)hist->count : 0;
}
