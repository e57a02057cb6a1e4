/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work that may hang: a write to a pipe that nobody reads stands for a driver that does not answer. */
#include "sys/timed_child.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/tree.h"

enum { SHORT_MS = 1000, LONG_MS = 60000, TRY_MS = 10 };

static struct tree tree;
static struct err said; /* by the last call of a test */
static struct arena *shared;

struct work {
	int lock;      /* a descriptor to look for */
	int calls;     /* so many writes to the pipe */
	int before_ms; /* so long it does something else before them */
	bool kept, stdin_is_null, after, looked;
	char text[16];
};

static struct work *share(struct work work)
{
	return memcpy(mem_take(shared, sizeof(work)), &work, sizeof(work));
}

static int find(void *arg, struct err *err)
{
	struct work *w = arg;
	char text[16];
	struct stat a, b;

	w->kept = w->lock >= 0 && fcntl(w->lock, F_GETFD) >= 0;
	w->stdin_is_null = fstat(0, &a) == 0 && stat("/dev/null", &b) == 0 && a.st_rdev == b.st_rdev;
	if (timed_child_read("card", tree.host.root, "answer", text, sizeof(text)) < 0)
		return err_set(err, EIO, "no answer");
	memcpy(w->text, text, sizeof(text));
	return 0;
}

static int fail(void *arg, struct err *err)
{
	return err_set(err, ENOSPC, "card: full");
}

static int die(void *arg, struct err *err)
{
	return kill(getpid(), SIGKILL);
}

/* The kernel kills the process at its end, once the work is done. */
static int die_afterwards(void *arg, struct err *err)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	struct work *w = arg;

	w->after = true;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return err_sys(err, errno, "seccomp");
	return 0;
}

/* A read that is answered, and then calls that are not. */
static int hang(void *arg, struct err *err)
{
	struct work *w = arg;
	int r = find(arg, err);

	sys_sleep_ms(w->before_ms);
	for (int i = 0; r == 0 && i < w->calls; i++)
		r = timed_child_poke(tree.host.root, "pipe", "1", 1);
	w->after = true;
	return r;
}

static int writes(int (*work)(void *arg, struct err *err), void *arg, int lock, int ms)
{
	return timed_child_run(work, arg, tree.host.root, (const int[2]){ lock, -1 }, ms, 0, &said);
}

static int looks(int (*work)(void *arg, struct err *err), void *arg, int ms)
{
	return timed_child_look(work, arg, NULL, tree.host.root, ms, &said);
}

