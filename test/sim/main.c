/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - mrc-sim: runs a scenario file in virtual time. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_stdio.h"
#include "sim.h"

enum {
	MAX_SETS = 64,
	EXIT_MET = 0,
	EXIT_NOT_MET = 1, /* a pass mark missed, an invariant broken */
	EXIT_USAGE = 2,
};

#define TERMINAL_S 0.5
#define LOG_S      10.0

struct args {
	const char *scenario, *json;
	struct sim_opts opts;
	char *sets[MAX_SETS];
	uint32_t nb_sets;
	bool seed_set, progress_set, twice, quiet, check, lost;
	uint64_t seed;
	double scale;
};

static const char usage_text[] =
	"usage: mrc-sim [options] SCENARIO.json\n"
	"\n"
	"  --seed N            random seed, instead of the file's\n"
	"  --set PATH=VALUE    change a key of the file, e.g. --set load.bytes=64MiB\n"
	"  --scale X           X times the bytes of flows and the duration\n"
	"  --json FILE         write the result as JSON (-: standard output)\n"
	"  --pcap FILE         capture frames when they start on a link\n"
	"  --pcap-link SEL     of which links: plane=0,leaf=1,spine=0,host=3,class=host_up\n"
	"                      (default class=host_up: every frame once)\n"
	"  --trace FILE        the engines' trace: EV states, windows, losses, timers; as JSON "
	"when\n"
	"                      FILE ends in .json, else as CSV\n"
	"  --progress[=SEC]    tell how far the run is each SEC seconds (default 0.5 on a "
	"terminal,\n"
	"                      else 10), also with --quiet\n"
	"  --no-progress       do not\n"
	"  --twice             run twice and compare the event hash\n"
	"  --check             only read the scenario; status 0 when it is right\n"
	"  --quiet             no progress, no summary\n"
	"  --version, --help\n"
	"\n"
	"Ends with 0 when the run kept every invariant and met what the file expects, with 1 when\n"
	"not, with 2 when it could not begin or its output not be written, with 3 when memory ran\n"
	"out. The keys of a scenario: man mrc-sim.\n";

static int set_where(struct mrc_fabric_where *w, const char *text)
{
	static const char *const classes[] = {"host_up", "host_down", "leaf_up", "leaf_down"};
	char copy[128], *save = NULL;

	*w = mrc_fabric_everywhere();
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -1;
	for (char *p = strtok_r(copy, ",", &save); p != NULL; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '='), *end;
		long n;

		if (eq == NULL)
			return -1;
		*eq = '\0';
		n = strtol(eq + 1, &end, 10);
		if (strcmp(p, "class") == 0) {
			uint32_t c = 0;

			while (c < 4 && strcmp(classes[c], eq + 1) != 0)
				c++;
			if (c == 4)
				return -1;
			w->classes |= 1u << c;
			continue;
		}
		if (*end != '\0' || end == eq + 1 || n < 0 || n > UINT16_MAX)
			return -1;
		if (strcmp(p, "plane") == 0)
			w->plane = (int32_t)n;
		else if (strcmp(p, "leaf") == 0)
			w->leaf = (int32_t)n;
		else if (strcmp(p, "spine") == 0)
			w->spine = (int32_t)n;
		else if (strcmp(p, "host") == 0)
			w->host = (int32_t)n;
		else
			return -1;
	}
	return 0;
}

enum {
	OPT_SEED = 256,
	OPT_SET,
	OPT_SCALE,
	OPT_JSON,
	OPT_PCAP,
	OPT_PCAP_LINK,
	OPT_TRACE,
	OPT_PROGRESS,
	OPT_NO_PROGRESS,
	OPT_TWICE,
	OPT_CHECK,
	OPT_QUIET,
	OPT_VERSION,
	OPT_HELP,
};

