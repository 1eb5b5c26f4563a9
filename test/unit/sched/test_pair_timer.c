/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_timer.c - retransmission timers, back-off, retry exhaustion, RTT samples, clocks that
 * start late, jump or stand still.
 */
#include "pair_test.h"

#define T_NS(exp) (1024ull << (exp))

static void black_hole(struct pair *p)
{
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
}

/* Expiry k (from 1): the linear ones after T each, then 2T, 4T, ... up to the ceiling. */
static uint64_t interval(const struct pair_cfg *cfg, uint32_t k)
{
	uint32_t linear = cfg->linear_cnt ? cfg->linear_cnt : 1;
	uint64_t t = T_NS(cfg->timeout);

	for (uint32_t i = linear; i < k && t < T_NS(24); i++)
		t *= 2;
	return t < T_NS(24) ? t : T_NS(24);
}

/* All paths dead: the error comes when the schedule says, and everything is flushed, once. */
static void exhaustion(uint8_t timeout, uint8_t linear, uint8_t exp, bool per_packet)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t due = 0, got, sent;

	pair_test_cfg(&cfg, "retries_end_on_schedule", 51);
	cfg.timeout = timeout;
	cfg.linear_cnt = linear;
	cfg.exp_cnt = exp;
	cfg.per_packet_timers = per_packet;
	cfg.allow_error = true;
	p = pair_create(&cfg);
	black_hole(p);
	sent = p->now;
	for (uint32_t i = 0; i < 20; i++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100, .unsignaled = i % 3 == 1});
	for (uint32_t k = 1; k <= 1u + linear + exp; k++)
		due += interval(&cfg, k);
	if (!pair_run_idle(p, 2 * due + PAIR_MS))
		pair_fail(p, "no end after twice the schedule");
	got = p->q[PAIR_A][0].ops[0].done_ns - sent;
	if (got < due || got > due + due / 64 + 10 * PAIR_US)
		pair_fail(p, "timeout %u, %u linear, %u exponential: error after %llu ns, due %llu",
			timeout, linear, exp, (unsigned long long)got, (unsigned long long)due);
	PAIR_EQ(p, p->q[PAIR_A][0].ops[0].status, MRC_WC_RETRY_EXC_ERR);
	for (uint32_t k = 1; k < 20; k++)
		PAIR_EQ(p, p->q[PAIR_A][0].ops[k].status, MRC_WC_WR_FLUSH_ERR);
	PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 20);
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 1);
	PAIR_EQ(p, p->last_event[PAIR_A].arg, MRC_WC_RETRY_EXC_ERR);
	PAIR_EQ(p, mrc_sched_qp_state(p->q[PAIR_A][0].qp), MRC_QP_ERR);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, qp_errors), 1);
	pair_destroy(p);
}

/* spec */
static void retries_end_on_schedule(void **state)
{
	for (int per_packet = 0; per_packet < 2; per_packet++) {
		exhaustion(8, 7, 7, per_packet);
		exhaustion(8, 0, 0, per_packet);
		exhaustion(8, 1, 0, per_packet);
		exhaustion(8, 0, 1, per_packet);
		exhaustion(4, 3, 10, per_packet);
		exhaustion(14, 7, 3, per_packet);
		exhaustion(20, 2, 6, per_packet); /* reaches the ceiling */
	}
}

static struct pair *nothing_arrives(uint32_t nb, bool per_packet)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "timers_per_packet", 68);
	cfg.timeout = 14;
	cfg.linear_cnt = 7;
	cfg.per_packet_timers = per_packet;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
	for (uint32_t i = 0; i < nb; i++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	return p;
}

/*
 * A copy that a NACK asked for has the whole time for itself, with a timer for each packet and with
 * that of the connection. With the first all that are over their time are lost together; the timer
 * of the connection takes the oldest packet only.
 */
