/* SPDX-License-Identifier: BSD-2-Clause */
/* The congestion window: published behaviour vector by vector, and what always holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_nscc.h"
#include "ref.h"
#include "test_env.h"

#define M   4096u
#define T0  100000u /* time at which the vectors begin */
#define US  1000u
#define NAK MRC_NSCC_NO_RTT

static struct mrc_nscc_cfg cfg;
static struct mrc_nscc cc;

static void network(double gbps, uint32_t rtt_ns, bool trimming)
{
	mrc_nscc_cfg_default(&cfg, (uint64_t)(gbps * 1e9), rtt_ns, M, trimming);
	assert_int_equal(mrc_nscc_cfg_check(&cfg, NULL), MRC_OK);
}

/* A controller in the middle of its life, quick adapt out of the way. */
static void begin(double gbps, uint32_t rtt_ns, bool trimming, int64_t cwnd)
{
	network(gbps, rtt_ns, trimming);
	mrc_nscc_init(&cc, &cfg, T0);
	cc.t_dec = 0;
	cc.qa_end = 1000000;
	cc.cwnd = cwnd;
}

/* Network A: 100 Gb/s, 12 us, trimming. */
static void begin_a(int64_t cwnd)
{
	begin(100, 12000, true, cwnd);
}

static void sack_full(
	uint64_t t, uint32_t bytes, bool marked, uint64_t rtt_ns, uint8_t pen, bool restore)
{
	struct mrc_nscc_sack sack = {
		.rcvd_units = (cc.rcvd_units + bytes / 256) & 0xFFFFFF,
		.marked = marked,
		.pen = pen,
		.restore = restore,
		.rtt_ns = rtt_ns,
	};

	assert_int_equal(mrc_nscc_on_sack(&cc, t, &sack), bytes);
}

static void sack_u(uint64_t t, uint32_t bytes, uint64_t q_ns)
{
	sack_full(t, bytes, false, cc.base_rtt + q_ns, 0, false);
}

static void sack_e(uint64_t t, uint32_t bytes, uint64_t q_ns)
{
	sack_full(t, bytes, true, cc.base_rtt + q_ns, 0, false);
}

static void trim(uint64_t t)
{
	mrc_nscc_on_nack(&cc, t, M, true, NAK);
}

#define WINDOW(w) assert_in_range(mrc_nscc_cwnd(&cc), (w)-2, (w) + 2)

static void vector_1_start(void **state)
{
	network(100, 12000, true);
	mrc_nscc_init(&cc, &cfg, 5);
	assert_int_equal(mrc_nscc_cwnd(&cc), 225000);
	assert_int_equal(mrc_nscc_inflight(&cc), 0);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 12000);
	network(400, 8000, true);
	mrc_nscc_init(&cc, &cfg, 5);
	assert_int_equal(mrc_nscc_cwnd(&cc), 600000);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 8000);
}

/* spec */
static void vector_2_proportional(void **state)
{
	begin_a(100000);
	for (int i = 0; i < 8; i++)
		sack_u(T0, M, 3 * US);
	WINDOW(100000);
	assert_int_equal((int64_t)round(cc.acc), 268435456);
	assert_int_equal(cc.recv, 32768);
	sack_u(T0, M, 3 * US);
	WINDOW(103019);
	assert_true(cc.acc == 0);
}

static void vector_3_fair(void **state)
{
	begin_a(100000);
	for (int i = 0; i < 9; i++)
		sack_u(T0, M, 9 * US);
	WINDOW(107549);
	begin_a(100000);
	sack_u(T0, 9 * M, 9 * US);
	WINDOW(107549);
	begin(400, 8000, true, 300000);
	sack_u(T0, 9 * M, 6 * US);
	WINDOW(306710);
}

static void vector_4_period(void **state)
{
	begin_a(100000);
	sack_u(112001, M, 3 * US);
	WINDOW(100949);
	begin_a(100000);
	sack_u(112000, M, 3 * US);
	WINDOW(100949);
	begin_a(100000);
	sack_u(111999, M, 3 * US);
	WINDOW(100000);
}

