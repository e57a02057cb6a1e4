/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain's XML with other vGPUs.
 *
 * rewrite_plan() inserts a plan's vGPUs, for the hook at migrate and restore, and for their previews.
 * rewrite_definition() changes a definition: placeholders get UUIDs, and VFs that are not available here are replaced
 * (PLAN_ASSIGN), in the hostdev and in the metadata. The <vgpu:device> of a new UUID gets this host's migration facts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/domxml.h"
#include "decide/plan.h"
#include "look/survey.h"

struct rewritten {
	char *xml; /* owned by the caller */
	size_t len;
	bool changed;
};

/*
 * Inserts the IDs of a plan's steps into the XML, or copies the XML if no ID changes. If an ID changes for an arriving
 * domain, this host's facts replace those of the source, and a hostdev changes its type with its framework.
 */
int rewrite_plan(struct rewritten *out, const struct domxml *doc, const struct world *world, const struct plan *plan,
		 struct err *err);

struct rewrite {
	const char *xml; /* must outlive the rewrite */
	size_t len;
	const struct host *host; /* decides which UUIDs are placeholders; NULL: their form decides */
	bool all;                /* gives every mdev a new UUID, not only placeholders */
	/* The result. */
	struct domxml *doc;
	struct domxml_change *changes;
	size_t nchanges;
	bool asks; /* the host must be read: a new UUID has a <vgpu:device>, or the metadata names a VF */
	char *rewritten;
	size_t rewritten_len;
};

/*
 * Finds the changes, and makes `rewritten`. `config` NULL: the host is not read, so facts and VFs stay. If the host
 * cannot be read, omits its facts, and fails only if the metadata names a VF. -ENOSPC: no VF is free to replace a VF.
 */
int rewrite_definition(struct rewrite *rewrite, const struct config *config, struct err *err);

void rewrite_end(struct rewrite *rewrite);
