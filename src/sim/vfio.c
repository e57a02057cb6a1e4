/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Implements IOMMU groups, /dev/vfio and /proc. */
#include "sim/vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"

enum {
	GROUP_MAJOR = 511, /* the real kernel assigns free majors below 512 */
	DEVICE_MAJOR = 510,
	CONTAINER_MAJOR = 10,
	CONTAINER_MINOR = 196,
	FIRST_FD = 10, /* number of the first descriptor in /proc/PID/fd; the real number is not known */
	NAME_SIZE = 32,
};

/* A process can change its name, so read the name from the real /proc while the process exists. */
static const char *name_now(const struct sim_process *process, char buf[NAME_SIZE])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process->pid);
	return sys_read(AT_FDCWD, path, buf, NAME_SIZE) > 0 ? buf : process->comm;
}

static int comm_show(const struct sim_node *node, FILE *out)
{
	char name[NAME_SIZE];

	fprintf(out, "%s\n", name_now(node->owner, name));
	return 0;
}

/* The format of proc(5). Fields that no program reads are 0. */
static int stat_show(const struct sim_node *node, FILE *out)
{
	const struct sim_process *process = node->owner;
	char name[NAME_SIZE];

	fprintf(out, "%d (%s) S", (int)process->pid, name_now(process, name));
	for (int field = 4; field <= 52; field++)
		fprintf(out, " %" PRIu64, field == 22 ? process->start : 0);
	putc('\n', out);
	return 0;
}

static const struct sim_attr comm_attr = { .name = "comm", .mode = 0644, .show = comm_show };
static const struct sim_attr stat_attr = { .name = "stat", .mode = 0444, .show = stat_show };

static int group_dev_show(const struct sim_node *node, FILE *out)
{
	const struct sim_group *group = node->owner;

	fprintf(out, "%d:%d\n", GROUP_MAJOR, group->number);
	return 0;
}

static int device_dev_show(const struct sim_node *node, FILE *out)
{
	const struct sim_group *group = node->owner;

	fprintf(out, "%d:%d\n", DEVICE_MAJOR, group->number);
	return 0;
}

static const struct sim_attr group_dev = { .name = "dev", .mode = 0444, .kept = true, .show = group_dev_show };
static const struct sim_attr device_dev = { .name = "dev", .mode = 0444, .kept = true, .show = device_dev_show };

/* A node for the target of /proc/PID/fd/N. The opened node is a regular file, not a device. */
static struct sim_node *number(struct sim_kernel *kernel, unsigned int major, unsigned int minor)
{
	char name[24];

	snprintf(name, sizeof(name), "%u:%u", major, minor);
	return sim_tree_char(&kernel->tree, kernel->char_dir, name, makedev(major, minor));
}

void sim_vfio_build(struct sim_kernel *kernel)
{
	struct sim_tree *tree = &kernel->tree;

	kernel->vfio_class = sim_tree_dir(tree, kernel->sys, "class/vfio", NULL);
	kernel->char_dir = sim_tree_dir(tree, kernel->dev, "char", NULL);
	sim_tree_varies(kernel->vfio_class);
	sim_tree_varies(kernel->char_dir);
	sim_tree_device(tree, kernel->vfio_dir, "vfio", NULL);
	number(kernel, CONTAINER_MAJOR, CONTAINER_MINOR);
}

void sim_vfio_device(struct sim_group *group, struct sim_node *dir)
{
	struct sim_tree *tree = &group->kernel->tree;

	dir = sim_tree_dir(tree, dir, "vfio-dev", NULL);
	sim_tree_file(tree, sim_tree_dir(tree, dir, group->device_dev->name, NULL), &device_dev, group);
}

void sim_vfio_attach(struct sim_group *group)
{
	struct sim_kernel *kernel = group->kernel;
	char name[48];

	snprintf(name, sizeof(name), "devices/virtual/vfio/%d", group->number);
	group->class_dir = sim_tree_dir(&kernel->tree, kernel->sys, name, NULL);
	sim_tree_file(&kernel->tree, group->class_dir, &group_dev, group);
	snprintf(name, sizeof(name), "%d", group->number);
	group->class_link = sim_tree_link(&kernel->tree, kernel->vfio_class, name, group->class_dir);
	group->dev = sim_tree_device(&kernel->tree, kernel->vfio_dir, name, group);
	snprintf(name, sizeof(name), "vfio%d", group->number);
	group->device_dev = sim_tree_device(&kernel->tree, kernel->vfio_devices, name, group);
}

