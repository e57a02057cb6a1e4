/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pieces that inventory_read() is made of. Only the inventory's own files and their tests include this.
 *
 * Order of the calls: inv_open, inv_read_parents, inv_read_variant, inv_read_vfs, inv_read_devices, inv_group,
 * inv_order, inv_ask_variant, inv_ask_rest, inv_find_lost, inv_close.
 * Until inv_order the parents are sorted by name alone, and the pGPUs not at all. What is read of a card is read in one
 * visit, relative to its directory: each walk through sys/class/mdev_bus costs more than the attribute behind it.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "host/inventory.h"
#include "sys/timed_child.h"

struct inv_reader {
	struct inventory *inv;
	const struct host *host;
	DIR *list; /* sys/class/mdev_bus; NULL where there is none: no mdev framework */
	int bus;   /* its descriptor */
	const struct inv_query *query;
	const char *const *types; /* of it: the ids that matter, NULL: all */
};

/* The parent that a pGPU is asked by. `is_free` false: no parent of it is free, so that no vGPU can be made. */
struct inv_asked {
	const char *name;
	int dir;
	bool is_free;
};

/* The ids of the types that a parent has, sorted so that numbers in them count as numbers. */
struct inv_ids {
	char (*id)[TYPE_SIZE];
	size_t n;
};

/* Adds a copy of an item of `size` bytes to the *n of *array; or where that is a list of pointers, which stay good. */
void inv_append(void *array, size_t *n, const void *item, size_t size);
void *inv_add(void *list, size_t *n, const void *item, size_t size);

/* Not ready, for this reason (printf); the first reason stays. */
void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Not ready: a read that its driver answers (timed_child_read) gave -ETIMEDOUT. */
void inv_silent(struct inv_pgpu *pgpu);

/*
 * Runs the work, which opens and closes the reader by itself, as timed_child_look() does, and once more without each
 * card that does not answer. `size`: of the structure that the reader is the beginning of; what the work has left in
 * it, and what that points to, lives as long as the inventory, which is empty where it fails.
 */
int inv_bounded(timed_child_work *work, struct inv_reader *reader, size_t size, struct err *err);

int inv_open(struct inv_reader *reader, struct err *err);
void inv_close(struct inv_reader *reader);

/* inventory_parents.c */
int inv_read_parents(struct inv_reader *reader, struct err *err);
int inv_read_devices(struct inv_reader *reader, struct err *err);
void inv_order(struct inventory *inv);

/* Sorts the parents by name; and one of so many that are sorted so, NULL: there is none. */
void inv_sort_parents(struct inventory *inv);
struct inv_parent *inv_find_parent(struct inv_parent *const *parents, size_t n, const char *name);

/* inventory_group.c: makes the pGPUs, and asks each for its offers where its first VF is free, or it has none. */
void inv_group(struct inv_reader *reader);

/*
 * The facts in a card's own directory: vendor, device, NUMA node. `dir` -1: it could not be opened.
 */
void inv_read_card(struct inv_pgpu *pgpu, int dir);

/* The address of a card's VF number `n`, from the card's directory. */
bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n);

/* The directory of the PCI device that the query names so; negative: it has none, or that is no address. */
int inv_open_card(const struct host *host, const char *address);

/*
 * inventory_variant.c: the cards whose VFs take a type, with their VFs, and the vGPUs that these are; and once all is
 * in order what each card offers.
 */
int inv_read_variant(struct inv_reader *reader, struct err *err);
void inv_ask_variant(struct inv_reader *reader);

/* inventory_vf.c: the cards that the query has a name for, with their VFs. */
int inv_read_vfs(struct inv_reader *reader, struct err *err);

/* inventory_types.c */
int inv_by_number(const void *a, const void *b); /* orders ids */
void inv_parse_description(struct inv_type *type, char *text);
int inv_list_types(struct inv_ids *ids, int dir, struct err *err);
ssize_t inv_read_type(const char *card, int dir, const char *type, const char *attribute, char *buf, size_t size);

/* Is it a type of cards of this model? Adds a copy of one as such. */
bool inv_type_is_of(const struct inv_type *type, const struct inv_pgpu *pgpu);
struct inv_type *inv_add_type(struct inventory *inv, const struct inv_pgpu *pgpu, const struct inv_type *type);

/* Adds one offer. */
void inv_offer_type(struct inv_pgpu *pgpu, const struct inv_type *type, int available);

/* Adds the offers of a pGPU that is ready. */
void inv_ask(struct inv_reader *reader, struct inv_pgpu *pgpu, const struct inv_asked *asked);

/* A VF of the card, not the card itself, without a vGPU. */
bool inv_is_free_vf(const struct inv_parent *parent);

/* Asks each pGPU that has no offers yet, and looks for the reason where there are none. */
void inv_ask_rest(struct inv_reader *reader);

/*
 * inventory_lost.c: asks further VFs of a card of which the first free one offers nothing, up to one that does: those
 * before it are lost. If all types are asked for, all free VFs.
 */
void inv_find_lost(struct inv_reader *reader);

/*
 * inventory_reason.c: says in the card why it is no parent, by its directory. False if its driver is not NVIDIA's, so
 * that it need not be meant to have vGPUs.
 */
bool inv_explain(struct inv_pgpu *card, const struct host *host, int dir);

/* The same of a GPU that could have vGPUs, whatever its driver; false: it could not. */
bool inv_explain_gpu(struct inv_pgpu *card, const struct host *host, int dir);

/* Why a card that is named for its plain VFs has none; or a VF that is not among the card's. */
void inv_explain_plain(struct inv_pgpu *card, int dir);

/* Are the cards of one model: vendor, device and subsystem? */
bool inv_same_model(const struct inv_pgpu *a, const struct inv_pgpu *b);

/* A read of sriov_numvfs waits for whoever is at work on the driver's binding or on its VFs. 0: none, or not known. */
long inv_read_count(const char *address, int card, const char *attribute);

/*
 * inventory_cards.c: if all types are asked for, cards of NVIDIA's driver that are not in the inventory, as pGPUs that
 * are not ready. Before inv_order.
 */
int inv_read_absent(struct inv_reader *reader, struct err *err);
