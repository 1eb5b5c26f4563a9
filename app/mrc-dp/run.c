/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "clock.h"
#include "config.h"
#include "dpdk.h"
#include "endpoint.h"
#include "fabric_role.h"
#include "grace.h"
#include "handshake.h"
#include "mgmt.h"
#include "options.h"
#include "outcome.h"
#include "place.h"

/* Everything of one run. */
struct run {
	struct mrc_options options;
	const char *source; /* of the configuration, for messages */
	struct mrc_cfg cfg;
	struct mrc_eal_args eal;
	bool eal_started;
	bool ports_open; /* at least tried: sockets of ours may exist */
	struct mrc_clock clock;
	struct mrc_osenv osenv;
	struct mrc_endpoint eps[MRC_CFG_MAX_ENDPOINT];
	bool has_fabric, fabric_made;
	struct mrc_fabric_role fabric;
	struct rte_ring *direct[MRC_CFG_MAX_ENDPOINT][MRC_MAX_PLANES][MRC_PORT_MAX_QUEUES];
	struct mrc_oob oob;
	struct mrc_mgmt mgmt;
	struct mrc_role roles[MRC_PLACE_MAX_ROLES];
	uint32_t nb_roles;
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

	stop_signal = 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* The terminal is gone, unless nohup wants us to go on. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int complain(const struct run *run, enum mrc_exit code, const char *text)
{
	fprintf(stderr, "mrc-dp: %s: %s\n", run->source, text);
	return (int)code;
}

/* ---- placement
 * ------------------------------------------------------------------------------------ */

static uint32_t lcores_list(struct mrc_place_lcore *lcores)
{
	uint32_t nb = 0;
	unsigned id;

	RTE_LCORE_FOREACH(id)
	{
		rte_cpuset_t set = rte_lcore_cpuset(id);

		if (nb == MRC_PLACE_MAX_LCORES)
			break;
		memset(&lcores[nb], 0, sizeof(lcores[nb]));
		lcores[nb].id = id;
		for (uint32_t cpu = 0; cpu < MRC_PLACE_CPU_WORDS * 64; cpu++)
			if (CPU_ISSET(cpu, &set))
				lcores[nb].cpus[cpu / 64] |= 1ull << (cpu % 64);
		nb++;
	}
	return nb;
}

static void role_add(
	struct run *run, enum mrc_role_kind kind, uint32_t e, uint32_t w, int32_t lcore)
{
	run->roles[run->nb_roles++] =
		(struct mrc_role){.kind = kind, .endpoint = e, .worker = w, .lcore = lcore};
}

static int roles_place(struct run *run)
{
	struct mrc_place_lcore *lcores = calloc(MRC_PLACE_MAX_LCORES, sizeof(*lcores));
	struct mrc_place_error error = {0};
	char who[64], text[MRC_REASON];
	int err;

	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		for (uint32_t w = 0; w < run->cfg.endpoints[e].nb_workers; w++)
			role_add(run, MRC_ROLE_WORKER, e, w, run->cfg.endpoints[e].lcores[w]);
	if (run->has_fabric)
		role_add(run, MRC_ROLE_FABRIC, 0, 0, run->cfg.fabric.lcore);
	role_add(run, MRC_ROLE_MGMT, 0, 0, run->cfg.mgmt_lcore);
	err = lcores ? mrc_place_roles(
			       run->roles, run->nb_roles, lcores, lcores_list(lcores), &error)
		     : MRC_ERR_NOMEM;
	free(lcores);
	if (!err)
		return MRC_EXIT_GOOD;
	mrc_role_text(&run->roles[error.role], who, sizeof(who));
	if (error.other_lcore < 0)
		snprintf(text, sizeof(text),
			"lcores: %s wants lcore %d, which does not exist; EAL has \"-l\" for more, "
			"or "
			"name another",
			who, run->roles[error.role].lcore);
	else
		snprintf(text, sizeof(text),
			"lcores: %s wants lcore %d, which shares its CPU with lcore %d in use; two "
			"pollers on one CPU stall each other: name another",
			who, run->roles[error.role].lcore, error.other_lcore);
	return complain(run, MRC_EXIT_CONFIG, text);
}

/* ---- endpoints
 * -------------------------------------------------------------------------------------- */

static int direct_rings(struct run *run)
{
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		for (uint32_t p = 0; p < run->cfg.endpoints[e].nb_planes; p++) {
			const struct mrc_cfg_plane *plane = &run->cfg.endpoints[e].planes[p];
			uint32_t size = plane->descriptors ? plane->descriptors : 512;

			if (plane->link != MRC_LINK_DIRECT)
				continue;
			for (uint32_t w = 0; w < run->cfg.endpoints[e].nb_workers; w++) {
				char name[64];

				snprintf(name, sizeof(name), "direct_%u_%u_%u", e, p, w);
				run->direct[e][p][w] = rte_ring_create(name, rte_align32pow2(size),
					SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
				if (run->direct[e][p][w] == NULL)
					return MRC_ERR_NOMEM;
			}
		}
	return MRC_OK;
}

static void plane_rings(struct run *run, uint32_t e, uint32_t p, struct mrc_endpoint_rings *rings)
{
	const uint32_t mine = run->cfg.endpoints[e].nb_workers;

	memset(rings, 0, sizeof(*rings));
	switch (run->cfg.endpoints[e].planes[p].link) {
	case MRC_LINK_DEVICE:
		break;
	case MRC_LINK_DIRECT:
		rings->nb_tx = mine;
		rings->nb_rx = run->cfg.endpoints[1 - e].nb_workers;
		memcpy(rings->tx, run->direct[e][p], sizeof(rings->tx));
		memcpy(rings->rx, run->direct[1 - e][p], sizeof(rings->rx));
		break;
	case MRC_LINK_FABRIC:
		rings->nb_tx = rings->nb_rx = mine;
		memcpy(rings->tx, run->fabric.ports[e][p].from, sizeof(rings->tx));
		memcpy(rings->rx, run->fabric.ports[e][p].to, sizeof(rings->rx));
		break;
	}
}

static int endpoints_open(struct run *run)
{
	struct mrc_endpoint_rings rings[MRC_MAX_PLANES];
	char reason[MRC_REASON];

	if (run->has_fabric) {
		if (mrc_fabric_role_create(&run->fabric, &run->cfg, &run->osenv.env, &run->clock) !=
			MRC_OK)
			return complain(run, MRC_EXIT_START,
				"fabric: cannot be created; raise \"memory.mib\" or lower "
				"\"fabric.packets\"");
		run->fabric_made = true;
	}
	if (direct_rings(run) != MRC_OK)
		return complain(run, MRC_EXIT_START, "memory.mib: no room for rings; raise it");
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++) {
		for (uint32_t p = 0; p < run->cfg.endpoints[e].nb_planes; p++)
			plane_rings(run, e, p, &rings[p]);
		if (mrc_endpoint_open(&run->eps[e], &run->cfg, e, &run->clock, rings, reason) !=
			MRC_OK)
			return complain(run, MRC_EXIT_START, reason);
	}
	return MRC_EXIT_GOOD;
}

static int peers_meet(struct run *run)
{
	char reason[MRC_REASON] = "no memory";
	struct mrc_workload workload;
	int err;

	if (run->cfg.oob.mode == MRC_OOB_NONE) {
		err = mrc_workload_plan(&run->cfg, &workload, reason);
		if (!err)
			err = mrc_handshake_local(run->eps, &workload, reason);
	} else {
		err = mrc_oob_open(&run->oob, &run->cfg.oob, &stop_signal, reason);
		if (!err)
			err = mrc_handshake_remote(
				&run->eps[0], &run->cfg, &run->oob, &stop_signal, reason);
	}
	if (err == MRC_ERR_STATE && stop_signal)
		return MRC_EXIT_INTERRUPTED;
	for (uint32_t e = 0; e < run->cfg.nb_endpoints && !err; e++)
		err = mrc_endpoint_settle(&run->eps[e], &stop_signal, reason);
	return err ? complain(run, MRC_EXIT_START, reason) : MRC_EXIT_GOOD;
}

/* ---- the loop
 * ------------------------------------------------------------------------------------------ */

/* One lcore: its roles in turn until the management says stop. */
static int lcore_loop(void *arg)
{
	struct run *run = arg;
	const int32_t self = (int32_t)rte_lcore_id();
	struct mrc_role mine[MRC_PLACE_MAX_ROLES];
	uint32_t nb = 0;

	for (uint32_t r = 0; r < run->nb_roles; r++)
		if (run->roles[r].lcore == self)
			mine[nb++] = run->roles[r];
	mrc_grace_enter();
	while (nb > 0 && !atomic_load_explicit(&run->mgmt.stop, memory_order_acquire)) {
		mrc_grace_turn();
		for (uint32_t r = 0; r < nb; r++)
			switch (mine[r].kind) {
			case MRC_ROLE_WORKER:
				mrc_worker_poll(run->eps[mine[r].endpoint].workers[mine[r].worker]);
				break;
			case MRC_ROLE_FABRIC:
				mrc_fabric_role_poll(&run->fabric);
				break;
			case MRC_ROLE_MGMT:
				mrc_mgmt_poll(&run->mgmt);
				break;
			}
	}
	mrc_grace_leave();
	return 0;
}

static void map_print(const struct run *run, FILE *out)
{
	for (uint32_t r = 0; r < run->nb_roles; r++) {
		char who[64];

		/* Two a line fit 80 columns. */
		fprintf(out, "%s%s on lcore %d",
			r == 0  ? "  "
			: r % 2 ? ", "
				: ",\n  ",
			mrc_role_text(&run->roles[r], who, sizeof(who)), run->roles[r].lcore);
	}
	fputc('\n', out);
}

static void captures_check(const struct run *run, struct mrc_outcome *o)
{
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		for (uint32_t p = 0; p < run->cfg.endpoints[e].nb_planes; p++) {
			struct mrc_capture *capture = run->eps[e].captures[p];
			const int error = capture != NULL ? mrc_capture_finish(capture) : 0;

			if (error != 0)
				snprintf(o->failure, sizeof(o->failure),
					"endpoints[%u].planes[%u].capture: \"%s\" is not whole: %s",
					e, p, run->cfg.endpoints[e].planes[p].capture,
					strerror(error));
		}
}

/* After the sums, which touch every byte. */
static void files_check(struct run *run, struct mrc_outcome *o)
{
	char reason[MRC_REASON];

	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		if (mrc_endpoint_hurt(&run->eps[e], reason))
			snprintf(o->failure, sizeof(o->failure), "%.500s", reason);
}

static void outcome_report(struct run *run, struct mrc_outcome *o)
{
	json_t *json;

	o->interrupted = run->mgmt.interrupted;
	snprintf(o->failure, sizeof(o->failure), "%s", run->mgmt.failure);
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		mrc_outcome_add(o, &run->eps[e]);
	if (run->mgmt.result_got) {
		o->found = run->mgmt.peer_found;
		o->found_known = true;
		for (uint32_t p = 0; p < o->nb_planes; p++)
			o->planes[p].rx_packets = run->mgmt.peer_rx[p];
	}
	captures_check(run, o);
	files_check(run, o);
	mrc_outcome_finish(o);
	if (!run->options.json) {
		mrc_outcome_print(o, stdout);
		return;
	}
	json = mrc_outcome_json(o);
	json_object_set_new(json, "timeline", mrc_timeline_json(&run->mgmt.timeline, o->nb_planes));
	json_object_set_new(json, "mrc_dp", json_string(MRC_VERSION));
	json_object_set_new(json, "icrc", json_boolean(run->cfg.icrc));
	json_object_set_new(json, "pmtu", json_integer(run->cfg.pmtu));
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', stdout);
	json_decref(json);
}

static int go(struct run *run)
{
	struct mrc_outcome *outcome = calloc(1, sizeof(*outcome));
	int code;

	if (outcome == NULL)
		return complain(run, MRC_EXIT_START, "no memory");
	mrc_mgmt_init(&run->mgmt, &run->cfg, &run->clock, run->eps, run->cfg.nb_endpoints);
	run->mgmt.fabric = run->has_fabric ? &run->fabric : NULL;
	run->mgmt.oob = run->cfg.oob.mode != MRC_OOB_NONE ? &run->oob : NULL;
	run->mgmt.signal = &stop_signal;
	run->mgmt.progress = run->options.quiet   ? NULL
			     : !run->options.json ? stdout
			     : isatty(2)          ? stderr
						  : NULL;
	if (run->mgmt.progress)
		map_print(run, run->mgmt.progress);
	rte_eal_mp_remote_launch(lcore_loop, run, CALL_MAIN);
	rte_eal_mp_wait_lcore();
	outcome_report(run, outcome);
	code = mrc_outcome_good(outcome) ? MRC_EXIT_GOOD
	       : outcome->interrupted    ? MRC_EXIT_INTERRUPTED
					 : MRC_EXIT_FAILED;
	free(outcome);
	return code;
}

static void leave(struct run *run, int code)
{
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		for (uint32_t p = 0; p < run->cfg.endpoints[e].nb_planes; p++)
			mrc_capture_close(run->eps[e].captures[p]);
	mrc_dpdk_leave(&run->cfg, run->ports_open, code);
}

static void tidy(struct run *run, int code)
{
	if (run->eal_started && mrc_dpdk_must_leave(&run->cfg))
		leave(run, code);
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		mrc_endpoint_close(&run->eps[e]);
	if (run->fabric_made)
		mrc_fabric_role_destroy(&run->fabric);
	mrc_oob_close(&run->oob);
	if (run->eal_started)
		mrc_eal_stop(true);
	mrc_eal_args_free(&run->eal);
}

static int eal_start(struct run *run)
{
	char reason[MRC_REASON];
	const int err =
		mrc_dpdk_start(&run->cfg, run->options.eal, run->options.nb_eal, &run->eal, reason);

	run->eal_started = err == MRC_OK;
	if (err == MRC_OK)
		return MRC_EXIT_GOOD;
	return complain(run,
		err == MRC_ERR_TOOBIG || err == MRC_ERR_INVAL ? MRC_EXIT_CONFIG : MRC_EXIT_START,
		reason);
}

static int run_all(struct run *run)
{
	int code = eal_start(run);

	if (!code && mrc_clock_init(&run->clock, rte_get_tsc_hz(), rte_rdtsc()) != MRC_OK)
		code = complain(run, MRC_EXIT_START,
			"the time stamp counter's frequency is unknown; this machine cannot keep "
			"time");
	mrc_osenv_init(&run->osenv);
	run->oob.fd = -1;
	for (uint32_t e = 0; e < run->cfg.nb_endpoints; e++)
		for (uint32_t p = 0; p < run->cfg.endpoints[e].nb_planes; p++)
			run->has_fabric |= run->cfg.endpoints[e].planes[p].link == MRC_LINK_FABRIC;
	if (!code)
		code = roles_place(run);
	if (!code) {
		run->ports_open = true;
		code = endpoints_open(run);
	}
	if (!code)
		code = peers_meet(run);
	if (!code)
		code = go(run);
	tidy(run, code);
	return code;
}

/* ---- commands
 * --------------------------------------------------------------------------------------------- */

/* What the command line says over the file. */
static int overrides(struct run *run)
{
	struct mrc_cfg_workload *wl = &run->cfg.workload;
	const struct mrc_options *o = &run->options;
	struct stat st;
	char text[MRC_REASON];

	if (o->seconds > 0) {
		wl->duration_ns = (uint64_t)(o->seconds * 1e9);
		wl->nb_msgs = 0;
	}
	if (o->store)
		snprintf(wl->store, sizeof(wl->store), "%s", o->store);
	if (o->file == NULL)
		return MRC_EXIT_GOOD;
	if (stat(o->file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		snprintf(text, sizeof(text), "--file: \"%s\" is no readable file with content",
			o->file);
		return complain(run, MRC_EXIT_CONFIG, text);
	}
	snprintf(wl->file, sizeof(wl->file), "%s", o->file);
	wl->nb_msgs = wl->duration_ns = 0;
	wl->bidirectional = false;
	if (wl->store[0] == '\0' && run->cfg.nb_endpoints == 2) {
		const char *dir = getenv("TMPDIR");
		char name[MRC_CFG_TEXT];

		snprintf(name, sizeof(name), "%s", o->file);
		snprintf(text, sizeof(text), "%s/%s.received", dir ? dir : "/tmp", basename(name));
		snprintf(wl->store, sizeof(wl->store), "%.255s", text);
	}
	return MRC_EXIT_GOOD;
}

static int no_end(struct run *run)
{
	const struct mrc_cfg_workload *wl = &run->cfg.workload;

	if (wl->role == MRC_CFG_RESPONDER || wl->nb_msgs || wl->duration_ns || wl->file[0])
		return MRC_EXIT_GOOD;
	return complain(run, MRC_EXIT_CONFIG,
		"workload.seconds: the run has no end; give \"seconds\", \"messages\" or \"file\"");
}

static void help(const char *command)
{
	const bool demo = strcmp(command, "demo") == 0;

	printf("usage: mrc-dp %s %s[--json] [--quiet] [--seconds N] [--file PATH [--store PATH]]\n"
	       "              [EAL options] [-- our options]\n\n"
	       "%s"
	       "  --json             end with one JSON object on standard output\n"
	       "  --quiet            no progress lines\n"
	       "  --seconds N        run for N seconds instead of what the file says\n"
	       "  --file PATH        write this file to the peer and compare its SHA-256 there\n"
	       "  --store PATH       where the far end of this process stores it\n\n"
	       "Everything else is passed to DPDK's EAL (-l, -m, --no-huge, --log-level, ...).\n"
	       "Exit: 0 all verified, 1 failed, 2 command line or configuration refused,\n"
	       "3 cannot start, 4 interrupted.\n",
		command, demo ? "[--print] " : "-c FILE ",
		demo ? "  --print            print the built-in configuration and end\n"
		     : "  -c, --config FILE  configuration (JSON; config/mrc-dp.schema.json "
		       "describes it)\n");
}

static struct run *run_create(int argc, char **argv, int *code_out)
{
	struct run *run = calloc(1, sizeof(*run));
	char reason[256];

	if (run == NULL) {
		*code_out = MRC_EXIT_START;
		return NULL;
	}
	run->source = "command line";
	*code_out = MRC_EXIT_GOOD;
	if (mrc_options_parse(argc, argv, &run->options, reason) != MRC_OK)
		*code_out = complain(run, MRC_EXIT_CONFIG, reason);
	return run;
}

static int run_config(struct run *run)
{
	int code = overrides(run);

	if (!code)
		code = no_end(run);
	signals_set();
	return code ? code : run_all(run);
}

int mrc_run_main(int argc, char **argv)
{
	int code;
	struct run *run = run_create(argc, argv, &code);
	char error[MRC_REASON];

	if (!code && run->options.help) {
		help("run");
	} else if (!code && run->options.config == NULL) {
		code = complain(run, MRC_EXIT_CONFIG, "-c FILE is missing; \"mrc-dp run --help\"");
	} else if (!code) {
		if (mrc_cfg_load(run->options.config, &run->cfg, error) != MRC_OK) {
			fprintf(stderr, "mrc-dp: %s\n", error);
			code = MRC_EXIT_CONFIG;
		} else {
			run->source = run->options.config;
			code = run_config(run);
		}
	}
	free(run);
	return code;
}

int mrc_demo_main(int argc, char **argv)
{
	int code;
	struct run *run = run_create(argc, argv, &code);
	char error[MRC_REASON];

	if (!code && run->options.help) {
		help("demo");
	} else if (!code && run->options.print) {
		fputs(mrc_demo_text, stdout);
	} else if (!code && run->options.config) {
		code = complain(
			run, MRC_EXIT_CONFIG, "demo has its own file; use \"mrc-dp run -c\"");
	} else if (!code) {
		run->source = "demo.json";
		if (mrc_cfg_parse(run->source, mrc_demo_text, strlen(mrc_demo_text), &run->cfg,
			    error) != MRC_OK) {
			fprintf(stderr, "mrc-dp: %s\n", error);
			code = MRC_EXIT_CONFIG;
		} else {
			code = run_config(run);
		}
	}
	free(run);
	return code;
}
