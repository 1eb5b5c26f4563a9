/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.h - two engines and a bad wire between them, in virtual time: the microscope of the engine's
 * tests.
 *
 * Side A and side B are complete endpoints (requester and responder), each of 1..4 workers with a
 * handover queue between them, joined by up to 16 planes. Everything that happens is an event in
 * one heap ordered by (time, sequence); everything random comes from one seed; so a run is a
 * function of its configuration and prints, when a check fails, the command that repeats it.
 *
 * Frames are real bytes, each in a heap block of exactly its size, so that a sanitizer sees every
 * read past a frame. Memory regions lie between guard zones and hold patterns that depend on the
 * position. A history checker judges the run: see pair_check.c.
 *
 *     post ──► A.engine ──tx──► faults ──► delay ──► inbox of a B worker ──rx──► B.engine ──► cq
 *                 ▲                                                                  │
 *                 └───────────── inbox ◄── delay ◄── faults ◄──────────tx────────────┘
 */
#ifndef PAIR_H
#define PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_sched.h"
#include "test_env.h"

enum {
	PAIR_A = 0,
	PAIR_B = 1,
	PAIR_MAX_WORKERS = 4,
	PAIR_MAX_FAULTS = 16,
	PAIR_GUARD = 4096,   /* bytes of guard zone on each side of a region */
	PAIR_RECORDED = 256, /* packets per direction kept for replay */
};

#define PAIR_US 1000ull
#define PAIR_MS 1000000ull
#define PAIR_S  1000000000ull

/* ---- faults of the wire ---- */

enum pair_dir {
	PAIR_BOTH,
	PAIR_A2B,
	PAIR_B2A,
};

/* Kinds of packets, for struct pair_fault.kinds. */
enum pair_kind {
	PAIR_DATA = 1,
	PAIR_SACK = 2,
	PAIR_NACK = 4,
	PAIR_ACK = 8,
	PAIR_PROBE = 16,
	PAIR_EP = 32,
	PAIR_ANSWERS = PAIR_SACK | PAIR_NACK | PAIR_ACK,
};

enum pair_rtx {
	PAIR_RTX_ANY,
	PAIR_RTX_FIRST, /* first transmissions only */
	PAIR_RTX_AGAIN, /* retransmissions only */
};

enum pair_act {
	PAIR_DROP,
	PAIR_DUP,   /* arg further copies, each late by delay_ns + 0..jitter_ns */
	PAIR_DELAY, /* late by delay_ns + 0..jitter_ns: reorders */
	PAIR_FLIP,  /* bit `bit` of byte `arg` of the frame; arg >= length: a random bit */
	PAIR_CUT,   /* frame cut to arg bytes; arg 0: random length */
	PAIR_PAD,   /* arg bytes appended */
	PAIR_TRIM,  /* as a switch trims: arg bytes kept from UDP on, DSCP of class cls */
	PAIR_MARK,  /* ECN CE */
};

/* One rule. Zero members mean "any" or "always". Rules are tried in order; DROP ends. */
struct pair_fault {
	enum pair_act act;
	enum pair_dir dir;
	uint32_t kinds;  /* mask of enum pair_kind */
	uint32_t planes; /* mask of planes */
	enum pair_rtx rtx;
	uint32_t min_len; /* frames of at least this length */
	bool last_only;   /* data: opcodes that end a message */
	bool has_ev, has_psn;
	uint32_t ev;
	uint32_t psn, nb_psn; /* PSNs psn .. psn+nb_psn-1 (nb_psn 0: one) */
	uint64_t from_ns, to_ns;
	uint32_t skip;     /* matching packets that pass first */
	uint32_t count;    /* fires at most so often */
	uint32_t every;    /* fires for each every-th match */
	uint32_t ppm;      /* fires with this probability, parts per million */
	uint32_t burst;    /* once it fires it goes on for burst matches in all ... */
	uint64_t burst_ns; /* ... within this time, 0: however long that takes */
	uint64_t delay_ns, jitter_ns;
	uint32_t arg, bit;
	uint8_t cls;
	/* book of the rule */
	uint32_t seen, fired, burst_left;
	uint64_t burst_end;
};

/* ---- set-up ---- */

