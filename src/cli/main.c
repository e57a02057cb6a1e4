/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program vgpu-lease. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "cli/cmd.h"

static const struct {
	const char *title;
	const struct command *commands[7];
} groups[] = {
	{ "Every day", { &cmd_status, &cmd_list, &cmd_show, &cmd_check, &cmd_plan, &cmd_gc } },
	{ "Setting up a host", { &cmd_inventory, &cmd_types, &cmd_init } },
	{ "If 'check' or an error message advises it", { &cmd_release, &cmd_retype, &cmd_rewrite } },
	{ "For a running domain, in place of virsh", { &cmd_attach, &cmd_detach, &cmd_suspend, &cmd_resume } },
	{ "History, monitoring and OpenStack", { &cmd_log, &cmd_metrics, &cmd_export } },
};

#define OPTION(bit, member, name, value, help) { name, value, CMD_##bit, offsetof(struct cmd_call, member), help, 0 },

static const struct arg options[] = {
	CMD_OPTIONS(OPTION) ARG_ROOT, ARG_CONFIG, ARG_HELP, ARG_VERSION, { 0 },
};

static const struct command *find_command(const char *name, struct err *err)
{
	struct text_guess guess = { .word = name };

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		for (const struct command *const *c = groups[i].commands; *c; c++) {
			if (strcmp((*c)->name, name) == 0)
				return *c;
			text_guess(&guess, (*c)->name);
		}
	err_set(err, EINVAL, "unknown command '%s'%s%s", name, guess.best ? "; similar: " : "",
		guess.best ? guess.best : "");
	return NULL;
}

/* "help COMMAND" means "COMMAND --help". */
static int parse(struct cmd_call *call, const struct command **command, int argc, char **argv, struct err *err)
{
	struct args *args = &call->args;
	struct err ignored;
	bool help;

	if (args_parse(call, options, argc, argv, err) < 0) {
		/* Find the command, because the error will name it: "see 'vgpu-lease COMMAND --help'". */
		*command = args->noperands ? find_command(args->operands[0], &ignored) : NULL;
		return -err->code;
	}
	help = args->noperands && strcmp(args->operands[0], "help") == 0;
	args->help |= help;
	args->operands += help;
	args->noperands -= help;
	if (!args->noperands)
		return 0;
	if (help && strcmp(args->operands[0], "help") == 0 && args->noperands == 1)
		return 0;
	*command = find_command(args->operands[0], err);
	if (!*command)
		return -err->code;
	args->operands++;
	args->noperands--;
	return help && args->noperands ? err_set(err, EINVAL, "unexpected argument '%s'", args->operands[0]) : 0;
}

/* Could the text be a type or its name: one or more words, each spelt like a type's ID? */
static bool can_be_type(const char *text)
{
	char words[TYPE_NAME_SIZE], *rest = words, *word, type[TYPE_SIZE];
	bool can = text_copy(words, sizeof(words), text) && *words;

	while (can && (word = strsep(&rest, " ")))
		can = type_parse(type, word);
	return can;
}

/* Checks the value of an option or operand, and parses the value into `call`. */
static int check_word(struct cmd_call *call, const char *kind, const char *word, struct err *err)
{
	char id[ID_SIZE], near[ID_SIZE], pgpu[PARENT_SIZE];
	bool guessed = !id_parse(id, word) && id_guess(near, word);

	if (strcmp(kind, "ID") == 0 && (guessed || !id_parse(id, word)))
		return err_set(err, EINVAL,
			       "invalid ID '%s': expected a UUID or a PCI address from 'vgpu-lease list'%s%s", word,
			       guessed ? "; similar: " : "", guessed ? near : "");
	if (strcmp(kind, "PGPU") == 0 && (guessed || !parent_parse(pgpu, word)))
		return err_set(err, EINVAL, "invalid pGPU '%s': expected an address from 'vgpu-lease inventory'%s%s",
			       word, guessed ? "; similar: " : "", guessed ? near : "");
	if (strcmp(kind, "PGPU") == 0)
		call->pgpu = word;
	if (strcmp(kind, "TYPE") == 0 && !can_be_type(word))
		return err_set(err, EINVAL, "invalid type '%s': expected an id or a name from 'vgpu-lease types'",
			       word);
	if (strcmp(kind, "TYPE") == 0)
		call->type = word;
	if (strcmp(kind, "SECONDS") == 0 && !text_number(word, 0, CONFIG_GRACE_MAX_S, &call->grace_s))
		return err_set(err, EINVAL, "invalid value '%s' of --grace: expected seconds, 0 to %d", word,
			       CONFIG_GRACE_MAX_S);
	if (strcmp(kind, "TIME") == 0 && !events_since(&call->since_us, word, time(NULL)))
		return err_set(err, EINVAL, "invalid time '%s': expected " EVENTS_SINCE_FORMS, word);
	if (strcmp(kind, "STATE") != 0)
		return 0;
	for (enum lease_state state = LEASE_RESERVED; state <= LEASE_RELEASING; state++)
		if (strcmp(word, lease_state_words[state]) == 0)
			return 0;
	return err_set(err, EINVAL, "invalid state '%s': expected reserved, creating, active or releasing", word);
}

