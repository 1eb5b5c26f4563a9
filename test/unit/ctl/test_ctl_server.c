/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket: calls and errors, framing at every split, every limit at -1, 0 and +1, slow
 * and rude clients, and what is done with a name that is already there. Server and clients share
 * one thread: a client writes, the server polls, the client reads; time is a number.
 */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl_server.h"

#define SECOND 1000000000ull
#define HELLO  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"version\":1}}\n"

/* ---- a service to talk to ---------------------------------------------------------------------*/

struct service {
	uint32_t sum, calls;
	uint32_t blow; /* bytes of an answer of `blow` */
};

struct add_params {
	uint32_t value;
};
static const struct mrc_ctl_field add_fields[] = {
	MRC_CTL_UINT("value", struct add_params, value, 1, 1000), MRC_CTL_END};
static const struct mrc_ctl_table add_table = {add_fields, sizeof(struct add_params), NULL};

static void add_init(void *params)
{
	((struct add_params *)params)->value = 7;
}

static int add(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct service *service = ctx;

	service->calls++;
	service->sum += ((const struct add_params *)params)->value;
	reply->result = json_integer((json_int_t)service->sum);
	return MRC_RPC_GOOD;
}

static int get(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct service *service = ctx;

	service->calls++;
	reply->result = json_integer((json_int_t)service->sum);
	return MRC_RPC_GOOD;
}

static int blow(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct service *service = ctx;
	char *text = malloc(service->blow + 1);

	assert_non_null(text);
	memset(text, 'x', service->blow);
	text[service->blow] = '\0';
	reply->result = json_string(text);
	free(text);
	return MRC_RPC_GOOD;
}

static int refuse(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	return mrc_rpc_fail(reply, MRC_RPC_NOENT, "no thing %d", 42);
}

static const struct mrc_rpc_method methods[] = {
	{.name = "add",
		.params = &add_table,
		.init = add_init,
		.flags = MRC_RPC_CHANGES,
		.handle = add},
	{.name = "get", .handle = get},
	{.name = "blow", .handle = blow},
	{.name = "refuse", .handle = refuse},
	{.name = "later", .states = 2, .handle = get},
	{.name = NULL},
};

struct world {
	char dir[64], path[96];
	struct service service;
	struct mrc_rpc rpc;
	struct mrc_ctl_server_cfg cfg;
	struct mrc_ctl_server *server;
	uint64_t now_ns;
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/mrc-ctl-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/in/sock", w->dir);
	w->rpc = (struct mrc_rpc){.program = "tester",
		.release = "1",
		.methods = methods,
		.ctx = &w->service,
		.state = 1};
	mrc_ctl_server_cfg_default(&w->cfg, &w->rpc);
	w->cfg.path = w->path;
	w->now_ns = SECOND;
}

static void world_open(struct world *w)
{
	char reason[MRC_CTL_ERROR_LEN];

	assert_int_equal(mrc_ctl_server_open(&w->cfg, &w->server, reason), MRC_OK);
}

static void world_done(struct world *w)
{
	if (w->server != NULL)
		mrc_ctl_server_close(w->server);
	/* Nothing of it is left: the folder that it made is gone too. */
	assert_int_equal(rmdir(w->dir), 0);
}

static void turns(struct world *w, uint32_t nb)
{
	while (nb-- > 0)
		mrc_ctl_server_poll(w->server, w->now_ns);
}

/* ---- a client ---------------------------------------------------------------------------------*/

