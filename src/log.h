/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per event to syslog, or to standard error. Never XML: it can hold passwords.
 *
 * Off until log_open(): nothing is sent in a dry run, and nothing about a simulated host reaches the real host's log.
 *
 * Depends on: text. Knows nothing of the rest.
 */
#pragma once

void log_open(const char *program);

/* To standard error, for who watches a program at work. */
void log_open_stderr(const char *program);

/* Closes the connection; the next line opens a new one. Before descriptors are closed in bulk. */
void log_close(void);

/* Something that was done, or a warning; made printable, cut at 1,000 bytes. */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
