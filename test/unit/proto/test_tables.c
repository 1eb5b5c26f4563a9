/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables: opcodes, names of errors and drop reasons, settings, DSCP classes.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_choice.h"
#include "mrc_err.h"
#include "mrc_pkt.h"

/* The code points of tables 6-3 and 7-10, by number and size, not by our names for them. */
static const struct {
	uint8_t value;
	const char *name;
	uint8_t ext_len;
	bool write;
} opcodes[] = {
	{0xC6, "WRITE_FIRST", 20, true},
	{0xC7, "WRITE_MIDDLE", 20, true},
	{0xC8, "WRITE_LAST", 20, true},
	{0xC9, "WRITE_LAST_IMM", 24, true},
	{0xCA, "WRITE_ONLY", 20, true},
	{0xCB, "WRITE_ONLY_IMM", 24, true},
	{0xD1, "ACK", 4, false},
	{0xD8, "EP_REQ", 16, false},
	{0xD9, "EP_RSP", 36, false},
	{0xDC, "SACK", 36, false},
	{0xDD, "NACK", 20, false},
	{0xDE, "PROBE", 16, false},
};

/* spec */
static void test_opcodes_known(void **state)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct mrc_opcode_row *row = &mrc_opcode_table[opcodes[i].value];

		assert_string_equal(row->name, opcodes[i].name);
		assert_int_equal(row->ext_len, opcodes[i].ext_len);
		assert_int_equal(!!(row->flags & MRC_OPF_WRITE), opcodes[i].write);
	}
}

static void test_opcodes_all_others_unknown(void **state)
{
	uint32_t nb_known = 0;

	for (uint32_t value = 0; value < 256; value++) {
		const struct mrc_opcode_row *row = &mrc_opcode_table[value];

		assert_int_equal(row->name == NULL, row->flags == 0);
		if (row->name == NULL)
			assert_int_equal(row->ext_len, 0);
		else
			nb_known++;
	}
	assert_int_equal(nb_known, sizeof(opcodes) / sizeof(opcodes[0]));
}

/* The five low bits of writes and acknowledgement are those of IBTA's reliable connection. */
static void test_opcodes_follow_ibta(void **state)
{
	static const uint8_t rc[] = {0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x11};

	for (size_t i = 0; i < sizeof(rc); i++)
		assert_non_null(mrc_opcode_table[0xC0 | rc[i]].name);
}

static void test_opcodes_message_edges(void **state)
{
	const struct mrc_opcode_row *t = mrc_opcode_table;

	for (uint32_t value = 0; value < 256; value++) {
		bool first = value == 0xC6 || value == 0xCA || value == 0xCB;
		bool last = value >= 0xC8 && value <= 0xCB;
		bool imm = value == 0xC9 || value == 0xCB;
		bool full = value == 0xC6 || value == 0xC7;

		assert_int_equal(!!(t[value].flags & MRC_OPF_FIRST), first);
		assert_int_equal(!!(t[value].flags & MRC_OPF_LAST), last);
		assert_int_equal(!!(t[value].flags & MRC_OPF_IMMDT), imm);
		assert_int_equal(!!(t[value].flags & MRC_OPF_FULL), full);
	}
}

static void test_drop_names(void **state)
{
#define NAME(name, text) #name,
	static const char *const upper[] = {"NONE", MRC_DROP_LIST(NAME)};
#undef NAME

	assert_int_equal(sizeof(upper) / sizeof(upper[0]), MRC_NB_DROPS);
	for (uint32_t reason = 0; reason < MRC_NB_DROPS; reason++) {
		const char *name = mrc_drop_name((enum mrc_drop)reason);

		assert_int_equal(strlen(name), strlen(upper[reason]));
		for (size_t i = 0; name[i] != '\0'; i++)
			assert_int_equal(name[i], tolower(upper[reason][i]));
		assert_true(strlen(mrc_drop_text((enum mrc_drop)reason)) > 0);
	}
	assert_string_equal(mrc_drop_name(MRC_NB_DROPS), "unknown");
	assert_string_equal(mrc_drop_name((enum mrc_drop) - 1), "unknown");
	assert_string_equal(mrc_drop_text(MRC_NB_DROPS), "unknown drop reason");
}

