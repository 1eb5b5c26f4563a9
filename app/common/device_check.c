/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_check.c - the arguments of the virtual devices that this project is used with, before the
 * driver sees them: drivers are silent about some mistakes, and name no key for others.
 */
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "device.h"
#include "reason.h"

#define SOCKET_ROOM sizeof(((struct sockaddr_un *)NULL)->sun_path)
#define SECRET_LEN  24 /* of memif's handshake */
#define TPACKET_LEN 66 /* header and alignment in front of a frame */

/* One argument that a driver knows. Numbers have a range; texts a list of words, or any. */
struct argument {
	const char *name;
	uint64_t min, max;        /* max 0: a text */
	const char *const *words; /* NULL: any text */
};

static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const roles[] = {"server", "client", "master", "slave", NULL};

static const struct argument memif_args[] = {
	{"role", 0, 0, roles},
	{"id", 0, UINT32_MAX, NULL},
	{"bsize", 1, 65535, NULL},
	{"rsize", 1, 14, NULL},
	{"socket", 0, 0, NULL},
	{"socket-abstract", 0, 0, yes_no},
	{"mac", 0, 0, NULL},
	{"zero-copy", 0, 0, yes_no},
	{"secret", 0, 0, NULL},
	{NULL, 0, 0, NULL},
};
static const struct argument af_packet_args[] = {
	{"iface", 0, 0, NULL},
	{"qpairs", 1, 16, NULL},
	{"blocksz", 4096, 1u << 30, NULL},
	{"framesz", 256, 65536, NULL},
	{"framecnt", 1, 65536, NULL},
	{"qdisc_bypass", 0, 1, NULL},
	{NULL, 0, 0, NULL},
};

static const struct argument *argument_find(const struct argument *known, const char *text)
{
	const size_t len = strcspn(text, "=,");

	for (; known->name != NULL; known++)
		if (strlen(known->name) == len && strncmp(known->name, text, len) == 0)
			return known;
	return NULL;
}

/* "role, id, bsize" */
static const char *names_list(const struct argument *known, char *out, size_t room)
{
	size_t len = 0;

	for (; known->name != NULL && len < room; known++)
		len += (size_t)snprintf(
			out + len, room - len, "%s%s", len != 0 ? ", " : "", known->name);
	return out;
}

static int words_check(const struct argument *arg, const char *value, char *reason)
{
	char list[64] = "";
	size_t len = 0;

	for (const char *const *word = arg->words; *word != NULL; word++) {
		if (strcmp(*word, value) == 0)
			return MRC_OK;
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, "%s\"%s\"", len != 0 ? ", " : "", *word);
	}
	return mrc_refuse(reason, "\"%s=%s\": want one of %s", arg->name, value, list);
}

static int number_check(const struct argument *arg, const char *value, char *reason)
{
	char *end;
	unsigned long long number =
		isdigit((unsigned char)value[0]) ? strtoull(value, &end, 10) : UINT64_MAX;

	if (isdigit((unsigned char)value[0]) && *end == '\0' && number >= arg->min &&
		number <= arg->max)
		return MRC_OK;
	return mrc_refuse(reason, "\"%s=%s\": want a whole number from %llu to %llu", arg->name,
		value, (unsigned long long)arg->min, (unsigned long long)arg->max);
}

/* Each argument known, given once, with a value that the driver takes. */
static int arguments_check(const char *device, const struct argument *known, char *reason)
{
	for (const char *at = strchr(device, ','); at != NULL; at = strchr(at + 1, ',')) {
		const char *text = at + 1;
		const int len = (int)strcspn(text, ",");
		const struct argument *arg = argument_find(known, text);
		char name[32], value[MRC_DEVICE_TEXT], list[160];
		int err = MRC_OK;

		if (len == 0)
			continue;
		if (arg == NULL)
			return mrc_refuse(reason, "\"%.*s\": %.*s has no such argument; it has %s",
				len, text, (int)strcspn(device, ","), device,
				names_list(known, list, sizeof(list)));
		if (text[strlen(arg->name)] != '=' || text[strlen(arg->name) + 1] == ',' ||
			text[strlen(arg->name) + 1] == '\0')
			return mrc_refuse(reason, "\"%s\" has no value", arg->name);
		snprintf(name, sizeof(name), ",%s=", arg->name);
		if (strstr(at + 1, name) != NULL)
			return mrc_refuse(reason, "\"%s\" is given twice; keep one", arg->name);
		mrc_device_arg(device, arg->name, value, sizeof(value));
		if (arg->max != 0)
			err = number_check(arg, value, reason);
		else if (arg->words != NULL)
			err = words_check(arg, value, reason);
		if (err)
			return err;
	}
	return MRC_OK;
}

static uint32_t number_of(const char *device, const char *name, uint32_t otherwise)
{
	char value[32];

	return mrc_device_arg(device, name, value, sizeof(value))
		       ? (uint32_t)strtoul(value, NULL, 10)
		       : otherwise;
}

