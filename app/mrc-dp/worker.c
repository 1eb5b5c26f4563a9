/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>
#include <rte_ring_elem.h>

#include "courier.h"
#include "frame.h"
#include "fresh.h"

enum {
	TX_BUDGET = 64,       /* packets pulled in one turn */
	HANDOVER_BUDGET = 64, /* frames of other workers in one turn */
	EXPIRE_ROUNDS = 4,
	LOW_FRAMES = 256,     /* left in the pool: peers are asked to slow down */
	PRESSURE_TURNS = 256, /* between looks at the frame pool; a power of two */
	PUBLISH_NS = 5000000,
};

static inline uint64_t worker_now(struct mrc_worker *w)
{
	uint64_t now_ns = mrc_clock_ns(w->clock, rte_rdtsc());

	/* A thread that moved to another CPU may read a slightly earlier counter. */
	if (unlikely(now_ns < w->last_ns))
		return w->last_ns;
	w->last_ns = now_ns;
	return now_ns;
}

/* ---- planes ------------------------------------------------------------------------------------
 */

static void plane_tell(struct mrc_worker *w, uint64_t now_ns, uint32_t p)
{
	const struct mrc_worker_plane *plane = &w->planes[p];
	enum mrc_plane_state state = !plane->up    ? MRC_PLANE_DOWN
				     : plane->busy ? MRC_PLANE_BUSY
						   : MRC_PLANE_UP;

	mrc_sched_plane_set(w->sched, now_ns, p, state);
}

static void plane_flush(struct mrc_worker *w, uint64_t now_ns, uint32_t p)
{
	struct mrc_worker_plane *plane = &w->planes[p];
	bool busy = !mrc_stash_flush(&plane->stash);

	if (likely(busy == plane->busy))
		return;
	plane->busy = busy;
	plane_tell(w, now_ns, p);
}

void mrc_worker_carrier(struct mrc_worker *w, uint64_t now_ns, uint32_t p, bool up)
{
	struct mrc_worker_plane *plane = &w->planes[p];

	if (plane->up == up)
		return;
	plane->up = up;
	if (!up) {
		mrc_stash_drop(&plane->stash);
		plane->busy = false;
	} else if (w->l2) {
		mrc_l2_announce(&w->l2[p]);
		w->l2_due_ns = now_ns;
	}
	plane_tell(w, now_ns, p);
}

/* ---- ARP, neighbour discovery, echo -------------------------------------------------------------
 */

static void l2_changes(struct mrc_worker *w, uint32_t p)
{
	const uint8_t *mac;
	struct mrc_gid gid;

	/* What is not told yet stays with l2 until the workers take it. */
	while (mrc_courier_flush(w->courier) && mrc_l2_change_poll(&w->l2[p], &gid, &mac)) {
		struct mrc_cmd cmd = {.kind = MRC_CMD_PEER, .gid = gid, .plane = (uint16_t)p};

		cmd.has_mac = mac != NULL;
		if (mac)
			memcpy(cmd.mac, mac, sizeof(cmd.mac));
		for (uint32_t i = 0; i < w->nb_workers; i++)
			mrc_courier_send(w->courier, w->workers[i], &cmd);
	}
}

static struct rte_mbuf *l2_frame(struct mrc_worker *w, uint32_t p)
{
	if (!w->planes[p].up || mrc_stash_room(&w->planes[p].stash) == 0)
		return NULL;
	return rte_pktmbuf_alloc(w->pool);
}

static void l2_put(struct mrc_worker *w, uint32_t p, struct rte_mbuf *m, uint32_t len)
{
	if (len == 0) {
		rte_pktmbuf_free(m);
		return;
	}
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	w->counters.l2_tx++;
	if (unlikely(w->planes[p].capture != NULL))
		mrc_capture_take(w->planes[p].capture, &m, 1);
	mrc_stash_put(&w->planes[p].stash, m);
}

static void l2_take(struct mrc_worker *w, uint64_t now_ns, uint32_t p, struct rte_mbuf *frame)
{
	struct rte_mbuf *reply = l2_frame(w, p);
	uint32_t len = 0;

	w->counters.l2_rx++;
	if (reply == NULL)
		return;
	mrc_l2_rx(&w->l2[p], now_ns, rte_pktmbuf_mtod(frame, const uint8_t *), frame->data_len,
		rte_pktmbuf_mtod(reply, uint8_t *), rte_pktmbuf_tailroom(reply), &len);
	l2_put(w, p, reply, len);
	l2_changes(w, p);
	w->l2_due_ns = now_ns;
}

