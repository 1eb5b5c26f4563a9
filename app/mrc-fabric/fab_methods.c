/* SPDX-License-Identifier: BSD-2-Clause */
#include "fab_methods.h"

#include <string.h>

/* ---- selections -------------------------------------------------------------------------------*/

/* Links to look at, a page at a time. */
struct select_params {
	struct mrc_fabric_where where;
	uint32_t from; /* first link number to show */
};

static void select_init(void *params)
{
	((struct select_params *)params)->where = mrc_fabric_everywhere();
}

static const struct mrc_ctl_field select_fields[] = {
	MRC_CTL_WHERE(struct select_params, where),
	MRC_CTL_UINT("from", struct select_params, from, 0, UINT32_MAX),
	MRC_CTL_END,
};
static const struct mrc_ctl_table select_table = {
	select_fields, sizeof(struct select_params), NULL};

static int where_inside(const struct mrc_fab_ctl *ctl, const struct mrc_fabric_where *where,
	struct mrc_rpc_reply *reply)
{
	const struct mrc_ctl_shape shape = mrc_fab_cfg_shape(ctl->cfg);
	uint32_t nb;
	int32_t index;
	const char *key = mrc_ctl_where_check(where, &shape, &index, &nb);

	if (key != NULL)
		return mrc_rpc_fail(reply, MRC_RPC_PARAMS, "%s: %d: the fabric has 0 to %u", key,
			index, nb - 1);
	if (mrc_fabric_link_next(ctl->fabric, where, UINT32_MAX) == UINT32_MAX)
		return mrc_rpc_fail(reply, MRC_RPC_PARAMS, "this selects no link");
	return MRC_RPC_GOOD;
}

static const char *class_name(enum mrc_fabric_link_class cls)
{
	for (const struct mrc_ctl_name *n = mrc_ctl_class_names; n->name != NULL; n++)
		if (n->value == 1u << cls)
			return n->name;
	return "?";
}

/* Number and place of a link; what is told about it comes on top. */
static json_t *link_object(const struct mrc_fab_ctl *ctl, uint32_t link)
{
	const struct mrc_fabric_link_id id = mrc_fabric_link_id(ctl->fabric, link);
	const bool to_host = id.cls == MRC_FABRIC_HOST_UP || id.cls == MRC_FABRIC_HOST_DOWN;

	return json_pack("{s:i, s:s, s:i, s:i, s:i, s:b}", "link", (int)link, "direction",
		class_name(id.cls), "plane", (int)id.plane, "leaf", (int)id.leaf,
		to_host ? "host" : "spine", (int)id.peer, "up",
		mrc_fabric_link_carrier(ctl->fabric, link));
}

/* One page of the selected links, each filled in by `fill`; "next" when there are more. */
static int page(struct mrc_fab_ctl *ctl, const struct select_params *p,
	void (*fill)(struct mrc_fab_ctl *ctl, uint32_t link, json_t *out),
	struct mrc_rpc_reply *reply)
{
	json_t *list = json_array();
	uint32_t link = p->from > 0 ? p->from - 1 : UINT32_MAX;

	if (where_inside(ctl, &p->where, reply) != MRC_RPC_GOOD) {
		json_decref(list);
		return reply->code;
	}
	reply->result = json_pack("{s:o}", "links", list);
	if (p->from >= mrc_fabric_nb_links(ctl->fabric))
		return MRC_RPC_GOOD;
	for (link = mrc_fabric_link_next(ctl->fabric, &p->where, link); link != UINT32_MAX;
		link = mrc_fabric_link_next(ctl->fabric, &p->where, link)) {
		json_t *object;

		if (json_array_size(list) == MRC_FAB_PAGE) {
			json_object_set_new(reply->result, "next", json_integer((json_int_t)link));
			break;
		}
		object = link_object(ctl, link);
		fill(ctl, link, object);
		json_array_append_new(list, object);
	}
	return MRC_RPC_GOOD;
}

static void put(json_t *out, const char *key, uint64_t value)
{
	json_object_set_new(out, key, json_integer((json_int_t)value));
}

/* ---- links ------------------------------------------------------------------------------------*/

