/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel has now. Each framework is one table of operations, used for reading and for writing. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "sys/sys.h"
#include "look/inventory.h"

struct inv_reader;

enum { KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

struct kernel_write {
	char path[KPATH_SIZE];
	char line[TYPE_SIZE];
};

struct framework_ops {
	/* Adds the card's VFs that belong to this framework, with their vGPUs. NULL for mdevs: see inv_read_mdevs(). */
	void (*read_vfs)(struct inv_reader *reader, struct inv_pgpu *card, int dir);

	/* Adds types and offers after all cards were read and sorted. NULL: `read_vfs` adds them. */
	void (*ask)(struct inv_reader *reader);

	/* Implements kernel_available(); `card` is the pGPU. */
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, const char *card, struct err *err);

	/* Sets what to write; -EINVAL: an invalid name. Plain VFs always exist, so NULL from here on. */
	int (*creation)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Does the vGPU exist? *missing must be NULL on entry. Returns:
	 *   1: yes, with this type
	 *   0: yes, but it is incomplete; *missing says what has not appeared
	 *   -ENOENT: no; *missing says what has not appeared
	 *   -ETIMEDOUT: the driver does not answer; *missing says so
	 *   other: the vGPU cannot be read; `err` is set only in this case
	 */
	int (*look)(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], const char **missing,
		    struct err *err);

	struct {
		const char *file, *value;
	} removal;

	bool keeps_id; /* a VF's vGPUs all have one ID, so another type means another vGPU */
};

extern const struct framework_ops framework_mdev, framework_variant, framework_vf;
extern const struct framework_ops *const framework_ops[FW_VF + 1];

static inline const struct framework_ops *framework_of(const struct vgpu_ref *vgpu)
{
	return framework_ops[vgpu->framework];
}

/* Is sysfs read-only in libvirt's mount namespace, in which the hook runs? */
bool kernel_is_read_only(const struct host *host);

/* Makes a reference from an ID alone: a UUID means an mdev, an address means a VF that takes a type (FW_VARIANT). */
struct vgpu_ref kernel_vgpu(const char *id);

/* Sets `card` to the vGPU's pGPU, or to its parent if the pGPU is not known. */
void kernel_card(char card[PARENT_SIZE], const struct host *host, const struct vgpu_ref *vgpu);

/*
 * How many more vGPUs of the type the parent can create now; at most 1 for a VF. -ENOENT: no such parent or type;
 * -EINVAL: an invalid name or count; -ETIMEDOUT: the driver does not answer; other: the errno of the read.
 */
int kernel_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Does the vGPU exist? 1: yes; 0: no, or its type is not vgpu->type ("": any; compared only for a VF), or it is a plain
 * VF; -ETIMEDOUT: the driver does not answer; other: the errno of the read.
 */
int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu);
