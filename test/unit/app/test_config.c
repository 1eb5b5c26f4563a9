/* SPDX-License-Identifier: BSD-2-Clause */
/* The start-up file: every key misspelt in turn, every value of a wrong type, what keys together
 * must fulfil. Each refusal is one line that names file, key and remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "device.h"
#include "tree.h"

/* Every key there is, but those that exclude each other. */
static const char full[] =
	"{\"$schema\": \"mrc-dp.schema.json\", \"comment\": \"all keys\","
	" \"eal\": [\"--log-level=8\"], \"lcores\": \"0-1\","
	" \"memory\": {\"mib\": 256, \"hugepages\": \"auto\", \"window\": 4096, \"sent\": 4096},"
	" \"pmtu\": 1024, \"icrc\": true, \"timestamps\": true, \"strict_echo\": false,"
	" \"protocol\": {\"choices\": {\"udp_port\": 4971}, \"pkey\": 65535, \"check_pkey\": true,"
	"   \"dscp\": {\"no_trim\": 1, \"trimmable\": 4, \"trimmable_retx\": 8, \"trimmed\": 12,"
	"     \"trimmed_lasthop\": 16, \"control\": 46}},"
	" \"ev\": {\"mode\": \"srv6\", \"per_plane\": 16, \"active\": 12, \"min_active\": 4,"
	"   \"skip\": \"100us\", \"probe\": \"1ms\", \"probe_max\": \"100ms\", \"revive\": 3},"
	" \"congestion\": {\"algorithm\": \"fixed\", \"rate\": \"10G\", \"base_rtt\": \"50us\","
	"   \"trimming\": false, \"max_cwnd\": \"1MiB\", \"target_delay\": \"20us\","
	"   \"min_base_rtt\": \"5us\", \"adjust_bytes\": \"64KiB\", \"adjust_period\": \"100us\", "
	"\"qa_threshold\": \"80us\","
	"   \"qa_gate\": 3, \"disable_qa\": false, \"eta\": 0.15, \"fi\": 5, \"fi_scale\": 0.25,"
	"   \"gamma\": 0.8, \"max_md_jump\": 0.5},"
	" \"qp\": {\"mpr\": 8, \"ttl\": 64, \"timeout\": 12, \"linear_retries\": 3,"
	"   \"exponential_retries\": 7, \"per_packet_timers\": false},"
	" \"engine\": {\"access_errors\": 3, \"parked_immediates\": 64, \"back_pressure\": false,"
	"   \"probes\": true, \"loss_by_distance\": false},"
	" \"endpoints\": ["
	"  {\"name\": \"a\", \"address\": \"fd00::1\", \"workers\": 2, \"lcores\": [0, 1],"
	"   \"planes\": [{\"device\": \"fabric\", \"mac\": \"02:00:00:00:00:01\", \"vlan\": 5,"
	"     \"vlan_priority\": 3, \"mtu\": 4200, \"descriptors\": 256,"
	"     \"capture\": \"/tmp/x.pcap\", \"paths\": [\"fcbb:bb00:1000:2000::\"]}],"
	"   \"neighbours\": [{\"address\": \"fd00::2\", \"plane\": 0,"
	"     \"mac\": \"02:00:00:00:00:02\"}]},"
	"  {\"name\": \"b\", \"address\": \"fd00::2\","
	"   \"planes\": [{\"device\": \"fabric\", \"vlan\": 5, \"paths\": "
	"[\"fcbb:bb00:1001::\"]}]}],"
	" \"fabric\": {\"leaves\": 2, \"spines\": 2, \"hosts_per_leaf\": 1, \"rate\": \"1Gbps\","
	"   \"delay\": \"5us\", \"switch_delay\": \"1us\", \"forward\": \"srv6\", \"srv6_decap\": "
	"true,"
	"   \"ecn\": true,"
	"   \"ecn_last_hop\": false, \"trimming\": false, \"queue\": \"256KiB\", \"seed\": 7,"
	"   \"packets\": 4096, \"lcore\": 1,"
	"   \"faults\": [{\"kind\": \"loss\", \"at\": \"1s\", \"for\": \"2s\", \"plane\": 0,"
	"     \"leaf\": 0, \"spine\": 1, \"direction\": \"leaf_up\", \"rate\": \"1%\","
	"     \"name\": \"noise\", \"burst\": 4, \"packets\": [\"data\", \"probe\"]},"
	"    {\"kind\": \"delay\", \"host\": 0, \"delay\": \"1us\"}, {\"kind\": \"rate\", "
	"\"bits\": \"1G\"},"
	"    {\"kind\": \"flap\", \"plane\": 0, \"down\": \"1s\", \"up\": \"1s\"}]},"
	" \"workload\": {\"role\": \"requester\", \"qps\": 4, \"message\": \"1MiB\", \"seconds\": "
	"2,"
	"   \"depth\": 4, \"slots\": 6, \"rate\": \"1Gbps\", \"poisson\": true,"
	"   \"bidirectional\": false, \"immediate_percent\": 10, \"verify\": \"full\","
	"   \"seed\": 1, \"drain\": \"5s\"},"
	" \"management_lcore\": 0}";

