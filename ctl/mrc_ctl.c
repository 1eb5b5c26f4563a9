/* SPDX-License-Identifier: BSD-2-Clause */
/* mrc_ctl.c - the command mrc-ctl: looks at a running fabric and changes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_client.h"
#include "ctl_stdio.h"

#define DEFAULT_SOCKET "/run/mrc-fabric/control.sock"

enum {
	EXIT_GOOD = 0,
	EXIT_REFUSED = 1, /* the fabric said no, or its answer is lost */
	EXIT_USAGE = 2,
	EXIT_NOBODY = 3, /* nobody listens, or no answer */
};

struct options {
	const char *socket;
	uint32_t wait_ms;
	bool json;
	char **args; /* what is left */
	int nb_args;
};

static int complain(int code, const char *text)
{
	fprintf(stderr, "mrc-ctl: %s\n", text);
	return code;
}

static void help(FILE *out)
{
	fputs("mrc-ctl " MRC_VERSION " - look at a running mrc-fabric and change it\n\n"
	      "usage: mrc-ctl [-s SOCKET] [--json] [--wait SECONDS] COMMAND\n\n"
	      "  links [WHERE]              list links\n"
	      "  link WHERE up|down         carrier of both directions\n"
	      "  link WHERE rate=R delay=D  new rate and delay\n"
	      "  fault start JSON           start a fault: a plan as in the configuration,\n"
	      "  fault start KIND [KEY=VALUE...]          or in words\n"
	      "  fault stop ID              end it\n"
	      "  faults                     list faults\n"
	      "  counters [WHERE]           packets by link, totals, ports\n"
	      "  check                      do the counters balance?\n"
	      "  info                       who answers, and what it can do\n"
	      "  call METHOD [JSON]         any method\n\n"
	      "  WHERE: plane numbers, or plane=N leaf=N spine=N host=N direction=CLASS\n"
	      "  -s, --socket SOCKET  default $MRC_CTL_SOCKET, then " DEFAULT_SOCKET "\n"
	      "  --json               the answer as JSON\n"
	      "  --wait SECONDS       how long to wait for somebody to listen, and for an answer\n"
	      "  --version, --help\n\n"
	      "Exit: 0 done, 1 refused or the answer lost, 2 wrong usage, 3 nobody listens.\n",
		out);
}

/* ---- arguments --------------------------------------------------------------------------------*/

/* Adds "key=value" or a plane number to an object; numbers stay numbers. */
static bool word_put(json_t *out, const char *word, const char *plain_key)
{
	const char *equals = strchr(word, '=');
	const char *value = equals != NULL ? equals + 1 : word;
	char key[32], *end;
	long long number;
	json_t *json;

	if (equals == NULL && plain_key == NULL)
		return false;
	if (equals != NULL && (equals == word || (size_t)(equals - word) >= sizeof(key)))
		return false;
	snprintf(key, sizeof(key), "%.*s", equals != NULL ? (int)(equals - word) : 31,
		equals != NULL ? word : plain_key);
	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno == 0 && end != value && *end == '\0')
		json = json_integer(number);
	else if (equals == NULL)
		return false;
	else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
		json = json_boolean(value[0] == 't');
	else
		json = json_string(value);
	if (json == NULL || json_object_get(out, key) != NULL) {
		json_decref(json);
		return false;
	}
	json_object_set_new(out, key, json);
	return true;
}

/* Words to an object; NULL after a complaint. */
static json_t *words_object(char **words, int nb, const char *plain_key)
{
	json_t *out = json_object();

	for (int i = 0; i < nb; i++) {
		if (word_put(out, words[i], plain_key))
			continue;
		fprintf(stderr, "mrc-ctl: \"%s\": want KEY=VALUE, each key once%s\n", words[i],
			plain_key != NULL ? ", or a plane number" : "");
		json_decref(out);
		return NULL;
	}
	return out;
}

static json_t *text_object(const char *text)
{
	json_error_t error;
	json_t *out = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (out == NULL)
		fprintf(stderr, "mrc-ctl: not JSON at column %d: %s\n", error.column, error.text);
	return out;
}

/* ---- output -----------------------------------------------------------------------------------*/

static void print_json(const json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
}

static long long number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value != NULL ? value : "";
}

