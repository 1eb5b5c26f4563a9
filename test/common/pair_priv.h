/* SPDX-License-Identifier: BSD-2-Clause */
/* pair_priv.h - what the files of pair share and tests do not see. */
#ifndef PAIR_PRIV_H
#define PAIR_PRIV_H

#include "pair.h"

enum pair_event_kind {
	PAIR_EVENT_ARRIVE,
	PAIR_EVENT_HANDOVER,
	PAIR_EVENT_POLL,
	PAIR_EVENT_TIMER,
	PAIR_EVENT_UNBUSY,
	PAIR_EVENT_CALL,
};

struct pair_event {
	uint64_t time, seq;
	enum pair_event_kind kind;
	uint32_t arg;
	void *obj;
	void (*fn)(struct pair *p, void *arg);
};

/* pair_run.c */
void pair_push(struct pair *p, const struct pair_event *event);
bool pair_pop(struct pair *p, struct pair_event *event_out);
void pair_mix(struct pair *p, uint64_t x);

/* pair_wire.c */
void pair_wire_send(
	struct pair *p, struct pair_host *from, uint32_t plane, const uint8_t *frame, uint32_t len);
/* A packet reached the engine of a side: what it acknowledges counts from now on. */
void pair_wire_arrived(struct pair *p, const struct pair_pkt *pkt);
void pair_pkt_free(struct pair_pkt *pkt);

/* pair_check.c */
void pair_region_init(struct pair *p, struct pair_region *r, uint32_t len);
void pair_region_free(struct pair *p, struct pair_region *r);
void pair_pattern(uint8_t *data, uint32_t len, uint64_t salt, uint32_t pos);
void pair_drain(struct pair *p, struct pair_host *h);
void pair_placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len);
/* One line about an end, on stderr. */
void pair_report(struct pair *p, int side, uint32_t i);
void pair_settle(struct pair *p);
void pair_load_fill(struct pair *p, struct pair_qp *q);

static inline uint64_t pair_host_now(const struct pair_host *h)
{
	return h->pair->now + h->clock_off;
}

static inline uint32_t pair_index(const struct pair_qp *q)
{
	return (uint32_t)(q - q->pair->q[q->host->side]);
}

#endif
