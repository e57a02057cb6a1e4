/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of domxml share.
 *
 * domxml.c goes through the steps: xml.c parses, domxml_meta.c reads the metadata, domxml_request.c the hostdevs,
 * domxml_follow.c the metadata of those with another UUID, domxml_locate.c finds in the bytes, with domxml_scan.c,
 * what an edit would have to replace. After that libxml2's tree is gone. With DOMXML_REMARKS, domxml_remark.c notes
 * before that what has no effect. domxml_edit.c edits the document, domxml_lease.c writes its metadata anew.
 */
#pragma once

#include <errno.h>
#include <stdio.h>

#include "domain/domxml.h"
#include "domain/domxml_scan.h"
#include "base/xml.h"

/* The elements of a vGPU: its hostdev, the address in that, and its device in the metadata. */
enum part { PART_HOSTDEV, PART_ADDRESS, PART_DEVICE, PARTS };

/* Their attributes that an edit replaces, as indices of domxml_attrs. */
enum {
	TRAIT = 0,   /* type, managed, model */
	ADDRESS = 3, /* uuid; domain, bus, slot, function */
	FACT = 8,    /* type, name, framework, model, driver */
	META_UUID = 13,
	META_ADDRESS = 14,
	ATTRS = 15
};

extern const struct domxml_attr {
	enum part part;
	const char *name;
	size_t fact; /* where struct migration_facts has it, of LABEL_SIZE bytes at the most */
	size_t size;
} domxml_attrs[ATTRS];

static inline const char *domxml_fact(const struct migration_facts *facts, size_t attr)
{
	return (const char *)facts + domxml_attrs[attr].fact;
}

/* Where the document has what an edit of a vGPU replaces. */
struct mark {
	const struct xml_elem *elems[PARTS]; /* while the tree exists; NULL: no <vgpu:device> */
	struct span whole;                   /* of the hostdev, to the end of its end tag */
	struct attr attrs[ATTRS];
};

enum { META_MAX = REQUEST_MAX }; /* <vgpu:device> elements */

struct domxml {
	const char *xml; /* the caller's; with DOMXML_SUSPENDED `record` */
	size_t len;
	char *record;
	struct request request;
	struct mark *marks;          /* of request.vgpus, in their order */
	struct vgpu_request *strays; /* <vgpu:device> elements without a hostdev, as far as they can be read */
	size_t nstrays;
	bool followed;                    /* a <vgpu:device> was taken for that of a hostdev with another UUID */
	char lease_project[PROJECT_SIZE]; /* of <vgpu:lease> itself, not Nova's; "" none */
	struct remark *remarks;
	size_t nremarks;
};

/* One <vgpu:device>; `elem` lives as long as the tree. */
struct meta_device {
	enum vgpu_request_kind kind;
	char id[ID_SIZE];
	char guest[ID_SIZE]; /* the address in the guest; "" none, or invalid */
	const struct xml_elem *elem;
};

struct meta {
	struct meta_device devices[META_MAX];
	size_t n;
	bool nova;                        /* an instance of Nova */
	char instance[INSTANCE_SIZE];     /* its name there */
	char flavor[INSTANCE_SIZE];       /* that of its flavor */
	bool suspended;                   /* a suspend has taken vGPUs, which come back */
	char project[PROJECT_SIZE];       /* Nova's, else the lease's */
	char lease_project[PROJECT_SIZE]; /* the lease's; "" missing or invalid */
};

/* domxml.c: reserves an ID: no vGPU can become it. */
void domxml_exclude(struct request *request, const char *id);

static inline void domxml_auto_xml(struct xml_doc **tree)
{
	xml_free(*tree);
}

#define autoxml __attribute__((cleanup(domxml_auto_xml)))

/* domxml.c: a UUID in any spelling that libvirt reads: dashes and blanks between bytes or none, white space around. */
bool domxml_uuid(char out[UUID_SIZE], const char *text);

/* domxml_meta.c: the devices and the project that <metadata> names, and what it says of one device. */
int meta_read(struct meta *meta, const struct xml_elem *domain, struct err *err);
const struct meta_device *meta_find(const struct meta *meta, const char *id);
int meta_apply(const struct meta_device *device, struct vgpu_request *req, struct err *err);

/*
 * domxml_request.c: the vGPUs with their marks' elements, the pinned CPUs and memory nodes. `holder` has the <devices>:
 * the domain itself, or the record of a suspend. A <vgpu:device> that follows its hostdev gets that one's ID in `meta`.
 */
int request_read(struct domxml *doc, const struct xml_elem *domain, const struct xml_elem *holder, struct meta *meta,
		 bool all_pci, struct err *err);

/* domxml_follow.c: gives each <vgpu:device> of an mdev without a hostdev the ID of its hostdev, where that is clear. */
int follow_hostdevs(struct domxml *doc, struct meta *meta, struct err *err);

/* domxml_remark.c: after request_read(), metadata without effect. */
void domxml_look(struct domxml *doc, const struct xml_elem *domain);

/*
 * domxml_locate.c: fills in where the marks are; -EINVAL where the bytes and libxml2 do not have the same `count`
 * elements.
 */
int domxml_locate(struct domxml *doc, size_t count, struct err *err);

/* domxml_edit.c: writes " name='text'", whatever is in the text; without a name the text alone. */
void domxml_put(FILE *out, const char *name, const char *text);
