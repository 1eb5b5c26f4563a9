/* SPDX-License-Identifier: BSD-2-Clause */
/* result.c - time series while it runs, and the result as one JSON object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- time series */

struct sim_point {
	uint64_t t_ns;
	uint64_t bytes;                         /* payload received since the start */
	uint64_t plane_packets[MRC_MAX_PLANES]; /* sent since the start */
	uint64_t lost, retransmits, marks, trims, drops;
	uint32_t ev_good, ev_skip, ev_bad;
	uint64_t queue_max, queue_sum; /* data queues of switches, bytes now */
	double jain;                   /* of what each receiving host got since the last point */
	uint64_t cwnd;                 /* of the first connection's first QP */
};

struct sim_series {
	struct sim_point *points;
	uint32_t nb, cap;
};

static uint64_t host_rx_bytes(const struct sim_host *h)
{
	uint64_t sum = 0;

	if (h->sim->sc->transport == SIM_RC)
		return rc_rx_bytes(h);
	for (uint32_t w = 0; w < h->sim->sc->host.workers; w++)
		sum += mrc_sched_counters_get(h->sched[w])->rx_data_bytes;
	return sum;
}

/* To the packet where a host receives one connection only, else to the message. */
static uint64_t conn_rx_bytes(const struct sim *sim, const struct sim_conn *c)
{
	const struct sim_host *dst = &sim->hosts[c->dst];
	struct mrc_load_result r;

	if (sim->conns[dst->conns[1]].next_of[1] == UINT32_MAX)
		return host_rx_bytes(dst);
	mrc_load_result(c->rx, &r);
	return r.rx_bytes;
}

void sim_bin(struct sim *sim)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sim->nb_hosts; i++)
		sum += host_rx_bytes(&sim->hosts[i]);
	if (sim->nb_bins == sim->cap_bins) {
		sim->cap_bins = sim->cap_bins != 0 ? 2 * sim->cap_bins : 256;
		sim->bins = sim_realloc(sim->bins, sim->cap_bins * sizeof(*sim->bins));
	}
	sim->bins[sim->nb_bins++] = sum;
	sim->next_bin_ns += SIM_BIN_NS;
}

void sim_mark_steady(struct sim *sim)
{
	bool end = sim->now_ns >= sim->sc->load.duration_ns;

	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		struct sim_conn *c = &sim->conns[i];

		if (end)
			c->steady_bytes = conn_rx_bytes(sim, c) - c->warm_bytes;
		else
			c->warm_bytes = conn_rx_bytes(sim, c);
	}
	sim->next_mark_ns = end ? SIM_NEVER : sim->sc->load.duration_ns;
}

static void add_engines(struct sim *sim, struct sim_point *p)
{
	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		for (uint32_t w = 0; w < sim->sc->host.workers; w++) {
			const struct mrc_sched_counters *c =
				mrc_sched_counters_get(sim->hosts[i].sched[w]);

			p->retransmits += c->retransmits;
			for (uint32_t n = 0; n < sim->sc->fabric.planes; n++) {
				p->plane_packets[n] += c->planes[n].tx_data_packets;
				p->lost += c->planes[n].lost_packets;
			}
		}
	}
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		const struct mrc_ev_set *set = sim->conns[i].sets[0];

		if (!(sim->conns[i].own_sets & 1))
			continue;
		p->ev_good += mrc_ev_state_count(set, MRC_EV_GOOD, -1);
		p->ev_skip += mrc_ev_state_count(set, MRC_EV_SKIP, -1);
		p->ev_bad += mrc_ev_state_count(set, MRC_EV_ASSUMED_BAD, -1);
	}
	if (sim->nb_conns != 0) {
		struct mrc_sched_qp_info info;

		mrc_sched_qp_query(sim->hosts[sim->conns[0].src].sched[0],
			mrc_load_qp(sim->conns[0].tx, 0), &info);
		p->cwnd = info.cwnd;
	}
}

