/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_lane.h - frames between two ports without a protocol: the yardstick that mrc-dp is held
 * against. Same ports, buffer pools, frame sizes and memory as the protocol; what is left out is
 * everything between them.
 *
 *   IO    header written, payload neither written nor read
 *   COPY  payload copied out of a region by the sender, into a region by the receiver
 *   ICRC  COPY, and the ICRC summed by the sender and verified by the receiver
 *   PING  one frame there and back at a time
 */
#ifndef MRC_APP_RAW_LANE_H
#define MRC_APP_RAW_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "mrc_err.h"
#include "mrc_hist.h"
#include "mrc_limits.h"
#include "stash.h"

enum mrc_raw_mode {
	MRC_RAW_IO,
	MRC_RAW_COPY,
	MRC_RAW_ICRC,
	MRC_RAW_PING,
};

struct mrc_raw_cfg {
	uint16_t port, rxq, txq;
	struct rte_mempool *pool;
	bool sender;          /* the other lane receives, and answers pings */
	uint32_t payload_len; /* of COPY, ICRC and PING: what a packet of the protocol carries */
	uint32_t io_len;      /* frame length of IO; >= the header */
	bool ipv6;            /* header as long as over IPv6 */
	uint8_t *mem;         /* the region that payload is read from or written to */
	uint64_t mem_len;     /* >= payload_len */
	uint8_t smac[6], dmac[6];
};

struct mrc_raw_counters {
	uint64_t tx_packets, tx_bytes; /* bytes: payload */
	uint64_t rx_packets, rx_bytes;
	uint64_t rx_bad;    /* wrong ICRC or wrong length */
	uint64_t rx_others; /* frames of somebody else, freed */
	uint64_t no_buffer; /* sends that found the pool empty */
	uint64_t refused;   /* frames that the port did not take at once */
};

struct mrc_raw_lane {
	struct mrc_raw_cfg cfg;
	struct mrc_raw_counters counters;
	struct mrc_stash stash;
	uint32_t seq; /* of the next frame */
	uint64_t mem_at;
	bool waiting; /* PING: for the answer */
	uint64_t sent_tsc;
	uint64_t resend_tsc; /* how long an answer may take, ticks */
	struct mrc_hist rtt; /* ticks */
	uint16_t hdr_len, ip_off;
	uint8_t hdr[MRC_HDR_ROOM];
};

/* Errors: MRC_ERR_INVAL (a length that does not fit). */
int mrc_raw_lane_init(struct mrc_raw_lane *lane_out, const struct mrc_raw_cfg *cfg);
/* One turn: sends (when sending) and receives bursts. Returns how many frames moved. */
uint32_t mrc_raw_lane_poll(struct mrc_raw_lane *lane, enum mrc_raw_mode mode, bool sending);
/* Gives back the frames that the port did not take. */
void mrc_raw_lane_drain(struct mrc_raw_lane *lane);
/* Length of a COPY frame: header and payload; ICRC adds four bytes, like the protocol. */
uint32_t mrc_raw_lane_frame_len(const struct mrc_raw_lane *lane);

#endif
