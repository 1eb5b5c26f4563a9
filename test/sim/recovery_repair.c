/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_repair.c - how long a single lost packet is missing: from its departure to the arrival
 * of its copy, in unloaded round trips, by how the loss is found.
 */
#include <stdio.h>

#include "recovery.h"

enum {
	NB_TRIALS = 100,
};

struct kase {
	const char *name;
	uint32_t nb_evs, nb_planes;
	uint64_t delay_ns, pkt_ns;
	uint32_t tx_burst;
	bool trim, tail, by_distance, unpinned;
	uint8_t mpr;
};

struct trial {
	uint64_t lost_ns, copy_ns; /* departures */
	uint64_t delay_ns;
	uint32_t psn;
};

static bool watch(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct trial *t = p->tap_ctx;

	if (from != PAIR_A || (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) == 0 ||
		pkt->psn.v != t->psn)
		return true;
	if ((pkt->flags & MRC_PKT_RTX) == 0)
		t->lost_ns = p->now;
	else if (t->copy_ns == 0)
		t->copy_ns = p->now;
	return true;
}

/* An entropy value that does not pin a path: every packet meets another delay. */
static uint64_t any_path(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	return from == PAIR_A ? test_random_below(&p->te, 2000) : 0;
}

static void distance_on(struct mrc_sched_cfg *cfg, int side)
{
	cfg->loss_by_distance = true;
}

/* Unloaded round trip: one packet, post to completion. */
static uint64_t unloaded(const struct kase *k)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t ns;

	rec_cfg(&cfg, 1);
	cfg.delay_ns = k->delay_ns;
	cfg.pkt_ns = k->pkt_ns;
	cfg.nb_planes = k->nb_planes;
	p = rec_pair(&cfg);
	(void)pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 1024});
	pair_finish(p, PAIR_S);
	ns = p->q[PAIR_A][0].ops[0].done_ns - p->q[PAIR_A][0].ops[0].posted_ns;
	pair_destroy(p);
	return ns;
}

/* Returns the repair time in ns; adds to the sums what was sent for nothing, and expiries. */
static uint64_t trial_run(const struct kase *k, uint32_t nr, const struct mrc_nscc_cfg *cc,
	uint64_t *spurious, uint64_t *expiries)
{
	uint32_t nb_pkts = 1024;
	struct trial t = {.delay_ns = k->delay_ns};
	struct pair_cfg cfg;
	struct pair *p;

	rec_cfg(&cfg, 1000 + nr);
	cfg.nb_evs = k->nb_evs;
	cfg.nb_planes = k->nb_planes;
	cfg.delay_ns = k->delay_ns;
	cfg.pkt_ns = k->pkt_ns;
	cfg.tx_burst = k->tx_burst;
	cfg.mpr = k->mpr;
	cfg.cc = k->by_distance ? cc : NULL;
	cfg.tweak = k->by_distance ? distance_on : NULL;
	cfg.timeout = 12;
	cfg.pmtu = 256;
	cfg.mem_len = 1u << 19;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	t.psn = k->tail ? cfg.psn[0] + nb_pkts - 1 : cfg.psn[0] + 300 + nr;
	p->tap = watch;
	p->tap_ctx = &t;
	p->path_ns = k->unpinned ? any_path : NULL;
	pair_fault_add(p, &(struct pair_fault){.act = k->trim ? PAIR_TRIM : PAIR_DROP,
				  .dir = PAIR_A2B,
				  .has_psn = true,
				  .psn = t.psn,
				  .count = 1,
				  .arg = 28});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 16,
			.depth = 16,
			.min_len = nb_pkts << 4,
			.max_len = nb_pkts << 4});
	pair_finish_faulty(p, 5 * PAIR_S);
	if (t.copy_ns == 0)
		pair_fail(p, "PSN %#x was never sent again", t.psn);
	rec_clean(k->name, p);
	*spurious += PAIR_COUNTER(p, PAIR_A, retransmits) - 1;
	*expiries += PAIR_COUNTER(p, PAIR_A, timeouts);
	p->tap = NULL;
	pair_destroy(p);
	return t.copy_ns + k->delay_ns - t.lost_ns;
}

static void kase_run(const struct kase *k, double median_mark, double p99_mark)
{
	double values[NB_TRIALS], rtt = (double)unloaded(k);
	enum rec_op op = median_mark > 0 ? REC_LE : REC_INFO;
	uint64_t spurious = 0, expiries = 0;
	struct mrc_nscc_cfg cc;
	char what[96];

	/* A window of one and a half BDP at the rate of the host. */
	mrc_nscc_cfg_default(&cc, 1170ull * 8 * 1000000000 / k->pkt_ns, (uint32_t)rtt, 1170, true);
	for (uint32_t i = 0; i < NB_TRIALS; i++)
		values[i] = (double)trial_run(k, i, &cc, &spurious, &expiries) / rtt;
	snprintf(what, sizeof(what), "%s: median", k->name);
	rec_row(what, rec_quantile(values, NB_TRIALS, 500), "RTT", op, median_mark);
	snprintf(what, sizeof(what), "%s: P99", k->name);
	rec_row(what, rec_quantile(values, NB_TRIALS, 990), "RTT", op, p99_mark);
	snprintf(what, sizeof(what), "%s: expiries", k->name);
	rec_row(what, (double)expiries, "", op == REC_LE ? REC_EQ : REC_INFO, 0);
	snprintf(what, sizeof(what), "%s: others sent again", k->name);
	rec_row(what, (double)spurious / NB_TRIALS, "per loss", op == REC_LE ? REC_EQ : REC_INFO,
		0);
}

/* 100 packets leave in a round trip. */
static struct kase on_evs(const char *name, uint32_t nb_evs)
{
	return (struct kase){.name = name,
		.nb_evs = nb_evs,
		.nb_planes = 4,
		.delay_ns = 5000,
		.pkt_ns = 100,
		.tx_burst = 8,
		.mpr = 8};
}

/*
 * Three ways are one and a half round trips by nature; to them comes the host's present pull. Path
 * order needs the next packet on the same entropy value, which is one pass of the walk away on
 * average and two at most: with n of them in a round trip 1/n, at most 2/n. spec
 */
void rec_repair(void)
{
	struct kase k = on_evs("trimmed", 32);

	rec_table("repair", "a single lost packet, departure to its copy's arrival, 100 trials");
	k.trim = true;
	kase_run(&k, 1.5 + 0.08, 1.5 + 0.08);
	k = on_evs("path order, 12 packets per EV", 8);
	kase_run(&k, 2, 2);
	k = on_evs("path order, 6 packets per EV", 16);
	kase_run(&k, 2, 2);
	k = on_evs("path order, 4 packets per EV", 24);
	kase_run(&k, 2, 2);
	k = on_evs("path order, 2 packets per EV (goal 2: not met)", 48);
	kase_run(&k, 1.5 + 0.5 + 0.2, 1.5 + 1 + 0.2);
	k = on_evs("tail, by probe", 32);
	k.tail = true;
	kase_run(&k, 3, 3);
	k = on_evs("one packet per EV, path order and probe", 128);
	kase_run(&k, 0, 0);
	k = on_evs("one packet per EV, distance", 256);
	k.by_distance = true;
	kase_run(&k, 0, 0);
	k.name = "EVs pin no path, distance";
	k.unpinned = true;
	kase_run(&k, 0, 0);
}
