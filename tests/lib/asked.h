/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sees each read of a driver's answer, and whether the store's lock is held then. Link it with $(SEES_READS). */
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include "sys/sys.h"
#include "sys/timed_child.h"

struct asked {
	const struct host *host; /* whose store it is */
	int reads, locked;       /* locked: those of them under the store's lock */
	void (*then)(void);      /* called after each, in the process that reads */
};

/* Shared with the children that read: to be called before them. */
static inline struct asked *asked_by_all(void)
{
	static struct asked *all;

	if (!all)
		all = mem_take(mem_arena(2 * sizeof(*all)), sizeof(*all));
	return all;
}

#define asked (*asked_by_all())

static inline bool asked_under_lock(void)
{
	int fd = openat(asked.host->root, "run/vgpu-lease/lock", O_RDWR | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

ssize_t __real_timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);
ssize_t __wrap_timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);
ssize_t __wrap_timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	ssize_t n = __real_timed_child_read(who, dir, path, buf, size);

	asked.reads++;
	asked.locked += asked_under_lock();
	if (asked.then)
		asked.then();
	return n;
}
