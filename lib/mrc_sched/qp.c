/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.c - queue pairs: life, attributes, failure.
 *
 *              modify          modify         modify
 *     RESET ──────────► INIT ──────────► RTR ──────────► RTS
 *       ▲                 │               │ receives      │ sends and receives
 *       │  modify         └───────────────┴───────┬───────┘
 *       └───────────────────────── ERR ◄──────────┘ modify, or a fault
 *
 * From every state modify may go to ERR or RESET. RTR and RTS receive; RTS sends; ERR answers
 * nothing but why it failed.
 */
#include "engine.h"

#include <string.h>

enum {
	MTU_OVERHEAD_V4 = MRC_IPV4_LEN + MRC_UDP_LEN + MRC_BTH_LEN + MRC_METH_LEN + MRC_TSETH_LEN +
			  MRC_RETH_LEN + MRC_IMMDT_LEN + MRC_ICRC_LEN,
	MTU_OVERHEAD_V6 = MTU_OVERHEAD_V4 - MRC_IPV4_LEN + MRC_IPV6_LEN,
	MTU_OVERHEAD_SRV6 = MTU_OVERHEAD_V6 + MRC_IPV6_LEN + MRC_SRH_LEN,
	NB_STATES = MRC_QP_ERR + 1,
};

const char *mrc_qp_state_name(enum mrc_qp_state state)
{
	switch (state) {
	case MRC_QP_RESET:
		return "RESET";
	case MRC_QP_INIT:
		return "INIT";
	case MRC_QP_RTR:
		return "RTR";
	case MRC_QP_RTS:
		return "RTS";
	case MRC_QP_ERR:
		return "ERR";
	}
	return "?";
}

bool qp_state_may(enum mrc_qp_state from, enum mrc_qp_state to)
{
	/* Bit `to` of row `from`. */
	static const uint8_t table[NB_STATES] = {
		[MRC_QP_RESET] = 1 << MRC_QP_RESET | 1 << MRC_QP_INIT | 1 << MRC_QP_ERR,
		[MRC_QP_INIT] = 1 << MRC_QP_RESET | 1 << MRC_QP_RTR | 1 << MRC_QP_ERR,
		[MRC_QP_RTR] = 1 << MRC_QP_RESET | 1 << MRC_QP_RTS | 1 << MRC_QP_ERR,
		[MRC_QP_RTS] = 1 << MRC_QP_RESET | 1 << MRC_QP_ERR,
		[MRC_QP_ERR] = 1 << MRC_QP_RESET | 1 << MRC_QP_ERR,
	};

	return (uint32_t)from < NB_STATES && (uint32_t)to < NB_STATES &&
	       (table[from] >> to & 1) != 0;
}

void qp_state_set(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, enum mrc_qp_state state)
{
	MRC_ASSERT(qp_state_may((enum mrc_qp_state)qp->state, state));
	MRC_ASSERT(qp->qpn != 0);
	trace(s, now_ns, MRC_TRACE_QP_STATE, qp->qpn, qp->state, state);
	qp->state = (uint8_t)state;
}

void mrc_sched_qp_attr_default(struct mrc_sched_qp_attr *attr_out)
{
	*attr_out = (struct mrc_sched_qp_attr){
		.pmtu = MRC_PMTU_MAX,
		.ttl = 64,
		.mpr_dest = MRC_MPR_DEFAULT,
		.max_wimm_dest = MRC_WIMM_DEFAULT,
		.trim_nack_peer = true,
		.mpr = MRC_MPR_DEFAULT,
		.max_wimm = MRC_WIMM_DEFAULT,
		.timeout = 8,
		.linear_cnt = MRC_LINEAR_MAX,
		.exp_cnt = MRC_EXP_MAX,
	};
}

static bool qp_cfg_ok(const struct mrc_sched *s, const struct mrc_sched_qp_cfg *cfg)
{
	if (cfg->pd >= s->cfg.max_pds || !s->pds[cfg->pd].used)
		return false;
	if (cfg->send_cq == NULL || cfg->recv_cq == NULL || !cfg->send_cq->used ||
		!cfg->recv_cq->used)
		return false;
	if (cfg->sq_depth == 0 || cfg->rq_depth == 0 || cfg->sq_depth > 65536 ||
		cfg->rq_depth > 1u << 20)
		return false;
	return cfg->max_sge >= 1 && cfg->max_sge <= MRC_SCHED_MAX_SGE;
}

