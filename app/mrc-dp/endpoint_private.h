/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint_private.h - shared by endpoint.c and endpoint_load.c. */
#ifndef MRC_APP_ENDPOINT_PRIVATE_H
#define MRC_APP_ENDPOINT_PRIVATE_H

#include "endpoint.h"

/* Loads, engines and areas. */
void mrc_endpoint_unbuild(struct mrc_endpoint *ep);
/* As many answers to refused packets as packets of the path MTU fit into the line rate: a QP whose
 * every packet is trimmed may say so for each of them, and no peer gets more out of us. */
uint32_t mrc_endpoint_nacks_per_us(const struct mrc_cfg *cfg);

#endif
