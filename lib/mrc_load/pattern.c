/* SPDX-License-Identifier: BSD-2-Clause */
/* pattern.c - flows of a traffic pattern, one after the other, from their number alone. */
#include <math.h>

#include "mrc_err.h"
#include "mrc_pattern.h"

enum {
	MAX_HOSTS = 1 << 20,
};

struct mrc_pattern {
	struct mrc_pattern_cfg cfg;
	struct mrc_dist sizes;
	struct mrc_env env;
	size_t mem_size;
	uint64_t rng;
	uint64_t next;      /* index of the next flow */
	uint64_t nb_extra;  /* victim and background flows, in front */
	uint64_t per_round; /* flows of a round */
	uint64_t total;
	double due_ns;      /* POISSON: the next arrival, since start_ns */
	uint32_t *permuted; /* RANDOM: destination of each host */
};

static uint64_t draw(struct mrc_pattern *pattern)
{
	uint64_t z = (pattern->rng += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static uint64_t draw_below(struct mrc_pattern *pattern, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)draw(pattern) * bound) >> 64);
}

/* ---- create */

static uint64_t flows_per_round(const struct mrc_pattern_cfg *cfg)
{
	uint64_t n = cfg->nb_hosts;

	switch (cfg->kind) {
	case MRC_PATTERN_PAIR:
		return 1;
	case MRC_PATTERN_SHIFT:
	case MRC_PATTERN_RANDOM:
	case MRC_PATTERN_RING:
		return n;
	case MRC_PATTERN_INCAST:
		return cfg->fan_in;
	case MRC_PATTERN_ALL_TO_ALL:
		return n * (n - 1);
	case MRC_PATTERN_ALL_REDUCE:
		return n * 2 * (n - 1);
	case MRC_PATTERN_LIST:
		return cfg->nb_list;
	case MRC_PATTERN_ALTERNATE:
		return n * n; /* of two rounds: n (n - 1) flows, then n */
	}
	return 0;
}

static const char *wrong_hosts(const struct mrc_pattern_cfg *cfg)
{
	uint32_t n = cfg->nb_hosts;
	bool pair = cfg->kind == MRC_PATTERN_PAIR;

	if (n < 2 || n > MAX_HOSTS)
		return "nb_hosts";
	if ((pair || cfg->kind == MRC_PATTERN_INCAST) && cfg->first >= n)
		return "first";
	if ((pair && (cfg->second >= n || cfg->second == cfg->first)) ||
		(cfg->kind == MRC_PATTERN_INCAST && cfg->second >= n))
		return "second";
	if (cfg->kind == MRC_PATTERN_INCAST && (cfg->fan_in == 0 || cfg->fan_in >= n))
		return "fan_in";
	if (cfg->kind == MRC_PATTERN_SHIFT && cfg->shift >= n)
		return "shift";
	if (cfg->victim && (cfg->victim_src >= n || cfg->victim_dst >= n ||
				   cfg->victim_src == cfg->victim_dst || cfg->victim_bytes == 0))
		return "victim";
	if (cfg->background &&
		(cfg->background_src >= n || cfg->background_dst >= n ||
			cfg->background_src == cfg->background_dst || cfg->background_bytes == 0))
		return "background";
	return NULL;
}

static const char *wrong_list(const struct mrc_pattern_cfg *cfg)
{
	if (cfg->list == NULL || cfg->nb_list == 0)
		return "list";
	for (uint64_t i = 0; i < cfg->nb_list; i++) {
		const struct mrc_pattern_flow *flow = &cfg->list[i];

		if (flow->src >= cfg->nb_hosts || flow->dst >= cfg->nb_hosts ||
			flow->src == flow->dst || flow->bytes == 0 ||
			(i > 0 && flow->start_ns < flow[-1].start_ns))
			return "list";
	}
	return cfg->rounds > 1 ? "rounds" : NULL;
}

static const char *wrong(const struct mrc_pattern_cfg *cfg)
{
	const char *key = wrong_hosts(cfg);
	bool fixed = cfg->kind == MRC_PATTERN_ALL_REDUCE || cfg->kind == MRC_PATTERN_LIST ||
		     cfg->kind == MRC_PATTERN_ALTERNATE;

	if (key != NULL)
		return key;
	if (cfg->arrival == MRC_PATTERN_POISSON) {
		if (fixed || cfg->round_wait)
			return "arrival";
		if (!(cfg->rate_bps > 0 && cfg->rate_bps < 1e18))
			return "rate_bps";
	}
	if (cfg->kind == MRC_PATTERN_LIST)
		return wrong_list(cfg);
	if (cfg->kind == MRC_PATTERN_ALTERNATE && cfg->round_wait)
		return "round_wait"; /* a round's flows are not those of the one before */
	if (cfg->sizes != NULL)
		return fixed || mrc_dist_check(cfg->sizes) != MRC_OK ||
				       cfg->sizes->points[0].size == 0
			       ? "sizes"
			       : NULL;
	if (cfg->bytes < (fixed ? cfg->nb_hosts : 1))
		return "bytes";
	return NULL;
}

