/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks: flock(2) of a whole file, and fcntl(2) locks of single bytes of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/sys.h"

enum { LOCK_STEP_MS = 2 };

/* O_NONBLOCK: the open must not hang if the file has been replaced with a pipe. */
#define O_LOOK (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)

/* Opens or creates the file. On a read-only file system an existing file is enough for a lock. */
static int open_lock(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 && errno == EROFS ? openat(dir, name, O_LOOK) : fd;
}

int sys_lock(int dir, const char *name, uint64_t start, int wait_ms)
{
	autoclose int fd = open_lock(dir, name);
	int64_t end = sys_now_ms() + wait_ms;
	char holder[64];

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (sys_now_ms() >= end)
			return -ETIMEDOUT;
		sys_sleep_ms(LOCK_STEP_MS);
	}
	snprintf(holder, sizeof(holder), "%-10d %-20llu\n", (int)getpid(), (unsigned long long)start);
	/* Other processes need the holder only for a message, so a full or read-only file system is not an error. */
	if (pwrite(fd, holder, strlen(holder), 0) < 0 && errno != ENOSPC && errno != EDQUOT && errno != EBADF)
		return -errno;
	return steal_fd(&fd);
}

void sys_unlock(int lock)
{
	flock(lock, LOCK_UN);
}

bool sys_locked(int dir, const char *name)
{
	autoclose int fd = dir < 0 ? -1 : openat(dir, name, O_LOOK);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

void sys_lock_holder(int dir, const char *name, char *who, size_t size)
{
	unsigned long long start;
	char text[64];
	int pid;

	if (sys_read(dir, name, text, sizeof(text)) < 0 || sscanf(text, "%d %llu", &pid, &start) != 2)
		snprintf(who, size, "an unknown process");
	else if (sys_process_lives(pid, start))
		snprintf(who, size, "process %d", pid);
	else
		snprintf(who, size, "a child of process %d (which has exited), blocked in the kernel", pid);
}

static struct flock byte_of(const char *key, short type)
{
	uint64_t place = 0xcbf29ce484222325;

	for (; *key; key++)
		place = (place ^ (unsigned char)*key) * 0x100000001b3;
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(place >> 1), .l_len = 1 };
}

/* Only queries the lock, because taking it would make another process's simultaneous attempt fail. */
static bool is_held(int fd, const char *key)
{
	struct flock byte = byte_of(key, F_WRLCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

int sys_lock_key(int dir, const char *name, const char *key)
{
	/* Read locks need no write permission but do not exclude each other, so callers must serialize attempts. */
	struct flock byte = byte_of(key, F_RDLCK);
	autoclose int fd = open_lock(dir, name);

	if (fd < 0)
		return -errno;
	if (is_held(fd, key))
		return -EBUSY;
	return fcntl(fd, F_OFD_SETLK, &byte) < 0 ? -errno : steal_fd(&fd);
}

void sys_unlock_key(int lock, const char *key)
{
	struct flock byte = byte_of(key, F_UNLCK);

	fcntl(lock, F_OFD_SETLK, &byte);
}

bool sys_locked_key(int dir, const char *name, const char *key)
{
	autoclose int fd = dir < 0 ? -1 : openat(dir, name, O_LOOK);

	return is_held(fd, key);
}
