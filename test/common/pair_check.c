/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair_check.c - work and its judge.
 *
 * What must hold of every run:
 *   - each posted id is answered once; send completions come in posting order; an unsignaled one
 *     that succeeded gives none;
 *   - success is said only when the peer's memory holds the message;
 *   - the peer's `placed` call names every message once, in posting order, when it is there;
 *   - an immediate arrives once, in posting order, unaltered, when all earlier writes are there;
 *     each takes the oldest receive;
 *   - after a message is answered its target is repainted with the region's pattern: a write that
 *     comes late, or twice, shows at the end; so does any byte outside, up to the guard zones;
 *   - the book of bytes in flight equals the sum over the sent map; windows are kept.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair_priv.h"

/* ---- patterns and regions ---- */

static uint64_t mix64(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
	return x ^ (x >> 32);
}

void pair_pattern(uint8_t *data, uint32_t len, uint64_t salt, uint32_t pos)
{
	uint32_t i = 0;

	for (; i < len && ((pos + i) & 7); i++)
		data[i] = (uint8_t)(mix64(salt + ((pos + i) >> 3)) >> 8 * ((pos + i) & 7));
	for (; i + 8 <= len; i += 8) {
		uint64_t w = mix64(salt + ((pos + i) >> 3));

		memcpy(data + i, &w, 8);
	}
	for (; i < len; i++)
		data[i] = (uint8_t)(mix64(salt + ((pos + i) >> 3)) >> 8 * ((pos + i) & 7));
}

void pair_region_init(struct pair *p, struct pair_region *r, uint32_t len)
{
	r->block = malloc(len + 2 * PAIR_GUARD);
	r->data = r->block + PAIR_GUARD;
	r->len = len;
	r->salt = test_random64(&p->te);
	memset(r->block, 0xA5, PAIR_GUARD);
	memset(r->data + len, 0xA5, PAIR_GUARD);
	pair_pattern(r->data, len, r->salt, 0);
}

static void guard_check(struct pair *p, const struct pair_region *r)
{
	for (uint32_t i = 0; i < PAIR_GUARD; i++)
		if (r->block[i] != 0xA5 || r->data[r->len + i] != 0xA5) {
			pair_fail(p, "guard zone written %u bytes from the region",
				r->block[i] != 0xA5 ? PAIR_GUARD - i : i);
			return;
		}
}

void pair_region_free(struct pair *p, struct pair_region *r)
{
	guard_check(p, r);
	free(r->block);
	r->block = NULL;
}

/* Place for len bytes in the ring; false when it is too full. */
static bool region_place(const struct pair_region *r, uint32_t len, uint64_t *start_out)
{
	uint64_t start = r->head;

	if (start % r->len + len > r->len)
		start += r->len - start % r->len;
	if (start + len - r->tail > r->len)
		return false;
	*start_out = start;
	return true;
}

bool pair_room(const struct pair *p, int side, uint32_t i, uint32_t len)
{
	const struct pair_qp *q = &p->q[side][i];
	uint64_t start;

	return region_place(&q->src, len + 8, &start) &&
	       region_place(&q->peer->dst, len + 8, &start);
}

static void region_repaint(struct pair_region *r, uint32_t off, uint32_t len)
{
	pair_pattern(r->data + off, len, r->salt, off);
}

/* Unused bytes of a target must hold the pattern; with work outstanding only what is free. */
static void region_check(struct pair *p, const struct pair_region *r)
{
	uint8_t want[4096];

	guard_check(p, r);
	if (r->tainted || r->head != r->tail)
		return;
	for (uint32_t off = 0; off < r->len; off += sizeof(want)) {
		uint32_t n = r->len - off < sizeof(want) ? r->len - off : (uint32_t)sizeof(want);

		pair_pattern(want, n, r->salt, off);
		if (memcmp(want, r->data + off, n) != 0) {
			pair_fail(
				p, "memory near offset %u written after its message was done", off);
			return;
		}
	}
}

