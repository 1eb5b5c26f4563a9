/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_hostile.c - packets that no honest peer sends: each is dropped under its own reason,
 * with memory and state untouched; answers that were not earned acknowledge nothing; nothing is
 * answered to strangers.
 */
#include "pair_test.h"

/* One honest packet, then one thing wrong with it. */
struct wrong {
	enum mrc_drop reason;
	void (*spoil)(struct pair *p, struct mrc_pkt *pkt);
	int delta;        /* bytes cut from (negative) or added to the frame's end */
	uint32_t flip_at; /* byte from the end in which a bit is turned, 0: none */
};

#define SPOIL(name, statement)                                                                     \
	static void spoil_##name(struct pair *p, struct mrc_pkt *pkt)                              \
	{                                                                                          \
		statement;                                                                         \
	}
SPOIL(none, (void)0)
SPOIL(unknown_qpn, pkt->dqpn ^= 0x40)
SPOIL(generation, pkt->dqpn ^= 0x800000)
SPOIL(reserved_qpn, pkt->dqpn = 1)
SPOIL(source, pkt->src.raw[15] ^= 0x80)
SPOIL(dest, pkt->dst.raw[15] ^= 0x80)
SPOIL(pkey, pkt->pkey = 0x1234)
SPOIL(ahead, pkt->psn = mrc_psn_add(pkt->psn, 1024))
SPOIL(stale, pkt->psn = mrc_psn_add(pkt->psn, -0x800000))
SPOIL(duplicate, pkt->psn = mrc_psn_add(pkt->psn, -1))
SPOIL(rkey, pkt->write.rkey ^= 0x10000)
SPOIL(rkey_index, pkt->write.rkey ^= 1)
SPOIL(before, pkt->write.va = p->q[PAIR_B][0].dst.mr.iova - 1)
SPOIL(behind, pkt->write.va = p->q[PAIR_B][0].dst.mr.iova + p->cfg.mem_len - 63)
SPOIL(wrap, pkt->write.va = UINT64_MAX - 10)
SPOIL(access, pkt->write.rkey = p->q[PAIR_B][0].src.mr.key;
	pkt->write.va = p->q[PAIR_B][0].src.mr.iova)
SPOIL(dma, pkt->write.dma_len = 63)
SPOIL(only_short, pkt->write.dma_len = 65)
SPOIL(first_short, pkt->opcode = MRC_OP_WRITE_FIRST; pkt->write.dma_len = 5000)
SPOIL(middle_short, pkt->opcode = MRC_OP_WRITE_MIDDLE; pkt->write.dma_len = 5000)
SPOIL(too_long, pkt->payload_len = 1028; pkt->write.dma_len = 1028)
SPOIL(last_empty, pkt->opcode = MRC_OP_WRITE_LAST; pkt->payload_len = 0; pkt->write.dma_len = 5000)

static const struct wrong wrongs[] = {
	{MRC_DROP_ICRC, spoil_none, 0, 1},
	{MRC_DROP_ICRC, spoil_none, 0, 10},
	{MRC_DROP_IP_LENGTH, spoil_none, -1, 0},
	{MRC_DROP_BTH_PKEY, spoil_pkey, 0, 0},
	{MRC_DROP_QPN_RESERVED, spoil_reserved_qpn, 0, 0},
	{MRC_DROP_QPN_UNKNOWN, spoil_unknown_qpn, 0, 0},
	{MRC_DROP_QPN_GENERATION, spoil_generation, 0, 0},
	{MRC_DROP_ADDR_SOURCE, spoil_source, 0, 0},
	{MRC_DROP_ADDR_DEST, spoil_dest, 0, 0},
	{MRC_DROP_PSN_AHEAD, spoil_ahead, 0, 0},
	{MRC_DROP_PSN_STALE, spoil_stale, 0, 0},
	{MRC_DROP_PSN_DUPLICATE, spoil_duplicate, 0, 0},
};

