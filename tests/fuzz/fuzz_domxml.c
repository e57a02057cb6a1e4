/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes for a domain's XML: with other addresses or facts it asks for the same, and back again it is the same. */
#include "fuzz/fuzz.h"

#include "base/text.h"
#include "domain/internal.h"

static struct err err;

static void must_equal(const struct request *a, const struct request *b, const struct domxml_change *changes)
{
	MUST(strcmp(a->uuid, b->uuid) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->project, b->project) == 0);
	MUST(a->memory_nodes == b->memory_nodes && !a->cpus == !b->cpus &&
	     (!a->cpus || memcmp(a->cpus, b->cpus, CPUS_MAX / 8) == 0));
	MUST(a->nvgpus == b->nvgpus);
	for (size_t i = 0; i < a->nvgpus; i++) {
		const struct vgpu_request x = a->vgpus[i], y = b->vgpus[i];

		MUST(strcmp(y.id, changes[i].id) == 0);
		MUST(y.any == (y.kind == REQUEST_MDEV && uuid_is_placeholder(y.id)));
		MUST(x.kind == y.kind && x.has_metadata == y.has_metadata && x.has_params == y.has_params);
		MUST(x.has_placement == y.has_placement && x.placement == y.placement && x.numa == y.numa &&
		     x.numa_node == y.numa_node);
		MUST(strcmp(x.facts.type, y.facts.type) == 0 && strcmp(x.params, y.params) == 0);
		MUST(strcmp(x.facts.name, y.facts.name) == 0 && strcmp(x.facts.framework, y.facts.framework) == 0);
		MUST(strcmp(x.facts.model, y.facts.model) == 0 && strcmp(x.facts.driver, y.facts.driver) == 0);
	}
}

/* A change of each request: to an address that is nobody else's, unless the input was made to have just those. */
static void choose(const struct request *request, bool cross, struct domxml_change *changes)
{
	for (size_t i = 0; i < request->nvgpus; i++) {
		bool mdev = (request->vgpus[i].kind == REQUEST_MDEV) != cross;

		changes[i] = (struct domxml_change){ .req = i, .changes_framework = cross };
		snprintf(changes[i].id, ID_SIZE, mdev ? "5ce1f0e2-9b7d-4c3a-8f60-a1b2c3d4e5%02x" : "fade:%02x:1d.3",
			 (unsigned char)i);
	}
}

static void edit(const struct domxml *doc, const char *data, size_t size, unsigned int flags)
{
	const struct request *request = domxml_request(doc);
	struct domxml_change there[REQUEST_MAX], back[REQUEST_MAX];
	autofree char *same = NULL, *edited = NULL, *again = NULL;
	size_t same_len, edited_len, again_len;
	autodomxml struct domxml *second = NULL;

	choose(request, false, there);
	for (size_t i = 0; i < request->nvgpus; i++) {
		back[i] = (struct domxml_change){ .req = i };
		memcpy(back[i].id, request->vgpus[i].id, ID_SIZE);
	}
	MUST(domxml_rewrite(doc, NULL, 0, &same, &same_len, &err) == 0);
	MUST(same_len == size && memcmp(same, data, size) == 0);
	free(steal_ptr(&same));

	/* An address without a number is not rewritten; else both ways work, or neither. */
	if (domxml_rewrite(doc, back, request->nvgpus, &same, &same_len, &err) == 0 &&
	    domxml_rewrite(doc, there, request->nvgpus, &edited, &edited_len, &err) == 0) {
		MUST(domxml_parse(&second, edited, edited_len, flags, &err) == 0);
		must_equal(request, domxml_request(second), there);
		MUST(domxml_rewrite(second, back, request->nvgpus, &again, &again_len, &err) == 0);
		MUST(again_len == same_len && memcmp(again, same, same_len) == 0);
	}
}

static const struct migration_facts fact = { .type = "t'<&>\"", .name = "a \"b\"", .framework = "vf", .driver = "550" };

/* All requests get facts, and with `cross` become devices of the other kind. */
static void facts(const struct domxml *doc, unsigned int flags, bool cross)
{
	const struct request *request = domxml_request(doc);
	struct domxml_change changes[REQUEST_MAX];
	autodomxml struct domxml *second = NULL;
	autofree char *edited = NULL;
	size_t len;

	choose(request, cross, changes);
	for (size_t i = 0; i < request->nvgpus; i++) {
		changes[i].has_facts = true;
		changes[i].facts = fact;
	}
	if (domxml_rewrite(doc, changes, request->nvgpus, &edited, &len, &err) < 0)
		return;
	/* An attribute that is added can be there already under a prefix: then this is no document, and is refused. */
	if (domxml_parse(&second, edited, len, flags, &err) == 0) {
		const struct request *after = domxml_request(second);

		MUST(after->nvgpus == request->nvgpus);
		for (size_t i = 0; i < after->nvgpus; i++) {
			const struct vgpu_request x = request->vgpus[i], y = after->vgpus[i];

			MUST(strcmp(y.id, changes[i].id) == 0 && (x.kind == y.kind) != cross);
			MUST(x.has_metadata == y.has_metadata && x.numa == y.numa);
			if (!x.has_metadata)
				continue;
			MUST(strcmp(y.facts.type, fact.type) == 0 && strcmp(y.facts.name, fact.name) == 0);
			MUST(!*y.facts.model && strcmp(y.facts.driver, fact.driver) == 0);
		}
	}
}