/* spec */
static void timers_per_packet(void **state)
{
	const uint64_t timeout_ns = 1024ull << 14;

	for (int per_packet = 0; per_packet < 2; per_packet++) {
		struct pair *p = nothing_arrives(1, per_packet);
		struct mrc_pkt pkt;

		pair_run(p, timeout_ns * 9 / 10);
		pair_pkt_init(p, PAIR_A, 0, MRC_OP_NACK, &pkt);
		pkt.psn = pkt.nack.psn = mrc_psn(p->cfg.psn[PAIR_A]);
		pkt.nack.reason = MRC_NACK_TRIMMED;
		PAIR_EQ(p, pair_rx_pkt(p, PAIR_A, 0, &pkt).kind, MRC_RX_CONSUMED);
		pair_run(p, timeout_ns / 5); /* 1.1 */
		PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 1);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
		pair_run(p, timeout_ns * 85 / 100); /* 1.95 */
		PAIR_EQ(p, p->q[PAIR_A][0].wire_again, 2);
		PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 1);
		pair_finish(p, 10 * PAIR_S);
		pair_destroy(p);

		p = nothing_arrives(4, per_packet);
		pair_run(p, timeout_ns * 11 / 10);
		PAIR_EQ(p, p->q[PAIR_A][0].wire_again, per_packet ? 4 : 1);
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).retry_count, 1);
		pair_finish(p, 10 * PAIR_S);
		pair_destroy(p);
	}
}

/* A host that has lost every port before it sends anything: its work fails when the schedule says
 * as well. When a port comes back before that, nothing has happened. */
/* spec */
static void no_port_is_no_excuse(void **state)
{
	for (int back = 0; back < 2; back++) {
		struct pair_cfg cfg;
		struct pair *p;
		uint64_t due = 0, sent, got;

		pair_test_cfg(&cfg, "no_port_is_no_excuse", 63);
		cfg.timeout = 8;
		cfg.linear_cnt = 2;
		cfg.exp_cnt = 3;
		cfg.allow_error = back == 0;
		p = pair_create(&cfg);
		for (uint32_t plane = 0; plane < cfg.nb_planes; plane++)
			pair_plane(p, PAIR_A, plane, false);
		sent = p->now;
		for (uint32_t i = 0; i < 5; i++)
			pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 5000});
		for (uint32_t k = 1; k <= 1u + cfg.linear_cnt + cfg.exp_cnt; k++)
			due += interval(&cfg, k);
		pair_run(p, due / 2);
		PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 0);
		if (back) {
			pair_plane(p, PAIR_A, 1, true);
			pair_finish(p, PAIR_S);
			PAIR_EQ(p, p->q[PAIR_A][0].nb_success, 5);
			PAIR_EQ(p, pair_query(p, PAIR_A, 0).retry_count, 0);
		} else {
			if (!pair_run_idle(p, 2 * due + PAIR_MS))
				pair_fail(p, "no end after twice the schedule");
			got = p->q[PAIR_A][0].ops[0].done_ns - sent;
			if (got < due || got > due + due / 64 + 10 * PAIR_US)
				pair_fail(p, "error after %llu ns, due %llu",
					(unsigned long long)got, (unsigned long long)due);
			PAIR_EQ(p, p->q[PAIR_A][0].ops[0].status, MRC_WC_RETRY_EXC_ERR);
			PAIR_EQ(p, p->q[PAIR_A][0].nb_error, 5);
		}
		pair_destroy(p);
	}
}