/* Questions and announcements that are due. */
static void l2_turn(struct mrc_worker *w, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t p = 0; p < w->nb_planes; p++) {
		while (w->planes[p].up && mrc_l2_deadline(&w->l2[p]) <= now_ns) {
			struct rte_mbuf *m = l2_frame(w, p);
			uint32_t len;

			if (m == NULL)
				break;
			len = mrc_l2_tx(&w->l2[p], now_ns, rte_pktmbuf_mtod(m, uint8_t *));
			l2_put(w, p, m, len);
			if (len == 0)
				break;
		}
		l2_changes(w, p);
		due_ns = RTE_MIN(due_ns, mrc_l2_deadline(&w->l2[p]));
	}
	if (w->courier->nb != 0)
		due_ns = now_ns;
	/* A plane without carrier has questions waiting: look again in a while. */
	w->l2_due_ns = RTE_MAX(due_ns, now_ns + 1000000);
}

/* ---- receive ------------------------------------------------------------------------------------
 */

static void loads_poll(struct mrc_worker *w, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t i = 0; i < w->nb_loads; i++)
		due_ns = RTE_MIN(due_ns, mrc_load_poll(w->loads[i], now_ns));
	w->load_due_ns = due_ns;
}

/* Gives a frame to another worker; true when it took it. */
static bool hand_over(struct mrc_worker *w, uint32_t to, uint32_t plane, struct rte_mbuf *frame)
{
	if (to >= w->nb_workers || to == w->index)
		return false;
	/* The port field is ours now; ring ports do not fill it anyway. */
	frame->port = (uint16_t)plane;
	if (rte_ring_mp_enqueue(w->workers[to]->handover, frame) != 0) {
		w->counters.handover_full++;
		return false;
	}
	w->counters.handed_over++;
	return true;
}

/* A frame that the engine did not use. True when somebody else owns it now. */
static __rte_noinline bool frame_refused(struct mrc_worker *w, uint64_t now_ns, uint32_t plane,
	const struct mrc_rx_verdict *verdict, struct rte_mbuf *frame)
{
	if (verdict->kind == MRC_RX_FOREIGN_WORKER)
		return hand_over(w, verdict->arg, plane, frame);
	if (!mrc_l2_is_mine(rte_pktmbuf_mtod(frame, const uint8_t *), frame->data_len))
		return false;
	if (w->l2 == NULL)
		return hand_over(w, 0, plane, frame);
	l2_take(w, now_ns, plane, frame);
	return false;
}

static void frames_take(struct mrc_worker *w, uint64_t now_ns, const struct mrc_rxbuf *bufs,
	struct rte_mbuf **frames, uint32_t n)
{
	struct mrc_rx_verdict verdicts[MRC_WORKER_BURST];
	uint32_t nb_free = 0;

	mrc_sched_rx(w->sched, now_ns, bufs, n, verdicts);
	for (uint32_t i = 0; i < n; i++) {
		if (unlikely(verdicts[i].kind != MRC_RX_CONSUMED) &&
			frame_refused(w, now_ns, bufs[i].plane, &verdicts[i], frames[i]))
			continue;
		frames[nb_free++] = frames[i];
	}
	mrc_frames_free(frames, nb_free);
	loads_poll(w, now_ns);
}

static void burst_take(
	struct mrc_worker *w, uint64_t now_ns, uint32_t plane, struct rte_mbuf **frames, uint32_t n)
{
	struct mrc_rxbuf bufs[MRC_WORKER_BURST];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(frames[i], const uint8_t *);

		rte_prefetch0(data);
		rte_prefetch0(data + 64);
		rte_prefetch0(data + 128);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];

		if (unlikely(m->nb_segs != 1)) {
			w->counters.rx_segmented++;
			rte_pktmbuf_free(m);
			continue;
		}
		bufs[kept].data = rte_pktmbuf_mtod(m, const uint8_t *);
		bufs[kept].len = m->data_len;
		bufs[kept].plane = (uint8_t)plane;
		frames[kept++] = m;
	}
	frames_take(w, now_ns, bufs, frames, kept);
}

/*
 * Tells the engine how short frames run. The pool holds what all queues can and some hundreds more,
 * so that a low level means that somebody keeps frames.
 */
