/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_late.c - answers that stay away: what is done before it is known whether a packet was
 * lost, and that the question comes before the retransmission timer.
 */
#include "pair_test.h"

/* Packets that leave in a round trip of 10 us, 100 ns each. */
#define IN_FLIGHT 100

static struct pair *long_transfer(const char *name, uint64_t seed, uint32_t nb_evs, uint32_t nb_qps)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, seed);
	cfg.nb_evs = nb_evs;
	cfg.nb_qps = nb_qps;
	cfg.mem_len = 1u << 21;
	cfg.check_every = 64;
	p = pair_create(&cfg);
	for (uint32_t i = 0; i < nb_qps; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = 200 / nb_qps,
				.depth = 8 / nb_qps,
				.min_len = 65536,
				.max_len = 65536});
	pair_run(p, 200 * PAIR_US);
	return p;
}

static uint64_t sent_again(const struct pair *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
		sum += p->q[PAIR_A][i].wire_again;
	return sum;
}

static uint64_t sent_first(const struct pair *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
		sum += p->q[PAIR_A][i].wire_first;
	return sum;
}

/* How many packets go down path 5 when it swallows everything from now on? */
static uint32_t swallowed(uint32_t nb_evs, uint32_t nb_qps)
{
	struct pair *p = long_transfer("silent_path_rests", nb_evs, nb_evs, nb_qps);
	uint64_t again = sent_again(p);
	struct pair_fault *f = pair_test_path_fault(p, 5,
		(struct pair_fault){
			.act = PAIR_DROP, .kinds = PAIR_DATA, .to_ns = p->now + 40 * PAIR_US});
	uint32_t fired;

	pair_run(p, 40 * PAIR_US);
	fired = f->fired;
	assert_true(fired > 0);
	PAIR_EQ(p, mrc_ev_state(p->hosts[PAIR_A][0].set, 5), MRC_EV_ASSUMED_BAD);
	pair_finish_faulty(p, PAIR_S);
	PAIR_EQ(p, sent_again(p) - again, fired);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	pair_destroy(p);
	return fired;
}

/*
 * A silent path rests when the first answer is overdue, a round trip after the first loss, although
 * the loss is certain only two round trips after it: so not many more packets go down than were on
 * their way. Queue pairs that share it tell each other: when each one's packet began the silence
 * anew, it never lasted, and twice as many went down.
 */
/* spec */
static void silent_path_rests(void **state)
{
	for (uint32_t nb_evs = 8; nb_evs <= 32; nb_evs *= 2)
		for (uint32_t nb_qps = 1; nb_qps <= 4; nb_qps *= 2) {
			uint32_t nb = swallowed(nb_evs, nb_qps);

			if (nb > 1 + nb_qps + IN_FLIGHT / nb_evs * 3 / 2)
				fail_msg("%u queue pairs, %u entropy values: %u packets went down "
					 "a silent path",
					nb_qps, nb_evs, nb);
		}
}

static uint64_t one_is_slow(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	const struct mrc_ev *ev = mrc_ev_get(p->hosts[PAIR_A][0].set, 5);

	return from == PAIR_A && pkt->ev == ev->value && plane == ev->plane ? 8 * PAIR_US : 0;
}

/* A path that is only slower than the others is used like them, once that is known. */
static void slow_path_is_used(void **state)
{
	for (uint32_t nb_qps = 1; nb_qps <= 4; nb_qps *= 2) {
		struct pair *p = long_transfer("slow_path_is_used", 2, 16, nb_qps);
		struct pair_fault *f;
		uint64_t before;

		p->path_ns = one_is_slow;
		pair_run(p, 200 * PAIR_US);
		f = pair_test_path_fault(
			p, 5, (struct pair_fault){.act = PAIR_DELAY, .kinds = PAIR_DATA});
		before = sent_first(p);
		pair_run(p, 400 * PAIR_US);
		if (f->fired * 16 < (sent_first(p) - before) * 9 / 10)
			pair_fail(p, "%u of %llu packets took the slow one of 16 paths", f->fired,
				(unsigned long long)(sent_first(p) - before));
		PAIR_EQ(p, sent_again(p), 0);
		pair_finish_faulty(p, PAIR_S);
		pair_destroy(p);
	}
}

static uint64_t every_other(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	return from == PAIR_A && (plane & 1) != 0 ? 45 * PAIR_US : 0;
}

/*
 * Planes of 10 and 55 us there and back, taken in turn, so that four deviations say nothing, and a
 * timer of 131 us. The last packet of a queue is lost: it is asked about in time for the answer.
 */
/* spec */
static void asked_before_the_timer(void **state)
{
	for (uint32_t nr = 0; nr < 8; nr++) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "asked_before_the_timer", nr);
		cfg.timeout = 7;
		p = pair_create(&cfg);
		p->path_ns = every_other;
		for (uint32_t i = 0; i < 40 + nr; i++) {
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
			assert_true(pair_run_idle(p, PAIR_MS));
		}
		pair_fault_add(
			p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .count = 1});
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_finish_faulty(p, 2 * PAIR_MS);
		PAIR_EQ(p, p->faults[0].fired, 1);
		PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 1);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		pair_destroy(p);
	}
}

/*
 * A full switch only changes the class of what is too short to be cut, and probes are. Such a one
 * is whole and answered as ever.
 */
/* spec */
static void remarked_probe_is_answered(void **state)
{
	for (uint8_t cls = MRC_CLASS_TRIMMED; cls <= MRC_CLASS_TRIMMED_LASTHOP; cls++) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "remarked_probe_is_answered", cls);
		p = pair_create(&cfg);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		assert_true(pair_run_idle(p, PAIR_MS));
		pair_fault_add(
			p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .count = 1});
		pair_fault_add(
			p, &(struct pair_fault){
				   .act = PAIR_TRIM, .kinds = PAIR_PROBE, .arg = 256, .cls = cls});
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
		pair_finish_faulty(p, 2 * PAIR_MS);
		PAIR_EQ(p, p->faults[0].fired, 1);
		assert_true(p->faults[1].fired > 0);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, rtx_by_order), 1);
		PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_TRIM_OPCODE), 0);
		pair_destroy(p);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(silent_path_rests),
	cmocka_unit_test(slow_path_is_used),
	cmocka_unit_test(asked_before_the_timer),
	cmocka_unit_test(remarked_probe_is_answered),
};

PAIR_TEST_MAIN(tests)
