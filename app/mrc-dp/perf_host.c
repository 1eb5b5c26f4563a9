/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "dpdk.h"
#include "handshake.h"

enum {
	DIRECT_RING = 512,
};

/* What a measurement can do with a file. */
static int cfg_check(const struct mrc_cfg *cfg, const char *path, char *reason)
{
	for (uint32_t e = 0; e < cfg->nb_endpoints; e++) {
		const struct mrc_cfg_endpoint *ep = &cfg->endpoints[e];

		if (ep->nb_workers != 1)
			return mrc_refuse(reason,
				"%s: endpoints[%u].workers: %u: a measurement runs one worker a "
				"side; use 1",
				path, e, ep->nb_workers);
		for (uint32_t p = 0; p < ep->nb_planes; p++)
			if (ep->planes[p].link == MRC_LINK_FABRIC)
				return mrc_refuse(reason,
					"%s: endpoints[%u].planes[%u].device: \"fabric\": a "
					"measurement needs \"direct\" or a device",
					path, e, p);
	}
	if (cfg->nb_endpoints == 1 && cfg->oob.mode == MRC_OOB_NONE)
		return mrc_refuse(reason,
			"%s: oob: missing; with one endpoint it says how to reach the other", path);
	return MRC_OK;
}

static int eal_up(struct mrc_perf_host *host, char *reason)
{
	const int err = mrc_dpdk_start(&host->cfg, NULL, 0, &host->eal, reason);

	host->eal_up = err == MRC_OK;
	return err ? err : mrc_clock_init(&host->clock, rte_get_tsc_hz(), rte_rdtsc());
}

/* Plane p of endpoint 0 and of endpoint 1 are joined by a ring each way. */
static int rings_make(const struct mrc_cfg *cfg, uint32_t p,
	struct mrc_endpoint_rings rings[][MRC_MAX_PLANES], char *reason)
{
	for (uint32_t e = 0; e < 2; e++) {
		const struct mrc_cfg_plane *plane = &cfg->endpoints[e].planes[p];
		struct rte_ring *ring;
		char name[64];

		snprintf(name, sizeof(name), "perf_%u_%u", p, e);
		ring = rte_ring_create(name,
			rte_align32pow2(plane->descriptors ? plane->descriptors : DIRECT_RING),
			SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (ring == NULL)
			return mrc_refuse(reason, "memory.mib: no room for a ring; raise it");
		rings[e][p].tx[0] = ring;
		rings[1 - e][p].rx[0] = ring;
		rings[e][p].nb_tx = rings[1 - e][p].nb_rx = 1;
	}
	return MRC_OK;
}

static int endpoints_open(struct mrc_perf_host *host, char *reason)
{
	struct mrc_endpoint_rings rings[MRC_CFG_MAX_ENDPOINT][MRC_MAX_PLANES];
	int rc = MRC_OK;

	memset(rings, 0, sizeof(rings));
	for (uint32_t p = 0; p < host->cfg.endpoints[0].nb_planes && rc == MRC_OK; p++)
		if (host->cfg.endpoints[0].planes[p].link == MRC_LINK_DIRECT)
			rc = rings_make(&host->cfg, p, rings, reason);
	for (uint32_t e = 0; e < host->cfg.nb_endpoints && rc == MRC_OK; e++) {
		rc = mrc_endpoint_open(
			&host->eps[e], &host->cfg, e, &host->clock, rings[e], reason);
		host->nb_open = e + 1;
	}
	return rc;
}

static int shared_make(struct mrc_perf_host *host, const char *sync, char *reason)
{
	const size_t len = sizeof(struct mrc_perf_shared);
	int fd = -1, flags = MAP_SHARED | MAP_ANONYMOUS;
	void *mem;

	if (sync == NULL && host->cfg.nb_endpoints == 1)
		return mrc_refuse(reason,
			"--sync is missing: with one endpoint in the file both processes need "
			"\"--sync PATH\", the same new file");
	if (sync != NULL) {
		fd = open(sync, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)len) != 0) {
			if (fd >= 0)
				close(fd);
			return mrc_refuse(reason, "--sync %s: %s", sync, strerror(errno));
		}
		flags = MAP_SHARED;
	}
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		return mrc_refuse(reason, "no memory to share: %s", strerror(errno));
	/* A side opens the file before it answers the other one, which is ready only after that. */
	if (atomic_load(&((struct mrc_perf_shared *)mem)->nb_ready) != 0) {
		munmap(mem, len);
		return mrc_refuse(reason,
			"--sync %s: left over from an earlier run; remove it and start both sides "
			"again",
			sync);
	}
	host->shared = mem;
	return MRC_OK;
}

int mrc_perf_host_open(struct mrc_perf_host *host, const char *path, const char *sync,
	const volatile sig_atomic_t *stop, char *reason_out)
{
	struct mrc_workload workload;
	int rc;

	memset(host, 0, sizeof(*host));
	host->oob.fd = -1;
	rc = mrc_cfg_load(path, &host->cfg, reason_out);
	if (rc == MRC_OK)
		rc = cfg_check(&host->cfg, path, reason_out);
	if (rc == MRC_OK)
		rc = shared_make(host, sync, reason_out);
	if (rc == MRC_OK)
		rc = eal_up(host, reason_out);
	if (rc == MRC_OK)
		rc = endpoints_open(host, reason_out);
	if (rc != MRC_OK)
		return rc;
	if (host->cfg.nb_endpoints == 2) {
		rc = mrc_workload_plan(&host->cfg, &workload, reason_out);
		return rc == MRC_OK ? mrc_handshake_local(host->eps, &workload, reason_out) : rc;
	}
	rc = mrc_oob_open(&host->oob, &host->cfg.oob, stop, reason_out);
	if (rc == MRC_OK)
		rc = mrc_handshake_remote(&host->eps[0], &host->cfg, &host->oob, stop, reason_out);
	if (rc == MRC_OK)
		rc = mrc_endpoint_settle(&host->eps[0], stop, reason_out);
	return rc;
}

void mrc_perf_host_close(struct mrc_perf_host *host, int code)
{
	if (host->eal_up && mrc_dpdk_must_leave(&host->cfg))
		mrc_dpdk_leave(&host->cfg, host->nb_open > 0, code);
	for (uint32_t e = 0; e < host->nb_open; e++)
		mrc_endpoint_close(&host->eps[e]);
	if (host->oob.fd >= 0)
		mrc_oob_close(&host->oob);
	if (host->eal_up)
		mrc_eal_stop(true);
	mrc_eal_args_free(&host->eal);
	if (host->shared != NULL)
		munmap(host->shared, sizeof(*host->shared));
}
