/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rc.c - the baseline for comparisons: a reliable connection as NICs have spoken it for twenty
 * years. One path per QP (its UDP source port never changes), in order, go-back-N: the responder
 * answers a gap with one NAK and drops what follows; a lost retransmission waits for the timer.
 * Optionally the window follows ECN marks. Frames are BTH only, payload is virtual.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum {
	OP_WRITE = 0x0A,
	OP_ACK = 0x11,
	FLAG_NAK = 1, /* byte 4 of the BTH, which the protocol leaves to us */
	FLAG_ECHO = 2,
	ACKS = 16384, /* waiting at a host: windows of hundreds of QPs; a power of two */
};

struct rc_qp {
	uint64_t end;       /* packets handed in */
	uint64_t next, una; /* packet numbers; they do not wrap here, only on the wire */
	uint64_t rto_ns;
	double cwnd, alpha;
	uint64_t window_end; /* ECN: the round ends when this is acknowledged */
	uint32_t acked, marked;
	uint32_t plane;
	/* responder */
	uint64_t expected;
	uint32_t since_ack;
	bool nak_sent;
};

struct rc_job {
	uint32_t flow;
	uint64_t upto[MRC_LOAD_MAX_QPS / 16]; /* packet number that ends it, per QP */
};

struct rc_conn {
	struct rc_qp *qps;
	struct mrc_template tmpl[2]; /* data, answers */
	struct rc_job *jobs;
	uint32_t nb_jobs, cap_jobs, done_jobs, arrived_jobs;
	uint32_t turn;
	uint64_t rx_packets;
};

struct rc_ack {
	uint32_t id;
	uint32_t psn;
	uint8_t flags;
};

struct rc_host {
	struct rc_ack acks[ACKS];
	uint32_t head, tail;
	uint64_t rx_bytes;
	uint32_t turn;
};

struct rc {
	struct rc_conn *conns;
	struct rc_host *hosts;
	uint32_t nb_qps;
	double max_cwnd;
	uint64_t tx_packets, retransmits, timeouts, naks;
};

static uint32_t hdr_len(const struct rc_conn *c)
{
	return c->tmpl[0].len + MRC_BTH_LEN;
}

static void templates(struct sim *sim, const struct sim_conn *conn, struct rc_conn *c)
{
	for (int back = 0; back < 2; back++) {
		struct mrc_flow flow = {.dmac = {2}, .smac = {2}, .ttl = 64};

		flow.src = sim_gid(sim, back ? conn->dst : conn->src);
		flow.dst = sim_gid(sim, back ? conn->src : conn->dst);
		if (mrc_template_init(&c->tmpl[back], &sim->sc->proto, &flow) != MRC_OK)
			sim_fail(sim, "rc: no template");
	}
}

void rc_create(struct sim *sim)
{
	struct rc *rc = sim_alloc(sizeof(*rc));
	double window = sim->sc->rc.window_len;

	if (window == 0)
		window = 1.5 * (double)sim->sc->fabric.rate_bps / 8e9 *
			 (double)scenario_rtt_ns(sim->sc);
	sim->rc = rc;
	rc->nb_qps = sim->sc->load.qps;
	rc->max_cwnd = window / scenario_packet_len(sim->sc);
	if (rc->nb_qps > MRC_LOAD_MAX_QPS / 16) {
		sim_fail(sim, "load.qps: rc takes at most %d", MRC_LOAD_MAX_QPS / 16);
		return;
	}
	rc->max_cwnd = rc->max_cwnd < 2 ? 2 : rc->max_cwnd;
	rc->hosts = sim_alloc(sim->nb_hosts * sizeof(*rc->hosts));
	rc->conns = sim_alloc(sim->nb_conns * sizeof(*rc->conns));
	for (uint32_t i = 0; i < sim->nb_conns; i++) {
		struct rc_conn *c = &rc->conns[i];

		templates(sim, &sim->conns[i], c);
		c->qps = sim_alloc(rc->nb_qps * sizeof(*c->qps));
		for (uint32_t q = 0; q < rc->nb_qps; q++) {
			c->qps[q].cwnd = rc->max_cwnd;
			c->qps[q].rto_ns = SIM_NEVER;
			c->qps[q].plane = (i + q) % sim->sc->fabric.planes;
		}
	}
	for (uint32_t h = 0; h < sim->nb_hosts; h++)
		sim_mark(sim, &sim->hosts[h]);
}

