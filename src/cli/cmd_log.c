/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-lease log: what happened to vGPUs, from the journal.
 *
 * journalctl reads it: it knows times as people write them, and needs no library in this program.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "cli/journal.h"
#include "model/event.h"

#define JOURNALCTL "/usr/bin/journalctl"

enum { WORDS_MAX = 32 };

/* The command line of journalctl. */
struct words {
	char *list[WORDS_MAX + 1];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (words->n == WORDS_MAX || vasprintf(&words->list[words->n++], fmt, ap) < 0)
		abort();
	va_end(ap);
}

static void free_words(struct words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->list[i]);
}

/* What root has sent: anybody can write to the journal under our name. */
static void ask(struct words *words, const struct cmd_call *call)
{
	static const char *const fields[] = { "VGPU_LEASE_ID", "PGPU", "DOMAIN_UUID", "DOMAIN_NAME" };
	const char *of = call->args.noperands ? call->args.operands[0] : NULL;
	char id[ID_SIZE];

	add(words, "journalctl");
	add(words, "--no-pager");
	add(words, "--output=export");
	if (call->args.root)
		add(words, "--root=%s", call->args.root);
	if (call->since)
		add(words, "--since=%s", call->since);
	add(words, "_UID=0");
	if (!of) {
		for (enum event event = 0; event < EVENTS; event++)
			add(words, "MESSAGE_ID=%s", event_message_id(event));
		return;
	}
	if (id_parse(id, of))
		of = id;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (i > 0) {
			add(words, "+");
			add(words, "_UID=0");
		}
		add(words, "%s=%s", fields[i], of);
	}
}

/* Starts journalctl; what it prints can be read from *from. */
static int start(pid_t *pid, FILE **from, char *const argv[], struct err *err)
{
	posix_spawn_file_actions_t actions;
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "journalctl");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	r = posix_spawn(pid, JOURNALCTL, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	*from = fdopen(fds[0], "r");
	if (!*from)
		abort();
	return r == 0 ? 0 : err_sys(err, r, JOURNALCTL ": without the journal, events are in syslog only");
}

static void print_json(struct json_out *json, const struct journal_entry *entry, const char *when)
{
	json_out_object(json, NULL);
	json_out_string(json, "time", when);
	json_out_string(json, "event", entry->event);
	json_out_array(json, "ids");
	for (size_t i = 0; i < entry->nids; i++)
		json_out_string(json, NULL, entry->ids[i]);
	json_out_close(json);
	json_out_text(json, "type", entry->type);
	json_out_text(json, "pgpu", entry->pgpu);
	out_json_domain(json, *entry->uuid ? entry->uuid : NULL, *entry->name ? entry->name : NULL);
	json_out_text(json, "reason", entry->reason);
	json_out_string(json, "message", entry->message);
	json_out_close(json);
}

static bool is_event(const char *word)
{
	for (enum event event = 0; event < EVENTS; event++)
		if (strcmp(event_word(event), word) == 0)
			return true;
	return false;
}

static int print(FILE *from, struct json_out *json, struct err *err)
{
	struct journal_entry entry;
	int r;

	while ((r = journal_read(from, &entry, err)) == 1) {
		time_t seconds = (time_t)(entry.time_us / 1000000);
		char when[32];
		struct tm tm;

		gmtime_r(&seconds, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
		if (is_event(entry.event) && json)
			print_json(json, &entry, when);
		else if (is_event(entry.event))
			out_say("%s  %-9s  %s", when, entry.event, entry.message);
		journal_entry_free(&entry);
	}
	return r;
}

/* What journalctl has to say is on standard error already. */
static int end(pid_t pid, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, errno, "journalctl");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, EIO, "journalctl: exited with an error: see its message above");
}

static int run(struct cmd *cmd, struct err *err)
{
	struct words words = { .n = 0 };
	struct json_out json;
	struct err why;
	pid_t pid = -1;
	autofclose FILE *from = NULL;
	int r, ended;

	ask(&words, cmd->call);
	r = start(&pid, &from, words.list, err);
	free_words(&words);
	if (r < 0)
		return r;
	if (cmd->call->json) {
		cmd_json_begin(&json, NULL);
		json_out_array(&json, "events");
	}
	r = print(from, cmd->call->json ? &json : NULL, err);
	/* Where its output could not be understood there may be more of it than a pipe holds. */
	fclose(steal_ptr(&from));
	ended = end(pid, &why);
	if (r == 0 && ended < 0) {
		*err = why;
		r = ended;
	}
	if (cmd->call->json) {
		json_out_close(&json);
		json_out_string(&json, "error", r < 0 ? err->text : NULL);
		json_out_end(&json);
	}
	return r;
}

const struct command cmd_log = {
	.name = "log",
	.operand = "[OBJECT]",
	.options = CMD_JSON | CMD_SINCE,
	.needs = CMD_BARE,
	.summary = "Show what happened to vGPUs, from the journal",
	.help = "OBJECT is a domain (name or UUID), a vGPU (ID) or a pGPU; without it, all events\n"
		"are shown. Each line has the time, the event (created, adopted, reserved,\n"
		"restored, refused, failed, released, delayed, reclaimed) and the message.\n"
		"TIME is as in journalctl(1): '2026-01-31 14:00', yesterday, -1h.\n",
	.run = run,
};
