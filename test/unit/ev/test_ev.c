/* SPDX-License-Identifier: BSD-2-Clause */
/* The path set: turns, passes, the state machine, spares, probes, events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_ev.h"
#include "test_env.h"

#define NONE MRC_EV_NONE
#define ALL  0xFFFFu

struct rig {
	struct test_env te;
	struct mrc_ev evs[MRC_EV_MAX];
	struct mrc_ev_cfg cfg;
	struct mrc_ev_set *set;
	struct mrc_ev_cursor cursor;
};

static void rig_cfg(struct rig *rig, uint32_t nb_evs, uint8_t nb_planes)
{
	memset(rig, 0, sizeof(*rig));
	test_env_init(&rig->te, 0x5EED0E5);
	mrc_ev_cfg_default(&rig->cfg);
	rig->cfg.mode = MRC_EV_MODE_STEV;
	rig->cfg.nb_planes = nb_planes;
	rig->cfg.nb_evs = nb_evs;
	rig->cfg.evs = rig->evs;
	mrc_ev_generate(rig->evs, nb_evs, nb_planes, MRC_EV_MODE_STEV, &rig->te.env);
}

static void rig_create(struct rig *rig)
{
	assert_int_equal(mrc_ev_create(&rig->cfg, &rig->te.env, &rig->set), MRC_OK);
	test_env_freeze(&rig->te);
}

static void rig_open(struct rig *rig, uint32_t nb_evs, uint8_t nb_planes)
{
	rig_cfg(rig, nb_evs, nb_planes);
	rig_create(rig);
}

static void rig_close(struct rig *rig)
{
	mrc_ev_destroy(rig->set);
	test_env_done(&rig->te);
}

static uint32_t next(struct rig *rig, uint64_t now_ns)
{
	return mrc_ev_next(rig->set, &rig->cursor, now_ns, ALL, NONE);
}

static uint32_t count(struct rig *rig, enum mrc_ev_state state)
{
	return mrc_ev_state_count(rig->set, state, -1);
}

static struct rig rig; /* large, and one test at a time */

static void test_pass_visits_each_once(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 16, 33, 64, 255, 1000, MRC_EV_MAX};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		static uint32_t seen[MRC_EV_MAX], order[2][MRC_EV_MAX];
		uint32_t nb = sizes[s], nb_other = 0;

		rig_open(&rig, nb, 1);
		memset(seen, 0, sizeof(seen));
		for (uint32_t pass = 0; pass < 16; pass++) {
			for (uint32_t i = 0; i < nb; i++) {
				uint32_t index = next(&rig, 0);

				assert_true(index < nb);
				assert_int_equal(seen[index], pass);
				seen[index]++;
				order[pass != 0][i] = index;
			}
			nb_other += memcmp(order[0], order[1], nb * sizeof(order[0][0])) != 0;
		}
		if (nb >= 64)
			assert_in_range(nb_other, 2, 16);
		rig_close(&rig);
	}
}

static uint32_t block_of(uint32_t nb)
{
	uint32_t steps = 1;

	while (steps < nb)
		steps *= 2;
	return steps > 16 ? steps / 16 : 1;
}

/* Path order finds a loss by the next packet on the same value, so that one must come in time. */
static void test_time_between_uses_is_a_pass(void **state)
{
	static const uint32_t sizes[] = {2, 12, 33, 64, 255, 1000, MRC_EV_MAX};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		static uint32_t last[MRC_EV_MAX];
		uint32_t nb = sizes[s], nb_passes = nb > 500 ? 12000 : 40000, off = 0, other = 0;

		rig_open(&rig, nb, 1);
		for (uint32_t i = 0; i < nb * nb_passes; i++) {
			uint32_t index = next(&rig, 0);
			uint32_t since = i - last[index];

			if (i >= nb && (since + block_of(nb) <= nb || since >= nb + block_of(nb)))
				off++;
			other += since != nb;
			last[index] = i;
		}
		/* One pass in 1024 has a new order. */
		assert_true(off > 0);
		assert_true(off < nb * nb_passes / 400);
		if (block_of(nb) > 1)
			assert_true(other > nb * nb_passes / 4);
		rig_close(&rig);
	}
}

