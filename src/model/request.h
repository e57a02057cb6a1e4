/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a domain asks for: a request, with one vgpu_request for each vGPU, and what travels with it on a migration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"

enum {
	PARAMS_SIZE = 1024,
	PROJECT_SIZE = 80,
	DOMAIN_NAME_SIZE = 1024, /* libvirt sets no limit; a longer name is refused */
	INSTANCE_SIZE = 1024,    /* Nova's limit is 255 characters */
	REQUEST_MAX = 256,       /* vGPUs of one domain, and PCI devices that may be some: a bus each */
	LABEL_SIZE = 128,        /* a type's name or a model, as the metadata gives it */
	ALIAS_SIZE = 128,        /* libvirt's name of a device of a running domain */
};

enum placement { PLACE_PACK, PLACE_SPREAD };

enum vgpu_request_kind { REQUEST_MDEV, REQUEST_PCI };

enum numa_preference { NUMA_AUTO, NUMA_NONE, NUMA_NODE };

/*
 * What a target has to know of a vGPU before it can take it: facts of the host where the vGPU is, which travel in its
 * <vgpu:device>. Printable ASCII; "" where a fact is not known.
 */
struct migration_facts {
	char type[LABEL_SIZE], name[LABEL_SIZE]; /* id and name of its type */
	char framework[16];
	char model[16];  /* of its pGPU: vendor:device */
	char driver[64]; /* version */
};

/* One vGPU of the domain: a hostdev, with the <vgpu:device> that names it, if there is one. */
struct vgpu_request {
	enum vgpu_request_kind kind;
	char id[ID_SIZE];             /* the UUID (lower case) or the VF's address, as the XML has it */
	bool any;                     /* any vGPU will do: the ID is a placeholder, or one that only the source has */
	char alias[ALIAS_SIZE];       /* of a running domain's device, by which libvirt's events name it; "" none */
	char guest[ID_SIZE];          /* the PCI address in the guest; "" not known */
	bool managed;                 /* of a PCI device: libvirt binds it to VFIO, and back */
	bool managed_as_needed;       /* of a VF that is yet to be chosen: its hostdev is written as the VF needs it */
	bool has_metadata;            /* a <vgpu:device> names it */
	bool has_guest;               /* and has `guest` as it is */
	struct migration_facts facts; /* as the metadata gives them; `type` is an id, a name or a class */
	bool has_placement;
	enum placement placement;
	enum numa_preference numa;
	int numa_node; /* for NUMA_NODE */
	bool has_params;
	char params[PARAMS_SIZE];
};

/*
 * What a domain asks for, in the XML's order. PCI hostdevs are in it only where a <vgpu:device address=...> names them
 * or `all_pci` was asked for; mdevs only of model vfio-pci (vfio-ccw and vfio-ap are not ours).
 */
struct request {
	char uuid[UUID_SIZE];
	char name[DOMAIN_NAME_SIZE];
	bool nova;                    /* an instance of Nova */
	char instance[INSTANCE_SIZE]; /* its name in Nova, any bytes, for people; "" none */
	char flavor[INSTANCE_SIZE];   /* likewise, of its flavor */
	char project[PROJECT_SIZE];   /* Nova's, else the metadata's; "" none */
	uint64_t memory_nodes;        /* <numatune><memory nodeset=...>, bit N = node N; 0 none */
	uint64_t *cpus;               /* union of the pinned vCPUs' sets (cpuset.h), CPUS_MAX bits; NULL none; owned */
	struct vgpu_request *vgpus;
	size_t nvgpus;
	/*
	 * IDs that no vGPU of the domain can get: those of its other hostdevs, and of each <vgpu:device> without a
	 * hostdev.
	 */
	char (*excluded)[ID_SIZE];
	size_t nexcluded;
};

/* The vGPU of this ID, or NULL. */
const struct vgpu_request *request_find(const struct request *request, const char *id);

/* Does a request ask for this very device? */
bool request_names(const struct request *request, const char *id);

bool request_excludes(const struct request *request, const char *id);
