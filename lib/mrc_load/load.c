/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - life of a load: create, connect, poll, destroy; what both roles share. */
#include <stddef.h>
#include <string.h>

#include "load.h"

void load_bin_add(struct mrc_load *load, uint64_t *bins, uint64_t bytes)
{
	uint64_t bin = (load->now_ns - load->result.start_ns) / MRC_LOAD_BIN_NS;

	if (bin >= load->cfg.nb_bins)
		bin = load->cfg.nb_bins - 1;
	bins[bin] += bytes;
	if (bin >= load->result.nb_bins)
		load->result.nb_bins = (uint32_t)bin + 1;
}

/* ---- create and destroy */

/* The load and everything it ever needs, in one block. */
struct layout {
	size_t qps, msgs, tx_bins, rx_bins, flows, lens, credits, backlog, flow_rings, size;
};

static size_t reserve(size_t *size, size_t bytes)
{
	size_t at = *size;

	*size = (at + bytes + 63) & ~(size_t)63;
	return at;
}

static struct layout layout_of(const struct mrc_load_cfg *cfg)
{
	size_t flows = cfg->pacing == MRC_LOAD_FLOWS ? cfg->max_flows : 0;
	size_t nb_qps = cfg->nb_qps;
	struct layout at = {0};

	reserve(&at.size, sizeof(struct mrc_load));
	at.qps = reserve(&at.size, nb_qps * sizeof(struct load_qp));
	at.msgs = reserve(&at.size, nb_qps * cfg->depth * sizeof(struct load_msg));
	at.tx_bins = reserve(&at.size, cfg->nb_bins * sizeof(uint64_t));
	at.rx_bins = reserve(&at.size, cfg->nb_bins * sizeof(uint64_t));
	at.flows = reserve(&at.size, flows * sizeof(struct load_flow));
	at.lens = reserve(&at.size, nb_qps * cfg->nb_slots * sizeof(uint32_t));
	at.credits = reserve(&at.size, nb_qps * cfg->depth * sizeof(uint32_t));
	at.backlog = reserve(&at.size, nb_qps * sizeof(uint32_t));
	at.flow_rings = reserve(&at.size, 3 * flows * sizeof(uint32_t));
	return at;
}

static void assign(struct mrc_load *load, const struct layout *at)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	uint8_t *mem = (uint8_t *)load;
	uint32_t flows = cfg->pacing == MRC_LOAD_FLOWS ? cfg->max_flows : 0;
	uint32_t *rings = (uint32_t *)(mem + at->flow_rings);

	load->qps = (struct load_qp *)(mem + at->qps);
	load->tx_bins = (uint64_t *)(mem + at->tx_bins);
	load->rx_bins = (uint64_t *)(mem + at->rx_bins);
	load->flows = (struct load_flow *)(mem + at->flows);
	load->credits =
		(struct load_ring){(uint32_t *)(mem + at->credits), cfg->nb_qps * cfg->depth};
	load->backlog = (struct load_ring){(uint32_t *)(mem + at->backlog), cfg->nb_qps};
	load->flows_free = (struct load_ring){rings, flows};
	load->flows_queued = (struct load_ring){rings + flows, flows};
	load->flows_done = (struct load_ring){rings + 2 * flows, flows};
	for (uint32_t i = 0; i < flows; i++)
		ring_push(&load->flows_free, i);
	for (uint32_t i = 0; i < cfg->nb_qps; i++) {
		struct load_qp *lq = &load->qps[i];

		lq->load = load;
		lq->id = i;
		lq->msgs = (struct load_msg *)(mem + at->msgs) + (size_t)i * cfg->depth;
		lq->lens = (uint32_t *)(mem + at->lens) + (size_t)i * cfg->nb_slots;
	}
}

