/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log never waits: what does not fit is lost and counted. No value breaks out of its field; syslog is second. */
#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include "base/text.h"
#include "sys/log.h"
#include "lib/tree.h"

enum { MANY = 2000 };

static struct tree tree;

static int listen_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", tree.path, name);
	unlink(path);
	text_copy(at.sun_path, sizeof(at.sun_path), path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
		perror(path);
		return -1;
	}
	return fd;
}

static const char *next(int fd)
{
	static char line[2048];
	ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	return line;
}

static void test_form(int fd)
{
	char req[64];
	const char *line;
	int priority = 0, day, h, m, s;
	char month[4];

	log_info("prepare: domain %s: made it\n", "vm");
	line = next(fd);
	snprintf(req, sizeof(req), "me[%d]: prepare: domain vm: made it", (int)getpid());
	ok(sscanf(line, "<%d>%3s %d %d:%d:%d ", &priority, month, &day, &h, &m, &s) == 6,
	   "a line has priority and time: %s", line);
	ok(priority == (LOG_DAEMON | LOG_INFO), "its priority is what syslog(3) would give it");
	ok(strstr(line, req) != NULL, "name, process and text follow");
	log_warn("x");
	ok(sscanf(next(fd), "<%d>", &priority) == 1 && priority == (LOG_DAEMON | LOG_WARNING), "a warning is one");
}

static void test_full(int fd)
{
	char req[96];
	int came = 0;

	/* Where it waits, the alarm ends it. */
	alarm(20);
	for (int i = 0; i < MANY; i++)
		log_info("line %d", i);
	alarm(0);
	ok(1, "a log that is full keeps nobody waiting");
	while (*next(fd))
		came++;
	ok(came > 0 && came < MANY, "it has %d lines of %d", came, MANY);
	log_info("after");
	snprintf(req, sizeof(req), "log: %d messages lost", MANY - came);
	ok(strstr(next(fd), req) != NULL, "once there is capacity, it is told how many were lost");
	ok(strstr(next(fd), "after") != NULL, "then comes the line itself");
	for (int i = 0; i < MANY; i++)
		log_info("line %d", i);
	while (*next(fd))
		;
	log_close();
	ok(strstr(next(fd), "lost") != NULL, "it is told at the end, too");
}

/* A datagram of the journal's protocol as a server takes it apart: "NAME=VALUE", in the order in which they came. */
struct entry {
	char fields[16][1600];
	int n; /* -1: not of the protocol */
};

static struct entry receive(int fd)
{
	struct entry entry = { .n = 0 };
	char data[16384];
	ssize_t got = recv(fd, data, sizeof(data), 0);
	const char *at = data, *end = data + (got > 0 ? got : 0);

	while (at < end && entry.n >= 0) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *equals = line ? memchr(at, '=', (size_t)(line - at)) : NULL;
		uint64_t size = 0;

		if (equals || !line || end - line < (ptrdiff_t)sizeof(size) + 1)
			return (struct entry){ .n = -1 };
		memcpy(&size, line + 1, sizeof(size));
		size = le64toh(size);
		if (size > (uint64_t)(end - line) - sizeof(size) - 2 || line[1 + sizeof(size) + size] != '\n')
			return (struct entry){ .n = -1 };
		snprintf(entry.fields[entry.n++], sizeof(entry.fields[0]), "%.*s=%.*s", (int)(line - at), at, (int)size,
			 line + 1 + sizeof(size));
		at = line + 2 + sizeof(size) + size;
	}
	return entry;
}

static const char *field(const struct entry *entry, const char *name)
{
	for (int i = 0; i < entry->n; i++)
		if (strncmp(entry->fields[i], name, strlen(name)) == 0 && entry->fields[i][strlen(name)] == '=')
			return entry->fields[i] + strlen(name) + 1;
	return NULL;
}

__attribute__((format(printf, 2, 3))) static void put(const struct log_field *fields, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_fields(fields, LOG_WARNING, fmt, ap);
	va_end(ap);
}

static void test_journal(int journal, int syslog)
{
	static char longest[9000];
	const struct log_field fields[] = { { "DOMAIN_NAME", "vm\nPGPU=0000:41:00.0\nMESSAGE_ID\n" },
					    { "PGPU", "" },
					    { "VGPU_LEASE_TYPE", NULL },
					    { "DOMAIN_UUID", longest },
					    { "VGPU_LEASE_ID", "0000:41:00.4" },
					    { 0 } };
	struct entry entry;

	memset(longest, 'x', sizeof(longest) - 1);
	put(fields, "refused:\nPRIORITY=0 %s", "vm");
	entry = receive(journal);
	is(field(&entry, "MESSAGE"), "refused:\\x0aPRIORITY=0 vm", "the journal gets the line as MESSAGE, on one line");
	is(field(&entry, "PRIORITY"), "4", "a warning is one");
	is(field(&entry, "SYSLOG_IDENTIFIER"), "me", "under the program's name");
	is(field(&entry, "SYSLOG_FACILITY"), "3", "as a daemon's");
	is(field(&entry, "DOMAIN_NAME"), fields[0].value, "a value is whole, whatever it holds");
	is(field(&entry, "PGPU"), NULL, "and begins no other field; one without a value is left out");
	is(field(&entry, "VGPU_LEASE_TYPE"), NULL, "likewise one that is not there");
	is(field(&entry, "DOMAIN_UUID"), NULL, "and one that is too long");
	is(field(&entry, "VGPU_LEASE_ID"), "0000:41:00.4", "those behind it are there");
	ok(entry.n == 6, "and nothing else: %d fields", entry.n);
	is(next(syslog), "", "syslog gets nothing then");
}

static void test_nowhere(void)
{
	static char path[256];

	log_info("nobody is there");
	ok(1, "where there is no log, nothing happens");
	snprintf(path, sizeof(path), "/%0200d", 0);
	log_close();
	log_open("me", path, false);
	log_info("a path that no socket can have");
	ok(1, "nor where its path is too long for a socket");
	log_open("me", tree.path, false);
}

int main(void)
{
	int syslog, journal;

	tree_begin(&tree, "dev/\nrun/systemd/journal/\n");
	log_info("nobody");
	log_open("me", tree.path, false);
	test_nowhere();
	syslog = listen_at("dev/log");
	log_close();
	is(next(syslog), "", "where the last line found no log, the end does not look for one again");
	log_info("again");
	ok(strstr(next(syslog), "log: 2 messages lost") && strstr(next(syslog), "again"),
	   "a log that is started later is found");
	test_form(syslog);
	test_full(syslog);
	journal = listen_at("run/systemd/journal/socket");
	test_journal(journal, syslog);
	close(journal);
	log_info("the journal has ended");
	ok(strstr(next(syslog), "has ended") != NULL, "where the journal has gone, syslog gets the line");
	close(syslog);
	log_close();
	tree_end(&tree);
	return tap_done();
}
