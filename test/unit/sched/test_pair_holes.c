/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_holes.c - many holes in a wide window: how a responder tells of them when its answers
 * are joined, and how soon a requester finds what was lost while nothing new leaves.
 */
#include "pair_test.h"

#define RTT_NS (200 * PAIR_US)

struct rig {
	struct pair *p;
	struct pair_tape tape;
};

/* ---- the responder ---- */

static void open_rig(struct rig *r, const char *name)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 171);
	cfg.psn[PAIR_A] = 0xFFFF00;
	cfg.timeout = 18;
	r->p = pair_create(&cfg);
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	for (int side = 0; side < 2; side++) {
		r->p->q[side][0].relaxed = true;
		r->p->q[side][0].dst.tainted = true;
	}
	pair_tape_start(r->p, &r->tape);
}

static void close_rig(struct rig *r)
{
	pair_tape_free(r->p, &r->tape);
	pair_destroy(r->p);
}

/* Gives PSNs first + k * step, k < nb, to B before it may send. */
static void give(struct rig *r, int32_t first, int32_t step, uint32_t nb, uint16_t flags)
{
	for (uint32_t k = 0; k < nb; k++) {
		struct mrc_pkt pkt;

		pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_ONLY,
			mrc_psn_add(mrc_psn(r->p->cfg.psn[PAIR_A]), first + (int32_t)k * step).v, 0,
			100, &pkt);
		pkt.flags |= flags;
		(void)pair_rx_pkt(r->p, PAIR_B, 0, &pkt);
	}
	pair_kick(&r->p->hosts[PAIR_B][0]);
	pair_run(r->p, 50 * PAIR_US);
}

/* Was this PSN shown as received by some SACK on the tape? */
static bool shown(struct rig *r, int32_t k)
{
	mrc_psn_t psn = mrc_psn_add(mrc_psn(r->p->cfg.psn[PAIR_A]), k);

	for (uint32_t i = 0; i < r->tape.nb[PAIR_B]; i++) {
		const struct mrc_pkt_sack *sack = &r->tape.pkts[PAIR_B][i].sack;
		int32_t bit;

		if (r->tape.pkts[PAIR_B][i].opcode != MRC_OP_SACK)
			continue;
		bit = mrc_psn_diff(psn, mrc_psn_add(sack->cack, sack->sack_offset));
		if (bit >= 0 && bit < MRC_SACK_BITS && (sack->bitmap >> bit & 1) != 0)
			return true;
	}
	return false;
}

static uint32_t sacks(struct rig *r)
{
	return pair_tape_count(&r->tape, PAIR_B, MRC_OP_SACK);
}

/* Ten answers are joined: one bitmap tells of what is in order or close, ten of what is wide. */
/* spec */
static void joined_answers_tell_all(void **state)
{
	struct rig r;

	open_rig(&r, "joined_answers_tell_all");
	give(&r, 0, 1, 10, MRC_PKT_RTX); /* 0..9: in order */
	assert_int_equal(sacks(&r), 1);
	pair_tape_clear(&r.tape);
	give(&r, 11, 6, 10, MRC_PKT_RTX); /* 11..65: one word */
	assert_int_equal(sacks(&r), 1);
	pair_tape_clear(&r.tape);
	give(&r, 80, 60, 10, MRC_PKT_RTX); /* 80..620 */
	assert_int_equal(sacks(&r), 10);
	for (int32_t k = 0; k < 10; k++)
		assert_true(shown(&r, 80 + 60 * k));
	assert_true(shown(&r, 11));
	/* What was owed is paid: the next answer comes alone. */
	pair_tape_clear(&r.tape);
	give(&r, 720, 1, 1, MRC_PKT_RTX);
	assert_int_equal(sacks(&r), 1);
	/* Not more than once over all that is out of order: words 10 .. 722, less the first. */
	pair_tape_clear(&r.tape);
	give(&r, 722, 2, 40, MRC_PKT_RTX);
	assert_int_equal(sacks(&r), 1 + (800 - 9 - 1) / 64);
	close_rig(&r);
}

