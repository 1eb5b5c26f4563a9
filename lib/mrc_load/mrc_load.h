/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_load.h - the built-in workload: what mrc-dp generates in real time and the simulator in
 * virtual time. Drives the public verbs of one engine (mrc_sched.h); knows no clock, no socket and
 * no thread, allocates at create only. One object belongs to the engine's thread; an engine may
 * carry many.
 *
 * A load is a bundle of nb_qps queue pairs towards one load of a peer. Either side may send,
 * receive or both:
 *
 *   create            QPs, CQs, regions exist
 *   offer  ---------> the host carries the struct to the peer (out of band), and the peer's back
 *   connect           QPs are in RTS
 *   start             the clock of the run begins
 *   poll, poll ...    posts, collects completions, verifies; after every mrc_sched_rx/_expire
 *   done, result
 *   destroy
 *
 * Pattern and slots. Word i (little endian, 64 bits) of message number g of QP q is
 *
 *   base(seed) + (i + 8 * ((q * 331 + g * 577) mod 1021)) * factor(seed)
 *
 * so a message is a window into one endless sequence. The sender needs a single buffer, filled
 * once: sending costs no pass over the payload. A byte that is lost, moved, left over from an
 * earlier message or taken from another QP differs from what is expected there.
 *
 * Message g of a QP goes to slot g mod nb_slots of that QP, nb_slots > depth. The sender posts
 * message g + nb_slots only when fewer than `depth` messages are outstanding, thus when message g +
 * nb_slots - depth has completed, and completions come in order. The receiver learns of messages in
 * that same order (hook `placed`) and, before it lets the hook for message k return (which comes
 * before the acknowledgement), has verified all messages up to k - (nb_slots - depth). With
 * k = g + nb_slots - depth that is message g: what lies in a slot is verified before its successor
 * can be sent, the expected message number follows from counting, and nothing has to be negotiated.
 * The rest of the verification happens in mrc_load_poll, a bounded number of bytes a call, so that
 * a large message does not stall the receiver.
 */
#ifndef MRC_LOAD_H
#define MRC_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_dist.h"
#include "mrc_hist.h"
#include "mrc_sched.h"

enum {
	MRC_LOAD_MAX_QPS = 1024,
	MRC_LOAD_PATTERN_SLACK = 8 * 8 * 1021, /* bytes the source buffer holds beyond a message */
	MRC_LOAD_BIN_NS = 10000000,            /* width of a goodput bin */
};

enum mrc_load_role {
	MRC_LOAD_SENDER = 1,
	MRC_LOAD_RECEIVER = 2,
};

/* What decides when a sender posts. */
enum mrc_load_pacing {
	MRC_LOAD_CLOSED,   /* keep `depth` messages outstanding on every QP */
	MRC_LOAD_CONSTANT, /* open loop: a message each (its bits / rate_bps) */
	MRC_LOAD_POISSON,  /* open loop: exponentially distributed gaps of that mean */
	MRC_LOAD_FLOWS,    /* only what mrc_load_flow_add hands in */
};

enum mrc_load_verify {
	MRC_LOAD_VERIFY_FULL,   /* every byte */
	MRC_LOAD_VERIFY_SAMPLE, /* first and last 64 bytes, and 64 bytes of each 4096 */
	MRC_LOAD_VERIFY_NONE,
};

struct mrc_load_cfg {
	uint32_t roles;    /* enum mrc_load_role, one or both */
	uint32_t nb_qps;   /* 1 .. MRC_LOAD_MAX_QPS */
	uint32_t depth;    /* messages outstanding per QP at most, >= 1; both sides must agree */
	uint32_t nb_slots; /* per QP, > depth; 0: depth plus a quarter, one at least. Both must
			      agree */
	uint64_t seed;     /* of the pattern; both must agree */
	enum mrc_load_verify verify;
	struct mrc_sched_qp_attr
		attr;     /* everything but the members marked (*) except cc and local */
	uint32_t nb_bins; /* goodput bins kept; 0: one minute's */

	/* sizes of messages */
	uint32_t size; /* bytes; with sizes: ignored; with FLOWS: the largest piece */
	const struct mrc_dist *sizes; /* copied; NULL: all messages have `size`. Both must agree */

