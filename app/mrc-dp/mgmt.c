/* SPDX-License-Identifier: BSD-2-Clause */
#include "mgmt.h"

#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#define MS           1000000ull
#define SECOND       1000000000ull
#define TURN_NS      (1 * MS)
#define LINK_NS      (50 * MS)
#define RESOLVE_NS   (30 * SECOND)
#define SETTLE_NS    (2 * SECOND) /* some planes resolved: wait so long for the others */
#define STALL_NS     (30 * SECOND)
#define INTERRUPT_NS (500 * MS)
#define ABSENT_NS    (100 * MS)
#define GOODBYE_NS   (1 * SECOND)

void mrc_mgmt_init(struct mrc_mgmt *mgmt, const struct mrc_cfg *cfg, const struct mrc_clock *clock,
	struct mrc_endpoint *eps, uint32_t nb_eps)
{
	memset(mgmt, 0, sizeof(*mgmt));
	mgmt->cfg = cfg;
	mgmt->clock = clock;
	mgmt->eps = eps;
	mgmt->nb_eps = nb_eps;
	atomic_init(&mgmt->stop, false);
}

static void fail(struct mrc_mgmt *m, const char *text)
{
	if (m->failure[0] == '\0')
		snprintf(m->failure, sizeof(m->failure), "%s", text);
}

static void finish(struct mrc_mgmt *m)
{
	m->state = MRC_MGMT_END;
	atomic_store_explicit(&m->stop, true, memory_order_release);
}

/* ---- commands and views
 * --------------------------------------------------------------------------- */

static void command_all(
	struct mrc_mgmt *m, const struct mrc_endpoint *ep, const struct mrc_cmd *cmd)
{
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++)
		mrc_courier_send(&m->courier, ep->workers[w], cmd);
}

static void load_command(struct mrc_mgmt *m, const struct mrc_endpoint *ep, uint32_t load,
	enum mrc_cmd_kind kind, uint64_t arg)
{
	struct mrc_cmd cmd = {.kind = kind, .arg = arg};
	uint32_t index;
	struct mrc_worker *w = mrc_endpoint_load_worker(ep, load, &index);

	cmd.load = (uint16_t)index;
	mrc_courier_send(&m->courier, w, &cmd);
}

static void loads_command(struct mrc_mgmt *m, const struct mrc_endpoint *ep, enum mrc_cmd_kind kind)
{
	for (uint32_t i = 0; i < ep->workload.nb_loads; i++)
		load_command(m, ep, i, kind, 0);
}

/* True when every load of the endpoint is done. */
static bool loads_done(struct mrc_mgmt *m, const struct mrc_endpoint *ep)
{
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++) {
		mrc_worker_view_read(ep->workers[w], &m->view);
		for (uint32_t l = 0; l < m->view.nb_loads; l++)
			if (!m->view.loads[l].done)
				return false;
	}
	return true;
}

/*
 * A sender has nothing more to post and nothing outstanding. With both roles `done` waits for the
 * peer too, so the sending half is judged by its counts.
 */
static bool senders_done(struct mrc_mgmt *m, const struct mrc_endpoint *ep, uint64_t now_ns)
{
	if (!ep->is_receiver)
		return loads_done(m, ep);
	if (ep->workload.cfg.duration_ns && now_ns < m->begin_ns + ep->workload.cfg.duration_ns)
		return false;
	for (uint32_t w = 0; w < ep->ep->nb_workers; w++) {
		mrc_worker_view_read(ep->workers[w], &m->view);
		for (uint32_t l = 0; l < m->view.nb_loads; l++) {
			const struct mrc_load_result *r = &m->view.loads[l].result;
			uint64_t ended = r->tx_messages;

			for (uint32_t s = 1; s <= MRC_WC_FATAL_ERR; s++)
				ended += r->tx_errors[s];
			if (ended < r->tx_posted || r->tx_posted == 0)
				return false;
			if (ep->workload.cfg.nb_msgs && r->qps_failed == 0 &&
				r->tx_posted < ep->workload.cfg.nb_msgs / ep->workload.nb_loads)
				return false;
		}
	}
	return true;
}

/* Messages that a load completed; its failed requests are added up on the way. */
static uint64_t load_sent(struct mrc_mgmt *m, const struct mrc_endpoint *ep, uint32_t load)
{
	uint32_t index;
	struct mrc_worker *w = mrc_endpoint_load_worker(ep, load, &index);
	const struct mrc_load_result *result = &m->view.loads[index].result;

	mrc_worker_view_read(w, &m->view);
	for (uint32_t s = 1; s <= MRC_WC_FATAL_ERR; s++)
		m->view_errors += result->tx_errors[s];
	m->view_errors += result->post_errors;
	return result->tx_messages;
}

