/* SPDX-License-Identifier: BSD-2-Clause */
/* create.c - defaults, checks, memory and end of a fabric. */
#include "fabric.h"

#include <string.h>

static void link_default(
	struct mrc_fabric_link_cfg *l, uint64_t rate_bps, uint64_t delay_ns, double bdp, bool last)
{
	*l = (struct mrc_fabric_link_cfg){.rate_bps = rate_bps, .delay_ns = delay_ns};
	l->ecn_min_len = last ? 0 : (uint32_t)(0.2 * bdp);
	l->ecn_max_len = last ? 0 : (uint32_t)(0.8 * bdp);
	l->trim_len = (uint32_t)((last ? 1.5 : 1.0) * bdp);
	l->drop_len = (uint32_t)(3 * bdp);
	l->ctrl_len = (uint32_t)(3 * bdp);
}

void mrc_fabric_cfg_default(struct mrc_fabric_cfg *cfg_out, const struct mrc_proto *proto,
	uint64_t rate_bps, uint64_t delay_ns)
{
	/* Eight links there and back, four full packets and four answers to serialise. */
	const double bytes = 4 * (4210 + 24) + 4 * 120, least = 16 * (4210 + 24);
	double bdp = (double)rate_bps / 8e9 * 8 * (double)delay_ns + bytes;

	memset(cfg_out, 0, sizeof(*cfg_out));
	cfg_out->proto = proto;
	bdp = bdp < least ? least : bdp;
	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		link_default(
			&cfg_out->links[c], rate_bps, delay_ns, bdp, c == MRC_FABRIC_HOST_DOWN);
	/* A NIC neither marks nor trims its own packets. */
	cfg_out->links[MRC_FABRIC_HOST_UP] =
		(struct mrc_fabric_link_cfg){.rate_bps = rate_bps, .delay_ns = delay_ns};
	cfg_out->overhead_len = 24;
	cfg_out->stev_width = 16;
	for (uint32_t p = 0; p < MRC_MAX_PLANES; p++)
		cfg_out->srv6_block[p] = 0xFCBBBB00u + p;
	cfg_out->srv6_leaf_base = 0x1000;
	cfg_out->srv6_spine_base = 0x2000;
	cfg_out->srv6_host_base = 0x4000;
	cfg_out->trim_who = MRC_FABRIC_TRIM_COIN;
	cfg_out->trim_size = 256;
	cfg_out->max_packets = 65536;
	cfg_out->max_faults = 64;
	cfg_out->seed = 1;
}

void mrc_fabric_link_queue_set(struct mrc_fabric_link_cfg *link, uint32_t queue_len)
{
	link->drop_len = link->ctrl_len = queue_len;
	if (link->ecn_max_len != 0) {
		link->ecn_min_len = queue_len / 5;
		link->ecn_max_len = (uint32_t)(queue_len * 3ull / 5);
	}
	if (link->trim_len != 0)
		link->trim_len = (uint32_t)(queue_len * 4ull / 5);
}

void mrc_fabric_cfg_queues_set(struct mrc_fabric_cfg *cfg, const struct mrc_fabric_queues *queues)
{
	const struct mrc_fabric_link_cfg *inner = &cfg->links[MRC_FABRIC_LEAF_DOWN];
	struct mrc_fabric_link_cfg *last = &cfg->links[MRC_FABRIC_HOST_DOWN];

	if (queues->ecn_last_hop) {
		last->ecn_min_len = inner->ecn_min_len;
		last->ecn_max_len = inner->ecn_max_len;
	}
	for (uint32_t c = 0; c < MRC_FABRIC_NB_CLASSES; c++) {
		struct mrc_fabric_link_cfg *link = &cfg->links[c];

		if (!queues->ecn)
			link->ecn_min_len = link->ecn_max_len = 0;
		if (!queues->trimming)
			link->trim_len = 0;
		if (queues->queue_len != 0)
			mrc_fabric_link_queue_set(link, (uint32_t)queues->queue_len);
	}
}

