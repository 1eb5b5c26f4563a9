/* SPDX-License-Identifier: BSD-2-Clause */
/* A load at each end of two real engines and a wire that loses, doubles and reorders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mrc_load.h"
#include "test_env.h"

enum {
	PLANES = 4,
	STEP_NS = 500,
	DELAY_NS = 3000,
	ON_WIRE = 8192,
	FRAME = 4096 + MRC_HDR_ROOM + MRC_TRAILER_MAX,
};

struct packet {
	uint64_t at_ns; /* arrival; 0 = the place is free */
	uint32_t len;
	uint8_t plane;
	uint8_t bytes[FRAME];
};

struct end {
	struct mrc_sched *sched;
	struct mrc_ev_set *set;
	struct mrc_load_cfg cfg;
	struct mrc_load *load;
	uint8_t *source, *region;
	struct mrc_gid gid;
	struct packet *wire; /* towards this end */
	struct mrc_load_result result;
};

static struct {
	struct test_env te;
	struct mrc_proto proto;
	struct end ends[2];
	uint64_t now;
	uint32_t loss_ppm, dup_ppm;
	uint32_t jitter_ns;
	uint64_t dead_from, dead_to; /* plane 1 swallows everything */
	bool spoil;                  /* the receiver's memory goes wrong now and then */
	uint64_t spoiled;
} rig;

/* Memory that goes wrong between placement and verification: what a verifier is for. */
static void placed(void *ctx, struct mrc_sched_qp *qp, uint64_t va, uint32_t len)
{
	struct end *end = ctx;
	struct mrc_load_offer *offer = malloc(sizeof(*offer));

	mrc_load_offer(end->load, offer);
	if (rig.spoil && test_random_below(&rig.te, 50) == 0) {
		uint32_t at = test_random_below(&rig.te, 3);

		end->region[va - offer->va + (at == 0 ? 0 : at == 1 ? len / 2 : len - 1)] ^= 0x80;
		rig.spoiled++;
	}
	free(offer);
	mrc_load_placed(NULL, qp, va, len);
}

static void rig_begin(uint64_t seed)
{
	memset(&rig, 0, sizeof(rig));
	test_env_init(&rig.te, seed);
	mrc_proto_default(&rig.proto);
	assert_int_equal(mrc_proto_init(&rig.proto), MRC_OK);
	rig.now = 1000000;
	for (int i = 0; i < 2; i++) {
		struct mrc_load_cfg *cfg = &rig.ends[i].cfg;

		mrc_load_cfg_default(cfg);
		cfg->roles = i == 0 ? MRC_LOAD_SENDER : MRC_LOAD_RECEIVER;
		cfg->seed = 4711;
		cfg->attr.pmtu = 1024;
		cfg->attr.timeout = 6;
		cfg->attr.linear_cnt = 7;
		cfg->attr.exp_cnt = 10;
	}
}

static void end_open(int i)
{
	struct end *end = &rig.ends[i];
	struct mrc_ev evs[32];
	struct mrc_ev_cfg ev_cfg;
	struct mrc_sched_cfg cfg;
	uint8_t peer_mac[6] = {2, 0, 0, 0, 0, (uint8_t)!i};

	mrc_sched_cfg_default(&cfg);
	cfg.proto = &rig.proto;
	cfg.nb_planes = PLANES;
	cfg.hooks.ctx = end;
	cfg.hooks.placed = placed;
	for (int p = 0; p < PLANES; p++)
		memcpy(cfg.planes[p].mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)i}, 6);
	assert_int_equal(mrc_sched_create(&cfg, &rig.te.env, &end->sched), MRC_OK);
	rig.ends[i].gid = (struct mrc_gid){{0xFD, [15] = (uint8_t)(1 + i)}};
	rig.ends[!i].gid = (struct mrc_gid){{0xFD, [15] = (uint8_t)(1 + !i)}};
	for (uint32_t p = 0; p < PLANES; p++)
		assert_int_equal(
			mrc_sched_peer_set(end->sched, &rig.ends[!i].gid, p, peer_mac), MRC_OK);
	mrc_ev_cfg_default(&ev_cfg);
	mrc_ev_generate(evs, 32, PLANES, MRC_EV_MODE_STEV, &rig.te.env);
	ev_cfg.mode = MRC_EV_MODE_STEV;
	ev_cfg.evs = evs;
	ev_cfg.nb_evs = 32;
	ev_cfg.nb_planes = PLANES;
	assert_int_equal(mrc_ev_create(&ev_cfg, &rig.te.env, &end->set), MRC_OK);
	end->wire = calloc(ON_WIRE, sizeof(*end->wire));
	end->cfg.attr.local = end->gid;
}

