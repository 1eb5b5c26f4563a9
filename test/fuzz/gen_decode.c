/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gen_decode.c - the corpus of fuzz_decode: one file per kind of packet, named for what it is.
 *
 *   gen_decode FOLDER            writes it
 *   gen_decode --check FOLDER    fails when a file is missing or differs
 */
#include <stdio.h>
#include <string.h>

#include "pkt_kit.h"

static int save(const char *path, const uint8_t *frame, uint32_t len)
{
	FILE *file = fopen(path, "wb");
	size_t done;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	done = fwrite(frame, 1, len, file);
	return fclose(file) != 0 || done != len;
}

static int differs(const char *path, const uint8_t *frame, uint32_t len)
{
	uint8_t have[PKT_KIT_ROOM];
	FILE *file = fopen(path, "rb");
	size_t got;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	got = fread(have, 1, sizeof(have), file);
	fclose(file);
	if (got == len && memcmp(have, frame, len) == 0)
		return 0;
	fprintf(stderr, "%s: not what gen_decode makes\n", path);
	return 1;
}

int main(int argc, char **argv)
{
	bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
	struct mrc_proto proto;
	int bad = 0;

	if (argc != 2 && !check) {
		fprintf(stderr, "usage: gen_decode [--check] FOLDER\n");
		return 2;
	}
	mrc_proto_default(&proto);
	for (uint32_t i = 0; i < PKT_KIT_NB_CASES; i++) {
		uint8_t frame[PKT_KIT_ROOM];
		struct pkt_kit_case kind;
		struct mrc_pkt pkt;
		char path[4096];
		uint32_t len = pkt_kit_example(&proto, i, &pkt, frame);

		pkt_kit_case(i, &kind);
		snprintf(path, sizeof(path), "%s/%s", argv[argc - 1], kind.name);
		bad += check ? differs(path, frame, len) : save(path, frame, len);
	}
	return bad != 0;
}
