/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_reserved.h - private: the reserved bits of each packet kind, for the setting reserved_check
 * (O-26).
 */
#ifndef MRC_RESERVED_H
#define MRC_RESERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_pkt.h"

/*
 * True when a bit is set that the sender must leave 0. pkt: decoded up to its extension headers.
 * BTH byte 4 may change in flight and is not looked at.
 */
bool mrc_reserved_set(
	const struct mrc_choice *choice, const struct mrc_pkt *pkt, const uint8_t *frame);

#endif
