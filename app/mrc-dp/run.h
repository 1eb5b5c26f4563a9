/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.h - `mrc-dp run` and `mrc-dp demo`: from the file to the result.
 */
#ifndef MRC_APP_RUN_H
#define MRC_APP_RUN_H

enum mrc_exit {
	MRC_EXIT_GOOD = 0,        /* all verified */
	MRC_EXIT_FAILED = 1,      /* ran, but something was corrupt, failed or missing */
	MRC_EXIT_CONFIG = 2,      /* command line or configuration refused, nothing started */
	MRC_EXIT_START = 3,       /* memory, device or peer missing */
	MRC_EXIT_INTERRUPTED = 4, /* by a signal */
};

/* argv[0] is the subcommand. Return an enum mrc_exit. */
int mrc_run_main(int argc, char **argv);
int mrc_demo_main(int argc, char **argv);

/* The demonstration's configuration, built in. */
extern const char mrc_demo_text[];

#endif
