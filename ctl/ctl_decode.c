/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_decode.h"
#include "ctl_private.h"

enum {
	PATH_LEN = 256,
	VALUE_LEN = 64, /* of a value as an error line shows it */
	LIST_LEN = 160, /* of a list of known words */
};

struct mrc_ctl_ctx {
	const char *source;
	struct mrc_ctl_error *error; /* the first failure writes it */
	char path[PATH_LEN];         /* of the value being decoded, cut at its end if too long */
	size_t path_len;
	const json_t *object; /* that a table's check looks at */
	bool failed;
};

/* ---- path and errors */

static size_t path_push_key(struct mrc_ctl_ctx *ctx, const char *key)
{
	size_t old = ctx->path_len;
	int n = snprintf(ctx->path + old, PATH_LEN - old, "%s%s", old > 0 ? "." : "", key);

	ctx->path_len = old + (size_t)n < PATH_LEN ? old + (size_t)n : PATH_LEN - 1;
	return old;
}

size_t mrc_ctl_path_index(struct mrc_ctl_ctx *ctx, size_t index)
{
	size_t old = ctx->path_len;
	int n = snprintf(ctx->path + old, PATH_LEN - old, "[%zu]", index);

	ctx->path_len = old + (size_t)n < PATH_LEN ? old + (size_t)n : PATH_LEN - 1;
	return old;
}

void mrc_ctl_path_pop(struct mrc_ctl_ctx *ctx, size_t old)
{
	ctx->path_len = old;
	ctx->path[old] = '\0';
}

