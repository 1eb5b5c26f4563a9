/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports against DPDK's null and ring drivers: queue counts, MTU, memory given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "eal.h"
#include "port.h"

static struct rte_mempool *pools[4];
static char reason[MRC_REASON];

static int setup(void **state)
{
	char prefix[48];
	char *argv[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"128"},
		(char[]){"--no-pci"}, prefix, (char[]){"--log-level=*:critical"}, NULL};

	snprintf(prefix, sizeof(prefix), "--file-prefix=mrc-test-%d", (int)getpid());
	if (rte_eal_init(7, argv) < 0)
		return -1;
	for (int i = 0; i < 4; i++) {
		snprintf(prefix, sizeof(prefix), "pool%d", i);
		pools[i] = mrc_port_pool_create(prefix, 2047, 2048);
		if (pools[i] == NULL)
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	mrc_eal_stop(true);
	return 0;
}

static struct mrc_port_want want(uint32_t nb_workers)
{
	return (struct mrc_port_want){
		.nb_workers = nb_workers, .descriptors = 64, .mtu = 1400, .pools = pools};
}

static uint32_t frames_in_use(void)
{
	uint32_t nb = 0;

	for (int i = 0; i < 4; i++)
		nb += rte_mempool_in_use_count(pools[i]);
	return nb;
}

static struct rte_ring *ring(const char *name)
{
	return rte_ring_create(name, 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static void frames_pass_a_pair_of_ring_ports(void **state)
{
	struct rte_ring *there = ring("there"), *back = ring("back");
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	struct mrc_port_want w = want(1);
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pools[0]), *got = NULL;
	struct mrc_port a, b;
	int ida = mrc_port_ring_create("pair_a", &back, 1, &there, 1);
	int idb = mrc_port_ring_create("pair_b", &there, 1, &back, 1);

	assert_true(ida >= 0 && idb >= 0);
	w.mac = mac;
	assert_int_equal(mrc_port_open(&a, (uint16_t)ida, &w, reason), MRC_OK);
	assert_int_equal(mrc_port_open(&b, (uint16_t)idb, &w, reason), MRC_OK);
	assert_memory_equal(a.mac, mac, 6);
	assert_true(a.link_up && b.link_up);
	assert_int_equal(rte_eth_tx_burst(a.id, 0, &frame, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b.id, 0, &got, 1), 1);
	assert_ptr_equal(frame, got);
	rte_pktmbuf_free(got);
	mrc_port_close(&a, 1);
	mrc_port_close(&b, 1);
	assert_false(a.started);
	assert_int_equal(frames_in_use(), 0);
	rte_ring_free(there);
	rte_ring_free(back);
}

static void too_many_workers_for_a_device_are_refused(void **state)
{
	struct rte_ring *one = ring("one");
	struct mrc_port_want w = want(2);
	struct mrc_port port = {.id = 4711};
	int id = mrc_port_ring_create("narrow", &one, 1, &one, 1);

	assert_true(id >= 0);
	assert_int_equal(mrc_port_open(&port, (uint16_t)id, &w, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "net_ring"));
	assert_non_null(strstr(reason, "lower \"workers\""));
	assert_int_equal(port.id, 4711);
	rte_eth_dev_close((uint16_t)id);
	rte_ring_free(one);
}

static void queues_follow_the_workers_as_far_as_the_device_goes(void **state)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		struct mrc_port_want w = want(workers);
		struct mrc_port port;
		uint16_t id;

		assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
		assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &id), 0);
		if (mrc_port_open(&port, id, &w, reason) != MRC_OK)
			fail_msg("%u workers: %s", workers, reason);
		assert_int_equal(port.nb_txq, workers);
		assert_in_range(port.nb_rxq, 1, workers);
		mrc_port_close(&port, 1);
		assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null0"), 0);
	}
	assert_int_equal(frames_in_use(), 0);
}

static void a_port_that_is_not_there_is_refused(void **state)
{
	struct mrc_port_want w = want(1);
	struct mrc_port port;

	assert_int_equal(mrc_port_open(&port, 31, &w, reason), MRC_ERR_INVAL);
	assert_true(strlen(reason) > 10);
}

static void a_hundred_lives_of_a_port_leak_nothing(void **state)
{
	for (int life = 0; life < 100; life++) {
		struct mrc_port_want w = want(1);
		struct rte_mbuf *frames[8];
		struct mrc_port port;
		uint16_t id, n;

		assert_int_equal(rte_eal_hotplug_add("vdev", "net_null1", ""), 0);
		assert_int_equal(rte_eth_dev_get_port_by_name("net_null1", &id), 0);
		assert_int_equal(mrc_port_open(&port, id, &w, reason), MRC_OK);
		n = rte_eth_rx_burst(port.id, 0, frames, 8);
		assert_int_equal(rte_eth_tx_burst(port.id, 0, frames, n), n);
		mrc_port_close(&port, 1);
		assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null1"), 0);
		assert_int_equal(frames_in_use(), 0);
	}
}

/* The driver net_null takes any frame whatever it advertises. */
static void a_jumbo_frame_needs_no_permission_of_virtual_drivers(void **state)
{
	struct mrc_port_want w = want(1);
	struct mrc_port port;
	uint16_t id;

	w.mtu = 9000;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null2", ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null2", &id), 0);
	assert_int_equal(mrc_port_open(&port, id, &w, reason), MRC_OK);
	assert_int_equal(port.mtu, 9000);
	mrc_port_close(&port, 1);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null2"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_pass_a_pair_of_ring_ports),
		cmocka_unit_test(too_many_workers_for_a_device_are_refused),
		cmocka_unit_test(queues_follow_the_workers_as_far_as_the_device_goes),
		cmocka_unit_test(a_port_that_is_not_there_is_refused),
		cmocka_unit_test(a_hundred_lives_of_a_port_leak_nothing),
		cmocka_unit_test(a_jumbo_frame_needs_no_permission_of_virtual_drivers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
