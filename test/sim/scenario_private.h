/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_private.h - shared by the files that read a scenario. */
#ifndef SIM_SCENARIO_PRIVATE_H
#define SIM_SCENARIO_PRIVATE_H

#include "scenario.h"

#define SIM_SECOND_NS 1000000000ull

extern const struct mrc_ctl_table scenario_table;
int scenario_check(struct mrc_ctl_ctx *ctx, void *obj);
/* The workload's part of it. */
int scenario_load_check(struct mrc_ctl_ctx *ctx, struct scenario *sc);

/* Puts the lists that "load" keeps in files into its JSON; lines: object that takes the line of
 * each element. */
int scenario_lists_read(
	const char *scenario, json_t *root, json_t *lines, struct mrc_ctl_error *error_out);
/* Adds file and line to an error about an element of such a list. */
void scenario_lists_blame(const json_t *root, const json_t *lines, struct mrc_ctl_error *error);

#endif
