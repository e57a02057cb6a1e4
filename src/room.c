/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room: can this pGPU carry one more vGPU of a type now, and on which parent? */
#include "room.h"

#include <stdio.h>
#include <string.h>

/* What a pGPU carries and has promised. */
struct load {
	int devices;           /* that the kernel has, of any type */
	int pending;           /* leases whose device the kernel does not have yet */
	int of_type;           /* of both, those of the type asked for */
	double cost;           /* of the pending ones, in instances of the type asked for */
	double used_mib;       /* of both, where framebuffers are known */
	bool in_flight;        /* a creation or give-back is under way */
	char other[TYPE_SIZE]; /* one of another framebuffer size; "" none */
	int other_mib;
};

static int framebuffer_of(const struct plan_facts *facts, const char *type, const char *id)
{
	const struct inv_type *t = inventory_type(facts->inv, type);
	const struct lease *lease = lease_find(facts->leases, id);

	if (t)
		return t->framebuffer_mib;
	return lease ? lease->framebuffer_mib : UNKNOWN;
}

static void load_one(struct load *load, const struct inv_type *want, const char *type, int mib)
{
	if (strcmp(type, want->id) == 0)
		load->of_type++;
	else if (mib != UNKNOWN && want->framebuffer_mib != UNKNOWN && mib != want->framebuffer_mib) {
		snprintf(load->other, sizeof(load->other), "%s", type);
		load->other_mib = mib;
	}
	if (mib != UNKNOWN)
		load->used_mib += mib;
	else if (want->framebuffer_mib != UNKNOWN)
		load->used_mib += want->framebuffer_mib;
}

/*
 * What one instance of another type takes, in instances of the wanted one: mtty-2 has two of the ports of which
 * mtty-1 has one. The kernel's two counts of the same pool tell; where they do not, one for one.
 */
static double cost_of(const struct plan_facts *facts, int pgpu, const char *type, int available)
{
	const struct inv_offer *offer = inventory_offer(facts->inv, pgpu, type);

	if (!offer || offer->available <= 0 || available <= 0)
		return 1;
	return (double)available / offer->available;
}

static void load_leases(struct load *load, const struct plan_facts *facts, const struct leases *leases, int pgpu,
			const struct inv_type *want, int available, const char *id)
{
	for (size_t i = 0; i < leases->n; i++) {
		const struct lease *l = &leases->list[i];
		bool there = inventory_device(facts->inv, l->id) != NULL;

		if (strcmp(l->pgpu, facts->inv->pgpus[pgpu].address) != 0 || strcmp(l->id, id) == 0)
			continue;
		load->in_flight |= l->at_work;
		/* A device that is gone takes no room, though its lease is not dropped yet. */
		if (there || l->state == LEASE_RELEASING)
			continue;
		load->pending++;
		load->cost += strcmp(l->type, want->id) == 0 ? 1 : cost_of(facts, pgpu, l->type, available);
		load_one(load, want, l->type, l->framebuffer_mib);
	}
}

static struct load load_of(const struct plan_facts *facts, const struct leases *extra, int pgpu,
			   const struct inv_type *want, int available, const char *id)
{
	const struct inventory *inv = facts->inv;
	struct load load = { 0 };

	for (size_t i = 0; i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];

		if (d->parent == UNKNOWN || inv->parents[d->parent].pgpu != pgpu)
			continue;
		load.devices++;
		load_one(&load, want, d->type, framebuffer_of(facts, d->type, d->id));
	}
	load_leases(&load, facts, facts->leases, pgpu, want, available, id);
	load_leases(&load, facts, extra, pgpu, want, available, id);
	return load;
}

static bool leased_parent(const struct leases *leases, const char *parent, const char *id)
{
	for (size_t i = 0; i < leases->n; i++)
		if (strcmp(leases->list[i].parent, parent) == 0 && strcmp(leases->list[i].id, id) != 0)
			return true;
	return false;
}

