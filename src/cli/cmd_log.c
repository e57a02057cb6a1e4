/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease log: print the events of vGPUs from systemd's journal. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "model/event.h"

enum { VALUE_MAX = 65536, EVENTS_SHOWN = 20 };

static void close_journal(sd_journal **journal)
{
	sd_journal_close(*journal);
}

#define autojournal __attribute__((cleanup(close_journal)))

static int not_allowed(const char *path, int code)
{
	(void)path;
	return code == EACCES;
}

#define READER "run as root or as a member of group systemd-journal"

/*
 * Tries each file that libsystemd reads (of all machines with --root, else of this machine), because libsystemd skips
 * unreadable files silently. Returns 0 if some can be read; err->code: why events may be missing; 0: all can be read.
 */
static int check_files(const char *root, struct err *err)
{
	static const char *const tops[] = { "var", "run" };
	char machine[64] = "";
	int readable = 0, closed = 0;

	if (!root && access("/var/log/journal", F_OK) < 0 && access("/run/log/journal", F_OK) < 0)
		return err_set(err, ENOENT, "this host keeps no journal; events are in syslog only");
	if (root || sys_read(AT_FDCWD, "/etc/machine-id", machine, sizeof(machine)) < 0 || !*machine)
		text_copy(machine, sizeof(machine), "????????????????????????????????");
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		autofree char *pattern = mem_format("%s/%s/log/journal/%s/system*.journal{,~}", root ? root : "",
						    tops[i], machine);
		glob_t found = { 0 };

		closed += glob(pattern, GLOB_NOSORT | GLOB_BRACE, not_allowed, &found) == GLOB_ABORTED;
		for (size_t n = 0; n < found.gl_pathc; n++) {
			const char *path[] = { found.gl_pathv[n], NULL };
			autojournal sd_journal *journal = NULL;
			int r = sd_journal_open_files(&journal, path, 0);

			readable += r >= 0;
			closed += r == -EACCES;
			if (r < 0 && r != -EACCES && !err->code)
				err_set(err, EIO, "journal: events may be missing: cannot read %s: %s", *path,
					strerror(-r));
		}
		globfree(&found);
	}
	if (closed && !readable)
		return err_set(err, EACCES, "journal: cannot be read: permission denied; " READER);
	if (closed && !err->code)
		err_set(err, EACCES, "journal: events may be missing: permission denied for %d of its files; " READER,
			closed);
	return 0;
}

static int add_match(sd_journal *journal, const char *field, const char *value)
{
	autofree char *text = mem_format("%s=%s", field, value);

	return sd_journal_add_match(journal, text, 0);
}

/* Selects the events of `object` (NULL: all), but only from root, because any user can write events to the journal. */
static int select_events(sd_journal *journal, const char *object)
{
	static const char *const fields[] = { "VGPU_LEASE_ID", "PGPU", "DOMAIN_UUID", "DOMAIN_NAME" };
	int r = add_match(journal, "_UID", "0");

	for (enum event event = 0; r >= 0 && event < EVENT_DECIDED; event++)
		r = add_match(journal, "VGPU_LEASE_EVENT", event_word(event));
	if (r >= 0 && object)
		r = sd_journal_add_conjunction(journal);
	for (size_t i = 0; r >= 0 && object && i < ARRAY_SIZE(fields); i++) {
		r = add_match(journal, fields[i], object);
		if (r >= 0)
			r = sd_journal_add_disjunction(journal);
	}
	return r;
}

/* Copies the value from "NAME=VALUE". */
static char *value_of(const void *data, size_t len)
{
	const char *value = (const char *)memchr(data, '=', len) + 1;
	size_t n = len - (size_t)(value - (const char *)data);

	return mem_strndup(value, n < VALUE_MAX ? n : VALUE_MAX);
}

/* Returns the field's first value, or "". The caller frees the text. */
static char *read_field(sd_journal *journal, const char *field)
{
	const void *data;
	size_t len;

	return sd_journal_get_data(journal, field, &data, &len) < 0 ? mem_strdup("") : value_of(data, len);
}

static void json_field(struct json_out *json, const char *key, sd_journal *journal, const char *field)
{
	autofree char *value = read_field(journal, field);

	json_out_string(json, key, value);
}

static void json_event(struct json_out *json, sd_journal *journal, const char *when)
{
	autofree char *uuid = read_field(journal, "DOMAIN_UUID"), *name = read_field(journal, "DOMAIN_NAME");
	const void *data;
	size_t len;

	json_out_object(json, NULL);
	json_out_string(json, "time", when);
	json_field(json, "event", journal, "VGPU_LEASE_EVENT");
	json_out_array(json, "ids");
	SD_JOURNAL_FOREACH_DATA(journal, data, len)
	{
		if (memmem(data, len, "VGPU_LEASE_ID=", 14) == data) {
			autofree char *id = value_of(data, len);

			json_out_string(json, NULL, id);
		}
	}
	json_out_close(json);
	json_field(json, "type", journal, "VGPU_LEASE_TYPE");
	json_field(json, "pgpu", journal, "PGPU");
	out_json_domain(json, uuid, name);
	json_field(json, "reason", journal, "VGPU_LEASE_REASON");
	json_field(json, "message", journal, "MESSAGE");
	json_out_close(json);
}

