/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line of every program: options by getopt_long(3), the text of --help from the same table.
 *
 * A program declares its options as a table of `struct arg` and has them stored in a struct of its own, which begins
 * with a struct args. Options and operands stand in any order, also with POSIXLY_CORRECT; "--" ends the options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum { ARGS_MAX = 32, ARGS_EXIT_USAGE = 2 };

/* Of every program. */
struct args {
	const char *root, *config;
	bool help, version;
	unsigned int bits; /* of the options that were given */
	char **operands;   /* in the place of argv */
	int noperands;
	int nfree; /* so many of them stand before the "--" */
};

struct arg {
	const char *name;  /* without the dashes; NULL ends the table */
	const char *value; /* what --help calls its value; NULL: it takes none */
	unsigned int bit;  /* for programs whose commands take different options; 0: every command takes it */
	size_t at;         /* in the program's struct: a bool, a const char *, or `list` of them */
	const char *help;
	size_t list; /* it may be given so often, each value has a place of its own; 0: the last one counts */
};

#define ARG_ROOT { "root", "DIR", 0, offsetof(struct args, root), "Prefix all system paths with DIR", 0 }
#define ARG_CONFIG { "config", "FILE", 0, offsetof(struct args, config), "Use FILE instead of /etc/vgpu-lease.conf", 0 }
#define ARG_HELP { "help", NULL, 0, offsetof(struct args, help), "Print this help", 0 }
#define ARG_VERSION { "version", NULL, 0, offsetof(struct args, version), "Print the version", 0 }

/* What --version prints of a program. */
#define ARGS_VERSION(program)                                                                                          \
	program " " PACKAGE_VERSION "\n"                                                                               \
		"Copyright (C) 2026 the vgpu-lease authors\n"                                                          \
		"License LGPL-2.1-or-later. Provided without warranty, to the extent permitted by law.\n"

/*
 * Takes argv apart. `values` is the program's struct, zeroed but for defaults; strings are argv's. -EINVAL: an option
 * is unknown, is without its value or has one that it does not take. -h is --help, -o is --output.
 */
int args_parse(void *values, const struct arg *table, int argc, char **argv, struct err *err);

/* Prints "Options:" and a line for each option without a bit, or with one of `bits`. */
void args_help(FILE *to, const struct arg *table, unsigned int bits);

/* The one line of a usage error on standard error; returns the exit status. */
int args_usage_error(const char *program, const struct err *err);

/* Adds to an error where the help is, as that does. */
void args_add_help(struct err *err, const char *program);
