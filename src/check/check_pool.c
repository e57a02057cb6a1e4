/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports which pGPUs are in the pool, and why the others are not. */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "base/mem.h"
#include "base/text.h"
#include "decide/capacity.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"

/* Reports the cause between `before` and `after`. `reason` is "CAUSE; FIX", or "CAUSE" with the fix `other`. */
static void report_reason(struct check *check, enum check_status status, const char *reason, const char *other,
			  const char *before, const char *after)
{
	const char *fix = strstr(reason, "; ");
	size_t cause = fix ? (size_t)(fix - reason) : strlen(reason);

	check_report(check, status, fix ? fix + 2 : other, "%s%.*s%s", before, (int)cause, reason, after);
}

/* Suppresses the finding of check_starts() about the section, because another finding explains it. */
static void explains(struct check *check, const struct section *section)
{
	check->explained[section - check->config->sections] = true;
}

/* Reports lost VFs without a lease. On a leased VF, the driver may still be removing a vGPU. */
static void look_at_vfs(struct check *check, const struct inv_pgpu *card)
{
	for (int p = 0; p < card->nparents; p++) {
		const char *vf = card->parents[p]->name;
		bool leased = false;

		for (EACH(const struct lease *, lease, check->world->leases.list, check->world->leases.n))
			leased |= strcmp(lease->vgpu.parent, vf) == 0;
		if (card->parents[p]->lost && !leased)
			check_warn(
				check_at(check, "%s", vf),
				"reload the vGPU host driver when none of its vGPUs is in use, or reboot",
				"has no vGPU, but the driver can create none on it (a removed one may still occupy it); starts use other VFs");
	}
}

/* Reports VFs of guests with a type that is not configured for the VF. After a boot, a start would set another type. */
static void look_at_types(struct check *check, const struct inv_pgpu *card)
{
	const struct inv_device *first = NULL;
	int n = 0;

	if (card->framework != FW_VARIANT || !card->pool.in_pool)
		return;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(check->inv, card, d));) {
		const char *id = d->vgpu.id, *type = d->vgpu.type;

		if (*type && pool_section_of(d->parent) && !pool_gives(d->parent, type) &&
		    (lease_find(&check->world->leases, id) ||
		     (check->disk && libvirt_files_names(check->disk, id, NULL))) &&
		    !n++)
			first = d;
	}
	if (!n)
		return;
	check_at(check, n > 1 ? "%s and %d more" : "%s", first->vgpu.id, n - 1);
	check_warn(check, check_fix(check, "list it in [mdev_%s]", first->vgpu.type),
		   "has type %s but is configured for %s, which a start sets if the VF has no type, as after a boot",
		   first->vgpu.type, pool_section_of(first->parent)->type);
}

/*
 * Does the section probably select the card by mistake? True if other pGPUs provide the type, and either the card is
 * given to a guest, or it is another model and device_match names no device.
 */
static bool is_meant_otherwise(const struct check *check, const struct section *section, const struct inv_pgpu *card)
{
	const struct match *match = pool_matches(section, card);
	bool served = false, same = false;

	for (size_t g = 0; g < check->inv->npgpus; g++) {
		const struct inv_pgpu *other = check->inv->pgpus[g];
		bool serves = other->pool.in_pool && pool_serves(other, section->type) == section;

		served |= serves;
		same |= serves && strcmp(other->device, card->device) == 0;
	}
	return served && (inventory_is_given(check->host, card->address) || (match && !*match->device && !same));
}

/* Reports a card without vGPUs that can provide none, while another card can. False: nothing to report. */
static bool look_at_empty(struct check *check, const struct inv_pgpu *card)
{
	const struct capacity_query query = { .world = check->world };
	struct capacity space, own = { 0 };
	struct capacity_count count = { 0 };
	bool others = false;

	for (EACH(const struct lease *, lease, check->world->leases.list, check->world->leases.n))
		if (strcmp(lease->vgpu.pgpu, card->address) == 0)
			return false;
	capacity_count(&count, check->world, card, inventory_offer(card, card->pool.section->type));
	if (inventory_next_on(check->inv, card, NULL) || count.used)
		return false;
	for (EACH(const struct section *, s, check->config->sections, check->config->nsections))
		for (size_t g = 0; g < check->inv->npgpus && pool_serves(card, s->type) == s && !own.has; g++) {
			capacity_on(&space, &query, check->inv->pgpus[g], s->type);
			others |= space.has;
			if (check->inv->pgpus[g] == card)
				own = space;
		}
	if (!own.full || !others)
		return false;
	report_reason(check, CHECK_WARN, own.reason, *own.fix ? own.fix : "fix the cause (troubleshooting: the-card)",
		      "can provide no vGPU: ", "");
	return true;
}

