/* SPDX-License-Identifier: BSD-2-Clause */
/* net.c - the fabric, its faults and the paths through it, as the scenario describes them. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct mrc_gid sim_gid(const struct sim *sim, uint32_t host)
{
	struct mrc_gid gid = {{0}};

	if (sim->sc->host.v4) {
		gid.raw[10] = gid.raw[11] = 0xFF;
		gid.raw[12] = 10;
		gid.raw[13] = (uint8_t)(host >> 16);
	} else {
		gid.raw[0] = 0xFD;
	}
	gid.raw[14] = (uint8_t)(host >> 8);
	gid.raw[15] = (uint8_t)host;
	return gid;
}

uint32_t sim_gid_host(const struct sim *sim, const struct mrc_gid *gid)
{
	uint32_t high = sim->sc->host.v4 ? gid->raw[13] : 0;

	return high << 16 | (uint32_t)gid->raw[14] << 8 | gid->raw[15];
}

/* ---- buffers of the fabric */

static void op_free(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = ctx;

	sim_churn_lost(sim, pkt->ref);
	sim_block_put(&sim->pool, pkt->ref);
}

static bool op_clone(void *ctx, const struct mrc_fabric_pkt *pkt, struct mrc_fabric_pkt *copy_out)
{
	struct sim *sim = ctx;
	struct sim_block *b = sim_block_get(&sim->pool);

	if (b == NULL)
		return false;
	*copy_out = *pkt;
	copy_out->data = b->bytes;
	copy_out->ref = b;
	memcpy(b->bytes, pkt->data, pkt->len);
	sim_churn_copied(sim, b, pkt->ref);
	return true;
}

static uint32_t op_tailroom(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	const struct sim *sim = ctx;
	const struct sim_block *b = pkt->ref;

	return (uint32_t)(b->bytes + sim->pool.room - (pkt->data + pkt->len));
}

/* ---- links */

static void link_overrides(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->sc->fabric.nb_links; i++) {
		const struct sim_link *o = &sim->sc->fabric.links[i];

		for (uint32_t l = mrc_fabric_link_next(sim->fabric, &o->where, UINT32_MAX);
			l != UINT32_MAX; l = mrc_fabric_link_next(sim->fabric, &o->where, l)) {
			struct mrc_fabric_link_cfg cfg;

			mrc_fabric_link_get(sim->fabric, l, &cfg);
			cfg.rate_bps = o->has_rate ? o->rate_bps : cfg.rate_bps;
			cfg.delay_ns = o->has_delay ? o->delay_ns : cfg.delay_ns;
			cfg.trim_len = o->has_trim ? o->trim_len : cfg.trim_len;
			cfg.drop_len = o->has_drop ? o->drop_len : cfg.drop_len;
			cfg.ecn_min_len = o->has_ecn_min ? o->ecn_min_len : cfg.ecn_min_len;
			cfg.ecn_max_len = o->has_ecn_max ? o->ecn_max_len : cfg.ecn_max_len;
			mrc_fabric_link_set(sim->fabric, l, &cfg);
		}
	}
}

static void fabric_cfg(struct sim *sim, struct mrc_fabric_cfg *c)
{
	const struct sim_fabric *f = &sim->sc->fabric;

	mrc_fabric_cfg_default(c, &sim->sc->proto, f->rate_bps, f->delay_ns);
	for (int cls = 0; cls < MRC_FABRIC_NB_CLASSES; cls++)
		scenario_link(sim->sc, (enum mrc_fabric_link_class)cls, &c->links[cls]);
	c->nb_planes = f->planes;
	c->nb_leaves = f->leaves;
	c->nb_spines = f->spines;
	c->hosts_per_leaf = f->hosts_per_leaf;
	c->cut_through = f->cut_through;
	c->overhead_len = (int32_t)f->overhead_len;
	c->switch_ns = f->switch_ns;
	c->forward = f->forward;
	c->reroute = f->reroute;
	c->stev_shift = (uint8_t)f->stev_shift;
	c->stev_width = (uint8_t)f->stev_width;
	c->srv6_decap = f->srv6_decap;
	c->trim_who = f->trim_who;
	c->trim_size = f->trim_size;
	c->trim_keep_lengths = f->trim_keep_lengths;
	c->max_faults = 1 + sim->sc->nb_faults + (sim->sc->storm.every_ns != 0 ? SIM_MAX_STORM : 0);
	c->hosts_apart = sim->apart;
	c->seed = sim_random(sim->rng);
	/* A window of half as many packets again as fit into a round trip, over all planes. */
	c->max_packets = f->max_packets;
	if (c->max_packets == 0) {
		double bdp = (double)f->planes * (double)f->rate_bps / 8e9 *
			     (double)scenario_rtt_ns(sim->sc) / scenario_packet_len(sim->sc);

		bdp = bdp < 64 ? 64 : bdp > 4096 ? 4096 : bdp;
		c->max_packets = (uint32_t)(3 * bdp) * sim->nb_hosts + 4096;
	}
}

