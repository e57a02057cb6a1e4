/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * VFs as vGPUs: which are free, which a hostdev can have, and which is the best.
 *
 * A VF is named by its address. A start gets exactly the VF in its XML, because libvirt has read the XML already. An
 * arriving domain can get another VF. There are no placeholders, because every address names a VF.
 *
 * A VF of NVIDIA's variant driver stays bound to this driver, so its hostdev must be unmanaged (libvirt 9.7). A plain
 * VF is bound to a VFIO driver by the operator or, if managed, by libvirt.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

/* A lease of the query's own ID counts only if promised. A lease whose VF is gone uses no capacity. */
bool capacity_counts(const struct capacity_query *query, const struct lease *lease)
{
	if (lease->vgpu.framework != FW_MDEV && !inventory_parent(&query->world->inv, lease->vgpu.parent))
		return false;
	return lease->promised || !query->id || strcmp(lease->vgpu.id, query->id) != 0;
}

static bool leased_parent(const struct capacity_query *query, const char *parent)
{
	for (EACH(const struct lease *, lease, query->world->leases.list, query->world->leases.n))
		if (strcmp(lease->vgpu.parent, parent) == 0 && capacity_counts(query, lease))
			return true;
	return false;
}

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

const struct failed_attempt *capacity_failed_attempt(const struct world *world, const char *pgpu, const char *type)
{
	const struct failed_attempt *found = NULL;

	for (EACH(const struct failed_attempt *, a, world->failed_attempts, world->nfailed_attempts)) {
		bool here = !*a->parent && strcmp(a->pgpu, pgpu) == 0 && (!*a->type || strcmp(a->type, type) == 0);

		if (here && (!found || !*a->removal))
			found = a;
	}
	return found;
}

static bool blocks_group(const struct world *world, const struct inv_parent *p, char why[REASON_SIZE])
{
	const struct lease *lease = lease_find(&world->leases, p->name);

	if (lease && strcmp(lease->domain, world->request->uuid) == 0)
		return false;
	/* A start gets the VF that it names, or is refused. */
	if ((!lease || lease->reclaimable) && world->mode == PLAN_PREPARE && request_names(world->request, p->name))
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

/* QEMU needs the whole group. A VF whose group was not read (never a plain VF) counts as free. */
static bool group_is_free(const struct world *world, const struct inv_parent *p, char why[REASON_SIZE])
{
	const struct inventory *inv = &world->inv;
	bool card = strcmp(p->beside, p->card->address) == 0;

	why[0] = '\0';
	if (!*p->group && p->card->framework != FW_VF && !p->card->ungrouped)
		return true;
	if (!*p->group)
		snprintf(why, REASON_SIZE, "%s has no IOMMU group", p->name);
	else if (*p->beside)
		snprintf(why, REASON_SIZE, "%s of its IOMMU group %s is bound to driver %s; %s", p->beside, p->group,
			 p->beside_driver,
			 card ? "enable ACS in the firmware setup, or use another slot" : "unbind it");
	for (size_t i = 0; i < inv->nparents && !*why; i++)
		if (inv->parents[i] != p && strcmp(inv->parents[i]->group, p->group) == 0 &&
		    blocks_group(world, inv->parents[i], why))
			return false;
	return !*why;
}

/* Does the host use this plain VF as a GPU? False if a start names the VF, because display servers open every GPU. */
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

	return has_nobody(query, parent, type) && group_is_free(query->world, parent, why);
}

/* The order of preference among VFs. */
enum { VF_LAST, VF_OF_NOBODY, VF_OF_ANOTHER_DOMAIN, VF_OF_OWN_REQUEST };

