/* SPDX-License-Identifier: BSD-2-Clause */
#include "handshake.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PROTOCOL_VERSION = 1,
	ANSWER_MS = 30000,
};

int mrc_workload_plan(const struct mrc_cfg *cfg, struct mrc_workload *out, char *reason_out)
{
	uint32_t nb_workers = cfg->endpoints[0].nb_workers;
	uint32_t nb_qps = cfg->workload.nb_qps;
	struct stat st;

	out->cfg = cfg->workload;
	out->file_len = 0;
	out->nb_loads = (nb_qps + MRC_LOAD_MAX_QPS - 1) / MRC_LOAD_MAX_QPS;
	if (out->nb_loads < nb_workers)
		out->nb_loads = RTE_MIN(nb_workers, nb_qps);
	if (out->cfg.file[0] == '\0')
		return MRC_OK;
	if (stat(out->cfg.file, &st) != 0)
		return mrc_refuse(
			reason_out, "workload.file: cannot read \"%s\": %m", out->cfg.file);
	out->file_len = (uint64_t)st.st_size;
	/* One load writes the file; it takes as many QPs as one load has. */
	out->nb_loads = 1;
	out->cfg.nb_qps = RTE_MIN(nb_qps, (uint32_t)MRC_LOAD_MAX_QPS);
	return MRC_OK;
}

/* ---- in one process
 * ------------------------------------------------------------------------------ */

int mrc_handshake_local(
	struct mrc_endpoint *eps, const struct mrc_workload *workload, char *reason_out)
{
	struct mrc_load_offer *offers = calloc(2, sizeof(*offers));
	uint8_t macs[2][MRC_MAX_PLANES][6];
	bool told = true;
	int err = offers ? MRC_OK : MRC_ERR_NOMEM;

	eps[1].spared = &eps[0].source;
	for (uint32_t i = 0; i < 2 && !err; i++) {
		/* The larger memory first: what does not fit is refused before anything is filled.
		 * A file to send comes before one to store, which must not be the same. */
		const uint32_t e = workload->file_len != 0 ? i : 1 - i;
		struct mrc_workload wl = *workload;

		wl.cfg.role = e == 0 ? MRC_CFG_REQUESTER : MRC_CFG_RESPONDER;
		err = mrc_endpoint_build(&eps[e], &wl, reason_out);
		for (uint32_t p = 0; p < eps[e].ep->nb_planes; p++) {
			memcpy(macs[e][p], eps[e].ports[p].mac, 6);
			told &= eps[e].ep->planes[p].link != MRC_LINK_DEVICE;
		}
	}
	for (uint32_t i = 0; i < workload->nb_loads && !err; i++) {
		for (uint32_t e = 0; e < 2; e++)
			mrc_endpoint_offer(&eps[e], i, &offers[e]);
		for (uint32_t e = 0; e < 2 && !err; e++)
			err = mrc_endpoint_connect(&eps[e], i, &offers[1 - e],
				told ? (const uint8_t(*)[6])macs[1 - e] : NULL, reason_out);
	}
	free(offers);
	return err;
}

/* ---- messages
 * ------------------------------------------------------------------------------------ */

static json_t *workload_pack(const struct mrc_workload *wl)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I,s:I,s:I,s:I,s:I}", "qps",
		(json_int_t)wl->cfg.nb_qps, "message", (json_int_t)wl->cfg.msg_len, "messages",
		(json_int_t)wl->cfg.nb_msgs, "duration_ns", (json_int_t)wl->cfg.duration_ns,
		"depth", (json_int_t)wl->cfg.depth, "slots", (json_int_t)wl->cfg.nb_slots, "rate",
		(json_int_t)wl->cfg.rate_bps, "pacing", (json_int_t)wl->cfg.pacing, "imm_pct",
		(json_int_t)wl->cfg.imm_pct, "bidirectional", wl->cfg.bidirectional, "verify",
		(json_int_t)wl->cfg.verify, "seed", (json_int_t)wl->cfg.seed, "drain_ns",
		(json_int_t)wl->cfg.drain_ns, "loads", (json_int_t)wl->nb_loads, "file_len",
		(json_int_t)wl->file_len);
}

/* True when lo <= value <= hi, then stored. */
static bool number_in(json_t *obj, const char *key, uint64_t lo, uint64_t hi, uint64_t *out)
{
	const json_t *value = json_object_get(obj, key);
	uint64_t number;

	if (!json_is_integer(value))
		return false;
	number = (uint64_t)json_integer_value(value);
	if (number < lo || number > hi)
		return false;
	*out = number;
	return true;
}

