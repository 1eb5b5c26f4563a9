/* SPDX-License-Identifier: BSD-2-Clause */
/* The table-driven decoder: what it accepts, each way it refuses, and that refusing changes
 * nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl_decode.h"
#include "test_env.h"

enum colour {
	RED,
	GREEN = 7
};

struct leaf {
	char name[8];
	uint16_t port;
	uint8_t mac[6];
	uint8_t ip[16];
};

struct root {
	bool on;
	bool has_depth;
	uint8_t depth;
	uint32_t mtu;
	uint64_t period_ns, rate_bps, size, key;
	double loss, gain;
	uint32_t colour;
	struct leaf leaf;
	struct leaf leaves[4];
	uint32_t nb_leaves;
	uint16_t ports[3];
	uint32_t nb_ports;
};

static const struct mrc_ctl_name colours[] = {{"red", RED}, {"green", GREEN}, {NULL, 0}};

static const struct mrc_ctl_field leaf_fields[] = {
	{.key = "name",
		.type = MRC_CTL_TYPE_STRING,
		MRC_CTL_AT(struct leaf, name),
		.flags = MRC_CTL_REQUIRED,
		.min = 1},
	MRC_CTL_UINT("port", struct leaf, port, 1, 0),
	{.key = "mac",
		.type = MRC_CTL_TYPE_CUSTOM,
		MRC_CTL_AT(struct leaf, mac),
		.decode = mrc_ctl_decode_mac,
		.dump = mrc_ctl_dump_mac},
	{.key = "ip",
		.type = MRC_CTL_TYPE_CUSTOM,
		MRC_CTL_AT(struct leaf, ip),
		.decode = mrc_ctl_decode_ip,
		.dump = mrc_ctl_dump_ip},
	MRC_CTL_END,
};
static const struct mrc_ctl_table leaf_table = {.fields = leaf_fields, .size = sizeof(struct leaf)};
static const struct mrc_ctl_field leaf_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct leaf), .table = &leaf_table};
static const struct mrc_ctl_field port_elem = {
	.type = MRC_CTL_TYPE_UINT, .size = sizeof(uint16_t), .min = 1};

static void leaf_init(void *elem)
{
	((struct leaf *)elem)->port = 4791;
}

static int root_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	const struct root *root = obj;

	if (root->on && root->mtu == 666)
		return mrc_ctl_fail_key(ctx, "mtu", "666 does not go with \"on\"");
	return MRC_OK;
}

static const struct mrc_ctl_field root_fields[] = {
	MRC_CTL_BOOL("on", struct root, on),
	{.key = "depth",
		.type = MRC_CTL_TYPE_UINT,
		MRC_CTL_AT(struct root, depth),
		.flags = MRC_CTL_PRESENT,
		.present_offset = offsetof(struct root, has_depth)},
	MRC_CTL_UINT("mtu", struct root, mtu, 256, 9000),
	MRC_CTL_UNIT("period", struct root, period_ns, MRC_CTL_UNIT_TIME, 100, 10000000000),
	MRC_CTL_UNIT("rate", struct root, rate_bps, MRC_CTL_UNIT_RATE, 0, 0),
	MRC_CTL_UNIT("size", struct root, size, MRC_CTL_UNIT_SIZE, 0, 0),
	MRC_CTL_UNIT("key", struct root, key, MRC_CTL_UNIT_HEX, 0, 0),
	MRC_CTL_RATIO("loss", struct root, loss, 0, 1),
	MRC_CTL_DOUBLE("gain", struct root, gain, 0, 0),
	MRC_CTL_ENUM("colour", struct root, colour, colours),
	MRC_CTL_OBJECT("leaf", struct root, leaf, &leaf_table),
	MRC_CTL_ARRAY("leaves", struct root, leaves, nb_leaves, &leaf_elem, 0, leaf_init),
	MRC_CTL_ARRAY("ports", struct root, ports, nb_ports, &port_elem, 1, NULL),
	MRC_CTL_END,
};
static const struct mrc_ctl_table root_table = {
	.fields = root_fields, .size = sizeof(struct root), .check = root_check};

static const struct root defaults = {.mtu = 1500, .period_ns = 1000, .colour = RED};

static int decode(const char *text, struct root *root, struct mrc_ctl_error *error)
{
	return mrc_ctl_decode_text("F", text, strlen(text), &root_table, root, error);
}

/* Refused with exactly this line, and nothing changed. */
static void refused(const char *text, const char *line)
{
	struct root root = defaults;
	struct mrc_ctl_error error;

	assert_int_equal(decode(text, &root, &error), MRC_ERR_INVAL);
	assert_string_equal(error.text, line);
	assert_memory_equal(&root, &defaults, sizeof(root));
}