static void pressure_tell(struct mrc_worker *w, uint64_t now_ns)
{
	uint32_t left = rte_mempool_avail_count(w->pool), level = MRC_RX_PRESSURE_NONE;

	if (left < MRC_WORKER_BURST)
		level = MRC_RX_PRESSURE_FULL;
	else if (left < LOW_FRAMES)
		level = MRC_RX_PRESSURE_MAX * (LOW_FRAMES - left) / LOW_FRAMES;
	mrc_sched_rx_pressure(w->sched, now_ns, level);
}

static uint32_t rx_turn(struct mrc_worker *w)
{
	struct rte_mbuf *frames[MRC_WORKER_BURST];
	uint32_t moved = 0;

	for (uint32_t p = 0; p < w->nb_planes; p++) {
		const struct mrc_worker_plane *plane = &w->planes[p];

		for (uint32_t q = 0; q < plane->nb_rxq; q++) {
			uint32_t n = rte_eth_rx_burst(
				plane->port, plane->rxq[q], frames, MRC_WORKER_BURST);

			if (n == 0)
				continue;
			if (unlikely(plane->capture != NULL))
				mrc_capture_take(plane->capture, frames, n);
			/* Fresh time: a round trip measured with an older one would come out too
			 * short, for ever, if the CPU was taken away in between. */
			burst_take(w, worker_now(w), p, frames, n);
			moved += n;
		}
	}
	return moved;
}

static uint32_t handover_turn(struct mrc_worker *w, uint64_t now_ns)
{
	struct rte_mbuf *frames[MRC_WORKER_BURST];
	struct mrc_rxbuf bufs[MRC_WORKER_BURST];
	uint32_t moved = 0;

	while (moved < HANDOVER_BUDGET) {
		uint32_t n = rte_ring_sc_dequeue_burst(
			w->handover, (void **)frames, MRC_WORKER_BURST, NULL);

		if (n == 0)
			break;
		for (uint32_t i = 0; i < n; i++)
			bufs[i] = (struct mrc_rxbuf){
				.data = rte_pktmbuf_mtod(frames[i], const uint8_t *),
				.len = frames[i]->data_len,
				.plane = (uint8_t)frames[i]->port};
		frames_take(w, now_ns, bufs, frames, n);
		moved += n;
	}
	w->counters.taken_over += moved;
	return moved;
}

/* ---- commands
 * ------------------------------------------------------------------------------------ */

static void peer_set(struct mrc_worker *w, const struct mrc_cmd *cmd)
{
	mrc_sched_peer_set(w->sched, &cmd->gid, cmd->plane, cmd->has_mac ? cmd->mac : NULL);
	if (mrc_gid_eq(&cmd->gid, &w->peer))
		w->has_mac[cmd->plane] = cmd->has_mac;
}

static void command_run(struct mrc_worker *w, uint64_t now_ns, const struct mrc_cmd *cmd)
{
	switch ((enum mrc_cmd_kind)cmd->kind) {
	case MRC_CMD_PEER:
		peer_set(w, cmd);
		break;
	case MRC_CMD_PLANE:
		mrc_worker_carrier(w, now_ns, cmd->plane, cmd->on);
		break;
	case MRC_CMD_START:
		mrc_load_start(w->loads[cmd->load], now_ns);
		break;
	case MRC_CMD_STOP:
		mrc_load_stop(w->loads[cmd->load]);
		break;
	case MRC_CMD_EXPECT:
		mrc_load_expect(w->loads[cmd->load], cmd->arg);
		break;
	}
	w->load_due_ns = now_ns;
}

static void commands_turn(struct mrc_worker *w, uint64_t now_ns)
{
	struct mrc_cmd cmd;

	while (rte_ring_sc_dequeue_elem(w->commands, &cmd, sizeof(cmd)) == 0)
		command_run(w, now_ns, &cmd);
}

int mrc_worker_command(struct mrc_worker *worker, const struct mrc_cmd *cmd)
{
	struct mrc_cmd copy = *cmd;

	return rte_ring_mp_enqueue_elem(worker->commands, &copy, sizeof(copy)) == 0 ? MRC_OK
										    : MRC_ERR_FULL;
}

/* ---- transmit
 * ------------------------------------------------------------------------------------ */

