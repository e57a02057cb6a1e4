/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulated kernel's state: the cards with their parents, mdevs and IOMMU groups, what is under way, what was told
 * to go wrong, and the log of what was done. Plain data without threads: time stands still between two calls of
 * sim_kernel_advance(), and a call that has to wait remembers who waits.
 *
 * The parts of the kernel are modules of their own that work on this: sim_room (what fits), sim_vfio (groups, who has
 * them open), sim_mdev (create and remove), sim_variant (types set on VFs), sim_pci (PCI devices), sim_sriov (VFs),
 * sim_topology (the tree at the start), sim_control (the operator's knobs).
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

/* Calls `fire` once, at the time `at` or later; at 0 it is not set. */
struct sim_timer {
	struct sim_timer *next;
	int64_t at;
	void (*fire)(void *arg);
	void *arg;
};

/*
 * What the operator can make slower or other than usual, for all cards or for one. Milliseconds; DRIVER_REMOVES is one
 * more, so that 0 is "never"; DRIVER_ZOMBIE is 1 where who removes before the driver does leaves a zombie.
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

/* A GPU instance, as `nvidia-smi mig -cgi` makes them. */
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
	int nparents; /* what carries vGPUs: the pGPU itself, or its VFs; none while these are not enabled */
	struct sim_parent *parents;
	struct sim_node *dir; /* under /sys/devices */
	long used, size;      /* what vGPUs take of it: see sim_room */
	long low, high, fence;
	bool is_mixed; /* vGPUs of different framebuffer sizes may stand side by side */
	bool is_mig;
	bool no_autoprobe;              /* no driver is bound to a VF that is enabled */
	bool disables;                  /* VFs are being disabled, and one of them is open */
	struct sim_vfs_write *vfs_asks; /* the writes to sriov_numvfs that wait, in their order */
	int ninstances;
	struct sim_instance instances[SIM_INSTANCES_MAX]; /* sorted by id */
	long knobs[SIM_KNOBS];                            /* -1: as for all cards */
};

/* A device that mdevs can be made on. */
struct sim_parent {
	struct sim_gpu *gpu;
	char name[PARENT_SIZE];
	struct sim_node *dir;      /* NULL: a VF that is gone, while others of its card are still being disabled */
	struct sim_node *types;    /* mdev_supported_types, a variant VF's nvidia; NULL while it is not registered */
	struct sim_node *bus_link; /* in class/mdev_bus; likewise */
	struct sim_vf *vf;         /* NULL where it carries mdevs */
	int held;                  /* vGPUs on it, those of a zombie included */
	int instance;              /* the GPU instance that the vGPU here has taken, of a MIG-backed type */
};

/* A process that has something in /dev/vfio open. */
struct sim_process {
	struct sim_process *next;
	pid_t pid;
	char comm[16];
	uint64_t start; /* as in field 22 of its stat file */
	struct sim_node *dir, *fds;
};

/* A device node that is open. */
struct sim_handle {
	struct sim_kernel *kernel;
	struct sim_handle *next;
	struct sim_process *process;
	struct sim_group *group; /* NULL: the container, /dev/vfio/vfio */
	struct sim_node *link;
};

/* An IOMMU group with its node in /dev/vfio, and that of its device in /dev/vfio/devices: as of Linux 6.6. */
struct sim_group {
	struct sim_kernel *kernel;
	struct sim_group *next;
	int number;
	struct sim_handle *holder; /* who has it open: one at a time */
	int64_t busy_until;        /* so long somebody else holds on to it, though it is closed: see sim_vfio_wait */
	struct sim_node *dir;
	struct sim_node *dev, *device_dev;       /* NULL where no vfio driver has the device, or it is being removed */
	struct sim_node *class_dir, *class_link; /* likewise: of its class */
	struct sim_node *numbers[2];             /* what an open one is seen as in proc: the group, the device */
	bool is_usable;                          /* there is a vGPU in it */
	void *owner;                             /* a sim_mdev or a sim_vf */
	void (*closed)(struct sim_group *group);
};

enum sim_state { SIM_CREATING, SIM_ACTIVE, SIM_REMOVING };