void pair_check_memory(struct pair *p)
{
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++) {
			guard_check(p, &p->q[side][i].src);
			region_check(p, &p->q[side][i].dst);
		}
}

/* ---- posting ---- */

static struct pair_op *op_new(struct pair_qp *q)
{
	if (q->nb_ops == q->cap_ops) {
		q->cap_ops = q->cap_ops ? 2 * q->cap_ops : 64;
		q->ops = realloc(q->ops, q->cap_ops * sizeof(*q->ops));
	}
	memset(&q->ops[q->nb_ops], 0, sizeof(q->ops[0]));
	return &q->ops[q->nb_ops];
}

/* Cuts the source range into pieces, the later bytes of the message at the lower addresses. */
static void op_sges(struct pair_qp *q, struct pair_op *op, uint32_t nb)
{
	uint32_t left = op->len, at = op->src_off + op->len;

	if (nb == 0 && op->len != 0)
		nb = 1;
	op->nb_sge = nb;
	for (uint32_t k = 0; k < nb; k++) {
		uint32_t n = left;

		if (k + 1 < nb)
			n = left ? test_random_below(&q->pair->te, left + 1) : 0;
		left -= n;
		at -= n;
		op->sges[k] = (struct mrc_sched_sge){q->src.mr.iova + at, n, q->src.mr.key};
	}
}

static bool op_place(struct pair_qp *q, struct pair_op *op)
{
	uint64_t src, dst;
	uint32_t skew = test_random_below(&q->pair->te, 8);

	if (!region_place(&q->src, op->len + 8, &src) ||
		!region_place(&q->peer->dst, op->len + 8, &dst))
		return false;
	op->src_off = (uint32_t)(src % q->src.len) + skew;
	op->dst_off = (uint32_t)(dst % q->peer->dst.len) + (skew * 5 & 7);
	op->src_end = src + op->len + 8;
	op->dst_end = dst + op->len + 8;
	return true;
}

static int op_submit(struct pair_qp *q, const struct pair_op *op, bool unsignaled)
{
	struct mrc_sched_send_wr wr = {.wr_id = op->wr_id,
		.sges = op->nb_sge ? op->sges : NULL,
		.nb_sge = op->nb_sge,
		.flags = (unsignaled ? 0u : MRC_SEND_SIGNALED) |
			 (op->solicited ? (unsigned)MRC_SEND_SOLICITED : 0u),
		.raddr = q->peer->dst.mr.iova + op->dst_off,
		.rkey = q->peer->dst.mr.key};

	memcpy(wr.imm, op->imm, 4);
	if (op->has_imm)
		return mrc_sched_post_write_imm(q->host->sched, q->qp, &wr);
	return mrc_sched_post_write(q->host->sched, q->qp, &wr);
}

static uint32_t op_packets(const struct pair_qp *q, const struct pair_op *op)
{
	return op->len ? (op->len + q->attr.pmtu - 1) / q->attr.pmtu : 1;
}

int pair_post_try(struct pair *p, int side, uint32_t i, const struct pair_wr *wr)
{
	struct pair_qp *q = &p->q[side][i];
	struct pair_op *op = op_new(q);
	int err;

	*op = (struct pair_op){.wr_id = (uint64_t)side << 62 | (uint64_t)i << 40 | q->nb_ops,
		.len = wr->len,
		.has_imm = wr->imm,
		.solicited = wr->solicited,
		.signaled = !wr->unsignaled || p->cfg.sig_all,
		.posted_ns = p->now};
	if (!op_place(q, op)) {
		pair_fail(p, "the test posts more than its regions hold");
		return MRC_ERR_NOMEM;
	}
	if (wr->has_imm_data) {
		memcpy(op->imm, wr->imm_data, 4);
	} else {
		uint32_t x = (uint32_t)mix64(op->wr_id + p->cfg.seed);

		memcpy(op->imm, &x, 4);
	}
	op_sges(q, op, wr->nb_sge);
	pair_pattern(q->src.data + op->src_off, op->len, mix64(op->wr_id) ^ p->cfg.seed, 0);
	err = op_submit(q, op, wr->unsignaled);
	if (err != MRC_OK)
		return err;
	q->src.head = op->src_end;
	q->peer->dst.head = op->dst_end;
	q->nb_ops++;
	q->wire_end += op_packets(q, op);
	pair_kick(q->host);
	return MRC_OK;
}