/* Tops up the ready buffers; they stay untouched until a packet is written to them. */
static void ready_fill(struct mrc_worker *w)
{
	struct rte_mbuf *fresh[MRC_WORKER_BURST];
	uint32_t priv_len = rte_pktmbuf_priv_size(w->pool);

	if (w->ready_tail - w->ready_head > MRC_WORKER_READY - MRC_WORKER_BURST)
		return;
	if (unlikely(rte_mempool_get_bulk(w->pool, (void **)fresh, MRC_WORKER_BURST) != 0)) {
		w->counters.tx_no_buffer++;
		return;
	}
	for (uint32_t i = 0; i < MRC_WORKER_BURST; i++) {
		uint32_t at = w->ready_tail++ % MRC_WORKER_READY;

		w->ready[at] = fresh[i];
		w->data[at] = mrc_frame_prepare(fresh[i], priv_len);
	}
}

static void planes_flush(struct mrc_worker *w, uint64_t now_ns, uint32_t planes)
{
	while (planes) {
		uint32_t p = (uint32_t)__builtin_ctz(planes);

		planes &= planes - 1;
		plane_flush(w, now_ns, p);
	}
}

/* Frames whose payload is in place. */
struct burst {
	const struct mrc_txbuf *bufs;
	struct rte_mbuf *const *frames;
	uint8_t *const *data;
	const uint32_t *sums;
	uint64_t pulled_ns; /* of the first stamp */
};

/* Stamps frames `from` .. `from + n` of a burst, writes their headers, gives them to their ports.
 */
static void frames_send(struct mrc_worker *w, const struct burst *burst, uint32_t from, uint32_t n)
{
	uint64_t now_ns = worker_now(w);
	struct mrc_restamp restamp;
	uint32_t planes = 0;

	mrc_restamp_init(&restamp, now_ns);
	for (uint32_t i = from; i < from + n; i++) {
		const struct mrc_txbuf *buf = &burst->bufs[i];
		struct mrc_worker_plane *plane = &w->planes[buf->plane];
		struct rte_mbuf *m = burst->frames[i];

		mrc_txbuf_seal(buf, burst->data[i], m->data_len, burst->sums[i], w->icrc,
			w->restamp ? &restamp : NULL);
		planes |= 1u << buf->plane;
		if (unlikely(plane->capture != NULL))
			mrc_capture_take(plane->capture, &m, 1);
		mrc_stash_put(&plane->stash, m);
	}
	planes_flush(w, now_ns, planes);
	w->sub_burst = mrc_fresh_size(w->sub_burst, MRC_WORKER_BURST, n,
		worker_now(w) - (w->restamp ? now_ns : burst->pulled_ns));
}

/*
 * One pull: headers into memory of our own, payload into frames, then time stamps and headers into
 * the frames, and out. Nothing is read back from a frame: its lines come from another core.
 */
static uint32_t tx_pull(struct mrc_worker *w, uint64_t now_ns, uint32_t want)
{
	uint32_t head = w->ready_head % MRC_WORKER_READY;
	uint32_t sums[MRC_WORKER_BURST];
	struct burst burst = {.bufs = w->bufs,
		.frames = w->ready + head,
		.data = w->data + head,
		.sums = sums,
		.pulled_ns = now_ns};
	uint32_t n;

	/* The stamps will be renewed: then the turn's time is fresh enough. */
	if (!w->restamp)
		burst.pulled_ns = worker_now(w);
	n = mrc_sched_tx(w->sched, burst.pulled_ns, w->bufs, want);
	w->ready_head += n;
	for (uint32_t i = 0; i < n; i++)
		mrc_frame_set(burst.frames[i],
			mrc_txbuf_gather(&w->bufs[i], w->icrc, burst.data[i], &sums[i]));
	for (uint32_t i = 0; i < n;) {
		uint32_t nb = RTE_MIN(w->sub_burst, n - i);

		frames_send(w, &burst, i, nb);
		i += nb;
	}
	return n;
}

/* Without a second stamp, a pull takes only what leaves before the first one is stale. */
static uint32_t pull_size(const struct mrc_worker *w)
{
	uint32_t nb = w->ready_tail - w->ready_head;
	uint32_t in_row = MRC_WORKER_READY - w->ready_head % MRC_WORKER_READY;
	uint32_t most = w->restamp ? MRC_WORKER_BURST : w->sub_burst;

	nb = RTE_MIN(nb, in_row);
	return RTE_MIN(nb, most);
}

