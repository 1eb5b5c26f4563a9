/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gib.c - one GiB in 1 MiB writes over four planes that lose 1 %, double 1 % and shuffle up to
 * 100 packets: every byte right, every completion once and in order, no QP error.
 *
 *   test_gib [--mib N] [--seed S] [--pmtu P]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

struct options {
	uint32_t mib, pmtu;
	uint64_t seed;
};

static bool parse(int argc, char **argv, struct options *opt)
{
	for (int i = 1; i < argc; i += 2) {
		uint64_t x = i + 1 < argc ? strtoull(argv[i + 1], NULL, 0) : 0;

		if (i + 1 == argc)
			return false;
		if (strcmp(argv[i], "--mib") == 0)
			opt->mib = (uint32_t)x;
		else if (strcmp(argv[i], "--seed") == 0)
			opt->seed = x;
		else if (strcmp(argv[i], "--pmtu") == 0)
			opt->pmtu = (uint32_t)x;
		else
			return false;
	}
	return true;
}

static void faults(struct pair *p)
{
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = 10000});
	pair_fault_add(p, &(struct pair_fault){
				  .act = PAIR_DUP, .ppm = 10000, .jitter_ns = 100 * p->cfg.pkt_ns});
	pair_fault_add(
		p, &(struct pair_fault){.act = PAIR_DELAY, .jitter_ns = 100 * p->cfg.pkt_ns});
}

static void report(struct pair *p)
{
	const struct pair_qp *q = &p->q[PAIR_A][0];

	printf("%llu bytes verified in %.3f ms of virtual time, %llu packets, %llu of them again "
	       "(nack %llu, order %llu, distance %llu, timeout %llu, ack timeout %llu, spurious "
	       "%llu)\n",
		(unsigned long long)p->bytes_checked, (double)(p->now - p->cfg.start_ns) * 1e-6,
		(unsigned long long)(q->wire_first + q->wire_again),
		(unsigned long long)q->wire_again,
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_nack),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_order),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_distance),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_timeout),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_ack_timeout),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, spurious_retransmits));
}

int main(int argc, char **argv)
{
	struct options opt = {.mib = 1024, .pmtu = 4096, .seed = 1};
	struct pair_cfg cfg;
	struct pair *p;
	char repro[160];

	if (!parse(argc, argv, &opt))
		return fputs("usage: test_gib [--mib N] [--seed N] [--pmtu N]\n", stderr), 2;
	snprintf(repro, sizeof(repro), "%s --mib %u --pmtu %u --seed %llu", argv[0], opt.mib,
		opt.pmtu, (unsigned long long)opt.seed);
	pair_cfg_default(&cfg);
	cfg.seed = opt.seed;
	cfg.repro = repro;
	cfg.pmtu = opt.pmtu;
	cfg.random_psn = true;
	cfg.mem_len = 10u << 20;
	cfg.nb_evs = 64;
	cfg.check_every = 64;
	p = pair_create(&cfg);
	faults(p);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = opt.mib,
			.depth = 8,
			.min_len = 1u << 20,
			.max_len = 1u << 20,
			.imm_pct = 10});
	pair_finish_faulty(p, 600 * PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, opt.mib);
	PAIR_EQ(p, p->bytes_checked, (uint64_t)opt.mib << 20);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 0);
	/* The wire loses 1 %; shuffling alone is not taken for loss (the first mistakes are free).
	 */
	if (p->q[PAIR_A][0].wire_again > p->q[PAIR_A][0].wire_first / 66 + 100)
		pair_fail(p, "%llu packets sent again",
			(unsigned long long)p->q[PAIR_A][0].wire_again);
	report(p);
	pair_destroy(p);
	return 0;
}