static void add_faults(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->sc->nb_faults; i++) {
		uint32_t handle;
		int err = mrc_fabric_fault_add(sim->fabric, 0, &sim->sc->faults[i].fault, &handle);

		if (err != MRC_OK)
			sim_fail(
				sim, "faults[%u]: %s: %s", i, mrc_err_name(err), mrc_err_text(err));
	}
}

void sim_net_create(struct sim *sim)
{
	struct mrc_fabric_ops ops = {.ctx = sim,
		.free = op_free,
		.clone = op_clone,
		.tailroom = op_tailroom,
		.tap = sim_tap};
	struct mrc_fabric_addr *addrs = sim_alloc(sim->nb_hosts * sizeof(*addrs));
	struct mrc_fabric_cfg c;
	uint32_t room = SIM_HDR_ROOM;
	int err;

	sim->apart = sim_window_may(sim);
	fabric_cfg(sim, &c);
	for (uint32_t h = 0; h < sim->nb_hosts; h++)
		addrs[h] = (struct mrc_fabric_addr){sim_gid(sim, h), h};
	c.addrs = addrs;
	c.nb_addrs = c.max_addrs = sim->nb_hosts;
	err = mrc_fabric_create(&c, &sim->env, &ops, &sim->fabric);
	free(addrs);
	if (err != MRC_OK) {
		sim_fail(sim, "fabric: %s: %s", mrc_err_name(err), mrc_err_text(err));
		return;
	}
	if (sim->sc->load.verify != MRC_LOAD_VERIFY_NONE || sim->sc->transport == SIM_RC)
		room += sim->sc->host.pmtu;
	sim_pool_init(&sim->pool, room, c.max_packets + 1024ull);
	link_overrides(sim);
	add_faults(sim);
	sim->lookahead_ns = sim->apart ? mrc_fabric_lookahead_ns(sim->fabric) : 1;
	if (sim->lookahead_ns == 0)
		sim->lookahead_ns = 1;
}

/* ---- paths */

/* The uSID list over a spine: own leaf, spine, far leaf, its downlink. */
static void usid_list(
	const struct sim *sim, uint32_t src, uint32_t dst, uint32_t spine, struct mrc_ev *ev)
{
	uint32_t per_leaf = sim->sc->fabric.hosts_per_leaf;
	uint32_t ids[4], nb = 0, block = 0xFCBBBB00u + ev->plane;

	ids[nb++] = 0x1000 + src / per_leaf;
	if (src / per_leaf != dst / per_leaf) {
		ids[nb++] = 0x2000 + spine;
		ids[nb++] = 0x1000 + dst / per_leaf;
	}
	ids[nb++] = 0x4000 + dst % per_leaf;
	memset(ev->srv6_dst, 0, sizeof(ev->srv6_dst));
	for (int i = 0; i < 4; i++)
		ev->srv6_dst[i] = (uint8_t)(block >> (24 - 8 * i));
	for (uint32_t i = 0; i < nb; i++) {
		ev->srv6_dst[4 + 2 * i] = (uint8_t)(ids[i] >> 8);
		ev->srv6_dst[5 + 2 * i] = (uint8_t)ids[i];
	}
}

