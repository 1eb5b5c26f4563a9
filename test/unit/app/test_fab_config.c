/* SPDX-License-Identifier: BSD-2-Clause */
/* The start-up file of mrc-fabric: every key damaged in turn, what keys together must fulfil, and
 * the fabric that comes out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fab_config.h"
#include "test_env.h"
#include "tree.h"

static const char full[] =
	"{\"$schema\": \"mrc-fabric.schema.json\", \"comment\": \"all keys\","
	" \"eal\": [\"--log-level=8\"], \"lcores\": \"0\", \"mtu\": 4608, \"descriptors\": 256,"
	" \"memory\": {\"mib\": 256, \"hugepages\": false}, \"idle\": \"yield\","
	" \"protocol\": {\"choices\": {\"udp_port\": 4971}, \"pkey\": 65535, \"check_pkey\": true,"
	"   \"dscp\": {\"no_trim\": 1, \"trimmable\": 4, \"trimmable_retx\": 8, \"trimmed\": 12,"
	"     \"trimmed_lasthop\": 16, \"control\": 46}},"
	" \"fabric\": {\"leaves\": 2, \"spines\": 3, \"hosts_per_leaf\": 2, \"rate\": \"1Gbps\","
	"   \"delay\": \"5us\", \"switch_delay\": \"1us\", \"forward\": \"srv6\","
	"   \"stev_shift\": 4, \"stev_width\": 8, \"srv6_blocks\": [\"fcbb:aa00::\", "
	"\"fcbb:aa01::\"],"
	"   \"srv6_leaf_base\": 256, \"srv6_spine_base\": 512, \"srv6_host_base\": 1024,"
	"   \"srv6_decap\": true, \"reroute\": true, \"cut_through\": true, \"ecn\": true,"
	"   \"ecn_last_hop\": true, \"trimming\": true, \"trim_size\": 256, \"queue\": \"256KiB\","
	"   \"seed\": 7, \"packets\": 4096,"
	"   \"links\": [{\"plane\": 1, \"leaf\": 0, \"spine\": 2, \"direction\": \"leaf_up\","
	"     \"rate\": \"100Mbps\", \"delay\": \"9us\", \"queue\": \"64KiB\"}]},"
	" \"hosts\": [{\"name\": \"a\", \"host\": 3, \"addresses\": [\"fd00::1\", \"10.0.0.1\"],"
	"     \"ports\": [\"net_null0\", \"net_null1\"]},"
	"   {\"name\": \"b\", \"host\": 0, \"addresses\": [\"fd00::2\"],"
	"     \"ports\": [\"net_null2\", \"none\"]}],"
	" \"faults\": [{\"kind\": \"loss\", \"at\": \"1s\", \"for\": \"2s\", \"plane\": 0,"
	"   \"leaf\": 0, \"spine\": 1, \"direction\": \"leaf_up\", \"rate\": \"1%\","
	"   \"name\": \"noise\", \"burst\": 4, \"packets\": [\"data\", \"probe\"]}],"
	" \"control\": {\"socket\": \"/tmp/x.sock\", \"access\": \"owner\", \"group\": \"root\"}}";

static struct mrc_fab_cfg *cfg;
static char path[] = "/tmp/mrc-fab-config-XXXXXX";

static int load(const char *text, char *error_out, uint32_t room)
{
	struct mrc_ctl_error error = {.text = ""};
	FILE *file = fopen(path, "w");
	int err;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	err = mrc_fab_cfg_load(path, cfg, &error);
	snprintf(error_out, room, "%s", error.text);
	return err;
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	cfg = calloc(1, sizeof(*cfg));
	return cfg && fd >= 0 ? close(fd) : -1;
}

static int teardown(void **state)
{
	free(cfg);
	return unlink(path);
}

static void every_key_is_taken(void **state)
{
	char error[1024];

	if (load(full, error, sizeof(error)) != MRC_OK)
		fail_msg("%s", error);
	assert_int_equal(cfg->fabric.forward, MRC_FABRIC_SRV6);
	assert_int_equal(cfg->fabric.srv6_blocks[1], 0xFCBBAA01);
	assert_int_equal(cfg->nb_planes, 2);
	assert_int_equal(cfg->hosts[0].host, 3);
	assert_int_equal(cfg->faults[0].fault.burst, 4);
}

static void every_key_misspelt_is_refused(void **state)
{
	assert_in_range(mrc_tree_misspell(full, path, load), 70, 200);
}

static void every_value_of_a_wrong_type_is_refused(void **state)
{
	assert_in_range(mrc_tree_mistype(full, path, load), 70, 200);
}

static void every_key_given_twice_is_refused(void **state)
{
	assert_in_range(mrc_tree_double(full, path, load), 70, 200);
}

static void numbers_out_of_range_are_refused_with_their_key(void **state)
{
	assert_in_range(mrc_tree_overflow(full, path, load), 100, 1000);
}

#define HOSTS                                                                                      \
	"\"hosts\": [{\"name\": \"a\", \"addresses\": [\"fd00::1\"], \"ports\": [\"net_null0\"]}]"
#define FABRIC(more) "{" HOSTS ", \"fabric\": {" more "}}"

static void wrong_segments_are_refused_with_key_and_remedy(void **state)
{
	static const struct {
		const char *text, *key, *hint;
	} wrong[] = {
		{FABRIC("\"srv6_blocks\": [\"fcbb:bb00::1\"]"), "srv6_blocks[0]", "32 bits"},
		{FABRIC("\"srv6_blocks\": [\"10.0.0.1\"]"), "srv6_blocks[0]", "32 bits"},
		{FABRIC("\"srv6_blocks\": []"), "srv6_blocks", "1"},
		{FABRIC("\"srv6_blocks\": [\"fcbb::\", \"fcbc::\"]"), "fabric.srv6_blocks",
			"2 blocks for 1 planes"},
		{FABRIC("\"srv6_leaf_base\": 8191"), "fabric.srv6_spine_base", "overlap"},
		{FABRIC("\"srv6_spine_base\": 16384"), "fabric.srv6_host_base", "overlap"},
		{FABRIC("\"srv6_spine_base\": 65535"), "fabric.srv6_spine_base", "lower it"},
		{FABRIC("\"forward\": \"usid\""), "forward", "srv6"},
		{FABRIC("\"stev_width\": 0"), "stev_width", "1"},
		{FABRIC("\"stev_shift\": 32"), "stev_shift", "31"},
	};
	char error[1024];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(load(wrong[i].text, error, sizeof(error)), MRC_OK);
		if (!strstr(error, wrong[i].key) || !strstr(error, wrong[i].hint))
			fail_msg("neither %s nor %s: %s", wrong[i].key, wrong[i].hint, error);
		assert_null(strchr(error, '\n'));
	}
}

#define LONG64 "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void what_would_not_start_is_refused_at_once(void **state)
{
	static const struct {
		const char *text, *key;
	} wrong[] = {
		{"{" HOSTS ", \"faults\": [{\"kind\": \"loss\", \"spine\": 0, \"host\": 0}]}",
			"faults[0]: no link"},
		{"{" HOSTS ", \"faults\": [{\"kind\": \"loss\", \"leaf\": 1, \"host\": 0}]}",
			"faults[0]: no link"},
		{FABRIC("\"links\": [{\"spine\": 1, \"direction\": \"host_up\", \"rate\": 1}]"),
			"fabric.links[0]: no link"},
		{"{" HOSTS ", \"control\": {\"socket\": \"" LONG64 LONG64 "\"}}",
			"control.socket: \"/xxx"},
	};
	char error[1024];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(load(wrong[i].text, error, sizeof(error)), MRC_OK);
		if (!strstr(error, wrong[i].key))
			fail_msg("no %s: %s", wrong[i].key, error);
	}
}

static void frame_free(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	(*(uint32_t *)ctx)++;
}

/* An outer header without anything in it: a uSID list from host 3 to host 0 over spine 2 of plane
 * 1, in the words of the file. The switches use it up; at the end only the downlink is left. */
