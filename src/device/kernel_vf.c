/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain VFs: they are never created or removed, and one that exists can be leased. */
#include <errno.h>

#include "internal.h"
#include "sys/sys.h"

static int vf_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	char path[KPATH_SIZE];

	if (kernel_vf_path(path, vgpu, "/physfn", err) < 0)
		return -err->code;
	return sys_exists(host->root, path) ? 1 : err_sys(err, errno, "VF %s", vgpu->id);
}

static int vf_write(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	(void)write, (void)vgpu, (void)err;
	return 0;
}

static int vf_whole(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err)
{
	(void)host, (void)vgpu, (void)missing, (void)err;
	return 1;
}

/* A plain VF never exists as a created device. */
static int vf_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	(void)host, (void)vgpu;
	return 0;
}

static enum kernel_driver vf_driver(const struct host *host, const struct vgpu_ref *vgpu)
{
	(void)host, (void)vgpu;
	return DRIVER_OTHER;
}

const struct kernel_ops kernel_vf = {
	.available = vf_available,
	.creation = vf_write,
	.whole = vf_whole,
	.exists = vf_exists,
	.removal = vf_write,
	.params_file = vf_write,
	.driver = vf_driver,
};
