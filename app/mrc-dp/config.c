/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_private.h"
#include "ctl_decode.h"
#include "ctl_proto.h"

#define SECOND_NS 1000000000ull
#define YEAR_NS   (365 * 86400 * SECOND_NS)

/* ---- names ---------------------------------------------------------------------------------- */

static const struct mrc_ctl_name hugepage_names[] = {
	{"no", MRC_HUGE_NO}, {"auto", MRC_HUGE_AUTO}, {"yes", MRC_HUGE_YES}, {NULL, 0}};
static const struct mrc_ctl_name ev_mode_names[] = {{"udp", MRC_EV_MODE_UDP},
	{"stev", MRC_EV_MODE_STEV}, {"srv6", MRC_EV_MODE_SRV6}, {"auto", MRC_CFG_EV_AUTO},
	{NULL, 0}};
static const struct mrc_ctl_name cc_names[] = {
	{"fixed", MRC_NSCC_FIXED}, {"uet-1.0-nscc", MRC_NSCC_UET10}, {NULL, 0}};
static const struct mrc_ctl_name forward_names[] = {
	{"ecmp", MRC_FABRIC_ECMP}, {"stev", MRC_FABRIC_STEV}, {"srv6", MRC_FABRIC_SRV6}, {NULL, 0}};
static const struct mrc_ctl_name role_names[] = {
	{"requester", MRC_CFG_REQUESTER}, {"responder", MRC_CFG_RESPONDER}, {NULL, 0}};

/* ---- custom decoders ------------------------------------------------------------------------- */

/* Seconds, whole or not, to nanoseconds. */
static int decode_seconds(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	double seconds = json_is_number(value) ? json_number_value(value) : -1;

	if (!(seconds >= 0.001 && seconds <= 1e7))
		return mrc_ctl_fail(ctx, value, "want a number of seconds from 0.001 to 10000000");
	*(uint64_t *)member = (uint64_t)(seconds * 1e9);
	return MRC_OK;
}

#define INDEX(k, s, m) MRC_CTL_CUSTOM(k, s, m, mrc_ctl_decode_index)
#define TIME(k, s, m)  MRC_CTL_UNIT(k, s, m, MRC_CTL_UNIT_TIME, 0, 0)

/* ---- planes and endpoints ----------------------------------------------------------------------
 */

static int plane_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_cfg_plane *plane = obj;

	plane->is_pci = false;
	if (strcmp(plane->device, "fabric") == 0) {
		plane->link = MRC_LINK_FABRIC;
	} else if (strcmp(plane->device, "direct") == 0) {
		plane->link = MRC_LINK_DIRECT;
	} else {
		unsigned domain, bus, dev, function;
		char rest;

		plane->link = MRC_LINK_DEVICE;
		plane->is_pci =
			sscanf(plane->device, "%x:%x:%x.%x%c", &domain, &bus, &dev, &function,
				&rest) == 4 ||
			sscanf(plane->device, "%x:%x.%x%c", &bus, &dev, &function, &rest) == 3;
		if (!plane->is_pci && strncmp(plane->device, "net_", 4) != 0)
			return mrc_ctl_fail_key(ctx, "device",
				"\"%s\" is neither \"fabric\", \"direct\", a virtual device "
				"(\"net_memif0,...\") nor a PCI address (\"0000:01:00.0\")",
				plane->device);
	}
	return MRC_OK;
}

static const struct mrc_ctl_field path_elem = {
	.type = MRC_CTL_TYPE_CUSTOM, .size = sizeof(struct mrc_gid), .decode = mrc_ctl_decode_ip};

