/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h - the time table of a measurement: windows of changing modes that several threads or
 * processes follow by the time stamp counter alone, which is the same for all of them.
 *
 *   slot i:  | drain of mode i-1 | canary | warm-up of mode i | run of mode i (measured) |
 *   end:     | drain | canary |
 *
 * Modes alternate inside one start of the program, so that a change of the machine between two
 * windows is the exception and the ratio of neighbours means something. The canary is a cache-line
 * ping-pong between the threads: it tells whether they share a cache just then.
 */
#ifndef MRC_APP_WINDOW_H
#define MRC_APP_WINDOW_H

#include <stdint.h>

enum mrc_window_phase {
	MRC_WINDOW_WAIT, /* not begun */
	MRC_WINDOW_DRAIN,
	MRC_WINDOW_CANARY,
	MRC_WINDOW_WARM,
	MRC_WINDOW_RUN,
	MRC_WINDOW_END,
};

enum {
	MRC_WINDOW_MODES = 8,
};

/* Times in ticks of the counter. */
struct mrc_window_plan {
	uint64_t start;
	uint64_t drain, canary, warm, run;
	uint32_t nb_windows;
	uint32_t nb_modes;
	uint8_t modes[MRC_WINDOW_MODES]; /* window i runs modes[i % nb_modes] */
};

/* Phase at a time; *index_out: the window, nb_windows in the final drain and canary. */
enum mrc_window_phase mrc_window_at(
	const struct mrc_window_plan *plan, uint64_t tsc, uint32_t *index_out);
/* Counter value at which the phase that holds at a time ends; UINT64_MAX at the end. */
uint64_t mrc_window_change(const struct mrc_window_plan *plan, uint64_t tsc);
/* Counter value at which a window's run begins. */
uint64_t mrc_window_run_begin(const struct mrc_window_plan *plan, uint32_t index);
static inline uint8_t mrc_window_mode(const struct mrc_window_plan *plan, uint32_t index)
{
	return plan->modes[index % plan->nb_modes];
}

#endif
