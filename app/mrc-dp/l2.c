/* SPDX-License-Identifier: BSD-2-Clause */
#include "l2.h"
#include "l2_private.h"

#define L2_NAME(name, text) #name,
static const char *const event_names[] = {MRC_L2_LIST(L2_NAME)};
#undef L2_NAME

const char *mrc_l2_event_name(enum mrc_l2_event event)
{
	return (unsigned)event < MRC_NB_L2_EVENTS ? event_names[event] : "?";
}

void mrc_l2_cfg_default(struct mrc_l2_cfg *cfg_out)
{
	*cfg_out = (struct mrc_l2_cfg){.retry_ns = 200000000,
		.retry_max_ns = 5000000000,
		.expiry_ns = 30000000000,
		.nb_probes = 3,
		.requests_per_s = 100,
		.answers_per_s = 1000};
}

int mrc_l2_init(struct mrc_l2 *l2_out, const struct mrc_l2_cfg *cfg, uint64_t now_ns)
{
	if (!l2_mac_is_station(cfg->mac) || cfg->nb_addrs == 0 || cfg->nb_addrs > MRC_L2_ADDRS)
		return MRC_ERR_INVAL;
	if (cfg->retry_ns == 0 || cfg->retry_max_ns < cfg->retry_ns || cfg->expiry_ns == 0 ||
		cfg->nb_probes == 0 || cfg->requests_per_s == 0 || cfg->answers_per_s == 0)
		return MRC_ERR_INVAL;
	memset(l2_out, 0, sizeof(*l2_out));
	l2_out->cfg = *cfg;
	l2_out->requests = (struct mrc_l2_bucket){.tokens_ns = 1000000000, .last_ns = now_ns};
	l2_out->answers = l2_out->requests;
	l2_out->deadline_ns = UINT64_MAX;
	return MRC_OK;
}

void mrc_l2_announce(struct mrc_l2 *l2)
{
	l2->announce = (1u << l2->cfg.nb_addrs) - 1;
}

uint64_t mrc_l2_deadline(const struct mrc_l2 *l2)
{
	return l2->announce != 0 ? 0 : l2->deadline_ns;
}

bool mrc_l2_addr_is_own(const struct mrc_l2 *l2, const struct mrc_gid *addr)
{
	for (uint32_t i = 0; i < l2->cfg.nb_addrs; i++)
		if (l2_addr_eq(&l2->cfg.addrs[i], addr))
			return true;
	return false;
}

/* Saved time buys packets; at most one second is saved, so a burst is at most per_s packets. */
bool mrc_l2_bucket_take(struct mrc_l2_bucket *bucket, uint64_t now_ns, uint32_t per_s)
{
	const uint64_t second_ns = 1000000000, price_ns = second_ns / per_s;
	uint64_t gained_ns = now_ns - bucket->last_ns;

	bucket->last_ns = now_ns;
	if (gained_ns > second_ns - bucket->tokens_ns)
		gained_ns = second_ns - bucket->tokens_ns;
	bucket->tokens_ns += gained_ns;
	if (bucket->tokens_ns < price_ns)
		return false;
	bucket->tokens_ns -= price_ns;
	return true;
}

uint32_t mrc_l2_eth_put(const struct mrc_l2 *l2, const uint8_t *dmac, uint16_t type, uint8_t *buf)
{
	memcpy(buf, dmac, 6);
	memcpy(buf + 6, l2->cfg.mac, 6);
	if (!l2->cfg.vlan) {
		l2_put16(buf + 12, type);
		return 14;
	}
	l2_put16(buf + 12, L2_TYPE_VLAN);
	l2_put16(buf + 14, l2->cfg.vlan_tci);
	l2_put16(buf + 16, type);
	return 18;
}

uint32_t mrc_l2_pad(uint8_t *buf, uint32_t len)
{
	if (len >= L2_FRAME_MIN)
		return len;
	memset(buf + len, 0, L2_FRAME_MIN - len);
	return L2_FRAME_MIN;
}

bool mrc_l2_is_mine(const uint8_t *frame, uint32_t len)
{
	uint32_t off = 14;
	uint16_t type;

	if (len < 18)
		return false;
	type = l2_get16(frame + 12);
	if (type == L2_TYPE_VLAN) {
		type = l2_get16(frame + 16);
		off = 18;
	}
	if (type == L2_TYPE_ARP)
		return true;
	if (type == L2_TYPE_IPV4)
		return len > off + 9 && frame[off + 9] == L2_PROTO_ICMP;
	return type == L2_TYPE_IPV6 && len > off + 6 && frame[off + 6] == L2_PROTO_ICMPV6;
}

static enum mrc_l2_event frame_rx(struct mrc_l2 *l2, uint64_t now_ns, const uint8_t *data,
	uint32_t len, struct l2_reply *reply)
{
	struct l2_frame frame = {.dmac = data, .smac = data + 6};
	uint32_t off = 14;

	if (len < 18)
		return MRC_L2_SHORT;
	if (!l2_mac_is_group(frame.dmac) && memcmp(frame.dmac, l2->cfg.mac, 6) != 0)
		return MRC_L2_NOT_OURS;
	if (!l2_mac_is_station(frame.smac))
		return MRC_L2_MALFORMED;
	frame.type = l2_get16(data + 12);
	if ((frame.type == L2_TYPE_VLAN) != l2->cfg.vlan)
		return MRC_L2_VLAN;
	if (l2->cfg.vlan) {
		if (((l2_get16(data + 14) ^ l2->cfg.vlan_tci) & 0x0FFF) != 0)
			return MRC_L2_VLAN;
		frame.type = l2_get16(data + 16);
		off = 18;
	}
	frame.body = data + off;
	frame.len = len - off;
	if (frame.type == L2_TYPE_ARP)
		return mrc_l2_arp_rx(l2, now_ns, &frame, reply);
	if (frame.type == L2_TYPE_IPV4)
		return mrc_l2_icmp_rx(l2, now_ns, &frame, reply);
	if (frame.type == L2_TYPE_IPV6)
		return mrc_l2_icmp6_rx(l2, now_ns, &frame, reply);
	return MRC_L2_OTHER;
}

enum mrc_l2_event mrc_l2_rx(struct mrc_l2 *l2, uint64_t now_ns, const uint8_t *frame, uint32_t len,
	uint8_t *reply, uint32_t room, uint32_t *reply_len_out)
{
	struct l2_reply answer = {.buf = reply, .room = room};
	enum mrc_l2_event event = frame_rx(l2, now_ns, frame, len, &answer);

	l2->counters[event]++;
	*reply_len_out = answer.len;
	return event;
}