static int register_memory(struct mrc_load *load)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	int err = MRC_OK;

	if (cfg->roles & MRC_LOAD_SENDER) {
		load->source_mr = (struct mrc_sched_mr){
			.pd = load->pd,
			.addr = cfg->source,
			.iova = (uint64_t)(uintptr_t)cfg->source,
			.len = cfg->source_len,
		};
		err = mrc_sched_mr_reg(load->sched, &load->source_mr);
		if (err != MRC_OK)
			load->source_mr.addr = NULL;
	}
	if (err == MRC_OK && (cfg->roles & MRC_LOAD_RECEIVER)) {
		load->region_mr = (struct mrc_sched_mr){
			.pd = load->pd,
			.access = MRC_ACCESS_LOCAL_WRITE | MRC_ACCESS_REMOTE_WRITE,
			.addr = cfg->region,
			.iova = LOAD_REGION_VA,
			.len = cfg->region_len,
		};
		err = mrc_sched_mr_reg(load->sched, &load->region_mr);
		if (err != MRC_OK)
			load->region_mr.addr = NULL;
	}
	return err;
}

static int create_qp(struct mrc_load *load, struct load_qp *lq)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	struct mrc_sched_qp_cfg qp_cfg = {
		.pd = load->pd,
		.send_cq = load->send_cq,
		.recv_cq = load->recv_cq,
		.sq_depth = cfg->depth,
		.rq_depth = 2 * cfg->depth,
		.max_sge = 1,
		.sq_sig_all = true,
		.ctx = lq,
	};

	lq->psn = (uint32_t)load_random(load) & 0xFFFFFF;
	return mrc_sched_qp_create(load->sched, &qp_cfg, &lq->qp);
}

static int create_qps(struct mrc_load *load)
{
	for (uint32_t i = 0; i < load->cfg.nb_qps; i++) {
		int err = create_qp(load, &load->qps[i]);

		if (err != MRC_OK)
			return err;
		load->nb_created++;
	}
	return MRC_OK;
}

/* In this order, so that destroy knows by the first object missing what there is to undo. */
static int create_objects(struct mrc_load *load)
{
	uint32_t entries = load->cfg.nb_qps * load->cfg.depth;
	int err = mrc_sched_pd_create(load->sched, &load->pd);

	if (err != MRC_OK)
		return err;
	err = mrc_sched_cq_create(load->sched, entries, &load->send_cq);
	if (err == MRC_OK)
		err = mrc_sched_cq_create(load->sched, 2 * entries, &load->recv_cq);
	if (err == MRC_OK)
		err = register_memory(load);
	if (err == MRC_OK)
		err = create_qps(load);
	if (err != MRC_OK && load->send_cq == NULL)
		mrc_sched_pd_destroy(load->sched, load->pd);
	return err;
}

int mrc_load_create(const struct mrc_load_cfg *cfg, struct mrc_sched *sched,
	const struct mrc_env *env, struct mrc_load **load_out)
{
	struct mrc_load_cfg full = *cfg;
	struct mrc_load *load;
	struct layout at;
	int err = mrc_load_cfg_check(cfg, NULL);

	if (err != MRC_OK)
		return err;
	full.nb_slots = load_nb_slots(cfg);
	if (full.nb_bins == 0)
		full.nb_bins = 6000;
	at = layout_of(&full);
	load = env->alloc(env->ctx, at.size, 64);
	if (load == NULL)
		return MRC_ERR_NOMEM;
	load->cfg = full;
	if (cfg->sizes != NULL) {
		load->sizes = *cfg->sizes;
		load->cfg.sizes = &load->sizes;
	}
	load->sched = sched;
	load->env = *env;
	load->mem_size = at.size;
	load->rng = env->random64(env->ctx);
	load->slot_len = load_slot_len(cfg);
	load->expected = UINT64_MAX;
	assign(load, &at);
	load->result.latency = &load->latency;
	load->result.tx_bins = load->tx_bins;
	load->result.rx_bins = load->rx_bins;
	err = create_objects(load);
	if (err != MRC_OK) {
		mrc_load_destroy(load, 0);
		return err;
	}
	*load_out = load;
	return MRC_OK;
}

