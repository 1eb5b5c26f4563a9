/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric_kit.h"

#include "pkt_kit.h"

/* A buffer: where its bytes end, then the bytes. */
struct block {
	uint8_t *end;
	uint8_t bytes[];
};

static struct block *block_new(struct kit *kit, const uint8_t *bytes, uint32_t len)
{
	struct block *block = malloc(sizeof(*block) + len + KIT_HEADROOM);

	memcpy(block->bytes, bytes, len);
	block->end = block->bytes + len + KIT_HEADROOM;
	kit->blocks++;
	return block;
}

struct mrc_fabric_pkt kit_raw(struct kit *kit, const uint8_t *bytes, uint32_t len)
{
	struct block *block = block_new(kit, bytes, len);

	return (struct mrc_fabric_pkt){
		.data = block->bytes, .len = len, .wire_len = len, .ref = block};
}

static void op_free(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	kit_free(ctx, pkt);
}

static bool op_clone(void *ctx, const struct mrc_fabric_pkt *pkt, struct mrc_fabric_pkt *copy_out)
{
	uint32_t wire_len = pkt->wire_len;

	*copy_out = kit_raw(ctx, pkt->data, pkt->len);
	copy_out->wire_len = wire_len;
	return true;
}

static uint32_t op_tailroom(void *ctx, const struct mrc_fabric_pkt *pkt)
{
	const struct block *block = pkt->ref;

	return (uint32_t)(block->end - (pkt->data + pkt->len));
}

static void op_tap(void *ctx, uint64_t now_ns, uint32_t link, const struct mrc_fabric_pkt *pkt)
{
	struct kit *kit = ctx;

	kit->taps++;
	kit->tap_link = link;
	kit->tap_ns = now_ns;
}

void kit_cfg(struct kit *kit, struct mrc_fabric_cfg *cfg_out, uint32_t leaves, uint32_t spines,
	uint32_t hosts)
{
	bool v6 = kit->v6;

	memset(kit, 0, sizeof(*kit));
	kit->v6 = v6;
	test_env_init(&kit->te, 1);
	mrc_proto_default(&kit->proto);
	assert_int_equal(mrc_proto_init(&kit->proto), MRC_OK);
	mrc_fabric_cfg_default(cfg_out, &kit->proto, 100000000000u, 1000);
	cfg_out->nb_planes = 1;
	cfg_out->nb_leaves = leaves;
	cfg_out->nb_spines = spines;
	cfg_out->hosts_per_leaf = hosts;
	cfg_out->overhead_len = 0;
	cfg_out->max_packets = 4096;
}

struct mrc_gid kit_gid(const struct kit *kit, uint32_t host)
{
	struct mrc_gid gid = {{0}};

	if (kit->v6) {
		gid.raw[0] = 0xFD;
	} else {
		gid.raw[10] = gid.raw[11] = 0xFF;
		gid.raw[12] = 10;
	}
	gid.raw[14] = (uint8_t)(host >> 8);
	gid.raw[15] = (uint8_t)host;
	return gid;
}

void kit_create(struct kit *kit, struct mrc_fabric_cfg *cfg)
{
	struct mrc_fabric_ops ops = {.ctx = kit,
		.free = op_free,
		.clone = op_clone,
		.tailroom = op_tailroom,
		.tap = op_tap};
	struct mrc_fabric_addr *addrs;

	kit->nb_hosts = cfg->nb_leaves * cfg->hosts_per_leaf;
	addrs = calloc(kit->nb_hosts, sizeof(*addrs));
	for (uint32_t h = 0; h < kit->nb_hosts; h++)
		addrs[h] = (struct mrc_fabric_addr){kit_gid(kit, h), h};
	cfg->addrs = addrs;
	cfg->nb_addrs = cfg->max_addrs = kit->nb_hosts;
	assert_int_equal(mrc_fabric_create(cfg, &kit->te.env, &ops, &kit->fabric), MRC_OK);
	free(addrs);
	test_env_freeze(&kit->te);
}

void kit_done(struct kit *kit)
{
	kit_balance(kit);
	mrc_fabric_destroy(kit->fabric);
	assert_int_equal(kit->blocks, 0);
	test_env_done(&kit->te);
}

