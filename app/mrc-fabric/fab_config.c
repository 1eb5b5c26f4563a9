/* SPDX-License-Identifier: BSD-2-Clause */
#include "fab_config.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ctl_proto.h"
#include "reason.h"

#define SECOND_NS 1000000000ull
#define MAX_BPS   100000000000000ull

struct file {
	struct mrc_fab_cfg cfg;
	char schema[MRC_DEVICE_TEXT], comment[512];
};

static const struct mrc_ctl_name forward_names[] = {
	{"ecmp", MRC_FABRIC_ECMP}, {"stev", MRC_FABRIC_STEV}, {"srv6", MRC_FABRIC_SRV6}, {NULL, 0}};
static const struct mrc_ctl_name idle_names[] = {{"spin", MRC_FAB_IDLE_SPIN},
	{"yield", MRC_FAB_IDLE_YIELD}, {"sleep", MRC_FAB_IDLE_SLEEP}, {NULL, 0}};
static const struct mrc_ctl_name access_names[] = {{"owner", MRC_CTL_ACCESS_OWNER},
	{"group", MRC_CTL_ACCESS_GROUP}, {"all", MRC_CTL_ACCESS_ALL}, {NULL, 0}};

/* ---- the network ------------------------------------------------------------------------------*/

#define F struct mrc_fab_link
static const struct mrc_ctl_field link_fields[] = {
	MRC_CTL_WHERE(F, where),
	MRC_CTL_UNIT_PRESENT("rate", F, rate_bps, has_rate, MRC_CTL_UNIT_RATE, 0, MAX_BPS),
	MRC_CTL_UNIT_PRESENT("delay", F, delay_ns, has_delay, MRC_CTL_UNIT_TIME, 0, SECOND_NS),
	MRC_CTL_UNIT_PRESENT("queue", F, queue_len, has_queue, MRC_CTL_UNIT_SIZE, 9216, 1ull << 31),
	MRC_CTL_END,
};
#undef F
static const struct mrc_ctl_table link_table = {link_fields, sizeof(struct mrc_fab_link), NULL};

static void link_init(void *elem)
{
	struct mrc_fab_link *link = elem;

	memset(link, 0, sizeof(*link));
	link->where = mrc_fabric_everywhere();
}

static const struct mrc_ctl_field link_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct mrc_fab_link),
	.table = &link_table,
	.init = link_init};

/* A locator block: the first 32 bits of an IPv6 address, the rest 0. */
static int decode_block(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	static const uint8_t none[12];
	struct mrc_gid gid;
	int err = mrc_ctl_decode_ip(ctx, field, value, &gid);

	if (err)
		return err;
	if (mrc_gid_is_v4(&gid) || memcmp(gid.raw + 4, none, sizeof(none)) != 0)
		return mrc_ctl_fail(ctx, value,
			"must be the first 32 bits of an address, like \"fcbb:bb00::\"");
	*(uint32_t *)member = (uint32_t)gid.raw[0] << 24 | (uint32_t)gid.raw[1] << 16 |
			      (uint32_t)gid.raw[2] << 8 | gid.raw[3];
	return MRC_OK;
}

static const struct mrc_ctl_field block_elem = {
	.type = MRC_CTL_TYPE_CUSTOM, .size = sizeof(uint32_t), .decode = decode_block};

