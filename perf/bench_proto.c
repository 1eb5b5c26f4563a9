/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_proto.c - what one call of the codec and of the ICRC costs: cycles and nanoseconds.
 *
 * The cases are interleaved: every round runs each case once for some microseconds, so that a slow
 * spell of the machine hits all of them; reported are median and quartiles over the rounds.
 *
 *   bench_proto [--json] [--rounds N]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "mrc_icrc.h"
#include "pkt_kit.h"

enum {
	CALLS = 2000, /* per round and case */
	MAX_ROUNDS = 2000,
	MAX_CASES = 64,
	NB_FRAMES = 8, /* copies of a frame, so that not one cache line is all that is read */
};

struct frame {
	struct mrc_pkt view;
	struct mrc_template tmpl;
	struct mrc_template_vary vary;
	uint32_t len;
	uint8_t bytes[NB_FRAMES][PKT_KIT_ROOM];
};

struct bench {
	char name[64];
	uint64_t (*run)(const struct frame *frame);
	struct frame *frame;
	double cycles[MAX_ROUNDS];
};

static struct mrc_proto proto;
static struct bench benches[MAX_CASES];
static uint32_t nb_benches;
static uint8_t block[4096];

static uint64_t run_decode(const struct frame *frame)
{
	struct mrc_pkt pkt;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		sum += mrc_pkt_decode(&proto, frame->bytes[i % NB_FRAMES], frame->len, &pkt);
		sum += pkt.psn.v + pkt.payload_len;
	}
	return sum;
}

static uint64_t run_check(const struct frame *frame)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_pkt_icrc_ok(&frame->view, frame->bytes[i % NB_FRAMES]);
	return sum;
}

static uint64_t run_template(const struct frame *frame)
{
	struct mrc_template_vary vary = frame->vary;
	uint8_t hdr[NB_FRAMES][MRC_HDR_ROOM];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		vary.ev = i * 0x9E3779B9u;
		sum += mrc_template_put(&frame->tmpl, &proto, &vary, hdr[i % NB_FRAMES]);
		__asm__ volatile("" ::"r"(hdr) : "memory");
	}
	return sum;
}

static uint64_t run_transport(const struct frame *frame)
{
	uint8_t hdr[NB_FRAMES][64];
	struct mrc_pkt pkt = frame->view;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		uint8_t *p = hdr[i % NB_FRAMES];

		pkt.psn = mrc_psn(i);
		sum += (uint64_t)(mrc_pkt_put_transport(&proto, &pkt, p) - p);
		__asm__ volatile("" ::"r"(p) : "memory");
	}
	return sum;
}

/* What a sender does with each header; the sum reads what was just written. */
static uint64_t run_build(const struct frame *frame)
{
	struct mrc_template_vary vary = frame->vary;
	struct mrc_pkt pkt = frame->view;
	uint8_t hdr[NB_FRAMES][MRC_HDR_ROOM];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		uint8_t *p = hdr[i % NB_FRAMES];
		uint32_t len;

		vary.ev = i * 0x9E3779B9u;
		pkt.psn = mrc_psn(i);
		len = mrc_template_put(&frame->tmpl, &proto, &vary, p);
		len = (uint32_t)(mrc_pkt_put_transport(&proto, &pkt, p + len) - p);
		sum += mrc_icrc_header(p + frame->tmpl.ip_off, len - frame->tmpl.ip_off);
	}
	return sum;
}

static uint64_t run_icrc_header(const struct frame *frame)
{
	uint32_t off = frame->view.ip_off, len = frame->view.payload_off - off;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_icrc_header(frame->bytes[i % NB_FRAMES] + off, len);
	return sum;
}

static uint64_t sum_blocks(uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_icrc_update(i, block, len);
	return sum;
}

static uint64_t run_icrc_64(const struct frame *frame)
{
	return sum_blocks(64);
}

static uint64_t run_icrc_1024(const struct frame *frame)
{
	return sum_blocks(1024);
}

static uint64_t run_icrc_4096(const struct frame *frame)
{
	return sum_blocks(4096);
}

static uint64_t combine(uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_icrc_combine(i * 0x9E3779B9u, i, len);
	return sum;
}

static uint64_t run_combine_1024(const struct frame *frame)
{
	return combine(1024);
}

static uint64_t run_combine_4095(const struct frame *frame)
{
	return combine(4095);
}

static uint64_t run_combine_4096(const struct frame *frame)
{
	return combine(4096);
}

static void add(const char *what, const char *of, struct frame *frame,
	uint64_t (*run)(const struct frame *frame))
{
	struct bench *bench = &benches[nb_benches++];

	if (nb_benches > MAX_CASES)
		abort();
	snprintf(bench->name, sizeof(bench->name), "%s%s%s", what, of[0] ? " " : "", of);
	bench->run = run;
	bench->frame = frame;
}

static struct frame *frame_make(const struct pkt_kit_case *kind)
{
	struct frame *frame = calloc(1, sizeof(*frame));
	struct mrc_flow flow = {.ttl = 64};
	struct mrc_pkt view;

