/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo.c - which links there are, how they are numbered, and which of them a selector means.
 *
 * Within a plane: host links up, host links down, then leaf-spine links up and down, each pair at
 * leaf * nb_spines + spine.
 */
#include "fabric.h"

static uint32_t link_number(const struct mrc_fabric *f, const struct mrc_fabric_link_id *id)
{
	uint32_t h = f->nb_hosts, ls = f->cfg.nb_leaves * f->cfg.nb_spines;
	uint32_t base = id->plane * f->links_per_plane;

	switch (id->cls) {
	case MRC_FABRIC_HOST_UP:
		return base + id->peer;
	case MRC_FABRIC_HOST_DOWN:
		return base + h + id->peer;
	case MRC_FABRIC_LEAF_UP:
		return base + 2 * h + id->leaf * f->cfg.nb_spines + id->peer;
	case MRC_FABRIC_LEAF_DOWN:
		return base + 2 * h + ls + id->leaf * f->cfg.nb_spines + id->peer;
	case MRC_FABRIC_NB_CLASSES:
		break;
	}
	return UINT32_MAX;
}

uint32_t mrc_fabric_link_index(const struct mrc_fabric *fabric, const struct mrc_fabric_link_id *id)
{
	bool of_host = id->cls == MRC_FABRIC_HOST_UP || id->cls == MRC_FABRIC_HOST_DOWN;

	if (id->cls >= MRC_FABRIC_NB_CLASSES || id->plane >= fabric->cfg.nb_planes)
		return UINT32_MAX;
	if (of_host ? id->peer >= fabric->nb_hosts
		    : id->leaf >= fabric->cfg.nb_leaves || id->peer >= fabric->cfg.nb_spines)
		return UINT32_MAX;
	return link_number(fabric, id);
}

struct mrc_fabric_link_id mrc_fabric_link_id(const struct mrc_fabric *fabric, uint32_t link)
{
	uint32_t h = fabric->nb_hosts, s = fabric->cfg.nb_spines;
	uint32_t ls = fabric->cfg.nb_leaves * s;
	struct mrc_fabric_link_id id = {.plane = link / fabric->links_per_plane};
	uint32_t rest = link % fabric->links_per_plane;

	if (rest < 2 * h) {
		id.cls = rest < h ? MRC_FABRIC_HOST_UP : MRC_FABRIC_HOST_DOWN;
		id.peer = rest % h;
		id.leaf = id.peer / fabric->cfg.hosts_per_leaf;
		return id;
	}
	rest -= 2 * h;
	id.cls = rest < ls ? MRC_FABRIC_LEAF_UP : MRC_FABRIC_LEAF_DOWN;
	id.leaf = rest % ls / s;
	id.peer = rest % s;
	return id;
}

uint32_t mrc_fabric_nb_links(const struct mrc_fabric *fabric)
{
	return fabric->nb_links;
}

struct mrc_fabric_where mrc_fabric_everywhere(void)
{
	return (struct mrc_fabric_where){
		MRC_FABRIC_ANY, MRC_FABRIC_ANY, MRC_FABRIC_ANY, MRC_FABRIC_ANY, 0};
}

static bool fits(int32_t wanted, uint32_t have)
{
	return wanted == MRC_FABRIC_ANY || (uint32_t)wanted == have;
}

static bool where_takes(const struct mrc_fabric_where *w, const struct mrc_fabric_link_id *id)
{
	bool of_host = id->cls == MRC_FABRIC_HOST_UP || id->cls == MRC_FABRIC_HOST_DOWN;

	if (w->classes != 0 && !(w->classes & 1u << id->cls))
		return false;
	if (!fits(w->plane, id->plane) || !fits(w->leaf, id->leaf))
		return false;
	if (of_host)
		return w->spine == MRC_FABRIC_ANY && fits(w->host, id->peer);
	return w->host == MRC_FABRIC_ANY && fits(w->spine, id->peer);
}

uint32_t mrc_fabric_link_next(
	const struct mrc_fabric *fabric, const struct mrc_fabric_where *where, uint32_t after)
{
	for (uint32_t l = after == UINT32_MAX ? 0 : after + 1; l < fabric->nb_links; l++) {
		struct mrc_fabric_link_id id = mrc_fabric_link_id(fabric, l);

		if (where_takes(where, &id))
			return l;
	}
	return UINT32_MAX;
}

struct link *mrc_fabric_host_link(
	const struct mrc_fabric *f, uint32_t plane, uint32_t host, bool up)
{
	return &f->links[plane * f->links_per_plane + (up ? 0 : f->nb_hosts) + host];
}

struct link *mrc_fabric_leaf_link(
	const struct mrc_fabric *f, uint32_t plane, uint32_t leaf, uint32_t spine, bool up)
{
	uint32_t s = f->cfg.nb_spines;

	return &f->links[plane * f->links_per_plane + 2 * f->nb_hosts +
			 (up ? 0 : f->cfg.nb_leaves * s) + leaf * s + spine];
}

static void link_init(struct mrc_fabric *f, struct link *l, const struct mrc_fabric_link_id *id)
{
	static const enum mrc_fabric_link_class opposite[] = {
		MRC_FABRIC_HOST_DOWN, MRC_FABRIC_HOST_UP, MRC_FABRIC_LEAF_DOWN, MRC_FABRIC_LEAF_UP};
	struct mrc_fabric_link_id back = *id;
	bool towards_peer = id->cls == MRC_FABRIC_HOST_DOWN || id->cls == MRC_FABRIC_LEAF_UP;

	back.cls = opposite[id->cls];
	l->cls = (uint8_t)id->cls;
	l->plane = (uint16_t)id->plane;
	l->far_end = towards_peer ? id->peer : id->leaf;
	l->near_end = towards_peer ? id->leaf : id->peer;
	l->reverse = link_number(f, &back);
	mrc_fabric_link_cfg_set(l, &f->cfg.links[id->cls]);
	l->rate_bps = l->cfg.rate_bps;
	l->queue[0] = l->queue[1] = l->wire = (struct list){NONE, NONE};
	l->up = l->admin_up = true;
}

void mrc_fabric_topo_init(struct mrc_fabric *f)
{
	for (uint32_t i = 0; i < f->nb_links; i++) {
		struct mrc_fabric_link_id id = mrc_fabric_link_id(f, i);

		link_init(f, &f->links[i], &id);
	}
}
