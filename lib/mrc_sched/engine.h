/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.h - the private structures of the engine and the few functions its files share.
 * doc/engine.md draws how they work together.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "mrc_assert.h"
#include "mrc_sched.h"

#include "arena.h"
#include "cq.h"
#include "hdr.h"
#include "list.h"
#include "mr.h"
#include "pool.h"
#include "rcvmap.h"
#include "sendq.h"
#include "sentmap.h"
#include "wheel.h"

/*
 * A QP number: generation, worker, index. The generation is never 0, so the reserved numbers 0, 1
 * and 2 are never issued, and a late packet of an earlier life misses its QP.
 */
enum {
	QPN_INDEX_BITS = 12,
	QPN_WORKER_BITS = 4,
	QPN_GEN_BITS = 8,
	QPN_INDEX_MASK = (1 << QPN_INDEX_BITS) - 1,
	QPN_WORKER_MASK = (1 << QPN_WORKER_BITS) - 1,
	QPN_GEN_SHIFT = QPN_INDEX_BITS + QPN_WORKER_BITS,
	QPN_GEN_MASK = (1 << QPN_GEN_BITS) - 1,
};

enum {
	RX_BATCH = 16,           /* packets decoded before the first one is handled */
	TX_QUANTUM = 16,         /* packets of one QP before it is the next one's turn */
	NB_NOTES = 4096,         /* control packets that stand for one received packet each */
	NB_NACK_NOTES = 1024,    /* of these, kept for NACKs */
	NB_EP_ANSWERS = 64,      /* endpoint responses waiting for tx */
	NB_EP_CALLS = 64,        /* endpoint requests without an answer yet */
	NB_KEPT_CALLS = 16,      /* of these, not for probes of entropy values */
	NACK_DEPTH = 64,         /* NACKs and probe answers in a burst per QP */
	EP_DEPTH = 64,           /* endpoint answers in a burst per peer */
	EP_GAP_NS = 1000,        /* between endpoint answers to one peer in the long run */
	EP_TIMEOUT_NS = 1000000, /* an endpoint request without answer is lost, at the earliest */
	EP_TIMEOUT_MAX_NS = 128000000, /* and at the latest */
	NB_MARKS = 256,                /* entropy values whose marks are counted at once */
	MARKS_NS = 20000,              /* within this, or a longer round trip, marks add up */
	NB_PROBES = 8,                 /* reliability probes in the air per QP */
	MUTE_ROUNDS = 3,               /* rounds of probes into silence */
	NOMINAL_EXTRA = 40,            /* nominal packet size = UDP length + this (section 8) */
	PARK_NS = 10000,               /* a QP without a usable path looks again after this */
	PROBE_MIN_NS = 4000,           /* a probe is not sent sooner than this after the packet */
	NACK_WAIT_NS = 20000,          /* a packet refused for want of resources waits this long */
	GONE_GAP_NS = 128,             /* per QP, between two looks at all of them */
	QUIET_PER_PLANE = 64, /* packets per plane of the others until a plane counts as quiet */
	EXPIRE_BATCH = 256,   /* timers moved or run per mrc_sched_expire */
	TS_AMBIGUOUS_NS = 4194304, /* half the range of the 16-bit timestamps */
};

/* What a timer belongs to (struct wheel_node.kind). */
enum timer_kind {
	TIMER_QP,
	TIMER_PATH, /* entropy values of a path want probes */
	TIMER_CALL, /* an endpoint request waits for its answer */
};

/* ---- tables ---- */

struct pd {
	uint32_t refs;
	bool used;
};

/* A neighbour: one GID with a link address per plane. */
struct peer {
	struct mrc_gid gid;
	uint8_t mac[MRC_MAX_PLANES][6];
	uint32_t known;     /* bit p: mac[p] is known */
	uint32_t up;        /* bit p: the peer has not said that its port is unusable */
	uint64_t ep_tat_ns; /* rate of endpoint answers (virtual scheduling) */
	uint32_t nb_heard;  /* packets that came from it, free running */
	uint32_t last_heard[MRC_MAX_PLANES]; /* nb_heard at the last one of each plane */
	struct link paths;                   /* struct path.of_peer */
	/* With paths: told or untold of the engine; without: idle if it had some, else none. */
	struct link link;
	struct ep_call *status; /* our port status on its way to it, unanswered; or NULL */
	uint32_t next;          /* hash chain, or the next free one */
	bool used;
};

