/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nova-compute counts on each pGPU, compared with what exists. */
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "plan/nova_inventory.h"

/* All providers of one type on one pGPU. */
struct sum {
	const struct section *section;
	int existing, defined, available, total;
	int others; /* mdevs of other types on the same parents */
	bool limited;
};

static struct sum sum_of_pgpu(const struct nova_inventory *nova, const struct inventory *inv,
			      const struct inv_pgpu *card, const struct section *section)
{
	struct sum sum = { 0 };

	for (const struct nova_provider *p = nova->providers; p < nova->providers + nova->n; p++) {
		if (p->parent->card != card || p->section != section)
			continue;
		sum.section = p->section;
		sum.existing += p->existing;
		sum.defined += p->defined;
		sum.available += p->available;
		sum.total += p->total;
		for (size_t i = 0; i < inv->ndevices; i++) {
			const struct inv_device *device = &inv->devices[i];

			sum.others += device->parent == p->parent && *device->vgpu.type &&
				      strcmp(device->vgpu.type, section->type) != 0;
		}
		sum.limited |= p->limited;
	}
	return sum;
}

/* The least max_instances at which Nova counts every vGPU of the type; it limits the type on all pGPUs together. */
static int needed(const struct nova_inventory *nova, const struct section *section)
{
	int n = 0;

	for (const struct nova_provider *p = nova->providers; p < nova->providers + nova->n; p++)
		if (p->section == section)
			n += p->existing + p->defined + p->available;
	return n;
}

/* Reports a pGPU that serves one of Nova's types and counts nothing in Nova's VGPU inventory. */
static void look_at_uncounted(struct check *check, const struct inv_pgpu *card, const struct section *section)
{
	if (!section->nova || !card->pool.in_pool || pool_serves(card, section->type) != section ||
	    !inventory_offer(card, section->type))
		return;
	check_at(check, "%s", card->address);
	if (card->framework == FW_VARIANT)
		check_report(check, CHECK_PASS, NULL,
			     "Nova counts no %s as VGPU, because the VFs are PCI devices; 'vgpu-lease export nova-pci' "
			     "prints them for nova.conf",
			     section->type);
	else if (card->framework == FW_MDEV && card->sriov && card->nparents > 0)
		check_report(check, CHECK_WARN,
			     check_fix(check, "list the VFs in [mdev_%s] device_addresses: %s, ...", section->type,
				       card->parents[0]->name),
			     "Nova counts no %s, because device_addresses lists the card, and Nova knows only its VFs",
			     section->type);
}

static void look_at_pgpu(struct check *check, const struct nova_inventory *nova, const struct inv_pgpu *card,
			 const struct section *section)
{
	const char *address = card->address;
	const struct sum sum = sum_of_pgpu(nova, check->inv, card, section);
	const char *fix;

	if (!sum.section) {
		look_at_uncounted(check, card, section);
		return;
	}
	check_at(check, "%s", address);
	if (sum.limited) {
		fix = check_fix(check, "remove max_instances from [mdev_%s], or set it to %d or more",
				sum.section->type, needed(nova, sum.section));
		check_report(check, CHECK_WARN, fix,
			     "Nova counts %d %s, not %d, because max_instances = %d is less than the host has",
			     sum.total, sum.section->type, sum.existing + sum.defined + sum.available,
			     sum.section->max_instances);
	} else if (sum.others) {
		fix = check_fix(
			check, "see 'vgpu-lease retype --dry-run %s %s' (troubleshooting: unable-to-find-any-capacity)",
			address, sum.section->type);
		check_report(check, CHECK_WARN, fix, "Nova counts %d %s, and not the %d mdev%s of other types",
			     sum.total, sum.section->type, sum.others, sum.others == 1 ? "" : "s");
	} else {
		/* Each definition without a device has its own finding. */
		check_report(check, CHECK_PASS, NULL,
			     "Nova counts %d %s: %d exist%s, %d can be created, %d only defined", sum.total,
			     sum.section->type, sum.existing, sum.existing == 1 ? "s" : "", sum.available, sum.defined);
	}
}

void check_nova(struct check *check)
{
	autofree struct definition *definitions = NULL;
	struct nova_inventory nova;
	struct err err;
	size_t n;

	/* check_definitions() reports a definition that cannot be read. */
	if (!check->config->policy.nova || mdevctl_definitions(&definitions, &n, check->host, &err) < 0)
		return;
	nova_inventory_make(&nova, check->inv, definitions, n);
	for (size_t g = 0; g < check->inv->npgpus; g++)
		for (size_t i = 0; i < check->config->nsections; i++)
			look_at_pgpu(check, &nova, check->inv->pgpus[g], &check->config->sections[i]);
	nova_inventory_free(&nova);
}
