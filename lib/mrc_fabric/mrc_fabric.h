/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_fabric.h - an emulated multi-plane leaf-spine fabric: packets in, packets out, time is an
 * argument.
 *
 *   host h ──HOST_UP──► leaf ──LEAF_UP──► spine ──LEAF_DOWN──► leaf ──HOST_DOWN──► host
 *
 * Every plane is a copy of the same shape: nb_leaves x nb_spines switches, one link per leaf-spine
 * pair, hosts_per_leaf hosts on every leaf; host h sits on leaf h / hosts_per_leaf of every plane.
 * A link has two directions, each of its own: rate, delay, two queues in strict priority (control
 * and trimmed packets above data), ECN marking, trimming, faults, counters. All indices count from
 * 0.
 *
 * The same object runs in virtual time (a simulator steps from deadline to deadline) and in real
 * time (the host passes its clock). From one seed everything is deterministic. Pure: no clock, no
 * thread, no allocation after create. One object belongs to one thread.
 */
#ifndef MRC_FABRIC_H
#define MRC_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_env.h"
#include "mrc_err.h"
#include "mrc_limits.h"
#include "mrc_pkt.h"

#define MRC_FABRIC_NEVER UINT64_MAX
#define MRC_FABRIC_ANY   (-1) /* in a selector: every plane, leaf, spine or host */

struct mrc_fabric;

/* ---- packets ------------------------------------------------------------------------------- */

enum mrc_fabric_pkt_flag {
	MRC_FABRIC_PKT_CORRUPT = 1, /* a byte that is only virtual was damaged: treat the ICRC as
				       wrong */
	MRC_FABRIC_PKT_TRIMMED = 2, /* cut by a switch of this fabric */
};

/* A frame under way. The bytes belong to whoever holds the struct. */
struct mrc_fabric_pkt {
	uint8_t *data; /* Ethernet frame; writable (ECN, trimming, uSID shift happen in place) */
	uint32_t len;  /* bytes present at data */
	uint32_t wire_len; /* bytes it counts for on links and in queues, >= len; more than len when
			      bulk payload is only virtual */
	uint32_t flags;    /* enum mrc_fabric_pkt_flag; set by the fabric, send it as 0 */
	void *ref;         /* host's handle (an mbuf, a block); never looked at */
};

/* What the fabric needs from whoever owns the buffers. */
struct mrc_fabric_ops {
	void *ctx;
	/* The packet was dropped inside: give its buffer back. */
	void (*free)(void *ctx, const struct mrc_fabric_pkt *pkt);
	/* Copies pkt for a duplicate or a flooded copy; false when there is no buffer (counted).
	 * NULL: no copies. */
	bool (*clone)(void *ctx, const struct mrc_fabric_pkt *pkt, struct mrc_fabric_pkt *copy_out);
	/* Bytes that may be written behind pkt->len (padding fault). NULL: none. */
	uint32_t (*tailroom)(void *ctx, const struct mrc_fabric_pkt *pkt);
	/* Sees every packet when it starts on a link that mrc_fabric_tap_set switched on (capture).
	 * Must not change anything. May be NULL. */
	void (*tap)(void *ctx, uint64_t now_ns, uint32_t link, const struct mrc_fabric_pkt *pkt);
};

/* ---- shape --------------------------------------------------------------------------------- */

enum mrc_fabric_link_class {
	MRC_FABRIC_HOST_UP,   /* host to leaf: the host's own port and its transmit queue */
	MRC_FABRIC_HOST_DOWN, /* leaf to host: the last hop */
	MRC_FABRIC_LEAF_UP,   /* leaf to spine */
	MRC_FABRIC_LEAF_DOWN, /* spine to leaf */
	MRC_FABRIC_NB_CLASSES,
};

