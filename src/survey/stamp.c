/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What travels with a domain of each of its vGPUs. */
#include "survey/stamp.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

static void put(char *dst, size_t size, const char *src)
{
	for (const char *p = src; *p; p++)
		if (*p < ' ' || *p > '~')
			return;
	text_copy(dst, size, src);
}

/* The type as cards of this model have it: one id can be called otherwise on another model. */
static const struct inv_type *type_on(const struct inventory *inv, const struct inv_pgpu *card, const char *id)
{
	for (size_t i = 0; i < inv->ntypes; i++) {
		const struct inv_type *t = &inv->types[i];

		if (strcmp(t->id, id) == 0 && strcmp(t->vendor, card->vendor) == 0 &&
		    strcmp(t->device, card->device) == 0)
			return t;
	}
	return NULL;
}

void stamp_type(struct stamp *stamp, const struct inventory *inv, int pgpu, const char *type)
{
	const struct inv_pgpu *card = pgpu == UNKNOWN ? NULL : &inv->pgpus[pgpu];
	const struct inv_type *t = card ? type_on(inv, card, type) : NULL;

	*stamp = (struct stamp){ 0 };
	put(stamp->type, sizeof(stamp->type), type);
	if (t)
		put(stamp->name, sizeof(stamp->name), t->name);
	if (!card)
		return;
	put(stamp->framework, sizeof(stamp->framework), framework_word(card->framework));
	if (*card->vendor && *card->device)
		snprintf(stamp->model, sizeof(stamp->model), "%s:%s", card->vendor, card->device);
	if (card->nvidia)
		put(stamp->driver, sizeof(stamp->driver), inv->nvidia_driver);
}

bool stamp_device(struct stamp *stamp, const struct inventory *inv, const char *id)
{
	const struct inv_device *device = inventory_device(inv, id);

	*stamp = (struct stamp){ 0 };
	if (!device || !*device->type)
		return false;
	stamp_type(stamp, inv, device->parent == UNKNOWN ? UNKNOWN : inv->parents[device->parent].pgpu, device->type);
	return true;
}

static void common(char *fact, const char *other)
{
	if (strcmp(fact, other) != 0)
		*fact = '\0';
}

void stamp_common(struct stamp *stamp, const struct stamp *other)
{
	common(stamp->type, other->type);
	common(stamp->name, other->name);
	common(stamp->framework, other->framework);
	common(stamp->model, other->model);
	common(stamp->driver, other->driver);
}

int stamp_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases, char **out,
		  struct err *err)
{
	const struct request *request = domxml_request(doc);
	autofree struct stamp *stamps = calloc(request->nvgpus + 1, sizeof(*stamps));
	size_t len;

	if (!stamps)
		abort();
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct lease *lease = lease_find(leases, request->vgpus[i].id);

		if (lease && lease->state == LEASE_ACTIVE && strcmp(lease->domain, request->uuid) == 0)
			stamp_device(&stamps[i], inv, lease->id);
	}
	return domxml_lease(doc, stamps, out, &len, err);
}
