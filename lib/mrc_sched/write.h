/* SPDX-License-Identifier: BSD-2-Clause */
/* write.h - what every write packet keeps to, whoever receives it. */
#ifndef WRITE_H
#define WRITE_H

#include "mr.h"

static inline bool write_is_empty(const struct mrc_pkt *pkt)
{
	return pkt->write.dma_len == 0;
}

/* kind: enum mrc_opcode_flag. */
static inline __attribute__((always_inline)) enum mrc_drop write_check_length(
	uint32_t pmtu, const struct mrc_pkt *pkt, uint32_t kind)
{
	bool first = (kind & MRC_OPF_FIRST) != 0, last = (kind & MRC_OPF_LAST) != 0;

	if ((kind & MRC_OPF_FULL) != 0 ? pkt->payload_len != pmtu : pkt->payload_len > pmtu)
		return MRC_DROP_LENGTH_MTU;
	if (pkt->payload_len == 0 && !(first && last && write_is_empty(pkt)))
		return MRC_DROP_LENGTH_MTU;
	if (pkt->payload_len > pkt->write.dma_len)
		return MRC_DROP_LENGTH_DMA;
	/* One packet carries all of it, several carry more than one. */
	if (first && last ? pkt->payload_len != pkt->write.dma_len : pkt->write.dma_len <= pmtu)
		return MRC_DROP_LENGTH_DMA;
	return MRC_KEEP;
}

/* May the QP of a domain be written so? dst_out is written when something is to be placed. */
static inline __attribute__((always_inline)) enum mrc_drop write_check(const struct mr_table *mrs,
	uint32_t pd, uint32_t pmtu, const struct mrc_pkt *pkt, uint32_t kind, uint8_t **dst_out)
{
	enum mrc_drop drop = write_check_length(pmtu, pkt, kind);

	if (drop == MRC_KEEP && !write_is_empty(pkt))
		drop = mr_check_write(mrs, pd, pkt, dst_out);
	return drop;
}

#endif
