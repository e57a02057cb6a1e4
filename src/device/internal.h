/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of this directory: the operations of a framework, and creating the vGPUs of a plan. */
#pragma once

#include "device/apply.h"
#include "device/kernel.h"
#include "device/kernel_advice.h"

enum { KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

/* The file and the line that create, remove or configure a vGPU. path "": nothing needs to be written. */
struct kernel_write {
	char path[KPATH_SIZE];
	char line[TYPE_SIZE];
};

struct kernel_ops {
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

	int (*creation)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Is the vGPU complete? Returns:
	 *   1: complete
	 *   0: exists, but *missing names what is not there
	 *   -ENOENT: does not exist, and *missing says so
	 *   other: an error
	 */
	int (*whole)(const struct host *host, const struct vgpu_ref *vgpu, const char **missing, struct err *err);

	int (*exists)(const struct host *host, const struct vgpu_ref *vgpu);

	int (*removal)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/* Sets only the path; the caller supplies the line. */
	int (*params_file)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	enum kernel_driver (*driver)(const struct host *host, const struct vgpu_ref *vgpu);
};

extern const struct kernel_ops kernel_mdev, kernel_variant, kernel_vf;

/* Reads a file that the driver of the vGPU's parent answers; results as of timed_child_read(). */
ssize_t kernel_read(const struct host *host, const struct vgpu_ref *vgpu, const char *path, char *buf, size_t size);

/* The path of a VF's directory in sysfs, followed by `behind` (with its slash). */
int kernel_vf_path(char path[KPATH_SIZE], const struct vgpu_ref *vgpu, const char *behind, struct err *err);

/* `device` is a device's directory. Returns NULL if VFIO has a node for the device, or the name of what is missing. */
const char *kernel_node_missing(const struct host *host, int device);

enum { UNDO_MS = 2000 };

/* `ms`, or the time left until `end_ms` if that is shorter. */
int create_within(int ms, int64_t end_ms);

/* When everything must have ended, including an undo. Locks for recording the outcome are waited for until then. */
int64_t create_last_ms(const struct apply *apply);

/* Creates the vGPU of a step, or removes it if it is incomplete. Needs the pGPU's lock. Returns as apply_step(). */
int create_vgpu(const struct apply *apply, const struct step *step, const char *params, struct err *err);

/*
 * Waits until the step's vGPU is complete, and sets the attributes of its mdevctl definition and its parameters (""
 * none). `params` NULL: the vGPU existed already, so nothing is set.
 */
int create_complete(const struct apply *apply, const struct step *step, const char *params, int64_t end,
		    struct err *err);

/* Sets the parameters of an adopted vGPU that is closed. A failure is only logged, unless the write hangs. */
int create_adopted(const struct apply *apply, const struct step *step, const char *params, int64_t end,
		   struct err *err);

/*
 * Removes what this step created, under the pGPU's lock. If it cannot, says so in `why` and returns -ETIMEDOUT: if a
 * monitor opened the device when it appeared, the removal may never end.
 */
int create_undo(const struct apply *apply, const struct step *step, struct err *why);

/* The error of a read that the driver does not answer. */
int create_no_answer(struct err *err);

/* release_begin.c: makes the lease `releasing`, with the origin that says whether to remove its device. */
void release_give_up(const struct store *store, struct lease *lease);
