/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_lane.h"

#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "grace.h"

enum {
	STALL_US = 100,
	CANARY_BATCH = 64,
};

static const char *const mode_names[MRC_NB_PERF_MODES] = {
	"raw-io", "raw-copy", "raw-icrc", "raw-ping", "mrc"};

const char *mrc_perf_mode_name(enum mrc_perf_mode mode)
{
	return (unsigned)mode < MRC_NB_PERF_MODES ? mode_names[mode] : "?";
}

bool mrc_perf_mode_parse(const char *text, enum mrc_perf_mode *mode_out)
{
	for (uint32_t i = 0; i < MRC_NB_PERF_MODES; i++) {
		if (strcmp(text, mode_names[i]) == 0) {
			*mode_out = (enum mrc_perf_mode)i;
			return true;
		}
	}
	return false;
}

/* ---- what one window did */

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t refused_count(const struct mrc_worker *worker)
{
	uint64_t refused = 0;

	for (uint32_t p = 0; p < worker->nb_planes; p++)
		refused += worker->planes[p].stash.refused;
	return refused;
}

/* Counters of the mode since it was created. */
static void counters_read(
	const struct mrc_perf_lane *lane, enum mrc_perf_mode mode, struct mrc_perf_record *rec)
{
	const struct mrc_raw_counters *raw = &lane->raw.counters;
	const struct mrc_sched_counters *mrc;

	if (mode != MRC_PERF_MRC) {
		rec->tx_packets = rec->messages = raw->tx_packets;
		rec->tx_bytes = raw->tx_bytes;
		rec->rx_packets = raw->rx_packets;
		rec->rx_bytes = raw->rx_bytes;
		rec->bad = raw->rx_bad;
		rec->no_buffer = raw->no_buffer;
		rec->refused = raw->refused;
		return;
	}
	mrc = mrc_sched_counters_get(lane->worker->sched);
	rec->tx_packets = mrc->tx_data_packets;
	rec->tx_bytes = mrc->tx_data_bytes;
	rec->rx_packets = mrc->rx_data_packets;
	rec->rx_bytes = mrc->rx_data_bytes;
	rec->retransmits = mrc->retransmits;
	rec->no_buffer = lane->worker->counters.tx_no_buffer;
	rec->refused = refused_count(lane->worker);
	rec->messages = 0;
	for (uint32_t i = 0; i < lane->nb_loads; i++) {
		struct mrc_load_result result;

		mrc_load_result(lane->worker->loads[i], &result);
		rec->messages += lane->sender ? result.tx_messages : result.rx_messages;
	}
}

static const struct mrc_hist *rtt_hist(const struct mrc_perf_lane *lane, enum mrc_perf_mode mode)
{
	struct mrc_load_result result;

	if (!lane->sender)
		return NULL;
	if (mode == MRC_PERF_PING)
		return &lane->raw.rtt;
	if (mode != MRC_PERF_MRC || lane->nb_loads == 0)
		return NULL;
	mrc_load_result(lane->worker->loads[0], &result);
	return result.latency;
}

static void window_begin(struct mrc_perf_lane *lane, uint32_t index, uint64_t tsc)
{
	enum mrc_perf_mode mode = mrc_window_mode(&lane->plan, index);
	const struct mrc_hist *rtt = rtt_hist(lane, mode);

	lane->at_begin = (struct mrc_perf_record){.ticks = tsc, .cpu_ns = thread_cpu_ns()};
	if (rtt != NULL)
		lane->rtt_begin = *rtt;
	counters_read(lane, mode, &lane->at_begin);
	lane->stall_ticks = 0;
	lane->turns = 0;
	lane->busy_turns = 0;
}

