/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv6 neighbour discovery (RFC 4861, RFC 4862) and ICMPv6 echo (RFC 4443). */
#include "l2.h"
#include "l2_private.h"

enum {
	IPV6_LEN = 40,
	ICMP6_LEN = 8,
	ND_LEN = 24, /* ICMPv6 header and target */
	OPT_LEN = 8, /* link address option */
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_NS = 135,
	ICMP6_NA = 136,
	OPT_SOURCE = 1,
	OPT_TARGET = 2,
	NA_SOLICITED = 0x40,
	NA_OVERRIDE = 0x20,
	ND_HOP_LIMIT = 255,
	ECHO_HOP_LIMIT = 64,
};

static const uint8_t any[16];
static const uint8_t all_nodes[16] = {0xFF, 2, [15] = 1};
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};

static void solicited_addr(const uint8_t *addr, uint8_t *group_out)
{
	static const uint8_t prefix[13] = {0xFF, 2, [11] = 1, [12] = 0xFF};

	memcpy(group_out, prefix, sizeof(prefix));
	memcpy(group_out + 13, addr + 13, 3);
}

void mrc_l2_solicited_mac(const struct mrc_gid *addr, uint8_t *mac_out)
{
	mac_out[0] = 0x33;
	mac_out[1] = 0x33;
	mac_out[2] = 0xFF;
	memcpy(mac_out + 3, addr->raw + 13, 3);
}

static uint16_t icmp6_sum(const uint8_t *src, const uint8_t *dst, const uint8_t *icmp, uint32_t len)
{
	uint32_t sum = mrc_l2_sum(0, src, 16);

	sum = mrc_l2_sum(sum, dst, 16) + len + L2_PROTO_ICMPV6;
	return mrc_l2_sum_fold(mrc_l2_sum(sum, icmp, len));
}

/* Ethernet and IPv6 header; returns where the ICMPv6 message goes. */
static uint8_t *ipv6_put(const struct mrc_l2 *l2, const uint8_t *dmac, const uint8_t *src,
	const uint8_t *dst, uint32_t icmp_len, uint8_t hop_limit, uint8_t *buf)
{
	uint8_t *ip = buf + mrc_l2_eth_put(l2, dmac, L2_TYPE_IPV6, buf);

	memset(ip, 0, 8);
	ip[0] = 0x60;
	l2_put16(ip + 4, (uint16_t)icmp_len);
	ip[6] = L2_PROTO_ICMPV6;
	ip[7] = hop_limit;
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, dst, 16);
	return ip + IPV6_LEN;
}

/* Puts the checksum of the message behind the IPv6 header at icmp - 40; returns the frame length.
 */
static uint32_t icmp6_close(uint8_t *buf, uint8_t *icmp, uint32_t icmp_len)
{
	l2_put16(icmp + 2, 0);
	l2_put16(icmp + 2, icmp6_sum(icmp - 32, icmp - 16, icmp, icmp_len));
	return mrc_l2_pad(buf, (uint32_t)(icmp - buf) + icmp_len);
}

static uint32_t nd_put(const struct mrc_l2 *l2, const uint8_t *dmac, const uint8_t *src,
	const uint8_t *dst, uint8_t type, uint8_t flags, const uint8_t *target, uint8_t *buf)
{
	uint8_t *icmp = ipv6_put(l2, dmac, src, dst, ND_LEN + OPT_LEN, ND_HOP_LIMIT, buf);

	memset(icmp, 0, 8);
	icmp[0] = type;
	icmp[4] = flags;
	memcpy(icmp + 8, target, 16);
	icmp[ND_LEN] = type == ICMP6_NS ? OPT_SOURCE : OPT_TARGET;
	icmp[ND_LEN + 1] = 1;
	memcpy(icmp + ND_LEN + 2, l2->cfg.mac, 6);
	return icmp6_close(buf, icmp, ND_LEN + OPT_LEN);
}