static const char *workload_unpack(json_t *obj, struct mrc_workload *wl)
{
	const struct {
		const char *key;
		uint64_t lo, hi;
	} rows[] = {{"qps", 1, MRC_CFG_MAX_WORKERS * MRC_LOAD_MAX_QPS}, {"message", 1, INT32_MAX},
		{"messages", 0, UINT64_MAX}, {"duration_ns", 0, UINT64_MAX}, {"depth", 1, 65536},
		{"slots", 0, 65536}, {"rate", 0, UINT64_MAX}, {"pacing", 0, MRC_LOAD_POISSON},
		{"imm_pct", 0, 100}, {"verify", 0, MRC_LOAD_VERIFY_NONE}, {"seed", 0, UINT64_MAX},
		{"drain_ns", 0, UINT64_MAX}, {"loads", 1, MRC_ENDPOINT_MAX_LOADS},
		{"file_len", 0, 1ull << 46}};
	uint64_t v[RTE_DIM(rows)];

	for (size_t i = 0; i < RTE_DIM(rows); i++)
		if (!number_in(obj, rows[i].key, rows[i].lo, rows[i].hi, &v[i]))
			return rows[i].key;
	wl->cfg.nb_qps = (uint32_t)v[0];
	wl->cfg.msg_len = v[1];
	wl->cfg.nb_msgs = v[2];
	wl->cfg.duration_ns = v[3];
	wl->cfg.depth = (uint32_t)v[4];
	wl->cfg.nb_slots = (uint32_t)v[5];
	wl->cfg.rate_bps = v[6];
	wl->cfg.pacing = (uint32_t)v[7];
	wl->cfg.imm_pct = (uint32_t)v[8];
	wl->cfg.verify = (uint32_t)v[9];
	wl->cfg.seed = v[10];
	wl->cfg.drain_ns = v[11];
	wl->nb_loads = (uint32_t)v[12];
	wl->file_len = v[13];
	wl->cfg.bidirectional = json_is_true(json_object_get(obj, "bidirectional"));
	return NULL;
}

static void gid_text(const struct mrc_gid *gid, char *text)
{
	inet_ntop(AF_INET6, gid->raw, text, INET6_ADDRSTRLEN);
}

static json_t *offer_pack(const struct mrc_load_offer *offer)
{
	json_t *qpn = json_array(), *psn = json_array();
	char gid[INET6_ADDRSTRLEN];

	gid_text(&offer->gid, gid);
	for (uint32_t i = 0; i < offer->nb_qps; i++) {
		json_array_append_new(qpn, json_integer(offer->qpn[i]));
		json_array_append_new(psn, json_integer(offer->psn[i]));
	}
	return json_pack("{s:s,s:o,s:o,s:I,s:I,s:I,s:b,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "gid",
		gid, "qpn", qpn, "psn", psn, "pmtu", (json_int_t)offer->pmtu, "mpr",
		(json_int_t)offer->mpr, "wimm", (json_int_t)offer->wimm, "dynamic_mpr",
		offer->dynamic_mpr, "trim_nack", offer->trim_nack, "svc_time", offer->svc_time,
		"rkey", (json_int_t)offer->rkey, "va", (json_int_t)offer->va, "region_len",
		(json_int_t)offer->region_len, "slot_len", (json_int_t)offer->slot_len, "nb_slots",
		(json_int_t)offer->nb_slots, "depth", (json_int_t)offer->depth, "seed",
		(json_int_t)offer->seed);
}

static bool numbers_in(json_t *obj, const char *key, uint32_t *out, uint32_t *nb_out)
{
	json_t *array = json_object_get(obj, key);
	size_t nb = json_array_size(array);

	if (nb == 0 || nb > MRC_LOAD_MAX_QPS)
		return false;
	for (size_t i = 0; i < nb; i++) {
		json_t *item = json_array_get(array, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0 ||
			json_integer_value(item) > 0xFFFFFF)
			return false;
		out[i] = (uint32_t)json_integer_value(item);
	}
	*nb_out = (uint32_t)nb;
	return true;
}

