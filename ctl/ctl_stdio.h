/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_stdio.h - standard streams that a caller left closed, or that take nothing more.
 */
#ifndef CTL_STDIO_H
#define CTL_STDIO_H

/*
 * Occupies each of the descriptors 0, 1 and 2 that is closed, so that no file opened later gets its
 * number: a line meant for standard output would else be written into that file. What occupies them
 * fails every read or write, so a result that reaches nobody is noticed. A file that reaches the
 * limit of its size fails the write too, instead of ending the process. First thing in main,
 * before any thread or file. Errors: none; without /dev/null nothing is done.
 */
void mrc_ctl_stdio_hold(void);

/*
 * Writes out what is buffered for standard output. When anything said there was lost, says so on
 * standard error in the name of `program`: a result that reached nobody is no success. Returns
 * `code`, the exit status so far, or `lost` instead of 0. Last thing before a process ends.
 */
int mrc_ctl_stdio_end(const char *program, int code, int lost);

#endif
