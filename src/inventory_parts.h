/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pieces that inventory_read() is made of. Only the inventory's own files and their tests include this.
 *
 * Order of the calls: inv_open, inv_read_parents, inv_read_devices, inv_group, inv_order, inv_ask_rest, inv_close.
 * Until inv_order the parents are sorted by name alone, and the pGPUs not at all. What is read of a card is read in one
 * visit, relative to its folder: each walk through sys/class/mdev_bus costs more than the attribute behind it.
 *
 * Depends on: inventory.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "inventory.h"

struct inv_reader {
	struct inventory *inv;
	const struct host *host;
	DIR *list;                /* sys/class/mdev_bus; NULL where there is none: no mdev framework */
	int bus;                  /* its descriptor */
	const char *const *types; /* the ids that matter, NULL: all */
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

/* Makes room for item number `n` behind *array; 0 or -ENOMEM. */
int inv_room(void *array, size_t n, size_t size, struct err *err);

/* Not ready, for this reason (printf); the first reason stays. */
void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int inv_open(struct inv_reader *reader, struct err *err);
void inv_close(struct inv_reader *reader);

/* inventory_parents.c */
int inv_by_name(const void *a, const void *b); /* orders parents; a bare name is a fitting key, too */
int inv_read_parents(struct inv_reader *reader, struct err *err);
int inv_read_devices(struct inv_reader *reader, struct err *err);
int inv_order(struct inv_reader *reader, struct err *err);

/* inventory_group.c: makes the pGPUs, and asks each for its offers where its first VF is free, or it has none. */
int inv_group(struct inv_reader *reader, struct err *err);

/*
 * The facts of a card that its own folder has: vendor, device, NUMA node. `dir` -1: it has none that could be opened.
 */
void inv_read_card(struct inv_pgpu *pgpu, int dir);

/* inventory_types.c */
int inv_by_number(const void *a, const void *b); /* orders ids */
void inv_parse_description(struct inv_type *type, char *text);
int inv_list_types(struct inv_ids *ids, int dir, struct err *err);
ssize_t inv_read_type(int dir, const char *type, const char *attribute, char *buf, size_t size);

/* Adds the offers of a pGPU that is ready. */
int inv_ask(struct inv_reader *reader, struct inv_pgpu *pgpu, const struct inv_asked *asked, struct err *err);

/* Asks each pGPU that has no offers yet, and looks for the reason where there are none. */
int inv_ask_rest(struct inv_reader *reader, struct err *err);

/*
 * inventory_cards.c: cards of NVIDIA's driver that are not in the inventory, as pGPUs that are not ready. Before
 * inv_order.
 */
int inv_read_absent(struct inv_reader *reader, struct err *err);