static const struct wrong fatal[] = {
	{MRC_DROP_RKEY, spoil_rkey, 0, 0},
	{MRC_DROP_RKEY, spoil_rkey_index, 0, 0},
	{MRC_DROP_RKEY_BOUNDS, spoil_before, 0, 0},
	{MRC_DROP_RKEY_BOUNDS, spoil_behind, 0, 0},
	{MRC_DROP_RKEY_BOUNDS, spoil_wrap, 0, 0},
	{MRC_DROP_RKEY_ACCESS, spoil_access, 0, 0},
	{MRC_DROP_LENGTH_DMA, spoil_dma, 0, 0},
	{MRC_DROP_LENGTH_DMA, spoil_only_short, 0, 0},
	{MRC_DROP_LENGTH_MTU, spoil_first_short, 0, 0},
	{MRC_DROP_LENGTH_MTU, spoil_middle_short, 0, 0},
	{MRC_DROP_LENGTH_MTU, spoil_too_long, 0, 0},
	{MRC_DROP_LENGTH_MTU, spoil_last_empty, 0, 0},
};

static struct pair *open_pair(const char *name, bool v6)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, 81);
	cfg.v6 = v6;
	cfg.allow_error = true;
	p = pair_create(&cfg);
	for (int k = 0; k < 5; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100, .imm = k == 2});
	pair_finish(p, 10 * PAIR_MS);
	return p;
}

static struct mrc_rx_verdict throw(struct pair * p, const struct wrong *w)
{
	struct mrc_pkt pkt;
	uint32_t len;
	uint8_t *frame, *cut;
	struct mrc_rx_verdict v;

	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, p->q[PAIR_A][0].wire_next, 16, 64, &pkt);
	w->spoil(p, &pkt);
	pkt.pad = (uint8_t)(-pkt.payload_len & 3);
	frame = pair_encode(p, &pkt, 0x5a, &len);
	if (w->flip_at)
		frame[len - w->flip_at] ^= 0x10;
	cut = malloc(len + (uint32_t)w->delta);
	memcpy(cut, frame, len + (uint32_t)w->delta);
	v = pair_rx_now(p, PAIR_B, 0, cut, len + (uint32_t)w->delta);
	free(cut);
	free(frame);
	return v;
}

static void expect_drop(struct pair *p, const struct wrong *w, struct mrc_rx_verdict v, size_t i)
{
	if (v.kind != MRC_RX_DROP || v.arg != w->reason)
		pair_fail(p, "case %zu: verdict %u/%s, expected drop %s", i, v.kind,
			v.kind == MRC_RX_DROP ? mrc_drop_name((enum mrc_drop)v.arg) : "-",
			mrc_drop_name(w->reason));
	PAIR_EQ(p, pair_drops(p, PAIR_B, w->reason), 1);
}

/* Fails an identity check: the QP never hears of it. */
/* spec */
static void identity(void **state)
{
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
			struct pair *p = open_pair("identity", v6);
			uint64_t hash = pair_query(p, PAIR_B, 0).state_hash;
			uint64_t sent = p->wire_packets[PAIR_B];

			expect_drop(p, &wrongs[i], throw(p, &wrongs[i]), i);
			if (wrongs[i].reason != MRC_DROP_PSN_DUPLICATE)
				assert_true(hash == pair_query(p, PAIR_B, 0).state_hash);
			pair_run(p, 10 * PAIR_MS);
			pair_check_memory(p);
			if (wrongs[i].reason < MRC_DROP_PSN_AHEAD)
				PAIR_EQ(p, p->wire_packets[PAIR_B], sent);
			PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_B][0].qp), MRC_QP_RTS);
			pair_load(p, PAIR_A, 0,
				&(struct pair_load){
					.count = 1000, .depth = 32, .max_len = 500, .imm_pct = 10});
			pair_finish(p, PAIR_S);
			PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
			pair_destroy(p);
		}
}