static int client_open(const struct world *w)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(un.sun_path, w->path, strlen(w->path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

/* Everything that the other side has to say, after some turns. */
static const char *client_read(struct world *w, int fd, char *out, size_t room)
{
	size_t len = 0;

	for (int i = 0; i < 8; i++) {
		ssize_t got;

		turns(w, 1);
		got = recv(fd, out + len, room - 1 - len, 0);
		len += got > 0 ? (size_t)got : 0;
	}
	out[len] = '\0';
	return out;
}

static void client_write(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

static bool is_closed(struct world *w, int fd)
{
	char byte;
	ssize_t got;

	turns(w, 2);
	while ((got = recv(fd, &byte, 1, 0)) > 0)
		;
	return got == 0 || errno == ECONNRESET;
}

static int client_greet(struct world *w)
{
	char out[1024];
	int fd = client_open(w);

	client_write(fd, HELLO, strlen(HELLO));
	assert_non_null(strstr(client_read(w, fd, out, sizeof(out)), "\"version\":1"));
	return fd;
}

/* Sends a line and checks what the answer contains. */
static void expect(struct world *w, int fd, const char *line, const char *part)
{
	char out[4096];

	client_write(fd, line, strlen(line));
	client_write(fd, "\n", 1);
	client_read(w, fd, out, sizeof(out));
	if (part == NULL ? out[0] != '\0' : strstr(out, part) == NULL)
		fail_msg("%.200s: answer %s instead of %s", line, out, part ? part : "none");
}

/* ---- calls ------------------------------------------------------------------------------------*/

static void calls_and_errors(void **state)
{
	static const struct {
		const char *line, *part;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":{\"value\":5}}",
			"{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":1}\n"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"add\"}",
			"\"result\":12,\"id\":\"a\""},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":{\"value\":8}}", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"get\"}",
			"\"result\":20,\"id\":null"},
		{"{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"get\",\"params\":{}}\r",
			"\"id\":2.5"},
		{"", NULL},
		{"  \r", NULL},
		{"nonsense", "-32700"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"get\"}", "-32700"},
		{"7", "-32700"},
		{"{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"get\"}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"get\"}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"get\",\"params\":[1]}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"get\",\"extra\":1}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"gett\"}", "did you mean \\\"get\\\""},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"get\",\"params\":{\"x\":1}}",
			"-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"add\",\"params\":{\"value\":1001}}",
			"-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"add\",\"params\":{\"value\":1.5}}",
			"-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"add\",\"params\":{\"valu\":1}}",
			"did you mean \\\"value\\\""},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"refuse\"}",
			"{\"code\":-32004,\"message\":\"no thing 42\"},\"id\":4"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"refuse\"}", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"later\"}", "-32003"},
		{"[]", "-32600"},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"},3]",
			"[{\"jsonrpc\":\"2.0\",\"result\":20,\"id\":1},{\"jsonrpc\":\"2.0\","
			"\"error\""},
		{"[{\"jsonrpc\":\"2.0\",\"method\":\"get\"}]", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"get\"}", "\"result\":20"},
	};
	struct world w;
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_open(&w);
	expect(&w, fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}", "-32001");
	expect(&w, fd,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"version\":2}}",
		"-32001");
	expect(&w, fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}", "-32602");
	assert_int_equal(w.service.calls, 0);
	close(fd);
	fd = client_greet(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect(&w, fd, rows[i].line, rows[i].part);
	w.rpc.state = 2;
	expect(&w, fd, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"later\"}", "\"result\":20");
	close(fd);
	world_done(&w);
}

/* ---- framing ----------------------------------------------------------------------------------*/

