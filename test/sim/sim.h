/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim.h - the simulator: hosts with real engines, a fabric, one clock.
 *
 * Everything happens at instants of virtual time. At each instant: the fabric runs, what arrived is
 * given to the engines, hosts that have something to do (packets, timers, a free port, a flow that
 * begins) act in the order in which that became known. Nothing else has an order, so a run is a
 * function of scenario and seed; `hash` proves it. Where hosts cannot reach each other sooner than
 * a link's delay, many instants are taken together (window.c).
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "mrc_fabric.h"
#include "mrc_load.h"
#include "mrc_pattern.h"
#include "mrc_sched.h"
#include "scenario.h"

enum {
	SIM_MAX_WORKERS = 4,
	SIM_HDR_ROOM = 256, /* bytes of a block whose payload is only virtual */
};

#define SIM_NEVER   UINT64_MAX
#define SIM_NO_LIFE UINT32_MAX

/* A frame's memory. */
struct sim_block {
	struct sim_block *next;
	uint32_t life; /* of the QP that it was sent to (churn.c) */
	uint32_t unused;
	uint8_t bytes[];
};

struct sim_pool {
	struct sim_block *free;
	uint8_t *mem;
	uint64_t mem_len;
	uint32_t room; /* bytes of a block */
	uint64_t used, max_used, nb;
};

struct sim_flow {
	struct mrc_pattern_flow f;
	uint64_t start_ns, end_ns; /* SIM_NEVER: not yet */
	uint64_t arrived_ns;       /* all bytes are at the destination */
	uint64_t upto;             /* bytes of its connection up to its end */
	uint32_t conn, next_on_conn;
	uint32_t next_dep, first_dep; /* flows that wait for this one; UINT32_MAX ends */
	bool failed;
	bool counted; /* in its round, as over */
};

/* A round of flows, with load.barrier. */
struct sim_round {
	uint64_t start_ns, end_ns;
};

/* One source, one destination, one kind of traffic. */
struct sim_conn {
	uint32_t src, dst;
	enum mrc_pattern_class cls;
	struct mrc_load *tx, *rx;
	struct mrc_ev_set *sets[2]; /* of the source, of the destination */
	uint32_t own_sets;          /* bits 0 and 1: not borrowed from another connection */
	uint64_t start_ns;          /* steady: when its load begins */
	bool started;
	uint64_t bytes;        /* of all its flows so far */
	uint32_t next_arrival; /* its first flow that has not arrived whole */
	uint32_t last_flow;
	uint64_t seen_bytes; /* of several queue pairs: when arrivals were looked for */
	uint32_t next_of[2]; /* list of the source's, of the destination's connections */
	uint8_t *region;
	uint64_t region_len;
	uint64_t
		*lost_before; /* churn: packets that QPs lost in lives that have ended; else NULL */
	uint64_t warm_bytes, steady_bytes; /* steady: received by the end of the warm-up, and from
					      there to the end */
};

struct sim_host {
	struct sim *sim;
	uint32_t index;
	struct mrc_sched *sched[SIM_MAX_WORKERS];
	struct mrc_env env;
	uint64_t rng[4];
	uint32_t conns[2]; /* heads: as source, as destination */
	uint32_t nb_conns;
	uint32_t heap_at; /* place in the heap of wake-ups, where it always is */
	uint64_t port_free_ns[MRC_MAX_PLANES];
	uint32_t up; /* planes with carrier */
	uint32_t turn;
	bool dirty;       /* has something to do at this instant */
	bool listed;      /* is in sim->dirty */
	uint64_t hash;    /* of its own events, while hosts are run apart */
	uint64_t wake_ns; /* wants to act then; the heap also knows when its ports go on */
	uint64_t paused_until;
	uint64_t last_bytes;    /* received by the last sample */
	struct sim_ring *rings; /* packets on their way to each worker; NULL: they do not wait */
};

/* A host's place in time; SIM_NEVER when it waits for others only. */
struct sim_wake {
	uint64_t at_ns;
	uint32_t host;
};

struct sim_stats {
	uint64_t steps, events, engine_rx, engine_tx, handovers, checks;
	uint64_t virtual_corrupt; /* dropped because a virtual byte was damaged */
	uint64_t lost_packets;
	uint64_t handover_waited, handover_drops, handover_most;
};