void mrc_load_destroy(struct mrc_load *load, uint64_t now_ns)
{
	if (load == NULL)
		return;
	for (uint32_t i = 0; i < load->nb_created; i++)
		mrc_sched_qp_destroy(load->sched, now_ns, load->qps[i].qp);
	if (load->source_mr.addr != NULL)
		mrc_sched_mr_dereg(load->sched, load->source_mr.key);
	if (load->region_mr.addr != NULL)
		mrc_sched_mr_dereg(load->sched, load->region_mr.key);
	if (load->recv_cq != NULL)
		mrc_sched_cq_destroy(load->sched, load->recv_cq);
	if (load->send_cq != NULL) {
		mrc_sched_cq_destroy(load->sched, load->send_cq);
		mrc_sched_pd_destroy(load->sched, load->pd);
	}
	load->env.free(load->env.ctx, load, load->mem_size);
}

/* ---- connect */

/* spec */
void mrc_load_offer(const struct mrc_load *load, struct mrc_load_offer *offer_out)
{
	const struct mrc_load_cfg *cfg = &load->cfg;
	struct mrc_load_offer offer = {
		.gid = cfg->attr.local,
		.nb_qps = cfg->nb_qps,
		.pmtu = cfg->attr.pmtu,
		.mpr = cfg->attr.mpr_dest,
		.wimm = cfg->attr.max_wimm_dest,
		.dynamic_mpr = cfg->attr.dynamic_mpr,
		.trim_nack = cfg->attr.trim_nack_peer,
		.svc_time = cfg->attr.svc_time_peer,
		.slot_len = load->slot_len,
		.nb_slots = cfg->nb_slots,
		.depth = cfg->depth,
		.seed = cfg->seed,
	};

	if (cfg->roles & MRC_LOAD_RECEIVER) {
		offer.rkey = load->region_mr.key;
		offer.va = load->region_mr.iova;
		offer.region_len = cfg->region_len;
	}
	for (uint32_t i = 0; i < cfg->nb_qps; i++) {
		offer.qpn[i] = mrc_sched_qp_num(load->qps[i].qp);
		offer.psn[i] = load->qps[i].psn;
		offer.placed[i] = load->qps[i].placed;
	}
	*offer_out = offer;
}

/* Name of what the two sides disagree about, or NULL. */
static const char *disagreement(const struct mrc_load *load, const struct mrc_load_offer *peer)
{
	const struct mrc_load_cfg *cfg = &load->cfg;

	if (peer->nb_qps != cfg->nb_qps)
		return "nb_qps";
	if (peer->depth != cfg->depth)
		return "depth";
	if (peer->pmtu < MRC_PMTU_MIN || peer->pmtu > MRC_PMTU_MAX ||
		(peer->pmtu & (peer->pmtu - 1)))
		return "pmtu";
	if (peer->mpr == 0 || peer->mpr > MRC_MPR_LIMIT)
		return "mpr";
	if (peer->wimm > UINT16_MAX)
		return "wimm";
	if (!(cfg->roles & MRC_LOAD_SENDER))
		return NULL;
	if (cfg->source_once)
		return peer->region_len < cfg->source_len ? "region_len" : NULL;
	if (peer->seed != cfg->seed)
		return "seed";
	if (peer->nb_slots != cfg->nb_slots)
		return "nb_slots";
	if (peer->slot_len < load_max_message(cfg) || (peer->slot_len & 63) ||
		peer->slot_len > UINT32_MAX)
		return "slot_len";
	if (peer->region_len < peer->slot_len * peer->nb_slots * peer->nb_qps)
		return "region_len";
	return NULL;
}

static int connect_qp(struct mrc_load *load, const struct mrc_load_offer *peer,
	struct mrc_ev_set *ev_set, uint32_t i)
{
	struct mrc_sched_qp_attr attr = load->cfg.attr;
	struct load_qp *lq = &load->qps[i];
	int err;

