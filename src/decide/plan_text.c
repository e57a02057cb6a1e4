/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the text of a refusal, in one line. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

/*
 * libvirt shows one line of ERR_TEXT_MAX bytes, which begins with the names of domain and device. If the text exceeds
 * LINE_BYTES, causes are left out, but never the fix.
 */
enum { SHOWN_VFS = 6, SHOWN_CARDS = 8, LINE_BYTES = 800, MORE_BYTES = 20 };

void plan_text_request(const struct resolved_request *resolved, char *buf, size_t size)
{
	static const char *const sources[] = {
		[TYPE_UNSAID] = "",
		[TYPE_ASKED] = "",
		[TYPE_RESERVED] = ", reserved when the domain arrived",
		[TYPE_DEFINED] = ", from its mdevctl definition (/etc/mdevctl.d/",
		[TYPE_REMEMBERED] = ", remembered from its last lease (/var/lib/vgpu-lease/affinity/",
		[TYPE_POOLED] = ", the only type of the pool",
		[TYPE_SERVED] = ", the only type of this VF",
	};

	buf[0] = '\0';
	if (resolved->ntypes > 1)
		text_add(buf, size, "%s (", resolved->req->facts.type);
	for (int t = 0; t < resolved->ntypes; t++)
		text_add(buf, size, "%s%s", t ? ", " : "", resolved->types[t]);
	text_add(buf, size, "%s%s", resolved->ntypes > 1 ? ")" : "", sources[resolved->source]);
	if (resolved->source == TYPE_DEFINED)
		text_add(buf, size, "%s/%s)", resolved->last_parent, resolved->req->id);
	if (resolved->source == TYPE_REMEMBERED)
		text_add(buf, size, "%s)", resolved->req->id);
}

/* Adds "; or write type='nvidia-222' in its <vgpu:device>" for other types with a ready card. */
static void add_other_types(const struct planner *p, char *buf, size_t size)
{
	const struct resolved_request *resolved = p->resolved;
	autofree const struct section **types = NULL;
	bool mdev = resolved->req->kind == REQUEST_MDEV;
	size_t n = 0;

	/* Nova rewrites the definition at each start, so the added type would be lost. */
	if (p->world->request->nova || (resolved->source != TYPE_DEFINED && resolved->source != TYPE_REMEMBERED))
		return;
	types = pool_types(&p->world->inv, mdev, NULL);
	for (size_t i = 0; types[i]; i++)
		if (!resolve_fits(resolved, types[i]->type) &&
		    pool_stock(&p->world->inv, types[i], mdev, NULL) == STOCK_READY)
			text_add(buf, size, "%stype='%s'", n++ ? " or " : "; or write ", types[i]->type);
	if (n)
		text_add(buf, size, " in its <vgpu:device>");
}

static bool fills_instance(const struct inv_pgpu *card, const struct inv_type *type)
{
	for (size_t i = 0; i < card->noffers; i++)
		if (card->offers[i].type->slices == type->slices &&
		    card->offers[i].type->framebuffer_mib > type->framebuffer_mib)
			return false;
	return true;
}

/* Do the vGPUs of the card leave enough slices for another GPU instance? True if that is not known. */
static bool has_slices(const struct inventory *inv, const struct inv_pgpu *card, const struct inv_type *type)
{
	int whole = 0, used = type->slices;

	for (EACH(const struct inv_offer *, offer, card->offers, card->noffers)) {
		int slices = offer->type->slices * offer->type->max_instance;

		if (fills_instance(card, offer->type) && slices > whole)
			whole = slices;
	}
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));) {
		const struct inv_offer *offer = inventory_offer(card, d->vgpu.type);

		used += offer && fills_instance(card, offer->type) ? offer->type->slices : 0;
	}
	return !whole || used <= whole;
}

