/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel has: pGPUs, their parents (the pGPU itself or its VFs), the types they offer, the vGPUs that exist.
 * Read only.
 *
 * A snapshot: it is out of date the moment it is made; the kernel's answer to `create` decides. Reading costs what is
 * read, so the caller names the frameworks and types that matter, and per pGPU only one free VF is asked for what it
 * offers now; where that is nothing, though the vGPUs on the card leave capacity, the next ones until one does.
 *
 * The framework is told for each card: a host can have one whose vGPUs are mdevs beside one whose VFs take a type.
 *
 *   mdev     a parent is a link in /sys/class/mdev_bus; a VF has `physfn`; a vGPU is a link in /sys/bus/mdev/devices;
 *            the last component but one of its real path is its parent; `mdev_type` appears after the device does
 *   variant  a card of NVIDIA's driver (/sys/bus/pci/drivers/nvidia) whose VFs have nvidia/current_vgpu_type; a vGPU is
 *            such a VF where that is not 0; what numbers mean is remembered (typelist)
 *   vf       a card with VFs that the caller has a name for; there are no types, the name stands for one; a VF that a
 *            guest has is no device here, as the kernel does not tell
 *
 * Facts: kernel 6.12 mdev_sysfs.c; vendor drivers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "sys/sys.h"
#include "model/vgpu.h"

enum { DOMAIN_SHOWN_SIZE = 64, OPENER_SIZE = DOMAIN_SHOWN_SIZE + 48 };
enum { INV_IDENTITY_SIZE = 24 }; /* "8086:56c0:8086:4905": vendor, device and subsystem */
enum { INV_MDEV = 1 << FW_MDEV, INV_VARIANT = 1 << FW_VARIANT, INV_VF = 1 << FW_VF, INV_ALL = 7 };

/* What a type is. All pGPUs of one model share it; read once for each (vendor, device, subsystem, type). */
struct inv_type {
	char vendor[5], device[5]; /* of the pGPUs that it was read for */
	char subsystem[10];        /* likewise */
	char id[TYPE_SIZE];
	char name[TYPE_NAME_SIZE]; /* printable; the id where the driver gives none */
	char api[16];              /* device_api: vfio-pci, vfio-ccw, vfio-ap */
	int framebuffer_mib;       /* UNKNOWN where the driver does not say */
	int heads;                 /* likewise */
	int max_instance;          /* per pGPU, at most; UNKNOWN where nothing says */
	int slices;                /* of a MIG-backed type, told by its name; 0 */
	char resolution[24];       /* "5120x2880"; "" */
};

/* A type as one pGPU offers it. */
struct inv_offer {
	const struct inv_type *type;
	/* The kernel's number now, never negative: of the pGPU itself, or of one free VF (0 or 1; none is free: 0). */
	int available;
};

/* How a section of the configuration comes to a card as a whole; the lower ones count where none comes by a higher. */
enum claim { CLAIM_NONE, CLAIM_DEFAULT, CLAIM_MATCH, CLAIM_ADDRESS };

/* What the configuration has a card for: see plan/pool.h, which fills it in. */
struct pool_card {
	const struct config *config;   /* by which it is configured; NULL: see pool_make() */
	const struct section *section; /* the type that it serves, the first of several; NULL none */
	const struct section *whole;   /* the type of its VFs that no section names, the first of several; NULL none */
	enum claim claim;              /* how that section claims it */
	bool in_pool;
	bool contested;           /* two sections claim it: it is in neither */
	char reason[REASON_SIZE]; /* not in the pool: why */
};

struct inv_pgpu {
	char address[PARENT_SIZE]; /* 0000:84:00.0, or mtty */
	enum framework framework;
	char vendor[5], device[5]; /* four hex digits; "" for a virtual parent */
	char subsystem[10];        /* vendor and device of the board, 10de:1851; "" where the kernel does not say */
	bool nvidia;
	int numa;                    /* node; UNKNOWN where the kernel says -1 or nothing */
	bool sriov;                  /* its parents are VFs */
	int nvfs;                    /* its VFs that are registered; where none is, those that exist */
	struct inv_parent **parents; /* its registered parents, sorted by name */
	int nparents;
	bool ready;
	bool silent;              /* not ready, as its driver does not answer: what it offers is not known */
	char reason[REASON_SIZE]; /* not ready: why, and what to do */
	struct inv_offer *offers;
	size_t noffers;
	bool types_whole;     /* variant: no type of its model is missing */
	bool types_new;       /* variant: it listed what was not remembered */
	char gone[TYPE_SIZE]; /* variant: a type that it is to serve, and that only an earlier driver had; "" */
	char gone_driver[64]; /* that driver */
	bool types_hid;       /* variant: it carries vGPUs, and what it makes without them is not known */

	struct pool_card pool;

