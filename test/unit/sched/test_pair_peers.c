/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pair_peers.c - how long the engine remembers a peer, and how it tells its peers which planes
 * are usable when planes come and go faster than answers.
 */
#include "pair_test.h"

#include "engine.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};

static struct mrc_sched *engine(struct pair *p)
{
	return p->hosts[PAIR_A][0].sched;
}

static struct mrc_gid stranger(const struct pair *p, uint32_t n)
{
	struct mrc_gid gid = p->q[PAIR_A][0].attr.peer;

	gid.raw[14] = (uint8_t)(n + 1);
	gid.raw[15] = (uint8_t)(200 + n % 50);
	return gid;
}

static void more_qps(struct mrc_sched_cfg *cfg, int side)
{
	cfg->max_qps += 4;
	cfg->queue_entries *= 2;
}

/* A further QP of A, as far as RTR. */
static struct mrc_sched_qp *connect_to(
	struct pair *p, const struct mrc_gid *peer, uint8_t ttl, int want)
{
	const struct pair_qp *q = &p->q[PAIR_A][0];
	const struct mrc_sched_qp_cfg cfg = {.pd = q->host->pd,
		.send_cq = q->send_cq,
		.recv_cq = q->recv_cq,
		.sq_depth = 1,
		.rq_depth = 1,
		.max_sge = 1};
	struct mrc_sched_qp_attr attr = q->attr;
	struct mrc_sched_qp *qp;

	attr.peer = *peer;
	attr.ttl = ttl;
	PAIR_EQ(p, mrc_sched_qp_create(engine(p), &cfg, &qp), MRC_OK);
	PAIR_EQ(p, mrc_sched_qp_modify(engine(p), p->now, qp, MRC_QP_INIT, &attr), MRC_OK);
	PAIR_EQ(p, mrc_sched_qp_modify(engine(p), p->now, qp, MRC_QP_RTR, &attr), want);
	return qp;
}

static struct mrc_sched_qp *meet(struct pair *p, uint32_t n, int want)
{
	const struct mrc_gid gid = stranger(p, n);

	return connect_to(p, &gid, 64, want);
}

static int tell(struct pair *p, uint32_t n, const uint8_t *address)
{
	const struct mrc_gid gid = stranger(p, n);

	return mrc_sched_peer_set(engine(p), &gid, 0, address);
}

/* A hundred peers in turn through a table of four; the one that stays is not disturbed. */
static void peers_come_and_go(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_gid gid;

	pair_test_cfg(&cfg, "peers_come_and_go", 301);
	p = pair_create(&cfg);
	for (uint32_t n = 0; n < 100; n++) {
		struct mrc_sched_qp *qp;

		PAIR_EQ(p, tell(p, n, mac), MRC_OK);
		qp = meet(p, n, MRC_OK);
		/* One whose link address nobody ever told goes at once. */
		mrc_sched_qp_destroy(engine(p), p->now, qp);
		qp = meet(p, n + 100, MRC_OK);
		mrc_sched_qp_destroy(engine(p), p->now, qp);
		gid = stranger(p, n + 100);
		PAIR_ASSERT(p, peer_find(engine(p), &gid) == NULL);
	}
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100000});
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

/* A peer without QP is remembered while there is room; the one that left first gives way. */
static void the_longest_gone_gives_way(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched_qp *qps[3];
	struct mrc_gid gid;

	pair_test_cfg(&cfg, "the_longest_gone_gives_way", 302);
	cfg.tweak = more_qps;
	p = pair_create(&cfg);
	for (uint32_t n = 0; n < 3; n++) {
		PAIR_EQ(p, tell(p, n, mac), MRC_OK);
		qps[n] = meet(p, n, MRC_OK);
	}
	/* All four places are in use: the fifth peer is refused, by both ways. */
	PAIR_EQ(p, tell(p, 3, mac), MRC_ERR_NOMEM);
	mrc_sched_qp_destroy(engine(p), p->now, meet(p, 3, MRC_ERR_NOMEM));
	for (uint32_t n = 3; n-- > 0;)
		mrc_sched_qp_destroy(engine(p), p->now, qps[n]);
	for (uint32_t n = 0; n < 3; n++) {
		gid = stranger(p, n);
		PAIR_ASSERT(p, peer_find(engine(p), &gid) != NULL);
		PAIR_EQ(p, peer_find(engine(p), &gid)->known, 1);
	}
	gid = stranger(p, 2);
	engine(p)->marks[7].peer = peer_find(engine(p), &gid);
	PAIR_EQ(p, tell(p, 3, mac), MRC_OK);
	PAIR_ASSERT(p, peer_find(engine(p), &gid) == NULL);
	PAIR_ASSERT(p, engine(p)->marks[7].peer == NULL);
	/* Told and not met yet: these do not give way to each other. */
	PAIR_EQ(p, tell(p, 4, mac), MRC_OK);
	PAIR_EQ(p, tell(p, 5, mac), MRC_OK);
	PAIR_EQ(p, tell(p, 6, mac), MRC_ERR_NOMEM);
	PAIR_EQ(p, tell(p, 4, NULL), MRC_OK);
	PAIR_EQ(p, tell(p, 6, mac), MRC_OK);
	PAIR_EQ(p, tell(p, 99, NULL), MRC_OK);
	pair_post(p, PAIR_A, 0, &(struct pair_wr){.len = 100000});
	pair_finish(p, PAIR_S);
	pair_destroy(p);
}

