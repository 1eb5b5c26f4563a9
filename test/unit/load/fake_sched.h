/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_sched.h - the verbs of mrc_sched.h over a wire that is nothing but a copy, so that a load
 * can be driven and disturbed step by step. Messages of a QP arrive in order, those of different
 * QPs in random order.
 */
#ifndef FAKE_SCHED_H
#define FAKE_SCHED_H

#include "mrc_sched.h"
#include "test_env.h"

enum {
	FAKE_QPS = 64,
	FAKE_DEPTH = 64,
	FAKE_WCS = 8192,
};

struct fake_wr {
	struct mrc_sched_send_wr wr;
	struct mrc_sched_sge sge;
	bool imm;
};

struct mrc_sched_qp {
	struct mrc_sched *sched;
	struct mrc_sched_qp_cfg cfg;
	struct mrc_sched_qp_attr attr;
	uint32_t qpn;
	enum mrc_qp_state state;
	struct fake_wr sq[FAKE_DEPTH];
	uint32_t sq_at, sq_nb;
	uint32_t receives;
	bool used;
};

struct mrc_sched_cq {
	struct mrc_sched_wc wcs[FAKE_WCS];
	uint32_t at, nb;
	bool used;
};

struct mrc_sched {
	struct test_env *te;
	struct mrc_sched *peer;
	struct mrc_sched_qp qps[FAKE_QPS];
	struct mrc_sched_cq cqs[2];
	struct mrc_sched_mr mrs[2];
	uint32_t pds, nb_mrs;
	/* disturbance: called on the receiver's memory behind the copy, before the hook; may change
	 * *va (then the message is placed there) */
	void (*disturb)(struct mrc_sched *sched, struct mrc_sched_qp *qp, uint64_t *va,
		uint8_t *mem, uint32_t len);
	uint32_t imm_xor;   /* what the wire does to immediates */
	uint32_t fail_verb; /* the n-th creating verb from now fails; 0 = none */
	uint64_t delivered;
	uint64_t rq_empty; /* immediates that found no receive */
};

void fake_open(struct mrc_sched *sched, struct mrc_sched *peer, struct test_env *te);
/* Delivers one message of a random QP; false when there is none. */
bool fake_step(struct mrc_sched *sched);
/* The QP breaks: everything on it is flushed. */
void fake_break(struct mrc_sched *sched, uint32_t qp);
/* Nothing is left over. */
bool fake_empty(const struct mrc_sched *sched);

#endif
