/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_demo.c - endpoints on a machine that is not theirs alone: a side may stop for
 * milliseconds at any time, and its answers come late. No stall may be taken for loss for long, and
 * what was taken for loss may not cost the window for good.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recovery.h"

#define SLOT_NS (100 * PAIR_MS)
#define LOOK_NS (50 * PAIR_US)

enum {
	NB_SLOTS = 256,
	FAULT_SLOT = 10, /* a plane goes silent */
	HEALED_SLOT = 20,
	LAST_SLOT = 40,
};

/* Stops sides at random. */
struct freezer {
	uint64_t min_ns, max_ns; /* length of a stop */
	uint64_t gap_ns;         /* mean time between two */
	uint64_t end_ns;
	uint64_t nb;
	struct test_env te; /* its own, so that runs with and without a fault meet the same stops */
};

struct run {
	struct rec_links links;
	struct freezer freezer;
	uint64_t bytes[NB_SLOTS]; /* received in each slot */
	uint32_t awake[NB_SLOTS]; /* looks in each slot that found both sides awake */
	uint64_t last_bytes;
	uint32_t nb_slots;
	uint64_t nb_errors;
};

static uint64_t between(struct freezer *f, uint64_t lo, uint64_t hi)
{
	return lo + test_random64(&f->te) % (hi - lo + 1);
}

static void freeze(struct pair *p, void *arg)
{
	struct freezer *f = arg;
	uint64_t len = between(f, f->min_ns, f->max_ns);

	if (p->now >= f->end_ns)
		return;
	pair_freeze(p, test_random_below(&f->te, 2) ? PAIR_A : PAIR_B, len);
	f->nb++;
	pair_at(p, between(f, 1, 2 * f->gap_ns), freeze, f);
}

static uint64_t received(struct pair *p)
{
	return PAIR_COUNTER(p, PAIR_B, rx_data_bytes);
}

static void slot(struct pair *p, void *arg)
{
	struct run *run = arg;
	uint64_t bytes = received(p);

	if (run->nb_slots < NB_SLOTS)
		run->bytes[run->nb_slots++] = bytes - run->last_bytes;
	run->last_bytes = bytes;
	pair_at(p, SLOT_NS, slot, run);
}

static void look(struct pair *p, void *arg)
{
	struct run *run = arg;

	run->awake[run->nb_slots % NB_SLOTS] += p->hosts[PAIR_A][0].frozen_until <= p->now &&
						p->hosts[PAIR_B][0].frozen_until <= p->now;
	pair_at(p, LOOK_NS, look, run);
}

static double gbps(const struct run *run, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += run->bytes[i];
	return (double)sum * 8 / ((double)(to - from) * SLOT_NS);
}

/* The same over the time in which neither side stands still: what the stops leave. */
static double gbps_awake(const struct run *run, uint32_t from, uint32_t to)
{
	uint64_t sum = 0, nb = 0;

	for (uint32_t i = from; i < to; i++) {
		sum += run->bytes[i];
		nb += run->awake[i];
	}
	return (double)sum * 8 / (double)(nb * LOOK_NS);
}

static void silence(struct pair *p, void *arg)
{
	struct run *run = arg;

	run->links.silent ^= 1u << 1;
}

static void report(const char *name, struct run *run, struct pair *p)
{
	struct mrc_sched_qp_info info = pair_query(p, PAIR_A, 0);

	if (getenv("REC_VERBOSE") == NULL)
		return;
	for (uint32_t i = 0; i < run->nb_slots; i++)
		fprintf(stderr, "%.3f ", (double)run->bytes[i] * 8 / SLOT_NS);
	fprintf(stderr,
		"\n%s: freezes %llu, dropped %llu silent %llu inbox %llu marked %llu; rtx %llu "
		"order %llu "
		"timeout %llu nack %llu spurious %llu timeouts %llu cwnd %u base %llu srtt %llu\n",
		name, (unsigned long long)run->freezer.nb,
		(unsigned long long)run->links.nb_dropped, (unsigned long long)run->links.nb_silent,
		(unsigned long long)run->links.nb_inbox, (unsigned long long)run->links.nb_marked,
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, retransmits),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_order),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_timeout),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, rtx_by_nack),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, spurious_retransmits),
		(unsigned long long)PAIR_COUNTER(p, PAIR_A, timeouts), info.cwnd,
		(unsigned long long)info.base_rtt_ns, (unsigned long long)info.srtt_ns);
}

/* The configuration of the demonstration; a host that needs pkt_ns for a packet. */
static struct pair *demo_pair(struct run *run, const struct mrc_nscc_cfg *cc, uint64_t seed,
	uint64_t pkt_ns, uint64_t delay_ns)
{
	struct pair_cfg cfg;
	struct pair *p;

	rec_cfg(&cfg, seed);
	cfg.nb_qps = 4;
	cfg.nb_evs = 64;
	cfg.pmtu = 4096;
	cfg.v6 = true;
	cfg.delay_ns = delay_ns;
	cfg.pkt_ns = pkt_ns;
	cfg.timeout = 12;
	cfg.linear_cnt = 3;
	cfg.exp_cnt = 7;
	cfg.cc = cc;
	cfg.mem_len = 4u << 20;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	run->links.rate_bps = 1000000000;
	run->links.limit_ns = 4 * PAIR_MS;
	run->links.mark_ns = PAIR_MS;
	run->links.inbox = 1024;
	rec_links_attach(p, &run->links);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_load(p, PAIR_A, i,
			&(struct pair_load){.count = UINT32_MAX,
				.depth = 8,
				.min_len = 256 << 10,
				.max_len = 256 << 10});
	pair_at(p, SLOT_NS, slot, run);
	pair_at(p, LOOK_NS, look, run);
	return p;
}

