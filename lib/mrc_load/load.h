/* SPDX-License-Identifier: BSD-2-Clause */
/* load.h - inside of a load, private to lib/mrc_load. */
#ifndef LOAD_H
#define LOAD_H

#include "mrc_assert.h"
#include "mrc_load.h"

enum {
	LOAD_POST_BATCH = 64,         /* messages posted per poll at most */
	LOAD_VERIFY_BATCH = 64 << 10, /* bytes verified per poll, rounded up to a piece */
	LOAD_WC_BATCH = 32,
	LOAD_NO_FLOW = -1,
};

/* Address of the region as the peer knows it. Nothing but the key guards it, so any will do. */
#define LOAD_REGION_VA ((uint64_t)1 << 40)

/* A message on its way. */
struct load_msg {
	uint64_t due_ns; /* from when its latency counts */
	uint32_t len;
	int32_t flow; /* index, or LOAD_NO_FLOW */
};

struct load_qp {
	struct mrc_load *load; /* the hook finds it through the QP's context */
	struct mrc_sched_qp *qp;
	uint32_t id;
	uint32_t psn;
	/* sender */
	struct load_msg *msgs; /* ring of `depth` */
	uint32_t msg_at;       /* oldest outstanding one */
	uint32_t nb_msgs;      /* outstanding */
	uint32_t slot;         /* of the next message */
	uint64_t tx_message;   /* number of the next message */
	bool failed;
	/* receiver */
	bool queued;            /* in the list of QPs with something to verify */
	uint32_t *lens;         /* by slot: what was placed there last */
	uint64_t placed;        /* messages placed */
	uint64_t verified;      /* of these, verified */
	uint32_t placed_slot;   /* of message `placed` */
	uint32_t verified_slot; /* of message `verified` */
	uint64_t verify_at;     /* bytes done of message `verified` */
	bool verify_bad;        /* a wrong byte was found in it already */
	uint64_t next_imm;      /* least message number the next immediate can have */
};

struct load_flow {
	uint64_t tag, bytes, unsent, start_ns, end_ns;
	uint32_t outstanding;
	bool failed;
};

/* Indices of flows, first in, first out. */
struct load_ring {
	uint32_t *items;
	uint32_t size, at, nb;
};

struct mrc_load {
	struct mrc_load_cfg cfg;
	struct mrc_dist sizes;
	struct mrc_sched *sched;
	struct mrc_env env;
	size_t mem_size;
	uint64_t rng;
	uint64_t now_ns; /* of the last poll */
	bool started;
	bool renewed; /* QPs were made anew: connect goes on where the run was */

	uint32_t pd;
	struct mrc_sched_cq *send_cq, *recv_cq;
	struct mrc_sched_mr source_mr, region_mr;
	struct load_qp *qps;
	uint32_t nb_created; /* QPs that exist in the engine */
	uint64_t slot_len;

	/* sender */
	bool sending; /* more is to be posted */
	uint32_t peer_rkey;
	uint64_t peer_va, peer_slot_len;
	uint64_t outstanding;
	uint64_t posted_bytes;
	double due_ns;            /* open loop: when the next message is due, since start */
	struct load_ring credits; /* QPs that may post one more message, fairly mixed */
	struct load_flow *flows;
	struct load_ring flows_free, flows_queued, flows_done;

	/* receiver */
	struct load_ring backlog; /* QPs with something to verify */
	uint64_t expected;        /* messages in all; UINT64_MAX = not known */
	uint64_t rx_bytes_binned;

	struct mrc_load_result result;
	struct mrc_hist latency;
	uint64_t *tx_bins, *rx_bins;
};

static inline void ring_push(struct load_ring *ring, uint32_t item)
{
	uint32_t to = ring->at + ring->nb;

	MRC_ASSERT(ring->nb < ring->size);
	ring->items[to < ring->size ? to : to - ring->size] = item;
	ring->nb++;
}

static inline uint32_t ring_pop(struct load_ring *ring)
{
	uint32_t item = ring->items[ring->at];

	MRC_ASSERT(ring->nb > 0);
	ring->at = ring->at + 1 == ring->size ? 0 : ring->at + 1;
	ring->nb--;
	return item;
}

/* splitmix64 */
static inline uint64_t load_random(struct mrc_load *load)
{
	uint64_t z = (load->rng += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* load.c: payload bytes into a bin. */
void load_bin_add(struct mrc_load *load, uint64_t *bins, uint64_t bytes);

/* cfg.c: largest message, slots of a QP (the default resolved), distance of slots. */
uint64_t load_max_message(const struct mrc_load_cfg *cfg);
uint32_t load_nb_slots(const struct mrc_load_cfg *cfg);
uint64_t load_slot_len(const struct mrc_load_cfg *cfg);

/* sender.c */
void sender_start(struct mrc_load *load);
void sender_complete(struct mrc_load *load);
/* Posts what is due; returns when it wants to be called again. */
uint64_t sender_post(struct mrc_load *load);
/* The QP has a new life; the peer has `placed` of its messages. MRC_ERR_INVAL: that cannot be. */
int sender_resume(struct mrc_load *load, struct load_qp *lq, uint64_t placed);
bool sender_done(const struct mrc_load *load);

/* receiver.c */
int receiver_start(struct mrc_load *load);
/* Collects receive completions. */
void receiver_complete(struct mrc_load *load);
/* The same, and verifies a batch; returns when it wants to be called again. */
uint64_t receiver_poll(struct mrc_load *load);
bool receiver_done(const struct mrc_load *load);

#endif