/* A value in at most VALUE_LEN-1 printable characters. */
static void value_show(const json_t *value, char *out)
{
	char *text;

	if (json_is_object(value) || json_is_array(value)) {
		snprintf(out, VALUE_LEN, "%s", json_is_object(value) ? "{...}" : "[...]");
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	if (text == NULL) {
		snprintf(out, VALUE_LEN, "?");
		return;
	}
	if (strlen(text) < VALUE_LEN)
		snprintf(out, VALUE_LEN, "%s", text);
	else
		snprintf(out, VALUE_LEN, "%.*s...", VALUE_LEN - 4, text);
	free(text);
}

static int fail_va(
	struct mrc_ctl_ctx *ctx, const char *key, const char *shown, const char *fmt, va_list args)
{
	char *out = ctx->error->text;
	size_t room = sizeof(ctx->error->text);
	const char *dot = ctx->path_len > 0 && key[0] != '\0' ? "." : "";
	int n;

	if (ctx->failed)
		return MRC_ERR_INVAL;
	ctx->failed = true;
	ctx->error->line = 0;
	ctx->error->column = 0;
	n = snprintf(out, room, "%s: %s%s%s%s%s%s", ctx->source, ctx->path, dot, key,
		ctx->path_len > 0 || key[0] != '\0' ? ": " : "", shown,
		shown[0] != '\0' ? ": " : "");
	if (n > 0 && (size_t)n < room)
		vsnprintf(out + n, room - (size_t)n, fmt, args);
	mrc_ctl_flatten(out);
	return MRC_ERR_INVAL;
}

static int fail(struct mrc_ctl_ctx *ctx, const char *key, const char *shown, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int fail(struct mrc_ctl_ctx *ctx, const char *key, const char *shown, const char *fmt, ...)
{
	va_list args;
	int rc;

	va_start(args, fmt);
	rc = fail_va(ctx, key, shown, fmt, args);
	va_end(args);
	return rc;
}

int mrc_ctl_fail(struct mrc_ctl_ctx *ctx, const json_t *value, const char *fmt, ...)
{
	char shown[VALUE_LEN] = "";
	va_list args;
	int rc;

	if (value != NULL)
		value_show(value, shown);
	va_start(args, fmt);
	rc = fail_va(ctx, "", shown, fmt, args);
	va_end(args);
	return rc;
}

/* What a path like "planes[1].mtu" leads to; NULL: nothing. */
static const json_t *value_at(const json_t *value, const char *path)
{
	char key[64];
	size_t len;

	while (value != NULL && *path != '\0') {
		if (*path == '[') {
			char *end;
			size_t index = strtoul(path + 1, &end, 10);

			value = *end == ']' ? json_array_get(value, index) : NULL;
			path = end + (*end == ']');
		} else {
			len = strcspn(path, ".[");
			if (len >= sizeof(key))
				return NULL;
			memcpy(key, path, len);
			key[len] = '\0';
			value = json_object_get(value, key);
			path += len;
		}
		path += *path == '.';
	}
	return value;
}

int mrc_ctl_fail_key(struct mrc_ctl_ctx *ctx, const char *key, const char *fmt, ...)
{
	const json_t *value = value_at(ctx->object, key);
	char text[MRC_CTL_ERROR_LEN], shown[VALUE_LEN] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (value != NULL && !json_is_object(value) && !json_is_array(value))
		value_show(value, shown);
	/* Many a sentence has the value in it. */
	return fail(ctx, key, strstr(text, shown) != NULL ? "" : shown, "%s", text);
}

/* ---- lists of known words */

static const char *field_key(const void *list, uint32_t i)
{
	return ((const struct mrc_ctl_field *)list)[i].key;
}

static const char *name_of(const void *list, uint32_t i)
{
	return ((const struct mrc_ctl_name *)list)[i].name;
}

/* Every word that is shown leaves room for the dots. */
static void words_show(const char *(*get)(const void *, uint32_t), const void *list, char *out)
{
	static const char dots[] = ", ...";
	size_t used = 0;
	const char *word;

	out[0] = '\0';
	for (uint32_t i = 0; (word = get(list, i)) != NULL; i++) {
		size_t need = strlen(word) + 2;

		if (used + need + sizeof(dots) > LIST_LEN) {
			memcpy(out + used, dots, sizeof(dots));
			return;
		}
		used += (size_t)sprintf(out + used, "%s%s", used > 0 ? ", " : "", word);
	}
}

/* ---- numbers */

uint64_t mrc_ctl_uint_get(const void *member, uint32_t size)
{
	uint64_t v64 = 0;
	uint32_t v32;
	uint16_t v16;

	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		memcpy(&v16, member, 2);
		return v16;
	case 4:
		memcpy(&v32, member, 4);
		return v32;
	case 8:
		memcpy(&v64, member, 8);
	}
	return v64;
}

void mrc_ctl_uint_put(void *member, uint32_t size, uint64_t value)
{
	uint8_t v8 = (uint8_t)value;
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;

	switch (size) {
	case 1:
		memcpy(member, &v8, 1);
		break;
	case 2:
		memcpy(member, &v16, 2);
		break;
	case 4:
		memcpy(member, &v32, 4);
		break;
	case 8:
		memcpy(member, &value, 8);
		break;
	}
}

static uint64_t uint_limit(const struct mrc_ctl_field *field)
{
	uint64_t holds = field->size >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * field->size)) - 1;

	return field->max != 0 && field->max < holds ? field->max : holds;
}

static int decode_uint(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	uint64_t limit = uint_limit(field), number = 0;
	int rc = MRC_OK;

	if (json_is_string(value) && field->unit != MRC_CTL_UNIT_NONE) {
		rc = mrc_ctl_unit_parse(field->unit, json_string_value(value), &number);
		if (rc == MRC_ERR_TOOBIG)
			return mrc_ctl_fail(
				ctx, value, "too large; at most %llu", (unsigned long long)limit);
	} else if (json_is_integer(value)) {
		if (json_integer_value(value) < 0)
			return mrc_ctl_fail(ctx, value, "negative; must be %llu to %llu",
				(unsigned long long)field->min, (unsigned long long)limit);
		number = (uint64_t)json_integer_value(value);
	} else {
		rc = MRC_ERR_INVAL;
	}
	if (rc != MRC_OK)
		return mrc_ctl_fail(ctx, value, "must be %s", mrc_ctl_unit_hint(field->unit));
	if (number < field->min || number > limit)
		return mrc_ctl_fail(ctx, value, "out of range; must be %llu to %llu",
			(unsigned long long)field->min, (unsigned long long)limit);
	mrc_ctl_uint_put(member, field->size, number);
	return MRC_OK;
}

