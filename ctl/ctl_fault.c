/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_fault.h"

#include <stdio.h>
#include <string.h>

#include "mrc_opcode.h"

#define YEAR_NS (365ull * 86400 * 1000000000)

const struct mrc_ctl_name mrc_ctl_class_names[] = {
	{"host_up", 1u << MRC_FABRIC_HOST_UP},
	{"host_down", 1u << MRC_FABRIC_HOST_DOWN},
	{"leaf_up", 1u << MRC_FABRIC_LEAF_UP},
	{"leaf_down", 1u << MRC_FABRIC_LEAF_DOWN},
	{"host", 1u << MRC_FABRIC_HOST_UP | 1u << MRC_FABRIC_HOST_DOWN},
	{"uplink", 1u << MRC_FABRIC_LEAF_UP | 1u << MRC_FABRIC_LEAF_DOWN},
	{"all", 0},
	{NULL, 0},
};

static const struct mrc_ctl_name kind_names[] = {{"loss", MRC_FABRIC_LOSS},
	{"silent_discard", MRC_FABRIC_DISCARD}, {"duplicate", MRC_FABRIC_DUPLICATE},
	{"reorder", MRC_FABRIC_REORDER}, {"delay", MRC_FABRIC_DELAY}, {"jitter", MRC_FABRIC_JITTER},
	{"corrupt", MRC_FABRIC_CORRUPT}, {"truncate", MRC_FABRIC_TRUNCATE}, {"pad", MRC_FABRIC_PAD},
	{"mtu", MRC_FABRIC_MTU}, {"ecn_all", MRC_FABRIC_ECN_ALL}, {"ecn_none", MRC_FABRIC_ECN_NONE},
	{"ecn_alternate", MRC_FABRIC_ECN_ALT}, {"trim", MRC_FABRIC_TRIM}, {"rate", MRC_FABRIC_RATE},
	{"carrier", MRC_FABRIC_CARRIER}, {"flap", MRC_FABRIC_FLAP}, {"restart", MRC_FABRIC_RESTART},
	{NULL, 0}};

/* Kinds of packets by the opcodes that they comprise. */
static const struct {
	const char *name;
	uint8_t lo, hi;
} packet_kinds[] = {{"data", MRC_OP_WRITE_FIRST, MRC_OP_WRITE_ONLY_IMM},
	{"last", MRC_OP_WRITE_LAST, MRC_OP_WRITE_ONLY_IMM}, {"sack", MRC_OP_SACK, MRC_OP_SACK},
	{"nack", MRC_OP_NACK, MRC_OP_NACK}, {"ack", MRC_OP_ACK, MRC_OP_ACK},
	{"probe", MRC_OP_PROBE, MRC_OP_PROBE}, {"ep_request", MRC_OP_EP_REQ, MRC_OP_EP_REQ},
	{"ep_response", MRC_OP_EP_RSP, MRC_OP_EP_RSP}};

int mrc_ctl_decode_index(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		json_integer_value(value) > 65535)
		return mrc_ctl_fail(ctx, value, "want a whole number from 0 to 65535");
	*(int32_t *)member = (int32_t)json_integer_value(value);
	return MRC_OK;
}

const char *mrc_ctl_where_check(const struct mrc_fabric_where *where,
	const struct mrc_ctl_shape *shape, int32_t *index_out, uint32_t *nb_out)
{
	const struct {
		const char *key;
		int32_t index;
		uint32_t nb;
	} parts[] = {{"plane", where->plane, shape->nb_planes},
		{"leaf", where->leaf, shape->nb_leaves}, {"spine", where->spine, shape->nb_spines},
		{"host", where->host, shape->nb_hosts}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].index != MRC_FABRIC_ANY && (uint32_t)parts[i].index >= parts[i].nb) {
			*index_out = parts[i].index;
			*nb_out = parts[i].nb;
			return parts[i].key;
		}
	return NULL;
}

bool mrc_ctl_where_selects(const struct mrc_fabric_where *where, const struct mrc_ctl_shape *shape)
{
	const uint32_t host_links = 1u << MRC_FABRIC_HOST_UP | 1u << MRC_FABRIC_HOST_DOWN;
	const uint32_t uplinks = 1u << MRC_FABRIC_LEAF_UP | 1u << MRC_FABRIC_LEAF_DOWN;
	const uint32_t hosts_per_leaf = shape->nb_hosts / shape->nb_leaves;
	uint32_t classes = where->classes != 0 ? where->classes : host_links | uplinks;

	if (where->host != MRC_FABRIC_ANY)
		classes &= host_links;
	if (where->spine != MRC_FABRIC_ANY)
		classes &= uplinks;
	else if (shape->nb_spines == 0)
		classes &= host_links;
	if (where->host != MRC_FABRIC_ANY && where->leaf != MRC_FABRIC_ANY &&
		(uint32_t)where->host / hosts_per_leaf != (uint32_t)where->leaf)
		return false;
	return classes != 0;
}

