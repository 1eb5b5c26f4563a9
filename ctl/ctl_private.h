/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_private.h - what the files of the decoder share. */
#ifndef CTL_PRIVATE_H
#define CTL_PRIVATE_H

#include "ctl_decode.h"

/* Unsigned member of 1, 2, 4 or 8 bytes. */
uint64_t mrc_ctl_uint_get(const void *member, uint32_t size);
void mrc_ctl_uint_put(void *member, uint32_t size, uint64_t value);

/* Value of a digit of any base up to 16; MRC_CTL_NO_DIGIT, larger than all, for other characters.
 */
#define MRC_CTL_NO_DIGIT 99
int mrc_ctl_digit(char c);

/* Blanks for control characters: parser and values quote foreign text, an error stays one line. */
void mrc_ctl_flatten(char *text);

#endif
