/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text to JSON values. Limits are enforced on the text, before the parser builds anything or
 * recurses.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_decode.h"
#include "ctl_private.h"

/* Position and nesting while the text is looked over. */
struct scan {
	uint32_t line, column;
	uint32_t depth, nb_values;
	bool in_string, escaped;
};

static void scan_char(struct scan *s, char c)
{
	s->column++;
	if (s->in_string) {
		if (s->escaped)
			s->escaped = false;
		else if (c == '\\')
			s->escaped = true;
		else if (c == '"')
			s->in_string = false;
	} else if (c == '"') {
		s->in_string = true;
	} else if (c == '{' || c == '[') {
		s->depth++;
		s->nb_values++;
	} else if (c == '}' || c == ']') {
		s->depth -= s->depth > 0;
	} else if (c == ',') {
		s->nb_values++;
	}
	if (c == '\n') {
		s->line++;
		s->column = 0;
	}
}

static bool limits_ok(const char *source, const char *text, size_t len, struct mrc_ctl_error *error)
{
	struct scan s = {.line = 1};
	const char *what = NULL;
	uint32_t limit = 0;

	for (size_t i = 0; i < len && what == NULL; i++) {
		scan_char(&s, text[i]);
		if (s.depth > MRC_CTL_DEPTH_MAX) {
			what = "levels of nesting";
			limit = MRC_CTL_DEPTH_MAX;
		} else if (s.nb_values > MRC_CTL_VALUES_MAX) {
			what = "values";
			limit = MRC_CTL_VALUES_MAX;
		}
	}
	if (what == NULL)
		return true;
	error->line = s.line;
	error->column = s.column;
	error->limit = true;
	snprintf(error->text, sizeof(error->text), "%s:%u:%u: more than %u %s", source, s.line,
		s.column, limit, what);
	return false;
}

/* What to do about a parser's complaint, where that is not plain from the complaint. */
static const char *remedy(enum json_error_code code)
{
	switch ((int)code) {
	case json_error_numeric_overflow:
		return " (numbers end at 2^63-1 and 1e308; where the key allows it, write a "
		       "string)";
	case json_error_duplicate_key:
		return " (keep one of them)";
	case json_error_premature_end_of_input:
		return " (a bracket or quote is not closed)";
	case json_error_null_byte_in_key:
	case json_error_null_character:
		return " (NUL is not allowed in strings)";
	case json_error_end_of_input_expected:
		return " (one JSON value, nothing behind it)";
	default:
		return "";
	}
}

/* The string that ends at `end`, quotes included; the parser quotes only short ones itself. */
static int token_before(const char *text, size_t end, const char **begin_out)
{
	size_t begin = end > 0 ? end - 1 : 0;

	while (begin > 0 && (text[begin - 1] != '"' || (begin > 1 && text[begin - 2] == '\\')))
		begin--;
	begin -= begin > 0;
	*begin_out = text + begin;
	return (int)(end - begin);
}

static void complain(struct mrc_ctl_error *error, const char *source, const char *text, size_t len,
	const json_error_t *jerr)
{
	const enum json_error_code code = json_error_code(jerr);
	const char *token = "";
	int token_len = 0;

	if (code == json_error_duplicate_key && strstr(jerr->text, " near ") == NULL &&
		jerr->position > 0 && (size_t)jerr->position <= len)
		token_len = token_before(text, (size_t)jerr->position, &token);
	error->line = jerr->line > 0 ? (uint32_t)jerr->line : 1;
	error->column = jerr->column > 0 ? (uint32_t)jerr->column : 1;
	snprintf(error->text, sizeof(error->text), "%s:%u:%u: %s%s%.*s%s", source, error->line,
		error->column, jerr->text, token_len != 0 ? " " : "",
		token_len > 80 ? 80 : token_len, token, remedy(code));
}

void mrc_ctl_flatten(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7F)
			*text = ' ';
}

json_t *mrc_ctl_parse(const char *source, const char *text, size_t len, size_t max_len,
	struct mrc_ctl_error *error_out)
{
	struct mrc_ctl_error error = {.line = 0};
	json_error_t jerr = {.line = -1};
	json_t *value = NULL;

	if (len > max_len) {
		snprintf(error.text, sizeof(error.text), "%s: longer than the limit of %zu bytes",
			source, max_len);
	} else if (limits_ok(source, text, len, &error)) {
		value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &jerr);
		if (value != NULL)
			return value;
		complain(&error, source, text, len, &jerr);
	}
	mrc_ctl_flatten(error.text);
	*error_out = error;
	return NULL;
}

int mrc_ctl_decode_text(const char *source, const char *text, size_t len,
	const struct mrc_ctl_table *table, void *obj, struct mrc_ctl_error *error_out)
{
	json_t *value = mrc_ctl_parse(source, text, len, MRC_CTL_FILE_MAX, error_out);
	int rc;

	if (value == NULL)
		return MRC_ERR_INVAL;
	rc = mrc_ctl_decode(source, value, table, obj, error_out);
	json_decref(value);
	return rc;
}

/* Reads at most max_len + 1 bytes: one more than allowed is enough to know. */
static int file_read(const char *path, size_t max_len, char **text_out, size_t *len_out)
{
	FILE *file = fopen(path, "rb");
	char *text;
	size_t len;
	int rc = 0;

	if (file == NULL)
		return errno;
	text = malloc(max_len + 1);
	if (text == NULL) {
		fclose(file);
		return ENOMEM;
	}
	errno = 0;
	len = fread(text, 1, max_len + 1, file);
	if (ferror(file))
		rc = errno != 0 ? errno : EIO;
	fclose(file);
	if (rc != 0) {
		free(text);
		return rc;
	}
	*text_out = text;
	*len_out = len;
	return 0;
}

int mrc_ctl_parse_file(const char *path, json_t **value_out, struct mrc_ctl_error *error_out)
{
	char *text = NULL;
	size_t len = 0;
	int rc = file_read(path, MRC_CTL_FILE_MAX, &text, &len);
	json_t *value;

	if (rc != 0) {
		*error_out = (struct mrc_ctl_error){.line = 0};
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: cannot be read: %s; name a readable JSON file", path, strerror(rc));
		return rc == ENOMEM ? MRC_ERR_NOMEM : MRC_ERR_INVAL;
	}
	value = mrc_ctl_parse(path, text, len, MRC_CTL_FILE_MAX, error_out);
	free(text);
	if (value == NULL)
		return MRC_ERR_INVAL;
	*value_out = value;
	return MRC_OK;
}

int mrc_ctl_decode_file(const char *path, const struct mrc_ctl_table *table, void *obj,
	struct mrc_ctl_error *error_out)
{
	json_t *value;
	int rc = mrc_ctl_parse_file(path, &value, error_out);

	if (rc != MRC_OK)
		return rc;
	rc = mrc_ctl_decode(path, value, table, obj, error_out);
	json_decref(value);
	return rc;
}
