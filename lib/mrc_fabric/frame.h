/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - the bytes of a frame as a switch sees them: parsed once where the frame enters, and
 * rewritten in place when it is marked, trimmed, shifted or stripped.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_pkt.h"

enum frame_flag {
	FRAME_IP = 1,     /* the outermost header is a whole IP header */
	FRAME_V6 = 2,     /* and of version 6 */
	FRAME_FLOOD = 4,  /* for every other host */
	FRAME_ENCAP = 8,  /* an IP packet travels inside the outermost IPv6 header */
	FRAME_SRH = 16,   /* with a segment routing header between */
	FRAME_UDP = 32,   /* UDP directly behind the (inner) IP header, ev is valid */
	FRAME_MRC = 64,   /* to the MRC port, opcode, psn, qpn, rtx are valid */
	FRAME_RTX = 128,  /* BTH.rtx */
	FRAME_LOCAL = 256 /* link-local destination */
};

struct frame {
	uint64_t hash; /* of everything ECMP looks at */
	uint32_t ev, psn, qpn;
	uint16_t flags;     /* enum frame_flag */
	uint16_t ip_off;    /* outermost IP header */
	uint16_t inner_off; /* innermost IP header; ip_off without encapsulation */
	uint8_t dscp, ecn, opcode;
	struct mrc_gid dst; /* of the outermost header */
};

/* Never fails: a frame without IP is FRAME_FLOOD. Reads nothing behind len. */
void mrc_fabric_frame_parse(
	const struct mrc_proto *proto, const uint8_t *data, uint32_t len, struct frame *frame_out);

/* All of these need a whole IP header at ip_off. */
void mrc_fabric_frame_mark_ce(uint8_t *data, uint32_t ip_off, bool v6);
/* New DSCP and, unless keep_lengths, IP and UDP lengths for a frame of wire_len bytes. UDP is only
 * touched when it follows the outermost header (udp). */
void mrc_fabric_frame_trim(uint8_t *data, uint32_t len, uint32_t wire_len, uint32_t ip_off,
	uint16_t flags, uint8_t dscp, bool keep_lengths);
/* Takes the first uSID off the outer destination; with an exhausted list the segment of the SRH
 * becomes the destination. */
void mrc_fabric_frame_usid_shift(uint8_t *data, uint32_t len, uint32_t ip_off, uint16_t flags);
/* Strips the outermost IP header, carrying an outer CE mark inside. Returns the bytes stripped from
 * the front (the Ethernet header moves up). */
uint32_t mrc_fabric_frame_decap(uint8_t *data, uint32_t ip_off, uint32_t inner_off, uint16_t flags);

#endif