uint32_t pair_post(struct pair *p, int side, uint32_t i, const struct pair_wr *wr)
{
	int err = pair_post_try(p, side, i, wr);

	if (err != MRC_OK)
		pair_fail(p, "post refused: %s", mrc_err_name(err));
	return p->q[side][i].nb_ops - 1;
}

void pair_post_recv(struct pair *p, int side, uint32_t i)
{
	struct pair_qp *q = &p->q[side][i];
	struct mrc_sched_recv_wr wr = {.wr_id = q->recv_posted};

	PAIR_EQ(p, mrc_sched_post_recv(q->host->sched, q->qp, &wr), MRC_OK);
	q->recv_posted++;
	pair_kick(q->host);
}

/* ---- judging ---- */

int64_t pair_op_diff(const struct pair_qp *q, const struct pair_op *op)
{
	const uint8_t *target = q->peer->dst.data + op->dst_off;
	uint32_t at = 0;

	for (uint32_t k = 0; k < op->nb_sge; k++) {
		const uint8_t *source = q->src.data + (op->sges[k].addr - q->src.mr.iova);

		if (memcmp(target + at, source, op->sges[k].len) != 0)
			for (uint32_t b = 0; b < op->sges[k].len; b++)
				if (target[at + b] != source[b])
					return at + b;
		at += op->sges[k].len;
	}
	return -1;
}

static void op_see(struct pair_qp *q, uint32_t k, const char *when)
{
	struct pair_op *op = &q->ops[k];
	int64_t at;

	if (op->seen || op->done || q->blind)
		return;
	at = pair_op_diff(q, op);
	if (at >= 0)
		pair_fail(q->pair, "%s: message %u (%u bytes) wrong at byte %lld", when, k, op->len,
			(long long)at);
	q->pair->bytes_checked += op->len;
	op->seen = true;
}

/* The op is answered: frees its ranges when all before it are. */
static void op_done(struct pair_qp *q, uint32_t k, uint8_t status)
{
	struct pair_op *op = &q->ops[k];

	if (status == MRC_WC_SUCCESS && !op->placed && !q->relaxed)
		pair_fail(q->pair, "message %u succeeds before the peer placed it", k);
	op->done = true;
	op->status = status;
	op->done_ns = q->pair->now;
	pair_mix(q->pair, op->wr_id * 16 + status);
	if (status == MRC_WC_SUCCESS) {
		q->nb_success++;
		memset(q->src.data + op->src_off, 0xDD, op->len);
		region_repaint(&q->peer->dst, op->dst_off, op->len);
	} else {
		q->nb_error++;
		q->peer->dst.tainted = true;
	}
	q->src.tail = op->src_end;
	q->peer->dst.tail = op->dst_end;
	q->next_done = k + 1;
}

void pair_placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len)
{
	struct pair *p = ctx;
	struct pair_qp *q = mrc_sched_qp_ctx(qp); /* the receiver */
	struct pair_qp *from = q->peer;
	struct pair_op *op;

	if (q->relaxed)
		return;
	if (from->next_placed >= from->nb_ops) {
		pair_fail(p, "a message of %u bytes is placed that was never posted", len);
		return;
	}
	op = &from->ops[from->next_placed];
	if (len != op->len || (len != 0 && va != q->dst.mr.iova + op->dst_off))
		pair_fail(p, "placed call %u names %u bytes, posted were %u", from->next_placed,
			len, op->len);
	op_see(from, from->next_placed, "placed");
	op->placed = true;
	from->next_placed++;
}

