/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_psn.h - serial numbers: PSN modulo 2^24, MSN and RQMSN modulo 2^16.
 *
 * Each is a struct so that `<`, `==` and `+` do not compile: order exists only through these
 * functions, and only between numbers less than half the space apart. No struct invariant but
 * "value < 2^24".
 *
 * spec
 */
#ifndef MRC_PSN_H
#define MRC_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define MRC_PSN_BITS 24
#define MRC_PSN_MASK 0xFFFFFFu

typedef struct {
	uint32_t v; /* 0 .. 2^24-1 */
} mrc_psn_t;

typedef struct {
	uint16_t v;
} mrc_msn_t; /* serves MSN and RQMSN */

static inline mrc_psn_t mrc_psn(uint32_t v)
{
	return (mrc_psn_t){v & MRC_PSN_MASK};
}

/* p + n; n may be negative. */
static inline mrc_psn_t mrc_psn_add(mrc_psn_t p, int32_t n)
{
	return mrc_psn(p.v + (uint32_t)n);
}

/* Signed distance a - b in -2^23 .. 2^23-1. */
static inline int32_t mrc_psn_diff(mrc_psn_t a, mrc_psn_t b)
{
	return (int32_t)((a.v - b.v) << (32 - MRC_PSN_BITS)) >> (32 - MRC_PSN_BITS);
}

static inline bool mrc_psn_eq(mrc_psn_t a, mrc_psn_t b)
{
	return a.v == b.v;
}

static inline bool mrc_psn_lt(mrc_psn_t a, mrc_psn_t b)
{
	return mrc_psn_diff(a, b) < 0;
}

static inline bool mrc_psn_le(mrc_psn_t a, mrc_psn_t b)
{
	return mrc_psn_diff(a, b) <= 0;
}

static inline mrc_msn_t mrc_msn(uint32_t v)
{
	return (mrc_msn_t){(uint16_t)v};
}

static inline mrc_msn_t mrc_msn_add(mrc_msn_t m, int32_t n)
{
	return mrc_msn(m.v + (uint32_t)n);
}

/* Signed distance a - b in -2^15 .. 2^15-1. */
static inline int32_t mrc_msn_diff(mrc_msn_t a, mrc_msn_t b)
{
	return (int16_t)(uint16_t)(a.v - b.v);
}

static inline bool mrc_msn_eq(mrc_msn_t a, mrc_msn_t b)
{
	return a.v == b.v;
}

#endif
