/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_encode.c - a view to headers, the inverse of mrc_decode.c.
 */
#include "mrc_err.h"
#include "mrc_icrc.h"
#include "mrc_pkt.h"

#include "mrc_wire.h"

enum {
	L4_MAX_LEN = 65535,
};

/* spec */
static inline uint8_t *put_bth(const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint8_t *p)
{
	uint32_t flags = pkt->flags;
	uint32_t se = proto->choice.bth_se_first ? 0x80 : 0x40;
	bool ts = flags & MRC_PKT_TS && mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE;
	uint32_t bits = (flags & MRC_PKT_ACKREQ ? 0x80u : 0) | (flags & MRC_PKT_RTX ? 0x20u : 0) |
			(ts ? 0x10u : 0);

	p = put8(p, pkt->opcode);
	p = put8(p, (flags & MRC_PKT_SE ? se : 0) | (flags & MRC_PKT_MIGREQ ? se ^ 0xC0 : 0) |
			    (pkt->pad & 3u) << 4);
	p = put16(p, proto->pkey);
	p = put32(p, pkt->dqpn & 0xFFFFFF);
	return put32(p, bits << 24 | (pkt->psn.v & MRC_PSN_MASK));
}

static inline uint8_t *put_stamp(uint8_t *p, uint32_t flags, uint32_t timestamp, uint32_t ftype)
{
	p = put16(p, timestamp);
	return put16(p, (flags & MRC_PKT_TSR ? 0x8000u : 0) | ftype);
}

/* ftype of PETH and ERTH: the flag says it as well as the member. */
static inline uint32_t stamp_type(uint32_t flags, uint32_t ftype)
{
	return flags & MRC_PKT_TS ? TSETH_FTYPE : ftype & 0xF;
}

/* spec */
static inline uint8_t *put_write(const struct mrc_pkt *pkt, uint32_t row_flags, uint8_t *p)
{
	const struct mrc_pkt_write *write = &pkt->write;

	p = put16(p, write->rqmsn.v);
	p = put16(p, write->msn.v);
	if (pkt->flags & MRC_PKT_TS)
		p = put_stamp(p, pkt->flags, write->timestamp, TSETH_FTYPE);
	p = put64(p, write->va);
	p = put32(p, write->rkey);
	p = put32(p, write->dma_len);
	if (row_flags & MRC_OPF_IMMDT)
		p = put_bytes(p, write->imm, sizeof(write->imm));
	return p;
}

/* spec */
static inline uint8_t *put_sack(const struct mrc_pkt_sack *sack, uint8_t *p)
{
	p = put8(p, 0);
	p = put8(p, (sack->m & 3u) << 5 | (sack->probe ? 2u : 0));
	p = put16(p, sack->probe ? sack->probe_id : (uint16_t)sack->ack_offset);
	p = put32(p, sack->entropy);
	p = put16(p, sack->spdcid);
	p = put16(p, sack->dpdcid);
	p = put32(p, sack->cack.v & MRC_PSN_MASK);
	p = put8(p, (sack->cc_type & 0xFu) << 4 | (sack->cc_flags & 0xFu));
	p = put8(p, sack->mpr);
	p = put16(p, (uint16_t)sack->sack_offset);
	p = put64(p, sack->bitmap);
	p = put16(p, sack->timestamp);
	p = put16(p, sack->ooo_count & 0x7FFFu);
	return put32(p, (sack->restore_cwnd ? 1u << 31 : 0) | (sack->rcv_cwnd_pen & 0x7Fu) << 24 |
				(sack->rcvd_units & 0xFFFFFF));
}

/* spec */
static uint8_t *put_nack(const struct mrc_pkt_nack *nack, uint8_t *p)
{
	p = put16(p, 0);
	p = put8(p, nack->reason);
	p = put8(p, nack->vendor_info);
	p = put32(p, nack->entropy);
	p = put16(p, nack->spdcid);
	p = put16(p, nack->dpdcid);
	p = put32(p, nack->psn.v & MRC_PSN_MASK);
	p = put8(p, (nack->cc_type & 0xFu) << 4 | (nack->cc_flags & 0xFu));
	p = put8(p, 0);
	return put16(p, nack->timestamp);
}

