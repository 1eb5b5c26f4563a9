/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP echo over IPv4 (RFC 792), and the Internet checksum. */
#include "l2.h"
#include "l2_private.h"

enum {
	IPV4_LEN = 20,
	ICMP_LEN = 8,
	ICMP_ECHO_REPLY = 0,
	ICMP_ECHO = 8,
	ECHO_TTL = 64,
};

uint32_t mrc_l2_sum(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (; len >= 2; len -= 2, p += 2)
		sum += l2_get16(p);
	if (len == 1)
		sum += (uint32_t)p[0] << 8;
	return sum;
}

uint16_t mrc_l2_sum_fold(uint32_t sum)
{
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Length of header and ICMP message, 0 when the packet is not a whole, sound ICMP packet; then
 * *event_out says why. */
static uint32_t ipv4_check(const struct l2_frame *frame, enum mrc_l2_event *event_out)
{
	const uint8_t *ip = frame->body;
	uint32_t hdr_len, total;

	*event_out = MRC_L2_SHORT;
	if (frame->len < IPV4_LEN + ICMP_LEN)
		return 0;
	hdr_len = (uint32_t)(ip[0] & 15) * 4;
	total = l2_get16(ip + 2);
	if (ip[0] >> 4 != 4 || hdr_len < IPV4_LEN) {
		*event_out = MRC_L2_MALFORMED;
		return 0;
	}
	if (total > frame->len || total < hdr_len + ICMP_LEN)
		return 0;
	if (ip[9] != L2_PROTO_ICMP)
		*event_out = MRC_L2_OTHER;
	else if (mrc_l2_sum_fold(mrc_l2_sum(0, ip, hdr_len)) != 0)
		*event_out = MRC_L2_CHECKSUM;
	else if ((l2_get16(ip + 6) & 0x3FFF) != 0)
		*event_out = MRC_L2_FRAGMENT;
	else
		return total;
	return 0;
}

static void echo_put(struct mrc_l2 *l2, const struct l2_frame *frame, uint32_t hdr_len,
	uint32_t icmp_len, struct l2_reply *reply)
{
	const uint8_t *from = frame->body;
	uint32_t off = mrc_l2_eth_put(l2, frame->smac, L2_TYPE_IPV4, reply->buf);
	uint8_t *ip = reply->buf + off, *icmp = ip + IPV4_LEN;

	/* Options are not sent back. */
	memset(ip, 0, IPV4_LEN);
	ip[0] = 0x45;
	ip[1] = from[1];
	l2_put16(ip + 2, (uint16_t)(IPV4_LEN + icmp_len));
	memcpy(ip + 4, from + 4, 2);
	ip[8] = ECHO_TTL;
	ip[9] = L2_PROTO_ICMP;
	memcpy(ip + 12, from + 16, 4);
	memcpy(ip + 16, from + 12, 4);
	l2_put16(ip + 10, mrc_l2_sum_fold(mrc_l2_sum(0, ip, IPV4_LEN)));
	memcpy(icmp, from + hdr_len, icmp_len);
	icmp[0] = ICMP_ECHO_REPLY;
	l2_put16(icmp + 2, 0);
	l2_put16(icmp + 2, mrc_l2_sum_fold(mrc_l2_sum(0, icmp, icmp_len)));
	reply->len = mrc_l2_pad(reply->buf, off + IPV4_LEN + icmp_len);
}

enum mrc_l2_event mrc_l2_icmp_rx(
	struct mrc_l2 *l2, uint64_t now_ns, const struct l2_frame *frame, struct l2_reply *reply)
{
	enum mrc_l2_event event;
	uint32_t total = ipv4_check(frame, &event), hdr_len, icmp_len;
	const uint8_t *icmp;
	struct mrc_gid src, dst;

	if (total == 0)
		return event;
	hdr_len = (uint32_t)(frame->body[0] & 15) * 4;
	icmp = frame->body + hdr_len;
	icmp_len = total - hdr_len;
	if (icmp[0] != ICMP_ECHO || icmp[1] != 0)
		return MRC_L2_OTHER;
	l2_addr_v4(&src, frame->body + 12);
	l2_addr_v4(&dst, frame->body + 16);
	if (!mrc_l2_addr_is_own(l2, &dst) || l2_mac_is_group(frame->dmac))
		return MRC_L2_NOT_OURS;
	if (src.raw[12] == 0 || src.raw[12] == 127 || src.raw[12] >= 224 ||
		mrc_l2_addr_is_own(l2, &src))
		return MRC_L2_MALFORMED;
	if (mrc_l2_sum_fold(mrc_l2_sum(0, icmp, icmp_len)) != 0)
		return MRC_L2_CHECKSUM;
	if (reply->room < L2_FRAME_MIN || reply->room < 18 + IPV4_LEN + icmp_len)
		return MRC_L2_TOO_LONG;
	if (!mrc_l2_bucket_take(&l2->answers, now_ns, l2->cfg.answers_per_s))
		return MRC_L2_LIMITED;
	echo_put(l2, frame, hdr_len, icmp_len, reply);
	return MRC_L2_ECHO_ANSWERED;
}
