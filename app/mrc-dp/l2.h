/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * l2.h - what an Ethernet port has to say besides RDMA: ARP, IPv6 neighbour discovery and ICMP
 * echo, answered and asked. Pure: a packet in, perhaps an answer out; time is an argument; one
 * object per port, used by one thread; no allocation.
 *
 * A neighbour is only learned when this side asked for it (mrc_l2_neigh_want). A packet that nobody
 * asked for can confirm a known link address but not change it: a change starts a verification
 * whose answer decides. So one forged packet moves nothing.
 *
 *   want ──► WAITING ──(answer)──► KNOWN ──(expiry, or a claim of another link address)──► VERIFY
 *               ▲                    ▲                                                       │ │
 *               │                    └──────────────────(answer)─────────────────────────────┘ │
 *               └───────────────────────────(nb_probes unanswered: forgotten)──────────────────┘
 */
#ifndef MRC_APP_L2_H
#define MRC_APP_L2_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_err.h"
#include "mrc_pkt.h"

enum {
	MRC_L2_NEIGHS = 64,       /* neighbours of one port */
	MRC_L2_ADDRS = 8,         /* own addresses of one port */
	MRC_L2_REQUEST_MAX = 128, /* room that mrc_l2_tx needs */
};

/* X(name, text): what became of a packet, and what was sent. One counter each. */
#define MRC_L2_LIST(X)                                                                             \
	X(ARP_ANSWERED, "ARP request for an address of ours, answered")                            \
	X(ARP_TAKEN, "ARP packet that told or confirmed a wanted neighbour")                       \
	X(NS_ANSWERED, "neighbour solicitation for an address of ours, answered")                  \
	X(NA_TAKEN, "neighbour advertisement that told or confirmed a wanted neighbour")           \
	X(ECHO_ANSWERED, "ICMP or ICMPv6 echo request, answered")                                  \
	X(TX_ARP, "ARP requests sent")                                                             \
	X(TX_NS, "neighbour solicitations sent")                                                   \
	X(TX_ANNOUNCE, "announcements of own addresses sent")                                      \
	X(LOST, "neighbours forgotten because they stopped answering")                             \
	X(OTHER, "neither ARP, nor neighbour discovery, nor echo")                                 \
	X(NOT_OURS, "for another station or address")                                              \
	X(UNWANTED, "about a neighbour that nobody asked for")                                     \
	X(UNVERIFIED, "a new link address of a known neighbour: being verified")                   \
	X(CONFLICT, "another station claims an address of ours")                                   \
	X(VLAN, "VLAN tag missing, unexpected or of another VLAN")                                 \
	X(SHORT, "shorter than its headers say")                                                   \
	X(MALFORMED, "a field holds what the protocol forbids")                                    \
	X(CHECKSUM, "wrong checksum")                                                              \
	X(HOP_LIMIT, "neighbour discovery that came through a router")                             \
	X(FRAGMENT, "echo request in fragments")                                                   \
	X(LIMITED, "answer withheld by the rate limit")                                            \
	X(TOO_LONG, "answer would not fit the buffer")

#define MRC_L2_ENUM(name, text) MRC_L2_##name,
enum mrc_l2_event {
	MRC_L2_LIST(MRC_L2_ENUM) MRC_NB_L2_EVENTS
};
#undef MRC_L2_ENUM

const char *mrc_l2_event_name(enum mrc_l2_event event);

struct mrc_l2_cfg {
	uint8_t mac[6];
	bool vlan;                          /* demand and send a tag */
	uint16_t vlan_tci;                  /* priority and identifier of the tag */
	struct mrc_gid addrs[MRC_L2_ADDRS]; /* own addresses, IPv4 mapped */
	uint32_t nb_addrs;
	uint64_t retry_ns; /* until a question is repeated; doubles up to retry_max_ns */
	uint64_t retry_max_ns;
	uint64_t expiry_ns;      /* a neighbour not heard of for so long is verified */
	uint32_t nb_probes;      /* unanswered verifications until it is forgotten */
	uint32_t requests_per_s; /* ceiling of questions, over all neighbours; burst of as many */
	uint32_t answers_per_s;  /* ceiling of answers; burst of as many */
};

/* All but mac and addresses: 200 ms doubling to 5 s, expiry 30 s, 3 probes, 100 questions and 1000
 * answers per second. */
