/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pGPUs of the host, their parents (the pGPU itself or its VFs), the types they offer, and the vGPUs on them.
 *
 * The inventory is a snapshot, which may be out of date at once: only the kernel's answer to `create` is final. Every
 * read costs time, so the caller names the frameworks and types it needs, and only one free VF per pGPU is asked for
 * its offers. If an mdev VF offers nothing although its card has capacity left, further VFs are asked.
 *
 * The framework is detected per card: one host can have cards with mdevs and cards whose VFs take a type.
 *
 *   mdev     a parent is a link in /sys/class/mdev_bus, and has `physfn` if it is a VF; a vGPU is a link in
 *            /sys/bus/mdev/devices to a directory of its parent; its `mdev_type` appears after this directory
 *   variant  a card of NVIDIA's driver (/sys/bus/pci/drivers/nvidia) whose VFs have nvidia/current_vgpu_type; a vGPU is
 *            a VF whose current type is not 0; the meaning of type numbers is recorded (typelist)
 *   vf       a card whose VFs the caller leases under a name, which replaces the type; a VF that a guest uses is not
 *            listed as a device, because the kernel does not show that use
 *
 * Sources: kernel 6.12 mdev_sysfs.c; vendor drivers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/err.h"
#include "sys/sys.h"
#include "model/vgpu.h"

enum { INV_IDENTITY_SIZE = 24 }; /* "8086:56c0:8086:4905": vendor, device and subsystem */
enum { INV_MDEV = 1 << FW_MDEV, INV_VARIANT = 1 << FW_VARIANT, INV_VF = 1 << FW_VF, INV_ALL = 7 };

/* A type. It is read once for all pGPUs of the same model (vendor, device, subsystem) and framework. */
struct inv_type {
	char id[TYPE_SIZE];
	enum framework framework;
	char vendor[5], device[5]; /* the IDs of its pGPUs */
	char subsystem[10];        /* the board of its pGPUs */
	char name[TYPE_NAME_SIZE]; /* printable; the ID if the driver gives no name */
	int framebuffer_mib;       /* UNKNOWN: the driver does not say */
	int heads;                 /* UNKNOWN: the driver does not say */
	int max_instance;          /* maximum per pGPU; UNKNOWN: not stated */
	int slices;                /* GPU slices of a MIG-backed type, as in its name; else 0 */
	char resolution[24];       /* "5120x2880"; "": not stated */
};

/* A type as one pGPU offers it. */
struct inv_offer {
	const struct inv_type *type;
	/* How many more vGPUs the kernel offers now: on the pGPU or on a free VF (0 or 1). Plain VFs: always 1. */
	int available;
};

/* How a section claims a whole card. A higher claim overrides a lower one. */
enum claim { CLAIM_NONE, CLAIM_DEFAULT, CLAIM_MATCH, CLAIM_ADDRESS };

/* What the configuration assigns to a card; look/pool.h fills it in. */
struct pool_card {
	const struct config *config;   /* applied by pool_make(); NULL: none yet */
	const struct section *section; /* of the card, preferably with a type that the card offers; NULL: none */
	const struct section *whole;   /* for the card itself and for VFs that no section names; NULL: none */
	enum claim claim;              /* the highest claim on the card */
	bool in_pool;
	bool contested;           /* two sections claim it, so it belongs to neither */
	char reason[REASON_SIZE]; /* why it is not in the pool */
};

struct inv_pgpu {
	char address[PARENT_SIZE]; /* 0000:84:00.0, or mtty */
	enum framework framework;
	char vendor[5], device[5]; /* four hex digits; "" for a virtual parent */
	char subsystem[10];        /* vendor and device of the board, 10de:1851; "" if the kernel does not say */
	char vf_device[8];         /* the device ID of its VFs; set only in inventory.pci */
	bool nvidia;
	bool gpu;                    /* a GPU by its PCI class and ID, or one of the kernel's sample devices */
	int numa;                    /* node; UNKNOWN if the kernel says -1 or nothing */
	bool sriov;                  /* its parents are VFs, or would be if it were ready */
	int nvfs;                    /* number of its registered VFs or, if it has no parents, of its enabled VFs */
	struct inv_parent **parents; /* its registered parents, sorted by name */
	int nparents;
	bool ready;
	bool silent;              /* not ready because its driver does not answer: its offers are not known */
	char reason[REASON_SIZE]; /* why it is not ready, and what to do */
	struct inv_offer *offers;
	size_t noffers;
	bool types_whole;     /* variant: all types of its model are known, except perhaps MIG-backed types */
	bool types_new;       /* variant: its types differ from the record */
	char gone[TYPE_SIZE]; /* variant: a configured type that only another driver version had; "": none */
	char gone_driver[64]; /* the version of that driver */
	bool types_hid;       /* variant: not all types are known, and its vGPUs may hide some */

	struct pool_card pool;

	/* vf: the address of the card or a VF that belonged to another device at first use; "": none */
	char moved[PCI_SIZE];
	char moved_is[INV_IDENTITY_SIZE], moved_was[INV_IDENTITY_SIZE];
};

