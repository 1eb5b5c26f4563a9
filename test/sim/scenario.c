/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.c - reading a scenario file: tables of the keys, then what one key alone cannot tell. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS     1000000000ull
#define YEAR_NS       (365ull * 86400 * SECOND_NS)
#define TIME(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_TIME, 0, YEAR_NS)
#define SIZE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_SIZE, 0, UINT32_MAX - 1)
#define RATE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_RATE, 0, 100000000000000ull)
#define PRESENT(type_, k, s, m, p, unit_, lo, hi)                                                  \
	{                                                                                          \
		.key = (k), .type = (type_), .flags = MRC_CTL_PRESENT, MRC_CTL_AT(s, m),           \
		.present_offset = (uint32_t)offsetof(s, p), .unit = (unit_), .min = (lo),          \
		.max = (hi)                                                                        \
	}

/* ---- links of the fabric */

static const struct mrc_ctl_field link_fields[] = {
	MRC_CTL_WHERE(struct sim_link, where),
	PRESENT(MRC_CTL_TYPE_UINT, "rate", struct sim_link, rate_bps, has_rate, MRC_CTL_UNIT_RATE,
		0, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "delay", struct sim_link, delay_ns, has_delay, MRC_CTL_UNIT_TIME,
		0, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "trim_at", struct sim_link, trim_len, has_trim,
		MRC_CTL_UNIT_SIZE, 0, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "drop_at", struct sim_link, drop_len, has_drop,
		MRC_CTL_UNIT_SIZE, 0, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "ecn_min", struct sim_link, ecn_min_len, has_ecn_min,
		MRC_CTL_UNIT_SIZE, 0, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "ecn_max", struct sim_link, ecn_max_len, has_ecn_max,
		MRC_CTL_UNIT_SIZE, 0, 0),
	MRC_CTL_END,
};
static const struct mrc_ctl_table link_table = {link_fields, sizeof(struct sim_link), NULL};

static void link_init(void *elem)
{
	struct sim_link *link = elem;

	memset(link, 0, sizeof(*link));
	link->where = mrc_fabric_everywhere();
}

static const struct mrc_ctl_field link_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct sim_link),
	.table = &link_table,
	.init = link_init};

/* ---- fabric */

static const struct mrc_ctl_name forward_names[] = {
	{"ecmp", MRC_FABRIC_ECMP},
	{"stev", MRC_FABRIC_STEV},
	{"srv6", MRC_FABRIC_SRV6},
	{NULL, 0},
};

static const struct mrc_ctl_name trim_who_names[] = {
	{"arriving", MRC_FABRIC_TRIM_ARRIVING},
	{"last", MRC_FABRIC_TRIM_LAST},
	{"coin", MRC_FABRIC_TRIM_COIN},
	{NULL, 0},
};

static int decode_overhead(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	if (!json_is_integer(value) || json_integer_value(value) < -40 ||
		json_integer_value(value) > 256)
		return mrc_ctl_fail(ctx, value,
			"is out of range, give -40 .. 256 bytes per packet (24: preamble, FCS and "
			"gap)");
	*(int64_t *)member = json_integer_value(value);
	return MRC_OK;
}

static const struct mrc_ctl_field fabric_fields[] = {
	MRC_CTL_UINT("planes", struct sim_fabric, planes, 1, MRC_MAX_PLANES),
	MRC_CTL_UINT("leaves", struct sim_fabric, leaves, 1, 1024),
	MRC_CTL_UINT("spines", struct sim_fabric, spines, 0, 1024),
	MRC_CTL_UINT("hosts_per_leaf", struct sim_fabric, hosts_per_leaf, 1, 1024),
	RATE("rate", struct sim_fabric, rate_bps),
	RATE("uplink_rate", struct sim_fabric, uplink_rate_bps),
	TIME("delay", struct sim_fabric, delay_ns),
	TIME("switch_delay", struct sim_fabric, switch_ns),
	MRC_CTL_BOOL("cut_through", struct sim_fabric, cut_through),
	MRC_CTL_BOOL("reroute", struct sim_fabric, reroute),
	MRC_CTL_CUSTOM("overhead", struct sim_fabric, overhead_len, decode_overhead),
	MRC_CTL_ENUM("forward", struct sim_fabric, forward, forward_names),
	MRC_CTL_UINT("stev_shift", struct sim_fabric, stev_shift, 0, 31),
	MRC_CTL_UINT("stev_width", struct sim_fabric, stev_width, 1, 32),
	MRC_CTL_BOOL("srv6_decap", struct sim_fabric, srv6_decap),
	MRC_CTL_BOOL("ecn", struct sim_fabric, ecn),
	MRC_CTL_BOOL("ecn_last_hop", struct sim_fabric, ecn_last_hop),
	MRC_CTL_BOOL("trim", struct sim_fabric, trim),
	SIZE("ecn_min", struct sim_fabric, ecn_min_len),
	SIZE("ecn_max", struct sim_fabric, ecn_max_len),
	SIZE("trim_at", struct sim_fabric, trim_len),
	SIZE("trim_last_at", struct sim_fabric, trim_last_len),
	SIZE("drop_at", struct sim_fabric, drop_len),
	SIZE("control_queue", struct sim_fabric, ctrl_len),
	MRC_CTL_UNIT("trim_size", struct sim_fabric, trim_size, MRC_CTL_UNIT_SIZE, 66, 512),
	MRC_CTL_ENUM("trim_who", struct sim_fabric, trim_who, trim_who_names),
	MRC_CTL_BOOL("trim_keep_lengths", struct sim_fabric, trim_keep_lengths),
	MRC_CTL_UINT("packets", struct sim_fabric, max_packets, 16, 16777216),
	MRC_CTL_ARRAY("links", struct sim_fabric, links, nb_links, &link_elem, 0, link_init),
	MRC_CTL_END,
};