/* The lease element that is made of a domain, in a domain with the same hostdevs. */
static char *with_lease(const struct request *request, const char *lease, size_t *len)
{
	char *xml = NULL;
	FILE *f = open_memstream(&xml, len);

	MUST(f && strncmp(lease, "<lease", 6) == 0);
	fprintf(f, "<domain><name>a</name><metadata><lease xmlns='" DOMXML_NS "'%s</metadata><devices>", lease + 6);
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];
		unsigned int domain, bus, slot, function;

		if (req->kind == REQUEST_MDEV)
			fprintf(f, "<hostdev type='mdev' model='vfio-pci'><source><address uuid='%s'/>", req->id);
		else if (sscanf(req->id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
			fprintf(f,
				"<hostdev type='pci'><source><address domain='%u' bus='%u' slot='%u' function='%u'/>",
				domain, bus, slot, function);
		fputs("</source></hostdev>", f);
	}
	fputs("</devices></domain>", f);
	MUST(fclose(f) == 0);
	return xml;
}

static void lease(const struct domxml *doc)
{
	const struct request *request = domxml_request(doc);
	struct migration_facts facts_list[REQUEST_MAX];
	autofree char *made = NULL, *xml = NULL;
	autodomxml struct domxml *second = NULL;
	size_t len;

	for (size_t i = 0; i < request->nvgpus; i++) {
		facts_list[i] = fact;
		if (i % 2)
			facts_list[i].type[0] = '\0';
	}
	made = domxml_lease(doc, facts_list);
	if (!made)
		return;
	xml = with_lease(request, made, &len);
	MUST(domxml_parse(&second, xml, len, DOMXML_FILE | DOMXML_ALL_PCI, &err) == 0);
	MUST(domxml_request(second)->nvgpus == request->nvgpus);
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request x = request->vgpus[i], y = domxml_request(second)->vgpus[i];

		MUST(strcmp(x.id, y.id) == 0 && y.has_metadata == (x.has_metadata || i % 2 == 0));
		MUST(x.has_placement == y.has_placement && x.placement == y.placement);
		MUST(x.numa == y.numa && x.numa_node == y.numa_node);
		MUST(x.has_params == y.has_params && strcmp(x.params, y.params) == 0);
		MUST(strcmp(y.facts.type, i % 2 ? x.facts.type : fact.type) == 0);
		MUST(strcmp(y.facts.driver, i % 2 ? x.facts.driver : fact.driver) == 0);
	}
	/* What was made is not made again. */
	MUST(!domxml_lease(second, facts_list));
}

/* The record of a suspend: the hostdevs as they are, or an error. */
static void suspended(const struct domxml *doc)
{
	autofree char *made = NULL;

	if (domxml_suspended(doc, &made, &err) < 0) {
		MUST(!made && err.text[0]);
		return;
	}
	for (size_t i = 0; i < domxml_request(doc)->nvgpus; i++) {
		autofree char *hostdev = NULL;

		MUST(domxml_hostdev(doc, &domxml_request(doc)->vgpus[i], &hostdev, &err) == 0 && hostdev[0] == '<');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The first byte says how it is parsed. */
	unsigned int flags = size ? data[0] % 16 : 0;
	const char *xml = (const char *)data + (size > 0);
	size_t len = size - (size > 0);
	autodomxml struct domxml *doc = NULL;
	char uuid[UUID_SIZE];

	err = (struct err){ 0 };
	domxml_concerns(xml, len);
	if (domxml_parse(&doc, xml, len, flags, &err) == 0)
		suspended(doc);
	/* What the bytes alone say is what the document says. */
	if (domxml_peek_uuid(uuid, xml, len) && doc)
		MUST(strcmp(uuid, domxml_request(doc)->uuid) == 0);
	/* What a suspend took is put back, never edited. */
	if (doc && !(flags & DOMXML_SUSPENDED)) {
		edit(doc, xml, len, flags);
		facts(doc, flags, false);
		/* What becomes a PCI device without metadata is one of the requests only where all of those are. */
		if (flags & DOMXML_ALL_PCI)
			facts(doc, flags, true);
		lease(doc);
	} else if (!doc) {
		MUST(err.code > 0 && err.text[0]);
	}
	return 0;
}