/* Quantiles of what was added since the window began. */
static void rtt_record(struct mrc_perf_lane *lane, enum mrc_perf_mode mode,
	const struct mrc_hist *rtt, struct mrc_perf_record *rec)
{
	double scale = mode == MRC_PERF_PING ? lane->ns_per_tick : 1;
	struct mrc_hist *diff = &lane->rtt_begin;

	for (uint32_t i = 0; i < MRC_HIST_BUCKETS; i++)
		diff->buckets[i] = rtt->buckets[i] - diff->buckets[i];
	diff->count = rtt->count - diff->count;
	diff->max = rtt->max;
	diff->min = rtt->min;
	rec->nb_rtt = diff->count;
	rec->rtt_p50_ns = (uint64_t)((double)mrc_hist_quantile(diff, 0.5) * scale);
	rec->rtt_p99_ns = (uint64_t)((double)mrc_hist_quantile(diff, 0.99) * scale);
}

static void window_end(struct mrc_perf_lane *lane, uint32_t index, uint64_t tsc)
{
	enum mrc_perf_mode mode = mrc_window_mode(&lane->plan, index);
	struct mrc_perf_record *rec = &lane->records[index], *was = &lane->at_begin;
	const struct mrc_hist *rtt = rtt_hist(lane, mode);

	rec->cpu_ns = thread_cpu_ns() - was->cpu_ns;
	rec->ticks = tsc - was->ticks;
	rec->stall_ticks = lane->stall_ticks;
	rec->turns = lane->turns;
	rec->busy_turns = lane->busy_turns;
	counters_read(lane, mode, rec);
	rec->tx_packets -= was->tx_packets;
	rec->tx_bytes -= was->tx_bytes;
	rec->rx_packets -= was->rx_packets;
	rec->rx_bytes -= was->rx_bytes;
	rec->messages -= was->messages;
	rec->retransmits -= was->retransmits;
	rec->bad -= was->bad;
	rec->no_buffer -= was->no_buffer;
	rec->refused -= was->refused;
	if (rtt != NULL)
		rtt_record(lane, mode, rtt, rec);
}

/* ---- canary */

static uint64_t phase_end(const struct mrc_perf_lane *lane, uint32_t index)
{
	return mrc_window_run_begin(&lane->plan, index) - lane->plan.warm;
}

/* Waits for the ball to come; false when the time is up. */
static bool ball_wait(struct mrc_perf_lane *lane, uint32_t mine, uint64_t end)
{
	while ((atomic_load_explicit(&lane->shared->ball, memory_order_acquire) & 1) != mine) {
		if (rte_rdtsc() >= end)
			return false;
		rte_pause();
	}
	return true;
}

/* Ticks of one round trip of a cache line: of the fastest batch, which says where the two CPUs are
 * and not what interrupted them. */
static uint64_t canary_run(struct mrc_perf_lane *lane, uint32_t index)
{
	const uint32_t mine = lane->sender ? 0 : 1;
	uint64_t end = phase_end(lane, index), best = UINT64_MAX, from = 0;

	for (uint32_t i = 0; ball_wait(lane, mine, end); i++) {
		if (i % CANARY_BATCH == 0) {
			uint64_t now = rte_rdtsc();

			if (from != 0 && now - from < best)
				best = now - from;
			from = now;
		}
		atomic_fetch_add_explicit(&lane->shared->ball, 1, memory_order_acq_rel);
	}
	return best == UINT64_MAX ? 0 : best / CANARY_BATCH;
}

/* ---- the turn */

/* A worker that knows of no load answers and completes, but posts nothing. */
static void loads_hold(struct mrc_perf_lane *lane, bool hold)
{
	lane->worker->nb_loads = hold ? 0 : lane->nb_loads;
	lane->worker->load_due_ns = hold ? UINT64_MAX : 0;
}

static void mode_turn(struct mrc_perf_lane *lane, enum mrc_perf_mode mode, bool sending)
{
	uint32_t moved;

	if (mode == MRC_PERF_MRC)
		moved = mrc_worker_poll(lane->worker);
	else
		moved = mrc_raw_lane_poll(&lane->raw, (enum mrc_raw_mode)mode, sending);
	lane->turns++;
	lane->busy_turns += moved > 0;
}

