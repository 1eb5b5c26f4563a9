/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_engine_rx.c - any bytes into a live engine.
 *
 * Input: one byte picks the state of B's QP and how frames are made, the next seeds the pair; then
 * frames, each: kind byte, length byte, that many bytes. Kind < 128: the bytes are patched (pairs
 * of offset and value) over an honest packet of one of the opcodes, and in half the cases the ICRC
 * is made right again. Kind >= 128: the bytes are the frame.
 *
 * Oracle: no byte outside the region that may be written; bytes in flight equal the sent map; the
 * QP fails only by packets that passed identity and window; state is untouched by those that did
 * not.
 */
#include <stdlib.h>
#include <string.h>

#include "mrc_icrc.h"
#include "fuzz.h"
#include "pair.h"

enum {
	MAX_FRAMES = 16,
};

static const uint8_t ops[] = {MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_LAST,
	MRC_OP_WRITE_LAST_IMM, MRC_OP_WRITE_ONLY, MRC_OP_WRITE_ONLY_IMM, MRC_OP_ACK, MRC_OP_EP_REQ,
	MRC_OP_EP_RSP, MRC_OP_SACK, MRC_OP_NACK, MRC_OP_PROBE};

static struct pair *get_pair(void)
{
	static struct pair *p;
	struct pair_cfg cfg;

	if (p != NULL)
		return p;
	pair_cfg_default(&cfg);
	cfg.repro = "fuzz_engine_rx with this input";
	cfg.pmtu = 256;
	cfg.mpr = 1;
	cfg.nb_planes = 2;
	cfg.nb_evs = 4;
	cfg.mem_len = 2048;
	cfg.sq_depth = 8;
	cfg.rq_depth = 8;
	cfg.cq_depth = 64;
	cfg.auto_recv = false;
	cfg.allow_error = true;
	p = pair_create(&cfg);
	p->hold_cq = true; /* what forged packets complete is not judged */
	for (int side = 0; side < 2; side++)
		p->q[side][0].relaxed = true;
	return p;
}

static void to_state(struct pair *p, enum mrc_qp_state state)
{
	struct pair_qp *q = &p->q[PAIR_B][0];

	pair_reconnect(p, 0, 0xFFFFF0, 0x7FFFF0);
	if (state == MRC_QP_RTS)
		return;
	(void)mrc_sched_qp_modify(q->host->sched, pair_host_now_of(q->host), q->qp,
		state == MRC_QP_ERR ? MRC_QP_ERR : MRC_QP_RESET, &q->attr);
	for (int s = MRC_QP_INIT; state != MRC_QP_ERR && s <= (int)state; s++)
		(void)mrc_sched_qp_modify(q->host->sched, pair_host_now_of(q->host), q->qp,
			(enum mrc_qp_state)s, &q->attr);
}

/* An honest packet of some kind, near the edges of the window. */
static void honest(struct pair *p, uint8_t kind, struct mrc_pkt *pkt)
{
	uint8_t op = ops[kind % sizeof(ops)];
	uint32_t near = p->q[PAIR_A][0].attr.sq_psn.v + (kind / 12u) * 13u;

	if (mrc_opcode_table[op].flags & MRC_OPF_WRITE) {
		pair_pkt_write(p, PAIR_B, 0, op, near, kind * 3u,
			mrc_opcode_table[op].flags & MRC_OPF_FULL ? 256 : 60, pkt);
		if (op != MRC_OP_WRITE_ONLY && op != MRC_OP_WRITE_ONLY_IMM)
			pkt->write.dma_len = 600;
		pkt->flags |= kind & 1 ? MRC_PKT_TS | MRC_PKT_ACKREQ : 0;
		return;
	}
	pair_pkt_init(p, PAIR_B, 0, op, pkt);
	pkt->psn = mrc_psn(p->q[PAIR_B][0].attr.sq_psn.v + kind / 12u);
	pkt->flags |= op == MRC_OP_ACK ? 0 : MRC_PKT_TS;
	if (op == MRC_OP_SACK)
		pkt->sack.cack = pkt->psn;
	if (op == MRC_OP_NACK) {
		pkt->nack.psn = pkt->psn;
		pkt->nack.reason = MRC_NACK_TRIMMED;
	}
	if (op == MRC_OP_ACK)
		pkt->ack.syndrome = MRC_AETH_ACK;
	if (op == MRC_OP_EP_REQ || op == MRC_OP_EP_RSP) {
		pkt->dqpn = MRC_QPN_ENDPOINT;
		pkt->psn = mrc_psn(kind);
		pkt->ep.op = MRC_EP_EV_PROBE;
		pkt->ep.ftype = 1;
	}
}

