/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks which pGPUs are in the pool, and why the others are not. */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "base/mem.h"
#include "base/text.h"
#include "host/inventory.h"
#include "host/libvirt_files.h"

/* The location of the section's entry that selects this card; `other` if no entry does. */
static struct location named_at(const struct section *section, const struct inv_pgpu *card, struct location other)
{
	const struct match *match;

	for (size_t i = 0; i < section->naddresses; i++) {
		if (strcmp(section->addresses[i].text, card->address) == 0)
			return section->addresses[i].at;
		for (int p = 0; p < card->nparents; p++)
			if (strcmp(section->addresses[i].text, card->parents[p]->name) == 0)
				return section->addresses[i].at;
	}
	match = pool_matches(section, card);
	return match ? match->at : other;
}

/* Returns the fix in a reason ("CAUSE; FIX" or "CAUSE"), or `other` if it has none. *cause: the cause's length. */
static const char *fix_in(const char *reason, const char *other, int *cause)
{
	const char *fix = strstr(reason, "; ");

	*cause = (int)(fix ? (size_t)(fix - reason) : strlen(reason));
	return fix ? fix + 2 : other;
}

/* Suppresses later findings about the section, which follow from this one. */
static void explains(struct check *check, const struct section *section)
{
	check->explained[section - check->config->sections] = true;
}

/* libvirt before 9.7 rejects an unmanaged VF whose driver it does not know. */
static bool look_at_libvirt(struct check *check, const struct inv_pgpu *card)
{
	const struct vgpu_request unmanaged = { .kind = REQUEST_PCI };
	char why[REASON_SIZE];

	if (card->framework != FW_VARIANT || !plan_other_kind(check->world, card, &unmanaged, why))
		return true;
	check_fail(check_at(check, "%s", card->address), "upgrade libvirt", "%s", why);
	return false;
}

/* Reports lost VFs, except leased ones, because the driver may still be removing their vGPUs. */
static void look_at_vfs(struct check *check, const struct inv_pgpu *card)
{
	for (int p = 0; p < card->nparents; p++) {
		const char *vf = card->parents[p]->name;
		bool leased = false;

		for (size_t i = 0; i < check->leases->n; i++)
			leased |= strcmp(check->leases->list[i].vgpu.parent, vf) == 0;
		if (card->parents[p]->lost && !leased)
			check_warn(
				check_at(check, "%s", vf),
				"reload the vGPU host driver when none of its vGPUs is in use, or reboot",
				"has no vGPU, but the driver can create none on it (a removed one may still occupy it); starts use other VFs");
	}
}

static bool is_used(const struct check *check, const char *vf)
{
	return lease_find(check->leases, vf) || (check->disk && libvirt_files_names(check->disk, vf, NULL));
}

/* Reports guests' VFs whose type is not configured for them: a start silently sets another once they have no type. */
static void look_at_types(struct check *check, const struct inv_pgpu *card)
{
	const struct inv_device *first = NULL;
	char others[32] = "";
	int n = 0;

	if (card->framework != FW_VARIANT || !card->pool.in_pool)
		return;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(check->inv, card, d));) {
		if (!*d->vgpu.type || !pool_section_of(d->parent) || pool_gives(d->parent, d->vgpu.type) ||
		    !is_used(check, d->vgpu.id))
			continue;
		if (!n++)
			first = d;
	}
	if (!n)
		return;
	if (n > 1)
		snprintf(others, sizeof(others), " and %d more", n - 1);
	check_warn(check_at(check, "%s%s", first->vgpu.id, others),
		   check_fix(check, "list it in [mdev_%s]", first->vgpu.type),
		   "has type %s but is configured for %s, which a start sets if the VF has no type, as after a boot",
		   first->vgpu.type, pool_section_of(first->parent)->type);
}

static void list_types(const struct config *config, const struct inv_pgpu *card, char *buf, size_t size)
{
	buf[0] = '\0';
	for (EACH(const struct section *, s, config->sections, config->nsections))
		if (pool_serves(card, s->type) == s)
			text_add(buf, size, "%s%s", *buf ? ", " : "", s->type);
}

