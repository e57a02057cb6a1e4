/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the process that has a vGPU open. */
#include "look/vfio_users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"

enum {
	CLOCK_STEPS = 32,  /* descriptors between two reads of the clock */
	OTHERS_MOST = 256, /* most descriptors to read of a process that is neither root's nor a QEMU of libvirt */
};

/* The number of the host's PID namespace (kernel 6.12 include/linux/proc_ns.h). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU

/* An open character device, and the first process found to have it open. */
struct node {
	dev_t rdev;
	pid_t pid;
};

struct vfio_users {
	void *nodes;      /* a tree (tsearch(3)) by rdev */
	struct err blind; /* why the users of a vGPU may be unknown; code 0: they are known */
	size_t nunread;   /* processes whose reading was cut short; not those of root, nor QEMUs of libvirt */
	pid_t unread;     /* the first process of `nunread` */
	struct libvirt_qemu *qemus;
	size_t nqemus;
};

/* Processes are inspected in this order. Other users come last, because they can have any number of processes. */
enum rank { RECORDED, ROOTS, OTHERS };

struct process {
	pid_t pid;
	enum rank rank;
};

struct scan {
	struct vfio_users *users;
	const struct host *host;
	int proc;
	bool compares;                     /* the processes are those of the running kernel, so kcmp(2) works */
	int64_t deadline_ms, others_by_ms; /* for all processes; for those of other users */
	unsigned int steps;                /* descriptors that were counted */
	int left; /* descriptors of the current process that may still be read; negative: no limit */
	struct process *processes;
	size_t nprocesses;
};

static int by_rdev(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->rdev > y->rdev) - (x->rdev < y->rdev);
}

static void add_user(struct vfio_users *users, dev_t rdev, pid_t pid)
{
	struct node *node = mem_new(1, sizeof(*node));

	*node = (struct node){ .rdev = rdev, .pid = pid };
	if (*(struct node **)mem_check(tsearch(node, &users->nodes, by_rdev)) != node)
		free(node);
}

static bool is_gone(int code)
{
	return code == ENOENT || code == ESRCH;
}

/* Parses an entry's name in /proc as a PID or TID; 0: it is neither. */
static pid_t pid_of(const char *name)
{
	long pid;

	return text_number(name, 1, INT_MAX, &pid) ? (pid_t)pid : 0;
}

/* Counts one descriptor. -ETIMEDOUT: no time is left; -E2BIG: this process has used up its share. */
static int step(struct scan *scan)
{
	int64_t now = scan->steps++ % CLOCK_STEPS == 0 ? sys_now_ms() : 0;

	if (now >= scan->deadline_ms)
		return -ETIMEDOUT;
	if (scan->left < 0)
		return 0;
	if (now >= scan->others_by_ms)
		scan->left = 0;
	return scan->left == 0 ? -E2BIG : (scan->left--, 0);
}

/* Inspects one descriptor. AT_STATX_DONT_SYNC keeps the kernel from asking a file server, which may not answer. */
static int read_descriptor(struct scan *scan, int fd, const char *name, pid_t pid)
{
	struct statx st;
	char target[8];

	if (statx(fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) == 0) {
		if (S_ISCHR(st.stx_mode))
			add_user(scan->users, makedev(st.stx_rdev_major, st.stx_rdev_minor), pid);
		return 0;
	}
	/*
	 * If readlinkat() works, we may inspect this process, so the file's own file system denied the statx(). Only a
	 * FUSE mount of a user denies it. A FUSE mount contains no device, so this is not an error.
	 */
	if (!is_gone(errno) && readlinkat(fd, name, target, sizeof(target)) < 0 && !is_gone(errno))
		return -errno;
	return 0;
}

/* Reads one descriptor table, in small pieces: listing costs a dentry per descriptor, and OTHERS_MOST can end it. */
static int read_table(struct scan *scan, const char *path, pid_t pid)
{
	_Alignas(struct dirent64) char entries[4096];
	autoclose int fd = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = getdents64(fd, entries, sizeof(entries))) > 0) {
		const struct dirent64 *e;

		for (ssize_t at = 0; at < n; at += e->d_reclen) {
			int r;

			e = (const struct dirent64 *)(entries + at);
			if (isdigit((unsigned char)e->d_name[0]) &&
			    ((r = step(scan)) < 0 || (r = read_descriptor(scan, fd, e->d_name, pid)) < 0))
				return r;
		}
	}
	return n < 0 ? -errno : 0;
}

