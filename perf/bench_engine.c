/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_engine.c - what the engine costs per data packet: two engines on one core, joined by memory
 * that loses nothing (joined.h says what the stages are), so that requester and responder are
 * measured apart from each other and from any port. Clean path: no loss, no marks, no reordering;
 * congestion control on.
 *
 * All cases are set up first and take turns, so that a slow spell of the machine hits all of them;
 * reported are median and quartiles over the rounds, cycles of the time stamp counter per data
 * packet.
 *
 *   bench_engine [--json] [--rounds N] [--only TEXT]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "joined.h"

enum {
	PACKETS = 4000, /* per round and case */
	MAX_ROUNDS = 1000,
	MAX_CASES = 32,
	STEP_NS = 80, /* virtual time per packet */
};

/* The two sides' timers are shown as one. */
enum stage {
	POST,
	REQ_TX,
	FINISH,
	RSP_RX,
	RSP_TX,
	REQ_RX,
	TIMERS,
	NB_STAGES,
};

static const char *const stage_names[NB_STAGES] = {
	"post", "req_tx", "finish", "rsp_rx", "rsp_tx", "req_rx", "timers"};
static const enum stage stage_of[JOINED_NB_STAGES] = {[JOINED_POST] = POST,
	[JOINED_REQ_TX] = REQ_TX,
	[JOINED_FINISH] = FINISH,
	[JOINED_RSP_RX] = RSP_RX,
	[JOINED_RSP_TX] = RSP_TX,
	[JOINED_REQ_RX] = REQ_RX,
	[JOINED_REQ_TIME] = TIMERS,
	[JOINED_RSP_TIME] = TIMERS};

struct world {
	char name[48];
	uint32_t pmtu, msg_len, nb_qps;
	bool icrc;
	struct joined *joined;
	double cycles[NB_STAGES][MAX_ROUNDS];
	double total[MAX_ROUNDS];
};

static struct mrc_proto proto;
static struct world *worlds[MAX_CASES];
static uint32_t nb_worlds;

static void world_add(uint32_t pmtu, uint32_t msg_len, uint32_t nb_qps, bool icrc)
{
	struct joined_cfg cfg = {.proto = &proto,
		.pmtu = pmtu,
		.msg_len = msg_len,
		.nb_qps = nb_qps,
		.step_ns = STEP_NS,
		.icrc = icrc};
	struct world *w = calloc(1, sizeof(*w));

	bench_must(w != NULL && nb_worlds < MAX_CASES, "set-up");
	*w = (struct world){.pmtu = pmtu, .msg_len = msg_len, .nb_qps = nb_qps, .icrc = icrc};
	snprintf(w->name, sizeof(w->name), "%u B, %u QP%s, ICRC %s",
		msg_len < pmtu ? msg_len : pmtu, nb_qps, nb_qps == 1 ? "" : "s",
		icrc ? "on" : "off");
	w->joined = joined_make(&cfg);
	worlds[nb_worlds++] = w;
}

static void world_free(struct world *w)
{
	joined_free(w->joined);
	free(w);
}

static void round_run(struct world *w, uint32_t round)
{
	double sums[JOINED_NB_STAGES] = {0}, unused[JOINED_NB_STAGES] = {0};
	uint32_t packets = 0, idle = 0;

	for (uint32_t i = 0; i < 64; i++) /* warms caches and predictors */
		joined_step(w->joined, unused);
	while (packets < PACKETS) {
		uint32_t n = joined_step(w->joined, sums);

		idle = n > 0 ? 0 : idle + 1;
		bench_must(idle < 100000, "progress");
		packets += n;
	}
	w->total[round] = 0;
	for (uint32_t s = 0; s < NB_STAGES; s++)
		w->cycles[s][round] = 0;
	for (uint32_t s = 0; s < JOINED_NB_STAGES; s++) {
		w->cycles[stage_of[s]][round] += sums[s] / packets;
		w->total[round] += sums[s] / packets;
	}
}

