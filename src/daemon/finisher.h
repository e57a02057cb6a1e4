/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Completes releases as soon as they are marked, by whomever: the hook leaves those that take time to the device
 * handler.
 *
 * A process of its own, which waits for nothing but the directory of leases: libvirt may keep its other callers waiting
 * for as long as a hook runs, and a device whose guest is gone must not wait with them. The process ends with its
 * parent. Like that, it may be killed at any instant.
 *
 * A lease that becomes `releasing` is noticed at once (inotify). One that cannot be finished yet is tried again after a
 * time that doubles, up to five seconds; when nothing is left it sleeps. Where the kernel has no inotify watch for it,
 * it looks every second.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"

struct finisher;

/* Starts it; `host` must outlive it. */
int finisher_start(struct finisher **out, const struct host *host, const struct policy *policy, struct err *err);

/* Takes a new policy over. */
void finisher_policy(struct finisher *finisher, const struct policy *policy);

/* Has it look again now: something has changed that no file tells. One that was killed is started anew. */
void finisher_wake(struct finisher *finisher);

/*
 * An eventfd that becomes readable when a lease has gone, or the directory of leases with all of them: mostly
 * released, but it may be lost to a domain that runs. Whoever waits for it reads it.
 */
int finisher_lost_fd(const struct finisher *finisher);

/* Ends it. */
void finisher_stop(struct finisher *finisher);
