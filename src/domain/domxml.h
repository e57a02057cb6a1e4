/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The domain XML: what it requests, and the same XML with other addresses.
 *
 * libxml2 decides what the document means. The edit is made on the bytes, so that all else stays as it was: comments,
 * CDATA, namespaces, entities, quotes, order, white space. The XML is hostile until parsed: larger than DOMXML_MAX it
 * is refused, a document type declaration is refused and never expanded, nothing is fetched from anywhere.
 *
 * libxml2 is opened when a document is parsed for the first time (see xml.h). domxml_concerns() is the gate before it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/request.h"
#include "base/err.h"
#include "base/ident.h"

enum { DOMXML_MAX = 8 << 20 };

#define DOMXML_NS "urn:vgpu-lease:domain:1"
#define DOMXML_NOVA_NS_PREFIX "http://openstack.org/xmlns/libvirt/nova/" /* the version behind it changes */

struct domxml; /* a parsed document; keeps a pointer to the caller's bytes */

/* From the bytes alone, before any library is loaded: false is certain (no mdev hostdev, no metadata of ours). */
bool domxml_concerns(const char *xml, size_t len);

/* Likewise for PCI hostdevs, which are ours only if the pool has such VFs: false is certain. */
bool domxml_has_pci(const char *xml, size_t len);

/*
 * The UUID of a document as libvirt prints it, <name> and <uuid> first, from its bytes alone, however large the rest
 * is. False: the document is not of that form.
 */
bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len);

enum {
	DOMXML_ALL_PCI = 1,   /* every PCI hostdev is in the request, also without a <vgpu:device>: see domxml_keep() */
	DOMXML_FILE = 2,      /* a file that is yet to be defined: a missing <uuid> is "" (libvirt makes one) */
	DOMXML_IDENTITY = 4,  /* UUID and name only: a mistake in the metadata must not stop release and reconnect */
	DOMXML_REMARKS = 16,  /* find the remarks of domxml_remarks() */
	DOMXML_SUSPENDED = 8, /* the vGPUs of the suspend record in the metadata; no rewriting */
};

/*
 * Parses; `flags` of those above. -E2BIG: over DOMXML_MAX; -EINVAL: no well-formed XML (line and cause), a document
 * type, a NUL byte, another root than <domain>, no valid <uuid> or <name>, an mdev's address that is no UUID, two
 * hostdevs (or two <vgpu:device>) with one UUID or address, an attribute of a vGPU's metadata that is invalid or too
 * long; -ELIBACC: libxml2 cannot be loaded. A <vgpu:device> that names no hostdev is not checked; in a Nova
 * instance it is that of the hostdev that Nova gave another UUID, where it is clear which one that is. `xml` must
 * outlive the result.
 */
int domxml_parse(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err);
void domxml_free(struct domxml *doc);

static inline void domxml_auto_free(struct domxml **doc)
{
	domxml_free(*doc);
}

#define autodomxml __attribute__((cleanup(domxml_auto_free)))

/*
 * The hostdevs alone of a document that is too large to be parsed, to find out whether any is a vGPU: as with
 * DOMXML_ALL_PCI; if the document has metadata of ours, each counts as named there.
 */
int domxml_hostdevs(struct domxml **out, const char *xml, size_t len, struct err *err);

/* Refuses such a document, which has a vGPU: -E2BIG. */
int domxml_too_large(const struct domxml *doc, struct err *err);

/* Something in the metadata that has no effect, and what to write instead. Printable. */
struct remark {
	char text[320], fix[96];
};

/* With DOMXML_REMARKS, the first of them; how many. Owned by `doc`. */
size_t domxml_remarks(const struct domxml *doc, const struct remark **out);

/* Owned by `doc`. */
const struct request *domxml_request(const struct domxml *doc);

/*
 * Forgets the vGPUs for which `keep` (one for each) is false: PCI hostdevs that are not ours. No vGPU can get their
 * IDs.
 */
void domxml_keep(struct domxml *doc, const bool *keep);

/* The ID looks like a placeholder, but its vGPU exists: see survey/placeholder.h. */
void domxml_is_itself(struct domxml *doc, size_t req);

/* What one vGPU gets instead. */
struct domxml_change {
	size_t req;             /* its index in the request */
	char id[ID_SIZE];       /* the new UUID or address; "": it keeps its own */
	bool changes_framework; /* an mdev becomes a VF, or the reverse: `id` is of the other kind */
	/* The facts of its <vgpu:device>, if it has one, become these: replaced, added, or removed if not known. */
	bool has_facts;
	struct migration_facts facts;
};

/*
 * The document with each changed vGPU's address replaced, in the hostdev and in the <vgpu:device> that names it; every
 * other byte as it was. For a PCI address the attributes domain, bus, slot and function are replaced in libvirt's
 * notation, 0x... With `changes_framework` the hostdev gets the other type, managed='no', and a model only as an mdev.
 * What the guest sees stays: display, ramfb (QEMU migrates its state).
 * -EINVAL: a number of the address is missing, an id is invalid or of the wrong kind, one vGPU has two changes, or
 * another hostdev or <vgpu:device> has the id already. The caller frees *out. No changes: a copy.
 */
int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err);

/* The bytes of a vGPU's <hostdev>, as libvirt takes them to attach or detach the device; the caller frees *out. */
int domxml_hostdev(const struct domxml *doc, size_t req, char **out, struct err *err);

/*
 * A suspend records what it takes from a domain in its metadata, in an element of this namespace: the hostdevs as they
 * were, as the text of an attribute (libvirt gives elements within the metadata its own prefix). domxml_suspended()
 * makes that element for all vGPUs of the request; the caller frees *out.
 */
#define DOMXML_SUSPENDED_NS "urn:vgpu-lease:suspended:1"
#define DOMXML_SUSPENDED_KEY "vgpu-suspended"
int domxml_suspended(const struct domxml *doc, char **out, struct err *err);

#define DOMXML_NS_KEY "vgpu" /* the prefix under which libvirt keeps our namespace in what it makes of domxml_lease() */

/*
 * The domain's lease element with facts_list[i] for vGPU i of the request, for virDomainSetMetadata() with DOMXML_NS
 * and DOMXML_NS_KEY; without a namespace, as libvirt expects it. A vGPU without a <vgpu:device> gets one. Facts without
 * a type leave those that are there; what people wrote (placement, numa, params, project, devices without a hostdev)
 * stays, other attributes do not. The caller frees it; NULL if nothing would change.
 */
char *domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list);
