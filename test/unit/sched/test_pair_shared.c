/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_shared.c - hosts that share their cores: round trips of many milliseconds, longer than
 * half of what a stamp can tell, and frames that are stamped anew when they leave.
 */
#include "pair_test.h"

#include "engine.h"

#define RESTAMP_NS (3 * PAIR_US)

static struct pair *shared_pair(const char *name, uint64_t delay_ns, struct pair_cfg *cfg)
{
	pair_test_cfg(cfg, name, 190);
	cfg->restamp_ns = RESTAMP_NS;
	cfg->delay_ns = delay_ns;
	cfg->timeout = 18; /* 268 ms */
	return pair_create(cfg);
}

static const uint64_t delays_ns[] = {20 * PAIR_US, PAIR_MS, 2 * PAIR_MS + 100 * PAIR_US,
	4194304 - 50 * PAIR_US, 4194304 + 50 * PAIR_US, 10 * PAIR_MS, 50 * PAIR_MS};

/*
 * A sample for every answer, whatever it took: when no packet older than 4.2 ms gave one, a QP
 * whose round trips are longer never learned it, its window only fell, and it could not tell a late
 * answer from a lost packet.
 */
/* spec */
static void renewed_stamps_of_old_packets_count(void **state)
{
	for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
		struct pair_cfg cfg;
		struct pair *p =
			shared_pair("renewed_stamps_of_old_packets_count", delays_ns[i], &cfg);
		uint64_t rtt_ns;

		pair_load(
			p, PAIR_A, 0, &(struct pair_load){.count = 3, .depth = 1, .max_len = 500});
		pair_finish(p, 10 * PAIR_S);
		rtt_ns = pair_query(p, PAIR_A, 0).srtt_ns + RESTAMP_NS;
		/* Stamps count in ticks of 128 ns. */
		if (rtt_ns + 256 < 2 * delays_ns[i] || rtt_ns > 2 * delays_ns[i] + 256)
			pair_fail(p, "round trip of %llu ns, path %llu", (unsigned long long)rtt_ns,
				(unsigned long long)(2 * delays_ns[i]));
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, retransmits), 0);
		pair_destroy(p);
	}
}

/* Endpoint requests that got their answer when it comes after age_ns, with a stamp moved by ticks.
 */
static uint64_t answered(uint64_t age_ns, int32_t ticks)
{
	struct pair_tape tape;
	struct mrc_pkt rsp;
	struct pair_cfg cfg;
	struct pair *p = shared_pair("moved_stamps_of_late_answers_count", PAIR_S, &cfg);
	const struct mrc_sched_ep_req req = {.local = p->q[PAIR_A][0].attr.local,
		.peer = p->q[PAIR_A][0].attr.peer,
		.op = MRC_EP_EV_PROBE,
		.id = 7,
		.cls = MRC_CLASS_NO_TRIM,
		.timeout_ns = PAIR_S,
		.ev = {.value = 0xC000u}};
	uint64_t nb;

	pair_tape_start(p, &tape);
	PAIR_EQ(p, mrc_sched_ep_send(p->hosts[PAIR_A][0].sched, p->now, &req), MRC_OK);
	pair_kick(&p->hosts[PAIR_A][0]);
	pair_run(p, PAIR_US);
	PAIR_EQ(p, pair_tape_count(&tape, PAIR_A, MRC_OP_EP_REQ), 1);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_EP_RSP, &rsp);
	rsp.dqpn = MRC_QPN_ENDPOINT;
	rsp.psn = tape.pkts[PAIR_A][0].psn;
	rsp.ep = tape.pkts[PAIR_A][0].ep;
	rsp.ep.timestamp = (uint16_t)(rsp.ep.timestamp + ticks);
	rsp.flags |= MRC_PKT_TS;
	pair_run(p, age_ns - PAIR_US);
	pair_rx_pkt(p, PAIR_A, 0, &rsp);
	nb = PAIR_COUNTER(p, PAIR_A, ep_rsp_rx);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, drops[MRC_DROP_EP_RESPONSE]), 1 - nb);
	pair_tape_free(p, &tape);
	pair_destroy(p);
	return nb;
}

/* An answer is no less an answer for being late, whether or not the peer took its own delay out:
 * dropped, no path would ever be found alive again. */
/* spec */
static void moved_stamps_of_late_answers_count(void **state)
{
	for (uint64_t age_ns = PAIR_MS; age_ns < 100 * PAIR_MS; age_ns += 3 * PAIR_MS) {
		assert_int_equal(answered(age_ns, 0), 1);
		assert_int_equal(answered(age_ns, 5), 1);
		assert_int_equal(answered(age_ns, -1), 0);
	}
	assert_int_equal(answered(PAIR_MS, 10000), 0); /* beyond now */
}

