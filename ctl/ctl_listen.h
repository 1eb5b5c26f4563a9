/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_listen.h - a UNIX stream socket under a name, held safely.
 *
 * A lock file beside the name ("PATH.lock") is held for life. With the lock in hand, a name that is
 * already there is probed: only "connection refused" means that its owner is dead; a node that is
 * no socket, or any other answer, is left alone and the start refused. The node is created with
 * mode 0600 and only then opened to others. At the end it is removed only if it is still ours.
 */
#ifndef CTL_LISTEN_H
#define CTL_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctl_decode.h"

/* Who may connect. */
enum mrc_ctl_access {
	MRC_CTL_ACCESS_OWNER, /* the process's user: mode 0600 */
	MRC_CTL_ACCESS_GROUP, /* and the group: 0660 */
	MRC_CTL_ACCESS_ALL,   /* everybody: 0666 */
};

struct mrc_ctl_listen {
	int fd;      /* listening, non-blocking; -1: closed */
	int lock_fd; /* holds the lock */
	bool made_dir;
	dev_t dev; /* of the socket's node */
	ino_t ino;
	char path[108]; /* as sockaddr_un takes it */
};

/*
 * The folder is made (0700, or open to the group) when missing. gid: owner of node and folder with
 * MRC_CTL_ACCESS_GROUP. Errors: MRC_ERR_INVAL (path), MRC_ERR_BUSY (another process serves it),
 * MRC_ERR_STATE (not a dead socket, or a call failed); reason_out (MRC_CTL_ERROR_LEN bytes) says
 * which and what to do. Nothing is left behind then.
 */
int mrc_ctl_listen_open(struct mrc_ctl_listen *listen_out, const char *path,
	enum mrc_ctl_access access, gid_t gid, char *reason_out);
/* Closes; removes node, lock file and a folder that it made, if they are still ours. */
void mrc_ctl_listen_close(struct mrc_ctl_listen *l);

#endif
