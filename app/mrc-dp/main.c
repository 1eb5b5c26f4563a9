/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "ctl_stdio.h"
#include "doctor.h"
#include "perf_cmd.h"
#include "run.h"

static void help(FILE *out)
{
	fputs("mrc-dp " MRC_VERSION " - software endpoint for Multipath Reliable Connection\n\n"
	      "usage: mrc-dp run -c FILE [options] [EAL options]   run what a configuration says\n"
	      "       mrc-dp demo [options]                         four emulated planes, one "
	      "fails\n"
	      "       mrc-dp doctor [-c FILE] [--json]              look for what is in the way\n"
	      "       mrc-dp perf -c FILE [options]                 protocol against raw frames, "
	      "in "
	      "turns\n"
	      "       mrc-dp raw -c FILE [options]                  frames without a protocol\n"
	      "       mrc-dp --version | --help\n\n"
	      "\"mrc-dp COMMAND --help\" says more.\n",
		out);
}

static int outcome(int code)
{
	return mrc_ctl_stdio_end("mrc-dp", code, MRC_EXIT_FAILED);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{"run", mrc_run_main},
		{"demo", mrc_demo_main},
		{"doctor", mrc_doctor_main},
		{"perf", mrc_perf_main},
		{"raw", mrc_perf_main},
	};

	mrc_ctl_stdio_hold();
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return outcome(commands[i].run(argc - 1, argv + 1));
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		help(stdout);
		return outcome(MRC_EXIT_GOOD);
	}
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("mrc-dp " MRC_VERSION);
		return outcome(MRC_EXIT_GOOD);
	}
	if (argc > 1)
		fprintf(stderr, "mrc-dp: command line: \"%s\" is no command; try --help\n",
			argv[1]);
	else
		help(stderr);
	return MRC_EXIT_CONFIG;
}
