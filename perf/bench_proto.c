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

#include "bench.h"
#include "mrc_icrc.h"
#include "pkt_kit.h"

enum {
	CALLS = 2000, /* per round and case */
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

static struct mrc_proto proto;
static struct bench_call benches[MAX_CASES];
static uint32_t nb_benches;
static uint8_t block[4096];

static uint64_t run_decode(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
	struct mrc_pkt pkt;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++) {
		sum += mrc_pkt_decode(&proto, frame->bytes[i % NB_FRAMES], frame->len, &pkt);
		sum += pkt.psn.v + pkt.payload_len;
	}
	return sum;
}

static uint64_t run_check(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		sum += mrc_pkt_icrc_ok(&frame->view, frame->bytes[i % NB_FRAMES]);
	return sum;
}

static uint64_t run_template(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
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

static uint64_t run_transport(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
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
static uint64_t run_build(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
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

static uint64_t run_icrc_header(const struct bench_call *call)
{
	const struct frame *frame = call->ctx;
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

static uint64_t run_icrc_64(const struct bench_call *call)
{
	return sum_blocks(64);
}

static uint64_t run_icrc_1024(const struct bench_call *call)
{
	return sum_blocks(1024);
}

static uint64_t run_icrc_4096(const struct bench_call *call)
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

static uint64_t run_combine_1024(const struct bench_call *call)
{
	return combine(1024);
}

static uint64_t run_combine_4095(const struct bench_call *call)
{
	return combine(4095);
}

static uint64_t run_combine_4096(const struct bench_call *call)
{
	return combine(4096);
}

static void add(const char *what, const char *of, struct frame *frame,
	uint64_t (*run)(const struct bench_call *call))
{
	struct bench_call *bench = &benches[nb_benches++];

	if (nb_benches > MAX_CASES)
		abort();
	snprintf(bench->name, sizeof(bench->name), "%s%s%s", what, of[0] ? " " : "", of);
	bench->run = run;
	bench->calls = CALLS;
	bench->ctx = frame;
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

int main(int argc, char **argv)
{
	struct bench_options o = {
		.program = "bench_proto", .max_rounds = BENCH_MAX_ROUNDS, .rounds = 200};

	bench_options_read(&o, argc, argv);
	mrc_proto_default(&proto);
	for (uint32_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i * 7);
	benches_make();
	bench_calls_measure(benches, nb_benches, o.rounds);
	bench_calls_print(benches, nb_benches, &o);
	return 0;
}
