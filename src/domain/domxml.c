/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domain XML: the search before a parse, the steps of a parse, and where the parts that an edit replaces are. */
#include "domain/domxml.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

static bool has(const char *xml, size_t len, const char *what)
{
	return memmem(xml, len, what, strlen(what)) != NULL;
}

/* Might there be a hostdev of this type? Its model, vfio-pci, counts too, and a '&', which can begin a character. */
static bool has_hostdev(const char *xml, size_t len, const char *type)
{
	static const char open[] = "<hostdev";
	const char *end = xml + len, *next;

	while ((xml = memmem(xml, (size_t)(end - xml), open, strlen(open))) != NULL) {
		xml += strlen(open);
		/* No tag has a '<' in it. */
		next = memchr(xml, '<', (size_t)(end - xml));
		len = (size_t)((next ? next : end) - xml);
		if (has(xml, len, type) || memchr(xml, '&', len))
			return true;
	}
	return false;
}

bool domxml_concerns(const char *xml, size_t len)
{
	return has_hostdev(xml, len, "mdev") || has(xml, len, "urn:vgpu-lease");
}

bool domxml_has_pci(const char *xml, size_t len)
{
	return has_hostdev(xml, len, "pci");
}

/* Accepts what libvirt's virUUIDParse() accepts: optional dashes and blanks, and white space at both ends. */
bool domxml_uuid(char out[UUID_SIZE], const char *text)
{
	char plain[UUID_SIZE];
	size_t n = 0;

	while (isspace((unsigned char)*text))
		text++;
	while (n < UUID_SIZE - 1) {
		if (n == 8 || n == 13 || n == 18 || n == 23)
			plain[n++] = '-';
		text += strspn(text, "- ");
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]))
			return false;
		plain[n++] = *text++;
		plain[n++] = *text++;
	}
	plain[n] = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return *text == '\0' && uuid_parse(out, plain);
}

bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len)
{
	enum { PEEK = 4096 };
	static const char *const before[] = { "domain", "<name>" };
	const char *at = xml_next_tag(xml, xml + len);
	char uuid[64];
	int end = 0;

	if (!at)
		return false;
	len -= (size_t)(at - xml);
	autofree char *text = mem_strndup(at, len < PEEK ? len : PEEK);
	at = text;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		if (strncmp(at, before[i], strlen(before[i])) != 0)
			return false;
		at += 1 + strcspn(at + 1, "<");
	}
	return sscanf(at, "</name> <uuid>%63[^<]</uuid>%n", uuid, &end) == 1 && end && domxml_uuid(out, uuid);
}

