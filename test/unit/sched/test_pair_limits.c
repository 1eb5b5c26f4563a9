/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_limits.c - a responder at its limits: receive buffers, parked immediates, receive map,
 * answers; paths it judges bad; access violations that it forgives.
 */
#include "pair_test.h"

/* Verdict of a write of 64 bytes to (B, 0) that carries psn; `flags` of the packet. */
static struct mrc_rx_verdict give(struct pair *p, uint8_t opcode, uint32_t psn, uint32_t flags)
{
	struct mrc_pkt pkt;

	pair_pkt_write(p, PAIR_B, 0, opcode, psn, 16, 64, &pkt);
	pkt.flags |= (uint16_t)flags;
	return pair_rx_pkt(p, PAIR_B, 0, &pkt);
}

/* The one answer that B sends now. */
static struct mrc_pkt answer(struct pair *p, uint8_t opcode)
{
	uint8_t hdr[MRC_HDR_ROOM + 64];
	struct mrc_txbuf buf = {.hdr = hdr};
	struct mrc_pkt pkt;
	uint32_t len;

	PAIR_EQ(p, mrc_sched_tx(p->hosts[PAIR_B][0].sched, p->now, &buf, 1), 1);
	len = mrc_txbuf_finish(&buf, true);
	PAIR_EQ(p, mrc_pkt_decode(&p->proto, hdr, len, &pkt), MRC_KEEP);
	PAIR_EQ(p, pkt.opcode, opcode);
	return pkt;
}

static void no_answer(struct pair *p)
{
	uint8_t hdr[MRC_HDR_ROOM + 64];
	struct mrc_txbuf buf = {.hdr = hdr};

	PAIR_EQ(p, mrc_sched_tx(p->hosts[PAIR_B][0].sched, p->now, &buf, 1), 0);
}

static struct pair *open_pair(const char *name, void (*tweak)(struct mrc_sched_cfg *cfg, int side))
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, 91);
	cfg.tweak = tweak;
	cfg.allow_error = true;
	p = pair_create(&cfg);
	p->q[PAIR_B][0].relaxed = true;
	p->q[PAIR_B][0].dst.tainted = true; /* written by hand */
	return p;
}

/* FULL: what is sent for the first time is refused with its reason and changes nothing; what is
 * sent again is taken, so that pressure can never starve.
 * spec */
static void no_packet_buffer(void **state)
{
	struct pair *p = open_pair("no_packet_buffer", NULL);
	struct mrc_sched *s = p->hosts[PAIR_B][0].sched;
	uint32_t psn = p->q[PAIR_A][0].wire_next;
	uint64_t hash = pair_query(p, PAIR_B, 0).state_hash;
	struct mrc_pkt nack;

	mrc_sched_rx_pressure(s, p->now, MRC_RX_PRESSURE_FULL + 7);
	pair_test_expect_drop(p, give(p, MRC_OP_WRITE_ONLY, psn, 0), MRC_DROP_NO_PKT_BUFFER);
	PAIR_EQ(p, pair_query(p, PAIR_B, 0).state_hash, hash);
	PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_NO_PKT_BUFFER), 1);
	nack = answer(p, MRC_OP_NACK);
	PAIR_EQ(p, nack.nack.reason, MRC_NACK_NO_PKT_BUFFER);
	PAIR_EQ(p, nack.nack.psn.v, psn);
	PAIR_EQ(p, give(p, MRC_OP_WRITE_ONLY, psn, MRC_PKT_RTX).kind, MRC_RX_CONSUMED);
	/* It was received before: a duplicate is answered as ever. */
	pair_test_expect_drop(p, give(p, MRC_OP_WRITE_ONLY, psn, 0), MRC_DROP_PSN_DUPLICATE);
	mrc_sched_rx_pressure(s, p->now, MRC_RX_PRESSURE_NONE);
	PAIR_EQ(p, give(p, MRC_OP_WRITE_ONLY, psn + 1, 0).kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_B, tx_nack), 1);
	pair_destroy(p);
}

static void full(struct pair *p, void *arg)
{
	mrc_sched_rx_pressure(p->hosts[PAIR_B][0].sched, pair_host_now_of(&p->hosts[PAIR_B][0]),
		(uint32_t)(uintptr_t)arg);
}

