/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All writes to sysfs, and waiting until the kernel has carried them out. */
#include "device/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"
#include "sys/timed_child.h"
#include "internal.h"

enum {
	STEP_FIRST_US = 50, /* the kernel has mostly finished by then */
	STEP_LAST_US = 20000,
};

struct vgpu_ref kernel_vgpu(const char *id)
{
	char uuid[UUID_SIZE];
	struct vgpu_ref vgpu = { .framework = uuid_parse(uuid, id) ? FW_MDEV : FW_VARIANT };

	text_copy(vgpu.id, sizeof(vgpu.id), id);
	return vgpu;
}

static const struct kernel_ops *ops_of(const struct vgpu_ref *vgpu)
{
	static const struct kernel_ops *const table[] = {
		[FW_MDEV] = &kernel_mdev, [FW_VARIANT] = &kernel_variant, [FW_VF] = &kernel_vf
	};

	return table[vgpu->framework];
}

ssize_t kernel_read(const struct host *host, const struct vgpu_ref *vgpu, const char *path, char *buf, size_t size)
{
	const char *who = *vgpu->parent ? vgpu->parent : vgpu->id;
	char card[PCI_SIZE];

	if (*vgpu->pgpu)
		who = vgpu->pgpu;
	else if (inventory_physfn(host, who, card))
		who = card;
	return timed_child_read(who, host->root, path, buf, size);
}

/* Sets the text of a failed write: what was tried, the kernel's error, and what that means. */
static int refused(struct err *err, enum kernel_step step, enum kernel_driver driver, int code, const char *what)
{
	const char *advice = kernel_advice(step, driver, code);

	err_set(err, code, "%s: %s%s%s", what, err_describe(code), *advice ? ": " : "", advice);
	return err_cause(err, strlen(what) + 2);
}

static void sleep_step(int *us)
{
	struct timespec t = { .tv_nsec = *us * 1000L };

	nanosleep(&t, NULL);
	*us = *us * 2 < STEP_LAST_US ? *us * 2 : STEP_LAST_US;
}

static bool has_node(const struct host *host, const char *directory, const char *name)
{
	char path[NAME_MAX + 32];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       sys_exists(host->root, path);
}

/* Does the device have a /dev/vfio/devices/vfioN? It is the only node if the kernel has no VFIO groups. */
static bool has_cdev(const struct host *host, int device)
{
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(device, "vfio-dev");

	while ((e = sys_next(d)))
		if (has_node(host, "dev/vfio/devices", e->d_name))
			return true;
	return false;
}

const char *kernel_node_missing(const struct host *host, int device)
{
	char group[32];

	if (sys_link(device, "iommu_group", group, sizeof(group)) < 0)
		return has_cdev(host, device)
			       ? NULL
			       : "its iommu_group has not appeared; before Linux 5.15, run 'modprobe vfio_mdev'";
	if (has_node(host, "dev/vfio", group) || has_cdev(host, device))
		return NULL;
	return "its node in /dev/vfio has not appeared";
}

static int poke(const struct host *host, const struct kernel_write *write, const char *line)
{
	return *write->path ? timed_child_poke(host->root, write->path, line, strlen(line)) : 0;
}

int kernel_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	return ops_of(vgpu)->available(host, vgpu, err);
}

int kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	const struct kernel_ops *ops = ops_of(vgpu);
	struct kernel_write write = { 0 };
	char what[KPATH_SIZE + 64];
	int r = ops->creation(&write, vgpu, err);

	if (r < 0)
		return r;
	r = poke(host, &write, write.line);
	if (r == 0)
		return 0;
	snprintf(what, sizeof(what), "creating vGPU %s of type %s on %s", vgpu->id, vgpu->type, vgpu->parent);
	return refused(err, KERNEL_CREATE, ops->driver(host, vgpu), -r, what);
}

