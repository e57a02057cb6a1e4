/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain's XML with other vGPUs in it.
 *
 * rewrite_plan() puts in what a plan gives the domain: the hook at migrate and restore, and every preview of that.
 * rewrite_begin() and rewrite_make() are for a definition: placeholders get UUIDs of their own, VFs that cannot be had
 * here others (PLAN_ASSIGN), in the hostdev and in the metadata alike; the <vgpu:device> of a new UUID
 * gets what this host knows of such a vGPU, for the target of a migration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/domxml.h"
#include "survey/survey.h"

struct rewritten {
	char *xml; /* owned by the caller */
	size_t len;
	bool changed;
};

/*
 * Puts the ids of a plan's steps into the XML; a copy where nothing changes. For a domain that arrives, the facts of
 * the source host are replaced by those of this one if anything changes, and a hostdev changes its type with its
 * framework.
 */
int rewrite_plan(struct rewritten *out, const struct domxml *doc, const struct world *world, const struct plan *plan,
		 struct err *err);

struct rewrite {
	const char *xml; /* must outlive the rewrite */
	size_t len;
	const struct host *host; /* says which UUIDs are placeholders; NULL: their form alone does */
	unsigned int flags;      /* of domxml_parse() */
	bool all;                /* every mdev gets a UUID of its own, not only placeholders */
	bool vfs;                /* VFs that cannot be had here become others */
	/* the result */
	struct domxml *doc;
	struct domxml_change *changes;
	size_t nchanges;
	char *rewritten;
	size_t rewritten_len;
};

/* Finds what changes: after 0, `changes` and `nchanges` are set. */
int rewrite_begin(struct rewrite *rewrite, struct err *err);

/* Does the host have a say: has a new UUID a <vgpu:device>, or, with `vfs`, do the metadata name a VF? */
bool rewrite_asks(const struct rewrite *rewrite);

/*
 * Makes `rewritten`, adding the VFs to the changes. `config` NULL: the host is not asked. A host that cannot be read
 * has no facts, which is no error. -ENOSPC: no VF is free for one that cannot be had here, and why.
 */
int rewrite_make(struct rewrite *rewrite, const struct host *host, const struct config *config, struct err *err);

void rewrite_end(struct rewrite *rewrite);
