/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_pkt.h - bytes <-> structs: a received frame decoded to a view, a view encoded to a frame, and
 * the per-flow template with which the data path writes headers.
 *
 *   Ethernet [VLAN] ( IPv4 | IPv6 | outer IPv6 [SRH] inner IPv6 ) UDP BTH ext.headers payload pad
 * ICRC
 */
#ifndef MRC_PKT_H
#define MRC_PKT_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_choice.h"
#include "mrc_drop.h"
#include "mrc_limits.h"
#include "mrc_opcode.h"
#include "mrc_psn.h"

/* 128-bit address in network order; IPv4 as ::ffff:a.b.c.d (what ibverbs calls a RoCEv2 GID). */
struct mrc_gid {
	uint8_t raw[16];
};

bool mrc_gid_eq(const struct mrc_gid *a, const struct mrc_gid *b);
bool mrc_gid_is_v4(const struct mrc_gid *gid);

/* What both directions of the codec need to know; built once, immutable, shared. */
struct mrc_proto {
	struct mrc_choice choice;
	uint16_t pkey; /* partition key sent and demanded; its top bit is not compared */
	uint8_t dscp[MRC_NB_CLASSES]; /* DSCP of each class; MRC_CLASS_OTHER unused */
	uint8_t class_of_dscp[64];    /* enum mrc_class, derived by mrc_proto_init */
	bool check_pkey;
};

/* Defaults: choices' defaults, DSCP NO_TRIM 0, TRIMMABLE 4, RETX 8, TRIMMED 12, TRIMMED_LASTHOP 16,
 * CONTROL 46. */
void mrc_proto_default(struct mrc_proto *proto_out);
/*
 * Completes a struct mrc_proto whose members were changed after mrc_proto_default: derives
 * class_of_dscp and checks. Errors: MRC_ERR_INVAL when two classes of different meaning share a
 * DSCP (NO_TRIM, TRIMMABLE, TRIMMABLE_RETX may share one), a DSCP is above 63 or a choice is out of
 * its range.
 */
int mrc_proto_init(struct mrc_proto *proto);

/* Bit of a port (counted from 1) in a port status mask (O-14). */
static inline uint32_t mrc_proto_port_bit(const struct mrc_proto *proto, uint32_t port)
{
	return UINT32_C(1) << (port - 1 + proto->choice.port_mask_base);
}

/* Flags of a view. */
enum mrc_pkt_flag {
	MRC_PKT_V6 = 1 << 0,      /* (inner) IP version is 6 */
	MRC_PKT_VLAN = 1 << 1,    /* one 802.1Q tag */
	MRC_PKT_SRV6 = 1 << 2,    /* outer IPv6 */
	MRC_PKT_SRH = 1 << 3,     /* and a segment routing header */
	MRC_PKT_TRIMMED = 1 << 4, /* class TRIMMED or TRIMMED_LASTHOP: no payload, no ICRC */
	MRC_PKT_CE = 1 << 5,
	MRC_PKT_ACKREQ = 1 << 6,
	MRC_PKT_RTX = 1 << 7,
	/* Writes: TSETH present. Probes and endpoint requests, which always carry the field: it
	 * holds a timestamp (ftype 1). Not used for other kinds. */
	MRC_PKT_TS = 1 << 8,
	MRC_PKT_SE = 1 << 9,
	MRC_PKT_MIGREQ = 1 << 10, /* never used for anything */
	MRC_PKT_TSR = 1 << 11,
};

/* SETH and CC_STATE. */
struct mrc_pkt_sack {
	uint8_t m;          /* enum mrc_sack_m */
	uint8_t probe;      /* 1: answers a reliability probe */
	int16_t ack_offset; /* probe 0: triggering PSN - cack */
	uint16_t probe_id;  /* probe 1 */
	uint16_t spdcid, dpdcid;
	uint8_t cc_type, cc_flags;
	uint8_t mpr; /* units of 128 PSNs, 0 without Dynamic MPR */
	uint8_t restore_cwnd;
	uint8_t rcv_cwnd_pen; /* 0..127 */
	int16_t sack_offset;  /* bitmap base - cack */
	uint16_t ooo_count;   /* 15 bits */
	uint16_t timestamp;   /* echoed */
	uint32_t entropy;     /* echoed forward EV */
	uint32_t rcvd_units;  /* 24 bits, units of 256 bytes */
	uint64_t bitmap;      /* bit i = PSN base + i */
	mrc_psn_t cack;
};

