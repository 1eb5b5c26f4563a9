/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive map and sent map against plain arrays, across the wrap of the PSN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rcvmap.h"
#include "sentmap.h"
#include "test_env.h"

#define WINDOW   1024
#define NB_SLOTS 16
#define SPACE    (1 << MRC_PSN_BITS)
#define NB_CHUNK 12

struct rcv_rig {
	struct pool pool;
	uint16_t ids[NB_CHUNK], slots[NB_SLOTS];
	struct rcvmap map;
};

static void rcv_start(struct rcv_rig *rig, uint32_t nb_chunks, mrc_psn_t cack)
{
	pool_init(&rig->pool, calloc(nb_chunks, sizeof(struct rcv_chunk)), sizeof(struct rcv_chunk),
		rig->ids, nb_chunks);
	rcvmap_init(&rig->map, rig->slots, NB_SLOTS, cack);
}

static void rcv_stop(struct rcv_rig *rig)
{
	rcvmap_clear(&rig->map, &rig->pool);
	assert_int_equal(rig->pool.nb_free, rig->pool.nb);
	free(rig->pool.mem);
}

/* One packet as the responder takes it; false when there is no chunk. */
static bool rcv_take(struct rcv_rig *rig, mrc_psn_t psn)
{
	struct rcv_chunk *chunk;

	if (rcvmap_at_edge(&rig->map, psn)) {
		rcvmap_step(&rig->map, &rig->pool);
		rcvmap_advance(&rig->map, &rig->pool, rcvmap_run_end(&rig->map, &rig->pool));
		return true;
	}
	chunk = rcvmap_chunk(&rig->map, &rig->pool, psn);
	if (chunk == NULL)
		return false;
	rcvmap_set(&rig->map, chunk, psn);
	return true;
}

static void rcv_compare(struct rcv_rig *rig, const uint8_t *got, mrc_psn_t first, int32_t nb)
{
	mrc_psn_t edge = first, max;
	uint32_t ooo = 0;

	while (mrc_psn_diff(edge, first) < nb && got[mrc_psn_diff(edge, first)])
		edge = mrc_psn_add(edge, 1);
	edge = mrc_psn_add(edge, -1);
	assert_int_equal(rig->map.cack.v, edge.v);
	max = edge;
	for (int32_t i = mrc_psn_diff(edge, first) + 1; i < nb; i++) {
		ooo += got[i];
		if (got[i])
			max = mrc_psn_add(first, i);
	}
	assert_int_equal(rig->map.nb_ooo, ooo);
	assert_int_equal(rig->map.max_rcv.v, max.v);
	for (int32_t i = mrc_psn_diff(edge, first) + 1; i <= mrc_psn_diff(max, first); i += 37) {
		mrc_psn_t base = mrc_psn_add(first, i);
		uint64_t word = rcvmap_word(&rig->map, &rig->pool, base);

		for (int32_t k = 0; k < 64 && i + k < nb; k++)
			assert_int_equal(word >> k & 1, got[i + k]);
	}
}

static void rcv_random_order(void **state)
{
	static const uint32_t starts[] = {0, 0x7FFFF0, 0xFFFFF0, 0xFFFF80, 127, 128};
	static uint8_t got[4 * WINDOW];
	struct test_env te;

	test_env_init(&te, 0xB1);
	for (uint32_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		mrc_psn_t first = mrc_psn(starts[s]);
		struct rcv_rig rig;

		memset(got, 0, sizeof(got));
		rcv_start(&rig, NB_CHUNK, mrc_psn_add(first, -1));
		while (mrc_psn_diff(rig.map.cack, first) < 4 * WINDOW - 1) {
			int32_t ahead = (int32_t)test_random_below(
				&te, test_random_below(&te, 4) ? 90 : WINDOW);
			mrc_psn_t psn = mrc_psn_add(rig.map.cack, 1 + ahead);
			int32_t at = mrc_psn_diff(psn, first);

			if (at >= 4 * WINDOW)
				continue;
			if (ahead > 0)
				assert_int_equal(rcvmap_has(&rig.map, &rig.pool, psn), got[at]);
			if (got[at])
				continue;
			assert_true(rcv_take(&rig, psn));
			got[at] = 1;
			if (test_random_below(&te, 16) == 0)
				rcv_compare(&rig, got, first, 4 * WINDOW);
		}
		assert_int_equal(rig.map.nb_chunks, 0);
		rcv_stop(&rig);
	}
}

/* A stream in order takes no chunk at all. */
static void rcv_in_order_is_free(void **state)
{
	struct rcv_rig rig;

	rcv_start(&rig, 1, mrc_psn(SPACE - 300));
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(rcv_take(&rig, mrc_psn_add(rig.map.cack, 1)));
		assert_int_equal(rig.pool.nb_free, 1);
	}
	rcv_stop(&rig);
}

