/* SPDX-License-Identifier: BSD-2-Clause */
#include "dpdk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "ctl_stdio.h"
#include "device.h"
#include "endpoint.h"
#include "osenv.h"
#include "run.h"

static char vdev_texts[MRC_CFG_MAX_ENDPOINT * MRC_MAX_PLANES][MRC_DEVICE_TEXT + 64];

static int device_plan(const struct mrc_cfg *cfg, const struct mrc_cfg_plane *plane,
	struct mrc_eal_plan *plan, const char **vdevs, const char **pcis, char *reason)
{
	char *text = vdev_texts[plan->nb_vdevs];

	if (plane->link != MRC_LINK_DEVICE)
		return MRC_OK;
	if (plane->is_pci) {
		pcis[plan->nb_pcis++] = plane->device;
		return MRC_OK;
	}
	if (mrc_device_socket_free(plane->device, reason, MRC_REASON) != MRC_OK)
		return MRC_ERR_STATE;
	mrc_device_complete(plane->device, mrc_cfg_ring_frame_len(cfg), text);
	vdevs[plan->nb_vdevs++] = text;
	return MRC_OK;
}

int mrc_dpdk_start(const struct mrc_cfg *cfg, const char *const *cli_args, uint32_t nb_cli_args,
	struct mrc_eal_args *args_out, char *reason_out)
{
	const char *file_args[MRC_CFG_MAX_EAL];
	const char *vdevs[RTE_DIM(vdev_texts)], *pcis[RTE_DIM(vdev_texts)];
	struct mrc_eal_plan plan = {.file_args = file_args,
		.nb_file_args = cfg->nb_eal,
		.cli_args = cli_args,
		.nb_cli_args = nb_cli_args,
		.vdevs = vdevs,
		.pcis = pcis,
		.memory_mib = cfg->memory_mib ? cfg->memory_mib : mrc_endpoint_memory_mib(cfg),
		.lcores = cfg->lcores[0] != '\0' ? cfg->lcores : NULL};
	char prefix[32], text[MRC_REASON];
	int err = MRC_OK;

	for (uint32_t i = 0; i < cfg->nb_eal; i++)
		file_args[i] = cfg->eal[i];
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes && !err; p++)
			err = device_plan(
				cfg, &cfg->endpoints[e].planes[p], &plan, vdevs, pcis, reason_out);
	if (err)
		return err;
	snprintf(prefix, sizeof(prefix), "mrc-dp-%d", (int)getpid());
	plan.prefix = prefix;
	plan.hugepages = cfg->hugepages == MRC_HUGE_YES ||
			 (cfg->hugepages == MRC_HUGE_AUTO &&
				 mrc_eal_hugepages_free_mib() >= plan.memory_mib);
	if (!plan.hugepages && plan.memory_mib > mrc_osmem_available() >> 20) {
		snprintf(reason_out, MRC_REASON,
			"memory.mib: %u MiB are wanted and %llu available; lower it, or what it "
			"follows from: \"workers\", \"descriptors\", \"fabric.packets\"",
			plan.memory_mib, (unsigned long long)(mrc_osmem_available() >> 20));
		return MRC_ERR_TOOBIG;
	}
	err = mrc_eal_args_build(args_out, &plan);
	if (err) {
		snprintf(reason_out, MRC_REASON, "eal: %s",
			err == MRC_ERR_TOOBIG ? "too many arguments" : mrc_err_text(err));
		return err;
	}
	err = mrc_eal_start(args_out, text, sizeof(text));
	if (err)
		snprintf(reason_out, MRC_REASON,
			"eal: DPDK does not start%s%.*s%s: %.*s; \"mrc-dp %s",
			cfg->lcores[0] ? " with lcores \"" : "", 64, cfg->lcores,
			cfg->lcores[0] ? "\"" : "", MRC_REASON - 192, text,
			strstr(text, "option") != NULL ? "run --help\" lists the options"
						       : "doctor\" looks for the cause");
	return err;
}

bool mrc_dpdk_must_leave(const struct mrc_cfg *cfg)
{
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++)
			if (mrc_device_is_memif(cfg->endpoints[e].planes[p].device))
				return true;
	return false;
}

void mrc_dpdk_leave(const struct mrc_cfg *cfg, bool sockets_ours, int code)
{
	for (uint32_t e = 0; e < cfg->nb_endpoints && sockets_ours; e++)
		for (uint32_t p = 0; p < cfg->endpoints[e].nb_planes; p++)
			mrc_device_socket_remove(cfg->endpoints[e].planes[p].device);
	mrc_eal_leave(mrc_ctl_stdio_end("mrc-dp", code, MRC_EXIT_FAILED));
}
