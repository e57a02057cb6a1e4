/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects migration facts. */
#include "look/migration_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/resolve.h"

static void put_fact(char *dst, size_t size, const char *src)
{
	for (const char *p = src; *p; p++)
		if (*p < ' ' || *p > '~')
			return;
	text_copy(dst, size, src);
}

void migration_facts_type(struct migration_facts *facts, const struct inventory *inv, const struct inv_pgpu *card,
			  const char *type)
{
	const struct inv_type *t = card ? inventory_type(inv, card, type) : NULL;

	*facts = (struct migration_facts){ 0 };
	put_fact(facts->type, sizeof(facts->type), type);
	/* The name of a type without a name is its ID. */
	if (t && strcmp(t->name, type) != 0)
		put_fact(facts->name, sizeof(facts->name), t->name);
	if (!card)
		return;
	put_fact(facts->framework, sizeof(facts->framework), framework_words[card->framework]);
	if (*card->vendor && *card->device)
		snprintf(facts->model, sizeof(facts->model), "%s:%s", card->vendor, card->device);
	if (card->nvidia)
		put_fact(facts->driver, sizeof(facts->driver), inv->nvidia_driver);
}

static void common(char *fact, const char *other)
{
	if (strcmp(fact, other) != 0)
		*fact = '\0';
}

void migration_facts_common(struct migration_facts *facts, const struct migration_facts *other)
{
	common(facts->type, other->type);
	common(facts->name, other->name);
	common(facts->framework, other->framework);
	common(facts->model, other->model);
	common(facts->driver, other->driver);
}

/* The first possible type of the request that the card serves; NULL: none. */
static const char *served(const struct inv_pgpu *card, const struct resolved_request *resolved)
{
	for (int t = 0; card->pool.in_pool && t < resolved->ntypes; t++)
		if (pool_serves(card, resolved->types[t]))
			return resolved->types[t];
	return NULL;
}

bool migration_facts_predict(struct migration_facts *facts, struct world *world, const struct vgpu_request *req)
{
	struct resolved_request resolved;
	autofree const struct section **pooled = NULL;
	struct err ignored;
	bool known = false;

	*facts = (struct migration_facts){ 0 };
	if (resolve_vgpu(&resolved, req, world, &ignored) < 0)
		return false;
	pooled = pool_types(&world->inv, req->kind == REQUEST_MDEV, NULL);
	if (resolved.ntypes == 0 && pooled[0] && !pooled[1])
		resolved.ntypes = text_copy(resolved.types[0], TYPE_SIZE, pooled[0]->type);
	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const char *type = served(world->inv.pgpus[g], &resolved);
		struct migration_facts here;

		if (!type)
			continue;
		migration_facts_type(&here, &world->inv, world->inv.pgpus[g], type);
		if (known)
			migration_facts_common(facts, &here);
		else
			*facts = here;
		known = true;
	}
	if (known && *req->facts.type)
		memcpy(facts->type, req->facts.type, sizeof(facts->type));
	return known;
}

char *migration_facts_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases)
{
	const struct request *request = domxml_request(doc);
	autofree struct migration_facts *facts_list = mem_new(request->nvgpus + 1, sizeof(*facts_list));

	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct lease *lease = lease_find(leases, request->vgpus[i].id);
		const struct inv_device *device = inventory_device(inv, request->vgpus[i].id);

		if (lease && lease->state == LEASE_ACTIVE && strcmp(lease->domain, request->uuid) == 0 && device &&
		    *device->vgpu.type)
			migration_facts_type(&facts_list[i], inv, inventory_card_of(device), device->vgpu.type);
	}
	return domxml_lease(doc, facts_list);
}
