/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts how many vGPUs of a type a pGPU can still have. */
#include "decide/capacity.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

/* Is MIG mode on? 1, 0 or UNKNOWN. The mode applies to the whole card, so one device or offered type shows it. */
static int mig_mode(const struct inventory *inv, const struct inv_pgpu *card)
{
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));) {
		const struct inv_type *t = inventory_type(inv, card, d->vgpu.type);

		if (t)
			return t->slices > 0;
	}
	for (size_t i = 0; i < card->noffers; i++)
		if (card->offers[i].available > 0)
			return card->offers[i].type->slices > 0;
	return UNKNOWN;
}

/* The largest framebuffer that one type can fill. max_instance prevents small types from filling the card. */
static double whole_mib(const struct inv_pgpu *card)
{
	double whole = 0;

	for (size_t i = 0; i < card->noffers; i++) {
		const struct inv_type *t = card->offers[i].type;

		if (t->framebuffer_mib > 0 && !t->slices && (double)t->max_instance * t->framebuffer_mib > whole)
			whole = (double)t->max_instance * t->framebuffer_mib;
	}
	return whole;
}

/* A query for one type of a pGPU; the vGPUs on the pGPU, and pending leases, whose vGPUs do not exist yet. */
struct card_load {
	const struct capacity_query *query;
	const struct inv_pgpu *card;
	const struct inv_type *type; /* the requested type */
	int available;               /* what the driver offers of it */

	int devices;
	int pending;
	int of_type;
	double cost;     /* instances of the requested type that the pending leases use up */
	double used_mib; /* of devices and pending leases; if a size is unknown, the size of the requested type */
	bool in_flight;
	char other[TYPE_SIZE]; /* a type with another framebuffer size; "": none */
	int other_mib;
	char beside[TYPE_SIZE]; /* another type on the card; "": none */
	int nbeside;
	bool leased_beside; /* a vGPU of another type is leased, so it cannot be removed */
	int known_mib;      /* the last size that add_size() saw; 0: none */
	bool kept;          /* one of the devices of another type cannot be removed by retype */
	bool preset;        /* one of them was not made for a guest, but retype can remove it */
	bool elsewhere;     /* one of them is on a VF that cannot have the requested type */
	bool mixed;         /* devices and offers have several sizes, so mixed-size mode is on */
};

/* While the kernel creates or removes a device, only the lease has the type. */
static const char *type_of(const struct inv_device *d, const struct lease *lease, const char *otherwise)
{
	if (*d->vgpu.type)
		return d->vgpu.type;
	return lease ? lease->vgpu.type : otherwise;
}

static void load_one(struct card_load *load, const char *type, int mib, bool leased)
{
	const struct inv_type *req = load->type;

	if (strcmp(type, req->id) == 0) {
		load->of_type++;
	} else {
		text_copy(load->beside, sizeof(load->beside), type);
		load->nbeside++;
		load->leased_beside |= leased;
		if (!req->slices && mib != UNKNOWN && req->framebuffer_mib != UNKNOWN && mib != req->framebuffer_mib) {
			text_copy(load->other, sizeof(load->other), type);
			load->other_mib = mib;
		}
	}
	if (mib == UNKNOWN)
		mib = req->framebuffer_mib;
	load->used_mib += mib != UNKNOWN ? mib : 0;
}

/*
 * How many instances of the requested type one of `type` uses, or which part of one: the ratio of their offers, which
 * are rounded down; if unknown, 1.
 */
static double cost_of(const struct card_load *load, const char *type)
{
	const struct inv_offer *offer = inventory_offer(load->card, type);
	int of_type = offer ? offer->available : 0, requested = load->available, whole;

	/* GPU instances of several sizes coexist. */
	if (load->type->slices && strcmp(type, load->type->id) != 0)
		return 0;
	if (of_type <= 0 || requested <= 0)
		return 1;
	whole = requested >= of_type ? requested / of_type : of_type / requested;
	return requested >= of_type ? whole : 1.0 / whole;
}

