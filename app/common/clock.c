/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

int mrc_clock_init(struct mrc_clock *clock_out, uint64_t hz, uint64_t start_tsc)
{
	const mrc_u128 second = 1000000000u;
	uint32_t shift = 62;

	if (hz < MRC_CLOCK_MIN_HZ || hz > MRC_CLOCK_MAX_HZ)
		return MRC_ERR_INVAL;
	/* Largest shift whose multiplier still fits 64 bits; hz >= 10 MHz keeps shift >= 57. */
	while (((second << (shift + 1)) + hz / 2) / hz <= UINT64_MAX && shift < 90)
		shift++;
	while (((second << shift) + hz / 2) / hz > UINT64_MAX)
		shift--;
	clock_out->start_tsc = start_tsc;
	clock_out->mult = (uint64_t)(((second << shift) + hz / 2) / hz);
	clock_out->shift = shift;
	clock_out->tsc_per_ms = hz / 1000;
	return MRC_OK;
}
