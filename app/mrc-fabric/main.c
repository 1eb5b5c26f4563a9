/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_stdio.h"
#include "eal.h"
#include "fab_config.h"
#include "fab_loop.h"
#include "osenv.h"

enum {
	EXIT_GOOD = 0,
	EXIT_LOST = 1,   /* standard output could not be written */
	EXIT_CONFIG = 2, /* command line or configuration refused, nothing started */
	EXIT_START = 3,  /* memory, device or socket missing */
};

struct options {
	const char *config;
	bool help, version, check, quiet;
	const char *eal[MRC_EAL_MAX_ARGS / 2];
	uint32_t nb_eal;
};

/* The only thing a signal may do. */
static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
	stop_signal = number;
}

static void signals_set(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* The terminal is gone, unless nohup wants us to go on. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int complain(const char *source, int code, const char *text)
{
	fprintf(stderr, "mrc-fabric: %s: %s\n", source, text);
	return code;
}

static void help(FILE *out)
{
	fputs("mrc-fabric " MRC_VERSION
	      " - emulated multi-plane fabric between processes, in real time\n\n"
	      "usage: mrc-fabric -c FILE [options] [EAL options]\n\n"
	      "  -c, --config FILE  configuration (JSON; config/mrc-fabric.schema.json describes "
	      "it)\n"
	      "  --check            check the configuration and end\n"
	      "  --quiet            say nothing but errors\n"
	      "  --version, --help\n\n"
	      "Everything else is passed to DPDK's EAL (-l, -m, --no-huge, --log-level, ...).\n"
	      "mrc-ctl talks to it while it runs. SIGINT, SIGTERM and SIGHUP end it.\n"
	      "Exit: 0 ended by a signal, 1 standard output lost, 2 command line or "
	      "configuration\nrefused, 3 cannot start.\n",
		out);
}

static int options_parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--config") == 0) {
			if (++i == argc)
				return complain("command line", EXIT_CONFIG, "-c needs a file");
			o->config = argv[i];
		} else if (strncmp(argv[i], "--config=", 9) == 0) {
			o->config = argv[i] + 9;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			o->help = true;
		} else if (strcmp(argv[i], "--version") == 0) {
			o->version = true;
		} else if (strcmp(argv[i], "--check") == 0) {
			o->check = true;
		} else if (strcmp(argv[i], "--quiet") == 0) {
			o->quiet = true;
		} else if (strcmp(argv[i], "--") != 0) {
			if (o->nb_eal == MRC_EAL_MAX_ARGS / 2)
				return complain("command line", EXIT_CONFIG, "too many arguments");
			o->eal[o->nb_eal++] = argv[i];
		}
	}
	return EXIT_GOOD;
}

/* One lcore is enough: the last CPU that the process may use. */
static const char *lcore_default(char *out, size_t room)
{
	cpu_set_t set;
	int last = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			last = cpu;
	snprintf(out, room, "%d", last);
	return out;
}

/* Everything that EAL's arguments point to. */
struct eal_texts {
	const char *file_args[MRC_FAB_MAX_EAL];
	const char *vdevs[MRC_FAB_MAX_HOSTS * MRC_MAX_PLANES];
	const char *pcis[MRC_FAB_MAX_HOSTS * MRC_MAX_PLANES];
	char devices[MRC_FAB_MAX_HOSTS * MRC_MAX_PLANES][MRC_DEVICE_TEXT + 64];
	char prefix[32], lcores[16];
};

static int devices_plan(const char *source, const struct mrc_fab_cfg *cfg,
	struct mrc_eal_plan *plan, struct eal_texts *t)
{
	char reason[MRC_REASON];

	for (uint32_t n = 0; n < cfg->nb_hosts * cfg->nb_planes; n++) {
		const char *device = cfg->hosts[n / cfg->nb_planes].ports[n % cfg->nb_planes];

		if (strcmp(device, "none") == 0)
			continue;
		if (strncmp(device, "net_", 4) != 0) {
			t->pcis[plan->nb_pcis++] = device;
			continue;
		}
		if (mrc_device_socket_free(device, reason, sizeof(reason)) != MRC_OK)
			return complain(source, EXIT_START, reason);
		mrc_device_complete(
			device, mrc_device_ring_frame_len(cfg->mtu), t->devices[plan->nb_vdevs]);
		t->vdevs[plan->nb_vdevs] = t->devices[plan->nb_vdevs];
		plan->nb_vdevs++;
	}
	return EXIT_GOOD;
}

static int eal_up(const struct options *o, const struct mrc_fab_cfg *cfg, struct eal_texts *t,
	struct mrc_eal_args *args)
{
	struct mrc_eal_plan plan = {.file_args = t->file_args,
		.nb_file_args = cfg->nb_eal,
		.cli_args = o->eal,
		.nb_cli_args = o->nb_eal,
		.vdevs = t->vdevs,
		.pcis = t->pcis,
		.memory_mib = cfg->memory_mib != 0 ? cfg->memory_mib : mrc_fab_memory_mib(cfg),
		.hugepages = cfg->hugepages,
		.prefix = t->prefix};
	char reason[MRC_REASON], text[MRC_REASON + 64];
	int code = devices_plan(o->config, cfg, &plan, t), err;

