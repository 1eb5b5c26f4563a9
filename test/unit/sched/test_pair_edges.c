/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_edges.c - the edges of what a responder takes and shows: bitmaps over a window wider
 * than one, packets ahead of the window or trimmed, a spent budget, another VLAN; and answers that
 * a requester has no use for. Packets are given to side B by hand, one at a time; the tape shows
 * what B sends.
 */
#include "pair_test.h"

struct rig {
	struct pair *p;
	struct pair_tape tape;
	uint32_t base; /* first PSN that B expects */
};

static void rig_open(struct rig *rig, const char *name, void (*change)(struct pair_cfg *cfg))
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 91);
	if (change != NULL)
		change(&cfg);
	rig->p = pair_create(&cfg);
	rig->base = cfg.psn[PAIR_A];
	/* The packets are nobody's: B's answers must not reach A, nor A's book judge B. */
	pair_fault_add(rig->p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	for (int side = 0; side < 2; side++) {
		rig->p->q[side][0].relaxed = true;
		rig->p->q[side][0].dst.tainted = true;
	}
	pair_tape_start(rig->p, &rig->tape);
}

static void rig_close(struct rig *rig)
{
	pair_tape_free(rig->p, &rig->tape);
	pair_destroy(rig->p);
}

/* A write of 100 bytes with PSN base + ahead, as the peer would send it. */
static struct mrc_pkt write_pkt(struct rig *rig, int32_t ahead)
{
	struct mrc_pkt pkt;

	pair_pkt_write(rig->p, PAIR_B, 0, MRC_OP_WRITE_ONLY,
		mrc_psn_add(mrc_psn(rig->base), ahead).v, 16, 100, &pkt);
	return pkt;
}

/* Gives it to B and lets B send. */
static struct mrc_rx_verdict give(struct rig *rig, const struct mrc_pkt *pkt)
{
	struct mrc_rx_verdict v;

	pair_tape_clear(&rig->tape);
	v = pair_rx_pkt(rig->p, PAIR_B, 0, pkt);
	pair_run(rig->p, 20 * PAIR_US);
	return v;
}

static struct mrc_rx_verdict give_write(struct rig *rig, int32_t ahead, uint16_t flags)
{
	struct mrc_pkt pkt = write_pkt(rig, ahead);

	pkt.flags |= flags;
	return give(rig, &pkt);
}

static uint32_t sent(const struct rig *rig, uint8_t opcode)
{
	return pair_tape_count(&rig->tape, PAIR_B, opcode);
}

/* The only packet of a kind that B sent since the last give. */
static struct mrc_pkt only(struct rig *rig, uint8_t opcode)
{
	struct mrc_pkt found = {0};

	PAIR_EQ(rig->p, sent(rig, opcode), 1);
	for (uint32_t i = 0; i < rig->tape.nb[PAIR_B]; i++)
		if (rig->tape.pkts[PAIR_B][i].opcode == opcode)
			found = rig->tape.pkts[PAIR_B][i];
	return found;
}

static uint32_t named(const struct mrc_pkt *pkt)
{
	return mrc_psn_add(pkt->sack.cack, pkt->sack.ack_offset).v;
}

/* Which odd numbers of 1 .. top a SACK shows, and that it shows nothing else. */
static void check_bits(struct rig *rig, const struct mrc_pkt *sack, int32_t top, uint8_t *shown)
{
	for (int32_t bit = 0; bit < MRC_SACK_BITS; bit++) {
		int32_t above = sack->sack.sack_offset + bit; /* of cack, which is base - 1 */
		bool set = sack->sack.bitmap >> bit & 1;
		int32_t psn = above - 1; /* distance from base */

		PAIR_EQ(rig->p, set, above <= 0 || (psn % 2 == 1 && psn <= top));
		if (above > 0 && psn <= top)
			shown[psn] = 1;
	}
}