/* What QPs between the same two addresses over the same entropy values share. */
struct path {
	struct link of_peer;
	struct link link; /* free or used list of the engine */
	struct peer *peer;
	struct mrc_ev_set *evs;
	struct mrc_gid local;
	struct mrc_template *tmpl;         /* one per plane */
	struct mrc_ev_cursor cursor;       /* of control packets (O-23) */
	struct wheel_node timer;           /* entropy value probes */
	uint64_t heard_ns[MRC_MAX_PLANES]; /* when an answer last named a packet of the plane */
	uint64_t slow_ns[MRC_MAX_PLANES];  /* slowest round trip of the plane, slowly forgotten */
	uint64_t fast_ns;                  /* lowest round trip of all; 0: none yet */
	uint64_t shuffle_ns; /* an overtaken packet is given this long; 0: the path keeps order */
	uint64_t widen_ns;   /* that does not grow again before */
	uint32_t refs;
	uint16_t heard_ev; /* entropy value of the last answer that named a packet */
	uint8_t ttl;
	bool gone; /* a plane went down: its QPs are to look at what is in flight */
};

/* ---- requester ---- */

enum probe_state {
	PROBE_FREE,
	PROBE_WANTED, /* tx is to send it */
	PROBE_SENT,
};

/* A reliability probe on the path of a packet whose answer stays away. */
struct probe {
	uint64_t sent_ns;
	uint16_t id;
	uint16_t ev;
	uint8_t state; /* enum probe_state */
};

/* ---- responder ---- */

/* The received packet that a SACK answers. */
struct trigger {
	uint64_t rx_ns;
	mrc_psn_t psn;
	uint32_t ev;
	uint16_t timestamp;
	uint8_t m; /* enum mrc_m: what the SACK will say of the path */
	bool rtx, probe;
};

enum due {
	DUE_SACK = 1 << 0,
	DUE_ACK = 1 << 1,
	DUE_NAK = 1 << 2,
	DUE_PROBE = 1 << 3, /* requester: probes[] holds one to be sent */
	DUE_MORE = 1 << 4,  /* further SACKs of a burst, see sack_more */
};

enum note_kind {
	NOTE_SACK, /* SACK for a marked packet */
	NOTE_PROBE,
	NOTE_NACK,
};

/* A control packet that answers exactly one received packet. */
struct note {
	struct trigger trigger;
	uint32_t qpn;
	uint16_t probe_id;
	uint8_t kind; /* enum note_kind */
	uint8_t reason;
};

/* ---- queue pair ---- */

enum qp_flag {
	QPF_TRIM_PEER = 1 << 0,
	QPF_SVC_TIME = 1 << 1,
	QPF_DYNAMIC = 1 << 2,
	QPF_PER_PACKET = 1 << 3,
	QPF_SIG_ALL = 1 << 4,
	QPF_CC = 1 << 5,
	QPF_FORCE = 1 << 6,   /* one packet may pass a closed congestion window (after a timeout) */
	QPF_REASK = 1 << 7,   /* send the last asking packet again: its transport ACK is missing */
	QPF_PARKED = 1 << 8,  /* ready_link is on the parked or starved list */
	QPF_LATE = 1 << 9,    /* the retransmission timer was seen late and got its delay once */
	QPF_SLOWED = 1 << 10, /* the peer was told to slow down, and not yet that it is over */
	QPF_GONE = 1 << 11,   /* a plane went down, and something in flight went over it, perhaps */
};

/*
 * In cache lines: what a write received in order touches (the first three), what a packet sent for
 * the first time touches, what an answer touches besides, and the rest.
 */
struct mrc_sched_qp {
	/* identity: what every received packet is compared with */
	_Alignas(64) uint32_t qpn; /* 0: free */
	uint32_t dest_qpn;
	uint8_t state; /* enum mrc_qp_state */
	uint8_t pmtu_shift;
	uint16_t flags; /* enum qp_flag */
	uint32_t pd;
	struct mrc_gid local, peer;
	struct path *path;
	uint64_t rcvd_len; /* responder: nominal bytes of new packets */