static int open_lock(void)
{
	int fd = openat(tree.host.root, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		tree_fail("lock");
	return fd;
}

static bool lock_is_free(void)
{
	int fd = open_lock();
	bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;

	close(fd);
	return is_free;
}

static size_t silents(void)
{
	size_t n;

	timed_child_silents(&n);
	return n;
}

static int open_pipe(void)
{
	return openat(tree.host.root, "pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void answered(void)
{
	struct work *w = share((struct work){ .lock = open_lock() });
	int other = open_lock();

	ok(writes(find, w, w->lock, LONG_MS) == 0, "work that writes is done");
	is(w->text, "42", "and what it found is there");
	ok(writes(fail, NULL, -1, LONG_MS) == -ENOSPC, "its error is ours");
	is(said.text, "card: full", "with its text");
	ok(looks(fail, NULL, LONG_MS) == -ENOSPC, "also that of a look");
	ok(looks(find, w, LONG_MS) == 0, "a look is done");
	ok(w->stdin_is_null, "it has none of our standard descriptors");
	ok(!w->kept, "a look has no lock");
	ok(writes(find, w, w->lock, LONG_MS) == 0 && w->kept, "a write has its lock");
	w->lock = other;
	writes(find, w, open_lock(), LONG_MS);
	ok(!w->kept, "and no other");
	ok(writes(die, NULL, -1, LONG_MS) == -EINTR, "one that is killed is told of");
	ok(looks(die, NULL, LONG_MS) == -EINTR, "so is a look");
	w->after = false;
	alarm(60);
	ok(writes(die_afterwards, w, open_lock(), LONG_MS) == 0 && w->after,
	   "one that is killed when its work is done keeps nobody waiting");
	alarm(0);
}

static int write_when_told(void *arg, struct err *err)
{
	struct work *w = arg;

	w->kept = true;
	while (!w->looked)
		sys_sleep_ms(TRY_MS);
	w->calls = timed_child_poke(tree.host.root, "number", "1", 1);
	w->after = true;
	return 0;
}

/* What a child does that is told to write, after its parent was killed or not. */
static struct work *told(bool orphaned)
{
	struct work *w = share((struct work){ .lock = -1 });
	pid_t parent = fork();

	if (parent == 0)
		_exit(writes(write_when_told, w, -1, LONG_MS));
	while (!w->kept)
		sys_sleep_ms(TRY_MS);
	if (orphaned)
		kill(parent, SIGKILL);
	else
		w->looked = true;
	waitpid(parent, NULL, 0);
	w->looked = true;
	for (int i = 0; i < 50 && !w->after; i++)
		sys_sleep_ms(TRY_MS);
	return w;
}

static void orphaned(void)
{
	ok(told(false)->after, "a child writes");
	ok(!told(true)->after, "but not when its parent was killed before it came to that");
}

static void unnoticed(void)
{
	struct work *w = share((struct work){ .lock = -1 });

	signal(SIGCHLD, SIG_IGN);
	ok(writes(find, w, -1, LONG_MS) == 0, "work is done where SIGCHLD is ignored");
	is(w->text, "42", "and what it found is there");
	ok(looks(die, NULL, LONG_MS) == -EINTR, "one that is killed is told of");
	signal(SIGCHLD, SIG_DFL);
}

static int build(void *arg, struct err *err)
{
	char **names = NULL;
	size_t n = 0;

	for (int i = 0; i < 1000; i++)
		*(char **)mem_add(&names, &n, sizeof(*names)) = mem_format("name %d", i);
	mem_free(names[0]);
	*(char ***)arg = names;
	return 0;
}

static void in_memory(void)
{
	struct arena *arena = mem_arena(1 << 20);
	char ***names = mem_take(arena, sizeof(*names)), *heap;

	ok(timed_child_look(build, names, arena, tree.host.root, LONG_MS, &said) == 0,
	   "a look builds a list in an arena");
	is((*names)[999], "name 999", "and its parent has it");
	heap = mem_strdup("ours");
	is(heap, "ours", "whose own memory is another");
	mem_free(heap);
	mem_arena_end(arena);
}

static int stand_back(void *arg, struct err *err)
{
	const struct sched_param none = { 0 };

	return sched_setscheduler(0, SCHED_IDLE, &none) < 0 ? err_sys(err, errno, "SCHED_IDLE") : 0;
}

/* On a single CPU, a SCHED_IDLE child still exists when its parent learns the result. */
static void a_write_is_done(void)
{
	cpu_set_t before, one;
	int done = 0, freed = 0;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ok(sched_getaffinity(0, sizeof(before), &before) == 0 && sched_setaffinity(0, sizeof(one), &one) == 0,
	   "parent and child share one CPU");
	said = (struct err){ 0 };
	for (int i = 0; i < 20; i++) {
		int lock = open_lock();

		flock(lock, LOCK_EX);
		done += writes(stand_back, NULL, lock, LONG_MS) == 0;
		close(lock);
		freed += lock_is_free();
	}
	sched_setaffinity(0, sizeof(before), &before);
	ok(done == 20, "20 writes are done: %s", said.text);
	ok(freed == 20, "each lock is free at once: %d of 20", freed);
}

static void a_write_hangs(void)
{
	struct work *w = share((struct work){ .lock = open_lock(), .calls = 1 });
	int pipe;

	flock(w->lock, LOCK_EX);
	ok(writes(hang, w, w->lock, SHORT_MS) == -ETIMEDOUT, "a write that hangs is left: %s", said.text);
	is(w->text, "42", "what was done before it is there");
	close(w->lock);
	ok(!lock_is_free(), "it keeps its lock, though we let go of it");
	ok(eventually(silents() == 0), "nobody is said not to answer reads");
	pipe = open_pipe();
	ok(eventually(lock_is_free()), "until it returns");
	ok(!w->after, "and it touches nothing then");
	close(pipe);
}

static void many_writes_hang(void)
{
	struct work *w = share((struct work){ .lock = -1, .calls = 1 });
	int pipe, hung = 0, n = TIMED_CHILD_SILENT_MAX + 16;
	siginfo_t info;

	for (int i = 0; i < n; i++)
		hung += writes(hang, w, -1, TRY_MS) == -ETIMEDOUT;
	ok(hung == n, "%d writes hang at once", hung);
	pipe = open_pipe();
	eventually(silents() == 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0);
	ok(waitpid(-1, NULL, WNOHANG) < 0, "and none of their processes is left when they return, nor a zombie");
	close(pipe);
}

static void a_read_hangs(void)
{
	struct work *w = share((struct work){ .lock = -1, .calls = 1 });
	struct timed_child_silent silent;
	size_t n;
	char text[16];
	int pipe;

	ok(looks(hang, w, SHORT_MS) == -ETIMEDOUT, "a look that hangs is left: %s", said.text);
	silent = *timed_child_silents(&n);
	ok(n == 1 && strcmp(silent.who, "card") == 0 && sys_process_lives(silent.pid, silent.start),
	   "whose answer a live process waits for is known");
	ok(timed_child_read("card", tree.host.root, "answer", text, sizeof(text)) == -ETIMEDOUT,
	   "that device is not asked again");
	ok(timed_child_read("other", tree.host.root, "answer", text, sizeof(text)) == 2, "others are");
	timed_child_add_silent(&silent);
	ok(silents() == 1, "it is known once");
	pipe = open_pipe();
	ok(eventually(silents() == 0), "when it returns, the device counts as answering");
	ok(timed_child_read("card", tree.host.root, "answer", text, sizeof(text)) == 2, "and is asked again");
	close(pipe);
}

/* After which time a write is left; 0: it is not. */
static int64_t hangs_ms(struct work *w, int ms)
{
	int64_t start = sys_now_ms();

	return writes(hang, w, -1, ms) == -ETIMEDOUT ? sys_now_ms() - start : 0;
}

static void slow(void)
{
	struct work *w = share((struct work){ .lock = -1, .calls = 1, .before_ms = 1000 });
	int64_t start, took = 0;
	bool in_time = at_best((took = hangs_ms(w, 1500)) >= 1500 && took < 2500);

	ok(in_time, "a write has time for all of its work: %d ms", (int)took);
	start = sys_now_ms();
	ok(looks(hang, w, 1500) == -ETIMEDOUT && sys_now_ms() - start >= 2500, "a look has it for each call");
	close(open_pipe());
}

static int drag(void *arg, struct err *err)
{
	struct work *w = arg;
	int r = find(arg, err);

	for (int i = 0; i < w->calls; i++, sys_sleep_ms(TRY_MS))
		(void)timed_child_poke(tree.host.root, "pipe", "1", 1);
	w->after = true;
	return r;
}

/* Each call is answered, and all together take longer than a device may. */
static void slow_together(void)
{
	struct work *w = share((struct work){ .lock = -1, .calls = 20 });
	pid_t reader = fork();

	for (int i = 0; reader == 0 && i < 20; i++) {
		int fd = openat(tree.host.root, "pipe", O_RDONLY | O_CLOEXEC);

		(void)!read(fd, &(char){ 0 }, 1);
		close(fd);
		sys_sleep_ms(100);
	}
	if (reader == 0)
		_exit(0);
	ok(looks(drag, w, 400) == -ETIMEDOUT && !w->after, "a device that answers each read late is left, too");
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	close(open_pipe());
}

static void begin(void)
{
	tree_begin(&tree, "answer = 42\n"
			  "number = 0\n");
	if (mkfifoat(tree.host.root, "pipe", 0600) < 0)
		tree_fail("pipe");
	signal(SIGPIPE, SIG_IGN);
	shared = mem_arena(1 << 20);
}

static void end(void)
{
	tree_end(&tree);
}

TESTS(begin, answered, orphaned, unnoticed, in_memory, a_write_is_done, a_write_hangs, many_writes_hang, a_read_hangs,
      slow, slow_together, end)
