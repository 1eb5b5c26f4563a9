/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * joined.h - a requester and a responder on one core, joined by memory that loses nothing, so that
 * the cycles of each can be counted apart. Either side is the engine or the plain partner.
 *
 *   post      posting writes and polling their completions
 *   req_tx    requester: pull of data packets (headers)
 *   finish    gathering the payload behind the header, pad and ICRC
 *   rsp_rx    responder: decode, checks, ICRC, placing
 *   rsp_tx    responder: pull of acknowledgements, finished
 *   req_rx    requester: acknowledgements taken
 *   req_time, rsp_time   expire of each side
 */
#ifndef PERF_JOINED_H
#define PERF_JOINED_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_sched.h"

enum {
	JOINED_BURST = 32,
	JOINED_PLANES = 4,
	JOINED_MSG_BIG = 1 << 20,
	JOINED_MEM_LEN = 1 << 20,
	JOINED_FRAME_ROOM = MRC_HDR_ROOM + MRC_PMTU_MAX + 64,
};

enum joined_stage {
	JOINED_POST,
	JOINED_REQ_TX,
	JOINED_FINISH,
	JOINED_RSP_RX,
	JOINED_RSP_TX,
	JOINED_REQ_RX,
	JOINED_REQ_TIME,
	JOINED_RSP_TIME,
	JOINED_NB_STAGES,
};

enum {
	JOINED_REQUESTER,
	JOINED_RESPONDER,
};

struct joined;

struct joined_cfg {
	const struct mrc_proto *proto;
	uint32_t pmtu, msg_len, nb_qps;
	uint32_t step_ns; /* virtual time per packet */
	bool icrc;
	bool v6;
	bool vlan;  /* tagged */
	bool srv6;  /* encapsulated, with v6 */
	bool mixed; /* messages of any length and up to three pieces, also with immediate, some not
		       signaled */
	bool plain[2]; /* by side */
	/* Frames and memory are those of this one, which is freed later: what pages they are made
	 * of decides which of them meet in a cache, and is to be the same for what is compared. */
	struct joined *lender;
};

/* The same settings make the same numbers, keys and paths, whatever the sides are. */
struct joined *joined_make(const struct joined_cfg *cfg);
void joined_free(struct joined *joined);
/* One burst of data and its answers; adds to the cycles of the stages. Returns the data packets. */
uint32_t joined_step(struct joined *joined, double *cycles);

/* Frames of the last step, of one side: their number, and the bytes of one. */
uint32_t joined_nb_frames(const struct joined *joined, uint32_t side);
const uint8_t *joined_frame(
	const struct joined *joined, uint32_t side, uint32_t at, uint32_t *len_out);
/* The memory of a side. */
const uint8_t *joined_memory(const struct joined *joined, uint32_t side);

#endif
