/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nscc.c - "uet-1.0-nscc". doc/congestion.md explains it; the functions stand in the order in which
 * an acknowledgement passes them. Windows are whole bytes, rounded down at every step.
 */
#include "mrc_nscc.h"

enum {
	AVERAGE_WEIGHT = 80,     /* samples over which the delay is averaged */
	NEAR_ZERO_NS = 1000,     /* "almost no queueing delay" */
	ACK_GEN_TRIGGER = 16384, /* windows smaller than this ask for every acknowledgement */
	PENALTY_FULL = 128,      /* denominator of rcv_cwnd_pen */
	UNIT = 256,              /* bytes per step of rcvd_bytes */
	UNIT_MASK = 0xFFFFFF,    /* rcvd_bytes has 24 bits */
	UNIT_HALF = 0x800000,
	MIN_RTT_NS = 128, /* one tick of the timestamps */
};

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void mrc_nscc_init(struct mrc_nscc *cc, const struct mrc_nscc_cfg *cfg, uint64_t now_ns)
{
	*cc = (struct mrc_nscc){
		.cfg = cfg,
		.cwnd = cfg->max_cwnd,
		.max_cwnd = cfg->max_cwnd,
		.base_rtt = cfg->base_rtt_ns,
		.t_adj = now_ns,
		.t_dec = now_ns,
	};
}

void mrc_nscc_on_sent(struct mrc_nscc *cc, uint32_t size)
{
	cc->inflight += size;
}

void mrc_nscc_on_unlost(struct mrc_nscc *cc, uint32_t size)
{
	cc->inflight += size;
}

/* Newly received bytes. A number that went back by less than half the space is an old SACK.
 * spec */
static uint32_t take_rcvd(struct mrc_nscc *cc, uint32_t units)
{
	uint32_t step = (units - cc->rcvd_units) & UNIT_MASK;

	if (step >= UNIT_HALF)
		return 0;
	cc->rcvd_units = units & UNIT_MASK;
	return step * UNIT;
}

/* Only falls; the ceiling of the window falls with it. */
static void take_rtt(struct mrc_nscc *cc, uint64_t rtt_ns)
{
	const struct mrc_nscc_cfg *cfg = cc->cfg;

	if (rtt_ns < MIN_RTT_NS)
		rtt_ns = MIN_RTT_NS;
	if (rtt_ns < cfg->min_base_rtt_ns)
		rtt_ns = cfg->min_base_rtt_ns;
	if (rtt_ns >= cc->base_rtt)
		return;
	cc->base_rtt = rtt_ns;
	cc->max_cwnd =
		max64((int64_t)((uint64_t)cfg->max_cwnd * rtt_ns / cfg->base_rtt_ns), cfg->mtu);
	cc->cwnd = min64(cc->cwnd, cc->max_cwnd);
}

/* A high delay without a mark is stale news of a queue that is gone: it counts a quarter RTT. */
static void average(struct mrc_nscc *cc, bool marked, double delay)
{
	if (!marked && delay > cc->cfg->target_delay_ns)
		delay = (double)cc->base_rtt / 4;
	cc->avg_delay += (delay - cc->avg_delay) / AVERAGE_WEIGHT;
}

/* The receiving host is slow. Returns whether the window may not grow.
 * spec */
static bool push_back(struct mrc_nscc *cc, uint32_t newly, uint8_t pen, bool restore)
{
	int64_t window;

	if (pen == 0) {
		if (restore && cc->saved > 0)
			cc->cwnd = min64(cc->saved, cc->max_cwnd);
		cc->saved = 0;
		return false;
	}
	if (cc->saved == 0)
		cc->saved = cc->cwnd;
	window = min64(cc->cwnd, cc->inflight);
	window -= (int64_t)((uint64_t)pen * newly / PENALTY_FULL);
	cc->cwnd = max64(window, cc->cfg->mtu);
	return true;
}