/* ---- time slices ---- */

/* A side that runs for a slice and waits for the others' slices, again and again. */
struct turns {
	int side;
	uint64_t awake_ns, away_ns, end_ns;
};

static void turn(struct pair *p, void *arg)
{
	struct turns *t = arg;

	if (p->now >= t->end_ns)
		return;
	pair_freeze(p, t->side, t->away_ns);
	pair_at(p, t->away_ns + t->awake_ns, turn, t);
}

static uint64_t bytes_in(struct pair *p, uint64_t for_ns)
{
	uint64_t from = PAIR_COUNTER(p, PAIR_B, rx_data_bytes);

	pair_run(p, for_ns);
	return PAIR_COUNTER(p, PAIR_B, rx_data_bytes) - from;
}

static struct pair *busy_pair(uint64_t delay_ns, const struct mrc_nscc_cfg *cc)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "window_returns_after_a_dead_plane", 191);
	cfg.restamp_ns = RESTAMP_NS;
	cfg.nb_planes = 2;
	cfg.nb_qps = 2;
	cfg.nb_evs = 64;
	cfg.pmtu = 4096;
	cfg.mpr = 32;
	cfg.timeout = 14;
	cfg.linear_cnt = 3;
	cfg.exp_cnt = 7;
	cfg.delay_ns = delay_ns;
	cfg.pkt_ns = 16 * PAIR_US; /* 2 Gb/s */
	cfg.mem_len = 2 << 20;
	cfg.check_every = 0;
	cfg.cc = cc;
	p = pair_create(&cfg);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = UINT32_MAX,
				.depth = 4,
				.min_len = 256 << 10,
				.max_len = 256 << 10});
	return p;
}

static void dead_for_two_seconds(uint64_t delay_ns, bool sliced)
{
	struct turns turns[2] = {{PAIR_A, 4 * PAIR_MS, 26 * PAIR_MS, UINT64_MAX},
		{PAIR_B, 4 * PAIR_MS, 37 * PAIR_MS, UINT64_MAX}};
	struct mrc_nscc_cfg cc;
	uint64_t before, after;
	struct pair *p;

	mrc_nscc_cfg_default(&cc, 2000000000, PAIR_MS, 4096 + 100, false);
	cc.target_delay_ns = 4 * PAIR_MS;
	cc.min_base_rtt_ns = PAIR_MS;
	cc.disable_qa = true;
	p = busy_pair(delay_ns, &cc);
	for (int side = 0; side < 2 && sliced; side++)
		pair_at(p, turns[side].awake_ns, turn, &turns[side]);
	before = bytes_in(p, 2 * PAIR_S);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
				  .planes = 1 << 1,
				  .from_ns = p->now,
				  .to_ns = p->now + 2 * PAIR_S});
	pair_run(p, 3 * PAIR_S);
	after = bytes_in(p, 2 * PAIR_S);
	if (after < before * 9 / 10)
		pair_fail(p, "%llu ms one way, %s: %llu bytes in 2 s before, %llu after",
			(unsigned long long)(delay_ns / PAIR_MS), sliced ? "sliced" : "awake",
			(unsigned long long)before, (unsigned long long)after);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, qp_errors), 0);
	turns[PAIR_A].end_ns = turns[PAIR_B].end_ns = 0;
	for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
		p->q[PAIR_A][i].load_left = 0;
	pair_finish(p, 10 * PAIR_S);
	pair_destroy(p);
}

/*
 * What stands between two hosts takes up to six times the retransmission timeout to let a packet
 * through, the hosts themselves get a slice of 4 ms every 30 and 41 ms, and of two planes one is
 * silent for two seconds: what the losses and the false timeouts took from the window comes back,
 * and no QP fails. Once the window stayed at one packet.
 */
static void window_returns_after_a_dead_plane(void **state)
{
	const uint64_t delays_ms[] = {1, 5, 10, 25, 50};

	for (int i = 0; i < 5; i++) {
		dead_for_two_seconds(delays_ms[i] * PAIR_MS, false);
		dead_for_two_seconds(delays_ms[i] * PAIR_MS, true);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(renewed_stamps_of_old_packets_count),
	cmocka_unit_test(moved_stamps_of_late_answers_count),
	cmocka_unit_test(window_returns_after_a_dead_plane),
};

PAIR_TEST_MAIN(tests)
