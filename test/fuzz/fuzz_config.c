/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_config.c - text into the loader of the start-up file, and so into the JSON decoder.
 *
 * A refusal leaves the configuration untouched and is one printable line that begins with the
 * source's name. What is accepted is accepted again, with the same result.
 */
#include <string.h>

#include "config.h"
#include "fuzz.h"

static void check_line(const char *error)
{
	size_t len = strnlen(error, MRC_REASON);

	FUZZ_CHECK(len > strlen("input:") && len < MRC_REASON);
	FUZZ_CHECK(strncmp(error, "input:", 6) == 0);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK((unsigned char)error[i] >= ' ' && error[i] != 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mrc_cfg cfg, again, before;
	char error[MRC_REASON] = "";
	/* Exactly as long as the input: a sanitizer sees every read behind it. */
	char *text = malloc(size + (size == 0));
	int rc;

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	memset(&before, 0xA5, sizeof(before));
	memset(&cfg, 0xA5, sizeof(cfg));
	rc = mrc_cfg_parse("input", text, size, &cfg, error);
	if (rc == MRC_OK) {
		memset(&again, 0xA5, sizeof(again));
		FUZZ_CHECK(mrc_cfg_parse("input", text, size, &again, error) == MRC_OK);
		FUZZ_CHECK(memcmp(&cfg, &again, sizeof(cfg)) == 0);
		FUZZ_CHECK(cfg.nb_endpoints >= 1 && cfg.nb_endpoints <= MRC_CFG_MAX_ENDPOINT);
	} else {
		FUZZ_CHECK(rc == MRC_ERR_INVAL);
		FUZZ_CHECK(memcmp(&cfg, &before, sizeof(cfg)) == 0);
		check_line(error);
	}
	free(text);
	return 0;
}