static void test_err_names(void **state)
{
	assert_string_equal(mrc_err_name(0), "MRC_OK");
	assert_string_equal(mrc_err_name(MRC_ERR_SPACE), "MRC_ERR_SPACE");
	assert_string_equal(mrc_err_name(1), "MRC_ERR_?");
	assert_string_equal(mrc_err_name(-11), "MRC_ERR_?");
#define CHECK(name, value, text)                                                                   \
	assert_string_equal(mrc_err_name(value), #name);                                           \
	assert_string_equal(mrc_err_text(name), text);
	MRC_ERR_LIST(CHECK)
#undef CHECK
	assert_true(strlen(mrc_err_text(12345)) > 0);
}

static uint32_t setting(const struct mrc_choice *choice, const struct mrc_choice_row *row)
{
	uint32_t value;

	memcpy(&value, (const char *)choice + row->offset, sizeof(value));
	return value;
}

/* Every open point from 1 to 28 has a setting; rows and struct members are the same set. */
static void test_choices(void **state)
{
	struct mrc_choice choice;
	uint32_t nb_rows = 0, seen = 0;

	mrc_choice_default(&choice);
	for (const struct mrc_choice_row *row = mrc_choice_rows(); row->name != NULL; row++) {
		assert_int_equal(row->offset, nb_rows * sizeof(uint32_t));
		assert_int_equal(setting(&choice, row), row->def);
		assert_in_range(row->def, row->min, row->max);
		assert_true(strlen(row->text) > 0);
		seen |= UINT32_C(1) << row->id;
		nb_rows++;
	}
	assert_int_equal(nb_rows * sizeof(uint32_t), sizeof(choice));
	assert_int_equal(seen, 0x1FFFFFFE);
	assert_int_equal(choice.udp_port, 4791);
	assert_int_equal(choice.sack_gen_threshold, 16384);
}

static void test_choice_out_of_range_refused(void **state)
{
	for (const struct mrc_choice_row *row = mrc_choice_rows(); row->name != NULL; row++) {
		struct mrc_proto proto;
		uint32_t value = row->max + 1;

		mrc_proto_default(&proto);
		assert_int_equal(mrc_proto_init(&proto), MRC_OK);
		memcpy((char *)&proto.choice + row->offset, &value, sizeof(value));
		assert_int_equal(mrc_proto_init(&proto), MRC_ERR_INVAL);
		if (row->min == 0)
			continue;
		value = row->min - 1;
		memcpy((char *)&proto.choice + row->offset, &value, sizeof(value));
		assert_int_equal(mrc_proto_init(&proto), MRC_ERR_INVAL);
	}
}

/* spec */
static void test_dscp_default(void **state)
{
	static const struct {
		uint8_t dscp;
		enum mrc_class cls;
	} want[] = {{0, MRC_CLASS_NO_TRIM}, {4, MRC_CLASS_TRIMMABLE}, {8, MRC_CLASS_TRIMMABLE_RETX},
		{12, MRC_CLASS_TRIMMED}, {16, MRC_CLASS_TRIMMED_LASTHOP}, {46, MRC_CLASS_CONTROL},
		{1, MRC_CLASS_OTHER}, {63, MRC_CLASS_OTHER}};
	struct mrc_proto proto;
	uint32_t nb_other = 0;

	mrc_proto_default(&proto);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(proto.class_of_dscp[want[i].dscp], want[i].cls);
	for (uint32_t dscp = 0; dscp < 64; dscp++)
		nb_other += proto.class_of_dscp[dscp] == MRC_CLASS_OTHER;
	assert_int_equal(nb_other, 58);
}

/* Of all pairs of classes only those of untrimmed data may share a value. */
static void test_dscp_shared(void **state)
{
	for (uint32_t a = 0; a < MRC_CLASS_OTHER; a++) {
		for (uint32_t b = 0; b < a; b++) {
			bool allowed = a <= MRC_CLASS_TRIMMABLE_RETX;
			struct mrc_proto proto;

			mrc_proto_default(&proto);
			proto.dscp[a] = proto.dscp[b];
			assert_int_equal(mrc_proto_init(&proto), allowed ? MRC_OK : MRC_ERR_INVAL);
			if (allowed)
				assert_int_equal(proto.class_of_dscp[proto.dscp[b]], b);
		}
	}
}

static void test_dscp_all_data_one_value(void **state)
{
	struct mrc_proto proto;

	mrc_proto_default(&proto);
	proto.dscp[MRC_CLASS_TRIMMABLE] = 0;
	proto.dscp[MRC_CLASS_TRIMMABLE_RETX] = 0;
	assert_int_equal(mrc_proto_init(&proto), MRC_OK);
	assert_int_equal(proto.class_of_dscp[0], MRC_CLASS_NO_TRIM);
	assert_int_equal(proto.class_of_dscp[4], MRC_CLASS_OTHER);
}

static void test_dscp_too_large(void **state)
{
	for (uint32_t cls = 0; cls < MRC_CLASS_OTHER; cls++) {
		struct mrc_proto proto;

		mrc_proto_default(&proto);
		proto.dscp[cls] = 63;
		assert_int_equal(mrc_proto_init(&proto), MRC_OK);
		proto.dscp[cls] = 64;
		assert_int_equal(mrc_proto_init(&proto), MRC_ERR_INVAL);
	}
}

static void test_port_bit(void **state)
{
	struct mrc_proto proto;

	mrc_proto_default(&proto);
	assert_int_equal(mrc_proto_port_bit(&proto, 1), 2);
	assert_int_equal(mrc_proto_port_bit(&proto, 16), 1 << 16);
	proto.choice.port_mask_base = 0;
	assert_int_equal(mrc_proto_port_bit(&proto, 1), 1);
}

static void test_gid(void **state)
{
	struct mrc_gid a = {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}}, b = a;

	assert_true(mrc_gid_is_v4(&a));
	assert_true(mrc_gid_eq(&a, &b));
	for (uint32_t bit = 0; bit < 128; bit++) {
		b = a;
		b.raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(mrc_gid_eq(&a, &b));
		assert_int_equal(mrc_gid_is_v4(&b), bit >= 96);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opcodes_known),
		cmocka_unit_test(test_opcodes_all_others_unknown),
		cmocka_unit_test(test_opcodes_follow_ibta),
		cmocka_unit_test(test_opcodes_message_edges),
		cmocka_unit_test(test_drop_names),
		cmocka_unit_test(test_err_names),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_choice_out_of_range_refused),
		cmocka_unit_test(test_dscp_default),
		cmocka_unit_test(test_dscp_shared),
		cmocka_unit_test(test_dscp_all_data_one_value),
		cmocka_unit_test(test_dscp_too_large),
		cmocka_unit_test(test_port_bit),
		cmocka_unit_test(test_gid),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