void rc_destroy(struct sim *sim)
{
	for (uint32_t i = 0; sim->rc->conns != NULL && i < sim->nb_conns; i++) {
		free(sim->rc->conns[i].qps);
		free(sim->rc->conns[i].jobs);
	}
	free(sim->rc->conns);
	free(sim->rc->hosts);
	free(sim->rc);
}

/* A flow is split evenly over the QPs, in whole packets. */
void rc_flow_begin(struct sim *sim, uint32_t flow)
{
	struct rc_conn *c = &sim->rc->conns[sim->flows[flow].conn];
	uint64_t left = (sim->flows[flow].f.bytes + sim->sc->host.pmtu - 1) / sim->sc->host.pmtu;
	struct rc_job *job;

	if (c->nb_jobs == c->cap_jobs) {
		c->cap_jobs = c->cap_jobs != 0 ? 2 * c->cap_jobs : 4;
		c->jobs = sim_realloc(c->jobs, c->cap_jobs * sizeof(*c->jobs));
	}
	job = &c->jobs[c->nb_jobs++];
	job->flow = flow;
	for (uint32_t q = 0; q < sim->rc->nb_qps; q++) {
		uint64_t n = left / (sim->rc->nb_qps - q);

		c->qps[q].end += n;
		left -= n;
		job->upto[q] = c->qps[q].end;
	}
}

/* ---- frames */

static void emit(struct sim_host *h, uint32_t id, uint32_t opcode, uint32_t psn, uint32_t flags,
	uint32_t payload_len)
{
	struct sim *sim = h->sim;
	struct rc *rc = sim->rc;
	struct rc_conn *c = &rc->conns[id / rc->nb_qps];
	struct rc_qp *qp = &c->qps[id % rc->nb_qps];
	struct sim_block *b = sim_block_get(&sim->pool);
	bool ack = opcode == OP_ACK;
	struct mrc_template_vary vary = {.ev = 0xC000 + id * 7919 % 0x3FFF,
		.cls = ack ? MRC_CLASS_CONTROL : MRC_CLASS_NO_TRIM,
		.ecn = ack ? MRC_ECN_NOT_ECT : MRC_ECN_ECT0,
		.body_len = (uint16_t)(MRC_BTH_LEN + payload_len + MRC_ICRC_LEN)};
	struct mrc_fabric_pkt pkt = {0};
	uint8_t *p;

	if (b == NULL) {
		sim_fail(sim, "out of packet buffers, raise \"packets\" of the fabric");
		return;
	}
	p = b->bytes + mrc_template_put(&c->tmpl[ack], &sim->sc->proto, &vary, b->bytes);
	memset(p, 0, MRC_BTH_LEN);
	p[0] = (uint8_t)opcode;
	p[4] = (uint8_t)flags;
	p[5] = (uint8_t)(id >> 16);
	p[6] = (uint8_t)(id >> 8);
	p[7] = (uint8_t)id;
	p[9] = (uint8_t)(psn >> 16);
	p[10] = (uint8_t)(psn >> 8);
	p[11] = (uint8_t)psn;
	pkt = (struct mrc_fabric_pkt){.data = b->bytes, .ref = b, .len = hdr_len(c)};
	pkt.wire_len = pkt.len + payload_len + MRC_ICRC_LEN;
	sim_hash(sim, (uint64_t)id << 32 | opcode << 24 | psn);
	mrc_fabric_send(sim->fabric, sim->now_ns, h->index, qp->plane, &pkt);
	h->port_free_ns[qp->plane] =
		mrc_fabric_port_free_ns(sim->fabric, sim->now_ns, h->index, qp->plane);
}

/* ---- receive */

static void answer(struct sim_host *h, uint32_t id, uint64_t psn, uint32_t flags)
{
	struct rc_host *rh = &h->sim->rc->hosts[h->index];

	if (rh->tail - rh->head == ACKS)
		return;
	rh->acks[rh->tail++ % ACKS] =
		(struct rc_ack){id, (uint32_t)psn & MRC_PSN_MASK, (uint8_t)flags};
}

static void check_arrivals(struct sim *sim, struct rc_conn *c)
{
	while (c->arrived_jobs < c->nb_jobs) {
		struct rc_job *job = &c->jobs[c->arrived_jobs];

		for (uint32_t q = 0; q < sim->rc->nb_qps; q++) {
			if (c->qps[q].expected < job->upto[q])
				return;
		}
		c->arrived_jobs++;
		sim_flow_arrived(sim, job->flow);
	}
}