static const char two_calls[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":"
	"{\"value\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"get\"}\n";

static void split_at_every_byte(void **state)
{
	struct world w;
	char out[512], want[128];

	world_init(&w);
	world_open(&w);
	for (size_t cut = 0; cut <= strlen(two_calls); cut++) {
		int fd = client_greet(&w);

		if (cut > 0)
			client_write(fd, two_calls, cut);
		turns(&w, 3);
		if (cut < strlen(two_calls))
			client_write(fd, two_calls + cut, strlen(two_calls) - cut);
		client_read(&w, fd, out, sizeof(out));
		snprintf(want, sizeof(want),
			"{\"jsonrpc\":\"2.0\",\"result\":%zu,\"id\":1}\n"
			"{\"jsonrpc\":\"2.0\",\"result\":%zu,\"id\":2}\n",
			cut + 1, cut + 1);
		/* The first half may have been answered and read with the rest: all is in order. */
		assert_string_equal(out, want);
		close(fd);
	}
	turns(&w, 3);
	assert_int_equal(mrc_ctl_server_nb_clients(w.server), 0);
	world_done(&w);
}

static void last_line_without_newline(void **state)
{
	struct world w;
	char out[512];
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_greet(&w);
	client_write(fd, two_calls, strlen(two_calls) - 1);
	/* Half closed: what is owed still comes, then the end. */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_non_null(strstr(client_read(&w, fd, out, sizeof(out)), "\"id\":2}\n"));
	assert_true(is_closed(&w, fd));
	close(fd);
	world_done(&w);
}

/* ---- limits -----------------------------------------------------------------------------------*/

/* A call of exactly len bytes, blanks before its end. */
static char *call_of(size_t len)
{
	static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"";
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, ' ', len);
	memcpy(text, call, sizeof(call) - 1);
	text[len - 1] = '}';
	text[len] = '\0';
	return text;
}

/* Writes what the socket takes, lets the server read, and so on. */
static void client_pump(struct world *w, int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);

		if (sent > 0) {
			text += sent;
			len -= (size_t)sent;
		}
		turns(w, 1);
	}
	turns(w, 64); /* 16 KiB in each, and a socket holds some hundred */
}

static void request_length_limit(void **state)
{
	struct world w;
	char out[1024];
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_greet(&w);
	for (int over = -1; over <= 1; over++) {
		char *text = call_of((size_t)(MRC_CTL_REQUEST_MAX + over));

		client_pump(&w, fd, text, strlen(text));
		client_pump(&w, fd, "\n", 1);
		client_read(&w, fd, out, sizeof(out));
		assert_non_null(strstr(out, over <= 0 ? "\"result\"" : "-32010"));
		free(text);
	}
	/* Far over it, in pieces: one error, and the connection lives on behind the newline. */
	for (int i = 0; i < 40; i++) {
		static char blanks[16384];

		memset(blanks, ' ', sizeof(blanks));
		client_pump(&w, fd, blanks, sizeof(blanks));
	}
	client_read(&w, fd, out, sizeof(out));
	assert_non_null(strstr(out, "-32010"));
	assert_null(strstr(strstr(out, "-32010") + 1, "-32010"));
	expect(&w, fd, "\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"get\"}", "\"id\":3");
	close(fd);
	world_done(&w);
}

static void nesting_limit(void **state)
{
	struct world w;
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_greet(&w);
	for (uint32_t depth = MRC_CTL_DEPTH_MAX - 1; depth <= MRC_CTL_DEPTH_MAX + 1; depth++) {
		char line[512] = "";

		/* params is one level below the request. */
		strcat(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\",\"params\":");
		for (uint32_t i = 1; i < depth; i++)
			strcat(line, "[");
		for (uint32_t i = 1; i < depth; i++)
			strcat(line, "]");
		strcat(line, "}");
		expect(&w, fd, line, depth <= MRC_CTL_DEPTH_MAX ? "-32600" : "-32011");
	}
	close(fd);
	world_done(&w);
}

static void batch_limit(void **state)
{
	struct world w;
	char line[8192], out[8192];
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_greet(&w);
	for (uint32_t nb = MRC_RPC_BATCH_MAX - 1; nb <= MRC_RPC_BATCH_MAX + 1; nb++) {
		line[0] = '\0';
		w.service.calls = 0;
		for (uint32_t i = 0; i < nb; i++)
			strcat(strcat(line, i == 0 ? "[" : ","),
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}");
		strcat(line, "]\n");
		client_write(fd, line, strlen(line));
		client_read(&w, fd, out, sizeof(out));
		assert_int_equal(w.service.calls, nb <= MRC_RPC_BATCH_MAX ? nb : 0);
		assert_int_equal(strstr(out, "-32012") != NULL, nb > MRC_RPC_BATCH_MAX);
	}
	close(fd);
	world_done(&w);
}

