/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.c - faults: which links, when, which packets, and what happens to them.
 *
 * Every link has a bit per fault; the bit is set while the fault is active and selects the link, so
 * a link without faults costs one comparison.
 */
#include "fabric.h"

#include <string.h>

static const char *const kind_names[] = {
	[MRC_FABRIC_LOSS] = "loss",
	[MRC_FABRIC_DISCARD] = "silent_discard",
	[MRC_FABRIC_DUPLICATE] = "duplicate",
	[MRC_FABRIC_REORDER] = "reorder",
	[MRC_FABRIC_DELAY] = "delay",
	[MRC_FABRIC_JITTER] = "jitter",
	[MRC_FABRIC_CORRUPT] = "corrupt",
	[MRC_FABRIC_TRUNCATE] = "truncate",
	[MRC_FABRIC_PAD] = "pad",
	[MRC_FABRIC_MTU] = "mtu",
	[MRC_FABRIC_ECN_ALL] = "ecn_all",
	[MRC_FABRIC_ECN_NONE] = "ecn_none",
	[MRC_FABRIC_ECN_ALT] = "ecn_alternate",
	[MRC_FABRIC_TRIM] = "trim",
	[MRC_FABRIC_RATE] = "rate",
	[MRC_FABRIC_CARRIER] = "carrier",
	[MRC_FABRIC_FLAP] = "flap",
	[MRC_FABRIC_RESTART] = "restart",
};

const char *mrc_fabric_fault_kind_name(enum mrc_fabric_fault_kind kind)
{
	return (unsigned int)kind < MRC_FABRIC_NB_FAULT_KINDS ? kind_names[kind] : NULL;
}

/* Acts on the link itself, not on packets. */
static bool of_link(enum mrc_fabric_fault_kind kind)
{
	return kind >= MRC_FABRIC_RATE;
}

static bool holds_carrier(enum mrc_fabric_fault_kind kind)
{
	return kind >= MRC_FABRIC_CARRIER;
}

/* ---- packets */

static bool match_mrc(
	const struct mrc_fabric *f, const struct mrc_fabric_match *m, const struct pkt *p)
{
	const struct pkt_cold *cold = pkt_cold(f, p);

	if (!(p->flags & FRAME_MRC))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_OPCODE) &&
		!(m->opcodes[p->opcode / 64] >> (p->opcode % 64) & 1))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_PSN) && (cold->psn < m->psn_lo || cold->psn > m->psn_hi))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_EV) && (p->ev & m->ev_mask) != m->ev)
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_QPN) && cold->qpn != m->qpn)
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_RTX) && ((p->flags & FRAME_RTX) != 0) != m->rtx)
		return false;
	return true;
}

static bool match(const struct mrc_fabric *f, const struct mrc_fabric_match *m, const struct pkt *p)
{
	const uint32_t of_mrc = MRC_FABRIC_MATCH_OPCODE | MRC_FABRIC_MATCH_PSN |
				MRC_FABRIC_MATCH_EV | MRC_FABRIC_MATCH_QPN | MRC_FABRIC_MATCH_RTX;

	if (m->fields == 0)
		return true;
	if ((m->fields & of_mrc) && !match_mrc(f, m, p))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_DSCP) &&
		(!(p->flags & FRAME_IP) || !(m->dscps >> p->dscp & 1)))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_LEN) &&
		(p->wire_len < m->len_lo || p->wire_len > m->len_hi))
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_SRC) && p->src != m->src)
		return false;
	if ((m->fields & MRC_FABRIC_MATCH_DST) && p->dst != m->dst)
		return false;
	return true;
}

/* Counts a fitting packet and says whether it is hit. */
static bool triggers(struct mrc_fabric *f, struct fault *fault)
{
	const struct mrc_fabric_fault *c = &fault->cfg;
	uint64_t n = ++fault->matches;
	uint64_t count = c->count != 0 ? c->count : 1;

	if (c->max_hits != 0 && fault->hits >= c->max_hits)
		return false;
	if (c->nth != 0) {
		uint64_t k = n - c->nth;

		if (n < c->nth || (c->period != 0 ? k % c->period : k) >= count)
			return false;
	}
	if (fault->burst_left != 0) {
		fault->burst_left--;
		return true;
	}
	if (fault->rate_bound != UINT64_MAX && mrc_fabric_random(f) >= fault->rate_bound)
		return false;
	fault->burst_left = c->burst > 1 ? c->burst - 1 : 0;
	return true;
}