/* Takes a QP off the free list under a number that its last life did not have. */
static struct mrc_sched_qp *qp_take(struct mrc_sched *s)
{
	struct mrc_sched_qp *qp = LIST_OWNER(s->free_qps.next, struct mrc_sched_qp, link);

	list_remove(&qp->link);
	qp->gen = qp->gen == QPN_GEN_MASK ? 1 : (uint8_t)(qp->gen + 1);
	qp->qpn = (uint32_t)qp->gen << QPN_GEN_SHIFT | s->cfg.worker << QPN_INDEX_BITS | qp->index;
	MRC_ASSERT(qp->qpn > MRC_QPN_ENDPOINT);
	return qp;
}

int mrc_sched_qp_create(
	struct mrc_sched *s, const struct mrc_sched_qp_cfg *cfg, struct mrc_sched_qp **qp_out)
{
	struct mrc_sched_qp *qp;
	void *sq, *rq;

	if (!qp_cfg_ok(s, cfg))
		return MRC_ERR_INVAL;
	if (list_empty(&s->free_qps))
		return MRC_ERR_NOMEM;
	sq = arena_alloc(
		&s->arena, (size_t)pow2_up(cfg->sq_depth) << sendq_wqe_shift(cfg->max_sge));
	rq = arena_alloc(&s->arena, pow2_up(cfg->rq_depth) * sizeof(uint64_t));
	if (sq == NULL || rq == NULL) {
		arena_free(&s->arena, sq);
		arena_free(&s->arena, rq);
		return MRC_ERR_NOMEM;
	}
	qp = qp_take(s);
	qp->state = MRC_QP_RESET;
	qp->flags = 0;
	if (cfg->sq_sig_all)
		qp->flags |= QPF_SIG_ALL;
	qp->pd = cfg->pd;
	qp->sq = (struct sendq){.mem = sq,
		.mask = pow2_up(cfg->sq_depth) - 1,
		.max_sge = (uint8_t)cfg->max_sge,
		.wqe_shift = sendq_wqe_shift(cfg->max_sge)};
	qp->rq = rq;
	qp->rq_mask = pow2_up(cfg->rq_depth) - 1;
	qp->rq_head = qp->rq_tail = 0;
	qp->send_cq = cfg->send_cq;
	qp->recv_cq = cfg->recv_cq;
	qp->send_cq->refs++;
	qp->recv_cq->refs++;
	qp->ctx = cfg->ctx;
	qp->path = NULL;
	qp->rcv.slots = NULL;
	qp->snt.slots = NULL;
	qp->nb_lost = 0;
	qp->due = 0;
	qp->timer.kind = TIMER_QP;
	(void)pd_ref(s, cfg->pd);
	*qp_out = qp;
	return MRC_OK;
}

/* ---- attributes ---- */

/* spec */
static bool pmtu_ok(uint32_t pmtu)
{
	return pmtu >= MRC_PMTU_MIN && pmtu <= MRC_PMTU_MAX && (pmtu & (pmtu - 1)) == 0;
}

/* Planes through which a full packet fits. */
static uint32_t fitting_planes(
	const struct mrc_sched *s, const struct mrc_sched_qp_attr *attr, struct mrc_ev_set *evs)
{
	static const uint8_t none[16];
	uint32_t need = attr->pmtu, planes = 0;

	if (memcmp(mrc_ev_get(evs, 0)->srv6_dst, none, sizeof(none)) != 0)
		need += MTU_OVERHEAD_SRV6;
	else
		need += mrc_gid_is_v4(&attr->local) ? MTU_OVERHEAD_V4 : MTU_OVERHEAD_V6;
	for (uint32_t p = 0; p < s->cfg.nb_planes; p++) {
		if (s->cfg.planes[p].mtu == 0 || s->cfg.planes[p].mtu >= need)
			planes |= UINT32_C(1) << p;
	}
	return planes;
}

