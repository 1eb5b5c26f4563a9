/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.c - create and destroy, events, planes. All memory of an engine's life is taken here;
 * later calls only move pieces of it around.
 */
#include "engine.h"

#include <string.h>

enum {
	MAX_QPS = 1 << QPN_INDEX_BITS,
	MAX_WORKERS = 1 << QPN_WORKER_BITS,
	QUEUE_ENTRY_LEN = 128, /* the widest send queue entry */
	NB_SPARE_EVENTS = 64,  /* beyond one per QP and CQ */
	PATHS_PER_PEER = 2,    /* on average: several profiles towards one peer */
};

void mrc_sched_cfg_default(struct mrc_sched_cfg *cfg_out)
{
	*cfg_out = (struct mrc_sched_cfg){
		.nb_workers = 1,
		.nb_planes = 1,
		.max_qps = 64,
		.max_cqs = 64,
		.max_mrs = 64,
		.max_pds = 16,
		.max_peers = 64,
		.window_psns = 65536,
		.sent_psns = 65536,
		.queue_entries = 65536,
		.nacks_per_us = 1,
		.icrc = true,
		.timestamps = true,
		.probes = true,
		.back_pressure = true,
		.access_errors = 1,
	};
}

static bool cfg_ok(const struct mrc_sched_cfg *cfg)
{
	if (cfg->proto == NULL || cfg->nb_workers == 0 || cfg->nb_workers > MAX_WORKERS ||
		cfg->worker >= cfg->nb_workers)
		return false;
	if (cfg->nb_planes == 0 || cfg->nb_planes > MRC_MAX_PLANES)
		return false;
	if (cfg->max_qps == 0 || cfg->max_qps > MAX_QPS || cfg->max_cqs == 0 ||
		cfg->max_cqs > 65536 || cfg->max_mrs == 0 || cfg->max_mrs > 65536 ||
		cfg->max_pds == 0 || cfg->max_pds > 65536 || cfg->max_peers == 0 ||
		cfg->max_peers > 65536)
		return false;
	if (cfg->window_psns == 0 || cfg->window_psns % MAP_CHUNK_PSNS != 0 ||
		cfg->window_psns / MAP_CHUNK_PSNS >= POOL_MAX || cfg->sent_psns == 0 ||
		cfg->sent_psns % MAP_CHUNK_PSNS != 0 || cfg->sent_psns / MAP_CHUNK_PSNS >= POOL_MAX)
		return false;
	if (cfg->access_errors == 0 || cfg->access_errors > UINT8_MAX)
		return false;
	return cfg->queue_entries != 0 && cfg->queue_entries <= 1u << 24 &&
	       cfg->nacks_per_us != 0 && cfg->nacks_per_us <= 1000;
}

/* Zeroed memory noted for destroy; NULL is remembered by the caller. */
static void *take(struct mrc_sched *s, size_t nb, size_t size, size_t align)
{
	void *mem = s->env.alloc(s->env.ctx, nb * size, align);

	MRC_ASSERT(s->nb_blocks < sizeof(s->blocks) / sizeof(s->blocks[0]));
	if (mem == NULL)
		return NULL;
	s->blocks[s->nb_blocks].mem = mem;
	s->blocks[s->nb_blocks++].len = nb * size;
	return mem;
}

static bool take_tables(struct mrc_sched *s)
{
	const struct mrc_sched_cfg *cfg = &s->cfg;
	uint32_t nb_mrs = pow2_up(cfg->max_mrs);

	s->peer_hash_mask = pow2_up(cfg->max_peers * 2) - 1;
	s->nb_paths = cfg->max_peers * PATHS_PER_PEER;
	s->mrs.mask = nb_mrs - 1;
	s->mrs.bits = (uint32_t)__builtin_ctz(nb_mrs);
	s->event_mask = pow2_up(cfg->max_qps + cfg->max_cqs + NB_SPARE_EVENTS) - 1;
	s->qps = take(s, cfg->max_qps, sizeof(*s->qps), 64);
	s->mrs.at = take(s, nb_mrs, sizeof(*s->mrs.at), 64);
	s->cqs = take(s, cfg->max_cqs, sizeof(*s->cqs), 64);
	s->pds = take(s, cfg->max_pds, sizeof(*s->pds), 64);
	s->peers = take(s, cfg->max_peers, sizeof(*s->peers), 64);
	s->peer_hash = take(s, s->peer_hash_mask + 1, sizeof(*s->peer_hash), 64);
	s->paths = take(s, s->nb_paths, sizeof(*s->paths), 64);
	s->templates = take(s, (size_t)s->nb_paths * cfg->nb_planes, sizeof(*s->templates), 64);
	s->marks = take(s, NB_MARKS, sizeof(*s->marks), 64);
	s->notes = take(s, NB_NOTES, sizeof(*s->notes), 64);
	s->answers = take(s, NB_EP_ANSWERS, sizeof(*s->answers), 64);
	s->calls = take(s, NB_EP_CALLS, sizeof(*s->calls), 64);
	s->events = take(s, s->event_mask + 1, sizeof(*s->events), 64);
	return s->qps && s->mrs.at && s->cqs && s->pds && s->peers && s->peer_hash && s->paths &&
	       s->templates && s->marks && s->notes && s->answers && s->calls && s->events;
}