/*
 * Is the card probably not meant, although a match selects it? True if other pGPUs provide the type, and either a VFIO
 * driver is bound to the card, or those pGPUs are other models and the match names only a vendor or NUMA node.
 */
static bool is_meant_otherwise(const struct check *check, const struct section *section, const struct inv_pgpu *card)
{
	const struct inventory *inv = check->inv;
	const struct match *match = pool_matches(section, card);
	bool served = false, same = false;

	for (size_t g = 0; g < inv->npgpus; g++) {
		const struct inv_pgpu *other = inv->pgpus[g];

		if (!other->pool.in_pool || pool_serves(other, section->type) != section)
			continue;
		served = true;
		same |= strcmp(other->device, card->device) == 0;
	}
	return served && (inventory_is_given(check->host, card->address) || (match && !*match->device && !same));
}

static void look_at_card(struct check *check, const struct inv_pgpu *card)
{
	const struct pool_card *pooled = &card->pool;
	const char *address = card->address, *reason = card->ready ? pooled->reason : card->reason;
	const char *fix;
	char types[1024];
	bool otherwise;
	int cause;

	check_at(check, "%s", address);
	if (pooled->in_pool && look_at_libvirt(check, card)) {
		list_types(check->config, card, types, sizeof(types));
		if (card->framework == FW_VF && !card->gpu)
			check_warn(check, "correct device_addresses or device_match",
				   "configured for %s, but is not known to be a GPU", types);
		else
			check_pass(check, "configured for %s", types);
	} else if (!pooled->in_pool && pooled->contested) {
		for (size_t i = 0; i < check->config->nsections; i++)
			if (named_at(&check->config->sections[i], card, (struct location){ 0 }).file)
				explains(check, &check->config->sections[i]);
		check_fail(check, "name it in device_addresses of one of them", "%s", pooled->reason);
	} else if (!pooled->in_pool && pooled->section) {
		otherwise = pooled->claim == CLAIM_MATCH && is_meant_otherwise(check, pooled->section, card);
		if (!otherwise)
			explains(check, pooled->section);
		fix = fix_in(pooled->reason,
			     *card->moved ? "find out which device that is first"
					  : "'vgpu-lease types' lists the available types",
			     &cause);
		check_at_location(check, named_at(pooled->section, card, config_location(pooled->section)));
		check_report(check, otherwise ? CHECK_WARN : CHECK_FAIL, fix, "%s: %.*s (configured for %s)", address,
			     cause, pooled->reason, pooled->section->type);
	} else if (!pooled->in_pool && pooled->claim == CLAIM_DEFAULT && !card->ready) {
		/* Only a warning: the type claims all remaining pGPUs, and other pGPUs provide it. */
		fix = fix_in(reason, "fix the cause (troubleshooting: the-card)", &cause);
		check_warn(check, fix, "not in the pool: %.*s", cause, reason);
	} else if (!pooled->in_pool) {
		check_pass(check, "not in the pool: %s", reason);
	}
}

/* True if a ready pGPU of the same vendor is not in the pool either, so that the type is at fault. */
static bool has_unsuited(const struct check *check, const struct inv_pgpu *missing)
{
	const struct inventory *inv = check->inv;

	for (size_t g = 0; g < inv->npgpus; g++) {
		const struct inv_pgpu *other = inv->pgpus[g];

		if (other->ready && !other->pool.in_pool && other->framework != FW_VF &&
		    strcmp(other->vendor, missing->vendor) == 0)
			return true;
	}
	return false;
}

