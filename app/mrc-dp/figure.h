/* SPDX-License-Identifier: BSD-2-Clause */
/* figure.h - numbers with a unit, for people. */
#ifndef MRC_APP_FIGURE_H
#define MRC_APP_FIGURE_H

#include <stddef.h>
#include <stdint.h>

/* Each writes to buf (room bytes; 32 suffice) and returns it. */
const char *mrc_figure_size(uint64_t len, char *buf, size_t room); /* in powers of 1000 */
const char *mrc_figure_time(uint64_t ns, char *buf, size_t room);

#endif
