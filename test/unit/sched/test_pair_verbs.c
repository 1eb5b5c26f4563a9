/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_verbs.c - what the verbs refuse: every verb in every state with arguments at their
 * boundaries gives the documented code and changes nothing; queues of every depth; completion
 * queues that overrun.
 */
#include "pair_test.h"

static struct pair *fresh(const char *name, bool connect, bool allow_error)
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 71);
	cfg.no_connect = !connect;
	cfg.allow_error = allow_error;
	cfg.sq_depth = 8;
	cfg.rq_depth = 8;
	return pair_create(&cfg);
}

/* A fresh pair whose A end is in the given state. */
static struct pair *in_state(enum mrc_qp_state state)
{
	struct pair *p = fresh("verbs_by_state", true, true);
	struct pair_qp *q = &p->q[PAIR_A][0];

	if (state != MRC_QP_RTS) {
		PAIR_EQ(p,
			mrc_sched_qp_modify(q->host->sched, p->now, q->qp,
				state == MRC_QP_ERR ? MRC_QP_ERR : MRC_QP_RESET, &q->attr),
			MRC_OK);
		for (int s = MRC_QP_INIT; state != MRC_QP_ERR && s <= (int)state; s++)
			PAIR_EQ(p,
				mrc_sched_qp_modify(q->host->sched, p->now, q->qp,
					(enum mrc_qp_state)s, &q->attr),
				MRC_OK);
	}
	PAIR_EQ(p, mrc_sched_qp_state(q->qp), state);
	pair_run(p, PAIR_MS);
	return p;
}

/* ---- posting a send: state x argument ---- */

struct send_case {
	const char *name;
	int err; /* in RTS */
	uint32_t nb_sge;
	struct mrc_sched_sge sges[MRC_SCHED_MAX_SGE + 1]; /* addr: offset in the source region */
	bool bad_key;
};

