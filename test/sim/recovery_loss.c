/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_loss.c - does everything get through, at what price: uniform loss of all packets both
 * ways, and answers that never come.
 */
#include <math.h>
#include <stdio.h>

#include "recovery.h"

enum {
	NB_SEEDS = 5,
	WINDOW = 1024, /* PSNs of the MPR used here */
	NB_ANSWERS = 200,
	NB_MESSAGES = 8000,
};

/* ---- uniform loss ---- */

struct size {
	const char *name;
	uint32_t min_len, max_len, count, depth;
};

static const struct size sizes[] = {
	{"1 B..1 KiB", 1, 1024, 600, 64},
	{"1..16 KiB", 1024, 16384, 150, 32},
	{"256 KiB", 262144, 262144, 8, 3},
};

/* Worst of the seeds: packets sent over packets needed, and over what the mark allows. */
struct price {
	double ratio, allowed, ms;
	uint32_t nb_done;
};

static void lossy_run(const struct size *size, uint32_t ppm, uint64_t seed, struct price *price)
{
	double p_keep = 1 - ppm / 1e6, needed = 0, sent = 0, limit;
	struct pair_load load = {.count = size->count,
		.depth = size->depth,
		.min_len = size->min_len,
		.max_len = size->max_len,
		.imm_pct = 20};
	struct pair_cfg cfg;
	struct pair *p;

	rec_cfg(&cfg, seed);
	p = rec_pair(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = ppm});
	pair_load(p, PAIR_A, 0, &load);
	pair_load(p, PAIR_B, 0, &load);
	pair_finish_faulty(p, 20 * PAIR_S);
	price->nb_done += p->failed == 0;
	rec_clean(size->name, p);
	for (int side = 0; side < 2; side++) {
		needed += (double)p->q[side][0].wire_first;
		sent += (double)(p->q[side][0].wire_first + p->q[side][0].wire_again);
	}
	limit = needed / (p_keep * p_keep) + WINDOW;
	price->ratio = fmax(price->ratio, sent / needed);
	price->allowed = fmax(price->allowed, sent / limit);
	price->ms = fmax(price->ms, (double)(p->now - cfg.start_ns) / 1e6);
	pair_faults_clear(p);
	pair_destroy(p);
}

/* spec */
void rec_loss(void)
{
	static const uint32_t losses[] = {1000, 10000, 50000, 100000, 300000};
	char what[96];

	rec_table("loss", "uniform loss of every packet both ways, 5 seeds each");
	for (size_t l = 0; l < 5; l++) {
		for (size_t k = 0; k < 3; k++) {
			struct price price = {0};
			double keep = 1 - losses[l] / 1e6;

			for (uint64_t s = 1; s <= NB_SEEDS; s++)
				lossy_run(&sizes[k], losses[l], 100 * s + 10 * l + k, &price);
			snprintf(what, sizeof(what), "%g %% loss, %s: runs finished",
				losses[l] / 1e4, sizes[k].name);
			rec_row(what, price.nb_done, "of 5", REC_EQ, NB_SEEDS);
			snprintf(what, sizeof(what),
				"%g %% loss, %s: sent / (needed/(1-p)^2 + window)", losses[l] / 1e4,
				sizes[k].name);
			rec_row(what, price.allowed, "ratio", REC_LE, 1);
			snprintf(what, sizeof(what), "%g %% loss, %s: sent / needed",
				losses[l] / 1e4, sizes[k].name);
			rec_row(what, price.ratio, "ratio", REC_LE, 1 / (keep * keep) * 1.05);
		}
	}
}

/* ---- answers ---- */

struct answers {
	uint64_t last_done_ns, worst_gap_ns; /* between completions at A */
	uint64_t last_tx_ns, worst_idle_ns;  /* between packets of A */
	uint64_t from_ns, to_ns;
	uint64_t first_done_ns; /* first completion after to_ns */
	uint64_t nb_done;
};

static bool watch(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct answers *a = p->tap_ctx;
	uint64_t done = p->q[PAIR_A][0].nb_success;

	if (done != a->nb_done) {
		if (p->now - a->last_done_ns > a->worst_gap_ns)
			a->worst_gap_ns = p->now - a->last_done_ns;
		if (a->first_done_ns == 0 && p->now >= a->to_ns)
			a->first_done_ns = p->now;
		a->last_done_ns = p->now;
		a->nb_done = done;
	}
	if (from == PAIR_A && p->now >= a->from_ns) {
		if (a->last_tx_ns != 0 && p->now - a->last_tx_ns > a->worst_idle_ns)
			a->worst_idle_ns = p->now - a->last_tx_ns;
		a->last_tx_ns = p->now;
	}
	return true;
}

