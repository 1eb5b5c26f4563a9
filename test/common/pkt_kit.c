/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrc_icrc.h"
#include "pkt_kit.h"

static const uint8_t opcodes[PKT_KIT_NB_OPCODES] = {MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE,
	MRC_OP_WRITE_LAST, MRC_OP_WRITE_LAST_IMM, MRC_OP_WRITE_ONLY, MRC_OP_WRITE_ONLY_IMM,
	MRC_OP_ACK, MRC_OP_EP_REQ, MRC_OP_EP_RSP, MRC_OP_SACK, MRC_OP_NACK, MRC_OP_PROBE};

static const struct {
	const char *name;
	uint16_t flags;
} shapes[PKT_KIT_NB_SHAPES] = {
	{"v4", 0},
	{"v6", MRC_PKT_V6},
	{"srv6", MRC_PKT_V6 | MRC_PKT_SRV6},
	{"srh", MRC_PKT_V6 | MRC_PKT_SRV6 | MRC_PKT_SRH},
	{"v4-vlan", MRC_PKT_VLAN},
	{"v6-vlan", MRC_PKT_VLAN | MRC_PKT_V6},
	{"srv6-vlan", MRC_PKT_VLAN | MRC_PKT_V6 | MRC_PKT_SRV6},
	{"srh-vlan", MRC_PKT_VLAN | MRC_PKT_V6 | MRC_PKT_SRV6 | MRC_PKT_SRH},
};

void pkt_kit_case(uint32_t index, struct pkt_kit_case *case_out)
{
	bool trimmed = index >= PKT_KIT_NB_OPCODES * PKT_KIT_NB_SHAPES;
	uint32_t i = trimmed ? index - PKT_KIT_NB_OPCODES * PKT_KIT_NB_SHAPES : index;
	uint32_t shape = i % PKT_KIT_NB_SHAPES;

	assert(index < PKT_KIT_NB_CASES);
	case_out->opcode = opcodes[i / PKT_KIT_NB_SHAPES];
	case_out->flags = shapes[shape].flags | (trimmed ? MRC_PKT_TRIMMED : 0);
	snprintf(case_out->name, sizeof(case_out->name), "%s-%s%s",
		mrc_opcode_table[case_out->opcode].name, shapes[shape].name,
		trimmed ? "-trimmed" : "");
	for (char *c = case_out->name; *c != '\0'; c++)
		*c = (char)tolower(*c);
}

uint32_t pkt_kit_find(const char *name)
{
	struct pkt_kit_case kind;

	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		pkt_kit_case(i, &kind);
		if (strcmp(kind.name, name) == 0)
			return i;
	}
	fprintf(stderr, "no packet '%s' in the kit\n", name);
	abort();
}

static struct mrc_gid gid_v4(uint8_t last)
{
	return (struct mrc_gid){{[10] = 0xFF, [11] = 0xFF, 192, 0, 2, last}};
}

static struct mrc_gid gid_v6(uint8_t net, uint8_t last)
{
	return (struct mrc_gid){{0x20, 0x01, 0x0D, 0xB8, net, 0xA1, 0xB2, 0xC3, 0xD4, [15] = last}};
}

static void view_addresses(const struct pkt_kit_case *kind, struct mrc_pkt *pkt)
{
	static const uint8_t dmac[6] = {0x02, 0x11, 0x12, 0x13, 0x14, 0x15};
	static const uint8_t smac[6] = {0x02, 0x21, 0x22, 0x23, 0x24, 0x25};
	bool v6 = kind->flags & MRC_PKT_V6;

	memcpy(pkt->dmac, dmac, sizeof(dmac));
	memcpy(pkt->smac, smac, sizeof(smac));
	pkt->src = v6 ? gid_v6(1, 0x31) : gid_v4(31);
	pkt->dst = v6 ? gid_v6(2, 0x42) : gid_v4(142);
	if (kind->flags & MRC_PKT_VLAN)
		pkt->vlan_tci = 0x6005;
	if (kind->flags & MRC_PKT_SRV6) {
		pkt->outer_src = gid_v6(3, 0x53);
		pkt->outer_dst = gid_v6(4, 0x64);
	}
	if (kind->flags & MRC_PKT_SRH)
		pkt->srh_seg = gid_v6(5, 0x75);
}

