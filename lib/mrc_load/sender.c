/* SPDX-License-Identifier: BSD-2-Clause */
/* sender.c - when to post which message where, and what became of it. */
#include <math.h>

#include "load.h"

/* What the next message is. */
struct plan {
	uint64_t due_ns;
	uint64_t offset; /* source_once: place in the source */
	uint32_t len;
	int32_t flow;
};

void sender_start(struct mrc_load *load)
{
	const struct mrc_load_cfg *cfg = &load->cfg;

	load->sending = true;
	for (uint32_t d = 0; d < cfg->depth; d++) {
		for (uint32_t i = 0; i < cfg->nb_qps; i++)
			ring_push(&load->credits, i);
	}
}

void mrc_load_stop(struct mrc_load *load)
{
	load->sending = false;
}

bool sender_done(const struct mrc_load *load)
{
	if (load->cfg.pacing == MRC_LOAD_FLOWS && load->flows_queued.nb > 0)
		return false;
	return load->started && !load->sending && load->outstanding == 0;
}

/* Whether a limit is reached; then nothing more is sent. */
static bool limits_reached(struct mrc_load *load)
{
	const struct mrc_load_cfg *cfg = &load->cfg;

	if (load->result.qps_failed == cfg->nb_qps)
		return true;
	if (cfg->source_once)
		return load->posted_bytes >= cfg->source_len;
	if (cfg->pacing == MRC_LOAD_FLOWS)
		return false;
	return (cfg->count != 0 && load->result.tx_posted >= cfg->count) ||
	       (cfg->total_bytes != 0 && load->posted_bytes >= cfg->total_bytes) ||
	       (cfg->duration_ns != 0 && load->now_ns - load->result.start_ns >= cfg->duration_ns);
}

/* ---- what comes next */

static uint64_t next_len(struct mrc_load *load)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	uint64_t len = cfg->sizes ? mrc_dist_sample(cfg->sizes, load_random(load)) : cfg->size;
	uint64_t limit = cfg->source_once ? cfg->source_len : cfg->total_bytes;

	if (limit != 0 && len > limit - load->posted_bytes)
		len = limit - load->posted_bytes;
	return len;
}

/* Exponentially distributed with mean 1; the argument of log is never 0. */
static double exponential(struct mrc_load *load)
{
	return -log(((double)(load_random(load) >> 11) + 1) * 0x1p-53);
}

static bool open_loop(const struct mrc_load_cfg *cfg)
{
	return cfg->pacing == MRC_LOAD_CONSTANT || cfg->pacing == MRC_LOAD_POISSON;
}

/* A message that is late because the window was full counts its latency from when it was due. */
static uint64_t take_due(struct mrc_load *load, uint32_t len)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	uint64_t due = load->result.start_ns + (uint64_t)load->due_ns;
	double gap = (double)len * 8e9 / cfg->rate_bps;

	load->due_ns += cfg->pacing == MRC_LOAD_POISSON ? gap * exponential(load) : gap;
	return due;
}

static struct plan plan_flow(struct mrc_load *load)
{
	uint32_t index = load->flows_queued.items[load->flows_queued.at];
	struct load_flow *flow = &load->flows[index];
	uint64_t len = load->cfg.sizes ? mrc_dist_sample(load->cfg.sizes, load_random(load))
				       : load->cfg.size;
	struct plan plan = {.due_ns = load->now_ns, .flow = (int32_t)index};

	plan.len = (uint32_t)(len < flow->unsent ? len : flow->unsent);
	flow->unsent -= plan.len;
	flow->outstanding++;
	if (flow->unsent == 0)
		ring_pop(&load->flows_queued);
	return plan;
}

static struct plan plan_next(struct mrc_load *load)
{
	struct plan plan = {.due_ns = load->now_ns, .flow = LOAD_NO_FLOW};

	if (load->cfg.pacing == MRC_LOAD_FLOWS)
		return plan_flow(load);
	plan.offset = load->posted_bytes;
	plan.len = (uint32_t)next_len(load);
	if (open_loop(&load->cfg))
		plan.due_ns = take_due(load, plan.len);
	return plan;
}

/* ---- flows */

int mrc_load_flow_add(struct mrc_load *load, uint64_t now_ns, uint64_t bytes, uint64_t tag)
{
	uint32_t index;

	if (load->cfg.pacing != MRC_LOAD_FLOWS || !load->sending)
		return MRC_ERR_STATE;
	if (bytes == 0)
		return MRC_ERR_INVAL;
	if (load->flows_free.nb == 0)
		return MRC_ERR_FULL;
	index = ring_pop(&load->flows_free);
	load->flows[index] =
		(struct load_flow){.tag = tag, .bytes = bytes, .unsent = bytes, .start_ns = now_ns};
	ring_push(&load->flows_queued, index);
	return MRC_OK;
}

