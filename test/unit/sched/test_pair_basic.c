/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_basic.c - writes and writes with immediate over a perfect wire: segmentation, gathers,
 * immediates, signalling, both IP versions, several QPs and workers.
 */
#include "pair_test.h"

static uint32_t packets_of(uint32_t len, uint32_t pmtu)
{
	return len == 0 ? 1 : (len + pmtu - 1) / pmtu;
}

static uint8_t opcode_of(uint32_t k, uint32_t nb, bool imm)
{
	if (nb == 1)
		return imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	if (k == 0)
		return MRC_OP_WRITE_FIRST;
	if (k + 1 < nb)
		return MRC_OP_WRITE_MIDDLE;
	return imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

/* One packet of a message as it must look on the wire. */
static void check_packet(struct pair *p, const struct mrc_pkt *pkt, const struct pair_op *op,
	uint32_t k, uint32_t nb)
{
	uint32_t pmtu = p->cfg.pmtu;
	uint32_t len = k + 1 < nb ? pmtu : op->len - (nb - 1) * pmtu;

	assert_int_equal(pkt->opcode, opcode_of(k, nb, op->has_imm));
	assert_int_equal(pkt->payload_len, len);
	assert_int_equal(pkt->pad, -len & 3);
	assert_int_equal(pkt->write.dma_len, op->len);
	assert_int_equal(pkt->flags & MRC_PKT_V6, p->cfg.v6 ? MRC_PKT_V6 : 0);
	assert_int_equal(pkt->flags & MRC_PKT_TS, p->cfg.timestamps ? MRC_PKT_TS : 0);
	assert_int_equal(pkt->flags & MRC_PKT_MIGREQ, 0);
	assert_int_equal(pkt->ecn, MRC_ECN_ECT0);
	if (op->len != 0) {
		assert_true(pkt->write.va ==
			    p->q[PAIR_B][0].dst.mr.iova + op->dst_off + (uint64_t)k * pmtu);
		assert_int_equal(pkt->write.rkey, p->q[PAIR_B][0].dst.mr.key);
	}
	if (op->has_imm && k + 1 == nb)
		assert_memory_equal(pkt->write.imm, op->imm, 4);
}

static void one_size(struct pair *p, struct pair_tape *tape, const struct pair_wr *wr)
{
	uint32_t psn = p->q[PAIR_A][0].wire_next;
	uint32_t nb = packets_of(wr->len, p->cfg.pmtu);
	uint32_t id;

	pair_tape_clear(tape);
	id = pair_post(p, PAIR_A, 0, wr);
	pair_finish(p, 10 * PAIR_MS);
	assert_int_equal(pair_tape_count(tape, PAIR_A, 0), nb);
	assert_int_equal(p->q[PAIR_A][0].wire_next, mrc_psn_add(mrc_psn(psn), (int32_t)nb).v);
	for (uint32_t k = 0, n = 0; k < tape->nb[PAIR_A]; k++) {
		const struct mrc_pkt *pkt = &tape->pkts[PAIR_A][k];

		if ((mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) == 0)
			continue;
		assert_int_equal(pkt->psn.v, mrc_psn_add(mrc_psn(psn), (int32_t)n).v);
		check_packet(p, pkt, &p->q[PAIR_A][0].ops[id], n, nb);
		n++;
	}
	assert_true(pair_tape_count(tape, PAIR_B, MRC_OP_ACK) >= 1);
}

static void sizes(bool v6, uint32_t pmtu, bool vlan, bool timestamps)
{
	const uint32_t lens[] = {0, 1, 2, 3, 4, 17, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu - 1,
		2 * pmtu, 2 * pmtu + 1, 7 * pmtu + 3};
	struct pair_cfg cfg;
	struct pair_tape tape;
	struct pair *p;

	pair_test_cfg(&cfg, "every_size", 11);
	cfg.v6 = v6;
	cfg.pmtu = pmtu;
	cfg.vlan = vlan;
	cfg.timestamps = timestamps;
	p = pair_create(&cfg);
	pair_tape_start(p, &tape);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (int imm = 0; imm < 2; imm++)
			one_size(p, &tape,
				&(struct pair_wr){.len = lens[i],
					.imm = imm,
					.solicited = imm,
					.nb_sge = lens[i] ? 1 + (uint32_t)i % 4 : 0});
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, sizeof(lens) / sizeof(lens[0]));
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, retransmits), 0);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* spec */
static void every_size(void **state)
{
	for (uint32_t pmtu = MRC_PMTU_MIN; pmtu <= MRC_PMTU_MAX; pmtu *= 2) {
		sizes(false, pmtu, false, true);
		sizes(true, pmtu, false, true);
	}
	sizes(true, 1024, true, false);
	sizes(false, 1024, true, true);
	sizes(false, 1024, false, false);
}

