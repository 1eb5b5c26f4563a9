/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair_wire.c - the bad wire: faults, delays, and what an observer of the wire may demand of the
 * sender (PSNs in turn, rtx bit, window).
 */
#include <stdlib.h>
#include <string.h>

#include "pair_priv.h"

static struct pair_pkt *pkt_new(uint8_t side, uint32_t plane, const uint8_t *frame, uint32_t len)
{
	struct pair_pkt *pkt = malloc(sizeof(*pkt));

	pkt->data = malloc(len ? len : 1);
	memcpy(pkt->data, frame, len);
	pkt->len = len;
	pkt->plane = (uint8_t)plane;
	pkt->side = side;
	pkt->next = NULL;
	return pkt;
}

void pair_pkt_free(struct pair_pkt *pkt)
{
	free(pkt->data);
	free(pkt);
}

static uint32_t kind_bit(uint8_t opcode)
{
	switch (opcode) {
	case MRC_OP_ACK:
		return 3;
	case MRC_OP_SACK:
		return 1;
	case MRC_OP_NACK:
		return 2;
	case MRC_OP_PROBE:
		return 4;
	case MRC_OP_EP_REQ:
	case MRC_OP_EP_RSP:
		return 5;
	}
	return 0;
}

/* Offset of the outermost IP header. */
static uint32_t ip_offset(const uint8_t *frame)
{
	return frame[12] == 0x81 && frame[13] == 0x00 ? 18 : 14;
}

