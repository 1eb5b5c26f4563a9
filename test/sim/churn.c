/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - queue pairs that end while their packets are under way, and their successors.
 *
 * Every frame carries, beside its bytes, the life of the QP that it was sent to: which one of all
 * the QPs that ever were, not which number. A frame that arrives after that life is late, whatever
 * number stands in it, and the engine must refuse it: then it changed nothing.
 */
#include <stdlib.h>

#include "mrc_opcode.h"
#include "sim.h"

/* From here to there one QP lives under one number of one host. */
struct life {
	uint32_t host, qpn;
	uint64_t under_way; /* frames sent to it that neither arrived nor were lost */
	bool over;
};

struct sim_churn {
	struct life *lives;
	uint32_t nb, cap;
	uint32_t *table; /* open hash: the newest life of a host's number, plus one */
	uint32_t table_len;
	uint32_t turn; /* connection to look at next */
	uint64_t next_ns;
	uint64_t renewals, late, refused, accepted, lost, least_late, most_late;
	uint64_t by_number; /* frames refused for their QP number, late or not */
};

/* ---- lives by number */

static uint32_t hash_of(uint32_t host, uint32_t qpn)
{
	uint64_t x = ((uint64_t)host << 24 | qpn) * 0x9E3779B97F4A7C15u;

	return (uint32_t)(x >> 32);
}

static uint32_t *place_of(struct sim_churn *churn, uint32_t host, uint32_t qpn)
{
	uint32_t mask = churn->table_len - 1, at = hash_of(host, qpn) & mask;

	while (churn->table[at] != 0 && (churn->lives[churn->table[at] - 1].host != host ||
						churn->lives[churn->table[at] - 1].qpn != qpn))
		at = (at + 1) & mask;
	return &churn->table[at];
}

static void table_grow(struct sim_churn *churn)
{
	free(churn->table);
	churn->table_len = churn->table_len != 0 ? 2 * churn->table_len : 1024;
	churn->table = sim_alloc(churn->table_len * sizeof(*churn->table));
	for (uint32_t i = 0; i < churn->nb; i++)
		*place_of(churn, churn->lives[i].host, churn->lives[i].qpn) = i + 1;
}

static void life_begins(struct sim_churn *churn, uint32_t host, uint32_t qpn)
{
	if (churn->nb == churn->cap) {
		churn->cap = churn->cap != 0 ? 2 * churn->cap : 256;
		churn->lives = sim_realloc(churn->lives, churn->cap * sizeof(*churn->lives));
	}
	if (2 * churn->nb >= churn->table_len)
		table_grow(churn);
	churn->lives[churn->nb++] = (struct life){.host = host, .qpn = qpn};
	*place_of(churn, host, qpn) = churn->nb;
}

/* The newest life of a number, NULL when there never was one. */
static struct life *life_find(struct sim_churn *churn, uint32_t host, uint32_t qpn)
{
	uint32_t at = *place_of(churn, host, qpn);

	return at != 0 ? &churn->lives[at - 1] : NULL;
}

/* ---- connections */

static uint32_t conn_qpn(const struct sim_conn *c, int side, uint32_t q)
{
	return mrc_sched_qp_num(mrc_load_qp(side == 0 ? c->tx : c->rx, q));
}

static void conn_begins(struct sim *sim, const struct sim_conn *c)
{
	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
		life_begins(sim->churn, c->src, conn_qpn(c, 0, q));
		life_begins(sim->churn, c->dst, conn_qpn(c, 1, q));
	}
}

void sim_churn_create(struct sim *sim)
{
	if (sim->sc->churn.every_ns == 0)
		return;
	sim->churn = sim_alloc(sizeof(*sim->churn));
	sim->churn->least_late = UINT64_MAX;
	sim->churn->next_ns = sim->sc->churn.at_ns + sim->sc->churn.every_ns;
	table_grow(sim->churn);
	for (uint32_t i = 0; i < sim->nb_conns; i++)
		conn_begins(sim, &sim->conns[i]);
}

void sim_churn_free(struct sim *sim)
{
	if (sim->churn == NULL)
		return;
	free(sim->churn->lives);
	free(sim->churn->table);
	free(sim->churn);
}

static uint64_t conn_under_way(struct sim *sim, const struct sim_conn *c)
{
	uint64_t sum = 0;

	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++)
		sum += life_find(sim->churn, c->src, conn_qpn(c, 0, q))->under_way +
		       life_find(sim->churn, c->dst, conn_qpn(c, 1, q))->under_way;
	return sum;
}

