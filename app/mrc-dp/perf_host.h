/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_host.h - brings a configuration up for a measurement: DPDK, ports, one worker per endpoint,
 * connected queue pairs. One process holds both ends (ring ports) or one of them (any device, with
 * the out-of-band section of the file).
 */
#ifndef MRC_APP_PERF_HOST_H
#define MRC_APP_PERF_HOST_H

#include "clock.h"
#include "config.h"
#include "eal.h"
#include "endpoint.h"
#include "oob.h"
#include "perf_lane.h"

struct mrc_perf_host {
	struct mrc_cfg cfg;
	struct mrc_clock clock;
	struct mrc_endpoint eps[MRC_CFG_MAX_ENDPOINT];
	struct mrc_oob oob;
	struct mrc_perf_shared *shared;
	struct mrc_eal_args eal;
	bool eal_up;
	uint32_t nb_open; /* endpoints */
};

/*
 * Reads the file and brings everything up. sync: path of the file that two processes share, or
 * NULL. reason_out: MRC_REASON bytes. Errors: MRC_ERR_INVAL, MRC_ERR_NOMEM; call close anyway.
 */
int mrc_perf_host_open(struct mrc_perf_host *host, const char *path, const char *sync,
	const volatile sig_atomic_t *stop, char *reason_out);
/* The end of the measurement; code is the exit status of a process that cannot close its ports and
 * leaves here (see mrc_dpdk_must_leave). */
void mrc_perf_host_close(struct mrc_perf_host *host, int code);

#endif
