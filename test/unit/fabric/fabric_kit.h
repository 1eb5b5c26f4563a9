/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_kit.h - a fabric with a host at every address 10.0.h/256.h%256 (or fd00::h), buffers on
 * the heap that are counted, and frames of MRC with chosen fields.
 */
#ifndef FABRIC_KIT_H
#define FABRIC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_fabric.h"
#include "test_env.h"

enum {
	KIT_HEADROOM = 16, /* bytes behind a frame that padding may use */
};

struct kit {
	struct test_env te;
	struct mrc_proto proto;
	struct mrc_fabric *fabric;
	uint32_t nb_hosts;
	bool v6;
	uint64_t blocks; /* buffers alive */
	uint64_t taps;
	uint32_t tap_link;
	uint64_t tap_ns;
};

/* What a frame of the kit carries. Zero is a WRITE_ONLY from host 0 to host 0. */
struct kit_pkt {
	uint32_t src, dst;
	uint32_t ev, psn;
	uint32_t payload_len;
	uint32_t virtual_len; /* payload that exists as length only */
	uint8_t opcode;       /* 0 = WRITE_ONLY */
	uint8_t cls;          /* enum mrc_class, 0 = NO_TRIM */
	uint8_t flags;        /* KIT_ */
	const uint8_t *usids; /* outer destination, 16 bytes: SRv6 */
	const uint8_t *segment;
};

enum {
	KIT_NOT_ECT = 1,
	KIT_RTX = 2,
};

/* Fills proto and cfg: one plane, `leaves` x `spines`, `hosts` per leaf, 100 Gb/s, 1 us, no
 * overhead. */
void kit_cfg(struct kit *kit, struct mrc_fabric_cfg *cfg_out, uint32_t leaves, uint32_t spines,
	uint32_t hosts);
void kit_create(struct kit *kit, struct mrc_fabric_cfg *cfg);
/* Destroys and asserts that every buffer and every byte came back. */
void kit_done(struct kit *kit);
struct mrc_gid kit_gid(const struct kit *kit, uint32_t host);

/* Any bytes on the heap, as a packet. */
struct mrc_fabric_pkt kit_raw(struct kit *kit, const uint8_t *bytes, uint32_t len);
/* A frame on the heap; data, len, wire_len, ref filled. */
struct mrc_fabric_pkt kit_frame(struct kit *kit, const struct kit_pkt *what);
void kit_send(struct kit *kit, uint64_t now_ns, uint32_t plane, const struct kit_pkt *what);
void kit_free(struct kit *kit, const struct mrc_fabric_pkt *pkt);
/* Runs to the deadline given, stopping at nothing. */
void kit_run(struct kit *kit, uint64_t now_ns);
/* Runs until something arrives anywhere; time of arrival, MRC_FABRIC_NEVER when all is idle. */
uint64_t kit_wait(
	struct kit *kit, uint32_t *host_out, uint32_t *plane_out, struct mrc_fabric_pkt *pkt_out);
/* Runs until idle, freeing everything; returns how many arrived. */
uint32_t kit_drain(struct kit *kit);
uint64_t kit_dropped(const struct kit *kit, enum mrc_fabric_drop why);
void kit_balance(const struct kit *kit);
uint32_t kit_link(const struct kit *kit, enum mrc_fabric_link_class cls, uint32_t plane,
	uint32_t leaf, uint32_t peer);

#endif
