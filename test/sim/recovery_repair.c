/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_repair.c - how long a single lost packet is missing: from its departure to the arrival
 * of its copy, in unloaded round trips, by how the loss is found.
 *
 * The wire is four links in a row, each of the rate at which the host emits packets, store and
 * forward, with no other traffic: what crosses it takes DELAY_NS and four times its own length; of
 * a packet that is trimmed on its way, what is left of it. The host pulls one packet at a time, so
 * what becomes due waits for the end of the packet that is leaving. The unloaded round trip is
 * measured on the same wire between the same hosts: a lone full packet, from its departure to its
 * SACK's arrival.
 */
#include <stdio.h>

#include "recovery.h"

enum {
	NB_TRIALS = 100,
	MANY_TRIALS = 400, /* a new order in one pass of 1024 is not within P99 */
	NB_PKTS = 400,
	FIRST_LOST = 150, /* and the 60 behind it; the walk is in its third pass */
	PMTU = 4096,
	NB_LINKS = 4,
	DELAY_NS = 5000, /* of the four links together */
	PKT_NS = 100,    /* of a full packet on one link */
	PKT_LEN = 4198,
	SACK_PKTS = 4, /* packets of PMTU bytes that make a SACK due */
	TRIM_LEN = 28, /* from UDP on */
	TRIMMED_LEN = 14 + 40 + TRIM_LEN,
};

struct kase {
	const char *name;
	uint32_t nb_evs, nb_trials;
	uint32_t trim_links; /* trimmed behind so many; 0: lost */
	uint32_t times;      /* as long a way and as many packets */
	bool tail, by_distance, unpinned;
};

struct trial {
	const struct kase *kase;
	uint64_t lost_ns, copy_ns; /* departure, arrival */
	uint64_t next_ns;          /* departure of the next packet on the same entropy value */
	uint64_t sack_ns;          /* arrival of the first SACK */
	uint32_t psn, ev;
};

static uint64_t delay_ns(const struct kase *k)
{
	return (uint64_t)k->times * DELAY_NS;
}

/* What a packet needs beside the delay, by its length. */
static uint64_t links_ns(const struct trial *t, int from, const struct mrc_pkt *pkt)
{
	uint64_t len = pkt->udp_len + 54u; /* Ethernet and IPv6 headers */
	uint32_t whole = t->kase->trim_links;
	bool cut = whole != 0 && from == PAIR_A && pkt->psn.v == t->psn &&
		   (pkt->flags & MRC_PKT_RTX) == 0;

	if (cut)
		return (whole * len + (NB_LINKS - whole) * TRIMMED_LEN) * PKT_NS / PKT_LEN;
	return NB_LINKS * len * PKT_NS / PKT_LEN;
}

static bool is_data(const struct mrc_pkt *pkt)
{
	return (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE) != 0;
}

static bool watch(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct trial *t = p->tap_ctx;

	if (pkt->opcode == MRC_OP_SACK && t->sack_ns == 0)
		t->sack_ns = p->now + delay_ns(t->kase) + links_ns(t, from, pkt);
	if (from != PAIR_A || !is_data(pkt))
		return true;
	if (pkt->psn.v != t->psn) {
		if (t->lost_ns != 0 && t->next_ns == 0 && pkt->ev == t->ev &&
			(pkt->flags & MRC_PKT_RTX) == 0)
			t->next_ns = p->now;
	} else if ((pkt->flags & MRC_PKT_RTX) == 0) {
		t->lost_ns = p->now;
		t->ev = pkt->ev;
	} else if (t->copy_ns == 0) {
		t->copy_ns = p->now + delay_ns(t->kase) + links_ns(t, from, pkt);
	}
	return true;
}

static uint64_t path_ns(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane)
{
	const struct trial *t = p->tap_ctx;
	uint64_t ns = links_ns(t, from, pkt);

	/* An entropy value that does not pin a path: every packet meets another delay. */
	if (t->kase->unpinned && from == PAIR_A)
		ns += test_random_below(&p->te, 2000);
	return ns;
}

static void distance_on(struct mrc_sched_cfg *cfg, int side)
{
	cfg->loss_by_distance = true;
}

