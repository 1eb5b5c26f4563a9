/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.h - a DPDK port as one plane of an endpoint: asks the device what it can do, takes what it
 * gives, and says in one line what is missing.
 */
#ifndef MRC_APP_PORT_H
#define MRC_APP_PORT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "device.h"
#include "reason.h"

#define MRC_PORT_MAX_QUEUES 8

struct mrc_port_want {
	uint32_t nb_workers;  /* a transmit queue each; receive queues as the device has them */
	uint32_t descriptors; /* per queue; 0 = default */
	uint32_t mtu;         /* largest IP packet that must pass */
	const uint8_t *mac;   /* to set, or NULL: keep the device's */
	bool client;          /* memif: the server may come later */
	const char *iface;    /* af_packet: whose carrier counts; NULL: ask the driver */
	struct rte_mempool *const
		*pools; /* one per worker; receive queue q is worker q % nb_workers's */
};

struct mrc_port {
	uint16_t id; /* of ethdev */
	uint16_t nb_rxq, nb_txq;
	uint32_t rx_desc, tx_desc;
	uint32_t mtu;       /* IP packet size that is believed to pass */
	bool mtu_by_driver; /* the device accepted the MTU (false: known to pass jumbo unasked) */
	bool link_up;       /* as of the last mrc_port_link_poll */
	bool client;        /* as wanted */
	char iface[16];     /* as wanted */
	int iface_fd;       /* to ask for its flags, or -1 */
	bool opened;        /* configured; to be closed */
	bool started;
	uint8_t mac[6];
	char driver[32];
};

/*
 * Configures, sets up and starts port `id`. A memif client whose server is not there yet stays
 * unstarted (see mrc_port_settle). On failure nothing stays open but the port itself, and
 * reason_out (MRC_REASON bytes) names what is missing and the remedy. Errors: MRC_ERR_INVAL.
 */
int mrc_port_open(
	struct mrc_port *port_out, uint16_t id, const struct mrc_port_want *want, char *reason_out);
/*
 * Starts what is not started, waits up to wait_ms for all carriers, connecting memif clients anew
 * that were turned away (their server's port was not ready). *stop becoming non-zero ends the wait.
 * No worker runs yet. Errors: MRC_ERR_INVAL when a port does not start; a missing carrier is none.
 */
int mrc_port_settle(struct mrc_port *ports, uint32_t nb, uint32_t wait_ms,
	const volatile sig_atomic_t *stop, char *reason_out);
/*
 * Stops and closes ports, in EAL's interrupt thread: there the drivers handle a peer that goes away
 * at the same moment, and memif frees its queues twice when both happen at once.
 */
void mrc_port_close(struct mrc_port *ports, uint32_t nb);

/* Reads the carrier; true when it changed. Not on the data path. */
bool mrc_port_link_poll(struct mrc_port *port);

/*
 * A ring port: receives from rx[], sends to tx[]. Returns the port id or MRC_ERR_NOMEM.
 */
int mrc_port_ring_create(const char *name, struct rte_ring *const rx[], uint32_t nb_rx,
	struct rte_ring *const tx[], uint32_t nb_tx);

/*
 * A pool of buffers of buf_len bytes (behind the headroom), last-in-first-out so that the working
 * set stays in the cache. NULL when memory is short (rte_errno says why).
 */
struct rte_mempool *mrc_port_pool_create(const char *name, uint32_t nb, uint32_t buf_len);

#endif
