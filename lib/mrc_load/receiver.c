/* SPDX-License-Identifier: BSD-2-Clause */
/* receiver.c - what arrived, and whether it is what was sent. mrc_load.h argues why a slot cannot
 * be overwritten before it is looked at. */
#include "load.h"

enum {
	SAMPLE = 64,         /* bytes of one sample */
	SAMPLE_EVERY = 4096, /* and its stretch */
};

static uint32_t nb_receives(const struct mrc_load *load)
{
	return 2 * load->cfg.depth;
}

int receiver_start(struct mrc_load *load)
{
	struct mrc_sched_recv_wr wr = {0};

	for (uint32_t i = 0; i < load->cfg.nb_qps; i++) {
		for (uint32_t n = 0; n < nb_receives(load); n++) {
			int err = mrc_sched_post_recv(load->sched, load->qps[i].qp, &wr);

			if (err != MRC_OK)
				return err;
		}
	}
	return MRC_OK;
}

void mrc_load_expect(struct mrc_load *load, uint64_t messages)
{
	load->expected = messages;
}

bool receiver_done(const struct mrc_load *load)
{
	return load->result.rx_messages >= load->expected && load->backlog.nb == 0;
}

static uint64_t slot_offset(const struct mrc_load *load, const struct load_qp *lq, uint32_t slot)
{
	return ((uint64_t)lq->id * load->cfg.nb_slots + slot) * load->slot_len;
}

static uint32_t next_slot(const struct mrc_load *load, uint32_t slot)
{
	return slot + 1 == load->cfg.nb_slots ? 0 : slot + 1;
}

/* ---- verification */

static void note_wrong(struct mrc_load *load, struct load_qp *lq, uint64_t at, uint64_t offset,
	const uint8_t *have, uint64_t wrong)
{
	struct mrc_load_result *result = &load->result;

	result->bytes_corrupt += wrong;
	if (!lq->verify_bad)
		result->messages_corrupt++;
	lq->verify_bad = true;
	if (result->bytes_corrupt != wrong)
		return;
	result->bad_qp = lq->id;
	result->bad_message = lq->verified;
	result->bad_offset = offset;
	result->bad_found = *have;
	result->bad_expected = mrc_load_pattern_byte(load->cfg.seed, at + offset);
}

/* Compares bytes [from, from + len) of message number lq->verified; from a multiple of 8. */
static void compare(struct mrc_load *load, struct load_qp *lq, uint64_t from, uint64_t len)
{
	const uint8_t *have = load->cfg.region + slot_offset(load, lq, lq->verified_slot);
	uint64_t at = mrc_load_pattern_at(lq->id, lq->verified);
	uint64_t first = 0;
	uint64_t wrong = mrc_load_pattern_diff(load->cfg.seed, at + from, have + from, len, &first);

	load->result.bytes_verified += len;
	if (wrong > 0)
		note_wrong(load, lq, at, from + first, have + from + first, wrong);
}

/* First and last bytes, and in between a sample of each stretch, elsewhere in each message. */
static void compare_samples(struct mrc_load *load, struct load_qp *lq, uint64_t from, uint64_t len,
	uint64_t message_len)
{
	uint64_t end = from + len;

	if (from == 0)
		compare(load, lq, 0, message_len < SAMPLE ? message_len : SAMPLE);
	for (uint64_t at = from; at < end; at += SAMPLE_EVERY) {
		uint64_t where = at + SAMPLE * (load_random(load) % (SAMPLE_EVERY / SAMPLE));

		if (where >= SAMPLE && where + 2 * SAMPLE <= message_len)
			compare(load, lq, where, SAMPLE);
	}
	if (end == message_len && message_len > SAMPLE) {
		uint64_t last = (message_len - SAMPLE) & ~(uint64_t)7;

		if (last < SAMPLE)
			last = SAMPLE;
		compare(load, lq, last, message_len - last);
	}
}

/* Verifies at most `budget` bytes (a multiple of SAMPLE_EVERY) of the QP's oldest message that is
 * not verified; returns how many of it were passed. */
static uint64_t verify_piece(struct mrc_load *load, struct load_qp *lq, uint64_t budget)
{
	uint64_t message_len = lq->lens[lq->verified_slot];
	uint64_t len = message_len - lq->verify_at;

	len = len < budget ? len : budget;
	switch (load->cfg.verify) {
	case MRC_LOAD_VERIFY_FULL:
		compare(load, lq, lq->verify_at, len);
		break;
	case MRC_LOAD_VERIFY_SAMPLE:
		compare_samples(load, lq, lq->verify_at, len, message_len);
		break;
	case MRC_LOAD_VERIFY_NONE:
		break;
	}
	lq->verify_at += len;
	if (lq->verify_at == message_len) {
		lq->verified++;
		lq->verified_slot = next_slot(load, lq->verified_slot);
		lq->verify_at = 0;
		lq->verify_bad = false;
	}
	return len;
}

