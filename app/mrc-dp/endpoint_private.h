/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint_private.h - shared by endpoint.c and endpoint_load.c. */
#ifndef MRC_APP_ENDPOINT_PRIVATE_H
#define MRC_APP_ENDPOINT_PRIVATE_H

#include "endpoint.h"

/* Loads, engines and areas. */
void mrc_endpoint_unbuild(struct mrc_endpoint *ep);

#endif
