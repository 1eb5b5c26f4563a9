/* SPDX-License-Identifier: BSD-2-Clause */
#include "wheel.h"

#include "mrc_assert.h"

void mrc_fabric_wheel_init(struct wheel *wheel, struct wheel_node *nodes, uint32_t nb_nodes,
	struct wheel_level *levels, uint32_t *cells)
{
	wheel->cur_ns = 0;
	wheel->nodes = nodes;
	wheel->levels = levels;
	wheel->cells = cells;
	wheel->free_line = WHEEL_NONE;
	for (uint32_t c = mrc_fabric_wheel_nb_cells(nb_nodes); c > 0; c -= WHEEL_LINE) {
		cells[c - WHEEL_LINE] = wheel->free_line;
		wheel->free_line = c - WHEEL_LINE;
	}
	for (uint32_t i = 0; i < nb_nodes; i++)
		nodes[i].state = WHEEL_OUT;
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
	return wheel->nodes[node].state != WHEEL_OUT;
}

/* ---- cells */

static uint32_t line_get(struct wheel *wheel)
{
	uint32_t cell = wheel->free_line;

	MRC_ASSERT(cell != WHEEL_NONE);
	wheel->free_line = wheel->cells[cell];
	return cell;
}

/* The line of a cell. */
static void line_put(struct wheel *wheel, uint32_t cell)
{
	cell &= ~(WHEEL_LINE - 1);
	wheel->cells[cell] = wheel->free_line;
	wheel->free_line = cell;
}

/* Is it the last cell of its line, which names the next line? */
static bool is_way(uint32_t cell)
{
	return cell % WHEEL_LINE == WHEEL_LINE - 1;
}

/* The cell behind one that is not the slot's last. */
static uint32_t cell_after(const struct wheel *wheel, uint32_t cell)
{
	return is_way(cell + 1) ? wheel->cells[cell + 1] : cell + 1;
}

static void cell_push(struct wheel *wheel, struct wheel_slot *slot, uint32_t node)
{
	if (slot->head == WHEEL_NONE) {
		slot->head = slot->tail = line_get(wheel);
	} else if (is_way(slot->tail)) {
		uint32_t next = line_get(wheel);

		wheel->cells[slot->tail] = next;
		slot->tail = next;
	}
	wheel->cells[slot->tail++] = node;
}

/* The first one; leaves head WHEEL_NONE when it was the last one too. */
static uint32_t cell_pop(struct wheel *wheel, struct wheel_slot *slot)
{
	uint32_t cell = slot->head, node = wheel->cells[cell];

	if (cell + 1 == slot->tail) {
		line_put(wheel, cell);
		*slot = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
		return node;
	}
	slot->head = cell_after(wheel, cell);
	if (is_way(cell + 1)) {
		line_put(wheel, cell);
		if (slot->head / WHEEL_LINE != slot->tail / WHEEL_LINE)
			__builtin_prefetch(
				&wheel->cells[wheel->cells[slot->head | (WHEEL_LINE - 1)]]);
	}
	return node;
}

/* Takes a node out of the middle: those behind it move up. */
static void cell_remove(struct wheel *wheel, struct wheel_slot *slot, uint32_t node)
{
	uint32_t cell = slot->head, before = WHEEL_NONE;

	while (wheel->cells[cell] != node) {
		before = cell;
		cell = cell_after(wheel, cell);
	}
	while (cell + 1 != slot->tail) {
		uint32_t next = cell_after(wheel, cell);

		wheel->cells[cell] = wheel->cells[next];
		before = cell;
		cell = next;
	}
	if (before == WHEEL_NONE) {
		line_put(wheel, cell);
		*slot = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
		return;
	}
	if (before / WHEEL_LINE != cell / WHEEL_LINE)
		line_put(wheel, cell);
	slot->tail = before + 1;
}

