/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_lane.h - one thread of a measurement: follows the time table, runs the protocol's worker or
 * a raw lane on the same port, pool and memory, and keeps a record of each window.
 */
#ifndef MRC_APP_PERF_LANE_H
#define MRC_APP_PERF_LANE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "raw_lane.h"
#include "window.h"
#include "worker.h"

enum mrc_perf_mode {
	MRC_PERF_IO = MRC_RAW_IO,
	MRC_PERF_COPY = MRC_RAW_COPY,
	MRC_PERF_ICRC = MRC_RAW_ICRC,
	MRC_PERF_PING = MRC_RAW_PING,
	MRC_PERF_MRC, /* the protocol */
	MRC_NB_PERF_MODES,
};

enum {
	MRC_PERF_WINDOWS = 512,
	MRC_PERF_PEER_SECONDS = 20, /* how long a side waits for the other one */
};

/* What the two threads share; in a file that both map when they are two processes. */
struct mrc_perf_shared {
	_Atomic uint32_t nb_ready, nb_done;  /* sides */
	_Atomic uint64_t start_tsc;          /* 0: not agreed yet */
	_Atomic uint32_t stop;               /* a signal came to one of the sides */
	_Alignas(128) _Atomic uint32_t ball; /* of the canary: even = the sender's turn */
	char pad[128];
};

struct mrc_perf_record {
	uint64_t ticks;       /* length of the window as this thread saw it */
	uint64_t cpu_ns;      /* of it, what the thread really ran */
	uint64_t stall_ticks; /* in turns longer than 100 us */
	uint64_t turns, busy_turns;
	uint64_t tx_packets, tx_bytes; /* data; bytes: payload */
	uint64_t rx_packets, rx_bytes;
	uint64_t messages;                       /* completed */
	uint64_t retransmits;                    /* MRC */
	uint64_t bad, no_buffer;                 /* raw */
	uint64_t refused;                        /* frames that the port did not take at once */
	uint64_t nb_rtt, rtt_p50_ns, rtt_p99_ns; /* PING; MRC: of messages, post to completion */
	uint64_t canary_ticks; /* of a round trip just before the window; 0: the other side was away
				*/
};

struct mrc_perf_lane {
	struct mrc_worker *worker;
	struct mrc_raw_lane raw;
	struct mrc_window_plan plan;
	struct mrc_perf_shared *shared;
	const volatile sig_atomic_t *stop; /* not 0: a signal came to this process */
	bool sender;
	double ns_per_tick;
	uint32_t nb_loads; /* of the worker, while it is told of none */
	/* of the window that runs */
	struct mrc_perf_record at_begin;
	struct mrc_hist rtt_begin;
	uint64_t stall_ticks, turns, busy_turns, last_tsc;
	bool is_open;                                         /* a window runs: */
	uint32_t open_index;                                  /* this one */
	uint64_t stall_limit;                                 /* ticks */
	struct mrc_perf_record records[MRC_PERF_WINDOWS + 1]; /* the last one: final canary only */
};

const char *mrc_perf_mode_name(enum mrc_perf_mode mode);
/* False when there is no such mode. */
bool mrc_perf_mode_parse(const char *text, enum mrc_perf_mode *mode_out);

/* Follows the plan to its end, or until a signal comes to any side. plan.start is set from
 * shared->start_tsc, for which it waits. False: never begun, or ended by a signal. */
bool mrc_perf_lane_run(struct mrc_perf_lane *lane);

#endif
