/* SPDX-License-Identifier: BSD-2-Clause */
/* ARP for Ethernet and IPv4 (RFC 826, conflict detection after RFC 5227). */
#include "l2.h"
#include "l2_private.h"

enum {
	ARP_LEN = 28,
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
	/* offsets */
	ARP_OP = 6,
	ARP_SHA = 8,
	ARP_SPA = 14,
	ARP_THA = 18,
	ARP_TPA = 24,
};

static const uint8_t arp_head[6] = {0, 1, 8, 0, 6, 4}; /* Ethernet, IPv4, their address lengths */
static const uint8_t broadcast[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

static uint32_t arp_put(const struct mrc_l2 *l2, const uint8_t *dmac, uint16_t op,
	const uint8_t *spa, const uint8_t *tha, const uint8_t *tpa, uint8_t *buf)
{
	uint32_t off = mrc_l2_eth_put(l2, dmac, L2_TYPE_ARP, buf);
	uint8_t *p = buf + off;

	memcpy(p, arp_head, sizeof(arp_head));
	l2_put16(p + ARP_OP, op);
	memcpy(p + ARP_SHA, l2->cfg.mac, 6);
	memcpy(p + ARP_SPA, spa, 4);
	memcpy(p + ARP_THA, tha, 6);
	memcpy(p + ARP_TPA, tpa, 4);
	return mrc_l2_pad(buf, off + ARP_LEN);
}

uint32_t mrc_l2_arp_ask(const struct mrc_l2 *l2, const struct mrc_gid *own,
	const struct mrc_gid *target, const uint8_t *dmac, uint8_t *buf)
{
	static const uint8_t unknown[6];

	return arp_put(l2, dmac != NULL ? dmac : broadcast, ARP_REQUEST, own->raw + 12, unknown,
		target->raw + 12, buf);
}

static bool arp_is_sound(const uint8_t *p)
{
	uint16_t op = l2_get16(p + ARP_OP);

	return memcmp(p, arp_head, sizeof(arp_head)) == 0 &&
	       (op == ARP_REQUEST || op == ARP_REPLY) && l2_mac_is_station(p + ARP_SHA);
}

static enum mrc_l2_event arp_answer(
	struct mrc_l2 *l2, uint64_t now_ns, const uint8_t *p, struct l2_reply *reply)
{
	if (reply->room < L2_FRAME_MIN + 4)
		return MRC_L2_TOO_LONG;
	if (!mrc_l2_bucket_take(&l2->answers, now_ns, l2->cfg.answers_per_s))
		return MRC_L2_LIMITED;
	reply->len = arp_put(
		l2, p + ARP_SHA, ARP_REPLY, p + ARP_TPA, p + ARP_SHA, p + ARP_SPA, reply->buf);
	return MRC_L2_ARP_ANSWERED;
}

enum mrc_l2_event mrc_l2_arp_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply)
{
	static const uint8_t any[4];
	const uint8_t *p = frame->body;
	struct mrc_gid sender, target;
	enum mrc_l2_event heard = MRC_L2_UNWANTED;
	bool for_us, solicited;

	if (frame->len < ARP_LEN)
		return MRC_L2_SHORT;
	if (!arp_is_sound(p))
		return MRC_L2_MALFORMED;
	l2_addr_v4(&sender, p + ARP_SPA);
	l2_addr_v4(&target, p + ARP_TPA);
	for_us = mrc_l2_addr_is_own(l2, &target);
	if (mrc_l2_addr_is_own(l2, &sender))
		return memcmp(p + ARP_SHA, l2->cfg.mac, 6) == 0 ? MRC_L2_NOT_OURS : MRC_L2_CONFLICT;
	/* Sender 0.0.0.0 probes for an address before taking it: an answer is due, nothing is told.
	 */
	solicited = l2_get16(p + ARP_OP) == ARP_REPLY && for_us &&
		    memcmp(p + ARP_THA, l2->cfg.mac, 6) == 0;
	if (memcmp(p + ARP_SPA, any, sizeof(any)) != 0)
		heard = mrc_l2_neigh_heard(
			l2, now_ns, &sender, p + ARP_SHA, solicited, MRC_L2_ARP_TAKEN);
	if (l2_get16(p + ARP_OP) == ARP_REQUEST && for_us)
		return arp_answer(l2, now_ns, p, reply);
	return heard == MRC_L2_UNWANTED && !for_us ? MRC_L2_NOT_OURS : heard;
}
