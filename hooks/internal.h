/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hook's command line: libvirt's four arguments, or options and these four behind them. */
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
 * Exactly four arguments are libvirt's call, whatever they spell: a domain may be called --dry-run. Otherwise options
 * come first, and "--" before the four.
 */
int call_parse(struct call *call, int argc, char **argv, struct err *err);

/* The exit status. */
int call_print_help(const struct call *call);