/* One direction of a link, with the queue in front of it. 0 in a queue length = no limit / off. */
struct mrc_fabric_link_cfg {
	uint64_t rate_bps;    /* 0 = infinitely fast */
	uint64_t delay_ns;    /* propagation */
	uint32_t ecn_min_len; /* data queue in bytes where marking begins ... */
	uint32_t ecn_max_len; /* ... and where every packet is marked; 0 = no marking */
	uint32_t trim_len; /* data queue above which trimmable packets are cut; 0 = no trimming */
	uint32_t drop_len; /* data queue above which packets are dropped */
	uint32_t ctrl_len; /* the same for the queue of control and trimmed packets */
};

enum mrc_fabric_forward {
	MRC_FABRIC_ECMP, /* hash of addresses, protocol, ports and flow label, salted per switch */
	MRC_FABRIC_STEV, /* bit field of the EV picks the uplink */
	MRC_FABRIC_SRV6, /* uSID lists in the outer destination; other packets by ECMP */
};

enum mrc_fabric_trim_who {
	MRC_FABRIC_TRIM_ARRIVING,
	MRC_FABRIC_TRIM_LAST, /* the last one queued */
	MRC_FABRIC_TRIM_COIN,
};

/* Where an address lives; IPv4 as ::ffff:a.b.c.d. A host may have several. */
struct mrc_fabric_addr {
	struct mrc_gid gid;
	uint32_t host;
};

struct mrc_fabric_cfg {
	const struct mrc_proto *proto; /* DSCP classes and the choices of the EV encoding; outlives
					  the fabric */
	uint32_t nb_planes, nb_leaves, nb_spines, hosts_per_leaf;
	struct mrc_fabric_link_cfg links[MRC_FABRIC_NB_CLASSES];
	bool cut_through; /* forward when the first 64 bytes are in (false: store and forward) */
	int32_t overhead_len; /* added to wire_len on every link: 24 = preamble, FCS, gap */
	uint64_t switch_ns;   /* latency of a switch, added to every hop through one */

	enum mrc_fabric_forward forward;
	bool reroute; /* ECMP leaves out uplinks without carrier (false: static routes) */
	uint8_t stev_shift, stev_width; /* STEV: field of the EV, modulo nb_spines, = uplink */
	/* SRV6: a uSID list is (block, uSID, uSID, ...). */
	uint32_t srv6_block[MRC_MAX_PLANES]; /* 32-bit locator block of each plane, host order */
	uint16_t srv6_leaf_base;             /* uSID of leaf l is this + l */
	uint16_t srv6_spine_base;            /* spine s */
	uint16_t srv6_host_base;             /* downlink i of a leaf */
	bool srv6_decap;                     /* the last leaf strips the outer header (End.DT) */

	enum mrc_fabric_trim_who trim_who;
	uint32_t trim_size;     /* bytes that a trimmed packet keeps, from Ethernet on */
	bool trim_keep_lengths; /* IP and UDP lengths keep their old values (false: rewritten) */

	bool hosts_apart; /* hosts are run a lookahead behind the fabric, see
			   * mrc_fabric_lookahead_ns
			   */
	bool live; /* The clock is the real one and nothing is made up for: of the changes of a flap
		    * that were missed only the last is carried out, and when a link gets a higher
		    * rate, the packet on its transmitter gains too (false: it ends as begun);
		    * nothing is delayed longer than a second by a fault that is over. */

	uint32_t max_packets; /* under way at a time, queued and unread ones included */
	uint32_t max_faults;
	uint32_t max_inbox; /* unread packets per host and plane; 0 = max_packets */
	const struct mrc_fabric_addr *addrs; /* copied */
	uint32_t nb_addrs, max_addrs;        /* max_addrs >= nb_addrs: room for addr_add */
	uint64_t seed;
};

/*
 * Fills everything but shape and addresses: every link `rate_bps` and `delay_ns`, ECN at 0.2/0.8,
 * trimming at 1 (1.5 on the last hop) and dropping at 3 bandwidth-delay products of the unloaded
 * cross-spine round trip, no ECN on the last hop, trim size 256, ECMP, store and forward.
 */
void mrc_fabric_cfg_default(struct mrc_fabric_cfg *cfg_out, const struct mrc_proto *proto,
	uint64_t rate_bps, uint64_t delay_ns);
