/* SPDX-License-Identifier: BSD-2-Clause */
/* count.c - reading the counters, and proving that they balance. */
#include "fabric.h"

#include <string.h>

#define DROP_NAME(name, text) #name,
static const char *const drop_names[] = {MRC_FABRIC_DROP_LIST(DROP_NAME)};
#undef DROP_NAME

const char *mrc_fabric_drop_name(enum mrc_fabric_drop reason)
{
	return (unsigned int)reason < MRC_FABRIC_NB_DROPS ? drop_names[reason] : "?";
}

void mrc_fabric_link_counters_get(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t link,
	struct mrc_fabric_link_counters *counters_out)
{
	struct link *l = &fabric->links[link];

	mrc_fabric_link_area(l, now_ns);
	*counters_out = (struct mrc_fabric_link_counters){
		.offered_packets = l->offered_packets,
		.offered_bytes = l->offered_bytes,
		.tx_packets = l->tx_packets,
		.tx_bytes = l->tx_bytes,
		.arrived_packets = l->arrived,
		.duplicates = l->duplicates,
		.marks = l->marks,
		.trims = l->trims,
		.queued_packets = l->nb_queued,
		.wire_packets = l->nb_wire,
		.queue_len = mrc_fabric_link_occupancy(l, now_ns),
		.queue_max_len = l->queue_max_len,
		.queue_area = l->queue_area,
	};
	memcpy(counters_out->drops, l->drops, sizeof(l->drops));
}

void mrc_fabric_totals_get(const struct mrc_fabric *fabric, struct mrc_fabric_totals *totals_out)
{
	*totals_out = fabric->tot;
	totals_out->in_flight = fabric->cfg.max_packets - fabric->nb_free - fabric->tot.unread;
}

/* Length of a list; more than max_packets means a loop. */
static uint64_t list_count(const struct mrc_fabric *f, const struct list *list, bool *ok)
{
	uint64_t n = 0;
	uint32_t last = NONE;

	for (uint32_t i = list->head; i != NONE; i = f->pkts[i].next) {
		last = i;
		if (++n > f->cfg.max_packets)
			break;
	}
	if (last != list->tail || n > f->cfg.max_packets)
		*ok = false;
	return n;
}

static uint64_t queue_bytes(const struct mrc_fabric *f, const struct list *list)
{
	uint64_t sum = 0;

	for (uint32_t i = list->head; i != NONE; i = f->pkts[i].next) {
		int64_t len = (int64_t)f->pkts[i].wire_len + f->cfg.overhead_len;

		sum += len > 0 ? (uint64_t)len : 0;
	}
	return sum;
}

static const char *check_link(const struct mrc_fabric *f, const struct link *l, uint64_t *held)
{
	uint64_t queued, wire, drops = 0;
	bool ok = true;

	queued = list_count(f, &l->queue[0], &ok) + list_count(f, &l->queue[1], &ok);
	wire = list_count(f, &l->wire, &ok);
	if (!ok)
		return "a list of a link is broken";
	for (int i = 0; i < MRC_FABRIC_NB_DROPS; i++)
		drops += l->drops[i];
	if (drops != l->queue_drops + l->wire_drops)
		return "drops of a link by reason and by place differ";
	if (queued != l->nb_queued || wire != l->nb_wire)
		return "packets counted in a queue or on a wire are not those there";
	if (queue_bytes(f, &l->queue[0]) != l->queue_len[0] ||
		queue_bytes(f, &l->queue[1]) != l->queue_len[1])
		return "length of a queue in bytes is wrong";
	if (l->offered_packets != l->tx_packets + l->queue_drops + queued)
		return "a link: offered != started + dropped in the queue + queued";
	if (l->tx_packets + l->duplicates != l->arrived + l->wire_drops + wire)
		return "a link: started + duplicated != arrived + dropped on the wire + on the "
		       "wire";
	for (uint32_t i = l->wire.head; i != NONE && f->pkts[i].next != NONE; i = f->pkts[i].next) {
		if (f->pkts[i].at_ns > f->pkts[f->pkts[i].next].at_ns)
			return "a wire is out of order";
	}
	*held += queued + wire;
	return NULL;
}

const char *mrc_fabric_check(const struct mrc_fabric *fabric)
{
	const struct mrc_fabric_totals *t = &fabric->tot;
	uint64_t held = 0, unread = 0, drops = 0, link_drops = 0;
	struct list free_list = {fabric->free_head, NONE};
	bool ok = true;

	for (uint32_t i = 0; i < fabric->nb_links; i++) {
		const char *fault = check_link(fabric, &fabric->links[i], &held);

		if (fault != NULL)
			return fault;
		link_drops += fabric->links[i].queue_drops + fabric->links[i].wire_drops;
	}
	for (uint32_t i = 0; i < fabric->nb_hosts * fabric->cfg.nb_planes; i++) {
		uint64_t n = list_count(fabric, &fabric->inboxes[i].list, &ok);

		if (!ok || n != fabric->inboxes[i].nb)
			return "an inbox is not as long as counted";
		unread += n;
	}
	for (int i = 0; i < MRC_FABRIC_NB_DROPS; i++)
		drops += t->drops[i];
	if (unread != t->unread || drops != t->dropped || drops != link_drops + fabric->other_drops)
		return "sums over links and inboxes differ from the totals";
	if (list_count(fabric, &free_list, &ok) != fabric->nb_free ||
		fabric->nb_free + held + unread != fabric->cfg.max_packets)
		return "packet records are lost or counted twice";
	if (t->sent + t->copies != t->delivered + t->dropped + held + unread)
		return "sent + copies != delivered + dropped + in flight + unread";
	return NULL;
}
