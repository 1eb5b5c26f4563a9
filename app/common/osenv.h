/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * osenv.h - struct mrc_env of a real process: memory of large pages where the kernel gives them,
 * randomness of the kernel's generator. One object per thread: its random numbers are drawn in
 * blocks.
 */
#ifndef MRC_APP_OSENV_H
#define MRC_APP_OSENV_H

#include <stddef.h>
#include <stdint.h>

#include "mrc_env.h"

#define MRC_OSENV_WORDS 256

struct mrc_osenv {
	struct mrc_env env; /* hand out &env */
	uint32_t nb_left;
	uint64_t words[MRC_OSENV_WORDS];
};

void mrc_osenv_init(struct mrc_osenv *osenv);

/* Bytes that the machine can still give to processes; UINT64_MAX when it does not say. */
uint64_t mrc_osmem_available(void);
/* Zeroed memory on transparent large pages, or NULL, also when it is more than is available: then
 * the kernel would end some process. Touches every page: no fault later. */
void *mrc_osmem_alloc(size_t len);
void mrc_osmem_free(void *mem, size_t len);

#endif
