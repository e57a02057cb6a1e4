/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What nova-compute's libvirt driver counts on this host: for each parent of mdevs, which is a resource provider in
 * Placement, the mdevs of its type that exist or have a definition, and those that could be created.
 *
 * Pure: the computation of _get_gpu_inventories() in nova/virt/libvirt/driver.py, as of Nova 2025.1. Nova has a type
 * for each parent: the one whose device_addresses name this very parent, else the first type without addresses. With
 * max_instances a parent counts nothing if it has more available than the limit leaves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "host/mdevctl_files.h"
#include "plan/pool.h"

enum { NOVA_DEVICE_SIZE = 2 * PARENT_SIZE, TRAIT_SIZE = 256, NOVA_TRAITS = 4 };

struct nova_provider {
	const struct section *section; /* the type that Nova gives this parent */
	char device[NOVA_DEVICE_SIZE]; /* libvirt's name of the parent: pci_0000_84_00_0, mtty_mtty */
	const struct inv_parent *parent;
	int existing; /* mdevs of that type */
	int defined;  /* definitions of that type without their device, which Nova counts as mdevs */
	int available;
	int total;             /* what Nova has in its inventory; 0: there is no such provider */
	bool limited;          /* it is 0 for max_instances */
	char twice[UUID_SIZE]; /* of these definitions, one whose UUID another parent has, too; "" none */
};

struct nova_inventory {
	struct nova_provider *providers; /* sorted as inventory.parents are */
	size_t n;
};

/* Of the parents whose type, as Nova has it, their pGPU provides. Of a silent pGPU only what exists is known. */
void nova_inventory_make(struct nova_inventory *nova, const struct inventory *inv, const struct definition *definitions,
			 size_t ndefinitions);
void nova_inventory_free(struct nova_inventory *nova);

/*
 * The traits by which a flavor can request such a vGPU, as Placement spells them: CUSTOM_NVIDIA_222 for the type, the
 * pGPU's model, the framebuffer, the framework; "" where it is not known.
 */
void nova_traits(char traits[NOVA_TRAITS][TRAIT_SIZE], const struct nova_provider *provider);