/* ---- carriers
 * --------------------------------------------------------------------------------------- */

static void carriers_poll(struct mrc_mgmt *m)
{
	for (uint32_t e = 0; e < m->nb_eps; e++) {
		struct mrc_endpoint *ep = &m->eps[e];

		for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
			struct mrc_port *port = &ep->ports[p];
			bool was = port->link_up;
			struct mrc_cmd cmd = {.kind = MRC_CMD_PLANE, .plane = (uint16_t)p};

			if (m->fabric && ep->ep->planes[p].link == MRC_LINK_FABRIC)
				port->link_up = atomic_load_explicit(
					&m->fabric->ports[e][p].carrier, memory_order_acquire);
			else
				mrc_port_link_poll(port);
			cmd.on = port->link_up;
			if (port->link_up != was)
				command_all(m, ep, &cmd);
		}
	}
}

/* ---- resolve
 * ------------------------------------------------------------------------------------------ */

static void reachable_count(struct mrc_mgmt *m, uint32_t *known_out, uint32_t *open_out)
{
	*known_out = UINT32_MAX;
	*open_out = 0;
	for (uint32_t e = 0; e < m->nb_eps; e++) {
		uint32_t known = 0;

		mrc_worker_view_read(m->eps[e].workers[0], &m->view);
		for (uint32_t p = 0; p < m->eps[e].ep->nb_planes; p++) {
			if (m->eps[e].ports[p].link_up && m->view.neighbour[p])
				known++;
			else
				*open_out += 1;
		}
		*known_out = known < *known_out ? known : *known_out;
	}
}

static void run_begin(struct mrc_mgmt *m, uint64_t now_ns)
{
	const struct mrc_cfg_workload *wl = &m->eps[0].workload.cfg;

	for (uint32_t e = 0; e < m->nb_eps; e++)
		loads_command(m, &m->eps[e], MRC_CMD_START);
	if (m->fabric)
		mrc_fabric_role_begin(m->fabric);
	m->state = MRC_MGMT_RUN;
	m->begin_ns = m->seen_ns = m->moved_ns = now_ns;
	m->second_ns = now_ns + SECOND;
	m->deadline_ns = wl->duration_ns && m->eps[0].workload.file_len == 0
				 ? now_ns + wl->duration_ns + wl->drain_ns
				 : UINT64_MAX;
	mrc_progress_head(m);
}

static void resolve_turn(struct mrc_mgmt *m, uint64_t now_ns)
{
	uint32_t known, open;

	if (m->begin_ns == 0)
		m->begin_ns = now_ns;
	reachable_count(m, &known, &open);
	if (open == 0 || (known > 0 && now_ns > m->begin_ns + SETTLE_NS)) {
		run_begin(m, now_ns);
		return;
	}
	if (now_ns > m->begin_ns + RESOLVE_NS) {
		fail(m, "no plane reaches the peer: no link, or no answer to ARP / neighbour "
			"discovery; check cabling, VLAN and addresses");
		finish(m);
	}
}

/* ---- run, drain
 * ------------------------------------------------------------------------------------------ */

static json_t *expect_msg(struct mrc_mgmt *m, const struct mrc_endpoint *ep)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < ep->workload.nb_loads; i++)
		json_array_append_new(list, json_integer((json_int_t)load_sent(m, ep, i)));
	return json_pack("{s:s,s:o}", "msg", "expect", "messages", list);
}

/* The senders are done: tell the receivers how much there was. */
static void senders_end(struct mrc_mgmt *m, uint64_t now_ns)
{
	m->state = MRC_MGMT_DRAIN;
	m->deadline_ns = now_ns + m->eps[0].workload.cfg.drain_ns;
	if (m->oob) {
		m->expect_sent = mrc_oob_send(m->oob, expect_msg(m, &m->eps[0])) == MRC_OK;
		return;
	}
	for (uint32_t e = 0; e < m->nb_eps; e++)
		for (uint32_t i = 0; i < m->eps[e].workload.nb_loads && m->eps[e].is_receiver; i++)
			load_command(
				m, &m->eps[e], i, MRC_CMD_EXPECT, load_sent(m, &m->eps[1 - e], i));
	m->expect_sent = true;
}