static void fill_link(struct mrc_fab_ctl *ctl, uint32_t link, json_t *out)
{
	struct mrc_fabric_link_cfg cfg;

	mrc_fabric_link_get(ctl->fabric, link, &cfg);
	put(out, "rate_bps", cfg.rate_bps);
	put(out, "delay_ns", cfg.delay_ns);
	put(out, "queue_bytes", cfg.drop_len);
	put(out, "ecn_min_bytes", cfg.ecn_min_len);
	put(out, "ecn_max_bytes", cfg.ecn_max_len);
	put(out, "trim_bytes", cfg.trim_len);
}

static int list_links(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	return page(ctx, params, fill_link, reply);
}

struct set_params {
	struct mrc_fabric_where where;
	bool up, has_up, has_rate, has_delay;
	uint64_t rate_bps, delay_ns;
};

static void set_init(void *params)
{
	((struct set_params *)params)->where = mrc_fabric_everywhere();
}

static int set_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	const struct set_params *p = obj;

	if (!p->has_up && !p->has_rate && !p->has_delay)
		return mrc_ctl_fail_key(
			ctx, "up", "nothing to set; give \"up\", \"rate\" or \"delay\"");
	if (p->where.plane == MRC_FABRIC_ANY && p->where.leaf == MRC_FABRIC_ANY &&
		p->where.spine == MRC_FABRIC_ANY && p->where.host == MRC_FABRIC_ANY)
		return mrc_ctl_fail_key(ctx, "plane",
			"would change the whole fabric; name a plane, leaf, spine or host");
	return MRC_OK;
}

#define S struct set_params
static const struct mrc_ctl_field set_fields[] = {
	MRC_CTL_WHERE(S, where),
	{.key = "up",
		.type = MRC_CTL_TYPE_BOOL,
		.flags = MRC_CTL_PRESENT,
		MRC_CTL_AT(S, up),
		.present_offset = offsetof(S, has_up)},
	MRC_CTL_UNIT_PRESENT(
		"rate", S, rate_bps, has_rate, MRC_CTL_UNIT_RATE, 0, 100000000000000ull),
	MRC_CTL_UNIT_PRESENT("delay", S, delay_ns, has_delay, MRC_CTL_UNIT_TIME, 0, 1000000000ull),
	MRC_CTL_END,
};
#undef S
static const struct mrc_ctl_table set_table = {set_fields, sizeof(struct set_params), set_check};

static void link_change(struct mrc_fab_ctl *ctl, uint32_t link, const struct set_params *p)
{
	struct mrc_fabric_link_cfg cfg;

	if (p->has_up)
		mrc_fabric_link_carrier_set(ctl->fabric, ctl->now_ns, link, p->up);
	if (!p->has_rate && !p->has_delay)
		return;
	mrc_fabric_link_get(ctl->fabric, link, &cfg);
	if (p->has_rate)
		cfg.rate_bps = p->rate_bps;
	if (p->has_delay)
		cfg.delay_ns = p->delay_ns;
	mrc_fabric_link_set(ctl->fabric, link, &cfg);
}

static int set_link(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	const struct set_params *p = params;
	uint32_t changed = 0;

	if (where_inside(ctl, &p->where, reply) != MRC_RPC_GOOD)
		return reply->code;
	for (uint32_t link = mrc_fabric_link_next(ctl->fabric, &p->where, UINT32_MAX);
		link != UINT32_MAX; link = mrc_fabric_link_next(ctl->fabric, &p->where, link)) {
		link_change(ctl, link, p);
		changed++;
	}
	reply->result = json_pack("{s:i}", "changed", (int)changed);
	return MRC_RPC_GOOD;
}

/* ---- faults -----------------------------------------------------------------------------------*/

static bool is_over(const struct mrc_fab_ctl *ctl, const struct mrc_fab_entry *e)
{
	return e->plan.for_ns != 0 && ctl->now_ns >= e->begun_ns + e->plan.at_ns + e->plan.for_ns;
}

static void entry_remove(struct mrc_fab_ctl *ctl, uint32_t i)
{
	mrc_fabric_fault_remove(ctl->fabric, ctl->now_ns, ctl->faults[i].handle);
	ctl->nb_faults--;
	memmove(&ctl->faults[i], &ctl->faults[i + 1],
		(ctl->nb_faults - i) * sizeof(ctl->faults[0]));
}