/* Do the two tasks share one descriptor table? False if not known. */
static bool share_table(const struct scan *scan, pid_t a, pid_t b)
{
	return scan->compares && syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0;
}

/*
 * Reads the descriptor tables of the other threads. A thread can stop sharing the first thread's table, and can outlive
 * the first thread. The link count of the task directory shows whether a process has only one thread.
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
	autoclosedir DIR *d = sys_list(scan->proc, path);
	/* A tree below --root may have no threads. */
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = sys_next(d))) {
		pid_t tid = pid_of(e->d_name);
		int r;

		if (!tid || tid == pid)
			continue;
		if ((r = step(scan)) < 0)
			return r;
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

const char *vfio_users_domain(const struct vfio_users *users, pid_t pid)
{
	for (EACH(const struct libvirt_qemu *, qemu, users->qemus, users->nqemus))
		if (qemu->pid == pid)
			return qemu->domain;
	return NULL;
}

static enum rank rank_of(const struct scan *scan, const char *name, pid_t pid)
{
	struct stat st;

	if (vfio_users_domain(scan->users, pid))
		return RECORDED;
	/* On a simulated host, the calling user takes the place of root. */
	return fstatat(scan->proc, name, &st, 0) == 0 && st.st_uid != 0 && st.st_uid != geteuid() ? OTHERS : ROOTS;
}

static int read_tables(struct scan *scan, const char *name, pid_t pid)
{
	char path[NAME_MAX + 4];
	int r;

	snprintf(path, sizeof(path), "%s/fd", name);
	r = read_table(scan, path, pid);
	return r < 0 ? r : read_threads(scan, name, pid);
}

static void read_process(struct scan *scan, const struct process *process)
{
	struct vfio_users *users = scan->users;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%d", (int)process->pid);
	scan->left = process->rank == OTHERS ? OTHERS_MOST : -1;
	r = read_tables(scan, name, process->pid);
	if (r == -E2BIG && libvirt_qemu_group(scan->proc, name)) {
		scan->left = -1;
		r = read_tables(scan, name, process->pid);
	}
	if (r == 0 || is_gone(-r))
		return;
	if (r == -E2BIG) {
		users->unread = users->nunread++ ? users->unread : process->pid;
		return;
	}
	if (r == -ETIMEDOUT)
		err_set(&users->blind, ETIMEDOUT, "not enough time to look at all processes");
	else if (!users->blind.code && (process->rank == RECORDED || libvirt_qemu_group(scan->proc, name)))
		err_sys(&users->blind, -r, "cannot inspect process %d, a QEMU of libvirt", (int)process->pid);
}

static void list_processes(struct scan *scan, DIR *d)
{
	const struct dirent *e;

	while ((e = sys_next(d))) {
		struct process *process;
		pid_t pid = pid_of(e->d_name);

		if (!pid)
			continue;
		process = mem_add(&scan->processes, &scan->nprocesses, sizeof(*process));
		*process = (struct process){ pid, rank_of(scan, e->d_name, pid) };
	}
	if (errno)
		err_sys(&scan->users->blind, errno, "%s/proc", scan->host->name);
}

struct vfio_users *vfio_users_read(const struct host *host, int64_t deadline_ms)
{
	struct vfio_users *users = mem_new(1, sizeof(*users));
	struct scan scan = { .users = users, .host = host, .deadline_ms = deadline_ms };
	autoclosedir DIR *d = sys_list(host->root, "proc");
	struct statfs fs;
	struct stat st;

	if (!d) {
		/* A tree below --root may have no processes; a real host always has some. */
		if (errno != ENOENT || !*host->name)
			err_sys(&users->blind, errno, "%s/proc", host->name);
		return users;
	}
	scan.proc = sys_list_fd(d);
	/* Below --root, proc may be an ordinary directory, and kcmp(2) does not know its processes. */
	scan.compares = fstatfs(scan.proc, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	if (scan.compares && (fstatat(scan.proc, "self/ns/pid", &st, 0) < 0 || st.st_ino != FIRST_PID_NAMESPACE))
		err_set(&users->blind, EXDEV,
			"processes outside of this PID namespace cannot be seen; run in that of the host");
	users->qemus = libvirt_qemus(host, &users->nqemus);
	list_processes(&scan, d);
	for (enum rank rank = RECORDED; rank <= OTHERS; rank++) {
		/* Processes of other users get a quarter of the remaining time, so that time is left for a retry. */
		int64_t now = sys_now_ms();

		scan.others_by_ms = now + (deadline_ms - now) / 4;
		for (size_t i = 0; i < scan.nprocesses && users->blind.code != ETIMEDOUT; i++)
			if (scan.processes[i].rank == rank)
				read_process(&scan, &scan.processes[i]);
	}
	free(scan.processes);
	return users;
}

void vfio_users_unread(const struct vfio_users *users, char text[REASON_SIZE])
{
	char others[48] = "";

	*text = '\0';
	if (users->nunread > 1)
		snprintf(others, sizeof(others), " and %zu other%s", users->nunread - 1, users->nunread > 2 ? "s" : "");
	if (users->nunread)
		snprintf(
			text, REASON_SIZE,
			"process %d%s: not fully inspected (more than %d descriptors each) (troubleshooting: cannot-tell-whether-the-vgpu-is-open)",
			(int)users->unread, others, OTHERS_MOST);
}

void vfio_users_free(struct vfio_users *users)
{
	if (!users)
		return;
	tdestroy(users->nodes, free);
	free(users->qemus);
	free(users);
}

/*
 * Returns the process that has the device numbered in the attribute `path` open; 0: none, or no such attribute;
 * negative: `path` cannot be read. Sets *has_node if the device has a node, which a process can open.
 */
static int find_user(const struct vfio_users *users, int dir, const char *path, bool *has_node)
{
	unsigned int major, minor;
	struct node sought = { 0 }, **found;
	char text[32], end;
	ssize_t n = sys_read(dir, path, text, sizeof(text));

	if (n < 0)
		return n == -ENOENT ? 0 : (int)n;
	if (sscanf(text, "%u:%u%c", &major, &minor, &end) != 2)
		return -EINVAL;
	*has_node = true;
	sought.rdev = makedev(major, minor);
	found = tfind(&sought, &users->nodes, by_rdev);
	return found ? (*found)->pid : 0;
}

/* find_user() of the device's nodes in `directory` whose names start with `begin`. */
static int find_nodes(const struct vfio_users *users, int device, const char *directory, const char *begin,
		      bool *has_node)
{
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(device, directory);

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = sys_next(d))) {
		char path[NAME_MAX + 8];
		int r;

		if (strncmp(e->d_name, begin, strlen(begin)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/dev", e->d_name);
		r = find_user(users, sys_list_fd(d), path, has_node);
		if (r != 0)
			return r;
	}
	return -errno;
}

int vfio_users_open(const struct vfio_users *users, const struct host *host, const char *id, pid_t *pid,
		    struct err *err)
{
	bool has_node = false;
	char path[VGPU_PATH_SIZE], group[24], node[64];
	int r = inventory_path(path, id, "", err);

	if (r < 0)
		return r;
	autoclose int device = sys_dir(host->root, path);
	/* The device is gone, or the kernel is removing it and waits for its user. Nothing is left to remove. */
	if (device < 0 && errno == ENOENT)
		return 0;
	r = device < 0 ? -errno : sys_link(device, "iommu_group", group, sizeof(group));
	if (r == 0) {
		snprintf(node, sizeof(node), "sys/class/vfio/%s/dev", group);
		r = find_user(users, host->root, node, &has_node);
	}
	/* With iommufd (kernel 6.6 and later), the device also has its own node, /dev/vfio/devices/NAME. */
	if (r == 0 || r == -ENOENT)
		r = find_nodes(users, device, "vfio-dev", "", &has_node);
	if (r < 0)
		return err_sys(err, -r, "cannot tell whether vGPU %s is open: %s/%s", id, host->name, path);
	if (r > 0 && pid)
		*pid = r;
	if (r == 0 && has_node && users->blind.code)
		return err_set(
			err, users->blind.code,
			"cannot tell whether vGPU %s is open: %s (troubleshooting: cannot-tell-whether-the-vgpu-is-open)",
			id, users->blind.text);
	return r > 0;
}

bool vfio_users_render(const struct vfio_users *users, const struct host *host, const char *vf)
{
	autoclose int device = inventory_open(host, vf);
	bool has_node;

	return device >= 0 && find_nodes(users, device, "drm", "renderD", &has_node) > 0;
}
