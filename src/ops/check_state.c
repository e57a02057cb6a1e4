/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state: whether it can be written, who holds its locks, what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "internal.h"
#include "base/auto.h"
#include "ops/gc.h"
#include "base/file.h"

enum {
	SPACE_NEEDED = 16 << 10, /* a few records, of a page each */
	SPACE_ENOUGH = 1 << 20,
	FILES_NEEDED = 8,
	LOCK_LOOKS = 20, /* a holder that is seen each time holds up a start */
	LOCK_STEP_MS = 50,
};

static const char *const directories[] = {
	"run/vgpu-lease",          "run/vgpu-lease/leases", "run/vgpu-lease/seen",
	"run/vgpu-lease/pgpu",     "run/vgpu-lease/silent", "run/vgpu-lease/garbage",
	"run/vgpu-lease/failed",   "var/lib/vgpu-lease",    "var/lib/vgpu-lease/affinity",
	"var/lib/vgpu-lease/types"
};

/* The hook refuses a directory of the state that others may write to. */
static void look_at_directory(struct check *check, const char *path)
{
	struct stat st;

	if (fstatat(check->host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	check_at_path(check, path);
	if (!S_ISDIR(st.st_mode))
		check_report(check, CHECK_FAIL, "remove it", "is not a directory");
	else if ((!check->simulated && st.st_uid != 0) || (st.st_mode & 022) != 0)
		check_report(check, CHECK_FAIL, "look at what is in it, then chown root, chmod 755",
			     "is not owned by root, or is writable by others: the hook refuses it");
}

/* Opens the directory, or the nearest above it that exists. */
static int open_nearest(struct check *check, const char *path)
{
	char near[64];
	int fd;

	snprintf(near, sizeof(near), "%s", path);
	while ((fd = file_dir(check->host->root, near)) == -ENOENT && strchr(near, '/'))
		*strrchr(near, '/') = '\0';
	check_at_path(check, near);
	return fd;
}

/* A start writes a lease, a lock's holder, a record or two. Nothing is written to find out. */
static void look_at_writable(struct check *check, const char *path, enum check_status status, const char *without)
{
	autoclose int fd = open_nearest(check, path);
	unsigned long long space;
	struct statvfs fs;

	if (fd < 0 || fstatvfs(fd, &fs) < 0) {
		check_report(check, status, "make it readable", "%s: %s", err_describe(fd < 0 ? -fd : errno), without);
		return;
	}
	space = (unsigned long long)fs.f_bfree * fs.f_frsize;
	if (fs.f_flag & ST_RDONLY)
		check_report(check, status, "remount it read-write", "is mounted read-only: %s", without);
	else if (geteuid() == 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		check_report(check, status, "see mount(8), lsattr(1)", "cannot be written (%s): %s",
			     err_describe(errno), without);
	else if (space < SPACE_NEEDED || (fs.f_files && fs.f_ffree < FILES_NEEDED))
		check_report(check, status, "free some space: 'du -xa' shows what uses it",
			     "the file system is full (%llu KiB, %llu files left): %s", space >> 10,
			     (unsigned long long)fs.f_ffree, without);
	else if (space < SPACE_ENOUGH)
		check_report(check, CHECK_WARN, "free some space: 'du -xa' shows what uses it",
			     "the file system is almost full (%llu KiB left): %s soon", space >> 10, without);
	else
		check_report(check, CHECK_PASS, NULL, "can be written");
}

void check_state(struct check *check)
{
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		look_at_directory(check, directories[i]);
	look_at_writable(check, "run/vgpu-lease", CHECK_FAIL, "every start with a vGPU is refused");
	look_at_writable(check, "var/lib/vgpu-lease", CHECK_WARN, "the history of vGPUs is not kept");
	if (check->has_store < 0)
		check_report(check_at_path(check, "run/vgpu-lease"), CHECK_FAIL,
			     check->has_store == -EACCES ? "run as root" : "fix the cause", "%s",
			     check->store_err.text);
}

/* Is it held each time, for a while? */
static bool stays(bool (*is_held)(const struct store *store, const char *pgpu), const struct store *store,
		  const char *pgpu)
{
	int looks = 0;

	while (is_held(store, pgpu) && ++looks < LOCK_LOOKS)
		host_sleep_ms(LOCK_STEP_MS);
	return looks == LOCK_LOOKS;
}

static bool is_locked(const struct store *store, const char *pgpu)
{
	(void)pgpu;
	return store_locked(store);
}

/* A holder writes its pid into the file first. */
static void report_holder(struct check *check, const char *name, const char *means)
{
	char path[128], holder[64];
	size_t n;

	snprintf(path, sizeof(path), "run/vgpu-lease/%s", name);
	if (file_read(check->store.run, name, holder, sizeof(holder)) < 0)
		holder[0] = '\0';
	n = strcspn(holder, " ");
	check_report(check_at_path(check, path), CHECK_WARN,
		     "see what the process waits for (/proc/PID/stack), and dmesg",
		     "held by process %.*s for over %d ms: %s", n ? (int)n : 1, n ? holder : "?",
		     LOCK_LOOKS * LOCK_STEP_MS, means);
}

static bool is_lock(struct check *check, const char *name)
{
	char path[128];
	struct stat st;

	if (fstatat(check->store.run, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		return true;
	snprintf(path, sizeof(path), "run/vgpu-lease/%s", name);
	check_report(check_at_path(check, path), CHECK_FAIL, "remove it",
		     "is not a regular file, so it cannot be locked: starts are refused");
	return false;
}

/* The store's lock is held for an instant, a pGPU's for as long as its driver takes. */
void check_locks(struct check *check)
{
	const struct store *store = &check->store;
	autoclosedir DIR *dir = file_list(store->run, "pgpu");
	const struct dirent *e;

	if (store->run >= 0 && is_lock(check, "lock") && stays(is_locked, store, NULL))
		report_holder(check, "lock", "starts wait up to lock_timeout");
	while (dir && (e = readdir(dir))) {
		char name[sizeof("pgpu/.lock") + PARENT_SIZE], pgpu[PARENT_SIZE];
		size_t n = strlen(e->d_name);

		if (n < 6 || n - 5 >= sizeof(pgpu) || strcmp(e->d_name + n - 5, ".lock") != 0)
			continue;
		snprintf(pgpu, sizeof(pgpu), "%.*s", (int)(n - 5), e->d_name);
		snprintf(name, sizeof(name), "pgpu/%s.lock", pgpu);
		if (is_lock(check, name) && stays(store_pgpu_busy, store, pgpu))
			report_holder(check, name, "a write to its driver is under way");
	}
}

void check_garbage(struct check *check)
{
	autoclosedir DIR *dir = file_list(check->store.run, "garbage");
	const struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (n)
		check_report(check_at_path(check, "run/vgpu-lease/garbage"), CHECK_WARN,
			     "find out what wrote it, then delete it", "%d record%s could not be parsed", n,
			     n == 1 ? "" : "s");
}

/* A guest goes on with what it has; its next start asks for a type that is no longer enabled. */
static bool look_at_guest(struct check *check, const struct lease *lease)
{
	char fix[192];

	if (!check->config || lease->state != LEASE_ACTIVE || lease->origin != LEASE_CREATED ||
	    config_section(check->config, lease->vgpu.type))
		return false;
	snprintf(fix, sizeof(fix), "enable %s again, or see 'vgpu-lease plan' for that domain before its next start",
		 lease->vgpu.type);
	check->what = "guest";
	check_report(check_at(check, "%s", lease->vgpu.id), CHECK_WARN, fix,
		     "domain %.100s runs with %s on %s, a type that is no longer enabled", lease->name,
		     lease->vgpu.type, lease->vgpu.pgpu);
	check->what = "lease";
	return true;
}

static void report_leases(struct check *check, const struct gc *pass)
{
	size_t goes = 0, leased = 0, odd = 0;

	for (size_t i = 0; i < pass->n; i++) {
		const struct gc_item *item = &pass->items[i];

		goes += item->outcome == GC_GOES;
		leased += item->leased;
		odd += item->leased && item->outcome == GC_STAYS && look_at_guest(check, &item->lease);
	}
	check_at_path(check, "run/vgpu-lease/leases");
	if (goes)
		check_report(check, CHECK_WARN, "run 'vgpu-lease gc'", "%zu vGPU%s or lease%s can be released", goes,
			     goes == 1 ? "" : "s", goes == 1 ? "" : "s");
	check_at_path(check, "run/vgpu-lease/leases");
	if (pass->garbage)
		check_report(check, CHECK_WARN, "run 'vgpu-lease gc', which sets it aside",
			     "%d lease%s cannot be parsed", pass->garbage, pass->garbage == 1 ? "" : "s");
	else if (!goes && !odd)
		check_report(check, CHECK_PASS, NULL, "%zu in use, none to be released", leased);
}

void check_leases(struct check *check)
{
	struct config defaults;
	struct gc pass = { .store = &check->store, .config = check->config, .dry = true };
	struct err err;

	config_default(&defaults);
	pass.policy = check->config ? &check->config->policy : &defaults.policy;
	if (gc_run(&pass, &err) == 0)
		report_leases(check, &pass);
	else
		check_report(check_at_path(check, "run/vgpu-lease/leases"), CHECK_FAIL,
			     "fix the cause: no vGPU can be released until then", "%s", err.text);
	gc_free(&pass);
	config_free(&defaults);
}

/* A used-up quota refuses the next start of that project only. */
void check_quotas(struct check *check)
{
	const struct leases *leases = &check->leases;

	for (size_t i = 0; check->config && i < leases->n; i++) {
		const char *project = leases->list[i].project;
		int limit = config_quota(check->config, project), holds = 0;
		bool told = false;

		for (size_t k = 0; k < leases->n; k++) {
			bool same = strcmp(leases->list[k].project, project) == 0;

			holds += same;
			told |= same && k < i;
		}
		if (told || limit == NO_LIMIT || holds < limit)
			continue;
		check_report(check_at(check, "%s", project), CHECK_WARN,
			     "end one of its guests, or raise the limit in [quota]", "%s used up: %d of %d",
			     *project ? "the quota of this project is" : "the quota of domains without a project is",
			     holds, limit);
	}
}