static void view_write(struct mrc_pkt *pkt, uint16_t payload_len)
{
	pkt->payload_len = payload_len;
	pkt->pad = -payload_len & 3;
	pkt->flags |= MRC_PKT_ACKREQ | MRC_PKT_RTX | MRC_PKT_TS;
	pkt->write = (struct mrc_pkt_write){
		.va = 0x0102030405060708,
		.rkey = 0x11121314,
		.dma_len = 0x21222324,
		.msn = mrc_msn(0x3132),
		.rqmsn = mrc_msn(0x4142),
		.timestamp = 0x5152,
	};
	if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_IMMDT)
		memcpy(pkt->write.imm, "\x61\x62\x63\x64", 4);
	if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_LAST)
		pkt->flags |= MRC_PKT_SE;
}

static void view_sack(struct mrc_pkt_sack *sack)
{
	*sack = (struct mrc_pkt_sack){
		.m = MRC_M_ALWAYS_SKIP,
		.ack_offset = -0x102,
		.spdcid = 0x1112,
		.dpdcid = 0x2122,
		.cc_flags = 9,
		.mpr = 31,
		.restore_cwnd = 1,
		.rcv_cwnd_pen = 0x65,
		.sack_offset = -0x302,
		.ooo_count = 0x4142,
		.timestamp = 0x5152,
		.entropy = 0x61626364,
		.rcvd_units = 0x717273,
		.bitmap = 0x8182838485868788,
		.cack = mrc_psn(0x919293),
	};
}

void pkt_kit_view(const struct mrc_proto *proto, const struct pkt_kit_case *kind,
	uint16_t payload_len, struct mrc_pkt *pkt_out)
{
	struct mrc_pkt *pkt = pkt_out;

	mrc_pkt_init(proto, kind->opcode, pkt);
	view_addresses(kind, pkt);
	pkt->flags |= kind->flags;
	pkt->ttl = 61;
	pkt->ev = kind->flags & MRC_PKT_V6 ? 0xABCD4321 : 0x4321;
	pkt->psn = mrc_psn(0xD1D2D3);
	if (pkt->dqpn == 0)
		pkt->dqpn = 0xC1C2C3;
	if (kind->flags & MRC_PKT_TRIMMED)
		pkt->cls = MRC_CLASS_TRIMMED;
	switch (kind->opcode) {
	case MRC_OP_WRITE_FIRST:
	case MRC_OP_WRITE_MIDDLE:
	case MRC_OP_WRITE_LAST:
	case MRC_OP_WRITE_LAST_IMM:
	case MRC_OP_WRITE_ONLY:
	case MRC_OP_WRITE_ONLY_IMM:
		view_write(pkt, payload_len);
		break;
	case MRC_OP_ACK:
		pkt->ack.msn = 0x616263;
		break;
	case MRC_OP_SACK:
		pkt->flags |= MRC_PKT_RTX;
		view_sack(&pkt->sack);
		break;
	case MRC_OP_NACK:
		pkt->nack.reason = MRC_NACK_NO_BITMAP;
		pkt->nack.spdcid = 0x1112;
		pkt->nack.dpdcid = 0x2122;
		pkt->nack.timestamp = 0x3132;
		pkt->nack.entropy = 0x41424344;
		pkt->nack.psn = mrc_psn(0x515253);
		break;
	case MRC_OP_PROBE:
		pkt->flags |= MRC_PKT_TS;
		pkt->psn = mrc_psn(0);
		pkt->probe.probe_id = 0x1112;
		pkt->probe.spdcid = 0x2122;
		pkt->probe.dpdcid = 0x3132;
		pkt->probe.timestamp = 0x4142;
		break;
	case MRC_OP_EP_REQ:
		pkt->flags |= MRC_PKT_TS;
		pkt->psn = mrc_psn(0xD2D3);
		pkt->ep.op = MRC_EP_PORT_STATUS;
		pkt->ep.port_mask = 0x11121314;
		pkt->ep.timestamp = 0x2122;
		break;
	case MRC_OP_EP_RSP:
		pkt->psn = mrc_psn(0xD2D3);
		pkt->ep.op = MRC_EP_EV_PROBE;
		pkt->ep.timestamp = 0x1112;
		break;
	}
}

