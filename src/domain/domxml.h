/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what a domain's XML requests, and writes the same XML with other addresses.
 *
 * libxml2 decides what the document means. Edits replace bytes, so everything around an edit stays. The XML is hostile:
 * a document that is larger than DOMXML_MAX or has a document type is refused, and nothing is fetched. The first parse
 * loads libxml2 (see xml.h); domxml_concerns() finds out without libxml2 whether a parse is needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/vgpu.h"
#include "base/err.h"
#include "base/ident.h"

enum { DOMXML_MAX = 8 << 20 };

#define DOMXML_NS "urn:vgpu-lease:domain:1"
#define DOMXML_NOVA_NS_PREFIX "http://openstack.org/xmlns/libvirt/nova/" /* followed by a version */

struct domxml; /* a parsed document; it keeps a pointer to the caller's bytes */

/* Searches the bytes without libxml2. False: the XML certainly has no mdev hostdev and no metadata of ours. */
bool domxml_concerns(const char *xml, size_t len);

/* Searches the bytes. False: the XML certainly has no PCI hostdev. */
bool domxml_has_pci(const char *xml, size_t len);

/* Reads the UUID of a document of any size. False: it does not begin with libvirt's <domain>, <name> and <uuid>. */
bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len);

enum {
	DOMXML_ALL_PCI = 1,   /* request all PCI hostdevs, even without a <vgpu:device>; domxml_keep() can drop them */
	DOMXML_FILE = 2,      /* accept a missing <uuid>, as "", because the domain may not be defined yet */
	DOMXML_IDENTITY = 4,  /* read only UUID and name, so that an error in the metadata does not stop a release */
	DOMXML_SUSPENDED = 8, /* read the vGPUs of the metadata's suspend record; not for domxml_rewrite() */
	DOMXML_LARGE = 32,    /* above DOMXML_MAX, with no hostdev that can be a vGPU: succeed unread, with no name */
};

/*
 * Parses a document; `flags` combines the flags above. `xml` must outlive the result. A <vgpu:device> without a hostdev
 * is checked only for its ID. In a Nova instance, it is first matched with the hostdevs whose UUID Nova has changed.
 * Returns 0, or:
 *   -E2BIG: larger than DOMXML_MAX. libvirt's RPC transfers no XML larger than 4 MiB (REMOTE_STRING_MAX).
 *   -EINVAL: malformed XML (with line and cause), a document type, a NUL byte, a root other than <domain>, a missing
 *     or invalid <uuid> or <name>, an mdev address that is not a UUID, two hostdevs or two <vgpu:device> with one ID,
 *     more than REQUEST_MAX of either, or an invalid or too long attribute in a vGPU's metadata
 *   -ENOMEM: more names than libxml2 accepts
 *   -ELIBACC: libxml2 cannot be loaded
 */
int domxml_parse(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err);
void domxml_free(struct domxml *doc);

static inline void domxml_auto_free(struct domxml **doc)
{
	domxml_free(*doc);
}

#define autodomxml __attribute__((cleanup(domxml_auto_free)))

/* What is doubtful about a domain, such as ignored metadata, and what to do. */
struct remarks {
	struct remark {
		char *text, *fix;
	} *list;
	size_t n;
};

void remark_add(struct remarks *remarks, const char *fix, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void remarks_free(struct remarks *remarks);

#define autoremarks __attribute__((cleanup(remarks_free)))

/* `doc` owns the results. DOMXML_IDENTITY gives no remarks. */
const struct remarks *domxml_remarks(const struct domxml *doc);
const struct request *domxml_request(const struct domxml *doc);

/* Removes the hostdevs whose `keep` is false from the request. No vGPU of the domain may get the ID of one of them. */
void domxml_keep(struct domxml *doc, const bool *keep);

struct domxml_change {
	size_t req;             /* index of the vGPU in the request */
	char id[ID_SIZE];       /* the new UUID or address; "": unchanged */
	bool changes_framework; /* the mdev becomes a VF, or the VF an mdev; `id` is of the new kind */
	/* `facts` replace those of the <vgpu:device>, if the vGPU has one. Unknown facts are removed. */
	bool has_facts;
	struct migration_facts facts;
};

/*
 * Writes the document with the address of each changed vGPU replaced in its hostdev and <vgpu:device>. All other bytes
 * stay unchanged. A PCI address is written in libvirt's form (0x...). `changes_framework` also changes the hostdev's
 * type, sets managed='no', and adds or removes an mdev's model. The attributes display and ramfb stay, as the guest
 * sees them. A vGPU has one change at most. The caller frees *out. -EINVAL: a number of the PCI address is missing; an
 * id is invalid, of the wrong kind or in use; or the changed hostdev would not be valid XML.
 */
int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err);

/* Copies a vGPU's <hostdev> for libvirt. The caller frees *out. -EINVAL: the XML has no </hostdev>. */
int domxml_hostdev(const struct domxml *doc, const struct vgpu_request *req, char **out, struct err *err);

/*
 * Builds the record of a suspend, a <suspended> for the domain's metadata with the hostdevs of all vGPUs. The caller
 * frees *out. The hostdevs are an attribute, because libvirt would give elements within the metadata its own prefix.
 */
#define DOMXML_SUSPENDED_NS "urn:vgpu-lease:suspended:1"
#define DOMXML_SUSPENDED_KEY "vgpu-suspended"
int domxml_suspended(const struct domxml *doc, char **out, struct err *err);

#define DOMXML_NS_KEY "vgpu" /* libvirt's prefix for our namespace in metadata from domxml_lease() */

/*
 * Builds the domain's lease element for virDomainSetMetadata(), which expects it without a namespace. A vGPU without a
 * <vgpu:device> gets one. facts_list[i] are the facts of vGPU i of the request; without a type, its facts stay. The
 * user's settings stay too: placement, numa, params, project, devices without a hostdev. Other attributes are dropped.
 * The caller frees the text. NULL: nothing would change.
 */
char *domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list);
