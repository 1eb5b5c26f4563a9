/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "ctl_stdio.h"

void mrc_ctl_stdio_hold(void)
{
	/* A file at its limit fails the write, as a full disk does. */
	signal(SIGXFSZ, SIG_IGN);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* The lowest free number is the one looked at. Opened the wrong way round on
		 * purpose. */
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}

int mrc_ctl_stdio_end(const char *program, int code, int lost)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return code;
	fprintf(stderr, "%s: standard output: cannot be written; the result is lost\n", program);
	return code == 0 ? lost : code;
}
