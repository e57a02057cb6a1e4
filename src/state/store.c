/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the state, and checks whether it is fit for a start. */
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/auto.h"
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
	int affinity;

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
	affinity = make ? store_open_lib(host, "affinity") : sys_dir(host->root, "var/lib/vgpu-lease/affinity");
	store->affinity = affinity < 0 ? -1 : affinity;
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

/* Accepts what sys_own_dir() accepts: a directory of root (or of a simulated host's user) not writable by others. */
bool store_trusts(const struct host *host, const struct stat *directory)
{
	bool is_user = *host->name && geteuid() != 0;

	return (directory->st_uid == 0 || (is_user && directory->st_uid == geteuid())) && !(directory->st_mode & 022);
}

static int why_unwritable(int fd, const struct statvfs *fs)
{
	if (fs->f_flag & ST_RDONLY)
		return -EROFS;
	return geteuid() == 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0 ? -errno : 0;
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
	space->code = why_unwritable(fd, &fs);
	space->bytes = (unsigned long long)fs.f_bfree * fs.f_frsize;
	/* A file system that reports 0 files has no limit. */
	space->files = fs.f_files ? fs.f_ffree : LLONG_MAX;
}

/* 0, or the errno with which this path could not be created. */
static int why_not_made(const struct host *host, const char *path)
{
	struct store_space space;

	store_space(host->root, path, &space);
	return space.code ? -space.code : space.files ? 0 : ENOSPC;
}

static int look_at_directory(const struct host *host, const char *path, struct err *err)
{
	struct stat st;
	int code = 0;

	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		code = errno == ENOENT ? why_not_made(host, path) : errno;
	else if (!S_ISDIR(st.st_mode))
		code = ENOTDIR;
	else if (!store_trusts(host, &st))
		code = EPERM;
	return code ? store_dir_error(err, code, path) : 0;
}

/* 0, or the errno with which a file of this mode cannot be locked. */
static int why_no_lock(mode_t mode)
{
	return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : S_ISFIFO(mode) ? ESPIPE : ENXIO;
}

static int look_at_lock(const struct host *host, const char *path, struct err *err)
{
	struct stat st;
	int code;

	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		code = errno == ENOENT ? why_not_made(host, path) : errno;
	else
		code = why_no_lock(st.st_mode);
	return code ? store_lock_error(err, code, path + strlen(STORE_RUN "/")) : 0;
}

int store_would_lock_pgpu(const struct host *host, const char *pgpu, struct err *err)
{
	char path[PARENT_SIZE + 32];

	snprintf(path, sizeof(path), STORE_RUN "/pgpu/%s.lock", pgpu);
	/* A missing file can be created if the lease can, which is checked separately. */
	return sys_exists(host->root, path) ? look_at_lock(host, path, err) : 0;
}

int store_would_open(const struct host *host, struct err *err)
{
	static const char *const directories[] = { STORE_RUN, STORE_RUN "/leases", STORE_RUN "/seen",
						   STORE_RUN "/pgpu" };

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (look_at_directory(host, directories[i], err) < 0)
			return -err->code;
	return look_at_lock(host, STORE_RUN "/" STORE_LOCK, err);
}