static void watch_progress(struct mrc_mgmt *m, uint64_t now_ns)
{
	uint64_t moved = 0;

	for (uint32_t w = 0; w < m->eps[0].ep->nb_workers; w++) {
		mrc_worker_view_read(m->eps[0].workers[w], &m->view);
		moved += m->view.engine.rx_packets;
	}
	if (moved != m->moved) {
		m->moved = moved;
		m->moved_ns = now_ns;
	} else if (now_ns > m->moved_ns + STALL_NS) {
		fail(m, "nothing arrived for 30 s");
		finish(m);
	}
}

static void run_turn(struct mrc_mgmt *m, uint64_t now_ns)
{
	bool all = true, any = false;

	for (uint32_t e = 0; e < m->nb_eps; e++)
		if (m->eps[e].is_sender) {
			any = true;
			all &= senders_done(m, &m->eps[e], now_ns);
		}
	if (any && all) {
		senders_end(m, now_ns);
		return;
	}
	if (!any && m->expect_sent) {
		m->state = MRC_MGMT_DRAIN;
		m->deadline_ns = now_ns + m->eps[0].workload.cfg.drain_ns;
		return;
	}
	if (any && now_ns > m->deadline_ns) {
		fail(m, "requests were still outstanding when the drain time ended; raise "
			"\"workload.drain\"");
		finish(m);
		return;
	}
	watch_progress(m, now_ns);
}

static json_t *result_msg(const struct mrc_endpoint *ep)
{
	struct mrc_found f;
	json_t *planes = json_array();

	mrc_found_collect(ep, &f);
	for (uint32_t p = 0; p < ep->ep->nb_planes; p++) {
		uint64_t rx = 0;

		for (uint32_t w = 0; w < ep->ep->nb_workers; w++)
			rx += mrc_sched_counters_get(ep->workers[w]->sched)->planes[p].rx_packets;
		json_array_append_new(planes, json_integer((json_int_t)rx));
	}
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:o}", "msg", "result", "messages",
		(json_int_t)f.messages, "bytes", (json_int_t)f.bytes, "immediates",
		(json_int_t)f.immediates, "bytes_verified", (json_int_t)f.bytes_verified,
		"bytes_corrupt", (json_int_t)f.bytes_corrupt, "messages_corrupt",
		(json_int_t)f.messages_corrupt, "imm_corrupt", (json_int_t)f.imm_corrupt, "sha256",
		f.sha256, "rx_packets", planes);
}

static void drain_turn(struct mrc_mgmt *m, uint64_t now_ns)
{
	bool received = true;

	for (uint32_t e = 0; e < m->nb_eps; e++)
		if (m->eps[e].is_receiver)
			received &= loads_done(m, &m->eps[e]);
	if (m->oob && m->eps[0].is_receiver && received && !m->result_sent) {
		m->result_sent = true;
		if (mrc_oob_send(m->oob, result_msg(&m->eps[0])) != MRC_OK)
			fail(m, "the peer was gone before it took the result");
		if (!m->eps[0].is_sender)
			m->deadline_ns = now_ns + GOODBYE_NS;
	}
	if (m->oob ? (m->result_got || !m->eps[0].is_sender) &&
				(m->result_sent || !m->eps[0].is_receiver) &&
				(m->eps[0].is_sender || m->oob->closed)
		   : received) {
		finish(m);
		return;
	}
	if (now_ns <= m->deadline_ns)
		return;
	if (!m->result_sent && m->eps[0].is_receiver)
		fail(m, "messages were missing when the drain time ended");
	else if (m->oob && m->eps[0].is_sender && !m->result_got)
		fail(m, "the peer did not report what it received");
	else if (!m->oob)
		fail(m, "messages were missing when the drain time ended");
	finish(m);
}

/* ---- the peer
 * ------------------------------------------------------------------------------------------- */

static void expect_take(struct mrc_mgmt *m, const json_t *msg)
{
	const json_t *list = json_object_get(msg, "messages");

	for (uint32_t i = 0; i < m->eps[0].workload.nb_loads; i++)
		load_command(m, &m->eps[0], i, MRC_CMD_EXPECT,
			(uint64_t)json_integer_value(json_array_get(list, i)));
	if (!m->eps[0].is_sender)
		m->expect_sent = true;
}

static uint64_t number_of(const json_t *msg, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(msg, key));
}