static struct mrc_cfg *cfg;
static char error[MRC_REASON];

static int parse(const char *text)
{
	error[0] = '\0';
	return mrc_cfg_parse("test.json", text, strlen(text), cfg, error);
}

static void assert_one_line(const char *needle)
{
	if (strstr(error, needle) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", error, needle);
	assert_null(strchr(error, '\n'));
	assert_ptr_equal(strstr(error, "test.json"), error);
}

static int setup(void **state)
{
	cfg = calloc(1, sizeof(*cfg));
	return cfg ? 0 : -1;
}

static int teardown(void **state)
{
	free(cfg);
	return 0;
}

static void every_key_is_taken(void **state)
{
	if (parse(full) != MRC_OK)
		fail_msg("%s", error);
	assert_int_equal(cfg->pmtu, 1024);
	assert_int_equal(cfg->proto.choice.udp_port, 4971);
	assert_int_equal(cfg->proto.class_of_dscp[46], MRC_CLASS_CONTROL);
	assert_int_equal(cfg->nb_endpoints, 2);
	assert_int_equal(cfg->endpoints[0].lcores[1], 1);
	assert_int_equal(cfg->endpoints[1].lcores[0], -1);
	assert_int_equal(cfg->endpoints[1].nb_workers, 1);
	assert_true(cfg->endpoints[0].planes[0].vlan_set);
	assert_int_equal(cfg->endpoints[1].planes[0].vlan_prio, 0);
	assert_int_equal(cfg->fabric.faults[0].at_ns, 1000000000);
	assert_int_equal(cfg->fabric.faults[0].fault.where.spine, 1);
	assert_int_equal(cfg->fabric.faults[0].fault.burst, 4);
	assert_int_equal(cfg->fabric.faults[0].fault.match.fields, MRC_FABRIC_MATCH_OPCODE);
	assert_int_equal(cfg->workload.duration_ns, 2000000000);
	assert_int_equal(cfg->workload.pacing, MRC_LOAD_POISSON);
	assert_int_equal(cfg->cc.nscc.algorithm, MRC_NSCC_FIXED);
	assert_int_equal(cfg->cc.nscc.max_cwnd, 1 << 20);
	assert_string_equal(cfg->eal[0], "--log-level=8");
}

static int load(const char *text, char *error_out, uint32_t room)
{
	int err = parse(text);

	snprintf(error_out, room, "%s", error);
	return err;
}

static void every_key_misspelt_is_refused(void **state)
{
	assert_in_range(mrc_tree_misspell(full, "test.json", load), 90, 200);
}

static void every_value_of_a_wrong_type_is_refused(void **state)
{
	assert_in_range(mrc_tree_mistype(full, "test.json", load), 90, 200);
}

static void every_key_given_twice_is_refused(void **state)
{
	assert_in_range(mrc_tree_double(full, "test.json", load), 90, 200);
}

static void numbers_out_of_range_are_refused_with_their_key(void **state)
{
	assert_in_range(mrc_tree_overflow(full, "test.json", load), 200, 1000);
}

#define PLANE(d) "\"planes\": [{\"device\": \"" d "\"}]"
#define TWO(a, b, more)                                                                            \
	"{\"endpoints\": [{\"name\": \"a\", \"address\": \"10.0.0.1\", " a "},"                    \
	"{\"name\": \"b\", \"address\": \"10.0.0.2\", " b "}]" more "}"
#define ONE(device, more)                                                                          \
	"{\"endpoints\": [{\"name\": \"a\", \"address\": \"10.0.0.1\", " PLANE(device) "}]" more "}"
#define PATHS(p) "\"planes\": [{\"device\": \"fabric\", \"paths\": [\"" p "\"]}]"
#define SRV6(a, b, mode)                                                                           \
	"{\"endpoints\": [{\"name\": \"a\", \"address\": \"fd00::1\", " a "},"                     \
	"{\"name\": \"b\", \"address\": \"fd00::2\", " b "}], \"ev\": {\"mode\": \"" mode "\"}}"
#define OOB    ", \"oob\": {\"listen\": \"unix:/tmp/x\"}"
#define LONG10 "0123456789"
#define LONG   LONG10 LONG10 LONG10 LONG10 LONG10 LONG10 LONG10 LONG10 LONG10 LONG10 LONG10

static const struct {
	const char *text;
	const char *key, *hint; /* both must be in the message */
} wrong[] = {
	{"{}", "endpoints", "test.json"},
	{"{\"endpoints\": []}", "endpoints", "test.json"},
	{"[1]", "test.json", "object"},
	{"{\"endpoints\": [}", "test.json", "1"},
	{ONE("fabric", ""), "endpoints", "oob"},
	{ONE("direct", OOB), "endpoints[0].planes[0].device", "direct"},
	{ONE("eth0", OOB), "endpoints[0].planes[0].device", "PCI"},
	{ONE("net_af_packet0", OOB), "device", "iface="},
	{ONE("net_af_packet0,iface=nosuchport", OOB), "device", "nosuchport"},
	{ONE("net_af_packet0,iface=lo,framesz=2048", OOB), "device", "framesz"},
	{ONE("net_memif0,role=server,socket=/tmp/" LONG ",socket-abstract=no", OOB), "device",
		"shorter path"},
	{ONE("net_memif0,role=server,socket=/tmp/m", OOB), "device", "socket-abstract=no"},
	{ONE("0000:ff:1f.7", OOB), "device", "dpdk-devbind"},
	{ONE("net_null0", ", \"oob\": {\"listen\": \"unix:/tmp/" LONG "\"}"), "oob.listen",
		"shorter path"},
	{ONE("net_null0", ", \"oob\": {\"listen\": \"udp:1\"}"), "oob.listen", "tcp:host:port"},
	{ONE("net_null0", ", \"oob\": {\"connect\": \"tcp:host:0\"}"), "oob.connect",
		"tcp:host:port"},
	{ONE("net_null0", ", \"oob\": {}"), "oob", "exactly one"},
	{ONE("net_null0", ", \"oob\": {\"listen\": \"unix:/a\", \"connect\": \"unix:/b\"}"), "oob",
		"exactly one"},
	{TWO(PLANE("fabric"), PLANE("fabric"), OOB), "oob", "remove"},
	{TWO(PLANE("fabric"), PLANE("direct"), ""), "endpoints[1].planes[0].device", "direct"},
	{TWO(PLANE("net_null0"), PLANE("net_null0"), ""), "endpoints[1].planes[0].device",
		"net_null0"},
	{TWO(PLANE("net_null0"), PLANE("net_null1"), ", \"fabric\": {}"), "fabric", "no plane"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"mode\": \"stev\"}"), "ev.mode", "udp"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"mode\": \"srv6\"}"), "ev.mode",
		"IPv6"},
	{SRV6(PATHS("fcbb::1"), PLANE("fabric"), "srv6"), "endpoints[1].planes[0].paths",
		"missing"},
	{SRV6(PATHS("fcbb::1"), PATHS("fcbb::2"), "stev"), "endpoints[0].planes[0].paths",
		"remove"},
	{SRV6(PATHS("fcbb::1"), PATHS("10.0.0.1"), "srv6"), "endpoints[1].planes[0].paths[0]",
		"IPv4"},
	{SRV6(PATHS("fcbb::1"), PATHS("ff02::1"), "srv6"), "endpoints[1].planes[0].paths[0]",
		"multicast"},
	{SRV6(PATHS("fcbb::1\", \"fcbb::2\", \"fcbb::3"), PATHS("fcbb::1"),
		 "srv6\", \"per_plane\": 2, \"active\": 0, \"min_active\": 0, \"skip\": \"1us"),
		"endpoints[0].planes[0].paths", "per_plane"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"active\": 64}"), "active",
		"per_plane"},
	{TWO(PLANE("fabric"), PLANE("fabric"),
		 ", \"ev\": {\"probe\": \"1s\", \"probe_max\": \"1ms\"}"),
		"probe_max", "raise"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"probe\": 0}"), "ev.probe", "1"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"min_active\": 33}"), "ev.min_active",
		"of 32"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"ev\": {\"min_active\": 9, \"active\": 8}"),
		"ev.min_active", "of 8"},
	{TWO(PLANE("fabric"), "\"planes\": [{\"device\": \"fabric\", \"vlan\": 5}]", ""),
		"endpoints[1].planes[0].vlan", "the same"},
	{TWO("\"planes\": [{\"device\": \"fabric\", \"capture\": \"/tmp/x\"}]",
		 "\"planes\": [{\"device\": \"fabric\", \"capture\": \"/tmp/x\"}]", ""),
		"endpoints[1].planes[0].capture", "its own"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"pmtu\": 1500"), "pmtu", "1024"},
	{TWO("\"planes\": [{\"device\": \"fabric\", \"mtu\": 1500}]", PLANE("fabric"), ""),
		"endpoints[0].planes[0].mtu", "pmtu"},
	{TWO("\"planes\": [{\"device\": \"fabric\"}, {\"device\": \"fabric\"}]", PLANE("fabric"),
		 ""),
		"endpoints[1].planes", "same number"},
	{TWO("\"workers\": 2, \"lcores\": [0], " PLANE("fabric"), PLANE("fabric"), ""), "lcores",
		"one per worker"},
	{TWO("\"workers\": 9, " PLANE("fabric"), PLANE("fabric"), ""), "workers", "8"},
	{TWO(PLANE("fabric") ", \"neighbours\": [{\"address\": \"10.0.0.9\", \"plane\": 3, "
			     "\"mac\": \"02:00:00:00:00:02\"}]",
		 PLANE("fabric"), ""),
		"neighbours", "plane 3"},
	{TWO("\"planes\": [{\"device\": \"fabric\", \"mac\": \"03:00:00:00:00:01\"}]",
		 PLANE("fabric"), ""),
		"mac", "even"},
	{TWO(PLANE("fabric"), PLANE("fabric"),
		 ", \"fabric\": {\"faults\": [{\"kind\": \"loss\", \"plane\": 4}]}"),
		"fabric.faults[0].plane", "0 to 0"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"fabric\": {\"faults\": [{\"kind\": \"los\"}]}"),
		"kind", "loss"},
	{TWO(PLANE("fabric"), PLANE("fabric"),
		 ", \"fabric\": {\"faults\": [{\"kind\": \"carrier\"}]}"),
		"kind", "whole fabric"},
	{TWO(PLANE("fabric"), PLANE("fabric"),
		 ", \"fabric\": {\"faults\": [{\"kind\": \"flap\", \"plane\": 0}]}"),
		"kind", "down"},
	{TWO(PLANE("fabric"), PLANE("fabric"),
		 ", \"fabric\": {\"faults\": [{\"kind\": \"loss\", \"host\": 2}]}"),
		"fabric.faults[0].host", "0 to 1"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"fabric\": {\"leaves\": 1}"), "fabric.leaves",
		"2 endpoints"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"protocol\": {\"dscp\": {\"control\": 12}}"),
		"dscp", "DSCP"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"messages\": 1, \"seconds\": 1}"),
		"messages", "only one"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"poisson\": true}"), "poisson",
		"rate"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"seconds\": -1}"), "seconds",
		"0.001"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"depth\": 8, \"slots\": 8}"),
		"slots", "depth"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"file\": \"/no/such/file\"}"),
		"workload.file", "/no/such/file"},
	{TWO(PLANE("fabric"), PLANE("fabric"), ", \"workload\": {\"file\": \"/tmp\"}"),
		"workload.file", "regular"},
	{"{\"endpoints\": [{\"name\": \"a\", \"address\": \"10.0.0.1\", " PLANE(
		 "fabric") "},"
			   "{\"name\": \"a\", \"address\": \"10.0.0.2\", " PLANE("fabric") "}]}",
		"endpoints[1].name", "choose another"},
	{"{\"endpoints\": [{\"name\": \"a\", \"address\": \"10.0.0.1\", " PLANE(
		 "fabric") "},"
			   "{\"name\": \"b\", \"address\": \"10.0.0.1\", " PLANE("fabric") "}]}",
		"endpoints[1].address", "choose another"},
	{"{\"endpoints\": [{\"name\": \"a\", \"address\": \"10.0.0.1\", " PLANE(
		 "fabric") "},"
			   "{\"name\": \"b\", \"address\": \"fd00::1\", " PLANE("fabric") "}]}",
		"endpoints[1].address", "version"},
};