	/* sender: when, how much (a limit of 0 is none; the first one reached ends the run) */
	enum mrc_load_pacing pacing;
	double rate_bps;      /* open loop: payload bits per second over all QPs */
	uint8_t imm_pct;      /* 0 .. 100: share of writes with immediate */
	uint64_t count;       /* messages over all QPs */
	uint64_t total_bytes; /* payload over all QPs; the last message is cut to fit */
	uint64_t duration_ns; /* from start; what is outstanding then still completes */
	uint32_t max_flows;   /* FLOWS: unfinished ones at a time */
	/*
	 * Memory that messages are sent from; the host's, outlives the load. As large as
	 * mrc_load_source_len says and filled by mrc_load_pattern_fill; several loads of one seed
	 * may share it. With source_once it is instead any data of source_len bytes, which is
	 * written once, in order, into the peer's region (count, total_bytes, duration_ns do not
	 * apply; verify counts for nothing: compare the region).
	 */
	uint8_t *source;
	uint64_t source_len;
	bool source_once;

	/* receiver: memory that messages are placed in; the host's, outlives the load.
	 * mrc_load_region_len says how much; with the peer's source_once at least its source_len.
	 */
	uint8_t *region;
	uint64_t region_len;
	bool region_once; /* the peer has source_once */
};

void mrc_load_cfg_default(struct mrc_load_cfg *cfg_out);
/* MRC_OK or MRC_ERR_INVAL; *key_out (may be NULL) then names the member. */
int mrc_load_cfg_check(const struct mrc_load_cfg *cfg, const char **key_out);
/* Bytes that source and region must have (not for *_once). */
uint64_t mrc_load_source_len(const struct mrc_load_cfg *cfg);
uint64_t mrc_load_region_len(const struct mrc_load_cfg *cfg);
/* How the load shares in the engine's budgets: entries of SQ, RQ and CQ over all queues. */
uint32_t mrc_load_queue_entries(const struct mrc_load_cfg *cfg);

struct mrc_load; /* opaque */

/* Errors: MRC_ERR_INVAL (see check), MRC_ERR_NOMEM, and what the verbs return. */
int mrc_load_create(const struct mrc_load_cfg *cfg, struct mrc_sched *sched,
	const struct mrc_env *env, struct mrc_load **load_out);
/* Takes QPs, CQs, regions out of the engine. */
void mrc_load_destroy(struct mrc_load *load, uint64_t now_ns);

/* What one side tells the other. Plain numbers; host byte order; the host encodes it as it likes.
 */
struct mrc_load_offer {
	struct mrc_gid gid;
	uint32_t nb_qps;
	uint32_t qpn[MRC_LOAD_MAX_QPS];
	uint32_t psn[MRC_LOAD_MAX_QPS]; /* first PSN that the offering side sends */
	uint32_t pmtu;
	uint32_t mpr;     /* receive window granted, units of 128 */
	uint32_t wimm;    /* immediates in flight accepted */
	bool dynamic_mpr; /* the three below: what the offering side can do */
	bool trim_nack;
	bool svc_time;
	uint32_t rkey; /* of the region; 0 without one */
	uint64_t va;
	uint64_t region_len;
	uint64_t slot_len; /* distance of slots; QP q's first one is at va + q * nb_slots * slot_len
			    */
	uint32_t nb_slots;
	uint32_t depth;
	uint64_t seed;
	uint64_t placed[MRC_LOAD_MAX_QPS]; /* messages that arrived so far; only looked at by a
					      load that was renewed */
};

void mrc_load_offer(const struct mrc_load *load, struct mrc_load_offer *offer_out);
/*
 * Brings all QPs to RTS. ev_set: paths towards the peer; outlives the load. Errors: MRC_ERR_INVAL
 * when both sides do not agree (*key_out names the member), else what modify returns.
 */
int mrc_load_connect(struct mrc_load *load, uint64_t now_ns, const struct mrc_load_offer *peer,
	struct mrc_ev_set *ev_set, const char **key_out);

/*
 * Ends every QP, whatever is on its way, and makes a new one in its place. The peer's load does the
 * same at this moment; then both offer and connect again, and the run goes on where it was: what
 * the peer says has arrived counts as completed, the rest is sent again under its old message
 * number. Errors: MRC_ERR_STATE (a QP is not in RTS; nothing is changed), MRC_ERR_INVAL
 * (source_once), and what the verbs return.
 */
int mrc_load_renew(struct mrc_load *load, uint64_t now_ns);

/* QP number i of 0 .. nb_qps-1, for queries (a simulator's invariants). */
struct mrc_sched_qp *mrc_load_qp(const struct mrc_load *load, uint32_t i);

/* The run begins: limits, bins and gaps count from here. Receives are posted by connect already. */
void mrc_load_start(struct mrc_load *load, uint64_t now_ns);
/*
 * Does what is due: posts, polls CQs, verifies. Returns when it wants to be called again although
 * nothing happens in the engine: now_ns = at once, UINT64_MAX = only after something happened.
 * A receiver must be polled between mrc_sched_rx calls (it posts the next receives).
 */
