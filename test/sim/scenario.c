/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.c - the keys of a scenario file, as tables. */
#include "scenario_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_NS       (365ull * 86400 * SIM_SECOND_NS)
#define TIME(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_TIME, 0, YEAR_NS)
#define SIZE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_SIZE, 0, UINT32_MAX - 1)
#define RATE(k, s, m) MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_RATE, 0, 100000000000000ull)
/* A time that must be there and is not 0. */
#define SPAN(k, s, m) MRC_CTL_UNIT_REQUIRED(k, s, m, MRC_CTL_UNIT_TIME, 1, YEAR_NS)

/* ---- links of the fabric */

static const struct mrc_ctl_field link_fields[] = {
	MRC_CTL_WHERE(struct sim_link, where),
	MRC_CTL_UNIT_PRESENT("rate", struct sim_link, rate_bps, has_rate, MRC_CTL_UNIT_RATE, 0, 0),
	MRC_CTL_UNIT_PRESENT(
		"delay", struct sim_link, delay_ns, has_delay, MRC_CTL_UNIT_TIME, 0, 0),
	MRC_CTL_UNIT_PRESENT(
		"trim_at", struct sim_link, trim_len, has_trim, MRC_CTL_UNIT_SIZE, 0, 0),
	MRC_CTL_UNIT_PRESENT(
		"drop_at", struct sim_link, drop_len, has_drop, MRC_CTL_UNIT_SIZE, 0, 0),
	MRC_CTL_UNIT_PRESENT(
		"ecn_min", struct sim_link, ecn_min_len, has_ecn_min, MRC_CTL_UNIT_SIZE, 0, 0),
	MRC_CTL_UNIT_PRESENT(
		"ecn_max", struct sim_link, ecn_max_len, has_ecn_max, MRC_CTL_UNIT_SIZE, 0, 0),
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
	MRC_CTL_UINT("nacks_per_us", struct sim_host_cfg, nacks_per_us, 1, 1000),
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
	TIME("skip_max", struct sim_ev, skip_max_ns),
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
	MRC_CTL_UNIT_PRESENT("target_delay", struct sim_cc, target_ns, has_target,
		MRC_CTL_UNIT_TIME, 1, UINT32_MAX - 1),
	MRC_CTL_UNIT_PRESENT(
		"max_cwnd", struct sim_cc, max_cwnd, has_max_cwnd, MRC_CTL_UNIT_SIZE, 1, 0),
	MRC_CTL_UNIT_PRESENT("qa_threshold", struct sim_cc, qa_threshold_ns, has_qa,
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
	{"alternate", MRC_PATTERN_ALTERNATE},
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
	static const struct mrc_ctl_field size = {.type = MRC_CTL_TYPE_UINT,
		.size = 8,
		.unit = MRC_CTL_UNIT_SIZE,
		.min = 1,
		.max = 1ull << 50};
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
		return mrc_ctl_fail(
			ctx, value, "is no list of flows, give [[start, source, ...], ...]");
	load->nb_list = json_array_size(value);
	load->list = calloc(load->nb_list, sizeof(*load->list));
	if (load->list == NULL)
		return MRC_ERR_NOMEM;
	for (uint64_t i = 0; i < load->nb_list && err == MRC_OK; i++) {
		size_t old = mrc_ctl_path_index(ctx, i);

		err = list_item(ctx, json_array_get(value, i), &load->list[i]);
		mrc_ctl_path_pop(ctx, old);
	}
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
	MRC_CTL_BOOL("barrier", struct sim_load, barrier),
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
	MRC_CTL_STRING("flows_file", struct sim_load, flows_file, 1),
	MRC_CTL_STRING("sizes_file", struct sim_load, sizes_file, 1),
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
	MRC_CTL_UNIT_REQUIRED("host", struct sim_pause, host, MRC_CTL_UNIT_NONE, 0, 65535),
	TIME("at", struct sim_pause, at_ns),
	SPAN("for", struct sim_pause, for_ns),
	MRC_CTL_END,
};
static const struct mrc_ctl_table pause_table = {pause_fields, sizeof(struct sim_pause), NULL};
static const struct mrc_ctl_field pause_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct sim_pause), .table = &pause_table};

static const struct mrc_ctl_field handover_fields[] = {
	MRC_CTL_UINT("host", struct sim_handover, host, 0, 65535),
	TIME("at", struct sim_handover, at_ns),
	MRC_CTL_UNIT("for", struct sim_handover, for_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	TIME("delay", struct sim_handover, delay_ns),
	MRC_CTL_UINT("depth", struct sim_handover, depth, 0, 1000000),
	MRC_CTL_END,
};
static const struct mrc_ctl_table handover_table = {
	handover_fields, sizeof(struct sim_handover), NULL};

static void handover_init(void *elem)
{
	*(struct sim_handover *)elem =
		(struct sim_handover){.host = SIM_EVERY_HOST, .depth = UINT32_MAX};
}

static const struct mrc_ctl_field handover_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct sim_handover),
	.table = &handover_table,
	.init = handover_init};