	/* vf: an address, its own or a VF's, was another device when it was first used; "" none (card_record.h) */
	char moved[PCI_SIZE];
	char moved_is[INV_IDENTITY_SIZE], moved_was[INV_IDENTITY_SIZE];
};

enum opened { OPEN_UNKNOWN, OPEN_NO, OPEN_YES };

/*
 * What else is known of a device or a VF. No look at sysfs tells: whoever needs it fills it in, where a rule asks.
 */
struct device_facts {
	enum opened opened;
	char by[OPENER_SIZE];             /* of one that is open: "process 4711 (QEMU of domain vm2)"; "" not known */
	char named_by[DOMAIN_SHOWN_SIZE]; /* the domain on disk that names it; "" none */
	bool removable;                   /* by an operator: an orphan, reclaim and reclaim_grace apart */
};

struct inv_parent {
	char name[PARENT_SIZE];
	struct inv_pgpu *card;
	int ndevices; /* vGPUs on it now */
	bool unread;  /* a VF whose type could not be read: whether it is a vGPU is not known */
	bool lost;    /* an mdev VF without a vGPU that offers nothing, while another one does */
	/* Of a plain VF: */
	char driver[24];  /* the driver that is bound to it; "" none */
	bool keeps_group; /* that driver keeps guests from the whole group */
	char group[12];   /* its IOMMU group, a number; "" none: no guest can have it */
	/* Another device of the group, no bridge and no VF of its card, that a driver of the host has; "" none. */
	char beside[PCI_SIZE], beside_driver[24];
	struct device_facts facts;   /* of a VF without a device */
	const struct section *named; /* the section that names this VF by its address; NULL none */
};

struct inv_device {
	struct vgpu_ref vgpu;
	struct inv_parent *parent; /* NULL where its parent is no registered one */
	uint64_t node;             /* the kernel's number of its entry: another one for a device that is made anew */
	struct device_facts facts;
};

struct inventory {
	struct inv_pgpu **pgpus; /* sorted by address */
	size_t npgpus;
	struct inv_parent **parents; /* sorted by pGPU, then name */
	size_t nparents;
	struct inv_device *devices; /* sorted by id */
	size_t ndevices;
	struct inv_type **types;
	size_t ntypes;
	char nvidia_driver[64];      /* version; "" */
	const struct config *config; /* that its cards are configured by: see pool_make(); NULL none */
	unsigned int frameworks;     /* that were read: INV_... */
	struct arena *arena;         /* that it lies in: no list of it grows any more */
};

/* What of the host matters. */
struct inv_query {
	unsigned int frameworks; /* INV_...: nothing of the others is read */

	/*
	 * The ids of mdev types (NULL-terminated): others are left out of the offers, but for those of vGPUs that a
	 * pGPU carries. NULL reads all, and also looks for cards of NVIDIA's driver that have not come up yet (VFs not
	 * enabled, no types registered): those have no parents.
	 */
	const char *const *types;

	/* With all types: also the GPUs of NVIDIA, AMD and Intel on no or another driver, and those with plain VFs. */
	bool gpus;

	/* Cards whose VFs matter (NULL-terminated), others are not looked at; NULL: all. Of mdevs all are. */
	const char *const *cards;

	/* INV_VF: the names under which VFs of this card are leased, from 0; NULL: no more. None at 0: they are not. */
	const char *(*vf_name)(const void *arg, const struct inv_pgpu *card, size_t i);
	/* INV_VARIANT: the types that this card is to serve, one after the other from 0; NULL: no more. May be NULL. */
	const char *(*names_type)(const void *arg, const struct inv_pgpu *card, size_t i);
	const void *arg; /* of both */
};

/* No type is asked for: those of what exists are read in any case. */
extern const char *const inv_no_types[1];

/*
 * Reads the host. A card that gives errors is there with ready = false and the reason; only a host that cannot be read
 * at all fails.
 */
int inventory_read(struct inventory *inv, const struct host *host, const struct inv_query *query, struct err *err);
void inventory_free(struct inventory *inv);

#define autoinventory __attribute__((cleanup(inventory_free)))

/* The card that the VF of this address belongs to; false: it is no VF. */
bool inventory_physfn(const struct host *host, const char *address, char physfn[PCI_SIZE]);

/*
 * The card that an address without a device can be a VF of, by the card's sriov_offset, sriov_stride and
 * sriov_totalvfs; false: none, or there is a device.
 */
bool inventory_absent_vf(const struct host *host, const char *address, char physfn[PCI_SIZE]);

/* Have the VFs of a card of this host this ID, and not the card itself? Then `device` becomes the card's. */
bool inventory_vf_id(const struct host *host, const char vendor[5], char device[5]);

