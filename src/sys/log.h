/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: a line per event to the journal, to syslog if there is no journal, or to standard error. Never log XML,
 * which can contain passwords. Nothing is logged before log_open(). The log never waits: a line that a full log does
 * not accept is lost, and a later line reports how many were.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/*
 * Logs to the journal or syslog below `root` (NULL: of the real host), or to stderr. Both strings must outlive the log.
 */
void log_open(const char *program, const char *root, bool standard_error);

/* Reports lost lines and closes the connection, which the next line opens again. Call it before closing descriptors. */
void log_close(void);

/* Log an action or a warning, made printable and cut to 1,000 bytes. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* log_info() for a text that is already printable. */
void log_line(const char *text);

/* A field of the journal. No byte of its value can begin another field. */
struct log_field {
	const char *name;  /* NULL ends a list */
	const char *value; /* NULL or "": the field is left out */
};

/* Logs a line with a priority of syslog(3). Only the journal gets the fields. */
void log_fields(const struct log_field *fields, int priority, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* True if there is a journal or syslog, which can keep lines of LOG_DEBUG. False for a log on standard error. */
bool log_keeps_debug(void);
