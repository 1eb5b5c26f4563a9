/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_answers.c - what a responder answers, when and with which fields; and what a requester
 * makes of each answer.
 */
#include "pair_test.h"

struct rig {
	struct pair *p;
	struct pair_tape tape;
	uint32_t psn; /* next that the test sends to B */
};

static void open_rig(struct rig *r, const char *name, void (*set)(struct pair_cfg *cfg))
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 141);
	cfg.v6 = true;
	cfg.psn[PAIR_A] = 0xFFFFF0;
	cfg.timeout = 18; /* no timer in these tests */
	if (set != NULL)
		set(&cfg);
	r->p = pair_create(&cfg);
	r->psn = cfg.psn[PAIR_A];
	for (int side = 0; side < 2; side++)
		r->p->q[side][0].relaxed = true;
	r->p->q[PAIR_B][0].dst.tainted = true;
	pair_tape_start(r->p, &r->tape);
}

static void close_rig(struct rig *r)
{
	pair_tape_free(r->p, &r->tape);
	pair_destroy(r->p);
}

/* A middle packet of a long message, given to B at once; only A's QP would know it was not sent. */
static struct mrc_pkt middle(struct rig *r, uint32_t psn, uint16_t flags)
{
	struct mrc_pkt pkt;

	pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_MIDDLE, psn, 0, 1024, &pkt);
	pkt.write.dma_len = 1u << 19;
	pkt.flags |= flags;
	return pkt;
}

static void give(struct rig *r, uint32_t psn, uint16_t flags)
{
	struct mrc_pkt pkt = middle(r, psn, flags);

	if (flags & MRC_PKT_CE)
		pkt.ecn = MRC_ECN_CE;
	(void)pair_rx_pkt(r->p, PAIR_B, 0, &pkt);
	pair_run(r->p, 500);
}

static uint32_t at(const struct rig *r, int32_t k)
{
	return mrc_psn_add(mrc_psn(r->p->cfg.psn[PAIR_A]), k).v;
}

/* Last packet that B sent of a kind; fails when there is none. */
static const struct mrc_pkt *last(struct rig *r, uint8_t opcode)
{
	return pair_tape_last(r->p, &r->tape, PAIR_B, opcode);
}

static uint32_t sacks(const struct rig *r)
{
	return pair_tape_count(&r->tape, PAIR_B, MRC_OP_SACK);
}