/* ---- which packets ----------------------------------------------------------------------------*/

static int opcodes_add(struct mrc_ctl_ctx *ctx, const json_t *item, struct mrc_fabric_match *match)
{
	const char *name = json_string_value(item);

	for (size_t i = 0; name != NULL && i < sizeof(packet_kinds) / sizeof(packet_kinds[0]);
		i++) {
		if (strcmp(packet_kinds[i].name, name) != 0)
			continue;
		for (uint32_t op = packet_kinds[i].lo; op <= packet_kinds[i].hi; op++)
			match->opcodes[op / 64] |= 1ull << op % 64;
		return MRC_OK;
	}
	return mrc_ctl_fail(ctx, item,
		"must be a kind of packet: data, last, sack, nack, ack, probe, ep_request, "
		"ep_response");
}

static int decode_packets(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *match = member;
	int err = MRC_OK;

	match->fields |= MRC_FABRIC_MATCH_OPCODE;
	if (json_is_string(value))
		return opcodes_add(ctx, value, match);
	if (!json_is_array(value) || json_array_size(value) == 0)
		return mrc_ctl_fail(ctx, value, "must be a kind of packet or a list of kinds");
	for (size_t i = 0; i < json_array_size(value) && !err; i++)
		err = opcodes_add(ctx, json_array_get(value, i), match);
	return err;
}

/* One number, or [from, to]. */
static int range_decode(struct mrc_ctl_ctx *ctx, const json_t *value, uint32_t max,
	uint32_t *lo_out, uint32_t *hi_out)
{
	const bool pair = json_is_array(value) && json_array_size(value) == 2;
	const json_t *lo = pair ? json_array_get(value, 0) : value;
	const json_t *hi = pair ? json_array_get(value, 1) : value;

	if (!json_is_integer(lo) || !json_is_integer(hi) || json_integer_value(lo) < 0 ||
		json_integer_value(hi) < json_integer_value(lo) || json_integer_value(hi) > max)
		return mrc_ctl_fail(ctx, value, "must be a number or [from, to], up to %u", max);
	*lo_out = (uint32_t)json_integer_value(lo);
	*hi_out = (uint32_t)json_integer_value(hi);
	return MRC_OK;
}

static int decode_psn(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_PSN;
	return range_decode(ctx, value, 0xFFFFFF, &m->psn_lo, &m->psn_hi);
}

static int decode_length(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_LEN;
	return range_decode(ctx, value, 65535, &m->len_lo, &m->len_hi);
}

static int decode_dscp(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;
	uint32_t lo = 0, hi = 0;
	int err = range_decode(ctx, value, 63, &lo, &hi);

	m->fields |= MRC_FABRIC_MATCH_DSCP;
	for (uint32_t d = lo; !err && d <= hi; d++)
		m->dscps |= 1ull << d;
	return err;
}

static int decode_ev(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	static const struct mrc_ctl_field hex = {
		.type = MRC_CTL_TYPE_UINT, .size = 4, .unit = MRC_CTL_UNIT_HEX};
	struct mrc_fabric_match *m = member;
	int err;

	m->fields |= MRC_FABRIC_MATCH_EV;
	m->ev_mask = UINT32_MAX;
	if (!json_is_array(value))
		return mrc_ctl_value(ctx, &hex, value, &m->ev);
	if (json_array_size(value) != 2)
		return mrc_ctl_fail(ctx, value, "must be an entropy value or [value, mask]");
	err = mrc_ctl_value(ctx, &hex, json_array_get(value, 0), &m->ev);
	if (!err)
		err = mrc_ctl_value(ctx, &hex, json_array_get(value, 1), &m->ev_mask);
	if (!err && (m->ev & ~m->ev_mask) != 0)
		return mrc_ctl_fail(ctx, value, "the value has bits outside its mask");
	return err;
}

static int decode_rtx(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	if (!json_is_boolean(value))
		return mrc_ctl_fail(ctx, value, "must be true or false");
	m->fields |= MRC_FABRIC_MATCH_RTX;
	m->rtx = json_is_true(value);
	return MRC_OK;
}