static int check_call(struct cmd_call *call, const struct command *command, struct err *err)
{
	const char *const *kinds = command->operands, *value;
	int takes = 0;

	for (const struct arg *option = options; option->name; option++)
		if (option->bit & call->args.bits & ~command->options)
			return err_set(err, EINVAL, "%s does not take --%s", command->name, option->name);
	for (; takes < (int)ARRAY_SIZE(command->operands) && kinds[takes]; takes++) {
		if (takes == call->args.noperands && *kinds[takes] == '[')
			break;
		if (takes == call->args.noperands)
			return err_set(err, EINVAL, "%s requires %s", command->name, kinds[takes]);
		if (!*call->args.operands[takes])
			return err_set(err, EINVAL, "%s: %s is empty", command->name, kinds[takes]);
		if (check_word(call, kinds[takes], call->args.operands[takes], err) < 0)
			return -err->code;
	}
	if (call->args.noperands > takes)
		return err_set(err, EINVAL, "%s: unexpected argument '%s'", command->name, call->args.operands[takes]);
	if (command->table && call->json && call->args.bits & CMD_TABLE & ~CMD_JSON)
		return err_set(err, EINVAL, "--json does not take --output, --sort or --no-headings");
	if (command->table && table_check(command->table, &call->table, err) < 0)
		return -err->code;
	for (const struct arg *option = options; option->name; option++) {
		if (!option->value)
			continue;
		memcpy(&value, (const char *)call + option->at, sizeof(value));
		if (value && check_word(call, option->value, value, err) < 0)
			return -err->code;
	}
	return command->check ? command->check(call, err) : 0;
}

static const char *call_form(char buf[40], const struct command *command)
{
	text_copy(buf, 40, command->name);
	for (size_t i = 0; i < ARRAY_SIZE(command->operands) && command->operands[i]; i++)
		text_add(buf, 40, " %s", command->operands[i]);
	return buf;
}

static void print_help(const struct command *command)
{
	char form[40];

	if (command) {
		printf("usage: vgpu-lease %s [OPTION]...\n\n%s\n", call_form(form, command), command->summary);
		printf("\n%s\n", command->help);
		args_help(stdout, options, command->options);
		printf("\nvgpu-lease(8) has the details.\n");
		return;
	}
	printf("usage: vgpu-lease [COMMAND] [OPTION]...\n\nShow and manage the vGPUs of libvirt guests.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		printf("%s:\n", groups[i].title);
		for (const struct command *const *c = groups[i].commands; *c; c++)
			printf("  %-19s  %s\n", call_form(form, *c), (*c)->summary);
		printf("\n");
	}
	args_help(stdout, options, 0);
	printf("\n'vgpu-lease help COMMAND' shows the help of a command.\n"
	       "Exit status: 0 success, 1 refused or failed, 2 usage error.\n");
}

static int run(struct cmd_call *call, const struct command *command, struct err *err)
{
	struct cmd cmd = CMD_NONE(call);
	int r;

	if (call->args.version) {
		fputs(ARGS_VERSION("vgpu-lease"), stdout);
		return CMD_DONE;
	}
	if (call->args.help) {
		print_help(command);
		return CMD_DONE;
	}
	if (!command)
		command = &cmd_status;
	text_set_options(call->args.root, call->args.config);
	cmd.command = command;
	r = check_call(call, command, err) < 0 ? CMD_USAGE : cmd_open(&cmd, command->needs, err);
	if (r == 0)
		r = command->run(&cmd, err);
	if (r < 0)
		err_advise_root(err);
	if (r != CMD_DONE && call->json && err->code != 0)
		cmd_json_error(&cmd, err);
	cmd_close(&cmd);
	return r;
}

int main(int argc, char **argv)
{
	const struct command *command = NULL;
	struct cmd_call call = { 0 };
	struct err err = { 0 };
	int r;

	sys_begin();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	r = parse(&call, &command, argc, argv, &err) < 0 ? CMD_USAGE : run(&call, command, &err);
	if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE && r >= 0)
		r = err_sys(&err, errno, "standard output");
	log_close();
	if (r == CMD_USAGE && err.code == EINVAL)
		text_add(err.text, sizeof(err.text), "; see 'vgpu-lease%s%s --help'", command ? " " : "",
			 command ? command->name : "");
	if (r != CMD_DONE && err.code != 0)
		out_error("vgpu-lease", &err);
	return r < 0 ? CMD_FAILED : r;
}
