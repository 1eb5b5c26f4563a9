/* SPDX-License-Identifier: BSD-2-Clause */
/* The out-of-band connection: framing, hostile lines, stale and live socket files. */
#include <sched.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "oob.h"

static volatile sig_atomic_t stop;
static char folder[] = "/tmp/mrc-test-oob-XXXXXX";
static char path[sizeof(folder) + 8];
static char reason[MRC_REASON];

/* One end as the module sees it, the other as a plain descriptor. */
static int pair(struct mrc_oob *oob)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*oob = (struct mrc_oob){.fd = fds[0]};
	return fds[1];
}

static void say(int fd, const char *text, size_t len)
{
	assert_int_equal(write(fd, text, len), (ssize_t)len);
}

static void assert_number(json_t *msg, int want)
{
	assert_non_null(msg);
	assert_int_equal(json_integer_value(json_object_get(msg, "n")), want);
	json_decref(msg);
}

static void a_line_split_anywhere_is_one_message(void **state)
{
	static const char line[] = "{\"n\": 7, \"s\": \"} {\\n\"}\n";
	const size_t len = sizeof(line) - 1;

	for (size_t cut = 0; cut <= len; cut++) {
		struct mrc_oob oob;
		int fd = pair(&oob);

		if (cut > 0)
			say(fd, line, cut);
		if (cut < len) {
			assert_null(mrc_oob_recv(&oob, 0, &stop));
			assert_false(oob.closed);
			say(fd, line + cut, len - cut);
		}
		assert_number(mrc_oob_recv(&oob, 1000, &stop), 7);
		assert_null(mrc_oob_recv(&oob, 0, &stop));
		close(fd);
		mrc_oob_close(&oob);
	}
}

static void many_lines_in_one_piece_keep_their_order(void **state)
{
	struct mrc_oob oob;
	int fd = pair(&oob);
	char text[4096];
	size_t used = 0;

	for (int i = 0; i < 100; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "{\"n\": %d}\n", i);
	say(fd, text, used);
	/* What was sent before the end is still delivered. */
	close(fd);
	for (int i = 0; i < 100; i++)
		assert_number(mrc_oob_recv(&oob, 1000, &stop), i);
	assert_null(mrc_oob_recv(&oob, 1000, &stop));
	assert_true(oob.closed);
	mrc_oob_close(&oob);
}

static void nonsense_closes_the_connection(void **state)
{
	static const char *const bad[] = {"nonsense\n", "[1]\n", "{\"a\": 1\n", "\n", "42\n",
		"{\"a\": 1, \"a\": 2}\n", "{\"a\": 1} {\"b\": 2}\n", "\xff\xfe\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mrc_oob oob;
		int fd = pair(&oob);

		say(fd, bad[i], strlen(bad[i]));
		assert_null(mrc_oob_recv(&oob, 1000, &stop));
		assert_true(oob.closed);
		close(fd);
		mrc_oob_close(&oob);
	}
}

static void a_line_without_end_is_cut_off(void **state)
{
	struct mrc_oob oob;
	int fd = pair(&oob);
	char *block = malloc(65536);
	uint64_t sent = 0;

	memset(block, 'x', 65536);
	while (!oob.closed) {
		ssize_t n = send(fd, block, 65536, MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? (uint64_t)n : 0;
		assert_null(mrc_oob_recv(&oob, 0, &stop));
		assert_true(sent < 2 * MRC_OOB_LINE_MAX);
	}
	assert_true(oob.line_room <= MRC_OOB_LINE_MAX);
	free(block);
	close(fd);
	mrc_oob_close(&oob);
}

static void a_sent_message_is_one_line(void **state)
{
	struct mrc_oob oob;
	int fd = pair(&oob);
	char got[64] = "";

	assert_int_equal(mrc_oob_send(&oob, json_pack("{s:i}", "n", 5)), MRC_OK);
	assert_int_equal(read(fd, got, sizeof(got) - 1), 8);
	assert_string_equal(got, "{\"n\":5}\n");
	close(fd);
	assert_int_equal(mrc_oob_send(&oob, json_pack("{s:i}", "n", 5)), MRC_ERR_STATE);
	assert_true(oob.closed);
	mrc_oob_close(&oob);
}

static int socket_at(const char *name, bool listening)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", name);
	assert_int_equal(bind(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static struct mrc_cfg_oob listener(uint64_t wait_ns)
{
	struct mrc_cfg_oob cfg = {.mode = MRC_OOB_LISTEN, .wait_ns = wait_ns};

	snprintf(cfg.address, sizeof(cfg.address), "unix:%s", path);
	return cfg;
}

static void a_stale_socket_is_replaced_and_removed(void **state)
{
	struct mrc_cfg_oob cfg = listener(1000000);
	struct mrc_oob oob;

	close(socket_at(path, true));
	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "no peer came"));
	assert_int_equal(access(path, F_OK), -1);
}

static void a_live_socket_is_left_alone(void **state)
{
	struct mrc_cfg_oob cfg = listener(1000000);
	int fd = socket_at(path, true);
	struct mrc_oob oob;

	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "another process"));
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	unlink(path);
}

