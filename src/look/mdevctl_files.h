/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mdevctl's definitions: etc/mdevctl.d/PARENT/UUID. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"

struct definition {
	char uuid[UUID_SIZE];
	char parent[PARENT_SIZE];
	char type[TYPE_SIZE];
	bool starts;        /* "start": "auto" */
	int64_t created_ms; /* when it was last written, CLOCK_MONOTONIC ms */
};

/*
 * Finds the definition of a UUID. If several parents define the UUID, prefers one of a parent that exists, because the
 * address of a card can have changed, and then one that starts at boot.
 * Returns 1: found; 0: none; negative: unreadable or not valid JSON (the error names the file).
 */
int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err);

/* An attribute of a definition: a file below the device's directory in sysfs, and the value to write to it. */
struct mdev_attr {
	char name[64];
	char value[1024];
};

/* A definition's attributes, in file order; the caller frees the list. -EINVAL: not a list of paths and strings. */
int mdevctl_attrs(struct mdev_attr **out, size_t *n, const struct host *host, const struct definition *of,
		  struct err *err);

/* Does the UUID have a definition? Also true if that is not known, so that nothing is removed. */
bool mdevctl_defines(const struct host *host, const char *uuid);

/* Does the UUID have a definition on this parent ("": on any)? Also true if that is not known. */
bool mdevctl_defines_on(const struct host *host, const char *uuid, const char *parent);

/*
 * All definitions, sorted by parent and UUID; the caller frees the list. If any is unreadable or not valid JSON, the
 * first such error is returned, and the list has the valid ones.
 */
int mdevctl_definitions(struct definition **out, size_t *n, const struct host *host, struct err *err);

/*
 * Removes the definition of a UUID on this parent, even an invalid one, like `mdevctl undefine -u UUID -p PARENT`. A
 * missing definition is not an error. Several parents can have a definition of one UUID, and the others keep theirs.
 */
int mdevctl_undefine(const struct host *host, const char *uuid, const char *parent, struct err *err);
