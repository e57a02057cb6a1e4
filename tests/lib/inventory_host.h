/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory of a test's host, and what its last read said. */
#pragma once

#include "lib/messages.h"
#include "lib/tree.h"
#include "lib/vgpu.h"

static struct inventory inv;
static struct err err;

static inline int read_host(const struct host *host, const struct inv_query *query)
{
	inventory_free(&inv);
	return inventory_read(&inv, host, query, &err);
}

/* How many of this type a pGPU offers; UNKNOWN: it does not know the type. */
static inline int offered(const struct inv_pgpu *pgpu, const char *type)
{
	const struct inv_offer *offer = inventory_offer(pgpu, type);

	return offer ? offer->available : UNKNOWN;
}

/* Why the card of this address makes no vGPUs, or no plain VFs: a part of the reason, as message_in() has it. */
#define EXPLAINED(tree, address, plain, words, sentence)                                                               \
	explained(tree, address, plain, words, __FILE__, __LINE__, sentence)

static inline void explained(const struct tree *tree, const char *address, bool plain, const char *words,
			     const char *file, int line, const char *sentence)
{
	char reason[REASON_SIZE];

	inventory_explain_card(&tree->host, address, plain, reason);
	tap_ok(strstr(reason, message_in(words)) != NULL, file, line, "%s: %s", sentence, reason);
}