	if (frame == NULL)
		abort();
	pkt_kit_view(&proto, kind, 64, &view);
	for (uint32_t i = 0; i < NB_FRAMES; i++)
		frame->len = pkt_kit_frame(&proto, &view,
			(uint32_t)MRC_UDP_LEN + MRC_BTH_LEN + MRC_METH_LEN + MRC_TSETH_LEN,
			frame->bytes[i]);
	if (mrc_pkt_decode(&proto, frame->bytes[0], frame->len, &frame->view) != MRC_KEEP)
		abort();
	flow.flags = kind->flags & (MRC_PKT_VLAN | MRC_PKT_SRV6 | MRC_PKT_SRH);
	flow.src = view.src;
	flow.dst = view.dst;
	if (mrc_template_init(&frame->tmpl, &proto, &flow) != 0)
		abort();
	frame->vary = (struct mrc_template_vary){.cls = MRC_CLASS_TRIMMABLE,
		.ecn = MRC_ECN_ECT0,
		.body_len = 100,
		.srv6_dst = &frame->view.outer_dst,
		.srv6_seg = &frame->view.srh_seg};
	return frame;
}

/* Every opcode over IPv6; every shape for Write Only. */
static void benches_make(void)
{
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		struct pkt_kit_case kind;
		bool plain_v6, shape;
		struct frame *frame;

		pkt_kit_case(i, &kind);
		plain_v6 = (kind.flags & ~MRC_PKT_TRIMMED) == MRC_PKT_V6;
		shape = kind.opcode == MRC_OP_WRITE_ONLY && !(kind.flags & MRC_PKT_TRIMMED);
		if (!(plain_v6 && (kind.opcode == MRC_OP_WRITE_ONLY || i < 96)) && !shape)
			continue;
		frame = frame_make(&kind);
		add("decode", kind.name, frame, run_decode);
		if (plain_v6 && !(kind.flags & MRC_PKT_TRIMMED))
			add("put_transport", kind.name, frame, run_transport);
		if (!shape)
			continue;
		add("template_put", strchr(kind.name, '-') + 1, frame, run_template);
		add("template_put, put_transport, icrc_header", strchr(kind.name, '-') + 1, frame,
			run_build);
		add("icrc_header", strchr(kind.name, '-') + 1, frame, run_icrc_header);
		if (plain_v6)
			add("icrc_ok", "write_only-v6, 64 B", frame, run_check);
	}
	add("icrc_update", "64 B", NULL, run_icrc_64);
	add("icrc_update", "1024 B", NULL, run_icrc_1024);
	add("icrc_update", "4096 B", NULL, run_icrc_4096);
	add("icrc_combine", "1024 B", NULL, run_combine_1024);
	add("icrc_combine", "4095 B", NULL, run_combine_4095);
	add("icrc_combine", "4096 B", NULL, run_combine_4096);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double tsc_hz(void)
{
	struct timespec a, b;
	uint64_t from, to;
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	from = __rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		to = __rdtsc();
		ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	} while (ns < 5e7);
	return (double)(to - from) / ns * 1e9;
}

/* Keeps what a case computes, so that the compiler keeps the computing. */
static volatile uint64_t sink;

static void measure(uint32_t rounds)
{

	for (uint32_t r = 0; r < rounds; r++) {
		for (uint32_t i = 0; i < nb_benches; i++) {
			uint64_t from, to;

			sink += benches[i].run(benches[i].frame); /* warms caches and predictors */
			from = __rdtsc();
			sink += benches[i].run(benches[i].frame);
			to = __rdtsc();
			benches[i].cycles[r] = (double)(to - from) / CALLS;
		}
	}
}

static void print(uint32_t rounds, bool json)
{
	double ghz = tsc_hz() / 1e9;

	if (json)
		printf("{\"tsc_ghz\": %.3f, \"rounds\": %u, \"cases\": [", ghz, rounds);
	else
		printf("%-54s %8s %8s %8s %8s\n", "call", "ns", "cycles", "25 %", "75 %");
	for (uint32_t i = 0; i < nb_benches; i++) {
		double *c = benches[i].cycles;

		qsort(c, rounds, sizeof(*c), compare);
		if (json)
			printf("%s\n  {\"name\": \"%s\", \"ns\": %.2f, \"cycles\": %.1f, "
			       "\"cycles_q1\": %.1f, \"cycles_q3\": %.1f}",
				i == 0 ? "" : ",", benches[i].name, c[rounds / 2] / ghz,
				c[rounds / 2], c[rounds / 4], c[rounds * 3 / 4]);
		else
			printf("%-54s %8.1f %8.1f %8.1f %8.1f\n", benches[i].name,
				c[rounds / 2] / ghz, c[rounds / 2], c[rounds / 4],
				c[rounds * 3 / 4]);
	}
	if (json)
		printf("\n]}\n");
}

int main(int argc, char **argv)
{
	uint32_t rounds = 200;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			rounds = (uint32_t)strtoul(argv[++i], NULL, 0);
		} else {
			fprintf(stderr, "usage: bench_proto [--json] [--rounds N]\n");
			return 2;
		}
	}
	if (rounds < 4 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "bench_proto: --rounds must be 4 .. %d\n", MAX_ROUNDS);
		return 2;
	}
	mrc_proto_default(&proto);
	for (uint32_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i * 7);
	benches_make();
	measure(rounds);
	print(rounds, json);
	return 0;
}