static void print_json(uint32_t rounds)
{
	printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"cases\": [", bench_tsc_ghz(), rounds);
	for (uint32_t i = 0; i < nb_worlds; i++) {
		struct world *w = worlds[i];
		double q[3];

		bench_quartiles(w->total, rounds, q);
		printf("%s\n  {\"name\": \"%s\", \"pmtu\": %u, \"msg_len\": %u, \"qps\": %u, "
		       "\"icrc\": %s, \"total\": [%.1f, %.1f, %.1f]",
			i == 0 ? "" : ",", w->name, w->pmtu, w->msg_len, w->nb_qps,
			w->icrc ? "true" : "false", q[0], q[1], q[2]);
		for (uint32_t s = 0; s < NB_STAGES; s++) {
			bench_quartiles(w->cycles[s], rounds, q);
			printf(", \"%s\": [%.1f, %.1f, %.1f]", stage_names[s], q[0], q[1], q[2]);
		}
		printf("}");
	}
	printf("\n]}\n");
}

static void print_text(uint32_t rounds)
{
	printf("cycles per data packet (time stamp counter at %.2f GHz), median of %u rounds\n",
		bench_tsc_ghz(), rounds);
	printf("%-28s", "");
	for (uint32_t s = 0; s < NB_STAGES; s++)
		printf(" %7s", stage_names[s]);
	printf(" %8s   25 %% ..  75 %%\n", "all");
	for (uint32_t i = 0; i < nb_worlds; i++) {
		double q[3];

		printf("%-28s", worlds[i]->name);
		for (uint32_t s = 0; s < NB_STAGES; s++) {
			bench_quartiles(worlds[i]->cycles[s], rounds, q);
			printf(" %7.1f", q[1]);
		}
		bench_quartiles(worlds[i]->total, rounds, q);
		printf(" %8.1f %7.1f %7.1f\n", q[1], q[0], q[2]);
	}
}

static void worlds_make(const char *only)
{
	static const struct {
		uint32_t pmtu, msg_len, nb_qps;
		bool icrc;
	} cases[] = {
		{1024, 64, 1, false},
		{1024, 64, 1, true},
		{1024, JOINED_MSG_BIG, 1, false},
		{1024, JOINED_MSG_BIG, 1, true},
		{4096, JOINED_MSG_BIG, 1, false},
		{4096, JOINED_MSG_BIG, 1, true},
		{1024, 64, 16, false},
		{1024, 64, 256, false},
		{1024, 64, 4096, false},
		{4096, JOINED_MSG_BIG, 16, false},
		{4096, JOINED_MSG_BIG, 256, false},
		{4096, JOINED_MSG_BIG, 4096, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[48];

		snprintf(name, sizeof(name), "%u/%u/%u/%s", cases[i].pmtu, cases[i].msg_len,
			cases[i].nb_qps, cases[i].icrc ? "icrc" : "plain");
		if (only == NULL || strstr(name, only) != NULL)
			world_add(cases[i].pmtu, cases[i].msg_len, cases[i].nb_qps, cases[i].icrc);
	}
}

int main(int argc, char **argv)
{
	struct bench_options o = {.program = "bench_engine",
		.only_text = "PMTU/MESSAGE/QPS/icrc|plain",
		.max_rounds = MAX_ROUNDS,
		.rounds = 100};

	bench_options_read(&o, argc, argv);
	mrc_proto_default(&proto);
	bench_must(mrc_proto_init(&proto) == MRC_OK, "mrc_proto_init");
	worlds_make(o.only);
	for (uint32_t r = 0; r < o.rounds; r++)
		for (uint32_t i = 0; i < nb_worlds; i++)
			round_run(worlds[i], r);
	if (o.json)
		print_json(o.rounds);
	else
		print_text(o.rounds);
	for (uint32_t i = 0; i < nb_worlds; i++)
		world_free(worlds[i]);
	return 0;
}
