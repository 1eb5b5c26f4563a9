/* SPDX-License-Identifier: BSD-2-Clause */
/* l2_private.h - what the files of the l2 module share. */
#ifndef MRC_APP_L2_PRIVATE_H
#define MRC_APP_L2_PRIVATE_H

#include <string.h>

#include "l2.h"

enum {
	L2_TYPE_ARP = 0x0806,
	L2_TYPE_IPV4 = 0x0800,
	L2_TYPE_IPV6 = 0x86DD,
	L2_TYPE_VLAN = 0x8100,
	L2_FRAME_MIN = 60, /* shorter frames are padded with zeroes */
	L2_PROTO_ICMP = 1,
	L2_PROTO_ICMPV6 = 58,
};

/* A received frame without its Ethernet header. */
struct l2_frame {
	const uint8_t *dmac, *smac;
	const uint8_t *body;
	uint32_t len; /* of body, with Ethernet padding */
	uint16_t type;
};

/* Where an answer goes. */
struct l2_reply {
	uint8_t *buf;
	uint32_t room;
	uint32_t len; /* 0: no answer */
};

static inline uint16_t l2_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void l2_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline bool l2_mac_is_group(const uint8_t *mac)
{
	return (mac[0] & 1) != 0;
}

/* A station's address: neither a group nor all zeroes. */
static inline bool l2_mac_is_station(const uint8_t *mac)
{
	return !l2_mac_is_group(mac) && (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) != 0;
}

static inline bool l2_is_v4(const struct mrc_gid *addr)
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

	return memcmp(addr->raw, prefix, sizeof(prefix)) == 0;
}

static inline bool l2_addr_eq(const struct mrc_gid *a, const struct mrc_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

static inline void l2_addr_v4(struct mrc_gid *addr_out, const uint8_t *v4)
{
	memset(addr_out->raw, 0, 10);
	addr_out->raw[10] = 0xFF;
	addr_out->raw[11] = 0xFF;
	memcpy(addr_out->raw + 12, v4, 4);
}

/* l2.c: Ethernet header with the configured tag; returns its length. */
uint32_t mrc_l2_eth_put(const struct mrc_l2 *l2, const uint8_t *dmac, uint16_t type, uint8_t *buf);
/* Pads to the least frame length; returns the length. */
uint32_t mrc_l2_pad(uint8_t *buf, uint32_t len);
bool mrc_l2_addr_is_own(const struct mrc_l2 *l2, const struct mrc_gid *addr);
bool mrc_l2_bucket_take(struct mrc_l2_bucket *bucket, uint64_t now_ns, uint32_t per_s);

/* l2_arp.c */
enum mrc_l2_event mrc_l2_arp_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply);
/* dmac NULL: broadcast. Returns the frame length. */
uint32_t mrc_l2_arp_ask(const struct mrc_l2 *l2, const struct mrc_gid *own,
	const struct mrc_gid *target, const uint8_t *dmac, uint8_t *buf);

/* l2_icmp.c */
uint32_t mrc_l2_sum(uint32_t sum, const uint8_t *p, uint32_t len);
uint16_t mrc_l2_sum_fold(uint32_t sum);
enum mrc_l2_event mrc_l2_icmp_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply);

/* l2_nd.c */
enum mrc_l2_event mrc_l2_icmp6_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply);
uint32_t mrc_l2_ns_ask(const struct mrc_l2 *l2, const struct mrc_gid *own,
	const struct mrc_gid *target, const uint8_t *dmac, uint8_t *buf);
uint32_t mrc_l2_na_announce(const struct mrc_l2 *l2, const struct mrc_gid *own, uint8_t *buf);

/* l2_neigh.c: a packet says that addr is at mac. solicited: it answers a question of ours. */
enum mrc_l2_event mrc_l2_neigh_heard(struct mrc_l2 *l2, uint64_t now_ns, const struct mrc_gid *addr,
	const uint8_t *mac, bool solicited, enum mrc_l2_event taken);

#endif
