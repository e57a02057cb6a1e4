/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sends each line as one datagram, to the journal in its native protocol, or to syslog. sd_journal_send(3) and
 * syslog(3) would wait for a full log without limit.
 */
#include "sys/log.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum { DATAGRAM_MAX = 8192, LINE_SIZE = 1000 };

static const char *ident; /* NULL: the log is off */
static const char *below; /* the root below which the log's sockets are */
static bool to_stderr;
static int out = -1;
static bool is_journal; /* `out` is connected to the journal; false: to syslog */
static uint64_t lost;

struct datagram {
	char data[DATAGRAM_MAX];
	size_t len;
};

void log_open(const char *program, const char *root, bool standard_error)
{
	to_stderr = standard_error;
	below = root ? root : "";
	ident = program;
}

static void close_socket(void)
{
	if (out >= 0)
		close(out);
	out = -1;
}

static bool connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s%s", below, path) >= (int)sizeof(to.sun_path))
		return false;
	out = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (out >= 0 && connect(out, (const struct sockaddr *)&to, sizeof(to)) < 0)
		close_socket();
	return out >= 0;
}

static bool open_socket(void)
{
	if (out >= 0)
		return true;
	is_journal = connect_to("/run/systemd/journal/socket");
	return is_journal || connect_to("/dev/log");
}

/*
 * Writes "NAME\n", the value's length in 64 bits, the value, "\n". In the protocol's other form, "NAME=VALUE\n", a
 * value could begin another field. A field that does not fit is left out.
 */
static void add_field(struct datagram *to, const char *name, const char *value)
{
	size_t name_len = strlen(name), len = value ? strlen(value) : 0;
	uint64_t size = htole64(len);

	if (len == 0 || name_len + len + sizeof(size) + 2 > sizeof(to->data) - to->len)
		return;
	to->len = (size_t)(stpcpy(stpcpy(to->data + to->len, name), "\n") - to->data);
	memcpy(to->data + to->len, &size, sizeof(size));
	to->len += sizeof(size);
	memcpy(to->data + to->len, value, len);
	to->len += len;
	to->data[to->len++] = '\n';
}

static void format_journal(struct datagram *to, const struct log_field *fields, int priority, const char *text)
{
	const char digits[] = { (char)('0' + priority), '\0' };

	add_field(to, "MESSAGE", text);
	add_field(to, "PRIORITY", digits);
	add_field(to, "SYSLOG_FACILITY", "3"); /* LOG_DAEMON */
	add_field(to, "SYSLOG_IDENTIFIER", ident);
	for (; fields && fields->name; fields++)
		add_field(to, fields->name, fields->value);
}

/* Formats a line as syslog(3) does: <PRIORITY>MONTH DAY TIME IDENT[PID]: TEXT. */
static void format_syslog(struct datagram *to, int priority, const char *text)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };
	char when[32];

	localtime_r(&now, &tm);
	/* In English, because no program sets LC_TIME. */
	strftime(when, sizeof(when), "%b %e %T", &tm);
	to->len = (size_t)snprintf(to->data, sizeof(to->data), "<%d>%s %s[%d]: %s", LOG_DAEMON | priority, when, ident,
				   (int)getpid(), text);
}

static bool send_line(const struct log_field *fields, int priority, const char *text)
{
	/* Try twice, because the log can have been restarted since the last line. */
	for (int i = 0; i < 2 && open_socket(); i++) {
		struct datagram line = { .len = 0 };

		if (is_journal)
			format_journal(&line, fields, priority, text);
		else
			format_syslog(&line, priority, text);
		if (send(out, line.data, line.len, MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EAGAIN || errno == ENOBUFS)
			return false;
		close_socket();
	}
	return false;
}

/* Logs the number of lost lines. If the log is still full, the next call tries again. */
static void tell_lost(void)
{
	char text[96];

	if (lost == 0)
		return;
	snprintf(text, sizeof(text), "log: %" PRIu64 " message%s lost: the log was full", lost, lost == 1 ? "" : "s");
	if (send_line(NULL, LOG_WARNING, text))
		lost = 0;
}

void log_close(void)
{
	if (!ident || to_stderr)
		return;
	/* Without a connection there is no log that could take the report. */
	if (out >= 0)
		tell_lost();
	close_socket();
}

static void log_printable(const struct log_field *fields, int priority, const char *line)
{
	if (!ident)
		return;
	if (to_stderr) {
		fprintf(stderr, "%s: %s%s\n", ident, priority == LOG_WARNING ? "warning: " : "", line);
		return;
	}
	if (open_socket())
		tell_lost();
	/* Until the lost lines are reported, drop this line as well, so that the log stays in order. */
	if (out < 0 || lost || !send_line(fields, priority, line))
		lost++;
}

void log_fields(const struct log_field *fields, int priority, const char *fmt, va_list ap)
{
	char raw[2048], line[LINE_SIZE];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	text_safe(line, sizeof(line), raw);
	log_printable(fields, priority, line);
}

void log_line(const char *text)
{
	char line[LINE_SIZE];

	text_safe_again(line, sizeof(line), text, false);
	log_printable(NULL, LOG_INFO, line);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_fields(NULL, LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_fields(NULL, LOG_WARNING, fmt, ap);
	va_end(ap);
}

bool log_keeps_debug(void)
{
	return ident && !to_stderr && open_socket();
}
