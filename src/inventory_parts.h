/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pieces that inventory_read() is made of. Only the inventory's own files and their tests include this.
 *
 * Order of the calls: inv_open, inv_read_parents, inv_group, then for a whole inventory inv_read_devices, inv_order and
 * inv_read_offers. Until inv_order the parents are sorted by name alone.
 *
 * Depends on: inventory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "inventory.h"

/* Room for a path below sys/class/mdev_bus. */
enum { INV_PATH_SIZE = PARENT_SIZE + TYPE_SIZE + 64 };

struct inv_reader {
	struct inventory *inv;
	const struct host *host;
	int bus;                  /* sys/class/mdev_bus; -1 where there is none: no mdev framework */
	const char *const *types; /* the ids that matter, NULL: all */
};

/* The ids of the types that a parent has, sorted so that numbers in them count as numbers. */
struct inv_ids {
	char (*id)[TYPE_SIZE];
	size_t n;
};

/* Makes room for item number `n` behind *array; 0 or -ENOMEM. */
int inv_room(void *array, size_t n, size_t size, struct err *err);

/* Opens sys/class/mdev_bus. The caller closes reader.bus. */
int inv_open(struct inv_reader *reader, struct err *err);

/* inventory_parents.c */
int inv_by_name(const void *a, const void *b); /* orders parents; a bare name is a fitting key, too */
int inv_read_parents(struct inv_reader *reader, struct err *err);
int inv_group(struct inv_reader *reader, struct err *err);
int inv_read_devices(struct inv_reader *reader, struct err *err);
int inv_order(struct inv_reader *reader, struct err *err);

/*
 * The facts of a card that its own folder has: vendor, device, NUMA node. `dir` -1: it has none that could be opened.
 */
void inv_read_card(struct inv_pgpu *pgpu, int dir);

/* inventory_types.c */
void inv_parse_description(struct inv_type *type, char *text);
int inv_list_types(struct inv_ids *ids, const struct inv_reader *reader, const char *parent, struct err *err);
int inv_read_offers(struct inv_reader *reader, struct err *err);

/*
 * inventory_cards.c: cards of NVIDIA's driver that are not in the inventory, as pGPUs that are not ready. Before
 * inv_order.
 */
int inv_read_absent(struct inv_reader *reader, struct err *err);

/* Not ready, for this reason (printf); the first reason stays. */
void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