static int host_decode(struct mrc_ctl_ctx *ctx, const json_t *value, uint32_t *host_out)
{
	uint32_t hi;

	if (json_is_array(value))
		return mrc_ctl_fail(ctx, value, "must be the number of one host");
	return range_decode(ctx, value, 65535, host_out, &hi);
}

static int decode_src(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_SRC;
	return host_decode(ctx, value, &m->src);
}

static int decode_dst(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_DST;
	return host_decode(ctx, value, &m->dst);
}

/* ---- the plan ---------------------------------------------------------------------------------*/

#define S struct mrc_ctl_fault
static const struct mrc_ctl_field fault_fields[] = {
	{.key = "kind",
		.type = MRC_CTL_TYPE_ENUM,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(S, fault.kind),
		.names = kind_names},
	MRC_CTL_STRING("name", S, name, 1),
	MRC_CTL_UNIT("at", S, at_ns, MRC_CTL_UNIT_TIME, 0, YEAR_NS),
	MRC_CTL_UNIT("for", S, for_ns, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_WHERE(S, fault.where),
	MRC_CTL_RATIO("rate", S, fault.rate, 0, 1),
	MRC_CTL_UINT("burst", S, fault.burst, 1, 1000000),
	MRC_CTL_UINT("nth", S, fault.nth, 1, 0),
	MRC_CTL_UNIT_PRESENT("count", S, fault.count, has_count, MRC_CTL_UNIT_NONE, 1, 0),
	MRC_CTL_UNIT_PRESENT("period", S, fault.period, has_period, MRC_CTL_UNIT_NONE, 1, 0),
	MRC_CTL_UINT("max_hits", S, fault.max_hits, 1, 0),
	MRC_CTL_UNIT_PRESENT("delay", S, fault.param, has_delay, MRC_CTL_UNIT_TIME, 0, YEAR_NS),
	MRC_CTL_UNIT_PRESENT("down", S, fault.param, has_down, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_UNIT_PRESENT("up", S, fault.spread, has_up, MRC_CTL_UNIT_TIME, 1, YEAR_NS),
	MRC_CTL_UNIT_PRESENT("gap", S, fault.spread, has_gap, MRC_CTL_UNIT_TIME, 0, YEAR_NS),
	MRC_CTL_UNIT_PRESENT("bits", S, fault.param, has_bits, MRC_CTL_UNIT_RATE, 1, 0),
	MRC_CTL_UNIT_PRESENT("bytes", S, fault.param, has_bytes, MRC_CTL_UNIT_SIZE, 1, 65535),
	MRC_CTL_UNIT_PRESENT("copies", S, fault.param, has_copies, MRC_CTL_UNIT_NONE, 1, 16),
	MRC_CTL_UNIT_PRESENT("offset", S, fault.offset, has_offset, MRC_CTL_UNIT_NONE, 0, 65535),
	MRC_CTL_CUSTOM("packets", S, fault.match, decode_packets),
	MRC_CTL_CUSTOM("psn", S, fault.match, decode_psn),
	MRC_CTL_CUSTOM("length", S, fault.match, decode_length),
	MRC_CTL_CUSTOM("dscp", S, fault.match, decode_dscp),
	MRC_CTL_CUSTOM("ev", S, fault.match, decode_ev),
	MRC_CTL_CUSTOM("retransmission", S, fault.match, decode_rtx),
	MRC_CTL_CUSTOM("src", S, fault.match, decode_src),
	MRC_CTL_CUSTOM("dst", S, fault.match, decode_dst),
	MRC_CTL_END,
};
#undef S

enum {
	P_DELAY = 1,
	P_DOWN = 2,
	P_UP = 4,
	P_GAP = 8,
	P_BITS = 16,
	P_BYTES = 32,
	P_COPIES = 64,
	P_OFFSET = 128,
};

/* Which parameters a kind must have, and which it may have besides. */
static const struct {
	uint32_t must, may;
} kind_params[MRC_FABRIC_NB_FAULT_KINDS] = {
	[MRC_FABRIC_DUPLICATE] = {0, P_COPIES | P_GAP},
	[MRC_FABRIC_REORDER] = {P_DELAY, 0},
	[MRC_FABRIC_DELAY] = {P_DELAY, 0},
	[MRC_FABRIC_JITTER] = {P_DELAY, 0},
	[MRC_FABRIC_CORRUPT] = {0, P_BYTES | P_OFFSET},
	[MRC_FABRIC_TRUNCATE] = {P_BYTES, 0},
	[MRC_FABRIC_PAD] = {P_BYTES, 0},
	[MRC_FABRIC_MTU] = {P_BYTES, 0},
	[MRC_FABRIC_RATE] = {P_BITS, 0},
	[MRC_FABRIC_FLAP] = {P_DOWN | P_UP, 0},
};

static int params_check(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_fault *p)
{
	const struct {
		uint32_t bit;
		bool given;
		const char *key;
	} params[] = {{P_DELAY, p->has_delay, "delay"}, {P_DOWN, p->has_down, "down"},
		{P_UP, p->has_up, "up"}, {P_GAP, p->has_gap, "gap"}, {P_BITS, p->has_bits, "bits"},
		{P_BYTES, p->has_bytes, "bytes"}, {P_COPIES, p->has_copies, "copies"},
		{P_OFFSET, p->has_offset, "offset"}};
	const char *kind = mrc_fabric_fault_kind_name(p->fault.kind);
	uint32_t must = kind_params[p->fault.kind].must;
	uint32_t may = must | kind_params[p->fault.kind].may;

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		if (params[i].given && (may & params[i].bit) == 0)
			return mrc_ctl_fail_key(ctx, params[i].key,
				"\"%s\" has no such parameter, leave it out", kind);
		if (!params[i].given && (must & params[i].bit) != 0)
			return mrc_ctl_fail_key(
				ctx, "kind", "\"%s\" needs \"%s\", add it", kind, params[i].key);
	}
	if ((p->has_count || p->has_period) && p->fault.nth == 0)
		return mrc_ctl_fail_key(ctx, p->has_count ? "count" : "period",
			"counts from the \"nth\" packet on, give that too");
	return MRC_OK;
}

static bool is_everywhere(const struct mrc_fabric_where *where)
{
	return where->plane == MRC_FABRIC_ANY && where->leaf == MRC_FABRIC_ANY &&
	       where->spine == MRC_FABRIC_ANY && where->host == MRC_FABRIC_ANY &&
	       where->classes == 0;
}

static int fault_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_ctl_fault *plan = obj;
	const struct mrc_fabric_fault *f = &plan->fault;
	int err = params_check(ctx, plan);

	if (err != MRC_OK)
		return err;
	if (f->kind == MRC_FABRIC_RESTART && f->where.leaf == MRC_FABRIC_ANY &&
		f->where.spine == MRC_FABRIC_ANY)
		return mrc_ctl_fail_key(ctx, "kind", "restart needs a \"leaf\" or \"spine\"");
	if ((f->kind == MRC_FABRIC_CARRIER || f->kind == MRC_FABRIC_FLAP) &&
		is_everywhere(&f->where))
		return mrc_ctl_fail_key(ctx, "kind",
			"would take the carrier of the whole fabric; name a plane, leaf, spine or "
			"host");
	return MRC_OK;
}