uint64_t mrc_load_poll(struct mrc_load *load, uint64_t now_ns);
/* Sender: posts nothing more. */
void mrc_load_stop(struct mrc_load *load);
/* Receiver: the peer says how many messages it has sent in all (its result's tx_messages). */
void mrc_load_expect(struct mrc_load *load, uint64_t messages);
/* Sender: limits reached (or stopped, or every QP failed) and nothing outstanding. Receiver: all
 * expected messages came and are verified. Both roles: both. */
bool mrc_load_done(const struct mrc_load *load);

/*
 * Put this (or something that calls it) in mrc_sched_hooks.placed. It finds the load through the
 * context of the QP: call it only for QPs that a load created. `ctx` is not used.
 */
void mrc_load_placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len);

/* ---- flows (pacing FLOWS) */

/*
 * Hands in a flow of `bytes` (> 0), sent in pieces of `size` over the QPs in turn. Errors:
 * MRC_ERR_FULL (max_flows), MRC_ERR_STATE (other pacing, or stopped).
 */
int mrc_load_flow_add(struct mrc_load *load, uint64_t now_ns, uint64_t bytes, uint64_t tag);

struct mrc_load_flow_done {
	uint64_t tag;
	uint64_t bytes;
	uint64_t start_ns, end_ns; /* handed in; last completion */
	bool failed;
};
/* Next finished flow; false when there is none. */
bool mrc_load_flow_poll(struct mrc_load *load, struct mrc_load_flow_done *done_out);

/*
 * Has everything of a flow handed in with this tag been placed at the other end? For who holds both
 * ends in one hand: over several QPs flows overtake each other. Undefined for tags of flows that
 * ended failed. Cost: max_flows + nb_qps * depth.
 */
bool mrc_load_flow_placed(const struct mrc_load *load, const struct mrc_load *peer, uint64_t tag);

/* ---- results */

struct mrc_load_result {
	uint64_t start_ns;
	uint64_t first_tx_ns, last_tx_ns; /* first post, last completion; 0: none */
	uint64_t first_rx_ns, last_rx_ns; /* polls that saw the first and last message */
	uint64_t tx_posted, tx_messages,
		tx_bytes;                       /* posted; completed with success, their payload */
	uint64_t rx_messages, rx_bytes, rx_imm; /* placed; rx_imm: receive completions */
	uint64_t bytes_verified;                /* compared */
	uint64_t bytes_corrupt;                 /* of these, wrong */
	uint64_t messages_corrupt; /* with at least one wrong byte, or in a wrong place */
	uint64_t imm_corrupt;      /* immediates, or lengths of them, that are not the message's */
	uint64_t
		tx_errors[MRC_WC_FATAL_ERR + 1]; /* completions by enum mrc_wc_status; [0] unused */
	uint64_t post_errors;                    /* posts that the engine refused */
	uint64_t tx_misordered; /* completions that were not the oldest message's */
	uint32_t qps_failed;
	/* the first wrong byte, for a person */
	uint32_t bad_qp;
	uint8_t bad_expected, bad_found;
	uint64_t bad_message, bad_offset;
	const struct mrc_hist *latency; /* of messages, ns; open loop: from the time it was due */
	const uint64_t *tx_bins, *rx_bins; /* payload bytes per MRC_LOAD_BIN_NS since start */
	uint32_t nb_bins;                  /* bins begun; later bytes count in the last one */
};
/* Pointers stay valid until destroy and go on counting. */
void mrc_load_result(const struct mrc_load *load, struct mrc_load_result *result_out);
/* Payload bytes received so far: of the above what a caller may want after every packet. */
uint64_t mrc_load_rx_bytes(const struct mrc_load *load);

/* ---- the pattern */

/* Fills buf with the sequence of a seed; len a multiple of 8, buf aligned to 8. */
void mrc_load_pattern_fill(uint64_t seed, uint8_t *buf, uint64_t len);
/* Where message g of QP q begins in it, bytes; a multiple of 64, < MRC_LOAD_PATTERN_SLACK. */
uint32_t mrc_load_pattern_at(uint32_t qp, uint64_t message);
/*
 * Number of bytes of buf[0 .. len) that are not the sequence from byte `at` (a multiple of 8) on.
 * *first_out (may be NULL): offset of the first wrong one.
 */
uint64_t mrc_load_pattern_diff(
	uint64_t seed, uint64_t at, const uint8_t *buf, uint64_t len, uint64_t *first_out);
/* The byte at an offset of the sequence. */
uint8_t mrc_load_pattern_byte(uint64_t seed, uint64_t at);

#endif
