/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h - damages a good configuration at every key in turn: what tests of a loader share.
 */
#ifndef MRC_TEST_TREE_H
#define MRC_TEST_TREE_H

#include <stdint.h>

/* Loads a text as a file that `source` names; 0 when it is taken, else error_out holds the line. */
typedef int (*mrc_tree_load)(const char *text, char *error_out, uint32_t room);

/* Each key misspelt by one letter: refused with the wrong word, and the right one as a proposal. */
uint32_t mrc_tree_misspell(const char *text, const char *source, mrc_tree_load load);
/* Each value replaced by an object that no key takes: refused with the key. */
uint32_t mrc_tree_mistype(const char *text, const char *source, mrc_tree_load load);
/* Each key twice in its object. */
uint32_t mrc_tree_double(const char *text, const char *source, mrc_tree_load load);
/* Each number replaced by numbers that fit no key: refused with the key, or (where any number of
 * that sign fits) taken. Returns how many were refused. */
uint32_t mrc_tree_overflow(const char *text, const char *source, mrc_tree_load load);

#endif
