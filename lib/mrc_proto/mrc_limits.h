/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_limits.h - every number of the protocol, by name. Sources in brackets: tables of the OCP
 * MRC 1.0 specification where known, IBTA for what MRC keeps of RoCEv2. doc/protocol.md explains
 * disputed ones.
 */
#ifndef MRC_LIMITS_H
#define MRC_LIMITS_H

/* Lengths in bytes of the headers. */
enum {
	MRC_ETH_LEN = 14,
	MRC_VLAN_LEN = 4,
	MRC_IPV4_LEN = 20, /* without options; options are refused */
	MRC_IPV6_LEN = 40,
	MRC_SRH_LEN = 24, /* segment routing header with one segment */
	MRC_UDP_LEN = 8,
	MRC_BTH_LEN = 12,
	MRC_METH_LEN = 4,
	MRC_TSETH_LEN = 4,
	MRC_RETH_LEN = 16,
	MRC_IMMDT_LEN = 4,
	MRC_AETH_LEN = 4,
	MRC_SETH_LEN = 28,
	MRC_CC_STATE_LEN = 8,
	MRC_NETH_LEN = 20,
	MRC_PETH_LEN = 16,
	MRC_ERTH_LEN = 16,
	MRC_EETH_LEN = 36,
	MRC_ICRC_LEN = 4,
	/* Longest header in front of a payload: Ethernet, VLAN, outer IPv6, SRH, inner IPv6, UDP,
	 * then BTH, METH, TSETH, RETH, ImmDt; the longest control packet (SACK) is as long without
	 * payload. */
	MRC_HDR_MAX = 14 + 4 + 40 + 24 + 40 + 8 + 12 + 36,
	MRC_HDR_ROOM =
		192, /* what a host reserves for a header: MRC_HDR_MAX rounded up to cache lines */
	MRC_TRAILER_MAX = 3 + MRC_ICRC_LEN, /* pad and ICRC */
};

/* Opcodes (BTH byte 0). */
enum mrc_opcode {
	MRC_OP_WRITE_FIRST = 0xC6,
	MRC_OP_WRITE_MIDDLE = 0xC7,
	MRC_OP_WRITE_LAST = 0xC8,
	MRC_OP_WRITE_LAST_IMM = 0xC9,
	MRC_OP_WRITE_ONLY = 0xCA,
	MRC_OP_WRITE_ONLY_IMM = 0xCB,
	MRC_OP_ACK = 0xD1, /* transport acknowledgement: AETH */
	MRC_OP_EP_REQ = 0xD8,
	MRC_OP_EP_RSP = 0xD9,
	MRC_OP_SACK = 0xDC,
	MRC_OP_NACK = 0xDD,
	MRC_OP_PROBE = 0xDE, /* reliability probe request */
};

/* NACK reasons (table 7-3). */
enum mrc_nack_reason {
	MRC_NACK_TRIMMED = 0x01,
	MRC_NACK_TRIMMED_LASTHOP = 0x02,
	MRC_NACK_NO_BITMAP = 0x06,
	MRC_NACK_NO_PKT_BUFFER = 0x07,
	MRC_NACK_NO_RESOURCE = 0x0A,
	MRC_NACK_PSN_OOR_WINDOW = 0x0B,
	MRC_NACK_UNEXP_EVENT = 0x19,
};

/* AETH syndromes (IBTA 9.7.5.2.1); MRC has no credits, so a positive ACK is always 0x1F. */
enum mrc_syndrome {
	MRC_AETH_ACK = 0x1F,
	MRC_AETH_NAK_SEQ = 0x60,
	MRC_AETH_NAK_INVALID_REQ = 0x61,
	MRC_AETH_NAK_REMOTE_ACCESS = 0x62,
	MRC_AETH_NAK_REMOTE_OP = 0x63,
};

/* The M field of a SACK: what the responder thinks of the path that the data took. */
enum mrc_sack_m {
	MRC_M_NONE = 0,
	MRC_M_SKIP_ONCE = 1,
	MRC_M_ALWAYS_SKIP = 2,
};

/* Endpoint operations, wire values. */
enum mrc_ep_op {
	MRC_EP_PORT_STATUS = 0,
	MRC_EP_EV_PROBE = 1,
};

/* DSCP classes (3.10 of the protocol page). */
enum mrc_class {
	MRC_CLASS_NO_TRIM = 0, /* data that must not be trimmed */
	MRC_CLASS_TRIMMABLE,   /* first transmissions and reliability probes */
	MRC_CLASS_TRIMMABLE_RETX,
	MRC_CLASS_CONTROL, /* SACK, NACK, transport ACK, endpoint responses */
	MRC_CLASS_TRIMMED,
	MRC_CLASS_TRIMMED_LASTHOP,
	MRC_CLASS_OTHER, /* a DSCP outside the table: treated as untrimmed */
	MRC_NB_CLASSES,
};

enum {
	MRC_ECN_NOT_ECT = 0,
	MRC_ECN_ECT1 = 1,
	MRC_ECN_ECT0 = 2,
	MRC_ECN_CE = 3,
};

enum {
	MRC_PKEY_DEFAULT = 0xFFFF,
	MRC_QPN_ENDPOINT =
		2, /* destination QP of endpoint operations; 0, 1, 2 are never connections */
	MRC_PMTU_MIN = 256,
	MRC_PMTU_MAX = 4096,
	MRC_MPR_UNIT = 128,  /* PSNs per step of the receive window */
	MRC_MPR_DEFAULT = 8, /* units */
	MRC_MPR_MAX = 32,    /* units; up to 255 where configured */
	MRC_MPR_LIMIT = 255,
	MRC_WIMM_DEFAULT = 32, /* immediates in flight every responder supports */
	MRC_SACK_BITS = 64,
	MRC_TS_TICK_NS = 128,       /* resolution of the 16-bit timestamps */
	MRC_RCVD_UNIT = 256,        /* bytes per step of rcvd_bytes */
	MRC_TIMEOUT_BASE_NS = 1024, /* T = 1.024 us x 2^timeout */
	MRC_TIMEOUT_MAX_EXP = 24,
	MRC_LINEAR_MAX = 7,
	MRC_EXP_MAX = 25, /* and 25 means endless */
	MRC_MAX_PLANES = 16,
};

#endif
