/* SPDX-License-Identifier: BSD-2-Clause */
/* The timing wheel against a plain list of deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test_env.h"
#include "wheel.h"

#define NB 512

static struct wheel wheel;
static struct wheel_node nodes[NB];

static void start(uint64_t now_ns)
{
	wheel_init(&wheel, now_ns);
	for (uint32_t i = 0; i < NB; i++)
		wheel_node_init(&nodes[i]);
}

static uint64_t true_first(void)
{
	uint64_t first = WHEEL_NEVER;

	for (uint32_t i = 0; i < NB; i++)
		if (wheel_armed(&nodes[i]) && nodes[i].at_ns < first)
			first = nodes[i].at_ns;
	return first;
}

/* Distances from a nanosecond to years. */
static uint64_t some_distance(struct test_env *te)
{
	return test_random64(te) >> (8 + test_random_below(te, 56));
}

static void run_random(struct test_env *te, uint64_t now_ns, uint32_t steps)
{
	start(now_ns);
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t i = test_random_below(te, NB), budget = UINT32_MAX;
		struct wheel_node *node;
		uint64_t first;

		if (wheel_armed(&nodes[i]))
			wheel_remove(&wheel, &nodes[i]);
		else
			wheel_insert(&wheel, &nodes[i], now_ns + some_distance(te));
		assert_true(wheel_first_ns(&wheel) <= true_first());
		if (test_random_below(te, 4) != 0)
			continue;
		/* often exactly to the first deadline, or a nanosecond short of it */
		first = true_first();
		if (test_random_below(te, 2) != 0 && first != WHEEL_NEVER && first > now_ns)
			now_ns = first - test_random_below(te, 2);
		else
			now_ns += some_distance(te) >> 8;
		while ((node = wheel_pop(&wheel, now_ns, &budget)) != NULL) {
			assert_true(node->at_ns <= now_ns);
			assert_false(wheel_armed(node));
		}
		assert_true(true_first() > now_ns);
	}
}

static void agrees_with_a_list(void **state)
{
	struct test_env te;

	test_env_init(&te, 0xE1);
	run_random(&te, 0, 200000);
	run_random(&te, 1, 20000);
	run_random(&te, (UINT64_C(1) << 42) - 5, 20000);             /* 2^32 us */
	run_random(&te, (UINT64_C(1) << 63) - 1000, 20000);          /* the sign bit changes */
	run_random(&te, UINT64_C(3650) * 86400 * 1000000000, 20000); /* ten years up */
}

static void empty_says_never(void **state)
{
	uint32_t budget = 8;

	start(123456789);
	assert_true(wheel_first_ns(&wheel) == WHEEL_NEVER);
	wheel_insert(&wheel, &nodes[0], 123456789 + 5000);
	assert_true(wheel_first_ns(&wheel) == 123456789 + 5000);
	wheel_remove(&wheel, &nodes[0]);
	assert_true(wheel_first_ns(&wheel) == WHEEL_NEVER);
	assert_null(wheel_pop(&wheel, UINT64_MAX - 1, &budget));
	assert_int_equal(budget, 8);
}

static void the_past_is_due_at_once(void **state)
{
	uint32_t budget = 8;

	start(1000000);
	wheel_insert(&wheel, &nodes[0], 3);
	assert_ptr_equal(wheel_pop(&wheel, 1000000, &budget), &nodes[0]);
	assert_null(wheel_pop(&wheel, 1000000, &budget));
}

static void exact_to_the_nanosecond(void **state)
{
	static const uint64_t far[] = {1, 1023, 1024, 65535, 65536, 4194304, 17179869184u};

	for (uint32_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		uint32_t budget = 100;

		start(777);
		wheel_insert(&wheel, &nodes[i], 777 + far[i]);
		assert_null(wheel_pop(&wheel, 777 + far[i] - 1, &budget));
		assert_ptr_equal(wheel_pop(&wheel, 777 + far[i], &budget), &nodes[i]);
	}
}

/* Many of one instant: a small budget takes them in portions and says that more is due. */
static void portions(void **state)
{
	uint32_t popped = 0, calls = 0;

	start(0);
	for (uint32_t i = 0; i < NB; i++)
		wheel_insert(&wheel, &nodes[i], 50000000);
	while (popped < NB) {
		uint32_t budget = 16, before = popped;

		assert_true(wheel_first_ns(&wheel) <= 50000000);
		while (wheel_pop(&wheel, 50000000, &budget) != NULL)
			popped++;
		assert_true(popped - before <= 16);
		assert_true(++calls < 1000);
	}
	assert_true(wheel_first_ns(&wheel) == WHEEL_NEVER);
}

/* A half-moved slot does not hide what is due in it behind what has been moved. */
static void a_spent_budget_hides_nothing(void **state)
{
	uint32_t budget = 1;

	start(0);
	wheel_insert(&wheel, &nodes[0], 70000 + 60000);
	wheel_insert(&wheel, &nodes[1], 70000);
	assert_null(wheel_pop(&wheel, 70000, &budget));
	assert_int_equal(budget, 0);
	assert_true(wheel_first_ns(&wheel) <= 70000);
	budget = 4;
	assert_ptr_equal(wheel_pop(&wheel, 70000, &budget), &nodes[1]);
	assert_null(wheel_pop(&wheel, 70000, &budget));
	assert_true(wheel_first_ns(&wheel) == 70000 + 60000);
}

/* What was removed early does not make the caller spin: after a pop that yields nothing, the next
 * deadline lies ahead. */
static void no_spin_after_removal(void **state)
{
	struct test_env te;
	uint64_t now_ns = 0;

	test_env_init(&te, 0xE2);
	start(0);
	for (uint32_t step = 0; step < 100000; step++) {
		uint32_t i = test_random_below(&te, NB), budget = UINT32_MAX;

		wheel_remove(&wheel, &nodes[i]);
		wheel_insert(&wheel, &nodes[i], now_ns + some_distance(&te));
		now_ns += test_random_below(&te, 3000);
		while (wheel_pop(&wheel, now_ns, &budget) != NULL)
			;
		assert_true(wheel_first_ns(&wheel) > now_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_list),
		cmocka_unit_test(empty_says_never),
		cmocka_unit_test(the_past_is_due_at_once),
		cmocka_unit_test(exact_to_the_nanosecond),
		cmocka_unit_test(portions),
		cmocka_unit_test(a_spent_budget_hides_nothing),
		cmocka_unit_test(no_spin_after_removal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
