/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ring.h>

#include "port.h"

enum {
	WRITE_BURST = 64,
	PCAP_MAGIC_NS = 0xA1B23C4D,
	LINKTYPE_ETHERNET = 1,
	SNAPLEN = 65535,
};

struct mrc_capture {
	FILE *file;
	struct rte_mempool *pool;
	struct rte_ring *ring;
	const struct mrc_clock *clock;
	uint64_t epoch_ns; /* wall clock at 0 of the clock */
	_Atomic uint64_t missed;
	int error; /* of the first write that failed */
};

struct pcap_head {
	uint32_t magic;
	uint16_t major, minor;
	int32_t zone;
	uint32_t sigfigs, snaplen, linktype;
};

struct pcap_record {
	uint32_t seconds, nanoseconds, captured, length;
};

int mrc_capture_open(struct mrc_capture **capture_out, const char *path, const char *name,
	uint32_t buf_len, const struct mrc_clock *clock)
{
	const struct pcap_head head = {.magic = PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snaplen = SNAPLEN,
		.linktype = LINKTYPE_ETHERNET};
	struct mrc_capture *c = calloc(1, sizeof(*c));
	struct timespec wall;

	if (c == NULL)
		return MRC_ERR_NOMEM;
	c->clock = clock;
	c->pool = mrc_port_pool_create(name, MRC_CAPTURE_FRAMES, buf_len);
	c->ring = rte_ring_create(name, MRC_CAPTURE_FRAMES + 1, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (c->pool == NULL || c->ring == NULL) {
		mrc_capture_close(c);
		return MRC_ERR_NOMEM;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	c->epoch_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec -
		      mrc_clock_ns(clock, rte_rdtsc());
	c->file = fopen(path, "wb");
	if (c->file == NULL || fwrite(&head, sizeof(head), 1, c->file) != 1) {
		mrc_capture_close(c);
		return MRC_ERR_INVAL;
	}
	*capture_out = c;
	return MRC_OK;
}

void mrc_capture_close(struct mrc_capture *c)
{
	if (c == NULL)
		return;
	if (c->file) {
		(void)mrc_capture_finish(c);
		fclose(c->file);
	}
	rte_ring_free(c->ring);
	rte_mempool_free(c->pool);
	free(c);
}

/* The time travels in front of the frame. */
static struct rte_mbuf *copy_of(
	struct mrc_capture *c, const struct rte_mbuf *frame, uint64_t time_ns)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(frame, c->pool, 0, UINT32_MAX);
	/* A frame longer than a buffer would come out in pieces; it counts as missed. */
	char *front =
		copy && copy->nb_segs == 1 ? rte_pktmbuf_prepend(copy, sizeof(time_ns)) : NULL;

	if (front)
		memcpy(front, &time_ns, sizeof(time_ns));
	else
		rte_pktmbuf_free(copy);
	return front ? copy : NULL;
}

void mrc_capture_take(struct mrc_capture *c, struct rte_mbuf *const *frames, uint32_t n)
{
	uint64_t time_ns = c->epoch_ns + mrc_clock_ns(c->clock, rte_rdtsc());

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *copy = copy_of(c, frames[i], time_ns);

		if (copy && rte_ring_mp_enqueue(c->ring, copy) == 0)
			continue;
		rte_pktmbuf_free(copy);
		atomic_fetch_add_explicit(&c->missed, 1, memory_order_relaxed);
	}
}

uint32_t mrc_capture_write(struct mrc_capture *c)
{
	struct rte_mbuf *frames[WRITE_BURST];
	uint32_t n = rte_ring_sc_dequeue_burst(c->ring, (void **)frames, WRITE_BURST, NULL);

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(frames[i], const uint8_t *);
		uint32_t len = frames[i]->pkt_len - (uint32_t)sizeof(uint64_t);
		struct pcap_record record = {.captured = len, .length = len};
		uint64_t time_ns;

		memcpy(&time_ns, data, sizeof(time_ns));
		record.seconds = (uint32_t)(time_ns / 1000000000u);
		record.nanoseconds = (uint32_t)(time_ns % 1000000000u);
		if ((fwrite(&record, sizeof(record), 1, c->file) != 1 ||
			    fwrite(data + sizeof(time_ns), len, 1, c->file) != 1) &&
			c->error == 0)
			c->error = errno;
	}
	rte_pktmbuf_free_bulk(frames, n);
	return n;
}

uint64_t mrc_capture_missed(const struct mrc_capture *c)
{
	return atomic_load_explicit(&c->missed, memory_order_relaxed);
}

int mrc_capture_finish(struct mrc_capture *c)
{
	while (mrc_capture_write(c) > 0)
		;
	if (fflush(c->file) != 0 && c->error == 0)
		c->error = errno;
	return c->error;
}
