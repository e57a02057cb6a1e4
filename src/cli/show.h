/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The objects of `vgpu-lease show`: a domain, a vGPU or a pGPU; and their events in the journal. */
#pragma once

#include <time.h>

#include "cli/cmd.h"

enum show_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/* The kind of object that the operand names. A UUID is a domain's, unless a vGPU has or had it. */
enum show_kind show_kind(const struct cmd *cmd);

/* Prints a vGPU, or a pGPU. */
int show_object(struct cmd *cmd, bool is_vgpu, struct err *err);

/*
 * The vGPU's owner in a word; NULL: not known. `nova`: its domain is an instance of Nova, or Nova counts the vGPU as
 * its own. `lease` may be NULL.
 */
const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova);

/* Does the vGPU's device exist? A VF without a type does only if its lease, or else its card, is for plain VFs. */
enum presence show_presence(const struct host *host, const struct inventory *inv, const char *id,
			    const struct lease *lease);

/* Writes the members of whether the device exists, and of who has it open (`open` as from vfio_users_open()). */
void show_json_use(struct json_out *json, enum presence exists, int open, pid_t by);

struct events_query {
	const char *root;   /* the root of another host, or NULL */
	const char *object; /* a domain, vGPU or pGPU; NULL: all */
	int64_t since_us;   /* CLOCK_REALTIME; 0: all */
	int last;           /* only the latest `last` events; 0: all */
	bool count;         /* count the events without printing them */
};

/* Succeeds if any part of the journal can be read. -ENOENT: there is no journal; -EACCES: permission denied. */
int events_check(const char *root, struct err *err);

/*
 * Prints the events, oldest first, as lines (`json` NULL) or into the open array. Returns their number, or a negative
 * errno. If only a part of the journal can be read, prints the events of that part and returns an error.
 */
int events_print(const struct events_query *query, struct json_out *json, struct err *err);

/* Converts a time to microseconds since 1970, at least 1. Dates and days are local. False: not one of these forms. */
#define EVENTS_SINCE_FORMS "YYYY-MM-DD [HH:MM[:SS]], today, yesterday, -1h, '2 days ago' or @SECONDS"
bool events_since(int64_t *us, const char *text, time_t now);