static void corrupt(struct mrc_fabric *f, const struct mrc_fabric_fault *c, struct pkt *p)
{
	uint32_t span, byte;

	if (c->offset >= p->wire_len)
		return;
	span = p->wire_len - c->offset;
	if (c->param != 0 && c->param < span)
		span = (uint32_t)c->param;
	byte = c->offset + (uint32_t)((mrc_fabric_random(f) >> 32) * span >> 32);
	if (byte < p->len)
		p->data[byte] ^= (uint8_t)(1u << (mrc_fabric_random(f) & 7));
	else
		p->pkt_flags |= MRC_FABRIC_PKT_CORRUPT;
}

static void truncate_tail(uint64_t cut, struct pkt *p)
{
	p->wire_len = cut < p->wire_len ? p->wire_len - (uint32_t)cut : 1;
	if (p->len > p->wire_len)
		p->len = (uint16_t)p->wire_len;
	else if (p->len < p->wire_len)
		p->pkt_flags |= MRC_FABRIC_PKT_CORRUPT;
}

static void pad(struct mrc_fabric *f, uint64_t param, struct pkt *p)
{
	struct mrc_fabric_pkt view;
	uint32_t room, n = (uint32_t)param;

	if (p->len < p->wire_len) {
		p->wire_len += n;
		p->pkt_flags |= MRC_FABRIC_PKT_CORRUPT;
		return;
	}
	mrc_fabric_pkt_view(p, &view);
	room = f->ops.tailroom != NULL ? f->ops.tailroom(f->ops.ctx, &view) : 0;
	n = n < room ? n : room;
	n = n < (uint32_t)UINT16_MAX - p->len ? n : (uint32_t)UINT16_MAX - p->len;
	memset(p->data + p->len, 0, n);
	p->len = (uint16_t)(p->len + n);
	p->wire_len += n;
}

static void drop(struct fault_effect *effect, enum mrc_fabric_drop why)
{
	if (!effect->drop)
		effect->why = why;
	effect->drop = true;
}

static void act(
	struct mrc_fabric *f, struct fault *fault, struct pkt *p, struct fault_effect *effect)
{
	const struct mrc_fabric_fault *c = &fault->cfg;

	switch (c->kind) {
	case MRC_FABRIC_LOSS:
		drop(effect, MRC_FABRIC_DROP_LOSS);
		break;
	case MRC_FABRIC_DISCARD:
		drop(effect, MRC_FABRIC_DROP_DISCARD);
		break;
	case MRC_FABRIC_MTU:
		drop(effect, MRC_FABRIC_DROP_MTU);
		break;
	case MRC_FABRIC_DUPLICATE:
		effect->copies += c->param != 0 ? (uint32_t)c->param : 1;
		effect->copy_gap_ns = c->spread;
		break;
	case MRC_FABRIC_REORDER:
		effect->hold_ns += c->param;
		break;
	case MRC_FABRIC_DELAY:
		effect->delay_ns += c->param;
		break;
	case MRC_FABRIC_JITTER:
		effect->delay_ns += mrc_fabric_random(f) % (c->param + 1);
		break;
	case MRC_FABRIC_CORRUPT:
		corrupt(f, c, p);
		break;
	case MRC_FABRIC_TRUNCATE:
		truncate_tail(c->param, p);
		break;
	case MRC_FABRIC_PAD:
		pad(f, c->param, p);
		break;
	case MRC_FABRIC_ECN_ALL:
		effect->mark = true;
		break;
	case MRC_FABRIC_ECN_NONE:
		effect->no_mark = true;
		break;
	case MRC_FABRIC_ECN_ALT:
		fault->alternate = !fault->alternate;
		effect->mark = fault->alternate;
		effect->no_mark = true;
		break;
	case MRC_FABRIC_TRIM:
		effect->trim = true;
		break;
	case MRC_FABRIC_RATE:
	case MRC_FABRIC_CARRIER:
	case MRC_FABRIC_FLAP:
	case MRC_FABRIC_RESTART:
	case MRC_FABRIC_NB_FAULT_KINDS:
		break;
	}
}

static void note_hit(struct fault *fault, uint64_t now_ns)
{
	if (fault->hits++ == 0)
		fault->first_hit_ns = now_ns;
}

void mrc_fabric_fault_apply(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns,
	struct fault_effect *effect_out)
{
	const uint64_t *bits = &f->fault_bits[(uint64_t)(l - f->links) * f->fault_words];

	for (uint32_t w = 0; w < f->fault_words; w++) {
		for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
			struct fault *fault = &f->faults[w * 64 + (uint32_t)__builtin_ctzll(left)];

			if (of_link(fault->cfg.kind) || !match(f, &fault->cfg.match, p))
				continue;
			if (fault->cfg.kind == MRC_FABRIC_MTU && p->wire_len <= fault->cfg.param)
				continue;
			if (!triggers(f, fault))
				continue;
			note_hit(fault, now_ns);
			act(f, fault, p, effect_out);
			if (effect_out->drop)
				return;
		}
	}
}

