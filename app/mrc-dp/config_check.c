/* SPDX-License-Identifier: BSD-2-Clause */
/* config_check.c - what several keys together must fulfil, and what the machine must offer. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "config_private.h"
#include "device.h"

#define KEY_LEN 128

uint32_t mrc_cfg_mtu_needed(const struct mrc_cfg *cfg)
{
	const bool v4 = cfg->nb_endpoints > 0 && mrc_gid_is_v4(&cfg->endpoints[0].address);
	const uint32_t outer = cfg->ev.mode == MRC_EV_MODE_SRV6 ? MRC_IPV6_LEN + MRC_SRH_LEN : 0;

	/* IP, UDP, BTH, then METH, TSETH, RETH and ImmDt; payload, ICRC. */
	return outer + (v4 ? 20u : 40u) + 8 + 12 + 4 + 4 + 16 + 4 + cfg->pmtu + MRC_ICRC_LEN;
}

uint32_t mrc_cfg_ring_frame_len(const struct mrc_cfg *cfg)
{
	return mrc_device_ring_frame_len(mrc_cfg_mtu_needed(cfg));
}

uint32_t mrc_cfg_buf_len(const struct mrc_cfg *cfg)
{
	uint32_t len = (mrc_device_frame_len(mrc_cfg_mtu_needed(cfg)) + 63) / 64 * 64;

	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++) {
			const char *device = cfg->endpoints[e].planes[p].device;
			uint32_t ring_len = 0;
			char size[32];

			if (strncmp(device, "net_af_packet", 13) != 0)
				continue;
			ring_len = mrc_device_arg(device, "framesz", size, sizeof(size))
					   ? (uint32_t)strtoul(size, NULL, 0)
					   : mrc_cfg_ring_frame_len(cfg);
			len = ring_len > len ? ring_len : len;
		}
	return len < 32768 ? len : 32768;
}

static const char *plane_key(char *key, uint32_t ep, uint32_t plane, const char *name)
{
	snprintf(key, KEY_LEN, "endpoints[%u].planes[%u].%s", ep, plane, name);
	return key;
}

static bool is_driver(const char *device, const char *driver)
{
	return strncmp(device, driver, strlen(driver)) == 0;
}

static uint32_t interface_mtu(const char *iface)
{
	char path[128];
	unsigned mtu = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", iface);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%u", &mtu) != 1)
		mtu = 0;
	fclose(file);
	return mtu;
}

static int interface_check(
	struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg, const char *key, const char *device)
{
	const uint32_t need = mrc_cfg_mtu_needed(cfg);
	char iface[IFNAMSIZ];
	uint32_t mtu;

	if (!mrc_device_arg(device, "iface", iface, sizeof(iface)))
		return MRC_OK;
	mtu = interface_mtu(iface);
	if (mtu != 0 && mtu < need)
		return mrc_ctl_fail_key(ctx, key,
			"interface %s has MTU %u, pmtu %u needs %u; \"ip link set %s mtu %u\" or a "
			"smaller \"pmtu\"",
			iface, mtu, cfg->pmtu, need, iface, need);
	return MRC_OK;
}

static int device_check(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg, uint32_t e, uint32_t p)
{
	const struct mrc_cfg_plane *plane = &cfg->endpoints[e].planes[p];
	char key[KEY_LEN], reason[MRC_REASON];

	plane_key(key, e, p, "device");
	for (uint32_t oe = 0; oe <= e; oe++)
		for (uint32_t op = 0; op < (oe == e ? p : cfg->endpoints[oe].nb_planes); op++) {
			const char *other = cfg->endpoints[oe].planes[op].device;
			size_t len = strcspn(plane->device, ",");

			if (len == strcspn(other, ",") && strncmp(plane->device, other, len) == 0)
				return mrc_ctl_fail_key(ctx, key,
					"device %.*s is already used by endpoints[%u].planes[%u]; "
					"give each plane a device of its own",
					(int)len, plane->device, oe, op);
		}
	if (mrc_device_check(plane->device, mrc_cfg_mtu_needed(cfg), reason) != MRC_OK)
		return mrc_ctl_fail_key(ctx, key, "%s", reason);
	if (mrc_device_is_af_packet(plane->device))
		return interface_check(ctx, cfg, key, plane->device);
	if (plane->is_pci && is_driver(plane->device, "0")) {
		char path[128];
		struct stat st;

		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", plane->device);
		if (strlen(plane->device) == strlen("0000:00:00.0") && stat(path, &st) != 0)
			return mrc_ctl_fail_key(ctx, key,
				"there is no PCI device %s; \"dpdk-devbind.py -s\" lists them",
				plane->device);
	}
	return MRC_OK;
}

