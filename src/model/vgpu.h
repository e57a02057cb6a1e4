/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A vGPU, and what a domain asks for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"

enum { UNKNOWN = -1, TYPE_NAME_SIZE = 128, REASON_SIZE = 256 };

enum framework { FW_MDEV, FW_VARIANT, FW_VF };

extern const char *const framework_words[FW_VF + 1];

/* Does `word` mean the type of this name? It can omit the brand, as NVIDIA's documents do: "T4-1B" for "GRID T4-1B". */
bool type_is_named(const char *name, const char *word);

/* Do both IDs begin with the name of one driver, such as "nvidia" in nvidia-35? */
bool type_has_driver_of(const char *type, const char *other);

/* Whether a device exists. On PRESENCE_UNKNOWN nothing is dropped, removed or created. Not 0: it may exist. */
enum presence { ABSENT, PRESENT, PRESENCE_UNKNOWN };

/* One vGPU. "" stands for an unknown value. */
struct vgpu_ref {
	char id[ID_SIZE]; /* UUID of an mdev, or address of a VF; the first member, for text_order() */
	enum framework framework;
	char type[TYPE_SIZE];     /* "" also while sysfs shows no type: the device is being created or removed */
	char parent[PARENT_SIZE]; /* the parent of an mdev; the address of a VF */
	char pgpu[PARENT_SIZE];   /* the physical GPU, or the parent's name if the parent is not registered */
};

enum {
	PARAMS_SIZE = 1024,
	PROJECT_SIZE = 80,
	DOMAIN_NAME_SIZE = 1024, /* libvirt has no limit; a longer name is refused */
	INSTANCE_SIZE = 1024,    /* Nova's limit is 255 characters */
	REQUEST_MAX = 256,       /* maximum of a domain's vGPUs and PCI hostdevs; each takes one of 256 buses */
	LABEL_SIZE = 128,        /* a type's name or a model, as in the metadata */
	ALIAS_SIZE = 128,        /* libvirt's name for a hostdev */
};

enum placement { PLACE_PACK, PLACE_SPREAD };

enum vgpu_request_kind { REQUEST_MDEV, REQUEST_PCI };

enum numa_preference { NUMA_AUTO, NUMA_NONE, NUMA_NODE };

/*
 * What the target of a migration must know about a vGPU. The vGPU's host writes these facts into the <vgpu:device>.
 * Printable ASCII; "": unknown.
 */
struct migration_facts {
	char type[LABEL_SIZE], name[LABEL_SIZE];
	char framework[16];
	char model[16];  /* the pGPU's vendor:device */
	char driver[64]; /* version of the driver */
};

/* One vGPU of the domain: a hostdev, and its <vgpu:device>, if any. */
struct vgpu_request {
	char id[ID_SIZE]; /* UUID (lower case) or VF address, as in the XML */
	enum vgpu_request_kind kind;
	bool any;                     /* any vGPU fits: the ID is a placeholder, or exists only on the source host */
	char alias[ALIAS_SIZE];       /* libvirt's name for the device, as in the running XML; "": none */
	char guest[ID_SIZE];          /* PCI address in the guest; "" not known */
	bool managed;                 /* libvirt binds this PCI device to VFIO and unbinds it again */
	bool managed_as_needed;       /* no VF is chosen yet, and the chosen VF decides its hostdev's `managed` */
	bool has_metadata;            /* a <vgpu:device> names it */
	bool has_guest;               /* the <vgpu:device> has this `guest` */
	struct migration_facts facts; /* as in the metadata; `type` is an ID, a name or a class */
	bool has_placement;
	enum placement placement;
	enum numa_preference numa;
	int numa_node;
	bool has_params;
	char params[PARAMS_SIZE];
};

/*
 * What a domain asks for, in the XML's order. An mdev must have model vfio-pci, because vfio-ccw and vfio-ap devices
 * are not vGPUs. A PCI hostdev must have a <vgpu:device address=...>, unless DOMXML_ALL_PCI is set.
 */
struct request {
	char uuid[UUID_SIZE];
	char name[DOMAIN_NAME_SIZE];
	bool nova;
	char instance[INSTANCE_SIZE]; /* its name in Nova: arbitrary bytes, for messages; "" none */
	char flavor[INSTANCE_SIZE];   /* its flavor's name: arbitrary bytes */
	char project[PROJECT_SIZE];   /* Nova's; without Nova's, the metadata's; "" none */
	uint64_t memory_nodes;        /* <numatune><memory nodeset=...>, bit N = node N; 0 none */
	uint64_t *cpus;               /* union of the pinned vCPUs' sets (text.h), CPUS_MAX bits, owned; NULL none */
	struct vgpu_request *vgpus;
	size_t nvgpus;
	/* IDs that no vGPU of this domain may get: of its other hostdevs, and of stray <vgpu:device> elements. */
	char (*excluded)[ID_SIZE];
	size_t nexcluded;
	/* The mdevs and PCI devices in <qemu:commandline>, which libvirt does not manage. */
	char (*past)[ID_SIZE];
	size_t npast;
};

const struct vgpu_request *request_find(const struct request *request, const char *id);
bool request_has(const struct request *request, enum vgpu_request_kind kind);

/* Is exactly this device requested? */
bool request_names(const struct request *request, const char *id);

bool request_excludes(const struct request *request, const char *id);