static void vector_5_hold(void **state)
{
	begin_a(100000);
	cc.avg_delay = 50 * US;
	sack_e(T0, 9 * M, 8999);
	WINDOW(100000);
	assert_int_equal(cc.recv, 0);
	begin_a(100000);
	sack_e(112001, M, 3 * US);
	WINDOW(100614);
}

static void vector_6_7_decrease(void **state)
{
	begin_a(100000);
	cc.avg_delay = 18 * US;
	sack_e(T0, M, 18 * US);
	WINDOW(60000);
	begin_a(100000);
	cc.avg_delay = 45 * US;
	sack_e(T0, M, 45 * US);
	WINDOW(50000);
	begin_a(6000);
	cc.avg_delay = 45 * US;
	sack_e(T0, M, 45 * US);
	WINDOW(4096);
}

static void vector_8_decrease_once_per_rtt(void **state)
{
	begin_a(100000);
	cc.avg_delay = 18 * US;
	sack_e(T0, M, 18 * US);
	WINDOW(60000);
	cc.t_adj = 112000;
	sack_e(112000, M, 18 * US);
	WINDOW(60000);
	sack_e(112001, M, 18 * US);
	WINDOW(36000);
}

static void vector_9_average_below_target(void **state)
{
	begin_a(100000);
	cc.avg_delay = 5 * US;
	cc.fi_count = 50000;
	cc.fast = true;
	sack_e(T0, M, 18 * US);
	WINDOW(100000);
	assert_true(fabs(cc.avg_delay - 5162.5) < 1e-6);
	assert_int_equal(cc.fi_count, 0);
	assert_false(cc.fast);
}

static void vector_10_fast_increase(void **state)
{
	static const uint64_t q[] = {0, 0, 999, 0, 1000, 0};
	static const uint32_t window[] = {8192, 8192, 9216, 10240, 10240, 10240};

	begin_a(8192);
	for (int i = 0; i < 6; i++) {
		sack_u(T0, M, q[i]);
		WINDOW(window[i]);
		if (i == 4)
			assert_false(cc.fast);
	}
	assert_int_equal(cc.fi_count, 4096);
	assert_int_equal((int64_t)round(cc.acc), 195734187);
}

static void vector_11_fast_mode_stays(void **state)
{
	begin_a(100000);
	cc.fi_count = 100001;
	cc.fast = true;
	sack_e(T0, M, 500);
	WINDOW(100000);
	sack_u(T0, M, 10 * US);
	WINDOW(100000);
	sack_u(T0, M, 500);
	WINDOW(101024);
}

static void vector_12_quick_adapt(void **state)
{
	begin_a(225000);
	cc.inflight = 221184;
	cc.qa_end = 0;
	cc.t_adj = 1000;
	trim(1000);
	WINDOW(220904);
	assert_int_equal(cc.qa_end, 22000);
	for (int i = 0; i < 3; i++)
		sack_e(5000, M, 18 * US);
	WINDOW(220904);
	assert_int_equal(cc.achieved, 12288);
	trim(22500);
	WINDOW(12288);
	assert_int_equal(cc.qa_end, 43500);
	assert_int_equal(cc.to_ignore, 200704);
}

static void vector_13_armed_fires_later(void **state)
{
	begin_a(150000);
	cc.inflight = 150000;
	cc.qa_end = 60000;
	cc.t_adj = 50000;
	trim(50000);
	WINDOW(145904);
	sack_u(55000, M, 8 * US);
	WINDOW(145904);
	sack_u(60001, M, 8 * US);
	WINDOW(8192);
	assert_int_equal(cc.to_ignore, 137712);
}

static void vector_14_ignore_phase(void **state)
{
	begin_a(12288);
	cc.to_ignore = 20480;
	cc.qa_end = 121000;
	cc.avg_delay = 45 * US;
	for (int i = 0; i < 4; i++) {
		sack_e(T0, M, 45 * US);
		WINDOW(12288);
		assert_true(cc.acc == 0);
		assert_int_equal(cc.recv, 0);
	}
	sack_e(T0, M, 45 * US);
	WINDOW(6144);
	begin_a(12288);
	cc.to_ignore = 40960;
	cc.inflight = 40960;
	trim(T0);
	WINDOW(12288);
	begin_a(12288);
	cc.to_ignore = 204800;
	sack_u(T0, 9 * M, 3 * US);
	WINDOW(36864);
}

