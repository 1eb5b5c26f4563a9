/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.c - frames to a pcap file, the engines' trace to a table. */
#include <errno.h>
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
		fprintf(sim->trace, "time_ns,host,what,a,b,c\n");
	}
	return MRC_OK;
}

void sim_capture_close(struct sim *sim)
{
	if (sim->pcap != NULL)
		fclose(sim->pcap);
	if (sim->trace != NULL)
		fclose(sim->trace);
	sim->pcap = sim->trace = NULL;
}

void sim_tap(void *ctx, uint64_t now_ns, uint32_t link, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = ctx;
	uint8_t h[16];

	put32(h, (uint32_t)(now_ns / 1000000000u));
	put32(h + 4, (uint32_t)(now_ns % 1000000000u));
	put32(h + 8, pkt->len);
	put32(h + 12, pkt->wire_len);
	fwrite(h, 1, sizeof(h), sim->pcap);
	fwrite(pkt->data, 1, pkt->len, sim->pcap);
}

static const char *const trace_names[] = {
	[MRC_TRACE_QP_STATE] = "qp_state",
	[MRC_TRACE_EV_STATE] = "ev_state",
	[MRC_TRACE_LOSS] = "loss",
	[MRC_TRACE_RETRANSMIT] = "retransmit",
	[MRC_TRACE_TIMEOUT] = "timeout",
	[MRC_TRACE_WINDOW] = "window",
	[MRC_TRACE_RTT] = "rtt",
	[MRC_TRACE_MPR] = "mpr",
};

/* A plain row per call: a QP number, PSN, window, ... as mrc_env.h lists them. */
void sim_trace(
	void *ctx, uint64_t now_ns, enum mrc_trace_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct sim_host *h = ctx;

	if (h->sim->trace != NULL)
		fprintf(h->sim->trace, "%llu,%u,%s,%llu,%llu,%llu\n", (unsigned long long)now_ns,
			h->index, trace_names[kind], (unsigned long long)a, (unsigned long long)b,
			(unsigned long long)c);
}
