/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolves a request, and reads the part of the host that the request concerns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "look/libvirt_files.h"
#include "look/kernel.h"
#include "look/mdevctl_files.h"
#include "internal.h"
#include "look/resolve.h"
#include "state/history.h"

static uint64_t nodes_of(const struct vgpu_request *req, const struct request *request, const struct host *host)
{
	if (req->numa == NUMA_NONE)
		return 0;
	if (req->numa == NUMA_NODE)
		return req->numa_node < 64 ? UINT64_C(1) << req->numa_node : 0;
	if (request->memory_nodes)
		return request->memory_nodes;
	return request->cpus ? inventory_cpu_nodes(host, request->cpus) : 0;
}

/* Takes an mdev's type and parent from its mdevctl definition or, without one, from the record of its last lease. */
static int recall(struct resolved_request *resolved, const struct world *w, struct err *err)
{
	const struct vgpu_request *req = resolved->req;
	const struct vgpu_ref vgpu = kernel_vgpu(req->id);
	struct definition definition;
	struct affinity affinity;
	int defined;

	if (req->any || req->kind != REQUEST_MDEV)
		return 0;
	defined = mdevctl_definition(&definition, w->host, req->id, err);
	/* A start does not need the definition of a vGPU that exists. */
	if (defined < 0 && (w->mode != PLAN_PREPARE || kernel_exists(w->host, &vgpu) != 1))
		return defined;
	resolved->defined = defined;
	if (defined == 1) {
		resolved->source = TYPE_DEFINED;
		text_copy(resolved->last_parent, PARENT_SIZE, definition.parent);
		resolved->ntypes = text_copy(resolved->types[0], TYPE_SIZE, definition.type);
	} else if (affinity_get(w->store, req->id, &affinity)) {
		resolved->source = TYPE_REMEMBERED;
		text_copy(resolved->last_parent, PARENT_SIZE, affinity.parent);
		resolved->ntypes = text_copy(resolved->types[0], TYPE_SIZE, affinity.type);
	}
	return 0;
}

/* Adds `frameworks` to w->names_known, and reads the type names of all known frameworks. */
static int read_names(struct world *w, unsigned int frameworks, struct err *err)
{
	free(w->names);
	w->names_known |= frameworks;
	return inventory_names(w->host, w->names_known, &w->names, &w->nnames, err);
}

int survey_resolve(struct resolved_request *resolved, const struct vgpu_request *req, struct world *w, struct err *err)
{
	char refusal[RESOLVE_REFUSAL];
	unsigned int unread;
	struct lease lease;

	*resolved = (struct resolved_request){ .req = req };
	uuid_random(resolved->fresh);
	if (recall(resolved, w, err) < 0)
		return -err->code;
	while ((unread = resolve_types(resolved, w, refusal)))
		if (read_names(w, unread, err) < 0)
			return -err->code;
	if (*refusal)
		return err_set(err, ENOENT, "vGPU %s: %s", req->id, refusal);
	/* survey_read() also reports a lease that cannot be read. */
	if (w->mode == PLAN_PREPARE && lease_get(w->store, req->id, &lease, err) == 1 &&
	    lease.state == LEASE_RESERVED && strcmp(lease.domain, w->request->uuid) == 0 &&
	    !lease_is_void(&lease, false, false, sys_now_ms()))
		resolve_reserved(resolved, &lease);
	return 0;
}

/* Copies the request, and gives each vGPU a framework of this host. */
static int change_frameworks(struct world *w, struct err *err)
{
	char refusal[RESOLVE_REFUSAL];
	unsigned int unread;

	free(w->changed.vgpus);
	w->changed = *w->asked;
	w->changed.vgpus = mem_new(w->asked->nvgpus + 1, sizeof(*w->changed.vgpus));
	w->request = &w->changed;
	for (size_t i = 0; i < w->asked->nvgpus; i++) {
		struct vgpu_request *req = &w->changed.vgpus[i];

		*req = w->asked->vgpus[i];
		while ((unread = resolve_framework(req, w, refusal)))
			if (read_names(w, unread, err) < 0)
				return -err->code;
		if (*refusal)
			return err_set(err, EPERM, "vGPU %s: %s", req->id, refusal);
	}
	return 0;
}

