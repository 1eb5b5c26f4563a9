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
/* Opens it; a write of len bytes is out, nothing answers, and run_ns have passed. */
void pair_rig_unheard(struct pair_rig *r, const char *name, void (*change)(struct pair_cfg *cfg),
	uint32_t len, uint64_t run_ns);
/* Two packets are out and nothing answers; every plane was heard, its slowest round trip 100 us, on
 * average 40 us with a deviation of 1 us. */
void pair_rig_two_out(struct pair_rig *r, const char *name);
/* PSN, entry and plane of packet k. */
mrc_psn_t pair_rig_psn(const struct pair_rig *r, int32_t k);
struct sent *pair_rig_sent(struct pair_rig *r, int32_t k);
uint32_t pair_rig_plane(struct pair_rig *r, int32_t k);
/* The last packet of this kind that a side sent. */
const struct mrc_pkt *pair_rig_last(struct pair_rig *r, int side, uint8_t opcode);
/* A probe of any entropy value, on demand of A's host. */
struct mrc_sched_ep_req pair_rig_ev_probe(const struct pair_rig *r);

#endif
