/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * area.h - memory that messages come from or go to: plain, or a file mapped.
 *
 * Others may cut a mapped file short while it is in use. Touching what is gone would end the
 * process by SIGBUS; here the page becomes one of zeros, and the area remembers that it was hurt.
 */
#ifndef MRC_APP_AREA_H
#define MRC_APP_AREA_H

#include <stdbool.h>
#include <stdint.h>

struct mrc_area {
	uint8_t *mem;
	uint64_t len;
	bool mapped;
	int fd;        /* of the file, when mapped */
	uint32_t slot; /* of the signal handler's table, when mapped */
};

/* Zeroed memory. MRC_ERR_INVAL: reason_out (MRC_REASON bytes) says what to lower. */
int mrc_area_alloc(struct mrc_area *area_out, uint64_t len, char *reason_out);
/*
 * A file to read from, which must have len bytes, or (write) one that is made or emptied, with room
 * for all of it. `spared`: a mapped area whose file must not be this one, or NULL. MRC_ERR_INVAL:
 * reason_out names key, file and cause.
 */
int mrc_area_map(struct mrc_area *area_out, const char *path, uint64_t len, bool write,
	const struct mrc_area *spared, char *reason_out);
/* True when the file is shorter now than what is mapped, or was when a part was touched. */
bool mrc_area_is_hurt(const struct mrc_area *area);
/* Nobody touches it any more. */
void mrc_area_free(struct mrc_area *area);

#endif
