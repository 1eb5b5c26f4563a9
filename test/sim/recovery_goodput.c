/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery_goodput.c - what random loss costs, and where it goes: window of the peer, congestion
 * window, nothing to send; under how many active entropy values.
 */
#include <stdio.h>

#include "recovery.h"

#define RTT_NS (10 * PAIR_US)

struct sampler {
	uint64_t nb, psn_closed, cwnd_closed, lost_waiting;
	double active, bad;
	uint64_t end_ns;
};

static void sample(struct pair *p, void *arg)
{
	struct sampler *s = arg;
	struct mrc_sched_qp_info info = pair_query(p, PAIR_A, 0);
	struct mrc_ev_set *set = p->hosts[PAIR_A][0].set;

	s->nb++;
	s->psn_closed += info.outstanding >= info.tx_window_psns;
	s->cwnd_closed += info.cwnd != 0 && info.cc_inflight + 1170 > (int64_t)info.cwnd;
	s->active += mrc_ev_state_count(set, MRC_EV_GOOD, -1);
	s->bad += mrc_ev_state_count(set, MRC_EV_ASSUMED_BAD, -1);
	pair_at(p, 1000, sample, s);
}

struct goodput {
	double bytes_per_ns, rtx, timeouts, spurious;
	struct sampler s;
};

static void goodput_run(const char *name, const struct mrc_nscc_cfg *cc, uint32_t nb_evs,
	uint32_t ppm, struct goodput *out)
{
	struct pair_cfg cfg;
	uint64_t first;
	struct pair *p;

	*out = (struct goodput){0};
	rec_cfg(&cfg, 800);
	cfg.nb_evs = nb_evs;
	cfg.mpr = 8;
	cfg.cc = cc;
	cfg.timeout = 10;
	cfg.mem_len = 4u << 20;
	cfg.check_every = 0;
	p = rec_pair(&cfg);
	if (ppm != 0)
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .ppm = ppm});
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = UINT32_MAX, .depth = 16, .min_len = 65536, .max_len = 65536});
	pair_run(p, 2 * PAIR_MS); /* the entropy values have had the time to go bad */
	first = PAIR_COUNTER(p, PAIR_B, rx_data_bytes);
	pair_at(p, 0, sample, &out->s);
	pair_run(p, 20 * PAIR_MS);
	out->bytes_per_ns = (double)(PAIR_COUNTER(p, PAIR_B, rx_data_bytes) - first) / 20e6;
	out->rtx = (double)PAIR_COUNTER(p, PAIR_A, retransmits);
	out->spurious = (double)PAIR_COUNTER(p, PAIR_A, spurious_retransmits);
	out->timeouts = (double)PAIR_COUNTER(p, PAIR_A, timeouts);
	rec_clean(name, p);
	p->q[PAIR_A][0].load_left = 0;
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

static void goodput_rows(
	const char *name, const struct mrc_nscc_cfg *cc, uint32_t nb_evs, enum rec_op op)
{
	static const uint32_t losses[] = {1000, 10000, 50000};
	static const double marks[] = {0.97, 0.90, 0};
	struct goodput base, g;
	char what[96];

	goodput_run(name, cc, nb_evs, 0, &base);
	snprintf(what, sizeof(what), "%s: no loss", name);
	rec_row(what, base.bytes_per_ns * 8, "Gb/s", REC_INFO, 0);
	for (size_t i = 0; i < 3; i++) {
		goodput_run(name, cc, nb_evs, losses[i], &g);
		snprintf(what, sizeof(what), "%s: %g %% loss", name, losses[i] / 1e4);
		rec_row(what, g.bytes_per_ns / base.bytes_per_ns, "of it",
			marks[i] > 0 ? op : REC_INFO, marks[i]);
		rec_row("  time with the peer's window full",
			100.0 * (double)g.s.psn_closed / (double)g.s.nb, "%", REC_INFO, 0);
		rec_row("  time with the congestion window full",
			100.0 * (double)g.s.cwnd_closed / (double)g.s.nb, "%", REC_INFO, 0);
		rec_row("  entropy values in use", g.s.active / (double)g.s.nb, "", REC_INFO, 0);
		rec_row("  entropy values assumed bad", g.s.bad / (double)g.s.nb, "", REC_INFO, 0);
		rec_row("  expiries", g.timeouts, "", REC_INFO, 0);
		rec_row("  sent again for nothing", g.rtx > 0 ? 100 * g.spurious / g.rtx : 0, "%",
			REC_INFO, 0);
	}
}

void rec_goodput(void)
{
	struct mrc_nscc_cfg nscc, fixed;

	mrc_nscc_cfg_default(&nscc, 94000000000, RTT_NS, 1170, true);
	fixed = nscc;
	fixed.algorithm = MRC_NSCC_FIXED;
	rec_table("goodput", "one QP at 82 Gb/s, 10 us: random loss of everything on all planes");
	goodput_rows("NSCC, 256 EVs", &nscc, 256, REC_GE);
	goodput_rows("fixed window, 256 EVs", &fixed, 256, REC_GE);
	goodput_rows("no congestion control, 256 EVs", NULL, 256, REC_GE);
	goodput_rows("NSCC, 32 EVs", &nscc, 32, REC_GE);
}
