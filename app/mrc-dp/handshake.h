/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handshake.h - what two ends agree on before packets flow, and the messages in which two processes
 * tell it each other:
 *
 *   hello   both: version, role, path MTU, planes; the requester's also holds the workload
 *   offers  both: what mrc_load_offer says, one per load
 *   ready   both: queue pairs are up, packets may come
 *   expect  a sender: how many messages it sent, per load
 *   result  a receiver: what it received and verified
 *   bye     the run is over
 */
#ifndef MRC_APP_HANDSHAKE_H
#define MRC_APP_HANDSHAKE_H

#include <signal.h>

#include <jansson.h>

#include "endpoint.h"
#include "oob.h"

/* The workload as the requester's file asks for it. reason_out: MRC_REASON bytes. */
int mrc_workload_plan(const struct mrc_cfg *cfg, struct mrc_workload *out, char *reason_out);

/* Both endpoints in this process: endpoint 0 requests, endpoint 1 responds. */
int mrc_handshake_local(
	struct mrc_endpoint *eps, const struct mrc_workload *workload, char *reason_out);
/* The other endpoint is behind oob. Errors: MRC_ERR_INVAL, MRC_ERR_STATE (stopped, nothing to say).
 */
int mrc_handshake_remote(struct mrc_endpoint *ep, const struct mrc_cfg *cfg, struct mrc_oob *oob,
	const volatile sig_atomic_t *stop, char *reason_out);

#endif