static void client_limit(void **state)
{
	struct world w;
	int fds[MRC_CTL_CLIENTS_MAX + 1];
	char out[512];

	world_init(&w);
	world_open(&w);
	for (int i = 0; i < MRC_CTL_CLIENTS_MAX; i++)
		fds[i] = client_greet(&w);
	assert_int_equal(mrc_ctl_server_nb_clients(w.server), MRC_CTL_CLIENTS_MAX);
	fds[MRC_CTL_CLIENTS_MAX] = client_open(&w);
	assert_non_null(
		strstr(client_read(&w, fds[MRC_CTL_CLIENTS_MAX], out, sizeof(out)), "-32013"));
	assert_true(is_closed(&w, fds[MRC_CTL_CLIENTS_MAX]));
	close(fds[MRC_CTL_CLIENTS_MAX]);
	/* One goes, one may come; the others were not disturbed. */
	close(fds[0]);
	turns(&w, 2);
	fds[0] = client_greet(&w);
	for (int i = 0; i < MRC_CTL_CLIENTS_MAX; i++) {
		expect(&w, fds[i], "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}", "result");
		close(fds[i]);
	}
	world_done(&w);
}

static void idle_limit(void **state)
{
	struct world w;
	char out[512];
	int fd;

	world_init(&w);
	world_open(&w);
	fd = client_greet(&w);
	w.now_ns += w.cfg.idle_ns - 1;
	expect(&w, fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}", "result");
	w.now_ns += w.cfg.idle_ns - 1;
	assert_false(is_closed(&w, fd));
	w.now_ns += 1;
	assert_non_null(strstr(client_read(&w, fd, out, sizeof(out)), "-32014"));
	assert_true(is_closed(&w, fd));
	close(fd);
	/* Bytes that make no request do not count as life. */
	fd = client_greet(&w);
	for (int i = 0; i < 10; i++) {
		w.now_ns += w.cfg.idle_ns / 10;
		client_write(fd, " ", 1);
		turns(&w, 1);
	}
	assert_non_null(strstr(client_read(&w, fd, out, sizeof(out)), "-32014"));
	close(fd);
	world_done(&w);
}

static void output_limit(void **state)
{
	static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blow\"}\n";
	static char out[4 << 20];
	struct mrc_ctl_server_counters c;
	struct world w;
	size_t len = 0;
	int fd;

	world_init(&w);
	w.service.blow = 300000;
	world_open(&w);
	fd = client_greet(&w);
	/* Asks and asks and never reads. */
	for (int i = 0; i < 40; i++) {
		(void)!send(fd, call, strlen(call), MSG_NOSIGNAL);
		turns(&w, 2);
	}
	mrc_ctl_server_counters_get(w.server, &c);
	assert_true(c.limits >= 1);
	for (int i = 0; i < 400; i++) {
		ssize_t got = recv(fd, out + len, sizeof(out) - 1 - len, 0);

		len += got > 0 ? (size_t)got : 0;
		turns(&w, 1);
	}
	out[len] = '\0';
	assert_non_null(strstr(out, "-32015"));
	assert_true(is_closed(&w, fd));
	close(fd);
	/* One that does not even read the error is gone after a second. */
	fd = client_greet(&w);
	for (int i = 0; i < 40; i++) {
		(void)!send(fd, call, strlen(call), MSG_NOSIGNAL);
		turns(&w, 2);
	}
	assert_int_equal(mrc_ctl_server_nb_clients(w.server), 1);
	w.now_ns += SECOND;
	turns(&w, 1);
	assert_int_equal(mrc_ctl_server_nb_clients(w.server), 0);
	close(fd);
	world_done(&w);
}

/* ---- rude clients
 * ------------------------------------------------------------------------------*/