/* 100 QPs into a black hole for 60 s: per QP at most a packet per timeout. */
static void no_storm(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t before, after, expiries = 0, t = 0;

	pair_test_cfg(&cfg, "no_storm", 52);
	cfg.nb_qps = 100;
	cfg.mem_len = 65536;
	cfg.exp_cnt = MRC_EXP_MAX;
	cfg.pkt_ns = 20;
	cfg.check_every = 512;
	p = pair_create(&cfg);
	black_hole(p);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_post(p, PAIR_A, i, &(struct pair_wr){.len = 20000});
	pair_run(p, 100 * PAIR_US);
	before = p->wire_kind[PAIR_A][0] + p->wire_kind[PAIR_A][4];
	PAIR_EQ(p, p->wire_kind[PAIR_A][0], 100 * 20);
	while (t < 60 * PAIR_S)
		t += interval(&cfg, (uint32_t)++expiries);
	pair_run(p, 60 * PAIR_S);
	after = p->wire_kind[PAIR_A][0] + p->wire_kind[PAIR_A][4];
	if (after - before > 100 * 2 * (expiries + 1))
		pair_fail(p, "%llu packets in 60 s, %llu expiries per QP",
			(unsigned long long)(after - before), (unsigned long long)expiries);
	pair_finish(p, 60 * PAIR_S);
	pair_destroy(p);
}

/* The timeouts seen on the wire grow as the schedule says, and fall back at the first progress. */
/* spec */
static void back_off_recovers(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_tape tape;
	struct pair_fault *f;

	pair_test_cfg(&cfg, "back_off_recovers", 53);
	cfg.linear_cnt = 0;
	cfg.exp_cnt = 10;
	cfg.timeout = 10;
	p = pair_create(&cfg);
	pair_tape_start(p, &tape);
	f = pair_fault_add(
		p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .count = 6});
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_PROBE});
	for (int round = 0; round < 2; round++) {
		uint64_t from = p->now;

		f->fired = 0;
		pair_tape_clear(&tape);
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 64});
		if (!pair_run_idle(p, 10 * PAIR_S))
			pair_fail(p, "round %d hangs", round);
		PAIR_EQ(p, pair_tape_count(&tape, PAIR_A, 0), 7);
		for (uint32_t k = 0, n = 0; k < tape.nb[PAIR_A]; k++) {
			uint64_t gap = tape.times[PAIR_A][k] - from;

			if (!(mrc_opcode_table[tape.pkts[PAIR_A][k].opcode].flags & MRC_OPF_WRITE))
				continue;
			from = tape.times[PAIR_A][k];
			if (n != 0 && (gap < interval(&cfg, n) ||
					      gap > interval(&cfg, n) + interval(&cfg, n) / 64 +
							      4 * PAIR_US))
				pair_fail(p, "round %d: gap %u is %llu ns, expected %llu", round, n,
					(unsigned long long)gap,
					(unsigned long long)interval(&cfg, n));
			n++;
		}
		PAIR_EQ(p, pair_query(p, PAIR_A, 0).retry_count, 0);
	}
	pair_finish(p, PAIR_S);
	pair_tape_free(p, &tape);
	pair_destroy(p);
}

/* Everything acknowledged: no timer is left, and an hour later nothing has been sent. */
static void timers_end(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t before;

	pair_test_cfg(&cfg, "timers_end", 54);
	p = pair_create(&cfg);
	PAIR_EQ(p, mrc_sched_next_deadline(p->hosts[PAIR_A][0].sched), MRC_SCHED_NEVER);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){
			.count = 100, .depth = 16, .min_len = 0, .max_len = 9000, .imm_pct = 10});
	pair_finish(p, PAIR_S);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, mrc_sched_next_deadline(p->hosts[PAIR_A][0].sched), MRC_SCHED_NEVER);
	PAIR_EQ(p, mrc_sched_next_deadline(p->hosts[PAIR_B][0].sched), MRC_SCHED_NEVER);
	before = p->wire_packets[PAIR_A] + p->wire_packets[PAIR_B];
	pair_run(p, 3600 * PAIR_S);
	pair_kick(&p->hosts[PAIR_A][0]);
	pair_kick(&p->hosts[PAIR_B][0]);
	pair_run(p, PAIR_MS);
	PAIR_EQ(p, p->wire_packets[PAIR_A] + p->wire_packets[PAIR_B], before);
	PAIR_EQ(p, PAIR_COUNTER(p, PAIR_A, timeouts), 0);
	pair_destroy(p);
}