/* With the budget spent, the packet at the left edge is still taken and frees what waited. */
static void rcv_spent_budget(void **state)
{
	mrc_psn_t first = mrc_psn(1000); /* 1024 begins a chunk */
	struct rcv_rig rig;

	rcv_start(&rig, 1, mrc_psn(999));
	assert_true(rcv_take(&rig, mrc_psn(1024)));
	assert_false(rcv_take(&rig, mrc_psn(1001)));
	for (uint32_t i = 0; i < 24; i++)
		assert_true(rcv_take(&rig, mrc_psn_add(first, (int32_t)i)));
	assert_int_equal(rig.map.cack.v, 1024);
	assert_int_equal(rig.pool.nb_free, 1);
	rcv_stop(&rig);
}

/* ---- sent map ---- */

enum life {
	UNSENT,
	FLYING,
	LOST,
	DONE,
};

struct sent_rig {
	struct sent_pools pools;
	uint16_t ids[2][NB_CHUNK], slots[NB_SLOTS];
	struct sentmap map;
	mrc_psn_t first;
	uint8_t life[4 * WINDOW];
	bool again[4 * WINDOW]; /* sent more than once */
};

static void sent_start(struct sent_rig *rig, uint32_t nb_chunks, mrc_psn_t first)
{
	pool_init(&rig->pools.chunks, calloc(nb_chunks, sizeof(struct sent_chunk)),
		sizeof(struct sent_chunk), rig->ids[0], nb_chunks);
	pool_init(&rig->pools.evs, calloc(nb_chunks, sizeof(struct sent_evs)),
		sizeof(struct sent_evs), rig->ids[1], nb_chunks);
	sentmap_init(&rig->map, rig->slots, NB_SLOTS, first);
	rig->first = first;
	memset(rig->life, UNSENT, sizeof(rig->life));
	memset(rig->again, 0, sizeof(rig->again));
}

static void sent_stop(struct sent_rig *rig)
{
	sentmap_clear(&rig->map, &rig->pools);
	assert_int_equal(rig->pools.chunks.nb_free, rig->pools.chunks.nb);
	assert_int_equal(rig->pools.evs.nb_free, rig->pools.evs.nb);
	free(rig->pools.chunks.mem);
	free(rig->pools.evs.mem);
}

static uint16_t size_of(int32_t at)
{
	return (uint16_t)(100 + at % 7);
}

/* A run of one. */
static void push(struct sentmap *map, const struct sent_pools *pools, const struct sent *sent)
{
	struct sent_run run;

	sentmap_run_begin(map, pools, &run);
	sentmap_run_add(&run, sent);
	sentmap_run_end(map, pools, &run);
}

static bool sent_push(struct sent_rig *rig, uint16_t ev)
{
	int32_t at = mrc_psn_diff(rig->map.next, rig->first);

	if (!sentmap_reserve(&rig->map, &rig->pools))
		return false;
	push(&rig->map, &rig->pools,
		&(struct sent){.sent_ns = (uint64_t)at, .size = size_of(at), .ev = ev});
	rig->life[at] = FLYING;
	return true;
}

static void sent_compare(struct sent_rig *rig)
{
	uint64_t book = 0;
	uint32_t open = 0, lost = 0;

	for (int32_t at = 0; at < 4 * WINDOW; at++) {
		mrc_psn_t psn = mrc_psn_add(rig->first, at);

		assert_int_equal(sentmap_is_open(&rig->map, &rig->pools, psn),
			rig->life[at] == FLYING || rig->life[at] == LOST);
		assert_int_equal(
			sentmap_is_lost(&rig->map, &rig->pools, psn), rig->life[at] == LOST);
		book += rig->life[at] == FLYING ? size_of(at) : 0;
		open += rig->life[at] == FLYING || rig->life[at] == LOST;
		lost += rig->life[at] == LOST;
	}
	assert_int_equal(rig->map.book, book);
	assert_int_equal(sentmap_recount(&rig->map, &rig->pools), book);
	assert_int_equal(rig->map.nb_open, open);
	assert_int_equal(rig->map.nb_lost, lost);
	if (lost != 0) {
		int32_t at = mrc_psn_diff(sentmap_first_lost(&rig->map, &rig->pools), rig->first);

		for (int32_t i = 0; i < at; i++)
			assert_int_not_equal(rig->life[i], LOST);
		assert_int_equal(rig->life[at], LOST);
	}
}

