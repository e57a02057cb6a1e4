/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data that identifies a vGPU: framework, ID, type and location; and what a domain asks for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"

enum { UNKNOWN = -1, TYPE_NAME_SIZE = 128, REASON_SIZE = 256 };

enum framework { FW_MDEV, FW_VARIANT, FW_VF };

/* "mdev", "variant", "vf": the words in files and in JSON. */
extern const char *const framework_words[FW_VF + 1];

/*
 * Does `word` mean the type with this name? `word` is the name, or the name without its brand, as in NVIDIA's
 * documents: "T4-1B" for "GRID T4-1B", "L40S-2Q" for "NVIDIA L40S-2Q".
 */
bool type_is_named(const char *name, const char *word);

/* Are both types of one driver, whose name begins their IDs: "nvidia" in nvidia-35? */
bool type_has_driver_of(const char *type, const char *other);

/*
 * Does a vGPU's device exist? PRESENCE_UNKNOWN: the check was not possible, so nothing is dropped, removed or created
 * in its place. As a boolean, a presence is true if the device may exist.
 */
enum presence { ABSENT, PRESENT, PRESENCE_UNKNOWN };

/* One vGPU. "" stands for an unknown value. */
struct vgpu_ref {
	char id[ID_SIZE]; /* UUID of an mdev, address of a VF; first, because lists are sorted by it (text_order()) */
	enum framework framework;
	char type[TYPE_SIZE];     /* "" also for a device that is being created or removed and has no type in sysfs */
	char parent[PARENT_SIZE]; /* parent of an mdev; for a VF, its own address */
	char pgpu[PARENT_SIZE];   /* the physical GPU, or the parent's name if the parent is not registered */
};

enum {
	PARAMS_SIZE = 1024,
	PROJECT_SIZE = 80,
	DOMAIN_NAME_SIZE = 1024, /* libvirt sets no limit; a longer name is refused */
	INSTANCE_SIZE = 1024,    /* Nova's limit is 255 characters */
	REQUEST_MAX = 256,       /* a domain's vGPUs, and PCI devices that may be vGPUs; each takes one of 256 buses */
	LABEL_SIZE = 128,        /* a type's name or a model, as in the metadata */
	ALIAS_SIZE = 128,        /* libvirt's name for a device of a domain */
};

enum placement { PLACE_PACK, PLACE_SPREAD };

enum vgpu_request_kind { REQUEST_MDEV, REQUEST_PCI };

enum numa_preference { NUMA_AUTO, NUMA_NONE, NUMA_NODE };

/*
 * What a migration target must know about a vGPU before it can accept it. The vGPU's host writes these facts into the
 * vGPU's <vgpu:device>. Printable ASCII; "" if a fact is unknown.
 */
struct migration_facts {
	char type[LABEL_SIZE], name[LABEL_SIZE]; /* ID and name of its type */
	char framework[16];
	char model[16];  /* vendor:device of its pGPU */
	char driver[64]; /* version */
};

/* One vGPU of the domain: a hostdev, and the <vgpu:device> that names it, if any. */
struct vgpu_request {
	char id[ID_SIZE]; /* UUID (lower case) or VF address, as in the XML */
	enum vgpu_request_kind kind;
	bool any;               /* any vGPU will do: the ID is a placeholder, or exists only on the source host */
	char alias[ALIAS_SIZE]; /* libvirt's name for the device, as in its events; "" none */
	char guest[ID_SIZE];    /* PCI address in the guest; "" not known */
	bool managed;           /* a PCI device that libvirt binds to VFIO and unbinds again */
	bool managed_as_needed; /* the VF is not chosen yet; its hostdev's `managed` will be set as the VF needs */
	bool has_metadata;      /* a <vgpu:device> names it */
	bool has_guest;         /* the <vgpu:device> has the same `guest` */
	struct migration_facts facts; /* as in the metadata; `type` is an ID, a name or a class */
	bool has_placement;
	enum placement placement;
	enum numa_preference numa;
	int numa_node; /* for NUMA_NODE */
	bool has_params;
	char params[PARAMS_SIZE];
};

/*
 * What a domain asks for, in the XML's order. PCI hostdevs are included only if a <vgpu:device address=...> names them,
 * or with DOMXML_ALL_PCI; mdevs only with model vfio-pci (vfio-ccw and vfio-ap devices are not vGPUs).
 */
struct request {
	char uuid[UUID_SIZE];
	char name[DOMAIN_NAME_SIZE];
	bool nova;                    /* an instance of Nova */
	char instance[INSTANCE_SIZE]; /* its name in Nova: arbitrary bytes, for people; "" none */
	char flavor[INSTANCE_SIZE];   /* its flavor's name: arbitrary bytes */
	char project[PROJECT_SIZE];   /* Nova's, or else the metadata's; "" none */
	uint64_t memory_nodes;        /* <numatune><memory nodeset=...>, bit N = node N; 0 none */
	uint64_t *cpus;               /* union of the pinned vCPUs' sets (text.h), CPUS_MAX bits, owned; NULL none */
	struct vgpu_request *vgpus;
	size_t nvgpus;
	/* IDs that no vGPU of this domain may get: its other hostdevs, and each <vgpu:device> without a hostdev. */
	char (*excluded)[ID_SIZE];
	size_t nexcluded;
	/* Only with DOMXML_REMARKS: mdevs and PCI devices that <qemu:commandline> gives to QEMU past libvirt. */
	char (*past)[ID_SIZE];
	size_t npast;
};

const struct vgpu_request *request_find(const struct request *request, const char *id);

/* Does the request ask for exactly this device? */
bool request_names(const struct request *request, const char *id);

bool request_excludes(const struct request *request, const char *id);