/* Number with the largest unit that leaves it at least 1. */
static const char *scaled(
	char out[24], double value, double step, const char *const *units, int nb_units)
{
	int unit = 0;

	while (unit + 1 < nb_units && value >= step) {
		value /= step;
		unit++;
	}
	snprintf(out, 24, "%.4g %s", value, units[unit]);
	return out;
}

static const char *rate_text(char out[24], long long bps)
{
	static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};

	return bps == 0 ? "no limit" : scaled(out, (double)bps, 1000, units, 5);
}

static const char *time_text(char out[24], long long ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	return scaled(out, (double)ns, 1000, units, 4);
}

static const char *size_text(char out[24], long long len)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};

	return scaled(out, (double)len, 1024, units, 4);
}

/* "leaf 0 spine 1" and so on. */
static const char *place_text(char out[64], const json_t *link)
{
	const json_t *host = json_object_get(link, "host");

	snprintf(out, 64, "leaf %lld %s %lld", number(link, "leaf"),
		host != NULL ? "host" : "spine", number(link, host != NULL ? "host" : "spine"));
	return out;
}

static void print_links(const json_t *result)
{
	size_t i;
	json_t *link;
	char place[64], rate[24], delay[24], queue[24];

	printf("%5s %5s  %-10s %-18s %-5s %-11s %-9s %s\n", "link", "plane", "direction", "place",
		"state", "rate", "delay", "queue");
	json_array_foreach(json_object_get(result, "links"), i, link)
	{
		printf("%5lld %5lld  %-10s %-18s %-5s %-11s %-9s %s\n", number(link, "link"),
			number(link, "plane"), text(link, "direction"), place_text(place, link),
			json_is_true(json_object_get(link, "up")) ? "up" : "down",
			rate_text(rate, number(link, "rate_bps")),
			time_text(delay, number(link, "delay_ns")),
			number(link, "queue_bytes") == 0
				? "no limit"
				: size_text(queue, number(link, "queue_bytes")));
	}
}

/* Drops by reason: "12 loss fault, 3 data queue full". */
static void print_drops(const json_t *object)
{
	json_t *drops = json_object_get(object, "drops");
	const char *comma = "";
	const char *name;
	json_t *count;

	if (json_object_size(drops) == 0)
		putchar('-');
	json_object_foreach(drops, name, count)
	{
		printf("%s%lld %s", comma, (long long)json_integer_value(count), name);
		comma = ", ";
	}
	putchar('\n');
}

static void print_counters(const json_t *result)
{
	json_t *totals = json_object_get(result, "totals");
	size_t i;
	int idle = 0;
	json_t *each;
	char place[64], queue[24];

	printf("%5s %5s  %-10s %-18s %12s %14s %9s %7s %11s  %s\n", "link", "plane", "direction",
		"place", "packets", "bytes", "marks", "trims", "queue max", "drops");
	json_array_foreach(json_object_get(result, "links"), i, each)
	{
		if (number(each, "offered_packets") == 0) {
			idle++;
			continue;
		}
		printf("%5lld %5lld  %-10s %-18s %12lld %14lld %9lld %7lld %11s  ",
			number(each, "link"), number(each, "plane"), text(each, "direction"),
			place_text(place, each), number(each, "tx_packets"),
			number(each, "tx_bytes"), number(each, "marks"), number(each, "trims"),
			size_text(queue, number(each, "queue_max_bytes")));
		print_drops(each);
	}
	if (idle > 0)
		printf("and %d links that nobody used\n", idle);
	printf("\n%-16s %5s  %-5s %12s %12s %9s %9s\n", "port", "plane", "state", "in", "out",
		"unfit", "lost");
	json_array_foreach(json_object_get(result, "ports"), i, each)
	{
		printf("%-16s %5lld  %-5s %12lld %12lld %9lld %9lld\n", text(each, "name"),
			number(each, "plane"),
			json_is_true(json_object_get(each, "link_up")) ? "up" : "down",
			number(each, "rx_packets"), number(each, "tx_packets"),
			number(each, "rx_unfit"), number(each, "tx_lost"));
	}
	printf("\nall: %lld sent, %lld copies, %lld delivered, %lld dropped, %lld under way; "
	       "drops: ",
		number(totals, "sent"), number(totals, "copies"), number(totals, "delivered"),
		number(totals, "dropped"), number(totals, "in_flight") + number(totals, "unread"));
	print_drops(totals);
}

