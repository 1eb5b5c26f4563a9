/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_config.c - what the loaders of mrc-dp ("dp") and mrc-fabric ("fabric") say of many files:
 * one name a line on standard input, one answer a line, empty when the file is taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fab_config.h"

static const char *say_dp(const char *path)
{
	static struct mrc_cfg cfg;
	static char error[MRC_REASON];

	return mrc_cfg_load(path, &cfg, error) == MRC_OK ? "" : error;
}

static const char *say_fabric(const char *path)
{
	static struct mrc_fab_cfg cfg;
	static struct mrc_ctl_error error;

	return mrc_fab_cfg_load(path, &cfg, &error) == MRC_OK ? "" : error.text;
}

int main(int argc, char **argv)
{
	const bool fabric = argc == 2 && strcmp(argv[1], "fabric") == 0;
	char path[4096];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(path, sizeof(path), stdin) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		puts(fabric ? say_fabric(path) : say_dp(path));
	}
	return EXIT_SUCCESS;
}
