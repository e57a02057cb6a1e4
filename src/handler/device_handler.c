/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device handler without its loop: its configuration, its lock, and its passes. */
#include "handler/handler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "check/check.h"
#include "state/history.h"
#include "look/survey.h"

#define METRICS "metrics.prom"

enum {
	PASS_MS = 60000,       /* the longest time between passes; affinity_is_new() needs a recent look */
	RETRY_MS = 10000,      /* the next attempt after a failed pass or release */
	LOCK_WAIT_MS = 5000,   /* the wait for a previous handler that is exiting */
	LATE_S = 120,          /* a longer pass is killed; no search of all processes takes this long */
	ARENA_SIZE = 64 << 20, /* limit of what a pass leaves; untouched pages cost nothing */
};

void handler_read_config(struct handler *h, bool first)
{
	bool keeps = !first && config_is_valid(&h->config);
	struct config config;
	struct err err;
	int r = inventory_load_config(&config, &h->host, h->config_path, &err);

	h->is_valid = r == 0;
	if (r < 0 && first)
		log_warn("%s; until %s, only releases and the vGPUs of running guests are processed", config.why.text,
			 r == -ENOENT ? "there is one" : "the configuration is fixed and reloaded");
	else if (r < 0)
		log_warn(
			"%s: %s", err.text,
			keeps ? "the handler keeps the previous configuration, but starts that need a new vGPU are refused"
			      : "still no configuration");
	if (r < 0 && keeps)
		return;
	for (size_t i = 0; i < config.warnings.n; i++)
		log_warn("%s", config.warnings.list[i].text);
	config_free(&h->config);
	h->config = config;
	if (r == 0 && !first)
		log_info("configuration reloaded");
}

int handler_open(struct handler *h, const char *root, const char *config_path, struct err *err)
{
	*h = (struct handler){
		.host.root = -1, .lock = -1, .config_path = config_path, .last.guests.state = "libvirt is not asked"
	};
	config_default(&h->config);
	if (host_open(&h->host, root, err) < 0 || handler_hold_lock(h, err) < 0)
		return -err->code;
	handler_read_config(h, true);
	return 0;
}

void handler_close(struct handler *h)
{
	free(h->last.reported);
	lease_list_free(&h->last.seen);
	config_free(&h->config);
	/* Without a process that updates the metrics, old ones would seem current. */
	if (h->lock >= 0) {
		unlinkat(h->host.root, "run/vgpu-lease/" METRICS, 0);
		close(h->lock);
	}
	host_close(&h->host);
}

/* Logs the lines that the last report does not have. Both reports begin with '\n'. */
static void log_new_lines(const char *text, const char *last)
{
	for (const char *line = text + 1, *end; (end = strchr(line, '\n')); line = end + 1)
		if (!last || !memmem(last, strlen(last), line - 1, (size_t)(end - line) + 2)) {
			autofree char *one = mem_format("%.*s", (int)(end - line), line);

			log_line(one);
		}
}

static void report_pass(struct handler *h, const struct gc *pass)
{
	size_t leases = 0, foreign = 0, len;
	char *text = NULL;
	FILE *out = mem_open(&text, &len);

	fputc('\n', out);
	for (size_t i = 0; i < pass->nnotes; i++)
		text_line(out, "%s", pass->notes[i]);
	for (EACH(const struct gc_item *, item, pass->items, pass->n)) {
		const struct vgpu_ref *vgpu = &item->vgpu;

		if (item->outcome == GC_GONE)
			continue;
		leases += item->leased;
		if (item->leased)
			continue;
		foreign += item->exists;
		if (item->outcome == GC_FAILED)
			text_line(out, "foreign: %s, %s on %s: %s not removed: %s", vgpu->id, vgpu->type, vgpu->parent,
				  item->exists ? "orphan" : "mdevctl definition", item->trouble);
		else if (item->exists)
			text_line(out, "foreign: %s, %s on %s: not leased%s", vgpu->id, vgpu->type, vgpu->parent,
				  item->fate.due_ms == FATE_KEPT ? "; kept: not made for a guest" : "");
	}
	if (pass->undefined.code)
		text_line(out, "%s", pass->undefined.text);
	if (*pass->garbage)
		text_line(out, "%s", pass->garbage);
	mem_close(out);
	log_new_lines(text, h->last.reported);
	/* Log only its beginning and end, because in between the processes change, but not the fault. */
	if (!*pass->unread != !*h->last.unread)
		fault_say(h->last.unread, "", pass->unread);
	free(h->last.reported);
	h->last.reported = text;
	snprintf(h->last.status, sizeof(h->last.status), "%zu vGPU%s leased, %zu foreign%s", leases,
		 leases == 1 ? "" : "s", foreign,
		 h->is_valid ? ""
		 : config_is_valid(&h->config)
			 ? "; the configuration is invalid, so starts that need a new vGPU are refused"
			 : "; no valid configuration");
}