static bool take_pool(struct mrc_sched *s, struct pool *pool, size_t stride, uint32_t nb)
{
	void *mem = take(s, nb, stride, 64);
	uint16_t *ids = take(s, nb, sizeof(*ids), 64);

	if (mem == NULL || ids == NULL)
		return false;
	pool_init(pool, mem, stride, ids, nb);
	return true;
}

static bool take_pools(struct mrc_sched *s)
{
	uint32_t nb_rcv = s->cfg.window_psns / MAP_CHUNK_PSNS;
	/* One for each QP on top of the budget: every QP can always send something. */
	uint32_t nb_sent = s->cfg.sent_psns / MAP_CHUNK_PSNS + s->cfg.max_qps;
	size_t len = (size_t)s->cfg.queue_entries * QUEUE_ENTRY_LEN;
	void *mem = take(s, len, 1, 64);
	uint8_t *order = take(s, arena_order_len(len), 1, 64);

	if (mem == NULL || order == NULL)
		return false;
	arena_init(&s->arena, mem, len, order);
	return take_pool(s, &s->rcv_chunks, sizeof(struct rcv_chunk), nb_rcv) &&
	       take_pool(s, &s->sent.chunks, sizeof(struct sent_chunk), nb_sent) &&
	       take_pool(s, &s->sent.evs, sizeof(struct sent_evs), nb_sent);
}

static void init_lists(struct mrc_sched *s)
{
	list_init(&s->free_qps);
	list_init(&s->free_paths);
	list_init(&s->used_paths);
	list_init(&s->due);
	list_init(&s->ready);
	list_init(&s->rtx);
	list_init(&s->starved);
	list_init(&s->parked);
	for (uint32_t i = 0; i < s->cfg.max_qps; i++) {
		struct mrc_sched_qp *qp = &s->qps[i];

		qp->index = i;
		qp->gen = (uint8_t)s->env.random64(s->env.ctx);
		list_init(&qp->due_link);
		list_init(&qp->ready_link);
		list_init(&qp->rtx_link);
		wheel_node_init(&qp->timer);
		list_push(&s->free_qps, &qp->link);
	}
	for (uint32_t i = 0; i < s->nb_paths; i++) {
		s->paths[i].tmpl = &s->templates[(size_t)i * s->cfg.nb_planes];
		wheel_node_init(&s->paths[i].timer);
		list_push(&s->free_paths, &s->paths[i].link);
	}
	list_init(&s->told);
	list_init(&s->untold);
	list_init(&s->idle);
	for (uint32_t i = 0; i < s->cfg.max_peers; i++)
		s->peers[i].next = i + 1 < s->cfg.max_peers ? i + 1 : UINT32_MAX;
	list_init(&s->wanted_calls);
	s->ep_wait_ns = EP_TIMEOUT_NS;
	s->gone_ns = WHEEL_NEVER;
	for (uint32_t i = 0; i < NB_EP_CALLS; i++) {
		wheel_node_init(&s->calls[i].timer);
		list_init(&s->calls[i].wanted);
	}
	for (uint32_t i = 0; i <= s->peer_hash_mask; i++)
		s->peer_hash[i] = UINT32_MAX;
	for (uint32_t i = 0; i < s->cfg.max_cqs; i++)
		s->cqs[i].next_free = i + 1 < s->cfg.max_cqs ? i + 1 : UINT32_MAX;
}

/* Each worker draws keys from slots of its own, so that regions it registers fit into the tables
 * of the others (mrc_sched_mr_install). */
static void init_mrs(struct mrc_sched *s)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = s->mrs.mask + 1; i-- > 0;) {
		s->mrs.at[i].next_free = UINT32_MAX;
		if (i % s->cfg.nb_workers != s->cfg.worker)
			continue;
		s->mrs.at[i].next_free = last;
		last = i;
	}
	s->mrs.free = last;
}

int mrc_sched_create(
	const struct mrc_sched_cfg *cfg, const struct mrc_env *env, struct mrc_sched **sched_out)
{
	struct mrc_sched *s;

	if (!cfg_ok(cfg))
		return MRC_ERR_INVAL;
	s = env->alloc(env->ctx, sizeof(*s), 64);
	if (s == NULL)
		return MRC_ERR_NOMEM;
	s->cfg = *cfg;
	s->env = *env;
	s->proto = *cfg->proto;
	s->cfg.proto = &s->proto;
	s->nack_gap_ns = 1000 / cfg->nacks_per_us;
	s->up = (uint32_t)((UINT64_C(1) << cfg->nb_planes) - 1);
	if (!take_tables(s) || !take_pools(s)) {
		mrc_sched_destroy(s);
		return MRC_ERR_NOMEM;
	}
	wheel_init(&s->wheel, 0);
	init_lists(s);
	init_mrs(s);
	*sched_out = s;
	return MRC_OK;
}

