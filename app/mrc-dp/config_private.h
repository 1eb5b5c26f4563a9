/* SPDX-License-Identifier: BSD-2-Clause */
/* config_private.h - shared by the files that load the configuration. */
#ifndef MRC_APP_CONFIG_PRIVATE_H
#define MRC_APP_CONFIG_PRIVATE_H

#include "config.h"
#include "ctl_decode.h"

#define MRC_CFG_EV_SKIPS UINT64_MAX /* MRC_EV_SKIPS times "skip" */
#define MRC_CFG_EV_AUTO  255u       /* STEV over IPv6, UDP over IPv4 */

/* The out-of-band section as the file spells it. */
struct mrc_cfg_oob_file {
	struct mrc_cfg_oob oob;
	char listen[MRC_CFG_TEXT], connect[MRC_CFG_TEXT];
};

struct mrc_cfg_file {
	struct mrc_cfg cfg;
	struct mrc_cfg_oob_file oob;
	char schema[MRC_CFG_TEXT], comment[MRC_CFG_TEXT];
};

extern const struct mrc_ctl_table mrc_cfg_file_table;

/* What several keys together must fulfil; also fills in derived members. */
int mrc_cfg_check(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg);
int mrc_cfg_oob_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg_oob *oob);

#endif
