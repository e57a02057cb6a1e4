/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per event to syslog, or to standard error. Never XML: it can hold passwords.
 *
 * Off until log_open(): nothing is sent in a dry run, and nothing about a simulated host reaches the real host's log.
 * It never waits: what a log that is full does not take is lost, and the next line that goes through says how many.
 */
#pragma once

/* To syslog. `program` must stay. */
void log_open(const char *program);

/* The same, to the datagram socket at `path`. */
void log_open_at(const char *program, const char *path);

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