enum opened { OPEN_UNKNOWN, OPEN_NO, OPEN_YES };

/* Facts that the inventory does not read about a device or VF. The survey fills them in. */
struct device_facts {
	enum opened opened;
	const char *by;   /* if open: "process 4711 (QEMU of domain vm2)", in the arena */
	bool renders;     /* a process of the host has this plain VF's render node open */
	bool is_named;    /* a domain's file on disk names it, or an unreadable file may name it */
	bool removable;   /* `retype --grace 0` may remove it */
	bool preset;      /* removable, but not made for a guest */
	bool reclaimable; /* an orphan, which may be removed to make capacity */
};

struct inv_parent {
	char name[PARENT_SIZE];
	struct inv_pgpu *card;
	int ndevices;     /* vGPUs on it now */
	bool unread;      /* a VF whose type could not be read: it may or may not be a vGPU */
	bool lost;        /* an mdev VF that has no vGPU and offers no type, although another VF offers one */
	char driver[24];  /* of a plain VF: the driver bound to it; "": none */
	bool keeps_group; /* that driver prevents guests from using the IOMMU group */
	/* The VF's IOMMU group. Plain VF: "" if it has none, so no guest can use it. Other VFs: "" if not read. */
	char group[12];
	/* A device that a host driver keeps in the group (not a bridge, not a VF of this card); "": none. */
	char beside[PCI_SIZE], beside_driver[24];
	struct device_facts facts;   /* of a VF without a device */
	const struct section *named; /* the section that names this VF by its address; NULL: none */
};

struct inv_device {
	struct vgpu_ref vgpu;
	struct inv_parent *parent; /* NULL if its parent is not registered */
	uint64_t node; /* tells vGPUs of one ID apart: the link's inode number, or (variant) the type's number */
	struct device_facts facts;
};

struct inventory {
	struct inv_pgpu **pgpus; /* sorted by address */
	size_t npgpus;
	struct inv_parent **parents; /* sorted by pGPU, then name */
	size_t nparents;
	struct inv_device *devices; /* sorted by ID */
	size_t ndevices;
	struct inv_type **types;
	size_t ntypes;
	struct inv_pgpu **pci; /* all PCI devices except VFs, sorted by address; none if query.types was set */
	size_t npci;
	char nvidia_driver[64];      /* version; "": none */
	const struct config *config; /* applied to its cards by pool_make(); NULL: none */
	unsigned int frameworks;     /* those that were read: INV_... */
	struct arena *arena;         /* holds all of this; no list may grow after the read */
};

struct inv_query {
	unsigned int frameworks; /* INV_...: the others are not read */

	/*
	 * The IDs of mdev types (NULL-terminated). Other types are left out of the offers, unless vGPUs on the pGPU
	 * have them. NULL reads all types and also finds cards of NVIDIA's driver that are not up yet (VFs not enabled,
	 * no types registered); such cards have no parents.
	 */
	const char *const *types;
	bool names; /* with inv_no_types: reads the names of all mdev types, but no other attribute */

	/* If `types` is NULL, also find NVIDIA, AMD and Intel GPUs with another driver, no driver, or plain VFs. */
	bool gpus;

	/* Read only some cards: those in the list, and those with mdevs. */
	bool some;
	const char (*cards)[PCI_SIZE];
	size_t ncards;

	/*
	 * The i-th name that the card is configured for; NULL: no more. INV_VF: the name under which its VFs are
	 * leased; cards without a name are left out. INV_VARIANT: a configured type. `name` may be NULL.
	 */
	const char *(*name)(const void *arg, const struct inv_pgpu *card, size_t i);
	const void *arg;
};

/* The empty list, for `types`. The types of existing vGPUs are still read. */
extern const char *const inv_no_types[1];

/* Reads the host. A card that gives errors is listed as not ready. Fails only if devices cannot be listed. */
int inventory_read(struct inventory *inv, const struct host *host, const struct inv_query *query, struct err *err);
void inventory_free(struct inventory *inv);

#define autoinventory __attribute__((cleanup(inventory_free)))

/* The card of the VF at this address; false: it is not a VF. */
bool inventory_physfn(const struct host *host, const char *address, char physfn[PCI_SIZE]);

/* Adds to `cards`, once each, the cards of this VF and of the VFs in its IOMMU group. The caller frees the list. */
void inventory_group_cards(const struct host *host, const char *vf, char (**cards)[PCI_SIZE], size_t *n);

/*
 * Reads the card of the VF at this address. VF_ABSENT: no device is there, but the card could have it as a VF, judged
 * by the card's sriov_* attributes. VF_NONE: there is no such card.
 */
enum vf_is { VF_NONE, VF_PRESENT, VF_ABSENT };
enum vf_is inventory_vf_card(const struct host *host, const char *address, struct inv_pgpu *card);

/* The UUIDs of all mdevs, read from their bus without asking a driver. The caller frees the list. */
int inventory_mdevs(const struct host *host, char (**out)[ID_SIZE], size_t *n, struct err *err);

/*
 * What the PCI device at this address is. A VF that is being disabled has lost its link to the card, but has an
 * attribute of VFs (Linux 5.13). It remains until its user closes it.
 */
