/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_loss.c - loss, duplication, reordering, corruption, trimming: everything arrives, each
 * completion once and in order, and at a bounded cost in packets.
 */
#include "pair_test.h"

static struct pair *pair_with(const char *name, uint64_t seed, uint32_t mem_len)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, seed);
	cfg.mem_len = mem_len;
	cfg.exp_cnt = MRC_EXP_MAX;
	return pair_create(&cfg);
}

static void load(struct pair *p, uint32_t count, uint32_t max_len)
{
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = count,
			.depth = 32,
			.min_len = 0,
			.max_len = max_len,
			.imm_pct = 20,
			.unsignaled_pct = 20});
}

/* Packets sent <= needed x (1/(1-p))^2 + one window, when both directions lose p. */
static void loss_at(uint32_t ppm)
{
	struct pair *p = pair_with("loss_rates", 20 + ppm, 1u << 20);
	const struct pair_qp *q = &p->q[PAIR_A][0];
	double pass = 1.0 - ppm * 1e-6;

	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = ppm});
	load(p, 400, 20000);
	if (!pair_run_idle(p, 20 * PAIR_S))
		pair_fail(p, "not finished within 20 s at loss %u ppm", ppm);
	PAIR_EQ(p, q->nb_success + (q->nb_ops - q->next_done), 400);
	if ((double)(q->wire_first + q->wire_again) >
		(double)q->wire_first / (pass * pass) + 1024.0)
		pair_fail(p, "%llu packets for %llu at loss %u ppm",
			(unsigned long long)(q->wire_first + q->wire_again),
			(unsigned long long)q->wire_first, ppm);
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/* spec */
static void loss_rates(void **state)
{
	const uint32_t ppm[] = {1000, 10000, 50000, 100000, 300000};

	for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++)
		loss_at(ppm[i]);
}

/* Exactly the n-th data packet, and exactly the n-th answer, for each n. */
static void each_packet_once(void **state)
{
	for (uint32_t n = 0; n < 200; n++)
		for (int dir = PAIR_A2B; dir <= PAIR_B2A; dir++) {
			struct pair *p = pair_with("each_packet_once", n, 1u << 19);

			pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
						  .dir = (enum pair_dir)dir,
						  .skip = n,
						  .count = 1});
			load(p, 40, 10000);
			pair_finish_faulty(p, PAIR_S);
			pair_destroy(p);
		}
}

/* The same packet lost again and again. */
static void lost_k_times(void **state)
{
	for (uint32_t k = 1; k <= 7; k++)
		for (uint32_t psn = 0; psn < 12; psn += 11) {
			struct pair *p = pair_with("lost_k_times", k, 1u << 19);

			pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
						  .kinds = PAIR_DATA,
						  .has_psn = true,
						  .psn = p->cfg.psn[0] + psn,
						  .count = k});
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 12 * 1024, .imm = true});
			pair_finish_faulty(p, PAIR_S);
			PAIR_EQ(p, p->faults[0].fired, k);
			PAIR_EQ(p, p->q[PAIR_A][0].wire_first, 12);
			assert_true(p->q[PAIR_A][0].wire_again >= k);
			pair_destroy(p);
		}
}

static void bursts(void **state)
{
	const uint32_t burst[] = {2, 8, 64, 512, 1024, 1100};

	for (size_t i = 0; i < sizeof(burst) / sizeof(burst[0]); i++)
		for (int dir = PAIR_A2B; dir <= PAIR_B2A; dir++) {
			struct pair *p = pair_with("bursts", i, 1u << 21);

			pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
						  .dir = (enum pair_dir)dir,
						  .skip = 20,
						  .count = 2,
						  .every = 1500,
						  .burst = burst[i],
						  .burst_ns = 100 * PAIR_US});
			load(p, 60, 100000);
			pair_finish_faulty(p, 20 * PAIR_S);
			pair_destroy(p);
		}
}

