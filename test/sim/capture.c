/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.c - frames to a pcap file, the engines' trace to a table or a list of objects.
 *
 * Hosts that are run apart report one after the other; their records are kept until the window is
 * over and written in order of time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

/* Magic of nanosecond stamps, version 2.4, Ethernet; in the order of this machine. */
static void pcap_header(FILE *file)
{
	uint8_t h[24] = {0};
	uint16_t version[2] = {2, 4};

	put32(h, 0xA1B23C4D);
	memcpy(h + 4, version, 4);
	put32(h + 16, 65535);
	put32(h + 20, 1);
	fwrite(h, 1, sizeof(h), file);
}

static FILE *open_file(const char *path, struct mrc_ctl_error *error_out)
{
	FILE *file = fopen(path, "wb");

	if (file == NULL)
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: cannot be written (%s), name a file in a folder that can", path,
			strerror(errno));
	return file;
}

static bool is_json(const char *path)
{
	size_t len = strlen(path);

	return len >= 5 && strcmp(path + len - 5, ".json") == 0;
}

int sim_capture_open(struct sim *sim, struct mrc_ctl_error *error_out)
{
	if (sim->opts.pcap != NULL) {
		sim->pcap = open_file(sim->opts.pcap, error_out);
		if (sim->pcap == NULL)
			return MRC_ERR_INVAL;
		pcap_header(sim->pcap);
	}
	if (sim->opts.trace != NULL) {
		sim->trace = open_file(sim->opts.trace, error_out);
		if (sim->trace == NULL)
			return MRC_ERR_INVAL;
		sim->trace_json = is_json(sim->opts.trace);
		fputs(sim->trace_json ? "[" : "time_ns,host,what,a,b,c\n", sim->trace);
	}
	return MRC_OK;
}

/* One frame or one line. */
struct sim_record {
	uint64_t at_ns;
	size_t off; /* in record_bytes; also the order of records of the same time */
	uint32_t len;
	FILE *file;
};

/* Also of a file that was never opened. */
static bool close_file(FILE *file, const char *path)
{
	bool lost;

	if (file == NULL)
		return true;
	lost = ferror(file) != 0;
	lost = fclose(file) != 0 || lost;
	if (lost)
		fprintf(stderr, "mrc-sim: %s: cannot be written, is not whole\n", path);
	return !lost;
}

bool sim_capture_close(struct sim *sim)
{
	bool whole;

	sim_capture_flush(sim);
	if (sim->trace != NULL && sim->trace_json)
		fputs("\n]\n", sim->trace);
	whole = close_file(sim->pcap, sim->opts.pcap);
	whole = close_file(sim->trace, sim->opts.trace) && whole;
	sim->pcap = sim->trace = NULL;
	free(sim->records);
	free(sim->record_bytes);
	sim->records = NULL;
	sim->record_bytes = NULL;
	sim->cap_records = 0;
	sim->cap_len = 0;
	return whole;
}

/* Room for a record of len bytes. */
static uint8_t *record_add(struct sim *sim, uint64_t at_ns, FILE *file, uint32_t len)
{
	if (sim->nb_records == sim->cap_records) {
		sim->cap_records = 2 * sim->cap_records + 64;
		sim->records =
			sim_realloc(sim->records, sim->cap_records * sizeof(sim->records[0]));
	}
	if (sim->records_len + len > sim->cap_len) {
		sim->cap_len = 2 * sim->cap_len + len + 4096;
		sim->record_bytes = sim_realloc(sim->record_bytes, sim->cap_len);
	}
	sim->records[sim->nb_records++] = (struct sim_record){at_ns, sim->records_len, len, file};
	sim->records_len += len;
	return sim->record_bytes + sim->records_len - len;
}

static int by_time(const void *a, const void *b)
{
	const struct sim_record *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

void sim_capture_flush(struct sim *sim)
{
	if (sim->nb_records == 0)
		return;
	qsort(sim->records, sim->nb_records, sizeof(sim->records[0]), by_time);
	for (uint32_t i = 0; i < sim->nb_records; i++) {
		const struct sim_record *r = &sim->records[i];

		if (r->file == sim->trace && sim->trace_json) {
			fputs(sim->nb_traced != 0 ? ",\n" : "\n", r->file);
			sim->nb_traced++;
		}
		fwrite(sim->record_bytes + r->off, 1, r->len, r->file);
	}
	sim->nb_records = 0;
	sim->records_len = 0;
}

void sim_tap(void *ctx, uint64_t now_ns, uint32_t link, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = ctx;
	uint8_t *h = record_add(sim, now_ns, sim->pcap, 16 + pkt->len);

	put32(h, (uint32_t)(now_ns / 1000000000u));
	put32(h + 4, (uint32_t)(now_ns % 1000000000u));
	put32(h + 8, pkt->len);
	put32(h + 12, pkt->wire_len);
	memcpy(h + 16, pkt->data, pkt->len);
	if (!sim->apart)
		sim_capture_flush(sim);
}

/* What a kind is called, and its three numbers; mrc_env.h says what they are. */
static const struct {
	const char *name, *a, *b, *c;
} trace_kinds[] = {
	[MRC_TRACE_QP_STATE] = {"qp_state", "qp", "old", "new"},
	[MRC_TRACE_EV_STATE] = {"ev_state", "ev", "old", "new"},
	[MRC_TRACE_LOSS] = {"loss", "qp", "psn", "cause"},
	[MRC_TRACE_RETRANSMIT] = {"retransmit", "qp", "psn", "times"},
	[MRC_TRACE_TIMEOUT] = {"timeout", "qp", "retries", "wait_ns"},
	[MRC_TRACE_WINDOW] = {"window", "qp", "window_len", "inflight_len"},
	[MRC_TRACE_RTT] = {"rtt", "qp", "sample_ns", "base_ns"},
	[MRC_TRACE_MPR] = {"mpr", "qp", "old", "new"},
};

/* A row of a table, or an object. */
void sim_trace(
	void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct sim_host *h = ctx;
	struct sim *sim = h->sim;
	char line[256];
	int len;

	if (sim->trace == NULL)
		return;
	if (sim->trace_json)
		len = snprintf(line, sizeof(line),
			"{\"time_ns\": %" PRIu64
			", \"host\": %u, \"what\": \"%s\", \"%s\": %" PRIu64 ", \"%s\": %" PRIu64
			", \"%s\": %" PRIu64 "}",
			now_ns, h->index, trace_kinds[kind].name, trace_kinds[kind].a, a,
			trace_kinds[kind].b, b, trace_kinds[kind].c, c);
	else
		len = snprintf(line, sizeof(line),
			"%" PRIu64 ",%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", now_ns, h->index,
			trace_kinds[kind].name, a, b, c);
	memcpy(record_add(sim, now_ns, sim->trace, (uint32_t)len), line, (size_t)len);
	if (!sim->apart)
		sim_capture_flush(sim);
}
