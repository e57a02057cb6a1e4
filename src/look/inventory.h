/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pGPUs of the host, their parents (the pGPU itself or its VFs), the types they offer, and the vGPUs on them.
 *
 * Every read costs time, so the caller names the frameworks and types it needs, and one free VF per pGPU is asked for
 * its offers. A host can have cards of several frameworks, which framework_*.c describe.
 *
 * Sources: kernel 6.12 mdev_sysfs.c; vendor drivers.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/err.h"
#include "sys/sys.h"
#include "model/vgpu.h"
#include "look/typelist.h"

enum { INV_IDENTITY_SIZE = 24 }; /* "8086:56c0:8086:4905": vendor, device and subsystem */
enum { INV_MDEV = 1 << FW_MDEV, INV_VARIANT = 1 << FW_VARIANT, INV_VF = 1 << FW_VF, INV_ALL = 7 };

/* A type. All pGPUs of one model (vendor, device, subsystem) and framework share it. */
struct inv_type {
	char id[TYPE_SIZE];
	enum framework framework;
	char vendor[5], device[5];
	char subsystem[10];
	char name[TYPE_NAME_SIZE]; /* printable; the ID if the driver gives no name */
	int framebuffer_mib;       /* UNKNOWN: not stated; likewise `heads` and `max_instance` */
	int heads;
	int max_instance;    /* per pGPU */
	int slices;          /* GPU slices of a MIG-backed type, from its name; 0: not MIG-backed */
	char resolution[24]; /* "5120x2880"; "": not stated */
};

struct inv_offer {
	const struct inv_type *type;
	/* How many more vGPUs the kernel can create now, on the pGPU or on a free VF (0 or 1). Plain VFs: always 1. */
	int available;
};

/* How a section claims a whole card. The highest claim wins. */
enum claim { CLAIM_NONE, CLAIM_DEFAULT, CLAIM_MATCH, CLAIM_ADDRESS };

/* What the configuration assigns to a card. pool_make() sets it. */
struct pool_card {
	const struct config *config;
	const struct section *section; /* prefers a type that the card offers; NULL: none, or several claim the card */
	const struct section *whole;   /* the section of the card itself and of VFs that no section names; NULL: none */
	enum claim claim;
	bool in_pool;
	char reason[REASON_SIZE];
};

/* What the cards of one model of NVIDIA's variant driver share. */
struct inv_model {
	char record[TYPELIST_KEY_SIZE]; /* the name of the file with the model's types */
	struct typelist recorded;       /* the types in that file at the look */
	struct typelist listed;         /* the types that its cards list now */
	bool seen_whole;                /* an empty card lists all time-sliced types */
	bool types_whole;               /* all types are known, except perhaps MIG-backed types */
	int whole_mib;                  /* framebuffer of the largest time-sliced type; 0: not known */
};

#define INV_NO_TYPES_YET                                                                                               \
	"no vGPU types registered yet; "                                                                               \
	"nvidia-vgpud has not finished, has failed, or knows none for this card (see its journal)"

struct inv_pgpu {
	char address[PARENT_SIZE]; /* 0000:84:00.0, or mtty */
	enum framework framework;
	char vendor[5], device[5];   /* four hex digits; "" for a virtual parent */
	char subsystem[10];          /* vendor and device of the board, "10de:1851"; "": the kernel does not say */
	bool nvidia, gpu;            /* a GPU by its PCI class and ID, or one of the kernel's sample devices */
	int numa;                    /* UNKNOWN: the kernel says -1 or nothing */
	bool sriov;                  /* the parents are VFs, or would be if the card were ready */
	int nvfs;                    /* number of VFs among the parents; if `nparents` is 0, of enabled VFs */
	struct inv_parent **parents; /* sorted by name */
	int nparents;
	bool ready;
	bool ungrouped;           /* its VFs have no IOMMU group */
	bool silent;              /* its driver does not answer, so the offers are not known */
	char reason[REASON_SIZE]; /* why the card is not ready, and what to do */
	struct inv_offer *offers;
	size_t noffers;
	struct inv_model *model;    /* variant; other frameworks: NULL */
	struct typelist listed;     /* variant: the types that a free VF lists now */
	const struct section *gone; /* variant: its type was only with another driver version; NULL: none */
	char gone_driver[64];       /* that version */
	bool types_hid;             /* variant: some types are not known, and the card's vGPUs may hide them */