/* Passes identity and window, then breaks the rules: nothing is written, the QP fails. */
/* spec */
static void rules_of_writes(void **state)
{
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct pair *p = open_pair("rules_of_writes", false);

		expect_drop(p, &fatal[i], throw(p, &fatal[i]), i);
		pair_run(p, 10 * PAIR_MS);
		pair_check_memory(p);
		PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_B][0].qp), MRC_QP_ERR);
		PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_QP_FATAL], 1);
		pair_destroy(p);
	}
}

/* The same mistakes made by a real requester: it learns which one. */
static void wrong_target(uint32_t rkey_xor, uint64_t va_add, bool src_region, uint8_t status)
{
	struct pair *p = open_pair("requester_is_told", false);
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge sge = {q->src.mr.iova, 4000, q->src.mr.key};
	const struct mrc_sched_mr *mr = src_region ? &q->peer->src.mr : &q->peer->dst.mr;
	struct mrc_sched_send_wr wr = {.wr_id = 99,
		.sges = &sge,
		.nb_sge = 1,
		.flags = MRC_SEND_SIGNALED,
		.raddr = mr->iova + va_add,
		.rkey = mr->key ^ rkey_xor};
	struct mrc_sched_wc wc[4];

	p->hold_cq = true;
	PAIR_EQ(p, mrc_sched_post_write(q->host->sched, q->qp, &wr), MRC_OK);
	pair_kick(q->host);
	pair_run(p, 50 * PAIR_MS);
	PAIR_EQ(p, mrc_sched_cq_poll(q->host->sched, q->send_cq, wc, 4), 1);
	PAIR_EQ(p, wc[0].wr_id, 99);
	if (wc[0].status != status)
		pair_fail(p, "completion %s, documented %s",
			mrc_wc_status_name((enum mrc_wc_status)wc[0].status),
			mrc_wc_status_name((enum mrc_wc_status)status));
	PAIR_EQ(p, mrc_sched_qp_state(q->qp), MRC_QP_ERR);
	PAIR_EQ(p, mrc_sched_qp_state(q->peer->qp), MRC_QP_ERR);
	pair_check_memory(p);
	pair_destroy(p);
}

/* spec */
static void requester_is_told(void **state)
{
	wrong_target(0x10000, 0, false, MRC_WC_REM_ACCESS_ERR);
	wrong_target(0, 1 << 20, false, MRC_WC_REM_ACCESS_ERR);
	wrong_target(0, (uint64_t)-1, false, MRC_WC_REM_ACCESS_ERR);
	wrong_target(0, 0, true, MRC_WC_REM_ACCESS_ERR);
}

/* Region of another protection domain: same key, wrong tenant. */
static void other_tenant(void **state)
{
	struct pair *p = open_pair("other_tenant", false);
	struct pair_qp *q = &p->q[PAIR_B][0];
	struct mrc_sched_mr mr = {.access = 3, .addr = q->src.data, .iova = 0x4000, .len = 4096};
	struct mrc_pkt pkt;
	struct mrc_rx_verdict v;

	PAIR_EQ(p, mrc_sched_pd_create(q->host->sched, &mr.pd), MRC_OK);
	PAIR_EQ(p, mrc_sched_mr_reg(q->host->sched, &mr), MRC_OK);
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, p->q[PAIR_A][0].wire_next, 0, 64, &pkt);
	pkt.write.rkey = mr.key;
	pkt.write.va = mr.iova;
	v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
	PAIR_EQ(p, v.kind, MRC_RX_DROP);
	PAIR_EQ(p, v.arg, MRC_DROP_RKEY_PD);
	PAIR_EQ(p, mrc_sched_mr_dereg(q->host->sched, mr.key), MRC_OK);
	pair_destroy(p);
}

/* ---- answers ---- */

