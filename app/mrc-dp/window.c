/* SPDX-License-Identifier: BSD-2-Clause */
#include "window.h"

static uint64_t slot_ticks(const struct mrc_window_plan *plan)
{
	return plan->drain + plan->canary + plan->warm + plan->run;
}

enum mrc_window_phase mrc_window_at(
	const struct mrc_window_plan *plan, uint64_t tsc, uint32_t *index_out)
{
	uint64_t slot = slot_ticks(plan), passed = tsc - plan->start, index, into;

	*index_out = 0;
	if ((int64_t)passed < 0)
		return MRC_WINDOW_WAIT;
	index = passed / slot;
	if (index > plan->nb_windows)
		index = plan->nb_windows;
	into = passed - index * slot;
	*index_out = (uint32_t)index;
	if (into < plan->drain)
		return MRC_WINDOW_DRAIN;
	if (into < plan->drain + plan->canary)
		return MRC_WINDOW_CANARY;
	if (index == plan->nb_windows)
		return MRC_WINDOW_END;
	return into < plan->drain + plan->canary + plan->warm ? MRC_WINDOW_WARM : MRC_WINDOW_RUN;
}

uint64_t mrc_window_change(const struct mrc_window_plan *plan, uint64_t tsc)
{
	uint32_t index;
	enum mrc_window_phase phase = mrc_window_at(plan, tsc, &index);
	uint64_t run_begin = mrc_window_run_begin(plan, index);

	switch (phase) {
	case MRC_WINDOW_WAIT:
		return plan->start;
	case MRC_WINDOW_DRAIN:
		return run_begin - plan->warm - plan->canary;
	case MRC_WINDOW_CANARY:
		return run_begin - plan->warm;
	case MRC_WINDOW_WARM:
		return run_begin;
	case MRC_WINDOW_RUN:
		return run_begin + plan->run;
	case MRC_WINDOW_END:
		break;
	}
	return UINT64_MAX;
}

uint64_t mrc_window_run_begin(const struct mrc_window_plan *plan, uint32_t index)
{
	return plan->start + index * slot_ticks(plan) + plan->drain + plan->canary + plan->warm;
}
