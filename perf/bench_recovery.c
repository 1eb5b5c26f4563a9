/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_recovery.c - what the state for recovery costs where nothing is to be recovered: the
 * engine's cycles per packet against those of the plain partner (plain.h), which speaks the same
 * protocol and keeps none of it.
 *
 * First every frame of both roles is compared: engine and plain partner, in all four combinations,
 * have to send the same bytes. Then windows take turns. One turn of a case is
 *
 *   plain requester - plain responder - engine - plain responder - plain requester
 *
 * (the other side is the engine each time; frames and memory are the same): the engine's window
 * over the mean of the two plain windows around it is one ratio for each role. A pair whose two
 * plain windows differ by more than 15 % is dropped: other work had the core.
 *
 *   requester            posting, pull, payload and ICRC into the frame, answers taken, timers
 *   requester, headers   the same without payload and ICRC, which are the same function for both
 *   responder            packets taken (decode, ICRC, placing), answers sent, timers
 *
 *   bench_recovery [--json] [--rounds N] [--only PAYLOAD/QPS/icrc|plain]
 *   bench_recovery --check       only compares frames
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "joined.h"

enum {
	PACKETS = 2000, /* of a window */
	WARM_STEPS = 32,
	STEP_NS = 128, /* one tick of the time stamps: then they say all that the engine knows */
	CHECK_STEPS = 3000,
	MAX_ROUNDS = 1000,
	MAX_CASES = 16,
};

#define MAX_DRIFT 0.15
#define MARK      1.15

enum combination {
	BOTH_ENGINE,
	PLAIN_REQUESTER,
	PLAIN_RESPONDER,
	BOTH_PLAIN,
	NB_COMBINATIONS,
};

enum role {
	REQUESTER,
	HEADERS,
	RESPONDER,
	NB_ROLES,
};

static const char *const stage_names[JOINED_NB_STAGES] = {
	"post", "req_tx", "finish", "rsp_rx", "rsp_tx", "req_rx", "req_time", "rsp_time"};
static const char *const role_names[NB_ROLES] = {"requester", "requester_headers", "responder"};
static const uint32_t stages_of[NB_ROLES] = {
	[REQUESTER] = 1u << JOINED_POST | 1u << JOINED_REQ_TX | 1u << JOINED_FINISH |
		      1u << JOINED_REQ_RX | 1u << JOINED_REQ_TIME,
	[HEADERS] = 1u << JOINED_POST | 1u << JOINED_REQ_TX | 1u << JOINED_REQ_RX |
		    1u << JOINED_REQ_TIME,
	[RESPONDER] = 1u << JOINED_RSP_RX | 1u << JOINED_RSP_TX | 1u << JOINED_RSP_TIME,
};

/* The pairs of one role: cycles per packet, and ratios. */
struct pairs {
	uint32_t nb, nb_dropped;
	double plain[MAX_ROUNDS], engine[MAX_ROUNDS], ratio[MAX_ROUNDS];
};

struct bench_case {
	char name[48];
	uint32_t payload, nb_qps;
	bool icrc;
	struct joined *joined[NB_COMBINATIONS]; /* BOTH_PLAIN is not measured */
	struct pairs pairs[NB_ROLES];
	double stages[2][JOINED_NB_STAGES][MAX_ROUNDS]; /* plain, engine: cycles per packet */
};

static struct mrc_proto proto;
static struct bench_case *cases[MAX_CASES];
static uint32_t nb_cases;

static struct joined *combine(const struct joined_cfg *cfg, enum combination combination)
{
	struct joined_cfg own = *cfg;

	own.proto = &proto;
	own.step_ns = STEP_NS;
	own.plain[JOINED_REQUESTER] = combination == PLAIN_REQUESTER || combination == BOTH_PLAIN;
	own.plain[JOINED_RESPONDER] = combination == PLAIN_RESPONDER || combination == BOTH_PLAIN;
	return joined_make(&own);
}

/* ---- the same frames --------------------------------------------------------------------------*/

static bool same_frames(const struct joined *a, const struct joined *b, uint32_t side)
{
	uint32_t n = joined_nb_frames(a, side);

	if (n != joined_nb_frames(b, side))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len_a, len_b;
		const uint8_t *frame_a = joined_frame(a, side, i, &len_a);
		const uint8_t *frame_b = joined_frame(b, side, i, &len_b);

		if (len_a != len_b || memcmp(frame_a, frame_b, len_a) != 0)
			return false;
	}
	return true;
}

