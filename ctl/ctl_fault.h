/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_fault.h - a fault plan of the emulated fabric, and a selection of its links, as JSON. One
 * spelling for configuration files and control sockets.
 */
#ifndef CTL_FAULT_H
#define CTL_FAULT_H

#include <stdint.h>

#include "ctl_decode.h"
#include "mrc_fabric.h"

#define MRC_CTL_FAULT_NAME 64

struct mrc_ctl_fault {
	char name[MRC_CTL_FAULT_NAME]; /* for people; "" = none */
	uint64_t at_ns;                /* start, counted from when the plan is put in force */
	uint64_t for_ns;               /* how long; 0 = until stopped */
	struct mrc_fabric_fault fault; /* start_ns and end_ns are the caller's to fill in */
	/* Parameters that were given: not every kind takes every one. */
	bool has_delay, has_down, has_up, has_gap, has_bits, has_bytes, has_copies, has_offset;
	bool has_count, has_period;
};

/* One plan; start from mrc_ctl_fault_init. */
extern const struct mrc_ctl_table mrc_ctl_fault_table;
/* Row of an array of plans. */
extern const struct mrc_ctl_field mrc_ctl_fault_elem;
void mrc_ctl_fault_init(void *fault);
/* The plan as the table would read it back, without keys at their defaults. */
json_t *mrc_ctl_fault_json(const struct mrc_ctl_fault *fault);

/* "host_up", "leaf_down", "host" (both), "uplink" (both), "all", ... to a mask of classes. */
extern const struct mrc_ctl_name mrc_ctl_class_names[];
/* A whole number from 0 to 65535 into an int32_t. */
int mrc_ctl_decode_index(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member);
/* Rows of a struct mrc_fabric_where, member m of struct s. */
#define MRC_CTL_WHERE(s, m)                                                                        \
	MRC_CTL_CUSTOM("plane", s, m.plane, mrc_ctl_decode_index),                                 \
		MRC_CTL_CUSTOM("leaf", s, m.leaf, mrc_ctl_decode_index),                           \
		MRC_CTL_CUSTOM("spine", s, m.spine, mrc_ctl_decode_index),                         \
		MRC_CTL_CUSTOM("host", s, m.host, mrc_ctl_decode_index),                           \
		MRC_CTL_ENUM("direction", s, m.classes, mrc_ctl_class_names)

/* Extent of a fabric. */
struct mrc_ctl_shape {
	uint32_t nb_planes, nb_leaves, nb_spines, nb_hosts;
};
/* The key of a selection that names something outside the fabric and how many there are of it; NULL
 * when all is inside. */
const char *mrc_ctl_where_check(const struct mrc_fabric_where *where,
	const struct mrc_ctl_shape *shape, int32_t *index_out, uint32_t *nb_out);
#define MRC_CTL_NO_LINK                                                                            \
	"no link is at all these places, leave one of them out (a spine has no host's link)"
/* Whether any link is at all the places that a selection names, each of which is there. */
bool mrc_ctl_where_selects(const struct mrc_fabric_where *where, const struct mrc_ctl_shape *shape);

#endif
