/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair_rig.h"

void pair_rig_open(struct pair_rig *r, const char *name, void (*change)(struct pair_cfg *cfg))
{
	struct pair_cfg cfg;

	pair_test_cfg(&cfg, name, 181);
	cfg.timeout = 16; /* 67 ms */
	cfg.nb_evs = 64;
	if (change != NULL)
		change(&cfg);
	r->p = pair_create(&cfg);
	r->s = r->p->hosts[PAIR_A][0].sched;
	r->qp = r->p->q[PAIR_A][0].qp;
	r->p->q[PAIR_A][0].relaxed = r->p->q[PAIR_A][0].blind = true;
	r->p->q[PAIR_B][0].dst.tainted = true;
	pair_tape_start(r->p, &r->tape);
}

void pair_rig_close(struct pair_rig *r)
{
	pair_tape_free(r->p, &r->tape);
	pair_destroy(r->p);
}

void pair_rig_unheard(struct pair_rig *r, const char *name, void (*change)(struct pair_cfg *cfg),
	uint32_t len, uint64_t run_ns)
{
	pair_rig_open(r, name, change);
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = len});
	pair_run(r->p, run_ns);
}

mrc_psn_t pair_rig_psn(const struct pair_rig *r, int32_t k)
{
	return mrc_psn_add(mrc_psn(r->p->cfg.psn[PAIR_A]), k);
}

struct sent *pair_rig_sent(struct pair_rig *r, int32_t k)
{
	return sentmap_at(&r->qp->snt, &r->s->sent, pair_rig_psn(r, k));
}

const struct mrc_pkt *pair_rig_last(struct pair_rig *r, int side, uint8_t opcode)
{
	return pair_tape_last(r->p, &r->tape, side, opcode);
}

struct mrc_sched_ep_req pair_rig_ev_probe(const struct pair_rig *r)
{
	return (struct mrc_sched_ep_req){.local = r->p->q[PAIR_A][0].attr.local,
		.peer = r->p->q[PAIR_A][0].attr.peer,
		.op = MRC_EP_EV_PROBE,
		.cls = MRC_CLASS_NO_TRIM,
		.any_ev = true};
}

uint32_t pair_rig_plane(struct pair_rig *r, int32_t k)
{
	return mrc_ev_get(r->qp->path->evs, pair_rig_sent(r, k)->ev)->plane;
}

void pair_rig_two_out(struct pair_rig *r, const char *name)
{
	pair_rig_open(r, name, NULL);
	pair_fault_add(r->p, &(struct pair_fault){.act = PAIR_DROP});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_post(r->p, PAIR_A, 0, &(struct pair_wr){.len = 100});
	pair_run(r->p, 10 * PAIR_US);
	assert_int_not_equal(pair_rig_plane(r, 0), pair_rig_plane(r, 1));
	for (uint32_t i = 0; i < MRC_MAX_PLANES; i++) {
		r->qp->path->heard_ns[i] = 1;
		r->qp->path->slow_ns[i] = 100000;
	}
	r->qp->srtt_ns = 40000;
	r->qp->rttvar_ns = 1000;
}