	struct pool_card pool;

	/* vf: an address, of the card or a VF, that another device had at first use; "": none */
	char moved[PCI_SIZE];
	char moved_is[INV_IDENTITY_SIZE], moved_was[INV_IDENTITY_SIZE];
};

enum opened { OPEN_UNKNOWN, OPEN_NO, OPEN_YES };

/* Facts that inventory_read() does not set. The survey sets them up to `young`; act/fate_facts.c sets the rest. */
struct device_facts {
	enum opened opened;
	const char *by;   /* if open: the user, as "process 4711 (QEMU of domain vm2)", in the arena */
	bool renders;     /* whether a process of the host has this plain VF's render node open */
	bool is_named;    /* a domain's file names the device or is unreadable, or an mdevctl definition names the VF */
	bool young;       /* created within start_grace, perhaps for a guest of other software that starts now */
	bool removable;   /* `retype --grace 0` may remove it */
	bool preset;      /* removable, but not made for a guest */
	bool reclaimable; /* an orphan, which may be removed to make capacity */
};

struct inv_parent {
	char name[PARENT_SIZE];
	struct inv_pgpu *card;
	int ndevices;
	bool unread;      /* the VF's type could not be read, so the VF may have a vGPU */
	bool lost;        /* an mdev VF without a vGPU that offers no type, although another VF offers one */
	char driver[24];  /* plain VF: the driver bound to it; "": none */
	bool keeps_group; /* `driver` prevents guests from using the IOMMU group */
	/* The VF's IOMMU group; "": none, so no guest can use the VF; or, of a VF that is not plain, not read. */
	char group[12];
	/* Another device in the group whose driver keeps guests out; "": none. VFs of this card do not count. */
	char beside[PCI_SIZE], beside_driver[24];
	struct device_facts facts; /* for a VF that is not in inventory.devices; if it provides mdevs, only is_named */
	const struct section *named; /* the section that names this VF; NULL: none */
};

struct inv_device {
	struct vgpu_ref vgpu;
	struct inv_parent *parent; /* NULL: the parent is not registered */
	uint64_t node; /* distinguishes successive vGPUs of one ID: the link's inode; variant: only the type's number */
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
	const struct inv_pgpu **pci; /* all PCI devices except VFs, sorted by address; empty if query.types was set */
	size_t npci;
	char nvidia_driver[64];      /* version; "": none */
	const struct config *config; /* that of the query */
	unsigned int frameworks;     /* those that were read (INV_...) */
	struct arena *arena;         /* owns all memory of the inventory; no list may grow after the read */
};

struct inv_query {
	unsigned int frameworks; /* INV_... */

	/*
	 * The IDs of the mdev types to read (NULL-terminated). Types of existing vGPUs are always read. NULL: reads all
	 * types, and also lists cards of NVIDIA's driver that are not ready yet (VFs not enabled, no types registered),
	 * without parents.
	 */
	const char *const *types;
	bool names; /* with inv_no_types: reads the names of all mdev types, and nothing else of them */

	/* If set, reads only these cards and the cards with mdevs; "" ends the list. */
	const char (*cards)[PCI_SIZE];

	/*
	 * Calls pool_make() with this configuration, which also names the plain VFs to read, and types of NVIDIA's
	 * variant driver to look up although no VF lists them. NULL: plain VFs of GPUs are read under the name
	 * "gpu-DEVICE". Without sections (or NULL), and if `types` is NULL, the GPUs that could be in a pool are
	 * listed: NVIDIA, AMD and Intel GPUs with another driver, no driver, or plain VFs.
	 */
	const struct config *config;
};

extern const char *const inv_no_types[1];

/* A card with errors is listed as not ready. Fails if devices cannot be listed, or the child that reads is killed. */
int inventory_read(struct inventory *inv, const struct host *host, const struct inv_query *query, struct err *err);
void inventory_free(struct inventory *inv);

#define autoinventory __attribute__((cleanup(inventory_free)))