static const struct send_case send_cases[] = {
	{"plain", MRC_OK, 1, {{0, 64, 0}}, false},
	{"empty", MRC_OK, 0, {{0, 0, 0}}, false},
	{"empty_piece_bad_key", MRC_OK, 1, {{0, 0, 0}}, true},
	{"four_pieces", MRC_OK, 4, {{0, 1, 0}, {9, 2, 0}, {30, 0, 0}, {50, 5, 0}}, false},
	{"five_pieces", MRC_ERR_INVAL, 5, {{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {4, 1, 0}},
		false},
	{"many_pieces", MRC_ERR_INVAL, UINT32_MAX, {{0, 1, 0}}, false},
	{"bad_key", MRC_ERR_LKEY, 1, {{0, 64, 0}}, true},
	{"before", MRC_ERR_LKEY, 1, {{(uint64_t)-1, 64, 0}}, false},
	{"last_byte", MRC_OK, 1, {{(1u << 20) - 1, 1, 0}}, false},
	{"past_end", MRC_ERR_LKEY, 1, {{(1u << 20) - 1, 2, 0}}, false},
	{"behind", MRC_ERR_LKEY, 1, {{1u << 20, 1, 0}}, false},
	{"wraps", MRC_ERR_LKEY, 1, {{(uint64_t)-8, UINT32_MAX, 0}}, false},
	{"whole_64k", MRC_OK, 1, {{0, 65536, 0}}, false},
	{"longest", MRC_ERR_LKEY, 1, {{0, UINT32_MAX, 0}}, false},
	{"second_bad", MRC_ERR_LKEY, 2, {{0, 8, 0}, {1u << 20, 1, 0}}, false},
};

static int post_case(struct pair *p, const struct send_case *c, bool imm)
{
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched_sge sges[MRC_SCHED_MAX_SGE + 1];
	struct mrc_sched_send_wr wr = {.wr_id = 1,
		.sges = c->nb_sge ? sges : NULL,
		.nb_sge = c->nb_sge,
		.flags = MRC_SEND_SIGNALED,
		.raddr = q->peer->dst.mr.iova,
		.rkey = q->peer->dst.mr.key};

	for (int i = 0; i <= MRC_SCHED_MAX_SGE; i++) {
		sges[i] = c->sges[i];
		sges[i].addr += q->src.mr.iova;
		sges[i].lkey = q->src.mr.key ^ (c->bad_key ? 0x5a5a0000u : 0);
	}
	return imm ? mrc_sched_post_write_imm(q->host->sched, q->qp, &wr)
		   : mrc_sched_post_write(q->host->sched, q->qp, &wr);
}

static void send_by_state(void **state)
{
	for (int s = MRC_QP_RESET; s <= MRC_QP_ERR; s++)
		for (size_t i = 0; i < sizeof(send_cases) / sizeof(send_cases[0]); i++)
			for (int imm = 0; imm < 2; imm++) {
				struct pair *p = in_state((enum mrc_qp_state)s);
				struct mrc_sched_qp_info was = pair_query(p, PAIR_A, 0), is;
				int want = s == MRC_QP_RTS ? send_cases[i].err : MRC_ERR_STATE;
				int got = post_case(p, &send_cases[i], imm);

				if (got != want)
					pair_fail(p, "%s in %s: %s, documented %s",
						send_cases[i].name,
						mrc_qp_state_name((enum mrc_qp_state)s),
						mrc_err_name(got), mrc_err_name(want));
				is = pair_query(p, PAIR_A, 0);
				if (want != MRC_OK) {
					assert_true(is.state_hash == was.state_hash);
					PAIR_EQ(p, is.sq_used, was.sq_used);
					PAIR_EQ(p, is.next_psn.v, was.next_psn.v);
				} else {
					PAIR_EQ(p, is.sq_used, 1);
				}
				p->q[PAIR_B][0].dst.tainted = true;
				pair_destroy(p);
			}
}

/* Lengths that do not fit 16, 31 or 32 bits are exact or refused, never cut. */
static void lengths_are_never_cut(void **state)
{
	const uint32_t lens[] = {65535, 65536, 65537, 0x7fffffff, 0x80000000u, 0xffffffffu};
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_qp *q;

	pair_test_cfg(&cfg, "lengths_are_never_cut", 72);
	cfg.allow_error = true;
	p = pair_create(&cfg);
	q = &p->q[PAIR_A][0];
	for (size_t i = 0; i < 3; i++) {
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = lens[i], .imm = true});
		pair_finish(p, PAIR_S);
	}
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct mrc_sched_mr mr = {.pd = q->host->pd,
			.access = MRC_ACCESS_LOCAL_WRITE,
			.addr = q->src.data,
			.iova = 0x10000000000ull,
			.len = lens[i]};
		struct mrc_sched_sge sges[2];
		struct mrc_sched_send_wr wr = {.wr_id = 7,
			.sges = sges,
			.nb_sge = 2,
			.flags = MRC_SEND_SIGNALED,
			.raddr = q->peer->dst.mr.iova,
			.rkey = q->peer->dst.mr.key};

		/* nothing reads the memory: each of these posts must be refused */
		PAIR_EQ(p, mrc_sched_mr_reg(q->host->sched, &mr), MRC_OK);
		sges[0] = (struct mrc_sched_sge){mr.iova, lens[i], mr.key};
		sges[1] = (struct mrc_sched_sge){mr.iova + lens[i] - 1, 2, mr.key};
		PAIR_EQ(p, mrc_sched_post_write(q->host->sched, q->qp, &wr), MRC_ERR_LKEY);
		sges[1] = (struct mrc_sched_sge){mr.iova, lens[i], mr.key};
		if ((uint64_t)lens[i] * 2 > UINT32_MAX)
			PAIR_EQ(p, mrc_sched_post_write(q->host->sched, q->qp, &wr),
				MRC_ERR_TOOBIG);
		PAIR_EQ(p, mrc_sched_mr_dereg(q->host->sched, mr.key), MRC_OK);
	}
	pair_destroy(p);
}

/* ---- transitions ---- */

