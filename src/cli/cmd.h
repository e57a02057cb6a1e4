/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sub-commands share. main() checks the command line against a struct command, opens what `needs` lists, calls
 * run(), and prints the error.
 */
#pragma once

#include <stdbool.h>

#include "base/args.h"
#include "base/err.h"
#include "sys/sys.h"
#include "check/check.h"
#include "cli/out.h"
#include "config/config.h"
#include "libvirt/hotplug.h"
#include "state/store.h"
#include "look/survey.h"

/* The parsed command line; args.operands excludes the sub-command's name. */
struct cmd_call {
	struct args args;
	const char *op, *grace, *connect, *since, *hostname;
	enum plan_mode mode;                      /* from `op` */
	long grace_s;                             /* from `grace` */
	int64_t since_us;                         /* from `since`; 0: all events */
	const char *type, *domain, *pgpu, *state; /* filters; cmd_open() replaces a type's name with its ID */
	struct table_options table;
	bool json, all, in_place, dry_run, unused, persistent, write;
};

/* The options of sub-commands: bit CMD_..., member of struct cmd_call, name, value, help. */
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

/* What cmd_open() opens. Without a CMD_CONFIG, it accepts a missing configuration and warns of an invalid one. */
enum {
	CMD_BARE = 1,         /* nothing; the sub-command opens what it needs */
	CMD_WRITE = 2,        /* the leases for writing, except with --dry-run; requires root on a real host */
	CMD_LIBVIRT = 4,      /* libvirt, with the domain of the first operand */
	CMD_CONFIG_MUST = 8,  /* a valid configuration */
	CMD_CONFIG_OWN = 16,  /* the sub-command handles an error of the configuration */
	CMD_CONFIG_READ = 32, /* refuses a configuration that this user may not read */
};

/* What a sub-command returns, or a negative errno, which main() turns into CMD_FAILED. */
enum { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = ARGS_EXIT_USAGE };

struct cmd;
struct gc;
struct gc_item;

struct command {
	const char *name;
	const char *operands[2]; /* names; main() validates ID, PGPU and TYPE; "[NAME]" is optional */
	unsigned int options, needs;
	const char *summary; /* at most 57 columns */
	const char *help;    /* the details; lines of at most 80 columns */
	const struct table_layout *table;
	int (*check)(struct cmd_call *call, struct err *err); /* validates options of this command; or NULL */
	int (*run)(struct cmd *cmd, struct err *err);
};

extern const struct command cmd_status, cmd_list, cmd_types, cmd_inventory, cmd_plan, cmd_rewrite, cmd_check, cmd_gc,
	cmd_release, cmd_attach, cmd_detach, cmd_suspend, cmd_resume, cmd_retype, cmd_show, cmd_log, cmd_metrics,
	cmd_export, cmd_init;

/* What cmd_open() has opened for a sub-command. */
struct cmd {
	struct cmd_call *call;
	const struct command *command;
	struct host host;
	struct config config;
	struct store store;
	struct world world; /* from cmd_survey() */
	struct hotplug hp;
	FILE *lines; /* from cmd_lines(); writes to `text` */
	char *text;
	size_t len;
	struct err no_type;                      /* why call->type is unknown; .code 0: known */
	char type[TYPE_SIZE], pgpu[PARENT_SIZE]; /* storage for those of `call` */
	struct rows out;                         /* begun by cmd_rows() or cmd_json() */
	struct json_out document;
};

#define CMD_NONE(of_call) { .call = (of_call), .host.root = -1, .store = STORE_NONE }

/* `cmd` must be CMD_NONE. Call cmd_close(), which ends the output, even after a failure. */
int cmd_open(struct cmd *cmd, unsigned int needs, struct err *err);
void cmd_close(struct cmd *cmd);

/* Returns a stream for whole, printable lines, which cmd_close() prints. */
FILE *cmd_lines(struct cmd *cmd);

/* Connects to libvirt, and finds the domain of the first operand. */
int cmd_open_domain(struct cmd *cmd, struct err *err);

/* Reads the host into cmd->world, unless an earlier call has done so. */
int cmd_survey(struct cmd *cmd, struct err *err);

/* Prepares a dry gc pass, with the inventory of cmd_survey(). cmd_gc_ask() runs it, and only warns of a failure. */
struct gc cmd_gc_pass(struct cmd *cmd);
void cmd_gc_ask(struct cmd *cmd, struct gc *pass);

