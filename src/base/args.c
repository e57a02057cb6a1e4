/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the command line of every program, and prints its options. */
#include "base/args.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* getopt_long() returns FIRST + i for option i of the table, and a character for a short option. */
enum { FIRST = 256 };

static int store_value(void *values, const struct arg *arg, const char *value, struct err *err)
{
	void *at = (char *)values + arg->at;
	const char **list = at;
	size_t n = 0;

	((struct args *)values)->bits |= arg->bit;
	if (!arg->value) {
		*(bool *)at = true;
		return 0;
	}
	if (!*value)
		return err_set(err, EINVAL, "--%s requires a value: %s", arg->name, arg->value);
	while (n < arg->list && list[n])
		n++;
	if (arg->list && n == arg->list)
		return err_set(err, EINVAL, "--%s: given more than %zu times", arg->name, arg->list);
	list[n] = value;
	return 0;
}

/* Returns NULL for an unknown option. -o means --output if the table has --output. */
static const struct arg *find_arg(const struct arg *table, int found)
{
	if (found >= FIRST)
		return &table[found - FIRST];
	while (table->name && (found != 'o' || strcmp(table->name, "output") != 0))
		table++;
	return table->name ? table : NULL;
}

/* `word` is the argument that getopt_long() read last. */
static int refuse(const struct arg *table, int found, const char *word, struct err *err)
{
	const struct arg *arg = found == ':' ? find_arg(table, optopt) : NULL;
	struct text_guess guess = { .word = word };

	if (arg)
		return err_set(err, EINVAL, "--%s requires a value: %s", arg->name, arg->value);
	if (optopt >= FIRST)
		return err_set(err, EINVAL, "--%s takes no value", table[optopt - FIRST].name);
	if (optopt || found == 'o')
		return err_set(err, EINVAL, "unknown option '-%c'", optopt ? optopt : found);
	if (strncmp(word, "--", 2) == 0)
		guess.word += 2;
	for (arg = table; arg->name; arg++)
		text_guess(&guess, arg->name);
	if (guess.best)
		return err_set(err, EINVAL, "unknown option '%s'; similar: --%s", word, guess.best);
	return err_set(err, EINVAL, "unknown option '%s'", word);
}

int args_parse(void *values, const struct arg *table, int argc, char **argv, struct err *err)
{
	struct option known[ARGS_MAX + 1] = { 0 };
	struct args *args = values;
	const struct arg *arg;
	int found;

	for (int i = 0; table[i].name; i++) {
		if (i == ARGS_MAX)
			abort();
		known[i].name = table[i].name;
		known[i].has_arg = table[i].value ? required_argument : no_argument;
		known[i].val = FIRST + i;
	}
	args->operands = argv;
	optind = opterr = 0;
	while ((found = getopt_long(argc, argv, "-:ho:", known, NULL)) != -1) {
		if (found == 1)
			args->operands[args->noperands++] = optarg;
		else if (found == 'h')
			args->help = true;
		else if ((arg = find_arg(table, found)) == NULL)
			return refuse(table, found, argv[optind - 1], err);
		else if (store_value(values, arg, optarg, err) < 0)
			return -err->code;
	}
	args->nfree = args->noperands;
	while (optind < argc)
		args->operands[args->noperands++] = argv[optind++];
	return 0;
}

static void left_of(char *buf, size_t size, const struct arg *arg)
{
	snprintf(buf, size, "--%s%s%s", arg->name, arg->value ? " " : "", arg->value ? arg->value : "");
}

void args_help(FILE *to, const struct arg *table, unsigned int bits)
{
	char left[40];
	int width = 0;

	for (const struct arg *arg = table; arg->name; arg++) {
		left_of(left, sizeof(left), arg);
		if ((!arg->bit || arg->bit & bits) && (int)strlen(left) > width)
			width = (int)strlen(left);
	}
	fputs("Options:\n", to);
	for (const struct arg *arg = table; arg->name; arg++) {
		left_of(left, sizeof(left), arg);
		if (!arg->bit || arg->bit & bits)
			fprintf(to, "  %-*s  %s\n", width, left, arg->help);
	}
}

int args_usage_error(const char *program, const struct err *err)
{
	struct err shown = *err;

	text_add(shown.text, sizeof(shown.text), "; see '%s --help'", program);
	err_print(stderr, program, &shown);
	return ARGS_EXIT_USAGE;
}
