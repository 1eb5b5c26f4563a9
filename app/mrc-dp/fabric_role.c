/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "fabric_mbuf.h"
#include "port.h"

enum {
	BURST = MRC_FABRIC_MBUF_BURST,
	TX_RING = 64, /* a short queue in front of the wire, as a NIC with byte limits has */
	RX_RING = 512,
	CLONE_POOL = 1023,
};

static int rings_create(struct mrc_fabric_role *role, const struct mrc_cfg *cfg)
{
	for (uint32_t h = 0; h < role->nb_hosts; h++)
		for (uint32_t p = 0; p < role->nb_planes; p++) {
			struct mrc_fabric_port *port = &role->ports[h][p];

			if (cfg->endpoints[h].planes[p].link != MRC_LINK_FABRIC)
				continue;
			port->nb_queues = cfg->endpoints[h].nb_workers;
			for (uint32_t q = 0; q < port->nb_queues; q++) {
				char name[64];

				snprintf(name, sizeof(name), "fab_from_%u_%u_%u", h, p, q);
				port->from[q] = rte_ring_create(name, TX_RING, SOCKET_ID_ANY,
					RING_F_SP_ENQ | RING_F_SC_DEQ);
				snprintf(name, sizeof(name), "fab_to_%u_%u_%u", h, p, q);
				port->to[q] = rte_ring_create(name, RX_RING, SOCKET_ID_ANY,
					RING_F_SP_ENQ | RING_F_SC_DEQ);
				if (port->from[q] == NULL || port->to[q] == NULL)
					return MRC_ERR_NOMEM;
			}
		}
	return MRC_OK;
}

static int fabric_create(
	struct mrc_fabric_role *role, const struct mrc_cfg *cfg, const struct mrc_env *env)
{
	const struct mrc_cfg_fabric *fc = &cfg->fabric;
	const struct mrc_fabric_ops ops = mrc_fabric_mbuf_ops(role->pool);
	struct mrc_fabric_addr addrs[MRC_FABRIC_ROLE_HOSTS];
	struct mrc_fabric_cfg fabric;

	mrc_fabric_cfg_default(&fabric, &cfg->proto, fc->rate_bps, fc->delay_ns);
	fabric.nb_planes = role->nb_planes;
	fabric.nb_leaves = fc->leaves;
	fabric.nb_spines = fc->spines;
	fabric.hosts_per_leaf = fc->hosts_per_leaf;
	fabric.switch_ns = fc->switch_ns;
	fabric.forward = fc->forward;
	fabric.srv6_decap = fc->srv6_decap;
	fabric.live = true;
	fabric.max_packets = fc->max_packets;
	fabric.max_faults = MRC_CFG_MAX_EVENTS;
	fabric.seed = fc->seed ? fc->seed : env->random64(env->ctx);
	mrc_fabric_cfg_queues_set(&fabric, &fc->queues);
	for (uint32_t h = 0; h < role->nb_hosts; h++) {
		/* The endpoints sit as far apart as the shape allows. */
		uint32_t host = h * (fc->leaves * fc->hosts_per_leaf - 1);

		for (uint32_t p = 0; p < role->nb_planes; p++)
			role->ports[h][p].host = host;
		addrs[h] = (struct mrc_fabric_addr){cfg->endpoints[h].address, host};
	}
	fabric.addrs = addrs;
	fabric.nb_addrs = fabric.max_addrs = role->nb_hosts;
	role->backlog_len = mrc_fabric_mbuf_backlog_len(fc->rate_bps);
	return mrc_fabric_create(&fabric, env, &ops, &role->fabric);
}

int mrc_fabric_role_create(struct mrc_fabric_role *role, const struct mrc_cfg *cfg,
	const struct mrc_env *env, const struct mrc_clock *clock)
{
	int err;

	memset(role, 0, sizeof(*role));
	role->clock = clock;
	role->nb_hosts = cfg->nb_endpoints;
	role->nb_planes = cfg->endpoints[0].nb_planes;
	role->faults = cfg->fabric.faults;
	role->nb_faults = cfg->fabric.nb_faults;
	for (uint32_t h = 0; h < role->nb_hosts; h++)
		for (uint32_t p = 0; p < role->nb_planes; p++)
			atomic_init(&role->ports[h][p].carrier, true);
	role->pool = mrc_port_pool_create("fab_copies", CLONE_POOL, mrc_cfg_buf_len(cfg));
	err = role->pool == NULL ? MRC_ERR_NOMEM : rings_create(role, cfg);
	if (!err)
		err = fabric_create(role, cfg, env);
	if (err)
		mrc_fabric_role_destroy(role);
	return err;
}

static void ring_drain(struct rte_ring *ring)
{
	void *frame;

	while (ring && rte_ring_sc_dequeue(ring, &frame) == 0)
		rte_pktmbuf_free(frame);
	rte_ring_free(ring);
}

void mrc_fabric_role_destroy(struct mrc_fabric_role *role)
{
	if (role->fabric)
		mrc_fabric_destroy(role->fabric);
	role->fabric = NULL;
	for (uint32_t h = 0; h < role->nb_hosts; h++)
		for (uint32_t p = 0; p < role->nb_planes; p++)
			for (uint32_t q = 0; q < role->ports[h][p].nb_queues; q++) {
				ring_drain(role->ports[h][p].from[q]);
				ring_drain(role->ports[h][p].to[q]);
			}
	rte_mempool_free(role->pool);
	role->pool = NULL;
}

