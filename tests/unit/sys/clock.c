/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host that is looked at, its clock, and which of its processes live. */
#include "sys/sys.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/tree.h"

static void opening(const struct tree *tree)
{
	struct host host = { .root = -1 };
	autoclosedir DIR *list = NULL, *none = NULL, *file = NULL;
	struct err err;

	host_close(&host);
	ok(host.root == -1, "a host that was never opened can be closed");
	ok(host_open(&host, "/nowhere/at/all", &err) == -ENOENT && strstr(err.text, "--root /nowhere/at/all"),
	   "a missing root is named");
	ok(host_open(&host, tree->path, &err) == 0, "an existing one is opened");
	is(host.name, tree->path, "and called by its name");
	ok(host_list(&list, &host, "etc", &err) == 0 && list, "its directories can be listed");
	ok(host_list(&none, &host, "var", &err) == 0 && !none, "a missing one has no list, which is no error");
	ok(host_list(&file, &host, "etc/file", &err) == -ENOTDIR && strstr(err.text, "etc/file"),
	   "a file is one, and is named");
	host_close(&host);
	ok(host.root == -1, "closed, it has no descriptor");
}

static void clocks(void)
{
	int64_t before = sys_now_ms();

	sys_sleep_ms(20);
	ok(sys_now_ms() - before >= 20, "a sleep takes its time");
	ok(sys_left_ms(before) == 0, "nothing is left of the past");
	ok(sys_left_ms(before + 3600000) > 3500000, "much is left of an hour");
	ok(sys_left_ms(INT64_MAX) == INT_MAX, "no more than an int holds");
}

/* A child called `name` that waits until it is killed. */
static pid_t child(const char *name)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready) < 0)
		tree_fail("pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		close(ready[1] + (write(ready[1], "x", 1) < 0));
		for (;;)
			pause();
	}
	if (pid < 0 || read(ready[0], &c, 1) != 1)
		tree_fail("child");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void processes(void)
{
	uint64_t own = sys_process_start(getpid()), start;
	siginfo_t ended;
	pid_t pid;

	ok(own > 0 && sys_process_lives(getpid(), own), "this process lives");
	ok(!sys_process_lives(getpid(), own + 1), "another one that had its number does not");
	ok(!sys_process_lives(getpid(), 0), "nor one of which nothing is known");
	ok(!sys_process_exits(getpid()) && !sys_process_exits(0), "nor does one exit that runs, or that is none");
	ok(sys_process_start(0) == 0 && sys_process_start(-1) == 0, "no process has number 0 or less");
	pid = child("a) Z 1 (b");
	start = sys_process_start(pid);
	ok(start >= own && sys_process_lives(pid, start), "a name with brackets and blanks is no obstacle");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT);
	ok(sys_process_start(pid) == start && !sys_process_lives(pid, start), "a zombie is there and does not live");
	ok(sys_process_exits(pid), "it has begun to exit");
	waitpid(pid, NULL, 0);
	ok(sys_process_start(pid) == 0, "collected, it is gone");
}

int main(void)
{
	TREE(tree, "etc/file = x\n");
	opening(&tree);
	clocks();
	processes();
	return tap_done();
}