static bool ratio_parse(const char *text, double *number_out)
{
	char *end;
	double number;

	if ((text[0] < '0' || text[0] > '9') || strpbrk(text, "xXpPeE") != NULL)
		return false;
	number = strtod(text, &end);
	if (strcmp(end, "%") != 0)
		return false;
	*number_out = number / 100;
	return true;
}

static int decode_double(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	double number;

	if (json_is_number(value)) {
		number = json_number_value(value);
	} else if (!json_is_string(value) || field->unit != MRC_CTL_UNIT_RATIO ||
		   !ratio_parse(json_string_value(value), &number)) {
		return mrc_ctl_fail(ctx, value, "must be %s",
			field->unit == MRC_CTL_UNIT_RATIO ? mrc_ctl_unit_hint(field->unit)
							  : "a number without quotes");
	}
	if (!isfinite(number))
		return mrc_ctl_fail(ctx, value, "must be a finite number");
	if ((field->dmin != 0 || field->dmax != 0) &&
		!(number >= field->dmin && number <= field->dmax))
		return mrc_ctl_fail(ctx, value, "out of range; must be %.15g to %.15g", field->dmin,
			field->dmax);
	memcpy(member, &number, sizeof(number));
	return MRC_OK;
}

/* ---- words */

static int decode_bool(struct mrc_ctl_ctx *ctx, const json_t *value, void *member)
{
	bool on = json_is_true(value);

	if (!json_is_boolean(value))
		return mrc_ctl_fail(ctx, value, "must be true or false");
	memcpy(member, &on, sizeof(on));
	return MRC_OK;
}

static int decode_string(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	const char *text = json_string_value(value);
	size_t len;

	if (text == NULL)
		return mrc_ctl_fail(ctx, value, "must be a string");
	len = strlen(text);
	if (len >= field->size)
		return mrc_ctl_fail(ctx, value, "%zu bytes long; at most %u fit", len,
			(unsigned)field->size - 1);
	if (len < field->min)
		return mrc_ctl_fail(
			ctx, value, "too short; at least %u characters", (unsigned)field->min);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
			return mrc_ctl_fail(ctx, value, "control characters are not allowed");
	memset(member, 0, field->size);
	memcpy(member, text, len);
	return MRC_OK;
}

static int decode_enum(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	const char *text = json_string_value(value), *near;
	char list[LIST_LEN];

	words_show(name_of, field->names, list);
	if (text == NULL)
		return mrc_ctl_fail(ctx, value, "must be a string, one of: %s", list);
	for (const struct mrc_ctl_name *n = field->names; n->name != NULL; n++) {
		if (strcmp(n->name, text) == 0) {
			mrc_ctl_uint_put(member, field->size, n->value);
			return MRC_OK;
		}
	}
	near = mrc_ctl_nearest(text, name_of, field->names);
	if (near != NULL)
		return mrc_ctl_fail(
			ctx, value, "did you mean \"%s\"? Must be one of: %s", near, list);
	return mrc_ctl_fail(ctx, value, "must be one of: %s", list);
}

/* ---- structures */

static int decode_array(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, uint8_t *obj)
{
	uint8_t *elems = obj + field->offset;
	size_t nb = json_array_size(value);
	uint32_t count = (uint32_t)nb;

	if (!json_is_array(value))
		return mrc_ctl_fail(ctx, value, "must be an array [...]");
	if (nb < field->min || nb > field->max)
		return mrc_ctl_fail(ctx, value, "%zu elements; must be %llu to %llu", nb,
			(unsigned long long)field->min, (unsigned long long)field->max);
	memset(elems, 0, (size_t)field->size * field->max);
	for (size_t i = 0; i < nb; i++) {
		uint8_t *elem = elems + i * field->size;
		size_t old = mrc_ctl_path_index(ctx, i);

		if (field->init != NULL)
			field->init(elem);
		if (mrc_ctl_value(ctx, field->elem, json_array_get(value, i), elem) != MRC_OK)
			return MRC_ERR_INVAL;
		mrc_ctl_path_pop(ctx, old);
	}
	memcpy(obj + field->count_offset, &count, sizeof(count));
	return MRC_OK;
}

