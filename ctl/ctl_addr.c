/* SPDX-License-Identifier: BSD-2-Clause */
/* Link and IP addresses as JSON strings. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "ctl_private.h"

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

static bool mac_parse(const char *text, uint8_t *mac_out)
{
	if (strlen(text) != 17)
		return false;
	for (int i = 0; i < 6; i++) {
		int hi = mrc_ctl_digit(text[3 * i]), lo = mrc_ctl_digit(text[3 * i + 1]);

		if (hi > 15 || lo > 15 || (i < 5 && text[3 * i + 2] != ':'))
			return false;
		mac_out[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

int mrc_ctl_decode_mac(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	const char *text = json_string_value(value);
	uint8_t mac[6];

	if (text == NULL || !mac_parse(text, mac))
		return mrc_ctl_fail(
			ctx, value, "must be a link address like \"02:00:00:00:00:01\"");
	if ((mac[0] & 1) != 0)
		return mrc_ctl_fail(ctx, value, "is a group address; the first byte must be even");
	memcpy(member, mac, sizeof(mac));
	return MRC_OK;
}

int mrc_ctl_decode_ip(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member)
{
	const char *text = json_string_value(value);
	uint8_t raw[16];

	memcpy(raw, v4_prefix, sizeof(v4_prefix));
	if (text == NULL ||
		(inet_pton(AF_INET, text, raw + 12) != 1 && inet_pton(AF_INET6, text, raw) != 1))
		return mrc_ctl_fail(
			ctx, value, "must be an IP address like \"10.0.0.1\" or \"fd00::1\"");
	memcpy(member, raw, sizeof(raw));
	return MRC_OK;
}

json_t *mrc_ctl_dump_mac(const struct mrc_ctl_field *field, const void *member)
{
	const uint8_t *mac = member;
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		mac[3], mac[4], mac[5]);
	return json_string(text);
}

json_t *mrc_ctl_dump_ip(const struct mrc_ctl_field *field, const void *member)
{
	const uint8_t *raw = member;
	char text[INET6_ADDRSTRLEN];

	if (memcmp(raw, v4_prefix, sizeof(v4_prefix)) == 0)
		inet_ntop(AF_INET, raw + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, raw, text, sizeof(text));
	return json_string(text);
}