static void print_faults(const json_t *result)
{
	json_t *list = json_object_get(result, "faults");
	size_t i;
	json_t *fault;

	if (json_array_size(list) == 0) {
		puts("no faults");
		return;
	}
	printf("%5s  %-8s %10s %10s %10s  %s\n", "id", "state", "age", "matches", "hits", "plan");
	json_array_foreach(list, i, fault)
	{
		char *plan = json_dumps(json_object_get(fault, "fault"), JSON_COMPACT);

		printf("%5lld  %-8s %8.1f s %10lld %10lld  %s\n", number(fault, "id"),
			text(fault, "state"), json_real_value(json_object_get(fault, "age_s")),
			number(fault, "matches"), number(fault, "hits"), plan != NULL ? plan : "?");
		free(plan);
	}
}

/* ---- calls ------------------------------------------------------------------------------------*/

static int call(const struct options *o, struct mrc_ctl_client *client, const char *method,
	json_t *params, json_t **result_out)
{
	char reason[MRC_RPC_TEXT_LEN] = "";
	int code = mrc_ctl_client_call(client, method, params, result_out, reason);

	if (code == MRC_RPC_GOOD)
		return EXIT_GOOD;
	if (o->json) {
		json_t *error =
			json_pack("{s:{s:i, s:s}}", "error", "code", code, "message", reason);

		print_json(error);
		json_decref(error);
	}
	return complain(code == MRC_RPC_INTERNAL ? EXIT_NOBODY : EXIT_REFUSED, reason);
}

/* Calls, prints (as JSON or by `print`; NULL: nothing to see) and forgets. */
static int call_print(const struct options *o, struct mrc_ctl_client *client, const char *method,
	json_t *params, void (*print)(const json_t *result))
{
	json_t *result;
	int code = call(o, client, method, params, &result);

	if (code)
		return code;
	if (o->json || print == NULL)
		print_json(result);
	else
		print(result);
	json_decref(result);
	return EXIT_GOOD;
}

/* The pages of a listing, joined. */
static int call_pages(const struct options *o, struct mrc_ctl_client *client, const char *method,
	void (*print)(const json_t *result))
{
	json_t *where = words_object(o->args + 1, o->nb_args - 1, "plane");
	json_t *all = NULL, *page, *next = NULL;
	int code = where != NULL ? EXIT_GOOD : EXIT_USAGE;

	while (!code) {
		code = call(o, client, method, json_deep_copy(where), &page);
		if (code)
			break;
		next = json_object_get(page, "next");
		if (next != NULL)
			json_object_set(where, "from", next);
		if (all == NULL) {
			all = page;
		} else {
			json_array_extend(
				json_object_get(all, "links"), json_object_get(page, "links"));
			json_decref(page);
		}
		if (json_object_get(where, "from") == NULL || next == NULL)
			break;
	}
	if (!code) {
		json_object_del(all, "next");
		if (o->json)
			print_json(all);
		else
			print(all);
	}
	json_decref(all);
	json_decref(where);
	return code;
}

/* ---- commands ---------------------------------------------------------------------------------*/

static int links_command(const struct options *o, struct mrc_ctl_client *client)
{
	return call_pages(o, client, "list_links", print_links);
}

static int counters_command(const struct options *o, struct mrc_ctl_client *client)
{
	return call_pages(o, client, "counters", print_counters);
}

static void print_changed(const json_t *result)
{
	printf("%lld links changed\n", number(result, "changed"));
}

/* What "link" is told: plane numbers, and what goes into the call for each of them. */
struct link_words {
	json_t *params;
	json_int_t planes[64];
	int nb_planes;
};

/* A word of "link"; false when it is none, or says again or otherwise what another one said. */
static bool link_word(struct link_words *w, const char *word)
{
	const bool up = strcmp(word, "up") == 0;
	char *end;
	long long plane;

	if (up || strcmp(word, "down") == 0)
		return json_object_get(w->params, "up") == NULL &&
		       json_object_set_new(w->params, "up", json_boolean(up)) == 0;
	errno = 0;
	plane = strtoll(word, &end, 10);
	if (end == word || *end != '\0')
		return word_put(w->params, word, NULL);
	if (errno != 0 || w->nb_planes == sizeof(w->planes) / sizeof(w->planes[0]))
		return false;
	w->planes[w->nb_planes++] = plane;
	return true;
}