#define F struct mrc_fab_shape
static const struct mrc_ctl_field shape_fields[] = {
	MRC_CTL_UINT("leaves", F, leaves, 1, 64),
	MRC_CTL_UINT("spines", F, spines, 1, 64),
	MRC_CTL_UINT("hosts_per_leaf", F, hosts_per_leaf, 1, 64),
	MRC_CTL_UNIT("rate", F, rate_bps, MRC_CTL_UNIT_RATE, 0, MAX_BPS),
	MRC_CTL_UNIT("delay", F, delay_ns, MRC_CTL_UNIT_TIME, 0, SECOND_NS),
	MRC_CTL_UNIT("switch_delay", F, switch_ns, MRC_CTL_UNIT_TIME, 0, SECOND_NS),
	MRC_CTL_ENUM("forward", F, forward, forward_names),
	MRC_CTL_UINT("stev_shift", F, stev_shift, 0, 31),
	MRC_CTL_UINT("stev_width", F, stev_width, 1, 32),
	MRC_CTL_ARRAY("srv6_blocks", F, srv6_blocks, nb_srv6_blocks, &block_elem, 1, NULL),
	MRC_CTL_UINT("srv6_leaf_base", F, srv6_leaf, 1, 65535),
	MRC_CTL_UINT("srv6_spine_base", F, srv6_spine, 1, 65535),
	MRC_CTL_UINT("srv6_host_base", F, srv6_host, 1, 65535),
	MRC_CTL_BOOL("srv6_decap", F, srv6_decap),
	MRC_CTL_BOOL("reroute", F, reroute),
	MRC_CTL_BOOL("cut_through", F, cut_through),
	MRC_CTL_BOOL("ecn", F, queues.ecn),
	MRC_CTL_BOOL("ecn_last_hop", F, queues.ecn_last_hop),
	MRC_CTL_BOOL("trimming", F, queues.trimming),
	MRC_CTL_UINT("trim_size", F, trim_size, 138, 512),
	MRC_CTL_UNIT("queue", F, queues.queue_len, MRC_CTL_UNIT_SIZE, 9216, 1ull << 31),
	MRC_CTL_UNIT("seed", F, seed, MRC_CTL_UNIT_HEX, 0, 0),
	MRC_CTL_UINT("packets", F, max_packets, 64, 1000000),
	MRC_CTL_ARRAY("links", F, links, nb_links, &link_elem, 0, link_init),
	MRC_CTL_END,
};
#undef F
static const struct mrc_ctl_table shape_table = {shape_fields, sizeof(struct mrc_fab_shape), NULL};

/* ---- hosts ------------------------------------------------------------------------------------*/

static const struct mrc_ctl_field addr_elem = {
	.type = MRC_CTL_TYPE_CUSTOM, .size = sizeof(struct mrc_gid), .decode = mrc_ctl_decode_ip};
static const struct mrc_ctl_field port_elem = {
	.type = MRC_CTL_TYPE_STRING, .size = MRC_DEVICE_TEXT, .min = 1};

static const struct mrc_ctl_field host_fields[] = {
	{.key = "name",
		.type = MRC_CTL_TYPE_STRING,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct mrc_fab_host, name),
		.min = 1},
	MRC_CTL_CUSTOM("host", struct mrc_fab_host, host, mrc_ctl_decode_index),
	{.key = "addresses",
		.type = MRC_CTL_TYPE_ARRAY,
		.flags = MRC_CTL_REQUIRED,
		.offset = offsetof(struct mrc_fab_host, addrs),
		.size = sizeof(struct mrc_gid),
		.min = 1,
		.max = MRC_FAB_MAX_ADDRS,
		.elem = &addr_elem,
		.count_offset = offsetof(struct mrc_fab_host, nb_addrs)},
	{.key = "ports",
		.type = MRC_CTL_TYPE_ARRAY,
		.flags = MRC_CTL_REQUIRED,
		.offset = offsetof(struct mrc_fab_host, ports),
		.size = MRC_DEVICE_TEXT,
		.min = 1,
		.max = MRC_MAX_PLANES,
		.elem = &port_elem,
		.count_offset = offsetof(struct mrc_fab_host, nb_ports)},
	MRC_CTL_END,
};
static const struct mrc_ctl_table host_table = {host_fields, sizeof(struct mrc_fab_host), NULL};

static void host_init(void *elem)
{
	struct mrc_fab_host *host = elem;

	memset(host, 0, sizeof(*host));
	host->host = -1;
}

static const struct mrc_ctl_field host_elem = {.type = MRC_CTL_TYPE_OBJECT,
	.size = sizeof(struct mrc_fab_host),
	.table = &host_table,
	.init = host_init};

/* ---- control ----------------------------------------------------------------------------------*/

