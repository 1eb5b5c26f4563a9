/* SPDX-License-Identifier: BSD-2-Clause */
/* plain.c - the plain partner's objects, and the two entrances for packets. */
#include "plain_private.h"

#include "ident.h"

/* ---- objects ----------------------------------------------------------------------------------*/

static void *take(struct plain *p, size_t size)
{
	return p->env.alloc(p->env.ctx, size, 64);
}

static bool make_cqs(struct plain *p)
{
	for (uint32_t i = 0; i < p->cfg.nb_cqs; i++) {
		p->cqs[i].mask = p->cfg.cq_depth - 1;
		p->cqs[i].depth = p->cfg.cq_depth;
		p->cqs[i].ring = take(p, p->cfg.cq_depth * sizeof(*p->cqs[i].ring));
		if (p->cqs[i].ring == NULL)
			return false;
	}
	return true;
}

int plain_create(const struct plain_cfg *cfg, const struct mrc_env *env, struct plain **plain_out)
{
	struct plain *p = env->alloc(env->ctx, sizeof(*p), 64);

	if (p == NULL)
		return MRC_ERR_NOMEM;
	p->cfg = *cfg;
	p->env = *env;
	p->proto = *cfg->proto;
	p->planes = (uint32_t)((UINT64_C(1) << cfg->nb_planes) - 1);
	p->qps = take(p, cfg->max_qps * sizeof(*p->qps));
	p->mrs.mask = cfg->nb_mrs - 1;
	p->mrs.at = take(p, cfg->nb_mrs * sizeof(*p->mrs.at));
	p->paths = take(p, cfg->nb_paths * sizeof(*p->paths));
	p->cqs = take(p, cfg->nb_cqs * sizeof(*p->cqs));
	list_init(&p->ready);
	list_init(&p->due);
	if (p->qps == NULL || p->mrs.at == NULL || p->paths == NULL || p->cqs == NULL ||
		!make_cqs(p)) {
		plain_destroy(p);
		return MRC_ERR_NOMEM;
	}
	*plain_out = p;
	return MRC_OK;
}

void plain_destroy(struct plain *p)
{
	const struct plain_cfg *cfg = &p->cfg;

	for (uint32_t i = 0; p->qps != NULL && i < cfg->max_qps; i++) {
		struct plain_qp *qp = &p->qps[i];

		if (qp->sq.mem != NULL)
			p->env.free(p->env.ctx, qp->sq.mem,
				(size_t)(qp->sq.mask + 1) << qp->sq.wqe_shift);
		if (qp->rq != NULL)
			p->env.free(p->env.ctx, qp->rq, (qp->rq_mask + 1) * sizeof(*qp->rq));
	}
	if (p->qps != NULL)
		p->env.free(p->env.ctx, p->qps, cfg->max_qps * sizeof(*p->qps));
	if (p->mrs.at != NULL)
		p->env.free(p->env.ctx, p->mrs.at, cfg->nb_mrs * sizeof(*p->mrs.at));
	for (uint32_t i = 0; p->cqs != NULL && i < cfg->nb_cqs; i++)
		if (p->cqs[i].ring != NULL)
			p->env.free(p->env.ctx, p->cqs[i].ring,
				cfg->cq_depth * sizeof(*p->cqs[i].ring));
	if (p->cqs != NULL)
		p->env.free(p->env.ctx, p->cqs, cfg->nb_cqs * sizeof(*p->cqs));
	if (p->paths != NULL)
		p->env.free(p->env.ctx, p->paths, cfg->nb_paths * sizeof(*p->paths));
	p->env.free(p->env.ctx, p, sizeof(*p));
}

void plain_mr_set(struct plain *p, const struct mrc_sched_mr *mr)
{
	p->mrs.at[mr->key & p->mrs.mask] = (struct mr){.key = mr->key,
		.pd = mr->pd,
		.access = mr->access,
		.addr = mr->addr,
		.iova = mr->iova,
		.len = mr->len};
}

int plain_path_set(struct plain *p, uint32_t index, const struct plain_path_cfg *cfg)
{
	const struct mrc_ev *ev = mrc_ev_get(cfg->evs, 0);
	struct plain_path *path = &p->paths[index];
	static const uint8_t none[16];
	int err = MRC_OK;

	if (index >= p->cfg.nb_paths)
		return MRC_ERR_INVAL;
	*path = (struct plain_path){.evs = cfg->evs, .local = cfg->local, .peer = cfg->peer};
	for (uint32_t i = 0; i < p->cfg.nb_planes && err == MRC_OK; i++) {
		const struct mrc_sched_plane *port = &p->cfg.planes[i];
		struct mrc_flow flow = {.vlan_tci = port->vlan_tci,
			.ttl = 64,
			.flags = port->vlan ? MRC_PKT_VLAN : 0,
			.src = cfg->local,
			.dst = cfg->peer,
			.outer_src = cfg->local};

		if (memcmp(ev->srv6_dst, none, sizeof(none)) != 0)
			flow.flags |= ev->has_seg ? MRC_PKT_SRV6 | MRC_PKT_SRH : MRC_PKT_SRV6;
		memcpy(flow.smac, port->mac, 6);
		memcpy(flow.dmac, cfg->macs[i], 6);
		err = mrc_template_init(&path->tmpl[i], &p->proto, &flow);
	}
	return err;
}