static void end_memory(struct end *end)
{
	struct mrc_load_cfg *cfg = &end->cfg;

	if ((cfg->roles & MRC_LOAD_SENDER) && !cfg->source_once) {
		cfg->source_len = mrc_load_source_len(cfg);
		end->source = cfg->source = malloc(cfg->source_len);
		mrc_load_pattern_fill(cfg->seed, cfg->source, cfg->source_len);
	}
	if (cfg->roles & MRC_LOAD_RECEIVER) {
		if (!cfg->region_once)
			cfg->region_len = mrc_load_region_len(cfg);
		end->region = cfg->region = calloc(1, cfg->region_len);
	}
}

static void rig_connect(void)
{
	struct mrc_load_offer *offers = malloc(2 * sizeof(*offers));
	const char *key = "";

	for (int i = 0; i < 2; i++)
		mrc_load_offer(rig.ends[i].load, &offers[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(mrc_load_connect(rig.ends[i].load, rig.now, &offers[!i],
					 rig.ends[i].set, &key),
			MRC_OK);
	free(offers);
}

static void rig_open(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = &rig.ends[i];

		end_open(i);
		end_memory(end);
		assert_int_equal(
			mrc_load_create(&end->cfg, end->sched, &rig.te.env, &end->load), MRC_OK);
	}
	test_env_freeze(&rig.te);
	rig_connect();
	for (int i = 0; i < 2; i++)
		mrc_load_start(rig.ends[i].load, rig.now);
}

static void rig_close(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = &rig.ends[i];

		mrc_load_destroy(end->load, rig.now);
		mrc_sched_destroy(end->sched);
		mrc_ev_destroy(end->set);
		free(end->wire);
		free(end->source);
		free(end->region);
	}
	test_env_done(&rig.te);
}

/* ---- the wire */

static void put_on_wire(struct end *to, const struct mrc_txbuf *buf, uint32_t len)
{
	for (uint32_t i = 0; i < ON_WIRE; i++) {
		struct packet *packet = &to->wire[i];

		if (packet->at_ns != 0)
			continue;
		packet->at_ns = rig.now + DELAY_NS + test_random_below(&rig.te, rig.jitter_ns + 1);
		packet->plane = buf->plane;
		packet->len = len;
		memcpy(packet->bytes, buf->hdr, len);
		return;
	}
	fail_msg("wire full");
}

static void transmit(struct end *from, struct end *to)
{
	static uint8_t room[16][FRAME];
	struct mrc_txbuf bufs[16];
	uint32_t n;

	for (uint32_t i = 0; i < 16; i++)
		bufs[i].hdr = room[i];
	n = mrc_sched_tx(from->sched, rig.now, bufs, 4);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = mrc_txbuf_finish(&bufs[i], true);
		bool dead = bufs[i].plane == 1 && rig.now >= rig.dead_from && rig.now < rig.dead_to;

		if (dead || test_random_below(&rig.te, 1000000) < rig.loss_ppm)
			continue;
		put_on_wire(to, &bufs[i], len);
		if (test_random_below(&rig.te, 1000000) < rig.dup_ppm)
			put_on_wire(to, &bufs[i], len);
	}
}

static void receive(struct end *end)
{
	for (uint32_t i = 0; i < ON_WIRE; i++) {
		struct packet *packet = &end->wire[i];
		struct mrc_rx_verdict verdict;
		struct mrc_rxbuf buf = {packet->bytes, packet->len, packet->plane};

		if (packet->at_ns == 0 || packet->at_ns > rig.now)
			continue;
		mrc_sched_rx(end->sched, rig.now, &buf, 1, &verdict);
		packet->at_ns = 0;
	}
}

static void turn(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = &rig.ends[i];

		receive(end);
		if (mrc_sched_next_deadline(end->sched) <= rig.now)
			mrc_sched_expire(end->sched, rig.now);
		mrc_load_poll(end->load, rig.now);
		transmit(end, &rig.ends[!i]);
	}
	rig.now += STEP_NS;
}

