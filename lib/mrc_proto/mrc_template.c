/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_template.c - L2-L4 headers: prepared once per (peer, plane), finished per packet with a copy
 * and a few stores.
 */
#include "mrc_assert.h"
#include "mrc_err.h"
#include "mrc_pkt.h"

#include "mrc_wire.h"

enum {
	SHORT_LEN = 64, /* holds every header without encapsulation, and most with a VLAN tag */
	/* Segments left when sent: the destination address comes first, the one segment second. */
	SRH_SEGMENTS_LEFT = 1,
};

static uint8_t *put_ether(uint8_t *p, const struct mrc_flow *flow, uint32_t ethertype)
{
	p = put_bytes(p, flow->dmac, sizeof(flow->dmac));
	p = put_bytes(p, flow->smac, sizeof(flow->smac));
	if (flow->flags & MRC_PKT_VLAN) {
		p = put16(p, ETHERTYPE_VLAN);
		p = put16(p, flow->vlan_tci);
	}
	return put16(p, ethertype);
}

static uint8_t *put_ipv6(uint8_t *p, uint32_t next, uint32_t hop_limit, const struct mrc_gid *src,
	const struct mrc_gid *dst)
{
	p = put32(p, 6u << 28);
	p = put16(p, 0); /* length, with each packet */
	p = put8(p, next);
	p = put8(p, hop_limit);
	p = put_bytes(p, src->raw, sizeof(src->raw));
	return put_bytes(p, dst->raw, sizeof(dst->raw));
}

/* Packets are never fragmented (DF), so their identification may be constant (RFC 6864). */
static uint8_t *put_ipv4(uint8_t *p, const struct mrc_flow *flow)
{
	uint8_t *ip = p;
	uint16_t sum;

	p = put16(p, 0x4500);
	p = put16(p, 0); /* length, with each packet */
	p = put16(p, 0);
	p = put16(p, IPV4_DF);
	p = put8(p, flow->ttl);
	p = put8(p, PROTO_UDP);
	p = put16(p, 0);
	p = put_bytes(p, flow->src.raw + 12, 4);
	p = put_bytes(p, flow->dst.raw + 12, 4);
	/* Not complemented: the base from which ipv4_finish continues. */
	sum = (uint16_t)ipv4_sum(ip);
	memcpy(ip + 10, &sum, sizeof(sum));
	return p;
}

static uint8_t *put_srh(uint8_t *p)
{
	p = put8(p, PROTO_IPV6);
	p = put8(p, SRH_EXT_LEN);
	p = put8(p, SRH_TYPE);
	p = put8(p, SRH_SEGMENTS_LEFT);
	return put_zero(p, 4 + 16); /* last entry, flags, tag; segment, with each packet */
}

/* spec */
int mrc_template_init(
	struct mrc_template *tmpl_out, const struct mrc_proto *proto, const struct mrc_flow *flow)
{
	struct mrc_template tmpl = {.flags = flow->flags};
	bool v4 = mrc_gid_is_v4(&flow->src);
	bool srv6 = flow->flags & MRC_PKT_SRV6;
	bool srh = flow->flags & MRC_PKT_SRH;
	uint8_t *p = tmpl.bytes;

