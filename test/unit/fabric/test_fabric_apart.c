/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts that are run a lookahead behind the fabric see what they see together with it. */
#include "fabric_kit.h"

enum {
	NB_PLANES = 4,
	NB_SENDS = 600,
	MAX_ARRIVALS = NB_SENDS,
	SPAN_NS = 60000,
};

/* Host p sends on plane p only, so that no two packets meet that came over different links in the
 * same nanosecond: their order would be free. The payload's length tells which one it is. */
struct send {
	uint64_t at_ns;
	struct kit_pkt what;
};

struct seen {
	uint64_t at_ns;
	uint32_t host, plane, wire_len;
};

static struct kit kit;
static struct mrc_fabric_cfg cfg;
static struct send sends[NB_SENDS];
static struct seen seen[2][MAX_ARRIVALS];
static uint32_t nb_seen[2];

static int setup(void **state)
{
	kit.v6 = false;
	kit_cfg(&kit, &cfg, 2, 2, 2);
	cfg.nb_planes = NB_PLANES;
	for (int cls = 0; cls < MRC_FABRIC_NB_CLASSES; cls++)
		cfg.links[cls].trim_len = 0;
	nb_seen[0] = nb_seen[1] = 0;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct send *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void plan(void)
{
	for (uint32_t i = 0; i < NB_SENDS; i++) {
		uint32_t src = test_random_below(&kit.te, NB_PLANES);

		sends[i] = (struct send){.at_ns = test_random_below(&kit.te, SPAN_NS),
			.what = {.src = src,
				.dst = (src + 1 + test_random_below(&kit.te, 3)) % 4,
				.ev = test_random_below(&kit.te, 1000),
				.payload_len = 800 + i,
				.cls = test_random_below(&kit.te, 4) == 0 ? MRC_CLASS_CONTROL : 0}};
	}
	qsort(sends, NB_SENDS, sizeof(sends[0]), by_time);
}

static void note(int mode, uint64_t now_ns, uint32_t host, uint32_t plane)
{
	struct mrc_fabric_pkt pkt;

	while (mrc_fabric_recv_by(kit.fabric, now_ns, host, plane, &pkt, 1) == 1) {
		assert_true(nb_seen[mode] < MAX_ARRIVALS);
		seen[mode][nb_seen[mode]++] = (struct seen){now_ns, host, plane, pkt.wire_len};
		kit_free(&kit, &pkt);
	}
}

static void run_together(void)
{
	uint32_t next = 0, host, plane;

	for (;;) {
		uint64_t t = mrc_fabric_next_deadline(kit.fabric);

		if (next < NB_SENDS && sends[next].at_ns < t)
			t = sends[next].at_ns;
		if (t == MRC_FABRIC_NEVER)
			return;
		mrc_fabric_run(kit.fabric, t, UINT32_MAX);
		while (mrc_fabric_ready(kit.fabric, &host, &plane))
			note(0, t, host, plane);
		for (; next < NB_SENDS && sends[next].at_ns <= t; next++)
			kit_send(&kit, t, sends[next].what.src, &sends[next].what);
	}
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The next send of a host at or behind index `from`. */
static uint32_t send_of(uint32_t host, uint32_t from)
{
	while (from < NB_SENDS && sends[from].what.src != host)
		from++;
	return from;
}

static uint64_t host_next(uint32_t host, uint32_t next)
{
	uint64_t t = next < NB_SENDS ? sends[next].at_ns : MRC_FABRIC_NEVER;

	t = min64(t, mrc_fabric_inbox_next_ns(kit.fabric, host));
	return min64(t, mrc_fabric_uplink_next_ns(kit.fabric, host));
}

static void run_host(uint32_t host, uint32_t *next, uint64_t end_ns)
{
	for (uint64_t t = host_next(host, *next); t <= end_ns; t = host_next(host, *next)) {
		mrc_fabric_host_fetch(kit.fabric, (host + 1) % 4, t % 5);
		mrc_fabric_uplink_run(kit.fabric, t, host);
		for (uint32_t plane = 0; plane < NB_PLANES; plane++)
			note(1, t, host, plane);
		for (; *next < NB_SENDS && sends[*next].at_ns <= t;
			*next = send_of(host, *next + 1))
			kit_send(&kit, t, host, &sends[*next].what);
	}
}

static void run_apart(void)
{
	uint64_t lookahead_ns = mrc_fabric_lookahead_ns(kit.fabric);
	uint32_t next[4], windows = 0;

	assert_int_equal(lookahead_ns, 1000);
	for (uint32_t h = 0; h < 4; h++)
		next[h] = send_of(h, 0);
	for (;; windows++) {
		uint64_t t = mrc_fabric_next_deadline(kit.fabric);

		for (uint32_t h = 0; h < 4; h++)
			t = min64(t, host_next(h, next[h]));
		if (t == MRC_FABRIC_NEVER)
			break;
		mrc_fabric_run(kit.fabric, t + lookahead_ns - 1, UINT32_MAX);
		for (uint32_t h = 4; h-- > 0;)
			run_host(h, &next[h], t + lookahead_ns - 1);
	}
	assert_in_range(windows, 10, 2 * SPAN_NS / 1000);
}

static int by_port(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->host != y->host || x->plane != y->plane)
		return x->host * NB_PLANES + x->plane < y->host * NB_PLANES + y->plane ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->wire_len < y->wire_len ? -1 : x->wire_len > y->wire_len;
}

static void same_arrivals(void **state)
{
	kit_create(&kit, &cfg);
	plan();
	run_together();
	kit_done(&kit);
	setup(NULL);
	nb_seen[0] = NB_SENDS;
	cfg.hosts_apart = true;
	kit_create(&kit, &cfg);
	run_apart();
	kit_done(&kit);
	assert_int_equal(nb_seen[1], NB_SENDS);
	for (int mode = 0; mode < 2; mode++)
		qsort(seen[mode], NB_SENDS, sizeof(seen[mode][0]), by_port);
	for (uint32_t i = 0; i < NB_SENDS; i++) {
		assert_int_equal(seen[0][i].at_ns, seen[1][i].at_ns);
		assert_int_equal(seen[0][i].wire_len, seen[1][i].wire_len);
		assert_int_equal(seen[0][i].host, seen[1][i].host);
	}
}

static void lookahead_is_the_shortest_uplink(void **state)
{
	struct mrc_fabric_link_cfg link;
	uint32_t uplink;

	cfg.switch_ns = 300;
	cfg.hosts_apart = true;
	kit_create(&kit, &cfg);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 1300);
	uplink = kit_link(&kit, MRC_FABRIC_HOST_UP, 2, 0, 1);
	mrc_fabric_link_get(kit.fabric, uplink, &link);
	link.delay_ns = 70;
	mrc_fabric_link_set(kit.fabric, uplink, &link);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 370);
	/* One that marks or trims draws random numbers, in order of time. */
	link.trim_len = 9000;
	mrc_fabric_link_set(kit.fabric, uplink, &link);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 0);
	link.trim_len = 0;
	link.ecn_max_len = 9000;
	mrc_fabric_link_set(kit.fabric, uplink, &link);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 0);
	kit_done(&kit);
}