static const struct mrc_ctl_field plane_fields[] = {
	{.key = "device",
		.type = MRC_CTL_TYPE_STRING,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_cfg_plane, device),
		.min = 1},
	{.key = "mac",
		.type = MRC_CTL_TYPE_CUSTOM,
		.flags = MRC_CTL_PRESENT,
		MRC_CTL_AT(struct mrc_cfg_plane, mac),
		.decode = mrc_ctl_decode_mac,
		.present_offset = offsetof(struct mrc_cfg_plane, mac_set)},
	MRC_CTL_UNIT_PRESENT(
		"vlan", struct mrc_cfg_plane, vlan, vlan_set, MRC_CTL_UNIT_NONE, 0, 4094),
	MRC_CTL_UINT("vlan_priority", struct mrc_cfg_plane, vlan_prio, 0, 7),
	MRC_CTL_UINT("mtu", struct mrc_cfg_plane, mtu, 68, 65535),
	MRC_CTL_UINT("descriptors", struct mrc_cfg_plane, descriptors, 32, 32768),
	MRC_CTL_ARRAY("paths", struct mrc_cfg_plane, paths, nb_paths, &path_elem, 1, NULL),
	MRC_CTL_STRING("capture", struct mrc_cfg_plane, capture, 1),
	MRC_CTL_END,
};
static const struct mrc_ctl_table plane_table = {
	plane_fields, sizeof(struct mrc_cfg_plane), plane_check};
static const struct mrc_ctl_field plane_elem = {
	.type = MRC_CTL_TYPE_OBJECT, .size = sizeof(struct mrc_cfg_plane), .table = &plane_table};

static const struct mrc_ctl_field neighbour_fields[] = {
	{.key = "address",
		.type = MRC_CTL_TYPE_CUSTOM,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_cfg_neighbour, address),
		.decode = mrc_ctl_decode_ip},
	MRC_CTL_UNIT_REQUIRED(
		"plane", struct mrc_cfg_neighbour, plane, MRC_CTL_UNIT_NONE, 0, MRC_MAX_PLANES - 1),
	{.key = "mac",
		.type = MRC_CTL_TYPE_CUSTOM,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_cfg_neighbour, mac),
		.decode = mrc_ctl_decode_mac},
	MRC_CTL_END,
};
static const struct mrc_ctl_table neighbour_table = {
	neighbour_fields, sizeof(struct mrc_cfg_neighbour), NULL};
static const struct mrc_ctl_field neighbour_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct mrc_cfg_neighbour),
	.table = &neighbour_table};

static const struct mrc_ctl_field lcore_elem = {
	.type = MRC_CTL_TYPE_CUSTOM, .size = sizeof(int32_t), .decode = mrc_ctl_decode_index};

static int endpoint_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_cfg_endpoint *ep = obj;

	if (ep->nb_lcores != 0 && ep->nb_lcores != ep->nb_workers)
		return mrc_ctl_fail_key(ctx, "lcores",
			"%u lcores for %u workers; name one per worker or leave the key out",
			ep->nb_lcores, ep->nb_workers);
	for (uint32_t i = ep->nb_lcores; i < MRC_CFG_MAX_WORKERS; i++)
		ep->lcores[i] = -1;
	for (uint32_t i = 0; i < ep->nb_neighbours; i++)
		if (ep->neighbours[i].plane >= ep->nb_planes)
			return mrc_ctl_fail_key(ctx, "neighbours",
				"entry %u names plane %u, the endpoint has planes 0 to %u", i,
				ep->neighbours[i].plane, ep->nb_planes - 1);
	return MRC_OK;
}

static const struct mrc_ctl_field endpoint_fields[] = {
	{.key = "name",
		.type = MRC_CTL_TYPE_STRING,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_cfg_endpoint, name),
		.min = 1},
	{.key = "address",
		.type = MRC_CTL_TYPE_CUSTOM,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_cfg_endpoint, address),
		.decode = mrc_ctl_decode_ip},
	MRC_CTL_UINT("workers", struct mrc_cfg_endpoint, nb_workers, 1, MRC_CFG_MAX_WORKERS),
	MRC_CTL_ARRAY("lcores", struct mrc_cfg_endpoint, lcores, nb_lcores, &lcore_elem, 0, NULL),
	{.key = "planes",
		.type = MRC_CTL_TYPE_ARRAY,
		.flags = MRC_CTL_REQUIRED,
		.offset = offsetof(struct mrc_cfg_endpoint, planes),
		.size = sizeof(struct mrc_cfg_plane),
		.min = 1,
		.max = MRC_MAX_PLANES,
		.elem = &plane_elem,
		.count_offset = offsetof(struct mrc_cfg_endpoint, nb_planes)},
	MRC_CTL_ARRAY("neighbours", struct mrc_cfg_endpoint, neighbours, nb_neighbours,
		&neighbour_elem, 0, NULL),
	MRC_CTL_END,
};
static const struct mrc_ctl_table endpoint_table = {
	endpoint_fields, sizeof(struct mrc_cfg_endpoint), endpoint_check};