struct mrc_pkt_nack {
	uint8_t reason; /* enum mrc_nack_reason */
	uint8_t vendor_info;
	uint8_t cc_type, cc_flags;
	uint16_t spdcid, dpdcid;
	uint16_t timestamp;
	uint32_t entropy;
	mrc_psn_t psn;
};

struct mrc_pkt_write {
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len; /* of the whole message */
	mrc_msn_t msn, rqmsn;
	uint16_t timestamp;
	uint8_t imm[4]; /* opaque, as on the wire */
};

struct mrc_pkt_ack {
	uint8_t syndrome; /* enum mrc_syndrome */
	uint32_t msn;     /* 24 bits */
};

struct mrc_pkt_probe {
	uint8_t vendor_info;
	uint8_t ftype; /* 1: timestamp offered */
	uint16_t probe_id;
	uint16_t spdcid, dpdcid;
	uint16_t timestamp;
};

/* ERTH and EETH. */
struct mrc_pkt_ep {
	uint8_t op; /* enum mrc_ep_op */
	uint8_t vendor_info;
	uint8_t ftype;
	uint16_t timestamp;
	uint32_t port_mask; /* requests of Port Status Update */
};

/*
 * A decoded packet. Offsets count from the first byte of the frame. Members past `payload_len`
 * depend on the opcode. Ownership: none; the view is valid as long as the frame is.
 */
struct mrc_pkt {
	uint16_t flags; /* enum mrc_pkt_flag */
	uint8_t opcode; /* enum mrc_opcode */
	uint8_t cls;    /* enum mrc_class */
	uint8_t dscp;   /* of the outermost IP header */
	uint8_t ecn;    /* of the outermost IP header */
	uint8_t pad;    /* PadCnt */
	uint8_t ttl;    /* of the (inner) IP header */
	uint16_t pkey;
	uint16_t vlan_tci; /* with MRC_PKT_VLAN */
	uint16_t ip_off;   /* of the (inner) IP header, where the ICRC begins */
	uint16_t bth_off;
	uint16_t payload_off; /* behind the last header; trimmed: the last whole one */
	uint16_t payload_len; /* without pad; 0 when trimmed or control */
	uint16_t udp_len;     /* UDP length field as it stood in the packet */
	uint32_t ev;          /* 32-bit EV out of source port and flow label */
	uint32_t dqpn;
	mrc_psn_t psn; /* request id for endpoint operations */
	uint8_t dmac[6], smac[6];
	struct mrc_gid src, dst;                      /* (inner) addresses */
	struct mrc_gid outer_src, outer_dst, srh_seg; /* with MRC_PKT_SRV6 / MRC_PKT_SRH only */
	union {
		struct mrc_pkt_write write;
		struct mrc_pkt_sack sack;
		struct mrc_pkt_nack nack;
		struct mrc_pkt_ack ack;
		struct mrc_pkt_probe probe;
		struct mrc_pkt_ep ep;
	};
};

/*
 * Decodes frame[0 .. len). Checks everything that can be checked without state (not the ICRC, see
 * mrc_pkt_icrc_ok), in the order of enum mrc_drop, the DSCP class before anything that depends on
 * completeness; the last one is QPN_RESERVED (ADDR_*, and what stands behind ICRC, is the
 * caller's). Returns MRC_KEEP and fills *pkt_out, or the drop reason; then *pkt_out is
 * undefined. Reads nothing outside the frame, writes nothing but *pkt_out. Cost: about 15 ns for a
 * write.
 */
enum mrc_drop mrc_pkt_decode(
	const struct mrc_proto *proto, const uint8_t *frame, uint32_t len, struct mrc_pkt *pkt_out);

