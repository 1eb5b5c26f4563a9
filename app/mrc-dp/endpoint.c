/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint.c - ports, pools and rings of an endpoint. Engines and loads: endpoint_load.c. */
#include "endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ring_elem.h>

#include "courier.h"
#include "endpoint_private.h"

enum {
	HANDOVER_RING = 1024,
	COMMAND_RING = 256,
	MBUF_OVERHEAD = 128 + 64 + 64 + RTE_PKTMBUF_HEADROOM, /* struct, mempool header, rounding */
	DEFAULT_DESCRIPTORS = 512,
	SETTLE_MS = 3000,
};

uint32_t mrc_endpoint_pool_size(const struct mrc_cfg *cfg, uint32_t index)
{
	const struct mrc_cfg_endpoint *ep = &cfg->endpoints[index];
	uint32_t nb = HANDOVER_RING + 512;
	bool fabric = false;

	for (uint32_t p = 0; p < ep->nb_planes; p++) {
		uint32_t desc = ep->planes[p].descriptors;

		nb += 2 * (desc ? desc : DEFAULT_DESCRIPTORS) + MRC_STASH_ROOM;
		fabric |= ep->planes[p].link == MRC_LINK_FABRIC;
	}
	/* One less than a power of two would suit a ring; a stack takes any number. */
	return nb + (fabric ? cfg->fabric.max_packets / ep->nb_workers : 0);
}

uint32_t mrc_endpoint_memory_mib(const struct mrc_cfg *cfg)
{
	uint64_t frame = mrc_cfg_buf_len(cfg) + MBUF_OVERHEAD;
	uint64_t total = 48ull << 20;

	for (uint32_t e = 0; e < cfg->nb_endpoints; e++) {
		total += frame * mrc_endpoint_pool_size(cfg, e) * cfg->endpoints[e].nb_workers;
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++)
			if (cfg->endpoints[e].planes[p].capture[0])
				total += frame * MRC_CAPTURE_FRAMES;
	}
	return (uint32_t)(total * 3 / 2 >> 20);
}

static int pools_create(struct mrc_endpoint *ep, char *reason)
{
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++) {
		char name[64];
		uint32_t nb = mrc_endpoint_pool_size(ep->cfg, ep->index);

		snprintf(name, sizeof(name), "mbuf_%u_%u", ep->index, w);
		ep->pools[w] = mrc_port_pool_create(name, nb, mrc_cfg_buf_len(ep->cfg));
		if (ep->pools[w] == NULL)
			return mrc_refuse(reason,
				"memory.mib: no room for %u packet buffers (%s); raise it", nb,
				rte_strerror(rte_errno));
	}
	return MRC_OK;
}

/* "net_memif0,role=..." is known to ethdev as "net_memif0". */
static int device_port(const char *device, uint16_t *port_out)
{
	char name[MRC_CFG_TEXT];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	return rte_eth_dev_get_port_by_name(name, port_out);
}

static int plane_port(struct mrc_endpoint *ep, uint32_t p, const struct mrc_endpoint_rings *rings,
	uint16_t *id_out)
{
	const struct mrc_cfg_plane *plane = &ep->ep->planes[p];
	char name[32];
	int id;

	switch (plane->link) {
	case MRC_LINK_DEVICE:
		return device_port(plane->device, id_out);
	case MRC_LINK_FABRIC:
	case MRC_LINK_DIRECT:
		snprintf(name, sizeof(name), "ep%u_plane%u", ep->index, p);
		id = mrc_port_ring_create(name, rings->rx, rings->nb_rx, rings->tx, rings->nb_tx);
		if (id < 0)
			return id;
		*id_out = (uint16_t)id;
		return MRC_OK;
	}
	return MRC_ERR_INVAL;
}

/* Ring ports invent nothing: a locally administered address that says endpoint and plane. */
static void mac_default(uint8_t *mac, uint32_t endpoint, uint32_t plane)
{
	const uint8_t bytes[6] = {0x02, 0x4D, 0x52, 0x43, (uint8_t)endpoint, (uint8_t)plane};

	memcpy(mac, bytes, sizeof(bytes));
}

