/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operator's command: finds the sub-command, takes its options apart, prints its error. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "base/log.h"

static const struct command *const commands[] = {
	&cmd_list, &cmd_show,    &cmd_types,  &cmd_inventory, &cmd_plan,   &cmd_rewrite, &cmd_check,
	&cmd_gc,   &cmd_release, &cmd_retype, &cmd_attach,    &cmd_detach, &cmd_suspend, &cmd_resume,
};

/* Everything that stands on the command line. */
struct line {
	const struct command *command;
	struct cmd_call call;
	unsigned int options; /* those of CMD_... that were given */
	bool help, version;
	bool asked; /* for help by the word, which takes one command */
	int noperands;
};

struct option {
	const char *name;
	const char *value; /* its value's name; NULL: it takes none */
	unsigned int bit;  /* 0: every sub-command takes it */
	size_t at;         /* in struct line: a bool, or the value */
	const char *help;
};

#define AT(member) offsetof(struct line, member)

static const struct option options[] = {
	{ "--root", "DIR", 0, AT(call.root), "DIR stands before /sys, /proc, /dev, /run, /etc and /var/lib" },
	{ "--config", "FILE", 0, AT(call.config_path), "the configuration, with drop-ins in FILE.d" },
	{ "--json", NULL, CMD_JSON, AT(call.json), "prints JSON, for programs" },
	{ "--all", NULL, CMD_ALL, AT(call.all), "gives every vGPU a new UUID, not only placeholders" },
	{ "--in-place", NULL, CMD_IN_PLACE, AT(call.in_place), "changes the file itself, as a whole or not at all" },
	{ "--dry-run", NULL, CMD_DRY_RUN, AT(call.dry_run), "says what would be done, and writes nothing" },
	{ "--type", "TYPE", CMD_TYPE, AT(call.type), "only orphans of this type; or the type that is wanted" },
	{ "--persistent", NULL, CMD_PERSISTENT, AT(call.persistent), "changes the domain's definition, too" },
	{ "--qemu", NULL, CMD_QEMU, AT(call.qemu), "asks QEMU, too, which taints the domain" },
	{ "--connect", "URI", CMD_CONNECT, AT(call.connect), "which libvirt [" VIRT_DEFAULT_URI "]" },
	{ "--op", "OP", CMD_OP, AT(call.op), "what libvirt does: prepare (a start), migrate or restore" },
	{ "--help", NULL, 0, AT(help), "prints this" },
	{ "--version", NULL, 0, AT(version), "prints the version" },
};

static const struct option *find_option(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strlen(options[i].name) == len && memcmp(options[i].name, word, len) == 0)
			return &options[i];
	return len == 2 && memcmp(word, "-h", 2) == 0 ? find_option("--help", 6) : NULL;
}

/* Takes one option and, where it has one, its value: the rest of the word, or the next. */
static int take_option(struct line *line, int argc, char **argv, int *i, struct err *err)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	const struct option *option = find_option(word, equals ? (size_t)(equals - word) : strlen(word));
	char *at = (char *)line;

	if (!option)
		return err_set(err, EINVAL, "unknown option %s", word);
	line->options |= option->bit;
	if (!option->value) {
		*(bool *)(at + option->at) = true;
		return equals ? err_set(err, EINVAL, "%s takes no value", option->name) : 0;
	}
	if (!equals && *i + 1 == argc)
		return err_set(err, EINVAL, "%s needs a value: %s", option->name, option->value);
	equals = equals ? equals + 1 : argv[++*i];
	if (!*equals)
		return err_set(err, EINVAL, "%s needs a value: %s", option->name, option->value);
	*(const char **)(at + option->at) = equals;
	return 0;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Options stand anywhere, until "--"; the first other word is the sub-command, the rest are its operands. */
