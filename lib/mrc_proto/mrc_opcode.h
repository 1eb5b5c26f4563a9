/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_opcode.h - one row per opcode; parser, builder and validity checks index it.
 */
#ifndef MRC_OPCODE_H
#define MRC_OPCODE_H

#include <stdint.h>

#include "mrc_limits.h"

/* Which headers follow the BTH, in this order, and what the packet is. */
enum mrc_opcode_flag {
	MRC_OPF_METH = 1 << 0,
	MRC_OPF_RETH = 1 << 1, /* TSETH may stand between METH and RETH when BTH.ts is set */
	MRC_OPF_IMMDT = 1 << 2,
	MRC_OPF_AETH = 1 << 3,
	MRC_OPF_SETH = 1 << 4, /* with CC_STATE */
	MRC_OPF_NETH = 1 << 5,
	MRC_OPF_PETH = 1 << 6,
	MRC_OPF_ERTH = 1 << 7,
	MRC_OPF_EETH = 1 << 8,
	MRC_OPF_WRITE = 1 << 9,      /* carries payload, takes a PSN */
	MRC_OPF_FIRST = 1 << 10,     /* begins a message */
	MRC_OPF_LAST = 1 << 11,      /* ends a message */
	MRC_OPF_FULL = 1 << 12,      /* payload is exactly one path MTU */
	MRC_OPF_REQUESTER = 1 << 13, /* addressed to the requester (an answer) */
};

struct mrc_opcode_row {
	const char
		*name;  /* as tools print it, "WRITE_FIRST"; NULL when the value is no MRC opcode */
	uint16_t flags; /* enum mrc_opcode_flag */
	uint8_t ext_len; /* bytes of extension headers behind the BTH, TSETH not counted */
};

/* 256 rows, index = opcode. */
extern const struct mrc_opcode_row mrc_opcode_table[256];

#endif
