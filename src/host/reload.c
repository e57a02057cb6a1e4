/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When systemd last started or reloaded a service. */
#include "host/reload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/sys.h"

enum { ANSWER_SIZE = 4096, OBJECT_SIZE = 512, WAIT_MS = 3000 };

/* As systemd names the objects of its units: whatever is no letter or digit is _ and two hex digits. */
static int object_of(char object[OBJECT_SIZE], const char *unit)
{
	size_t n = (size_t)snprintf(object, OBJECT_SIZE, "/org/freedesktop/systemd1/unit/");

	for (const char *s = unit; *s && n + 4 < OBJECT_SIZE; s++)
		n += (size_t)snprintf(object + n, OBJECT_SIZE - n, isalnum((unsigned char)*s) ? "%c" : "_%02x",
				      (unsigned char)*s);
	return n + 4 < OBJECT_SIZE ? 0 : -ENAMETOOLONG;
}

/* All that it prints until it ends, in limited time. */
static int read_answer(int fd, char answer[ANSWER_SIZE])
{
	int64_t end = sys_now_ms() + WAIT_MS;
	size_t len = 0;

	while (len + 1 < ANSWER_SIZE) {
		struct pollfd waits = { .fd = fd, .events = POLLIN };
		int64_t left = end - sys_now_ms();
		ssize_t n;

		if (left <= 0 || poll(&waits, 1, (int)left) == 0)
			return -ETIMEDOUT;
		n = read(fd, answer + len, ANSWER_SIZE - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	answer[len] = '\0';
	return 0;
}

/* Runs it with nothing of our environment. Its exit status, or a negative errno. */
static int run(const char *program, char *const argv[], char answer[ANSWER_SIZE])
{
	static char locale[] = "LC_ALL=C";
	char *const env[] = { locale, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	autoclose int out = fds[0];
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	r = -posix_spawn(&pid, program, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (r < 0)
		return r;
	r = read_answer(out, answer);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return r < 0 ? r : WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/*
 * A running service changes its state when it is started and when a reload begins and ends. The times of the command
 * that reloads it would be more exact, but are forgotten when systemd reads its units anew: after each package that
 * brings one.
 */
static int parse(const char *answer, int64_t *wall_us)
{
	char end;

	return sscanf(answer, "t %" SCNd64 "%c", wall_us, &end) == 2 && end == '\n' ? 0 : -EBADMSG;
}

int reload_ask(const char *busctl, const char *unit, int64_t *wall_us, struct err *err)
{
	char object[OBJECT_SIZE], answer[ANSWER_SIZE];
	char *const argv[] = { (char *)"busctl",
			       (char *)"--no-pager",
			       (char *)"get-property",
			       (char *)"org.freedesktop.systemd1",
			       object,
			       (char *)"org.freedesktop.systemd1.Unit",
			       (char *)"StateChangeTimestamp",
			       NULL };
	int r = object_of(object, unit);

	if (r == 0)
		r = run(busctl, argv, answer);
	if (r > 0)
		return err_set(err, EIO, "cannot ask systemd about %s", unit);
	if (r == 0)
		r = parse(answer, wall_us);
	return r < 0 ? err_sys(err, -r, "cannot ask systemd about %s", unit) : 0;
}
