/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forward.c - what a switch does with a packet that came in: which link next.
 *
 * The way down is decided by the destination, the way up by hash, by a field of the EV or by the
 * uSID list. Routes are static: nothing but `reroute` reacts to failures.
 */
#include "fabric.h"

/* A hash per packet, mixed with a salt per switch. */
static uint32_t pick(uint32_t hash, uint64_t salt, uint32_t n)
{
	uint64_t h = (hash ^ salt) * 0xD6E8FEB86659FD93u;

	h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93u;
	return (uint32_t)(((h >> 32) * n) >> 32);
}

static uint64_t leaf_salt(const struct mrc_fabric *f, uint32_t plane, uint32_t leaf)
{
	return f->salts[plane * (f->cfg.nb_leaves + f->cfg.nb_spines) + leaf];
}

static struct link *up_ecmp(
	const struct mrc_fabric *f, uint32_t plane, uint32_t leaf, const struct pkt *p)
{
	uint64_t salt = leaf_salt(f, plane, leaf);
	uint32_t s = f->cfg.nb_spines, live = 0, n;

	n = pick(p->hash, salt, s);
	if (!f->cfg.reroute || mrc_fabric_leaf_link(f, plane, leaf, n, true)->up)
		return mrc_fabric_leaf_link(f, plane, leaf, n, true);
	for (uint32_t i = 0; i < s; i++)
		live += mrc_fabric_leaf_link(f, plane, leaf, i, true)->up;
	if (live == 0)
		return mrc_fabric_leaf_link(f, plane, leaf, n, true);
	n = pick(p->hash, ~salt, live);
	for (uint32_t i = 0; i < s; i++) {
		struct link *l = mrc_fabric_leaf_link(f, plane, leaf, i, true);

		if (l->up && n-- == 0)
			return l;
	}
	return NULL;
}

static struct link *up(
	const struct mrc_fabric *f, uint32_t plane, uint32_t leaf, const struct pkt *p)
{
	if (f->cfg.nb_spines == 0)
		return NULL;
	if (f->cfg.forward == MRC_FABRIC_STEV && (p->flags & FRAME_UDP)) {
		uint32_t mask = f->cfg.stev_width >= 32 ? ~0u : (1u << f->cfg.stev_width) - 1;
		uint32_t field = p->ev >> f->cfg.stev_shift & mask;

		return mrc_fabric_leaf_link(f, plane, leaf, field % f->cfg.nb_spines, true);
	}
	return up_ecmp(f, plane, leaf, p);
}

/* By destination: down where it is below, else up. NULL: nowhere. */
static struct link *by_destination(
	const struct mrc_fabric *f, const struct link *in, const struct pkt *p)
{
	bool at_spine = in->cls == MRC_FABRIC_LEAF_UP;
	uint32_t leaf;

	if (p->dst == NONE)
		return NULL;
	leaf = p->dst / f->cfg.hosts_per_leaf;
	if (at_spine)
		return mrc_fabric_leaf_link(f, in->plane, leaf, in->far_end, false);
	if (leaf == in->far_end)
		return mrc_fabric_host_link(f, in->plane, p->dst, false);
	return up(f, in->plane, in->far_end, p);
}

static uint32_t usid_block(const uint8_t *dst)
{
	return (uint32_t)dst[0] << 24 | (uint32_t)dst[1] << 16 | (uint32_t)dst[2] << 8 | dst[3];
}

static uint32_t usid_first(const uint8_t *dst)
{
	return (uint32_t)dst[4] << 8 | dst[5];
}

/* Static routes on the /48 of block and uSID. */
static struct link *usid_route(
	const struct mrc_fabric *f, const struct link *in, const struct pkt *p, uint32_t usid)
{
	const struct mrc_fabric_cfg *c = &f->cfg;
	uint32_t leaf = usid - c->srv6_leaf_base, spine = usid - c->srv6_spine_base;
	uint32_t port = usid - c->srv6_host_base;

	if (in->cls == MRC_FABRIC_LEAF_UP)
		return leaf < c->nb_leaves
			       ? mrc_fabric_leaf_link(f, in->plane, leaf, in->far_end, false)
			       : NULL;
	if (spine < c->nb_spines)
		return mrc_fabric_leaf_link(f, in->plane, in->far_end, spine, true);
	if (port < c->hosts_per_leaf)
		return mrc_fabric_host_link(
			f, in->plane, in->far_end * c->hosts_per_leaf + port, false);
	return leaf < c->nb_leaves && leaf != in->far_end ? up(f, in->plane, in->far_end, p) : NULL;
}