/* The address of a VF's card. False: the device is not a VF. */
bool inventory_physfn(const struct host *host, const char *address, char physfn[PCI_SIZE]);

/* Adds the cards of this VF and of the VFs in its IOMMU group to `cards`, each once. */
void inventory_group_cards(const struct host *host, const char *vf, char (**cards)[PCI_SIZE], size_t *n);

/* Reads the card of the VF at this address. VF_ABSENT: no device has the address, but the card can have a VF there. */
enum vf_is { VF_NONE, VF_PRESENT, VF_ABSENT };
enum vf_is inventory_vf_card(const struct host *host, const char *address, struct inv_pgpu *card);

/* Appends the UUIDs of all mdevs to *out, which the caller frees, without asking a driver. */
int inventory_mdevs(const struct host *host, char (**out)[ID_SIZE], size_t *n, struct err *err);

/* A PCI_GOING_VF is being disabled, but a user has it open. It has no link to its card any more (kernel 5.13). */
enum pci_kind { PCI_MISSING, PCI_DEVICE, PCI_VF, PCI_GOING_VF };
enum pci_kind inventory_kind(const struct host *host, const char *address);

/* Does this VF take a type, as VFs of NVIDIA's variant driver do? */
bool inventory_takes_type(const struct host *host, const char *address);

/*
 * The file var/lib/vgpu-lease/cards/ADDRESS records which device had a [vf_NAME] section's address at first use, as
 * "8086:56c0:8086:4905". Plain VFs have no types, so nothing else shows that a bus number has changed.
 * card_record_now() identifies the device that has the address now. False: none.
 */
#define CARD_RECORDS "var/lib/vgpu-lease/cards"
bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);
bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address);

/* Reads a PCI device's identity and NUMA node. False: no such device. */
bool inventory_read_card(const struct host *host, const char *address, struct inv_pgpu *card);

/* By its PCI class, as "a network card". */
const char *inventory_class(const struct host *host, const char *address);

/* Is a VFIO driver bound to this card, so that a guest can have the whole card? */
bool inventory_is_given(const struct host *host, const char *address);

/* Explains why a card or parent is missing, and what to do. `plain`: it is configured for plain VFs. */
void inventory_explain_card(const struct host *host, const char *address, bool plain, char reason[REASON_SIZE]);

/* Explains why a ready card without vGPUs offers no type now. */
void inventory_no_offer(const struct inv_pgpu *card, char reason[REASON_SIZE]);

const struct inv_device *inventory_device(const struct inventory *inv, const char *id);

/* NULL: the device's parent is not registered. */
static inline const struct inv_pgpu *inventory_card_of(const struct inv_device *device)
{
	return device->parent ? device->parent->card : NULL;
}

/* The device on a pGPU after `last` (NULL: the first); NULL: no more. */
const struct inv_device *inventory_next_on(const struct inventory *inv, const struct inv_pgpu *card,
					   const struct inv_device *last);

/*
 * Asks the kernel about a vGPU outside the inventory. PRESENCE_UNKNOWN: the kernel cannot be asked, or the vGPU is of
 * NVIDIA's variant driver, which was not read.
 */
