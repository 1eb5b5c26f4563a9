/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario_files.c - lists that a scenario keeps in files of their own: arrivals of flows, sizes. A
 * line is an element, its fields are apart by blanks or commas, # begins a comment. What a line
 * says goes where the scenario's own list would stand, so that one decoder serves both.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_private.h"

enum {
	MAX_FIELDS = 6,
	MAX_LINES = 2000000,
	LINE_LEN = 256,
};

/* A list in a file, and where in the scenario its lines go. */
struct list_file {
	const char *key; /* of the path, in "load" */
	const char *list;
	int least, most; /* fields of a line */
	const char *fields;
	json_t *(*element)(char *const *fields, int nb);
};

/* 5 and 0.5 as numbers, everything else as text, which may carry a unit. */
static json_t *field_json(const char *text)
{
	char *end;
	long long whole = strtoll(text, &end, 10);

	if (*end == '\0')
		return json_integer(whole);
	if (text[0] != '-' && strspn(text, "0123456789.") == strlen(text))
		return json_real(strtod(text, NULL));
	return json_string(text); /* NULL: not UTF-8 */
}

static json_t *flow_json(char *const *fields, int nb)
{
	json_t *flow = json_array();
	int err = 0;

	for (int i = 0; i < nb; i++)
		err |= json_array_append_new(flow, field_json(fields[i]));
	if (err == 0)
		return flow;
	json_decref(flow);
	return NULL;
}

static json_t *size_json(char *const *fields, int nb)
{
	(void)nb;
	return json_pack(
		"{s:o,s:o}", "size", field_json(fields[0]), "share", field_json(fields[1]));
}

static const struct list_file files[] = {
	{"flows_file", "flows", 4, 5, "start source destination bytes [background]", flow_json},
	{"sizes_file", "sizes", 2, 2, "size share", size_json},
};

static int split(char *line, char **fields)
{
	char *save = NULL;
	int nb = 0;

	line[strcspn(line, "#\r\n")] = '\0';
	for (char *p = strtok_r(line, " \t,", &save); p != NULL;
		p = strtok_r(NULL, " \t,", &save)) {
		if (nb == MAX_FIELDS)
			return nb;
		fields[nb++] = p;
	}
	return nb;
}

/* The name is relative to the scenario's folder. */
static FILE *open_beside(const char *scenario, const char *name, char *path, size_t room)
{
	const char *slash = strrchr(scenario, '/');
	int folder = slash != NULL && name[0] != '/' ? (int)(slash - scenario) + 1 : 0;

	errno = ENAMETOOLONG;
	return (size_t)snprintf(path, room, "%.*s%s", folder, scenario, name) < room
		       ? fopen(path, "r")
		       : NULL;
}

/* A line as fgets reads it, but empty when there is a NUL in it. */
static bool line_read(char *line, FILE *file)
{
	size_t len = LINE_LEN - 1;

	memset(line, '\n', LINE_LEN);
	if (fgets(line, LINE_LEN, file) == NULL)
		return false;
	/* Behind the NUL that ends what was read nothing but the filling is left. */
	while (len > 0 && line[len] == '\n')
		len--;
	if (strlen(line) != len)
		line[0] = '\0';
	return true;
}

static json_t *read_list(const struct list_file *f, const char *path, FILE *file, json_t *lines_out,
	struct mrc_ctl_error *error)
{
	char line[LINE_LEN], *fields[MAX_FIELDS];
	json_t *list = json_array();
	int number = 0, nb;

	errno = 0;
	while (line_read(line, file)) {
		number++;
		if (strlen(line) == 0) {
			snprintf(error->text, sizeof(error->text),
				"%s:%d: holds a NUL character, remove it", path, number);
			break;
		}
		if (strlen(line) + 1 == sizeof(line) || number > MAX_LINES) {
			snprintf(error->text, sizeof(error->text),
				"%s:%d: more than a line of %d characters or %d lines, split it",
				path, number, LINE_LEN - 2, MAX_LINES);
			break;
		}
		nb = split(line, fields);
		if (nb == 0)
			continue;
		if (nb < f->least || nb > f->most) {
			snprintf(error->text, sizeof(error->text), "%s:%d: %d fields, give: %s",
				path, number, nb, f->fields);
			break;
		}
		if (json_array_append_new(list, f->element(fields, nb)) != 0) {
			snprintf(error->text, sizeof(error->text),
				"%s:%d: holds a byte that is no UTF-8, give: %s", path, number,
				f->fields);
			break;
		}
		json_array_append_new(lines_out, json_integer(number));
	}
	if (ferror(file) != 0)
		snprintf(error->text, sizeof(error->text),
			"%s: cannot be read (%s), name a file with lines of: %s", path,
			strerror(errno), f->fields);
	if (error->text[0] == '\0' && json_array_size(list) == 0)
		snprintf(error->text, sizeof(error->text), "%s: is empty, give lines of: %s", path,
			f->fields);
	if (error->text[0] == '\0')
		return list;
	json_decref(list);
	return NULL;
}

static int one_file(const struct list_file *f, const char *scenario, json_t *load, json_t *lines,
	struct mrc_ctl_error *error)
{
	const char *name = json_string_value(json_object_get(load, f->key));
	char path[320];
	json_t *list;
	FILE *file;

	if (name == NULL)
		return MRC_OK; /* left out, or no text, which the decoder refuses */
	if (json_object_get(load, f->list) != NULL) {
		snprintf(error->text, sizeof(error->text),
			"%s: load.%s: \"%s\": \"%s\" is there too, keep one of them", scenario,
			f->key, name, f->list);
		return MRC_ERR_INVAL;
	}
	file = open_beside(scenario, name, path, sizeof(path));
	if (file == NULL) {
		snprintf(error->text, sizeof(error->text),
			"%s: load.%s: \"%.100s\": cannot be opened (%s), name a file relative to "
			"the "
			"scenario's folder",
			scenario, f->key, name, strerror(errno));
		return MRC_ERR_INVAL;
	}
	list = read_list(f, path, file, lines, error);
	fclose(file);
	if (list == NULL)
		return MRC_ERR_INVAL;
	json_object_set_new(load, f->list, list);
	return MRC_OK;
}

int scenario_lists_read(
	const char *scenario, json_t *root, json_t *lines, struct mrc_ctl_error *error_out)
{
	json_t *load = json_object_get(root, "load");
	int err = MRC_OK;

	error_out->text[0] = '\0';
	for (size_t i = 0; json_is_object(load) && i < 2 && err == MRC_OK; i++) {
		json_t *of_file = json_array();

		err = one_file(&files[i], scenario, load, of_file, error_out);
		json_object_set_new(lines, files[i].list, of_file);
	}
	return err;
}

void scenario_lists_blame(const json_t *root, const json_t *lines, struct mrc_ctl_error *error)
{
	const json_t *load = json_object_get(root, "load");

	for (size_t i = 0; i < 2; i++) {
		const char *name = json_string_value(json_object_get(load, files[i].key));
		char mark[32], *at;
		json_t *line;
		size_t len = strlen(error->text);

		snprintf(mark, sizeof(mark), "load.%s[", files[i].list);
		at = strstr(error->text, mark);
		if (name == NULL || at == NULL)
			continue;
		line = json_array_get(json_object_get(lines, files[i].list),
			strtoul(at + strlen(mark), NULL, 10));
		snprintf(error->text + len, sizeof(error->text) - len, " (%s:%d)", name,
			(int)json_integer_value(line));
	}
}
