/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.c - neighbours with their link addresses, and paths: header templates and entropy values
 * that QPs between the same two addresses share.
 */
#include "engine.h"

#include <string.h>

static uint32_t hash(const struct mrc_sched *s, const struct mrc_gid *gid)
{
	uint64_t a, b;

	memcpy(&a, gid->raw, 8);
	memcpy(&b, gid->raw + 8, 8);
	a = (a ^ (b * UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xD1B54A32D192ED03);
	return (uint32_t)(a >> 40) & s->peer_hash_mask;
}

struct peer *peer_find(const struct mrc_sched *s, const struct mrc_gid *gid)
{
	for (uint32_t i = s->peer_hash[hash(s, gid)]; i != UINT32_MAX; i = s->peers[i].next) {
		if (mrc_gid_eq(&s->peers[i].gid, gid))
			return &s->peers[i];
	}
	return NULL;
}

/* Nobody needs the entry any more. */
static void peer_drop(struct mrc_sched *s, struct peer *peer)
{
	uint32_t index = (uint32_t)(peer - s->peers), *at = &s->peer_hash[hash(s, &peer->gid)];

	MRC_ASSERT(peer->used && list_empty(&peer->paths) && peer->status == NULL);
	while (*at != index)
		at = &s->peers[*at].next;
	*at = peer->next;
	list_remove(&peer->link);
	marks_forget(s, peer);
	*peer = (struct peer){.next = s->peer_free};
	s->peer_free = index;
}

static struct peer *peer_get(struct mrc_sched *s, const struct mrc_gid *gid)
{
	struct peer *peer = peer_find(s, gid);
	uint32_t *bucket = &s->peer_hash[hash(s, gid)];
	uint32_t index;

	if (peer != NULL)
		return peer;
	/* One that no QP is connected to any more makes room. */
	if (s->peer_free == UINT32_MAX && !list_empty(&s->idle))
		peer_drop(s, LIST_OWNER(s->idle.next, struct peer, link));
	if (s->peer_free == UINT32_MAX)
		return NULL;
	index = s->peer_free;
	peer = &s->peers[index];
	MRC_ASSERT(!peer->used);
	s->peer_free = peer->next;
	*peer = (struct peer){.used = true, .gid = *gid, .up = UINT32_MAX, .next = *bucket};
	list_init(&peer->paths);
	list_init(&peer->link);
	*bucket = index;
	return peer;
}

/* Its first path came. */
static void peer_met(struct mrc_sched *s, struct peer *peer)
{
	if (list_linked(&peer->link))
		list_remove(&peer->link);
	list_push(&s->told, &peer->link);
}

/* Its last path went. The link addresses are kept for the next QP, as long as there is room. */
static void peer_left(struct mrc_sched *s, struct peer *peer)
{
	list_remove(&peer->link);
	if (peer->known == 0)
		peer_drop(s, peer);
	else
		list_push(&s->idle, &peer->link);
}

uint32_t peer_quiet(const struct mrc_sched *s, const struct peer *peer)
{
	uint32_t many = s->cfg.nb_planes * QUIET_PER_PLANE, mask = 0;

	for (uint32_t p = 0; p < s->cfg.nb_planes; p++)
		mask |= (uint32_t)(peer->nb_heard - peer->last_heard[p] > many) << p;
	return mask;
}

/* Header template of a path on one plane. */
static void make_template(struct mrc_sched *s, struct path *path, uint32_t plane)
{
	const struct mrc_ev *ev = mrc_ev_get(path->evs, 0);
	const struct mrc_sched_plane *port = &s->cfg.planes[plane];
	struct mrc_flow flow = {.vlan_tci = port->vlan_tci,
		.ttl = path->ttl,
		.flags = port->vlan ? MRC_PKT_VLAN : 0,
		.src = path->local,
		.dst = path->peer->gid,
		.outer_src = path->local};
	static const uint8_t none[16];
	int err;

	if (memcmp(ev->srv6_dst, none, sizeof(none)) != 0)
		flow.flags |= ev->has_seg ? MRC_PKT_SRV6 | MRC_PKT_SRH : MRC_PKT_SRV6;
	memcpy(flow.smac, port->mac, sizeof(flow.smac));
	memcpy(flow.dmac, path->peer->mac[plane], sizeof(flow.dmac));
	err = mrc_template_init(&path->tmpl[plane], &s->proto, &flow);
	MRC_ASSERT(err == MRC_OK); /* families were compared by path_get */
}

void path_planes(struct mrc_sched *s, uint64_t now_ns, struct path *path)
{
	uint32_t good = path->peer->known & path->peer->up & s->up;

	for (uint32_t p = 0; p < s->cfg.nb_planes; p++)
		mrc_ev_plane(path->evs, now_ns, (uint8_t)p, (good >> p & 1) != 0);
}

int mrc_sched_peer_set(
	struct mrc_sched *s, const struct mrc_gid *gid, uint32_t plane, const uint8_t *mac)
{
	struct peer *peer;
	uint32_t bit = UINT32_C(1) << (plane & 31);

	if (plane >= s->cfg.nb_planes)
		return MRC_ERR_INVAL;
	peer = mac != NULL ? peer_get(s, gid) : peer_find(s, gid);
	if (peer == NULL)
		return mac != NULL ? MRC_ERR_NOMEM : MRC_OK;
	peer->known &= ~bit;
	if (mac == NULL && peer->known == 0 && list_empty(&peer->paths)) {
		peer_drop(s, peer);
		return MRC_OK;
	}
	if (mac != NULL) {
		memcpy(peer->mac[plane], mac, sizeof(peer->mac[plane]));
		peer->known |= bit;
	}
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next) {
		struct path *path = LIST_OWNER(l, struct path, of_peer);

		make_template(s, path, plane);
		path_planes(s, s->now_ns, path);
	}
	if (mac != NULL)
		qp_unpark(s, s->now_ns);
	return MRC_OK;
}

