/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds in the bytes of a domain's XML what an edit would replace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

const char *const domxml_address[ADDRESS] = { "uuid", "domain", "bus", "slot", "function" };
const char *const domxml_facts[FACTS] = { "type", "name", "framework", "model", "driver" };
const char *const domxml_traits[TRAITS] = { "type", "managed", "model" };

/* The elements of a vGPU: its hostdev, the address in that, and its device in the metadata. */
enum part { PART_HOSTDEV, PART_ADDRESS, PART_DEVICE, PARTS };

static const char *const part_names[PARTS] = { "hostdev", "address", "device" };

/* An element to be found. */
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

/* Where the attribute stands that xml_attr() reads; false where the tag lacks what the element has. */
static bool locate_attr(const char *xml, struct span tag, const struct xml_elem *elem, const char *name,
			struct attr *attr)
{
	return !xml_attr(elem, name) || scan_attr(xml, tag, xml_attr_prefix(elem, name), name, attr);
}

static bool locate_all(const char *xml, struct span tag, const struct xml_elem *elem, const char *const *names,
		       size_t n, struct attr *attrs)
{
	bool found = true;

	for (size_t i = 0; i < n; i++)
		found &= locate_attr(xml, tag, elem, names[i], &attrs[i]);
	return found;
}

/* Where a hostdev ends. It holds no other hostdev, and in what libvirt prints no comment. */
static void locate_end(const struct domxml *doc, struct span tag, struct span *whole)
{
	static const char end[] = "</hostdev>";
	size_t behind = tag.at + tag.len;
	const char *at = memmem(doc->xml + behind, doc->len - behind, end, strlen(end));

	*whole = (struct span){ tag.at, at ? (size_t)(at - doc->xml) + strlen(end) - tag.at : 0 };
}

static bool locate_attrs(struct domxml *doc, const struct sought *sought, struct span tag)
{
	struct mark *mark = &doc->marks[sought->req];
	bool mdev = doc->request.vgpus[sought->req].kind == REQUEST_MDEV;
	const char *xml = doc->xml;

	if (!scan_tag_is(xml, tag, part_names[sought->part]))
		return false;
	switch (sought->part) {
	case PART_HOSTDEV:
		locate_end(doc, tag, &mark->whole);
		return locate_all(xml, tag, sought->elem, domxml_traits, TRAITS, mark->traits);
	case PART_ADDRESS:
		return locate_all(xml, tag, sought->elem, domxml_address, ADDRESS, mark->place);
	case PART_DEVICE:
		return locate_attr(xml, tag, sought->elem, mdev ? "uuid" : "address", &mark->id) &&
		       locate_all(xml, tag, sought->elem, domxml_facts, FACTS, mark->facts);
	case PARTS:
		break;
	}
	return false;
}

int domxml_locate(struct domxml *doc, size_t count, struct err *err)
{
	struct sought sought[PARTS * REQUEST_MAX] = { { NULL, 0, PART_HOSTDEV } };
	struct scan scan = { doc->xml, doc->len, 0 };
	size_t n = 0, next = 0, seen;
	struct span tag;
	int r;

	for (size_t i = 0; i < doc->request.nvgpus; i++) {
		sought[n++] = (struct sought){ doc->marks[i].hostdev, i, PART_HOSTDEV };
		sought[n++] = (struct sought){ doc->marks[i].address, i, PART_ADDRESS };
		if (doc->marks[i].device)
			sought[n++] = (struct sought){ doc->marks[i].device, i, PART_DEVICE };
	}
	qsort(sought, n, sizeof(*sought), by_index);
	for (seen = 0; (r = scan_tag(&scan, &tag)) > 0; seen++)
		if (next < n && xml_index(sought[next].elem) == seen && !locate_attrs(doc, &sought[next++], tag))
			break;
	if (r != 0 || seen != count || next != n)
		return err_set(err, EINVAL,
			       "the domain's XML cannot be edited: its tags are not where libxml2 has its elements");
	return 0;
}
