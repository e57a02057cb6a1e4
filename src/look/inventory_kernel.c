/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the kernel about a vGPU or its parent. */
#include "look/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/mem.h"

const struct framework_ops *const framework_ops[FW_VF + 1] = { &framework_mdev, &framework_variant, &framework_vf };

struct vgpu_ref kernel_vgpu(const char *id)
{
	char uuid[UUID_SIZE];
	struct vgpu_ref vgpu = { .framework = uuid_parse(uuid, id) ? FW_MDEV : FW_VARIANT };

	text_copy(vgpu.id, sizeof(vgpu.id), id);
	return vgpu;
}

void kernel_card(char card[PARENT_SIZE], const struct host *host, const struct vgpu_ref *vgpu)
{
	const char *parent = *vgpu->parent ? vgpu->parent : vgpu->id;

	if (*vgpu->pgpu || !inventory_physfn(host, parent, card))
		text_copy(card, PARENT_SIZE, *vgpu->pgpu ? vgpu->pgpu : parent);
}

bool kernel_is_read_only(const struct host *host)
{
	autoclose int sys = openat(host->libvirt, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statvfs fs;

	return sys >= 0 && fstatvfs(sys, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	const struct framework_ops *ops = framework_of(vgpu);
	char type[TYPE_SIZE];
	struct err ignored;
	int r = ops->look(host, vgpu, type, &ignored);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return !ops->keeps_id || !*vgpu->type || strcmp(type, vgpu->type) == 0;
}