static void transitions(void **state)
{
	for (int from = MRC_QP_RESET; from <= MRC_QP_ERR; from++)
		for (int to = MRC_QP_RESET; to <= MRC_QP_ERR; to++) {
			struct pair *p = in_state((enum mrc_qp_state)from);
			struct pair_qp *q = &p->q[PAIR_A][0];
			uint64_t hash = pair_query(p, PAIR_A, 0).state_hash;
			bool legal = to == MRC_QP_RESET || to == MRC_QP_ERR ||
				     (to == from + 1 && to <= MRC_QP_RTS);
			int got = mrc_sched_qp_modify(
				q->host->sched, p->now, q->qp, (enum mrc_qp_state)to, &q->attr);

			if (got != (legal ? MRC_OK : MRC_ERR_STATE))
				pair_fail(p, "%s to %s: %s",
					mrc_qp_state_name((enum mrc_qp_state)from),
					mrc_qp_state_name((enum mrc_qp_state)to),
					mrc_err_name(got));
			PAIR_EQ(p, mrc_sched_qp_state(q->qp), legal ? to : from);
			if (!legal)
				assert_true(hash == pair_query(p, PAIR_A, 0).state_hash);
			pair_destroy(p);
		}
}

struct attr_case {
	const char *name;
	enum mrc_qp_state step;
	void (*spoil)(struct mrc_sched_qp_attr *attr);
};

#define SPOIL(name, statement)                                                                     \
	static void spoil_##name(struct mrc_sched_qp_attr *attr)                                   \
	{                                                                                          \
		statement;                                                                         \
	}
SPOIL(pmtu_0, attr->pmtu = 0)
SPOIL(pmtu_odd, attr->pmtu = 1000)
SPOIL(pmtu_128, attr->pmtu = 128)
SPOIL(pmtu_8192, attr->pmtu = 8192)
SPOIL(mpr_dest_0, attr->mpr_dest = 0)
SPOIL(dest_qpn_0, attr->dest_qpn = 0)
SPOIL(dest_qpn_2, attr->dest_qpn = 2)
SPOIL(dest_qpn_big, attr->dest_qpn = 1u << 24)
SPOIL(mixed_families, attr->peer.raw[0] = 0x20)
SPOIL(no_evs, attr->ev_set = NULL)
SPOIL(mpr_0, attr->mpr = 0)
SPOIL(timeout_25, attr->timeout = 25)
SPOIL(linear_8, attr->linear_cnt = 8)
SPOIL(exp_26, attr->exp_cnt = 26)

static const struct attr_case attr_cases[] = {
	{"pmtu 0", MRC_QP_RTR, spoil_pmtu_0},
	{"pmtu 1000", MRC_QP_RTR, spoil_pmtu_odd},
	{"pmtu 128", MRC_QP_RTR, spoil_pmtu_128},
	{"pmtu 8192", MRC_QP_RTR, spoil_pmtu_8192},
	{"mpr_dest 0", MRC_QP_RTR, spoil_mpr_dest_0},
	{"dest_qpn 0", MRC_QP_RTR, spoil_dest_qpn_0},
	{"dest_qpn 2", MRC_QP_RTR, spoil_dest_qpn_2},
	{"dest_qpn 2^24", MRC_QP_RTR, spoil_dest_qpn_big},
	{"IPv4 to IPv6", MRC_QP_RTR, spoil_mixed_families},
	{"no paths", MRC_QP_RTR, spoil_no_evs},
	{"mpr 0", MRC_QP_RTS, spoil_mpr_0},
	{"timeout 25", MRC_QP_RTS, spoil_timeout_25},
	{"linear 8", MRC_QP_RTS, spoil_linear_8},
	{"exp 26", MRC_QP_RTS, spoil_exp_26},
};

/* spec */
static void attributes(void **state)
{
	for (size_t i = 0; i < sizeof(attr_cases) / sizeof(attr_cases[0]); i++) {
		const struct attr_case *c = &attr_cases[i];
		bool late = c->spoil == spoil_no_evs; /* taken at INIT, needed for RTR */
		struct pair *p = in_state(late ? MRC_QP_RESET : (enum mrc_qp_state)(c->step - 1));
		struct pair_qp *q = &p->q[PAIR_A][0];
		struct mrc_sched_qp_attr attr = q->attr;
		enum mrc_qp_state was;
		int got = MRC_OK;

		c->spoil(&attr);
		for (int s = (int)mrc_sched_qp_state(q->qp) + 1; s <= (int)c->step && !got; s++)
			got = mrc_sched_qp_modify(
				q->host->sched, p->now, q->qp, (enum mrc_qp_state)s, &attr);
		if (got != MRC_ERR_INVAL)
			pair_fail(p, "%s: %s", c->name, mrc_err_name(got));
		was = mrc_sched_qp_state(q->qp);
		assert_true(was < c->step);
		/* the same call with the right attribute still works */
		if (!late)
			PAIR_EQ(p,
				mrc_sched_qp_modify(
					q->host->sched, p->now, q->qp, c->step, &q->attr),
				MRC_OK);
		pair_destroy(p);
	}
}