void plan_text_instance_fix(const struct inventory *inv, const struct inv_pgpu *card, const struct inv_type *type,
			    int mig, char fix[REASON_SIZE])
{
	char enable[128] = "", profile[32] = "PROFILE";
	bool exact = fills_instance(card, type);

	if (exact && !has_slices(inv, card, type)) {
		snprintf(fix, REASON_SIZE,
			 "the GPU instances in use leave too few slices for another; release a vGPU, and destroy its "
			 "GPU instance (see 'nvidia-smi mig -i %s -lgi')",
			 card->address);
		return;
	}
	if (mig != 1)
		snprintf(enable, sizeof(enable), "'nvidia-smi -i %s -mig 1'%s, then ", card->address,
			 mig == 0 ? "" : " if MIG mode is off");
	if (exact)
		snprintf(profile, sizeof(profile), "%dg.%dgb%s", type->slices, type->framebuffer_mib / 1024,
			 strstr(type->name, "CME") ? "+me" : "");
	snprintf(fix, REASON_SIZE, "%s'nvidia-smi mig -i %s -cgi %s -C' makes a GPU instance%s", enable, card->address,
		 profile, exact ? "" : " (see 'nvidia-smi mig -lgip')");
}

/* Is the verdict redundant beside a missing card? True for the missing card, and a ready card without enabled type. */
static bool is_beside(const struct planner *p, const struct verdict *v)
{
	const struct pool_card *card = &v->card->pool;
	bool missing = false, itself = false;

	if (v->cause != CAUSE_UNREADY)
		return false;
	for (EACH(const struct verdict *, other, p->plan->verdicts, p->plan->nverdicts)) {
		if (other->req != p->req || other->cause != CAUSE_ABSENT)
			continue;
		missing = true;
		itself |= strcmp(other->card->address, v->card->address) == 0;
	}
	return itself || (missing && !card->section && card->claim == CLAIM_DEFAULT && v->card->ready);
}

/* The causes that are easiest to remove come first: the text has the fix for the first, and may leave out the last. */
static const struct verdict **list_causes(const struct planner *p, size_t *n)
{
	const struct plan *plan = p->plan;
	const struct verdict **list = mem_new(plan->nverdicts + 1, sizeof(*list));

	*n = 0;
	for (enum cause cause = 0; cause <= CAUSE_OTHER_TYPE; cause++)
		for (EACH(const struct verdict *, v, plan->verdicts, plan->nverdicts))
			if (v->cause == cause && v->req == p->req && !is_beside(p, v))
				list[(*n)++] = v;
	return list;
}

/* Takes the first cause and its cards: "0000:84:00.0, 0000:85:00.0: full (16 of 16 in use)". Returns their number. */
static int take_cause(const struct verdict **list, size_t *n, char *buf, size_t size)
{
	const struct verdict *first = *list;
	size_t rest = 0;
	int cards = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < *n; i++) {
		if (list[i]->cause != first->cause || strcmp(list[i]->reason, first->reason) != 0)
			list[rest++] = list[i];
		else if (cards++ < SHOWN_CARDS)
			text_add(buf, size, "%s%s", cards > 1 ? ", " : "", list[i]->card->address);
	}
	*n = rest;
	if (cards > SHOWN_CARDS)
		text_add(buf, size, " and %d more", cards - SHOWN_CARDS);
	text_add(buf, size, ": %s", first->reason);
	return cards;
}

/* Does a lease that stays use the card? `promised`: one of the domain itself, by this plan. */
static bool is_leased_on(const struct planner *p, const char *card, bool promised)
{
	for (EACH(const struct lease *, l, p->world->leases.list, p->world->leases.n))
		if (l->promised == promised && !l->reclaimable && strcmp(l->vgpu.pgpu, card) == 0)
			return true;
	return false;
}

/* Does a vGPU without a lease use the card, and stay? A plain VF does if a process has it open. */
static bool is_held_on(const struct planner *p, const struct inv_pgpu *card)
{
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&p->world->inv, card, d));)
		if (!d->facts.reclaimable && !lease_find(&p->world->leases, d->vgpu.id))
			return true;
	for (int i = 0; i < card->nparents; i++)
		if (card->parents[i]->facts.opened == OPEN_YES || card->parents[i]->facts.renders)
			return true;
	return false;
}