static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = (*x += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static bool usids_valid(const struct mrc_fabric_cfg *c)
{
	const uint32_t base[] = {c->srv6_leaf_base, c->srv6_spine_base, c->srv6_host_base};
	const uint32_t nb[] = {c->nb_leaves, c->nb_spines, c->hosts_per_leaf};

	for (int i = 0; i < 3; i++) {
		if (base[i] == 0 || base[i] + nb[i] > 0x10000)
			return false;
		for (int j = 0; j < i; j++) {
			if (base[i] < base[j] + nb[j] && base[j] < base[i] + nb[i])
				return false;
		}
	}
	return true;
}

static bool cfg_valid(const struct mrc_fabric_cfg *c)
{
	if (c->proto == NULL || c->nb_planes < 1 || c->nb_planes > MRC_MAX_PLANES)
		return false;
	if (c->nb_leaves < 1 || c->nb_leaves > 4096 || c->hosts_per_leaf < 1 ||
		c->hosts_per_leaf > 4096 || c->nb_spines > 4096)
		return false;
	if (c->nb_leaves > 1 && c->nb_spines == 0)
		return false;
	if (c->max_packets < 1 || c->max_packets == NONE || c->max_faults < 1 ||
		c->max_faults > 65534 || c->max_addrs < c->nb_addrs)
		return false;
	if (c->trim_size < MRC_ETH_LEN + MRC_VLAN_LEN + MRC_IPV6_LEN + MRC_UDP_LEN ||
		c->trim_size > 65535)
		return false;
	if (c->stev_width < 1 || c->stev_width > 32 || c->stev_shift > 31)
		return false;
	return c->forward != MRC_FABRIC_SRV6 || usids_valid(c);
}

static void *take(struct mrc_fabric *f, uint64_t nb, size_t size)
{
	void *mem = f->env.alloc(f->env.ctx, (size_t)(nb * size), 64);

	if (mem == NULL)
		return NULL;
	MRC_ASSERT(f->nb_blocks < MAX_BLOCKS);
	f->blocks[f->nb_blocks++] = (struct block){mem, (size_t)(nb * size)};
	return mem;
}

static int take_all(struct mrc_fabric *f)
{
	const struct mrc_fabric_cfg *c = &f->cfg;
	uint32_t switches = c->nb_leaves + c->nb_spines;
	uint32_t slots = 16, nodes = 2 * f->nb_links + c->max_faults;
	struct wheel_node *wheel_nodes;
	struct wheel_level *levels;
	uint32_t *cells;

	while (slots < 2 * c->max_addrs)
		slots *= 2;
	f->addr_mask = slots - 1;
	f->fault_words = (c->max_faults + 63) / 64;
	f->links = take(f, f->nb_links, sizeof(*f->links));
	f->pkts = take(f, c->max_packets, sizeof(*f->pkts));
	f->cold = take(f, c->max_packets, sizeof(*f->cold));
	f->inboxes = take(f, (uint64_t)f->nb_hosts * c->nb_planes, sizeof(*f->inboxes));
	f->faults = take(f, c->max_faults, sizeof(*f->faults));
	f->fault_bits = take(f, (uint64_t)f->nb_links * f->fault_words, sizeof(*f->fault_bits));
	f->addrs = take(f, slots, sizeof(*f->addrs));
	f->salts = take(f, (uint64_t)c->nb_planes * switches, sizeof(*f->salts));
	wheel_nodes = take(f, nodes, sizeof(*wheel_nodes));
	levels = take(f, WHEEL_LEVELS, sizeof(*levels));
	cells = take(f, mrc_fabric_wheel_nb_cells(nodes), sizeof(*cells));
	if (f->links == NULL || f->pkts == NULL || f->cold == NULL || f->inboxes == NULL ||
		f->faults == NULL || f->fault_bits == NULL || f->addrs == NULL ||
		f->salts == NULL || wheel_nodes == NULL || levels == NULL || cells == NULL)
		return MRC_ERR_NOMEM;
	mrc_fabric_wheel_init(&f->wheel, wheel_nodes, nodes, levels, cells);
	f->fault_node = 2 * f->nb_links;
	return MRC_OK;
}

static void fill(struct mrc_fabric *f)
{
	uint32_t switches = f->cfg.nb_leaves + f->cfg.nb_spines;
	uint64_t seed = f->cfg.seed;

	for (int i = 0; i < 4; i++)
		f->rng[i] = splitmix(&seed);
	for (uint32_t i = 0; i < f->cfg.nb_planes * switches; i++)
		f->salts[i] = splitmix(&seed);
	f->free_head = NONE;
	for (uint32_t i = f->cfg.max_packets; i > 0; i--) {
		f->pkts[i - 1].next = f->free_head;
		f->free_head = i - 1;
	}
	f->nb_free = f->cfg.max_packets;
	for (uint32_t i = 0; i < f->nb_hosts * f->cfg.nb_planes; i++)
		f->inboxes[i] = (struct inbox){.list = {NONE, NONE}, .carrier_said = true};
	f->ready = f->carrier = (struct list){NONE, NONE};
	for (uint32_t i = 0; i <= f->addr_mask; i++)
		f->addrs[i].host = NONE;
	mrc_fabric_topo_init(f);
}

static int fill_addrs(struct mrc_fabric *f, const struct mrc_fabric_cfg *cfg)
{
	for (uint32_t i = 0; i < cfg->nb_addrs; i++) {
		if (mrc_fabric_addr_find(f, &cfg->addrs[i].gid) != NONE ||
			mrc_fabric_addr_add(f, &cfg->addrs[i]) != MRC_OK)
			return MRC_ERR_INVAL;
	}
	f->cfg.addrs = NULL;
	return MRC_OK;
}

static void give_back(struct mrc_fabric *f)
{
	struct mrc_env env = f->env;

	while (f->nb_blocks > 0) {
		struct block *b = &f->blocks[--f->nb_blocks];

		env.free(env.ctx, b->mem, b->size);
	}
	env.free(env.ctx, f, sizeof(*f));
}

int mrc_fabric_create(const struct mrc_fabric_cfg *cfg, const struct mrc_env *env,
	const struct mrc_fabric_ops *ops, struct mrc_fabric **fabric_out)
{
	struct mrc_fabric *f;
	int err;

	if (!cfg_valid(cfg) || ops->free == NULL)
		return MRC_ERR_INVAL;
	f = env->alloc(env->ctx, sizeof(*f), 64);
	if (f == NULL)
		return MRC_ERR_NOMEM;
	f->cfg = *cfg;
	f->env = *env;
	f->ops = *ops;
	if (f->cfg.max_inbox == 0)
		f->cfg.max_inbox = f->cfg.max_packets;
	f->nb_hosts = cfg->nb_leaves * cfg->hosts_per_leaf;
	f->links_per_plane = 2 * f->nb_hosts + 2 * cfg->nb_leaves * cfg->nb_spines;
	f->nb_links = cfg->nb_planes * f->links_per_plane;
	err = take_all(f);
	if (err == MRC_OK) {
		fill(f);
		err = fill_addrs(f, cfg);
	}
	if (err != MRC_OK) {
		give_back(f);
		return err;
	}
	*fabric_out = f;
	return MRC_OK;
}

static void free_list(struct mrc_fabric *f, struct list *list)
{
	struct mrc_fabric_pkt view;
	struct pkt *p;

	while ((p = list_pop(f, list)) != NULL) {
		mrc_fabric_pkt_view(p, &view);
		f->ops.free(f->ops.ctx, &view);
	}
}

void mrc_fabric_destroy(struct mrc_fabric *fabric)
{
	if (fabric == NULL)
		return;
	for (uint32_t i = 0; i < fabric->nb_links; i++) {
		free_list(fabric, &fabric->links[i].queue[0]);
		free_list(fabric, &fabric->links[i].queue[1]);
		free_list(fabric, &fabric->links[i].wire);
	}
	for (uint32_t i = 0; i < fabric->nb_hosts * fabric->cfg.nb_planes; i++)
		free_list(fabric, &fabric->inboxes[i].list);
	give_back(fabric);
}
