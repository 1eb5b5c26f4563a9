/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_private.h - what the parts of the scenario reader share. */
#ifndef SIM_SCENARIO_PRIVATE_H
#define SIM_SCENARIO_PRIVATE_H

#include "scenario.h"

#define SECOND_NS     1000000000ull
#define YEAR_NS       (365ull * 86400 * SECOND_NS)
#define TIME(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_TIME, 0, YEAR_NS)
#define SIZE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_SIZE, 0, UINT32_MAX - 1)
#define RATE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_RATE, 0, 100000000000000ull)
#define PRESENT(type_, k, s, m, p, unit_, lo, hi)                                                  \
	{                                                                                          \
		.key = (k), .type = (type_), .flags = MRC_CTL_PRESENT, MRC_CTL_AT(s, m),           \
		.present_offset = (uint32_t)offsetof(s, p), .unit = (unit_), .min = (lo),          \
		.max = (hi)                                                                        \
	}

/* Names of link directions, and an index from 0 on. */
extern const struct mrc_ctl_name sim_class_names[];
int sim_decode_index(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member);

#define WHERE(s, m)                                                                                \
	MRC_CTL_CUSTOM("plane", s, m.plane, sim_decode_index),                                     \
		MRC_CTL_CUSTOM("leaf", s, m.leaf, sim_decode_index),                               \
		MRC_CTL_CUSTOM("spine", s, m.spine, sim_decode_index),                             \
		MRC_CTL_CUSTOM("host", s, m.host, sim_decode_index),                               \
		MRC_CTL_ENUM("direction", s, m.classes, sim_class_names)

/* An entry of "faults". sim_fault_names_fill must have run before a file is decoded. */
extern const struct mrc_ctl_field sim_fault_elem;
void sim_fault_init(void *elem);
void sim_fault_names_fill(void);

#endif