bool capacity_is_pending(const struct capacity_query *query, const struct inv_pgpu *card, const struct lease *lease)
{
	return strcmp(lease->vgpu.pgpu, card->address) == 0 && capacity_counts(query, lease) &&
	       !inventory_device(&query->world->inv, lease->vgpu.id) &&
	       (lease->state != LEASE_RELEASING || lease->at_work || lease->vgpu.framework == FW_VF);
}

static void load_leases(struct card_load *load)
{
	const struct leases *leases = &load->query->world->leases;

	for (EACH(const struct lease *, l, leases->list, leases->n)) {
		load->in_flight |= l->at_work && !l->hangs && !l->keeps &&
				   strcmp(l->vgpu.pgpu, load->card->address) == 0 && capacity_counts(load->query, l);
		if (!capacity_is_pending(load->query, load->card, l))
			continue;
		load->pending++;
		load->cost += cost_of(load, l->vgpu.type);
		load_one(load, l->vgpu.type, l->framebuffer_mib, true);
	}
}

static void add_size(struct card_load *load, const struct inv_type *type)
{
	if (!type || type->framebuffer_mib <= 0)
		return;
	load->mixed |= load->known_mib && type->framebuffer_mib != load->known_mib;
	load->known_mib = type->framebuffer_mib;
}

static struct card_load load_of(const struct capacity_query *query, const struct inv_pgpu *card,
				const struct inv_type *requested, int available)
{
	struct card_load load = { .query = query, .card = card, .type = requested, .available = available };
	const struct world *world = query->world;

	for (const struct inv_device *d = NULL; (d = inventory_next_on(&world->inv, card, d));) {
		const struct lease *lease = lease_find(&world->leases, d->vgpu.id);
		/* A reserved VF counts as the reserved type, because a start removes an orphan of another type. */
		bool reserved = lease && lease->state == LEASE_RESERVED && d->vgpu.framework != FW_MDEV;
		const char *type = reserved ? lease->vgpu.type : type_of(d, lease, requested->id);
		const struct inv_type *t = inventory_type(&world->inv, card, type);
		int mib = t ? t->framebuffer_mib : lease ? lease->framebuffer_mib : UNKNOWN;

		if (strcmp(d->vgpu.type, requested->id) != 0) {
			load.kept |= !d->facts.removable;
			load.preset |= d->facts.preset;
			load.elsewhere |= !pool_gives(d->parent, requested->id);
		}
		load.devices++;
		add_size(&load, inventory_type(&world->inv, card, d->vgpu.type));
		load_one(&load, type, mib, lease);
	}
	/* A card in use offers another size only in mixed-size mode. */
	for (EACH(const struct inv_offer *, offer, card->offers, load.known_mib ? card->noffers : 0))
		if (offer->available > 0 && !offer->type->slices)
			add_size(&load, offer->type);
	load_leases(&load);
	return load;
}

static int capacity_of(const struct inv_pgpu *card, const struct inv_type *type)
{
	if (!card->sriov)
		return type->max_instance;
	return type->max_instance != UNKNOWN && type->max_instance < card->nvfs ? type->max_instance : card->nvfs;
}

static double share_of(const struct card_load *load)
{
	int all = load->devices + load->pending, capacity = capacity_of(load->card, load->type);

	if (capacity > 0 && load->type->framebuffer_mib > 0)
		return load->used_mib / ((double)load->type->framebuffer_mib * capacity);
	if (capacity > 0)
		return (double)all / capacity;
	return all + load->available > 0 ? (double)all / (all + load->available) : 0;
}