static const char *offer_unpack(json_t *obj, struct mrc_load_offer *offer)
{
	const char *gid = json_string_value(json_object_get(obj, "gid"));
	const struct {
		const char *key;
		uint64_t hi;
	} rows[] = {{"pmtu", 4096}, {"mpr", MRC_MPR_LIMIT}, {"wimm", 65535}, {"rkey", UINT32_MAX},
		{"va", UINT64_MAX}, {"region_len", UINT64_MAX}, {"slot_len", UINT64_MAX},
		{"nb_slots", UINT32_MAX}, {"depth", UINT32_MAX}, {"seed", UINT64_MAX}};
	uint64_t v[RTE_DIM(rows)];
	uint32_t nb_psn = 0;

	memset(offer, 0, sizeof(*offer));
	if (gid == NULL || inet_pton(AF_INET6, gid, offer->gid.raw) != 1)
		return "gid";
	if (!numbers_in(obj, "qpn", offer->qpn, &offer->nb_qps) ||
		!numbers_in(obj, "psn", offer->psn, &nb_psn) || nb_psn != offer->nb_qps)
		return "qpn";
	for (size_t i = 0; i < RTE_DIM(rows); i++)
		if (!number_in(obj, rows[i].key, 0, rows[i].hi, &v[i]))
			return rows[i].key;
	offer->pmtu = (uint32_t)v[0];
	offer->mpr = (uint32_t)v[1];
	offer->wimm = (uint32_t)v[2];
	offer->rkey = (uint32_t)v[3];
	offer->va = v[4];
	offer->region_len = v[5];
	offer->slot_len = v[6];
	offer->nb_slots = (uint32_t)v[7];
	offer->depth = (uint32_t)v[8];
	offer->seed = v[9];
	offer->dynamic_mpr = json_is_true(json_object_get(obj, "dynamic_mpr"));
	offer->trim_nack = json_is_true(json_object_get(obj, "trim_nack"));
	offer->svc_time = json_is_true(json_object_get(obj, "svc_time"));
	return NULL;
}

/* ---- between processes
 * ----------------------------------------------------------------------------- */

/* Waits for the message of a kind. */
static int expect_msg(struct mrc_oob *oob, const char *kind, const volatile sig_atomic_t *stop,
	json_t **msg_out, char *reason)
{
	json_t *msg = mrc_oob_recv(oob, ANSWER_MS, stop);
	const char *found = json_string_value(json_object_get(msg, "msg"));

	if (*stop) {
		json_decref(msg);
		return MRC_ERR_STATE;
	}
	if (msg == NULL)
		return mrc_refuse(reason, "oob: the peer %s before its \"%s\"; see its own message",
			oob->closed ? "closed the connection" : "fell silent", kind);
	if (found && strcmp(found, "refused") == 0) {
		const char *why = json_string_value(json_object_get(msg, "reason"));

		mrc_refuse(reason, "oob: the peer refuses: %s", why ? why : "no reason given");
		json_decref(msg);
		return MRC_ERR_INVAL;
	}
	if (found == NULL || strcmp(found, kind) != 0) {
		mrc_refuse(reason,
			"oob: the peer sent \"%s\" instead of \"%s\"; use the same version of "
			"mrc-dp",
			found ? found : "?", kind);
		json_decref(msg);
		return MRC_ERR_INVAL;
	}
	*msg_out = msg;
	return MRC_OK;
}

static int hello_check(
	const struct mrc_cfg *cfg, json_t *hello, struct mrc_workload *wl, char *reason)
{
	const bool requester = cfg->workload.role == MRC_CFG_REQUESTER;
	const char *role = json_string_value(json_object_get(hello, "role"));
	json_int_t version = json_integer_value(json_object_get(hello, "version"));
	json_int_t pmtu = json_integer_value(json_object_get(hello, "pmtu"));
	json_int_t planes = json_integer_value(json_object_get(hello, "planes"));
	const char *key;

	if (version != PROTOCOL_VERSION)
		return mrc_refuse(reason,
			"oob: the peer speaks version %lld, this is %d; use the same mrc-dp",
			(long long)version, PROTOCOL_VERSION);
	if (role == NULL || strcmp(role, requester ? "responder" : "requester") != 0)
		return mrc_refuse(reason, "workload.role: both ends are \"%s\"; make one the %s",
			requester ? "requester" : "responder",
			requester ? "responder" : "requester");
	if (pmtu != cfg->pmtu)
		return mrc_refuse(reason,
			"pmtu: %u here, %lld at the peer; use the same at both ends", cfg->pmtu,
			(long long)pmtu);
	if (planes != cfg->endpoints[0].nb_planes)
		return mrc_refuse(reason,
			"endpoints[0].planes: %u here, %lld at the peer; use the same at both ends",
			cfg->endpoints[0].nb_planes, (long long)planes);
	if (requester)
		return MRC_OK;
	key = workload_unpack(json_object_get(hello, "workload"), wl);
	return key ? mrc_refuse(reason, "oob: the peer's workload has a bad \"%s\"", key) : MRC_OK;
}