struct pair_cfg {
	uint64_t seed;
	const char *repro; /* command line printed when a check fails; NULL: the seed alone */
	uint32_t nb_planes, nb_evs, nb_qps;
	uint32_t nb_workers[2];
	bool v6, vlan;
	uint32_t pmtu;
	uint8_t mpr;
	uint16_t max_wimm;
	bool dynamic_mpr, trim_nack, per_packet_timers, timestamps, sig_all;
	uint8_t timeout, linear_cnt, exp_cnt;
	bool random_psn; /* else psn[side] is the first PSN that side sends */
	uint32_t psn[2]; /* first PSN sent by each side */
	uint32_t sq_depth, rq_depth, cq_depth;
	uint32_t mem_len;    /* bytes of each source and each target region (per QP and side) */
	uint64_t delay_ns;   /* one way, plane 0 */
	uint64_t skew_ns;    /* more for each further plane */
	uint64_t jitter_ns;  /* 0..jitter_ns at random on each packet */
	uint64_t pkt_ns;     /* a host emits one packet in this time */
	uint32_t pkt_len;    /* ... and a shorter frame in its share of it; 0: any in the same */
	uint32_t tx_burst;   /* packets per pull */
	uint64_t restamp_ns; /* a frame is stamped anew so long after the pull; 0: never */
	uint64_t handover_ns;
	uint32_t handover_len; /* packets the handover queue holds */
	uint64_t start_ns;     /* virtual time at which the run begins */
	uint32_t check_every;  /* invariants after each n-th event; 0 = never */
	bool auto_recv;        /* keep the receive queues full */
	bool allow_error;      /* completions may fail, QPs may go to ERR */
	bool no_connect;       /* leave the QPs in RESET */
	const struct mrc_nscc_cfg *cc;
	const struct mrc_proto *proto; /* NULL: defaults */
	void (*tweak)(struct mrc_sched_cfg *cfg, int side);
	void (*attr_tweak)(struct mrc_sched_qp_attr *attr, int side);
	void (*ev_tweak)(struct mrc_ev_cfg *cfg);
	void (*trace)(void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b,
		uint64_t c);
};

/* Two planes' worth of sensible values: 4 planes, 1 QP, MTU 1024, MPR 8, 5 us one way. */
void pair_cfg_default(struct pair_cfg *cfg_out);

/* ---- the objects, open to the tests ---- */

/* A registered buffer between guard zones. */
struct pair_region {
	uint8_t *block; /* guard, data, guard */
	uint8_t *data;
	uint32_t len;
	uint64_t head, tail; /* ring of ranges in use: free-running byte counters */
	bool tainted;        /* a failed write may have left anything in it */
	uint64_t salt;       /* of the pattern that unused bytes hold */
	struct mrc_sched_mr mr;
};

/* One posted work request. */
struct pair_op {
	uint64_t wr_id;
	uint32_t len;
	uint32_t src_off, dst_off;
	uint64_t src_end, dst_end; /* region counters behind this op's ranges */
	uint32_t nb_sge;
	struct mrc_sched_sge sges[MRC_SCHED_MAX_SGE];
	uint8_t imm[4];
	bool has_imm, signaled, solicited;
	bool placed;    /* the peer's placed hook named it */
	bool delivered; /* immediate seen at the peer */
	bool seen;      /* memory checked at the peer */
	bool done;      /* completed, or passed by a later completion */
	uint8_t status; /* enum mrc_wc_status, with done */
	uint64_t posted_ns, done_ns;
};

/* One end of a queue pair. */
struct pair_qp {
	struct pair *pair;
	struct pair_host *host;
	struct pair_qp *peer;
	struct mrc_sched_qp *qp;
	struct mrc_sched_cq *send_cq, *recv_cq;
	struct mrc_sched_qp_attr attr; /* as used to connect */
	struct pair_region src, dst;
	struct pair_op *ops;
	uint32_t nb_ops, cap_ops;
	uint32_t next_done;   /* oldest op without an answer */
	uint32_t next_placed; /* oldest op of ours that the peer has not placed */
	uint32_t next_imm;    /* oldest op of ours whose immediate may come next */
	uint64_t recv_posted, recv_done;
	uint64_t nb_success, nb_error, nb_imm;
	/* what the wire saw of this end as requester */
	uint32_t wire_next;              /* next new PSN */
	uint32_t wire_cack;              /* highest cumulative acknowledgement that reached it */
	uint32_t wire_mpr;               /* window in PSNs */
	uint32_t wire_units;             /* highest rcvd_bytes: an older SACK grants nothing */
	uint64_t wire_first, wire_again; /* data packets sent, first time and again */
	uint32_t wire_resets;            /* lives of this QP */
	uint32_t wire_end;               /* PSN behind everything posted */
	/* automatic load */
	uint32_t load_left, load_depth, load_min, load_max, load_imm_pct, load_unsig_pct;
	bool relaxed; /* work behind the checker's back: `placed` is not judged */
	bool blind;   /* forged answers: success is not compared with memory */
};