static uint32_t trimmed_frame(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint32_t kept_len, uint8_t *frame)
{
	int hdr_len = mrc_pkt_encode(proto, pkt, frame, PKT_KIT_ROOM);
	struct mrc_pkt seen;
	uint32_t udp_off;

	assert(hdr_len > 0);
	assert(mrc_pkt_decode(proto, frame, (uint32_t)hdr_len, &seen) == MRC_KEEP);
	udp_off = seen.bth_off - (uint32_t)MRC_UDP_LEN;
	assert(udp_off + kept_len <= (uint32_t)hdr_len);
	return udp_off + kept_len;
}

uint32_t pkt_kit_frame(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint32_t kept_len, uint8_t *frame)
{
	struct mrc_pkt seen;
	uint32_t len;
	int hdr_len;

	if (pkt->flags & MRC_PKT_TRIMMED)
		return trimmed_frame(proto, pkt, kept_len, frame);
	hdr_len = mrc_pkt_encode(proto, pkt, frame, PKT_KIT_ROOM);
	assert(hdr_len > 0 && hdr_len + pkt->payload_len + MRC_TRAILER_MAX <= PKT_KIT_ROOM);
	for (uint32_t i = 0; i < pkt->payload_len; i++)
		frame[(uint32_t)hdr_len + i] = (uint8_t)(i * 7 + 1);
	/* ip_off from the frame itself; the ICRC does not matter yet. */
	len = (uint32_t)hdr_len + pkt->payload_len + (-pkt->payload_len & 3u) + MRC_ICRC_LEN;
	memset(frame + hdr_len + pkt->payload_len, 0, len - (uint32_t)hdr_len - pkt->payload_len);
	assert(mrc_pkt_decode(proto, frame, len, &seen) == MRC_KEEP);
	return mrc_pkt_finish(frame, seen.ip_off, (uint32_t)hdr_len, pkt->payload_len);
}

uint32_t pkt_kit_example(
	const struct mrc_proto *proto, uint32_t index, struct mrc_pkt *pkt_out, uint8_t *frame)
{
	struct pkt_kit_case kind;
	uint32_t flags;

	pkt_kit_case(index, &kind);
	flags = mrc_opcode_table[kind.opcode].flags;
	pkt_kit_view(proto, &kind, flags & MRC_OPF_FULL ? 256 : 21, pkt_out);
	return pkt_kit_frame(proto, pkt_out,
		(uint32_t)MRC_UDP_LEN + MRC_BTH_LEN + MRC_TSETH_LEN +
			mrc_opcode_table[kind.opcode].ext_len,
		frame);
}

void pkt_kit_ipv4_fix(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = 0;
	ip[11] = 0;
	for (uint32_t i = 0; i < MRC_IPV4_LEN; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = ~((sum & 0xFFFF) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

enum mrc_drop pkt_kit_fix(const struct mrc_proto *proto, uint8_t *frame, uint32_t len)
{
	struct mrc_pkt pkt;
	enum mrc_drop drop = mrc_pkt_decode(proto, frame, len, &pkt);
	uint32_t body, sum;

	if (drop != MRC_KEEP || pkt.flags & MRC_PKT_TRIMMED)
		return drop;
	body = pkt.payload_len + (uint32_t)pkt.pad;
	sum = mrc_icrc_header(frame + pkt.ip_off, pkt.payload_off - (uint32_t)pkt.ip_off);
	sum = mrc_icrc_update(sum, frame + pkt.payload_off, body);
	mrc_icrc_store(frame + pkt.payload_off + body, sum);
	return drop;
}
