/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the simulated kernel: cards with parents, mdevs and IOMMU groups, operations in progress, injected
 * errors and hangs, and the log. It is plain data without threads. Time passes only in sim_kernel_advance(), and an
 * operation that has to wait keeps its write.
 *
 * These modules change the state: sim_instances (capacity), sim_vfio (groups and their users), sim_mdev (create and
 * remove), sim_variant (types set on VFs), sim_pci (PCI devices), sim_sriov (VFs), sim_topology (the tree at the
 * start), sim_control (the operator's files).
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
	SIM_PLUGIN_WAIT = 5000, /* ms for which NVIDIA's driver waits for vgpu-mgr */
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
 * The settings of control.h, for all cards or for one; delays in ms. SIM_DRIVER_REMOVES is the delay plus 1, or 0 for
 * never. SIM_DRIVER_ZOMBIE: an mdev that is removed before the driver removes it becomes a zombie.
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

struct sim_gpu {
	struct sim_kernel *kernel;
	const struct sim_item *item;
	char name[PARENT_SIZE];
	int number; /* counted from 0 within its model */
	int numa_node;
	int nparents; /* one for the pGPU itself, or one for each enabled VF */
	struct sim_parent *parents;
	struct sim_node *dir;
	long used, size; /* capacity in use (instances.c) */
	long low, high, fence;
	bool is_mixed; /* vGPUs may have different framebuffer sizes */
	bool is_mig;
	bool no_autoprobe;              /* an enabled VF gets no driver */
	bool disables;                  /* disabling the VFs waits for an open VF to be closed */
	struct sim_vfs_write *vfs_asks; /* writes to sriov_numvfs that wait, in order */
	int ninstances;
	struct sim_instance instances[SIM_INSTANCES_MAX]; /* sorted by id */
	long knobs[SIM_KNOBS];                            /* -1: the value for all cards */
};

/* A device that carries vGPUs. */
struct sim_parent {
	struct sim_gpu *gpu;
	char name[PARENT_SIZE];
	struct sim_node *dir;      /* NULL: a VF that is disabled already, while others are still being disabled */
	struct sim_node *types;    /* mdev_supported_types, or a variant VF's nvidia; NULL: not registered */
	struct sim_node *bus_link; /* in class/mdev_bus; NULL: not registered */
	struct sim_vf *vf;         /* NULL: mdevs only */
	int held;                  /* number of vGPUs, including zombies */
	int instance;              /* the GPU instance of the vGPU, if MIG-backed */
};

/* A process that has something in /dev/vfio open. */
struct sim_process {
	struct sim_process *next;
	pid_t pid;
	char comm[16];
	uint64_t start; /* field 22 of its stat file */
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

/* An IOMMU group with its node in /dev/vfio, and the device's own node in /dev/vfio/devices (Linux 6.6). */
struct sim_group {
	struct sim_kernel *kernel;
	struct sim_group *next;
	int number;
	struct sim_handle *holder; /* the only handle that has the group open; NULL: none */
	int64_t busy_until;        /* end of the use by the vendor's service after the close (sim_vfio_busy_ms()) */
	struct sim_node *dir;
	struct sim_node *dev, *device_dev;       /* NULL: no vfio driver, or the device is being removed */
	struct sim_node *class_dir, *class_link; /* in the vfio class; NULL if `dev` is NULL */
	struct sim_node *numbers[2];             /* targets of links in /proc/PID/fd: for the group, for the device */
	bool is_usable;                          /* contains a vGPU */
	void *owner;                             /* a sim_mdev or a sim_vf */
	void (*closed)(struct sim_group *group);
};

enum sim_state { SIM_CREATING, SIM_ACTIVE, SIM_REMOVING };

/* A VF that is itself a vGPU, typed or plain. */
struct sim_vf {
	struct sim_parent *parent;
	struct sim_group *group;
	const struct sim_type *type; /* NULL: no type is set */
	enum sim_state state;
	int fails;               /* the errno with which setting the type will end */
	struct sim_write *write; /* waits until the type is set or cleared */
	struct sim_timer step;
	char params[SIM_PARAMS_MAX + 1];
};

struct sim_mdev {
	struct sim_mdev *next;
	struct sim_parent *parent;
	const struct sim_type *type;
	char uuid[UUID_SIZE];
	enum sim_state state;
	int fails;               /* the errno with which the creation will end */
	bool is_zombie;          /* its capacity stays in use */
	struct sim_write *write; /* waits for the creation or removal */
	struct sim_timer step;   /* ends the operation in progress, or adds the late links */
	struct sim_timer reaper; /* starts the removal by the driver */
	struct sim_node *dir, *bus_link, *type_link, *driver_link;
	struct sim_group *group;
	char params[SIM_PARAMS_MAX + 1];
};

/* An injected error for the next `left` operations of this kind at this place. */
struct sim_order {
	struct sim_order *next;
	char what[16];           /* "create", "remove" or "params" */
	char where[PARENT_SIZE]; /* a parent, a pGPU, or "any" */
	int error, left;
};

/* A write of `n` to sriov_numvfs. These writes are handled one after the other. */
struct sim_vfs_write {
	struct sim_vfs_write *next;
	struct sim_write *write;
	int n;
};

/* Makes reads of this attribute hang, on a card, a parent or "any". */
struct sim_hang {
	struct sim_hang *next;
	char attribute[48];
	char where[PARENT_SIZE];
};

struct sim_kernel {
	struct sim_tree tree;
	struct sim_node *sys, *proc, *dev, *control;
	struct sim_node *mdev_devices, *mdev_bus, *groups_dir, *vfio_dir, *vfio_devices, *vfio_class,
		*char_dir; /* these directories change often */
	struct sim_spec spec;
	int ngpus;
	struct sim_gpu *gpus;
	struct sim_mdev *mdevs;
	struct sim_group *groups;
	struct sim_handle *users;
	struct sim_process *processes;
	struct sim_order *orders;
	struct sim_hang *hangs;
	struct sim_timer *timers; /* sorted by time */
	int64_t now, start;       /* milliseconds */
	unsigned last_drm;        /* number of the last drm/cardN */
	long knobs[SIM_KNOBS];
	char *log;
	size_t log_len;
	char driver_version[32];
};

/* Makes an empty kernel. sim_topology_build() adds the cards. */
void sim_kernel_init(struct sim_kernel *kernel, int64_t now);
void sim_kernel_free(struct sim_kernel *kernel);

void sim_kernel_advance(struct sim_kernel *kernel, int64_t now);

/* When to call sim_kernel_advance() next; -1: no timer is set. */
int64_t sim_kernel_deadline(const struct sim_kernel *kernel);

/* Sets a timer, or sets it again, to `ms` milliseconds from now. sim_timer_forget() clears it. */
void sim_timer_set(struct sim_kernel *kernel, struct sim_timer *timer, long ms, void (*fire)(void *), void *arg);
void sim_timer_forget(struct sim_kernel *kernel, struct sim_timer *timer);
/* Lets the timer fire now if it is set. */
void sim_timer_hurry(struct sim_kernel *kernel, struct sim_timer *timer);

long sim_knob(const struct sim_gpu *gpu, enum sim_knob knob);

struct sim_gpu *sim_kernel_gpu(const struct sim_kernel *kernel, const char *name);
struct sim_parent *sim_kernel_parent(const struct sim_kernel *kernel, const char *name);

/* Takes the errno that was injected for this operation; 0: none. */
int sim_order_take(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent);
void sim_order_add(struct sim_kernel *kernel, const struct sim_order *order);
void sim_order_clear(struct sim_kernel *kernel);

bool sim_hangs(const struct sim_kernel *kernel, const struct sim_node *file);
void sim_hang_add(struct sim_kernel *kernel, const struct sim_hang *hang);
void sim_hang_clear(struct sim_kernel *kernel);

/*
 * Adds a line to the log: MILLISECONDS WHAT PARENT TYPE UUID RESULT. `result` is 0 or a negative errno. A `type` or
 * `uuid` that is NULL becomes a dash.
 */
void sim_log(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent, const struct sim_type *type,
	     const char *uuid, int result);
void sim_log_clear(struct sim_kernel *kernel);

/* sim_errno_name() writes digits for an errno that it does not know. sim_errno_parse(): 0: not a known name. */
const char *sim_errno_name(int code, char buf[16]);
int sim_errno_parse(const char *name);
