/* SPDX-License-Identifier: BSD-2-Clause */
#include "oob.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ctl_decode.h"

enum {
	RETRY_MS = 100,
	SEND_WAIT_MS = 1000,
};

static uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int fail(char *reason, const struct mrc_cfg_oob *cfg, const char *what)
{
	snprintf(reason, MRC_REASON, "oob.%s: \"%s\": %s",
		cfg->mode == MRC_OOB_LISTEN ? "listen" : "connect", cfg->address, what);
	return MRC_ERR_INVAL;
}

static int fail_errno(char *reason, const struct mrc_cfg_oob *cfg, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return fail(reason, cfg, text);
}

struct address {
	struct sockaddr_storage addr;
	socklen_t len;
};

static int address_parse(const struct mrc_cfg_oob *cfg, struct address *out, char *reason)
{
	const char *text = cfg->address;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
		.ai_flags = cfg->mode == MRC_OOB_LISTEN ? AI_PASSIVE : 0};
	struct addrinfo *found = NULL;
	char host[MRC_CFG_TEXT];
	const char *colon;
	int err;

	memset(out, 0, sizeof(*out));
	if (strncmp(text, "unix:", 5) == 0) {
		struct sockaddr_un *un = (struct sockaddr_un *)&out->addr;

		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", text + 5);
		out->len = sizeof(*un);
		return MRC_OK;
	}
	text += 4;
	colon = strrchr(text, ':');
	/* [v6]:port or host:port */
	if (text[0] == '[' && colon > text && colon[-1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text - 2), text + 1);
	else
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	err = getaddrinfo(host, colon + 1, &hints, &found);
	if (err)
		return fail(reason, cfg, gai_strerror(err));
	memcpy(&out->addr, found->ai_addr, found->ai_addrlen);
	out->len = found->ai_addrlen;
	freeaddrinfo(found);
	return MRC_OK;
}

/* A socket file without a listener is left over from a process that died. */
static int stale_remove(const struct mrc_cfg_oob *cfg, const struct address *address, char *reason)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&address->addr;
	struct stat st;
	int fd, err;

	if (address->addr.ss_family != AF_UNIX || lstat(un->sun_path, &st) != 0)
		return MRC_OK;
	if (!S_ISSOCK(st.st_mode))
		return fail(reason, cfg, "the path exists and is no socket; choose another");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = fd < 0                                                                    ? errno
	      : connect(fd, (const struct sockaddr *)&address->addr, address->len) == 0 ? 0
											: errno;
	if (fd >= 0)
		close(fd);
	if (err == 0)
		return fail(reason, cfg,
			"another process listens there; stop it or choose another path");
	if (err != ECONNREFUSED) {
		errno = err;
		return fail_errno(reason, cfg, "cannot tell whether somebody listens there");
	}
	return unlink(un->sun_path) == 0
		       ? MRC_OK
		       : fail_errno(reason, cfg, "cannot remove the socket of a dead process");
}

/* Waits for the first byte, which stays where it is. False: whoever connected left without one, as
 * one does who only looks whether somebody listens here. */
static bool says_something(int fd, uint64_t end_ms, const volatile sig_atomic_t *stop)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	char first;

	while (!*stop && clock_ms() < end_ms)
		if (poll(&pfd, 1, RETRY_MS) > 0)
			return recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
	return false;
}

static int accept_one(struct mrc_oob *oob, const struct mrc_cfg_oob *cfg, int listener,
	const volatile sig_atomic_t *stop, char *reason)
{
	uint64_t end_ms = clock_ms() + cfg->wait_ns / 1000000;

	while (!*stop && clock_ms() < end_ms) {
		struct pollfd pfd = {.fd = listener, .events = POLLIN};

		if (poll(&pfd, 1, RETRY_MS) <= 0)
			continue;
		oob->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (oob->fd >= 0 && says_something(oob->fd, end_ms, stop))
			return MRC_OK;
		if (oob->fd >= 0)
			close(oob->fd);
		oob->fd = -1;
	}
	if (*stop)
		return MRC_ERR_STATE;
	return fail(
		reason, cfg, "no peer came in time; start the other mrc-dp or raise \"oob.wait\"");
}

