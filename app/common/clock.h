/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - time stamp counter to nanoseconds, exact over decades.
 *
 * ns = (tsc - start) * mult >> shift in 128 bits, mult with at least 62 significant bits: the error
 * stays below 1 ns in ten years and nothing overflows, whatever value the counter starts from.
 */
#ifndef MRC_APP_CLOCK_H
#define MRC_APP_CLOCK_H

#include <stdint.h>

#include "mrc_err.h"

__extension__ typedef unsigned __int128 mrc_u128;

#define MRC_CLOCK_MIN_HZ 10000000ull
#define MRC_CLOCK_MAX_HZ 100000000000ull

struct mrc_clock {
	uint64_t start_tsc; /* counter value that reads as 0 ns */
	uint64_t mult;
	uint64_t tsc_per_ms; /* for coarse intervals, rounded down */
	uint32_t shift;
};

/* Errors: MRC_ERR_INVAL when hz is outside MRC_CLOCK_MIN_HZ .. MRC_CLOCK_MAX_HZ. */
int mrc_clock_init(struct mrc_clock *clock_out, uint64_t hz, uint64_t start_tsc);

/* Cost: two instructions and a subtraction. */
static inline uint64_t mrc_clock_ns(const struct mrc_clock *clock, uint64_t tsc)
{
	return (uint64_t)(((mrc_u128)(tsc - clock->start_tsc) * clock->mult) >> clock->shift);
}

#endif