/* ---- slots */

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
	struct wheel_node *n = &wheel->nodes[node];

	n->at_ns = at_ns;
	n->state = WHEEL_IN;
	if (lv->slots[index].head == WHEEL_NONE) {
		lv->used[index / 64] |= 1ull << (index % 64);
		lv->summary |= 1ull << (index / 64);
	}
	cell_push(wheel, &lv->slots[index], node);
}

void mrc_fabric_wheel_add(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	link_node(wheel, node, at_ns < wheel->cur_ns ? wheel->cur_ns : at_ns);
}

static void slot_unused(struct wheel_level *lv, uint32_t index)
{
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

	if (n->state == WHEEL_IN) {
		cell_remove(wheel, &lv->slots[index], node);
		if (lv->slots[index].head == WHEEL_NONE)
			slot_unused(lv, index);
	}
	n->state = WHEEL_OUT;
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
	struct wheel_slot *slot = &wheel->levels[level].slots[index], from = *slot;

	*slot = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
	slot_unused(&wheel->levels[level], index);
	while (from.head != WHEEL_NONE) {
		uint32_t node = cell_pop(wheel, &from);

		link_node(wheel, node, wheel->nodes[node].at_ns);
	}
}

/* The first node of the present instant, WHEEL_NONE without one. */
static uint32_t take(struct wheel *wheel, enum wheel_state state)
{
	uint32_t index = digit(wheel->cur_ns, 0), node;
	struct wheel_slot *slot = &wheel->levels[0].slots[index];

	if (slot->head == WHEEL_NONE)
		return WHEEL_NONE;
	node = cell_pop(wheel, slot);
	if (slot->head == WHEEL_NONE)
		slot_unused(&wheel->levels[0], index);
	wheel->nodes[node].state = state;
	return node;
}

/* Moves the present to the first node due at or before now_ns; false, and to now_ns, when there is
 * none. */
static bool advance(struct wheel *wheel, uint64_t now_ns)
{
	for (;;) {
		uint32_t index;
		uint32_t level = find_level(wheel, &index);
		uint64_t start =
			level < WHEEL_LEVELS ? slot_start(wheel, level, index) : UINT64_MAX;

		if (level == WHEEL_LEVELS || start > now_ns) {
			if (now_ns > wheel->cur_ns)
				wheel->cur_ns = now_ns;
			return false;
		}
		wheel->cur_ns = start;
		if (level == 0)
			return true;
		spread(wheel, level, index);
	}
}

uint32_t mrc_fabric_wheel_pop(struct wheel *wheel, uint64_t now_ns)
{
	return advance(wheel, now_ns) ? take(wheel, WHEEL_OUT) : WHEEL_NONE;
}

uint32_t mrc_fabric_wheel_claim(struct wheel *wheel, uint64_t now_ns)
{
	return advance(wheel, now_ns) ? take(wheel, WHEEL_CLAIMED) : WHEEL_NONE;
}

uint32_t mrc_fabric_wheel_claim_due(struct wheel *wheel)
{
	return take(wheel, WHEEL_CLAIMED);
}

bool mrc_fabric_wheel_settle(struct wheel *wheel, uint32_t node)
{
	if (wheel->nodes[node].state != WHEEL_CLAIMED)
		return false;
	wheel->nodes[node].state = WHEEL_OUT;
	return true;
}

uint64_t mrc_fabric_wheel_next(const struct wheel *wheel)
{
	const struct wheel_slot *slot;
	uint32_t index;
	uint32_t level = find_level(wheel, &index);
	uint64_t first = UINT64_MAX;

	if (level == WHEEL_LEVELS)
		return UINT64_MAX;
	if (level == 0)
		return slot_start(wheel, 0, index);
	slot = &wheel->levels[level].slots[index];
	for (uint32_t cell = slot->head;; cell = cell_after(wheel, cell)) {
		uint64_t at_ns = wheel->nodes[wheel->cells[cell]].at_ns;

		first = at_ns < first ? at_ns : first;
		if (cell + 1 == slot->tail)
			return first;
	}
}
