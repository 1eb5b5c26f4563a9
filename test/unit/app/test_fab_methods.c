/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The methods of mrc-fabric's socket on a fabric in virtual time: what they change is seen in the
 * fabric, what they tell is what the fabric counts, and a fault plan comes back as it went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fab_methods.h"
#include "test_env.h"

static const char file_text[] =
	"{\"fabric\": {\"leaves\": 2, \"spines\": 2, \"rate\": \"10Gbps\", \"delay\": 1000, "
	"\"seed\": 1,"
	" \"links\": [{\"plane\": 1, \"direction\": \"host_up\", \"rate\": \"1Gbps\"}]},"
	" \"hosts\": [{\"name\": \"a\", \"addresses\": [\"10.0.0.1\"], \"ports\": [\"none\", "
	"\"none\"]},"
	" {\"name\": \"b\", \"addresses\": [\"10.0.0.2\"], \"ports\": [\"none\", \"none\"]}]}";

struct bed {
	struct test_env env;
	struct mrc_fab_cfg *cfg;
	struct mrc_fab_ctl ctl;
	struct mrc_rpc rpc;
	struct mrc_rpc_peer peer;
	uint32_t freed;
};

static void pkt_free(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	struct bed *bed = ctx;

	bed->freed++;
	free(pkt->ref);
}

static int bed_up(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	const struct mrc_fabric_ops ops = {.ctx = bed, .free = pkt_free};
	struct mrc_ctl_error error = {.line = 0};
	char path[] = "/tmp/mrc-fab-test-XXXXXX";
	int fd = mkstemp(path);

	assert_non_null(bed);
	bed->cfg = calloc(1, sizeof(*bed->cfg));
	assert_non_null(bed->cfg);
	assert_int_equal(write(fd, file_text, strlen(file_text)), strlen(file_text));
	close(fd);
	if (mrc_fab_cfg_load(path, bed->cfg, &error) != MRC_OK)
		fail_msg("%s", error.text);
	unlink(path);
	test_env_init(&bed->env, 4711);
	assert_int_equal(
		mrc_fab_cfg_fabric(bed->cfg, &bed->env.env, &ops, 1, &bed->ctl.fabric), MRC_OK);
	bed->ctl.cfg = bed->cfg;
	bed->rpc = (struct mrc_rpc){
		.program = "t", .release = "0", .methods = mrc_fab_methods, .ctx = &bed->ctl};
	bed->peer = (struct mrc_rpc_peer){.may_change = true, .greeted = true};
	*state = bed;
	return 0;
}

static int bed_down(void **state)
{
	struct bed *bed = *state;

	mrc_fabric_destroy(bed->ctl.fabric);
	test_env_done(&bed->env);
	free(bed->cfg);
	free(bed);
	return 0;
}

/* Calls a method; the whole answer. */
static json_t *call(struct bed *bed, const char *method, const char *params)
{
	char text[1024];
	char *line;
	json_t *answer;

	snprintf(text, sizeof(text),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
	line = mrc_rpc_answer(&bed->rpc, &bed->peer, text, strlen(text), MRC_CTL_REQUEST_MAX);
	assert_non_null(line);
	answer = json_loads(line, 0, NULL);
	assert_non_null(answer);
	free(line);
	return answer;
}

static json_t *result(struct bed *bed, const char *method, const char *params)
{
	json_t *answer = call(bed, method, params);
	json_t *value = json_object_get(answer, "result");

	if (value == NULL)
		fail_msg("%s %s: %s", method, params,
			json_string_value(
				json_object_get(json_object_get(answer, "error"), "message")));
	json_incref(value);
	json_decref(answer);
	return value;
}

static void refused(struct bed *bed, const char *method, const char *params, int code)
{
	json_t *answer = call(bed, method, params);
	json_t *error = json_object_get(answer, "error");

	assert_int_equal(json_integer_value(json_object_get(error, "code")), code);
	json_decref(answer);
}

static long long number(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return (long long)json_integer_value(json_object_get(object, key));
}

/* A UDP frame from host 0 to host 1. */
static void send_frame(struct bed *bed, uint32_t plane)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 50, 0,
		0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xC0, 1, 0x12, 0xB7, 0, 30};
	uint8_t *data = calloc(1, 64);
	struct mrc_fabric_pkt pkt = {.data = data, .len = 64, .wire_len = 64, .ref = data};

	assert_non_null(data);
	memcpy(data, head, sizeof(head));
	mrc_fabric_send(bed->ctl.fabric, bed->ctl.now_ns, 0, plane, &pkt);
}

/* Runs for a millisecond; how many frames host 1 got on the plane. */
static uint32_t arrived(struct bed *bed, uint32_t plane)
{
	struct mrc_fabric_pkt pkts[32];
	uint32_t n;

	bed->ctl.now_ns += 1000000;
	mrc_fabric_run(bed->ctl.fabric, bed->ctl.now_ns, UINT32_MAX);
	n = mrc_fabric_recv(bed->ctl.fabric, 1, plane, pkts, 32);
	for (uint32_t i = 0; i < n; i++)
		free(pkts[i].ref);
	return n;
}