static void wrong_files_are_refused_with_key_and_remedy(void **state)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (parse(wrong[i].text) != MRC_ERR_INVAL)
			fail_msg("accepted: %s", wrong[i].text);
		assert_one_line(wrong[i].key);
		assert_one_line(wrong[i].hint);
	}
}

static void refusals_of_several_keys_show_the_value(void **state)
{
#define FABRICS(more) TWO(PLANE("fabric"), PLANE("fabric"), more)
	static const struct {
		const char *text, *shown;
	} refused[] = {
		{FABRICS(", \"congestion\": {\"adjust_bytes\": 1}"),
			"test.json: congestion.adjust_bytes: 1: "},
		{FABRICS(", \"congestion\": {\"adjust_period\": \"2ns\"}"),
			"test.json: congestion.adjust_period: \"2ns\": "},
		{FABRICS(", \"congestion\": {\"gamma\": 1.5}"),
			"test.json: congestion.gamma: 1.5: "},
		{FABRICS(", \"ev\": {\"probe\": \"1h\", \"probe_max\": \"1min\"}"),
			"test.json: ev.probe_max: \"1min\": "},
		{FABRICS(", \"workload\": {\"poisson\": true}"),
			"test.json: workload.poisson: true: "},
		{"{\"endpoints\": [{\"name\": \"a\", \"address\": \"::\", " PLANE("fabric") "}]}",
			"test.json: endpoints[0].address: \"::\": "},
		{TWO("\"planes\": [{\"device\": \"fabric\", \"vlan\": 5}]",
			 "\"planes\": [{\"device\": \"fabric\", \"vlan\": 6}]", ""),
			"test.json: endpoints[1].planes[0].vlan: 6: "},
		{ONE("net_null0", ", \"oob\": {\"listen\": \"unix:/a\", \"connect\": \"unix:/b\"}"),
			"test.json: oob.listen: \"unix:/a\": "},
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(parse(refused[i].text), MRC_ERR_INVAL);
		assert_one_line(refused[i].shown);
	}
}

