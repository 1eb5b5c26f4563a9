/* SPDX-License-Identifier: BSD-2-Clause */
/* cfg.c - parameters: defaults from the network's size, and their sane ranges. */
#include <math.h>
#include <stddef.h>

#include "mrc_limits.h"
#include "mrc_nscc.h"

/* The network that the constants of the algorithm were chosen for: 100 Gb/s, 12 us. */
#define REF_RTT_NS 12000.0
#define REF_BDP    150000.0

#define MAX_WINDOW_PSNS (128.0 * MRC_MPR_LIMIT)
/* Stands for "greater than 0". */
#define TINY 1e-12

static uint32_t to_u32(double value)
{
	if (value < 0)
		return 0;
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

void mrc_nscc_cfg_default(struct mrc_nscc_cfg *cfg_out, uint64_t rate_bps, uint32_t base_rtt_ns,
	uint32_t mtu, bool trimming)
{
	double bdp = (double)rate_bps / 8e9 * base_rtt_ns;
	double scale;
	double target = trimming ? 0.75 * base_rtt_ns : base_rtt_ns;
	double window = 1.5 * bdp;

	/* A slow or empty rate still gives a controller that works. */
	if (bdp < 1)
		bdp = 1;
	scale = bdp / REF_BDP;
	if (window < mtu)
		window = mtu;
	if (window > MAX_WINDOW_PSNS * mtu)
		window = MAX_WINDOW_PSNS * mtu;
	*cfg_out = (struct mrc_nscc_cfg){
		.algorithm = MRC_NSCC_UET10,
		.qa_gate = 3,
		.mtu = mtu,
		.adjust_bytes_threshold = 8 * mtu,
		.adjust_period_ns = base_rtt_ns,
		.base_rtt_ns = base_rtt_ns,
		.max_cwnd = to_u32(window),
		.qa_threshold_ns = trimming ? UINT32_MAX : to_u32(4 * target),
		.target_delay_ns = to_u32(target),
		.eta = 0.15 * mtu * scale,
		.fi = 5.0 * mtu * scale,
		.fi_scale = 0.25 * scale,
		.gamma = 0.8,
		.max_md_jump = 0.5,
		.alpha = 4.0 * mtu * scale / REF_RTT_NS,
	};
}

/* One row of the check. NaN is in no range. */
struct range {
	const char *key;
	double value, min, max;
};

static int check_ranges(const struct range *ranges, size_t nb, const char **key_out)
{
	for (size_t i = 0; i < nb; i++) {
		if (!(ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max)) {
			if (key_out != NULL)
				*key_out = ranges[i].key;
			return MRC_ERR_INVAL;
		}
	}
	return MRC_OK;
}

#define NB(array) (sizeof(array) / sizeof((array)[0]))

static int check_window(const struct mrc_nscc_cfg *cfg, const char **key_out)
{
	const struct range ranges[] = {
		{"mtu", cfg->mtu, 256, 16384},
		{"max_cwnd", cfg->max_cwnd, cfg->mtu, MAX_WINDOW_PSNS * cfg->mtu},
	};

	return check_ranges(ranges, NB(ranges), key_out);
}

static int check_uet10(const struct mrc_nscc_cfg *cfg, const char **key_out)
{
	double mtu = cfg->mtu;
	double rtt = cfg->base_rtt_ns;
	/* alpha tells the scale of the network, BDP over that of the reference one */
	double scale = cfg->alpha * REF_RTT_NS / (4 * mtu);
	double bytes_max = fmax(8 * mtu, scale * REF_BDP / 2);
	double slack = 1 + 1e-9; /* a default is inside its own range whatever was rounded */
	const struct range ranges[] = {
		{"base_rtt", rtt, 500, 1000000},
		{"min_base_rtt", cfg->min_base_rtt_ns, 0, rtt},
		{"alpha", cfg->alpha, TINY, 1e6},
		{"qa_gate", cfg->qa_gate, 0, 7},
		{"adjust_bytes_threshold", cfg->adjust_bytes_threshold, mtu, bytes_max * slack},
		{"adjust_period_threshold", cfg->adjust_period_ns, floor(rtt / 4), 8 * rtt},
		{"target_delay", cfg->target_delay_ns, 128, 4 * rtt},
		{"qa_threshold", cfg->qa_threshold_ns, cfg->target_delay_ns, UINT32_MAX},
		{"eta", cfg->eta, 0, mtu * scale * slack},
		{"fi", cfg->fi, mtu * fmin(scale, 1) / slack, 40 * mtu * scale * slack},
		{"fi_scale", cfg->fi_scale, 0, 2 * scale * slack},
		{"gamma", cfg->gamma, TINY, 1},
		{"max_md_jump", cfg->max_md_jump, 0.05, 0.95},
	};

	return check_ranges(ranges, NB(ranges), key_out);
}

int mrc_nscc_cfg_check(const struct mrc_nscc_cfg *cfg, const char **key_out)
{
	int err = check_window(cfg, key_out);

	if (err != MRC_OK)
		return err;
	switch (cfg->algorithm) {
	case MRC_NSCC_FIXED:
		return MRC_OK;
	case MRC_NSCC_UET10:
		return check_uet10(cfg, key_out);
	}
	if (key_out != NULL)
		*key_out = "algorithm";
	return MRC_ERR_INVAL;
}
