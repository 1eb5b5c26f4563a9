/* SPDX-License-Identifier: BSD-2-Clause */
/* Region bounds and keys, the QP state table, immediates, the retry schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"
#include "test_env.h"

struct rig {
	struct test_env te;
	struct mrc_proto proto;
	struct mrc_sched *s;
	uint32_t pd;
};

static void start(struct rig *rig, uint64_t seed)
{
	struct mrc_sched_cfg cfg;

	memset(rig, 0, sizeof(*rig));
	test_env_init(&rig->te, seed);
	mrc_proto_default(&rig->proto);
	assert_int_equal(mrc_proto_init(&rig->proto), MRC_OK);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &rig->proto;
	cfg.max_qps = 4;
	cfg.window_psns = cfg.sent_psns = 1024;
	cfg.queue_entries = 1024;
	cfg.max_mrs = 8;
	assert_int_equal(mrc_sched_create(&cfg, &rig->te.env, &rig->s), MRC_OK);
	test_env_freeze(&rig->te);
	assert_int_equal(mrc_sched_pd_create(rig->s, &rig->pd), MRC_OK);
}

static void stop(struct rig *rig)
{
	mrc_sched_destroy(rig->s);
	test_env_done(&rig->te);
}

static void bounds_do_not_wrap(void **state)
{
	const struct mr low = {.iova = 0x1000, .len = 0x100};
	const struct mr top = {.iova = UINT64_MAX - 0xFF, .len = 0x100};
	const struct mr all = {.iova = 0, .len = UINT64_MAX};

	assert_true(mr_covers(&low, 0x1000, 0x100));
	assert_true(mr_covers(&low, 0x10FF, 1));
	assert_true(mr_covers(&low, 0x1100, 0));
	assert_false(mr_covers(&low, 0x1101, 0));
	assert_false(mr_covers(&low, 0xFFF, 1));
	assert_false(mr_covers(&low, 0x1001, 0x100));
	assert_false(mr_covers(&low, 0x1080, UINT64_MAX));
	assert_false(mr_covers(&low, UINT64_MAX, 2));
	assert_true(mr_covers(&top, UINT64_MAX, 1));
	assert_true(mr_covers(&top, UINT64_MAX - 0xFF, 0x100));
	assert_false(mr_covers(&top, UINT64_MAX, 2));
	assert_false(mr_covers(&top, 0, 1));
	assert_true(mr_covers(&all, 1, UINT64_MAX - 1));
}

static void keys(void **state)
{
	static uint8_t mem[64];
	struct mrc_sched_mr mr = {.access = 3, .addr = mem, .iova = 64, .len = sizeof(mem)};
	struct mrc_sched_mr more[8];
	struct rig rig;
	uint32_t last = 0;

	start(&rig, 0xD1);
	mr.pd = rig.pd;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(mrc_sched_mr_reg(rig.s, &mr), MRC_OK);
		assert_int_not_equal(mr.key, last);
		assert_non_null(mr_find(&rig.s->mrs, mr.key));
		assert_null(mr_find(&rig.s->mrs, mr.key ^ 0x80000000u));
		last = mr.key;
		assert_int_equal(mrc_sched_mr_dereg(rig.s, mr.key), MRC_OK);
		assert_null(mr_find(&rig.s->mrs, last));
		assert_int_equal(mrc_sched_mr_dereg(rig.s, last), MRC_ERR_NOENT);
	}
	assert_null(mr_find(&rig.s->mrs, 0));
	for (uint32_t i = 0; i < 8; i++) {
		more[i] = mr;
		assert_int_equal(mrc_sched_mr_reg(rig.s, &more[i]), MRC_OK);
	}
	assert_int_equal(mrc_sched_mr_reg(rig.s, &mr), MRC_ERR_NOMEM);
	assert_int_equal(mrc_sched_pd_destroy(rig.s, rig.pd), MRC_ERR_BUSY);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(mrc_sched_mr_dereg(rig.s, more[i].key), MRC_OK);
	mr.iova = UINT64_MAX - 62;
	assert_int_equal(mrc_sched_mr_reg(rig.s, &mr), MRC_ERR_INVAL);
	mr.iova = UINT64_MAX - 63;
	assert_int_equal(mrc_sched_mr_reg(rig.s, &mr), MRC_OK);
	assert_int_equal(mrc_sched_mr_dereg(rig.s, mr.key), MRC_OK);
	mr.access = MRC_ACCESS_REMOTE_WRITE;
	assert_int_equal(mrc_sched_mr_reg(rig.s, &mr), MRC_ERR_INVAL);
	assert_int_equal(mrc_sched_pd_destroy(rig.s, rig.pd), MRC_OK);
	stop(&rig);
}

static void state_table(void **state)
{
	static const char *const may[] = {
		/* RESET INIT RTR RTS ERR */
		"xx..x", /* RESET */
		"x.x.x", /* INIT */
		"x..xx", /* RTR */
		"x...x", /* RTS */
		"x...x", /* ERR */
	};

	for (int from = 0; from < 5; from++)
		for (int to = 0; to < 5; to++)
			assert_int_equal(
				qp_state_may((enum mrc_qp_state)from, (enum mrc_qp_state)to),
				may[from][to] == 'x');
	assert_false(qp_state_may((enum mrc_qp_state)5, MRC_QP_RESET));
	assert_false(qp_state_may(MRC_QP_RESET, (enum mrc_qp_state)5));
}