/* Refused with a line that contains this. */
static void refused_like(const char *text, const char *part)
{
	struct root root = defaults;
	struct mrc_ctl_error error;

	assert_int_equal(decode(text, &root, &error), MRC_ERR_INVAL);
	if (strstr(error.text, part) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", part, error.text);
	assert_null(strchr(error.text, '\n'));
	assert_memory_equal(&root, &defaults, sizeof(root));
}

static void accepted(const char *text, struct root *root)
{
	struct mrc_ctl_error error;

	*root = defaults;
	if (decode(text, root, &error) != MRC_OK)
		fail_msg("%s", error.text);
}

static const char full[] =
	"{\"on\":true,\"depth\":3,\"mtu\":4096,\"period\":\"1.5us\",\"rate\":\"400G\","
	"\"size\":\"64KiB\",\"key\":\"0xFFFFFFFFFFFFFFFF\",\"loss\":\"1%\",\"gain\":-2.5,"
	"\"colour\":\"green\",\"leaf\":{\"name\":\"abcdefg\",\"mac\":\"02:00:00:00:00:0f\","
	"\"ip\":\"10.0.0.1\"},\"leaves\":[{\"name\":\"a\"},{\"name\":\"b\",\"port\":65535,"
	"\"ip\":\"fd00::1\"}],\"ports\":[1,2]}";

static void check_full(const struct root *r)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 15};
	const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1};

	assert_true(r->on && r->has_depth);
	assert_int_equal(r->depth, 3);
	assert_int_equal(r->mtu, 4096);
	assert_int_equal(r->period_ns, 1500);
	assert_true(r->rate_bps == 400000000000);
	assert_int_equal(r->size, 65536);
	assert_true(r->key == UINT64_MAX);
	assert_true(fabs(r->loss - 0.01) < 1e-15);
	assert_true(r->gain == -2.5);
	assert_int_equal(r->colour, GREEN);
	assert_string_equal(r->leaf.name, "abcdefg");
	assert_memory_equal(r->leaf.mac, mac, 6);
	assert_memory_equal(r->leaf.ip, v4, 16);
	assert_int_equal(r->leaf.port, 0);
	assert_int_equal(r->nb_leaves, 2);
	assert_int_equal(r->leaves[0].port, 4791);
	assert_int_equal(r->leaves[1].port, 65535);
	assert_int_equal(r->leaves[1].ip[0], 0xFD);
	assert_int_equal(r->nb_ports, 2);
	assert_int_equal(r->ports[1], 2);
}

static void test_all_types(void **state)
{
	struct root root;

	accepted(full, &root);
	check_full(&root);
	accepted("{}", &root);
	assert_memory_equal(&root, &defaults, sizeof(root));
	accepted("{\"mtu\":256}", &root);
	assert_int_equal(root.mtu, 256);
	assert_int_equal(root.period_ns, 1000);
	assert_false(root.has_depth);
}

static void test_dump_reads_back(void **state)
{
	struct root root, again;
	struct mrc_ctl_error error;
	json_t *json;

	accepted(full, &root);
	json = mrc_ctl_dump(&root_table, &root);
	assert_non_null(json);
	/* The single leaf was given no port and its row demands one: the dump says 0. */
	json_object_del(json_object_get(json, "leaf"), "port");
	again = defaults;
	if (mrc_ctl_decode("F", json, &root_table, &again, &error) != MRC_OK)
		fail_msg("%s", error.text);
	json_decref(json);
	check_full(&again);
}

static void test_unknown_keys(void **state)
{
	refused("{\"mtv\":1}", "F: unknown key \"mtv\"; did you mean \"mtu\"?");
	refused("{\"leaf\":{\"name\":\"a\",\"prot\":1}}",
		"F: leaf: unknown key \"prot\"; did you mean \"port\"?");
	refused("{\"leaves\":[{\"name\":\"a\"},{\"Name\":\"a\"}]}",
		"F: leaves[1]: unknown key \"Name\"; did you mean \"name\"?");
	refused("{\"leaf\":{\"zzzzzzzzzzz\":1}}",
		"F: leaf: unknown key \"zzzzzzzzzzz\"; known keys: name, port, mac, ip");
	refused_like("{\"a\\nb\\u001b\":1}", "unknown key \"a\\nb\\u001B\"");
	refused_like("{\"a\x7f\":1}", "unknown key \"a \"");
	refused_like("{\"\":1}", "unknown key \"\"; known keys: on, depth");
}