int plain_qp_add(struct plain *p, const struct plain_qp_cfg *cfg)
{
	uint32_t index = cfg->qpn & QPN_INDEX_MASK;
	struct plain_qp *qp = &p->qps[index];

	if (index >= p->cfg.max_qps || qp->qpn != 0)
		return MRC_ERR_INVAL;
	*qp = (struct plain_qp){.qpn = cfg->qpn,
		.dest_qpn = cfg->dest_qpn,
		.pd = cfg->pd,
		.pmtu_shift = (uint8_t)__builtin_ctz(cfg->pmtu),
		.state = MRC_QP_RTS,
		.sig_all = cfg->sq_sig_all,
		.local = p->paths[cfg->path].local,
		.peer = p->paths[cfg->path].peer,
		.path = &p->paths[cfg->path],
		.send_cq = &p->cqs[cfg->send_cq],
		.recv_cq = &p->cqs[cfg->recv_cq],
		.cack = mrc_psn(MRC_PSN_MASK),
		.tx_window = (uint32_t)cfg->mpr * MRC_MPR_UNIT,
		.rx_msn = p->proto.choice.first_msn,
		.rq_rqmsn = mrc_msn(p->proto.choice.first_rqmsn),
		.sq = {.mask = cfg->sq_depth - 1,
			.ack_psn = mrc_psn(MRC_PSN_MASK),
			.max_wimm = cfg->max_wimm,
			.next_msn = mrc_msn(p->proto.choice.first_msn),
			.next_rqmsn = mrc_msn(p->proto.choice.first_rqmsn),
			.max_sge = cfg->max_sge,
			.wqe_shift = sendq_wqe_shift(cfg->max_sge)},
		.rq_mask = cfg->rq_depth - 1,
		.cc_cfg = cfg->cc,
		.ctx = cfg->ctx};
	qp->sq.mem = take(p, (size_t)cfg->sq_depth << qp->sq.wqe_shift);
	qp->rq = take(p, cfg->rq_depth * sizeof(*qp->rq));
	list_init(&qp->due_link);
	list_init(&qp->ready_link);
	if (cfg->cc != NULL)
		mrc_nscc_init(&qp->cc, cfg->cc, 0);
	return qp->sq.mem != NULL && qp->rq != NULL ? MRC_OK : MRC_ERR_NOMEM;
}

uint32_t plain_cq_poll(struct plain *p, uint32_t index, struct mrc_sched_wc *wc_out, uint32_t n)
{
	return cq_take(&p->cqs[index], wc_out, n);
}

const struct mrc_sched_counters *plain_counters(const struct plain *p)
{
	return &p->counters;
}

/* ---- packets out ------------------------------------------------------------------------------*/

uint32_t plain_tx(struct plain *p, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n)
{
	uint32_t nb = plain_answer(p, now_ns, bufs, n);

	return nb + plain_send(p, now_ns, bufs + nb, n - nb);
}

/* ---- packets in -------------------------------------------------------------------------------*/

struct seen {
	struct plain_qp *qp;
	uint8_t drop; /* enum mrc_drop */
	uint8_t worker;
	uint8_t icrc; /* enum icrc_seen */
};

/* First pass: decodes, and starts loading the QP. True: one for the second pass. */
static inline bool look(
	struct plain *p, const struct mrc_rxbuf *buf, struct mrc_pkt *pkt, struct seen *seen)
{
	uint32_t index;

	MRC_ASSERT(buf->plane < p->cfg.nb_planes);
	seen->qp = NULL;
	seen->icrc = ICRC_UNSEEN;
	seen->worker = (uint8_t)p->cfg.worker;
	seen->drop = (uint8_t)mrc_pkt_decode(&p->proto, buf->data, buf->len, pkt);
	if (seen->drop != MRC_KEEP)
		return false;
	seen->worker = (uint8_t)mrc_sched_qpn_worker(pkt->dqpn);
	if (seen->worker != p->cfg.worker)
		return false;
	seen->drop = (uint8_t)ident_vlan(&p->cfg.planes[buf->plane], pkt);
	index = pkt->dqpn & QPN_INDEX_MASK;
	if (pkt->dqpn == MRC_QPN_ENDPOINT || index >= p->cfg.max_qps)
		return false;
	seen->qp = &p->qps[index];
	__builtin_prefetch(seen->qp);
	__builtin_prefetch((const uint8_t *)seen->qp + 64);
	__builtin_prefetch((const uint8_t *)seen->qp + 128);
	__builtin_prefetch((const uint8_t *)seen->qp + 192);
	return ident_early(pkt);
}