/* A host that is away for longer than a phase misses it: nothing here counts on the one before. */
static void phase_enter(
	struct mrc_perf_lane *lane, enum mrc_window_phase phase, uint32_t index, uint64_t tsc)
{
	bool is_mrc = mrc_window_mode(&lane->plan, index) == MRC_PERF_MRC;
	bool posts = is_mrc && (phase == MRC_WINDOW_WARM || phase == MRC_WINDOW_RUN);

	if (lane->is_open)
		window_end(lane, lane->open_index, tsc);
	lane->is_open = phase == MRC_WINDOW_RUN;
	lane->open_index = index;
	loads_hold(lane, lane->sender && !posts);
	if (phase == MRC_WINDOW_CANARY)
		lane->records[index].canary_ticks = canary_run(lane, index);
	if (phase == MRC_WINDOW_RUN)
		window_begin(lane, index, tsc);
}

static void phase_turn(struct mrc_perf_lane *lane, enum mrc_window_phase phase, uint32_t index)
{
	switch (phase) {
	case MRC_WINDOW_WAIT:
		mode_turn(lane, MRC_PERF_MRC, false);
		break;
	case MRC_WINDOW_DRAIN:
		mode_turn(lane, index > 0 ? mrc_window_mode(&lane->plan, index - 1) : MRC_PERF_MRC,
			false);
		break;
	case MRC_WINDOW_WARM:
	case MRC_WINDOW_RUN:
		mode_turn(lane, mrc_window_mode(&lane->plan, index), true);
		break;
	case MRC_WINDOW_CANARY:
	case MRC_WINDOW_END:
		break;
	}
}

/* A signal to one side ends all of them, so that none measures alone. */
static bool is_stopped(const struct mrc_perf_lane *lane)
{
	if (unlikely(*lane->stop != 0))
		atomic_store_explicit(&lane->shared->stop, 1, memory_order_relaxed);
	return atomic_load_explicit(&lane->shared->stop, memory_order_relaxed) != 0;
}

/* Until both sides are there, the worker resolves its peer. False: they do not come. */
static bool start_wait(struct mrc_perf_lane *lane)
{
	uint64_t start, end = rte_rdtsc() + rte_get_tsc_hz() * MRC_PERF_PEER_SECONDS;

	loads_hold(lane, lane->sender);
	while ((start = atomic_load_explicit(&lane->shared->start_tsc, memory_order_acquire)) ==
		0) {
		if (is_stopped(lane) || rte_rdtsc() >= end)
			return false;
		mrc_grace_turn();
		mrc_worker_poll(lane->worker);
	}
	lane->plan.start = start;
	return true;
}

/* Notes a turn that took long. */
static uint64_t turn_begin(struct mrc_perf_lane *lane)
{
	uint64_t tsc = rte_rdtsc();

	if (unlikely(tsc - lane->last_tsc > lane->stall_limit))
		lane->stall_ticks += tsc - lane->last_tsc;
	lane->last_tsc = tsc;
	return tsc;
}

bool mrc_perf_lane_run(struct mrc_perf_lane *lane)
{
	enum mrc_window_phase phase = MRC_WINDOW_WAIT;
	bool begun, stopped = false;
	uint64_t change = 0;
	uint32_t index = 0;

	lane->nb_loads = lane->worker->nb_loads;
	lane->ns_per_tick = 1e9 / (double)rte_get_tsc_hz();
	lane->stall_limit = rte_get_tsc_hz() / 1000000 * STALL_US;
	mrc_grace_enter();
	begun = start_wait(lane);
	lane->last_tsc = rte_rdtsc();
	while (begun && phase != MRC_WINDOW_END && !(stopped = is_stopped(lane))) {
		uint64_t tsc = turn_begin(lane);

		mrc_grace_turn();
		/* The table is asked when something changes, not in every turn. */
		if (unlikely(tsc >= change)) {
			phase = mrc_window_at(&lane->plan, tsc, &index);
			change = mrc_window_change(&lane->plan, tsc);
			phase_enter(lane, phase, index, tsc);
		}
		phase_turn(lane, phase, index);
	}
	loads_hold(lane, false);
	mrc_raw_lane_drain(&lane->raw);
	mrc_grace_leave();
	return begun && !stopped;
}