static bool conn_may(struct sim *sim, const struct sim_conn *c)
{
	if (sim->hosts[c->src].paused_until > sim->now_ns ||
		sim->hosts[c->dst].paused_until > sim->now_ns)
		return false;
	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
		if (mrc_sched_qp_state(mrc_load_qp(c->tx, q)) != MRC_QP_RTS ||
			mrc_sched_qp_state(mrc_load_qp(c->rx, q)) != MRC_QP_RTS)
			return false;
	}
	return conn_under_way(sim, c) != 0;
}

/* ---- renewing */

static void losses_keep(struct sim *sim, struct sim_conn *c)
{
	struct mrc_sched_qp_info info;

	if (c->lost_before == NULL)
		c->lost_before = sim_alloc(sim_conn_qps(sim, c) * sizeof(*c->lost_before));
	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
		mrc_sched_qp_query(sim_conn_sched(sim, c), mrc_load_qp(c->tx, q), &info);
		c->lost_before[q] += info.lost_packets;
	}
}

static void conn_ends(struct sim *sim, const struct sim_conn *c)
{
	struct sim_churn *churn = sim->churn;
	uint64_t late = conn_under_way(sim, c);

	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
		life_find(churn, c->src, conn_qpn(c, 0, q))->over = true;
		life_find(churn, c->dst, conn_qpn(c, 1, q))->over = true;
	}
	churn->renewals++;
	churn->late += late;
	churn->most_late = late > churn->most_late ? late : churn->most_late;
	churn->least_late = late < churn->least_late ? late : churn->least_late;
}

static void conn_renew(struct sim *sim, struct sim_conn *c)
{
	struct mrc_load_offer *offers = sim_alloc(2 * sizeof(*offers));
	const char *key = "?";
	int err = MRC_OK;

	losses_keep(sim, c);
	conn_ends(sim, c);
	for (uint32_t life = 0; life < sim->sc->churn.lives && err == MRC_OK; life++) {
		err = mrc_load_renew(c->tx, sim->now_ns);
		if (err == MRC_OK)
			err = mrc_load_renew(c->rx, sim->now_ns);
		if (err == MRC_OK) {
			mrc_load_offer(c->tx, &offers[0]);
			mrc_load_offer(c->rx, &offers[1]);
			err = mrc_load_connect(c->tx, sim->now_ns, &offers[1], c->sets[0], &key);
		}
		if (err == MRC_OK)
			err = mrc_load_connect(c->rx, sim->now_ns, &offers[0], c->sets[1], &key);
	}
	free(offers);
	if (err != MRC_OK)
		sim_fail(sim, "connection %u to %u cannot be renewed: %s", c->src, c->dst,
			mrc_err_name(err));
	conn_begins(sim, c);
	sim_mark(sim, &sim->hosts[c->src]);
	sim_mark(sim, &sim->hosts[c->dst]);
}

uint64_t sim_churn_next(const struct sim *sim)
{
	return sim->churn != NULL ? sim->churn->next_ns : SIM_NEVER;
}

/* One connection at a time, in turn: the next one with packets under way. */
void sim_churn_due(struct sim *sim)
{
	const struct sim_churn_cfg *cfg = &sim->sc->churn;
	struct sim_churn *churn = sim->churn;

	if (churn == NULL || sim->now_ns < churn->next_ns)
		return;
	churn->next_ns += cfg->every_ns;
	if ((cfg->for_ns != 0 && churn->next_ns > cfg->at_ns + cfg->for_ns) || sim_flows_done(sim))
		churn->next_ns = SIM_NEVER;
	if (sim_flows_done(sim))
		return;
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		struct sim_conn *c = &sim->conns[churn->turn++ % sim->nb_conns];

		if (!conn_may(sim, c))
			continue;
		conn_renew(sim, c);
		return;
	}
}

/* ---- frames */

void sim_churn_sent(struct sim *sim, uint32_t host, const struct mrc_fabric_pkt *frame)
{
	struct sim_block *block = frame->ref;
	struct mrc_rxbuf buf = {0};
	struct mrc_pkt pkt;
	struct life *life;

	if (sim->churn == NULL)
		return;
	sim_frame_view(sim, frame, &buf);
	if (mrc_pkt_decode(&sim->sc->proto, buf.data, buf.len, &pkt) != MRC_KEEP) {
		sim_fail(sim, "host %u sent a frame that does not decode", host);
		return;
	}
	if (pkt.dqpn <= MRC_QPN_ENDPOINT)
		return;
	life = life_find(sim->churn, sim_gid_host(sim, &pkt.dst), pkt.dqpn);
	if (life == NULL || life->over) {
		sim_fail(sim, "host %u sent a %s to QP 0x%x, which %s", host,
			mrc_opcode_table[pkt.opcode].name, pkt.dqpn,
			life == NULL ? "never was" : "is gone");
		return;
	}
	life->under_way++;
	block->life = (uint32_t)(life - sim->churn->lives);
}