/* Gives a link queues of queue_len bytes for data and for control. A link that marks does so from a
 * fifth of it on and always above three fifths; one that trims does so above four fifths. */
void mrc_fabric_link_queue_set(struct mrc_fabric_link_cfg *link, uint32_t queue_len);

/* What all queues of a fabric do. */
struct mrc_fabric_queues {
	bool ecn, trimming;
	bool ecn_last_hop;  /* with ecn: the last hop marks too, as the others do */
	uint64_t queue_len; /* as mrc_fabric_link_queue_set; 0: as they are; at most UINT32_MAX */
};
/* To be said over mrc_fabric_cfg_default, before the fabric is created. */
void mrc_fabric_cfg_queues_set(struct mrc_fabric_cfg *cfg, const struct mrc_fabric_queues *queues);

/* Errors: MRC_ERR_INVAL (shape, field outside its range, address twice, host unknown),
 * MRC_ERR_NOMEM. ops is copied. */
int mrc_fabric_create(const struct mrc_fabric_cfg *cfg, const struct mrc_env *env,
	const struct mrc_fabric_ops *ops, struct mrc_fabric **fabric_out);
/* Frees every packet under way through ops->free. */
void mrc_fabric_destroy(struct mrc_fabric *fabric);
/* Adds (or moves) an address at run time. MRC_ERR_NOMEM when max_addrs are there. */
int mrc_fabric_addr_add(struct mrc_fabric *fabric, const struct mrc_fabric_addr *addr);

/* ---- time and packets ----------------------------------------------------------------------- */

/*
 * A host puts a packet on its port. Takes ownership in every case (also when the packet is dropped
 * at once: unknown destination, port without carrier, full queue; all counted). now_ns may not run
 * behind any earlier call. Frames that are no IP, and those to a multicast or an IPv6 link-local
 * address, go to every other host of the plane.
 */
void mrc_fabric_send(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane,
	const struct mrc_fabric_pkt *pkt);
/* Bytes waiting in a host's transmit queue on a plane, the packet on the wire included: a host
 * that models a NIC sends while this is small. */
uint32_t mrc_fabric_backlog(
	struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane);

/* When that queue will have drained, at the rate in force; now_ns when it is empty. */
uint64_t mrc_fabric_port_free_ns(
	struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host, uint32_t plane);

/* Runs everything due up to now_ns, at most max_events of it; returns the number of events run. */
uint32_t mrc_fabric_run(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t max_events);
/* Time of the next event inside, MRC_FABRIC_NEVER when idle. */
uint64_t mrc_fabric_next_deadline(const struct mrc_fabric *fabric);

/* A host and plane with unread packets, in order of first arrival; false when there is none. The
 * pair comes again only after a packet arrived later than its inbox was read empty, or when recv
 * left packets. */
bool mrc_fabric_ready(struct mrc_fabric *fabric, uint32_t *host_out, uint32_t *plane_out);
/* Hands out up to n arrived packets, which are the host's from now on. Returns the count. */
uint32_t mrc_fabric_recv(struct mrc_fabric *fabric, uint32_t host, uint32_t plane,
	struct mrc_fabric_pkt *pkts_out, uint32_t n);

/*
 * Hosts apart (cfg.hosts_apart), for simulators: what a host does at t cannot reach a switch before
 * t + lookahead. So the fabric may run up to now + lookahead - 1 at once, and then each host by
 * itself up to there, from event to event with its own time: it runs its uplinks, reads what has
 * arrived by then, and sends, with times behind that of the fabric. A host's memory is then touched
 * once in a lookahead and not with every packet. Faults have to wait for all hosts: the fabric must
 * not run beyond mrc_fabric_fault_next_ns.
 */
/* Shortest delay of an uplink with the switch behind it. 0 while uplinks mark or trim, or a fault
 * that acts on packets selects them: random numbers are drawn and packets counted in order of time
 * over all hosts. Cost: all links. */