static const struct mrc_ctl_field churn_fields[] = {
	SPAN("every", struct sim_churn_cfg, every_ns),
	TIME("at", struct sim_churn_cfg, at_ns),
	MRC_CTL_UNIT("for", struct sim_churn_cfg, for_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_UINT("lives", struct sim_churn_cfg, lives, 1, 1000),
	MRC_CTL_END,
};
static const struct mrc_ctl_table churn_table = {churn_fields, sizeof(struct sim_churn_cfg), NULL};

const char *const sim_storm_names[SIM_NB_STORM_KINDS] = {
	[SIM_STORM_UPLINK] = "uplink",
	[SIM_STORM_PORT] = "port",
	[SIM_STORM_LOSSY] = "lossy",
	[SIM_STORM_GREY] = "grey",
	[SIM_STORM_CORRUPT] = "corrupt",
	[SIM_STORM_DUPLICATE] = "duplicate",
	[SIM_STORM_REORDER] = "reorder",
	[SIM_STORM_TRIM] = "trim",
};

static int decode_storm_kinds(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	uint32_t kinds = 0;

	if (!json_is_array(value) || json_array_size(value) == 0)
		return mrc_ctl_fail(
			ctx, value, "must be a list of kinds as [\"uplink\", \"port\"]");
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *name = json_string_value(json_array_get(value, i));
		uint32_t k = 0;

		while (name != NULL && k < SIM_NB_STORM_KINDS &&
			strcmp(sim_storm_names[k], name) != 0)
			k++;
		if (name == NULL || k == SIM_NB_STORM_KINDS)
			return mrc_ctl_fail(ctx, json_array_get(value, i),
				"must be uplink, port, lossy, grey, corrupt, duplicate, reorder or "
				"trim");
		kinds |= 1u << k;
	}
	*(uint32_t *)member = kinds;
	return MRC_OK;
}

static const struct mrc_ctl_field storm_fields[] = {
	SPAN("every", struct sim_storm_cfg, every_ns),
	SPAN("length", struct sim_storm_cfg, length_ns),
	TIME("at", struct sim_storm_cfg, at_ns),
	MRC_CTL_UNIT("for", struct sim_storm_cfg, for_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_CUSTOM("kinds", struct sim_storm_cfg, kinds, decode_storm_kinds),
	MRC_CTL_END,
};
static const struct mrc_ctl_table storm_table = {storm_fields, sizeof(struct sim_storm_cfg), NULL};

static const struct mrc_ctl_field rc_fields[] = {
	MRC_CTL_UNIT("timeout", struct sim_rc, timeout_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_UNIT("window", struct sim_rc, window_len, MRC_CTL_UNIT_SIZE, 1, 1u << 31),
	MRC_CTL_UINT("ack_every", struct sim_rc, ack_every, 1, 1024),
	MRC_CTL_BOOL("ecn", struct sim_rc, ecn),
	MRC_CTL_END,
};
static const struct mrc_ctl_table rc_table = {rc_fields, sizeof(struct sim_rc), NULL};

/* ---- the run */

static const struct mrc_ctl_field run_fields[] = {
	MRC_CTL_UNIT("limit", struct sim_run, limit_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	TIME("sample", struct sim_run, sample_ns),
	MRC_CTL_UINT("check_every", struct sim_run, check_every, 0, 0),
	MRC_CTL_BOOL("repair", struct sim_run, repair),
	MRC_CTL_BOOL("waits", struct sim_run, waits),
	MRC_CTL_END,
};
static const struct mrc_ctl_table run_table = {run_fields, sizeof(struct sim_run), NULL};

static const struct mrc_ctl_field expect_fields[] = {
	{.key = "value",
		.type = MRC_CTL_TYPE_STRING,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct sim_expect, value),
		.min = 1},
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
	MRC_CTL_ARRAY("handovers", struct scenario, handovers, nb_handovers, &handover_elem, 0,
		handover_init),
	MRC_CTL_OBJECT("churn", struct scenario, churn, &churn_table),
	MRC_CTL_OBJECT("storm", struct scenario, storm, &storm_table),
	MRC_CTL_OBJECT("run", struct scenario, run, &run_table),
	MRC_CTL_ARRAY("expect", struct scenario, expect, nb_expect, &expect_elem, 0, NULL),
	MRC_CTL_END,
};

const struct mrc_ctl_table scenario_table = {
	scenario_fields, sizeof(struct scenario), scenario_check};
