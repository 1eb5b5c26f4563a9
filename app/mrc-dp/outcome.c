/* SPDX-License-Identifier: BSD-2-Clause */
#include "outcome.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include <openssl/evp.h>

#include "figure.h"

int mrc_sha256(const uint8_t *mem, uint64_t len, char *hex_out)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned digest_len = 0;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
		    EVP_DigestUpdate(ctx, mem, len) &&
		    EVP_DigestFinal_ex(ctx, digest, &digest_len) && digest_len == 32;

	EVP_MD_CTX_free(ctx);
	if (!good)
		return MRC_ERR_NOMEM;
	for (unsigned i = 0; i < digest_len; i++)
		snprintf(hex_out + 2 * i, 3, "%02x", digest[i]);
	return MRC_OK;
}

/* ---- collecting
 * ---------------------------------------------------------------------------------- */

/* Both structs are nothing but uint64_t. */
static void sum_words(void *total, const void *more, size_t len)
{
	uint64_t *a = total;
	const uint64_t *b = more;

	for (size_t i = 0; i < len / sizeof(*a); i++)
		a[i] += b[i];
}

static void planes_add(struct mrc_outcome *out, const struct mrc_endpoint *ep,
	const struct mrc_sched_counters *counters)
{
	for (uint32_t p = 0; p < out->nb_planes; p++) {
		const struct mrc_sched_plane_counters *from = &counters->planes[p];
		struct mrc_plane_sum *to = &out->planes[p];

		if (ep->is_sender) {
			to->tx_packets += from->tx_packets;
			to->tx_bytes += from->tx_bytes;
			to->tx_data_packets += from->tx_data_packets;
			to->retransmits += from->tx_retransmits;
			to->lost_packets += from->lost_packets;
		}
		if (ep->is_receiver) {
			to->rx_packets += from->rx_packets;
			to->rx_bytes += from->rx_bytes;
		}
	}
}

static void load_add(struct mrc_outcome *out, const struct mrc_load *load)
{
	struct mrc_load_result result;
	double seconds;

	mrc_load_result(load, &result);
	out->tx_messages += result.tx_messages;
	out->tx_bytes += result.tx_bytes;
	result.tx_errors[0] = result.post_errors;
	for (uint32_t s = 0; s <= MRC_WC_FATAL_ERR; s++) {
		out->wr_status[s] += result.tx_errors[s];
		out->wr_errors += result.tx_errors[s];
	}
	if (result.latency)
		mrc_hist_merge(&out->latency, result.latency);
	seconds = (double)(result.last_tx_ns - result.first_tx_ns) * 1e-9;
	if (result.last_tx_ns > result.first_tx_ns && seconds > out->seconds)
		out->seconds = seconds;
}

void mrc_found_collect(const struct mrc_endpoint *ep, struct mrc_found *found_out)
{
	struct mrc_found found = {0};

	for (uint32_t i = 0; i < ep->workload.nb_loads; i++) {
		uint32_t index;
		const struct mrc_worker *w = mrc_endpoint_load_worker(ep, i, &index);
		struct mrc_load_result result;

		mrc_load_result(w->loads[index], &result);
		found.messages += result.rx_messages;
		found.bytes += result.rx_bytes;
		found.immediates += result.rx_imm;
		found.bytes_verified += result.bytes_verified;
		found.bytes_corrupt += result.bytes_corrupt;
		found.messages_corrupt += result.messages_corrupt;
		found.imm_corrupt += result.imm_corrupt;
	}
	if (ep->workload.file_len) {
		/* A file is verified by its sum. */
		found.bytes_verified = found.bytes_corrupt = 0;
		mrc_sha256(ep->regions[0].mem, ep->workload.file_len, found.sha256);
	}
	*found_out = found;
}

