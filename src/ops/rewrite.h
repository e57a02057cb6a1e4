/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A definition in which placeholders have become UUIDs of their own, and VFs that are not to be had here others, in the
 * hostdev and in the metadata alike, with what this host knows of such a vGPU in its <vgpu:device>, for the target of a
 * migration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "base/host.h"
#include "state/store.h"

struct rewrite {
	const char *xml; /* must outlive the rewrite */
	size_t len;
	unsigned int flags; /* of domxml_parse() */
	bool all;           /* every mdev gets a UUID of its own, not only placeholders */
	/* the result */
	struct domxml *doc;
	struct domxml_change *changes;
	size_t nchanges;
	char *rewritten;
	size_t rewritten_len;
};

/* What of this host the facts come from. */
struct rewrite_host {
	const struct host *host;
	struct store *store;
	const struct config *config;
};

/* Finds what changes: after 0, `changes` and `nchanges` are set. */
int rewrite_begin(struct rewrite *rewrite, struct err *err);

/* Do the changes need facts of the host: has one a <vgpu:device>? */
bool rewrite_asks(const struct rewrite *rewrite);

/* Puts the host's facts into the changes. A host that cannot be read knows nothing: that is no error. */
void rewrite_facts(struct rewrite *rewrite, const struct rewrite_host *host);

/* Does the domain's metadata name VFs? Their addresses are this host's: another one may not have them. */
bool rewrite_names_vfs(const struct rewrite *rewrite);

/*
 * Adds to the changes, after the facts: a VF that the metadata names and that cannot be had here becomes a free one of
 * the pool. -ENOSPC: there is none, and why.
 */
int rewrite_vfs(struct rewrite *rewrite, const struct rewrite_host *host, struct err *err);

/* Makes `rewritten`. */
int rewrite_make(struct rewrite *rewrite, struct err *err);

void rewrite_end(struct rewrite *rewrite);
