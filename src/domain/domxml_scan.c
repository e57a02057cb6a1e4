/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds start tags and attributes in the bytes of a document, without libxml2. In a document that libxml2 has found
 * well-formed and without a document type, every element has one start tag, in document order, and '<' begins only
 * tags, comments, CDATA and instructions.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"

struct scan {
	const char *xml;
	size_t len;
	size_t at;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Skips the markup at scan->at if it begins with `open`. 1: skipped to `close`; 0: other markup; -EINVAL: no end. */
static int skip_markup(struct scan *scan, const char *open, const char *close)
{
	size_t n = strlen(open), left = scan->len - scan->at;
	const char *at = scan->xml + scan->at, *end;

	if (left < n || memcmp(at, open, n) != 0)
		return 0;
	/* Search behind `open`, because "<!-->" does not close a comment. */
	end = memmem(at + n, left - n, close, strlen(close));
	if (!end)
		return -EINVAL;
	scan->at = (size_t)(end - scan->xml) + strlen(close);
	return 1;
}

/* Skips to the end of the tag. A '>' within quotes does not end it. */
static bool skip_tag(struct scan *scan)
{
	for (; scan->at < scan->len; scan->at++) {
		char c = scan->xml[scan->at];

		if (c == '>') {
			scan->at++;
			return true;
		}
		if (c == '"' || c == '\'') {
			const char *end = memchr(scan->xml + scan->at + 1, c, scan->len - scan->at - 1);

			if (!end)
				return false;
			scan->at = (size_t)(end - scan->xml);
		}
	}
	return false;
}

/* Finds the next start tag or empty element. 1: found; 0: no more tags; -EINVAL: malformed, or a document type. */
static int scan_tag(struct scan *scan, struct span *tag)
{
	static const char *const others[][2] = {
		{ "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "</", ">" }
	};
	int skipped;

	do {
		const char *lt = memchr(scan->xml + scan->at, '<', scan->len - scan->at);

		if (!lt)
			return 0;
		scan->at = tag->at = (size_t)(lt - scan->xml);
		skipped = 0;
		for (size_t i = 0; i < ARRAY_SIZE(others) && !skipped; i++)
			skipped = skip_markup(scan, others[i][0], others[i][1]);
	} while (skipped > 0);
	if (skipped < 0 || scan->len - tag->at < 2 || scan->xml[tag->at + 1] == '!' || !skip_tag(scan))
		return -EINVAL;
	tag->len = scan->at - tag->at;
	return 1;
}

/* Returns the name at `at`, which ends before white space, '=', '/' or '>'. */
static struct span name_at(const char *xml, size_t at, size_t end)
{
	struct span name = { at, 0 };

	while (at + name.len < end && !is_space(xml[at + name.len]) && !strchr("=/>", xml[at + name.len]))
		name.len++;
	return name;
}

/* True if the tag has this name, apart from its prefix. */
static bool scan_tag_is(const char *xml, struct span tag, const char *name)
{
	struct span whole = name_at(xml, tag.at + 1, tag.at + tag.len);
	const char *colon = memchr(xml + whole.at, ':', whole.len);
	size_t skip = colon ? (size_t)(colon - (xml + whole.at)) + 1 : 0;

	return whole.len - skip == strlen(name) && memcmp(xml + whole.at + skip, name, whole.len - skip) == 0;
}

/* Finds the attribute of this name, prefix included. */
static bool scan_attr(const char *xml, struct span tag, const char *name, struct attr *attr)
{
	size_t end = tag.at + tag.len, at, before;
	struct span word = name_at(xml, tag.at + 1, end);

	at = word.at + word.len;
	*attr = (struct attr){ 0 };
	while (at < end) {
		const char *close;

		for (before = at; at < end && is_space(xml[at]);)
			at++;
		word = name_at(xml, at, end);
		at += word.len;
		while (at < end && (is_space(xml[at]) || xml[at] == '='))
			at++;
		/* The end of the tag, '>' or "/>", has neither a name nor a quote. */
		if (word.len == 0 || at >= end || (xml[at] != '"' && xml[at] != '\''))
			return false;
		close = memchr(xml + at + 1, xml[at], end - at - 1);
		if (!close)
			return false;
		if (word.len == strlen(name) && memcmp(xml + word.at, name, word.len) == 0) {
			attr->value = (struct span){ at + 1, (size_t)(close - xml) - at - 1 };
			attr->whole = (struct span){ before, (size_t)(close - xml) + 1 - before };
			return true;
		}
		at = (size_t)(close - xml) + 1;
	}
	return false;
}

bool domxml_has_pci(const char *xml, size_t len)
{
	struct scan scan = { .xml = xml, .len = len };
	struct attr type;
	struct span tag;
	int r = 0;

	/* Search first, because the scan is slow and metadata can have millions of tags. */
	if (!memmem(xml, len, "<hostdev", strlen("<hostdev")))
		return false;
	while ((r = scan_tag(&scan, &tag)) == 1)
		if (scan_tag_is(xml, tag, "hostdev") && scan_attr(xml, tag, "type", &type) && type.value.len == 3 &&
		    memcmp(xml + type.value.at, "pci", 3) == 0)
			return true;
	/* A document that cannot be scanned might have a PCI hostdev. */
	return r < 0;
}

bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len)
{
	enum { PEEK = 4096 };
	struct scan scan = { .xml = xml, .len = len };
	autofree char *text = NULL;
	char uuid[64];
	struct span tag;
	int at = 0, end = 0;

	if (scan_tag(&scan, &tag) != 1 || !scan_tag_is(xml, tag, "domain"))
		return false;
	text = mem_strndup(xml + scan.at, len - scan.at < PEEK ? len - scan.at : PEEK);
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
	[FACT] = FACT_ATTR(type),
	FACT_ATTR(name),
	FACT_ATTR(framework),
	FACT_ATTR(model),
	FACT_ATTR(driver),
	[META_UUID] = { PART_DEVICE, "uuid" },
	[META_ADDRESS] = { PART_DEVICE, "address" },
};

static const char *const part_names[PARTS] = { "hostdev", "address", "device" };

/* Locates the attributes that xml_attr() reads. Returns false if the tag does not match the element. */
static bool locate_attrs(const struct domxml *doc, struct mark *mark, enum part part, struct span tag)
{
	const struct xml_elem *elem = mark->elems[part];
	static const char end[] = "</hostdev>";
	bool found = scan_tag_is(doc->xml, tag, part_names[part]);

	/* The next </hostdev> ends the hostdev, because hostdevs do not nest and libvirt prints no comments. */
	if (part == PART_HOSTDEV) {
		const char *from = doc->xml + tag.at, *at = memmem(from, doc->len - tag.at, end, strlen(end));

		mark->whole = (struct span){ tag.at, at ? (size_t)(at - from) + strlen(end) : 0 };
	}
	for (size_t i = 0; i < ATTRS && found; i++) {
		const char *name = domxml_attrs[i].name, *prefix;

		if (domxml_attrs[i].part != part || !xml_attr(elem, name))
			continue;
		prefix = xml_attr_prefix(elem, name);
		autofree char *whole = mem_format("%s%s%s", prefix, *prefix ? ":" : "", name);
		found = scan_attr(doc->xml, tag, whole, &mark->attrs[i]);
	}
	return found;
}

int domxml_locate(struct domxml *doc, size_t count, struct err *err)
{
	autofree struct span *tags = mem_new(count + 1, sizeof(*tags));
	struct scan scan = { doc->xml, doc->len, 0 };
	size_t n = 0;
	bool found;
	int r;

	while (n <= count && (r = scan_tag(&scan, &tags[n])) > 0)
		n++;
	found = r == 0 && n == count;
	for (size_t i = 0; i < doc->request.nvgpus; i++)
		for (enum part part = 0; part < PARTS && found; part++) {
			const struct xml_elem *elem = doc->marks[i].elems[part];

			found = !elem || locate_attrs(doc, &doc->marks[i], part, tags[xml_index(elem)]);
		}
	return found ? 0
		     : err_set(err, EINVAL,
			       "domain XML: cannot be edited: its tags do not match the elements that libxml2 finds");
}