uint64_t mrc_fabric_lookahead_ns(const struct mrc_fabric *fabric);
/* When a fault begins, ends or switches next, MRC_FABRIC_NEVER if none does. Cost: max_faults. */
uint64_t mrc_fabric_fault_next_ns(const struct mrc_fabric *fabric);
/* When the next of a host's ports, over all planes, has an arrived packet to read or goes on
 * sending; MRC_FABRIC_NEVER: not before something else happens. */
uint64_t mrc_fabric_inbox_next_ns(const struct mrc_fabric *fabric, uint32_t host);
uint64_t mrc_fabric_uplink_next_ns(const struct mrc_fabric *fabric, uint32_t host);
/* Lets the host's ports go on sending up to now_ns. */
void mrc_fabric_uplink_run(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host);
/* Asks the cache for a host's ports (step 0) and then for the packets in its inboxes, one more of
 * each with every step; some 100 ns should lie between steps. A hint that changes nothing. */
void mrc_fabric_host_fetch(const struct mrc_fabric *fabric, uint32_t host, uint32_t step);
/* As recv, of what has arrived by now_ns; what it leaves does not make the pair ready again. */
uint32_t mrc_fabric_recv_by(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host,
	uint32_t plane, struct mrc_fabric_pkt *pkts_out, uint32_t n);

/* ---- links ---------------------------------------------------------------------------------- */

/* Which directed links: MRC_FABRIC_ANY or an index each; classes: bit per enum
 * mrc_fabric_link_class, 0 = all. A host index leaves only host links, a spine index only
 * leaf-spine links; a leaf index takes both kinds of that leaf. */
struct mrc_fabric_where {
	int32_t plane, leaf, spine, host;
	uint32_t classes;
};
/* Everything. */
struct mrc_fabric_where mrc_fabric_everywhere(void);

struct mrc_fabric_link_id {
	enum mrc_fabric_link_class cls;
	uint32_t plane, leaf;
	uint32_t peer; /* host number or spine number */
};

/* Directed links are numbered 0 .. nb_links-1. */
uint32_t mrc_fabric_nb_links(const struct mrc_fabric *fabric);
struct mrc_fabric_link_id mrc_fabric_link_id(const struct mrc_fabric *fabric, uint32_t link);
/* For host links `leaf` is ignored. UINT32_MAX when there is no such link. */
uint32_t mrc_fabric_link_index(
	const struct mrc_fabric *fabric, const struct mrc_fabric_link_id *id);

/* Next link behind `after` that the selector takes; start with UINT32_MAX, ends with UINT32_MAX. */
uint32_t mrc_fabric_link_next(
	const struct mrc_fabric *fabric, const struct mrc_fabric_where *where, uint32_t after);

void mrc_fabric_link_get(
	const struct mrc_fabric *fabric, uint32_t link, struct mrc_fabric_link_cfg *cfg_out);
/* New rate, delay and thresholds, from the next packet on. */
void mrc_fabric_link_set(
	struct mrc_fabric *fabric, uint32_t link, const struct mrc_fabric_link_cfg *cfg);
/* Carrier of both directions of the cable. Down: what is queued or on the wire is lost. */
void mrc_fabric_link_carrier_set(
	struct mrc_fabric *fabric, uint64_t now_ns, uint32_t link, bool up);
bool mrc_fabric_link_carrier(const struct mrc_fabric *fabric, uint32_t link);
void mrc_fabric_tap_set(struct mrc_fabric *fabric, uint32_t link, bool on);

/* Carrier as the host's port sees it. */
bool mrc_fabric_host_carrier(const struct mrc_fabric *fabric, uint32_t host, uint32_t plane);
/* Next change of a host port's carrier that was not polled yet; only the last state is kept. */
bool mrc_fabric_carrier_poll(
	struct mrc_fabric *fabric, uint32_t *host_out, uint32_t *plane_out, bool *up_out);

/* ---- faults --------------------------------------------------------------------------------- */