	if (code)
		return code;
	for (uint32_t i = 0; i < cfg->nb_eal; i++)
		t->file_args[i] = cfg->eal[i];
	snprintf(t->prefix, sizeof(t->prefix), "mrc-fabric-%d", (int)getpid());
	plan.lcores =
		cfg->lcores[0] != '\0' ? cfg->lcores : lcore_default(t->lcores, sizeof(t->lcores));
	if (!plan.hugepages && plan.memory_mib > mrc_osmem_available() >> 20) {
		snprintf(text, sizeof(text),
			"memory.mib: %u MiB are wanted and %llu available; lower it, or "
			"\"fabric.packets\" and \"descriptors\"",
			plan.memory_mib, (unsigned long long)(mrc_osmem_available() >> 20));
		return complain(o->config, EXIT_CONFIG, text);
	}
	if (mrc_eal_args_build(args, &plan) != MRC_OK)
		return complain(o->config, EXIT_CONFIG, "eal: too many arguments or devices");
	err = mrc_eal_start(args, reason, sizeof(reason));
	if (err == MRC_OK)
		return EXIT_GOOD;
	snprintf(text, sizeof(text), "eal: DPDK does not start: %s", reason);
	mrc_eal_args_free(args);
	return complain(o->config, err == MRC_ERR_INVAL ? EXIT_CONFIG : EXIT_START, text);
}

static void say_ready(const struct mrc_fab_loop *loop)
{
	const struct mrc_fab_cfg *cfg = loop->cfg;

	printf("mrc-fabric: %u planes, %u leaves, %u spines, %u hosts on %u ports; control socket "
	       "%s; ready\n",
		cfg->nb_planes, cfg->fabric.leaves, cfg->fabric.spines, cfg->nb_hosts,
		loop->nb_ports, cfg->control.path[0] != '\0' ? cfg->control.path : "none");
}

static void say_end(const struct mrc_fab_loop *loop)
{
	struct mrc_fabric_totals t;
	const char *fault = mrc_fabric_check(loop->ctl.fabric);

	mrc_fabric_totals_get(loop->ctl.fabric, &t);
	printf("mrc-fabric: %llu packets in, %llu copied, %llu out, %llu dropped, %llu under way; "
	       "counters %s\n",
		(unsigned long long)t.sent, (unsigned long long)t.copies,
		(unsigned long long)t.delivered, (unsigned long long)t.dropped,
		(unsigned long long)(t.in_flight + t.unread), fault == NULL ? "balance" : fault);
}

static bool has_memif(const struct mrc_fab_cfg *cfg)
{
	for (uint32_t n = 0; n < cfg->nb_hosts * cfg->nb_planes; n++)
		if (mrc_device_is_memif(cfg->hosts[n / cfg->nb_planes].ports[n % cfg->nb_planes]))
			return true;
	return false;
}

static void leave_at_once(struct mrc_fab_loop *loop, int code)
{
	const struct mrc_fab_cfg *cfg = loop->cfg;

	if (loop->server != NULL)
		mrc_ctl_server_close(loop->server);
	for (uint32_t n = 0; n < cfg->nb_hosts * cfg->nb_planes && loop->nb_ports > 0; n++)
		mrc_device_socket_remove(cfg->hosts[n / cfg->nb_planes].ports[n % cfg->nb_planes]);
	mrc_eal_leave(mrc_ctl_stdio_end("mrc-fabric", code, EXIT_LOST));
}

static int run(const struct options *o, const struct mrc_fab_cfg *cfg, struct eal_texts *texts)
{
	struct mrc_fab_loop *loop = calloc(1, sizeof(*loop));
	struct mrc_eal_args args;
	char reason[MRC_REASON];
	int code;

	if (loop == NULL)
		return complain(o->config, EXIT_START, "out of memory");
	code = eal_up(o, cfg, texts, &args);
	if (code) {
		free(loop);
		return code;
	}
	if (mrc_fab_loop_open(loop, cfg, &stop_signal, reason) != MRC_OK) {
		code = complain(o->config, EXIT_START, reason);
	} else {
		if (!o->quiet)
			say_ready(loop);
		mrc_fab_loop_run(loop);
		if (!o->quiet)
			say_end(loop);
	}
	if (has_memif(cfg))
		leave_at_once(loop, code);
	mrc_fab_loop_close(loop);
	mrc_eal_stop(true);
	mrc_eal_args_free(&args);
	free(loop);
	return code;
}

int main(int argc, char **argv)
{
	struct options o = {.config = NULL};
	struct mrc_fab_cfg *cfg = calloc(1, sizeof(*cfg));
	struct eal_texts *texts = calloc(1, sizeof(*texts));
	struct mrc_ctl_error error;
	int code;

	mrc_ctl_stdio_hold();
	code = options_parse(argc, argv, &o);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (code == EXIT_GOOD && o.help) {
		help(stdout);
	} else if (code == EXIT_GOOD && o.version) {
		puts("mrc-fabric " MRC_VERSION);
	} else if (code == EXIT_GOOD && o.config == NULL) {
		code = complain(
			"command line", EXIT_CONFIG, "-c FILE is missing; \"mrc-fabric --help\"");
	} else if (code == EXIT_GOOD && (cfg == NULL || texts == NULL)) {
		code = complain("command line", EXIT_START, "out of memory");
	} else if (code == EXIT_GOOD) {
		if (mrc_fab_cfg_load(o.config, cfg, &error) != MRC_OK) {
			fprintf(stderr, "mrc-fabric: %s\n", error.text);
			code = EXIT_CONFIG;
		} else if (!o.check) {
			signals_set();
			code = run(&o, cfg, texts);
		}
	}
	free(texts);
	free(cfg);
	return mrc_ctl_stdio_end("mrc-fabric", code, EXIT_LOST);
}