/* Counts the frames of both sides that were compared. */
static uint64_t check_case(const struct joined_cfg *cfg)
{
	struct joined *joined[NB_COMBINATIONS];
	double unused[JOINED_NB_STAGES] = {0};
	uint64_t frames = 0;

	for (uint32_t c = 0; c < NB_COMBINATIONS; c++)
		joined[c] = combine(cfg, (enum combination)c);
	for (uint32_t step = 0; step < CHECK_STEPS; step++) {
		for (uint32_t c = 0; c < NB_COMBINATIONS; c++)
			joined_step(joined[c], unused);
		for (uint32_t c = 1; c < NB_COMBINATIONS; c++)
			bench_must(same_frames(joined[0], joined[c], JOINED_REQUESTER) &&
					   same_frames(joined[0], joined[c], JOINED_RESPONDER),
				"equality of the plain partner's frames");
		frames += joined_nb_frames(joined[0], JOINED_REQUESTER);
		frames += joined_nb_frames(joined[0], JOINED_RESPONDER);
	}
	for (uint32_t c = 1; c < NB_COMBINATIONS; c++)
		bench_must(memcmp(joined_memory(joined[0], JOINED_RESPONDER),
				   joined_memory(joined[c], JOINED_RESPONDER), JOINED_MEM_LEN) == 0,
			"equality of the memory written");
	for (uint32_t c = 0; c < NB_COMBINATIONS; c++)
		joined_free(joined[c]);
	return frames;
}

static uint64_t check_frames(void)
{
	static const struct joined_cfg checked[] = {
		{.pmtu = 1024, .msg_len = 64, .nb_qps = 1, .icrc = true},
		{.pmtu = 1024, .msg_len = 64, .nb_qps = 64, .icrc = false},
		{.pmtu = 4096, .msg_len = JOINED_MSG_BIG, .nb_qps = 1, .icrc = true},
		{.pmtu = 1024, .msg_len = JOINED_MSG_BIG, .nb_qps = 64, .icrc = true},
		{.pmtu = 1024, .msg_len = 1, .nb_qps = 3, .icrc = true, .mixed = true},
		{.pmtu = 256, .msg_len = 1, .nb_qps = 5, .icrc = true, .mixed = true, .v6 = true},
		{.pmtu = 512, .msg_len = 1, .nb_qps = 3, .icrc = true, .mixed = true, .vlan = true},
		{.pmtu = 1024,
			.msg_len = 1,
			.nb_qps = 2,
			.icrc = true,
			.mixed = true,
			.v6 = true,
			.srv6 = true},
	};
	uint64_t frames = 0;

	for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++)
		frames += check_case(&checked[i]);
	return frames;
}

/* ---- windows ----------------------------------------------------------------------------------*/

/* Cycles per data packet, by stage. */
static void window_run(struct joined *joined, double *cycles_out)
{
	double sums[JOINED_NB_STAGES] = {0}, unused[JOINED_NB_STAGES] = {0};
	uint32_t packets = 0, idle = 0;

	for (uint32_t i = 0; i < WARM_STEPS; i++)
		joined_step(joined, unused);
	while (packets < PACKETS) {
		uint32_t n = joined_step(joined, sums);

		idle = n > 0 ? 0 : idle + 1;
		bench_must(idle < 100000, "progress");
		packets += n;
	}
	for (uint32_t s = 0; s < JOINED_NB_STAGES; s++)
		cycles_out[s] = sums[s] / packets;
}

static double sum_of(const double *cycles, enum role role)
{
	double sum = 0;

	for (uint32_t s = 0; s < JOINED_NB_STAGES; s++)
		if (stages_of[role] >> s & 1)
			sum += cycles[s];
	return sum;
}

static void pair_add(struct bench_case *c, enum role role, const double *before,
	const double *engine, const double *after)
{
	struct pairs *pairs = &c->pairs[role];
	double a1 = sum_of(before, role), a2 = sum_of(after, role), b = sum_of(engine, role);
	double a = (a1 + a2) / 2;

	if (fabs(a1 - a2) > MAX_DRIFT * a) {
		pairs->nb_dropped++;
		return;
	}
	pairs->plain[pairs->nb] = a;
	pairs->engine[pairs->nb] = b;
	pairs->ratio[pairs->nb++] = b / a;
}

