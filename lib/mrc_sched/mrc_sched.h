/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_sched.h - the transport engine: one complete MRC requester and responder, for the QPs of one
 * worker.
 *
 * Pure: no clock, no socket, no thread, no allocation after create. Packets are pushed in, packets
 * are pulled out, time is an argument. One instance belongs to one thread; nothing here is safe to
 * call from another one. Peer input is answered by a counted drop reason, a caller's mistake by an
 * error code, a bug of our own by an assertion.
 *
 * Two layers, kept in separate files: delivery (receive map, SACK/NACK, sent map, retransmission,
 * probes) and semantics (writes, immediates in order, transport ACK, MR, CQ). The only bridge:
 * "this PSN is new / a duplicate" and "the left edge moved". Endpoint operations (EV probe, port
 * status) are a third, stateless corner.
 */
#ifndef MRC_SCHED_H
#define MRC_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_drop.h"
#include "mrc_env.h"
#include "mrc_err.h"
#include "mrc_ev.h"
#include "mrc_limits.h"
#include "mrc_nscc.h"
#include "mrc_pkt.h"

#define MRC_SCHED_NEVER   UINT64_MAX
#define MRC_SCHED_MAX_SGE 4

struct mrc_sched;    /* one engine */
struct mrc_sched_qp; /* a queue pair; valid until mrc_sched_qp_destroy */
struct mrc_sched_cq;

/* ---- create
 * ---------------------------------------------------------------------------------------- */

/* One local port = one plane. */
struct mrc_sched_plane {
	uint8_t mac[6];
	bool vlan;         /* send tagged, demand the tag */
	uint16_t vlan_tci; /* priority and identifier */
	uint32_t mtu;      /* largest IP packet of the port; 0 = as large as needed */
};

/* What a responder tells its host; called from mrc_sched_rx. May be NULL. Must not call back into
 * the engine. */
struct mrc_sched_hooks {
	void *ctx;
	/* A message of `len` bytes at iova `va` is placed completely and its turn has come (the
	 * left edge passed its last PSN): exactly once per message. With an immediate: just before
	 * the receive completion is written. */
	void (*placed)(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len);
};

struct mrc_sched_cfg {
	const struct mrc_proto *proto; /* outlives the engine */
	uint32_t worker;               /* this worker's index, in the QPN */
	uint32_t nb_workers;           /* of the endpoint */
	uint32_t nb_planes;            /* 1 .. MRC_MAX_PLANES */
	struct mrc_sched_plane planes[MRC_MAX_PLANES];
	uint32_t max_qps, max_cqs, max_mrs, max_pds, max_peers;
	uint32_t window_psns;   /* budget of receive-map PSNs shared by all QPs (bitmap budget);
				   multiple of 128 */
	uint32_t sent_psns;     /* budget of sent-map PSNs shared by all QPs; multiple of 128 */
	uint32_t queue_entries; /* SQ + RQ + CQ entries over all queues */
	uint32_t parked_imms;   /* immediates of all QPs that may wait for earlier packets; one
				   more is refused (NACK NO_RESOURCE); 0: as many as the receive
				   maps hold */
	uint32_t
		nacks_per_us; /* per-QP ceiling of NACKs (a token bucket's rate; its depth is 64) */
	bool icrc;            /* check the ICRC of received packets */
	bool strict_echo;     /* compare echoed EV and timestamp with what was sent */
	bool timestamps;      /* send TSETH */
	bool probes;          /* send reliability probes when answers stay away */
	bool loss_by_distance; /* also take for lost what was overtaken by a window's worth of
				  packets: for networks in which an entropy value does not pin a
				  path */
	bool dynamic_mpr; /* responder may shrink and grow the window of QPs that negotiated it */
	uint32_t access_errors; /* the QP fails at so many access violations (1 .. 255; the
				   specification wants 1). Those before are dropped and counted, as
				   if they had never arrived: against packets forged by others */
	bool back_pressure;     /* tell peers of receive pressure: rcv_cwnd_pen, restore_cwnd */
	struct mrc_sched_hooks hooks;
};

void mrc_sched_cfg_default(struct mrc_sched_cfg *cfg_out);
/* Errors: MRC_ERR_INVAL, MRC_ERR_NOMEM. All memory of the engine's life is taken here. */
int mrc_sched_create(
	const struct mrc_sched_cfg *cfg, const struct mrc_env *env, struct mrc_sched **sched_out);