/* Every other packet of 300 arrives: successive SACKs walk over all of it, then begin again. */
static void walk_of(const char *name, void (*change)(struct pair_cfg *cfg))
{
	uint8_t shown[300] = {0};
	struct mrc_pkt sack;
	struct rig rig;

	rig_open(&rig, name, change);
	for (int32_t k = 1; k < 300; k += 2)
		give_write(&rig, k, 0);
	for (int round = 0; round < 12; round++) {
		give_write(&rig, 299, MRC_PKT_ACKREQ); /* a duplicate, to ask */
		sack = only(&rig, MRC_OP_SACK);
		PAIR_EQ(rig.p, sack.sack.cack.v, rig.base - 1);
		PAIR_EQ(rig.p, sack.sack.ooo_count, 150);
		check_bits(&rig, &sack, 299, shown);
	}
	for (int32_t k = 0; k < 300; k++)
		if (!shown[k])
			pair_fail(rig.p, "no SACK showed PSN %d", k);
	/* A retransmission asks about the oldest gap. */
	give_write(&rig, 299, MRC_PKT_RTX);
	PAIR_EQ(rig.p, only(&rig, MRC_OP_SACK).sack.sack_offset <= 1, 1);
	rig_close(&rig);
}

static struct mrc_proto aligned;

static void with_alignment(struct pair_cfg *cfg)
{
	mrc_proto_default(&aligned);
	aligned.choice.sack_base_align = 64;
	assert_int_equal(mrc_proto_init(&aligned), MRC_OK);
	cfg->proto = &aligned;
	cfg->psn[PAIR_A] = 0x1003;
}

static void near_the_wrap(struct pair_cfg *cfg)
{
	cfg->psn[PAIR_A] = 0xFFFF80;
}

/* spec */
static void bitmaps_walk(void **state)
{
	walk_of("bitmaps_walk", NULL);
	walk_of("bitmaps_walk", with_alignment);
}

/* Each base is the oldest PSN that the walk has not told of: word by word, and for the last one so
 * low that the newest arrival fits. */
/* spec */
static void walk_goes_word_by_word(void **state)
{
	const int16_t bases[] = {1, 65, 129, 137, 1, 65, 129, 137, 1};
	int16_t base = 0;
	struct rig rig;

	rig_open(&rig, "walk_goes_word_by_word", NULL);
	for (int32_t k = 1; k < 200; k += 2)
		give_write(&rig, k, 0);
	/* SACKs were sent on the way: to the end of this walk. */
	for (uint32_t i = 0; i < 8 && base != 137; i++) {
		give_write(&rig, 199, MRC_PKT_ACKREQ); /* a duplicate, to ask */
		base = only(&rig, MRC_OP_SACK).sack.sack_offset;
	}
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		give_write(&rig, 199, MRC_PKT_ACKREQ);
		PAIR_EQ(rig.p, only(&rig, MRC_OP_SACK).sack.sack_offset, bases[i]);
	}
	rig_close(&rig);
}

/* spec */
static void newest_arrival_is_covered(void **state)
{
	struct mrc_pkt sack;
	struct rig rig;

	rig_open(&rig, "newest_arrival_is_covered", near_the_wrap);
	for (int32_t k = 2; k < 130; k++) {
		give_write(&rig, k, MRC_PKT_ACKREQ);
		sack = only(&rig, MRC_OP_SACK);
		if (k < 64) {
			/* base + 63 reaches the newest: oldest gap and newest arrival in one. */
			PAIR_EQ(rig.p, sack.sack.sack_offset, 1);
			PAIR_EQ(rig.p, sack.sack.bitmap >> k & 1, 1);
			PAIR_EQ(rig.p, sack.sack.bitmap & 3, 0);
		}
		PAIR_EQ(rig.p, named(&sack), mrc_psn_add(mrc_psn(rig.base), k).v);
	}
	rig_close(&rig);
}

/* ---- refusals ---- */

static struct mrc_proto silent;

static void without_oor_nack(struct pair_cfg *cfg)
{
	mrc_proto_default(&silent);
	silent.choice.oor_nack = 0;
	assert_int_equal(mrc_proto_init(&silent), MRC_OK);
	cfg->proto = &silent;
}