/* ---- links */

uint64_t mrc_fabric_fault_rate(const struct mrc_fabric *f, const struct link *l)
{
	const uint64_t *bits = &f->fault_bits[(uint64_t)(l - f->links) * f->fault_words];
	uint64_t slowest = l->cfg.rate_bps;

	for (uint32_t w = 0; w < f->fault_words; w++) {
		for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
			const struct fault *fault =
				&f->faults[w * 64 + (uint32_t)__builtin_ctzll(left)];

			if (fault->cfg.kind == MRC_FABRIC_RATE &&
				(slowest == 0 || fault->cfg.param < slowest))
				slowest = fault->cfg.param;
		}
	}
	return slowest;
}

static void carrier_hold(
	struct mrc_fabric *f, const struct fault *fault, bool hold, uint64_t now_ns)
{
	for (uint32_t i = mrc_fabric_link_next(f, &fault->cfg.where, NONE); i != NONE;
		i = mrc_fabric_link_next(f, &fault->cfg.where, i)) {
		struct link *l = &f->links[i], *r = &f->links[l->reverse];

		l->down_refs = (uint16_t)(l->down_refs + (hold ? 1 : -1));
		r->down_refs = (uint16_t)(r->down_refs + (hold ? 1 : -1));
		mrc_fabric_link_update(f, l, now_ns);
		mrc_fabric_link_update(f, r, now_ns);
	}
}

/* Whether a fault that acts on packets is attached to the link. */
static bool any_fault(const struct mrc_fabric *f, uint32_t link)
{
	const uint64_t *bits = &f->fault_bits[(uint64_t)link * f->fault_words];

	for (uint32_t i = 0; i < f->cfg.max_faults; i++) {
		if ((bits[i / 64] >> (i % 64) & 1) != 0 && !of_link(f->faults[i].cfg.kind))
			return true;
	}
	return false;
}

static void attach(struct mrc_fabric *f, struct fault *fault, bool on, uint64_t now_ns)
{
	uint32_t index = (uint32_t)(fault - f->faults);

	for (uint32_t i = mrc_fabric_link_next(f, &fault->cfg.where, NONE); i != NONE;
		i = mrc_fabric_link_next(f, &fault->cfg.where, i)) {
		uint64_t *word = &f->fault_bits[(uint64_t)i * f->fault_words + index / 64];

		*word ^= 1ull << (index % 64);
		if (!of_link(fault->cfg.kind))
			f->links[i].faulty = on || any_fault(f, i);
		else
			mrc_fabric_link_update(f, &f->links[i], now_ns);
		if (!on)
			mrc_fabric_link_release(f, &f->links[i], now_ns);
	}
}

static void activate(struct mrc_fabric *f, struct fault *fault, bool on, uint64_t now_ns)
{
	if (fault->active == on)
		return;
	fault->active = on;
	if (!holds_carrier(fault->cfg.kind)) {
		attach(f, fault, on, now_ns);
	} else if (on || fault->cfg.kind != MRC_FABRIC_FLAP || fault->phase_down) {
		fault->phase_down = on;
		carrier_hold(f, fault, on, now_ns);
	}
	if (on && of_link(fault->cfg.kind))
		note_hit(fault, now_ns);
}

static void flap(struct mrc_fabric *f, struct fault *fault, uint64_t now_ns)
{
	fault->phase_down = !fault->phase_down;
	carrier_hold(f, fault, fault->phase_down, now_ns);
	if (fault->phase_down)
		note_hit(fault, now_ns);
}

/* The flap's next change after now_ns; live, whole periods that are over already are left out. */
static uint64_t flap_next(const struct mrc_fabric *f, const struct fault *fault, uint64_t now_ns)
{
	const uint64_t period = fault->cfg.param + fault->cfg.spread;
	const uint64_t at_ns = now_ns + (fault->phase_down ? fault->cfg.param : fault->cfg.spread);

	if (!f->cfg.live || at_ns >= f->run_ns)
		return at_ns;
	return at_ns + (f->run_ns - at_ns) / period * period;
}

static void schedule(struct mrc_fabric *f, const struct fault *fault, uint64_t now_ns)
{
	uint32_t node = f->fault_node + (uint32_t)(fault - f->faults);
	uint64_t at_ns = fault->cfg.end_ns != 0 ? fault->cfg.end_ns : UINT64_MAX;

	if (!fault->active) {
		if (fault->cfg.end_ns != 0 && now_ns >= fault->cfg.end_ns)
			return;
		at_ns = fault->cfg.start_ns;
	} else if (fault->cfg.kind == MRC_FABRIC_FLAP) {
		const uint64_t next_ns = flap_next(f, fault, now_ns);

		at_ns = next_ns < at_ns ? next_ns : at_ns;
	}
	if (at_ns != UINT64_MAX)
		mrc_fabric_wheel_add(&f->wheel, node, at_ns);
}