static void feed(struct pair *p, const uint8_t *frame, uint32_t len)
{
	struct pair_qp *q = &p->q[PAIR_B][0];
	struct mrc_sched_qp_info was, is;
	struct mrc_rx_verdict v;

	was = pair_query(p, PAIR_B, 0);
	v = pair_rx_now(p, PAIR_B, 0, frame, len);
	is = pair_query(p, PAIR_B, 0);
	if (v.kind == MRC_RX_FOREIGN_WORKER)
		pair_fail(p, "handed to another worker where there is one");
	if (v.kind == MRC_RX_DROP && v.arg <= MRC_DROP_PSN_STALE && was.state_hash != is.state_hash)
		pair_fail(p, "state changed by a packet dropped as %s",
			mrc_drop_name((enum mrc_drop)v.arg));
	if (is.state == MRC_QP_ERR && was.state != MRC_QP_ERR && v.kind == MRC_RX_DROP &&
		v.arg <= MRC_DROP_TRIM_LIMITED)
		pair_fail(p, "QP failed by a packet dropped as %s",
			mrc_drop_name((enum mrc_drop)v.arg));
	if (mrc_psn_diff(is.una_psn, is.next_psn) > 0)
		pair_fail(p, "acknowledged more than was sent");
	for (uint32_t i = 0; i < PAIR_GUARD; i += 7)
		if (q->dst.block[i] != 0xA5 || q->dst.data[q->dst.len + i] != 0xA5)
			pair_fail(p, "guard zone written");
}

static void patched(struct pair *p, uint8_t kind, const uint8_t *patch, uint32_t n, bool mend)
{
	struct mrc_pkt pkt, view;
	uint32_t len;
	uint8_t *frame;

	honest(p, kind, &pkt);
	frame = pair_encode(p, &pkt, 0x3c, &len);
	for (uint32_t i = 0; i + 1 < n; i += 2)
		frame[patch[i] % len] = patch[i + 1];
	if (mend && mrc_pkt_decode(&p->proto, frame, len, &view) == MRC_KEEP &&
		!(view.flags & MRC_PKT_TRIMMED) && !mrc_pkt_icrc_ok(&view, frame)) {
		uint32_t end = view.payload_off + view.payload_len + view.pad;

		mrc_icrc_store(frame + end,
			mrc_icrc_update(mrc_icrc_header(frame + view.ip_off,
						(size_t)view.payload_off - view.ip_off),
				frame + view.payload_off, (size_t)view.payload_len + view.pad));
	}
	feed(p, frame, len);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pair *p = get_pair();
	uint8_t mode;
	size_t at = 2;

	if (size < 4)
		return 0;
	mode = data[0];
	to_state(p, (enum mrc_qp_state)(mode % 8 < 5 ? mode % 8 : MRC_QP_RTS));
	if (mode & 8)
		for (int k = 0; k < 2; k++)
			if (mrc_sched_qp_state(p->q[PAIR_B][0].qp) == MRC_QP_RTS)
				pair_post(p, PAIR_B, 0, &(struct pair_wr){.len = 300, .imm = k});
	if (mode & 16 && mrc_sched_qp_state(p->q[PAIR_B][0].qp) >= MRC_QP_INIT)
		pair_post_recv(p, PAIR_B, 0);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP}); /* nothing gets through */
	for (int n = 0; n < MAX_FRAMES && at + 2 <= size; n++) {
		uint8_t kind = data[at];
		uint32_t len = data[at + 1];

		at += 2;
		if (len > size - at)
			len = (uint32_t)(size - at);
		if (kind < 128) {
			patched(p, kind, data + at, len, mode & 32);
		} else {
			uint8_t *frame = malloc(len ? len : 1);

			memcpy(frame, data + at, len);
			feed(p, frame, len);
			free(frame);
		}
		at += len;
		pair_run(p, 1000);
	}
	pair_run(p, 50 * PAIR_US);
	pair_faults_clear(p);
	return 0;
}