/* Over many orders every entry is everywhere in the pass equally often. */
static void test_places_are_even(void **state)
{
	enum {
		NB = 16,
		PASSES = 1024 * 4000,
	};
	static uint32_t at[NB][NB];

	memset(at, 0, sizeof(at));
	rig_open(&rig, NB, 1);
	for (uint32_t i = 0; i < NB * PASSES; i++)
		at[next(&rig, 0)][i % NB]++;
	for (uint32_t i = 0; i < NB * NB; i++) {
		/* 4000 orders: a place is held in 250 of them, deviation 22. */
		assert_in_range(at[i / NB][i % NB], PASSES / NB / 2, PASSES / NB * 3 / 2);
	}
	rig_close(&rig);
}

static void test_two_qps_walk_differently(void **state)
{
	struct mrc_ev_cursor other = {0};
	uint32_t same = 0;

	rig_open(&rig, 256, 4);
	for (uint32_t i = 0; i < 256; i++)
		same += next(&rig, 0) == mrc_ev_next(rig.set, &other, 0, ALL, NONE);
	assert_true(same < 64);
	rig_close(&rig);
}

/* spec */
static void test_planes_take_equal_turns(void **state)
{
	uint32_t turns[8] = {0};

	rig_open(&rig, 20, 8); /* 4 planes with 3 entries, 4 with 2 */
	for (uint32_t i = 0; i < 8000; i++)
		turns[mrc_ev_get(rig.set, next(&rig, 0))->plane]++;
	for (uint32_t p = 0; p < 8; p++)
		assert_int_equal(turns[p], 1000);
	memset(turns, 0, sizeof(turns));
	for (uint32_t i = 0; i < 6000; i++) {
		uint32_t index = mrc_ev_next(rig.set, &rig.cursor, 0, 0xFF & ~0x24u, NONE);

		turns[mrc_ev_get(rig.set, index)->plane]++;
	}
	for (uint32_t p = 0; p < 8; p++)
		assert_int_equal(turns[p], p == 2 || p == 5 ? 0 : 1000);
	rig_close(&rig);
}

/* spec */
static void test_skip_is_passed_once(void **state)
{
	uint32_t first = 0;

	rig_open(&rig, 8, 1);
	mrc_ev_feedback(rig.set, 1000, 3, MRC_EV_FB_MARKED);
	assert_int_equal(mrc_ev_state(rig.set, 3), MRC_EV_SKIP);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_not_equal(next(&rig, 1000), 3);
	for (uint32_t i = 0; i < 16 && mrc_ev_state(rig.set, 3) == MRC_EV_SKIP; i++)
		next(&rig, 1000);
	assert_int_equal(mrc_ev_state(rig.set, 3), MRC_EV_GOOD);
	for (uint32_t i = 0; i < 16; i++)
		first += next(&rig, 1000) == 3;
	assert_in_range(first, 1, 3);
	rig_close(&rig);
}

/* More than half marked: nothing is passed, every call takes what it meets. */
static void test_saturation(void **state)
{
	uint32_t used[16] = {0};

	rig_open(&rig, 16, 1);
	for (uint32_t i = 0; i < 16; i++)
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_MARKED);
	for (uint32_t i = 0; i < 8; i++)
		used[next(&rig, 0)]++;
	assert_int_equal(count(&rig, MRC_EV_SKIP), 8);
	for (uint32_t i = 0; i < 16; i++) {
		assert_true(used[i] <= 1);
		assert_int_equal(mrc_ev_state(rig.set, i), used[i] ? MRC_EV_GOOD : MRC_EV_SKIP);
	}
	/* Half marked is not more than half: the marked ones are passed, one reset a packet. */
	while (count(&rig, MRC_EV_SKIP) > 0) {
		uint32_t before = count(&rig, MRC_EV_SKIP);
		bool good[16];
		uint32_t index;

		for (uint32_t i = 0; i < 16; i++)
			good[i] = mrc_ev_state(rig.set, i) == MRC_EV_GOOD;
		index = next(&rig, 0);
		assert_true(good[index]);
		assert_in_range(before - count(&rig, MRC_EV_SKIP), 0, 1);
	}
	rig_close(&rig);
}