static int fabric_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	const struct sim_fabric *f = obj;

	if (f->leaves > 1 && f->spines == 0)
		return mrc_ctl_fail_key(
			ctx, "spines", "several leaves need spines between them, give 1 or more");
	if (f->leaves * f->hosts_per_leaf < 2)
		return mrc_ctl_fail_key(
			ctx, "hosts_per_leaf", "is one host in all, give two hosts or more");
	return MRC_OK;
}

static const struct mrc_ctl_table fabric_table = {
	fabric_fields, sizeof(struct sim_fabric), fabric_check};

/* ---- endpoints and paths */

static const struct mrc_ctl_name pmtu_names[] = {
	{"256", 256},
	{"512", 512},
	{"1024", 1024},
	{"2048", 2048},
	{"4096", 4096},
	{NULL, 0},
};

static int decode_pmtu(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	json_int_t n = json_integer_value(value);

	for (const struct mrc_ctl_name *p = pmtu_names; p->name != NULL; p++) {
		if (n > 0 && (uint64_t)n == p->value) {
			*(uint32_t *)member = (uint32_t)n;
			return MRC_OK;
		}
	}
	return mrc_ctl_fail(ctx, value, "is no path MTU, give 256, 512, 1024, 2048 or 4096");
}

static const struct mrc_ctl_field host_fields[] = {
	MRC_CTL_UINT("workers", struct sim_host_cfg, workers, 1, 4),
	MRC_CTL_BOOL("ipv4", struct sim_host_cfg, v4),
	MRC_CTL_CUSTOM("pmtu", struct sim_host_cfg, pmtu, decode_pmtu),
	MRC_CTL_UINT("mpr", struct sim_host_cfg, mpr, 1, MRC_MPR_LIMIT),
	MRC_CTL_UINT("wimm", struct sim_host_cfg, wimm, 1, 4096),
	MRC_CTL_UINT("timeout", struct sim_host_cfg, timeout, 0, MRC_TIMEOUT_MAX_EXP),
	MRC_CTL_UINT("linear_retries", struct sim_host_cfg, linear_cnt, 0, MRC_LINEAR_MAX),
	MRC_CTL_UINT("exponential_retries", struct sim_host_cfg, exp_cnt, 0, MRC_EXP_MAX),
	MRC_CTL_BOOL("per_packet_timers", struct sim_host_cfg, per_packet_timers),
	MRC_CTL_BOOL("timestamps", struct sim_host_cfg, timestamps),
	MRC_CTL_BOOL("trim_nack", struct sim_host_cfg, trim_nack),
	MRC_CTL_BOOL("dynamic_mpr", struct sim_host_cfg, dynamic_mpr),
	MRC_CTL_BOOL("service_time", struct sim_host_cfg, svc_time),
	MRC_CTL_BOOL("strict_echo", struct sim_host_cfg, strict_echo),
	MRC_CTL_BOOL("probes", struct sim_host_cfg, probes),
	MRC_CTL_UINT("nic_packets", struct sim_host_cfg, nic_packets, 0, 1024),
	MRC_CTL_UINT("nacks_per_us", struct sim_host_cfg, nacks_per_us, 1, 100000),
	MRC_CTL_END,
};
static const struct mrc_ctl_table host_table = {host_fields, sizeof(struct sim_host_cfg), NULL};