void mrc_outcome_add(struct mrc_outcome *outcome, const struct mrc_endpoint *ep)
{
	outcome->nb_planes = ep->ep->nb_planes;
	outcome->has_sender |= ep->is_sender;
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++) {
		const struct mrc_worker *worker = ep->workers[w];
		const struct mrc_sched_counters *counters = mrc_sched_counters_get(worker->sched);

		sum_words(&outcome->engines, counters, sizeof(*counters));
		sum_words(&outcome->workers, &worker->counters, sizeof(worker->counters));
		planes_add(outcome, ep, counters);
		outcome->qp_errors += counters->qp_errors;
		for (uint32_t l = 0; l < worker->nb_loads && ep->is_sender; l++)
			load_add(outcome, worker->loads[l]);
	}
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		sum_words(outcome->l2_events, ep->l2[p].counters, sizeof(outcome->l2_events));
		outcome->planes[p].up |= ep->ports[p].link_up;
		if (ep->captures[p])
			outcome->capture_missed += mrc_capture_missed(ep->captures[p]);
	}
	if (ep->is_receiver) {
		struct mrc_found found;

		mrc_found_collect(ep, &found);
		/* Text is no number. */
		sum_words(&outcome->found, &found, offsetof(struct mrc_found, sha256));
		memcpy(outcome->found.sha256, found.sha256, sizeof(found.sha256));
		outcome->found_known = true;
	}
	if (ep->is_sender && ep->workload.file_len) {
		outcome->has_file = true;
		outcome->file_len = ep->workload.file_len;
		snprintf(outcome->file, sizeof(outcome->file), "%s", ep->workload.cfg.file);
		mrc_sha256(ep->source.mem, ep->source.len, outcome->file_sha256);
	}
	if (ep->is_receiver && ep->workload.file_len)
		snprintf(outcome->store, sizeof(outcome->store), "%s", ep->workload.cfg.store);
}

void mrc_outcome_finish(struct mrc_outcome *outcome)
{
	if (outcome->seconds > 0)
		outcome->goodput_gbps = (double)outcome->tx_bytes * 8e-9 / outcome->seconds;
	if (!outcome->has_file || !outcome->found_known)
		return;
	if (strcmp(outcome->file_sha256, outcome->found.sha256) == 0)
		outcome->found.bytes_verified = outcome->file_len;
	else
		outcome->found.bytes_corrupt = outcome->file_len;
}

bool mrc_outcome_good(const struct mrc_outcome *o)
{
	return o->failure[0] == '\0' && !o->interrupted && o->qp_errors == 0 && o->wr_errors == 0 &&
	       o->found_known && o->found.bytes_corrupt == 0 && o->found.messages_corrupt == 0 &&
	       o->found.imm_corrupt == 0;
}

/* ---- text
 * ---------------------------------------------------------------------------------------- */

/* How a request failed, in the words of its completion. */
static const char *failure_name(uint32_t status)
{
	return status ? mrc_wc_status_name((enum mrc_wc_status)status) : "refused when posted";
}

static void errors_print(const struct mrc_outcome *o, FILE *out)
{
	const char *before = "                 ";

	fprintf(out, "  errors         %" PRIu64 " QP errors, %" PRIu64 " failed requests\n",
		o->qp_errors, o->wr_errors);
	if (o->wr_errors == 0)
		return;
	for (uint32_t s = 0; s <= MRC_WC_FATAL_ERR; s++)
		if (o->wr_status[s]) {
			fprintf(out, "%s%s %" PRIu64, before, failure_name(s), o->wr_status[s]);
			before = ", ";
		}
	fputc('\n', out);
}

/* The planes of a process that only receives. */
static void received_print(const struct mrc_outcome *o, FILE *out)
{
	fprintf(out, "  plane  received packets  state\n");
	for (uint32_t p = 0; p < o->nb_planes; p++)
		fprintf(out, "  %5u  %16" PRIu64 "  %s\n", p, o->planes[p].rx_packets,
			o->planes[p].up ? "up" : "down");
}