static void vector_15_gate(void **state)
{
	static const int64_t achieved[] = {28125, 28124, 100};
	static const uint32_t window[] = {95904, 28124, 4096};

	for (int i = 0; i < 3; i++) {
		begin_a(100000);
		cc.inflight = 100000;
		cc.qa_end = 99000;
		cc.achieved = achieved[i];
		trim(T0);
		WINDOW(window[i]);
	}
}

static void vector_16_delay_alone(void **state)
{
	begin(100, 12000, false, 100000);
	cc.inflight = 100000;
	cc.qa_end = 99000;
	cc.achieved = 8192;
	sack_u(T0, M, 48 * US);
	WINDOW(100000);
	assert_int_equal(cc.qa_end, 124000);
	begin(100, 12000, false, 100000);
	cc.inflight = 100000;
	cc.qa_end = 99000;
	cc.achieved = 8192;
	sack_u(T0, M, 48001);
	WINDOW(12288);
	assert_int_equal(cc.to_ignore, 95904);
	/* With trimming no delay alone makes quick adapt act. */
	begin_a(100000);
	cc.inflight = 100000;
	cc.qa_end = 99000;
	sack_u(T0, M, 900 * US);
	WINDOW(100000);
}

/* spec */
static void vector_17_inferred_loss(void **state)
{
	begin_a(10000);
	cc.inflight = 50000;
	mrc_nscc_on_loss(&cc, T0, M);
	WINDOW(5904);
	assert_int_equal(mrc_nscc_inflight(&cc), 45904);
	assert_int_equal(cc.ignored, 4096);
	mrc_nscc_on_loss(&cc, T0, M);
	WINDOW(4096);
	assert_int_equal(mrc_nscc_inflight(&cc), 41808);
	begin_a(100000);
	cfg.disable_qa = true;
	cc.qa_end = 99000;
	cc.achieved = 100;
	trim(T0);
	WINDOW(95904);
}

static void vector_18_base_rtt_and_average(void **state)
{
	begin_a(225000);
	cc.t_adj = 99000;
	sack_full(T0, 9 * M, false, 10000, 0, false);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 10000);
	assert_int_equal(cc.max_cwnd, 187500);
	WINDOW(187500);
	begin_a(100000);
	cc.avg_delay = 8 * US;
	sack_u(T0, M, 18 * US);
	assert_true(fabs(cc.avg_delay - 7937.5) < 0.01);
	WINDOW(100000);
	sack_e(T0, M, 18 * US);
	assert_true(fabs(cc.avg_delay - 8063.28) < 0.01);
	WINDOW(100000);
	trim(T0);
	assert_true(fabs(cc.avg_delay - 8112.49) < 0.01);
	WINDOW(95904);
}

static void vector_19_no_32_bit_wrap(void **state)
{
	begin(800, 12000, true, 600000);
	sack_u(T0, 9 * M, 9 * US);
	WINDOW(610066);
}

/* spec */
static void vector_20_host_pushes_back(void **state)
{
	begin_a(100000);
	cc.inflight = 64096;
	sack_full(T0, M, false, 15 * US, 64, false);
	WINDOW(57952);
	assert_int_equal(cc.saved, 100000);
	assert_true(cc.acc == 0);
	sack_full(T0, M, false, 15 * US, 64, false);
	WINDOW(53856);
	sack_full(T0, M, false, 15 * US, 0, true);
	WINDOW(100000);
	assert_int_equal((int64_t)round(cc.acc), 33554432);
	begin_a(50000);
	cc.inflight = 60000;
	sack_full(T0, 2 * M, false, 15 * US, 127, false);
	WINDOW(41872);
	begin_a(50000);
	cc.inflight = 4000;
	sack_full(T0, M, false, 15 * US, 1, false);
	WINDOW(4096);
	assert_int_equal(cc.inflight, -96);
	begin_a(100000);
	cc.inflight = 104096;
	cc.avg_delay = 18 * US;
	sack_full(T0, M, true, 30 * US, 32, false);
	WINDOW(59385);
}