static double jain_now(struct sim *sim)
{
	double sum = 0, squares = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		struct sim_host *h = &sim->hosts[i];
		uint64_t bytes = host_rx_bytes(h);
		double x = (double)(bytes - h->last_bytes);

		h->last_bytes = bytes;
		if (h->conns[1] == UINT32_MAX)
			continue;
		sum += x;
		squares += x * x;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}

static void add_links(struct sim *sim, struct sim_point *p)
{
	struct mrc_fabric_link_counters c;

	for (uint32_t l = 0; l < mrc_fabric_nb_links(sim->fabric); l++) {
		if (mrc_fabric_link_id(sim->fabric, l).cls == MRC_FABRIC_HOST_UP)
			continue;
		mrc_fabric_link_counters_get(sim->fabric, sim->now_ns, l, &c);
		p->queue_sum += c.queue_len;
		p->queue_max = c.queue_len > p->queue_max ? c.queue_len : p->queue_max;
	}
}

void sim_sample(struct sim *sim)
{
	struct mrc_fabric_totals totals;
	struct sim_point *p;

	if (sim->series == NULL)
		sim->series = sim_alloc(sizeof(*sim->series));
	if (sim->series->nb == sim->series->cap) {
		sim->series->cap = sim->series->cap != 0 ? 2 * sim->series->cap : 256;
		sim->series->points =
			sim_realloc(sim->series->points, sim->series->cap * sizeof(*p));
	}
	p = &sim->series->points[sim->series->nb++];
	*p = (struct sim_point){.t_ns = sim->now_ns};
	for (uint32_t i = 0; i < sim->nb_hosts; i++)
		p->bytes += host_rx_bytes(&sim->hosts[i]);
	p->jain = jain_now(sim);
	mrc_fabric_totals_get(sim->fabric, &totals);
	p->marks = totals.marks;
	p->trims = totals.trims;
	p->drops = totals.dropped;
	add_links(sim, p);
	if (sim->sc->transport == SIM_MRC)
		add_engines(sim, p);
	if (sim->waits != NULL)
		sim_waits_sample(sim);
}

void sim_series_free(struct sim *sim)
{
	if (sim->series != NULL)
		free(sim->series->points);
	free(sim->series);
}

static void push(json_t *columns, const char *name, double value)
{
	json_t *column = json_object_get(columns, name);

	if (column == NULL) {
		column = json_array();
		json_object_set_new(columns, name, column);
	}
	json_array_append_new(column, json_real(value));
}

/* Columns of equal length; rates are over the time since the point before. */
static json_t *series_json(const struct sim *sim)
{
	json_t *out = json_object();
	char name[32];

	for (uint32_t i = 0; sim->series != NULL && i < sim->series->nb; i++) {
		const struct sim_point *p = &sim->series->points[i];
		struct sim_point zero = {0};
		const struct sim_point *b = i != 0 ? p - 1 : &zero;
		double dt = (double)(p->t_ns - b->t_ns);

		push(out, "t_us", (double)p->t_ns / 1e3);
		push(out, "goodput_gbps", (double)(p->bytes - b->bytes) * 8 / dt);
		push(out, "retransmits", (double)(p->retransmits - b->retransmits));
		push(out, "lost", (double)(p->lost - b->lost));
		push(out, "marks", (double)(p->marks - b->marks));
		push(out, "trims", (double)(p->trims - b->trims));
		push(out, "drops", (double)(p->drops - b->drops));
		push(out, "queue_max_len", (double)p->queue_max);
		push(out, "queue_sum_len", (double)p->queue_sum);
		push(out, "ev_good", p->ev_good);
		push(out, "ev_skip", p->ev_skip);
		push(out, "ev_bad", p->ev_bad);
		push(out, "jain", p->jain);
		push(out, "cwnd", (double)p->cwnd);
		for (uint32_t n = 0; n < sim->sc->fabric.planes; n++) {
			snprintf(name, sizeof(name), "plane%u_packets", n);
			push(out, name, (double)(p->plane_packets[n] - b->plane_packets[n]));
		}
	}
	return out;
}

