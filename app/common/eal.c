/* SPDX-License-Identifier: BSD-2-Clause */
#include "eal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "device.h"

/* True when `arg` is option `name` or `name=value`. */
static bool is_option(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) == 0 && (arg[len] == '\0' || arg[len] == '=');
}

/* Short options of EAL take their value glued or apart: "-m512" or "-m 512". */
static bool is_short(const char *arg, char letter)
{
	return arg[0] == '-' && arg[1] == letter;
}

static bool names_size(const char *arg)
{
	return is_short(arg, 'm') || is_option(arg, "--socket-mem");
}

static bool names_pages(const char *arg)
{
	return is_option(arg, "--no-huge") || is_option(arg, "--socket-mem") ||
	       is_option(arg, "--huge-dir") || is_option(arg, "--huge-unlink") ||
	       is_option(arg, "--in-memory") || is_option(arg, "--legacy-mem") ||
	       is_option(arg, "--single-file-segments");
}

static bool names_lcores(const char *arg)
{
	return is_short(arg, 'l') || is_short(arg, 'c') || is_option(arg, "--lcores");
}

static bool names_prefix(const char *arg)
{
	return is_option(arg, "--file-prefix");
}

static bool names_log(const char *arg)
{
	return is_option(arg, "--log-level");
}

static bool names_pci(const char *arg)
{
	return is_option(arg, "--no-pci") || is_short(arg, 'a') || is_option(arg, "--allow") ||
	       is_short(arg, 'b') || is_option(arg, "--block");
}

static bool any(const char *const *args, uint32_t nb, bool (*test)(const char *))
{
	for (uint32_t i = 0; i < nb; i++)
		if (test(args[i]))
			return true;
	return false;
}

static bool plan_names(const struct mrc_eal_plan *plan, bool (*test)(const char *))
{
	return any(plan->file_args, plan->nb_file_args, test) ||
	       any(plan->cli_args, plan->nb_cli_args, test);
}

static int put(struct mrc_eal_args *args, const char *text)
{
	if (args->argc >= MRC_EAL_MAX_ARGS)
		return MRC_ERR_TOOBIG;
	args->argv[args->argc] = strdup(text);
	if (args->argv[args->argc] == NULL)
		return MRC_ERR_NOMEM;
	args->argc++;
	return MRC_OK;
}

static int put_pair(struct mrc_eal_args *args, const char *name, const char *value)
{
	int err = put(args, name);

	return err ? err : put(args, value);
}

static int put_memory(struct mrc_eal_args *args, const struct mrc_eal_plan *plan)
{
	char mib[16];
	int err = MRC_OK;

	/* Files of hugepages must not outlive a killed process. */
	if (!plan_names(plan, names_pages))
		err = put(args, plan->hugepages ? "--huge-unlink=always" : "--no-huge");
	if (err || plan->memory_mib == 0 || plan_names(plan, names_size))
		return err;
	snprintf(mib, sizeof(mib), "%u", plan->memory_mib);
	return put_pair(args, "-m", mib);
}

static int put_devices(struct mrc_eal_args *args, const struct mrc_eal_plan *plan)
{
	int err = MRC_OK;

	for (uint32_t i = 0; i < plan->nb_vdevs && !err; i++)
		err = put_pair(args, "--vdev", plan->vdevs[i]);
	for (uint32_t i = 0; i < plan->nb_pcis && !err; i++)
		err = put_pair(args, "-a", plan->pcis[i]);
	if (!err && plan->nb_pcis == 0 && !plan_names(plan, names_pci))
		err = put(args, "--no-pci");
	return err;
}

/*
 * The file's arguments, without its lcore choice when the command line makes one (EAL refuses
 * two).
 */
static int put_given(struct mrc_eal_args *args, const struct mrc_eal_plan *plan)
{
	bool cli_lcores = any(plan->cli_args, plan->nb_cli_args, names_lcores);
	int err = MRC_OK;

	for (uint32_t i = 0; i < plan->nb_file_args && !err; i++) {
		if (cli_lcores && names_lcores(plan->file_args[i])) {
			bool apart = strcmp(plan->file_args[i], "-l") == 0 ||
				     strcmp(plan->file_args[i], "-c") == 0 ||
				     strcmp(plan->file_args[i], "--lcores") == 0;

			i += apart ? 1 : 0;
			continue;
		}
		err = put(args, plan->file_args[i]);
	}
	for (uint32_t i = 0; i < plan->nb_cli_args && !err; i++)
		err = put(args, plan->cli_args[i]);
	if (!err && plan->lcores && !plan_names(plan, names_lcores))
		err = put_pair(args, strpbrk(plan->lcores, "@(") ? "--lcores" : "-l", plan->lcores);
	return err;
}