static struct mrc_nscc_cfg nscc_of(uint32_t base_rtt_ns)
{
	struct mrc_nscc_cfg cc;

	mrc_nscc_cfg_default(&cc, 100000000000ull, base_rtt_ns, 1024 + 96, true);
	return cc;
}

/* A sample is taken from an answer to a first transmission, never from an ambiguous one. */
/* spec */
static void no_sample_from_the_ambiguous(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_nscc_cfg cc = nscc_of(500 * PAIR_US);
	uint64_t rtt;

	pair_test_cfg(&cfg, "no_sample_from_the_ambiguous", 55);
	cfg.cc = &cc;
	cfg.delay_ns = 100 * PAIR_US;
	cfg.timeout = 9; /* 524 us */
	p = pair_create(&cfg);
	/* the first copy is late, its answer comes just after the second copy left */
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DELAY,
				  .kinds = PAIR_DATA,
				  .rtx = PAIR_RTX_FIRST,
				  .count = 1,
				  .delay_ns = 330 * PAIR_US});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 64});
	pair_finish_faulty(p, PAIR_S);
	pair_run(p, 5 * PAIR_MS);
	rtt = pair_query(p, PAIR_A, 0).base_rtt_ns;
	if (rtt < 195 * PAIR_US)
		pair_fail(p, "base RTT %llu ns on a path of 200 us", (unsigned long long)rtt);
	pair_faults_clear(p);
	pair_load(p, PAIR_A, 0, &(struct pair_load){.count = 50, .depth = 4, .max_len = 500});
	pair_finish(p, PAIR_S);
	rtt = pair_query(p, PAIR_A, 0).base_rtt_ns;
	if (rtt < 199 * PAIR_US || rtt > 230 * PAIR_US)
		pair_fail(p, "base RTT %llu ns on a path of 200 us", (unsigned long long)rtt);
	pair_destroy(p);
}

/* A probe carries no payload and is faster than data, most of all over slow links: the unloaded
 * round trip of data is not to be had from it. */
/* spec */
static void no_base_from_a_probe(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_nscc_cfg cc = nscc_of(60 * PAIR_US);
	uint64_t rtt;

	pair_test_cfg(&cfg, "no_base_from_a_probe", 62);
	cfg.cc = &cc;
	cfg.delay_ns = 10 * PAIR_US;
	p = pair_create(&cfg);
	pair_fault_add(p,
		&(struct pair_fault){
			.act = PAIR_DROP, .kinds = PAIR_DATA, .rtx = PAIR_RTX_FIRST, .every = 50});
	pair_fault_add(p, &(struct pair_fault){
				  .act = PAIR_DELAY, .kinds = PAIR_DATA, .delay_ns = 20 * PAIR_US});
	pair_load(p, PAIR_A, 0, &(struct pair_load){.count = 200, .depth = 1, .max_len = 3000});
	pair_finish_faulty(p, PAIR_S);
	assert_true(PAIR_COUNTER(p, PAIR_A, tx_probe) > 0);
	rtt = pair_query(p, PAIR_A, 0).base_rtt_ns;
	if (rtt < 39 * PAIR_US || rtt > 41 * PAIR_US)
		pair_fail(p, "base RTT %llu ns, data takes 40 us", (unsigned long long)rtt);
	pair_destroy(p);
}