static void planes_print(const struct mrc_outcome *o, FILE *out)
{
	uint64_t total = 0;

	if (!o->has_sender) {
		received_print(o, out);
		return;
	}
	for (uint32_t p = 0; p < o->nb_planes; p++)
		total += o->planes[p].tx_packets;
	fprintf(out, "  plane  sent packets   share  received packets  retransmitted      lost  "
		     "state\n");
	for (uint32_t p = 0; p < o->nb_planes; p++) {
		const struct mrc_plane_sum *plane = &o->planes[p];

		fprintf(out,
			"  %5u  %12" PRIu64 "  %5.1f%%  %16" PRIu64 "  %13" PRIu64 "  %8" PRIu64
			"  %s\n",
			p, plane->tx_packets,
			total ? 100.0 * (double)plane->tx_packets / (double)total : 0.0,
			plane->rx_packets, plane->retransmits, plane->lost_packets,
			plane->up ? "up" : "down");
	}
}

static void drops_print(const struct mrc_outcome *o, FILE *out)
{
	uint32_t nb = 0;

	/* Three a line fit 80 columns. */
	for (uint32_t d = 1; d < MRC_NB_DROPS; d++)
		if (o->engines.drops[d]) {
			fprintf(out, "%s %s %" PRIu64,
				nb == 0       ? "  not used      "
				: nb % 3 == 0 ? ",\n                "
					      : ",",
				mrc_drop_name((enum mrc_drop)d), o->engines.drops[d]);
			nb++;
		}
	if (nb)
		fputc('\n', out);
}

static void latency_print(const struct mrc_outcome *o, FILE *out)
{
	char text[5][32];

	if (o->latency.count == 0)
		return;
	fprintf(out,
		"  message time   median %s, 99%% %s, 99.9%% %s\n"
		"                 min %s, max %s; from post to completion\n",
		mrc_figure_time(mrc_hist_quantile(&o->latency, 0.5), text[1], sizeof(text[1])),
		mrc_figure_time(mrc_hist_quantile(&o->latency, 0.99), text[2], sizeof(text[2])),
		mrc_figure_time(mrc_hist_quantile(&o->latency, 0.999), text[3], sizeof(text[3])),
		mrc_figure_time(o->latency.min, text[0], sizeof(text[0])),
		mrc_figure_time(o->latency.max, text[4], sizeof(text[4])));
}

static void file_print(const struct mrc_outcome *o, FILE *out)
{
	if (!o->has_file)
		return;
	fprintf(out, "  file           %s, %" PRIu64 " bytes\n", o->file, o->file_len);
	if (o->store[0])
		fprintf(out, "  stored         %s\n", o->store);
	fprintf(out, "  SHA-256        sent   %s\n", o->file_sha256);
	fprintf(out, "                 stored %s: %s\n",
		o->found.sha256[0] ? o->found.sha256 : "(not told)",
		strcmp(o->file_sha256, o->found.sha256) == 0 ? "equal" : "DIFFERENT");
}

/* What was held lost goes out again unless an answer comes first; an ACK that is late is asked for
 * by a repeat of a packet that was not lost. */
static void recovery_print(const struct mrc_outcome *o, FILE *out)
{
	const struct mrc_sched_counters *e = &o->engines;
	uint64_t lost = e->rtx_by_order + e->rtx_by_distance + e->rtx_by_nack + e->rtx_by_timeout;

	fprintf(out,
		"  held lost      %" PRIu64 ": by order %" PRIu64 ", distance %" PRIu64
		", NACK %" PRIu64 ", timeout %" PRIu64 "\n",
		lost, e->rtx_by_order, e->rtx_by_distance, e->rtx_by_nack, e->rtx_by_timeout);
	fprintf(out,
		"  retransmitted  %" PRIu64 " of %" PRIu64 " data packets; %" PRIu64
		" to ask for an ACK\n",
		e->retransmits, e->tx_data_packets, e->rtx_by_ack_timeout);
}

