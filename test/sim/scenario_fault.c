/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_fault.c - the faults of a scenario: kind, place, time, and which packets they meet. */
#include "scenario_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mrc_ctl_name fault_names[MRC_FABRIC_NB_FAULT_KINDS + 1];

void sim_fault_names_fill(void)
{
	for (int k = 0; k < MRC_FABRIC_NB_FAULT_KINDS; k++)
		fault_names[k] = (struct mrc_ctl_name){
			mrc_fabric_fault_kind_name((enum mrc_fabric_fault_kind)k), (uint64_t)k};
}

static int opcode_set(struct mrc_ctl_ctx *ctx, const json_t *item, struct mrc_fabric_match *match)
{
	static const struct {
		const char *name;
		uint8_t lo, hi;
	} groups[] = {{"data", MRC_OP_WRITE_FIRST, MRC_OP_WRITE_ONLY_IMM},
		{"last", MRC_OP_WRITE_LAST, MRC_OP_WRITE_ONLY_IMM},
		{"sack", MRC_OP_SACK, MRC_OP_SACK}, {"nack", MRC_OP_NACK, MRC_OP_NACK},
		{"ack", MRC_OP_ACK, MRC_OP_ACK}, {"probe", MRC_OP_PROBE, MRC_OP_PROBE},
		{"ep_request", MRC_OP_EP_REQ, MRC_OP_EP_REQ},
		{"ep_response", MRC_OP_EP_RSP, MRC_OP_EP_RSP}};
	const char *name = json_string_value(item);

	for (uint32_t i = 0; name != NULL && i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (strcmp(groups[i].name, name) != 0)
			continue;
		for (uint32_t op = groups[i].lo; op <= groups[i].hi; op++)
			match->opcodes[op / 64] |= 1ull << op % 64;
		return MRC_OK;
	}
	return mrc_ctl_fail(ctx, item,
		"is no kind of packet, give \"data\", \"last\", \"sack\", \"nack\", \"ack\", "
		"\"probe\", \"ep_request\" or \"ep_response\"");
}

static int decode_packets(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *match = member;
	int err = MRC_OK;

	match->fields |= MRC_FABRIC_MATCH_OPCODE;
	if (json_is_string(value))
		return opcode_set(ctx, value, match);
	if (!json_is_array(value) || json_array_size(value) == 0)
		return mrc_ctl_fail(ctx, value, "is no kind of packet nor a list of kinds");
	for (size_t i = 0; i < json_array_size(value) && err == MRC_OK; i++)
		err = opcode_set(ctx, json_array_get(value, i), match);
	return err;
}

/* One number, or [from, to]. */
static int decode_range(
	struct mrc_ctl_ctx *ctx, const json_t *value, uint64_t max, uint32_t *lo, uint32_t *hi)
{
	const json_t *a = json_is_array(value) ? json_array_get(value, 0) : value;
	const json_t *b = json_is_array(value) ? json_array_get(value, 1) : value;

	if (!json_is_integer(a) || !json_is_integer(b) || json_integer_value(a) < 0 ||
		json_integer_value(b) < json_integer_value(a) ||
		(uint64_t)json_integer_value(b) > max)
		return mrc_ctl_fail(ctx, value,
			"is no range, give a number or [from, to] up to %llu",
			(unsigned long long)max);
	*lo = (uint32_t)json_integer_value(a);
	*hi = (uint32_t)json_integer_value(b);
	return MRC_OK;
}

static int decode_psn(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_PSN;
	return decode_range(ctx, value, MRC_PSN_MASK, &m->psn_lo, &m->psn_hi);
}

static int decode_len(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	m->fields |= MRC_FABRIC_MATCH_LEN;
	return decode_range(ctx, value, 65535, &m->len_lo, &m->len_hi);
}

static int decode_dscp(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;
	uint32_t lo = 0, hi = 0;
	int err = decode_range(ctx, value, 63, &lo, &hi);

	m->fields |= MRC_FABRIC_MATCH_DSCP;
	for (uint32_t d = lo; err == MRC_OK && d <= hi; d++)
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
	err = mrc_ctl_value(ctx, &hex, json_array_get(value, 0), &m->ev);
	if (err == MRC_OK)
		err = mrc_ctl_value(ctx, &hex, json_array_get(value, 1), &m->ev_mask);
	if (err == MRC_OK && (m->ev & ~m->ev_mask) != 0)
		return mrc_ctl_fail(ctx, value, "has bits outside its mask, give [value, mask]");
	return err;
}

static int decode_rtx(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;

	if (!json_is_boolean(value))
		return mrc_ctl_fail(ctx, value, "is no truth value, give true or false");
	m->fields |= MRC_FABRIC_MATCH_RTX;
	m->rtx = json_is_true(value);
	return MRC_OK;
}