static void look_at_pooled(struct check *check, const struct inv_pgpu *card)
{
	/* libvirt before 9.7 rejects an unmanaged VF whose driver it does not know. */
	const struct vgpu_request unmanaged = { .kind = REQUEST_PCI };
	char why[REASON_SIZE], types[1024] = "";

	for (EACH(const struct section *, s, check->config->sections, check->config->nsections))
		if (pool_serves(card, s->type) == s)
			text_add(types, sizeof(types), "%s%s", *types ? ", " : "", s->type);
	if (card->framework == FW_VARIANT && plan_other_kind(check->world, card, &unmanaged, why))
		check_fail(check, "upgrade libvirt", "%s", why);
	else if (card->framework == FW_VF && !card->gpu)
		check_warn(check, "correct device_addresses or device_match",
			   "configured for %s, but is not known to be a GPU", types);
	else if (!look_at_empty(check, card))
		check_pass(check, "configured for %s", types);
}

/* Does --wait-ready wait for this card? Other cards of its model have types; a GeForce never gets any. */
static bool is_awaited(const struct check *check, const struct inv_pgpu *card)
{
	if (!check->only_pool || strcmp(card->reason, INV_NO_TYPES_YET) != 0)
		return false;
	for (size_t g = 0; g < check->inv->npgpus; g++)
		if (check->inv->pgpus[g]->pool.in_pool && strcmp(check->inv->pgpus[g]->device, card->device) == 0)
			return true;
	return false;
}

static void look_at_card(struct check *check, const struct inv_pgpu *card)
{
	const struct pool_card *pooled = &card->pool;
	const struct section *section = pooled->section;
	const char *reason = card->ready ? pooled->reason : card->reason;

	check_at(check, "%s", card->address);
	if (pooled->in_pool) {
		look_at_pooled(check, card);
	} else if (!section && pooled->claim > CLAIM_DEFAULT) {
		for (EACH(const struct section *, s, check->config->sections, check->config->nsections))
			if (pool_means(s, card))
				explains(check, s);
		check_fail(check, "name it in device_addresses of one of them", "%s", pooled->reason);
	} else if (section) {
		bool otherwise = pooled->claim == CLAIM_MATCH && is_meant_otherwise(check, section, card);
		const struct location *at = pool_means(section, card);
		autofree char *before = mem_format("%s: ", card->address);
		autofree char *after = mem_format(" (configured for %s)", section->type);

		if (!otherwise)
			explains(check, section);
		check_at_location(check, at ? *at : section->at);
		report_reason(check, otherwise ? CHECK_WARN : CHECK_FAIL, pooled->reason,
			      *card->moved ? "find out which device that is first"
					   : "'vgpu-lease types' lists the available types",
			      before, after);
	} else if (pooled->claim == CLAIM_DEFAULT && !card->ready) {
		/* Only warns, because the section does not name the card, and other pGPUs provide the type. */
		report_reason(check, is_awaited(check, card) ? CHECK_FAIL : CHECK_WARN, reason,
			      "fix the cause (troubleshooting: the-card)", "not in the pool: ", "");
	} else {
		check_pass(check, "not in the pool: %s", reason);
	}
}

/* Is another pGPU of this vendor ready but outside the pool? If so, the configured type is at fault, not the card. */
static bool has_unsuited(const struct check *check, const struct inv_pgpu *missing)
{
	for (size_t g = 0; g < check->inv->npgpus; g++) {
		const struct inv_pgpu *other = check->inv->pgpus[g];

		if (other->ready && !other->pool.in_pool && other->framework != FW_VF &&
		    strcmp(other->vendor, missing->vendor) == 0)
			return true;
	}
	return false;
}