static struct pair *wire(struct trial *t, uint32_t nr, const struct mrc_nscc_cfg *cc)
{
	const struct kase *k = t->kase;
	struct pair_cfg cfg;
	struct pair *p;

	rec_cfg(&cfg, 1000 + nr);
	cfg.nb_evs = k->nb_evs;
	cfg.nb_planes = 4;
	cfg.delay_ns = delay_ns(k);
	cfg.pkt_ns = PKT_NS;
	cfg.pkt_len = PKT_LEN;
	cfg.tx_burst = 1;
	cfg.mpr = 8;
	cfg.cc = k->by_distance ? cc : NULL;
	cfg.tweak = k->by_distance ? distance_on : NULL;
	cfg.timeout = 12;
	cfg.pmtu = PMTU;
	cfg.mem_len = k->times * NB_PKTS * PMTU + (1u << 16);
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	p->tap = watch;
	p->tap_ctx = t;
	p->path_ns = path_ns;
	return p;
}

/* Unloaded round trip: one full packet, departure to its SACK's arrival. */
static double unloaded(uint32_t times)
{
	const struct kase k = {.nb_evs = 32, .times = times};
	struct trial t = {.kase = &k};
	struct pair *p = wire(&t, 0, NULL);

	t.psn = p->cfg.psn[0];
	(void)pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = PMTU});
	pair_finish_faulty(p, PAIR_S);
	p->tap = NULL;
	p->path_ns = NULL;
	pair_destroy(p);
	return (double)(t.sack_ns - t.lost_ns);
}

struct sums {
	double repair[MANY_TRIALS], next[MANY_TRIALS];
	uint64_t spurious, expiries;
};

static void trial_run(
	const struct kase *k, uint32_t nr, const struct mrc_nscc_cfg *cc, struct sums *sums)
{
	struct trial t = {.kase = k};
	struct pair *p = wire(&t, nr, cc);
	uint32_t at = k->tail ? NB_PKTS - 1 : k->times * FIRST_LOST + nr % 60;

	t.psn = p->cfg.psn[0] + at;
	pair_fault_add(p, &(struct pair_fault){.act = k->trim_links != 0 ? PAIR_TRIM : PAIR_DROP,
				  .dir = PAIR_A2B,
				  .has_psn = true,
				  .psn = t.psn,
				  .count = 1,
				  .arg = TRIM_LEN});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 10,
			.depth = 10,
			.min_len = k->times * NB_PKTS * PMTU / 10,
			.max_len = k->times * NB_PKTS * PMTU / 10});
	pair_finish_faulty(p, 5 * PAIR_S);
	if (t.copy_ns == 0)
		pair_fail(p, "PSN %#x was never sent again", t.psn);
	rec_clean(k->name, p);
	sums->repair[nr] = (double)(t.copy_ns - t.lost_ns);
	sums->next[nr] = t.next_ns > t.lost_ns ? (double)(t.next_ns - t.lost_ns) : 0;
	sums->spurious += PAIR_COUNTER(p, PAIR_A, retransmits) - 1;
	sums->expiries += PAIR_COUNTER(p, PAIR_A, timeouts);
	p->tap = NULL;
	p->path_ns = NULL;
	pair_destroy(p);
}

static bool by_order(const struct kase *k)
{
	return k->trim_links == 0 && !k->tail && !k->by_distance;
}

