/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's files: limited reads, single writes, and new files that appear complete. */
#include "sys/sys.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sys/log.h"
#include "sys/timed_child.h"

int host_open(struct host *host, const char *root, struct err *err)
{
	host->name = root ? root : "";
	host->root = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host->root < 0)
		return err_sys(err, errno, "--root %s", host->name);
	host->libvirt = host->root;
	return 0;
}

void host_close(struct host *host)
{
	if (host->root < 0)
		return;
	if (host->libvirt != host->root)
		close(host->libvirt);
	close(host->root);
	host->root = -1;
}

int host_list(DIR **out, const struct host *host, const char *path, struct err *err)
{
	*out = sys_list(host->root, path);
	return *out || errno == ENOENT ? 0 : err_sys(err, errno, "%s/%s", host->name, path);
}

static void out_of_memory(void)
{
	/* A timed child has no connection to the log. Its parent logs the shortage and ends as well. */
	if (timed_child_is_this())
		_exit(EXIT_FAILURE);
	log_warn("out of memory");
}

void sys_begin(void)
{
	mem_last_word(out_of_memory);
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_FAILURE);
}

ssize_t sys_read(int dir, const char *path, char *buf, size_t size)
{
	/* O_NONBLOCK: the open must not hang on a pipe that has replaced the file. */
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	size_t len;
	ssize_t r;

	if (fd < 0)
		return -errno;
	/* A short read means the end of the file. */
	do
		r = read(fd, buf, size);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	len = (size_t)r;
	if (len == size)
		return -EFBIG;
	if (memchr(buf, '\0', len))
		return -EINVAL;
	while (len > 0 && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return (ssize_t)len;
}

int sys_probe(int dir, const char *path)
{
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char byte;

	return fd < 0 || read(fd, &byte, 1) < 0 ? -errno : 0;
}

int sys_slurp(int fd, size_t max, char **out, size_t *len)
{
	size_t size = 16384, used = 0;
	autofree char *data = mem_alloc(size + 1);
	ssize_t r;

	while ((r = read(fd, data + used, size - used)) != 0) {
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		used += (size_t)r;
		if (used > max)
			return -EFBIG;
		if (used == size) {
			size *= 2;
			data = mem_resize(data, size + 1, 1);
		}
	}
	data[used] = '\0';
	*len = used;
	*out = steal_ptr(&data);
	return 0;
}

int sys_poke(int dir, const char *path, const char *data, size_t len)
{
	autoclose int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t r;

	if (fd < 0)
		return -errno;
	r = write(fd, data, len);
	if (r < 0)
		return -errno;
	return (size_t)r == len ? 0 : -EIO;
}

void sys_close_but(const int *keep, size_t n)
{
	for (int from = 3, to; from >= 0; from = to < INT_MAX ? to + 1 : -1) {
		to = INT_MAX;
		for (size_t i = 0; i < n; i++)
			if (keep[i] >= from && keep[i] < to)
				to = keep[i];
		if (to > from)
			close_range((unsigned)from, (unsigned)to - 1, 0);
	}
}

int sys_write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t r = write(fd, data, len);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		data += r;
		len -= (size_t)r;
	}
	return 0;
}

int sys_publish(int dir, const char *name, const char *data, size_t len)
{
	char fresh[NAME_MAX + 1];
	autoclose int fd = -1;
	int r;

	if (snprintf(fresh, sizeof(fresh), ".%s.new", name) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	/* Not O_TMPFILE: libvirtd's AppArmor profile, in which the hook runs, forbids linking an unnamed file. */
	if (unlinkat(dir, fresh, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir, fresh, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = sys_write_all(fd, data, len);
	if (r == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, fresh, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, fresh, 0);
	return r;
}

int sys_overwrite(int dir, const char *name, const char *data, size_t len)
{
	char whole[SYS_OVERWRITE_MAX];
	autoclose int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (len > sizeof(whole) || st.st_size > (off_t)sizeof(whole))
		return -ENOSPC;
	memset(whole, '\n', sizeof(whole));
	memcpy(whole, data, len);
	if ((off_t)len < st.st_size)
		len = (size_t)st.st_size;
	n = pwrite(fd, whole, len, 0);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

int sys_target(int dir, const char *path, char target[PATH_MAX])
{
	ssize_t n = readlinkat(dir, path, target, PATH_MAX - 1);

	target[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -errno : 0;
}

int sys_link(int dir, const char *path, char *buf, size_t size)
{
	char target[PATH_MAX];
	int r = sys_target(dir, path, target);
	const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;

	if (r == 0 && strlen(base) >= size)
		r = -ENAMETOOLONG;
	snprintf(buf, size, "%s", r < 0 ? "" : base);
	return r;
}

int sys_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

DIR *sys_list(int dir, const char *path)
{
	autoclose int fd = dir < 0 ? -ENOENT : sys_dir(dir, path);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		errno = -fd;
	if (d)
		steal_fd(&fd);
	return d;
}

const struct dirent *sys_next(DIR *d)
{
	const struct dirent *e;

	do {
		errno = 0;
		e = d ? readdir(d) : NULL;
	} while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	return e;
}

int sys_list_fd(DIR *d)
{
	return dirfd(d);
}

bool sys_exists(int dir, const char *path)
{
	return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int64_t sys_inode(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)(st.st_ino & INT64_MAX) : 0;
}

int sys_own_dir(int dir, const char *path)
{
	struct stat st;

	autoclose int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(dir, path, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	/* fchmod() ignores the umask. */
	if ((st.st_mode & 055) != 055 && fchmod(fd, 0755) < 0)
		return -errno;
	return steal_fd(&fd);
}