static void endpoint_init(void *elem)
{
	struct mrc_cfg_endpoint *ep = elem;

	memset(ep, 0, sizeof(*ep));
	ep->nb_workers = 1;
}

static const struct mrc_ctl_field endpoint_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct mrc_cfg_endpoint),
	.table = &endpoint_table,
	.init = endpoint_init};

/* ---- entropy values, window, QPs ------------------------------------------------------------
 */

static int ev_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	const struct mrc_cfg_ev *ev = obj;

	if (ev->nb_active > ev->nb_per_plane)
		return mrc_ctl_fail_key(ctx, "active",
			"%u of %u per plane; must not exceed \"per_plane\"", ev->nb_active,
			ev->nb_per_plane);
	if (ev->skip_ns > MRC_EV_SKIP_LIMIT_NS)
		return mrc_ctl_fail_key(ctx, "skip", "is longer than 18 years; lower it");
	if (ev->skip_max_ns != MRC_CFG_EV_SKIPS && ev->skip_max_ns > MRC_EV_SKIP_LIMIT_NS)
		return mrc_ctl_fail_key(ctx, "skip_max", "is longer than 18 years; lower it");
	if (ev->probe_max_ns < ev->probe_ns)
		return mrc_ctl_fail_key(ctx, "probe_max", "is shorter than \"probe\"; raise it");
	return MRC_OK;
}

static const struct mrc_ctl_field ev_fields[] = {
	MRC_CTL_ENUM("mode", struct mrc_cfg_ev, mode, ev_mode_names),
	MRC_CTL_UINT("per_plane", struct mrc_cfg_ev, nb_per_plane, 1, 1024),
	MRC_CTL_UINT("active", struct mrc_cfg_ev, nb_active, 0, 1024),
	MRC_CTL_UINT("min_active", struct mrc_cfg_ev, min_active, 0, MRC_EV_MAX),
	TIME("skip", struct mrc_cfg_ev, skip_ns),
	TIME("skip_max", struct mrc_cfg_ev, skip_max_ns),
	MRC_CTL_UNIT("probe", struct mrc_cfg_ev, probe_ns, MRC_CTL_UNIT_TIME, 1, 86400 * SECOND_NS),
	MRC_CTL_UNIT("probe_max", struct mrc_cfg_ev, probe_max_ns, MRC_CTL_UNIT_TIME, 1,
		86400 * SECOND_NS),
	MRC_CTL_UINT("revive", struct mrc_cfg_ev, revive_count, 1, 100),
	MRC_CTL_END,
};
static const struct mrc_ctl_table ev_table = {ev_fields, sizeof(struct mrc_cfg_ev), ev_check};

static int cc_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	const struct mrc_cfg_cc *cc = obj;
	const char *key = "algorithm";

	if (!cc->resolved || mrc_nscc_cfg_check(&cc->nscc, &key) == MRC_OK)
		return MRC_OK;
	/* Two of the window's parameters go by shorter names here. */
	if (strncmp(key, "adjust_", strlen("adjust_")) == 0)
		key = strcmp(key, "adjust_bytes_threshold") == 0 ? "adjust_bytes" : "adjust_period";
	return mrc_ctl_fail_key(ctx, key,
		"does not fit the other parameters; leave it out, or see doc/congestion.md for its "
		"range");
}