static const struct mrc_ctl_name ev_mode_names[] = {
	{"udp", MRC_EV_MODE_UDP},
	{"stev", MRC_EV_MODE_STEV},
	{"srv6", MRC_EV_MODE_SRV6},
	{NULL, 0},
};

static const struct mrc_ctl_field ev_fields[] = {
	MRC_CTL_ENUM("mode", struct sim_ev, mode, ev_mode_names),
	MRC_CTL_UINT("count", struct sim_ev, count, 1, MRC_EV_MAX),
	MRC_CTL_UINT("spares", struct sim_ev, spares, 0, MRC_EV_MAX - 1),
	MRC_CTL_UINT("min_active", struct sim_ev, min_active, 0, MRC_EV_MAX),
	TIME("skip", struct sim_ev, skip_ns),
	TIME("probe", struct sim_ev, probe_ns),
	TIME("probe_max", struct sim_ev, probe_max_ns),
	MRC_CTL_UINT("revive", struct sim_ev, revive, 1, 255),
	MRC_CTL_END,
};
static const struct mrc_ctl_table ev_table = {ev_fields, sizeof(struct sim_ev), NULL};

static const struct mrc_ctl_name cc_names[] = {
	{"fixed", MRC_NSCC_FIXED},
	{"nscc", MRC_NSCC_UET10},
	{NULL, 0},
};

static const struct mrc_ctl_field cc_fields[] = {
	MRC_CTL_BOOL("on", struct sim_cc, on),
	MRC_CTL_ENUM("algorithm", struct sim_cc, algorithm, cc_names),
	RATE("rate", struct sim_cc, rate_bps),
	TIME("base_rtt", struct sim_cc, base_rtt_ns),
	MRC_CTL_UNIT("mtu", struct sim_cc, mtu, MRC_CTL_UNIT_SIZE, 256, 65535),
	PRESENT(MRC_CTL_TYPE_UINT, "target_delay", struct sim_cc, target_ns, has_target,
		MRC_CTL_UNIT_TIME, 1, UINT32_MAX - 1),
	PRESENT(MRC_CTL_TYPE_UINT, "max_cwnd", struct sim_cc, max_cwnd, has_max_cwnd,
		MRC_CTL_UNIT_SIZE, 1, 0),
	PRESENT(MRC_CTL_TYPE_UINT, "qa_threshold", struct sim_cc, qa_threshold_ns, has_qa,
		MRC_CTL_UNIT_TIME, 1, UINT32_MAX - 1),
	MRC_CTL_BOOL("disable_qa", struct sim_cc, disable_qa),
	MRC_CTL_END,
};
static const struct mrc_ctl_table cc_table = {cc_fields, sizeof(struct sim_cc), NULL};

/* Every disputed point of the protocol, by name. */
static int decode_choice(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_proto *proto = member;
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return mrc_ctl_fail(ctx, value, "is no object, give {\"name\": number, ...}");
	json_object_foreach((json_t *)(uintptr_t)value, key, item)
	{
		const struct mrc_choice_row *row = mrc_choice_rows();

		while (row->name != NULL && strcmp(row->name, key) != 0)
			row++;
		if (row->name == NULL)
			return mrc_ctl_fail(
				ctx, value, "\"%s\" is no setting of the protocol", key);
		if (!json_is_integer(item) || json_integer_value(item) < row->min ||
			json_integer_value(item) > row->max)
			return mrc_ctl_fail(ctx, item, "\"%s\" takes %u .. %u (%s)", key, row->min,
				row->max, row->text);
		*(uint32_t *)(void *)((uint8_t *)&proto->choice + row->offset) =
			(uint32_t)json_integer_value(item);
	}
	return MRC_OK;
}

/* ---- workload */

static const struct mrc_ctl_name mode_names[] = {
	{"flows", SIM_FLOWS},
	{"steady", SIM_STEADY},
	{NULL, 0},
};

static const struct mrc_ctl_name pattern_names[] = {
	{"pair", MRC_PATTERN_PAIR},
	{"shift", MRC_PATTERN_SHIFT},
	{"random", MRC_PATTERN_RANDOM},
	{"incast", MRC_PATTERN_INCAST},
	{"ring", MRC_PATTERN_RING},
	{"all_to_all", MRC_PATTERN_ALL_TO_ALL},
	{"all_reduce", MRC_PATTERN_ALL_REDUCE},
	{"list", MRC_PATTERN_LIST},
	{NULL, 0},
};

static const struct mrc_ctl_name arrival_names[] = {
	{"at_once", MRC_PATTERN_AT_ONCE},
	{"poisson", MRC_PATTERN_POISSON},
	{NULL, 0},
};

