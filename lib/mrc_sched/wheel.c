/* SPDX-License-Identifier: BSD-2-Clause */
#include "wheel.h"

#include "mrc_assert.h"

#define TICK_SHIFT  10
#define LEVEL_SHIFT 6
#define SLOT_MASK   (WHEEL_SLOTS - 1u)

void wheel_init(struct wheel *wheel, uint64_t now_ns)
{
	wheel->tick = now_ns >> TICK_SHIFT;
	wheel->nb = 0;
	wheel->moving = 0;
	for (uint32_t l = 0; l < WHEEL_LEVELS; l++) {
		wheel->used[l] = 0;
		for (uint32_t s = 0; s < WHEEL_SLOTS; s++)
			list_init(&wheel->slots[l][s]);
	}
}

void wheel_node_init(struct wheel_node *node)
{
	list_init(&node->link);
}

void wheel_insert(struct wheel *wheel, struct wheel_node *node, uint64_t at_ns)
{
	uint64_t tick = at_ns >> TICK_SHIFT;
	uint32_t level = 0, slot;

	MRC_ASSERT(!wheel_armed(node));
	if (tick < wheel->tick)
		tick = wheel->tick;
	if (tick != wheel->tick)
		level = (63u - (uint32_t)__builtin_clzll(tick ^ wheel->tick)) / LEVEL_SHIFT;
	MRC_ASSERT(level < WHEEL_LEVELS);
	slot = (uint32_t)(tick >> (level * LEVEL_SHIFT)) & SLOT_MASK;
	if ((wheel->used[level] >> slot & 1) == 0 || at_ns < wheel->first_ns[level][slot])
		wheel->first_ns[level][slot] = at_ns;
	wheel->used[level] |= UINT64_C(1) << slot;
	node->at_ns = at_ns;
	node->slot = (uint16_t)(level * WHEEL_SLOTS + slot);
	list_push(&wheel->slots[level][slot], &node->link);
	wheel->nb++;
}

void wheel_remove(struct wheel *wheel, struct wheel_node *node)
{
	uint32_t level = node->slot / WHEEL_SLOTS, slot = node->slot & SLOT_MASK;

	if (!wheel_armed(node))
		return;
	MRC_ASSERT(wheel->nb > 0);
	list_remove(&node->link);
	wheel->nb--;
	if (list_empty(&wheel->slots[level][slot]))
		wheel->used[level] &= ~(UINT64_C(1) << slot);
}

/* Lowest level in use, or WHEEL_LEVELS. */
static uint32_t first_level(const struct wheel *wheel)
{
	uint32_t l = 0;

	while (l < WHEEL_LEVELS && wheel->used[l] == 0)
		l++;
	return l;
}

/* First tick of a slot of a level above 0: the wheel's higher digits, this digit, zeros. */
static uint64_t slot_tick(const struct wheel *wheel, uint32_t level, uint32_t slot)
{
	uint32_t shift = level * LEVEL_SHIFT;
	uint64_t above = shift + LEVEL_SHIFT < 64
				 ? wheel->tick >> (shift + LEVEL_SHIFT) << (shift + LEVEL_SHIFT)
				 : 0;

	return above | (uint64_t)slot << shift;
}

uint64_t wheel_first_ns(const struct wheel *wheel)
{
	uint32_t level = first_level(wheel), slot;
	uint64_t begin_ns;

	if (level == WHEEL_LEVELS)
		return WHEEL_NEVER;
	if (wheel->moving != 0)
		return 0;
	slot = (uint32_t)__builtin_ctzll(wheel->used[level]);
	if (level == 0)
		return wheel->first_ns[0][slot];
	/* A removal leaves first_ns too early; not before the slot's own time, though, or the
	 * caller would spin until then. */
	begin_ns = slot_tick(wheel, level, slot) << TICK_SHIFT;
	return wheel->first_ns[level][slot] > begin_ns ? wheel->first_ns[level][slot] : begin_ns;
}

/* Moves the nodes of a slot whose time has come to lower levels; notes it when the budget ends. */
static void cascade(struct wheel *wheel, uint32_t id, uint32_t *budget)
{
	struct link *head = &wheel->slots[id / WHEEL_SLOTS][id & SLOT_MASK];

	MRC_ASSERT(id >= WHEEL_SLOTS);
	while (!list_empty(head) && *budget > 0) {
		struct wheel_node *node = LIST_OWNER(head->next, struct wheel_node, link);

		wheel_remove(wheel, node);
		wheel_insert(wheel, node, node->at_ns);
		(*budget)--;
	}
	wheel->moving = list_empty(head) ? 0 : id;
}

/* A due node of a level-0 slot, or NULL; corrects the slot's first deadline when none is due. */
static struct wheel_node *slot_due(
	struct wheel *wheel, uint32_t slot, uint64_t now_ns, uint32_t *budget)
{
	struct link *head = &wheel->slots[0][slot];
	uint64_t first_ns = WHEEL_NEVER;

	for (struct link *l = head->next; l != head; l = l->next) {
		struct wheel_node *node = LIST_OWNER(l, struct wheel_node, link);

		if (node->at_ns <= now_ns) {
			wheel_remove(wheel, node);
			(*budget)--;
			return node;
		}
		if (node->at_ns < first_ns)
			first_ns = node->at_ns;
	}
	wheel->first_ns[0][slot] = first_ns;
	return NULL;
}

/* Nothing is due before now_tick: later inserts are placed relative to it. */
static struct wheel_node *nothing_due(struct wheel *wheel, uint64_t now_tick)
{
	if (now_tick > wheel->tick)
		wheel->tick = now_tick;
	return NULL;
}

struct wheel_node *wheel_pop(struct wheel *wheel, uint64_t now_ns, uint32_t *budget)
{
	uint64_t now_tick = now_ns >> TICK_SHIFT;

	while (*budget > 0) {
		uint32_t level = first_level(wheel);
		struct wheel_node *node;
		uint32_t slot;

		if (wheel->moving != 0) {
			cascade(wheel, wheel->moving, budget);
			continue;
		}
		if (level == WHEEL_LEVELS)
			return nothing_due(wheel, now_tick);
		slot = (uint32_t)__builtin_ctzll(wheel->used[level]);
		if (level > 0) {
			if (slot_tick(wheel, level, slot) > now_tick)
				return nothing_due(wheel, now_tick);
			wheel->tick = slot_tick(wheel, level, slot);
			cascade(wheel, level * WHEEL_SLOTS + slot, budget);
			continue;
		}
		if (wheel->first_ns[0][slot] > now_ns)
			return nothing_due(wheel, now_tick);
		node = slot_due(wheel, slot, now_ns, budget);
		if (node != NULL)
			return node;
	}
	return NULL;
}
