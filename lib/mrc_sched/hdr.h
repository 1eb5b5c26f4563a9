/* SPDX-License-Identifier: BSD-2-Clause */
/* hdr.h - the header of a packet that leaves. */
#ifndef HDR_H
#define HDR_H

#include "mrc_assert.h"
#include "mrc_sched.h"

/* Writes a packet's header into buf, L2 to the last extension, and counts it; body_len as struct
 * mrc_template_vary. Returns the length up to the BTH. */
static inline uint32_t hdr_put(const struct mrc_proto *proto, const struct mrc_template *tmpls,
	const struct mrc_ev *ev, const struct mrc_pkt *pkt, uint16_t body_len,
	struct mrc_sched_counters *counters, struct mrc_txbuf *buf)
{
	const struct mrc_template *tmpl = &tmpls[ev->plane];
	struct mrc_template_vary vary = {.ev = ev->value,
		.cls = pkt->cls,
		.ecn = pkt->ecn,
		.body_len = body_len,
		.srv6_dst = (const struct mrc_gid *)(const void *)ev->srv6_dst,
		.srv6_seg = (const struct mrc_gid *)(const void *)ev->srv6_seg};
	uint32_t len = mrc_template_put(tmpl, proto, &vary, buf->hdr);
	const uint8_t *end = mrc_pkt_put_transport(proto, pkt, buf->hdr + len);
	struct mrc_sched_plane_counters *plane = &counters->planes[ev->plane];

	MRC_ASSERT(end - buf->hdr <= MRC_HDR_ROOM);
	buf->hdr_len = (uint16_t)(end - buf->hdr);
	buf->ip_off = tmpl->ip_off;
	buf->plane = ev->plane;
	buf->cls = pkt->cls;
	counters->tx_packets++;
	plane->tx_packets++;
	plane->tx_bytes += len + body_len;
	return len;
}

/* Points buf at no payload: the header is the packet. */
static inline void hdr_only(struct mrc_txbuf *buf)
{
	buf->pad = 0;
	buf->ts_off = 0;
	buf->payload_len = 0;
	buf->nb_seg = 0;
}

#endif
