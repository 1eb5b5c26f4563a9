/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_decode.c - a received frame to a view.
 *
 * One function per layer; each checks, fills its part of the view and moves `off` behind its
 * header. Everything is inlined into mrc_pkt_decode, which stays one straight path for untagged
 * IPv4 and IPv6. The checks stand in the order of enum mrc_drop.
 */
#include "mrc_icrc.h"
#include "mrc_pkt.h"

#include "mrc_reserved.h"
#include "mrc_wire.h"

/* Where the walk over the headers stands. */
struct walk {
	const uint8_t *frame;
	uint32_t off; /* of the next header */
	/* First byte that does not belong to the packet: the frame's end, then the IP packet's.
	 * Nothing at or behind it is read. */
	uint32_t end;
	uint32_t flags; /* enum mrc_pkt_flag */
	uint32_t label; /* IPv6 flow label, 20 bits */
	bool cut;       /* of a trimmed packet: its lengths disagree */
};

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint32_t left(const struct walk *w)
{
	return w->end - w->off;
}

static inline enum mrc_drop decode_ether(
	struct walk *w, struct mrc_pkt *pkt, uint32_t *ethertype_out)
{
	const uint8_t *p = w->frame;
	uint32_t type;

	if (UNLIKELY(left(w) < MRC_ETH_LEN))
		return MRC_DROP_FRAME_SHORT;
	memcpy(pkt->dmac, p, 6);
	memcpy(pkt->smac, p + 6, 6);
	type = get16(p + 12);
	w->off = MRC_ETH_LEN;
	if (UNLIKELY(type == ETHERTYPE_VLAN)) {
		if (left(w) < MRC_VLAN_LEN)
			return MRC_DROP_FRAME_SHORT;
		pkt->vlan_tci = get16(p + MRC_ETH_LEN);
		type = get16(p + MRC_ETH_LEN + 2);
		w->off = MRC_ETH_LEN + MRC_VLAN_LEN;
		w->flags |= MRC_PKT_VLAN;
		if (type == ETHERTYPE_VLAN)
			return MRC_DROP_VLAN_STACKED;
	}
	/* Service tags exist only as the outer one of two. */
	if (UNLIKELY(type == ETHERTYPE_QINQ || type == ETHERTYPE_QINQ_OLD))
		return MRC_DROP_VLAN_STACKED;
	*ethertype_out = type;
	return MRC_KEEP;
}

/* Class of the outermost IP header, before anything that depends on completeness (3.11 of
 * doc/protocol.md): a trimmed packet has lost its end.
 * spec */
static inline void classify(
	const struct mrc_proto *proto, uint32_t tclass, struct walk *w, struct mrc_pkt *pkt)
{
	uint32_t cls = proto->class_of_dscp[tclass >> 2 & 63];

	pkt->dscp = (uint8_t)(tclass >> 2 & 63);
	pkt->ecn = tclass & 3;
	pkt->cls = (uint8_t)cls;
	if ((tclass & 3) == MRC_ECN_CE)
		w->flags |= MRC_PKT_CE;
	if (UNLIKELY(cls == MRC_CLASS_TRIMMED || cls == MRC_CLASS_TRIMMED_LASTHOP))
		w->flags |= MRC_PKT_TRIMMED;
}

/*
 * Ends the packet where its IP header says, `len` bytes behind `off`. Bytes behind it (Ethernet
 * padding) are no part of the packet. A trimmed packet may still carry its first length.
 */
static inline enum mrc_drop end_at(struct walk *w, uint32_t len)
{
	if (UNLIKELY(len > left(w))) {
		if (!(w->flags & MRC_PKT_TRIMMED))
			return MRC_DROP_IP_LENGTH;
		len = left(w);
		w->cut = true;
	}
	w->end = w->off + len;
	return MRC_KEEP;
}

static inline void gid_from_v4(struct mrc_gid *gid, const uint8_t *addr)
{
	memset(gid->raw, 0, 8);
	memcpy(gid->raw + 8, (const uint8_t[4]){0, 0, 0xFF, 0xFF}, 4);
	memcpy(gid->raw + 12, addr, 4);
}