/* Sets traffic class / TOS and mends the IPv4 checksum, as a switch does. */
static void ip_set_tos(uint8_t *frame, uint8_t tos)
{
	uint8_t *ip = frame + ip_offset(frame);
	uint32_t sum = 0;

	if (ip[0] >> 4 == 6) {
		ip[0] = (uint8_t)(0x60 | tos >> 4);
		ip[1] = (uint8_t)((ip[1] & 0x0f) | tos << 4);
		return;
	}
	ip[1] = tos;
	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

static uint8_t ip_tos(const uint8_t *frame)
{
	const uint8_t *ip = frame + ip_offset(frame);

	return ip[0] >> 4 == 6 ? (uint8_t)(ip[0] << 4 | ip[1] >> 4) : ip[1];
}

static bool matches_packet(const struct pair_fault *f, int from, const struct mrc_pkt *view)
{
	const uint32_t kind = 1u << kind_bit(view->opcode);

	if (f->dir != PAIR_BOTH && f->dir != (from == PAIR_A ? PAIR_A2B : PAIR_B2A))
		return false;
	if (f->kinds != 0 && (f->kinds & kind) == 0)
		return false;
	if (f->rtx == PAIR_RTX_FIRST && (view->flags & MRC_PKT_RTX))
		return false;
	if (f->rtx == PAIR_RTX_AGAIN && !(view->flags & MRC_PKT_RTX))
		return false;
	if (f->last_only && (mrc_opcode_table[view->opcode].flags & MRC_OPF_LAST) == 0)
		return false;
	if (f->has_ev && view->ev != f->ev)
		return false;
	if (f->has_psn) {
		int32_t d = mrc_psn_diff(view->psn, mrc_psn(f->psn));

		if (kind != PAIR_DATA || d < 0 || d >= (int32_t)(f->nb_psn ? f->nb_psn : 1))
			return false;
	}
	return true;
}

static bool fires(struct pair *p, struct pair_fault *f)
{
	if (f->burst_left != 0 && (f->burst_ns == 0 || p->now < f->burst_end)) {
		f->burst_left--;
		return true;
	}
	f->seen++;
	if (f->seen <= f->skip || (f->count != 0 && f->fired >= f->count))
		return false;
	if (f->every > 1 && (f->seen - f->skip) % f->every != 0)
		return false;
	if (f->ppm != 0 && test_random_below(&p->te, 1000000) >= f->ppm)
		return false;
	f->fired++;
	if (f->burst > 1)
		f->burst_left = f->burst - 1;
	f->burst_end = p->now + f->burst_ns;
	return true;
}

static uint64_t late(struct pair *p, const struct pair_fault *f)
{
	return f->delay_ns +
	       (f->jitter_ns ? test_random_below(&p->te, (uint32_t)f->jitter_ns + 1) : 0);
}

static void deliver(struct pair *p, struct pair_pkt *pkt, uint64_t extra_ns)
{
	uint64_t t = p->now + p->cfg.delay_ns + p->cfg.skew_ns * pkt->plane + extra_ns;

	if (p->cfg.jitter_ns != 0)
		t += test_random_below(&p->te, (uint32_t)p->cfg.jitter_ns + 1);
	pair_push(p, &(struct pair_event){.time = t, .kind = PAIR_EVENT_ARRIVE, .obj = pkt});
}

static void flip(struct pair *p, const struct pair_fault *f, struct pair_pkt *pkt)
{
	uint32_t at = f->arg, bit = f->bit;

	if (at >= pkt->len) {
		at = test_random_below(&p->te, pkt->len);
		bit = test_random_below(&p->te, 8);
	}
	pkt->data[at] ^= (uint8_t)(1u << (bit & 7));
}

static void resize(struct pair_pkt *pkt, uint32_t len)
{
	uint8_t *data = calloc(1, len ? len : 1);

	memcpy(data, pkt->data, len < pkt->len ? len : pkt->len);
	free(pkt->data);
	pkt->data = data;
	pkt->len = len;
}

static void trim(struct pair *p, const struct pair_fault *f, struct pair_pkt *pkt)
{
	uint32_t ip = ip_offset(pkt->data);
	uint32_t udp = ip + (pkt->data[ip] >> 4 == 6 ? 40 : 20);
	uint8_t cls = f->cls ? f->cls : (uint8_t)MRC_CLASS_TRIMMED;

	if (udp + f->arg < pkt->len)
		resize(pkt, udp + f->arg);
	ip_set_tos(pkt->data, (uint8_t)(p->proto.dscp[cls] << 2 | (ip_tos(pkt->data) & 3)));
}

/* Applies the rules; false: the packet is gone. */
static bool apply_faults(struct pair *p, int from, const struct mrc_pkt *view, struct pair_pkt *pkt,
	uint64_t *extra_ns_out)
{
	for (uint32_t i = 0; i < p->nb_faults; i++) {
		struct pair_fault *f = &p->faults[i];

		if ((f->planes != 0 && (f->planes & 1u << pkt->plane) == 0) ||
			pkt->len < f->min_len || p->now < f->from_ns ||
			(f->to_ns != 0 && p->now >= f->to_ns) || !matches_packet(f, from, view) ||
			!fires(p, f))
			continue;
		switch (f->act) {
		case PAIR_DROP:
			p->wire_dropped[from]++;
			return false;
		case PAIR_DUP:
			for (uint32_t k = 0; k < (f->arg ? f->arg : 1); k++)
				deliver(p, pkt_new(pkt->side, pkt->plane, pkt->data, pkt->len),
					late(p, f));
			break;
		case PAIR_DELAY:
			*extra_ns_out += late(p, f);
			break;
		case PAIR_FLIP:
			flip(p, f, pkt);
			break;
		case PAIR_CUT:
			resize(pkt, f->arg && f->arg < pkt->len
					    ? f->arg
					    : test_random_below(&p->te, pkt->len));
			break;
		case PAIR_PAD:
			resize(pkt, pkt->len + f->arg);
			break;
		case PAIR_TRIM:
			trim(p, f, pkt);
			break;
		case PAIR_MARK:
			ip_set_tos(pkt->data, (uint8_t)(ip_tos(pkt->data) | MRC_ECN_CE));
			break;
		}
	}
	return true;
}

static struct pair_qp *requester_of(struct pair *p, int side, uint32_t dqpn)
{
	for (uint32_t i = 0; i < p->cfg.nb_qps; i++)
		if (p->q[side][i].attr.dest_qpn == dqpn)
			return &p->q[side][i];
	return NULL;
}

/* A requester's data packet, as it leaves. */
static void watch_data(struct pair *p, int from, const struct mrc_pkt *view)
{
	struct pair_qp *q = requester_of(p, from, view->dqpn);
	int32_t ahead;

	if (q == NULL) {
		pair_fail(p, "data for QPN %#x, which is nobody's peer", view->dqpn);
		return;
	}
	ahead = mrc_psn_diff(view->psn, mrc_psn(q->wire_cack));
	if (ahead > (int32_t)q->wire_mpr)
		pair_fail(p, "PSN %#x is %d ahead of cack %#x: window is %u", view->psn.v, ahead,
			q->wire_cack, q->wire_mpr);
	if (view->psn.v == q->wire_next) {
		if (view->flags & MRC_PKT_RTX)
			pair_fail(p, "PSN %#x has rtx set the first time", view->psn.v);
		q->wire_next = mrc_psn_add(view->psn, 1).v;
		q->wire_first++;
		return;
	}
	if (mrc_psn_diff(view->psn, mrc_psn(q->wire_next)) > 0)
		pair_fail(p, "PSN %#x sent before %#x", view->psn.v, q->wire_next);
	if ((view->flags & MRC_PKT_RTX) == 0)
		pair_fail(p, "PSN %#x sent again without rtx", view->psn.v);
	q->wire_again++;
}

void pair_wire_arrived(struct pair *p, const struct pair_pkt *pkt)
{
	struct mrc_pkt view;
	mrc_psn_t cack;

	if (mrc_pkt_decode(&p->proto, pkt->data, pkt->len, &view) != MRC_KEEP ||
		(view.flags & MRC_PKT_TRIMMED) || !mrc_pkt_icrc_ok(&view, pkt->data))
		return;
	if (view.opcode != MRC_OP_SACK && view.opcode != MRC_OP_ACK)
		return;
	cack = view.opcode == MRC_OP_SACK ? view.sack.cack : view.psn;
	for (uint32_t i = 0; i < p->cfg.nb_qps; i++) {
		struct pair_qp *q = &p->q[pkt->side][i];

		if (mrc_sched_qp_num(q->qp) != view.dqpn)
			continue;
		if (mrc_psn_diff(cack, mrc_psn(q->wire_cack)) > 0 &&
			mrc_psn_diff(cack, mrc_psn(q->wire_next)) < 0)
			q->wire_cack = cack.v;
		if (view.opcode == MRC_OP_SACK && view.sack.mpr != 0 && p->cfg.dynamic_mpr &&
			((view.sack.rcvd_units - q->wire_units) & 0xFFFFFF) <= 0x7FFFFF) {
			q->wire_mpr = 128u * view.sack.mpr;
			q->wire_units = view.sack.rcvd_units;
		}
	}
}

static void record(struct pair *p, const struct pair_pkt *pkt)
{
	uint32_t at = p->nb_recorded[pkt->side]++ % PAIR_RECORDED;

	if (p->recorded[pkt->side][at] != NULL)
		pair_pkt_free(p->recorded[pkt->side][at]);
	p->recorded[pkt->side][at] = pkt_new(pkt->side, pkt->plane, pkt->data, pkt->len);
}

void pair_wire_send(
	struct pair *p, struct pair_host *from, uint32_t plane, const uint8_t *frame, uint32_t len)
{
	struct mrc_pkt view;
	struct pair_pkt *pkt;
	uint64_t extra_ns = 0;
	enum mrc_drop drop = mrc_pkt_decode(&p->proto, frame, len, &view);
	int side = from->side;

	p->wire_packets[side]++;
	pair_mix(p, len);
	for (uint32_t i = 0; i < len && i < 96; i++)
		pair_mix(p, frame[i]);
	if (drop != MRC_KEEP) {
		pair_fail(p, "side %c emitted a packet that is dropped as %s", 'A' + side,
			mrc_drop_name(drop));
		return;
	}
	if (!mrc_pkt_icrc_ok(&view, frame))
		pair_fail(p, "side %c emitted a packet with a wrong ICRC", 'A' + side);
	/* spec */
	if (frame[view.bth_off - 2] != 0 || frame[view.bth_off - 1] != 0)
		pair_fail(p, "UDP checksum is not 0");
	if ((mrc_opcode_table[view.opcode].flags & MRC_OPF_WRITE) && (view.flags & MRC_PKT_TS) &&
		view.write.timestamp !=
			(uint16_t)((pair_host_now(from) + p->cfg.restamp_ns) / MRC_TS_TICK_NS))
		pair_fail(p, "time stamp is not that of the pull");
	p->wire_kind[side][kind_bit(view.opcode)]++;
	if (mrc_opcode_table[view.opcode].flags & MRC_OPF_WRITE)
		watch_data(p, side, &view);
	if (p->tap != NULL && !p->tap(p, side, &view, frame, len)) {
		p->wire_dropped[side]++;
		return;
	}
	pkt = pkt_new((uint8_t)!side, plane, frame, len);
	if (p->path_ns != NULL)
		extra_ns = p->path_ns(p, side, &view, plane);
	if (p->record)
		record(p, pkt);
	if (!apply_faults(p, side, &view, pkt, &extra_ns)) {
		pair_pkt_free(pkt);
		return;
	}
	deliver(p, pkt, extra_ns);
}

struct pair_fault *pair_fault_add(struct pair *p, const struct pair_fault *fault)
{
	PAIR_ASSERT(p, p->nb_faults < PAIR_MAX_FAULTS);
	p->faults[p->nb_faults] = *fault;
	return &p->faults[p->nb_faults++];
}

void pair_faults_clear(struct pair *p)
{
	p->nb_faults = 0;
}

void pair_inject(
	struct pair *p, int to, uint32_t plane, const uint8_t *frame, uint32_t len, uint64_t in_ns)
{
	pair_push(p, &(struct pair_event){.time = p->now + in_ns,
			     .kind = PAIR_EVENT_ARRIVE,
			     .obj = pkt_new((uint8_t)to, plane, frame, len)});
}

void pair_wire_saw(struct pair *p, int to, const uint8_t *frame, uint32_t len)
{
	struct pair_pkt *pkt = pkt_new((uint8_t)to, 0, frame, len);

	pair_wire_arrived(p, pkt);
	pair_pkt_free(pkt);
}

struct mrc_rx_verdict pair_rx_now(
	struct pair *p, int to, uint32_t i, const uint8_t *frame, uint32_t len)
{
	struct pair_host *h = p->q[to][i].host;
	struct pair_pkt *pkt = pkt_new((uint8_t)to, 0, frame, len);
	struct mrc_rxbuf buf = {pkt->data, pkt->len, 0};
	struct mrc_rx_verdict v = {0xff, 0xff};

	pair_wire_arrived(p, pkt);
	mrc_sched_rx(h->sched, pair_host_now(h), &buf, 1, &v);
	if (v.kind == MRC_RX_DROP && v.arg < MRC_NB_DROPS)
		h->drops[v.arg]++;
	h->rx_packets++;
	pair_pkt_free(pkt);
	pair_kick(h);
	return v;
}

void pair_pkt_init(struct pair *p, int to, uint32_t i, uint8_t opcode, struct mrc_pkt *pkt_out)
{
	struct pair_qp *q = &p->q[to][i];
	const uint8_t smac[6] = {2, 0, 0, 0, (uint8_t)!to, 0};
	const uint8_t dmac[6] = {2, 0, 0, 0, (uint8_t)to, 0};
	bool data = mrc_opcode_table[opcode].flags & MRC_OPF_WRITE;

	memset(pkt_out, 0, sizeof(*pkt_out));
	pkt_out->opcode = opcode;
	pkt_out->cls = (uint8_t)(data ? MRC_CLASS_NO_TRIM : MRC_CLASS_CONTROL);
	pkt_out->dscp = p->proto.dscp[pkt_out->cls];
	pkt_out->ecn = (uint8_t)(data ? MRC_ECN_ECT0 : MRC_ECN_NOT_ECT);
	pkt_out->ttl = 64;
	pkt_out->pkey = p->proto.pkey;
	pkt_out->ev = mrc_ev_get(q->peer->host->set, 0)->value;
	pkt_out->dqpn = mrc_sched_qp_num(q->qp);
	pkt_out->src = q->attr.peer;
	pkt_out->dst = q->attr.local;
	if (p->cfg.v6)
		pkt_out->flags |= MRC_PKT_V6;
	if (p->cfg.vlan) {
		pkt_out->flags |= MRC_PKT_VLAN;
		pkt_out->vlan_tci = 5;
	}
	memcpy(pkt_out->smac, smac, 6);
	memcpy(pkt_out->dmac, dmac, 6);
}

void pair_pkt_write(struct pair *p, int to, uint32_t i, uint8_t opcode, uint32_t psn, uint32_t off,
	uint32_t len, struct mrc_pkt *pkt_out)
{
	struct pair_qp *q = &p->q[to][i];

	pair_pkt_init(p, to, i, opcode, pkt_out);
	pkt_out->psn = mrc_psn(psn);
	pkt_out->payload_len = (uint16_t)len;
	pkt_out->pad = (uint8_t)(-len & 3);
	pkt_out->write.va = q->dst.mr.iova + off;
	pkt_out->write.rkey = q->dst.mr.key;
	pkt_out->write.dma_len = len;
}

uint8_t *pair_encode(struct pair *p, const struct mrc_pkt *pkt, uint8_t fill, uint32_t *len_out)
{
	uint8_t room[MRC_HDR_ROOM + 65536 + MRC_TRAILER_MAX];
	int hdr_len = mrc_pkt_encode(&p->proto, pkt, room, MRC_HDR_ROOM);
	uint32_t ip = pkt->flags & MRC_PKT_VLAN ? 18 : 14;
	uint8_t *frame;

	PAIR_ASSERT(p, hdr_len > 0);
	/* The ICRC covers the inner packet. */
	ip += pkt->flags & MRC_PKT_SRV6 ? 40 : 0;
	ip += pkt->flags & MRC_PKT_SRH ? 24 : 0;
	memset(room + hdr_len, fill, pkt->payload_len);
	*len_out = mrc_pkt_finish(room, ip, (uint32_t)hdr_len, pkt->payload_len);
	frame = malloc(*len_out);
	memcpy(frame, room, *len_out);
	return frame;
}

struct mrc_rx_verdict pair_rx_pkt(struct pair *p, int to, uint32_t i, const struct mrc_pkt *pkt)
{
	uint32_t len;
	uint8_t *frame = pair_encode(p, pkt, 0x5a, &len);
	struct mrc_rx_verdict v = pair_rx_now(p, to, i, frame, len);

	free(frame);
	return v;
}
