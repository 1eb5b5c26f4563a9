/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement of roles on lcores: no two busy lcores on one CPU, idle CPUs first, demands kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "place.h"
#include "test_env.h"

static struct mrc_place_lcore lcore(uint32_t id, uint64_t cpus)
{
	struct mrc_place_lcore out = {.id = id};

	out.cpus[0] = cpus;
	return out;
}

static struct mrc_role role(enum mrc_role_kind kind, uint32_t endpoint, int32_t want)
{
	return (struct mrc_role){.kind = kind, .endpoint = endpoint, .lcore = want};
}

/* The demo: two workers, the fabric, the management. */
static void demo_roles(struct mrc_role *roles)
{
	roles[0] = role(MRC_ROLE_WORKER, 0, -1);
	roles[1] = role(MRC_ROLE_WORKER, 1, -1);
	roles[2] = role(MRC_ROLE_FABRIC, 0, -1);
	roles[3] = role(MRC_ROLE_MGMT, 0, -1);
}

static void one_core_runs_everything(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1)};
	struct mrc_place_error error;
	struct mrc_role roles[4];

	demo_roles(roles);
	assert_int_equal(mrc_place_roles(roles, 4, lcores, 1, &error), MRC_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(roles[i].lcore, 0);
}

static void two_cores_separate_the_workers(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1), lcore(1, 2)};
	struct mrc_place_error error;
	struct mrc_role roles[4];

	demo_roles(roles);
	assert_int_equal(mrc_place_roles(roles, 4, lcores, 2, &error), MRC_OK);
	assert_int_equal(roles[0].lcore, 0);
	assert_int_equal(roles[1].lcore, 1);
	assert_int_equal(roles[2].lcore, 0);
	assert_int_equal(roles[3].lcore, 1); /* where less runs */
}

static void many_cores_give_each_role_its_own(void **state)
{
	struct mrc_place_lcore lcores[8];
	struct mrc_place_error error;
	struct mrc_role roles[4];
	uint32_t used = 0;

	for (uint32_t i = 0; i < 8; i++)
		lcores[i] = lcore(i + 10, 1ull << i);
	demo_roles(roles);
	assert_int_equal(mrc_place_roles(roles, 4, lcores, 8, &error), MRC_OK);
	for (int i = 0; i < 4; i++)
		used |= 1u << (roles[i].lcore - 10);
	assert_int_equal(__builtin_popcount(used), 4);
}

/* --lcores '0@0,1@0': two lcores on one CPU; only one of them may poll. */
static void lcores_on_one_cpu_are_not_both_used(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1), lcore(1, 1)};
	struct mrc_place_error error;
	struct mrc_role roles[4];

	demo_roles(roles);
	assert_int_equal(mrc_place_roles(roles, 4, lcores, 2, &error), MRC_OK);
	for (int i = 1; i < 4; i++)
		assert_int_equal(roles[i].lcore, roles[0].lcore);
}

static void demanded_lcores_on_one_cpu_are_refused(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1), lcore(1, 1)};
	struct mrc_place_error error;
	struct mrc_role roles[2] = {role(MRC_ROLE_WORKER, 0, 0), role(MRC_ROLE_WORKER, 1, 1)};

	assert_int_equal(mrc_place_roles(roles, 2, lcores, 2, &error), MRC_ERR_INVAL);
	assert_int_equal(error.role, 1);
	assert_int_equal(error.other_lcore, 0);
}

static void unknown_lcore_is_refused(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1)};
	struct mrc_place_error error;
	struct mrc_role roles[2] = {role(MRC_ROLE_MGMT, 0, -1), role(MRC_ROLE_WORKER, 0, 7)};

	assert_int_equal(mrc_place_roles(roles, 2, lcores, 1, &error), MRC_ERR_INVAL);
	assert_int_equal(error.role, 1);
	assert_int_equal(error.other_lcore, -1);
	assert_int_equal(mrc_place_roles(roles, 1, lcores, 0, &error), MRC_ERR_INVAL);
}