int mrc_eal_args_build(struct mrc_eal_args *args_out, const struct mrc_eal_plan *plan)
{
	struct mrc_eal_args args = {.argc = 0};
	int err = put(&args, "mrc-dp");

	if (!err)
		err = put_given(&args, plan);
	if (!err)
		err = put_memory(&args, plan);
	if (!err)
		err = put_devices(&args, plan);
	if (!err && !plan_names(plan, names_prefix))
		err = put_pair(&args, "--file-prefix", plan->prefix);
	/* net_memif complains aloud while the server is not there yet. EAL applies the last pattern
	 * first to drivers that it loads later, so that the general one stands behind. */
	if (!err && !plan_names(plan, names_log) &&
		any(plan->vdevs, plan->nb_vdevs, mrc_device_is_memif))
		err = put(&args, "--log-level=pmd.net.memif:critical");
	if (!err && !plan_names(plan, names_log))
		err = put(&args, "--log-level=*:error");
	if (err) {
		mrc_eal_args_free(&args);
		return err;
	}
	*args_out = args;
	return MRC_OK;
}

void mrc_eal_args_free(struct mrc_eal_args *args)
{
	for (int i = 0; i < args->argc; i++)
		free(args->argv[i]);
	args->argc = 0;
}

static uint64_t read_number(const char *path)
{
	unsigned long long value = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

uint32_t mrc_eal_hugepages_free_mib(void)
{
	static const char root[] = "/sys/kernel/mm/hugepages";
	uint64_t kib = 0;
	DIR *dir = opendir(root);
	struct dirent *entry;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		unsigned long long size_kib;
		char path[512];

		if (sscanf(entry->d_name, "hugepages-%llukB", &size_kib) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", root, entry->d_name);
		kib += size_kib * read_number(path);
	}
	closedir(dir);
	return (uint32_t)(kib / 1024);
}

/* Copies the line that begins at `text` without spaces around it; returns where the next begins. */
static const char *line_take(const char *text, char *out, uint32_t room)
{
	const char *end = text + strcspn(text, "\n");
	const char *last = end;

	while (text < last && *text == ' ')
		text++;
	while (last > text && last[-1] == ' ')
		last--;
	snprintf(out, room, "%.*s", (int)(last - text), text);
	return *end == '\n' ? end + 1 : end;
}

/* What getopt printed about an option, without the program's name. */
static bool option_line(const char *text, char *out, uint32_t room)
{
	char line[256];

	while (*text != '\0') {
		const char *colon;

		text = line_take(text, line, sizeof(line));
		if (strstr(line, "option") == NULL || strchr(line, '\'') == NULL ||
			strncmp(line, "EAL", 3) == 0)
			continue;
		colon = strstr(line, ": ");
		snprintf(out, room, "%s", colon != NULL ? colon + 2 : line);
		return true;
	}
	return false;
}

/* How EAL says that it gave up because of its arguments, before it started anything. */
static const char refusal[] = "'command line'";

/* The first thing that EAL complained of is the cause; what follows only says that it gave up. */
static void cause_find(const char *printed, const char *said, char *out, uint32_t room)
{
	out[0] = '\0';
	if (option_line(printed, out, room))
		return;
	while (*said != '\0' && (out[0] == '\0' || strstr(out, refusal) != NULL))
		said = line_take(said, out, room);
	if (out[0] == '\0' && *printed != '\0')
		line_take(printed, out, room);
}

/*
 * EAL prints its whole usage, and getopt its complaints, when an argument is wrong; one line says
 * it too. While it starts, both streams go to a file in memory.
 */
struct hush {
	int out, err, file;
};

static void hushed_begin(const struct mrc_eal_args *args, struct hush *hush)
{
	*hush = (struct hush){-1, -1, -1};
	/* "--log-level=help" is asked for and ends the process. */
	for (int i = 0; i < args->argc; i++)
		if (strstr(args->argv[i], "help"))
			return;
	fflush(stdout);
	fflush(stderr);
	hush->file = memfd_create("eal", MFD_CLOEXEC);
	hush->out = dup(STDOUT_FILENO);
	hush->err = dup(STDERR_FILENO);
	if (hush->file < 0 || hush->out < 0 || hush->err < 0)
		return;
	dup2(hush->file, STDOUT_FILENO);
	dup2(hush->file, STDERR_FILENO);
}

/* Gives the streams back; out: what was printed meanwhile. */
static void hushed_end(struct hush *hush, char *out, size_t room)
{
	ssize_t len = 0;

	fflush(stdout);
	fflush(stderr);
	if (hush->out >= 0)
		dup2(hush->out, STDOUT_FILENO);
	if (hush->err >= 0)
		dup2(hush->err, STDERR_FILENO);
	if (hush->file >= 0)
		len = pread(hush->file, out, room - 1, 0);
	out[len > 0 ? len : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		const int fd = i == 0 ? hush->out : i == 1 ? hush->err : hush->file;

		if (fd >= 0)
			close(fd);
	}
}

int mrc_eal_start(struct mrc_eal_args *args, char *reason_out, uint32_t room)
{
	char *said = NULL, printed[2048];
	size_t said_len = 0;
	FILE *sink = open_memstream(&said, &said_len);
	struct hush hush;
	int used, err = MRC_OK;

	hushed_begin(args, &hush);
	if (sink)
		rte_openlog_stream(sink);
	/* EAL reorders its vector, doubles an entry and keeps pointers into it: it gets one of its
	 * own, which lives until mrc_eal_args_free. */
	memcpy(args->given, args->argv, sizeof(args->given));
	used = rte_eal_init(args->argc, args->given);
	hushed_end(&hush, printed, sizeof(printed));
	rte_openlog_stream(NULL);
	if (sink)
		fclose(sink);
	if (used < 0) {
		const char *log = said ? said : "";

		err = strstr(log, refusal) || strstr(printed, refusal) ? MRC_ERR_INVAL
								       : MRC_ERR_STATE;
		cause_find(printed, log, reason_out, room);
		if (reason_out[0] == '\0')
			snprintf(reason_out, room, "%s", rte_strerror(rte_errno));
	} else if (used + 1 < args->argc) {
		/* It moved what is no option behind the options. */
		snprintf(reason_out, room, "\"%s\" is no option", args->given[used + 1]);
		/* The process ends; drivers that were not opened do not all bear to be cleaned up.
		 */
		mrc_eal_stop(false);
		err = MRC_ERR_INVAL;
	}
	free(said);
	return err;
}

struct errand {
	void (*run)(void *ctx);
	void *ctx;
	_Atomic bool done;
};

static void errand_run(void *arg)
{
	struct errand *errand = arg;

	errand->run(errand->ctx);
	atomic_store_explicit(&errand->done, true, memory_order_release);
}

void mrc_eal_interrupt_run(void (*run)(void *ctx), void *ctx)
{
	struct errand errand = {.run = run, .ctx = ctx};

	if (rte_eal_alarm_set(1, errand_run, &errand) != 0) {
		run(ctx);
		return;
	}
	while (!atomic_load_explicit(&errand.done, memory_order_acquire))
		rte_delay_us_sleep(100);
}

static void nothing(void *ctx)
{
}

/*
 * Lets EAL's interrupt thread come to rest. Cleanup frees the handle of its alarms without asking,
 * and the thread walks over it when it still has a change of its list to digest.
 */
static void interrupts_rest(void)
{
	for (int i = 0; i < 3; i++) {
		mrc_eal_interrupt_run(nothing, NULL);
		rte_delay_us_sleep(1000);
	}
}

void mrc_eal_stop(bool cleanup)
{
	char path[512];
	DIR *dir;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s", rte_eal_get_runtime_dir());
	if (cleanup) {
		interrupts_rest();
		rte_eal_cleanup();
	}
	dir = path[0] ? opendir(path) : NULL;
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(path);
}

void mrc_eal_leave(int code)
{
	mrc_eal_stop(false);
	fflush(NULL);
	_exit(code);
}