/* Do both have one cause? They are one idle pGPU, or absent VFs of one card, for which the reasons are equal. */
static bool is_same_cause(const struct check *check, const struct missing_card *a, const struct missing_card *b)
{
	struct inv_pgpu card;

	if (a->how == MISSING_IDLE && b->how == MISSING_IDLE)
		return strcmp(a->card.address, b->card.address) == 0;
	return a->how == MISSING_NAMED && b->how == MISSING_NAMED && strcmp(a->card.reason, b->card.reason) == 0 &&
	       inventory_vf_card(check->host, a->card.address, &card) == VF_ABSENT;
}

/* Reports a missing card, or the first of several with the same cause. */
static void look_at_missing(struct check *check, const struct missing_card *missing)
{
	static const struct {
		const char *fix, *but;
	} kinds[] = {
		[MISSING_NAMED] = { "fix the cause, or remove it from device_addresses (troubleshooting: the-card)",
				    "configured for" },
		[MISSING_MATCHED] = { "fix the cause, or narrow the match (troubleshooting: the-card)",
				      "configured for" },
		[MISSING_IDLE] = { "load the vGPU host driver", "no pGPU provides" },
		[MISSING_REMEMBERED] = { "load its driver", "it had vGPUs of type" },
	};
	const struct world *world = check->world;
	const struct section *section = missing->section;
	const char *address = missing->card.address;
	bool idle = missing->how == MISSING_IDLE, selected = !idle && missing->how != MISSING_REMEMBERED;
	bool otherwise = idle ? has_unsuited(check, &missing->card)
			      : missing->how == MISSING_MATCHED && is_meant_otherwise(check, section, &missing->card);
	/* Hosts can share one nova.conf, so the missing card may belong to another host. */
	enum check_status status = otherwise || (section->nova && check->npool) ? CHECK_WARN : CHECK_FAIL;
	autofree char *after = mem_format(" (%s %s)", kinds[missing->how].but, section->type);
	char before[PARENT_SIZE + 32] = "";
	bool repeated = false;
	int same = 0;

	for (EACH(const struct missing_card *, other, world->missing_cards, world->nmissing_cards)) {
		same += is_same_cause(check, other, missing);
		repeated |= same && other < missing;
	}
	/* Several types can list one idle pGPU, which explains only the first. */
	if (!otherwise && !(idle && repeated))
		explains(check, section);
	if (repeated)
		return;
	if (selected) {
		snprintf(before, sizeof(before), same > 1 ? "%s and %d more: " : "%s: ", address, same - 1);
		check_at_location(check, missing->at);
	} else {
		check_at(check, "%s", address);
	}
	report_reason(check, status, missing->card.reason,
		      selected && same ? "enable its VFs" : kinds[missing->how].fix, before, after);
}

/* Is the card listed as missing? It may be idle, or a section of the other kind names it or one of its VFs. */
static bool is_missing(const struct world *world, const struct inv_pgpu *card)
{
	const struct missing_card *list = world->missing_cards;
	bool missing = text_find(list, world->nmissing_cards, sizeof(*list), card->address);

	for (int p = 0; p < card->nparents; p++)
		missing |= text_find(list, world->nmissing_cards, sizeof(*list), card->parents[p]->name) != NULL;
	return missing;
}

void check_cards(struct check *check)
{
	const struct inventory *inv = check->inv;
	const struct world *world = check->world;

	check_begin(check, "pgpu");
	check->world->libvirt = libvirt_files_libvirt(check->host);
	/* A device that is only listed as missing is not in the inventory's pGPUs. */
	for (size_t i = 0; i < inv->npci; i++)
		check->ncards += !inventory_pgpu(inv, inv->pci[i]->address) && is_missing(world, inv->pci[i]);
	for (size_t i = 0; i < inv->npgpus; i++)
		check->npool += inv->pgpus[i]->pool.in_pool;
	for (EACH(const struct missing_card *, missing, world->missing_cards, world->nmissing_cards))
		look_at_missing(check, missing);
	for (size_t i = 0; i < inv->npgpus; i++) {
		if (!inv->pgpus[i]->pool.in_pool && is_missing(world, inv->pgpus[i]))
			continue;
		look_at_card(check, inv->pgpus[i]);
		look_at_vfs(check, inv->pgpus[i]);
		look_at_types(check, inv->pgpus[i]);
	}
}
