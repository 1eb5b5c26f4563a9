/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped files that somebody cuts short while they are used. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "area.h"
#include "reason.h"

#define LEN (5 * 4096 + 100)

static char path[32];
static char reason[MRC_REASON];

static int setup(void **state)
{
	uint8_t bytes[LEN];
	int fd;

	strcpy(path, "/tmp/mrc-area-XXXXXX");
	fd = mkstemp(path);
	memset(bytes, 0xA5, sizeof(bytes));
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return -1;
	reason[0] = '\0';
	return close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

static void a_file_is_read_whole(void **state)
{
	struct mrc_area area;

	assert_int_equal(mrc_area_map(&area, path, LEN, false, NULL, reason), MRC_OK);
	assert_int_equal(area.mem[0], 0xA5);
	assert_int_equal(area.mem[LEN - 1], 0xA5);
	assert_false(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
	assert_null(area.mem);
}

static void what_was_cut_off_reads_as_zeros(void **state)
{
	struct mrc_area area;

	assert_int_equal(mrc_area_map(&area, path, LEN, false, NULL, reason), MRC_OK);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(area.mem[4095], 0xA5);
	assert_int_equal(area.mem[4096], 0);
	assert_int_equal(area.mem[LEN - 1], 0);
	assert_true(mrc_area_is_hurt(&area));
	/* It stays hurt when the length comes back: what was read is lost. */
	assert_int_equal(truncate(path, LEN), 0);
	assert_true(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
	/* The next one begins without a stain. */
	assert_int_equal(mrc_area_map(&area, path, LEN, false, NULL, reason), MRC_OK);
	assert_false(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
}

/* Inside the last page nothing is gone: only the length tells. */
static void a_cut_that_no_signal_tells_is_noticed(void **state)
{
	struct mrc_area area;

	assert_int_equal(mrc_area_map(&area, path, LEN, false, NULL, reason), MRC_OK);
	assert_int_equal(truncate(path, LEN - 1), 0);
	assert_int_equal(area.mem[LEN - 1], 0);
	assert_true(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
}

static void what_is_written_behind_the_cut_stays_readable(void **state)
{
	struct mrc_area area;
	struct stat st;

	assert_int_equal(mrc_area_map(&area, path, LEN, true, NULL, reason), MRC_OK);
	assert_int_equal(area.mem[0], 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, LEN);
	area.mem[0] = 1;
	assert_int_equal(truncate(path, 1), 0);
	area.mem[2 * 4096 + 5] = 7;
	assert_int_equal(area.mem[2 * 4096 + 5], 7);
	assert_int_equal(area.mem[0], 1);
	assert_true(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
}

static void refused(uint64_t len, bool write, const struct mrc_area *spared, const char *hint)
{
	struct mrc_area area = {.mem = NULL};

	assert_int_equal(mrc_area_map(&area, path, len, write, spared, reason), MRC_ERR_INVAL);
	if (strstr(reason, hint) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", reason, hint);
	assert_null(area.mem);
}

static void what_cannot_be_is_refused(void **state)
{
	struct mrc_area source;
	struct stat st;
	char kept[sizeof(path)];

	refused(LEN + 1, false, NULL, "cut short");
	refused(1ull << 62, true, NULL, "workload.store");
	assert_int_equal(setup(NULL), 0);
	assert_int_equal(mrc_area_map(&source, path, LEN, false, NULL, reason), MRC_OK);
	refused(LEN, true, &source, "is the file that is sent");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, LEN);
	assert_false(mrc_area_is_hurt(&source));
	mrc_area_free(&source);
	memcpy(kept, path, sizeof(path));
	strcpy(path, "/nonexistent/file");
	refused(LEN, false, NULL, "No such file");
	refused(LEN, true, NULL, "No such file");
	memcpy(path, kept, sizeof(path));
}

/* A fault of another cause still ends the process by its signal. */
static void other_faults_stay_fatal(void **state)
{
	struct mrc_area area;
	int status;
	pid_t child;

	assert_int_equal(mrc_area_map(&area, path, LEN, false, NULL, reason), MRC_OK);
	child = fork();
	if (child == 0) {
		raise(SIGBUS);
		raise(SIGBUS);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	mrc_area_free(&area);
}

static void plain_memory_is_never_hurt(void **state)
{
	struct mrc_area area;

	assert_int_equal(mrc_area_alloc(&area, 100000, reason), MRC_OK);
	assert_int_equal(area.mem[99999], 0);
	assert_false(mrc_area_is_hurt(&area));
	mrc_area_free(&area);
	assert_int_equal(mrc_area_alloc(&area, 1ull << 60, reason), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "lower"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read_whole),
		TEST(what_was_cut_off_reads_as_zeros),
		TEST(a_cut_that_no_signal_tells_is_noticed),
		TEST(what_is_written_behind_the_cut_stays_readable),
		TEST(what_cannot_be_is_refused),
		TEST(other_faults_stay_fatal),
		TEST(plain_memory_is_never_hurt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