/* spec */
static void ahead_of_the_window(void **state)
{
	struct mrc_pkt nack;
	struct rig rig;

	rig_open(&rig, "ahead_of_the_window", NULL);
	PAIR_EQ(rig.p, give_write(&rig, 1024, 0).arg, MRC_DROP_PSN_AHEAD);
	nack = only(&rig, MRC_OP_NACK);
	PAIR_EQ(rig.p, nack.nack.reason, MRC_NACK_PSN_OOR_WINDOW);
	PAIR_EQ(rig.p, nack.nack.psn.v, rig.base + 1024);
	PAIR_EQ(rig.p, nack.psn.v, rig.base + 1024);
	PAIR_EQ(rig.p, nack.cls, MRC_CLASS_CONTROL);
	PAIR_EQ(rig.p, give_write(&rig, -0x800000, 0).arg, MRC_DROP_PSN_STALE);
	PAIR_EQ(rig.p, rig.tape.nb[PAIR_B], 0);
	rig_close(&rig);
	rig_open(&rig, "ahead_of_the_window", without_oor_nack);
	PAIR_EQ(rig.p, give_write(&rig, 1024, 0).arg, MRC_DROP_PSN_AHEAD);
	PAIR_EQ(rig.p, rig.tape.nb[PAIR_B], 0);
	rig_close(&rig);
}

static struct mrc_rx_verdict give_trimmed(struct rig *rig, int32_t ahead, uint8_t cls)
{
	struct mrc_pkt pkt = write_pkt(rig, ahead);

	pkt.cls = cls;
	pkt.dscp = rig->p->proto.dscp[cls];
	pkt.flags |= MRC_PKT_TS | MRC_PKT_TRIMMED;
	pkt.write.timestamp = 0x1234;
	return give(rig, &pkt);
}

/* spec */
static void trimmed_packets(void **state)
{
	struct mrc_pkt nack;
	struct rig rig;
	uint64_t hash;

	rig_open(&rig, "trimmed_packets", NULL);
	give_write(&rig, 0, 0);
	hash = pair_query(rig.p, PAIR_B, 0).state_hash;
	PAIR_EQ(rig.p, give_trimmed(&rig, 3, MRC_CLASS_TRIMMED).kind, MRC_RX_CONSUMED);
	nack = only(&rig, MRC_OP_NACK);
	PAIR_EQ(rig.p, nack.nack.reason, MRC_NACK_TRIMMED);
	PAIR_EQ(rig.p, nack.nack.psn.v, rig.base + 3);
	PAIR_EQ(rig.p, nack.nack.timestamp, 0x1234);
	PAIR_EQ(rig.p, nack.nack.entropy, write_pkt(&rig, 3).ev);
	give_trimmed(&rig, 4, MRC_CLASS_TRIMMED_LASTHOP);
	PAIR_EQ(rig.p, only(&rig, MRC_OP_NACK).nack.reason, MRC_NACK_TRIMMED_LASTHOP);
	for (int k = 0; k < 3; k++) {
		const int32_t out[] = {0, 1025, -1}; /* received, beyond, before */

		PAIR_EQ(rig.p, give_trimmed(&rig, out[k], MRC_CLASS_TRIMMED).arg,
			MRC_DROP_TRIM_WINDOW);
		PAIR_EQ(rig.p, rig.tape.nb[PAIR_B], 0);
	}
	assert_true(hash == pair_query(rig.p, PAIR_B, 0).state_hash);
	rig_close(&rig);
}

static void small_budget(struct mrc_sched_cfg *cfg, int side)
{
	cfg->window_psns = 256;
}

static void with_small_budget(struct pair_cfg *cfg)
{
	cfg->tweak = small_budget;
}