static void vanish_at_each_step(void **state)
{
	struct world w;

	world_init(&w);
	world_open(&w);
	for (uint32_t i = 0; i < 10000; i++) {
		int fd = client_open(&w);

		turns(&w, i % 3);
		if (i % 5 > 0)
			client_write(fd, HELLO, strlen(HELLO));
		turns(&w, i / 3 % 3);
		if (i % 5 > 1)
			client_write(fd, two_calls, strlen(two_calls) - i % 7);
		turns(&w, i / 9 % 3);
		close(fd);
		turns(&w, i % 2 + 1);
	}
	turns(&w, MRC_CTL_CLIENTS_MAX);
	assert_int_equal(mrc_ctl_server_nb_clients(w.server), 0);
	world_done(&w);
}

/* A client with a thousand requests in its pipe does not starve another. */
static void work_is_bounded_and_fair(void **state)
{
	static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}\n";
	static char many[1000 * (sizeof(call) - 1)];
	struct world w;
	char out[512];
	int greedy, modest;

	world_init(&w);
	world_open(&w);
	greedy = client_greet(&w);
	modest = client_greet(&w);
	for (int i = 0; i < 1000; i++)
		memcpy(many + (size_t)i * (sizeof(call) - 1), call, sizeof(call) - 1);
	client_write(greedy, many, sizeof(many));
	turns(&w, 1);
	w.service.calls = 0;
	assert_true(mrc_ctl_server_poll(w.server, w.now_ns) <= 4);
	assert_true(w.service.calls <= 4);
	client_write(modest, call, strlen(call));
	turns(&w, 2);
	assert_true(recv(modest, out, sizeof(out), 0) > 0);
	close(greedy);
	close(modest);
	world_done(&w);
}

/* ---- who may ----------------------------------------------------------------------------------*/