static void receive_by_state(void **state)
{
	for (int s = MRC_QP_RESET; s <= MRC_QP_ERR; s++) {
		struct pair *p = in_state((enum mrc_qp_state)s);
		struct pair_qp *q = &p->q[PAIR_A][0];
		uint32_t used = pair_query(p, PAIR_A, 0).rq_used;
		struct mrc_sched_recv_wr wr = {.wr_id = q->recv_posted};
		int got = MRC_OK;

		if (s == MRC_QP_RESET) {
			PAIR_EQ(p, mrc_sched_post_recv(q->host->sched, q->qp, &wr), MRC_ERR_STATE);
		} else if (s == MRC_QP_RTS) {
			PAIR_EQ(p, used, 8);
			PAIR_EQ(p, mrc_sched_post_recv(q->host->sched, q->qp, &wr), MRC_ERR_FULL);
			PAIR_EQ(p, pair_query(p, PAIR_A, 0).rq_used, 8);
		} else if (s != MRC_QP_ERR) {
			for (int k = 0; k < 8 && got == MRC_OK; k++)
				got = mrc_sched_post_recv(q->host->sched, q->qp, &wr);
			PAIR_EQ(p, got, MRC_OK);
			PAIR_EQ(p, mrc_sched_post_recv(q->host->sched, q->qp, &wr), MRC_ERR_FULL);
		}
		pair_destroy(p);
	}
}

/* ---- objects ---- */

static void objects(void **state)
{
	struct pair *p = fresh("objects", true, true);
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched *s = q->host->sched;
	struct mrc_sched_qp_cfg good = {.pd = q->host->pd,
		.send_cq = q->send_cq,
		.recv_cq = q->recv_cq,
		.sq_depth = 4,
		.rq_depth = 4,
		.max_sge = 1};
	struct mrc_sched_qp_cfg cfg;
	struct mrc_sched_qp *qp = NULL;
	struct mrc_sched_mr mr = {
		.pd = q->host->pd, .access = 3, .addr = q->src.data, .iova = 0, .len = 16};
	uint32_t pd;

#define REFUSED(member, value, code)                                                               \
	do {                                                                                       \
		cfg = good;                                                                        \
		cfg.member = value;                                                                \
		PAIR_EQ(p, mrc_sched_qp_create(s, &cfg, &qp), code);                               \
		assert_null(qp);                                                                   \
	} while (0)
	REFUSED(pd, 77, MRC_ERR_INVAL);
	REFUSED(send_cq, NULL, MRC_ERR_INVAL);
	REFUSED(recv_cq, NULL, MRC_ERR_INVAL);
	REFUSED(sq_depth, 0, MRC_ERR_INVAL);
	REFUSED(rq_depth, 0, MRC_ERR_INVAL);
	REFUSED(max_sge, 0, MRC_ERR_INVAL);
	REFUSED(max_sge, MRC_SCHED_MAX_SGE + 1, MRC_ERR_INVAL);
	REFUSED(sq_depth, 1u << 30, MRC_ERR_INVAL);
	REFUSED(rq_depth, 1u << 30, MRC_ERR_INVAL);
	REFUSED(sq_depth, 65536, MRC_ERR_NOMEM);
	/* What one queue had got goes back when the other one finds no room. */
	for (int k = 0; k < 1000; k++)
		REFUSED(rq_depth, 1u << 20, MRC_ERR_NOMEM);

	PAIR_EQ(p, mrc_sched_pd_destroy(s, q->host->pd), MRC_ERR_BUSY);
	PAIR_EQ(p, mrc_sched_cq_destroy(s, q->send_cq), MRC_ERR_BUSY);
	PAIR_EQ(p, mrc_sched_cq_destroy(s, q->recv_cq), MRC_ERR_BUSY);

	mr.pd = 77;
	PAIR_EQ(p, mrc_sched_mr_reg(s, &mr), MRC_ERR_INVAL);
	mr.pd = q->host->pd;
	mr.iova = UINT64_MAX - 14;
	PAIR_EQ(p, mrc_sched_mr_reg(s, &mr), MRC_ERR_INVAL); /* 16 bytes from there wrap */
	mr.iova = UINT64_MAX - 15;
	PAIR_EQ(p, mrc_sched_mr_reg(s, &mr), MRC_OK);
	PAIR_EQ(p, mrc_sched_mr_dereg(s, mr.key), MRC_OK);
	assert_true(mrc_sched_mr_dereg(s, mr.key) < 0);
	assert_true(mrc_sched_mr_dereg(s, 0) < 0);
	PAIR_EQ(p, mrc_sched_pd_create(s, &pd), MRC_OK);
	PAIR_EQ(p, mrc_sched_pd_destroy(s, pd), MRC_OK);
	assert_true(mrc_sched_pd_destroy(s, pd) < 0);
	pair_destroy(p);
}