void mrc_sched_destroy(struct mrc_sched *sched);

/* ---- packets
 * --------------------------------------------------------------------------------------- */

struct mrc_rxbuf {
	const uint8_t
		*data; /* whole frame, one contiguous piece; the host's, only read, not kept */
	uint32_t len;
	uint8_t plane; /* port it came in on */
};

enum mrc_rx_kind {
	MRC_RX_CONSUMED,
	MRC_RX_FOREIGN_WORKER, /* give it to worker `arg` of this endpoint */
	MRC_RX_DROP,           /* reason `arg` (enum mrc_drop), already counted */
};

struct mrc_rx_verdict {
	uint8_t kind; /* enum mrc_rx_kind */
	uint8_t arg;
};

/*
 * Takes n packets; verdict_out[i] says what became of bufs[i]. Never emits. Nothing changes state
 * or memory before every identity check and the ICRC passed (a trimmed packet can only cause a
 * rate-limited NACK). Cost: see doc/performance.md.
 */
void mrc_sched_rx(struct mrc_sched *sched, uint64_t now_ns, const struct mrc_rxbuf *bufs,
	uint32_t n, struct mrc_rx_verdict *verdict_out);

struct mrc_iov {
	const uint8_t *base;
	uint32_t len;
};

/* A packet to send: a header the engine wrote and payload where it lies in registered memory. */
struct mrc_txbuf {
	uint8_t *hdr; /* in: the host's buffer, MRC_HDR_ROOM bytes (more if it will gather the
			 payload behind it) */
	uint16_t hdr_len;
	uint16_t ip_off; /* where the ICRC begins */
	uint16_t payload_len;
	uint8_t pad;   /* zero bytes behind the payload */
	uint8_t plane; /* port to send on */
	uint8_t cls;   /* enum mrc_class */
	uint8_t nb_seg;
	uint16_t ts_off; /* of the transmit time stamp in the header; 0: none that may be renewed */
	struct mrc_iov seg[MRC_SCHED_MAX_SGE];
};

/* How short the host's receive buffers run. */
enum {
	MRC_RX_PRESSURE_NONE = 0,
	MRC_RX_PRESSURE_MAX = 127,  /* peers slow down to about a packet per round trip */
	MRC_RX_PRESSURE_FULL = 128, /* no room for what peers send for the first time */
};

/*
 * The host says how short its receive buffers run: at most once per burst, before mrc_sched_rx.
 * With cfg.back_pressure, levels up to MAX go out in every SACK (level / 128 of what arrived is
 * taken off the peer's window); the end of the pressure is told each of those peers once. At FULL
 * first transmissions are refused by NACK NO_PKT_BUFFER (rate-limited); what is sent again is
 * taken, so that pressure delays and never starves. Levels above FULL count as FULL. Cost: a store.
 */
void mrc_sched_rx_pressure(struct mrc_sched *sched, uint64_t now_ns, uint32_t level);

/*
 * Pull: fills up to n buffers and returns how many; everything returned counts as sent. Order:
 * control packets, then retransmissions (earliest PSN first), then new data, fair among QPs.
 * Payload must be read before the next call that could complete the work request (any rx, expire).
 * TSETH holds now_ns: pull in sub-bursts with fresh time.
 */
uint32_t mrc_sched_tx(struct mrc_sched *sched, uint64_t now_ns, struct mrc_txbuf *bufs, uint32_t n);

/*
 * Finishes a pulled packet in one buffer: gathers the payload behind the header at buf->hdr, adds
 * pad and ICRC (icrc false: four zero bytes). The buffer must hold hdr_len + payload_len +
 * MRC_TRAILER_MAX. Returns the frame length. One pass over the payload.
 */
uint32_t mrc_txbuf_finish(const struct mrc_txbuf *buf, bool icrc);

/* A moment for time stamps, and what was worked out for it. */
struct mrc_restamp {
	uint16_t stamp;
	uint16_t delta;  /* of the fix below */
	uint32_t behind; /* bytes behind the stamp that the ICRC covers */
	uint32_t fix;    /* change of the ICRC */
};
void mrc_restamp_init(struct mrc_restamp *restamp_out, uint64_t now_ns);

/*
 * Renews the transmit time stamp of a finished packet (frame_len as mrc_txbuf_finish returned it;
 * icrc as it was told), without another pass over it: so that a burst may be finished first and
 * stamped just before it leaves. Not with strict_echo, which compares stamps with the time of the
 * pull. Cost: about 3 ns.
 */