static void stages_add(struct bench_case *c, uint32_t round, const double *plain_req,
	const double *plain_rsp, const double *engine)
{
	for (uint32_t s = 0; s < JOINED_NB_STAGES; s++) {
		bool rsp = (stages_of[RESPONDER] >> s & 1) != 0;

		c->stages[0][s][round] = rsp ? plain_rsp[s] : plain_req[s];
		c->stages[1][s][round] = engine[s];
	}
}

static void turn(struct bench_case *c, uint32_t round)
{
	double req[2][JOINED_NB_STAGES], rsp[2][JOINED_NB_STAGES], engine[JOINED_NB_STAGES];

	window_run(c->joined[PLAIN_REQUESTER], req[0]);
	window_run(c->joined[PLAIN_RESPONDER], rsp[0]);
	window_run(c->joined[BOTH_ENGINE], engine);
	window_run(c->joined[PLAIN_RESPONDER], rsp[1]);
	window_run(c->joined[PLAIN_REQUESTER], req[1]);
	pair_add(c, REQUESTER, req[0], engine, req[1]);
	pair_add(c, HEADERS, req[0], engine, req[1]);
	pair_add(c, RESPONDER, rsp[0], engine, rsp[1]);
	stages_add(c, round, req[1], rsp[1], engine);
}

static void case_add(uint32_t payload, uint32_t nb_qps, bool icrc, const char *only)
{
	uint32_t pmtu = payload < 1024 ? 1024 : payload;
	struct joined_cfg cfg = {.pmtu = pmtu,
		.msg_len = payload < pmtu ? payload : JOINED_MSG_BIG,
		.nb_qps = nb_qps,
		.icrc = icrc};
	struct bench_case *c;
	char name[48];

	snprintf(name, sizeof(name), "%u/%u/%s", payload, nb_qps, icrc ? "icrc" : "plain");
	if (only != NULL && strstr(name, only) == NULL)
		return;
	c = calloc(1, sizeof(*c));
	bench_must(c != NULL && nb_cases < MAX_CASES, "set-up");
	snprintf(c->name, sizeof(c->name), "%u B, %u QP%s, ICRC %s", payload, nb_qps,
		nb_qps == 1 ? "" : "s", icrc ? "on" : "off");
	c->payload = payload;
	c->nb_qps = nb_qps;
	c->icrc = icrc;
	for (uint32_t i = 0; i < BOTH_PLAIN; i++) {
		c->joined[i] = combine(&cfg, (enum combination)i);
		cfg.lender = c->joined[0];
	}
	cases[nb_cases++] = c;
}

static void cases_make(const char *only)
{
	static const uint32_t payloads[] = {64, 1024, 4096}, qps[] = {1, 64};

	for (size_t p = 0; p < 3; p++)
		for (size_t q = 0; q < 2; q++)
			for (uint32_t icrc = 0; icrc < 2; icrc++)
				case_add(payloads[p], qps[q], icrc != 0, only);
}

/* ---- results ----------------------------------------------------------------------------------*/

static void print_json_role(struct pairs *pairs, const char *name)
{
	double a[3], b[3], q[3];

	printf(",\n   \"%s\": {\"pairs\": %u, \"dropped\": %u", name, pairs->nb, pairs->nb_dropped);
	if (pairs->nb != 0) {
		bench_quartiles(pairs->plain, pairs->nb, a);
		bench_quartiles(pairs->engine, pairs->nb, b);
		bench_quartiles(pairs->ratio, pairs->nb, q);
		printf(", \"plain\": [%.1f, %.1f, %.1f], \"engine\": [%.1f, %.1f, %.1f], "
		       "\"ratio\": [%.3f, %.3f, %.3f]",
			a[0], a[1], a[2], b[0], b[1], b[2], q[0], q[1], q[2]);
	}
	printf("}");
}

