/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a daemon tells systemd. */
#include "base/notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static int fd = -1;
static int interval_ms;
static char status[512];

/* A path, or with "@" before it a name that is no file's. */
static int connect_to(const char *where)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(where);
	int s;

	if ((*where != '/' && *where != '@') || n >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, where, n);
	if (*where == '@')
		to.sun_path[0] = '\0';
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s >= 0 && connect(s, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0)
		return s;
	if (s >= 0)
		close(s);
	return -1;
}

static void read_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long n;

	if (pid && (!text_number(pid, 1, INT32_MAX, &n) || n != getpid()))
		return;
	if (usec && text_number(usec, 1000, (long)INT32_MAX * 1000, &n))
		interval_ms = (int)(n / 2000);
}

void notify_open(void)
{
	const char *where = getenv("NOTIFY_SOCKET");

	interval_ms = 0;
	fd = where ? connect_to(where) : -1;
	if (fd >= 0)
		read_watchdog();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static void tell(const char *line)
{
	/* systemd that does not listen is no reason to stop. */
	if (fd >= 0)
		(void)!send(fd, line, strlen(line), MSG_NOSIGNAL);
}

void notify_ready(void)
{
	tell("READY=1");
}

void notify_reloading(void)
{
	struct timespec t;
	char line[64];

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(line, sizeof(line), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		 (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
	tell(line);
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}

void notify_alive(void)
{
	tell("WATCHDOG=1");
}

void notify_status(const char *fmt, ...)
{
	char raw[512], safe[512], line[sizeof(safe) + 8];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	text_safe(safe, sizeof(safe), raw);
	if (strcmp(safe, status) == 0)
		return;
	memcpy(status, safe, sizeof(status));
	snprintf(line, sizeof(line), "STATUS=%s", safe);
	tell(line);
}

int notify_interval_ms(void)
{
	return interval_ms;
}