static const struct mrc_ctl_name verify_names[] = {
	{"full", MRC_LOAD_VERIFY_FULL},
	{"sample", MRC_LOAD_VERIFY_SAMPLE},
	{"none", MRC_LOAD_VERIFY_NONE},
	{NULL, 0},
};

static const struct mrc_ctl_field point_fields[] = {
	MRC_CTL_UNIT("size", struct mrc_dist_point, size, MRC_CTL_UNIT_SIZE, 1, 0),
	MRC_CTL_RATIO("share", struct mrc_dist_point, share, 0, 1),
	MRC_CTL_END,
};
static const struct mrc_ctl_table point_table = {point_fields, sizeof(struct mrc_dist_point), NULL};
static const struct mrc_ctl_field point_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct mrc_dist_point), .table = &point_table};

/* [[start, src, dst, bytes, class], ...]; times and sizes may carry units. */
static int list_item(struct mrc_ctl_ctx *ctx, const json_t *item, struct mrc_pattern_flow *flow)
{
	static const struct mrc_ctl_field time = {
		.type = MRC_CTL_TYPE_UINT, .size = 8, .unit = MRC_CTL_UNIT_TIME};
	static const struct mrc_ctl_field size = {
		.type = MRC_CTL_TYPE_UINT, .size = 8, .unit = MRC_CTL_UNIT_SIZE, .min = 1};
	static const struct mrc_ctl_field index = {.type = MRC_CTL_TYPE_UINT, .size = 4};
	int err;

	if (!json_is_array(item) || json_array_size(item) < 4 || json_array_size(item) > 5)
		return mrc_ctl_fail(
			ctx, item, "is no flow, give [start, source, destination, bytes]");
	*flow = (struct mrc_pattern_flow){.after = MRC_PATTERN_NONE};
	err = mrc_ctl_value(ctx, &time, json_array_get(item, 0), &flow->start_ns);
	if (err == MRC_OK)
		err = mrc_ctl_value(ctx, &index, json_array_get(item, 1), &flow->src);
	if (err == MRC_OK)
		err = mrc_ctl_value(ctx, &index, json_array_get(item, 2), &flow->dst);
	if (err == MRC_OK)
		err = mrc_ctl_value(ctx, &size, json_array_get(item, 3), &flow->bytes);
	if (err == MRC_OK && json_array_size(item) == 5) {
		const char *cls = json_string_value(json_array_get(item, 4));

		if (cls == NULL || strcmp(cls, "background") != 0)
			return mrc_ctl_fail(ctx, json_array_get(item, 4),
				"is no class of flows, give \"background\" or nothing");
		flow->cls = MRC_PATTERN_BACKGROUND;
	}
	return err;
}

static int decode_list(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct sim_load *load = (void *)((uint8_t *)member - offsetof(struct sim_load, list));
	int err = MRC_OK;

	if (!json_is_array(value) || json_array_size(value) == 0)
		return mrc_ctl_fail(ctx, value, "is no list of flows");
	load->nb_list = json_array_size(value);
	load->list = calloc(load->nb_list, sizeof(*load->list));
	if (load->list == NULL)
		return MRC_ERR_NOMEM;
	for (uint64_t i = 0; i < load->nb_list && err == MRC_OK; i++)
		err = list_item(ctx, json_array_get(value, i), &load->list[i]);
	return err;
}