	/* responder: delivery */
	struct rcvmap rcv;
	mrc_psn_t rx_edge;      /* highest PSN granted before the present window: qp_rx_edge */
	uint32_t rx_window;     /* PSNs granted now */
	struct trigger trigger; /* of the SACK that is due */
	uint8_t due;            /* enum due */
	uint8_t rtx_turn;       /* plane on which the next answer to a repeat begins */
	bool wide_turn;         /* the last SACK went to the next gap, out of turn */
	bool gap_turn; /* the next of these answers goes by gap_next, not by the oldest gap */
	uint8_t nak_syndrome;
	uint8_t nb_violations; /* access violations so far (cfg.access_errors) */
	uint16_t rx_units;     /* window granted by negotiation, units of 128 */

	_Alignas(64) struct link due_link;
	uint32_t sack_bytes; /* towards sack_gen_threshold */
	uint32_t rx_msn;     /* messages completed, 24 bits */
	mrc_psn_t sack_next; /* where the walk of bitmap bases goes on */
	mrc_psn_t gap_next;  /* and the one from gap to gap */
	mrc_psn_t head_next; /* and the one behind the newest arrivals */
	uint16_t nb_more;    /* SACKs that were joined and whose bitmaps are wanted all the same */
	/* responder: semantics */
	mrc_msn_t rq_rqmsn; /* of the next immediate to be released */
	mrc_psn_t nak_psn;
	uint32_t nb_parked; /* immediates waiting for the left edge */
	uint64_t nack_tat_ns;
	uint64_t *rq;
	uint32_t rq_mask, rq_head, rq_tail;
	struct mrc_sched_cq *recv_cq;
	/* control path */
	void *ctx;
	struct mrc_ev_set *evs;
	const struct mrc_nscc_cfg *cc_cfg;
	uint32_t index;
	uint16_t max_wimm_dest;
	uint8_t gen;

	/* requester: delivery */
	_Alignas(64) struct sentmap snt;
	uint32_t fit_planes; /* bit p: the path MTU fits through plane p */
	uint32_t tx_window;  /* PSNs granted by the peer now */
	/* requester: semantics */
	_Alignas(64) struct sendq sq;
	mrc_psn_t ask_psn; /* last PSN that asked */
	uint32_t ask_slot; /* its work request */

	_Alignas(64) struct link ready_link;
	struct link rtx_link;
	struct mrc_ev_cursor cursor;
	/* timers (timers.c) */
	uint64_t timeout_ns;
	uint8_t linear_cnt, exp_cnt;
	uint8_t nb_mute;  /* rounds of probes since anything was heard */
	uint8_t nb_asked; /* times the transport ACK was asked for before the timeout */
	uint32_t retries; /* shared retry counter */
	struct mrc_sched_cq *send_cq;

	_Alignas(64) struct wheel_node timer;
	uint64_t wake_ns;  /* deadline wanted; the wheel's may be earlier */
	uint64_t rto_ns;   /* retransmission timeout; WHEEL_NEVER = off */
	uint64_t ask_ns;   /* transport ACK timeout */
	uint64_t probe_ns; /* next look at the oldest packet in flight */

	struct mrc_nscc cc;
	uint64_t suspect_ns; /* packets sent before are lost if a fresh SACK lacks them; 0 = off */
	uint64_t srtt_ns, rttvar_ns;
	uint64_t answer_ns;    /* when anything was last heard */
	uint64_t edge_ns;      /* when the PSN that una moved from left; 0 = not certain */
	mrc_psn_t edge_psn;    /* that PSN */
	mrc_psn_t suspect_end; /* suspect_ns ends when una gets here */
	uint32_t tx_units_max;
	uint32_t top_units; /* highest rcvd_bytes seen: tells fresh SACKs from overtaken ones */

	uint64_t pause_ns;   /* retransmissions wait until then; WHEEL_NEVER = no pause */
	uint64_t park_ns;    /* look again for a usable path; WHEEL_NEVER = not parked */
	uint64_t ask_due_ns; /* when the first transport ACK timeout counts a retry */
	uint64_t count_ns;   /* when the retry counter last rose */
	uint64_t nb_lost;    /* packets taken for lost so far */
	uint16_t next_probe;
	struct probe probes[NB_PROBES];

	struct link link; /* free list */
};
_Static_assert(sizeof(struct mrc_sched_qp) <= 1024, "an idle QP costs at most 1 KiB");
_Static_assert(sizeof(struct mrc_sched_qp) / 64 % 2 == 1,
	"the same line of many QPs is to spread over all sets of a cache");

/* ---- endpoint operations ---- */