static int decode_src(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;
	uint32_t hi;

	m->fields |= MRC_FABRIC_MATCH_SRC;
	return decode_range(ctx, value, 65535, &m->src, &hi);
}

static int decode_dst(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	struct mrc_fabric_match *m = member;
	uint32_t hi;

	m->fields |= MRC_FABRIC_MATCH_DST;
	return decode_range(ctx, value, 65535, &m->dst, &hi);
}

static const struct mrc_ctl_field fault_fields[] = {
	{.key = "kind",
		.type = MRC_CTL_TYPE_ENUM,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct sim_fault, fault.kind),
		.names = fault_names},
	MRC_CTL_STRING("name", struct sim_fault, name, 1),
	TIME("at", struct sim_fault, at_ns),
	TIME("for", struct sim_fault, for_ns),
	WHERE(struct sim_fault, fault.where),
	MRC_CTL_RATIO("rate", struct sim_fault, fault.rate, 0, 1),
	MRC_CTL_UINT("burst", struct sim_fault, fault.burst, 1, 1000000),
	MRC_CTL_UINT("nth", struct sim_fault, fault.nth, 1, 0),
	MRC_CTL_UINT("count", struct sim_fault, fault.count, 1, 0),
	MRC_CTL_UINT("period", struct sim_fault, fault.period, 1, 0),
	MRC_CTL_UINT("max_hits", struct sim_fault, fault.max_hits, 1, 0),
	MRC_CTL_UNIT("delay", struct sim_fault, fault.param, MRC_CTL_UNIT_TIME, 0, 0),
	MRC_CTL_UNIT("down", struct sim_fault, fault.param, MRC_CTL_UNIT_TIME, 1, 0),
	TIME("up", struct sim_fault, fault.spread),
	TIME("gap", struct sim_fault, fault.spread),
	MRC_CTL_UNIT("bits", struct sim_fault, fault.param, MRC_CTL_UNIT_RATE, 1, 0),
	MRC_CTL_UNIT("bytes", struct sim_fault, fault.param, MRC_CTL_UNIT_SIZE, 1, 65535),
	MRC_CTL_UINT("copies", struct sim_fault, fault.param, 1, 16),
	MRC_CTL_UINT("offset", struct sim_fault, fault.offset, 0, 65535),
	MRC_CTL_CUSTOM("packets", struct sim_fault, fault.match, decode_packets),
	MRC_CTL_CUSTOM("psn", struct sim_fault, fault.match, decode_psn),
	MRC_CTL_CUSTOM("length", struct sim_fault, fault.match, decode_len),
	MRC_CTL_CUSTOM("dscp", struct sim_fault, fault.match, decode_dscp),
	MRC_CTL_CUSTOM("ev", struct sim_fault, fault.match, decode_ev),
	MRC_CTL_CUSTOM("retransmission", struct sim_fault, fault.match, decode_rtx),
	MRC_CTL_CUSTOM("src", struct sim_fault, fault.match, decode_src),
	MRC_CTL_CUSTOM("dst", struct sim_fault, fault.match, decode_dst),
	MRC_CTL_END,
};

static int fault_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct sim_fault *f = obj;

	f->fault.start_ns = f->at_ns;
	f->fault.end_ns = f->for_ns != 0 ? f->at_ns + f->for_ns : 0;
	if (f->fault.kind == MRC_FABRIC_FLAP && (f->fault.param == 0 || f->fault.spread == 0))
		return mrc_ctl_fail_key(ctx, "kind", "flap needs \"down\" and \"up\" times");
	if (f->fault.kind == MRC_FABRIC_RATE && f->fault.param == 0)
		return mrc_ctl_fail_key(
			ctx, "kind", "rate needs \"bits\", the link's rate meanwhile");
	if (f->fault.kind == MRC_FABRIC_RESTART && f->fault.where.leaf == MRC_FABRIC_ANY &&
		f->fault.where.spine == MRC_FABRIC_ANY)
		return mrc_ctl_fail_key(ctx, "kind", "restart needs the \"leaf\" or \"spine\"");
	return MRC_OK;
}

static const struct mrc_ctl_table fault_table = {
	fault_fields, sizeof(struct sim_fault), fault_check};

void sim_fault_init(void *elem)
{
	struct sim_fault *fault = elem;

	memset(fault, 0, sizeof(*fault));
	fault->fault.where = mrc_fabric_everywhere();
}

const struct mrc_ctl_field sim_fault_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct sim_fault),
	.table = &fault_table,
	.init = sim_fault_init};