/* A host out of buffers for a while: every byte arrives, no path is blamed, no timer expires. */
static void pressure_passes(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "pressure_passes", 92);
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 200, .depth = 16, .min_len = 1, .max_len = 9000});
	pair_at(p, 50 * PAIR_US, full, (void *)(uintptr_t)MRC_RX_PRESSURE_FULL);
	pair_at(p, 150 * PAIR_US, full, NULL);
	pair_finish(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 200);
	assert_true(pair_drops(p, PAIR_B, MRC_DROP_NO_PKT_BUFFER) > 0);
	assert_true(PAIR_COUNTER(p, PAIR_A, rtx_by_nack) > 0);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	PAIR_EQ(p, mrc_ev_state_count(p->hosts[PAIR_A][0].set, MRC_EV_ASSUMED_BAD, -1), 0);
	pair_destroy(p);
}

static void quiet(struct mrc_sched_cfg *cfg, int side)
{
	cfg->back_pressure = false;
}

/* One SACK of B, caused by a packet with AckReq. */
static struct mrc_pkt one_sack(struct pair *p, uint32_t psn)
{
	struct mrc_pkt sack;

	PAIR_EQ(p, give(p, MRC_OP_WRITE_ONLY, psn, MRC_PKT_ACKREQ).kind, MRC_RX_CONSUMED);
	sack = answer(p, MRC_OP_SACK);
	(void)answer(p, MRC_OP_ACK);
	return sack;
}

/* The level goes out in each SACK, its end is told once; not at all where it is switched off.
 * spec */
static void penalty_in_sacks(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct pair *p = open_pair("penalty_in_sacks", on ? NULL : quiet);
		struct mrc_sched *s = p->hosts[PAIR_B][0].sched;
		uint32_t psn = p->q[PAIR_A][0].wire_next;
		struct mrc_pkt sack = one_sack(p, psn);

		PAIR_EQ(p, sack.sack.rcv_cwnd_pen, 0);
		PAIR_EQ(p, sack.sack.restore_cwnd, 0);
		mrc_sched_rx_pressure(s, p->now, 64);
		for (uint32_t k = 1; k < 3; k++) {
			sack = one_sack(p, psn + k);
			PAIR_EQ(p, sack.sack.rcv_cwnd_pen, on ? 64 : 0);
			PAIR_EQ(p, sack.sack.restore_cwnd, 0);
		}
		mrc_sched_rx_pressure(s, p->now, 0);
		sack = one_sack(p, psn + 3);
		PAIR_EQ(p, sack.sack.rcv_cwnd_pen, 0);
		PAIR_EQ(p, sack.sack.restore_cwnd, on);
		sack = one_sack(p, psn + 4);
		PAIR_EQ(p, sack.sack.restore_cwnd, 0);
		pair_destroy(p);
	}
}

static void three_parked(struct mrc_sched_cfg *cfg, int side)
{
	cfg->parked_imms = 3;
}

/* Immediates of all QPs share a budget while they wait; the one that the left edge waits for needs
 * none, and what it releases gives its place back.
 * spec */
static void parked_immediates(void **state)
{
	struct pair *p = open_pair("parked_immediates", three_parked);
	uint32_t psn = p->q[PAIR_A][0].wire_next;
	struct mrc_pkt pkt, nack;

	for (uint32_t k = 1; k <= 4; k++) {
		struct mrc_rx_verdict v;

		pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, psn + k, 16, 64, &pkt);
		pkt.write.rqmsn = mrc_msn((uint16_t)k);
		v = pair_rx_pkt(p, PAIR_B, 0, &pkt);
		if (k <= 3)
			PAIR_EQ(p, v.kind, MRC_RX_CONSUMED);
		else
			pair_test_expect_drop(p, v, MRC_DROP_NO_RESOURCE);
	}
	nack = answer(p, MRC_OP_NACK);
	PAIR_EQ(p, nack.nack.reason, MRC_NACK_NO_RESOURCE);
	PAIR_EQ(p, nack.nack.psn.v, psn + 4);
	/* A write without immediate is none of its business. */
	PAIR_EQ(p, give(p, MRC_OP_WRITE_ONLY, psn + 5, 0).kind, MRC_RX_CONSUMED);
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, psn, 16, 64, &pkt);
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	PAIR_EQ(p, pair_query(p, PAIR_B, 0).cack_psn.v, psn + 3);
	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, psn + 6, 16, 64, &pkt);
	pkt.write.rqmsn = mrc_msn(5);
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_destroy(p);
}

