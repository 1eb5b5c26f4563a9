/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - what must hold at any moment and at the end of every run.
 *
 * During the run: the window of each QP stays within its bounds, and its bytes in flight are what
 * the sent map says. At the end: every flow completed exactly once and after its data had arrived,
 * nothing was written wrongly, immediates came in order, the fabric's books balance, no buffer is
 * missing.
 */
#include "sim.h"

static void check_qp(struct sim_host *h, struct mrc_sched *sched, struct mrc_sched_qp *qp)
{
	struct mrc_sched_qp_info info;

	mrc_sched_qp_query(sched, qp, &info);
	if (info.state != MRC_QP_RTS)
		return;
	if (info.inflight != (int64_t)info.sent_map_bytes)
		sim_fail(h->sim, "host %u QP %u: %lld bytes in flight, %llu in the sent map",
			h->index, info.qpn, (long long)info.inflight,
			(unsigned long long)info.sent_map_bytes);
	if (h->sim->sc->cc.on && info.cwnd > h->sim->cc.max_cwnd)
		sim_fail(h->sim, "host %u QP %u: window %u above its maximum %u", h->index,
			info.qpn, info.cwnd, h->sim->cc.max_cwnd);
	if (info.retry_count > MRC_LINEAR_MAX + MRC_EXP_MAX)
		sim_fail(h->sim, "host %u QP %u: retry counter %u", h->index, info.qpn,
			info.retry_count);
}

/* What the load has seen so far: completions once, in order, and only of what is placed; every byte
 * and immediate right. */
static void check_load(struct sim *sim, const struct sim_conn *c)
{
	struct mrc_load_result tx, rx;

	mrc_load_result(c->tx, &tx);
	mrc_load_result(c->rx, &rx);
	if (tx.tx_misordered != 0)
		sim_fail(sim, "connection %u to %u: %llu completions out of order", c->src, c->dst,
			(unsigned long long)tx.tx_misordered);
	if (tx.tx_messages > rx.rx_messages)
		sim_fail(sim, "connection %u to %u: %llu messages completed, %llu placed", c->src,
			c->dst, (unsigned long long)tx.tx_messages,
			(unsigned long long)rx.rx_messages);
	if (rx.bytes_corrupt != 0 || rx.messages_corrupt != 0)
		sim_fail(sim,
			"connection %u to %u: %llu wrong bytes in %llu messages, first QP %u "
			"message %llu offset %llu: %02x instead of %02x",
			c->src, c->dst, (unsigned long long)rx.bytes_corrupt,
			(unsigned long long)rx.messages_corrupt, rx.bad_qp,
			(unsigned long long)rx.bad_message, (unsigned long long)rx.bad_offset,
			rx.bad_found, rx.bad_expected);
	if (rx.imm_corrupt != 0)
		sim_fail(sim, "connection %u to %u: %llu immediates wrong or out of order", c->src,
			c->dst, (unsigned long long)rx.imm_corrupt);
}

void sim_check_host(struct sim_host *h)
{
	struct sim *sim = h->sim;

	sim->stats.checks++;
	for (int side = 0; side < 2; side++) {
		for (uint32_t c = h->conns[side]; c != UINT32_MAX;
			c = sim->conns[c].next_of[side]) {
			struct sim_conn *conn = &sim->conns[c];
			struct mrc_load *load = side == 0 ? conn->tx : conn->rx;

			if (load != NULL)
				check_load(sim, conn);
			for (uint32_t q = 0; load != NULL && q < sim_conn_qps(sim, conn); q++)
				check_qp(h, h->sched[c % sim->sc->host.workers],
					mrc_load_qp(load, q));
		}
	}
}

static void check_conn(struct sim *sim, struct sim_conn *c)
{
	struct mrc_load_result tx, rx;

	check_load(sim, c);
	if (sim->sc->load.verify != MRC_LOAD_VERIFY_NONE &&
		!sim_guarded_ok(c->region, c->region_len))
		sim_fail(sim, "connection %u to %u: bytes beside the region were written", c->src,
			c->dst);
	mrc_load_result(c->tx, &tx);
	mrc_load_result(c->rx, &rx);
	if (tx.qps_failed == 0 && rx.rx_messages != tx.tx_messages)
		sim_fail(sim, "connection %u to %u: %llu messages placed, %llu completed", c->src,
			c->dst, (unsigned long long)rx.rx_messages,
			(unsigned long long)tx.tx_messages);
	if (sim->sc->load.verify == MRC_LOAD_VERIFY_FULL && tx.qps_failed == 0 &&
		rx.bytes_verified != rx.rx_bytes)
		sim_fail(sim, "connection %u to %u: %llu bytes placed, %llu verified", c->src,
			c->dst, (unsigned long long)rx.rx_bytes,
			(unsigned long long)rx.bytes_verified);
}

/* Everything is acknowledged: nothing may still take room in a window. */
static void check_idle(struct sim *sim, const struct sim_conn *c)
{
	const struct mrc_sched *sched = sim_conn_sched(sim, c);
	struct mrc_sched_qp_info info;

	for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
		mrc_sched_qp_query(sched, mrc_load_qp(c->tx, q), &info);
		if (info.state != MRC_QP_RTS)
			continue;
		/* The book of congestion control may lag: it follows the next SACK. */
		if (info.outstanding != 0 || info.inflight != 0 || info.sent_map_bytes != 0)
			sim_fail(sim,
				"host %u QP %u is idle, but %u packets are outstanding, %lld bytes "
				"in flight",
				c->src, info.qpn, info.outstanding, (long long)info.inflight);
	}
}

static void check_flows(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->nb_flows && sim->sc->load.mode == SIM_FLOWS; i++) {
		const struct sim_flow *flow = &sim->flows[i];

		if (flow->failed)
			continue;
		if (flow->end_ns == SIM_NEVER || flow->arrived_ns == SIM_NEVER)
			sim_fail(sim, "flow %u completed without arriving", i);
		else if (flow->end_ns < flow->arrived_ns)
			sim_fail(sim, "flow %u completed at %llu ns, arrived at %llu ns", i,
				(unsigned long long)flow->end_ns,
				(unsigned long long)flow->arrived_ns);
	}
}

void sim_check_end(struct sim *sim)
{
	struct mrc_fabric_totals totals;
	const char *text = mrc_fabric_check(sim->fabric);
	uint64_t held = 0;

	if (text != NULL)
		sim_fail(sim, "fabric: %s", text);
	mrc_fabric_totals_get(sim->fabric, &totals);
	for (uint32_t i = 0; i < sim->nb_hosts; i++)
		held += sim_handover_held(&sim->hosts[i]);
	if (totals.in_flight + totals.unread + held != sim->pool.used)
		sim_fail(sim, "%llu packet buffers are out, fabric and workers hold %llu",
			(unsigned long long)sim->pool.used,
			(unsigned long long)(totals.in_flight + totals.unread + held));
	check_flows(sim);
	if (sim->sc->transport == SIM_MRC)
		sim_churn_check(sim);
	for (uint32_t i = 0; i < sim->nb_conns && sim->sc->transport == SIM_MRC; i++) {
		check_conn(sim, &sim->conns[i]);
		check_idle(sim, &sim->conns[i]);
	}
}