/* Create until refusal, destroy all, again: the same numbers of objects each time. */
static void tables_do_not_leak(void **state)
{
	struct pair *p = fresh("tables_do_not_leak", true, true);
	struct pair_qp *q = &p->q[PAIR_A][0];
	struct mrc_sched *s = q->host->sched;
	uint32_t first[3] = {0}, n[3];

	for (int round = 0; round < 3000; round++) {
		struct mrc_sched_cq *cqs[64];
		struct mrc_sched_qp *qps[64];
		struct mrc_sched_mr mrs[64];

		n[0] = n[1] = n[2] = 0;
		while (n[0] < 64 && mrc_sched_cq_create(s, 4, &cqs[n[0]]) == MRC_OK)
			n[0]++;
		while (n[1] < 64) {
			struct mrc_sched_qp_cfg cfg = {.pd = q->host->pd,
				.send_cq = cqs[0],
				.recv_cq = cqs[0],
				.sq_depth = 1,
				.rq_depth = 1,
				.max_sge = 1};

			if (mrc_sched_qp_create(s, &cfg, &qps[n[1]]) != MRC_OK)
				break;
			n[1]++;
		}
		while (n[2] < 64) {
			mrs[n[2]] = (struct mrc_sched_mr){.pd = q->host->pd,
				.access = 1,
				.addr = q->src.data,
				.iova = 64,
				.len = 8};
			if (mrc_sched_mr_reg(s, &mrs[n[2]]) != MRC_OK)
				break;
			n[2]++;
		}
		for (uint32_t i = 0; i < n[1]; i++)
			PAIR_EQ(p, mrc_sched_qp_destroy(s, p->now, qps[i]), MRC_OK);
		for (uint32_t i = 0; i < n[0]; i++)
			PAIR_EQ(p, mrc_sched_cq_destroy(s, cqs[i]), MRC_OK);
		for (uint32_t i = 0; i < n[2]; i++)
			PAIR_EQ(p, mrc_sched_mr_dereg(s, mrs[i].key), MRC_OK);
		if (round == 0)
			memcpy(first, n, sizeof(first));
		for (int k = 0; k < 3; k++) {
			assert_true(n[k] > 0 && n[k] < 64);
			PAIR_EQ(p, n[k], first[k]);
		}
	}
	pair_destroy(p);
}

/* Keys and QPNs are not handed out in a row, and a fresh one never equals the last. */
static void numbers_are_not_guessable(void **state)
{
	struct pair *p = fresh("numbers_are_not_guessable", true, true);
	struct pair_qp *q = &p->q[PAIR_A][0];
	uint32_t last = 0, steps = 0, bits = 0;

	for (int i = 0; i < 1000; i++) {
		struct mrc_sched_mr mr = {
			.pd = q->host->pd, .access = 1, .addr = q->src.data, .iova = 64, .len = 8};

		PAIR_EQ(p, mrc_sched_mr_reg(q->host->sched, &mr), MRC_OK);
		assert_int_not_equal(mr.key, last);
		steps += mr.key - last == 1 || last - mr.key == 1;
		bits |= mr.key ^ last;
		last = mr.key;
		PAIR_EQ(p, mrc_sched_mr_dereg(q->host->sched, mr.key), MRC_OK);
	}
	assert_true(steps < 5);
	assert_true(__builtin_popcount(bits) >= 16);
	pair_destroy(p);
}

