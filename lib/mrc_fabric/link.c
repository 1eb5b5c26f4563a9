/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - one direction of a link: two queues in strict priority, a transmitter, a wire.
 *
 * A packet leaves its queue when the transmitter begins with it; from then on its arrival at the
 * far end is known and it goes to the wire's list at once. Serialisation is exact: what does not
 * fill a nanosecond is carried to the next packet of a busy period in parts of 1/rate.
 */
#include "fabric.h"

/* Live, nothing is on a wire longer than that on behalf of a fault that is over. */
#define RELEASE_NS 1000000000ull

static uint32_t link_number(const struct mrc_fabric *f, const struct link *l)
{
	return (uint32_t)(l - f->links);
}

static uint32_t wire_bytes(const struct mrc_fabric *f, const struct pkt *p)
{
	int64_t len = (int64_t)p->wire_len + f->cfg.overhead_len;

	return len > 0 ? (uint32_t)len : 0;
}

uint32_t mrc_fabric_link_occupancy(const struct link *l, uint64_t now_ns)
{
	return l->queue_len[0] + (now_ns < l->busy_ns ? l->serving_len : 0);
}

/* The packet on the transmitter is counted when it starts, for its whole service. */
void mrc_fabric_link_area(struct link *l, uint64_t now_ns)
{
	if (now_ns > l->area_ns) {
		l->queue_area += (uint64_t)l->queue_len[0] * (now_ns - l->area_ns);
		l->area_ns = now_ns;
	}
}

void mrc_fabric_link_cfg_set(struct link *l, const struct mrc_fabric_link_cfg *cfg)
{
	l->cfg = *cfg;
	l->delay_ns = cfg->delay_ns;
	l->ecn_min_len = cfg->ecn_min_len;
	l->ecn_max_len = cfg->ecn_max_len;
	l->trim_len = cfg->trim_len;
	l->drop_len = cfg->drop_len;
	l->ctrl_len = cfg->ctrl_len;
}

static void arm_tx(struct mrc_fabric *f, struct link *l)
{
	uint32_t node = 2 * link_number(f, l);

	/* Its host runs it. */
	if (f->cfg.hosts_apart && l->cls == MRC_FABRIC_HOST_UP)
		return;
	if (!mrc_fabric_wheel_has(&f->wheel, node))
		mrc_fabric_wheel_add(&f->wheel, node, l->busy_ns);
}

/* The event stands at the arrival of the first packet on the wire. */
static void arm_arrival(struct mrc_fabric *f, struct link *l)
{
	uint32_t node = 2 * link_number(f, l) + 1;
	uint64_t at_ns;

	if (l->wire.head == NONE)
		return;
	at_ns = f->pkts[l->wire.head].at_ns;
	if (mrc_fabric_wheel_has(&f->wheel, node)) {
		if (f->wheel.nodes[node].at_ns <= at_ns)
			return;
		mrc_fabric_wheel_remove(&f->wheel, node);
	}
	/* When its host was run is an accident. */
	if (f->cfg.hosts_apart && l->cls == MRC_FABRIC_HOST_UP)
		mrc_fabric_wheel_add_late(&f->wheel, node, at_ns);
	else
		mrc_fabric_wheel_add(&f->wheel, node, at_ns);
}

/* Keeps the wire sorted by arrival; equal times in order of insertion. */
static void wire_insert(struct mrc_fabric *f, struct link *l, struct pkt *p)
{
	uint32_t *at = &l->wire.head;

	l->nb_wire++;
	if (l->wire.tail == NONE || l->wire_tail_ns <= p->at_ns) {
		l->wire_tail_ns = p->at_ns;
		list_push(f, &l->wire, p);
		return;
	}
	while (f->pkts[*at].at_ns <= p->at_ns)
		at = &f->pkts[*at].next;
	p->next = *at;
	*at = pkt_index(f, p);
}

static const struct ser_memo *memo_of(struct mrc_fabric *f, uint64_t rate_bps, uint32_t bytes)
{
	struct ser_memo *memo = &f->memo[(bytes ^ bytes >> 4 ^ rate_bps / 8) % NB_MEMOS];

	if (memo->len != bytes || memo->rate_bps != rate_bps) {
		uint64_t parts = (uint64_t)bytes * 8000000000u;

		*memo = (struct ser_memo){.rate_bps = rate_bps,
			.rem = parts % rate_bps,
			.ns = parts / rate_bps,
			.len = bytes};
	}
	return memo;
}

