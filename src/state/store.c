/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the state and locks it: flock(2) of whole files, and fcntl(2) locks of single bytes of the file `work`. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "state/history.h"

int store_dir_error(struct err *err, int code, const char *path)
{
	if (code == ENOTDIR || code == ELOOP)
		err_set(err, code, "/%s: is not a directory; remove it (the directory is created when it is needed)",
			path);
	else if (code != EPERM)
		err_sys(err, code, "/%s", path);
	else
		err_set(err, EPERM,
			"/%s: is not owned by root, or is writable by others; inspect it, then chown root, chmod 755",
			path);
	return err_about(err, ERR_STATE);
}

static int lock_error(struct err *err, int code, const char *name)
{
	err_sys(err, code, "/run/vgpu-lease/%s", name);
	/* A refusal shows only the cause as the reason of a pGPU, so the cause includes the file's name. */
	err_cause(err, 0);
	return err_about(err, ERR_STATE);
}

static int open_directory(int *out, const struct host *host, const char *path, bool make, struct err *err)
{
	int fd = make ? sys_own_dir(host->root, path) : sys_dir(host->root, path);

	if (fd == -ENOENT && !make)
		return 0;
	if (fd < 0)
		return store_dir_error(err, -fd, path);
	*out = fd;
	return 0;
}

int store_open_lib(const struct host *host, const char *name)
{
	autoclose int lib = sys_own_dir(host->root, "var/lib/vgpu-lease");

	return lib < 0 ? lib : sys_own_dir(lib, name);
}

int store_open(struct store *store, const struct host *host, bool make, struct err *err)
{
	autoclose int pgpus = -1;

	*store = STORE_NONE;
	store->host = host;
	if (open_directory(&store->run, host, STORE_RUN, make, err) < 0 ||
	    open_directory(&store->leases, host, STORE_RUN "/leases", make, err) < 0 ||
	    open_directory(&store->seen, host, STORE_RUN "/seen", make, err) < 0 ||
	    /* A lease is written before its pGPU is locked, so check now that the lock can be taken. */
	    (make && open_directory(&pgpus, host, STORE_RUN "/pgpu", true, err) < 0)) {
		store_close(store);
		return -err->code;
	}
	/* Without /var/lib only records are lost, so this must not fail a start. */
	store->affinity = make ? store_open_lib(host, "affinity") : sys_dir(host->root, "var/lib/vgpu-lease/affinity");
	silent_recall(store);
	return 0;
}

/* Without --root, as when libvirt calls, format no path, which would cost every domain five page faults. */
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
	silent_note(store);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* As sys_own_dir(): a directory of root, or of a simulated host's user, that others cannot write to. */
int store_check_dir(const struct host *host, const char *path)
{
	bool is_user = *host->name && geteuid() != 0;
	struct stat st;

	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return (st.st_uid == 0 || (is_user && st.st_uid == geteuid())) && !(st.st_mode & 022) ? 0 : -EPERM;
}

