/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sub-commands of vgpu-lease share.
 *
 * A sub-command is a struct command in cmd_NAME.c or in a related command's file. main() finds it, checks the command
 * line, opens what the command needs, and prints its error. Only src/cli prints results.
 */
#pragma once

#include <stdbool.h>

#include "base/args.h"
#include "base/err.h"
#include "sys/sys.h"
#include "cli/out.h"
#include "config/config.h"
#include "libvirt/hotplug.h"
#include "state/store.h"
#include "look/survey.h"

/* The parsed command line; the operands follow the sub-command's name. */
struct cmd_call {
	struct args args;
	const char *type; /* an ID; before cmd_open() possibly a name */
	const char *op, *grace, *connect, *since, *hostname;
	enum plan_mode mode; /* from --op */
	long grace_s;
	int64_t since_us;                  /* from --since, by events_since(); 0: all events */
	const char *domain, *pgpu, *state; /* filters, as is `type` for some commands */
	struct table_options table;
	bool json, all, in_place, dry_run, unused, persistent, write;
};

/* The options that only some sub-commands take: bit CMD_..., member of struct cmd_call, name, value, help. */
#define CMD_OPTIONS(X)                                                                                                 \
	X(JSON, json, "json", NULL, "Print JSON")                                                                      \
	X(ALL, all, "all", NULL, "Assign a new UUID to every vGPU, not only to placeholders")                          \
	X(IN_PLACE, in_place, "in-place", NULL, "Change the file itself, atomically")                                  \
	X(DRY_RUN, dry_run, "dry-run", NULL, "Print what would be done; change nothing")                               \
	X(OUTPUT, table.output, "output", "COLUMNS", "Print these columns (also -o COLUMNS)")                          \
	X(SORT, table.sort, "sort", "COLUMN", "Sort by this column")                                                   \
	X(NO_HEADINGS, table.no_headings, "no-headings", NULL, "Omit the headings")                                    \
	X(DOMAIN, domain, "domain", "DOMAIN", "Only vGPUs of this domain (name or UUID)")                              \
	X(PGPU, pgpu, "pgpu", "PGPU", "Only this physical GPU")                                                        \
	X(TYPE, type, "type", "TYPE", "Only this type")                                                                \
	X(STATE, state, "state", "STATE", "Only leases in this state")                                                 \
	X(GRACE, grace, "grace", "SECONDS", "Override reclaim_grace; 0: remove orphans at once")                       \
	X(UNUSED, unused, "unused", NULL, "Also remove unused vGPUs not made for a guest")                             \
	X(INIT_WRITE, write, "write", NULL, "Also write it, unless a configuration exists")                            \
	X(PERSISTENT, persistent, "persistent", NULL, "Also change the domain's definition")                           \
	X(CONNECT, connect, "connect", "URI", "Connect to this libvirt [" VIRT_DEFAULT_URI "]")                        \
	X(SINCE, since, "since", "TIME", "Only events since TIME")                                                     \
	X(OP, op, "op", "OP", "Operation: prepare (a start) [prepare], migrate or restore")                            \
	X(HOSTNAME, hostname, "hostname", "NAME", "Name of this host in Nova [libvirt's host name]")

#define CMD_PLACE(bit, ...) PLACE_##bit,
#define CMD_BIT(bit, ...) CMD_##bit = 1 << PLACE_##bit,
enum { CMD_OPTIONS(CMD_PLACE) };
enum { CMD_OPTIONS(CMD_BIT) CMD_TABLE = CMD_JSON | CMD_OUTPUT | CMD_SORT | CMD_NO_HEADINGS };

/* What cmd_open() opens. By default a missing configuration is accepted, and an invalid one causes a warning. */
enum {
	CMD_BARE = 1,         /* open nothing; the sub-command opens what it needs */
	CMD_WRITE = 2,        /* open the leases for writing, except with --dry-run; requires root on a real host */
	CMD_LIBVIRT = 4,      /* connect to libvirt, and find the domain that the first operand names */
	CMD_CONFIG_MUST = 8,  /* require a valid configuration */
	CMD_CONFIG_OWN = 16,  /* the sub-command handles an error of the configuration */
	CMD_CONFIG_READ = 32, /* an existing configuration must be readable, or the output would be wrong */
};

/* What a sub-command returns. After a negative errno, main() prints the error's text and exits with status 1. */
enum { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = ARGS_EXIT_USAGE };

struct cmd;
struct gc;
struct gc_item;

struct command {
	const char *name;
	const char *operands[2]; /* their names; NULL: none. main() validates an ID, PGPU or TYPE; [WORD] is optional */
	unsigned int options, needs;
	const char *summary;                                  /* its line in the list of commands, at most 52 columns */
	const char *help;                                     /* details for its --help; ends with a newline */
	const struct table_layout *table;                     /* the table, if `options` has CMD_TABLE */
	int (*check)(struct cmd_call *call, struct err *err); /* validates and stores the options' values; or NULL */
	int (*run)(struct cmd *cmd, struct err *err);
};

