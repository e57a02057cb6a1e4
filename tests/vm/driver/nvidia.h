/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the driver `nvidia` share, and the one of mdevs in its place. */
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/vfio_pci_core.h>

#include "config_space.h"

enum { PARAMS_MAX = 1024, VERSION_MAX = 24 };

/* It may end with a newline. */
extern char driver_version[VERSION_MAX];

/* Where there can be trouble. */
enum step {
	AT_LIST = 1,    /* read of creatable_vgpu_types */
	AT_CURRENT = 2, /* read of current_vgpu_type */
	AT_CREATE = 4,  /* write of a type to it */
	AT_REMOVE = 8,  /* write of 0 */
	AT_PARAMS = 16, /* write of vgpu_params */
	AT_OPEN = 32,   /* VFIO opens the device */
	AT_CLOSE = 64,  /* its last descriptor is closed */
};

extern unsigned int plugin_ms; /* how long vgpu-mgr holds on to a vGPU after its close */
/* At this step of a VF: waits as long as it is to, and fails with the errno that it is to fail with. */
int pass(struct pci_dev *pdev, enum step step);

struct vgpu_type {
	unsigned int id, gib;
	const char *name;
};

struct transfer;

/* Of a vGPU: its migration, and what another one must be to take its state. */
struct migration {
	struct device *dev;
	struct mutex lock; /* of what follows */
	enum vfio_device_mig_state state;
	struct transfer *transfer; /* the file that VFIO's user has in this state; NULL: none */
	u32 type, mib;
	u64 moves; /* how often this vGPU's state has arrived from another */
};

/* Each driver's own. */
struct migration *migration_of(struct vfio_device *vdev);
void migration_init(struct vfio_device *vdev);
/* A user opens the vGPU. */
void migration_begin(struct migration *migration, u32 type, u32 mib);
/* What was under way ends, and the vGPU runs. */
void migration_reset(struct migration *migration);

struct card;

enum state { EMPTY, CREATING, ACTIVE, REMOVING };

struct vf {
	struct vfio_pci_core_device core;
	struct card *card;
	enum state state;
	const struct vgpu_type *type; /* not while it is EMPTY */
	bool is_open;
	unsigned long closed; /* jiffies of the last close; 0: none since the type was set */
	char params[PARAMS_MAX + 1];
	struct migration migration;
	bool like_mdev; /* its user sees the device that an mdev of its type is */
	u8 config[CONFIG_SIZE];
};
