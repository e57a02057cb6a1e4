/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mdevctl's definitions: etc/mdevctl.d/PARENT/UUID. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"

/* A definition of mdevctl: etc/mdevctl.d/PARENT/UUID. */
struct definition {
	char uuid[UUID_SIZE];
	char parent[PARENT_SIZE];
	char type[TYPE_SIZE];
	bool starts;        /* "start": "auto" */
	int64_t created_ms; /* when it was last written, CLOCK_MONOTONIC */
};

/*
 * The definition of a UUID. 1 found, 0 none, negative: it cannot be read or is no valid JSON (says which file). Where
 * two parents define it, one that starts by itself goes first.
 */
int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err);

/* An attribute of a definition: a file below the device's directory in sysfs, and what to write to it. */
struct mdev_attr {
	char name[64];
	char value[1024];
};

/*
 * The attributes of a definition, in its order; the caller frees the list. -EINVAL: one is no pair of a file below the
 * device's directory and a text.
 */
int mdevctl_attrs(struct mdev_attr **out, size_t *n, const struct host *host, const struct definition *of,
		  struct err *err);

/* Is there a definition of a UUID? Also where that cannot be told: then nothing of it is removed. */
bool mdevctl_defines(const struct host *host, const char *uuid);

/*
 * All definitions there are, sorted by parent and UUID; the caller frees the list. One that cannot be read or is no
 * valid JSON is an error, as it is where its UUID is asked for: the first is told, and the list has all others.
 */
int mdevctl_definitions(struct definition **out, size_t *n, const struct host *host, struct err *err);

/*
 * Removes the definitions of a UUID, as `mdevctl undefine -u` would, whatever is in them: of this parent `only`, NULL
 * of all. None is no error.
 */
int mdevctl_undefine(const struct host *host, const char *uuid, const char *only, struct err *err);
