/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - what the files of this folder share: packet records, links, the fabric object.
 *
 * A packet record is in exactly one list: the free list, one of a link's two queues, a link's wire
 * (packets under way, sorted by arrival) or a host's inbox. Each directed link has two events: its
 * transmitter becoming free while something waits, and the arrival of the first packet on its
 * wire. So the event queue is as long as the number of busy links, however many packets there are.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <stddef.h>

#include "frame.h"
#include "mrc_assert.h"
#include "mrc_fabric.h"
#include "wheel.h"

#define NONE UINT32_MAX

enum {
	MAX_HOPS = 16,
	CUT_THROUGH_LEN = 64, /* bytes a switch waits for before it forwards */
	MAX_COPIES = 16,      /* of one packet by one duplicate fault */
	MAX_BLOCKS = 24,      /* memory blocks of a fabric */
	NB_MEMOS = 16,        /* a power of two */
	AHEAD = 32,           /* events claimed before they are handled, a power of two */
	AHEAD_SECOND = 20,    /* of these, before which the second and the third step are done */
	AHEAD_THIRD = 10,
	AHEAD_MIN = 3, /* fewer events of one instant are not worth it */
};

/* What a hop needs, in one cache line. */
struct pkt {
	uint64_t at_ns; /* on a wire: arrival at the far end */
	uint8_t *data;
	void *ref;
	uint32_t next;
	uint32_t wire_len;
	uint32_t dst; /* host number, NONE: no such address */
	uint32_t hash;
	uint32_t ev;
	uint32_t src;
	uint16_t len;
	uint16_t flags; /* enum frame_flag */
	uint16_t ip_off, inner_off;
	uint8_t pkt_flags; /* enum mrc_fabric_pkt_flag */
	uint8_t hops, dscp, ecn;
	uint8_t prio; /* 1: control or trimmed */
	uint8_t trimmable;
	uint8_t opcode;
	bool copied; /* a flooded copy on its way to `dst` */
} __attribute__((aligned(64)));

/* What it seldom needs; same index. */
struct pkt_cold {
	uint64_t tail_ns; /* cut-through: when the last byte is in */
	uint32_t psn, qpn;
};

struct list {
	uint32_t head, tail;
};

/* How long a number of bytes takes at a rate; a few of them serve all links. */
struct ser_memo {
	uint64_t rate_bps;
	uint64_t rem; /* 1/rate parts of a nanosecond beyond ns */
	uint64_t ns;  /* a slow link takes minutes for a packet */
	uint32_t len; /* 0: free */
};

/*
 * Three cache lines that packets need, then what is rare. An arrival takes the first one only, and
 * a link is far out of the cache by then: a large fabric has more links than fit.
 */
struct link {
	struct list wire;
	uint64_t wire_tail_ns; /* arrival of its last packet */
	uint64_t arrived;      /* packets that came out at the far end */
	uint32_t nb_wire;
	uint32_t far_end;     /* switch or host number within its kind and plane */
	struct list queue[2]; /* [0] data, [1] control and trimmed */
	uint32_t queue_len[2];
	uint16_t plane;
	uint8_t cls;
	bool up;
	bool tap;
	bool faulty; /* faults that act on packets are active */

	uint64_t busy_ns;  /* transmitter free from here on ... */
	uint64_t busy_rem; /* ... plus this many 1/rate parts of a nanosecond */
	uint64_t rate_bps; /* in force: of the configuration or of a fault */
	uint64_t fifo_ns;  /* arrival of the last packet that kept its place */
	uint64_t area_ns;  /* queue_area is right up to here */
	uint64_t queue_area;
	uint32_t nb_queued;
	uint32_t serving_len; /* data packet on the transmitter, 0 for others */
	uint32_t queue_max_len;
	uint32_t trim_len; /* of cfg, as the next four */

	uint32_t drop_len, ctrl_len;
	uint32_t ecn_min_len, ecn_max_len;
	uint64_t delay_ns;
	uint64_t offered_packets, offered_bytes, tx_packets, tx_bytes, marks;

