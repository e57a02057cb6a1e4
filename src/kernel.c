/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only writes to sysfs: create a vGPU, remove it, set its parameters; and the waits until the kernel has done so.
 */
#include "kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "file.h"
#include "kernel_advice.h"
#include "text.h"

enum {
	KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80,
	STEP_FIRST_US = 200, /* the kernel is done by then, mostly */
	STEP_LAST_US = 20000,
};

/* The text of a failed write: what was tried, what the kernel said, what that means. */
static int refused(struct err *err, enum kernel_step step, bool nvidia, int code, const char *what)
{
	const char *advice = kernel_advice(step, nvidia, code), *said = strerrordesc_np(code);

	return err_set(err, code, "%s: %s%s%s", what, said ? said : "unknown error", *advice ? ": " : "", advice);
}

/* sys/class/mdev_bus/PARENT/mdev_supported_types/TYPE/FILE, of names that are fit for a path. */
static int type_path(char path[KPATH_SIZE], const char *parent, const char *type, const char *file, struct err *err)
{
	char safe_parent[PARENT_SIZE], safe_type[TYPE_SIZE];

	if (!parent_parse(safe_parent, parent))
		return err_set(err, EINVAL, "'%s' is no parent's name", parent);
	if (!type_parse(safe_type, type))
		return err_set(err, EINVAL, "'%s' is no type's id", type);
	snprintf(path, KPATH_SIZE, "sys/class/mdev_bus/%s/mdev_supported_types/%s/%s", safe_parent, safe_type, file);
	return 0;
}

/* sys/bus/mdev/devices/UUID, with what follows (with its slash) behind it. */
static int device_path(char path[KPATH_SIZE], const char *uuid, const char *behind, struct err *err)
{
	char safe[UUID_SIZE];

	if (!uuid_parse(safe, uuid))
		return err_set(err, EINVAL, "'%s' is no UUID", uuid);
	snprintf(path, KPATH_SIZE, "sys/bus/mdev/devices/%s%s", safe, behind);
	return 0;
}

/* Sleeps, and doubles the next sleep up to its limit. */
static void sleep_step(int *us)
{
	struct timespec t = { .tv_nsec = *us * 1000L };

	nanosleep(&t, NULL);
	*us = *us * 2 < STEP_LAST_US ? *us * 2 : STEP_LAST_US;
}

int kernel_available(const struct host *host, const char *parent, const char *type, struct err *err)
{
	char path[KPATH_SIZE], text[32];
	long n;
	int r = type_path(path, parent, type, "available_instances", err);

	if (r < 0)
		return r;
	r = (int)file_read(host->root, path, text, sizeof(text));
	if (r == -ENOENT)
		return err_set(err, ENOENT, "pGPU %s does not offer type %s", parent, type);
	if (r < 0)
		return err_sys(err, -r, "%s/%s", host->name, path);
	if (!text_number(text, INT_MIN, INT_MAX, &n))
		return err_set(err, EINVAL, "%s/%s: '%s' is no number", host->name, path, text);
	return n > 0 ? (int)n : 0;
}

int kernel_create(const struct host *host, const char *parent, const char *type, const char *uuid, struct err *err)
{
	char path[KPATH_SIZE], what[KPATH_SIZE + 64], line[UUID_SIZE + 1];
	int r = type_path(path, parent, type, "create", err);

	if (r < 0)
		return r;
	if (!uuid_parse(line, uuid))
		return err_set(err, EINVAL, "'%s' is no UUID", uuid);
	line[UUID_SIZE - 1] = '\n';
	r = file_poke(host->root, path, line, UUID_SIZE);
	if (r == 0)
		return 0;
	snprintf(what, sizeof(what), "creating vGPU %s of type %s on %s", uuid, type, parent);
	return refused(err, STEP_CREATE, kernel_type_is_nvidia(type), -r, what);
}