/* Acknowledges at once what is in flight for the first time, of any bits of the word of psn. */
static void sent_ack_word(struct sent_rig *rig, mrc_psn_t psn, uint64_t mask)
{
	int32_t from = mrc_psn_diff(mrc_psn(psn.v & ~63u), rig->first);
	uint32_t expected = 0;

	for (int32_t bit = 0; bit < 64; bit++) {
		int32_t at = from + bit;

		if ((mask >> bit & 1) == 0 || at < 0 || at >= 4 * WINDOW ||
			rig->life[at] != FLYING || rig->again[at])
			continue;
		rig->life[at] = DONE;
		expected++;
	}
	assert_int_equal(sentmap_ack_word(&rig->map, &rig->pools, psn, mask), expected);
}

/* One random event; what the map answers must be what the array says. */
static void sent_step(struct sent_rig *rig, struct test_env *te)
{
	int32_t window = mrc_psn_diff(rig->map.next, rig->map.una);
	int32_t una = mrc_psn_diff(rig->map.una, rig->first), at;
	mrc_psn_t psn;

	if (window < WINDOW && (window == 0 || test_random_below(te, 2) == 0)) {
		if (mrc_psn_diff(rig->map.next, rig->first) < 4 * WINDOW)
			assert_true(sent_push(rig, (uint16_t)test_random_below(te, 64)));
		return;
	}
	at = una + (int32_t)test_random_below(te, (uint32_t)window);
	psn = mrc_psn_add(rig->first, at);
	switch (test_random_below(te, 5)) {
	case 0:
		assert_int_equal(
			sentmap_lose(&rig->map, &rig->pools, psn), rig->life[at] == FLYING);
		if (rig->life[at] == FLYING)
			rig->life[at] = LOST;
		break;
	case 1:
		if (rig->life[at] != LOST)
			break;
		sentmap_resend(&rig->map, &rig->pools, psn, 7, 99);
		rig->life[at] = FLYING;
		rig->again[at] = true;
		break;
	case 2:
		if (test_random_below(te, 4) == 0)
			sent_ack_word(rig, psn, UINT64_MAX >> test_random_below(te, 64));
		else if (test_random_below(te, 16) == 0)
			sent_ack_word(rig, psn, test_random64(te));
		break;
	default:
		assert_int_equal(sentmap_ack(&rig->map, &rig->pools, psn),
			rig->life[at] == FLYING ? SENT_WAS_FLYING
			: rig->life[at] == LOST ? SENT_WAS_LOST
						: SENT_WAS_DONE);
		rig->life[at] = DONE;
	}
	while (rig->life[una] == DONE && una < mrc_psn_diff(rig->map.next, rig->first))
		una++;
	if (test_random_below(te, 8) == 0)
		sentmap_advance(&rig->map, &rig->pools, mrc_psn_add(rig->first, una));
}

static void sent_random_life(void **state)
{
	static const uint32_t starts[] = {0, 0x7FFFF0, 0xFFFFF0, 0xFFFF80};
	static struct sent_rig rig;
	struct test_env te;

	test_env_init(&te, 0xC1);
	for (uint32_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		sent_start(&rig, NB_CHUNK, mrc_psn(starts[s]));
		for (uint32_t i = 0; i < 30000; i++) {
			sent_step(&rig, &te);
			if (i % 64 == 0)
				sent_compare(&rig);
		}
		sent_stop(&rig);
	}
}

/* The chain of one entropy value leads from each packet to the one before it on that path. */
static void sent_chains(void **state)
{
	struct sent_rig rig;

	sent_start(&rig, NB_CHUNK, mrc_psn(0xFFFFE0));
	for (uint32_t i = 0; i < 300; i++)
		assert_true(sent_push(&rig, (uint16_t)(i % 10)));
	for (int32_t i = 0; i < 300; i++) {
		const struct sent *sent =
			sentmap_at(&rig.map, &rig.pools, mrc_psn_add(rig.first, i));

		if (i < 10)
			assert_int_equal(sent->prev, SENT_NO_PREV);
		else
			assert_int_equal(sent->prev, mrc_psn_add(rig.first, i - 10).v);
	}
	sent_stop(&rig);
}

/* Two entropy values that share a place in the table of last PSNs are not taken for one path. */
static void sent_chains_apart(void **state)
{
	static const uint16_t evs[] = {3, 3 + SENT_EV_TAB, 3, 3, 3 + 15 * SENT_EV_TAB, 3};
	static const bool follows[] = {false, false, false, true, false, false};
	struct sent_rig rig;

	sent_start(&rig, NB_CHUNK, mrc_psn(0xFFFFFE));
	for (uint32_t i = 0; i < 6; i++)
		assert_true(sent_push(&rig, evs[i]));
	for (int32_t i = 0; i < 6; i++) {
		mrc_psn_t psn = mrc_psn_add(rig.first, i);

		assert_int_equal(sentmap_at(&rig.map, &rig.pools, psn)->prev,
			follows[i] ? mrc_psn_add(psn, -1).v : SENT_NO_PREV);
	}
	sent_stop(&rig);
}