void mrc_txbuf_restamp(
	const struct mrc_txbuf *buf, uint32_t frame_len, bool icrc, struct mrc_restamp *restamp);

/*
 * The same in two steps, for a header that was pulled into memory other than the frame's: gather
 * copies payload and pad to where they belong in `frame` and returns the frame's length, and in
 * *sum_out the ICRC (icrc false: 0); seal renews the stamp (restamp NULL: keeps it), writes header
 * and ICRC. Neither reads the frame: its lines may be another core's.
 */
uint32_t mrc_txbuf_gather(
	const struct mrc_txbuf *buf, bool icrc, uint8_t *frame, uint32_t *sum_out);
void mrc_txbuf_seal(const struct mrc_txbuf *buf, uint8_t *frame, uint32_t frame_len, uint32_t sum,
	bool icrc, struct mrc_restamp *restamp);

/*
 * For a thread that runs many engines in turn: asks the cache for what the next calls will touch.
 * To be called with steps 0 to MRC_SCHED_FETCH_STEPS - 1 and other work of some 100 ns between
 * them, since each step reads what the one before asked for. A hint that changes nothing.
 */
enum {
	MRC_SCHED_FETCH_STEPS = 5,
};
void mrc_sched_fetch(const struct mrc_sched *sched, uint32_t step);

/* When expire wants to be called next; MRC_SCHED_NEVER when nothing is armed. */
uint64_t mrc_sched_next_deadline(const struct mrc_sched *sched);
/* Runs due timers, a bounded batch per call (then next_deadline is `now_ns` again). Returns the
 * number handled. */
uint32_t mrc_sched_expire(struct mrc_sched *sched, uint64_t now_ns);

enum mrc_plane_state {
	MRC_PLANE_UP,
	MRC_PLANE_DOWN, /* no carrier: leave it, tell peers by port status */
	MRC_PLANE_BUSY, /* up, but the host has no descriptor: send nothing there until UP is said
			   again */
};
void mrc_sched_plane_set(
	struct mrc_sched *sched, uint64_t now_ns, uint32_t plane, enum mrc_plane_state state);

/* ---- peers
 * ----------------------------------------------------------------------------------------- */

/*
 * Link address of a peer on one plane; mac NULL = not known (the plane is not used towards this
 * peer). Creates the peer's entry when it is new and an address is given. The entry goes when no QP
 * is connected to the peer and no address is left, and when all max_peers are taken: then a new
 * peer takes the place of the one whose last QP left longest ago, and whose addresses must be told
 * again if it returns. Errors: MRC_ERR_NOMEM, MRC_ERR_INVAL.
 */
int mrc_sched_peer_set(
	struct mrc_sched *sched, const struct mrc_gid *peer, uint32_t plane, const uint8_t *mac);

/* ---- verbs
 * ----------------------------------------------------------------------------------------- */

int mrc_sched_pd_create(struct mrc_sched *sched, uint32_t *pd_out);
int mrc_sched_pd_destroy(
	struct mrc_sched *sched, uint32_t pd); /* MRC_ERR_BUSY while MRs or QPs use it */

enum mrc_sched_access {
	MRC_ACCESS_LOCAL_WRITE = 1,
	MRC_ACCESS_REMOTE_WRITE = 2,
};

/* A memory region. Memory is the caller's and must outlive it. */
struct mrc_sched_mr {
	uint32_t pd;
	uint32_t access; /* enum mrc_sched_access */
	uint8_t *addr;
	uint64_t iova; /* address that peers use for addr[0] */
	uint64_t len;
	uint32_t key; /* lkey = rkey; low bits index, high bits random */
};

/* Registers mr and draws mr->key. Errors: MRC_ERR_INVAL (wraps, unknown PD), MRC_ERR_NOMEM. */
int mrc_sched_mr_reg(struct mrc_sched *sched, struct mrc_sched_mr *mr);
/* Installs a region that another worker registered under the same key (command broadcast). */
int mrc_sched_mr_install(struct mrc_sched *sched, const struct mrc_sched_mr *mr);
int mrc_sched_mr_dereg(struct mrc_sched *sched, uint32_t key);

int mrc_sched_cq_create(struct mrc_sched *sched, uint32_t depth, struct mrc_sched_cq **cq_out);
int mrc_sched_cq_destroy(struct mrc_sched *sched, struct mrc_sched_cq *cq);