/* spec */
static void budget_of_maps_is_spent(void **state)
{
	struct rig rig;
	uint32_t refused = 0;

	rig_open(&rig, "budget_of_maps_is_spent", with_small_budget);
	for (int32_t k = 1; k < 1024; k += 64) {
		struct mrc_rx_verdict v = give_write(&rig, k, 0);

		if (v.kind != MRC_RX_DROP)
			continue;
		PAIR_EQ(rig.p, v.arg, MRC_DROP_NO_BITMAP);
		PAIR_EQ(rig.p, only(&rig, MRC_OP_NACK).nack.reason, MRC_NACK_NO_BITMAP);
		refused++;
	}
	assert_true(refused > 0);
	/* The left edge always gets through. */
	PAIR_EQ(rig.p, give_write(&rig, 0, 0).kind, MRC_RX_CONSUMED);
	rig_close(&rig);
}

static void with_vlan(struct pair_cfg *cfg)
{
	cfg->vlan = true;
}

static void vlan_of_another_tenant(void **state)
{
	struct mrc_pkt pkt;
	struct rig rig;

	rig_open(&rig, "vlan_of_another_tenant", with_vlan);
	pkt = write_pkt(&rig, 0);
	pkt.vlan_tci ^= 1;
	PAIR_EQ(rig.p, give(&rig, &pkt).arg, MRC_DROP_VLAN_ID);
	pkt.flags &= (uint16_t)~MRC_PKT_VLAN;
	PAIR_EQ(rig.p, pair_drops(rig.p, PAIR_B, MRC_DROP_VLAN_ID), 1);
	PAIR_EQ(rig.p, give_write(&rig, 0, 0).kind, MRC_RX_CONSUMED);
	rig_close(&rig);
}

/* ---- answers that say nothing ---- */

static void strict(struct mrc_sched_cfg *cfg, int side)
{
	cfg->strict_echo = true;
}

/* Side A has ten packets on the way; what B says about them is given by hand. */
static struct pair *waiting(const char *name, void (*tweak)(struct mrc_sched_cfg *, int))
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, name, 92);
	cfg.timeout = 18;
	cfg.tweak = tweak;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_B2A});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 10 * 1024});
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, pair_query(p, PAIR_A, 0).outstanding, 10);
	return p;
}

static void expect_useless(struct pair *p, const struct mrc_pkt *pkt, enum mrc_drop reason)
{
	struct mrc_sched_qp_info was = pair_query(p, PAIR_A, 0), is;
	struct mrc_rx_verdict v = pair_rx_pkt(p, PAIR_A, 0, pkt);

	PAIR_EQ(p, v.kind, MRC_RX_DROP);
	PAIR_EQ(p, v.arg, reason);
	is = pair_query(p, PAIR_A, 0);
	PAIR_EQ(p, is.outstanding, was.outstanding);
	PAIR_EQ(p, is.inflight, was.inflight);
	PAIR_EQ(p, is.state, MRC_QP_RTS);
}

static void finish_waiting(struct pair *p)
{
	pair_finish(p, 10 * PAIR_S);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
	pair_destroy(p);
}

/* spec */
static void answers_of_no_use(void **state)
{
	struct pair *p = waiting("answers_of_no_use", NULL);
	const uint8_t syndromes[] = {0x00, 0x20, 0x3F, 0x60, 0x64, 0x7F, 0xFF};
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, MRC_OP_ACK, &pkt);
	pkt.psn = mrc_psn(p->cfg.psn[PAIR_A] + 3);
	for (size_t i = 0; i < sizeof(syndromes); i++) {
		pkt.ack.syndrome = syndromes[i]; /* credits, RNR, sequence error, unknown */
		expect_useless(p, &pkt, MRC_DROP_ACK_SYNDROME);
	}
	pkt.ack.syndrome = MRC_AETH_ACK;
	pkt.psn = mrc_psn(p->cfg.psn[PAIR_A] - 5000);
	expect_useless(p, &pkt, MRC_DROP_ACK_STALE);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn(p->cfg.psn[PAIR_A] - 5000);
	expect_useless(p, &pkt, MRC_DROP_ACK_STALE);
	pkt.psn = pkt.sack.cack = mrc_psn(p->cfg.psn[PAIR_A] - 1);
	pkt.sack.probe = 1;
	pkt.sack.probe_id = 0x5A5A;
	expect_useless(p, &pkt, MRC_DROP_PROBE_UNKNOWN);
	finish_waiting(p);
}

