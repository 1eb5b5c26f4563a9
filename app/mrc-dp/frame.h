/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - packet buffers of one segment, taken from and given back to their pool in bulk.
 *
 * The general functions of rte_mbuf also write and read a buffer's second cache line (next). Where
 * one core fills a buffer and another one frees it, that line would travel between them twice per
 * packet for nothing: a buffer in a pool has no next, and one with a single segment neither.
 */
#ifndef MRC_APP_FRAME_H
#define MRC_APP_FRAME_H

#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#define MRC_FRAMES_BULK 32

/*
 * Asks the cache for what writing a frame's head will touch, of a buffer fresh from its pool: the
 * struct and the first lines of data. Another core had them last; without this the first write to
 * each line waits, and the read that follows (for the ICRC) waits for the write.
 */
static inline uint8_t *mrc_frame_prepare(struct rte_mbuf *m, uint32_t priv_len)
{
	uint8_t *data = (uint8_t *)(m + 1) + priv_len + RTE_PKTMBUF_HEADROOM;

	__builtin_prefetch(m, 1);
	__builtin_prefetch(data, 1);
	__builtin_prefetch(data + 64, 1);
	__builtin_prefetch(data + 128, 1);
	return data;
}

/* Makes a buffer that came raw out of its pool a frame of len bytes. */
static inline void mrc_frame_set(struct rte_mbuf *m, uint32_t len)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->port = RTE_MBUF_PORT_INVALID;
	m->ol_flags = 0;
	m->packet_type = 0;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

/* Nobody else holds it, it has one segment and its data is its own. */
static inline bool mrc_frame_is_plain(const struct rte_mbuf *m)
{
	return m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

/* Gives buffers back, whatever pools they are of. */
static inline void mrc_frames_free(struct rte_mbuf *const *frames, uint32_t n)
{
	void *bulk[MRC_FRAMES_BULK];
	struct rte_mempool *pool = NULL;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];

		if (unlikely(!mrc_frame_is_plain(m))) {
			rte_pktmbuf_free(m);
			continue;
		}
		if (unlikely(m->pool != pool || nb == MRC_FRAMES_BULK)) {
			if (nb > 0)
				rte_mempool_put_bulk(pool, bulk, nb);
			pool = m->pool;
			nb = 0;
		}
		bulk[nb++] = m;
	}
	if (nb > 0)
		rte_mempool_put_bulk(pool, bulk, nb);
}

#endif