int kernel_wait_complete(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err)
{
	const struct kernel_ops *ops = ops_of(vgpu);
	int64_t deadline = sys_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	bool seen = false;

	for (;; sleep_step(&us)) {
		const char *missing = NULL;
		int r = ops->whole(host, vgpu, &missing, err);

		if (r == 1)
			return 0;
		if (r < 0 && !missing)
			return r;
		if (r < 0 && seen) {
			err_set(err, ENODEV,
				"vGPU %s disappeared again after its creation; see dmesg (troubleshooting: vgpu-is-not-complete)",
				vgpu->id);
			return err_cause(err, strlen("vGPU  ") + strlen(vgpu->id));
		}
		seen |= r == 0;
		if (sys_now_ms() >= deadline) {
			err_set(err, ETIMEDOUT,
				"vGPU %s is not complete after %d ms: %s (troubleshooting: vgpu-is-not-complete)",
				vgpu->id, wait_ms, missing);
			return err_cause(err, strlen("vGPU  ") + strlen(vgpu->id));
		}
	}
}

int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	return ops_of(vgpu)->exists(host, vgpu);
}

enum presence kernel_presence(const struct host *host, const struct vgpu_ref *vgpu)
{
	int r = kernel_exists(host, vgpu);

	return r < 0 ? PRESENCE_UNKNOWN : r ? PRESENT : ABSENT;
}

static bool may_pass(int code)
{
	return code == EAGAIN || code == EBUSY || code == EPERM || code == ENODEV || code == ENOENT;
}

int kernel_remove(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err)
{
	const struct kernel_ops *ops = ops_of(vgpu);
	int64_t deadline = sys_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	struct kernel_write write = { 0 };
	char what[KPATH_SIZE];
	enum kernel_driver driver;
	bool written = false;
	int there, r = ops->removal(&write, vgpu, err);

	if (r < 0)
		return r;
	driver = ops->driver(host, vgpu);
	snprintf(what, sizeof(what), "removing vGPU %s", vgpu->id);
	/* Checked before the first write too: a VF may have another type by now, which is not ours to remove. */
	for (there = ops->exists(host, vgpu); there > 0; sleep_step(&us)) {
		/*
		 * If two processes write at once, one removes the device and the kernel reports success to both, so
		 * only the device's absence counts.
		 */
		if (!written)
			r = poke(host, &write, write.line);
		written = r == 0;
		there = ops->exists(host, vgpu);
		if (there <= 0)
			break;
		if (r < 0 && (!may_pass(-r) || sys_now_ms() >= deadline))
			return refused(err, KERNEL_REMOVE, driver, -r, what);
		if (sys_now_ms() >= deadline)
			return err_set(
				err, EBUSY,
				"%s: still present after %d ms, although the kernel accepted the removal; see dmesg (troubleshooting: removing-vgpu)",
				what, wait_ms);
	}
	return there < 0 ? err_sys(err, -there, "%s/%s", host->name, write.path) : 0;
}

int kernel_set_params(const struct host *host, const struct vgpu_ref *vgpu, const char *params, struct err *err)
{
	const struct kernel_ops *ops = ops_of(vgpu);
	autofree char *line = mem_format("%s\n", params);
	struct kernel_write write = { 0 };
	char what[KPATH_SIZE];
	int r = ops->params_file(&write, vgpu, err);

	if (r < 0)
		return r;
	r = poke(host, &write, line);
	if (r == 0)
		return 0;
	snprintf(what, sizeof(what), "vGPU %s: setting the parameters", vgpu->id);
	refused(err, KERNEL_PARAMS, ops->driver(host, vgpu), -r, what);
	/* The cause includes what was tried, to distinguish it from a failed creation. */
	return err_cause(err, strlen("vGPU : ") + strlen(vgpu->id));
}

int kernel_set_attr(const struct host *host, const struct vgpu_ref *vgpu, const char *name, const char *value,
		    struct err *err)
{
	autofree char *path = NULL, *line = mem_format("%s\n", value);
	char uuid[UUID_SIZE];
	int r;

	if (!uuid_parse(uuid, vgpu->id))
		return err_set(err, EINVAL, "'%s' is not a UUID", vgpu->id);
	path = mem_format("sys/bus/mdev/devices/%s/%s", uuid, name);
	r = timed_child_poke(host->root, path, line, strlen(line));
	if (r == 0)
		return 0;
	err_set(err, -r, "vGPU %s: setting %s to '%s', as its mdevctl definition has it: %s", uuid, name, value,
		err_describe(-r));
	return err_cause(err, strlen("vGPU : ") + strlen(uuid));
}

bool kernel_driver_removes(const struct host *host, const struct vgpu_ref *vgpu)
{
	return ops_of(vgpu)->driver(host, vgpu) == DRIVER_NVIDIA_MDEV;
}
