/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.c - one endpoint: its engines (one per worker), the handover between them, and a NIC that
 * pulls from them while every port is nearly idle.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum {
	MAX_QPS = 4096, /* of an engine */
};

static uint64_t host_random64(void *ctx)
{
	struct sim_host *h = ctx;

	return sim_random(h->rng);
}

/* ---- create */

static void engine_cfg(struct sim_host *h, uint32_t worker, struct mrc_sched_cfg *cfg)
{
	const struct scenario *sc = h->sim->sc;
	uint32_t conns = h->nb_conns != 0 ? h->nb_conns : 1;
	uint32_t qps = conns * sc->load.qps;

	mrc_sched_cfg_default(cfg);
	cfg->proto = &sc->proto;
	cfg->worker = worker;
	cfg->nb_workers = sc->host.workers;
	cfg->nb_planes = sc->fabric.planes;
	for (uint32_t p = 0; p < cfg->nb_planes; p++)
		memcpy(cfg->planes[p].mac,
			(uint8_t[]){
				2, (uint8_t)p, 0, 0, (uint8_t)(h->index >> 8), (uint8_t)h->index},
			6);
	cfg->max_qps = qps;
	cfg->max_cqs = 2 * conns;
	cfg->max_mrs = 2 * conns * cfg->nb_workers; /* keys are shared out to the workers */
	cfg->max_pds = conns;
	cfg->max_peers = conns;
	cfg->window_psns = qps * sc->host.mpr * MRC_MPR_UNIT;
	cfg->sent_psns = qps * sc->host.mpr * MRC_MPR_UNIT + 2 * MRC_MPR_UNIT;
	cfg->queue_entries = qps * (8 * sc->load.depth + 64);
	cfg->nacks_per_us = sc->host.nacks_per_us;
	cfg->probes = sc->host.probes;
	cfg->icrc = sc->load.verify != MRC_LOAD_VERIFY_NONE;
	cfg->strict_echo = sc->host.strict_echo;
	cfg->timestamps = sc->host.timestamps;
	cfg->dynamic_mpr = sc->host.dynamic_mpr;
	cfg->hooks.placed = mrc_load_placed;
}

static void engines_create(struct sim_host *h)
{
	uint64_t qps = (uint64_t)h->nb_conns * h->sim->sc->load.qps;

	if (qps > MAX_QPS) {
		sim_fail(h->sim,
			"load.qps: %u: host %u has %u connections, thus %llu queue pairs of at "
			"most %d; give fewer",
			h->sim->sc->load.qps, h->index, h->nb_conns, (unsigned long long)qps,
			MAX_QPS);
		return;
	}
	for (uint32_t w = 0; w < h->sim->sc->host.workers; w++) {
		struct mrc_sched_cfg cfg;
		int err;

		engine_cfg(h, w, &cfg);
		err = mrc_sched_create(&cfg, &h->env, &h->sched[w]);
		if (err != MRC_OK) {
			sim_fail(h->sim, "engine of host %u: %s: %s", h->index, mrc_err_name(err),
				mrc_err_text(err));
			return;
		}
	}
}

void sim_hosts_create(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		struct sim_host *h = &sim->hosts[i];

		h->up = (1u << sim->sc->fabric.planes) - 1;
		sim_handover_create(h);
		sim_seed(h->rng, sim_random(sim->rng));
		sim_env_init(&h->env, h, host_random64);
		if (sim->trace != NULL)
			h->env.trace = sim_trace;
		if (sim->sc->transport == SIM_MRC && sim->failure[0] == '\0')
			engines_create(h);
	}
}

/* ---- receive */

void sim_frame_view(struct sim *sim, const struct mrc_fabric_pkt *pkt, struct mrc_rxbuf *buf)
{
	buf->data = pkt->data;
	buf->len = pkt->wire_len > pkt->len ? pkt->wire_len : pkt->len;
	if (pkt->wire_len <= pkt->len)
		return;
	memcpy(sim->scratch, pkt->data, pkt->len);
	buf->data = sim->scratch;
}

/* Shows one frame to a worker; false: it belongs to worker *owner_out. */
static bool show(struct sim_host *h, uint32_t worker, const struct mrc_fabric_pkt *pkt,
	const struct mrc_rxbuf *buf, uint32_t *owner_out)
{
	struct mrc_rx_verdict verdict;

	mrc_sched_rx(h->sched[worker], h->sim->now_ns, buf, 1, &verdict);
	h->sim->stats.engine_rx++;
	if (verdict.kind == MRC_RX_FOREIGN_WORKER) {
		*owner_out = verdict.arg;
		return false;
	}
	sim_churn_judge(h, pkt->ref, buf, &verdict);
	sim_block_put(&h->sim->pool, pkt->ref);
	return true;
}

