/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel may never answer, with a bound on the wait for it.
 *
 * Writes: `create` takes as long as the driver likes; `remove` of a device that somebody opened a moment ago blocks
 * beyond any signal. So both are done by a child. When the time is up it is left to itself: it has none of our standard
 * descriptors, so libvirt does not wait for it, and it keeps the pGPU's lock, which it inherited, until the kernel
 * lets it go.
 *
 * Reads: an attribute that a vendor's driver answers can hang in the driver, too. A child that shares our memory reads
 * them; where one is not answered in time the child is left to itself, and holds nothing of ours. As long as it hangs
 * nobody of this process asks the same device again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/ident.h"

enum { BOUNDED_ANSWER_MS = 1000 }; /* by then a driver that is well has answered */

/*
 * Runs work(arg, err) in a child and gives back its result. -ETIMEDOUT after `wait_ms`: it goes on without us; -EINTR:
 * the child was killed, and its write has ended, in whichever way: the caller looks what came of it.
 */
int timed_child_run(int (*work)(void *arg, struct err *err), void *arg, int wait_ms, struct err *err);

/*
 * Starts a child that outlives us: a session of its own, no inherited descriptor but `keep`, standard ones at
 * /dev/null. 1 in the child, which ends with _exit(); 0 in the parent.
 */
int timed_child_detach(int keep, struct err *err);

/*
 * Collects those of timed_child_run() that were left to themselves and have ended since: for a program that lives long,
 * which calls both from one thread.
 */
void timed_child_reap(void);

/*
 * Runs work(arg, err), which reads by timed_child_read(), in a child that shares our memory: what it finds is there
 * afterwards. -ETIMEDOUT where one read took longer than `wait_ms`: then the work ended in the middle of that read,
 * what it has made so far is ours, and its variables are lost. Of the descriptors it has only `keep`. Within such work
 * it is a plain call.
 */
int timed_child_look(int (*work)(void *arg, struct err *err), void *arg, int keep, int wait_ms, struct err *err);

/*
 * file_read() of an attribute that the driver of `who` answers; -ETIMEDOUT where it does not, or has not answered
 * another read yet. Within timed_child_look() `buf` must be the work's own: its stack, or memory that it got.
 */
ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);

/* A device whose driver does not answer. */
struct timed_child_silent {
	char who[PARENT_SIZE];
	pid_t pid;        /* of the child that waits for the answer */
	uint64_t start;   /* of that process, see host_process_start() */
	int64_t since_ms; /* CLOCK_MONOTONIC */
};

/* Those that have not answered yet; one that another process waits for can be added. */
size_t timed_child_silents(struct timed_child_silent *out, size_t max);
void timed_child_add_silent(const struct timed_child_silent *silent);