bool mrc_load_flow_poll(struct mrc_load *load, struct mrc_load_flow_done *done_out)
{
	const struct load_flow *flow;
	uint32_t index;

	if (load->flows_done.nb == 0)
		return false;
	index = ring_pop(&load->flows_done);
	flow = &load->flows[index];
	*done_out = (struct mrc_load_flow_done){
		.tag = flow->tag,
		.bytes = flow->bytes,
		.start_ns = flow->start_ns,
		.end_ns = flow->end_ns,
		.failed = flow->failed,
	};
	ring_push(&load->flows_free, index);
	return true;
}

/* Whether a part of the flow is posted on the QP of which the peer has placed so many messages. */
static bool part_missing(
	const struct mrc_load *load, const struct load_qp *lq, uint64_t placed, uint64_t tag)
{
	uint64_t message = lq->tx_message - lq->nb_msgs;

	for (uint32_t i = 0; i < lq->nb_msgs; i++, message++) {
		const struct load_msg *msg = &lq->msgs[(lq->msg_at + i) % load->cfg.depth];

		if (message >= placed && msg->flow != LOAD_NO_FLOW &&
			load->flows[msg->flow].tag == tag)
			return true;
	}
	return false;
}

bool mrc_load_flow_placed(const struct mrc_load *load, const struct mrc_load *peer, uint64_t tag)
{
	for (uint32_t i = 0; i < load->flows_free.size; i++) {
		const struct load_flow *flow = &load->flows[i];

		if (flow->tag == tag &&
			(flow->unsent > 0 || (flow->outstanding > 0 && flow->failed)))
			return false;
	}
	for (uint32_t i = 0; i < load->cfg.nb_qps; i++)
		if (part_missing(load, &load->qps[i], peer->qps[i].placed, tag))
			return false;
	return true;
}

static void flow_end(struct mrc_load *load, uint32_t index)
{
	load->flows[index].end_ns = load->now_ns;
	ring_push(&load->flows_done, index);
}

static void flow_progress(struct mrc_load *load, int32_t index, bool failed)
{
	struct load_flow *flow;

	if (index == LOAD_NO_FLOW)
		return;
	flow = &load->flows[index];
	flow->outstanding--;
	flow->failed = flow->failed || failed;
	if (flow->outstanding == 0 && flow->unsent == 0)
		flow_end(load, (uint32_t)index);
}

/* No QP is left: what waits will never go. */
static void fail_queued_flows(struct mrc_load *load)
{
	while (load->flows_queued.nb > 0) {
		uint32_t index = ring_pop(&load->flows_queued);
		struct load_flow *flow = &load->flows[index];

		flow->failed = true;
		flow->unsent = 0;
		if (flow->outstanding == 0)
			flow_end(load, index);
	}
}

/* ---- completions */

static void fail_qp(struct mrc_load *load, struct load_qp *lq)
{
	if (lq->failed)
		return;
	lq->failed = true;
	load->result.qps_failed++;
}

/* The oldest outstanding message ends. */
static void end_oldest(struct mrc_load *load, struct load_qp *lq, enum mrc_wc_status status)
{
	const struct load_msg *msg = &lq->msgs[lq->msg_at];
	struct mrc_load_result *result = &load->result;

	lq->msg_at = lq->msg_at + 1 == load->cfg.depth ? 0 : lq->msg_at + 1;
	lq->nb_msgs--;
	load->outstanding--;
	if (status == MRC_WC_SUCCESS) {
		result->tx_messages++;
		result->tx_bytes += msg->len;
		mrc_hist_add(&load->latency, load->now_ns - msg->due_ns);
		load_bin_add(load, load->tx_bins, msg->len);
		ring_push(&load->credits, lq->id);
	} else {
		result->tx_errors[status]++;
		fail_qp(load, lq);
	}
	result->last_tx_ns = load->now_ns;
	flow_progress(load, msg->flow, status != MRC_WC_SUCCESS);
}

static void take_completion(struct mrc_load *load, const struct mrc_sched_wc *wc)
{
	struct load_qp *lq = mrc_sched_qp_ctx(wc->qp);

	MRC_ASSERT(lq->load == load && lq->nb_msgs > 0);
	if (wc->wr_id != lq->tx_message - lq->nb_msgs)
		load->result.tx_misordered++;
	end_oldest(load, lq, (enum mrc_wc_status)wc->status);
}

void sender_complete(struct mrc_load *load)
{
	struct mrc_sched_wc wc[LOAD_WC_BATCH];
	uint32_t n;

	do {
		n = mrc_sched_cq_poll(load->sched, load->send_cq, wc, LOAD_WC_BATCH);
		for (uint32_t i = 0; i < n; i++)
			take_completion(load, &wc[i]);
	} while (n == LOAD_WC_BATCH);
}

/* ---- posting */

