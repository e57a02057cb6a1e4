/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cards: those that the configuration names, those that it matches, and why one is not in the pool. */
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "auto.h"
#include "inventory.h"
#include "ondisk.h"

enum { LIBVIRT_VARIANT = 9007000 };

static void check_addresses(struct audit *audit, const struct pool *pool, const struct section *section)
{
	char where[AUDIT_WHERE], reason[REASON_SIZE];

	for (size_t i = 0; i < section->naddresses; i++) {
		if (!pool_lacks(pool, section, section->addresses[i]))
			continue;
		inventory_explain_card(audit->host, section->addresses[i], section->vf, reason);
		audit_note(audit, AUDIT_FAIL, "pgpu", audit_place(where, &section->addresses_at[i]),
			   "mend that, or take it out of device_addresses", "%s: %s (configured for %s)",
			   section->addresses[i], reason, section->type);
	}
}

/* The place in the section by which it comes to this card. */
static const struct place *named_at(const struct pool *pool, const struct section *section, size_t pgpu,
				    struct place *whole)
{
	const struct inv_pgpu *card = &pool->inv->pgpus[pgpu];

	for (size_t i = 0; i < section->naddresses; i++) {
		if (pool_address_is(section->addresses[i], card->address))
			return &section->addresses_at[i];
		for (int p = card->first; p < card->first + card->nparents; p++)
			if (strcmp(section->addresses[i], pool->inv->parents[p].name) == 0)
				return &section->addresses_at[i];
	}
	for (size_t i = 0; i < section->nmatches; i++)
		if (pool_match(&section->matches[i], card))
			return &section->matches[i].at;
	*whole = section->line ? (struct place){ section->file, section->line } : section->enabled_at;
	return whole;
}

/* libvirt takes an unmanaged VF that is bound to a driver which it does not know since 9.7. */
static bool check_libvirt(struct audit *audit, const struct inv_pgpu *card, int libvirt)
{
	if (card->framework != FW_VARIANT || !libvirt || libvirt >= LIBVIRT_VARIANT)
		return true;
	audit_note(audit, AUDIT_FAIL, "pgpu", card->address, "upgrade libvirt",
		   "libvirt is %d.%d.%d here, and takes no VF of NVIDIA's variant driver: 9.7 or later is needed",
		   libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	return false;
}

static void check_card(struct audit *audit, const struct pool *pool, size_t pgpu, int libvirt)
{
	const struct pool_card *card = &pool->cards[pgpu];
	const char *address = pool->inv->pgpus[pgpu].address;
	char where[AUDIT_WHERE];
	struct place whole;

	audit->npool += card->in_pool;
	if (card->in_pool && check_libvirt(audit, &pool->inv->pgpus[pgpu], libvirt))
		audit_pass(audit, "pgpu", address, "serves %s", card->section->type);
	else if (!card->in_pool && card->contested)
		audit_note(audit, AUDIT_FAIL, "pgpu", address, "name it in device_addresses of one of them", "%s",
			   card->reason);
	else if (!card->in_pool && card->section)
		audit_note(audit, AUDIT_FAIL, "pgpu", audit_place(where, named_at(pool, card->section, pgpu, &whole)),
			   "'vgpu-lease types' shows what each pGPU can make", "%s: %s (configured for %s)", address,
			   card->reason, card->section->type);
	else if (!card->in_pool)
		audit_pass(audit, "pgpu", address, "not in the pool: %s", card->reason);
}

static bool is_listed(const struct inventory *inv, const char *address)
{
	return inventory_pgpu(inv, address) != UNKNOWN || inventory_parent(inv, address) != UNKNOWN;
}

/* A PCI device that a match fits, and that makes no vGPUs: no driver, or another one. */
static void check_absent(struct audit *audit, const struct pool *pool, const struct section *section,
			 const struct inv_pci *device)
{
	char where[AUDIT_WHERE], reason[REASON_SIZE];

	for (size_t i = 0; i < section->nmatches; i++) {
		const struct match *match = &section->matches[i];

		/* Whatever else is on a NUMA node, or is that vendor's, is not meant. */
		if (!pool_match(match, &device->card) || !(*match->device || device->display))
			continue;
		if (is_listed(pool->inv, device->card.address))
			continue;
		inventory_explain_card(audit->host, device->card.address, section->vf, reason);
		audit_note(audit, AUDIT_FAIL, "pgpu", audit_place(where, &match->at),
			   "mend that, or make the match narrower", "%s: %s (configured for %s)", device->card.address,
			   reason, section->type);
		return;
	}
}

static bool has_defaults(const struct pool *pool)
{
	for (size_t i = 0; i < pool->config->nsections; i++)
		if (!pool->config->sections[i].naddresses && !pool->config->sections[i].nmatches)
			return true;
	return false;
}

/* Where all cards are meant, and none is in the pool, it is told of each GPU why it makes no vGPUs. */
static void check_idle(struct audit *audit, const struct pool *pool, const struct inv_pci *device)
{
	static const char *const vendors[] = { "10de", "8086", "1002" }; /* not a mainboard's VGA */
	char reason[REASON_SIZE];
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
		known |= strcmp(device->card.vendor, vendors[i]) == 0;
	if (!known || audit->npool || !has_defaults(pool) || !device->display ||
	    is_listed(pool->inv, device->card.address))
		return;
	inventory_explain_card(audit->host, device->card.address, false, reason);
	audit_note(audit, AUDIT_WARN, "pgpu", device->card.address, "load the driver that makes vGPUs", "%s", reason);
}

void audit_cards(struct audit *audit, const struct pool *pool)
{
	int libvirt = ondisk_libvirt(audit->host);
	autofree struct inv_pci *devices = NULL;
	size_t n = 0;
	struct err err;

	for (size_t i = 0; i < pool->config->nsections; i++)
		if (pool->config->sections[i].enabled)
			check_addresses(audit, pool, &pool->config->sections[i]);
	audit->ncards = pool->inv->npgpus;
	for (size_t i = 0; i < pool->inv->npgpus; i++)
		check_card(audit, pool, i, libvirt);
	if (inventory_pci(audit->host, &devices, &n, &err) < 0) {
		audit_note(audit, AUDIT_FAIL, "pgpu", NULL, "see that /sys is mounted", "%s", err.text);
		return;
	}
	for (size_t d = 0; d < n; d++) {
		for (size_t i = 0; i < pool->config->nsections; i++)
			if (pool->config->sections[i].enabled)
				check_absent(audit, pool, &pool->config->sections[i], &devices[d]);
		check_idle(audit, pool, &devices[d]);
	}
}
