/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts vGPUs as nova-compute's libvirt driver does: _get_gpu_inventories() in nova/virt/libvirt/driver.py (Nova
 * 2025.1).
 *
 * Each parent of mdevs is a resource provider in Placement. Its count includes the mdevs that exist, that have a
 * definition, and that could be created. The parent's type is the type whose device_addresses name the parent, or the
 * first type without addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "look/mdevctl_files.h"
#include "look/pool.h"

enum { NOVA_DEVICE_SIZE = 2 * PARENT_SIZE, TRAIT_SIZE = 256, NOVA_TRAITS = 4 };

struct nova_provider {
	const struct section *section; /* the type that Nova gives this parent */
	char device[NOVA_DEVICE_SIZE]; /* libvirt's name of the parent: pci_0000_84_00_0, mtty_mtty */
	const struct inv_parent *parent;
	int existing; /* mdevs of the section's type */
	int defined;  /* definitions without a device, which Nova counts as mdevs */
	int available;
	int total;             /* as in Nova's inventory; 0: Nova has no such provider */
	bool limited;          /* max_instances makes `total` 0 */
	char twice[UUID_SIZE]; /* a defined UUID that is also on another parent; "": none */
};

struct nova_inventory {
	struct nova_provider *providers; /* in the order of inventory.parents */
	size_t n;
};

/* On a silent pGPU, counts only existing and defined mdevs. */
void nova_inventory_make(struct nova_inventory *nova, const struct inventory *inv, const struct definition *definitions,
			 size_t ndefinitions);
void nova_inventory_free(struct nova_inventory *nova);

/* Does Nova count this definition without a device? Yes, if Nova gives the definition's type to its parent. */
bool nova_inventory_counts(const struct nova_inventory *nova, const struct definition *definition);

/* A vGPU's traits in Placement's spelling: type (CUSTOM_NVIDIA_222), model, framebuffer, framework; "": none. */
void nova_traits(char traits[NOVA_TRAITS][TRAIT_SIZE], const struct nova_provider *provider);
/* The trait of a type, which is also a valid resource class. */
void nova_type_trait(char trait[TRAIT_SIZE], const char *type);
