/* SPDX-License-Identifier: BSD-2-Clause */
#include "fab_loop.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "device.h"
#include "fabric_mbuf.h"
#include "grace.h"

enum {
	BURST = MRC_FABRIC_MBUF_BURST,
	POOL_SPARE = 1024,   /* copies, bursts, caches */
	MBUF_OVERHEAD = 448, /* struct, headroom, header and trailer of the pool */
	IDLE_TURNS = 64,     /* empty turns before the loop rests */
	NAP_NS = 20000,
};

#define MS      1000000ull
#define TURN_NS (1 * MS)
#define LINK_NS (50 * MS)

/* ---- buffers ----------------------------------------------------------------------------------*/

/* Behind the headroom: what frames and af_packet's rings need. */
static uint32_t buf_len(const struct mrc_fab_cfg *cfg)
{
	uint32_t len = (mrc_device_frame_len(cfg->mtu) + 63) / 64 * 64;

	for (uint32_t n = 0; n < cfg->nb_hosts * cfg->nb_planes; n++) {
		const char *device = cfg->hosts[n / cfg->nb_planes].ports[n % cfg->nb_planes];
		uint32_t ring_len = mrc_device_ring_frame_len(cfg->mtu);
		char size[32];

		if (strncmp(device, "net_af_packet", 13) != 0)
			continue;
		if (mrc_device_arg(device, "framesz", size, sizeof(size)))
			ring_len = (uint32_t)strtoul(size, NULL, 0);
		len = RTE_MAX(len, ring_len);
	}
	return RTE_MIN(len, 32768u);
}

static uint32_t pool_size(const struct mrc_fab_cfg *cfg)
{
	return cfg->fabric.max_packets + POOL_SPARE +
	       cfg->nb_hosts * cfg->nb_planes * (2 * cfg->descriptors + MRC_STASH_ROOM);
}

uint32_t mrc_fab_memory_mib(const struct mrc_fab_cfg *cfg)
{
	const uint64_t bytes = (uint64_t)pool_size(cfg) * (buf_len(cfg) + MBUF_OVERHEAD);

	return (uint32_t)(((48ull << 20) + bytes) * 5 / 4 >> 20);
}

/* ---- opening ----------------------------------------------------------------------------------*/

static int port_open(struct mrc_fab_loop *loop, uint32_t h, uint32_t p, uint16_t id, char *reason)
{
	const struct mrc_port_want want = {.nb_workers = 1,
		.descriptors = loop->cfg->descriptors,
		.mtu = loop->cfg->mtu,
		.pools = &loop->pool};
	struct mrc_fab_port *port = &loop->ports[loop->nb_ports];
	char why[MRC_REASON];

	port->host = (uint32_t)loop->cfg->hosts[h].host;
	port->plane = p;
	port->stats = &loop->ctl.stats[h][p];
	if (mrc_port_open(&port->port, id, &want, why) != MRC_OK)
		return mrc_refuse(reason, "hosts[%u].ports[%u]: %s", h, p, why);
	loop->nb_ports++;
	/* A switch's port takes every frame. */
	rte_eth_promiscuous_enable(id);
	port->out.port = id;
	port->stats->present = true;
	port->stats->link_up = port->port.link_up;
	loop->by_place[port->host * loop->cfg->nb_planes + p] = port;
	return MRC_OK;
}

/* The ethdev of a device string or PCI address. */
static int port_find(const char *device, uint16_t *id_out)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	return rte_eth_dev_get_port_by_name(name, id_out);
}

static int ports_open(struct mrc_fab_loop *loop, char *reason)
{
	const struct mrc_fab_cfg *cfg = loop->cfg;

	for (uint32_t h = 0; h < cfg->nb_hosts; h++)
		for (uint32_t p = 0; p < cfg->nb_planes; p++) {
			const char *device = cfg->hosts[h].ports[p];
			uint16_t id;
			int err;

			if (strcmp(device, "none") == 0)
				continue;
			if (port_find(device, &id) != 0)
				return mrc_refuse(reason,
					"hosts[%u].ports[%u]: DPDK has no device \"%.200s\"; is it "
					"bound, and its driver installed?",
					h, p, device);
			err = port_open(loop, h, p, id, reason);
			if (err)
				return err;
		}
	return MRC_OK;
}

static int server_open(struct mrc_fab_loop *loop, char *reason)
{
	const struct mrc_fab_control *control = &loop->cfg->control;
	struct mrc_ctl_server_cfg cfg;
	char why[MRC_CTL_ERROR_LEN];
	int err;

	if (control->path[0] == '\0')
		return MRC_OK;
	loop->rpc = (struct mrc_rpc){.program = "mrc-fabric",
		.release = MRC_VERSION,
		.methods = mrc_fab_methods,
		.ctx = &loop->ctl};
	mrc_ctl_server_cfg_default(&cfg, &loop->rpc);
	cfg.path = control->path;
	cfg.access = control->access;
	cfg.has_group = control->group[0] != '\0';
	cfg.gid = control->gid;
	err = mrc_ctl_server_open(&cfg, &loop->server, why);
	if (err)
		snprintf(reason, MRC_REASON, "control.socket: %.480s", why);
	return err;
}

