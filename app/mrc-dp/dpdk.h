/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dpdk.h - DPDK for a configuration of mrc-dp: EAL and its devices come up, and the process ends in
 * a way that the drivers survive.
 */
#ifndef MRC_APP_DPDK_H
#define MRC_APP_DPDK_H

#include "config.h"
#include "eal.h"

/*
 * Starts EAL with the file's arguments, `cli_args` over them, and every device of the endpoints.
 * reason_out (MRC_REASON bytes) says why not. args_out is to be freed after EAL stopped, after
 * an error too. Once per process. Errors: MRC_ERR_TOOBIG and MRC_ERR_INVAL (arguments are refused),
 * MRC_ERR_NOMEM, MRC_ERR_STATE (a socket is in use, or DPDK does not start).
 */
int mrc_dpdk_start(const struct mrc_cfg *cfg, const char *const *cli_args, uint32_t nb_cli_args,
	struct mrc_eal_args *args_out, char *reason_out);

/*
 * The process has to end with mrc_dpdk_leave instead of closing its ports: one of them is a memif
 * (see mrc_eal_leave).
 */
bool mrc_dpdk_must_leave(const struct mrc_cfg *cfg);
/* Removes the sockets of memif servers, if they are ours, and exits. */
void mrc_dpdk_leave(const struct mrc_cfg *cfg, bool sockets_ours, int code)
	__attribute__((noreturn));

#endif