/* What happens. "param" says what the number means. */
enum mrc_fabric_fault_kind {
	MRC_FABRIC_LOSS,      /* the packet disappears on the wire */
	MRC_FABRIC_DISCARD,   /* the same, counted apart: silent discard with carrier up */
	MRC_FABRIC_DUPLICATE, /* param = further copies (1 if 0), spread = ns between them */
	MRC_FABRIC_REORDER,   /* held back on the wire for param ns while others pass */
	MRC_FABRIC_DELAY,     /* delay grows by param ns, order kept */
	MRC_FABRIC_JITTER,    /* a random 0 .. param ns more, order kept */
	MRC_FABRIC_CORRUPT, /* one bit of bytes offset .. offset + param - 1 is flipped (param 0: to
			       the end); offset counts from Ethernet */
	MRC_FABRIC_TRUNCATE, /* param bytes are cut off the end */
	MRC_FABRIC_PAD,      /* param zero bytes are appended */
	MRC_FABRIC_MTU,      /* frames longer than param bytes disappear */
	MRC_FABRIC_ECN_ALL,  /* every ECT packet is marked */
	MRC_FABRIC_ECN_NONE, /* none is marked by this link's queue */
	MRC_FABRIC_ECN_ALT,  /* every second one */
	MRC_FABRIC_TRIM,     /* trimmable packets are cut whatever the queue */
	MRC_FABRIC_RATE,     /* the link runs at param bits/s */
	MRC_FABRIC_CARRIER,  /* no carrier, both directions */
	MRC_FABRIC_FLAP,     /* no carrier for param ns, up for spread ns, and so on */
	MRC_FABRIC_RESTART,  /* the selected switches lose every link and all queued packets until
				end_ns */
	MRC_FABRIC_NB_FAULT_KINDS,
};

/* "loss", "silent_discard", ...; NULL outside the range. */
const char *mrc_fabric_fault_kind_name(enum mrc_fabric_fault_kind kind);

enum mrc_fabric_match_field {
	MRC_FABRIC_MATCH_OPCODE = 1,
	MRC_FABRIC_MATCH_PSN = 2,
	MRC_FABRIC_MATCH_EV = 4,
	MRC_FABRIC_MATCH_DSCP = 8,
	MRC_FABRIC_MATCH_LEN = 16,
	MRC_FABRIC_MATCH_RTX = 32,
	MRC_FABRIC_MATCH_SRC = 64,
	MRC_FABRIC_MATCH_DST = 128,
	MRC_FABRIC_MATCH_QPN = 256,
};

/* Fields named in `fields` must all fit. Packets that are not MRC fit none of opcode, PSN, EV, QPN
 * and rtx. */
struct mrc_fabric_match {
	uint32_t fields;         /* enum mrc_fabric_match_field */
	uint64_t opcodes[4];     /* bit n of the 256 = opcode n fits */
	uint32_t psn_lo, psn_hi; /* inclusive */
	uint32_t ev, ev_mask;    /* (EV & ev_mask) == ev */
	uint64_t dscps;          /* bit n = DSCP n fits */
	uint32_t len_lo, len_hi; /* wire_len, inclusive */
	bool rtx;                /* BTH.rtx equals this */
	uint32_t src, dst;       /* host numbers */
	uint32_t qpn;            /* destination QP */
};

/*
 * Where, when, to which packets, how often, what. A packet is hit when it starts on a selected link
 * inside the window, fits the match, and: with nth > 0, it is number nth .. nth + count - 1 of the
 * fitting packets (and again every `period` packets, if not 0); then with probability `rate` (0 is
 * taken as 1); a hit draws the following burst - 1 fitting packets with it. Counting is per fault,
 * over all its links.
 */
struct mrc_fabric_fault {
	enum mrc_fabric_fault_kind kind;
	struct mrc_fabric_where where;
	uint64_t start_ns, end_ns; /* [start, end); end 0 = for ever */
	struct mrc_fabric_match match;
	double rate;
	uint32_t burst;
	uint64_t nth, count, period; /* count 0 = 1 */
	uint64_t max_hits;           /* 0 = no limit */
	uint64_t param, spread;
	uint32_t offset;
};