/* spec */
static void sack_by_bytes(void **state)
{
	struct rig r;

	open_rig(&r, "sack_by_bytes", NULL);
	for (int k = 0; k < 15; k++)
		give(&r, at(&r, k), 0);
	assert_int_equal(sacks(&r), 0);
	give(&r, at(&r, 15), 0);
	assert_int_equal(sacks(&r), 1);
	for (int k = 16; k < 31; k++) {
		/* small ones count 1024 bytes each */
		struct mrc_pkt pkt;

		pair_pkt_write(r.p, PAIR_B, 0, MRC_OP_WRITE_ONLY, at(&r, k), 0, 4, &pkt);
		(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
		pair_run(r.p, 500);
	}
	assert_int_equal(sacks(&r), 1);
	give(&r, at(&r, 31), 0);
	assert_int_equal(sacks(&r), 2);
	close_rig(&r);
}

/* spec */
static void sack_at_once(void **state)
{
	const uint16_t flags[] = {MRC_PKT_ACKREQ, MRC_PKT_CE, MRC_PKT_RTX};
	struct rig r;

	open_rig(&r, "sack_at_once", NULL);
	for (int k = 0; k < 3; k++) {
		const struct mrc_pkt *sack;

		give(&r, at(&r, k), flags[k]);
		assert_int_equal(sacks(&r), k + 1);
		sack = last(&r, MRC_OP_SACK);
		assert_int_equal(sack->psn.v, at(&r, k));
		assert_int_equal(sack->sack.cack.v, at(&r, k));
		assert_int_equal(sack->sack.ack_offset, 0);
		assert_int_equal(sack->cls, MRC_CLASS_CONTROL);
		assert_int_equal(sack->flags & MRC_PKT_RTX, flags[k] & MRC_PKT_RTX);
		assert_int_equal(
			sack->sack.m, flags[k] == MRC_PKT_CE ? MRC_M_SKIP_ONCE : MRC_M_NONE);
	}
	give(&r, at(&r, 10), 0); /* above a gap, unasked: nothing */
	assert_int_equal(sacks(&r), 3);
	give(&r, at(&r, 10), 0); /* again: a duplicate above the left edge */
	assert_int_equal(sacks(&r), 4);
	assert_int_equal(last(&r, MRC_OP_SACK)->sack.ack_offset, 8);
	close_rig(&r);
}

/* An answer asked for while there is a gap is given again when the gap closes. */
/* spec */
static void asked_in_a_gap(void **state)
{
	struct rig r;
	uint32_t before;

	open_rig(&r, "asked_in_a_gap", NULL);
	give(&r, at(&r, 1), MRC_PKT_ACKREQ);
	assert_int_equal(sacks(&r), 1);
	assert_int_equal(pair_tape_count(&r.tape, PAIR_B, MRC_OP_ACK), 0);
	before = sacks(&r);
	give(&r, at(&r, 0), 0);
	assert_true(sacks(&r) > before);
	assert_int_equal(last(&r, MRC_OP_SACK)->sack.cack.v, at(&r, 1));
	assert_int_equal(pair_tape_count(&r.tape, PAIR_B, MRC_OP_ACK), 1);
	assert_int_equal(last(&r, MRC_OP_ACK)->psn.v, at(&r, 1));
	close_rig(&r);
}

/* spec */
static void sack_fields(void **state)
{
	struct rig r;
	struct mrc_pkt pkt;
	const struct mrc_pkt_sack *s;

	open_rig(&r, "sack_fields", NULL);
	give(&r, at(&r, 0), 0);
	give(&r, at(&r, 2), 0);
	give(&r, at(&r, 5), 0);
	pkt = middle(&r, at(&r, 7), MRC_PKT_ACKREQ | MRC_PKT_TS);
	pkt.ev = 0xBEEFCAFE;
	pkt.write.timestamp = 0x1234;
	(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
	pair_run(r.p, 500);
	s = &last(&r, MRC_OP_SACK)->sack;
	assert_int_equal(s->cack.v, at(&r, 0));
	assert_int_equal(s->ack_offset, 7);
	assert_int_equal(s->entropy, 0xBEEFCAFE);
	assert_int_equal(s->timestamp, 0x1234);
	assert_int_equal(s->mpr, 0);
	assert_int_equal(s->probe, 0);
	assert_int_equal(s->ooo_count, 3);
	for (int k = 0; k < 64; k++) {
		int32_t n = s->sack_offset + k; /* PSN cack + n */
		bool want = n <= 0 || n == 2 || n == 5 || n == 7;

		if ((s->bitmap >> k & 1) != want)
			pair_fail(r.p, "bit %d (PSN cack + %d) is %d", k, n, !want);
	}
	/* 4 packets: UDP length + 40 each (one of them with TSETH), in units of 256, rounded up */
	assert_int_equal(
		s->rcvd_units, (4 * (8 + 12 + 4 + 16 + 1024 + 4 + 40) + MRC_TSETH_LEN + 255) / 256);
	close_rig(&r);
}

/* A stretch longer than one bitmap: every second SACK walks over it and begins again, the others go
 * to the next gap. */
/* spec */
static void bitmap_walks(void **state)
{
	struct rig r;
	bool covered[1024] = {false};
	uint32_t bases = 0;
	int32_t was = -1;

	open_rig(&r, "bitmap_walks", NULL);
	for (int k = 1; k < 500; k += 2)
		give(&r, at(&r, k), 0);
	for (int n = 0; n < 20; n++) {
		const struct mrc_pkt_sack *s;

		give(&r, at(&r, 501 + 2 * n), MRC_PKT_ACKREQ);
		s = &last(&r, MRC_OP_SACK)->sack;
		assert_true(s->sack_offset >= 1);
		bases += s->sack_offset != was;
		was = s->sack_offset;
		for (int k = 0; k < 64; k++) {
			int32_t psn = s->sack_offset + k - 1; /* index from the first PSN */

			if (psn >= 0 && psn < 1024)
				covered[psn] = true;
		}
	}
	assert_true(bases >= 8);
	for (int k = 0; k < 500; k++)
		if (!covered[k])
			pair_fail(r.p, "PSN %d is in no bitmap of twenty", k);
	close_rig(&r);
}

/* One hole far behind the first one: every second SACK is about a gap, so that three in a row tell
 * of it, while the others walk over everything. */
/* spec */
static void far_hole_is_told_of_soon(void **state)
{
	enum {
		HOLE = 450,
	};
	uint64_t words = 0; /* begun by a SACK */
	uint32_t since = 0;
	struct rig r;

	open_rig(&r, "far_hole_is_told_of_soon", NULL);
	for (int k = 1; k < 600; k++)
		if (k != HOLE)
			give(&r, at(&r, k), 0);
	for (int n = 0; n < 24; n++) {
		const struct mrc_pkt_sack *s;
		int32_t bit;

		give(&r, at(&r, 600 + n), MRC_PKT_ACKREQ);
		s = &last(&r, MRC_OP_SACK)->sack;
		words |= UINT64_C(1) << (s->sack_offset / 64);
		bit = HOLE + 1 - s->sack_offset; /* offset 1 is the first PSN */
		since = bit >= 0 && bit < 64 ? 0 : since + 1;
		if (since == 0)
			PAIR_EQ(r.p, s->bitmap >> bit & 1, 0);
		PAIR_EQ(r.p, since >= 4, false);
	}
	PAIR_EQ(r.p, words & 0x1FF, 0x1FF);
	close_rig(&r);
}

/* A requester takes any base, aligned or not, also below cack, and the triggering PSN itself. */
/* spec */
static void any_base_is_understood(void **state)
{
	const int16_t bases[] = {-63, -20, -1, 0, 1, 3, 17};

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		struct rig r;
		struct mrc_pkt pkt;

		open_rig(&r, "any_base_is_understood", NULL);
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 40 * 1024});
		pair_run(r.p, 20 * PAIR_US);
		assert_int_equal(pair_query(r.p, PAIR_A, 0).outstanding, 40);

		pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_SACK, &pkt);
		pkt.psn = pkt.sack.cack = mrc_psn(at(&r, 9));
		pkt.sack.ack_offset = 29; /* PSN 38 */
		pkt.sack.sack_offset = bases[i];
		for (int k = 0; k < 64; k++) {
			int32_t n = 9 + bases[i] + k;

			/* below the edge all ones; 20 and 30 besides */

			if (n <= 9 || n == 20 || n == 30)
				pkt.sack.bitmap |= 1ull << k;
		}
		pkt.sack.rcvd_units = 13 * 5;
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		PAIR_EQ(r.p, pair_query(r.p, PAIR_A, 0).outstanding, 30);
		/* a NACK is taken for what is still open, and for nothing that was reported */
		for (int32_t n = 0; n < 40; n++) {
			bool bit =
				(n == 20 || n == 30) && n <= 9 + bases[i] + 63 && n >= 9 + bases[i];
			bool open = n > 9 && n != 38 && !bit;

			pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_NACK, &pkt);
			pkt.psn = pkt.nack.psn = mrc_psn(at(&r, n));
			pkt.nack.reason = MRC_NACK_TRIMMED_LASTHOP;
			if ((pair_rx_pkt(r.p, PAIR_A, 0, &pkt).kind == MRC_RX_CONSUMED) != open)
				pair_fail(r.p, "base %d: PSN %d is %s", bases[i], n,
					open ? "taken for received" : "still open");
		}
		pair_finish(r.p, 10 * PAIR_S);
		close_rig(&r);
	}
}