static void duplicates(uint32_t copies, uint64_t late_ns, enum pair_dir dir)
{
	struct pair *p = pair_with("duplication", copies, 1u << 20);
	const struct pair_qp *q = &p->q[PAIR_A][0];

	pair_fault_add(
		p, &(struct pair_fault){
			   .act = PAIR_DUP, .dir = dir, .arg = copies, .jitter_ns = late_ns});
	load(p, 300, 9000);
	pair_finish_faulty(p, 5 * PAIR_S);
	PAIR_EQ(p, q->wire_again, PAIR_COUNTER(p, PAIR_A, retransmits));
	if (dir == PAIR_A2B) {
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_packets), q->wire_first);
		pair_run(p, 10 * PAIR_MS);
		PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_PSN_DUPLICATE),
			copies * q->wire_first + (copies + 1) * q->wire_again);
	}
	pair_run(p, 10 * PAIR_MS);
	pair_destroy(p);
}

/* spec */
static void duplication(void **state)
{
	for (int dir = PAIR_BOTH; dir <= PAIR_B2A; dir++) {
		duplicates(1, 0, (enum pair_dir)dir);
		duplicates(1, 100 * PAIR_US, (enum pair_dir)dir);
		duplicates(9, 100 * PAIR_US, (enum pair_dir)dir);
	}
}

/* Shuffled within n packets. A packet takes 100 ns to leave. */
/* spec */
static void reordering(void **state)
{
	const uint32_t window[] = {2, 16, 128, 1024, 1025, 3000};

	for (size_t i = 0; i < sizeof(window) / sizeof(window[0]); i++) {
		struct pair *p = pair_with("reordering", i, 1u << 21);

		pair_fault_add(p,
			&(struct pair_fault){.act = PAIR_DELAY, .jitter_ns = window[i] * 100ull});
		load(p, 200, 40000);
		pair_finish_faulty(p, 5 * PAIR_S);
		pair_destroy(p);
	}
}

static uint64_t by_path(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	/* 5 us .. 20 us one way, fixed per entropy value and plane */
	return (pkt->ev * 2654435761u + plane * 977u) % 15001;
}

/* Paths of different length reorder; nothing is lost, so nothing may be sent again. */
/* spec */
static void delay_is_not_loss(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "delay_is_not_loss", 31);
	cfg.nb_evs = 64;
	cfg.mem_len = 1u << 21;
	p = pair_create(&cfg);
	p->path_ns = by_path;
	load(p, 500, 40000);
	pair_finish_faulty(p, 5 * PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 0);
	pair_destroy(p);
}

/* spec */
static void corruption(void **state)
{
	struct pair *p = pair_with("corruption", 32, 1u << 20);

	pair_fault_add(p, &(struct pair_fault){.act = PAIR_FLIP, .ppm = 50000, .arg = UINT32_MAX});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_CUT, .ppm = 10000});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_PAD, .ppm = 10000, .arg = 7});
	load(p, 500, 20000);
	pair_finish_faulty(p, 20 * PAIR_S);
	assert_true(pair_drops(p, PAIR_B, MRC_DROP_ICRC) > 0);
	assert_true(pair_drops(p, PAIR_B, MRC_DROP_IP_LENGTH) > 0);
	pair_destroy(p);
}

/* spec */
static void trimming(void **state)
{
	const uint32_t ppm[] = {1000, 20000, 100000, 500000};

	for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++)
		for (uint8_t cls = MRC_CLASS_TRIMMED; cls <= MRC_CLASS_TRIMMED_LASTHOP; cls++) {
			struct pair *p = pair_with("trimming", i, 1u << 20);
			struct pair_fault *f =
				pair_fault_add(p, &(struct pair_fault){.act = PAIR_TRIM,
							  .kinds = PAIR_DATA,
							  .ppm = ppm[i],
							  .arg = 64,
							  .cls = cls});

			load(p, 300, 20000);
			if (!pair_run_idle(p, 20 * PAIR_S))
				pair_fail(p, "trimming %u ppm: not finished", ppm[i]);
			assert_true(f->fired > 0);
			assert_true(PAIR_COUNTER(p, PAIR_B, tx_nack) > 0);
			assert_true(PAIR_COUNTER(p, PAIR_A, rtx_by_nack) > 0);
			pair_finish(p, PAIR_S);
			pair_destroy(p);
		}
}

