/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fab_methods.h - what the control socket of mrc-fabric can do: links, faults, counters of a
 * running fabric. No DPDK and no clock, so that tests drive it as the loop does.
 */
#ifndef MRC_FAB_METHODS_H
#define MRC_FAB_METHODS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl_fault.h"
#include "ctl_rpc.h"
#include "fab_config.h"
#include "mrc_fabric.h"

#define MRC_FAB_PAGE 256 /* links in one answer */

/* A port as the loop counts it. */
struct mrc_fab_port_stats {
	uint64_t rx_packets; /* taken from the host */
	uint64_t tx_packets; /* given to the host */
	uint64_t rx_unfit;   /* not in one piece, longer than "mtu" allows: dropped */
	uint64_t tx_lost;    /* dropped because nobody is at the other end */
	bool present, link_up;
};

struct mrc_fab_entry {
	uint32_t id, handle;
	struct mrc_ctl_fault plan;
	uint64_t begun_ns;
};

/* Context of the methods; belongs to the loop's thread. */
struct mrc_fab_ctl {
	const struct mrc_fab_cfg *cfg;
	struct mrc_fabric *fabric;
	uint64_t now_ns; /* set by the loop before it serves */
	struct mrc_fab_port_stats stats[MRC_FAB_MAX_HOSTS][MRC_MAX_PLANES]; /* by place in cfg */
	uint32_t last_id, nb_faults;
	struct mrc_fab_entry faults[MRC_FAB_MAX_FAULTS];
};

/* list_links, set_link, start_fault, stop_fault, list_faults, counters, check_balance. */
extern const struct mrc_rpc_method mrc_fab_methods[];

/*
 * Puts a plan in force; its times count from ctl->now_ns. When the table is full, faults whose time
 * is over make room. Errors: MRC_ERR_INVAL (selects no link), MRC_ERR_NOMEM.
 */
int mrc_fab_fault_start(
	struct mrc_fab_ctl *ctl, const struct mrc_ctl_fault *plan, uint32_t *id_out);

#endif