/* What is added to a clock must leave it room. */
static void waits_have_an_end(void **state)
{
	assert_int_equal(parse(FABRICS(", \"workload\": {\"drain\": \"18446744073709551615\"}")),
		MRC_ERR_INVAL);
	assert_one_line("workload.drain");
	assert_int_equal(
		parse(FABRICS(", \"workload\": {\"drain\": \"5124095h\"}")), MRC_ERR_INVAL);
	assert_int_equal(parse(ONE("net_null0",
				 ", \"oob\": {\"listen\": \"unix:/a\", \"wait\": \"5124095h\"}")),
		MRC_ERR_INVAL);
	assert_one_line("oob.wait");
	assert_int_equal(parse(FABRICS(", \"workload\": {\"drain\": \"8760h\"}")), MRC_OK);
}

static void a_fault_that_selects_no_link_is_refused(void **state)
{
	static const char *const nowhere[] = {"\"spine\": 0, \"host\": 0",
		"\"spine\": 0, \"direction\": \"host_up\"",
		"\"host\": 0, \"direction\": \"uplink\"", "\"leaf\": 1, \"host\": 0"};
	char text[1024];

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		snprintf(text, sizeof(text),
			FABRICS(", \"fabric\": {\"faults\": [{\"kind\": \"loss\", %s}]}"),
			nowhere[i]);
		assert_int_equal(parse(text), MRC_ERR_INVAL);
		assert_one_line("fabric.faults[0]: no link");
	}
}

