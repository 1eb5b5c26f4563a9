/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wheel.h - the event queue: events in order of (time, order of insertion), each O(1).
 *
 * A hierarchical wheel with slots of one nanosecond at the lowest level, so that one slot holds
 * one instant and appending to its list keeps the order of insertion; nothing is ever sorted. An
 * event is a node number; a node is in the wheel at most once.
 */
#ifndef WHEEL_H
#define WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_env.h"

#define WHEEL_BITS    12
#define WHEEL_SLOTS   (1u << WHEEL_BITS)
#define WHEEL_LEVELS  6 /* 12 bits each cover all of 64 */
#define WHEEL_NONE    UINT32_MAX
#define WHEEL_CLAIMED (UINT32_MAX - 1)

struct wheel_node {
	uint64_t at_ns;
	uint32_t next, prev; /* prev == own number: not in the wheel; WHEEL_CLAIMED */
};

struct wheel_slot {
	uint32_t head, tail;
};

struct wheel_level {
	uint64_t summary; /* bit i: used[i] is not 0 */
	uint64_t used[WHEEL_SLOTS / 64];
	struct wheel_slot slots[WHEEL_SLOTS];
};

struct wheel {
	uint64_t cur_ns; /* nothing in the wheel is earlier */
	struct wheel_node *nodes;
	struct wheel_level *levels;
};

/* nodes: nb_nodes entries, levels: WHEEL_LEVELS entries, both the caller's. */
void mrc_fabric_wheel_init(struct wheel *wheel, struct wheel_node *nodes, uint32_t nb_nodes,
	struct wheel_level *levels);
bool mrc_fabric_wheel_has(const struct wheel *wheel, uint32_t node);
/* The node must not be in the wheel; a time in the past counts as cur_ns. */
void mrc_fabric_wheel_add(struct wheel *wheel, uint32_t node, uint64_t at_ns);
void mrc_fabric_wheel_remove(struct wheel *wheel, uint32_t node);
/* Takes out the first node due at or before now_ns and moves cur_ns to its time; WHEEL_NONE, and
 * cur_ns = now_ns, when there is none. */
uint32_t mrc_fabric_wheel_pop(struct wheel *wheel, uint64_t now_ns);
/*
 * Claiming: whoever wants to see some nodes before the first of them is handled takes them out one
 * by one, in order. A claimed node still counts as being in the wheel at cur_ns, and removing it
 * makes the claim void.
 *
 * claim: as pop, but claims. claim_due: the same for what is due at cur_ns only, which costs less.
 * settle: ends a claim; false when it was void.
 */
uint32_t mrc_fabric_wheel_claim(struct wheel *wheel, uint64_t now_ns);
uint32_t mrc_fabric_wheel_claim_due(struct wheel *wheel);
bool mrc_fabric_wheel_settle(struct wheel *wheel, uint32_t node);
/* Time of the first node, UINT64_MAX without any. */
uint64_t mrc_fabric_wheel_next(const struct wheel *wheel);

#endif
