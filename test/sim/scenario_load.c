/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_load.c - whether the keys of a workload fit each other and the fabric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_private.h"

#define MAX_FLOWS 10000000u

static int pair_check(struct mrc_ctl_ctx *ctx, const char *src_key, uint32_t src,
	const char *dst_key, uint32_t dst, uint32_t hosts)
{
	if (src >= hosts || dst >= hosts)
		return mrc_ctl_fail_key(ctx, src >= hosts ? src_key : dst_key,
			"%u: there is no such host, give 0 .. %u", src >= hosts ? src : dst,
			hosts - 1);
	if (src == dst)
		return mrc_ctl_fail_key(ctx, dst_key,
			"%u: is \"%s\" as well, name two different hosts", dst,
			strchr(src_key, '.') + 1);
	return MRC_OK;
}

static int extra_check(struct mrc_ctl_ctx *ctx, const struct mrc_pattern_cfg *p)
{
	int err = MRC_OK;

	if (p->victim && p->victim_bytes == 0)
		return mrc_ctl_fail_key(
			ctx, "load.victim", "true: its flow needs \"victim_bytes\", add it");
	if (p->background && p->background_bytes == 0)
		return mrc_ctl_fail_key(ctx, "load.background",
			"true: its flow needs \"background_bytes\", add it");
	if (p->victim)
		err = pair_check(ctx, "load.victim_src", p->victim_src, "load.victim_dst",
			p->victim_dst, p->nb_hosts);
	if (err == MRC_OK && p->background)
		err = pair_check(ctx, "load.background_src", p->background_src,
			"load.background_dst", p->background_dst, p->nb_hosts);
	return err;
}

static int pattern_check(struct mrc_ctl_ctx *ctx, const struct mrc_pattern_cfg *p)
{
	if (p->kind == MRC_PATTERN_PAIR)
		return pair_check(
			ctx, "load.first", p->first, "load.second", p->second, p->nb_hosts);
	if (p->kind == MRC_PATTERN_INCAST && (p->first >= p->nb_hosts || p->second >= p->nb_hosts))
		return mrc_ctl_fail_key(ctx, p->first >= p->nb_hosts ? "load.first" : "load.second",
			"%u: there is no such host, give 0 .. %u",
			p->first >= p->nb_hosts ? p->first : p->second, p->nb_hosts - 1);
	if (p->kind == MRC_PATTERN_INCAST && p->fan_in >= p->nb_hosts)
		return mrc_ctl_fail_key(ctx, "load.fan_in",
			"%u: %u hosts leave at most %u sources, give 1 .. %u", p->fan_in,
			p->nb_hosts, p->nb_hosts - 1, p->nb_hosts - 1);
	if (p->kind == MRC_PATTERN_SHIFT && p->shift >= p->nb_hosts)
		return mrc_ctl_fail_key(ctx, "load.shift", "%u: give 0 .. %u, below the hosts",
			p->shift, p->nb_hosts - 1);
	if (p->kind == MRC_PATTERN_ALL_REDUCE && p->bytes < p->nb_hosts)
		return mrc_ctl_fail_key(ctx, "load.bytes",
			"%llu: a byte for each of %u hosts at least, give more",
			(unsigned long long)p->bytes, p->nb_hosts);
	return MRC_OK;
}

static int arrival_check(struct mrc_ctl_ctx *ctx, const struct mrc_pattern_cfg *p)
{
	if (p->arrival != MRC_PATTERN_POISSON)
		return MRC_OK;
	if (p->kind == MRC_PATTERN_ALL_REDUCE || p->kind == MRC_PATTERN_LIST)
		return mrc_ctl_fail_key(ctx, "load.arrival",
			"\"poisson\": the pattern has times of its own, use \"at_once\"");
	if (p->round_wait)
		return mrc_ctl_fail_key(ctx, "load.round_wait",
			"true: poisson arrivals wait for nothing, leave it out");
	if (!(p->rate_bps > 0))
		return mrc_ctl_fail_key(ctx, "load.rate_bps",
			"poisson arrivals need it, give payload bits per second");
	return MRC_OK;
}

