/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands to workers whose rings are full: none is lost, none overtakes another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_ring_elem.h>

#include "courier.h"

#define RING 4 /* holds three */

static struct mrc_worker *workers[2];
static struct mrc_courier *courier;

static int setup(void **state)
{
	char prefix[48];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"64"},
		(char[]){"--no-pci"}, prefix, (char[]){"--log-level=*:error"}, NULL};

	snprintf(prefix, sizeof(prefix), "--file-prefix=mrc-test-%d", (int)getpid());
	if (rte_eal_init(7, argv) < 0)
		return -1;
	courier = calloc(1, sizeof(*courier));
	for (int i = 0; i < 2; i++) {
		char name[16];

		snprintf(name, sizeof(name), "commands_%d", i);
		workers[i] = aligned_alloc(64, sizeof(struct mrc_worker));
		memset(workers[i], 0, sizeof(struct mrc_worker));
		workers[i]->commands = rte_ring_create_elem(
			name, sizeof(struct mrc_cmd), RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
		if (workers[i]->commands == NULL)
			return -1;
	}
	return courier ? 0 : -1;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++) {
		rte_ring_free(workers[i]->commands);
		free(workers[i]);
	}
	free(courier);
	return rte_eal_cleanup();
}

static void expect(int worker, enum mrc_cmd_kind kind, uint32_t plane, uint64_t arg)
{
	struct mrc_cmd cmd;

	assert_int_equal(rte_ring_sc_dequeue_elem(workers[worker]->commands, &cmd, sizeof(cmd)), 0);
	assert_int_equal(cmd.kind, kind);
	assert_int_equal(cmd.plane, plane);
	assert_int_equal(cmd.arg, arg);
}

static void expect_nothing(void)
{
	for (int i = 0; i < 2; i++)
		assert_true(rte_ring_empty(workers[i]->commands));
	assert_true(mrc_courier_flush(courier));
}

static void carrier(int worker, uint32_t plane, uint64_t arg)
{
	const struct mrc_cmd cmd = {.kind = MRC_CMD_PLANE, .plane = (uint16_t)plane, .arg = arg};

	mrc_courier_send(courier, workers[worker], &cmd);
}

static void what_fits_goes_at_once(void **state)
{
	for (uint32_t i = 0; i < 3; i++)
		carrier(0, i, i);
	assert_int_equal(courier->nb, 0);
	for (uint32_t i = 0; i < 3; i++)
		expect(0, MRC_CMD_PLANE, i, i);
	expect_nothing();
}

static void a_full_ring_delays_and_keeps_the_order(void **state)
{
	for (uint32_t i = 0; i < 8; i++)
		carrier(0, i, i);
	assert_int_equal(courier->nb, 5);
	assert_int_equal(courier->late, 5);
	/* Nobody else waits for it. */
	carrier(1, 9, 9);
	assert_int_equal(courier->nb, 5);
	expect(1, MRC_CMD_PLANE, 9, 9);
	assert_false(mrc_courier_flush(courier));
	/* Room for one, but the next one must not overtake those that wait. */
	expect(0, MRC_CMD_PLANE, 0, 0);
	carrier(0, 8, 8);
	for (uint32_t i = 1; i < 9; i++) {
		mrc_courier_flush(courier);
		expect(0, MRC_CMD_PLANE, i, i);
	}
	expect_nothing();
}

static void only_the_last_word_on_a_matter_is_delivered(void **state)
{
	struct mrc_cmd neighbour = {.kind = MRC_CMD_PEER, .gid.raw = {1}, .has_mac = true};
	const struct mrc_cmd start = {.kind = MRC_CMD_START}, stop = {.kind = MRC_CMD_STOP};

	for (uint32_t i = 0; i < 3; i++)
		carrier(0, 7, i);
	for (uint32_t i = 0; i < 1000; i++)
		carrier(0, 1, i);
	mrc_courier_send(courier, workers[0], &start);
	mrc_courier_send(courier, workers[0], &stop);
	for (uint64_t i = 0; i < 1000; i++) {
		neighbour.arg = i;
		neighbour.gid.raw[0] = (uint8_t)(1 + i % 2);
		mrc_courier_send(courier, workers[0], &neighbour);
	}
	assert_int_equal(courier->nb, 5);
	for (uint32_t i = 0; i < 3; i++)
		expect(0, MRC_CMD_PLANE, 7, i);
	assert_false(mrc_courier_flush(courier));
	expect(0, MRC_CMD_PLANE, 1, 999);
	expect(0, MRC_CMD_START, 0, 0);
	expect(0, MRC_CMD_STOP, 0, 0);
	assert_true(mrc_courier_flush(courier));
	expect(0, MRC_CMD_PEER, 0, 998);
	expect(0, MRC_CMD_PEER, 0, 999);
	expect_nothing();
}

/* All that a process can ever have to say at a time finds room. */
static void there_is_room_for_every_carrier_and_load(void **state)
{
	for (uint32_t turn = 0; turn < 3; turn++)
		for (int w = 0; w < 2; w++) {
			for (uint32_t p = 0; p < MRC_MAX_PLANES; p++)
				carrier(w, p, turn);
			for (uint16_t l = 0; l < MRC_WORKER_MAX_LOADS; l++)
				for (uint32_t k = MRC_CMD_START; k <= MRC_CMD_EXPECT; k++) {
					const struct mrc_cmd cmd = {.kind = k, .load = l};

					mrc_courier_send(courier, workers[w], &cmd);
				}
		}
	assert_in_range(courier->nb, 2 * (MRC_MAX_PLANES + 3 * MRC_WORKER_MAX_LOADS) - 6,
		MRC_COURIER_ROOM / MRC_CFG_MAX_WORKERS);
	while (!mrc_courier_flush(courier))
		for (int w = 0; w < 2; w++) {
			struct mrc_cmd cmd;

			while (rte_ring_sc_dequeue_elem(workers[w]->commands, &cmd, sizeof(cmd)) ==
				0)
				;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_goes_at_once),
		cmocka_unit_test(a_full_ring_delays_and_keeps_the_order),
		cmocka_unit_test(only_the_last_word_on_a_matter_is_delivered),
		cmocka_unit_test(there_is_room_for_every_carrier_and_load),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
