/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frameworks: one table of operations each, from which both reads and writes learn paths and formats. */
#pragma once

#include "base/err.h"
#include "look/inventory.h"

struct inv_reader;

enum { KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

/* A write that creates a vGPU: the file, and the line to write. */
struct kernel_write {
	char path[KPATH_SIZE];
	char line[TYPE_SIZE];
};

/* All that is specific to a framework: how its cards are read, and how its vGPUs are created and removed. */
struct framework_ops {
	/* Adds those VFs of a card that are of this framework, and the vGPUs on them. NULL: see inv_read_mdevs(). */
	void (*read_vfs)(struct inv_reader *reader, struct inv_pgpu *card, int dir);

	/* Adds the types and offers once all cards are read and sorted. NULL: `read_vfs` has added them. */
	void (*ask)(struct inv_reader *reader);

	/* Implements kernel_available(); `card` is the pGPU. */
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, const char *card, struct err *err);

	/* The members below are NULL if vGPUs exist without being created. */
	int (*creation)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Does the vGPU exist? Returns:
	 *   1: yes, with this type
	 *   0: yes, but it is not complete: *missing says what has not appeared
	 *   -ENOENT: no; *missing says what has not appeared
	 *   other: an error; -ETIMEDOUT with *missing: the driver does not answer
	 */
	int (*look)(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], const char **missing,
		    struct err *err);

	/* To remove the vGPU, write `value` to `file` in its directory. */
	struct {
		const char *file, *value;
	} removal;

	bool keeps_id; /* successive vGPUs have the same ID, so another type means another vGPU */
};

extern const struct framework_ops framework_mdev, framework_variant, framework_vf;
extern const struct framework_ops *const framework_ops[FW_VF + 1];

static inline const struct framework_ops *framework_of(const struct vgpu_ref *vgpu)
{
	return framework_ops[vgpu->framework];
}