void mrc_sched_destroy(struct mrc_sched *s)
{
	struct mrc_env env;

	if (s == NULL)
		return;
	env = s->env;
	for (uint32_t i = s->nb_blocks; i-- > 0;)
		env.free(env.ctx, s->blocks[i].mem, s->blocks[i].len);
	env.free(env.ctx, s, sizeof(*s));
}

void trace(const struct mrc_sched *s, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a,
	uint64_t b, uint64_t c)
{
	if (s->env.trace != NULL)
		s->env.trace(s->env.ctx, now_ns, kind, a, b, c);
}

/* ---- events ---- */

/* Of an operation on demand: what was asked for counts until its result is fetched. */
static bool is_result(const struct mrc_sched_event *event)
{
	return event->type == MRC_EVENT_EP_RESULT || event->type == MRC_EVENT_PROBE_RESULT;
}

void event_put(struct mrc_sched *s, const struct mrc_sched_event *event)
{
	/* One per QP and CQ and all results fit by size; port status beyond the spare places is
	 * repeated by the peer. */
	if (event->type == MRC_EVENT_PORT_STATUS) {
		if (s->nb_status_events == NB_SPARE_EVENTS - MRC_SCHED_MAX_ASKED)
			return;
		s->nb_status_events++;
	}
	if (s->event_tail - s->event_head > s->event_mask) {
		s->nb_asked -= is_result(event);
		return;
	}
	s->events[s->event_tail++ & s->event_mask] = *event;
}

bool mrc_sched_event_poll(struct mrc_sched *s, struct mrc_sched_event *event_out)
{
	if (s->event_head == s->event_tail)
		return false;
	*event_out = s->events[s->event_head++ & s->event_mask];
	s->nb_asked -= is_result(event_out);
	s->nb_status_events -= event_out->type == MRC_EVENT_PORT_STATUS;
	return true;
}

void event_purge(struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct mrc_sched_cq *cq)
{
	uint32_t to = s->event_head;

	for (uint32_t i = s->event_head; i != s->event_tail; i++) {
		const struct mrc_sched_event *event = &s->events[i & s->event_mask];

		if ((qp != NULL && event->qp == qp) || (cq != NULL && event->cq == cq)) {
			s->nb_asked -= is_result(event);
			continue;
		}
		s->events[to++ & s->event_mask] = *event;
	}
	s->event_tail = to;
}

/* ---- planes ---- */

void mrc_sched_rx_pressure(struct mrc_sched *s, uint64_t now_ns, uint32_t level)
{
	level = level < MRC_RX_PRESSURE_FULL ? level : MRC_RX_PRESSURE_FULL;
	if (level == s->pressure)
		return;
	s->now_ns = now_ns;
	s->pressure = level;
}

void mrc_sched_plane_set(
	struct mrc_sched *s, uint64_t now_ns, uint32_t plane, enum mrc_plane_state state)
{
	uint32_t bit = UINT32_C(1) << (plane & 31), was_up = s->up, was_usable = s->up & ~s->busy;

	MRC_ASSERT(plane < s->cfg.nb_planes);
	switch (state) {
	case MRC_PLANE_UP:
		s->up |= bit;
		s->busy &= ~bit;
		break;
	case MRC_PLANE_DOWN:
		s->up &= ~bit;
		s->busy &= ~bit;
		break;
	case MRC_PLANE_BUSY:
		s->busy |= bit;
		break;
	}
	if (was_up != s->up) {
		s->now_ns = now_ns;
		for (struct link *l = s->used_paths.next; l != &s->used_paths; l = l->next) {
			path_planes(s, now_ns, LIST_OWNER(l, struct path, link));
			probe_gone(s, now_ns, LIST_OWNER(l, struct path, link));
		}
		ep_announce(s);
	}
	if ((s->up & ~s->busy & ~was_usable) != 0)
		qp_unpark(s, now_ns);
}

/* ---- time ---- */

uint64_t mrc_sched_next_deadline(const struct mrc_sched *s)
{
	uint64_t first_ns = wheel_first_ns(&s->wheel);

	return s->gone_ns < first_ns ? s->gone_ns : first_ns;
}

uint32_t mrc_sched_expire(struct mrc_sched *s, uint64_t now_ns)
{
	uint32_t budget = EXPIRE_BATCH, nb = 0;
	struct wheel_node *node;

	probe_gone_look(s, now_ns);
	while ((node = wheel_pop(&s->wheel, now_ns, &budget)) != NULL) {
		switch ((enum timer_kind)node->kind) {
		case TIMER_QP:
			timer_qp(s, now_ns, LIST_OWNER(node, struct mrc_sched_qp, timer));
			break;
		case TIMER_PATH:
			ep_look(s, now_ns, LIST_OWNER(node, struct path, timer));
			break;
		case TIMER_CALL:
			ep_timeout(s, now_ns, LIST_OWNER(node, struct ep_call, timer));
			break;
		}
		nb++;
	}
	return nb;
}

const struct mrc_sched_counters *mrc_sched_counters_get(const struct mrc_sched *s)
{
	return &s->counters;
}
