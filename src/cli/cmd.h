/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operator's command: what its sub-commands share.
 *
 * A sub-command is a table entry and one file, cmd_NAME.c; main() finds it, takes the options apart and prints its
 * error. This is the only layer that prints, besides main().
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "base/err.h"
#include "base/host.h"
#include "live/hotplug.h"
#include "cli/json_out.h"
#include "state/store.h"
#include "survey/survey.h"

/* What the sub-command was called with. */
struct cmd_call {
	const char *root, *config_path, *type, *op, *connect;
	bool json, all, in_place, dry_run, persistent, qemu;
	char **operands;
};

/* The options that a sub-command takes, beside --root, --config and --help. */
enum {
	CMD_JSON = 1,
	CMD_ALL = 2,
	CMD_IN_PLACE = 4,
	CMD_DRY_RUN = 8,
	CMD_TYPE = 16,
	CMD_OP = 32,
	CMD_CONNECT = 64,
	CMD_PERSISTENT = 128,
	CMD_QEMU = 256,
};

/* What a sub-command returns, besides a negative errno: that is 1, too, and its text is printed. */
enum { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

struct cmd;

struct command {
	const char *name;
	const char *operand, *second; /* its operands' names; NULL none */
	unsigned int options;
	const char *summary; /* a line of the list of commands */
	const char *help;    /* what more there is to say; ends with a newline */
	int (*run)(const struct cmd_call *call, struct err *err);
	int (*show)(struct cmd *cmd, struct err *err); /* in the place of run: cmd_open() for reading is done for it */
};

extern const struct command cmd_list, cmd_types, cmd_inventory, cmd_plan, cmd_rewrite, cmd_check, cmd_gc, cmd_release,
	cmd_attach, cmd_detach, cmd_suspend, cmd_resume, cmd_retype, cmd_show;

/* The host, its configuration and its leases, for a sub-command. */
struct cmd {
	const struct cmd_call *call;
	struct host host;
	struct config config; /* the defaults where there is none */
	bool has_config;
	bool wrong_config;                                   /* there is one, with an error */
	char why_no_config[sizeof(((struct err *)0)->text)]; /* has_config false: why */
	struct store store;
};

/* A store that was not opened: store_close() is safe on it. */
#define CMD_NO_STORE ((struct store){ .run = -1, .leases = -1, .seen = -1, .affinity = -1, .lock = -1 })

/* How a sub-command takes a configuration with an error. One that is not there is none, which is no error. */
enum cmd_config { CMD_CONFIG_MUST, CMD_CONFIG_MAY, CMD_CONFIG_OWN };

/*
 * Opens the host, reads the configuration and opens the leases; with `write`, as one who may change them: that takes
 * root on the real host. A configuration with an error is printed as a warning with CMD_CONFIG_MAY, and is the
 * caller's to look at with CMD_CONFIG_OWN. cmd_close() also
 * after a failure.
 */
int cmd_open(struct cmd *cmd, const struct cmd_call *call, enum cmd_config config, bool write, struct err *err);
void cmd_close(struct cmd *cmd);

/* Does what the sub-command does. */
int cmd_run(const struct command *command, const struct cmd_call *call, struct err *err);

/*
 * All cards with all their types, the pool and the leases that count, as a plan sees them. survey_end() also after a
 * failure. Without a configuration no card is in the pool.
 */
int cmd_survey(struct cmd *cmd, struct survey *survey, struct err *err);

/*
 * cmd_open(), and libvirt's domain that the first operand names. hotplug_close() and cmd_close() also after a failure.
 */
int cmd_hotplug(struct cmd *cmd, struct hotplug *hp, const struct cmd_call *call, enum cmd_config config, bool write,
		struct err *err);

/* Why a card is not in the pool; NULL where it is. */
const char *cmd_why_not(const struct cmd *cmd, const struct survey *survey, size_t pgpu);

/*
 * Begins the command's JSON on standard output. `cmd`: what is wrong with its configuration is a member of it, "error";
 * NULL: the document tells that itself.
 */
void cmd_json_begin(struct json_out *json, const struct cmd *cmd);

/* The whole document of a command that failed before it had any. */
void cmd_json_error(const struct err *err);

/* What a type is, as members of the object that is open. `class`: NULL where it is not enabled. */
void cmd_json_type(struct json_out *json, const struct inv_type *type, const char *class);

/* Prints one line on standard output, made printable. */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "vgpu-lease: warning: ..." as one line on standard error. */
void cmd_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What an operand FILE is called in messages: "-" is standard input. */
const char *cmd_shown(const char *path);

/* Reads a domain's XML from a file, "-" is standard input; the caller frees *xml. */
int cmd_read_xml(const char *path, char **xml, size_t *len, struct err *err);

/* A time of CLOCK_MONOTONIC on the wall clock, as ISO 8601 in UTC. */
void cmd_wall_time(char out[32], int64_t boot_ms);