/* The list of known keys is cut where the next one does not fit: never longer than 159 characters,
 * whatever their lengths. */
static void test_long_lists_of_keys(void **state)
{
	for (size_t len = 1; len <= 60; len++) {
		for (size_t first = 1; first <= 60; first++) {
			struct mrc_ctl_field fields[41] = {{0}};
			const struct mrc_ctl_table table = {fields, sizeof(uint32_t), NULL};
			char keys[40][64];
			struct mrc_ctl_error error;
			const char *list;
			uint32_t obj = 0;
			json_t *json = json_pack("{s:i}", "0123456789", 1);

			for (size_t i = 0; i < 40; i++) {
				snprintf(keys[i], sizeof(keys[i]), "%0*d", (int)(i ? len : first),
					0);
				fields[i] = (struct mrc_ctl_field){.key = keys[i],
					.type = MRC_CTL_TYPE_UINT,
					.size = sizeof(obj)};
				memset(keys[i], 'x', strlen(keys[i]));
			}
			assert_int_not_equal(
				mrc_ctl_decode("F", json, &table, &obj, &error), MRC_OK);
			json_decref(json);
			list = strstr(error.text, "known keys: ");
			assert_non_null(list);
			list += strlen("known keys: ");
			assert_true(strlen(list) < 160);
			if (first + 39 * (len + 2) >= 160)
				assert_string_equal(list + strlen(list) - 5, ", ...");
		}
	}
}

/* Every key of every table, misspelt in turn in each position, is refused and its right spelling
 * named. */
static void test_each_key_misspelt(void **state)
{
	for (const struct mrc_ctl_field *f = root_fields; f->key != NULL; f++) {
		for (size_t i = 0; i < strlen(f->key); i++) {
			char word[32], text[64], want[64];

			snprintf(word, sizeof(word), "%s", f->key);
			word[i] = '#';
			snprintf(text, sizeof(text), "{\"%s\":1}", word);
			snprintf(want, sizeof(want), "unknown key \"%s\"", word);
			refused_like(text, want);
			refused_like(text, f->key);
		}
	}
}

static void test_wrong_types(void **state)
{
	static const char *const values[] = {
		"null", "true", "1", "-1", "1.0", "1e3", "\"x\"", "[]", "{}", "[1]", "{\"x\":1}"};
	static const struct {
		const char *key, *good;
	} keys[] = {{"on", " 1"}, {"mtu", ""}, {"period", ""}, {"rate", " 2"}, {"size", " 2"},
		{"key", " 2"}, {"loss", " 2 4 "}, {"gain", " 2 3 4 5"}, {"colour", ""},
		{"leaf", ""}, {"leaves", " 7"}, {"ports", " 9"}};

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			char text[64], path[32], index[8];

			snprintf(text, sizeof(text), "{\"%s\":%s}", keys[k].key, values[v]);
			snprintf(path, sizeof(path), "F: %s", keys[k].key);
			snprintf(index, sizeof(index), " %zu", v);
			if (strstr(keys[k].good, index) != NULL) {
				struct root root;

				accepted(text, &root);
			} else {
				refused_like(text, path);
			}
		}
	}
	refused("{\"on\":1}", "F: on: 1: must be true or false");
	refused("{\"mtu\":\"4096\"}", "F: mtu: \"4096\": must be a whole number without fraction, "
				      "exponent or quotes");
	refused("{\"mtu\":1500.0}", "F: mtu: 1500.0: must be a whole number without fraction, "
				    "exponent or quotes");
	refused("{\"leaf\":7}", "F: leaf: 7: must be an object {...}");
	refused("{\"ports\":{}}", "F: ports: {...}: must be an array [...]");
	refused("[]", "F: [...]: must be an object {...}");
}

