/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * txbuf.c - finishing a pulled packet in one buffer.
 */
#include "engine.h"
#include "mrc_icrc.h"
#include "mrc_sched.h"

#include <string.h>

/*
 * Copied and summed in pieces that stay in the first-level cache between the two. Summed is the
 * source: the stores of the copy are still under way, and where another core had the buffer's lines
 * (it freed the buffer), reading them back would wait for every one. Memory that its owner changes
 * meanwhile, against the rules of a posted write, gives a wrong ICRC and is sent again.
 */
#define PIECE_LEN 2048u
#define COPY_LEN  64u

static uint8_t *copy_sum(const struct mrc_iov *iov, uint8_t *dst, uint32_t *sum)
{
	const uint8_t *src = iov->base;
	uint32_t len = iov->len;

	while (len > 0) {
		uint32_t part = len < PIECE_LEN ? len : PIECE_LEN;

		memcpy(dst, src, part);
		*sum = mrc_icrc_update(*sum, src, part);
		dst += part;
		src += part;
		len -= part;
	}
	return dst;
}

static uint8_t *copy(const struct mrc_iov *iov, uint8_t *dst)
{
	memcpy(dst, iov->base, iov->len);
	return dst + iov->len;
}

uint32_t mrc_txbuf_gather(const struct mrc_txbuf *buf, bool icrc, uint8_t *frame, uint32_t *sum_out)
{
	static const uint8_t zero[4];
	uint8_t *p = frame + buf->hdr_len;
	uint32_t sum = 0;

	if (icrc)
		sum = mrc_icrc_header(buf->hdr + buf->ip_off, buf->hdr_len - buf->ip_off);
	for (uint32_t i = 0; i < buf->nb_seg; i++)
		p = icrc ? copy_sum(&buf->seg[i], p, &sum) : copy(&buf->seg[i], p);
	memcpy(p, zero, buf->pad);
	if (icrc && buf->pad != 0)
		sum = mrc_icrc_update(sum, zero, buf->pad);
	*sum_out = sum;
	return (uint32_t)(p + buf->pad + MRC_ICRC_LEN - frame);
}

uint32_t mrc_txbuf_finish(const struct mrc_txbuf *buf, bool icrc)
{
	uint32_t sum, len = mrc_txbuf_gather(buf, icrc, buf->hdr, &sum);

	mrc_icrc_store(buf->hdr + len - MRC_ICRC_LEN, sum);
	return len;
}

void mrc_restamp_init(struct mrc_restamp *restamp_out, uint64_t now_ns)
{
	*restamp_out = (struct mrc_restamp){.stamp = ts_of(now_ns)};
}

/* The sum is linear: what two changed bytes change of it does not depend on the others, only on
 * how many follow. */
static uint32_t fix_of(uint16_t delta, uint32_t behind)
{
	static const uint8_t zero[2];
	const uint8_t bytes[2] = {(uint8_t)(delta >> 8), (uint8_t)delta};
	uint32_t change = mrc_icrc_update(0, bytes, 2) ^ mrc_icrc_update(0, zero, 2);

	return mrc_icrc_combine(change, 0, behind);
}

/* What the ICRC changes by when the header's stamp becomes that of `restamp`. */
static uint32_t stamp_fix(
	const struct mrc_txbuf *buf, uint32_t frame_len, bool icrc, struct mrc_restamp *restamp)
{
	const uint8_t *at = buf->hdr + buf->ts_off;
	uint32_t behind = frame_len - MRC_ICRC_LEN - buf->ts_off - 2;
	uint16_t delta = (uint16_t)((at[0] << 8 | at[1]) ^ restamp->stamp);

	if (!icrc || delta == 0)
		return 0;
	if (delta != restamp->delta || behind != restamp->behind) {
		restamp->delta = delta;
		restamp->behind = behind;
		restamp->fix = fix_of(delta, behind);
	}
	return restamp->fix;
}

static void stamp_store(uint8_t *at, uint16_t stamp)
{
	at[0] = (uint8_t)(stamp >> 8);
	at[1] = (uint8_t)stamp;
}

/* spec */
void mrc_txbuf_restamp(
	const struct mrc_txbuf *buf, uint32_t frame_len, bool icrc, struct mrc_restamp *restamp)
{
	uint8_t *end = buf->hdr + frame_len - MRC_ICRC_LEN;

	if (buf->ts_off == 0)
		return;
	if (icrc)
		mrc_icrc_store(end, mrc_icrc_load(end) ^ stamp_fix(buf, frame_len, icrc, restamp));
	stamp_store(buf->hdr + buf->ts_off, restamp->stamp);
}

void mrc_txbuf_seal(const struct mrc_txbuf *buf, uint8_t *frame, uint32_t frame_len, uint32_t sum,
	bool icrc, struct mrc_restamp *restamp)
{
	uint32_t len = buf->hdr_len;

	/* Two stores that overlap, where the header is long enough. */
	if (len >= COPY_LEN) {
		memcpy(frame, buf->hdr, COPY_LEN);
		memcpy(frame + len - COPY_LEN, buf->hdr + len - COPY_LEN, COPY_LEN);
		if (len > 2 * COPY_LEN)
			memcpy(frame + COPY_LEN, buf->hdr + COPY_LEN, len - 2 * COPY_LEN);
	} else {
		memcpy(frame, buf->hdr, len);
	}
	/* Into the frame only: the copy above must not wait for a store to what it reads. */
	if (restamp != NULL && buf->ts_off != 0) {
		sum ^= stamp_fix(buf, frame_len, icrc, restamp);
		stamp_store(frame + buf->ts_off, restamp->stamp);
	}
	mrc_icrc_store(frame + frame_len - MRC_ICRC_LEN, sum);
}
