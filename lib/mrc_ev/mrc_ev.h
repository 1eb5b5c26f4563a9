/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_ev.h - entropy values: which path the next packet takes. Feedback in, next EV out.
 *
 * A set holds the EVs towards one peer under one profile; it is shared by the QPs of one worker
 * that talk to that peer, so that one QP's bad experience spares the others. Each QP has a cursor
 * of its own. The module knows neither QPs nor packets nor congestion windows. One set belongs to
 * one thread.
 *
 *          SKIP_ONCE, trimmed (not last hop), late
 *    GOOD ---------------------------------------> SKIP ----> GOOD (the walk has met it and its
 *      |                                             |              time is over)
 *      +-- ALWAYS_SKIP, lost, timeout ---------------+--> ASSUMED_BAD
 *
 *    ASSUMED_BAD --- revive_count probes answered ---> GOOD, or SKIP when the last one was marked
 *    any         <-- the controller's word ---> DENIED, GOOD
 */
#ifndef MRC_EV_H
#define MRC_EV_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_env.h"
#include "mrc_err.h"
#include "mrc_limits.h"

#define MRC_EV_NONE 0xFFFFu /* "no entropy value" wherever an index is returned or taken */
#define MRC_EV_MAX  4096u   /* most entries of one set */

#define MRC_EV_SKIPS         32u /* skip_max_ns is so many skip_ns unless somebody says otherwise */
#define MRC_EV_SKIP_LIMIT_NS (UINT64_C(1) << 59) /* of skip_ns and of skip_max_ns */

enum mrc_ev_mode {
	MRC_EV_MODE_UDP,  /* 16 bits: UDP source port */
	MRC_EV_MODE_STEV, /* 32 bits: source port and flow label */
	MRC_EV_MODE_SRV6, /* as STEV, and an outer destination with an optional segment */
};

/* API bit values (mrc_ctl_ev_state); SKIP is internal and reads as GOOD outside. */
enum mrc_ev_state {
	MRC_EV_GOOD = 1,
	MRC_EV_ASSUMED_BAD = 2,
	MRC_EV_DENIED = 4,
	MRC_EV_SKIP = 8,
};

/* One path. */
struct mrc_ev {
	uint32_t value; /* what goes into source port and flow label, unique within a plane of a set
			 */
	uint8_t plane;  /* 0-based */
	bool has_seg;   /* SRV6: srv6_seg is used */
	uint8_t srv6_dst[16]; /* SRV6: outer destination, network order */
	uint8_t srv6_seg[16]; /* SRV6: the one segment of the SRH */
};

struct mrc_ev_cfg {
	enum mrc_ev_mode mode;
	const struct mrc_ev *evs; /* copied by create */
	uint32_t nb_evs;          /* 1 .. MRC_EV_MAX */
	uint32_t nb_active; /* the first nb_active are used, the rest are spares of their planes; 0
			       = all */
	/* This many stay out of ASSUMED_BAD (SKIP instead). 0: a quarter of nb_active, at least 2
	 * per plane, but never more than half of nb_active. */
	uint32_t min_active;
	uint8_t nb_planes; /* 1 .. MRC_MAX_PLANES */
	/* About one RTT: a mark that comes sooner than this after a SKIP is about a packet from
	 * before it. A SKIP that has to be longer than one pass begins with half of it. */
	uint64_t skip_ns;
	uint64_t skip_max_ns; /* the longest SKIP; 0: marks and trims do not matter */
	uint64_t
		probe_ns; /* interval of probes to an ASSUMED_BAD EV, doubling up to probe_max_ns */
	uint64_t probe_max_ns;
	uint8_t revive_count; /* answered probes in a row that bring an EV back; >= 1 */
};

/* Sensible defaults for everything but mode, evs, nb_evs, nb_planes. */
void mrc_ev_cfg_default(struct mrc_ev_cfg *cfg_out);

/*
 * Fills evs[0 .. nb) with nb distinct random values spread equally over nb_planes planes (plane i %
 * nb_planes), in the range of `mode` (UDP: 16 bits, low values below 0xC000 avoided as IBTA does;
 * STEV: 32 bits with flow label 20 bits respected).
 */
void mrc_ev_generate(struct mrc_ev *evs_out, uint32_t nb, uint8_t nb_planes, enum mrc_ev_mode mode,
	const struct mrc_env *env);

struct mrc_ev_set; /* opaque */

/*
 * A QP's place in the walk. Zero-initialise; owned by the QP. Each plane's pass goes at its own
 * pace, so each has its own step; the part of the order that is reshuffled is redrawn at its end.
 */
struct mrc_ev_cursor {
	uint8_t plane; /* plane whose turn it is */
	bool started;  /* the orders were drawn */
	uint32_t
		walk[MRC_MAX_PLANES]; /* bits 0-11: step within the pass, 12-31: the pass's order */
};

/* Creates a set. Errors: MRC_ERR_INVAL (counts, planes, duplicate values), MRC_ERR_NOMEM. */
int mrc_ev_create(
	const struct mrc_ev_cfg *cfg, const struct mrc_env *env, struct mrc_ev_set **set_out);
void mrc_ev_destroy(struct mrc_ev_set *set);