/* spec */
static void probes_are_answered(void **state)
{
	struct rig r;
	struct mrc_pkt pkt;
	uint64_t hash;
	const struct mrc_pkt *s;

	open_rig(&r, "probes_are_answered", NULL);
	give(&r, at(&r, 0), 0);
	give(&r, at(&r, 2), 0);
	hash = pair_query(r.p, PAIR_B, 0).state_hash;
	pair_pkt_init(r.p, PAIR_B, 0, MRC_OP_PROBE, &pkt);
	pkt.probe.probe_id = 0xABCD;
	pkt.probe.ftype = 1;
	pkt.probe.timestamp = 0x7777;
	pkt.flags |= MRC_PKT_TS;
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(r.p, 500);
	assert_int_equal(sacks(&r), 1);
	s = last(&r, MRC_OP_SACK);
	assert_int_equal(s->sack.probe, 1);
	assert_int_equal(s->sack.probe_id, 0xABCD);
	assert_int_equal(s->sack.timestamp, 0x7777);
	assert_int_equal(s->sack.cack.v, at(&r, 0));
	assert_true(hash == pair_query(r.p, PAIR_B, 0).state_hash);
	close_rig(&r);
}

static void no_trim_nack(struct pair_cfg *cfg)
{
	cfg->trim_nack = false;
}