static void result_take(struct mrc_mgmt *m, const json_t *msg)
{
	const char *sha = json_string_value(json_object_get(msg, "sha256"));

	m->peer_found = (struct mrc_found){.messages = number_of(msg, "messages"),
		.bytes = number_of(msg, "bytes"),
		.immediates = number_of(msg, "immediates"),
		.bytes_verified = number_of(msg, "bytes_verified"),
		.bytes_corrupt = number_of(msg, "bytes_corrupt"),
		.messages_corrupt = number_of(msg, "messages_corrupt"),
		.imm_corrupt = number_of(msg, "imm_corrupt")};
	snprintf(m->peer_found.sha256, sizeof(m->peer_found.sha256), "%s", sha ? sha : "");
	for (uint32_t p = 0; p < m->eps[0].ep->nb_planes; p++)
		m->peer_rx[p] = (uint64_t)json_integer_value(
			json_array_get(json_object_get(msg, "rx_packets"), p));
	m->result_got = true;
	mrc_oob_send(m->oob, json_pack("{s:s,s:b}", "msg", "bye", "good",
				     m->failure[0] == '\0' && m->peer_found.bytes_corrupt == 0 &&
					     m->view_errors == 0));
}

static void bye_take(struct mrc_mgmt *m, const json_t *msg)
{
	if (!json_is_true(json_object_get(msg, "good")))
		fail(m, "the requester saw failed requests; see its report");
	m->oob->closed = true;
}

static void peer_turn(struct mrc_mgmt *m)
{
	json_t *msg = mrc_oob_recv(m->oob, 0, m->signal);
	const char *kind = json_string_value(json_object_get(msg, "msg"));

	if (kind && strcmp(kind, "expect") == 0)
		expect_take(m, msg);
	else if (kind && strcmp(kind, "result") == 0)
		result_take(m, msg);
	else if (kind && strcmp(kind, "bye") == 0 && !m->eps[0].is_sender)
		bye_take(m, msg);
	json_decref(msg);
	if (!m->oob->closed || m->result_sent || m->result_got)
		return;
	fail(m, "the peer ended before the run did; see its own message");
	finish(m);
}

/* ---- the turn
 * --------------------------------------------------------------------------------------------- */

static void interrupt_turn(struct mrc_mgmt *m, uint64_t now_ns)
{
	if (!m->interrupted) {
		m->interrupted = true;
		m->deadline_ns = now_ns + INTERRUPT_NS;
		for (uint32_t e = 0; e < m->nb_eps; e++)
			loads_command(m, &m->eps[e], MRC_CMD_STOP);
	}
	if (now_ns > m->deadline_ns)
		finish(m);
}

static void captures_write(struct mrc_mgmt *m)
{
	for (uint32_t e = 0; e < m->nb_eps; e++)
		for (uint32_t p = 0; p < m->eps[e].ep->nb_planes; p++)
			if (m->eps[e].captures[p])
				mrc_capture_write(m->eps[e].captures[p]);
}

void mrc_mgmt_poll(struct mrc_mgmt *m)
{
	uint64_t now_ns = mrc_clock_ns(m->clock, rte_rdtsc());

	captures_write(m);
	if (now_ns < m->next_ns)
		return;
	/* What the host took away from this thread does not count against the run. */
	if (m->last_ns && now_ns - m->last_ns > ABSENT_NS && m->deadline_ns != UINT64_MAX)
		m->deadline_ns += now_ns - m->last_ns;
	m->last_ns = now_ns;
	m->next_ns = now_ns + TURN_NS;
	mrc_courier_flush(&m->courier);
	if (now_ns >= m->link_ns) {
		carriers_poll(m);
		m->link_ns = now_ns + LINK_NS;
	}
	if (*m->signal) {
		interrupt_turn(m, now_ns);
		return;
	}
	if (m->oob)
		peer_turn(m);
	switch (m->state) {
	case MRC_MGMT_RESOLVE:
		resolve_turn(m, now_ns);
		break;
	case MRC_MGMT_RUN:
		run_turn(m, now_ns);
		break;
	case MRC_MGMT_DRAIN:
		drain_turn(m, now_ns);
		break;
	case MRC_MGMT_END:
		return;
	}
	if (m->state == MRC_MGMT_RUN) {
		mrc_progress_faults(m, now_ns);
		if (now_ns >= m->second_ns) {
			mrc_progress_line(m, now_ns);
			m->second_ns += SECOND;
		}
	}
}
