/* SPDX-License-Identifier: BSD-2-Clause */
#include "port.h"
#include "eal.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

enum {
	DEFAULT_DESCRIPTORS = 512,
	POOL_CACHE = 128,
	SETTLE_STEP_MS = 20,
	RESTART_MS = 400,
};

/*
 * Drivers that advertise 1518 bytes and yet pass whatever fits their buffers; their limit is
 * checked in their device string instead.
 */
static bool passes_jumbo_unasked(const char *driver)
{
	static const char *const names[] = {"net_memif", "net_af_packet", "net_ring", "net_null",
		"net_pcap", "net_virtio_user", "net_vhost"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(driver, names[i]) == 0)
			return true;
	return false;
}

static int queues_choose(struct mrc_port *port, const struct rte_eth_dev_info *info,
	const struct mrc_port_want *want, char *reason)
{
	uint32_t nb = want->nb_workers;

	if (info->max_rx_queues == 0 || info->max_tx_queues < nb)
		return mrc_refuse(reason,
			"driver %s offers %u receive and %u transmit queues, %u workers need one "
			"transmit queue each; lower \"workers\"",
			port->driver, info->max_rx_queues, info->max_tx_queues, nb);
	port->nb_txq = (uint16_t)nb;
	port->nb_rxq = info->max_rx_queues < nb ? info->max_rx_queues : (uint16_t)nb;
	/* net_ring wants exactly the queues it was made with. */
	if (strcmp(port->driver, "net_ring") == 0) {
		port->nb_rxq = info->max_rx_queues;
		port->nb_txq = info->max_tx_queues;
	}
	if (port->nb_rxq > MRC_PORT_MAX_QUEUES)
		port->nb_rxq = MRC_PORT_MAX_QUEUES;
	return MRC_OK;
}

static int configure(struct mrc_port *port, const struct rte_eth_dev_info *info,
	const struct mrc_port_want *want, char *reason)
{
	struct rte_eth_conf conf = {.rxmode.mtu = want->mtu};
	const bool unasked = passes_jumbo_unasked(port->driver);
	int err;

	/* Every frame comes from one pool and has one owner. */
	conf.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (port->nb_rxq > 1 && (info->flow_type_rss_offloads & RTE_ETH_RSS_UDP)) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info->flow_type_rss_offloads & (RTE_ETH_RSS_UDP | RTE_ETH_RSS_IP);
	}
	port->mtu_by_driver = info->max_mtu >= want->mtu &&
			      info->max_rx_pktlen >= mrc_device_frame_len(want->mtu);
	if (port->mtu_by_driver) {
		err = rte_eth_dev_configure(port->id, port->nb_rxq, port->nb_txq, &conf);
		if (err == 0 && rte_eth_dev_set_mtu(port->id, (uint16_t)want->mtu) == 0)
			return MRC_OK;
		if (err == 0 && unasked)
			return MRC_OK;
		port->mtu_by_driver = false;
	}
	if (!unasked)
		return mrc_refuse(reason,
			"driver %s takes an MTU of at most %u, the path MTU needs %u; lower "
			"\"pmtu\" "
			"or raise the device's MTU",
			port->driver, info->max_mtu, want->mtu);
	conf.rxmode.mtu = 0;
	err = rte_eth_dev_configure(port->id, port->nb_rxq, port->nb_txq, &conf);
	return err ? mrc_refuse(reason, "driver %s refuses the configuration: %s", port->driver,
			     rte_strerror(-err))
		   : MRC_OK;
}

static int queues_setup(struct mrc_port *port, const struct mrc_port_want *want, char *reason)
{
	int node = rte_eth_dev_socket_id(port->id);
	uint16_t rx_desc = (uint16_t)(want->descriptors ? want->descriptors : DEFAULT_DESCRIPTORS);
	uint16_t tx_desc = rx_desc;
	int err = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_desc, &tx_desc);

	if (err)
		return mrc_refuse(reason, "driver %s offers no usable descriptor count: %s",
			port->driver, rte_strerror(-err));
	/* Virtual devices know no node: -1 means any. */
	if (node < 0)
		node = SOCKET_ID_ANY;
	for (uint16_t q = 0; q < port->nb_rxq && !err; q++)
		err = rte_eth_rx_queue_setup(port->id, q, rx_desc, (unsigned)node, NULL,
			want->pools[q % want->nb_workers]);
	for (uint16_t q = 0; q < port->nb_txq && !err; q++)
		err = rte_eth_tx_queue_setup(port->id, q, tx_desc, (unsigned)node, NULL);
	if (err)
		return mrc_refuse(reason, "driver %s refuses a queue of %u descriptors: %s",
			port->driver, rx_desc, rte_strerror(-err));
	port->rx_desc = rx_desc;
	port->tx_desc = tx_desc;
	return MRC_OK;
}

static void mac_set(struct mrc_port *port, const uint8_t *mac)
{
	struct rte_ether_addr addr;

	if (mac) {
		memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
		/* A device that cannot filter for it has to show us everything. */
		if (rte_eth_dev_default_mac_addr_set(port->id, &addr) != 0)
			rte_eth_promiscuous_enable(port->id);
		memcpy(port->mac, mac, sizeof(port->mac));
		return;
	}
	if (rte_eth_macaddr_get(port->id, &addr) == 0)
		memcpy(port->mac, addr.addr_bytes, sizeof(port->mac));
}