/* spec */
static void test_loss_retires_and_a_spare_of_the_plane_serves(void **state)
{
	static const enum mrc_ev_feedback causes[] = {
		MRC_EV_FB_LOST, MRC_EV_FB_TIMEOUT, MRC_EV_FB_ALWAYS_SKIP};

	rig_cfg(&rig, 32, 2);
	rig.cfg.nb_active = 16;
	rig_create(&rig);
	for (uint32_t i = 0; i < 64; i++)
		assert_true(next(&rig, 0) < 16);
	for (uint32_t victim = 0; victim < 6; victim++) {
		uint32_t turns[2] = {0}, spares = 0;

		mrc_ev_feedback(rig.set, 0, victim, causes[victim % 3]);
		assert_int_equal(mrc_ev_state(rig.set, victim), MRC_EV_ASSUMED_BAD);
		for (uint32_t i = 0; i < 160; i++) {
			uint32_t index = next(&rig, 0);

			assert_true(index > victim);
			turns[index % 2]++;
			spares += index >= 16;
		}
		assert_int_equal(turns[0], 80);
		assert_in_range(spares, 10 * victim, 10 * (victim + 1) + 20);
	}
	rig_close(&rig);
}

/* spec */
static void test_min_active_floor(void **state)
{
	rig_open(&rig, 64, 2); /* default floor: a quarter */
	for (uint32_t i = 0; i < 64; i++)
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_LOST);
	assert_int_equal(count(&rig, MRC_EV_ASSUMED_BAD), 48);
	assert_int_equal(count(&rig, MRC_EV_SKIP), 16);
	rig_close(&rig);
	rig_open(&rig, 8, 4); /* two per plane would be all of them: half at most */
	for (uint32_t i = 0; i < 8; i++)
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_LOST);
	assert_int_equal(count(&rig, MRC_EV_ASSUMED_BAD), 4);
	rig_close(&rig);
	rig_cfg(&rig, 16, 1);
	rig.cfg.min_active = 16;
	rig_create(&rig);
	mrc_ev_feedback(rig.set, 0, 5, MRC_EV_FB_TIMEOUT);
	assert_int_equal(mrc_ev_state(rig.set, 5), MRC_EV_SKIP);
	rig_close(&rig);
}

/* A plane that eats everything is left; the others share its part. */
static void test_dead_plane_is_left(void **state)
{
	uint32_t turns[4] = {0};

	rig_open(&rig, 64, 4);
	for (uint32_t i = 0; i < 64; i += 4)
		mrc_ev_feedback(rig.set, 0, i + 1, MRC_EV_FB_TIMEOUT);
	for (uint32_t i = 0; i < 3000; i++)
		turns[next(&rig, 0) % 4]++;
	assert_int_equal(turns[1], 0);
	assert_int_equal(turns[0], 1000);
	/* The good planes are full for a moment: wait rather than feed the dead one. */
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, 2, NONE), NONE);
	/* They are down for good: better a doubtful path than none. */
	mrc_ev_plane(rig.set, 0, 0, false);
	mrc_ev_plane(rig.set, 0, 2, false);
	mrc_ev_plane(rig.set, 0, 3, false);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, 2, NONE) % 4, 1);
	mrc_ev_plane(rig.set, 0, 2, true);
	assert_int_equal(next(&rig, 0) % 4, 2);
	/* All planes said to be down: the word is ignored. */
	mrc_ev_plane(rig.set, 0, 1, false);
	mrc_ev_plane(rig.set, 0, 2, false);
	memset(turns, 0, sizeof(turns));
	for (uint32_t i = 0; i < 300; i++)
		turns[next(&rig, 0) % 4]++;
	assert_int_equal(turns[1], 0);
	assert_int_equal(turns[3], 100);
	rig_close(&rig);
}

