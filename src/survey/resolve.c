/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a domain wishes, told from all that is known. */
#include "survey/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "host/libvirt_files.h"
#include "base/text.h"
#include "host/mdevctl_files.h"
#include "state/history.h"

static void add_type(struct resolved_request *resolved, const char *type)
{
	for (int i = 0; i < resolved->ntypes; i++)
		if (strcmp(resolved->types[i], type) == 0)
			return;
	if (resolved->ntypes < RESOLVED_TYPES_MAX)
		text_copy(resolved->types[resolved->ntypes++], TYPE_SIZE, type);
}

unsigned int resolve_frameworks(const struct vgpu_request *req)
{
	return req->kind == REQUEST_MDEV ? INV_MDEV : INV_VARIANT | INV_VF;
}

static bool is_in(char **list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

/* What the host that the domain comes from says of the vGPU; "" nothing. */
static void source_says(const struct vgpu_request *req, char *buf, size_t size)
{
	buf[0] = '\0';
	if (*req->facts.name || *req->facts.model)
		snprintf(buf, size, " (on the source it is %s%s%s)", req->facts.name,
			 *req->facts.name && *req->facts.model ? " of " : "", req->facts.model);
}

/* Has the other kind of hostdev a type or class of this name, by the configuration or by a card? */
static bool is_other_kind(const struct vgpu_request *req, const struct config *config, const struct host *host)
{
	unsigned int others = INV_ALL & ~resolve_frameworks(req);
	autofree char **known = NULL, **named = NULL;
	struct err ignored;

	for (size_t i = 0; config && i < config->nsections; i++)
		if (config->sections[i].vf && req->kind == REQUEST_MDEV &&
		    (strcmp(config->sections[i].type, req->facts.type) == 0 ||
		     strcmp(config->sections[i].class, req->facts.type) == 0))
			return true;
	if (inventory_types_named(host, others, req->facts.type, &named, &ignored) == 0 && named)
		return true;
	return inventory_type_ids(host, others, &known, &ignored) == 0 && is_in(known, req->facts.type);
}

static int unknown_type(const struct vgpu_request *req, const struct config *config, const struct host *host,
			struct err *err)
{
	autofree char **known = NULL;
	char list[320] = "", source[256], more[64] = "";
	size_t n = 0;
	int left = 0;

	source_says(req, source, sizeof(source));
	if (is_other_kind(req, config, host))
		return err_set(
			err, ENOENT,
			"vGPU %s: '%s' is made as %s here%s, and its <hostdev> is of type %s: use one of type %s",
			req->id, req->facts.type, req->kind == REQUEST_MDEV ? "VFs" : "mdevs", source,
			req->kind == REQUEST_MDEV ? "mdev" : "pci", req->kind == REQUEST_MDEV ? "pci" : "mdev");
	if (inventory_type_ids(host, resolve_frameworks(req), &known, err) < 0)
		return -err->code;
	for (char **id = known; id && *id; id++) {
		if (n + strlen(*id) + 3 >= sizeof(list))
			left++;
		else
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", *id);
	}
	if (left)
		snprintf(more, sizeof(more), " and %d more: see 'vgpu-lease types'", left);
	return err_set(err, ENOENT, "vGPU %s: no type is called '%s' here%s; known: %s%s", req->id, req->facts.type, source,
		       n ? list : "(none: this host has no pGPU)", more);
}

static int add_named(struct resolved_request *resolved, const struct host *host, const char *name, struct err *err)
{
	autofree char **named = NULL;
	int r = inventory_types_named(host, resolve_frameworks(resolved->req), name, &named, err);

	for (char **t = named; r == 0 && t && *t; t++)
		add_type(resolved, *t);
	return r;
}

/* What the metadata calls it: an id, a name such as "GRID T4-16C", or a class. */
static int asked_type(struct resolved_request *resolved, const struct config *config, const struct host *host,
		      struct err *err)
{
	const char *asked = resolved->req->facts.type;
	autofree char **known = NULL;
	char id[TYPE_SIZE];
	int r;

	resolved->source = TYPE_ASKED;
	for (size_t i = 0; config && i < config->nsections; i++) {
		const struct section *s = &config->sections[i];

		if (!s->enabled || (s->vf && resolved->req->kind == REQUEST_MDEV))
			continue;
		if (strcmp(s->type, asked) == 0 || strcmp(s->class, asked) == 0)
			add_type(resolved, s->type);
	}
	if (resolved->ntypes)
		return 0;
	r = add_named(resolved, host, asked, err);
	if (r < 0 || resolved->ntypes)
		return r;
	r = inventory_type_ids(host, resolve_frameworks(resolved->req), &known, err);
	if (r < 0)
		return r;
	if (type_parse(id, asked) && is_in(known, id)) {
		add_type(resolved, id);
		return 0;
	}
	/* An id that only the source knows: its name says what it is here. */
	if (*resolved->req->facts.name)
		r = add_named(resolved, host, resolved->req->facts.name, err);
	if (r == 0 && !resolved->ntypes)
		r = unknown_type(resolved->req, config, host, err);
	return r;
}

/* A type that was remembered, and is none of the pool's any more, is of no use; without a pool nobody asks. */
static bool is_enabled(const struct config *config, const char *type)
{
	const struct section *section = config ? config_section(config, type) : NULL;

	return section && section->enabled && !section->vf;
}

static int find_type(struct resolved_request *resolved, const struct config *config, const struct host *host,
		     const struct store *store, struct err *err)
{
	struct definition definition;
	struct affinity affinity;
	int defined = 0;

	if (!resolved->req->any && resolved->req->kind == REQUEST_MDEV) {
		defined = mdevctl_definition(&definition, host, resolved->req->id, err);
		if (defined < 0)
			return defined;
		if (defined)
			text_copy(resolved->last_parent, PARENT_SIZE, definition.parent);
		else if (affinity_get(store, resolved->req->id, &affinity))
			text_copy(resolved->last_parent, PARENT_SIZE, affinity.parent);
	}
	if (*resolved->req->facts.type)
		return asked_type(resolved, config, host, err);
	/* What the pool or a VF's card serves is the plan's to tell. */
	if (defined) {
		add_type(resolved, definition.type);
		resolved->source = TYPE_DEFINED;
	} else if (*resolved->last_parent && is_enabled(config, affinity.type)) {
		add_type(resolved, affinity.type);
		resolved->source = TYPE_REMEMBERED;
	}
	return 0;
}

static uint64_t wished_nodes(const struct vgpu_request *req, const struct request *request, const struct host *host)
{
	if (req->numa == NUMA_NONE)
		return 0;
	if (req->numa == NUMA_NODE)
		return req->numa_node < 64 ? UINT64_C(1) << req->numa_node : 0;
	if (request->memory_nodes)
		return request->memory_nodes;
	return request->cpus ? inventory_cpu_nodes(host, request->cpus) : 0;
}

int resolve_make(struct resolved_request **out, const struct request *request, const struct config *config,
		 const struct host *host, const struct store *store, struct err *err)
{
	autofree struct resolved_request *resolved_requests = calloc(request->nvgpus + 1, sizeof(*resolved_requests));
	int r;

	if (!resolved_requests)
		abort();
	for (size_t i = 0; i < request->nvgpus; i++) {
		struct resolved_request *resolved = &resolved_requests[i];

		resolved->req = &request->vgpus[i];
		uuid_random(resolved->fresh);
		resolved->nodes = wished_nodes(resolved->req, request, host);
		r = find_type(resolved, config, host, store, err);
		if (r < 0)
			return r;
	}
	*out = steal_ptr(&resolved_requests);
	return 0;
}

const char **resolve_types(const struct resolved_request *resolved_requests, size_t n, const struct leases *leases,
			   const struct config *config)
{
	size_t nsections = config ? config->nsections : 0;
	size_t most = n * RESOLVED_TYPES_MAX + leases->n + nsections + 1, k = 0;
	const char **types = calloc(most, sizeof(*types) + TYPE_SIZE);
	char *text = (char *)(types + most);

	if (!types)
		abort();
	for (size_t i = 0; i < n; i++)
		for (int t = 0; t < resolved_requests[i].ntypes; t++)
			types[k++] = resolved_requests[i].types[t];
	for (size_t i = 0; i < leases->n; i++)
		types[k++] = leases->list[i].vgpu.type;
	for (size_t i = 0; i < nsections; i++)
		if (config->sections[i].enabled)
			types[k++] = config->sections[i].type;
	/* Each once: a type costs a read per pGPU. */
	for (size_t i = 0; i < k; i++)
		for (size_t j = i + 1; j < k; j++)
			while (j < k && strcmp(types[i], types[j]) == 0)
				types[j] = types[--k];
	types[k] = NULL;
	for (size_t i = 0; i < k; i++)
		types[i] = strcpy(text + i * TYPE_SIZE, types[i]);
	return types;
}
