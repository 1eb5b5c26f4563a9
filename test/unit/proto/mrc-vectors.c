/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc-vectors.c - prints one frame of every kind of packet, a name and hexadecimal bytes a line,
 * for checks by programs that share no code with us.
 */
#include <stdio.h>

#include "pkt_kit.h"

int main(void)
{
	struct mrc_proto proto;

	mrc_proto_default(&proto);
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct pkt_kit_case kind;
		struct mrc_pkt pkt;
		uint32_t len = pkt_kit_example(&proto, i, &pkt, frame);

		pkt_kit_case(i, &kind);
		printf("%s ", kind.name);
		for (uint32_t at = 0; at < len; at++)
			printf("%02x", frame[at]);
		printf("\n");
	}
	return 0;
}