/* A penalty that ends without "restore" leaves no old window behind. */
static void saved_window_does_not_outlive_the_penalty(void **state)
{
	begin_a(100000);
	cc.inflight = 64096;
	sack_full(T0, M, false, 15 * US, 64, false);
	sack_full(T0, M, false, 15 * US, 0, false);
	WINDOW(57952);
	sack_full(T0, M, false, 15 * US, 0, true);
	WINDOW(57952);
	/* Nor is more given back than the ceiling allows now. */
	begin_a(225000);
	cc.inflight = 64096;
	sack_full(T0, M, false, 15 * US, 64, false);
	sack_full(T0, M, false, 6 * US, 0, false);
	cc.saved = 225000;
	sack_full(T0, M, false, 15 * US, 0, true);
	WINDOW(112500);
}

/* spec */
static void received_bytes(void **state)
{
	struct mrc_nscc_sack sack = {.rtt_ns = NAK};

	begin_a(100000);
	cc.rcvd_units = 0xFFFFF0;
	sack.rcvd_units = 0x000010;
	assert_int_equal(mrc_nscc_on_sack(&cc, T0, &sack), 8192);
	assert_int_equal(cc.inflight, -8192);
	cc.rcvd_units = 0xFFFFF0;
	sack.rcvd_units = 0xFFFFE0;
	assert_int_equal(mrc_nscc_on_sack(&cc, T0, &sack), 0);
	assert_int_equal(cc.rcvd_units, 0xFFFFF0);
	assert_int_equal(cc.inflight, -8192);
	sack.rcvd_units = (0xFFFFF0 + 0x7FFFFF) & 0xFFFFFF;
	assert_int_equal(mrc_nscc_on_sack(&cc, T0, &sack), 0x7FFFFF * 256u);
}

/* spec */
static void may_send_and_ack_request(void **state)
{
	begin_a(10000);
	cc.inflight = 5904;
	assert_true(mrc_nscc_may_send(&cc, M));
	cc.inflight = 5905;
	assert_false(mrc_nscc_may_send(&cc, M));
	cc.cwnd = M;
	cc.inflight = 0;
	assert_true(mrc_nscc_may_send(&cc, M));
	assert_true(mrc_nscc_may_send(&cc, 9000)); /* never stuck */
	cc.inflight = -200;
	assert_true(mrc_nscc_may_send(&cc, 9000));
	cc.inflight = 1;
	assert_false(mrc_nscc_may_send(&cc, M));
	cc.cwnd = 20000;
	cc.inflight = 15905;
	assert_true(mrc_nscc_wants_ack(&cc));
	cc.inflight = 15904;
	assert_false(mrc_nscc_wants_ack(&cc));
	cc.cwnd = 16383;
	cc.inflight = 0;
	assert_true(mrc_nscc_wants_ack(&cc));
	mrc_nscc_on_sent(&cc, 3000);
	mrc_nscc_on_loss(&cc, T0, 3000);
	assert_int_equal(mrc_nscc_inflight(&cc), 0);
	mrc_nscc_on_unlost(&cc, 3000);
	assert_int_equal(mrc_nscc_inflight(&cc), 3000);
}

static void invalid_rtt_moves_only_the_book(void **state)
{
	begin_a(100000);
	sack_full(T0, 9 * M, false, NAK, 0, false);
	WINDOW(100000);
	assert_int_equal(cc.recv, 36864);
	sack_u(T0, M, 3 * US);
	WINDOW(100335);
}

static void other_nacks_leave_the_window(void **state)
{
	begin_a(100000);
	cc.inflight = 50000;
	mrc_nscc_on_nack(&cc, T0, M, false, NAK);
	assert_int_equal(cc.inflight, 45904);
	assert_false(cc.armed);
	WINDOW(100000);
	mrc_nscc_on_nack(&cc, T0, M, false, 6000);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 6000);
	assert_int_equal(cc.max_cwnd, 112500);
}

