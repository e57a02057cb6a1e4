/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the state, and takes the locks that order its users on this host. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "state/history.h"

enum { LOCK_NAME_SIZE = PARENT_SIZE + 16 };

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
	int fd = make ? sys_own_dir(at, path) : sys_dir(at, path);

	if (fd == -ENOENT && !make)
		return 0;
	if (fd < 0)
		return store_dir_error(err, -fd, shown);
	*out = fd;
	return 0;
}

int store_open_lib(const struct host *host, const char *name)
{
	autoclose int lib = sys_own_dir(host->root, "var/lib/vgpu-lease");

	return lib < 0 ? lib : sys_own_dir(lib, name);
}

/* Creates and checks the directory of the pGPUs' locks. store_open() does so, too, because leases precede the locks. */
static int look_at_pgpus(const struct store *store, struct err *err)
{
	autoclose int fd = -1;

	return open_directory(&fd, store->run, "pgpu", true, err, "/run/vgpu-lease/pgpu");
}

int store_open(struct store *store, const struct host *host, bool make, struct err *err)
{
	int affinity;

	*store = STORE_NONE;
	store->host = host;
	if (open_directory(&store->run, host->root, "run/vgpu-lease", make, err, "/run/vgpu-lease") < 0)
		return -err->code;
	if (store->run >= 0 &&
	    (open_directory(&store->leases, store->run, "leases", make, err, "/run/vgpu-lease/leases") < 0 ||
	     open_directory(&store->seen, store->run, "seen", make, err, "/run/vgpu-lease/seen") < 0 ||
	     (make && look_at_pgpus(store, err) < 0))) {
		store_close(store);
		return -err->code;
	}
	/* Without /var/lib only records are lost, so this must not fail a start. */
	affinity = make ? store_open_lib(host, "affinity") : sys_dir(host->root, "var/lib/vgpu-lease/affinity");
	store->affinity = affinity < 0 ? -1 : affinity;
	silent_recall(store);
	return 0;
}

/* Without --root, as when libvirt calls, format no path: that would cost every domain five page faults. */
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

uint64_t store_own_start(const struct store *store)
{
	return store->start ? store->start : sys_process_start(getpid());
}

static int held(int run, const char *name, int wait_ms, struct err *err)
{
	const char *fix = wait_ms > 0 ? "; see what it does, or try again (troubleshooting: the-lock-is-held)" : "";
	char waited[32] = "", who[96];

	if (wait_ms > 0)
		snprintf(waited, sizeof(waited), " for over %g s", (wait_ms + 50 - (wait_ms + 50) % 100) / 1000.0);
	sys_lock_holder(run, name, who, sizeof(who));
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

static int take(const struct store *store, const char *name, int wait_ms, struct err *err)
{
	int fd = sys_lock(store->run, name, store_own_start(store), wait_ms);

	if (fd == -ETIMEDOUT)
		return held(store->run, name, wait_ms, err);
	return fd < 0 ? store_lock_error(err, -fd, name) : fd;
}

int store_lock(struct store *store, int wait_ms, struct err *err)
{
	int fd;

	store->start = store_own_start(store);
	fd = take(store, "lock", wait_ms, err);
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
		sys_unlock(store->lock);
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
	char name[LOCK_NAME_SIZE];

	if (look_at_pgpus(store, err) < 0)
		return -err->code;
	return take(store, lock_name(name, pgpu), wait_ms, err);
}

bool store_locked(const struct store *store, const char *pgpu)
{
	char name[LOCK_NAME_SIZE];

	return sys_locked(store->run, lock_name(name, pgpu));
}

int store_lock_holder(const struct store *store, const char *pgpu, struct err *err)
{
	char name[LOCK_NAME_SIZE];

	return store_locked(store, pgpu) ? held(store->run, lock_name(name, pgpu), 0, err) : 0;
}

static int at_work(struct err *err)
{
	return err_set(
		err, EBUSY,
		"another process is creating or removing it; see dmesg, and try again once that has ended (troubleshooting: still-being-created-or-removed)");
}

int store_lock_vgpu(const struct store *store, const char *id, struct err *err)
{
	int fd = sys_lock_key(store->run, "lock", id);

	if (fd == -EBUSY)
		return at_work(err);
	return fd < 0 ? store_lock_error(err, -fd, "lock") : fd;
}

void store_unlock_vgpu(const char *id, int lock)
{
	/* Closing is not enough: see store_unlock(). */
	sys_unlock_key(lock, id);
	close(lock);
}

void work_locks_add(struct work_locks *locks, const char *id, int fd)
{
	struct work_lock *lock = mem_add(&locks->list, &locks->n, sizeof(*lock));

	memcpy(lock->id, id, ID_SIZE);
	lock->fd = fd;
}

void work_locks_end(struct work_locks *locks, const char *id)
{
	size_t kept = 0;

	for (size_t i = 0; i < locks->n; i++)
		if (id && strcmp(locks->list[i].id, id) != 0)
			locks->list[kept++] = locks->list[i];
		else
			store_unlock_vgpu(locks->list[i].id, locks->list[i].fd);
	locks->n = kept;
	if (kept)
		return;
	free(locks->list);
	locks->list = NULL;
}

bool store_locked_vgpu(const struct store *store, const char *id)
{
	return sys_locked_key(store->run, "lock", id);
}

int store_check_vgpu(const struct store *store, const char *id, struct err *err)
{
	return store_locked_vgpu(store, id) ? at_work(err) : 0;
}

int store_lock_handler(const struct store *store, int wait_ms, struct err *err)
{
	return take(store, "handler.lock", wait_ms, err);
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
	return sys_locked(store->run, "handler.lock");
}

bool store_set_aside(const struct store *store, const char *directory, const char *name)
{
	char from[NAME_MAX + 32];
	autoclose int garbage = sys_own_dir(store->run, "garbage");

	snprintf(from, sizeof(from), "%s/%s", directory, name);
	return garbage >= 0 && renameat(store->run, from, garbage, name) == 0;
}
