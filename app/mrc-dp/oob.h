/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oob.h - the out-of-band connection of two mrc-dp processes: one JSON object per line over a UNIX
 * or TCP stream. Carries what the ends must tell each other before and after the packets flow.
 */
#ifndef MRC_APP_OOB_H
#define MRC_APP_OOB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "config.h"
#include "mrc_err.h"

#define MRC_OOB_LINE_MAX (4u << 20)

struct mrc_oob {
	int fd;      /* -1: none */
	bool closed; /* the peer is gone */
	char *line;  /* bytes received, not yet a whole line */
	size_t line_len, line_room;
};

/*
 * Listens for one peer, or connects (repeating until it answers), at most cfg->wait_ns; *stop
 * becoming non-zero ends the wait. reason_out: MRC_REASON bytes. Errors: MRC_ERR_INVAL (reason
 * says why), MRC_ERR_STATE (stopped).
 */
int mrc_oob_open(struct mrc_oob *oob, const struct mrc_cfg_oob *cfg,
	const volatile sig_atomic_t *stop, char *reason_out);
void mrc_oob_close(struct mrc_oob *oob);

/* Sends and releases msg. MRC_ERR_STATE when the peer is gone. Waits up to a second for room. */
int mrc_oob_send(struct mrc_oob *oob, json_t *msg);
/*
 * Next message (a new reference), waiting up to wait_ms; NULL when none came (oob->closed: and none
 * will). A line that is no JSON object closes the connection.
 */
json_t *mrc_oob_recv(struct mrc_oob *oob, uint32_t wait_ms, const volatile sig_atomic_t *stop);

#endif