struct pair_pkt {
	struct pair_pkt *next;
	uint8_t *data; /* exactly len bytes */
	uint32_t len;
	uint8_t plane, side; /* side: destination */
};

/* One worker of one side. */
struct pair_host {
	struct pair *pair;
	int side;
	uint32_t worker, pd;
	struct mrc_sched *sched;
	struct test_env te;
	struct mrc_ev_set *set;
	struct pair_pkt *in_head, *in_tail;
	uint32_t in_len, handover_in;
	bool poll_due;
	uint64_t poll_at, free_at, timer_at, frozen_until;
	uint64_t clock_off; /* this host's clock is ahead of virtual time by so much */
	uint32_t busy;      /* planes said to be BUSY */
	uint64_t drops[MRC_NB_DROPS];
	uint64_t tx_packets, rx_packets, tx_bytes;
};

struct pair_event; /* private */

struct pair {
	struct pair_cfg cfg;
	struct mrc_proto proto;
	struct test_env te; /* randomness of the wire */
	uint64_t now;
	uint64_t hash; /* over everything that happened */
	uint64_t nb_events, same_time;
	struct pair_event *heap;
	uint32_t heap_len, heap_cap;
	uint64_t seq;
	struct pair_host hosts[2][PAIR_MAX_WORKERS];
	struct pair_qp *q[2]; /* nb_qps each */
	struct pair_fault faults[PAIR_MAX_FAULTS];
	uint32_t nb_faults;
	uint32_t down[2];  /* planes without carrier, per side */
	uint32_t busy_ppm; /* a poll makes a random plane BUSY for busy_ns */
	uint64_t busy_ns;
	uint32_t norings_ppm;                        /* a poll has no descriptor at all */
	struct pair_pkt *recorded[2][PAIR_RECORDED]; /* by destination side */
	uint32_t nb_recorded[2];
	bool record;
	bool hold_cq;                                               /* nobody fetches completions */
	uint64_t wire_packets[2], wire_dropped[2], wire_kind[2][6]; /* by sending side */
	uint64_t events[2][5]; /* by side and enum mrc_sched_event_type */
	struct mrc_sched_event last_event[2];
	uint64_t bytes_checked;
	/* called for each packet that a host emits, before the faults; may be NULL. False: drop it.
	 */
	bool (*tap)(struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame,
		uint32_t len);
	void *tap_ctx;
	/* Further delay of a packet, by the path it takes; may be NULL. */
	uint64_t (*path_ns)(struct pair *p, int from, const struct mrc_pkt *pkt, uint32_t plane);
	bool tolerate; /* failed checks are noted in `failed` and do not end the run */
	uint32_t failed;
	char failure[256];
};

struct pair *pair_create(const struct pair_cfg *cfg);
/* Checks guard zones and memory, that the engines gave everything back, and frees. */
void pair_destroy(struct pair *p);

/* Brings both ends of QP pair i from RESET to RTS; psn_a, psn_b: first PSNs sent. */
void pair_connect(struct pair *p, uint32_t i, uint32_t psn_a, uint32_t psn_b);
/* Both ends to RESET (dropping work) and up again with other first PSNs. */
void pair_reconnect(struct pair *p, uint32_t i, uint32_t psn_a, uint32_t psn_b);
/* Destroys and creates the engine object of one end; it is left in RESET. */
void pair_recreate(struct pair *p, int side, uint32_t i);

/* ---- work ---- */

struct pair_wr {
	uint32_t len;
	uint32_t nb_sge; /* 0: one, or none for an empty message */
	bool imm, unsignaled, solicited;
	bool has_imm_data;
	uint8_t imm_data[4]; /* else derived from the number of the work request */
};

/* Posts; the engine must accept. Returns the op's index. */
uint32_t pair_post(struct pair *p, int side, uint32_t i, const struct pair_wr *wr);
/* As pair_post, but returns the engine's error and leaves no trace when it refuses. */
int pair_post_try(struct pair *p, int side, uint32_t i, const struct pair_wr *wr);
/* Room in the regions for a message of this size? */
bool pair_room(const struct pair *p, int side, uint32_t i, uint32_t len);
void pair_post_recv(struct pair *p, int side, uint32_t i);

/* Keeps depth messages of min..max bytes posted until count are done. */
struct pair_load {
	uint32_t count, depth, min_len, max_len;
	uint32_t imm_pct, unsignaled_pct;
};
void pair_load(struct pair *p, int side, uint32_t i, const struct pair_load *load);

/* ---- time ---- */