static void a_refused_file_leaves_the_old_configuration(void **state)
{
	struct mrc_cfg *before = malloc(sizeof(*before));

	assert_int_equal(parse(full), MRC_OK);
	memcpy(before, cfg, sizeof(*before));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		parse(wrong[i].text);
	assert_memory_equal(before, cfg, sizeof(*before));
	free(before);
}

static void defaults_follow_the_addresses(void **state)
{
	assert_int_equal(parse(TWO(PLANE("fabric"), PLANE("fabric"), "")), MRC_OK);
	assert_int_equal(cfg->ev.mode, MRC_EV_MODE_UDP);
	assert_int_equal(cfg->endpoints[0].planes[0].mtu, mrc_cfg_mtu_needed(cfg));
	/* IPv4 20, UDP 8, BTH 12, METH 4, TSETH 4, RETH 16, ImmDt 4, 4096, ICRC 4 */
	assert_int_equal(mrc_cfg_mtu_needed(cfg), 4168);
	assert_int_equal(parse(SRV6(PATHS("fcbb::1"), PATHS("fcbb::2"), "srv6")), MRC_OK);
	/* IPv6 is 20 longer; the outer header 40, room for a segment routing header 24 */
	assert_int_equal(mrc_cfg_mtu_needed(cfg), 4168 + 20 + 40 + 24);
	assert_int_equal(cfg->endpoints[1].planes[0].paths[0].raw[15], 2);
}

