/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_window_model.c - the window model, exhaustively, on the production code: six packets whose
 * numbers straddle the wrap of the PSN space, in every order, each delivered, lost or doubled; and
 * every subset of the first answers lost. After each schedule the wire heals and everything must
 * finish, under the judge of pair.
 *
 *   test_window_model [--schedule N]   (N as printed by a failure)
 *
 * Claims: no byte is written after its message was answered; no completion before delivery; each
 * immediate once and in order; progress when loss stops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

enum {
	NB_PKTS = 6,
	NB_ANSWERS = 6,
	NB_ORDERS = 720,
	NB_FATES = 729, /* deliver, lose, double: 3^6 */
	NB_MASKS = 64,
	FIRST_PSN = 0xFFFFFD,
};

struct model {
	struct pair *p;
	uint8_t *frames[NB_PKTS];
	uint32_t lens[NB_PKTS];
	uint32_t nb_frames, nb_answers;
	uint32_t answer_mask; /* bit i: answer i is lost */
	bool catching;
};

/* Data packets of the first flight are caught; answers are lost by mask; the rest passes. */
static bool tap(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct model *m = p->tap_ctx;

	if (from == PAIR_B) {
		uint32_t i = m->nb_answers++;

		return i >= NB_ANSWERS || (m->answer_mask >> i & 1) == 0;
	}
	if (!m->catching || m->nb_frames == NB_PKTS)
		return true;
	m->frames[m->nb_frames] = malloc(len);
	memcpy(m->frames[m->nb_frames], frame, len);
	m->lens[m->nb_frames++] = len;
	return false;
}

/* The k-th permutation of 0 .. n-1. */
static void permutation(uint32_t k, uint32_t *order_out)
{
	uint32_t left[NB_PKTS], n = NB_PKTS, f = NB_ORDERS;

	for (uint32_t i = 0; i < n; i++)
		left[i] = i;
	for (uint32_t i = 0; i < NB_PKTS; i++) {
		uint32_t at;

		f /= n;
		at = k / f;
		k %= f;
		order_out[i] = left[at];
		memmove(&left[at], &left[at + 1], (n - at - 1) * sizeof(left[0]));
		n--;
	}
}

static void deliver(struct model *m, uint32_t k)
{
	pair_inject(m->p, PAIR_B, 0, m->frames[k], m->lens[k], 0);
	pair_run(m->p, 200);
}

/* A message of three packets, one of two with an immediate, an empty one with an immediate. */
static void post(struct model *m)
{
	pair_post(m->p, PAIR_A, 0, &(struct pair_wr){.len = 700});
	pair_post(m->p, PAIR_A, 0, &(struct pair_wr){.len = 300, .imm = true});
	pair_post(m->p, PAIR_A, 0, &(struct pair_wr){.len = 0, .imm = true});
}

static void schedule(struct model *m, uint32_t n)
{
	uint32_t order[NB_PKTS], fates, double_later[NB_PKTS], nb_later = 0;

	if (n < NB_ORDERS * NB_FATES) {
		permutation(n / NB_FATES, order);
		fates = n % NB_FATES;
		m->answer_mask = 0;
	} else {
		n -= NB_ORDERS * NB_FATES;
		permutation(n / NB_FATES % 2 ? NB_ORDERS - 1 : 0, order);
		fates = n % NB_FATES;
		m->answer_mask = n / NB_FATES / 2;
	}
	pair_reconnect(m->p, 0, FIRST_PSN, 0x123456);
	m->nb_frames = m->nb_answers = 0;
	m->catching = true;
	post(m);
	pair_run(m->p, 2000);
	PAIR_EQ(m->p, m->nb_frames, NB_PKTS);
	m->catching = false;
	for (uint32_t i = 0; i < NB_PKTS; i++, fates /= 3) {
		if (fates % 3 != 1)
			deliver(m, order[i]);
		if (fates % 3 == 2)
			double_later[nb_later++] = order[i];
	}
	for (uint32_t i = 0; i < nb_later; i++)
		deliver(m, double_later[i]);
	pair_finish(m->p, 100 * PAIR_MS);
	for (uint32_t i = 0; i < NB_PKTS; i++) {
		/* once more, when all is over: nothing may change (pair_check_memory looks) */
		if (i == n % NB_PKTS)
			deliver(m, i);
		free(m->frames[i]);
	}
	PAIR_EQ(m->p, pair_query(m->p, PAIR_B, 0).cack_psn.v,
		mrc_psn_add(mrc_psn(FIRST_PSN), NB_PKTS - 1).v);
	pair_check_memory(m->p);
}

int main(int argc, char **argv)
{
	const uint32_t all = NB_ORDERS * NB_FATES + 2 * NB_FATES * NB_MASKS;
	uint32_t from = 0, to = all;
	char repro[128];
	struct pair_cfg cfg;
	struct model m = {.nb_frames = 0};

	if (argc == 3 && strcmp(argv[1], "--schedule") == 0) {
		from = (uint32_t)strtoul(argv[2], NULL, 0);
		to = from + 1;
	}
	if ((argc != 1 && argc != 3) || to == 0 || to > all ||
		(argc == 3 && to == all && from == 0))
		return fprintf(stderr, "usage: test_window_model [--schedule 0 .. %u]\n", all - 1),
		       2;
	pair_cfg_default(&cfg);
	cfg.repro = repro;
	cfg.pmtu = 256;
	cfg.mpr = 1;
	cfg.nb_planes = 1;
	cfg.nb_evs = 4;
	cfg.mem_len = 4096;
	cfg.sq_depth = 4;
	cfg.rq_depth = 4;
	cfg.cq_depth = 16;
	cfg.delay_ns = 100;
	cfg.pkt_ns = 10;
	cfg.timeout = 4;
	m.p = pair_create(&cfg);
	m.p->tap = tap;
	m.p->tap_ctx = &m;
	for (uint32_t n = from; n < to; n++) {
		snprintf(repro, sizeof(repro), "%s --schedule %u", argv[0], n);
		schedule(&m, n);
	}
	printf("%u schedules of %d packets across the wrap: every one completes, nothing twice\n",
		to - from, NB_PKTS);
	pair_destroy(m.p);
	return 0;
}