static uint64_t serialise(struct mrc_fabric *f, struct link *l, const struct pkt *p)
{
	const struct ser_memo *memo = memo_of(f, l->rate_bps, wire_bytes(f, p));
	uint64_t ns = memo->ns;

	l->busy_rem += memo->rem;
	if (l->busy_rem >= l->rate_bps) {
		l->busy_rem -= l->rate_bps;
		ns++;
	}
	return ns;
}

/* The transmitter takes p at now_ns; returns when the last byte has left. */
static uint64_t transmit(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	uint64_t start_ns = now_ns, end_ns;

	if (now_ns > l->busy_ns)
		l->busy_rem = 0;
	if (l->rate_bps == 0)
		end_ns = start_ns;
	else
		end_ns = start_ns + serialise(f, l, p);
	if (f->cfg.cut_through && pkt_cold(f, p)->tail_ns > end_ns) {
		/* Cut through: the tail cannot leave before it came in. */
		end_ns = pkt_cold(f, p)->tail_ns;
		l->busy_rem = 0;
	}
	l->busy_ns = end_ns;
	l->serving_len = p->prio ? 0 : wire_bytes(f, p);
	if (!p->prio)
		l->queue_area += (uint64_t)l->serving_len * (end_ns - start_ns);
	return end_ns;
}

/* RED at dequeue on what waits behind this packet. */
static bool red_marks(struct mrc_fabric *f, const struct link *l)
{
	uint32_t q = l->queue_len[0], lo = l->ecn_min_len, hi = l->ecn_max_len;

	if (hi == 0 || q <= lo)
		return false;
	if (q >= hi)
		return true;
	return (mrc_fabric_random(f) >> 32) * (hi - lo) < ((uint64_t)(q - lo) << 32);
}

static void mark(struct mrc_fabric *f, struct link *l, struct pkt *p)
{
	if (p->ecn == MRC_ECN_NOT_ECT || p->ecn == MRC_ECN_CE || !pkt_header_whole(p, p->ip_off))
		return;
	p->ecn = MRC_ECN_CE;
	mrc_fabric_frame_mark_ce(p->data, p->ip_off, (p->flags & FRAME_V6) != 0);
	l->marks++;
	f->tot.marks++;
}

void mrc_fabric_pkt_trim(struct mrc_fabric *f, struct link *l, struct pkt *p)
{
	enum mrc_class cls =
		l->cls == MRC_FABRIC_HOST_DOWN ? MRC_CLASS_TRIMMED_LASTHOP : MRC_CLASS_TRIMMED;

	if (p->wire_len > f->cfg.trim_size)
		p->wire_len = f->cfg.trim_size;
	if (p->len > p->wire_len)
		p->len = (uint16_t)p->wire_len;
	p->dscp = f->cfg.proto->dscp[cls];
	p->pkt_flags |= MRC_FABRIC_PKT_TRIMMED;
	mrc_fabric_pkt_classify(f, p);
	mrc_fabric_frame_trim(p->data, p->len, p->wire_len, p->ip_off, p->flags, p->dscp,
		f->cfg.trim_keep_lengths);
	l->trims++;
	f->tot.trims++;
}

static uint64_t cut_through_gain(
	const struct mrc_fabric *f, const struct link *l, uint64_t end_ns, uint64_t start_ns)
{
	uint64_t head_ns;

	if (!f->cfg.cut_through || l->cls == MRC_FABRIC_HOST_DOWN || l->rate_bps == 0)
		return 0;
	head_ns = CUT_THROUGH_LEN * 8000000000u / l->rate_bps;
	return end_ns > start_ns + head_ns ? end_ns - start_ns - head_ns : 0;
}

static void copies_to_wire(
	struct mrc_fabric *f, struct link *l, struct pkt *p, const struct fault_effect *effect)
{
	for (uint32_t i = 1; i <= effect->copies; i++) {
		struct pkt *copy = mrc_fabric_pkt_clone(f, p);

		if (copy == NULL)
			return;
		copy->at_ns = p->at_ns + i * effect->copy_gap_ns;
		pkt_cold(f, copy)->tail_ns = pkt_cold(f, p)->tail_ns + i * effect->copy_gap_ns;
		l->duplicates++;
		wire_insert(f, l, copy);
	}
}

