/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands "mrc-dp perf" and "mrc-dp raw": options, the run, and its windows as JSON. */
#include "perf_cmd.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "ctl_decode.h"
#include "ctl_stdio.h"
#include "figure.h"
#include "grace.h"
#include "osenv.h"
#include "perf_host.h"
#include "run.h"

static const char usage[] =
	"usage: mrc-dp perf -c FILE [--modes LIST] [--windows N] [--run TIME] [--payload LEN]\n"
	"                   [--io-len LEN] [--sync PATH] [--json]\n"
	"       mrc-dp raw  -c FILE [the same]\n"
	"Measures in windows of alternating modes on the ports, buffers and memory of the file.\n"
	"\n"
	"  -c, --config FILE  configuration (JSON; config/mrc-dp.schema.json describes it)\n"
	"  --modes LIST       of raw-io, raw-copy, raw-icrc, raw-ping, mrc; joined by commas\n"
	"                     (perf: raw-icrc,mrc or raw-copy,mrc as the file's \"icrc\" says;\n"
	"                     raw: the four raw ones)\n"
	"  --windows N        how many in all (19)\n"
	"  --run TIME         length of one (500ms)\n"
	"  --payload LEN      bytes per raw packet (what the workload's packets carry)\n"
	"  --io-len LEN       frame length of raw-io (64)\n"
	"  --sync PATH        a new file that two processes share, each with one endpoint: both\n"
	"                     need it, and the same modes, windows and lengths\n"
	"  --json             every window as one JSON document\n"
	"\n"
	"Exit: 0 measured, 1 it could not be, 2 wrong command line, 4 interrupted.\n";

struct options {
	const char *path, *sync, *modes;
	uint64_t run_ns;
	uint32_t nb_windows, payload_len, io_len;
	bool json, raw_only;
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
	stop_signal = number;
}

/* ---- options */

/* Says on standard error what is wrong with the command line. */
static bool refuse(const struct options *o, const char *option, const char *value, const char *want)
{
	const char *name = o->raw_only ? "raw" : "perf";

	fprintf(stderr, "mrc-dp: command line: %s %s%s%s; \"mrc-dp %s --help\"\n", option,
		value ? value : "", value ? ": " : "", want, name);
	return false;
}

static bool number_take(const struct options *o, const char *option, const char *text, uint64_t lo,
	uint64_t hi, uint32_t *value_out)
{
	uint64_t value;
	char want[64];

	if (mrc_ctl_unit_parse(MRC_CTL_UNIT_SIZE, text, &value) == MRC_OK && value >= lo &&
		value <= hi) {
		*value_out = (uint32_t)value;
		return true;
	}
	snprintf(want, sizeof(want), "want a number from %u to %u", (unsigned)lo, (unsigned)hi);
	return refuse(o, option, text, want);
}

static bool run_take(struct options *o, const char *text)
{
	if (mrc_ctl_unit_parse(MRC_CTL_UNIT_TIME, text, &o->run_ns) == MRC_OK &&
		o->run_ns >= 1000000 && o->run_ns <= 60000000000)
		return true;
	return refuse(o, "--run", text, "want a time from 1ms to 60s");
}

static bool modes_read(const char *text, struct mrc_window_plan *plan)
{
	char copy[256], *save = NULL;

	if (strlen(text) >= sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%s", text);
	plan->nb_modes = 0;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		enum mrc_perf_mode mode;

		if (plan->nb_modes == MRC_WINDOW_MODES || !mrc_perf_mode_parse(word, &mode))
			return false;
		plan->modes[plan->nb_modes++] = (uint8_t)mode;
	}
	return plan->nb_modes > 0;
}

static bool modes_take(struct options *o, const char *text)
{
	struct mrc_window_plan plan;

	o->modes = text;
	return modes_read(text, &plan) ||
	       refuse(o, "--modes", text,
		       "want up to 8 of raw-io, raw-copy, raw-icrc, raw-ping, mrc, joined by "
		       "commas");
}