/* spec */
static uint8_t *put_probe(const struct mrc_pkt *pkt, uint8_t *p)
{
	const struct mrc_pkt_probe *probe = &pkt->probe;

	p = put_zero(p, 3);
	p = put8(p, probe->vendor_info);
	p = put16(p, probe->probe_id);
	p = put16(p, 0);
	p = put16(p, probe->spdcid);
	p = put16(p, probe->dpdcid);
	return put_stamp(p, pkt->flags, probe->timestamp, stamp_type(pkt->flags, probe->ftype));
}

/* spec */
static uint8_t *put_ep_req(const struct mrc_pkt *pkt, uint8_t *p)
{
	const struct mrc_pkt_ep *ep = &pkt->ep;

	p = put16(p, ep->op & 3u);
	p = put8(p, 0);
	p = put8(p, ep->vendor_info);
	p = put32(p, (ep->op & 3) == MRC_EP_PORT_STATUS ? ep->port_mask : 0);
	p = put32(p, 0);
	return put_stamp(p, pkt->flags, ep->timestamp, stamp_type(pkt->flags, ep->ftype));
}

/* spec */
static uint8_t *put_ep_rsp(const struct mrc_proto *proto, const struct mrc_pkt_ep *ep, uint8_t *p)
{
	p = put16(p, (ep->op & 3u) << proto->choice.eeth_op_shift);
	p = put_zero(p, 26);
	p = put16(p, ep->timestamp);
	return put_zero(p, 6);
}

uint8_t *mrc_pkt_put_transport(const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint8_t *p)
{
	uint32_t row_flags = mrc_opcode_table[pkt->opcode].flags;
	uint8_t *bth = p;

	p = put_bth(proto, pkt, p);
	if (row_flags & MRC_OPF_WRITE)
		return put_write(pkt, row_flags, p);
	switch (pkt->opcode) {
	case MRC_OP_SACK:
		return put_sack(&pkt->sack, p);
	case MRC_OP_ACK:
		p = put8(p, pkt->ack.syndrome);
		return put24(p, pkt->ack.msn);
	case MRC_OP_NACK:
		return put_nack(&pkt->nack, p);
	case MRC_OP_PROBE:
		if (proto->choice.probe_id_in_psn)
			put24(bth + 9, pkt->probe.probe_id);
		return put_probe(pkt, p);
	case MRC_OP_EP_REQ:
		return put_ep_req(pkt, p);
	case MRC_OP_EP_RSP:
		return put_ep_rsp(proto, &pkt->ep, p);
	}
	return p;
}

static bool is_encodable(const struct mrc_pkt *pkt, const struct mrc_opcode_row *row)
{
	bool write = row->flags & MRC_OPF_WRITE;

	if (row->name == NULL || pkt->cls > MRC_CLASS_OTHER || pkt->dscp > 63 || pkt->ecn > 3)
		return false;
	if (!write && (pkt->payload_len != 0 || pkt->pad != 0 || pkt->flags & MRC_PKT_TRIMMED))
		return false;
	return !(pkt->flags & MRC_PKT_V6) == mrc_gid_is_v4(&pkt->src);
}

/* The settings with the view's own DSCP where it belongs to no class. */
static int put_l2_l4(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint32_t body_len, uint8_t *hdr)
{
	struct mrc_flow flow = {
		.vlan_tci = pkt->vlan_tci,
		.ttl = pkt->ttl,
		.flags = pkt->flags & (MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH),
		.src = pkt->src,
		.dst = pkt->dst,
		.outer_src = pkt->outer_src,
	};
	struct mrc_template_vary vary = {
		.ev = pkt->ev,
		.cls = pkt->cls,
		.ecn = pkt->ecn,
		.body_len = (uint16_t)body_len,
		.srv6_dst = &pkt->outer_dst,
		.srv6_seg = &pkt->srh_seg,
	};
	struct mrc_proto own = *proto;
	struct mrc_template tmpl;
	int err;

	memcpy(flow.dmac, pkt->dmac, sizeof(flow.dmac));
	memcpy(flow.smac, pkt->smac, sizeof(flow.smac));
	own.dscp[MRC_CLASS_OTHER] = pkt->dscp;
	err = mrc_template_init(&tmpl, proto, &flow);
	if (err != MRC_OK)
		return err;
	return (int)mrc_template_put(&tmpl, &own, &vary, hdr);
}