static uint32_t placed_len;

static void placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len)
{
	assert_int_equal(va, 0x7000);
	placed_len += len;
}

static void immediates(void **state)
{
	struct mrc_sched_qp *qp;
	struct mrc_sched_cq *cq;
	struct mrc_sched_wc wc[4];
	struct rig rig;
	struct rcv_rec rec = {
		.va = 0x7000, .len = 9, .imm = {1, 2, 3, 4}, .flags = RCV_IMM | RCV_SE};

	start(&rig, 0xD2);
	rig.s->cfg.hooks.placed = placed;
	placed_len = 0;
	assert_int_equal(mrc_sched_cq_create(rig.s, 2, &cq), MRC_OK);
	assert_int_equal(mrc_sched_qp_create(rig.s,
				 &(struct mrc_sched_qp_cfg){.pd = rig.pd,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .sq_depth = 4,
					 .rq_depth = 4,
					 .max_sge = 1},
				 &qp),
		MRC_OK);
	assert_int_equal(mrc_sched_qp_modify(rig.s, 0, qp, MRC_QP_INIT, NULL), MRC_OK);
	for (uint64_t id = 10; id < 14; id++)
		assert_int_equal(
			mrc_sched_post_recv(rig.s, qp, &(struct mrc_sched_recv_wr){id}), MRC_OK);
	qp->rq_rqmsn = mrc_msn(0xFFFF);
	qp->max_wimm_dest = 3;
	assert_int_equal(imm_check(qp, mrc_msn(0xFFFF)), MRC_KEEP);
	assert_int_equal(imm_check(qp, mrc_msn(1)), MRC_KEEP);
	assert_int_equal(imm_check(qp, mrc_msn(2)), MRC_DROP_WIMM_LIMIT);
	assert_int_equal(imm_check(qp, mrc_msn(0xFFFE)), MRC_DROP_WIMM_LIMIT);
	qp->nb_parked = 3;
	assert_int_equal(imm_check(qp, mrc_msn(0)), MRC_DROP_WIMM_LIMIT);
	qp->nb_parked = 0;
	rec.rqmsn = mrc_msn(0);
	assert_int_equal(imm_release(rig.s, qp, &rec), MRC_DROP_WIMM_LIMIT);
	rec.rqmsn = mrc_msn(0xFFFF);
	assert_int_equal(imm_release(rig.s, qp, &rec), MRC_KEEP);
	rec.rqmsn = mrc_msn(0);
	assert_int_equal(imm_release(rig.s, qp, &rec), MRC_KEEP);
	rec.rqmsn = mrc_msn(1);
	assert_int_equal(imm_release(rig.s, qp, &rec), MRC_DROP_CQ_OVERRUN);
	assert_int_equal(mrc_sched_cq_poll(rig.s, cq, wc, 4), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].opcode, MRC_WC_RECV_IMM);
		assert_int_equal(wc[i].byte_len, 9);
		assert_true(wc[i].solicited);
		assert_memory_equal(wc[i].imm, rec.imm, 4);
	}
	qp->rq_head = qp->rq_tail;
	assert_int_equal(imm_release(rig.s, qp, &rec), MRC_DROP_RQ_EMPTY);
	assert_int_equal(mrc_sched_qp_destroy(rig.s, 0, qp), MRC_OK);
	assert_int_equal(mrc_sched_cq_destroy(rig.s, cq), MRC_OK);
	stop(&rig);
}

static void retry_schedule(void **state)
{
	struct mrc_sched_qp_attr attr;
	struct mrc_proto proto;
	uint64_t t = UINT64_C(1024) << 8;

	mrc_proto_default(&proto);
	mrc_sched_qp_attr_default(&attr);
	attr.timeout = 8;
	attr.linear_cnt = 2;
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 0), t);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 1), t);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 2), 2 * t);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 3), 4 * t);
	attr.linear_cnt = 0;
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 0), t);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 1), 2 * t);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 16), UINT64_C(1024) << 24);
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 4000000000u), UINT64_C(1024) << 24);
	attr.timeout = 24;
	assert_int_equal(mrc_sched_retry_wait_ns(&proto, &attr, 9), UINT64_C(1024) << 24);
}

static void rate(void **state)
{
	uint64_t tat = 0, now = 5000;
	uint32_t nb = 0;

	while (rate_ok(&tat, now, 100, 8))
		assert_true(++nb < 100);
	assert_int_equal(nb, 8);
	assert_false(rate_ok(&tat, now + 99, 100, 8));
	assert_true(rate_ok(&tat, now + 100, 100, 8));
	assert_false(rate_ok(&tat, now + 100, 100, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_do_not_wrap),
		cmocka_unit_test(keys),
		cmocka_unit_test(state_table),
		cmocka_unit_test(immediates),
		cmocka_unit_test(retry_schedule),
		cmocka_unit_test(rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