uint32_t mrc_l2_ns_ask(const struct mrc_l2 *l2, const struct mrc_gid *own,
	const struct mrc_gid *target, const uint8_t *dmac, uint8_t *buf)
{
	uint8_t group[16], group_mac[6];

	if (dmac != NULL)
		return nd_put(l2, dmac, own->raw, target->raw, ICMP6_NS, 0, target->raw, buf);
	solicited_addr(target->raw, group);
	mrc_l2_solicited_mac(target, group_mac);
	return nd_put(l2, group_mac, own->raw, group, ICMP6_NS, 0, target->raw, buf);
}

uint32_t mrc_l2_na_announce(const struct mrc_l2 *l2, const struct mrc_gid *own, uint8_t *buf)
{
	return nd_put(l2, all_nodes_mac, own->raw, all_nodes, ICMP6_NA, NA_OVERRIDE, own->raw, buf);
}

/* Finds a link address option; false when the options are malformed. *mac_out NULL: not there. */
static bool option_find(const uint8_t *icmp, uint32_t len, uint8_t type, const uint8_t **mac_out)
{
	*mac_out = NULL;
	for (uint32_t off = ND_LEN; off < len;) {
		uint32_t opt_len;

		if (len - off < 2)
			return false;
		opt_len = (uint32_t)icmp[off + 1] * 8;
		if (opt_len == 0 || opt_len > len - off)
			return false;
		if (icmp[off] == type && *mac_out == NULL) {
			if (!l2_mac_is_station(icmp + off + 2))
				return false;
			*mac_out = icmp + off + 2;
		}
		off += opt_len;
	}
	return true;
}

static enum mrc_l2_event ns_answer(struct mrc_l2 *l2, uint64_t now_ns, const uint8_t *dmac,
	const uint8_t *dst, const uint8_t *target, struct l2_reply *reply)
{
	bool probe = memcmp(dst, any, 16) == 0;

	if (reply->room < MRC_L2_REQUEST_MAX)
		return MRC_L2_TOO_LONG;
	if (!mrc_l2_bucket_take(&l2->answers, now_ns, l2->cfg.answers_per_s))
		return MRC_L2_LIMITED;
	reply->len = nd_put(l2, probe ? all_nodes_mac : dmac, target, probe ? all_nodes : dst,
		ICMP6_NA, probe ? NA_OVERRIDE : NA_SOLICITED | NA_OVERRIDE, target, reply->buf);
	return MRC_L2_NS_ANSWERED;
}

static enum mrc_l2_event ns_rx(struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame,
	uint32_t len, struct l2_reply *reply)
{
	const uint8_t *ip = frame->body, *icmp = ip + IPV6_LEN, *mac;
	struct mrc_gid src, target;
	uint8_t group[16];
	bool probe;

	memcpy(src.raw, ip + 8, 16);
	memcpy(target.raw, icmp + 8, 16);
	probe = memcmp(src.raw, any, 16) == 0;
	if (!option_find(icmp, len, OPT_SOURCE, &mac) || target.raw[0] == 0xFF ||
		src.raw[0] == 0xFF || (probe && mac != NULL))
		return MRC_L2_MALFORMED;
	solicited_addr(target.raw, group);
	if (!mrc_l2_addr_is_own(l2, &target) ||
		(memcmp(ip + 24, group, 16) != 0 &&
			(probe || memcmp(ip + 24, target.raw, 16) != 0)))
		return MRC_L2_NOT_OURS;
	if (mrc_l2_addr_is_own(l2, &src))
		return MRC_L2_CONFLICT;
	if (!probe && mac != NULL)
		mrc_l2_neigh_heard(l2, now_ns, &src, mac, false, MRC_L2_NA_TAKEN);
	return ns_answer(l2, now_ns, mac != NULL ? mac : frame->smac, src.raw, target.raw, reply);
}