static bool option_take(struct options *o, int c, const char *arg, const char *word)
{
	switch (c) {
	case 'c':
		o->path = arg;
		return true;
	case 's':
		o->sync = arg;
		return true;
	case 'm':
		return modes_take(o, arg);
	case 'j':
		o->json = true;
		return true;
	case 'w':
		return number_take(o, "--windows", arg, 1, MRC_PERF_WINDOWS, &o->nb_windows);
	case 'p':
		return number_take(o, "--payload", arg, 4, MRC_PMTU_MAX, &o->payload_len);
	case 'i':
		return number_take(o, "--io-len", arg, 60, 9000, &o->io_len);
	case 'r':
		return run_take(o, arg);
	case ':':
		return refuse(o, word, NULL, "wants a value");
	}
	return refuse(o, word, NULL, "is no option");
}

static bool options_read(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
		{"modes", required_argument, NULL, 'm'}, {"windows", required_argument, NULL, 'w'},
		{"run", required_argument, NULL, 'r'}, {"payload", required_argument, NULL, 'p'},
		{"io-len", required_argument, NULL, 'i'}, {"sync", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	int c;

	*out = (struct options){.nb_windows = 19,
		.run_ns = 500000000,
		.io_len = 64,
		.raw_only = strcmp(argv[0], "raw") == 0};
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(mrc_ctl_stdio_end("mrc-dp", 0, MRC_EXIT_FAILED));
		}
		if (!option_take(out, c, optarg, argv[optind - 1]))
			return false;
	}
	if (optind < argc)
		return refuse(out, argv[optind], NULL, "is no option");
	return out->path != NULL || refuse(out, "-c FILE", NULL, "is missing");
}

/* Drain long enough for what is under way, warm-up for caches and predictors. */
static void plan_make(
	const struct options *o, const struct mrc_cfg *cfg, struct mrc_window_plan *plan)
{
	const uint64_t ms = rte_get_tsc_hz() / 1000;
	const char *modes = o->modes;

	if (modes == NULL)
		modes = o->raw_only ? "raw-io,raw-copy,raw-icrc,raw-ping"
			: cfg->icrc ? "raw-icrc,mrc"
				    : "raw-copy,mrc";
	*plan = (struct mrc_window_plan){.drain = 30 * ms,
		.canary = 2 * ms,
		.warm = 20 * ms,
		.run = (uint64_t)((double)o->run_ns * (double)ms / 1e6),
		.nb_windows = o->nb_windows};
	modes_read(modes, plan);
}

/* ---- the run */

/* What a packet of the workload carries, in whole words. */
static uint32_t payload_len(const struct options *o, const struct mrc_cfg *cfg)
{
	if (o->payload_len != 0)
		return o->payload_len;
	return cfg->workload.msg_len < cfg->pmtu ? (uint32_t)cfg->workload.msg_len & ~3u
						 : cfg->pmtu;
}

static int lane_make(struct mrc_perf_host *host, const struct options *o, uint32_t e,
	const struct mrc_window_plan *plan, struct mrc_perf_lane **lane_out)
{
	struct mrc_endpoint *ep = &host->eps[e];
	struct mrc_worker *worker = ep->workers[0];
	const uint8_t *mac = mrc_l2_neigh_mac(&ep->l2[0], &worker->peer);
	struct mrc_area *area = ep->is_sender ? &ep->source : &ep->regions[0];
	struct mrc_perf_lane *lane = mrc_osmem_alloc(sizeof(*lane));
	struct mrc_raw_cfg cfg = {.port = ep->ports[0].id,
		.rxq = worker->planes[0].rxq[0],
		.txq = worker->planes[0].stash.queue,
		.pool = worker->pool,
		.sender = ep->is_sender,
		.payload_len = payload_len(o, &host->cfg),
		.io_len = o->io_len,
		.ipv6 = !mrc_gid_is_v4(&ep->ep->address),
		.mem = area->mem,
		.mem_len = area->len};

	if (lane == NULL)
		return MRC_ERR_NOMEM;
	memcpy(cfg.smac, ep->ports[0].mac, 6);
	memset(cfg.dmac, 0xFF, 6);
	if (mac != NULL)
		memcpy(cfg.dmac, mac, 6);
	lane->worker = worker;
	lane->plan = *plan;
	lane->shared = host->shared;
	lane->stop = &stop_signal;
	lane->sender = ep->is_sender;
	*lane_out = lane;
	return mrc_raw_lane_init(&lane->raw, &cfg);
}