const struct mrc_ctl_table mrc_ctl_fault_table = {
	fault_fields, sizeof(struct mrc_ctl_fault), fault_check};

void mrc_ctl_fault_init(void *fault)
{
	struct mrc_ctl_fault *plan = fault;

	memset(plan, 0, sizeof(*plan));
	plan->fault.where = mrc_fabric_everywhere();
	plan->fault.burst = 1;
}

const struct mrc_ctl_field mrc_ctl_fault_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct mrc_ctl_fault),
	.table = &mrc_ctl_fault_table,
	.init = mrc_ctl_fault_init};

/* ---- back to JSON -----------------------------------------------------------------------------*/

static void put_number(json_t *out, const char *key, uint64_t value, uint64_t plain)
{
	if (value != plain)
		json_object_set_new(out, key, json_integer((json_int_t)value));
}

static void put_index(json_t *out, const char *key, int32_t index)
{
	if (index != MRC_FABRIC_ANY)
		json_object_set_new(out, key, json_integer(index));
}

static void put_range(json_t *out, const char *key, uint32_t lo, uint32_t hi)
{
	json_object_set_new(out, key,
		lo == hi ? json_integer((json_int_t)lo) : json_pack("[i, i]", (int)lo, (int)hi));
}

static void put_hex(json_t *array, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%x", value);
	json_array_append_new(array, json_string(text));
}

static void put_packets(json_t *out, const struct mrc_fabric_match *m)
{
	json_t *kinds = json_array();

	for (size_t i = 0; i < sizeof(packet_kinds) / sizeof(packet_kinds[0]); i++) {
		bool all = true;

		for (uint32_t op = packet_kinds[i].lo; op <= packet_kinds[i].hi; op++)
			all = all && (m->opcodes[op / 64] >> op % 64 & 1) != 0;
		/* "last" is a part of "data". */
		if (all && !(i == 1 && json_array_size(kinds) > 0))
			json_array_append_new(kinds, json_string(packet_kinds[i].name));
	}
	json_object_set_new(out, "packets", kinds);
}

