/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wheel.h - the event queue: events in order of (time, order of insertion), each O(1).
 *
 * A hierarchical wheel with slots of one nanosecond at the lowest level, so that one slot holds
 * one instant and appending to it keeps the order of insertion; nothing is ever sorted. An event is
 * a node number; a node is in the wheel at most once.
 *
 * What a slot holds is in cells of 4 bytes, 15 to a cache line with the way to the next line in the
 * 16th: whoever takes out the events of an instant has to wait for one line in 15 events. A list
 * through the nodes would have to wait for each. The price is that taking a node out of the middle
 * costs its slot's length; faults and reordering do that, packets do not.
 */
#ifndef WHEEL_H
#define WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_env.h"

#define WHEEL_BITS   12
#define WHEEL_SLOTS  (1u << WHEEL_BITS)
#define WHEEL_LEVELS 6 /* 12 bits each cover all of 64 */
#define WHEEL_NONE   UINT32_MAX

#define WHEEL_LINE 16u /* cells of a cache line */

enum wheel_state {
	WHEEL_OUT,
	WHEEL_IN,
	WHEEL_CLAIMED,
};

struct wheel_node {
	uint64_t at_ns;
	uint16_t state; /* enum wheel_state */
	bool late;
};

/* Cells head .. tail-1, along the lines; head WHEEL_NONE: empty. A tail at the end of a line stays
 * there until there is something to add. */
struct wheel_slot {
	uint32_t head, tail;
};

struct wheel_level {
	uint64_t summary; /* bit i: used[i] is not 0 */
	uint64_t used[WHEEL_SLOTS / 64];
	struct wheel_slot slots[WHEEL_SLOTS];
	struct wheel_slot late[WHEEL_SLOTS];
};

struct wheel {
	uint64_t cur_ns; /* nothing in the wheel is earlier */
	struct wheel_node *nodes;
	struct wheel_level *levels;
	uint32_t *cells;
	uint32_t free_line; /* its first cell, which holds the next one's; WHEEL_NONE ends */
	/* late nodes of the present instant: bit per node, bit per word that is not 0 */
	uint64_t *late_bits, *late_words;
	uint32_t nb_late, nb_late_words;
	uint32_t late_mask; /* a power of two above all node numbers, less 1 */
};

/* Cells that this many nodes need: a line for each slot in use, full ones, both once more for the
 * slot that is being spread, and the bits of late nodes. */
static inline uint32_t mrc_fabric_wheel_nb_cells(uint32_t nb_nodes)
{
	uint32_t lines = nb_nodes + 2 * (nb_nodes / (WHEEL_LINE - 1)) + 4;

	return (lines + nb_nodes / (16 * WHEEL_LINE) + nb_nodes / (1024 * WHEEL_LINE) + 2) *
	       WHEEL_LINE;
}

/* nodes: nb_nodes entries, levels: WHEEL_LEVELS entries, cells: mrc_fabric_wheel_nb_cells entries
 * at a multiple of 64 bytes, all the caller's. */
void mrc_fabric_wheel_init(struct wheel *wheel, struct wheel_node *nodes, uint32_t nb_nodes,
	struct wheel_level *levels, uint32_t *cells);
bool mrc_fabric_wheel_has(const struct wheel *wheel, uint32_t node);
/* The node must not be in the wheel; a time in the past counts as cur_ns. */
void mrc_fabric_wheel_add(struct wheel *wheel, uint32_t node, uint64_t at_ns);
/* The same, but it comes behind all nodes of its instant that are not late, and late ones come in
 * an order that follows from their numbers and the time, by which no number is preferred: for
 * events whose order of insertion is an accident. */
void mrc_fabric_wheel_add_late(struct wheel *wheel, uint32_t node, uint64_t at_ns);
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