static int control_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_fab_control *control = obj;
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	const struct group *group;

	if (strlen(control->path) > most)
		return mrc_ctl_fail_key(ctx, "socket",
			"%zu characters, a UNIX socket takes %zu; choose a shorter path",
			strlen(control->path), most);

	if (control->group[0] == '\0')
		return control->access == MRC_CTL_ACCESS_GROUP
			       ? mrc_ctl_fail_key(ctx, "access",
					 "\"group\" needs to know which; give \"group\" too")
			       : MRC_OK;
	group = getgrnam(control->group);
	if (group == NULL)
		return mrc_ctl_fail_key(ctx, "group",
			"there is no group \"%s\"; \"getent group\" lists them", control->group);
	control->gid = group->gr_gid;
	return MRC_OK;
}

static const struct mrc_ctl_field control_fields[] = {
	MRC_CTL_STRING("socket", struct mrc_fab_control, path, 1),
	MRC_CTL_ENUM("access", struct mrc_fab_control, access, access_names),
	MRC_CTL_STRING("group", struct mrc_fab_control, group, 1),
	MRC_CTL_END,
};
static const struct mrc_ctl_table control_table = {
	control_fields, sizeof(struct mrc_fab_control), control_check};

/* ---- the file ---------------------------------------------------------------------------------*/

static const struct mrc_ctl_field eal_elem = {
	.type = MRC_CTL_TYPE_STRING, .size = MRC_DEVICE_TEXT, .min = 1};
static const struct mrc_ctl_field memory_fields[] = {
	MRC_CTL_UINT("mib", struct mrc_fab_cfg, memory_mib, 64, 1048576),
	MRC_CTL_BOOL("hugepages", struct mrc_fab_cfg, hugepages),
	MRC_CTL_END,
};
static const struct mrc_ctl_table memory_table = {memory_fields, sizeof(struct mrc_fab_cfg), NULL};

static const struct mrc_ctl_field file_fields[] = {
	{.key = "$schema", .type = MRC_CTL_TYPE_STRING, MRC_CTL_AT(struct file, schema)},
	MRC_CTL_STRING("comment", struct file, comment, 0),
	MRC_CTL_ARRAY("eal", struct file, cfg.eal, cfg.nb_eal, &eal_elem, 0, NULL),
	MRC_CTL_STRING("lcores", struct file, cfg.lcores, 1),
	MRC_CTL_OBJECT("memory", struct file, cfg, &memory_table),
	MRC_CTL_UINT("mtu", struct file, cfg.mtu, 576, 9600),
	MRC_CTL_UINT("descriptors", struct file, cfg.descriptors, 32, 32768),
	MRC_CTL_ENUM("idle", struct file, cfg.idle, idle_names),
	MRC_CTL_OBJECT("protocol", struct file, cfg.proto, &mrc_ctl_proto_table),
	MRC_CTL_OBJECT("fabric", struct file, cfg.fabric, &shape_table),
	{.key = "hosts",
		.type = MRC_CTL_TYPE_ARRAY,
		.flags = MRC_CTL_REQUIRED,
		.offset = offsetof(struct file, cfg.hosts),
		.size = sizeof(struct mrc_fab_host),
		.min = 1,
		.max = MRC_FAB_MAX_HOSTS,
		.elem = &host_elem,
		.init = host_init,
		.count_offset = offsetof(struct file, cfg.nb_hosts)},
	MRC_CTL_ARRAY("faults", struct file, cfg.faults, cfg.nb_faults, &mrc_ctl_fault_elem, 0,
		mrc_ctl_fault_init),
	MRC_CTL_OBJECT("control", struct file, cfg.control, &control_table),
	MRC_CTL_END,
};

#define KEY_LEN 96

