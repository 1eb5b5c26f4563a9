/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wheel.h - the hierarchical timing wheel: every timer of an engine hangs here.
 *
 * Nine levels of 64 slots, level 0 in ticks of 1024 ns, so that the whole 64-bit nanosecond range
 * fits and no deadline needs clamping. A node sits at the level of the highest digit (base 64) in
 * which its deadline's tick differs from the wheel's; then every node of a level is earlier than
 * every node of a higher one, and the first one is found by bit scans. Nodes keep the exact
 * deadline: a slot that is reached early lets go only of what is due.
 *
 *   level 8 ... 2 [64 slots of 4096 ticks] 1 [64 slots of 64 ticks] 0 [64 slots of one tick] -> due
 *                └────── cascade ─────────►└────── cascade ────────►
 *
 * Insert and remove are O(1); finding the first is O(levels); a node moves down at most once per
 * level. Work per wheel_pop is bounded, so that ten thousand timers of one instant do not hold up
 * the caller.
 */
#ifndef WHEEL_H
#define WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

#define WHEEL_LEVELS 9
#define WHEEL_SLOTS  64
#define WHEEL_NEVER  UINT64_MAX

struct wheel_node {
	struct link link;
	uint64_t at_ns; /* deadline while linked */
	uint16_t slot;  /* level * 64 + index while linked */
	uint8_t kind;   /* what the owner is; the wheel does not look at it */
};

struct wheel {
	uint64_t tick; /* everything before this tick has been popped */
	uint32_t nb;   /* nodes linked */
	uint32_t
		moving; /* slot (level * 64 + index) left half cascaded by a spent budget; 0 none */
	uint64_t used[WHEEL_LEVELS];                  /* bit s = slot s holds nodes */
	uint64_t first_ns[WHEEL_LEVELS][WHEEL_SLOTS]; /* not later than the slot's first deadline */
	struct link slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *wheel, uint64_t now_ns);
void wheel_node_init(struct wheel_node *node);

static inline bool wheel_armed(const struct wheel_node *node)
{
	return list_linked(&node->link);
}

/* Arms an unlinked node. A deadline in the past is due at once. */
void wheel_insert(struct wheel *wheel, struct wheel_node *node, uint64_t at_ns);
/* Takes the node out if it is linked. */
void wheel_remove(struct wheel *wheel, struct wheel_node *node);

/*
 * Takes out one node whose deadline is not after now_ns, or returns NULL. *budget is lowered by
 * every node moved or popped; NULL with *budget 0 means there may be more. Deadlines come out in
 * tick order.
 */
struct wheel_node *wheel_pop(struct wheel *wheel, uint64_t now_ns, uint32_t *budget);

/* Not later than the first deadline and exact when its slot saw no removal; WHEEL_NEVER if empty.
 */
uint64_t wheel_first_ns(const struct wheel *wheel);

#endif