void sim_churn_copied(struct sim *sim, struct sim_block *copy, const struct sim_block *block)
{
	copy->life = block->life;
	if (copy->life == SIM_NO_LIFE)
		return;
	sim->churn->lives[copy->life].under_way++;
	sim->churn->late += sim->churn->lives[copy->life].over;
}

void sim_churn_lost(struct sim *sim, const struct sim_block *block)
{
	if (block->life == SIM_NO_LIFE)
		return;
	sim->churn->lives[block->life].under_way--;
	sim->churn->lost += sim->churn->lives[block->life].over;
}

/* Whether a late packet can only be refused for its number: no fault damages any, and no number
 * comes round again. */
static bool exact(const struct sim *sim)
{
	return sim->sc->churn.lives == 1 && sim->sc->nb_faults == 0 && sim->sc->storm.every_ns == 0;
}

/* A number that came round again can only be told by addresses and PSNs; then a probe is answered,
 * which changes nothing. */
static bool harmless(const struct sim *sim, const struct mrc_rxbuf *buf)
{
	struct mrc_pkt pkt;

	return sim->sc->churn.lives > 1 &&
	       mrc_pkt_decode(&sim->sc->proto, buf->data, buf->len, &pkt) == MRC_KEEP &&
	       pkt.opcode == MRC_OP_PROBE;
}

void sim_churn_judge(struct sim_host *h, const struct sim_block *block, const struct mrc_rxbuf *buf,
	const struct mrc_rx_verdict *verdict)
{
	struct sim_churn *churn = h->sim->churn;
	struct life *life;
	bool number, strict;

	if (churn == NULL)
		return;
	number = verdict->kind == MRC_RX_DROP &&
		 (verdict->arg == MRC_DROP_QPN_GENERATION || verdict->arg == MRC_DROP_QPN_UNKNOWN);
	churn->by_number += number;
	if (block->life == SIM_NO_LIFE)
		return;
	life = &churn->lives[block->life];
	life->under_way--;
	if (!life->over)
		return;
	/* A frame that a fault has damaged may be refused for that first. */
	strict = exact(h->sim);
	if ((verdict->kind == MRC_RX_DROP && (number || !strict)) || harmless(h->sim, buf)) {
		churn->refused++;
		return;
	}
	churn->accepted++;
	sim_fail(h->sim, "host %u: late packet to QP 0x%x, which had ended: %s", h->index,
		life->qpn,
		verdict->kind == MRC_RX_DROP ? mrc_drop_name((enum mrc_drop)verdict->arg)
					     : "accepted");
}

/* ---- the end */

void sim_churn_check(struct sim *sim)
{
	struct sim_churn *churn = sim->churn;
	uint64_t counted = 0, under_way = 0;

	if (churn == NULL)
		return;
	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		for (uint32_t w = 0; w < sim->sc->host.workers; w++) {
			const uint64_t *drops =
				mrc_sched_counters_get(sim->hosts[i].sched[w])->drops;

			counted += drops[MRC_DROP_QPN_GENERATION] + drops[MRC_DROP_QPN_UNKNOWN];
		}
	}
	for (uint32_t i = 0; i < churn->nb; i++)
		under_way += churn->lives[i].over ? churn->lives[i].under_way : 0;
	if (counted != churn->by_number)
		sim_fail(sim, "engines counted %llu packets to QPs that are not there, %llu came",
			(unsigned long long)counted, (unsigned long long)churn->by_number);
	if (churn->refused + churn->accepted + churn->lost + under_way != churn->late)
		sim_fail(sim, "%llu late packets, but %llu refused, %llu lost, %llu under way",
			(unsigned long long)churn->late, (unsigned long long)churn->refused,
			(unsigned long long)churn->lost, (unsigned long long)under_way);
	if (exact(sim) && counted != churn->refused)
		sim_fail(sim, "%llu late packets refused, %llu counted",
			(unsigned long long)churn->refused, (unsigned long long)counted);
}

json_t *sim_churn_json(const struct sim *sim)
{
	const struct sim_churn *churn = sim->churn;

	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "renewals", (json_int_t)churn->renewals,
		"late", (json_int_t)churn->late, "late_least",
		(json_int_t)(churn->renewals != 0 ? churn->least_late : 0), "late_most",
		(json_int_t)churn->most_late, "refused", (json_int_t)churn->refused, "lost",
		(json_int_t)churn->lost, "accepted", (json_int_t)churn->accepted);
}
