/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host's pGPUs as commands show them: those that exist, and those that the configuration means and that provide no
 * vGPUs.
 */
#pragma once

#include "cli/cmd.h"

enum { CARD_MODEL_SIZE = 256 };

struct card_row {
	struct inv_pgpu card;
	const struct inv_pgpu *pgpu; /* of the inventory; NULL: it provides no vGPUs */
	bool in_pool;
	const char *type;            /* the configured type, the first of several; "" */
	struct capacity_count count; /* of that type; UNKNOWN without one */
	char reason[REASON_SIZE];    /* it is not in the pool, or has none available */
	char model[CARD_MODEL_SIZE]; /* its name in this machine's hardware database; "" */
};

/*
 * The pGPUs, or those that --pgpu matches, at least one; an absent one once for each time the configuration names it. A
 * --pgpu that matches none is an error. The caller frees the list, also after an error.
 */
int cards_find(const struct cmd *cmd, const struct world *world, struct card_row **rows, size_t *n, struct err *err);

/* Is the pGPU configured for this type, ready or not? */
bool cards_serve(const struct world *world, const struct card_row *row, const char *type);

/*
 * A --pgpu that neither the host nor a lease has is mostly a typo, and an error; else the command line has it as leases
 * and devices do.
 */
int cards_check_pgpu(struct cmd *cmd, const struct leases *leases, struct err *err);

/*
 * A pGPU by its address, or as Nova names a virtual one. NULL: `err` says why there is none, and which has the most
 * similar name.
 */
const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err);

/* The fields of a pGPU; and its types, a row each. */
void cards_fields(struct rows *rows, const struct world *world, const struct card_row *row);
void cards_offers(struct rows *rows, const struct world *world, const struct card_row *row);
