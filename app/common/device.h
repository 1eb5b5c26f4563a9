/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - DPDK device strings ("net_memif0,role=server,...") before EAL sees them: their
 * arguments, sizes that fit our frames, and socket files that a dead process left behind.
 */
#ifndef MRC_APP_DEVICE_H
#define MRC_APP_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_err.h"

#define MRC_DEVICE_TEXT 256 /* longest device string with its NUL */

/* Largest frame (without FCS) that carries an IP packet of mtu bytes behind a VLAN tag. */
static inline uint32_t mrc_device_frame_len(uint32_t mtu)
{
	return mtu + 14 + 4;
}

bool mrc_device_is_memif(const char *device);
bool mrc_device_is_af_packet(const char *device);
/* Frame size of an af_packet ring that takes IP packets of mtu bytes. */
uint32_t mrc_device_ring_frame_len(uint32_t mtu);

/* Value of key `name` in a device string, copied to out; false when absent. */
bool mrc_device_arg(const char *device, const char *name, char *out, uint32_t room);

/*
 * Refuses arguments that memif or af_packet would choke on, take in silence or reject without a
 * word, and buffers too small for IP packets of mtu bytes; other drivers judge their own.
 * MRC_ERR_INVAL: reason_out (MRC_REASON bytes) names argument, value and remedy.
 */
int mrc_device_check(const char *device, uint32_t mtu, char *reason_out);

/* The device string with buffers that take a whole frame, where it does not say otherwise. out has
 * MRC_DEVICE_TEXT + 64 bytes. */
void mrc_device_complete(const char *device, uint32_t ring_frame_len, char *out);

/*
 * Removes the socket file of a dead memif server, over which a new one cannot bind. Only a refused
 * connection counts as dead. Errors: MRC_ERR_STATE (somebody serves it, or it cannot be removed;
 * reason_out says which). MRC_OK for every other device.
 */
int mrc_device_socket_free(const char *device, char *reason_out, uint32_t room);
/* Removes the socket file that a memif server of this process bound; nothing for other devices. */
void mrc_device_socket_remove(const char *device);

#endif