/* Loss in both directions on both directions' traffic, several QPs, immediates. */
/* spec */
static void both_directions(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "both_directions", 33);
	cfg.nb_qps = 4;
	cfg.exp_cnt = MRC_EXP_MAX;
	cfg.nb_workers[PAIR_B] = 2;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 20000});
	pair_fault_add(
		p, &(struct pair_fault){.act = PAIR_DUP, .ppm = 20000, .jitter_ns = 20 * PAIR_US});
	pair_fault_add(p,
		&(struct pair_fault){.act = PAIR_DELAY, .ppm = 200000, .jitter_ns = 20 * PAIR_US});
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < 4; i++)
			pair_load(p, side, i,
				&(struct pair_load){.count = 200,
					.depth = 24,
					.min_len = 0,
					.max_len = 9000,
					.imm_pct = 40,
					.unsignaled_pct = 40});
	pair_finish_faulty(p, 10 * PAIR_S);
	pair_destroy(p);
}

/*
 * The layers heal by themselves: only SACKs, or only transport ACKs, vanish for 100 round trips.
 * Afterwards nothing waits longer than one timeout.
 */
static void one_kind_of_answer(uint32_t kind, uint64_t for_ns)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t end, longest, last = 0;

	pair_test_cfg(&cfg, "one_kind_of_answer_lost", 34);
	cfg.exp_cnt = MRC_EXP_MAX;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
				  .dir = PAIR_B2A,
				  .kinds = kind,
				  .to_ns = p->now + for_ns});
	end = p->now + for_ns;
	load(p, 60, 5000);
	pair_finish_faulty(p, 20 * PAIR_S);
	for (uint32_t k = 0; k < p->q[PAIR_A][0].nb_ops; k++) {
		uint64_t t = p->q[PAIR_A][0].ops[k].done_ns;

		last = t > last ? t : last;
	}
	/* one timeout: after a long silence it has doubled up to about the silence itself */
	longest = for_ns > 2 * PAIR_MS ? for_ns : 2 * (1024ull << cfg.timeout);
	if (last > end + longest + 100 * PAIR_US)
		pair_fail(p, "answers of kind %u lost until t, last completion at t + %llu ns",
			kind, (unsigned long long)(last - end));
	pair_destroy(p);
}

/* spec */
static void one_kind_of_answer_lost(void **state)
{
	one_kind_of_answer(PAIR_ACK, PAIR_MS);
	one_kind_of_answer(PAIR_SACK, PAIR_MS);
	one_kind_of_answer(PAIR_ACK, PAIR_S);
	one_kind_of_answer(PAIR_SACK, PAIR_S);
}

/*
 * The transport ACK of a packet takes another path than its SACK and is faster: the SACK finds its
 * packet acknowledged, and still tells the round trip. One write at a time, so that no other packet
 * gives a sample.
 */
/* spec */
static void sack_overtaken_by_its_ack(void **state)
{
	const uint64_t late_ns = 3 * PAIR_US;
	struct pair_cfg cfg;
	struct pair_fault *f;
	struct pair *p;
	uint64_t rtt, least;

	pair_test_cfg(&cfg, "sack_overtaken_by_its_ack", 35);
	cfg.jitter_ns = 0;
	cfg.skew_ns = 0;
	least = 2 * cfg.delay_ns + late_ns;
	p = pair_create(&cfg);
	f = pair_fault_add(p, &(struct pair_fault){.act = PAIR_DELAY,
				      .dir = PAIR_B2A,
				      .kinds = PAIR_SACK,
				      .delay_ns = late_ns});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 20, .depth = 1, .min_len = 64, .max_len = 64});
	if (!pair_run_idle(p, PAIR_S))
		pair_fail(p, "not finished");
	if (f->fired < 20)
		pair_fail(p, "%u SACKs were late", f->fired);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 0);
	rtt = pair_query(p, PAIR_A, 0).srtt_ns;
	/* Stamps count in ticks. */
	if (rtt + MRC_TS_TICK_NS < least || rtt > least + 2 * PAIR_US)
		pair_fail(p, "round trip %llu ns, late SACKs take %llu", (unsigned long long)rtt,
			(unsigned long long)least);
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/*
 * Of two planes one goes dead both ways. The responder sends no data, so nothing tells it which of
 * its own answers arrive: it has to see from where its peer still comes. When it did not, every
 * second answer was lost, and a retransmission that is answered by one SACK and one transport ACK
 * lost the same of the two each time: the transfer over the healthy plane stood still until the
 * other one healed.
 */
