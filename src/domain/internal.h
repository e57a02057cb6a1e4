/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of domxml share. domxml.c parses: domxml_metadata.c reads the metadata, and domxml_request.c the
 * hostdevs. Then the tree is freed. domxml_edit.c replaces bytes of the document.
 */
#pragma once

#include "domain/domxml.h"
#include "base/xml.h"

/* The elements of a vGPU: its hostdev, the <address> in that hostdev, and its <vgpu:device>. */
enum part { PART_HOSTDEV, PART_ADDRESS, PART_DEVICE };

/* Indexes of domxml_attrs, the attributes that an edit can replace. */
enum {
	TRAIT = 0,   /* type, managed, model */
	ADDRESS = 3, /* uuid; domain, bus, slot, function */
	META = 8,    /* uuid, address */
	FACT = 10,   /* type, name, framework, model, driver */
	ATTRS = 15
};

extern const struct domxml_attr {
	enum part part;
	const char *name;
	size_t fact; /* offset in struct migration_facts */
	size_t size;
} domxml_attrs[ATTRS];

static inline const char *domxml_fact(const struct migration_facts *facts, size_t attr)
{
	return (const char *)facts + domxml_attrs[attr].fact;
}

/* Where the attributes of a vGPU that can be replaced are in the document; value.from is NULL for a missing one. */
struct mark {
	struct xml_place attrs[ATTRS];
};

/* One <vgpu:device>. */
struct meta_device {
	struct vgpu_request request; /* id, kind and guest; for a stray device also its facts and preferences */
	const struct xml_elem *elem; /* valid while the tree exists */
	bool stray;                  /* no hostdev has its id */
};

struct domxml {
	const char *xml; /* the caller's bytes, or `record` */
	size_t len;
	char *record; /* owned: the suspend record; NULL: none */
	struct meta_device *devices;
	size_t ndevices;
	bool suspended; /* a suspend has removed the vGPUs, and no resume has followed */
	struct request request;
	struct mark *marks;               /* one for each of request.vgpus */
	bool followed;                    /* some <vgpu:device> was matched with a hostdev of another UUID */
	char lease_project[PROJECT_SIZE]; /* from <vgpu:lease>, not from Nova; "" missing or invalid */
	struct remarks remarks;
};

/* domxml.c: adds an ID that no vGPU of the domain may get. */
void domxml_exclude(struct request *request, const char *id);

/* domxml.c: locates the attributes of one element of a vGPU. -EINVAL: see xml_find_attr(). */
int domxml_mark(struct mark *mark, enum part part, const struct xml_elem *elem, struct err *err);

/* domxml.c: reads a UUID in any spelling that libvirt accepts. */
bool domxml_uuid(char out[UUID_SIZE], const char *text);

/*
 * domxml_request.c: reads the metadata, the vGPUs with their marks, the pinned CPUs and the memory nodes. `holder` is
 * the element that contains <devices>: the domain, or the root of the suspend record. A <vgpu:device> that is matched
 * with a hostdev of another UUID takes that UUID in doc->devices.
 */
int request_read(struct domxml *doc, const struct xml_elem *domain, const struct xml_elem *holder, bool all_pci,
		 struct err *err);

/* domxml_metadata.c: reads the <vgpu:device> elements, the owner, what is ignored, and request.past. */
int domxml_read_metadata(struct domxml *doc, const struct xml_elem *domain, struct err *err);

const struct meta_device *domxml_device(const struct domxml *doc, const char *id);

/* Reads each <vgpu:device> into the request of its vGPU, or into its own if it is stray. */
int domxml_apply_devices(struct domxml *doc, struct err *err);
