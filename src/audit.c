/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is everything as it should be? The configuration, and the host's cards beside it. */
#include "audit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ondisk.h"

void audit_note(struct audit *audit, enum audit_level level, const char *where, const char *fmt, ...)
{
	struct finding *finding;
	va_list ap;
	int n;

	audit->findings = reallocarray(audit->findings, audit->n + 1, sizeof(*audit->findings));
	if (!audit->findings)
		abort();
	finding = &audit->findings[audit->n++];
	*finding = (struct finding){ .level = level, .where = where ? strdup(where) : NULL };
	va_start(ap, fmt);
	n = vasprintf(&finding->text, fmt, ap);
	va_end(ap);
	if (n < 0 || (where && !finding->where))
		abort();
	audit->nerrors += level == AUDIT_ERROR;
}

/* Where a section stands; a type without one, where it is enabled. */
static void place_of(char *where, size_t size, const struct section *section)
{
	if (section->file && section->line)
		snprintf(where, size, "%s:%d", section->file, section->line);
	else
		snprintf(where, size, "%s", section->file ? section->file : section->type);
}

static void check_addresses(struct audit *audit, const struct pool *pool, const struct section *section)
{
	char where[512], reason[REASON_SIZE];

	place_of(where, sizeof(where), section);
	for (size_t i = 0; i < section->naddresses; i++) {
		if (!pool_lacks(pool, section, section->addresses[i]))
			continue;
		inventory_explain_card(audit->host, section->addresses[i], section->vf, reason);
		audit_note(audit, AUDIT_ERROR, where, "%s is not there for %s: %s", section->addresses[i],
			   section->type, reason);
	}
}

/*
 * The cards that no section names are for the first type that names none: the configuration itself warns of a later
 * one.
 */
static bool gets_none(const struct config *config, const struct section *section)
{
	for (const struct section *s = config->sections; !config->policy.several_types && s < section; s++)
		if (s->enabled && !s->vf && !s->naddresses && !s->nmatches)
			return true;
	return false;
}

/* A type that names no card, and that no card offers, cannot be leased. One that only matches may be another host's. */
static void check_default(struct audit *audit, const struct pool *pool, const struct section *section)
{
	char where[512];

	if (section->naddresses || section->nmatches || gets_none(pool->config, section))
		return;
	for (size_t i = 0; i < pool->inv->npgpus; i++)
		if (pool->cards[i].claim == CLAIM_DEFAULT && pool_serves(pool, (int)i, section->type))
			return;
	place_of(where, sizeof(where), section);
	audit_note(
		audit, AUDIT_ERROR, where,
		"no pGPU of this host serves %s: 'vgpu-lease types' shows what they can make; name its pGPUs in device_addresses",
		section->type);
}

static void check_card(struct audit *audit, const struct pool *pool, size_t pgpu)
{
	const struct pool_card *card = &pool->cards[pgpu];
	const char *address = pool->inv->pgpus[pgpu].address;
	char where[512];

	audit->npool += card->in_pool;
	if (card->in_pool || (!card->section && !card->contested))
		return;
	if (card->contested) {
		audit_note(audit, AUDIT_ERROR, address, "%s", card->reason);
		return;
	}
	place_of(where, sizeof(where), card->section);
	audit_note(audit, AUDIT_ERROR, where, "%s does not serve %s: %s", address, card->section->type, card->reason);
}

static void check_cards(struct audit *audit, const struct pool *pool)
{
	for (size_t i = 0; i < pool->config->nsections; i++) {
		const struct section *section = &pool->config->sections[i];

		if (!section->enabled)
			continue;
		check_addresses(audit, pool, section);
		check_default(audit, pool, section);
	}
	audit->ncards = pool->inv->npgpus;
	for (size_t i = 0; i < pool->inv->npgpus; i++)
		check_card(audit, pool, i);
}

/* `definitions`: and is nothing defined that goes against it? */
/* libvirt takes an unmanaged VF that is bound to a driver which it does not know since 9.7. */
static void check_libvirt(struct audit *audit, const struct pool *pool)
{
	int version = ondisk_libvirt(audit->host);

	for (size_t i = 0; version && version < 9007000 && i < pool->inv->npgpus; i++) {
		if (pool->inv->pgpus[i].framework != FW_VARIANT || !pool->cards[i].in_pool)
			continue;
		audit_note(
			audit, AUDIT_ERROR, pool->inv->pgpus[i].address,
			"libvirt is %d.%d.%d here, and takes no VF of NVIDIA's variant driver: 9.7 or later is needed",
			version / 1000000, version / 1000 % 1000, version % 1000);
	}
}

static void check_host(struct audit *audit, const struct config *config, bool definitions)
{
	const struct inv_query query = {
		.frameworks = INV_ALL, .vf_name = pool_vf_name, .names_type = pool_names_type, .arg = config
	};
	struct inventory inv;
	struct pool pool;
	struct err err;

	if (inventory_read(&inv, audit->host, &query, &err) < 0) {
		audit_note(audit, AUDIT_ERROR, NULL, "the host cannot be read: %s", err.text);
		return;
	}
	pool_make(&pool, config, &inv);
	check_cards(audit, &pool);
	check_libvirt(audit, &pool);
	if (definitions)
		audit_definitions(audit, &pool);
	pool_free(&pool);
	inventory_free(&inv);
}

void audit_pool(struct audit *audit, const struct config *config)
{
	check_host(audit, config, false);
}

void audit_run(struct audit *audit)
{
	struct config config;
	struct err err;
	int r = config_load(&config, audit->host, audit->config_path, &err);

	if (r < 0) {
		audit_note(audit, AUDIT_ERROR, NULL, "%s%s", err.text,
			   r == -ENOENT ? ": without it nothing is leased" : "");
		config_default(&config);
	}
	for (size_t i = 0; i < config.warnings.n; i++)
		audit_note(audit, AUDIT_WARNING, NULL, "%s", config.warnings.list[i].text);
	if (r == 0)
		check_host(audit, &config, true);
	audit_hook(audit);
	audit_state(audit, r == 0 ? &config : NULL);
	config_free(&config);
}

void audit_free(struct audit *audit)
{
	for (size_t i = 0; i < audit->n; i++) {
		free(audit->findings[i].where);
		free(audit->findings[i].text);
	}
	free(audit->findings);
	audit->findings = NULL;
	audit->n = 0;
}