static struct path *path_find(const struct peer *peer, const struct mrc_gid *local,
	const struct mrc_ev_set *evs, uint8_t ttl)
{
	for (struct link *l = peer->paths.next; l != &peer->paths; l = l->next) {
		struct path *path = LIST_OWNER(l, struct path, of_peer);

		if (path->evs == evs && path->ttl == ttl && mrc_gid_eq(&path->local, local))
			return path;
	}
	return NULL;
}

struct path *path_get(struct mrc_sched *s, uint64_t now_ns, const struct mrc_gid *local,
	const struct mrc_gid *gid, struct mrc_ev_set *evs, uint8_t ttl)
{
	struct peer *peer = peer_get(s, gid);
	struct path *path;

	MRC_ASSERT(mrc_gid_is_v4(local) == mrc_gid_is_v4(gid));
	if (peer == NULL)
		return NULL;
	path = path_find(peer, local, evs, ttl);
	if (path != NULL) {
		path->refs++;
		return path;
	}
	if (list_empty(&s->free_paths)) {
		if (list_empty(&peer->paths) && peer->known == 0)
			peer_drop(s, peer);
		return NULL;
	}
	path = LIST_OWNER(s->free_paths.next, struct path, link);
	list_remove(&path->link);
	list_push(&s->used_paths, &path->link);
	if (list_empty(&peer->paths))
		peer_met(s, peer);
	list_push(&peer->paths, &path->of_peer);
	path->peer = peer;
	path->evs = evs;
	path->local = *local;
	path->ttl = ttl;
	path->refs = 1;
	path->cursor = (struct mrc_ev_cursor){0};
	memset(path->heard_ns, 0, sizeof(path->heard_ns));
	memset(path->slow_ns, 0, sizeof(path->slow_ns));
	path->shuffle_ns = path->widen_ns = path->fast_ns = 0;
	path->gone = false;
	path->heard_ev = 0;
	path->timer.kind = TIMER_PATH;
	for (uint32_t p = 0; p < s->cfg.nb_planes; p++)
		make_template(s, path, p);
	path_planes(s, now_ns, path);
	return path;
}

void path_put(struct mrc_sched *s, struct path *path)
{
	MRC_ASSERT(path->refs > 0);
	if (--path->refs > 0)
		return;
	ep_forget(s, path);
	wheel_remove(&s->wheel, &path->timer);
	list_remove(&path->of_peer);
	list_remove(&path->link);
	list_push(&s->free_paths, &path->link);
	if (list_empty(&path->peer->paths))
		peer_left(s, path->peer);
	path->peer = NULL;
}