/* Acknowledgements of what was never sent, and NACKs for it: counted, nothing moves. */
static void unearned_answers(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched_qp_info was, is;
	struct mrc_pkt pkt;
	const int32_t beyond[] = {0, 1, 5, 1000, 0x7fffff};

	pair_test_cfg(&cfg, "unearned_answers", 82);
	cfg.timeout = 18;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 10 * 1024});
	pair_run(p, PAIR_MS);
	was = pair_query(p, PAIR_A, 0);
	PAIR_EQ(p, was.outstanding, 10);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		uint32_t psn = mrc_psn_add(mrc_psn(p->q[PAIR_A][0].wire_next), beyond[i]).v;

		pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = mrc_psn(psn);
		pkt.sack.rcvd_units = 1;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		/* honest cack, but bits beyond the last PSN sent */
		pkt.psn = pkt.sack.cack = mrc_psn(cfg.psn[0] - 1);
		pkt.sack.sack_offset = 11;
		pkt.sack.ack_offset = 12;
		pkt.sack.bitmap = UINT64_MAX;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		pair_pkt_init(p, PAIR_A, 0, MRC_OP_ACK, &pkt);
		pkt.psn = mrc_psn(psn);
		pkt.ack.syndrome = MRC_AETH_ACK;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		pkt.ack.syndrome = MRC_AETH_NAK_REMOTE_ACCESS;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
		pkt.nack.psn = pkt.psn = mrc_psn(psn);
		pkt.nack.reason = MRC_NACK_UNEXP_EVENT;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		pkt.nack.reason = MRC_NACK_TRIMMED;
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
	}
	is = pair_query(p, PAIR_A, 0);
	PAIR_EQ(p, is.outstanding, was.outstanding);
	PAIR_EQ(p, is.inflight, was.inflight);
	PAIR_EQ(p, is.una_psn.v, was.una_psn.v);
	PAIR_EQ(p, is.state, MRC_QP_RTS);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 0);
	assert_true(pair_drops(p, PAIR_A, MRC_DROP_ACK_UNSENT) >= 15);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 0);
	p->q[PAIR_A][0].wire_cack = mrc_psn(cfg.psn[0] - 1).v;
	pair_finish(p, 10 * PAIR_S);
	pair_destroy(p);
}

/* 10^5 random NACKs and SACKs with random numbers: no QP dies of them, and the work completes. */
static void random_answers(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "random_answers", 83);
	cfg.timeout = 14;
	p = pair_create(&cfg);
	for (int k = 0; k < 100000; k++) {
		const uint8_t ops[] = {MRC_OP_SACK, MRC_OP_NACK, MRC_OP_ACK};
		struct mrc_pkt pkt;
		uint32_t psn = test_random_below(&p->te, 1u << 24);

		/* the window of outstanding PSNs is left out: there a forger can do harm */
		if (mrc_psn_diff(mrc_psn(psn), mrc_psn(p->q[PAIR_A][0].wire_next)) < 0 &&
			mrc_psn_diff(mrc_psn(psn), mrc_psn(p->q[PAIR_A][0].wire_next)) > -4096)
			continue;
		if (k % 100 == 0)
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3000});
		pair_pkt_init(p, PAIR_A, 0, ops[k % 3], &pkt);
		pkt.psn = mrc_psn(psn);
		if (ops[k % 3] == MRC_OP_SACK) {
			pkt.sack.cack = mrc_psn(psn);
			pkt.sack.bitmap = test_random64(&p->te);
			pkt.sack.sack_offset = (int16_t)test_random_below(&p->te, 256);
			pkt.sack.rcv_cwnd_pen = (uint8_t)test_random_below(&p->te, 128);
		} else if (ops[k % 3] == MRC_OP_NACK) {
			pkt.nack.psn = mrc_psn(psn);
			pkt.nack.reason = (uint8_t)test_random_below(&p->te, 0x20);
		} else {
			pkt.ack.syndrome = (uint8_t)test_random_below(&p->te, 0x80);
			pkt.ack.msn = test_random_below(&p->te, 1u << 24);
		}
		(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
		if (k % 100 == 99)
			pair_run(p, 20 * PAIR_US);
	}
	pair_finish(p, 10 * PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 0);
	pair_destroy(p);
}

