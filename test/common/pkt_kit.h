/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pkt_kit.h - one example of every kind of packet: each opcode over IPv4, IPv6, SRv6 and SRv6 with
 * a segment routing header, untagged and tagged, and each write also trimmed. Every field has a
 * value of its own, so that two exchanged fields show. For tests, fuzzers and benchmarks.
 */
#ifndef PKT_KIT_H
#define PKT_KIT_H

#include <stdint.h>

#include "mrc_pkt.h"

enum {
	PKT_KIT_ROOM = 4608, /* bytes that hold any frame of the kit */
	PKT_KIT_NB_OPCODES = 12,
	PKT_KIT_NB_SHAPES = 8, /* {IPv4, IPv6, SRv6, SRv6 with SRH} x {untagged, tagged} */
	PKT_KIT_NB_WRITES = 6,
	PKT_KIT_NB_CASES = (PKT_KIT_NB_OPCODES + PKT_KIT_NB_WRITES) * PKT_KIT_NB_SHAPES,
};

struct pkt_kit_case {
	char name[48]; /* "write_only_imm-srv6-vlan-trimmed" */
	enum mrc_opcode opcode;
	uint16_t flags; /* MRC_PKT_V6, _VLAN, _SRV6, _SRH, _TRIMMED */
};

/* index: 0 .. PKT_KIT_NB_CASES-1; untrimmed ones first, in the order of opcode, then shape. */
void pkt_kit_case(uint32_t index, struct pkt_kit_case *case_out);
/* Index of the case with that name; the name must exist. */
uint32_t pkt_kit_find(const char *name);
/* The view of such a packet, payload_len bytes long if it is a write (First and Middle: multiple of
 * 4). */
void pkt_kit_view(const struct mrc_proto *proto, const struct pkt_kit_case *kind,
	uint16_t payload_len, struct mrc_pkt *pkt_out);
/*
 * The whole frame of a view, payload byte i being i * 7 + 1; returns its length. A trimmed one ends
 * where a switch may have cut it: kept_len bytes from UDP on, and the lengths are still those of
 * the untrimmed packet.
 */
uint32_t pkt_kit_frame(const struct mrc_proto *proto, const struct mrc_pkt *pkt, uint32_t kept_len,
	uint8_t *frame);
/* pkt_kit_view and pkt_kit_frame with 21 bytes of payload (First and Middle 256), trimmed to
 * headers. */
uint32_t pkt_kit_example(
	const struct mrc_proto *proto, uint32_t index, struct mrc_pkt *pkt_out, uint8_t *frame);
/* Makes the header checksum of an IPv4 header right again. */
void pkt_kit_ipv4_fix(uint8_t *ip);
/* Makes the ICRC of a frame right if it decodes; for fuzzers. Returns the drop reason of decode. */
enum mrc_drop pkt_kit_fix(const struct mrc_proto *proto, uint8_t *frame, uint32_t len);

#endif