/* What the pass would do or has done with the item: "remove", "removed", "drop", ... */
const char *cmd_gc_outcome(const struct gc_item *item);
/* Says which command releases the lease, why the lease stays, or when the lease will be released. */
const char *cmd_gc_advice(char buf[REASON_SIZE], const struct gc_item *item);

enum { CMD_SIMILAR_SIZE = DOMAIN_NAME_SIZE + 16 };

/*
 * Does a lease or a file of libvirt name this domain (by name or UUID)? True also if a file cannot be read; why->code
 * then is not 0. `similar` becomes "" or "; similar: NAME".
 */
bool cmd_knows_domain(const struct cmd *cmd, const char *domain, char similar[CMD_SIMILAR_SIZE], struct err *why);

/* Fails if the --domain, --type or --pgpu is unknown, usually because of a typo. */
int cmd_check_filters(struct cmd *cmd, struct err *err);

/* Sets call->pgpu to `word`, spelt as in sysfs, or to the card of this VF. */
void cmd_take_pgpu(struct cmd *cmd, const char *word);

/* Does the vGPU match the filters? `lease` may be NULL. */
bool cmd_matches(const struct cmd_call *call, const struct vgpu_ref *vgpu, const struct lease *lease);

/* Returns the JSON document, or NULL without --json. The first call begins the document on standard output. */
struct json_out *cmd_json(struct cmd *cmd);

/* Begins the JSON document with this error. Does nothing if the document has begun. */
void cmd_json_error(struct cmd *cmd, const struct err *err);

/* Begins a table or, with --json, the array `array`; NULL: the caller begins the array. */
struct rows *cmd_rows(struct cmd *cmd, const struct table_layout *layout, const char *array);

void cmd_rows_end(struct cmd *cmd);

/* A vGPU that is leased, or that exists without a lease. */
struct status_vgpu {
	const struct vgpu_ref *ref;
	const struct lease *lease;
	const struct card_row *row; /* used only by status_read() */
	int mib;
};

struct card_row {
	const struct inv_pgpu *card;
	const struct section *missing; /* the section that configures a missing card; NULL: not missing */
	const char *type;              /* the configured type, or the first of several; "": none */
	struct capacity_count count;   /* the counts of `type`; UNKNOWN: the card does not offer `type` */
	struct capacity_framebuffer mib;
	char reason[REASON_SIZE]; /* why the card is not in the pool, or has no vGPU available */
	char model[256];          /* from udev's hardware database; "": unknown */
	const struct status_vgpu *vgpus;
	size_t nvgpus;
};

struct status {
	struct cmd *cmd;
	struct check check;
	struct card_row *rows; /* rows[nrows] has the vGPUs of unlisted pGPUs */
	size_t nrows;
	struct status_vgpu *vgpus; /* sorted by row and ID */
	size_t nvgpus, nall;       /* vGPUs that match the filters, and all vGPUs */
	char host[256];
};

/* Reads what matches the filters; fails if --pgpu matches nothing. Does not set `check` and `host`. */
int status_read(struct status *status, struct cmd *cmd, struct err *err);
void status_end(struct status *status);

#define autostatus __attribute__((cleanup(status_end)))

/* Writes one row; table_text() can still replace its cells. */
void status_vgpu(struct rows *rows, const struct status_vgpu *v);

/* Write the member "pgpus", and the member "vgpus" of one pGPU. */
void status_json_pgpus(struct json_out *json, const struct status *status);
void status_json_vgpus(struct json_out *json, const struct card_row *row);

/* Returns the row of the pGPU, or rows[nrows] if the pGPU is not listed. */
struct card_row *status_row(const struct status *status, const char *pgpu);

/* Prints the pGPUs and their vGPUs for `show`. */
void status_show_pgpus(const struct status *status, struct json_out *json);

/* Finds a pGPU by its address, spelt as in sysfs. NULL: `err` says why. */
const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err);

enum cmd_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/*
 * Call these after cmd_survey(). cmd_kind() says what the operand names. cmd_lease() returns a vGPU's lease, even a
 * void one; NULL: none. cmd_ref() says where a vGPU is or was, and its type.
 */
enum cmd_kind cmd_kind(const struct cmd *cmd);
const struct lease *cmd_lease(const struct cmd *cmd, const char *id);
struct vgpu_ref cmd_ref(const struct cmd *cmd, const char *id);

/* Prints the latest events of a vGPU or pGPU. Only warns if the journal cannot be read. */
void show_events(struct cmd *cmd, const char *object);
