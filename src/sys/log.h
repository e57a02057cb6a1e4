/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per event to the journal, with fields of its own, or where there is no journal to syslog; or to
 * standard error. Never XML: it can hold passwords.
 *
 * Off until log_open(): nothing is sent in a dry run. The log of a simulated host is below its root.
 * It never waits: what a log that is full does not take is lost, and the process's next line that goes through says how
 * many.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/* To the journal or syslog below `root`; NULL is the real host. Both strings must stay. */
void log_open(const char *program, const char *root);

/* To standard error, for who watches a program at work. */
void log_open_stderr(const char *program);

/*
 * Closes the connection; the next line opens a new one. Before descriptors are closed in bulk, and at the end, so that
 * what was lost is told.
 */
void log_close(void);

/* Something that was done, or a warning; made printable, cut at 1,000 bytes. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same of a line that is printable already. */
void log_line(const char *text);

/* A field of the journal. What its value holds cannot become another field. */
struct log_field {
	const char *name;  /* NULL ends a list of them */
	const char *value; /* NULL or "": the field is left out */
};

/* The same with these fields, which syslog and standard error do not have. */
void log_fields(const struct log_field *fields, bool warning, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
