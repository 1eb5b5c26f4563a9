/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_check.c - what one key of a scenario alone cannot tell. */
#include <stdio.h>
#include <string.h>

#include "scenario_private.h"

enum {
	MAX_HOSTS = 65536,
	MAX_LINKS = 1 << 22,
	NACKS_MAX = 1000, /* per microsecond, of an engine */
};

/* ---- places */

static int where_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc, const char *array,
	uint32_t i, const struct mrc_fabric_where *where)
{
	const struct mrc_ctl_shape shape = {
		sc->fabric.planes, sc->fabric.leaves, sc->fabric.spines, scenario_nb_hosts(sc)};
	int32_t index;
	uint32_t nb;
	const char *part = mrc_ctl_where_check(where, &shape, &index, &nb);
	char key[96];

	if (part != NULL) {
		snprintf(key, sizeof(key), "%s[%u].%s", array, i, part);
		if (nb == 0)
			return mrc_ctl_fail_key(
				ctx, key, "%d: the fabric has none, leave it out", index);
		return mrc_ctl_fail_key(
			ctx, key, "%d: is not there, the fabric has 0 .. %u", index, nb - 1);
	}
	if (mrc_ctl_where_selects(where, &shape))
		return MRC_OK;
	snprintf(key, sizeof(key), "%s[%u]", array, i);
	return mrc_ctl_fail_key(ctx, key, MRC_CTL_NO_LINK);
}

static int host_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc, const char *array,
	uint32_t i, const char *name, uint32_t host)
{
	char key[96];

	if (host < scenario_nb_hosts(sc))
		return MRC_OK;
	snprintf(key, sizeof(key), "%s[%u].%s", array, i, name);
	return mrc_ctl_fail_key(ctx, key, "%u: is not there, the fabric has 0 .. %u", host,
		scenario_nb_hosts(sc) - 1);
}

/* ---- fabric */

static int extent_check(struct mrc_ctl_ctx *ctx, const struct sim_fabric *f)
{
	uint64_t hosts = (uint64_t)f->leaves * f->hosts_per_leaf;
	uint64_t links = 2ull * f->planes * (hosts + (uint64_t)f->leaves * f->spines);

	if (hosts > MAX_HOSTS)
		return mrc_ctl_fail_key(ctx, "fabric.hosts_per_leaf",
			"%u: that is %llu hosts, at most %d have addresses; take fewer leaves or "
			"hosts",
			f->hosts_per_leaf, (unsigned long long)hosts, MAX_HOSTS);
	if (links > MAX_LINKS)
		return mrc_ctl_fail_key(ctx, "fabric.spines",
			"%u: that is %llu links, at most %d fit; take fewer planes, leaves or "
			"spines",
			f->spines, (unsigned long long)links, MAX_LINKS);
	return MRC_OK;
}

static int queue_check(struct mrc_ctl_ctx *ctx, const char *array, int i,
	const struct mrc_fabric_link_cfg *l, uint32_t packet)
{
	char at[64], key[80];

	snprintf(at, sizeof(at), i < 0 ? "%s" : "%s[%d]", array, i);
	snprintf(key, sizeof(key), "%s.ecn_min", at);
	if (l->ecn_max_len != 0 && l->ecn_min_len > l->ecn_max_len)
		return mrc_ctl_fail_key(ctx, key,
			"marking begins at %u bytes and is certain at %u, give ecn_min <= ecn_max",
			l->ecn_min_len, l->ecn_max_len);
	snprintf(key, sizeof(key), "%s.drop_at", at);
	if (l->drop_len != 0 && l->trim_len > l->drop_len)
		return mrc_ctl_fail_key(ctx, key,
			"a queue trims above %u bytes and drops above %u, give trim_at <= drop_at",
			l->trim_len, l->drop_len);
	if (l->drop_len != 0 && l->drop_len < packet)
		return mrc_ctl_fail_key(ctx, key,
			"a queue of %u bytes holds no packet of %u, give more for drop_at",
			l->drop_len, packet);
	return MRC_OK;
}