/* One lucky sample does not lower the ceiling below what the floor allows. */
static void base_rtt_has_a_floor(void **state)
{
	begin_a(100000);
	cfg.min_base_rtt_ns = 9000;
	mrc_nscc_on_nack(&cc, T0, M, false, 300);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 9000);
	assert_int_equal(cc.max_cwnd, 168750);
	mrc_nscc_on_nack(&cc, T0, M, false, 8999);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 9000);
	cfg.min_base_rtt_ns = 0;
}

/* What was taken for lost and was not costs nothing in the end, and gains nothing either. */
static void spurious_loss_is_given_back(void **state)
{
	begin_a(100000);
	mrc_nscc_on_loss(&cc, T0, M);
	WINDOW(100000 - M);
	mrc_nscc_on_spurious(&cc, M);
	WINDOW(100000);
	cc.cwnd = cc.max_cwnd;
	mrc_nscc_on_spurious(&cc, M);
	WINDOW(cc.max_cwnd);
}

static void fixed_window(void **state)
{
	struct mrc_nscc_sack sack = {.rcvd_units = 16, .marked = true, .rtt_ns = 99000, .pen = 127};

	network(100, 12000, true);
	cfg.algorithm = MRC_NSCC_FIXED;
	cfg.max_cwnd = 50000;
	assert_int_equal(mrc_nscc_cfg_check(&cfg, NULL), MRC_OK);
	mrc_nscc_init(&cc, &cfg, 0);
	for (int i = 0; i < 12; i++)
		mrc_nscc_on_sent(&cc, M);
	assert_false(mrc_nscc_may_send(&cc, M));
	assert_int_equal(mrc_nscc_on_sack(&cc, T0, &sack), 4096);
	mrc_nscc_on_nack(&cc, T0, M, true, 500);
	mrc_nscc_on_loss(&cc, T0, M);
	mrc_nscc_on_spurious(&cc, M);
	assert_int_equal(mrc_nscc_cwnd(&cc), 50000);
	assert_int_equal(mrc_nscc_inflight(&cc), 9 * M);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 12000);
}

static void base_rtt_of_nothing(void **state)
{
	begin_a(100000);
	sack_full(T0, M, false, 0, 0, false);
	assert_int_equal(mrc_nscc_base_rtt(&cc), 128);
	WINDOW(4096);
}

/* ---- random events against the reference, and the invariants */

struct gen {
	struct test_env te;
	struct ref ref;
	uint64_t t, last_dec, last_qa;
};

static void gen_begin(struct gen *g)
{
	static const double rates[] = {100, 200, 400, 800};
	static const uint32_t rtts[] = {8000, 12000, 20000};
	static const uint8_t gates[] = {0, 1, 3};
	struct ref_par p;

	network(rates[test_random_below(&g->te, 4)], rtts[test_random_below(&g->te, 3)],
		test_random_below(&g->te, 2));
	cfg.qa_gate = gates[test_random_below(&g->te, 3)];
	cfg.disable_qa = test_random_below(&g->te, 8) == 0;
	g->t = 1000 + test_random_below(&g->te, 100000);
	g->last_dec = g->last_qa = 0;
	p = (struct ref_par){
		.mtu = M,
		.R0 = cfg.base_rtt_ns,
		.T = cfg.target_delay_ns,
		.P = cfg.adjust_period_ns,
		.Bthr = cfg.adjust_bytes_threshold,
		.Wmax0 = cfg.max_cwnd,
		.k = cfg.qa_gate,
		.Q = cfg.qa_threshold_ns,
		.q_never = cfg.qa_threshold_ns == UINT32_MAX,
		.qa_off = cfg.disable_qa,
		.alpha = cfg.alpha,
		.phi = cfg.fi,
		.sigma = cfg.fi_scale,
		.eta = cfg.eta,
		.gamma = cfg.gamma,
		.mu = cfg.max_md_jump,
	};
	mrc_nscc_init(&cc, &cfg, g->t);
	ref_init(&g->ref, &p, (double)g->t);
	/* Begin in the middle of a life. */
	cc.avg_delay = g->ref.D = test_random_below(&g->te, 3 * cfg.target_delay_ns);
	cc.cwnd = M + test_random_below(&g->te, cfg.max_cwnd - M);
	g->ref.W = (double)cc.cwnd;
}