static const struct option options[] = {
	{"seed", required_argument, NULL, OPT_SEED},
	{"set", required_argument, NULL, OPT_SET},
	{"scale", required_argument, NULL, OPT_SCALE},
	{"json", required_argument, NULL, OPT_JSON},
	{"pcap", required_argument, NULL, OPT_PCAP},
	{"pcap-link", required_argument, NULL, OPT_PCAP_LINK},
	{"trace", required_argument, NULL, OPT_TRACE},
	{"progress", optional_argument, NULL, OPT_PROGRESS},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{"twice", no_argument, NULL, OPT_TWICE},
	{"check", no_argument, NULL, OPT_CHECK},
	{"quiet", no_argument, NULL, OPT_QUIET},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static int bad_value(const char *option, const char *value, const char *remedy)
{
	fprintf(stderr, "mrc-sim: --%s %s: %s\n", option, value, remedy);
	return EXIT_USAGE;
}

/* 0, or an exit code with its message printed; -1: end well (help, version). */
static int take_option(struct args *a, int option)
{
	char *end;

	switch (option) {
	case OPT_SEED:
		errno = 0;
		a->seed = strtoull(optarg, &end, 0);
		a->seed_set = true;
		return *end == '\0' && end != optarg && errno == 0 && strchr(optarg, '-') == NULL
			       ? 0
			       : bad_value("seed", optarg, "is no number, give 1 or 0x1F");
	case OPT_SET:
		if (a->nb_sets == MAX_SETS)
			return bad_value("set", optarg, "too many, put it into the file");
		a->sets[a->nb_sets++] = optarg;
		return 0;
	case OPT_SCALE:
		a->scale = strtod(optarg, &end);
		return *end == '\0' && a->scale > 0 && a->scale <= 1e6
			       ? 0
			       : bad_value("scale", optarg, "is no factor, give 0.1 or 10");
	case OPT_JSON:
		a->json = optarg;
		return 0;
	case OPT_PCAP:
		a->opts.pcap = optarg;
		return 0;
	case OPT_PCAP_LINK:
		return set_where(&a->opts.pcap_where, optarg) == 0
			       ? 0
			       : bad_value("pcap-link", optarg,
					 "is no selector, give plane=0,host=1,class=host_up");
	case OPT_TRACE:
		a->opts.trace = optarg;
		return 0;
	case OPT_PROGRESS:
		a->progress_set = true;
		a->opts.progress_s = optarg != NULL ? strtod(optarg, &end) : -1;
		return optarg == NULL || (*end == '\0' && a->opts.progress_s > 0 &&
						 isfinite(a->opts.progress_s))
			       ? 0
			       : bad_value("progress", optarg, "is no time, give 1 or 0.5");
	case OPT_NO_PROGRESS:
		a->progress_set = true;
		a->opts.progress_s = 0;
		return 0;
	case OPT_TWICE:
		a->twice = true;
		return 0;
	case OPT_CHECK:
		a->check = true;
		return 0;
	case OPT_QUIET:
		a->quiet = true;
		return 0;
	case OPT_VERSION:
		printf("mrc-sim %s\n", SIM_VERSION);
		return -1;
	case OPT_HELP:
		fputs(usage_text, stdout);
		return -1;
	default:
		fputs("mrc-sim: try --help\n", stderr);
		return EXIT_USAGE;
	}
}

static int take_args(struct args *a, int argc, char **argv)
{
	int option, err = 0;

	*a = (struct args){.scale = 1};
	a->opts.pcap_where = mrc_fabric_everywhere();
	a->opts.pcap_where.classes = 1u << MRC_FABRIC_HOST_UP;
	while (err == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		err = take_option(a, option);
	if (err != 0)
		return err;
	if (optind + 1 != argc) {
		fputs("mrc-sim: name one scenario file (try --help)\n", stderr);
		return EXIT_USAGE;
	}
	a->scenario = argv[optind];
	return 0;
}

/* At most `most`: what is behind it is not reached anyway. */
static uint64_t scaled(uint64_t value, double by, uint64_t most)
{
	const double product = (double)value * by;

	return product < (double)most ? (uint64_t)product : most;
}

static void scale(struct scenario *sc, double by)
{
	/* Rounds that wait for each other take longer by number, others by size. */
	if (sc->load.barrier)
		sc->load.pattern.rounds =
			(uint32_t)scaled(1, sc->load.pattern.rounds * by + 0.5, UINT32_MAX);
	else
		sc->load.pattern.bytes = scaled(sc->load.pattern.bytes, by, UINT64_MAX / 2);
	if (sc->load.pattern.rounds == 0)
		sc->load.pattern.rounds = 1;
	if (sc->load.pattern.bytes == 0)
		sc->load.pattern.bytes = 1;
	sc->load.duration_ns = scaled(sc->load.duration_ns, by, UINT64_MAX / 4);
	sc->load.warmup_ns = scaled(sc->load.warmup_ns, by, UINT64_MAX / 4);
	sc->run.limit_ns = scaled(sc->run.limit_ns, by > 1 ? by : 1, UINT64_MAX / 2);
}

static double number(const json_t *result, const char *path)
{
	double v = 0;

	(void)sim_result_value(result, path, &v);
	return v;
}

static void summary(const json_t *r)
{
	const json_t *item;
	size_t i;
	const char *name = json_string_value(json_object_get(r, "name"));
	const char *failure = json_string_value(json_object_get(r, "failure"));

	printf("%s%sseed %.0f%s%s\n", name, name[0] != '\0' ? "  " : "", number(r, "seed"),
		failure[0] != '\0' ? "  " : "", failure);
	printf("  simulated %.1f us in %.2f s; %.2f M packet-hops a CPU second, hash %s\n",
		number(r, "simulated_us"), number(r, "speed.wall_s"),
		number(r, "speed.packet_hops_per_cpu_s") / 1e6,
		json_string_value(json_object_get(r, "hash")));
	if (number(r, "flows.fct_us.count") > 0)
		printf("  flows %.0f of %.0f; completion us: min %.1f  median %.1f  p99 %.1f  "
		       "max %.1f\n",
			number(r, "flows.done"), number(r, "flows.count"),
			number(r, "flows.fct_us.min"), number(r, "flows.fct_us.median"),
			number(r, "flows.fct_us.p99"), number(r, "flows.fct_us.max"));
	if (number(r, "goodput.steady_gbps.count") > 0)
		printf("  goodput per connection, Gb/s: min %.2f  median %.2f  max %.2f  "
		       "Jain %.4f\n",
			number(r, "goodput.steady_gbps.min"),
			number(r, "goodput.steady_gbps.median"),
			number(r, "goodput.steady_gbps.max"),
			number(r, "goodput.steady_gbps.jain"));
	printf("  goodput %.2f Gb/s; retransmits %.0f, timeouts %.0f; marks %.0f, trims %.0f, "
	       "drops %.0f\n",
		number(r, "goodput.total_gbps"),
		number(r, "engine.retransmits") + number(r, "rc.retransmits"),
		number(r, "engine.timeouts") + number(r, "rc.timeouts"), number(r, "fabric.marks"),
		number(r, "fabric.trims"), number(r, "fabric.dropped"));
	json_array_foreach(json_object_get(r, "expect"), i, item)
	{
		const char *text = json_string_value(json_object_get(item, "text"));

		printf("  %s  %s: ", json_is_true(json_object_get(item, "ok")) ? "pass" : "FAIL",
			json_string_value(json_object_get(item, "value")));
		if (json_object_get(item, "measured") == NULL)
			printf("the result has no such value,");
		else
			printf("%.4g", number(item, "measured"));
		if (json_object_get(item, "min") != NULL)
			printf(" >= %.4g", number(item, "min"));
		if (json_object_get(item, "max") != NULL)
			printf(" <= %.4g", number(item, "max"));
		printf("%s%s\n", text[0] != '\0' ? "  " : "", text);
	}
}

/* Why a run was not met, on one line. */
static void complain(const json_t *r)
{
	const char *failure = json_string_value(json_object_get(r, "failure"));
	const json_t *item;
	size_t i;

	if (failure[0] != '\0') {
		fprintf(stderr, "mrc-sim: %s\n", failure);
		return;
	}
	json_array_foreach(json_object_get(r, "expect"), i, item)
	{
		if (json_is_true(json_object_get(item, "ok")))
			continue;
		fprintf(stderr, "mrc-sim: expect[%zu]: %s: ", i,
			json_string_value(json_object_get(item, "value")));
		if (json_object_get(item, "measured") == NULL)
			fprintf(stderr, "the result has no such value\n");
		else
			fprintf(stderr, "is %g\n", number(item, "measured"));
		return;
	}
}

/* One run; NULL when it could not begin, `lost` when not all of it was written (message printed).
 */
static json_t *run_once(struct args *a, struct scenario *sc)
{
	struct mrc_ctl_error error;
	struct sim *sim = sim_create(sc, &a->opts);
	json_t *result = NULL;
	bool ok;

	if (sim_capture_open(sim, &error) != MRC_OK) {
		fprintf(stderr, "mrc-sim: %s\n", error.text);
	} else {
		ok = sim_run(sim);
		if (a->opts.progress_s > 0)
			sim_progress_end(sim);
		result = sim_result(sim, ok);
	}
	a->lost = !sim_capture_close(sim) || a->lost;
	sim_destroy(sim);
	return result;
}

static int write_json(const char *path, const json_t *result)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	int err = file == NULL;

	if (file != NULL) {
		err = json_dumpf(result, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
		fputc('\n', file);
		if ((file == stdout ? fflush(file) : fclose(file)) != 0)
			err = 1;
	}
	if (err != 0)
		fprintf(stderr, "mrc-sim: --json %s: cannot be written\n", path);
	return err;
}

static bool same_hash(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "hash"), json_object_get(b, "hash"));
}

