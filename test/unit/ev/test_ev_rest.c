/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a marked path rests: no longer than one pass when all are marked, longer and longer when
 * it is worse than the others. spec */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_ev.h"
#include "test_env.h"

#define NONE MRC_EV_NONE
#define T    UINT64_C(10000)

static struct {
	struct test_env te;
	struct mrc_ev evs[64];
	struct mrc_ev_cfg cfg;
	struct mrc_ev_set *set;
	struct mrc_ev_cursor cursor;
	uint64_t now;
} rig;

static void rig_open(uint32_t nb_evs)
{
	memset(&rig, 0, sizeof(rig));
	test_env_init(&rig.te, 0x7E57);
	mrc_ev_cfg_default(&rig.cfg);
	rig.cfg.mode = MRC_EV_MODE_STEV;
	rig.cfg.nb_planes = 1;
	rig.cfg.nb_evs = nb_evs;
	rig.cfg.evs = rig.evs;
	rig.cfg.skip_ns = T;
	rig.cfg.skip_max_ns = 32 * T;
	mrc_ev_generate(rig.evs, nb_evs, 1, MRC_EV_MODE_STEV, &rig.te.env);
	assert_int_equal(mrc_ev_create(&rig.cfg, &rig.te.env, &rig.set), MRC_OK);
	rig.now = 1000 * T;
}

static void rig_close(void)
{
	mrc_ev_destroy(rig.set);
	test_env_done(&rig.te);
}

static uint32_t next(void)
{
	return mrc_ev_next(rig.set, &rig.cursor, rig.now, 1, NONE);
}

static enum mrc_ev_state state_of(uint32_t index)
{
	return mrc_ev_state(rig.set, index);
}

/* Feedback after a round trip in which nothing was marked; how long the entry then rests, with a
 * packet every 100 ns. It is not used meanwhile. */
static uint64_t rest_after(uint32_t index, enum mrc_ev_feedback what)
{
	uint64_t start;

	rig.now += T;
	start = rig.now;
	mrc_ev_feedback(rig.set, rig.now, index, what);
	while (state_of(index) == MRC_EV_SKIP) {
		assert_int_not_equal(next(), index);
		rig.now += 100;
	}
	return rig.now - start;
}

/* Two passes of four packets, 100 ns each, are added to the time before the walk sees its end. */
static void assert_rest(uint64_t rest_ns, uint64_t want_ns)
{
	assert_in_range(rest_ns, want_ns, want_ns + 900);
}

/* One path of four is marked whenever it is used: half a round trip, one, two ... */
static void rest_grows_for_the_worst(void **state)
{
	rig_open(4);
	for (uint64_t want = T / 2; want <= 32 * T; want *= 2)
		assert_rest(rest_after(2, MRC_EV_FB_MARKED), want);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), 32 * T);
	assert_rest(rest_after(2, MRC_EV_FB_TRIMMED), 32 * T);
	rig_close();
}

static void trims_count_more(void **state)
{
	rig_open(4);
	assert_rest(rest_after(2, MRC_EV_FB_TRIMMED), 2 * T);
	assert_rest(rest_after(2, MRC_EV_FB_TRIMMED), 16 * T);
	assert_rest(rest_after(2, MRC_EV_FB_TRIMMED), 32 * T);
	rig_close();
}

/* All are marked in turn: the plane is full, each is passed once and used again. */
static void what_all_get_is_passed_once(void **state)
{
	rig_open(4);
	rest_after(0, MRC_EV_FB_MARKED); /* the first one of all may be the worst */
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 1; i < 5; i++) {
			uint64_t rest_ns = rest_after(i % 4, MRC_EV_FB_MARKED);

			if (round > 0)
				assert_rest(rest_ns, 0);
		}
	}
	rig_close();
}

/* The worst one's rest shrinks when it is worst no more. */
static void rest_shrinks_when_others_are_marked(void **state)
{
	rig_open(4);
	for (uint32_t i = 0; i < 5; i++)
		rest_after(2, MRC_EV_FB_MARKED);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), 16 * T);
	rest_after(0, MRC_EV_FB_MARKED);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), 16 * T); /* one of three: neither way */
	rest_after(0, MRC_EV_FB_MARKED);
	rest_after(1, MRC_EV_FB_MARKED);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), 4 * T);
	rig_close();
}