static void frame_view(const struct kit *kit, const struct kit_pkt *what, struct mrc_pkt *pkt_out)
{
	enum mrc_opcode op = what->opcode != 0 ? (enum mrc_opcode)what->opcode : MRC_OP_WRITE_ONLY;
	struct pkt_kit_case kind = {.opcode = op};

	kind.flags = kit->v6 ? MRC_PKT_V6 : 0;
	if (what->usids != NULL)
		kind.flags |= MRC_PKT_SRV6;
	if (what->segment != NULL)
		kind.flags |= MRC_PKT_SRH;
	pkt_kit_view(&kit->proto, &kind, (uint16_t)what->payload_len, pkt_out);
	pkt_out->src = kit_gid(kit, what->src);
	pkt_out->dst = kit_gid(kit, what->dst);
	pkt_out->dmac[0] = pkt_out->smac[0] = 2;
	pkt_out->ev = what->ev;
	pkt_out->psn = mrc_psn(what->psn);
	pkt_out->cls = what->cls;
	pkt_out->dscp = kit->proto.dscp[what->cls];
	pkt_out->ecn = what->flags & KIT_NOT_ECT ? MRC_ECN_NOT_ECT : MRC_ECN_ECT0;
	pkt_out->flags &= (uint16_t) ~(MRC_PKT_CE | MRC_PKT_RTX);
	if (what->flags & KIT_RTX)
		pkt_out->flags |= MRC_PKT_RTX;
	if (what->usids != NULL)
		memcpy(pkt_out->outer_dst.raw, what->usids, 16);
	if (what->segment != NULL)
		memcpy(pkt_out->srh_seg.raw, what->segment, 16);
}

struct mrc_fabric_pkt kit_frame(struct kit *kit, const struct kit_pkt *what)
{
	uint8_t bytes[PKT_KIT_ROOM];
	struct mrc_fabric_pkt pkt;
	struct mrc_pkt view;

	frame_view(kit, what, &view);
	pkt = kit_raw(kit, bytes, pkt_kit_frame(&kit->proto, &view, 0, bytes));
	pkt.wire_len += what->virtual_len;
	return pkt;
}

void kit_send(struct kit *kit, uint64_t now_ns, uint32_t plane, const struct kit_pkt *what)
{
	struct mrc_fabric_pkt pkt = kit_frame(kit, what);

	mrc_fabric_send(kit->fabric, now_ns, what->src, plane, &pkt);
}

void kit_free(struct kit *kit, const struct mrc_fabric_pkt *pkt)
{
	free(pkt->ref);
	kit->blocks--;
}

void kit_run(struct kit *kit, uint64_t now_ns)
{
	mrc_fabric_run(kit->fabric, now_ns, UINT32_MAX);
}

uint64_t kit_wait(
	struct kit *kit, uint32_t *host_out, uint32_t *plane_out, struct mrc_fabric_pkt *pkt_out)
{
	uint64_t now_ns = 0;

	while (!mrc_fabric_ready(kit->fabric, host_out, plane_out)) {
		now_ns = mrc_fabric_next_deadline(kit->fabric);
		if (now_ns == MRC_FABRIC_NEVER)
			return now_ns;
		mrc_fabric_run(kit->fabric, now_ns, 1);
	}
	assert_int_equal(mrc_fabric_recv(kit->fabric, *host_out, *plane_out, pkt_out, 1), 1);
	return now_ns;
}

uint32_t kit_drain(struct kit *kit)
{
	uint32_t host, plane, n = 0;
	struct mrc_fabric_pkt pkt;

	while (kit_wait(kit, &host, &plane, &pkt) != MRC_FABRIC_NEVER) {
		kit_free(kit, &pkt);
		n++;
	}
	return n;
}

uint64_t kit_dropped(const struct kit *kit, enum mrc_fabric_drop why)
{
	struct mrc_fabric_totals totals;

	mrc_fabric_totals_get(kit->fabric, &totals);
	return totals.drops[why];
}

void kit_balance(const struct kit *kit)
{
	const char *text = mrc_fabric_check(kit->fabric);

	if (text != NULL)
		fail_msg("%s", text);
}

uint32_t kit_link(const struct kit *kit, enum mrc_fabric_link_class cls, uint32_t plane,
	uint32_t leaf, uint32_t peer)
{
	struct mrc_fabric_link_id id = {cls, plane, leaf, peer};
	uint32_t link = mrc_fabric_link_index(kit->fabric, &id);

	assert_int_not_equal(link, UINT32_MAX);
	return link;
}