/* Errors: MRC_ERR_INVAL (nothing selected, rate outside 0..1, end before start, unknown kind),
 * MRC_ERR_NOMEM (max_faults). The handle is never 0. */
int mrc_fabric_fault_add(struct mrc_fabric *fabric, uint64_t now_ns,
	const struct mrc_fabric_fault *fault, uint32_t *handle_out);
/* Ends a fault and undoes what it holds (rate, carrier). MRC_ERR_NOENT. */
int mrc_fabric_fault_remove(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t handle);
struct mrc_fabric_fault_info {
	struct mrc_fabric_fault fault;
	uint64_t matches, hits; /* packets that fitted, packets (or switchings) hit */
	uint64_t first_hit_ns;  /* MRC_FABRIC_NEVER before */
	bool active;            /* inside its window */
};
int mrc_fabric_fault_query(
	const struct mrc_fabric *fabric, uint32_t handle, struct mrc_fabric_fault_info *info_out);

/* ---- counters ------------------------------------------------------------------------------- */

/* X(name, text) */
#define MRC_FABRIC_DROP_LIST(X)                                                                    \
	X(LOSS, "loss fault")                                                                      \
	X(DISCARD, "silent discard")                                                               \
	X(MTU, "longer than the path carries")                                                     \
	X(CARRIER, "link without carrier")                                                         \
	X(QUEUE, "data queue full")                                                                \
	X(CTRL_QUEUE, "queue of control and trimmed packets full")                                 \
	X(NO_ROUTE, "destination unknown")                                                         \
	X(HOP_LIMIT, "too many hops")                                                              \
	X(MALFORMED, "frame or uSID list that no switch can forward")                              \
	X(NO_PACKET, "max_packets under way")                                                      \
	X(INBOX, "host does not read its port")                                                    \
	X(FLOODED, "original of a flooded frame, replaced by its copies")

#define MRC_FABRIC_DROP_ENUM(name, text) MRC_FABRIC_DROP_##name,
enum mrc_fabric_drop {
	MRC_FABRIC_DROP_LIST(MRC_FABRIC_DROP_ENUM) MRC_FABRIC_NB_DROPS
};
#undef MRC_FABRIC_DROP_ENUM
const char *mrc_fabric_drop_name(enum mrc_fabric_drop reason);

/* One directed link. offered + copies = tx + drops + queued; tx = arrived + lost on the wire + on
 * the wire. */
struct mrc_fabric_link_counters {
	uint64_t offered_packets, offered_bytes; /* that wanted to use the link */
	uint64_t tx_packets, tx_bytes;           /* that started on it (bytes: with overhead) */
	uint64_t arrived_packets;                /* that came out at the far end */
	uint64_t duplicates;                     /* made on the wire by a fault */
	uint64_t marks, trims;
	uint64_t drops[MRC_FABRIC_NB_DROPS];
	uint64_t queued_packets, wire_packets; /* now */
	uint32_t queue_len, queue_max_len;     /* data queue in bytes, now and the longest seen */
	uint64_t queue_area;                   /* integral of queue_len over time, bytes x ns */
};
void mrc_fabric_link_counters_get(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t link,
	struct mrc_fabric_link_counters *counters_out);

/* The whole fabric: sent + copies = delivered + dropped + in_flight + unread. */
struct mrc_fabric_totals {
	uint64_t sent, copies, delivered, dropped, in_flight, unread;
	uint64_t delivered_trimmed, marks, trims;
	uint64_t drops[MRC_FABRIC_NB_DROPS];
	uint64_t hops;   /* links crossed by packets */
	uint64_t events; /* run so far */
};
void mrc_fabric_totals_get(const struct mrc_fabric *fabric, struct mrc_fabric_totals *totals_out);

/* Recounts every list and compares with the counters. NULL when they balance, else what does not.
 * Cost: all links and packets; for tests and simulators. */
const char *mrc_fabric_check(const struct mrc_fabric *fabric);

#endif