/* Several plane numbers are several calls; everything else goes into each. */
static int link_command(const struct options *o, struct mrc_ctl_client *client)
{
	struct link_words w = {.params = json_object()};
	int code = EXIT_GOOD;

	for (int i = 1; i < o->nb_args && !code; i++) {
		if (link_word(&w, o->args[i]) &&
			(w.nb_planes == 0 || json_object_get(w.params, "plane") == NULL))
			continue;
		fprintf(stderr,
			"mrc-ctl: \"%s\": want plane numbers, KEY=VALUE, up or down, each once\n",
			o->args[i]);
		code = EXIT_USAGE;
	}
	for (int i = 0; !code && (i == 0 || i < w.nb_planes); i++) {
		if (w.nb_planes > 0)
			json_object_set_new(w.params, "plane", json_integer(w.planes[i]));
		code = call_print(o, client, "set_link", json_deep_copy(w.params), print_changed);
	}
	json_decref(w.params);
	return code;
}

static void print_started(const json_t *result)
{
	printf("fault %lld started\n", number(result, "id"));
}

static void print_stopped(const json_t *result)
{
	printf("fault %lld stopped after %lld hits\n", number(result, "id"),
		number(result, "hits"));
}

static int fault_command(const struct options *o, struct mrc_ctl_client *client)
{
	const char *verb = o->nb_args > 1 ? o->args[1] : "";
	json_t *plan;

	if (strcmp(verb, "stop") == 0 && o->nb_args == 3) {
		plan = json_object();
		if (word_put(plan, o->args[2], "id"))
			return call_print(o, client, "stop_fault", plan, print_stopped);
		json_decref(plan);
		return complain(EXIT_USAGE, "fault stop: want the number that start told");
	}
	if (strcmp(verb, "start") != 0 || o->nb_args < 3)
		return complain(EXIT_USAGE, "want \"fault start JSON\", \"fault start KIND "
					    "[KEY=VALUE...]\" or \"fault stop ID\"");
	if (o->args[2][0] == '{') {
		plan = o->nb_args == 3 ? text_object(o->args[2]) : NULL;
		if (o->nb_args > 3)
			complain(EXIT_USAGE, "one JSON text, in quotes");
	} else {
		plan = words_object(o->args + 3, o->nb_args - 3, NULL);
		if (plan != NULL)
			json_object_set_new(plan, "kind", json_string(o->args[2]));
	}
	return plan != NULL ? call_print(o, client, "start_fault", plan, print_started)
			    : EXIT_USAGE;
}

static int faults_command(const struct options *o, struct mrc_ctl_client *client)
{
	return call_print(o, client, "list_faults", NULL, print_faults);
}

static int check_command(const struct options *o, struct mrc_ctl_client *client)
{
	json_t *result;
	int code = call(o, client, "check_balance", NULL, &result);

	if (code)
		return code;
	if (o->json)
		print_json(result);
	else if (json_is_true(json_object_get(result, "balanced")))
		puts("the counters balance");
	else
		printf("the counters do not balance: %s\n", text(result, "fault"));
	code = json_is_true(json_object_get(result, "balanced")) ? EXIT_GOOD : EXIT_REFUSED;
	json_decref(result);
	return code;
}

static int call_command(const struct options *o, struct mrc_ctl_client *client)
{
	json_t *params = NULL;

	if (o->nb_args < 2 || o->nb_args > 3)
		return complain(EXIT_USAGE, "want \"call METHOD [JSON]\"");
	if (o->nb_args == 3 && (params = text_object(o->args[2])) == NULL)
		return EXIT_USAGE;
	return call_print(o, client, o->args[1], params, NULL);
}

static const struct {
	const char *name;
	int (*run)(const struct options *o, struct mrc_ctl_client *client);
	int max_args; /* behind the name; -1: any number */
} commands[] = {
	{"links", links_command, -1},
	{"link", link_command, -1},
	{"fault", fault_command, -1},
	{"faults", faults_command, 0},
	{"counters", counters_command, -1},
	{"check", check_command, 0},
	{"call", call_command, 2},
};

