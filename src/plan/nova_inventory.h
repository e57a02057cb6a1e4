/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What nova-compute's libvirt driver counts on this host, as _get_gpu_inventories() in nova/virt/libvirt/driver.py of
 * Nova 2025.1 does. Each parent of mdevs is a resource provider in Placement; Nova counts the mdevs of its type that
 * exist or have a definition, and those that could be created. The type of a parent is the one whose device_addresses
 * name it, else the first type without addresses.
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
	int existing; /* mdevs of the section's type */
	int defined;  /* definitions of the type without a device, which Nova counts as mdevs */
	int available;
	int total;             /* in Nova's inventory; 0: Nova has no such provider */
	bool limited;          /* `total` is 0 because of max_instances */
	char twice[UUID_SIZE]; /* a defined UUID that another parent also has; "" none */
};

struct nova_inventory {
	struct nova_provider *providers; /* in the order of inventory.parents */
	size_t n;
};

/* Counts the parents whose pGPU provides their Nova type. For a silent pGPU only existing and defined mdevs count. */
void nova_inventory_make(struct nova_inventory *nova, const struct inventory *inv, const struct definition *definitions,
			 size_t ndefinitions);
void nova_inventory_free(struct nova_inventory *nova);

/* True if the definition's type is the one that Nova gives its parent. Nova then counts it even without a device. */
bool nova_inventory_counts(const struct nova_inventory *nova, const struct definition *definition);

/* The traits of a vGPU, in Placement's spelling: type (CUSTOM_NVIDIA_222), model, framebuffer, framework; "" none. */
void nova_traits(char traits[NOVA_TRAITS][TRAIT_SIZE], const struct nova_provider *provider);
/* The trait of a type, which is a valid resource class as well. */
void nova_type_trait(char trait[TRAIT_SIZE], const char *type);