static void rx_data(struct sim_host *h, uint32_t id, uint32_t psn, bool marked, uint32_t len)
{
	struct sim *sim = h->sim;
	struct rc_conn *c = &sim->rc->conns[id / sim->rc->nb_qps];
	struct rc_qp *qp = &c->qps[id % sim->rc->nb_qps];
	int32_t ahead = mrc_psn_diff(mrc_psn(psn), mrc_psn((uint32_t)qp->expected & MRC_PSN_MASK));
	uint32_t echo = marked ? FLAG_ECHO : 0;

	if (ahead > 0) {
		if (!qp->nak_sent)
			answer(h, id, qp->expected, FLAG_NAK | echo);
		qp->nak_sent = true;
		return;
	}
	if (ahead < 0) {
		answer(h, id, qp->expected, echo);
		return;
	}
	qp->expected++;
	qp->nak_sent = false;
	sim->rc->hosts[h->index].rx_bytes += len;
	if (++qp->since_ack >= sim->sc->rc.ack_every || marked || qp->expected == qp->end) {
		qp->since_ack = 0;
		answer(h, id, qp->expected, echo);
	}
	check_arrivals(sim, c);
}

static void window_grows(struct rc *rc, struct rc_qp *qp, uint64_t newly, bool echo, bool ecn)
{
	qp->acked += (uint32_t)newly;
	qp->marked += echo ? (uint32_t)(newly != 0 ? newly : 1) : 0;
	if (!ecn || qp->una < qp->window_end)
		return;
	/* Once per round: the share of marks, smoothed, halves the window when it is 1. */
	qp->alpha =
		0.9375 * qp->alpha + 0.0625 * (qp->acked != 0 ? (double)qp->marked / qp->acked : 0);
	qp->cwnd = qp->marked != 0 ? qp->cwnd * (1 - qp->alpha / 2) : qp->cwnd + 1;
	qp->cwnd = qp->cwnd < 1 ? 1 : qp->cwnd > rc->max_cwnd ? rc->max_cwnd : qp->cwnd;
	qp->acked = qp->marked = 0;
	qp->window_end = qp->next;
}

static void check_done(struct sim *sim, struct rc_conn *c)
{
	while (c->done_jobs < c->nb_jobs) {
		struct rc_job *job = &c->jobs[c->done_jobs];

		for (uint32_t q = 0; q < sim->rc->nb_qps; q++) {
			if (c->qps[q].una < job->upto[q])
				return;
		}
		c->done_jobs++;
		sim_flow_ended(sim, job->flow, sim->now_ns, false);
	}
}

static void rx_ack(struct sim_host *h, uint32_t id, uint32_t psn, uint32_t flags)
{
	struct sim *sim = h->sim;
	struct rc_conn *c = &sim->rc->conns[id / sim->rc->nb_qps];
	struct rc_qp *qp = &c->qps[id % sim->rc->nb_qps];
	int32_t newly = mrc_psn_diff(mrc_psn(psn), mrc_psn((uint32_t)qp->una & MRC_PSN_MASK));

	if (newly < 0 || qp->una + (uint32_t)newly > qp->end)
		return;
	qp->una += (uint32_t)newly;
	if (qp->next < qp->una)
		qp->next = qp->una;
	window_grows(sim->rc, qp, (uint32_t)newly, (flags & FLAG_ECHO) != 0, sim->sc->rc.ecn);
	if (newly > 0 || (flags & FLAG_NAK))
		qp->rto_ns = qp->una < qp->end ? sim->now_ns + sim->sc->rc.timeout_ns : SIM_NEVER;
	if (flags & FLAG_NAK) {
		sim->rc->naks++;
		sim->rc->retransmits += qp->next - qp->una;
		qp->next = qp->una;
	}
	check_done(sim, c);
}