int mrc_ctl_value(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field, const json_t *value,
	void *member)
{
	switch (field->type) {
	case MRC_CTL_TYPE_BOOL:
		return decode_bool(ctx, value, member);
	case MRC_CTL_TYPE_UINT:
		return decode_uint(ctx, field, value, member);
	case MRC_CTL_TYPE_DOUBLE:
		return decode_double(ctx, field, value, member);
	case MRC_CTL_TYPE_STRING:
		return decode_string(ctx, field, value, member);
	case MRC_CTL_TYPE_ENUM:
		return decode_enum(ctx, field, value, member);
	case MRC_CTL_TYPE_OBJECT:
		return mrc_ctl_object(ctx, field->table, value, member);
	case MRC_CTL_TYPE_ARRAY:
		return decode_array(ctx, field, value, (uint8_t *)member - field->offset);
	case MRC_CTL_TYPE_CUSTOM:
		return field->decode(ctx, field, value, member);
	}
	return mrc_ctl_fail(ctx, value, "the table's row has no such type");
}

static const struct mrc_ctl_field *field_find(const struct mrc_ctl_table *table, const char *key)
{
	for (const struct mrc_ctl_field *f = table->fields; f->key != NULL; f++)
		if (strcmp(f->key, key) == 0)
			return f;
	return NULL;
}

static int unknown_key(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_table *table, const char *key)
{
	const char *near = mrc_ctl_nearest(key, field_key, table->fields);
	char list[LIST_LEN], shown[VALUE_LEN] = "?";
	json_t *word = json_string(key);

	if (word != NULL)
		value_show(word, shown);
	json_decref(word);
	if (near != NULL)
		return mrc_ctl_fail(ctx, NULL, "unknown key %s; did you mean \"%s\"?", shown, near);
	words_show(field_key, table->fields, list);
	return mrc_ctl_fail(ctx, NULL, "unknown key %s; known keys: %s", shown, list);
}

static int field_decode(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, uint8_t *obj)
{
	size_t old = path_push_key(ctx, field->key);
	const bool present = true;
	int rc = mrc_ctl_value(ctx, field, value, obj + field->offset);

	mrc_ctl_path_pop(ctx, old);
	if (rc == MRC_OK && (field->flags & MRC_CTL_PRESENT) != 0)
		memcpy(obj + field->present_offset, &present, sizeof(present));
	return rc;
}

int mrc_ctl_object(
	struct mrc_ctl_ctx *ctx, const struct mrc_ctl_table *table, const json_t *value, void *obj)
{
	/* The parser's object is not written to; its iterator only lacks a const form. */
	json_t *object = (json_t *)(uintptr_t)value;
	const char *key;
	json_t *member;

	if (!json_is_object(value))
		return mrc_ctl_fail(ctx, value, "must be an object {...}");
	json_object_foreach(object, key, member)
	{
		const struct mrc_ctl_field *field = field_find(table, key);

		if (field == NULL)
			return unknown_key(ctx, table, key);
		if (field_decode(ctx, field, member, obj) != MRC_OK)
			return MRC_ERR_INVAL;
	}
	for (const struct mrc_ctl_field *f = table->fields; f->key != NULL; f++)
		if ((f->flags & MRC_CTL_REQUIRED) != 0 && json_object_get(value, f->key) == NULL)
			return mrc_ctl_fail(ctx, NULL, "key \"%s\" is missing; add it", f->key);
	if (table->check == NULL)
		return MRC_OK;
	ctx->object = value;
	return table->check(ctx, obj);
}

int mrc_ctl_decode(const char *source, const json_t *value, const struct mrc_ctl_table *table,
	void *obj, struct mrc_ctl_error *error_out)
{
	struct mrc_ctl_error error = {.line = 0};
	struct mrc_ctl_ctx ctx = {.source = source, .error = &error};
	void *scratch = malloc(table->size);
	int rc = MRC_ERR_NOMEM;

	if (scratch != NULL) {
		memcpy(scratch, obj, table->size);
		rc = mrc_ctl_object(&ctx, table, value, scratch);
	} else {
		snprintf(error.text, sizeof(error.text), "%s: out of memory", source);
	}
	if (rc == MRC_OK)
		memcpy(obj, scratch, table->size);
	else
		*error_out = error;
	free(scratch);
	return rc;
}
