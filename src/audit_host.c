/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is everything as it should be? The hook's place, mdevctl's definitions, the state. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "auto.h"
#include "collect.h"
#include "file.h"
#include "ondisk.h"
#include "store.h"

enum { PROGRAM_MAX = 64 << 20, WHERE_SIZE = 512 };

/* What stands at a hook's place. */
enum hook { NO_HOOK, OTHER_HOOK, OUR_HOOK };

/* A path of the host, for messages. */
static const char *shown(char where[WHERE_SIZE], const struct audit *audit, const char *path)
{
	snprintf(where, WHERE_SIZE, "%s/%s", audit->host->name, path);
	return where;
}

/* An ELF file with our name in it is ours, as the installation sees it, too. */
static enum hook look_at_hook(struct audit *audit, const char *path)
{
	autoclose int fd = openat(audit->host->root, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *program = NULL;
	char where[WHERE_SIZE];
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || file_slurp(fd, PROGRAM_MAX, &program, &len) < 0)
		return fd < 0 ? NO_HOOK : OTHER_HOOK;
	if (len < 4 || memcmp(program, "\177ELF", 4) != 0 || !memmem(program, len, "vgpu-lease", 10))
		return OTHER_HOOK;
	if ((st.st_mode & 0111) != 0111)
		audit_note(audit, AUDIT_ERROR, shown(where, audit, path),
			   "not executable, so libvirt does not run it: chmod 755");
	return OUR_HOOK;
}

/* libvirtd's AppArmor profile lets it run hooks from these places only, and a link is judged by where it leads. */
static void check_hook_link(struct audit *audit, const char *path)
{
	static const char *const allowed[] = { "/usr/bin/", "/usr/sbin/", "/etc/libvirt/hooks/" };
	char to[1024], where[WHERE_SIZE];
	ssize_t n = readlinkat(audit->host->root, path, to, sizeof(to) - 1);

	if (n < 0)
		return;
	to[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (strncmp(to, allowed[i], strlen(allowed[i])) == 0)
			return;
	audit_note(
		audit, AUDIT_WARNING, shown(where, audit, path),
		"leads to %s: where libvirtd has an AppArmor profile, only /usr/bin and /usr/sbin may be run; copy it here",
		to);
}

void audit_hook(struct audit *audit)
{
	static const char *const paths[] = { "etc/libvirt/hooks/qemu", "etc/libvirt/hooks/qemu.d/vgpu-lease" };
	char where[WHERE_SIZE];
	int ours = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (look_at_hook(audit, paths[i]) != OUR_HOOK)
			continue;
		ours++;
		check_hook_link(audit, paths[i]);
	}
	shown(where, audit, paths[0]);
	if (ours == 0)
		audit_note(audit, audit->simulated ? AUDIT_WARNING : AUDIT_ERROR, where,
			   "the hook is neither here nor at /%s, so nothing is leased: install it and restart libvirtd",
			   paths[1]);
	if (ours == 2)
		audit_note(audit, AUDIT_WARNING, where, "the hook is also at /%s, and libvirt runs both: remove one",
			   paths[1]);
}

/* What this parent is to serve instead; NULL: nothing that a definition of this type could be at odds with. */
static const struct section *at_odds(const struct pool *pool, const char *parent, const char *type)
{
	int p = inventory_parent(pool->inv, parent), pgpu = p == UNKNOWN ? p : pool->inv->parents[p].pgpu;

	return p == UNKNOWN || pool_serves(pool, pgpu, type) ? NULL : pool->cards[pgpu].section;
}

void audit_definitions(struct audit *audit, const struct pool *pool)
{
	autofree struct definition *list = NULL;
	struct err err;
	size_t n;

	if (ondisk_definitions(&list, &n, audit->host, &err) < 0) {
		audit_note(audit, AUDIT_ERROR, NULL, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct section *section = at_odds(pool, list[i].parent, list[i].type);
		char where[WHERE_SIZE];

		if (!list[i].starts || !section)
			continue;
		snprintf(where, sizeof(where), "%s/etc/mdevctl.d/%s/%s", audit->host->name, list[i].parent,
			 list[i].uuid);
		audit_note(
			audit, AUDIT_WARNING, where,
			"mdevctl starts it at boot as %s, and the configuration has its pGPU serve %s: 'mdevctl undefine -u %s' if nobody needs it",
			list[i].type, section->type, list[i].uuid);
	}
}

/* A folder of the state that others may write to is refused by the hook. */
static void check_folder(struct audit *audit, const char *path)
{
	char where[WHERE_SIZE];
	struct stat st;

	if (fstatat(audit->host->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	shown(where, audit, path);
	if (!S_ISDIR(st.st_mode))
		audit_note(audit, AUDIT_ERROR, where, "is no folder: remove it");
	else if ((!audit->simulated && st.st_uid != 0) || (st.st_mode & 077) != 0)
		audit_note(
			audit, AUDIT_ERROR, where,
			"is not root's alone, so the hook refuses it: chown root, chmod 700, after a look at what is in it");
}

static void check_garbage(struct audit *audit, const struct store *store)
{
	char where[WHERE_SIZE];
	int fd = store->run < 0 ? -1 : file_dir(store->run, "garbage"), n = 0;
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (n)
		audit_note(audit, AUDIT_WARNING, shown(where, audit, "run/vgpu-lease/garbage"),
			   "%d record%s that could not be understood: look at what wrote to it, then delete", n,
			   n == 1 ? "" : "s");
}

static void check_leases(struct audit *audit, struct store *store, const struct config *config)
{
	struct config defaults;
	struct collect pass = { .store = store, .config = config, .dry = true };
	size_t n = 0;
	struct err err;

	config_default(&defaults);
	pass.policy = config ? &config->policy : &defaults.policy;
	if (collect_run(&pass, &err) < 0) {
		audit_note(audit, AUDIT_ERROR, NULL, "%s", err.text);
	} else {
		for (size_t i = 0; i < pass.n; i++)
			n += pass.items[i].outcome == COLLECT_GOES;
		if (n)
			audit_note(audit, AUDIT_WARNING, NULL,
				   "%zu vGPU%s or lease%s may be given back: 'vgpu-lease gc' does so", n,
				   n == 1 ? "" : "s", n == 1 ? "" : "s");
		if (pass.garbage)
			audit_note(audit, AUDIT_WARNING, NULL,
				   "%d lease%s cannot be understood: 'vgpu-lease gc' sets %s aside", pass.garbage,
				   pass.garbage == 1 ? "" : "s", pass.garbage == 1 ? "it" : "them");
	}
	collect_free(&pass);
	config_free(&defaults);
}

void audit_state(struct audit *audit, const struct config *config)
{
	static const char *const folders[] = { "run/vgpu-lease",          "run/vgpu-lease/leases",
					       "run/vgpu-lease/seen",     "run/vgpu-lease/pgpu",
					       "run/vgpu-lease/garbage",  "run/vgpu-lease/failed",
					       "var/lib/vgpu-lease",      "var/lib/vgpu-lease/affinity",
					       "var/lib/vgpu-lease/types" };
	struct store store;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		check_folder(audit, folders[i]);
	if (store_open(&store, audit->host, false, &err) < 0) {
		audit_note(audit, AUDIT_ERROR, NULL, "%s%s", err.text,
			   err.code == EACCES ? ": only root can look at the leases: run this with sudo" : "");
	} else {
		check_leases(audit, &store, config);
		check_garbage(audit, &store);
	}
	store_close(&store);
}
