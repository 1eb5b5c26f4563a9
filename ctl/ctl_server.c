/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_LEN = 16384,
	REQUESTS_PER_POLL = 4,
	GROUPS_MAX = 1024,
};

#define GOODBYE_NS 1000000000ull /* a closing client may take so long to read its answers */

/* Bytes that grow up to a limit. */
struct buf {
	char *at;
	size_t len, room;
};

struct client {
	int fd; /* -1: free */
	struct mrc_rpc_peer peer;
	struct buf in, out;
	size_t scanned;  /* bytes of `in` without a newline */
	size_t sent;     /* bytes of `out` gone */
	bool skipping;   /* the rest of a request that was too long */
	bool eof;        /* nothing more will come */
	bool closing;    /* when `out` is empty or the time is over */
	uint64_t end_ns; /* when patience ends */
};

struct mrc_ctl_server {
	struct mrc_ctl_server_cfg cfg;
	struct mrc_ctl_listen listen;
	struct mrc_ctl_server_counters counters;
	uint32_t turn; /* client that comes first */
	uint32_t nb_clients;
	struct client clients[MRC_CTL_CLIENTS_MAX];
	char chunk[READ_LEN];
};

void mrc_ctl_server_cfg_default(struct mrc_ctl_server_cfg *cfg_out, const struct mrc_rpc *rpc)
{
	*cfg_out = (struct mrc_ctl_server_cfg){.access = MRC_CTL_ACCESS_OWNER,
		.max_clients = MRC_CTL_CLIENTS_MAX,
		.max_request_len = MRC_CTL_REQUEST_MAX,
		.max_output_len = MRC_CTL_OUTPUT_MAX,
		.idle_ns = 60000000000ull,
		.rpc = rpc};
}

/* ---- buffers ----------------------------------------------------------------------------------*/

static bool buf_put(struct buf *b, const char *bytes, size_t len)
{
	if (len == 0)
		return true;
	if (b->len + len > b->room) {
		size_t room = b->room != 0 ? b->room : 1024;
		char *at;

		while (room < b->len + len)
			room *= 2;
		at = realloc(b->at, room);
		if (at == NULL)
			return false;
		b->at = at;
		b->room = room;
	}
	memcpy(b->at + b->len, bytes, len);
	b->len += len;
	return true;
}

static void buf_drop(struct buf *b, size_t len)
{
	b->len -= len;
	if (b->len > 0)
		memmove(b->at, b->at + len, b->len);
}

/* ---- clients ----------------------------------------------------------------------------------*/

static void client_close(struct mrc_ctl_server *s, struct client *c)
{
	close(c->fd);
	free(c->in.at);
	free(c->out.at);
	*c = (struct client){.fd = -1};
	s->nb_clients--;
}

static void client_end(struct client *c, uint64_t now_ns)
{
	if (!c->closing)
		c->end_ns = now_ns + GOODBYE_NS;
	c->closing = true;
	c->in.len = c->scanned = 0;
}

/* Queues a line and frees it. A client that does not read is told so once and then closed. */
static void client_say(struct mrc_ctl_server *s, struct client *c, char *line, uint64_t now_ns)
{
	const size_t owed = c->out.len - c->sent;
	const size_t len = line != NULL ? strlen(line) : 0;

	if (owed + len > s->cfg.max_output_len) {
		free(line);
		line = mrc_rpc_error_line(MRC_RPC_OUTPUT, NULL);
		s->counters.limits++;
		client_end(c, now_ns);
	}
	if (line != NULL && !buf_put(&c->out, line, strlen(line)))
		client_end(c, now_ns);
	free(line);
}

static void client_limit(
	struct mrc_ctl_server *s, struct client *c, int code, const char *text, uint64_t now_ns)
{
	s->counters.limits++;
	client_say(s, c, mrc_rpc_error_line(code, text), now_ns);
}

/* Group membership at connect time, supplementary groups included. */
static bool in_group(int fd, const struct ucred *cred, gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (cred->gid == gid)
		return true;
#ifdef SO_PEERGROUPS
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == gid)
			return true;
#endif
	return false;
}

static bool may_change(const struct mrc_ctl_server *s, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return false;
	return cred.uid == 0 || cred.uid == geteuid() ||
	       (s->cfg.has_group && in_group(fd, &cred, s->cfg.gid));
}

static void turn_away(struct mrc_ctl_server *s, int fd)
{
	char text[64];
	char *line;

	snprintf(text, sizeof(text), "too many clients; at most %u", s->cfg.max_clients);
	line = mrc_rpc_error_line(MRC_RPC_CLIENTS, text);
	if (line != NULL)
		(void)!send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
	free(line);
	close(fd);
	s->counters.refused++;
}

