/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The locks of the state: flock(2) of whole files, and fcntl(2) locks of single bytes of the file `lock`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "state/history.h"
#include "state/store.h"

enum { LOCK_NAME_SIZE = PARENT_SIZE + 16, HOLDER_TEXT = 96 };

/* O_NONBLOCK: the open must not hang if the file has been replaced with a pipe. */
#define O_LOOK (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)

/* Opens or creates the file. On a read-only file system an existing file is enough for a lock. */
static int open_lock(const struct store *store, const char *name)
{
	int fd = openat(store->run, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 && errno == EROFS ? openat(store->run, name, O_LOOK) : fd;
}

bool store_locked(const struct store *store, const char *name)
{
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, name, O_LOOK);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

void store_name_holder(const struct store *store, const char *name, char *who, size_t size)
{
	unsigned long long start;
	char text[HOLDER_TEXT];
	int pid;

	if (sys_read(store->run, name, text, sizeof(text)) < 0 || sscanf(text, "%d %llu", &pid, &start) != 2)
		snprintf(who, size, "an unknown process");
	else if (sys_process_lives(pid, start))
		snprintf(who, size, "process %d", pid);
	else
		snprintf(who, size, "a child of process %d (which has exited), blocked in the kernel", pid);
}

uint64_t store_own_start(const struct store *store)
{
	return store->start ? store->start : sys_process_start(getpid());
}

static int held_error(const struct store *store, const char *name, int wait_ms, struct err *err)
{
	const char *fix = wait_ms > 0 ? "; see what it does, or try again (troubleshooting: the-lock-is-held)" : "";
	char waited[32] = "", who[96];

	if (wait_ms > 0)
		snprintf(waited, sizeof(waited), " for over %g s", (wait_ms + 50 - (wait_ms + 50) % 100) / 1000.0);
	store_name_holder(store, name, who, sizeof(who));
	err_set(err, ETIMEDOUT, "/run/vgpu-lease/%s: held by %s%s%s", name, who, waited, fix);
	return err_cause(err, strlen("/run/vgpu-lease/: ") + strlen(name));
}

int store_lock_error(struct err *err, int code, const char *name)
{
	err_sys(err, code, "/run/vgpu-lease/%s", name);
	/* Make the file's name part of the cause, because a refusal shows only the cause as the reason of a pGPU. */
	err_cause(err, 0);
	return err_about(err, ERR_STATE);
}

static int take_lock(const struct store *store, const char *name, int wait_ms, struct err *err)
{
	autoclose int fd = open_lock(store, name);
	int64_t since_ms = sys_now_ms();
	char holder[HOLDER_TEXT];

	if (fd < 0)
		return store_lock_error(err, errno, name);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return store_lock_error(err, errno, name);
		if (sys_now_ms() - since_ms >= wait_ms)
			return held_error(store, name, wait_ms, err);
		sys_sleep_ms(sys_pause_ms(since_ms));
	}
	snprintf(holder, sizeof(holder), "%-10d %-20llu %-20lld\n", (int)getpid(),
		 (unsigned long long)store_own_start(store), (long long)sys_now_ms());
	/* Other processes need the holder only for a message, so a full or read-only file system is not an error. */
	if (pwrite(fd, holder, strlen(holder), 0) < 0 && errno != ENOSPC && errno != EDQUOT && errno != EBADF)
		return store_lock_error(err, errno, name);
	return steal_fd(&fd);
}

int store_lock(struct store *store, int wait_ms, struct err *err)
{
	int fd;

	store->start = store_own_start(store);
	fd = take_lock(store, STORE_LOCK, wait_ms, err);
	if (fd < 0)
		return fd;
	store->lock = fd;
	silent_recall(store);
	return 0;
}

void store_unlock(struct store *store)
{
	/* Closing is not enough: a child that hangs in the kernel may have a copy of the descriptor. */
	if (store->lock >= 0) {
		silent_note(store);
		flock(store->lock, LOCK_UN);
		close(store->lock);
	}
	store->lock = -1;
}

