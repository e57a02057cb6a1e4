/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of inventory_read(), for this directory and its tests. A card's attributes are read relative to its
 * directory, because a path walk through sysfs costs more than the read. The arena owns all memory; nothing is freed.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "look/inventory.h"
#include "look/survey.h"

struct inv_reader {
	struct inventory *inv;
	const struct host *host;
	const struct inv_query *query;
	DIR *bus; /* sys/class/mdev_bus; NULL: missing, or mdevs are not read */
};

/* Copies the item, and appends a pointer to the copy. The copy never moves. */
void *inv_add(void *list, size_t *n, const void *item, size_t size);

struct inv_pgpu inv_new_pgpu(const char *address);
struct inv_pgpu *inv_add_pgpu(struct inventory *inv, const char *address);

/* Mark the card not ready. A card keeps its first reason. */
void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void inv_silent(struct inv_pgpu *pgpu);
void inv_ungrouped(struct inv_pgpu *card);

#define INV_NEEDS_TYPE "its vGPUs need a type; configure this card in [mdev_TYPE]"

/* The text for an errno of reading an attribute; EINVAL: the attribute is not a number. */
const char *inv_describe(int code);

/* The list must be sorted by name. */
struct inv_parent *inv_find_parent(struct inv_parent *const *parents, size_t n, const char *name);

/* Reads a PCI device's identity and NUMA node. Does nothing for a virtual parent. */
void inv_read_card(struct inv_pgpu *pgpu, int dir);

/* The PCI base class; -1: not known */
enum { PCI_DISPLAY = 0x03, PCI_BRIDGE = 0x06, PCI_ACCELERATOR = 0x12 };
int inv_read_class(int dir);

/* Bus, slot and function as one number. */
unsigned long inv_routing_id(const char *address);
bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n);
enum pci_kind inv_kind(int dir);

/*
 * Reads the VF's IOMMU group, and finds a device in the group whose driver keeps guests out. True: the VF is alone in
 * its group, or has no group. Source: vfio_dev_viable in drivers/vfio/vfio.c (until kernel 5.18).
 */
bool inv_read_iommu_group(struct inv_parent *parent, int vf, const char *card);

/* Did the address belong to another device at first use? Sets card->moved and both identities. */
bool inv_is_moved(struct inv_pgpu *card, const struct host *host, const char *address);

/*
 * Adds the cards with typed or plain VFs, and the VFs. If query.types is NULL, also adds all PCI devices except VFs to
 * inv->pci, and GPUs that are not set up for vGPUs to inv->pgpus.
 */
int inv_read_pci(struct inv_reader *reader, struct err *err);

/* Adds the pGPUs with mdevs, their parents, sorted by name, and the vGPUs on them. */
int inv_read_mdevs(struct inv_reader *reader, struct err *err);

/*
 * Are this parent's mdevs something other than vGPUs? The device_api of one type decides, because all are of one kind.
 * False for a PCI device, whose mdevs are always vGPUs, and if the driver does not answer.
 */
bool inv_has_other_kind(int bus, const char *parent);

/* Sets what the description states. */
void inv_parse_description(struct inv_type *type, char *text);

/* How many more vGPUs of the type the parent in `dir` can create. -EINVAL: not a number; other: the read's errno. */
int inv_read_available(const char *card, int dir, const char *type);

/* Finds or adds the type with this ID for the card's model. A new type has no name yet. */
struct inv_type *inv_find_type(struct inventory *inv, const struct inv_pgpu *pgpu, const char *id);
void inv_offer_type(struct inv_pgpu *pgpu, const struct inv_type *type, int available);

/* Adds the offers of a card with mdevs, or explains why it has no types. With query.names, adds only types' names. */
void inv_ask_mdevs(struct inv_reader *reader, struct inv_pgpu *pgpu);

/* The card's first VF without a vGPU; NULL: none. */
const struct inv_parent *inv_free_vf(const struct inv_pgpu *pgpu);

/*
 * Explains why a GPU is not a parent. False: it cannot have vGPUs, or its VFs take types. Without `any`, also false if
 * NVIDIA's driver is not bound to it, because it may not be intended for vGPUs.
 */
bool inv_explain_gpu(struct inv_pgpu *card, const struct host *host, int dir, bool any);

/*
 * Lists the cards that are configured but provide no vGPUs on this host, by section, and returns their number. `inv`
 * must have all frameworks and types. The caller frees the list.
 */
size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv);
