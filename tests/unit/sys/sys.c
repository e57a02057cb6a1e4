/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host, its clock, its processes; files by descriptor: what is read, refused, and replaced as a whole. */
#include "sys/sys.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/tree.h"

static struct tree tree;
#define ROOT tree.host.root

static void opening(void)
{
	struct host host = { .root = -1 };
	autoclosedir DIR *list = NULL, *none = NULL, *file = NULL;
	struct err err;

	host_close(&host);
	ok(host.root == -1, "a host that was never opened can be closed");
	ok(host_open(&host, "/nowhere/at/all", &err) == -ENOENT && strstr(err.text, "--root /nowhere/at/all"),
	   "a missing root is named");
	ok(host_open(&host, tree.path, &err) == 0, "an existing one is opened");
	is(host.name, tree.path, "and called by its name");
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

static char *content(const char *path)
{
	static char buf[SYS_OVERWRITE_MAX + 1];

	if (sys_read(ROOT, path, buf, sizeof(buf)) < 0)
		strcpy(buf, "(none)");
	return buf;
}

static void reading(void)
{
	char buf[8];

	ok(sys_read(ROOT, "short", buf, sizeof(buf)) == 5 && strcmp(buf, "a b c") == 0,
	   "a file is read without the white space behind it");
	ok(sys_read(ROOT, "fits", buf, sizeof(buf)) == 6, "one that leaves a byte for the NUL fits");
	ok(sys_read(ROOT, "full", buf, sizeof(buf)) == -EFBIG, "one byte more is too large");
	ok(sys_read(ROOT, "nul", buf, sizeof(buf)) == -EINVAL, "a NUL byte is no text");
	ok(sys_read(ROOT, "link", buf, sizeof(buf)) == -ELOOP, "a link is not followed");
	ok(sys_read(ROOT, "none", buf, sizeof(buf)) == -ENOENT, "a missing file is missing");
	ok(sys_read(ROOT, "pipe", buf, sizeof(buf)) == 0, "a pipe is not waited for");
}

static void slurping(void)
{
	autoclose int fd = openat(ROOT, "large", O_RDONLY | O_CLOEXEC);
	autofree char *text = NULL, *none = NULL;
	size_t len = 0;

	ok(sys_slurp(fd, 40000, &text, &len) == 0 && len == 40000 && strlen(text) == 40000,
	   "all of a large file is read");
	lseek(fd, 0, SEEK_SET);
	ok(sys_slurp(fd, 39999, &none, &len) == -EFBIG && !none, "unless it is larger than allowed");
}

static void poking(void)
{
	ok(sys_poke(ROOT, "short", "XY", 2) == 0, "an existing file is written to");
	is(content("short"), "XYb c", "and not truncated");
	ok(sys_poke(ROOT, "none", "x", 1) == -ENOENT && strcmp(content("none"), "(none)") == 0,
	   "a missing one is not created");
	ok(sys_poke(ROOT, "link", "x", 1) == -ELOOP, "a link is not followed");
}

static void publishing(void)
{
	struct stat st;
	mode_t mask = umask(0777);

	ok(sys_publish(ROOT, "new", "one\n", 4) == 0, "a file appears");
	umask(mask);
	ok(fstatat(ROOT, "new", &st, 0) == 0 && (st.st_mode & 07777) == 0644, "with mode 0644, whatever the umask");
	is(content("new"), "one", "as a whole");
	tree_add(&tree, ".new.new = leftover\n");
	ok(sys_publish(ROOT, "new", "three\n", 6) == 0, "it is replaced, over the leftover of a killed writer");
	is(content("new"), "three", "as a whole again");
	ok(faccessat(ROOT, ".new.new", F_OK, 0) < 0, "and nothing is left beside it");
}

static void overwriting(void)
{
	static const char large[SYS_OVERWRITE_MAX + 1];
	struct stat before, after;

	fstatat(ROOT, "new", &before, 0);
	ok(sys_overwrite(ROOT, "new", "4\n", 2) == 0, "a file is overwritten in its place");
	fstatat(ROOT, "new", &after, 0);
	ok(before.st_ino == after.st_ino && before.st_size == after.st_size, "the same file, no shorter");
	is(content("new"), "4", "with the new text alone");
	ok(sys_overwrite(ROOT, "new", large, sizeof(large)) == -ENOSPC, "more than a page is refused");
	ok(sys_overwrite(ROOT, "large", "x", 1) == -ENOSPC, "so is a file of more than a page");
	ok(sys_overwrite(ROOT, "none", "x", 1) == -ENOENT, "a missing one is not created");
}

static void linking(void)
{
	char base[8];

	ok(sys_link(ROOT, "link", base, sizeof(base)) == 0, "a link is read");
	is(base, "short", "its last component");
	ok(sys_link(ROOT, "link", base, 5) == -ENAMETOOLONG, "which has to fit");
	ok(sys_link(ROOT, "short", base, sizeof(base)) == -EINVAL, "a file is no link");
}

static void owning(void)
{
	struct stat st;
	int fd = sys_own_dir(ROOT, "own");

	ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0755,
	   "a directory of our own is made, for all to read");
	close(fd);
	fchmodat(ROOT, "own", 0700, 0);
	fd = sys_own_dir(ROOT, "own");
	ok(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0755, "one whose maker died early is opened to all");
	close(fd);
	fchmodat(ROOT, "own", 0775, 0);
	ok(sys_own_dir(ROOT, "own") == -EPERM, "one that others may write to is refused");
	ok(sys_own_dir(ROOT, "to-own") == -ENOTDIR || sys_own_dir(ROOT, "to-own") == -ELOOP, "so is a link to one");
}

static void begin(void)
{
	static char large[40000];

	memset(large, 'x', sizeof(large));
	tree_begin(&tree, "etc/file = x\nshort = a b c\nfits = 123456\nfull = 1234567\nlink -> short\nto-own -> own\n");
	sys_publish(ROOT, "large", large, sizeof(large));
	sys_publish(ROOT, "nul", "a\0b", 3);
	mkfifoat(ROOT, "pipe", 0600);
}

static void end(void)
{
	tree_end(&tree);
}

TESTS(begin, opening, clocks, processes, reading, slurping, poking, publishing, overwriting, linking, owning, end)