static uint64_t random_rtt(struct gen *g)
{
	uint32_t target = cfg.target_delay_ns;
	uint64_t base = cc.base_rtt;

	switch (test_random_below(&g->te, 10)) {
	case 0:
		return NAK;
	case 1:
		return base + test_random_below(&g->te, 1001);
	case 2:
		return base + target;
	case 3:
		return base + test_random_below(&g->te, 6 * target);
	case 4:
		return base - test_random_below(&g->te, 100);
	default:
		return base + test_random_below(&g->te, 2 * target);
	}
}

static void event_sack(struct gen *g)
{
	struct mrc_nscc before = cc;
	uint32_t bytes = 256 * test_random_below(&g->te, 160);
	uint64_t rtt = random_rtt(g);
	bool marked = test_random_below(&g->te, 3) == 0;
	bool restore = test_random_below(&g->te, 8) == 0;
	uint8_t pen = test_random_below(&g->te, 12) ? 0 : (uint8_t)test_random_below(&g->te, 128);

	sack_full(g->t, bytes, marked, rtt, pen, restore);
	ref_sack(&g->ref, (double)g->t, bytes, marked, rtt == NAK ? -1 : (double)rtt, pen, restore);
	if (rtt == NAK && pen == 0 && !restore)
		assert_int_equal(cc.cwnd, before.cwnd);
	/* A mark never raises the window, but what was pending and eta still come; quick adapt sets
	 * it to what got through, whatever that is. */
	if (marked && pen == 0 && !restore && cc.qa_end == before.qa_end &&
		cc.t_dec == before.t_dec)
		assert_true((double)cc.cwnd <=
			    (double)before.cwnd + before.acc / (double)before.cwnd + cfg.eta + 1);
	if (cc.t_dec != before.t_dec) {
		assert_true(cc.t_dec == g->t && g->t - before.t_dec > cc.base_rtt);
	}
}

static void gen_step(struct gen *g)
{
	struct mrc_nscc before = cc;
	uint64_t rtt = test_random_below(&g->te, 2) ? NAK : random_rtt(g);
	uint32_t size = 64 + test_random_below(&g->te, M - 63);

	switch (test_random_below(&g->te, 16)) {
	case 0:
	case 1:
		mrc_nscc_on_nack(&cc, g->t, size, true, rtt);
		ref_nack(&g->ref, (double)g->t, size, true, rtt == NAK ? -1 : (double)rtt);
		break;
	case 2:
		mrc_nscc_on_nack(&cc, g->t, size, false, rtt);
		ref_nack(&g->ref, (double)g->t, size, false, rtt == NAK ? -1 : (double)rtt);
		assert_true(cc.cwnd <= before.cwnd);
		break;
	case 3:
		mrc_nscc_on_loss(&cc, g->t, size);
		ref_loss(&g->ref, size);
		break;
	default:
		event_sack(g);
		break;
	}
	while (mrc_nscc_may_send(&cc, M) && test_random_below(&g->te, 16)) {
		mrc_nscc_on_sent(&cc, M);
		g->ref.F += M;
	}
}

static void always(struct gen *g, const struct mrc_nscc *before)
{
	assert_in_range(cc.cwnd, M, cc.max_cwnd);
	assert_true(cc.base_rtt <= before->base_rtt);
	assert_true(cc.to_ignore >= 0);
	if (cc.t_adj != before->t_adj)
		assert_true(cc.acc == 0 && cc.recv == 0);
	if (cc.to_ignore != before->to_ignore) {
		assert_true(cc.acc == 0 && cc.recv == 0);
		if (g->last_qa != 0)
			assert_true(g->t - g->last_qa >= cc.base_rtt + cfg.target_delay_ns);
		g->last_qa = g->t;
	}
	assert_true(fabs((double)cc.cwnd - g->ref.W) <= 2);
	assert_true((double)cc.inflight == g->ref.F);
	assert_true((double)cc.base_rtt == g->ref.R);
	assert_int_equal(cc.fast, g->ref.fast);
	assert_int_equal(cc.armed, g->ref.armed);
}

