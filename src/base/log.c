/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per event to syslog. Not by syslog(3), which waits without a bound for a log that is full; a line
 * that finds no room is lost, and counted.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static const char *ident; /* NULL: the log is off */
static const char *where; /* NULL: to standard error */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;
static unsigned long lost;

void log_open(const char *program)
{
	log_open_at(program, "/dev/log");
}

void log_open_at(const char *program, const char *path)
{
	where = path;
	ident = program;
}

void log_open_stderr(const char *program)
{
	where = NULL;
	ident = program;
}

static void close_socket(void)
{
	if (out >= 0)
		close(out);
	out = -1;
}

static bool open_socket(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (out >= 0)
		return true;
	if (!text_copy(to.sun_path, sizeof(to.sun_path), where))
		return false;
	out = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (out >= 0 && connect(out, (const struct sockaddr *)&to, sizeof(to)) < 0)
		close_socket();
	return out >= 0;
}

/* As syslog(3) writes it: <PRIORITY>MONTH DAY TIME IDENT[PID]: TEXT. */
static bool send_line(int priority, const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char line[1200];
	time_t now = time(NULL);
	struct tm tm = { 0 };
	int len;

	localtime_r(&now, &tm);
	len = snprintf(line, sizeof(line), "<%d>%.3s %2d %02d:%02d:%02d %s[%d]: %s", LOG_DAEMON | priority,
		       months + (size_t)tm.tm_mon * 3, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ident,
		       (int)getpid(), text);
	if (len >= (int)sizeof(line))
		len = (int)sizeof(line) - 1;
	/* Twice: the log may have been started anew since the last line. */
	for (int i = 0; i < 2 && open_socket(); i++) {
		if (send(out, line, (size_t)len, MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EAGAIN || errno == ENOBUFS)
			return false;
		close_socket();
	}
	return false;
}

/* Says how many lines were lost, once one goes through. With the lock held. */
static void tell_lost(void)
{
	char text[96];

	if (lost == 0)
		return;
	snprintf(text, sizeof(text), "log: %lu message%s lost: %s took no more", lost, lost == 1 ? "" : "s", where);
	if (send_line(LOG_WARNING, text))
		lost = 0;
}

void log_close(void)
{
	if (!ident || !where)
		return;
	pthread_mutex_lock(&lock);
	tell_lost();
	close_socket();
	pthread_mutex_unlock(&lock);
}

__attribute__((format(printf, 2, 0))) static void put_line(int priority, const char *fmt, va_list ap)
{
	char raw[2048], line[1000];

	if (!ident)
		return;
	vsnprintf(raw, sizeof(raw), fmt, ap);
	text_safe(line, sizeof(line), raw);
	if (!where) {
		fprintf(stderr, "%s: %s%s\n", ident, priority == LOG_WARNING ? "warning: " : "", line);
		return;
	}
	pthread_mutex_lock(&lock);
	tell_lost();
	/* Not before those that were lost earlier are told: the order of what is read is that of the events. */
	if (lost || !send_line(priority, line))
		lost++;
	pthread_mutex_unlock(&lock);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(LOG_WARNING, fmt, ap);
	va_end(ap);
}