/* What the host asked for and waits for. */
struct ep_asked {
	struct mrc_ev ev;    /* endpoint operation: the path, unless any will do */
	struct probe probe;  /* reliability probe */
	uint64_t timeout_ns; /* 0: as long as for our own requests */
	uint32_t qpn;        /* reliability probe: the QP */
	uint32_t port_mask;
	uint16_t id; /* the host's */
	uint8_t cls; /* enum mrc_class */
	bool any_ev;
};

enum {
	CALL_QP_PROBE = 2, /* op of a call that is a reliability probe; the others are mrc_ep_op */
};

/* An endpoint request of ours. Its identifier on the wire: worker | serial | index. */
struct ep_call {
	struct ep_asked asked;
	struct wheel_node timer;
	struct link wanted; /* waiting for tx */
	struct path *path;  /* NULL: free */
	uint64_t sent_ns;
	uint16_t id;
	uint16_t ev; /* index; MRC_EV_NONE: any */
	uint8_t op;  /* enum mrc_ep_op, CALL_QP_PROBE */
	bool is_asked;
	bool outrun; /* a later probe of the same value was answered: its own loss is old news */
};

/* An endpoint response waiting for tx: everything of it is in the request it answers. */
struct ep_answer {
	struct mrc_pkt pkt;
	uint8_t plane;
};

/* Marks of one entropy value of one peer. */
struct mark_count {
	const struct peer *peer; /* NULL: free */
	uint64_t since_ns;
	uint32_t ev, nb;
};

/* ---- engine ---- */

struct mrc_sched {
	struct mrc_sched_cfg cfg;
	struct mrc_proto proto;
	struct mrc_env env;
	uint64_t now_ns; /* of the last call that had one; for calls without */
	uint32_t up;     /* planes with carrier */
	uint32_t busy;   /* planes without descriptors */
	uint64_t nack_gap_ns;
	uint64_t gone_ns, gone_next_ns; /* look at paths that lost a plane (or never); not before */
	uint32_t pressure;  /* on the host's receive buffers, 0 .. MRC_RX_PRESSURE_FULL */
	uint32_t nb_parked; /* immediates of all QPs that wait for the left edge */

	struct mrc_sched_qp *qps;
	struct mr_table mrs;
	struct mrc_sched_cq *cqs;
	struct pd *pds;
	struct peer *peers;
	uint32_t *peer_hash;
	struct path *paths;
	struct mrc_template *templates;
	uint32_t peer_free, nb_paths, peer_hash_mask;
	struct link told;   /* peers with paths that know, or are being told, our usable ports */
	struct link untold; /* those who have to hear of a change */
	struct link idle;   /* peers whose last path went, the longest ago first */
	uint32_t cq_free;
	struct link free_qps, free_paths, used_paths;

	struct arena arena;
	struct pool rcv_chunks;
	struct sent_pools sent;
	struct wheel wheel;

	struct link due;     /* QPs with SACK, ACK or NAK due */
	struct link ready;   /* QPs with new data */
	struct link rtx;     /* QPs with retransmissions */
	struct link starved; /* QPs (ready_link) waiting for a sent-map chunk */
	struct link parked;  /* QPs (ready_link) waiting for a usable path */

	struct mark_count *marks;
	struct note *notes;
	uint32_t note_head, note_tail;

	struct ep_answer *answers;
	uint32_t answer_head, answer_tail;
	struct ep_call *calls;
	struct link wanted_calls;
	uint32_t call_serial;
	uint64_t ep_wait_ns;   /* for the answer to an endpoint request: follows the round trips */
	uint32_t nb_asked;     /* operations on demand whose result was not fetched yet */
	uint32_t nb_qp_probes; /* of these, reliability probes under way */
	uint64_t asked_tat_ns; /* their rate */

	struct mrc_sched_event *events;
	uint32_t event_mask, event_head, event_tail;
	uint32_t nb_status_events; /* of these, port status */

	struct mrc_pkt scratch[RX_BATCH];
	struct mrc_sched_counters counters;
	struct {
		void *mem;
		size_t len;
	} blocks[24]; /* everything taken from env, for destroy */
	uint32_t nb_blocks;
};

/* ---- engine.c ---- */
void trace(const struct mrc_sched *s, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a,
	uint64_t b, uint64_t c);