int mrc_port_open(
	struct mrc_port *port_out, uint16_t id, const struct mrc_port_want *want, char *reason_out)
{
	struct mrc_port port = {.id = id, .mtu = want->mtu, .client = want->client, .iface_fd = -1};
	struct rte_eth_dev_info info;
	int err = rte_eth_dev_info_get(id, &info);

	if (err)
		return mrc_refuse(reason_out, "the device does not answer: %s", rte_strerror(-err));
	snprintf(port.driver, sizeof(port.driver), "%s", info.driver_name ? info.driver_name : "?");
	err = queues_choose(&port, &info, want, reason_out);
	if (!err)
		err = configure(&port, &info, want, reason_out);
	if (!err)
		err = queues_setup(&port, want, reason_out);
	if (err)
		return err;
	port.opened = true;
	if (want->iface) {
		snprintf(port.iface, sizeof(port.iface), "%s", want->iface);
		port.iface_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	}
	err = rte_eth_dev_start(id);
	port.started = err == 0;
	if (err && !want->client) {
		rte_eth_dev_close(id);
		if (port.iface_fd >= 0)
			close(port.iface_fd);
		return mrc_refuse(reason_out, "driver %s does not start: %s%s", port.driver,
			rte_strerror(-err),
			strcmp(port.driver, "net_memif") != 0
				? ""
				: "; a memif client needs its server first: start that, or give "
				  "\"role=server\" here");
	}
	mac_set(&port, want->mac);
	if (port.started)
		mrc_port_link_poll(&port);
	*port_out = port;
	return MRC_OK;
}

/* True when all are started and have their carrier. */
static bool all_up(struct mrc_port *ports, uint32_t nb)
{
	bool up = true;

	for (uint32_t i = 0; i < nb; i++) {
		if (ports[i].started)
			mrc_port_link_poll(&ports[i]);
		up &= ports[i].started && ports[i].link_up;
	}
	return up;
}

/* Ports for the interrupt thread to work on. */
struct ports {
	struct mrc_port *ports;
	uint32_t nb;
};

static void clients_start_again(void *arg)
{
	const struct ports *all = arg;

	for (uint32_t i = 0; i < all->nb; i++) {
		struct mrc_port *port = &all->ports[i];

		if (!port->client || port->link_up)
			continue;
		if (port->started)
			rte_eth_dev_stop(port->id);
		port->started = rte_eth_dev_start(port->id) == 0;
	}
}

int mrc_port_settle(struct mrc_port *ports, uint32_t nb, uint32_t wait_ms,
	const volatile sig_atomic_t *stop, char *reason_out)
{
	struct ports all = {ports, nb};

	for (uint32_t ms = 0; !*stop && !all_up(ports, nb) && ms < wait_ms; ms += SETTLE_STEP_MS) {
		if (ms % RESTART_MS == 0)
			mrc_eal_interrupt_run(clients_start_again, &all);
		rte_delay_us_sleep(SETTLE_STEP_MS * 1000);
	}
	for (uint32_t i = 0; i < nb; i++)
		if (!ports[i].started)
			return mrc_refuse(reason_out,
				"driver %s does not start: the server of its socket is not there",
				ports[i].driver);
	return MRC_OK;
}

static void close_all(void *arg)
{
	const struct ports *all = arg;

	for (uint32_t i = 0; i < all->nb; i++) {
		struct mrc_port *port = &all->ports[i];

		if (port->started)
			rte_eth_dev_stop(port->id);
		if (port->opened)
			rte_eth_dev_close(port->id);
		if (port->opened && port->iface_fd >= 0)
			close(port->iface_fd);
		port->started = port->opened = false;
	}
}

void mrc_port_close(struct mrc_port *ports, uint32_t nb)
{
	struct ports all = {ports, nb};

	mrc_eal_interrupt_run(close_all, &all);
}

/* The driver af_packet says "up" whatever happens to its interface. */
static bool iface_up(const struct mrc_port *port)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", port->iface);
	return ioctl(port->iface_fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) &&
	       (request.ifr_flags & IFF_RUNNING);
}

bool mrc_port_link_poll(struct mrc_port *port)
{
	struct rte_eth_link link = {0};
	bool up = rte_eth_link_get_nowait(port->id, &link) == 0 &&
		  link.link_status == RTE_ETH_LINK_UP && (port->iface_fd < 0 || iface_up(port));
	bool changed = up != port->link_up;

	port->link_up = up;
	return changed;
}

int mrc_port_ring_create(const char *name, struct rte_ring *const rx[], uint32_t nb_rx,
	struct rte_ring *const tx[], uint32_t nb_tx)
{
	int id = rte_eth_from_rings(name, rx, nb_rx, tx, nb_tx, (unsigned)SOCKET_ID_ANY);

	return id < 0 ? MRC_ERR_NOMEM : id;
}

struct rte_mempool *mrc_port_pool_create(const char *name, uint32_t nb, uint32_t buf_len)
{
	return rte_pktmbuf_pool_create_by_ops(name, nb, POOL_CACHE, 0,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + buf_len), SOCKET_ID_ANY, "lf_stack");
}