/* ---- statistics */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t n, double part)
{
	uint32_t i = n != 0 ? (uint32_t)ceil(part * n) : 0;

	return n == 0 ? 0 : sorted[i == 0 ? 0 : i - 1];
}

json_t *sim_spread(double *values, uint32_t n)
{
	double sum = 0, squares = 0;

	if (n != 0)
		qsort(values, n, sizeof(*values), by_value);
	for (uint32_t i = 0; i < n; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return json_pack("{s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "count", (int)n, "min",
		quantile(values, n, 0), "median", quantile(values, n, 0.5), "p99",
		quantile(values, n, 0.99), "p999", quantile(values, n, 0.999), "max",
		quantile(values, n, 1), "mean", n != 0 ? sum / n : 0, "jain",
		squares > 0 ? sum * sum / (n * squares) : 1);
}

/* ---- parts of the result */

static json_t *flows_json(const struct sim *sim)
{
	double *fct = sim_alloc((sim->nb_flows + 1) * sizeof(*fct));
	double *rate = sim_alloc((sim->nb_flows + 1) * sizeof(*rate));
	json_t *list = json_array(), *out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < sim->nb_flows && sim->sc->load.mode == SIM_FLOWS; i++) {
		const struct sim_flow *f = &sim->flows[i];

		if (f->end_ns == SIM_NEVER || f->failed)
			continue;
		fct[n] = (double)(f->end_ns - f->start_ns) / 1e3;
		rate[n] = (double)f->f.bytes * 8e-3 / fct[n];
		if (n < 4096)
			json_array_append_new(
				list, json_pack("[i,i,f,f,I,i]", (int)f->f.src, (int)f->f.dst,
					      (double)f->start_ns / 1e3, (double)f->end_ns / 1e3,
					      (json_int_t)f->f.bytes, (int)f->f.cls));
		n++;
	}
	out = json_pack("{s:i,s:i,s:i,s:o}", "count", (int)sim->nb_flows, "done",
		(int)sim->flows_done, "failed", (int)sim->flows_failed, "list", list);
	json_object_set_new(out, "gbps", sim_spread(rate, n));
	json_object_set_new(out, "fct_us", sim_spread(fct, n));
	free(fct);
	free(rate);
	return out;
}

#define ENGINE_SUMS(X)                                                                             \
	X(tx_packets)                                                                              \
	X(rx_packets)                                                                              \
	X(tx_data_packets)                                                                         \
	X(tx_data_bytes)                                                                           \
	X(rx_data_packets)                                                                         \
	X(rx_data_bytes)                                                                           \
	X(tx_sack)                                                                                 \
	X(tx_nack)                                                                                 \
	X(tx_ack)                                                                                  \
	X(tx_probe)                                                                                \
	X(rx_sack)                                                                                 \
	X(rx_nack)                                                                                 \
	X(rx_ack)                                                                                  \
	X(retransmits)                                                                             \
	X(rtx_by_nack)                                                                             \
	X(rtx_by_order)                                                                            \
	X(rtx_by_distance)                                                                         \
	X(rtx_by_timeout)                                                                          \
	X(rtx_by_ack_timeout)                                                                      \
	X(spurious_retransmits)                                                                    \
	X(timeouts)                                                                                \
	X(qp_errors)                                                                               \
	X(ecn_marks)                                                                               \
	X(foreign_worker)                                                                          \
	X(ep_req_tx)                                                                               \
	X(ep_req_rx)                                                                               \
	X(ep_rsp_tx)                                                                               \
	X(ep_rsp_rx)

static uint64_t engines_sum(const struct sim *sim, size_t offset)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sim->nb_hosts; i++) {
		for (uint32_t w = 0; w < sim->sc->host.workers; w++) {
			const uint8_t *c =
				(const uint8_t *)mrc_sched_counters_get(sim->hosts[i].sched[w]);
			uint64_t v;

			memcpy(&v, c + offset, sizeof(v));
			sum += v;
		}
	}
	return sum;
}

