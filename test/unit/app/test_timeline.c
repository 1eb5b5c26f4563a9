/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a run second by second: nothing is lost when rows are merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "timeline.h"

#define SECOND 1000000000ull

static struct mrc_timeline timeline;

static struct mrc_timeline_row sample(uint64_t index)
{
	struct mrc_timeline_row row = {.begin_ns = index * SECOND,
		.len_ns = SECOND,
		.bytes = 1000 + index,
		.packets = 10 + index,
		.retransmits = index % 3};

	row.plane_packets[0] = 4 + index;
	row.plane_packets[MRC_MAX_PLANES - 1] = 6;
	return row;
}

static void fill(uint64_t nb)
{
	memset(&timeline, 0, sizeof(timeline));
	for (uint64_t i = 0; i < nb; i++) {
		struct mrc_timeline_row row = sample(i);

		mrc_timeline_add(&timeline, &row);
	}
}

/* The rows follow each other without gap and hold the sum of nb samples. */
static void check(uint64_t nb)
{
	struct mrc_timeline_row sum = {0};
	uint64_t want_bytes = 0, want_packets = 0;

	for (uint32_t i = 0; i < timeline.nb; i++) {
		const struct mrc_timeline_row *row = &timeline.rows[i];

		assert_int_equal(row->begin_ns, sum.len_ns);
		assert_int_equal(row->plane_packets[0] + row->plane_packets[MRC_MAX_PLANES - 1],
			row->packets);
		sum.len_ns += row->len_ns;
		sum.bytes += row->bytes;
		sum.packets += row->packets;
	}
	for (uint64_t i = 0; i < nb; i++) {
		want_bytes += 1000 + i;
		want_packets += 10 + i;
	}
	assert_int_equal(sum.len_ns, nb * SECOND);
	assert_int_equal(sum.bytes, want_bytes);
	assert_int_equal(sum.packets, want_packets);
}

static void test_short_run_has_a_row_a_second(void **state)
{
	fill(10);
	assert_int_equal(timeline.nb, 10);
	for (uint32_t i = 0; i < 10; i++) {
		struct mrc_timeline_row want = sample(i);

		assert_memory_equal(&timeline.rows[i], &want, sizeof(want));
	}
}

static void test_every_length_is_complete(void **state)
{
	for (uint64_t nb = 0; nb < 5 * MRC_TIMELINE_ROWS; nb += nb < 20 ? 1 : 37) {
		fill(nb);
		check(nb);
		assert_in_range(timeline.nb, 0, MRC_TIMELINE_ROWS);
	}
}

static void test_edges_of_merging(void **state)
{
	fill(MRC_TIMELINE_ROWS);
	assert_int_equal(timeline.nb, MRC_TIMELINE_ROWS);
	fill(MRC_TIMELINE_ROWS + 1);
	assert_int_equal(timeline.nb, MRC_TIMELINE_ROWS / 2 + 1);
	assert_int_equal(timeline.rows[0].len_ns, 2 * SECOND);
	assert_int_equal(timeline.rows[MRC_TIMELINE_ROWS / 2].len_ns, SECOND);
	fill(MRC_TIMELINE_ROWS + 2);
	assert_int_equal(timeline.nb, MRC_TIMELINE_ROWS / 2 + 1);
	check(MRC_TIMELINE_ROWS + 2);
}

static void test_json(void **state)
{
	json_t *list, *row;

	fill(3);
	list = mrc_timeline_json(&timeline, 2);
	assert_int_equal(json_array_size(list), 3);
	row = json_array_get(list, 2);
	assert_int_equal(json_integer_value(json_object_get(row, "packets")), 12);
	assert_int_equal(json_integer_value(json_object_get(row, "retransmitted_packets")), 2);
	assert_true(json_real_value(json_object_get(row, "begin")) == 2.0);
	assert_true(json_real_value(json_object_get(row, "goodput_gbps")) == 1002 * 8e-9);
	assert_int_equal(json_array_size(json_object_get(row, "plane_packets")), 2);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_run_has_a_row_a_second),
		cmocka_unit_test(test_every_length_is_complete),
		cmocka_unit_test(test_edges_of_merging),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
