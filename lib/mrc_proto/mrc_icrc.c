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

#include "icrc_powers.h"

enum {
	ICRC_START = 0x2144DF1C, /* sum of eight 0xFF bytes, in place of the InfiniBand LRH */
	VARIANT_LEN_V4 = MRC_IPV4_LEN + MRC_UDP_LEN + MRC_BTH_LEN,
	VARIANT_LEN_V6 = MRC_IPV6_LEN + MRC_UDP_LEN + MRC_BTH_LEN,
};

uint32_t mrc_icrc_update(uint32_t sum, const void *data, size_t len)
{
	return crc32_gzip_refl(sum, data, len);
}

uint32_t mrc_icrc_header(const uint8_t *ip, size_t hdr_len)
{
	uint8_t buf[MRC_HDR_ROOM];
	bool v6 = ip[0] >> 4 == 6;
	size_t ip_len = v6 ? MRC_IPV6_LEN : MRC_IPV4_LEN;

	MRC_ASSERT(hdr_len >= ip_len + MRC_UDP_LEN + MRC_BTH_LEN && hdr_len <= MRC_HDR_MAX);
	if (v6) {
		memcpy(buf, ip, VARIANT_LEN_V6);
		memcpy(buf + VARIANT_LEN_V6, ip + VARIANT_LEN_V6, hdr_len - VARIANT_LEN_V6);
		buf[0] |= 0x0F; /* traffic class, flow label */
		memset(buf + 1, 0xFF, 3);
		buf[7] = 0xFF; /* hop limit */
	} else {
		memcpy(buf, ip, VARIANT_LEN_V4);
		memcpy(buf + VARIANT_LEN_V4, ip + VARIANT_LEN_V4, hdr_len - VARIANT_LEN_V4);
		buf[1] = 0xFF;             /* type of service */
		buf[8] = 0xFF;             /* time to live */
		memset(buf + 10, 0xFF, 2); /* header checksum */
	}
	memset(buf + ip_len + 6, 0xFF, 2);    /* UDP checksum */
	buf[ip_len + MRC_UDP_LEN + 4] = 0xFF; /* BTH variant reserved */
	return crc32_gzip_refl(ICRC_START, buf, hdr_len);
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