/* Writes the fix for `first`, one of `n` causes; "": none, or it is in the reason. */
static void text_fix(const struct planner *p, const struct verdict *first, size_t n, char *buf, size_t size)
{
	bool mdev = p->resolved->req->kind == REQUEST_MDEV;
	const char *type = p->resolved->types[0];
	const char *release = p->world->request->nova ? "delete or migrate an instance" : "release a vGPU";
	char where[PARENT_SIZE + 3] = "there";

	buf[0] = '\0';
	if (n == 0)
		return;
	if (n > 1)
		snprintf(where, sizeof(where), "on %s", first->card->address);
	if (*first->fix) {
		snprintf(buf, size, "; %s", first->fix);
		return;
	}
	switch (first->cause) {
	case CAUSE_IN_USE:
	case CAUSE_BLOCKED:
		if (is_leased_on(p, first->card->address, false))
			snprintf(buf, size, "; %s %s", release, where);
		else if (is_held_on(p, first->card))
			snprintf(buf, size, "; no guest leases one %s; %s", where,
				 first->card->framework == FW_VF ? "processes of this host have them open"
								 : "'vgpu-lease gc --dry-run' says why each is kept");
		else if (is_leased_on(p, first->card->address, true))
			snprintf(buf, size, "; this domain has other vGPUs %s; give it fewer vGPUs, or another type",
				 where);
		break;
	case CAUSE_CAP:
		snprintf(buf, size, "; %s %s, raise max_instances", release, where);
		break;
	case CAUSE_OTHER_KIND:
		snprintf(buf, size, "; use a hostdev of type='%s'", mdev ? "pci" : "mdev");
		break;
	case CAUSE_OTHER_TYPE:
		/* A VF hostdev needs no fix here, because the text lists the free VFs. */
		if (mdev && config_section(p->world->config, type))
			snprintf(buf, size, "; name a pGPU for %s in device_addresses", type);
		else if (mdev)
			snprintf(buf, size,
				 "; enable %s in enabled_mdev_types and name a pGPU for it in device_addresses", type);
		break;
	case CAUSE_UNREADY:
	case CAUSE_ABSENT:
		snprintf(buf, size, "; run 'vgpu-lease check'");
		break;
	default:
		break;
	}
}

/* If the request has no type, uses that of the card's section. Sets *unsuited if no free VF suits the hostdev. */
static bool has_capacity(const struct planner *p, const struct capacity_query *query, const struct inv_pgpu *card,
			 bool *unsuited)
{
	const struct resolved_request *resolved = p->resolved;
	struct capacity space = { 0 };

	for (int t = 0; t < resolved->ntypes && !space.has; t++)
		capacity_on(&space, query, card, resolved->types[t]);
	if (resolved->ntypes == 0)
		capacity_on(&space, query, card, card->pool.section->type);
	*unsuited |= space.full && space.cause == CAUSE_UNSUITED;
	return space.has;
}

static bool is_given(const struct planner *p, const struct inv_parent *vf)
{
	for (int t = 0; t < p->resolved->ntypes; t++)
		if (pool_gives(vf, p->resolved->types[t]))
			return true;
	return p->resolved->ntypes == 0;
}

/* Does the VF have a fitting type, and no known user? A start searches only the users of the devices it names. */
static bool is_ready_made(const struct planner *p, const struct inv_parent *vf)
{
	const struct inv_device *device = inventory_device(&p->world->inv, vf->name);

	return device && pool_gives(vf, device->vgpu.type) && plan_device_fits(p, device) && plan_parent_suits(p, vf) &&
	       device->facts.opened != OPEN_YES && !device->facts.is_named &&
	       !request_excludes(p->world->request, vf->name) && !lease_find(&p->world->leases, vf->name);
}

bool plan_text_free_vfs(const struct planner *p, char *buf, size_t size)
{
	const struct world *world = p->world;
	const struct vgpu_request *req = p->resolved->req;
	const struct capacity_query query = plan_query(p, plan_named(req));
	size_t found = 0;
	bool unsuited = false, pooled = false, makes;
	char why[REASON_SIZE];

	buf[0] = '\0';
	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!card->pool.in_pool || plan_other_kind(world, card, req, why) || !plan_is_served(p, card))
			continue;
		pooled = true;
		makes = has_capacity(p, &query, card, &unsuited);
		for (int i = 0; i < card->nparents; i++) {
			const struct inv_parent *vf = card->parents[i];

			if (request_names(world->request, vf->name) || !capacity_parent_suits(vf, req) ||
			    !(is_ready_made(p, vf) ||
			      (makes && is_given(p, vf) && capacity_parent_is_free(&query, vf, NULL))))
				continue;
			if (found++ < SHOWN_VFS)
				text_add(buf, size, "%s%s", *buf ? ", " : "; free: ", vf->name);
		}
	}
	if (found > SHOWN_VFS)
		text_add(buf, size, " and %zu more", found - SHOWN_VFS);
	return found || unsuited || !pooled;
}