static const struct mrc_ctl_field load_fields[] = {
	MRC_CTL_ENUM("mode", struct sim_load, mode, mode_names),
	MRC_CTL_ENUM("pattern", struct sim_load, pattern.kind, pattern_names),
	MRC_CTL_ENUM("arrival", struct sim_load, pattern.arrival, arrival_names),
	MRC_CTL_UINT("first", struct sim_load, pattern.first, 0, 65535),
	MRC_CTL_UINT("second", struct sim_load, pattern.second, 0, 65535),
	MRC_CTL_UINT("fan_in", struct sim_load, pattern.fan_in, 1, 65535),
	MRC_CTL_UINT("shift", struct sim_load, pattern.shift, 0, 65535),
	MRC_CTL_UINT("hosts", struct sim_load, pattern.nb_hosts, 2, 65535),
	MRC_CTL_UNIT("bytes", struct sim_load, pattern.bytes, MRC_CTL_UNIT_SIZE, 1, 1ull << 50),
	MRC_CTL_ARRAY(
		"sizes", struct sim_load, sizes.points, sizes.nb_points, &point_elem, 1, NULL),
	TIME("start", struct sim_load, pattern.start_ns),
	MRC_CTL_UINT("rounds", struct sim_load, pattern.rounds, 1, 1000000),
	TIME("round_gap", struct sim_load, pattern.round_ns),
	MRC_CTL_BOOL("round_wait", struct sim_load, pattern.round_wait),
	MRC_CTL_DOUBLE("rate_bps", struct sim_load, pattern.rate_bps, 1, 1e15),
	MRC_CTL_BOOL("victim", struct sim_load, pattern.victim),
	MRC_CTL_UINT("victim_src", struct sim_load, pattern.victim_src, 0, 65535),
	MRC_CTL_UINT("victim_dst", struct sim_load, pattern.victim_dst, 0, 65535),
	MRC_CTL_UNIT("victim_bytes", struct sim_load, pattern.victim_bytes, MRC_CTL_UNIT_SIZE, 1,
		1ull << 50),
	MRC_CTL_BOOL("background", struct sim_load, pattern.background),
	MRC_CTL_UINT("background_src", struct sim_load, pattern.background_src, 0, 65535),
	MRC_CTL_UINT("background_dst", struct sim_load, pattern.background_dst, 0, 65535),
	MRC_CTL_UNIT("background_bytes", struct sim_load, pattern.background_bytes,
		MRC_CTL_UNIT_SIZE, 1, 1ull << 50),
	RATE("background_rate", struct sim_load, background_bps),
	MRC_CTL_CUSTOM("flows", struct sim_load, list, decode_list),
	MRC_CTL_UINT("qps", struct sim_load, qps, 1, MRC_LOAD_MAX_QPS),
	MRC_CTL_UINT("depth", struct sim_load, depth, 1, 1024),
	MRC_CTL_UNIT("message", struct sim_load, piece_len, MRC_CTL_UNIT_SIZE, 1, 1u << 31),
	MRC_CTL_UINT("imm_percent", struct sim_load, imm_pct, 0, 100),
	MRC_CTL_ENUM("verify", struct sim_load, verify, verify_names),
	TIME("warmup", struct sim_load, warmup_ns),
	TIME("duration", struct sim_load, duration_ns),
	MRC_CTL_END,
};
static const struct mrc_ctl_table load_table = {load_fields, sizeof(struct sim_load), NULL};

static const struct mrc_ctl_field pause_fields[] = {
	MRC_CTL_UINT("host", struct sim_pause, host, 0, 65535),
	TIME("at", struct sim_pause, at_ns),
	TIME("for", struct sim_pause, for_ns),
	MRC_CTL_END,
};
static const struct mrc_ctl_table pause_table = {pause_fields, sizeof(struct sim_pause), NULL};
static const struct mrc_ctl_field pause_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct sim_pause), .table = &pause_table};

static const struct mrc_ctl_field rc_fields[] = {
	TIME("timeout", struct sim_rc, timeout_ns),
	MRC_CTL_UNIT("window", struct sim_rc, window_len, MRC_CTL_UNIT_SIZE, 1, 1u << 31),
	MRC_CTL_UINT("ack_every", struct sim_rc, ack_every, 1, 1024),
	MRC_CTL_BOOL("ecn", struct sim_rc, ecn),
	MRC_CTL_END,
};
static const struct mrc_ctl_table rc_table = {rc_fields, sizeof(struct sim_rc), NULL};

/* ---- the run */

static const struct mrc_ctl_field run_fields[] = {
	TIME("limit", struct sim_run, limit_ns),
	TIME("sample", struct sim_run, sample_ns),
	MRC_CTL_UINT("check_every", struct sim_run, check_every, 0, 0),
	MRC_CTL_END,
};
static const struct mrc_ctl_table run_table = {run_fields, sizeof(struct sim_run), NULL};

static const struct mrc_ctl_field expect_fields[] = {
	MRC_CTL_STRING("value", struct sim_expect, value, 1),
	{.key = "min",
		.type = MRC_CTL_TYPE_DOUBLE,
		.flags = MRC_CTL_PRESENT,
		MRC_CTL_AT(struct sim_expect, min),
		.present_offset = offsetof(struct sim_expect, has_min)},
	{.key = "max",
		.type = MRC_CTL_TYPE_DOUBLE,
		.flags = MRC_CTL_PRESENT,
		MRC_CTL_AT(struct sim_expect, max),
		.present_offset = offsetof(struct sim_expect, has_max)},
	MRC_CTL_STRING("text", struct sim_expect, text, 0),
	MRC_CTL_END,
};
static const struct mrc_ctl_table expect_table = {expect_fields, sizeof(struct sim_expect), NULL};
static const struct mrc_ctl_field expect_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct sim_expect), .table = &expect_table};

static const struct mrc_ctl_name transport_names[] = {
	{"mrc", SIM_MRC},
	{"rc", SIM_RC},
	{NULL, 0},
};

