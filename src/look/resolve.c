/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds which types a request can have. */
#include "look/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"

enum { MORE_SIZE = 48, LIBVIRT_CHANGES_FRAMEWORK = 11000000 };

static void add_type(struct resolved_request *resolved, const char *type)
{
	if (resolved->ntypes < RESOLVED_TYPES_MAX && !(resolved->ntypes && resolve_fits(resolved, type)))
		text_copy(resolved->types[resolved->ntypes++], TYPE_SIZE, type);
}

unsigned int resolve_frameworks(const struct vgpu_request *req)
{
	return req->kind == REQUEST_MDEV ? INV_MDEV : INV_VARIANT | INV_VF;
}

/* A driver of a framework that the request does not concern may not answer, so its names are read only at need. */
static int read_names(struct world *world, unsigned int frameworks, struct err *err)
{
	if (!(frameworks & ~world->names_known))
		return 0;
	free(world->names);
	world->names_known |= frameworks;
	return inventory_names(world->host, world->names_known, &world->names, &world->nnames, err);
}

/* Finds the next type with this name in these frameworks, from index *i; NULL: no more. `ids`: also by its ID. */
static const struct inv_type *next_type(const struct world *world, unsigned int frameworks, const char *word, bool ids,
					size_t *i)
{
	while (*i < world->nnames) {
		const struct inv_type *type = &world->names[(*i)++];

		if (frameworks & 1U << type->framework &&
		    (type_is_named(type->name, word) || (ids && strcmp(type->id, word) == 0)))
			return type;
	}
	return NULL;
}

static void add_named(struct resolved_request *resolved, const struct world *world, const char *word, bool ids)
{
	const struct inv_type *type;

	for (size_t i = 0; (type = next_type(world, resolve_frameworks(resolved->req), word, ids, &i));) {
		add_type(resolved, type->id);
		if (strcmp(type->id, word) != 0)
			text_copy(resolved->called, sizeof(resolved->called), word);
	}
}

static bool names_section(const struct section *section, const char *asked)
{
	return strcmp(section->type, asked) == 0 || strcmp(section->class, asked) == 0;
}

/* Does the requested type or class exist for the other kind of hostdev? */
static bool is_other_kind(const struct vgpu_request *req, const struct world *world)
{
	const struct config *config = world->config;
	size_t at = 0;

	for (size_t i = 0; i < config->nsections; i++)
		if (config->sections[i].vf && req->kind == REQUEST_MDEV &&
		    names_section(&config->sections[i], req->facts.type))
			return true;
	return next_type(world, INV_ALL & ~resolve_frameworks(req), req->facts.type, true, &at);
}

/* The type's section; NULL: none, or a [vf_NAME] section. */
static const struct section *enabled(const struct config *config, const char *type)
{
	const struct section *section = config_section(config, type);

	return section && !section->vf ? section : NULL;
}

/* Can a pGPU serve the type? With one type per pGPU, of sections without addresses and matches only the first can. */
static bool is_served(const struct config *config, const char *type)
{
	const struct section *section = enabled(config, type), *first;

	if (!section || !config_takes_rest(section) || config->policy.several_types)
		return section;
	for (first = config->sections; !config_takes_rest(first);)
		first++;
	return first == section;
}

/* Does the word begin like a type ID of this host? If not, the user means a name, so the refusal lists names. */
static bool is_id(const struct world *world, const char *word)
{
	for (size_t i = 0; i < world->nnames; i++) {
		const char *id = world->names[i].id, *dash = strchr(id, '-');

		if (dash && strncmp(word, id, (size_t)(dash - id) + 1) == 0)
			return true;
	}
	return false;
}

/* Lists the types that a hostdev of this kind can get here; "": none. `enabled`: only types that a pGPU can serve. */
static void list_types(const struct vgpu_request *req, const struct world *world, bool enabled, char *list, size_t size)
{
	bool names = !is_id(world, req->facts.type);
	const char *last = "";
	int left = 0;

	list[0] = '\0';
	for (EACH(const struct inv_type *, type, world->names, world->nnames)) {
		bool named = names && *type->name && strcmp(type->name, type->id) != 0;

		if (!(resolve_frameworks(req) & 1U << type->framework) || strcmp(type->id, last) == 0 ||
		    (enabled && !is_served(world->config, type->id)))
			continue;
		last = type->id;
		if (strlen(list) + TYPE_SIZE + (named ? strlen(type->name) : 0) + MORE_SIZE >= size)
			left++;
		else
			text_add(list, size, "%s%s%s%s%s", *list ? ", " : "", type->id, named ? " (" : "",
				 named ? type->name : "", named ? ")" : "");
	}
	if (left)
		text_add(list, size, " and %d more", left);
	if (*list)
		text_add(list, size, "; see 'vgpu-lease types'");
}

