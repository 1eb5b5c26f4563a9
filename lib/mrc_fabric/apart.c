/* SPDX-License-Identifier: BSD-2-Clause */
/* apart.c - hosts that are run a lookahead behind the fabric, each by itself. */
#include "fabric.h"

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t mrc_fabric_lookahead_ns(const struct mrc_fabric *fabric)
{
	uint64_t least_ns = MRC_FABRIC_NEVER;

	for (uint32_t i = 0; i < fabric->nb_links; i++) {
		const struct link *l = &fabric->links[i];

		if (l->cls != MRC_FABRIC_HOST_UP)
			continue;
		/* Marking and trimming draw random numbers, in order of time. */
		if (l->ecn_max_len != 0 || l->trim_len != 0)
			return 0;
		least_ns = min64(least_ns, l->delay_ns);
	}
	for (uint32_t i = 0; i < fabric->cfg.max_faults; i++) {
		const struct fault *fault = &fabric->faults[i];

		if (fault->used && mrc_fabric_fault_counts_at(fabric, fault, MRC_FABRIC_HOST_UP))
			return 0;
	}
	return least_ns + fabric->cfg.switch_ns;
}

uint64_t mrc_fabric_fault_next_ns(const struct mrc_fabric *fabric)
{
	uint64_t next_ns = MRC_FABRIC_NEVER;

	for (uint32_t i = 0; i < fabric->cfg.max_faults; i++) {
		uint32_t node = fabric->fault_node + i;

		if (mrc_fabric_wheel_has(&fabric->wheel, node))
			next_ns = min64(next_ns, fabric->wheel.nodes[node].at_ns);
	}
	return next_ns;
}

uint64_t mrc_fabric_inbox_next_ns(const struct mrc_fabric *fabric, uint32_t host)
{
	const struct inbox *box = &fabric->inboxes[host * fabric->cfg.nb_planes];
	uint64_t next_ns = MRC_FABRIC_NEVER;

	for (uint32_t p = 0; p < fabric->cfg.nb_planes; p++) {
		if (box[p].list.head != NONE)
			next_ns = min64(next_ns, fabric->pkts[box[p].list.head].at_ns);
	}
	return next_ns;
}

static bool waits(const struct link *l)
{
	return l->queue[0].head != NONE || l->queue[1].head != NONE;
}

uint64_t mrc_fabric_uplink_next_ns(const struct mrc_fabric *fabric, uint32_t host)
{
	uint64_t next_ns = MRC_FABRIC_NEVER;

	for (uint32_t p = 0; p < fabric->cfg.nb_planes; p++) {
		const struct link *l = mrc_fabric_host_link(fabric, p, host, true);

		if (waits(l))
			next_ns = min64(next_ns, l->busy_ns);
	}
	return next_ns;
}

void mrc_fabric_uplink_run(struct mrc_fabric *fabric, uint64_t now_ns, uint32_t host)
{
	MRC_ASSERT(fabric->cfg.hosts_apart);
	for (uint32_t p = 0; p < fabric->cfg.nb_planes; p++) {
		struct link *l = mrc_fabric_host_link(fabric, p, host, true);

		while (waits(l) && l->busy_ns <= now_ns)
			mrc_fabric_link_tx(fabric, l, now_ns);
	}
}

/* Packet number `at` of a host's inbox, the first ones of which were fetched. */
static inline __attribute__((always_inline)) void fetch_inbox(
	const struct mrc_fabric *f, const struct inbox *box, uint32_t at)
{
	uint32_t i = box->list.head;

	for (uint32_t n = 0; n < at && i != NONE; n++) {
		if (n + 1 == at) {
			__builtin_prefetch(f->pkts[i].data);
			__builtin_prefetch(f->pkts[i].data + 64);
		}
		i = f->pkts[i].next;
	}
	if (i != NONE)
		__builtin_prefetch(&f->pkts[i]);
}

void mrc_fabric_host_fetch(const struct mrc_fabric *fabric, uint32_t host, uint32_t step)
{
	const struct inbox *box = &fabric->inboxes[host * fabric->cfg.nb_planes];

	for (uint32_t p = 0; p < fabric->cfg.nb_planes; p++) {
		const char *l = (const char *)mrc_fabric_host_link(fabric, p, host, true);

		if (step > 0) {
			fetch_inbox(fabric, &box[p], step - 1);
			continue;
		}
		__builtin_prefetch(&box[p]);
		for (uint32_t line = 0; line < 3; line++)
			__builtin_prefetch(l + 64 * line);
		__builtin_prefetch(&fabric->wheel.nodes[2 * ((const struct link *)(const void *)l -
								    fabric->links)]);
	}
}
