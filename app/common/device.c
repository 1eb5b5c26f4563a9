/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * The ring spends up to 66 bytes of a frame on its own. The driver takes the ring for one array, so
 * that a block must be a whole number of frames: multiples of 512 fit eight to a multiple of a
 * page.
 */
uint32_t mrc_device_ring_frame_len(uint32_t mtu)
{
	return (mrc_device_frame_len(mtu) + 66 + 511) / 512 * 512;
}

bool mrc_device_arg(const char *device, const char *name, char *out, uint32_t room)
{
	size_t name_len = strlen(name);
	const char *at = strchr(device, ',');

	while (at != NULL) {
		const char *begin = at + 1;
		const char *end = strchr(begin, ',');
		size_t len = end ? (size_t)(end - begin) : strlen(begin);

		if (len > name_len && strncmp(begin, name, name_len) == 0 &&
			begin[name_len] == '=') {
			snprintf(
				out, room, "%.*s", (int)(len - name_len - 1), begin + name_len + 1);
			return true;
		}
		at = end;
	}
	return false;
}

bool mrc_device_is_memif(const char *device)
{
	return strncmp(device, "net_memif", 9) == 0;
}

bool mrc_device_is_af_packet(const char *device)
{
	return strncmp(device, "net_af_packet", 13) == 0;
}

void mrc_device_complete(const char *device, uint32_t ring_frame_len, char *out)
{
	const size_t room = MRC_DEVICE_TEXT + 64;
	char value[32];

	if (mrc_device_is_memif(device) && !mrc_device_arg(device, "bsize", value, sizeof(value)))
		snprintf(out, room, "%s,bsize=%u", device,
			ring_frame_len > 8192 ? ring_frame_len : 8192);
	else if (mrc_device_is_af_packet(device) &&
		 !mrc_device_arg(device, "framesz", value, sizeof(value)))
		snprintf(out, room, "%s,framesz=%u,blocksz=%u,framecnt=512", device, ring_frame_len,
			ring_frame_len * 8);
	else
		snprintf(out, room, "%s", device);
}

/* The socket file that the device will bind, "" if none. */
static void server_socket(const char *device, char *path_out, uint32_t room)
{
	char role[32];

	if (!mrc_device_is_memif(device) || !mrc_device_arg(device, "role", role, sizeof(role)) ||
		(strcmp(role, "server") != 0 && strcmp(role, "master") != 0) ||
		!mrc_device_arg(device, "socket", path_out, room))
		path_out[0] = '\0';
}

int mrc_device_socket_free(const char *device, char *reason_out, uint32_t room)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char path[MRC_DEVICE_TEXT];
	struct stat st;
	int fd, error;

	server_socket(device, path, sizeof(path));
	if (path[0] == '\0' || lstat(path, &st) != 0)
		return MRC_OK;
	snprintf(un.sun_path, sizeof(un.sun_path), "%.*s", (int)sizeof(un.sun_path) - 1, path);
	/*
	 * A socket of another type than the driver's: the kernel answers for a live owner
	 * (EPROTOTYPE), who notices nothing. A connection that came and went could end him: EAL's
	 * interrupt thread panics on a descriptor that its driver has closed meanwhile.
	 */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = fd < 0 || connect(fd, (const struct sockaddr *)&un, sizeof(un)) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (S_ISSOCK(st.st_mode) && error == ECONNREFUSED && unlink(path) == 0)
		return MRC_OK;
	snprintf(reason_out, room, "device \"%s\": %s %s", device,
		error == 0 || error == EPROTOTYPE ? "another process serves the socket"
						  : "cannot remove the stale socket",
		path);
	return MRC_ERR_STATE;
}

void mrc_device_socket_remove(const char *device)
{
	char path[MRC_DEVICE_TEXT];

	server_socket(device, path, sizeof(path));
	if (path[0] == '/')
		unlink(path);
}
