/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits for a driver that may never answer: a child does the work, and its parent waits for a limited time.
 *
 * When the time is up, the parent abandons the child, and never kills it: the child ends when the call that hangs
 * returns. A child of a killed parent ends before its next call that can hang. Only timed_child_read() and
 * timed_child_poke() can hang. While a read hangs, this process does not read from that device again.
 *
 * The child keeps only the descriptors that it is given, such as the lock of its write, and no standard ones, because
 * libvirt would wait for those to close.
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
	BOUNDED_ANSWER_MS = 1000, /* a working driver answers within this time */
	TIMED_CHILD_SILENT_MAX = 64,
};

/* What the child does. The parent gets the return value and `err`; all other results must be in shared memory. */
typedef int timed_child_work(void *arg, struct err *err);

/*
 * Runs work that writes, with `wait_ms` for all of it. If the work begins with a read and `read_ms` is not 0, that read
 * has `read_ms` of its own. The child keeps copies of the descriptors `root` and `locks` (-1: none). Returns the result
 * of `work`, or:
 *   -ETIMEDOUT: a call hangs in the child, which makes no other call; a write may still succeed
 *   -EHOSTDOWN: the first read was not answered in time, and nothing is written
 *   -EINTR: the child was killed, and its write has ended; the caller must check the outcome
 *   other: fork failed
 */
int timed_child_run(timed_child_work *work, void *arg, int root, const int locks[2], int wait_ms, int read_ms,
		    struct err *err);

/*
 * Runs work that reads, with `wait_ms` for each read, and twice that for successive reads of one device. The child
 * keeps the descriptor `root`, and allocates from `arena`; NULL: from its own memory, which is lost. `work` must not
 * call this function. Returns the result of `work`, or:
 *   -ETIMEDOUT: a read hangs, and the work is incomplete
 *   -EINTR: the child was killed
 *   other: fork failed
 */
int timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int root, int wait_ms, struct err *err);

/* True in a timed child, which exits with EXIT_FAILURE if it runs out of memory. Its parent then ends as well. */
bool timed_child_is_this(void);

/*
 * sys_read() of an attribute of the device `who`; `buf` NULL and `size` 0: sys_probe(). Returns as sys_read(), or:
 *   -ETIMEDOUT: the driver does not answer, or an earlier read of `who` still hangs
 *   -EINTR: the child that reads was killed
 */
ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);

/* sys_poke() for work of timed_child_run(). */
int timed_child_poke(int dir, const char *path, const char *data, size_t len);

struct timed_child_silent {
	char who[PARENT_SIZE];
	pid_t pid;        /* the child that waits for the answer */
	uint64_t start;   /* its sys_process_start() */
	int64_t since_ms; /* CLOCK_MONOTONIC */
};

/* The silent devices, valid until the next call of a function here. */
const struct timed_child_silent *timed_child_silents(size_t *n);

/* Adds a device that another process found silent. */
void timed_child_add_silent(const struct timed_child_silent *silent);
