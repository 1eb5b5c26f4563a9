/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outcome.h - what a run came to: sums over endpoints, workers and loads, as text and as JSON.
 */
#ifndef MRC_APP_OUTCOME_H
#define MRC_APP_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "endpoint.h"
#include "mrc_hist.h"

#define MRC_SHA256_HEX   65
#define MRC_OUTCOME_TEXT 256

struct mrc_plane_sum {
	uint64_t tx_packets, tx_bytes; /* of the requester onto the plane */
	uint64_t rx_packets, rx_bytes; /* that reached the responder over it */
	uint64_t tx_data_packets, retransmits, lost_packets;
	bool up;
};

/* What a receiver found. */
struct mrc_found {
	uint64_t messages, bytes, immediates;
	uint64_t bytes_verified, bytes_corrupt, messages_corrupt, imm_corrupt;
	char sha256[MRC_SHA256_HEX]; /* of a file; "" = pattern */
};

struct mrc_outcome {
	double seconds; /* from the first post to the last completion */
	double goodput_gbps;
	uint64_t tx_messages, tx_bytes;
	struct mrc_found found; /* by this process's receivers, or told by the peer */
	bool found_known;       /* false: the peer never told */
	uint64_t qp_errors, wr_errors;
	uint64_t wr_status[MRC_WC_FATAL_ERR + 1]; /* of the failed ones, by enum mrc_wc_status; [0]:
						     refused when they were posted */
	struct mrc_sched_counters engines;        /* sums over this process */
	struct mrc_worker_counters workers;       /* likewise */
	uint64_t l2_events[MRC_NB_L2_EVENTS];
	uint64_t capture_missed; /* frames that a capture had no room for */
	bool has_sender;         /* an endpoint of this process sends */
	uint32_t nb_planes;
	struct mrc_plane_sum planes[MRC_MAX_PLANES];
	struct mrc_hist latency;
	bool has_file;
	char file[MRC_OUTCOME_TEXT], store[MRC_OUTCOME_TEXT];
	uint64_t file_len;
	char file_sha256[MRC_SHA256_HEX];
	bool interrupted;
	char failure[2 *
		     MRC_OUTCOME_TEXT]; /* why the run failed beside the figures; "" = it did not */
};

/* SHA-256 of len bytes as hexadecimal text. Errors: MRC_ERR_NOMEM. */
int mrc_sha256(const uint8_t *mem, uint64_t len, char *hex_out);

/* Adds an endpoint whose workers have stopped (or are asked from their own thread). */
void mrc_outcome_add(struct mrc_outcome *outcome, const struct mrc_endpoint *ep);
/* What the receivers of an endpoint found; also after a file was stored. */
void mrc_found_collect(const struct mrc_endpoint *ep, struct mrc_found *found_out);
/* Derives rates. Call once, when everything is added. */
void mrc_outcome_finish(struct mrc_outcome *outcome);
/* True when all is verified, nothing corrupt, no QP failed, a file equal, and nothing broke off. */
bool mrc_outcome_good(const struct mrc_outcome *outcome);

void mrc_outcome_print(const struct mrc_outcome *outcome, FILE *out);
/* A new reference. */
json_t *mrc_outcome_json(const struct mrc_outcome *outcome);

#endif
