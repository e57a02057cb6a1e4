/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the state is kept, and its locks. */
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "lib/leases.h"

static void opening(void)
{
	struct store one;

	TREE(bare, "run/\nvar/lib/\n");
	ok(store_open(&one, &bare.host, false, &err) == 0 && one.leases < 0,
	   "a store that is not there is an empty one");
	ok(!store_locked(&one, STORE_LOCK) && !store_locked_vgpu(&one, A) && !store_locked(&one, STORE_HANDLER),
	   "in which nothing is locked");
	store_close(&one);
	store_note_call(bare.path);
	ok(faccessat(bare.host.root, "run/vgpu-lease", F_OK, 0) < 0, "a call makes none");
	err = (struct err){ 0 };
	ok(store_open(&one, &bare.host, true, &err) == 0, "it is made when it is needed %s", err.text);
	ok(one.run >= 0 && one.leases >= 0 && one.seen >= 0 && one.affinity >= 0, "with its directories");
	store_close(&one);
	ok(one.run == -1 && one.leases == -1 && one.seen == -1 && one.affinity == -1, "closed, it has none");
}

static void calls(void)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct stat st;

	store_note_call(tree.path);
	ok(fstatat(store.run, "called", &st, 0) == 0, "the first call is noted");
	utimensat(store.run, "called", long_ago, 0);
	store_note_call(tree.path);
	ok(fstatat(store.run, "called", &st, 0) == 0 && st.st_mtim.tv_sec > 1, "so is each later one");
}

static void locks(void)
{
	struct store other;
	char own[32];
	pid_t child;
	int fd;

	ok(store_open(&other, &tree.host, true, &err) == 0 && store_lock(&store, 100, &err) == 0,
	   "the store's lock is taken");
	ok_err(store_lock(&other, 30, &err) == -ETIMEDOUT, "a second one waits, and gives up");
	snprintf(own, sizeof(own), "process %d ", (int)getpid());
	ok(strstr(err.text, own) != NULL, "and names the holder");
	store_unlock(&store);
	ok(store_lock(&other, 0, &err) == 0, "free again it is had at once");
	/* The handler forks in one thread while another has the lock; the child can be in the kernel for ever. */
	child = fork();
	if (child == 0) {
		alarm(60);
		pause();
		_exit(1);
	}
	store_unlock(&other);
	ok(child > 0 && store_lock(&store, 0, &err) == 0, "also where a child that was forked meanwhile lives on");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = fork();
	if (child == 0) {
		sys_sleep_ms(50);
		unlinkat(store.run, STORE_LOCK, 0);
		store_unlock(&store);
		_exit(0);
	}
	/* Only the child's copy keeps the lock now. */
	close(store.lock);
	store.lock = -1;
	ok(store_lock(&other, 5000, &err) == 0 && store_locked(&store, STORE_LOCK),
	   "a lock file that is removed while it is waited for is made again");
	store_unlock(&other);
	waitpid(child, NULL, 0);
	fd = store_lock_pgpu(&store, "0000:41:00.0", 0, &err);
	ok(fd >= 0 && store_lock_pgpu(&other, "0000:41:00.0", 0, &err) == -ETIMEDOUT, "a pGPU's lock is had once");
	ok(close(store_lock_pgpu(&other, "0000:42:00.0", 0, &err)) == 0, "another pGPU's is another lock");
	ok(store_locked(&other, "pgpu/0000:41:00.0.lock") && !store_locked(&other, "pgpu/0000:42:00.0.lock"),
	   "somebody can ask whether it is held");
	ok(store_lock(&other, 0, &err) == 0 && store_locked(&store, STORE_LOCK), "the store's lock is taken under it");
	store_unlock(&other);
	ok(!store_locked(&store, STORE_LOCK), "and released before it");
	close(fd);
	ok(!store_locked(&other, "pgpu/0000:41:00.0.lock"), "closed, it is free");
	store_close(&other);
}

