/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The domain XML: the search before a parse, the steps of a parse, and where the parts that an edit replaces are.
 *
 * The scan finds start tags and attributes in the bytes, without libxml2. In a document that libxml2 has found
 * well-formed and without a document type, every element has one start tag, in document order, and '<' begins only
 * tags, comments, CDATA and instructions.
 */
#include "domain/domxml.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
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

/* Returns the end of the markup at `at`, and in *is_tag if it is a start tag. NULL: no end, or a document type. */
static const char *skip_markup(const char *at, const char *end, bool *is_tag)
{
	static const char *const others[][2] = {
		{ "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "</", ">" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const char *open = others[i][0], *close = others[i][1];
		size_t n = strlen(open);

		if ((size_t)(end - at) < n || memcmp(at, open, n) != 0)
			continue;
		/* Search behind `open`, because "<!-->" does not close a comment. */
		at = memmem(at + n, (size_t)(end - at) - n, close, strlen(close));
		return at ? at + strlen(close) : NULL;
	}
	*is_tag = end - at > 1 && at[1] != '!';
	/* A '>' within quotes does not end a tag. */
	for (; *is_tag && at && at < end; at++) {
		if (*at == '>')
			return at + 1;
		if (*at == '"' || *at == '\'')
			at = memchr(at + 1, *at, (size_t)(end - at) - 1);
		if (!at)
			return NULL;
	}
	return NULL;
}

/* Finds the next start tag or empty element. 1: found; 0: no more tags; -EINVAL: malformed, or a document type. */
static int scan_tag(struct span *rest, struct span *tag)
{
	bool is_tag = false;

	while (!is_tag) {
		tag->from = memchr(rest->from, '<', (size_t)(rest->to - rest->from));
		if (!tag->from)
			return 0;
		tag->to = skip_markup(tag->from, rest->to, &is_tag);
		if (!tag->to)
			return -EINVAL;
		rest->from = tag->to;
	}
	return 1;
}

/* Skips a name, which ends before white space, '=', '/' or '>'. */
static const char *skip_name(const char *at, const char *end)
{
	while (at < end && !isspace((unsigned char)*at) && *at != '=' && *at != '/' && *at != '>')
		at++;
	return at;
}

static bool is_name(struct span word, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(word.to - word.from) == n && memcmp(word.from, name, n) == 0;
}

/* True if the tag has this name, apart from its prefix. */
static bool scan_tag_is(struct span tag, const char *name)
{
	struct span word = { tag.from + 1, skip_name(tag.from + 1, tag.to) };
	const char *colon = memchr(word.from, ':', (size_t)(word.to - word.from));

	return is_name((struct span){ colon ? colon + 1 : word.from, word.to }, name);
}

/* Finds the next attribute, behind the tag's name or the attribute before. Returns false if no other follows. */
static bool scan_attr(struct span *rest, struct span *name, struct attr *attr)
{
	const char *at = rest->from, *close;

	while (at < rest->to && isspace((unsigned char)*at))
		at++;
	*name = (struct span){ at, skip_name(at, rest->to) };
	at = name->to;
	while (at < rest->to && (isspace((unsigned char)*at) || *at == '='))
		at++;
	/* The end of the tag, '>' or "/>", has neither a name nor a quote. */
	if (name->from == name->to || at >= rest->to || (*at != '"' && *at != '\''))
		return false;
	close = memchr(at + 1, *at, (size_t)(rest->to - at) - 1);
	if (!close)
		return false;
	*attr = (struct attr){ .whole = { rest->from, close + 1 }, .value = { at + 1, close } };
	rest->from = close + 1;
	return true;
}

bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len)
{
	enum { PEEK = 4096 };
	struct span rest = { xml, xml + len };
	autofree char *text = NULL;
	char uuid[64];
	struct span tag;
	int at = 0, end = 0;

	if (scan_tag(&rest, &tag) != 1 || !scan_tag_is(tag, "domain"))
		return false;
	len = (size_t)(rest.to - rest.from);
	text = mem_strndup(rest.from, len < PEEK ? len : PEEK);
	(void)sscanf(text, " <name>%n", &at);
	if (!at)
		return false;
	at += (int)strcspn(text + at, "<");
	return sscanf(text + at, "</name> <uuid>%63[^<]</uuid>%n", uuid, &end) == 1 && end && domxml_uuid(out, uuid);
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

/*
 * Locates the attributes of a tag. libxml2 has them in the same order, without those that declare a namespace. Returns
 * false if the tag does not match the element.
 */
static bool locate_attrs(struct mark *mark, enum part part, struct span tag)
{
	static const char *const names[PARTS] = { "hostdev", "address", "device" };
	struct span rest = { skip_name(tag.from + 1, tag.to), tag.to };
	const char *name;
	struct span word;
	struct attr attr;
	size_t n = 0;

	while (scan_attr(&rest, &word, &attr)) {
		if (is_name(word, "xmlns") || (word.to - word.from > 6 && memcmp(word.from, "xmlns:", 6) == 0))
			continue;
		name = xml_attr_name(mark->elems[part], n++);
		if (!name || (size_t)(word.to - word.from) < strlen(name) ||
		    !is_name((struct span){ word.to - strlen(name), word.to }, name))
			return false;
		for (size_t i = 0; i < ATTRS; i++)
			if (domxml_attrs[i].part == part && strcmp(domxml_attrs[i].name, name) == 0 &&
			    !mark->attrs[i].value.from)
				mark->attrs[i] = attr;
	}
	return scan_tag_is(tag, names[part]) && !xml_attr_name(mark->elems[part], n);
}

/* An element of a vGPU. */
struct place {
	const struct xml_elem *elem;
	struct mark *mark;
	enum part part;
};

static int compare_places(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)((const struct place *)a)->elem, other = (uintptr_t)((const struct place *)b)->elem;

	return one < other ? -1 : one > other;
}

/*
 * Locates the marks. -EINVAL: the start tags in the bytes are not those of the elements that libxml2 found. A hostile
 * document has 256 vGPUs and millions of elements, so the places are sorted.
 */
static int locate(struct domxml *doc, const struct xml_doc *tree, struct err *err)
{
	autofree struct place *places = mem_new(doc->request.nvgpus * PARTS + 1, sizeof(*places));
	struct span rest = { doc->xml, doc->xml + doc->len }, tag;
	struct place key = { .elem = xml_root(tree) };
	const struct place *place;
	bool found = true;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < doc->request.nvgpus; i++)
		for (enum part part = 0; part < PARTS; part++)
			if (doc->marks[i].elems[part])
				places[n++] = (struct place){ doc->marks[i].elems[part], &doc->marks[i], part };
	mem_sort(places, n, sizeof(*places), compare_places);
	while ((r = scan_tag(&rest, &tag)) > 0 && key.elem && found) {
		place = bsearch(&key, places, n, sizeof(*places), compare_places);
		found = !place || locate_attrs(place->mark, place->part, tag);
		key.elem = xml_following(key.elem);
	}
	return r == 0 && !key.elem && found
		       ? 0
		       : err_set(err, EINVAL,
				 "domain XML: cannot be edited: its tags do not match the elements that libxml2 finds");
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
	return locate(doc, tree, err);
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
	return locate(doc, tree, err);
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