bool pair_step(struct pair *p); /* one event; false when there is none */
void pair_run(struct pair *p, uint64_t for_ns);
/* Until idle or for_ns passed; returns whether idle. */
bool pair_run_idle(struct pair *p, uint64_t for_ns);
/* Faults off, all sides awake and all planes up; then everything must finish within budget_ns. */
void pair_finish(struct pair *p, uint64_t budget_ns);
/* The same with the faults still on. */
void pair_finish_faulty(struct pair *p, uint64_t budget_ns);
/* Nothing posted is unanswered. */
bool pair_idle(const struct pair *p);
/* fn is called at virtual time now + in_ns. */
void pair_at(struct pair *p, uint64_t in_ns, void (*fn)(struct pair *p, void *arg), void *arg);
/* Time on a host's clock. */
uint64_t pair_host_now_of(const struct pair_host *h);
/* A host that has something to do polls. */
void pair_kick(struct pair_host *h);

/* ---- faults ---- */

struct pair_fault *pair_fault_add(struct pair *p, const struct pair_fault *fault);
void pair_faults_clear(struct pair *p);
void pair_freeze(struct pair *p, int side, uint64_t for_ns);
void pair_clock_jump(struct pair *p, int side, uint64_t by_ns);
/* Carrier of a plane at one side. */
void pair_plane(struct pair *p, int side, uint32_t plane, bool up);

/* ---- packets by hand ---- */

/* Hands a frame to a side, in_ns from now. Copied. */
void pair_inject(
	struct pair *p, int to, uint32_t plane, const uint8_t *frame, uint32_t len, uint64_t in_ns);
/* Gives a frame straight to the engine that owns QP i of a side and returns the verdict. */
struct mrc_rx_verdict pair_rx_now(
	struct pair *p, int to, uint32_t i, const uint8_t *frame, uint32_t len);
/* For frames that a test gives to the engine itself: what they acknowledge counts. */
void pair_wire_saw(struct pair *p, int to, const uint8_t *frame, uint32_t len);
/*
 * Fills a view as the peer of `to` would send it to QP i: addresses, port, QPN, class. The caller
 * sets opcode-specific members afterwards.
 */
void pair_pkt_init(struct pair *p, int to, uint32_t i, uint8_t opcode, struct mrc_pkt *pkt_out);
/* A write of len bytes to offset `off` of the target region of (to, i), carrying PSN psn. */
void pair_pkt_write(struct pair *p, int to, uint32_t i, uint8_t opcode, uint32_t psn, uint32_t off,
	uint32_t len, struct mrc_pkt *pkt_out);
/* Encodes with payload bytes of `fill`; returns a heap block of exactly *len_out bytes. */
uint8_t *pair_encode(struct pair *p, const struct mrc_pkt *pkt, uint8_t fill, uint32_t *len_out);
/* Encodes and gives it to the engine at once. */
struct mrc_rx_verdict pair_rx_pkt(struct pair *p, int to, uint32_t i, const struct mrc_pkt *pkt);

/* ---- judging ---- */

struct mrc_sched_qp_info pair_query(struct pair *p, int side, uint32_t i);
/* A counter of a side, summed over its workers; off = offsetof(struct mrc_sched_counters, x). */
uint64_t pair_counter(struct pair *p, int side, size_t off);
#define PAIR_COUNTER(p, side, member)                                                              \
	pair_counter((p), (side), offsetof(struct mrc_sched_counters, member))
uint64_t pair_drops(struct pair *p, int side, enum mrc_drop reason);
/* Checks invariants of every QP now. */
void pair_check(struct pair *p);
/* First byte of an op's target that differs, or -1. */
int64_t pair_op_diff(const struct pair_qp *q, const struct pair_op *op);
/* Guard zones and the bytes no op uses. */
void pair_check_memory(struct pair *p);

__attribute__((format(printf, 2, 3))) void pair_fail(struct pair *p, const char *fmt, ...);
#define PAIR_ASSERT(p, cond)                                                                       \
	do {                                                                                       \
		if (!(cond))                                                                       \
			pair_fail((p), "%s:%d: %s", __FILE__, __LINE__, #cond);                    \
	} while (0)
#define PAIR_EQ(p, a, b)                                                                           \
	do {                                                                                       \
		uint64_t va_ = (uint64_t)(a), vb_ = (uint64_t)(b);                                 \
		if (va_ != vb_)                                                                    \
			pair_fail((p), "%s:%d: %s is %llu, expected %s = %llu", __FILE__,          \
				__LINE__, #a, (unsigned long long)va_, #b,                         \
				(unsigned long long)vb_);                                          \
	} while (0)

/* What a failed check calls after printing; default abort(). Tests under cmocka set theirs. */
extern void (*pair_on_fail)(void);

#endif