static int queues_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	static const enum mrc_fabric_link_class classes[] = {
		MRC_FABRIC_HOST_DOWN, MRC_FABRIC_LEAF_UP};
	uint32_t packet = scenario_packet_len(sc);
	struct mrc_fabric_link_cfg l;
	int err = MRC_OK;

	for (size_t i = 0; i < 2 && err == MRC_OK; i++) {
		scenario_link(sc, classes[i], &l);
		err = queue_check(ctx, "fabric", -1, &l, packet);
	}
	for (uint32_t i = 0; i < sc->fabric.nb_links && err == MRC_OK; i++) {
		const struct sim_link *o = &sc->fabric.links[i];

		l.ecn_min_len = o->has_ecn_min && o->has_ecn_max ? o->ecn_min_len : 0;
		l.ecn_max_len = o->ecn_max_len;
		l.trim_len = o->has_trim && o->has_drop ? o->trim_len : 0;
		l.drop_len = o->has_drop ? o->drop_len : 0;
		err = queue_check(ctx, "fabric.links", (int)i, &l, packet);
	}
	return err;
}

static int fabric_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	const struct sim_fabric *f = &sc->fabric;
	int err = extent_check(ctx, f);

	if (err == MRC_OK && f->stev_shift + f->stev_width > 32 && f->stev_shift != 0)
		err = mrc_ctl_fail_key(ctx, "fabric.stev_width",
			"%u: from bit %u on only %u are left, give less", f->stev_width,
			f->stev_shift, 32 - f->stev_shift);
	if (err == MRC_OK && f->forward == MRC_FABRIC_STEV && f->stev_width < 16 &&
		f->spines > 1u << f->stev_width)
		err = mrc_ctl_fail_key(ctx, "fabric.stev_width",
			"%u: cannot name %u spines, give more bits", f->stev_width, f->spines);
	if (err == MRC_OK)
		err = queues_check(ctx, sc);
	for (uint32_t i = 0; err == MRC_OK && i < f->nb_links; i++)
		err = where_check(ctx, sc, "fabric.links", i, &f->links[i].where);
	return err;
}

/* ---- endpoints */

/* Values of a plane that differ, when some bits of them name a spine. */
static uint64_t ev_capacity(const struct scenario *sc)
{
	const struct sim_fabric *f = &sc->fabric;
	uint32_t bits = sc->ev.mode == MRC_EV_MODE_UDP ? 16 : 32;
	uint32_t end = f->stev_shift + f->stev_width < bits ? f->stev_shift + f->stev_width : bits;
	uint32_t field = end > f->stev_shift ? end - f->stev_shift : 0;

	return (uint64_t)(f->spines != 0 ? f->spines : 1) << (bits - field);
}

static int ev_room_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	const struct sim_fabric *f = &sc->fabric;
	uint32_t nb = (sc->ev.count + sc->ev.spares + f->planes - 1) / f->planes;

	if (f->forward != MRC_FABRIC_STEV)
		return MRC_OK;
	if (sc->ev.mode == MRC_EV_MODE_UDP && f->stev_shift + f->stev_width > 16)
		return mrc_ctl_fail_key(ctx, "ev.mode",
			"\"udp\": its 16 bits end below stev_shift %u and stev_width %u, give less "
			"or \"stev\"",
			f->stev_shift, f->stev_width);
	if (nb > ev_capacity(sc))
		return mrc_ctl_fail_key(ctx, "ev.count",
			"%u: only %llu values of a plane differ beside the bits that name %u "
			"spines, give fewer, or another ev.mode, or less for stev_width",
			sc->ev.count, (unsigned long long)ev_capacity(sc), f->spines);
	return MRC_OK;
}