/*
 * Starts a view to be sent: all zero but what the settings and the kind say (opcode, pkey, ttl 64,
 * class, ECN, TSR; TSETH on writes; vendor_info, cc_type of a NACK, ftype 1, a positive syndrome,
 * QP 2 of endpoint operations).
 */
void mrc_pkt_init(const struct mrc_proto *proto, enum mrc_opcode opcode, struct mrc_pkt *pkt_out);

/* True when the ICRC behind a decoded, untrimmed packet is right. Cost: one pass over headers and
 * payload. */
bool mrc_pkt_icrc_ok(const struct mrc_pkt *pkt, const uint8_t *frame);

/*
 * Encodes the headers of a view to buf (room bytes) and returns the header length, or MRC_ERR_SPACE
 * / MRC_ERR_INVAL. Lengths in the headers count payload_len, pad and ICRC; payload, pad and ICRC
 * are the caller's (mrc_pkt_finish). Takes the DSCP of `cls` (of `dscp` with MRC_CLASS_OTHER), the
 * settings' pkey when the view's is 0, PadCnt from payload_len; a trimmed packet keeps the udp_len
 * of the view if it has one. Inverse of mrc_pkt_decode. For tests, tools and rare packets; the data
 * path uses templates.
 */
int mrc_pkt_encode(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint8_t *buf, uint32_t room);

/*
 * Appends payload_len payload bytes already at buf + hdr_len with zero pad and the ICRC; ip_off as
 * in the view. Returns the frame length. buf must have MRC_TRAILER_MAX bytes of room behind the
 * payload.
 */
uint32_t mrc_pkt_finish(uint8_t *buf, uint32_t ip_off, uint32_t hdr_len, uint32_t payload_len);

/* ---- templates
 * ------------------------------------------------------------------------------------- */

/* What is constant over a flow: addresses, VLAN, encapsulation. */
struct mrc_flow {
	uint8_t dmac[6], smac[6];
	uint16_t vlan_tci;
	uint8_t ttl;
	uint8_t flags; /* MRC_PKT_VLAN, MRC_PKT_SRV6, MRC_PKT_SRH out of enum mrc_pkt_flag; v4/v6
			  follows from src */
	struct mrc_gid src, dst;
	struct mrc_gid outer_src; /* SRv6 */
};

/* Prepared L2-L4 bytes of one (peer, plane). */
struct mrc_template {
	uint8_t bytes[MRC_HDR_ROOM]; /* Ethernet .. UDP, everything that does not vary filled in */
	uint16_t len;                /* up to and including UDP: where the BTH goes */
	uint16_t ip_off;             /* of the (inner) IP header */
	uint16_t outer_off;          /* of the outermost IP header */
	uint16_t flags;              /* MRC_PKT_V6, _VLAN, _SRV6, _SRH */
};

int mrc_template_init(
	struct mrc_template *tmpl_out, const struct mrc_proto *proto, const struct mrc_flow *flow);

/* What varies per packet below the BTH. */
struct mrc_template_vary {
	uint32_t ev;       /* split over source port and flow label as the choices say */
	uint8_t cls;       /* enum mrc_class: picks the DSCP */
	uint8_t ecn;       /* MRC_ECN_ECT0 on data, MRC_ECN_NOT_ECT on control */
	uint16_t body_len; /* bytes behind the UDP header: BTH .. payload, pad, ICRC */
	const struct mrc_gid
		*srv6_dst; /* outer destination (uSID list), and one segment; NULL without SRv6 */
	const struct mrc_gid *srv6_seg;
};

/*
 * Writes L2-L4 to hdr (MRC_HDR_ROOM bytes) and returns their length, where the BTH begins. Cost:
 * 2-4 ns.
 */
uint32_t mrc_template_put(const struct mrc_template *tmpl, const struct mrc_proto *proto,
	const struct mrc_template_vary *vary, uint8_t *hdr);

/* Writes BTH and extension headers of `pkt` (opcode, flags, pad, dqpn, psn and the opcode's union
 * member; the settings' pkey) to p; returns the byte behind them, at most 48 further. Used by
 * mrc_pkt_encode and by the engine behind mrc_template_put. */
uint8_t *mrc_pkt_put_transport(
	const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint8_t *p);

#endif