static int plane_check(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg, uint32_t e, uint32_t p)
{
	const uint32_t need = mrc_cfg_mtu_needed(cfg);
	struct mrc_cfg_plane *plane = &cfg->endpoints[e].planes[p];
	char key[KEY_LEN];

	if (plane->mtu == 0)
		plane->mtu = need;
	if (plane->mtu < need)
		return mrc_ctl_fail_key(ctx, plane_key(key, e, p, "mtu"),
			"%u is too small for pmtu %u, which needs %u; raise \"mtu\" or lower "
			"\"pmtu\"",
			plane->mtu, cfg->pmtu, need);
	switch (plane->link) {
	case MRC_LINK_DEVICE:
		return device_check(ctx, cfg, e, p);
	case MRC_LINK_FABRIC:
		return MRC_OK;
	case MRC_LINK_DIRECT:
		if (cfg->nb_endpoints != 2 || p >= cfg->endpoints[1 - e].nb_planes ||
			cfg->endpoints[1 - e].planes[p].link != MRC_LINK_DIRECT)
			return mrc_ctl_fail_key(ctx, plane_key(key, e, p, "device"),
				"\"direct\" joins the same plane of two endpoints of this file; "
				"make "
				"the other endpoint's plane %u \"direct\" too",
				p);
		return MRC_OK;
	}
	return MRC_OK;
}

/* What kind of address can be nobody's own on a fabric; NULL when it can. */
static const char *unfit(const struct mrc_gid *gid)
{
	static const uint8_t zero[16];
	const uint8_t *a = gid->raw;

	if (mrc_gid_is_v4(gid)) {
		if (a[12] == 0)
			return "unspecified";
		if (a[12] == 127)
			return "loopback";
		if (a[12] == 255)
			return "broadcast";
		return a[12] >= 224 ? "multicast or reserved" : NULL;
	}
	if (memcmp(a, zero, 15) == 0)
		return a[15] == 0 ? "unspecified" : a[15] == 1 ? "loopback" : NULL;
	return a[0] == 0xFF ? "multicast" : NULL;
}

static int addresses_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg)
{
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++) {
		const char *kind = unfit(&cfg->endpoints[e].address);
		char key[KEY_LEN];

		if (kind == NULL)
			continue;
		snprintf(key, sizeof(key), "endpoints[%u].address", e);
		return mrc_ctl_fail_key(ctx, key,
			"is %s; give an address of the endpoint's own, like \"fd00::1\"", kind);
	}
	return MRC_OK;
}

/* Frames of one end must be those that the other one takes, where nothing in between changes them.
 */
static int tags_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg)
{
	for (uint32_t p = 0; p < cfg->endpoints[0].nb_planes; p++) {
		const struct mrc_cfg_plane *a = &cfg->endpoints[0].planes[p];
		const struct mrc_cfg_plane *b = &cfg->endpoints[1].planes[p];
		char key[KEY_LEN];

		if (b->link == MRC_LINK_DEVICE ||
			(a->vlan_set == b->vlan_set && a->vlan == b->vlan))
			continue;
		return mrc_ctl_fail_key(ctx, plane_key(key, 1, p, "vlan"),
			"differs from that of endpoints[0].planes[%u]; the planes are joined: give "
			"both the same",
			p);
	}
	return MRC_OK;
}

/* Two captures would write over each other. */
static int captures_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg)
{
	const char *seen[MRC_CFG_MAX_ENDPOINT * MRC_MAX_PLANES];
	uint32_t nb = 0;

	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++) {
			const char *path = cfg->endpoints[e].planes[p].capture;
			char key[KEY_LEN];

			for (uint32_t i = 0; i < nb && path[0] != '\0'; i++)
				if (strcmp(seen[i], path) == 0)
					return mrc_ctl_fail_key(ctx,
						plane_key(key, e, p, "capture"),
						"\"%s\" is the file of another plane too; give "
						"each "
						"its own",
						path);
			if (path[0] != '\0')
				seen[nb++] = path;
		}
	return MRC_OK;
}