/* spec */
static int to_rtr(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_sched_qp_attr *attr)
{
	struct mrc_ev_set *evs = attr->ev_set != NULL ? attr->ev_set : qp->evs;
	uint32_t nb_slots = pow2_up(attr->mpr_dest + 2u), planes;
	struct path *path;
	uint16_t *slots;

	if (evs == NULL || !pmtu_ok(attr->pmtu) || attr->ttl == 0 || attr->mpr_dest == 0 ||
		attr->max_wimm_dest == 0 || attr->dest_qpn <= MRC_QPN_ENDPOINT ||
		attr->dest_qpn > 0xFFFFFF || attr->rq_psn.v > MRC_PSN_MASK ||
		mrc_gid_is_v4(&attr->local) != mrc_gid_is_v4(&attr->peer))
		return MRC_ERR_INVAL;
	planes = fitting_planes(s, attr, evs);
	if (planes == 0)
		return MRC_ERR_INVAL;
	slots = arena_alloc(&s->arena, nb_slots * sizeof(*slots));
	if (slots == NULL)
		return MRC_ERR_NOMEM;
	path = path_get(s, now_ns, &attr->local, &attr->peer, evs, attr->ttl);
	if (path == NULL) {
		arena_free(&s->arena, slots);
		return MRC_ERR_NOMEM;
	}
	qp->path = path;
	qp->evs = evs;
	qp->fit_planes = planes;
	qp->local = attr->local;
	qp->peer = attr->peer;
	qp->dest_qpn = attr->dest_qpn;
	qp->pmtu_shift = (uint8_t)__builtin_ctz(attr->pmtu);
	qp->flags &= (uint16_t) ~(QPF_TRIM_PEER | QPF_SVC_TIME | QPF_DYNAMIC | QPF_SLOWED);
	qp->flags |= (uint16_t)((attr->trim_nack_peer ? QPF_TRIM_PEER : 0) |
				(attr->svc_time_peer ? QPF_SVC_TIME : 0) |
				(attr->dynamic_mpr ? QPF_DYNAMIC : 0));
	rcvmap_init(&qp->rcv, slots, nb_slots, mrc_psn_add(attr->rq_psn, -1));
	qp->rx_units = attr->mpr_dest;
	qp->rx_window = (uint32_t)attr->mpr_dest * MRC_MPR_UNIT;
	qp->rx_edge = mrc_psn_add(qp->rcv.cack, (int32_t)qp->rx_window);
	qp->sack_next = attr->rq_psn;
	qp->gap_next = attr->rq_psn;
	qp->head_next = attr->rq_psn;
	qp->nb_more = 0;
	qp->wide_turn = qp->gap_turn = false;
	qp->rtx_turn = 0;
	qp->sack_bytes = 0;
	qp->rcvd_len = 0;
	qp->due = 0;
	qp->nak_syndrome = 0;
	qp->nb_violations = 0;
	qp->rx_msn = s->proto.choice.first_msn;
	qp->rq_rqmsn = mrc_msn(s->proto.choice.first_rqmsn);
	qp->max_wimm_dest = attr->max_wimm_dest;
	MRC_ASSERT(qp->nb_parked == 0);
	qp->nack_tat_ns = 0;
	return MRC_OK;
}