static void faults_begin(struct mrc_fabric_role *role, uint64_t now_ns)
{
	role->begun = true;
	for (uint32_t f = 0; f < role->nb_faults; f++) {
		struct mrc_fabric_fault fault = role->faults[f].fault;
		uint32_t handle;

		fault.start_ns = now_ns + role->faults[f].at_ns;
		fault.end_ns = role->faults[f].for_ns ? fault.start_ns + role->faults[f].for_ns : 0;
		if (mrc_fabric_fault_add(role->fabric, now_ns, &fault, &handle) != MRC_OK)
			fprintf(stderr, "mrc-dp: fabric.faults[%u] selects no link of the fabric\n",
				f);
	}
}

static uint32_t port_send(
	struct mrc_fabric_role *role, uint64_t now_ns, uint32_t plane, struct mrc_fabric_port *port)
{
	struct rte_mbuf *frames[BURST];
	uint32_t moved = 0;

	for (uint32_t q = 0; q < port->nb_queues; q++) {
		uint32_t n;

		if (rte_ring_empty(port->from[q]))
			continue;
		if (mrc_fabric_backlog(role->fabric, now_ns, port->host, plane) > role->backlog_len)
			break;
		n = rte_ring_sc_dequeue_burst(port->from[q], (void **)frames, BURST, NULL);
		for (uint32_t i = 0; i < n; i++) {
			const struct mrc_fabric_pkt pkt = mrc_fabric_mbuf_in(frames[i]);

			mrc_fabric_mbuf_prefetch(frames, i, n);
			mrc_fabric_send(role->fabric, now_ns, port->host, plane, &pkt);
		}
		moved += n;
	}
	return moved;
}

/* Spreads flows over a host's queues as receive-side scaling would: by the UDP source port. */
static uint32_t queue_of(const struct mrc_fabric_port *port, const struct mrc_fabric_pkt *pkt)
{
	uint32_t off = pkt->data[12] == 0x86 ? 54 : 34;

	if (port->nb_queues == 1 || pkt->len < off + 2)
		return 0;
	return ((pkt->data[off] ^ pkt->data[off + 1]) * port->nb_queues) >> 8;
}

static uint32_t port_recv(struct mrc_fabric_role *role, uint32_t host, uint32_t plane)
{
	struct mrc_fabric_port *port = NULL;
	struct mrc_fabric_pkt pkts[BURST];
	uint32_t room = BURST;
	uint32_t n;

	for (uint32_t h = 0; h < role->nb_hosts; h++)
		if (role->ports[h][plane].host == host)
			port = &role->ports[h][plane];
	if (port == NULL || port->nb_queues == 0) {
		n = mrc_fabric_recv(role->fabric, host, plane, pkts, BURST);
		for (uint32_t i = 0; i < n; i++)
			rte_pktmbuf_free(pkts[i].ref);
		return n;
	}
	for (uint32_t q = 0; q < port->nb_queues; q++)
		room = RTE_MIN(room, rte_ring_free_count(port->to[q]));
	/* Asked for even without room: what stays unread is announced again. */
	n = mrc_fabric_recv(role->fabric, host, plane, pkts, room);
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = mrc_fabric_mbuf_out(&pkts[i]);

		if (rte_ring_sp_enqueue(port->to[queue_of(port, &pkts[i])], m) != 0)
			rte_pktmbuf_free(m);
	}
	return n;
}

static void carrier_follow(struct mrc_fabric_role *role)
{
	uint32_t host, plane;
	bool up;

	while (mrc_fabric_carrier_poll(role->fabric, &host, &plane, &up))
		for (uint32_t h = 0; h < role->nb_hosts; h++)
			if (role->ports[h][plane].host == host)
				atomic_store_explicit(
					&role->ports[h][plane].carrier, up, memory_order_release);
}

uint32_t mrc_fabric_role_poll(struct mrc_fabric_role *role)
{
	uint64_t now_ns = mrc_clock_ns(role->clock, rte_rdtsc());
	uint32_t moved = 0;
	uint32_t host, plane;

	/* Counters of two CPUs may differ by a few cycles. */
	now_ns = role->last_ns = RTE_MAX(now_ns, role->last_ns);
	if (unlikely(!role->begun && atomic_load_explicit(&role->begin, memory_order_acquire)))
		faults_begin(role, now_ns);
	for (uint32_t h = 0; h < role->nb_hosts; h++)
		for (uint32_t p = 0; p < role->nb_planes; p++)
			moved += port_send(role, now_ns, p, &role->ports[h][p]);
	mrc_fabric_run(role->fabric, now_ns, MRC_FABRIC_MBUF_EVENTS);
	for (uint32_t i = 0; i < role->nb_hosts * role->nb_planes; i++) {
		if (!mrc_fabric_ready(role->fabric, &host, &plane))
			break;
		moved += port_recv(role, host, plane);
	}
	carrier_follow(role);
	return moved;
}

void mrc_fabric_role_begin(struct mrc_fabric_role *role)
{
	atomic_store_explicit(&role->begin, true, memory_order_release);
}