int mrc_pkt_encode(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint8_t *buf, uint32_t room)
{
	const struct mrc_opcode_row *row = &mrc_opcode_table[pkt->opcode];
	bool trimmed = pkt->flags & MRC_PKT_TRIMMED;
	struct mrc_pkt own = *pkt;
	uint8_t transport[MRC_BTH_LEN + MRC_SETH_LEN + MRC_CC_STATE_LEN];
	uint8_t hdr[MRC_HDR_ROOM];
	uint32_t transport_len, body_len;
	int len;

	if (!is_encodable(pkt, row))
		return MRC_ERR_INVAL;
	if (!trimmed)
		own.pad = -pkt->payload_len & 3;
	transport_len = (uint32_t)(mrc_pkt_put_transport(proto, &own, transport) - transport);
	if (pkt->pkey != 0)
		put16(transport + 2, pkt->pkey);
	body_len = transport_len + pkt->payload_len + own.pad + MRC_ICRC_LEN;
	if (trimmed && pkt->udp_len >= MRC_UDP_LEN)
		body_len = pkt->udp_len - (uint32_t)MRC_UDP_LEN;
	if (body_len + sizeof(hdr) > L4_MAX_LEN)
		return MRC_ERR_INVAL;
	len = put_l2_l4(proto, pkt, body_len, hdr);
	if (len < 0)
		return len;
	if ((uint32_t)len + transport_len > room)
		return MRC_ERR_SPACE;
	memcpy(buf, hdr, (size_t)len);
	memcpy(buf + len, transport, transport_len);
	return len + (int)transport_len;
}

uint32_t mrc_pkt_finish(uint8_t *buf, uint32_t ip_off, uint32_t hdr_len, uint32_t payload_len)
{
	uint32_t pad = -payload_len & 3;
	uint8_t *end = put_zero(buf + hdr_len + payload_len, pad);
	uint32_t sum = mrc_icrc_header(buf + ip_off, hdr_len - ip_off);

	if (payload_len != 0)
		sum = mrc_icrc_update(sum, buf + hdr_len, payload_len + pad);
	mrc_icrc_store(end, sum);
	return hdr_len + payload_len + pad + MRC_ICRC_LEN;
}

/* spec */
void mrc_pkt_init(const struct mrc_proto *proto, enum mrc_opcode opcode, struct mrc_pkt *pkt_out)
{
	const struct mrc_choice *choice = &proto->choice;

	*pkt_out = (struct mrc_pkt){
		.opcode = (uint8_t)opcode,
		.flags = choice->tsr ? MRC_PKT_TSR : 0,
		.pkey = proto->pkey,
		.ttl = 64,
	};
	switch (opcode) {
	case MRC_OP_WRITE_FIRST:
	case MRC_OP_WRITE_MIDDLE:
	case MRC_OP_WRITE_LAST:
	case MRC_OP_WRITE_LAST_IMM:
	case MRC_OP_WRITE_ONLY:
	case MRC_OP_WRITE_ONLY_IMM:
		pkt_out->cls = MRC_CLASS_TRIMMABLE;
		pkt_out->ecn = MRC_ECN_ECT0;
		pkt_out->flags |= MRC_PKT_TS;
		return;
	case MRC_OP_ACK:
		pkt_out->ack.syndrome = MRC_AETH_ACK;
		break;
	case MRC_OP_SACK:
		break;
	case MRC_OP_NACK:
		pkt_out->nack.cc_type = (uint8_t)choice->nack_cc_type;
		pkt_out->nack.cc_flags = (uint8_t)choice->nack_cc_flags;
		pkt_out->nack.vendor_info = (uint8_t)choice->vendor_info;
		break;
	case MRC_OP_PROBE:
		pkt_out->cls = MRC_CLASS_TRIMMABLE;
		pkt_out->ecn = MRC_ECN_ECT0;
		pkt_out->probe.ftype = TSETH_FTYPE;
		pkt_out->probe.vendor_info = (uint8_t)choice->vendor_info;
		return;
	case MRC_OP_EP_REQ:
		pkt_out->ep.ftype = TSETH_FTYPE;
		pkt_out->ep.vendor_info = (uint8_t)choice->vendor_info;
		pkt_out->dqpn = MRC_QPN_ENDPOINT;
		return;
	case MRC_OP_EP_RSP:
		pkt_out->dqpn = MRC_QPN_ENDPOINT;
		break;
	}
	pkt_out->cls = MRC_CLASS_CONTROL;
}
