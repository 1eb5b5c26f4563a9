/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair_test.h"

static const char *program = "test";

void pair_test_cfg(struct pair_cfg *cfg_out, const char *name, uint64_t seed)
{
	static char repro[256];
	const char *text = getenv("MRC_TEST_SEED");

	pair_cfg_default(cfg_out);
	cfg_out->seed = text != NULL ? strtoull(text, NULL, 0) : seed;
	snprintf(repro, sizeof(repro), "MRC_TEST_SEED=%llu %s %s",
		(unsigned long long)cfg_out->seed, program, name);
	cfg_out->repro = repro;
}

static void fail_test(void)
{
	_fail("pair", 0);
}

int pair_test_main(int argc, char **argv, const struct CMUnitTest *tests, size_t nb_tests)
{
	program = argv[0];
	pair_on_fail = fail_test;
	for (size_t i = 0; argc > 1 && i < nb_tests; i++)
		if (strcmp(tests[i].name, argv[1]) == 0)
			return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
	if (argc > 1) {
		fprintf(stderr, "no test %s\n", argv[1]);
		return 2;
	}
	return _cmocka_run_group_tests(argv[0], tests, nb_tests, NULL, NULL);
}

static bool tape_tap(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct pair_tape *tape = p->tap_ctx;

	if (tape->nb[from] == tape->cap[from]) {
		uint32_t cap = tape->cap[from] ? 2 * tape->cap[from] : 256;

		tape->pkts[from] = realloc(tape->pkts[from], cap * sizeof(struct mrc_pkt));
		tape->times[from] = realloc(tape->times[from], cap * sizeof(uint64_t));
		tape->cap[from] = cap;
	}
	tape->times[from][tape->nb[from]] = p->now;
	tape->pkts[from][tape->nb[from]++] = *pkt;
	return true;
}

void pair_test_expect_drop(struct pair *p, struct mrc_rx_verdict v, enum mrc_drop reason)
{
	if (v.kind != MRC_RX_DROP || v.arg != reason)
		pair_fail(p, "verdict %u/%s, expected %s", v.kind,
			mrc_drop_name((enum mrc_drop)v.arg), mrc_drop_name(reason));
}

struct pair_fault *pair_test_path_fault(struct pair *p, uint32_t index, struct pair_fault fault)
{
	const struct mrc_ev *ev = mrc_ev_get(p->hosts[PAIR_A][0].set, index);

	fault.dir = PAIR_A2B;
	fault.planes = 1u << ev->plane;
	fault.has_ev = true;
	fault.ev = ev->value;
	return pair_fault_add(p, &fault);
}

struct pair *pair_test_dead_path(
	const char *name, uint64_t seed, uint32_t index, void (*tweak)(struct mrc_ev_cfg *cfg))
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, seed);
	cfg.exp_cnt = MRC_EXP_MAX;
	cfg.ev_tweak = tweak;
	p = pair_create(&cfg);
	pair_test_path_fault(p, index, (struct pair_fault){.act = PAIR_DROP});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 100, .depth = 8, .min_len = 9000, .max_len = 9000});
	pair_finish_faulty(p, 10 * PAIR_S);
	PAIR_EQ(p, mrc_ev_state(p->hosts[PAIR_A][0].set, index), MRC_EV_ASSUMED_BAD);
	return p;
}

void pair_tape_start(struct pair *p, struct pair_tape *tape)
{
	memset(tape, 0, sizeof(*tape));
	p->tap = tape_tap;
	p->tap_ctx = tape;
}

void pair_tape_clear(struct pair_tape *tape)
{
	tape->nb[0] = tape->nb[1] = 0;
}

void pair_tape_free(struct pair *p, struct pair_tape *tape)
{
	p->tap = NULL;
	for (int s = 0; s < 2; s++) {
		free(tape->pkts[s]);
		free(tape->times[s]);
	}
	memset(tape, 0, sizeof(*tape));
}

uint32_t pair_tape_count(const struct pair_tape *tape, int side, uint8_t opcode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tape->nb[side]; i++) {
		uint8_t op = tape->pkts[side][i].opcode;

		n += opcode ? op == opcode : (mrc_opcode_table[op].flags & MRC_OPF_WRITE) != 0;
	}
	return n;
}

const struct mrc_pkt *pair_tape_last(
	struct pair *p, const struct pair_tape *tape, int side, uint8_t opcode)
{
	for (uint32_t i = tape->nb[side]; i-- > 0;)
		if (tape->pkts[side][i].opcode == opcode)
			return &tape->pkts[side][i];
	pair_fail(p, "no packet of opcode %#x", opcode);
	return NULL;
}