#define FACT_ATTR(name)                                                                                                \
	{ PART_DEVICE, #name, offsetof(struct migration_facts, name), sizeof(((struct migration_facts *)0)->name) }

const struct domxml_attr domxml_attrs[ATTRS] = {
	[TRAIT] = { PART_HOSTDEV, "type" },
	{ PART_HOSTDEV, "managed" },
	{ PART_HOSTDEV, "model" },
	[ADDRESS] = { PART_ADDRESS, "uuid" },
	{ PART_ADDRESS, "domain" },
	{ PART_ADDRESS, "bus" },
	{ PART_ADDRESS, "slot" },
	{ PART_ADDRESS, "function" },
	[META] = { PART_DEVICE, "uuid" },
	{ PART_DEVICE, "address" },
	[FACT] = FACT_ATTR(type),
	FACT_ATTR(name),
	FACT_ATTR(framework),
	FACT_ATTR(model),
	FACT_ATTR(driver),
};

int domxml_mark(struct mark *mark, enum part part, const struct xml_elem *elem, struct err *err)
{
	for (size_t i = 0; i < ATTRS; i++)
		if (domxml_attrs[i].part == part && !xml_find_attr(elem, domxml_attrs[i].name, &mark->attrs[i]))
			return err_set(
				err, EINVAL,
				"domain XML: cannot be edited: its tags do not match the elements that libxml2 finds");
	return 0;
}

/* A domain that is not defined yet may have no UUID, because libvirt then makes one. */
static int read_identity(struct request *request, const struct xml_elem *domain, bool is_file, struct err *err)
{
	const struct xml_elem *uuid = xml_child(domain, "", "uuid"), *name = xml_child(domain, "", "name");
	char text[128] = "";
	bool fits = !uuid || xml_text(uuid, text, sizeof(text));

	if (!name || !xml_text(name, request->name, sizeof(request->name)))
		return err_set(err, EINVAL, "domain XML: missing <name>, or longer than %d bytes",
			       DOMAIN_NAME_SIZE - 1);
	if (!request->name[0])
		return err_set(err, EINVAL, "domain XML: <name> is empty");
	/* libvirt treats an empty <uuid> like a missing one. */
	if (is_file && fits && !*text)
		return 0;
	if (!domxml_uuid(request->uuid, text))
		return err_set(err, EINVAL, "domain XML: missing or invalid <uuid>");
	return 0;
}

/* Reads the vGPUs of the suspend record. The record replaces the document in `doc`, because the marks refer to it. */
static int read_suspended(struct domxml *doc, const struct xml_elem *domain, struct err *err)
{
	const struct xml_elem *record = xml_child(xml_child(domain, "", "metadata"), DOMXML_SUSPENDED_NS, "suspended");
	const char *hostdevs = xml_attr(record, "hostdevs");
	autoxml struct xml_doc *tree = NULL;

	doc->xml = doc->record = mem_format("<record><devices>%s</devices></record>", hostdevs ? hostdevs : "");
	doc->len = strlen(doc->xml);
	if (xml_parse(&tree, doc->xml, doc->len, err) < 0)
		return err_in(err, "suspend record");
	return request_read(doc, domain, xml_root(tree), true, err);
}

static int read_all(struct domxml *doc, const struct xml_doc *tree, unsigned int flags, struct err *err)
{
	const struct xml_elem *domain = xml_root(tree);

	if (strcmp(xml_name(domain), "domain") != 0 || xml_ns(domain)[0])
		return err_set(err, EINVAL, "not a domain XML: the root element is not <domain>");
	if (read_identity(&doc->request, domain, flags & DOMXML_FILE, err) < 0)
		return -err->code;
	if (flags & DOMXML_IDENTITY)
		return 0;
	if (flags & DOMXML_SUSPENDED)
		return read_suspended(doc, domain, err);
	return request_read(doc, domain, domain, flags & DOMXML_ALL_PCI, err);
}

int domxml_parse(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err)
{
	autoxml struct xml_doc *tree = NULL;
	autodomxml struct domxml *doc = NULL;

	if (len > DOMXML_MAX && (!(flags & DOMXML_LARGE) || domxml_concerns(xml, len) || domxml_has_pci(xml, len)))
		return err_set(err, E2BIG, "domain XML: larger than %d MiB", DOMXML_MAX >> 20);
	doc = mem_new(1, sizeof(*doc));
	doc->xml = xml;
	doc->len = len;
	if (len <= DOMXML_MAX && (xml_parse(&tree, xml, len, err) < 0 || read_all(doc, tree, flags, err) < 0))
		return -err->code;
	*out = steal_ptr(&doc);
	return 0;
}

void domxml_free(struct domxml *doc)
{
	if (!doc)
		return;
	free(doc->devices);
	free(doc->request.cpus);
	free(doc->request.vgpus);
	free(doc->request.excluded);
	free(doc->marks);
	remarks_free(&doc->remarks);
	free(doc->request.past);
	free(doc->record);
	free(doc);
}

void domxml_exclude(struct request *request, const char *id)
{
	text_copy(mem_add(&request->excluded, &request->nexcluded, ID_SIZE), ID_SIZE, id);
}

void domxml_keep(struct domxml *doc, const bool *keep)
{
	struct request *request = &doc->request;
	size_t kept = 0;

	for (size_t i = 0; i < request->nvgpus; i++) {
		if (!keep[i]) {
			domxml_exclude(request, request->vgpus[i].id);
			continue;
		}
		request->vgpus[kept] = request->vgpus[i];
		doc->marks[kept++] = doc->marks[i];
	}
	request->nvgpus = kept;
}

const struct remarks *domxml_remarks(const struct domxml *doc)
{
	return &doc->remarks;
}

const struct request *domxml_request(const struct domxml *doc)
{
	return &doc->request;
}
