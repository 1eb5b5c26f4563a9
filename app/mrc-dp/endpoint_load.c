/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint_load.c - engines and loads of an endpoint. */
#include <stdio.h>
#include <string.h>

#include "endpoint_private.h"

/* ---- loads --------------------------------------------------------------------------------------
 */

/* Share of item `index` when `total` is dealt out over `nb`. */
static uint64_t share(uint64_t total, uint32_t nb, uint32_t index)
{
	return total / nb + (index < total % nb);
}

static void attr_fill(
	const struct mrc_cfg *cfg, const struct mrc_gid *local, struct mrc_sched_qp_attr *attr)
{
	attr->local = *local;
	attr->cc = &cfg->cc.nscc;
	attr->pmtu = cfg->pmtu;
	attr->ttl = (uint8_t)cfg->qp.ttl;
	attr->mpr_dest = (uint8_t)cfg->qp.mpr;
	attr->timeout = (uint8_t)cfg->qp.timeout;
	attr->linear_cnt = (uint8_t)cfg->qp.linear_cnt;
	attr->exp_cnt = (uint8_t)cfg->qp.exp_cnt;
	attr->per_packet_timers = cfg->qp.per_packet_timers;
}

static void load_cfg(const struct mrc_endpoint *ep, uint32_t load, struct mrc_load_cfg *out)
{
	const struct mrc_workload *wl = &ep->workload;

	mrc_load_cfg_default(out);
	attr_fill(ep->cfg, &ep->ep->address, &out->attr);
	out->roles =
		(ep->is_sender ? MRC_LOAD_SENDER : 0) | (ep->is_receiver ? MRC_LOAD_RECEIVER : 0);
	out->nb_qps = (uint32_t)share(wl->cfg.nb_qps, wl->nb_loads, load);
	out->depth = wl->cfg.depth;
	out->nb_slots = wl->cfg.nb_slots;
	out->seed = wl->cfg.seed;
	out->verify = wl->cfg.verify;
	out->size = (uint32_t)wl->cfg.msg_len;
	out->pacing = wl->cfg.pacing;
	out->rate_bps = (double)wl->cfg.rate_bps / wl->nb_loads;
	out->imm_pct = (uint8_t)wl->cfg.imm_pct;
	out->count = share(wl->cfg.nb_msgs, wl->nb_loads, load);
	out->duration_ns = wl->cfg.duration_ns;
	if (wl->file_len == 0)
		return;
	out->count = out->duration_ns = 0;
	out->source_once = ep->is_sender;
	out->region_once = ep->is_receiver;
}

static int source_open(struct mrc_endpoint *ep, char *reason)
{
	const struct mrc_workload *wl = &ep->workload;
	struct mrc_load_cfg cfg;
	int err;

	if (!ep->is_sender)
		return MRC_OK;
	if (wl->file_len)
		return mrc_area_map(&ep->source, wl->cfg.file, wl->file_len, false, NULL, reason);
	load_cfg(ep, 0, &cfg);
	err = mrc_area_alloc(&ep->source, (mrc_load_source_len(&cfg) + 7) & ~7ull, reason);
	if (!err)
		mrc_load_pattern_fill(wl->cfg.seed, ep->source.mem, ep->source.len);
	return err;
}

static int region_open(struct mrc_endpoint *ep, uint32_t load, char *reason)
{
	const struct mrc_workload *wl = &ep->workload;
	struct mrc_load_cfg cfg;

	if (!ep->is_receiver)
		return MRC_OK;
	if (wl->file_len && wl->cfg.store[0])
		return mrc_area_map(
			&ep->regions[load], wl->cfg.store, wl->file_len, true, ep->spared, reason);
	load_cfg(ep, load, &cfg);
	return mrc_area_alloc(&ep->regions[load],
		wl->file_len ? wl->file_len : mrc_load_region_len(&cfg), reason);
}

