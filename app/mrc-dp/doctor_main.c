/* SPDX-License-Identifier: BSD-2-Clause */
/* The command "mrc-dp doctor": options, what the file wants, and the report as text or JSON. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config.h"
#include "ctl_stdio.h"
#include "doctor.h"
#include "run.h"

static const char usage[] =
	"usage: mrc-dp doctor [-c FILE] [--json]\n"
	"Examines this machine: CPUs and pinning, hugepages, rights, and with -c the ports, MTU,\n"
	"memory and sockets of a configuration. Each line says OK, WARN or FAIL and the command\n"
	"that mends it. Starts nothing. Exit status: 0 nothing failed, 1 something did, 2 usage.\n";

struct options {
	const char *path;
	bool json;
};

static void lcores_fill(const struct mrc_cfg *cfg, struct mrc_doctor_want *want)
{
	if (cfg->lcores[0] != '\0')
		want->lcores = cfg->lcores;
	for (uint32_t i = 0; i < cfg->nb_eal; i++) {
		const char *arg = cfg->eal[i];

		if (strncmp(arg, "--lcores=", 9) == 0)
			want->lcores = arg + 9;
		else if (i + 1 < cfg->nb_eal &&
			 (strcmp(arg, "-l") == 0 || strcmp(arg, "--lcores") == 0))
			want->lcores = cfg->eal[i + 1];
	}
}

static void want_fill(const struct mrc_cfg *cfg, struct mrc_doctor_want *want)
{
	lcores_fill(cfg, want);
	want->memory_mib = cfg->memory_mib;
	want->mtu = mrc_cfg_mtu_needed(cfg);
	want->huge = cfg->hugepages == MRC_HUGE_YES  ? MRC_DOCTOR_HUGE_YES
		     : cfg->hugepages == MRC_HUGE_NO ? MRC_DOCTOR_HUGE_NO
						     : MRC_DOCTOR_HUGE_AUTO;
	want->nb_busy = cfg->fabric.present ? 1 : 0;
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++) {
		const struct mrc_cfg_endpoint *ep = &cfg->endpoints[e];

		want->nb_busy += ep->nb_workers;
		for (uint32_t p = 0; p < ep->nb_planes; p++)
			if (ep->planes[p].link == MRC_LINK_DEVICE &&
				want->nb_devices < MRC_DOCTOR_DEVICES)
				want->devices[want->nb_devices++] = ep->planes[p].device;
	}
	if (cfg->oob.mode == MRC_OOB_LISTEN && strncmp(cfg->oob.address, "unix:", 5) == 0)
		want->sockets[want->nb_sockets++] = cfg->oob.address + 5;
}

static void report_text(const struct mrc_doctor_report *report)
{
	for (uint32_t i = 0; i < report->nb; i++) {
		const struct mrc_doctor_line *line = &report->lines[i];

		printf("%-4s  %-9s  %s\n", mrc_doctor_verdict_name(line->verdict), line->topic,
			line->text);
		if (line->mend[0] != '\0')
			printf("      %-9s  mend: %s\n", "", line->mend);
	}
}

static void report_json(const struct mrc_doctor_report *report)
{
	json_t *root = json_object(), *checks = json_array();

	for (uint32_t i = 0; i < report->nb; i++) {
		const struct mrc_doctor_line *line = &report->lines[i];
		json_t *check = json_pack("{s:s,s:s,s:s}", "verdict",
			mrc_doctor_verdict_name(line->verdict), "topic", line->topic, "text",
			line->text);

		if (line->mend[0] != '\0')
			json_object_set_new(check, "mend", json_string(line->mend));
		json_array_append_new(checks, check);
	}
	json_object_set_new(
		root, "verdict", json_string(mrc_doctor_verdict_name(mrc_doctor_worst(report))));
	json_object_set_new(root, "checks", checks);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	printf("\n");
	json_decref(root);
}

/* False: wrong usage. */
static bool options_read(int argc, char **argv, struct options *options_out)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	static char name[] = "mrc-dp doctor";
	int c;

	*options_out = (struct options){.json = false};
	argv[0] = name; /* what getopt's complaints begin with */
	while ((c = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
		if (c == 'c') {
			options_out->path = optarg;
		} else if (c == 'j') {
			options_out->json = true;
		} else if (c == 'h') {
			fputs(usage, stdout);
			exit(mrc_ctl_stdio_end("mrc-dp", 0, MRC_EXIT_FAILED));
		} else {
			return false;
		}
	}
	if (optind < argc)
		fprintf(stderr, "%s: \"%s\" is no option; a file is named by -c\n", name,
			argv[optind]);
	return optind == argc;
}

/* Takes the file's wishes; what is wrong with the file becomes the first line of the report. */
static void examine(const char *path, struct mrc_doctor_report *report_out)
{
	struct mrc_doctor_want want = {.huge = MRC_DOCTOR_HUGE_AUTO};
	struct mrc_doctor_host host;
	struct mrc_doctor_line *line = NULL;
	struct mrc_cfg *cfg = calloc(1, sizeof(*cfg));
	char error[MRC_REASON] = "out of memory";

	mrc_doctor_host_read(&host);
	if (path != NULL && cfg != NULL && mrc_cfg_load(path, cfg, error) == MRC_OK)
		want_fill(cfg, &want);
	else if (path != NULL)
		line = &report_out->lines[0];
	mrc_doctor_run(&host, &want, report_out);
	if (line != NULL && report_out->nb < MRC_DOCTOR_LINES) {
		memmove(line + 1, line, report_out->nb * sizeof(*line));
		*line = (struct mrc_doctor_line){.verdict = MRC_DOCTOR_FAIL, .topic = "config"};
		snprintf(line->text, sizeof(line->text), "%.*s", MRC_DOCTOR_TEXT - 1, error);
		report_out->nb++;
	}
	free(cfg);
}

int mrc_doctor_main(int argc, char **argv)
{
	struct mrc_doctor_report report;
	struct options options;

	if (!options_read(argc, argv, &options)) {
		fputs(usage, stderr);
		return 2;
	}
	examine(options.path, &report);
	if (options.json)
		report_json(&report);
	else
		report_text(&report);
	return mrc_doctor_worst(&report) == MRC_DOCTOR_FAIL ? 1 : 0;
}
