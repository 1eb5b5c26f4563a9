/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grace.h - what lets a process outlive the peers of its memif devices with DPDK 22.11. A process
 * that links this file replaces two functions of the C library:
 *
 * munmap(2): when a peer goes away, the driver's control thread marks the device as disconnected
 * and then unmaps the rings, while a polling lcore may still be in the middle of a burst (or be
 * preempted there). Called from any other thread, it waits until every polling lcore has begun a
 * new turn, which by then sees the disconnection.
 *
 * sendmsg(2): when a client dies before its connection was accepted, the driver cannot greet it,
 * closes the descriptor and leaves it in EAL's list of interrupt sources, on which EAL panics. To a
 * peer of a control channel that is gone, sending seems to succeed; the end of file that follows
 * takes the orderly way out.
 */
#ifndef MRC_APP_GRACE_H
#define MRC_APP_GRACE_H

/* The calling thread polls devices from now on. At most 128 threads; more are not waited for. */
void mrc_grace_enter(void);
/* It holds no pointer into a device's rings right now: once per turn. Cost: one store. */
void mrc_grace_turn(void);
void mrc_grace_leave(void);

#endif
