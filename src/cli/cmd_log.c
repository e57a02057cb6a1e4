/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease log: print the events of vGPUs from systemd's journal. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/ident.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/status.h"
#include "model/event.h"

enum { VALUE_MAX = 65536 };

static void close_journal(sd_journal **journal)
{
	sd_journal_close(*journal);
}

#define autojournal __attribute__((cleanup(close_journal)))

/* Which journal files can be read. libsystemd silently skips unreadable files. */
struct files {
	int readable, closed; /* numbers of files; closed: permission denied */
	char *invalid;        /* the first file with another error, and the error */
};

static int not_allowed(const char *path, int code)
{
	(void)path;
	return code == EACCES;
}

#define READER "run as root or as a member of group systemd-journal"

/* Finds the files that libsystemd reads: of all machines with --root, else of this machine. */
static int find_files(struct files *files, const char *root, struct err *err)
{
	static const char *const tops[] = { "var", "run" };
	char machine[64] = "";

	*files = (struct files){ 0 };
	if (!root && access("/var/log/journal", F_OK) < 0 && access("/run/log/journal", F_OK) < 0)
		return err_set(err, ENOENT, "this host keeps no journal; events are in syslog only");
	if (root || sys_read(AT_FDCWD, "/etc/machine-id", machine, sizeof(machine)) < 0 || !*machine)
		text_copy(machine, sizeof(machine), "????????????????????????????????");
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		autofree char *pattern = mem_format("%s/%s/log/journal/%s/system*.journal{,~}", root ? root : "",
						    tops[i], machine);
		glob_t found = { 0 };

		files->closed += glob(pattern, GLOB_NOSORT | GLOB_BRACE, not_allowed, &found) == GLOB_ABORTED;
		for (size_t n = 0; n < found.gl_pathc; n++) {
			const char *path[] = { found.gl_pathv[n], NULL };
			autojournal sd_journal *journal = NULL;
			int r = sd_journal_open_files(&journal, path, 0);

			files->readable += r >= 0;
			files->closed += r == -EACCES;
			if (r < 0 && r != -EACCES && !files->invalid)
				files->invalid = mem_format("cannot read %s: %s", *path, strerror(-r));
		}
		globfree(&found);
	}
	if (!files->closed || files->readable)
		return 0;
	free(steal_ptr(&files->invalid));
	return err_set(err, EACCES, "journal: cannot be read: permission denied; " READER);
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

	for (enum event event = 0; r >= 0 && event < EVENTS; event++)
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

/* Copies VALUE, which begins at `at`, from "NAME=VALUE". */
static char *value_of(const char *data, size_t len, size_t at)
{
	return mem_strndup(data + at, len - at < VALUE_MAX ? len - at : VALUE_MAX);
}

/* Returns the field's first value, or "". The caller frees the text. */
static char *read_field(sd_journal *journal, const char *field)
{
	const void *data;
	size_t len;

	if (sd_journal_get_data(journal, field, &data, &len) < 0)
		return mem_strdup("");
	return value_of(data, len, strlen(field) + 1);
}

static void print_ids(sd_journal *journal, struct json_out *json)
{
	static const char field[] = "VGPU_LEASE_ID=";
	const void *data;
	size_t len;

	json_out_array(json, "ids");
	SD_JOURNAL_FOREACH_DATA(journal, data, len)
	{
		autofree char *id = NULL;

		if (len < strlen(field) || memcmp(data, field, strlen(field)) != 0)
			continue;
		id = value_of(data, len, strlen(field));
		json_out_string(json, NULL, id);
	}
	json_out_close(json);
}

static void print_event(sd_journal *journal, struct json_out *json, uint64_t us)
{
	autofree char *event = read_field(journal, "VGPU_LEASE_EVENT"), *message = read_field(journal, "MESSAGE");
	char when[32];

	out_time(when, (time_t)(us / 1000000));
	if (!json) {
		autofree char *line = mem_format("%s  %-9s  %s", when, event, message);
		/* The program that logged the message has made it printable. */
		term_wrap_printable(term_stdout(), 0, "                                 ", line);
		return;
	}
	autofree char *type = read_field(journal, "VGPU_LEASE_TYPE"), *pgpu = read_field(journal, "PGPU");
	autofree char *uuid = read_field(journal, "DOMAIN_UUID"), *name = read_field(journal, "DOMAIN_NAME");
	autofree char *reason = read_field(journal, "VGPU_LEASE_REASON");

	json_out_object(json, NULL);
	json_out_string(json, "time", when);
	json_out_string(json, "event", event);
	print_ids(journal, json);
	json_out_text(json, "type", type);
	json_out_text(json, "pgpu", pgpu);
	out_json_domain(json, uuid, *name ? name : NULL);
	json_out_text(json, "reason", reason);
	json_out_string(json, "message", message);
	json_out_close(json);
}