static bool is_memif_client(const char *device)
{
	char role[32];

	if (!mrc_device_is_memif(device))
		return false;
	return !mrc_device_arg(device, "role", role, sizeof(role)) ||
	       (strcmp(role, "server") != 0 && strcmp(role, "master") != 0);
}

static int plane_open(
	struct mrc_endpoint *ep, uint32_t p, const struct mrc_endpoint_rings *rings, char *reason)
{
	const struct mrc_cfg_plane *plane = &ep->ep->planes[p];
	char text[MRC_REASON];
	struct mrc_port_want want = {.nb_workers = ep->ep->nb_workers,
		.descriptors = plane->descriptors,
		.mtu = plane->mtu,
		.mac = plane->mac_set ? plane->mac : NULL,
		.client = is_memif_client(plane->device),
		.pools = ep->pools};
	char iface[16];
	uint8_t mac[6];
	uint16_t id;

	if (plane_port(ep, p, rings, &id) != 0)
		return mrc_refuse(reason,
			"endpoints[%u].planes[%u].device: \"%s\": no such port; \"mrc-dp doctor\" "
			"lists "
			"what DPDK finds here",
			ep->index, p, plane->device);
	if (plane->link != MRC_LINK_DEVICE && !plane->mac_set) {
		mac_default(mac, ep->index, p);
		want.mac = mac;
	}
	if (strncmp(plane->device, "net_af_packet", 13) == 0 &&
		mrc_device_arg(plane->device, "iface", iface, sizeof(iface)))
		want.iface = iface;
	if (mrc_port_open(&ep->ports[p], id, &want, text) != MRC_OK)
		return mrc_refuse(reason, "endpoints[%u].planes[%u].device: \"%s\": %s", ep->index,
			p, plane->device, text);
	return MRC_OK;
}

static int l2_create(struct mrc_endpoint *ep, char *reason)
{
	ep->l2 = calloc(ep->ep->nb_planes, sizeof(*ep->l2));
	if (ep->l2 == NULL)
		return MRC_ERR_NOMEM;
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		const struct mrc_cfg_plane *plane = &ep->ep->planes[p];
		struct mrc_l2_cfg cfg;

		mrc_l2_cfg_default(&cfg);
		memcpy(cfg.mac, ep->ports[p].mac, sizeof(cfg.mac));
		cfg.vlan = plane->vlan_set;
		cfg.vlan_tci = (uint16_t)(plane->vlan_prio << 13 | plane->vlan);
		cfg.addrs[0] = ep->ep->address;
		cfg.nb_addrs = 1;
		if (mrc_l2_init(&ep->l2[p], &cfg, 0) != MRC_OK)
			return mrc_refuse(reason,
				"endpoints[%u].planes[%u].mac: the port's link address "
				"%02x:%02x:%02x:%02x:%02x:%02x is no unicast address; set \"mac\"",
				ep->index, p, cfg.mac[0], cfg.mac[1], cfg.mac[2], cfg.mac[3],
				cfg.mac[4], cfg.mac[5]);
	}
	return MRC_OK;
}

static int captures_open(struct mrc_endpoint *ep, char *reason)
{
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		const char *path = ep->ep->planes[p].capture;
		char name[64];
		int err;

		if (path[0] == '\0')
			continue;
		snprintf(name, sizeof(name), "capture_%u_%u", ep->index, p);
		err = mrc_capture_open(
			&ep->captures[p], path, name, mrc_cfg_buf_len(ep->cfg), ep->clock);
		if (err)
			return mrc_refuse(reason,
				"endpoints[%u].planes[%u].capture: cannot write \"%s\": %s",
				ep->index, p, path,
				err == MRC_ERR_NOMEM ? "no memory, raise \"memory.mib\""
						     : strerror(errno));
	}
	return MRC_OK;
}