static void no_faults(struct pair_cfg *cfg)
{
}

/* First transmissions, retransmissions and data to a peer that cannot NACK: each its class. */
/* spec */
static void classes(void **state)
{
	for (int can = 0; can < 2; can++) {
		struct rig r;

		open_rig(&r, "classes", can ? no_faults : no_trim_nack);
		for (int k = 0; k < 2; k++)
			r.p->q[k][0].relaxed = false;
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP,
					    .kinds = PAIR_DATA,
					    .rtx = PAIR_RTX_FIRST,
					    .every = 7});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 60 * 1024});
		pair_finish_faulty(r.p, 10 * PAIR_S);
		assert_true(r.p->q[PAIR_A][0].wire_again > 0);
		for (uint32_t i = 0; i < r.tape.nb[PAIR_A]; i++) {
			const struct mrc_pkt *pkt = &r.tape.pkts[PAIR_A][i];
			uint8_t want = MRC_CLASS_NO_TRIM;

			if (pkt->opcode == MRC_OP_EP_REQ)
				continue; /* any class */

			if (can && (pkt->flags & MRC_PKT_RTX))
				want = MRC_CLASS_TRIMMABLE_RETX;
			else if (can)
				want = MRC_CLASS_TRIMMABLE;
			if (pkt->cls != want)
				pair_fail(r.p, "opcode %#x, flags %#x: class %u, expected %u",
					pkt->opcode, pkt->flags, pkt->cls, want);
		}
		for (uint32_t i = 0; i < r.tape.nb[PAIR_B]; i++)
			assert_int_equal(r.tape.pkts[PAIR_B][i].cls, MRC_CLASS_CONTROL);
		close_rig(&r);
	}
}

/* MSN counts messages, RQMSN immediates; both the same in all packets of a message. */
/* spec */
static void message_numbers(void **state)
{
	struct rig r;
	uint16_t msn = 0, rqmsn = 0;
	uint32_t i = 0;

	open_rig(&r, "message_numbers", NULL);
	for (int k = 0; k < 12; k++)
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 2500, .imm = k % 3 == 1});
	pair_finish(r.p, PAIR_S);
	for (int k = 0; k < 12; k++) {
		bool imm = k % 3 == 1;

		for (int n = 0; n < 3; n++, i++) {
			const struct mrc_pkt_write *w = &r.tape.pkts[PAIR_A][i].write;

			assert_int_equal(w->msn.v, msn);
			assert_int_equal(w->rqmsn.v, imm ? rqmsn : 0);
			assert_int_equal(w->dma_len, 2500);
		}
		msn++;
		rqmsn = (uint16_t)(rqmsn + imm);
	}
	assert_int_equal(last(&r, MRC_OP_ACK)->ack.syndrome, MRC_AETH_ACK);
	assert_int_equal(last(&r, MRC_OP_ACK)->ack.msn, 12);
	assert_int_equal(last(&r, MRC_OP_ACK)->psn.v, at(&r, 35));
	close_rig(&r);
}

