/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * VFs of NVIDIA's variant driver: writing a type's number to current_vgpu_type creates the vGPU, writing 0 removes it.
 *
 * Facts: writing 0 gives EPERM if the VF has no type or is open, and EBUSY if nvidia-vgpu-mgr has not released it
 * within 5 s. So the value that is read back counts, not the result of the write.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "sys/sys.h"
#include "host/typelist.h"

int kernel_vf_path(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, const char *behind, struct err *err)
{
	char pci[PCI_SIZE];

	if (!pci_parse(pci, vgpu->id))
		return err_set(err, EINVAL, "'%s' is not a PCI address", vgpu->id);
	snprintf(path, KPATH_SIZE, "sys/bus/pci/devices/%s%s", pci, behind);
	return 0;
}

/* The number in a type such as "nvidia-1145". Any other type is an error. */
static int number_of(const struct vgpu_ref *vgpu, int *number, struct err *err)
{
	if (typelist_number(vgpu->type, number))
		return 0;
	return err_set(err, EINVAL, "'%s' is not a type of NVIDIA's driver, such as nvidia-1145", vgpu->type);
}

/* The VF's type; 0 none; a negative errno. */
static long current_type(const struct host *host, const struct vgpu_ref *vgpu)
{
	char path[KPATH_SIZE], text[32];
	struct err err;
	ssize_t n;
	long type;

	if (kernel_vf_path(path, vgpu, "/nvidia/current_vgpu_type", &err) < 0)
		return -err.code;
	n = kernel_read(host, vgpu, path, text, sizeof(text));
	if (n < 0)
		return n;
	return text_number(text, 0, INT_MAX, &type) ? type : -EINVAL;
}

/* Reads this VF's own list again, because a sibling that has just got a type changes it. */
static int variant_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	char text[TYPELIST_TEXT_MAX];
	struct typelist list = { 0 };
	char path[KPATH_SIZE];
	ssize_t n;
	int number, r;

	if (number_of(vgpu, &number, err) < 0 || kernel_vf_path(path, vgpu, "/nvidia/creatable_vgpu_types", err) < 0)
		return -err->code;
	n = kernel_read(host, vgpu, path, text, TYPELIST_TEXT_MAX);
	if (n == -ENOENT)
		err_set(err, ENOENT, "VF %s: provides no vGPUs: NVIDIA's host driver is not bound to it", vgpu->id);
	else if (n < 0)
		err_set(err, (int)-n, "VF %s: creatable_vgpu_types cannot be read: %s", vgpu->id,
			err_describe((int)-n));
	/* The cause leaves out the VF: a refusal names the pGPU and groups reasons with the same cause. */
	if (n < 0)
		return err_cause(err, strlen("VF : ") + strlen(vgpu->id));
	typelist_parse(&list, text);
	r = typelist_find(&list, number) != NULL;
	typelist_free(&list);
	return r;
}

static int variant_creation(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	int number, r = number_of(vgpu, &number, err);

	if (r < 0)
		return r;
	snprintf(write->line, sizeof(write->line), "%d\n", number);
	return kernel_vf_path(write->path, vgpu, "/nvidia/current_vgpu_type", err);
}

static int variant_whole(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err)
{
	char path[KPATH_SIZE];
	int number;
	long type;

	if (number_of(vgpu, &number, err) < 0 || kernel_vf_path(path, vgpu, "", err) < 0)
		return -err->code;
	type = current_type(host, vgpu);
	if (type == -ETIMEDOUT) {
		*missing = "its driver does not answer a read of current_vgpu_type";
		return 0;
	}
	if (type < 0 && type != -ENOENT) {
		err_set(err, (int)-type, "VF %s: current_vgpu_type cannot be read: %s", vgpu->id,
			err_describe((int)-type));
		return err_cause(err, strlen("VF : ") + strlen(vgpu->id));
	}
	*missing = type == 0 ? "its current_vgpu_type reads 0" : "it has no current_vgpu_type";
	if (type <= 0)
		return -ENOENT;
	*missing = NULL;
	if (type != number) {
		err_set(err, EEXIST, "VF %s: its type is nvidia-%ld, not %s", vgpu->id, type, vgpu->type);
		return err_cause(err, strlen("VF : ") + strlen(vgpu->id));
	}
	autoclose int device = sys_dir(host->root, path);
	if (device < 0)
		return err_sys(err, errno, "%s/%s", host->name, path);
	*missing = kernel_node_missing(host, device);
	return *missing ? 0 : 1;
}

static int variant_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	long type = current_type(host, vgpu);
	int number = 0;

	if (type < 0)
		return type == -ENOENT ? 0 : (int)type;
	if (*vgpu->type && !typelist_number(vgpu->type, &number))
		return -EINVAL;
	return type != 0 && (number == 0 || type == number);
}

static int variant_removal(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	memcpy(write->line, "0\n", sizeof("0\n"));
	return kernel_vf_path(write->path, vgpu, "/nvidia/current_vgpu_type", err);
}

static int variant_params_file(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	return kernel_vf_path(write->path, vgpu, "/nvidia/vgpu_params", err);
}

static enum kernel_driver variant_driver(const struct host *host, const struct vgpu_ref *vgpu)
{
	(void)host, (void)vgpu;
	return DRIVER_NVIDIA_VF;
}

const struct kernel_ops kernel_variant = {
	.available = variant_available,
	.creation = variant_creation,
	.whole = variant_whole,
	.exists = variant_exists,
	.removal = variant_removal,
	.params_file = variant_params_file,
	.driver = variant_driver,
};