enum mrc_wc_status {
	MRC_WC_SUCCESS,
	MRC_WC_LOC_LEN_ERR,
	MRC_WC_LOC_PROT_ERR,
	MRC_WC_WR_FLUSH_ERR,
	MRC_WC_REM_INV_REQ_ERR,
	MRC_WC_REM_ACCESS_ERR,
	MRC_WC_REM_OP_ERR,
	MRC_WC_RETRY_EXC_ERR,
	MRC_WC_FATAL_ERR,
};
const char *mrc_wc_status_name(enum mrc_wc_status status);

enum mrc_wc_opcode {
	MRC_WC_WRITE,
	MRC_WC_WRITE_IMM,
	MRC_WC_RECV_IMM
};

struct mrc_sched_wc {
	uint64_t wr_id;
	struct mrc_sched_qp *qp;
	uint32_t byte_len; /* receive: length of the message */
	uint8_t status;    /* enum mrc_wc_status */
	uint8_t opcode;    /* enum mrc_wc_opcode */
	bool solicited;    /* receive: SE was set */
	uint8_t imm[4];    /* receive: as on the wire */
};

/* Moves up to n completions out; returns the count. */
uint32_t mrc_sched_cq_poll(
	struct mrc_sched *sched, struct mrc_sched_cq *cq, struct mrc_sched_wc *wc_out, uint32_t n);

enum mrc_qp_state {
	MRC_QP_RESET,
	MRC_QP_INIT,
	MRC_QP_RTR,
	MRC_QP_RTS,
	MRC_QP_ERR
};
const char *mrc_qp_state_name(enum mrc_qp_state state);

struct mrc_sched_qp_cfg {
	uint32_t pd;
	struct mrc_sched_cq *send_cq, *recv_cq;
	uint32_t sq_depth, rq_depth; /* entries, >= 1; rounded up to powers of two */
	uint32_t max_sge;            /* 1 .. MRC_SCHED_MAX_SGE */
	bool sq_sig_all;             /* every send work request completes */
	void *ctx;                   /* the caller's */
};

/* Attributes of modify. mrc_sched_qp_attr_default fills all but the ones marked (*). */
struct mrc_sched_qp_attr {
	/* INIT */
	struct mrc_ev_set
		*ev_set; /* (*) paths towards the peer; shared, outlives the QP; needed for RTR */
	const struct mrc_nscc_cfg
		*cc; /* (*) window parameters; outlives the QP; NULL: no congestion control */
	/* RTR */
	struct mrc_gid local, peer; /* (*) */
	uint32_t dest_qpn;          /* (*) */
	mrc_psn_t rq_psn;           /* (*) first PSN expected */
	uint32_t pmtu;              /* 256, 512, 1024, 2048, 4096 */
	uint8_t ttl;
	uint8_t mpr_dest;       /* receive window we grant, units of 128 PSNs */
	uint16_t max_wimm_dest; /* immediates in flight we accept */
	bool dynamic_mpr;       /* both sides agreed */
	bool trim_nack_peer; /* the peer sends NACKs for trimmed packets: data may travel trimmable
			      */
	bool svc_time_peer;  /* the peer takes our service time into account: we shift the echo */
	/* RTS */
	mrc_psn_t sq_psn;            /* (*) first PSN sent */
	uint8_t mpr;                 /* window the peer grants us */
	uint16_t max_wimm;           /* immediates in flight the peer accepts */
	uint8_t timeout;             /* T = 1.024 us x 2^timeout, <= 24 */
	uint8_t linear_cnt, exp_cnt; /* 0..7, 0..25 (25: endless) */
	bool per_packet_timers;
};

void mrc_sched_qp_attr_default(struct mrc_sched_qp_attr *attr_out);

int mrc_sched_qp_create(
	struct mrc_sched *sched, const struct mrc_sched_qp_cfg *cfg, struct mrc_sched_qp **qp_out);
/*
 * RESET -> INIT -> RTR -> RTS; any -> ERR, any -> RESET. Takes from attr what the step needs.
 * Refused calls change nothing. Errors: MRC_ERR_STATE (no such transition), MRC_ERR_INVAL
 * (attribute). to ERR: both queues are flushed in order; to RESET: outstanding work is dropped and
 * its completions removed.
 */
int mrc_sched_qp_modify(struct mrc_sched *sched, uint64_t now_ns, struct mrc_sched_qp *qp,
	enum mrc_qp_state state, const struct mrc_sched_qp_attr *attr);
