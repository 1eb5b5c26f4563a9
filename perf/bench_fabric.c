/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_fabric.c - what a packet costs on one link of the fabric alone, without engines: a random
 * permutation, every source with a fixed number of packets of 4 KiB payload under way, for several
 * numbers of hosts. A delivered packet is sent again at once by the source of its permutation.
 *
 *   bench_fabric [--json] [--rounds N]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mrc_fabric.h"
#include "pkt_kit.h"

enum {
	PLANES = 4,
	WINDOW = 48, /* packets of one source under way */
	HEAD = 128,  /* bytes of a frame that exist */
	PAYLOAD = 4096,
	BATCH = 32,
	MAX_ROUNDS = 100,
	HOPS = 400000, /* of one round */
};

struct block {
	uint32_t src, plane, wire_len;
	uint8_t frame[HEAD];
};

struct bench {
	uint32_t side; /* leaves, spines, hosts per leaf */
	uint32_t nb_hosts;
	struct mrc_proto proto;
	struct mrc_env env;
	struct mrc_fabric *fabric;
	struct block *blocks;
	uint64_t now_ns, rng;
	double ns[MAX_ROUNDS]; /* per hop */
};

static uint64_t bench_random(void *ctx)
{
	struct bench *b = ctx;
	uint64_t z = (b->rng += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static void *zeroed(size_t size)
{
	void *mem = aligned_alloc(64, (size + 63) / 64 * 64);

	if (mem == NULL) {
		fprintf(stderr, "bench_fabric: out of memory\n");
		exit(1);
	}
	return memset(mem, 0, size);
}

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	return zeroed(size);
}

static void env_free(void *ctx, void *mem, size_t size)
{
	free(mem);
}

/* Queues without limits lose nothing; whatever comes here is a fault of the bench. */
static void lost(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	fprintf(stderr, "bench_fabric: a packet was dropped\n");
	exit(1);
}

static struct mrc_gid gid_of(uint32_t host)
{
	struct mrc_gid gid = {{0xFD}};

	gid.raw[14] = (uint8_t)(host >> 8);
	gid.raw[15] = (uint8_t)host;
	return gid;
}

static void fabric_create(struct bench *b)
{
	const struct mrc_fabric_ops ops = {.ctx = b, .free = lost};
	struct mrc_fabric_addr *addrs = zeroed(b->nb_hosts * sizeof(*addrs));
	struct mrc_fabric_cfg cfg;

	mrc_fabric_cfg_default(&cfg, &b->proto, 100000000000u, 1000);
	for (uint32_t c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		cfg.links[c] =
			(struct mrc_fabric_link_cfg){.rate_bps = 100000000000u, .delay_ns = 1000};
	cfg.nb_planes = PLANES;
	cfg.nb_leaves = cfg.nb_spines = cfg.hosts_per_leaf = b->side;
	cfg.max_packets = b->nb_hosts * WINDOW;
	cfg.max_faults = 1;
	for (uint32_t h = 0; h < b->nb_hosts; h++)
		addrs[h] = (struct mrc_fabric_addr){gid_of(h), h};
	cfg.addrs = addrs;
	cfg.nb_addrs = cfg.max_addrs = b->nb_hosts;
	if (mrc_fabric_create(&cfg, &b->env, &ops, &b->fabric) != MRC_OK) {
		fprintf(stderr, "bench_fabric: cannot create the fabric\n");
		exit(1);
	}
	free(addrs);
}

static void send_block(struct bench *b, struct block *block)
{
	struct mrc_fabric_pkt pkt = {
		.data = block->frame, .len = HEAD, .wire_len = block->wire_len, .ref = block};

	mrc_fabric_send(b->fabric, b->now_ns, block->src, block->plane, &pkt);
}

/* Frames never change: neither marks nor trims are configured. */
static void blocks_create(struct bench *b, const uint32_t *to)
{
	uint8_t *frame = zeroed(PKT_KIT_ROOM);
	struct pkt_kit_case kind;
	struct mrc_pkt view;

	pkt_kit_case(pkt_kit_find("write_only-v6"), &kind);
	pkt_kit_view(&b->proto, &kind, PAYLOAD, &view);
	b->blocks = zeroed((size_t)b->nb_hosts * WINDOW * sizeof(*b->blocks));
	for (uint32_t i = 0; i < b->nb_hosts * WINDOW; i++) {
		struct block *block = &b->blocks[i];

		block->src = i / WINDOW;
		block->plane = i % PLANES;
		view.src = gid_of(block->src);
		view.dst = gid_of(to[block->src]);
		view.ev = (uint32_t)bench_random(b) & 0xFFFF;
		block->wire_len = pkt_kit_frame(&b->proto, &view, 0, frame);
		memcpy(block->frame, frame, HEAD);
		send_block(b, block);
	}
	free(frame);
}

static void bench_create(struct bench *b, uint32_t side)
{
	uint32_t *to;

	*b = (struct bench){.side = side, .nb_hosts = side * side, .rng = side};
	b->env = (struct mrc_env){
		.ctx = b, .alloc = env_alloc, .free = env_free, .random64 = bench_random};
	mrc_proto_default(&b->proto);
	fabric_create(b);
	to = zeroed(b->nb_hosts * sizeof(*to));
	for (uint32_t h = 0; h < b->nb_hosts; h++)
		to[h] = h;
	/* Sattolo's: one cycle, nobody sends to itself. */
	for (uint32_t h = b->nb_hosts - 1; h > 0; h--) {
		uint32_t other = (uint32_t)(bench_random(b) % h), keep = to[h];

		to[h] = to[other];
		to[other] = keep;
	}
	blocks_create(b, to);
	free(to);
}

static void deliver(struct bench *b)
{
	struct mrc_fabric_pkt pkts[BATCH];
	uint32_t host, plane;

	while (mrc_fabric_ready(b->fabric, &host, &plane)) {
		uint32_t n = mrc_fabric_recv(b->fabric, host, plane, pkts, BATCH);

		for (uint32_t i = 0; i < n; i++)
			send_block(b, pkts[i].ref);
	}
}

static uint64_t hops(const struct bench *b)
{
	struct mrc_fabric_totals tot;

	mrc_fabric_totals_get(b->fabric, &tot);
	return tot.hops;
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Runs on for HOPS links crossed; returns the CPU time of one. */
static double run(struct bench *b)
{
	uint64_t from = hops(b), crossed = 0;
	double start = cpu_ns();

	while (crossed < HOPS) {
		for (uint32_t i = 0; i < 256; i++) {
			b->now_ns = mrc_fabric_next_deadline(b->fabric);
			mrc_fabric_run(b->fabric, b->now_ns, UINT32_MAX);
			deliver(b);
		}
		crossed = hops(b) - from;
	}
	return (cpu_ns() - start) / (double)crossed;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(struct bench *b, uint32_t rounds, bool json, bool last)
{
	double median, lo, hi;

	qsort(b->ns, rounds, sizeof(b->ns[0]), by_value);
	median = b->ns[rounds / 2];
	lo = b->ns[rounds / 4];
	hi = b->ns[rounds * 3 / 4];
	if (json)
		printf("  {\"hosts\": %u, \"ns_per_hop\": %.1f, \"q1\": %.1f, \"q3\": %.1f}%s\n",
			b->nb_hosts, median, lo, hi, last ? "" : ",");
	else
		printf("%5u hosts %7.1f ns a hop (%.1f .. %.1f), %.2f M a second\n", b->nb_hosts,
			median, lo, hi, 1e3 / median);
}

int main(int argc, char **argv)
{
	static const uint32_t sides[] = {4, 8, 16, 32};
	static struct bench benches[4];
	uint32_t rounds = 11;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			rounds = (uint32_t)strtoul(argv[++i], NULL, 10);
		} else {
			fprintf(stderr, "usage: bench_fabric [--json] [--rounds 1..%d]\n",
				MAX_ROUNDS);
			return 2;
		}
	}
	if (rounds == 0 || rounds > MAX_ROUNDS)
		return 2;
	for (uint32_t i = 0; i < 4; i++) {
		bench_create(&benches[i], sides[i]);
		(void)run(&benches[i]);
	}
	/* In turns, so that what else the machine does falls on all alike. */
	for (uint32_t r = 0; r < rounds; r++)
		for (uint32_t i = 0; i < 4; i++)
			benches[i].ns[r] = run(&benches[i]);
	if (json)
		printf("[\n");
	for (uint32_t i = 0; i < 4; i++)
		report(&benches[i], rounds, json, i == 3);
	if (json)
		printf("]\n");
	return 0;
}