static void client_accept(struct mrc_ctl_server *s, uint64_t now_ns)
{
	int fd = accept4(s->listen.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *c = s->clients;

	if (fd < 0)
		return;
	if (s->nb_clients >= s->cfg.max_clients) {
		turn_away(s, fd);
		return;
	}
	while (c->fd >= 0)
		c++;
	*c = (struct client){.fd = fd,
		.peer = {.may_change = may_change(s, fd)},
		.end_ns = now_ns + s->cfg.idle_ns};
	s->nb_clients++;
	s->counters.accepted++;
}

/* ---- reading and writing
 * -----------------------------------------------------------------------*/

static void client_take(
	struct mrc_ctl_server *s, struct client *c, const char *bytes, size_t len, uint64_t now_ns)
{
	char text[96];

	if (c->skipping) {
		const char *newline = memchr(bytes, '\n', len);

		if (newline == NULL)
			return;
		c->skipping = false;
		len -= (size_t)(newline + 1 - bytes);
		bytes = newline + 1;
	}
	if (!buf_put(&c->in, bytes, len)) {
		client_end(c, now_ns);
		return;
	}
	if (memchr(c->in.at, '\n', c->in.len) != NULL || c->in.len <= s->cfg.max_request_len)
		return;
	snprintf(text, sizeof(text), "request longer than %u bytes", s->cfg.max_request_len);
	client_limit(s, c, MRC_RPC_TOO_LONG, text, now_ns);
	c->in.len = c->scanned = 0;
	c->skipping = true;
}

static void client_read(struct mrc_ctl_server *s, struct client *c, uint64_t now_ns)
{
	ssize_t got = recv(c->fd, s->chunk, sizeof(s->chunk), 0);

	if (got > 0) {
		client_take(s, c, s->chunk, (size_t)got, now_ns);
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0) {
		client_close(s, c);
		return;
	}
	c->eof = true;
	/* What a last line without its newline holds is whole, or no JSON. */
	if (c->in.len > 0 && c->in.at[c->in.len - 1] != '\n' && !buf_put(&c->in, "\n", 1))
		client_end(c, now_ns);
}

/* Length of the first line with its newline; 0: none is complete. */
static size_t line_len(struct client *c)
{
	const char *newline = c->in.len > c->scanned
				      ? memchr(c->in.at + c->scanned, '\n', c->in.len - c->scanned)
				      : NULL;

	if (newline != NULL)
		return (size_t)(newline - c->in.at) + 1;
	c->scanned = c->in.len;
	return 0;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(" \t\r\n", text[i]) == NULL || text[i] == '\0')
			return false;
	return true;
}

/* Answers the first complete line; false when there is none. */
static bool client_serve(struct mrc_ctl_server *s, struct client *c, uint64_t now_ns)
{
	size_t len;
	char *answer;

	if (c->fd < 0 || c->closing)
		return false;
	len = line_len(c);
	if (len == 0)
		return false;
	if (!is_blank(c->in.at, len)) {
		if (len - 1 > s->cfg.max_request_len)
			s->counters.limits++;
		answer = mrc_rpc_answer(
			s->cfg.rpc, &c->peer, c->in.at, len - 1, s->cfg.max_request_len);
		s->counters.requests++;
		client_say(s, c, answer, now_ns);
		if (!c->closing)
			c->end_ns = now_ns + s->cfg.idle_ns;
	}
	if (c->in.len > 0)
		buf_drop(&c->in, len);
	c->scanned = 0;
	return true;
}

static void client_write(struct mrc_ctl_server *s, struct client *c, uint64_t now_ns)
{
	ssize_t sent =
		send(c->fd, c->out.at + c->sent, c->out.len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR)
			client_close(s, c);
		return;
	}
	c->sent += (size_t)sent;
	if (!c->closing)
		c->end_ns = now_ns + s->cfg.idle_ns;
	if (c->sent == c->out.len)
		c->sent = c->out.len = 0;
	else if (c->sent > c->out.room / 2) {
		buf_drop(&c->out, c->sent);
		c->sent = 0;
	}
}

/* ---- a turn -----------------------------------------------------------------------------------*/