void event_put(struct mrc_sched *s, const struct mrc_sched_event *event);
/* Removes events that name a QP or CQ which is about to go. */
void event_purge(struct mrc_sched *s, const struct mrc_sched_qp *qp, const struct mrc_sched_cq *cq);

/* The next power of two, n itself if it is one; n at most 2^31. */
static inline uint32_t pow2_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static inline uint64_t time_add(uint64_t now_ns, uint64_t ns)
{
	return ns < WHEEL_NEVER - now_ns ? now_ns + ns : WHEEL_NEVER - 1;
}

static inline uint16_t ts_of(uint64_t now_ns)
{
	return (uint16_t)(now_ns / MRC_TS_TICK_NS);
}

/* Virtual scheduling: may one more leave now, at one per gap_ns and bursts of depth? */
static inline bool rate_ok(uint64_t *tat_ns, uint64_t now_ns, uint64_t gap_ns, uint32_t depth)
{
	uint64_t tat = *tat_ns > now_ns ? *tat_ns : now_ns;

	if (tat - now_ns > gap_ns * (depth - 1))
		return false;
	*tat_ns = tat + gap_ns;
	return true;
}

/* Highest PSN ever granted: never moves back, though the window may shrink. */
static inline mrc_psn_t qp_rx_edge(const struct mrc_sched_qp *qp)
{
	mrc_psn_t edge = mrc_psn_add(qp->rcv.cack, (int32_t)qp->rx_window);

	return mrc_psn_lt(qp->rx_edge, edge) ? edge : qp->rx_edge;
}

/* ---- qp.c ---- */
/* The only function that changes a state. */
void qp_state_set(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, enum mrc_qp_state state);
bool qp_state_may(enum mrc_qp_state from, enum mrc_qp_state to);
/* QPs that waited for a plane look again. */
void qp_unpark(struct mrc_sched *s, uint64_t now_ns);
/* The QP fails by itself: the work request at send queue index `at` (or none, UINT32_MAX) ends with
 * `status`, everything else is flushed, the host gets an event. */
void qp_fail(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_wc_status status, uint32_t at);

/* ---- peer.c ---- */
struct peer *peer_find(const struct mrc_sched *s, const struct mrc_gid *gid);
/* NULL when the table is full. */
struct path *path_get(struct mrc_sched *s, uint64_t now_ns, const struct mrc_gid *local,
	const struct mrc_gid *gid, struct mrc_ev_set *evs, uint8_t ttl);
void path_put(struct mrc_sched *s, struct path *path);
/* Tells the path's entropy values which planes can be used. */
void path_planes(struct mrc_sched *s, uint64_t now_ns, struct path *path);
/* A packet of the peer came in over a plane. */
static inline void peer_heard(struct peer *peer, uint32_t plane)
{
	peer->last_heard[plane] = ++peer->nb_heard;
}

/* Planes over which nothing came while the others brought many packets: the peer has left them. */
uint32_t peer_quiet(const struct mrc_sched *s, const struct peer *peer);
static inline uint32_t path_usable(const struct mrc_sched *s, const struct path *path)
{
	return path->peer->known & s->up & ~s->busy;
}

/* ---- cq.c ---- */
/* The queue is full: reports it. */
void cq_overrun(struct mrc_sched *s, struct mrc_sched_cq *cq, struct mrc_sched_qp *qp);
/* Place of the next completion, which is to be written at once; NULL when the queue is full (the
 * overrun is reported). */
static inline struct mrc_sched_wc *cq_place(
	struct mrc_sched *s, struct mrc_sched_cq *cq, struct mrc_sched_qp *qp)
{
	struct mrc_sched_wc *place = cq_next(cq);

	if (__builtin_expect(place == NULL, 0))
		cq_overrun(s, cq, qp);
	return place;
}

/* For what is flushed: a full queue reports its overrun, and that is all. */
void cq_push(struct mrc_sched *s, struct mrc_sched_cq *cq, const struct mrc_sched_wc *wc);
void cq_purge(struct mrc_sched_cq *cq, const struct mrc_sched_qp *qp);
bool pd_ref(struct mrc_sched *s, uint32_t pd);
void pd_unref(struct mrc_sched *s, uint32_t pd);