extern const struct command cmd_status, cmd_list, cmd_types, cmd_inventory, cmd_plan, cmd_rewrite, cmd_check, cmd_gc,
	cmd_release, cmd_attach, cmd_detach, cmd_suspend, cmd_resume, cmd_retype, cmd_show, cmd_log, cmd_metrics,
	cmd_export, cmd_init;

/* What is open for a sub-command: the host, its configuration and its leases. */
struct cmd {
	struct cmd_call *call;
	const struct command *command;
	struct host host;
	struct config config; /* the defaults if has_config is false */
	bool has_config;
	struct err no_config;                                         /* the reason if has_config is false */
	char no_config_refusal[sizeof(((struct err *)0)->text) + 64]; /* this reason with the fix */
	struct store store;
	struct world world; /* from cmd_survey() */
	struct hotplug hp;  /* with CMD_LIBVIRT */
	FILE *lines;        /* from cmd_lines(); NULL: not opened */
	char *text;         /* what was written to `lines` */
	size_t len;
	char type[TYPE_SIZE];   /* the ID of a type given by name; take_type() makes call->type point to it */
	struct err no_type;     /* .code 0: the configuration or this host has call->type; else the refusal */
	char pgpu[PARENT_SIZE]; /* spelt as in sysfs; cmd_take_pgpu() makes call->pgpu point to it */
	struct rows out;        /* the table or JSON document that cmd_rows() or cmd_json() has begun */
	struct json_out document;
};

#define CMD_NONE(of_call) { .call = (of_call), .host.root = -1, .store = STORE_NONE }

/* Opens what `needs` says, and replaces a type's name in the call with its ID. `cmd` must be CMD_NONE. */
int cmd_open(struct cmd *cmd, unsigned int needs, struct err *err);

/* Ends the output, and frees all. Call it even after a failure. */
void cmd_close(struct cmd *cmd);

/* A stream for whole, printable lines. cmd_close() prints them, wrapped at words on a terminal. */
FILE *cmd_lines(struct cmd *cmd);

/* Adds "run as root", once, to a permission error, unless the user is root. Returns the error's negative code. */
int cmd_advise_root(struct err *err);

/* Connects to libvirt and finds the domain that the first operand names, as CMD_LIBVIRT does. */
int cmd_open_domain(struct cmd *cmd, struct err *err);

/* Reads the host into cmd->world once. Without a configuration the pool is empty. */
int cmd_survey(struct cmd *cmd, struct err *err);

/* A gc pass, not run yet, that changes nothing. After cmd_survey() it uses the inventory of cmd->world. */
struct gc cmd_gc_pass(struct cmd *cmd);

/* Makes and runs a cmd_gc_pass(). Only warns if it fails. */
void cmd_gc_ask(struct cmd *cmd, struct gc *pass);

/* What the pass would do or has done with an item: "remove", "removed", "drop", ... */
const char *cmd_gc_outcome(const struct gc_item *item);
/* A clause: the command that releases the lease, why the lease stays, or when it will be released. */
const char *cmd_gc_advice(char buf[REASON_SIZE], const struct gc_item *item);

enum { CMD_SIMILAR_SIZE = DOMAIN_NAME_SIZE + 16 };

/*
 * Does a lease or a file of libvirt name this domain (by name or UUID)? If this cannot be determined, returns true with
 * the reason in `why`; else the code of `why` is 0. `similar` becomes "; similar: " and the most similar domain or PCI
 * address, or "".
 */
bool cmd_knows_domain(const struct cmd *cmd, const char *domain, char similar[CMD_SIMILAR_SIZE], struct err *why);

/* Fails if neither host, leases nor configuration know the --domain or the --type, usually because of a typo. */
int cmd_check_filters(const struct cmd *cmd, struct err *err);

/* Sets call->pgpu to the pGPU that `word` names, spelt as in sysfs; for a VF, to its card. */
void cmd_take_pgpu(struct cmd *cmd, const char *word);

/* Does the vGPU match the filters? `lease` is NULL if the vGPU has none. */
bool cmd_matches(const struct cmd_call *call, const struct vgpu_ref *vgpu, const struct lease *lease);

/* With --json, the document on standard output, else NULL. The first call begins it, with a configuration's error. */
struct json_out *cmd_json(struct cmd *cmd);

/* Begins the JSON document with this error, unless the command has already begun the document. */
void cmd_json_error(struct cmd *cmd, const struct err *err);

/* Begins a table, or with --json an array named `array`; if `array` is NULL, the caller opens an array. */
struct rows *cmd_rows(struct cmd *cmd, const struct table_layout *layout, const char *array);

/* Prints the table. */
void cmd_rows_end(struct cmd *cmd);

/* The operand FILE in messages; "-" becomes "standard input". */
const char *cmd_file_name(const char *path);

/* Reads a domain's XML of at most `max` bytes; "-" is standard input. The caller frees *xml. Returns 0 or CMD_USAGE. */
int cmd_read_xml(const char *path, size_t max, char **xml, size_t *len, struct err *err);
