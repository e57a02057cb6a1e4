/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host's pGPUs as commands show them, those that exist and those that the configuration means and that provide no
 * vGPUs; their vGPUs; and the picture of `vgpu-lease status`, a tree of all.
 */
#pragma once

#include "cli/cmd.h"
#include "ops/check.h"

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

/* A vGPU: one that is leased, or exists without a lease. */
struct status_vgpu {
	const struct vgpu_ref *ref;
	const struct lease *lease;
	int mib;
};

struct status {
	const struct cmd *cmd;
	struct world world;
	struct check check;
	struct card_row *rows;
	size_t nrows;
	struct status_vgpu *vgpus; /* sorted by ID */
	size_t nvgpus, nall;       /* those shown, those of the host */
	char host[256];
};

/* The pGPUs that the filters let pass, and their vGPUs; not `check` and `host`. status_end() also after a failure. */
int status_read(struct status *status, struct cmd *cmd, struct err *err);
void status_end(struct status *status);

/* The members "pgpus", and "vgpus" with those of a row. */
void status_json_pgpus(struct json_out *json, const struct status *status);
void status_json_vgpus(struct json_out *json, const struct status *status, size_t row);

/* The row of a vGPU's pGPU, nrows where that is not listed; and how many vGPUs a row has. */
size_t status_row(const struct status *status, const struct status_vgpu *v);
size_t status_count(const struct status *status, size_t row);

/* Is the pGPU configured for this type, ready or not? */
bool cards_serve(const struct card_row *row, const char *type);

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

/* Prints the picture on term->to, fit for this terminal. */
void status_print(const struct status *status, const struct term *term);