static int post(struct mrc_load *load, struct load_qp *lq, uint64_t message, uint32_t slot,
	const struct plan *plan)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	uint64_t from = cfg->source_once ? plan->offset : mrc_load_pattern_at(lq->id, message);
	uint64_t to = cfg->source_once
			      ? plan->offset
			      : ((uint64_t)lq->id * cfg->nb_slots + slot) * load->peer_slot_len;
	struct mrc_sched_sge sge = {
		.addr = (uint64_t)(uintptr_t)cfg->source + from,
		.len = plan->len,
		.lkey = load->source_mr.key,
	};
	struct mrc_sched_send_wr wr = {
		.wr_id = message,
		.sges = &sge,
		.nb_sge = 1,
		.flags = MRC_SEND_SIGNALED,
		.raddr = load->peer_va + to,
		.rkey = load->peer_rkey,
	};

	if (cfg->imm_pct == 0 || load_random(load) % 100 >= cfg->imm_pct)
		return mrc_sched_post_write(load->sched, lq->qp, &wr);
	for (int i = 0; i < 4; i++)
		wr.imm[i] = (uint8_t)(message >> (24 - 8 * i));
	return mrc_sched_post_write_imm(load->sched, lq->qp, &wr);
}

static void note_posted(struct mrc_load *load, struct load_qp *lq, const struct plan *plan)
{
	uint32_t at = lq->msg_at + lq->nb_msgs;

	if (at >= load->cfg.depth)
		at -= load->cfg.depth;
	lq->msgs[at] =
		(struct load_msg){.due_ns = plan->due_ns, .len = plan->len, .flow = plan->flow};
	lq->nb_msgs++;
	lq->tx_message++;
	lq->slot = lq->slot + 1 == load->cfg.nb_slots ? 0 : lq->slot + 1;
	load->outstanding++;
	load->posted_bytes += plan->len;
	if (load->result.tx_posted++ == 0)
		load->result.first_tx_ns = load->now_ns;
}

/* A QP that may post, or NULL. */
static struct load_qp *take_credit(struct mrc_load *load)
{
	while (load->credits.nb > 0) {
		struct load_qp *lq = &load->qps[ring_pop(&load->credits)];

		if (!lq->failed)
			return lq;
	}
	return NULL;
}

/* When the next message is due; UINT64_MAX: there is none. */
static uint64_t next_due(const struct mrc_load *load)
{
	if (load->cfg.pacing == MRC_LOAD_FLOWS)
		return load->flows_queued.nb > 0 ? load->now_ns : UINT64_MAX;
	if (open_loop(&load->cfg))
		return load->result.start_ns + (uint64_t)load->due_ns;
	return load->now_ns;
}

/* Posts one message on a QP that has room. A refusal costs the QP, not the run. */
static void post_one(struct mrc_load *load, struct load_qp *lq)
{
	struct plan plan = plan_next(load);

	if (post(load, lq, lq->tx_message, lq->slot, &plan) == MRC_OK) {
		note_posted(load, lq, &plan);
		return;
	}
	load->result.post_errors++;
	fail_qp(load, lq);
	if (plan.flow != LOAD_NO_FLOW)
		flow_progress(load, plan.flow, true);
}

int sender_resume(struct mrc_load *load, struct load_qp *lq, uint64_t placed)
{
	uint64_t message = lq->tx_message - lq->nb_msgs;

	if (placed < message || placed > lq->tx_message)
		return MRC_ERR_INVAL;
	for (; message < placed; message++)
		end_oldest(load, lq, MRC_WC_SUCCESS);
	for (uint32_t i = 0; i < lq->nb_msgs; i++, message++) {
		const struct load_msg *msg = &lq->msgs[(lq->msg_at + i) % load->cfg.depth];
		const struct plan plan = {.len = msg->len};
		int err = post(load, lq, message, (uint32_t)(message % load->cfg.nb_slots), &plan);

		if (err != MRC_OK)
			return err;
	}
	return MRC_OK;
}

uint64_t sender_post(struct mrc_load *load)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	uint64_t due;

	for (uint32_t n = 0; n < LOAD_POST_BATCH; n++) {
		struct load_qp *lq;

		if (limits_reached(load))
			load->sending = false;
		if (load->result.qps_failed == cfg->nb_qps)
			fail_queued_flows(load);
		due = load->sending || cfg->pacing == MRC_LOAD_FLOWS ? next_due(load) : UINT64_MAX;
		if (due > load->now_ns)
			break;
		lq = take_credit(load);
		if (lq == NULL) {
			due = UINT64_MAX; /* a completion comes first */
			break;
		}
		post_one(load, lq);
		due = load->now_ns;
	}
	if (load->sending && cfg->duration_ns != 0 &&
		load->result.start_ns + cfg->duration_ns < due)
		due = load->result.start_ns + cfg->duration_ns;
	return due;
}