static int faults_start(struct mrc_fab_loop *loop, char *reason)
{
	uint32_t id;

	for (uint32_t f = 0; f < loop->cfg->nb_faults; f++)
		if (mrc_fab_fault_start(&loop->ctl, &loop->cfg->faults[f], &id) != MRC_OK)
			return mrc_refuse(reason, "faults[%u]: selects no link of the fabric", f);
	return MRC_OK;
}

static int tables_make(struct mrc_fab_loop *loop, char *reason)
{
	const struct mrc_fab_cfg *cfg = loop->cfg;
	const struct mrc_ctl_shape shape = mrc_fab_cfg_shape(cfg);

	loop->ports = calloc(cfg->nb_hosts * cfg->nb_planes, sizeof(*loop->ports));
	loop->by_place = calloc(shape.nb_hosts * cfg->nb_planes, sizeof(struct mrc_fab_port *));
	loop->pool = mrc_port_pool_create("frames", pool_size(cfg), buf_len(cfg));
	if (loop->ports != NULL && loop->by_place != NULL && loop->pool != NULL)
		return MRC_OK;
	snprintf(reason, MRC_REASON,
		"memory.mib: no room for %u packet buffers (%s); raise it or lower "
		"\"fabric.packets\"",
		pool_size(cfg), rte_strerror(rte_errno));
	return MRC_ERR_NOMEM;
}

int mrc_fab_loop_open(struct mrc_fab_loop *loop, const struct mrc_fab_cfg *cfg,
	const volatile sig_atomic_t *stop, char *reason_out)
{
	struct mrc_fabric_ops ops;
	int err;

	memset(loop, 0, sizeof(*loop));
	loop->cfg = loop->ctl.cfg = cfg;
	loop->stop = stop;
	loop->backlog_len = mrc_fabric_mbuf_backlog_len(cfg->fabric.rate_bps);
	mrc_osenv_init(&loop->osenv);
	if (mrc_clock_init(&loop->clock, rte_get_tsc_hz(), rte_rdtsc()) != MRC_OK) {
		snprintf(reason_out, MRC_REASON,
			"the time stamp counter's frequency is unknown; this machine cannot keep "
			"time");
		return MRC_ERR_STATE;
	}
	err = tables_make(loop, reason_out);
	if (err)
		return err;
	ops = mrc_fabric_mbuf_ops(loop->pool);
	err = mrc_fab_cfg_fabric(cfg, &loop->osenv.env, &ops,
		loop->osenv.env.random64(loop->osenv.env.ctx), &loop->ctl.fabric);
	if (err) {
		snprintf(reason_out, MRC_REASON, "fabric: cannot be made: %s", mrc_err_text(err));
		return err;
	}
	err = ports_open(loop, reason_out);
	if (!err)
		err = faults_start(loop, reason_out);
	return err ? err : server_open(loop, reason_out);
}

void mrc_fab_loop_close(struct mrc_fab_loop *loop)
{
	if (loop->server != NULL)
		mrc_ctl_server_close(loop->server);
	if (loop->ctl.fabric != NULL)
		mrc_fabric_destroy(loop->ctl.fabric);
	for (uint32_t i = 0; i < loop->nb_ports; i++) {
		mrc_stash_drop(&loop->ports[i].out);
		mrc_port_close(&loop->ports[i].port, 1);
	}
	rte_mempool_free(loop->pool);
	free(loop->ports);
	free(loop->by_place);
	memset(loop, 0, sizeof(*loop));
}

/* ---- the data path ----------------------------------------------------------------------------*/

static uint32_t port_receive(struct mrc_fab_loop *loop, struct mrc_fab_port *port, uint64_t now_ns)
{
	struct rte_mbuf *frames[BURST];
	uint32_t n;

	if (mrc_fabric_backlog(loop->ctl.fabric, now_ns, port->host, port->plane) >
		loop->backlog_len)
		return 0;
	n = rte_eth_rx_burst(port->port.id, 0, frames, BURST);
	for (uint32_t i = 0; i < n; i++) {
		const struct mrc_fabric_pkt pkt = mrc_fabric_mbuf_in(frames[i]);

		mrc_fabric_mbuf_prefetch(frames, i, n);
		if (unlikely(frames[i]->nb_segs != 1)) {
			port->stats->rx_unfit++;
			rte_pktmbuf_free(frames[i]);
			continue;
		}
		mrc_fabric_send(loop->ctl.fabric, now_ns, port->host, port->plane, &pkt);
	}
	port->stats->rx_packets += n;
	return n;
}

