/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - what every fuzz target has: the entry point, and a check that says what failed.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Called by libFuzzer, AFL++ or driver.c with one input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The oracle's assertion: ends the process, which is how a target reports a finding. */
#define FUZZ_CHECK(cond)                                                                           \
	((cond) ? (void)0                                                                          \
		: (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond), abort()))

#endif
