/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_client.h - the other end of ctl_server.h: connects, says hello, calls methods and waits for
 * the answer. Blocking, with a deadline for each step.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <stdint.h>

#include <jansson.h>

#include "ctl_rpc.h"

struct mrc_ctl_client;

/*
 * Connects to a socket and says hello; hello_out: what the server told about itself, a new
 * reference (may be NULL). wait_ms: how long to try when nobody listens, and how long to wait for
 * an answer (at least 10 s). Errors: MRC_ERR_NOENT (nobody listens), MRC_ERR_STATE (no access, or
 * refused), MRC_ERR_NOMEM; reason_out (MRC_RPC_TEXT_LEN bytes) says why, without the path.
 */
int mrc_ctl_client_open(const char *path, uint32_t wait_ms, struct mrc_ctl_client **client_out,
	json_t **hello_out, char *reason_out);
void mrc_ctl_client_close(struct mrc_ctl_client *client);

/*
 * Calls a method; params are stolen, NULL for none. Returns MRC_RPC_GOOD and *result_out (new
 * reference), or the code of the error, MRC_RPC_INTERNAL when the connection broke or no answer
 * came; reason_out says why.
 */
int mrc_ctl_client_call(struct mrc_ctl_client *client, const char *method, json_t *params,
	json_t **result_out, char *reason_out);

#endif