/* Structured and source-routed values name their spine: every one in turn, from a random one on. */
static void route_values(
	struct sim *sim, uint32_t src, uint32_t dst, struct mrc_ev *evs, uint32_t nb)
{
	const struct sim_fabric *f = &sim->sc->fabric;
	uint32_t spines = f->spines != 0 ? f->spines : 1;
	uint32_t first = (uint32_t)(sim_random(sim->rng) % spines);

	for (uint32_t i = 0; i < nb; i++) {
		uint32_t spine = (first + i / f->planes) % spines;

		if (sim->sc->ev.mode == MRC_EV_MODE_SRV6)
			usid_list(sim, src, dst, spine, &evs[i]);
		if (f->forward == MRC_FABRIC_STEV) {
			uint32_t mask = f->stev_width >= 32 ? ~0u : (1u << f->stev_width) - 1;

			evs[i].value = (evs[i].value & ~(mask << f->stev_shift)) |
				       (spine & mask) << f->stev_shift;
		}
	}
}

static bool value_taken(const struct mrc_ev *evs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (evs[i].value == evs[n].value && evs[i].plane == evs[n].plane)
			return true;
	}
	return false;
}

/* Forcing a field may have made two values of a plane equal. */
static void make_distinct(struct sim *sim, struct mrc_ev *evs, uint32_t nb)
{
	const struct sim_fabric *f = &sim->sc->fabric;
	uint32_t mask = f->stev_width >= 32 ? ~0u : (1u << f->stev_width) - 1;
	uint32_t bits = sim->sc->ev.mode == MRC_EV_MODE_UDP ? 0xFFFFu : ~0u;

	if (f->forward != MRC_FABRIC_STEV)
		return;
	for (uint32_t i = 0; i < nb; i++) {
		for (int tries = 0; tries < 100000 && value_taken(evs, i); tries++) {
			uint32_t random = (uint32_t)sim_random(sim->rng) & bits;

			evs[i].value = (evs[i].value & (mask << f->stev_shift)) |
				       (random & ~(mask << f->stev_shift));
		}
	}
}

struct mrc_ev_set *sim_ev_create(struct sim *sim, uint32_t src, uint32_t dst, bool single)
{
	const struct sim_ev *ev = &sim->sc->ev;
	uint32_t nb = single ? 1 : ev->count + ev->spares;
	struct mrc_ev *evs = sim_alloc(nb * sizeof(*evs));
	struct mrc_ev_set *set = NULL;
	struct mrc_ev_cfg cfg;
	int err;

	mrc_ev_cfg_default(&cfg);
	mrc_ev_generate(evs, nb, single ? 1 : (uint8_t)sim->sc->fabric.planes, ev->mode, &sim->env);
	route_values(sim, src, dst, evs, nb);
	make_distinct(sim, evs, nb);
	cfg.mode = ev->mode;
	cfg.evs = evs;
	cfg.nb_evs = nb;
	cfg.nb_active = single ? 0 : ev->count;
	cfg.min_active = single ? 0 : ev->min_active;
	cfg.nb_planes = (uint8_t)sim->sc->fabric.planes;
	cfg.skip_ns = ev->skip_ns != 0 ? ev->skip_ns : scenario_rtt_ns(sim->sc);
	cfg.skip_max_ns =
		ev->skip_max_ns != SIM_EV_SKIPS ? ev->skip_max_ns : MRC_EV_SKIPS * cfg.skip_ns;
	cfg.probe_ns = ev->probe_ns != 0 ? ev->probe_ns : cfg.probe_ns;
	cfg.probe_max_ns = ev->probe_max_ns != 0 ? ev->probe_max_ns : cfg.probe_max_ns;
	if (cfg.probe_max_ns < cfg.probe_ns)
		cfg.probe_max_ns = cfg.probe_ns;
	cfg.revive_count = (uint8_t)ev->revive;
	err = mrc_ev_create(&cfg, &sim->hosts[src].env, &set);
	free(evs);
	if (err != MRC_OK)
		sim_fail(sim, "ev: %s: %s", mrc_err_name(err), mrc_err_text(err));
	return set;
}
