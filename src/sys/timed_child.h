/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The wait for a driver that may never answer: a child does the work, and its parent waits for so long and no longer.
 *
 * What the child finds is its parent's if it lies in memory that the two share (base/mem.h: an arena). If the time is
 * up, the child is left to itself in the middle of the call that hangs, and never killed. It ends when that call
 * returns, and does nothing more; so it does if its parent was killed. It has no standard descriptor of ours, because
 * libvirt would wait for it, and no other descriptor but those it is given: the child of a write keeps the lock that
 * protects the write until the kernel lets it go.
 *
 * Only timed_child_read() and timed_child_poke() can hang: the child is left nowhere else. As long as a read hangs,
 * this process does not ask the same device again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/mem.h"

enum {
	BOUNDED_ANSWER_MS = 1000, /* a driver in working order has answered by then */
	TIMED_CHILD_SILENT_MAX = 64,
};

/* What the child does. Its error is its parent's; all else that is to be so it writes to shared memory. */
typedef int timed_child_work(void *arg, struct err *err);

/*
 * Runs work that writes, with `wait_ms` for all of it; it keeps only the descriptors `root` and `lock` (-1: none).
 * -ETIMEDOUT: the write goes on without us; -EINTR: the child was killed, and its write has ended one way or the other:
 * the caller checks the outcome. The descriptor behind `lock` may be closed at once: the child has its own copy.
 */
int timed_child_run(timed_child_work *work, void *arg, int root, int lock, int wait_ms, struct err *err);

/*
 * Runs work that reads, with `wait_ms` for each read and twice that for those of one device in a row; it keeps only the
 * descriptor `root`, and what it allocates is of `arena` (NULL: its own, and lost). -ETIMEDOUT: a read hangs, and the
 * work ended in the middle of it. Within such work it is a plain call. Within work that writes it bounds the reads of a
 * part of it; if one hangs, timed_child_run() gives -ETIMEDOUT, too, and the rest of the work is not done.
 */
int timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int root, int wait_ms, struct err *err);

/* Is this the child, in its work? Without memory it ends with EXIT_FAILURE, and its parent with it. */
bool timed_child_is_this(void);

/*
 * sys_read() of an attribute that the driver of `who` answers; -ETIMEDOUT if it does not, or has not answered another
 * read yet. `buf` NULL, `size` 0: sys_probe(), of what a link leads to.
 */
ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);

/* sys_poke() within timed_child_run(). */
int timed_child_poke(int dir, const char *path, const char *data, size_t len);

/*
 * Starts a process that outlives us: a session of its own, no inherited descriptor but `keep`, standard ones at
 * /dev/null. 1 in the child, which ends with _exit(); 0 in the parent.
 */
int timed_child_detach(int keep, struct err *err);

/* A device whose driver does not answer. */
struct timed_child_silent {
	char who[PARENT_SIZE];
	pid_t pid;        /* of the child that waits for the answer */
	uint64_t start;   /* of that process, see sys_process_start() */
	int64_t since_ms; /* CLOCK_MONOTONIC */
};

/* Those that have not answered yet; one that another process waits for can be added. */
size_t timed_child_silents(struct timed_child_silent *out, size_t max);
void timed_child_add_silent(const struct timed_child_silent *silent);