static const struct mrc_ctl_field cc_fields[] = {
	MRC_CTL_ENUM("algorithm", struct mrc_cfg_cc, nscc.algorithm, cc_names),
	MRC_CTL_UNIT("rate", struct mrc_cfg_cc, rate_bps, MRC_CTL_UNIT_RATE, 1000000,
		100000000000000ull),
	MRC_CTL_UNIT("base_rtt", struct mrc_cfg_cc, base_rtt_ns, MRC_CTL_UNIT_TIME, 100, SECOND_NS),
	MRC_CTL_UNIT(
		"min_base_rtt", struct mrc_cfg_cc, nscc.min_base_rtt_ns, MRC_CTL_UNIT_TIME, 0, 0),
	MRC_CTL_BOOL("trimming", struct mrc_cfg_cc, trimming),
	MRC_CTL_UNIT("max_cwnd", struct mrc_cfg_cc, nscc.max_cwnd, MRC_CTL_UNIT_SIZE, 256, 0),
	MRC_CTL_UNIT(
		"target_delay", struct mrc_cfg_cc, nscc.target_delay_ns, MRC_CTL_UNIT_TIME, 1, 0),
	MRC_CTL_UNIT("adjust_bytes", struct mrc_cfg_cc, nscc.adjust_bytes_threshold,
		MRC_CTL_UNIT_SIZE, 1, 0),
	MRC_CTL_UNIT(
		"adjust_period", struct mrc_cfg_cc, nscc.adjust_period_ns, MRC_CTL_UNIT_TIME, 1, 0),
	MRC_CTL_UNIT(
		"qa_threshold", struct mrc_cfg_cc, nscc.qa_threshold_ns, MRC_CTL_UNIT_TIME, 1, 0),
	MRC_CTL_UINT("qa_gate", struct mrc_cfg_cc, nscc.qa_gate, 0, 255),
	MRC_CTL_BOOL("disable_qa", struct mrc_cfg_cc, nscc.disable_qa),
	MRC_CTL_DOUBLE("eta", struct mrc_cfg_cc, nscc.eta, 0, 1e12),
	MRC_CTL_DOUBLE("fi", struct mrc_cfg_cc, nscc.fi, 0, 1e12),
	MRC_CTL_DOUBLE("fi_scale", struct mrc_cfg_cc, nscc.fi_scale, 0, 1e12),
	MRC_CTL_DOUBLE("gamma", struct mrc_cfg_cc, nscc.gamma, 0, 1e12),
	MRC_CTL_DOUBLE("max_md_jump", struct mrc_cfg_cc, nscc.max_md_jump, 0, 1),
	MRC_CTL_END,
};
static const struct mrc_ctl_table cc_table = {cc_fields, sizeof(struct mrc_cfg_cc), cc_check};

static const struct mrc_ctl_field qp_fields[] = {
	MRC_CTL_UINT("mpr", struct mrc_cfg_qp, mpr, 1, MRC_MPR_LIMIT),
	MRC_CTL_UINT("ttl", struct mrc_cfg_qp, ttl, 1, 255),
	MRC_CTL_UINT("timeout", struct mrc_cfg_qp, timeout, 0, MRC_TIMEOUT_MAX_EXP),
	MRC_CTL_UINT("linear_retries", struct mrc_cfg_qp, linear_cnt, 0, MRC_LINEAR_MAX),
	MRC_CTL_UINT("exponential_retries", struct mrc_cfg_qp, exp_cnt, 0, MRC_EXP_MAX),
	MRC_CTL_BOOL("per_packet_timers", struct mrc_cfg_qp, per_packet_timers),
	MRC_CTL_END,
};
static const struct mrc_ctl_table qp_table = {qp_fields, sizeof(struct mrc_cfg_qp), NULL};

static const struct mrc_ctl_field engine_fields[] = {
	MRC_CTL_UINT("access_errors", struct mrc_cfg_engine, access_errors, 1, 255),
	MRC_CTL_UINT("parked_immediates", struct mrc_cfg_engine, parked_imms, 0, 1 << 20),
	MRC_CTL_BOOL("back_pressure", struct mrc_cfg_engine, back_pressure),
	MRC_CTL_BOOL("probes", struct mrc_cfg_engine, probes),
	MRC_CTL_BOOL("loss_by_distance", struct mrc_cfg_engine, loss_by_distance),
	MRC_CTL_END,
};
static const struct mrc_ctl_table engine_table = {
	engine_fields, sizeof(struct mrc_cfg_engine), NULL};

