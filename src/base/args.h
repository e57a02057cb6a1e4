/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses the command line of every program, and prints --help, from a table of `struct arg`. args_parse() stores values
 * in the program's struct, which begins with a struct args. Options and operands may be mixed, even under
 * POSIXLY_CORRECT, up to "--".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum { ARGS_MAX = 32, ARGS_EXIT_USAGE = 2 };

struct args {
	const char *root, *config;
	bool help, version;
	unsigned int bits; /* the `bit` of each given option */
	char **operands;   /* an array that overwrites the start of argv */
	int noperands;
	int nfree; /* operands before "--" */
};

struct arg {
	const char *name;  /* without the dashes; NULL ends the table */
	const char *value; /* its name in --help; NULL: the option takes no value */
	unsigned int bit;  /* 0: all commands take the option; a bit: only the commands with this bit */
	size_t at;         /* offset of the value in the program's struct: a bool, const char * or const char *[list] */
	const char *help;
	size_t list; /* maximum number of values; 0: any number, but only the last is stored */
};

#define ARG_ROOT { "root", "DIR", 0, offsetof(struct args, root), "Prefix all system paths with DIR", 0 }
#define ARG_CONFIG { "config", "FILE", 0, offsetof(struct args, config), "Use FILE instead of /etc/vgpu-lease.conf", 0 }
#define ARG_HELP { "help", NULL, 0, offsetof(struct args, help), "Print this help", 0 }
#define ARG_VERSION { "version", NULL, 0, offsetof(struct args, version), "Print the version", 0 }

#define ARGS_VERSION(program)                                                                                          \
	program " " PACKAGE_VERSION "\n"                                                                               \
		"Copyright (C) 2026 the vgpu-lease authors\n"                                                          \
		"License LGPL-2.1-or-later. Provided without warranty, to the extent permitted by law.\n"

/*
 * Parses argv. `values` is the program's struct, zeroed except for defaults; the strings stored in it point into argv.
 * -h means --help, -o means --output. -EINVAL: an option is unknown, needs a value, takes none, or is given too often.
 */
int args_parse(void *values, const struct arg *table, int argc, char **argv, struct err *err);

/* Prints the options that have no bit or one of `bits`. */
void args_help(FILE *to, const struct arg *table, unsigned int bits);

/* Prints the error and "see --help" as one line on standard error. Returns ARGS_EXIT_USAGE. */
int args_usage_error(const char *program, const struct err *err);
