/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May this device be removed to make capacity or to clean up? */
#include "domain/domxml.h"
#include "model/owner.h"
#include "plan/pool.h"
#include "state/history.h"
#include "survey/reclaim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static bool say(bool verdict, char why[REASON_SIZE], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, REASON_SIZE, fmt, ap);
	va_end(ap);
	return verdict;
}

/* 1: open; 0: not open; negative: not known, so the device is kept. `why` explains 1 and negative. */
static int is_open(const struct reclaim_check *check, const char *id, char why[REASON_SIZE])
{
	struct err err;
	pid_t pid = 0;
	int r = vfio_users_open(check->users, check->host, id, &pid, &err);

	if (r == 1)
		say(true, why, "process %d has it open", (int)pid);
	else if (r < 0)
		say(true, why, "%.240s", err.text);
	return r;
}

/* A type's ID begins with the name of its driver: "nvidia" in nvidia-35. */
static bool is_same_driver(const char *type, const char *other)
{
	size_t len = strcspn(type, "-");

	return len == strcspn(other, "-") && strncmp(type, other, len) == 0;
}

bool reclaim_is_novas(const struct reclaim_check *check, const struct vgpu_ref *vgpu)
{
	struct owner_facts facts = { .framework = vgpu->framework };
	const struct config *config = check->config;
	const struct inv_parent *parent = config && config->policy.nova ? inventory_parent(check->inv, vgpu->parent)
									: NULL;

	/* Nova counts no device on a parent that is not registered. */
	if (!parent)
		return false;
	facts.nova = pool_names(config, parent->card, vgpu->parent);
	/* A section without addresses claims the remaining cards that can have its type: those of its driver. */
	for (size_t i = 0; i < config->nsections; i++)
		facts.nova |= config_takes_rest(&config->sections[i]) &&
			      is_same_driver(config->sections[i].type, vgpu->type);
	return owner_of(&facts) == OWNER_NOVA;
}

/* When its idle time began, CLOCK_MONOTONIC ms. */
static int64_t idle_since(const struct reclaim_check *check, const struct inv_device *device)
{
	const struct seen seen = { .node = device->node,
				   .created_ms = inventory_created_ms(check->host, &device->vgpu) };

	return seen_since(check->store, device->vgpu.id, &seen, check->note);
}

/* Has reclaim_grace passed? If not, `why` says how long it has been idle. */
static bool is_due(const struct reclaim_check *check, int64_t since, char why[REASON_SIZE], int64_t *due_ms)
{
	int64_t grace = (int64_t)check->config->policy.reclaim_grace_s * 1000, idle = sys_now_ms() - since;

	*due_ms = since + grace;
	return idle >= grace || say(false, why, "idle for %" PRId64 " s of the %" PRId64 " s of reclaim_grace",
				    idle / 1000, grace / 1000);
}

/*
 * 1: a domain's XML names it; 0: none does; negative: not known. `why` explains 1 and negative. Records a name as a
 * sign of use, because Nova redefines a domain when it starts it, and for a moment nothing names its vGPU.
 */
static int is_named(const struct reclaim_check *check, const char *id, const char *asking, char why[REASON_SIZE])
{
	const char *domain = libvirt_files_names(check->disk, id, asking);

	if (domain && check->note)
		seen_in_use(check->store, id);
	if (domain)
		return say(true, why, "domain %.100s names it", domain);
	if (!libvirt_files_unread(check->disk, false))
		return 0;
	say(true, why, "cannot tell whether a domain names it: %.180s", libvirt_files_unread(check->disk, false));
	return -1;
}

bool reclaim_is_named(const struct reclaim_check *check, const char *id, char why[REASON_SIZE])
{
	return is_named(check, id, NULL, why) != 0;
}

/* Does its mdevctl definition keep it? A removal would include the definition. */
static bool is_kept_by_mdevctl(const struct reclaim_check *check, const struct inv_device *device, bool novas,
			       int *defined, char why[REASON_SIZE])
{
	struct definition definition;
	struct err err;

	*defined = mdevctl_definition(&definition, check->host, device->vgpu.id, &err);
	if (*defined < 0)
		return say(true, why, "%.200s", err.text);
	if (*defined == 1 && definition.starts && !novas)
		return say(true, why, "mdevctl starts it at boot (/etc/mdevctl.d/%s)", definition.parent);
	return false;
}

