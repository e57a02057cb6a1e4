/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Domains that run without one of their vGPUs. */
#include "survey/missing_vgpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "domain/domxml.h"
#include "survey/hostdev_filter.h"
#include "survey/running.h"

struct search {
	const struct libvirt_files *disk;
	const struct host *host;
	const struct config *config;
	const struct leases *leases;
	struct missing_vgpu *list;
	size_t n;
	struct flavor {
		const char *of; /* the instance */
		char name[INSTANCE_SIZE];
	} *flavors;
	size_t nflavors;
};

static bool parse(struct domxml **doc, const struct libvirt_file *file, unsigned int flags)
{
	struct err ignored;

	return domxml_parse(doc, file->text, file->len, flags, &ignored) == 0;
}

static void add(struct search *s, const char *name, const struct request *wanted, size_t i, bool suspended)
{
	struct missing_vgpu *missing = mem_add(&s->list, &s->n, sizeof(*missing));

	*missing = (struct missing_vgpu){ .nova = wanted->nova, .suspended = suspended };
	snprintf(missing->name, sizeof(missing->name), "%s", name);
	text_copy(missing->uuid, sizeof(missing->uuid), wanted->uuid);
	text_copy(missing->id, sizeof(missing->id), wanted->vgpus[i].id);
}

static size_t missing_of(const struct request *wanted, const struct request *live)
{
	size_t n = 0;

	for (size_t i = 0; i < wanted->nvgpus; i++)
		n += !request_find(live, wanted->vgpus[i].id);
	return n;
}

/* Adds the definition's vGPUs that the running domain does not have, until both have the same number of vGPUs. */
static void add_missing(struct search *s, const struct running_domain *domain, struct domxml *definition)
{
	const struct request *wanted = domxml_request(definition), *has = domain->request;

	/* The filter costs a look at the cards of all PCI devices, so it runs only if something is missing. */
	if (strcmp(wanted->uuid, domain->uuid) != 0 || !missing_of(wanted, has))
		return;
	hostdev_filter_keep(definition, s->host, s->config, s->leases);
	if (domain->doc)
		hostdev_filter_keep(domain->doc, s->host, s->config, s->leases);
	for (size_t i = 0, left = wanted->nvgpus; i < wanted->nvgpus && left > has->nvgpus; i++) {
		if (request_find(has, wanted->vgpus[i].id))
			continue;
		left--;
		if (!domain->taken || !request_find(domain->taken, wanted->vgpus[i].id))
			add(s, domain->live.name, wanted, i, false);
	}
}

static void look_at(struct search *s, const struct running_domain *domain, const struct libvirt_file *definition)
{
	autodomxml struct domxml *wanted = NULL;
	bool defined = definition && (domxml_concerns(definition->text, definition->len) ||
				      (s->config && hostdev_filter_possible(s->config) &&
				       domxml_has_pci(definition->text, definition->len)));

	if (!domain->request)
		return;
	for (size_t i = 0; domain->taken && i < domain->taken->nvgpus; i++)
		if (!request_find(domain->request, domain->taken->vgpus[i].id))
			add(s, domain->live.name, domain->taken, i, true);
	if (defined && parse(&wanted, definition, DOMXML_ALL_PCI))
		add_missing(s, domain, wanted);
}

static bool is_novas(const struct libvirt_file *file)
{
	return memmem(file->text, file->len, DOMXML_NOVA_NS_PREFIX, strlen(DOMXML_NOVA_NS_PREFIX));
}

static void find_flavors(struct search *s)
{
	for (size_t i = 0; i < s->disk->n; i++) {
		struct libvirt_file file = s->disk->list[i];
		autodomxml struct domxml *doc = NULL;
		struct flavor *flavor;

		if (!is_novas(&file) || !domxml_concerns(file.text, file.len) ||
		    (file.runs && !running_narrow(&file)) || !parse(&doc, &file, 0) || !domxml_request(doc)->nvgpus)
			continue;
		flavor = mem_add(&s->flavors, &s->nflavors, sizeof(*flavor));
		flavor->of = file.name;
		memcpy(flavor->name, domxml_request(doc)->flavor, sizeof(flavor->name));
	}
}

static const char *find_like(const struct search *s, const char *name)
{
	for (size_t i = 0; *name && i < s->nflavors; i++)
		if (strcmp(s->flavors[i].name, name) == 0)
			return s->flavors[i].of;
	return NULL;
}

/* Adds an instance if its status and definition have no vGPU, but another instance of its flavor has one. */
static void look_at_flavor(struct search *s, const struct running_domain *domain, const struct libvirt_file *definition)
{
	autodomxml struct domxml *live = NULL, *defined = NULL;
	struct missing_vgpu *missing;
	const char *like;

	if (!s->nflavors || !is_novas(&domain->live) || !parse(&live, &domain->live, 0) ||
	    domxml_request(live)->nvgpus ||
	    (definition && (!parse(&defined, definition, 0) || domxml_request(defined)->nvgpus)))
		return;
	like = find_like(s, domxml_request(live)->flavor);
	if (!like)
		return;
	missing = mem_add(&s->list, &s->n, sizeof(*missing));
	*missing = (struct missing_vgpu){ .nova = true };
	snprintf(missing->name, sizeof(missing->name), "%s", domain->live.name);
	snprintf(missing->like, sizeof(missing->like), "%s", like);
}

static const struct libvirt_file *find_definition(const struct libvirt_files *disk, const char *name)
{
	for (size_t i = 0; i < disk->n; i++)
		if (!disk->list[i].runs && strcmp(disk->list[i].name, name) == 0)
			return &disk->list[i];
	return NULL;
}

void missing_vgpus(struct missing_vgpu **out, size_t *n, const struct libvirt_files *disk, const struct host *host,
		   const struct config *config, const struct leases *leases)
{
	struct search s = { .disk = disk, .host = host, .config = config, .leases = leases };
	struct running running;

	find_flavors(&s);
	running_read(&running, disk);
	for (EACH(const struct running_domain *, domain, running.list, running.n)) {
		const struct libvirt_file *definition = find_definition(disk, domain->live.name);

		look_at(&s, domain, definition);
		look_at_flavor(&s, domain, definition);
	}
	running_free(&running);
	free(s.flavors);
	*out = s.list;
	*n = s.n;
}
