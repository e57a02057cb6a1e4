/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the state: its directories, locks, handler, leases and quotas. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "base/mem.h"
#include "act/gc.h"
#include "sys/sys.h"
#include "look/mdevctl_files.h"

enum {
	SPACE_NEEDED = 16 << 10, /* four records of one page each */
	SPACE_ENOUGH = 1 << 20,
	FILES_NEEDED = 8,
	LOCK_LONG_MS = 1000, /* watch a lock without a limit for this time; report it if it stays held */
	LOCK_MOST_S = 60,
	LOCK_STEP_MS = 50,
	LOCK_TEXT_SIZE = 96,
};

static const char *const directories[] = {
	"run/vgpu-lease",           "run/vgpu-lease/leases",   "run/vgpu-lease/seen",
	"run/vgpu-lease/pgpu",      "run/vgpu-lease/silent",   "run/vgpu-lease/garbage",
	"run/vgpu-lease/failed",    "var/lib/vgpu-lease",      "var/lib/vgpu-lease/affinity",
	"var/lib/vgpu-lease/types", "var/lib/vgpu-lease/cards"
};

/* Could the hook write below `path`? It runs in libvirt's mount namespace, where `path` may be mounted read-only. */
static bool is_writable(const struct host *host, const char *path, struct store_space *space,
			struct store_space *libvirts)
{
	store_space(host->root, path, space);
	store_space(host->libvirt, path, libvirts);
	return !space->code && libvirts->code != -EROFS && space->bytes >= SPACE_NEEDED && space->files >= FILES_NEEDED;
}

bool check_can_lease(const struct check *check)
{
	struct store_space space, libvirts;

	return is_writable(check->host, "run/vgpu-lease", &space, &libvirts) || err_denied(-space.code);
}

/* Reports whether the hook could write below `path`: if not, with `status` and the consequence `without`. */
static void look_at_writable(struct check *check, const char *path, enum check_status status, const char *without)
{
	const struct host *host = check->host;
	struct store_space space, libvirts;
	bool writable = is_writable(host, path, &space, &libvirts);

	/* check_state() has reported that `path` is not a directory. */
	if (space.code == -ENOTDIR && strcmp(space.near, path) == 0)
		return;
	check_at_path(check, space.near);
	if (space.code == -EROFS)
		check_report(check, status, "remount it read-write", "is mounted read-only, so %s", without);
	else if (libvirts.code == -EROFS)
		check_report(check, status, "see ProtectSystem in libvirt's unit, or the mounts of its container",
			     "is mounted read-only in libvirt's mount namespace, so %s", without);
	else if (err_denied(-space.code))
		check_warn(check, "run as root", "%s", err_describe(-space.code));
	else if (space.code)
		/* Starts continue without a lease only if it is full or read-only. */
		check_report(check, status, "see its permissions, mount(8), lsattr(1)", "cannot be written (%s), so %s",
			     err_describe(-space.code),
			     status == CHECK_FAIL ? "every start with a vGPU is refused" : without);
	else if (!writable)
		check_report(check, status, "free some space: 'du -xa' shows what uses it",
			     "the file system is full (%llu KiB, %lld files left), so %s", space.bytes >> 10,
			     (long long)space.files, without);
	else if (space.bytes < SPACE_ENOUGH)
		check_warn(check, "free some space: 'du -xa' shows what uses it",
			   "the file system is almost full (%llu KiB left), so %s soon", space.bytes >> 10, without);
	else
		check_pass(check, "writable");
}

/*
 * Reports a lock that stays held: as a failure if one process holds the lock for `limit_ms`, else as a warning with
 * `means`. `limit_ms` 0: always a warning.
 */