/* A lock that is taken without waiting is never that of a removed file. */
static void removed_lock(void)
{
	int64_t end_ms = sys_now_ms() + 500;
	int taken = 0, stale = 0;
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		for (;;) {
			int fd = openat(store.run, STORE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			struct stat st;

			if (flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && st.st_nlink)
				unlinkat(store.run, STORE_LOCK, 0);
			close(fd);
		}
	}
	while (sys_now_ms() < end_ms) {
		struct stat st;

		if (store_lock(&store, 0, &err) < 0)
			continue;
		taken++;
		stale += fstat(store.lock, &st) < 0 || !st.st_nlink;
		store_unlock(&store);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(stale == 0, "%d of %d locks that were had without waiting are of a removed file", stale, taken);
}

static void record(const char *name, pid_t pid, long long since_ms)
{
	char text[96];

	snprintf(text, sizeof(text), "%-10d %-20llu %-20lld\n", (int)pid, (unsigned long long)sys_process_start(pid),
		 since_ms);
	tree_file(tree.host.root, name, text);
}

static void holders(void)
{
	static const char card[] = "0000:43:00.0", name[] = "pgpu/0000:43:00.0.lock";
	char path[64], who[96], own[32];
	pid_t child = fork();
	int fd;

	if (child == 0) {
		alarm(60);
		pause();
		_exit(1);
	}
	snprintf(path, sizeof(path), STORE_RUN "/%s", name);
	snprintf(own, sizeof(own), "process %d", (int)getpid());
	close(store_lock_pgpu(&store, card, 0, &err));
	record(path, child, 1);
	ok(!store_lock_hung(&store, card, 1000), "a lock that nobody holds does not hang");
	fd = openat(store.run, name, O_RDWR | O_CLOEXEC);
	ok(fd >= 0 && flock(fd, LOCK_EX) == 0, "a lock is held, by another process than the recorded one");
	ok(!store_lock_hung(&store, card, 1000), "since when is not known then");
	store_name_holder(&store, name, who, sizeof(who));
	ok(strcmp(who, own) == 0, "the holder is named, not the one that is recorded");
	record(path, getpid(), 1);
	ok_err(store_lock_hung(&store, card, 1000) && store_lock_holder(&store, card, 0, &err) == -ETIMEDOUT &&
		       strstr(err.text, own),
	       "the time counts that the holder itself has recorded");
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void removals(void)
{
	struct store other;
	int lock, copy;

	must(store_open(&other, &tree.host, true, &err));
	ok(!store_locked_vgpu(&store, A), "nothing is being removed");
	lock = store_lock_vgpu(&store, A, &err);
	ok(lock >= 0 && store_locked_vgpu(&store, A) && store_locked_vgpu(&other, A),
	   "the removal of a device is seen, by others as well");
	ok(store_lock_vgpu(&store, A, &err) == -EAGAIN && store_lock_vgpu(&other, A, &err) == -EAGAIN,
	   "there is one at a time");
	ok(!store_locked_vgpu(&other, B), "other devices are not concerned");
	ok(store_lock(&other, 0, &err) == 0, "nor is the store's lock");
	store_unlock(&other);
	ok(unlinkat(store.run, STORE_LOCK, 0) == 0 && store_lock(&other, 0, &err) == 0 && store_locked_vgpu(&other, A),
	   "nor does it end with the file of the store's lock");
	store_unlock(&other);
	copy = fcntl(lock, F_DUPFD_CLOEXEC, 3);
	close(lock);
	ok(store_locked_vgpu(&other, A), "a child that is still at it keeps it");
	store_unlock_vgpu(A, copy);
	ok(!store_locked_vgpu(&other, A), "ended, it is over");
	lock = store_lock_vgpu(&store, A, &err);
	copy = fcntl(lock, F_DUPFD_CLOEXEC, 3);
	store_unlock_vgpu(A, lock);
	ok(!store_locked_vgpu(&other, A), "also if a child has a copy of the lock");
	ok(unlinkat(store.run, STORE_WORK, 0) == 0 && !store_locked_vgpu(&other, A),
	   "nobody sees the locks of a removed file");
	lock = store_lock_vgpu(&store, A, &err);
	ok(lock >= 0 && store_locked_vgpu(&other, A), "it is created again");
	store_unlock_vgpu(A, lock);
	close(copy);
	store_close(&other);
}

static void look(void)
{
	struct store_space space;
	int root;

	TREE(bare, "run/\nvar/lib/\n");
	root = bare.host.root;
	store_space(bare.host.root, "run/vgpu-lease/leases", &space);
	ok(space.code == 0 && space.bytes && space.files && strlen(space.near) < strlen("run/vgpu-lease"),
	   "there is space for a store in the directory above it: '%s'", space.near);
	ok(store_would_open(&bare.host, &err) == 0, "one that is not there could be made %s", err.text);
	ok(faccessat(root, "run/vgpu-lease", F_OK, 0) < 0, "a look does not");
	tree_add(&bare, "run/vgpu-lease/\n");
	ok_err(symlinkat("elsewhere", root, "run/vgpu-lease/leases") == 0 &&
		       store_would_open(&bare.host, &err) == -ENOTDIR,
	       "a link in the place of a directory would not do");
}

HOST_TESTS("run/\nvar/lib/\n", look, opening, calls, locks, removed_lock, holders, removals)
