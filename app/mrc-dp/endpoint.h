/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint.h - one endpoint of the configuration brought to life: ports, buffer pools, workers with
 * their engines, and the loads that run on them.
 *
 * Order: open (ports) - build (engines and loads, when the workload is agreed) - offers out and in
 * - connect - the lcores poll the workers - close.
 */
#ifndef MRC_APP_ENDPOINT_H
#define MRC_APP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "area.h"
#include "clock.h"
#include "config.h"
#include "l2.h"
#include "mrc_load.h"
#include "port.h"
#include "worker.h"

#define MRC_ENDPOINT_MAX_LOADS (MRC_CFG_MAX_WORKERS)

/* The workload as both sides agreed on it. */
struct mrc_workload {
	struct mrc_cfg_workload cfg;
	uint32_t nb_loads; /* load i of one side talks to load i of the other */
	uint64_t file_len; /* 0: pattern */
};

/* Rings of a ring port, one per queue. */
struct mrc_endpoint_rings {
	struct rte_ring *rx[MRC_PORT_MAX_QUEUES], *tx[MRC_PORT_MAX_QUEUES];
	uint32_t nb_rx, nb_tx;
};

struct mrc_endpoint {
	const struct mrc_cfg *cfg;
	const struct mrc_cfg_endpoint *ep;
	const struct mrc_clock *clock;
	uint32_t index;
	bool is_sender, is_receiver;
	struct mrc_port ports[MRC_MAX_PLANES];
	struct rte_mempool *pools[MRC_CFG_MAX_WORKERS];
	struct mrc_worker *workers[MRC_CFG_MAX_WORKERS];
	struct mrc_l2 *l2;                            /* one per plane */
	struct mrc_capture *captures[MRC_MAX_PLANES]; /* where the file asks for one */
	struct mrc_workload workload;
	struct mrc_area source, regions[MRC_ENDPOINT_MAX_LOADS];
	const struct mrc_area *spared; /* the other endpoint's source: no file to write over */
};

/*
 * Opens the ports. rings[p]: for planes with a ring port. reason_out (MRC_REASON bytes) says
 * in one line, with the key, what failed. Errors: MRC_ERR_INVAL, MRC_ERR_NOMEM.
 */
int mrc_endpoint_open(struct mrc_endpoint *ep, const struct mrc_cfg *cfg, uint32_t index,
	const struct mrc_clock *clock, const struct mrc_endpoint_rings *rings, char *reason_out);
/* Engines and loads. The region of load 0 is `store` (mapped) when that is not empty. */
int mrc_endpoint_build(
	struct mrc_endpoint *ep, const struct mrc_workload *workload, char *reason_out);
/* Load i's offer. */
void mrc_endpoint_offer(
	const struct mrc_endpoint *ep, uint32_t load, struct mrc_load_offer *offer_out);
/*
 * Brings load i to RTS and begins to resolve the peer. macs: link address of the peer per plane
 * where it is known without asking, else NULL.
 */
int mrc_endpoint_connect(struct mrc_endpoint *ep, uint32_t load, const struct mrc_load_offer *peer,
	const uint8_t (*macs)[6], char *reason_out);
/* Before the lcores run: waits for the carriers and tells them to the engines. Errors as
 * mrc_port_settle. */
int mrc_endpoint_settle(
	struct mrc_endpoint *ep, const volatile sig_atomic_t *stop, char *reason_out);
/* Says which file, if any, was cut short by somebody while it was in use. */
bool mrc_endpoint_hurt(const struct mrc_endpoint *ep, char *reason_out);
/* The lcores have stopped. */
void mrc_endpoint_close(struct mrc_endpoint *ep);

/* Buffers one worker of the endpoint needs, and MiB for all of them and the rings. */
uint32_t mrc_endpoint_pool_size(const struct mrc_cfg *cfg, uint32_t index);
uint32_t mrc_endpoint_memory_mib(const struct mrc_cfg *cfg);

/* Worker that runs a load. */
static inline struct mrc_worker *mrc_endpoint_load_worker(
	const struct mrc_endpoint *ep, uint32_t load, uint32_t *index_out)
{
	*index_out = load / ep->ep->nb_workers;
	return ep->workers[load % ep->ep->nb_workers];
}

#endif
