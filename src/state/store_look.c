/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks whether the state is fit for a start. Creates and writes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "sys/sys.h"
#include "state/store.h"

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

void store_space(const struct host *host, const char *path, struct store_space *space)
{
	struct statvfs fs;

	*space = (struct store_space){ 0 };
	snprintf(space->near, sizeof(space->near), "%s", path);
	autoclose int fd = sys_dir(host->root, space->near);
	while (fd == -ENOENT && strchr(space->near, '/')) {
		*strrchr(space->near, '/') = '\0';
		fd = sys_dir(host->root, space->near);
	}
	if (fd < 0 || fstatvfs(fd, &fs) < 0) {
		space->code = fd < 0 ? fd : -errno;
		return;
	}
	space->code = why_unwritable(fd, &fs);
	space->bytes = (unsigned long long)fs.f_bfree * fs.f_frsize;
	space->unreserved = (unsigned long long)fs.f_bavail * fs.f_frsize;
	/* A file system that reports 0 files has no limit. */
	space->files = fs.f_files ? fs.f_ffree : LLONG_MAX;
}

/* 0, or the errno with which this path could not be created. */
static int why_not_made(const struct host *host, const char *path)
{
	struct store_space space;

	store_space(host, path, &space);
	return space.code ? -space.code : space.files ? 0 : ENOSPC;
}

static int look_at_directory(const struct host *host, const char *path, struct err *err)
{
	char shown[64];
	struct stat st;
	int code = 0;

	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		code = errno == ENOENT ? why_not_made(host, path) : errno;
	else if (!S_ISDIR(st.st_mode))
		code = ENOTDIR;
	else if (!store_trusts(host, &st))
		code = EPERM;
	snprintf(shown, sizeof(shown), "/%s", path);
	return code ? store_dir_error(err, code, shown) : 0;
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
	return code ? store_lock_error(err, code, path + strlen("run/vgpu-lease/")) : 0;
}

int store_would_lock_pgpu(const struct host *host, const char *pgpu, struct err *err)
{
	char path[PARENT_SIZE + 32];

	snprintf(path, sizeof(path), "run/vgpu-lease/pgpu/%s.lock", pgpu);
	/* A missing file can be created if the lease can, which is checked separately. */
	return sys_exists(host->root, path) ? look_at_lock(host, path, err) : 0;
}

int store_would_open(const struct host *host, struct err *err)
{
	static const char *const directories[] = { "run/vgpu-lease", "run/vgpu-lease/leases", "run/vgpu-lease/seen",
						   "run/vgpu-lease/pgpu" };

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (look_at_directory(host, directories[i], err) < 0)
			return -err->code;
	return look_at_lock(host, "run/vgpu-lease/lock", err);
}
