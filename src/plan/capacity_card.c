/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the types of a card, and what it carries, tell of it. */
#include "internal.h"

int capacity_mig_mode(const struct inventory *inv, const struct inv_pgpu *card)
{
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));) {
		const struct inv_type *t = inventory_type_on(inv, card, d->vgpu.type);

		if (t)
			return t->slices > 0;
	}
	for (size_t i = 0; i < card->noffers; i++)
		if (card->offers[i].available > 0)
			return card->offers[i].type->slices > 0;
	return UNKNOWN;
}

double capacity_whole_mib(const struct inv_pgpu *card)
{
	double whole = 0;

	for (size_t i = 0; i < card->noffers; i++) {
		const struct inv_type *t = card->offers[i].type;

		if (t->framebuffer_mib > 0 && !t->slices && (double)t->max_instance * t->framebuffer_mib > whole)
			whole = (double)t->max_instance * t->framebuffer_mib;
	}
	return whole;
}
