/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.h - the yardstick for what recovery costs: a requester and a responder of MRC for networks
 * that lose, double and reorder nothing.
 *
 * Everything of the protocol's clean path is here. What the engine keeps in order to recover is
 * not: no receive map, no sent map, no bitmap, no chains of path order, no retransmission, no
 * timers, no probes, no parked immediates, no notes, no NACKs. A packet that does not arrive in its
 * turn is dropped and counted, and the stream stands still.
 *
 * What has nothing to do with recovery is one piece for both, so that they cannot drift apart:
 * decoding, ICRC, entropy values, congestion window (the libraries), and of the engine's private
 * headers the send queue with posting, cutting, gathering, AckReq policy and completion (sendq.h),
 * regions (mr.h), the checks of a write (write.h) and of who sent it (ident.h), the header that
 * leaves (hdr.h), completion queues (cq.h), when a SACK is due (sack.h).
 *
 * Its own, because in the engine recovery is woven into it: the loops over packets and QPs, the
 * place of a PSN, the turn of an immediate, what stands in a SACK and a transport ACK and what is
 * made of one that comes. There a change of the engine has to be repeated here; bench_recovery
 * --check finds one that changes a frame.
 *
 * It speaks to the engine in either role, and what it sends is what the engine sends, byte for byte
 * (bench_recovery compares every frame). QP numbers and keys are given to it, so that they can be
 * the engine's. What an endpoint has to be able to do without any loss it can do as well: several
 * SGEs, IPv4 and IPv6, SRv6, VLAN tags, a peer and a path for each QP, states of a QP (a refused
 * request ends in ERR, and nothing is heard or posted there), completion queues. A partner without
 * them would be cheaper for reasons that have nothing to do with recovery.
 */
#ifndef PERF_PLAIN_H
#define PERF_PLAIN_H

#include "mrc_sched.h"

struct plain;

struct plain_cfg {
	const struct mrc_proto *proto; /* outlives the object */
	uint32_t worker, nb_workers;
	uint32_t nb_planes;
	uint32_t max_qps; /* QPs are named by the low 12 bits of their number */
	uint32_t nb_mrs;  /* a power of two: regions are named by the low bits of their key */
	uint32_t nb_paths;
	uint32_t nb_cqs;
	uint32_t cq_depth; /* a power of two */
	bool icrc, timestamps;
	struct mrc_sched_hooks hooks;
	struct mrc_sched_plane planes[MRC_MAX_PLANES];
};

/* What QPs between the same two addresses share. */
struct plain_path_cfg {
	struct mrc_gid local, peer;
	struct mrc_ev_set *evs;
	uint8_t macs[MRC_MAX_PLANES][6]; /* the peer's */
};

struct plain_qp_cfg {
	uint32_t qpn, dest_qpn, pd;
	uint32_t sq_depth, rq_depth; /* powers of two */
	const struct mrc_nscc_cfg *cc;
	uint32_t pmtu;
	uint8_t mpr;
	uint16_t max_wimm;
	bool sq_sig_all;
	uint8_t max_sge;
	uint32_t path, send_cq, recv_cq; /* by number */
	void *ctx;
};

/* MRC_OK or MRC_ERR_NOMEM. */
int plain_create(const struct plain_cfg *cfg, const struct mrc_env *env, struct plain **plain_out);
void plain_destroy(struct plain *plain);
/* Installs a region under the key that it has. */
void plain_mr_set(struct plain *plain, const struct mrc_sched_mr *mr);
/* MRC_OK or MRC_ERR_INVAL. */
int plain_path_set(struct plain *plain, uint32_t path, const struct plain_path_cfg *cfg);
/* A QP ready to send and to receive; first PSN 0 both ways. MRC_OK, MRC_ERR_INVAL, MRC_ERR_NOMEM.
 */
int plain_qp_add(struct plain *plain, const struct plain_qp_cfg *cfg);

/* By the QP's index. kind 0: a write; MRC_OPF_IMMDT: a write with immediate. Errors as
 * mrc_sched_post_write. */
int plain_post_write(
	struct plain *plain, uint32_t index, const struct mrc_sched_send_wr *wr, uint32_t kind);
int plain_post_recv(struct plain *plain, uint32_t index, const struct mrc_sched_recv_wr *wr);
uint32_t plain_cq_poll(struct plain *plain, uint32_t cq, struct mrc_sched_wc *wc_out, uint32_t n);

/* As mrc_sched_tx and mrc_sched_rx. A completion's qp is the ctx of the QP. */
uint32_t plain_tx(struct plain *plain, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n);
void plain_rx(struct plain *plain, uint64_t now_ns, const struct mrc_rxbuf *bufs, uint32_t n,
	struct mrc_rx_verdict *verdict_out);
const struct mrc_sched_counters *plain_counters(const struct plain *plain);

#endif