static const struct mrc_ctl_field scenario_fields[] = {
	MRC_CTL_STRING("name", struct scenario, name, 1),
	MRC_CTL_STRING("text", struct scenario, text, 0),
	MRC_CTL_STRING("not_yet", struct scenario, not_yet, 0),
	MRC_CTL_UNIT("seed", struct scenario, seed, MRC_CTL_UNIT_HEX, 0, 0),
	MRC_CTL_ENUM("transport", struct scenario, transport, transport_names),
	MRC_CTL_OBJECT("fabric", struct scenario, fabric, &fabric_table),
	MRC_CTL_OBJECT("host", struct scenario, host, &host_table),
	MRC_CTL_OBJECT("ev", struct scenario, ev, &ev_table),
	MRC_CTL_OBJECT("cc", struct scenario, cc, &cc_table),
	MRC_CTL_CUSTOM("choice", struct scenario, proto, decode_choice),
	MRC_CTL_OBJECT("load", struct scenario, load, &load_table),
	MRC_CTL_OBJECT("rc", struct scenario, rc, &rc_table),
	MRC_CTL_ARRAY("faults", struct scenario, faults, nb_faults, &mrc_ctl_fault_elem, 0,
		mrc_ctl_fault_init),
	MRC_CTL_ARRAY("pauses", struct scenario, pauses, nb_pauses, &pause_elem, 0, NULL),
	MRC_CTL_OBJECT("run", struct scenario, run, &run_table),
	MRC_CTL_ARRAY("expect", struct scenario, expect, nb_expect, &expect_elem, 0, NULL),
	MRC_CTL_END,
};

static int where_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc, const char *array,
	uint32_t i, const struct mrc_fabric_where *where)
{
	const struct mrc_ctl_shape shape = {
		sc->fabric.planes, sc->fabric.leaves, sc->fabric.spines, scenario_nb_hosts(sc)};
	int32_t index;
	uint32_t nb;
	const char *part = mrc_ctl_where_check(where, &shape, &index, &nb);
	char key[96];

	if (part == NULL)
		return MRC_OK;
	snprintf(key, sizeof(key), "%s[%u].%s", array, i, part);
	return mrc_ctl_fail_key(
		ctx, key, "is not there, the fabric has 0 .. %u", nb == 0 ? 0 : nb - 1);
}

/* Times in a scenario count from the start of the run. */
static void fault_place(struct mrc_ctl_fault *plan)
{
	plan->fault.start_ns = plan->at_ns;
	plan->fault.end_ns = plan->for_ns != 0 ? plan->at_ns + plan->for_ns : 0;
}

static int load_check(struct mrc_ctl_ctx *ctx, struct scenario *sc)
{
	struct mrc_pattern_cfg *p = &sc->load.pattern;
	uint32_t hosts = scenario_nb_hosts(sc);

	if (p->nb_hosts == 0)
		p->nb_hosts = hosts;
	if (p->nb_hosts > hosts)
		return mrc_ctl_fail_key(
			ctx, "load.hosts", "the fabric has %u hosts, give at most that", hosts);
	if (p->kind == MRC_PATTERN_LIST && sc->load.list == NULL)
		return mrc_ctl_fail_key(ctx, "load.flows", "pattern \"list\" needs the flows");
	if (sc->load.mode == SIM_STEADY && sc->load.duration_ns == 0)
		return mrc_ctl_fail_key(ctx, "load.duration", "a steady load needs a duration");
	if (sc->load.mode == SIM_STEADY && p->kind == MRC_PATTERN_ALL_REDUCE)
		return mrc_ctl_fail_key(
			ctx, "load.pattern", "all_reduce has steps, use mode \"flows\"");
	if (sc->load.mode == SIM_STEADY && sc->load.warmup_ns >= sc->load.duration_ns)
		return mrc_ctl_fail_key(
			ctx, "load.warmup", "must end before the load, give less than duration");
	if (sc->load.nb_list != 0 && p->kind != MRC_PATTERN_LIST)
		return mrc_ctl_fail_key(ctx, "load.flows", "is only used by pattern \"list\"");
	for (uint64_t i = 0; i < sc->load.nb_list; i++) {
		if (sc->load.list[i].src >= hosts || sc->load.list[i].dst >= hosts)
			return mrc_ctl_fail_key(ctx, "load.flows",
				"flow %llu names a host beyond the last, %u", (unsigned long long)i,
				hosts - 1);
	}
	return MRC_OK;
}

