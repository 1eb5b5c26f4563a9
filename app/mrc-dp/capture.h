/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.h - a pcap file of one plane: every frame received, and every frame when it is handed to
 * the port for the first time. Workers copy frames into a ring, the management role writes them.
 */
#ifndef MRC_APP_CAPTURE_H
#define MRC_APP_CAPTURE_H

#include <stdatomic.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "clock.h"
#include "mrc_err.h"

#define MRC_CAPTURE_FRAMES 2047 /* copies under way to the file */

struct mrc_capture; /* opaque */

/* Opens (and empties) the file; buf_len as of the planes' pools. Errors: MRC_ERR_INVAL (errno says
 * why), MRC_ERR_NOMEM. */
int mrc_capture_open(struct mrc_capture **capture_out, const char *path, const char *name,
	uint32_t buf_len, const struct mrc_clock *clock);
/* Writes what is left; NULL is allowed. */
void mrc_capture_close(struct mrc_capture *capture);

/* Worker: copies n frames; those without room are counted as missed. */
void mrc_capture_take(struct mrc_capture *capture, struct rte_mbuf *const *frames, uint32_t n);
/* Management: writes a bounded number of frames. Returns how many. */
uint32_t mrc_capture_write(struct mrc_capture *capture);
/* Writes what is left, when the workers have ended. Returns 0, or the errno of the first write that
 * failed. */
int mrc_capture_finish(struct mrc_capture *capture);
/* Frames that found no room. */
uint64_t mrc_capture_missed(const struct mrc_capture *capture);

#endif