static uint32_t calls_in_use(const struct mrc_sched *s)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < NB_EP_CALLS; i++)
		nb += s->calls[i].path != NULL;
	return nb;
}

/* A plane flaps and no answer comes: one place, and in the end the peer knows how it stands. */
/* spec */
static void a_flapping_plane_takes_one_place(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	uint64_t wait_ns;

	pair_test_cfg(&cfg, "a_flapping_plane_takes_one_place", 303);
	p = pair_create(&cfg);
	pair_run(p, 50 * PAIR_US);
	wait_ns = engine(p)->ep_wait_ns;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_EP});
	for (uint32_t n = 0; n < 300; n++) {
		pair_plane(p, PAIR_A, 2, (n & 1) != 0);
		pair_run(p, 3 * PAIR_US);
		PAIR_ASSERT(p, calls_in_use(engine(p)) <= 1);
	}
	PAIR_ASSERT(p, PAIR_COUNTER(p, PAIR_A, ep_req_tx) >= 300);
	pair_faults_clear(p);
	/* Answers in time, but to words that went out again meanwhile: nothing to learn from. */
	for (uint32_t n = 0; n < 31; n++) {
		pair_plane(p, PAIR_A, 2, (n & 1) != 0);
		pair_run(p, 3 * PAIR_US);
	}
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->last_event[PAIR_B].type, MRC_EVENT_PORT_STATUS);
	PAIR_EQ(p, p->last_event[PAIR_B].arg, 0xB);
	PAIR_EQ(p, engine(p)->ep_wait_ns, wait_ns);
	PAIR_EQ(p, calls_in_use(engine(p)), 0);
	pair_destroy(p);
}

/* Without a free place the word waits for one. */
/* spec */
static void a_port_status_waits_for_a_place(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched *s;
	struct path *path;

	pair_test_cfg(&cfg, "a_port_status_waits_for_a_place", 304);
	p = pair_create(&cfg);
	s = engine(p);
	path = LIST_OWNER(s->used_paths.next, struct path, link);
	for (uint32_t i = 0; i < NB_EP_CALLS; i++)
		s->calls[i].path = path;
	pair_plane(p, PAIR_A, 2, false);
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_PORT_STATUS], 0);
	for (uint32_t i = 0; i < NB_EP_CALLS; i++)
		s->calls[i].path = NULL;
	pair_kick(&p->hosts[PAIR_A][0]);
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_PORT_STATUS], 1);
	PAIR_EQ(p, p->last_event[PAIR_B].arg, 0xB);
	pair_destroy(p);
}

/*
 * A plane died, and every entropy value of it is being asked about; then a second plane goes. The
 * word of it leaves at once: probes of entropy values do not take all places.
 */
