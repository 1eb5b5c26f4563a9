/* SPDX-License-Identifier: BSD-2-Clause */
/* reason.h - why something cannot be: one line for the user that names cause and remedy. */
#ifndef MRC_APP_REASON_H
#define MRC_APP_REASON_H

#include "mrc_err.h"

#define MRC_REASON 1024 /* bytes of every buffer for such a line */

/* Writes the line (cut when it is longer than the buffer) and returns MRC_ERR_INVAL. */
int mrc_refuse(char *reason_out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