static int sizes_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	const struct mrc_dist *d = &load->sizes;
	char key[48];

	for (uint32_t i = 0; i < d->nb_points; i++) {
		const struct mrc_dist_point *at = &d->points[i];

		snprintf(key, sizeof(key), "load.sizes[%u]", i);
		if (at->size == 0)
			return mrc_ctl_fail_key(ctx, key, "needs a \"size\", add it");
		if (i != 0 && (at->size < at[-1].size || at->share < at[-1].share))
			return mrc_ctl_fail_key(ctx, key,
				"size %llu, share %g: falls below the element before, sort by size",
				(unsigned long long)at->size, at->share);
		if (i + 1 == d->nb_points && at->share != 1)
			return mrc_ctl_fail_key(
				ctx, key, "share %g: the last one is all flows, give 1", at->share);
	}
	if (d->nb_points != 0 && (load->pattern.kind == MRC_PATTERN_ALL_REDUCE ||
					 load->pattern.kind == MRC_PATTERN_LIST))
		return mrc_ctl_fail_key(
			ctx, "load.sizes", "the pattern has sizes of its own, leave it out");
	return MRC_OK;
}

static int list_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	uint32_t hosts = load->pattern.nb_hosts;
	int err = MRC_OK;

	if (load->pattern.kind != MRC_PATTERN_LIST)
		return load->nb_list != 0 ? mrc_ctl_fail_key(ctx, "load.flows",
						    "is only used by pattern \"list\", say so")
					  : MRC_OK;
	if (load->list == NULL)
		return mrc_ctl_fail_key(ctx, "load.flows",
			"pattern \"list\" needs the flows, add them or \"flows_file\"");
	if (load->pattern.rounds > 1)
		return mrc_ctl_fail_key(ctx, "load.rounds",
			"%u: a list is run once, write its flows again", load->pattern.rounds);
	for (uint64_t i = 0; i < load->nb_list && err == MRC_OK; i++) {
		const struct mrc_pattern_flow *f = &load->list[i];
		char src[64], dst[64];

		snprintf(src, sizeof(src), "load.flows[%llu].source", (unsigned long long)i);
		snprintf(dst, sizeof(dst), "load.flows[%llu].destination", (unsigned long long)i);
		err = pair_check(ctx, src, f->src, dst, f->dst, hosts);
		snprintf(src, sizeof(src), "load.flows[%llu]", (unsigned long long)i);
		if (err == MRC_OK && i != 0 && f->start_ns < f[-1].start_ns)
			err = mrc_ctl_fail_key(ctx, src,
				"starts at %llu ns, before the flow above, sort by start",
				(unsigned long long)f->start_ns);
	}
	return err;
}

static int barrier_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	const struct mrc_pattern_cfg *p = &load->pattern;

	if (p->kind == MRC_PATTERN_ALTERNATE && (p->round_wait || load->sizes.nb_points != 0))
		return mrc_ctl_fail_key(ctx, p->round_wait ? "load.round_wait" : "load.sizes",
			"is not for pattern \"alternate\", leave it out (\"barrier\" makes rounds "
			"wait)");
	if (!load->barrier)
		return MRC_OK;
	if (load->mode != SIM_FLOWS || p->arrival != MRC_PATTERN_AT_ONCE || p->round_wait ||
		p->kind == MRC_PATTERN_LIST || p->kind == MRC_PATTERN_ALL_REDUCE)
		return mrc_ctl_fail_key(ctx, "load.barrier",
			"true: needs rounds of flows that begin at once, without round_wait, and "
			"no "
			"pattern \"list\" or \"all_reduce\"");
	return MRC_OK;
}

/* A load that begins after the end would never be over. */
static int steady_starts_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	uint64_t start_ns = load->pattern.start_ns;
	char key[48];

	if (start_ns >= load->duration_ns)
		return mrc_ctl_fail_key(ctx, "load.start",
			"%llu ns: the load is over by then, give less than the duration, %llu ns",
			(unsigned long long)start_ns, (unsigned long long)load->duration_ns);
	for (uint64_t i = 0; i < load->nb_list; i++) {
		if (start_ns + load->list[i].start_ns < load->duration_ns)
			continue;
		snprintf(key, sizeof(key), "load.flows[%llu]", (unsigned long long)i);
		return mrc_ctl_fail_key(ctx, key,
			"starts at %llu ns: the load is over by then, give less than the duration, "
			"%llu ns",
			(unsigned long long)(start_ns + load->list[i].start_ns),
			(unsigned long long)load->duration_ns);
	}
	return MRC_OK;
}