/* Echoed 16-bit stamps: right across their wrap, ignored when older than half their range. */
static void wire_stamps(uint64_t start_ns, uint64_t delay_ns, bool measurable)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_nscc_cfg cc = nscc_of(900 * PAIR_US * 1000 / 1000);
	uint64_t rtt;

	pair_test_cfg(&cfg, "wire_stamps_wrap", 56);
	cfg.cc = &cc;
	cfg.start_ns = start_ns;
	cfg.delay_ns = delay_ns;
	cfg.timeout = 16;
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0, &(struct pair_load){.count = 100, .depth = 1, .max_len = 500});
	pair_finish(p, 10 * PAIR_S);
	rtt = pair_query(p, PAIR_A, 0).base_rtt_ns;
	if (measurable && (rtt + 256 < 2 * delay_ns || rtt > 2 * delay_ns + 10 * PAIR_US))
		pair_fail(p, "base RTT %llu ns, path %llu", (unsigned long long)rtt,
			(unsigned long long)(2 * delay_ns));
	if (!measurable && rtt < 900 * PAIR_US)
		pair_fail(p, "a sample of %llu ns out of an ambiguous stamp",
			(unsigned long long)rtt);
	pair_destroy(p);
}

/* spec */
static void wire_stamps_wrap(void **state)
{
	for (uint64_t k = 0; k < 16; k++)
		wire_stamps(PAIR_S + k * 8388608 / 16, 20 * PAIR_US + k * 1000, true);
	wire_stamps(PAIR_S, 2500 * PAIR_US, false);
	wire_stamps(PAIR_S, 4194304 - 20000, false); /* about one whole turn */
}

/* The same run at any age of the host's clock. */
static void clocks_of_any_age(void **state)
{
	const uint64_t starts[] = {0, 1, (1ull << 32) * 1000 - 300 * PAIR_US, 365 * 86400 * PAIR_S,
		3650 * 86400 * PAIR_S, (1ull << 63) - 300 * PAIR_US, (1ull << 63) + 5,
		UINT64_MAX - 3600 * PAIR_S};
	uint64_t took[sizeof(starts) / sizeof(starts[0])];

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct pair_cfg cfg;
		struct pair *p;

		pair_test_cfg(&cfg, "clocks_of_any_age", 57);
		cfg.start_ns = starts[i];
		p = pair_create(&cfg);
		/* one lost packet, alone: healed by a timer or a probe */
		pair_fault_add(
			p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_DATA, .count = 1});
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 64});
		pair_finish_faulty(p, 10 * PAIR_S);
		took[i] = p->q[PAIR_A][0].ops[0].done_ns - starts[i];
		if (took[i] + 2 * PAIR_US < took[0] || took[i] > took[0] + 2 * PAIR_US)
			pair_fail(p, "takes %llu ns from %llu on, %llu from 0 on",
				(unsigned long long)took[i], (unsigned long long)starts[i],
				(unsigned long long)took[0]);
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){.count = 100, .depth = 16, .max_len = 9000});
		pair_finish(p, PAIR_S);
		pair_destroy(p);
	}
}

/* A stalled worker or a clock that jumps kills nobody and causes no burst beyond the window. */
static void stalls_and_jumps(void **state)
{
	const uint64_t stall[] = {PAIR_MS, 20 * PAIR_MS, PAIR_S, 10 * PAIR_S};

	for (size_t i = 0; i < sizeof(stall) / sizeof(stall[0]); i++)
		for (int what = 0; what < 3; what++) {
			struct pair_cfg cfg;
			struct pair *p;

			pair_test_cfg(&cfg, "stalls_and_jumps", 58);
			cfg.mem_len = 1u << 21;
			/* the peer may be away for long: the schedule must allow it */
			cfg.exp_cnt = what == 1 ? MRC_EXP_MAX : 7;
			p = pair_create(&cfg);
			pair_load(p, PAIR_A, 0,
				&(struct pair_load){.count = 300,
					.depth = 32,
					.min_len = 100,
					.max_len = 40000,
					.imm_pct = 10});
			pair_run(p, 50 * PAIR_US);
			if (what == 2)
				pair_clock_jump(p, PAIR_A, stall[i]);
			else
				pair_freeze(p, what, stall[i]);
			pair_finish_faulty(p, 40 * PAIR_S);
			pair_destroy(p);
		}
}