static int scenario_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct scenario *sc = obj;
	int err = load_check(ctx, sc);

	if (sc->host.nacks_per_us == SIM_AUTO)
		sc->host.nacks_per_us =
			1 + (uint32_t)(sc->fabric.rate_bps / 1000000 * sc->fabric.planes /
				       (8ull * scenario_packet_len(sc)));
	/* One port can be kept exact; several have to be fed in turn. */
	if (sc->host.nic_packets == SIM_AUTO)
		sc->host.nic_packets = sc->fabric.planes > 1 ? 4 : 0;
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_faults; i++) {
		fault_place(&sc->faults[i]);
		err = where_check(ctx, sc, "faults", i, &sc->faults[i].fault.where);
	}
	for (uint32_t i = 0; err == MRC_OK && i < sc->fabric.nb_links; i++)
		err = where_check(ctx, sc, "fabric.links", i, &sc->fabric.links[i].where);
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_pauses; i++) {
		if (sc->pauses[i].host >= scenario_nb_hosts(sc))
			err = mrc_ctl_fail_key(
				ctx, "pauses", "host %u is not there", sc->pauses[i].host);
	}
	if (err == MRC_OK && sc->transport == SIM_RC && sc->load.mode != SIM_FLOWS)
		err = mrc_ctl_fail_key(ctx, "transport", "rc only knows mode \"flows\"");
	if (err == MRC_OK && sc->ev.mode == MRC_EV_MODE_SRV6 &&
		(sc->fabric.forward != MRC_FABRIC_SRV6 || sc->host.v4))
		err = mrc_ctl_fail_key(ctx, "ev.mode",
			"srv6 paths need \"forward\": \"srv6\" in the fabric and IPv6 hosts");
	if (err == MRC_OK && sc->ev.count % sc->fabric.planes != 0)
		err = mrc_ctl_fail_key(ctx, "ev.count",
			"%u planes need equal shares, give a multiple of that", sc->fabric.planes);
	if (err == MRC_OK && sc->ev.count + sc->ev.spares > MRC_EV_MAX)
		err = mrc_ctl_fail_key(ctx, "ev.spares", "at most %u values in all", MRC_EV_MAX);
	return err;
}

static const struct mrc_ctl_table scenario_table = {
	scenario_fields, sizeof(struct scenario), scenario_check};

static void scenario_default(struct scenario *sc)
{
	memset(sc, 0, sizeof(*sc));
	sc->seed = 1;
	mrc_proto_default(&sc->proto);
	sc->fabric = (struct sim_fabric){.planes = 4,
		.leaves = 2,
		.spines = 2,
		.hosts_per_leaf = 2,
		.rate_bps = 100000000000u,
		.delay_ns = 1000,
		.overhead_len = 24,
		.stev_width = 16,
		.ecn = true,
		.trim = true,
		.ecn_min_len = SIM_AUTO,
		.ecn_max_len = SIM_AUTO,
		.trim_len = SIM_AUTO,
		.trim_last_len = SIM_AUTO,
		.drop_len = SIM_AUTO,
		.ctrl_len = SIM_AUTO,
		.trim_size = 256,
		.trim_who = MRC_FABRIC_TRIM_COIN};
	sc->host = (struct sim_host_cfg){.workers = 1,
		.pmtu = 4096,
		.mpr = MRC_MPR_DEFAULT,
		.wimm = MRC_WIMM_DEFAULT,
		.timeout = 6,
		.linear_cnt = MRC_LINEAR_MAX,
		.exp_cnt = 10,
		.timestamps = true,
		.trim_nack = true,
		.probes = true,
		.nic_packets = SIM_AUTO,
		.nacks_per_us = SIM_AUTO};
	sc->ev = (struct sim_ev){.mode = MRC_EV_MODE_STEV, .count = 64, .revive = 3};
	sc->cc = (struct sim_cc){.on = true, .algorithm = MRC_NSCC_UET10};
	sc->load = (struct sim_load){.mode = SIM_FLOWS,
		.qps = 1,
		.depth = 1,
		.piece_len = 1 << 20,
		.verify = MRC_LOAD_VERIFY_FULL};
	sc->load.pattern = (struct mrc_pattern_cfg){
		.kind = MRC_PATTERN_SHIFT, .bytes = 1 << 20, .second = 1, .fan_in = 1, .rounds = 1};
	/* 4.096 us x 2^14, what verbs tools use. */
	sc->rc = (struct sim_rc){.timeout_ns = 67108864, .ack_every = 4, .ecn = true};
	sc->run = (struct sim_run){.limit_ns = 10 * SECOND_NS, .check_every = 1};
}

/* ---- reading */

