/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host's pGPUs as commands show them: those that exist, and those that the configuration means and that provide no
 * vGPUs.
 */
#pragma once

#include "cli/cmd.h"

struct card_row {
	struct inv_pgpu card;
	int pgpu; /* its index; UNKNOWN: it provides no vGPUs */
	bool in_pool;
	const char *type;            /* the configured type, the first of several; "" */
	struct capacity_count count; /* of that type; UNKNOWN without one */
	char reason[REASON_SIZE];    /* it is not in the pool, or has none available */
};

/*
 * The pGPUs that the filters let pass; an absent one as often as the configuration names it, else once. A --pgpu
 * that is none of them is an error. The caller frees the list, also after an error.
 */
int cards_find(const struct cmd *cmd, const struct survey *survey, struct card_row **rows, size_t *n, struct err *err);

/* There is no such pGPU: why, and which one is named alike. Negative. */
int cards_refuse(const struct survey *survey, const char *name, struct err *err);

/* Members of the object that is open. `model`: its name, NULL unknown. */
void cards_json(struct json_out *json, const struct survey *survey, const struct card_row *row, const char *model);
