/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_freeze.c - one side stands still and goes on: no error, and the rate is back soon.
 */
#include <stdio.h>

#include "recovery.h"

#define RTT_NS (200 * PAIR_US)

enum {
	NB_TRIALS = 12,
	NB_QPS = 4,
};

struct verdict {
	double worst; /* rate after 20 round trips over the rate before */
	uint64_t nb_errors, nb_again, nb_spurious;
};

static uint64_t bytes_in(struct pair *p, uint64_t for_ns)
{
	uint64_t from = PAIR_COUNTER(p, PAIR_B, rx_data_bytes);

	pair_run(p, for_ns);
	return PAIR_COUNTER(p, PAIR_B, rx_data_bytes) - from;
}

static void freeze_one(int side, uint64_t len_ns, bool jump, uint32_t nr, struct verdict *v)
{
	struct rec_links links = {
		.rate_bps = 1000000000, .limit_ns = 4 * PAIR_MS, .mark_ns = PAIR_MS};
	struct mrc_nscc_cfg cc;
	struct pair_cfg cfg;
	double before, after;
	struct pair *p;

	mrc_nscc_cfg_default(&cc, 4000000000, RTT_NS, 4096 + 100, true);
	rec_cfg(&cfg, 950 + nr);
	cfg.nb_qps = NB_QPS;
	cfg.nb_evs = 64;
	cfg.pmtu = 4096;
	cfg.v6 = true;
	cfg.delay_ns = RTT_NS / 2;
	cfg.pkt_ns = 1000;
	cfg.timeout = 12;
	cfg.linear_cnt = 3;
	cfg.exp_cnt = 7;
	cfg.cc = &cc;
	cfg.mem_len = 2u << 20;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	rec_links_attach(p, &links);
	for (uint32_t i = 0; i < NB_QPS; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = UINT32_MAX,
				.depth = 8,
				.min_len = 128 << 10,
				.max_len = 128 << 10});
	pair_run(p, 20 * PAIR_MS + nr * 37 * PAIR_US);
	before = (double)bytes_in(p, 20 * RTT_NS);
	if (jump)
		pair_clock_jump(p, side, len_ns);
	else
		pair_freeze(p, side, len_ns);
	pair_run(p, jump ? 0 : len_ns);
	pair_run(p, 20 * RTT_NS);
	after = (double)bytes_in(p, 20 * RTT_NS);
	if (after / before < v->worst)
		v->worst = after / before;
	v->nb_errors += PAIR_COUNTER(p, PAIR_A, qp_errors) + PAIR_COUNTER(p, PAIR_B, qp_errors);
	v->nb_again += PAIR_COUNTER(p, PAIR_A, retransmits);
	v->nb_spurious += PAIR_COUNTER(p, PAIR_A, spurious_retransmits);
	rec_clean("freeze", p);
	for (uint32_t i = 0; i < NB_QPS; i++)
		p->q[PAIR_A][i].load_left = 0;
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

static void freeze_run(const char *name, int side, uint64_t len_ns, bool jump)
{
	struct verdict v = {.worst = 1e9};
	char what[96];

	for (uint32_t i = 0; i < NB_TRIALS; i++)
		freeze_one(side, len_ns, jump, i, &v);
	snprintf(what, sizeof(what), "%s: rate 20 RTT later, worst of %d", name, NB_TRIALS);
	rec_row(what, v.worst, "of before", REC_GE, 0.9);
	snprintf(what, sizeof(what), "%s: QP errors", name);
	rec_row(what, (double)v.nb_errors, "", REC_EQ, 0);
	snprintf(what, sizeof(what), "%s: sent again per freeze", name);
	rec_row(what, (double)v.nb_again / NB_TRIALS, "packets", REC_INFO, 0);
}

void rec_freeze(void)
{
	static const uint64_t lens[] = {1, 5, 20, 50};
	char name[64];

	rec_table("freeze", "a side stands still; 4 Gb/s, 200 us, timeout 4.2 ms");
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "requester stops for %d ms", (int)lens[i]);
		freeze_run(name, PAIR_A, lens[i] * PAIR_MS, false);
		snprintf(name, sizeof(name), "responder stops for %d ms", (int)lens[i]);
		freeze_run(name, PAIR_B, lens[i] * PAIR_MS, false);
	}
	freeze_run("requester's clock jumps by 1 s", PAIR_A, PAIR_S, true);
	freeze_run("responder's clock jumps by 1 s", PAIR_B, PAIR_S, true);
}
