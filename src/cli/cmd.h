/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operator's command: what its sub-commands share.
 *
 * A sub-command is a table entry in cmd_NAME.c, or in that of one it is akin to. main() finds it, checks the
 * command line, opens what it needs, and prints its error. This is the only layer that prints, besides main().
 */
#pragma once

#include <stdbool.h>

#include "base/args.h"
#include "base/err.h"
#include "sys/sys.h"
#include "cli/out.h"
#include "config/config.h"
#include "live/hotplug.h"
#include "state/store.h"
#include "survey/survey.h"

/* The command line; the operands are those of the sub-command. */
struct cmd_call {
	struct args args;
	const char *type; /* an id, or until cmd_open() a name */
	const char *op, *grace, *connect, *since, *hostname;
	const char *domain, *pgpu, *state; /* filters, as type is one */
	struct table_options table;
	bool json, all, in_place, dry_run, unused, persistent, write, watch;
};

/* The options that a sub-command takes, beside those of all. */
enum {
	CMD_JSON = 1,
	CMD_ALL = 2,
	CMD_IN_PLACE = 4,
	CMD_DRY_RUN = 8,
	CMD_TYPE = 16,
	CMD_OP = 32,
	CMD_CONNECT = 64,
	CMD_PERSISTENT = 128,
	CMD_DOMAIN = 512,
	CMD_PGPU = 1024,
	CMD_STATE = 2048,
	CMD_OUTPUT = 4096,
	CMD_SORT = 8192,
	CMD_NO_HEADINGS = 16384,
	CMD_GRACE = 32768,
	CMD_SINCE = 65536,
	CMD_HOSTNAME = 131072,
	CMD_INIT_WRITE = 524288,
	CMD_WATCH = 1048576,
	CMD_UNUSED = 2097152,
	CMD_TABLE = CMD_JSON | CMD_OUTPUT | CMD_SORT | CMD_NO_HEADINGS, /* a table, or JSON */
};

/*
 * What is opened for a sub-command. A configuration that is not there is no error; one with an error is a warning, if
 * nothing else is said here.
 */
enum {
	CMD_BARE = 1,         /* nothing: the sub-command opens what it needs */
	CMD_WRITE = 2,        /* the leases to be changed: that takes root on the real host; not with --dry-run */
	CMD_LIBVIRT = 4,      /* libvirt, and its domain that the first operand names */
	CMD_CONFIG_MUST = 8,  /* there must be a valid configuration */
	CMD_CONFIG_OWN = 16,  /* an error of the configuration is the sub-command's to look at */
	CMD_CONFIG_READ = 32, /* without one that is there, what it prints would be wrong: it must be readable */
};

/* What a sub-command returns, besides a negative errno: that is 1, too, and its text is printed. */
enum { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = ARGS_EXIT_USAGE };

struct cmd;
struct gc;
struct gc_item;

struct command {
	const char *name;
	/* Its operands' names: ID, PGPU and TYPE are checked to be one; [WORD] may be left out; NULL none. */
	const char *operand, *second;
	unsigned int options, needs;
	const char *summary;              /* a line of the list of commands, at most 52 columns */
	const char *help;                 /* what more there is to say; ends with a newline */
	const struct table_layout *table; /* what CMD_TABLE prints */
	int (*check)(const struct cmd_call *call, struct err *err); /* its options' values; NULL: any will do */
	int (*run)(struct cmd *cmd, struct err *err);
};

extern const struct command cmd_status, cmd_list, cmd_types, cmd_inventory, cmd_plan, cmd_rewrite, cmd_check, cmd_gc,
	cmd_release, cmd_attach, cmd_detach, cmd_suspend, cmd_resume, cmd_retype, cmd_show, cmd_log, cmd_metrics,
	cmd_export, cmd_init;

/* The host, its configuration and its leases, for a sub-command. */
struct cmd {
	struct cmd_call *call;
	struct host host;
	struct config config; /* the defaults where there is none */
	bool has_config;
	bool wrong_config;                                            /* there is one, with an error */
	bool unreadable_config;                                       /* for this user, where root might read it */
	char why_no_config[sizeof(((struct err *)0)->text)];          /* has_config false: why */
	char no_config_refusal[sizeof(((struct err *)0)->text) + 64]; /* and what to do */
	struct store store;
	struct hotplug hp; /* CMD_LIBVIRT */
	FILE *lines;       /* of cmd_lines(); NULL: nobody has asked for it */
	char *text;        /* what was written there */
	size_t len;
	char type[TYPE_SIZE];   /* that the command line names */
	bool has_type;          /* --type is one of the configuration or of this host */
	char pgpu[PARENT_SIZE]; /* of call->pgpu */
};

