/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Completes releases as soon as any program marks them. The hook leaves slow releases to the device handler.
 *
 * The finisher is a separate process that waits only for changes in the directory of leases. libvirt can keep its
 * clients waiting as long as a hook runs, and a release must not wait for that. The process ends with its parent. Both
 * can be killed at any instant.
 *
 * It notices a `releasing` lease at once (inotify). If a release cannot be finished yet, it retries after an interval
 * that doubles, up to five seconds. If nothing is left, it sleeps. If the kernel has no inotify watch left, it looks
 * every second.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"

struct finisher;

/* Starts the process. Copies `host`, whose descriptors must stay open. */
int finisher_start(struct finisher **out, const struct host *host, const struct policy *policy, struct err *err);

/* Restarts the process with a new policy. */
void finisher_policy(struct finisher *finisher, const struct policy *policy);

/* Makes the process look again now, after a change that no file shows. Restarts it if it was killed. */
void finisher_wake(struct finisher *finisher);

/*
 * An eventfd that becomes readable when a lease, or the whole directory of leases, disappears. Most such leases were
 * released, but a running domain may have lost one. The caller reads the eventfd to reset it.
 */
int finisher_lost_fd(const struct finisher *finisher);

/* Ends the process and frees `finisher`. */
void finisher_stop(struct finisher *finisher);
