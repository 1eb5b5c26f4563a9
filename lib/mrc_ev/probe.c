/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.c - when an ASSUMED_BAD path is tried again. */
#include "ev_set.h"

uint32_t mrc_ev_probe_next(struct mrc_ev_set *set, uint64_t now_ns)
{
	uint64_t earliest = UINT64_MAX;
	uint32_t due = MRC_EV_NONE;
	struct ev_entry *entry;

	if (now_ns < set->deadline_ns)
		return MRC_EV_NONE;
	for (uint32_t i = 0; i < set->nb_bad; i++) {
		entry = &set->entries[set->bad[i]];
		if (due == MRC_EV_NONE && entry->until_ns <= now_ns) {
			due = set->bad[i];
			entry->until_ns = now_ns + entry->interval_ns;
			entry->interval_ns = entry->interval_ns > set->probe_max_ns / 2
						     ? set->probe_max_ns
						     : 2 * entry->interval_ns;
		}
		if (entry->until_ns < earliest)
			earliest = entry->until_ns;
	}
	set->deadline_ns = earliest;
	return due;
}

uint64_t mrc_ev_deadline(const struct mrc_ev_set *set)
{
	return set->nb_bad == 0 ? UINT64_MAX : set->deadline_ns;
}