static inline enum mrc_drop decode_ipv4(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const uint8_t *ip = w->frame + w->off;
	uint32_t total_len;
	enum mrc_drop drop;

	if (UNLIKELY(left(w) < MRC_IPV4_LEN))
		return MRC_DROP_IP_SHORT;
	if (UNLIKELY(ip[0] != 0x45))
		return ip[0] >> 4 != 4 ? MRC_DROP_IP_VERSION : MRC_DROP_IP_OPTIONS;
	if (UNLIKELY(get16(ip + 6) & IPV4_FRAGMENT))
		return MRC_DROP_IP_FRAGMENT;
	if (UNLIKELY(ipv4_sum(ip) != 0xFFFF))
		return MRC_DROP_IP_CHECKSUM;
	classify(proto, ip[1], w, pkt);
	total_len = get16(ip + 2);
	if (UNLIKELY(total_len < MRC_IPV4_LEN))
		return MRC_DROP_IP_LENGTH;
	drop = end_at(w, total_len);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	if (UNLIKELY(ip[9] != PROTO_UDP))
		return MRC_DROP_NOT_UDP;
	pkt->ttl = ip[8];
	pkt->ip_off = (uint16_t)w->off;
	gid_from_v4(&pkt->src, ip + 12);
	gid_from_v4(&pkt->dst, ip + 16);
	w->off += MRC_IPV4_LEN;
	return MRC_KEEP;
}

/* IPv6 extension headers that MRC packets never have. */
static bool is_extension(uint32_t next)
{
	return next == PROTO_HOPOPT || next == PROTO_DSTOPTS || next == PROTO_AH ||
	       next == PROTO_ESP || next == PROTO_MOBILITY || next == PROTO_HIP ||
	       next == PROTO_SHIM6;
}

/* Anything but UDP behind the outer IPv6 header: SRv6 encapsulation or not ours. */
static enum mrc_drop decode_not_plain_v6(uint32_t next, const uint8_t *behind, uint32_t len)
{
	if (is_extension(next))
		return MRC_DROP_IP_OPTIONS;
	if (next == PROTO_ROUTING && len > 2 && behind[2] != SRH_TYPE)
		return MRC_DROP_IP_OPTIONS;
	if (next == PROTO_FRAGMENT)
		return MRC_DROP_IP_FRAGMENT;
	return MRC_KEEP;
}

/* RFC 8754 with one segment; `off` stands on it. Flags and tag are reserved to us. */
static enum mrc_drop decode_srh(struct walk *w, struct mrc_pkt *pkt)
{
	const uint8_t *srh = w->frame + w->off;

	if (left(w) < MRC_SRH_LEN || srh[0] != PROTO_IPV6 || srh[1] != SRH_EXT_LEN)
		return MRC_DROP_SRV6_BAD;
	if (srh[3] > 1 || srh[4] != 0) /* segments left, last entry */
		return MRC_DROP_SRV6_BAD;
	memcpy(pkt->srh_seg.raw, srh + 8, 16);
	w->flags |= MRC_PKT_SRH;
	w->off += MRC_SRH_LEN;
	return MRC_KEEP;
}

/* The outer header stands at `outer` and is checked; `off` is behind it. Ends with the inner one.
 * spec */
static enum mrc_drop decode_srv6(
	struct walk *w, struct mrc_pkt *pkt, const uint8_t *outer, uint32_t *next_out)
{
	const uint8_t *ip;
	uint32_t len;

	memcpy(pkt->outer_src.raw, outer + 8, 16);
	memcpy(pkt->outer_dst.raw, outer + 24, 16);
	w->flags |= MRC_PKT_SRV6;
	if (outer[6] == PROTO_ROUTING) {
		enum mrc_drop drop = decode_srh(w, pkt);

		if (drop != MRC_KEEP)
			return drop;
	}
	ip = w->frame + w->off;
	if (left(w) < MRC_IPV6_LEN || ip[0] >> 4 != 6)
		return MRC_DROP_SRV6_BAD;
	pkt->ip_off = (uint16_t)w->off;
	w->off += MRC_IPV6_LEN;
	len = get16(ip + 4);
	if (w->flags & MRC_PKT_TRIMMED) {
		w->cut |= len != left(w);
		if (len < left(w))
			w->end = w->off + len;
	} else if (len != left(w)) {
		return MRC_DROP_SRV6_BAD;
	}
	*next_out = ip[6];
	return MRC_KEEP;
}