static const char *const drop_names[] = {
#define NAME(name, text) #name,
	MRC_DROP_LIST(NAME)
#undef NAME
};

static json_t *engine_json(const struct sim *sim)
{
	json_t *out = json_object(), *planes = json_array(), *drops = json_object();

#define SUM(name)                                                                                  \
	json_object_set_new(out, #name,                                                            \
		json_integer(                                                                      \
			(json_int_t)engines_sum(sim, offsetof(struct mrc_sched_counters, name))));
	ENGINE_SUMS(SUM)
#undef SUM
	for (uint32_t d = 1; d < MRC_NB_DROPS; d++) {
		uint64_t n = engines_sum(
			sim, offsetof(struct mrc_sched_counters, drops) + d * sizeof(uint64_t));

		if (n != 0)
			json_object_set_new(drops, drop_names[d - 1], json_integer((json_int_t)n));
	}
	for (uint32_t p = 0; p < sim->sc->fabric.planes; p++) {
		size_t at = offsetof(struct mrc_sched_counters, planes) +
			    p * sizeof(struct mrc_sched_plane_counters);

#define PLANE(name)                                                                                \
	(json_int_t) engines_sum(sim, at + offsetof(struct mrc_sched_plane_counters, name))
		json_array_append_new(planes,
			json_pack("{s:I,s:I,s:I,s:I,s:I}", "tx_packets", PLANE(tx_packets),
				"rx_packets", PLANE(rx_packets), "tx_data_packets",
				PLANE(tx_data_packets), "tx_retransmits", PLANE(tx_retransmits),
				"lost_packets", PLANE(lost_packets)));
#undef PLANE
	}
	json_object_set_new(out, "drops", drops);
	json_object_set_new(out, "planes", planes);
	return out;
}

/* Packets that a QP took for lost; with churn those of its place in the connection, all lives. */
static uint64_t qp_lost(const struct sim *sim, const struct sim_conn *c, uint32_t q)
{
	struct mrc_sched_qp_info info;

	mrc_sched_qp_query(sim_conn_sched(sim, c), mrc_load_qp(c->tx, q), &info);
	return info.lost_packets + (c->lost_before != NULL ? c->lost_before[q] : 0);
}

/* Lost packets of each QP that sends, by the requester's own count, and which lost any. */
static json_t *loss_json(const struct sim *sim)
{
	uint32_t n = 0, nb = 0;
	json_t *out, *list = json_array();
	double *per;

	for (uint32_t i = 0; i < sim->nb_conns; i++)
		nb += sim_conn_qps(sim, &sim->conns[i]);
	per = sim_alloc((nb + 1) * sizeof(*per));
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		const struct sim_conn *c = &sim->conns[i];

		for (uint32_t q = 0; q < sim_conn_qps(sim, c); q++) {
			uint64_t lost = qp_lost(sim, c, q);

			per[n++] = (double)lost;
			if (lost != 0)
				json_array_append_new(
					list, json_pack("[I,I,I,I]", (json_int_t)c->src,
						      (json_int_t)c->dst, (json_int_t)q,
						      (json_int_t)lost));
		}
	}
	out = sim_spread(per, n);
	json_object_set_new(out, "list", list);
	free(per);
	return out;
}

struct link_sums {
	double tx_min, tx_max, tx_sum,
		tx_nb; /* of links that carry a tenth of the busiest one's bytes */
	uint64_t queue_max_len;
	double queue_mean_max, queue_mean_sum, nb;
	uint64_t marks, trims;
};