int mrc_fab_fault_start(struct mrc_fab_ctl *ctl, const struct mrc_ctl_fault *plan, uint32_t *id_out)
{
	struct mrc_fab_entry entry = {.plan = *plan, .begun_ns = ctl->now_ns};
	struct mrc_fabric_fault fault = plan->fault;
	int err;

	for (uint32_t i = 0; i < ctl->nb_faults && ctl->nb_faults == MRC_FAB_MAX_FAULTS; i++)
		if (is_over(ctl, &ctl->faults[i]))
			entry_remove(ctl, i);
	if (ctl->nb_faults == MRC_FAB_MAX_FAULTS)
		return MRC_ERR_NOMEM;
	fault.start_ns = ctl->now_ns + plan->at_ns;
	fault.end_ns = plan->for_ns != 0 ? fault.start_ns + plan->for_ns : 0;
	err = mrc_fabric_fault_add(ctl->fabric, ctl->now_ns, &fault, &entry.handle);
	if (err)
		return err;
	entry.id = ++ctl->last_id;
	ctl->faults[ctl->nb_faults++] = entry;
	*id_out = entry.id;
	return MRC_OK;
}

static int start_fault(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	const struct mrc_ctl_fault *plan = params;
	uint32_t id;
	int err;

	if (where_inside(ctl, &plan->fault.where, reply) != MRC_RPC_GOOD)
		return reply->code;
	err = mrc_fab_fault_start(ctl, plan, &id);
	if (err == MRC_ERR_NOMEM)
		return mrc_rpc_fail(reply, MRC_RPC_FULL,
			"%d faults are in force; stop one with stop_fault", MRC_FAB_MAX_FAULTS);
	if (err)
		return mrc_rpc_fail(
			reply, MRC_RPC_PARAMS, "the fabric refuses it: %s", mrc_err_text(err));
	reply->result = json_pack("{s:i}", "id", (int)id);
	return MRC_RPC_GOOD;
}

struct stop_params {
	uint32_t id;
};
static const struct mrc_ctl_field stop_fields[] = {
	{.key = "id",
		.type = MRC_CTL_TYPE_UINT,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct stop_params, id),
		.min = 1},
	MRC_CTL_END,
};
static const struct mrc_ctl_table stop_table = {stop_fields, sizeof(struct stop_params), NULL};

static json_t *entry_json(const struct mrc_fab_ctl *ctl, const struct mrc_fab_entry *e)
{
	struct mrc_fabric_fault_info info = {.active = false};
	json_t *out;

	mrc_fabric_fault_query(ctl->fabric, e->handle, &info);
	out = json_pack("{s:i, s:o, s:s, s:f}", "id", (int)e->id, "fault",
		mrc_ctl_fault_json(&e->plan), "state",
		info.active       ? "active"
		: is_over(ctl, e) ? "over"
				  : "waiting",
		"age_s", (double)(ctl->now_ns - e->begun_ns) / 1e9);
	put(out, "matches", info.matches);
	put(out, "hits", info.hits);
	return out;
}

static int stop_fault(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	const struct stop_params *p = params;

	for (uint32_t i = 0; i < ctl->nb_faults; i++) {
		if (ctl->faults[i].id != p->id)
			continue;
		reply->result = entry_json(ctl, &ctl->faults[i]);
		entry_remove(ctl, i);
		return MRC_RPC_GOOD;
	}
	return mrc_rpc_fail(
		reply, MRC_RPC_NOENT, "no fault %u; \"mrc-ctl faults\" lists them", p->id);
}

static int list_faults(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	json_t *list = json_array();

	for (uint32_t i = 0; i < ctl->nb_faults; i++)
		json_array_append_new(list, entry_json(ctl, &ctl->faults[i]));
	reply->result = json_pack("{s:o}", "faults", list);
	return MRC_RPC_GOOD;
}

/* ---- counters ---------------------------------------------------------------------------------*/

static void put_drops(json_t *out, const uint64_t *drops)
{
	json_t *object = json_object();

	for (uint32_t d = 0; d < MRC_FABRIC_NB_DROPS; d++)
		if (drops[d] != 0)
			put(object, mrc_fabric_drop_name((enum mrc_fabric_drop)d), drops[d]);
	json_object_set_new(out, "drops", object);
}