static inline enum mrc_drop decode_ipv6(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const uint8_t *ip = w->frame + w->off;
	uint32_t first, next;
	enum mrc_drop drop;

	if (UNLIKELY(left(w) < MRC_IPV6_LEN))
		return MRC_DROP_IP_SHORT;
	first = get32(ip);
	if (UNLIKELY(first >> 28 != 6))
		return MRC_DROP_IP_VERSION;
	classify(proto, first >> 20 & 0xFF, w, pkt);
	pkt->ip_off = (uint16_t)w->off;
	w->off += MRC_IPV6_LEN;
	next = ip[6];
	if (UNLIKELY(next != PROTO_UDP)) {
		drop = decode_not_plain_v6(next, ip + MRC_IPV6_LEN, left(w));
		if (drop != MRC_KEEP)
			return drop;
	}
	drop = end_at(w, get16(ip + 4));
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	if (UNLIKELY(next == PROTO_IPV6 || next == PROTO_ROUTING || next == PROTO_IPV4)) {
		if (next == PROTO_IPV4)
			return MRC_DROP_SRV6_BAD;
		drop = decode_srv6(w, pkt, ip, &next);
		if (drop != MRC_KEEP)
			return drop;
		ip = w->frame + pkt->ip_off;
		first = get32(ip);
	}
	if (UNLIKELY(next != PROTO_UDP))
		return MRC_DROP_NOT_UDP;
	w->flags |= MRC_PKT_V6;
	w->label = first & 0xFFFFF;
	pkt->ttl = ip[7];
	memcpy(pkt->src.raw, ip + 8, 16);
	memcpy(pkt->dst.raw, ip + 24, 16);
	return MRC_KEEP;
}

/* The EV out of source port and flow label (O-3, O-4). spec */
static inline uint32_t ev_join(const struct mrc_choice *choice, const struct walk *w, uint32_t port)
{
	if (w->flags & MRC_PKT_V6) {
		uint32_t label = w->label & 0xFFFF;

		return choice->ev_label_is_high ? label << 16 | port : port << 16 | label;
	}
	return choice->ipv4_ev_high_half ? port << 16 : port;
}

/* spec */
static inline enum mrc_drop decode_udp(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const struct mrc_choice *choice = &proto->choice;
	const uint8_t *udp = w->frame + w->off;
	uint32_t dport, udp_len;

	if (UNLIKELY(left(w) < MRC_UDP_LEN))
		return MRC_DROP_UDP_SHORT;
	dport = get16(udp + 2);
	if (UNLIKELY(dport != choice->udp_port &&
		     (dport != choice->udp_port_alt || choice->udp_port_alt == 0)))
		return MRC_DROP_UDP_PORT;
	udp_len = get16(udp + 4);
	if (UNLIKELY(udp_len != left(w)) && !(w->flags & MRC_PKT_TRIMMED))
		return MRC_DROP_UDP_LENGTH;
	pkt->udp_len = (uint16_t)udp_len;
	pkt->ev = ev_join(choice, w, get16(udp));
	if (UNLIKELY(w->flags & MRC_PKT_TRIMMED)) {
		w->cut |= udp_len != left(w);
		/* Whichever of the lengths the switch mended, the least one holds. */
		if (udp_len < left(w))
			w->end = w->off + udp_len;
		if (left(w) < choice->trim_min_len)
			return MRC_DROP_TRIM_SHORT;
		if (!(mrc_opcode_table[udp[MRC_UDP_LEN]].flags & MRC_OPF_WRITE)) {
			if (w->cut)
				return MRC_DROP_TRIM_OPCODE;
			/* Too short to be cut, only its class was changed: nothing lacks. */
			w->flags &= ~(uint32_t)MRC_PKT_TRIMMED;
		}
	}
	w->off += MRC_UDP_LEN;
	return MRC_KEEP;
}