void sim_vfio_detach(struct sim_group *group)
{
	struct sim_tree *tree = &group->kernel->tree;

	sim_tree_remove(tree, group->dev);
	sim_tree_remove(tree, group->device_dev);
	sim_tree_remove(tree, group->class_link);
	sim_tree_remove(tree, group->class_dir);
	group->dev = group->device_dev = group->class_link = group->class_dir = NULL;
}

struct sim_group *sim_vfio_group(struct sim_kernel *kernel, void *owner, void (*closed)(struct sim_group *))
{
	struct sim_group **at = &kernel->groups, *group = mem_new(1, sizeof(*group));
	char name[16];

	for (; *at && (*at)->number == group->number; at = &(*at)->next)
		group->number++;
	group->next = *at;
	*at = group;
	group->kernel = kernel;
	group->owner = owner;
	group->closed = closed;
	group->is_usable = true;
	snprintf(name, sizeof(name), "%d", group->number);
	group->dir = sim_tree_dir(&kernel->tree, kernel->groups_dir, name, NULL);
	group->numbers[0] = number(kernel, GROUP_MAJOR, (unsigned int)group->number);
	group->numbers[1] = number(kernel, DEVICE_MAJOR, (unsigned int)group->number);
	sim_vfio_attach(group);
	return group;
}

void sim_vfio_group_free(struct sim_group *group)
{
	struct sim_kernel *kernel = group->kernel;
	struct sim_group **at = &kernel->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	sim_tree_remove(&kernel->tree, group->dir);
	sim_tree_remove(&kernel->tree, group->numbers[0]);
	sim_tree_remove(&kernel->tree, group->numbers[1]);
	sim_vfio_detach(group);
	free(group);
}

long sim_vfio_busy_ms(const struct sim_group *group)
{
	int64_t left = group ? group->busy_until - group->kernel->now : 0;

	return left > 0 ? (long)left : 0;
}

static struct sim_process *process_get(struct sim_kernel *kernel, pid_t pid, const char *comm, uint64_t start)
{
	struct sim_process *process = kernel->processes;
	struct sim_tree *tree = &kernel->tree;
	char name[16];

	while (process && process->pid != pid)
		process = process->next;
	if (process)
		return process;
	process = mem_new(1, sizeof(*process));
	process->pid = pid;
	process->start = start;
	text_copy(process->comm, sizeof(process->comm), comm);
	process->next = kernel->processes;
	kernel->processes = process;
	snprintf(name, sizeof(name), "%d", (int)pid);
	process->dir = sim_tree_dir(tree, kernel->proc, name, process);
	process->fds = sim_tree_dir(tree, process->dir, "fd", process);
	sim_tree_file(tree, process->dir, &comm_attr, process);
	sim_tree_file(tree, process->dir, &stat_attr, process);
	return process;
}

static void process_put(struct sim_kernel *kernel, struct sim_process *process)
{
	struct sim_process **at = &kernel->processes;

	if (process->fds->first)
		return;
	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	sim_tree_remove(&kernel->tree, process->dir);
	free(process);
}

int sim_vfio_open(struct sim_kernel *kernel, struct sim_node *node, pid_t pid, const char *comm, uint64_t start,
		  struct sim_handle **out)
{
	struct sim_group *group = node->owner;
	struct sim_handle *handle;
	char name[16], target[64];

	if (node->gone || (group && !group->is_usable))
		return -ENODEV;
	if (group && group->holder)
		return -EBUSY;
	handle = mem_new(1, sizeof(*handle));
	handle->kernel = kernel;
	handle->group = group;
	handle->process = process_get(kernel, pid, comm, start);
	handle->next = kernel->users;
	kernel->users = handle;
	if (group)
		group->holder = handle;
	for (int fd = FIRST_FD;; fd++) {
		snprintf(name, sizeof(name), "%d", fd);
		if (!sim_tree_find(&kernel->tree, handle->process->fds, name))
			break;
	}
	/* This relative text is also valid outside the simulated host. */
	snprintf(target, sizeof(target), "../../../dev/char/%d:%d",
		 !group                             ? CONTAINER_MAJOR
		 : node->parent == kernel->vfio_dir ? GROUP_MAJOR
						    : DEVICE_MAJOR,
		 group ? group->number : CONTAINER_MINOR);
	handle->link = sim_tree_link_text(&kernel->tree, handle->process->fds, name, target);
	*out = handle;
	return 0;
}

void sim_vfio_close(struct sim_handle *handle)
{
	struct sim_kernel *kernel = handle->kernel;
	struct sim_handle **at = &kernel->users;
	struct sim_group *group = handle->group;

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	if (group)
		group->holder = NULL;
	sim_tree_remove(&kernel->tree, handle->link);
	process_put(kernel, handle->process);
	free(handle);
	if (group)
		group->closed(group);
}