static void to_wire(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t start_ns,
	uint64_t end_ns, const struct fault_effect *effect)
{
	uint64_t delay_ns = l->delay_ns + effect->delay_ns;

	if (l->cls != MRC_FABRIC_HOST_DOWN)
		delay_ns += f->cfg.switch_ns;
	p->at_ns = end_ns + delay_ns - cut_through_gain(f, l, end_ns, start_ns);
	if (p->at_ns < l->fifo_ns)
		p->at_ns = l->fifo_ns;
	l->fifo_ns = p->at_ns;
	p->at_ns += effect->hold_ns;
	if (f->cfg.cut_through)
		pkt_cold(f, p)->tail_ns = p->at_ns + cut_through_gain(f, l, end_ns, start_ns);
	wire_insert(f, l, p);
	if (effect->copies != 0)
		copies_to_wire(f, l, p, effect);
	/* Behind others: the event stands at the first one's arrival already. */
	if (l->wire.head == pkt_index(f, p))
		arm_arrival(f, l);
}

/* p has left its queue. */
static void start(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	static const struct fault_effect no_effect;
	struct fault_effect effect = no_effect;
	uint64_t end_ns;

	if (l->faulty)
		mrc_fabric_fault_apply(f, l, p, now_ns, &effect);
	if (effect.trim && p->trimmable && pkt_header_whole(p, p->ip_off))
		mrc_fabric_pkt_trim(f, l, p);
	if (effect.mark || (!p->prio && !effect.no_mark && red_marks(f, l)))
		mark(f, l, p);
	l->tx_packets++;
	l->tx_bytes += wire_bytes(f, p);
	f->tot.hops++;
	if (l->tap) {
		struct mrc_fabric_pkt view;

		mrc_fabric_pkt_view(p, &view);
		f->ops.tap(f->ops.ctx, now_ns, link_number(f, l), &view);
	}
	end_ns = transmit(f, l, p, now_ns);
	if (effect.drop)
		mrc_fabric_pkt_drop(f, l, p, effect.why, true);
	else
		to_wire(f, l, p, now_ns, end_ns, &effect);
}

static void enqueue(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	uint32_t bytes = wire_bytes(f, p);

	if (!p->prio)
		mrc_fabric_link_area(l, now_ns);
	list_push(f, &l->queue[p->prio], p);
	l->queue_len[p->prio] += bytes;
	l->nb_queued++;
	arm_tx(f, l);
}

/* The packet last queued changes places with the one that came; the latter's place is free. */
static void swap_with_last(struct mrc_fabric *f, struct link *l, struct pkt *p)
{
	struct pkt *last = &f->pkts[l->queue[0].tail];
	struct pkt keep = *p;
	struct pkt_cold keep_cold = *pkt_cold(f, p);
	uint32_t next = last->next;

	*p = *last;
	*last = keep;
	*pkt_cold(f, p) = *pkt_cold(f, last);
	*pkt_cold(f, last) = keep_cold;
	last->next = next;
	l->queue_len[0] += wire_bytes(f, last) - wire_bytes(f, p);
}

static bool may_trim(const struct pkt *p)
{
	return p->trimmable && pkt_header_whole(p, p->ip_off);
}

/* Data queue over the trimming threshold: cut the arriving packet or the last one queued. */
static bool trim_one(struct mrc_fabric *f, struct link *l, struct pkt *p)
{
	bool last_ok = l->queue[0].tail != NONE && may_trim(&f->pkts[l->queue[0].tail]);
	bool last = f->cfg.trim_who == MRC_FABRIC_TRIM_LAST;

	if (f->cfg.trim_who == MRC_FABRIC_TRIM_COIN)
		last = (mrc_fabric_random(f) & 1) != 0;
	if (last_ok && (last || !may_trim(p)))
		swap_with_last(f, l, p);
	else if (!may_trim(p))
		return false;
	mrc_fabric_pkt_trim(f, l, p);
	return true;
}