/* The name of the lock file of `pgpu` (NULL: of the store). */
static const char *lock_name(char name[LOCK_NAME_SIZE], const char *pgpu)
{
	snprintf(name, LOCK_NAME_SIZE, "%s%s%slock", pgpu ? "pgpu/" : "", pgpu ? pgpu : "", pgpu ? "." : "");
	return name;
}

int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err)
{
	autoclose int directory = sys_own_dir(store->run, "pgpu");
	char name[LOCK_NAME_SIZE];

	if (directory < 0)
		return store_dir_error(err, -directory, STORE_RUN "/pgpu");
	return take_lock(store, lock_name(name, pgpu), wait_ms, err);
}

void store_unlock_pgpu(int lock)
{
	flock(lock, LOCK_UN);
}

int store_lock_holder(const struct store *store, const char *pgpu, int waited_ms, struct err *err)
{
	char name[LOCK_NAME_SIZE];

	return store_locked(store, lock_name(name, pgpu)) ? held_error(store, name, waited_ms, err) : 0;
}

int store_lock_hung(const struct store *store, const char *pgpu, int64_t longest_ms, struct err *err)
{
	char name[LOCK_NAME_SIZE], text[HOLDER_TEXT];
	long long taken_ms;

	if (sys_read(store->run, lock_name(name, pgpu), text, sizeof(text)) < 0 ||
	    sscanf(text, "%*d %*u %lld", &taken_ms) != 1 || sys_now_ms() - taken_ms <= longest_ms)
		return 0;
	return store_lock_holder(store, pgpu, 0, err);
}

static int at_work(struct err *err)
{
	return err_set(
		err, EBUSY,
		"another process is creating or removing it; see dmesg, and try again once that has ended (troubleshooting: still-being-created-or-removed)");
}

/* A hash of the ID selects a byte of the file. Two vGPUs with the same byte share a lock, which only costs time. */
static struct flock byte_of(const char *id, short type)
{
	uint64_t place = 0xcbf29ce484222325;

	for (; *id; id++)
		place = (place ^ (unsigned char)*id) * 0x100000001b3;
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(place >> 1), .l_len = 1 };
}

/* Only queries the lock, because taking it would make another process's simultaneous attempt fail. */
static bool is_held(int fd, const char *id)
{
	struct flock byte = byte_of(id, F_WRLCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

int store_lock_vgpu(const struct store *store, const char *id, struct err *err)
{
	/* Read locks need no write permission but do not exclude each other, so callers hold the store's lock. */
	struct flock byte = byte_of(id, F_RDLCK);
	autoclose int fd = open_lock(store, STORE_LOCK);

	if (is_held(fd, id))
		return at_work(err);
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &byte) < 0)
		return store_lock_error(err, errno, STORE_LOCK);
	return steal_fd(&fd);
}

void store_unlock_vgpu(const char *id, int lock)
{
	struct flock byte = byte_of(id, F_UNLCK);

	/* Closing is not enough: see store_unlock(). */
	fcntl(lock, F_OFD_SETLK, &byte);
	close(lock);
}

bool store_locked_vgpu(const struct store *store, const char *id)
{
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, STORE_LOCK, O_LOOK);

	return is_held(fd, id);
}

int store_check_vgpu(const struct store *store, const char *id, struct err *err)
{
	return store_locked_vgpu(store, id) ? at_work(err) : 0;
}

int store_lock_handler(const struct store *store, int wait_ms, struct err *err)
{
	return take_lock(store, STORE_HANDLER, wait_ms, err);
}

bool store_is_handler(const struct store *store, int lock)
{
	struct stat ours, there;

	return lock >= 0 && fstat(lock, &ours) == 0 &&
	       fstatat(store->run, STORE_HANDLER, &there, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
}
