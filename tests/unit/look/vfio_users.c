/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which process has a vGPU open. Nodes of every machine stand for VFIO's: a group with the number of /dev/full. */
#include "look/vfio_users.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/names.h"
#include "lib/tree.h"

enum { NOBODY = 65534, LONG_MS = 60000 };

#define FULL "1:7"
#define ON_MDEV(id, what) "sys/bus/mdev/devices/" id what "\n"
#define MDEV_AT(id, group) ON_MDEV(id, "/iommu_group -> ../../../../kernel/iommu_groups/" group)

/* The groups 12, 50 and 60 are /dev/full, /dev/random and /dev/urandom; vfio7 is /dev/zero. */
static const char host[] = MDEV_AT(U(a), "12") MDEV_AT(U(b), "1") MDEV_AT(U(c), "123") MDEV_AT(U(e), "60")
	ON_MDEV(U(b), "/vfio-dev/vfio7/dev = 1:5") ON_MDEV(U(d), "/") ON_MDEV(
		U(f),
		"/vfio-dev/vfio8/") "sys/bus/pci/devices/0000:41:00.4/iommu_group -> ../../../../kernel/iommu_groups/50\n"
				    "sys/bus/pci/devices/0000:00:02.1/drm/card1/dev = 226:1\n"
				    "sys/bus/pci/devices/0000:00:02.1/drm/renderD128/dev = 1:5\n"
				    "sys/bus/pci/devices/0000:00:02.2/drm/card2/dev = 1:5\n"
				    "sys/bus/pci/devices/0000:00:02.2/drm/renderD129/dev = 226:129\n"
				    "sys/class/vfio/12/dev = " FULL
				    "\nsys/class/vfio/1/dev = 511:1\nsys/class/vfio/123/dev = 511:123\n"
				    "sys/class/vfio/50/dev = 1:8\nsys/class/vfio/60/dev = 1:9\n"
				    "proc/1/fd/0 -> /dev/null\nproc/2/fd/\nproc/77/fd/3 -> /dev/null\nproc/77/fd/4 -> /dev/full\n"
				    "proc/77/fd/5 -> /dev/full\nproc/77/fd/6 -> socket:[123]\nproc/78/fd/9 -> /dev/zero\n"
				    "proc/79/fd/9 -> ../../../jail/node\njail/node -> /dev/random\n"
				    /* A file of the name that a group has, and one of the number that a node has. */
				    "proc/80/fd/9 -> ../../../dev/vfio/123\ndev/vfio/123 = a file\nproc/80/fd/10 -> /dev/vfio/123\nproc/81/\n"
				    /* Its first thread has ended. */
				    "proc/82/fd/\nproc/82/task/82/fd/\nproc/82/task/83/fd/3 -> /dev/null\nproc/82/task/84/fd/3 -> /dev/urandom\n"
				    "proc/self/fd/4 -> /dev/zero\nproc/net = 1\n";

static struct err err;

static struct vfio_users *look(const struct tree *tree)
{
	return vfio_users_read(&tree->host, sys_now_ms() + LONG_MS);
}

static int looked_open(const struct tree *tree, const char *id, pid_t *pid)
{
	struct vfio_users *h = look(tree);
	int r = vfio_users_open(h, &tree->host, id, pid, &err);

	vfio_users_free(h);
	return r;
}