/* ---- the program ------------------------------------------------------------------------------*/

static int command_find(const struct options *o)
{
	const int nb = sizeof(commands) / sizeof(commands[0]);
	int i = 0;

	while (i < nb && strcmp(commands[i].name, o->args[0]) != 0)
		i++;
	if (i == nb && strcmp(o->args[0], "info") != 0) {
		fprintf(stderr, "mrc-ctl: \"%s\" is no command; try --help\n", o->args[0]);
		return -1;
	}
	if ((i == nb && o->nb_args > 1) ||
		(i < nb && commands[i].max_args >= 0 && o->nb_args - 1 > commands[i].max_args)) {
		fprintf(stderr, "mrc-ctl: %s: too many arguments; try --help\n", o->args[0]);
		return -1;
	}
	return i;
}

static void print_info(const json_t *hello)
{
	size_t i;
	json_t *name;

	printf("%s %s, protocol version %lld, you may %s\nmethods:", text(hello, "program"),
		text(hello, "release"), number(hello, "version"),
		json_is_true(json_object_get(hello, "may_change")) ? "change" : "only read");
	json_array_foreach(json_object_get(hello, "methods"), i, name)
	{
		printf(" %s", json_string_value(name));
	}
	putchar('\n');
}

static int command_run(const struct options *o)
{
	const int command = command_find(o);
	struct mrc_ctl_client *client;
	char reason[MRC_RPC_TEXT_LEN];
	json_t *hello;
	int code = EXIT_GOOD;

	if (command < 0)
		return EXIT_USAGE;
	code = mrc_ctl_client_open(o->socket, o->wait_ms, &client, &hello, reason);
	if (code != MRC_OK) {
		fprintf(stderr, "mrc-ctl: %s: %s%s\n", o->socket, reason,
			code == MRC_ERR_NOENT ? "; is mrc-fabric running?" : "");
		return EXIT_NOBODY;
	}
	if (strcmp(o->args[0], "info") != 0)
		code = commands[command].run(o, client);
	else if (o->json)
		print_json(hello);
	else
		print_info(hello);
	json_decref(hello);
	mrc_ctl_client_close(client);
	return code;
}

/* Our options come before the command or behind it. */
static int options_parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		const bool is_socket =
			strcmp(argv[i], "-s") == 0 || strcmp(argv[i], "--socket") == 0;
		const bool is_wait = strcmp(argv[i], "--wait") == 0;
		char *end = NULL;
		double seconds;

		if (strcmp(argv[i], "--json") == 0) {
			o->json = true;
		} else if (is_socket || is_wait) {
			if (++i == argc)
				return complain(EXIT_USAGE, "-s and --wait need a value");
			if (is_socket) {
				o->socket = argv[i];
				continue;
			}
			seconds = strtod(argv[i], &end);
			if (end == argv[i] || *end != '\0' || !(seconds >= 0 && seconds <= 3600))
				return complain(EXIT_USAGE, "--wait: want seconds from 0 to 3600");
			o->wait_ms = (uint32_t)(seconds * 1000);
		} else {
			o->args[o->nb_args++] = argv[i];
		}
	}
	return EXIT_GOOD;
}

int main(int argc, char **argv)
{
	const char *socket = getenv("MRC_CTL_SOCKET");
	struct options o = {
		.socket = socket != NULL && socket[0] != '\0' ? socket : DEFAULT_SOCKET};
	int code;

	mrc_ctl_stdio_hold();
	o.args = calloc((size_t)argc + 1, sizeof(*o.args));
	if (o.args == NULL)
		return complain(EXIT_NOBODY, "out of memory");
	code = options_parse(argc, argv, &o);
	if (code == EXIT_GOOD && o.nb_args == 0) {
		help(stderr);
		code = EXIT_USAGE;
	} else if (code == EXIT_GOOD &&
		   (strcmp(o.args[0], "--help") == 0 || strcmp(o.args[0], "-h") == 0)) {
		help(stdout);
	} else if (code == EXIT_GOOD && strcmp(o.args[0], "--version") == 0) {
		puts("mrc-ctl " MRC_VERSION);
	} else if (code == EXIT_GOOD) {
		code = command_run(&o);
	}
	free(o.args);
	return mrc_ctl_stdio_end("mrc-ctl", code, EXIT_REFUSED);
}
