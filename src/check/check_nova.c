/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares mdevctl's definitions, and what nova-compute counts on each pGPU, with the existing vGPUs. */
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"
#include "decide/capacity.h"
#include "decide/nova_inventory.h"

struct defined {
	const struct definition *definition;
	const struct inv_parent *parent; /* NULL: not registered */
	const struct inv_device *device; /* NULL: does not exist */
	const char *domain;              /* NULL: no lease or XML has the vGPU */
};

/* Returns `fix` or, if a file of libvirt's is unreadable, the advice to keep the vGPU, which the file may name. */
static const char *unless_unread(struct check *check, const char *fix)
{
	const char *unread = libvirt_files_unread(check->disk, false);

	return unread ? check_fix(check, "keep it until this is fixed: %.200s", unread) : fix;
}

/* Reports a definition that mdevctl or nova-compute will start although its pGPU is not configured for its type. */
static bool goes_against(struct check *check, const struct defined *d)
{
	const struct section *section = d->parent ? d->parent->card->pool.section : NULL;
	const char *type = d->definition->type, *uuid = d->definition->uuid;
	const char *who = d->definition->starts ? "mdevctl starts it at boot" : "nova-compute starts it when it starts";
	const bool novas = check->config->policy.nova && !d->domain && !d->device;

	if (!section || pool_serves(d->parent->card, type) || !(d->definition->starts || novas))
		return false;
	if (d->domain)
		check_warn(check, "keep it as long as that domain needs it",
			   "%s as %s, but its pGPU is configured for %s (in use by domain %.100s)", who, type,
			   section->type, d->domain);
	else
		check_warn(check,
			   unless_unread(check,
					 check_fix(check, "run 'mdevctl undefine -u %s' if it is not needed", uuid)),
			   "%s as %s, but its pGPU is configured for %s", who, type, section->type);
	return true;
}

/* Reports a definition whose UUID has a device or an earlier definition on another parent. Nova counts both. */
static bool is_second(struct check *check, const struct defined *d)
{
	const struct definition *this = d->definition;
	struct definition first = { 0 };
	struct err ignored;
	const char *other = d->device ? d->device->vgpu.parent : first.parent;

	if ((!d->device && mdevctl_definition(&first, check->host, this->uuid, &ignored) != 1) ||
	    strcmp(other, this->parent) == 0)
		return false;
	/* Do not report the only definition, which names the parent that mdevctl uses for the device after a boot. */
	if (d->device && d->parent && !check->config->policy.nova && !mdevctl_defines(check->host, this->uuid, other))
		return false;
	check_warn(check, check_fix(check, "run 'mdevctl undefine -u %s -p %s'", this->uuid, this->parent),
		   "%s %s has this UUID%s", d->device ? "a device on" : "a definition for", other,
		   check->config->policy.nova ? ", so Nova counts one too many, and nova-compute may not start" : "");
	return true;
}

/* Reports a definition that Nova counts although its device is missing. */
static bool is_miscounted(struct check *check, const struct nova_inventory *nova, const struct defined *d)
{
	const char *uuid = d->definition->uuid;

	if (!nova_inventory_counts(nova, d->definition) || d->device)
		return false;
	if (d->domain)
		check_warn(check,
			   libvirt_files_has_status(check->host, d->domain)
				   ? "hard-reboot the instance, which creates the device"
				   : "start that domain, which creates the device",
			   "has no device, but Nova counts it as one (vGPU of domain %.100s)", d->domain);
	else
		/* A unit of the operator may still have to start the definition, so also advise `mdevctl start`. */
		check_warn(check,
			   unless_unread(check, check_fix(check,
							  "run 'mdevctl start -u %s', or 'mdevctl undefine -u %s' if "
							  "it is not needed",
							  uuid, uuid)),
			   "has no device and no domain, but Nova counts it as a device");
	return true;
}

/* The counts of all Nova providers of one type on one pGPU. */
struct sum {
	int providers, existing, defined, available, total;
	int counted;         /* how many of `available` Nova counts */
	int others;          /* mdevs of other types on the same parents */
	int least;           /* the least max_instances (for all pGPUs together) with which Nova counts every vGPU */
	int mib, beside_mib; /* the framebuffer of what Nova counts of this type, and of others, on the pGPU */
	bool limited;
};

static struct sum sum_of_pgpu(const struct nova_inventory *nova, const struct inventory *inv,
			      const struct inv_pgpu *card, const struct section *section)
{
	struct sum sum = { 0 };

	for (EACH(const struct nova_provider *, p, nova->providers, nova->n)) {
		const struct inv_type *t = p->parent->card == card ? inventory_type(inv, card, p->section->type) : NULL;

		if (t && t->framebuffer_mib > 0)
			*(p->section == section ? &sum.mib : &sum.beside_mib) += p->total * t->framebuffer_mib;
		if (p->section != section)
			continue;
		sum.least += p->existing + p->defined + p->available;
		if (p->parent->card != card)
			continue;
		sum.providers++;
		sum.existing += p->existing;
		sum.defined += p->defined;
		sum.available += p->available;
		sum.total += p->total;
		sum.counted += p->limited ? 0 : p->available;
		for (EACH(const struct inv_device *, d, inv->devices, inv->ndevices))
			sum.others += d->parent == p->parent && *d->vgpu.type &&
				      strcmp(d->vgpu.type, section->type) != 0;
		sum.limited |= p->limited;
	}
	return sum;
}