static void demand_and_free_choice_mix(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 1), lcore(1, 2)};
	struct mrc_place_error error;
	struct mrc_role roles[4];

	demo_roles(roles);
	roles[2].lcore = 1;
	assert_int_equal(mrc_place_roles(roles, 4, lcores, 2, &error), MRC_OK);
	assert_int_equal(roles[2].lcore, 1);
	assert_int_equal(roles[0].lcore, 0);
}

/* lcore 0 may run on either CPU, lcore 1 only on CPU 0: both can be used if lcore 0 yields. */
static void an_lcore_with_a_choice_gives_way(void **state)
{
	const struct mrc_place_lcore lcores[] = {lcore(0, 3), lcore(1, 1)};
	struct mrc_place_error error;
	struct mrc_role roles[2] = {role(MRC_ROLE_WORKER, 0, -1), role(MRC_ROLE_WORKER, 1, -1)};

	assert_int_equal(mrc_place_roles(roles, 2, lcores, 2, &error), MRC_OK);
	assert_int_not_equal(roles[0].lcore, roles[1].lcore);
}

/* Largest number of lcores that can have a CPU each, by trying every subset. */
static uint32_t best_matching(
	const struct mrc_place_lcore *lcores, uint32_t nb, uint32_t at, uint64_t taken)
{
	uint32_t best;

	if (at == nb)
		return 0;
	best = best_matching(lcores, nb, at + 1, taken);
	for (uint32_t cpu = 0; cpu < 6; cpu++)
		if ((lcores[at].cpus[0] & ~taken) >> cpu & 1) {
			uint32_t with = 1 + best_matching(lcores, nb, at + 1, taken | 1ull << cpu);

			best = with > best ? with : best;
		}
	return best;
}

static void random_sets_use_as_many_cpus_as_there_are(void **state)
{
	struct test_env te;

	test_env_init(&te, 77);
	for (int round = 0; round < 2000; round++) {
		struct mrc_place_lcore lcores[6];
		struct mrc_place_error error;
		struct mrc_role roles[6];
		uint32_t nb = 1 + test_random_below(&te, 6);
		uint32_t used = 0;

		for (uint32_t i = 0; i < nb; i++)
			lcores[i] = lcore(i, 1 + test_random_below(&te, 63));
		for (uint32_t i = 0; i < 6; i++)
			roles[i] = role(MRC_ROLE_WORKER, i, -1);
		assert_int_equal(mrc_place_roles(roles, 6, lcores, nb, &error), MRC_OK);
		for (uint32_t i = 0; i < 6; i++)
			used |= 1u << roles[i].lcore;
		assert_int_equal(__builtin_popcount(used), best_matching(lcores, nb, 0, 0));
	}
}

static void roles_have_names(void **state)
{
	struct mrc_role worker = role(MRC_ROLE_WORKER, 1, -1);
	char text[64];

	worker.worker = 3;
	assert_string_equal(mrc_role_text(&worker, text, sizeof(text)), "worker 3 of endpoint 1");
	worker.kind = MRC_ROLE_MGMT;
	assert_string_equal(mrc_role_text(&worker, text, sizeof(text)), "management");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_core_runs_everything),
		cmocka_unit_test(two_cores_separate_the_workers),
		cmocka_unit_test(many_cores_give_each_role_its_own),
		cmocka_unit_test(lcores_on_one_cpu_are_not_both_used),
		cmocka_unit_test(demanded_lcores_on_one_cpu_are_refused),
		cmocka_unit_test(unknown_lcore_is_refused),
		cmocka_unit_test(demand_and_free_choice_mix),
		cmocka_unit_test(an_lcore_with_a_choice_gives_way),
		cmocka_unit_test(random_sets_use_as_many_cpus_as_there_are),
		cmocka_unit_test(roles_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
