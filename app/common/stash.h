/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stash.h - frames on their way out of one transmit queue.
 *
 * The worker collects a burst here and flushes it; what the port refuses stays, keeps its order and
 * goes first next time. A frame is owned by the stash from put until the port took it.
 */
#ifndef MRC_APP_STASH_H
#define MRC_APP_STASH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define MRC_STASH_ROOM 128

struct mrc_stash {
	uint16_t port, queue;
	uint32_t nb;      /* frames waiting */
	uint64_t refused; /* frames that the port did not take at once */
	struct rte_mbuf *frames[MRC_STASH_ROOM];
};

static inline uint32_t mrc_stash_room(const struct mrc_stash *stash)
{
	return MRC_STASH_ROOM - stash->nb;
}

/* The caller has checked mrc_stash_room. */
static inline void mrc_stash_put(struct mrc_stash *stash, struct rte_mbuf *frame)
{
	stash->frames[stash->nb++] = frame;
}

/* Offers everything to the port. Returns true when nothing is left. */
static inline bool mrc_stash_flush(struct mrc_stash *stash)
{
	uint32_t sent;

	if (stash->nb == 0)
		return true;
	sent = rte_eth_tx_burst(stash->port, stash->queue, stash->frames, (uint16_t)stash->nb);
	stash->nb -= sent;
	if (likely(stash->nb == 0))
		return true;
	stash->refused += stash->nb;
	memmove(stash->frames, stash->frames + sent, stash->nb * sizeof(stash->frames[0]));
	return false;
}

/* Gives everything back to its pool; returns the count. */
static inline uint32_t mrc_stash_drop(struct mrc_stash *stash)
{
	uint32_t nb = stash->nb;

	rte_pktmbuf_free_bulk(stash->frames, nb);
	stash->nb = 0;
	return nb;
}

#endif