static void text_end(const struct planner *p, const char *fix, char *buf, size_t size)
{
	buf[0] = '\0';
	/* An empty list of free VFs is not mentioned, because the causes already say so. */
	if (p->resolved->req->kind == REQUEST_PCI)
		(void)plan_text_free_vfs(p, buf, size);
	text_add(buf, size, "%s%s see 'vgpu-lease inventory'", fix, *fix ? ", or" : ";");
	add_other_types(p, buf, size);
}

void plan_text_no_capacity(const struct planner *p)
{
	char text[LINE_BYTES / 2], fix[LINE_BYTES / 2], end[LINE_BYTES], *buf = p->plan->text;
	const char *before = ": ";
	size_t ncauses, space = LINE_BYTES - MORE_BYTES, size = sizeof(p->plan->text);
	autofree const struct verdict **list = list_causes(p, &ncauses);
	int left = 0;

	plan_text_request(p->resolved, text, LINE_BYTES / 4);
	snprintf(buf, size, "no capacity for %s", text);
	text_fix(p, *list, ncauses, fix, sizeof(fix));
	text_end(p, fix, end, sizeof(end));
	space = strlen(end) < space ? space - strlen(end) : 0;
	if (p->world->inv.npgpus == 0 && ncauses == 0)
		text_add(buf, size, ": this host has no pGPU");
	while (ncauses) {
		int cards = take_cause(list, &ncauses, text, sizeof(text));

		if (strlen(buf) + strlen(text) + 2 > space) {
			left += cards;
			continue;
		}
		text_add(buf, size, "%s%s", before, text);
		before = "; ";
	}
	if (left)
		text_add(buf, size, "; and %d more", left);
	p->plan->why = strlen(buf);
	text_add(buf, size, "%s", end);
}

static bool refuse_disabled(struct planner *p, const char *list)
{
	const struct resolved_request *resolved = p->resolved;
	const struct inv_parent *vf = plan_own_vf(p);

	if (vf && *resolved->was_card)
		return plan_refuse(
			p,
			"its card is %s:%s:%s now, and was %s when the domain had %s; correct the hostdev, name one of "
			"%s in the metadata, or remove /var/lib/vgpu-lease/affinity/%s",
			vf->card->vendor, vf->card->device, vf->card->subsystem, resolved->was_card, resolved->was,
			list, resolved->req->id);
	if (p->world->request->nova)
		return plan_refuse(p,
				   "does not exist, and its type, %s, is not enabled (enabled: %s); enable it, "
				   "or " PLAN_NOVA_ANOTHER,
				   resolved->was, list);
	return plan_refuse(
		p,
		"does not exist, and the type of its last lease, %s (/var/lib/vgpu-lease/affinity/%s), is not "
		"enabled; enable it, or name one of %s in the metadata",
		resolved->was, resolved->req->id, list);
}

bool plan_refuse_untyped(struct planner *p)
{
	const struct world *world = p->world;
	bool mdev = p->resolved->req->kind == REQUEST_MDEV;
	const struct inv_parent *vf = plan_own_vf(p);
	autofree const struct section **types = pool_types(&world->inv, mdev, vf);
	char list[1024] = "";

	for (size_t i = 0; types[i]; i++)
		text_add(list, sizeof(list), "%s%s", i ? ", " : "", types[i]->type);
	/* A disabled VF has no type, so report that the VF is missing. */
	if (!*list && world->config->nsections && *p->resolved->absent)
		return plan_refuse(p, "no such VF in the pool: %s", p->resolved->absent);
	if (!*list)
		return plan_refuse(
			p,
			"does not exist, and no type is enabled for this kind of hostdev; set enabled_mdev_types in [devices]");
	if (pool_stock(&world->inv, types[0], mdev, NULL) == STOCK_NONE)
		return plan_refuse(
			p,
			"does not exist, and no pGPU that is configured for an enabled type (%s) is there now; see 'vgpu-lease check'",
			list);
	if (*p->resolved->was)
		return refuse_disabled(p, list);
	if (world->request->nova)
		return plan_refuse(p, "does not exist, and its type (%s) is not known; " PLAN_NOVA_ANOTHER, list);
	return plan_refuse(p, "does not exist, and its type is not known; name one of %s in the metadata", list);
}