/* uN of this switch: match block and own uSID, shift, look up what is next. */
static struct link *by_usid(const struct mrc_fabric *f, const struct link *in, struct pkt *p)
{
	bool at_spine = in->cls == MRC_FABRIC_LEAF_UP;
	uint32_t own = in->far_end + (at_spine ? f->cfg.srv6_spine_base : f->cfg.srv6_leaf_base);
	uint8_t *dst = p->data + p->ip_off + 24;

	for (int turn = 0; turn < 2; turn++) {
		if (usid_block(dst) != f->cfg.srv6_block[in->plane])
			return by_destination(f, in, p);
		if (usid_first(dst) != own)
			break;
		mrc_fabric_frame_usid_shift(p->data, p->len, p->ip_off, p->flags);
	}
	return usid_route(f, in, p, usid_first(dst));
}

static void decap(struct pkt *p)
{
	uint32_t strip = mrc_fabric_frame_decap(p->data, p->ip_off, p->inner_off, p->flags);

	p->data += strip;
	p->len = (uint16_t)(p->len - strip);
	p->wire_len -= strip;
	p->flags &= (uint16_t) ~(FRAME_ENCAP | FRAME_SRH);
	p->flags =
		(uint16_t)((p->flags & ~FRAME_V6) | (p->data[p->ip_off] >> 4 == 6 ? FRAME_V6 : 0));
	p->inner_off = p->ip_off;
}

static void flood(struct mrc_fabric *f, struct link *in, struct pkt *p, uint64_t now_ns)
{
	p->copied = true;
	for (uint32_t h = 0; h < f->nb_hosts; h++) {
		struct pkt *copy;
		struct link *out;

		if (h == p->src)
			continue;
		copy = mrc_fabric_pkt_clone(f, p);
		if (copy == NULL)
			continue;
		copy->dst = h;
		out = by_destination(f, in, copy);
		if (out == NULL)
			mrc_fabric_pkt_drop(f, NULL, copy, MRC_FABRIC_DROP_NO_ROUTE, false);
		else
			mrc_fabric_link_offer(f, out, copy, now_ns);
	}
	/* The copies are counted as copies; the original ends here, delivered to nobody. */
	mrc_fabric_pkt_drop(f, NULL, p, MRC_FABRIC_DROP_FLOODED, false);
}

static void deliver(struct mrc_fabric *f, struct link *in, struct pkt *p)
{
	uint32_t index = in->far_end * f->cfg.nb_planes + in->plane;
	struct inbox *box = &f->inboxes[index];

	if (box->nb >= f->cfg.max_inbox) {
		mrc_fabric_pkt_drop(f, NULL, p, MRC_FABRIC_DROP_INBOX, false);
		return;
	}
	list_push(f, &box->list, p);
	box->nb++;
	f->tot.unread++;
	mrc_fabric_inbox_ready(f, index);
}

const struct link *mrc_fabric_forward_guess(
	const struct mrc_fabric *f, const struct link *l, const struct pkt *p)
{
	if (l->cls == MRC_FABRIC_HOST_DOWN || f->cfg.forward == MRC_FABRIC_SRV6)
		return NULL;
	return by_destination(f, l, p);
}

void mrc_fabric_forward(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	struct link *out;

	if (l->cls == MRC_FABRIC_HOST_DOWN) {
		deliver(f, l, p);
		return;
	}
	if (++p->hops > MAX_HOPS) {
		mrc_fabric_pkt_drop(f, NULL, p, MRC_FABRIC_DROP_HOP_LIMIT, false);
		return;
	}
	if ((p->flags & FRAME_FLOOD) && !p->copied) {
		flood(f, l, p, now_ns);
		return;
	}
	if (f->cfg.forward == MRC_FABRIC_SRV6 && (p->flags & FRAME_V6) &&
		pkt_header_whole(p, p->inner_off))
		out = by_usid(f, l, p);
	else
		out = by_destination(f, l, p);
	if (out == NULL) {
		mrc_fabric_pkt_drop(f, NULL, p, MRC_FABRIC_DROP_NO_ROUTE, false);
		return;
	}
	if (out->cls == MRC_FABRIC_HOST_DOWN && f->cfg.srv6_decap && (p->flags & FRAME_ENCAP) &&
		pkt_header_whole(p, p->inner_off))
		decap(p);
	mrc_fabric_link_offer(f, out, p, now_ns);
}
