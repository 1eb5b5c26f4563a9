/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_check.c - what one key of a scenario alone cannot tell. */
#include <stdio.h>

#include "scenario_private.h"

static int where_check(struct mrc_ctl_ctx *ctx, const struct scenario *sc, const char *array,
	uint32_t i, const struct mrc_fabric_where *where)
{
	const struct mrc_ctl_shape shape = {
		sc->fabric.planes, sc->fabric.leaves, sc->fabric.spines, scenario_nb_hosts(sc)};
	int32_t index;
	uint32_t nb;
	const char *part = mrc_ctl_where_check(where, &shape, &index, &nb);
	char key[96];

	if (part == NULL)
		return MRC_OK;
	snprintf(key, sizeof(key), "%s[%u].%s", array, i, part);
	return mrc_ctl_fail_key(
		ctx, key, "is not there, the fabric has 0 .. %u", nb == 0 ? 0 : nb - 1);
}

/* Times in a scenario count from the start of the run. */
static void fault_place(struct mrc_ctl_fault *plan)
{
	plan->fault.start_ns = plan->at_ns;
	plan->fault.end_ns = plan->for_ns != 0 ? plan->at_ns + plan->for_ns : 0;
}

static int load_check(struct mrc_ctl_ctx *ctx, struct scenario *sc)
{
	struct mrc_pattern_cfg *p = &sc->load.pattern;
	uint32_t hosts = scenario_nb_hosts(sc);

	if (p->nb_hosts == 0)
		p->nb_hosts = hosts;
	if (p->nb_hosts > hosts)
		return mrc_ctl_fail_key(
			ctx, "load.hosts", "the fabric has %u hosts, give at most that", hosts);
	if (p->kind == MRC_PATTERN_LIST && sc->load.list == NULL)
		return mrc_ctl_fail_key(ctx, "load.flows", "pattern \"list\" needs the flows");
	if (sc->load.mode == SIM_STEADY && sc->load.duration_ns == 0)
		return mrc_ctl_fail_key(ctx, "load.duration", "a steady load needs a duration");
	if (sc->load.mode == SIM_STEADY && p->kind == MRC_PATTERN_ALL_REDUCE)
		return mrc_ctl_fail_key(
			ctx, "load.pattern", "all_reduce has steps, use mode \"flows\"");
	if (sc->load.mode == SIM_STEADY && sc->load.warmup_ns >= sc->load.duration_ns)
		return mrc_ctl_fail_key(
			ctx, "load.warmup", "must end before the load, give less than duration");
	if (sc->load.nb_list != 0 && p->kind != MRC_PATTERN_LIST)
		return mrc_ctl_fail_key(ctx, "load.flows", "is only used by pattern \"list\"");
	for (uint64_t i = 0; i < sc->load.nb_list; i++) {
		if (sc->load.list[i].src >= hosts || sc->load.list[i].dst >= hosts)
			return mrc_ctl_fail_key(ctx, "load.flows",
				"flow %llu names a host beyond the last, %u", (unsigned long long)i,
				hosts - 1);
	}
	return MRC_OK;
}

int scenario_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	struct scenario *sc = obj;
	int err = load_check(ctx, sc);

	if (sc->host.nacks_per_us == SIM_AUTO)
		sc->host.nacks_per_us =
			1 + (uint32_t)(sc->fabric.rate_bps / 1000000 * sc->fabric.planes /
				       (8ull * scenario_packet_len(sc)));
	/* One port can be kept exact; several have to be fed in turn. */
	if (sc->host.nic_packets == SIM_AUTO)
		sc->host.nic_packets = sc->fabric.planes > 1 ? 4 : 0;
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_faults; i++) {
		fault_place(&sc->faults[i]);
		err = where_check(ctx, sc, "faults", i, &sc->faults[i].fault.where);
	}
	for (uint32_t i = 0; err == MRC_OK && i < sc->fabric.nb_links; i++)
		err = where_check(ctx, sc, "fabric.links", i, &sc->fabric.links[i].where);
	for (uint32_t i = 0; err == MRC_OK && i < sc->nb_pauses; i++) {
		if (sc->pauses[i].host >= scenario_nb_hosts(sc))
			err = mrc_ctl_fail_key(
				ctx, "pauses", "host %u is not there", sc->pauses[i].host);
	}
	if (err == MRC_OK && sc->transport == SIM_RC && sc->load.mode != SIM_FLOWS)
		err = mrc_ctl_fail_key(ctx, "transport", "rc only knows mode \"flows\"");
	if (err == MRC_OK && sc->ev.mode == MRC_EV_MODE_SRV6 &&
		(sc->fabric.forward != MRC_FABRIC_SRV6 || sc->host.v4))
		err = mrc_ctl_fail_key(ctx, "ev.mode",
			"srv6 paths need \"forward\": \"srv6\" in the fabric and IPv6 hosts");
	if (err == MRC_OK && sc->ev.count % sc->fabric.planes != 0)
		err = mrc_ctl_fail_key(ctx, "ev.count",
			"%u planes need equal shares, give a multiple of that", sc->fabric.planes);
	if (err == MRC_OK && sc->ev.count + sc->ev.spares > MRC_EV_MAX)
		err = mrc_ctl_fail_key(ctx, "ev.spares", "at most %u values in all", MRC_EV_MAX);
	return err;
}