/* spec */
static void test_never_denied(void **state)
{
	rig_open(&rig, 8, 2);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(mrc_ev_set_state(rig.set, 0, i, MRC_EV_DENIED), MRC_OK);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(next(&rig, 0), 7);
	mrc_ev_feedback(rig.set, 0, 3, MRC_EV_FB_LOST);
	mrc_ev_feedback(rig.set, 0, 3, MRC_EV_FB_PROBE_GOOD);
	assert_int_equal(mrc_ev_state(rig.set, 3), MRC_EV_DENIED);
	mrc_ev_set_state(rig.set, 0, 7, MRC_EV_DENIED);
	assert_int_equal(next(&rig, 0), NONE);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, ALL, 7), NONE);
	assert_int_equal(mrc_ev_set_state(rig.set, 0, 2, MRC_EV_GOOD), MRC_OK);
	assert_int_equal(next(&rig, 0), 2);
	assert_int_equal(mrc_ev_set_state(rig.set, 0, 8, MRC_EV_GOOD), MRC_ERR_INVAL);
	assert_int_equal(mrc_ev_set_state(rig.set, 0, 1, MRC_EV_ASSUMED_BAD), MRC_ERR_INVAL);
	assert_int_equal(mrc_ev_set_state(rig.set, 0, 1, MRC_EV_SKIP), MRC_ERR_INVAL);
	rig_close(&rig);
}

static void test_avoid(void **state)
{
	rig_open(&rig, 4, 2);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_not_equal(mrc_ev_next(rig.set, &rig.cursor, 0, ALL, i % 4), i % 4);
	/* Alone on its plane: the turn goes to the other one. */
	mrc_ev_set_state(rig.set, 0, 2, MRC_EV_DENIED);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, ALL, 0) % 2, 1);
	/* Alone at all: it is used. */
	mrc_ev_set_state(rig.set, 0, 1, MRC_EV_DENIED);
	mrc_ev_set_state(rig.set, 0, 3, MRC_EV_DENIED);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, ALL, 0), 0);
	assert_int_equal(mrc_ev_next(rig.set, &rig.cursor, 0, 2, 0), NONE);
	rig_close(&rig);
}

static void test_all_bad_is_still_used(void **state)
{
	uint32_t turns[2] = {0};

	rig_cfg(&rig, 16, 2);
	rig.cfg.min_active = 1;
	rig_create(&rig);
	for (uint32_t i = 0; i < 16; i++)
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_LOST);
	assert_int_equal(count(&rig, MRC_EV_ASSUMED_BAD), 15);
	assert_int_equal(next(&rig, 0), 15);
	mrc_ev_set_state(rig.set, 0, 15, MRC_EV_DENIED);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t index = mrc_ev_next(rig.set, &rig.cursor, 0, ALL, 6);

		assert_true(index < 15 && index != 6);
		turns[index % 2]++;
	}
	assert_int_equal(turns[0], 50);
	rig_close(&rig);
}