static enum mrc_l2_event na_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, uint32_t len)
{
	const uint8_t *ip = frame->body, *icmp = ip + IPV6_LEN, *mac;
	struct mrc_gid target;
	bool solicited = (icmp[4] & NA_SOLICITED) != 0;

	memcpy(target.raw, icmp + 8, 16);
	if (!option_find(icmp, len, OPT_TARGET, &mac) || target.raw[0] == 0xFF ||
		(solicited && ip[24] == 0xFF))
		return MRC_L2_MALFORMED;
	if (mrc_l2_addr_is_own(l2, &target))
		return MRC_L2_CONFLICT;
	/* An answer to a question sent to one station may leave the option out. */
	if (mac == NULL)
		mac = frame->smac;
	return mrc_l2_neigh_heard(l2, now_ns, &target, mac, solicited, MRC_L2_NA_TAKEN);
}

static enum mrc_l2_event echo6_rx(struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame,
	uint32_t len, struct l2_reply *reply)
{
	const uint8_t *ip = frame->body;
	struct mrc_gid src, dst;
	uint8_t *icmp;

	memcpy(src.raw, ip + 8, 16);
	memcpy(dst.raw, ip + 24, 16);
	if (!mrc_l2_addr_is_own(l2, &dst) || l2_mac_is_group(frame->dmac))
		return MRC_L2_NOT_OURS;
	if (src.raw[0] == 0xFF || memcmp(src.raw, any, 16) == 0 || mrc_l2_addr_is_own(l2, &src))
		return MRC_L2_MALFORMED;
	if (reply->room < 18 + IPV6_LEN + len)
		return MRC_L2_TOO_LONG;
	if (!mrc_l2_bucket_take(&l2->answers, now_ns, l2->cfg.answers_per_s))
		return MRC_L2_LIMITED;
	icmp = ipv6_put(l2, frame->smac, dst.raw, src.raw, len, ECHO_HOP_LIMIT, reply->buf);
	memcpy(icmp, ip + IPV6_LEN, len);
	icmp[0] = ICMP6_ECHO_REPLY;
	reply->len = icmp6_close(reply->buf, icmp, len);
	return MRC_L2_ECHO_ANSWERED;
}

static enum mrc_l2_event nd_rx(struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame,
	uint32_t len, struct l2_reply *reply)
{
	const uint8_t *ip = frame->body, *icmp = ip + IPV6_LEN;

	if (ip[7] != ND_HOP_LIMIT)
		return MRC_L2_HOP_LIMIT;
	if (icmp[1] != 0)
		return MRC_L2_MALFORMED;
	if (len < ND_LEN)
		return MRC_L2_SHORT;
	if (icmp[0] == ICMP6_NS)
		return ns_rx(l2, now_ns, frame, len, reply);
	return na_rx(l2, now_ns, frame, len);
}

enum mrc_l2_event mrc_l2_icmp6_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply)
{
	const uint8_t *ip = frame->body, *icmp = ip + IPV6_LEN;
	uint32_t len;

	if (frame->len < IPV6_LEN + ICMP6_LEN)
		return MRC_L2_SHORT;
	len = l2_get16(ip + 4);
	if (ip[0] >> 4 != 6)
		return MRC_L2_MALFORMED;
	if (ip[6] != L2_PROTO_ICMPV6)
		return MRC_L2_OTHER;
	if (len < ICMP6_LEN || len > frame->len - IPV6_LEN)
		return MRC_L2_SHORT;
	if (icmp6_sum(ip + 8, ip + 24, icmp, len) != 0)
		return MRC_L2_CHECKSUM;
	if (icmp[0] == ICMP6_NS || icmp[0] == ICMP6_NA)
		return nd_rx(l2, now_ns, frame, len, reply);
	if (icmp[0] == ICMP6_ECHO && icmp[1] == 0)
		return echo6_rx(l2, now_ns, frame, len, reply);
	return MRC_L2_OTHER;
}