/* Applies "a.b[2].c=value". */
static int apply_set(json_t *root, const char *set, struct mrc_ctl_error *error_out)
{
	const char *eq = strchr(set, '=');
	json_t *at = root, *value;
	char path[SIM_TEXT], *part, *save = NULL, *last = NULL;

	if (eq == NULL || eq == set || (size_t)(eq - set) >= sizeof(path)) {
		snprintf(error_out->text, sizeof(error_out->text),
			"--set %s: is no setting, give PATH=VALUE as in load.bytes=1MiB", set);
		return MRC_ERR_INVAL;
	}
	memcpy(path, set, (size_t)(eq - set));
	path[eq - set] = '\0';
	value = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
	if (value == NULL)
		value = json_string(eq + 1);
	for (part = strtok_r(path, ".", &save); part != NULL; part = strtok_r(NULL, ".", &save)) {
		if (last != NULL) {
			json_t *next = json_object_get(at, last);

			if (!json_is_object(next)) {
				next = json_object();
				json_object_set_new(at, last, next);
			}
			at = next;
		}
		last = part;
	}
	if (last == NULL || json_object_set_new(at, last, value) != 0) {
		snprintf(error_out->text, sizeof(error_out->text),
			"--set %s: cannot be set, name keys of objects joined by dots", set);
		return MRC_ERR_INVAL;
	}
	return MRC_OK;
}

static json_t *read_json(const char *path, struct mrc_ctl_error *error_out)
{
	FILE *file = fopen(path, "rb");
	char *text;
	size_t len;
	json_t *root;

	if (file == NULL) {
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: cannot be opened, name a scenario file that can be read", path);
		return NULL;
	}
	text = malloc(MRC_CTL_FILE_MAX + 1);
	len = text != NULL ? fread(text, 1, MRC_CTL_FILE_MAX + 1, file) : 0;
	if (text == NULL || ferror(file)) {
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: cannot be read, name a scenario file", path);
		fclose(file);
		free(text);
		return NULL;
	}
	fclose(file);
	root = mrc_ctl_parse(path, text, len, MRC_CTL_FILE_MAX, error_out);
	free(text);
	return root;
}

int scenario_read(const char *path, char *const *sets, uint32_t nb_sets,
	struct scenario **scenario_out, struct mrc_ctl_error *error_out)
{
	struct scenario *sc;
	json_t *root = read_json(path, error_out);
	int err = MRC_OK;

	if (root == NULL)
		return MRC_ERR_INVAL;
	for (uint32_t i = 0; i < nb_sets && err == MRC_OK; i++)
		err = apply_set(root, sets[i], error_out);
	sc = err == MRC_OK ? malloc(sizeof(*sc)) : NULL;
	if (sc != NULL) {
		scenario_default(sc);
		err = mrc_ctl_decode(path, root, &scenario_table, sc, error_out);
	}
	json_decref(root);
	if (err == MRC_OK && sc != NULL && mrc_proto_init(&sc->proto) != MRC_OK) {
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: choice: the settings contradict each other", path);
		err = MRC_ERR_INVAL;
	}
	if (err != MRC_OK || sc == NULL) {
		free(sc);
		return err != MRC_OK ? err : MRC_ERR_NOMEM;
	}
	*scenario_out = sc;
	return MRC_OK;
}

void scenario_free(struct scenario *scenario)
{
	if (scenario != NULL)
		free(scenario->load.list);
	free(scenario);
}

uint32_t scenario_nb_hosts(const struct scenario *sc)
{
	return sc->fabric.leaves * sc->fabric.hosts_per_leaf;
}

uint32_t scenario_packet_len(const struct scenario *sc)
{
	uint32_t ip = sc->host.v4 ? MRC_IPV4_LEN : MRC_IPV6_LEN;

	if (sc->ev.mode == MRC_EV_MODE_SRV6)
		ip += MRC_IPV6_LEN;
	return (uint32_t)(MRC_ETH_LEN + ip + MRC_UDP_LEN + MRC_BTH_LEN + MRC_METH_LEN +
			  (sc->host.timestamps ? MRC_TSETH_LEN : 0) + MRC_RETH_LEN + sc->host.pmtu +
			  MRC_ICRC_LEN + sc->fabric.overhead_len);
}

uint64_t scenario_rtt_ns(const struct scenario *sc)
{
	double hops = sc->fabric.leaves > 1 ? 4 : 2;
	double bits = (scenario_packet_len(sc) + 120.0 + (double)sc->fabric.overhead_len) * 8;
	double rate = (double)sc->fabric.rate_bps;
	double each = 2 * ((double)sc->fabric.delay_ns + (double)sc->fabric.switch_ns);

	return (uint64_t)(hops * (each + (rate > 0 ? bits / rate * 1e9 : 0)));
}