/* ---- fabric ------------------------------------------------------------------------------------
 */

static const struct mrc_ctl_field fabric_fields[] = {
	MRC_CTL_UINT("leaves", struct mrc_cfg_fabric, leaves, 1, 64),
	MRC_CTL_UINT("spines", struct mrc_cfg_fabric, spines, 1, 64),
	MRC_CTL_UINT("hosts_per_leaf", struct mrc_cfg_fabric, hosts_per_leaf, 1, 64),
	MRC_CTL_UNIT(
		"rate", struct mrc_cfg_fabric, rate_bps, MRC_CTL_UNIT_RATE, 0, 100000000000000ull),
	MRC_CTL_UNIT("delay", struct mrc_cfg_fabric, delay_ns, MRC_CTL_UNIT_TIME, 0, SECOND_NS),
	MRC_CTL_UNIT(
		"switch_delay", struct mrc_cfg_fabric, switch_ns, MRC_CTL_UNIT_TIME, 0, SECOND_NS),
	MRC_CTL_ENUM("forward", struct mrc_cfg_fabric, forward, forward_names),
	MRC_CTL_BOOL("srv6_decap", struct mrc_cfg_fabric, srv6_decap),
	MRC_CTL_BOOL("ecn", struct mrc_cfg_fabric, queues.ecn),
	MRC_CTL_BOOL("ecn_last_hop", struct mrc_cfg_fabric, queues.ecn_last_hop),
	MRC_CTL_BOOL("trimming", struct mrc_cfg_fabric, queues.trimming),
	MRC_CTL_UNIT("queue", struct mrc_cfg_fabric, queues.queue_len, MRC_CTL_UNIT_SIZE, 9216,
		1ull << 31),
	MRC_CTL_UNIT("seed", struct mrc_cfg_fabric, seed, MRC_CTL_UNIT_HEX, 0, 0),
	MRC_CTL_UINT("packets", struct mrc_cfg_fabric, max_packets, 64, 1000000),
	INDEX("lcore", struct mrc_cfg_fabric, lcore),
	MRC_CTL_ARRAY("faults", struct mrc_cfg_fabric, faults, nb_faults, &mrc_ctl_fault_elem, 0,
		mrc_ctl_fault_init),
	MRC_CTL_END,
};
static const struct mrc_ctl_table fabric_table = {
	fabric_fields, sizeof(struct mrc_cfg_fabric), NULL};

/* ---- workload ----------------------------------------------------------------------------------
 */

static const struct mrc_ctl_name verify_names[] = {{"full", MRC_LOAD_VERIFY_FULL},
	{"sample", MRC_LOAD_VERIFY_SAMPLE}, {"none", MRC_LOAD_VERIFY_NONE}, {NULL, 0}};

static int workload_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_cfg_workload *load = obj;

	if (load->nb_msgs != 0 && load->duration_ns != 0)
		return mrc_ctl_fail_key(ctx, "messages",
			"give only one of \"messages\" and \"seconds\"; the run ends by one of "
			"them");
	if (load->poisson && load->rate_bps == 0)
		return mrc_ctl_fail_key(ctx, "poisson", "needs an open loop; give \"rate\" too");
	if (load->bidirectional && load->file[0] != '\0')
		return mrc_ctl_fail_key(
			ctx, "bidirectional", "a \"file\" goes one way; remove one");
	if (load->nb_slots != 0 && load->nb_slots <= load->depth)
		return mrc_ctl_fail_key(
			ctx, "slots", "%u must exceed \"depth\" %u", load->nb_slots, load->depth);
	load->pacing = load->rate_bps == 0 ? MRC_LOAD_CLOSED
		       : load->poisson     ? MRC_LOAD_POISSON
					   : MRC_LOAD_CONSTANT;
	return MRC_OK;
}