/* Limits the capacity to `left` more vGPUs. The first call with `left` <= 0 sets the reason. */
__attribute__((format(printf, 4, 5))) static void bound(struct capacity *space, int left, enum cause cause,
							const char *fmt, ...)
{
	va_list ap;

	if (left < space->left)
		space->left = left > 0 ? left : 0;
	if (1 - left > space->excess)
		space->excess = 1 - left;
	if (left > 0 || space->full)
		return;
	space->full = true;
	space->cause = cause;
	va_start(ap, fmt);
	vsnprintf(space->reason, sizeof(space->reason), fmt, ap);
	va_end(ap);
}

static void advise_retype(struct capacity *space, const struct card_load *load)
{
	const struct policy *policy = &load->query->world->config->policy;
	const char *grace = policy->reclaim_grace_s > 0 ? "--grace 0 " : "";
	bool dry = load->kept || load->preset;

	if (load->elsewhere)
		return;
	snprintf(space->fix, sizeof(space->fix), "%s'vgpu-lease retype %s%s%s %s' %s",
		 dry || policy->reclaim_orphans ? "" : "with reclaim = orphans in [policy], ", dry ? "--dry-run " : "",
		 load->kept ? "" : grace, load->card->address, load->type->id,
		 load->kept ? "shows why"
		 : dry      ? "lists what must be removed"
			    : "frees it");
}

static void explain_none(struct capacity *space, const struct card_load *load)
{
	const struct inv_pgpu *card = load->card;
	const struct inv_type *type = load->type;

	if (type->slices && type->framebuffer_mib > 0) {
		int mig = mig_mode(&load->query->world->inv, card);

		if (!space->full)
			plan_text_instance_fix(&load->query->world->inv, card, type, mig, space->fix);
		bound(space, -(int)load->cost, CAUSE_NO_INSTANCE,
		      mig == 0 ? "MIG mode is off" : "no GPU instance for it is free");
	} else if (card->framework == FW_VARIANT && load->nbeside) {
		if (!space->full && !load->leased_beside)
			advise_retype(space, load);
		bound(space, 0, CAUSE_BLOCKED, "blocked by %d vGPU%s of %s", load->nbeside,
		      load->nbeside == 1 ? "" : "s", load->beside);
	} else if (card->framework == FW_VARIANT && load->devices && !load->in_flight) {
		bound(space, -load->pending, CAUSE_IN_USE, "full (%d in use)", load->devices + load->pending);
	} else if (card->framework == FW_VARIANT) {
		bound(space, 0, CAUSE_NO_OFFER, "the driver does not list it now%s",
		      load->in_flight ? "; another vGPU is being created or removed on the card"
				      : "; the card may be in MIG mode");
	} else if (card->nvidia && load->devices + load->pending == 0) {
		/* The card may still hold a vGPU that was removed before the driver had finished with it. */
		bound(space, 0, CAUSE_NO_OFFER,
		      "the driver offers none%s a removed vGPU may occupy it until a reboot; see dmesg",
		      card->sriov ? " now (available_instances is 0); the card may be in MIG mode, or"
				  : ", although the card is empty;");
	} else {
		bound(space, 0, CAUSE_NO_OFFER, "the driver offers none now (available_instances is 0)");
	}
}

static void explain_blocked(struct capacity *space, const struct card_load *load)
{
	const struct inv_pgpu *card = load->card;
	const struct inv_type *other = inventory_type(&load->query->world->inv, card, load->other);
	bool mig = other && other->slices;

	if (mig)
		snprintf(space->fix, sizeof(space->fix), "empty the card, then run 'nvidia-smi -i %s -mig 0'",
			 card->address);
	else if (!load->leased_beside && !load->kept)
		advise_retype(space, load);
	else if (card->framework == FW_VARIANT && pool_serves(card, load->other))
		snprintf(space->fix, sizeof(space->fix),
			 "empty the card, then run 'nvidia-smi vgpu -i %s -shm 1' (mixed-size mode, lost at a reboot)",
			 card->address);
	bound(space, 0, CAUSE_BLOCKED, "holds %s (%d MiB), and %s", load->other, load->other_mib,
	      mig ? "MIG mode allows only MIG-backed types" : "a pGPU holds one framebuffer size at a time");
}