static void echo_of_another_packet(void **state)
{
	struct pair *p = waiting("echo_of_another_packet", strict);
	struct mrc_pkt pkt;

	pair_pkt_init(p, PAIR_A, 0, MRC_OP_SACK, &pkt);
	pkt.psn = pkt.sack.cack = mrc_psn(p->cfg.psn[PAIR_A] - 1);
	pkt.sack.ack_offset = 3;
	pkt.sack.sack_offset = 1;
	pkt.sack.entropy = 0x12345678;
	expect_useless(p, &pkt, MRC_DROP_ECHO_MISMATCH);
	pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
	pkt.psn = pkt.nack.psn = mrc_psn(p->cfg.psn[PAIR_A] + 2);
	pkt.nack.reason = MRC_NACK_UNEXP_EVENT;
	pkt.nack.entropy = 0x12345678;
	expect_useless(p, &pkt, MRC_DROP_ECHO_MISMATCH);
	finish_waiting(p);
}

/* ---- answers to copies ---- */

static void four_planes(struct pair_cfg *cfg)
{
	cfg->nb_planes = 4;
	cfg->nb_evs = 16;
}

static uint32_t plane_of(struct rig *rig, const struct mrc_pkt *pkt)
{
	for (uint8_t plane = 0; plane < 4; plane++) {
		if (mrc_ev_find(rig->p->hosts[PAIR_B][0].set, pkt->ev, plane) != MRC_EV_NONE)
			return plane;
	}
	pair_fail(rig->p, "an answer without a plane");
	return 0;
}

static void answers_move_on(uint32_t down)
{
	uint32_t sack_plane = 4, ack_plane = 4;
	struct rig rig;

	rig_open(&rig, "copies_are_answered_elsewhere", four_planes);
	for (uint32_t plane = 0; plane < 4; plane++) {
		if ((down >> plane & 1) != 0)
			pair_plane(rig.p, PAIR_B, plane, false);
	}
	for (int k = 0; k < 12; k++) {
		struct mrc_pkt sack, ack;

		give_write(&rig, 0, MRC_PKT_ACKREQ | (k > 0 ? MRC_PKT_RTX : 0));
		sack = only(&rig, MRC_OP_SACK);
		ack = only(&rig, MRC_OP_ACK);
		PAIR_EQ(rig.p, plane_of(&rig, &sack) == plane_of(&rig, &ack), false);
		if (k > 1) {
			PAIR_EQ(rig.p, plane_of(&rig, &sack) == sack_plane, false);
			PAIR_EQ(rig.p, plane_of(&rig, &ack) == ack_plane, false);
		}
		sack_plane = plane_of(&rig, &sack);
		ack_plane = plane_of(&rig, &ack);
	}
	rig_close(&rig);
}

/*
 * The answers to a copy do not meet the planes of the answers to the copy before, whatever planes
 * are down: one that cannot be used takes no turn. (With two planes left SACK and ACK change
 * places.)
 */
/* spec */
static void copies_are_answered_elsewhere(void **state)
{
	for (uint32_t down = 0; down < 15; down++) {
		if (__builtin_popcount(down) <= 2)
			answers_move_on(down);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(copies_are_answered_elsewhere),
	cmocka_unit_test(bitmaps_walk),
	cmocka_unit_test(walk_goes_word_by_word),
	cmocka_unit_test(newest_arrival_is_covered),
	cmocka_unit_test(ahead_of_the_window),
	cmocka_unit_test(trimmed_packets),
	cmocka_unit_test(budget_of_maps_is_spent),
	cmocka_unit_test(vlan_of_another_tenant),
	cmocka_unit_test(answers_of_no_use),
	cmocka_unit_test(echo_of_another_packet),
};

PAIR_TEST_MAIN(tests)