static void link_add(struct sim *sim, struct link_sums *s, uint32_t l)
{
	struct mrc_fabric_link_counters c;
	double mean;

	mrc_fabric_link_counters_get(sim->fabric, sim->now_ns, l, &c);
	mean = sim->end_ns != 0 ? (double)c.queue_area / (double)sim->end_ns : 0;
	s->marks += c.marks;
	s->trims += c.trims;
	s->nb++;
	s->queue_mean_sum += mean;
	s->queue_mean_max = mean > s->queue_mean_max ? mean : s->queue_mean_max;
	if (c.tx_bytes != 0 && (s->tx_min == 0 || (double)c.tx_bytes < s->tx_min))
		s->tx_min = (double)c.tx_bytes;
	s->queue_max_len = c.queue_max_len > s->queue_max_len ? c.queue_max_len : s->queue_max_len;
	if ((double)c.tx_bytes < s->tx_max / 10 || c.tx_bytes == 0)
		return;
	s->tx_nb++;
	s->tx_sum += (double)c.tx_bytes;
}

static double busiest(struct sim *sim, const struct mrc_fabric_where *where)
{
	struct mrc_fabric_link_counters c;
	double most = 0;

	for (uint32_t l = mrc_fabric_link_next(sim->fabric, where, UINT32_MAX); l != UINT32_MAX;
		l = mrc_fabric_link_next(sim->fabric, where, l)) {
		mrc_fabric_link_counters_get(sim->fabric, sim->now_ns, l, &c);
		most = (double)c.tx_bytes > most ? (double)c.tx_bytes : most;
	}
	return most;
}

static json_t *links_json(struct sim *sim)
{
	static const char *const names[] = {"host_up", "host_down", "leaf_up", "leaf_down"};
	json_t *out = json_object();

	for (uint32_t cls = 0; cls < MRC_FABRIC_NB_CLASSES; cls++) {
		struct mrc_fabric_where where = mrc_fabric_everywhere();
		struct link_sums s = {0};

		where.classes = 1u << cls;
		s.tx_max = busiest(sim, &where);
		for (uint32_t l = mrc_fabric_link_next(sim->fabric, &where, UINT32_MAX);
			l != UINT32_MAX; l = mrc_fabric_link_next(sim->fabric, &where, l))
			link_add(sim, &s, l);
		json_object_set_new(out, names[cls],
			json_pack("{s:f,s:f,s:I,s:f,s:f,s:I,s:I}", "load_max_over_mean",
				s.tx_sum > 0 ? s.tx_max * s.tx_nb / s.tx_sum : 1.0,
				"load_min_over_mean",
				s.tx_sum > 0 ? s.tx_min * s.tx_nb / s.tx_sum : 1.0, "queue_max_len",
				(json_int_t)s.queue_max_len, "queue_mean_max_len", s.queue_mean_max,
				"queue_mean_len", s.nb > 0 ? s.queue_mean_sum / s.nb : 0.0, "marks",
				(json_int_t)s.marks, "trims", (json_int_t)s.trims));
	}
	return out;
}

static json_t *fabric_json(struct sim *sim)
{
	struct mrc_fabric_totals t;
	json_t *drops = json_object(), *out;

	mrc_fabric_totals_get(sim->fabric, &t);
	for (int d = 0; d < MRC_FABRIC_NB_DROPS; d++) {
		if (t.drops[d] != 0)
			json_object_set_new(drops, mrc_fabric_drop_name((enum mrc_fabric_drop)d),
				json_integer((json_int_t)t.drops[d]));
	}
	out = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "sent", (json_int_t)t.sent,
		"copies", (json_int_t)t.copies, "delivered", (json_int_t)t.delivered, "dropped",
		(json_int_t)t.dropped, "under_way", (json_int_t)(t.in_flight + t.unread), "trims",
		(json_int_t)t.trims, "marks", (json_int_t)t.marks, "hops", (json_int_t)t.hops,
		"drops", drops);
	json_object_set_new(out, "links", links_json(sim));
	return out;
}

/* Goodput of whole windows of `every` bins each. */
static json_t *bins_json(const struct sim *sim, uint32_t every)
{
	json_t *list = json_array();

	for (uint32_t i = every; i <= sim->nb_bins; i += every) {
		uint64_t from = i > every ? sim->bins[i - every - 1] : 0;

		json_array_append_new(list, json_real((double)(sim->bins[i - 1] - from) * 8 /
						      ((double)every * SIM_BIN_NS)));
	}
	return list;
}

