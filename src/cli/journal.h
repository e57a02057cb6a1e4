/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal's export format, as journalctl prints it: what is read are the fields of our events (model/event.h).
 *
 * A field is "NAME=VALUE\n" or "NAME\n", the value's length in 64 bits, the value, "\n"; an empty line ends an entry.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum { JOURNAL_IDS_MAX = 16 };

/* An entry; strings are "" where it does not have the field, and its own: journal_entry_free(). */
struct journal_entry {
	int64_t time_us; /* CLOCK_REALTIME */
	char *event, *reason, *type, *pgpu, *uuid, *name, *message;
	char *ids[JOURNAL_IDS_MAX];
	size_t nids;
};

/* The next entry: 1; 0: that was all; -EBADMSG: not this format. */
int journal_read(FILE *from, struct journal_entry *entry, struct err *err);
void journal_entry_free(struct journal_entry *entry);