static void print_event(sd_journal *journal, struct json_out *json, uint64_t us)
{
	autofree char *event = read_field(journal, "VGPU_LEASE_EVENT"), *message = read_field(journal, "MESSAGE");
	autofree char *line = NULL;
	char when[32];

	out_time(when, (time_t)(us / 1000000));
	if (json) {
		json_event(json, journal, when);
		return;
	}
	line = mem_format("%s  %-9s  %s", when, event, message);
	/* The program that logged the message has made it printable. */
	term_wrap_printable(term_stdout(), 0, "                                 ", line);
}

/* Returns the number of events, or a negative errno. */
static int print_events(sd_journal *journal, uint64_t since, int last, struct json_out *json)
{
	int r = last ? sd_journal_seek_tail(journal) : sd_journal_seek_realtime_usec(journal, since), n = 0;
	uint64_t us;

	if (r >= 0)
		r = last ? sd_journal_previous_skip(journal, (uint64_t)last) : sd_journal_next(journal);
	while (r > 0) {
		r = sd_journal_get_realtime_usec(journal, &us);
		if (r >= 0 && us >= since) {
			print_event(journal, json, us);
			n++;
		}
		if (r >= 0)
			r = sd_journal_next(journal);
	}
	return r < 0 ? r : n;
}

/* Sets `err` if this host has no such object; not if the host or the leases cannot be read. */
static void find_object(struct cmd *cmd, const char *object, struct err *err)
{
	char similar[CMD_SIMILAR_SIZE];
	struct err why;

	if (cmd_open(cmd, CMD_CONFIG_OWN, &why) < 0 || cmd_survey(cmd, &why) < 0)
		return;
	if (cmd_kind(cmd) == SHOW_PGPU) {
		cmd_take_pgpu(cmd, object);
		cmd_check_filters(cmd, err);
	} else if (cmd_kind(cmd) == SHOW_DOMAIN && !cmd_knows_domain(cmd, object, similar, &why)) {
		err_set(err, ENOENT, "%s: no events, and no such domain, vGPU or pGPU on this host%s", object, similar);
	}
}

/*
 * Prints the `last` events of `object` (NULL: all), or all since call->since_us if `last` is 0. With `last` 0, sets
 * `err` for an object that has no events and that this host does not know. Returns the number of events, and sets
 * err->code if some may be missing. Negative: the journal cannot be read, and nothing is printed.
 */
static int events_print(struct cmd *cmd, const char *object, int last, struct err *err)
{
	const char *root = cmd->call->args.root;
	struct json_out *json = cmd_json(cmd);
	autojournal sd_journal *journal = NULL;
	int r = check_files(root, err);

	if (r < 0)
		return r;
	json_out_array(json, "events");
	r = root ? sd_journal_open_directory(&journal, root, SD_JOURNAL_OS_ROOT | SD_JOURNAL_SYSTEM)
		 : sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
	if (r >= 0)
		r = select_events(journal, object);
	if (r >= 0)
		r = print_events(journal, (uint64_t)cmd->call->since_us, last, json);
	json_out_close(json);
	if (r == 0 && !last && object && !err->code &&
	    !(sd_journal_seek_tail(journal) >= 0 && sd_journal_previous(journal) > 0))
		find_object(cmd, object, err);
	if (r < 0)
		err_set(err, -r, "journal: events may be missing: %s", strerror(-r));
	return r < 0 ? 0 : r;
}

void show_events(struct cmd *cmd, const char *object)
{
	struct json_out *json = cmd_json(cmd);
	struct err why = { 0 };
	int n;

	if (!json)
		printf("\nlatest events:\n");
	fflush(stdout);
	n = events_print(cmd, object, EVENTS_SHOWN, &why);
	if (n < 0)
		json_out_string(json, "events", NULL);
	if (why.code)
		out_warn("%s", why.text);
	if (!json && n <= 0 && (n < 0 || !why.code))
		puts(n < 0 ? "  not known" : "  none in the journal");
}

static int run(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	char id[ID_SIZE];
	const char *word = args->noperands ? args->operands[0] : NULL, *object = word && id_parse(id, word) ? id : word;
	struct json_out *json = cmd_json(cmd);
	int n = events_print(cmd, object, 0, err);

	/* Print this only on a terminal, because scripts may count lines. */
	if (n == 0 && !err->code && !json && term_stdout()->width)
		out_say("no events in the journal");
	if (n < 0) {
		json_out_array(json, "events");
		json_out_close(json);
	}
	json_out_string(json, "error", err->code ? err->text : NULL);
	return -err->code;
}

const struct command cmd_log = {
	.name = "log",
	.operands = { "[OBJECT]" },
	.options = CMD_JSON | CMD_SINCE,
	.needs = CMD_BARE,
	.summary = "Show the events of vGPUs from the journal",
	.help = "OBJECT is a domain (name or UUID), a vGPU (ID) or a pGPU; the default is all\n"
		"events. Each line has the time, the event (created, adopted, reserved, restored,\n"
		"refused, failed, released, delayed or reclaimed) and the message. TIME is\n" EVENTS_SINCE_FORMS ".\n",
	.run = run,
};