/* Answers of these kinds are all dropped for 100 round trips. */
static void silent_for(const char *name, uint32_t kinds, uint8_t timeout, enum rec_op op)
{
	uint64_t timeout_ns = (uint64_t)MRC_TIMEOUT_BASE_NS << timeout;
	struct answers a = {.last_done_ns = PAIR_S};
	struct pair_cfg cfg;
	struct pair *p;
	char what[96];

	rec_cfg(&cfg, 200 + kinds);
	cfg.timeout = timeout;
	p = rec_pair(&cfg);
	a.from_ns = p->now + 200 * PAIR_US;
	a.to_ns = a.from_ns + 1000 * PAIR_US;
	p->tap = watch;
	p->tap_ctx = &a;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
				  .dir = PAIR_B2A,
				  .kinds = kinds,
				  .from_ns = a.from_ns,
				  .to_ns = a.to_ns});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = NB_MESSAGES,
			.depth = 32,
			.min_len = 100,
			.max_len = 9000,
			.imm_pct = 20});
	pair_finish_faulty(p, 5 * PAIR_S);
	snprintf(what, sizeof(what), "%s: completed", name);
	rec_row(what, (double)p->q[PAIR_A][0].nb_success, "messages", REC_EQ, NB_MESSAGES);
	snprintf(what, sizeof(what), "%s: first completion after it", name);
	rec_row(what, (double)(a.first_done_ns - a.to_ns) / (double)timeout_ns, "timeouts", op, 1);
	snprintf(what, sizeof(what), "%s: longest silence of the requester", name);
	rec_row(what, (double)a.worst_idle_ns / (double)timeout_ns, "timeouts", op, 1);
	snprintf(what, sizeof(what), "%s: longest time without a completion", name);
	rec_row(what, (double)a.worst_gap_ns / (double)timeout_ns, "timeouts",
		kinds & PAIR_ACK ? REC_INFO : op, 1);
	rec_clean(name, p);
	p->tap = NULL;
	pair_destroy(p);
}

/* Answer number skip of these kinds is lost; time until all is done. */
static uint64_t lose_one(const char *name, uint32_t kinds, uint32_t skip, bool lose)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t ns;

	rec_cfg(&cfg, 300);
	cfg.timeout = 6;
	p = rec_pair(&cfg);
	if (lose)
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP,
					  .dir = PAIR_B2A,
					  .kinds = kinds,
					  .skip = skip,
					  .count = 1});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 600, .depth = 4, .min_len = 100, .max_len = 3000, .imm_pct = 20});
	pair_finish_faulty(p, 5 * PAIR_S);
	ns = p->now - cfg.start_ns;
	if (lose && p->faults[0].fired != 1)
		pair_fail(p, "answer %u never came", skip);
	rec_clean(name, p);
	pair_destroy(p);
	return ns;
}

static void each_lost(const char *name, uint32_t kinds)
{
	uint64_t timeout_ns = (uint64_t)MRC_TIMEOUT_BASE_NS << 6;
	uint64_t base = lose_one(name, kinds, 0, false), worst = 0;
	char what[96];

	for (uint32_t k = 0; k < NB_ANSWERS; k++) {
		uint64_t ns = lose_one(name, kinds, k, true);

		if (ns > base && ns - base > worst)
			worst = ns - base;
	}
	snprintf(what, sizeof(what), "each single one of 200 %s lost: longest delay", name);
	rec_row(what, (double)worst / (double)timeout_ns, "timeouts", REC_LE, 1);
}

/* spec */
void rec_answers(void)
{
	rec_table("answers", "one layer's answers are lost and the other's are not");
	silent_for("transport ACKs gone for 100 RTT", PAIR_ACK, 8, REC_LE);
	silent_for("SACKs gone for 100 RTT", PAIR_SACK | PAIR_NACK, 8, REC_LE);
	/* Sixteen timeouts: the schedule has begun to double. */
	silent_for("transport ACKs gone, 66 us timeout", PAIR_ACK, 6, REC_LE);
	silent_for("SACKs gone, 66 us timeout", PAIR_SACK | PAIR_NACK, 6, REC_LE);
	each_lost("transport ACKs", PAIR_ACK);
	each_lost("SACKs", PAIR_SACK);
}
