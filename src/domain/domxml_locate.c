/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the bytes of a domain XML that an edit would replace. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

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

struct sought {
	const struct xml_elem *elem;
	size_t req;
	enum part part;
};

static int by_index(const void *a, const void *b)
{
	size_t x = xml_index(((const struct sought *)a)->elem), y = xml_index(((const struct sought *)b)->elem);

	return (x > y) - (x < y);
}

/* Sets `whole` to the hostdev's bytes, up to the next end tag: hostdevs do not nest, and libvirt prints no comments. */
static void locate_end(const struct domxml *doc, struct span tag, struct span *whole)
{
	static const char end[] = "</hostdev>";
	size_t behind = tag.at + tag.len;
	const char *at = memmem(doc->xml + behind, doc->len - behind, end, strlen(end));

	*whole = (struct span){ tag.at, at ? (size_t)(at - doc->xml) + strlen(end) - tag.at : 0 };
}

/* Locates the attributes that xml_attr() reads. False: the tag does not match the element. */
static bool locate_attrs(struct domxml *doc, const struct sought *sought, struct span tag)
{
	struct mark *mark = &doc->marks[sought->req];
	bool found = scan_tag_is(doc->xml, tag, part_names[sought->part]);

	if (sought->part == PART_HOSTDEV)
		locate_end(doc, tag, &mark->whole);
	for (size_t i = 0; i < ATTRS && found; i++) {
		const char *name = domxml_attrs[i].name;

		if (domxml_attrs[i].part == sought->part && xml_attr(sought->elem, name))
			found = scan_attr(doc->xml, tag, xml_attr_prefix(sought->elem, name), name, &mark->attrs[i]);
	}
	return found;
}

int domxml_locate(struct domxml *doc, size_t count, struct err *err)
{
	struct sought sought[PARTS * REQUEST_MAX] = { { NULL, 0, PART_HOSTDEV } };
	struct scan scan = { doc->xml, doc->len, 0 };
	size_t n = 0, next = 0, seen;
	struct span tag;
	int r;

	for (size_t i = 0; i < doc->request.nvgpus; i++)
		for (enum part part = 0; part < PARTS; part++)
			if (doc->marks[i].elems[part])
				sought[n++] = (struct sought){ doc->marks[i].elems[part], i, part };
	qsort(sought, n, sizeof(*sought), by_index);
	for (seen = 0; (r = scan_tag(&scan, &tag)) > 0; seen++)
		if (next < n && xml_index(sought[next].elem) == seen && !locate_attrs(doc, &sought[next++], tag))
			break;
	if (r != 0 || seen != count || next != n)
		return err_set(err, EINVAL,
			       "domain XML: cannot be edited: its tags do not match the elements that libxml2 finds");
	return 0;
}
