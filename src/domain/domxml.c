/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domain XML: the search before a parse, the steps of a parse, and the domain's name and UUID. */
#include "domain/domxml.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

static bool has(const char *xml, size_t len, const char *what)
{
	return memmem(xml, len, what, strlen(what)) != NULL;
}

bool domxml_concerns(const char *xml, size_t len)
{
	return has(xml, len, "mdev") || has(xml, len, "urn:vgpu-lease");
}

bool domxml_has_pci(const char *xml, size_t len)
{
	static const char open[] = "<hostdev";
	const char *end = xml + len, *next;

	while ((xml = memmem(xml, (size_t)(end - xml), open, strlen(open))) != NULL) {
		xml += strlen(open);
		/* No tag has a '<' in it. */
		next = memchr(xml, '<', (size_t)(end - xml));
		len = (size_t)((next ? next : end) - xml);
		if (has(xml, len, "'pci'") || has(xml, len, "\"pci\""))
			return true;
	}
	return false;
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
	if (request_read(doc, domain, xml_root(tree), true, err) < 0)
		return -err->code;
	for (size_t i = 0; i < doc->request.nvgpus; i++)
		doc->marks[i].elems[PART_DEVICE] = NULL;
	return domxml_locate(doc, xml_count(tree), err);
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
	if (meta_read(doc, domain, err) < 0)
		return -err->code;
	if (flags & DOMXML_SUSPENDED)
		return read_suspended(doc, domain, err);
	if (request_read(doc, domain, domain, flags & DOMXML_ALL_PCI, err) < 0)
		return -err->code;
	if (flags & DOMXML_REMARKS)
		domxml_look(doc, domain);
	return domxml_locate(doc, xml_count(tree), err);
}

int domxml_parse(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err)
{
	autoxml struct xml_doc *tree = NULL;
	autodomxml struct domxml *doc = NULL;

	if (len > DOMXML_MAX && flags & DOMXML_LARGE)
		return domxml_hostdevs(out, xml, len, flags, err);
	if (len > DOMXML_MAX)
		return err_set(err, E2BIG, "domain XML: larger than %d MiB", DOMXML_MAX >> 20);
	doc = mem_new(1, sizeof(*doc));
	doc->xml = xml;
	doc->len = len;
	if (xml_parse(&tree, xml, len, err) < 0 || read_all(doc, tree, flags, err) < 0)
		return -err->code;
	*out = steal_ptr(&doc);
	return 0;
}

/* Builds a document with only the hostdevs of `xml`. -E2BIG: the hostdevs are larger than DOMXML_MAX. */
static int cut_out(const char *xml, size_t len, char **out, size_t *out_len, struct err *err)
{
	static const char start[] = "<hostdev ", stop[] = "</hostdev>";
	FILE *f = mem_open(out, out_len);
	const char *from, *end = xml + len;
	size_t cut = 0;

	fputs("<domain><name>-</name><uuid>00000000-0000-0000-0000-000000000000</uuid><devices>", f);
	while (cut < DOMXML_MAX && (from = memmem(xml, (size_t)(end - xml), start, strlen(start)))) {
		const char *to = memmem(from, (size_t)(end - from), stop, strlen(stop));
		size_t whole = to ? (size_t)(to - from) + strlen(stop) : DOMXML_MAX;

		cut += whole;
		xml = from + whole;
		if (cut < DOMXML_MAX)
			fwrite(from, 1, whole, f);
	}
	fputs("</devices></domain>", f);
	mem_close(f);
	return cut < DOMXML_MAX ? 0 : err_set(err, E2BIG, "domain XML: larger than %d MiB", DOMXML_MAX >> 20);
}

int domxml_hostdevs(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err)
{
	autofree char *cut = NULL;
	size_t cut_len;

	if (cut_out(xml, len, &cut, &cut_len, err) < 0 ||
	    domxml_parse(out, cut, cut_len, flags & ~DOMXML_LARGE, err) < 0)
		return -err->code;
	(*out)->record = steal_ptr(&cut);
	(*out)->large = true;
	for (size_t i = 0; i < (*out)->request.nvgpus; i++)
		(*out)->request.vgpus[i].has_metadata = has(xml, len, DOMXML_NS);
	return 0;
}

int domxml_too_large(const struct domxml *doc, struct err *err)
{
	if (!doc->large || !doc->request.nvgpus)
		return 0;
	return err_set(err, E2BIG, "vGPU %s: domain XML: larger than %d MiB", doc->request.vgpus[0].id,
		       DOMXML_MAX >> 20);
}

void domxml_free(struct domxml *doc)
{
	if (!doc)
		return;
	free(doc->meta.devices);
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