static void put_match(json_t *out, const struct mrc_fabric_match *m)
{
	if ((m->fields & MRC_FABRIC_MATCH_OPCODE) != 0)
		put_packets(out, m);
	if ((m->fields & MRC_FABRIC_MATCH_PSN) != 0)
		put_range(out, "psn", m->psn_lo, m->psn_hi);
	if ((m->fields & MRC_FABRIC_MATCH_LEN) != 0)
		put_range(out, "length", m->len_lo, m->len_hi);
	if ((m->fields & MRC_FABRIC_MATCH_DSCP) != 0 && m->dscps != 0)
		put_range(out, "dscp", (uint32_t)__builtin_ctzll(m->dscps),
			63u - (uint32_t)__builtin_clzll(m->dscps));
	if ((m->fields & MRC_FABRIC_MATCH_EV) != 0) {
		json_t *pair = json_array();

		put_hex(pair, m->ev);
		put_hex(pair, m->ev_mask);
		json_object_set_new(out, "ev", pair);
	}
	if ((m->fields & MRC_FABRIC_MATCH_RTX) != 0)
		json_object_set_new(out, "retransmission", json_boolean(m->rtx));
	if ((m->fields & MRC_FABRIC_MATCH_SRC) != 0)
		put_index(out, "src", (int32_t)m->src);
	if ((m->fields & MRC_FABRIC_MATCH_DST) != 0)
		put_index(out, "dst", (int32_t)m->dst);
}

/* param and spread go by other names in each kind. */
static void put_params(json_t *out, const struct mrc_fabric_fault *f)
{
	const char *param = NULL, *spread = NULL;

	switch (f->kind) {
	case MRC_FABRIC_DUPLICATE:
		param = "copies";
		spread = "gap";
		break;
	case MRC_FABRIC_REORDER:
	case MRC_FABRIC_DELAY:
	case MRC_FABRIC_JITTER:
		param = "delay";
		break;
	case MRC_FABRIC_CORRUPT:
	case MRC_FABRIC_TRUNCATE:
	case MRC_FABRIC_PAD:
	case MRC_FABRIC_MTU:
		param = "bytes";
		break;
	case MRC_FABRIC_RATE:
		param = "bits";
		break;
	case MRC_FABRIC_FLAP:
		param = "down";
		spread = "up";
		break;
	case MRC_FABRIC_LOSS:
	case MRC_FABRIC_DISCARD:
	case MRC_FABRIC_ECN_ALL:
	case MRC_FABRIC_ECN_NONE:
	case MRC_FABRIC_ECN_ALT:
	case MRC_FABRIC_TRIM:
	case MRC_FABRIC_CARRIER:
	case MRC_FABRIC_RESTART:
	case MRC_FABRIC_NB_FAULT_KINDS:
		break;
	}
	if (param != NULL)
		put_number(out, param, f->param, 0);
	if (spread != NULL)
		put_number(out, spread, f->spread, 0);
	put_number(out, "offset", f->offset, 0);
}

json_t *mrc_ctl_fault_json(const struct mrc_ctl_fault *fault)
{
	const struct mrc_fabric_fault *f = &fault->fault;
	json_t *out = json_pack("{s:s}", "kind", mrc_fabric_fault_kind_name(f->kind));

	if (out == NULL)
		return NULL;
	if (fault->name[0] != '\0')
		json_object_set_new(out, "name", json_string(fault->name));
	put_number(out, "at", fault->at_ns, 0);
	put_number(out, "for", fault->for_ns, 0);
	put_index(out, "plane", f->where.plane);
	put_index(out, "leaf", f->where.leaf);
	put_index(out, "spine", f->where.spine);
	put_index(out, "host", f->where.host);
	for (const struct mrc_ctl_name *n = mrc_ctl_class_names; n->name != NULL; n++)
		if (f->where.classes != 0 && f->where.classes == n->value)
			json_object_set_new(out, "direction", json_string(n->name));
	if (f->rate != 0)
		json_object_set_new(out, "rate", json_real(f->rate));
	put_number(out, "burst", f->burst, 1);
	put_number(out, "nth", f->nth, 0);
	put_number(out, "count", f->count, 0);
	put_number(out, "period", f->period, 0);
	put_number(out, "max_hits", f->max_hits, 0);
	put_params(out, f);
	put_match(out, &f->match);
	return out;
}