/* A frame reaches the worker that owns its QP. */
static void to_owner(
	struct sim_host *h, uint32_t worker, uint32_t plane, const struct mrc_fabric_pkt *pkt)
{
	struct mrc_rxbuf buf = {.plane = (uint8_t)plane};

	sim_frame_view(h->sim, pkt, &buf);
	if (!show(h, worker, pkt, &buf, &worker))
		sim_fail(h->sim, "a packet was handed over twice");
}

/* Receive side scaling sees the flow, which changes with every packet. */
static void to_engine(struct sim_host *h, uint32_t plane, const struct mrc_fabric_pkt *pkt)
{
	uint32_t nb = h->sim->sc->host.workers, worker = 0;
	struct mrc_rxbuf buf = {.plane = (uint8_t)plane};

	sim_frame_view(h->sim, pkt, &buf);
	if (nb > 1)
		worker = (uint32_t)(buf.data[buf.len > 60 ? 55 : 0] * 31u + plane) % nb;
	if (show(h, worker, pkt, &buf, &worker))
		return;
	h->sim->stats.handovers++;
	if (!sim_handover_put(h, worker, plane, pkt))
		to_owner(h, worker, plane, pkt);
}

static void handed_over(struct sim_host *h)
{
	struct mrc_fabric_pkt pkt;
	uint32_t plane;

	for (uint32_t w = 0; w < h->sim->sc->host.workers; w++) {
		while (sim_handover_get(h, w, &plane, &pkt))
			to_owner(h, w, plane, &pkt);
	}
}

void sim_host_rx(struct sim_host *h, uint32_t plane, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = h->sim;
	uint64_t id = (uint64_t)h->index << 40 | (uint64_t)plane << 32 | pkt->wire_len;

	sim_hash(sim, id);
	for (uint32_t i = 14; i + 8 <= pkt->len && i < 94; i += 8) {
		uint64_t word;

		memcpy(&word, pkt->data + i, 8);
		sim_hash(sim, word);
	}
	if (pkt->flags & MRC_FABRIC_PKT_CORRUPT) {
		sim->stats.virtual_corrupt++;
		sim_churn_lost(sim, pkt->ref);
		sim_block_put(&sim->pool, pkt->ref);
	} else {
		if (sim->repair != NULL)
			sim_repair_came(h, pkt);
		to_engine(h, plane, pkt);
	}
}

void sim_host_carrier(struct sim_host *h, uint32_t plane, bool up)
{
	if (up)
		h->up |= 1u << plane;
	else
		h->up &= ~(1u << plane);
	if (h->sim->sc->transport != SIM_MRC)
		return;
	for (uint32_t w = 0; w < h->sim->sc->host.workers; w++)
		mrc_sched_plane_set(
			h->sched[w], h->sim->now_ns, plane, up ? MRC_PLANE_UP : MRC_PLANE_DOWN);
}

/* ---- send */

/*
 * When the host pulls again: a port has nothing left to send, and none holds as many frames as its
 * ring has room for. The engine says over which plane a packet goes, so frames for the others are
 * pulled on the way to the one that is wanted. With one plane this keeps the port exact.
 */
static uint64_t nic_ready_ns(const struct sim_host *h)
{
	const struct sim_fabric *f = &h->sim->sc->fabric;
	uint64_t first = UINT64_MAX, last = 0, ring_ns = 0;

	for (uint32_t p = 0; p < f->planes; p++) {
		if (!(h->up >> p & 1))
			continue;
		first = h->port_free_ns[p] < first ? h->port_free_ns[p] : first;
		last = h->port_free_ns[p] > last ? h->port_free_ns[p] : last;
	}
	if (h->up == 0)
		return 0;
	if (f->rate_bps != 0)
		ring_ns = (uint64_t)h->sim->sc->host.nic_packets * scenario_packet_len(h->sim->sc) *
			  8000 / (f->rate_bps / 1000000 + 1);
	return last > first + ring_ns ? last - ring_ns : first;
}