/* spec */
static void probes_leave_room_for_port_status(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched *s;
	struct mrc_ev_set *set;

	pair_test_cfg(&cfg, "probes_leave_room_for_port_status", 306);
	cfg.nb_evs = 1024;
	p = pair_create(&cfg);
	s = engine(p);
	set = p->hosts[PAIR_A][0].set;
	pair_fault_add(p, &(struct pair_fault){.act = PAIR_DROP, .kinds = PAIR_EP, .planes = 2});
	for (uint32_t i = 0; i < cfg.nb_evs; i++)
		if (mrc_ev_get(set, i)->plane == 1)
			mrc_ev_feedback(set, p->now, i, MRC_EV_FB_LOST);
	ep_look(s, p->now, LIST_OWNER(s->used_paths.next, struct path, link));
	pair_kick(&p->hosts[PAIR_A][0]);
	pair_run(p, 1100 * PAIR_US);
	PAIR_EQ(p, calls_in_use(s), NB_EP_CALLS - NB_KEPT_CALLS);
	pair_plane(p, PAIR_A, 2, false);
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_PORT_STATUS], 1);
	PAIR_EQ(p, p->last_event[PAIR_B].arg, 0xB);
	pair_destroy(p);
}

/*
 * A peer says in every microsecond that a port of its is gone, or is back. QPs are looked at once
 * in the time that a look at all of them may take, and in the end for the last word.
 */
/* spec */
static void flapping_peer_costs_few_looks(void **state)
{
	struct pair_cfg cfg;
	struct pair *p;
	struct mrc_sched *s;
	uint64_t looks = 0, gone_ns = 0;

	pair_test_cfg(&cfg, "flapping_peer_costs_few_looks", 307);
	p = pair_create(&cfg);
	s = engine(p);
	s->cfg.max_qps = 1;
	pair_run(p, 50 * PAIR_US);
	for (uint32_t n = 0; n < 1000; n++) {
		struct path *path = LIST_OWNER(s->used_paths.next, struct path, link);

		probe_gone(s, p->now + n * 10, path);
		gone_ns = s->gone_ns;
		PAIR_ASSERT(p, mrc_sched_next_deadline(s) <= gone_ns);
		probe_gone_look(s, p->now + n * 10);
		looks += s->gone_ns == WHEEL_NEVER;
		PAIR_EQ(p, path->gone, s->gone_ns != WHEEL_NEVER);
	}
	/* 10 us, 128 ns for each of one QP. */
	PAIR_ASSERT(p, looks >= 70 && looks <= 10000 / GONE_GAP_NS + 1);
	probe_gone_look(s, p->now + 20000);
	PAIR_EQ(p, s->gone_ns, WHEEL_NEVER);
	s->cfg.max_qps = cfg.nb_qps;
	pair_destroy(p);
}

/* The path that carried the word goes with its QP: it is told over the other one. */
static void a_port_status_outlives_its_path(void **state)
{
	struct pair_cfg cfg;
	struct mrc_sched_qp *qp;
	struct pair *p;
	struct peer *peer;
	uint8_t hdr[MRC_HDR_ROOM];
	struct mrc_txbuf buf = {.hdr = hdr};

	pair_test_cfg(&cfg, "a_port_status_outlives_its_path", 305);
	p = pair_create(&cfg);
	peer = peer_find(engine(p), &p->q[PAIR_A][0].attr.peer);
	PAIR_ASSERT(p, peer != NULL);
	/* Another TTL is another path; at the head of the list it is the one that the word takes.
	 */
	qp = connect_to(p, &peer->gid, 3, MRC_OK);
	list_remove(&qp->path->of_peer);
	list_push(peer->paths.next, &qp->path->of_peer);
	mrc_sched_plane_set(engine(p), p->now, 2, MRC_PLANE_DOWN);
	/* It leaves and is lost. */
	PAIR_EQ(p, mrc_sched_tx(engine(p), p->now, &buf, 1), 1);
	PAIR_ASSERT(p, peer->status != NULL && peer->status->path == qp->path);
	mrc_sched_qp_destroy(engine(p), p->now, qp);
	PAIR_ASSERT(p, peer->status == NULL);
	pair_kick(&p->hosts[PAIR_A][0]);
	pair_run(p, 50 * PAIR_US);
	PAIR_EQ(p, p->events[PAIR_B][MRC_EVENT_PORT_STATUS], 1);
	PAIR_EQ(p, p->last_event[PAIR_B].arg, 0xB);
	pair_destroy(p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(peers_come_and_go),
	cmocka_unit_test(the_longest_gone_gives_way),
	cmocka_unit_test(a_flapping_plane_takes_one_place),
	cmocka_unit_test(a_port_status_waits_for_a_place),
	cmocka_unit_test(a_port_status_outlives_its_path),
	cmocka_unit_test(probes_leave_room_for_port_status),
	cmocka_unit_test(flapping_peer_costs_few_looks),
};

PAIR_TEST_MAIN(tests)