/* Admission: true when p may be queued (perhaps trimmed), else it was dropped. */
static bool admit(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	uint32_t bytes = wire_bytes(f, p);

	if (!p->prio) {
		uint32_t filled = mrc_fabric_link_occupancy(l, now_ns);

		if (l->trim_len != 0 && filled + bytes > l->trim_len) {
			mrc_fabric_link_area(l, now_ns);
			(void)trim_one(f, l, p);
		}
		if (!p->prio && l->drop_len != 0 && filled + bytes > l->drop_len) {
			mrc_fabric_pkt_drop(f, l, p, MRC_FABRIC_DROP_QUEUE, false);
			return false;
		}
		if (!p->prio && filled + bytes > l->queue_max_len)
			l->queue_max_len = filled + bytes;
	}
	if (p->prio && l->ctrl_len != 0 && l->queue_len[1] + wire_bytes(f, p) > l->ctrl_len) {
		mrc_fabric_pkt_drop(f, l, p, MRC_FABRIC_DROP_CTRL_QUEUE, false);
		return false;
	}
	return true;
}

void mrc_fabric_link_offer(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns)
{
	l->offered_packets++;
	l->offered_bytes += wire_bytes(f, p);
	if (!l->up) {
		mrc_fabric_pkt_drop(f, l, p, MRC_FABRIC_DROP_CARRIER, false);
		return;
	}
	if (!admit(f, l, p, now_ns))
		return;
	if (l->queue[0].head == NONE && l->queue[1].head == NONE &&
		(now_ns > l->busy_ns || (now_ns == l->busy_ns && l->busy_rem == 0) ||
			l->rate_bps == 0))
		start(f, l, p, now_ns);
	else
		enqueue(f, l, p, now_ns);
}

void mrc_fabric_link_tx(struct mrc_fabric *f, struct link *l, uint64_t now_ns)
{
	uint32_t prio = l->queue[1].head != NONE;
	struct pkt *p;

	if (l->queue[prio].head == NONE)
		return;
	if (now_ns < l->busy_ns) {
		arm_tx(f, l);
		return;
	}
	if (!prio)
		mrc_fabric_link_area(l, now_ns);
	p = list_pop(f, &l->queue[prio]);
	l->queue_len[prio] -= wire_bytes(f, p);
	l->nb_queued--;
	start(f, l, p, now_ns);
	if (l->queue[0].head != NONE || l->queue[1].head != NONE)
		arm_tx(f, l);
}

void mrc_fabric_link_arrive(struct mrc_fabric *f, struct link *l, uint64_t now_ns)
{
	while (l->wire.head != NONE && f->pkts[l->wire.head].at_ns <= now_ns) {
		struct pkt *p = list_pop(f, &l->wire);

		if (l->wire.head != NONE)
			__builtin_prefetch(&f->pkts[l->wire.head]);
		l->nb_wire--;
		l->arrived++;
		mrc_fabric_forward(f, l, p, now_ns);
	}
	arm_arrival(f, l);
}

static void lose_all(struct mrc_fabric *f, struct link *l, uint64_t now_ns)
{
	struct pkt *p;

	mrc_fabric_link_area(l, now_ns);
	for (uint32_t prio = 0; prio < 2; prio++) {
		while ((p = list_pop(f, &l->queue[prio])) != NULL) {
			l->nb_queued--;
			mrc_fabric_pkt_drop(f, l, p, MRC_FABRIC_DROP_CARRIER, false);
		}
		l->queue_len[prio] = 0;
	}
	while ((p = list_pop(f, &l->wire)) != NULL) {
		l->nb_wire--;
		mrc_fabric_pkt_drop(f, l, p, MRC_FABRIC_DROP_CARRIER, true);
	}
	if (l->busy_ns > now_ns)
		l->busy_ns = now_ns;
	if (mrc_fabric_wheel_has(&f->wheel, 2 * link_number(f, l)))
		mrc_fabric_wheel_remove(&f->wheel, 2 * link_number(f, l));
	l->busy_rem = 0;
	l->fifo_ns = 0;
}

static void say_carrier(struct mrc_fabric *f, const struct link *l)
{
	uint32_t index = l->near_end * f->cfg.nb_planes + l->plane;
	struct inbox *box = &f->inboxes[index];

	if (box->in_carrier)
		return;
	box->in_carrier = true;
	box->next_carrier = NONE;
	if (f->carrier.tail == NONE)
		f->carrier.head = index;
	else
		f->inboxes[f->carrier.tail].next_carrier = index;
	f->carrier.tail = index;
}