static void links_are_listed(void **state)
{
	struct bed *bed = *state;
	json_t *all = result(bed, "list_links", "{}");
	json_t *links = json_object_get(all, "links");
	json_t *slow = result(bed, "list_links", "{\"plane\":1,\"direction\":\"host_up\"}");
	json_t *link;
	size_t i;

	assert_int_equal(json_array_size(links), mrc_fabric_nb_links(bed->ctl.fabric));
	json_array_foreach(links, i, link)
	{
		assert_int_equal(number(link, "link"), i);
	}
	links = json_object_get(slow, "links");
	assert_int_equal(json_array_size(links), 2);
	assert_int_equal(number(json_array_get(links, 0), "rate_bps"), 1000000000);
	json_decref(all);
	json_decref(slow);
	all = result(bed, "list_links", "{\"from\":23}");
	assert_int_equal(json_array_size(json_object_get(all, "links")), 1);
	json_decref(all);
	all = result(bed, "list_links", "{\"from\":24}");
	assert_int_equal(json_array_size(json_object_get(all, "links")), 0);
	json_decref(all);
	refused(bed, "list_links", "{\"plane\":2}", MRC_RPC_PARAMS);
	refused(bed, "list_links", "{\"host\":0,\"direction\":\"leaf_up\"}", MRC_RPC_PARAMS);
}

static void carrier_goes_and_comes(void **state)
{
	struct bed *bed = *state;
	json_t *r;

	send_frame(bed, 0);
	assert_int_equal(arrived(bed, 0), 1);
	r = result(bed, "set_link", "{\"plane\":0,\"up\":false}");
	assert_int_equal(number(r, "changed"), 12);
	json_decref(r);
	send_frame(bed, 0);
	send_frame(bed, 1);
	assert_int_equal(arrived(bed, 0), 0);
	assert_int_equal(arrived(bed, 1), 1);
	assert_int_equal(bed->freed, 1);
	json_decref(result(bed, "set_link", "{\"plane\":0,\"up\":true}"));
	send_frame(bed, 0);
	assert_int_equal(arrived(bed, 0), 1);
	r = result(bed, "counters", "{}");
	assert_int_equal(number(json_object_get(r, "totals"), "sent"), 4);
	assert_int_equal(number(json_object_get(r, "totals"), "delivered"), 3);
	assert_int_equal(number(json_object_get(r, "totals"), "dropped"), 1);
	json_decref(r);
	r = result(bed, "check_balance", "{}");
	assert_true(json_is_true(json_object_get(r, "balanced")));
	json_decref(r);
}

static void links_are_set(void **state)
{
	struct bed *bed = *state;
	const struct mrc_fabric_link_id id = {MRC_FABRIC_LEAF_UP, 1, 0, 1};
	struct mrc_fabric_link_cfg cfg;

	json_decref(result(bed, "set_link",
		"{\"plane\":1,\"leaf\":0,\"spine\":1,\"rate\":\"5G\",\"delay\":\"7us\"}"));
	mrc_fabric_link_get(bed->ctl.fabric, mrc_fabric_link_index(bed->ctl.fabric, &id), &cfg);
	assert_int_equal(cfg.rate_bps, 5000000000);
	assert_int_equal(cfg.delay_ns, 7000);
	refused(bed, "set_link", "{\"plane\":1}", MRC_RPC_PARAMS);
	refused(bed, "set_link", "{\"up\":false}", MRC_RPC_PARAMS);
	refused(bed, "set_link", "{\"plane\":1,\"up\":1}", MRC_RPC_PARAMS);
	bed->peer.may_change = false;
	refused(bed, "set_link", "{\"plane\":1,\"up\":false}", MRC_RPC_DENIED);
	json_decref(result(bed, "list_links", "{}"));
}

static void faults_live_and_end(void **state)
{
	struct bed *bed = *state;
	json_t *r = result(bed, "start_fault", "{\"kind\":\"loss\",\"plane\":0}");

	assert_int_equal(number(r, "id"), 1);
	json_decref(r);
	r = result(bed, "start_fault",
		"{\"kind\":\"loss\",\"plane\":1,\"at\":\"2ms\",\"for\":\"1500us\"}");
	assert_int_equal(number(r, "id"), 2);
	json_decref(r);
	send_frame(bed, 0);
	send_frame(bed, 1);
	assert_int_equal(arrived(bed, 0), 0); /* now at 1 ms */
	assert_int_equal(arrived(bed, 1), 1); /* 2 ms */
	send_frame(bed, 1);
	assert_int_equal(arrived(bed, 1), 0); /* 3 ms */
	r = result(bed, "stop_fault", "{\"id\":1}");
	assert_int_equal(number(r, "hits"), 1);
	json_decref(r);
	bed->ctl.now_ns += 1000000; /* 4 ms: the second is over */
	mrc_fabric_run(bed->ctl.fabric, bed->ctl.now_ns, UINT32_MAX);
	r = result(bed, "list_faults", "{}");
	assert_int_equal(json_array_size(json_object_get(r, "faults")), 1);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(r, "faults"), 0), "state")),
		"over");
	json_decref(r);
	send_frame(bed, 0);
	send_frame(bed, 1);
	assert_int_equal(arrived(bed, 0), 1);
	assert_int_equal(arrived(bed, 1), 1);
	refused(bed, "stop_fault", "{\"id\":1}", MRC_RPC_NOENT);
	refused(bed, "stop_fault", "{}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"leaf\":2}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"carrier\"}", MRC_RPC_PARAMS);
}

