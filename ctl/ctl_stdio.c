/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <unistd.h>

#include "ctl_stdio.h"

void mrc_ctl_stdio_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* The lowest free number is the one looked at. Opened the wrong way round on
		 * purpose. */
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}