/* On a terminal the line moves; a log gets a new one now and then. */
static void progress_choose(struct args *a)
{
	bool terminal = isatty(STDERR_FILENO);

	if (!a->progress_set && !a->quiet)
		a->opts.progress_s = terminal ? TERMINAL_S : LOG_S;
	else if (a->progress_set && a->opts.progress_s < 0)
		a->opts.progress_s = terminal ? TERMINAL_S : LOG_S;
	a->opts.progress_line = terminal && a->opts.progress_s > 0;
}

static bool tap_is_there(const struct scenario *sc, const struct mrc_fabric_where *where)
{
	const struct mrc_ctl_shape shape = {
		sc->fabric.planes, sc->fabric.leaves, sc->fabric.spines, scenario_nb_hosts(sc)};
	int32_t index;
	uint32_t nb;
	const char *part = mrc_ctl_where_check(where, &shape, &index, &nb);

	if (part != NULL)
		fprintf(stderr,
			"mrc-sim: --pcap-link: %s %d: the fabric has %u of them, from 0 on\n", part,
			index, nb);
	else if (!mrc_ctl_where_selects(where, &shape))
		fprintf(stderr, "mrc-sim: --pcap-link: " MRC_CTL_NO_LINK "\n");
	else
		return true;
	return false;
}