static int hello_swap(const struct mrc_cfg *cfg, struct mrc_oob *oob, struct mrc_workload *wl,
	const volatile sig_atomic_t *stop, char *reason)
{
	const bool requester = cfg->workload.role == MRC_CFG_REQUESTER;
	json_t *msg = json_pack("{s:s,s:i,s:s,s:i,s:i}", "msg", "hello", "version",
		PROTOCOL_VERSION, "role", requester ? "requester" : "responder", "pmtu",
		(int)cfg->pmtu, "planes", (int)cfg->endpoints[0].nb_planes);
	int err;

	if (requester)
		json_object_set_new(msg, "workload", workload_pack(wl));
	if (mrc_oob_send(oob, msg) != MRC_OK)
		return mrc_refuse(reason, "oob: the peer closed the connection at once");
	err = expect_msg(oob, "hello", stop, &msg, reason);
	if (err)
		return err;
	err = hello_check(cfg, msg, wl, reason);
	json_decref(msg);
	return err;
}

static int offers_send(const struct mrc_endpoint *ep, struct mrc_oob *oob,
	struct mrc_load_offer *scratch, char *reason)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < ep->workload.nb_loads; i++) {
		mrc_endpoint_offer(ep, i, scratch);
		json_array_append_new(list, offer_pack(scratch));
	}
	if (mrc_oob_send(oob, json_pack("{s:s,s:o}", "msg", "offers", "offers", list)) != MRC_OK)
		return mrc_refuse(reason, "oob: the peer is gone; see its own message");
	return MRC_OK;
}

static int offers_take(
	struct mrc_endpoint *ep, json_t *list, struct mrc_load_offer *scratch, char *reason)
{
	if (json_array_size(list) != ep->workload.nb_loads)
		return mrc_refuse(reason, "oob: the peer offers %zu loads instead of %u",
			json_array_size(list), ep->workload.nb_loads);
	for (uint32_t i = 0; i < ep->workload.nb_loads; i++) {
		const char *key = offer_unpack(json_array_get(list, i), scratch);
		int err = key ? mrc_refuse(reason, "oob: the peer's offer has a bad \"%s\"", key)
			      : mrc_endpoint_connect(ep, i, scratch, NULL, reason);

		if (err)
			return err;
	}
	return MRC_OK;
}

static int offers_swap(struct mrc_endpoint *ep, struct mrc_oob *oob,
	const volatile sig_atomic_t *stop, char *reason)
{
	struct mrc_load_offer *scratch = malloc(sizeof(*scratch));
	json_t *msg;
	int err = scratch ? offers_send(ep, oob, scratch, reason) : MRC_ERR_NOMEM;

	if (!err)
		err = expect_msg(oob, "offers", stop, &msg, reason);
	if (!err) {
		err = offers_take(ep, json_object_get(msg, "offers"), scratch, reason);
		json_decref(msg);
	}
	free(scratch);
	if (err)
		return err;
	if (mrc_oob_send(oob, json_pack("{s:s}", "msg", "ready")) != MRC_OK)
		return mrc_refuse(reason, "oob: the peer is gone; see its own message");
	err = expect_msg(oob, "ready", stop, &msg, reason);
	if (!err)
		json_decref(msg);
	return err;
}

int mrc_handshake_remote(struct mrc_endpoint *ep, const struct mrc_cfg *cfg, struct mrc_oob *oob,
	const volatile sig_atomic_t *stop, char *reason_out)
{
	struct mrc_workload wl;
	int err = mrc_workload_plan(cfg, &wl, reason_out);

	if (!err)
		err = hello_swap(cfg, oob, &wl, stop, reason_out);
	if (!err)
		err = mrc_endpoint_build(ep, &wl, reason_out);
	if (!err)
		err = offers_swap(ep, oob, stop, reason_out);
	if (err == MRC_ERR_INVAL && !oob->closed)
		mrc_oob_send(oob, json_pack("{s:s,s:s}", "msg", "refused", "reason", reason_out));
	return err;
}
