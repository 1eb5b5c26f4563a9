/* SPDX-License-Identifier: BSD-2-Clause */
/* cfg.c - what a load may be asked for, and what it then needs. */
#include "load.h"

void mrc_load_cfg_default(struct mrc_load_cfg *cfg_out)
{
	*cfg_out = (struct mrc_load_cfg){
		.nb_qps = 1,
		.depth = 16,
		.verify = MRC_LOAD_VERIFY_FULL,
		.size = 65536,
		.pacing = MRC_LOAD_CLOSED,
		.nb_bins = 6000,
		.max_flows = 64,
	};
	mrc_sched_qp_attr_default(&cfg_out->attr);
}

uint32_t load_nb_slots(const struct mrc_load_cfg *cfg)
{
	if (cfg->nb_slots != 0)
		return cfg->nb_slots;
	return cfg->depth + (cfg->depth < 8 ? 1 : cfg->depth / 4);
}

uint64_t load_max_message(const struct mrc_load_cfg *cfg)
{
	return cfg->sizes != NULL ? mrc_dist_max(cfg->sizes) : cfg->size;
}

uint64_t load_slot_len(const struct mrc_load_cfg *cfg)
{
	return (load_max_message(cfg) + 63) & ~(uint64_t)63;
}

uint64_t mrc_load_source_len(const struct mrc_load_cfg *cfg)
{
	return load_slot_len(cfg) + MRC_LOAD_PATTERN_SLACK;
}

uint64_t mrc_load_region_len(const struct mrc_load_cfg *cfg)
{
	return load_slot_len(cfg) * load_nb_slots(cfg) * cfg->nb_qps;
}

static uint32_t power_of_two(uint32_t n)
{
	return n < 2 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

uint32_t mrc_load_queue_entries(const struct mrc_load_cfg *cfg)
{
	uint32_t sq = power_of_two(cfg->depth), rq = power_of_two(2 * cfg->depth);

	return cfg->nb_qps * (sq + rq) + power_of_two(cfg->nb_qps * cfg->depth) +
	       power_of_two(cfg->nb_qps * 2 * cfg->depth);
}

static const char *wrong_common(const struct mrc_load_cfg *cfg)
{
	if (cfg->roles == 0 || (cfg->roles & ~(MRC_LOAD_SENDER | MRC_LOAD_RECEIVER)))
		return "roles";
	if (cfg->nb_qps == 0 || cfg->nb_qps > MRC_LOAD_MAX_QPS)
		return "nb_qps";
	if (cfg->depth == 0 || cfg->depth > 65536)
		return "depth";
	if (cfg->nb_slots != 0 && (cfg->nb_slots <= cfg->depth || cfg->nb_slots > 131072))
		return "nb_slots";
	if (cfg->sizes != NULL &&
		(mrc_dist_check(cfg->sizes) != MRC_OK || cfg->sizes->points[0].size == 0 ||
			mrc_dist_max(cfg->sizes) > UINT32_MAX / 2))
		return "sizes";
	if (cfg->sizes == NULL && (cfg->size == 0 || cfg->size > UINT32_MAX / 2))
		return "size";
	return NULL;
}

static const char *wrong_sender(const struct mrc_load_cfg *cfg)
{
	bool open = cfg->pacing == MRC_LOAD_CONSTANT || cfg->pacing == MRC_LOAD_POISSON;

	if (cfg->imm_pct > 100)
		return "imm_pct";
	if (open && !(cfg->rate_bps > 0 && cfg->rate_bps < 1e15))
		return "rate_bps";
	if (cfg->pacing == MRC_LOAD_FLOWS && (cfg->max_flows == 0 || cfg->max_flows > 1u << 24))
		return "max_flows";
	if (cfg->pacing == MRC_LOAD_FLOWS && cfg->source_once)
		return "source_once";
	if (cfg->source == NULL)
		return "source";
	if (cfg->source_once ? cfg->source_len == 0 : cfg->source_len < mrc_load_source_len(cfg))
		return "source_len";
	return NULL;
}

static const char *wrong_receiver(const struct mrc_load_cfg *cfg)
{
	if (cfg->region == NULL)
		return "region";
	if (cfg->region_once ? cfg->region_len == 0 : cfg->region_len < mrc_load_region_len(cfg))
		return "region_len";
	return NULL;
}

int mrc_load_cfg_check(const struct mrc_load_cfg *cfg, const char **key_out)
{
	const char *key = wrong_common(cfg);

	if (key == NULL && (cfg->roles & MRC_LOAD_SENDER))
		key = wrong_sender(cfg);
	if (key == NULL && (cfg->roles & MRC_LOAD_RECEIVER))
		key = wrong_receiver(cfg);
	if (key != NULL && key_out != NULL)
		*key_out = key;
	return key == NULL ? MRC_OK : MRC_ERR_INVAL;
}