/* Marks of packets from before the rest, and during it, change nothing. */
static void old_marks_do_not_count(void **state)
{
	uint64_t start;

	rig_open(4);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), T / 2);
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_MARKED);
	mrc_ev_feedback(rig.set, rig.now + T / 2, 2, MRC_EV_FB_TRIMMED);
	assert_int_equal(state_of(2), MRC_EV_GOOD);
	rig.now += T;
	start = rig.now;
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_MARKED);
	for (; state_of(2) == MRC_EV_SKIP; rig.now += 100) {
		mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_TRIMMED);
		next();
	}
	assert_rest(rig.now - start, T);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), 2 * T);
	rig_close();
}

static void a_long_time_forgets(void **state)
{
	rig_open(4);
	for (uint32_t i = 0; i < 6; i++)
		rest_after(2, MRC_EV_FB_MARKED);
	rig.now += 16 * (16 * T + T);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), T / 2);
	rig_close();
}

/* Without a longest rest, marks and trims do not matter; losses do. */
static void no_rest_at_all(void **state)
{
	rig_open(4);
	mrc_ev_destroy(rig.set);
	rig.cfg.skip_max_ns = 0;
	assert_int_equal(mrc_ev_create(&rig.cfg, &rig.te.env, &rig.set), MRC_OK);
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_MARKED);
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_TRIMMED);
	assert_int_equal(state_of(2), MRC_EV_GOOD);
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_LOST);
	assert_int_equal(state_of(2), MRC_EV_ASSUMED_BAD);
	rig_close();
}

/* The only other one is to be avoided: a resting path is better than the wrong one. */
static void rest_is_broken_when_nothing_else_is_left(void **state)
{
	rig_open(2);
	for (uint32_t i = 0; i < 4; i++)
		rest_after(1, MRC_EV_FB_MARKED);
	rig.now += T;
	mrc_ev_feedback(rig.set, rig.now, 1, MRC_EV_FB_MARKED);
	assert_int_equal(next(), 0);
	assert_int_equal(state_of(1), MRC_EV_SKIP);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, rig.now, 1, 0), 1);
	assert_int_equal(state_of(1), MRC_EV_GOOD);
	rig_close();
}

/* A path that comes back from the bad ones begins anew. */
static void revived_with_a_clean_sheet(void **state)
{
	rig_open(4);
	for (uint32_t i = 0; i < 6; i++)
		rest_after(2, MRC_EV_FB_MARKED);
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_LOST);
	assert_int_equal(state_of(2), MRC_EV_ASSUMED_BAD);
	for (uint32_t i = 0; i < rig.cfg.revive_count; i++)
		mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_PROBE_GOOD);
	assert_int_equal(state_of(2), MRC_EV_GOOD);
	assert_rest(rest_after(2, MRC_EV_FB_MARKED), T / 2);
	rig_close();
}

/* In doubt: not used until T after the last word. */
static void late_ones_rest(void **state)
{
	rig_open(8);
	for (uint32_t word = 0; word < 3; word++) {
		mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LATE);
		for (uint32_t i = 0; i < 99; i++, rig.now += T / 100)
			assert_int_not_equal(next(), 3);
		assert_int_equal(state_of(3), MRC_EV_SKIP);
	}
	rig.now += T / 100;
	for (uint32_t i = 0; i < 16; i++)
		next();
	assert_int_equal(state_of(3), MRC_EV_GOOD);
	/* Lost is more than late, and a bad one does not come back by being late. */
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LATE);
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LOST);
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LATE);
	assert_int_equal(state_of(3), MRC_EV_ASSUMED_BAD);
	rig_close();
}

/* A mark or a trim ends the doubt: the path lives, and rests as its marks say. For a while what is
 * late there is late because of a queue. */
static void marks_end_the_doubt(void **state)
{
	rig_open(8);
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LATE);
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_TRIMMED);
	assert_int_equal(state_of(3), MRC_EV_SKIP);
	/* Its first rest is eight times a quarter; one in doubt would be back after T. */
	for (uint32_t i = 0; i < 32; i++, rig.now += T / 16)
		assert_int_not_equal(next(), 3);
	rig.now += T / 2;
	for (uint32_t i = 0; i < 16; i++)
		next();
	assert_int_equal(state_of(3), MRC_EV_GOOD);
	mrc_ev_feedback(rig.set, rig.now, 3, MRC_EV_FB_LATE);
	assert_int_equal(state_of(3), MRC_EV_GOOD);
	mrc_ev_feedback(rig.set, rig.now, 4, MRC_EV_FB_LATE);
	assert_int_equal(state_of(4), MRC_EV_SKIP);
	rig_close();
}