static int lane_main(void *arg)
{
	mrc_perf_lane_run(arg);
	return 0;
}

/* The last side that is ready says when it begins. Both have opened the file by then: it goes. */
static void start_agree(struct mrc_perf_host *host, const char *sync)
{
	uint32_t before = atomic_fetch_add(&host->shared->nb_ready, host->cfg.nb_endpoints);

	if (before + host->cfg.nb_endpoints != 2)
		return;
	atomic_store(&host->shared->start_tsc, rte_rdtsc() + rte_get_tsc_hz() / 1000 * 200);
	if (sync != NULL)
		unlink(sync);
}

/* Nobody leaves while the other side still polls its ports: memif pulls the rings away from under a
 * poller whose peer leaves. */
static void end_agree(struct mrc_perf_host *host)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() * MRC_PERF_PEER_SECONDS;

	atomic_fetch_add(&host->shared->nb_done, host->cfg.nb_endpoints);
	while (atomic_load(&host->shared->nb_done) < 2 && rte_rdtsc() < end && !stop_signal)
		rte_pause();
}

static void loads_start(struct mrc_perf_host *host)
{
	const struct mrc_cmd cmd = {.kind = MRC_CMD_START};

	for (uint32_t e = 0; e < host->cfg.nb_endpoints; e++)
		mrc_worker_command(host->eps[e].workers[0], &cmd);
}

static bool reachable(struct mrc_perf_host *host)
{
	bool all = true;

	for (uint32_t e = 0; e < host->cfg.nb_endpoints; e++) {
		struct mrc_endpoint *ep = &host->eps[e];

		for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
			struct mrc_cmd cmd = {
				.kind = MRC_CMD_PLANE, .plane = (uint16_t)p, .on = true};

			if (mrc_port_link_poll(&ep->ports[p])) {
				cmd.on = ep->ports[p].link_up;
				mrc_worker_command(ep->workers[0], &cmd);
			}
			all &= ep->ports[p].link_up && ep->workers[0]->has_mac[p];
		}
		mrc_worker_poll(ep->workers[0]);
	}
	return all;
}

/* Carriers up and link addresses known, before any clock runs. */
static int peers_wait(struct mrc_perf_host *host, char *reason)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() * MRC_PERF_PEER_SECONDS;
	bool all;

	mrc_grace_enter();
	while (!(all = reachable(host)) && rte_rdtsc() < end && !stop_signal)
		mrc_grace_turn();
	mrc_grace_leave();
	if (!all) {
		snprintf(reason, MRC_REASON,
			"the peer was not reached within %d s on every plane: no link, or no "
			"answer to ARP or neighbour discovery; see \"mrc-dp doctor\"",
			MRC_PERF_PEER_SECONDS);
		return MRC_ERR_STATE;
	}
	return MRC_OK;
}

static int run(const struct options *o, struct mrc_perf_host *host, struct mrc_perf_lane **lanes,
	char *reason)
{
	unsigned second = rte_get_next_lcore((unsigned)-1, 1, 0);
	bool whole;

	if (host->cfg.nb_endpoints == 2 && second >= RTE_MAX_LCORE) {
		snprintf(reason, MRC_REASON, "two sides need two lcores; set \"lcores\"");
		return MRC_ERR_INVAL;
	}
	if (peers_wait(host, reason) != MRC_OK)
		return MRC_ERR_STATE;
	loads_start(host);
	start_agree(host, o->sync);
	if (host->cfg.nb_endpoints == 2)
		rte_eal_remote_launch(lane_main, lanes[1], second);
	whole = mrc_perf_lane_run(lanes[0]);
	rte_eal_mp_wait_lcore();
	if (whole || atomic_load(&host->shared->start_tsc) != 0)
		end_agree(host);
	else if (o->sync != NULL)
		unlink(o->sync);
	if (!whole)
		snprintf(reason, MRC_REASON,
			"--sync %s: the other process does not begin within %d s; both need the "
			"same file",
			o->sync ? o->sync : "", MRC_PERF_PEER_SECONDS);
	return whole ? MRC_OK : MRC_ERR_STATE;
}

