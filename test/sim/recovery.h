/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery.h - what the questions of mrc-recovery share: the report, and links with a rate and a
 * queue for the pair harness.
 */
#ifndef RECOVERY_H
#define RECOVERY_H

#include "pair.h"

/* ---- the report ---- */

enum rec_op {
	REC_INFO, /* measured, not judged */
	REC_LE,
	REC_GE,
	REC_EQ,
};

/* Begins the table of a question. */
void rec_table(const char *id, const char *title);
/* One line: what, the value, its unit, and the mark it is held against. */
void rec_row(const char *what, double value, const char *unit, enum rec_op op, double mark);
/* A failed check of the harness during the last run is a missed mark. */
void rec_clean(const char *what, struct pair *p);
/* Value at per mille of a sample; sorts it. */
double rec_quantile(double *values, uint32_t nb, uint32_t per_mille);
/* Defaults for runs that measure: failed checks are kept, not fatal; seed of the program. */
void rec_cfg(struct pair_cfg *cfg_out, uint64_t seed);
struct pair *rec_pair(const struct pair_cfg *cfg);

extern uint64_t rec_seed;

/* ---- links ---- */

/* Each plane of each direction: a rate, a queue with a limit, a threshold for marks, and the room
 * of the receiving host. Takes the first two faults of the pair. */
struct rec_links {
	uint64_t rate_bps;
	uint64_t limit_ns; /* longer waits are dropped */
	uint64_t mark_ns;  /* longer waits are marked; 0 never */
	uint32_t inbox;    /* frames a host that does not poll can hold; 0 any number */
	uint32_t silent;   /* planes that eat everything */
	uint64_t nb_dropped, nb_marked, nb_silent, nb_inbox;
	uint64_t free_ns[2][MRC_MAX_PLANES];
};
void rec_links_attach(struct pair *p, struct rec_links *links);

/* ---- the questions ---- */

void rec_loss(void);
void rec_repair(void);
void rec_answers(void);
void rec_order(void);
void rec_retries(void);
void rec_mpr(void);
void rec_windows(void);
void rec_goodput(void);
void rec_freeze(void);
void rec_demo(void);

#endif
