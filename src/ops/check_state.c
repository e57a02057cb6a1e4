/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state: may it be written, who holds its locks, what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "ops/check.h"
#include "base/auto.h"
#include "ops/gc.h"
#include "base/file.h"
#include "state/lease_store.h"
#include "state/store.h"

enum {
	ROOM_NEEDED = 16 << 10, /* a few records, of a page each */
	ROOM_WANTED = 1 << 20,
	FILES_NEEDED = 8,
	LOCK_LOOKS = 20, /* who holds the lock all that time holds up a start */
	LOCK_STEP_MS = 50,
};

static const char *const folders[] = {
	"run/vgpu-lease",          "run/vgpu-lease/leases", "run/vgpu-lease/seen",
	"run/vgpu-lease/pgpu",     "run/vgpu-lease/silent", "run/vgpu-lease/garbage",
	"run/vgpu-lease/failed",   "var/lib/vgpu-lease",    "var/lib/vgpu-lease/affinity",
	"var/lib/vgpu-lease/types"
};

/* A folder of the state that others may write to is refused by the hook. */
static void look_at_folder(struct check *check, const char *path)
{
	char where[CHECK_WHERE];
	struct stat st;

	if (fstatat(check->host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	check_path(where, check, path);
	if (!S_ISDIR(st.st_mode))
		check_note(check, CHECK_FAIL, "state", where, "remove it", "is no directory");
	else if ((!check->simulated && st.st_uid != 0) || (st.st_mode & 022) != 0)
		check_note(check, CHECK_FAIL, "state", where, "chown root, chmod 755, after a look at what is in it",
			   "is not root's, or others may write to it: the hook refuses it");
}

/* Opens the folder, or where it is missing the one above it in which it would be made. */
static int open_nearest(const struct check *check, const char *path, char shown[CHECK_WHERE])
{
	char near[64];
	int fd;

	snprintf(near, sizeof(near), "%s", path);
	while ((fd = file_dir(check->host->root, near)) == -ENOENT && strchr(near, '/'))
		*strrchr(near, '/') = '\0';
	check_path(shown, check, near);
	return fd;
}

/* A start writes a lease, a lock's holder, a note or two. Nothing is written to find out. */
static void look_at_writable(struct check *check, const char *path, enum check_status status, const char *without)
{
	char where[CHECK_WHERE];
	autoclose int fd = open_nearest(check, path, where);
	unsigned long long space;
	struct statvfs fs;

	if (fd < 0 || fstatvfs(fd, &fs) < 0) {
		check_note(check, status, "state", where, "make it readable", "%s: %s",
			   strerrordesc_np(fd < 0 ? -fd : errno), without);
		return;
	}
	space = (unsigned long long)fs.f_bfree * fs.f_frsize;
	if (fs.f_flag & ST_RDONLY)
		check_note(check, status, "state", where, "remount it read-write", "is mounted read-only: %s", without);
	else if (geteuid() == 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		check_note(check, status, "state", where, "see mount(8), lsattr(1)", "cannot be written (%s): %s",
			   strerrordesc_np(errno), without);
	else if (space < ROOM_NEEDED || (fs.f_files && fs.f_ffree < FILES_NEEDED))
		check_note(check, status, "state", where, "free some space: 'du -xa' shows who uses it",
			   "the file system is full (%llu KiB, %llu files left): %s", space >> 10,
			   (unsigned long long)fs.f_ffree, without);
	else if (space < ROOM_WANTED)
		check_note(check, CHECK_WARN, "state", where, "free some space: 'du -xa' shows who uses it",
			   "the file system is almost full (%llu KiB left): %s soon", space >> 10, without);
	else
		check_pass(check, "state", where, "can be written");
}

/* Is it still held after a while? */
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

/* Whoever has a lock writes its pid into the file first. */
static void note_holder(struct check *check, const struct store *store, const char *name, const char *means)
{
	char path[128], where[CHECK_WHERE], holder[64];
	size_t n;

	snprintf(path, sizeof(path), "run/vgpu-lease/%s", name);
	if (file_read(store->run, name, holder, sizeof(holder)) < 0)
		holder[0] = '\0';
	n = strcspn(holder, " ");
	check_note(check, CHECK_WARN, "state", check_path(where, check, path),
		   "see what that process waits for (/proc/PID/stack), and dmesg",
		   "held for over %d ms by process %.*s: %s", LOCK_LOOKS * LOCK_STEP_MS, n ? (int)n : 1,
		   n ? holder : "?", means);
}

/* What is no file can be no lock. */
static bool is_lock(struct check *check, const struct store *store, const char *name)
{
	char path[128], where[CHECK_WHERE];
	struct stat st;

	if (fstatat(store->run, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		return true;
	snprintf(path, sizeof(path), "run/vgpu-lease/%s", name);
	check_note(check, CHECK_FAIL, "state", check_path(where, check, path), "remove it",
		   "is no regular file, so it cannot be locked: starts are refused");
	return false;
}

/* The store's is held for an instant; a pGPU's for as long as its driver takes. */
static void look_at_locks(struct check *check, const struct store *store)
{
	int fd = store->run < 0 ? -1 : file_dir(store->run, "pgpu");
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (store->run >= 0 && is_lock(check, store, "lock") && stays(is_locked, store, NULL))
		note_holder(check, store, "lock", "starts wait for it, up to lock_timeout");
	while (dir && (e = readdir(dir))) {
		char name[sizeof("pgpu/.lock") + PARENT_SIZE], pgpu[PARENT_SIZE];
		size_t n = strlen(e->d_name);

		if (n < 6 || n - 5 >= sizeof(pgpu) || strcmp(e->d_name + n - 5, ".lock") != 0)
			continue;
		snprintf(pgpu, sizeof(pgpu), "%.*s", (int)(n - 5), e->d_name);
		snprintf(name, sizeof(name), "pgpu/%s.lock", pgpu);
		if (is_lock(check, store, name) && stays(store_pgpu_busy, store, pgpu))
			note_holder(check, store, name, "a write to its driver is under way");
	}
}

static void look_at_garbage(struct check *check, const struct store *store)
{
	char where[CHECK_WHERE];
	int fd = store->run < 0 ? -1 : file_dir(store->run, "garbage"), n = 0;
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (n)
		check_note(check, CHECK_WARN, "state", check_path(where, check, "run/vgpu-lease/garbage"),
			   "look at what wrote to it, then delete it", "%d record%s could not be understood", n,
			   n == 1 ? "" : "s");
}

/* A guest goes on with what it has; its next start asks for a type that is not enabled any more. */
static bool look_at_guest(struct check *check, const struct config *config, const struct lease *lease)
{
	char where[CHECK_WHERE], fix[192];

	if (!config || lease->state != LEASE_ACTIVE || lease->origin != LEASE_CREATED ||
	    config_section(config, lease->vgpu.type))
		return false;
	snprintf(where, sizeof(where), "%s", lease->vgpu.id);
	snprintf(fix, sizeof(fix),
		 "enable %s again, or see 'vgpu-lease plan' for that domain before it is started anew",
		 lease->vgpu.type);
	check_note(check, CHECK_WARN, "guest", where, fix,
		   "domain %.100s runs with %s on %s, a type that is not enabled any more", lease->name,
		   lease->vgpu.type, lease->vgpu.pgpu);
	return true;
}

static void look_at_leases(struct check *check, struct store *store, const struct config *config)
{
	struct config defaults;
	struct gc pass = { .store = store, .config = config, .dry = true };
	size_t goes = 0, leased = 0, odd = 0;
	char where[CHECK_WHERE];
	struct err err;

	config_default(&defaults);
	pass.policy = config ? &config->policy : &defaults.policy;
	check_path(where, check, "run/vgpu-lease/leases");
	if (gc_run(&pass, &err) < 0) {
		check_note(check, CHECK_FAIL, "lease", where, "fix the cause: no vGPU can be released until then", "%s",
			   err.text);
	} else {
		for (size_t i = 0; i < pass.n; i++) {
			goes += pass.items[i].outcome == GC_GOES;
			leased += pass.items[i].leased;
			odd += pass.items[i].leased && pass.items[i].outcome == GC_STAYS &&
			       look_at_guest(check, config, &pass.items[i].lease);
		}
		if (goes)
			check_note(check, CHECK_WARN, "lease", where, "'vgpu-lease gc' does so",
				   "%zu vGPU%s or lease%s may be given back", goes, goes == 1 ? "" : "s",
				   goes == 1 ? "" : "s");
		if (pass.garbage)
			check_note(check, CHECK_WARN, "lease", where, "'vgpu-lease gc' sets it aside",
				   "%d lease%s cannot be understood", pass.garbage, pass.garbage == 1 ? "" : "s");
		if (!goes && !pass.garbage && !odd)
			check_pass(check, "lease", where, "%zu in use, none to be given back", leased);
	}
	gc_free(&pass);
	config_free(&defaults);
}

/* A quota that is used up refuses the next start of that project, and nobody else's. */
static void look_at_quotas(struct check *check, const struct config *config, const struct store *store)
{
	struct leases leases = { 0 };
	struct err ignored;

	if (!config || lease_list(store, &leases, &ignored) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		const char *project = leases.list[i].project;
		int limit = config_quota(config, project), holds = 0;
		bool told = false;

		for (size_t k = 0; k < leases.n; k++) {
			bool same = strcmp(leases.list[k].project, project) == 0;

			holds += same;
			told |= same && k < i;
		}
		if (told || limit == NO_LIMIT || holds < limit)
			continue;
		check_note(check, CHECK_WARN, "quota", *project ? project : NULL,
			   "end one of its guests, or raise the limit in [quota]", "%s used up: %d of %d",
			   *project ? "the quota of this project is" : "the quota of domains without a project is",
			   holds, limit);
	}
	lease_list_free(&leases);
}

void check_state(struct check *check, const struct config *config)
{
	char where[CHECK_WHERE];
	struct store store;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		look_at_folder(check, folders[i]);
	look_at_writable(check, "run/vgpu-lease", CHECK_FAIL, "every start with a vGPU is refused");
	look_at_writable(check, "var/lib/vgpu-lease", CHECK_WARN, "where a vGPU was is not remembered");
	if (store_open(&store, check->host, false, &err) < 0) {
		check_note(check, CHECK_FAIL, "state", check_path(where, check, "run/vgpu-lease"),
			   err.code == EACCES ? "run this as root" : "fix the cause", "%s", err.text);
	} else {
		look_at_locks(check, &store);
		look_at_leases(check, &store, config);
		look_at_quotas(check, config, &store);
		look_at_garbage(check, &store);
	}
	store_close(&store);
}