/* How many vGPUs fit beside vGPUs of other sizes. If no lease is pending, the driver's offer guarantees one. */
static int fit_between(const struct card_load *load, double whole, const struct inv_type *type, int available)
{
	int left = (int)((whole - load->used_mib) / type->framebuffer_mib);

	return left < 1 && available > 0 && load->pending == 0 ? 1 : left;
}

static void bound_by_vfs(struct capacity *space, const struct capacity_vfs *vfs)
{
	if (!vfs->free && *vfs->why)
		bound(space, 0, CAUSE_IN_USE, "%s", vfs->why);
	bound(space, vfs->free, CAUSE_IN_USE, "no VF is free (%d of %d in use)", vfs->all - vfs->free, vfs->all);
	bound(space, vfs->suited, CAUSE_UNSUITED,
	      "none of its %d free VFs is bound to vfio-pci; bind one, or set managed='yes' in the <hostdev>",
	      vfs->free);
}

static void judge(struct capacity *space, const struct card_load *load, const struct capacity_vfs *vfs)
{
	const struct section *section = pool_serves(load->card, load->type->id);
	const struct inv_pgpu *card = load->card;
	const struct inv_type *type = load->type;
	bool beside = card->nvidia && *load->other, blocked = beside && !load->mixed;
	int on_it = load->devices + load->pending, capacity = capacity_of(card, type);
	/* GPU instances of several sizes coexist, so only vGPUs of the requested type count for a MIG-backed type. */
	int all = type->slices ? load->of_type : on_it;

	space->left = INT_MAX;
	if (section && section->max_instances != NO_LIMIT)
		bound(space, section->max_instances - load->of_type, CAUSE_CAP, "max_instances = %d is reached",
		      section->max_instances);
	/* If the card is empty, report the driver's reason, because the card cannot be full. */
	if (load->available < 1 && on_it == 0)
		explain_none(space, load);
	if (blocked)
		explain_blocked(space, load);
	if (beside && type->framebuffer_mib > 0 && type->max_instance > 0) {
		double whole = whole_mib(card);
		int short_mib = (int)(load->used_mib - whole) + type->framebuffer_mib;

		/* At least 1, because a driver that offers none may need a larger gap in the framebuffer. */
		space->short_mib = !load->mixed ? 0 : short_mib > 1 ? short_mib : 1;
		bound(space, fit_between(load, whole, type, load->available), CAUSE_IN_USE,
		      "full (%.0f of %.0f MiB of its framebuffer in use)", load->used_mib, whole);
	} else if (capacity > 0 && (card->sriov || card->nvidia))
		bound(space, capacity - all, CAUSE_IN_USE, "full (%d of %d in use)", all, capacity);
	if (card->sriov)
		bound_by_vfs(space, vfs);
	else if (!blocked)
		bound(space, (int)(load->available - load->cost), CAUSE_IN_USE, "full (%d in use)", all);
	if (load->available < 1)
		explain_none(space, load);
}

static void measure(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		    const struct inv_offer *offer)
{
	const struct card_load load = load_of(query, card, offer->type, offer->available);
	struct capacity_vfs vfs = { .best = card->nparents ? card->parents[0] : NULL };

	if (card->sriov)
		vfs = capacity_vfs(query, card, offer->type->id);
	*space = (struct capacity){ .parent = vfs.best, .share = share_of(&load), .whole_mib = whole_mib(card) };
	judge(space, &load, &vfs);
	space->has = !space->full;
	space->in_flight = space->full && load.in_flight;
}