/* mark 0: not judged */
static void kase_run(const struct kase *k, double rtt_ns, double mark)
{
	enum rec_op le = mark > 0 ? REC_LE : REC_INFO, eq = mark > 0 ? REC_EQ : REC_INFO;
	static struct sums sums;
	struct mrc_nscc_cfg cc;
	char what[96];

	/* A window of one and a half BDP at the rate of the host. */
	mrc_nscc_cfg_default(
		&cc, PKT_LEN * 8ull * 1000000000 / PKT_NS, (uint32_t)rtt_ns, PKT_LEN, true);
	sums.spurious = sums.expiries = 0;
	for (uint32_t i = 0; i < k->nb_trials; i++)
		trial_run(k, i, &cc, &sums);
	snprintf(what, sizeof(what), "%s: median", k->name);
	rec_row(what, rec_quantile(sums.repair, k->nb_trials, 500) / rtt_ns, "RTT", le, mark);
	snprintf(what, sizeof(what), "%s: P99", k->name);
	rec_row(what, rec_quantile(sums.repair, k->nb_trials, 990) / rtt_ns, "RTT", le, mark);
	snprintf(what, sizeof(what), "%s: expiries", k->name);
	rec_row(what, (double)sums.expiries, "", eq, 0);
	snprintf(what, sizeof(what), "%s: others sent again", k->name);
	rec_row(what, (double)sums.spurious / k->nb_trials, "per loss", eq, 0);
	if (!by_order(k))
		return;
	snprintf(what, sizeof(what), "%s: until the next one left, median", k->name);
	rec_row(what, rec_quantile(sums.next, k->nb_trials, 500) / rtt_ns, "RTT", REC_INFO, 0);
	snprintf(what, sizeof(what), "%s: until the next one left, P99", k->name);
	rec_row(what, rec_quantile(sums.next, k->nb_trials, 990) / rtt_ns, "RTT", REC_INFO, 0);
}

/*
 * The least that path order can do: the next packet on the entropy value leaves one pass of the
 * walk later; it, its SACK and the copy cross the wire; the SACK waits for up to SACK_PKTS - 1
 * further packets and the copy for the one that is leaving.
 */
static double order_limit(const struct kase *k, double rtt_ns)
{
	double data_ns = (double)delay_ns(k) + NB_LINKS * PKT_NS;

	return (((double)k->nb_evs + SACK_PKTS) * PKT_NS + data_ns + rtt_ns) / rtt_ns;
}

static void order_run(uint32_t nb_evs, uint32_t times, double rtt_ns)
{
	char name[80];
	struct kase k = {.name = name, .nb_evs = nb_evs, .nb_trials = NB_TRIALS, .times = times};
	double limit = order_limit(&k, rtt_ns);

	if (nb_evs > 40 && times == 1)
		k.nb_trials = MANY_TRIALS;
	snprintf(name, sizeof(name), "path order, %u EVs, %.2f packets per EV", nb_evs,
		rtt_ns / ((double)nb_evs * PKT_NS));
	kase_run(&k, rtt_ns, limit > 2 ? limit : 2);
}

/* Trimmed at a switch on the way up, one and a half round trips hold what the host waits for; at
 * the last one the packet has crossed three of four links whole, which is one more than half of
 * them. */
static void trim_run(double rtt_ns)
{
	struct kase k = {.name = "trimmed at the first switch",
		.nb_evs = 32,
		.nb_trials = NB_TRIALS,
		.trim_links = 1,
		.times = 1};

	kase_run(&k, rtt_ns, 1.5);
	k.name = "trimmed at the last switch";
	k.trim_links = NB_LINKS - 1;
	kase_run(&k, rtt_ns, 0);
}

/* spec */
void rec_repair(void)
{
	struct kase k = {
		.name = "tail, by probe", .nb_evs = 32, .nb_trials = NB_TRIALS, .times = 1};
	double rtt_ns = unloaded(1);

	rec_table("repair", "a single lost packet, departure to its copy's arrival");
	rec_row("unloaded round trip", rtt_ns, "ns", REC_INFO, 0);
	trim_run(rtt_ns);
	for (uint32_t nb_evs = 8; nb_evs <= 40; nb_evs += 8)
		order_run(nb_evs, 1, rtt_ns);
	order_run(44, 1, rtt_ns);
	order_run(52, 1, rtt_ns);
	order_run(160, 4, unloaded(4));
	k.tail = true;
	kase_run(&k, rtt_ns, 3);
	k.name = "one packet per EV, path order and probe";
	k.tail = false;
	k.nb_evs = 128;
	kase_run(&k, rtt_ns, 0);
	k.name = "one packet per EV, distance";
	k.nb_evs = 256;
	k.by_distance = true;
	kase_run(&k, rtt_ns, 0);
	k.name = "EVs pin no path, distance";
	k.unpinned = true;
	kase_run(&k, rtt_ns, 0);
}