/* A VF that is a vGPU itself: by a type that is set on it, or as it is. */
struct sim_vf {
	struct sim_parent *parent;
	struct sim_group *group;
	const struct sim_type *type; /* NULL: none is set */
	enum sim_state state;        /* of that */
	int fails;                   /* the errno that setting or clearing it ends with */
	struct sim_write *write;     /* who waits for it */
	struct sim_timer step;
	char params[SIM_PARAMS_MAX + 1];
};

struct sim_mdev {
	struct sim_mdev *next;
	struct sim_parent *parent;
	const struct sim_type *type;
	char uuid[UUID_SIZE];
	enum sim_state state;
	int fails;               /* the errno that creating it ends with */
	bool is_zombie;          /* its capacity never comes back */
	struct sim_write *write; /* who waits for the creation or the removal */
	struct sim_timer step;   /* ends what is under way, or makes the links appear */
	struct sim_timer reaper; /* the driver removes it by itself */
	struct sim_node *dir, *bus_link, *type_link, *driver_link;
	struct sim_group *group;
	char params[SIM_PARAMS_MAX + 1];
};

/* An error that was ordered for the next `left` operations; both words are lists of their own. */
struct sim_order {
	struct sim_order *next;
	char what[16];           /* "create", "remove" or "params" */
	char where[PARENT_SIZE]; /* a parent, a pGPU, or "any" */
	int error, left;
};

/* A write of so many VFs to sriov_numvfs: the kernel does one after the other. */
struct sim_vfs_write {
	struct sim_vfs_write *next;
	struct sim_write *write;
	int n;
};

/* Reads of this attribute do not return: on this card, or on "any". */
struct sim_hang {
	struct sim_hang *next;
	char attribute[48];
	char where[PARENT_SIZE];
};

struct sim_kernel {
	struct sim_tree tree;
	struct sim_node *sys, *proc, *dev, *control;
	struct sim_node *mdev_devices, *mdev_bus, *groups_dir, *vfio_dir, *vfio_devices, *vfio_class,
		*char_dir; /* directories that entries come and go in */
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

/* An empty kernel; sim_topology_build() gives it its cards. */
void sim_kernel_init(struct sim_kernel *kernel, int64_t now);
void sim_kernel_free(struct sim_kernel *kernel);

/* Moves the clock on to `now` and does what has become due. */
void sim_kernel_advance(struct sim_kernel *kernel, int64_t now);

/* When sim_kernel_advance() has to be called next; -1: not before something else happens. */
int64_t sim_kernel_deadline(const struct sim_kernel *kernel);

/* Sets a timer so many milliseconds from now; one that is set already is moved. Forgets it. */
void sim_timer_set(struct sim_kernel *kernel, struct sim_timer *timer, long ms, void (*fire)(void *), void *arg);
void sim_timer_forget(struct sim_kernel *kernel, struct sim_timer *timer);

/* The knob's value for this card. */
long sim_knob(const struct sim_gpu *gpu, enum sim_knob knob);

/* The card or the parent of that name; NULL where there is none. */
struct sim_gpu *sim_kernel_gpu(const struct sim_kernel *kernel, const char *name);
struct sim_parent *sim_kernel_parent(const struct sim_kernel *kernel, const char *name);

/* The errno that was ordered for this operation, used up by the call; 0: none. */
int sim_order_take(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent);
void sim_order_add(struct sim_kernel *kernel, const struct sim_order *order);
void sim_order_clear(struct sim_kernel *kernel);

/* Does a read of this file hang? */
bool sim_hangs(const struct sim_kernel *kernel, const struct sim_node *file);
void sim_hang_add(struct sim_kernel *kernel, const struct sim_hang *hang);
void sim_hang_clear(struct sim_kernel *kernel);

/*
 * One line of the log: MILLISECONDS WHAT PARENT TYPE UUID RESULT; `result` is 0 or a negative errno. A dash stands for
 * a `type` or `uuid` that is NULL.
 */
void sim_log(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent, const struct sim_type *type,
	     const char *uuid, int result);
void sim_log_clear(struct sim_kernel *kernel);

/* The name of an errno and back: "EIO", or a number where the name is not known here; 0 for what is no name. */
const char *sim_errno_name(int code, char buf[16]);
int sim_errno_parse(const char *name);