/* ---- queues ---- */

/* Fill, complete one, post one, over and over, for depths around powers of two. */
static void queue_depths(void **state)
{
	const uint32_t depth[] = {1, 2, 3, 4, 7, 1000};

	for (size_t i = 0; i < sizeof(depth) / sizeof(depth[0]); i++) {
		struct pair_cfg cfg;
		struct pair *p;
		uint32_t room = 0;
		bool imm = depth[i] == 4 || depth[i] == 1000; /* no more than receives */

		pair_test_cfg(&cfg, "queue_depths", 73);
		cfg.sq_depth = cfg.rq_depth = depth[i];
		cfg.check_every = 128;
		p = pair_create(&cfg);
		while (pair_post_try(p, PAIR_A, 0, &(struct pair_wr){.len = 16, .imm = imm}) ==
			MRC_OK)
			room++;
		assert_true(room >= depth[i] && room < 2 * depth[i] + 2);
		for (uint32_t k = 0; k < 20000; k++) {
			uint64_t want = p->q[PAIR_A][0].nb_success + 1;

			while (p->q[PAIR_A][0].nb_success < want)
				if (!pair_step(p))
					pair_fail(p, "stuck at depth %u", depth[i]);
			while (p->q[PAIR_A][0].nb_ops - p->q[PAIR_A][0].next_done < room)
				pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 16, .imm = imm});
			if (k % 100 == 0)
				PAIR_EQ(p, pair_post_try(p, PAIR_A, 0, &(struct pair_wr){.len = 1}),
					MRC_ERR_FULL);
		}
		pair_finish(p, PAIR_S);
		pair_destroy(p);
	}
}

/* CQ of 4, 5 completions nobody fetches: one event, the first four readable. */
static void completion_queue_overrun(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct pair_qp *q;
	struct mrc_sched_wc wc[8];

	pair_test_cfg(&cfg, "completion_queue_overrun", 74);
	cfg.cq_depth = 4;
	cfg.allow_error = true;
	cfg.auto_recv = false;
	p = pair_create(&cfg);
	q = &p->q[PAIR_A][0];
	for (int k = 0; k < 5; k++)
		pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 8});
	p->hold_cq = true;
	pair_run(p, 20 * PAIR_MS);
	PAIR_EQ(p, mrc_sched_cq_poll(q->host->sched, q->send_cq, wc, 8), 4);
	for (uint32_t k = 0; k < 4; k++) {
		PAIR_EQ(p, (uint32_t)wc[k].wr_id, k);
		PAIR_EQ(p, wc[k].status, MRC_WC_SUCCESS);
	}
	PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_CQ_OVERRUN], 1);
	assert_true(p->last_event[PAIR_A].type == MRC_EVENT_QP_FATAL ||
		    p->last_event[PAIR_A].cq == q->send_cq);
	PAIR_EQ(p, mrc_sched_qp_state(q->qp), MRC_QP_ERR);
	p->q[PAIR_B][0].dst.tainted = true;
	pair_destroy(p);
}

