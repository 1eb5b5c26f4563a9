/* SPDX-License-Identifier: BSD-2-Clause */
/* ident.h - is a decoded packet what it says, and from where the QP's peer sends? */
#ifndef IDENT_H
#define IDENT_H

#include "mrc_sched.h"

enum {
	/* Payload up to this is summed before any packet of the batch is handled. */
	EARLY_LEN = 256,
};

enum icrc_seen {
	ICRC_UNSEEN,
	ICRC_RIGHT,
	ICRC_WRONG,
};

static inline enum mrc_drop ident_vlan(
	const struct mrc_sched_plane *port, const struct mrc_pkt *pkt)
{
	uint32_t want = port->vlan ? port->vlan_tci & 0xFFFu : 0;
	uint32_t got = pkt->flags & MRC_PKT_VLAN ? pkt->vlan_tci & 0xFFFu : 0;

	/* A priority tag (identifier 0) is no VLAN. */
	return want == got ? MRC_KEEP : MRC_DROP_VLAN_ID;
}

/* Both addresses are those of the QP. */
static inline enum mrc_drop ident_ends(
	const struct mrc_pkt *pkt, const struct mrc_gid *local, const struct mrc_gid *peer)
{
	if (!mrc_gid_eq(&pkt->src, peer))
		return MRC_DROP_ADDR_SOURCE;
	if (!mrc_gid_eq(&pkt->dst, local))
		return MRC_DROP_ADDR_DEST;
	return MRC_KEEP;
}

/* One whose ICRC is worth summing early. */
static inline bool ident_early(const struct mrc_pkt *pkt)
{
	return pkt->payload_len <= EARLY_LEN && (pkt->flags & MRC_PKT_TRIMMED) == 0;
}

static inline enum icrc_seen ident_sum(const struct mrc_pkt *pkt, const uint8_t *frame)
{
	return mrc_pkt_icrc_ok(pkt, frame) ? ICRC_RIGHT : ICRC_WRONG;
}

/* seen: what was found early. */
static inline bool ident_icrc_ok(
	const struct mrc_pkt *pkt, const uint8_t *frame, enum icrc_seen seen)
{
	return (seen == ICRC_UNSEEN ? ident_sum(pkt, frame) : seen) == ICRC_RIGHT;
}

#endif