static void print_json(uint32_t rounds, uint64_t frames)
{
	printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"mark\": %.2f, \"frames_compared\": %llu, "
	       "\"cases\": [",
		bench_tsc_ghz(), rounds, MARK, (unsigned long long)frames);
	for (uint32_t i = 0; i < nb_cases; i++) {
		struct bench_case *c = cases[i];

		printf("%s\n  {\"name\": \"%s\", \"payload\": %u, \"qps\": %u, \"icrc\": %s",
			i == 0 ? "" : ",", c->name, c->payload, c->nb_qps,
			c->icrc ? "true" : "false");
		for (uint32_t r = 0; r < NB_ROLES; r++)
			print_json_role(&c->pairs[r], role_names[r]);
		printf(",\n   \"stages\": {");
		for (uint32_t k = 0; k < JOINED_NB_STAGES; k++) {
			double a[3], b[3];

			bench_quartiles(c->stages[0][k], rounds, a);
			bench_quartiles(c->stages[1][k], rounds, b);
			printf("%s\"%s\": [%.1f, %.1f]", k == 0 ? "" : ", ", stage_names[k], a[1],
				b[1]);
		}
		printf("}}");
	}
	printf("\n]}\n");
}

static void print_role(struct pairs *pairs)
{
	double a[3], b[3], q[3];

	if (pairs->nb == 0) {
		printf(" |       -       -  no pairs             ");
		return;
	}
	bench_quartiles(pairs->plain, pairs->nb, a);
	bench_quartiles(pairs->engine, pairs->nb, b);
	bench_quartiles(pairs->ratio, pairs->nb, q);
	printf(" | %7.1f %7.1f  %5.3f (%5.3f .. %5.3f)%s", a[1], b[1], q[1], q[0], q[2],
		q[1] > MARK ? "!" : " ");
}

/* What the engine needs more in each stage, medians of all windows. */
static void print_stages(uint32_t rounds)
{
	printf("\nengine - plain by stage\n%-24s", "");
	for (uint32_t k = 0; k < JOINED_NB_STAGES; k++)
		printf(" %8s", stage_names[k]);
	printf("\n");
	for (uint32_t i = 0; i < nb_cases; i++) {
		printf("%-24s", cases[i]->name);
		for (uint32_t k = 0; k < JOINED_NB_STAGES; k++) {
			double a[3], b[3];

			bench_quartiles(cases[i]->stages[0][k], rounds, a);
			bench_quartiles(cases[i]->stages[1][k], rounds, b);
			printf(" %8.1f", b[1] - a[1]);
		}
		printf("\n");
	}
}

static void print_text(uint32_t rounds, uint64_t frames)
{
	printf("%llu frames of plain partner and engine compared: equal\n",
		(unsigned long long)frames);
	printf("cycles per data packet (time stamp counter at %.2f GHz): plain, engine, ratio: "
	       "median (quartiles) of %u turns; ! = above %.2f\n",
		bench_tsc_ghz(), rounds, MARK);
	printf("%-24s | %-38s | %-38s | %s\n", "", "requester", "requester, headers", "responder");
	for (uint32_t i = 0; i < nb_cases; i++) {
		uint32_t dropped = 0;

		printf("%-24s", cases[i]->name);
		for (uint32_t r = 0; r < NB_ROLES; r++) {
			print_role(&cases[i]->pairs[r]);
			dropped += cases[i]->pairs[r].nb_dropped;
		}
		printf(" %u dropped\n", dropped);
	}
	print_stages(rounds);
}

int main(int argc, char **argv)
{
	struct bench_options o = {.program = "bench_recovery",
		.only_text = "PAYLOAD/QPS/icrc|plain",
		.max_rounds = MAX_ROUNDS,
		.rounds = 100};
	uint64_t frames;

	mrc_proto_default(&proto);
	bench_must(mrc_proto_init(&proto) == MRC_OK, "mrc_proto_init");
	if (argc == 2 && strcmp(argv[1], "--check") == 0) {
		printf("%llu frames compared: equal\n", (unsigned long long)check_frames());
		return 0;
	}
	bench_options_read(&o, argc, argv);
	frames = check_frames();
	cases_make(o.only);
	for (uint32_t r = 0; r < o.rounds; r++)
		for (uint32_t i = 0; i < nb_cases; i++)
			turn(cases[i], r);
	if (o.json)
		print_json(o.rounds, frames);
	else
		print_text(o.rounds, frames);
	for (uint32_t i = 0; i < nb_cases; i++) {
		for (uint32_t k = BOTH_PLAIN; k-- > 0;)
			joined_free(cases[i]->joined[k]);
		free(cases[i]);
	}
	return 0;
}
