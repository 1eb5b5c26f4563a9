/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grace.h - a grace period before memory shared with a peer is unmapped.
 *
 * When a memif peer goes away, the driver's control thread marks the device as disconnected and
 * then unmaps the rings, while a polling lcore may still be in the middle of a burst (or be
 * preempted there). A process that links this file replaces munmap(2): called from any other
 * thread, it waits until every polling lcore has begun a new turn, which by then sees the
 * disconnection.
 */
#ifndef MRC_APP_GRACE_H
#define MRC_APP_GRACE_H

/* The calling thread polls devices from now on. At most 128 threads; more are not waited for. */
void mrc_grace_enter(void);
/* It holds no pointer into a device's rings right now: once per turn. Cost: one store. */
void mrc_grace_turn(void);
void mrc_grace_leave(void);

#endif