/* 64 MiB in one message: more packets than any window, more than 2^16 at the smallest PMTU. */
/* spec */
static void huge_message(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "huge_message", 12);
	cfg.mem_len = (64u << 20) + 64;
	cfg.pmtu = 4096;
	cfg.mpr = 32;
	cfg.check_every = 64;
	p = pair_create(&cfg);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 64u << 20, .nb_sge = 3});
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 1);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_first, (64u << 20) / 4096);
	pair_destroy(p);
}

/* spec */
static void mixed_load(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	const struct pair_load load = {.count = 2000,
		.depth = 32,
		.min_len = 0,
		.max_len = 5000,
		.imm_pct = 30,
		.unsignaled_pct = 50};

	pair_test_cfg(&cfg, "mixed_load", 13);
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0, &load);
	pair_load(p, PAIR_B, 0, &load);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 2000);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_success, 2000);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, retransmits), 0);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, retransmits), 0);
	pair_destroy(p);
}

/* Every fourth packet or so arrives at the wrong worker and is handed over. */
static void workers(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	const struct pair_load load = {
		.count = 200, .depth = 16, .min_len = 1, .max_len = 9000, .imm_pct = 20};

	pair_test_cfg(&cfg, "workers", 14);
	cfg.nb_workers[PAIR_A] = 2;
	cfg.nb_workers[PAIR_B] = 4;
	cfg.nb_qps = 8;
	cfg.mem_len = 1u << 18;
	cfg.v6 = true;
	p = pair_create(&cfg);
	for (uint32_t i = 0; i < cfg.nb_qps; i++) {
		pair_load(p, PAIR_A, i, &load);
		pair_load(p, PAIR_B, i, &load);
	}
	pair_finish(p, PAIR_S);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		PAIR_EQ(p, p->q[PAIR_A][i].nb_success + p->q[PAIR_B][i].nb_success, 400);
	assert_true(PAIR_COUNTER(p, PAIR_B, foreign_worker) > 0);
	pair_destroy(p);
}

static uint64_t hash_of_run(uint64_t seed)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t hash;

	pair_test_cfg(&cfg, "same_seed_same_run", seed);
	cfg.seed = seed;
	cfg.nb_qps = 2;
	cfg.random_psn = true;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 20000});
	pair_fault_add(p,
		&(struct pair_fault){.act = PAIR_DELAY, .ppm = 100000, .jitter_ns = 10 * PAIR_US});
	for (uint32_t i = 0; i < 2; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = 100,
				.depth = 16,
				.min_len = 0,
				.max_len = 9000,
				.imm_pct = 20});
	pair_run_idle(p, PAIR_S);
	hash = p->hash;
	pair_destroy(p);
	return hash;
}

static void same_seed_same_run(void **state)
{
	assert_true(hash_of_run(5) == hash_of_run(5));
	assert_true(hash_of_run(5) != hash_of_run(6));
}

/* QPs of one worker take turns: equal work ends at about the same time. */
static void fair_turns(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t first = UINT64_MAX, last = 0;

	pair_test_cfg(&cfg, "fair_turns", 15);
	cfg.nb_qps = 16;
	cfg.check_every = 16;
	p = pair_create(&cfg);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_post(p, PAIR_A, i, &(struct pair_wr){.len = 500000});
	pair_finish(p, PAIR_S);
	for (uint32_t i = 0; i < cfg.nb_qps; i++) {
		uint64_t t = p->q[PAIR_A][i].ops[0].done_ns - cfg.start_ns;

		first = t < first ? t : first;
		last = t > last ? t : last;
	}
	if (first * 10 <= last * 9)
		pair_fail(p, "equal work ends between %llu and %llu ns", (unsigned long long)first,
			(unsigned long long)last);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_size),
	cmocka_unit_test(huge_message),
	cmocka_unit_test(mixed_load),
	cmocka_unit_test(workers),
	cmocka_unit_test(same_seed_same_run),
	cmocka_unit_test(fair_turns),
};

PAIR_TEST_MAIN(tests)
