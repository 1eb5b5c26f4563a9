/* SPDX-License-Identifier: BSD-2-Clause */
/* The neighbour table: who is wanted, who is known, when to ask. */
#include "l2.h"
#include "l2_private.h"

static struct mrc_l2_neigh *neigh_find(struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++)
		if (l2->neighs[i].state != MRC_L2_FREE && l2_addr_eq(&l2->neighs[i].addr, addr))
			return &l2->neighs[i];
	return NULL;
}

static struct mrc_l2_neigh *neigh_new(struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++) {
		struct mrc_l2_neigh *neigh = &l2->neighs[i];

		if (neigh->state == MRC_L2_FREE && !neigh->changed) {
			*neigh = (struct mrc_l2_neigh){.addr = *addr, .next_ns = UINT64_MAX};
			return neigh;
		}
	}
	return NULL;
}

static void deadline_update(struct mrc_l2 *l2)
{
	l2->deadline_ns = UINT64_MAX;
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++)
		if (l2->neighs[i].state != MRC_L2_FREE && l2->neighs[i].next_ns < l2->deadline_ns)
			l2->deadline_ns = l2->neighs[i].next_ns;
}

static bool addr_is_group(const struct mrc_gid *addr)
{
	if (l2_is_v4(addr))
		return addr->raw[12] >= 224 || addr->raw[12] == 0;
	return addr->raw[0] == 0xFF;
}

/* The own address of the same IP version that shares the longest prefix with addr, or NULL. */
static const struct mrc_gid *own_for(const struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	const struct mrc_gid *best = NULL;
	uint32_t best_bits = 0;

	for (uint32_t i = 0; i < l2->cfg.nb_addrs; i++) {
		const struct mrc_gid *own = &l2->cfg.addrs[i];
		uint32_t bits = 0;

		if (l2_is_v4(own) != l2_is_v4(addr))
			continue;
		while (bits < 128 &&
			((own->raw[bits / 8] ^ addr->raw[bits / 8]) & (0x80 >> (bits % 8))) == 0)
			bits++;
		if (best == NULL || bits > best_bits) {
			best = own;
			best_bits = bits;
		}
	}
	return best;
}

static void ask_from(
	struct mrc_l2 *l2, struct mrc_l2_neigh *neigh, enum mrc_l2_state state, uint64_t now_ns)
{
	neigh->state = (uint8_t)state;
	neigh->nb_asked = 0;
	neigh->retry_ns = l2->cfg.retry_ns;
	neigh->next_ns = now_ns;
	if (now_ns < l2->deadline_ns)
		l2->deadline_ns = now_ns;
}

int mrc_l2_neigh_want(struct mrc_l2 *l2, uint64_t now_ns, const struct mrc_gid *addr)
{
	struct mrc_l2_neigh *neigh;

	if (addr_is_group(addr) || own_for(l2, addr) == NULL)
		return MRC_ERR_INVAL;
	if (neigh_find(l2, addr) != NULL)
		return MRC_OK;
	neigh = neigh_new(l2, addr);
	if (neigh == NULL)
		return MRC_ERR_NOMEM;
	ask_from(l2, neigh, MRC_L2_WAITING, now_ns);
	return MRC_OK;
}

void mrc_l2_neigh_drop(struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	struct mrc_l2_neigh *neigh = neigh_find(l2, addr);

	if (neigh == NULL)
		return;
	*neigh = (struct mrc_l2_neigh){.state = MRC_L2_FREE};
	deadline_update(l2);
}

int mrc_l2_neigh_static(struct mrc_l2 *l2, const struct mrc_gid *addr, const uint8_t *mac)
{
	struct mrc_l2_neigh *neigh = neigh_find(l2, addr);

	if (addr_is_group(addr) || !l2_mac_is_station(mac))
		return MRC_ERR_INVAL;
	if (neigh == NULL)
		neigh = neigh_new(l2, addr);
	if (neigh == NULL)
		return MRC_ERR_NOMEM;
	neigh->state = MRC_L2_STATIC;
	neigh->next_ns = UINT64_MAX;
	neigh->changed = true;
	memcpy(neigh->mac, mac, 6);
	deadline_update(l2);
	return MRC_OK;
}

static bool mac_is_known(const struct mrc_l2_neigh *neigh)
{
	return neigh->state == MRC_L2_KNOWN || neigh->state == MRC_L2_VERIFY ||
	       neigh->state == MRC_L2_STATIC;
}

const uint8_t *mrc_l2_neigh_mac(const struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++) {
		const struct mrc_l2_neigh *neigh = &l2->neighs[i];

		if (mac_is_known(neigh) && l2_addr_eq(&neigh->addr, addr))
			return neigh->mac;
	}
	return NULL;
}

bool mrc_l2_change_poll(struct mrc_l2 *l2, struct mrc_gid *addr_out, const uint8_t **mac_out)
{
	for (uint32_t i = 0; i < MRC_L2_NEIGHS; i++) {
		struct mrc_l2_neigh *neigh = &l2->neighs[i];

		if (!neigh->changed)
			continue;
		neigh->changed = false;
		*addr_out = neigh->addr;
		*mac_out = mac_is_known(neigh) ? neigh->mac : NULL;
		return true;
	}
	return false;
}