/* Second pass: ICRCs of short packets, side by side. */
static void sum_short(
	const struct plain *p, const struct mrc_rxbuf *bufs, uint32_t n, struct seen *seen)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct mrc_pkt *pkt = &p->scratch[i];

		if (seen[i].drop != MRC_KEEP || seen[i].qp == NULL ||
			seen[i].qp->qpn != pkt->dqpn || !ident_early(pkt))
			continue;
		seen[i].icrc = (uint8_t)ident_sum(pkt, bufs[i].data);
	}
}

static inline enum mrc_drop identify(const struct plain *p, const struct plain_qp *qp,
	const struct mrc_pkt *pkt, const uint8_t *frame, const struct seen *seen)
{
	enum mrc_drop drop;

	if (qp == NULL || qp->qpn == 0)
		return MRC_DROP_QPN_UNKNOWN;
	if (qp->qpn != pkt->dqpn)
		return MRC_DROP_QPN_GENERATION;
	if (__builtin_expect(qp->state != MRC_QP_RTS, 0))
		return MRC_DROP_QP_STATE;
	drop = ident_ends(pkt, &qp->local, &qp->peer);
	if (drop != MRC_KEEP)
		return drop;
	/* There is nothing that a trimmed packet could cause here. */
	if (pkt->flags & MRC_PKT_TRIMMED)
		return MRC_DROP_TRIM_WINDOW;
	if (p->cfg.icrc && !ident_icrc_ok(pkt, frame, (enum icrc_seen)seen->icrc))
		return MRC_DROP_ICRC;
	return MRC_KEEP;
}

static enum mrc_drop handle(struct plain *p, uint64_t now_ns, const struct mrc_pkt *pkt,
	const uint8_t *frame, const struct seen *seen)
{
	struct plain_qp *qp = seen->qp;
	enum mrc_drop drop = identify(p, qp, pkt, frame, seen);

	if (__builtin_expect(drop != MRC_KEEP, 0))
		return drop;
	if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE)
		return plain_write(p, qp, pkt, frame);
	if (pkt->opcode == MRC_OP_SACK)
		return plain_sack(p, now_ns, qp, pkt);
	if (pkt->opcode == MRC_OP_ACK)
		return plain_ack(p, qp, pkt);
	return MRC_DROP_BTH_OPCODE;
}

static void batch(struct plain *p, uint64_t now_ns, const struct mrc_rxbuf *bufs, uint32_t n,
	struct mrc_rx_verdict *verdict_out)
{
	struct seen seen[RX_BATCH];
	uint32_t nb_short = 0;

	for (uint32_t i = 0; i < n; i++)
		nb_short += look(p, &bufs[i], &p->scratch[i], &seen[i]);
	if (p->cfg.icrc && nb_short != 0)
		sum_short(p, bufs, n, seen);
	for (uint32_t i = 0; i < n; i++) {
		struct mrc_sched_plane_counters *plane = &p->counters.planes[bufs[i].plane];
		enum mrc_drop drop = (enum mrc_drop)seen[i].drop;

		if (drop == MRC_KEEP && seen[i].worker != p->cfg.worker &&
			seen[i].worker < p->cfg.nb_workers) {
			p->counters.foreign_worker++;
			verdict_out[i] = (struct mrc_rx_verdict){
				.kind = MRC_RX_FOREIGN_WORKER, .arg = seen[i].worker};
			continue;
		}
		p->counters.rx_packets++;
		plane->rx_packets++;
		plane->rx_bytes += bufs[i].len;
		if (drop == MRC_KEEP)
			drop = handle(p, now_ns, &p->scratch[i], bufs[i].data, &seen[i]);
		verdict_out[i].kind = drop == MRC_KEEP ? MRC_RX_CONSUMED : MRC_RX_DROP;
		verdict_out[i].arg = (uint8_t)drop;
		if (__builtin_expect(drop != MRC_KEEP, 0))
			p->counters.drops[drop]++;
	}
}

void plain_rx(struct plain *p, uint64_t now_ns, const struct mrc_rxbuf *bufs, uint32_t n,
	struct mrc_rx_verdict *verdict_out)
{
	while (n > 0) {
		uint32_t nb = n < RX_BATCH ? n : RX_BATCH;

		batch(p, now_ns, bufs, nb, verdict_out);
		bufs += nb;
		verdict_out += nb;
		n -= nb;
	}
}
