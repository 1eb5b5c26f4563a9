/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint_private.h - shared by endpoint.c and endpoint_load.c. */
#ifndef MRC_APP_ENDPOINT_PRIVATE_H
#define MRC_APP_ENDPOINT_PRIVATE_H

#include "endpoint.h"

/* Writes the reason (MRC_PORT_REASON bytes) and returns MRC_ERR_INVAL. */
int mrc_endpoint_refuse(char *reason, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Loads, engines and areas. */
void mrc_endpoint_unbuild(struct mrc_endpoint *ep);

#endif
