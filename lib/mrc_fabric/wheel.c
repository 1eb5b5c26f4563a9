/* SPDX-License-Identifier: BSD-2-Clause */
#include "wheel.h"

void mrc_fabric_wheel_init(struct wheel *wheel, struct wheel_node *nodes, uint32_t nb_nodes,
	struct wheel_level *levels)
{
	wheel->cur_ns = 0;
	wheel->nodes = nodes;
	wheel->levels = levels;
	for (uint32_t i = 0; i < nb_nodes; i++)
		nodes[i].prev = i;
	for (uint32_t l = 0; l < WHEEL_LEVELS; l++) {
		levels[l].summary = 0;
		for (uint32_t i = 0; i < WHEEL_SLOTS / 64; i++)
			levels[l].used[i] = 0;
		for (uint32_t i = 0; i < WHEEL_SLOTS; i++)
			levels[l].slots[i] = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
	}
}

bool mrc_fabric_wheel_has(const struct wheel *wheel, uint32_t node)
{
	return wheel->nodes[node].prev != node;
}

static uint32_t digit(uint64_t t, uint32_t level)
{
	return (uint32_t)(t >> (WHEEL_BITS * level)) & (WHEEL_SLOTS - 1);
}

/* The level of the highest digit in which t differs from the present. It stays the same while the
 * present moves, until the present enters t's slot on that level and the slot is spread. */
static uint32_t level_of(const struct wheel *wheel, uint64_t t)
{
	uint64_t diff = t ^ wheel->cur_ns;

	return diff < WHEEL_SLOTS ? 0 : (63 - (uint32_t)__builtin_clzll(diff)) / WHEEL_BITS;
}

static void link_node(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	uint32_t level = level_of(wheel, at_ns);
	uint32_t index = digit(at_ns, level);
	struct wheel_level *lv = &wheel->levels[level];
	struct wheel_slot *slot = &lv->slots[index];
	struct wheel_node *n = &wheel->nodes[node];

	n->at_ns = at_ns;
	n->next = WHEEL_NONE;
	n->prev = slot->tail;
	if (slot->tail == WHEEL_NONE) {
		slot->head = node;
		lv->used[index / 64] |= 1ull << (index % 64);
		lv->summary |= 1ull << (index / 64);
	} else {
		wheel->nodes[slot->tail].next = node;
	}
	slot->tail = node;
}

void mrc_fabric_wheel_add(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	link_node(wheel, node, at_ns < wheel->cur_ns ? wheel->cur_ns : at_ns);
}

static void slot_empty(struct wheel_level *lv, uint32_t index)
{
	lv->slots[index] = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
	lv->used[index / 64] &= ~(1ull << (index % 64));
	if (lv->used[index / 64] == 0)
		lv->summary &= ~(1ull << (index / 64));
}

void mrc_fabric_wheel_remove(struct wheel *wheel, uint32_t node)
{
	struct wheel_node *n = &wheel->nodes[node];
	uint32_t level = level_of(wheel, n->at_ns);
	uint32_t index = digit(n->at_ns, level);
	struct wheel_level *lv = &wheel->levels[level];
	struct wheel_slot *slot = &lv->slots[index];

	if (n->prev == WHEEL_CLAIMED) {
		n->prev = node;
		return;
	}
	if (n->prev == WHEEL_NONE)
		slot->head = n->next;
	else
		wheel->nodes[n->prev].next = n->next;
	if (n->next == WHEEL_NONE)
		slot->tail = n->prev;
	else
		wheel->nodes[n->next].prev = n->prev;
	if (slot->head == WHEEL_NONE)
		slot_empty(lv, index);
	n->prev = node;
}