void capacity_on(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		 const char *type)
{
	const struct world *world = query->world;
	const struct pool_card *pooled = &card->pool;
	const struct failed_attempt *attempt = capacity_failed_attempt(world, card->address, type);

	*space = (struct capacity){ 0 };
	/* Check the type first: in_pool is also false if the survey did not read the type configured for the card. */
	if (pooled->section && !pool_serves(card, type)) {
		space->cause = CAUSE_OTHER_TYPE;
		snprintf(space->reason, sizeof(space->reason), "configured for %s%s", pooled->section->type,
			 pool_serves_more(card) ? " and other types" : "");
		return;
	}
	if (!pooled->in_pool) {
		space->cause = CAUSE_UNREADY;
		snprintf(space->reason, sizeof(space->reason), "not in the pool: %.200s", pooled->reason);
		return;
	}
	if (request_excludes(world->request, card->address)) {
		space->cause = CAUSE_OTHER_KIND;
		snprintf(space->reason, sizeof(space->reason), "the domain has the whole pGPU as a hostdev");
		snprintf(space->fix, sizeof(space->fix), "remove hostdev %s", card->address);
		return;
	}
	measure(space, query, card, inventory_offer(card, type));
	if (!attempt || (*attempt->removal && space->has))
		return;
	*space = (struct capacity){ .cause = attempt->cause };
	snprintf(space->reason, sizeof(space->reason), "%s", attempt->reason);
}

bool capacity_count(struct capacity_count *count, const struct world *world, const struct inv_pgpu *card,
		    const struct inv_offer *offer)
{
	const struct capacity_query query = { .world = world };
	const struct inv_type *type = offer ? offer->type : NULL;
	int capacity, outside = 0;
	struct capacity space;

	if (!offer)
		return false;
	capacity = capacity_of(card, type);
	measure(&space, &query, card, offer);
	*count = (struct capacity_count){ .available = card->ready ? space.left : 0 };
	/* While one GPU instance is free, each free VF offers one vGPU, so the number of free VFs is too high. */
	if (type->slices && card->sriov && count->available > offer->available)
		count->available = offer->available;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&world->inv, card, d));) {
		const struct lease *lease = lease_find(&world->leases, d->vgpu.id);

		if (strcmp(type_of(d, lease, ""), type->id) != 0)
			continue;
		count->used++;
		count->unleased += !lease;
		outside += !pool_gives(d->parent, type->id);
	}
	/* A plain VF is in use if a guest leases it or, without a lease, if it is open or the host uses it as a GPU. */
	for (int i = 0; card->framework == FW_VF && i < card->nparents; i++) {
		const struct inv_parent *vf = card->parents[i];
		const struct lease *lease = lease_find(&world->leases, vf->name);

		count->used += lease ? lease->state != LEASE_RESERVED && strcmp(lease->vgpu.type, type->id) == 0
				     : (vf->facts.opened == OPEN_YES || vf->facts.renders) && pool_gives(vf, type->id);
	}
	count->cause = card->ready ? space.cause : CAUSE_UNREADY;
	if (count->available == 0)
		snprintf(count->reason, sizeof(count->reason), "%s", card->ready ? space.reason : card->reason);
	count->capacity = capacity != UNKNOWN ? capacity : offer->available + count->used;
	if (card->sriov) {
		struct capacity_vfs vfs = capacity_vfs(&query, card, type->id);
		int most = vfs.all + outside;

		/* Without a max_instance, a driver that no longer lists the type shows that the card is full. */
		if (type->max_instance == UNKNOWN && count->used && vfs.free && offer->available < 1 &&
		    (space.cause == CAUSE_NO_OFFER || space.cause == CAUSE_IN_USE))
			most = count->used;
		count->capacity = count->capacity < most ? count->capacity : most;
	}
	return true;
}

struct capacity_framebuffer capacity_framebuffer(const struct world *world, const struct inv_pgpu *card)
{
	static const struct inv_type any = { .framebuffer_mib = UNKNOWN };
	const struct capacity_query query = { .world = world };
	int whole = (int)whole_mib(card), used = (int)load_of(&query, card, &any, 0).used_mib;

	if (!whole)
		return (struct capacity_framebuffer){ UNKNOWN, used ? used : UNKNOWN };
	return (struct capacity_framebuffer){ whole, used };
}