static int steady_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	if (load->mode != SIM_STEADY)
		return MRC_OK;
	if (load->duration_ns == 0)
		return mrc_ctl_fail_key(
			ctx, "load.duration", "a steady load needs a duration, add it");
	if (load->pattern.kind == MRC_PATTERN_ALL_REDUCE)
		return mrc_ctl_fail_key(
			ctx, "load.pattern", "\"all_reduce\": has steps, use mode \"flows\"");
	if (load->pattern.arrival == MRC_PATTERN_POISSON)
		return mrc_ctl_fail_key(ctx, "load.arrival",
			"\"poisson\": a steady load never pauses, use mode \"flows\"");
	if (load->warmup_ns >= load->duration_ns)
		return mrc_ctl_fail_key(ctx, "load.warmup",
			"%llu ns: must end before the load, give less than the duration, %llu ns",
			(unsigned long long)load->warmup_ns, (unsigned long long)load->duration_ns);
	return steady_starts_check(ctx, load);
}

/* What the pattern itself says, and how many flows it has. */
static void *plain_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	(void)align;
	return calloc(1, size);
}

static void plain_free(void *ctx, void *mem, size_t size)
{
	(void)ctx;
	(void)size;
	free(mem);
}

static uint64_t one(void *ctx)
{
	(void)ctx;
	return 1;
}

static int count_check(struct mrc_ctl_ctx *ctx, const struct sim_load *load)
{
	const struct mrc_env env = {.alloc = plain_alloc, .free = plain_free, .random64 = one};
	struct mrc_pattern_cfg cfg = load->pattern;
	struct mrc_pattern *pattern;
	const char *key = "pattern";
	char path[64];
	uint64_t nb;

	cfg.sizes = load->sizes.nb_points != 0 ? &load->sizes : NULL;
	cfg.list = load->list;
	cfg.nb_list = load->nb_list;
	if (mrc_pattern_create(&cfg, &env, &pattern, &key) != MRC_OK) {
		snprintf(path, sizeof(path), "load.%s", key);
		if (strcmp(key, "bytes") == 0)
			return mrc_ctl_fail_key(ctx, path,
				"%llu: this pattern gives every host a part, give %u or more",
				(unsigned long long)cfg.bytes, cfg.nb_hosts);
		return mrc_ctl_fail_key(ctx, path, "does not fit the pattern, change one of them");
	}
	nb = mrc_pattern_count(pattern);
	mrc_pattern_destroy(pattern);
	if (nb > MAX_FLOWS)
		return mrc_ctl_fail_key(ctx, "load.rounds",
			"%u: that is %llu flows, at most %u fit; take fewer rounds or hosts",
			load->pattern.rounds, (unsigned long long)nb, MAX_FLOWS);
	return MRC_OK;
}

int scenario_load_check(struct mrc_ctl_ctx *ctx, struct scenario *sc)
{
	struct mrc_pattern_cfg *p = &sc->load.pattern;
	uint32_t hosts = scenario_nb_hosts(sc);
	int err;

	if (p->nb_hosts == 0)
		p->nb_hosts = hosts;
	if (p->nb_hosts > hosts)
		return mrc_ctl_fail_key(ctx, "load.hosts",
			"%u: the fabric has %u hosts, give at most that", p->nb_hosts, hosts);
	err = list_check(ctx, &sc->load);
	if (err == MRC_OK)
		err = pattern_check(ctx, p);
	if (err == MRC_OK)
		err = extra_check(ctx, p);
	if (err == MRC_OK)
		err = arrival_check(ctx, p);
	if (err == MRC_OK)
		err = sizes_check(ctx, &sc->load);
	if (err == MRC_OK)
		err = barrier_check(ctx, &sc->load);
	if (err == MRC_OK)
		err = steady_check(ctx, &sc->load);
	return err == MRC_OK ? count_check(ctx, &sc->load) : err;
}