static void judge_send(struct pair_qp *q, const struct mrc_sched_wc *wc)
{
	struct pair *p = q->pair;
	uint32_t k = (uint32_t)wc->wr_id;
	struct pair_op *op;

	if (k >= q->nb_ops || q->ops[k].wr_id != wc->wr_id) {
		pair_fail(p, "completion of id %llx, never posted", (unsigned long long)wc->wr_id);
		return;
	}
	op = &q->ops[k];
	if (k < q->next_done) {
		pair_fail(p, "message %u completes twice", k);
		return;
	}
	if (wc->opcode != (op->has_imm ? MRC_WC_WRITE_IMM : MRC_WC_WRITE))
		pair_fail(p, "message %u completes with opcode %u", k, wc->opcode);
	if (wc->status == MRC_WC_SUCCESS && !op->signaled)
		pair_fail(p, "message %u was unsignaled and completes", k);
	if (wc->status != MRC_WC_SUCCESS && !p->cfg.allow_error)
		pair_fail(p, "message %u fails: %s", k,
			mrc_wc_status_name((enum mrc_wc_status)wc->status));
	for (uint32_t m = q->next_done; m < k; m++) {
		if (q->ops[m].signaled)
			pair_fail(p, "message %u completes before %u", k, m);
		op_see(q, m, "passed by a completion");
		op_done(q, m, MRC_WC_SUCCESS);
	}
	if (wc->status == MRC_WC_SUCCESS)
		op_see(q, k, "completion");
	op_done(q, k, wc->status);
}

static void judge_imm(struct pair_qp *q, const struct mrc_sched_wc *wc)
{
	struct pair *p = q->pair;
	struct pair_qp *from = q->peer;
	struct pair_op *op;

	while (from->next_imm < from->nb_ops && !from->ops[from->next_imm].has_imm)
		from->next_imm++;
	if (from->next_imm >= from->nb_ops) {
		pair_fail(p, "an immediate arrives that was never posted");
		return;
	}
	op = &from->ops[from->next_imm];
	if (memcmp(op->imm, wc->imm, 4) != 0)
		pair_fail(
			p, "immediate of message %u altered, lost or out of order", from->next_imm);
	if (wc->byte_len != op->len || wc->solicited != op->solicited ||
		wc->opcode != MRC_WC_RECV_IMM)
		pair_fail(p, "immediate %u: byte_len %u of %u, solicited %d of %d", from->next_imm,
			wc->byte_len, op->len, wc->solicited, op->solicited);
	for (uint32_t m = from->next_done; m <= from->next_imm; m++)
		op_see(from, m, "immediate");
	op->delivered = true;
	q->nb_imm++;
	from->next_imm++;
}

static void judge_recv(struct pair_qp *q, const struct mrc_sched_wc *wc)
{
	struct pair *p = q->pair;

	if (wc->wr_id != q->recv_done)
		pair_fail(p, "receive %llu completes, it was the turn of %llu",
			(unsigned long long)wc->wr_id, (unsigned long long)q->recv_done);
	q->recv_done++;
	if (wc->status != MRC_WC_SUCCESS) {
		if (!p->cfg.allow_error)
			pair_fail(p, "a receive fails: %s",
				mrc_wc_status_name((enum mrc_wc_status)wc->status));
		return;
	}
	judge_imm(q, wc);
	if (p->cfg.auto_recv && mrc_sched_qp_state(q->qp) == MRC_QP_RTS)
		pair_post_recv(p, q->host->side, pair_index(q));
}