static int endpoints_check(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg)
{
	const struct mrc_cfg_endpoint *a = &cfg->endpoints[0], *b = &cfg->endpoints[1];

	if (cfg->nb_endpoints == 1) {
		if (cfg->oob.mode == MRC_OOB_NONE)
			return mrc_ctl_fail_key(ctx, "endpoints",
				"one endpoint has nobody to talk to; add a second one or \"oob\" "
				"to "
				"reach another process");
		return MRC_OK;
	}
	if (cfg->oob.mode != MRC_OOB_NONE)
		return mrc_ctl_fail_key(ctx, "oob",
			"has no use with two endpoints in one file; remove it or one endpoint");
	if (strcmp(a->name, b->name) == 0)
		return mrc_ctl_fail_key(ctx, "endpoints[1].name",
			"\"%s\" is the name of endpoints[0] too; choose another", b->name);
	if (mrc_gid_eq(&a->address, &b->address))
		return mrc_ctl_fail_key(ctx, "endpoints[1].address",
			"is the address of endpoints[0] too; choose another");
	if (mrc_gid_is_v4(&a->address) != mrc_gid_is_v4(&b->address))
		return mrc_ctl_fail_key(ctx, "endpoints[1].address",
			"IP version differs from that of endpoints[0]; use the same");
	if (a->nb_planes != b->nb_planes)
		return mrc_ctl_fail_key(ctx, "endpoints[1].planes",
			"%u planes, but endpoints[0] has %u; give both the same number",
			b->nb_planes, a->nb_planes);
	return tags_check(ctx, cfg);
}

/* SRv6 wants paths on every plane of an IPv6 endpoint, and only SRv6 has a use for them. */
static int paths_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg, uint32_t e, uint32_t p)
{
	const struct mrc_cfg_plane *plane = &cfg->endpoints[e].planes[p];
	const bool srv6 = cfg->ev.mode == MRC_EV_MODE_SRV6;
	char key[KEY_LEN];

	plane_key(key, e, p, "paths");
	if (plane->nb_paths != 0 && !srv6)
		return mrc_ctl_fail_key(
			ctx, key, "are for SRv6; set \"ev\": {\"mode\": \"srv6\"} or remove them");
	if (plane->nb_paths == 0 && srv6)
		return mrc_ctl_fail_key(ctx, key,
			"are missing and \"ev.mode\" is \"srv6\"; list the outer destinations "
			"(uSID "
			"lists) that lead to the peer, like \"fcbb:bb00:1000:2000:1001:4000::\"");
	for (uint32_t i = 0; i < plane->nb_paths; i++)
		if (mrc_gid_is_v4(&plane->paths[i]) || unfit(&plane->paths[i]) != NULL) {
			snprintf(key, sizeof(key), "endpoints[%u].planes[%u].paths[%u]", e, p, i);
			return mrc_ctl_fail_key(ctx, key,
				"is %s; want an IPv6 address that holds a uSID list",
				mrc_gid_is_v4(&plane->paths[i]) ? "an IPv4 address"
								: unfit(&plane->paths[i]));
		}
	if (plane->nb_paths > cfg->ev.nb_per_plane)
		return mrc_ctl_fail_key(ctx, key,
			"%u paths, but \"ev.per_plane\" is %u; some would never be used, raise it",
			plane->nb_paths, cfg->ev.nb_per_plane);
	return MRC_OK;
}

static int ev_resolve(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg)
{
	const bool v4 = mrc_gid_is_v4(&cfg->endpoints[0].address);
	uint32_t total = cfg->ev.nb_per_plane * cfg->endpoints[0].nb_planes;

	if (cfg->ev.skip_ns == 0)
		cfg->ev.skip_ns = cfg->cc.base_rtt_ns;
	if (cfg->ev.skip_max_ns == MRC_CFG_EV_SKIPS)
		cfg->ev.skip_max_ns = cfg->ev.skip_ns > MRC_EV_SKIP_LIMIT_NS / MRC_EV_SKIPS
					      ? MRC_EV_SKIP_LIMIT_NS
					      : MRC_EV_SKIPS * cfg->ev.skip_ns;
	if ((uint32_t)cfg->ev.mode == MRC_CFG_EV_AUTO)
		cfg->ev.mode = v4 ? MRC_EV_MODE_UDP : MRC_EV_MODE_STEV;
	if (v4 && cfg->ev.mode == MRC_EV_MODE_STEV)
		return mrc_ctl_fail_key(ctx, "ev.mode",
			"\"stev\" needs the IPv6 flow label; use \"udp\" or IPv6 addresses");
	if (v4 && cfg->ev.mode == MRC_EV_MODE_SRV6)
		return mrc_ctl_fail_key(ctx, "ev.mode",
			"\"srv6\" wraps IPv6 packets; use \"udp\" or IPv6 addresses");
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++) {
			int err = paths_check(ctx, cfg, e, p);

			if (err)
				return err;
		}
	if (total > MRC_EV_MAX)
		return mrc_ctl_fail_key(ctx, "ev.per_plane",
			"%u on %u planes are %u entropy values, at most %u; lower it",
			cfg->ev.nb_per_plane, cfg->endpoints[0].nb_planes, total, MRC_EV_MAX);
	if (cfg->ev.nb_active != 0)
		total = cfg->ev.nb_active * cfg->endpoints[0].nb_planes;
	if (cfg->ev.min_active > total)
		return mrc_ctl_fail_key(ctx, "ev.min_active",
			"%u of %u entropy values in use on all planes; lower it or raise "
			"\"per_plane\"",
			cfg->ev.min_active, total);
	return MRC_OK;
}