static int host_check(struct mrc_ctl_ctx *ctx, struct mrc_fab_cfg *cfg, uint32_t h)
{
	struct mrc_fab_host *host = &cfg->hosts[h];
	const uint32_t room = cfg->fabric.leaves * cfg->fabric.hosts_per_leaf;
	char key[KEY_LEN];

	if (host->host < 0)
		host->host = (int32_t)h;
	snprintf(key, sizeof(key), "hosts[%u].host", h);
	if ((uint32_t)host->host >= room)
		return mrc_ctl_fail_key(ctx, key,
			"%d: the fabric has hosts 0 to %u; raise \"leaves\" or \"hosts_per_leaf\"",
			host->host, room - 1);
	for (uint32_t o = 0; o < h; o++) {
		if (cfg->hosts[o].host == host->host)
			return mrc_ctl_fail_key(ctx, key, "%d is hosts[%u] already", host->host, o);
		if (strcmp(cfg->hosts[o].name, host->name) == 0) {
			snprintf(key, sizeof(key), "hosts[%u].name", h);
			return mrc_ctl_fail_key(
				ctx, key, "\"%s\" is the name of hosts[%u] too", host->name, o);
		}
	}
	snprintf(key, sizeof(key), "hosts[%u].ports", h);
	if (host->nb_ports != cfg->hosts[0].nb_ports)
		return mrc_ctl_fail_key(ctx, key,
			"%u ports, but hosts[0] has %u; give one for each plane, or \"none\"",
			host->nb_ports, cfg->hosts[0].nb_ports);
	return MRC_OK;
}

/* Two ports of one device would steal each other's packets. */
static int port_check(struct mrc_ctl_ctx *ctx, const struct mrc_fab_cfg *cfg, uint32_t n)
{
	const uint32_t planes = cfg->hosts[0].nb_ports;
	const char *device = cfg->hosts[n / planes].ports[n % planes];
	const size_t len = strcspn(device, ",");
	char key[KEY_LEN], reason[MRC_REASON];

	if (strcmp(device, "none") == 0)
		return MRC_OK;
	snprintf(key, sizeof(key), "hosts[%u].ports[%u]", n / planes, n % planes);
	for (uint32_t o = 0; o < n; o++) {
		const char *other = cfg->hosts[o / planes].ports[o % planes];

		if (len == strcspn(other, ",") && strncmp(device, other, len) == 0)
			return mrc_ctl_fail_key(ctx, key,
				"device %.*s is hosts[%u].ports[%u] too; give each port its own",
				(int)len, device, o / planes, o % planes);
	}
	return mrc_device_check(device, cfg->mtu, reason) == MRC_OK
		       ? MRC_OK
		       : mrc_ctl_fail_key(ctx, key, "%s", reason);
}

static int where_check(struct mrc_ctl_ctx *ctx, const struct mrc_fab_cfg *cfg, const char *array,
	uint32_t i, const struct mrc_fabric_where *where)
{
	const struct mrc_ctl_shape shape = mrc_fab_cfg_shape(cfg);
	uint32_t nb;
	int32_t index;
	const char *what = mrc_ctl_where_check(where, &shape, &index, &nb);
	char key[KEY_LEN];

	if (what != NULL) {
		snprintf(key, sizeof(key), "%s[%u].%s", array, i, what);
		return mrc_ctl_fail_key(ctx, key, "%d: the fabric has 0 to %u", index, nb - 1);
	}
	if (mrc_ctl_where_selects(where, &shape))
		return MRC_OK;
	snprintf(key, sizeof(key), "%s[%u]", array, i);
	return mrc_ctl_fail_key(ctx, key, MRC_CTL_NO_LINK);
}

static int addrs_check(struct mrc_ctl_ctx *ctx, const struct mrc_fab_cfg *cfg)
{
	for (uint32_t a = 0; a < cfg->nb_hosts * MRC_FAB_MAX_ADDRS; a++)
		for (uint32_t b = 0; b < a; b++) {
			const struct mrc_fab_host *ha = &cfg->hosts[a / MRC_FAB_MAX_ADDRS];
			const struct mrc_fab_host *hb = &cfg->hosts[b / MRC_FAB_MAX_ADDRS];
			const uint32_t ia = a % MRC_FAB_MAX_ADDRS, ib = b % MRC_FAB_MAX_ADDRS;
			char key[KEY_LEN];

			if (ia >= ha->nb_addrs || ib >= hb->nb_addrs ||
				!mrc_gid_eq(&ha->addrs[ia], &hb->addrs[ib]))
				continue;
			snprintf(key, sizeof(key), "hosts[%u].addresses[%u]", a / MRC_FAB_MAX_ADDRS,
				ia);
			return mrc_ctl_fail_key(ctx, key,
				"is an address of hosts[%u] too; each has its own",
				b / MRC_FAB_MAX_ADDRS);
		}
	return MRC_OK;
}