int mrc_sched_qp_destroy(struct mrc_sched *sched, uint64_t now_ns, struct mrc_sched_qp *qp);
uint32_t mrc_sched_qp_num(const struct mrc_sched_qp *qp);
void *mrc_sched_qp_ctx(const struct mrc_sched_qp *qp);
enum mrc_qp_state mrc_sched_qp_state(const struct mrc_sched_qp *qp);
/* Worker that owns a QPN (from the number alone). */
uint32_t mrc_sched_qpn_worker(uint32_t qpn);

struct mrc_sched_sge {
	uint64_t addr; /* local address inside the region of lkey */
	uint32_t len;
	uint32_t lkey;
};

/* Wait before the expiry that follows `retries` retries without progress: T while linear, then
 * doubling up to the ceiling. The QP fails at expiry number linear_cnt + exp_cnt + 1 (never with
 * exp_cnt 25). */
uint64_t mrc_sched_retry_wait_ns(
	const struct mrc_proto *proto, const struct mrc_sched_qp_attr *attr, uint32_t retries);

enum mrc_send_flag {
	MRC_SEND_SIGNALED = 1,
	MRC_SEND_SOLICITED = 2,
	MRC_SEND_FENCE = 4, /* accepted, no effect */
};

struct mrc_sched_send_wr {
	uint64_t wr_id;
	const struct mrc_sched_sge *sges; /* copied */
	uint32_t nb_sge;                  /* 0 = zero-length message */
	uint32_t flags;                   /* enum mrc_send_flag */
	uint64_t raddr;
	uint32_t rkey;
	uint8_t imm[4]; /* post_write_imm only */
};

/* Errors: MRC_ERR_STATE (not RTS), MRC_ERR_FULL, MRC_ERR_LKEY, MRC_ERR_TOOBIG, MRC_ERR_INVAL. Cost
 * about 10 ns. */
int mrc_sched_post_write(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr);
int mrc_sched_post_write_imm(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_send_wr *wr);

struct mrc_sched_recv_wr {
	uint64_t wr_id;
};
/* Errors: MRC_ERR_STATE (RESET), MRC_ERR_FULL. */
int mrc_sched_post_recv(
	struct mrc_sched *sched, struct mrc_sched_qp *qp, const struct mrc_sched_recv_wr *wr);

/* ---- operations on demand
 * --------------------------------------------------------------------------- */

enum {
	MRC_SCHED_MAX_ASKED = 48, /* operations whose result was not fetched yet */
};

/* One endpoint operation towards a peer that some QP of this engine is connected to. */
struct mrc_sched_ep_req {
	struct mrc_gid local, peer;
	enum mrc_ep_op op;
	uint16_t id;         /* the caller's, comes back with the result; need not be unique */
	bool any_ev;         /* over any usable path, else over ev */
	struct mrc_ev ev;    /* of the mode of the QPs' profile; need not be one of its entries */
	uint32_t port_mask;  /* port status: bits of usable ports as on the wire (O-14) */
	enum mrc_class cls;  /* any class that a request may have */
	uint64_t timeout_ns; /* from departure to "no answer"; 0: some round trips, 1 ms at least */
};

/*
 * Sends an endpoint operation with the next pull. Exactly one MRC_EVENT_EP_RESULT follows, in the
 * order of arrival. It feeds no entropy value state: what to make of it is the caller's affair.
 * Errors: MRC_ERR_NOENT (no QP is connected between these addresses), MRC_ERR_INVAL, MRC_ERR_FULL
 * (MRC_SCHED_MAX_ASKED, or above one operation per microsecond; try again later).
 */
int mrc_sched_ep_send(struct mrc_sched *sched, uint64_t now_ns, const struct mrc_sched_ep_req *req);

/*
 * Sends a reliability probe of the QP with the next pull, over its next path. Its answer counts as
 * that of any probe (it repairs what it finds missing); exactly one MRC_EVENT_PROBE_RESULT follows,
 * unless the QP is reset or destroyed. Errors: MRC_ERR_STATE (not RTS), MRC_ERR_FULL as above.
 */
int mrc_sched_qp_probe(struct mrc_sched *sched, uint64_t now_ns, struct mrc_sched_qp *qp,
	uint16_t id, uint64_t timeout_ns);

/* ---- events and counters
 * --------------------------------------------------------------------------- */