/* All are marked in turn, so that none rests for long: for four T after a mark what is late there
 * is late because of a queue, then it is in doubt again. */
static void marked_lately_is_no_doubt(void **state)
{
	rig_open(4);
	for (uint32_t i = 0; i < 8; i++)
		rest_after(i % 4, MRC_EV_FB_MARKED);
	rig.now += T;
	mrc_ev_feedback(rig.set, rig.now, 2, MRC_EV_FB_MARKED);
	for (uint32_t i = 0; i < 8; i++)
		next();
	assert_int_equal(state_of(2), MRC_EV_GOOD);
	mrc_ev_feedback(rig.set, rig.now + 4 * T - 1, 2, MRC_EV_FB_LATE);
	assert_int_equal(state_of(2), MRC_EV_GOOD);
	mrc_ev_feedback(rig.set, rig.now + 4 * T, 2, MRC_EV_FB_LATE);
	assert_int_equal(state_of(2), MRC_EV_SKIP);
	rig_close();
}

/* Silence lasts from when a packet was named, or from the last mark or trim; the name stays until
 * another one is given. */
static void silence_since_a_packet_is_missed(void **state)
{
	rig_open(4);
	rig.now += T;
	assert_true(mrc_ev_misses(rig.set, 1) == MRC_EV_MISSES_NONE);
	mrc_ev_miss(rig.set, rig.now, 1, 7);
	assert_int_equal(mrc_ev_misses(rig.set, 1), 7);
	assert_true(mrc_ev_misses(rig.set, 2) == MRC_EV_MISSES_NONE);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now, 1), 0);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now + T, 1), T);
	mrc_ev_miss(rig.set, rig.now + 2 * T, 1, 0);
	assert_int_equal(mrc_ev_misses(rig.set, 1), 0);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now + 3 * T, 1), T);
	mrc_ev_feedback(rig.set, rig.now + 3 * T, 1, MRC_EV_FB_TRIMMED);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now + 5 * T, 1), 2 * T);
	mrc_ev_feedback(rig.set, rig.now + 5 * T, 1, MRC_EV_FB_GOOD);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now + 6 * T, 1), 3 * T);
	mrc_ev_feedback(rig.set, rig.now + 6 * T, 1, MRC_EV_FB_MARKED);
	assert_int_equal(mrc_ev_silence_ns(rig.set, rig.now + 6 * T, 1), 0);
	assert_int_equal(mrc_ev_misses(rig.set, 1), 0);
	rig_close();
}

/* With one late and the other not wanted, and with all late, something is still found. */
static void late_is_better_than_none(void **state)
{
	uint32_t used[4] = {0};

	rig_open(2);
	mrc_ev_feedback(rig.set, rig.now, 0, MRC_EV_FB_LATE);
	assert_int_equal(next(), 1);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, rig.now, 1, 1), 0);
	rig_close();
	/* The only one: in use again although it is late and to be avoided. */
	rig_open(1);
	mrc_ev_feedback(rig.set, rig.now, 0, MRC_EV_FB_LATE);
	assert_int_equal(state_of(0), MRC_EV_SKIP);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, rig.now, 1, 0), 0);
	assert_int_equal(state_of(0), MRC_EV_GOOD);
	rig_close();
	rig_open(4);
	for (uint32_t i = 0; i < 400; i++, rig.now += 100) {
		for (uint32_t ev = 0; ev < 4; ev++)
			mrc_ev_feedback(rig.set, rig.now, ev, MRC_EV_FB_LATE);
		used[next()]++;
	}
	for (uint32_t ev = 0; ev < 4; ev++)
		assert_in_range(used[ev], 80, 120);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rest_grows_for_the_worst),
		cmocka_unit_test(trims_count_more),
		cmocka_unit_test(what_all_get_is_passed_once),
		cmocka_unit_test(rest_shrinks_when_others_are_marked),
		cmocka_unit_test(old_marks_do_not_count),
		cmocka_unit_test(a_long_time_forgets),
		cmocka_unit_test(no_rest_at_all),
		cmocka_unit_test(rest_is_broken_when_nothing_else_is_left),
		cmocka_unit_test(revived_with_a_clean_sheet),
		cmocka_unit_test(late_ones_rest),
		cmocka_unit_test(marks_end_the_doubt),
		cmocka_unit_test(marked_lately_is_no_doubt),
		cmocka_unit_test(silence_since_a_packet_is_missed),
		cmocka_unit_test(late_is_better_than_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