enum presence inventory_presence(const struct inventory *inv, const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Finds the type with this ID among those of the model of `card`, because an ID can mean different types on different
 * models. If `card` is NULL, searches all models. NULL: not known.
 */
struct inv_type *inventory_type(const struct inventory *inv, const struct inv_pgpu *card, const char *id);
bool inventory_type_is_of(const struct inv_type *type, const struct inv_pgpu *card);

struct inv_pgpu *inventory_pgpu(const struct inventory *inv, const char *address);
struct inv_parent *inventory_parent(const struct inventory *inv, const char *name);
const struct inv_offer *inventory_offer(const struct inv_pgpu *card, const char *type);

/* A type that the card can create now; NULL: none. */
const char *inventory_offered(const struct inv_pgpu *card);

/* Sets `path` to the directory of an mdev (a UUID) or PCI device (an address), and what is `behind`. 0 or -EINVAL. */
enum { VGPU_PATH_SIZE = ID_SIZE + 72 };
int inventory_path(char path[VGPU_PATH_SIZE], const char *id, const char *behind, struct err *err);

/* Opens that directory. -ENOENT: no such device. */
int inventory_open(const struct host *host, const char *id);

/* Finds the next entry with a name that `parse` accepts unchanged. False: no more, or errno says why listing failed. */
bool inventory_next_name(DIR *d, bool (*parse)(char *, const char *), char *name);

/*
 * CLOCK_MONOTONIC ms; 0: not known, or not an mdev. Too late if the kernel has evicted the directory's inode; shifts
 * with the wall clock.
 */
int64_t inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Lists the types of these frameworks, sorted by ID; the caller frees the list. An ID has an entry for each of its
 * names. For mdevs, sets only ID and name; name "": the driver does not answer.
 */
int inventory_names(const struct host *host, unsigned int frameworks, struct inv_type **out, size_t *n,
		    struct err *err);

/* Writes "write nvidia-222, the ID of T4-1B" if `word` is a type's name on this host, or "". Asks the drivers. */
const char *inventory_name_hint(const struct host *host, const char *word, char buf[REASON_SIZE]);

/* Calls config_load(). If a type's name is configured in place of its ID, the error says the ID. */
int inventory_load_config(struct config *config, const struct host *host, const char *path, struct err *err);

/* A host without NUMA information has only node 0. */
bool inventory_has_node(const struct host *host, int node);

/* A mask of the NUMA nodes of these CPUs; 0: not known. */
uint64_t inventory_cpu_nodes(const struct host *host, const uint64_t cpus[CPU_WORDS]);

struct inv_reader;

enum { ASK_STEPS = 3, KPATH_SIZE = PARENT_SIZE + TYPE_SIZE + UUID_SIZE + 80 };

struct kernel_write {
	char path[KPATH_SIZE];
	char line[TYPE_SIZE];
};

/* One table for each framework, for reading and for writing. */
struct framework_ops {
	/* Adds the card's VFs that belong to this framework, with their vGPUs. NULL for mdevs: see inv_read_mdevs(). */
	void (*read_vfs)(struct inv_reader *reader, struct inv_pgpu *card, int dir);

	/* Add a card's types and offers after all cards were read and sorted; each step is done for all cards first. */
	void (*ask[ASK_STEPS])(struct inv_reader *reader, struct inv_pgpu *card);

	/*
	 * How many more vGPUs of the type the parent can create now; at most 1 for a VF. Returns also:
	 *   -ENOENT: no such parent or type
	 *   -EINVAL: an invalid name or count
	 *   -ETIMEDOUT: the driver does not answer
	 *   other: the errno of the read
	 */
	int (*available)(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

	/* Sets what to write; -EINVAL: an invalid name. NULL: vGPUs of this framework always exist. */
	int (*creation)(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err);

	/*
	 * Does the vGPU exist? 1: yes, with this type ("" for a plain VF); otherwise `err` says what is missing:
	 *   0: yes, but it is incomplete
	 *   -ENOENT: no
	 *   -ETIMEDOUT: the driver does not answer
	 *   other: the vGPU cannot be read
	 */
	int (*look)(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], struct err *err);

	struct {
		const char *file, *value;
	} removal; /* .file NULL: a vGPU of this framework is never removed */

	bool keeps_id; /* a VF's vGPUs all have one ID, so another type means another vGPU */
};

extern const struct framework_ops framework_mdev, framework_variant, framework_vf;
extern const struct framework_ops *const framework_ops[FW_VF + 1];

static inline const struct framework_ops *framework_of(const struct vgpu_ref *vgpu)
{
	return framework_ops[vgpu->framework];
}

/* Is sysfs read-only in libvirt's mount namespace, in which the hook runs? */
bool kernel_is_read_only(const struct host *host);

/* A UUID means an mdev, an address a VF that takes a type (FW_VARIANT). */
struct vgpu_ref kernel_vgpu(const char *id);

/* Sets `card` to the vGPU's pGPU, or to its parent if the pGPU is not known. */
void kernel_card(char card[PARENT_SIZE], const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Does the vGPU exist? 1: yes; 0: no, or it is a VF whose type is not vgpu->type ("": any); -ETIMEDOUT: the driver does
 * not answer; other: the errno of the read.
 */
int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu);
