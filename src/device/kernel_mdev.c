/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mediated devices: created by a write to the parent's `create`, removed by a write to their own `remove`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"
#include "sys/sys.h"

/* sys/class/mdev_bus/PARENT/mdev_supported_types/TYPE/FILE, from validated names. */
static int type_path(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, const char *file, struct err *err)
{
	char parent[PARENT_SIZE], type[TYPE_SIZE];

	if (!parent_parse(parent, vgpu->parent))
		return err_set(err, EINVAL, "'%s' is not the name of a parent", vgpu->parent);
	if (!type_parse(type, vgpu->type))
		return err_set(err, EINVAL, "'%s' is not a type ID", vgpu->type);
	snprintf(path, KPATH_SIZE, "sys/class/mdev_bus/%s/mdev_supported_types/%s/%s", parent, type, file);
	return 0;
}

/* sys/bus/mdev/devices/UUID, followed by `behind` (with its slash). */
static int device_path(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, const char *behind, struct err *err)
{
	char safe[UUID_SIZE];

	if (!uuid_parse(safe, vgpu->id))
		return err_set(err, EINVAL, "'%s' is not a UUID", vgpu->id);
	snprintf(path, KPATH_SIZE, "sys/bus/mdev/devices/%s%s", safe, behind);
	return 0;
}

static int mdev_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	char path[KPATH_SIZE], text[32];
	long n;
	int r = type_path(path, vgpu, "available_instances", err);

	if (r < 0)
		return r;
	r = (int)kernel_read(host, vgpu, path, text, sizeof(text));
	if (r == -ENOENT)
		return err_set(err, ENOENT, "pGPU %s does not offer type %s", vgpu->parent, vgpu->type);
	if (r < 0)
		return err_sys(err, -r, "%s/%s", host->name, path);
	if (!text_number(text, INT_MIN, INT_MAX, &n))
		return err_set(err, EINVAL, "%s/%s: '%s' is not a number", host->name, path, text);
	return n > 0 ? (int)n : 0;
}

static int mdev_creation(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	char uuid[UUID_SIZE];

	if (!uuid_parse(uuid, vgpu->id))
		return err_set(err, EINVAL, "'%s' is not a UUID", vgpu->id);
	snprintf(write->line, sizeof(write->line), "%s\n", uuid);
	return type_path(write->path, vgpu, "create", err);
}

static int mdev_whole(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err)
{
	char path[KPATH_SIZE], type[TYPE_SIZE];
	int r = device_path(path, vgpu, "", err);

	if (r < 0)
		return r;
	autoclose int device = sys_dir(host->root, path);
	if (device < 0 && errno != ENOENT)
		return err_sys(err, errno, "%s/%s", host->name, path);
	*missing = "it has not appeared in /sys/bus/mdev/devices";
	if (device < 0)
		return -ENOENT;
	*missing = "its mdev_type has not appeared";
	if (sys_link(device, "mdev_type", type, sizeof(type)) < 0)
		return 0;
	*missing = NULL;
	if (strcmp(type, vgpu->type) != 0)
		return err_set(err, EEXIST, "vGPU %s is of type %s, not %s", vgpu->id, type, vgpu->type);
	*missing = kernel_node_missing(host, device);
	return *missing ? 0 : 1;
}

static int mdev_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	struct err err;
	struct stat st;
	char path[KPATH_SIZE];
	int r = device_path(path, vgpu, "", &err);

	if (r < 0)
		return r;
	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static int mdev_removal(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	memcpy(write->line, "1\n", sizeof("1\n"));
	return device_path(write->path, vgpu, "/remove", err);
}

static int mdev_params_file(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	return device_path(write->path, vgpu, "/nvidia/vgpu_params", err);
}

/* If the caller does not know the type, the device's own type decides. */
static enum kernel_driver mdev_driver(const struct host *host, const struct vgpu_ref *vgpu)
{
	char path[KPATH_SIZE], type[TYPE_SIZE];
	struct err err;

	if (!text_copy(type, sizeof(type), vgpu->type) ||
	    (!*type &&
	     (device_path(path, vgpu, "/mdev_type", &err) < 0 || sys_link(host->root, path, type, sizeof(type)) < 0)))
		return DRIVER_OTHER;
	return kernel_type_is_nvidia(type) ? DRIVER_NVIDIA_MDEV : DRIVER_OTHER;
}

const struct kernel_ops kernel_mdev = {
	.available = mdev_available,
	.creation = mdev_creation,
	.whole = mdev_whole,
	.exists = mdev_exists,
	.removal = mdev_removal,
	.params_file = mdev_params_file,
	.driver = mdev_driver,
};