static void segments_of_the_file_pick_the_way(void **state)
{
	static const uint8_t dst[16] = {
		0xFC, 0xBB, 0xAA, 0x01, 0x01, 0x01, 0x02, 0x02, 0x01, 0x00, 0x04, 0x00};
	static const uint8_t left[8] = {0xFC, 0xBB, 0xAA, 0x01, 0x04, 0x00, 0x00, 0x00};
	uint8_t frame[128] = {
		[12] = 0x86, [13] = 0xDD, [14] = 0x60, [19] = 74, [20] = 17, [21] = 64};
	struct mrc_fabric_pkt pkt = {
		.data = frame, .len = sizeof(frame), .wire_len = sizeof(frame)};
	struct mrc_fabric_link_id up = {
		.cls = MRC_FABRIC_LEAF_UP, .plane = 1, .leaf = 1, .peer = 2};
	struct mrc_fabric_link_counters counters;
	uint32_t nb_free = 0;
	const struct mrc_fabric_ops ops = {.ctx = &nb_free, .free = frame_free};
	struct mrc_fabric *fabric;
	struct test_env env;
	char error[1024];

	assert_int_equal(load(full, error, sizeof(error)), MRC_OK);
	test_env_init(&env, 1);
	assert_int_equal(mrc_fab_cfg_fabric(cfg, &env.env, &ops, 1, &fabric), MRC_OK);
	memcpy(frame + 14 + 24, dst, sizeof(dst));
	mrc_fabric_send(fabric, 0, 3, 1, &pkt);
	while (mrc_fabric_next_deadline(fabric) != MRC_FABRIC_NEVER)
		mrc_fabric_run(fabric, mrc_fabric_next_deadline(fabric), 100);
	mrc_fabric_link_counters_get(
		fabric, 1000000000, mrc_fabric_link_index(fabric, &up), &counters);
	assert_int_equal(counters.tx_packets, 1);
	assert_int_equal(mrc_fabric_recv(fabric, 0, 1, &pkt, 1), 1);
	assert_memory_equal(pkt.data + 14 + 24, left, sizeof(left));
	assert_int_equal(nb_free, 0);
	mrc_fabric_destroy(fabric);
	test_env_done(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(every_key_misspelt_is_refused),
		cmocka_unit_test(every_value_of_a_wrong_type_is_refused),
		cmocka_unit_test(every_key_given_twice_is_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused_with_their_key),
		cmocka_unit_test(wrong_segments_are_refused_with_key_and_remedy),
		cmocka_unit_test(what_would_not_start_is_refused_at_once),
		cmocka_unit_test(segments_of_the_file_pick_the_way),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