static json_t *rounds_json(const struct sim *sim)
{
	double *us = sim_alloc((sim->nb_rounds + 1) * sizeof(*us));
	json_t *list = json_array(), *out = json_object();

	for (uint32_t i = 0; i < sim->nb_rounds; i++) {
		const struct sim_round *r = &sim->rounds[i];

		us[i] = (double)(r->end_ns - r->start_ns) / 1e3;
		if (i < 65536)
			json_array_append_new(list, json_pack("[f,f]", (double)r->start_ns / 1e3,
							    (double)r->end_ns / 1e3));
	}
	json_object_set_new(out, "us", sim_spread(us, sim->nb_rounds));
	json_object_set_new(out, "list", list);
	free(us);
	return out;
}

/* Goodput of the whole run and, in the steady mode, per connection after the warm-up. */
static json_t *goodput_json(const struct sim *sim)
{
	double *per = sim_alloc((sim->nb_conns + 1) * sizeof(*per));
	double bytes = 0, window_ns;
	uint32_t n = 0;
	json_t *out;

	for (uint32_t i = 0; i < sim->nb_hosts; i++)
		bytes += (double)host_rx_bytes(&sim->hosts[i]);
	window_ns = (double)sim->sc->load.duration_ns - (double)sim->sc->load.warmup_ns;
	for (uint32_t i = 0; i < sim->nb_conns && sim->sc->load.mode == SIM_STEADY; i++)
		per[n++] = (double)sim->conns[i].steady_bytes * 8 / window_ns;
	out = json_pack(
		"{s:f}", "total_gbps", sim->end_ns != 0 ? bytes * 8 / (double)sim->end_ns : 0.0);
	json_object_set_new(out, "bins_10ms_gbps", bins_json(sim, 1));
	json_object_set_new(out, "bins_200ms_gbps", bins_json(sim, 20));
	if (n != 0) {
		json_t *list = json_array();

		for (uint32_t i = 0; i < n; i++)
			json_array_append_new(list, json_real(per[i]));
		json_object_set_new(out, "steady_per_conn", list);
		json_object_set_new(out, "steady_gbps", sim_spread(per, n));
	}
	free(per);
	return out;
}

static json_t *verify_json(const struct sim *sim)
{
	uint64_t verified = 0, corrupt = 0, imms = 0;

	for (uint32_t i = 0; i < sim->nb_conns && sim->sc->transport == SIM_MRC; i++) {
		struct mrc_load_result r;

		if (sim->conns[i].rx == NULL)
			continue;
		mrc_load_result(sim->conns[i].rx, &r);
		verified += r.bytes_verified;
		corrupt += r.bytes_corrupt;
		imms += r.rx_imm;
	}
	return json_pack("{s:I,s:I,s:I,s:I}", "bytes_verified", (json_int_t)verified,
		"bytes_corrupt", (json_int_t)corrupt, "immediates", (json_int_t)imms,
		"invariant_checks", (json_int_t)sim->stats.checks);
}

/* Per second of CPU time: the machine may be doing other things. */
static json_t *speed_json(const struct sim *sim)
{
	double cpu_s = sim->cpu_s > 0 ? sim->cpu_s : 1e-9;
	struct mrc_fabric_totals t;

	mrc_fabric_totals_get(sim->fabric, &t);
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "wall_s", sim->wall_s, "cpu_s", cpu_s,
		"packet_hops_per_cpu_s", (double)t.hops / cpu_s, "ns_per_packet_hop",
		t.hops != 0 ? cpu_s * 1e9 / (double)t.hops : 0.0, "events_per_cpu_s",
		(double)(t.events + sim->stats.events) / cpu_s, "packets_per_cpu_s",
		(double)t.sent / cpu_s);
}