/* What arrived at a host goes to the stash of its port, as far as there is room. */
static uint32_t host_collect(struct mrc_fab_loop *loop, uint32_t host, uint32_t plane)
{
	struct mrc_fab_port *port = loop->by_place[host * loop->cfg->nb_planes + plane];
	const uint32_t room =
		port != NULL ? RTE_MIN(mrc_stash_room(&port->out), (uint32_t)BURST) : BURST;
	struct mrc_fabric_pkt pkts[BURST];
	/* Asked for even without room: what stays unread is announced again. */
	const uint32_t n = mrc_fabric_recv(loop->ctl.fabric, host, plane, pkts, room);

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = mrc_fabric_mbuf_out(&pkts[i]);

		if (port != NULL)
			mrc_stash_put(&port->out, m);
		else
			rte_pktmbuf_free(m);
	}
	return n;
}

static void port_transmit(struct mrc_fab_port *port)
{
	const uint32_t nb = port->out.nb;

	if (nb == 0)
		return;
	/* Nobody at the other end: frames for it are lost as on an open cable. */
	if (!port->port.link_up) {
		port->stats->tx_lost += mrc_stash_drop(&port->out);
		return;
	}
	mrc_stash_flush(&port->out);
	port->stats->tx_packets += nb - port->out.nb;
}

static uint32_t data_turn(struct mrc_fab_loop *loop, uint64_t now_ns)
{
	uint32_t moved = 0;
	uint32_t host, plane;

	for (uint32_t i = 0; i < loop->nb_ports; i++)
		moved += port_receive(loop, &loop->ports[i], now_ns);
	moved += mrc_fabric_run(loop->ctl.fabric, now_ns, MRC_FABRIC_MBUF_EVENTS);
	for (uint32_t i = 0; i < loop->nb_ports + 1; i++) {
		if (!mrc_fabric_ready(loop->ctl.fabric, &host, &plane))
			break;
		moved += host_collect(loop, host, plane);
	}
	for (uint32_t i = 0; i < loop->nb_ports; i++)
		port_transmit(&loop->ports[i]);
	return moved;
}

/* ---- the rest ---------------------------------------------------------------------------------*/

/* Tells a host's device when its link in the fabric goes down or comes back, where the driver can
 * do that; memif and af_packet cannot, their hosts see silence. */
static void carriers_tell(struct mrc_fab_loop *loop)
{
	uint32_t host, plane;
	bool up;

	while (mrc_fabric_carrier_poll(loop->ctl.fabric, &host, &plane, &up)) {
		const struct mrc_fab_port *port =
			loop->by_place[host * loop->cfg->nb_planes + plane];

		if (port == NULL)
			continue;
		if (up)
			rte_eth_dev_set_link_up(port->port.id);
		else
			rte_eth_dev_set_link_down(port->port.id);
	}
}

static uint32_t slow_turn(struct mrc_fab_loop *loop, uint64_t now_ns)
{
	loop->turn_ns = now_ns + TURN_NS;
	carriers_tell(loop);
	if (now_ns >= loop->link_ns) {
		loop->link_ns = now_ns + LINK_NS;
		for (uint32_t i = 0; i < loop->nb_ports; i++) {
			mrc_port_link_poll(&loop->ports[i].port);
			loop->ports[i].stats->link_up = loop->ports[i].port.link_up;
		}
	}
	loop->ctl.now_ns = now_ns;
	return loop->server != NULL ? mrc_ctl_server_poll(loop->server, now_ns) : 0;
}

static void rest(struct mrc_fab_loop *loop, uint64_t now_ns)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	switch (loop->cfg->idle) {
	case MRC_FAB_IDLE_SPIN:
		break;
	case MRC_FAB_IDLE_YIELD:
		sched_yield();
		break;
	case MRC_FAB_IDLE_SLEEP:
		/* A packet under way is due soon. */
		if (mrc_fabric_next_deadline(loop->ctl.fabric) < now_ns + 2 * NAP_NS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
		break;
	}
}

void mrc_fab_loop_run(struct mrc_fab_loop *loop)
{
	/* Naps of 20 us need a finer timer than the usual 50 us. */
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	mrc_grace_enter();
	while (!*loop->stop) {
		/* Counters of two CPUs may differ by a few cycles. */
		const uint64_t now_ns = loop->last_ns =
			RTE_MAX(mrc_clock_ns(&loop->clock, rte_rdtsc()), loop->last_ns);
		uint32_t moved = data_turn(loop, now_ns);

		mrc_grace_turn();
		if (now_ns >= loop->turn_ns)
			moved += slow_turn(loop, now_ns);
		loop->idle_turns = moved != 0 ? 0 : loop->idle_turns + 1;
		if (loop->idle_turns > IDLE_TURNS)
			rest(loop, now_ns);
	}
	mrc_grace_leave();
}