/* Is it kept as part of a pool, because it was not made for a guest? */
static bool is_pool(const struct reclaim_check *check, const char *id, bool *for_guest, char why[REASON_SIZE],
		    int64_t *due_ms)
{
	*for_guest = affinity_is_for_guest(check->store, id);
	if (*for_guest || check->unused)
		return false;
	*due_ms = RECLAIM_KEPT;
	return say(true, why, "kept: not made for a guest; 'vgpu-lease gc --unused' removes it");
}

bool reclaim_is_orphan(const struct reclaim_check *check, const struct inv_device *device, char why[REASON_SIZE],
		       int64_t *due_ms)
{
	int defined, open;
	int64_t since, ignored;
	bool novas, for_guest;

	if (!due_ms)
		due_ms = &ignored;
	*due_ms = 0;
	if (!check->config || !check->config->policy.reclaim_orphans)
		return say(false, why, "reclaim = never, so foreign devices are kept");
	if (!*device->vgpu.type)
		return say(false, why, "its type cannot be read");
	if (is_named(check, device->vgpu.id, device->vgpu.framework == FW_VARIANT ? check->asking : NULL, why))
		return false;
	open = is_open(check, device->vgpu.id, why);
	if (open) {
		if (open == 1 && check->note)
			seen_used(check->store, device->vgpu.id);
		return false;
	}
	novas = reclaim_is_novas(check, &device->vgpu);
	if (is_kept_by_mdevctl(check, device, novas, &defined, why))
		return false;
	/* The idle time is also recorded for devices that are kept. */
	since = idle_since(check, device);
	if (is_pool(check, device->vgpu.id, &for_guest, why, due_ms) || !is_due(check, since, why, due_ms))
		return false;
	return say(true, why, "%s: no lease, not open, in no domain's XML, %sidle for %" PRId64 " s%s",
		   for_guest ? "an orphan" : "unused", novas ? "" : "not started by mdevctl, ",
		   (sys_now_ms() - since) / 1000, defined ? "; its mdevctl definition is removed with it" : "");
}

enum { YOUNG_MS = 60000 }; /* Nova takes time to create an mdev that it has defined; reclaim_grace may be shorter */

bool reclaim_is_orphan_definition(const struct reclaim_check *check, const struct definition *definition,
				  char why[REASON_SIZE], int64_t *due_ms)
{
	/* No device has this inode number, so a device that is created from the definition counts as newly seen. */
	const struct seen seen = { .node = 1 };
	int64_t since;
	bool for_guest;

	*due_ms = 0;
	if (!check->config || !check->config->policy.reclaim_orphans)
		return say(false, why, "reclaim = never, so definitions are kept");
	if (is_named(check, definition->uuid, NULL, why))
		return false;
	since = seen_since(check->store, definition->uuid, &seen, check->note);
	/* The record may be of an earlier definition with this UUID. */
	if (definition->created_ms > since)
		since = definition->created_ms;
	if (is_pool(check, definition->uuid, &for_guest, why, due_ms) || !is_due(check, since, why, due_ms))
		return false;
	if (sys_now_ms() - definition->created_ms < YOUNG_MS) {
		*due_ms = definition->created_ms + YOUNG_MS;
		return say(false, why, "its mdevctl definition was created a moment ago");
	}
	return say(true, why, "an mdevctl definition without a device, in no domain's XML, idle for %" PRId64 " s",
		   (sys_now_ms() - since) / 1000);
}

bool reclaim_at_work(const struct store *store, const struct lease *lease)
{
	/* A write that outlived its hook holds the pGPU's lock until it ends in the kernel. */
	return sys_process_lives(lease->writer, lease->writer_start) || store_locked(store, lease->vgpu.pgpu) ||
	       store_removes(store, lease->vgpu.id);
}