static int load_create(struct mrc_endpoint *ep, uint32_t load, char *reason)
{
	uint32_t index;
	struct mrc_worker *w = mrc_endpoint_load_worker(ep, load, &index);
	const char *key = "?";
	struct mrc_load_cfg cfg;
	int err = region_open(ep, load, reason);

	if (err)
		return err;
	load_cfg(ep, load, &cfg);
	if (ep->is_sender) {
		cfg.source = ep->source.mem;
		cfg.source_len = ep->source.len;
	}
	if (ep->is_receiver) {
		cfg.region = ep->regions[load].mem;
		cfg.region_len = ep->regions[load].len;
	}
	if (mrc_load_cfg_check(&cfg, &key) != MRC_OK)
		return mrc_refuse(reason, "workload: %s is out of range for this workload", key);
	err = mrc_load_create(&cfg, w->sched, &w->osenv.env, &w->loads[index]);
	if (err)
		return mrc_refuse(
			reason, "workload: cannot create the load: %s", mrc_err_text(err));
	w->nb_loads = index + 1;
	return MRC_OK;
}

/* ---- engines
 * -------------------------------------------------------------------------------------- */

uint32_t mrc_endpoint_nacks_per_us(const struct mrc_cfg *cfg)
{
	const uint64_t most = 1000; /* what the engine takes */
	uint64_t nb = 1 + cfg->cc.rate_bps / 1000000 / (8ull * cfg->pmtu);

	return (uint32_t)(nb < most ? nb : most);
}

static void engine_cfg(const struct mrc_endpoint *ep, uint32_t worker, struct mrc_sched_cfg *out)
{
	const struct mrc_cfg *cfg = ep->cfg;
	uint32_t nb_qps = 0, nb_loads = 0, psns;

	mrc_sched_cfg_default(out);
	out->proto = &cfg->proto;
	out->worker = worker;
	out->nb_workers = ep->ep->nb_workers;
	out->nb_planes = ep->ep->nb_planes;
	for (uint32_t p = 0; p < out->nb_planes; p++) {
		const struct mrc_cfg_plane *plane = &ep->ep->planes[p];

		memcpy(out->planes[p].mac, ep->ports[p].mac, sizeof(out->planes[p].mac));
		out->planes[p].vlan = plane->vlan_set;
		out->planes[p].vlan_tci = (uint16_t)(plane->vlan_prio << 13 | plane->vlan);
		out->planes[p].mtu = ep->ports[p].mtu;
	}
	out->queue_entries = 0;
	for (uint32_t i = worker; i < ep->workload.nb_loads; i += ep->ep->nb_workers) {
		struct mrc_load_cfg load;

		load_cfg(ep, i, &load);
		nb_qps += load.nb_qps;
		out->queue_entries += mrc_load_queue_entries(&load);
		nb_loads++;
	}
	nb_loads = nb_loads ? nb_loads : 1;
	nb_qps = nb_qps ? nb_qps : 1;
	/* The arena deals in powers of two, aligned to their size: leave room for its gaps. */
	out->queue_entries = 2 * out->queue_entries + 1024;
	out->max_qps = nb_qps;
	out->max_cqs = 2 * nb_qps + 2 * nb_loads;
	/* Each worker registers in its own share of the table. */
	out->max_mrs = 4 * nb_loads * out->nb_workers;
	out->max_pds = 2 * nb_loads;
	out->max_peers = 8;
	/* What every QP may have under way, bounded for very many of them. */
	psns = 8192 / nb_qps ? 8192 / nb_qps : 1;
	psns = nb_qps * RTE_MIN(cfg->qp.mpr, psns) * MRC_MPR_UNIT;
	psns = RTE_MAX(psns, cfg->qp.mpr * MRC_MPR_UNIT);
	out->window_psns = cfg->window_psns ? RTE_ALIGN_CEIL(cfg->window_psns, 128u) : psns;
	out->sent_psns = cfg->sent_psns ? RTE_ALIGN_CEIL(cfg->sent_psns, 128u) : psns;
	if (cfg->cc.rate_bps != 0)
		out->nacks_per_us = mrc_endpoint_nacks_per_us(cfg);
	out->icrc = cfg->icrc;
	out->strict_echo = cfg->strict_echo;
	out->timestamps = cfg->timestamps;
	out->access_errors = cfg->engine.access_errors;
	out->parked_imms = cfg->engine.parked_imms;
	out->back_pressure = cfg->engine.back_pressure;
	out->probes = cfg->engine.probes;
	out->loss_by_distance = cfg->engine.loss_by_distance;
	out->hooks.placed = mrc_load_placed;
}