static int fabric_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg)
{
	const struct mrc_cfg_fabric *fabric = &cfg->fabric;
	const struct mrc_ctl_shape shape = {cfg->endpoints[0].nb_planes, fabric->leaves,
		fabric->spines, fabric->leaves * fabric->hosts_per_leaf};
	uint32_t users = 0, nb;
	int32_t index;

	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++)
			users += cfg->endpoints[e].planes[p].link == MRC_LINK_FABRIC;
	if (fabric->present && users == 0)
		return mrc_ctl_fail_key(ctx, "fabric",
			"no plane uses it; give planes \"device\": \"fabric\" or remove the "
			"section");
	if (users > 0 && fabric->leaves * fabric->hosts_per_leaf < cfg->nb_endpoints)
		return mrc_ctl_fail_key(ctx, "fabric.leaves",
			"%u leaves with %u hosts each cannot hold %u endpoints; raise one of them",
			fabric->leaves, fabric->hosts_per_leaf, cfg->nb_endpoints);
	for (uint32_t f = 0; f < fabric->nb_faults; f++) {
		const char *part =
			mrc_ctl_where_check(&fabric->faults[f].fault.where, &shape, &index, &nb);
		char key[KEY_LEN];

		snprintf(key, sizeof(key), "fabric.faults[%u]", f);
		if (part == NULL && !mrc_ctl_where_selects(&fabric->faults[f].fault.where, &shape))
			return mrc_ctl_fail_key(ctx, key, MRC_CTL_NO_LINK);
		if (part == NULL)
			continue;
		snprintf(key, sizeof(key), "fabric.faults[%u].%s", f, part);
		return mrc_ctl_fail_key(ctx, key, "%d: %ss go from 0 to %u", index, part, nb - 1);
	}
	return MRC_OK;
}

static int file_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg *cfg)
{
	struct stat st;

	if (cfg->workload.file[0] == '\0')
		return MRC_OK;
	if (stat(cfg->workload.file, &st) != 0)
		return mrc_ctl_fail_key(
			ctx, "workload.file", "cannot read \"%s\": %m", cfg->workload.file);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return mrc_ctl_fail_key(ctx, "workload.file",
			"\"%s\" is no regular file with content; name another", cfg->workload.file);
	return MRC_OK;
}

int mrc_cfg_oob_check(struct mrc_ctl_ctx *ctx, const struct mrc_cfg_oob *oob)
{
	const char *key = oob->mode == MRC_OOB_LISTEN ? "listen" : "connect";
	const char *address = oob->address;

	if (strncmp(address, "unix:", 5) == 0 && address[5] != '\0') {
		size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

		if (strlen(address + 5) > most)
			return mrc_ctl_fail_key(ctx, key,
				"socket path \"%s\" has %zu characters, a UNIX socket takes %zu; "
				"choose a shorter path",
				address + 5, strlen(address + 5), most);
		return MRC_OK;
	}
	if (strncmp(address, "tcp:", 4) == 0) {
		const char *colon = strrchr(address + 4, ':');
		unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

		if (colon && colon > address + 4 && port > 0 && port < 65536)
			return MRC_OK;
	}
	return mrc_ctl_fail_key(
		ctx, key, "\"%s\": want \"unix:/path\" or \"tcp:host:port\"", address);
}

int mrc_cfg_check(struct mrc_ctl_ctx *ctx, struct mrc_cfg *cfg)
{
	int err = addresses_check(ctx, cfg);

	if (!err)
		err = endpoints_check(ctx, cfg);
	if (!err)
		err = captures_check(ctx, cfg);
	for (uint32_t e = 0; e < cfg->nb_endpoints && !err; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes && !err; p++)
			err = plane_check(ctx, cfg, e, p);
	if (!err)
		err = ev_resolve(ctx, cfg);
	if (!err)
		err = fabric_check(ctx, cfg);
	if (!err)
		err = file_check(ctx, cfg);
	return err;
}

/* ---- loading ------------------------------------------------------------------------------------
 */