static void fill_counters(struct mrc_fab_ctl *ctl, uint32_t link, json_t *out)
{
	struct mrc_fabric_link_counters c;

	mrc_fabric_link_counters_get(ctl->fabric, ctl->now_ns, link, &c);
	put(out, "offered_packets", c.offered_packets);
	put(out, "offered_bytes", c.offered_bytes);
	put(out, "tx_packets", c.tx_packets);
	put(out, "tx_bytes", c.tx_bytes);
	put(out, "arrived_packets", c.arrived_packets);
	put(out, "duplicates", c.duplicates);
	put(out, "marks", c.marks);
	put(out, "trims", c.trims);
	put(out, "queued_packets", c.queued_packets);
	put(out, "wire_packets", c.wire_packets);
	put(out, "queue_bytes", c.queue_len);
	put(out, "queue_max_bytes", c.queue_max_len);
	put_drops(out, c.drops);
}

static json_t *totals_json(const struct mrc_fab_ctl *ctl)
{
	struct mrc_fabric_totals t;
	json_t *out = json_object();

	mrc_fabric_totals_get(ctl->fabric, &t);
	put(out, "sent", t.sent);
	put(out, "copies", t.copies);
	put(out, "delivered", t.delivered);
	put(out, "dropped", t.dropped);
	put(out, "in_flight", t.in_flight);
	put(out, "unread", t.unread);
	put(out, "delivered_trimmed", t.delivered_trimmed);
	put(out, "marks", t.marks);
	put(out, "trims", t.trims);
	put(out, "hops", t.hops);
	put_drops(out, t.drops);
	return out;
}

static json_t *ports_json(const struct mrc_fab_ctl *ctl)
{
	json_t *list = json_array();

	for (uint32_t h = 0; h < ctl->cfg->nb_hosts; h++)
		for (uint32_t p = 0; p < ctl->cfg->nb_planes; p++) {
			const struct mrc_fab_port_stats *s = &ctl->stats[h][p];
			json_t *port;

			if (!s->present)
				continue;
			port = json_pack("{s:s, s:i, s:i, s:b}", "name", ctl->cfg->hosts[h].name,
				"host", ctl->cfg->hosts[h].host, "plane", (int)p, "link_up",
				s->link_up);
			put(port, "rx_packets", s->rx_packets);
			put(port, "tx_packets", s->tx_packets);
			put(port, "rx_unfit", s->rx_unfit);
			put(port, "tx_lost", s->tx_lost);
			json_array_append_new(list, port);
		}
	return list;
}

static int counters(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	const struct select_params *p = params;

	if (page(ctl, p, fill_counters, reply) != MRC_RPC_GOOD)
		return reply->code;
	if (p->from == 0) {
		json_object_set_new(reply->result, "totals", totals_json(ctl));
		json_object_set_new(reply->result, "ports", ports_json(ctl));
	}
	return MRC_RPC_GOOD;
}

static int check_balance(void *ctx, const void *params, struct mrc_rpc_reply *reply)
{
	struct mrc_fab_ctl *ctl = ctx;
	const char *fault = mrc_fabric_check(ctl->fabric);

	reply->result = json_pack("{s:b}", "balanced", fault == NULL);
	if (fault != NULL)
		json_object_set_new(reply->result, "fault", json_string(fault));
	return MRC_RPC_GOOD;
}

const struct mrc_rpc_method mrc_fab_methods[] = {
	{.name = "list_links", .params = &select_table, .init = select_init, .handle = list_links},
	{.name = "set_link",
		.params = &set_table,
		.init = set_init,
		.flags = MRC_RPC_CHANGES,
		.handle = set_link},
	{.name = "start_fault",
		.params = &mrc_ctl_fault_table,
		.init = mrc_ctl_fault_init,
		.flags = MRC_RPC_CHANGES,
		.handle = start_fault},
	{.name = "stop_fault",
		.params = &stop_table,
		.flags = MRC_RPC_CHANGES,
		.handle = stop_fault},
	{.name = "list_faults", .handle = list_faults},
	{.name = "counters", .params = &select_table, .init = select_init, .handle = counters},
	{.name = "check_balance", .handle = check_balance},
	{.name = NULL},
};