/* To ERR: everything outstanding is flushed in order, on both queues. To RESET: nothing remains. */
/* spec */
static void flush_and_reset(void **state)
{
	for (int to_reset = 0; to_reset < 2; to_reset++) {
		struct pair_cfg cfg;
		struct pair *p;
		struct pair_qp *q;
		struct mrc_sched_wc wc;

		pair_test_cfg(&cfg, "flush_and_reset", 75);
		cfg.allow_error = true;
		p = pair_create(&cfg);
		q = &p->q[PAIR_A][0];
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP});
		for (int k = 0; k < 100; k++)
			pair_post(p, PAIR_A, 0,
				&(struct pair_wr){.len = 2000, .unsignaled = k % 2 == 1});
		pair_run(p, 50 * PAIR_US);
		PAIR_EQ(p,
			mrc_sched_qp_modify(q->host->sched, pair_host_now_of(q->host), q->qp,
				to_reset ? MRC_QP_RESET : MRC_QP_ERR, &q->attr),
			MRC_OK);
		if (to_reset) {
			PAIR_EQ(p, mrc_sched_cq_poll(q->host->sched, q->send_cq, &wc, 1), 0);
			PAIR_EQ(p, mrc_sched_cq_poll(q->host->sched, q->recv_cq, &wc, 1), 0);
			PAIR_EQ(p, pair_query(p, PAIR_A, 0).sq_used, 0);
			PAIR_EQ(p, pair_query(p, PAIR_A, 0).inflight, 0);
		} else {
			pair_kick(q->host);
			pair_run(p, PAIR_MS);
			PAIR_EQ(p, q->next_done, 100);
			PAIR_EQ(p, q->nb_error, 100);
			for (int k = 0; k < 100; k++)
				PAIR_EQ(p, q->ops[k].status, MRC_WC_WR_FLUSH_ERR);
			PAIR_EQ(p, q->recv_done, cfg.rq_depth);
			PAIR_EQ(p, p->events[PAIR_A][MRC_EVENT_QP_FATAL], 0);
		}
		pair_reconnect(p, 0, 0x333333, 0x444444);
		pair_load(p, PAIR_A, 0,
			&(struct pair_load){
				.count = 100, .depth = 8, .max_len = 3000, .imm_pct = 50});
		pair_finish(p, PAIR_S);
		pair_destroy(p);
	}
}

/* Gives memory but for one piece, which is the `left`-th. */
struct miser {
	struct test_env te;
	uint32_t left;
};

static void *miser_alloc(void *ctx, size_t size, size_t align)
{
	struct miser *m = ctx;

	return m->left-- == 0 ? NULL : m->te.env.alloc(m->te.env.ctx, size, align);
}

static void miser_free(void *ctx, void *mem, size_t size)
{
	struct miser *m = ctx;

	m->te.env.free(m->te.env.ctx, mem, size);
}

static uint64_t miser_random64(void *ctx)
{
	struct miser *m = ctx;

	return m->te.env.random64(m->te.env.ctx);
}

/* An engine that cannot get a piece of its memory, whichever it is, gives back what it took. */
static void create_without_memory(void **state)
{
	struct mrc_sched_cfg cfg;
	struct mrc_proto proto;
	struct mrc_sched *sched;
	uint32_t nb_blocks = 0;

	mrc_proto_default(&proto);
	assert_int_equal(mrc_proto_init(&proto), MRC_OK);
	mrc_sched_cfg_default(&cfg);
	cfg.proto = &proto;
	cfg.nb_workers = 1;
	cfg.nb_planes = 1;
	for (uint32_t n = 0; n <= nb_blocks; n++) {
		struct miser m = {.left = n - 1};
		struct mrc_env env = {.ctx = &m,
			.alloc = miser_alloc,
			.free = miser_free,
			.random64 = miser_random64};

		test_env_seed(&m.te, n);
		assert_int_equal(
			mrc_sched_create(&cfg, &env, &sched), n == 0 ? MRC_OK : MRC_ERR_NOMEM);
		if (n == 0) {
			nb_blocks = (uint32_t)m.te.blocks_in_use;
			mrc_sched_destroy(sched);
		}
		assert_int_equal(m.te.blocks_in_use, 0);
		assert_int_equal(m.te.bytes_in_use, 0);
	}
	assert_true(nb_blocks > 10);
	mrc_sched_destroy(NULL); /* nothing to give back */
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(send_by_state),
	cmocka_unit_test(lengths_are_never_cut),
	cmocka_unit_test(transitions),
	cmocka_unit_test(attributes),
	cmocka_unit_test(receive_by_state),
	cmocka_unit_test(objects),
	cmocka_unit_test(tables_do_not_leak),
	cmocka_unit_test(numbers_are_not_guessable),
	cmocka_unit_test(queue_depths),
	cmocka_unit_test(completion_queue_overrun),
	cmocka_unit_test(flush_and_reset),
	cmocka_unit_test(create_without_memory),
};

PAIR_TEST_MAIN(tests)
