/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the state. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "state/history.h"

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

int store_open(struct store *store, const struct host *host, bool make, struct err *err)
{
	autoclose int pgpus = -1;
	int affinity;

	*store = STORE_NONE;
	store->host = host;
	if (open_directory(&store->run, host->root, "run/vgpu-lease", make, err, "/run/vgpu-lease") < 0)
		return -err->code;
	if (store->run >= 0 &&
	    (open_directory(&store->leases, store->run, "leases", make, err, "/run/vgpu-lease/leases") < 0 ||
	     open_directory(&store->seen, store->run, "seen", make, err, "/run/vgpu-lease/seen") < 0 ||
	     /* A lease precedes the lock of its pGPU, so see now that the lock can be taken. */
	     (make && open_directory(&pgpus, store->run, "pgpu", true, err, "/run/vgpu-lease/pgpu") < 0))) {
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