enum mrc_sched_event_type {
	MRC_EVENT_QP_FATAL, /* QP went to ERR by itself; arg = enum mrc_wc_status */
	MRC_EVENT_CQ_OVERRUN,
	MRC_EVENT_PORT_STATUS, /* a peer's plane changed; arg = mask of usable planes */
	/* Results of operations on demand; arg = the caller's id, and the members below arg. */
	MRC_EVENT_EP_RESULT,    /* peer: who was asked */
	MRC_EVENT_PROBE_RESULT, /* qp: who asked */
};

struct mrc_sched_event {
	enum mrc_sched_event_type type;
	struct mrc_sched_qp *qp;
	struct mrc_sched_cq *cq;
	struct mrc_gid peer;
	uint32_t arg;
	uint64_t rtt_ns; /* MRC_SCHED_NEVER: no answer in time */
	uint8_t plane;   /* EP_RESULT: port on which the answer arrived */
	bool svc_time;   /* EP_RESULT: the peer took its own delay out of the round trip */
};
bool mrc_sched_event_poll(struct mrc_sched *sched, struct mrc_sched_event *event_out);

/* One writer (the worker); readers on other threads use relaxed loads. */
struct mrc_sched_plane_counters {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* bytes: whole frames */
	uint64_t tx_data_packets, tx_retransmits, lost_packets;
};

struct mrc_sched_counters {
	uint64_t drops[MRC_NB_DROPS];
	uint64_t tx_packets, rx_packets;
	uint64_t tx_data_packets, tx_data_bytes; /* payload, first transmissions */
	uint64_t tx_sack, tx_nack, tx_ack, tx_probe, rx_sack, rx_nack, rx_ack, rx_probe;
	uint64_t rx_data_packets, rx_data_bytes; /* new packets placed, payload */
	uint64_t retransmits, rtx_by_nack, rtx_by_order, rtx_by_distance, rtx_by_timeout,
		rtx_by_ack_timeout;
	uint64_t spurious_retransmits; /* the original arrived after all, as far as the requester
					  can tell */
	uint64_t timeouts, qp_errors, ecn_marks, foreign_worker;
	uint64_t ep_req_tx, ep_req_rx, ep_rsp_tx, ep_rsp_rx;
	struct mrc_sched_plane_counters planes[MRC_MAX_PLANES];
};
const struct mrc_sched_counters *mrc_sched_counters_get(const struct mrc_sched *sched);

/* What a QP's next packet waits for. */
enum mrc_sched_wait {
	MRC_WAIT_NOTHING, /* there is none: nothing is posted, or the QP does not send */
	MRC_WAIT_TURN,    /* it may leave when the host pulls */
	MRC_WAIT_ANSWER,  /* everything posted has been sent */
	MRC_WAIT_WINDOW,  /* beyond the receive window, or the immediates, that the peer grants */
	MRC_WAIT_CWND,    /* the congestion window is full */
	MRC_WAIT_PATH,    /* no plane or entropy value may be used */
	MRC_WAIT_PAUSE,   /* the back-off between retries */
	MRC_NB_WAITS,
};

struct mrc_sched_qp_info {
	enum mrc_qp_state state;
	uint32_t qpn;
	uint32_t sq_used, rq_used;
	uint32_t window_psns;    /* receive window granted now */
	uint32_t outstanding;    /* PSNs sent and not acknowledged */
	uint32_t tx_window_psns; /* window the peer grants now */
	int64_t inflight;        /* nominal bytes sent, neither acknowledged nor declared lost */
	int64_t cc_inflight; /* of the congestion window's own book, which follows rcvd_bytes and
				agrees with inflight but for 256-byte rounding once answers are in
			      */
	uint64_t srtt_ns;    /* smoothed round trip, 0 = no sample yet */
	uint64_t sent_map_bytes; /* the same, recounted from the sent map (must agree, P18) */
	uint32_t cwnd;
	uint64_t base_rtt_ns;
	uint32_t retry_count;
	uint64_t lost_packets; /* taken for lost since the QP was created */
	enum mrc_sched_wait waits_for;
	uint64_t oldest_ns; /* when the earliest PSN that is in flight left; 0: none is */
	mrc_psn_t next_psn, una_psn, cack_psn, max_rcv_psn;
	uint64_t state_hash; /* over everything a peer could change; equal before and after a
				refused packet */
};
void mrc_sched_qp_query(const struct mrc_sched *sched, const struct mrc_sched_qp *qp,
	struct mrc_sched_qp_info *info_out);

#endif