/* Reports a missing card of a type that claims all pGPUs, none of which provides it. */
static void look_at_unserved(struct check *check, const struct missing_card *missing, enum check_status status)
{
	const char *other = missing->how == MISSING_IDLE ? "load the vGPU host driver" : "load its driver", *fix;
	int cause;

	fix = fix_in(missing->card.reason, other, &cause);
	if (missing->how == MISSING_IDLE && has_unsuited(check, &missing->card))
		status = CHECK_WARN;
	else
		explains(check, missing->section);
	check_report(check_at(check, "%s", missing->card.address), status, fix, "%.*s (%s %s)", cause,
		     missing->card.reason, missing->how == MISSING_IDLE ? "no pGPU provides" : "it had vGPUs of type",
		     missing->section->type);
}

/* Are both absent VFs of the same card? Equal reasons name the same card. */
static bool is_same_cause(const struct check *check, const struct missing_card *a, const struct missing_card *b)
{
	struct inv_pgpu card;

	return a->how == MISSING_NAMED && b->how == MISSING_NAMED && strcmp(a->card.reason, b->card.reason) == 0 &&
	       inventory_vf_card(check->host, a->card.address, &card) == VF_ABSENT;
}

/* Reports a missing card; the first of a card's missing VFs stands for all of them. */
static void look_at_missing(struct check *check, const struct missing_card *list, size_t n, size_t this)
{
	const struct missing_card *missing = &list[this];
	bool otherwise = missing->how == MISSING_MATCHED && is_meant_otherwise(check, missing->section, &missing->card);
	/* A nova.conf can serve many hosts, so a card that is missing here may be another host's. */
	enum check_status status = otherwise || (missing->section->nova && check->npool) ? CHECK_WARN : CHECK_FAIL;
	struct inv_pgpu card;
	char others[32] = "";
	const char *fix;
	size_t more = 0;
	int cause;

	if (missing->how == MISSING_IDLE || missing->how == MISSING_REMEMBERED) {
		look_at_unserved(check, missing, status);
		return;
	}
	if (!otherwise)
		explains(check, missing->section);
	for (size_t i = 0; i < this; i++)
		if (is_same_cause(check, &list[i], missing))
			return;
	for (size_t i = this + 1; i < n; i++)
		more += is_same_cause(check, missing, &list[i]);
	if (more)
		snprintf(others, sizeof(others), " and %zu more", more);
	if (missing->how != MISSING_NAMED)
		fix = "fix the cause, or narrow the match (troubleshooting: the-card)";
	else if (inventory_vf_card(check->host, missing->card.address, &card) == VF_ABSENT)
		fix = "enable its VFs";
	else
		fix = "fix the cause, or remove it from device_addresses (troubleshooting: the-card)";
	fix = fix_in(missing->card.reason, fix, &cause);
	check_report(check_at_location(check, missing->at), status, fix, "%s%s: %.*s (configured for %s)",
		     missing->card.address, others, cause, missing->card.reason, missing->section->type);
}

static bool is_idle(const struct missing_card *missing, size_t n, const char *address)
{
	for (size_t i = 0; i < n; i++)
		if (missing[i].how == MISSING_IDLE && strcmp(missing[i].card.address, address) == 0)
			return true;
	return false;
}

void check_cards(struct check *check)
{
	const struct inventory *inv = check->inv;
	const struct missing_card *missing = check->world->missing_cards;
	const size_t n = check->world->nmissing_cards;

	check->world->libvirt = libvirt_files_libvirt(check->host);
	check->ncards = inv->npgpus;
	for (size_t i = 0; i < inv->npgpus; i++)
		check->npool += inv->pgpus[i]->pool.in_pool;
	for (size_t i = 0; i < n; i++)
		/* If several types take all pGPUs, only the first reports this pGPU. */
		if (missing[i].how != MISSING_IDLE || !is_idle(missing, i, missing[i].card.address))
			look_at_missing(check, missing, n, i);
	for (size_t i = 0; i < inv->npgpus; i++) {
		if (is_idle(missing, n, inv->pgpus[i]->address))
			continue;
		look_at_card(check, inv->pgpus[i]);
		look_at_vfs(check, inv->pgpus[i]);
		look_at_types(check, inv->pgpus[i]);
	}
}
