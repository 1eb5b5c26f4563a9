/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <string.h>

#ifdef __PCLMUL__
#include <immintrin.h>
#endif
#include <isa-l/crc.h>

#include "mrc_assert.h"
#include "mrc_icrc.h"
#include "mrc_limits.h"

#include "icrc_tables.h"

enum {
	CHUNK_LEN = 16,
	MASKED_LEN_V4 = MRC_IPV4_LEN + MRC_UDP_LEN + MRC_BTH_LEN,
	MASKED_LEN_V6 = MRC_IPV6_LEN + MRC_UDP_LEN + MRC_BTH_LEN,
};

/* Moves as one load and one store. */
typedef uint64_t chunk_t __attribute__((vector_size(CHUNK_LEN)));

/* The variant fields, which count as ones (IBTA annex A17). A chunk of nothing comes first, so that
 * the masks can be read from any offset up to one chunk before the header.
 * spec */
static const uint8_t mask_v4[CHUNK_LEN + MRC_HDR_ROOM] = {
	[CHUNK_LEN + 1] = 0xFF, /* type of service */
	[CHUNK_LEN + 8] = 0xFF, /* time to live */
	[CHUNK_LEN + 10] = 0xFF,
	[CHUNK_LEN + 11] = 0xFF, /* header checksum */
	[CHUNK_LEN + MRC_IPV4_LEN + 6] = 0xFF,
	[CHUNK_LEN + MRC_IPV4_LEN + 7] = 0xFF,               /* UDP checksum */
	[CHUNK_LEN + MRC_IPV4_LEN + MRC_UDP_LEN + 4] = 0xFF, /* BTH variant reserved */
};
static const uint8_t mask_v6[CHUNK_LEN + MRC_HDR_ROOM] = {
	[CHUNK_LEN + 0] = 0x0F, /* traffic class, flow label */
	[CHUNK_LEN + 1] = 0xFF,
	[CHUNK_LEN + 2] = 0xFF,
	[CHUNK_LEN + 3] = 0xFF,
	[CHUNK_LEN + 7] = 0xFF, /* hop limit */
	[CHUNK_LEN + MRC_IPV6_LEN + 6] = 0xFF,
	[CHUNK_LEN + MRC_IPV6_LEN + 7] = 0xFF,               /* UDP checksum */
	[CHUNK_LEN + MRC_IPV6_LEN + MRC_UDP_LEN + 4] = 0xFF, /* BTH variant reserved */
};

uint32_t mrc_icrc_update(uint32_t sum, const void *data, size_t len)
{
	return crc32_gzip_refl(sum, data, len);
}

/*
 * The masked copy is made of whole chunks that end with the header; zero bytes in front fill the
 * first one, and the start value makes up for them. So the CRC reads exactly what was stored, chunk
 * by chunk: a load across two stores that are still on their way costs more than the CRC itself.
 * spec
 */
uint32_t mrc_icrc_header(const uint8_t *ip, size_t hdr_len)
{
	bool v6 = ip[0] >> 4 == 6;
	size_t fill = -hdr_len & (CHUNK_LEN - 1);
	const uint8_t *mask = (v6 ? mask_v6 : mask_v4) + CHUNK_LEN - fill;
	uint8_t masked[MRC_HDR_ROOM] __attribute__((aligned(64)));
	unsigned __int128 first;
	chunk_t chunk, ones;

	MRC_ASSERT(hdr_len >= (v6 ? MASKED_LEN_V6 : MASKED_LEN_V4) && hdr_len <= MRC_HDR_MAX);
	memcpy(&first, ip, CHUNK_LEN);
	first <<= 8 * fill;
	chunk = (chunk_t){(uint64_t)first, (uint64_t)(first >> 64)};
	memcpy(&ones, mask, CHUNK_LEN);
	chunk |= ones;
	memcpy(masked, &chunk, CHUNK_LEN);
	for (size_t at = CHUNK_LEN; at < hdr_len + fill; at += CHUNK_LEN) {
		memcpy(&chunk, ip + at - fill, CHUNK_LEN);
		memcpy(&ones, mask + at, CHUNK_LEN);
		chunk |= ones;
		memcpy(masked + at, &chunk, CHUNK_LEN);
	}
	return crc32_gzip_refl(icrc_start[fill], masked, hdr_len + fill);
}

/* Product of two polynomials modulo the CRC's, bit 31 = x^0. */
#ifdef __PCLMUL__
static uint32_t poly_times(uint32_t a, uint32_t b)
{
	/* The reflected product is one bit short of 64; Barrett reduction with the reflected
	 * quotient of x^64 and the reflected polynomial. */
	const __m128i k = _mm_set_epi64x(0x1F7011641, 0x1DB710641);
	uint64_t p = (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(
			     _mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0))
		     << 1;
	__m128i t = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)(uint32_t)p), k, 0x10);

	t = _mm_clmulepi64_si128(_mm_cvtsi32_si128(_mm_cvtsi128_si32(t)), k, 0x00);
	return (uint32_t)((p ^ (uint64_t)_mm_cvtsi128_si64(t)) >> 32);
}
#else
static uint32_t poly_times(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (int i = 0; i < 32; i++) {
		sum ^= b & (0 - (a >> 31));
		a <<= 1;
		b = (b >> 1) ^ (0xEDB88320u & (0 - (b & 1)));
	}
	return sum;
}
#endif

uint32_t mrc_icrc_combine(uint32_t sum_a, uint32_t sum_b, size_t len_b)
{
	/* A's sum moves up by len_b bytes: one multiplication per digit of len_b in base 64, two
	 * for any length below 4096, one for multiples of 64. */
	for (uint32_t level = 0; len_b != 0; level++) {
		uint32_t digit = (uint32_t)len_b & ((1u << ICRC_DIGIT_BITS) - 1);

		if (digit != 0)
			sum_a = poly_times(sum_a, icrc_powers[level][digit]);
		len_b >>= ICRC_DIGIT_BITS;
	}
	return sum_a ^ sum_b;
}