/* ---- the report */

static json_t *window_json(const struct mrc_perf_lane *lane, uint32_t i)
{
	const struct mrc_perf_record *r = &lane->records[i];
	const double ns = lane->ns_per_tick;
	json_t *w = json_object();

	json_object_set_new(w, "window", json_integer(i));
	json_object_set_new(
		w, "mode", json_string(mrc_perf_mode_name(mrc_window_mode(&lane->plan, i))));
	json_object_set_new(w, "seconds", json_real((double)r->ticks * ns / 1e9));
	json_object_set_new(w, "cpu_seconds", json_real((double)r->cpu_ns / 1e9));
	json_object_set_new(w, "stalled_seconds", json_real((double)r->stall_ticks * ns / 1e9));
	json_object_set_new(w, "canary_before_ns", json_real((double)r[0].canary_ticks * ns));
	json_object_set_new(w, "canary_after_ns", json_real((double)r[1].canary_ticks * ns));
	json_object_set_new(w, "turns", json_integer((json_int_t)r->turns));
	json_object_set_new(w, "busy_turns", json_integer((json_int_t)r->busy_turns));
	json_object_set_new(w, "tx_packets", json_integer((json_int_t)r->tx_packets));
	json_object_set_new(w, "tx_bytes", json_integer((json_int_t)r->tx_bytes));
	json_object_set_new(w, "rx_packets", json_integer((json_int_t)r->rx_packets));
	json_object_set_new(w, "rx_bytes", json_integer((json_int_t)r->rx_bytes));
	json_object_set_new(w, "messages", json_integer((json_int_t)r->messages));
	json_object_set_new(w, "retransmits", json_integer((json_int_t)r->retransmits));
	json_object_set_new(w, "bad", json_integer((json_int_t)r->bad));
	json_object_set_new(w, "no_buffer", json_integer((json_int_t)r->no_buffer));
	json_object_set_new(w, "refused", json_integer((json_int_t)r->refused));
	if (r->nb_rtt > 0) {
		json_object_set_new(w, "round_trips", json_integer((json_int_t)r->nb_rtt));
		json_object_set_new(w, "rtt_p50_ns", json_integer((json_int_t)r->rtt_p50_ns));
		json_object_set_new(w, "rtt_p99_ns", json_integer((json_int_t)r->rtt_p99_ns));
	}
	return w;
}

static json_t *lane_json(const struct mrc_perf_lane *lane)
{
	json_t *windows = json_array();

	for (uint32_t i = 0; i < lane->plan.nb_windows; i++)
		json_array_append_new(windows, window_json(lane, i));
	return json_pack("{s:s,s:i,s:o}", "side", lane->sender ? "sender" : "receiver",
		"raw_frame_len", (int)mrc_raw_lane_frame_len(&lane->raw), "windows", windows);
}

static void report_json(const struct mrc_perf_host *host, struct mrc_perf_lane *const *lanes)
{
	json_t *list = json_array(), *root;

	for (uint32_t e = 0; e < host->cfg.nb_endpoints; e++)
		json_array_append_new(list, lane_json(lanes[e]));
	root = json_pack("{s:I,s:i,s:b,s:I,s:i,s:i,s:i,s:s,s:o}", "tsc_hz",
		(json_int_t)rte_get_tsc_hz(), "pmtu", (int)host->cfg.pmtu, "icrc", host->cfg.icrc,
		"message", (json_int_t)host->cfg.workload.msg_len, "qps",
		(int)host->cfg.workload.nb_qps, "depth", (int)host->cfg.workload.depth, "planes",
		(int)host->cfg.endpoints[0].nb_planes, "driver", host->eps[0].ports[0].driver,
		"lanes", list);
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	printf("\n");
	json_decref(root);
}

/* A time, or "-" when there is none. */
static const char *time_or_dash(uint64_t ns, char *buf, size_t room)
{
	if (ns == 0)
		snprintf(buf, room, "-");
	else
		mrc_figure_time(ns, buf, room);
	return buf;
}