	struct mrc_fabric_link_cfg cfg;
	uint32_t near_end;  /* the same as far_end at the sending end */
	uint32_t reverse;   /* the cable's other direction */
	uint16_t down_refs; /* active faults that hold the carrier down */
	bool admin_up;
	uint64_t duplicates, trims;
	uint64_t drops[MRC_FABRIC_NB_DROPS];
	uint64_t queue_drops, wire_drops; /* the same, by place */
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct link, busy_ns) == 64 && offsetof(struct link, drop_len) == 128 &&
		       offsetof(struct link, cfg) == 192,
	"lines of a link");

struct inbox {
	struct list list;
	uint32_t nb;
	uint32_t next_ready, next_carrier;
	bool in_ready, in_carrier;
	bool carrier_said; /* last state handed out */
};

struct fault {
	struct mrc_fabric_fault cfg;
	uint64_t matches, hits, first_hit_ns;
	uint64_t rate_bound; /* a 64-bit random number below this is a hit; UINT64_MAX = always */
	uint32_t burst_left;
	uint32_t generation;
	bool used, active;
	bool phase_down; /* flap */
	bool alternate;
};

struct addr_slot {
	struct mrc_gid gid;
	uint32_t host; /* NONE: free slot */
};

struct block {
	void *mem;
	size_t size;
};

struct mrc_fabric {
	struct mrc_fabric_cfg cfg;
	struct mrc_fabric_ops ops;
	struct mrc_env env;
	uint32_t nb_hosts, nb_links, links_per_plane;
	struct link *links;
	struct pkt *pkts;
	struct pkt_cold *cold;
	uint32_t free_head, nb_free;
	struct inbox *inboxes; /* [host * nb_planes + plane] */
	struct list ready, carrier;
	struct fault *faults;
	uint64_t *fault_bits; /* [link * fault_words + word] */
	uint32_t fault_words;
	struct addr_slot *addrs;
	uint32_t addr_mask, nb_addrs;
	uint64_t *salts; /* per plane: leaves, then spines */
	uint64_t rng[4];
	struct wheel wheel;
	struct ser_memo memo[NB_MEMOS];
	uint32_t fault_node; /* first wheel node of the faults */
	uint64_t run_ns;     /* how far the last mrc_fabric_run was told to go */
	struct mrc_fabric_totals tot;
	uint64_t other_drops; /* drops that belong to no link */
	struct block blocks[MAX_BLOCKS];
	uint32_t nb_blocks;
};

/* ---- fabric.c */
uint64_t mrc_fabric_random(struct mrc_fabric *f);
/* A record holding *in, NULL when none is free. */
struct pkt *mrc_fabric_pkt_get(struct mrc_fabric *f, const struct mrc_fabric_pkt *in);
void mrc_fabric_pkt_put(struct mrc_fabric *f, struct pkt *p);
/* Frees the buffer and counts; link NULL: at no link. on_wire tells queue and wire drops apart. */
void mrc_fabric_pkt_drop(struct mrc_fabric *f, struct link *l, struct pkt *p,
	enum mrc_fabric_drop why, bool on_wire);
/* Copy of a packet with its metadata; NULL when there is no buffer or record. */
struct pkt *mrc_fabric_pkt_clone(struct mrc_fabric *f, const struct pkt *p);
void mrc_fabric_pkt_view(const struct pkt *p, struct mrc_fabric_pkt *view_out);
/* An inbox has something to read. */
void mrc_fabric_inbox_ready(struct mrc_fabric *f, uint32_t index);
uint32_t mrc_fabric_addr_find(const struct mrc_fabric *f, const struct mrc_gid *gid);
/* DSCP class into priority and permission to trim. */
void mrc_fabric_pkt_classify(const struct mrc_fabric *f, struct pkt *p);

static inline uint32_t pkt_index(const struct mrc_fabric *f, const struct pkt *p)
{
	return (uint32_t)(p - f->pkts);
}