/* The same end to end, with packets that overtake each other: slower, and complete. */
static void few_parked(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "few_parked", 93);
	cfg.tweak = three_parked;
	p = pair_create(&cfg);
	pair_fault_add(p,
		&(struct pair_fault){.act = PAIR_DELAY, .ppm = 200000, .jitter_ns = 20 * PAIR_US});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 500, .depth = 32, .min_len = 1, .max_len = 200, .imm_pct = 100});
	pair_finish_faulty(p, PAIR_S);
	PAIR_EQ(p, p->q[PAIR_B][0].nb_imm, 500);
	assert_true(pair_drops(p, PAIR_B, MRC_DROP_NO_RESOURCE) > 0);
	pair_destroy(p);
}

static void third_is_fatal(struct mrc_sched_cfg *cfg, int side)
{
	cfg->access_errors = 3;
}

static struct mrc_rx_verdict bad_key(struct pair *p, uint32_t psn)
{
	struct mrc_pkt pkt;

	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, psn, 16, 64, &pkt);
	pkt.write.rkey ^= 0x10000;
	return pair_rx_pkt(p, PAIR_B, 0, &pkt);
}

/* Access violations are dropped and counted until there are as many as the setting says. Those
 * before leave no trace and no answer; their PSN can still be filled by the honest packet. */
static void forgiven_violations(void **state)
{
	struct pair *p = open_pair("forgiven_violations", third_is_fatal);
	uint32_t psn = p->q[PAIR_A][0].wire_next;
	uint64_t hash = pair_query(p, PAIR_B, 0).state_hash;
	struct mrc_pkt nak;

	for (uint32_t k = 0; k < 2; k++) {
		pair_test_expect_drop(p, bad_key(p, psn + k), MRC_DROP_RKEY);
		PAIR_EQ(p, pair_query(p, PAIR_B, 0).state_hash, hash);
		no_answer(p);
	}
	PAIR_EQ(p, give(p, MRC_OP_WRITE_ONLY, psn, 0).kind, MRC_RX_CONSUMED);
	pair_test_expect_drop(p, bad_key(p, psn + 1), MRC_DROP_RKEY);
	PAIR_EQ(p, pair_drops(p, PAIR_B, MRC_DROP_RKEY), 3);
	PAIR_EQ(p, pair_query(p, PAIR_B, 0).state, MRC_QP_ERR);
	(void)answer(p, MRC_OP_SACK);
	nak = answer(p, MRC_OP_ACK);
	PAIR_EQ(p, nak.ack.syndrome, MRC_AETH_NAK_REMOTE_ACCESS);
	PAIR_EQ(p, nak.psn.v, psn + 1);
	pair_destroy(p);
}

/* Which mistakes are violations of access, and forgiven as such; a wrong length or too many
 * immediates are the peer's own. */
