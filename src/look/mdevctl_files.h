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
	bool starts;        /* has "start": "auto", so mdevctl starts it at boot */
	int64_t created_ms; /* when the file was last written, CLOCK_MONOTONIC ms */
};

/*
 * Finds the definition of a UUID. Of several, prefers one whose parent exists, because a card's address can have
 * changed. Of several such definitions, prefers one that starts at boot. Returns:
 *   1: found
 *   0: no definition
 *   negative: one of its definitions is unreadable or invalid; the error names the file
 */
int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err);

/* An attribute of a definition: a file below the device's directory in sysfs, and the value to write. */
struct mdev_attr {
	char name[64];
	char value[1024];
};

struct mdev_attrs {
	struct mdev_attr *list;
	size_t n;
};

/*
 * Adds a definition's attributes to `attrs`, in file order. The caller frees the list, even after an error. -EINVAL:
 * one is not a path and a string.
 */
int mdevctl_attrs(struct mdev_attrs *attrs, const struct host *host, const struct definition *of, struct err *err);

/* Does the UUID have a definition on this parent ("": any)? True also if not known, so that nothing is removed. */
bool mdevctl_defines(const struct host *host, const char *uuid, const char *parent);

/*
 * Lists the definitions of this UUID (NULL: all), sorted by parent and UUID; the caller frees the list. Leaves out
 * definitions that are invalid or cannot be read, and returns such an error together with the list.
 */
int mdevctl_definitions(struct definition **list, size_t *n, const struct host *host, const char *uuid,
			struct err *err);

/* Lists the parents that have a definition; the caller frees the list. */
size_t mdevctl_parents(char (**parents)[PARENT_SIZE], const struct host *host);

/*
 * Removes the UUID's definition on this parent, as `mdevctl undefine -u UUID -p PARENT` does. Also removes an invalid
 * definition. A missing definition is not an error.
 */
int mdevctl_undefine(const struct host *host, const char *uuid, const char *parent, struct err *err);