static void million_random_events(void **state)
{
	static struct gen g;
	uint32_t adapted = 0, decreased = 0, fast = 0;

	test_env_init(&g.te, 0x05CC);
	for (uint32_t i = 0; i < 1000000; i++) {
		struct mrc_nscc before;

		if (i % 100 == 0)
			gen_begin(&g);
		before = cc;
		g.t += test_random_below(&g.te, 2000);
		gen_step(&g);
		always(&g, &before);
		adapted += cc.to_ignore != before.to_ignore;
		decreased += cc.t_dec != before.t_dec;
		fast += cc.fast;
	}
	/* The generator reaches the corners it is meant to reach. */
	assert_true(adapted > 5000);
	assert_true(decreased > 5000);
	assert_true(fast > 5000);
}

/* Bits do not depend on the compiler: a fixed sequence has a fixed fingerprint. */
static void same_bits_everywhere(void **state)
{
	uint64_t x = 88172645463325252u, hash = 1469598103934665603u;
	uint64_t t = 1000;

	network(400, 8000, true);
	mrc_nscc_init(&cc, &cfg, t);
	for (int i = 0; i < 20000; i++) {
		uint64_t bits;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		t += x % 1000;
		if (x >> 60 == 0)
			mrc_nscc_on_nack(&cc, t, M, true, NAK);
		else
			sack_full(t, M, (x >> 59 & 3) == 0, 8000 + (x >> 20) % 16000, 0, false);
		mrc_nscc_on_sent(&cc, M);
		memcpy(&bits, &cc.avg_delay, 8);
		hash = (hash ^ bits ^ (uint64_t)cc.cwnd) * 1099511628211u;
		memcpy(&bits, &cc.acc, 8);
		hash = (hash ^ bits) * 1099511628211u;
	}
	printf("fingerprint %016llx\n", (unsigned long long)hash);
	assert_true(hash == 0x97089849d402ccc3u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_1_start),
		cmocka_unit_test(vector_2_proportional),
		cmocka_unit_test(vector_3_fair),
		cmocka_unit_test(vector_4_period),
		cmocka_unit_test(vector_5_hold),
		cmocka_unit_test(vector_6_7_decrease),
		cmocka_unit_test(vector_8_decrease_once_per_rtt),
		cmocka_unit_test(vector_9_average_below_target),
		cmocka_unit_test(vector_10_fast_increase),
		cmocka_unit_test(vector_11_fast_mode_stays),
		cmocka_unit_test(vector_12_quick_adapt),
		cmocka_unit_test(vector_13_armed_fires_later),
		cmocka_unit_test(vector_14_ignore_phase),
		cmocka_unit_test(vector_15_gate),
		cmocka_unit_test(vector_16_delay_alone),
		cmocka_unit_test(vector_17_inferred_loss),
		cmocka_unit_test(vector_18_base_rtt_and_average),
		cmocka_unit_test(vector_19_no_32_bit_wrap),
		cmocka_unit_test(vector_20_host_pushes_back),
		cmocka_unit_test(saved_window_does_not_outlive_the_penalty),
		cmocka_unit_test(received_bytes),
		cmocka_unit_test(may_send_and_ack_request),
		cmocka_unit_test(invalid_rtt_moves_only_the_book),
		cmocka_unit_test(other_nacks_leave_the_window),
		cmocka_unit_test(base_rtt_has_a_floor),
		cmocka_unit_test(spurious_loss_is_given_back),
		cmocka_unit_test(fixed_window),
		cmocka_unit_test(base_rtt_of_nothing),
		cmocka_unit_test(million_random_events),
		cmocka_unit_test(same_bits_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
