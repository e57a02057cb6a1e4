/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of this directory share: the operations of a framework, and the creation of what a plan has. */
#pragma once

#include "device/apply.h"
#include "device/kernel.h"
#include "device/kernel_advice.h"

enum { KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

/* Which file makes, removes or sets a vGPU, by which line; path "": nothing has to be written. */
struct kernel_write {
	char path[KPATH_SIZE];
	char line[TYPE_SIZE];
};

struct kernel_ops {
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

	int (*creation)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Is it whole? 1; 0: it is there, and *missing says what is not; -ENOENT: it is not there, and *missing says
	 * so; otherwise an error.
	 */
	int (*whole)(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err);

	int (*exists)(const struct host *host, const struct vgpu_ref *vgpu);

	int (*removal)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/* The line is the caller's. */
	int (*params_file)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	enum kernel_driver (*driver)(const struct host *host, const struct vgpu_ref *vgpu);
};

extern const struct kernel_ops kernel_mdev, kernel_variant, kernel_vf;

/* Reads what the driver of a vGPU's parent answers, as timed_child_read() does. */
ssize_t kernel_read(const struct host *host, const struct vgpu_ref *vgpu, const char *path, char *buf, size_t size);

/* The directory of a VF in sysfs, with what follows (with its slash) behind it. */
int kernel_vf_path(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, const char *behind, struct err *err);

/* NULL: VFIO has a node for the device whose directory this is; else what has not appeared. */
const char *kernel_node_missing(const struct host *host, int device);

enum { UNDO_MS = 2000 };

/* So many milliseconds, but not beyond that time. */
int create_within(int ms, int64_t end_ms);

/* When all is over, undoing included: until then a lock is waited for that is needed to record how it ended. */
int64_t create_last_ms(const struct apply *apply);

/*
 * Creates the vGPU of a step and makes it whole, under the pGPU's lock; results as those of apply_step(). What did not
 * become whole is removed again.
 */
int create_vgpu(const struct apply *apply, const struct step *step, const char *params, struct err *err);

/*
 * Waits until the vGPU of a step is whole, and sets what its mdevctl definition has, and its parameters ("" leaves
 * those). NULL: it is somebody's already, and nothing is set.
 */
int create_complete(const struct apply *apply, const struct step *step, const char *params, int64_t end,
		    struct err *err);

/* Sets the parameters of a vGPU that is adopted, and closed. A failure is only logged, unless the write hangs. */
int create_adopted(const struct apply *apply, const struct step *step, const char *params, int64_t end,
		   struct err *err);

/*
 * Removes what this step made, under the pGPU's lock. -ETIMEDOUT, behind what went wrong before, if it cannot: a
 * monitor can have opened it the moment it appeared, and such a removal would never end.
 */
int create_undo(const struct apply *apply, const struct step *step, struct err *why);

/* The error of a read that the driver does not answer. */
int create_no_answer(struct err *err);

/* release_begin.c: makes the lease `releasing`, with the origin that says whether its device goes. */
void release_give_up(const struct store *store, struct lease *lease);