/* "Unexpected event" for a packet that is outstanding is what the protocol says: the end. */
/* spec */
static void unexpected_event_is_fatal(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_pkt pkt;

	pair_test_cfg(&cfg, "unexpected_event_is_fatal", 84);
	cfg.allow_error = true;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3000});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 3000});
	pair_run(p, 20 * PAIR_US);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = mrc_psn(cfg.psn[0] + 1);
	pkt.nack.reason = MRC_NACK_UNEXP_EVENT;
	(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
	pair_run(p, 20 * PAIR_US);
	PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_A][0].qp), MRC_QP_ERR);
	PAIR_EQ(p, p->q[PAIR_A][0].ops[0].status, MRC_WC_REM_OP_ERR);
	PAIR_EQ(p, p->q[PAIR_A][0].ops[1].status, MRC_WC_WR_FLUSH_ERR);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 1);
	pair_destroy(p);
}

/* ---- other lives ---- */

static uint64_t drops(struct pair *p)
{
	uint64_t sum = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t d = 1; d < MRC_NB_DROPS; d++)
			sum += pair_drops(p, side, (enum mrc_drop)d);
	return sum;
}

/* Packets of a QP's earlier life do nothing to the next one, recreated or only reset. */
static void earlier_lives(void **state)
{
	for (int how = 0; how < 2; how++) {
		struct pair_cfg cfg;
		struct pair *p;
		uint64_t sacks, placed, injected = 0, refused;

		pair_test_cfg(&cfg, "earlier_lives", 85);
		p = pair_create(&cfg);
		p->record = true;
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 200, .depth = 16, .max_len = 2000, .imm_pct = 20});
		pair_finish(p, PAIR_S);
		p->record = false;
		if (how == 0) {
			for (int side = 0; side < 2; side++) {
				uint32_t old = mrc_sched_qp_num(p->q[side][0].qp);

				pair_recreate(p, side, 0);
				assert_int_not_equal(old, mrc_sched_qp_num(p->q[side][0].qp));
			}
			pair_connect(p, 0, cfg.psn[0] - 20, cfg.psn[1]);
		} else {
			pair_reconnect(p, 0, 0x900000, 0xA00000);
		}
		sacks = p->q[PAIR_A][0].nb_success;
		placed = PAIR_COUNTER(p, PAIR_B, rx_data_packets);
		for (int side = 0; side < 2; side++)
			for (uint32_t k = 0; k < PAIR_RECORDED; k++)
				if (p->recorded[side][k] != NULL) {
					const struct pair_pkt *r = p->recorded[side][k];

					pair_inject(p, side, r->plane, r->data, r->len, k * 50);
					injected++;
				}
		refused = drops(p);
		pair_run(p, PAIR_MS);
		/* what B answers to packets out of its window is refused by A in turn */
		assert_true(drops(p) - refused >= injected);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, rx_data_packets), placed);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).next_psn.v, p->q[PAIR_A][0].attr.sq_psn.v);
		PAIR_EQ(p, p->q[PAIR_A][0].nb_success, sacks);
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 200, .depth = 16, .max_len = 2000, .imm_pct = 20});
		pair_finish(p, PAIR_S);
		pair_destroy(p);
	}
}