static void test_ranges(void **state)
{
	struct root root;

	refused("{\"mtu\":255}", "F: mtu: 255: out of range; must be 256 to 9000");
	refused("{\"mtu\":9001}", "F: mtu: 9001: out of range; must be 256 to 9000");
	refused("{\"mtu\":-1}", "F: mtu: -1: negative; must be 256 to 9000");
	refused("{\"depth\":256}", "F: depth: 256: out of range; must be 0 to 255");
	refused("{\"loss\":1.5}", "F: loss: 1.5: out of range; must be 0 to 1");
	refused("{\"loss\":\"101%\"}", "F: loss: \"101%\": out of range; must be 0 to 1");
	refused("{\"ports\":[]}", "F: ports: [...]: 0 elements; must be 1 to 3");
	refused("{\"ports\":[1,2,3,4]}", "F: ports: [...]: 4 elements; must be 1 to 3");
	refused("{\"ports\":[1,0]}", "F: ports[1]: 0: out of range; must be 1 to 65535");
	refused("{\"leaf\":{\"name\":\"abcdefgh\"}}",
		"F: leaf.name: \"abcdefgh\": 8 bytes long; at most 7 fit");
	refused("{\"leaf\":{\"name\":\"\"}}",
		"F: leaf.name: \"\": too short; at least 1 characters");
	refused("{\"leaf\":{\"name\":\"a\\tb\"}}",
		"F: leaf.name: \"a\\tb\": control characters are not allowed");
	accepted("{\"depth\":255}", &root);
	assert_int_equal(root.depth, 255);
	refused("{\"mtu\":-0}", "F: mtu: 0: out of range; must be 256 to 9000");
}

static void test_numbers(void **state)
{
	struct root root;

	refused_like("{\"gain\":1e400}", "F:1:");
	refused_like("{\"gain\":1e400}", "numbers end at");
	refused_like("{\"rate\":18446744073709551615}", "F:1:");
	refused_like("{\"rate\":18446744073709551616}", "numbers end at");
	refused_like("{\"gain\":NaN}", "F:1:");
	refused_like("{\"gain\":Infinity}", "F:1:");
	refused_like("{\"mtu\":0x100}", "F:1:");
	refused_like("{\"mtu\":0256}", "F:1:");
	refused("{\"key\":\"0x10000000000000000\"}", "F: key: \"0x10000000000000000\": too large; "
						     "at most 18446744073709551615");
	accepted("{\"key\":\"18446744073709551615\"}", &root);
	assert_true(root.key == UINT64_MAX);
	accepted("{\"rate\":9223372036854775807}", &root);
	assert_true(root.rate_bps == INT64_MAX);
	accepted("{\"depth\":-0}", &root);
	assert_int_equal(root.depth, 0);
	accepted("{\"gain\":4.9e-324}", &root);
	assert_true(root.gain > 0);
}

static void test_words(void **state)
{
	refused("{\"colour\":\"gren\"}", "F: colour: \"gren\": did you mean \"green\"? Must be one "
					 "of: red, green");
	refused("{\"colour\":\"mauve-ish\"}",
		"F: colour: \"mauve-ish\": must be one of: red, green");
	refused("{\"leaf\":{\"port\":1}}", "F: leaf: key \"name\" is missing; add it");
	refused("{\"leaf\":{\"name\":\"a\",\"mac\":\"02:00:00:00:00\"}}",
		"F: leaf.mac: \"02:00:00:00:00\": must be a link address like "
		"\"02:00:00:00:00:01\"");
	refused("{\"leaf\":{\"name\":\"a\",\"mac\":\"02:00:00:00:00:0g\"}}",
		"F: leaf.mac: \"02:00:00:00:00:0g\": must be a link address like "
		"\"02:00:00:00:00:01\"");
	refused_like("{\"leaf\":{\"name\":\"a\",\"mac\":\"01:00:00:00:00:00\"}}", "group address");
	refused_like("{\"leaf\":{\"name\":\"a\",\"ip\":\"10.0.0.256\"}}", "must be an IP address");
	refused("{\"on\":true,\"mtu\":666}", "F: mtu: 666 does not go with \"on\"");
}