static int parse(struct line *line, int argc, char **argv, struct err *err)
{
	bool options_end = false;

	line->call.operands = argv;
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!options_end && strcmp(word, "--") == 0) {
			options_end = true;
		} else if (!options_end && word[0] == '-' && word[1]) {
			if (take_option(line, argc, argv, &i, err) < 0)
				return -err->code;
		} else if (!line->command && !line->help && strcmp(word, "help") == 0) {
			line->help = line->asked = true;
		} else if (!line->command) {
			line->command = find_command(word);
			if (!line->command)
				return err_set(err, EINVAL, "unknown command %s", word);
		} else {
			line->call.operands[line->noperands++] = word;
		}
	}
	if (line->asked && line->noperands)
		return err_set(err, EINVAL, "unexpected argument '%s'", line->call.operands[0]);
	return 0;
}

static int check_line(const struct line *line, struct err *err)
{
	const struct command *command = line->command;
	int takes = command ? !!command->operand + !!command->second : 0;

	if (!command)
		return err_set(err, EINVAL, "which command?");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].bit & line->options & ~command->options)
			return err_set(err, EINVAL, "%s takes no %s", command->name, options[i].name);
	if (line->noperands < takes)
		return err_set(err, EINVAL, "%s needs its %s", command->name,
			       line->noperands ? command->second : command->operand);
	for (int i = 0; i < line->noperands && i < takes; i++)
		if (!*line->call.operands[i])
			return err_set(err, EINVAL, "%s: its %s is empty", command->name,
				       i ? command->second : command->operand);
	if (line->noperands > takes)
		return err_set(err, EINVAL, "%s: one word too many: %s", command->name,
			       line->call.operands[line->noperands - 1]);
	return 0;
}

static void print_options(unsigned int bits, bool version)
{
	printf("\nOptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const struct option *o = &options[i];
		char left[32];

		if (o->bit ? !(o->bit & bits) : o->at == AT(version) && !version)
			continue;
		snprintf(left, sizeof(left), "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
		printf("  %-16s %s\n", left, o->help);
	}
}

/* "detach DOMAIN ID" */
static void call_form(char *buf, size_t size, const struct command *command)
{
	snprintf(buf, size, "%s%s%s%s%s", command->name, command->operand ? " " : "",
		 command->operand ? command->operand : "", command->second ? " " : "",
		 command->second ? command->second : "");
}

static void print_help(const struct command *command)
{
	char left[32];

	if (command) {
		call_form(left, sizeof(left), command);
		printf("usage: vgpu-lease %s [OPTION]...\n\n%s%s", left, command->summary,
		       *command->help ? "\n\n" : "\n");
		printf("%s", command->help);
		print_options(command->options, false);
		return;
	}
	printf("usage: vgpu-lease COMMAND [OPTION]...\n\nvGPUs for libvirt guests: who has which, what there is, what would happen.\n\n");
	printf("Commands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		call_form(left, sizeof(left), commands[i]);
		printf("  %-16s %s\n", left, commands[i]->summary);
	}
	print_options(0, true);
	printf("\nvgpu-lease help COMMAND says more. Exit status: 0 done, 1 refused or failed, 2 usage error.\n");
}

static int run(const struct line *line, struct err *err)
{
	int r;

	if (line->version) {
		printf("vgpu-lease %s\n", PACKAGE_VERSION);
		return CMD_DONE;
	}
	if (line->help) {
		print_help(line->command);
		return CMD_DONE;
	}
	if (check_line(line, err) < 0 || !line->command)
		return CMD_USAGE;
	r = cmd_run(line->command, &line->call, err);
	if (r != CMD_DONE && line->call.json && err->code != 0)
		cmd_json_error(err);
	return r;
}

static void print_error(struct err *err, bool usage)
{
	size_t n = strlen(err->text);

	if (usage)
		snprintf(err->text + n, sizeof(err->text) - n, "; see 'vgpu-lease --help'");
	err_print(stderr, "vgpu-lease", err);
}

int main(int argc, char **argv)
{
	struct line line = { 0 };
	struct err err = { 0 };
	int r;

	umask(077);
	signal(SIGPIPE, SIG_IGN);
	r = parse(&line, argc, argv, &err) < 0 ? CMD_USAGE : run(&line, &err);
	if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
		r = err_sys(&err, errno, "standard output");
	if (r != CMD_DONE && err.code != 0)
		print_error(&err, r == CMD_USAGE && err.code == EINVAL);
	log_close();
	return r < 0 ? CMD_FAILED : r;
}