/* The very first packet of a fresh RTR QP, of each kind: used or dropped, never a surprise. */
/* spec */
static void first_packet(void **state)
{
	const uint8_t ops[] = {MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_LAST, MRC_OP_WRITE_LAST_IMM,
		MRC_OP_SACK, MRC_OP_NACK, MRC_OP_ACK, MRC_OP_PROBE};

	for (size_t i = 0; i < sizeof(ops); i++) {
		struct pair_cfg cfg;
		struct pair *p;
		struct pair_qp *q;
		struct mrc_pkt pkt;
		bool write = mrc_opcode_table[ops[i]].flags & MRC_OPF_WRITE;
		uint64_t hash;
		struct mrc_rx_verdict v;

		pair_test_cfg(&cfg, "first_packet", 86);
		p = pair_create(&cfg);
		q = &p->q[PAIR_B][0];
		PAIR_EQ(p,
			mrc_sched_qp_modify(q->host->sched, p->now, q->qp, MRC_QP_RESET, &q->attr),
			MRC_OK);
		PAIR_EQ(p,
			mrc_sched_qp_modify(q->host->sched, p->now, q->qp, MRC_QP_INIT, &q->attr),
			MRC_OK);
		pair_pkt_write(p, PAIR_B, 0, ops[i], cfg.psn[0] + 1, 1024,
			ops[i] == MRC_OP_WRITE_MIDDLE ? 1024 : 64, &pkt);
		if (!write) {
			pair_pkt_init(p, PAIR_B, 0, ops[i], &pkt);
			pkt.psn = mrc_psn(cfg.psn[1]);
			if (ops[i] == MRC_OP_SACK)
				pkt.sack.cack = pkt.psn;
			if (ops[i] == MRC_OP_NACK)
				pkt.nack.psn = pkt.psn;
		} else {
			pkt.write.dma_len = 1024 + pkt.payload_len;
			pkt.write.dma_len += ops[i] == MRC_OP_WRITE_MIDDLE ? 100 : 0;
		}
		q->recv_done = q->recv_posted;
		pair_post_recv(p, PAIR_B, 0);
		/* INIT does not receive */
		v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
		PAIR_EQ(p, v.kind, MRC_RX_DROP);
		PAIR_EQ(p, v.arg, MRC_DROP_QP_STATE);
		PAIR_EQ(p, mrc_sched_qp_modify(q->host->sched, p->now, q->qp, MRC_QP_RTR, &q->attr),
			MRC_OK);
		hash = pair_query(p, PAIR_B, 0).state_hash;
		v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
		if (write || ops[i] == MRC_OP_PROBE) {
			PAIR_EQ(p, v.kind, MRC_RX_CONSUMED);
		} else {
			PAIR_EQ(p, v.kind, MRC_RX_DROP);
			assert_true(hash == pair_query(p, PAIR_B, 0).state_hash);
		}
		pair_run(p, 20 * PAIR_US);
		PAIR_EQ(p, q->nb_imm, 0);
		q->dst.tainted = true;
		pair_destroy(p);
	}
}

/* ---- trims ---- */