static void look_at_uncounted(struct check *check, const struct inv_pgpu *card, const struct section *section)
{
	struct capacity_count count;

	if (!section->nova || !card->pool.in_pool || pool_serves(card, section->type) != section ||
	    !capacity_count(&count, check->world, card, inventory_offer(card, section->type)))
		return;
	check_at(check, "%s", card->address);
	if (card->framework == FW_VARIANT)
		check_pass(check,
			   "Nova counts no %s as VGPU, because the VFs are PCI devices; 'vgpu-lease export nova-pci' "
			   "prints them for nova.conf",
			   section->type);
	else if (card->framework == FW_MDEV && card->sriov && card->nparents > 0)
		check_warn(check,
			   check_fix(check, "list %d of its VFs in [mdev_%s] device_addresses: %s, ...", count.capacity,
				     section->type, card->parents[0]->name),
			   "Nova counts no %s, because device_addresses lists the card, and Nova knows only its VFs",
			   section->type);
}

static void look_at_pgpu(struct check *check, const struct nova_inventory *nova, const struct inv_pgpu *card,
			 const struct section *section)
{
	const char *type = section->type, *fix;
	const struct sum sum = sum_of_pgpu(nova, check->inv, card, section);
	int there = sum.existing + sum.defined, fits = sum.available;
	int whole = capacity_framebuffer(check->world, card).whole;
	struct capacity_count count;

	if (!sum.providers) {
		look_at_uncounted(check, card, section);
		return;
	}
	check_at(check, "%s", card->address);
	/* Each free VF offers a vGPU, so `fits` can exceed the capacity of the card, which VFs of others also use. */
	if (card->sriov && capacity_count(&count, check->world, card, inventory_offer(card, type))) {
		int left = count.capacity - count.used - sum.defined;

		fits = left >= fits ? fits : left > 0 ? left : 0;
	}
	if (fits < sum.available)
		fix = check_fix(check, "list only %d of its VFs, those in use first, in [mdev_%s] device_addresses",
				there + fits, type);
	else
		fix = check_fix(check, "remove max_instances from [mdev_%s], or set it to %d or more", type, sum.least);
	if (sum.limited && sum.counted < fits)
		check_warn(check, fix,
			   "Nova counts %d %s, not %d, because max_instances = %d is less than it would count",
			   sum.total, type, there + fits, section->max_instances);
	/* If Nova counts too many only because of definitions without a device, is_miscounted() has reported them. */
	else if (sum.counted > fits && sum.providers > there + fits)
		check_warn(check, fix, "Nova counts %d %s, but the card holds %d at most, so a spawn can fail",
			   sum.total, type, there + fits);
	else if (sum.mib && sum.beside_mib && whole > 0 && sum.mib + sum.beside_mib > whole)
		check_warn(
			check, check_fix(check, "list fewer of its VFs in [mdev_%s] device_addresses", type),
			"Nova counts %d %s, and with the other types more than the card's %d MiB, so a spawn can fail",
			sum.total, type, whole);
	else if (sum.others)
		check_warn(check,
			   check_fix(check,
				     "see 'vgpu-lease retype --dry-run %s %s' (troubleshooting: "
				     "unable-to-find-any-capacity)",
				     card->address, type),
			   "Nova counts %d %s, and not the %d mdev%s of other types", sum.total, type, sum.others,
			   sum.others == 1 ? "" : "s");
	else
		/* is_miscounted() has reported each definition without a device. */
		check_pass(check, "Nova counts %d %s: %d exist%s, %d can be created, %d only defined", sum.total, type,
			   sum.existing, sum.existing == 1 ? "s" : "", sum.counted, sum.defined);
}

static void look_at_definitions(struct check *check, const struct nova_inventory *nova, const struct definition *list,
				size_t n)
{
	size_t good = 0;

	for (EACH(const struct definition *, this, list, n)) {
		const struct lease *lease = lease_find(&check->world->leases, this->uuid);
		const struct defined d = {
			.definition = this,
			.parent = inventory_parent(check->inv, this->parent),
			.device = inventory_device(check->inv, this->uuid),
			.domain = lease ? lease->name : libvirt_files_names(check->disk, this->uuid, NULL),
		};

		check_at(check, "%s/etc/mdevctl.d/%s/%s", check->host->name, this->parent, this->uuid);
		good += !is_second(check, &d) && !goes_against(check, &d) && !is_miscounted(check, nova, &d) &&
			d.parent && d.parent->card->framework == FW_MDEV && pool_gives(d.parent, this->type);
	}
	if (good)
		check_pass(check_at(check, "%s", ""), "%zu definition%s %s the pool", good, good == 1 ? "" : "s",
			   good == 1 ? "matches" : "match");
}

void check_definitions(struct check *check)
{
	autofree struct definition *list = NULL;
	struct nova_inventory nova = { 0 };
	struct err err;
	size_t n;

	check_begin(check, "mdevctl");
	if (mdevctl_definitions(&list, &n, check->host, NULL, &err) < 0) {
		check_unreadable(check, "correct or remove the file", &err);
		return;
	}
	if (check->config->policy.nova)
		nova_inventory_make(&nova, check->inv, list, n);
	if (check->disk)
		look_at_definitions(check, &nova, list, n);
	check_begin(check, "nova");
	for (size_t g = 0; check->config->policy.nova && g < check->inv->npgpus; g++)
		for (size_t i = 0; i < check->config->nsections; i++)
			look_at_pgpu(check, &nova, check->inv->pgpus[g], &check->config->sections[i]);
	nova_inventory_free(&nova);
}
