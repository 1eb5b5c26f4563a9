/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.c - when an ASSUMED_BAD path is tried again. */
#include "ev_set.h"

static void note_sent(struct mrc_ev_set *set, struct ev_entry *entry, uint64_t now_ns)
{
	entry->until_ns = now_ns + entry->interval_ns;
	entry->interval_ns = entry->interval_ns > set->probe_max_ns / 2 ? set->probe_max_ns
									: 2 * entry->interval_ns;
}

/*
 * Goes round the bad ones from where the last call stopped: many that are due together cost one
 * round, not one each. The deadline is exact again once a round found none.
 */
uint32_t mrc_ev_probe_next(struct mrc_ev_set *set, uint64_t now_ns)
{
	uint64_t earliest = UINT64_MAX;

	if (now_ns < set->deadline_ns)
		return MRC_EV_NONE;
	for (uint32_t i = 0; i < set->nb_bad; i++) {
		struct ev_entry *entry;
		uint32_t index;

		if (set->probe_at >= set->nb_bad)
			set->probe_at = 0;
		index = set->bad[set->probe_at++];
		entry = &set->entries[index];
		if (entry->until_ns <= now_ns) {
			note_sent(set, entry, now_ns);
			return index;
		}
		if (entry->until_ns < earliest)
			earliest = entry->until_ns;
	}
	set->deadline_ns = earliest;
	return MRC_EV_NONE;
}

uint64_t mrc_ev_deadline(const struct mrc_ev_set *set)
{
	return set->nb_bad == 0 ? UINT64_MAX : set->deadline_ns;
}
