/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame.h"

#include <string.h>

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86DD,
	ETHERTYPE_VLAN = 0x8100,
	NEXT_IPV4 = 4,
	NEXT_UDP = 17,
	NEXT_IPV6 = 41,
	NEXT_ROUTING = 43,
	IPV6_DST = 24, /* offset of the destination in the header */
};

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15u;
	return h ^ (h >> 29);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* One IP header as far as a switch looks. */
struct ip {
	uint32_t len; /* of the header */
	uint32_t next;
	uint32_t label;
	uint8_t tos;
	bool v6;
	bool fragment;
};

static bool parse_ipv4(const uint8_t *p, uint32_t room, struct ip *ip_out)
{
	uint32_t len = (p[0] & 15u) * 4;

	if (p[0] >> 4 != 4 || len < MRC_IPV4_LEN || room < len)
		return false;
	*ip_out = (struct ip){
		.len = len, .next = p[9], .tos = p[1], .fragment = (get16(p + 6) & 0x1FFF) != 0};
	return true;
}

static bool parse_ip(const uint8_t *p, uint32_t room, bool v6, struct ip *ip_out)
{
	if (!v6)
		return room >= MRC_IPV4_LEN && parse_ipv4(p, room, ip_out);
	if (room < MRC_IPV6_LEN || p[0] >> 4 != 6)
		return false;
	*ip_out = (struct ip){.len = MRC_IPV6_LEN,
		.next = p[6],
		.label = get24(p + 1) & 0xFFFFF,
		.tos = (uint8_t)(p[0] << 4 | p[1] >> 4),
		.v6 = true};
	return true;
}

static void parse_dst(const uint8_t *p, bool v6, struct frame *f)
{
	if (v6) {
		memcpy(f->dst.raw, p + IPV6_DST, 16);
		if (p[IPV6_DST] == 0xFF)
			f->flags |= FRAME_FLOOD;
		if (p[IPV6_DST] == 0xFE && (p[IPV6_DST + 1] & 0xC0) == 0x80)
			f->flags |= FRAME_LOCAL;
		return;
	}
	memset(f->dst.raw, 0, 10);
	f->dst.raw[10] = 0xFF;
	f->dst.raw[11] = 0xFF;
	memcpy(f->dst.raw + 12, p + 16, 4);
	if (p[16] >= 224)
		f->flags |= FRAME_FLOOD;
}

static void hash_ip(const uint8_t *p, const struct ip *ip, struct frame *f)
{
	uint64_t h = mix(0x243F6A8885A308D3u, ip->next);

	if (ip->v6) {
		for (int i = 8; i < 40; i += 8)
			h = mix(h, get64(p + i));
		h = mix(h, ip->label);
	} else {
		h = mix(h, get64(p + 12));
	}
	f->hash = h;
}

static uint32_t ev_of(const struct mrc_choice *choice, const struct ip *ip, uint32_t sport)
{
	if (!ip->v6)
		return choice->ipv4_ev_high_half ? sport << 16 : sport;
	if (choice->ev_label_is_high)
		return ip->label << 16 | sport;
	return sport << 16 | (ip->label & 0xFFFF);
}

static void parse_udp(const struct mrc_proto *proto, const struct ip *ip, const uint8_t *p,
	uint32_t room, struct frame *f)
{
	uint32_t sport, dport;

	if (ip->next != NEXT_UDP || ip->fragment || room < MRC_UDP_LEN)
		return;
	sport = get16(p);
	dport = get16(p + 2);
	f->flags |= FRAME_UDP;
	f->hash = mix(f->hash, (uint64_t)sport << 16 | dport);
	f->ev = ev_of(&proto->choice, ip, sport);
	if (dport != proto->choice.udp_port &&
		(proto->choice.udp_port_alt == 0 || dport != proto->choice.udp_port_alt))
		return;
	if (room < MRC_UDP_LEN + MRC_BTH_LEN)
		return;
	p += MRC_UDP_LEN;
	f->flags |= FRAME_MRC | ((p[8] & 0x20) ? FRAME_RTX : 0);
	f->opcode = p[0];
	f->qpn = get24(p + 5);
	f->psn = get24(p + 9);
}

/* Bytes of the IPv6 header and the routing header behind it; *next_out is what follows. */
static uint32_t skip_routing(const uint8_t *p, uint32_t room, struct frame *f, uint32_t *next_out)
{
	uint32_t len;

	*next_out = p[6];
	if (p[6] != NEXT_ROUTING || room < MRC_IPV6_LEN + 8)
		return MRC_IPV6_LEN;
	len = (p[MRC_IPV6_LEN + 1] + 1u) * 8;
	if (room < MRC_IPV6_LEN + len)
		return MRC_IPV6_LEN;
	f->flags |= FRAME_SRH;
	*next_out = p[MRC_IPV6_LEN];
	return MRC_IPV6_LEN + len;
}