/* spec */
static int to_rts(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_sched_qp_attr *attr)
{
	uint32_t nb_slots = pow2_up(attr->mpr + 2u);
	uint16_t *slots;

	if (attr->mpr == 0 || attr->max_wimm == 0 || attr->timeout > MRC_TIMEOUT_MAX_EXP ||
		attr->linear_cnt > MRC_LINEAR_MAX || attr->exp_cnt > MRC_EXP_MAX ||
		attr->sq_psn.v > MRC_PSN_MASK)
		return MRC_ERR_INVAL;
	slots = arena_alloc(&s->arena, nb_slots * sizeof(*slots));
	if (slots == NULL)
		return MRC_ERR_NOMEM;
	sentmap_init(&qp->snt, slots, nb_slots, attr->sq_psn);
	qp->tx_units_max = attr->mpr;
	qp->tx_window = (uint32_t)attr->mpr * MRC_MPR_UNIT;
	qp->top_units = 0;
	qp->suspect_ns = 0;
	qp->suspect_end = attr->sq_psn;
	qp->cursor = (struct mrc_ev_cursor){0};
	qp->flags &= (uint16_t) ~(QPF_PER_PACKET | QPF_CC | QPF_FORCE | QPF_REASK | QPF_LATE);
	if (attr->per_packet_timers)
		qp->flags |= QPF_PER_PACKET;
	if (attr->cc != NULL)
		qp->cc_cfg = attr->cc;
	if (qp->cc_cfg != NULL) {
		qp->flags |= QPF_CC;
		mrc_nscc_init(&qp->cc, qp->cc_cfg, now_ns);
	}
	qp->sq.cur_pkt = 0;
	qp->sq.since_ask = 0;
	qp->ask_psn = mrc_psn_add(attr->sq_psn, -1);
	qp->sq.ack_psn = qp->ask_psn;
	qp->sq.nb_imm = 0;
	qp->sq.max_wimm = attr->max_wimm;
	qp->sq.next_msn = mrc_msn(s->proto.choice.first_msn);
	qp->sq.next_rqmsn = mrc_msn(s->proto.choice.first_rqmsn);
	qp->rto_ns = qp->ask_ns = qp->probe_ns = qp->wake_ns = WHEEL_NEVER;
	qp->pause_ns = qp->park_ns = WHEEL_NEVER;
	qp->timeout_ns = (uint64_t)MRC_TIMEOUT_BASE_NS << attr->timeout;
	qp->srtt_ns = qp->rttvar_ns = 0;
	qp->answer_ns = qp->count_ns = now_ns;
	qp->edge_ns = 0;
	qp->retries = 0;
	qp->nb_mute = 0;
	qp->linear_cnt = attr->linear_cnt;
	qp->exp_cnt = attr->exp_cnt;
	qp->next_probe = (uint16_t)s->env.random64(s->env.ctx);
	memset(qp->probes, 0, sizeof(qp->probes));
	return MRC_OK;
}

/* ---- ending ---- */

/* Takes the QP off every list and timer and gives back what it holds of the shared budgets. */
static void quiesce(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	timer_stop(s, qp);
	list_remove(&qp->ready_link);
	list_remove(&qp->rtx_link);
	qp->flags &= (uint16_t) ~(QPF_PARKED | QPF_REASK | QPF_FORCE | QPF_GONE);
	s->nb_parked -= qp->nb_parked;
	qp->nb_parked = 0;
	sentmap_clear(&qp->snt, &s->sent);
	if (qp->due == 0)
		rcvmap_clear(&qp->rcv, &s->rcv_chunks);
}

static void flush_one(
	struct mrc_sched *s, struct mrc_sched_qp *qp, uint32_t at, enum mrc_wc_status status)
{
	const struct wqe *wqe = sendq_at(&qp->sq, at);

	cq_push(s, qp->send_cq,
		&(struct mrc_sched_wc){.wr_id = wqe->wr_id,
			.qp = qp,
			.status = (uint8_t)status,
			.opcode = wqe->flags & WQE_IMM ? MRC_WC_WRITE_IMM : MRC_WC_WRITE});
}

static void flush_rq(struct mrc_sched *s, struct mrc_sched_qp *qp)
{
	for (; qp->rq_head != qp->rq_tail; qp->rq_head++)
		cq_push(s, qp->recv_cq,
			&(struct mrc_sched_wc){.wr_id = qp->rq[qp->rq_head & qp->rq_mask],
				.qp = qp,
				.status = MRC_WC_WR_FLUSH_ERR,
				.opcode = MRC_WC_RECV_IMM});
}

/* spec */
static void to_err(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_wc_status status, uint32_t at)
{
	if (qp->state == MRC_QP_ERR)
		return;
	qp_state_set(s, now_ns, qp, MRC_QP_ERR);
	quiesce(s, qp);
	for (uint32_t i = qp->sq.done; i != qp->sq.tail; i++)
		flush_one(s, qp, i, i == at ? status : MRC_WC_WR_FLUSH_ERR);
	qp->sq.head = qp->sq.done = qp->sq.cur = qp->sq.tail;
	qp->sq.cur_pkt = 0;
	flush_rq(s, qp);
}

