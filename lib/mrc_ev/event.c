/* SPDX-License-Identifier: BSD-2-Clause */
/* event.c - what the controller hears. Oldest first; what finds no room is counted. */
#include "ev_set.h"

void mrc_ev_event_push(struct mrc_ev_set *set, uint32_t index, enum mrc_ev_state state)
{
	if (set->event_tail - set->event_head == EV_EVENTS) {
		set->events_dropped++;
		return;
	}
	set->events[set->event_tail++ % EV_EVENTS] = (struct ev_event){
		.index = (uint16_t)index,
		.state = (uint8_t)state,
		.dropped = set->events_dropped,
	};
	set->events_dropped = 0;
}

bool mrc_ev_event_poll(struct mrc_ev_set *set, struct mrc_ev_event *event_out)
{
	const struct ev_event *event;

	if (set->event_head == set->event_tail)
		return false;
	event = &set->events[set->event_head++ % EV_EVENTS];
	*event_out = (struct mrc_ev_event){
		.index = event->index,
		.state = (enum mrc_ev_state)event->state,
		.dropped = event->dropped,
	};
	return true;
}