struct sim_opts {
	const char *pcap, *trace;
	struct mrc_fabric_where pcap_where;
	double progress_s;  /* wall time from one report to the next; 0: none */
	bool progress_line; /* a terminal: each takes the place of the one before */
};

struct sim_series; /* result.c */
struct sim_ring;   /* handover.c */
struct sim_churn;  /* churn.c */
struct sim_storm;  /* storm.c */
struct sim_record; /* capture.c */
struct rc;         /* rc.c */
struct repair;     /* repair.c */
struct waits;      /* waits.c */

struct sim {
	struct scenario *sc;
	struct sim_opts opts;
	struct mrc_env env; /* memory and randomness of what belongs to no host */
	uint64_t rng[4];
	struct mrc_fabric *fabric;
	struct sim_host *hosts;
	uint32_t nb_hosts;
	struct sim_conn *conns;
	uint32_t nb_conns, cap_conns;
	struct sim_flow *flows;
	uint32_t nb_flows, next_flow; /* flows without a dependency come in order of time */
	uint32_t flows_begun, flows_done, flows_failed;
	uint64_t next_start_ns; /* steady: of the connections that have not begun */
	struct sim_pool pool;
	uint8_t *source;
	uint64_t source_len;
	uint8_t *scratch; /* a frame with payload of zeroes, for virtual ones */
	struct mrc_nscc_cfg cc;
	struct sim_wake *heap;
	uint32_t heap_len;
	uint32_t *dirty;
	uint32_t nb_dirty;
	/* window.c */
	bool apart;               /* hosts are run a lookahead behind the fabric */
	uint64_t lookahead_ns;    /* 1: not behind */
	uint64_t until_ns;        /* no window goes beyond */
	struct sim_host *running; /* whose window is being run */
	/* flows begun by the arrival of others, to be started later */
	uint32_t *waiting;
	uint32_t nb_waiting;
	/* load.barrier: the round that goes on, and how many of its flows are not over */
	uint32_t round, round_left;
	uint64_t round_ns;
	struct sim_round *rounds;
	uint32_t nb_rounds;
	uint64_t now_ns, end_ns;
	uint64_t memory_early, memory_late; /* resident bytes: a fifth done, all done */
	uint64_t *bins;                     /* payload received by the end of each 10 ms */
	uint32_t nb_bins, cap_bins;
	uint64_t next_bin_ns;
	uint64_t hash;
	struct sim_stats stats;
	struct sim_series *series;
	uint64_t next_sample_ns;
	uint64_t next_mark_ns; /* steady: end of the warm-up, then of the measurement */
	struct rc *rc;
	struct sim_churn *churn;
	struct repair *repair; /* NULL: not asked for */
	struct waits *waits;   /* the same */
	struct sim_storm *storm;
	FILE *pcap, *trace;
	bool trace_json;
	uint64_t nb_traced;                       /* objects written */
	double progress_first_s, progress_last_s; /* of the machine's clock; 0: not yet */
	bool begun;                               /* everything was created */
	struct sim_record *records;               /* capture.c: not written yet */
	uint32_t nb_records, cap_records;
	uint8_t *record_bytes;
	size_t records_len, cap_len;
	double wall_s, cpu_s; /* of the run, without creating hosts and connections */
	char failure[512];
};

static inline uint64_t sim_min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- sim.c */
struct sim *sim_create(struct scenario *sc, const struct sim_opts *opts);
/* Runs to the end; false when an invariant broke or the limit was reached (sim->failure). */
bool sim_run(struct sim *sim);
void sim_destroy(struct sim *sim);
__attribute__((format(printf, 2, 3))) void sim_fail(struct sim *sim, const char *fmt, ...);
void sim_mark(struct sim *sim, struct sim_host *h); /* has something to do at this instant */
void sim_wake_at(struct sim *sim, struct sim_host *h, uint64_t at_ns);
void sim_hash(struct sim *sim, uint64_t value);
/* For window.c: the host's place in the heap; a list of hosts to run; what a step consists of. */
void sim_heap_set(struct sim *sim, struct sim_host *h, uint64_t at_ns);
void sim_list(struct sim *sim, struct sim_host *h);
void sim_begin_instant(struct sim *sim);
void sim_end_instant(struct sim *sim);
uint32_t sim_port_read(struct sim *sim, struct sim_host *h, uint32_t plane);
void sim_act(struct sim *sim, struct sim_host *h);
uint64_t sim_barrier_ns(struct sim *sim);