static int ev_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	const struct sim_ev *ev = &sc->ev;

	if (ev->mode == MRC_EV_MODE_SRV6 && (sc->fabric.forward != MRC_FABRIC_SRV6 || sc->host.v4))
		return mrc_ctl_fail_key(ctx, "ev.mode",
			"\"srv6\": such paths need \"forward\": \"srv6\" in the fabric and IPv6 "
			"hosts");
	if (ev->count % sc->fabric.planes != 0)
		return mrc_ctl_fail_key(ctx, "ev.count",
			"%u: %u planes need equal shares, give a multiple of that", ev->count,
			sc->fabric.planes);
	if (ev->count + ev->spares > MRC_EV_MAX)
		return mrc_ctl_fail_key(ctx, "ev.spares", "%u: at most %u values in all, give %u",
			ev->spares, MRC_EV_MAX, MRC_EV_MAX - ev->count);
	if (ev->min_active > ev->count)
		return mrc_ctl_fail_key(ctx, "ev.min_active",
			"%u: there are only %u active values, give at most that", ev->min_active,
			ev->count);
	if (ev->probe_max_ns != 0 && ev->probe_max_ns < ev->probe_ns)
		return mrc_ctl_fail_key(ctx, "ev.probe_max",
			"%llu ns: is shorter than the first interval, %llu ns; give more",
			(unsigned long long)ev->probe_max_ns, (unsigned long long)ev->probe_ns);
	return ev_room_check(ctx, sc);
}

static int cc_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	struct mrc_nscc_cfg cfg;
	const char *key = "?";
	char path[64];

	if (!sc->cc.on || sc->transport != SIM_MRC)
		return MRC_OK;
	scenario_cc(sc, &cfg);
	if (mrc_nscc_cfg_check(&cfg, &key) == MRC_OK)
		return MRC_OK;
	if (strcmp(key, "base_rtt") == 0)
		return mrc_ctl_fail_key(ctx, "cc.base_rtt",
			"%u ns: must be 500 to 1000000; set it, or change the fabric's delays",
			cfg.base_rtt_ns);
	if (strcmp(key, "max_cwnd") == 0)
		return mrc_ctl_fail_key(ctx, "cc.max_cwnd",
			"%u bytes: must be 1 to 32640 packets of %u", cfg.max_cwnd, cfg.mtu);
	if (strcmp(key, "target_delay") == 0)
		return mrc_ctl_fail_key(ctx, "cc.target_delay",
			"%u ns: must be 128 to %u, four round trips", cfg.target_delay_ns,
			4 * cfg.base_rtt_ns);
	if (strcmp(key, "qa_threshold") == 0)
		return mrc_ctl_fail_key(ctx, "cc.qa_threshold",
			"%u ns: must be the target_delay, %u, or more", cfg.qa_threshold_ns,
			cfg.target_delay_ns);
	snprintf(path, sizeof(path), "cc.%s", key);
	return mrc_ctl_fail_key(ctx, path, "does not fit a round trip of %u ns, change one of them",
		cfg.base_rtt_ns);
}

static void defaults(struct scenario *sc)
{
	uint64_t nacks = 1 + sc->fabric.rate_bps / 1000000 * sc->fabric.planes /
				     (8ull * scenario_packet_len(sc));

	if (sc->host.nacks_per_us == SIM_AUTO)
		sc->host.nacks_per_us = nacks < NACKS_MAX ? (uint32_t)nacks : NACKS_MAX;
}

/* ---- what goes wrong */

