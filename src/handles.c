/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who has a vGPU open: the VFIO nodes among the descriptors of all processes. */
#include "handles.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "file.h"
#include "text.h"

enum { NODE_SIZE = 24 };

struct node {
	char name[NODE_SIZE]; /* "12": /dev/vfio/12; "vfio3": /dev/vfio/devices/vfio3 */
	pid_t pid;
};

struct handles {
	struct node *nodes;
	size_t n;
};

/*
 * The part of the path that names a node: "/dev/vfio/12" gives "12", "/dev/vfio/devices/vfio3" gives "vfio3".
 * /dev/vfio/vfio is the container, which belongs to no device. A node that has been removed since counts: "
 * (deleted)" follows its path.
 */
static bool node_name(char out[NODE_SIZE], const char *path)
{
	size_t n, digits;

	if (strncmp(path, "/dev/vfio/", 10) != 0)
		return false;
	path += 10;
	if (strncmp(path, "devices/", 8) == 0)
		path += 8;
	n = strncmp(path, "vfio", 4) == 0 ? 4 : 0;
	digits = strspn(path + n, "0123456789");
	n += digits;
	if (digits == 0 || n >= NODE_SIZE || (path[n] && strcmp(path + n, " (deleted)") != 0))
		return false;
	memcpy(out, path, n);
	out[n] = '\0';
	return true;
}

static int add(struct handles *handles, const char *name, pid_t pid)
{
	/* QEMU has the same node open more than once at times. */
	for (size_t i = handles->n; i > 0 && handles->nodes[i - 1].pid == pid; i--)
		if (strcmp(handles->nodes[i - 1].name, name) == 0)
			return 0;
	if (handles->n % 64 == 0) {
		struct node *more = reallocarray(handles->nodes, handles->n + 64, sizeof(*more));

		if (!more)
			return -ENOMEM;
		handles->nodes = more;
	}
	text_copy(handles->nodes[handles->n].name, NODE_SIZE, name);
	handles->nodes[handles->n++].pid = pid;
	return 0;
}

static bool is_gone(int code)
{
	return code == ENOENT || code == ESRCH;
}

/* One process; the ones of the kernel have an empty table. */
static int read_process(struct handles *handles, int proc, const char *pid)
{
	char path[NAME_MAX + 4], target[64], name[NODE_SIZE];
	const struct dirent *e;
	ssize_t n;
	int fd, r;

	snprintf(path, sizeof(path), "%s/fd", pid);
	fd = file_dir(proc, path);
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return fd < 0 ? fd : -errno;
	while ((errno = 0, e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		n = readlinkat(fd, e->d_name, target, sizeof(target) - 1);
		if (n < 0 && !is_gone(errno))
			return -errno;
		if (n < 0)
			continue;
		target[n] = '\0';
		if (!node_name(name, target))
			continue;
		r = add(handles, name, (pid_t)atoi(pid));
		if (r < 0)
			return r;
	}
	return -errno;
}

static int read_all(struct handles *handles, const struct host *host, struct err *err)
{
	int proc = file_dir(host->root, "proc");
	const struct dirent *e;

	/* A tree below --root need not have processes; a host always does. */
	if (proc == -ENOENT && *host->name)
		return 0;
	autoclosedir DIR *d = proc < 0 ? NULL : fdopendir(proc);
	if (!d)
		return err_sys(err, proc < 0 ? -proc : errno, "cannot tell which vGPUs are open: %s/proc", host->name);
	while ((errno = 0, e = readdir(d))) {
		size_t digits = strspn(e->d_name, "0123456789");
		int r;

		if (digits == 0 || digits > 10 || e->d_name[digits])
			continue;
		r = read_process(handles, proc, e->d_name);
		if (r < 0 && !is_gone(-r))
			return err_sys(err, -r, "cannot tell which vGPUs are open: %s/proc/%s/fd", host->name,
				       e->d_name);
	}
	if (errno)
		return err_sys(err, errno, "cannot tell which vGPUs are open: %s/proc", host->name);
	return 0;
}

int handles_read(struct handles **out, const struct host *host, struct err *err)
{
	struct handles *handles = calloc(1, sizeof(*handles));
	int r;

	*out = NULL;
	if (!handles)
		return err_sys(err, ENOMEM, "cannot tell which vGPUs are open");
	r = read_all(handles, host, err);
	if (r < 0) {
		handles_free(handles);
		return r;
	}
	*out = handles;
	return 0;
}

void handles_free(struct handles *handles)
{
	if (!handles)
		return;
	free(handles->nodes);
	free(handles);
}

static bool find(const struct handles *handles, const char *name, pid_t *pid)
{
	for (size_t i = 0; i < handles->n; i++) {
		if (strcmp(handles->nodes[i].name, name) != 0)
			continue;
		if (pid)
			*pid = handles->nodes[i].pid;
		return true;
	}
	return false;
}

/* The device's character devices, /dev/vfio/devices/NAME, are listed in its vfio-dev/ (kernel 6.1 and later). */
static int find_cdev(const struct handles *handles, int device, pid_t *pid)
{
	const struct dirent *e;
	int fd = file_dir(device, "vfio-dev");

	if (fd == -ENOENT)
		return 0;
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return fd < 0 ? fd : -errno;
	while ((errno = 0, e = readdir(d)))
		if (find(handles, e->d_name, pid))
			return 1;
	return -errno;
}

int handles_open(const struct handles *handles, const struct host *host, const char *id, pid_t *pid, struct err *err)
{
	char path[64], safe[ID_SIZE], uuid[UUID_SIZE], group[NODE_SIZE];
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
	/* Neither group nor vfio-dev: VFIO has no node for it yet, so nobody can have it open. */
	r = file_link_base(device, "iommu_group", group, sizeof(group));
	if (r == 0 && find(handles, group, pid))
		return 1;
	if (r == 0 || r == -ENOENT)
		r = find_cdev(handles, device, pid);
	if (r < 0)
		return err_sys(err, -r, "cannot tell whether vGPU %s is open: %s/%s", safe, host->name, path);
	return r;
}
