/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * courier.h - commands that must arrive: one that finds a worker's ring full waits here and goes
 * first next time, in the order given. Of two that wait and say how the same thing stands (a
 * plane's carrier, a neighbour's address) only the later one is delivered. One thread owns a
 * courier.
 */
#ifndef MRC_APP_COURIER_H
#define MRC_APP_COURIER_H

#include "worker.h"

/* For each worker: the carrier of each plane, and start, stop and expectation of each load. */
#define MRC_COURIER_ROOM                                                                           \
	(MRC_CFG_MAX_ENDPOINT * MRC_CFG_MAX_WORKERS * (MRC_MAX_PLANES + 3 * MRC_WORKER_MAX_LOADS))

struct mrc_courier {
	uint32_t nb;   /* that wait */
	uint64_t late; /* commands that had to wait, ever */
	struct {
		struct mrc_worker *worker;
		struct mrc_cmd cmd;
	} waiting[MRC_COURIER_ROOM];
};

/* Delivers or keeps. At most MRC_COURIER_ROOM may wait: who sends more than carriers and loads
 * (neighbours have no end) sends them when mrc_courier_flush says that nobody waits. */
void mrc_courier_send(
	struct mrc_courier *courier, struct mrc_worker *worker, const struct mrc_cmd *cmd);
/* Tries what waits; true when nothing does any more. Cost: one comparison when nothing waits. */
bool mrc_courier_flush(struct mrc_courier *courier);

#endif
