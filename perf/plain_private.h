/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_private.h - structures shared by the files of the plain partner (plain.h). */
#ifndef PERF_PLAIN_PRIVATE_H
#define PERF_PLAIN_PRIVATE_H

#include <string.h>

#include "list.h"
#include "mrc_assert.h"
#include "plain.h"

enum {
	PLAIN_INDEX_MASK = 0xFFF,
	PLAIN_RX_BATCH = 16,
	PLAIN_TX_QUANTUM = 16,
	PLAIN_NOMINAL_EXTRA = 40,
};

enum plain_wqe_flag {
	PLAIN_SIGNALED = 1 << 0,
	PLAIN_SOLICITED = 1 << 1,
	PLAIN_IMM = 1 << 2,
};

struct plain_mr {
	uint32_t key, pd, access;
	uint8_t *addr;
	uint64_t iova, len;
};

struct plain_sge {
	const uint8_t *base;
	uint32_t len, lkey;
};

/* A send work request; followed by its other SGEs. */
struct plain_wqe {
	uint64_t wr_id, raddr;
	uint32_t rkey;
	uint32_t len, nb_pkts;
	mrc_psn_t first_psn;
	mrc_msn_t msn, rqmsn;
	uint8_t imm[4];
	uint8_t flags; /* enum plain_wqe_flag */
	uint8_t nb_sge;
	struct plain_sge sge[1];
};
_Static_assert(sizeof(struct plain_wqe) == 64, "one SGE: one cache line");

struct plain_cq {
	struct mrc_sched_wc *ring;
	uint32_t mask, head, tail;
};

struct plain_path {
	struct mrc_ev_set *evs;
	struct mrc_template tmpl[MRC_MAX_PLANES];
	struct mrc_ev_cursor cursor; /* of answers */
	struct mrc_gid local, peer;
};

enum plain_due {
	PLAIN_DUE_SACK = 1 << 0,
	PLAIN_DUE_ACK = 1 << 1,
};

struct plain_qp {
	/* identity */
	uint32_t qpn, dest_qpn;
	uint32_t pd;
	uint8_t pmtu_shift;
	uint8_t state; /* enum mrc_qp_state */
	bool sig_all;
	uint8_t max_sge;
	struct mrc_gid local, peer;
	struct plain_path *path;
	/* responder */
	uint8_t due; /* enum plain_due */
	uint8_t trigger_m;
	mrc_psn_t cack; /* last PSN received */
	uint32_t rx_window;
	mrc_psn_t trigger_psn;
	uint32_t trigger_ev;
	uint32_t sack_bytes;
	uint16_t trigger_stamp;
	uint16_t max_wimm_dest;
	uint64_t rcvd_len;
	uint32_t rx_msn;
	mrc_msn_t rq_rqmsn;
	struct link due_link;
	uint64_t *rq;
	uint32_t rq_mask, rq_head, rq_tail;
	struct plain_cq *recv_cq;
	/* requester */
	mrc_psn_t una, next;
	uint32_t tx_window;
	uint8_t *sq;
	uint32_t sq_mask, sq_head, sq_done, sq_cur, sq_tail;
	uint32_t sq_stride; /* bytes */
	uint32_t cur_pkt, since_ask, nb_imm;
	mrc_psn_t ack_psn;
	uint16_t max_wimm;
	mrc_msn_t next_msn, next_rqmsn;
	struct plain_cq *send_cq;
	struct link ready_link;
	struct mrc_ev_cursor cursor;
	const struct mrc_nscc_cfg *cc_cfg; /* NULL: no congestion control */
	struct mrc_nscc cc;
	void *ctx;
} __attribute__((aligned(64)));

struct plain {
	struct plain_cfg cfg;
	struct mrc_proto proto;
	struct mrc_env env;
	struct plain_qp *qps;
	struct plain_mr *mrs;
	struct plain_cq *cqs;
	struct plain_path *paths;
	uint32_t planes; /* usable */
	struct link ready, due;
	struct mrc_pkt scratch[PLAIN_RX_BATCH];
	struct mrc_sched_counters counters;
};

static inline uint16_t plain_stamp(uint64_t now_ns)
{
	return (uint16_t)(now_ns / MRC_TS_TICK_NS);
}

static inline struct plain_mr *plain_mr_find(struct plain *p, uint32_t key)
{
	struct plain_mr *mr = &p->mrs[key & (p->cfg.nb_mrs - 1)];

	return mr->key == key && key != 0 ? mr : NULL;
}

static inline bool plain_mr_covers(const struct plain_mr *mr, uint64_t iova, uint64_t len)
{
	uint64_t off = iova - mr->iova;

	return iova >= mr->iova && off <= mr->len && len <= mr->len - off;
}

static inline struct plain_wqe *plain_sq_at(const struct plain_qp *qp, uint32_t at)
{
	return (struct plain_wqe *)(void *)(qp->sq + (size_t)(at & qp->sq_mask) * qp->sq_stride);
}

/* Writes the header of a packet, L2 to the last extension, and counts it. Returns the length up to
 * the BTH. */
static inline uint32_t plain_put(struct plain *p, const struct plain_path *path,
	const struct mrc_ev *ev, const struct mrc_pkt *pkt, uint16_t body_len,
	struct mrc_txbuf *buf)
{
	const struct mrc_template *tmpl = &path->tmpl[ev->plane];
	struct mrc_sched_plane_counters *plane = &p->counters.planes[ev->plane];
	struct mrc_template_vary vary = {.ev = ev->value,
		.cls = pkt->cls,
		.ecn = pkt->ecn,
		.body_len = body_len,
		.srv6_dst = (const struct mrc_gid *)(const void *)ev->srv6_dst,
		.srv6_seg = (const struct mrc_gid *)(const void *)ev->srv6_seg};
	uint32_t len = mrc_template_put(tmpl, &p->proto, &vary, buf->hdr);
	const uint8_t *end = mrc_pkt_put_transport(&p->proto, pkt, buf->hdr + len);

	MRC_ASSERT(end - buf->hdr <= MRC_HDR_ROOM);
	buf->hdr_len = (uint16_t)(end - buf->hdr);
	buf->ip_off = tmpl->ip_off;
	buf->plane = ev->plane;
	buf->cls = pkt->cls;
	p->counters.tx_packets++;
	plane->tx_packets++;
	plane->tx_bytes += len + body_len;
	return len;
}

/* Place of the next completion, which is to be written at once; NULL when the queue is full. */
static inline struct mrc_sched_wc *plain_cq_place(struct plain_cq *cq)
{
	if (__builtin_expect(cq->tail - cq->head > cq->mask, 0))
		return NULL;
	return &cq->ring[cq->tail++ & cq->mask];
}

/* plain_req.c: sends new data of QPs in turn. */
uint32_t plain_send(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n);
enum mrc_drop plain_sack(
	struct plain *p, uint64_t now_ns, struct plain_qp *qp, const struct mrc_pkt *pkt);
enum mrc_drop plain_ack(struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt);

/* plain_resp.c: sends the answers that are due. */
uint32_t plain_answer(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n);
enum mrc_drop plain_write(
	struct plain *p, struct plain_qp *qp, const struct mrc_pkt *pkt, const uint8_t *frame);

#endif