static struct mrc_nscc_cfg demo_cc(uint32_t base_ns, uint32_t target_ns)
{
	struct mrc_nscc_cfg cc;

	mrc_nscc_cfg_default(&cc, 4000000000, base_ns, 4096 + 100, true);
	if (target_ns != 0)
		cc.target_delay_ns = target_ns;
	return cc;
}

/* A workload on a machine: how fast the host is, how far the peer, how it stops. */
struct machine {
	const char *name;
	const struct mrc_nscc_cfg *cc;
	uint64_t pkt_ns, delay_ns;
	uint64_t min_ns, max_ns, gap_ns;
	double steady; /* mark: rate of the last half over the first quarter */
};

static void demo_one(const struct machine *m, bool fault, struct run *run)
{
	struct pair *p = demo_pair(run, m->cc, 900, m->pkt_ns, m->delay_ns);

	run->freezer = (struct freezer){.min_ns = m->min_ns,
		.max_ns = m->max_ns,
		.gap_ns = m->gap_ns,
		.end_ns = UINT64_MAX};
	test_env_seed(&run->freezer.te, rec_seed);
	if (m->max_ns != 0)
		pair_at(p, 10 * PAIR_MS, freeze, &run->freezer);
	if (fault) {
		pair_at(p, FAULT_SLOT * SLOT_NS, silence, run);
		pair_at(p, HEALED_SLOT * SLOT_NS, silence, run);
	}
	pair_run(p, LAST_SLOT * SLOT_NS);
	run->nb_errors = PAIR_COUNTER(p, PAIR_A, qp_errors);
	report(m->name, run, p);
	rec_clean(m->name, p);
	for (uint32_t i = 0; i < 4; i++)
		p->q[PAIR_A][i].load_left = 0;
	p->path_ns = NULL;
	pair_destroy(p);
}

static void demo_run(const struct machine *m, bool judged)
{
	struct run sick = {0}, well = {0};
	double before, during, after, same;
	char what[96];

	demo_one(m, true, &sick);
	demo_one(m, false, &well);
	before = gbps(&well, 1, FAULT_SLOT);
	during =
		gbps(&sick, FAULT_SLOT + 1, HEALED_SLOT) / gbps(&well, FAULT_SLOT + 1, HEALED_SLOT);
	after = gbps(&sick, HEALED_SLOT + 1, LAST_SLOT);
	same = gbps(&well, HEALED_SLOT + 1, LAST_SLOT);
	snprintf(what, sizeof(what), "%s: before the fault", m->name);
	rec_row(what, before, "Gb/s", REC_INFO, 0);
	snprintf(what, sizeof(what), "%s: during it, over the same time without", m->name);
	rec_row(what, during, "ratio", REC_INFO, 0);
	snprintf(what, sizeof(what), "%s: after it, over the same time without", m->name);
	rec_row(what, after / same, "ratio", judged ? REC_GE : REC_INFO, 0.9);
	snprintf(what, sizeof(what), "%s: last half over first quarter, awake", m->name);
	same = gbps_awake(&well, HEALED_SLOT + 1, LAST_SLOT) / gbps_awake(&well, 1, FAULT_SLOT);
	rec_row(what, same, "ratio", judged ? REC_GE : REC_INFO, m->steady);
	snprintf(what, sizeof(what), "%s: QP errors", m->name);
	rec_row(what, (double)(sick.nb_errors + well.nb_errors), "", REC_EQ, 0);
}

void rec_demo(void)
{
	struct mrc_nscc_cfg own = demo_cc(200000, 0), bare = demo_cc(1000000, 4000000);
	struct mrc_nscc_cfg wide = bare;

	wide.min_base_rtt_ns = 1000000;
	/* Sides that stand still nearly always are rarely awake at once: chance decides more. */
	rec_table("demo",
		"four planes of 1 Gb/s, one of them silent for 1 s, sides that stop for 1-20 ms");
	demo_run(&(struct machine){"quiet, 200 us", &own, 1000, 100 * PAIR_US, 0, 0, 0, 0.9}, true);
	demo_run(&(struct machine){"stopped half of the time, 200 us", &own, 1000, 100 * PAIR_US,
			 PAIR_MS, 20 * PAIR_MS, 10 * PAIR_MS, 0.9},
		true);
	demo_run(&(struct machine){"stopped half of the time, 20 us, 1 ms configured", &wide, 1000,
			 10 * PAIR_US, PAIR_MS, 20 * PAIR_MS, 10 * PAIR_MS, 0.9},
		true);
	demo_run(&(struct machine){"stopped nearly always, 20 us, 1 ms configured", &wide, 10000,
			 10 * PAIR_US, PAIR_MS, 20 * PAIR_MS, 3 * PAIR_MS, 0.5},
		true);
	demo_run(&(struct machine){"the same without min_base_rtt", &bare, 10000, 10 * PAIR_US,
			 PAIR_MS, 20 * PAIR_MS, 3 * PAIR_MS, 0.5},
		false);
}