enum pci_kind { PCI_MISSING, PCI_DEVICE, PCI_VF, PCI_GOING_VF };
enum pci_kind inventory_kind(const struct host *host, const char *address);

/* Is it a VF of NVIDIA's variant driver, which takes a type? */
bool inventory_takes_type(const struct host *host, const char *address);

/*
 * var/lib/vgpu-lease/cards/ADDRESS records which device was at a [vf_NAME] section's address at first use: vendor,
 * device and subsystem, "8086:56c0:8086:4905". A plain VF has no type that would reveal changed bus numbers.
 * card_record_now() identifies the present device (false: none), card_record_read() the recorded one (false: none).
 */
#define CARD_RECORDS "var/lib/vgpu-lease/cards"
bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);
bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);

/* Reads vendor, model, class and NUMA node of a PCI device. False: no such device. */
bool inventory_read_card(const struct host *host, const char *address, struct inv_pgpu *card);

/* Is a VFIO driver bound to this card, so that a guest can have all of it? */
bool inventory_is_given(const struct host *host, const char *address);

/* Why a card or parent that is configured (`plain`: for plain VFs) is not in the inventory, and what to do. */
void inventory_explain_card(const struct host *host, const char *address, bool plain, char reason[REASON_SIZE]);

/* Why a ready card without vGPUs offers no type now. */
void inventory_no_offer(const struct inv_pgpu *card, char reason[REASON_SIZE]);

const struct inv_device *inventory_device(const struct inventory *inv, const char *id);

/* The pGPU of a device; NULL if its parent is not registered. */
static inline const struct inv_pgpu *inventory_card_of(const struct inv_device *device)
{
	return device->parent ? device->parent->card : NULL;
}

/* The next device on a pGPU after `last` (NULL: the first); NULL: there are no more. */
const struct inv_device *inventory_next_on(const struct inventory *inv, const struct inv_pgpu *card,
					   const struct inv_device *last);

/*
 * Does the vGPU exist? Asks the driver about a device that the inventory does not have. PRESENCE_UNKNOWN: the vGPU's
 * framework was not read, or the driver gives no answer. A plain VF is looked up on the host, because a VF outside the
 * pool can also be leased.
 */
enum presence inventory_presence(const struct inventory *inv, const struct host *host, const struct vgpu_ref *vgpu);

/* The type with this ID on any card, or on the model of `card`: models can use an ID differently. NULL: not known. */
const struct inv_type *inventory_type(const struct inventory *inv, const char *id);
struct inv_type *inventory_type_on(const struct inventory *inv, const struct inv_pgpu *card, const char *id);

/* Does the type belong to cards of this model and framework? */
bool inventory_type_is_of(const struct inv_type *type, const struct inv_pgpu *card);

/* The type of a vGPU on the model of its card; if the card is not known, on any card. */
const struct inv_type *inventory_type_of(const struct inventory *inv, const struct vgpu_ref *vgpu);
struct inv_pgpu *inventory_pgpu(const struct inventory *inv, const char *address);
struct inv_parent *inventory_parent(const struct inventory *inv, const char *name);
const struct inv_offer *inventory_offer(const struct inv_pgpu *card, const char *type);

/* A type that the card can create now; NULL: none. */
const char *inventory_offered(const struct inv_pgpu *card);

/* The path of a vGPU's directory, plus `behind` (with its slash). -EINVAL: the ID is neither UUID nor PCI address. */
enum { VGPU_PATH_SIZE = ID_SIZE + 72 };
int inventory_path(char path[VGPU_PATH_SIZE], const char *id, const char *behind, struct err *err);

/* Opens the directory of a vGPU or of another PCI device. */
int inventory_open(const struct host *host, const char *id);

/*
 * When the device was created, CLOCK_MONOTONIC ms; 0: not known. The time is too late if the kernel has evicted the
 * directory's inode since, and shifts with the wall clock.
 */
int64_t inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * The types of these frameworks, sorted by ID; an ID can occur again with another name. The caller frees the list. For
 * mdevs, only ID and name are read; the name is "" if the driver does not answer.
 */
int inventory_names(const struct host *host, unsigned int frameworks, struct inv_type **out, size_t *n,
		    struct err *err);

/* "write nvidia-222, the ID of T4-1B" if `word` is a type's name on this host; else "". It asks the drivers. */
const char *inventory_name_hint(const struct host *host, const char *word, char buf[REASON_SIZE]);

/* Calls config_load(). If a type name is configured in place of an ID, the error ends with inventory_name_hint(). */
struct config;
int inventory_load_config(struct config *config, const struct host *host, const char *path, struct err *err);

/* The fix for -ENOENT from inventory_load_config(). */
#define INVENTORY_NO_CONFIG_FIX "create one with 'vgpu-lease init --write'"

/* Does the host have this NUMA node? A host without NUMA information has only node 0. */
bool inventory_has_node(const struct host *host, int node);

/* The NUMA nodes of these CPUs, bit N = node N; 0: not known. */
uint64_t inventory_cpu_nodes(const struct host *host, const uint64_t cpus[CPU_WORDS]);