static int64_t next_pass(const struct gc *pass, int64_t again_ms)
{
	int64_t now = sys_now_ms(), next = now + PASS_MS;

	if (again_ms && again_ms < next)
		next = again_ms;
	for (EACH(const struct gc_item *, item, pass->items, pass->n)) {
		int64_t at = item->outcome == GC_STAYS ? item->fate.again_ms : 0;

		/* Retry a failed release, which a full /run can cause. */
		if (item->leased && item->outcome == GC_FAILED)
			at = now + RETRY_MS;
		if (item->novas && item->outcome == GC_STAYS && item->fate.due_ms > now)
			at = item->fate.due_ms + 1;
		if (at && at < next)
			next = at;
	}
	return next;
}

static int write_metrics(const struct handler *h, struct store *store, const struct gc *pass, struct err *err)
{
	autosurvey struct world world = { .host = &h->host, .store = store, .config = &h->config };
	autofree char *text = NULL;
	size_t len = 0;
	FILE *to = mem_open(&text, &len);
	int r = survey_see(&world, err);

	/* Record silent drivers now, because this process can be killed while it waits for libvirt. */
	silent_note(store);
	if (r == 0)
		r = metrics_print(to, &world, pass, h->is_valid, err);
	mem_close(to);
	if (r < 0)
		return err_in(err, "metrics");
	r = sys_publish(store->run, METRICS, text, len);
	return r < 0 ? err_sys(err, -r, "/run/vgpu-lease/" METRICS) : 0;
}

/* The modification time of the lock file is that of the last pass. */
static void publish_metrics(struct handler *h, struct store *store, const struct gc *pass)
{
	struct err err;
	int r = 0;

	(void)!utimensat(store->run, STORE_HANDLER, NULL, AT_SYMLINK_NOFOLLOW);
	if (h->config.policy.metrics)
		r = write_metrics(h, store, pass, &err);
	else
		unlinkat(store->run, METRICS, 0);
	fault_say(h->last.unpublished, "", r < 0 ? err.text : "");
}

/* Copies to the arena in use, or to the heap if none is. */
static void copy_remembered(struct remembered *to, const struct remembered *from)
{
	*to = *from;
	to->seen = (struct leases){ 0 };
	for (EACH(const struct lease *, lease, from->seen.list, from->seen.n))
		lease_add(&to->seen, lease);
	to->reported = from->reported ? mem_strdup(from->reported) : NULL;
	/* Another process cannot use the connection. */
	to->guests.virt = NULL;
	to->guests.tried = false;
	to->guests.asking_ms = NULL;
}

/* The parent may kill a pass that waits for libvirt. */
static void leave_outcome(const struct handler *h)
{
	struct remembered *left;

	if (!h->pass.arena)
		return;
	left = mem_take(h->pass.arena, sizeof(*left));
	mem_use(h->pass.arena);
	copy_remembered(left, &h->last);
	mem_use(NULL);
	h->pass.shared->left = left;
}

static void after_pass(struct handler *h, struct gc *pass)
{
	struct guests *guests = &h->last.guests;
	bool first = !h->last.next_ms;
	int64_t again_ms;

	/* The first pass does not ask libvirt, because at boot it would wait for a libvirt that starts later. */
	guests->tried = first;
	h->last.next_ms = next_pass(pass, 0);
	leave_outcome(h);
	again_ms = orphans_remove(guests, pass);
	h->last.next_ms = next_pass(pass, again_ms);
	report_pass(h, pass);
	publish_metrics(h, pass->world.store, pass);
	if (first && guests->asks)
		h->last.next_ms = sys_now_ms();
	leave_outcome(h);
	if (guests->asks)
		guests_tell(guests, pass);
	/* After a failed connection, try again even without a question: the status says whether libvirt answers. */
	if (!guests->connected)
		guests_connect(guests);
}