void mrc_fabric_frame_parse(
	const struct mrc_proto *proto, const uint8_t *data, uint32_t len, struct frame *frame_out)
{
	struct frame f = {.flags = FRAME_FLOOD};
	uint32_t off = MRC_ETH_LEN, type, next;
	struct ip ip;

	*frame_out = f;
	if (len < MRC_ETH_LEN)
		return;
	type = get16(data + 12);
	if (type == ETHERTYPE_VLAN && len >= MRC_ETH_LEN + MRC_VLAN_LEN) {
		off += MRC_VLAN_LEN;
		type = get16(data + 16);
	}
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6)
		return;
	if (!parse_ip(data + off, len - off, type == ETHERTYPE_IPV6, &ip))
		return;
	f.flags = (uint16_t)(FRAME_IP | (ip.v6 ? FRAME_V6 : 0) | (data[0] & 1 ? FRAME_FLOOD : 0));
	f.ip_off = f.inner_off = (uint16_t)off;
	f.dscp = ip.tos >> 2;
	f.ecn = ip.tos & 3;
	parse_dst(data + off, ip.v6, &f);
	if (ip.v6) {
		uint32_t skip = skip_routing(data + off, len - off, &f, &next);

		if ((next == NEXT_IPV6 || next == NEXT_IPV4) &&
			parse_ip(data + off + skip, len - off - skip, next == NEXT_IPV6, &ip)) {
			f.flags |= FRAME_ENCAP;
			off += skip;
			f.inner_off = (uint16_t)off;
		}
	}
	hash_ip(data + off, &ip, &f);
	parse_udp(proto, &ip, data + off + ip.len, len - off - ip.len, &f);
	*frame_out = f;
}

/* RFC 1624: the IPv4 header checksum after one 16-bit word changed. */
static void checksum_update(uint8_t *ip, uint32_t old_word, uint32_t new_word)
{
	uint32_t sum = (~get16(ip + 10) & 0xFFFF) + (~old_word & 0xFFFF) + new_word;

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	put16(ip + 10, ~sum & 0xFFFF);
}

static void tos_set(uint8_t *ip, bool v6, uint8_t tos)
{
	if (v6) {
		ip[0] = (uint8_t)(0x60 | tos >> 4);
		ip[1] = (uint8_t)((tos << 4 & 0xF0) | (ip[1] & 0x0F));
	} else {
		uint32_t old_word = get16(ip);

		ip[1] = tos;
		checksum_update(ip, old_word, get16(ip));
	}
}

static uint8_t tos_get(const uint8_t *ip, bool v6)
{
	return v6 ? (uint8_t)(ip[0] << 4 | ip[1] >> 4) : ip[1];
}

void mrc_fabric_frame_mark_ce(uint8_t *data, uint32_t ip_off, bool v6)
{
	uint8_t *ip = data + ip_off;

	tos_set(ip, v6, tos_get(ip, v6) | MRC_ECN_CE);
}

void mrc_fabric_frame_trim(uint8_t *data, uint32_t len, uint32_t wire_len, uint32_t ip_off,
	uint16_t flags, uint8_t dscp, bool keep_lengths)
{
	bool v6 = (flags & FRAME_V6) != 0;
	uint8_t *ip = data + ip_off;
	uint32_t hdr_len = v6 ? MRC_IPV6_LEN : (ip[0] & 15u) * 4;

	tos_set(ip, v6, (uint8_t)(dscp << 2 | (tos_get(ip, v6) & 3)));
	if (keep_lengths)
		return;
	if (v6) {
		put16(ip + 4, wire_len - ip_off - MRC_IPV6_LEN);
	} else {
		uint32_t old_word = get16(ip + 2);

		put16(ip + 2, wire_len - ip_off);
		checksum_update(ip, old_word, get16(ip + 2));
	}
	if ((flags & FRAME_UDP) && !(flags & FRAME_ENCAP) && len >= ip_off + hdr_len + MRC_UDP_LEN)
		put16(ip + hdr_len + 4, wire_len - ip_off - hdr_len);
}

void mrc_fabric_frame_usid_shift(uint8_t *data, uint32_t len, uint32_t ip_off, uint16_t flags)
{
	uint8_t *dst = data + ip_off + IPV6_DST;
	uint8_t *srh = data + ip_off + MRC_IPV6_LEN;

	memmove(dst + 4, dst + 6, 10);
	put16(dst + 14, 0);
	/* RFC 8754: one segment left, and 16 bytes of it are there. */
	if (get16(dst + 4) == 0 && (flags & FRAME_SRH) && srh[3] == 1 &&
		len >= ip_off + MRC_IPV6_LEN + MRC_SRH_LEN) {
		srh[3] = 0;
		memcpy(dst, srh + 8, 16);
	}
}

uint32_t mrc_fabric_frame_decap(uint8_t *data, uint32_t ip_off, uint32_t inner_off, uint16_t flags)
{
	uint32_t strip = inner_off - ip_off;
	bool inner_v6 = data[inner_off] >> 4 == 6;
	uint8_t outer = tos_get(data + ip_off, true);
	uint8_t inner = tos_get(data + inner_off, inner_v6);

	/* The DSCP of the outer header says whether the packet was trimmed on the way, so it wins.
	 */
	if ((outer & 3) == MRC_ECN_CE)
		inner |= MRC_ECN_CE;
	tos_set(data + inner_off, inner_v6, (uint8_t)((outer & 0xFC) | (inner & 3)));
	memmove(data + strip, data, ip_off);
	put16(data + inner_off - 2, inner_v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
	return strip;
}