/* Draws until nobody sends to itself: one try in three succeeds. */
static void permute(struct mrc_pattern *pattern)
{
	uint32_t n = pattern->cfg.nb_hosts;
	bool fixed_point = true;

	while (fixed_point) {
		fixed_point = false;
		for (uint32_t i = 0; i < n; i++)
			pattern->permuted[i] = i;
		for (uint32_t i = n; i > 1; i--) {
			uint32_t j = (uint32_t)draw_below(pattern, i);
			uint32_t swap = pattern->permuted[i - 1];

			pattern->permuted[i - 1] = pattern->permuted[j];
			pattern->permuted[j] = swap;
		}
		for (uint32_t i = 0; i < n; i++)
			fixed_point = fixed_point || pattern->permuted[i] == i;
	}
}

static uint64_t nb_flows(const struct mrc_pattern *pattern)
{
	uint64_t n = pattern->cfg.nb_hosts, rounds = pattern->cfg.rounds;

	if (pattern->cfg.kind == MRC_PATTERN_ALTERNATE)
		return rounds / 2 * pattern->per_round + rounds % 2 * n * (n - 1);
	return pattern->per_round * rounds;
}

int mrc_pattern_create(const struct mrc_pattern_cfg *cfg, const struct mrc_env *env,
	struct mrc_pattern **pattern_out, const char **key_out)
{
	const char *key = wrong(cfg);
	struct mrc_pattern *pattern;
	size_t size = sizeof(*pattern);

	if (key != NULL) {
		if (key_out != NULL)
			*key_out = key;
		return MRC_ERR_INVAL;
	}
	if (cfg->kind == MRC_PATTERN_RANDOM)
		size += cfg->nb_hosts * sizeof(uint32_t);
	pattern = env->alloc(env->ctx, size, 64);
	if (pattern == NULL)
		return MRC_ERR_NOMEM;
	pattern->cfg = *cfg;
	if (cfg->rounds == 0)
		pattern->cfg.rounds = 1;
	if (cfg->kind == MRC_PATTERN_SHIFT && cfg->shift == 0)
		pattern->cfg.shift = cfg->nb_hosts / 2;
	if (cfg->sizes != NULL) {
		pattern->sizes = *cfg->sizes;
		pattern->cfg.sizes = &pattern->sizes;
	}
	pattern->env = *env;
	pattern->mem_size = size;
	pattern->rng = env->random64(env->ctx);
	pattern->permuted = (uint32_t *)(pattern + 1);
	pattern->nb_extra = (uint64_t)cfg->victim + cfg->background;
	pattern->per_round = flows_per_round(cfg);
	pattern->total = pattern->nb_extra + nb_flows(pattern);
	if (cfg->kind == MRC_PATTERN_RANDOM)
		permute(pattern);
	*pattern_out = pattern;
	return MRC_OK;
}

void mrc_pattern_destroy(struct mrc_pattern *pattern)
{
	if (pattern != NULL)
		pattern->env.free(pattern->env.ctx, pattern, pattern->mem_size);
}

uint64_t mrc_pattern_count(const struct mrc_pattern *pattern)
{
	return pattern->total;
}

/* ---- one flow */

/* The k-th sender of an incast: the hosts from `second` on, in a circle, without the receiver. */
static uint32_t incast_source(const struct mrc_pattern_cfg *cfg, uint32_t k)
{
	uint32_t n = cfg->nb_hosts;
	uint32_t to_receiver = (cfg->first + n - cfg->second) % n;

	return (cfg->second + k + (k >= to_receiver)) % n;
}

/* Source and destination of the flow at `place` of a round. */
static void pick_hosts(
	const struct mrc_pattern *pattern, uint64_t place, uint32_t *src_out, uint32_t *dst_out)
{
	const struct mrc_pattern_cfg *cfg = &pattern->cfg;
	uint32_t n = cfg->nb_hosts;
	uint32_t i = (uint32_t)(place % n);

	*src_out = i;
	switch (cfg->kind) {
	case MRC_PATTERN_PAIR:
		*src_out = cfg->first;
		*dst_out = cfg->second;
		break;
	case MRC_PATTERN_SHIFT:
		*dst_out = (i + cfg->shift) % n;
		break;
	case MRC_PATTERN_RANDOM:
		*dst_out = pattern->permuted[i];
		break;
	case MRC_PATTERN_INCAST:
		*src_out = incast_source(cfg, (uint32_t)place);
		*dst_out = cfg->first;
		break;
	case MRC_PATTERN_RING:
	case MRC_PATTERN_ALL_REDUCE:
		*dst_out = (i + 1) % n;
		break;
	case MRC_PATTERN_ALL_TO_ALL:
		*dst_out = (i + 1 + (uint32_t)(place / n)) % n;
		break;
	case MRC_PATTERN_ALTERNATE:
		*dst_out = (i + 1 + (uint32_t)(place / n) % (n - 1)) % n;
		break;
	case MRC_PATTERN_LIST:
		*src_out = cfg->list[place].src;
		*dst_out = cfg->list[place].dst;
		break;
	}
}