static void sockets_poll(struct mrc_ctl_server *s, uint64_t now_ns)
{
	struct pollfd fds[MRC_CTL_CLIENTS_MAX + 1];
	struct client *of[MRC_CTL_CLIENTS_MAX + 1];
	nfds_t nb = 1;

	fds[0] = (struct pollfd){.fd = s->listen.fd, .events = POLLIN};
	for (uint32_t i = 0; i < MRC_CTL_CLIENTS_MAX; i++) {
		struct client *c = &s->clients[i];
		short events = 0;

		if (c->fd < 0)
			continue;
		/* Lines that wait for their turn hold back further reading. */
		if (!c->eof && !c->closing && line_len(c) == 0)
			events = POLLIN;
		of[nb] = c;
		fds[nb++] = (struct pollfd){.fd = c->fd, .events = events};
	}
	if (poll(fds, nb, 0) <= 0)
		return;
	for (nfds_t i = 1; i < nb; i++) {
		if ((fds[i].revents & POLLIN) != 0)
			client_read(s, of[i], now_ns);
		else if ((fds[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 &&
			 (fds[i].events & POLLIN) != 0)
			client_read(s, of[i], now_ns);
	}
	if ((fds[0].revents & POLLIN) != 0)
		client_accept(s, now_ns);
}

static uint32_t requests_serve(struct mrc_ctl_server *s, uint64_t now_ns)
{
	uint32_t served = 0;
	bool more = true;

	while (more && served < REQUESTS_PER_POLL) {
		more = false;
		for (uint32_t i = 0; i < MRC_CTL_CLIENTS_MAX && served < REQUESTS_PER_POLL; i++) {
			s->turn = (s->turn + 1) % MRC_CTL_CLIENTS_MAX;
			if (client_serve(s, &s->clients[s->turn], now_ns)) {
				served++;
				more = true;
			}
		}
	}
	return served;
}

static void clients_end(struct mrc_ctl_server *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < MRC_CTL_CLIENTS_MAX; i++) {
		struct client *c = &s->clients[i];

		if (c->fd < 0)
			continue;
		if (!c->closing && now_ns >= c->end_ns) {
			client_limit(s, c, MRC_RPC_IDLE, NULL, now_ns);
			client_end(c, now_ns);
		}
		if (c->out.len > c->sent)
			client_write(s, c, now_ns);
		if (c->fd < 0)
			continue;
		if (c->out.len == c->sent && (c->closing || (c->eof && line_len(c) == 0)))
			client_close(s, c);
		else if (c->closing && now_ns >= c->end_ns)
			client_close(s, c);
	}
}

uint32_t mrc_ctl_server_poll(struct mrc_ctl_server *server, uint64_t now_ns)
{
	uint32_t served;

	sockets_poll(server, now_ns);
	served = requests_serve(server, now_ns);
	clients_end(server, now_ns);
	return served;
}

/* ---- life -------------------------------------------------------------------------------------*/

int mrc_ctl_server_open(
	const struct mrc_ctl_server_cfg *cfg, struct mrc_ctl_server **server_out, char *reason_out)
{
	struct mrc_ctl_server *s;
	int err;

	if (cfg->max_clients < 1 || cfg->max_clients > MRC_CTL_CLIENTS_MAX) {
		snprintf(reason_out, MRC_CTL_ERROR_LEN, "clients: 1 to %d", MRC_CTL_CLIENTS_MAX);
		return MRC_ERR_INVAL;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		snprintf(reason_out, MRC_CTL_ERROR_LEN, "out of memory");
		return MRC_ERR_NOMEM;
	}
	s->cfg = *cfg;
	for (uint32_t i = 0; i < MRC_CTL_CLIENTS_MAX; i++)
		s->clients[i].fd = -1;
	err = mrc_ctl_listen_open(&s->listen, cfg->path, cfg->access, cfg->gid, reason_out);
	if (err) {
		free(s);
		return err;
	}
	*server_out = s;
	return MRC_OK;
}

void mrc_ctl_server_close(struct mrc_ctl_server *server)
{
	for (uint32_t i = 0; i < MRC_CTL_CLIENTS_MAX; i++) {
		struct client *c = &server->clients[i];

		if (c->fd >= 0 && c->out.len > c->sent)
			client_write(server, c, 0);
		if (c->fd >= 0)
			client_close(server, c);
	}
	mrc_ctl_listen_close(&server->listen);
	free(server);
}

uint32_t mrc_ctl_server_nb_clients(const struct mrc_ctl_server *server)
{
	return server->nb_clients;
}

void mrc_ctl_server_counters_get(
	const struct mrc_ctl_server *server, struct mrc_ctl_server_counters *counters_out)
{
	*counters_out = server->counters;
}