/* One packet in ackreq_interval asks for a transport ACK, and the last one of a message. */
/* spec */
static void asks_at_intervals(void **state)
{
	uint32_t interval, nb;
	struct rig r;

	open_rig(&r, "asks_at_intervals", NULL);
	interval = r.p->proto.choice.ackreq_interval;
	nb = 3 * interval + interval / 2;
	assert_true(nb < 1024 && interval > 2); /* inside the window */
	pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = nb * 1024});
	pair_finish(r.p, PAIR_S);
	PAIR_EQ(r.p, pair_tape_count(&r.tape, PAIR_A, 0), nb);
	for (uint32_t k = 0; k < nb; k++)
		PAIR_EQ(r.p, (r.tape.pkts[PAIR_A][k].flags & MRC_PKT_ACKREQ) != 0,
			(k + 1) % interval == 0 || k + 1 == nb);
	close_rig(&r);
}

static uint32_t ev_of(struct pair *p, const struct mrc_pkt *pkt, uint8_t plane)
{
	return mrc_ev_find(p->hosts[PAIR_A][0].set, pkt->ev, plane);
}

/* Each recoverable reason: sent again on another entropy value; the path hears of trims only. */
/* spec */
static void nack_reasons(void **state)
{
	const uint8_t reasons[] = {MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,
		MRC_NACK_NO_PKT_BUFFER, MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW, 0x13};

	for (size_t i = 0; i < sizeof(reasons); i++) {
		struct rig r;
		struct mrc_pkt nack;
		const struct mrc_pkt *sent;
		struct mrc_ev_set *set;
		uint32_t ev, was;
		bool known = reasons[i] != 0x13;

		open_rig(&r, "nack_reasons", NULL);
		set = r.p->hosts[PAIR_A][0].set;
		pair_fault_add(r.p, &(struct pair_fault){.act = PAIR_DROP});
		pair_post(r.p, PAIR_A, 0, &(struct pair_wr){.len = 4 * 1024});
		pair_run(r.p, 20 * PAIR_US);
		sent = &r.tape.pkts[PAIR_A][1];
		ev = ev_of(r.p, sent, sent->dmac[5]);
		assert_int_not_equal(ev, MRC_EV_NONE);
		pair_pkt_init(r.p, PAIR_A, 0, MRC_OP_NACK, &nack);
		nack.psn = nack.nack.psn = sent->psn;
		nack.nack.reason = reasons[i];
		nack.nack.entropy = sent->ev;
		was = r.tape.nb[PAIR_A];
		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_A, 0, &nack).kind,
			known ? MRC_RX_CONSUMED : MRC_RX_DROP);
		assert_int_equal(mrc_ev_state(set, ev),
			reasons[i] == MRC_NACK_TRIMMED ? MRC_EV_SKIP : MRC_EV_GOOD);
		pair_run(r.p, 100 * PAIR_US);
		PAIR_EQ(r.p, r.p->q[PAIR_A][0].wire_again, known);
		if (known) {
			assert_int_equal(r.tape.pkts[PAIR_A][was].psn.v, nack.psn.v);
			assert_true(r.tape.pkts[PAIR_A][was].ev != nack.nack.entropy);
		} else {
			PAIR_EQ(r.p, pair_drops(r.p, PAIR_A, MRC_DROP_NACK_REASON), 1);
		}
		pair_finish(r.p, 10 * PAIR_S);
		close_rig(&r);
	}
}