static int connected(pid_t listener)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	assert_true(fd >= 0);
	while (connect(fd, (struct sockaddr *)&un, sizeof(un)) != 0) {
		if (waitpid(listener, NULL, WNOHANG) != 0)
			fail_msg("the listener has ended");
		sched_yield();
	}
	return fd;
}

/* A second process on the same socket looks whether somebody listens; the first one still waits for
 * its peer. */
static void who_only_looks_is_no_peer(void **state)
{
	struct mrc_cfg_oob cfg = {.mode = MRC_OOB_LISTEN, .wait_ns = 60000000000ull};
	pid_t child = fork();
	int fd, status = 0;

	snprintf(cfg.address, sizeof(cfg.address), "unix:%s", path);
	assert_true(child >= 0);
	if (child == 0) {
		struct mrc_oob oob;
		int err = mrc_oob_open(&oob, &cfg, &stop, reason);
		json_t *msg = err == MRC_OK ? mrc_oob_recv(&oob, 60000, &stop) : NULL;

		_exit(json_integer_value(json_object_get(msg, "n")) == 7 ? 0 : 1);
	}
	for (int i = 0; i < 3; i++)
		close(connected(child));
	fd = connected(child);
	say(fd, "{\"n\": 7}\n", 9);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd);
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
	struct mrc_cfg_oob cfg = listener(1000000);
	FILE *file = fopen(path, "w");
	struct mrc_oob oob;

	assert_non_null(file);
	fclose(file);
	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "no socket"));
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

static void nobody_to_connect_to_is_an_error_in_time(void **state)
{
	struct mrc_cfg_oob cfg = listener(1000000);
	struct mrc_oob oob;

	cfg.mode = MRC_OOB_CONNECT;
	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, path));
	assert_non_null(strstr(reason, "oob.connect"));
}

static void a_signal_ends_the_wait(void **state)
{
	struct mrc_cfg_oob cfg = listener(3600ull * 1000000000);
	struct mrc_oob oob;

	stop = 1;
	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_STATE);
	assert_int_equal(access(path, F_OK), -1);
	cfg.mode = MRC_OOB_CONNECT;
	assert_int_equal(mrc_oob_open(&oob, &cfg, &stop, reason), MRC_ERR_STATE);
	stop = 0;
}

static int setup(void **state)
{
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	return 0;
}

static int teardown(void **state)
{
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_split_anywhere_is_one_message),
		cmocka_unit_test(many_lines_in_one_piece_keep_their_order),
		cmocka_unit_test(nonsense_closes_the_connection),
		cmocka_unit_test(a_line_without_end_is_cut_off),
		cmocka_unit_test(a_sent_message_is_one_line),
		cmocka_unit_test(a_stale_socket_is_replaced_and_removed),
		cmocka_unit_test(a_live_socket_is_left_alone),
		cmocka_unit_test(who_only_looks_is_no_peer),
		cmocka_unit_test(a_file_that_is_no_socket_is_left_alone),
		cmocka_unit_test(nobody_to_connect_to_is_an_error_in_time),
		cmocka_unit_test(a_signal_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
