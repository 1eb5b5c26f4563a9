/* SPDX-License-Identifier: BSD-2-Clause */
/* The event queue against a sorted list: order of time, then of insertion, over every level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test_env.h"
#include "wheel.h"

enum {
	NB_NODES = 400,
	NB_ROUNDS = 30000
};

struct reference {
	bool in, late;
	uint64_t at_ns, order;
};

static struct wheel wheel;
static struct wheel_node nodes[NB_NODES];
static struct wheel_level levels[WHEEL_LEVELS];
static _Alignas(64) uint32_t cells[2 * NB_NODES * WHEEL_LINE];
static struct reference refs[NB_NODES];

/* Late ones behind the others; which of them is first is the wheel's choice. */
static bool before(uint32_t x, uint32_t y)
{
	if (refs[x].at_ns != refs[y].at_ns)
		return refs[x].at_ns < refs[y].at_ns;
	if (refs[x].late != refs[y].late)
		return refs[y].late;
	return refs[x].order < refs[y].order;
}

static uint32_t first(void)
{
	uint32_t best = WHEEL_NONE;

	for (uint32_t i = 0; i < NB_NODES; i++) {
		if (!refs[i].in)
			continue;
		if (best == WHEEL_NONE || before(i, best))
			best = i;
	}
	return best;
}

/* Distances of every size: the same instant, the same slot of each level, the far future. */
static uint64_t random_distance(struct test_env *te)
{
	uint32_t bits = test_random_below(te, 44);

	return test_random64(te) & ((1ull << bits) - 1);
}

static void add(struct test_env *te, uint64_t order)
{
	uint32_t i = test_random_below(te, NB_NODES);
	uint64_t at_ns = wheel.cur_ns + random_distance(te);
	bool late = test_random_below(te, 3) == 0;

	assert_int_equal(mrc_fabric_wheel_has(&wheel, i), refs[i].in);
	if (refs[i].in)
		return;
	if (late)
		mrc_fabric_wheel_add_late(&wheel, i, at_ns);
	else
		mrc_fabric_wheel_add(&wheel, i, at_ns);
	refs[i] = (struct reference){true, late, at_ns, order};
}

static void pop(struct test_env *te)
{
	uint32_t want = first(), got;
	uint64_t now_ns = wheel.cur_ns + random_distance(te);

	if (want != WHEEL_NONE && test_random_below(te, 2) == 0)
		now_ns = refs[want].at_ns;
	assert_int_equal(
		mrc_fabric_wheel_next(&wheel), want == WHEEL_NONE ? UINT64_MAX : refs[want].at_ns);
	if (want == WHEEL_NONE || refs[want].at_ns > now_ns) {
		assert_int_equal(mrc_fabric_wheel_pop(&wheel, now_ns), WHEEL_NONE);
		assert_int_equal(wheel.cur_ns, now_ns);
		return;
	}
	if (test_random_below(te, 2) == 0) {
		got = mrc_fabric_wheel_pop(&wheel, now_ns);
	} else {
		got = mrc_fabric_wheel_claim(&wheel, now_ns);
		assert_true(mrc_fabric_wheel_has(&wheel, got));
		assert_true(mrc_fabric_wheel_settle(&wheel, got));
	}
	assert_true(refs[got].in && refs[got].late == refs[want].late);
	assert_int_equal(refs[got].at_ns, refs[want].at_ns);
	if (!refs[got].late)
		assert_int_equal(got, want);
	assert_int_equal(wheel.cur_ns, refs[want].at_ns);
	refs[got].in = false;
}

static void order_is_time_then_insertion(void **state)
{
	struct test_env te;

	test_env_init(&te, 7);
	assert_in_range(mrc_fabric_wheel_nb_cells(NB_NODES), 1, sizeof(cells) / sizeof(cells[0]));
	mrc_fabric_wheel_init(&wheel, nodes, NB_NODES, levels, cells);
	for (uint64_t round = 0; round < NB_ROUNDS; round++) {
		uint32_t i = test_random_below(&te, NB_NODES);

		if (test_random_below(&te, 20) == 0 && refs[i].in) {
			mrc_fabric_wheel_remove(&wheel, i);
			refs[i].in = false;
		} else if (test_random_below(&te, 2) == 0) {
			add(&te, round);
		} else {
			pop(&te);
		}
	}
}