static int run(int argc, char **argv)
{
	struct mrc_ctl_error error;
	struct scenario *sc;
	struct args a;
	json_t *result, *again;
	int code;

	code = take_args(&a, argc, argv);
	if (code != 0)
		return code < 0 ? EXIT_MET : code;
	if (scenario_read(a.scenario, a.sets, a.nb_sets, &sc, &error) != MRC_OK) {
		fprintf(stderr, "mrc-sim: %s\n", error.text);
		return EXIT_USAGE;
	}
	if (!tap_is_there(sc, &a.opts.pcap_where)) {
		scenario_free(sc);
		return EXIT_USAGE;
	}
	if (a.seed_set)
		sc->seed = a.seed;
	scale(sc, a.scale);
	progress_choose(&a);
	if (a.check) {
		scenario_free(sc);
		return EXIT_MET;
	}
	result = run_once(&a, sc);
	if (result != NULL && a.twice) {
		again = run_once(&a, sc);
		if (again == NULL || !same_hash(result, again)) {
			fprintf(stderr, "mrc-sim: two runs of seed %llu differ\n",
				(unsigned long long)sc->seed);
			json_object_set_new(result, "met", json_false());
		}
		json_decref(again);
	}
	scenario_free(sc);
	if (result == NULL)
		return EXIT_USAGE;
	if (!json_is_true(json_object_get(result, "begun"))) {
		fprintf(stderr, "mrc-sim: %s: %s\n", a.scenario,
			json_string_value(json_object_get(result, "failure")));
		json_decref(result);
		return EXIT_USAGE;
	}
	if (!a.quiet && (a.json == NULL || strcmp(a.json, "-") != 0))
		summary(result);
	code = json_is_true(json_object_get(result, "met")) ? EXIT_MET : EXIT_NOT_MET;
	if (a.quiet && code == EXIT_NOT_MET && a.json == NULL)
		complain(result);
	if ((a.json != NULL && write_json(a.json, result) != 0) || a.lost)
		code = EXIT_USAGE;
	json_decref(result);
	return code;
}

int main(int argc, char **argv)
{
	mrc_ctl_stdio_hold();
	return mrc_ctl_stdio_end("mrc-sim", run(argc, argv), EXIT_USAGE);
}