static void rights(void **state)
{
	static const char change[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\"}";
	static const char look[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\"}";
	const gid_t group = 4242;
	struct world w;
	int fd;

	if (geteuid() != 0)
		skip();
	world_init(&w);
	assert_int_equal(chmod(w.dir, 0755), 0);
	w.cfg.access = MRC_CTL_ACCESS_ALL;
	w.cfg.has_group = true;
	w.cfg.gid = group;
	world_open(&w);
	fd = client_greet(&w); /* root */
	expect(&w, fd, change, "result");
	close(fd);
	for (int i = 0; i < 3; i++) { /* a stranger; by first group; by another group */
		assert_int_equal(setgroups(i == 2 ? 1 : 0, &group), 0);
		assert_int_equal(setegid(i == 1 ? group : 65534), 0);
		assert_int_equal(seteuid(65534), 0);
		fd = client_open(&w);
		assert_int_equal(seteuid(0), 0);
		assert_int_equal(setegid(0), 0);
		client_write(fd, HELLO, strlen(HELLO));
		expect(&w, fd, look, "\"result\"");
		expect(&w, fd, change, i == 0 ? "-32002" : "\"result\"");
		close(fd);
	}
	assert_int_equal(setgroups(0, NULL), 0);
	world_done(&w);
}

static void modes(void **state)
{
	static const mode_t want[] = {0600, 0660, 0666}, folder[] = {0700, 0750, 0755};
	const mode_t old = umask(0);

	for (int access = MRC_CTL_ACCESS_OWNER; access <= MRC_CTL_ACCESS_ALL; access++) {
		struct world w;
		struct stat st;
		char dir[128];

		world_init(&w);
		w.cfg.access = (enum mrc_ctl_access)access;
		w.cfg.gid = getegid();
		world_open(&w);
		assert_int_equal(lstat(w.path, &st), 0);
		assert_int_equal(st.st_mode & 07777, want[access]);
		snprintf(dir, sizeof(dir), "%s/in", w.dir);
		assert_int_equal(lstat(dir, &st), 0);
		assert_int_equal(st.st_mode & 07777, folder[access]);
		world_done(&w);
	}
	umask(old);
}

/* ---- names that are there already
 * --------------------------------------------------------------*/

static void second_owner_is_refused(void **state)
{
	struct mrc_ctl_server *other = NULL;
	char reason[MRC_CTL_ERROR_LEN];
	struct world w;
	int fd;

	world_init(&w);
	world_open(&w);
	assert_int_equal(mrc_ctl_server_open(&w.cfg, &other, reason), MRC_ERR_BUSY);
	assert_non_null(strstr(reason, w.path));
	assert_null(other);
	fd = client_greet(&w); /* and the first one is as before */
	close(fd);
	world_done(&w);
}

/* A name bound by somebody who knows nothing of lock files. */
static int foreign_bind(const char *path, bool listening)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(un.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void stale_alive_and_foreign_names(void **state)
{
	char reason[MRC_CTL_ERROR_LEN];
	struct world w;
	FILE *file;
	int fd;

	world_init(&w);
	snprintf(w.path, sizeof(w.path), "%s/sock", w.dir);
	/* Dead: taken over. */
	close(foreign_bind(w.path, true));
	world_open(&w);
	close(client_greet(&w));
	mrc_ctl_server_close(w.server);
	w.server = NULL;
	assert_int_equal(access(w.path, F_OK), -1);
	/* Alive: left alone. */
	fd = foreign_bind(w.path, true);
	assert_int_equal(mrc_ctl_server_open(&w.cfg, &w.server, reason), MRC_ERR_BUSY);
	assert_int_equal(access(w.path, F_OK), 0);
	close(fd);
	unlink(w.path);
	/* No socket: left alone. */
	file = fopen(w.path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(mrc_ctl_server_open(&w.cfg, &w.server, reason), MRC_ERR_STATE);
	assert_int_equal(access(w.path, F_OK), 0);
	unlink(w.path);
	/* A folder that everybody may write to. */
	assert_int_equal(chmod(w.dir, 0777), 0);
	assert_int_equal(mrc_ctl_server_open(&w.cfg, &w.server, reason), MRC_ERR_STATE);
	assert_non_null(strstr(reason, "chmod o-w"));
	world_done(&w);
}

/* An old owner that dies late does not remove the name of its successor. */
static void late_death_spares_the_successor(void **state)
{
	struct world w;
	int fd;

	world_init(&w);
	snprintf(w.path, sizeof(w.path), "%s/sock", w.dir);
	world_open(&w);
	assert_int_equal(unlink(w.path), 0);
	fd = foreign_bind(w.path, true);
	mrc_ctl_server_close(w.server);
	w.server = NULL;
	assert_int_equal(access(w.path, F_OK), 0);
	close(fd);
	unlink(w.path);
	world_done(&w);
}

static void path_limit(void **state)
{
	char reason[MRC_CTL_ERROR_LEN], path[128];
	struct mrc_ctl_listen listen;

	memset(path, 'x', sizeof(path));
	path[108] = '\0';
	assert_int_equal(
		mrc_ctl_listen_open(&listen, path, MRC_CTL_ACCESS_OWNER, 0, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "shorter"));
	assert_int_equal(
		mrc_ctl_listen_open(&listen, "", MRC_CTL_ACCESS_OWNER, 0, reason), MRC_ERR_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_errors),
		cmocka_unit_test(split_at_every_byte),
		cmocka_unit_test(last_line_without_newline),
		cmocka_unit_test(request_length_limit),
		cmocka_unit_test(nesting_limit),
		cmocka_unit_test(batch_limit),
		cmocka_unit_test(client_limit),
		cmocka_unit_test(idle_limit),
		cmocka_unit_test(output_limit),
		cmocka_unit_test(vanish_at_each_step),
		cmocka_unit_test(work_is_bounded_and_fair),
		cmocka_unit_test(rights),
		cmocka_unit_test(modes),
		cmocka_unit_test(second_owner_is_refused),
		cmocka_unit_test(stale_alive_and_foreign_names),
		cmocka_unit_test(late_death_spares_the_successor),
		cmocka_unit_test(path_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