int handler_hold_lock(struct handler *h, struct err *err)
{
	struct store store;
	int r = store_open(&store, &h->host, true, err);

	if (r == 0)
		r = store_lock_handler(&store, h->lock, LOCK_WAIT_MS, err);
	if (r >= 0)
		h->lock = r;
	store_close(&store);
	return r == -ETIMEDOUT ? err_in(err, "another vgpu-leased is running on this host") : r < 0 ? r : 0;
}

static void pass_failed(struct handler *h, const char *why)
{
	char raw[sizeof(h->last.status)];

	fault_say(h->last.failed, "pass failed: ", why);
	snprintf(raw, sizeof(raw), "the last pass failed: %.300s", why);
	text_safe(h->last.status, sizeof(h->last.status), raw);
	h->last.next_ms = sys_now_ms() + RETRY_MS;
}

void handler_pass(struct handler *h)
{
	struct store store;
	struct gc pass = { .world = { .store = &store, .config = &h->config }, .seen = &h->last.seen };
	struct err err = { 0 };
	int r = store_open(&store, &h->host, true, &err);

	if (r == 0)
		r = gc_judge(&pass, &err);
	if (r == 0) {
		gc_finish(&pass);
		after_pass(h, &pass);
		fault_say(h->last.failed, "pass failed: ", "");
	} else {
		pass_failed(h, err.text);
	}
	leave_outcome(h);
	guests_hang_up(&h->last.guests);
	gc_free(&pass);
	store_close(&store);
}

/* The new process must not keep the handler's lock: a hung pass with the lock would look like a handler. */
static _Noreturn void run(struct handler *h, pid_t parent)
{
	const int keep[] = { h->host.root, h->host.libvirt };
	sigset_t none;

	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sys_close_but(keep, ARRAY_SIZE(keep));
	h->last.guests.asking_ms = &h->pass.shared->asking_ms;
	handler_pass(h);
	log_close();
	_exit(0);
}

bool pass_start(struct handler *h)
{
	struct pass *pass = &h->pass;
	pid_t self = getpid();
	struct err err;

	/* Before the fork, because the loop also searches libvirt's processes and watches its files. */
	libvirt_daemon_follow(&h->host);
	if (handler_hold_lock(h, &err) < 0) {
		pass_failed(h, err.text);
		return false;
	}
	pass->arena = mem_arena(ARENA_SIZE);
	pass->shared = mem_take(pass->arena, sizeof(*pass->shared));
	pass->late_ms = sys_now_ms() + (int64_t)LATE_S * 1000;
	/* The child must open its own log socket. */
	log_close();
	pass->pid = fork();
	if (pass->pid == 0)
		run(h, self);
	if (pass->pid > 0)
		return true;
	err_sys(&err, errno, "fork");
	pass_failed(h, err.text);
	pass->pid = 0;
	pass_stop(h);
	return false;
}

void pass_stop(struct handler *h)
{
	struct pass *pass = &h->pass;

	if (pass->pid) {
		kill(pass->pid, SIGKILL);
		waitpid(pass->pid, NULL, 0);
	}
	if (pass->arena)
		mem_arena_end(pass->arena);
	*pass = (struct pass){ 0 };
}

int64_t pass_end(struct handler *h, bool late)
{
	struct pass *pass = &h->pass;
	const struct remembered *left;
	struct rusage took = { 0 };
	int status = -1;

	if (late)
		kill(pass->pid, SIGKILL);
	if (wait4(pass->pid, &status, late ? 0 : WNOHANG, &took) == 0)
		return -1;
	late = late && WIFSIGNALED(status); /* else it ended by itself before it was killed */
	pass->pid = 0;
	left = pass->shared->left;
	if (left) {
		free(h->last.reported);
		lease_list_free(&h->last.seen);
		copy_remembered(&h->last, left);
	}
	if (late && pass->shared->asking_ms && left)
		guests_set_state(
			&h->last.guests, false,
			"not connected to libvirt: no answer within 5 s; check that libvirtd or virtqemud does not hang");
	else if (late)
		pass_failed(h, "it is not done after two minutes");
	else if (status != 0)
		pass_failed(h, WIFSIGNALED(status) ? "its process was killed" : "its process failed");
	pass_stop(h);
	return (took.ru_utime.tv_sec + took.ru_stime.tv_sec) * 1000 +
	       (took.ru_utime.tv_usec + took.ru_stime.tv_usec) / 1000;
}
