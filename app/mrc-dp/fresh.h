/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fresh.h - how many frames a worker stamps and sends at once, so that no transmit time stamp is
 * stale when its frame leaves (table 6-6).
 */
#ifndef MRC_FRESH_H
#define MRC_FRESH_H

#include <stdint.h>

enum {
	MRC_FRESH_NS = 500, /* a transmit time stamp may be this old when the packet leaves */
	MRC_FRESH_LEAST = 2,
};

/*
 * Frames of the next go: `size` were to go at most this time and n went, took_ns (ns) after their
 * stamp the last one was with its port. Half as many when that was too long, twice as many when
 * twice as many would be in time, never more than `most`. A go that was not full says nothing.
 */
/* spec */
static inline uint32_t mrc_fresh_size(uint32_t size, uint32_t most, uint32_t n, uint64_t took_ns)
{
	if (n < size)
		return size;
	if (took_ns > MRC_FRESH_NS && size > MRC_FRESH_LEAST)
		return size / 2;
	if (took_ns * 2 < MRC_FRESH_NS && size < most)
		return size * 2;
	return size;
}

#endif