/* The answer to a probe is followed by SACKs of the next gaps; they name no packet. */
/* spec */
static void probe_tells_of_gaps(void **state)
{
	struct mrc_pkt pkt;
	struct rig r;
	uint32_t nb = 0;

	open_rig(&r, "probe_tells_of_gaps");
	give(&r, 1, 2, 380, 0); /* 1, 3, .. 759: twelve words */
	pair_tape_clear(&r.tape);
	pair_pkt_init(r.p, PAIR_B, 0, MRC_OP_PROBE, &pkt);
	pkt.probe.probe_id = 77;
	pkt.flags |= MRC_PKT_TS;
	(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	pair_run(r.p, 50 * PAIR_US);
	assert_int_equal(sacks(&r), 1 + 8);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_B]; i++) {
		const struct mrc_pkt_sack *sack = &r.tape.pkts[PAIR_B][i].sack;

		nb += sack->probe;
		if (!sack->probe)
			assert_int_equal(sack->ack_offset, INT16_MIN);
	}
	assert_int_equal(nb, 1);
	close_rig(&r);
}

/* A thousand packets beyond the window at once: a burst of 64 NACKs, no more. */
/* spec */
static void nacks_have_a_rate(void **state)
{
	struct rig r;

	open_rig(&r, "nacks_have_a_rate");
	give(&r, 2000, 1, 1000, 0);
	assert_int_equal(pair_tape_count(&r.tape, PAIR_B, MRC_OP_NACK), 64);
	PAIR_EQ(r.p, pair_drops(r.p, PAIR_B, MRC_DROP_PSN_AHEAD), 1000);
	close_rig(&r);
}

/* ---- the requester ---- */

/* Loses PSN number k of A `times` times; 1024 packets, 300 ns each, window of mpr units. */
static void lossy(struct rig *r, const char *name, uint32_t nb_evs, uint8_t mpr,
	const uint32_t *lost, uint32_t nb, uint32_t times)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 172);
	cfg.nb_evs = nb_evs;
	cfg.mpr = mpr;
	cfg.pmtu = 256;
	cfg.delay_ns = RTT_NS / 2;
	cfg.pkt_ns = 300;
	cfg.timeout = 14;
	cfg.mem_len = 1u << 21;
	r->p = pair_create(&cfg);
	for (uint32_t i = 0; i < nb; i++)
		pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP,
					     .has_psn = true,
					     .psn = cfg.psn[PAIR_A] + lost[i],
					     .count = times});
	pair_tape_start(r->p, &r->tape);
	pair_load(r->p, PAIR_A, 0,
		&(struct pair_load){
			.count = 64, .depth = 32, .min_len = 1u << 15, .max_len = 1u << 15});
	pair_finish_faulty(r->p, PAIR_S);
}

/* Time from transmission number nr of a PSN to the next one, in round trips. */
static double wait_for_copy(struct rig *r, uint32_t psn, uint32_t nr)
{
	uint64_t at[2] = {0, 0};
	uint32_t nb = 0;

	for (uint32_t i = 0; i < r->tape.nb[PAIR_A]; i++) {
		const struct mrc_pkt *pkt = &r->tape.pkts[PAIR_A][i];

		if ((mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) == 0 ||
			pkt->psn.v != r->p->cfg.psn[PAIR_A] + psn)
			continue;
		if (nb == nr || nb == nr + 1)
			at[nb - nr] = r->tape.times[PAIR_A][i];
		nb++;
	}
	if (at[1] == 0)
		pair_fail(r->p, "PSN %u was sent %u times", psn, nb);
	return (double)(at[1] - at[0]) / (double)RTT_NS;
}

/*
 * A copy travels in a class of its own and is judged by what left a little later: not after the
 * quarter of a round trip that a first transmission is given on top of one, and not by a probe.
 */
/* spec */
static void lost_copy_is_found_soon(void **state)
{
	const uint32_t lost = 2500;
	struct rig r;

	lossy(&r, "lost_copy_is_found_soon", 16, 32, &lost, 1, 3);
	assert_true(wait_for_copy(&r, lost, 0) < 1.25); /* path order */
	assert_true(wait_for_copy(&r, lost, 1) < 1.25);
	assert_true(wait_for_copy(&r, lost, 2) < 1.25);
	assert_int_equal(r.p->q[PAIR_A][0].wire_again, 3);
	close_rig(&r);
}

/*
 * The window is full and its first packet is lost, and one near its end that nothing follows on its
 * entropy value: the copy of the first is younger, and yet the other one is asked about in time.
 */
/* spec */
static void copies_hide_no_older_packet(void **state)
{
	const uint32_t lost[] = {1280, 1405};
	struct rig r;

	lossy(&r, "copies_hide_no_older_packet", 16, 1, lost, 2, 1);
	assert_true(wait_for_copy(&r, lost[0], 0) < 1.25);
	assert_true(wait_for_copy(&r, lost[1], 0) < 2.5);
	assert_int_equal(PAIR_COUNTER(r.p, PAIR_A, timeouts), 0);
	assert_int_equal(r.p->q[PAIR_A][0].wire_again, 2);
	close_rig(&r);
}

