/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair_test.h - pair under cmocka: configuration with the seed of the process environment, a tape
 * of what passed over the wire, and a main that runs one test by name.
 */
#ifndef PAIR_TEST_H
#define PAIR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"

/* Defaults with the seed from MRC_TEST_SEED or `seed`, and a line that repeats test `name`. */
void pair_test_cfg(struct pair_cfg *cfg_out, const char *name, uint64_t seed);
/* Runs all tests, or the one whose name is argv[1]. */
int pair_test_main(int argc, char **argv, const struct CMUnitTest *tests, size_t nb_tests);
#define PAIR_TEST_MAIN(tests)                                                                      \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return pair_test_main(argc, argv, tests, sizeof(tests) / sizeof((tests)[0]));      \
	}

/* The packet was dropped, and for this reason. */
void pair_test_expect_drop(struct pair *p, struct mrc_rx_verdict v, enum mrc_drop reason);

/* Adds a fault on one path of A, an index of its set, towards B. */
struct pair_fault *pair_test_path_fault(struct pair *p, uint32_t index, struct pair_fault fault);
/* A pair one of whose paths swallows everything, after transfers that made it ASSUMED_BAD. tweak:
 * of its set, NULL for none. */
struct pair *pair_test_dead_path(
	const char *name, uint64_t seed, uint32_t index, void (*tweak)(struct mrc_ev_cfg *cfg));

/* What passed, as sent (before the faults), each direction by itself. */
struct pair_tape {
	struct mrc_pkt *pkts[2]; /* by sending side */
	uint64_t *times[2];
	uint32_t nb[2], cap[2];
};
/* Starts recording (sets p->tap); pair_tape_free ends it. */
void pair_tape_start(struct pair *p, struct pair_tape *tape);
void pair_tape_clear(struct pair_tape *tape);
void pair_tape_free(struct pair *p, struct pair_tape *tape);
/* Number of recorded packets of a side with this opcode (0: any data). */
uint32_t pair_tape_count(const struct pair_tape *tape, int side, uint8_t opcode);
/* The last of them; fails when there is none. */
const struct mrc_pkt *pair_tape_last(
	struct pair *p, const struct pair_tape *tape, int side, uint8_t opcode);

#endif