/* Judges the lease of a creation that may have been interrupted; its device may be half created. */
static bool cut_off(const struct reclaim_check *check, const struct lease *lease, enum presence exists,
		    char why[REASON_SIZE])
{
	int timeout = check->config ? check->config->policy.create_timeout_s : 10;

	if (reclaim_at_work(check->store, lease))
		return say(false, why, "being created now");
	if (!exists || lease->vgpu.framework == FW_VF)
		return say(true, why, "its creation was interrupted, and there is no device");
	if (sys_now_ms() - lease->since_ms < (int64_t)timeout * 1000)
		return say(false, why, "its creation was interrupted less than create_timeout ago");
	return say(true, why, "its creation was interrupted");
}

/*
 * False if libvirt's files show that the running domain neither has the device nor can resume it. A suspend record has
 * a UUID as it is, but a VF's address in another form, so for a VF any suspend record counts.
 */
static bool running_domain_has(const struct reclaim_check *check, const struct lease *lease)
{
	const struct vgpu_ref *vgpu = &lease->vgpu;

	if (!libvirt_files_runs(check->disk, lease->domain) || libvirt_files_unread(check->disk, false))
		return true;
	return libvirt_files_names(check->disk, vgpu->id, NULL) ||
	       (vgpu->framework != FW_MDEV && libvirt_files_mention(check->disk, DOMXML_SUSPENDED_NS));
}

/* Keeps a lease whose device may or may not exist; `why` says why its card is not ready. */
static bool not_seen(const struct reclaim_check *check, const struct vgpu_ref *vgpu, char why[REASON_SIZE])
{
	const struct inv_pgpu *card = inventory_pgpu(check->inv, vgpu->pgpu);
	const char *reason = card ? card->reason : "";

	return say(false, why, "cannot tell whether it exists: %s%s%.180s", vgpu->pgpu, *reason ? ": " : "", reason);
}

bool reclaim_is_stale(const struct reclaim_check *check, const struct lease *lease, enum presence exists,
		      char why[REASON_SIZE], int64_t *due_ms)
{
	int grace = check->config ? check->config->policy.start_grace_s : 120;
	int64_t age = sys_now_ms() - lease->since_ms;
	bool runs;

	if (due_ms)
		*due_ms = 0;
	if (lease->state == LEASE_RESERVED)
		return lease->deadline_ms < sys_now_ms() ? say(true, why, "its reservation has expired")
							 : say(false, why, "reserved for an arriving domain");
	/* A plain VF always exists, whether a guest uses it or not. */
	if (lease->vgpu.framework == FW_VF)
		exists = PRESENT;
	if (exists && is_open(check, lease->vgpu.id, why))
		return false;
	if (exists == PRESENCE_UNKNOWN)
		return not_seen(check, &lease->vgpu, why);
	if (lease->state == LEASE_RELEASING)
		return say(true, why, "to be released");
	if (lease->since_ms >= check->looked_ms)
		return say(false, why, "its lease changed a moment ago");
	runs = (check->runs && check->runs(check->arg, lease->domain)) ||
	       libvirt_files_runs(check->disk, lease->domain);
	/* A domain can run without the device: the device was unplugged, or its attach was killed. */
	if (runs && running_domain_has(check, lease))
		return say(false, why, "its domain runs");
	if (libvirt_files_unread(check->disk, true))
		return say(false, why, "cannot tell whether its domain runs: %.180s",
			   libvirt_files_unread(check->disk, true));
	if (lease->state == LEASE_CREATING)
		return cut_off(check, lease, exists, why);
	/* A resume writes the lease before libvirt starts the saved domain, which takes time. */
	if (sys_process_lives(lease->writer, lease->writer_start))
		return say(false, why, "being changed by process %d", (int)lease->writer);
	/* Nobody is creating the device again, so the lease has no purpose any more. */
	if (!exists && !reclaim_at_work(check->store, lease))
		return say(true, why, "its device is gone, and its domain does not %s", runs ? "have it" : "run");
	if (age < (int64_t)grace * 1000 && due_ms)
		*due_ms = lease->since_ms + (int64_t)grace * 1000;
	if (age < (int64_t)grace * 1000)
		return say(false, why, "active for %" PRId64 " s of the %d s of start_grace", age / 1000, grace);
	return say(true, why, runs ? "its domain runs without it" : "its domain no longer runs");
}