/* NACKs for ever: each counts, and the shared counter ends it. */
/* spec */
static void nacks_use_up_retries(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "nacks_use_up_retries", 142);
	cfg.allow_error = true;
	cfg.timeout = 12;
	cfg.linear_cnt = 3;
	cfg.exp_cnt = 2;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_TRIM, .kinds = PAIR_DATA, .arg = 64});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	if (!pair_run_idle(p, 10 * PAIR_S))
		pair_fail(p, "trimmed for ever, and never given up");
	PAIR_EQ(p, p->q[PAIR_A][0].ops[0].status, MRC_WC_RETRY_EXC_ERR);
	/* the first copy is no retry; the sixth retry is one too many */
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 6);
	pair_destroy(p);
}

static void svc_time(struct mrc_sched_qp_attr *attr, int side)
{
	attr->svc_time_peer = true;
}

static void with_svc_time(struct pair_cfg *cfg)
{
	cfg->attr_tweak = svc_time;
}

/* The responder's own delay is taken out of the echo when agreed, and only then. */
/* spec */
static void service_time(void **state)
{
	for (int agreed = 0; agreed < 2; agreed++) {
		struct rig r;
		struct mrc_pkt pkt;
		uint16_t echoed, want = 0x4000;

		open_rig(&r, "service_time", agreed ? with_svc_time : no_faults);
		pkt = middle(&r, at(&r, 0), MRC_PKT_ACKREQ | MRC_PKT_TS);
		pkt.write.timestamp = 0x4000;
		pair_freeze(r.p, PAIR_B, 128 * 1000);
		(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
		pair_run(r.p, 200 * PAIR_US);
		echoed = last(&r, MRC_OP_SACK)->sack.timestamp;
		if (agreed)
			want = 0x4000 + 1000;
		if (echoed != want && echoed + 1 != want)
			pair_fail(r.p, "echo %#x, expected %#x", echoed, want);
		close_rig(&r);
	}
}

static struct mrc_pkt ep_request(struct rig *r, uint8_t op, uint16_t id)
{
	struct mrc_pkt pkt;

	pair_pkt_init(r->p, PAIR_B, 0, MRC_OP_EP_REQ, &pkt);
	pkt.dqpn = MRC_QPN_ENDPOINT;
	pkt.psn = mrc_psn(id);
	pkt.ep.op = op;
	pkt.ep.ftype = 1;
	pkt.ep.timestamp = 0x2222;
	pkt.flags |= MRC_PKT_TS;
	return pkt;
}

/* Endpoint requests: answered to peers by swapping addresses, not to strangers, not without end. */
/* spec */
static void endpoint_requests(void **state)
{
	struct rig r;
	struct mrc_pkt pkt;
	const struct mrc_pkt *rsp;
	uint64_t hash;

	open_rig(&r, "endpoint_requests", NULL);
	hash = pair_query(r.p, PAIR_B, 0).state_hash;
	pkt = ep_request(&r, MRC_EP_EV_PROBE, 0x42);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
	pair_run(r.p, 500);
	rsp = last(&r, MRC_OP_EP_RSP);
	assert_int_equal(rsp->psn.v, 0x42);
	assert_int_equal(rsp->dqpn, MRC_QPN_ENDPOINT);
	assert_int_equal(rsp->cls, MRC_CLASS_CONTROL);
	assert_int_equal(rsp->ep.timestamp, 0x2222);
	assert_true(mrc_gid_eq(&rsp->src, &pkt.dst) && mrc_gid_eq(&rsp->dst, &pkt.src));
	assert_memory_equal(rsp->dmac, pkt.smac, 6);
	assert_true(hash == pair_query(r.p, PAIR_B, 0).state_hash);

	pair_tape_clear(&r.tape);
	pkt = ep_request(&r, MRC_EP_EV_PROBE, 0x43);
	pkt.src.raw[15] ^= 0x40;
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).arg, MRC_DROP_EP_PEER);
	pkt = ep_request(&r, 3, 0x44);
	PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).arg, MRC_DROP_EP_OP);
	pair_run(r.p, 500);
	assert_int_equal(pair_tape_count(&r.tape, PAIR_B, MRC_OP_EP_RSP), 0);

	for (int k = 0; k < 10000; k++) {
		pkt = ep_request(&r, MRC_EP_EV_PROBE, (uint16_t)k);
		(void)pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
		if (k % 10 == 9)
			pair_run(r.p, 1000);
	}
	pair_run(r.p, 10 * PAIR_US);
	assert_true(pair_tape_count(&r.tape, PAIR_B, MRC_OP_EP_RSP) < 3000);
	assert_true(pair_drops(r.p, PAIR_B, MRC_DROP_PROBE_LIMITED) > 0);
	close_rig(&r);
}

