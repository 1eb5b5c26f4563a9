/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_pattern.h - who sends how much to whom, and when: a pure generator of flows. The host opens
 * connections and sends; this module only names flows, in the order of their indices.
 *
 * A flow without a dependency begins at start_ns; one with a dependency begins start_ns after that
 * flow has arrived completely at its destination. Flows without one come in order of start_ns; a
 * dependency is always an earlier index.
 */
#ifndef MRC_PATTERN_H
#define MRC_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_dist.h"
#include "mrc_env.h"

#define MRC_PATTERN_NONE UINT64_MAX

enum mrc_pattern_kind {
	MRC_PATTERN_PAIR,       /* host `first` to host `second` */
	MRC_PATTERN_SHIFT,      /* i to (i + shift) mod n; shift 0: n / 2 */
	MRC_PATTERN_RANDOM,     /* a random permutation without fixed points */
	MRC_PATTERN_INCAST,     /* `fan_in` hosts from `second` on, in a circle, all to `first` */
	MRC_PATTERN_RING,       /* i to (i + 1) mod n */
	MRC_PATTERN_ALL_TO_ALL, /* everyone to everyone else; i's k-th flow goes to i + k */
	MRC_PATTERN_ALL_REDUCE, /* ring all-reduce: 2 (n - 1) steps of bytes / n each */
	MRC_PATTERN_LIST,       /* what the host lists */
	MRC_PATTERN_ALTERNATE,  /* rounds of all-to-all and ring in turn; of the ring, flows are so
				   large that a host sends as much as in the other */
};

/* When the flows of a round begin. */
enum mrc_pattern_arrival {
	MRC_PATTERN_AT_ONCE, /* all together, at the round's beginning */
	MRC_PATTERN_POISSON, /* open loop over all hosts: exponential gaps of mean bytes / rate_bps,
				each flow drawn from those of a round; not with ALL_REDUCE, LIST */
};

enum mrc_pattern_class {
	MRC_PATTERN_BULK,
	MRC_PATTERN_VICTIM,     /* shares a rack, not the destination, with an incast */
	MRC_PATTERN_BACKGROUND, /* to be sent over one path */
};

struct mrc_pattern_flow {
	uint64_t index;    /* 0, 1, 2 ... */
	uint64_t start_ns; /* time, or pause behind `after` */
	uint64_t after;    /* index of the flow it depends on, or MRC_PATTERN_NONE */
	uint64_t bytes;
	uint32_t src, dst; /* hosts; never the same */
	uint32_t round;
	enum mrc_pattern_class cls;
};

struct mrc_pattern_cfg {
	enum mrc_pattern_kind kind;
	enum mrc_pattern_arrival arrival;
	uint32_t nb_hosts; /* 2 or more */
	uint32_t first, second, fan_in, shift;
	uint64_t bytes;               /* of a flow; ALL_REDUCE: of the vector */
	const struct mrc_dist *sizes; /* instead of bytes; copied; not with ALL_REDUCE */
	uint64_t start_ns;
	uint32_t rounds; /* how often the pattern is repeated; 0 counts as 1 */
	/*
	 * AT_ONCE: distance of rounds. With round_wait each flow of a round instead waits for its
	 * predecessor, the flow of the same place one round earlier, and then for this pause
	 * (bursts when it is not 0). ALL_REDUCE always waits.
	 */
	uint64_t round_ns;
	bool round_wait;
	double rate_bps; /* POISSON */
	/* One more flow in the first round, INCAST's victim: from victim_src to victim_dst. */
	bool victim;
	uint32_t victim_src, victim_dst;
	uint64_t victim_bytes;
	/* And one of background traffic. */
	bool background;
	uint32_t background_src, background_dst;
	uint64_t background_bytes;
	/* LIST: sorted by start_ns; index, after, round are ignored; not copied, outlives the
	 * pattern. */
	const struct mrc_pattern_flow *list;
	uint64_t nb_list;
};

struct mrc_pattern; /* opaque */

/* Errors: MRC_ERR_INVAL (*key_out, may be NULL, names the member), MRC_ERR_NOMEM. Randomness comes
 * from env at create only. */
int mrc_pattern_create(const struct mrc_pattern_cfg *cfg, const struct mrc_env *env,
	struct mrc_pattern **pattern_out, const char **key_out);
void mrc_pattern_destroy(struct mrc_pattern *pattern);
/* Next flow; false when there is none. */
bool mrc_pattern_next(struct mrc_pattern *pattern, struct mrc_pattern_flow *flow_out);
/* How many flows there are in all. */
uint64_t mrc_pattern_count(const struct mrc_pattern *pattern);

#endif
