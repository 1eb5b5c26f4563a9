/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - packet records, the event loop, the hosts' side. */
#include "fabric.h"

#include <string.h>

/* ---- randomness */

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* xoshiro256** of Blackman and Vigna: the same numbers on every platform. */
uint64_t mrc_fabric_random(struct mrc_fabric *f)
{
	uint64_t *s = f->rng;
	uint64_t result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* ---- packet records */

void mrc_fabric_pkt_classify(const struct mrc_fabric *f, struct pkt *p)
{
	enum mrc_class cls = MRC_CLASS_OTHER;

	if (p->flags & FRAME_IP)
		cls = (enum mrc_class)f->cfg.proto->class_of_dscp[p->dscp];
	p->prio = cls == MRC_CLASS_CONTROL || cls == MRC_CLASS_TRIMMED ||
		  cls == MRC_CLASS_TRIMMED_LASTHOP;
	p->trimmable = cls == MRC_CLASS_TRIMMABLE || cls == MRC_CLASS_TRIMMABLE_RETX;
}

struct pkt *mrc_fabric_pkt_get(struct mrc_fabric *f, const struct mrc_fabric_pkt *in)
{
	struct pkt *p;

	if (f->free_head == NONE)
		return NULL;
	p = &f->pkts[f->free_head];
	f->free_head = p->next;
	f->nb_free--;
	if (p->next != NONE) {
		__builtin_prefetch(&f->pkts[p->next], 1);
		__builtin_prefetch(&f->cold[p->next], 1);
	}
	p->data = in->data;
	p->len = (uint16_t)in->len;
	p->wire_len = in->wire_len > in->len ? in->wire_len : in->len;
	p->ref = in->ref;
	p->pkt_flags = 0;
	p->hops = 0;
	p->copied = false;
	pkt_cold(f, p)->tail_ns = 0;
	return p;
}

void mrc_fabric_pkt_put(struct mrc_fabric *f, struct pkt *p)
{
	p->next = f->free_head;
	f->free_head = pkt_index(f, p);
	f->nb_free++;
}

void mrc_fabric_pkt_view(const struct pkt *p, struct mrc_fabric_pkt *view_out)
{
	*view_out = (struct mrc_fabric_pkt){.data = p->data,
		.len = p->len,
		.wire_len = p->wire_len,
		.flags = p->pkt_flags,
		.ref = p->ref};
}

void mrc_fabric_pkt_drop(
	struct mrc_fabric *f, struct link *l, struct pkt *p, enum mrc_fabric_drop why, bool on_wire)
{
	struct mrc_fabric_pkt view;

	mrc_fabric_pkt_view(p, &view);
	f->ops.free(f->ops.ctx, &view);
	mrc_fabric_pkt_put(f, p);
	f->tot.dropped++;
	f->tot.drops[why]++;
	if (l == NULL) {
		f->other_drops++;
		return;
	}
	l->drops[why]++;
	if (on_wire)
		l->wire_drops++;
	else
		l->queue_drops++;
}

struct pkt *mrc_fabric_pkt_clone(struct mrc_fabric *f, const struct pkt *p)
{
	struct mrc_fabric_pkt view, copy_view;
	struct pkt *copy;

	mrc_fabric_pkt_view(p, &view);
	if (f->ops.clone == NULL || f->free_head == NONE ||
		!f->ops.clone(f->ops.ctx, &view, &copy_view))
		return NULL;
	copy = &f->pkts[f->free_head];
	f->free_head = copy->next;
	f->nb_free--;
	*copy = *p;
	*pkt_cold(f, copy) = *pkt_cold(f, p);
	copy->data = copy_view.data;
	copy->ref = copy_view.ref;
	f->tot.copies++;
	return copy;
}

/* ---- addresses */

static uint32_t addr_slot(const struct mrc_fabric *f, const struct mrc_gid *gid)
{
	uint64_t a, b, h;
	uint32_t i;

	memcpy(&a, gid->raw, 8);
	memcpy(&b, gid->raw + 8, 8);
	h = (a ^ b >> 29) * 0x9E3779B97F4A7C15u ^ b;
	h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
	i = (uint32_t)(h >> 32) & f->addr_mask;
	while (f->addrs[i].host != NONE && memcmp(f->addrs[i].gid.raw, gid->raw, 16) != 0)
		i = (i + 1) & f->addr_mask;
	return i;
}

uint32_t mrc_fabric_addr_find(const struct mrc_fabric *f, const struct mrc_gid *gid)
{
	return f->addrs[addr_slot(f, gid)].host;
}

int mrc_fabric_addr_add(struct mrc_fabric *fabric, const struct mrc_fabric_addr *addr)
{
	struct addr_slot *slot = &fabric->addrs[addr_slot(fabric, &addr->gid)];

	if (addr->host >= fabric->nb_hosts)
		return MRC_ERR_INVAL;
	if (slot->host == NONE) {
		if (fabric->nb_addrs == fabric->cfg.max_addrs)
			return MRC_ERR_NOMEM;
		fabric->nb_addrs++;
		slot->gid = addr->gid;
	}
	slot->host = addr->host;
	return MRC_OK;
}

/* ---- time and packets */

static void dispatch(struct mrc_fabric *f, uint32_t node)
{
	uint64_t now_ns = f->wheel.cur_ns;

	if (node >= f->fault_node)
		mrc_fabric_fault_timer(f, node - f->fault_node, now_ns);
	else if (node & 1)
		mrc_fabric_link_arrive(f, &f->links[node / 2], now_ns);
	else
		mrc_fabric_link_tx(f, &f->links[node / 2], now_ns);
}

/*
 * Looking ahead: in a large fabric many events share an instant, and each of them finds its link,
 * its packet and the link that the packet takes next out of the cache. So the events of an instant
 * are claimed some places before they are handled, and what they need is fetched in three steps,
 * since each step tells where the next one's lines are.
 */
/* Always inline: the compiler takes a function that only fetches for one without effect, and leaves
 * out the calls. */
#define FETCH static inline __attribute__((always_inline))

struct ahead {
	uint32_t nodes[AHEAD];
	uint32_t head, tail; /* free running */
};

FETCH void fetch_link(const struct link *l)
{
	const char *line = (const char *)l;

	for (int i = 0; i < 3; i++)
		__builtin_prefetch(line + 64 * i);
}

/* The link. */
FETCH void fetch_first(const struct mrc_fabric *f, uint32_t node)
{
	const struct link *l = &f->links[node / 2];

	if (node >= f->fault_node)
		return;
	if (node & 1)
		__builtin_prefetch(l);
	else
		fetch_link(l);
}

/* Its packet. */
FETCH void fetch_second(const struct mrc_fabric *f, uint32_t node)
{
	const struct link *l = &f->links[node / 2];
	uint32_t i;

	if (node >= f->fault_node)
		return;
	i = node & 1 ? l->wire.head : l->queue[l->queue[1].head != NONE].head;
	if (i != NONE)
		__builtin_prefetch(&f->pkts[i]);
}

/* Where the packet goes. */
FETCH void fetch_third(const struct mrc_fabric *f, uint32_t node)
{
	const struct link *l = &f->links[node / 2], *out;
	const struct pkt *p;

	if (node >= f->fault_node || !(node & 1) || l->wire.head == NONE)
		return;
	p = &f->pkts[l->wire.head];
	if (p->next != NONE)
		__builtin_prefetch(&f->pkts[p->next]);
	out = mrc_fabric_forward_guess(f, l, p);
	if (out == NULL)
		return;
	fetch_link(out);
	__builtin_prefetch(&f->wheel.nodes[2 * (out - f->links)]);
}

/* Claims what else is due at this instant, up to nb events. */
static void claim_more(struct mrc_fabric *f, struct ahead *a, uint32_t nb)
{
	while (a->tail - a->head < nb) {
		uint32_t node = mrc_fabric_wheel_claim_due(&f->wheel);

		if (node == WHEEL_NONE)
			return;
		fetch_first(f, node);
		a->nodes[a->tail++ % AHEAD] = node;
	}
}

/* The first event of an instant and those behind it, which have missed their steps: all at once.
 * False when nothing is due. */
static bool claim_first(struct mrc_fabric *f, struct ahead *a, uint64_t now_ns, uint32_t nb)
{
	uint32_t node = mrc_fabric_wheel_claim(&f->wheel, now_ns);

	if (node == WHEEL_NONE)
		return false;
	fetch_first(f, node);
	a->nodes[a->tail++ % AHEAD] = node;
	claim_more(f, a, nb);
	nb = a->tail - a->head;
	if (nb < AHEAD_MIN)
		return true;
	for (uint32_t i = 0; i < nb && i < AHEAD_SECOND; i++)
		fetch_second(f, a->nodes[(a->head + i) % AHEAD]);
	for (uint32_t i = 0; i < nb && i < AHEAD_THIRD; i++)
		fetch_third(f, a->nodes[(a->head + i) % AHEAD]);
	return true;
}

uint32_t mrc_fabric_run(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t max_events)
{
	struct ahead a = {.head = 0, .tail = 0};
	uint32_t n = 0;

	fabric->run_ns = now_ns;
	while (n < max_events) {
		uint32_t left = max_events - n, node;

		left = left < AHEAD ? left : AHEAD;
		if (a.head != a.tail)
			claim_more(fabric, &a, left);
		else if (!claim_first(fabric, &a, now_ns, left))
			break;
		if (a.tail - a.head > AHEAD_SECOND)
			fetch_second(fabric, a.nodes[(a.head + AHEAD_SECOND) % AHEAD]);
		if (a.tail - a.head > AHEAD_THIRD)
			fetch_third(fabric, a.nodes[(a.head + AHEAD_THIRD) % AHEAD]);
		node = a.nodes[a.head++ % AHEAD];
		if (!mrc_fabric_wheel_settle(&fabric->wheel, node))
			continue;
		n++;
		dispatch(fabric, node);
	}
	fabric->tot.events += n;
	return n;
}

uint64_t mrc_fabric_next_deadline(const struct mrc_fabric *fabric)
{
	return mrc_fabric_wheel_next(&fabric->wheel);
}

static void ingress(struct mrc_fabric *f, struct pkt *p, uint32_t host)
{
	struct frame frame;

	mrc_fabric_frame_parse(f->cfg.proto, p->data, p->len, &frame);
	p->hash = (uint32_t)(frame.hash ^ frame.hash >> 32);
	p->ev = frame.ev;
	pkt_cold(f, p)->psn = frame.psn;
	pkt_cold(f, p)->qpn = frame.qpn;
	p->flags = frame.flags;
	p->ip_off = frame.ip_off;
	p->inner_off = frame.inner_off;
	p->dscp = frame.dscp;
	p->ecn = frame.ecn;
	p->opcode = frame.opcode;
	p->src = host;
	p->dst = NONE;
	if (!(p->flags & FRAME_FLOOD))
		p->dst = mrc_fabric_addr_find(f, &frame.dst);
	if (p->dst == NONE && (p->flags & FRAME_LOCAL))
		p->flags |= FRAME_FLOOD;
	mrc_fabric_pkt_classify(f, p);
}

void mrc_fabric_send(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane,
	const struct mrc_fabric_pkt *pkt)
{
	struct pkt *p;

	MRC_ASSERT(host < fabric->nb_hosts && plane < fabric->cfg.nb_planes);
	fabric->tot.sent++;
	p = mrc_fabric_pkt_get(fabric, pkt);
	if (p == NULL) {
		fabric->ops.free(fabric->ops.ctx, pkt);
		fabric->tot.dropped++;
		fabric->tot.drops[MRC_FABRIC_DROP_NO_PACKET]++;
		fabric->other_drops++;
		return;
	}
	if (pkt->len < MRC_ETH_LEN || pkt->len > UINT16_MAX) {
		mrc_fabric_pkt_drop(fabric, NULL, p, MRC_FABRIC_DROP_MALFORMED, false);
		return;
	}
	ingress(fabric, p, host);
	mrc_fabric_link_offer(fabric, mrc_fabric_host_link(fabric, plane, host, true), p, now_ns);
}

uint32_t mrc_fabric_backlog(
	struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane)
{
	const struct link *l = mrc_fabric_host_link(fabric, plane, host, true);

	return mrc_fabric_link_occupancy(l, now_ns) + l->queue_len[1];
}

uint64_t mrc_fabric_port_free_ns(
	struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane)
{
	const struct link *l = mrc_fabric_host_link(fabric, plane, host, true);
	uint64_t from_ns = l->busy_ns > now_ns ? l->busy_ns : now_ns;
	uint64_t queued = (uint64_t)l->queue_len[0] + l->queue_len[1];

	if (queued == 0 || l->rate_bps == 0)
		return from_ns;
	/* Exact below two gigabytes, as the transmitter itself will count. */
	queued = queued < 2000000000u ? queued : 2000000000u;
	return from_ns + (queued * 8000000000u + l->busy_rem) / l->rate_bps;
}

void mrc_fabric_inbox_ready(struct mrc_fabric *f, uint32_t index)
{
	struct inbox *box = &f->inboxes[index];

	if (box->in_ready)
		return;
	box->in_ready = true;
	box->next_ready = NONE;
	if (f->ready.tail == NONE)
		f->ready.head = index;
	else
		f->inboxes[f->ready.tail].next_ready = index;
	f->ready.tail = index;
}

bool mrc_fabric_ready(struct mrc_fabric *fabric, uint32_t *host_out, uint32_t *plane_out)
{
	while (fabric->ready.head != NONE) {
		uint32_t index = fabric->ready.head;
		struct inbox *box = &fabric->inboxes[index];

		fabric->ready.head = box->next_ready;
		if (fabric->ready.head == NONE)
			fabric->ready.tail = NONE;
		box->in_ready = false;
		if (box->nb == 0)
			continue;
		*host_out = index / fabric->cfg.nb_planes;
		*plane_out = index % fabric->cfg.nb_planes;
		return true;
	}
	return false;
}

uint32_t mrc_fabric_recv_by(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host,
	uint32_t plane, struct mrc_fabric_pkt *pkts_out, uint32_t n)
{
	uint32_t index = host * fabric->cfg.nb_planes + plane, got = 0;
	struct inbox *box = &fabric->inboxes[index];

	while (got < n && box->list.head != NONE && fabric->pkts[box->list.head].at_ns <= now_ns) {
		struct pkt *p = list_pop(fabric, &box->list);

		mrc_fabric_pkt_view(p, &pkts_out[got++]);
		fabric->tot.delivered_trimmed += (p->pkt_flags & MRC_FABRIC_PKT_TRIMMED) != 0;
		mrc_fabric_pkt_put(fabric, p);
	}
	box->nb -= got;
	fabric->tot.unread -= got;
	fabric->tot.delivered += got;
	return got;
}

uint32_t mrc_fabric_recv(struct mrc_fabric *fabric, uint32_t host, uint32_t plane,
	struct mrc_fabric_pkt *pkts_out, uint32_t n)
{
	uint32_t index = host * fabric->cfg.nb_planes + plane;
	uint32_t got = mrc_fabric_recv_by(fabric, UINT64_MAX, host, plane, pkts_out, n);

	if (fabric->inboxes[index].nb != 0)
		mrc_fabric_inbox_ready(fabric, index);
	return got;
}

/* ---- links */

void mrc_fabric_link_get(
	const struct mrc_fabric *fabric, uint32_t link, struct mrc_fabric_link_cfg *cfg_out)
{
	*cfg_out = fabric->links[link].cfg;
}

void mrc_fabric_link_set(
	struct mrc_fabric *fabric, uint32_t link, const struct mrc_fabric_link_cfg *cfg)
{
	mrc_fabric_link_cfg_set(&fabric->links[link], cfg);
	mrc_fabric_link_update(fabric, &fabric->links[link], fabric->wheel.cur_ns);
}

void mrc_fabric_link_carrier_set(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t link, bool up)
{
	struct link *l = &fabric->links[link], *r = &fabric->links[l->reverse];

	l->admin_up = r->admin_up = up;
	mrc_fabric_link_update(fabric, l, now_ns);
	mrc_fabric_link_update(fabric, r, now_ns);
}

bool mrc_fabric_link_carrier(const struct mrc_fabric *fabric, uint32_t link)
{
	return fabric->links[link].up;
}

void mrc_fabric_tap_set(struct mrc_fabric *fabric, uint32_t link, bool on)
{
	fabric->links[link].tap = on && fabric->ops.tap != NULL;
}

bool mrc_fabric_host_carrier(const struct mrc_fabric *fabric, uint32_t host, uint32_t plane)
{
	return mrc_fabric_host_link(fabric, plane, host, true)->up;
}

bool mrc_fabric_carrier_poll(
	struct mrc_fabric *fabric, uint32_t *host_out, uint32_t *plane_out, bool *up_out)
{
	while (fabric->carrier.head != NONE) {
		uint32_t index = fabric->carrier.head;
		struct inbox *box = &fabric->inboxes[index];
		uint32_t host = index / fabric->cfg.nb_planes;
		uint32_t plane = index % fabric->cfg.nb_planes;
		bool up = mrc_fabric_host_carrier(fabric, host, plane);

		fabric->carrier.head = box->next_carrier;
		if (fabric->carrier.head == NONE)
			fabric->carrier.tail = NONE;
		box->in_carrier = false;
		if (up == box->carrier_said)
			continue;
		box->carrier_said = up;
		*host_out = host;
		*plane_out = plane;
		*up_out = up;
		return true;
	}
	return false;
}
