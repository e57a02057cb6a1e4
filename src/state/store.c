/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the state is kept, and the locks that order all users of it on this host. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/file.h"

enum { LOCK_STEP_MS = 2, LOCK_NAME_SIZE = PARENT_SIZE + 16 };

int store_dir_error(struct err *err, int code, const char *shown)
{
	if (code == ENOTDIR || code == ELOOP)
		err_set(err, code, "%s: is not a directory; remove it (the directory is created when it is needed)",
			shown);
	else if (code != EPERM)
		err_sys(err, code, "%s", shown);
	else
		err_set(err, EPERM,
			"%s: is not owned by root, or is writable by others; inspect it, then chown root, chmod 755",
			shown);
	return err_about(err, ERR_STATE);
}

static int open_directory(int *out, int at, const char *path, bool make, struct err *err, const char *shown)
{
	int fd = make ? file_own_dir(at, path) : file_dir(at, path);

	if (fd == -ENOENT && !make)
		return 0;
	if (fd < 0)
		return store_dir_error(err, -fd, shown);
	*out = fd;
	return 0;
}

/* A missing or unwritable /var/lib only costs the memory of where a UUID was: never a start. */
static int open_affinity(const struct host *host, bool make)
{
	autoclose int lib = -1;
	int fd;

	if (!make) {
		fd = file_dir(host->root, "var/lib/vgpu-lease/affinity");
		return fd < 0 ? -1 : fd;
	}
	lib = file_own_dir(host->root, "var/lib/vgpu-lease");
	fd = lib < 0 ? -1 : file_own_dir(lib, "affinity");
	return fd < 0 ? -1 : fd;
}

/* A pGPU's lock is taken when a vGPU is leased already: that it can be is found out before. */
static int look_at_pgpus(const struct store *store, struct err *err)
{
	autoclose int fd = -1;

	return open_directory(&fd, store->run, "pgpu", true, err, "/run/vgpu-lease/pgpu");
}

int store_open(struct store *store, const struct host *host, bool make, struct err *err)
{
	*store = (struct store){ .host = host, .run = -1, .leases = -1, .seen = -1, .affinity = -1, .lock = -1 };
	if (open_directory(&store->run, host->root, "run/vgpu-lease", make, err, "/run/vgpu-lease") < 0)
		return -err->code;
	if (store->run >= 0 &&
	    (open_directory(&store->leases, store->run, "leases", make, err, "/run/vgpu-lease/leases") < 0 ||
	     open_directory(&store->seen, store->run, "seen", make, err, "/run/vgpu-lease/seen") < 0 ||
	     (make && look_at_pgpus(store, err) < 0))) {
		store_close(store);
		return -err->code;
	}
	store->affinity = open_affinity(host, make);
	return 0;
}

/* libvirt's call gives no root: formatting a path touches five more pages, which every domain would pay for. */
void store_note_call(const char *root)
{
	autofree char *below = root ? mem_format("%s/" STORE_CALLED, root) : NULL;
	const char *path = below ? below : "/" STORE_CALLED;

	if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		(void)!(fd >= 0 && fchmod(fd, 0644));
	}
}

