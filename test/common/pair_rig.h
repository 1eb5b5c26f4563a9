/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair_rig.h - a pair whose requester is looked into: tests that set round trips and departure
 * times in the engine's own structures, behind the checker's back.
 */
#ifndef PAIR_RIG_H
#define PAIR_RIG_H

#include "pair_test.h"

#include "engine.h"

/* The first QP of A. */
struct pair_rig {
	struct pair *p;
	struct pair_tape tape;
	struct mrc_sched *s;
	struct mrc_sched_qp *qp;
};

/* change: NULL, or what the test wants of the configuration. */
void pair_rig_open(struct pair_rig *r, const char *name, void (*change)(struct pair_cfg *cfg));
void pair_rig_close(struct pair_rig *r);
/* Two packets are out and nothing answers; every plane was heard, its slowest round trip 100 us, on
 * average 40 us with a deviation of 1 us. */
void pair_rig_two_out(struct pair_rig *r, const char *name);
/* Entry and plane of packet k. */
struct sent *pair_rig_sent(struct pair_rig *r, int32_t k);
uint32_t pair_rig_plane(struct pair_rig *r, int32_t k);

#endif
