/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What `vgpu-lease status` shows, gathered, and its picture: a tree of the host, its pGPUs and their vGPUs.
 */
#pragma once

#include "cli/cards.h"
#include "ops/check.h"

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

/* A pGPU as the next item of an array; the member "vgpus" with those of a row. */
void status_json_pgpu(struct json_out *json, const struct status *status, size_t row);
void status_json_vgpus(struct json_out *json, const struct status *status, size_t row);

/* The row of a vGPU's pGPU, nrows where that is not listed; and how many vGPUs a row has. */
size_t status_row(const struct status *status, const struct status_vgpu *v);
size_t status_count(const struct status *status, size_t row);

/* Prints the picture on term->to, fit for this terminal. */
void status_print(const struct status *status, const struct term *term);