static int faults_check(struct mrc_ctl_ctx *ctx, struct scenario *sc)
{
	int err = MRC_OK;

	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_faults; i++) {
		struct mrc_fabric_fault *f = &sc->faults[i].fault;

		/* Times in a scenario count from the start of the run. */
		f->start_ns = sc->faults[i].at_ns;
		f->end_ns = sc->faults[i].for_ns != 0 ? f->start_ns + sc->faults[i].for_ns : 0;
		err = where_check(ctx, sc, "faults", i, &f->where);
		if (err == MRC_OK && f->match.fields & MRC_FABRIC_MATCH_SRC)
			err = host_check(ctx, sc, "faults", i, "src", f->match.src);
		if (err == MRC_OK && f->match.fields & MRC_FABRIC_MATCH_DST)
			err = host_check(ctx, sc, "faults", i, "dst", f->match.dst);
	}
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_pauses; i++)
		err = host_check(ctx, sc, "pauses", i, "host", sc->pauses[i].host);
	return err;
}

static int handovers_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	int err = MRC_OK;

	if (sc->nb_handovers != 0 && sc->host.workers < 2)
		return mrc_ctl_fail_key(ctx, "handovers",
			"a single worker hands nothing over, give \"workers\" of the host 2 or "
			"more");
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_handovers; i++) {
		const struct sim_handover *o = &sc->handovers[i];
		char key[48];

		if (o->host != SIM_EVERY_HOST)
			err = host_check(ctx, sc, "handovers", i, "host", o->host);
		snprintf(key, sizeof(key), "handovers[%u]", i);
		if (err == MRC_OK && o->delay_ns == 0 && o->depth == UINT32_MAX)
			err = mrc_ctl_fail_key(
				ctx, key, "changes nothing, give \"delay\" or \"depth\"");
	}
	return err;
}

static int storm_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	if (sc->storm.every_ns != 0 && sc->fabric.spines == 0 &&
		sc->storm.kinds != 1u << SIM_STORM_PORT)
		return mrc_ctl_fail_key(
			ctx, "storm.kinds", "there are no uplinks without spines, give [\"port\"]");
	return MRC_OK;
}

static int rc_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	if (sc->transport != SIM_RC)
		return MRC_OK;
	if (sc->load.mode != SIM_FLOWS)
		return mrc_ctl_fail_key(
			ctx, "transport", "\"rc\": only knows mode \"flows\", set load.mode");
	if (sc->churn.every_ns != 0)
		return mrc_ctl_fail_key(
			ctx, "churn", "transport \"rc\" has no queue pairs to renew, leave it out");
	if (sc->run.waits)
		return mrc_ctl_fail_key(ctx, "run.waits",
			"true: transport \"rc\" does not tell what it waits for, leave it out");
	return MRC_OK;
}

static int waits_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	if (sc->run.waits && sc->run.sample_ns == 0)
		return mrc_ctl_fail_key(
			ctx, "run.waits", "true: is counted at every sample, give run.sample");
	return MRC_OK;
}

static int expect_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->nb_expect; i++) {
		const struct sim_expect *e = &sc->expect[i];
		char key[48];

		snprintf(key, sizeof(key), "expect[%u]", i);
		if (!e->has_min && !e->has_max)
			return mrc_ctl_fail_key(
				ctx, key, "expects nothing, give \"min\" or \"max\"");
		if (e->has_min && e->has_max && e->min > e->max)
			return mrc_ctl_fail_key(ctx, key,
				"min %g is above max %g, no value meets that", e->min, e->max);
	}
	return MRC_OK;
}

int scenario_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct scenario *sc = obj;
	int err = fabric_check(ctx, sc);

	defaults(sc);
	if (err == MRC_OK)
		err = scenario_load_check(ctx, sc);
	if (err == MRC_OK)
		err = ev_check(ctx, sc);
	if (err == MRC_OK)
		err = rc_check(ctx, sc);
	if (err == MRC_OK)
		err = waits_check(ctx, sc);
	if (err == MRC_OK)
		err = cc_check(ctx, sc);
	if (err == MRC_OK)
		err = faults_check(ctx, sc);
	if (err == MRC_OK)
		err = handovers_check(ctx, sc);
	if (err == MRC_OK)
		err = storm_check(ctx, sc);
	return err == MRC_OK ? expect_check(ctx, sc) : err;
}