/* ---- arrivals */

static bool verifies(const struct mrc_load *load)
{
	return load->cfg.verify != MRC_LOAD_VERIFY_NONE && !load->cfg.region_once;
}

void mrc_load_placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len)
{
	struct load_qp *lq = mrc_sched_qp_ctx(qp);
	struct mrc_load *load = lq->load;
	uint32_t slack = load->cfg.nb_slots - load->cfg.depth;
	uint32_t slot = lq->placed_slot;

	load->result.rx_messages++;
	load->result.rx_bytes += len;
	lq->lens[slot] = len;
	lq->placed++;
	lq->placed_slot = next_slot(load, slot);
	if (!verifies(load)) {
		lq->verified = lq->placed;
		return;
	}
	if (va != load->region_mr.iova + slot_offset(load, lq, slot) || len > load->slot_len) {
		/* Not where it belongs: all of it is wrong, and nothing can be compared. */
		load->result.messages_corrupt++;
		load->result.bytes_verified += len;
		load->result.bytes_corrupt += len;
		lq->lens[slot] = 0;
	}
	while (lq->placed - lq->verified > slack)
		verify_piece(load, lq, UINT64_MAX);
	if (!lq->queued) {
		lq->queued = true;
		ring_push(&load->backlog, lq->id);
	}
}

static void take_receive(struct mrc_load *load, const struct mrc_sched_wc *wc)
{
	struct load_qp *lq = mrc_sched_qp_ctx(wc->qp);
	struct mrc_sched_recv_wr wr = {0};
	uint64_t message = lq->next_imm;
	uint32_t imm = 0;

	if (wc->status != MRC_WC_SUCCESS)
		return; /* flushed; the sender's side reports why */
	for (int i = 0; i < 4; i++)
		imm = imm << 8 | wc->imm[i];
	message += (uint32_t)(imm - (uint32_t)message);
	load->result.rx_imm++;
	/* Immediates name their message: they rise, and only as far as messages were placed. */
	if (message >= lq->placed)
		load->result.imm_corrupt++;
	else if (lq->placed - message <= load->cfg.nb_slots &&
		 lq->lens[message % load->cfg.nb_slots] != wc->byte_len)
		load->result.imm_corrupt++;
	lq->next_imm = message < lq->placed ? message + 1 : lq->placed;
	if (mrc_sched_post_recv(load->sched, lq->qp, &wr) != MRC_OK)
		load->result.post_errors++;
}

static void note_arrivals(struct mrc_load *load)
{
	uint64_t bytes = load->result.rx_bytes - load->rx_bytes_binned;

	if (bytes == 0 || !load->started)
		return; /* bins count from start; an eager peer's bytes wait for it */
	load->rx_bytes_binned = load->result.rx_bytes;
	if (load->result.first_rx_ns == 0)
		load->result.first_rx_ns = load->now_ns;
	load->result.last_rx_ns = load->now_ns;
	load_bin_add(load, load->rx_bins, bytes);
}

static void verify_batch(struct mrc_load *load)
{
	uint64_t done = 0;

	while (load->backlog.nb > 0 && done < LOAD_VERIFY_BATCH) {
		struct load_qp *lq = &load->qps[ring_pop(&load->backlog)];

		lq->queued = false;
		/* A message of a few bytes still costs something. */
		if (lq->verified < lq->placed)
			done += SAMPLE + verify_piece(load, lq, LOAD_VERIFY_BATCH);
		if (lq->verified < lq->placed) {
			lq->queued = true;
			ring_push(&load->backlog, lq->id);
		}
	}
}

void receiver_complete(struct mrc_load *load)
{
	struct mrc_sched_wc wc[LOAD_WC_BATCH];
	uint32_t n;

	do {
		n = mrc_sched_cq_poll(load->sched, load->recv_cq, wc, LOAD_WC_BATCH);
		for (uint32_t i = 0; i < n; i++)
			take_receive(load, &wc[i]);
	} while (n == LOAD_WC_BATCH);
}

uint64_t receiver_poll(struct mrc_load *load)
{
	note_arrivals(load);
	receiver_complete(load);
	verify_batch(load);
	return load->backlog.nb > 0 ? load->now_ns : UINT64_MAX;
}
