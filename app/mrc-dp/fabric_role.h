/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_role.h - the emulated fabric as a role of an lcore: takes frames from the endpoints' ring
 * ports, runs them through lib/mrc_fabric in real time, hands them to the other endpoint's ports.
 *
 * Frames stay in their mbufs all the way. A host's transmit ring is only read while little waits in
 * front of its first link, so a full link pushes back as a NIC does.
 */
#ifndef MRC_APP_FABRIC_ROLE_H
#define MRC_APP_FABRIC_ROLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "clock.h"
#include "config.h"
#include "mrc_fabric.h"

#define MRC_FABRIC_ROLE_HOSTS  MRC_CFG_MAX_ENDPOINT
#define MRC_FABRIC_ROLE_QUEUES MRC_CFG_MAX_WORKERS

/* One plane of one host: a ring per worker in each direction. */
struct mrc_fabric_port {
	uint32_t host; /* number inside the fabric */
	uint32_t nb_queues;
	struct rte_ring *from[MRC_FABRIC_ROLE_QUEUES]; /* what the host sends */
	struct rte_ring *to[MRC_FABRIC_ROLE_QUEUES];   /* what the host receives */
	_Atomic bool carrier;                          /* as the host's port sees it */
};

struct mrc_fabric_role {
	struct mrc_fabric *fabric;
	const struct mrc_clock *clock;
	struct rte_mempool *pool; /* of copies */
	uint32_t nb_hosts, nb_planes;
	uint32_t backlog_len; /* bytes in front of a host link above which its ring rests */
	uint64_t last_ns;
	struct mrc_fabric_port ports[MRC_FABRIC_ROLE_HOSTS][MRC_MAX_PLANES];
	const struct mrc_ctl_fault *faults;
	uint32_t nb_faults;
	_Atomic bool begin; /* asks the role to start the clock of the scheduled faults */
	bool begun;
};

/*
 * Makes the fabric of the configuration and the rings of its ports. Errors: MRC_ERR_INVAL,
 * MRC_ERR_NOMEM; nothing is left then.
 */
int mrc_fabric_role_create(struct mrc_fabric_role *role, const struct mrc_cfg *cfg,
	const struct mrc_env *env, const struct mrc_clock *clock);
/* The lcores have stopped. Frees every frame inside. */
void mrc_fabric_role_destroy(struct mrc_fabric_role *role);

/* One turn. Returns how many frames moved. */
uint32_t mrc_fabric_role_poll(struct mrc_fabric_role *role);

/* From any thread: the scheduled faults count from about now. */
void mrc_fabric_role_begin(struct mrc_fabric_role *role);

#endif
