/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - a worker runs one engine to completion over all planes of its endpoint:
 *
 *   receive burst of each plane -> engine -> load (verifies before an ACK can leave)
 *   frames handed over by other workers, commands, expired timers
 *   pull from the engine in sub-bursts with fresh time -> ports; what a port refuses waits
 *
 * One thread owns a worker. Others talk to it through its command ring and read the view that it
 * publishes.
 */
#ifndef MRC_APP_WORKER_H
#define MRC_APP_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "capture.h"
#include "clock.h"
#include "config.h"
#include "l2.h"
#include "mrc_load.h"
#include "mrc_sched.h"
#include "osenv.h"
#include "port.h"
#include "stash.h"

#define MRC_WORKER_BURST     32
#define MRC_WORKER_READY     64 /* a power of two */
#define MRC_WORKER_MAX_LOADS MRC_CFG_MAX_WORKERS

struct mrc_courier;

enum mrc_cmd_kind {
	MRC_CMD_PEER,   /* gid, plane, mac (has_mac false: forget it) */
	MRC_CMD_PLANE,  /* plane, on: carrier */
	MRC_CMD_START,  /* load */
	MRC_CMD_STOP,   /* load: posts nothing more */
	MRC_CMD_EXPECT, /* load, arg: messages that the peer sent in all */
};

struct mrc_cmd {
	uint64_t arg;
	struct mrc_gid gid;
	uint32_t kind; /* enum mrc_cmd_kind */
	uint16_t plane, load;
	uint8_t mac[6];
	bool has_mac, on;
};

/* A worker's side of one plane. */
struct mrc_worker_plane {
	struct mrc_stash stash;
	uint16_t port;
	uint16_t nb_rxq;
	uint16_t rxq[MRC_PORT_MAX_QUEUES];
	bool up, busy;
	struct mrc_capture *capture; /* or NULL */
};

/* Counters of the host around the engine. */
struct mrc_worker_counters {
	uint64_t polls, busy_polls; /* a busy poll moved a frame */
	uint64_t rx_segmented;      /* frames in several pieces, dropped */
	uint64_t handed_over, taken_over, handover_full;
	uint64_t tx_no_buffer; /* pulls that found the pool empty */
	uint64_t l2_rx, l2_tx;
};

/* What other threads may read. */
struct mrc_worker_view {
	struct mrc_sched_counters engine;
	struct mrc_worker_counters host;
	uint64_t refused; /* frames that ports did not take at once */
	uint32_t nb_loads;
	struct {
		struct mrc_load_result result; /* its pointers only after the worker stopped */
		bool done;
	} loads[MRC_WORKER_MAX_LOADS];
	uint32_t nb_planes;
	bool neighbour[MRC_MAX_PLANES]; /* the peer's link address is known on the plane */
	uint32_t fatal_qps;             /* QPs that went to ERR by themselves */
};

struct mrc_worker {
	/* hot */
	struct mrc_sched *sched;
	const struct mrc_clock *clock;
	uint64_t last_ns;
	uint32_t nb_planes;
	uint32_t nb_loads;
	uint32_t sub_burst; /* frames stamped and sent at once, so that stamps are fresh */
	uint32_t ready_head, ready_tail; /* free-running, of ready and bufs */
	bool icrc;
	bool restamp; /* stamp again when a burst is finished */
	uint64_t load_due_ns, l2_due_ns, publish_ns;
	struct rte_mempool *pool;
	struct rte_ring *handover; /* frames for this worker */
	struct rte_ring *commands;
	struct mrc_load *loads[MRC_WORKER_MAX_LOADS];
	struct rte_mbuf *ready[MRC_WORKER_READY]; /* allocated, for the next pulls */
	uint8_t *data[MRC_WORKER_READY];          /* where their frames begin */
	struct mrc_txbuf bufs[MRC_WORKER_BURST];  /* of a pull; hdr points into headers */
	_Alignas(64) uint8_t headers[MRC_WORKER_BURST][MRC_HDR_ROOM];
	struct mrc_worker_plane planes[MRC_MAX_PLANES];
	struct mrc_worker_counters counters;
	/* cold */
	uint32_t index, nb_workers;
	struct mrc_worker *const *workers; /* of the endpoint, this one included */
	struct mrc_l2 *l2;                 /* one per plane, on worker 0 only, else NULL */
	struct mrc_courier *courier;       /* tells all workers what l2 learns; with l2 */
	struct mrc_gid peer;
	bool has_mac[MRC_MAX_PLANES];
	uint32_t fatal_qps;
	struct mrc_ev_set *ev_set;
	struct mrc_osenv osenv;
	_Atomic uint32_t view_seq; /* odd while the view is being written */
	struct mrc_worker_view view;
};

/* One turn. Returns how many frames moved. */
uint32_t mrc_worker_poll(struct mrc_worker *worker);

/* The worker's thread, or before it runs: the carrier of a plane. */
void mrc_worker_carrier(struct mrc_worker *worker, uint64_t now_ns, uint32_t plane, bool up);

/* Any thread: hands in a command. MRC_ERR_FULL when the ring is full; courier.h tries again. */
int mrc_worker_command(struct mrc_worker *worker, const struct mrc_cmd *cmd);
/* Any thread: a consistent copy of what the worker published last (at most some ms old). */
void mrc_worker_view_read(struct mrc_worker *worker, struct mrc_worker_view *view_out);
/* The worker's own thread, or any after it stopped. */
void mrc_worker_publish(struct mrc_worker *worker);
/* After the worker stopped: gives back every frame it holds. */
void mrc_worker_drain(struct mrc_worker *worker);

#endif