static uint32_t tx_turn(struct mrc_worker *w, uint64_t now_ns)
{
	uint32_t moved = 0;

	for (uint32_t p = 0; p < w->nb_planes; p++)
		if (w->planes[p].stash.nb)
			plane_flush(w, now_ns, p);
	while (moved < TX_BUDGET) {
		uint32_t asked = pull_size(w);
		uint32_t n = tx_pull(w, w->last_ns, asked);

		moved += n;
		ready_fill(w);
		if (n < asked || n == 0)
			break;
	}
	return moved;
}

/* ---- the turn
 * ------------------------------------------------------------------------------------- */

static void events_turn(struct mrc_worker *w)
{
	struct mrc_sched_event event;

	while (mrc_sched_event_poll(w->sched, &event)) {
		switch (event.type) {
		case MRC_EVENT_QP_FATAL:
			w->fatal_qps++;
			break;
		case MRC_EVENT_CQ_OVERRUN:
		case MRC_EVENT_PORT_STATUS:
		case MRC_EVENT_EP_RESULT:
		case MRC_EVENT_PROBE_RESULT:
			break;
		}
	}
}

uint32_t mrc_worker_poll(struct mrc_worker *w)
{
	uint32_t moved = rx_turn(w);
	uint64_t now_ns = worker_now(w);

	if ((w->counters.polls & (PRESSURE_TURNS - 1)) == 0)
		pressure_tell(w, now_ns);
	if (w->nb_workers > 1)
		moved += handover_turn(w, now_ns);
	if (unlikely(!rte_ring_empty(w->commands)))
		commands_turn(w, now_ns);
	if (now_ns >= w->load_due_ns)
		loads_poll(w, now_ns);
	for (uint32_t i = 0; i < EXPIRE_ROUNDS && mrc_sched_next_deadline(w->sched) <= now_ns;
		i++) {
		mrc_sched_expire(w->sched, now_ns);
		w->load_due_ns = now_ns;
	}
	if (w->l2 && now_ns >= w->l2_due_ns)
		l2_turn(w, now_ns);
	moved += tx_turn(w, now_ns);
	if (unlikely(now_ns >= w->publish_ns)) {
		events_turn(w);
		mrc_worker_publish(w);
		w->publish_ns = now_ns + PUBLISH_NS;
	}
	w->counters.polls++;
	w->counters.busy_polls += moved > 0;
	return moved;
}

/* ---- what others see
 * ------------------------------------------------------------------------------- */

void mrc_worker_publish(struct mrc_worker *w)
{
	uint32_t seq = atomic_load_explicit(&w->view_seq, memory_order_relaxed);
	struct mrc_worker_view *view = &w->view;

	atomic_store_explicit(&w->view_seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	view->engine = *mrc_sched_counters_get(w->sched);
	view->host = w->counters;
	view->refused = 0;
	view->nb_planes = w->nb_planes;
	for (uint32_t p = 0; p < w->nb_planes; p++) {
		view->refused += w->planes[p].stash.refused;
		view->neighbour[p] = w->has_mac[p];
	}
	view->nb_loads = w->nb_loads;
	for (uint32_t i = 0; i < w->nb_loads; i++) {
		mrc_load_result(w->loads[i], &view->loads[i].result);
		view->loads[i].done = mrc_load_done(w->loads[i]);
	}
	view->fatal_qps = w->fatal_qps;
	atomic_store_explicit(&w->view_seq, seq + 2, memory_order_release);
}

void mrc_worker_view_read(struct mrc_worker *worker, struct mrc_worker_view *view_out)
{
	uint32_t before, after;

	do {
		before = atomic_load_explicit(&worker->view_seq, memory_order_acquire);
		*view_out = worker->view;
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&worker->view_seq, memory_order_relaxed);
	} while (before != after || (before & 1));
}

void mrc_worker_drain(struct mrc_worker *worker)
{
	void *frame;

	for (uint32_t p = 0; p < worker->nb_planes; p++)
		mrc_stash_drop(&worker->planes[p].stash);
	while (worker->ready_head != worker->ready_tail)
		rte_mempool_put(
			worker->pool, worker->ready[worker->ready_head++ % MRC_WORKER_READY]);
	while (rte_ring_sc_dequeue(worker->handover, &frame) == 0)
		rte_pktmbuf_free(frame);
}