	attr.ev_set = ev_set;
	attr.peer = peer->gid;
	attr.dest_qpn = peer->qpn[i];
	attr.rq_psn = mrc_psn(peer->psn[i]);
	attr.sq_psn = mrc_psn(lq->psn);
	attr.pmtu = peer->pmtu < attr.pmtu ? peer->pmtu : attr.pmtu;
	attr.mpr = (uint8_t)peer->mpr;
	attr.max_wimm = (uint16_t)peer->wimm;
	attr.dynamic_mpr = attr.dynamic_mpr && peer->dynamic_mpr;
	attr.trim_nack_peer = peer->trim_nack;
	attr.svc_time_peer = peer->svc_time;
	for (int state = MRC_QP_INIT; state <= MRC_QP_RTS; state++) {
		err = mrc_sched_qp_modify(
			load->sched, load->now_ns, lq->qp, (enum mrc_qp_state)state, &attr);
		if (err != MRC_OK)
			return err;
	}
	return MRC_OK;
}

int mrc_load_connect(struct mrc_load *load, uint64_t now_ns, const struct mrc_load_offer *peer,
	struct mrc_ev_set *ev_set, const char **key_out)
{
	const char *key = disagreement(load, peer);

	if (key != NULL) {
		if (key_out != NULL)
			*key_out = key;
		return MRC_ERR_INVAL;
	}
	load->now_ns = now_ns;
	if (!load->renewed)
		load->result.start_ns = now_ns;
	load->peer_rkey = peer->rkey;
	load->peer_va = peer->va;
	load->peer_slot_len = peer->slot_len;
	for (uint32_t i = 0; i < load->cfg.nb_qps; i++) {
		int err = connect_qp(load, peer, ev_set, i);

		if (err == MRC_OK && load->renewed && (load->cfg.roles & MRC_LOAD_SENDER))
			err = sender_resume(load, &load->qps[i], peer->placed[i]);
		if (err != MRC_OK) {
			if (key_out != NULL)
				*key_out = "qp";
			return err;
		}
	}
	return load->cfg.roles & MRC_LOAD_RECEIVER ? receiver_start(load) : MRC_OK;
}

int mrc_load_renew(struct mrc_load *load, uint64_t now_ns)
{
	int err = MRC_OK;

	if (load->cfg.source_once || load->cfg.region_once)
		return MRC_ERR_INVAL;
	for (uint32_t i = 0; i < load->cfg.nb_qps; i++)
		if (mrc_sched_qp_state(load->qps[i].qp) != MRC_QP_RTS)
			return MRC_ERR_STATE;
	load->now_ns = now_ns;
	load->renewed = true;
	/* Completions that were not polled yet would go with their QP. */
	if (load->cfg.roles & MRC_LOAD_RECEIVER)
		receiver_complete(load);
	if (load->cfg.roles & MRC_LOAD_SENDER)
		sender_complete(load);
	for (uint32_t i = 0; i < load->cfg.nb_qps && err == MRC_OK; i++) {
		mrc_sched_qp_destroy(load->sched, now_ns, load->qps[i].qp);
		err = create_qp(load, &load->qps[i]);
	}
	return err;
}

/* ---- run */

void mrc_load_start(struct mrc_load *load, uint64_t now_ns)
{
	load->started = true;
	load->now_ns = now_ns;
	load->result.start_ns = now_ns;
	if (load->cfg.roles & MRC_LOAD_SENDER)
		sender_start(load);
}

uint64_t mrc_load_poll(struct mrc_load *load, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	load->now_ns = now_ns;
	if (load->cfg.roles & MRC_LOAD_RECEIVER)
		next = receiver_poll(load);
	if (load->started && (load->cfg.roles & MRC_LOAD_SENDER)) {
		uint64_t at;

		sender_complete(load);
		at = sender_post(load);
		next = at < next ? at : next;
	}
	return next;
}

uint64_t mrc_load_rx_bytes(const struct mrc_load *load)
{
	return load->result.rx_bytes;
}

bool mrc_load_done(const struct mrc_load *load)
{
	if ((load->cfg.roles & MRC_LOAD_SENDER) && !sender_done(load))
		return false;
	return !(load->cfg.roles & MRC_LOAD_RECEIVER) || receiver_done(load);
}

void mrc_load_result(const struct mrc_load *load, struct mrc_load_result *result_out)
{
	*result_out = load->result;
}

struct mrc_sched_qp *mrc_load_qp(const struct mrc_load *load, uint32_t i)
{
	return load->qps[i].qp;
}
