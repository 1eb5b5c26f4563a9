/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_order.c - paths of different delay, and no loss at all: nothing may be sent again.
 */
#include <stdio.h>

#include "recovery.h"

/* One way delay grows from the shortest to `spread` times that over the entropy values. */
struct paths {
	uint64_t delay_ns;
	uint32_t nb_evs, spread;
	bool two; /* two classes only: shortest and longest */
};

static uint64_t path_ns(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	const struct paths *paths = p->tap_ctx;
	const struct mrc_ev_set *set = p->hosts[from][0].set;
	uint32_t index = mrc_ev_find(set, pkt->ev, (uint8_t)plane);
	uint64_t more = paths->delay_ns * (paths->spread - 1);

	if (index == MRC_EV_NONE)
		return 0;
	if (paths->two)
		return index & 1 ? more : 0;
	return more * index / (paths->nb_evs - 1);
}

static void order_run(
	const char *name, const struct paths *paths, uint64_t pkt_ns, uint8_t mpr, enum rec_op op)
{
	struct paths mine = *paths;
	uint64_t sent, again;
	struct pair_cfg cfg;
	struct pair *p;
	char what[96];

	rec_cfg(&cfg, 400 + mpr);
	cfg.nb_evs = paths->nb_evs;
	cfg.nb_planes = paths->two ? 2 : 4;
	cfg.delay_ns = paths->delay_ns;
	cfg.pkt_ns = pkt_ns;
	cfg.mpr = mpr;
	cfg.timeout = 12;
	cfg.mem_len = 4u << 20;
	p = rec_pair(&cfg);
	p->path_ns = path_ns;
	p->tap_ctx = &mine;
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 200, .depth = 16, .min_len = 1, .max_len = 200000, .imm_pct = 30});
	pair_load(p, PAIR_B, 0,
		&(struct pair_load){.count = 200, .depth = 16, .min_len = 1, .max_len = 2000});
	pair_finish_faulty(p, 10 * PAIR_S);
	rec_clean(name, p);
	sent = p->q[PAIR_A][0].wire_first + p->q[PAIR_B][0].wire_first;
	again = p->q[PAIR_A][0].wire_again + p->q[PAIR_B][0].wire_again;
	snprintf(what, sizeof(what), "%s: sent again of %llu", name, (unsigned long long)sent);
	rec_row(what, (double)again, "packets", op, 0);
	pair_destroy(p);
}

/* spec */
void rec_order(void)
{
	const struct paths four = {5000, 64, 4, false}, twenty = {5000, 64, 20, false};
	const struct paths two = {10000, 32, 6, true};

	rec_table("order", "paths differ in delay only");
	order_run("64 paths, 1x-4x, window 256", &four, 100, 2, REC_EQ);
	order_run("64 paths, 1x-4x, window 1024", &four, 100, 8, REC_EQ);
	order_run("64 paths, 1x-4x, window 4096", &four, 20, 32, REC_EQ);
	order_run("64 paths, 1x-20x, window 1024", &twenty, 100, 8, REC_EQ);
	order_run("two paths, 10 and 60 us, 10 Gb/s", &two, 1000, 8, REC_EQ);
	order_run("two paths, 10 and 60 us, 100 Gb/s", &two, 100, 8, REC_EQ);
	order_run("two paths, 10 and 60 us, 1 Tb/s", &two, 10, 32, REC_EQ);
}
