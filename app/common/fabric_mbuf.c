/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric_mbuf.h"

#include <string.h>

#define BACKLOG_MIN 16384ull

static void pkt_free(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	rte_pktmbuf_free(pkt->ref);
}

static bool pkt_clone(void *ctx, const struct mrc_fabric_pkt *pkt, struct mrc_fabric_pkt *copy_out)
{
	struct rte_mempool *copies = ctx;
	struct rte_mbuf *copy = rte_pktmbuf_alloc(copies);

	if (copy == NULL || rte_pktmbuf_tailroom(copy) < pkt->len) {
		rte_pktmbuf_free(copy);
		return false;
	}
	*copy_out = *pkt;
	copy_out->data = rte_pktmbuf_mtod(copy, uint8_t *);
	copy_out->ref = copy;
	memcpy(copy_out->data, pkt->data, pkt->len);
	return true;
}

static uint32_t pkt_tailroom(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	const struct rte_mbuf *m = pkt->ref;
	const uint8_t *end = (const uint8_t *)m->buf_addr + m->buf_len;

	return (uint32_t)(end - (pkt->data + pkt->len));
}

struct mrc_fabric_ops mrc_fabric_mbuf_ops(struct rte_mempool *copies)
{
	return (struct mrc_fabric_ops){
		.ctx = copies, .free = pkt_free, .clone = pkt_clone, .tailroom = pkt_tailroom};
}

uint32_t mrc_fabric_mbuf_backlog_len(uint64_t rate_bps)
{
	return (uint32_t)RTE_MAX(BACKLOG_MIN, rate_bps / 8 / 100000);
}