/* The last packet is asked about together with the oldest, although no answer lacked it: not a
 * round trip later, when the answer about the oldest, which left 18 us before, lacks it too. */
/* spec */
static void tail_is_asked_with_the_oldest(void **state)
{
	const uint32_t lost[] = {8131, 8191};
	struct rig r;

	lossy(&r, "tail_is_asked_with_the_oldest", 128, 32, lost, 2, 1);
	assert_true(wait_for_copy(&r, lost[1], 0) < 2.6);
	assert_int_equal(PAIR_COUNTER(r.p, PAIR_A, timeouts), 0);
	close_rig(&r);
}

/* One packet at a time, and of two planes one eats what it gets: a second probe over the other
 * plane tells that from a peer that is gone, and no timeout (17 ms) is needed. */
/* spec */
static void witness_tells_a_dead_plane(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "witness_tells_a_dead_plane", 174);
	cfg.nb_planes = 2;
	cfg.nb_evs = 8;
	cfg.timeout = 14;
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 50, .depth = 1, .min_len = 100, .max_len = 100});
	pair_finish(p, PAIR_S);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_A2B, .planes = 2});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 6, .depth = 1, .min_len = 100, .max_len = 100});
	pair_finish_faulty(p, 10 * PAIR_MS);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	assert_true(p->q[PAIR_A][0].wire_again >= 1);
	pair_destroy(p);
}

/*
 * In each of four planes one of four paths dies, and the window is soon full of what was lost:
 * every packet and every probe that is out is on a dead path. Who answered last is called as a
 * witness, and what waits on the same paths goes along with the packets asked about; no timeout is
 * needed.
 */
/* spec */
static void witness_tells_dead_paths(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "witness_tells_dead_paths", 175);
	cfg.nb_planes = 4;
	cfg.nb_evs = 16;
	cfg.timeout = 14;
	cfg.mem_len = 1u << 21;
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 100, .depth = 8, .min_len = 65536, .max_len = 65536});
	pair_run(p, 100 * PAIR_US);
	for (uint32_t ev = 0; ev < 4; ev++)
		pair_test_path_fault(p, ev, (struct pair_fault){.act = PAIR_DROP});
	pair_finish_faulty(p, 10 * PAIR_MS);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	for (uint32_t ev = 0; ev < 4; ev++)
		PAIR_EQ(p, mrc_ev_state(p->hosts[PAIR_A][0].set, ev), MRC_EV_ASSUMED_BAD);
	pair_destroy(p);
}

/* Of two entropy values a copy takes the one that its trimmed packet did not. */
/* spec */
static void copies_avoid_the_nacked_path(void **state)
{
	uint32_t nb = 0, was[256] = {0};
	struct pair_cfg cfg;
	struct rig r;

	pair_test_cfg(&cfg, "copies_avoid_the_nacked_path", 173);
	cfg.nb_planes = 1;
	cfg.nb_evs = 2;
	r.p = pair_create(&cfg);
	pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_TRIM,
				    .kinds = PAIR_DATA,
				    .rtx = PAIR_RTX_FIRST,
				    .every = 3,
				    .arg = 28});
	pair_tape_start(r.p, &r.tape);
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 200 * 1024});
	pair_finish_faulty(r.p, PAIR_S);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++) {
		const struct mrc_pkt *pkt = &r.tape.pkts[PAIR_A][i];
		uint32_t *ev = &was[(pkt->psn.v - cfg.psn[PAIR_A]) & 255];

		if ((mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) == 0)
			continue;
		if (pkt->flags & MRC_PKT_RTX) {
			nb++;
			assert_int_not_equal(pkt->ev, *ev);
		}
		*ev = pkt->ev;
	}
	assert_true(nb >= 66);
	close_rig(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined_answers_tell_all),
		cmocka_unit_test(probe_tells_of_gaps),
		cmocka_unit_test(nacks_have_a_rate),
		cmocka_unit_test(lost_copy_is_found_soon),
		cmocka_unit_test(copies_hide_no_older_packet),
		cmocka_unit_test(tail_is_asked_with_the_oldest),
		cmocka_unit_test(witness_tells_a_dead_plane),
		cmocka_unit_test(witness_tells_dead_paths),
		cmocka_unit_test(copies_avoid_the_nacked_path),
	};

	return pair_test_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
