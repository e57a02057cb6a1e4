/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log never waits: a line that finds no room is lost and counted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log.h"
#include "lib/tap.h"
#include "base/text.h"

enum { MANY = 2000 };

static char path[64];

static int listen_at(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	text_copy(at.sun_path, sizeof(at.sun_path), path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
		perror(path);
		return -1;
	}
	return fd;
}

/* The next line that came; "" none. */
static const char *next(int fd)
{
	static char line[2048];
	ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	return line;
}

static void test_form(int fd)
{
	char req[64];
	const char *line;
	int priority = 0, day, h, m, s;
	char month[4];

	log_info("prepare: domain %s: made it\n", "vm");
	line = next(fd);
	snprintf(req, sizeof(req), "me[%d]: prepare: domain vm: made it", (int)getpid());
	ok(sscanf(line, "<%d>%3s %d %d:%d:%d ", &priority, month, &day, &h, &m, &s) == 6,
	   "a line has priority and time: %s", line);
	ok(priority == (LOG_DAEMON | LOG_INFO), "its priority is what syslog(3) would give it");
	ok(strstr(line, req) != NULL, "name, process and text follow");
	log_warn("x");
	ok(sscanf(next(fd), "<%d>", &priority) == 1 && priority == (LOG_DAEMON | LOG_WARNING), "a warning is one");
}

static void test_full(int fd)
{
	char req[96];
	int came = 0;

	/* Where it waits, the alarm ends it. */
	alarm(20);
	for (int i = 0; i < MANY; i++)
		log_info("line %d", i);
	alarm(0);
	ok(1, "a log that is full keeps nobody waiting");
	while (*next(fd))
		came++;
	ok(came > 0 && came < MANY, "it has %d lines of %d", came, MANY);
	log_info("after");
	snprintf(req, sizeof(req), "log: %d messages lost", MANY - came);
	ok(strstr(next(fd), req) != NULL, "once there is room, it is told how many were lost");
	ok(strstr(next(fd), "after") != NULL, "then comes the line itself");
	for (int i = 0; i < MANY; i++)
		log_info("line %d", i);
	while (*next(fd))
		;
	log_close();
	ok(strstr(next(fd), "lost") != NULL, "it is told at the end, too");
}

int main(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/vgpu-lease-test-log.%d", (int)getpid());
	log_info("nobody");
	fd = listen_at();
	log_open_at("me", path);
	test_form(fd);
	test_full(fd);
	close(fd);
	unlink(path);
	log_info("nobody is there");
	ok(1, "where there is no log, nothing happens");
	fd = listen_at();
	log_info("again");
	ok(strstr(next(fd), "log: 1 message lost") && strstr(next(fd), "again"),
	   "a log that was started anew is found");
	close(fd);
	unlink(path);
	return tap_done();
}
