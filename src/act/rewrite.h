/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's XML with other vGPUs: those of a plan, or a definition's placeholders and unavailable VFs replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/domxml.h"
#include "decide/plan.h"

struct rewritten {
	char *xml; /* owned by the caller */
	size_t len;
	bool changed;
};

/*
 * Inserts the IDs of a plan's steps into the XML. If an ID of an arriving domain changes, all its vGPUs get the
 * migration facts of this host, and a vGPU of another framework gets another hostdev type.
 */
int rewrite_plan(struct rewritten *out, const struct domxml *doc, const struct world *world, const struct plan *plan,
		 struct err *err);

struct rewrite {
	const char *xml; /* must outlive the rewrite */
	size_t len;
	const struct host *host; /* NULL: every UUID of a placeholder's form is a placeholder */
	bool all;                /* give every mdev a new UUID, not only placeholders */
	/* The results. */
	struct domxml *doc;
	struct domxml_change *changes;
	size_t nchanges;
	bool asks;         /* the host must be read: a new UUID has a <vgpu:device>, or the metadata names a VF */
	struct err unread; /* why the host could not be read; .code 0: it was, or need not be */
	char *rewritten;
	size_t rewritten_len;
};

/*
 * Without a valid `config` (NULL: none), the definition keeps its VFs and migration facts. If the host cannot be read,
 * the migration facts stay, and a VF in the metadata is an error. -ENOSPC: the VFs cannot be planned.
 */
int rewrite_definition(struct rewrite *rewrite, const struct config *config, struct err *err);

void rewrite_end(struct rewrite *rewrite);
