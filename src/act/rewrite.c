/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rewrites a domain's XML: inserts the vGPUs of a plan, or replaces UUIDs and VFs of a definition. */
#include "act/rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "base/mem.h"
#include "act/preview.h"
#include "look/hostdev_filter.h"
#include "look/migration_facts.h"

/* Sets how a step changes a request. Returns false if the request keeps its ID. */
static bool change_of(struct domxml_change *change, const struct world *world, const struct vgpu_request *req,
		      const struct step *step)
{
	change->has_facts = world->mode != PLAN_PREPARE && *step->vgpu.type;
	change->changes_framework = (step->vgpu.framework == FW_MDEV) != (req->kind == REQUEST_MDEV);
	migration_facts_type(&change->facts, &world->inv, inventory_pgpu(&world->inv, step->vgpu.pgpu),
			     step->vgpu.type);
	if (strcmp(step->vgpu.id, req->id) == 0)
		return false;
	memcpy(change->id, step->vgpu.id, sizeof(change->id));
	return true;
}

int rewrite_plan(struct rewritten *out, const struct domxml *doc, const struct world *world, const struct plan *plan,
		 struct err *err)
{
	autofree struct domxml_change *changes = mem_new(plan->nsteps + 1, sizeof(*changes));

	*out = (struct rewritten){ 0 };
	for (size_t i = 0; i < plan->nsteps; i++) {
		changes[i].req = i;
		out->changed |= change_of(&changes[i], world, &world->asked->vgpus[i], &plan->steps[i]);
	}
	if (domxml_rewrite(doc, changes, out->changed ? plan->nsteps : 0, &out->xml, &out->len, err) == 0)
		return 0;
	*out = (struct rewritten){ 0 };
	return -err->code;
}

/* Is this a VF with metadata? Its address may be of another host, so the VF must be checked against this host. */
static bool is_vf(const struct vgpu_request *req)
{
	return req->kind == REQUEST_PCI && req->has_metadata;
}

static int find_changes(struct rewrite *r, struct err *err)
{
	const struct request *request;

	/* Parse all PCI hostdevs, so that no vGPU gets the address of another hostdev. */
	if (domxml_parse(&r->doc, r->xml, r->len, DOMXML_FILE | DOMXML_ALL_PCI, err) < 0)
		return -err->code;
	hostdev_filter_keep(r->doc, NULL, NULL, NULL);
	if (r->host)
		placeholder_settle(r->doc, r->host);
	request = domxml_request(r->doc);
	r->changes = mem_new(request->nvgpus + 1, sizeof(*r->changes));
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];
		bool renamed = req->kind == REQUEST_MDEV && (r->all || req->any);

		r->asks |= renamed ? req->has_metadata : is_vf(req);
		/* change_vfs() replaces VFs. */
		if (!renamed)
			continue;
		r->changes[r->nchanges].req = i;
		uuid_random(r->changes[r->nchanges++].id);
	}
	return 0;
}

static void predict(struct rewrite *r, struct world *world)
{
	const struct request *request = domxml_request(r->doc);

	for (size_t i = 0; world->inv.frameworks && i < r->nchanges; i++) {
		struct domxml_change *change = &r->changes[i];

		change->has_facts = migration_facts_predict(&change->facts, world, &request->vgpus[change->req]);
	}
}

/* Replaces VFs as planned, and keeps their facts. which[i]: the index of VF i in the document's request. */
static int change_vfs(struct rewrite *r, const struct preview *preview, const size_t *which, struct err *err)
{
	const struct plan *plan = &preview->plan;
	const struct request *vfs = preview->lifecycle->request;

	if (plan->kind != PLAN_STEPS)
		return err_set(err, ENOSPC, "vGPU %s: %s", vfs->vgpus[plan->refused_vgpu].id, plan->text);
	for (size_t i = 0; i < plan->nsteps; i++) {
		struct domxml_change change = { .req = which[i] };

		if (change_of(&change, &preview->world, &vfs->vgpus[i], &plan->steps[i])) {
			change.has_facts = false;
			r->changes[r->nchanges++] = change;
		}
	}
	return 0;
}

static int ask_host(struct rewrite *r, const struct config *config, struct err *err)
{
	const struct request *request = domxml_request(r->doc);
	autofree struct vgpu_request *vgpus = mem_new(request->nvgpus + 1, sizeof(*vgpus));
	autofree size_t *which = mem_new(request->nvgpus + 1, sizeof(*which));
	struct request vfs = *request;
	const struct lifecycle lifecycle = { .host = r->host, .config = config, .request = &vfs };
	autopreview struct preview preview = { 0 };
	int n;

	vfs.vgpus = vgpus;
	vfs.nvgpus = 0;
	for (size_t i = 0; i < request->nvgpus; i++) {
		if (!is_vf(&request->vgpus[i]))
			continue;
		vgpus[vfs.nvgpus] = request->vgpus[i];
		which[vfs.nvgpus++] = i;
	}
	n = preview_make(&preview, &lifecycle, PLAN_ASSIGN, err);
	predict(r, &preview.world);
	if (vfs.nvgpus == 0) {
		if (n < 0)
			r->unread = *err;
		return 0;
	}
	return n < 0 ? n : change_vfs(r, &preview, which, err);
}

int rewrite_definition(struct rewrite *r, const struct config *config, struct err *err)
{
	if (find_changes(r, err) < 0 || (config && config_is_valid(config) && r->asks && ask_host(r, config, err) < 0))
		return -err->code;
	return domxml_rewrite(r->doc, r->changes, r->nchanges, &r->rewritten, &r->rewritten_len, err);
}

void rewrite_end(struct rewrite *r)
{
	domxml_free(r->doc);
	free(r->changes);
	free(r->rewritten);
	*r = (struct rewrite){ 0 };
}