/* Is the IP header at off still there (a fault may have cut the frame)? */
static inline bool pkt_header_whole(const struct pkt *p, uint32_t off)
{
	uint32_t need = off + (p->flags & FRAME_V6 ? (uint32_t)MRC_IPV6_LEN : MRC_IPV4_LEN);

	return (p->flags & FRAME_IP) && p->len >= need;
}

static inline struct pkt_cold *pkt_cold(const struct mrc_fabric *f, const struct pkt *p)
{
	return &f->cold[p - f->pkts];
}

static inline void list_push(struct mrc_fabric *f, struct list *list, struct pkt *p)
{
	uint32_t i = pkt_index(f, p);

	p->next = NONE;
	if (list->tail == NONE)
		list->head = i;
	else
		f->pkts[list->tail].next = i;
	list->tail = i;
}

static inline struct pkt *list_pop(struct mrc_fabric *f, struct list *list)
{
	struct pkt *p;

	if (list->head == NONE)
		return NULL;
	p = &f->pkts[list->head];
	list->head = p->next;
	if (list->head == NONE)
		list->tail = NONE;
	return p;
}

/* ---- link.c: queue, transmitter, wire */
void mrc_fabric_link_offer(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns);
void mrc_fabric_link_tx(struct mrc_fabric *f, struct link *l, uint64_t now_ns);
void mrc_fabric_link_arrive(struct mrc_fabric *f, struct link *l, uint64_t now_ns);
/* Puts the carrier and the rate in force after a change of their causes. */
void mrc_fabric_link_update(struct mrc_fabric *f, struct link *l, uint64_t now_ns);
void mrc_fabric_pkt_trim(struct mrc_fabric *f, struct link *l, struct pkt *p);
/* Data bytes waiting, with the packet on the transmitter. */
uint32_t mrc_fabric_link_occupancy(const struct link *l, uint64_t now_ns);
/* Live: what a fault that is over delays beyond a second from now arrives then. */
void mrc_fabric_link_release(struct mrc_fabric *f, struct link *l, uint64_t now_ns);
/* Brings queue_area up to now_ns. */
void mrc_fabric_link_area(struct link *l, uint64_t now_ns);
/* Another configuration; the rate in force is mrc_fabric_link_update's. */
void mrc_fabric_link_cfg_set(struct link *l, const struct mrc_fabric_link_cfg *cfg);

/* ---- forward.c */
/* A packet came out of link l at its far end: a switch or a host. */
void mrc_fabric_forward(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns);
/* The link that forward will take for a plain packet, NULL for others. Changes nothing. */
const struct link *mrc_fabric_forward_guess(
	const struct mrc_fabric *f, const struct link *l, const struct pkt *p);

/* ---- topo.c */
struct link *mrc_fabric_host_link(
	const struct mrc_fabric *f, uint32_t plane, uint32_t host, bool up);
struct link *mrc_fabric_leaf_link(
	const struct mrc_fabric *f, uint32_t plane, uint32_t leaf, uint32_t spine, bool up);
void mrc_fabric_topo_init(struct mrc_fabric *f);

/* ---- fault.c */
/* What the faults of a link do to a packet that starts on it. */
struct fault_effect {
	uint64_t delay_ns; /* order kept */
	uint64_t hold_ns;  /* order given up */
	uint32_t copies;
	uint64_t copy_gap_ns;
	bool drop;
	enum mrc_fabric_drop why;
	bool no_mark, mark, trim;
};
void mrc_fabric_fault_apply(struct mrc_fabric *f, struct link *l, struct pkt *p, uint64_t now_ns,
	struct fault_effect *effect_out);
void mrc_fabric_fault_timer(struct mrc_fabric *f, uint32_t index, uint64_t now_ns);
/* Does it act on, and count, packets that start on links of this class? */
bool mrc_fabric_fault_counts_at(
	const struct mrc_fabric *f, const struct fault *fault, enum mrc_fabric_link_class cls);
/* Slowest rate that an active fault sets, or the configured one. */
uint64_t mrc_fabric_fault_rate(const struct mrc_fabric *f, const struct link *l);

#endif
