/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hook's location, and mdevctl's definitions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "base/auto.h"
#include "sys/sys.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"
#include "plan/nova_inventory.h"

enum { PROGRAM_MAX = 64 << 20 };

/* Is it our hook? An ELF file with our name in it is; the installation decides the same way. */
static bool look_at_hook(struct check *check, const char *path)
{
	autoclose int fd = openat(check->host->libvirt, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *program = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || sys_slurp(fd, PROGRAM_MAX, &program, &len) < 0 ||
	    len < 4 || memcmp(program, "\177ELF", 4) != 0 || !memmem(program, len, "vgpu-lease", 10))
		return false;
	if ((st.st_mode & 0111) != 0111)
		check_report(check_at_path(check, path), CHECK_FAIL, "chmod 755",
			     "not executable, so libvirt does not run it");
	return true;
}

/* libvirtd's AppArmor profile only lets it run hooks in these directories; a link is judged by its target. */
static void look_at_hook_link(struct check *check, const char *path)
{
	static const char *const allowed[] = { "/usr/bin/", "/usr/sbin/", "/etc/libvirt/hooks/" };
	char to[1024];
	ssize_t n = readlinkat(check->host->libvirt, path, to, sizeof(to) - 1);

	if (n < 0)
		return;
	to[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (strncmp(to, allowed[i], strlen(allowed[i])) == 0)
			return;
	check_report(
		check_at_path(check, path), CHECK_WARN, "copy it here",
		"is a link to %s; under its AppArmor profile, libvirtd runs only programs in /usr/bin and /usr/sbin",
		to);
}

void check_hook(struct check *check)
{
	static const char *const paths[] = { "etc/libvirt/hooks/qemu", "etc/libvirt/hooks/qemu.d/vgpu-lease" };
	struct err denied;
	int ours = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!look_at_hook(check, paths[i]))
			continue;
		ours++;
		check_report(check_at_path(check, paths[i]), CHECK_PASS, NULL, "installed");
		look_at_hook_link(check, paths[i]);
	}
	/* A simulated host has no libvirt to call a hook, unless it has a directory for hooks. */
	if (ours == 0 && check->simulated && !sys_exists(check->host->libvirt, "etc/libvirt/hooks"))
		return;
	check_at_path(check, paths[0]);
	if (ours == 0 && faccessat(check->host->libvirt, "etc/libvirt/hooks", X_OK, AT_EACCESS) < 0 &&
	    errno == EACCES) {
		err_set(&denied, EACCES, "cannot be read: permission denied");
		check_unreadable(check, "fix the cause", &denied);
	} else if (ours == 0)
		check_report(
			check, CHECK_FAIL, "install it, then reload libvirtd (or virtqemud)",
			"libvirt hook not installed (looked here and in /%s), so libvirt starts every domain without it",
			paths[1]);
	if (ours == 2)
		check_report(check, CHECK_WARN, "remove one of them", "also installed as /%s, so libvirt runs both",
			     paths[1]);
}

/* Returns the domain that uses the vGPU, by its lease or XML, or a file that might define such a domain; NULL: none. */
static const char *used_by(const struct check *check, const struct definition *d)
{
	const struct lease *lease = lease_find(check->leases, d->uuid);
	const char *domain = lease ? lease->name : libvirt_files_names(check->disk, d->uuid, NULL);

	return domain ? domain : libvirt_files_unread(check->disk, false);
}

/* Reports a definition that will be started although its pGPU is not configured for its type; Nova starts all. */
static bool goes_against(struct check *check, const struct definition *d)
{
	const struct inv_parent *parent = inventory_parent(check->inv, d->parent);
	const struct section *section = parent ? parent->card->pool.section : NULL;
	const char *domain = used_by(check, d);
	const char *who = d->starts ? "mdevctl starts it at boot" : "nova-compute starts it when it starts";
	const bool novas = check->config->policy.nova && !domain && !inventory_device(check->inv, d->uuid);

	if (!section || pool_serves(parent->card, d->type) || !(d->starts || novas))
		return false;
	/* Never propose to remove a device that might be in use. */
	if (domain) {
		check_report(check, CHECK_WARN, "keep it as long as that domain needs it",
			     "%s as %s, but its pGPU is configured for %s (in use by domain %.100s)", who, d->type,
			     section->type, domain);
		return true;
	}
	check_report(check, CHECK_WARN, check_fix(check, "run 'mdevctl undefine -u %s' if it is not needed", d->uuid),
		     "%s as %s, but its pGPU is configured for %s", who, d->type, section->type);
	return true;
}

