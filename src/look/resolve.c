/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds which types a request can have. */
#include "look/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { MORE_SIZE = 48, LIBVIRT_CHANGES_FRAMEWORK = 11000000, NAMED = INV_MDEV | INV_VARIANT };

bool resolve_fits(const struct resolved_request *resolved, const char *type)
{
	return resolved->ntypes == 0 || text_find(resolved->types, (size_t)resolved->ntypes, TYPE_SIZE, type);
}

static void add_type(struct resolved_request *resolved, const char *type)
{
	if (resolved->ntypes < RESOLVED_TYPES_MAX && !(resolved->ntypes && resolve_fits(resolved, type)))
		text_copy(resolved->types[resolved->ntypes++], TYPE_SIZE, type);
}

unsigned int resolve_frameworks(const struct vgpu_request *req)
{
	return req->kind == REQUEST_MDEV ? INV_MDEV : INV_VARIANT | INV_VF;
}

static unsigned int unread(const struct world *world, unsigned int frameworks)
{
	return frameworks & NAMED & ~world->names_known;
}

enum known_by { BY_NAME, BY_ID };

/* Finds the next type that `word` names in these frameworks, from index *i; NULL: no more. */
static const struct inv_type *next_name(const struct world *world, unsigned int frameworks, const char *word,
					enum known_by by, size_t *i)
{
	for (; *i < world->nnames; (*i)++)
		if (frameworks & 1U << world->names[*i].framework &&
		    (by == BY_NAME ? type_is_named(world->names[*i].name, word)
				   : strcmp(world->names[*i].id, word) == 0))
			return &world->names[(*i)++];
	return NULL;
}

static void add_named(struct resolved_request *resolved, const struct world *world, const char *name)
{
	const struct inv_type *type;
	size_t i = 0;

	while ((type = next_name(world, resolve_frameworks(resolved->req), name, BY_NAME, &i)))
		add_type(resolved, type->id);
	text_copy(resolved->called, sizeof(resolved->called), resolved->ntypes ? name : "");
}

/* Describes what the source host reports about the vGPU; "": nothing. */
static void source_says(const struct vgpu_request *req, char *buf, size_t size)
{
	buf[0] = '\0';
	if (*req->facts.name || *req->facts.model)
		snprintf(buf, size, " (on the source: %s%s%s)", req->facts.name,
			 *req->facts.name && *req->facts.model ? " of " : "", req->facts.model);
}

static bool names_section(const struct section *section, const char *asked)
{
	return strcmp(section->type, asked) == 0 || strcmp(section->class, asked) == 0;
}

/* Does the requested type or class exist for the other kind of hostdev? */
static bool is_other_kind(const struct vgpu_request *req, const struct world *world)
{
	unsigned int others = INV_ALL & ~resolve_frameworks(req);
	const struct config *config = world->config;
	size_t by_name = 0, by_id = 0;

	for (size_t i = 0; i < config->nsections; i++)
		if (config->sections[i].vf && req->kind == REQUEST_MDEV &&
		    names_section(&config->sections[i], req->facts.type))
			return true;
	return next_name(world, others, req->facts.type, BY_NAME, &by_name) ||
	       next_name(world, others, req->facts.type, BY_ID, &by_id);
}

/* The type's section; NULL: none, or a [vf_NAME] section. */
static const struct section *enabled(const struct config *config, const char *type)
{
	const struct section *section = config_section(config, type);

	return section && !section->vf ? section : NULL;
}

/* Can a pGPU serve the type? With one type per pGPU, only the first section without addresses gets the other pGPUs. */
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

static void refuse_unknown(const struct vgpu_request *req, const struct world *world, char refusal[RESOLVE_REFUSAL])
{
	char list[512], source[256];
	const char *kind = "enabled";

	source_says(req, source, sizeof(source));
	if (is_other_kind(req, world)) {
		snprintf(refusal, RESOLVE_REFUSAL,
			 "'%s' is provided as %s here%s, but the hostdev is type='%s'; use type='%s'", req->facts.type,
			 req->kind == REQUEST_MDEV ? "VFs" : "mdevs", source,
			 req->kind == REQUEST_MDEV ? "mdev" : "pci", req->kind == REQUEST_MDEV ? "pci" : "mdev");
		return;
	}
	list_types(req, world, true, list, sizeof(list));
	if (!*list) {
		kind = "known";
		list_types(req, world, false, list, sizeof(list));
	}
	if (!*list)
		snprintf(list, sizeof(list), "(none: no pGPU here has types for a hostdev of type='%s')",
			 req->kind == REQUEST_MDEV ? "mdev" : "pci");
	snprintf(refusal, RESOLVE_REFUSAL, "unknown type '%s'%s; %s: %s", req->facts.type, source, kind, list);
}