/* Returns the number of events, or a negative errno. */
static int print_events(sd_journal *journal, struct events_query *query, struct json_out *json)
{
	uint64_t us, since = (uint64_t)query->since_us;
	int r = query->last ? sd_journal_seek_tail(journal) : sd_journal_seek_realtime_usec(journal, since), n = 0;

	if (r >= 0)
		r = query->last ? sd_journal_previous_skip(journal, (uint64_t)query->last) : sd_journal_next(journal);
	while (r > 0) {
		r = sd_journal_get_realtime_usec(journal, &us);
		if (r >= 0 && us >= since) {
			print_event(journal, json, us);
			n++;
		}
		if (r >= 0)
			r = sd_journal_next(journal);
	}
	query->ever = r >= 0 && !n && sd_journal_seek_tail(journal) >= 0 && sd_journal_previous(journal) > 0;
	return r < 0 ? r : n;
}

int events_print(struct cmd *cmd, struct events_query *query, struct err *err)
{
	const char *root = cmd->call->args.root;
	struct json_out *json = cmd_json(cmd);
	autojournal sd_journal *journal = NULL;
	struct files files;
	int r = find_files(&files, root, err);
	autofree char *invalid = files.invalid;

	query->readable = r == 0;
	if (r < 0)
		return r;
	json_out_array(json, "events");
	r = root ? sd_journal_open_directory(&journal, root, SD_JOURNAL_OS_ROOT | SD_JOURNAL_SYSTEM)
		 : sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
	if (r >= 0)
		r = sd_journal_set_data_threshold(journal, VALUE_MAX);
	if (r >= 0)
		r = select_events(journal, query->object);
	if (r >= 0)
		r = print_events(journal, query, json);
	json_out_close(json);
	if (r < 0)
		return err_set(err, -r, "journal: events may be missing: %s", strerror(-r));
	if (invalid)
		return err_set(err, EIO, "journal: events may be missing: %s", invalid);
	if (files.closed)
		return err_set(err, EACCES,
			       "journal: events may be missing: permission denied for %d of its files; " READER,
			       files.closed);
	return r;
}

/* Fails if this host has no such object. Succeeds if the host or the leases cannot be read. */
static int find_object(struct cmd *cmd, const char *object, struct err *err)
{
	char similar[CMD_SIMILAR_SIZE];
	enum show_kind kind;
	struct err why;

	if (cmd_open(cmd, CMD_CONFIG_OWN, &why) < 0 || cmd_survey(cmd, &why) < 0)
		return 0;
	kind = show_kind(cmd);
	if (kind == SHOW_PGPU) {
		cmd_take_pgpu(cmd, object);
		return cards_check_pgpu(cmd, err);
	}
	if (kind == SHOW_VGPU || cmd_knows_domain(cmd, object, similar, &why))
		return 0;
	return err_set(err, ENOENT, "%s: no events, and no such domain, vGPU or pGPU on this host%s", object, similar);
}

static int run(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	char id[ID_SIZE];
	const char *object = args->noperands ? args->operands[0] : NULL;
	struct events_query query = { .object = object && id_parse(id, object) ? id : object,
				      .since_us = cmd->call->since_us };
	struct json_out *json = cmd_json(cmd);
	int r = events_print(cmd, &query, err);
	bool none = r == 0;

	if (none && object && !query.ever)
		r = find_object(cmd, query.object, err);
	/* Print this only on a terminal, because scripts may count lines. */
	if (none && r == 0 && !json && term_stdout()->width)
		out_say("no events in the journal");
	if (!query.readable) {
		json_out_array(json, "events");
		json_out_close(json);
	}
	json_out_string(json, "error", r < 0 ? err->text : NULL);
	return r < 0 ? r : CMD_DONE;
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
