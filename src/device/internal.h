/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of kernel share: the operations of a framework, and the look for VFIO's nodes. Included by kernel*.c
 * only.
 */
#pragma once

#include "device/kernel.h"
#include "device/kernel_advice.h"

enum { KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

struct kernel_ops {
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

	/* What `create` writes, and to which file. */
	int (*create)(char path[KPATH_SIZE], char line[TYPE_SIZE], const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Is it whole? 1; 0: it is there, and *missing says what is not; -ENOENT: it is not there, and *missing says
	 * so; otherwise an error.
	 */
	int (*whole)(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err);

	int (*exists)(const struct host *host, const struct vgpu_ref *vgpu);

	/* Which file removes it, by which line. */
	int (*remove)(char path[KPATH_SIZE], const char **line, const struct vgpu_ref *vgpu, struct err *err);

	int (*params)(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, struct err *err);

	enum kernel_driver (*driver)(const struct host *host, const struct vgpu_ref *vgpu);
};

extern const struct kernel_ops kernel_mdev, kernel_variant;

/* Reads what the driver of a vGPU's parent answers, as timed_child_read() does. */
ssize_t kernel_read(const struct host *host, const struct vgpu_ref *vgpu, const char *path, char *buf, size_t size);

/* NULL: VFIO has a node for the device whose folder this is; else what has not appeared. */
const char *kernel_node_missing(const struct host *host, int device);