static void devices(void)
{
	static const struct {
		const char *id;
		int open;
		pid_t pid;
		const char *sentence;
	} rows[] = {
		{ U(a), 1, 77, "the holder of its group has a vGPU open" },
		{ U(b), 1, 78, "so has the holder of its own node" },
		{ "0000:41:00.4", 1, 79, "and a VF's, by whatever path it came to the node" },
		{ U(c), 0, 0, "a path that reads like the group's is not the group" },
		{ U(e), 1, 82, "what only a thread has counts, and is its process's" },
		{ U(d), 0, 0, "a vGPU that VFIO has no node for is not open" },
		{ U(f), 0, 0, "nor is one whose kernel makes no nodes of devices" },
		{ "c6f1a2b3-0000-4000-8000-0000000000ff", 0, 0, "one that is gone is not open" },
	};
	struct vfio_users *h;

	TREE(tree, host);
	h = look(&tree);
	for (ROWS(row, rows)) {
		pid_t pid = 0;
		int open = vfio_users_open(h, &tree.host, row->id, &pid, &err);

		ok(open == row->open && (!open || pid == row->pid), "%s", row->sentence);
	}
	ok(vfio_users_render(h, &tree.host, "0000:00:02.1"), "a VF on which a process renders is a GPU of the host");
	ok(!vfio_users_render(h, &tree.host, "0000:00:02.2"), "not one that is only on a screen");
	ok(!vfio_users_render(h, &tree.host, "0000:41:00.4"), "nor one without a graphics driver");
	ok_err(vfio_users_open(h, &tree.host, "../../x", NULL, &err) == -EINVAL, "a path names no vGPU");
	tree_add(&tree, "sys/class/vfio/123/dev = 511\n");
	ok_err(vfio_users_open(h, &tree.host, U(c), NULL, &err) == -EINVAL,
	       "where the node's number cannot be read it is an error");
	tree_remove(&tree, "sys/bus/mdev/devices/" U(c) "/iommu_group");
	tree_add(&tree, "sys/bus/mdev/devices/" U(c) "/iommu_group = no link\n");
	ok_err(vfio_users_open(h, &tree.host, U(c), NULL, &err) == -EINVAL, "likewise the group");
	vfio_users_free(h);
}

/* What is known of a vGPU beside a process that cannot be looked into; `more` is added to the host. */
static int beside(const char *more)
{
	TREE(tree, MDEV_AT(U(a), "12")
			   MDEV_AT(U(b), "1") "sys/class/vfio/12/dev = " FULL "\nsys/class/vfio/1/dev = 511:1\n"
					      "proc/5/fd = no directory\nproc/6/fd -> fd\nproc/7/fd/3 -> /dev/full\n");
	tree_add(&tree, more);
	ok(looked_open(&tree, U(a), NULL) == 1, "what others have open is known");
	return looked_open(&tree, U(b), NULL);
}

/* What the control group of process 5 reads, and whether that makes it a QEMU of libvirt's. */
static const struct {
	const char *cgroup;
	bool qemu;
} cgroups[] = {
	{ "0::/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope/libvirt/emulator", true },
	{ "0::/production.slice/production-gpu.slice/machine-qemu\\x2d7\\x2dx.scope", true },
	{ "12:cpu,cpuacct:/user\\n4:devices:/machine/qemu-1-vm1.libvirt-qemu/emulator", true },
	{ "0::/gpu.partition/qemu-1-vm1.libvirt-qemu", true },
	{ "0::/", false },
	{ "0::/system.slice/docker-1.scope", false },
	{ "0::/user.slice/user-1000.slice/machine-qemu\\x2d1\\x2dvm1.scope", false },
	{ "0::/user.slice/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope", false },
	{ "0::/system.slice/docker-1.scope/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope", false },
	{ "0::/machine.slice/machine-lxc\\x2d1\\x2dc.scope/machine-qemu\\x2d1\\x2dvm1.scope", false },
	{ "no line of this file", false },
};

static void unreadable(void)
{
	ok(beside("") == 0, "a process that cannot be looked into proves nothing");
	ok(beside("proc/5/comm = qemu-system-x86\nproc/5/cmdline = guest=vm1\n") == 0, "whatever it calls itself");
	ok(beside("run/libvirt/qemu/vm1.pid = 15\nrun/libvirt/qemu/vm2.pid = x\n") == 0, "beside QEMUs that can be");
	ok_err(beside("run/libvirt/qemu/vm1.pid = 5\n") == -ENOTDIR && strstr(err.text, "process 5"),
	       "but if libvirt says that it is a QEMU, it is not known");
	ok_err(beside("run/libvirt/qemu/vm1.pid = 6\n") == -ELOOP, "for whatever reason");
	for (ROWS(row, cgroups)) {
		char text[256];

		snprintf(text, sizeof(text), "proc/5/cgroup = %s\n", row->cgroup);
		ok((beside(text) == -ENOTDIR) == row->qemu, "%s is %sthat of a QEMU of libvirt's", row->cgroup,
		   row->qemu ? "" : "not ");
	}
}

