/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor reads: files below a root, and facts about the process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "doctor_private.h"

static void path_make(const struct doctor *doc, char *path, const char *fmt, va_list args)
{
	int n = snprintf(path, PATH_MAX, "%s", doc->host->root);

	vsnprintf(path + n, (size_t)(PATH_MAX - n), fmt, args);
}

static bool file_read(const char *path, char *out, uint32_t room)
{
	FILE *file = fopen(path, "r");
	size_t len;

	if (file == NULL)
		return false;
	len = fread(out, 1, room - 1, file);
	if (ferror(file) != 0)
		len = 0;
	fclose(file);
	if (len > 0 && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	return true;
}

bool mrc_doctor_file(const struct doctor *doc, char *out, uint32_t room, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	path_make(doc, path, fmt, args);
	va_end(args);
	return file_read(path, out, room);
}

bool mrc_doctor_number(const struct doctor *doc, uint64_t *value_out, const char *fmt, ...)
{
	char path[PATH_MAX], text[64], *end;
	va_list args;
	uint64_t value;

	va_start(args, fmt);
	path_make(doc, path, fmt, args);
	va_end(args);
	if (!file_read(path, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return false;
	value = strtoull(text, &end, 10);
	if (*end != '\0')
		return false;
	*value_out = value;
	return true;
}

bool mrc_doctor_exists(const struct doctor *doc, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	path_make(doc, path, fmt, args);
	va_end(args);
	return access(path, F_OK) == 0;
}

bool mrc_doctor_writable(const struct doctor *doc, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	path_make(doc, path, fmt, args);
	va_end(args);
	return access(path, W_OK) == 0;
}

bool mrc_doctor_link(const struct doctor *doc, char *out, uint32_t room, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	va_list args;
	ssize_t len;

	va_start(args, fmt);
	path_make(doc, path, fmt, args);
	va_end(args);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	slash = strrchr(target, '/');
	snprintf(out, room, "%s", slash != NULL ? slash + 1 : target);
	return true;
}

static uint64_t caps_read(void)
{
	char text[4096];
	const char *line;

	if (!file_read("/proc/self/status", text, sizeof(text)))
		return 0;
	line = strstr(text, "CapEff:");
	return line != NULL ? strtoull(line + 7, NULL, 16) : 0;
}

void mrc_doctor_host_read(struct mrc_doctor_host *host_out)
{
	struct rlimit limit = {.rlim_cur = 0};
	cpu_set_t set;

	*host_out = (struct mrc_doctor_host){.root = "", .sample_ms = 200};
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (uint32_t cpu = 0; cpu < CPU_SETSIZE && cpu < MRC_DOCTOR_CPUS; cpu++)
			if (CPU_ISSET(cpu, &set))
				mrc_cpuset_add(&host_out->cpus, cpu);
	host_out->is_root = geteuid() == 0;
	host_out->caps = caps_read();
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		host_out->memlock_len =
			limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}
