/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulated kernel's state: cards with parents, mdevs and IOMMU groups; operations in progress; ordered errors and
 * hangs; and the log. It is plain data without threads: time stands still between two calls of sim_kernel_advance(),
 * and an operation that has to wait keeps its write.
 *
 * These modules work on the state: sim_instances (capacity), sim_vfio (groups and their users), sim_mdev (create and
 * remove), sim_variant (types set on VFs), sim_pci (PCI devices), sim_sriov (VFs), sim_topology (the tree at the
 * start), sim_control (the operator's knobs).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"
#include "sim/model.h"
#include "sim/tree.h"

enum {
	SIM_PARAMS_MAX = 1024,  /* bytes of nvidia/vgpu_params */
	SIM_INSTANCES_MAX = 8,  /* GPU instances of a card */
	SIM_PLUGIN_WAIT = 5000, /* milliseconds for which NVIDIA's driver waits for vgpu-mgr */
};

struct sim_kernel;
struct sim_mdev;

/* Calls `fire` once, at the time `at` or later; `at` 0: not set. */
struct sim_timer {
	struct sim_timer *next;
	int64_t at;
	void (*fire)(void *arg);
	void *arg;
};

/*
 * What the operator can change, for all cards or for one. Delays are milliseconds. DRIVER_REMOVES is the delay plus 1;
 * 0 means never. DRIVER_ZOMBIE is 1 if an mdev that is removed before the driver removes it becomes a zombie.
 */
enum sim_knob {
	SIM_CREATE_DELAY,
	SIM_REMOVE_DELAY,
	SIM_ATTR_DELAY,
	SIM_PLUGIN_DELAY,
	SIM_PARAMS_DELAY,
	SIM_DRIVER_REMOVES,
	SIM_DRIVER_ZOMBIE,
	SIM_KNOBS
};

/* A GPU instance, as `nvidia-smi mig -cgi` creates it. */
struct sim_instance {
	int id, slices;
	char profile[16]; /* 1g.5gb */
	bool taken;
};

/* A pGPU. */
struct sim_gpu {
	struct sim_kernel *kernel;
	const struct sim_item *item;
	char name[PARENT_SIZE];
	int number; /* counted from 0 within its model */
	int numa_node;
	int nparents; /* the pGPU itself, or its enabled VFs */
	struct sim_parent *parents;
	struct sim_node *dir; /* under /sys/devices */
	long used, size;      /* the capacity that vGPUs take; see instances.c */
	long low, high, fence;
	bool is_mixed; /* vGPUs may have different framebuffer sizes */
	bool is_mig;
	bool no_autoprobe;              /* an enabled VF gets no driver */
	bool disables;                  /* disabling the VFs waits until an open one is closed */
	struct sim_vfs_write *vfs_asks; /* the waiting writes to sriov_numvfs, in order */
	int ninstances;
	struct sim_instance instances[SIM_INSTANCES_MAX]; /* sorted by id */
	long knobs[SIM_KNOBS];                            /* -1: as for all cards */
};

/* A device that carries vGPUs. */
struct sim_parent {
	struct sim_gpu *gpu;
	char name[PARENT_SIZE];
	struct sim_node *dir;      /* NULL: a disabled VF, while other VFs of its card are still being disabled */
	struct sim_node *types;    /* mdev_supported_types, or a variant VF's nvidia; NULL: not registered */
	struct sim_node *bus_link; /* in class/mdev_bus; likewise */
	struct sim_vf *vf;         /* NULL: it carries mdevs */
	int held;                  /* vGPUs on it, including zombies */
	int instance;              /* the GPU instance of its vGPU, if that is MIG-backed */
};

/* A process that has something in /dev/vfio open. */
struct sim_process {
	struct sim_process *next;
	pid_t pid;
	char comm[16];
	uint64_t start; /* as in field 22 of its stat file */
	struct sim_node *dir, *fds;
};

/* An open device node. */
struct sim_handle {
	struct sim_kernel *kernel;
	struct sim_handle *next;
	struct sim_process *process;
	struct sim_group *group; /* NULL: the container, /dev/vfio/vfio */
	struct sim_node *link;
};

/* An IOMMU group with its node in /dev/vfio, and its device's node in /dev/vfio/devices, as in Linux 6.6. */
struct sim_group {
	struct sim_kernel *kernel;
	struct sim_group *next;
	int number;
	struct sim_handle *holder; /* the handle that has it open; one at a time */
	int64_t busy_until;        /* until then the vendor's service uses the closed device; see sim_vfio_busy_ms() */
	struct sim_node *dir;
	struct sim_node *dev, *device_dev;       /* NULL: no vfio driver has the device, or it is being removed */
	struct sim_node *class_dir, *class_link; /* in the vfio class; likewise */
	struct sim_node *numbers[2]; /* the targets of links in /proc/PID/fd: for the group, for the device */
	bool is_usable;              /* it contains a vGPU */
	void *owner;                 /* a sim_mdev or a sim_vf */
	void (*closed)(struct sim_group *group);
};

enum sim_state { SIM_CREATING, SIM_ACTIVE, SIM_REMOVING };

/* A VF that is itself a vGPU: with a type set on it, or as a plain VF. */
struct sim_vf {
	struct sim_parent *parent;
	struct sim_group *group;
	const struct sim_type *type; /* NULL: none is set */
	enum sim_state state;        /* of the type */
	int fails;                   /* the errno with which setting the type ends */
	struct sim_write *write;     /* the write that waits until the type is set or cleared */
	struct sim_timer step;
	char params[SIM_PARAMS_MAX + 1];
};

struct sim_mdev {
	struct sim_mdev *next;
	struct sim_parent *parent;
	const struct sim_type *type;
	char uuid[UUID_SIZE];
	enum sim_state state;
	int fails;               /* the errno with which its creation ends */
	bool is_zombie;          /* its capacity is lost */
	struct sim_write *write; /* the write that waits for the creation or removal */
	struct sim_timer step;   /* ends the operation in progress, or adds the late links */
	struct sim_timer reaper; /* the driver's own removal */
	struct sim_node *dir, *bus_link, *type_link, *driver_link;
	struct sim_group *group;
	char params[SIM_PARAMS_MAX + 1];
};

/* An error that the operator ordered for the next `left` operations of this kind at this place. */
struct sim_order {
	struct sim_order *next;
	char what[16];           /* "create", "remove" or "params" */
	char where[PARENT_SIZE]; /* a parent, a pGPU, or "any" */
	int error, left;
};

/* A write of `n` to sriov_numvfs. The kernel handles these writes one after the other. */
struct sim_vfs_write {
	struct sim_vfs_write *next;
	struct sim_write *write;
	int n;
};

/* Reads of this attribute hang, on this card or parent or on "any". */
struct sim_hang {
	struct sim_hang *next;
	char attribute[48];
	char where[PARENT_SIZE];
};

struct sim_kernel {
	struct sim_tree tree;
	struct sim_node *sys, *proc, *dev, *control;
	struct sim_node *mdev_devices, *mdev_bus, *groups_dir, *vfio_dir, *vfio_devices, *vfio_class,
		*char_dir; /* directories whose entries come and go */
	struct sim_spec spec;
	int ngpus;
	struct sim_gpu *gpus;
	struct sim_mdev *mdevs;
	struct sim_group *groups;
	struct sim_handle *users;
	struct sim_process *processes;
	struct sim_order *orders;
	struct sim_hang *hangs;
	struct sim_timer *timers; /* the earliest first */
	int64_t now, start;       /* milliseconds */
	unsigned last_drm;        /* the number of the last drm/cardN */
	long knobs[SIM_KNOBS];
	char *log;
	size_t log_len;
	char driver_version[32];
};

/* Makes an empty kernel; sim_topology_build() adds its cards. */
void sim_kernel_init(struct sim_kernel *kernel, int64_t now);
void sim_kernel_free(struct sim_kernel *kernel);

/* Moves the clock to `now`, and fires the timers that are due. */
void sim_kernel_advance(struct sim_kernel *kernel, int64_t now);

/* The time at which sim_kernel_advance() must be called next; -1: no timer is set. */
int64_t sim_kernel_deadline(const struct sim_kernel *kernel);

/* Set a timer, even one that is set already, to `ms` milliseconds from now; or clear it. */
void sim_timer_set(struct sim_kernel *kernel, struct sim_timer *timer, long ms, void (*fire)(void *), void *arg);
void sim_timer_forget(struct sim_kernel *kernel, struct sim_timer *timer);

/* The knob's value for this card. */
long sim_knob(const struct sim_gpu *gpu, enum sim_knob knob);

/* Finds the card or the parent of this name; NULL: none. */
struct sim_gpu *sim_kernel_gpu(const struct sim_kernel *kernel, const char *name);
struct sim_parent *sim_kernel_parent(const struct sim_kernel *kernel, const char *name);

/* Takes the errno that was ordered for this operation; 0: none. */
int sim_order_take(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent);
void sim_order_add(struct sim_kernel *kernel, const struct sim_order *order);
void sim_order_clear(struct sim_kernel *kernel);

/* Does a read of this file hang? */
bool sim_hangs(const struct sim_kernel *kernel, const struct sim_node *file);
void sim_hang_add(struct sim_kernel *kernel, const struct sim_hang *hang);
void sim_hang_clear(struct sim_kernel *kernel);

/*
 * Adds a line to the log: MILLISECONDS WHAT PARENT TYPE UUID RESULT. `result` is 0 or a negative errno; a `type` or
 * `uuid` that is NULL becomes a dash.
 */
void sim_log(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent, const struct sim_type *type,
	     const char *uuid, int result);
void sim_log_clear(struct sim_kernel *kernel);

/* Convert an errno to its name, such as "EIO", or to digits if it is not listed; and a name to its errno, or 0. */
const char *sim_errno_name(int code, char buf[16]);
int sim_errno_parse(const char *name);