	if (flow->flags & ~(MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH))
		return MRC_ERR_INVAL;
	if (mrc_gid_is_v4(&flow->dst) != v4 || (srv6 && v4) || (srh && !srv6))
		return MRC_ERR_INVAL;
	p = put_ether(p, flow, v4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	tmpl.outer_off = (uint16_t)(p - tmpl.bytes);
	if (srv6) {
		p = put_ipv6(p, srh ? PROTO_ROUTING : PROTO_IPV6, flow->ttl, &flow->outer_src,
			&(struct mrc_gid){0});
		if (srh)
			p = put_srh(p);
	}
	tmpl.ip_off = (uint16_t)(p - tmpl.bytes);
	if (v4)
		p = put_ipv4(p, flow);
	else
		p = put_ipv6(p, PROTO_UDP, flow->ttl, &flow->src, &flow->dst);
	p = put16(p, 0); /* source port, with each packet */
	p = put16(p, proto->choice.udp_port);
	p = put_zero(p, 4); /* length, with each packet; no checksum */
	tmpl.len = (uint16_t)(p - tmpl.bytes);
	tmpl.flags |= v4 ? 0 : MRC_PKT_V6;
	*tmpl_out = tmpl;
	return MRC_OK;
}

/*
 * Fills type of service and length, and continues the checksum over the two. Its base is taken from
 * the template, not from the copy: reading back what was stored a moment ago waits until the store
 * has reached the cache, and when another core had that line, that is long.
 */
static inline void ipv4_finish(
	const struct mrc_template *tmpl, uint8_t *ip, uint32_t tos, uint32_t total_len)
{
	uint16_t base;
	uint32_t sum;

	memcpy(&base, tmpl->bytes + tmpl->ip_off + 10, sizeof(base));
	ip[1] = (uint8_t)tos;
	put16(ip + 2, total_len);
	sum = base + (tos << 8) + __builtin_bswap16((uint16_t)total_len);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = ~((sum & 0xFFFF) + (sum >> 16));
	base = (uint16_t)sum;
	memcpy(ip + 10, &base, sizeof(base));
}

static inline void ipv6_finish(uint8_t *ip, uint32_t tclass, uint32_t label, uint32_t len)
{
	put32(ip, 6u << 28 | tclass << 20 | label);
	put16(ip + 4, len);
}

static void srv6_finish(const struct mrc_template *tmpl, const struct mrc_proto *proto,
	const struct mrc_template_vary *vary, uint8_t *hdr, uint32_t tclass, uint32_t label)
{
	uint8_t *outer = hdr + tmpl->outer_off;
	uint32_t len = tmpl->len - tmpl->outer_off - MRC_IPV6_LEN + vary->body_len;

	ipv6_finish(outer, tclass, proto->choice.srv6_label_copy ? label : 0, len);
	if (vary->srv6_dst != NULL)
		memcpy(outer + 24, vary->srv6_dst->raw, 16);
	if (tmpl->flags & MRC_PKT_SRH && vary->srv6_seg != NULL)
		memcpy(outer + MRC_IPV6_LEN + 8, vary->srv6_seg->raw, 16);
}

/* spec */
uint32_t mrc_template_put(const struct mrc_template *tmpl, const struct mrc_proto *proto,
	const struct mrc_template_vary *vary, uint8_t *hdr)
{
	const struct mrc_choice *choice = &proto->choice;
	uint32_t tclass;
	uint32_t udp_len = (uint32_t)MRC_UDP_LEN + vary->body_len;
	uint8_t *ip = hdr + tmpl->ip_off;
	uint8_t *udp = hdr + tmpl->len - MRC_UDP_LEN;
	uint32_t high = vary->ev >> 16, low = vary->ev & 0xFFFF;

	MRC_ASSERT(vary->cls < MRC_NB_CLASSES);
	tclass = (uint32_t)proto->dscp[vary->cls] << 2 | vary->ecn;
	memcpy(hdr, tmpl->bytes, SHORT_LEN);
	if (__builtin_expect(tmpl->len > SHORT_LEN, 0))
		memcpy(hdr + SHORT_LEN, tmpl->bytes + SHORT_LEN, SHORT_LEN * 2);
	if (tmpl->flags & MRC_PKT_V6) {
		/* O-3: the two halves of the EV. */
		uint32_t label = choice->ev_label_is_high ? high : low;

		ipv6_finish(ip, tclass, label, udp_len);
		put16(udp, choice->ev_label_is_high ? low : high);
		if (tmpl->flags & MRC_PKT_SRV6)
			srv6_finish(tmpl, proto, vary, hdr, tclass, label);
	} else {
		ipv4_finish(tmpl, ip, tclass, MRC_IPV4_LEN + udp_len);
		put16(udp, choice->ipv4_ev_high_half ? high : low);
	}
	put16(udp + 4, udp_len);
	return tmpl->len;
}