bool sim_result_value(const json_t *result, const char *path, double *value_out)
{
	char text[96], *save = NULL;

	snprintf(text, sizeof(text), "%s", path);
	for (char *part = strtok_r(text, ".", &save); part != NULL && result != NULL;
		part = strtok_r(NULL, ".", &save)) {
		if (json_is_array(result))
			result = json_array_get(result, strtoul(part, NULL, 10));
		else
			result = json_object_get(result, part);
	}
	if (json_is_boolean(result))
		*value_out = json_is_true(result);
	else if (json_is_number(result))
		*value_out = json_number_value(result);
	else
		return false;
	return true;
}

static json_t *expect_json(const struct sim *sim, const json_t *result, bool *met)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < sim->sc->nb_expect; i++) {
		const struct sim_expect *e = &sim->sc->expect[i];
		double v = 0;
		bool there = sim_result_value(result, e->value, &v);
		bool ok = there && (!e->has_min || v >= e->min) && (!e->has_max || v <= e->max);
		json_t *item = json_pack(
			"{s:s,s:s,s:b}", "value", e->value, "text", e->text, "ok", (int)ok);

		if (there)
			json_object_set_new(item, "measured", json_real(v));
		if (e->has_min)
			json_object_set_new(item, "min", json_real(e->min));
		if (e->has_max)
			json_object_set_new(item, "max", json_real(e->max));
		json_array_append_new(list, item);
		*met = *met && ok;
	}
	return list;
}

json_t *sim_result(struct sim *sim, bool ok)
{
	char hash[32];
	json_t *out, *expect;
	bool met = ok;

	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)sim->hash);
	out = json_pack("{s:s,s:s,s:s,s:b,s:s,s:s,s:f,s:f}", "name", sim->sc->name, "text",
		sim->sc->text, "transport", sim->sc->transport == SIM_RC ? "rc" : "mrc", "ok",
		(int)ok, "failure", sim->failure, "hash", hash, "simulated_us",
		(double)sim->end_ns / 1e3, "rtt_us", (double)scenario_rtt_ns(sim->sc) / 1e3);
	json_object_set_new(out, "seed", json_integer((json_int_t)sim->sc->seed));
	json_object_set_new(out, "begun", json_boolean(sim->begun));
	if (!sim->begun)
		return out;
	json_object_set_new(out, "flows", flows_json(sim));
	json_object_set_new(out, "goodput", goodput_json(sim));
	if (sim->sc->transport == SIM_MRC) {
		json_object_set_new(out, "engine", engine_json(sim));
		json_object_set_new(out, "lost_per_qp", loss_json(sim));
		if (sim->repair != NULL)
			json_object_set_new(out, "repair", sim_repair_result(sim));
		if (sim->waits != NULL)
			json_object_set_new(out, "waits", sim_waits_result(sim));
	} else {
		json_object_set_new(out, "rc", rc_result(sim));
	}
	json_object_set_new(out, "fabric", fabric_json(sim));
	json_object_set_new(out, "handover",
		json_pack("{s:I,s:I,s:I,s:I}", "packets", (json_int_t)sim->stats.handovers,
			"waited", (json_int_t)sim->stats.handover_waited, "dropped",
			(json_int_t)sim->stats.handover_drops, "waiting_most",
			(json_int_t)sim->stats.handover_most));
	if (sim->churn != NULL)
		json_object_set_new(out, "churn", sim_churn_json(sim));
	if (sim->storm != NULL)
		json_object_set_new(out, "storm", sim_storm_json(sim));
	if (sim->rounds != NULL)
		json_object_set_new(out, "rounds", rounds_json(sim));
	json_object_set_new(out, "memory",
		json_pack("{s:I,s:I,s:I,s:I}", "resident_early", (json_int_t)sim->memory_early,
			"resident_late", (json_int_t)sim->memory_late, "packets_most",
			(json_int_t)sim->pool.max_used, "packets_all", (json_int_t)sim->pool.nb));
	json_object_set_new(out, "verify", verify_json(sim));
	json_object_set_new(out, "series", series_json(sim));
	json_object_set_new(out, "speed", speed_json(sim));
	expect = expect_json(sim, out, &met);
	json_object_set_new(out, "expect", expect);
	json_object_set_new(out, "met", json_boolean(met));
	return out;
}
