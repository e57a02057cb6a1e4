/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a daemon tells systemd: that it is ready, what it is doing, that it is alive, that it ends.
 *
 * The protocol is a datagram of NAME=VALUE lines to a socket (sd_notify(3)); for that no library is linked. Where the
 * socket is, and how often systemd expects to hear of us, is told in the environment (NOTIFY_SOCKET, WATCHDOG_USEC,
 * WATCHDOG_PID): systemd's contract, and the one exception to the rule that nothing is read from there. Both are taken
 * out of it, so that no child speaks for us. Without them all of this does nothing.
 */
#pragma once

/* Reads the environment, and clears it of what is ours. */
void notify_open(void);
void notify_close(void);

void notify_ready(void);     /* READY=1 */
void notify_reloading(void); /* RELOADING=1; notify_ready() ends it */
void notify_stopping(void);  /* STOPPING=1 */
void notify_alive(void);     /* WATCHDOG=1 */

/* STATUS=: one line for people; sent only where it is another one than before. */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How often notify_alive() is due, in milliseconds: half of what systemd waits; 0: it does not. */
int notify_interval_ms(void);