static void faults_say_when_they_change(void **state)
{
	struct mrc_fabric_fault fault = {.kind = MRC_FABRIC_LOSS,
		.where = mrc_fabric_everywhere(),
		.start_ns = 5000,
		.end_ns = 9000};
	uint32_t handle;

	cfg.hosts_apart = true;
	kit_create(&kit, &cfg);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), MRC_FABRIC_NEVER);
	fault.where.classes = 1u << MRC_FABRIC_LEAF_UP;
	assert_int_equal(mrc_fabric_fault_add(kit.fabric, 0, &fault, &handle), MRC_OK);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), 5000);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 1000);
	kit_run(&kit, 5000);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), 9000);
	kit_run(&kit, 9000);
	assert_int_equal(mrc_fabric_fault_next_ns(kit.fabric), MRC_FABRIC_NEVER);
	/* It counts packets of all uplinks in order of time. */
	fault.start_ns = 20000;
	fault.end_ns = 0;
	fault.where.classes = 0;
	assert_int_equal(mrc_fabric_fault_add(kit.fabric, 9000, &fault, &handle), MRC_OK);
	assert_int_equal(mrc_fabric_lookahead_ns(kit.fabric), 0);
	kit_done(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(same_arrivals, setup),
		cmocka_unit_test_setup(lookahead_is_the_shortest_uplink, setup),
		cmocka_unit_test_setup(faults_say_when_they_change, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
