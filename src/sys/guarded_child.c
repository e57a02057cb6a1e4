/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the rest of the caller in a child, whose crash does no harm. */
#include "sys/guarded_child.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sys/sys.h"

/* The child sends the length before the data: without it, data that end with a crash would seem whole. */
int guarded_child_give(int parent, const char *data, size_t len)
{
	int answer = -EPIPE;

	if (sys_write_all(parent, (const char *)&len, sizeof(len)) == 0 && sys_write_all(parent, data, len) == 0 &&
	    shutdown(parent, SHUT_WR) == 0)
		(void)!read(parent, &answer, sizeof(answer));
	return answer;
}

static void print_given(int child)
{
	autofree char *given = NULL;
	size_t got = 0, len;
	int answer;

	if (sys_slurp(child, SIZE_MAX, &given, &got) < 0 || got < sizeof(len))
		return;
	memcpy(&len, given, sizeof(len));
	if (len != got - sizeof(len))
		return;
	answer = sys_write_all(STDOUT_FILENO, given + sizeof(len), len);
	(void)!write(child, &answer, sizeof(answer));
}

int guarded_child_begin(int *status)
{
	int ends[2];
	pid_t pid;

	*status = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	close(ends[pid == 0 ? 0 : 1]);
	if (pid == 0)
		return ends[1];
	if (pid > 0)
		print_given(ends[0]);
	close(ends[0]);
	if (pid < 0)
		return -1;
	waitpid(pid, status, 0);
	return GUARDED_CHILD_ENDED;
}