static const struct mrc_ctl_field workload_fields[] = {
	MRC_CTL_ENUM("role", struct mrc_cfg_workload, role, role_names),
	MRC_CTL_UINT(
		"qps", struct mrc_cfg_workload, nb_qps, 1, MRC_CFG_MAX_WORKERS *MRC_LOAD_MAX_QPS),
	MRC_CTL_UNIT("message", struct mrc_cfg_workload, msg_len, MRC_CTL_UNIT_SIZE, 1, INT32_MAX),
	MRC_CTL_UINT("messages", struct mrc_cfg_workload, nb_msgs, 1, 1ull << 40),
	MRC_CTL_CUSTOM("seconds", struct mrc_cfg_workload, duration_ns, decode_seconds),
	MRC_CTL_UINT("depth", struct mrc_cfg_workload, depth, 1, 4096),
	MRC_CTL_UINT("slots", struct mrc_cfg_workload, nb_slots, 2, 65536),
	MRC_CTL_UNIT("rate", struct mrc_cfg_workload, rate_bps, MRC_CTL_UNIT_RATE, 1000,
		100000000000000ull),
	MRC_CTL_BOOL("poisson", struct mrc_cfg_workload, poisson),
	MRC_CTL_BOOL("bidirectional", struct mrc_cfg_workload, bidirectional),
	MRC_CTL_UINT("immediate_percent", struct mrc_cfg_workload, imm_pct, 0, 100),
	MRC_CTL_ENUM("verify", struct mrc_cfg_workload, verify, verify_names),
	MRC_CTL_UNIT("seed", struct mrc_cfg_workload, seed, MRC_CTL_UNIT_HEX, 0, 0),
	MRC_CTL_STRING("file", struct mrc_cfg_workload, file, 1),
	MRC_CTL_STRING("store", struct mrc_cfg_workload, store, 1),
	MRC_CTL_UNIT("drain", struct mrc_cfg_workload, drain_ns, MRC_CTL_UNIT_TIME, 0, YEAR_NS),
	MRC_CTL_END,
};
static const struct mrc_ctl_table workload_table = {
	workload_fields, sizeof(struct mrc_cfg_workload), workload_check};

static int oob_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_cfg_oob_file *oob = obj;

	if ((oob->listen[0] != '\0') == (oob->connect[0] != '\0'))
		return mrc_ctl_fail_key(ctx, oob->listen[0] ? "listen" : "connect",
			"give exactly one of \"listen\" and \"connect\"");
	oob->oob.mode = oob->listen[0] ? MRC_OOB_LISTEN : MRC_OOB_CONNECT;
	memcpy(oob->oob.address, oob->listen[0] ? oob->listen : oob->connect,
		sizeof(oob->oob.address));
	return mrc_cfg_oob_check(ctx, &oob->oob);
}

static const struct mrc_ctl_field oob_fields[] = {
	MRC_CTL_STRING("listen", struct mrc_cfg_oob_file, listen, 1),
	MRC_CTL_STRING("connect", struct mrc_cfg_oob_file, connect, 1),
	MRC_CTL_UNIT("wait", struct mrc_cfg_oob_file, oob.wait_ns, MRC_CTL_UNIT_TIME, 0, YEAR_NS),
	MRC_CTL_END,
};
static const struct mrc_ctl_table oob_table = {
	oob_fields, sizeof(struct mrc_cfg_oob_file), oob_check};

/* ---- the whole file -----------------------------------------------------------------------------
 */

static const struct mrc_ctl_field eal_elem = {
	.type = MRC_CTL_TYPE_STRING, .size = MRC_CFG_TEXT, .min = 1};