/* The table of faults is full at its limit; those that are over make room. */
static void fault_limit(void **state)
{
	struct bed *bed = *state;
	json_t *r;

	for (uint32_t i = 0; i < MRC_FAB_MAX_FAULTS; i++)
		json_decref(result(bed, "start_fault",
			i % 2 == 0 ? "{\"kind\":\"loss\",\"plane\":0,\"for\":1000}"
				   : "{\"kind\":\"loss\",\"plane\":0}"));
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"plane\":0}", MRC_RPC_FULL);
	bed->ctl.now_ns += 2000;
	mrc_fabric_run(bed->ctl.fabric, bed->ctl.now_ns, UINT32_MAX);
	r = result(bed, "start_fault", "{\"kind\":\"loss\",\"plane\":0}");
	assert_int_equal(number(r, "id"), MRC_FAB_MAX_FAULTS + 1);
	json_decref(r);
}

static void plans_come_back(void **state)
{
	static const char *const plans[] = {
		"{\"kind\":\"duplicate\",\"name\":\"x\",\"for\":5,\"plane\":1,\"rate\":0.25,"
		"\"copies\":3,"
		"\"gap\":9,\"packets\":[\"data\",\"probe\"]}",
		"{\"kind\":\"flap\",\"leaf\":0,\"spine\":1,\"down\":10,\"up\":20}",
		"{\"kind\":\"rate\",\"host\":1,\"direction\":\"host\",\"bits\":1000000}",
		"{\"kind\":\"corrupt\",\"nth\":3,\"count\":2,\"period\":100,\"max_hits\":7,"
		"\"bytes\":4,"
		"\"offset\":60,\"psn\":[5,9],\"ev\":[\"0x10\",\"0xff0\"],\"retransmission\":true}",
		"{\"kind\":\"delay\",\"burst\":4,\"delay\":77,\"length\":[64,128],\"dscp\":10,"
		"\"src\":0,"
		"\"dst\":1}",
		"{\"kind\":\"restart\",\"at\":11,\"spine\":0,\"direction\":\"uplink\"}",
		"{\"kind\":\"reorder\",\"delay\":1000,\"packets\":[\"last\",\"ep_response\"]}",
	};
	struct bed *bed = *state;
	json_t *list;

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		json_decref(result(bed, "start_fault", plans[i]));
	list = result(bed, "list_faults", "{}");
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		json_t *got = json_object_get(
			json_array_get(json_object_get(list, "faults"), i), "fault");
		json_t *want = json_loads(plans[i], 0, NULL);

		if (!json_equal(got, want))
			fail_msg("%s came back as %s", plans[i], json_dumps(got, JSON_COMPACT));
		json_decref(want);
	}
	json_decref(list);
}

/* Every kind of the fabric can be named. */
static void every_kind_has_a_name(void **state)
{
	struct bed *bed = *state;

	for (int k = 0; k < MRC_FABRIC_NB_FAULT_KINDS; k++) {
		char plan[256];
		json_t *r;

		snprintf(plan, sizeof(plan), "{\"kind\":\"%s\",\"leaf\":0%s}",
			mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)k),
			k == MRC_FABRIC_FLAP   ? ",\"down\":1,\"up\":1"
			: k == MRC_FABRIC_RATE ? ",\"bits\":1000"
			: k == MRC_FABRIC_TRUNCATE || k == MRC_FABRIC_PAD || k == MRC_FABRIC_MTU
				? ",\"bytes\":9"
			: k == MRC_FABRIC_REORDER || k == MRC_FABRIC_DELAY || k == MRC_FABRIC_JITTER
				? ",\"delay\":9"
				: "");
		r = result(bed, "start_fault", plan);
		assert_int_equal(number(r, "id"), k + 1);
		json_decref(r);
	}
	refused(bed, "start_fault", "{\"kind\":\"flap\",\"leaf\":0}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"delay\",\"leaf\":0}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"delay\":9}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"count\":9}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"rate\",\"leaf\":0}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"mtu\",\"leaf\":0}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"restart\"}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"ev\":[3,1]}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"psn\":[9,5]}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"packets\":[]}", MRC_RPC_PARAMS);
	refused(bed, "start_fault", "{\"kind\":\"loss\",\"dscp\":64}", MRC_RPC_PARAMS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(links_are_listed),
		TEST(carrier_goes_and_comes),
		TEST(links_are_set),
		TEST(faults_live_and_end),
		TEST(fault_limit),
		TEST(plans_come_back),
		TEST(every_kind_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