/* spec */
static void test_probes_double_and_revive(void **state)
{
	uint64_t now = 5000, wait;

	rig_open(&rig, 16, 1);
	assert_int_equal(mrc_ev_deadline(rig.set), UINT64_MAX);
	mrc_ev_feedback(rig.set, now, 9, MRC_EV_FB_TIMEOUT);
	assert_int_equal(mrc_ev_probe_next(rig.set, now), NONE);
	wait = rig.cfg.probe_ns;
	for (uint32_t i = 0; i < 12; i++) {
		if (i > 0)
			wait = i == 1 ? rig.cfg.probe_ns : 2 * wait;
		if (wait > rig.cfg.probe_max_ns)
			wait = rig.cfg.probe_max_ns;
		assert_int_equal(mrc_ev_deadline(rig.set), now + wait);
		assert_int_equal(mrc_ev_probe_next(rig.set, now + wait - 1), NONE);
		now += wait;
		assert_int_equal(mrc_ev_probe_next(rig.set, now), 9);
		assert_int_equal(mrc_ev_probe_next(rig.set, now), NONE);
		mrc_ev_feedback(rig.set, now, 9, MRC_EV_FB_PROBE_LOST);
		mrc_ev_feedback(rig.set, now, 9, MRC_EV_FB_GOOD);
		assert_int_equal(mrc_ev_state(rig.set, 9), MRC_EV_ASSUMED_BAD);
	}
	/* Two answers, a loss, then three in a row. */
	for (uint32_t i = 0; i < 6; i++) {
		mrc_ev_feedback(
			rig.set, now, 9, i == 2 ? MRC_EV_FB_PROBE_LOST : MRC_EV_FB_PROBE_GOOD);
		if (i == 5)
			break;
		assert_int_equal(mrc_ev_state(rig.set, 9), MRC_EV_ASSUMED_BAD);
		assert_int_equal(mrc_ev_probe_next(rig.set, now), NONE);
		now = mrc_ev_deadline(rig.set);
		assert_int_equal(mrc_ev_probe_next(rig.set, now), 9);
	}
	assert_int_equal(mrc_ev_state(rig.set, 9), MRC_EV_GOOD);
	assert_int_equal(mrc_ev_deadline(rig.set), UINT64_MAX);
	assert_int_equal(mrc_ev_probe_next(rig.set, now + rig.cfg.probe_max_ns), NONE);
	rig_close(&rig);
}

static void test_marked_probe_revives_to_skip(void **state)
{
	rig_cfg(&rig, 16, 1);
	rig.cfg.revive_count = 1;
	rig_create(&rig);
	mrc_ev_feedback(rig.set, 0, 2, MRC_EV_FB_LOST);
	mrc_ev_feedback(rig.set, 0, 2, MRC_EV_FB_PROBE_MARKED);
	assert_int_equal(mrc_ev_state(rig.set, 2), MRC_EV_SKIP);
	mrc_ev_feedback(rig.set, 0, 3, MRC_EV_FB_PROBE_MARKED);
	assert_int_equal(mrc_ev_state(rig.set, 3), MRC_EV_SKIP);
	rig_close(&rig);
}

static void test_every_bad_one_is_probed(void **state)
{
	uint32_t probed[48] = {0};

	rig_open(&rig, 64, 1);
	for (uint32_t i = 0; i < 48; i++)
		mrc_ev_feedback(rig.set, i, i, MRC_EV_FB_LOST);
	for (uint32_t i = 0; i < 48; i++)
		probed[mrc_ev_probe_next(rig.set, rig.cfg.probe_ns + 48)]++;
	for (uint32_t i = 0; i < 48; i++)
		assert_int_equal(probed[i], 1);
	assert_int_equal(mrc_ev_probe_next(rig.set, rig.cfg.probe_ns + 48), NONE);
	rig_close(&rig);
}