void qp_fail(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_wc_status status, uint32_t at)
{
	if (qp->state == MRC_QP_ERR)
		return;
	MRC_ASSERT(qp->state == MRC_QP_RTR || qp->state == MRC_QP_RTS);
	s->counters.qp_errors++;
	to_err(s, now_ns, qp, status, at);
	event_put(s, &(struct mrc_sched_event){
			     .type = MRC_EVENT_QP_FATAL, .qp = qp, .arg = (uint32_t)status});
}

/* Answers that were noted in this life are not for the peer of the next one. */
static void drop_notes(struct mrc_sched *s, const struct mrc_sched_qp *qp)
{
	for (uint32_t i = s->note_head; i != s->note_tail; i++) {
		struct note *note = &s->notes[i % NB_NOTES];

		if (note->qpn == qp->qpn)
			note->qpn = 0;
	}
}

static void to_reset(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	qp_state_set(s, now_ns, qp, MRC_QP_RESET);
	list_remove(&qp->due_link);
	qp->due = 0;
	drop_notes(s, qp);
	quiesce(s, qp);
	qp->sq.head = qp->sq.done = qp->sq.cur = qp->sq.tail = 0;
	qp->rq_head = qp->rq_tail = 0;
	cq_purge(qp->send_cq, qp);
	cq_purge(qp->recv_cq, qp);
	event_purge(s, qp, NULL);
	arena_free(&s->arena, qp->rcv.slots);
	arena_free(&s->arena, qp->snt.slots);
	qp->rcv.slots = NULL;
	qp->snt.slots = NULL;
	qp->evs = NULL;
	qp->cc_cfg = NULL;
	if (qp->path != NULL)
		path_put(s, qp->path);
	qp->path = NULL;
}

int mrc_sched_qp_modify(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_qp_state state, const struct mrc_sched_qp_attr *attr)
{
	int err = MRC_OK;

	s->now_ns = now_ns;
	if (qp->qpn == 0 || !qp_state_may((enum mrc_qp_state)qp->state, state))
		return MRC_ERR_STATE;
	switch (state) {
	case MRC_QP_RESET:
		to_reset(s, now_ns, qp);
		return MRC_OK;
	case MRC_QP_ERR:
		to_err(s, now_ns, qp, MRC_WC_WR_FLUSH_ERR, UINT32_MAX);
		return MRC_OK;
	case MRC_QP_INIT:
		if (attr != NULL) {
			qp->evs = attr->ev_set;
			qp->cc_cfg = attr->cc;
		}
		break;
	case MRC_QP_RTR:
		err = attr == NULL ? MRC_ERR_INVAL : to_rtr(s, now_ns, qp, attr);
		break;
	case MRC_QP_RTS:
		err = attr == NULL ? MRC_ERR_INVAL : to_rts(s, now_ns, qp, attr);
		break;
	}
	if (err == MRC_OK)
		qp_state_set(s, now_ns, qp, state);
	return err;
}

int mrc_sched_qp_destroy(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	if (qp->qpn == 0)
		return MRC_ERR_NOENT;
	to_reset(s, now_ns, qp);
	qp->send_cq->refs--;
	qp->recv_cq->refs--;
	arena_free(&s->arena, qp->sq.mem);
	arena_free(&s->arena, qp->rq);
	pd_unref(s, qp->pd);
	qp->qpn = 0;
	list_push(&s->free_qps, &qp->link);
	return MRC_OK;
}

void qp_unpark(struct mrc_sched *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	while (!list_empty(&s->parked))
		req_wake(s, LIST_OWNER(s->parked.next, struct mrc_sched_qp, ready_link));
}

uint32_t mrc_sched_qp_num(const struct mrc_sched_qp *qp)
{
	return qp->qpn;
}

void *mrc_sched_qp_ctx(const struct mrc_sched_qp *qp)
{
	return qp->ctx;
}

enum mrc_qp_state mrc_sched_qp_state(const struct mrc_sched_qp *qp)
{
	return (enum mrc_qp_state)qp->state;
}

uint32_t mrc_sched_qpn_worker(uint32_t qpn)
{
	return qpn >> QPN_INDEX_BITS & QPN_WORKER_MASK;
}