/* A trimmed packet, true or forged, causes at most one NACK and changes nothing else. */
/* spec */
static void trims(void **state)
{
	struct pair *p = open_pair("trims", false);
	uint64_t hash = pair_query(p, PAIR_B, 0).state_hash;
	uint64_t nacks = p->wire_kind[PAIR_B][2], others = p->wire_packets[PAIR_B];
	uint32_t good = 0;

	for (uint32_t from_udp = 0; from_udp <= 80; from_udp += 4)
		for (int32_t ahead = -2000; ahead <= 2000; ahead += 500) {
			struct mrc_pkt pkt;
			uint32_t len;
			uint8_t *frame, *cut;
			struct mrc_rx_verdict v;
			bool fits = from_udp >= 28 && ahead >= 0 && ahead < 1024;

			pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY,
				p->q[PAIR_A][0].wire_next + (uint32_t)ahead, 16, 1024, &pkt);
			pkt.cls = MRC_CLASS_TRIMMED;
			pkt.dscp = p->proto.dscp[MRC_CLASS_TRIMMED];
			pkt.flags |= MRC_PKT_TS;
			pkt.cls = MRC_CLASS_TRIMMED;
			frame = pair_encode(p, &pkt, 0x5a, &len);
			cut = malloc(34 + from_udp);
			memcpy(cut, frame, 34 + from_udp);
			v = pair_rx_now(p, PAIR_B, 0, cut, 34 + from_udp);
			if (fits)
				PAIR_EQ(p, v.kind, MRC_RX_CONSUMED);
			else
				PAIR_EQ(p, v.kind, MRC_RX_DROP);
			good += fits;
			free(cut);
			free(frame);
			assert_true(hash == pair_query(p, PAIR_B, 0).state_hash);
			pair_run(p, 200 * PAIR_US);
		}
	PAIR_EQ(p, p->wire_kind[PAIR_B][2] - nacks, good);
	PAIR_EQ(p, p->wire_packets[PAIR_B] - others, good);
	pair_check_memory(p);
	pair_load(p, PAIR_A, 0, &(struct pair_load){.count = 100, .depth = 16, .max_len = 3000});
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/* 10^5 forged trims of outstanding PSNs: NACKs stay under their ceiling. */
/* spec */
static void trim_flood(void **state)
{
	struct pair *p = open_pair("trim_flood", true);
	struct mrc_sched_cfg cfg;
	uint64_t from = p->now, ceiling;

	mrc_sched_cfg_default(&cfg);
	for (int k = 0; k < 100000; k++) {
		struct mrc_pkt pkt;
		uint32_t len;
		uint8_t *frame;

		pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY,
			p->q[PAIR_A][0].wire_next + test_random_below(&p->te, 1024), 16, 1024,
			&pkt);
		pkt.cls = MRC_CLASS_TRIMMED;
		pkt.dscp = p->proto.dscp[MRC_CLASS_TRIMMED];
		frame = pair_encode(p, &pkt, 0, &len);
		pair_inject(p, PAIR_B, 0, frame, 54 + 64, (uint64_t)k);
		free(frame);
		if (k % 1000 == 999)
			pair_run(p, PAIR_US);
	}
	pair_run(p, 100 * PAIR_US);
	ceiling = 64 + (p->now - from) / 1000 * cfg.nacks_per_us + cfg.nacks_per_us;
	if (PAIR_COUNTER(p, PAIR_B, tx_nack) > ceiling)
		pair_fail(p, "%llu NACKs, ceiling %llu",
			(unsigned long long)PAIR_COUNTER(p, PAIR_B, tx_nack),
			(unsigned long long)ceiling);
	assert_true(pair_drops(p, PAIR_B, MRC_DROP_TRIM_LIMITED) > 0);
	pair_destroy(p);
}

/* Unknown QPNs, strangers, garbage: nothing leaves. */
/* spec */
static void strangers_get_no_answer(void **state)
{
	struct pair *p = open_pair("strangers_get_no_answer", false);
	uint64_t sent = p->wire_packets[PAIR_B];

	for (int k = 0; k < 100000; k++) {
		struct mrc_pkt pkt;

		pair_pkt_write(
			p, PAIR_B, 0, MRC_OP_WRITE_ONLY, p->q[PAIR_A][0].wire_next, 16, 8, &pkt);
		pkt.flags |= MRC_PKT_ACKREQ;
		if (k & 1)
			pkt.src.raw[12 + k % 4] ^= (uint8_t)(1 + k % 255);
		else
			pkt.dqpn = 3 + test_random_below(&p->te, (1u << 24) - 3);
		if (pkt.dqpn == mrc_sched_qp_num(p->q[PAIR_B][0].qp) && !(k & 1))
			continue;
		PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_DROP);
		if (k % 1000 == 0)
			pair_run(p, 20 * PAIR_US);
	}
	PAIR_EQ(p, p->wire_packets[PAIR_B], sent);
	pair_check_memory(p);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(identity),
	cmocka_unit_test(rules_of_writes),
	cmocka_unit_test(requester_is_told),
	cmocka_unit_test(other_tenant),
	cmocka_unit_test(unearned_answers),
	cmocka_unit_test(random_answers),
	cmocka_unit_test(unexpected_event_is_fatal),
	cmocka_unit_test(earlier_lives),
	cmocka_unit_test(first_packet),
	cmocka_unit_test(trims),
	cmocka_unit_test(trim_flood),
	cmocka_unit_test(strangers_get_no_answer),
};

PAIR_TEST_MAIN(tests)
