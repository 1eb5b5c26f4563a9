/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fab_loop.h - the fabric in real time between DPDK ports: one thread, run to completion.
 *
 *   receive burst of every port ─► mrc_fabric_send ─► run what is due ─► mrc_fabric_recv ─►
 * transmit
 *
 * A frame stays in its mbuf all the way and has one owner: the port, the fabric, or the stash of
 * the port that it leaves by; a duplicate gets a buffer of its own, so cutting, marking and
 * damaging happen in place. A port is only read while little waits in front of its host's first
 * link, so that a full link pushes back as a NIC does. Once a millisecond the same loop looks after
 * carriers and the control socket.
 */
#ifndef MRC_FAB_LOOP_H
#define MRC_FAB_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "clock.h"
#include "ctl_server.h"
#include "fab_config.h"
#include "fab_methods.h"
#include "osenv.h"
#include "port.h"
#include "stash.h"

/* Where a host's plane meets a device. */
struct mrc_fab_port {
	uint32_t host, plane; /* in the fabric */
	struct mrc_port port;
	struct mrc_stash out;
	struct mrc_fab_port_stats *stats;
};

struct mrc_fab_loop {
	const struct mrc_fab_cfg *cfg;
	const volatile sig_atomic_t *stop;
	struct mrc_clock clock;
	struct mrc_osenv osenv;
	struct rte_mempool *pool;
	uint32_t backlog_len; /* bytes in front of a host link above which its port rests */
	uint64_t last_ns, turn_ns, link_ns;
	uint32_t idle_turns;
	uint32_t nb_ports;
	struct mrc_fab_port *ports;
	struct mrc_fab_port **by_place; /* [host x nb_planes + plane]; NULL: no port */
	struct mrc_fab_ctl ctl;
	struct mrc_rpc rpc;
	struct mrc_ctl_server *server; /* NULL: no control socket */
};

/* MiB that the buffers of a configuration take. */
uint32_t mrc_fab_memory_mib(const struct mrc_fab_cfg *cfg);

/*
 * EAL runs and its ports are probed in the order of the configuration. Errors: MRC_ERR_INVAL,
 * MRC_ERR_NOMEM, MRC_ERR_STATE, MRC_ERR_BUSY; reason_out (MRC_REASON bytes) names cause and
 * remedy. After an error too, mrc_fab_loop_close is due.
 */
int mrc_fab_loop_open(struct mrc_fab_loop *loop, const struct mrc_fab_cfg *cfg,
	const volatile sig_atomic_t *stop, char *reason_out);
/* Until *stop is set. */
void mrc_fab_loop_run(struct mrc_fab_loop *loop);
void mrc_fab_loop_close(struct mrc_fab_loop *loop);

#endif