void rc_rx(struct sim_host *h, uint32_t plane, const struct mrc_fabric_pkt *pkt)
{
	struct sim *sim = h->sim;
	const uint8_t *ip = pkt->data + MRC_ETH_LEN;
	bool v6 = ip[0] >> 4 == 6;
	bool marked = ((v6 ? ip[1] >> 4 : ip[1]) & 3) == MRC_ECN_CE;
	uint32_t off = MRC_ETH_LEN + (v6 ? (uint32_t)MRC_IPV6_LEN : MRC_IPV4_LEN) + MRC_UDP_LEN;
	const uint8_t *p = pkt->data + off;
	uint32_t id, psn;

	if (pkt->len >= off + MRC_BTH_LEN && !(pkt->flags & MRC_FABRIC_PKT_CORRUPT)) {
		id = (uint32_t)p[5] << 16 | (uint32_t)p[6] << 8 | p[7];
		psn = (uint32_t)p[9] << 16 | (uint32_t)p[10] << 8 | p[11];
		sim_hash(sim, (uint64_t)psn << 32 | id << 1 | marked);
		if (id < sim->nb_conns * sim->rc->nb_qps && p[0] == OP_WRITE)
			rx_data(h, id, psn, marked,
				pkt->wire_len - off - MRC_BTH_LEN - MRC_ICRC_LEN);
		else if (id < sim->nb_conns * sim->rc->nb_qps && p[0] == OP_ACK)
			rx_ack(h, id, psn, p[4]);
	}
	sim_block_put(&sim->pool, pkt->ref);
}

/* ---- send */

static bool port_ready(const struct sim_host *h, uint32_t plane, uint64_t *wake_ns)
{
	if (h->port_free_ns[plane] <= h->sim->now_ns)
		return true;
	if (h->port_free_ns[plane] < *wake_ns)
		*wake_ns = h->port_free_ns[plane];
	return false;
}

static bool send_ack(struct sim_host *h, uint64_t *wake_ns)
{
	struct rc *rc = h->sim->rc;
	struct rc_host *rh = &rc->hosts[h->index];
	const struct rc_ack *a = &rh->acks[rh->head % ACKS];

	if (rh->head == rh->tail ||
		!port_ready(
			h, rc->conns[a->id / rc->nb_qps].qps[a->id % rc->nb_qps].plane, wake_ns))
		return false;
	emit(h, a->id, OP_ACK, a->psn, a->flags, 0);
	rh->head++;
	return true;
}

static bool send_data(struct sim_host *h, uint32_t conn, uint64_t *wake_ns)
{
	struct sim *sim = h->sim;
	struct rc *rc = sim->rc;
	struct rc_conn *c = &rc->conns[conn];

	for (uint32_t i = 0; i < rc->nb_qps; i++) {
		uint32_t q = (c->turn + i) % rc->nb_qps;
		struct rc_qp *qp = &c->qps[q];

		if (qp->next == qp->end || (double)(qp->next - qp->una) >= qp->cwnd ||
			!port_ready(h, qp->plane, wake_ns))
			continue;
		if (qp->rto_ns == SIM_NEVER)
			qp->rto_ns = sim->now_ns + sim->sc->rc.timeout_ns;
		emit(h, conn * rc->nb_qps + q, OP_WRITE, (uint32_t)qp->next & MRC_PSN_MASK, 0,
			sim->sc->host.pmtu);
		qp->next++;
		rc->tx_packets++;
		c->turn = q + 1;
		return true;
	}
	return false;
}

static void timeouts(struct sim_host *h, uint64_t *wake_ns)
{
	struct sim *sim = h->sim;

	for (uint32_t c = h->conns[0]; c != UINT32_MAX; c = sim->conns[c].next_of[0]) {
		for (uint32_t q = 0; q < sim->rc->nb_qps; q++) {
			struct rc_qp *qp = &sim->rc->conns[c].qps[q];

			if (qp->rto_ns <= sim->now_ns) {
				sim->rc->timeouts++;
				sim->rc->retransmits += qp->next - qp->una;
				qp->next = qp->una;
				qp->rto_ns = sim->now_ns + sim->sc->rc.timeout_ns;
			}
			*wake_ns = qp->rto_ns < *wake_ns ? qp->rto_ns : *wake_ns;
		}
	}
}

uint64_t rc_act(struct sim_host *h)
{
	struct sim *sim = h->sim;
	uint64_t wake_ns = SIM_NEVER;
	bool sent;

	timeouts(h, &wake_ns);
	do {
		sent = false;
		while (send_ack(h, &wake_ns))
			;
		for (uint32_t c = h->conns[0]; c != UINT32_MAX; c = sim->conns[c].next_of[0])
			sent |= send_data(h, c, &wake_ns);
	} while (sent);
	return wake_ns;
}

json_t *rc_result(const struct sim *sim)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "tx_packets", (json_int_t)sim->rc->tx_packets,
		"retransmits", (json_int_t)sim->rc->retransmits, "timeouts",
		(json_int_t)sim->rc->timeouts, "naks", (json_int_t)sim->rc->naks);
}

uint64_t rc_rx_bytes(const struct sim_host *h)
{
	return h->sim->rc->hosts[h->index].rx_bytes;
}
