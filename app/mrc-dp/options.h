/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the command line of `run` and `demo`: our options before or behind `--`, everything
 * else before `--` is EAL's.
 */
#ifndef MRC_APP_OPTIONS_H
#define MRC_APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "eal.h"
#include "mrc_err.h"

struct mrc_options {
	const char *config; /* -c FILE; NULL: none given */
	const char *file;   /* --file PATH: overrides workload.file */
	const char *store;  /* --store PATH */
	double seconds;     /* --seconds N; 0: as configured */
	bool json;          /* --json */
	bool quiet;         /* --quiet: no progress lines */
	bool help;
	bool print; /* --print: the built-in file, and nothing else */
	const char *eal[MRC_EAL_MAX_ARGS];
	uint32_t nb_eal;
};

/* reason_out: 256 bytes. Errors: MRC_ERR_INVAL. argv[0] is the subcommand. */
int mrc_options_parse(int argc, char **argv, struct mrc_options *options_out, char *reason_out);

#endif