static void look_at_lock(struct check *check, const char *name, int limit_ms, const char *means)
{
	int wait_ms = limit_ms ? limit_ms : LOCK_LONG_MS;
	const int64_t end = sys_now_ms() + wait_ms;
	char holder[LOCK_TEXT_SIZE], last[LOCK_TEXT_SIZE] = "";
	bool fails = limit_ms;
	struct stat st;

	if (fstatat(check->store.run, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	check_at(check, "%s/run/vgpu-lease/%s", check->host->name, name);
	if (!S_ISREG(st.st_mode)) {
		check_fail(check, "remove it", "is not a regular file, so it cannot be locked, and starts are refused");
		return;
	}
	for (; sys_now_ms() < end; sys_sleep_ms(LOCK_STEP_MS)) {
		if (!store_locked(&check->store, name))
			return;
		store_name_holder(&check->store, name, holder, sizeof(holder));
		fails &= !*last || strcmp(holder, last) == 0;
		memcpy(last, holder, sizeof(last));
	}
	check_report(
		check, fails ? CHECK_FAIL : CHECK_WARN,
		strncmp(last, "process ", 8) == 0
			? "see what the process waits for (/proc/PID/stack), and dmesg (troubleshooting: the-lock-is-held)"
			: "see what has it open ('fuser -v' of this file), and dmesg (troubleshooting: the-lock-is-held)",
		"held for over %g s, last by %s; %s", (double)wait_ms / 1000, last,
		fails ? "a start with a vGPU waits for it up to lock_timeout, then is refused" : means);
}

/* Only the store's lock can fail the check. A pGPU's lock may be held for as long as its driver takes. */
static void look_at_locks(struct check *check)
{
	autoclosedir DIR *dir = sys_list(check->store.run, "pgpu");
	int limit_s = config_is_valid(check->config) && !check->seen ? check->config->policy.lock_timeout_s : 0;
	const struct dirent *e;

	look_at_lock(check, STORE_LOCK, (limit_s < LOCK_MOST_S ? limit_s : LOCK_MOST_S) * 1000,
		     "starts wait up to lock_timeout");
	while ((e = sys_next(dir))) {
		autofree char *name = mem_format("pgpu/%s", e->d_name);

		if (fnmatch("?*.lock", e->d_name, 0) == 0)
			look_at_lock(check, name, 0, "a write to its driver is in progress");
	}
}

/* Only warns if the handler is not running, because starts work without the handler. */
static void look_at_handler(struct check *check)
{
	int run = check->store.run;
	bool known = run >= 0 && sys_exists(run, STORE_HANDLER);

	check_begin(check, "handler");
	/* A simulated host needs no handler. */
	if (*check->host->name && !known)
		return;
	if (known && faccessat(run, STORE_HANDLER, R_OK, AT_EACCESS) < 0)
		check_warn(check, "run as root", "cannot tell whether vgpu-leased runs");
	else if (store_locked(&check->store, STORE_HANDLER))
		check_pass(check, "vgpu-leased is running");
	else
		check_warn(
			check, "systemctl enable --now vgpu-leased",
			"vgpu-leased is not running, so hot-plugged vGPUs get no lease, migrations no facts, and slow releases wait for gc or a start that needs the vGPU");
}

static void look_at_garbage(struct check *check)
{
	autoclosedir DIR *dir = sys_list(check->store.run, "garbage");
	const struct dirent *e;
	int n = 0;

	while ((e = sys_next(dir)))
		n += e->d_name[0] != '.';
	if (n)
		check_warn(check_at_path(check, "run/vgpu-lease/garbage"), "find out what wrote it, then delete it",
			   "%d record%s could not be parsed", n, n == 1 ? "" : "s");
}

/*
 * Reports an active lease whose type is not enabled: the guest's next start may be refused or, after a reboot, get
 * another type. A vGPU that Nova or mdevctl creates again keeps its type.
 */
static bool look_at_guest(struct check *check, const struct lease *lease)
{
	if (!config_is_valid(check->config) || lease->state != LEASE_ACTIVE ||
	    config_section(check->config, lease->vgpu.type) ||
	    (lease->origin == LEASE_ADOPTED &&
	     (check->config->policy.nova || mdevctl_defines(check->host, lease->vgpu.id, ""))))
		return false;
	check_warn(check_at(check, "%s", lease->vgpu.id),
		   check_fix(check, "enable %s again, or see 'vgpu-lease plan' for that domain before its next start",
			     lease->vgpu.type),
		   "leased to domain %.100s as %s on %s, but this type is not enabled", lease->name, lease->vgpu.type,
		   lease->vgpu.pgpu);
	return true;
}

/* Reports an active lease whose vGPU does not exist. Skips a plain VF of a card that check_cards() has reported. */
static bool look_at_lost(struct check *check, const struct gc *pass, const struct gc_item *item)
{
	const struct lease *lease = &item->lease;
	const struct inv_pgpu *card = inventory_pgpu(&pass->world.inv, lease->vgpu.pgpu);
	bool runs = libvirt_files_runs(pass->world.disk, lease->domain), plain = lease->vgpu.framework == FW_VF;

	if (lease->state != LEASE_ACTIVE || item->exists != ABSENT || (plain && !(card && card->ready)))
		return false;
	check_warn(check_at(check, "%s", lease->vgpu.id),
		   !runs   ? item->fate.why
		   : plain ? "stop the domain, enable the VF, and start the domain again"
			   : "stop the domain and start it again, which creates the vGPU",
		   "leased to domain %.100s%s, but does not exist", lease->name, runs ? ", which runs" : "");
	return true;
}

/* Reports when each orphan will be removed, and how many unused vGPUs are kept. */
static void report_foreign(struct check *check, const struct gc *pass)
{
	size_t kept = 0;
	int64_t now = sys_now_ms();

	for (EACH(const struct gc_item *, item, pass->items, pass->n)) {
		const char *how = item->novas ? "by vgpu-leased"
					      : "when a start needs its capacity, or by 'vgpu-lease gc'";
		char when[96] = "";

		kept += !item->leased && item->fate.due_ms == FATE_KEPT;
		if (item->leased || (item->outcome != GC_GOES && item->fate.due_ms <= 0))
			continue;
		if (item->fate.due_ms > now)
			snprintf(when, sizeof(when), ", in %lld s%s", (long long)(item->fate.due_ms - now) / 1000,
				 item->novas ? "" : " at the earliest, and at once by 'vgpu-lease gc --grace 0'");
		check_pass(check_at(check, "%s", item->vgpu.id), "an orphan (%s on %s%s): removed %s%s%s",
			   item->vgpu.type, item->vgpu.parent, item->exists ? "" : ", an mdevctl definition only", how,
			   when,
			   item->exists && mdevctl_defines(check->host, item->vgpu.id, item->vgpu.parent)
				   ? "; its mdevctl definition is removed with it"
				   : "");
	}
	if (kept)
		check_pass(check_at(check, "%s", ""), "%zu unused vGPU%s kept: not made for a guest", kept,
			   kept == 1 ? "" : "s");
}

static void report_leases(struct check *check, const struct gc *pass)
{
	size_t goes = 0, leased = 0, odd = 0, waits = 0;
	int garbage = pass->world.leases.garbage;

	check_begin(check, "guest");
	for (EACH(const struct gc_item *, item, pass->items, pass->n)) {
		goes += item->outcome == GC_GOES;
		leased += item->leased;
		waits += item->leased && item->lease.state == LEASE_RELEASING && item->outcome == GC_STAYS;
		if (item->leased && item->outcome == GC_STAYS && !item->fate.due_ms)
			odd += look_at_lost(check, pass, item) || look_at_guest(check, &item->lease);
	}
	check_begin(check, "lease");
	report_foreign(check, pass);
	check_at_path(check, "run/vgpu-lease/leases");
	if (goes)
		check_warn(check, "run 'vgpu-lease gc'", "%zu vGPU%s or lease%s can be released", goes,
			   goes == 1 ? "" : "s", goes == 1 ? "" : "s");
	if (garbage)
		check_warn(check, "run 'vgpu-lease gc', which sets it aside", "%d lease%s cannot be parsed", garbage,
			   garbage == 1 ? "" : "s");
	else if (!goes && !odd && waits)
		check_pass(check, "%zu leased, %zu of them being released", leased, waits);
	else if (!goes && !odd)
		check_pass(check, "%zu in use, none to be released", leased);
}

static void look_at_leases(struct check *check)
{
	autogc struct gc pass = { .world = { .store = &check->store, .config = check->config },
				  .inv = check->inv,
				  .files = check->disk,
				  .dry = true };
	struct err err;

	check_begin(check, "lease");
	if (gc_judge(&pass, &err) == 0)
		report_leases(check, &pass);
	else
		check_unreadable(check_at_path(check, "run/vgpu-lease/leases"),
				 "fix the cause; until then no vGPU can be released", &err);
}

bool check_serves_projects(const struct config *config)
{
	bool serves = config->quota_default != 0;

	for (EACH(const struct quota *, quota, config->quotas, config->nquotas))
		serves |= quota->limit != 0;
	return serves;
}

/* Only warns of an exhausted quota, because other projects can still start domains. */
static void look_at_quotas(struct check *check)
{
	const struct config *config = check->config;
	const struct leases *leases = &check->world->leases;
	const bool serves = check_serves_projects(config);

	check_begin(check, "quota");
	/* check_starts() reports if no domain at all may have a vGPU. */
	if (serves == (config->quota_none == 0))
		check_warn(check_at(check, "%s", config->nfiles ? config->files[0] : ""),
			   serves ? "if they need vGPUs, raise the key none in [quota]"
				  : "if they need vGPUs, raise the key default in [quota]",
			   "the quota of %s is 0, so none of them gets a vGPU",
			   serves ? "domains without a project" : "each project");
	for (EACH(const struct lease *, lease, leases->list, leases->n)) {
		int limit = config_quota(config, lease->project), holds = 0;
		const struct lease *first = NULL;

		for (EACH(const struct lease *, other, leases->list, leases->n))
			if (strcmp(other->project, lease->project) == 0 && holds++ == 0)
				first = other;
		if (first != lease || limit == NO_LIMIT || holds < limit)
			continue;
		check_warn(check_at(check, "%s", lease->project),
			   "end one of its guests, or raise the limit in [quota]", "%s exhausted: %d of %d",
			   *lease->project ? "the quota of this project is"
					   : "the quota of domains without a project is",
			   holds, limit);
	}
}

void check_state(struct check *check)
{
	struct err err = check->store_err;
	size_t path = strcspn(err.text, ":");

	check_begin(check, "state");
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		int r = store_check_dir(check->host, directories[i]);

		check_at_path(check, directories[i]);
		/* -ENOTDIR also means that a directory above it is a file, which is reported once. */
		if (r == -ENOTDIR && sys_exists(check->host->root, directories[i]))
			check_fail(check, "remove that file; the directory is created when it is needed",
				   "is not a directory");
		else if (r == -EPERM)
			check_fail(check, "look at what is in it, then chown root, chmod 755",
				   "is not owned by root, or is writable by others, so the hook refuses to use it");
	}
	if (!err_denied(err.code))
		look_at_writable(check, "run/vgpu-lease", CHECK_FAIL, "every start that needs a new vGPU is refused");
	look_at_writable(check, "var/lib/vgpu-lease", CHECK_WARN, "the history of vGPUs is not kept");
	if (!err.code) {
		look_at_locks(check);
		look_at_garbage(check);
		look_at_handler(check);
		look_at_leases(check);
		look_at_quotas(check);
	} else if (err.code != ENOTDIR && err.code != ELOOP) { /* these are reported above */
		/* The error's text is "PATH: CAUSE". PATH becomes the place of the finding. */
		check_at(check, "%s%.*s", check->host->name, (int)path, err.text);
		err_set(&err, err.code, "%s",
			check->store_err.text + path + strspn(check->store_err.text + path, ": "));
		check_unreadable(check, "fix the cause (troubleshooting: the-host)", &err);
	}
}