/* uSIDs must tell leaves, spines and downlinks apart, locator blocks the planes. */
static int srv6_check(struct mrc_ctl_ctx *ctx, const struct mrc_fab_cfg *cfg)
{
	const struct mrc_fab_shape *f = &cfg->fabric;
	const uint32_t base[] = {f->srv6_leaf, f->srv6_spine, f->srv6_host};
	const uint32_t nb[] = {f->leaves, f->spines, f->hosts_per_leaf};
	const char *const names[] = {"leaf", "spine", "host"};
	char key[KEY_LEN];

	if (f->nb_srv6_blocks != 0 && f->nb_srv6_blocks != cfg->nb_planes)
		return mrc_ctl_fail_key(ctx, "fabric.srv6_blocks",
			"%u blocks for %u planes; give one for each, or leave the key out",
			f->nb_srv6_blocks, cfg->nb_planes);
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "fabric.srv6_%s_base", names[i]);
		if (base[i] + nb[i] > 0x10000)
			return mrc_ctl_fail_key(ctx, key,
				"%u leaves no room for %u uSIDs up to 65535; lower it", base[i],
				nb[i]);
		for (uint32_t j = 0; j < i; j++)
			if (base[i] < base[j] + nb[j] && base[j] < base[i] + nb[i])
				return mrc_ctl_fail_key(ctx, key,
					"uSIDs %u to %u overlap those of \"srv6_%s_base\", %u to "
					"%u; "
					"move one of them",
					base[i], base[i] + nb[i] - 1, names[j], base[j],
					base[j] + nb[j] - 1);
	}
	return MRC_OK;
}

static int file_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct mrc_fab_cfg *cfg = &((struct file *)obj)->cfg;
	int err = MRC_OK;

	cfg->nb_planes = cfg->hosts[0].nb_ports;
	for (uint32_t h = 0; h < cfg->nb_hosts && !err; h++)
		err = host_check(ctx, cfg, h);
	for (uint32_t n = 0; n < cfg->nb_hosts * cfg->nb_planes && !err; n++)
		err = port_check(ctx, cfg, n);
	if (!err)
		err = addrs_check(ctx, cfg);
	if (!err)
		err = srv6_check(ctx, cfg);
	for (uint32_t i = 0; i < cfg->fabric.nb_links && !err; i++)
		err = where_check(ctx, cfg, "fabric.links", i, &cfg->fabric.links[i].where);
	for (uint32_t i = 0; i < cfg->nb_faults && !err; i++)
		err = where_check(ctx, cfg, "faults", i, &cfg->faults[i].fault.where);
	return err;
}

static const struct mrc_ctl_table file_table = {file_fields, sizeof(struct file), file_check};

static void cfg_default(struct mrc_fab_cfg *cfg)
{
	mrc_proto_default(&cfg->proto);
	mrc_proto_init(&cfg->proto);
	cfg->mtu = 4608;
	cfg->descriptors = 512;
	cfg->idle = MRC_FAB_IDLE_SPIN;
	cfg->fabric = (struct mrc_fab_shape){.leaves = 2,
		.spines = 2,
		.hosts_per_leaf = 1,
		.rate_bps = 10000000000ull,
		.delay_ns = 500,
		.queues.ecn = true,
		.stev_width = 16,
		.srv6_leaf = 0x1000,
		.srv6_spine = 0x2000,
		.srv6_host = 0x4000,
		.trim_size = 256,
		.max_packets = 8192};
	snprintf(cfg->control.path, sizeof(cfg->control.path), "/run/mrc-fabric/control.sock");
}

int mrc_fab_cfg_load(const char *path, struct mrc_fab_cfg *cfg_out, struct mrc_ctl_error *error_out)
{
	struct file *file = calloc(1, sizeof(*file));
	int err = MRC_ERR_NOMEM;

	if (file == NULL) {
		snprintf(error_out->text, sizeof(error_out->text), "%s: out of memory", path);
		return err;
	}
	cfg_default(&file->cfg);
	err = mrc_ctl_decode_file(path, &file_table, file, error_out);
	if (!err)
		*cfg_out = file->cfg;
	free(file);
	return err;
}