static int refuse_unknown(const struct vgpu_request *req, const struct world *world, struct err *err)
{
	char list[512], source[256] = "";
	const char *kind = "enabled";

	if (*req->facts.name || *req->facts.model)
		snprintf(source, sizeof(source), " (on the source: %s%s%s)", req->facts.name,
			 *req->facts.name && *req->facts.model ? " of " : "", req->facts.model);
	if (is_other_kind(req, world))
		return err_set(err, ENOENT,
			       "vGPU %s: '%s' is provided as %s here%s, but the hostdev is type='%s'; use type='%s'",
			       req->id, req->facts.type, req->kind == REQUEST_MDEV ? "VFs" : "mdevs", source,
			       req->kind == REQUEST_MDEV ? "mdev" : "pci", req->kind == REQUEST_MDEV ? "pci" : "mdev");
	list_types(req, world, true, list, sizeof(list));
	if (!*list) {
		kind = "known";
		list_types(req, world, false, list, sizeof(list));
	}
	if (!*list)
		snprintf(list, sizeof(list), "(none: no pGPU here has types for a hostdev of type='%s')",
			 req->kind == REQUEST_MDEV ? "mdev" : "pci");
	return err_set(err, ENOENT, "vGPU %s: unknown type '%s'%s; %s: %s", req->id, req->facts.type, source, kind,
		       list);
}

/* Finds the type that the metadata names: by ID, by a name such as "GRID T4-16C", or by class. */
static int asked_type(struct resolved_request *resolved, struct world *world, struct err *err)
{
	const struct vgpu_request *req = resolved->req;
	const struct config *config = world->config;

	resolved->source = TYPE_ASKED;
	resolved->ntypes = 0;
	for (size_t i = 0; i < config->nsections; i++)
		if (!(config->sections[i].vf && req->kind == REQUEST_MDEV) &&
		    names_section(&config->sections[i], req->facts.type))
			add_type(resolved, config->sections[i].type);
	if (resolved->ntypes)
		return 0;
	if (read_names(world, resolve_frameworks(req), err) < 0)
		return -err->code;
	add_named(resolved, world, req->facts.type, true);
	/* If this host does not know the type's ID, use the name from the source. */
	if (!resolved->ntypes && *req->facts.name)
		add_named(resolved, world, req->facts.name, false);
	if (resolved->ntypes)
		return 0;
	if (read_names(world, INV_ALL, err) < 0)
		return -err->code;
	/* Without a valid configuration, the word may be a class. Do not refuse: an existing device can be adopted. */
	if (!config_is_valid(config)) {
		resolved->source = TYPE_UNSAID;
		return 0;
	}
	return refuse_unknown(req, world, err);
}

void resolve_reserved(struct resolved_request *resolved, const struct lease *reservation)
{
	const char *type = memcpy(resolved->reserved, reservation->vgpu.type, TYPE_SIZE);

	if (!resolved->ntypes || resolved->source == TYPE_REMEMBERED) {
		resolved->ntypes = 1;
		resolved->source = TYPE_RESERVED;
		memcpy(resolved->types[0], type, TYPE_SIZE);
	}
	for (int t = resolved->ntypes; t-- > 1;)
		if (strcmp(resolved->types[t], type) == 0) {
			memmove(resolved->types[1], resolved->types[0], (size_t)t * TYPE_SIZE);
			memcpy(resolved->types[0], type, TYPE_SIZE);
		}
}

static int check_change(const struct vgpu_request *req, const char *name, const char *type, const struct world *world,
			struct err *err)
{
	const char *was = req->kind == REQUEST_MDEV ? "an mdev" : "a VF",
		   *is = req->kind == REQUEST_MDEV ? "a VF" : "an mdev";
	int libvirt = world->libvirt;
	char why[128];

