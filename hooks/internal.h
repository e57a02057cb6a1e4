/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hook's command line: libvirt's four arguments, alone or after options. */
#pragma once

#include <stdbool.h>

#include "base/args.h"
#include "base/err.h"

struct call {
	struct args args;
	bool dry_run;
	const char *guest, *op, *subop, *extra; /* NULL: --help or --version */
};

/*
 * Exactly four arguments are always libvirt's call, because a domain may be named --dry-run. Any other call has options
 * first, then "--", then the four arguments.
 */
int call_parse(struct call *call, int argc, char **argv, struct err *err);

/* Returns the exit status. */
int call_print_help(const struct call *call);
