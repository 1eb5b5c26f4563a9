/* SPDX-License-Identifier: BSD-2-Clause */
/* pair_run.c - virtual time: the event heap and the hosts' poll loop. */
#include <stdlib.h>
#include <string.h>

#include "pair_priv.h"

enum {
	RX_BURST = 32,
	TX_BURST_MAX = 64,
	SAME_TIME_MAX = 200000, /* events at one instant that can only be an endless loop */
};

static bool before(const struct pair_event *a, const struct pair_event *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

void pair_push(struct pair *p, const struct pair_event *event)
{
	uint32_t i = p->heap_len++;

	if (p->heap_len > p->heap_cap) {
		p->heap_cap = p->heap_cap ? 2 * p->heap_cap : 256;
		p->heap = realloc(p->heap, p->heap_cap * sizeof(*p->heap));
	}
	p->heap[i] = *event;
	p->heap[i].seq = p->seq++;
	while (i > 0 && before(&p->heap[i], &p->heap[(i - 1) / 2])) {
		struct pair_event t = p->heap[i];

		p->heap[i] = p->heap[(i - 1) / 2];
		p->heap[(i - 1) / 2] = t;
		i = (i - 1) / 2;
	}
}

bool pair_pop(struct pair *p, struct pair_event *event_out)
{
	uint32_t i = 0;

	if (p->heap_len == 0)
		return false;
	*event_out = p->heap[0];
	p->heap[0] = p->heap[--p->heap_len];
	for (;;) {
		uint32_t least = i;
		struct pair_event t;

		for (uint32_t c = 2 * i + 1; c <= 2 * i + 2 && c < p->heap_len; c++)
			if (before(&p->heap[c], &p->heap[least]))
				least = c;
		if (least == i)
			return true;
		t = p->heap[i];
		p->heap[i] = p->heap[least];
		p->heap[least] = t;
		i = least;
	}
}

void pair_mix(struct pair *p, uint64_t x)
{
	p->hash = (p->hash ^ x) * 0xD6E8FEB86659FD93u;
	p->hash ^= p->hash >> 32;
}

uint64_t pair_host_now_of(const struct pair_host *h)
{
	return pair_host_now(h);
}

void pair_kick(struct pair_host *h)
{
	struct pair *p = h->pair;

	if (h->poll_due)
		return;
	h->poll_due = true;
	h->poll_at = p->now > h->free_at ? p->now : h->free_at;
	if (h->poll_at < h->frozen_until)
		h->poll_at = h->frozen_until;
	pair_push(p, &(struct pair_event){.time = h->poll_at, .kind = PAIR_EVENT_POLL, .obj = h});
}

static void arm_timer(struct pair_host *h)
{
	struct pair *p = h->pair;
	uint64_t d = mrc_sched_next_deadline(h->sched);
	uint64_t at;

	if (d == MRC_SCHED_NEVER)
		return;
	at = d > pair_host_now(h) ? d - h->clock_off : p->now;
	if (h->timer_at != MRC_SCHED_NEVER && h->timer_at <= at && h->timer_at >= p->now)
		return;
	h->timer_at = at;
	pair_push(p, &(struct pair_event){.time = at, .kind = PAIR_EVENT_TIMER, .obj = h});
}

static void inbox_put(struct pair_host *h, struct pair_pkt *pkt)
{
	pkt->next = NULL;
	if (h->in_head == NULL)
		h->in_head = pkt;
	else
		h->in_tail->next = pkt;
	h->in_tail = pkt;
	h->in_len++;
	pair_kick(h);
}

static void hand_over(struct pair_host *from, struct pair_pkt *pkt, uint32_t worker)
{
	struct pair *p = from->pair;
	struct pair_host *to = &p->hosts[from->side][worker];

	if (worker >= p->cfg.nb_workers[from->side] || to == from)
		pair_fail(p, "packet handed to worker %u, which cannot be", worker);
	if (to->handover_in >= p->cfg.handover_len) {
		to->drops[MRC_DROP_HANDOVER_FULL]++;
		pair_pkt_free(pkt);
		return;
	}
	to->handover_in++;
	pkt->side = (uint8_t)(16 + 4 * to->side + to->worker); /* see EVENT_HANDOVER */
	pair_push(p, &(struct pair_event){.time = p->now + p->cfg.handover_ns,
			     .kind = PAIR_EVENT_HANDOVER,
			     .obj = pkt});
}

static void verdict_check(struct pair_host *h, struct pair_pkt *pkt, const struct mrc_rx_verdict *v)
{
	struct pair *p = h->pair;

	pair_mix(p, (uint64_t)v->kind << 8 | v->arg);
	switch ((enum mrc_rx_kind)v->kind) {
	case MRC_RX_FOREIGN_WORKER:
		hand_over(h, pkt, v->arg);
		return;
	case MRC_RX_DROP:
		if (v->arg == MRC_KEEP || v->arg >= MRC_NB_DROPS)
			pair_fail(p, "drop reason %u does not exist", v->arg);
		h->drops[v->arg]++;
		break;
	case MRC_RX_CONSUMED:
		break;
	}
	pair_pkt_free(pkt);
}

static void poll_rx(struct pair_host *h)
{
	struct pair *p = h->pair;
	struct mrc_rxbuf bufs[RX_BURST];
	struct mrc_rx_verdict verdicts[RX_BURST];
	struct pair_pkt *pkts[RX_BURST];
	uint32_t n = 0;

	while (h->in_head != NULL && n < RX_BURST) {
		struct pair_pkt *pkt = h->in_head;

		h->in_head = pkt->next;
		h->in_len--;
		pair_wire_arrived(p, pkt);
		pkts[n] = pkt;
		bufs[n++] = (struct mrc_rxbuf){pkt->data, pkt->len, pkt->plane};
	}
	if (n == 0)
		return;
	memset(verdicts, 0xff, sizeof(verdicts));
	mrc_sched_rx(h->sched, pair_host_now(h), bufs, n, verdicts);
	h->rx_packets += n;
	for (uint32_t i = 0; i < n; i++)
		verdict_check(h, pkts[i], &verdicts[i]);
}

static void frame_send(struct pair_host *h, const struct mrc_txbuf *buf)
{
	struct pair *p = h->pair;
	uint32_t sum = 0, len;

	for (uint32_t s = 0; s < buf->nb_seg; s++)
		sum += buf->seg[s].len;
	if (sum != buf->payload_len)
		pair_fail(p, "segments hold %u bytes, payload_len says %u", sum, buf->payload_len);
	if (buf->plane >= p->cfg.nb_planes || (h->busy & 1u << buf->plane) ||
		(p->down[h->side] & 1u << buf->plane))
		pair_fail(p, "packet for plane %u, which is down, busy or absent", buf->plane);
	len = mrc_txbuf_finish(buf, true);
	if (p->cfg.restamp_ns != 0) {
		struct mrc_restamp restamp;

		mrc_restamp_init(&restamp, pair_host_now(h) + p->cfg.restamp_ns);
		mrc_txbuf_restamp(buf, len, true, &restamp);
	}
	h->tx_packets++;
	h->tx_bytes += len;
	pair_wire_send(p, h, buf->plane, buf->hdr, len);
}

static uint32_t poll_tx(struct pair_host *h)
{
	struct pair *p = h->pair;
	enum {
		ROOM = MRC_HDR_ROOM + MRC_PMTU_MAX + MRC_TRAILER_MAX
	};
	static _Thread_local uint8_t room[TX_BURST_MAX][ROOM];
	struct mrc_txbuf bufs[TX_BURST_MAX];
	uint32_t n;

	for (uint32_t i = 0; i < p->cfg.tx_burst; i++)
		bufs[i] = (struct mrc_txbuf){.hdr = room[i]};
	n = mrc_sched_tx(h->sched, pair_host_now(h), bufs, p->cfg.tx_burst);
	PAIR_ASSERT(p, n <= p->cfg.tx_burst);
	for (uint32_t i = 0; i < n; i++)
		frame_send(h, &bufs[i]);
	return n;
}

/* A random plane runs out of descriptors for a while. */
static void refuse(struct pair_host *h)
{
	struct pair *p = h->pair;
	uint32_t plane = test_random_below(&p->te, p->cfg.nb_planes);

	if (((h->busy | p->down[h->side]) & 1u << plane) != 0)
		return;
	h->busy |= 1u << plane;
	mrc_sched_plane_set(h->sched, pair_host_now(h), plane, MRC_PLANE_BUSY);
	pair_push(p, &(struct pair_event){.time = p->now + p->busy_ns,
			     .kind = PAIR_EVENT_UNBUSY,
			     .obj = h,
			     .arg = plane});
}

static void host_check(struct pair_host *h)
{
	struct pair *p = h->pair;

	for (uint32_t i = h->worker; i < p->cfg.nb_qps; i += p->cfg.nb_workers[h->side])
		(void)pair_query(p, h->side, i);
}

static bool chance(struct pair *p, uint32_t ppm)
{
	return ppm != 0 && test_random_below(&p->te, 1000000) < ppm;
}

/* How long the host is busy with what it has just emitted. */
static uint64_t busy_ns(const struct pair_host *h, uint32_t n, uint64_t len)
{
	const struct pair_cfg *cfg = &h->pair->cfg;

	if (n == 0)
		return 10;
	return cfg->pkt_len != 0 ? len * cfg->pkt_ns / cfg->pkt_len : n * cfg->pkt_ns;
}

static void poll(struct pair_host *h)
{
	struct pair *p = h->pair;
	uint64_t before = h->tx_bytes;
	uint32_t n = 0;
	bool again;

	h->poll_due = false;
	poll_rx(h);
	if (mrc_sched_next_deadline(h->sched) <= pair_host_now(h))
		mrc_sched_expire(h->sched, pair_host_now(h));
	pair_drain(p, h);
	if (chance(p, p->busy_ppm))
		refuse(h);
	again = chance(p, p->norings_ppm);
	if (!again) {
		n = poll_tx(h);
		again = n == p->cfg.tx_burst;
	}
	h->free_at = p->now + busy_ns(h, n, h->tx_bytes - before);
	/* A completion above may have asked for a poll at once: the host is busy until free_at. */
	if (h->poll_due && h->poll_at < h->free_at) {
		h->poll_due = false;
		again = true;
	}
	again |= h->in_head != NULL || mrc_sched_next_deadline(h->sched) <= pair_host_now(h);
	if (again)
		pair_kick(h);
	arm_timer(h);
	if (p->cfg.check_every != 0 && p->nb_events % p->cfg.check_every == 0)
		host_check(h);
}

static void unbusy(struct pair_host *h, uint32_t plane)
{
	h->busy &= ~(1u << plane);
	if ((h->pair->down[h->side] & 1u << plane) == 0)
		mrc_sched_plane_set(h->sched, pair_host_now(h), plane, MRC_PLANE_UP);
	pair_kick(h);
}

static void arrive(struct pair *p, struct pair_pkt *pkt)
{
	uint32_t w = 0;

	if (p->down[pkt->side] & 1u << pkt->plane) {
		pair_pkt_free(pkt);
		return;
	}
	if (p->cfg.nb_workers[pkt->side] > 1)
		w = test_random_below(&p->te, p->cfg.nb_workers[pkt->side]);
	inbox_put(&p->hosts[pkt->side][w], pkt);
}

static void handed(struct pair *p, struct pair_pkt *pkt)
{
	struct pair_host *h = &p->hosts[(pkt->side - 16) / 4][(pkt->side - 16) % 4];

	pkt->side = (uint8_t)h->side;
	h->handover_in--;
	inbox_put(h, pkt);
}

static void dispatch(struct pair *p, const struct pair_event *event)
{
	struct pair_host *h = event->obj;

	switch (event->kind) {
	case PAIR_EVENT_ARRIVE:
		arrive(p, event->obj);
		break;
	case PAIR_EVENT_HANDOVER:
		handed(p, event->obj);
		break;
	case PAIR_EVENT_POLL:
		if (h->poll_due && h->poll_at == event->time)
			poll(h);
		break;
	case PAIR_EVENT_TIMER:
		if (h->timer_at == event->time) {
			h->timer_at = MRC_SCHED_NEVER;
			pair_kick(h);
		}
		break;
	case PAIR_EVENT_UNBUSY:
		unbusy(h, event->arg);
		break;
	case PAIR_EVENT_CALL:
		event->fn(p, event->obj);
		break;
	}
}

bool pair_step(struct pair *p)
{
	struct pair_event event;

	if (!pair_pop(p, &event))
		return false;
	p->same_time = event.time == p->now ? p->same_time + 1 : 0;
	if (p->same_time > SAME_TIME_MAX) {
		pair_fail(p, "endless loop: %u events at one instant", SAME_TIME_MAX);
		return false;
	}
	p->now = event.time;
	p->nb_events++;
	pair_mix(p, event.time * 8 + event.kind);
	dispatch(p, &event);
	return true;
}

void pair_run(struct pair *p, uint64_t for_ns)
{
	uint64_t end = p->now + for_ns;

	while (p->heap_len != 0 && p->heap[0].time <= end && !(p->tolerate && p->failed))
		if (!pair_step(p))
			break;
	p->now = end > p->now ? end : p->now;
}

bool pair_run_idle(struct pair *p, uint64_t for_ns)
{
	uint64_t end = p->now + for_ns;

	while (!pair_idle(p)) {
		if (p->heap_len == 0 || p->heap[0].time > end || (p->tolerate && p->failed))
			return false;
		if (!pair_step(p))
			return false;
	}
	return true;
}

void pair_at(struct pair *p, uint64_t in_ns, void (*fn)(struct pair *p, void *arg), void *arg)
{
	pair_push(
		p, &(struct pair_event){
			   .time = p->now + in_ns, .kind = PAIR_EVENT_CALL, .fn = fn, .obj = arg});
}

static void wake(struct pair_host *h)
{
	h->frozen_until = 0;
	h->poll_due = false;
	for (uint32_t plane = 0; plane < h->pair->cfg.nb_planes; plane++)
		if (h->busy & 1u << plane)
			unbusy(h, plane);
	pair_kick(h);
}

void pair_finish_faulty(struct pair *p, uint64_t budget_ns)
{
	if (!pair_run_idle(p, budget_ns) && !p->failed) {
		for (int side = 0; side < 2; side++)
			for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
				pair_report(p, side, i);
		pair_fail(p, "not finished after %llu us", (unsigned long long)(budget_ns / 1000));
	}
	if (!p->failed)
		pair_settle(p);
	pair_check(p);
}

void pair_finish(struct pair *p, uint64_t budget_ns)
{
	pair_faults_clear(p);
	p->busy_ppm = p->norings_ppm = 0;
	for (int side = 0; side < 2; side++) {
		for (uint32_t plane = 0; plane < p->cfg.nb_planes; plane++)
			if (p->down[side] & 1u << plane)
				pair_plane(p, side, plane, true);
		for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++)
			wake(&p->hosts[side][w]);
	}
	pair_finish_faulty(p, budget_ns);
}

void pair_freeze(struct pair *p, int side, uint64_t for_ns)
{
	for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++) {
		struct pair_host *h = &p->hosts[side][w];

		h->frozen_until = p->now + for_ns;
		h->poll_due = false;
		pair_kick(h);
	}
}

void pair_clock_jump(struct pair *p, int side, uint64_t by_ns)
{
	for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++) {
		p->hosts[side][w].clock_off += by_ns;
		pair_kick(&p->hosts[side][w]);
	}
}

void pair_plane(struct pair *p, int side, uint32_t plane, bool up)
{
	if (up)
		p->down[side] &= ~(1u << plane);
	else
		p->down[side] |= 1u << plane;
	for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++) {
		struct pair_host *h = &p->hosts[side][w];

		if (up && (h->busy & 1u << plane))
			continue; /* UNBUSY says UP */
		mrc_sched_plane_set(
			h->sched, pair_host_now(h), plane, up ? MRC_PLANE_UP : MRC_PLANE_DOWN);
		pair_kick(h);
	}
}
