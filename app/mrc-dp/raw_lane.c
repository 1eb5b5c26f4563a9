/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw_lane.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "mrc_icrc.h"
#include "mrc_pkt.h"

enum {
	BURST = 32,
	RAW_PORT = 9, /* UDP "discard": nobody takes such a frame for the protocol's */
	RESEND_MS = 20,
};

/* The header of the protocol's commonest packet, a write with a time stamp, to another UDP port. */
static int header_make(struct mrc_raw_lane *lane)
{
	const struct mrc_raw_cfg *cfg = &lane->cfg;
	struct mrc_pkt pkt = {.flags = MRC_PKT_TS,
		.opcode = MRC_OP_WRITE_MIDDLE,
		.cls = MRC_CLASS_TRIMMABLE,
		.ttl = 64,
		.dqpn = 3,
		.payload_len = (uint16_t)cfg->payload_len};
	struct mrc_proto proto;
	int len;

	mrc_proto_default(&proto);
	proto.choice.udp_port = RAW_PORT;
	pkt.pkey = proto.pkey;
	memcpy(pkt.smac, cfg->smac, 6);
	memcpy(pkt.dmac, cfg->dmac, 6);
	if (cfg->ipv6) {
		pkt.flags |= MRC_PKT_V6;
		pkt.src.raw[0] = pkt.dst.raw[0] = 0xFD;
	} else {
		memset(pkt.src.raw + 10, 0xFF, 2);
		memset(pkt.dst.raw + 10, 0xFF, 2);
		pkt.src.raw[12] = pkt.dst.raw[12] = 10;
	}
	pkt.src.raw[15] = 1;
	pkt.dst.raw[15] = 2;
	if (mrc_proto_init(&proto) != MRC_OK)
		return MRC_ERR_INVAL;
	len = mrc_pkt_encode(&proto, &pkt, lane->hdr, sizeof(lane->hdr));
	if (len < 0)
		return len;
	lane->hdr_len = (uint16_t)len;
	lane->ip_off = MRC_ETH_LEN;
	return MRC_OK;
}

int mrc_raw_lane_init(struct mrc_raw_lane *lane_out, const struct mrc_raw_cfg *cfg)
{
	int rc;

	memset(lane_out, 0, sizeof(*lane_out));
	lane_out->cfg = *cfg;
	lane_out->stash.port = cfg->port;
	lane_out->stash.queue = cfg->txq;
	lane_out->resend_tsc = rte_get_tsc_hz() / 1000 * RESEND_MS;
	if (cfg->payload_len > MRC_PMTU_MAX || cfg->payload_len % 4 != 0 ||
		cfg->mem_len < cfg->payload_len)
		return MRC_ERR_INVAL;
	rc = header_make(lane_out);
	if (rc == MRC_OK && (cfg->io_len < MRC_ETH_LEN + 46 || cfg->io_len > 9000))
		rc = MRC_ERR_INVAL;
	return rc;
}

uint32_t mrc_raw_lane_frame_len(const struct mrc_raw_lane *lane)
{
	return lane->hdr_len + lane->cfg.payload_len;
}

/* The next piece of the region, in turn. */
static inline uint8_t *mem_next(struct mrc_raw_lane *lane)
{
	uint8_t *mem = lane->cfg.mem + lane->mem_at;

	lane->mem_at += lane->cfg.payload_len;
	if (lane->mem_at + lane->cfg.payload_len > lane->cfg.mem_len)
		lane->mem_at = 0;
	return mem;
}

/* ---- send */

static inline void psn_put(struct mrc_raw_lane *lane, uint8_t *hdr)
{
	/* Where the PSN stands: the last three of the twelve bytes of the BTH. */
	uint8_t *p = hdr + lane->ip_off + (lane->cfg.ipv6 ? MRC_IPV6_LEN : MRC_IPV4_LEN) +
		     MRC_UDP_LEN + 9;

	p[0] = (uint8_t)(lane->seq >> 16);
	p[1] = (uint8_t)(lane->seq >> 8);
	p[2] = (uint8_t)lane->seq;
	lane->seq++;
}

