/* SPDX-License-Identifier: BSD-2-Clause */
#include "sendq.h"

bool wqe_gather_many(const struct mr_table *mrs, const struct wqe *wqe, uint64_t off, uint32_t len,
	struct mrc_txbuf *buf)
{
	uint32_t i = 0;

	buf->nb_seg = 0;
	while (len > 0) {
		const struct sge *sge = &wqe->sge[i++];
		uint32_t part;

		MRC_ASSERT(i <= wqe->nb_sge);
		if (off >= sge->len) {
			off -= sge->len;
			continue;
		}
		/* Deregistered meanwhile: its memory is the owner's again. */
		if (__builtin_expect(mr_find(mrs, sge->lkey) == NULL, 0))
			return false;
		part = sge->len - (uint32_t)off < len ? sge->len - (uint32_t)off : len;
		buf->seg[buf->nb_seg++] = (struct mrc_iov){.base = sge->base + off, .len = part};
		len -= part;
		off = 0;
	}
	return true;
}