/* Values of a plane take its paths in turn, so that each carries an equal share. */
static void paths_set(const struct mrc_cfg_endpoint *ep, struct mrc_ev *evs, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const struct mrc_cfg_plane *plane = &ep->planes[evs[i].plane];
		const uint32_t path = i / ep->nb_planes % plane->nb_paths;

		memcpy(evs[i].srv6_dst, plane->paths[path].raw, sizeof(evs[i].srv6_dst));
	}
}

static int ev_create(struct mrc_endpoint *ep, struct mrc_worker *w)
{
	const struct mrc_cfg_ev *ev = &ep->cfg->ev;
	const uint32_t nb_planes = ep->ep->nb_planes;
	static const uint32_t room = MRC_EV_MAX;
	struct mrc_ev *evs = mrc_osmem_alloc(room * sizeof(*evs));
	struct mrc_ev_cfg cfg;
	int err;

	if (evs == NULL)
		return MRC_ERR_NOMEM;
	mrc_ev_cfg_default(&cfg);
	mrc_ev_generate(
		evs, ev->nb_per_plane * nb_planes, (uint8_t)nb_planes, ev->mode, &w->osenv.env);
	if (ev->mode == MRC_EV_MODE_SRV6)
		paths_set(ep->ep, evs, ev->nb_per_plane * nb_planes);
	cfg.mode = ev->mode;
	cfg.evs = evs;
	cfg.nb_evs = ev->nb_per_plane * nb_planes;
	cfg.nb_active = ev->nb_active * nb_planes;
	cfg.min_active = ev->min_active;
	cfg.nb_planes = (uint8_t)nb_planes;
	cfg.skip_ns = ev->skip_ns;
	cfg.skip_max_ns = ev->skip_max_ns;
	cfg.probe_ns = ev->probe_ns;
	cfg.probe_max_ns = ev->probe_max_ns;
	cfg.revive_count = (uint8_t)ev->revive_count;
	err = mrc_ev_create(&cfg, &w->osenv.env, &w->ev_set);
	mrc_osmem_free(evs, room * sizeof(*evs));
	return err;
}

static int engine_create(struct mrc_endpoint *ep, uint32_t worker, char *reason)
{
	struct mrc_worker *w = ep->workers[worker];
	struct mrc_sched_cfg cfg;
	int err;

	engine_cfg(ep, worker, &cfg);
	err = mrc_sched_create(&cfg, &w->osenv.env, &w->sched);
	if (!err)
		err = ev_create(ep, w);
	if (err)
		return mrc_refuse(reason,
			"endpoints[%u]: cannot create the engine for %u QPs: %s; lower \"qps\" or "
			"\"qp.mpr\"",
			ep->index, cfg.max_qps,
			err == MRC_ERR_INVAL ? "that is more than one takes" : mrc_err_text(err));
	for (uint32_t p = 0; p < w->nb_planes; p++) {
		w->planes[p].up = ep->ports[p].link_up;
		mrc_sched_plane_set(
			w->sched, 0, p, ep->ports[p].link_up ? MRC_PLANE_UP : MRC_PLANE_DOWN);
		if (w->l2 && ep->ports[p].link_up)
			mrc_l2_announce(&w->l2[p]);
	}
	return MRC_OK;
}

int mrc_endpoint_build(
	struct mrc_endpoint *ep, const struct mrc_workload *workload, char *reason_out)
{
	int err;

