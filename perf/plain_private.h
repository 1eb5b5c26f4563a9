/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_private.h - structures shared by the files of the plain partner (plain.h). */
#ifndef PERF_PLAIN_PRIVATE_H
#define PERF_PLAIN_PRIVATE_H

#include "engine.h"
#include "plain.h"

struct plain_path {
	struct mrc_ev_set *evs;
	struct mrc_template tmpl[MRC_MAX_PLANES];
	struct mrc_ev_cursor cursor; /* of answers */
	struct mrc_gid local, peer;
};

struct plain_qp {
	/* identity */
	uint32_t qpn, dest_qpn;
	uint32_t pd;
	uint8_t pmtu_shift;
	uint8_t state; /* enum mrc_qp_state */
	bool sig_all;
	struct mrc_gid local, peer;
	struct plain_path *path;
	/* responder */
	uint8_t due; /* enum due */
	uint8_t trigger_m;
	mrc_psn_t cack; /* last PSN received */
	mrc_psn_t trigger_psn;
	uint32_t trigger_ev;
	uint32_t sack_bytes;
	uint16_t trigger_stamp;
	uint64_t rcvd_len;
	uint32_t rx_msn;
	mrc_msn_t rq_rqmsn;
	struct link due_link;
	uint64_t *rq;
	uint32_t rq_mask, rq_head, rq_tail;
	struct mrc_sched_cq *recv_cq;
	/* requester */
	mrc_psn_t una, next;
	uint32_t tx_window;
	struct sendq sq;
	struct mrc_sched_cq *send_cq;
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
	struct mr_table mrs;
	struct mrc_sched_cq *cqs;
	struct plain_path *paths;
	uint32_t planes; /* usable */
	struct link ready, due;
	struct mrc_pkt scratch[RX_BATCH];
	struct mrc_sched_counters counters;
};

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