/* Claims keep the order, leave what joins the instant for later, and end when the node is removed.
 */
static void claims(void **state)
{
	mrc_fabric_wheel_init(&wheel, nodes, NB_NODES, levels, cells);
	for (uint32_t i = 1; i <= 4; i++)
		mrc_fabric_wheel_add(&wheel, i, 700);
	mrc_fabric_wheel_add(&wheel, 9, 701);
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), WHEEL_NONE);
	assert_int_equal(mrc_fabric_wheel_claim(&wheel, 699), WHEEL_NONE);
	assert_int_equal(mrc_fabric_wheel_claim(&wheel, 700), 1);
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), 2);
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), 3);
	assert_true(mrc_fabric_wheel_settle(&wheel, 1));
	mrc_fabric_wheel_add(&wheel, 1, 700);
	assert_true(mrc_fabric_wheel_has(&wheel, 3));
	mrc_fabric_wheel_remove(&wheel, 3);
	assert_false(mrc_fabric_wheel_has(&wheel, 3));
	assert_true(mrc_fabric_wheel_settle(&wheel, 2));
	assert_false(mrc_fabric_wheel_settle(&wheel, 3));
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), 4);
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), 1);
	assert_int_equal(mrc_fabric_wheel_claim_due(&wheel), WHEEL_NONE);
	assert_int_equal(mrc_fabric_wheel_claim(&wheel, 800), 9);
	assert_int_equal(wheel.cur_ns, 701);
}

/* The order of late ones does not depend on when they were added, and prefers nobody. */
static void late_ones_have_an_order(void **state)
{
	uint32_t first_wins = 0;

	mrc_fabric_wheel_init(&wheel, nodes, NB_NODES, levels, cells);
	for (uint64_t t = 1; t <= 2000; t++) {
		uint32_t order[3];

		for (uint32_t turn = 0; turn < 2; turn++) {
			for (uint32_t i = 0; i < 3; i++)
				mrc_fabric_wheel_add_late(
					&wheel, turn == 0 ? 7 + i : 9 - i, 10000 * t);
			mrc_fabric_wheel_add(&wheel, 20, 10000 * t);
			assert_int_equal(mrc_fabric_wheel_pop(&wheel, 10000 * t), 20);
			for (uint32_t i = 0; i < 3; i++) {
				uint32_t got = mrc_fabric_wheel_pop(&wheel, 10000 * t);

				if (turn == 0)
					order[i] = got;
				assert_int_equal(got, order[i]);
			}
			first_wins +=
				turn == 0 && (order[0] == 7 || (order[1] == 7 && order[0] == 8));
		}
		assert_int_equal(mrc_fabric_wheel_pop(&wheel, 10000 * t), WHEEL_NONE);
	}
	assert_in_range(first_wins, 800, 1600);
}

static void time_in_the_past_is_now(void **state)
{
	mrc_fabric_wheel_init(&wheel, nodes, NB_NODES, levels, cells);
	assert_int_equal(mrc_fabric_wheel_pop(&wheel, 5000), WHEEL_NONE);
	mrc_fabric_wheel_add(&wheel, 3, 10);
	assert_int_equal(mrc_fabric_wheel_next(&wheel), 5000);
	assert_int_equal(mrc_fabric_wheel_pop(&wheel, 5000), 3);
}

static void last_instant(void **state)
{
	mrc_fabric_wheel_init(&wheel, nodes, NB_NODES, levels, cells);
	mrc_fabric_wheel_add(&wheel, 1, UINT64_MAX - 1);
	assert_int_equal(mrc_fabric_wheel_next(&wheel), UINT64_MAX - 1);
	assert_int_equal(mrc_fabric_wheel_pop(&wheel, UINT64_MAX - 2), WHEEL_NONE);
	assert_int_equal(mrc_fabric_wheel_pop(&wheel, UINT64_MAX - 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_time_then_insertion),
		cmocka_unit_test(claims),
		cmocka_unit_test(late_ones_have_an_order),
		cmocka_unit_test(time_in_the_past_is_now),
		cmocka_unit_test(last_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
