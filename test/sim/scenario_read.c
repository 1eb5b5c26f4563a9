/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_read.c - defaults, reading a file, and numbers that follow from a scenario. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_private.h"

static void scenario_default(struct scenario *sc)
{
	memset(sc, 0, sizeof(*sc));
	sc->seed = 1;
	mrc_proto_default(&sc->proto);
	sc->fabric = (struct sim_fabric){.planes = 4,
		.leaves = 2,
		.spines = 2,
		.hosts_per_leaf = 2,
		.rate_bps = 100000000000u,
		.delay_ns = 1000,
		.overhead_len = 24,
		.stev_width = 16,
		.ecn = true,
		.trim = true,
		.ecn_min_len = SIM_AUTO,
		.ecn_max_len = SIM_AUTO,
		.trim_len = SIM_AUTO,
		.trim_last_len = SIM_AUTO,
		.drop_len = SIM_AUTO,
		.ctrl_len = SIM_AUTO,
		.trim_size = 256,
		.trim_who = MRC_FABRIC_TRIM_COIN};
	sc->host = (struct sim_host_cfg){.workers = 1,
		.pmtu = 4096,
		.mpr = MRC_MPR_DEFAULT,
		.wimm = MRC_WIMM_DEFAULT,
		.timeout = 6,
		.linear_cnt = MRC_LINEAR_MAX,
		.exp_cnt = 10,
		.timestamps = true,
		.trim_nack = true,
		.probes = true,
		.nic_packets = 32,
		.nacks_per_us = SIM_AUTO};
	sc->ev = (struct sim_ev){
		.mode = MRC_EV_MODE_STEV, .count = 64, .skip_max_ns = SIM_EV_SKIPS, .revive = 3};
	sc->cc = (struct sim_cc){.on = true, .algorithm = MRC_NSCC_UET10};
	sc->load = (struct sim_load){.mode = SIM_FLOWS,
		.qps = 1,
		.depth = 1,
		.piece_len = 1 << 20,
		.verify = MRC_LOAD_VERIFY_FULL};
	sc->load.pattern = (struct mrc_pattern_cfg){
		.kind = MRC_PATTERN_SHIFT, .bytes = 1 << 20, .second = 1, .fan_in = 1, .rounds = 1};
	/* 4.096 us x 2^14, what verbs tools use. */
	sc->rc = (struct sim_rc){.timeout_ns = 67108864, .ack_every = 4, .ecn = true};
	sc->churn.lives = 1;
	sc->storm.kinds = (1u << SIM_NB_STORM_KINDS) - 1;
	sc->run = (struct sim_run){.limit_ns = 10 * SIM_SECOND_NS, .check_every = 1};
}

/* ---- reading */

