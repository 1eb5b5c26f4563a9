/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ack.c - any answers to a requester with work outstanding.
 *
 * Input: one byte of set-up, then records of 16 bytes, each one SACK, NACK or transport ACK whose
 * numbers lie near the edges of what was sent (signed offsets), with a right ICRC.
 *
 * Oracle: nothing is acknowledged that was not sent; the largest acknowledged is never above the
 * largest sent; bytes in flight equal the sent map and never fall below zero; completions come in
 * order, each once (the history checker). What a forged answer inside the window may do is left
 * open: it can fake a completion, and it can fail the QP by the code that says so.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pair.h"

enum {
	RECORD = 16,
};

static struct pair *get_pair(void)
{
	static struct pair *p;
	static struct mrc_nscc_cfg cc;
	struct pair_cfg cfg;

	if (p != NULL)
		return p;
	pair_cfg_default(&cfg);
	mrc_nscc_cfg_default(&cc, 80000000000ull, 12000, 256 + 96, true);
	cfg.repro = "fuzz_ack with this input";
	cfg.pmtu = 256;
	cfg.mpr = 2;
	cfg.nb_planes = 2;
	cfg.nb_evs = 4;
	cfg.mem_len = 65536;
	cfg.sq_depth = 32;
	cfg.rq_depth = 32;
	cfg.cq_depth = 64;
	cfg.timeout = 4;
	cfg.allow_error = true;
	cfg.cc = &cc;
	p = pair_create(&cfg);
	for (int side = 0; side < 2; side++)
		p->q[side][0].relaxed = true;
	return p;
}

static mrc_psn_t near(struct pair *p, uint8_t edge, uint8_t off)
{
	struct mrc_sched_qp_info info = pair_query(p, PAIR_A, 0);
	mrc_psn_t base = edge & 1 ? info.next_psn : info.una_psn;

	if (edge & 2)
		return mrc_psn_add(base, (int32_t)off << 15);
	return mrc_psn_add(base, (int8_t)off);
}

static void sack(struct pair *p, const uint8_t *r, struct mrc_pkt *pkt)
{
	pkt->sack.cack = near(p, r[1], r[2]);
	pkt->psn = pkt->sack.cack;
	pkt->sack.ack_offset = (int16_t)((int8_t)r[3] * (r[1] & 4 ? 100 : 1));
	pkt->sack.sack_offset = (int16_t)((int8_t)r[4] * (r[1] & 8 ? 100 : 1));
	memcpy(&pkt->sack.bitmap, r + 5, 8);
	pkt->sack.m = r[13] & 3;
	pkt->sack.probe = r[13] >> 2 & 1;
	pkt->sack.restore_cwnd = r[13] >> 3 & 1;
	pkt->sack.rcv_cwnd_pen = r[14] & 127;
	pkt->sack.rcvd_units = r[15] * 16u;
	pkt->sack.mpr = r[13] >> 4;
	pkt->sack.ooo_count = r[12];
	pkt->sack.probe_id = r[3];
	pkt->sack.timestamp = (uint16_t)(p->now / MRC_TS_TICK_NS - r[14]);
	pkt->flags |= MRC_PKT_TS | (r[1] & 16 ? MRC_PKT_RTX : 0);
}

static void one(struct pair *p, const uint8_t *r)
{
	const uint8_t ops[] = {MRC_OP_SACK, MRC_OP_SACK, MRC_OP_NACK, MRC_OP_ACK};
	struct mrc_sched_qp_info info;
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, ops[r[0] & 3], &pkt);
	pkt.ev = mrc_ev_get(p->hosts[PAIR_A][0].set, r[0] >> 2 & 3)->value;
	if (pkt.opcode == MRC_OP_SACK) {
		sack(p, r, &pkt);
		pkt.sack.entropy = pkt.ev;
		if (pkt.sack.m == 3)
			pkt.sack.m = 0;
	} else if (pkt.opcode == MRC_OP_NACK) {
		pkt.psn = pkt.nack.psn = near(p, r[1], r[2]);
		pkt.nack.reason = r[3] & 0x1f;
		pkt.nack.entropy = pkt.ev;
	} else {
		pkt.psn = near(p, r[1], r[2]);
		pkt.ack.syndrome = r[3] & 0x80 ? MRC_AETH_ACK : r[3];
		pkt.ack.msn = r[4];
	}
	(void)pair_rx_pkt(p, PAIR_A, 0, &pkt);
	info = pair_query(p, PAIR_A, 0);
	if (mrc_psn_diff(info.una_psn, info.next_psn) > 0)
		pair_fail(p, "acknowledged above the last PSN sent");
	if (info.outstanding > 256)
		pair_fail(p, "window widened by an answer");
	pair_run(p, r[0] & 0x80 ? 40 * PAIR_US : 300);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pair *p = get_pair();

	if (size < 1 + RECORD)
		return 0;
	pair_reconnect(p, 0, 0xFFFFF0 + (data[0] & 15u), 0x7FFFF0);
	p->tolerate = false;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	if (data[0] & 16)
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .every = 3});
	p->q[PAIR_A][0].blind = true; /* forged acknowledgements may precede the bytes */
	for (int k = 0; k < 12; k++)
		pair_post(p, PAIR_A, 0,
			&(struct pair_wr){.len = 500u * (unsigned)k,
				.imm = k % 4 == 3,
				.unsignaled = k % 3 == 1});
	pair_run(p, 5 * PAIR_US);
	for (size_t at = 1; at + RECORD <= size && at < 1 + 32 * RECORD; at += RECORD)
		one(p, data + at);
	pair_run(p, 200 * PAIR_US);
	/* the next input begins with the same numbers: nothing of this one may be in flight */
	pair_faults_clear(p);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
	pair_run(p, 20 * PAIR_US);
	pair_faults_clear(p);
	return 0;
}