static void sent_done(struct sentmap *map, struct sent_pools *pools)
{
	for (mrc_psn_t psn = map->una; mrc_psn_lt(psn, map->next); psn = mrc_psn_add(psn, 1))
		(void)sentmap_ack(map, pools, psn);
	sentmap_advance(map, pools, map->next);
	assert_int_equal(pools->evs.nb_free, pools->evs.nb);
}

/* What one QP leaves in the table of last PSNs is not taken by the next one for its own, also when
 * the marks that tell them apart begin again. */
static void sent_chains_of_others(void **state)
{
	struct sentmap other;
	struct sent_rig rig;
	uint16_t slots[NB_SLOTS];

	sent_start(&rig, NB_CHUNK, mrc_psn(1000));
	sentmap_init(&other, slots, NB_SLOTS, mrc_psn(1000));
	for (uint32_t round = 0; round < 3 * SENT_MARK_MAX; round++) {
		struct sent sent = {.size = 100};
		mrc_psn_t at;

		for (uint32_t i = 0; i < 20; i++) {
			assert_true(sentmap_reserve(&other, &rig.pools));
			sent.ev = i < 10 ? 5 : 6;
			push(&other, &rig.pools, &sent);
		}
		sent_done(&other, &rig.pools);
		for (uint32_t i = 0; i < 20; i++) {
			assert_true(sentmap_reserve(&rig.map, &rig.pools));
			sent.ev = i < 15 ? 1 : 5;
			at = rig.map.next;
			push(&rig.map, &rig.pools, &sent);
			if (i == 0 || i == 15)
				assert_int_equal(
					sentmap_at(&rig.map, &rig.pools, at)->prev, SENT_NO_PREV);
			else
				assert_int_equal(sentmap_at(&rig.map, &rig.pools, at)->prev,
					mrc_psn_add(at, -1).v);
		}
		assert_int_equal(
			sentmap_last_on(&rig.map, &rig.pools, 5), mrc_psn_add(rig.map.next, -1).v);
		assert_int_equal(sentmap_last_on(&rig.map, &rig.pools, 9), SENT_NO_PREV);
		sent_done(&rig.map, &rig.pools);
	}
	sentmap_clear(&other, &rig.pools);
	sent_stop(&rig);
}

/* The same when the marks have come round and entries of long ago would match again. */
static void sent_chains_of_long_ago(void **state)
{
	enum {
		ROUNDS = 3 * SENT_MARK_MAX,
		NB = 10,
	};
	struct sent sent = {.size = 100};
	struct sentmap other;
	struct sent_rig rig;
	uint16_t slots[NB_SLOTS];

	sent_start(&rig, NB_CHUNK, mrc_psn(1000));
	sentmap_init(&other, slots, NB_SLOTS, mrc_psn(1000));
	for (uint32_t i = 0; i < ROUNDS * NB; i++) {
		assert_true(sentmap_reserve(&other, &rig.pools));
		sent.ev = (uint16_t)(10 + i / NB);
		push(&other, &rig.pools, &sent);
	}
	sent_done(&other, &rig.pools);
	sent.ev = 5;
	for (uint16_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < NB; i++) {
			assert_true(sentmap_reserve(&rig.map, &rig.pools));
			push(&rig.map, &rig.pools, &sent);
		}
		assert_int_equal(sentmap_last_on(&rig.map, &rig.pools, 10 + round), SENT_NO_PREV);
		sent_done(&rig.map, &rig.pools);
	}
	sentmap_clear(&other, &rig.pools);
	sent_stop(&rig);
}

static void sent_budget(void **state)
{
	struct sent_rig rig;

	sent_start(&rig, 2, mrc_psn(100));
	for (uint32_t i = 0; i < 28 + 128; i++)
		assert_true(sent_push(&rig, 0));
	assert_false(sent_push(&rig, 0));
	for (int32_t i = 0; i < 28; i++)
		(void)sentmap_ack(&rig.map, &rig.pools, mrc_psn(100 + (uint32_t)i));
	sentmap_advance(&rig.map, &rig.pools, mrc_psn(128));
	assert_true(sent_push(&rig, 0));
	sent_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rcv_random_order),
		cmocka_unit_test(rcv_in_order_is_free),
		cmocka_unit_test(rcv_spent_budget),
		cmocka_unit_test(sent_random_life),
		cmocka_unit_test(sent_chains),
		cmocka_unit_test(sent_chains_apart),
		cmocka_unit_test(sent_chains_of_others),
		cmocka_unit_test(sent_chains_of_long_ago),
		cmocka_unit_test(sent_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