static void neigh_known(
	struct mrc_l2 *l2, struct mrc_l2_neigh *neigh, uint64_t now_ns, const uint8_t *mac)
{
	if (!mac_is_known(neigh) || memcmp(neigh->mac, mac, 6) != 0)
		neigh->changed = true;
	memcpy(neigh->mac, mac, 6);
	neigh->state = MRC_L2_KNOWN;
	neigh->nb_asked = 0;
	neigh->next_ns = now_ns + l2->cfg.expiry_ns;
	deadline_update(l2);
}

enum mrc_l2_event mrc_l2_neigh_heard(struct mrc_l2 *l2, uint64_t now_ns, const struct mrc_gid *addr,
	const uint8_t *mac, bool solicited, enum mrc_l2_event taken)
{
	struct mrc_l2_neigh *neigh = neigh_find(l2, addr);
	bool asked;

	if (neigh == NULL || neigh->state == MRC_L2_STATIC)
		return MRC_L2_UNWANTED;
	asked = neigh->nb_asked > 0 &&
		(neigh->state == MRC_L2_WAITING || neigh->state == MRC_L2_VERIFY);
	/* A wanted neighbour that speaks first is as good as an answer; its address is then
	 * verified like any other, at expiry. */
	if (neigh->state == MRC_L2_WAITING || (asked && solicited) ||
		memcmp(neigh->mac, mac, 6) == 0) {
		neigh_known(l2, neigh, now_ns, mac);
		return taken;
	}
	if (neigh->state == MRC_L2_KNOWN)
		ask_from(l2, neigh, MRC_L2_VERIFY, now_ns);
	return MRC_L2_UNVERIFIED;
}

/* Writes a question to neigh: the first verifications go to its last link address alone, the last
 * one to everybody, in case it moved. */
static uint32_t neigh_ask(struct mrc_l2 *l2, struct mrc_l2_neigh *neigh, uint8_t *buf)
{
	bool direct = neigh->state == MRC_L2_VERIFY && neigh->nb_asked + 1 < l2->cfg.nb_probes;
	const struct mrc_gid *own = own_for(l2, &neigh->addr);
	const uint8_t *dmac = direct ? neigh->mac : NULL;

	neigh->nb_asked++;
	if (l2_is_v4(&neigh->addr)) {
		l2->counters[MRC_L2_TX_ARP]++;
		return mrc_l2_arp_ask(l2, own, &neigh->addr, dmac, buf);
	}
	l2->counters[MRC_L2_TX_NS]++;
	return mrc_l2_ns_ask(l2, own, &neigh->addr, dmac, buf);
}

static uint32_t neigh_due(
	struct mrc_l2 *l2, struct mrc_l2_neigh *neigh, uint64_t now_ns, uint8_t *buf)
{
	if (neigh->state == MRC_L2_KNOWN) {
		ask_from(l2, neigh, MRC_L2_VERIFY, now_ns);
	} else if (neigh->state == MRC_L2_VERIFY && neigh->nb_asked >= l2->cfg.nb_probes) {
		l2->counters[MRC_L2_LOST]++;
		neigh->changed = true;
		ask_from(l2, neigh, MRC_L2_WAITING, now_ns);
	}
	if (!mrc_l2_bucket_take(&l2->requests, now_ns, l2->cfg.requests_per_s)) {
		neigh->next_ns = now_ns + 1000000000 / l2->cfg.requests_per_s;
		return 0;
	}
	neigh->next_ns = now_ns + neigh->retry_ns;
	/* Verification keeps its pace: a neighbour that died must be noticed soon. */
	if (neigh->state == MRC_L2_WAITING) {
		neigh->retry_ns *= 2;
		if (neigh->retry_ns > l2->cfg.retry_max_ns)
			neigh->retry_ns = l2->cfg.retry_max_ns;
	}
	return neigh_ask(l2, neigh, buf);
}

static uint32_t announce(struct mrc_l2 *l2, uint8_t *buf)
{
	uint32_t index = (uint32_t)__builtin_ctz(l2->announce);
	const struct mrc_gid *own = &l2->cfg.addrs[index];

	l2->announce &= l2->announce - 1;
	l2->counters[MRC_L2_TX_ANNOUNCE]++;
	if (l2_is_v4(own))
		return mrc_l2_arp_ask(l2, own, own, NULL, buf);
	return mrc_l2_na_announce(l2, own, buf);
}

uint32_t mrc_l2_tx(struct mrc_l2 *l2, uint64_t now_ns, uint8_t *buf)
{
	uint32_t len = 0;

	if (l2->announce != 0)
		return announce(l2, buf);
	if (now_ns < l2->deadline_ns)
		return 0;
	for (uint32_t i = 0; i < MRC_L2_NEIGHS && len == 0; i++) {
		struct mrc_l2_neigh *neigh = &l2->neighs[i];

		if (neigh->state != MRC_L2_FREE && neigh->next_ns <= now_ns)
			len = neigh_due(l2, neigh, now_ns, buf);
	}
	deadline_update(l2);
	return len;
}
