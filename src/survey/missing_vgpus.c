/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Domains that run without one of their vGPUs. */
#include "survey/missing_vgpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "domain/domxml.h"
#include "survey/hostdev_filter.h"

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

/* Narrows the text of a status file to its <domain> element; false: there is none. */
static bool find_domain(struct libvirt_file *file)
{
	static const char end[] = "</domain>";
	const char *start = memmem(file->text, file->len, "<domain ", strlen("<domain ")), *last = NULL, *at = start;
	const char *limit = file->text + file->len;

	while (at && (at = memmem(at, (size_t)(limit - at), end, sizeof(end) - 1)))
		last = at += sizeof(end) - 1;
	if (!last)
		return false;
	file->text = start;
	file->len = (size_t)(last - start);
	return true;
}

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

/* Adds vGPUs of the definition that are missing in the running domain, at most the difference of their numbers. */
static void add_missing(struct search *s, const char *name, struct domxml *definition, struct domxml *live,
			const struct request *record)
{
	const struct request *wanted = domxml_request(definition), *has = domxml_request(live);

	/* The filter costs a look at the cards of all PCI devices, so it runs only if something is missing. */
	if (strcmp(wanted->uuid, has->uuid) != 0 || !missing_of(wanted, has))
		return;
	hostdev_filter_keep(definition, s->host, s->config, s->leases);
	hostdev_filter_keep(live, s->host, s->config, s->leases);
	for (size_t i = 0, left = wanted->nvgpus; i < wanted->nvgpus && left > has->nvgpus; i++) {
		if (request_find(has, wanted->vgpus[i].id))
			continue;
		left--;
		if (!record || !request_find(record, wanted->vgpus[i].id))
			add(s, name, wanted, i, false);
	}
}

static void look_at(struct search *s, struct libvirt_file *status, const struct libvirt_file *definition)
{
	autodomxml struct domxml *live = NULL, *wanted = NULL, *record = NULL;
	bool recorded = memmem(status->text, status->len, DOMXML_SUSPENDED_NS, strlen(DOMXML_SUSPENDED_NS));
	bool defined = definition && (domxml_concerns(definition->text, definition->len) ||
				      (s->config && hostdev_filter_possible(s->config) &&
				       domxml_has_pci(definition->text, definition->len)));

	if ((!recorded && !defined) || !find_domain(status) || !parse(&live, status, DOMXML_ALL_PCI))
		return;
	if (recorded && parse(&record, status, DOMXML_SUSPENDED))
		for (size_t i = 0; i < domxml_request(record)->nvgpus; i++)
			if (!request_find(domxml_request(live), domxml_request(record)->vgpus[i].id))
				add(s, status->name, domxml_request(record), i, true);
	if (defined && parse(&wanted, definition, DOMXML_ALL_PCI))
		add_missing(s, status->name, wanted, live, record ? domxml_request(record) : NULL);
}

static bool is_novas(const struct libvirt_file *file)
{
	return file->text && memmem(file->text, file->len, DOMXML_NOVA_NS_PREFIX, strlen(DOMXML_NOVA_NS_PREFIX));
}

static void find_flavors(struct search *s)
{
	struct libvirt_file file;

	for (size_t i = 0; libvirt_files_at(s->disk, i, &file); i++) {
		autodomxml struct domxml *doc = NULL;
		struct flavor *flavor;

		if (!is_novas(&file) || !domxml_concerns(file.text, file.len) || (file.runs && !find_domain(&file)) ||
		    !parse(&doc, &file, 0) || !domxml_request(doc)->nvgpus)
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
static void look_at_flavor(struct search *s, struct libvirt_file *status, const struct libvirt_file *definition)
{
	autodomxml struct domxml *live = NULL, *defined = NULL;
	struct missing_vgpu *missing;
	const char *like;

	if (!s->nflavors || !is_novas(status) || !find_domain(status) || !parse(&live, status, 0) ||
	    domxml_request(live)->nvgpus ||
	    (definition && (!parse(&defined, definition, 0) || domxml_request(defined)->nvgpus)))
		return;
	like = find_like(s, domxml_request(live)->flavor);
	if (!like)
		return;
	missing = mem_add(&s->list, &s->n, sizeof(*missing));
	*missing = (struct missing_vgpu){ .nova = true };
	snprintf(missing->name, sizeof(missing->name), "%s", status->name);
	snprintf(missing->like, sizeof(missing->like), "%s", like);
}

void missing_vgpus(struct missing_vgpu **out, size_t *n, const struct libvirt_files *disk, const struct host *host,
		   const struct config *config, const struct leases *leases)
{
	struct search s = { .disk = disk, .host = host, .config = config, .leases = leases };
	struct libvirt_file status, other;

	find_flavors(&s);
	for (size_t i = 0; libvirt_files_at(disk, i, &status); i++) {
		bool defined = false;

		for (size_t j = 0; status.runs && !defined && libvirt_files_at(disk, j, &other); j++)
			defined = !other.runs && other.text && strcmp(other.name, status.name) == 0;
		if (status.runs && status.text) {
			struct libvirt_file again = status;

			look_at(&s, &status, defined ? &other : NULL);
			look_at_flavor(&s, &again, defined ? &other : NULL);
		}
	}
	free(s.flavors);
	*out = s.list;
	*n = s.n;
}