/* Reports a UUID defined on two parents: Nova counts both, and creates missing devices when it starts. */
static bool is_second(struct check *check, const struct definition *d)
{
	const struct inv_device *device = inventory_device(check->inv, d->uuid);
	struct definition first = { 0 };
	struct err ignored;
	const char *other = device ? device->vgpu.parent : first.parent;

	if ((!device && mdevctl_definition(&first, check->host, d->uuid, &ignored) != 1) ||
	    strcmp(other, d->parent) == 0)
		return false;
	check_report(check, CHECK_WARN, check_fix(check, "run 'mdevctl undefine -u %s -p %s'", d->uuid, d->parent),
		     "%s %s has this UUID%s", device ? "a device on" : "a definition for", other,
		     check->config->policy.nova ? ", so Nova counts one too many, and nova-compute may not start" : "");
	return true;
}

/* Reports a definition without a device: Nova counts it, and an instance with it fails. */
static bool is_miscounted(struct check *check, const struct nova_inventory *nova, const struct definition *d)
{
	const char *domain = used_by(check, d);

	if (!nova_inventory_counts(nova, d) || inventory_device(check->inv, d->uuid))
		return false;
	if (domain) {
		check_report(check, CHECK_WARN,
			     libvirt_files_has_status(check->host, domain)
				     ? "hard-reboot the instance, which creates the device"
				     : "start that domain, which creates the device",
			     "has no device, but Nova counts it as one (vGPU of domain %.100s)", domain);
		return true;
	}
	check_report(check, CHECK_WARN, check_fix(check, "run 'mdevctl undefine -u %s'", d->uuid),
		     "has no device and no domain, but Nova counts it as a device");
	return true;
}

/* A missing device gets the type of its definition, so a domain that names it needs that type enabled. */
static bool cannot_start(struct check *check, const struct definition *d)
{
	const char *domain = libvirt_files_names(check->disk, d->uuid, NULL);

	if (!domain || config_section(check->config, d->type) || inventory_device(check->inv, d->uuid))
		return false;
	check_report(check, CHECK_WARN,
		     check_fix(check, "enable %s, or name another type in the domain's metadata", d->type),
		     "a start of domain %.100s would be refused: its vGPU is defined as %s, which is not enabled",
		     domain, d->type);
	return true;
}

void check_definitions(struct check *check)
{
	autofree struct definition *list = NULL;
	struct nova_inventory nova = { 0 };
	struct err err;
	size_t n, good = 0;

	if (mdevctl_definitions(&list, &n, check->host, &err) < 0) {
		check_unreadable(check, "correct or remove the file", &err);
		return;
	}
	if (check->config->policy.nova)
		nova_inventory_make(&nova, check->inv, list, n);
	for (size_t i = 0; i < n; i++) {
		const struct inv_parent *parent = inventory_parent(check->inv, list[i].parent);
		char path[sizeof("etc/mdevctl.d//") + PARENT_SIZE + UUID_SIZE];

		snprintf(path, sizeof(path), "etc/mdevctl.d/%s/%s", list[i].parent, list[i].uuid);
		check_at_path(check, path);
		good += !is_second(check, &list[i]) && !goes_against(check, &list[i]) &&
			!cannot_start(check, &list[i]) && !is_miscounted(check, &nova, &list[i]) && parent &&
			parent->card->framework == FW_MDEV && pool_gives(parent, list[i].type);
	}
	nova_inventory_free(&nova);
	check_at(check, "%s", "");
	if (good)
		check_report(check, CHECK_PASS, NULL, "%zu definition%s %s the pool", good, good == 1 ? "" : "s",
			     good == 1 ? "matches" : "match");
}
