/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pGPUs: those that the configuration names or matches, and why one is not in the pool. */
#include <stdio.h>
#include <string.h>

#include "survey/missing_cards.h"
#include "internal.h"
#include "base/auto.h"
#include "host/inventory.h"
#include "host/libvirt_files.h"

enum { LIBVIRT_VARIANT = 9007000 };

/* The entry of the section that selects this card. */
static struct place named_at(const struct pool *pool, const struct section *section, size_t pgpu)
{
	const struct inv_pgpu *card = &pool->inv->pgpus[pgpu];

	for (size_t i = 0; i < section->naddresses; i++) {
		if (pool_address_is(section->addresses[i], card->address))
			return section->addresses_at[i];
		for (int p = card->first; p < card->first + card->nparents; p++)
			if (strcmp(section->addresses[i], pool->inv->parents[p].name) == 0)
				return section->addresses_at[i];
	}
	for (size_t i = 0; i < section->nmatches; i++)
		if (pool_match(&section->matches[i], card))
			return section->matches[i].at;
	return config_section_place(section);
}

/* Since 9.7 libvirt accepts an unmanaged VF whose driver it does not know. */
static bool look_at_libvirt(struct check *check, const struct inv_pgpu *card, int libvirt)
{
	if (card->framework != FW_VARIANT || !libvirt || libvirt >= LIBVIRT_VARIANT)
		return true;
	check_report(check_at(check, "%s", card->address), CHECK_FAIL, "upgrade libvirt",
		     "libvirt %d.%d.%d does not support VFs of NVIDIA's variant driver: 9.7 or later is required",
		     libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	return false;
}

/* Not where one is being removed: the driver may be at work on that yet. */
static void look_at_vfs(struct check *check, size_t pgpu)
{
	const struct inventory *inv = check->pool->inv;
	const struct inv_pgpu *card = &inv->pgpus[pgpu];

	for (int p = card->first; p < card->first + card->nparents; p++) {
		const char *vf = inv->parents[p].name;
		bool leased = false;

		for (size_t i = 0; i < check->leases.n; i++)
			leased |= strcmp(check->leases.list[i].vgpu.parent, vf) == 0;
		if (inv->parents[p].lost && !leased)
			check_report(
				check_at(check, "%s", vf), CHECK_WARN,
				"reload the vGPU host driver when none of its vGPUs is in use, or reboot",
				"has no vGPU, but the driver can create none on it: a removed one may still occupy it; starts use other VFs");
	}
}

static void look_at_card(struct check *check, size_t pgpu, int libvirt)
{
	const struct pool_card *card = &check->pool->cards[pgpu];
	const char *address = check->pool->inv->pgpus[pgpu].address;
	struct place at;

	check->npool += card->in_pool;
	check_at(check, "%s", address);
	if (card->in_pool && look_at_libvirt(check, &check->pool->inv->pgpus[pgpu], libvirt)) {
		check_report(check, CHECK_PASS, NULL, "serves %s", card->section->type);
	} else if (!card->in_pool && card->contested) {
		check_report(check, CHECK_FAIL, "name it in device_addresses of one of them", "%s", card->reason);
	} else if (!card->in_pool && card->section) {
		at = named_at(check->pool, card->section, pgpu);
		check_report(check_at_place(check, &at), CHECK_FAIL, "'vgpu-lease types' lists the available types",
			     "%s: %s (configured for %s)", address, card->reason, card->section->type);
	} else if (!card->in_pool) {
		check_report(check, CHECK_PASS, NULL, "not in the pool: %s", card->reason);
	}
}

static void look_at_missing(struct check *check, const struct missing_card *missing)
{
	/* All cards are meant: this one need not be. */
	if (missing->how == MISSING_IDLE)
		check_report(check_at(check, "%s", missing->address), CHECK_WARN, "load the vGPU host driver",
			     "%s (%s takes all pGPUs, and the host has none)", missing->reason, missing->section->type);
	else
		check_report(check_at_place(check, &missing->at), missing->section->nova ? CHECK_WARN : CHECK_FAIL,
			     missing->how == MISSING_NAMED ? "fix the cause, or remove it from device_addresses"
							   : "fix the cause, or narrow the match",
			     "%s: %s (configured for %s)", missing->address, missing->reason, missing->section->type);
}

static bool is_idle(const struct missing_card *missing, size_t n, const char *address)
{
	for (size_t i = 0; i < n; i++)
		if (missing[i].how == MISSING_IDLE && strcmp(missing[i].address, address) == 0)
			return true;
	return false;
}

void check_cards(struct check *check)
{
	const struct inventory *inv = check->pool->inv;
	int libvirt = libvirt_files_libvirt(check->host);
	autofree struct missing_card *missing = NULL;
	size_t n = 0;
	struct err err;

	if (missing_cards(&missing, &n, check->host, check->pool, &err) < 0)
		check_report(check, CHECK_FAIL, "see that /sys is mounted", "%s", err.text);
	for (size_t i = 0; i < n; i++)
		look_at_missing(check, &missing[i]);
	check->ncards = inv->npgpus;
	for (size_t i = 0; i < inv->npgpus; i++) {
		if (is_idle(missing, n, inv->pgpus[i].address))
			continue;
		look_at_card(check, i, libvirt);
		look_at_vfs(check, i);
	}
}
