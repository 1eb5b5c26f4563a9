/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	ANSWER_MAX = 64 << 20,
	RETRY_MS = 50,
	LEAST_MS = 10000, /* a busy machine may keep the other side from its CPU */
};

struct mrc_ctl_client {
	int fd;
	uint32_t wait_ms;
	uint32_t last_id;
	char *in; /* bytes received and not used */
	size_t in_len, in_room;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Waits until the socket is ready for `events` or the deadline has passed. */
static bool wait_for(int fd, short events, uint64_t end_ms)
{
	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = events};
		const uint64_t now = now_ms();
		const int got = poll(&pfd, 1, now < end_ms ? (int)(end_ms - now) : 0);

		if (got > 0)
			return true;
		if (got == 0 || errno != EINTR)
			return false;
	}
}

/* ---- connection -------------------------------------------------------------------------------*/

static int connect_once(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd, error;

	memcpy(un.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&un, sizeof(un)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int connect_wait(const char *path, uint32_t wait_ms, int *fd_out, char *reason)
{
	const uint64_t end_ms = now_ms() + wait_ms;
	const struct timespec nap = {.tv_nsec = RETRY_MS * 1000000l};

	if (path[0] == '\0' || strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
		snprintf(reason, MRC_RPC_TEXT_LEN, "this is no path of a UNIX socket");
		return MRC_ERR_STATE;
	}
	for (;;) {
		*fd_out = connect_once(path);
		if (*fd_out >= 0)
			return MRC_OK;
		if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN) {
			snprintf(reason, MRC_RPC_TEXT_LEN, "cannot connect: %s", strerror(errno));
			return MRC_ERR_STATE;
		}
		if (now_ms() >= end_ms)
			break;
		nanosleep(&nap, NULL);
	}
	snprintf(reason, MRC_RPC_TEXT_LEN, "nobody listens (%s)", strerror(errno));
	return MRC_ERR_NOENT;
}

int mrc_ctl_client_open(const char *path, uint32_t wait_ms, struct mrc_ctl_client **client_out,
	json_t **hello_out, char *reason_out)
{
	struct mrc_ctl_client *client = calloc(1, sizeof(*client));
	json_t *hello;
	int err;

	if (client == NULL) {
		snprintf(reason_out, MRC_RPC_TEXT_LEN, "out of memory");
		return MRC_ERR_NOMEM;
	}
	client->wait_ms = wait_ms > LEAST_MS ? wait_ms : LEAST_MS;
	err = connect_wait(path, wait_ms, &client->fd, reason_out);
	if (err) {
		free(client);
		return err;
	}
	if (mrc_ctl_client_call(client, "hello", json_pack("{s:i}", "version", MRC_RPC_VERSION),
		    &hello, reason_out) != MRC_RPC_GOOD) {
		mrc_ctl_client_close(client);
		return MRC_ERR_STATE;
	}
	if (hello_out != NULL)
		*hello_out = hello;
	else
		json_decref(hello);
	*client_out = client;
	return MRC_OK;
}

void mrc_ctl_client_close(struct mrc_ctl_client *client)
{
	close(client->fd);
	free(client->in);
	free(client);
}

/* ---- calls ------------------------------------------------------------------------------------*/

static int line_send(
	struct mrc_ctl_client *client, const char *text, size_t len, uint64_t end_ms, char *reason)
{
	while (len > 0) {
		ssize_t sent = send(client->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent > 0) {
			text += sent;
			len -= (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN && wait_for(client->fd, POLLOUT, end_ms))
			continue;
		/* It may have said why before it closed: the answer tells. */
		if (errno == EPIPE)
			return MRC_OK;
		snprintf(reason, MRC_RPC_TEXT_LEN, "the request does not go out: %s",
			errno == EAGAIN ? "no answer in time" : strerror(errno));
		return MRC_ERR_STATE;
	}
	return MRC_OK;
}

static bool in_grow(struct mrc_ctl_client *client)
{
	const size_t room = client->in_room != 0 ? client->in_room * 2 : 65536;
	char *in;

	if (client->in_len < client->in_room)
		return true;
	in = room <= ANSWER_MAX ? realloc(client->in, room) : NULL;
	if (in == NULL)
		return false;
	client->in = in;
	client->in_room = room;
	return true;
}

/* The next line, parsed; NULL and reason when there is none. */
static json_t *line_receive(struct mrc_ctl_client *client, uint64_t end_ms, char *reason)
{
	json_error_t error;
	json_t *value;
	char *newline = NULL;
	ssize_t got = 1;

	while (newline == NULL) {
		newline = client->in_len > 0 ? memchr(client->in, '\n', client->in_len) : NULL;
		if (newline != NULL)
			break;
		if (!in_grow(client)) {
			snprintf(reason, MRC_RPC_TEXT_LEN, "the answer is too long");
			return NULL;
		}
		if (!wait_for(client->fd, POLLIN, end_ms)) {
			snprintf(reason, MRC_RPC_TEXT_LEN, "no answer in time");
			return NULL;
		}
		got = recv(client->fd, client->in + client->in_len,
			client->in_room - client->in_len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			snprintf(reason, MRC_RPC_TEXT_LEN, "the other side closed the connection");
			return NULL;
		}
		client->in_len += (size_t)got;
	}
	value = json_loadb(client->in, (size_t)(newline - client->in), 0, &error);
	client->in_len -= (size_t)(newline + 1 - client->in);
	memmove(client->in, newline + 1, client->in_len);
	if (value == NULL)
		snprintf(reason, MRC_RPC_TEXT_LEN, "the answer is no JSON: %s", error.text);
	return value;
}

/* Result of an answer, or its error. */
static int answer_take(json_t *answer, json_t **result_out, char *reason)
{
	json_t *error = json_object_get(answer, "error");
	json_t *result = json_object_get(answer, "result");
	const char *text = json_string_value(json_object_get(error, "message"));
	int code = (int)json_integer_value(json_object_get(error, "code"));

	if (error == NULL && result != NULL) {
		*result_out = json_incref(result);
		code = MRC_RPC_GOOD;
	} else {
		snprintf(reason, MRC_RPC_TEXT_LEN, "%s",
			text != NULL ? text : "the answer is no JSON-RPC");
		code = code != 0 ? code : MRC_RPC_INTERNAL;
	}
	json_decref(answer);
	return code;
}

int mrc_ctl_client_call(struct mrc_ctl_client *client, const char *method, json_t *params,
	json_t **result_out, char *reason_out)
{
	const uint64_t end_ms = now_ms() + client->wait_ms;
	json_t *request = json_pack("{s:s, s:i, s:s}", "jsonrpc", "2.0", "id",
		(int)++client->last_id, "method", method);
	json_t *answer;
	char *text;
	int err;

	if (params != NULL)
		json_object_set_new(request, "params", params);
	text = json_dumps(request, JSON_COMPACT);
	json_decref(request);
	if (text == NULL) {
		snprintf(reason_out, MRC_RPC_TEXT_LEN, "out of memory");
		return MRC_RPC_INTERNAL;
	}
	err = line_send(client, text, strlen(text), end_ms, reason_out);
	if (!err)
		err = line_send(client, "\n", 1, end_ms, reason_out);
	free(text);
	if (err)
		return MRC_RPC_INTERNAL;
	answer = line_receive(client, end_ms, reason_out);
	return answer != NULL ? answer_take(answer, result_out, reason_out) : MRC_RPC_INTERNAL;
}
