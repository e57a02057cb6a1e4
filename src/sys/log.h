/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: writes one line per event to the journal (with fields), to syslog if there is no journal, or to standard
 * error. Never log XML, which can contain passwords.
 *
 * Nothing is logged before log_open(), which a dry run does not call. A simulated host has its log sockets below its
 * root. The log never waits: lines that a full log does not accept are lost, and a later line says how many.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/* Logs to the journal or syslog below `root`; NULL means the real host. Both strings must outlive the log. */
void log_open(const char *program, const char *root);

/* Logs to standard error, for a program run by hand. */
void log_open_stderr(const char *program);

/*
 * Closes the connection; the next line opens a new one. Call it before closing descriptors in bulk, and at the end, so
 * that lost lines are reported.
 */
void log_close(void);

/* Log an action, or a warning. Both make the text printable and cut it at 1,000 bytes. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* log_info() for a text that is already printable. */
void log_line(const char *text);

/* A field of the journal. No byte of its value can begin another field. */
struct log_field {
	const char *name;  /* NULL ends a list */
	const char *value; /* NULL or "": the field is left out */
};

/* Logs a line with a priority of syslog(3), and with these fields, which go to the journal only. */
void log_fields(const struct log_field *fields, int priority, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Is there a journal or syslog, which may keep lines of LOG_DEBUG? False if the log is standard error. */
bool log_keeps_debug(void);
