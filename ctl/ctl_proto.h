/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_proto.h - the wire settings (struct mrc_proto) as JSON: choices, DSCPs, partition key. The
 * same for every program of this project.
 */
#ifndef CTL_PROTO_H
#define CTL_PROTO_H

#include "ctl_decode.h"
#include "mrc_pkt.h"

/* Start from mrc_proto_default; the check finishes with mrc_proto_init. */
extern const struct mrc_ctl_table mrc_ctl_proto_table;

#endif