/* ---- window.c */
/* Can this scenario's hosts be run apart? Known before the fabric is created. */
bool sim_window_may(const struct sim *sim);
/* Last instant of the window that begins at `from_ns`. */
uint64_t sim_window_end(struct sim *sim, uint64_t from_ns);
void sim_window(struct sim *sim, uint64_t end_ns);
/* When the last flow ended. */
uint64_t sim_window_last_ns(const struct sim *sim);

/* ---- memory.c */
void sim_env_init(struct mrc_env *env, void *rng_ctx, uint64_t (*random64)(void *ctx));
void sim_seed(uint64_t rng[4], uint64_t seed);
uint64_t sim_random(uint64_t rng[4]);
/* Both end the program when there is no memory; the first one's is zeroed. */
void *sim_alloc(size_t size);
void *sim_realloc(void *mem, size_t size);
void *sim_guarded_alloc(uint64_t len);
void sim_guarded_free(void *mem);
bool sim_guarded_ok(const void *mem, uint64_t len);
uint64_t sim_memory_resident(void); /* bytes */
/* After the last free of an env: gives its memory back. */
void sim_arena_done(void);
/* len bytes of address space over a few pages used again and again: reads and writes stay in the
 * cache. */
void *sim_alias_map(uint64_t len);
void sim_alias_unmap(void *mem, uint64_t len);
void sim_pool_init(struct sim_pool *pool, uint32_t room, uint64_t nb);
void sim_pool_done(struct sim_pool *pool);
static inline struct sim_block *sim_block_get(struct sim_pool *pool)
{
	struct sim_block *b = pool->free;

	if (b == NULL)
		return NULL;
	pool->free = b->next;
	b->life = SIM_NO_LIFE;
	if (b->next != NULL) {
		__builtin_prefetch(b->next, 1);
		__builtin_prefetch(b->next->bytes + 64, 1);
	}
	if (++pool->used > pool->max_used)
		pool->max_used = pool->used;
	return b;
}
static inline void sim_block_put(struct sim_pool *pool, struct sim_block *b)
{
	b->next = pool->free;
	pool->free = b;
	pool->used--;
}

/* ---- net.c: fabric and paths out of the scenario */
void sim_net_create(struct sim *sim);
struct mrc_gid sim_gid(const struct sim *sim, uint32_t host);
uint32_t sim_gid_host(const struct sim *sim, const struct mrc_gid *gid);
struct mrc_ev_set *sim_ev_create(struct sim *sim, uint32_t src, uint32_t dst, bool single);

/* ---- host.c */
void sim_hosts_create(struct sim *sim);
void sim_host_rx(struct sim_host *h, uint32_t plane, const struct mrc_fabric_pkt *pkt);
void sim_host_act(struct sim_host *h);
/* The frame with its virtual payload, as zeroes, until the next call. */
void sim_frame_view(struct sim *sim, const struct mrc_fabric_pkt *pkt, struct mrc_rxbuf *buf);
void sim_host_carrier(struct sim_host *h, uint32_t plane, bool up);

/* ---- flows.c */
void sim_flows_create(struct sim *sim); /* before the hosts: counts connections */
void sim_conns_create(struct sim *sim); /* after them: loads, connected */
void sim_flows_due(struct sim *sim);
uint64_t sim_flows_next(const struct sim *sim);
/* After the host acted: finished flows, arrivals, what begins because of them. */
void sim_flows_collect(struct sim_host *h);
void sim_flow_arrived(struct sim *sim, uint32_t flow);
void sim_flow_ended(struct sim *sim, uint32_t flow, uint64_t end_ns, bool failed);
bool sim_flows_done(const struct sim *sim);
uint32_t sim_conn_qps(const struct sim *sim, const struct sim_conn *c);
/* The engine that has the source's QPs. */
const struct mrc_sched *sim_conn_sched(const struct sim *sim, const struct sim_conn *c);

