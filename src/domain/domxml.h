/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain's XML: what it asks for, and the same XML with other addresses in it.
 *
 * libxml2 decides what the document means; the edit is made on the bytes as they came, so that all else stays as it
 * was: comments, CDATA, namespaces, entities, quotes, order, white space. The XML is hostile until parsed: of more than
 * DOMXML_MAX bytes none is, a document type declaration is refused and never expanded, nothing is fetched from
 * anywhere.
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

/*
 * May this domain concern us at all? A look at the bytes alone, before any library is loaded: false is certain (no mdev
 * hostdev, no metadata of ours), true is a maybe.
 */
bool domxml_concerns(const char *xml, size_t len);

/* The same of PCI hostdevs, which are ours only where the pool has such VFs: false is certain. */
bool domxml_has_pci(const char *xml, size_t len);

/*
 * The UUID of a document as libvirt prints it, whose <name> and <uuid> come first, from its bytes alone: for who needs
 * no more, however large the rest is. False: it is not of that kind, which says nothing of the UUID.
 */
bool domxml_peek_uuid(char out[UUID_SIZE], const char *xml, size_t len);

enum {
	DOMXML_ALL_PCI = 1, /* every PCI hostdev is a want, also without a <vgpu:device>: see domxml_keep() */
	DOMXML_FILE =
		2, /* a file that is yet to be defined: <uuid> may be missing (libvirt makes one), and is "" then */
	DOMXML_IDENTITY =
		4, /* UUID and name only: for release, reconnect, which a mistake in the metadata must not stop */
	DOMXML_REMARKS = 16,  /* find what domxml_remarks() tells */
	DOMXML_SUSPENDED = 8, /* the vGPUs that a suspend took away, of that record in the metadata; no rewriting */
};

/*
 * Parses; `flags` of those above. -E2BIG: over DOMXML_MAX; -EINVAL: no well-formed XML (line and cause), a document
 * type, a NUL byte, another root than <domain>, no valid <uuid> or <name>, an mdev's address that is no UUID, two
 * hostdevs (or two <vgpu:device>) with one UUID or address, a word in the metadata of a vGPU that is not known, or
 * longer than here; -ENOMEM; -ELIBACC: libxml2 cannot be loaded. A <vgpu:device> that names no hostdev is not looked
 * into. `xml` must outlive the result.
 */
int domxml_parse(struct domxml **out, const char *xml, size_t len, unsigned int flags, struct err *err);
void domxml_free(struct domxml *doc);

static inline void domxml_auto_free(struct domxml **doc)
{
	domxml_free(*doc);
}

#define autodomxml __attribute__((cleanup(domxml_auto_free)))

/*
 * Of a document as libvirt prints it that is too large to be parsed, the hostdevs alone, to tell whether any is a vGPU:
 * as with DOMXML_ALL_PCI, and where the document has metadata of ours, each counts as named there.
 */
int domxml_hostdevs(struct domxml **out, const char *xml, size_t len, struct err *err);

/* Something in the metadata that has no effect, and what to write; it stops no start. Printable. */
struct remark {
	char text[320], fix[96];
};

/* With DOMXML_REMARKS, the first of them; how many. Owned by `doc`. */
size_t domxml_remarks(const struct domxml *doc, const struct remark **out);

/* What the document asks for; owned by `doc`. */
const struct request *domxml_request(const struct domxml *doc);

/* Forgets the vGPUs for which `keep` (one for each) is false: PCI hostdevs that are not ours. No vGPU can get their IDs. */
int domxml_keep(struct domxml *doc, const bool *keep, struct err *err);

/* What one want gets instead, by its index in the request. */
struct domxml_change {
	size_t req;
	char id[ID_SIZE];       /* the new UUID or address; "": it keeps its own */
	bool changes_framework; /* an mdev becomes a PCI device (a VF), or one of those an mdev: `id` is of the other
				   kind */
	/*
	 * The facts of its <vgpu:device>, where it has one, become these: replaced, added, and where they are not known
	 * taken out. Without `stamped` they stay.
	 */
	bool has_facts;
	struct migration_facts facts;
};

/*
 * The document with each changed want's address replaced, in the hostdev and in the <vgpu:device> that names it; every
 * other byte as it was. For a PCI address the attributes domain, bus, slot and function are replaced in libvirt's
 * notation, 0x... A hostdev that crosses over gets the other type, managed='no', and the model that an mdev needs; as a
 * PCI device it loses that. What the guest sees stays: display, ramfb (QEMU migrates its state).
 * -EINVAL: a number of the address is missing, an id that is none or of the wrong kind, the same want twice, or an id
 * that another hostdev or <vgpu:device> has already. The caller frees *out. No changes: a copy.
 */
int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err);

/* The bytes of a want's <hostdev>, as libvirt takes them to attach or detach the device; the caller frees *out. */
int domxml_hostdev(const struct domxml *doc, size_t req, char **out, struct err *err);

/*
 * What a suspend takes from a domain stands in its metadata, in an element of this namespace: the hostdevs as they
 * were, as the text of an attribute (libvirt gives elements within the metadata its own prefix). domxml_suspended()
 * makes that element of all the wants; the caller frees *out.
 */
#define DOMXML_SUSPENDED_NS "urn:vgpu-lease:suspended:1"
#define DOMXML_SUSPENDED_KEY "vgpu-suspended"
int domxml_suspended(const struct domxml *doc, char **out, struct err *err);

#define DOMXML_NS_KEY "vgpu" /* the prefix under which libvirt keeps our namespace in what it makes of domxml_lease() */

/*
 * The domain's lease element with these facts in it, stamps[i] for wants[i], for virDomainSetMetadata() with DOMXML_NS
 * and DOMXML_NS_KEY; as libvirt wants it, without a namespace. A vGPU that has no <vgpu:device> gets one. A stamp
 * without a type leaves the facts that are there; what people wrote (placement, numa, params, project, devices that
 * have no hostdev) stays, other attributes do not. The caller frees *out; NULL where all of it is there already.
 */
int domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list, char **out, size_t *outlen,
		 struct err *err);
