/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - which lcore runs which roles.
 *
 * A role is a piece of work that is polled: a worker of an endpoint, the emulated fabric, the
 * management. The roles of one lcore run in turn in one loop. No two lcores that run roles may
 * share a CPU: two pollers on one CPU cost a scheduler time slice per round trip.
 */
#ifndef MRC_APP_PLACE_H
#define MRC_APP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_err.h"

#define MRC_PLACE_MAX_ROLES  64
#define MRC_PLACE_MAX_LCORES 128
#define MRC_PLACE_CPU_WORDS  16 /* 1024 CPUs */

enum mrc_role_kind {
	MRC_ROLE_WORKER,
	MRC_ROLE_FABRIC,
	MRC_ROLE_MGMT
};

struct mrc_role {
	enum mrc_role_kind kind;
	uint32_t endpoint; /* MRC_ROLE_WORKER: index of the endpoint */
	uint32_t worker;   /* MRC_ROLE_WORKER: index inside it */
	int32_t lcore;     /* in: lcore demanded by the configuration or -1; out: lcore given */
};

struct mrc_place_lcore {
	uint32_t id;
	uint64_t cpus[MRC_PLACE_CPU_WORDS]; /* CPUs its thread may run on, bit n of word n/64 */
};

struct mrc_place_error {
	uint32_t role;       /* index of the role that could not be placed */
	int32_t other_lcore; /* lcore that holds the CPU wanted, -1: the lcore does not exist */
};

/*
 * Fills roles[].lcore. Demanded lcores are taken as they are; the others get the least loaded
 * lcore of those with a CPU of their own (workers and the fabric weigh alike, management hardly
 * anything), so that idle CPUs are used first. Errors: MRC_ERR_INVAL and *error_out when a demanded
 * lcore does not exist or shares its only CPU with another lcore in use, or when there is no lcore.
 */
int mrc_place_roles(struct mrc_role *roles, uint32_t nb_roles, const struct mrc_place_lcore *lcores,
	uint32_t nb_lcores, struct mrc_place_error *error_out);

/* "worker 1 of endpoint 0", "fabric", "management"; written to buf. */
const char *mrc_role_text(const struct mrc_role *role, char *buf, uint32_t room);

#endif