/* Is it known to be neither a display controller (class 03) nor an accelerator (12)? */
bool inventory_is_other(const struct host *host, const char *address);

/* The UUIDs of the mdevs that there are, by their bus: no driver is asked. The caller frees the list. */
int inventory_mdevs(const struct host *host, char (**out)[ID_SIZE], size_t *n, struct err *err);

/* Has a PCI device this address? */
bool inventory_exists(const struct host *host, const char *address);

/* Is it a VF of NVIDIA's variant driver: one that is given a type? */
bool inventory_takes_type(const struct host *host, const char *address);

/* Is it a VF that is being disabled, and has lost its link to the card? It stays until whoever has it lets go. */
bool inventory_vf_going(const struct host *host, const char *address);

/* A PCI device of the host, whatever it is, but for VFs. Of the card: address, vendor, model, NUMA node. */
struct inv_pci {
	struct inv_pgpu card;
	bool display; /* a display controller or an accelerator: a GPU */
};

/* All of them, sorted by address; the caller frees the list. A host without PCI has none. */
int inventory_pci(const struct host *host, struct inv_pci **out, size_t *n, struct err *err);

/* What the directory of a PCI device says of it: vendor, model, NUMA node. False: there is none. */
bool inventory_read_card(const struct host *host, const char *address, struct inv_pgpu *card);

/*
 * Why a card or parent that somebody names is not in the inventory, and what to do; one sentence without a full stop.
 * `plain`: it was named for its plain VFs.
 */
void inventory_explain_card(const struct host *host, const char *address, bool plain, char reason[REASON_SIZE]);

const struct inv_device *inventory_device(const struct inventory *inv, const char *id);

/* The pGPU that a device is on; NULL where its parent is no registered one. */
static inline const struct inv_pgpu *inventory_card_of(const struct inv_device *device)
{
	return device->parent ? device->parent->card : NULL;
}

/* The next device on a pGPU, the first one after NULL; NULL: there are no more. */
const struct inv_device *inventory_next_on(const struct inventory *inv, const struct inv_pgpu *card,
					   const struct inv_device *last);

/* In an inventory of all cards. The frameworks that were not read are not known. */
enum presence inventory_presence(const struct inventory *inv, const struct vgpu_ref *vgpu);

/* The same of one that is leased: a plain VF is one without a name of a pool, too, and its device is what it needs. */
enum presence inventory_leased(const struct inventory *inv, const struct host *host, const struct vgpu_ref *vgpu);

/* What an id is on any card; and on cards of this one's model, as a number belongs to its card. NULL: not known. */
const struct inv_type *inventory_type(const struct inventory *inv, const char *id);
struct inv_type *inventory_type_on(const struct inventory *inv, const struct inv_pgpu *card, const char *id);

/* The type of a vGPU, as its card has it; where the card is not known, as any has it. */
const struct inv_type *inventory_type_of(const struct inventory *inv, const struct vgpu_ref *vgpu);
struct inv_pgpu *inventory_pgpu(const struct inventory *inv, const char *address);
struct inv_parent *inventory_parent(const struct inventory *inv, const char *name);
const struct inv_offer *inventory_offer(const struct inv_pgpu *card, const char *type);

/*
 * When this device was created, CLOCK_MONOTONIC ms, as the kernel has it: or later, if it does not remember; 0: not
 * known. By the wall clock, so that a leap of it makes the device seem older or younger.
 */
int64_t inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu);

/* A type that some card of a framework (mdev, variant) has. */
struct inv_name {
	char id[TYPE_SIZE];
	char name[TYPE_NAME_SIZE]; /* printable; the id where the driver gives none; "" where it does not answer */
	enum framework framework;
};

/* All of these frameworks (INV_...), in the order of their numbers; an id twice where models name it otherwise. The
 * caller frees the list. */
int inventory_names(const struct host *host, unsigned int frameworks, struct inv_name **out, size_t *n,
		    struct err *err);

/*
 * "write nvidia-222, the ID of T4-1B", where a driver of this host calls types so; "" where none does. It
 * asks the drivers: for where something is refused anyhow.
 */
const char *inventory_name_hint(const struct host *host, const char *word, char buf[REASON_SIZE]);

/* config_load(); where the error is a type's name in the place of its ID, it ends in that hint. */
struct config;
int inventory_load_config(struct config *config, const struct host *host, const char *path, struct err *err);

/* What to do where it gave -ENOENT. */
#define INVENTORY_NO_CONFIG_FIX "create one with 'vgpu-lease init --write'"

/* Does the host have this NUMA node? One that knows of none has node 0. */
bool inventory_has_node(const struct host *host, int node);

/* The NUMA nodes of these CPUs, bit N = node N; 0 where that cannot be told. */
uint64_t inventory_cpu_nodes(const struct host *host, const uint64_t cpus[CPU_WORDS]);