static void emit(struct sim_host *h, const struct mrc_txbuf *tx, struct sim_block *block)
{
	struct sim *sim = h->sim;
	struct mrc_fabric_pkt pkt = {.data = block->bytes, .ref = block};

	if (sim->sc->load.verify == MRC_LOAD_VERIFY_NONE && tx->payload_len != 0) {
		pkt.len = tx->hdr_len;
		pkt.wire_len = (uint32_t)tx->hdr_len + tx->payload_len + tx->pad + MRC_ICRC_LEN;
	} else {
		pkt.len = mrc_txbuf_finish(tx, sim->sc->load.verify != MRC_LOAD_VERIFY_NONE);
		pkt.wire_len = pkt.len;
	}
	sim_hash(sim, (uint64_t)h->index << 40 | (uint64_t)tx->plane << 32 | pkt.wire_len);
	sim->stats.engine_tx++;
	sim_churn_sent(sim, h->index, &pkt);
	if (sim->repair != NULL)
		sim_repair_left(h, &pkt);
	mrc_fabric_send(sim->fabric, sim->now_ns, h->index, tx->plane, &pkt);
	h->port_free_ns[tx->plane] =
		mrc_fabric_port_free_ns(sim->fabric, sim->now_ns, h->index, tx->plane);
}

/* One packet from the workers in turn; false when none has any. */
static bool pull(struct sim_host *h)
{
	struct sim *sim = h->sim;
	uint32_t nb = sim->sc->host.workers;
	struct sim_block *block = sim_block_get(&sim->pool);

	if (block == NULL) {
		sim_fail(sim, "out of packet buffers, raise \"packets\" of the fabric");
		return false;
	}
	for (uint32_t i = 0; i < nb; i++) {
		uint32_t w = (h->turn + i) % nb;
		struct mrc_txbuf tx = {.hdr = block->bytes};

		if (mrc_sched_tx(h->sched[w], sim->now_ns, &tx, 1) == 0)
			continue;
		h->turn = w + 1;
		emit(h, &tx, block);
		return true;
	}
	sim_block_put(&sim->pool, block);
	return false;
}

static void send_all(struct sim_host *h)
{
	uint64_t ready_ns = nic_ready_ns(h);

	while (ready_ns <= h->sim->now_ns && h->sim->failure[0] == '\0') {
		if (!pull(h))
			return;
		ready_ns = nic_ready_ns(h);
	}
	sim_wake_at(h->sim, h, ready_ns);
}

/* ---- act */

static void expire(struct sim_host *h)
{
	for (uint32_t w = 0; w < h->sim->sc->host.workers; w++) {
		/* Bounded: each call handles something or moves the deadline. */
		while (mrc_sched_next_deadline(h->sched[w]) <= h->sim->now_ns)
			mrc_sched_expire(h->sched[w], h->sim->now_ns);
	}
}

/* Polls the loads until none wants more at this instant; returns when one does. */
static uint64_t poll_loads(struct sim_host *h)
{
	struct sim *sim = h->sim;
	uint64_t next_ns = SIM_NEVER;

	for (int side = 0; side < 2; side++) {
		for (uint32_t c = h->conns[side]; c != UINT32_MAX;
			c = sim->conns[c].next_of[side]) {
			struct mrc_load *load = side == 0 ? sim->conns[c].tx : sim->conns[c].rx;
			uint64_t t = mrc_load_poll(load, sim->now_ns);

			for (int i = 0; t <= sim->now_ns && i < 100000; i++)
				t = mrc_load_poll(load, sim->now_ns);
			next_ns = t < next_ns ? t : next_ns;
		}
	}
	return next_ns;
}

void sim_host_act(struct sim_host *h)
{
	struct sim *sim = h->sim;
	uint64_t wake_ns;

	if (sim->now_ns < h->paused_until) {
		sim_wake_at(sim, h, h->paused_until);
		return;
	}
	if (sim->sc->transport == SIM_RC) {
		sim_wake_at(sim, h, rc_act(h));
		return;
	}
	handed_over(h);
	expire(h);
	wake_ns = poll_loads(h);
	sim_flows_collect(h);
	send_all(h);
	for (uint32_t w = 0; w < sim->sc->host.workers; w++) {
		uint64_t t = mrc_sched_next_deadline(h->sched[w]);

		wake_ns = t < wake_ns ? t : wake_ns;
	}
	sim_wake_at(sim, h, sim_handover_next(h));
	sim_wake_at(sim, h, wake_ns);
}
