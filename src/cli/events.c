/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* journalctl reads the journal: it knows times as people write them, and needs no library in this program. */
#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/ident.h"
#include "base/mem.h"
#include "cli/journal.h"
#include "cli/out.h"
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
	if (words->n == WORDS_MAX)
		abort();
	words->list[words->n++] = mem_vformat(fmt, ap);
	va_end(ap);
}

static void free_words(struct words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->list[i]);
}

/* What root has sent: anybody can write to the journal under our name. */
static void ask(struct words *words, const struct events_query *query)
{
	static const char *const fields[] = { "VGPU_LEASE_ID", "PGPU", "DOMAIN_UUID", "DOMAIN_NAME" };
	const char *of = query->object;
	char id[ID_SIZE];

	add(words, "journalctl");
	add(words, "--no-pager");
	add(words, "--quiet");
	add(words, "--output=export");
	if (query->root)
		add(words, "--root=%s", query->root);
	if (query->since)
		add(words, "--since=%s", query->since);
	if (query->last)
		add(words, "--lines=%d", query->last);
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

/* The journals of the system, of one machine or all: files that the user may read, files and directories not. */
struct journals {
	int readable, closed;
};

static int not_allowed(const char *path, int code)
{
	(void)path;
	return code == EACCES;
}

/* As journalctl does: of a host that is named, the journals of all machines; otherwise this one's. No namespace's. */
static void look_at(struct journals *journals, const char *root, const char *place)
{
	char machine[64] = "";
	autofree char *pattern = NULL;
	glob_t found = { 0 };

	if (!root && file_read(AT_FDCWD, "/etc/machine-id", machine, sizeof(machine)) > 0)
		machine[strcspn(machine, "\n")] = '\0';
	pattern = mem_format("%s/%s/log/journal/%s/system*.journal", root ? root : "", place,
			     *machine ? machine : "????????????????????????????????");
	journals->closed += glob(pattern, GLOB_NOSORT, not_allowed, &found) == GLOB_ABORTED;
	for (size_t n = 0; n < found.gl_pathc; n++) {
		if (faccessat(AT_FDCWD, found.gl_pathv[n], R_OK, AT_EACCESS) == 0)
			journals->readable++;
		else if (errno == EACCES)
			journals->closed++;
	}
	globfree(&found);
}

#define READER "run as root or as a member of group systemd-journal"

/* Of journals that the user may not read journalctl says nothing where it finds one that it can read. */
static int look(struct journals *journals, const char *root, struct err *err)
{
	*journals = (struct journals){ 0 };
	if (access(JOURNALCTL, X_OK) < 0)
		return err_sys(err, errno, JOURNALCTL "; without the journal, events are in syslog only");
	look_at(journals, root, "var");
	look_at(journals, root, "run");
	if (!journals->closed || journals->readable)
		return 0;
	return err_set(err, EACCES, "journal: cannot be read: permission denied; " READER);
}

int events_check(const char *root, struct err *err)
{
	struct journals journals;

	return look(&journals, root, err);
}

bool events_know_time(const char *since)
{
	posix_spawn_file_actions_t actions;
	struct words words = { .n = 0 };
	int status = 0;
	pid_t pid;

	/* It looks at the time first, and then reads no journal. */
	add(&words, "journalctl");
	add(&words, "--since=%s", since);
	add(&words, "--version");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, JOURNALCTL, &actions, NULL, words.list, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&actions);
	free_words(&words);
	return status == 0;
}

/* Starts journalctl; what it prints can be read from *from, what it complains of is in the file `complaints`. */
static int start(pid_t *pid, FILE **from, int complaints, char *const argv[], struct err *err)
{
	posix_spawn_file_actions_t actions;
	int fds[2], r;

	if (complaints < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "journalctl");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
	r = posix_spawn(pid, JOURNALCTL, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	*from = mem_check(fdopen(fds[0], "r"));
	return r == 0 ? 0 : err_sys(err, r, JOURNALCTL);
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

/* What does not fit goes on below the message. */
static void print_line(const struct journal_entry *entry, const char *when)
{
	autofree char *line = mem_format("%s  %-9s  %s", when, entry->event, entry->message);

	/* The message was made printable when it was logged. */
	term_wrap_printable(stdout, term_stdout(), 0, "                                 ", line);
}

static bool is_event(const char *word)
{
	for (enum event event = 0; event < EVENTS; event++)
		if (strcmp(event_word(event), word) == 0)
			return true;
	return false;
}

static int print(FILE *from, bool count, struct json_out *json, struct err *err)
{
	struct journal_entry entry;
	int r, n = 0;

	while ((r = journal_read(from, &entry, err)) == 1) {
		time_t seconds = (time_t)(entry.time_us / 1000000);
		char when[32];
		struct tm tm;

		gmtime_r(&seconds, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
		if (is_event(entry.event) && !count && json)
			print_json(json, &entry, when);
		else if (is_event(entry.event) && !count)
			print_line(&entry, when);
		n += is_event(entry.event);
		journal_entry_free(&entry);
	}
	return r < 0 ? r : n;
}

/* It complains of files that it cannot read, and goes on with the others as if nothing had happened. */
static int end(pid_t pid, int complaints, const struct journals *journals, struct err *err)
{
	char said[512] = "";
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, errno, "journalctl");
	if (pread(complaints, said, sizeof(said) - 1, 0) < 0)
		said[0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, EIO, "journalctl: %s", *said ? said : "exited with an error");
	if (*said)
		return err_set(err, EIO, "journal: events may be missing: %s", said);
	if (journals->closed)
		return err_set(err, EACCES,
			       "journal: events may be missing: permission denied for %d of its files; " READER,
			       journals->closed);
	return 0;
}

int events_print(const struct events_query *query, struct json_out *json, struct err *err)
{
	autoclose int complaints = memfd_create("journalctl", MFD_CLOEXEC);
	struct words words = { .n = 0 };
	struct journals journals;
	struct err why;
	pid_t pid = -1;
	autofclose FILE *from = NULL;
	int r, ended;

	if (look(&journals, query->root, err) < 0)
		return -err->code;
	ask(&words, query);
	r = start(&pid, &from, complaints, words.list, err);
	free_words(&words);
	if (r < 0)
		return r;
	r = print(from, query->count, json, err);
	/* Where its output could not be understood there may be more of it than a pipe holds. */
	fclose(steal_ptr(&from));
	ended = end(pid, complaints, &journals, &why);
	if (r >= 0 && ended < 0) {
		*err = why;
		r = ended;
	}
	return r;
}