/* spec */
static inline enum mrc_drop decode_bth(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const uint8_t *bth = w->frame + w->off;
	uint32_t se = proto->choice.bth_se_first ? 0x80 : 0x40;
	uint32_t word;

	if (UNLIKELY(left(w) < MRC_BTH_LEN))
		return MRC_DROP_BTH_SHORT;
	if (UNLIKELY(bth[1] & 0x0F))
		return MRC_DROP_BTH_VERSION;
	if (UNLIKELY(mrc_opcode_table[bth[0]].flags == 0))
		return MRC_DROP_BTH_OPCODE;
	pkt->opcode = bth[0];
	pkt->pkey = get16(bth + 2);
	if (UNLIKELY((pkt->pkey ^ proto->pkey) & 0x7FFF) && proto->check_pkey)
		return MRC_DROP_BTH_PKEY;
	pkt->bth_off = (uint16_t)w->off;
	pkt->pad = bth[1] >> 4 & 3;
	w->flags |= bth[1] & se ? MRC_PKT_SE : 0;
	w->flags |= bth[1] & (se ^ 0xC0) ? MRC_PKT_MIGREQ : 0;
	pkt->dqpn = get32(bth + 4) & 0xFFFFFF;
	word = get32(bth + 8);
	w->flags |= word >> 31 ? MRC_PKT_ACKREQ : 0;
	w->flags |= word >> 29 & 1 ? MRC_PKT_RTX : 0;
	pkt->psn = mrc_psn(word);
	return MRC_KEEP;
}

/* tx_timestamp, tsr, 11 reserved bits, ftype: TSETH itself and the same four bytes in PETH, ERTH.
 */
static inline uint32_t read_stamp(const uint8_t *p, struct walk *w, uint16_t *timestamp_out)
{
	uint32_t word = get32(p);

	*timestamp_out = (uint16_t)(word >> 16);
	if (word & 0x8000)
		w->flags |= MRC_PKT_TSR;
	return word & 0xF;
}

/* spec */
static inline enum mrc_drop decode_write(
	struct walk *w, struct mrc_pkt *pkt, const struct mrc_opcode_row *row)
{
	const uint8_t *p = w->frame + w->off + MRC_BTH_LEN;
	bool ts = w->frame[w->off + 8] & 0x10;
	uint32_t hdr_len = MRC_BTH_LEN + row->ext_len + (ts ? MRC_TSETH_LEN : 0);
	struct mrc_pkt_write *write = &pkt->write;
	uint32_t rest;

	/* A trimmed packet holds up to TSETH by its own minimum; what lacks behind reads 0. */
	if (UNLIKELY(left(w) < hdr_len + MRC_ICRC_LEN) && !(w->flags & MRC_PKT_TRIMMED))
		return MRC_DROP_EXT_SHORT;
	write->rqmsn = mrc_msn(get16(p));
	write->msn = mrc_msn(get16(p + 2));
	write->timestamp = 0;
	p += MRC_METH_LEN;
	if (ts) {
		w->flags |= MRC_PKT_TS;
		if (UNLIKELY(read_stamp(p, w, &write->timestamp) != TSETH_FTYPE))
			return MRC_DROP_EXT_FTYPE;
		p += MRC_TSETH_LEN;
	}
	memset(write->imm, 0, sizeof(write->imm));
	rest = w->end - (uint32_t)(p - w->frame);
	if (UNLIKELY(rest < MRC_RETH_LEN)) {
		write->va = 0;
		write->rkey = 0;
		write->dma_len = 0;
		w->off = (uint32_t)(p - w->frame);
		return MRC_KEEP;
	}
	write->va = get64(p);
	write->rkey = get32(p + 8);
	write->dma_len = get32(p + 12);
	p += MRC_RETH_LEN;
	if (row->flags & MRC_OPF_IMMDT && rest >= MRC_RETH_LEN + MRC_IMMDT_LEN) {
		memcpy(write->imm, p, sizeof(write->imm));
		p += MRC_IMMDT_LEN;
	}
	w->off = (uint32_t)(p - w->frame);
	return MRC_KEEP;
}

static inline enum mrc_drop check_payload(
	const struct walk *w, struct mrc_pkt *pkt, const struct mrc_opcode_row *row)
{
	uint32_t len;

	pkt->payload_len = 0;
	if (UNLIKELY(w->flags & MRC_PKT_TRIMMED))
		return MRC_KEEP;
	len = left(w) - MRC_ICRC_LEN;
	if (UNLIKELY(len % 4 != 0 || pkt->pad > len))
		return MRC_DROP_PAD_BAD;
	/* First and Middle carry one path MTU, always a multiple of 4. */
	if (UNLIKELY(pkt->pad != 0 && row->flags & MRC_OPF_FULL))
		return MRC_DROP_PAD_BAD;
	pkt->payload_len = (uint16_t)(len - pkt->pad);
	return MRC_KEEP;
}

