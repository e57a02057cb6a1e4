/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that running domains have the vGPUs of their definitions and suspend records. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "domain/domxml.h"
#include "internal.h"
#include "look/hostdev_filter.h"
#include "look/libvirt_files.h"
#include "look/running.h"

/* A domain whose definition or live XML has a vGPU; without Nova, `flavor` is "". */
struct flavored {
	char flavor[INSTANCE_SIZE];
	const char *instance;
};

/* `wanted`: the request of the definition or of the suspend record. */
static void report_missing(struct check *check, const struct running_domain *domain, const struct request *wanted,
			   const char *id)
{
	const char *name = domain->live.name, *fix = "the next start adds it; ignore this if it is intended";
	bool suspended = wanted == domain->taken;

	if (suspended)
		fix = check_fix(check, "run 'vgpu-lease resume %s' to attach it", text_operand(name, wanted->uuid));
	else if (wanted->nova)
		fix = "hard-reboot the instance";
	/* Without Nova this is only a warning: an operator may have defined the vGPU for the next start. */
	check_report(check, wanted->nova || suspended ? CHECK_FAIL : CHECK_WARN, fix,
		     "domain %s runs without vGPU %s, which %s", name, id,
		     suspended ? "a suspend detached" : "its definition has");
}

/* A migration can change the UUIDs of vGPUs, so a domain with as many vGPUs as its definition misses none. */
static void look_at_vgpus(struct check *check, const struct running_domain *domain,
			  const struct libvirt_file *definition)
{
	const struct request *has = domain->request, *taken = domain->taken, *wanted;
	const struct leases *leases = &check->world->leases;
	autodomxml struct domxml *defined = NULL;
	bool complete = true;
	struct err ignored;

	for (size_t i = 0; has && taken && i < taken->nvgpus; i++)
		if (!request_find(has, taken->vgpus[i].id))
			report_missing(check, domain, taken, taken->vgpus[i].id);
	if (!has || !definition ||
	    (!domxml_concerns(definition->text, definition->len) &&
	     !(hostdev_filter_possible(check->config) && domxml_has_pci(definition->text, definition->len))) ||
	    domxml_parse(&defined, definition->text, definition->len, DOMXML_ALL_PCI, &ignored) < 0)
		return;
	wanted = domxml_request(defined);
	for (size_t i = 0; i < wanted->nvgpus; i++)
		complete &= request_find(has, wanted->vgpus[i].id) != NULL;
	/* The filter reads the cards of all PCI hostdevs, so call it only if a vGPU is missing. */
	if (complete || strcmp(wanted->uuid, domain->uuid) != 0)
		return;
	hostdev_filter_keep(defined, check->host, check->config, leases);
	if (domain->doc)
		hostdev_filter_keep(domain->doc, check->host, check->config, leases);
	for (size_t i = 0, left = wanted->nvgpus; i < wanted->nvgpus && left > has->nvgpus; i++) {
		const char *id = wanted->vgpus[i].id;

		if (request_find(has, id))
			continue;
		left--;
		if (!taken || !request_find(taken, id))
			report_missing(check, domain, wanted, id);
	}
}

/* Returns the number of vGPUs in the XML, and reads its flavor ("": none). Negative: invalid XML. */
static int count_vgpus(const struct libvirt_file *file, char flavor[INSTANCE_SIZE])
{
	autodomxml struct domxml *doc = NULL;
	struct err ignored;
	int r = domxml_parse(&doc, file->text, file->len, 0, &ignored);

	if (r < 0)
		return r;
	memcpy(flavor, domxml_request(doc)->flavor, INSTANCE_SIZE);
	return (int)domxml_request(doc)->nvgpus;
}

static void add_flavored(struct flavored **list, size_t *n, const struct libvirt_file *file)
{
	struct flavored one = { .instance = file->name };

	if (domxml_concerns(file->text, file->len) && count_vgpus(file, one.flavor) > 0)
		*(struct flavored *)mem_add(list, n, sizeof(one)) = one;
}

/*
 * Reports a Nova instance without a vGPU in its live XML and definition, if another instance of its flavor has one. If
 * Nova reverts a resize, the definition can also lose the vGPU.
 */
static void look_at_flavor(struct check *check, const struct running_domain *domain,
			   const struct libvirt_file *definition, const struct flavored *flavored, size_t n)
{
	char flavor[INSTANCE_SIZE], ignored[INSTANCE_SIZE];
	const struct flavored *like;

	if (!n || count_vgpus(&domain->live, flavor) != 0 || !*flavor)
		return;
	like = text_find(flavored, n, sizeof(*flavored), flavor);
	if (like && (!definition || count_vgpus(definition, ignored) == 0))
		check_warn(check, "hard-reboot the instance",
			   "domain %s runs without a vGPU, but domain %s, an instance of the same flavor, has one",
			   domain->live.name, like->instance);
}

void check_running(struct check *check)
{
	autofree struct flavored *flavored = NULL;
	/* Only Nova's instances have flavors. */
	bool nova = libvirt_files_mention(check->disk, DOMXML_NOVA_NS_PREFIX, false);
	struct running running;
	size_t n = 0;

	running_read(&running, check->disk);
	for (EACH(const struct libvirt_file *, file, check->disk->list, check->disk->n))
		if (nova && !file->runs)
			add_flavored(&flavored, &n, file);
	/* While libvirt's container is stopped, no definition can be read. */
	for (EACH(const struct running_domain *, domain, running.list, nova ? running.n : 0))
		add_flavored(&flavored, &n, &domain->live);
	for (EACH(const struct running_domain *, domain, running.list, running.n)) {
		const struct libvirt_file *definition = NULL;

		for (EACH(const struct libvirt_file *, file, check->disk->list, check->disk->n))
			if (!file->runs && strcmp(file->name, domain->live.name) == 0)
				definition = file;
		check_at_definition(check, domain->live.name);
		look_at_vgpus(check, domain, definition);
		look_at_flavor(check, domain, definition, flavored, n);
	}
	running_free(&running);
}