static void no_time(void)
{
	struct vfio_users *h;

	TREE(tree, host);
	h = vfio_users_read(&tree.host, sys_now_ms() - 1);
	ok_err(vfio_users_open(h, &tree.host, U(c), NULL, &err) == -ETIMEDOUT,
	       "without the time for a look it is not known");
	ok(vfio_users_open(h, &tree.host, U(d), NULL, &err) == 0, "but of what has no node");
	vfio_users_free(h);
	tree_remove(&tree, "proc");
	tree_remove(&tree, "sys/bus/mdev/devices/" U(b) "/vfio-dev");
	ok(looked_open(&tree, U(b), NULL) == 0, "a tree without proc has no processes");
	tree_add(&tree, "proc = no directory\n");
	ok_err(looked_open(&tree, U(b), NULL) == -ENOTDIR, "a proc that cannot be read tells nothing");
	vfio_users_free(NULL);
}

/* A process of this machine, which the tree shows as its only one. */
static pid_t start(struct tree *tree, void (*run)(int ready))
{
	char byte;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		tree_fail("pipe");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		run(ends[1]);
		_exit(1);
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &byte, 1) != 1)
		tree_fail("child");
	close(ends[0]);
	tree_begin(tree, MDEV_AT(U(a), "12") "sys/class/vfio/12/dev = " FULL "\n");
	/* The directory of the process is the running kernel's; that proc is not keeps others out of the test. */
	tree_addf(tree, "proc/%d -> /proc/%d\n", (int)pid, (int)pid);
	return pid;
}

static void end(struct tree *tree, pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tree_end(tree);
}

static void say_ready(int ready)
{
	(void)!write(ready, "x", 1);
	for (;;)
		pause();
}

static void hold(int ready)
{
	(void)!open("/dev/full", O_RDWR | O_CLOEXEC);
	say_ready(ready);
}

static int ready_fd;

static void *hold_in_thread(void *apart)
{
	if (apart && syscall(SYS_unshare, CLONE_FILES) < 0)
		_exit(1);
	hold(ready_fd);
	return NULL;
}

/* The table is the threads' own, and the process's first thread ends. */
static void hold_behind(int ready)
{
	pthread_t thread;

	ready_fd = ready;
	pthread_create(&thread, NULL, hold_in_thread, NULL);
	pthread_exit(NULL);
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

/* One of several threads has a table of its own; the others share the first one's. */
static void hold_apart(int ready)
{
	pthread_t thread;

	ready_fd = ready;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, idle, NULL);
	pthread_create(&thread, NULL, hold_in_thread, &ready_fd);
	idle(NULL);
}

static void real_ones(void)
{
	static const struct {
		void (*run)(int ready);
		const char *what;
	} rows[] = { { hold, "a process" },
		     { hold_behind, "a process whose first thread has ended" },
		     { hold_apart, "a thread that has a table of its own" } };
	struct tree tree;

	for (ROWS(row, rows)) {
		/* The kernel lets none but root look behind a first thread that has ended. */
		if (row->run == hold_behind && geteuid() != 0)
			continue;

		pid_t by = 0, pid = start(&tree, row->run);

		/* The first thread's end takes a moment to be seen. */
		ok(eventually(looked_open(&tree, U(a), &by) == 1) && by == pid, "%s that has it open is found",
		   row->what);
		end(&tree, pid);
	}
}

static void hold_hidden(int ready)
{
	prctl(PR_SET_DUMPABLE, 0);
	hold(ready);
}

/* What somebody without root's rights sees: the exit status of a child. */
static int asked_without_rights(const struct tree *tree)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
			_exit(100);
		_exit(-looked_open(tree, U(a), NULL));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void without_rights(void)
{
	struct tree tree;
	pid_t pid = start(&tree, hold_hidden);

	chmod(tree.path, 0755);
	ok(asked_without_rights(&tree) == 0, "one that may not be looked into proves nothing");
	tree_addf(&tree, "run/libvirt/qemu/vm1.pid = %d\n", (int)pid);
	ok(asked_without_rights(&tree) == EACCES, "but as a QEMU of libvirt's");
	end(&tree, pid);
}

static void recorded(void)
{
	struct vfio_users *h;

	TREE(tree, "proc/\nrun/libvirt/qemu/vm.1.pid = 15\nrun/libvirt/qemu/vm2.pid = x\n");
	h = look(&tree);
	tree_remove(&tree, "run/libvirt/qemu/vm.1.pid");
	is(vfio_users_domain(h, 15), "vm.1", "the domain of a QEMU is read with the processes, and once");
	ok(!vfio_users_domain(h, 16), "another process is none");
	vfio_users_free(h);
}

TESTS(devices, unreadable, no_time, real_ones, without_rights, recorded)