static void cfg_default(struct mrc_cfg *cfg)
{
	struct mrc_ev_cfg ev;

	memset(cfg, 0, sizeof(*cfg));
	mrc_ev_cfg_default(&ev);
	mrc_proto_default(&cfg->proto);
	mrc_proto_init(&cfg->proto);
	cfg->hugepages = MRC_HUGE_AUTO;
	cfg->pmtu = 4096;
	cfg->icrc = true;
	cfg->timestamps = true;
	cfg->engine =
		(struct mrc_cfg_engine){.access_errors = 1, .back_pressure = true, .probes = true};
	cfg->ev = (struct mrc_cfg_ev){.mode = (enum mrc_ev_mode)MRC_CFG_EV_AUTO,
		.nb_per_plane = 32,
		.skip_max_ns = MRC_CFG_EV_SKIPS,
		.probe_ns = ev.probe_ns,
		.probe_max_ns = ev.probe_max_ns,
		.revive_count = ev.revive_count};
	cfg->cc.rate_bps = 40000000000ull;
	cfg->cc.base_rtt_ns = 100000;
	cfg->cc.nscc.algorithm = MRC_NSCC_UET10;
	cfg->qp = (struct mrc_cfg_qp){
		.mpr = MRC_MPR_MAX, .ttl = 64, .timeout = 14, .linear_cnt = 3, .exp_cnt = 7};
	cfg->fabric = (struct mrc_cfg_fabric){.leaves = 2,
		.spines = 2,
		.hosts_per_leaf = 1,
		.rate_bps = 10000000000ull,
		.delay_ns = 500,
		.forward = MRC_FABRIC_ECMP,
		.queues.ecn = true,
		.max_packets = 8192,
		.lcore = -1};
	cfg->workload = (struct mrc_cfg_workload){.nb_qps = 1,
		.msg_len = 1 << 20,
		.depth = 8,
		.verify = MRC_LOAD_VERIFY_FULL,
		.drain_ns = 5000000000ull};
	cfg->oob.wait_ns = 30000000000ull;
	cfg->mgmt_lcore = -1;
}

static int load(const char *source, const json_t *json, struct mrc_cfg *cfg_out, char *error_out)
{
	struct mrc_cfg_file *file = calloc(1, sizeof(*file));
	struct mrc_nscc_cfg nscc;
	struct mrc_ctl_error error = {.text = ""};
	int err = MRC_ERR_NOMEM;

	if (file == NULL)
		goto done;
	cfg_default(&file->cfg);
	file->oob.oob = file->cfg.oob;
	err = mrc_ctl_decode(source, json, &mrc_cfg_file_table, file, &error);
	if (err)
		goto done;
	/* Once more, on top of the window parameters that follow from rate, RTT and PMTU. */
	mrc_nscc_cfg_default(&nscc, file->cfg.cc.rate_bps, (uint32_t)file->cfg.cc.base_rtt_ns,
		file->cfg.pmtu + 100, file->cfg.cc.trimming);
	/* On a host that shares its cores one lucky sample would lower the ceiling for ever. */
	nscc.min_base_rtt_ns = nscc.base_rtt_ns;
	memset(file, 0, sizeof(*file));
	cfg_default(&file->cfg);
	file->oob.oob = file->cfg.oob;
	file->cfg.cc.nscc = nscc;
	file->cfg.cc.resolved = true;
	err = mrc_ctl_decode(source, json, &mrc_cfg_file_table, file, &error);
	if (err)
		goto done;
	*cfg_out = file->cfg;
done:
	if (err)
		snprintf(error_out, MRC_REASON, "%s",
			error.text[0] ? error.text : mrc_err_text(err));
	free(file);
	return err;
}

int mrc_cfg_parse(
	const char *source, const char *text, size_t len, struct mrc_cfg *cfg_out, char *error_out)
{
	struct mrc_ctl_error error;
	json_t *json = mrc_ctl_parse(source, text, len, MRC_CTL_FILE_MAX, &error);
	int err;

	if (json == NULL) {
		snprintf(error_out, MRC_REASON, "%s", error.text);
		return MRC_ERR_INVAL;
	}
	err = load(source, json, cfg_out, error_out);
	json_decref(json);
	return err;
}

int mrc_cfg_load(const char *path, struct mrc_cfg *cfg_out, char *error_out)
{
	struct mrc_ctl_error error;
	json_t *json;
	int err = mrc_ctl_parse_file(path, &json, &error);

	if (err) {
		snprintf(error_out, MRC_REASON, "%s", error.text);
		return err;
	}
	err = load(path, json, cfg_out, error_out);
	json_decref(json);
	return err;
}
