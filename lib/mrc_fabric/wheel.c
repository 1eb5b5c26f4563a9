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
	uint32_t bit_lines = nb_nodes / (16 * WHEEL_LINE) + 1;
	uint32_t word_lines = nb_nodes / (1024 * WHEEL_LINE) + 1;
	uint32_t nb = mrc_fabric_wheel_nb_cells(nb_nodes) - (bit_lines + word_lines) * WHEEL_LINE;

	wheel->late_bits = (uint64_t *)(void *)(cells + nb);
	wheel->late_words = (uint64_t *)(void *)(cells + nb + bit_lines * WHEEL_LINE);
	wheel->nb_late = 0;
	wheel->late_mask = nb_nodes <= 1 ? 0 : UINT32_MAX >> __builtin_clz(nb_nodes - 1);
	wheel->nb_late_words = wheel->late_mask / 4096 + 1;
	for (uint32_t c = 0; c < (bit_lines + word_lines) * WHEEL_LINE; c++)
		cells[nb + c] = 0;
	for (uint32_t c = nb; c > 0; c -= WHEEL_LINE) {
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
			levels[l].slots[i] = levels[l].late[i] =
				(struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
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

static struct wheel_slot *slot_of(struct wheel_level *lv, uint32_t index, bool late)
{
	return late ? &lv->late[index] : &lv->slots[index];
}

static void link_node(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	uint32_t level = level_of(wheel, at_ns);
	uint32_t index = digit(at_ns, level);
	struct wheel_level *lv = &wheel->levels[level];
	struct wheel_node *n = &wheel->nodes[node];
	struct wheel_slot *slot = slot_of(lv, index, n->late);

	n->at_ns = at_ns;
	n->state = WHEEL_IN;
	if (slot->head == WHEEL_NONE) {
		lv->used[index / 64] |= 1ull << (index % 64);
		lv->summary |= 1ull << (index / 64);
	}
	cell_push(wheel, slot, node);
}

void mrc_fabric_wheel_add(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	wheel->nodes[node].late = false;
	link_node(wheel, node, at_ns < wheel->cur_ns ? wheel->cur_ns : at_ns);
}

void mrc_fabric_wheel_add_late(struct wheel *wheel, uint32_t node, uint64_t at_ns)
{
	wheel->nodes[node].late = true;
	link_node(wheel, node, at_ns < wheel->cur_ns ? wheel->cur_ns : at_ns);
}

/* After something was taken out: the bit of a slot that holds nothing any more. */
static void slot_check(const struct wheel *wheel, struct wheel_level *lv, uint32_t index)
{
	if (lv->slots[index].head != WHEEL_NONE || lv->late[index].head != WHEEL_NONE ||
		(lv == wheel->levels && wheel->nb_late != 0 && index == digit(wheel->cur_ns, 0)))
		return;
	lv->used[index / 64] &= ~(1ull << (index % 64));
	if (lv->used[index / 64] == 0)
		lv->summary &= ~(1ull << (index / 64));
}

/* ---- late nodes of the present instant */

/* The bit of a node, and the node of a bit. Every pair of nodes changes places with every second
 * instant. */
static uint32_t late_bit(const struct wheel *wheel, uint32_t node)
{
	uint64_t h = (wheel->cur_ns + 1) * 0xD6E8FEB86659FD93u;

	h = (h ^ h >> 29) * 0x9E3779B97F4A7C15u;
	return node ^ ((uint32_t)(h >> 32) & wheel->late_mask);
}

static void late_clear(struct wheel *wheel, uint32_t bit)
{
	wheel->late_bits[bit / 64] &= ~(1ull << (bit % 64));
	if (wheel->late_bits[bit / 64] == 0)
		wheel->late_words[bit / 4096] &= ~(1ull << (bit / 64 % 64));
	wheel->nb_late--;
}

static bool late_remove(struct wheel *wheel, uint32_t node)
{
	uint32_t bit = late_bit(wheel, node);

	if ((wheel->late_bits[bit / 64] >> (bit % 64) & 1) == 0)
		return false;
	late_clear(wheel, bit);
	return true;
}

static void late_collect(struct wheel *wheel, struct wheel_slot *slot)
{
	while (slot->head != WHEEL_NONE) {
		uint32_t bit = late_bit(wheel, cell_pop(wheel, slot));

		wheel->late_bits[bit / 64] |= 1ull << (bit % 64);
		wheel->late_words[bit / 4096] |= 1ull << (bit / 64 % 64);
		wheel->nb_late++;
	}
}

/* There is one. */
static uint32_t late_pop(struct wheel *wheel)
{
	uint32_t i = 0, word, bit;

	while (wheel->late_words[i] == 0)
		i++;
	word = i * 64 + (uint32_t)__builtin_ctzll(wheel->late_words[i]);
	bit = word * 64 + (uint32_t)__builtin_ctzll(wheel->late_bits[word]);
	late_clear(wheel, bit);
	return late_bit(wheel, bit);
}

void mrc_fabric_wheel_remove(struct wheel *wheel, uint32_t node)
{
	struct wheel_node *n = &wheel->nodes[node];
	uint32_t level = level_of(wheel, n->at_ns);
	uint32_t index = digit(n->at_ns, level);
	struct wheel_level *lv = &wheel->levels[level];

	if (n->state == WHEEL_IN) {
		if (!n->late || !late_remove(wheel, node))
			cell_remove(wheel, slot_of(lv, index, n->late), node);
		slot_check(wheel, lv, index);
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
	struct wheel_level *lv = &wheel->levels[level];

	for (int late = 0; late < 2; late++) {
		struct wheel_slot *slot = slot_of(lv, index, late != 0), from = *slot;

		*slot = (struct wheel_slot){WHEEL_NONE, WHEEL_NONE};
		while (from.head != WHEEL_NONE) {
			uint32_t node = cell_pop(wheel, &from);

			link_node(wheel, node, wheel->nodes[node].at_ns);
		}
	}
	slot_check(wheel, lv, index);
}

/* The first node of the present instant, WHEEL_NONE without one. */
static uint32_t take(struct wheel *wheel, enum wheel_state state)
{
	struct wheel_level *lv = &wheel->levels[0];
	uint32_t index = digit(wheel->cur_ns, 0), node;

	if (lv->slots[index].head != WHEEL_NONE) {
		node = cell_pop(wheel, &lv->slots[index]);
	} else {
		late_collect(wheel, &lv->late[index]);
		if (wheel->nb_late == 0)
			return WHEEL_NONE;
		node = late_pop(wheel);
	}
	slot_check(wheel, lv, index);
	wheel->nodes[node].state = (uint16_t)state;
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

static uint64_t first_of(const struct wheel *wheel, const struct wheel_slot *slot)
{
	uint64_t first = UINT64_MAX;

	if (slot->head == WHEEL_NONE)
		return first;
	for (uint32_t cell = slot->head;; cell = cell_after(wheel, cell)) {
		uint64_t at_ns = wheel->nodes[wheel->cells[cell]].at_ns;

		first = at_ns < first ? at_ns : first;
		if (cell + 1 == slot->tail)
			return first;
	}
}

uint64_t mrc_fabric_wheel_next(const struct wheel *wheel)
{
	uint32_t index;
	uint32_t level = find_level(wheel, &index);
	uint64_t first, late;

	if (level == WHEEL_LEVELS)
		return UINT64_MAX;
	if (level == 0)
		return slot_start(wheel, 0, index);
	first = first_of(wheel, &wheel->levels[level].slots[index]);
	late = first_of(wheel, &wheel->levels[level].late[index]);
	return late < first ? late : first;
}
