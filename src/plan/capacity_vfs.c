/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The VFs of a card: which are free, which a hostdev can have, and which is the best to use. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* A promised lease is for another request, so it counts even if its id (a VF's address) is this request's. */
bool capacity_counts(const struct capacity_query *query, const struct lease *lease)
{
	return lease->promised || !query->id || strcmp(lease->vgpu.id, query->id) != 0;
}

static bool leased_parent(const struct capacity_query *query, const char *parent)
{
	const struct leases *leases = &query->world->leases;

	for (size_t i = 0; i < leases->n; i++)
		if (strcmp(leases->list[i].vgpu.parent, parent) == 0 && capacity_counts(query, &leases->list[i]))
			return true;
	return false;
}

/* Every VF counts on a card outside the pool, and every pooled VF on a card that does not serve the type. */
static bool is_pooled(const struct inv_parent *parent, const char *type)
{
	if (!parent->card->pool.in_pool)
		return true;
	return type && pool_serves(parent->card, type) ? pool_gives(parent, type) : pool_has_parent(parent);
}

static bool has_failed(const struct world *world, const char *parent)
{
	for (size_t i = 0; i < world->nfailed_attempts; i++)
		if (strcmp(world->failed_attempts[i].parent, parent) == 0)
			return true;
	return false;
}

/* Does the domain have this VF, or get it with this plan? If so, the VF's IOMMU group is the domain's own. */
static bool is_own(const struct capacity_query *query, const char *vf)
{
	const struct world *world = query->world;
	const struct lease *lease = lease_find(&world->leases, vf);

	return (lease && strcmp(lease->domain, world->request->uuid) == 0) ||
	       (world->mode == PLAN_PREPARE && request_names(world->request, vf));
}

/* Does this other VF prevent the domain from using their group? If so, sets `why`. */
static bool blocks_group(const struct capacity_query *query, const struct inv_parent *p, char why[REASON_SIZE])
{
	const struct lease *lease = lease_find(&query->world->leases, p->name);

	if (is_own(query, p->name))
		return false;
	if (lease)
		snprintf(why, REASON_SIZE, "its IOMMU group %s belongs to domain %.100s, which has %.15s", p->group,
			 lease->name, p->name);
	else if (p->facts.opened == OPEN_YES)
		snprintf(why, REASON_SIZE, "a process holds %s of its IOMMU group %s open", p->name, p->group);
	else if (p->keeps_group)
		snprintf(why, REASON_SIZE, "%s of its IOMMU group %s is bound to driver %s; bind vfio-pci, or none",
			 p->name, p->group, p->driver);
	else
		return false;
	return true;
}

bool capacity_group_is_free(const struct capacity_query *query, const struct inv_parent *p, char why[REASON_SIZE])
{
	const struct inventory *inv = &query->world->inv;

	why[0] = '\0';
	if (p->card->framework != FW_VF)
		return true;
	if (!*p->group)
		snprintf(why, REASON_SIZE, "%s has no IOMMU group", p->name);
	else if (*p->beside)
		snprintf(why, REASON_SIZE, "%s of its IOMMU group %s is bound to driver %s; unbind it", p->beside,
			 p->group, p->beside_driver);
	for (size_t i = 0; i < inv->nparents && !*why; i++)
		if (inv->parents[i] != p && strcmp(inv->parents[i]->group, p->group) == 0 &&
		    blocks_group(query, inv->parents[i], why))
			return false;
	return !*why;
}

/* Does the host use this plain VF as a GPU? Ignored if a start names the VF: a display server opens every GPU. */
static bool is_hosts(const struct world *world, const struct inv_parent *p)
{
	return p->facts.renders && !(world->mode == PLAN_PREPARE && request_names(world->request, p->name));
}

static bool has_nobody(const struct capacity_query *query, const struct inv_parent *p, const char *type)
{
	const struct world *world = query->world;

	return p->ndevices == 0 && !p->lost && !has_failed(world, p->name) && is_pooled(p, type) &&
	       !leased_parent(query, p->name) && !request_excludes(world->request, p->name) &&
	       p->facts.opened != OPEN_YES && !is_hosts(world, p);
}

bool capacity_parent_is_free(const struct capacity_query *query, const struct inv_parent *parent, const char *type)
{
	char why[REASON_SIZE];

	return has_nobody(query, parent, type) && capacity_group_is_free(query, parent, why);
}

/* Preference among VFs: the lowest value is best. */
enum { VF_LAST, VF_OF_NOBODY, VF_OF_ANOTHER_DOMAIN, VF_OF_OWN_REQUEST };

/* A VF in another domain's XML is worse than a VF in none; a VF of another hostdev of this domain is the worst. */
static int preference(const struct capacity_query *query, const struct inv_parent *parent)
{
	if (query->resolved && strcmp(parent->name, query->resolved->last_parent) == 0)
		return VF_LAST;
	if (request_names(query->world->request, parent->name))
		return VF_OF_OWN_REQUEST;
	return parent->facts.is_named ? VF_OF_ANOTHER_DOMAIN : VF_OF_NOBODY;
}

bool capacity_parent_suits(const struct inv_parent *parent, const struct vgpu_request *req)
{
	return parent->card->framework != FW_VF || req->managed || req->managed_as_needed ||
	       strstr(parent->driver, "vfio");
}

/* Is this the first VF of its IOMMU group, among all VFs of the card (`type` NULL) or among the free ones? */
static bool is_unit(const struct capacity_query *query, const struct inv_parent *parent, const char *type)
{
	struct inv_parent *const *p = parent->card->parents;

	for (; *p != parent && *parent->group; p++)
		if (strcmp((*p)->group, parent->group) == 0 && (!type || capacity_parent_is_free(query, *p, type)))
			return false;
	return true;
}

struct capacity_vfs capacity_vfs(const struct capacity_query *query, const struct inv_pgpu *card, const char *type)
{
	struct capacity_vfs vfs = { 0 };
	char why[REASON_SIZE];

	for (int i = 0; i < card->nparents; i++) {
		const struct inv_parent *p = card->parents[i];
		bool unit = is_unit(query, p, NULL);

		vfs.all += unit && is_pooled(p, type);
		if (!has_nobody(query, p, type))
			continue;
		if (!capacity_group_is_free(query, p, why)) {
			memcpy(vfs.why, why, sizeof(why));
			continue;
		}
		unit = unit || is_unit(query, p, type);
		vfs.free += unit;
		if (query->resolved && !capacity_parent_suits(p, query->resolved->req))
			continue;
		vfs.suited += unit;
		if (!vfs.best || preference(query, p) < preference(query, vfs.best))
			vfs.best = p;
	}
	return vfs;
}