void mrc_fabric_fault_timer(struct mrc_fabric *f, uint32_t index, uint64_t now_ns)
{
	struct fault *fault = &f->faults[index];

	if (!fault->active)
		activate(f, fault, true, now_ns);
	else if (fault->cfg.end_ns != 0 && now_ns >= fault->cfg.end_ns)
		activate(f, fault, false, now_ns);
	else if (fault->cfg.kind == MRC_FABRIC_FLAP)
		flap(f, fault, now_ns);
	schedule(f, fault, now_ns);
}

bool mrc_fabric_fault_counts_at(
	const struct mrc_fabric *f, const struct fault *fault, enum mrc_fabric_link_class cls)
{
	struct mrc_fabric_where where = fault->cfg.where;

	if (of_link(fault->cfg.kind) || (where.classes != 0 && !(where.classes & 1u << cls)))
		return false;
	where.classes = 1u << cls;
	return mrc_fabric_link_next(f, &where, NONE) != NONE;
}

/* ---- calls */

static bool fault_valid(const struct mrc_fabric *f, const struct mrc_fabric_fault *c)
{
	if ((unsigned int)c->kind >= MRC_FABRIC_NB_FAULT_KINDS || !(c->rate >= 0 && c->rate <= 1))
		return false;
	if (c->end_ns != 0 && c->end_ns <= c->start_ns)
		return false;
	if (mrc_fabric_link_next(f, &c->where, NONE) == NONE)
		return false;
	if (c->kind == MRC_FABRIC_FLAP && (c->param == 0 || c->spread == 0))
		return false;
	if (c->kind == MRC_FABRIC_RATE && c->param == 0)
		return false;
	if (c->kind == MRC_FABRIC_DUPLICATE && c->param > MAX_COPIES)
		return false;
	if (c->kind == MRC_FABRIC_RESTART && c->where.leaf == MRC_FABRIC_ANY &&
		c->where.spine == MRC_FABRIC_ANY)
		return false;
	return true;
}

int mrc_fabric_fault_add(struct mrc_fabric *fabric, uint64_t now_ns,
	const struct mrc_fabric_fault *fault, uint32_t *handle_out)
{
	uint32_t i = 0, generation;
	struct fault *slot;

	if (!fault_valid(fabric, fault))
		return MRC_ERR_INVAL;
	while (i < fabric->cfg.max_faults && fabric->faults[i].used)
		i++;
	if (i == fabric->cfg.max_faults)
		return MRC_ERR_NOMEM;
	slot = &fabric->faults[i];
	generation = (slot->generation + 1) & 0xFFFF;
	*slot = (struct fault){.cfg = *fault,
		.used = true,
		.generation = generation,
		.first_hit_ns = MRC_FABRIC_NEVER,
		.rate_bound = UINT64_MAX};
	if (fault->rate > 0 && fault->rate < 1)
		slot->rate_bound = (uint64_t)(fault->rate * 0x1p64);
	if (fault->start_ns <= now_ns && (fault->end_ns == 0 || now_ns < fault->end_ns))
		activate(fabric, slot, true, now_ns);
	schedule(fabric, slot, now_ns);
	*handle_out = generation << 16 | (i + 1);
	return MRC_OK;
}

static struct fault *fault_find(const struct mrc_fabric *f, uint32_t handle)
{
	uint32_t i = (handle & 0xFFFF) - 1;

	if (i >= f->cfg.max_faults || !f->faults[i].used || f->faults[i].generation != handle >> 16)
		return NULL;
	return &f->faults[i];
}

int mrc_fabric_fault_remove(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t handle)
{
	struct fault *fault = fault_find(fabric, handle);
	uint32_t node;

	if (fault == NULL)
		return MRC_ERR_NOENT;
	node = fabric->fault_node + (uint32_t)(fault - fabric->faults);
	if (mrc_fabric_wheel_has(&fabric->wheel, node))
		mrc_fabric_wheel_remove(&fabric->wheel, node);
	activate(fabric, fault, false, now_ns);
	fault->used = false;
	return MRC_OK;
}

int mrc_fabric_fault_query(
	const struct mrc_fabric *fabric, uint32_t handle, struct mrc_fabric_fault_info *info_out)
{
	const struct fault *fault = fault_find(fabric, handle);

	if (fault == NULL)
		return MRC_ERR_NOENT;
	*info_out = (struct mrc_fabric_fault_info){.fault = fault->cfg,
		.matches = fault->matches,
		.hits = fault->hits,
		.first_hit_ns = fault->first_hit_ns,
		.active = fault->active};
	return MRC_OK;
}
