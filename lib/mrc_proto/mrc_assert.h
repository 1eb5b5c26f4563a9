/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_assert.h - assertions that stay on in release builds. They guard against bugs of our own;
 * nothing a peer sends and no argument of a caller may reach one.
 */
#ifndef MRC_ASSERT_H
#define MRC_ASSERT_H

/* The C library's reporter (Linux Standard Base): prints the text and aborts. */
extern void __assert_fail(const char *text, const char *file, unsigned int line,
	const char *function) __attribute__((noreturn, cold));

#define MRC_ASSERT(cond) ((cond) ? (void)0 : __assert_fail(#cond, __FILE__, __LINE__, __func__))

#endif
