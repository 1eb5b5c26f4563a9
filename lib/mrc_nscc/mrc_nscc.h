/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_nscc.h - the congestion window of one QP. Events in, window out. Knows no packets, paths or
 * QPs.
 *
 * Sizes are nominal packet sizes in bytes (UDP length + 40, the same number at both ends). One
 * object belongs to one thread. doc/congestion.md holds the algorithm as implemented.
 */
#ifndef MRC_NSCC_H
#define MRC_NSCC_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_err.h"

#define MRC_NSCC_NO_RTT UINT64_MAX /* "this answer gives no RTT sample" */

enum mrc_nscc_algorithm {
	MRC_NSCC_FIXED, /* window stays at max_cwnd */
	MRC_NSCC_UET10, /* "uet-1.0-nscc" */
};

/* Resolved parameters; immutable, shared by the QPs of a profile. Units: bytes and ns. */
struct mrc_nscc_cfg {
	enum mrc_nscc_algorithm algorithm;
	bool disable_qa;
	uint8_t qa_gate;
	uint32_t mtu; /* nominal size of a full packet */
	uint32_t adjust_bytes_threshold;
	uint32_t adjust_period_ns;
	uint32_t base_rtt_ns;
	uint32_t min_base_rtt_ns; /* shorter samples count as this; 0 = no floor */
	uint32_t max_cwnd;
	uint32_t qa_threshold_ns; /* UINT32_MAX = never */
	uint32_t target_delay_ns;
	double eta, fi, fi_scale, gamma, max_md_jump;
	double alpha; /* bytes per ns; derived, see mrc_nscc_cfg_default */
};

/*
 * Defaults of the algorithm for a line rate (whole endpoint, bits/s), an unloaded RTT, the nominal
 * size of a full packet, and whether switches trim. Whatever the arguments, the result passes
 * mrc_nscc_cfg_check as long as base RTT and packet size themselves are in range.
 */
void mrc_nscc_cfg_default(struct mrc_nscc_cfg *cfg_out, uint64_t rate_bps, uint32_t base_rtt_ns,
	uint32_t mtu, bool trimming);
/* MRC_OK or MRC_ERR_INVAL; *key_out (may be NULL) then names the member out of range. */
int mrc_nscc_cfg_check(const struct mrc_nscc_cfg *cfg, const char **key_out);

/* State; embed it in the QP. Members are private to the module, visible for the sake of size only.
 */
struct mrc_nscc {
	const struct mrc_nscc_cfg *cfg;
	int64_t inflight;    /* bytes sent and neither received nor lost; may fall below 0 */
	int64_t cwnd;        /* bytes */
	int64_t max_cwnd;    /* ceiling at the present base RTT */
	double acc;          /* increase not yet applied, bytes squared */
	double avg_delay;    /* ns */
	uint64_t base_rtt;   /* ns, only falls */
	uint64_t t_adj;      /* last periodic adjustment */
	uint64_t t_dec;      /* last multiplicative decrease */
	uint64_t qa_end;     /* quick adapt: end of the epoch, 0 before the first one */
	int64_t achieved;    /* received since the epoch began */
	int64_t recv;        /* received since the last adjustment */
	int64_t ignored;     /* gone by since the last quick adapt */
	int64_t to_ignore;   /* marks and trims count for nothing until `ignored` reaches this */
	int64_t fi_count;    /* received in a row at almost no delay */
	int64_t saved;       /* window before the receiver's host pushed back, 0 = none */
	uint32_t rcvd_units; /* last rcvd_bytes taken, units of 256 */
	bool fast;           /* fast increase is on */
	bool armed;          /* a trim waits for quick adapt to act */
};

void mrc_nscc_init(struct mrc_nscc *cc, const struct mrc_nscc_cfg *cfg, uint64_t now_ns);

/* A packet left (first or again). */
void mrc_nscc_on_sent(struct mrc_nscc *cc, uint32_t size);
/* A PSN thought lost was acknowledged before it was sent again: its size was subtracted twice. */
void mrc_nscc_on_unlost(struct mrc_nscc *cc, uint32_t size);

/* What on_loss was told of was not lost: the window gets the size back. */
void mrc_nscc_on_spurious(struct mrc_nscc *cc, uint32_t size);

struct mrc_nscc_sack {
	uint32_t rcvd_units; /* 24-bit rcvd_bytes of the SACK, units of 256 bytes */
	bool marked;         /* the triggering packet was CE-marked */
	bool restore;        /* restore_cwnd */
	uint8_t pen;         /* rcv_cwnd_pen */
	uint64_t rtt_ns;     /* or MRC_NSCC_NO_RTT */
};

/* Returns the newly received bytes that the SACK reported (0 when it is stale). */
uint32_t mrc_nscc_on_sack(struct mrc_nscc *cc, uint64_t now_ns, const struct mrc_nscc_sack *sack);
/* trimmed: reason TRIMMED or TRIMMED_LASTHOP; other reasons only lower inflight. */
void mrc_nscc_on_nack(
	struct mrc_nscc *cc, uint64_t now_ns, uint32_t size, bool trimmed, uint64_t rtt_ns);
/* Timeout, SACK gap or probe said a packet is lost. */
void mrc_nscc_on_loss(struct mrc_nscc *cc, uint64_t now_ns, uint32_t size);

/* May a packet of this size leave now? With nothing in flight one always may. */
static inline bool mrc_nscc_may_send(const struct mrc_nscc *cc, uint32_t size)
{
	return cc->inflight + (int64_t)size <= cc->cwnd || cc->inflight <= 0;
}

/* Whole bytes. */
uint32_t mrc_nscc_cwnd(const struct mrc_nscc *cc);
int64_t mrc_nscc_inflight(const struct mrc_nscc *cc);
uint64_t mrc_nscc_base_rtt(const struct mrc_nscc *cc);
/* After counting the last packet the window holds less than one more: time to ask for an
 * acknowledgement. */
bool mrc_nscc_wants_ack(const struct mrc_nscc *cc);

#endif