/* A plane that goes down at B is told to A, which leaves it; up again, it is used again. */
/* spec */
static void port_status(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_tape tape;
	uint32_t on[4] = {0};

	pair_test_cfg(&cfg, "port_status", 143);
	p = pair_create(&cfg);
	pair_plane(p, PAIR_B, 2, false);
	pair_run(p, 50 * PAIR_US);
	assert_true(p->events[PAIR_A][MRC_EVENT_PORT_STATUS] >= 1);
	pair_tape_start(p, &tape);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 200 * 1024});
	pair_finish_faulty(p, PAIR_S);
	for (uint32_t i = 0; i < tape.nb[PAIR_A]; i++)
		if (mrc_opcode_table[tape.pkts[PAIR_A][i].opcode].flags & MRC_OPF_WRITE)
			on[tape.pkts[PAIR_A][i].dmac[5]]++;
	PAIR_EQ(p, on[2], 0);
	PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 0);
	pair_plane(p, PAIR_B, 2, true);
	pair_run(p, 50 * PAIR_US);
	pair_tape_clear(&tape);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 200 * 1024});
	pair_finish_faulty(p, PAIR_S);
	for (uint32_t i = 0; i < tape.nb[PAIR_A]; i++)
		if (mrc_opcode_table[tape.pkts[PAIR_A][i].opcode].flags & MRC_OPF_WRITE)
			on[tape.pkts[PAIR_A][i].dmac[5]]++;
	assert_true(on[2] > 20);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* Answers go out on the responder's own entropy values, one plane after another. */
/* spec */
static void answers_take_own_paths(void **state)
{
	struct rig r;
	uint32_t on[4] = {0};

	open_rig(&r, "answers_take_own_paths", NULL);
	for (int k = 0; k < 40; k++)
		give(&r, at(&r, k), MRC_PKT_ACKREQ);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_B]; i++) {
		const struct mrc_pkt *pkt = &r.tape.pkts[PAIR_B][i];
		uint8_t plane = pkt->dmac[5];

		assert_int_not_equal(
			mrc_ev_find(r.p->hosts[PAIR_B][0].set, pkt->ev, plane), MRC_EV_NONE);
		on[plane]++;
	}
	for (int k = 0; k < 4; k++)
		assert_true(on[k] * 5 >= r.tape.nb[PAIR_B]);
	close_rig(&r);
}

static struct mrc_pkt immediate(struct rig *r, int32_t k, uint16_t rqmsn)
{
	struct mrc_pkt pkt;

	pair_pkt_write(r->p, PAIR_B, 0, MRC_OP_WRITE_ONLY_IMM, at(r, k), 0, 16, &pkt);
	pkt.write.rqmsn = mrc_msn(rqmsn);
	pkt.write.imm[3] = (uint8_t)rqmsn;
	return pkt;
}

/* Immediates that come early wait for everything before them, and then come in order. */
/* spec */
static void early_immediates_wait(void **state)
{
	struct rig r;
	struct mrc_sched_wc wc[8];
	struct pair_qp *q;

	open_rig(&r, "early_immediates_wait", NULL);
	q = &r.p->q[PAIR_B][0];
	r.p->hold_cq = true;
	for (int k = 3; k >= 1; k--) {
		struct mrc_pkt pkt = immediate(&r, k, (uint16_t)(k - 1));

		PAIR_EQ(r.p, pair_rx_pkt(r.p, PAIR_B, 0, &pkt).kind, MRC_RX_CONSUMED);
		pair_run(r.p, 500);
		PAIR_EQ(r.p, mrc_sched_cq_poll(q->host->sched, q->recv_cq, wc, 8), 0);
	}
	give(&r, at(&r, 0), 0);
	PAIR_EQ(r.p, mrc_sched_cq_poll(q->host->sched, q->recv_cq, wc, 8), 3);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(wc[k].imm[3], k);
		assert_int_equal(wc[k].byte_len, 16);
		assert_int_equal(wc[k].wr_id, k);
	}
	close_rig(&r);
}

