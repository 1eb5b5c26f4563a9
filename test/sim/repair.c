/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repair.c - how long a lost or trimmed packet is missing: from the pull of its first transmission
 * to the moment at which the first copy of it that is whole reaches the other host.
 *
 * Every host keeps the last departures of first transmissions, by QP and PSN. The path-order part
 * of a repair is seen beside it: when the next packet on the same entropy value left.
 */
#include <stdlib.h>

#include "sim.h"

enum {
	KEPT = 1 << 14, /* departures per host, a power of two */
};

struct departure {
	uint64_t at_ns;
	uint32_t dqpn, psn, ev;
	bool known, sent_again;
};

struct repair {
	struct departure *kept; /* KEPT per host */
	double *repair_ns, *next_ns, *at_us;
	uint32_t nb, cap;
	uint64_t nb_forgotten;
};

void sim_repair_create(struct sim *sim)
{
	struct repair *r = sim_alloc(sizeof(*r));

	r->kept = sim_alloc((size_t)sim->nb_hosts * KEPT * sizeof(*r->kept));
	sim->repair = r;
}

void sim_repair_destroy(struct sim *sim)
{
	struct repair *r = sim->repair;

	if (r == NULL)
		return;
	free(r->kept);
	free(r->repair_ns);
	free(r->next_ns);
	free(r->at_us);
	free(r);
	sim->repair = NULL;
}

static struct departure *place_of(const struct sim *sim, uint32_t host, uint32_t dqpn, uint32_t psn)
{
	/* PSNs of one QP lie side by side. */
	uint32_t at = (psn + dqpn * 0x9E3779B1u) & (KEPT - 1);

	return &sim->repair->kept[(size_t)host * KEPT + at];
}

static bool is_at(const struct departure *d, uint32_t dqpn, uint32_t psn)
{
	return d->known && d->dqpn == dqpn && d->psn == psn;
}

/* False: no data packet. */
static bool view_data(struct sim *sim, const struct mrc_fabric_pkt *pkt, struct mrc_pkt *view_out)
{
	struct mrc_rxbuf buf;

	sim_frame_view(sim, pkt, &buf);
	return mrc_pkt_decode(&sim->sc->proto, buf.data, buf.len, view_out) == MRC_KEEP &&
	       (mrc_opcode_table[view_out->opcode].flags & MRC_OPF_WRITE) != 0;
}

void sim_repair_left(struct sim_host *h, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = h->sim;
	struct mrc_pkt view;
	struct departure *d;

	if (!view_data(sim, pkt, &view))
		return;
	d = place_of(sim, h->index, view.dqpn, view.psn.v);
	if ((view.flags & MRC_PKT_RTX) == 0)
		*d = (struct departure){.at_ns = sim->now_ns,
			.dqpn = view.dqpn,
			.psn = view.psn.v,
			.ev = view.ev,
			.known = true};
	else if (is_at(d, view.dqpn, view.psn.v))
		d->sent_again = true;
	else
		sim->repair->nb_forgotten++;
}

/* From a departure to the next one on its entropy value; 0 when there was none. */
static uint64_t next_after(const struct sim *sim, uint32_t host, const struct departure *d)
{
	for (uint32_t i = 1; i < KEPT; i++) {
		uint32_t psn = (d->psn + i) & MRC_PSN_MASK;
		const struct departure *next = place_of(sim, host, d->dqpn, psn);

		if (!is_at(next, d->dqpn, psn))
			break;
		if (next->ev == d->ev)
			return next->at_ns - d->at_ns;
	}
	return 0;
}

static void add(struct repair *r, uint64_t at_ns, uint64_t repair_ns, uint64_t next_ns)
{
	if (r->nb == r->cap) {
		r->cap = r->cap != 0 ? 2 * r->cap : 1024;
		r->repair_ns = sim_realloc(r->repair_ns, r->cap * sizeof(double));
		r->next_ns = sim_realloc(r->next_ns, r->cap * sizeof(double));
		r->at_us = sim_realloc(r->at_us, r->cap * sizeof(double));
	}
	r->at_us[r->nb] = (double)at_ns / 1000;
	r->repair_ns[r->nb] = (double)repair_ns;
	r->next_ns[r->nb++] = (double)next_ns;
}

void sim_repair_came(struct sim_host *h, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = h->sim;
	struct departure *d;
	struct mrc_pkt view;
	uint32_t from;

	if (!view_data(sim, pkt, &view) || (view.flags & MRC_PKT_TRIMMED) != 0 ||
		(view.flags & MRC_PKT_RTX) == 0)
		return;
	from = sim_gid_host(sim, &view.src);
	if (from >= sim->nb_hosts)
		return; /* a fault has damaged the address */
	d = place_of(sim, from, view.dqpn, view.psn.v);
	if (!is_at(d, view.dqpn, view.psn.v) || !d->sent_again)
		return;
	d->sent_again = false;
	add(sim->repair, d->at_ns, sim->now_ns - d->at_ns, next_after(sim, from, d));
}

json_t *sim_repair_result(struct sim *sim)
{
	struct repair *r = sim->repair;
	json_t *list = json_array(), *out;

	for (uint32_t i = 0; i < r->nb; i++)
		json_array_append_new(
			list, json_pack("[f,f,f]", r->repair_ns[i], r->next_ns[i], r->at_us[i]));
	out = json_pack("{s:o,s:I}", "list_ns", list, "forgotten", (json_int_t)r->nb_forgotten);
	json_object_set_new(out, "repair_ns", sim_spread(r->repair_ns, r->nb));
	json_object_set_new(out, "next_ns", sim_spread(r->next_ns, r->nb));
	return out;
}