void store_space(int root, const char *path, struct store_space *space)
{
	struct statvfs fs;

	*space = (struct store_space){ 0 };
	snprintf(space->near, sizeof(space->near), "%s", path);
	autoclose int fd = sys_dir(root, space->near);
	while (fd == -ENOENT && strchr(space->near, '/')) {
		*strrchr(space->near, '/') = '\0';
		fd = sys_dir(root, space->near);
	}
	if (fd < 0 || fstatvfs(fd, &fs) < 0) {
		space->code = fd < 0 ? fd : -errno;
		return;
	}
	if (fs.f_flag & ST_RDONLY)
		space->code = -EROFS;
	else if (geteuid() == 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		space->code = -errno;
	space->bytes = (unsigned long long)fs.f_bfree * fs.f_frsize;
	/* A file system that reports 0 files has no limit. */
	space->files = fs.f_files ? fs.f_ffree : LLONG_MAX;
}

int store_would_open(const struct host *host, struct err *err)
{
	static const char *const paths[] = { STORE_RUN, STORE_RUN "/leases", STORE_RUN "/seen", STORE_RUN "/pgpu" };
	struct store_space space;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int r = store_check_dir(host, paths[i]);

		if (r == -ENOENT) {
			store_space(host->root, paths[i], &space);
			r = space.code || space.files ? space.code : -ENOSPC;
		}
		if (r < 0)
			return store_dir_error(err, -r, paths[i]);
	}
	if (fstatat(host->root, STORE_RUN "/" STORE_LOCK, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
		return 0;
	err_set(err, EISDIR, "/%s/%s: is not a regular file; remove it", STORE_RUN, STORE_LOCK);
	return err_about(err, ERR_STATE);
}

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

struct holder {
	pid_t pid;        /* the process that took the lock; 0: not known */
	bool lives;       /* false: it has exited, and a child of it has the lock */
	int64_t since_ms; /* when it took the lock; INT64_MAX: not known */
};

/*
 * The kernel says who took a held lock. The record in the file only adds the time, and counts only if it is of that
 * process: one of ours writes it a moment after it has the lock, another program never.
 */
static struct holder holder_of(const struct store *store, const char *name)
{
	struct holder holder = { .pid = sys_lock_taker(store->run, name), .since_ms = INT64_MAX }, record;
	char text[HOLDER_TEXT];
	uint64_t start;

	if (sys_read(store->run, name, text, sizeof(text)) > 0 &&
	    sscanf(text, "%d %" SCNu64 " %" SCNd64, &record.pid, &start, &record.since_ms) == 3) {
		record.lives = sys_process_lives(record.pid, start);
		/* In a PID namespace other than the first, the kernel does not name a taker that has exited. */
		if (holder.pid ? holder.pid == record.pid : !record.lives)
			return record;
	}
	holder.lives = sys_process_start(holder.pid);
	return holder.lives ? holder : (struct holder){ .since_ms = INT64_MAX };
}

void store_name_holder(const struct store *store, const char *name, char *who, size_t size)
{
	struct holder holder = holder_of(store, name);

	if (!holder.pid)
		snprintf(who, size, "an unknown process");
	else if (holder.lives)
		snprintf(who, size, "process %d", (int)holder.pid);
	else
		snprintf(who, size, "a child of process %d (which has exited), blocked in the kernel", (int)holder.pid);
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

/* False if the lock file has been removed or replaced, so that others no longer see this lock. */
static bool is_current(const struct store *store, const char *name, int lock)
{
	struct stat ours, there;

	return lock >= 0 && fstat(lock, &ours) == 0 && fstatat(store->run, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int take_lock(const struct store *store, const char *name, int wait_ms, struct err *err)
{
	autoclose int fd = open_lock(store, name);
	int64_t since_ms = sys_now_ms();
	char holder[HOLDER_TEXT];

	if (fd < 0)
		return lock_error(err, errno, name);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return lock_error(err, errno, name);
		if (sys_now_ms() - since_ms >= wait_ms)
			return held_error(store, name, wait_ms, err);
		sys_sleep_ms(sys_pause_ms(since_ms));
	}
	if (!is_current(store, name, fd))
		return take_lock(store, name, wait_ms - (int)(sys_now_ms() - since_ms), err);
	snprintf(holder, sizeof(holder), "%-10d %-20" PRIu64 " %-20" PRId64 "\n", (int)getpid(),
		 sys_process_start(getpid()), sys_now_ms());
	/* Without the record only the lock's age is unknown, so a full or read-only file system is not an error. */
	if (pwrite(fd, holder, strlen(holder), 0) < 0 && errno != ENOSPC && errno != EDQUOT && errno != EBADF)
		return lock_error(err, errno, name);
	return steal_fd(&fd);
}

int store_lock(struct store *store, int wait_ms, struct err *err)
{
	int fd = take_lock(store, STORE_LOCK, wait_ms, err);

	/* The directory was removed after store_open(). */
	if (fd == -ENOENT) {
		store_close(store);
		if (store_open(store, store->host, true, err) < 0)
			return -err->code;
		fd = take_lock(store, STORE_LOCK, wait_ms, err);
	}
	if (fd < 0)
		return fd;
	store->lock = fd;
	/* Make the file while there is space: in a full /run a release takes a work lock as well. */
	autoclose int work = open_lock(store, STORE_WORK);
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

static const char *lock_name(char name[LOCK_NAME_SIZE], const char *pgpu)
{
	snprintf(name, LOCK_NAME_SIZE, "%s%s%slock", pgpu ? "pgpu/" : "", pgpu ? pgpu : "", pgpu ? "." : "");
	return name;
}

int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err)
{
	char name[LOCK_NAME_SIZE];

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

bool store_lock_hung(const struct store *store, const char *pgpu, int64_t longest_ms)
{
	char name[LOCK_NAME_SIZE];

	return store_locked(store, lock_name(name, pgpu)) &&
	       sys_now_ms() - longest_ms > holder_of(store, name).since_ms;
}

static int at_work(struct err *err)
{
	return err_set(
		err, EAGAIN,
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

/* Queries the lock without taking it, which would make a simultaneous attempt fail. */
static bool is_held(int fd, const char *id)
{
	struct flock byte = byte_of(id, F_WRLCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

int store_lock_vgpu(const struct store *store, const char *id, struct err *err)
{
	/* Read locks need no write permission but do not exclude each other, so callers hold the store's lock. */
	struct flock byte = byte_of(id, F_RDLCK);
	autoclose int fd = open_lock(store, STORE_WORK);

	if (is_held(fd, id))
		return at_work(err);
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &byte) < 0)
		return lock_error(err, errno, STORE_WORK);
	return is_current(store, STORE_WORK, fd) ? steal_fd(&fd) : store_lock_vgpu(store, id, err);
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
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, STORE_WORK, O_LOOK);

	return is_held(fd, id);
}

int store_check_vgpu(const struct store *store, const char *id, struct err *err)
{
	return store_locked_vgpu(store, id) ? at_work(err) : 0;
}

int store_lock_handler(const struct store *store, int held, int wait_ms, struct err *err)
{
	int lock;

	if (is_current(store, STORE_HANDLER, held))
		return held;
	lock = take_lock(store, STORE_HANDLER, wait_ms, err);
	if (lock >= 0 && held >= 0)
		close(held);
	return lock;
}