static const struct mrc_ctl_field memory_fields[] = {
	MRC_CTL_UINT("mib", struct mrc_cfg, memory_mib, 64, 1048576),
	MRC_CTL_ENUM("hugepages", struct mrc_cfg, hugepages, hugepage_names),
	MRC_CTL_UINT("window", struct mrc_cfg, window_psns, 0, 1u << 28),
	MRC_CTL_UINT("sent", struct mrc_cfg, sent_psns, 0, 1u << 28),
	MRC_CTL_END,
};
static const struct mrc_ctl_table memory_table = {memory_fields, sizeof(struct mrc_cfg), NULL};

static int decode_pmtu(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	json_int_t pmtu = json_is_integer(value) ? json_integer_value(value) : 0;

	if (pmtu != 256 && pmtu != 512 && pmtu != 1024 && pmtu != 2048 && pmtu != 4096)
		return mrc_ctl_fail(ctx, value, "want 256, 512, 1024, 2048 or 4096");
	*(uint32_t *)member = (uint32_t)pmtu;
	return MRC_OK;
}

static const struct mrc_ctl_field file_fields[] = {
	{.key = "$schema", .type = MRC_CTL_TYPE_STRING, MRC_CTL_AT(struct mrc_cfg_file, schema)},
	MRC_CTL_STRING("comment", struct mrc_cfg_file, comment, 0),
	MRC_CTL_ARRAY("eal", struct mrc_cfg_file, cfg.eal, cfg.nb_eal, &eal_elem, 0, NULL),
	MRC_CTL_STRING("lcores", struct mrc_cfg_file, cfg.lcores, 1),
	{.key = "memory",
		.type = MRC_CTL_TYPE_OBJECT,
		MRC_CTL_AT(struct mrc_cfg_file, cfg),
		.table = &memory_table},
	MRC_CTL_CUSTOM("pmtu", struct mrc_cfg_file, cfg.pmtu, decode_pmtu),
	MRC_CTL_BOOL("icrc", struct mrc_cfg_file, cfg.icrc),
	MRC_CTL_BOOL("timestamps", struct mrc_cfg_file, cfg.timestamps),
	MRC_CTL_BOOL("strict_echo", struct mrc_cfg_file, cfg.strict_echo),
	MRC_CTL_OBJECT("protocol", struct mrc_cfg_file, cfg.proto, &mrc_ctl_proto_table),
	MRC_CTL_OBJECT("ev", struct mrc_cfg_file, cfg.ev, &ev_table),
	MRC_CTL_OBJECT("congestion", struct mrc_cfg_file, cfg.cc, &cc_table),
	MRC_CTL_OBJECT("qp", struct mrc_cfg_file, cfg.qp, &qp_table),
	MRC_CTL_OBJECT("engine", struct mrc_cfg_file, cfg.engine, &engine_table),
	{.key = "endpoints",
		.type = MRC_CTL_TYPE_ARRAY,
		.flags = MRC_CTL_REQUIRED,
		.offset = offsetof(struct mrc_cfg_file, cfg.endpoints),
		.size = sizeof(struct mrc_cfg_endpoint),
		.min = 1,
		.max = MRC_CFG_MAX_ENDPOINT,
		.elem = &endpoint_elem,
		.init = endpoint_init,
		.count_offset = offsetof(struct mrc_cfg_file, cfg.nb_endpoints)},
	{.key = "fabric",
		.type = MRC_CTL_TYPE_OBJECT,
		.flags = MRC_CTL_PRESENT,
		MRC_CTL_AT(struct mrc_cfg_file, cfg.fabric),
		.table = &fabric_table,
		.present_offset = offsetof(struct mrc_cfg_file, cfg.fabric.present)},
	MRC_CTL_OBJECT("workload", struct mrc_cfg_file, cfg.workload, &workload_table),
	MRC_CTL_OBJECT("oob", struct mrc_cfg_file, oob, &oob_table),
	INDEX("management_lcore", struct mrc_cfg_file, cfg.mgmt_lcore),
	MRC_CTL_END,
};

static int file_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_cfg_file *file = obj;

	file->cfg.oob = file->oob.oob;
	return mrc_cfg_check(ctx, &file->cfg);
}

const struct mrc_ctl_table mrc_cfg_file_table = {
	file_fields, sizeof(struct mrc_cfg_file), file_check};