static void test_units(void **state)
{
	static const struct {
		enum mrc_ctl_unit unit;
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
		{MRC_CTL_UNIT_TIME, "7", MRC_OK, 7},
		{MRC_CTL_UNIT_TIME, "7ns", MRC_OK, 7},
		{MRC_CTL_UNIT_TIME, "10 us", MRC_OK, 10000},
		{MRC_CTL_UNIT_TIME, "0.5us", MRC_OK, 500},
		{MRC_CTL_UNIT_TIME, "0.0005us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1.000000001s", MRC_OK, 1000000001},
		{MRC_CTL_UNIT_TIME, "3min", MRC_OK, 180000000000},
		{MRC_CTL_UNIT_TIME, "1h", MRC_OK, 3600000000000},
		{MRC_CTL_UNIT_TIME, "5124096h", MRC_ERR_TOOBIG, 0},
		{MRC_CTL_UNIT_TIME, "99999999999999999999", MRC_ERR_TOOBIG, 0},
		{MRC_CTL_UNIT_TIME, "", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1.us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, ".5us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "-1us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "+1us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, " 1us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1us ", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1  us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1e3us", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_TIME, "1US", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_RATE, "400G", MRC_OK, 400000000000},
		{MRC_CTL_UNIT_RATE, "2.5Gbps", MRC_OK, 2500000000},
		{MRC_CTL_UNIT_RATE, "100 Mbit/s", MRC_OK, 100000000},
		{MRC_CTL_UNIT_RATE, "1GiB", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_SIZE, "64KiB", MRC_OK, 65536},
		{MRC_CTL_UNIT_SIZE, "1MB", MRC_OK, 1000000},
		{MRC_CTL_UNIT_SIZE, "64K", MRC_ERR_INVAL, 0}, /* 1000 or 1024? refused */
		{MRC_CTL_UNIT_SIZE, "16777215.99999TiB", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_SIZE, "16777216TiB", MRC_ERR_TOOBIG, 0},
		{MRC_CTL_UNIT_HEX, "0xfF", MRC_OK, 255},
		{MRC_CTL_UNIT_HEX, "255", MRC_OK, 255},
		{MRC_CTL_UNIT_HEX, "0x", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_HEX, "ff", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_HEX, "1 ", MRC_ERR_INVAL, 0},
		{MRC_CTL_UNIT_NONE, "1", MRC_ERR_INVAL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 42;

		assert_int_equal(
			mrc_ctl_unit_parse(rows[i].unit, rows[i].text, &value), rows[i].rc);
		assert_true(value == (rows[i].rc == MRC_OK ? rows[i].value : 42));
	}
	refused_like("{\"period\":\"99ns\"}", "must be 100 to 10000000000");
	refused_like("{\"period\":\"1 week\"}", "must be nanoseconds, or a string like \"10us\"");
	refused_like("{\"loss\":\"1\"}", "must be a number, or a string like \"1%\"");
	refused_like("{\"loss\":\"inf%\"}", "must be a number, or a string like \"1%\"");
	refused_like("{\"loss\":\"0x1%\"}", "must be a number, or a string like \"1%\"");
}

static void test_syntax(void **state)
{
	struct root root = defaults;
	struct mrc_ctl_error error;

	assert_int_equal(
		decode("{\n  \"mtu\": 1500,\n  \"on\" true\n}", &root, &error), MRC_ERR_INVAL);
	assert_int_equal(error.line, 3);
	assert_true(error.column >= 7 && error.column <= 11);
	assert_memory_equal(error.text, "F:3:", 4);
	refused_like("{\"mtu\":1500,\"mtu\":1501}", "duplicate");
	refused_like("{\"mtu\":1500} {}", "nothing behind it");
	refused_like("{\"leaf\":{\"name\":\"a\\u0000\"}}", "NUL");
	refused_like("{\"leaf\":{\"name\":\"\\ud800\"}}", "F:1:");
	refused_like("{\"leaf\":{\"name\":\"\xff\"}}", "F:1:");
	refused_like("", "F:1:");
	refused_like("{\"a\nb\":1}", "F:");
}

/* The text cut at every position is refused, and no prefix of it is applied. */
static void test_cut_everywhere(void **state)
{
	for (size_t len = 0; len < sizeof(full) - 1; len++) {
		struct root root = defaults;
		struct mrc_ctl_error error;
		char *copy = malloc(len + 1); /* exact size: a sanitizer sees reading behind it */

		memcpy(copy, full, len);
		assert_int_equal(mrc_ctl_decode_text("F", copy, len, &root_table, &root, &error),
			MRC_ERR_INVAL);
		assert_int_equal(error.line, 1);
		assert_memory_equal(&root, &defaults, sizeof(root));
		free(copy);
	}
}

static void test_nesting(void **state)
{
	struct mrc_ctl_error error;
	char text[256];
	json_t *json;

	for (size_t depth = 31; depth <= 33; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		json = mrc_ctl_parse("F", text, 2 * depth, 1000, &error);
		if (depth <= MRC_CTL_DEPTH_MAX) {
			assert_non_null(json);
			json_decref(json);
		} else {
			assert_null(json);
			assert_string_equal(error.text, "F:1:33: more than 32 levels of nesting");
		}
	}
	/* Brackets inside strings do not nest. */
	memset(text, '[', sizeof(text));
	text[0] = '[';
	text[1] = '"';
	text[2] = '\\';
	text[3] = '"';
	memcpy(text + 200, "\"]", 2);
	json = mrc_ctl_parse("F", text, 202, 1000, &error);
	assert_non_null(json);
	json_decref(json);
}

static void test_size_limits(void **state)
{
	const size_t nb = 100000;
	char *text = malloc(2 * nb);
	struct mrc_ctl_error error;
	json_t *json;

	memset(text, '[', nb);
	assert_null(mrc_ctl_parse("F", text, nb, nb, &error));
	assert_string_equal(error.text, "F:1:33: more than 32 levels of nesting");
	memset(text, '{', nb);
	assert_null(mrc_ctl_parse("F", text, nb, nb, &error));
	memset(text, ' ', nb);
	memcpy(text, "[]", 2);
	assert_null(mrc_ctl_parse("F", text, nb + 1, nb, &error));
	assert_string_equal(error.text, "F: longer than the limit of 100000 bytes");
	json = mrc_ctl_parse("F", text, nb, nb, &error);
	assert_non_null(json);
	json_decref(json);
	text[0] = '[';
	for (size_t i = 0; i < nb; i++)
		memcpy(text + 1 + 2 * i, i + 1 < nb ? "1," : "1", i + 1 < nb ? 2 : 1);
	assert_null(mrc_ctl_parse("F", text, 2 * nb - 1, 2 * nb, &error));
	assert_string_equal(error.text, "F:1:131073: more than 65536 values");
	free(text);
}

/* Random bytes out of JSON's alphabet: always a verdict, never a change without MRC_OK. */
static void test_random_text(void **state)
{
	static const char *const words[] = {"{", "}", "[", "]", ",", ":", "\"mtu\"", "\"leaf\"",
		"\"name\"", "\"leaves\"", "\"ports\"", "1500", "1", "\"a\"", "true", "null", "1e9",
		"\"on\"", "\\", "\"", "\xc3", " ", "\n", "-"};
	struct test_env te;

	test_env_init(&te, 1);
	for (int run = 0; run < 20000; run++) {
		char text[256];
		size_t len = 0;
		uint32_t nb = 1 + test_random_below(&te, 20);
		struct root root = defaults;
		struct mrc_ctl_error error;

		for (uint32_t i = 0; i < nb; i++)
			len += (size_t)sprintf(text + len, "%s",
				words[test_random_below(&te, sizeof(words) / sizeof(words[0]))]);
		if (mrc_ctl_decode_text("F", text, len, &root_table, &root, &error) == MRC_OK)
			continue;
		assert_memory_equal(&root, &defaults, sizeof(root));
		assert_null(strchr(error.text, '\n'));
		assert_memory_equal(error.text, "F:", 2);
	}
}

static void test_file(void **state)
{
	struct root root = defaults;
	struct mrc_ctl_error error;
	char path[] = "/tmp/test_ctl_decode_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, full, sizeof(full) - 1), sizeof(full) - 1);
	close(fd);
	assert_int_equal(mrc_ctl_decode_file(path, &root_table, &root, &error), MRC_OK);
	check_full(&root);
	unlink(path);
	root = defaults;
	assert_int_equal(mrc_ctl_decode_file(path, &root_table, &root, &error), MRC_ERR_INVAL);
	assert_non_null(strstr(error.text, "cannot be read: No such file"));
	assert_int_equal(mrc_ctl_decode_file("/", &root_table, &root, &error), MRC_ERR_INVAL);
	assert_non_null(strstr(error.text, "cannot be read: Is a directory"));
	assert_memory_equal(&root, &defaults, sizeof(root));
}

/* A value too long for the line is cut, and the line stays one line. */
static void test_long_values(void **state)
{
	char text[4096];
	size_t len = (size_t)sprintf(text, "{\"leaf\":{\"name\":\"");

	memset(text + len, 'x', 3000);
	strcpy(text + len + 3000, "\"}}");
	refused_like(text, "xxx...: 3000 bytes long; at most 7 fit");
	len = (size_t)sprintf(text, "{\"");
	memset(text + len, 'y', 3000);
	strcpy(text + len + 3000, "\":1}");
	refused_like(text, "yyy...; known keys: on, depth");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_dump_reads_back),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_long_lists_of_keys),
		cmocka_unit_test(test_each_key_misspelt),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_size_limits),
		cmocka_unit_test(test_random_text),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
