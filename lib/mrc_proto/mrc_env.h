/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_env.h - the outside world as the pure libraries see it.
 *
 * Everything a library below app/ needs from its host comes through one struct: memory (at create
 * and destroy only), randomness and tracing. Time is an argument of every call (`now_ns`,
 * nanoseconds on a clock of the host's choice that never runs backwards).
 */
#ifndef MRC_ENV_H
#define MRC_ENV_H

#include <stddef.h>
#include <stdint.h>

/* What a trace call reports. Tracing must be pure: it may not change any state nor draw randomness.
 */
enum mrc_trace_kind {
	MRC_TRACE_QP_STATE,   /* a = qpn, b = old state, c = new state */
	MRC_TRACE_EV_STATE,   /* a = index of the entropy value, b = old state, c = new state */
	MRC_TRACE_LOSS,       /* a = qpn, b = psn, c = cause: 0 NACK, 1 path order, 2 distance,
				 3 probe, 4 timeout (enum loss_cause of mrc_sched) */
	MRC_TRACE_RETRANSMIT, /* a = qpn, b = psn, c = how often this PSN has been sent before */
	MRC_TRACE_TIMEOUT,    /* a = qpn, b = shared retry counter, c = interval in ns */
	MRC_TRACE_WINDOW,     /* a = qpn, b = cwnd in bytes, c = inflight in bytes */
	MRC_TRACE_RTT,        /* a = qpn, b = sample in ns, c = base RTT in ns */
	MRC_TRACE_MPR,        /* a = qpn, b = old window in PSNs, c = new window in PSNs */
};

struct mrc_env {
	void *ctx; /* handed to every function below; owned by the host */
	/* Zeroed memory of `size` bytes aligned to `align` (a power of two), or NULL. Only during
	 * create. */
	void *(*alloc)(void *ctx, size_t size, size_t align);
	/* Gives back what alloc returned. Only during destroy, or when create fails. */
	void (*free)(void *ctx, void *mem, size_t size);
	/* 64 random bits. A simulator returns them from its seed, a real endpoint from the OS
	 * generator. */
	uint64_t (*random64)(void *ctx);
	/* May be NULL. Never called with a kind that the host switched off by leaving this NULL. */
	void (*trace)(void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b,
		uint64_t c);
};

#endif
