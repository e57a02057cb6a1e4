/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A write to the kernel that may never come back, with a bound on the wait for it.
 *
 * `create` takes as long as the driver likes; `remove` of a device that somebody opened a moment ago blocks beyond
 * any signal. So both are done by a child. When the time is up it is left to itself: it has none of our standard
 * descriptors, so libvirt does not wait for it, and it keeps the pGPU's lock, which it inherited, until the kernel
 * lets it go.
 *
 * Depends on: err. Knows nothing of what the work is.
 */
#pragma once

#include "err.h"

/*
 * Runs work(arg, err) in a child and gives back its result. -ETIMEDOUT after `wait_ms`: it goes on without us; -EINTR:
 * the child was killed, and its write has ended, in whichever way: the caller looks what came of it.
 */
int bounded_run(int (*work)(void *arg, struct err *err), void *arg, int wait_ms, struct err *err);

/*
 * Starts a child that outlives us: a session of its own, no inherited descriptor but `keep`, standard ones at
 * /dev/null. 1 in the child, which ends with _exit(); 0 in the parent.
 */
int bounded_detach(int keep, struct err *err);

/*
 * Collects those of bounded_run() that were left to themselves and have ended since: for a program that lives long,
 * which calls both from one thread.
 */
void bounded_reap(void);