/* Tables 7-14, 7-15 (SETH) and 7-12, 7-13 (CC_STATE). spec */
static inline enum mrc_drop decode_sack(const uint8_t *p, struct mrc_pkt_sack *sack)
{
	const uint8_t *cc = p + MRC_SETH_LEN;

	sack->m = p[1] >> 5 & 3;
	if (UNLIKELY(sack->m == 3))
		return MRC_DROP_EXT_RESERVED_M;
	sack->probe = p[1] >> 1 & 1;
	sack->ack_offset = sack->probe ? 0 : (int16_t)get16(p + 2);
	sack->probe_id = sack->probe ? get16(p + 2) : 0;
	sack->entropy = get32(p + 4);
	sack->spdcid = get16(p + 8);
	sack->dpdcid = get16(p + 10);
	sack->cack = mrc_psn(get32(p + 12));
	sack->cc_type = p[16] >> 4;
	sack->cc_flags = p[16] & 0xF;
	sack->mpr = p[17];
	sack->sack_offset = (int16_t)get16(p + 18);
	sack->bitmap = get64(p + 20);
	sack->timestamp = get16(cc);
	sack->ooo_count = get16(cc + 2) & 0x7FFF;
	sack->restore_cwnd = cc[4] >> 7;
	sack->rcv_cwnd_pen = cc[4] & 0x7F;
	sack->rcvd_units = get32(cc + 4) & 0xFFFFFF;
	return MRC_KEEP;
}

/* Tables 7-16 and 7-17. spec */
static inline void decode_nack(const uint8_t *p, struct mrc_pkt_nack *nack)
{
	nack->reason = p[2];
	nack->vendor_info = p[3];
	nack->entropy = get32(p + 4);
	nack->spdcid = get16(p + 8);
	nack->dpdcid = get16(p + 10);
	nack->psn = mrc_psn(get32(p + 12));
	nack->cc_type = p[16] >> 4;
	nack->cc_flags = p[16] & 0xF;
	nack->timestamp = get16(p + 18);
}

/* PETH and ERTH end with the stamp; ftype 0 says that none is offered. */
static inline enum mrc_drop decode_stamp(
	const uint8_t *p, struct walk *w, uint8_t *ftype, uint16_t *timestamp)
{
	*ftype = (uint8_t)read_stamp(p, w, timestamp);
	if (*ftype > TSETH_FTYPE)
		return MRC_DROP_EXT_FTYPE;
	if (*ftype == TSETH_FTYPE)
		w->flags |= MRC_PKT_TS;
	return MRC_KEEP;
}

/* Tables 7-18 and 7-19. spec */
static enum mrc_drop decode_probe(const uint8_t *p, struct walk *w, struct mrc_pkt_probe *probe)
{
	probe->vendor_info = p[3];
	probe->probe_id = get16(p + 4);
	probe->spdcid = get16(p + 8);
	probe->dpdcid = get16(p + 10);
	return decode_stamp(p + 12, w, &probe->ftype, &probe->timestamp);
}

/* Tables 7-20 and 7-21. spec */
static enum mrc_drop decode_ep_req(const uint8_t *p, struct walk *w, struct mrc_pkt_ep *ep)
{
	ep->op = p[1] & 3;
	ep->vendor_info = p[3];
	ep->port_mask = ep->op == MRC_EP_PORT_STATUS ? get32(p + 4) : 0;
	return decode_stamp(p + 12, w, &ep->ftype, &ep->timestamp);
}

/* Tables 7-22 and 7-23; where the operation stands is disputed (O-6). spec */
static void decode_ep_rsp(const struct mrc_proto *proto, const uint8_t *p, struct mrc_pkt_ep *ep)
{
	*ep = (struct mrc_pkt_ep){
		.op = get16(p) >> proto->choice.eeth_op_shift & 3,
		.timestamp = get16(p + 28),
	};
}