/* First used slot at or behind `from`, WHEEL_NONE without one. */
static uint32_t find_slot(const struct wheel_level *lv, uint32_t from)
{
	uint32_t word = from / 64;
	uint64_t bits;

	if (from >= WHEEL_SLOTS)
		return WHEEL_NONE;
	bits = lv->used[word] & (~0ull << (from % 64));
	if (bits == 0) {
		uint64_t words = word == 63 ? 0 : lv->summary & (~0ull << (word + 1));

		if (words == 0)
			return WHEEL_NONE;
		word = (uint32_t)__builtin_ctzll(words);
		bits = lv->used[word];
	}
	return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

static uint64_t slot_start(const struct wheel *wheel, uint32_t level, uint32_t index)
{
	uint32_t shift = WHEEL_BITS * level;
	uint64_t above = shift + WHEEL_BITS >= 64 ? 0 : ~0ull << (shift + WHEEL_BITS);

	return (wheel->cur_ns & above) | ((uint64_t)index << shift);
}

/* Lowest level with a used slot ahead of the present; WHEEL_LEVELS when the wheel is empty. */
static uint32_t find_level(const struct wheel *wheel, uint32_t *index_out)
{
	for (uint32_t l = 0; l < WHEEL_LEVELS; l++) {
		uint32_t index = find_slot(&wheel->levels[l], digit(wheel->cur_ns, l) + (l > 0));

		if (index != WHEEL_NONE) {
			*index_out = index;
			return l;
		}
	}
	return WHEEL_LEVELS;
}

static void spread(struct wheel *wheel, uint32_t level, uint32_t index)
{
	uint32_t node = wheel->levels[level].slots[index].head;

	slot_empty(&wheel->levels[level], index);
	while (node != WHEEL_NONE) {
		uint32_t next = wheel->nodes[node].next;

		link_node(wheel, node, wheel->nodes[node].at_ns);
		node = next;
	}
}

uint32_t mrc_fabric_wheel_pop(struct wheel *wheel, uint64_t now_ns)
{
	for (;;) {
		uint32_t index;
		uint32_t level = find_level(wheel, &index);
		uint64_t start =
			level < WHEEL_LEVELS ? slot_start(wheel, level, index) : UINT64_MAX;
		uint32_t node;

		if (level == WHEEL_LEVELS || start > now_ns) {
			if (now_ns > wheel->cur_ns)
				wheel->cur_ns = now_ns;
			return WHEEL_NONE;
		}
		wheel->cur_ns = start;
		if (level > 0) {
			spread(wheel, level, index);
			continue;
		}
		node = wheel->levels[0].slots[index].head;
		mrc_fabric_wheel_remove(wheel, node);
		return node;
	}
}

uint32_t mrc_fabric_wheel_claim_due(struct wheel *wheel)
{
	uint32_t index = digit(wheel->cur_ns, 0);
	struct wheel_slot *slot = &wheel->levels[0].slots[index];
	uint32_t node = slot->head;

	if (node == WHEEL_NONE)
		return WHEEL_NONE;
	slot->head = wheel->nodes[node].next;
	if (slot->head == WHEEL_NONE)
		slot_empty(&wheel->levels[0], index);
	else
		wheel->nodes[slot->head].prev = WHEEL_NONE;
	wheel->nodes[node].prev = WHEEL_CLAIMED;
	return node;
}

uint32_t mrc_fabric_wheel_claim(struct wheel *wheel, uint64_t now_ns)
{
	uint32_t node = mrc_fabric_wheel_pop(wheel, now_ns);

	if (node != WHEEL_NONE)
		wheel->nodes[node].prev = WHEEL_CLAIMED;
	return node;
}

bool mrc_fabric_wheel_settle(struct wheel *wheel, uint32_t node)
{
	if (wheel->nodes[node].prev != WHEEL_CLAIMED)
		return false;
	wheel->nodes[node].prev = node;
	return true;
}

uint64_t mrc_fabric_wheel_next(const struct wheel *wheel)
{
	uint32_t index;
	uint32_t level = find_level(wheel, &index);
	uint64_t first = UINT64_MAX;

	if (level == WHEEL_LEVELS)
		return UINT64_MAX;
	if (level == 0)
		return slot_start(wheel, 0, index);
	for (uint32_t n = wheel->levels[level].slots[index].head; n != WHEEL_NONE;
		n = wheel->nodes[n].next) {
		if (wheel->nodes[n].at_ns < first)
			first = wheel->nodes[n].at_ns;
	}
	return first;
}
