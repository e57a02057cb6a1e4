/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which process has a vGPU open: the character devices among the descriptors of all tasks. */
#include "host/vfio_users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum { CLOCK_STEPS = 32 }; /* so many descriptors are looked at between two looks at the clock */

/* A character device that is open, once. */
struct node {
	dev_t rdev;
	pid_t pid;
};

struct vfio_users {
	struct node *nodes; /* sorted by rdev */
	size_t n;
	struct err blind; /* code 0: all that counts was seen */
};

struct scan {
	struct vfio_users *users;
	const struct host *host;
	int proc;      /* HOST/proc */
	bool asked;    /* whose processes they are */
	bool compares; /* the running kernel's: kcmp(2) knows their tasks */
	int64_t deadline_ms;
	unsigned int steps;
};

/* The place of `rdev`, or where it belongs. */
static size_t place_of(const struct vfio_users *users, dev_t rdev)
{
	size_t low = 0, high = users->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (users->nodes[middle].rdev < rdev)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add(struct vfio_users *users, dev_t rdev, pid_t pid)
{
	size_t at = place_of(users, rdev);

	if (at < users->n && users->nodes[at].rdev == rdev)
		return;
	mem_add(&users->nodes, &users->n, sizeof(*users->nodes));
	memmove(users->nodes + at + 1, users->nodes + at, (users->n - 1 - at) * sizeof(*users->nodes));
	users->nodes[at] = (struct node){ .rdev = rdev, .pid = pid };
}

static bool is_gone(int code)
{
	return code == ENOENT || code == ESRCH;
}

static bool is_number(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits > 0 && digits <= 10 && !name[digits];
}

static bool is_late(struct scan *scan)
{
	return scan->steps++ % CLOCK_STEPS == 0 && host_now_ms() >= scan->deadline_ms;
}

/*
 * One table of descriptors; the kernel's own tasks have an empty one. No file system but the kernel's is asked
 * (AT_STATX_DONT_SYNC): a server that does not answer would hold us up.
 */
static int read_table(struct scan *scan, const char *path, pid_t pid)
{
	const struct dirent *e;
	autoclosedir DIR *d = file_list(scan->proc, path);
	int fd;

	if (!d)
		return -errno;
	fd = file_list_fd(d);
	while ((errno = 0, e = readdir(d))) {
		struct statx st;
		char target[8];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (is_late(scan))
			return -ETIMEDOUT;
		if (statx(fd, e->d_name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) == 0) {
			if (S_ISCHR(st.stx_mode))
				add(scan->users, makedev(st.stx_rdev_major, st.stx_rdev_minor), pid);
			continue;
		}
		/*
		 * Where the link can be read, the task lets us look, and it is the file's own file system that does
		 * not: somebody's FUSE, where nobody can open a device.
		 */
		if (!is_gone(errno) && readlinkat(fd, e->d_name, target, sizeof(target)) < 0 && !is_gone(errno))
			return -errno;
	}
	return -errno;
}

/* Are these the running kernel's processes? Below --root they need not be. */
static void ask_whose(struct scan *scan, const char *name)
{
	autoclose int dir = file_dir(scan->proc, name);
	struct statfs fs;

	if (dir < 0)
		return;
	scan->compares = fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	scan->asked = true;
}

/* Do the two tasks share one table? Not known is no. */
static bool share_table(const struct scan *scan, pid_t a, pid_t b)
{
	return scan->compares && syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0;
}

/*
 * The threads whose table is not the first's: one that has left it (unshare), all of them where the first has ended.
 * The number of links of the directory tells of a process that has no other thread.
 */
static int read_threads(struct scan *scan, const char *name, pid_t pid)
{
	enum { ALONE = 3 };
	char path[2 * NAME_MAX + 16];
	const struct dirent *e;
	pid_t last = pid;
	struct stat st;

	snprintf(path, sizeof(path), "%s/task", name);
	if (scan->compares && fstatat(scan->proc, path, &st, 0) == 0 && st.st_nlink == ALONE)
		return 0;
	autoclosedir DIR *d = file_list(scan->proc, path);
	/* A tree below --root need not have threads. */
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((errno = 0, e = readdir(d))) {
		pid_t tid = is_number(e->d_name) ? (pid_t)strtol(e->d_name, NULL, 10) : pid;
		int r;

		if (tid == pid)
			continue;
		if (is_late(scan))
			return -ETIMEDOUT;
		if (share_table(scan, tid, pid) || (last != pid && share_table(scan, tid, last)))
			continue;
		snprintf(path, sizeof(path), "%s/task/%s/fd", name, e->d_name);
		r = read_table(scan, path, pid);
		if (r < 0 && !is_gone(-r))
			return r;
		last = tid;
	}
	return -errno;
}

/*
 * Is the path of a control group that of a machine of QEMU's? With systemd .../machine-qemu\x2d1\x2dvm1.scope below
 * slices, else .../qemu-1-vm1.libvirt-qemu below machine or partitions. A user's slice, and what stands below any
 * other group, is not root's alone.
 */
static bool is_machine(char *path)
{
	char *name;

	while ((name = strsep(&path, "/"))) {
		const char *dot = strrchr(name, '.');

		if (strcmp(name, "user.slice") == 0)
			return false;
		if (!*name || strcmp(name, "machine") == 0 ||
		    (dot && (strcmp(dot, ".slice") == 0 || strcmp(dot, ".partition") == 0)))
			continue;
		return dot && ((strncmp(name, "machine-qemu", 12) == 0 && strcmp(dot, ".scope") == 0) ||
			       strcmp(dot, ".libvirt-qemu") == 0);
	}
	return false;
}

static bool in_machine(const struct scan *scan, const char *pid)
{
	char path[NAME_MAX + 8], text[8192], *rest = text, *line;

	snprintf(path, sizeof(path), "%s/cgroup", pid);
	if (file_read(scan->proc, path, text, sizeof(text)) < 0)
		return false;
	/* HIERARCHY:CONTROLLERS:PATH */
	while ((line = strsep(&rest, "\n"))) {
		line = strchr(line, ':');
		line = line ? strchr(line + 1, ':') : NULL;
		if (line && is_machine(line + 1))
			return true;
	}
	return false;
}

/* Has libvirt written this process down as the QEMU of a domain? */
static bool is_recorded(const struct scan *scan, long pid)
{
	const struct dirent *e;
	autoclosedir DIR *d = file_list(scan->host->root, "run/libvirt/qemu");

	while (d && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');
		char text[32];
		long there;

		if (dot && strcmp(dot, ".pid") == 0 && file_read(file_list_fd(d), e->d_name, text, sizeof(text)) > 0 &&
		    text_number(text, 1, INT32_MAX, &there) && there == pid)
			return true;
	}
	return false;
}

static void read_process(struct scan *scan, const char *name)
{
	struct err *blind = &scan->users->blind;
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	char path[NAME_MAX + 4];
	int r;

	if (!scan->asked)
		ask_whose(scan, name);
	snprintf(path, sizeof(path), "%s/fd", name);
	r = read_table(scan, path, pid);
	if (r == 0)
		r = read_threads(scan, name, pid);
	if (r == 0 || is_gone(-r))
		return;
	if (r == -ETIMEDOUT)
		err_set(blind, ETIMEDOUT, "not enough time to look at all processes");
	else if (!blind->code && (is_recorded(scan, pid) || in_machine(scan, name)))
		err_sys(blind, -r, "process %d, a QEMU of libvirt's, cannot be looked into", (int)pid);
}

static void read_all(struct scan *scan)
{
	struct err *blind = &scan->users->blind;
	autoclosedir DIR *d = file_list(scan->host->root, "proc");
	const struct dirent *e;

	if (!d) {
		/* A tree below --root need not have processes; a host always does. */
		if (errno != ENOENT || !*scan->host->name)
			err_sys(blind, errno, "%s/proc", scan->host->name);
		return;
	}
	scan->proc = file_list_fd(d);
	while (blind->code != ETIMEDOUT && (errno = 0, e = readdir(d)))
		if (is_number(e->d_name))
			read_process(scan, e->d_name);
	if (blind->code != ETIMEDOUT && errno)
		err_sys(blind, errno, "%s/proc", scan->host->name);
}

struct vfio_users *vfio_users_read(const struct host *host, int64_t deadline_ms)
{
	struct scan scan = { .host = host, .deadline_ms = deadline_ms };

	scan.users = mem_new(1, sizeof(*scan.users));
	read_all(&scan);
	return scan.users;
}

void vfio_users_free(struct vfio_users *users)
{
	if (!users)
		return;
	free(users->nodes);
	free(users);
}

/* What is asked of one device. */
struct question {
	const struct vfio_users *users;
	pid_t pid;  /* the holder */
	bool nodes; /* it has one, so that somebody can have it open */
};

/* Is the device whose number stands in this attribute open? 1 and by whom; 0 also where there is no such attribute. */
static int find(struct question *q, int dir, const char *path)
{
	const struct vfio_users *users = q->users;
	unsigned int major, minor;
	char text[32], end;
	ssize_t n = file_read(dir, path, text, sizeof(text));
	dev_t rdev;
	size_t at;

	if (n < 0)
		return n == -ENOENT ? 0 : (int)n;
	if (sscanf(text, "%u:%u%c", &major, &minor, &end) != 2)
		return -EINVAL;
	q->nodes = true;
	rdev = makedev(major, minor);
	at = place_of(users, rdev);
	if (at == users->n || users->nodes[at].rdev != rdev)
		return 0;
	q->pid = users->nodes[at].pid;
	return 1;
}

/* The node of the device's IOMMU group, /dev/vfio/GROUP. Without one, VFIO does not have the device. */
static int find_group(struct question *q, const struct host *host, int device)
{
	char group[24], path[64];
	int r = file_link_base(device, "iommu_group", group, sizeof(group));

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	snprintf(path, sizeof(path), "sys/class/vfio/%s/dev", group);
	return find(q, host->root, path);
}

/* The device's own, /dev/vfio/devices/NAME, are in its vfio-dev/ (kernel 6.6 and later, with iommufd). */
static int find_cdev(struct question *q, int device)
{
	const struct dirent *e;
	autoclosedir DIR *d = file_list(device, "vfio-dev");

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((errno = 0, e = readdir(d))) {
		char path[NAME_MAX + 8];
		int r;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/dev", e->d_name);
		r = find(q, file_list_fd(d), path);
		if (r != 0)
			return r;
	}
	return -errno;
}

int vfio_users_open(const struct vfio_users *users, const struct host *host, const char *id, pid_t *pid,
		    struct err *err)
{
	struct question q = { .users = users };
	char path[64], safe[ID_SIZE], uuid[UUID_SIZE];
	int r;

	if (!id_parse(safe, id))
		return err_set(err, EINVAL, "'%s' is neither a UUID nor a PCI address", id);
	snprintf(path, sizeof(path), "sys/bus/%s/devices/%s", uuid_parse(uuid, safe) ? "mdev" : "pci", safe);
	autoclose int device = openat(host->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/*
	 * Gone also while a remove waits in the kernel for whoever has it open: there is nothing left to remove then.
	 */
	if (device < 0 && errno == ENOENT)
		return 0;
	if (device < 0)
		return err_sys(err, errno, "cannot tell whether vGPU %s is open: %s/%s", safe, host->name, path);
	r = find_group(&q, host, device);
	if (r == 0)
		r = find_cdev(&q, device);
	if (r < 0)
		return err_sys(err, -r, "cannot tell whether vGPU %s is open: %s/%s", safe, host->name, path);
	if (r == 1 && pid)
		*pid = q.pid;
	if (r == 0 && q.nodes && users->blind.code)
		return err_set(err, users->blind.code, "cannot tell whether vGPU %s is open: %s", safe,
			       users->blind.text);
	return r;
}