static void drain_events(struct pair *p, struct pair_host *h)
{
	struct mrc_sched_event event;

	while (mrc_sched_event_poll(h->sched, &event)) {
		PAIR_ASSERT(p, event.type <= MRC_EVENT_PROBE_RESULT);
		p->events[h->side][event.type]++;
		p->last_event[h->side] = event;
		if (event.type == MRC_EVENT_QP_FATAL && !p->cfg.allow_error)
			pair_fail(p, "a QP of side %c fails: %s", 'A' + h->side,
				mrc_wc_status_name((enum mrc_wc_status)event.arg));
	}
}

void pair_drain(struct pair *p, struct pair_host *h)
{
	struct mrc_sched_wc wc[16];

	for (uint32_t i = h->worker; i < p->cfg.nb_qps && !p->hold_cq;
		i += p->cfg.nb_workers[h->side]) {
		struct pair_qp *q = &p->q[h->side][i];
		uint32_t n;

		while ((n = mrc_sched_cq_poll(h->sched, q->recv_cq, wc, 16)) != 0)
			for (uint32_t k = 0; k < n; k++)
				judge_recv(q, &wc[k]);
		while ((n = mrc_sched_cq_poll(h->sched, q->send_cq, wc, 16)) != 0)
			for (uint32_t k = 0; k < n; k++)
				judge_send(q, &wc[k]);
		pair_load_fill(p, q);
	}
	drain_events(p, h);
}

/* ---- load ---- */

void pair_load_fill(struct pair *p, struct pair_qp *q)
{
	uint32_t since = 0;

	if (q->load_left == 0 || mrc_sched_qp_state(q->qp) != MRC_QP_RTS)
		return;
	for (uint32_t k = q->nb_ops; k > q->next_done && !q->ops[k - 1].signaled; k--)
		since++;
	while (q->load_left != 0 && q->nb_ops - q->next_done < q->load_depth) {
		uint32_t span = q->load_max - q->load_min + 1;
		struct pair_wr wr = {
			.len = q->load_min + (span > 1 ? test_random_below(&p->te, span) : 0),
			.imm = test_random_below(&p->te, 100) < q->load_imm_pct,
			.unsignaled = test_random_below(&p->te, 100) < q->load_unsig_pct};

		if (since + 1 >= q->load_depth || q->load_left == 1)
			wr.unsignaled = false;
		wr.nb_sge = wr.len ? 1 + test_random_below(&p->te, MRC_SCHED_MAX_SGE) : 0;
		if (!pair_room(p, q->host->side, pair_index(q), wr.len))
			return;
		since = wr.unsignaled ? since + 1 : 0;
		q->load_left--;
		pair_post(p, q->host->side, pair_index(q), &wr);
	}
}

void pair_load(struct pair *p, int side, uint32_t i, const struct pair_load *load)
{
	struct pair_qp *q = &p->q[side][i];

	PAIR_ASSERT(p, load->depth <= p->cfg.sq_depth);
	q->load_left = load->count;
	q->load_depth = load->depth;
	q->load_min = load->min_len;
	q->load_max = load->max_len;
	q->load_imm_pct = load->imm_pct;
	q->load_unsig_pct = load->unsignaled_pct;
	pair_load_fill(p, q);
}

/* Unsignaled messages behind the last completion: their work is over, so judge them now. */
void pair_settle(struct pair *p)
{
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++) {
			struct pair_qp *q = &p->q[side][i];

			if (mrc_sched_qp_state(q->qp) != MRC_QP_RTS)
				continue;
			while (q->next_done < q->nb_ops) {
				op_see(q, q->next_done, "end");
				op_done(q, q->next_done, MRC_WC_SUCCESS);
			}
		}
}

/* ---- queries ---- */

struct mrc_sched_qp_info pair_query(struct pair *p, int side, uint32_t i)
{
	const struct pair_qp *q = &p->q[side][i];
	struct mrc_sched_qp_info info;

