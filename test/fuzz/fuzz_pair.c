/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_pair.c - any wire: the input is a script that says what becomes of each packet and when work
 * is posted.
 *
 * Input: 4 bytes of set-up (PSNs near wraps, window, options), then a stream of script bytes, one
 * taken for each packet that leaves (deliver, drop, double, delay, mark, trim, turn a bit) and one
 * for each step (post some size, wait).
 *
 * Oracle: everything pair judges (bytes, completions, order, books); then the wire is healed and
 * everything must finish.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pair.h"

struct script {
	const uint8_t *data;
	size_t size, at;
};

static uint8_t next(struct script *s)
{
	return s->at < s->size ? s->data[s->at++] : 0;
}

static bool tap(
	struct pair *p, int from, const struct mrc_pkt *pkt, const uint8_t *frame, uint32_t len)
{
	struct script *s = p->tap_ctx;
	uint8_t what = next(s);

	p->nb_faults = 0;
	switch (what & 15) {
	case 1:
	case 2:
	case 3:
		return false;
	case 4:
		pair_fault_add(p,
			&(struct pair_fault){.act = PAIR_DUP, .delay_ns = (what >> 4) * 3000ull});
		break;
	case 5:
	case 6:
		pair_fault_add(p,
			&(struct pair_fault){.act = PAIR_DELAY, .delay_ns = (what >> 4) * 700ull});
		break;
	case 7:
		pair_fault_add(p, &(struct pair_fault){
					  .act = PAIR_DELAY, .delay_ns = (what >> 4) * 30000ull});
		break;
	case 8:
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_MARK});
		break;
	case 9:
		if (mrc_opcode_table[pkt->opcode].flags & MRC_OPF_WRITE)
			pair_fault_add(p, &(struct pair_fault){.act = PAIR_TRIM, .arg = 64});
		break;
	case 10:
		pair_fault_add(p, &(struct pair_fault){.act = PAIR_FLIP,
					  .arg = (uint32_t)next(s) % len,
					  .bit = what >> 4});
		break;
	}
	return true;
}

static void set_up(struct pair_cfg *cfg, const uint8_t *b, struct mrc_nscc_cfg *cc)
{
	pair_cfg_default(cfg);
	cfg->seed = b[0];
	cfg->repro = "fuzz_pair with this input";
	cfg->psn[0] = 0xFFFFFF - (b[0] & 63u);
	cfg->psn[1] = 0x7FFFFF - (b[1] & 63u);
	cfg->pmtu = 256;
	cfg->mpr = (uint8_t)(1 + (b[2] & 3));
	cfg->nb_planes = 2;
	cfg->nb_evs = 4;
	cfg->mem_len = 65536;
	cfg->sq_depth = 16;
	cfg->rq_depth = 16;
	cfg->cq_depth = 64;
	cfg->max_wimm = (uint16_t)(1 + (b[1] >> 6) * 8);
	cfg->timeout = (uint8_t)(2 + (b[2] >> 2 & 7));
	cfg->exp_cnt = MRC_EXP_MAX;
	cfg->per_packet_timers = b[3] & 1;
	cfg->dynamic_mpr = b[3] & 2;
	cfg->timestamps = b[3] & 4;
	cfg->v6 = b[3] & 8;
	cfg->trim_nack = b[3] & 16;
	cfg->tweak = NULL;
	if (b[3] & 32) {
		mrc_nscc_cfg_default(cc, 80000000000ull, 12000, 256 + 96, true);
		cfg->cc = cc;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = {data, size, 4};
	struct pair_cfg cfg;
	struct mrc_nscc_cfg cc;
	struct pair *p;

	if (size < 8)
		return 0;
	set_up(&cfg, data, &cc);
	p = pair_create(&cfg);
	p->tap = tap;
	p->tap_ctx = &s;
	for (int steps = 0; s.at < s.size && steps < 64; steps++) {
		uint8_t what = next(&s);
		int side = what >> 7;
		uint32_t len = (what & 7) == 7 ? 5000 : (what & 7) * 60u;

		if ((what & 8) && pair_room(p, side, 0, len) &&
			p->q[side][0].nb_ops - p->q[side][0].next_done < cfg.sq_depth)
			(void)pair_post_try(p, side, 0,
				&(struct pair_wr){.len = len,
					.imm = what & 16,
					.unsignaled = what & 32,
					.nb_sge = len ? 1 + steps % 4u : 0});
		pair_run(p, what & 64 ? 20000 : 1000);
	}
	p->tap = NULL;
	pair_finish(p, 2 * PAIR_S);
	pair_destroy(p);
	return 0;
}