static void run(uint64_t limit_ns)
{
	uint64_t end_ns = rig.now + limit_ns;
	bool done[2] = {false, false};

	while (!done[0] || !done[1]) {
		assert_true(rig.now < end_ns);
		turn();
		for (int i = 0; i < 2; i++) {
			struct end *end = &rig.ends[i], *peer = &rig.ends[!i];

			mrc_load_result(end->load, &end->result);
			/* A sender that is done tells the receiver how much there was. */
			if (end->result.tx_messages == end->result.tx_posted &&
				((end->cfg.roles & MRC_LOAD_RECEIVER) ||
					mrc_load_done(end->load)) &&
				end->result.tx_posted == end->cfg.count && end->cfg.count > 0)
				mrc_load_expect(peer->load, end->result.tx_messages);
			done[i] = mrc_load_done(end->load);
		}
	}
	for (int i = 0; i < 2; i++)
		mrc_load_result(rig.ends[i].load, &rig.ends[i].result);
}

static void expect_clean(struct end *from, struct end *to)
{
	assert_int_equal(from->result.tx_messages, from->cfg.count);
	assert_int_equal(to->result.rx_messages, from->cfg.count);
	assert_int_equal(to->result.rx_bytes, from->result.tx_bytes);
	assert_int_equal(to->result.bytes_verified, from->result.tx_bytes);
	assert_int_equal(to->result.bytes_corrupt, 0);
	assert_int_equal(to->result.imm_corrupt, 0);
	assert_int_equal(from->result.qps_failed, 0);
	assert_int_equal(to->result.post_errors + from->result.post_errors, 0);
}

static void set_both(uint32_t nb_qps, uint32_t depth, uint32_t size)
{
	for (int i = 0; i < 2; i++) {
		rig.ends[i].cfg.nb_qps = nb_qps;
		rig.ends[i].cfg.depth = depth;
		rig.ends[i].cfg.size = size;
	}
}

/* ---- tests */

static void clean_wire(void **state)
{
	static const uint32_t sizes[] = {8, 1000, 1024, 30000};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		rig_begin(31);
		set_both(3, 8, sizes[s]);
		rig.ends[0].cfg.count = 600;
		rig.ends[0].cfg.imm_pct = 40;
		rig_open();
		run(1000000000);
		expect_clean(&rig.ends[0], &rig.ends[1]);
		assert_in_range(rig.ends[1].result.rx_imm, 150, 330);
		assert_true(rig.ends[0].result.latency->min >= 2 * DELAY_NS);
		rig_close();
	}
}

/* Loss, doubles and reordering in both directions, both ends sending, the fewest slots. */
static void bad_wire_both_directions(void **state)
{
	rig_begin(32);
	set_both(4, 4, 9000);
	for (int i = 0; i < 2; i++) {
		rig.ends[i].cfg.roles = MRC_LOAD_SENDER | MRC_LOAD_RECEIVER;
		rig.ends[i].cfg.nb_slots = 5;
		rig.ends[i].cfg.count = 400;
		rig.ends[i].cfg.imm_pct = 20;
	}
	rig.loss_ppm = 10000;
	rig.dup_ppm = 10000;
	rig.jitter_ns = 20000;
	rig_open();
	run(5000000000);
	expect_clean(&rig.ends[0], &rig.ends[1]);
	expect_clean(&rig.ends[1], &rig.ends[0]);
	rig_close();
}

static void plane_dies_and_heals(void **state)
{
	rig_begin(33);
	set_both(2, 8, 20000);
	rig.ends[0].cfg.count = 1500;
	rig.dead_from = 3000000;
	rig.dead_to = 9000000;
	rig_open();
	run(5000000000);
	expect_clean(&rig.ends[0], &rig.ends[1]);
	rig_close();
}

static void file_over_a_bad_wire(void **state)
{
	enum {
		LEN = 777777
	};
	uint8_t *file = malloc(LEN);

	rig_begin(34);
	set_both(3, 4, 10000);
	for (uint32_t i = 0; i < LEN; i++)
		file[i] = (uint8_t)test_random64(&rig.te);
	rig.ends[0].cfg.source = file;
	rig.ends[0].cfg.source_len = LEN;
	rig.ends[0].cfg.source_once = true;
	rig.ends[0].cfg.count = 78;
	rig.ends[1].cfg.region_once = true;
	rig.ends[1].cfg.region_len = LEN;
	rig.loss_ppm = 5000;
	rig.jitter_ns = 10000;
	rig_open();
	run(5000000000);
	assert_int_equal(rig.ends[0].result.tx_bytes, LEN);
	assert_memory_equal(rig.ends[1].region, file, LEN);
	rig_close();
	free(file);
}

