/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log: one line per event to syslog. */
#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <syslog.h>

#include "text.h"

static bool is_open;
static const char *to_stderr; /* the program's name; NULL: to syslog */

void log_open(const char *program)
{
	openlog(program, LOG_PID, LOG_DAEMON);
	is_open = true;
}

void log_open_stderr(const char *program)
{
	to_stderr = program;
	is_open = true;
}

void log_close(void)
{
	if (is_open && !to_stderr)
		closelog();
}

__attribute__((format(printf, 2, 0))) static void send_line(int priority, const char *fmt, va_list ap)
{
	char raw[2048], line[1000];

	if (!is_open)
		return;
	vsnprintf(raw, sizeof(raw), fmt, ap);
	text_safe(line, sizeof(line), raw);
	if (to_stderr)
		fprintf(stderr, "%s: %s%s\n", to_stderr, priority == LOG_WARNING ? "warning: " : "", line);
	else
		syslog(priority, "%s", line);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_line(LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_line(LOG_WARNING, fmt, ap);
	va_end(ap);
}