static int peer_listen(struct mrc_oob *oob, const struct mrc_cfg_oob *cfg,
	const struct address *address, const volatile sig_atomic_t *stop, char *reason)
{
	const struct sockaddr *sa = (const struct sockaddr *)&address->addr;
	int err = stale_remove(cfg, address, reason);
	int one = 1;
	mode_t mask;
	int fd;

	if (err)
		return err;
	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(reason, cfg, "no socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Nobody but this user may get in between bind and listen. */
	mask = umask(0177);
	err = bind(fd, sa, address->len) || listen(fd, 1) ? fail_errno(reason, cfg, "cannot listen")
							  : MRC_OK;
	umask(mask);
	if (!err) {
		err = accept_one(oob, cfg, fd, stop, reason);
		if (sa->sa_family == AF_UNIX)
			unlink(((const struct sockaddr_un *)sa)->sun_path);
	}
	close(fd);
	return err;
}

static int peer_connect(struct mrc_oob *oob, const struct mrc_cfg_oob *cfg,
	const struct address *address, const volatile sig_atomic_t *stop, char *reason)
{
	uint64_t end_ms = clock_ms() + cfg->wait_ns / 1000000;

	while (!*stop) {
		int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return fail_errno(reason, cfg, "no socket");
		if (connect(fd, (const struct sockaddr *)&address->addr, address->len) == 0) {
			oob->fd = fd;
			return MRC_OK;
		}
		close(fd);
		if (clock_ms() >= end_ms)
			return fail_errno(reason, cfg,
				"the peer does not answer; start the other mrc-dp or raise "
				"\"oob.wait\"");
		poll(NULL, 0, RETRY_MS);
	}
	return MRC_ERR_STATE;
}

int mrc_oob_open(struct mrc_oob *oob, const struct mrc_cfg_oob *cfg,
	const volatile sig_atomic_t *stop, char *reason_out)
{
	struct address address;
	int one = 1;
	int err;

	*oob = (struct mrc_oob){.fd = -1};
	err = address_parse(cfg, &address, reason_out);
	if (!err)
		err = cfg->mode == MRC_OOB_LISTEN
			      ? peer_listen(oob, cfg, &address, stop, reason_out)
			      : peer_connect(oob, cfg, &address, stop, reason_out);
	if (!err)
		setsockopt(oob->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return err;
}

void mrc_oob_close(struct mrc_oob *oob)
{
	if (oob->fd >= 0)
		close(oob->fd);
	free(oob->line);
	*oob = (struct mrc_oob){.fd = -1, .closed = true};
}

int mrc_oob_send(struct mrc_oob *oob, json_t *msg)
{
	char *text = json_dumps(msg, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	size_t at = 0;

	json_decref(msg);
	if (text)
		text[len++] = '\n'; /* takes the place of the NUL */
	while (text && at < len && !oob->closed) {
		ssize_t n = send(oob->fd, text + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd pfd = {.fd = oob->fd, .events = POLLOUT};

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno == EINTR)
			continue;
		else if (!(n < 0 && errno == EAGAIN) || poll(&pfd, 1, SEND_WAIT_MS) <= 0)
			oob->closed = true;
	}
	free(text);
	return at == len && len > 0 ? MRC_OK : MRC_ERR_STATE;
}

/* Cuts the first whole line off the buffer and parses it. */
static json_t *line_take(struct mrc_oob *oob)
{
	char *end = oob->line_len ? memchr(oob->line, '\n', oob->line_len) : NULL;
	struct mrc_ctl_error error;
	json_t *msg;
	size_t used;

	if (end == NULL)
		return NULL;
	msg = mrc_ctl_parse("peer", oob->line, (size_t)(end - oob->line), MRC_OOB_LINE_MAX, &error);
	used = (size_t)(end - oob->line) + 1;
	memmove(oob->line, oob->line + used, oob->line_len - used);
	oob->line_len -= used;
	if (!json_is_object(msg)) {
		json_decref(msg);
		oob->closed = true;
		return NULL;
	}
	return msg;
}

static void read_more(struct mrc_oob *oob)
{
	ssize_t n;

	if (oob->line_len == oob->line_room) {
		size_t room = oob->line_room ? oob->line_room * 2 : 65536;
		char *line = room > MRC_OOB_LINE_MAX ? NULL : realloc(oob->line, room);

		if (line == NULL) {
			oob->closed = true;
			return;
		}
		oob->line = line;
		oob->line_room = room;
	}
	n = recv(oob->fd, oob->line + oob->line_len, oob->line_room - oob->line_len, MSG_DONTWAIT);
	if (n > 0)
		oob->line_len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		oob->closed = true;
}

json_t *mrc_oob_recv(struct mrc_oob *oob, uint32_t wait_ms, const volatile sig_atomic_t *stop)
{
	uint64_t end_ms = clock_ms() + wait_ms;

	for (;;) {
		json_t *msg = line_take(oob);
		struct pollfd pfd = {.fd = oob->fd, .events = POLLIN};
		uint64_t now_ms = clock_ms();
		uint64_t left_ms = end_ms > now_ms ? end_ms - now_ms : 0;

		if (msg || oob->closed || *stop)
			return msg;
		if (poll(&pfd, 1, (int)(left_ms < RETRY_MS ? left_ms : RETRY_MS)) > 0)
			read_more(oob);
		else if (left_ms == 0)
			return NULL;
	}
}