static void frame_fill(struct mrc_raw_lane *lane, enum mrc_raw_mode mode, struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t len = lane->hdr_len, payload_len = lane->cfg.payload_len;

	if (mode == MRC_RAW_IO) {
		/* The frame ends where it is asked to, in the header if need be. */
		memcpy(data, lane->hdr, RTE_MIN(len, lane->cfg.io_len));
		len = lane->cfg.io_len;
	} else {
		memcpy(data, lane->hdr, MRC_HDR_ROOM);
		psn_put(lane, data);
		memcpy(data + len, mem_next(lane), payload_len);
		len += payload_len;
	}
	if (mode == MRC_RAW_ICRC) {
		uint32_t sum = mrc_icrc_header(data + lane->ip_off, lane->hdr_len - lane->ip_off);

		sum = mrc_icrc_update(sum, data + lane->hdr_len, payload_len);
		mrc_icrc_store(data + len, sum);
		len += MRC_ICRC_LEN;
	}
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

static uint32_t burst_send(struct mrc_raw_lane *lane, enum mrc_raw_mode mode)
{
	struct rte_mbuf *frames[BURST];

	if (lane->stash.nb > 0 && !mrc_stash_flush(&lane->stash))
		return 0;
	if (rte_pktmbuf_alloc_bulk(lane->cfg.pool, frames, BURST) != 0) {
		lane->counters.no_buffer++;
		return 0;
	}
	for (uint32_t i = 0; i < BURST; i++) {
		frame_fill(lane, mode, frames[i]);
		mrc_stash_put(&lane->stash, frames[i]);
	}
	mrc_stash_flush(&lane->stash);
	lane->counters.tx_packets += BURST;
	if (mode != MRC_RAW_IO) /* carries a header alone */
		lane->counters.tx_bytes += (uint64_t)BURST * lane->cfg.payload_len;
	return BURST;
}

/* ---- receive */

/* A frame of ours, whole and, if it carries an ICRC, sound. */
static bool frame_ok(struct mrc_raw_lane *lane, enum mrc_raw_mode mode, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t len = mrc_raw_lane_frame_len(lane), sum;

	if (m->data_len < len + (mode == MRC_RAW_ICRC ? MRC_ICRC_LEN : 0))
		return false;
	if (mode != MRC_RAW_ICRC)
		return true;
	sum = mrc_icrc_header(data + lane->ip_off, lane->hdr_len - lane->ip_off);
	sum = mrc_icrc_update(sum, data + lane->hdr_len, lane->cfg.payload_len);
	return sum == mrc_icrc_load(data + len);
}

static bool frame_is_raw(const struct mrc_raw_lane *lane, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t port_off =
		lane->ip_off + (lane->cfg.ipv6 ? MRC_IPV6_LEN : MRC_IPV4_LEN) + 2; /* UDP */

	return m->nb_segs == 1 && m->data_len >= port_off + 2 && data[port_off] == 0 &&
	       data[port_off + 1] == RAW_PORT;
}

static void frame_take(struct mrc_raw_lane *lane, enum mrc_raw_mode mode, const struct rte_mbuf *m)
{
	if (!frame_is_raw(lane, m)) {
		lane->counters.rx_others++;
		return;
	}
	if (!frame_ok(lane, mode, m)) {
		lane->counters.rx_bad++;
		return;
	}
	memcpy(mem_next(lane), rte_pktmbuf_mtod_offset(m, const uint8_t *, lane->hdr_len),
		lane->cfg.payload_len);
	lane->counters.rx_packets++;
	lane->counters.rx_bytes += lane->cfg.payload_len;
}

static uint32_t burst_take(struct mrc_raw_lane *lane, enum mrc_raw_mode mode)
{
	struct rte_mbuf *frames[BURST];
	uint32_t n = rte_eth_rx_burst(lane->cfg.port, lane->cfg.rxq, frames, BURST);

	if (n == 0)
		return 0;
	if (mode == MRC_RAW_IO) {
		lane->counters.rx_packets += n;
	} else {
		for (uint32_t i = 0; i < n; i++)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
		for (uint32_t i = 0; i < n; i++)
			frame_take(lane, mode, frames[i]);
	}
	rte_pktmbuf_free_bulk(frames, n);
	return n;
}

/* ---- ping-pong */

static void ping_send(struct mrc_raw_lane *lane)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lane->cfg.pool);

	if (m == NULL) {
		lane->counters.no_buffer++;
		return;
	}
	lane->sent_tsc = rte_rdtsc();
	frame_fill(lane, MRC_RAW_COPY, m);
	mrc_stash_put(&lane->stash, m);
	mrc_stash_flush(&lane->stash);
	lane->waiting = true;
	lane->counters.tx_packets++;
	lane->counters.tx_bytes += lane->cfg.payload_len;
}

/* The receiver sends each frame back, freshly written; the sender takes the time. */
static uint32_t ping_take(struct mrc_raw_lane *lane)
{
	struct rte_mbuf *frames[BURST];
	uint32_t n = rte_eth_rx_burst(lane->cfg.port, lane->cfg.rxq, frames, BURST);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t before = lane->counters.rx_packets;

		frame_take(lane, MRC_RAW_COPY, frames[i]);
		if (!lane->cfg.sender && lane->counters.rx_packets > before &&
			mrc_stash_room(&lane->stash) > 0) {
			frame_fill(lane, MRC_RAW_COPY, frames[i]);
			mrc_stash_put(&lane->stash, frames[i]);
			continue;
		}
		rte_pktmbuf_free(frames[i]);
		if (lane->cfg.sender && lane->waiting && lane->counters.rx_packets > before) {
			mrc_hist_add(&lane->rtt, rte_rdtsc() - lane->sent_tsc);
			lane->waiting = false;
		}
	}
	mrc_stash_flush(&lane->stash);
	return n;
}

static uint32_t ping_turn(struct mrc_raw_lane *lane, bool sending)
{
	uint32_t moved = ping_take(lane);

	if (!lane->cfg.sender)
		return moved;
	if (lane->waiting && rte_rdtsc() - lane->sent_tsc > lane->resend_tsc)
		lane->waiting = false;
	if (sending && !lane->waiting)
		ping_send(lane);
	return moved;
}

uint32_t mrc_raw_lane_poll(struct mrc_raw_lane *lane, enum mrc_raw_mode mode, bool sending)
{
	uint32_t moved;

	if (mode == MRC_RAW_PING)
		return ping_turn(lane, sending);
	moved = burst_take(lane, mode);
	if (lane->cfg.sender && sending)
		moved += burst_send(lane, mode);
	else if (lane->stash.nb > 0)
		mrc_stash_flush(&lane->stash);
	lane->counters.refused = lane->stash.refused;
	return moved;
}

void mrc_raw_lane_drain(struct mrc_raw_lane *lane)
{
	mrc_stash_drop(&lane->stash);
}