/* Many QPs expire at one instant: a call does a bounded part and says that more is due. */
static void bounded_expire(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_host *h;
	uint64_t now;
	uint32_t calls = 0, most = 0, sum = 0, n;

	pair_test_cfg(&cfg, "bounded_expire", 59);
	cfg.nb_qps = 2000;
	cfg.mem_len = 256;
	cfg.sq_depth = cfg.rq_depth = 1;
	cfg.cq_depth = 4;
	cfg.mpr = 1;
	cfg.auto_recv = false;
	cfg.pkt_ns = 10;
	cfg.check_every = 0;
	cfg.exp_cnt = MRC_EXP_MAX;
	p = pair_create(&cfg);
	h = &p->hosts[PAIR_A][0];
	black_hole(p);
	for (uint32_t i = 0; i < cfg.nb_qps; i++)
		pair_post(p, PAIR_A, i, &(struct pair_wr){.len = 32});
	while (p->wire_packets[PAIR_A] < cfg.nb_qps && p->now < cfg.start_ns + 250 * PAIR_US)
		pair_step(p);
	PAIR_EQ(p, p->wire_packets[PAIR_A], cfg.nb_qps);
	now = p->now + 2 * T_NS(cfg.timeout); /* all are due */
	while (mrc_sched_next_deadline(h->sched) <= now && calls < 100000) {
		n = mrc_sched_expire(h->sched, now);
		most = n > most ? n : most;
		sum += n;
		calls++;
	}
	assert_true(calls < 100000);
	if (sum < cfg.nb_qps)
		pair_fail(p, "%u timers of %u QPs ran in %u calls, at most %u in one", sum,
			cfg.nb_qps, calls, most);
	assert_true(most <= 1024);
	h->clock_off = now - p->now;
	pair_finish(p, 10 * PAIR_S);
	pair_destroy(p);
}

/* Half a round trip of 50 ms under the engine's default schedule: slow is not dead. */
static void far_away(void **state)
{
	struct pair_cfg cfg;
	struct mrc_sched_qp_attr attr;
	struct pair *p;

	mrc_sched_qp_attr_default(&attr);
	pair_test_cfg(&cfg, "far_away", 60);
	cfg.delay_ns = 50 * PAIR_MS;
	cfg.timeout = attr.timeout;
	cfg.linear_cnt = attr.linear_cnt;
	cfg.exp_cnt = attr.exp_cnt;
	p = pair_create(&cfg);
	pair_load(p, PAIR_A, 0,
		&(struct pair_load){.count = 20, .depth = 4, .max_len = 40000, .imm_pct = 50});
	pair_finish(p, 60 * PAIR_S);
	pair_destroy(p);
}

/* 4 MiB at 5 % loss and 100 us of round trip are through within 200 round trips. */
static void recovery_is_not_one_packet_per_round(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;

	pair_test_cfg(&cfg, "recovery_is_not_one_packet_per_round", 61);
	cfg.mem_len = (4u << 20) + 64;
	cfg.pmtu = 4096;
	cfg.delay_ns = 50 * PAIR_US;
	cfg.check_every = 16;
	p = pair_create(&cfg);
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .dir = PAIR_A2B, .ppm = 50000});
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 4u << 20});
	pair_finish_faulty(p, 200 * 100 * PAIR_US);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(retries_end_on_schedule),
	cmocka_unit_test(timers_per_packet),
	cmocka_unit_test(no_port_is_no_excuse),
	cmocka_unit_test(no_storm),
	cmocka_unit_test(back_off_recovers),
	cmocka_unit_test(timers_end),
	cmocka_unit_test(no_sample_from_the_ambiguous),
	cmocka_unit_test(no_base_from_a_probe),
	cmocka_unit_test(wire_stamps_wrap),
	cmocka_unit_test(clocks_of_any_age),
	cmocka_unit_test(stalls_and_jumps),
	cmocka_unit_test(bounded_expire),
	cmocka_unit_test(far_away),
	cmocka_unit_test(recovery_is_not_one_packet_per_round),
};

PAIR_TEST_MAIN(tests)