/* spec */
static uint64_t on_two_planes(
	enum pair_dir dir, uint32_t dead, uint64_t delay_ns, const struct pair_load *load)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t start, took;

	pair_test_cfg(&cfg, "two_planes_one_dead", 36);
	cfg.nb_planes = 2;
	cfg.nb_qps = 2;
	cfg.pmtu = 4096;
	cfg.timeout = 14;
	cfg.linear_cnt = 3;
	cfg.exp_cnt = 7;
	cfg.mem_len = 2 << 20;
	cfg.delay_ns = delay_ns;
	cfg.pkt_ns = 50 * PAIR_US;
	p = pair_create(&cfg);
	start = p->now;
	if (dead != 0)
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
					  .dir = dir,
					  .planes = dead,
					  .from_ns = p->now + 50 * PAIR_MS});
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_load(p, PAIR_A, i, load);
	pair_finish_faulty(p, 200 * PAIR_S);
	took = p->now - start;
	pair_destroy(p);
	return took;
}

static void two_planes_one_dead(void **state)
{
	static const enum pair_dir dirs[] = {PAIR_BOTH, PAIR_A2B, PAIR_B2A};
	static const struct pair_load large = {
		.count = 100, .depth = 4, .min_len = 256 << 10, .max_len = 256 << 10};
	static const struct pair_load small = {
		.count = 100, .depth = 1, .min_len = 64, .max_len = 64};

	for (uint64_t delay_ns = PAIR_MS; delay_ns <= 5 * PAIR_MS; delay_ns += 4 * PAIR_MS) {
		uint64_t busy = on_two_planes(PAIR_BOTH, 0, delay_ns, &large);
		uint64_t idle = on_two_planes(PAIR_BOTH, 0, delay_ns, &small);

		for (int d = 0; d < 3; d++) {
			uint64_t took = on_two_planes(dirs[d], 1 << 1, delay_ns, &large);

			if (took > busy + busy / 5)
				fail_msg("direction %d, %llu ms one way: %llu ms, healthy %llu", d,
					(unsigned long long)(delay_ns / PAIR_MS),
					(unsigned long long)(took / PAIR_MS),
					(unsigned long long)(busy / PAIR_MS));
			took = on_two_planes(dirs[d], 1 << 1, delay_ns, &small);
			/* a few timeouts of 17 ms until the dead plane is known */
			if (took > idle + 700 * PAIR_MS)
				fail_msg("small, direction %d, %llu ms one way: %llu ms, healthy "
					 "%llu",
					d, (unsigned long long)(delay_ns / PAIR_MS),
					(unsigned long long)(took / PAIR_MS),
					(unsigned long long)(idle / PAIR_MS));
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(loss_rates),
	cmocka_unit_test(each_packet_once),
	cmocka_unit_test(lost_k_times),
	cmocka_unit_test(bursts),
	cmocka_unit_test(duplication),
	cmocka_unit_test(reordering),
	cmocka_unit_test(delay_is_not_loss),
	cmocka_unit_test(corruption),
	cmocka_unit_test(trimming),
	cmocka_unit_test(both_directions),
	cmocka_unit_test(one_kind_of_answer_lost),
	cmocka_unit_test(sack_overtaken_by_its_ack),
	cmocka_unit_test(two_planes_one_dead),
};

PAIR_TEST_MAIN(tests)
