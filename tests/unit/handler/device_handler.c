/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device handler without its loop: what a pass says, and when the next one is due. */
#include "handler/handler.h"

#include "sys/log.h"
#include "lib/messages.h"
#include "lib/live.h"

#define METRICS "run/vgpu-lease/metrics.prom"
#define LATER "run/vgpu-lease/leases/" A /* a lease of a later version */

static struct handler handler;

/* The new configuration, read if the handler runs. */
static void configure(const char *text)
{
	tree_add(&live.tree, text);
	handler_read_config(&handler, false);
}

/* What the handler logs during a pass, as one text; *next_ms: in how long the next is due. */
static char *pass(int64_t *next_ms)
{
	static char text[8192];
	int saved = dup(STDERR_FILENO), fds[2];
	ssize_t n;

	if (saved < 0 || pipe(fds) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
		tree_fail("stderr");
	close(fds[1]);
	must(handler_hold_lock(&handler, &err));
	handler_pass(&handler);
	*next_ms = handler.last.next_ms - sys_now_ms();
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = read(fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	return text;
}

static void news(void)
{
	int64_t next;

	log_open("vgpu-leased", NULL, true);
	tree_add(&live.tree, "etc/vgpu-lease.conf = [devices]\\nenabled_mdev_types = mtty-1\n");
	must(handler_open(&handler, live.tree.path, NULL, &err));
	ok(!strstr(pass(&next), A), "a pass says nothing of what is not there");
	ok(next > 50000 && next <= 60000, "and the next one looks at all again: in %lld ms", (long long)next);
	make(MDEV("mtty", "mtty-1", A));
	ok(strstr(pass(&next), A) != NULL, "a foreign vGPU is reported");
	ok(!strstr(pass(&next), A), "once");
	must(kernel_remove(&live.tree.host, MDEV("mtty", "mtty-1", A), 60000, &err));
	pass(&next);
	make(MDEV("mtty", "mtty-1", A));
	ok(strstr(pass(&next), A) != NULL, "and anew after it was gone");
}

/* As where all inotify instances of the user are taken. */
int inotify_init1(int flags)
{
	errno = EMFILE;
	return -1;
}

static void set_time(const char *path, int seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	must(utimensat(live.tree.host.root, path, times, 0));
}

static void unwatched(void)
{
	static const char leases[] = "run/vgpu-lease/leases", status[] = "run/libvirt/qemu";
	const struct policy policy = { .lock_timeout_s = 1 };
	struct finisher finisher = { .notify = -1 };

	tree_add(&live.tree, "run/libvirt/qemu/\n");
	set_time(leases, 1000);
	set_time(status, 1000);
	ok(!finisher_run(&finisher, &live.tree.host, &policy), "without inotify, the directories' times are compared");
	set_time(leases, 1001);
	set_time(status, 999);
	ok(finisher_run(&finisher, &live.tree.host, &policy), "each with its own, so that two changes do not cancel");
	ok(!finisher_run(&finisher, &live.tree.host, &policy), "a change counts once");
	unlinkat(live.tree.host.root, status, AT_REMOVEDIR);
	ok(finisher_run(&finisher, &live.tree.host, &policy), "so does a directory that has gone");
	finisher_stop(&finisher);
}

static void definitions(void)
{
	int64_t next;

	tree_add(&live.tree, "etc/nova/nova.conf = [devices]\\nenabled_mdev_types = mtty-1\n"
			     "etc/mdevctl.d/mtty/" C " = {\"mdev_type\": \"mtty-1\"}\n");
	configure("etc/vgpu-lease.conf = [devices]\\nnova_conf = /etc/nova/nova.conf"
		  "\\n[policy]\\nreclaim_grace = 100");
	ok(handler.is_valid && !strstr(pass(&next), C), "a definition without a device is no foreign vGPU");
	tree_add(&live.tree, "etc/mdevctl.d/mtty/" A " = {\n");
	ok(strstr(pass(&next), "mtty/" A) != NULL, "one that is not valid is named");
	ok(!strstr(pass(&next), "mtty/" A), "once");
	ok(next < 290000, "but looked at again when its time is over: in %lld ms", (long long)next);
	configure("etc/vgpu-lease.conf = [devices]\\nenabled_mdev_types = mtty-1");
}

static void deadlines(void)
{
	struct lease lease = lease_of(B, "mtty-1", "mtty", LEASE_RESERVED, "dddddddd-0000-4000-8000-000000000001");
	int64_t next;

	lease.deadline_ms = sys_now_ms() + 60000;
	put_lease(lease);
	pass(&next);
	ok(next > 50000 && next <= 60001, "a pass is due when a reservation ends: in %lld ms", (long long)next);
	must(lease_drop(&store, B, &err));
}

/* Is a fault said once, as long as there is `path`, which is called `then` later, and its end once? */
static void is_said_once(const char *path, const char *then, const char *fault)
{
	const int root = live.tree.host.root;
	const char *said;
	int64_t next;

	ok(strstr(pass(&next), fault) != NULL, "a fault is said: %s", fault);
	if (renameat(root, path, root, then) < 0)
		tree_fail(then);
	ok(!strstr(pass(&next), fault) && !strstr(pass(&next), fault), "once: %s", fault);
	tree_remove(&live.tree, "%s", then);
	said = pass(&next);
	ok(strstr(said, message("M_RESOLVED", "")) && strstr(said, fault), "its end as well: %s", fault);
	ok(!strstr(pass(&next), fault), "once, too: %s", fault);
}

static void faults(void)
{
	tree_add(&live.tree, LATER " = vgpu-lease 99");
	is_said_once(LATER, LATER, "pass failed: ");
	configure("etc/vgpu-lease.conf = [devices]\\nenabled_mdev_types = mtty-1\\n[policy]\\nmetrics = yes");
	tree_add(&live.tree, METRICS "/");
	is_said_once(METRICS, METRICS, "/" METRICS ": ");
	tree_remove(&live.tree, "proc");
	for (int i = 0; i < 300; i++)
		tree_addf(&live.tree, "proc/1000/fd/%d = x", i);
	if (fchownat(live.tree.host.root, "proc/1000", 65534, 65534, 0) < 0)
		tree_fail("proc/1000");
	is_said_once("proc/1000", "proc/1001", "not fully inspected");
}

static void end(void)
{
	handler_close(&handler);
}

LIVE_TESTS("mtty", "[policy]\n", news, definitions, deadlines, faults, unwatched, end)