static void test_events(void **state)
{
	struct mrc_ev_event event;

	rig_cfg(&rig, 512, 1);
	rig.cfg.revive_count = 1;
	rig_create(&rig);
	mrc_ev_feedback(rig.set, 0, 1, MRC_EV_FB_MARKED); /* SKIP is invisible */
	assert_false(mrc_ev_event_poll(rig.set, &event));
	mrc_ev_feedback(rig.set, 0, 1, MRC_EV_FB_LOST);
	mrc_ev_feedback(rig.set, 0, 1, MRC_EV_FB_PROBE_MARKED);
	assert_true(mrc_ev_event_poll(rig.set, &event));
	assert_int_equal(event.index, 1);
	assert_int_equal(event.state, MRC_EV_ASSUMED_BAD);
	assert_true(mrc_ev_event_poll(rig.set, &event));
	assert_int_equal(event.state, MRC_EV_GOOD);
	assert_int_equal(event.dropped, 0);
	for (uint32_t i = 0; i < 300; i++)
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_LOST);
	for (uint32_t i = 0; i < 256; i++) {
		assert_true(mrc_ev_event_poll(rig.set, &event));
		assert_int_equal(event.index, i);
	}
	assert_false(mrc_ev_event_poll(rig.set, &event));
	mrc_ev_feedback(rig.set, 0, 300, MRC_EV_FB_LOST);
	assert_true(mrc_ev_event_poll(rig.set, &event));
	assert_int_equal(event.index, 300);
	assert_int_equal(event.dropped, 44);
	rig_close(&rig);
}

/* The same seed gives the same choices, whatever happens in between. */
static void test_same_seed_same_choices(void **state)
{
	static uint16_t chosen[2][4000];

	for (int run = 0; run < 2; run++) {
		rig_open(&rig, 48, 3);
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t index = next(&rig, i * 100);

			chosen[run][i] = (uint16_t)index;
			if (i % 7 == 0)
				mrc_ev_feedback(rig.set, i * 100, index, MRC_EV_FB_MARKED);
			if (i % 201 == 0)
				mrc_ev_feedback(rig.set, i * 100, index, MRC_EV_FB_LOST);
		}
		rig_close(&rig);
	}
	assert_memory_equal(chosen[0], chosen[1], sizeof(chosen[0]));
}

static void test_bad_configurations(void **state)
{
	static struct mrc_ev many[MRC_EV_MAX + 1];
	struct mrc_ev_set *set = NULL;

	rig_cfg(&rig, 8, 2);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct mrc_ev_cfg good = rig.cfg;                                                  \
		change;                                                                            \
		assert_int_equal(mrc_ev_create(&rig.cfg, &rig.te.env, &set), MRC_ERR_INVAL);       \
		assert_null(set);                                                                  \
		rig.cfg = good;                                                                    \
	} while (0)
	REFUSED(rig.cfg.nb_evs = 0);
	REFUSED(rig.cfg.skip_ns = MRC_EV_SKIP_LIMIT_NS + 1);
	REFUSED(rig.cfg.skip_max_ns = MRC_EV_SKIP_LIMIT_NS + 1);
	for (uint32_t i = 0; i <= MRC_EV_MAX; i++)
		many[i].value = i;
	REFUSED(rig.cfg.evs = many; rig.cfg.nb_evs = MRC_EV_MAX + 1);
	REFUSED(rig.cfg.nb_planes = 0);
	REFUSED(rig.cfg.nb_planes = 1);
	REFUSED(rig.cfg.nb_planes = MRC_MAX_PLANES + 1);
	REFUSED(rig.cfg.nb_active = 9);
	REFUSED(rig.cfg.min_active = 9);
	REFUSED(rig.cfg.revive_count = 0);
	REFUSED(rig.cfg.probe_ns = 0);
	REFUSED(rig.cfg.probe_max_ns = rig.cfg.probe_ns - 1);
	REFUSED(rig.cfg.mode = MRC_EV_MODE_UDP; rig.evs[3].value = 0x10000);
	rig.evs[3].value = 77;
	rig.evs[2].value = 77; /* another plane */
	assert_int_equal(mrc_ev_create(&rig.cfg, &rig.te.env, &set), MRC_OK);
	assert_int_equal(mrc_ev_find(set, 77, 0), 2);
	assert_int_equal(mrc_ev_find(set, 77, 1), 3);
	assert_int_equal(mrc_ev_find(set, 78, 1), NONE);
	assert_int_equal(mrc_ev_count(set), 8);
	mrc_ev_destroy(set);
	set = NULL;
	REFUSED(rig.evs[5].value = 77);
