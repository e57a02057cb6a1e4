/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line: what is taken, in which order, and what is a usage error. */
#include "base/args.h"
#include "lib/tap.h"

enum { TYPE = 1, DRY = 2 };

struct options {
	struct args args;
	const char *type, *sets[2];
	bool dry;
};

static const struct arg table[] = {
	ARG_ROOT,
	ARG_CONFIG,
	{ "type", "TYPE", TYPE, offsetof(struct options, type), "Only this type", 0 },
	{ "dry-run", NULL, DRY, offsetof(struct options, dry), "Change nothing", 0 },
	{ "set", "LINE", 0, offsetof(struct options, sets), "Begin with LINE", 2 },
	ARG_HELP,
	ARG_VERSION,
	{ 0 },
};

static struct options got;
static struct err err;

/* The words of `line`, separated by blanks; "''" is an empty one. */
static int parse(const char *line)
{
	static char copy[256], *argv[16];
	int argc = 0;

	got = (struct options){ 0 };
	err = (struct err){ 0 };
	snprintf(copy, sizeof(copy), "program %s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	argv[argc] = NULL;
	return args_parse(&got, table, argc, argv, &err);
}

static void refused(const char *line, const char *text)
{
	int r = parse(line);

	ok(r == -EINVAL && strcmp(err.text, text) == 0, "'%s' is refused: %s", line, err.text);
}

static void order(const char *when)
{
	ok(parse("gc --root /r --dry-run x") == 0 && got.args.noperands == 2, "options among operands %s", when);
	is(got.args.operands[0], "gc", "the first operand");
	is(got.args.operands[1], "x", "and the second");
	is(got.args.root, "/r", "the value is the next word");
	ok(got.dry && !got.args.help && got.args.bits == DRY, "and what was given is known");
}

static void help(void)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	args_help(memory, table, DRY);
	fclose(memory);
	is(text,
	   "Options:\n"
	   "  --root DIR     Prefix all system paths with DIR\n"
	   "  --config FILE  Use FILE instead of /etc/vgpu-lease.conf\n"
	   "  --dry-run      Change nothing\n"
	   "  --set LINE     Begin with LINE\n"
	   "  --help         Print this help\n"
	   "  --version      Print the version\n",
	   "--help has the options of a command and those of all, in columns");
	free(text);
}

int main(void)
{
	order("");
	setenv("POSIXLY_CORRECT", "1", 1);
	order("also for POSIXLY_CORRECT");
	unsetenv("POSIXLY_CORRECT");

	ok(parse("--type=a=b --type c") == 0, "a value may stand behind =");
	is(got.type, "c", "the last one counts");
	ok(parse("--set a --set=b") == 0 && strcmp(got.sets[0], "a") == 0 && strcmp(got.sets[1], "b") == 0,
	   "but for a list");
	refused("--set a --set b --set c", "--set: given more than 2 times");
	ok(parse("a -- --dry-run -- b") == 0 && !got.dry && got.args.noperands == 4 && got.args.nfree == 1,
	   "behind -- all words are operands");
	is(got.args.operands[1], "--dry-run", "whatever they look like");
	ok(parse("-") == 0 && got.args.noperands == 1, "- is an operand");
	ok(parse("--root --") == 0 && strcmp(got.args.root, "--") == 0, "a value may look like an option");
	ok(parse("-h") == 0 && got.args.help, "-h is --help");
	ok(parse("") == 0 && got.args.noperands == 0, "nothing is no error");

	refused("--bogus", "unknown option '--bogus'");
	refused("x --bogus=1 y", "unknown option '--bogus=1'");
	refused("-o x", "unknown option '-o'");
	refused("-o", "unknown option '-o'");
	refused("-x", "unknown option '-x'");
	refused("-hx", "unknown option '-x'");
	refused("--type", "--type requires a value: TYPE");
	refused("--type ''", "--type requires a value: TYPE");
	refused("--type=", "--type requires a value: TYPE");
	refused("--dry-run=yes", "--dry-run takes no value");

	help();
	return tap_done();
}
