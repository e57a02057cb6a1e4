/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the running domains, and which of their vGPUs are missing. */
#include "look/running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/hostdev_filter.h"

/*
 * True if the domain is not being started, migrated, saved or shut down. Only then does a device that is missing from
 * its XML count as detached. The words are libvirt's for virDomainState and virDomainPausedReason.
 */
static bool is_settled(const char *status)
{
	static const char *const pauses[] = { "user", "ioerror", "watchdog", "panicked", "from snapshot" };
	const char *root = strstr(status, "<domstatus ");
	char state[16] = "", reason[32] = "";

	if (!root || sscanf(root, "<domstatus state='%15[a-z]' reason='%31[a-z -]'", state, reason) < 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++)
		if (strcmp(state, "paused") == 0 && strcmp(reason, pauses[i]) == 0)
			return true;
	return strcmp(state, "running") == 0 || strcmp(state, "blocked") == 0 || strcmp(state, "pmsuspended") == 0;
}

/* Reduces the text of a status file to its <domain>, the domain's live XML. False: the file has no <domain>. */
static bool narrow(struct libvirt_file *status)
{
	static const char last[] = "</domain>";
	const char *xml = memmem(status->text, status->len, "<domain ", strlen("<domain ")), *end = NULL;
	const char *limit = status->text + status->len;

	for (const char *at = xml; at && (at = memmem(at, (size_t)(limit - at), last, strlen(last))); at = end)
		end = at + strlen(last);
	if (!end)
		return false;
	status->text = xml;
	status->len = (size_t)(end - xml);
	return true;
}

static void read_domain(struct running *running, const struct libvirt_file *status)
{
	static const struct request nothing;
	struct running_domain domain = { .live = *status, .settled = is_settled(status->text) };
	struct err ignored;
	const char *xml;
	size_t len;

	if (!narrow(&domain.live))
		return;
	xml = domain.live.text;
	len = domain.live.len;
	if (!domxml_peek_uuid(domain.uuid, xml, len))
		return;
	/* XML without an mdev or PCI hostdev is not parsed. Any PCI hostdev may be a vGPU. */
	if (!domxml_concerns(xml, len) && !domxml_has_pci(xml, len))
		domain.request = &nothing;
	else if (domxml_parse(&domain.doc, xml, len, DOMXML_ALL_PCI, &ignored) == 0)
		domain.request = domxml_request(domain.doc);
	if (memmem(xml, len, DOMXML_SUSPENDED_NS, strlen(DOMXML_SUSPENDED_NS)) &&
	    domxml_parse(&domain.suspended, xml, len, DOMXML_SUSPENDED, &ignored) == 0)
		domain.taken = domxml_request(domain.suspended);
	*(struct running_domain *)mem_add(&running->list, &running->n, sizeof(domain)) = domain;
}

void running_read(struct running *running, const struct libvirt_files *disk)
{
	*running = (struct running){ 0 };
	for (size_t i = 0; i < disk->n; i++)
		if (disk->list[i].runs)
			read_domain(running, &disk->list[i]);
}

void running_free(struct running *running)
{
	for (size_t i = 0; i < running->n; i++) {
		domxml_free(running->list[i].doc);
		domxml_free(running->list[i].suspended);
	}
	free(running->list);
	*running = (struct running){ 0 };
}

const struct running_domain *running_find(const struct running *running, const char *uuid)
{
	return running ? text_find(running->list, running->n, sizeof(*running->list), uuid) : NULL;
}

struct search {
	const struct libvirt_files *disk;
	const struct host *host;
	const struct config *config;
	const struct leases *leases;
	missing_say *say;
	void *arg;
	struct flavor {
		const char *of; /* the name of an instance that has a vGPU */
		char name[INSTANCE_SIZE];
	} *flavors;
	size_t nflavors;
};

static bool parse(struct domxml **doc, const struct libvirt_file *file, unsigned int flags)
{
	struct err ignored;

	return domxml_parse(doc, file->text, file->len, flags, &ignored) == 0;
}

static void say_missing(const struct search *s, const struct running_domain *domain, const struct request *wanted,
			size_t i)
{
	s->say(s->arg, &(struct missing_vgpu){ .name = domain->live.name,
					       .uuid = wanted->uuid,
					       .id = wanted->vgpus[i].id,
					       .nova = wanted->nova,
					       .suspended = wanted == domain->taken });
}

static bool has_all(const struct request *live, const struct request *wanted)
{
	for (size_t i = 0; i < wanted->nvgpus; i++)
		if (!request_find(live, wanted->vgpus[i].id))
			return false;
	return true;
}

static void look_at_wanted(const struct search *s, const struct running_domain *domain, struct domxml *definition)
{
	const struct request *wanted = domxml_request(definition), *has = domain->request;

	/* The filter reads the cards of all PCI hostdevs, so call it only if a vGPU is missing. */
	if (strcmp(wanted->uuid, domain->uuid) != 0 || has_all(has, wanted))
		return;
	hostdev_filter_keep(definition, s->host, s->config, s->leases);
	if (domain->doc)
		hostdev_filter_keep(domain->doc, s->host, s->config, s->leases);
	for (size_t i = 0, left = wanted->nvgpus; i < wanted->nvgpus && left > has->nvgpus; i++) {
		if (request_find(has, wanted->vgpus[i].id))
			continue;
		left--;
		if (!domain->taken || !request_find(domain->taken, wanted->vgpus[i].id))
			say_missing(s, domain, wanted, i);
	}
}

static void look_at(const struct search *s, const struct running_domain *domain, const struct libvirt_file *definition)
{
	autodomxml struct domxml *wanted = NULL;
	bool defined = definition &&
		       (domxml_concerns(definition->text, definition->len) ||
			(hostdev_filter_possible(s->config) && domxml_has_pci(definition->text, definition->len)));

	if (!domain->request)
		return;
	for (size_t i = 0; domain->taken && i < domain->taken->nvgpus; i++)
		if (!request_find(domain->request, domain->taken->vgpus[i].id))
			say_missing(s, domain, domain->taken, i);
	if (defined && parse(&wanted, definition, DOMXML_ALL_PCI))
		look_at_wanted(s, domain, wanted);
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

		if (!is_novas(&file) || !domxml_concerns(file.text, file.len) || (file.runs && !narrow(&file)) ||
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

/* Reports a Nova instance without a vGPU in its live XML and definition, if another instance of its flavor has one. */
static void look_at_flavor(const struct search *s, const struct running_domain *domain,
			   const struct libvirt_file *definition)
{
	autodomxml struct domxml *live = NULL, *defined = NULL;
	const char *like;

	if (!s->nflavors || !is_novas(&domain->live) || !parse(&live, &domain->live, 0) ||
	    domxml_request(live)->nvgpus ||
	    (definition && (!parse(&defined, definition, 0) || domxml_request(defined)->nvgpus)))
		return;
	like = find_like(s, domxml_request(live)->flavor);
	if (like)
		s->say(s->arg, &(struct missing_vgpu){
				       .name = domain->live.name, .uuid = domain->uuid, .like = like, .nova = true });
}

static const struct libvirt_file *find_definition(const struct libvirt_files *disk, const char *name)
{
	for (size_t i = 0; i < disk->n; i++)
		if (!disk->list[i].runs && strcmp(disk->list[i].name, name) == 0)
			return &disk->list[i];
	return NULL;
}

void running_missing(const struct libvirt_files *disk, const struct host *host, const struct config *config,
		     const struct leases *leases, missing_say *say, void *arg)
{
	struct search s = { .disk = disk, .host = host, .config = config, .leases = leases, .say = say, .arg = arg };
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
}