	mrc_sched_qp_query(q->host->sched, q->qp, &info);
	if (info.inflight < 0 || (uint64_t)info.inflight != info.sent_map_bytes)
		pair_fail(p, "bytes in flight: book %lld, sent map %llu", (long long)info.inflight,
			(unsigned long long)info.sent_map_bytes);
	if (info.outstanding > 128u * q->attr.mpr)
		pair_fail(p, "%u PSNs outstanding, window is %u", info.outstanding,
			128u * q->attr.mpr);
	if (info.outstanding != 0 && mrc_psn_diff(info.next_psn, info.una_psn) < 0)
		pair_fail(p, "next PSN %#x is behind una %#x", info.next_psn.v, info.una_psn.v);
	if (mrc_psn_diff(info.max_rcv_psn, info.cack_psn) < 0)
		pair_fail(p, "max_rcv %#x behind cack %#x", info.max_rcv_psn.v, info.cack_psn.v);
	return info;
}

void pair_check(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
			(void)pair_query(p, side, i);
		for (uint32_t d = 1; d < MRC_NB_DROPS; d++) {
			uint64_t mine = 0;

			for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++)
				mine += d == MRC_DROP_HANDOVER_FULL ? 0
								    : p->hosts[side][w].drops[d];
			if (mine != pair_drops(p, side, (enum mrc_drop)d))
				pair_fail(p, "drop counter %s is %llu, verdicts said %llu",
					mrc_drop_name((enum mrc_drop)d),
					(unsigned long long)pair_drops(p, side, (enum mrc_drop)d),
					(unsigned long long)mine);
		}
	}
}

uint64_t pair_counter(struct pair *p, int side, size_t off)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < p->cfg.nb_workers[side]; w++) {
		const struct mrc_sched_counters *c =
			mrc_sched_counters_get(p->hosts[side][w].sched);
		uint64_t x;

		memcpy(&x, (const uint8_t *)c + off, sizeof(x));
		sum += x;
	}
	return sum;
}

uint64_t pair_drops(struct pair *p, int side, enum mrc_drop reason)
{
	return pair_counter(
		p, side, offsetof(struct mrc_sched_counters, drops) + 8u * (size_t)reason);
}

static bool qp_idle(const struct pair_qp *q)
{
	struct mrc_sched_qp_info info;
	bool dead = mrc_sched_qp_state(q->qp) != MRC_QP_RTS ||
		    mrc_sched_qp_state(q->peer->qp) != MRC_QP_RTS;

	for (uint32_t k = q->next_done; k < q->nb_ops; k++)
		if (q->ops[k].signaled)
			return false;
	if (dead)
		return true;
	if (q->load_left != 0)
		return false;
	mrc_sched_qp_query(q->host->sched, q->qp, &info);
	/* entries of unsignaled messages stay in use until a signaled one completes */
	if (info.outstanding != 0 || info.next_psn.v != (q->wire_end & MRC_PSN_MASK))
		return false;
	for (uint32_t k = q->next_imm; k < q->nb_ops; k++)
		if (q->ops[k].has_imm)
			return false;
	return true;
}

bool pair_idle(const struct pair *p)
{
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
			if (!qp_idle(&p->q[side][i]))
				return false;
	return true;
}

void pair_report(struct pair *p, int side, uint32_t i)
{
	const struct pair_qp *q = &p->q[side][i];
	struct mrc_sched_qp_info info;

	mrc_sched_qp_query(q->host->sched, q->qp, &info);
	fprintf(stderr,
		"%c qp %u %s: %u posted, %u answered, %u imm seen; sq %u outstanding %u inflight "
		"%lld cwnd %u retry %u next %#x una %#x cack %#x max_rcv %#x; wire next %#x cack "
		"%#x\n",
		'A' + side, i, mrc_qp_state_name(info.state), q->nb_ops, q->next_done, q->next_imm,
		info.sq_used, info.outstanding, (long long)info.inflight, info.cwnd,
		info.retry_count, info.next_psn.v, info.una_psn.v, info.cack_psn.v,
		info.max_rcv_psn.v, q->wire_next, q->wire_cack);
}