/* Applies "a.b.c=value"; an array is set as a whole. */
static int apply_set(json_t *root, const char *set, struct mrc_ctl_error *error_out)
{
	const char *eq = strchr(set, '=');
	json_t *at = root, *value;
	char path[SIM_TEXT], *part, *save = NULL, *last = NULL;

	if (eq == NULL || eq == set || (size_t)(eq - set) >= sizeof(path)) {
		snprintf(error_out->text, sizeof(error_out->text),
			"--set %s: is no setting, give PATH=VALUE as in load.bytes=1MiB", set);
		return MRC_ERR_INVAL;
	}
	memcpy(path, set, (size_t)(eq - set));
	path[eq - set] = '\0';
	value = json_loads(eq + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (value == NULL)
		value = json_string(eq + 1);
	for (part = strtok_r(path, ".", &save); part != NULL; part = strtok_r(NULL, ".", &save)) {
		if (last != NULL) {
			json_t *next = json_object_get(at, last);

			if (next == NULL) {
				next = json_object();
				json_object_set_new(at, last, next);
			}
			at = next;
		}
		last = part;
	}
	if (last == NULL || json_object_set_new(at, last, value) != 0) {
		snprintf(error_out->text, sizeof(error_out->text),
			"--set %s: cannot be set, name keys of objects joined by dots; an array "
			"is set as a whole",
			set);
		return MRC_ERR_INVAL;
	}
	return MRC_OK;
}

int scenario_read(const char *path, char *const *sets, uint32_t nb_sets,
	struct scenario **scenario_out, struct mrc_ctl_error *error_out)
{
	struct scenario *sc;
	json_t *root, *lines;
	int err = mrc_ctl_parse_file(path, &root, error_out);

	if (err != MRC_OK)
		return err;
	lines = json_object();
	for (uint32_t i = 0; i < nb_sets && err == MRC_OK; i++)
		err = apply_set(root, sets[i], error_out);
	if (err == MRC_OK)
		err = scenario_lists_read(path, root, lines, error_out);
	sc = err == MRC_OK ? malloc(sizeof(*sc)) : NULL;
	if (sc != NULL) {
		scenario_default(sc);
		err = mrc_ctl_decode(path, root, &scenario_table, sc, error_out);
		if (err != MRC_OK)
			scenario_lists_blame(root, lines, error_out);
	}
	json_decref(lines);
	json_decref(root);
	if (err == MRC_OK && sc != NULL && mrc_proto_init(&sc->proto) != MRC_OK) {
		snprintf(error_out->text, sizeof(error_out->text),
			"%s: choice: the settings contradict each other", path);
		err = MRC_ERR_INVAL;
	}
	if (err != MRC_OK || sc == NULL) {
		free(sc);
		return err != MRC_OK ? err : MRC_ERR_NOMEM;
	}
	*scenario_out = sc;
	return MRC_OK;
}

void scenario_free(struct scenario *scenario)
{
	if (scenario != NULL)
		free(scenario->load.list);
	free(scenario);
}

uint32_t scenario_nb_hosts(const struct scenario *sc)
{
	return sc->fabric.leaves * sc->fabric.hosts_per_leaf;
}

uint32_t scenario_packet_len(const struct scenario *sc)
{
	uint32_t ip = sc->host.v4 ? MRC_IPV4_LEN : MRC_IPV6_LEN;

	if (sc->ev.mode == MRC_EV_MODE_SRV6)
		ip += MRC_IPV6_LEN;
	return (uint32_t)(MRC_ETH_LEN + ip + MRC_UDP_LEN + MRC_BTH_LEN + MRC_METH_LEN +
			  (sc->host.timestamps ? MRC_TSETH_LEN : 0) + MRC_RETH_LEN + sc->host.pmtu +
			  MRC_ICRC_LEN + sc->fabric.overhead_len);
}

uint64_t scenario_rtt_ns(const struct scenario *sc)
{
	double bits = (scenario_packet_len(sc) + 120.0 + (double)sc->fabric.overhead_len) * 8;
	double rate = (double)sc->fabric.rate_bps;
	double uplink = sc->fabric.uplink_rate_bps ? (double)sc->fabric.uplink_rate_bps : rate;
	double each = 2 * ((double)sc->fabric.delay_ns + (double)sc->fabric.switch_ns);
	double host_ns = each + (rate > 0 ? bits / rate * 1e9 : 0);
	double uplink_ns = each + (uplink > 0 ? bits / uplink * 1e9 : 0);

	return (uint64_t)(2 * host_ns + (sc->fabric.leaves > 1 ? 2 * uplink_ns : 0));
}

/* ---- links and windows */

static uint32_t given(uint32_t value, double otherwise)
{
	return value != SIM_AUTO ? value : (uint32_t)otherwise;
}

void scenario_link(
	const struct scenario *sc, enum mrc_fabric_link_class cls, struct mrc_fabric_link_cfg *l)
{
	const struct sim_fabric *f = &sc->fabric;
	bool uplink = cls == MRC_FABRIC_LEAF_UP || cls == MRC_FABRIC_LEAF_DOWN;
	bool last = cls == MRC_FABRIC_HOST_DOWN;
	double bdp;

	*l = (struct mrc_fabric_link_cfg){.rate_bps = f->rate_bps, .delay_ns = f->delay_ns};
	if (uplink && f->uplink_rate_bps != 0)
		l->rate_bps = f->uplink_rate_bps;
	if (cls == MRC_FABRIC_HOST_UP)
		return;
	bdp = (double)l->rate_bps / 8e9 * (double)scenario_rtt_ns(sc);
	if (bdp < 16.0 * scenario_packet_len(sc))
		bdp = 16.0 * scenario_packet_len(sc);
	if (f->ecn && (!last || f->ecn_last_hop)) {
		l->ecn_min_len = given(f->ecn_min_len, 0.2 * bdp);
		l->ecn_max_len = given(f->ecn_max_len, 0.8 * bdp);
	}
	if (f->trim)
		l->trim_len = given(last ? f->trim_last_len : f->trim_len, (last ? 1.5 : 1) * bdp);
	l->drop_len = given(f->drop_len, 3 * bdp);
	l->ctrl_len = given(f->ctrl_len, 3 * bdp);
}

void scenario_cc(const struct scenario *sc, struct mrc_nscc_cfg *cfg_out)
{
	const struct sim_cc *cc = &sc->cc;
	const struct sim_fabric *f = &sc->fabric;
	uint64_t rate = cc->rate_bps != 0 ? cc->rate_bps : f->rate_bps * f->planes;
	uint64_t rtt = cc->base_rtt_ns != 0 ? cc->base_rtt_ns : scenario_rtt_ns(sc);
	/* The nominal size: UDP length and 40. */
	uint32_t mtu = cc->mtu != 0 ? cc->mtu
				    : (uint32_t)(MRC_UDP_LEN + MRC_BTH_LEN + MRC_METH_LEN +
						 MRC_TSETH_LEN + MRC_RETH_LEN + MRC_ICRC_LEN + 40) +
					      sc->host.pmtu;

	mrc_nscc_cfg_default(
		cfg_out, rate, rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX, mtu, f->trim);
	cfg_out->algorithm = cc->algorithm;
	if (cc->has_target)
		cfg_out->target_delay_ns = (uint32_t)cc->target_ns;
	if (cc->has_max_cwnd)
		cfg_out->max_cwnd = cc->max_cwnd;
	if (cc->has_qa)
		cfg_out->qa_threshold_ns = (uint32_t)cc->qa_threshold_ns;
	cfg_out->disable_qa = cc->disable_qa;
}