static void forget_increase(struct mrc_nscc *cc)
{
	cc->acc = 0;
	cc->recv = 0;
}

/* End of an epoch: far below the window although packets were lost or the queue is deep? Then the
 * window becomes what got through. */
static bool epoch_end(struct mrc_nscc *cc, uint64_t now_ns, bool loss, uint64_t delay_ns)
{
	const struct mrc_nscc_cfg *cfg = cc->cfg;
	bool never = cfg->qa_threshold_ns == UINT32_MAX;
	bool reason = cc->armed || loss || (!never && delay_ns > cfg->qa_threshold_ns);
	bool act = cc->qa_end != 0 && reason && cc->achieved < (cc->max_cwnd >> cfg->qa_gate);

	if (act) {
		cc->cwnd = max64(cc->achieved, cfg->mtu);
		cc->to_ignore = max64(cc->inflight, 0);
		cc->ignored = 0;
		cc->armed = false;
	}
	cc->achieved = 0;
	cc->qa_end = now_ns + cc->base_rtt + cfg->target_delay_ns;
	return act;
}

/* Returns whether the event is dealt with: the window has just been set, or the event tells of
 * packets that left before it was. */
static bool quick_adapt(
	struct mrc_nscc *cc, uint64_t now_ns, bool loss, bool marked, uint64_t delay_ns)
{
	bool handled = false;

	if (cc->cfg->disable_qa)
		return false;
	if (marked && cc->ignored < cc->to_ignore)
		handled = true;
	else if (now_ns >= cc->qa_end)
		handled = epoch_end(cc, now_ns, loss, delay_ns);
	if (handled)
		forget_increase(cc);
	return handled;
}

/* A whole window at almost no delay: grow at once, by a share of what arrives. */
static bool fast_increase(struct mrc_nscc *cc, uint32_t newly, uint64_t delay_ns)
{
	if (delay_ns >= NEAR_ZERO_NS) {
		cc->fi_count = 0;
		cc->fast = false;
		return false;
	}
	cc->fi_count += newly;
	cc->fast = cc->fast || cc->fi_count > cc->cwnd;
	if (cc->fast) {
		double grown = (double)cc->cwnd + cc->cfg->fi_scale * newly;

		cc->cwnd = grown < (double)cc->max_cwnd ? (int64_t)grown : cc->max_cwnd;
	}
	return cc->fast;
}

static void proportional_increase(struct mrc_nscc *cc, uint32_t newly, uint64_t delay_ns)
{
	if (!fast_increase(cc, newly, delay_ns))
		cc->acc += cc->cfg->alpha * newly * (double)(cc->cfg->target_delay_ns - delay_ns);
}

static void fair_increase(struct mrc_nscc *cc, uint32_t newly)
{
	cc->acc += cc->cfg->fi * newly;
}

static void multiplicative_decrease(struct mrc_nscc *cc, uint64_t now_ns)
{
	const struct mrc_nscc_cfg *cfg = cc->cfg;
	double target = cfg->target_delay_ns;
	double factor;

	cc->fast = false;
	cc->fi_count = 0;
	if (cc->avg_delay <= target || now_ns - cc->t_dec <= cc->base_rtt)
		return;
	factor = 1 - cfg->gamma * (cc->avg_delay - target) / cc->avg_delay;
	if (factor < cfg->max_md_jump)
		factor = cfg->max_md_jump;
	cc->cwnd = max64((int64_t)((double)cc->cwnd * factor), cfg->mtu);
	cc->t_dec = now_ns;
}

static void adjust(struct mrc_nscc *cc, uint64_t now_ns)
{
	const struct mrc_nscc_cfg *cfg = cc->cfg;
	bool period = now_ns - cc->t_adj >= cfg->adjust_period_ns;
	double grown;

	if (!period && cc->recv <= cfg->adjust_bytes_threshold)
		return;
	grown = (double)cc->cwnd + cc->acc / (double)cc->cwnd;
	cc->cwnd = grown < (double)cc->max_cwnd ? (int64_t)grown : cc->max_cwnd;
	if (period) {
		cc->t_adj = now_ns;
		cc->cwnd = min64((int64_t)((double)cc->cwnd + cfg->eta), cc->max_cwnd);
	}
	forget_increase(cc);
}