/* The first VF of the pool that nobody has; the one where the device was before goes first. */
static int free_parent(const struct plan_facts *facts, const struct leases *extra, const struct inv_pgpu *card,
		       const char *id, const char *last)
{
	int found = UNKNOWN;

	for (int p = card->first; p < card->first + card->nparents; p++) {
		const struct inv_parent *parent = &facts->inv->parents[p];

		if (parent->ndevices > 0 || !pool_has_parent(facts->pool, p) ||
		    leased_parent(facts->leases, parent->name, id) || leased_parent(extra, parent->name, id))
			continue;
		if (found == UNKNOWN || strcmp(parent->name, last) == 0)
			found = p;
	}
	return found;
}

static int capacity_of(const struct inv_pgpu *card, const struct inv_type *type)
{
	if (!card->sriov)
		return type->max_instance;
	return type->max_instance != UNKNOWN && type->max_instance < card->nvfs ? type->max_instance : card->nvfs;
}

static double share_of(const struct load *load, const struct inv_type *type, int capacity, int available)
{
	int all = load->devices + load->pending;

	if (capacity > 0 && type->framebuffer_mib > 0)
		return load->used_mib / ((double)type->framebuffer_mib * capacity);
	if (capacity > 0)
		return (double)all / capacity;
	return all + available > 0 ? (double)all / (all + available) : 0;
}

/* Why there is no room, or "" where there is. */
static void judge(struct room *room, const struct load *load, const struct inv_pgpu *card,
		  const struct pool_card *pooled, int capacity, int available)
{
	int cap = pooled->section->max_instances, all = load->devices + load->pending;

	room->full = true;
	if (cap != NO_LIMIT && load->of_type >= cap)
		snprintf(room->reason, sizeof(room->reason), "max_instances = %d is reached", cap);
	else if (card->nvidia && *load->other && (available == 0 || load->devices == 0))
		snprintf(room->reason, sizeof(room->reason),
			 "holds %s (%d MiB), and a pGPU carries one framebuffer size", load->other, load->other_mib);
	else if (capacity > 0 && (card->sriov || card->nvidia) && all >= capacity)
		snprintf(room->reason, sizeof(room->reason), "full (%d of %d in use)", all, capacity);
	else if (available - load->cost < 1 && !card->sriov)
		snprintf(room->reason, sizeof(room->reason), "full (%d in use)", all);
	else if (card->sriov && room->parent == UNKNOWN)
		snprintf(room->reason, sizeof(room->reason), "no VF is free (%d of %d in use)", all, card->nparents);
	else if (available < 1)
		snprintf(room->reason, sizeof(room->reason), "the driver offers none now (available_instances is 0)");
	else
		room->full = false;
}

void room_on(struct room *room, const struct plan_facts *facts, const struct leases *extra, int pgpu, const char *type,
	     const char *id, const char *last)
{
	const struct inv_pgpu *card = &facts->inv->pgpus[pgpu];
	const struct pool_card *pooled = &facts->pool->cards[pgpu];
	const struct inv_offer *offer = inventory_offer(facts->inv, pgpu, type);
	const struct inv_type *t;
	struct load load;
	int capacity;

	*room = (struct room){ .parent = UNKNOWN };
	if (!pooled->in_pool) {
		snprintf(room->reason, sizeof(room->reason), "not in the pool: %.200s", pooled->reason);
		return;
	}
	if (strcmp(pooled->section->type, type) != 0) {
		snprintf(room->reason, sizeof(room->reason), "serves %s", pooled->section->type);
		return;
	}
	for (size_t i = 0; i < facts->nmishaps; i++) {
		if (strcmp(facts->mishaps[i].pgpu, card->address) == 0 && strcmp(facts->mishaps[i].type, type) == 0) {
			snprintf(room->reason, sizeof(room->reason), "%s", facts->mishaps[i].reason);
			return;
		}
	}
	t = &facts->inv->types[offer->type];
	load = load_of(facts, extra, pgpu, t, offer->available, id);
	capacity = capacity_of(card, t);
	room->parent = card->sriov ? free_parent(facts, extra, card, id, last) : card->first;
	room->share = share_of(&load, t, capacity, offer->available);
	judge(room, &load, card, pooled, capacity, offer->available);
	room->has = !room->full;
	room->in_flight = room->full && load.in_flight;
}