#undef REFUSED
	rig.evs[5].value = 78;
	rig.te.fail_after = 0;
	assert_int_equal(mrc_ev_create(&rig.cfg, &rig.te.env, &set), MRC_ERR_NOMEM);
	test_env_done(&rig.te);
}

/* spec */
static void test_generate(void **state)
{
	rig_cfg(&rig, 4, 1);
	mrc_ev_generate(rig.evs, 4096, 3, MRC_EV_MODE_UDP, &rig.te.env);
	for (uint32_t i = 0; i < 4096; i++) {
		assert_in_range(rig.evs[i].value, 0xC000, 0xFFFF);
		assert_int_equal(rig.evs[i].plane, i % 3);
		for (uint32_t j = 0; j < i; j += 1 + i / 8)
			assert_int_not_equal(rig.evs[i].value, rig.evs[j].value);
	}
}

/* What must hold after anything: counts add up, nothing denied or spare is handed out. */
static void check_counts(struct rig *r, const uint8_t *denied)
{
	uint32_t sum[4] = {0};

	for (uint32_t i = 0; i < r->cfg.nb_evs; i++) {
		enum mrc_ev_state s = mrc_ev_state(r->set, i);

		assert_int_equal(s == MRC_EV_DENIED, denied[i]);
		sum[__builtin_ctz(s)]++;
	}
	for (int bit = 0; bit < 4; bit++)
		assert_int_equal(count(r, (enum mrc_ev_state)(1 << bit)), sum[bit]);
}

static void random_event(struct rig *r, uint64_t now, uint8_t *denied)
{
	uint32_t index = test_random_below(&r->te, r->cfg.nb_evs);

	switch (test_random_below(&r->te, 12)) {
	case 0:
		denied[index] = 1;
		mrc_ev_set_state(r->set, now, index, MRC_EV_DENIED);
		break;
	case 1:
	case 2:
		denied[index] = 0;
		mrc_ev_set_state(r->set, now, index, MRC_EV_GOOD);
		break;
	case 3:
		mrc_ev_plane(r->set, now, (uint8_t)test_random_below(&r->te, r->cfg.nb_planes),
			test_random_below(&r->te, 4) != 0);
		break;
	case 4:
		mrc_ev_probe_next(r->set, now);
		break;
	default:
		mrc_ev_feedback(r->set, now, index,
			(enum mrc_ev_feedback)test_random_below(&r->te, MRC_EV_FB_PROBE_LOST + 1));
		break;
	}
}

static void test_random_walk(void **state)
{
	for (uint32_t round = 0; round < 40; round++) {
		uint8_t denied[96] = {0};
		uint64_t now = 0;

		rig_cfg(&rig, 1 + round * 2, (uint8_t)(1 + round % 5));
		if (round * 2 + 1 < rig.cfg.nb_planes)
			rig.cfg.nb_planes = 1;
		for (uint32_t i = 0; i < rig.cfg.nb_evs; i++)
			rig.evs[i].plane = (uint8_t)(i % rig.cfg.nb_planes);
		rig.cfg.nb_active = round % 3 ? (rig.cfg.nb_evs + 1) / 2 : 0;
		rig.cfg.revive_count = 1 + round % 2;
		rig_create(&rig);
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t avoid = i % 3 ? NONE : test_random_below(&rig.te, rig.cfg.nb_evs);
			uint32_t planes = i % 2 ? ALL : test_random_below(&rig.te, 32);
			uint32_t index = mrc_ev_next(rig.set, &rig.cursor, now, planes, avoid);

			if (index != NONE) {
				assert_true(index < rig.cfg.nb_evs);
				assert_false(denied[index]);
				assert_true(planes >> mrc_ev_get(rig.set, index)->plane & 1);
				assert_int_not_equal(mrc_ev_state(rig.set, index), MRC_EV_SKIP);
			}
			random_event(&rig, now, denied);
			now += test_random_below(&rig.te, 20000);
			if (i % 50 == 0)
				check_counts(&rig, denied);
		}
		rig_close(&rig);
	}
}

