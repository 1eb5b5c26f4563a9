/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric_mbuf.h - packets of lib/mrc_fabric that are DPDK's mbufs of one segment: a frame stays in
 * its buffer from the port it came from to the port it leaves by. Run to completion; one thread.
 */
#ifndef MRC_APP_FABRIC_MBUF_H
#define MRC_APP_FABRIC_MBUF_H

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "mrc_fabric.h"

enum {
	MRC_FABRIC_MBUF_BURST = 32,   /* frames handed in or out at a time */
	MRC_FABRIC_MBUF_EVENTS = 256, /* of the fabric in one turn of a loop */
};

/* Frees and pads mbufs; copies come from `copies`, which outlives the fabric. */
struct mrc_fabric_ops mrc_fabric_mbuf_ops(struct rte_mempool *copies);
/* Bytes in front of a host's first link above which its port rests: ten microseconds of the rate,
 * so that a full link pushes back as a NIC does. */
uint32_t mrc_fabric_mbuf_backlog_len(uint64_t rate_bps);

/* The frame as the fabric takes it. */
static inline struct mrc_fabric_pkt mrc_fabric_mbuf_in(struct rte_mbuf *m)
{
	return (struct mrc_fabric_pkt){.data = rte_pktmbuf_mtod(m, uint8_t *),
		.len = m->pkt_len,
		.wire_len = m->pkt_len,
		.ref = m};
}

/* The mbuf of a packet that the fabric gave back; cutting and padding are carried over. */
static inline struct rte_mbuf *mrc_fabric_mbuf_out(const struct mrc_fabric_pkt *pkt)
{
	struct rte_mbuf *m = pkt->ref;

	m->data_off = (uint16_t)(pkt->data - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)pkt->len;
	m->pkt_len = pkt->len;
	return m;
}

/* Of a burst of n frames, asks the cache for the one behind frame i. */
static inline void mrc_fabric_mbuf_prefetch(struct rte_mbuf *const *frames, uint32_t i, uint32_t n)
{
	if (i + 1 < n)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void *));
}

#endif