static void window_print(const struct mrc_perf_lane *lane, uint32_t i)
{
	const struct mrc_perf_record *r = &lane->records[i];
	const enum mrc_perf_mode mode = mrc_window_mode(&lane->plan, i);
	double s = (double)r->ticks * lane->ns_per_tick / 1e9;
	uint64_t packets = lane->sender ? r->tx_packets : r->rx_packets;
	uint64_t bytes = lane->sender ? r->tx_bytes : r->rx_bytes;
	char text[3][32], gbps[32] = "-";

	if (s <= 0) {
		printf("%-9s  missed: the thread did not run\n", mrc_perf_mode_name(mode));
		return;
	}
	if (mode != MRC_PERF_IO)
		snprintf(gbps, sizeof(gbps), "%.2f", (double)bytes * 8 / s / 1e9);
	printf("%-9s %8s %12.3f %12s %6.1f%% %6.1f%% %9s %9s\n", mrc_perf_mode_name(mode),
		time_or_dash((uint64_t)((double)r->canary_ticks * lane->ns_per_tick), text[0],
			sizeof(text[0])),
		(double)packets / s / 1e6, gbps, (double)r->cpu_ns / s / 1e7,
		(double)r->stall_ticks * lane->ns_per_tick / s / 1e7,
		time_or_dash(r->rtt_p50_ns, text[1], sizeof(text[1])),
		time_or_dash(r->rtt_p99_ns, text[2], sizeof(text[2])));
}

static void report_text(const struct mrc_perf_host *host, struct mrc_perf_lane *const *lanes)
{
	for (uint32_t e = 0; e < host->cfg.nb_endpoints; e++) {
		printf("%s\n%-9s %8s %12s %12s %7s %7s %9s %9s\n",
			lanes[e]->sender ? "sender" : "receiver", "mode", "canary", "M packets/s",
			"payload Gb/s", "cpu", "stalled", "p50", "p99");
		for (uint32_t i = 0; i < lanes[e]->plan.nb_windows; i++)
			window_print(lanes[e], i);
	}
}

static int measure(const struct options *o, struct mrc_perf_host *host, char *reason)
{
	struct mrc_perf_lane *lanes[MRC_CFG_MAX_ENDPOINT] = {NULL};
	struct mrc_window_plan plan;
	int rc = mrc_perf_host_open(host, o->path, o->sync, &stop_signal, reason);

	if (rc == MRC_OK)
		plan_make(o, &host->cfg, &plan);
	for (uint32_t e = 0; e < host->cfg.nb_endpoints && rc == MRC_OK; e++) {
		rc = lane_make(host, o, e, &plan, &lanes[e]);
		if (rc != MRC_OK)
			snprintf(reason, MRC_REASON,
				"--payload, --io-len: a length does not fit: %s", mrc_err_text(rc));
	}
	if (rc == MRC_OK)
		rc = run(o, host, lanes, reason);
	if (rc == MRC_OK && o->json)
		report_json(host, lanes);
	else if (rc == MRC_OK)
		report_text(host, lanes);
	for (uint32_t e = 0; e < MRC_CFG_MAX_ENDPOINT; e++)
		if (lanes[e] != NULL)
			mrc_osmem_free(lanes[e], sizeof(*lanes[e]));
	return rc;
}

int mrc_perf_main(int argc, char **argv)
{
	char reason[MRC_REASON] = "";
	struct mrc_perf_host *host;
	struct options options;
	int rc, code = 1;

	if (!options_read(argc, argv, &options))
		return 2;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	/* The terminal is gone, unless nohup wants us to go on. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		signal(SIGHUP, on_signal);
	host = mrc_osmem_alloc(sizeof(*host));
	if (host == NULL)
		return 1;
	rc = measure(&options, host, reason);
	if (rc == MRC_OK) {
		code = 0;
	} else if (stop_signal || (host->shared != NULL && atomic_load(&host->shared->stop))) {
		code = 4;
		snprintf(reason, sizeof(reason), "interrupted, nothing is reported");
	}
	if (code != 0)
		fprintf(stderr, "mrc-dp: %s\n", reason);
	mrc_perf_host_close(host, code);
	mrc_osmem_free(host, sizeof(*host));
	return code;
}