/* spec */
static void react(struct mrc_nscc *cc, uint64_t now_ns, uint32_t newly, bool limited,
	const struct mrc_nscc_sack *sack)
{
	uint64_t delay_ns;

	take_rtt(cc, sack->rtt_ns);
	delay_ns = sack->rtt_ns > cc->base_rtt ? sack->rtt_ns - cc->base_rtt : 0;
	average(cc, sack->marked, (double)delay_ns);
	if (quick_adapt(cc, now_ns, false, sack->marked, delay_ns))
		return;
	if (sack->marked) {
		/* Marked at low delay: the balancer of paths shall act before the window does. */
		if (delay_ns >= cc->cfg->target_delay_ns)
			multiplicative_decrease(cc, now_ns);
	} else if (!limited) {
		if (delay_ns < cc->cfg->target_delay_ns)
			proportional_increase(cc, newly, delay_ns);
		else
			fair_increase(cc, newly);
	}
	adjust(cc, now_ns);
}

/* spec */
uint32_t mrc_nscc_on_sack(struct mrc_nscc *cc, uint64_t now_ns, const struct mrc_nscc_sack *sack)
{
	uint32_t newly = take_rcvd(cc, sack->rcvd_units);
	bool limited;

	cc->inflight -= newly;
	if (cc->cfg->algorithm == MRC_NSCC_FIXED)
		return newly;
	cc->ignored += newly;
	cc->recv += newly;
	cc->achieved += newly;
	limited = push_back(cc, newly, sack->pen, sack->restore);
	if (sack->rtt_ns != MRC_NSCC_NO_RTT)
		react(cc, now_ns, newly, limited, sack);
	return newly;
}

/* spec */
void mrc_nscc_on_nack(
	struct mrc_nscc *cc, uint64_t now_ns, uint32_t size, bool trimmed, uint64_t rtt_ns)
{
	cc->inflight -= size;
	if (cc->cfg->algorithm == MRC_NSCC_FIXED)
		return;
	if (rtt_ns != MRC_NSCC_NO_RTT)
		take_rtt(cc, rtt_ns);
	if (!trimmed)
		return;
	average(cc, true, cc->cfg->base_rtt_ns);
	cc->ignored += size;
	cc->armed = true;
	if (!quick_adapt(cc, now_ns, true, true, 0))
		cc->cwnd = max64(cc->cwnd - size, cc->cfg->mtu);
}

/* spec */
void mrc_nscc_on_loss(struct mrc_nscc *cc, uint64_t now_ns, uint32_t size)
{
	cc->inflight -= size;
	if (cc->cfg->algorithm == MRC_NSCC_FIXED)
		return;
	cc->ignored += size;
	cc->cwnd = max64(cc->cwnd - size, cc->cfg->mtu);
}

void mrc_nscc_on_spurious(struct mrc_nscc *cc, uint32_t size)
{
	if (cc->cfg->algorithm != MRC_NSCC_FIXED)
		cc->cwnd = min64(cc->cwnd + size, cc->max_cwnd);
}

uint32_t mrc_nscc_cwnd(const struct mrc_nscc *cc)
{
	return (uint32_t)cc->cwnd;
}

int64_t mrc_nscc_inflight(const struct mrc_nscc *cc)
{
	return cc->inflight;
}

uint64_t mrc_nscc_base_rtt(const struct mrc_nscc *cc)
{
	return cc->base_rtt;
}

bool mrc_nscc_wants_ack(const struct mrc_nscc *cc)
{
	return cc->cwnd - cc->inflight < cc->cfg->mtu || cc->cwnd < ACK_GEN_TRIGGER;
}
