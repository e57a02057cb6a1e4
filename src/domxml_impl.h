/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of domxml share; nobody else includes this.
 *
 * domxml.c goes through the steps: xml.c parses, domxml_meta.c reads the metadata, domxml_request.c the hostdevs,
 * domxml_edit.c finds in the bytes, with domxml_scan.c, what it would have to replace. After that libxml2's tree is
 * gone.
 */
#pragma once

#include "domxml.h"
#include "domxml_scan.h"
#include "xml.h"

enum {
	NUMBERS = 4, /* of a PCI address: domain, bus, slot, function */
	FACTS = 5,   /* of a <vgpu:device>: type, name, framework, model, driver */
};

/* Where the document has what an edit of a want replaces; `at` is 0 where it is not there. */
struct mark {
	const struct xml_elem *address, *device; /* while the tree is there; `device` is NULL without metadata */
	struct span uuid;                        /* in the hostdev; or, of a PCI device: */
	struct span numbers[NUMBERS];
	struct span id; /* in the metadata */
	struct span facts[FACTS];
};

enum { META_MAX = 4 * WANT_MAX }; /* <vgpu:device> elements */

struct domxml {
	const char *xml; /* the caller's */
	size_t len;
	struct request request;
	struct mark marks[WANT_MAX];    /* of request.wants, in their order */
	char strays[META_MAX][ID_SIZE]; /* what <vgpu:device> elements without a hostdev name */
	size_t nstrays;
};

/* One <vgpu:device>; `elem` lives as long as the tree. */
struct meta_device {
	enum want_kind kind;
	char id[ID_SIZE];
	const struct xml_elem *elem;
};

struct meta {
	struct meta_device devices[META_MAX];
	size_t n;
};

/* domxml.c: a UUID in any spelling that libvirt reads: dashes and blanks between bytes or none, white space around. */
bool domxml_uuid(char out[UUID_SIZE], const char *text);

/* domxml_meta.c: the devices and the project that <metadata> names, and what it says of one device. */
int meta_read(struct meta *meta, const struct xml_elem *domain, char project[PROJECT_SIZE], struct err *err);
const struct meta_device *meta_find(const struct meta *meta, const char *id);
int meta_apply(const struct meta_device *device, struct want *want, struct err *err);

/* domxml_request.c: the wants with their marks' elements, the pinned CPUs and memory nodes. */
int request_read(struct domxml *doc, const struct xml_elem *domain, const struct meta *meta, bool all_pci,
		 struct err *err);

/*
 * domxml_edit.c: fills in where the marks are; -EINVAL where the bytes and libxml2 do not have the same `count`
 * elements.
 */
int domxml_locate(struct domxml *doc, size_t count, struct err *err);