static void flows_complete(void **state)
{
	struct mrc_load_flow_done done;
	uint64_t seen = 0;

	rig_begin(35);
	set_both(2, 8, 4096);
	rig.ends[0].cfg.pacing = MRC_LOAD_FLOWS;
	rig_open();
	for (uint64_t tag = 0; tag < 20; tag++)
		assert_int_equal(
			mrc_load_flow_add(rig.ends[0].load, rig.now, 1 + tag * 5000, tag), MRC_OK);
	for (int i = 0; i < 100000 && seen < 20; i++) {
		turn();
		while (mrc_load_flow_poll(rig.ends[0].load, &done)) {
			assert_int_equal(done.bytes, 1 + done.tag * 5000);
			assert_true(done.end_ns >= done.start_ns + 2 * DELAY_NS);
			assert_false(done.failed);
			seen++;
		}
	}
	assert_int_equal(seen, 20);
	mrc_load_result(rig.ends[1].load, &rig.ends[1].result);
	assert_int_equal(rig.ends[1].result.bytes_corrupt, 0);
	rig_close();
}

/* QPs end while their packets are under way, a hundred times; nothing is lost, doubled or taken
 * from an earlier life. */
static void renewed_under_way(void **state)
{
	const uint32_t count = 2000;
	uint64_t late = 0;

	rig_begin(37);
	set_both(3, 4, 9000);
	for (int i = 0; i < 2; i++) {
		rig.ends[i].cfg.roles = MRC_LOAD_SENDER | MRC_LOAD_RECEIVER;
		rig.ends[i].cfg.count = count;
		rig.ends[i].cfg.imm_pct = 30;
	}
	rig.loss_ppm = 2000;
	rig.dup_ppm = 2000;
	rig.jitter_ns = 10000;
	rig_open();
	for (int life = 0; life < 100; life++) {
		for (int i = 0; i < 40; i++)
			turn();
		for (int i = 0; i < 2; i++)
			assert_int_equal(mrc_load_renew(rig.ends[i].load, rig.now), MRC_OK);
		rig_connect();
	}
	run(5000000000);
	for (int i = 0; i < 2; i++) {
		expect_clean(&rig.ends[i], &rig.ends[!i]);
		assert_int_equal(rig.ends[i].result.tx_misordered, 0);
		late += mrc_sched_counters_get(rig.ends[i].sched)->drops[MRC_DROP_QPN_GENERATION];
		late += mrc_sched_counters_get(rig.ends[i].sched)->drops[MRC_DROP_QPN_UNKNOWN];
	}
	assert_true(late > 1000);
	rig_close();
}

/* A peer that claims to have more or fewer messages than there are is refused; so is an end whose
 * QPs are not in RTS, and one that sends a file. */
static void renewal_is_refused(void **state)
{
	struct mrc_load_offer *offer = malloc(sizeof(*offer));
	const char *key = "";

	for (int wrong = 0; wrong < 2; wrong++) {
		rig_begin(38);
		set_both(1, 4, 9000);
		rig.ends[0].cfg.count = 100;
		rig_open();
		for (int i = 0; i < 200; i++)
			turn();
		assert_int_equal(mrc_load_renew(rig.ends[0].load, rig.now), MRC_OK);
		assert_int_equal(mrc_load_renew(rig.ends[0].load, rig.now), MRC_ERR_STATE);
		mrc_load_offer(rig.ends[1].load, offer);
		offer->placed[0] = wrong == 0 ? offer->placed[0] + 100 : 0;
		assert_int_equal(
			mrc_load_connect(rig.ends[0].load, rig.now, offer, rig.ends[0].set, &key),
			MRC_ERR_INVAL);
		rig_close();
	}
	free(offer);
}

/* Wrong bytes in the receiver's memory are found, each of them: first, middle, last. */
static void memory_that_goes_wrong(void **state)
{
	rig_begin(36);
	set_both(2, 4, 5001);
	rig.ends[0].cfg.count = 1000;
	rig.spoil = true;
	rig_open();
	run(1000000000);
	assert_true(rig.spoiled > 5);
	assert_int_equal(rig.ends[1].result.bytes_corrupt, rig.spoiled);
	assert_int_equal(rig.ends[1].result.messages_corrupt, rig.spoiled);
	assert_int_equal(rig.ends[1].result.bytes_verified, 1000 * 5001);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_wire),
		cmocka_unit_test(bad_wire_both_directions),
		cmocka_unit_test(plane_dies_and_heals),
		cmocka_unit_test(file_over_a_bad_wire),
		cmocka_unit_test(renewed_under_way),
		cmocka_unit_test(renewal_is_refused),
		cmocka_unit_test(flows_complete),
		cmocka_unit_test(memory_that_goes_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
