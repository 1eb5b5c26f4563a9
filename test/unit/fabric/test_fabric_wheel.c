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
	bool in;
	uint64_t at_ns, order;
};

static struct wheel wheel;
static struct wheel_node nodes[NB_NODES];
static struct wheel_level levels[WHEEL_LEVELS];
/* mrc_fabric_wheel_nb_cells(NB_NODES) */
static uint32_t cells[(NB_NODES + 2 * (NB_NODES / 15) + 4) * WHEEL_LINE];
static struct reference refs[NB_NODES];

static uint32_t first(void)
{
	uint32_t best = WHEEL_NONE;

	for (uint32_t i = 0; i < NB_NODES; i++) {
		if (!refs[i].in)
			continue;
		if (best == WHEEL_NONE || refs[i].at_ns < refs[best].at_ns ||
			(refs[i].at_ns == refs[best].at_ns && refs[i].order < refs[best].order))
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

	assert_int_equal(mrc_fabric_wheel_has(&wheel, i), refs[i].in);
	if (refs[i].in)
		return;
	mrc_fabric_wheel_add(&wheel, i, at_ns);
	refs[i] = (struct reference){true, at_ns, order};
}

static void pop(struct test_env *te)
{
	uint32_t want = first();
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
		assert_int_equal(mrc_fabric_wheel_pop(&wheel, now_ns), want);
	} else {
		assert_int_equal(mrc_fabric_wheel_claim(&wheel, now_ns), want);
		assert_true(mrc_fabric_wheel_has(&wheel, want));
		assert_true(mrc_fabric_wheel_settle(&wheel, want));
	}
	assert_int_equal(wheel.cur_ns, refs[want].at_ns);
	refs[want].in = false;
}

static void order_is_time_then_insertion(void **state)
{
	struct test_env te;

	test_env_init(&te, 7);
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
		cmocka_unit_test(time_in_the_past_is_now),
		cmocka_unit_test(last_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