static int worker_create(struct mrc_endpoint *ep, uint32_t index)
{
	struct mrc_worker *w = mrc_osmem_alloc(sizeof(*w));
	char name[64];

	if (w == NULL)
		return MRC_ERR_NOMEM;
	ep->workers[index] = w;
	w->index = index;
	w->nb_workers = ep->ep->nb_workers;
	w->workers = ep->workers;
	w->clock = ep->clock;
	w->icrc = ep->cfg->icrc;
	w->restamp = !ep->cfg->strict_echo;
	for (uint32_t i = 0; i < MRC_WORKER_BURST; i++)
		w->bufs[i].hdr = w->headers[i];
	w->sub_burst = 8;
	w->load_due_ns = UINT64_MAX;
	w->pool = ep->pools[index];
	w->l2 = index == 0 ? ep->l2 : NULL;
	w->courier = index == 0 ? calloc(1, sizeof(*w->courier)) : NULL;
	w->nb_planes = ep->ep->nb_planes;
	for (uint32_t p = 0; p < w->nb_planes; p++) {
		struct mrc_worker_plane *plane = &w->planes[p];

		plane->port = ep->ports[p].id;
		plane->capture = ep->captures[p];
		plane->stash.port = plane->port;
		plane->stash.queue = (uint16_t)(index % ep->ports[p].nb_txq);
		for (uint16_t q = 0; q < ep->ports[p].nb_rxq; q++)
			if (q % w->nb_workers == index)
				plane->rxq[plane->nb_rxq++] = q;
	}
	snprintf(name, sizeof(name), "handover_%u_%u", ep->index, index);
	w->handover = rte_ring_create(name, HANDOVER_RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
	snprintf(name, sizeof(name), "commands_%u_%u", ep->index, index);
	w->commands = rte_ring_create_elem(
		name, sizeof(struct mrc_cmd), COMMAND_RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
	mrc_osenv_init(&w->osenv);
	return w->handover && w->commands && (index != 0 || w->courier) ? MRC_OK : MRC_ERR_NOMEM;
}

int mrc_endpoint_open(struct mrc_endpoint *ep, const struct mrc_cfg *cfg, uint32_t index,
	const struct mrc_clock *clock, const struct mrc_endpoint_rings *rings, char *reason_out)
{
	int err;

	memset(ep, 0, sizeof(*ep));
	ep->cfg = cfg;
	ep->ep = &cfg->endpoints[index];
	ep->index = index;
	ep->clock = clock;
	snprintf(reason_out, MRC_REASON, "memory.mib: memory is short; raise it");
	err = pools_create(ep, reason_out);
	for (uint32_t p = 0; p < ep->ep->nb_planes && !err; p++)
		err = plane_open(ep, p, &rings[p], reason_out);
	if (!err)
		err = l2_create(ep, reason_out);
	if (!err)
		err = captures_open(ep, reason_out);
	for (uint32_t w = 0; w < ep->ep->nb_workers && !err; w++)
		err = worker_create(ep, w);
	return err;
}

int mrc_endpoint_settle(
	struct mrc_endpoint *ep, const volatile sig_atomic_t *stop, char *reason_out)
{
	char text[MRC_REASON];

	if (mrc_port_settle(ep->ports, ep->ep->nb_planes, SETTLE_MS, stop, text) != MRC_OK)
		return mrc_refuse(reason_out, "endpoints[%u].planes: %.400s", ep->index, text);
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++)
		for (uint32_t p = 0; p < ep->ep->nb_planes; p++)
			mrc_worker_carrier(ep->workers[w], 0, p, ep->ports[p].link_up);
	return MRC_OK;
}

void mrc_endpoint_close(struct mrc_endpoint *ep)
{
	if (ep->ep == NULL)
		return;
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++)
		if (ep->workers[w])
			mrc_worker_drain(ep->workers[w]);
	mrc_endpoint_unbuild(ep);
	mrc_port_close(ep->ports, ep->ep->nb_planes);
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++) {
		if (ep->workers[w] == NULL)
			continue;
		rte_ring_free(ep->workers[w]->handover);
		rte_ring_free(ep->workers[w]->commands);
		free(ep->workers[w]->courier);
		mrc_osmem_free(ep->workers[w], sizeof(*ep->workers[w]));
		ep->workers[w] = NULL;
	}
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		mrc_capture_close(ep->captures[p]);
		ep->captures[p] = NULL;
	}
	free(ep->l2);
	ep->l2 = NULL;
}