void mrc_l2_cfg_default(struct mrc_l2_cfg *cfg_out);

enum mrc_l2_state {
	MRC_L2_FREE,
	MRC_L2_WAITING, /* asked, link address unknown */
	MRC_L2_KNOWN,
	MRC_L2_VERIFY, /* known and usable, being asked again */
	MRC_L2_STATIC, /* from the configuration; never asked, never changed */
};

struct mrc_l2_neigh {
	struct mrc_gid addr;
	uint8_t mac[6];
	uint8_t state;     /* enum mrc_l2_state */
	bool changed;      /* to be told by mrc_l2_change_poll */
	uint32_t nb_asked; /* questions since the last answer */
	uint64_t next_ns;  /* when the next question, or the verification, is due */
	uint64_t retry_ns; /* current interval of questions */
};

struct mrc_l2_bucket {
	uint64_t tokens_ns; /* saved time; one packet costs 1 s / rate */
	uint64_t last_ns;
};

struct mrc_l2 {
	struct mrc_l2_cfg cfg;
	struct mrc_l2_neigh neighs[MRC_L2_NEIGHS];
	struct mrc_l2_bucket requests, answers;
	uint32_t announce;    /* bit i: address i is still to be announced */
	uint64_t deadline_ns; /* earliest due time of all neighbours */
	uint64_t counters[MRC_NB_L2_EVENTS];
};

/* Errors: MRC_ERR_INVAL (group link address, no or too many addresses, a zero limit). */
int mrc_l2_init(struct mrc_l2 *l2_out, const struct mrc_l2_cfg *cfg, uint64_t now_ns);

/* True when a frame is for this module (ARP, ICMP, ICMPv6): what the engine does not know. Cheap.
 */
bool mrc_l2_is_mine(const uint8_t *frame, uint32_t len);

/*
 * Takes a frame. Returns what became of it (already counted); *reply_len_out is the length of the
 * answer written to reply (room bytes), 0 for none. reply may not overlap frame.
 */
enum mrc_l2_event mrc_l2_rx(struct mrc_l2 *l2, uint64_t now_ns, const uint8_t *frame, uint32_t len,
	uint8_t *reply, uint32_t room, uint32_t *reply_len_out);

/* Pull: writes the next question or announcement due (at most MRC_L2_REQUEST_MAX bytes) and returns
 * its length; 0: none due. Call when mrc_l2_deadline has passed. */
uint32_t mrc_l2_tx(struct mrc_l2 *l2, uint64_t now_ns, uint8_t *buf);
/* When mrc_l2_tx wants to be called next; UINT64_MAX = never. */
uint64_t mrc_l2_deadline(const struct mrc_l2 *l2);
/* Announces the own addresses (again): after start and after a link came up. */
void mrc_l2_announce(struct mrc_l2 *l2);

/* Starts to resolve a neighbour and keeps it known. No effect when it is wanted already. Errors:
 * MRC_ERR_NOMEM (table full), MRC_ERR_INVAL (no own address of that IP version, group address). */
int mrc_l2_neigh_want(struct mrc_l2 *l2, uint64_t now_ns, const struct mrc_gid *addr);
/* Nobody needs it any more. */
void mrc_l2_neigh_drop(struct mrc_l2 *l2, const struct mrc_gid *addr);
/* A neighbour of the configuration. Errors: MRC_ERR_NOMEM, MRC_ERR_INVAL (group address). */
int mrc_l2_neigh_static(struct mrc_l2 *l2, const struct mrc_gid *addr, const uint8_t *mac);
/* Link address of a neighbour, or NULL while it is not known. Valid until the next call. */
const uint8_t *mrc_l2_neigh_mac(const struct mrc_l2 *l2, const struct mrc_gid *addr);

/* Next neighbour that became known, changed or was lost (*mac_out NULL) since it was last told;
 * false when there is none. */
bool mrc_l2_change_poll(struct mrc_l2 *l2, struct mrc_gid *addr_out, const uint8_t **mac_out);

/* Ethernet group on which questions about an IPv6 address arrive: for the port's multicast filter.
 */
void mrc_l2_solicited_mac(const struct mrc_gid *addr, uint8_t *mac_out);

#endif