static void device_arguments_are_found(void **state)
{
	char value[16] = "";

	assert_true(mrc_device_arg("net_memif0,role=server,id=3", "id", value, sizeof(value)));
	assert_string_equal(value, "3");
	assert_true(mrc_device_arg("net_memif0,role=server,id=3", "role", value, sizeof(value)));
	assert_string_equal(value, "server");
	assert_false(mrc_device_arg("net_memif0,role=server", "rol", value, sizeof(value)));
	assert_false(mrc_device_arg("net_memif0", "role", value, sizeof(value)));
	assert_false(mrc_device_arg("role=server", "role", value, sizeof(value)));
}

static void a_missing_file_is_one_line(void **state)
{
	assert_int_equal(mrc_cfg_load("/no/such/file.json", cfg, error), MRC_ERR_INVAL);
	assert_non_null(strstr(error, "/no/such/file.json"));
	assert_null(strchr(error, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(every_key_misspelt_is_refused),
		cmocka_unit_test(every_value_of_a_wrong_type_is_refused),
		cmocka_unit_test(every_key_given_twice_is_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused_with_their_key),
		cmocka_unit_test(wrong_files_are_refused_with_key_and_remedy),
		cmocka_unit_test(refusals_of_several_keys_show_the_value),
		cmocka_unit_test(waits_have_an_end),
		cmocka_unit_test(a_fault_that_selects_no_link_is_refused),
		cmocka_unit_test(a_refused_file_leaves_the_old_configuration),
		cmocka_unit_test(defaults_follow_the_addresses),
		cmocka_unit_test(device_arguments_are_found),
		cmocka_unit_test(a_missing_file_is_one_line),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