void store_close(struct store *store)
{
	int *const fds[] = { &store->seen, &store->leases, &store->affinity, &store->run };

	store_unlock(store);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

uint64_t store_own_start(const struct store *store)
{
	return store->start ? store->start : host_process_start(getpid());
}

/* Whoever takes a lock writes its pid and start time into the file: only for the message to those who wait too long. */
static int held(int run, const char *name, int wait_ms, struct err *err)
{
	const char *fix = wait_ms > 0 ? "; see what it does, or try again (troubleshooting: the-lock-is-held)" : "";
	char text[64], waited[32] = "", who[96] = "an unknown process";
	unsigned long long start;
	int pid;

	if (wait_ms > 0)
		snprintf(waited, sizeof(waited), " for over %g s", (wait_ms + 50 - (wait_ms + 50) % 100) / 1000.0);
	if (file_read(run, name, text, sizeof(text)) >= 0 && sscanf(text, "%d %llu", &pid, &start) == 2)
		snprintf(who, sizeof(who),
			 host_process_lives(pid, start)
				 ? "process %d"
				 : "a child of process %d (which has exited), blocked in the kernel",
			 pid);
	err_set(err, ETIMEDOUT, "/run/vgpu-lease/%s: held by %s%s%s", name, who, waited, fix);
	return err_cause(err, strlen("/run/vgpu-lease/: ") + strlen(name));
}

int store_lock_error(struct err *err, int code, const char *name)
{
	err_sys(err, code, "/run/vgpu-lease/%s", name);
	/* A refusal names this file, even where it has named the pGPU already. */
	err_cause(err, 0);
	return err_about(err, ERR_STATE);
}

/* O_NONBLOCK: a pipe that somebody put there would be waited for without end. */
#define O_LOOK (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)

/* A lock can be taken where nothing can be written, if it is there. */
static int open_lock(int run, const char *name)
{
	int fd = openat(run, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 && errno == EROFS ? openat(run, name, O_LOOK) : fd;
}

static int wait_flock(int run, const char *name, uint64_t start, int wait_ms, struct err *err)
{
	autoclose int fd = open_lock(run, name);
	int64_t end = host_now_ms() + wait_ms;
	char holder[64];

	if (fd < 0)
		return store_lock_error(err, errno, name);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return store_lock_error(err, errno, name);
		if (host_now_ms() >= end)
			return held(run, name, wait_ms, err);
		host_sleep_ms(LOCK_STEP_MS);
	}
	snprintf(holder, sizeof(holder), "%-10d %-20llu\n", (int)getpid(), (unsigned long long)start);
	/* Only for the message to others. */
	if (pwrite(fd, holder, strlen(holder), 0) < 0 && errno != ENOSPC && errno != EDQUOT && errno != EBADF)
		return store_lock_error(err, errno, name);
	return steal_fd(&fd);
}

int store_lock(struct store *store, int wait_ms, struct err *err)
{
	int fd;

	store->start = store_own_start(store);
	fd = wait_flock(store->run, "lock", store->start, wait_ms, err);
	if (fd < 0)
		return fd;
	store->lock = fd;
	return 0;
}

void store_unlock(struct store *store)
{
	/*
	 * Not only closed: a copy of the descriptor can be in a child that another thread forked meanwhile, and that
	 * hangs in the kernel.
	 */
	if (store->lock >= 0) {
		flock(store->lock, LOCK_UN);
		close(store->lock);
	}
	store->lock = -1;
}

/* The name of this pGPU's lock; NULL: of the store's. */
static const char *lock_name(char name[LOCK_NAME_SIZE], const char *pgpu)
{
	snprintf(name, LOCK_NAME_SIZE, "%s%s%slock", pgpu ? "pgpu/" : "", pgpu ? pgpu : "", pgpu ? "." : "");
	return name;
}

int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err)
{
	char name[LOCK_NAME_SIZE];

	if (look_at_pgpus(store, err) < 0)
		return -err->code;
	return wait_flock(store->run, lock_name(name, pgpu), store_own_start(store), wait_ms, err);
}

static bool is_held(const struct store *store, const char *name)
{
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, name, O_LOOK);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

bool store_locked(const struct store *store, const char *pgpu)
{
	char name[LOCK_NAME_SIZE];

	return is_held(store, lock_name(name, pgpu));
}

int store_lock_holder(const struct store *store, const char *pgpu, struct err *err)
{
	char name[LOCK_NAME_SIZE];

	return store_locked(store, pgpu) ? held(store->run, lock_name(name, pgpu), 0, err) : 0;
}

/* The byte of the lock file that locks a removal of this device. Two devices with one byte only wait for each other. */
static struct flock removal_place(const char *id, short type)
{
	uint64_t place = 0xcbf29ce484222325;

	for (; *id; id++)
		place = (place ^ (unsigned char)*id) * 0x100000001b3;
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(place >> 1), .l_len = 1 };
}

/* Whoever asks does not take it: a removal that begins just then would be refused. */
static bool removal_locked(int fd, const char *id)
{
	struct flock place = removal_place(id, F_WRLCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &place) == 0 && place.l_type != F_UNLCK;
}

int store_lock_removal(const struct store *store, const char *id, struct err *err)
{
	/*
	 * For reading: this is possible if /run is read-only, too. The lock of the pGPU keeps two from asking at once.
	 */
	struct flock place = removal_place(id, F_RDLCK);
	autoclose int fd = open_lock(store->run, "lock");

	if (fd < 0)
		return store_lock_error(err, errno, "lock");
	if (removal_locked(fd, id))
		return err_set(
			err, EBUSY,
			"the kernel is still removing it, because a process has it open; see dmesg (troubleshooting: still-being-created-or-removed)");
	if (fcntl(fd, F_OFD_SETLK, &place) < 0)
		return store_lock_error(err, errno, "lock");
	return steal_fd(&fd);
}

void store_end_removal(const char *id, int lock)
{
	struct flock place = removal_place(id, F_UNLCK);

	/* Not only closed, as in store_unlock(). */
	fcntl(lock, F_OFD_SETLK, &place);
	close(lock);
}

bool store_removes(const struct store *store, const char *id)
{
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, "lock", O_LOOK);

	return removal_locked(fd, id);
}

int store_lock_handler(const struct store *store, int wait_ms, struct err *err)
{
	return wait_flock(store->run, "handler.lock", store_own_start(store), wait_ms, err);
}

bool store_is_handler(const struct store *store, int lock)
{
	struct stat ours, there;

	return lock >= 0 && fstat(lock, &ours) == 0 &&
	       fstatat(store->run, "handler.lock", &there, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
}

bool store_handler_runs(const struct store *store)
{
	return is_held(store, "handler.lock");
}

bool store_set_aside(const struct store *store, const char *directory, const char *name)
{
	char from[NAME_MAX + 32];
	autoclose int garbage = file_own_dir(store->run, "garbage");

	snprintf(from, sizeof(from), "%s/%s", directory, name);
	return garbage >= 0 && renameat(store->run, from, garbage, name) == 0;
}
