/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc-recovery - proves and measures how the engine recovers from loss: two engines and a bad wire
 * in virtual time, one table per question with mark, value and verdict.
 *
 *   mrc-recovery [--json] [--seed N] [question ...]
 *
 * Ends with 1 when a mark is missed, 2 for wrong arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recovery.h"

uint64_t rec_seed = 1;

static bool json;
static uint32_t nb_rows, nb_missed;
static const char *table = "";

static const struct question {
	const char *id;
	void (*run)(void);
} questions[] = {
	{"loss", rec_loss},
	{"repair", rec_repair},
	{"answers", rec_answers},
	{"order", rec_order},
	{"retries", rec_retries},
	{"mpr", rec_mpr},
	{"windows", rec_windows},
	{"goodput", rec_goodput},
	{"freeze", rec_freeze},
	{"demo", rec_demo},
};
#define NB_QUESTIONS (sizeof(questions) / sizeof(questions[0]))

void rec_table(const char *id, const char *title)
{
	table = id;
	if (!json)
		printf("\n%s: %s\n%-78s %12s %-8s %14s  verdict\n", id, title, "case", "measured",
			"unit", "mark");
}

static bool holds(double value, enum rec_op op, double mark)
{
	switch (op) {
	case REC_INFO:
		return true;
	case REC_LE:
		return value <= mark;
	case REC_GE:
		return value >= mark;
	case REC_EQ:
		return value == mark;
	}
	return false;
}

void rec_row(const char *what, double value, const char *unit, enum rec_op op, double mark)
{
	static const char *const signs[] = {"", "<=", ">=", "="};
	bool ok = holds(value, op, mark);
	char text[32] = "-";

	nb_missed += !ok;
	if (op != REC_INFO)
		snprintf(text, sizeof(text), "%s %.6g", signs[op], mark);
	if (json)
		printf("%s  {\"table\": \"%s\", \"case\": \"%s\", \"value\": %.9g, \"unit\": "
		       "\"%s\", "
		       "\"mark\": \"%s\", \"ok\": %s}",
			nb_rows ? ",\n" : "", table, what, value, unit, text,
			ok ? "true" : "false");
	else
		printf("%-78s %12.6g %-8s %14s  %s\n", what, value, unit, text,
			op == REC_INFO ? "-"
			: ok           ? "pass"
				       : "MISSED");
	fflush(stdout);
	nb_rows++;
}

void rec_clean(const char *what, struct pair *p)
{
	if (p->failed == 0)
		return;
	fprintf(stderr, "%s %s: %s\n", table, what, p->failure);
	rec_row(what, p->failed, "failures", REC_EQ, 0);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double rec_quantile(double *values, uint32_t nb, uint32_t per_mille)
{
	uint32_t at = (uint32_t)((uint64_t)nb * per_mille / 1000);

	if (nb == 0)
		return 0;
	qsort(values, nb, sizeof(*values), ascending);
	return values[at < nb ? at : nb - 1];
}

void rec_cfg(struct pair_cfg *cfg_out, uint64_t seed)
{
	pair_cfg_default(cfg_out);
	cfg_out->seed = rec_seed * 1000003 + seed;
	cfg_out->check_every = 97;
}

struct pair *rec_pair(const struct pair_cfg *cfg)
{
	struct pair *p = pair_create(cfg);

	p->tolerate = true;
	return p;
}

/* ---- links ---- */

enum {
	FAULT_DROP,
	FAULT_MARK,
};

static void rule_set(struct pair *p, uint32_t i, bool on)
{
	p->faults[i].to_ns = on ? 0 : 1; /* 1: over since long ago */
}

static uint64_t link_pass(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	struct rec_links *l = p->tap_ctx;
	uint64_t *free_ns = &l->free_ns[from][plane];
	uint64_t wait = *free_ns > p->now ? *free_ns - p->now : 0;
	uint64_t len = pkt->udp_len + 58u; /* Ethernet and IPv6 headers, FCS */
	bool silent = (l->silent >> plane & 1) != 0, late = wait > l->limit_ns;
	bool full = l->inbox != 0 && p->hosts[!from][0].in_len >= l->inbox;
	bool mark = l->mark_ns != 0 && wait > l->mark_ns && pkt->ecn != MRC_ECN_NOT_ECT;

	l->nb_silent += silent;
	l->nb_dropped += !silent && late;
	l->nb_inbox += !silent && !late && full;
	l->nb_marked += mark;
	if (p->nb_faults >= 2) {
		rule_set(p, FAULT_DROP, silent || late || full);
		rule_set(p, FAULT_MARK, mark);
	}
	if (silent || late)
		return 0;
	wait += len * 8000000000ull / l->rate_bps;
	*free_ns = p->now + wait;
	return wait;
}

void rec_links_attach(struct pair *p, struct rec_links *links)
{
	PAIR_ASSERT(p, p->nb_faults == 0);
	p->tap_ctx = links;
	p->path_ns = link_pass;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .to_ns = 1});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_MARK, .to_ns = 1});
}

/* ---- main ---- */

static bool run_one(const char *id)
{
	for (size_t i = 0; i < NB_QUESTIONS; i++) {
		if (strcmp(questions[i].id, id) != 0)
			continue;
		questions[i].run();
		return true;
	}
	return false;
}

static void usage(FILE *out)
{
	fprintf(out, "usage: mrc-recovery [--json] [--seed N]");
	for (size_t i = 0; i < NB_QUESTIONS; i++)
		fprintf(out, " [%s]", questions[i].id);
	fprintf(out, "\nWithout a name all of them. Ends with 1 when a mark is missed.\n");
}

static int refuse(const char *arg)
{
	fprintf(stderr, "mrc-recovery: what is '%s'?\n", arg);
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *env = getenv("MRC_TEST_SEED");
	int first = 1;

	if (env != NULL)
		rec_seed = strtoull(env, NULL, 0);
	for (; first < argc && argv[first][0] == '-'; first++) {
		if (strcmp(argv[first], "--help") == 0)
			return usage(stdout), 0;
		if (strcmp(argv[first], "--json") == 0)
			json = true;
		else if (strcmp(argv[first], "--seed") == 0 && first + 1 < argc)
			rec_seed = strtoull(argv[++first], NULL, 0);
		else
			return refuse(argv[first]);
	}
	if (json)
		printf("[\n");
	else
		printf("seed %llu\n", (unsigned long long)rec_seed);
	for (size_t i = 0; first == argc && i < NB_QUESTIONS; i++)
		questions[i].run();
	for (; first < argc; first++) {
		if (!run_one(argv[first]))
			return refuse(argv[first]);
	}
	if (json)
		printf("\n]\n");
	else
		printf("\n%u lines, %u marks missed\n", nb_rows, nb_missed);
	return nb_missed != 0;
}