int survey_start(struct world *w, struct err *err)
{
	static const struct request nothing;

	if (!w->asked)
		w->asked = &nothing;
	w->request = w->asked;
	w->nfailed_attempts = 0;
	for (size_t i = 0; i < w->asked->nvgpus && !w->libvirt; i++)
		if (w->mode == PLAN_MIGRATE || w->asked->vgpus[i].kind == REQUEST_PCI)
			w->libvirt = libvirt_files_libvirt(w->host);
	if (w->mode == PLAN_MIGRATE && change_frameworks(w, err) < 0)
		return -err->code;
	free(w->defined_parents);
	w->defined_parents = NULL;
	w->ndefined_parents = 0;
	for (size_t i = 0; i < w->request->nvgpus && !w->defined_parents; i++)
		if (w->request->vgpus[i].kind == REQUEST_MDEV)
			w->ndefined_parents = mdevctl_parents(&w->defined_parents, w->host);
	free(w->resolved_requests);
	w->resolved_requests = mem_new(w->request->nvgpus + 1, sizeof(*w->resolved_requests));
	for (size_t i = 0; i < w->request->nvgpus; i++) {
		const struct vgpu_request *req = &w->request->vgpus[i];

		if (survey_resolve(&w->resolved_requests[i], req, w, err) < 0)
			return -err->code;
		w->resolved_requests[i].nodes = nodes_of(req, w->request, w->host);
	}
	return 0;
}

bool survey_reads_all(const struct world *w)
{
	return w->wide || !w->request->nvgpus;
}

bool survey_reads_named(const struct world *w)
{
	return w->mode == PLAN_PREPARE && !survey_reads_all(w);
}

/* Adds each type once, because reading a type costs one read per pGPU. */
static void add_type(const char ***types, size_t *n, const char *type)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*types)[i], type) == 0)
			return;
	*(const char **)mem_add(types, n, sizeof(**types)) = type;
}

/* The types of the request and the leases, and all configured types if the pool must choose; the caller frees them. */
static const char **types_of(const struct world *w)
{
	const struct config *config = w->config;
	bool chooses = pool_matches_twice(config);
	const char **types = NULL;
	size_t n = 0;

	for (EACH(const struct resolved_request *, resolved, w->resolved_requests, w->request->nvgpus)) {
		chooses |= resolved->ntypes == 0;
		for (int t = 0; t < resolved->ntypes; t++)
			add_type(&types, &n, resolved->types[t]);
	}
	for (size_t i = 0; i < w->leases.n; i++)
		add_type(&types, &n, w->leases.list[i].vgpu.type);
	for (size_t i = 0; chooses && i < config->nsections; i++)
		add_type(&types, &n, config->sections[i].type);
	mem_add(&types, &n, sizeof(*types)); /* NULL ends the list */
	return types;
}

int survey_read_host(struct world *w, struct err *err)
{
	autofree char(*cards)[PCI_SIZE] = NULL;
	autofree const char **types = survey_reads_all(w) ? NULL : types_of(w);
	struct inv_query query = { .some = survey_reads_named(w),
				   .types = types,
				   .name = pool_name,
				   .arg = w->config,
				   /* Without a pool, read all GPUs that could be in a pool. */
				   .gpus = !w->config->nsections };

	inventory_free(&w->inv);
	/* Also read frameworks that the request cannot use, because a refusal names their cards. */
	if (survey_reads_all(w))
		query.frameworks = INV_ALL;
	for (size_t i = 0; i < w->request->nvgpus; i++)
		query.frameworks |= resolve_frameworks(&w->request->vgpus[i]);
	for (size_t i = 0; i < w->request->nvgpus && query.some; i++)
		if (w->request->vgpus[i].kind == REQUEST_PCI)
			inventory_group_cards(w->host, w->request->vgpus[i].id, &cards, &query.ncards);
	query.cards = cards;
	if (inventory_read(&w->inv, w->host, &query, err) < 0)
		return -err->code;
	pool_make(&w->inv, w->config);
	for (size_t i = 0; i < w->ndefined_parents; i++) {
		struct inv_parent *parent = inventory_parent(&w->inv, w->defined_parents[i]);

		if (parent)
			parent->facts.is_named = true;
	}
	return 0;
}