/* A store that was not opened: store_close() is safe on it. */
#define CMD_NO_STORE ((struct store){ .run = -1, .leases = -1, .seen = -1, .affinity = -1, .lock = -1 })

/* Opens what is needed, and turns the name of a type into its id in *call; cmd_close() also after a failure. */
int cmd_open(struct cmd *cmd, struct cmd_call *call, unsigned int needs, struct err *err);
void cmd_close(struct cmd *cmd);

/* Takes whole lines, made printable, and prints them in the end, on a terminal wrapped at words. */
FILE *cmd_lines(struct cmd *cmd);

/* What a normal user was denied is root's: the error says so, once. Returns its negative code. */
int cmd_advise_root(struct err *err);

/* What CMD_LIBVIRT does: connects, and finds the domain that the first operand names. */
int cmd_open_domain(struct cmd *cmd, struct err *err);

/*
 * All cards with all their types, the pool and the leases that count, as a plan sees them. survey_end() also after a
 * failure. Without a configuration no card is in the pool.
 */
int cmd_survey(struct cmd *cmd, struct world *world, struct err *err);

/* A pass of gc over this host that only judges. */
struct gc cmd_gc_pass(struct cmd *cmd);

/* What a pass says of a vGPU, leased or not; NULL: nothing. */
const struct gc_item *cmd_gc_item(const struct gc *pass, const char *id);
/* What happens to an item, or did: "remove", "removed", "drop", ... */
const char *cmd_gc_outcome(const struct gc_item *item);
/* What to do about a lease that is to go, or why it stays and until when: a clause. */
const char *cmd_gc_advice(char buf[REASON_SIZE], const struct gc_item *item);

/*
 * Does a lease or a file of libvirt's name this domain, a name or UUID? Where that cannot be told it may; the reason is
 * then in `why`, whose code is 0 otherwise.
 */
bool cmd_knows_domain(const struct cmd *cmd, const char *domain, struct err *why);

/* Adds the domain, or the PCI address, that was meant, if one is similar. Returns the error's negative code. */
int cmd_suggest_domain(const struct cmd *cmd, const char *domain, struct err *err);

/* A --domain that the host does not know is mostly a typo, and an error. */
int cmd_check_domain(const struct cmd *cmd, struct err *err);

/* A --type that neither the configuration nor the host nor a lease has is mostly a typo, and an error. */
int cmd_check_type(const struct cmd *cmd, struct err *err);

/* The pGPU that a word names, into call->pgpu as sysfs spells it; a VF stands for its card. --pgpu is taken so. */
void cmd_take_pgpu(struct cmd *cmd, const char *word);

/* Do the filters let a vGPU pass? `lease` NULL: it has none. */
bool cmd_shows(const struct cmd_call *call, const struct vgpu_ref *vgpu, const struct lease *lease);

/*
 * Begins the command's JSON on standard output. `cmd`: what is wrong with its configuration is a member of it, "error";
 * NULL: the document tells that itself.
 */
void cmd_json_begin(struct json_out *json, const struct cmd *cmd);

/*
 * Begins and ends a command's output: its table, or with --json the document with this array of the rows; NULL: the
 * caller opens one. What is open is closed.
 */
void cmd_rows_begin(struct rows *rows, const struct cmd *cmd, const struct table_layout *layout, const char *array);
void cmd_rows_end(struct rows *rows);

/* The whole document of a command that failed before it had any. */
void cmd_json_error(const struct err *err);

/* What an operand FILE is called in messages: "-" is standard input. */
const char *cmd_shown(const char *path);

/* Reads a domain's XML of at most `max` bytes, "-" is standard input; the caller frees *xml. 0, or CMD_USAGE. */
int cmd_read_xml(const char *path, size_t max, char **xml, size_t *len, struct err *err);
