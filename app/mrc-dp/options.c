/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_LEN 256

/* Option with a value: "--name value" or "--name=value". Steps *at over the value. */
static int value_of(
	int argc, char **argv, int *at, const char *name, const char **value_out, char *reason)
{
	size_t len = strlen(name);

	if (argv[*at][len] == '=') {
		*value_out = argv[*at] + len + 1;
	} else if (*at + 1 < argc) {
		*value_out = argv[++*at];
	} else {
		snprintf(reason, REASON_LEN, "%s needs a value", name);
		return MRC_ERR_INVAL;
	}
	return MRC_OK;
}

static bool is_option(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) == 0 && (arg[len] == '\0' || arg[len] == '=');
}

static int seconds_parse(const char *text, double *out, char *reason)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= 0.001 && value <= 1e7)) {
		snprintf(reason, REASON_LEN, "--seconds %s: want a number from 0.001 to 10000000",
			text);
		return MRC_ERR_INVAL;
	}
	*out = value;
	return MRC_OK;
}

/* 1: ours, taken; 0: not ours; negative: error. */
static int take(int argc, char **argv, int *at, struct mrc_options *o, char *reason)
{
	const struct {
		const char *name;
		const char **to;
	} texts[] = {{"--config", &o->config}, {"-c", &o->config}, {"--file", &o->file},
		{"--store", &o->store}};
	const char *arg = argv[*at];
	const char *text;
	int err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_option(arg, texts[i].name)) {
			err = value_of(argc, argv, at, texts[i].name, texts[i].to, reason);
			return err ? err : 1;
		}
	if (is_option(arg, "--seconds")) {
		err = value_of(argc, argv, at, "--seconds", &text, reason);
		err = err ? err : seconds_parse(text, &o->seconds, reason);
		return err ? err : 1;
	}
	o->json |= strcmp(arg, "--json") == 0;
	o->quiet |= strcmp(arg, "--quiet") == 0;
	o->print |= strcmp(arg, "--print") == 0;
	o->help |= strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
	return strcmp(arg, "--json") == 0 || strcmp(arg, "--quiet") == 0 ||
	       strcmp(arg, "--print") == 0 || strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

int mrc_options_parse(int argc, char **argv, struct mrc_options *options_out, char *reason_out)
{
	struct mrc_options o = {0};
	bool behind = false;

	for (int i = 1; i < argc; i++) {
		int taken;

		if (!behind && strcmp(argv[i], "--") == 0) {
			behind = true;
			continue;
		}
		taken = take(argc, argv, &i, &o, reason_out);
		if (taken < 0)
			return taken;
		if (taken)
			continue;
		if (behind) {
			snprintf(reason_out, REASON_LEN,
				"%s: unknown option; \"mrc-dp %s --help\" lists them", argv[i],
				argv[0]);
			return MRC_ERR_INVAL;
		}
		if (o.nb_eal >= MRC_EAL_MAX_ARGS / 2) {
			snprintf(reason_out, REASON_LEN, "more than %d EAL arguments",
				MRC_EAL_MAX_ARGS / 2);
			return MRC_ERR_INVAL;
		}
		o.eal[o.nb_eal++] = argv[i];
	}
	*options_out = o;
	return MRC_OK;
}