/*
 * Step s of a ring all-reduce over n hosts: host i passes on part i - s, which it received in the
 * step before; that is what the flow depends on. After n - 1 steps every part is complete at one
 * host, after as many more at all.
 */
static void all_reduce_step(
	const struct mrc_pattern *pattern, uint64_t place, struct mrc_pattern_flow *flow)
{
	uint64_t n = pattern->cfg.nb_hosts;
	uint64_t step = place / n, host = place % n;
	uint64_t part = (host + 2 * n - step) % n;
	uint64_t before = (host + n - 1) % n;

	flow->bytes = pattern->cfg.bytes / n + (part < pattern->cfg.bytes % n);
	if (step > 0 || flow->round > 0) {
		flow->after = flow->index - host - n + before;
		flow->start_ns = step > 0 ? 0 : pattern->cfg.round_ns;
	}
}

static void pick_time(struct mrc_pattern *pattern, struct mrc_pattern_flow *flow)
{
	const struct mrc_pattern_cfg *cfg = &pattern->cfg;

	flow->start_ns = cfg->start_ns;
	switch (cfg->arrival) {
	case MRC_PATTERN_AT_ONCE:
		if (!cfg->round_wait) {
			flow->start_ns += flow->round * cfg->round_ns;
		} else if (flow->round > 0) {
			flow->after = flow->index - pattern->per_round;
			flow->start_ns = cfg->round_ns;
		}
		break;
	case MRC_PATTERN_POISSON:
		/* The gap in front of a flow is in proportion to the mean size, not to its own. */
		pattern->due_ns += -log(((double)(draw(pattern) >> 11) + 1) * 0x1p-53) *
				   (cfg->sizes ? mrc_dist_mean(cfg->sizes) : (double)cfg->bytes) *
				   8e9 / cfg->rate_bps;
		flow->start_ns += (uint64_t)pattern->due_ns;
		break;
	}
}

static void pick_extra(const struct mrc_pattern *pattern, struct mrc_pattern_flow *flow)
{
	const struct mrc_pattern_cfg *cfg = &pattern->cfg;

	flow->start_ns = cfg->start_ns;
	if (cfg->victim && flow->index == 0) {
		flow->cls = MRC_PATTERN_VICTIM;
		flow->src = cfg->victim_src;
		flow->dst = cfg->victim_dst;
		flow->bytes = cfg->victim_bytes;
		return;
	}
	flow->cls = MRC_PATTERN_BACKGROUND;
	flow->src = cfg->background_src;
	flow->dst = cfg->background_dst;
	flow->bytes = cfg->background_bytes;
}

/* The last n flows of two rounds are the ring. */
static void alternate(
	const struct mrc_pattern *pattern, uint64_t place, struct mrc_pattern_flow *flow)
{
	uint64_t n = pattern->cfg.nb_hosts;
	bool ring = place >= n * (n - 1);

	flow->round = 2 * flow->round + ring;
	if (ring)
		flow->bytes = pattern->cfg.bytes * (n - 1);
}

static void pick_flow(struct mrc_pattern *pattern, struct mrc_pattern_flow *flow)
{
	const struct mrc_pattern_cfg *cfg = &pattern->cfg;
	uint64_t nth = flow->index - pattern->nb_extra;
	uint64_t place = nth % pattern->per_round;

	flow->round = (uint32_t)(nth / pattern->per_round);
	if (cfg->arrival == MRC_PATTERN_POISSON)
		place = draw_below(pattern, pattern->per_round);
	pick_hosts(pattern, place, &flow->src, &flow->dst);
	flow->bytes = cfg->sizes ? mrc_dist_sample(cfg->sizes, draw(pattern)) : cfg->bytes;
	if (cfg->kind == MRC_PATTERN_LIST) {
		flow->start_ns = cfg->start_ns + cfg->list[place].start_ns;
		flow->bytes = cfg->list[place].bytes;
		flow->cls = cfg->list[place].cls;
	} else if (cfg->kind == MRC_PATTERN_ALL_REDUCE) {
		flow->start_ns = cfg->start_ns;
		all_reduce_step(pattern, place, flow);
	} else {
		if (cfg->kind == MRC_PATTERN_ALTERNATE)
			alternate(pattern, place, flow);
		pick_time(pattern, flow);
	}
}

bool mrc_pattern_next(struct mrc_pattern *pattern, struct mrc_pattern_flow *flow_out)
{
	struct mrc_pattern_flow flow = {.index = pattern->next, .after = MRC_PATTERN_NONE};

	if (pattern->next == pattern->total)
		return false;
	pattern->next++;
	if (flow.index < pattern->nb_extra)
		pick_extra(pattern, &flow);
	else
		pick_flow(pattern, &flow);
	*flow_out = flow;
	return true;
}