static int preference(const struct capacity_query *query, const struct inv_parent *parent)
{
	const struct resolved_request *resolved = query->resolved;
	/* The mdev of a definition has its VF to itself, even if another mdev was there last. */
	bool defined = parent->card->framework == FW_MDEV && parent->facts.is_named;

	if (resolved && strcmp(parent->name, resolved->last_parent) == 0 && (!defined || resolved->defined))
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
		if (!group_is_free(query->world, p, why)) {
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

enum { LIBVIRT_VARIANT = 9007000 };

bool plan_other_kind(const struct world *world, const struct inv_pgpu *card, const struct vgpu_request *req,
		     char why[REASON_SIZE])
{
	enum framework framework = card->framework;
	int libvirt = world->libvirt;

	why[0] = '\0';
	if (framework == FW_MDEV && req->kind == REQUEST_PCI)
		snprintf(why, REASON_SIZE, "provides mdevs, but the hostdev is type='pci'");
	else if (framework != FW_MDEV && req->kind == REQUEST_MDEV)
		snprintf(why, REASON_SIZE, "provides VFs, but the hostdev is type='mdev'");
	else if (framework == FW_VARIANT && req->managed)
		snprintf(why, REASON_SIZE,
			 "hostdev has managed='yes', which would take the VF from NVIDIA's driver; set %s",
			 world->request->nova ? "\"managed\": \"no\" in device_spec of nova.conf (Nova 2025.1 or later)"
					      : "managed='no' (libvirt 9.7 or later)");
	else if (framework == FW_VARIANT && libvirt && libvirt < LIBVIRT_VARIANT)
		snprintf(why, REASON_SIZE,
			 "libvirt %d.%d.%d does not accept VFs of NVIDIA's variant driver; 9.7 or later is required",
			 libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	return *why;
}

const struct inv_parent *plan_own_vf(const struct planner *p)
{
	const struct vgpu_request *req = p->resolved->req;
	const struct inv_parent *vf = inventory_parent(&p->world->inv, req->id);

	return vf && req->kind == REQUEST_PCI && p->world->mode != PLAN_MIGRATE && pool_has_parent(vf) ? vf : NULL;
}

static bool suits(const struct planner *p, const struct inv_parent *parent, char why[REASON_SIZE])
{
	const struct vgpu_request *req = p->resolved->req;

	if (plan_other_kind(p->world, parent->card, req, why))
		return false;
	snprintf(why, REASON_SIZE, "VF %s is bound to %s%s; set managed='yes' in the hostdev, or bind vfio-pci",
		 parent->name, *parent->driver ? "driver " : "no driver", parent->driver);
	return capacity_parent_suits(parent, req);
}

bool plan_parent_suits(const struct planner *p, const struct inv_parent *parent)
{
	char why[REASON_SIZE];

	return !parent || (suits(p, parent, why) && group_is_free(p->world, parent, why));
}

static bool not_pooled(struct planner *p, const struct inv_parent *vf)
{
	if (!config_is_valid(p->world->config))
		return plan_refuse_unconfigured(p, "has no type and cannot be given one");
	if (!vf)
		return plan_refuse_device(p, "no such VF in the pool%s%s", *p->resolved->absent ? ": " : "",
					  p->resolved->absent);
	if (vf->card->pool.in_pool)
		return plan_refuse_device(p, "not configured, but other VFs of its pGPU are");
	if (vf->card->ready && vf->card->pool.claim == CLAIM_NONE && !pool_names(p->world->config, vf->card, vf->name))
		return plan_refuse_device(p, "not in the pool: %s; add %s to device_addresses of a type",
					  vf->card->pool.reason, vf->card->address);
	return plan_refuse_device(p, "not in the pool: %s", vf->card->pool.reason);
}

bool plan_vf_suits(struct planner *p, const struct inv_parent *vf, const struct inv_device *device)
{
	char why[REASON_SIZE];

	if (!device && (!vf || !pool_has_parent(vf)))
		return not_pooled(p, vf);
	return suits(p, vf, why) || plan_refuse(p, "%s", why);
}

bool plan_vf_permits(struct planner *p, const struct inv_parent *vf, const struct inv_device *device)
{
	char why[REASON_SIZE];

	if (!device && vf->facts.opened == OPEN_YES) {
		plan_refuse_device(p, "held open by %s", vf->facts.by);
		return plan_in_use(p);
	}
	if (group_is_free(p->world, vf, why))
		return true;
	plan_refuse_device(p, "%s", why);
	return *vf->group && !*vf->beside ? plan_in_use(p) : false;
}

static bool replace_type(struct planner *p, const struct inv_device *device)
{
	const struct resolved_request *resolved = p->resolved;
	const char *type = resolved->types[0];
	const struct failed_attempt *attempt;
	struct vgpu_ref wanted;

	for (int t = resolved->ntypes; t-- > 0;)
		if (pool_gives(device->parent, resolved->types[t]))
			type = resolved->types[t];

	attempt = capacity_failed_attempt(p->world, device->vgpu.pgpu, type);
	/* Do not try again, because the removal has failed in this run. */
	if (attempt)
		return plan_refuse_device(p, "its type is %s, and %s", device->vgpu.type, attempt->reason);
	if (!device->facts.reclaimable || !pool_gives(device->parent, type))
		return plan_refuse_device(p, "its type is %s, but the domain asks for %s", device->vgpu.type,
					  resolved->source == TYPE_ASKED ? resolved->req->facts.type : type);
	wanted = device->vgpu;
	text_copy(wanted.type, sizeof(wanted.type), type);
	plan_step(p, STEP_CREATE, &wanted, "");
	plan_remove_first(p, device->vgpu.id);
	return true;
}

bool plan_vf_typed(struct planner *p, const struct inv_device *device, const struct lease *own)
{
	const struct resolved_request *resolved = p->resolved;

	if ((resolved->source != TYPE_ASKED && resolved->source != TYPE_RESERVED) || plan_device_fits(p, device))
		return plan_existing(p, device, own);
	if (!own)
		return replace_type(p, device);
	if (resolved->source == TYPE_RESERVED)
		return plan_refuse_device(p, "its type is %s, but %s was reserved when the domain arrived",
					  device->vgpu.type, resolved->types[0]);
	return plan_refuse_device(p, "its type is %s, but the domain's metadata asks for %s; %s", device->vgpu.type,
				  resolved->req->facts.type, plan_change_type(p));
}