/* What the wire's last packet in order gains when the transmitter ends with it shift_ns sooner. A
 * packet that left before cannot arrive so late that the bound touches it. */
static void arrival_hasten(struct mrc_fabric *f, struct link *l, uint64_t shift_ns)
{
	uint64_t soonest_ns = l->busy_ns + l->delay_ns;
	struct pkt *last = NULL;
	uint64_t before_ns = 0;

	if (l->cls != MRC_FABRIC_HOST_DOWN)
		soonest_ns += f->cfg.switch_ns;
	for (uint32_t i = l->wire.head; i != NONE; i = f->pkts[i].next) {
		if (f->pkts[i].at_ns > l->fifo_ns)
			break;
		before_ns = last != NULL ? last->at_ns : 0;
		last = &f->pkts[i];
	}
	if (last == NULL || last->at_ns != l->fifo_ns || last->at_ns <= soonest_ns)
		return;
	if (soonest_ns < before_ns)
		soonest_ns = before_ns;
	last->at_ns = last->at_ns > soonest_ns + shift_ns ? last->at_ns - shift_ns : soonest_ns;
	l->fifo_ns = last->at_ns;
	if (l->wire.tail == pkt_index(f, last))
		l->wire_tail_ns = last->at_ns;
	arm_arrival(f, l);
}

void mrc_fabric_link_release(struct mrc_fabric *f, struct link *l, uint64_t now_ns)
{
	uint64_t latest_ns = now_ns + l->delay_ns + RELEASE_NS;

	if (!f->cfg.live)
		return;
	if (l->cls != MRC_FABRIC_HOST_DOWN)
		latest_ns += f->cfg.switch_ns;
	/* The order stays: what is capped is at the end. */
	for (uint32_t i = l->wire.head; i != NONE; i = f->pkts[i].next)
		if (f->pkts[i].at_ns > latest_ns)
			f->pkts[i].at_ns = latest_ns;
	if (l->fifo_ns > latest_ns)
		l->fifo_ns = latest_ns;
	if (l->wire_tail_ns > latest_ns)
		l->wire_tail_ns = latest_ns;
	arm_arrival(f, l);
}

/* Live, the rest of the packet on the transmitter goes out at a rate that is higher now: nobody
 * waits for hours because a link had a bit a second for a moment. */
static void service_hasten(struct mrc_fabric *f, struct link *l, uint64_t old_bps, uint64_t now_ns)
{
	const uint32_t node = 2 * link_number(f, l);
	unsigned __int128 parts;
	uint64_t left_ns, now_left_ns = 0;

	/* Cut through, the next link may wait for this packet's tail already. */
	if (!f->cfg.live || f->cfg.cut_through || l->busy_ns <= now_ns)
		return;
	left_ns = l->busy_ns - now_ns;
	parts = (unsigned __int128)left_ns * old_bps;
	if (l->rate_bps > old_bps)
		now_left_ns = (uint64_t)((parts + l->rate_bps - 1) / l->rate_bps);
	else if (l->rate_bps != 0)
		return;
	if (now_left_ns >= left_ns)
		return;
	l->busy_ns = now_ns + now_left_ns;
	l->queue_area -= (uint64_t)l->serving_len * (left_ns - now_left_ns);
	if (mrc_fabric_wheel_has(&f->wheel, node)) {
		mrc_fabric_wheel_remove(&f->wheel, node);
		arm_tx(f, l);
	}
	arrival_hasten(f, l, left_ns - now_left_ns);
}

void mrc_fabric_link_update(struct mrc_fabric *f, struct link *l, uint64_t now_ns)
{
	bool up = l->admin_up && l->down_refs == 0;
	uint64_t rate_bps = mrc_fabric_fault_rate(f, l);

	if (rate_bps != l->rate_bps) {
		const uint64_t old_bps = l->rate_bps;

		/* The packet on the transmitter ends as begun; parts of the old rate are void. */
		l->rate_bps = rate_bps;
		l->busy_rem = 0;
		service_hasten(f, l, old_bps, now_ns);
	}
	if (up == l->up)
		return;
	l->up = up;
	if (!up)
		lose_all(f, l, now_ns);
	if (l->cls == MRC_FABRIC_HOST_UP)
		say_carrier(f, l);
}