static void what_is_forgiven(void **state)
{
	static const struct {
		enum mrc_drop reason;
		bool forgiven;
	} mistakes[] = {
		{MRC_DROP_RKEY, true},
		{MRC_DROP_RKEY_PD, true},
		{MRC_DROP_RKEY_BOUNDS, true},
		{MRC_DROP_RKEY_ACCESS, true},
		{MRC_DROP_LENGTH_MTU, false},
		{MRC_DROP_LENGTH_DMA, false},
		{MRC_DROP_WIMM_LIMIT, false},
	};

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct pair *p = open_pair("what_is_forgiven", third_is_fatal);
		struct pair_qp *q = &p->q[PAIR_B][0];
		struct mrc_sched_mr other = {
			.access = 3, .addr = q->src.data, .iova = 0x4000, .len = 4096};
		struct mrc_pkt pkt;

		PAIR_EQ(p, mrc_sched_pd_create(q->host->sched, &other.pd), MRC_OK);
		PAIR_EQ(p, mrc_sched_mr_reg(q->host->sched, &other), MRC_OK);
		pair_pkt_write(p, PAIR_B, 0,
			mistakes[i].reason == MRC_DROP_WIMM_LIMIT ? MRC_OP_WRITE_ONLY_IMM
								  : MRC_OP_WRITE_ONLY,
			p->q[PAIR_A][0].wire_next, 16, 64, &pkt);
		if (mistakes[i].reason == MRC_DROP_RKEY)
			pkt.write.rkey ^= 0x10000;
		if (mistakes[i].reason == MRC_DROP_RKEY_PD)
			pkt.write.rkey = other.key, pkt.write.va = other.iova;
		if (mistakes[i].reason == MRC_DROP_RKEY_BOUNDS)
			pkt.write.va = q->dst.mr.iova - 1;
		if (mistakes[i].reason == MRC_DROP_RKEY_ACCESS)
			pkt.write.rkey = q->src.mr.key, pkt.write.va = q->src.mr.iova;
		if (mistakes[i].reason == MRC_DROP_LENGTH_MTU)
			pkt.payload_len = 1028, pkt.write.dma_len = 1028;
		if (mistakes[i].reason == MRC_DROP_LENGTH_DMA)
			pkt.write.dma_len = 63;
		pkt.write.rqmsn = mrc_msn(mistakes[i].reason == MRC_DROP_WIMM_LIMIT ? 0x7000 : 0);
		pair_test_expect_drop(p, pair_rx_pkt(p, PAIR_B, 0, &pkt), mistakes[i].reason);
		PAIR_EQ(p, pair_query(p, PAIR_B, 0).state,
			mistakes[i].forgiven ? MRC_QP_RTS : MRC_QP_ERR);
		PAIR_EQ(p, mrc_sched_mr_dereg(q->host->sched, other.key), MRC_OK);
		pair_destroy(p);
	}
}

static struct mrc_proto judging; /* set once by the test below */

/* SACK that answers a marked packet on entropy value ev. */
static uint8_t marked(struct pair *p, uint32_t psn, uint32_t ev)
{
	struct mrc_pkt pkt;

	pair_pkt_write(p, PAIR_B, 0, MRC_OP_WRITE_ONLY, psn, 16, 64, &pkt);
	pkt.ecn = MRC_ECN_CE;
	pkt.ev = ev;
	PAIR_EQ(p, pair_rx_pkt(p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pkt = answer(p, MRC_OP_SACK);
	PAIR_EQ(p, pkt.sack.entropy, ev);
	return pkt.sack.m;
}

/* ALWAYS_SKIP at the third mark of one entropy value within its time; others do not add to it, and
 * the count starts again. By default a mark is a mark, however many there are.
 * spec */
static void always_skip(void **state)
{
	for (uint32_t limit = 0; limit <= 3; limit += 3) {
		struct pair_cfg cfg;
		struct pair *p;
		uint32_t psn;

		pair_test_cfg(&cfg, "always_skip", 94);
		mrc_proto_default(&judging);
		judging.choice.always_skip_marks = limit;
		cfg.proto = &judging;
		p = pair_create(&cfg);
		p->q[PAIR_B][0].relaxed = true;
		p->q[PAIR_B][0].dst.tainted = true; /* written by hand */
		psn = p->q[PAIR_A][0].wire_next;
		PAIR_EQ(p, marked(p, psn++, 0xC111), MRC_M_SKIP_ONCE);
		PAIR_EQ(p, marked(p, psn++, 0xC222), MRC_M_SKIP_ONCE);
		PAIR_EQ(p, marked(p, psn++, 0xC111), MRC_M_SKIP_ONCE);
		PAIR_EQ(p, marked(p, psn++, 0xC111), limit ? MRC_M_ALWAYS_SKIP : MRC_M_SKIP_ONCE);
		PAIR_EQ(p, marked(p, psn++, 0xC111), MRC_M_SKIP_ONCE);
		PAIR_EQ(p, marked(p, psn++, 0xC222), MRC_M_SKIP_ONCE);
		p->now += 100 * PAIR_US;
		/* Too late to add up. */
		PAIR_EQ(p, marked(p, psn++, 0xC222), MRC_M_SKIP_ONCE);
		pair_destroy(p);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(no_packet_buffer),
	cmocka_unit_test(pressure_passes),
	cmocka_unit_test(penalty_in_sacks),
	cmocka_unit_test(parked_immediates),
	cmocka_unit_test(few_parked),
	cmocka_unit_test(forgiven_violations),
	cmocka_unit_test(what_is_forgiven),
	cmocka_unit_test(always_skip),
};

PAIR_TEST_MAIN(tests)