static inline enum mrc_drop decode_control(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const uint8_t *p = w->frame + w->off + MRC_BTH_LEN;
	uint32_t hdr_len = MRC_BTH_LEN + mrc_opcode_table[pkt->opcode].ext_len;
	enum mrc_drop drop = MRC_KEEP;

	if (UNLIKELY(left(w) < hdr_len))
		return MRC_DROP_EXT_SHORT;
	switch (pkt->opcode) {
	case MRC_OP_SACK:
		drop = decode_sack(p, &pkt->sack);
		break;
	case MRC_OP_ACK:
		pkt->ack.syndrome = p[0];
		pkt->ack.msn = get24(p + 1);
		break;
	case MRC_OP_NACK:
		decode_nack(p, &pkt->nack);
		break;
	case MRC_OP_PROBE:
		drop = decode_probe(p, w, &pkt->probe);
		break;
	case MRC_OP_EP_REQ:
		drop = decode_ep_req(p, w, &pkt->ep);
		break;
	case MRC_OP_EP_RSP:
		decode_ep_rsp(proto, p, &pkt->ep);
		break;
	}
	w->off += hdr_len;
	return drop;
}

/* spec */
static inline enum mrc_drop check_control(const struct walk *w, struct mrc_pkt *pkt)
{
	pkt->payload_len = 0;
	if (UNLIKELY(pkt->pad != 0))
		return MRC_DROP_PAD_BAD;
	return left(w) == MRC_ICRC_LEN ? MRC_KEEP : MRC_DROP_CONTROL_LENGTH;
}

/* QP numbers 0, 1, 2 are no connections; endpoint operations go to number 2 only. spec,
 * */
static inline enum mrc_drop check_qpn(const struct mrc_pkt *pkt, const struct mrc_opcode_row *row)
{
	bool endpoint = row->flags & (MRC_OPF_ERTH | MRC_OPF_EETH);

	if (UNLIKELY(endpoint ? pkt->dqpn != MRC_QPN_ENDPOINT : pkt->dqpn <= MRC_QPN_ENDPOINT))
		return MRC_DROP_QPN_RESERVED;
	return MRC_KEEP;
}

static inline enum mrc_drop decode_transport(
	const struct mrc_proto *proto, struct walk *w, struct mrc_pkt *pkt)
{
	const struct mrc_opcode_row *row = &mrc_opcode_table[pkt->opcode];
	bool write = LIKELY(row->flags & MRC_OPF_WRITE);
	enum mrc_drop drop;

	drop = write ? decode_write(w, pkt, row) : decode_control(proto, w, pkt);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	pkt->payload_off = (uint16_t)w->off;
	if (UNLIKELY(proto->choice.reserved_check) &&
		mrc_reserved_set(&proto->choice, pkt, w->frame))
		return MRC_DROP_EXT_RESERVED;
	drop = write ? check_payload(w, pkt, row) : check_control(w, pkt);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	return check_qpn(pkt, row);
}

enum mrc_drop mrc_pkt_decode(
	const struct mrc_proto *proto, const uint8_t *frame, uint32_t len, struct mrc_pkt *pkt_out)
{
	struct walk w = {.frame = frame, .end = len};
	uint32_t ethertype = 0;
	enum mrc_drop drop;

	drop = decode_ether(&w, pkt_out, &ethertype);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	if (ethertype == ETHERTYPE_IPV6)
		drop = decode_ipv6(proto, &w, pkt_out);
	else if (ethertype == ETHERTYPE_IPV4)
		drop = decode_ipv4(proto, &w, pkt_out);
	else
		drop = MRC_DROP_ETHERTYPE;
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	drop = decode_udp(proto, &w, pkt_out);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	drop = decode_bth(proto, &w, pkt_out);
	if (UNLIKELY(drop != MRC_KEEP))
		return drop;
	drop = decode_transport(proto, &w, pkt_out);
	pkt_out->flags = (uint16_t)w.flags;
	return drop;
}

/* spec */
bool mrc_pkt_icrc_ok(const struct mrc_pkt *pkt, const uint8_t *frame)
{
	const uint8_t *payload = frame + pkt->payload_off;
	uint32_t len = (uint32_t)pkt->payload_len + pkt->pad;
	uint32_t sum = mrc_icrc_header(frame + pkt->ip_off, pkt->payload_off - pkt->ip_off);

	if (len != 0)
		sum = mrc_icrc_update(sum, payload, len);
	return sum == mrc_icrc_load(payload + len);
}