void mrc_outcome_print(const struct mrc_outcome *o, FILE *out)
{
	char text[64], seconds[32];

	fputc('\n', out);
	snprintf(seconds, sizeof(seconds), "%.2f s", o->seconds);
	if (o->seconds < 0.1)
		mrc_figure_time((uint64_t)(o->seconds * 1e9), seconds, sizeof(seconds));
	if (o->has_sender)
		fprintf(out, "  goodput        %.3f Gb/s over %s: %s in %" PRIu64 " messages\n",
			o->goodput_gbps, seconds, mrc_figure_size(o->tx_bytes, text, sizeof(text)),
			o->tx_messages);
	else
		fprintf(out, "  received       %s in %" PRIu64 " messages\n",
			mrc_figure_size(o->found.bytes, text, sizeof(text)), o->found.messages);
	if (o->found_known)
		fprintf(out, "  verified       %" PRIu64 " bytes, %" PRIu64 " corrupt\n",
			o->found.bytes_verified, o->found.bytes_corrupt);
	else
		fprintf(out, "  verified       unknown, the peer did not report\n");
	errors_print(o, out);
	if (o->has_sender)
		recovery_print(o, out);
	latency_print(o, out);
	file_print(o, out);
	planes_print(o, out);
	drops_print(o, out);
	if (o->capture_missed)
		fprintf(out, "  capture        missed %" PRIu64 " frames\n", o->capture_missed);
	if (o->failure[0])
		fprintf(out, "  %s\n", o->failure);
	fprintf(out, "  result         %s\n",
		mrc_outcome_good(o) ? "good: everything sent arrived whole"
		: o->interrupted    ? "interrupted"
				    : "FAILED");
}

/* ---- JSON
 * ---------------------------------------------------------------------------------------- */

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *planes_json(const struct mrc_outcome *o)
{
	json_t *list = json_array();

	for (uint32_t p = 0; p < o->nb_planes; p++) {
		const struct mrc_plane_sum *plane = &o->planes[p];

		json_array_append_new(list,
			json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s}", "plane", (int)p,
				"tx_packets", number(plane->tx_packets), "tx_bytes",
				number(plane->tx_bytes), "rx_packets", number(plane->rx_packets),
				"rx_bytes", number(plane->rx_bytes), "tx_data_packets",
				number(plane->tx_data_packets), "retransmitted_packets",
				number(plane->retransmits), "lost_packets",
				number(plane->lost_packets), "state", plane->up ? "up" : "down"));
	}
	return list;
}

static json_t *drops_json(const struct mrc_outcome *o)
{
	json_t *drops = json_object();

	for (uint32_t d = 1; d < MRC_NB_DROPS; d++)
		if (o->engines.drops[d])
			json_object_set_new(drops, mrc_drop_name((enum mrc_drop)d),
				number(o->engines.drops[d]));
	return drops;
}

/* A name in lower case with '_' for blanks. */
static void key_set(json_t *object, const char *name, uint64_t value)
{
	char key[40];

	snprintf(key, sizeof(key), "%s", name);
	for (char *c = key; *c; c++)
		*c = (char)(*c == ' ' ? '_' : tolower((unsigned char)*c));
	json_object_set_new(object, key, number(value));
}

static json_t *failures_json(const struct mrc_outcome *o)
{
	json_t *failures = json_object();

	for (uint32_t s = 0; s <= MRC_WC_FATAL_ERR; s++)
		if (o->wr_status[s])
			key_set(failures, failure_name(s), o->wr_status[s]);
	return failures;
}

static json_t *latency_json(const struct mrc_hist *hist)
{
	if (hist->count == 0)
		return json_null();
	return json_pack("{s:o,s:o,s:f,s:o,s:o,s:o,s:o,s:o}", "count", number(hist->count), "min",
		number(hist->min), "mean", mrc_hist_mean(hist), "p50",
		number(mrc_hist_quantile(hist, 0.5)), "p90", number(mrc_hist_quantile(hist, 0.9)),
		"p99", number(mrc_hist_quantile(hist, 0.99)), "p999",
		number(mrc_hist_quantile(hist, 0.999)), "max", number(hist->max));
}