struct mrc_ctl_shape mrc_fab_cfg_shape(const struct mrc_fab_cfg *cfg)
{
	return (struct mrc_ctl_shape){.nb_planes = cfg->nb_planes,
		.nb_leaves = cfg->fabric.leaves,
		.nb_spines = cfg->fabric.spines,
		.nb_hosts = cfg->fabric.leaves * cfg->fabric.hosts_per_leaf};
}

/* ---- the fabric -------------------------------------------------------------------------------*/

static void link_apply(struct mrc_fabric *fabric, const struct mrc_fab_link *own)
{
	for (uint32_t l = mrc_fabric_link_next(fabric, &own->where, UINT32_MAX); l != UINT32_MAX;
		l = mrc_fabric_link_next(fabric, &own->where, l)) {
		struct mrc_fabric_link_cfg cfg;

		mrc_fabric_link_get(fabric, l, &cfg);
		if (own->has_rate)
			cfg.rate_bps = own->rate_bps;
		if (own->has_delay)
			cfg.delay_ns = own->delay_ns;
		if (own->has_queue)
			mrc_fabric_link_queue_set(&cfg, (uint32_t)own->queue_len);
		mrc_fabric_link_set(fabric, l, &cfg);
	}
}

int mrc_fab_cfg_fabric(const struct mrc_fab_cfg *cfg, const struct mrc_env *env,
	const struct mrc_fabric_ops *ops, uint64_t seed, struct mrc_fabric **fabric_out)
{
	const struct mrc_fab_shape *shape = &cfg->fabric;
	struct mrc_fabric_addr addrs[MRC_FAB_MAX_HOSTS * MRC_FAB_MAX_ADDRS];
	struct mrc_fabric_cfg fabric;
	int err;

	mrc_fabric_cfg_default(&fabric, &cfg->proto, shape->rate_bps, shape->delay_ns);
	fabric.nb_planes = cfg->nb_planes;
	fabric.nb_leaves = shape->leaves;
	fabric.nb_spines = shape->spines;
	fabric.hosts_per_leaf = shape->hosts_per_leaf;
	fabric.switch_ns = shape->switch_ns;
	fabric.cut_through = shape->cut_through;
	fabric.forward = shape->forward;
	fabric.stev_shift = (uint8_t)shape->stev_shift;
	fabric.stev_width = (uint8_t)shape->stev_width;
	fabric.srv6_leaf_base = (uint16_t)shape->srv6_leaf;
	fabric.srv6_spine_base = (uint16_t)shape->srv6_spine;
	fabric.srv6_host_base = (uint16_t)shape->srv6_host;
	fabric.srv6_decap = shape->srv6_decap;
	fabric.live = true;
	for (uint32_t p = 0; p < shape->nb_srv6_blocks; p++)
		fabric.srv6_block[p] = shape->srv6_blocks[p];
	fabric.reroute = shape->reroute;
	fabric.trim_size = shape->trim_size;
	fabric.max_packets = shape->max_packets;
	fabric.max_faults = MRC_FAB_MAX_FAULTS;
	fabric.seed = shape->seed != 0 ? shape->seed : seed;
	mrc_fabric_cfg_queues_set(&fabric, &shape->queues);
	fabric.nb_addrs = 0;
	for (uint32_t h = 0; h < cfg->nb_hosts; h++)
		for (uint32_t a = 0; a < cfg->hosts[h].nb_addrs; a++)
			addrs[fabric.nb_addrs++] = (struct mrc_fabric_addr){
				cfg->hosts[h].addrs[a], (uint32_t)cfg->hosts[h].host};
	fabric.addrs = addrs;
	fabric.max_addrs = fabric.nb_addrs;
	err = mrc_fabric_create(&fabric, env, ops, fabric_out);
	for (uint32_t i = 0; i < shape->nb_links && !err; i++)
		link_apply(*fabric_out, &shape->links[i]);
	return err;
}
