/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

struct job {
	const char *source;
	mrc_tree_load load;
	json_t *root;
	char error[2048];
	/* Changes the object at the key; undone by the caller. */
	void (*visit)(struct job *job, json_t *node, const char *key);
	uint32_t nb_refused;
};

static int load(struct job *job, const char *text)
{
	job->error[0] = '\0';
	return job->load(text, job->error, sizeof(job->error));
}

static int load_tree(struct job *job)
{
	char *text = json_dumps(job->root, JSON_COMPACT);
	int err = load(job, text);

	free(text);
	return err;
}

/* One line that begins with the file and speaks of `needle`. */
static void assert_line(const struct job *job, const char *needle)
{
	if (strstr(job->error, needle) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", job->error, needle);
	assert_null(strchr(job->error, '\n'));
	assert_ptr_equal(strstr(job->error, job->source), job->error);
}

static uint32_t walk(struct job *job, json_t *node)
{
	uint32_t nb = 0;

	if (json_is_array(node)) {
		for (size_t i = 0; i < json_array_size(node); i++)
			nb += walk(job, json_array_get(node, i));
	} else if (json_is_object(node)) {
		json_t *copy = json_copy(node);
		const char *key;
		json_t *value;

		json_object_foreach(copy, key, value)
		{
			job->visit(job, node, key);
			json_object_clear(node);
			json_object_update(node, copy);
			nb += 1 + walk(job, value);
		}
		json_decref(copy);
	}
	return nb;
}

static uint32_t run(struct job *job, const char *text)
{
	uint32_t nb;

	if (load(job, text) != 0)
		fail_msg("the good file is refused: %s", job->error);
	job->root = json_loads(text, 0, NULL);
	assert_non_null(job->root);
	nb = walk(job, job->root);
	json_decref(job->root);
	return nb;
}

static void misspell(struct job *job, json_t *node, const char *key)
{
	char wrong[64], quoted[96];

	snprintf(wrong, sizeof(wrong), "%sx", key);
	json_object_set(node, wrong, json_object_get(node, key));
	json_object_del(node, key);
	assert_int_not_equal(load_tree(job), 0);
	assert_line(job, wrong);
	snprintf(quoted, sizeof(quoted), "did you mean \"%s\"", key);
	assert_line(job, quoted);
}

uint32_t mrc_tree_misspell(const char *text, const char *source, mrc_tree_load loader)
{
	struct job job = {.source = source, .load = loader, .visit = misspell};

	return run(&job, text);
}

static void mistype(struct job *job, json_t *node, const char *key)
{
	json_object_set_new(node, key, json_pack("{s:[b]}", "nonsense", 1));
	assert_int_not_equal(load_tree(job), 0);
	assert_line(job, key);
}

uint32_t mrc_tree_mistype(const char *text, const char *source, mrc_tree_load loader)
{
	struct job job = {.source = source, .load = loader, .visit = mistype};

	return run(&job, text);
}

/* The same key and value again, behind the first: jansson itself would take the last one. */
static void repeat(struct job *job, json_t *node, const char *key)
{
	static const char mark[] = "@twice@";
	char *value = json_dumps(json_object_get(node, key), JSON_COMPACT | JSON_ENCODE_ANY);
	char *text, *twice, *at;
	size_t room;

	json_object_set_new(node, mark, json_null());
	text = json_dumps(job->root, JSON_COMPACT);
	room = strlen(text) + strlen(key) + strlen(value) + 16;
	twice = malloc(room);
	at = strstr(text, "\"@twice@\":null");
	assert_non_null(twice);
	assert_non_null(at);
	snprintf(twice, room, "%.*s\"%s\":%s%s", (int)(at - text), text, key, value,
		at + strlen("\"@twice@\":null"));
	assert_int_not_equal(load(job, twice), 0);
	assert_line(job, key);
	free(twice);
	free(text);
	free(value);
}

uint32_t mrc_tree_double(const char *text, const char *source, mrc_tree_load loader)
{
	struct job job = {.source = source, .load = loader, .visit = repeat};

	return run(&job, text);
}

static void overflow(struct job *job, json_t *node, const char *key)
{
	static const double values[] = {-1, -1e300, 0.5, 1e300, 9007199254740993.0};

	if (!json_is_number(json_object_get(node, key)))
		return;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) + 1; i++) {
		json_object_set_new(
			node, key, i == 0 ? json_integer(INT64_MIN) : json_real(values[i - 1]));
		if (load_tree(job) == 0)
			continue;
		assert_line(job, key);
		job->nb_refused++;
	}
}

uint32_t mrc_tree_overflow(const char *text, const char *source, mrc_tree_load loader)
{
	struct job job = {.source = source, .load = loader, .visit = overflow};

	run(&job, text);
	return job.nb_refused;
}