static json_t *file_json(const struct mrc_outcome *o)
{
	if (!o->has_file)
		return json_null();
	return json_pack("{s:s,s:o,s:s,s:s,s:s,s:b}", "path", o->file, "bytes", number(o->file_len),
		"store", o->store, "sha256_sent", o->file_sha256, "sha256_stored", o->found.sha256,
		"equal", strcmp(o->file_sha256, o->found.sha256) == 0);
}

static json_t *recovery_json(const struct mrc_sched_counters *e)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "by_nack", number(e->rtx_by_nack),
		"by_order", number(e->rtx_by_order), "by_distance", number(e->rtx_by_distance),
		"by_timeout", number(e->rtx_by_timeout), "by_ack_timeout",
		number(e->rtx_by_ack_timeout), "spurious", number(e->spurious_retransmits),
		"timeouts", number(e->timeouts));
}

static json_t *control_json(const struct mrc_sched_counters *e)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "tx_sack", number(e->tx_sack),
		"tx_nack", number(e->tx_nack), "tx_ack", number(e->tx_ack), "tx_probe",
		number(e->tx_probe), "tx_endpoint_requests", number(e->ep_req_tx),
		"rx_endpoint_requests", number(e->ep_req_rx), "tx_endpoint_responses",
		number(e->ep_rsp_tx), "rx_endpoint_responses", number(e->ep_rsp_rx));
}

static json_t *l2_json(const struct mrc_outcome *o)
{
	json_t *events = json_object();

	for (uint32_t i = 0; i < MRC_NB_L2_EVENTS; i++)
		if (o->l2_events[i])
			key_set(events, mrc_l2_event_name((enum mrc_l2_event)i), o->l2_events[i]);
	return events;
}

json_t *mrc_outcome_json(const struct mrc_outcome *o)
{
	const struct mrc_sched_counters *e = &o->engines;
	json_t *json = json_pack("{s:b,s:f,s:f,s:o,s:o}", "good", mrc_outcome_good(o),
		"goodput_gbps", o->goodput_gbps, "seconds", o->seconds, "messages",
		number(o->tx_messages), "bytes", number(o->tx_bytes));

	json_object_set_new(json, "bytes_verified",
		o->found_known ? number(o->found.bytes_verified) : json_null());
	json_object_set_new(json, "bytes_corrupt",
		o->found_known ? number(o->found.bytes_corrupt) : json_null());
	json_object_set_new(json, "messages_corrupt", number(o->found.messages_corrupt));
	json_object_set_new(json, "immediates", number(o->found.immediates));
	json_object_set_new(json, "immediates_corrupt", number(o->found.imm_corrupt));
	json_object_set_new(json, "qp_errors", number(o->qp_errors));
	json_object_set_new(json, "failed_requests", number(o->wr_errors));
	json_object_set_new(json, "failures", failures_json(o));
	json_object_set_new(json, "data_packets", number(e->tx_data_packets));
	json_object_set_new(json, "retransmitted_packets", number(e->retransmits));
	json_object_set_new(json, "recovery", recovery_json(e));
	json_object_set_new(json, "control", control_json(e));
	json_object_set_new(json, "ecn_marks", number(e->ecn_marks));
	json_object_set_new(json, "planes", planes_json(o));
	json_object_set_new(json, "drops", drops_json(o));
	json_object_set_new(json, "latency_ns", latency_json(&o->latency));
	json_object_set_new(json, "neighbours", l2_json(o));
	json_object_set_new(json, "workers",
		json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "polls", number(o->workers.polls),
			"busy_polls", number(o->workers.busy_polls), "handed_over",
			number(o->workers.handed_over), "handover_full",
			number(o->workers.handover_full), "tx_no_buffer",
			number(o->workers.tx_no_buffer), "rx_segmented",
			number(o->workers.rx_segmented)));
	json_object_set_new(json, "file", file_json(o));
	json_object_set_new(json, "capture_missed", number(o->capture_missed));
	json_object_set_new(json, "interrupted", json_boolean(o->interrupted));
	json_object_set_new(json, "failure", o->failure[0] ? json_string(o->failure) : json_null());
	return json;
}
