/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 16,
	LOCK_TRIES = 16,
	LOCK_PATH_LEN = 128,
};

static int refuse(char *reason, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(char *reason, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, MRC_CTL_ERROR_LEN, fmt, args);
	va_end(args);
	return err;
}

static void folder_of(const char *path, char *out, size_t room)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		snprintf(out, room, ".");
	else
		snprintf(out, room, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static void lock_path(const struct mrc_ctl_listen *l, char *out)
{
	snprintf(out, LOCK_PATH_LEN, "%s.lock", l->path);
}

static int folder_make(
	struct mrc_ctl_listen *l, enum mrc_ctl_access access, gid_t gid, char *reason)
{
	static const mode_t modes[] = {0700, 0750, 0755};
	char folder[LOCK_PATH_LEN];
	struct stat st;

	folder_of(l->path, folder, sizeof(folder));
	if (mkdir(folder, 0700) == 0) {
		l->made_dir = true;
		if ((access == MRC_CTL_ACCESS_GROUP && chown(folder, (uid_t)-1, gid) != 0) ||
			chmod(folder, modes[access]) != 0)
			return refuse(reason, MRC_ERR_STATE,
				"folder %s cannot be given to the group: %m", folder);
		return MRC_OK;
	}
	if (errno != EEXIST)
		return refuse(reason, MRC_ERR_STATE, "folder %s cannot be made: %m", folder);
	if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
		return refuse(
			reason, MRC_ERR_STATE, "%s is no folder; choose another path", folder);
	if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
		return refuse(reason, MRC_ERR_STATE,
			"everybody may write to folder %s and replace the socket; \"chmod o-w %s\" "
			"or choose another path",
			folder, folder);
	return MRC_OK;
}

/* The lock, on the file that the name still stands for (its last holder removes it). */
static int lock_take(struct mrc_ctl_listen *l, char *reason)
{
	char path[LOCK_PATH_LEN];

	lock_path(l, path);
	for (int i = 0; i < LOCK_TRIES; i++) {
		struct stat held, named;
		int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return refuse(reason, MRC_ERR_STATE, "lock file %s: %m", path);
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			const int error = errno;

			close(fd);
			return error == EWOULDBLOCK
				       ? refuse(reason, MRC_ERR_BUSY,
						 "another process serves %s (it holds %s)", l->path,
						 path)
				       : refuse(reason, MRC_ERR_STATE, "lock file %s: %s", path,
						 strerror(error));
		}
		if (fstat(fd, &held) == 0 && lstat(path, &named) == 0 &&
			held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
			l->lock_fd = fd;
			return MRC_OK;
		}
		close(fd);
	}
	return refuse(reason, MRC_ERR_BUSY, "lock file %s changes all the time", path);
}

/* Makes the name free, or says why it must not be touched. */
static int name_free(const struct mrc_ctl_listen *l, char *reason)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct stat st;
	int fd, error;

	if (lstat(l->path, &st) != 0)
		return errno == ENOENT ? MRC_OK : refuse(reason, MRC_ERR_STATE, "%s: %m", l->path);
	if (!S_ISSOCK(st.st_mode))
		return refuse(reason, MRC_ERR_STATE,
			"%s is there and no socket; remove it or choose another path", l->path);
	memcpy(un.sun_path, l->path, sizeof(un.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = fd < 0 || connect(fd, (const struct sockaddr *)&un, sizeof(un)) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error == 0 || error == EAGAIN)
		return refuse(reason, MRC_ERR_BUSY, "another process serves %s", l->path);
	if (error != ECONNREFUSED)
		return refuse(reason, MRC_ERR_STATE,
			"%s: it is not known whether somebody serves it (%s); look at it, then "
			"remove it",
			l->path, strerror(error));
	if (unlink(l->path) != 0)
		return refuse(
			reason, MRC_ERR_STATE, "stale socket %s cannot be removed: %m", l->path);
	return MRC_OK;
}

static int node_bind(struct mrc_ctl_listen *l, enum mrc_ctl_access access, gid_t gid, char *reason)
{
	static const mode_t modes[] = {0600, 0660, 0666};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct stat st;

	memcpy(un.sun_path, l->path, sizeof(un.sun_path));
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The node takes the mode of the unbound socket: never wider than wanted, whatever umask.
	 */
	if (l->fd < 0 || fchmod(l->fd, 0600) != 0 ||
		bind(l->fd, (const struct sockaddr *)&un, sizeof(un)) != 0)
		return refuse(reason, MRC_ERR_STATE, "socket %s: %m", l->path);
	if (lstat(l->path, &st) != 0)
		return refuse(reason, MRC_ERR_STATE, "socket %s: %m", l->path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	if ((access == MRC_CTL_ACCESS_GROUP && chown(l->path, (uid_t)-1, gid) != 0) ||
		chmod(l->path, modes[access]) != 0)
		return refuse(reason, MRC_ERR_STATE, "socket %s cannot be given to the group: %m",
			l->path);
	if (listen(l->fd, BACKLOG) != 0)
		return refuse(reason, MRC_ERR_STATE, "socket %s: %m", l->path);
	return MRC_OK;
}

int mrc_ctl_listen_open(struct mrc_ctl_listen *listen_out, const char *path,
	enum mrc_ctl_access access, gid_t gid, char *reason_out)
{
	struct mrc_ctl_listen l = {.fd = -1, .lock_fd = -1};
	int err;

	if (path[0] == '\0' || strlen(path) >= sizeof(l.path))
		return refuse(reason_out, MRC_ERR_INVAL,
			"socket path \"%.200s\" has %zu characters, a UNIX socket takes 1 to %zu; "
			"choose a shorter path",
			path, strlen(path), sizeof(l.path) - 1);
	memcpy(l.path, path, strlen(path));
	err = folder_make(&l, access, gid, reason_out);
	if (!err)
		err = lock_take(&l, reason_out);
	if (!err)
		err = name_free(&l, reason_out);
	if (!err)
		err = node_bind(&l, access, gid, reason_out);
	if (err) {
		mrc_ctl_listen_close(&l);
		return err;
	}
	*listen_out = l;
	return MRC_OK;
}

void mrc_ctl_listen_close(struct mrc_ctl_listen *l)
{
	char path[LOCK_PATH_LEN];
	struct stat st;

	if (l->fd >= 0) {
		close(l->fd);
		if (l->ino != 0 && lstat(l->path, &st) == 0 && st.st_dev == l->dev &&
			st.st_ino == l->ino)
			unlink(l->path);
	}
	if (l->lock_fd >= 0) {
		lock_path(l, path);
		unlink(path);
		close(l->lock_fd);
	}
	if (l->made_dir) {
		folder_of(l->path, path, sizeof(path));
		rmdir(path);
	}
	l->fd = l->lock_fd = -1;
	l->made_dir = false;
}