/* Finds the type that the metadata names: by ID, by a name such as "GRID T4-16C", or by class. */
static unsigned int asked_type(struct resolved_request *resolved, const struct world *world,
			       char refusal[RESOLVE_REFUSAL])
{
	const struct vgpu_request *req = resolved->req;
	const struct config *config = world->config;
	unsigned int own = resolve_frameworks(req);
	size_t at = 0;

	resolved->source = TYPE_ASKED;
	resolved->ntypes = 0;
	for (size_t i = 0; i < config->nsections; i++)
		if (!(config->sections[i].vf && req->kind == REQUEST_MDEV) &&
		    names_section(&config->sections[i], req->facts.type))
			add_type(resolved, config->sections[i].type);
	if (resolved->ntypes || unread(world, own))
		return resolved->ntypes ? 0 : unread(world, own);
	add_named(resolved, world, req->facts.type);
	if (!resolved->ntypes && next_name(world, own, req->facts.type, BY_ID, &at))
		add_type(resolved, req->facts.type);
	/* If this host does not know the type's ID, use the name from the source. */
	if (!resolved->ntypes && *req->facts.name)
		add_named(resolved, world, req->facts.name);
	if (resolved->ntypes || unread(world, INV_ALL))
		return resolved->ntypes ? 0 : unread(world, INV_ALL);
	/* Without a configuration, do not refuse: `type` may be a class, and an existing device can be adopted. */
	if (!config_is_valid(config)) {
		resolved->source = TYPE_UNSAID;
		return 0;
	}
	refuse_unknown(req, world, refusal);
	return 0;
}

unsigned int resolve_types(struct resolved_request *resolved, const struct world *world, char refusal[RESOLVE_REFUSAL])
{
	refusal[0] = '\0';
	if (*resolved->req->facts.type)
		return asked_type(resolved, world, refusal);
	/* A remembered type that is no longer enabled cannot be created. */
	if (resolved->source == TYPE_REMEMBERED && !enabled(world->config, resolved->types[0])) {
		text_copy(resolved->was, sizeof(resolved->was), resolved->types[0]);
		resolved->source = TYPE_UNSAID;
		resolved->ntypes = 0;
	}
	return 0;
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

static bool may_change(const struct vgpu_request *req, const char *name, const char *type, const struct world *world,
		       char refusal[RESOLVE_REFUSAL])
{
	const char *was = req->kind == REQUEST_MDEV ? "an mdev" : "a VF",
		   *is = req->kind == REQUEST_MDEV ? "a VF" : "an mdev";
	int libvirt = world->libvirt;

	if (!world->config->policy.cross_framework)
		snprintf(
			refusal, RESOLVE_REFUSAL,
			"%s is %s on the source and %s here (%s); set cross_framework = yes to allow the change (libvirt 11.0 or later on both hosts)",
			name, was, is, type);
	else if (world->config->policy.migrate_keep)
		snprintf(refusal, RESOLVE_REFUSAL,
			 "%s is %s on the source and %s here (%s); migrate_uuid = keep does not allow the change", name,
			 was, is, type);
	else if (libvirt && libvirt < LIBVIRT_CHANGES_FRAMEWORK)
		snprintf(
			refusal, RESOLVE_REFUSAL,
			"%s is %s on the source and %s here (%s), which libvirt %d.%d.%d of this host cannot change; 11.0 or later is required",
			name, was, is, type, libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	return !*refusal;
}

unsigned int resolve_framework(struct vgpu_request *req, const struct world *world, char refusal[RESOLVE_REFUSAL])
{
	const char *name = *req->facts.name ? req->facts.name : req->facts.type;
	unsigned int own = resolve_frameworks(req), others = INV_ALL & ~own;
	const struct inv_type *type;
	size_t at = 0;

	refusal[0] = '\0';
	if (!*name || !config_is_valid(world->config))
		return 0;
	if (unread(world, own) || next_name(world, own, name, BY_NAME, &at))
		return unread(world, own);
	if (unread(world, others))
		return unread(world, others);
	at = 0;
	type = next_name(world, others, name, BY_NAME, &at);
	if (!type || !may_change(req, name, type->id, world, refusal))
		return 0;
	/* An ID from the source belongs to the old kind of hostdev, so request the type by name. */
	memmove(req->facts.type, name, strlen(name) + 1);
	req->managed = false;
	req->kind = req->kind == REQUEST_MDEV ? REQUEST_PCI : REQUEST_MDEV;
	req->any = true;
	return 0;
}
