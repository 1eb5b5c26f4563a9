/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_private.h - shared by the files that read a scenario. */
#ifndef SIM_SCENARIO_PRIVATE_H
#define SIM_SCENARIO_PRIVATE_H

#include "scenario.h"

#define SIM_SECOND_NS 1000000000ull

extern const struct mrc_ctl_table scenario_table;
int scenario_check(struct mrc_ctl_ctx *ctx, void *obj);

#endif
