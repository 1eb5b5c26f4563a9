/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of run, and the arguments that EAL gets of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "options.h"

static struct mrc_options options;
static char reason[256];

static int parse(int argc, ...)
{
	char *argv[16];
	va_list ap;

	va_start(ap, argc);
	for (int i = 0; i < argc; i++)
		argv[i] = va_arg(ap, char *);
	va_end(ap);
	memset(&options, 0, sizeof(options));
	return mrc_options_parse(argc, argv, &options, reason);
}

static void our_options_stand_on_either_side(void **state)
{
	assert_int_equal(
		parse(9, "run", "-c", "a.json", "-l", "0,1", "--", "--json", "--seconds", "2.5"),
		MRC_OK);
	assert_string_equal(options.config, "a.json");
	assert_true(options.json);
	assert_true(options.seconds == 2.5);
	assert_int_equal(options.nb_eal, 2);
	assert_string_equal(options.eal[0], "-l");
	assert_string_equal(options.eal[1], "0,1");
	assert_int_equal(parse(3, "run", "--config=b.json", "--file=x"), MRC_OK);
	assert_string_equal(options.config, "b.json");
	assert_string_equal(options.file, "x");
}

static void mistakes_are_named(void **state)
{
	assert_int_equal(parse(2, "run", "-c"), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "-c needs a value"));
	assert_int_equal(parse(3, "run", "--", "--jsn"), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "--jsn"));
	assert_int_equal(parse(3, "run", "--seconds", "fast"), MRC_ERR_INVAL);
	assert_non_null(strstr(reason, "fast"));
	assert_int_equal(parse(3, "run", "--seconds", "nan"), MRC_ERR_INVAL);
	assert_int_equal(parse(3, "run", "--seconds", "0"), MRC_ERR_INVAL);
}

/* The vector as one line. */
static const char *build(const struct mrc_eal_plan *plan)
{
	static char line[1024];
	struct mrc_eal_args args;
	size_t used = 0;

	assert_int_equal(mrc_eal_args_build(&args, plan), MRC_OK);
	assert_null(args.argv[args.argc]);
	for (int i = 0; i < args.argc; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", args.argv[i]);
	mrc_eal_args_free(&args);
	return line;
}

static void defaults_need_no_hugepages_and_no_device(void **state)
{
	struct mrc_eal_plan plan = {.memory_mib = 100, .prefix = "p1"};

	assert_string_equal(build(&plan),
		" mrc-dp --no-huge -m 100 --no-pci --file-prefix p1 --log-level=*:error");
	plan.hugepages = true;
	assert_string_equal(build(&plan), " mrc-dp --huge-unlink=always -m 100 --no-pci "
					  "--file-prefix p1 --log-level=*:error");
}

static void given_arguments_replace_defaults(void **state)
{
	const char *file[] = {"-l", "0", "--log-level=8"};
	const char *cli[] = {"--in-memory", "-l", "1", "--file-prefix", "mine"};
	const char *vdevs[] = {"net_null0"};
	const char *pcis[] = {"0000:01:00.0"};
	struct mrc_eal_plan plan = {.file_args = file,
		.nb_file_args = 3,
		.cli_args = cli,
		.nb_cli_args = 5,
		.vdevs = vdevs,
		.nb_vdevs = 1,
		.pcis = pcis,
		.nb_pcis = 1,
		.memory_mib = 100,
		.lcores = "0-3",
		.prefix = "p1"};

	assert_string_equal(build(&plan),
		" mrc-dp --log-level=8 --in-memory -l 1 --file-prefix mine "
		"-m 100 --vdev net_null0 -a 0000:01:00.0");
	plan.nb_cli_args = 1;
	assert_string_equal(build(&plan),
		" mrc-dp -l 0 --log-level=8 --in-memory -m 100 --vdev net_null0 -a "
		"0000:01:00.0 --file-prefix p1");
	plan.nb_file_args = plan.nb_cli_args = plan.nb_pcis = 0;
	assert_string_equal(build(&plan),
		" mrc-dp -l 0-3 --no-huge -m 100 --vdev net_null0 --no-pci "
		"--file-prefix p1 --log-level=*:error");
}

/* "-m" alone says nothing about pages: without hugepages it must not ask for them. */
static void a_size_alone_keeps_the_choice_of_pages(void **state)
{
	const char *cli[] = {"-m", "800"};
	struct mrc_eal_plan plan = {
		.cli_args = cli, .nb_cli_args = 2, .memory_mib = 100, .prefix = "p1"};

	assert_string_equal(build(&plan),
		" mrc-dp -m 800 --no-huge --no-pci --file-prefix p1 --log-level=*:error");
}

static void memif_is_kept_quiet_about_a_missing_server(void **state)
{
	const char *vdevs[] = {"net_memif0,role=client"};
	struct mrc_eal_plan plan = {.vdevs = vdevs, .nb_vdevs = 1, .prefix = "p1"};

	assert_string_equal(build(&plan),
		" mrc-dp --no-huge --vdev net_memif0,role=client --no-pci --file-prefix p1 "
		"--log-level=pmd.net.memif:critical --log-level=*:error");
}

static void too_many_arguments_are_refused(void **state)
{
	const char *many[MRC_EAL_MAX_ARGS];
	struct mrc_eal_args args = {.argc = 77};
	struct mrc_eal_plan plan = {
		.file_args = many, .nb_file_args = MRC_EAL_MAX_ARGS, .prefix = "p1"};

	for (int i = 0; i < MRC_EAL_MAX_ARGS; i++)
		many[i] = "-v";
	assert_int_equal(mrc_eal_args_build(&args, &plan), MRC_ERR_TOOBIG);
	assert_int_equal(args.argc, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_options_stand_on_either_side),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(defaults_need_no_hugepages_and_no_device),
		cmocka_unit_test(given_arguments_replace_defaults),
		cmocka_unit_test(a_size_alone_keeps_the_choice_of_pages),
		cmocka_unit_test(memif_is_kept_quiet_about_a_missing_server),
		cmocka_unit_test(too_many_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