/* Different values met in many turns. */
static uint32_t in_use(void)
{
	static uint8_t seen[MRC_EV_MAX];
	uint32_t nb = 0;

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t index = next(&rig, 1000);

		nb += !seen[index];
		seen[index] = 1;
	}
	return nb;
}

/* A spare that turns bad makes no room: no more values are in use than before. One in use that
 * turns bad is replaced, and when spares are used up, there is one less. spec */
static void spares_fill_only_what_is_free(void **state)
{
	rig_cfg(&rig, 8, 1);
	rig.cfg.nb_active = 3;
	rig.cfg.min_active = 1;
	rig_create(&rig);
	assert_int_equal(in_use(), 3);
	mrc_ev_feedback(rig.set, 0, 7, MRC_EV_FB_LOST); /* a spare */
	assert_int_equal(mrc_ev_state(rig.set, 7), MRC_EV_ASSUMED_BAD);
	assert_int_equal(in_use(), 3);
	for (uint32_t i = 0; i < 5; i++) {
		mrc_ev_feedback(rig.set, 0, i, MRC_EV_FB_LOST);
		assert_int_equal(in_use(), i < 4 ? 3 : 2);
	}
	rig_close(&rig);
}

/* However few are in use: a spare is none of them, and has not to be kept. spec */
static void spares_do_not_count_as_active(void **state)
{
	rig_cfg(&rig, 6, 2); /* planes 0 and 1 in turn; 0 to 3 in use */
	rig.cfg.nb_active = 4;
	rig.cfg.min_active = 4;
	rig_create(&rig);
	mrc_ev_feedback(rig.set, 0, 4, MRC_EV_FB_LOST); /* the spare of plane 0 */
	assert_int_equal(mrc_ev_state(rig.set, 4), MRC_EV_ASSUMED_BAD);
	assert_int_equal(mrc_ev_set_state(rig.set, 0, 0, MRC_EV_DENIED), MRC_OK);
	assert_int_equal(in_use(), 3);                  /* one less than are to stay */
	mrc_ev_feedback(rig.set, 0, 5, MRC_EV_FB_LOST); /* the spare of plane 1 */
	assert_int_equal(mrc_ev_state(rig.set, 5), MRC_EV_ASSUMED_BAD);
	mrc_ev_feedback(rig.set, 0, 1, MRC_EV_FB_LOST);
	assert_int_equal(mrc_ev_state(rig.set, 1), MRC_EV_SKIP);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass_visits_each_once),
		cmocka_unit_test(test_time_between_uses_is_a_pass),
		cmocka_unit_test(test_places_are_even),
		cmocka_unit_test(test_two_qps_walk_differently),
		cmocka_unit_test(test_planes_take_equal_turns),
		cmocka_unit_test(test_skip_is_passed_once),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_loss_retires_and_a_spare_of_the_plane_serves),
		cmocka_unit_test(test_min_active_floor),
		cmocka_unit_test(test_dead_plane_is_left),
		cmocka_unit_test(test_never_denied),
		cmocka_unit_test(test_avoid),
		cmocka_unit_test(test_all_bad_is_still_used),
		cmocka_unit_test(test_probes_double_and_revive),
		cmocka_unit_test(test_marked_probe_revives_to_skip),
		cmocka_unit_test(test_every_bad_one_is_probed),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_same_seed_same_choices),
		cmocka_unit_test(test_bad_configurations),
		cmocka_unit_test(test_generate),
		cmocka_unit_test(test_random_walk),
		cmocka_unit_test(spares_fill_only_what_is_free),
		cmocka_unit_test(spares_do_not_count_as_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