	if (!world->config->policy.cross_framework)
		snprintf(why, sizeof(why),
			 "; set cross_framework = yes to allow the change (libvirt 11.0 or later on both hosts)");
	else if (world->config->policy.migrate_keep)
		snprintf(why, sizeof(why), "; migrate_uuid = keep does not allow the change");
	else if (libvirt && libvirt < LIBVIRT_CHANGES_FRAMEWORK)
		snprintf(why, sizeof(why),
			 ", which libvirt %d.%d.%d of this host cannot change; 11.0 or later is required",
			 libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	else
		return 0;
	return err_set(err, EPERM, "vGPU %s: %s is %s on the source and %s here (%s)%s", req->id, name, was, is, type,
		       why);
}

int resolve_framework(struct vgpu_request *req, struct world *world, struct err *err)
{
	const char *name = *req->facts.name ? req->facts.name : req->facts.type;
	unsigned int own = resolve_frameworks(req);
	const struct inv_type *type;
	size_t at = 0;

	if (!*name || !config_is_valid(world->config))
		return 0;
	if (read_names(world, own, err) < 0)
		return -err->code;
	if (next_type(world, own, name, false, &at))
		return 0;
	if (read_names(world, INV_ALL, err) < 0)
		return -err->code;
	at = 0;
	type = next_type(world, INV_ALL & ~own, name, false, &at);
	if (!type)
		return 0;
	if (check_change(req, name, type->id, world, err) < 0)
		return -err->code;
	/* An ID from the source belongs to the old kind of hostdev, so request the type by name. */
	memmove(req->facts.type, name, strlen(name) + 1);
	req->managed = false;
	req->kind = req->kind == REQUEST_MDEV ? REQUEST_PCI : REQUEST_MDEV;
	req->any = true;
	return 0;
}

/* Sets `was` and `was_card` if another card had the VF when this domain last leased it. */
static void recall_vf(struct resolved_request *resolved, const struct world *w)
{
	char card[PCI_SIZE], now[INV_IDENTITY_SIZE];
	const char *id = resolved->req->id;
	struct affinity last;

	if (w->mode != PLAN_PREPARE || !affinity_get(w->store, id, &last) || !*last.card ||
	    strcmp(last.domain, w->request->uuid) != 0 || !inventory_physfn(w->host, id, card) ||
	    !card_record_now(now, w->host, card) || strcmp(now, last.card) == 0)
		return;
	text_copy(resolved->was, sizeof(resolved->was), last.type);
	text_copy(resolved->was_card, sizeof(resolved->was_card), last.card);
}

/* Takes an mdev's type and parent from its mdevctl definition or, without one, from the record of its last lease. */
static int recall(struct resolved_request *resolved, const struct world *w, struct err *err)
{
	const struct vgpu_request *req = resolved->req;
	const struct vgpu_ref vgpu = kernel_vgpu(req->id);
	struct definition definition;
	struct affinity last;
	int defined;

	if (req->kind == REQUEST_PCI)
		recall_vf(resolved, w);
	if (req->any || req->kind != REQUEST_MDEV)
		return 0;
	defined = mdevctl_definition(&definition, w->host, req->id, err);
	/* A start does not need the definition of a vGPU that exists. */
	if (defined < 0 && (w->mode != PLAN_PREPARE || kernel_exists(w->host, &vgpu) != 1))
		return defined;
	resolved->defined = defined;
	if (defined != 1 && !affinity_get(w->store, req->id, &last))
		return 0;
	text_copy(resolved->last_parent, PARENT_SIZE, defined == 1 ? definition.parent : last.parent);
	/* A type that is not enabled any more cannot be created. */
	if (defined != 1 && !enabled(w->config, last.type)) {
		text_copy(resolved->was, sizeof(resolved->was), last.type);
		return 0;
	}
	resolved->source = defined == 1 ? TYPE_DEFINED : TYPE_REMEMBERED;
	resolved->ntypes = text_copy(resolved->types[0], TYPE_SIZE, defined == 1 ? definition.type : last.type);
	return 0;
}

int resolve_vgpu(struct resolved_request *resolved, const struct vgpu_request *req, struct world *w, struct err *err)
{
	struct lease lease;

	*resolved = (struct resolved_request){ .req = req };
	uuid_random(resolved->fresh);
	if (recall(resolved, w, err) < 0 || (*req->facts.type && asked_type(resolved, w, err) < 0))
		return -err->code;
	/* An unreadable lease is ignored here, because survey_read() reports it. */
	if (w->mode == PLAN_PREPARE && lease_get(w->store, req->id, &lease, err) == 1 &&
	    lease.state == LEASE_RESERVED && strcmp(lease.domain, w->request->uuid) == 0 &&
	    !lease_is_void(&lease, false, false, sys_now_ms()))
		resolve_reserved(resolved, &lease);
	return 0;
}

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

/* Copies the request, and gives each vGPU a framework of this host. */
static int change_frameworks(struct world *w, struct err *err)
{
	free(w->changed.vgpus);
	w->changed = *w->asked;
	w->changed.vgpus = mem_new(w->asked->nvgpus + 1, sizeof(*w->changed.vgpus));
	w->request = &w->changed;
	for (size_t i = 0; i < w->asked->nvgpus; i++) {
		w->changed.vgpus[i] = w->asked->vgpus[i];
		if (resolve_framework(&w->changed.vgpus[i], w, err) < 0)
			return -err->code;
	}
	return 0;
}

int resolve_request(struct world *w, struct err *err)
{
	static const struct request nothing;

	if (!w->asked)
		w->asked = &nothing;
	w->request = w->asked;
	w->nfailed_attempts = 0;
	if (w->asked->nvgpus && !w->libvirt)
		w->libvirt = libvirt_files_libvirt(w->host);
	if (w->mode == PLAN_MIGRATE && change_frameworks(w, err) < 0)
		return -err->code;
	free(w->resolved_requests);
	w->resolved_requests = mem_new(w->request->nvgpus + 1, sizeof(*w->resolved_requests));
	for (size_t i = 0; i < w->request->nvgpus; i++) {
		const struct vgpu_request *req = &w->request->vgpus[i];

		if (resolve_vgpu(&w->resolved_requests[i], req, w, err) < 0)
			return -err->code;
		w->resolved_requests[i].nodes = nodes_of(req, w->request, w->host);
	}
	return 0;
}