/* ---- handover.c */
void sim_handover_create(struct sim_host *h);
void sim_handover_free(struct sim_host *h);
/* Takes the packet on its way to `worker`; false: it need not wait. */
bool sim_handover_put(
	struct sim_host *h, uint32_t worker, uint32_t plane, const struct mrc_fabric_pkt *pkt);
/* Next packet that has reached `worker`; false when there is none. */
bool sim_handover_get(
	struct sim_host *h, uint32_t worker, uint32_t *plane_out, struct mrc_fabric_pkt *pkt_out);
uint64_t sim_handover_next(const struct sim_host *h);
uint64_t sim_handover_held(const struct sim_host *h);

/* ---- churn.c */
void sim_churn_create(struct sim *sim);
void sim_churn_free(struct sim *sim);
uint64_t sim_churn_next(const struct sim *sim);
void sim_churn_due(struct sim *sim);
/* What becomes of a frame: sent, copied by the fabric, lost, or shown to an engine. */
void sim_churn_sent(struct sim *sim, uint32_t host, const struct mrc_fabric_pkt *frame);
void sim_churn_copied(struct sim *sim, struct sim_block *copy, const struct sim_block *block);
void sim_churn_lost(struct sim *sim, const struct sim_block *block);
void sim_churn_judge(struct sim_host *h, const struct sim_block *block, const struct mrc_rxbuf *buf,
	const struct mrc_rx_verdict *verdict);
void sim_churn_check(struct sim *sim);
json_t *sim_churn_json(const struct sim *sim);

/* ---- storm.c */
void sim_storm_create(struct sim *sim);
void sim_storm_free(struct sim *sim);
uint64_t sim_storm_next(const struct sim *sim);
void sim_storm_due(struct sim *sim);
json_t *sim_storm_json(const struct sim *sim);

/* ---- check.c */
void sim_check_host(struct sim_host *h);
void sim_check_end(struct sim *sim);

/* ---- result.c */
enum {
	SIM_BIN_NS = 10000000,
};
void sim_bin(struct sim *sim);
void sim_sample(struct sim *sim);
void sim_mark_steady(struct sim *sim);
json_t *sim_result(struct sim *sim, bool ok);
/* Quantiles, mean and fairness of a sample, which is sorted. */
json_t *sim_spread(double *values, uint32_t n);
void sim_series_free(struct sim *sim);
/* The number a path like "flows.fct_us.max" names; false when there is none. */
bool sim_result_value(const json_t *result, const char *path, double *value_out);

/* ---- capture.c: pcap and trace files */
int sim_capture_open(struct sim *sim, struct mrc_ctl_error *error_out);
/* Writes what is left. False, with a message printed, when a file did not take everything. */
bool sim_capture_close(struct sim *sim);
/* Writes what was captured since the last call in order of time. */
void sim_capture_flush(struct sim *sim);
void sim_tap(void *ctx, uint64_t now_ns, uint32_t link, const struct mrc_fabric_pkt *pkt);
void sim_trace(
	void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b, uint64_t c);

/* ---- repair.c: how long lost packets are missing (run.repair) */
void sim_repair_create(struct sim *sim);
void sim_repair_destroy(struct sim *sim);
void sim_repair_left(struct sim_host *h, const struct mrc_fabric_pkt *pkt);
void sim_repair_came(struct sim_host *h, const struct mrc_fabric_pkt *pkt);
json_t *sim_repair_result(struct sim *sim);

/* ---- waits.c: what queue pairs wait for (run.waits) */
void sim_waits_create(struct sim *sim);
void sim_waits_sample(struct sim *sim);
json_t *sim_waits_result(const struct sim *sim);

/* ---- progress.c */
void sim_progress(struct sim *sim);
void sim_progress_end(const struct sim *sim);

/* ---- rc.c: the go-back-N baseline */
void rc_create(struct sim *sim);
void rc_destroy(struct sim *sim);
void rc_flow_begin(struct sim *sim, uint32_t flow);
void rc_rx(struct sim_host *h, uint32_t plane, const struct mrc_fabric_pkt *pkt);
/* Sends what may be sent; returns when the host wants to act again. */
uint64_t rc_act(struct sim_host *h);
json_t *rc_result(const struct sim *sim);
uint64_t rc_rx_bytes(const struct sim_host *h);

#endif