static bool has_node(const struct host *host, const char *folder, const char *name)
{
	char path[NAME_MAX + 32];

	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
	       faccessat(host->root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is there /dev/vfio/devices/vfioN of the device? Kernels without VFIO groups have no other node. */
static bool has_cdev(const struct host *host, int device)
{
	const struct dirent *e;
	int fd = file_dir(device, "vfio-dev");
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && has_node(host, "dev/vfio/devices", e->d_name))
			return true;
	return false;
}

/* NULL: it is whole; else what is missing, and what would make it appear. */
static const char *missing(const struct host *host, int device, char type[TYPE_SIZE])
{
	char group[32];

	if (file_link_base(device, "mdev_type", type, TYPE_SIZE) < 0) {
		type[0] = '\0';
		return "its mdev_type has not appeared";
	}
	if (file_link_base(device, "iommu_group", group, sizeof(group)) < 0)
		return has_cdev(host, device)
			       ? NULL
			       : "its iommu_group has not appeared: is the VFIO driver of mdevs loaded (modprobe "
				 "vfio_mdev, before Linux 5.15)?";
	if (has_node(host, "dev/vfio", group) || has_cdev(host, device))
		return NULL;
	return "its node in /dev/vfio has not appeared";
}

int kernel_wait_complete(const struct host *host, const char *uuid, const char *type, int wait_ms, struct err *err)
{
	int64_t deadline = host_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	bool seen = false;
	char path[KPATH_SIZE];
	int r = device_path(path, uuid, "", err);

	if (r < 0)
		return r;
	for (;; sleep_step(&us)) {
		autoclose int device = openat(host->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		const char *what = "it has not appeared in /sys/bus/mdev/devices";
		char found[TYPE_SIZE] = "";

		if (device < 0 && errno != ENOENT)
			return err_sys(err, errno, "%s/%s", host->name, path);
		if (device < 0 && seen)
			return err_set(err, ENODEV, "vGPU %s went away again after its creation; see dmesg", uuid);
		if (device >= 0) {
			seen = true;
			what = missing(host, device, found);
			if (*found && strcmp(found, type) != 0)
				return err_set(err, EEXIST, "vGPU %s is of type %s, not %s", uuid, found, type);
			if (!what)
				return 0;
		}
		if (host_now_ms() >= deadline)
			return err_set(err, ETIMEDOUT, "vGPU %s is not complete after %d ms: %s", uuid, wait_ms, what);
	}
}

int kernel_exists(const struct host *host, const char *uuid)
{
	struct err err;
	struct stat st;
	char path[KPATH_SIZE];
	int r = device_path(path, uuid, "", &err);

	if (r < 0)
		return r;
	if (fstatat(host->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static bool is_nvidia(const struct host *host, const char *uuid)
{
	char path[KPATH_SIZE], type[TYPE_SIZE];
	struct err err;

	return device_path(path, uuid, "/mdev_type", &err) == 0 &&
	       file_link_base(host->root, path, type, sizeof(type)) == 0 && kernel_type_is_nvidia(type);
}

int kernel_remove(const struct host *host, const char *uuid, int wait_ms, struct err *err)
{
	int64_t deadline = host_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	char path[KPATH_SIZE], what[KPATH_SIZE];
	int r = device_path(path, uuid, "/remove", err);
	bool nvidia, written = false;

	if (r < 0)
		return r;
	nvidia = is_nvidia(host, uuid);
	snprintf(what, sizeof(what), "removing vGPU %s", uuid);
	for (;; sleep_step(&us)) {
		int there;

		/*
		 * Of two writers at once the kernel lets one remove and tells the other that all is well: only its
		 * absence counts.
		 */
		if (!written)
			r = file_poke(host->root, path, "1\n", 2);
		written = r == 0;
		there = kernel_exists(host, uuid);
		if (there == 0)
			return 0;
		if (there < 0)
			return err_sys(err, -there, "%s/%s", host->name, path);
		if (r < 0 && r != -EAGAIN && r != -EBUSY && r != -EPERM && r != -ENODEV && r != -ENOENT)
			return refused(err, STEP_REMOVE, nvidia, -r, what);
		if (host_now_ms() < deadline)
			continue;
		if (r < 0)
			return refused(err, STEP_REMOVE, nvidia, -r, what);
		return err_set(err, EBUSY, "%s: it is still there after %d ms although the kernel took it; see dmesg",
			       what, wait_ms);
	}
}

int kernel_set_params(const struct host *host, const char *uuid, const char *params, struct err *err)
{
	char path[KPATH_SIZE], what[KPATH_SIZE];
	autofree char *line = NULL;
	int n, r = device_path(path, uuid, "/nvidia/vgpu_params", err);

	if (r < 0)
		return r;
	n = asprintf(&line, "%s\n", params);
	if (n < 0) {
		line = NULL;
		return err_sys(err, ENOMEM, "setting the parameters of vGPU %s", uuid);
	}
	r = file_poke(host->root, path, line, (size_t)n);
	if (r == 0)
		return 0;
	snprintf(what, sizeof(what), "setting the parameters of vGPU %s", uuid);
	return refused(err, STEP_PARAMS, true, -r, what);
}

bool kernel_driver_removes(const struct host *host, const char *parent)
{
	char path[KPATH_SIZE], vendor[16];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", parent);
	return file_read(host->root, path, vendor, sizeof(vendor)) >= 0 && strcmp(vendor, "0x10de") == 0;
}