/*
 * Index of the EV for the next packet, or MRC_EV_NONE when none may be used now. Planes take equal
 * turns; inside a plane each usable EV is visited once per pass, one pass give or take a sixteenth
 * after its last use (in one pass of 1024, at random, the order is drawn anew).
 * A SKIP entry that the walk meets is passed; one per call becomes GOOD by that, if its time is
 * over. Its time is nothing at first, and grows while it is marked again and others are not; what
 * is late (and has no such time) rests for skip_ns from the last word of it, or until a mark or
 * trim tells that it lives. When more than half of a plane's entries are
 * SKIP nothing is passed (congestion is everywhere, avoiding it is the window's task). Without any
 * GOOD or SKIP entry on a usable plane an ASSUMED_BAD one is used (prefer sending to silence),
 * never a DENIED one.
 *
 * planes: bit p set = plane p may be used now (carrier, neighbour known, not back-pressured). A
 * plane that is missing here but usable by mrc_ev_plane counts as busy for a moment: the answer is
 * MRC_EV_NONE rather than an ASSUMED_BAD entry of another plane, which would draw all traffic while
 * the good planes are full. So say by mrc_ev_plane that a plane is down; leaving it out of the mask
 * is not enough.
 *
 * avoid: an index that must not be returned (the EV that was NACKed) unless it is the only one
 * left; MRC_EV_NONE for none. Cost: about 3 ns in the common case.
 */
uint32_t mrc_ev_next(struct mrc_ev_set *set, struct mrc_ev_cursor *cursor, uint64_t now_ns,
	uint32_t planes, uint32_t avoid);

/* Asks the cache for the set: step 0 for its head, then, after a while, step 1 for its entries. */
void mrc_ev_fetch(const struct mrc_ev_set *set, uint32_t step);

/* The path behind an index. */
const struct mrc_ev *mrc_ev_get(const struct mrc_ev_set *set, uint32_t index);
/* Index of a value on a plane, or MRC_EV_NONE. Linear or hashed; for answers that only name the
 * value. */
uint32_t mrc_ev_find(const struct mrc_ev_set *set, uint32_t value, uint8_t plane);
uint32_t mrc_ev_count(const struct mrc_ev_set *set);
enum mrc_ev_state mrc_ev_state(const struct mrc_ev_set *set, uint32_t index);
/* Number of entries in a state; plane < 0 = all planes. */
uint32_t mrc_ev_state_count(const struct mrc_ev_set *set, enum mrc_ev_state state, int plane);

enum mrc_ev_feedback {
	MRC_EV_FB_GOOD,        /* SACK with M NONE for a packet on this EV */
	MRC_EV_FB_MARKED,      /* SACK with SKIP_ONCE */
	MRC_EV_FB_ALWAYS_SKIP, /* SACK with ALWAYS_SKIP */
	MRC_EV_FB_TRIMMED,     /* NACK TRIMMED (not last hop: that one gives no feedback) */
	MRC_EV_FB_LATE,        /* silent, and a packet overdue, but not judged lost yet */
	MRC_EV_FB_LOST,        /* declared lost by order or distance, not trimmed */
	MRC_EV_FB_TIMEOUT,     /* a timer expired for a packet on this EV */
	MRC_EV_FB_PROBE_GOOD,  /* an EV probe was answered */
	MRC_EV_FB_PROBE_MARKED,
	MRC_EV_FB_PROBE_LOST, /* an EV probe was not answered in time */
};

void mrc_ev_feedback(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_feedback what);

/*
 * Silence: a packet of an EV, the oldest in flight there of one of those who share the set, has
 * been missed for long. A path that is only slow goes on answering, so that the packet is heard of
 * soon; one that swallows everything does not. The set keeps one such packet by the caller's name
 * of it; the caller asks which (MRC_EV_MISSES_NONE at first), looks whether that one is still in
 * flight, and names another if it is not.
 */
#define MRC_EV_MISSES_NONE UINT64_MAX

uint64_t mrc_ev_misses(const struct mrc_ev_set *set, uint32_t index);
void mrc_ev_miss(struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, uint64_t name);
/* Since the packet was named, or since the last mark or trim of this EV (ns). */
uint64_t mrc_ev_silence_ns(const struct mrc_ev_set *set, uint64_t now_ns, uint32_t index);

/* The controller's word: GOOD or DENIED. Errors: MRC_ERR_INVAL. */
int mrc_ev_set_state(
	struct mrc_ev_set *set, uint64_t now_ns, uint32_t index, enum mrc_ev_state state);

/*
 * The peer or the local port says a plane is usable or not: an unusable plane is skipped, but its
 * ASSUMED_BAD entries go on being probed. When every plane is said to be unusable the word is
 * ignored (it may be stale, and silence could not mend it).
 */
void mrc_ev_plane(struct mrc_ev_set *set, uint64_t now_ns, uint8_t plane, bool usable);

/* Index of an EV that wants a probe now (and notes that one is sent), or MRC_EV_NONE. Ask until
 * MRC_EV_NONE. */
uint32_t mrc_ev_probe_next(struct mrc_ev_set *set, uint64_t now_ns);
/* When mrc_ev_probe_next is worth asking again; UINT64_MAX = nothing to probe. May be early before
 * mrc_ev_probe_next has said MRC_EV_NONE. */
uint64_t mrc_ev_deadline(const struct mrc_ev_set *set);

/* A change that the controller wants to hear of (GOOD and ASSUMED_BAD only). */
struct mrc_ev_event {
	uint32_t index;
	enum mrc_ev_state state;
	uint32_t dropped; /* events lost just before this one because nobody polled */
};

/* Next event; false when there is none. */
bool mrc_ev_event_poll(struct mrc_ev_set *set, struct mrc_ev_event *event_out);

#endif
