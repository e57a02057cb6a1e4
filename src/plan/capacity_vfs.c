/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The VFs of a card: which are free, which a hostdev can have, and which of these is the best to take. */
#include <string.h>

#include "internal.h"

/* `id` NULL: whoever has it. */
static bool leased_parent(const struct leases *leases, const char *parent, const char *id)
{
	for (size_t i = 0; i < leases->n; i++)
		if (strcmp(leases->list[i].vgpu.parent, parent) == 0 &&
		    !(id && strcmp(leases->list[i].vgpu.id, id) == 0))
			return true;
	return false;
}

/* Of a card outside the pool none is left out. */
static bool is_pooled(const struct plan_facts *facts, int parent)
{
	return !facts->pool->cards[facts->inv->parents[parent].pgpu].in_pool || pool_has_parent(facts->pool, parent);
}

static bool has_failed(const struct plan_facts *facts, const char *parent)
{
	for (size_t i = 0; i < facts->nfailed_attempts; i++)
		if (strcmp(facts->failed_attempts[i].parent, parent) == 0)
			return true;
	return false;
}

bool capacity_parent_is_free(const struct capacity_query *query, int parent)
{
	const struct plan_facts *facts = query->facts;
	const struct inv_parent *p = &facts->inv->parents[parent];

	return p->ndevices == 0 && !p->lost && !has_failed(facts, p->name) && is_pooled(facts, parent) &&
	       !leased_parent(facts->leases, p->name, query->id) && !leased_parent(query->promised, p->name, NULL) &&
	       !request_excludes(facts->request, p->name) && !(facts->vfs && facts->vfs[parent].opened == OPEN_YES);
}

/* Which VF is the best to take: the lowest of these. */
enum { VF_LAST, VF_OF_NOBODY, VF_OF_ANOTHER_DOMAIN, VF_OF_ANOTHER_WANT };

/* A VF that somebody's XML names is best left to him; the domain's own, which need not move then, above all. */
static int liking(const struct capacity_query *query, int parent)
{
	const struct plan_facts *facts = query->facts;
	const char *name = facts->inv->parents[parent].name;

	if (strcmp(name, query->last) == 0)
		return VF_LAST;
	if (request_names(facts->request, name))
		return VF_OF_ANOTHER_WANT;
	return facts->vfs && *facts->vfs[parent].named_by ? VF_OF_ANOTHER_DOMAIN : VF_OF_NOBODY;
}

bool capacity_parent_suits(const struct plan_facts *facts, int parent, const struct vgpu_request *req)
{
	const struct inv_parent *p = &facts->inv->parents[parent];

	return facts->inv->pgpus[p->pgpu].framework != FW_VF || req->managed || req->managed_as_needed ||
	       strstr(p->driver, "vfio");
}

struct capacity_vfs capacity_vfs(const struct capacity_query *query, const struct inv_pgpu *card)
{
	struct capacity_vfs vfs = { .best = UNKNOWN };

	for (int p = card->first; p < card->first + card->nparents; p++) {
		vfs.all += is_pooled(query->facts, p);
		if (!capacity_parent_is_free(query, p))
			continue;
		vfs.free++;
		if (query->req && !capacity_parent_suits(query->facts, p, query->req))
			continue;
		vfs.suited++;
		if (vfs.best == UNKNOWN || liking(query, p) < liking(query, vfs.best))
			vfs.best = p;
	}
	return vfs;
}
