/* SPDX-License-Identifier: BSD-2-Clause */
/* Device strings of memif and af_packet: each argument wrong in each way, refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"
#include "reason.h"

#define MEMIF  "net_memif0,role=server,id=0,socket=/tmp/m.sock,socket-abstract=no"
#define PACKET "net_af_packet0,iface=lo"

static char reason[MRC_REASON];

static void good_ones_are_taken(void **state)
{
	static const char *const good[] = {MEMIF, MEMIF ",bsize=8192,rsize=10", MEMIF ",rsize=14",
		MEMIF ",mac=02:00:00:00:00:01,secret=abc,zero-copy=no", MEMIF ",", "net_memif7",
		"net_memif0,role=client,id=4294967295,socket=/nonexistent/x,socket-abstract=no",
		PACKET, PACKET ",qpairs=16", PACKET ",framesz=8192,blocksz=65536,framecnt=512",
		PACKET ",qdisc_bypass=0", "net_null0,whatever=1", "0000:01:00.0", "net_ring0"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (mrc_device_check(good[i], 4608, reason) != MRC_OK)
			fail_msg("%s: %s", good[i], reason);
}

static void wrong_ones_are_refused_by_name(void **state)
{
	static const struct {
		const char *device, *argument, *hint;
	} wrong[] = {
		{MEMIF ",foo=1", "foo=1", "rsize"},
		{MEMIF ",bsize", "bsize", "no value"},
		{MEMIF ",bsize=", "bsize", "no value"},
		{MEMIF ",bsize=0", "bsize=0", "1 to 65535"},
		{MEMIF ",bsize=8192x", "bsize=8192x", "whole number"},
		{MEMIF ",bsize=65536", "bsize=65536", "65535"},
		{MEMIF ",bsize=4625", "bsize=4625", "4626"},
		{MEMIF ",rsize=0", "rsize=0", "1 to 14"},
		{MEMIF ",rsize=15", "rsize=15", "14"},
		{MEMIF ",rsize=-1", "rsize=-1", "14"},
		{MEMIF ",id=1", "id", "twice"},
		{"net_memif0,id=-1", "id=-1", "4294967295"},
		{"net_memif0,id=4294967296", "id=4294967296", "4294967295"},
		{"net_memif0,id=99999999999999999999999", "id=9", "4294967295"},
		{"net_memif0,role=king", "role=king", "\"server\""},
		{"net_memif0,socket=/tmp/x", "/tmp/x", "socket-abstract=no"},
		{"net_memif0,socket=/tmp/x,socket-abstract=maybe", "socket-abstract=maybe", "yes"},
		{"net_memif0,role=server,socket=/nonexistent/d/m,socket-abstract=no",
			"/nonexistent/d/m", "folder"},
		{MEMIF ",mac=zz", "mac=zz", "02:00"},
		{MEMIF ",mac=02:00:00:00:00:01:02", "mac=", "02:00"},
		{MEMIF ",secret=123456789012345678901234", "secret", "23"},
		{MEMIF ",zero-copy=1", "zero-copy=1", "yes"},
		{"net_af_packet0", "net_af_packet0", "iface="},
		{"net_af_packet0,iface=nosuchport", "nosuchport", "ip link"},
		{"net_af_packet0,iface=averyveryverylongname", "averyvery", "ip link"},
		{PACKET ",iface=lo", "iface", "twice"},
		{PACKET ",qpairs=999999", "qpairs=999999", "1 to 16"},
		{PACKET ",qpairs=0", "qpairs=0", "1 to 16"},
		{PACKET ",qpairs=x", "qpairs=x", "1 to 16"},
		{PACKET ",framecnt=0", "framecnt=0", "65536"},
		{PACKET ",framesz=4096,blocksz=65536", "framesz=4096", "framesz=5120"},
		{PACKET ",framesz=8200", "framesz=8200", "multiple of 16"},
		{PACKET ",framesz=8192,blocksz=4096", "blocksz=4096", "multiple"},
		{PACKET ",framesz=8192,blocksz=12288", "blocksz=12288", "multiple"},
		{PACKET ",framesz=8192,blocksz=65536,framecnt=4", "framecnt", "8 frames"},
		{PACKET ",qdisc_bypass=2", "qdisc_bypass=2", "0 to 1"},
		{PACKET ",ifaces=lo", "ifaces=lo", "iface, qpairs"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		reason[0] = '\0';
		if (mrc_device_check(wrong[i].device, 4608, reason) != MRC_ERR_INVAL)
			fail_msg("accepted: %s", wrong[i].device);
		if (!strstr(reason, wrong[i].argument) || !strstr(reason, wrong[i].hint))
			fail_msg("\"%s\" mentions not \"%s\" or not \"%s\"", reason,
				wrong[i].argument, wrong[i].hint);
		assert_null(strchr(reason, '\n'));
	}
}

/* What is filled in for an empty string passes the check itself. */
static void what_is_filled_in_is_right(void **state)
{
	for (uint32_t mtu = 576; mtu <= 9600; mtu += 61) {
		char text[MRC_DEVICE_TEXT + 64];

		mrc_device_complete(PACKET, mrc_device_ring_frame_len(mtu), text);
		if (mrc_device_check(text, mtu, reason) != MRC_OK)
			fail_msg("%s: %s", text, reason);
		mrc_device_complete(MEMIF, mrc_device_ring_frame_len(mtu), text);
		if (mrc_device_check(text, mtu, reason) != MRC_OK)
			fail_msg("%s: %s", text, reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones_are_taken),
		cmocka_unit_test(wrong_ones_are_refused_by_name),
		cmocka_unit_test(what_is_filled_in_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
