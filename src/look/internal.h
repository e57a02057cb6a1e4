/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frameworks, and the parts of inventory_read() and of a survey. Only this directory's files and their tests
 * include this.
 *
 * inventory_read() calls inv_read_mdevs() and inv_read_pci(), sorts, then calls `ask` of each framework. Before the
 * sort, only the parents of mdevs are ordered, by name. Each card is read in one visit, relative to its directory: a
 * path walk through sysfs costs more than reading the attribute. All memory is the arena's, so nothing is freed.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "look/frameworks.h"
#include "look/inventory.h"
#include "look/kernel.h"
#include "look/survey.h"

struct inv_reader {
	struct inventory *inv;
	const struct host *host;
	const struct inv_query *query;
	DIR *bus; /* sys/class/mdev_bus; NULL: missing, or mdevs are not read */
};

/* The pGPU of a vGPU; its parent if the pGPU is not known. */
void kernel_card(char card[PARENT_SIZE], const struct host *host, const struct vgpu_ref *vgpu);

/* Appends a pointer to a copy of an item of `size` bytes. The copy never moves. */
void *inv_add(void *list, size_t *n, const void *item, size_t size);

/* Makes a pGPU of which only the address is known; inv_add_pgpu() makes it in the inventory. */
struct inv_pgpu inv_new_pgpu(const char *address);
struct inv_pgpu *inv_add_pgpu(struct inventory *inv, const char *address);

/* Marks the card not ready, with this reason (printf); the first reason is kept. */
void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Marks the card not ready because timed_child_read() gave -ETIMEDOUT. */
void inv_silent(struct inv_pgpu *pgpu);

/* Why an attribute cannot be read; EINVAL: it is not a number. */
const char *inv_describe(int code);

/* Finds a parent among `n` that are sorted by name; NULL: not found. */
struct inv_parent *inv_find_parent(struct inv_parent *const *parents, size_t n, const char *name);

/* Reads vendor, model, class and NUMA node from a card's directory. `dir` -1: it could not be opened. */
void inv_read_card(struct inv_pgpu *pgpu, int dir);

/* The base class of the PCI device with this directory; -1: not known. */
enum { PCI_DISPLAY = 0x03, PCI_BRIDGE = 0x06, PCI_ACCELERATOR = 0x12 };
int inv_read_class(int dir);

/* The bus, slot and function, "bb:ss.f" at the end of an address, as one number. */
unsigned inv_routing_id(const char *address);

/* The address of VF number `n` of the card whose directory is `card`. */
bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n);

/*
 * framework_vf.c: reads the IOMMU group of the VF with the directory `vf`. False: the VF shares the group. Source:
 * kernel drivers/vfio/group.c, vfio_dev_viable.
 */
bool inv_read_iommu_group(struct inv_parent *parent, int vf, const char *card);

/*
 * Adds the pGPUs with plain or typed VFs, and those VFs. If query.types is NULL, also adds all PCI devices except VFs
 * to inv->pci, and each GPU that provides no vGPUs, as not ready, to inv->pgpus.
 */
int inv_read_pci(struct inv_reader *reader, struct err *err);

/* framework_mdev.c: adds the pGPUs with mdevs, their parents, sorted by name, and the vGPUs on them. */
int inv_read_mdevs(struct inv_reader *reader, struct err *err);

/*
 * framework_mdev.c: does this parent in class/mdev_bus have mdevs other than vGPUs (device_api)? All its types are of
 * one kind. False for a PCI device, whose mdevs are always vGPUs, and if the driver does not answer.
 */
bool inv_has_other_kind(int bus, const char *parent);

/* inventory_types.c */
void inv_parse_description(struct inv_type *type, char *text);

/* How many more vGPUs of the type the parent with this directory can create; negative: see inv_describe(). */
int inv_read_available(const char *card, int dir, const char *type);

/* Calls inv_read_available(), and marks the pGPU silent if its driver does not answer. */
int inv_ask_available(struct inv_pgpu *pgpu, int dir, const char *type);

/* Finds or adds the type with this ID for the card's model. A new type has no name yet. */
struct inv_type *inv_find_type(struct inventory *inv, const struct inv_pgpu *pgpu, const char *id);

void inv_offer_type(struct inv_pgpu *pgpu, const struct inv_type *type, int available);

/* Adds a pGPU's offers, or with query.names only its types' names. Explains a pGPU without types. */
void inv_ask(struct inv_reader *reader, struct inv_pgpu *pgpu);

/* A free VF is a parent that is not the card itself and has no vGPU. inv_free_vf(): the card's first; NULL: none. */
bool inv_is_free_vf(const struct inv_parent *parent);
const struct inv_parent *inv_free_vf(const struct inv_pgpu *pgpu);

/* The kind of the PCI device with this directory. */
enum pci_kind inv_kind(int dir);

/*
 * inventory_reason.c: explains why a GPU that no framework has read is not a parent. `dir` is its directory; call
 * inv_read_card() first. False: it cannot have vGPUs, its VFs take types or, without `any`, NVIDIA's driver is not
 * bound to it, so it may not be intended for vGPUs.
 */
bool inv_explain_gpu(struct inv_pgpu *card, const struct host *host, int dir, bool any);

/* The parts of survey. */

/* Drops the results of survey_ahead(). */
void survey_drop_lookups(struct world *world);

bool survey_reads_all(const struct world *world);

/* True if only those cards of variant and plain VFs are read that a PCI hostdev concerns. A start uses no others. */
bool survey_reads_named(const struct world *world);

/* Reads the part of the host that the request and the leases can concern, or the whole host if survey_reads_all(). */
int survey_read_host(struct world *world, struct err *err);

/*
 * Fills in, for each device that a rule asks about, whether it is open and whether a domain names it. If such a device
 * appeared after the last search, searches again without the lock; under the lock, skips the device and returns 1.
 */
int survey_look_open(struct world *world, struct err *err);

/*
 * Lists, section by section, the cards that a section names or matches but that provide no vGPUs on this host. If a
 * type claims all remaining cards but no card serves it, also lists this host's GPUs that could have it, and the
 * devices that once had vGPUs of the type. The caller frees the list. Needs pool_make() on `inv`, read with all
 * frameworks and types.
 */
size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv);
