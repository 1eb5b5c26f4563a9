/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mgmt.h - the management role: carriers, the course of the run, progress lines, the peer's word.
 *
 *   RESOLVE ─(peer's link addresses known)─► RUN ─(senders done)─► DRAIN ─(receivers done, peer
 *   reported)─► END          a signal, a lost peer or a deadline lead to END from anywhere
 */
#ifndef MRC_APP_MGMT_H
#define MRC_APP_MGMT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"
#include "courier.h"
#include "endpoint.h"
#include "fabric_role.h"
#include "oob.h"
#include "outcome.h"
#include "timeline.h"

enum mrc_mgmt_state {
	MRC_MGMT_RESOLVE,
	MRC_MGMT_RUN,
	MRC_MGMT_DRAIN,
	MRC_MGMT_END
};

struct mrc_mgmt {
	const struct mrc_cfg *cfg;
	const struct mrc_clock *clock;
	struct mrc_endpoint *eps;
	uint32_t nb_eps;
	struct mrc_fabric_role *fabric;      /* or NULL */
	struct mrc_oob *oob;                 /* or NULL: both ends are here */
	const volatile sig_atomic_t *signal; /* set by SIGINT and SIGTERM */
	FILE *progress;                      /* or NULL: silent */
	_Atomic bool stop;                   /* the lcores leave their loops */

	enum mrc_mgmt_state state;
	uint64_t last_ns, next_ns, link_ns;
	uint64_t begin_ns, second_ns, deadline_ns, moved_ns;
	uint64_t moved; /* packets seen at moved_ns */
	bool result_sent, result_got, expect_sent, interrupted;
	struct mrc_found peer_found;
	uint64_t peer_rx[MRC_MAX_PLANES]; /* packets that reached the peer */
	char failure[MRC_OUTCOME_TEXT];
	struct mrc_courier courier;   /* of commands to the workers */
	struct mrc_worker_view view;  /* scratch */
	uint64_t view_errors;         /* failed requests of the senders here, when they were done */
	struct mrc_timeline timeline; /* of the whole run */
	/* of the last progress line */
	struct mrc_sched_counters seen;
	uint64_t seen_ns;
	uint64_t faults_told; /* bit per scheduled fault whose begin was told */
	uint64_t ends_told;
};

void mrc_mgmt_init(struct mrc_mgmt *mgmt, const struct mrc_cfg *cfg, const struct mrc_clock *clock,
	struct mrc_endpoint *eps, uint32_t nb_eps);
/* One turn; cheap until something is due. */
void mrc_mgmt_poll(struct mrc_mgmt *mgmt);

/* ---- progress.c */

/* Prints the head of the table, and a line a second, which also goes into the timeline. */
void mrc_progress_head(struct mrc_mgmt *mgmt);
void mrc_progress_line(struct mrc_mgmt *mgmt, uint64_t now_ns);
/* Tells scheduled faults that begin or end. */
void mrc_progress_faults(struct mrc_mgmt *mgmt, uint64_t now_ns);

#endif