/* ---- responder: resp.c, imm.c, sack.c ---- */
enum mrc_drop resp_write(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, const uint8_t *frame);
enum mrc_drop resp_trimmed(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
enum mrc_drop resp_probe(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
/* A write for a QP in ERR: says again why. */
void resp_in_error(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
/* Checks that an immediate may be taken; keeps nothing. */
enum mrc_drop imm_check(const struct mrc_sched_qp *qp, mrc_msn_t rqmsn);
/* A message's turn has come: hook, receive completion. */
enum mrc_drop imm_release(struct mrc_sched *s, struct mrc_sched_qp *qp, const struct rcv_rec *rec);
/* All of that for a message without immediate. */
static inline void imm_placed(
	struct mrc_sched *s, struct mrc_sched_qp *qp, uint64_t va, uint32_t len)
{
	if (s->cfg.hooks.placed != NULL)
		s->cfg.hooks.placed(s->cfg.hooks.ctx, qp, va, len);
	qp->rx_msn = (qp->rx_msn + 1) & 0xFFFFFF;
}
static inline void sack_ack_want(struct mrc_sched *s, struct mrc_sched_qp *qp, enum due what)
{
	qp->due |= (uint8_t)what;
	list_want(&s->due, &qp->due_link);
}

/* False: above the rate at which this QP's NACKs may leave. */
bool sack_nack(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, enum mrc_nack_reason reason);
bool sack_note(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct mrc_pkt *pkt, enum note_kind kind, uint8_t reason);
/* Fills the SACK that answers `trigger` and moves the walk; more: a further one of a burst. */
void sack_build(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct trigger *trigger, bool more, struct mrc_pkt *pkt_out);
/* A SACK has left: is another one of the burst due? */
void sack_more(struct mrc_sched_qp *qp);
void sack_more_probe(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
void nack_build(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	const struct note *note, struct mrc_pkt *pkt_out);

/* A packet on this entropy value came marked: enum mrc_m that its SACK is to say. */
uint8_t marks_opinion(
	struct mrc_sched *s, uint64_t now_ns, const struct mrc_sched_qp *qp, uint32_t ev);
/* The peer's entry is about to be used for another. */
void marks_forget(struct mrc_sched *s, const struct peer *peer);

/* ---- requester: req.c, answer.c, loss.c, trust.c, probe.c ---- */
enum req_result {
	REQ_SENT,
	REQ_NOTHING, /* nothing left to send */
	REQ_CLOSED,  /* a window is closed; an answer will open it */
	REQ_NO_PATH, /* no plane or entropy value may be used now */
	REQ_STARVED, /* no room in the sent map */
	REQ_FAILED,  /* the QP went to ERR */
};
/* Up to n packets for the first time, fewer when a word of the sent map ends: then the result is
 * REQ_SENT as well. Otherwise it says why there were no more. */
uint32_t req_send_new(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp,
	struct mrc_txbuf *bufs, uint32_t n, enum req_result *result_out);
enum req_result req_send_lost(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf);
enum req_result req_send_reask(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf);
/* Completes what a positive transport ACK up to psn covers; false: the CQ overran. */
bool req_complete(struct mrc_sched *s, struct mrc_sched_qp *qp, mrc_psn_t psn);
/* Send queue index of the unfinished work request that holds psn; UINT32_MAX if none. */
uint32_t req_find(const struct mrc_sched_qp *qp, mrc_psn_t psn);
/* By the same rules as the three req_send_ functions. */
enum mrc_sched_wait req_waits(const struct mrc_sched_qp *qp);
/* Puts the QP on the lists it belongs to. */
void req_wake(struct mrc_sched *s, struct mrc_sched_qp *qp);

enum mrc_drop answer_sack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
enum mrc_drop answer_nack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);
enum mrc_drop answer_ack(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, const struct mrc_pkt *pkt);

enum loss_cause {
	LOSS_NACK,
	LOSS_ORDER,
	LOSS_DISTANCE,
	LOSS_PROBE,
	LOSS_TIMEOUT,
};
/* Declares a PSN in flight lost: book, window, path, counters. */
void loss_declare(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, mrc_psn_t psn,
	enum loss_cause cause);

/* A verdict by path order was false (the packet left on ev), or right (trust.c). */
void trust_less(const struct mrc_sched *s, struct mrc_sched_qp *qp, uint16_t ev);
void trust_more(struct mrc_sched_qp *qp);

void probe_look(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
/* A plane of the path went down, here or there: its QPs look at what is in flight. */
static inline void probe_gone(struct mrc_sched *s, uint64_t now_ns, struct path *path)
{
	path->gone = true;
	if (s->gone_ns == WHEEL_NEVER)
		s->gone_ns = now_ns > s->gone_next_ns ? now_ns : s->gone_next_ns;
}
/* Does so when it is due. A peer's word costs a look at all QPs: many are looked into together, so
 * that a peer whose ports flap, or who says so, takes a small part of the time. */
void probe_gone_look(struct mrc_sched *s, uint64_t now_ns);
/* Writes the probe as a packet. */
void probe_put(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct probe *probe,
	struct mrc_txbuf *buf);
struct probe *probe_find(struct mrc_sched_qp *qp, uint16_t id);
/* Sends a wanted probe; false when there is none. */
bool probe_send(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, struct mrc_txbuf *buf);
void probe_forget(struct mrc_sched_qp *qp);
uint64_t probe_wait_ns(const struct mrc_sched_qp *qp);
uint64_t probe_gap_ns(const struct mrc_sched_qp *qp);
/* After which silence counts as an answer. */
uint64_t probe_overdue_ns(const struct mrc_sched_qp *qp);
uint64_t probe_slowest_ns(const struct mrc_sched_qp *qp, uint16_t ev, uint64_t div);
uint64_t probe_patience_ns(const struct mrc_sched_qp *qp, uint16_t ev, uint64_t wait_ns);

/* ---- timers.c ---- */
/* Starts what is to run while something is in flight, and while a transport ACK that was asked for
 * is not there. */
void timer_start(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, bool asked);
/* Packets left; one of them asked. */
static inline void timer_packets_sent(
	struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, bool asked)
{
	if (qp->rto_ns == WHEEL_NEVER || qp->probe_ns == WHEEL_NEVER ||
		(asked && qp->ask_ns == WHEEL_NEVER))
		timer_start(s, now_ns, qp, asked);
}
static inline void timer_packet_sent(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp)
{
	timer_packets_sent(s, now_ns, qp, false);
}
void timer_progress(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
/* A probe was answered: what is in flight is looked at again. */
void timer_probed(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
/* Before timer_progress, which brings the wheel up to date. */
void timer_acked(uint64_t now_ns, struct mrc_sched_qp *qp);
void timer_pause(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp, uint64_t ns);
void timer_park(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
/* A plane went down: looks at what is in flight as soon as timers run. */
void timer_look(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
void timer_stop(struct mrc_sched *s, struct mrc_sched_qp *qp);
/* Runs a QP's timer. */
void timer_qp(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);
void timer_set(struct mrc_sched *s, struct wheel_node *node, uint64_t at_ns);
/* Counts a retry; false when that was one too many (the QP is then in ERR). */
bool timer_count_retry(struct mrc_sched *s, uint64_t now_ns, struct mrc_sched_qp *qp);

/* ---- tx.c ---- */
/* A packet without payload, whole; body_len as struct mrc_template_vary. */
void tx_control(struct mrc_sched *s, const struct path *path, const struct mrc_ev *ev,
	const struct mrc_pkt *pkt, uint16_t body_len, struct mrc_txbuf *buf);

/* ---- ep.c ---- */
enum mrc_drop ep_request(struct mrc_sched *s, uint64_t now_ns, const struct mrc_rxbuf *rx,
	const struct mrc_pkt *pkt);
enum mrc_drop ep_response(
	struct mrc_sched *s, uint64_t now_ns, uint32_t plane, const struct mrc_pkt *pkt);
/* The probe on demand with this number, NULL if there is none; and: it was answered. */
struct probe *ep_probe_find(struct mrc_sched *s, const struct mrc_sched_qp *qp, uint16_t id);
void ep_probe_answered(struct mrc_sched *s, uint64_t now_ns, const struct probe *probe);
/* Worker whose request an endpoint response answers. */
uint32_t ep_worker(const struct mrc_pkt *pkt);
bool ep_send(struct mrc_sched *s, uint64_t now_ns, struct mrc_txbuf *buf);
void ep_look(struct mrc_sched *s, uint64_t now_ns, struct path *path);
void ep_timeout(struct mrc_sched *s, uint64_t now_ns, struct ep_call *call);
/* Tells every peer that we have a path to which planes are usable, now or when an answer frees a
 * place. Cost: O(1). */
void ep_announce(struct mrc_sched *s);
/* Forgets calls of a path that goes. */
void ep_forget(struct mrc_sched *s, const struct path *path);

#endif