static bool is_mac(const char *text)
{
	unsigned bytes[6];
	int end = 0;

	return sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &bytes[0], &bytes[1], &bytes[2], &bytes[3],
		       &bytes[4], &bytes[5], &end) == 6 &&
	       text[end] == '\0';
}

/* A server cannot make its socket: the driver would not say why. */
static bool folder_missing(const char *device, const char *path)
{
	char role[16], folder[MRC_DEVICE_TEXT];
	const char *slash = strrchr(path, '/');

	if (!mrc_device_arg(device, "role", role, sizeof(role)) ||
		(strcmp(role, "server") != 0 && strcmp(role, "master") != 0) || slash == NULL)
		return false;
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return access(folder, W_OK | X_OK) != 0;
}

static int memif_check(const char *device, uint32_t mtu, char *reason)
{
	const uint32_t frame_len = mrc_device_frame_len(mtu);
	const uint32_t bsize = number_of(device, "bsize", UINT32_MAX);
	char value[MRC_DEVICE_TEXT], path[MRC_DEVICE_TEXT];

	if (bsize < frame_len)
		return mrc_refuse(reason,
			"\"bsize=%u\" is too small for IP packets of %u bytes: their frames take "
			"%u; raise it or leave it out",
			bsize, mtu, frame_len);
	if (mrc_device_arg(device, "mac", value, sizeof(value)) && !is_mac(value))
		return mrc_refuse(
			reason, "\"mac=%s\": want a link address like 02:00:00:00:00:01", value);
	if (mrc_device_arg(device, "secret", value, sizeof(value)) && strlen(value) >= SECRET_LEN)
		return mrc_refuse(reason, "\"secret\" has more than %d characters", SECRET_LEN - 1);
	if (!mrc_device_arg(device, "socket", path, sizeof(path)))
		return MRC_OK;
	if (strlen(path) >= SOCKET_ROOM)
		return mrc_refuse(reason,
			"socket path \"%s\" has %zu characters, a UNIX socket takes %zu; choose a "
			"shorter path",
			path, strlen(path), SOCKET_ROOM - 1);
	if (folder_missing(device, path))
		return mrc_refuse(reason,
			"socket \"%s\": its folder does not exist or is not ours to write; make it "
			"or choose another",
			path);
	if (path[0] == '/' && !mrc_device_arg(device, "socket-abstract", value, sizeof(value)))
		return mrc_refuse(reason,
			"socket \"%s\" is a path but the driver takes it as an abstract name; add "
			"\"socket-abstract=no\"",
			path);
	return MRC_OK;
}

/* A ring is made of blocks of whole frames; a block is a number of pages. */
static int af_packet_ring_check(const char *device, uint32_t mtu, char *reason)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	const uint32_t need = mrc_device_ring_frame_len(mtu);
	const uint32_t framesz = number_of(device, "framesz", need);
	const uint32_t blocksz = number_of(device, "blocksz", 0);

	if (framesz < mrc_device_frame_len(mtu) + TPACKET_LEN)
		return mrc_refuse(reason,
			"\"framesz=%u\" is too small for IP packets of %u bytes; use "
			"framesz=%u,blocksz=%u or leave both out",
			framesz, mtu, need, need * 8);
	if (framesz % 16 != 0)
		return mrc_refuse(reason, "\"framesz=%u\" is no multiple of 16", framesz);
	if (blocksz != 0 && (blocksz % page != 0 || blocksz % framesz != 0))
		return mrc_refuse(reason,
			"\"blocksz=%u\" must be a multiple of the page size %u and of framesz %u; "
			"leave it out, or use framesz=%u,blocksz=%u",
			blocksz, page, framesz, need, need * 8);
	if (blocksz != 0 && number_of(device, "framecnt", 512) < blocksz / framesz)
		return mrc_refuse(reason,
			"\"framecnt\" is less than the %u frames of one block; raise it",
			blocksz / framesz);
	return MRC_OK;
}

static int af_packet_check(const char *device, uint32_t mtu, char *reason)
{
	char iface[MRC_DEVICE_TEXT];

	if (!mrc_device_arg(device, "iface", iface, sizeof(iface)))
		return mrc_refuse(reason, "\"%s\" names no interface; add \"iface=NAME\"", device);
	if (strlen(iface) >= IFNAMSIZ || if_nametoindex(iface) == 0)
		return mrc_refuse(reason,
			"there is no network interface \"%s\"; \"ip link\" lists those of this "
			"namespace",
			iface);
	return af_packet_ring_check(device, mtu, reason);
}

int mrc_device_check(const char *device, uint32_t mtu, char *reason_out)
{
	int err = MRC_OK;

	if (mrc_device_is_memif(device)) {
		err = arguments_check(device, memif_args, reason_out);
		return err ? err : memif_check(device, mtu, reason_out);
	}
	if (mrc_device_is_af_packet(device)) {
		err = arguments_check(device, af_packet_args, reason_out);
		return err ? err : af_packet_check(device, mtu, reason_out);
	}
	return err;
}