	ep->workload = *workload;
	ep->is_sender = workload->cfg.role == MRC_CFG_REQUESTER || workload->cfg.bidirectional;
	ep->is_receiver = workload->cfg.role == MRC_CFG_RESPONDER || workload->cfg.bidirectional;
	err = source_open(ep, reason_out);
	for (uint32_t w = 0; w < ep->ep->nb_workers && !err; w++)
		err = engine_create(ep, w, reason_out);
	for (uint32_t i = 0; i < workload->nb_loads && !err; i++)
		err = load_create(ep, i, reason_out);
	return err;
}

void mrc_endpoint_offer(
	const struct mrc_endpoint *ep, uint32_t load, struct mrc_load_offer *offer_out)
{
	uint32_t index;
	const struct mrc_worker *w = mrc_endpoint_load_worker(ep, load, &index);

	mrc_load_offer(w->loads[index], offer_out);
}

/* Every worker knows the peer's link addresses; worker 0 asks for those that nobody told. */
static int peer_begin(struct mrc_endpoint *ep, const struct mrc_gid *peer, const uint8_t (*macs)[6])
{
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		const uint8_t *mac = macs ? macs[p] : NULL;
		int err = MRC_OK;

		for (uint32_t n = 0; n < ep->ep->nb_neighbours; n++)
			if (ep->ep->neighbours[n].plane == p &&
				mrc_gid_eq(&ep->ep->neighbours[n].address, peer))
				mac = ep->ep->neighbours[n].mac;
		if (mac == NULL)
			err = mrc_l2_neigh_want(&ep->l2[p], 0, peer);
		else
			err = mrc_l2_neigh_static(&ep->l2[p], peer, mac);
		for (uint32_t w = 0; w < ep->ep->nb_workers && !err; w++) {
			ep->workers[w]->peer = *peer;
			ep->workers[w]->has_mac[p] = mac != NULL;
			err = mrc_sched_peer_set(ep->workers[w]->sched, peer, p, mac);
		}
		if (err)
			return err;
	}
	return MRC_OK;
}

int mrc_endpoint_connect(struct mrc_endpoint *ep, uint32_t load, const struct mrc_load_offer *peer,
	const uint8_t (*macs)[6], char *reason_out)
{
	uint32_t index;
	struct mrc_worker *w = mrc_endpoint_load_worker(ep, load, &index);
	const char *key = "?";
	int err = load == 0 ? peer_begin(ep, &peer->gid, macs) : MRC_OK;

	if (!err)
		err = mrc_load_connect(w->loads[index], 0, peer, w->ev_set, &key);
	if (err)
		return mrc_refuse(reason_out,
			"workload: the two ends do not agree on %s (%s); use the same value at "
			"both",
			key, mrc_err_text(err));
	return MRC_OK;
}

bool mrc_endpoint_hurt(const struct mrc_endpoint *ep, char *reason_out)
{
	const struct mrc_cfg_workload *wl = &ep->workload.cfg;

	if (mrc_area_is_hurt(&ep->source))
		mrc_refuse(reason_out, "workload.file: somebody cut \"%s\" short while it was sent",
			wl->file);
	else if (mrc_area_is_hurt(&ep->regions[0]))
		mrc_refuse(reason_out,
			"workload.store: somebody cut \"%s\" short while it was written",
			wl->store);
	else
		return false;
	return true;
}

void mrc_endpoint_unbuild(struct mrc_endpoint *ep)
{
	for (uint32_t i = 0; i < ep->ep->nb_workers; i++) {
		struct mrc_worker *w = ep->workers[i];

		if (w == NULL)
			continue;
		for (uint32_t l = 0; l < w->nb_loads; l++)
			mrc_load_destroy(w->loads[l], w->last_ns);
		w->nb_loads = 0;
		if (w->sched)
			mrc_sched_destroy(w->sched);
		w->sched = NULL;
		if (w->ev_set)
			mrc_ev_destroy(w->ev_set);
		w->ev_set = NULL;
	}
	mrc_area_free(&ep->source);
	for (uint32_t i = 0; i < MRC_ENDPOINT_MAX_LOADS; i++)
		mrc_area_free(&ep->regions[i]);
}
