/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_wire.h - private: big-endian fields of any alignment. A put returns the byte behind what it
 * wrote.
 */
#ifndef MRC_WIRE_H
#define MRC_WIRE_H

#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline uint8_t *put8(uint8_t *p, uint32_t v)
{
	*p = (uint8_t)v;
	return p + 1;
}

static inline uint8_t *put16(uint8_t *p, uint32_t v)
{
	uint16_t be = __builtin_bswap16((uint16_t)v);

	memcpy(p, &be, sizeof(be));
	return p + sizeof(be);
}

static inline uint8_t *put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	return put16(p + 1, v);
}

static inline uint8_t *put32(uint8_t *p, uint32_t v)
{
	uint32_t be = __builtin_bswap32(v);

	memcpy(p, &be, sizeof(be));
	return p + sizeof(be);
}

static inline uint8_t *put64(uint8_t *p, uint64_t v)
{
	uint64_t be = __builtin_bswap64(v);

	memcpy(p, &be, sizeof(be));
	return p + sizeof(be);
}

static inline uint8_t *put_bytes(uint8_t *p, const void *from, size_t len)
{
	memcpy(p, from, len);
	return p + len;
}

static inline uint8_t *put_zero(uint8_t *p, size_t len)
{
	memset(p, 0, len);
	return p + len;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the byte swaps above suppose a little-endian machine"
#endif

/* Ethernet types and IP protocol numbers that the codec knows by name. */
enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86DD,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88A8,
	ETHERTYPE_QINQ_OLD = 0x9100,

	PROTO_HOPOPT = 0,
	PROTO_IPV4 = 4, /* IPv4 inside */
	PROTO_UDP = 17,
	PROTO_IPV6 = 41, /* IPv6 inside */
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_ESP = 50,
	PROTO_AH = 51,
	PROTO_DSTOPTS = 60,
	PROTO_MOBILITY = 135,
	PROTO_HIP = 139,
	PROTO_SHIM6 = 140,

	SRH_TYPE = 4,    /* RFC 8754 */
	SRH_EXT_LEN = 2, /* in units of 8 bytes behind the first: one segment */

	IPV4_DF = 0x4000,
	IPV4_FRAGMENT = 0x3FFF, /* more fragments, or an offset */
	TSETH_FTYPE = 1,
};

/* One's complement sum of the 20 bytes of an IPv4 header, folded to 16 bits; 0xFFFF when the
 * checksum inside is right. In the machine's byte order, which the sum does not mind. */
static inline uint32_t ipv4_sum(const uint8_t *ip)
{
	uint64_t a, b;
	uint32_t c;

	memcpy(&a, ip, 8);
	memcpy(&b, ip + 8, 8);
	memcpy(&c, ip + 16, 4);
	a = (a >> 32) + (a & 0xFFFFFFFFu) + (b >> 32) + (b & 0xFFFFFFFFu) + c;
	a = (a >> 32) + (a & 0xFFFFFFFFu);
	a = (a >> 16) + (a & 0xFFFFu);
	a = (a >> 16) + (a & 0xFFFFu);
	return (uint32_t)((a >> 16) + (a & 0xFFFFu));
}

#endif