static void few_immediates(struct pair_cfg *cfg)
{
	cfg->max_wimm = 4;
	cfg->allow_error = true;
}

/* More immediates in flight than announced: invalid request, and the QP fails. */
/* spec */
static void too_many_immediates(void **state)
{
	struct rig r;
	struct mrc_rx_verdict v = {0};

	open_rig(&r, "too_many_immediates", few_immediates);
	r.p->hold_cq = true;
	for (int k = 1; k <= 5; k++) {
		struct mrc_pkt pkt = immediate(&r, k, (uint16_t)(k - 1));

		v = pair_rx_pkt(r.p, PAIR_B, 0, &pkt);
		if (k < 5)
			PAIR_EQ(r.p, v.kind, MRC_RX_CONSUMED);
	}
	PAIR_EQ(r.p, v.kind, MRC_RX_DROP);
	PAIR_EQ(r.p, v.arg, MRC_DROP_WIMM_LIMIT);
	pair_run(r.p, 10 * PAIR_US);
	PAIR_EQ(r.p, mrc_sched_qp_state(r.p->q[PAIR_B][0].qp), MRC_QP_ERR);
	for (uint32_t i = 0; i < r.tape.nb[PAIR_B]; i++)
		if (r.tape.pkts[PAIR_B][i].opcode == MRC_OP_ACK)
			assert_true(
				r.tape.pkts[PAIR_B][i].ack.syndrome == MRC_AETH_ACK ||
				r.tape.pkts[PAIR_B][i].ack.syndrome == MRC_AETH_NAK_INVALID_REQ);
	assert_int_equal(last(&r, MRC_OP_ACK)->ack.syndrome, MRC_AETH_NAK_INVALID_REQ);
	close_rig(&r);
}

/* A path that died is asked by EV probes, and used again when they are answered. */
/* spec */
static void ev_probes_bring_back(void **state)
{
	struct pair *p = pair_test_dead_path("ev_probes_bring_back", 144, 5, NULL);
	const struct mrc_ev_set *set = p->hosts[PAIR_A][0].set;

	pair_run(p, 50 * PAIR_MS);
	assert_int_equal(mrc_ev_state(set, 5), MRC_EV_ASSUMED_BAD);
	assert_true(PAIR_COUNTER(p, PAIR_A, ep_req_tx) > 0);
	pair_faults_clear(p);
	pair_run(p, 2 * PAIR_S);
	assert_int_equal(mrc_ev_state(set, 5), MRC_EV_GOOD);
	assert_true(PAIR_COUNTER(p, PAIR_A, ep_rsp_rx) > 0);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sack_by_bytes),
	cmocka_unit_test(sack_at_once),
	cmocka_unit_test(asked_in_a_gap),
	cmocka_unit_test(sack_fields),
	cmocka_unit_test(bitmap_walks),
	cmocka_unit_test(far_hole_is_told_of_soon),
	cmocka_unit_test(any_base_is_understood),
	cmocka_unit_test(probes_are_answered),
	cmocka_unit_test(classes),
	cmocka_unit_test(message_numbers),
	cmocka_unit_test(asks_at_intervals),
	cmocka_unit_test(nack_reasons),
	cmocka_unit_test(nacks_use_up_retries),
	cmocka_unit_test(service_time),
	cmocka_unit_test(endpoint_requests),
	cmocka_unit_test(port_status),
	cmocka_unit_test(answers_take_own_paths),
	cmocka_unit_test(early_immediates_wait),
	cmocka_unit_test(too_many_immediates),
	cmocka_unit_test(ev_probes_bring_back),
};

PAIR_TEST_MAIN(tests)
