/* SPDX-License-Identifier: BSD-2-Clause */
#include "grace.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 128,
	LINE_LEN = 64,
	WAIT_MS = 2000, /* a lcore that makes no turn for so long hangs elsewhere */
};

/* Odd: polling; even: not. */
struct counter {
	_Alignas(LINE_LEN) _Atomic uint64_t turns;
	_Atomic int taken;
};

static struct counter counters[THREADS];
static _Thread_local struct counter *mine;

void mrc_grace_enter(void)
{
	for (int i = 0; i < THREADS && mine == NULL; i++) {
		int no = 0;

		if (atomic_compare_exchange_strong(&counters[i].taken, &no, 1))
			mine = &counters[i];
	}
	if (mine != NULL)
		atomic_fetch_or(&mine->turns, 1);
}

void mrc_grace_turn(void)
{
	if (mine != NULL)
		atomic_store_explicit(&mine->turns,
			atomic_load_explicit(&mine->turns, memory_order_relaxed) + 2,
			memory_order_release);
}

void mrc_grace_leave(void)
{
	if (mine == NULL)
		return;
	atomic_fetch_add(&mine->turns, 1);
	atomic_store(&mine->taken, 0);
	mine = NULL;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void grace_wait(void)
{
	const struct timespec nap = {.tv_nsec = 20000};
	const uint64_t end_ms = now_ms() + WAIT_MS;

	for (int i = 0; i < THREADS; i++) {
		const uint64_t seen = atomic_load(&counters[i].turns);

		if ((seen & 1) == 0 || &counters[i] == mine)
			continue;
		while (atomic_load(&counters[i].turns) == seen && now_ms() < end_ms)
			nanosleep(&nap, NULL);
	}
}

int munmap(void *addr, size_t len)
{
	grace_wait();
	return (int)syscall(SYS_munmap, addr, len);
}

/* The driver's control channels are of this type, and nothing else in these processes is. */
static bool is_control_channel(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t len = syscall(SYS_sendmsg, fd, msg, flags | MSG_NOSIGNAL);

	if (len >= 0 || (errno != EPIPE && errno != ECONNRESET && errno != ENOTCONN) ||
		!is_control_channel(fd))
		return len;
	len = 0;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		len += (ssize_t)msg->msg_iov[i].iov_len;
	return len;
}
